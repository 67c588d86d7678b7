"""What is printed about one report."""

import dataclasses

from envs.reports.kit_reports import report
from spade_envs.cli.verdicts import print_report
from spade_envs.gates.check import OUT_OF_TIME


def test_an_episode_that_was_not_played_is_not_printed(capsys):
    for transcript, shown in (([], False), ([{"action": "north", "reward": 0.0}], True)):
        evidence = {"L5.2": {"overlap": 0.5, "transcript": transcript, "return": 0.0}}
        made = report({"L5.2": "fail"}, evidence=evidence)
        print_report("maze.py", made, every=False)
        out = capsys.readouterr().out
        assert "overlap: 0.5" in out
        assert ("transcript:" in out, "return: 0.0" in out) == (shown, shown)


def test_a_check_that_ran_out_of_time_says_what_to_raise(capsys):
    made = report({"L5.3": "skip"}, messages={"L5.3": OUT_OF_TIME})
    print_report("maze.py", dataclasses.replace(made, complete=False), every=False)
    assert "raise --deadline" in capsys.readouterr().out
