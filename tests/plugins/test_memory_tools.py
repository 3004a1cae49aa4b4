"""The tools that read the memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from bumble_memory import MemoryConfig, MemoryPlugin
from pydantic import JsonValue

from bumble_core import ToolCall, ToolError
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.system import SystemFiles
from bumble_core.types.documents import ABSENT
from tests.pieces import ManualClock
from tests.plugins.workspaces import TURN

FILES = {
    "knowledge.md": "# Knowledge\n\n## Server\n\nThe staging server listens on port 8081.\n",
    "semantic/facts.md": (
        "## Confirmed Facts\n\n- Die Veröffentlichungen sind dienstags [turn 3]\n- 蔷薇是白色的\n- v2.3 is out\n"
    ),
    "cognition/state/earlier_reviews.md": "## Turns 9 to 11: pass\n\nAll good.\n",
    "skills/roses/SKILL.md": "Cut above a bud.",
    "empty.md": "",
}


async def call(home: Path, name: str, **arguments: JsonValue) -> str:
    documents = FileDocuments(home, SystemFiles(), ManualClock())
    for path, text in FILES.items():
        await documents.write(path, text, ABSENT)
    offered = {tool.spec.name: tool for tool in MemoryPlugin(MemoryConfig()).bumble_tools(documents)}
    return (await offered[name].call(ToolCall(id="c", name=name, arguments=arguments), TURN)).content


@pytest.mark.parametrize(
    "path", ["semantic/facts.md", "memory/semantic/facts.md", "/memory/semantic/facts.md", " semantic/facts.md "]
)
async def test_a_document_is_read_however_its_path_is_written(tmp_path: Path, path: str) -> None:
    assert await call(tmp_path, "read_memory", path=path) == FILES["semantic/facts.md"]


@pytest.mark.parametrize("path", ["", ".", "memory/"])
async def test_the_whole_memory_is_listed(tmp_path: Path, path: str) -> None:
    assert (await call(tmp_path, "read_memory", path=path)).splitlines() == sorted(FILES)


async def test_a_folder_is_listed(tmp_path: Path) -> None:
    assert await call(tmp_path, "read_memory", path="skills") == "skills/roses/SKILL.md"


async def test_an_empty_document_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    assert await call(tmp_path, "read_memory", path="empty.md") == "the document is empty"


async def test_a_missing_document_is_answered_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"no document `semantic/fact.md` .* did you mean `semantic/facts.md`"):
        await call(tmp_path, "read_memory", path="semantic/fact.md")


@pytest.mark.parametrize("path", ["../sessions.sqlite3", "a/../../b", "memory/../../x"])
async def test_nothing_outside_of_the_memory_is_read(tmp_path: Path, path: str) -> None:
    with pytest.raises(ToolError, match=r"without `\.\.`"):
        await call(tmp_path, "read_memory", path=path)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("which port has the staging server", "knowledge.md:5 (Server): The staging server listens on port 8081."),
        ("Veröffentlichung", "semantic/facts.md:3 (Confirmed Facts): - Die Veröffentlichungen sind dienstags [turn 3]"),
        ("蔷薇 颜色", "semantic/facts.md:4 (Confirmed Facts): - 蔷薇是白色的"),
        ("V2.3 IS", "semantic/facts.md:5 (Confirmed Facts): - v2.3 is out"),
        ("all good", "cognition/state/earlier_reviews.md:3 (Turns 9 to 11: pass): All good."),
    ],
    ids=["words", "another-form", "without-spaces", "literal", "earlier-reviews"],
)
async def test_a_search_gives_the_place_that_fits_best_first(tmp_path: Path, query: str, first: str) -> None:
    assert (await call(tmp_path, "search_memory", query=query)).splitlines()[0] == first


async def test_a_search_in_vain_says_how_much_was_searched(tmp_path: Path) -> None:
    assert await call(tmp_path, "search_memory", query="zeppelin") == "nothing in 5 documents of your memory fits"


async def test_an_empty_query_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="`query` is empty"):
        await call(tmp_path, "search_memory", query="  ")
