"""What every section of the configuration is: closed, frozen and strict about types."""

from __future__ import annotations

from typing import Annotated, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

Count: TypeAlias = Annotated[int, Field(ge=0, le=10**15)]
Positive: TypeAlias = Annotated[int, Field(ge=1, le=10**15)]
Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0)]
Amount: TypeAlias = Annotated[float, Field(ge=0.0)]
Above0: TypeAlias = Annotated[float, Field(gt=0.0)]
# A line, so that it can stand in a comment, in a log and in TOML as it is.
Text: TypeAlias = Annotated[str, Field(max_length=1000, pattern=r"^[^\x00-\x1f\x7f]*$")]


class Section(BaseModel):
    """Base of the sections: unknown keys are errors, numbers are finite, docstrings are help."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        protected_namespaces=(),
    )


def wrong(key: str, message: str) -> PydanticCustomError:
    """Return an error about one key of a section, for its validators to raise.

    Args:
        key: path of the key within the section, with dots.
        message: what is wrong and what mends it.
    """
    # Braces would be taken for a template.
    return PydanticCustomError("config", "{reason}", {"key": key, "reason": message})
