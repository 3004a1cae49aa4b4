"""One line in the log per turn and per run."""

from __future__ import annotations

import structlog

from ..types.events import Event, JobFinished, TurnFinished

log = structlog.get_logger(__name__)


class ActivityLog:
    """Never logs what was said, only what happened."""

    def notify(self, event: Event) -> None:
        match event:
            case TurnFinished(turn=turn):
                log.info(
                    "turn.finished",
                    turn_id=turn.id,
                    session=turn.session_id,
                    status=turn.status,
                    profile=turn.route.profile.name if turn.route else None,
                    calls=turn.calls,
                    input_tokens=turn.usage.input_tokens,
                    output_tokens=turn.usage.output_tokens,
                    elapsed_s=round((turn.finished - turn.started).total_seconds(), 3),
                )
            case JobFinished(record=record):
                log.info("job.finished", run_id=record.id, job=record.job, outcome=record.outcome)
            case _:
                pass
