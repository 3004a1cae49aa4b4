"""Replace one stage from an application, without packaging a plugin.

Run it: `python examples/replace_a_stage.py`. Its model is scripted, so that it runs anywhere; name a real one in
`agent.models` and leave `"scripted"` out of `plugins` to talk to it.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from bumble_core import Settings, assemble, assistant, hookimpl
from bumble_core.ports import Judge
from bumble_core.testing import ScriptedProvider
from bumble_core.types.turn import TurnContext, Verdict


class PoliteJudge:
    """Holds a turn open until somebody says thank you."""

    async def judge(self, turn: TurnContext) -> Verdict:
        if "thank you" in turn.visible_text.lower():
            return Verdict(done=True, decided_by="heuristic", reason="polite")
        return Verdict(done=False, decided_by="heuristic", reason="impolite", nudge="Say it again, and say thank you.")


class PolitePlugin:
    @hookimpl
    def bumble_judge(self) -> Judge:
        return PoliteJudge()


async def main(home: Path) -> None:
    model = ScriptedProvider([assistant("It is done."), assistant("It is done, thank you for waiting.")])
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"]}, "home": home})
    async with assemble(settings, plugins={"scripted": model, "polite": PolitePlugin()}, run_jobs=False) as runtime:
        judge = next(choice for choice in runtime.stages_chosen if choice.stage == "judge")
        print(f"judge: {judge.plugin} ({judge.reason}; passed over: {', '.join(judge.passed_over)})")
        turn = await runtime.answer("Tidy up, please.")
        for verdict in turn.verdicts:
            print(f"verdict: {verdict.reason}")
        print(turn.text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(Path(folder)))
