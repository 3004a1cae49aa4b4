"""The base that every serialised value shares."""

from __future__ import annotations

import uuid

from pydantic import BaseModel, ConfigDict


class Value(BaseModel):
    """Frozen, closed data. Two equal values are interchangeable.

    Validators are built at the first use of a class, not at import: that keeps `import bumble_core` fast.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def new_id(prefix: str) -> str:
    """Return an opaque id such as `turn_3f2a5c0d9b1e`; unique, not ordered."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"
