"""Read skills: `skills/NAME/SKILL.md`, a text with its name and description in front."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from bumble_core import Deferred

FOLDER = "skills"

_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE)
_load_yaml = Deferred("yaml:safe_load")


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """How something is done. `path` is below the memory folder."""

    path: str
    name: str
    description: str
    body: str


def is_skill(path: str) -> bool:
    folder, *below = path.split("/")
    return folder == FOLDER and len(below) == 2 and below[1] == "SKILL.md"


def read_skill(path: str, text: str) -> Skill:
    """Return the skill; what its front does not say is its folder's name and its first line."""
    found = _FRONT.match(text)
    front, body = (_front(found.group(1)), text[found.end() :]) if found else ({}, text)
    first = next((line.strip("# \t") for line in body.splitlines() if line.strip("# \t")), "")
    return Skill(
        path=path,
        name=_one_line(front.get("name")) or path.split("/")[-2],
        description=_one_line(front.get("description")) or first,
        body=body.strip(),
    )


def _front(text: str) -> Mapping[str, object]:
    try:
        found = _load_yaml(text)
    except ValueError:
        found = None
    except Exception as error:  # what a person wrote by hand; yaml's errors are not imported for it
        if not type(error).__module__.startswith("yaml"):
            raise
        found = None
    return found if isinstance(found, dict) else {}


def _one_line(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
