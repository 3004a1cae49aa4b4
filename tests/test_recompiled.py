"""Which change compiles which section of the system prompt again, and which changes compile nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Runtime, Settings, assemble, assistant
from bumble_core.ports import Files
from bumble_core.testing import ScriptedProvider
from bumble_core.types.events import Event, PromptCompiled
from bumble_core.types.turn import TurnInput
from tests.builtin.storage_support import CountingFiles
from tests.pieces import ManualClock, filling
from tests.shipped import construct_shipped

MIRA = {
    "name": "mira",
    "models": ["scripted:model"],
    "personality": {"description": "A patient gardener.", "traits": ["curious"]},
    "voice": {"tone": "warm"},
}
PRUNING = "skills/pruning/SKILL.md"
CATALOG = "cognition/state/skill_catalog.md"
SKILL = "---\nname: pruning\ndescription: How roses are pruned.\n---\nCut above a bud.\n"


class Watch:
    """Keeps what was compiled; senses what a test says."""

    def __init__(self) -> None:
        self.rendered: list[tuple[str, ...]] = []
        self.fingerprints: list[str] = []
        self.signals: dict[str, float] = {}

    def notify(self, event: Event) -> None:
        if isinstance(event, PromptCompiled):
            self.rendered.append(event.rendered)
            self.fingerprints.append(event.fingerprint)

    async def read(self, input: TurnInput) -> Mapping[str, float]:
        return self.signals


class Entity:
    """An agent with a character and a memory that a test changes between two turns."""

    def __init__(self, home: Path, runtime: Runtime, watch: Watch, clock: ManualClock) -> None:
        self.home, self.runtime, self.watch, self.clock = home, runtime, watch, clock

    def write(self, path: str, text: str) -> None:
        file = self.home / "memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def senses(self, **signals: float) -> None:
        self.watch.signals = signals


def entity(
    home: Path,
    agent: Mapping[str, Any] = MIRA,
    turns: int = 2,
    clock: ManualClock | None = None,
    files: Files | None = None,
) -> Entity:
    watch, clock = Watch(), clock or ManualClock()
    shipped = construct_shipped("persona", "memory", "router", "judge", "compactor")
    plugins = {**shipped, "scripted": ScriptedProvider([assistant("Done.")] * turns, system_may_change=True)}
    plugins["watch"] = filling(observers=[watch], signals=[watch])
    settings = Settings.model_validate({"agent": agent, "home": home})
    runtime = assemble(settings, plugins=plugins, discovers=False, run_jobs=False, clock=clock, files=files)
    made = Entity(home, runtime, watch, clock)
    made.write("knowledge.md", "## Garden\n\nThe roses are white.\n")
    made.write(PRUNING, SKILL)
    made.senses(mood=0.5)
    return made


CHANGES: list[tuple[str, Callable[[Entity], object], tuple[str, ...]]] = [
    ("nothing", lambda _: None, ()),
    ("the time", lambda one: one.clock.move(hours=7), ()),
    ("knowledge", lambda one: one.write("knowledge.md", "## Garden\n\nThe roses are red.\n"), ("Knowledge",)),
    ("the same knowledge again", lambda one: one.write("knowledge.md", "## Garden\n\nThe roses are white.\n"), ()),
    ("a skill's description", lambda one: one.write(PRUNING, SKILL.replace("How", "When")), ("SkillCatalog",)),
    ("a skill's body", lambda one: one.write(PRUNING, f"{SKILL}Clean the knife.\n"), ()),
    ("another skill", lambda one: one.write("skills/sowing/SKILL.md", "Sow in March."), ("SkillCatalog",)),
    ("the catalog of the job", lambda one: one.write(CATALOG, "## Skills\n\n- x\n"), ("SkillCatalog",)),
    ("another mood", lambda one: one.senses(mood=0.9), ("Monologue",)),
    ("a little of the mood", lambda one: one.senses(mood=0.6), ()),
    ("a mood at the border", lambda one: one.senses(mood=0.69), ()),
    ("another signal", lambda one: one.senses(mood=0.5, intensity=0.9), ()),
    ("the working memory", lambda one: one.write("working/WORKING_MEMORY.md", "## Active Tasks\n\n- Sow.\n"), ()),
    ("projects", lambda one: one.write("semantic/projects.md", "## Active Projects\n\n- A pond.\n"), ()),
    ("a fact", lambda one: one.write("semantic/facts.md", "## Confirmed Facts\n\n- It is Mira.\n"), ()),
    ("a review", lambda one: one.write("cognition/state/verification_review.md", "- Verdict: fail\n"), ()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "rendered"), [row[1:] for row in CHANGES], ids=[row[0].replace(" ", "-") for row in CHANGES]
)
async def test_a_change_compiles_what_depends_on_it_and_nothing_else(
    tmp_path: Path, change: Callable[[Entity], object], rendered: tuple[str, ...]
) -> None:
    one = entity(tmp_path)
    async with one.runtime:
        await one.runtime.answer("How are the roses?")
        change(one)
        await one.runtime.answer("How are the roses?")
    first, second = one.watch.rendered
    assert first == ("Identity", "Monologue", "VoiceRules", "SkillCatalog", "Knowledge")
    assert second == rendered
    assert (one.watch.fingerprints[0] == one.watch.fingerprints[1]) is (rendered == ())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", "mara"),
        ("personality", {"traits": ["stern"]}),
        ("voice", {"tone": "cold"}),
        ("backstory", "Raised on a boat."),
    ],
    ids=["name", "personality", "voice", "backstory"],
)
async def test_what_the_entity_is_changes_its_fingerprint_at_the_next_start(
    tmp_path: Path, key: str, value: object
) -> None:
    fingerprints = []
    for agent in (MIRA, {**MIRA, key: value}, MIRA):
        one = entity(tmp_path / "home", agent, turns=1)
        async with one.runtime:
            fingerprints.append((await one.runtime.answer("How are the roses?")).prompt)
    assert fingerprints[0] == fingerprints[2] != fingerprints[1]


async def test_fifty_turns_with_a_character_and_a_memory_compile_the_system_prompt_once(tmp_path: Path) -> None:
    one = entity(tmp_path, turns=50)
    async with one.runtime:
        for _ in range(50):
            one.clock.move(minutes=11)
            await one.runtime.answer("How are the roses?")
    assert one.watch.rendered[1:] == [()] * 49
    assert len(set(one.watch.fingerprints)) == 1


async def test_a_turn_reads_no_file_of_the_memory_that_did_not_change(tmp_path: Path) -> None:
    files, clock = CountingFiles(), ManualClock(datetime.now(UTC) + timedelta(hours=1))
    one = entity(tmp_path, turns=3, clock=clock, files=files)
    async with one.runtime:
        await one.runtime.answer("How are the roses?")
        before = files.reads
        await one.runtime.answer("How are the roses?")
        unchanged = files.reads - before
        one.write("knowledge.md", "## Garden\n\nThe roses are pink.\n")
        clock.move(hours=2)
        await one.runtime.answer("How are the roses?")
    assert (unchanged, files.reads - before) == (0, 1)
