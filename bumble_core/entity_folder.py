"""Name the folder of an entity, the same for the command line and for applications."""

from __future__ import annotations

import hashlib
import re

_TAKEN = frozenset({"trust.json", "trust.lock"})  # files that lie beside the homes; some disks ignore the case
_LONGEST = 60


def entity_folder(entity_name: str) -> str:
    """Return the name of the entity's folder among the user's data.

    Names that differ have folders that differ: one that needs other characters gets a few digits of its hash.
    """
    safe = re.sub(r"[^\w.-]+", "-", entity_name).strip("-.")[:_LONGEST]
    if safe and safe == entity_name and safe.casefold() not in _TAKEN:
        return safe
    digest = hashlib.sha256(entity_name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe}-{digest}" if safe else digest
