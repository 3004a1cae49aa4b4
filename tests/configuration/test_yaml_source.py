"""Strict YAML: what is text, what is a problem, and on which line."""

from __future__ import annotations

from itertools import pairwise

import pytest

from bumble_core.configuration.yaml_source import parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("=", "="),
        ("0b11", "0b11"),
        ("'8'", "8"),
        ("017", 17),
        ("0o17", 15),
        ("0x1F", 31),
        ("-8", -8),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.INF", float("-inf")),
        ("True", True),
        ("~", None),
        ("", None),
        ("!!str 8", "8"),
    ],
)
def test_plain_words_mean_what_the_core_schema_says(text: str, value: object) -> None:
    read = parse(f"key: {text}\n".encode()).tree["key"]
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a:\n  b: 1\n\tc: 2\n", 3, "a tab is used for indentation"),
        ("a: 1\nb: 2\na: 3\n", 3, "a: given twice, first on line 1"),
        ("a:\n  - !!set {x}\n", 2, "a[0]: the tag `!!set` is not allowed"),
        ("a: 1\nb: !thing x\n", 2, "b: the tag `!thing` is not allowed"),
        ("a: !!int x\n", 1, "a: 'x' is no `!!int`"),
        ("a: 1\n7: x\n", 2, "expected text as a key, got `7`; write it in quotes"),
        ("? [a]\n: x\n", 1, "expected text as a key, got a mapping or a list"),
        ("a: [1\nb: 2\n", 2, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "another document"),
        ("a: &x [*x]\n", 1, "a[0]: an alias stands inside of what it repeats"),
        ("a: 1\nb: {<<: 3}\n", 2, "b: `<<` merges mappings only"),
        ("a: 1\nb: \x07\n", 2, "the character U+0007 is not allowed"),
        ("- a\n", 1, "expected a mapping of keys to values, got a list"),
        ("a: " + "9" * 5000, 1, "is no `!!int`"),
        ("[" * 5000, 0, "nested too deeply"),
        ("a: " + "[" * 100 + "]" * 100, 1, "nested too deeply"),
        ('a: "\\UFFFFFFFF"', 0, "not valid YAML"),
    ],
    ids=[
        "tab", "twice", "core-tag", "own-tag", "tag-misfit", "number-key", "list-key", "open-list", "documents",
        "endless-alias", "merge-of-text", "control", "list", "long-number", "brackets", "deep-list", "no-character",
    ],
)  # fmt: skip
def test_what_is_not_allowed_is_said_with_its_line(text: str, line: int, said: str) -> None:
    (problem,) = parse(text.encode()).problems
    assert problem.line == line
    assert said in problem.text


def test_text_in_another_encoding_is_refused_on_its_line() -> None:
    (problem,) = parse(b"a: 1\nb: caf\xe9\n").problems
    assert (problem.line, problem.text) == (2, "not UTF-8 text (byte 0xe9)")


def test_a_file_of_aliases_does_not_explode() -> None:
    rows = [f"{name}: &{name} [{', '.join([f'*{above}'] * 9)}]" for above, name in pairwise("abcdefgh")]
    (problem,) = parse("\n".join(["a: &a [x]", *rows]).encode()).problems
    assert problem.text == "expands to more than 20,000 values"


def test_a_huge_file_is_not_read() -> None:
    (problem,) = parse(b"#" * 300_000).problems
    assert problem.text == "larger than 256,000 bytes"


def test_merged_keys_do_not_win_over_those_that_stand_there() -> None:
    source = parse(b"a: &a {x: 1, y: 1}\nb: &b {x: 2, z: 2}\nc:\n  <<: [*a, *b]\n  y: 3\n")
    assert source.tree["c"] == {"x": 1, "y": 3, "z": 2}
    assert (source.lines["c", "y"], source.lines["c", "x"]) == (5, 1)


def test_every_problem_is_found_and_the_rest_is_read() -> None:
    source = parse(b"a: 1\na: 2\nb: !x 1\nc: 3\n")
    assert [problem.line for problem in source.problems] == [2, 3]
    assert source.tree == {"a": 1, "c": 3}
