"""Ask for one completion and ignore the drafts: what router, judge, phases and jobs need."""

from __future__ import annotations

from contextlib import aclosing

from .errors import ContractError
from .ports import Inference
from .types.inference import Completion, Request


async def complete(inference: Inference, request: Request) -> Completion:
    """Return the completion of `request`.

    Raises:
        InferenceError: no model answered.
        ContractError: the stream ended without a completion.
    """
    async with aclosing(inference.stream(request)) as stream:
        async for item in stream:
            if isinstance(item, Completion):
                return item
    raise ContractError(f"inference ended without a completion for `{request.purpose}`")
