"""Pydantic schemas of everything that an envstore keeps as JSON; unknown keys are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from spade_envs._version import __version__
from spade_envs.errors import ConfigError, Corrupt, FormatTooNew, IdError
from spade_envs.ids import EnvId
from spade_envs.manifest.canonical import (
    FORMAT,
    FileStamp,
    canonical_json,
    digest_of,
    parse_json,
    sealed,
)
from spade_envs.types import EnvKind, Interface

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
Line = Annotated[str, StringConstraints(max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")]
Name = Annotated[
    str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\x00-\x1f\x7f]*$")
]
SkillName = Annotated[str, StringConstraints(max_length=80, pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
Utc = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]

M = TypeVar("M", bound="_Model")


def now_utc() -> str:
    """Return the time as `YYYY-MM-DDThh:mm:ssZ`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class _Model(BaseModel):
    """Base: frozen, closed, and strict about JSON types."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)

    def to_json(self) -> bytes:
        """Return the canonical JSON of this value."""
        return canonical_json(self.model_dump(mode="json"))


def read_model(model: type[M], data: bytes, where: str) -> M:
    """Read a model from the bytes of a file; `where` names the file in messages.

    Raises:
        Corrupt: the bytes are not JSON of this model; the message names file and key.
        FormatTooNew: the file was written by a newer release.
    """
    raw = parse_json(data, where)
    found = raw.get("format", 0) if isinstance(raw, dict) else 0
    if isinstance(found, int) and found > FORMAT:
        raise FormatTooNew(
            f"{where} has format {found}; this release reads up to {FORMAT}. "
            "Run: pip install -U spade-envs"
        )
    try:
        return model.model_validate_json(data, strict=True)
    except ValidationError as error:
        raise Corrupt(f"{where}: {_first_of(error)}") from None


def _first_of(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part) for part in first["loc"]) or "the whole"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{key}: {first['msg']}{more}"


class StoreMarker(_Model):
    """`ENVSTORE.json`: says that a folder is an envstore."""

    format: Literal[1] = 1
    namespace: Literal["spade"] = "spade"


class InterfaceModel(_Model):
    """`types.Interface` without the summary, as stored."""

    entry: Annotated[str, StringConstraints(pattern=r"^[^\W\d]\w{0,99}$")]
    kind: EnvKind
    api: Literal["spade-1", "published-1"]
    levels: Annotated[int, Field(ge=1, le=1000)]
    max_turns: Annotated[int, Field(ge=1, le=1_000_000)]
    reward_range: tuple[float, float]
    has_hint: bool
    has_solution: bool
    tools: tuple[dict[str, JsonValue], ...]

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.reward_range[0] <= self.reward_range[1]:
            raise ValueError("reward_range must go from the least to the greatest return")
        return self

    @classmethod
    def of(cls, interface: Interface) -> InterfaceModel:
        """Return the stored form of an interface.

        Raises:
            ConfigError: the interface cannot be stored.
        """
        fields = {name: getattr(interface, name) for name in cls.model_fields}
        try:
            return cls.model_validate_json(canonical_json(fields))
        except ValidationError as error:
            raise ConfigError(f"interface cannot be stored: {_first_of(error)}") from None

    def to_interface(self, summary: str = "") -> Interface:
        """Return the interface, with the summary that the manifest keeps elsewhere."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return Interface(**fields, summary=summary)


class FileModel(_Model):
    """Stamp of one file."""

    sha256: Sha256
    size: Annotated[int, Field(ge=0)]


class PassageInfo(_Model):
    """The piece of a document that an environment was made from."""

    corpus: Line
    source: Line
    offset: Annotated[int, Field(ge=0)] = 0
    sha256: Sha256
    licence: Line = "unknown"
    title: Line = ""


class DesignerInfo(_Model):
    """The language model that wrote an environment, and how it was sampled."""

    model: Name
    revision: Line | None = None
    sampling: dict[str, JsonValue] = {}


class Provenance(_Model):
    """Where an environment comes from. Not part of its identity."""

    created: Utc = Field(default_factory=now_utc)
    """Time in UTC, `YYYY-MM-DDThh:mm:ssZ`."""
    tool: Line = f"spade-envs {__version__}"
    method: Literal["designed", "hand-written", "imported"] = "designed"
    author: Line | None = None
    """Person or organisation, for what a person wrote or brought in."""
    designer: DesignerInfo | None = None
    passage: PassageInfo | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    """Seed of the designer's sampling."""
    parents: tuple[DigestText, ...] = ()
    """Digests of the environments that the designer made it of."""
    run: Line | None = None
    novelty: dict[str, JsonValue] | None = None
    """Thresholds of novelty in force when it was registered, and how near the nearest was."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Manifests from before novelty was noted keep their bytes, and so their seals.
        written: dict[str, Any] = write(self)
        if self.novelty is None:
            del written["novelty"]
        return written

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Provenance:
        """Return the provenance in plain JSON-like fields.

        Raises:
            ConfigError: a field is missing, unknown or wrong; the message names it.
        """
        try:
            return cls.model_validate_json(canonical_json(fields))
        except ValidationError as error:
            raise ConfigError(f"provenance: {_first_of(error)}") from None


class ReportSummary(_Model):
    """What a manifest repeats of its report."""

    sha256: Sha256
    """Of the bytes of `report.json`."""
    gates_version: Name
    layers: tuple[Line, ...] = ()
    measured: dict[str, dict[str, JsonValue]] = {}
    """Gate id -> measured figures, such as floor and ceiling."""


class Manifest(_Model):
    """`manifest.json`: identity, interface, provenance and licence of one version."""

    format: Literal[1] = 1
    id: Annotated[str, StringConstraints(max_length=120)]
    digest: DigestText
    title: Name
    summary: Line
    interface: InterfaceModel
    files: dict[str, FileModel]
    skills: tuple[SkillName, ...]
    provenance: Provenance
    licence: Name
    report: ReportSummary
    seal: Sha256 | None = None
    """Of the bytes of this file with zeros in the place of the seal; None in older manifests."""

    def to_json(self) -> bytes:
        """Return the canonical JSON of this manifest, sealed."""
        return sealed(canonical_json({**self.model_dump(mode="json"), "seal": "0" * 64}))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        try:
            version = EnvId.parse(self.id).version
        except IdError as error:
            raise ValueError(str(error)) from None
        if version is None or str(EnvId.parse(self.id)) != self.id:
            raise ValueError(f"id {self.id!r} must be written like 'spade/maze-v0'")
        if set(self.files) != {"env.py"}:
            raise ValueError("files must name env.py and nothing else")
        if self.digest != self.computed_digest():
            raise ValueError("digest does not belong to these files and this interface")
        return self

    def computed_digest(self) -> str:
        """Return the digest of files and interface, computed anew."""
        stamps = {path: FileStamp(file.sha256, file.size) for path, file in self.files.items()}
        return digest_of(stamps, self.interface.to_interface())


class Tombstone(_Model):
    """`WITHDRAWN.json`: this version must not be used any more."""

    reason: Name
    at: Utc = Field(default_factory=now_utc)
