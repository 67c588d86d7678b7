"""Every exception that spade_train raises on purpose, beside those of spade_envs.

    SpadeError (spade_envs.errors)
    ├─ ConfigError [ValueError]     a setting that cannot be used (from spade_envs)
    └─ TrainError                   base of the training package's own errors
        ├─ CorpusChanged [CorpusError, ValueError]
        │                           documents changed while a run drew from them
        ├─ DataError [ValueError]   numbers handed to the maths have a wrong shape or range
        ├─ EngineError              a sampling engine that cannot answer
        ├─ HealthError              a run that its health limits stop
        ├─ SuiteError               a benchmark whose process cannot be kept running
        ├─ StateError [ValueError]  a saved state that cannot be read back
        └─ TemplateError [ValueError]
                                    a chat template that cannot be used turn by turn

What an environment does wrong is data: an `EpisodeResult` with a `fault`, never an exception.
All are picklable: they keep their arguments in `args`.
"""

from __future__ import annotations

from spade_envs.errors import CorpusError, SpadeError


class TrainError(SpadeError):
    """Base of every error that spade_train raises on purpose."""


class CorpusChanged(TrainError, CorpusError):
    """Raised when documents change during a run: it stops with records and checkpoints kept."""


class DataError(TrainError, ValueError):
    """Raised when numbers handed to the training maths have a wrong shape, type or range."""


class StateError(TrainError, ValueError):
    """Raised when a saved state cannot be read back."""


class TemplateError(TrainError, ValueError):
    """Raised when a chat template refuses a conversation or rewrites what it wrote before."""


class EngineError(TrainError):
    """A sampling engine cannot answer, or its weights are not those of the trainer."""


class SuiteError(TrainError):
    """Raised when the process that a benchmark runs in cannot be started, or started anew."""


class HealthError(TrainError):
    """Raised when a run does what its section `health` forbids: it stops with its records kept."""
