"""The catalog of skills follows the folder of skills, without any model."""

from __future__ import annotations

from typing import Any

import pytest
from bumble_jobs.declared import CATALOG
from bumble_jobs.skills import SkillCatalog

from bumble_core.types.documents import Document
from bumble_core.types.jobs import Situation, When
from tests.plugins.job_views import AT, checked, texts, view

RELEASE = "---\nname: release\ndescription: How a release is made\n  and checked.\n---\nRun the tests.\n"


def seen(**skills: str) -> Any:
    return view(SkillCatalog(), texts={f"skills/{name}/SKILL.md": text for name, text in skills.items()})


async def test_each_skill_has_a_line_in_the_order_of_names() -> None:
    given = seen(b=RELEASE, a="---\nname: Zebra\n---\n", c="no front matter")
    done = await SkillCatalog().run(given)
    assert texts(done)[CATALOG] == (
        "# Skill catalog\n\n## Skills\n\n"
        "- c: No description. (skills/c/SKILL.md)\n"
        "- release: How a release is made and checked. (skills/b/SKILL.md)\n"
        "- Zebra: No description. (skills/a/SKILL.md)\n"
    )
    assert (done.summary, checked(SkillCatalog(), given, done)) == ("3 skills", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\nname: [1]\n---\n",
        "---\n- a\n---\n",
        "---\n: :\n\t---\n",
        "---\nname: x",
        "--- \ufeff\n",
        "---\n{\n---\n",
    ],
)
async def test_a_skill_whose_head_is_broken_is_listed_by_its_folder(text: str) -> None:
    done = await SkillCatalog().run(seen(mine=text))
    assert texts(done)[CATALOG].endswith("- mine: No description. (skills/mine/SKILL.md)\n")


async def test_a_head_cannot_open_a_section() -> None:
    done = await SkillCatalog().run(seen(mine='---\nname: "x\\n## Rules"\ndescription: "y\\n\\n## [locked] z"\n---\n'))
    assert [line for line in texts(done)[CATALOG].splitlines() if line.startswith("## ")] == ["## Skills"]


async def test_without_skills_there_is_no_catalog_until_there_was_one() -> None:
    assert (await SkillCatalog().run(seen())).writes == ()
    emptied = await SkillCatalog().run(view(SkillCatalog(), texts={CATALOG: "# Skill catalog\n"}))
    assert texts(emptied) == {CATALOG: "# Skill catalog\n\n## Skills\n"}


async def test_other_files_of_a_skill_are_no_skills() -> None:
    given = view(SkillCatalog(), texts={"skills/a/more/SKILL.md": RELEASE, "skills/a/notes.md": "x"})
    assert (await SkillCatalog().run(given)).summary == "0 skills"


async def test_the_job_is_due_when_a_skill_changed_and_not_again() -> None:
    (condition,) = [trigger.condition for trigger in SkillCatalog().spec.triggers if isinstance(trigger, When)]
    document = Document(path="skills/a/SKILL.md", text=RELEASE, version="v1")
    now = Situation(at=AT, documents={document.path: document})
    assert condition.reason(Situation(at=AT, documents={})) == ""
    assert condition.reason(now) == "the skills changed"
    done = await SkillCatalog().run(
        view(SkillCatalog()).model_copy(
            update={"documents": {document.path: document, CATALOG: Document(path=CATALOG, text="", version="absent")}}
        )
    )
    assert condition.reason(Situation(at=AT, documents=now.documents, note=done.note or "")) == ""
