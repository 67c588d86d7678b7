"""Register what passed, with where it came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from spade_envs.errors import ConfigError, Corrupt, NotCertified, SandboxError, Withdrawn
from spade_envs.gates.context import Fingerprint
from spade_envs.gates.originality import nearest
from spade_envs.ids import NAMESPACE, EnvId
from spade_envs.interop.fingerprints import keep, play
from spade_envs.interop.frameworks import library_of
from spade_envs.interop.known import same_environment
from spade_envs.interop.run import Checked
from spade_envs.interop.target import Target
from spade_envs.novelty import Door
from spade_envs.store import EnvStore
from spade_envs.types import EnvSource, Json, Record, Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """A version that is in the store now."""

    record: Record
    note: str = ""
    """What is to be said about it: that it was there already, and what was changed."""


def refusal(checked: Checked) -> str:
    """Return why a checked target cannot be brought into a store; empty if it can."""
    report, target = checked.report, checked.target
    if report is None:
        return checked.error
    if (first := report.gravest) is not None:
        return f"{first.gate}: {first.message}{_next_version(report)}"
    if not report.accepted:
        return "the gates did not all run"
    if checked.weakened:
        return "it runs only in a weakened worker, which no store may ask for"
    if target.library is not None and (
        target.source is None or library_of(target.source) != target.library
    ):
        return f"it needs {target.library.modules[0]}, which no store may ask for"
    return ""


def _next_version(report: Report) -> str:
    """Return what to do if all that is wrong is that a stored environment is so similar."""
    if [result.gate for result in report.failures] != ["L5.1"]:
        return ""
    repeats = str(report.failures[0].evidence.get("repeats", ""))
    if not repeats.startswith("spade/"):
        return ""
    return f"; or, if it is the next version of that, name it so (add --name {_name(repeats)})"


def bring(
    checked: Checked,
    store: EnvStore,
    *,
    licence: str | None = None,
    skills: Sequence[str] | None = None,
    title: str | None = None,
    provenance: Mapping[str, Json] | None = None,
    door: Door | None = None,
) -> Brought:
    """Register an accepted target.

    A content that is there already under the name asked for, or under any where none is asked for,
    keeps its version: a report of older gates is replaced, and texts are corrected if given.

    Args:
        checked: a target with its report.
        store: where to.
        licence: SPDX identifier; what is known of the target by default.
        skills: what it exercises; what is known of the target by default.
        title: one line for people; that of the target by default.
        provenance: where it comes from; by default that it was imported from the target.
        door: of the store; what repeats another environment there is not registered. One that
            plays a library is not compared, since such sources are alike by design.

    Raises:
        NotCertified: it cannot be brought in; the message says why.
        Withdrawn: this content was withdrawn.
        StoreError: the store cannot be written to.
    """
    reason = refusal(checked)
    target, source, report = checked.target, checked.target.source, checked.report
    if reason or source is None or report is None or report.interface is None:
        raise NotCertified(f"{target.label}: {reason}")
    there = _there(target, store.holding(source, report.interface))
    if there is not None:
        before = store.report(there).gates_version
        again = store.renew(there, report, licence=licence, skills=skills, title=title)
        notes = ["was there already", *_changes(there, again, before, report.gates_version)]
        return Brought(record=again, note="; ".join(notes))
    origin = dict(_imported(target) if provenance is None else provenance)
    if door is not None and target.library is None:
        origin["novelty"] = _let_in(door, target, source)
    record = store.add(
        source,
        report,
        origin,
        name=target.name,
        skills=target.skills if skills is None else skills,
        title=title or target.title,
        licence=licence or target.licence,
    )
    if door is not None:
        door.add(record, source)
    return Brought(record=record, note=_otherwise(target, record))


def _otherwise(target: Target, record: Record) -> str:
    """Return what to say if an environment is another one than its pool says; else nothing."""
    if target.digest in (None, record.digest):
        return ""
    return f"its pool names another digest, {target.digest}: this interface is read otherwise"


def _let_in(door: Door, target: Target, source: EnvSource) -> Json:
    """Return what the door says about a target that is new, as plain JSON.

    Raises:
        NotCertified: it repeats an environment that it is not the next version of.
    """
    own = target.label if target.name is None else f"{NAMESPACE}/{target.name}-v"
    verdict = door.judge(
        source,
        but=lambda it: same_environment(own, it) or same_environment(target.label, it),
    )
    if verdict.refused is not None:
        name = _name(verdict.refused.record.id)
        raise NotCertified(
            f"{target.label}: it is not new: {verdict.refused.reason}; write another task, or, if "
            f"it is the next version of that, name it so (add --name {name})"
        )
    return verdict.as_json()


def bring_all(
    checked: Sequence[Checked],
    store: EnvStore,
    *,
    licence: str | None = None,
    door: Door | None = None,
) -> Iterator[Brought | str]:
    """Register what passed, in order; yield what is in the store now, or why it is not.

    Of several that are new, each is compared with those before it by what it says and pays, too:
    the gates saw only the text of the other files of their run.

    Args:
        checked: the targets with their reports.
        store: where to.
        licence: SPDX identifier; what is known of each target by default.
        door: see `bring`.

    Raises:
        StoreError: the store cannot be written to.
    """
    alone = door is not None and not door.thresholds.program
    alone = alone or sum(one.accepted and one.target.library is None for one in checked) < 2
    before: list[Fingerprint] = []
    for one in checked:
        try:
            found = None if alone else _fingerprint(one, store)
            others = [past for past in before if not _same(one.target, past)]
            twin = nearest(found, others) if found is not None else None
            if twin is not None:
                yield f"L5.1: it repeats {twin[0].name}: {twin[1]}; write another task"
                continue
            brought = bring(one, store, licence=licence, door=door)
        except (NotCertified, Withdrawn, ConfigError, Corrupt) as error:
            yield str(error).removeprefix(f"{one.target.label}: ")
            continue
        if found is not None:
            keep(store, brought.record, found)
            before.append(replace(found, name=brought.record.id))
        yield brought


def _same(target: Target, other: Fingerprint) -> bool:
    same = target.source is not None and target.source.sha256 == other.source_sha256
    return same or same_environment(target.label, other.name)


def _fingerprint(checked: Checked, store: EnvStore) -> Fingerprint | None:
    """Return what a target says and pays; None if it is refused, there, or plays a library."""
    source, report = checked.target.source, checked.report
    if refusal(checked) or source is None or checked.target.library is not None:
        return None
    if report is None or report.interface is None or store.holding(source, report.interface):
        return None
    try:
        return play(source, checked.target.label)
    except SandboxError:
        return None


def _there(target: Target, twins: Sequence[Record]) -> Record | None:
    """Return the version that a target is, of those with its content; None if it is new.

    Raises:
        NotCertified: the content is there, but under another name.
        Withdrawn: it was withdrawn.
    """
    mine = [one for one in twins if target.name in (None, _name(one.id))]
    in_use = [one for one in mine if one.withdrawn is None]
    if in_use:
        return next((one for one in in_use if one.id == target.label), in_use[0])
    if mine:
        raise Withdrawn(f"{mine[0].id} has this content and was withdrawn: {mine[0].withdrawn}")
    other = next((one for one in twins if one.withdrawn is None), None)
    if other is not None:
        raise NotCertified(
            f"{target.label}: {other.id} has this very content; keep that name, or withdraw it"
        )
    return None


def _name(env_id: str) -> str:
    return EnvId.parse(env_id).name


def _changes(old: Record, new: Record, before: str, now: str) -> Iterator[str]:
    if before != now:
        yield f"certified anew by version {now} of the gates (before: {before})"
    for key in ("licence", "title", "skills"):
        one, other = getattr(old, key), getattr(new, key)
        if one != other:
            shown = (", ".join(text) if key == "skills" else text for text in (other, one))
            yield "{} now {} (before: {})".format(key, *(text or "none" for text in shown))


def _imported(target: Target) -> Mapping[str, Json]:
    library = target.library
    author = f"{library.name} {library.version}".strip() if library is not None else None
    origin = "".join(char if char.isprintable() else "?" for char in target.label)[:300]
    return {"method": "imported", "author": author, "run": origin}
