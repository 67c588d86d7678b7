"""One model through two engines on every installed suite: scores with floors, and equal replies.

    python examples/evaluate_smollm2.py --model smollm2-135m --suite heldout,store=starter

`make eval-smollm2` makes environment and model and runs it. Greedy and in float32 on both sides,
since in bfloat16 near ties fall either way. Where replies differ, the first differing token is
looked up in the model: how much likelier was one than the other? Exit code 1 if a reply differs by
more than --tolerance, or an attempt has a fault. Finished attempts are kept below --out.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import click

from spade_envs.design.clients import open_policy
from spade_train.evaluate.agreement import Agreement, Parting, agreement
from spade_train.evaluate.players import FLOORS, Player, open_player, scripted
from spade_train.evaluate.run import Evaluation, Plan
from spade_train.evaluate.summary import Summary, summarize
from spade_train.suites.registry import SUITES, open_spec, readiness

ENGINES = {"transformers": "hf", "vLLM": "vllm"}
"""Name of the row -> scheme of the policy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One suite, played by all."""

    spec: str
    summaries: dict[str, Summary]
    agreed: Agreement
    too_long: int
    """Attempts that outgrew the model's context."""

    @property
    def name(self) -> str:
        return self.spec.partition(",")[0]


@click.command()
@click.option("--model", type=click.Path(exists=True, file_okay=False), default="smollm2-135m")
@click.option("--suite", "specs", multiple=True, help="NAME,key=value; every ready one if none.")
@click.option("--limit", type=click.IntRange(1), default=4, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1), default=64, show_default=True)
@click.option("--max-turns", type=click.IntRange(1), default=2, show_default=True)
@click.option("--tolerance", type=float, default=0.01, show_default=True, help="In nats.")
@click.option("--out", type=click.Path(path_type=Path), default="evals/smollm2", show_default=True)
def main(
    model: str,
    specs: tuple[str, ...],
    limit: int,
    max_tokens: int,
    max_turns: int,
    tolerance: float,
    out: Path,
) -> None:
    specs = specs or installed()
    for spec in specs:  # before the models are loaded
        state = readiness(spec.partition(",")[0])
        if not state.ready:
            raise click.UsageError(f"{spec}: {state.mend}")
    played: list[Played] = []
    asked = {"temperature": 0.0, "samples": 1, "top_p": None, "top_k": None}
    asked |= {"max_tokens": max_tokens, "max_turns": max_turns}
    models = opened(model)
    for spec in specs:
        suite, found = open_spec(spec), {}
        try:
            for name in (*FLOORS, *ENGINES):
                click.echo(f"{spec}: {name}", err=True)
                player = scripted(name) or models[name]
                # The floors play to the end, whatever the length of the model's attempts.
                decoding = replace(suite.decoding, **(asked if player.decodes else {}))
                plan = Plan(decoding=decoding, limit=limit)
                found[name] = Evaluation(suite, player, plan, out, transcripts=True)
                for _ in found[name].run():
                    pass
        finally:
            suite.close()
        played.append(
            Played(
                spec=spec,
                summaries={n: summarize(e.header, e.records()) for n, e in found.items()},
                agreed=agreement(*(found[name].folder or out for name in ENGINES)),
                too_long=sum(r.stopped == "context" for r in found["transformers"].records()),
            )
        )
        click.echo(table(played[-1:]), err=True)
    gaps = margins(model, [(each.name, p) for each in played for p in each.agreed.partings])
    click.echo(table(played))
    click.echo(conclusion(played, gaps, tolerance))
    faults = sum(faults_of(each) for one in played for each in one.summaries.values())
    astray = any(each.agreed.astray for each in played)
    apart = any(abs(gap) > tolerance for *_, gap in gaps)
    sys.exit(1 if faults or astray or apart else 0)


def opened(model: str) -> dict[str, Player]:
    """Return the model as a player of each engine, in float32."""
    found = {}
    for name, scheme in ENGINES.items():
        policy = open_policy(f"{scheme}:{model}", dtype="float32")
        found[name] = open_player(
            f"{scheme}:{model}", policy=policy, name=name, cuts=True, dtype="float32"
        )
    return found


def installed() -> tuple[str, ...]:
    """Return every suite that can be opened without a file of the user's."""
    ready = [name for name, entry in SUITES.items() if readiness(name).ready and not entry.path]
    return tuple(f"{name},store=starter" if name == "heldout" else name for name in ready)


def table(played: list[Played]) -> str:
    names = (*ENGINES, *FLOORS)
    lines = [f"| suite | tasks | {' | '.join(names)} | replies equal | too long | cut |"]
    lines.append("|---|---:|" + "---:|" * (len(names) + 3))
    for each in played:
        first = each.summaries["transformers"].overall
        cells = [each.name, str(first.attempts), *(share(each.summaries[n]) for n in names)]
        cells += [f"{each.agreed.equal} of {each.agreed.replies}", str(each.too_long)]
        lines.append("| " + " | ".join([*cells, str(first.cut)]) + " |")
    return "\n".join(lines)


def share(summary: Summary) -> str:
    success, faults = summary.overall.success, faults_of(summary)
    text = "–" if success is None else f"{success:.2f}"
    return f"{text} ({faults} faults)" if faults else text


def faults_of(summary: Summary) -> int:
    """Return attempts that failed, without those for which the suite has no reference."""
    return summary.overall.faults - len(summary.unanswered)


def margins(
    model: str, partings: list[tuple[str, Parting]]
) -> list[tuple[str, Parting, int, float]]:
    """Return the token at which each pair of replies parts, and the nats between the two."""
    if not partings:
        return []
    import torch
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    judge = transformers.AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    found = []
    for spec, each in partings:
        chat = [{"role": m.role, "content": m.content} for m in each.messages]
        text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
        prompt = tokenizer(text, add_special_tokens=False)["input_ids"]
        pair = [
            [*tokenizer(said, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
            for said in (each.left, each.right)
        ]
        place = next(n for n, (a, b) in enumerate(zip(*pair, strict=False)) if a != b)
        with torch.inference_mode():
            ids = torch.tensor([[*prompt, *pair[0][:place]]])
            scores = judge(ids, logits_to_keep=1).logits[0, -1].log_softmax(-1)
        found.append((spec, each, place, float(scores[pair[0][place]] - scores[pair[1][place]])))
    return found


def conclusion(
    played: list[Played], gaps: list[tuple[str, Parting, int, float]], tolerance: float
) -> str:
    found = [each.agreed for each in played]
    replies, equal = sum(e.replies for e in found), sum(e.equal for e in found)
    scores, attempts = sum(len(e.scores) for e in found), sum(e.attempts for e in found)
    lines = [f"\n{equal} of {replies} replies are equal; {scores} of {attempts} scores differ."]
    for name, each, place, gap in gaps:
        where = f"{name} {each.task}, reply {each.turn + 1}"
        lines.append(f"{where}: token {place + 1} differs, {gap:+.6f} nats between the two")
    for one in played:
        lines += [f"{one.name} {task}: the suite went otherwise" for task in one.agreed.astray]
    worst = max((abs(gap) for *_, gap in gaps), default=0.0)
    word = "within" if worst <= tolerance else "beyond"
    lines.append(f"Largest gap {worst:.6f} nats, {word} the tolerance of {tolerance:g}.")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
