"""`bumble doctor`: each check, its result, its remedy."""

from __future__ import annotations

import json

import pytest

from tests.cli.talker import CONFIGURATION, OWL_ALONE, configure, with_owl
from tests.installed import Ended, Installed

DOWN = "plugins:\n  disabled: [openai, local]\n  ollama: {base_url: 'http://127.0.0.1:9'}\n"


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


def broken(ended: Ended) -> dict[str, str]:
    """Return the remedies by check of what is broken."""
    return {check["name"]: check["remedy"] for check in json.loads(ended.out) if check["state"] == "broken"}


def test_a_machine_in_order_passes_every_check(owl: Installed) -> None:
    ended = owl.bumble("doctor", "--json")
    names = [check["name"] for check in json.loads(ended.out)]
    assert (ended.status, broken(ended)) == (0, {})
    assert names == [
        "python", "sqlite", "configuration", "home", "disk", "plugins", "stages", "provider owl", "model owl:wise"
    ]  # fmt: skip


def test_the_table_is_for_a_person(owl: Installed) -> None:
    out = owl.bumble("doctor").out
    assert out.startswith("CHECK ")
    assert "with FTS5" in out


def test_nothing_is_made_by_looking(owl: Installed) -> None:
    owl.bumble("doctor", "--home", "new")
    assert not owl.work.joinpath("new").exists()


@pytest.mark.parametrize(
    ("configuration", "check", "remedy"),
    [
        ("agent: {models: [owl:lost]}\n" + OWL_ALONE, "model owl:lost", "bumble models pull owl:lost"),
        ("agent: {models: [olw:wise]}\n" + OWL_ALONE, "model olw:wise", "name one that is there (owl)"),
        ("agent: {models: [ollama:x]}\n" + DOWN, "provider ollama", "start the server"),
        ("agent: {modells: []}\n", "configuration", "correct it"),
        ("stages: {router: nobody}\n", "assembly", "correct the configuration"),
    ],
    ids=["no-model", "no-provider", "unreachable", "configuration", "assembly"],
)
def test_what_is_broken_has_a_remedy_and_ends_with_status_3(
    owl: Installed, configuration: str, check: str, remedy: str
) -> None:
    configure(owl, configuration)
    ended = owl.bumble("doctor", "--json")
    assert ended.status == 3
    assert broken(ended)[check].startswith(remedy)


def test_an_unreachable_server_that_nobody_needs_is_a_note(owl: Installed) -> None:
    configure(owl, "agent: {models: [owl:wise]}\n" + DOWN)
    ended = owl.bumble("doctor", "--json")
    notes = [check["name"] for check in json.loads(ended.out) if check["state"] == "note"]
    assert (ended.status, notes) == (0, ["provider ollama", "provider ollama-cloud"])


def test_no_model_at_all_is_broken(installed: Installed) -> None:
    configure(installed, OWL_ALONE)
    assert "bumble models pull smollm2" in broken(installed.bumble("doctor", "--json"))["models"]


def test_a_broken_plugin_is_broken_and_a_missing_extra_is_a_note(owl: Installed) -> None:
    source = "import nowhere_to_be_found"
    owl.add("wreck", "0.1", {"bumble_core.plugins": {"wreck": "wreck:Plugin"}}, wreck="1 / 0")
    owl.add("poor", "0.1", {"bumble_core.plugins": {"poor": "poor:Plugin"}}, poor=source)
    metadata = owl.site / "poor-0.1.dist-info" / "METADATA"
    metadata.write_text(
        metadata.read_text() + "Provides-Extra: poor\nRequires-Dist: nowhere_to_be_found; extra == 'poor'\n"
    )
    ended = owl.bumble("doctor", "--json")
    states = {check["name"]: (check["state"], check["remedy"]) for check in json.loads(ended.out)}
    assert states["plugin poor"] == ("note", "pip install 'poor[poor]'")
    assert states["plugin wreck"][0] == "broken"


@pytest.mark.parametrize(
    ("content", "problem"),
    [('{"schema": 99}', "later version"), ("{", "cannot be read")],
    ids=["newer", "damaged"],
)
def test_a_home_that_cannot_be_used_is_broken(owl: Installed, content: str, problem: str) -> None:
    home = owl.work / "home"
    home.mkdir()
    home.joinpath("home.json").write_text(content)
    ended = owl.bumble("doctor", "--json", "--home", str(home))
    assert "home" in broken(ended)
    assert problem in ended.out


def test_a_home_below_a_file_cannot_be_made(owl: Installed) -> None:
    owl.work.joinpath("file").write_text("")
    ended = owl.bumble("doctor", "--json", "--home", "file/home")
    assert "home" in broken(ended)


def test_every_problem_of_the_configuration_is_shown(owl: Installed) -> None:
    configure(owl, CONFIGURATION + "plugins: {}\nagnet: {}\n")
    ended = owl.bumble("doctor")
    assert (ended.status, "Traceback" in ended.err) == (3, False)
    assert "agnet" in ended.out


def test_conversations_that_cannot_be_read_are_broken(owl: Installed) -> None:
    home = owl.work / "home"
    assert owl.bumble("run", "--home", str(home), "hi").status == 0
    assert "sessions" not in broken(owl.bumble("doctor", "--json", "--home", str(home)))
    home.joinpath("sessions.sqlite3").write_bytes(b"damaged" * 1000)
    ended = owl.bumble("doctor", "--json", "--home", str(home))
    assert ended.status == 3
    assert "move the damaged file away" in broken(ended)["sessions"]


def test_a_home_whose_name_is_too_long_is_broken(owl: Installed) -> None:
    assert "home" in broken(owl.bumble("doctor", "--json", "--home", "x" * 300))
