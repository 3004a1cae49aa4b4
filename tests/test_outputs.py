"""What the model sees of an output, and what the log keeps."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from bumble_core import Runtime, assistant
from bumble_core.outputs import limited
from bumble_core.testing import ScriptedProvider, flatten
from bumble_core.types.messages import ToolCall, ToolResult
from tests.pieces import Tools, calling, contents


def result(content: str, said: str = "") -> ToolResult:
    return ToolResult(call_id="c", name="t", content=content, said=said)


@pytest.mark.parametrize("content", ["", "short é 中文\ttab\n", "\x1b[31mred\x1b[0m", "x" * 1000, "a\ufffdb\x07"])
def test_a_result_that_fits_is_left_alone(content: str) -> None:
    given = result(content)
    assert limited(given, 1000) is given


@pytest.mark.parametrize("total", [1001, 5000, 1_234_567])
def test_a_long_result_loses_its_middle_and_says_how_much(total: int) -> None:
    given = ("0123456789" * (total // 10 + 1))[:total]
    made = limited(result(given), 1000)
    head, marker, tail = made.content.split("\n")
    left_out = int(marker.split()[1])
    assert len(head) + len(tail) + left_out == total
    assert given.startswith(head)
    assert given.endswith(tail)
    assert len(head) + len(marker) + len(tail) + 2 <= 1000
    assert f" of {total} characters left out" in marker
    assert f'read_output(call_id="c", start={len(head)}) reads on' in marker


@pytest.mark.parametrize(
    "content",
    ["\x89PNG\r\n\x1a\n\x00\x00", "text " * 10_000 + "\x00", "\udc80\udcff" * 300, "\x01\x02\x03\x04" * 9],
    ids=["png", "late-nul", "undecodable", "control"],
)
def test_binary_content_is_described(content: str) -> None:
    assert limited(result(content), 1000).content == f"binary output of {len(content)} characters, not shown"


def test_halves_of_characters_are_replaced_in_content_and_in_what_is_said() -> None:
    made = limited(result("caf\udce9", said="\ud83d!"), 1000)
    assert (made.content, made.said) == ("caf\ufffd", "\ufffd!")


def test_a_flood_is_cut_in_linear_time() -> None:
    content = "ab\udce9c " * 10_000_000
    begin = time.perf_counter()
    assert len(limited(result(content), 16_000).content) <= 16_000
    assert time.perf_counter() - begin < 1


@pytest.mark.parametrize("total", [1001, 1_000_000])
def test_the_whole_of_a_cut_output_is_kept(total: int) -> None:
    assert limited(result("y" * total), 1000).whole == "y" * total


def test_of_a_flood_a_million_characters_are_kept_with_the_gap_marked() -> None:
    whole = limited(result("y" * 9_000_000), 1000).whole
    assert len(whole) <= 1_000_000
    assert "of 9000000 characters left out here; they were not kept" in whole


def test_an_id_that_is_too_long_to_repeat_is_left_out() -> None:
    made = limited(result("y" * 2000).model_copy(update={"call_id": "i" * 5000}), 500)
    assert len(made.content) <= 500
    assert "read_output(start=" in made.content


def test_a_diff_is_bounded_and_readable() -> None:
    made = limited(result("done").model_copy(update={"diff": "+\udce9" * 700_000}), 1000)
    assert made.diff == "+\ufffd" * 500_000


def numbers() -> str:
    return " ".join(str(number) for number in range(2000))


async def read_on(runtime: Any, *calls: Any) -> list[str]:
    made: tuple[Runtime, ScriptedProvider] = runtime(
        calling("numbers"), *calls, assistant("Read."), plugins={"n": Tools(numbers)}, tools={"max_output_chars": 1000}
    )
    async with made[0]:
        return contents((await made[0].answer("go")).messages)


async def test_the_rest_of_a_cut_output_can_be_read_page_by_page(runtime: Any) -> None:
    def reading(request: Any) -> Any:
        start = re.findall(r"start=(\d+)", contents(request.messages)[-1])
        return calling("read_output", start=int(start[-1]))

    first, *pages = await read_on(runtime, reading, reading, reading)
    text = first.split("\n")[0] + "".join(page.split("\n", 1)[1] for page in pages)
    assert numbers().startswith(text)
    assert len(text) > 3000
    assert all(len(page) <= 1000 for page in pages)


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ({"call_id": "other"}, "no output that was cut is at hand"),
        ({"start": 8889}, "this output has 8889 characters, none from 8889 on"),
        ({"start": 8888}, "[characters 8888 to 8889 of 8889]\n9"),
    ],
    ids=["unknown", "behind-the-end", "last-character"],
)
async def test_reading_on_says_what_there_is(runtime: Any, given: dict[str, Any], content: str) -> None:
    assert content in (await read_on(runtime, calling("read_output", **given)))[-1]


async def test_an_earlier_turns_output_is_read_by_its_calls_id(runtime: Any) -> None:
    made, _ = runtime(
        assistant("", ToolCall(id="long", name="numbers")),
        assistant("Done."),
        calling("read_output", call_id="long", start=8888),
        assistant("It ends in 9."),
        plugins={"n": Tools(numbers)},
        tools={"max_output_chars": 1000},
    )
    async with made:
        await made.answer("count", session="a")
        turn = await made.answer("and the end?", session="a")
    assert contents(turn.messages) == ["[characters 8888 to 8889 of 8889]\n9"]


def test_a_reader_is_offered_where_there_is_work_to_read_of(runtime: Any) -> None:
    assert "read_output" in runtime(plugins={"n": Tools(numbers)})[0].tools
    assert "read_output" not in runtime()[0].tools


async def test_the_model_is_not_shown_what_is_kept_for_others(runtime: Any) -> None:
    def secretive() -> ToolResult:
        return ToolResult(call_id="", name="", content="short", diff="+the difference")

    runtime, model = runtime(calling("secretive"), assistant("Done."), plugins={"n": Tools(secretive)})
    async with runtime:
        turn = await runtime.answer("go")
    assert [result.diff for message in turn.messages for result in message.tool_results] == ["+the difference"]
    assert "the difference" not in flatten(model.requests[-1])
