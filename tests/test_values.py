"""A value copied with changes is what pydantic would have made, and the first one stays as it was."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from bumble_core.types.messages import Message, ToolResult, user

RESULT = ToolResult(call_id="c", name="read", content="long", diff="d")


@pytest.mark.parametrize(
    "update",
    [{}, {"content": "short"}, {"content": "short", "whole": "", "elapsed_s": 1.5}],
    ids=["nothing", "known", "with-a-default"],
)
def test_a_changed_copy_is_what_pydantic_makes(update: dict[str, Any]) -> None:
    copy, expected = RESULT.model_copy(update=update), BaseModel.model_copy(RESULT, update=update)
    assert copy == expected
    assert copy.model_fields_set == expected.model_fields_set
    assert copy.model_dump_json() == expected.model_dump_json()
    assert pickle.loads(pickle.dumps(copy)) == copy


def test_the_first_value_stays_as_it_was_and_the_copy_is_as_frozen() -> None:
    first = user("a")
    copy: Message = first.model_copy(update={"pinned": True})
    assert (first.pinned, copy.pinned) == (False, True)
    assert "pinned" not in first.model_fields_set
    with pytest.raises(ValidationError, match="frozen"):
        copy.pinned = False  # type: ignore[misc]


def test_a_deep_copy_shares_nothing() -> None:
    first = user("a")
    assert first.model_copy(deep=True).parts[0] is not first.parts[0]
