"""A failing model is left alone for a while."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bumble_core.builtin.circuits import Circuit, Circuits
from bumble_core.errors import (
    AuthenticationError,
    ContextOverflow,
    Filtered,
    InferenceError,
    InvalidRequest,
    Overloaded,
    RateLimited,
    Unreachable,
)
from bumble_core.types.inference import ModelRef
from tests.http.clocks import StillClock

DOWN = Unreachable("nobody there")


def circuit(clock: StillClock | None = None, chance: float = 0.0) -> Circuit:
    return Circuit(clock or StillClock(), lambda: chance)


def opened(clock: StillClock, times: int = 1) -> Circuit:
    made = circuit(clock)
    for _ in range(3):
        made.failed(DOWN)
    for _ in range(times - 1):
        clock.slept.append(made.left_s)
        made.failed(DOWN)
    return made


@pytest.mark.parametrize(("failures", "is_open"), [(1, False), (2, False), (3, True)])
def test_three_failures_in_a_row_open_it(failures: int, is_open: bool) -> None:
    made = circuit()
    for _ in range(failures):
        made.failed(DOWN)
    assert (made.obstacle is not None) is is_open


def test_a_success_between_failures_counts_them_anew() -> None:
    made = circuit()
    for outcome in (DOWN, DOWN, None, DOWN, DOWN):
        made.failed(outcome) if outcome else made.succeeded()
    assert made.obstacle is None


@pytest.mark.parametrize(
    ("times", "pause_s"), [(1, 30), (2, 60), (3, 120), (5, 480), (6, 600), (40, 600)], ids=lambda value: f"{value}"
)
def test_the_pause_doubles_up_to_ten_minutes(times: int, pause_s: float) -> None:
    assert opened(StillClock(), times).left_s == pytest.approx(pause_s)


@given(st.floats(0, 1))
def test_chance_shortens_a_pause_by_a_fifth_at_most(chance: float) -> None:
    made = circuit(chance=chance)
    for _ in range(3):
        made.failed(DOWN)
    assert 24 <= made.left_s <= 30


def test_after_the_pause_one_request_is_let_through_and_its_success_closes_it() -> None:
    clock = StillClock()
    made = opened(clock)
    clock.slept.append(made.left_s)
    assert made.obstacle is None
    with made.trying():
        assert "another request tries it" in (made.obstacle or "")
        made.succeeded()
    made.failed(DOWN)
    assert made.obstacle is None


def test_a_trial_that_is_given_up_leaves_the_next_one_free() -> None:
    clock = StillClock()
    made = opened(clock)
    clock.slept.append(made.left_s)
    with pytest.raises(KeyboardInterrupt), made.trying():
        raise KeyboardInterrupt
    assert made.obstacle is None


def test_a_failure_while_it_is_open_does_not_lengthen_the_pause() -> None:
    clock = StillClock()
    made = opened(clock)
    clock.slept.append(10)
    made.failed(DOWN)
    assert made.left_s == pytest.approx(20)


@pytest.mark.parametrize(
    ("error", "pause_s"),
    [
        (AuthenticationError("bad key"), 600),
        (RateLimited("slow down", 45), 45),
        (RateLimited("slow down", 86_400), 600),
        (RateLimited("slow down"), 0),
        (Overloaded("busy", 45), 0),
        (InferenceError("a bug"), 0),
    ],
    ids=["key", "told-when", "told-tomorrow", "not-told", "busy", "bug"],
)
def test_some_failures_open_it_at_once(error: InferenceError, pause_s: float) -> None:
    made = circuit()
    made.failed(error)
    assert made.left_s == pytest.approx(pause_s)


@pytest.mark.parametrize("error", [ContextOverflow("long", 10), Filtered("no"), InvalidRequest("what?")])
def test_a_failure_of_the_request_says_that_the_model_is_there(error: InferenceError) -> None:
    made = circuit()
    for each in (DOWN, DOWN, error, DOWN):
        made.failed(each)
    assert made.obstacle is None


def test_the_reason_names_the_last_failure_and_the_time_left() -> None:
    assert opened(StillClock()).obstacle == "passed over for 30 s more after 3 failures; the last: nobody there"


def test_each_model_has_one_circuit() -> None:
    circuits = Circuits(StillClock())
    one, other = ModelRef(provider="a", model="m"), ModelRef(provider="b", model="m")
    assert circuits.of(one) is circuits.of(one)
    assert circuits.of(one) is not circuits.of(other)
