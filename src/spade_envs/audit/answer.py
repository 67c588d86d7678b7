"""An auditor's answer, read strictly and held against the source that it is about."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

from spade_envs.audit.values import Audit, Remark, RemarkKind

MAX_REMARKS = 50
_MAX_TEXT = 600
_FENCED = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n```\s*", re.DOTALL)
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class _Said(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: RemarkKind
    line: Annotated[int, msgspec.Meta(ge=1)]
    quote: _Text
    explanation: _Text


class _Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    remarks: Annotated[list[_Said], msgspec.Meta(max_length=MAX_REMARKS)]


_DECODER = msgspec.json.Decoder(_Answer)


def read_answer(text: str, code: str, model: str) -> Audit:
    """Return what an answer says about `code`; anything but the JSON asked for is no audit.

    Args:
        text: what the model wrote: one JSON object, alone or as the only fenced block.
        code: the source that it was asked about.
        model: who was asked.
    """
    fenced = _FENCED.fullmatch(text)
    try:
        answer = _DECODER.decode((fenced[1] if fenced else text).encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        silent = not text.strip()
        why = "it gave no answer" if silent else f"its answer is not the JSON asked for: {error}"
        return Audit(status="not audited", model=model, reason=why[:_MAX_TEXT])
    remarks = [_held(said, code) for said in answer.remarks]
    kept = tuple(remark for remark in remarks if remark is not None)
    return Audit(
        status="audited", model=model, remarks=kept, dropped=len(answer.remarks) - len(kept)
    )


def _held(said: _Said, code: str) -> Remark | None:
    """Return the remark with the line in which its quote really begins; None if it has none."""
    quote = said.quote.strip()
    starts = [found.start() for found in re.finditer(re.escape(quote), code)] if quote else []
    lines = [code.count("\n", 0, start) + 1 for start in starts]
    if not lines:
        return None
    return Remark(
        kind=said.kind,
        line=min(lines, key=lambda line: abs(line - said.line)),
        quote=quote[:_MAX_TEXT],
        explanation=said.explanation.strip()[:_MAX_TEXT],
    )
