"""Replace the completion gate, put a check before it, or switch it off.

Run it: `python examples/completion_gate.py`. Its model is scripted, so that it runs anywhere.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Generator
from pathlib import Path

from bumble_core import Settings, assemble, assistant, hookimpl
from bumble_core.ports import Judge
from bumble_core.testing import ScriptedProvider
from bumble_core.types.turn import TurnContext, Verdict


class Polite:
    """A judge of ten lines: in the place of the shipped one."""

    async def judge(self, turn: TurnContext) -> Verdict:
        done = "please" in turn.visible_text.lower()
        return Verdict(done=done, decided_by="heuristic", reason="manners", nudge="" if done else "Say please.")

    @hookimpl
    def bumble_judge(self) -> Judge:
        return self


class NoSecrets:
    """A check before whoever judges."""

    def __init__(self, inner: Judge) -> None:
        self._inner = inner

    async def judge(self, turn: TurnContext) -> Verdict:
        if "hunter2" in turn.visible_text:
            nudge = "Leave the password out."
            return Verdict(done=False, decided_by="heuristic", reason="a secret", nudge=nudge)
        return await self._inner.judge(turn)


class NoSecretsPlugin:
    @hookimpl(wrapper=True)
    def bumble_judge(self) -> Generator[None, Judge, Judge]:
        inner = yield
        return NoSecrets(inner)


async def ask(home: Path, replies: list[str], gate: str, **plugins: object) -> None:
    model = ScriptedProvider([assistant(reply) for reply in replies])
    settings = Settings.model_validate({"agent": {"models": ["scripted:m"]}, "home": home, "gate": {"policy": gate}})
    async with assemble(settings, plugins={"scripted": model, **plugins}, run_jobs=False) as runtime:
        turn = await runtime.answer("Which password does the printer have?")
    print(f"{turn.text} ({', '.join(verdict.reason for verdict in turn.verdicts)})")


async def main(home: Path) -> None:
    await ask(home / "a", ["Ask Tom.", "Ask Tom, please."], "full", polite=Polite())
    await ask(home / "b", ["It is hunter2.", "Tom knows it."], "full", no_secrets=NoSecretsPlugin())
    await ask(home / "c", ["I'm on it!"], "off")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
