from spade_train.rollouts import Decoding, write_hints
from train.rollout_cases import COUNT, RAISE, Scripted, form_of, job, stocked
from train.token_formats import tokenizer

FORM = form_of(tokenizer("qwen3-instruct"), tokens=6000, turn_tokens=40)


def test_the_policy_reads_source_and_instance_and_writes_a_hint(tmp_path):
    broken = RAISE.replace("self.start = self", "1 / 0\n        self.start = self")
    shelf, (env, bad) = stocked(tmp_path, COUNT, broken)
    engine = Scripted(FORM, lambda text, request: f" seen {request.seed}\n")
    jobs = [job(env, 1, hinted=True), job(bad, 2, hinted=True), job(env, 3, hinted=True)]
    settings = {"engine": engine, "form": FORM, "shelf": shelf}
    found = write_hints(jobs, **settings, decoding=Decoding(temperature=0.3))
    assert [one.text for one in found] == ["seen 1", "", "seen 3"]
    assert [request.temperature for request in engine.seen] == [0.3, 0.3]
    first, second = (FORM.template.decode(request.ids) for request in engine.seen)
    assert "class CountEnv" in first
    assert first.partition("<observation>")[2] != second.partition("<observation>")[2]
    assert found[0].dialogue.sampled_tokens > 0
    assert found[1].dialogue.sampled_tokens == 0
    assert len(engine.forgotten) == 2
