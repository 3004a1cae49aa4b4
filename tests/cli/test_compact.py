"""`/compact` and `bumble sessions compact`: a person shortens a conversation, and the log keeps it whole."""

from __future__ import annotations

import json

import pytest

from bumble_core.types.compaction import Compaction
from tests.cli.talker import with_owl
from tests.installed import Installed

TALK = "".join(f"tell {number} {'of the garden ' * 40}\n" for number in range(14))


@pytest.fixture
def owl(installed: Installed) -> Installed:
    return with_owl(installed)


def test_a_chat_is_compacted_with_a_focus(owl: Installed) -> None:
    out = owl.bumble("chat", "--session", "long", input=f"{TALK}/compact the tomatoes\ncount\n").out
    assert "Shortened from " in out
    assert "; the log keeps them all.\n" in out
    assert "to keep 'the tomatoes'" in owl.bumble("sessions", "show", "--full", "long").out


def test_a_session_is_compacted_and_shown_whole_afterwards(owl: Installed) -> None:
    owl.bumble("chat", "--session", "long", input=TALK)
    done = Compaction.model_validate_json(owl.bumble("sessions", "compact", "long", "--json").out)
    assert 0 < done.tokens_after < done.tokens_before
    assert done.cause == "asked"
    shown = owl.bumble("sessions", "show", "--full", "long").out
    assert shown.count("you: tell ") == 14
    assert "(compaction, asked: " in shown
    assert "summarise: removed " in shown


def test_the_next_turn_sees_the_summary_and_no_command(owl: Installed) -> None:
    owl.bumble("chat", "--session", "long", input=TALK)
    before = owl.bumble("run", "--session", "long", "count").out
    owl.bumble("sessions", "compact", "long", "--focus", "owls")
    after = owl.bumble("run", "--session", "long", "count").out
    assert int(after.split()[0]) < int(before.split()[0])


def test_a_session_that_is_short_stays_as_it_is(owl: Installed) -> None:
    owl.bumble("run", "--session", "short", "say hello")
    ended = owl.bumble("sessions", "compact", "short")
    assert (ended.status, ended.out) == (0, "Nothing could be left out: all of it is protected, or too short.\n")
    turns = json.loads(owl.bumble("sessions", "show", "short", "--json").out)
    assert len(turns) == 1


def test_a_session_that_is_not_there_is_an_error_with_advice(owl: Installed) -> None:
    owl.bumble("run", "--session", "garden", "say hello")
    ended = owl.bumble("sessions", "compact", "gardn")
    assert ended.status == 1
    assert "did you mean `garden`?" in ended.err
