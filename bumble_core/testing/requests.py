"""Check what is sent to a model: a valid history, and a prefix that stays."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ..forcing import IN_WORDS
from ..types.inference import Request
from ..types.messages import Message


def check_request(request: Request) -> None:
    """Hold a request to the law of histories.

    Each call has exactly one result, right after its message and in the order of the calls; ids are unique; no
    assistant message is empty; no two messages of the user or of the assistant stand in a row.

    Raises:
        AssertionError: naming the first message that breaks it.
    """
    check_history(request.messages)


def check_history(messages: Iterable[Message]) -> None:
    """Hold the messages of a request to the law of histories, as `check_request` does.

    Raises:
        AssertionError: naming the first message that breaks it.
    """
    seen: set[str] = set()
    open_calls: list[str] = []
    before = ""
    for place, message in enumerate(messages):
        where = f"message {place} ({message.role})"
        if message.role == "tool":
            results = [result.call_id for result in message.tool_results]
            assert results, f"{where}: holds no result"
            assert results == open_calls[: len(results)], f"{where}: expected {open_calls}, got {results}"
            open_calls = open_calls[len(results) :]
        else:
            assert not open_calls, f"{where}: the calls {open_calls} have no result"
            assert message.role != before, f"{where}: two in a row"
            assert message.role != "system" or place == 0, f"{where}: a system message stands first"
            assert message.role != "assistant" or not message.is_empty, f"{where}: empty"
        ids = [call.id for call in message.tool_calls]
        assert len({*ids, *seen}) == len(ids) + len(seen), f"{where}: a call id is used twice"
        seen.update(ids)
        open_calls += ids
        before = message.role
    assert not open_calls, f"the calls {open_calls} at the end have no result"


def check_prefix(before: Request, after: Request) -> None:
    """Hold two requests of one session without a compaction between them to the prefix law.

    Raises:
        AssertionError: showing where they part.
    """
    one, other = flatten(before), flatten(after)
    assert other.startswith(one), f"the prefix changed: {_parting(one, other)}"


class RequestChecker:
    """Holds the requests of a model to both laws, in the order in which they come.

    A request of a turn is compared with the one before it in its conversation. Where messages of that are gone or
    results are shorter, a compaction lay between, and nothing is compared; nor when the kernel
    learns to ask for calls in another way. The system prompt may change between two
    turns when `system_may_change`, and never within one.
    """

    def __init__(self, *, system_may_change: bool = False) -> None:
        self._system_may_change = system_may_change
        self._latest: dict[str, Request] = {}

    def check(self, request: Request) -> None:
        """Hold one more request to the laws.

        Raises:
            AssertionError: naming the law, and where it is broken.
        """
        check_request(request)
        if request.purpose != "turn":
            return
        names = (request.owner, *(message.id for message in _history(request)[:1]))
        before = next((self._latest[name] for name in names if name in self._latest), None)
        self._latest |= dict.fromkeys(names, request)
        if before is None or _is_compacted(before, request) or _is_on_another_level(before, request):
            return
        if request.owner == before.owner or not self._system_may_change:
            _check_system(before, request)
        check_prefix(_without_system(before), _without_system(request))


def _check_system(before: Request, after: Request) -> None:
    one, other = _system(before), _system(after)
    assert one == other, f"the system prompt changed without a compaction: {_parting(one, other)}"


def _system(request: Request) -> str:
    return "".join(message.text for message in request.messages[:1] if message.role == "system")


def _without_system(request: Request) -> Request:
    return request.model_copy(update={"messages": _history(request)})


def _history(request: Request) -> tuple[Message, ...]:
    return tuple(message for message in request.messages if message.role != "system")


def _is_compacted(before: Request, after: Request) -> bool:
    """Tell whether something that the earlier request showed is gone or shorter, its tail aside."""
    kept = {message.id: message for message in after.messages}
    shown = [message for message in _history(before) if not before.tail or message.text != before.tail]
    return any(message.id not in kept or _size(message) > _size(kept[message.id]) for message in shown)


def _is_on_another_level(before: Request, after: Request) -> bool:
    """Tell whether the kernel learnt meanwhile in which way the model is asked for calls."""
    one, other = _system(before), _system(after)
    return one != other and one.partition(IN_WORDS)[0].rstrip() == other.partition(IN_WORDS)[0].rstrip()


def _size(message: Message) -> int:
    return sum(len(result.content) for result in message.tool_results)


def flatten(request: Request) -> str:
    """Return role and content of every message as one text, less the tail."""
    text = "".join(_flat(message) for message in request.messages)
    return text.removesuffix(request.tail).removesuffix("\n<user>") if request.tail else text


def _flat(message: Message) -> str:
    calls = "".join(
        f"\n<call {call.id} {call.name}>{json.dumps(call.arguments, sort_keys=True)}" for call in message.tool_calls
    )
    results = "".join(f"\n<result {result.call_id}>{result.content}" for result in message.tool_results)
    words = message.text
    return f"\n<{message.role}>{words}{calls}{results}"


def _parting(one: str, other: str) -> str:
    place = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"{one[max(0, place - 40) : place + 40]!r} became {other[max(0, place - 40) : place + 40]!r}"
