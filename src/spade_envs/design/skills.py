"""What the skills and the levels of challenge mean, in words for a designer."""

from __future__ import annotations

from collections.abc import Mapping

from spade_envs.types import COGNITIVE_SKILLS, EnvKind, Skill

SKILL_TEXTS: Mapping[Skill, str] = {
    Skill.MATHEMATICAL_REASONING: "turn a situation into quantities and relations, and compute "
    "through several dependent steps without losing any",
    Skill.LOGICAL_DEDUCTION: "combine statements or observations, none of which is enough alone, "
    "until only one conclusion remains",
    Skill.SPATIAL_REASONING: "keep positions, directions, shapes or connections in mind and "
    "foresee what a movement does to them",
    Skill.PATTERN_RECOGNITION: "find the rule behind examples, tell it from rules that fit only "
    "some of them, and apply it to a new case",
    Skill.OPTIMIZATION: "find the best plan under limits where the obvious greedy choice falls "
    "short",
    Skill.CAUSAL_INFERENCE: "find out by interventions what causes what, apart from what merely "
    "happens together",
    Skill.API_ORCHESTRATION: "chain tools so that what one returns becomes what the next one needs",
    Skill.DATA_RETRIEVAL: "find scattered records by several criteria and derive one answer from "
    "them",
    Skill.STATE_MODIFICATION: "bring a system into exactly the state that was asked for, and "
    "change nothing else",
    Skill.ERROR_RECOVERY: "notice that a step failed or a precondition is missing, and reach the "
    "goal another way",
    Skill.TOOL_SELECTION: "choose the right one among tools that look alike but differ in what "
    "they do",
    Skill.MULTI_STEP_WORKFLOWS: "carry a procedure of dependent steps through, in the right order, "
    "while new wishes arrive",
}

CHALLENGE_TEXTS: Mapping[str, str] = {
    "easy": "a beginner solves the lowest level at once and the highest after some practice",
    "medium": "a capable model solves the lowest level most of the time and the highest sometimes",
    "hard": "a capable model needs all its care at the lowest level and mostly fails the highest",
}


def kind_of(skill: Skill) -> EnvKind:
    """Return the kind of environment in which a skill is exercised."""
    return "text" if skill in COGNITIVE_SKILLS else "tool"
