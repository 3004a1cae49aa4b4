"""What is remembered per message is worked out once, and forgotten with the message."""

from __future__ import annotations

import gc

from bumble_core.memo import PerMessage
from bumble_core.types.messages import Message, user


def lengths() -> PerMessage[int]:
    return PerMessage(lambda message: len(message.text))


def test_work_is_done_once_for_each_message() -> None:
    known, messages = lengths(), (user("a"), user("bc"))
    assert (known(messages), known(messages), known(messages[::-1])) == ([1, 2], [1, 2], [2, 1])
    assert known.made == 2


def test_a_message_that_nobody_holds_is_forgotten() -> None:
    known, messages = lengths(), [user("a"), user("b")]
    known(messages)
    messages.pop()
    gc.collect()
    assert len(known) == 1


def test_a_changed_copy_is_another_message() -> None:
    known, message = lengths(), user("a")
    copy: Message = message.model_copy(update={"parts": user("longer").parts})
    assert known((message, copy)) == [1, 6]


def test_one_that_is_new_among_known_ones_is_worked_out_alone() -> None:
    known, messages = lengths(), [user("a"), user("bc")]
    known(messages)
    assert known([*messages, user("def"), messages[0]]) == [1, 2, 3, 1]
    assert known.made == 3
