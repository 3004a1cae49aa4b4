"""What the jobs are called, when they run, and which files they keep. Light: every process reads it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from typing_extensions import override

from bumble_core.types.documents import Document
from bumble_core.types.inference import ModelRef
from bumble_core.types.jobs import AtStartup, Condition, Cron, JobSpec, Situation, TurnsSince, When

LATEST = "cognition/state/verification_review.md"
EARLIER = "cognition/state/earlier_reviews.md"
WORKING_MEMORY = "working/WORKING_MEMORY.md"
HEADINGS = (
    "Current Priorities",
    "Active Tasks",
    "Open Threads",
    "Recent Progress",
    "Pending Checks",
    "Temporary Context",
)
FILES: Mapping[str, tuple[str, str]] = {
    "semantic/facts.md": ("Confirmed Facts", "Grounded Inferences"),
    "semantic/preferences.md": ("User Preferences", "Collaboration Preferences"),
    "semantic/projects.md": ("Active Projects", "Durable Project Knowledge"),
}
CATALOG = "cognition/state/skill_catalog.md"
SKILLS = "skills/"
SKILL_FILE = "SKILL.md"


@dataclass(frozen=True, slots=True)
class SkillsChanged(Condition):
    """Holds when the skills are not those that the catalog was made of."""

    @property
    @override
    def reads(self) -> tuple[str, ...]:
        return (SKILLS,)

    @override
    def reason(self, now: Situation) -> str:
        return "" if print_of_skills(now.documents) == (now.note or print_of_skills({})) else "the skills changed"

    @override
    def __str__(self) -> str:
        return "the skills changed"


def print_of_skills(documents: Mapping[str, Document]) -> str:
    """Return what is the same for the same skills only."""
    skills = sorted((path, each.version) for path, each in documents.items() if path.endswith(f"/{SKILL_FILE}"))
    return hashlib.sha256(repr(skills).encode()).hexdigest()[:16]


# Names, numbers of turns, times and models of the first three: q15's Cognition page.
REVIEW = JobSpec(
    id="verification_review",
    summary="Check the work of the latest turns against the evidence",
    triggers=(When(TurnsSince(1)), Cron("0 3,15 * * *")),
    outputs=(LATEST, EARLIER),
    models=(ModelRef(provider="ollama-cloud", model="nemotron-3-ultra"),),
)
CONSOLIDATION = JobSpec(
    id="working_memory_consolidation",
    summary="Fold recent turns into the working memory",
    triggers=(When(TurnsSince(6)), Cron("0 4 * * *")),
    outputs=(WORKING_MEMORY,),
    models=(ModelRef(provider="ollama-cloud", model="deepseek-v4-flash"),),
)
EXTRACTION = JobSpec(
    id="semantic_memory_extraction",
    summary="Keep facts, preferences and projects from recent turns",
    triggers=(When(TurnsSince(12)), Cron("0 5 * * *")),
    outputs=tuple(FILES),
    models=(ModelRef(provider="ollama-cloud", model="deepseek-v4-pro"),),
)
SKILL_CATALOG = JobSpec(
    id="skill_catalog",
    summary="Rebuild the catalog of skills that the prompt shows",
    triggers=(AtStartup(), When(SkillsChanged())),
    inputs=(SKILLS,),
    outputs=(CATALOG,),
)
