import re
from pathlib import Path

from spade_envs.gates import GATES


def test_the_page_lists_every_gate_with_its_title():
    page = (Path(__file__).parents[3] / "docs" / "gates.md").read_text()
    rows = dict(re.findall(r"^\| (L\d\.\d+) \| ([^|]+?) \|", page, flags=re.M))
    assert rows == {gate.id: gate.title for gate in GATES}
