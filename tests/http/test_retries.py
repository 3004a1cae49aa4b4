"""Asking again: when, after how long, and when not."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from bumble_core.errors import AuthenticationError, InferenceError, Overloaded, RateLimited
from bumble_core.http import retry_delay, with_retries
from bumble_core.types.http import HttpSettings
from bumble_core.types.inference import Completion, Delta
from bumble_core.types.messages import assistant
from tests.http.asking import failing
from tests.http.clocks import StillClock
from tests.http.streams import MODEL, case

DONE = Completion(message=assistant("ok"), finish="stop", model=MODEL)
SETTINGS = HttpSettings(base_url="http://h", retry_base_s=1, retry_max_s=60, retry_jitter=0)
ROWS = case("H06")["given"]["rows"]


class Server:
    """Answers each attempt with the next item: an error is raised, a completion follows its text."""

    def __init__(self, *answers: InferenceError | Completion, text_first: bool = False) -> None:
        self.answers, self.text_first, self.asked = list(answers), text_first, 0

    async def ask(self, deadline: float) -> AsyncGenerator[Delta | Completion, None]:
        self.asked += 1
        answer = self.answers.pop(0)
        if self.text_first:
            yield Delta(text="Hel")
        if isinstance(answer, InferenceError):
            raise answer
        yield answer

    def stream(self, clock: StillClock, **changes: Any) -> AsyncGenerator[Delta | Completion, None]:
        return with_retries(self.ask, MODEL, SETTINGS.model_copy(update=changes), clock)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
async def test_h06_a_server_is_asked_again_when_it_wants_to_be(row: dict[str, Any]) -> None:
    clock = StillClock()
    headers = {} if row["retry_after"] is None else {"retry-after": row["retry_after"]}
    kind = RateLimited if row["status"] == 429 else Overloaded
    server = Server(kind("busy", retry_delay(headers, clock.now())), DONE)
    items = [item async for item in server.stream(clock)]
    least, most = row["wait_s"]
    assert least <= sum(clock.slept) <= most
    assert isinstance(done := items[-1], Completion)
    assert [attempt.error for attempt in done.failed_attempts] == ["busy"]


async def test_h06_a_wait_of_a_day_is_not_waited_for() -> None:
    clock = StillClock()
    got, error = await failing(Server(RateLimited("busy; it asks to wait 86400 s", 86400)).stream(clock))
    assert (got, clock.slept) == ([], [])
    assert "86400" in str(error)


async def test_h06_a_refused_key_is_not_tried_again() -> None:
    server = Server(AuthenticationError("no"), DONE)
    _, error = await failing(server.stream(StillClock()))
    assert (server.asked, error.is_retryable) == (1, False)


async def test_pauses_double_and_every_attempt_is_kept() -> None:
    clock, server = StillClock(), Server(*(Overloaded(str(n)) for n in range(4)))
    _, error = await failing(server.stream(clock, retry_attempts=4))
    assert clock.slept == [1, 2, 4]
    assert [str(each) for each in error.earlier] == ["0", "1", "2"]


async def test_nothing_is_sent_again_after_a_word_was_heard() -> None:
    server = Server(Overloaded("broken"), DONE, text_first=True)
    got, error = await failing(server.stream(StillClock()))
    assert (got, server.asked, error.is_retryable) == ([Delta(text="Hel")], 1, False)


async def test_no_attempt_begins_after_the_deadline() -> None:
    clock, server = StillClock(), Server(*(Overloaded("busy") for _ in range(9)))
    await failing(server.stream(clock, retry_attempts=9, timeout_s=10))
    assert clock.slept == [1, 2, 4]


async def test_jitter_only_lengthens_a_pause() -> None:
    clock = StillClock()
    await failing(
        Server(RateLimited("busy", 8), RateLimited("busy", 8)).stream(clock, retry_attempts=2, retry_jitter=0.5)
    )
    assert 8 <= clock.slept[0] <= 12


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "2026-03-01T12:00:09+00:00"}, 9),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:07 -0000"}, 7),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "inf"}, None),
        ({"x-ratelimit-reset-requests": "1m30s", "x-ratelimit-reset-tokens": "88ms"}, 90),
        (
            {
                "x-ratelimit-reset-requests": "6m0s",
                "x-ratelimit-remaining-requests": "5",
                "x-ratelimit-reset-tokens": "2s",
            },
            2,
        ),
        ({"x-ratelimit-reset": "1772366410"}, 10),
        ({"x-ratelimit-reset": "1772366410000"}, 10),
        ({"anthropic-ratelimit-tokens-reset": "2026-03-01T12:00:04Z"}, 4),
        ({"x-ratelimit-limit-requests": "60"}, None),
    ],
    ids=[
        "ms",
        "iso",
        "date-without-zone",
        "negative",
        "infinite",
        "spans",
        "not-used-up",
        "epoch",
        "epoch-ms",
        "anthropic",
        "no-reset",
    ],
)
def test_the_delay_is_read_from_the_headers_of_each_server(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_delay(headers, StillClock().now()) == (None if seconds is None else pytest.approx(seconds))


def test_limits_that_were_not_hit_do_not_delay() -> None:
    assert retry_delay({"x-ratelimit-reset-requests": "6m0s"}, StillClock().now(), limited=False) is None
