"""`bumble route`: one decision explained, and many measured."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.talker import with_owl
from tests.installed import Installed


def test_a_route_is_explained_sign_by_sign(installed: Installed) -> None:
    result = installed.bumble("route", "open notes.txt, please")
    assert "deliberate, at most 2048 tokens: GROUNDED" in result.out
    assert {line.split()[0] for line in result.out.splitlines()[3:]} >= {"SIGN", "short", "file", "work", "share"}


def test_an_explanation_is_given_as_json(installed: Installed) -> None:
    told = json.loads(installed.bumble("route", "--json", "thanks a lot!").out)
    assert (told["route"]["label"], told["route"]["profile"]["name"]) == ("CHAT", "reflex")
    assert told["explanation"]["is_certain"] is True
    assert "pleasant" in {sign["name"] for sign in told["explanation"]["signs"]}


def test_a_text_may_be_what_a_command_is_called_when_its_command_is_named(installed: Installed) -> None:
    assert "at most" in installed.bumble("route", "explain", "evaluate").out


def test_a_model_is_asked_where_it_is_named(installed: Installed) -> None:
    told = json.loads(with_owl(installed).bumble("route", "--json", "-m", "owl:CHAT", "The left one, though?").out)
    assert (told["route"]["decided_by"], told["explanation"]["is_certain"]) == ("classifier", False)


def test_the_shipped_messages_are_measured_beside_routers_that_look_at_nothing(installed: Installed) -> None:
    found = json.loads(installed.bumble("route", "evaluate", "--json").out)
    groups = {each["group"]: each for each in found["groups"]}
    assert (groups["all"]["messages"], groups["ja"]["messages"], groups["EXACT"]["messages"]) == (400, 40, 70)
    assert {each["group"] for each in found["baselines"]} == {
        "always reflex",
        "always deliberate",
        "under 80 characters",
    }
    assert groups["all"]["accuracy"] > max(each["accuracy"] for each in found["baselines"])


def test_a_set_of_ones_own_is_measured_as_a_table(installed: Installed, tmp_path: Path) -> None:
    row = {"id": "a", "language": "eo", "label": "CHAT", "text": "hi"}
    (tmp_path / "own.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    result = installed.bumble("route", "evaluate", "--set", str(tmp_path))
    assert result.out.splitlines()[1].split() == ["all", "1", "100.0%", "100.0%", "100.0%", "-", "100.0%", "25.0%"]


def test_a_broken_line_of_a_set_is_named(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "own.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    result = installed.bumble("route", "evaluate", "--set", str(tmp_path))
    assert (result.status, "own.jsonl:1: language: Field required" in result.err) == (1, True)


def test_a_model_that_cannot_be_asked_is_an_error_and_no_table(installed: Installed) -> None:
    result = with_owl(installed).bumble("route", "evaluate", "--model", "olw:wise")
    assert (result.status, result.out, "olw" in result.err) == (1, "", True)


def test_a_folder_without_messages_is_an_error(installed: Installed, tmp_path: Path) -> None:
    result = installed.bumble("route", "evaluate", "--set", str(tmp_path))
    assert (result.status, "no labelled messages" in result.err) == (1, True)
