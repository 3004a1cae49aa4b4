"""Keep the catalog of skills in step with the folder of skills. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping

import yaml

from bumble_core.types.documents import Document
from bumble_core.types.jobs import JobResult, JobSpec, JobView, Write

from .declared import CATALOG, SKILL_CATALOG, SKILL_FILE, SKILLS, print_of_skills
from .entries import plain

_LONGEST_DESCRIPTION = 200
_MOST = 100  # skills: the prompt shows the catalog


class SkillCatalog:
    @property
    def spec(self) -> JobSpec:
        return SKILL_CATALOG

    async def run(self, view: JobView) -> JobResult:
        skills = _skills(view.documents)
        lines = [f"- {plain(name)}: {description} ({path})" for name, description, path in skills[:_MOST]]
        text = "\n".join(["# Skill catalog", "", "## Skills", "", *lines]).rstrip() + "\n"
        before = view.documents[CATALOG].text
        is_wanted = bool(lines) or bool(before)
        left = f", {len(skills) - _MOST} more than it may hold" if len(skills) > _MOST else ""
        return JobResult(
            summary=f"{len(skills)} skills{left}",
            read=len(view.turns),
            writes=(Write(path=CATALOG, text=text),) if is_wanted else (),
            removed=tuple(before.splitlines()),
            note=print_of_skills(view.documents),
        )

    def problem(self, view: JobView, result: JobResult, documents: Mapping[str, Document]) -> str:
        """Return which skill the catalog lacks."""
        text = documents[CATALOG].text
        lacking = [path for _, _, path in _skills(view.documents)[:_MOST] if f"({path})" not in text]
        return f"`{lacking[0]}` is not in the catalog" if lacking else ""


def _skills(documents: Mapping[str, Document]) -> list[tuple[str, str, str]]:
    """Return name, description and path of each skill, by name; what its file does not say is taken from its path."""
    found = []
    for path, document in documents.items():
        folder, _, file = path.removeprefix(SKILLS).partition("/")
        if path.startswith(SKILLS) and file == SKILL_FILE:
            head = _front_matter(document.text)
            name = plain(head.get("name", "")) or folder
            found.append((name, plain(head.get("description", ""), _LONGEST_DESCRIPTION) or "No description.", path))
    return sorted(found, key=lambda skill: (skill[0].casefold(), skill[2]))


def _front_matter(text: str) -> dict[str, str]:
    """Return the texts of the YAML between two lines of `---` that the file begins with; nothing of what is no YAML."""
    head, found, rest = text.lstrip("\ufeff").partition("\n---")
    if not head.startswith("---") or not found or (rest and rest[0] not in "\r\n"):
        return {}
    try:
        values = yaml.safe_load(head.removeprefix("---"))
    except yaml.YAMLError:
        return {}
    if not isinstance(values, dict):
        return {}
    return {key: value for key, value in values.items() if isinstance(key, str) and isinstance(value, str)}
