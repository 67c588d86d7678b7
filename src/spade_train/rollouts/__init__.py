"""Rollouts of both roles: programs that are written and certified, episodes that are played."""

from spade_envs.play.stage import Opened, Scene, Seat, Stage
from spade_train.rollouts.act import Acted, act
from spade_train.rollouts.checking import Checker, Judge, Verdict
from spade_train.rollouts.clock import Clock, Times
from spade_train.rollouts.design import design
from spade_train.rollouts.hints import WrittenHint, write_hints
from spade_train.rollouts.jobs import Designed, DesignJob, EpisodeJob, Played
from spade_train.rollouts.settings import ActSettings, Decoding, DesignSettings, format_of
from spade_train.rollouts.shelf import Shelf, Stocked
from spade_train.rollouts.speech import Speech, speech_of

__all__ = [
    "ActSettings",
    "Acted",
    "Checker",
    "Clock",
    "Decoding",
    "DesignJob",
    "DesignSettings",
    "Designed",
    "EpisodeJob",
    "Judge",
    "Opened",
    "Played",
    "Scene",
    "Seat",
    "Shelf",
    "Speech",
    "Stage",
    "Stocked",
    "Times",
    "Verdict",
    "WrittenHint",
    "act",
    "design",
    "format_of",
    "speech_of",
    "write_hints",
]
