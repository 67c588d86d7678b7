"""The store as a state machine: whatever is done, and wherever it is killed, nothing is lost."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from envs.store.kit import Killed, add, interrupted, source_of
from spade_envs.errors import Withdrawn
from spade_envs.store import open_store

NAMES = st.sampled_from(["maze", "alice.maze", None])
NUMBERS = st.integers(0, 4)
STEPS = st.integers(0, 40)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = open_store(self.folder / "store", create=True)
        self.published: dict[str, str] = {}
        self.withdrawn: set[str] = set()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def _publish(self, number: int, name: str | None) -> None:
        """Publish, and check the answer against everything that was published before."""
        code = source_of(number).code
        try:
            record = add(self.store, number, name=name)
        except Withdrawn:
            assert code in {self.published[env_id] for env_id in self.withdrawn}
            return
        assert self.published.setdefault(record.id, code) == code

    def _adopt(self) -> None:
        """Take over what a killed writer may have finished; it must be one of our contents."""
        for record in self.store.records():
            if record.withdrawn is None:
                code = self.store.source(record).code
                assert code in {source_of(n).code for n in range(5)}
                assert self.published.setdefault(record.id, code) == code
            else:
                self.withdrawn.add(record.id)

    @rule(number=NUMBERS, name=NAMES)
    def publish(self, number, name):
        self._publish(number, name)

    @rule(number=NUMBERS, other=NUMBERS, name=NAMES, step=STEPS)
    def publish_with_a_rival(self, number, other, name, step):
        with interrupted(step, lambda: self._publish(other, name)):
            self._publish(number, name)

    @rule(number=NUMBERS, name=NAMES, step=STEPS)
    def publish_and_be_killed(self, number, name, step):
        try:
            with interrupted(step):
                self._publish(number, name)
        except Killed:
            self._adopt()

    @precondition(lambda self: set(self.published) - self.withdrawn)
    @rule(data=st.data(), step=st.none() | STEPS)
    def withdraw(self, data, step):
        env_id = data.draw(st.sampled_from(sorted(set(self.published) - self.withdrawn)))
        try:
            with interrupted(1000 if step is None else step):
                self.store.withdraw(env_id, "for a reason")
            self.withdrawn.add(env_id)
        except Killed:
            self._adopt()

    @rule()
    def reindex(self):
        assert self.store.reindex() == len(self.published)
        assert [p for p in self.store.verify(deep=True) if p.severity == "error"] == []

    @rule(damage=st.sampled_from([b"", b"garbage\n", b'{"id":"spade/ghost-v0"}\n', None]))
    def damage_the_index(self, damage):
        (self.store.root / "index.jsonl").unlink(missing_ok=True)
        if damage is not None:
            (self.store.root / "index.jsonl").write_bytes(damage)

    @rule()
    def restore_an_old_index(self):
        index = self.store.root / "index.jsonl"
        if index.exists():
            lines = index.read_bytes().splitlines(keepends=True)
            index.write_bytes(b"".join(lines[: len(lines) // 2]))

    @invariant()
    def nothing_is_lost(self):
        records = {record.id: record for record in self.store.records()}
        assert set(records) == set(self.published)
        for env_id, code in self.published.items():
            found = self.store.get(env_id, withdrawn=True)
            assert found == records[env_id]
            assert (found.withdrawn is not None) == (env_id in self.withdrawn)
            if found.withdrawn is None:
                assert self.store.source(found).code == code

    @invariant()
    def only_the_index_may_be_stale(self):
        errors = [p for p in self.store.verify() if p.severity == "error"]
        assert {problem.kind for problem in errors} <= {"index"}


StoreMachine.TestCase.settings = settings(
    max_examples=15,
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestStoreMachine = StoreMachine.TestCase
