"""`bumble plugins`, on a machine where some plugins are broken."""

from __future__ import annotations

import json

import pytest

from tests.cli.talker import OWL_ALONE, configure, with_owl
from tests.installed import Installed

GROUP = "bumble_core.plugins"


@pytest.fixture
def machine(installed: Installed) -> Installed:
    with_owl(installed)
    installed.add("wreck", "0.1", {GROUP: {"wreck": "wreck:Plugin"}}, wreck="raise SystemExit('no')")
    installed.add("empty", "0.2", {GROUP: {"empty": "empty:Plugin"}}, empty="class Plugin: ...")
    return installed


def test_each_plugin_is_listed_with_what_it_offers_or_why_not(machine: Installed) -> None:
    reports = {report["name"]: report for report in json.loads(machine.bumble("plugins", "--json").out)}
    owl, wreck = reports["owl"], reports["wreck"]
    assert (owl["version"], owl["distribution"], owl["state"]) == ("1.2", "night-owl", "loaded")
    assert owl["offers"] == ["providers", "tools"]
    assert (wreck["state"], wreck["offers"]) == ("failed", [])
    assert "SystemExit: no" in wreck["reason"]
    assert "pip install --upgrade wreck" in wreck["remedy"]
    assert reports["openai"]["state"] == "disabled"


def test_the_table_says_the_same_for_a_person(machine: Installed) -> None:
    out = machine.bumble("plugins").out
    assert out.startswith("NAME ")
    assert "import failed: SystemExit: no" in next(line for line in out.splitlines() if line.startswith("wreck"))


def test_a_broken_plugin_is_fatal_only_when_that_is_asked_for(machine: Installed) -> None:
    lenient, strict = machine.bumble("run", "say hi"), machine.bumble("run", "--strict", "say hi")
    assert (lenient.status, lenient.out) == (0, "hi\n")
    assert (strict.status, strict.out, "wreck" in strict.err) == (1, "", True)


def test_a_plugin_that_is_not_there_is_a_wrong_configuration(machine: Installed) -> None:
    configure(machine, OWL_ALONE.replace("ollama", "olama"))
    ended = machine.bumble("plugins")
    assert (ended.status, "did you mean `ollama`?" in ended.err) == (2, True)
