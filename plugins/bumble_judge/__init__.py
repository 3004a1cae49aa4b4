"""A turn may end when there is something for the user to read."""

from __future__ import annotations

from bumble_core import PluginConfig, hookimpl
from bumble_core.ports import Judge
from bumble_core.types.turn import TurnContext, Verdict


class VisibleTextJudge:
    """Judges everything the user has seen in this turn: delivered texts and the closing text.

    A first step that only says something may announce work that is to come, in any language, so the model is asked
    how it stands. One that only says something again has its answer.
    """

    async def judge(self, turn: TurnContext) -> Verdict:
        if turn.said_in_a_row == 1:
            return Verdict(
                done=False,
                decided_by="heuristic",
                reason="what was said may announce more",
                nudge="If that was all, end your turn now. If you announced something, do it now.",
            )
        if turn.visible_text.strip():
            return Verdict(done=True, decided_by="heuristic", reason="there is a visible reply")
        return Verdict(
            done=False,
            decided_by="heuristic",
            reason="nothing visible was said",
            nudge="The user has seen nothing yet. Answer them now, in words.",
        )


class JudgePlugin:
    def __init__(self, config: PluginConfig) -> None: ...

    @hookimpl(trylast=True)
    def bumble_judge(self) -> Judge:
        return VisibleTextJudge()
