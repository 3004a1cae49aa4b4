"""Give the model a tool of your own: a typed function is enough.

Run it: `python examples/custom_tool.py`. Its model is scripted, so that it runs anywhere: it calls the tool, then tells
what the tool returned.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from bumble_core import Message, Settings, ToolCall, ToolError, assemble, assistant, hookimpl, tool
from bumble_core.ports import Tool
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import Request


class StockPlugin:
    """Offers `stock`, which looks things up in a shelf that it was given."""

    def __init__(self, shelf: Mapping[str, int]) -> None:
        self._shelf = shelf

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        def stock(item: Annotated[str, Field(description="Name of the thing, in the singular.")]) -> int:
            """Tell how many of a thing are in stock."""
            if item not in self._shelf:
                raise ToolError(f"there is no `{item}`; there are {', '.join(self._shelf)}")
            return self._shelf[item]

        return [tool(stock)]


def tell(request: Request) -> Message:
    """Answer as a model would, with what the tool returned."""
    (result,) = (result for message in request.messages for result in message.tool_results)
    return assistant(f"We have {result.content} apples.")


async def main(home: Path) -> None:
    model = ScriptedProvider([assistant("", ToolCall(name="stock", arguments={"item": "apple"})), tell])
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    plugins = {"scripted": model, "shop": StockPlugin({"apple": 12, "pear": 0})}
    async with assemble(settings, plugins=plugins, run_jobs=False) as runtime:
        turn = await runtime.answer("How many apples do we have?")
        print(turn.text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
