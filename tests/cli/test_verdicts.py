"""Why a turn ended, as a person reads it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bumble_core.cli.verdicts import verdict_lines
from bumble_core.types.budget import Spent
from bumble_core.types.inference import Usage
from bumble_core.types.messages import user
from bumble_core.types.turn import Turn, Verdict

AT = datetime(2026, 1, 1, tzinfo=UTC)
SPENT = Spent(usage=Usage(input_tokens=400, output_tokens=6), cost=0.0021)


def lines(*verdicts: Verdict, **how: Any) -> list[str]:
    given = {"status": "done", "messages": (user("hi"),), "verdicts": verdicts, **how}
    return verdict_lines(Turn(id="t", session_id="s", started=AT, finished=AT, **given))


def test_a_refusal_shows_what_the_model_was_told_and_what_it_cost() -> None:
    verdict = Verdict(
        done=False, decided_by="model", reason="only promised", nudge="Do it.", on="end_turn",
        evidence=("action adequacy", "12 characters seen"), calls=1, spent=SPENT,
    )  # fmt: skip
    assert lines(verdict) == [
        "  = goes on after a wish to end, says the model: only promised",
        "    told: Do it.",
        "    evidence: action adequacy; 12 characters seen",
        "    cost: 1 request, 400 tokens in, 6 out, cost 0.0021",
    ]


def test_a_judge_that_failed_shows_its_problem() -> None:
    verdict = Verdict(done=True, decided_by="heuristic", reason="so", problem="no connection", on="say", calls=2)
    assert lines(verdict) == [
        "  = may end after words said while working, says the heuristic: so",
        "    problem: no connection",
        "    cost: 2 requests, none answered",
    ]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (
            {"status": "capped", "error": "stopped after 6 steps"},
            "  = it was stopped at a limit: stopped after 6 steps",
        ),
        ({"status": "interrupted"}, "  = it was interrupted"),
        ({"status": "done"}, "  = it ended, and no verdict is known"),
    ],
)
def test_an_end_without_a_verdict_is_explained_too(how: dict[str, Any], said: str) -> None:
    assert lines(**how) == [said]
