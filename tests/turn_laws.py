"""Watch conversations and hold them to the laws, whatever happens in them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from bumble_core.testing import check_prefix, check_request
from bumble_core.types.events import Compacted, Event, Inferred, Steered, TurnFinished, TurnStarted
from bumble_core.types.inference import Request
from bumble_core.types.messages import Message
from bumble_core.types.turn import Limits, Turn


@dataclass
class Laws:
    """What was seen of the turns of a home, over all processes.

    `sessions` is by turn, `running` has a session's turn, `accepted` what was said in it and is on disk. `broken` says
    which laws were, for a model cannot raise: that would be one more failure to answer.
    """

    sessions: dict[str, str] = field(default_factory=dict)
    running: dict[str, str] = field(default_factory=dict)
    accepted: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    broken: list[str] = field(default_factory=list)
    _before: dict[str, Request] = field(default_factory=dict)
    _compacted: set[str] = field(default_factory=set)
    _asked: Counter[tuple[str, bool]] = field(default_factory=Counter)

    def copy(self) -> Laws:
        """Return what may see more without a trace."""
        return Laws(sessions=dict(self.sessions), running=dict(self.running))

    def check(self, request: Request) -> None:
        """Hold one request to the law of histories and, within its session, to the prefix law."""
        try:
            check_request(request)
            if request.purpose == "turn":
                session = self.sessions[request.owner]
                if (before := self._before.get(session)) is not None:
                    check_prefix(before, request)
                self._before[session] = request
        except AssertionError as error:
            self.broken.append(str(error))

    def notify(self, event: Event) -> None:
        match event:
            case TurnStarted(input=input):
                if input.session_id in self.running:
                    self.broken.append(f"two turns at once in the session `{input.session_id}`")
                self.sessions[input.id] = input.session_id
                self.running[input.session_id] = input.id
                self.accepted[input.session_id].append(input.message.text)
            case Steered(turn_id=turn_id, text=text):
                self.accepted[self.sessions[turn_id]].append(text)
            case Compacted(turn_id=turn_id):
                self._compacted.add(turn_id)
                self._before.pop(self.sessions[turn_id], None)
            case Inferred(request=request):
                self._asked[request.owner, request.purpose == "turn"] += 1
            case TurnFinished(turn=turn):
                self.running.pop(turn.session_id, None)
            case _:
                pass

    def killed(self) -> None:
        """Forget what ended with the process: its turns, and what they had compacted and not stored."""
        for session, turn_id in self.running.items():
            if turn_id in self._compacted:
                self._before.pop(session, None)
        self.running.clear()

    def check_turn(self, turn: Turn, steered: Sequence[str], limits: Limits) -> None:
        """Hold a turn that has ended to its bounds, and to having ended well with all the words that it took."""
        assert turn.text or turn.error
        assert turn.status in ("done", "capped", "failed", "cancelled")
        assert self._asked[turn.id, True] <= limits.max_steps
        assert self._asked[turn.id, False] <= limits.max_auxiliary_calls
        assert _calls(turn.messages) == _results(turn.messages)
        assert [message.text for message in turn.messages if message.role == "user"][1:] == steered

    def check_log(self, session: str, turns: Sequence[Turn], view: Sequence[Message]) -> None:
        """Hold what is on disk of a session to what happened: nothing is lost, nothing is there twice or half."""
        inputs = [turn.messages[0].text for turn in turns]
        said = [message.text for turn in turns for message in turn.messages if message.role == "user"]
        assert inputs == sorted(inputs), "turns are answered in the order in which they were asked for"
        assert len(said) == len(set(said))
        assert [text for text in said if text in self.accepted[session]] == self.accepted[session]
        for turn in turns:
            assert _calls(turn.messages) == _results(turn.messages)
        if session not in {self.sessions[turn_id] for turn_id in self._compacted}:
            logged = [message.id for turn in turns for message in turn.messages]
            assert [message.id for message in view] == logged, "the turns hold all that was said"


def _calls(messages: Sequence[Message]) -> list[str]:
    return [call.id for message in messages for call in message.tool_calls]


def _results(messages: Sequence[Message]) -> list[str]:
    return [result.call_id for message in messages for result in message.tool_results]
