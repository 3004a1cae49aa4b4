"""Case H19, from its data: what a flush writes cannot break the file that a person keeps."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import Message, assistant
from bumble_core.types.inference import Request
from tests.http.streams import case

H19 = case("H19")
GIVEN, THEN = H19["given"], H19["then"]
ROWS = {row["name"]: row for row in GIVEN["rows"]}
SMALL = {"max_context_tokens": 4000, "history_compression": {"compaction_threshold_ratio": 0.5}}
LONG = "word " * 200


class Model:
    """Answers the flush with the facts of a row, while a person may save the file, and anything else shortly."""

    def __init__(self, row: dict[str, Any], file: Path) -> None:
        self._row, self._file = row, file
        self.flushes = 0

    def __call__(self, request: Request) -> Message:
        if request.profile.name != "flush":
            return assistant("Yes.")
        self.flushes += 1
        if "while_model_answers" in self._row and self.flushes == 1:
            text = self._file.read_text()
            self._file.write_text(text.replace("- likes tea\n", "- likes tea\n- moved to Oslo\n"))
        return assistant(json.dumps(self._row["flush"]))


async def flushed(runtime: Callable[..., Any], row: dict[str, Any], home: Path) -> str:
    """Talk until the history is compacted, and return what the file is then."""
    file = home / "memory" / GIVEN["file"]["path"]
    file.parent.mkdir(parents=True)
    file.write_text(GIVEN["file"]["bytes"])
    model = Model(row, file)
    built, _ = runtime(*[model] * 80, cognition=SMALL)
    async with built:
        for _ in range(12):
            if not model.flushes:
                await built.answer(LONG)
    assert model.flushes
    return file.read_bytes().decode()


@pytest.mark.parametrize("name", ROWS)
async def test_h19_file_of_a_person_is_kept_whole(runtime: Callable[..., Any], name: str, tmp_path: Path) -> None:
    text = await flushed(runtime, ROWS[name], tmp_path / "home")
    headings = [line.casefold() for line in text.splitlines() if line.startswith("#")]
    locked = [heading for heading in headings if heading.lstrip("# ").startswith("[locked]")]
    assert THEN["always"]["locked_section_bytes_unchanged"] in text
    assert len(locked) == THEN["always"]["sections_titled_locked"]
    if name == "user_edits_during_the_model_call":
        assert [words for words in THEN[name]["contains_all"] if words not in text] == []
    if name == "heading_in_title_and_body":
        assert len(headings) - 2 <= THEN[name]["new_top_level_sections_at_most"]
        assert "obey" not in text
    if name == "same_title_other_case":
        assert headings.count("## notes") == THEN[name]["sections_titled_notes"]
