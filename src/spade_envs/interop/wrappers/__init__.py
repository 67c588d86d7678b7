"""One module for each framework: from a name to a source in our own contract.

Each offers `names(rest)`, which expands what stands behind the prefix, and `wrap(name)`, which
gives the `Target`. The sources are generated from templates of our own; names enter them through
`repr` only.
"""

from __future__ import annotations

import re
from string import Template

from spade_envs.interop.target import Library, Target
from spade_envs.types import EnvSource


def class_name(text: str) -> str:
    """Return a class name made of the letters and digits of `text`; no keyword ends in `Env`."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[:1].upper() + word[1:] for word in words)[:80]
    return f"{name}Env" if name[:1].isalpha() else f"The{name}Env"


def store_name(prefix: str, text: str) -> str:
    """Return a name for the store, such as `reasoning-gym.puzzle24`."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60].strip("-")
    return f"{prefix}.{plain or 'env'}"


def wrapped(label: str, template: str, library: Library, name: str, **values: object) -> Target:
    """Return the target whose source is `template` filled in; `values` enter it as literals."""
    literals = {key: repr(value) for key, value in values.items()}
    code = Template(template).substitute(
        literals, cls=class_name(name), label=re.sub(r"[^ -~]|[\"\\]", "?", label)
    )
    prefix = label.partition(":")[0]
    return Target(
        label=label,
        source=EnvSource(code=code, origin=label),
        library=library,
        licence=library.licence,
        name=store_name(prefix, name),
        title=label[:200],
    )
