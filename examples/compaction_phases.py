"""Change how a long conversation is shortened: replace one phase, add another, put them in another order.

Run it: `python examples/compaction_phases.py`. Its model is scripted, so that it runs anywhere.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bumble_core import Message, Settings, assemble, assistant, hookimpl, user
from bumble_core.ports import Phase
from bumble_core.testing import ScriptedProvider
from bumble_core.types.compaction import CompactionState
from bumble_core.types.inference import Request


class KeepQuestions:
    """Summarises without a model: of the middle only the first lines of what the person asked are left."""

    name = "summarise"

    async def run(self, state: CompactionState) -> CompactionState:
        if state.bounds is None:
            return state
        before, middle = state.messages[: state.bounds.head], state.messages[state.bounds.head : state.bounds.tail]
        asked = [m.text.splitlines()[0][:60] for m in middle if m.source == "user"]
        earlier = [line for m in middle if m.source == "summary" for line in m.text.splitlines()[1:]]
        text = "\n".join(["[Asked so far]", *earlier, *(f"- {line}" for line in asked)])
        after = state.messages[state.bounds.tail :]
        return state.with_messages((*before, user(text, source="summary"), *state.staying(middle), *after))


class DropPleasantries:
    """Drops short answers that say nothing, before anything else is done."""

    name = "pleasantries"

    async def run(self, state: CompactionState) -> CompactionState:
        return state.with_messages(tuple(m for m in state.messages if state.must_stay(m) or not self._is_one(m)))

    def _is_one(self, message: Message) -> bool:
        return message.role == "assistant" and not message.tool_calls and message.text in {"Sure.", "You are welcome."}


class PhasesPlugin:
    @hookimpl
    def bumble_compaction_phases(self) -> list[Phase]:
        return [KeepQuestions(), DropPleasantries()]


def answer(request: Request) -> Message:
    return assistant("Sure." if "thank" in request.messages[-1].text else "This takes a while to explain. " * 20)


async def main(home: Path) -> None:
    compression = {
        "phases": ["pleasantries", "bounds", "summarise", "prune"],  # no flush; what is added first, `prune` last
        "compaction_protect_first_n": 0,
        "compaction_protect_last_n": 4,
    }
    settings = Settings.model_validate(
        {
            "agent": {"models": ["scripted:model"]},
            "home": home,
            "cognition": {"max_context_tokens": 4096, "history_compression": compression},
            "prefer": {"compaction_phase:summarise": "mine"},  # the shipped one has the same name
        }
    )
    plugins = {"scripted": ScriptedProvider([answer] * 80), "mine": PhasesPlugin()}
    async with assemble(settings, plugins=plugins, run_jobs=False) as runtime:
        texts = [f"How does part {number} work?" if number % 3 else "thank you" for number in range(24)]
        turns = [await runtime.answer(text) for text in texts]
        done = next(each for turn in turns for each in turn.compactions)
        print(", ".join(f"{each.phase}{' (undone)' if not each.kept else ''}" for each in done.reports[:4]))
        print(f"pleasantries removed some: {done.reports[0].removed > 0}")
        view = (await runtime.sessions.resume("default")).view
        print(next(message.text for message in view if message.source == "summary").splitlines()[0])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
