"""How jobs and their runs look in a terminal."""

from __future__ import annotations

from datetime import datetime, timedelta

from ..jobs.controller import Outlook
from ..printable import one_line
from ..types.jobs import RunRecord

OUTLOOK = ("job", "state", "last_run", "next", "why")
RUN = ("run", "started", "job", "trigger", "outcome", "took_s", "model", "summary")


def moment(at: datetime | None) -> str | None:
    return None if at is None else f"{at.astimezone():%Y-%m-%d %H:%M}"


def outlook_row(each: Outlook, newest: RunRecord | None, now: datetime) -> tuple[str | None, ...]:
    last = None if newest is None else f"{newest.outcome or 'running'} {moment(newest.started)}"
    coming = "now" if each.cause is not None else moment(each.next)
    return each.spec.id, _state(each, newest, now), last, coming, _why(each, now)


def run_row(record: RunRecord) -> tuple[str | int | float | None, ...]:
    took = None if record.duration_s is None else round(record.duration_s, 1)
    outcome = "undone" if record.undone else record.outcome or "running"
    said = record.error if record.outcome == "failure" else record.summary
    model = str(record.model) if record.model else None
    at = moment(record.started)
    return record.id, at, record.job, record.cause.trigger, outcome, took, model, one_line(said or "", 60)


def record_lines(record: RunRecord) -> list[str]:
    """Return a whole record as lines to read."""
    facts: list[tuple[str, object]] = [
        ("job", record.job),
        ("cause", f"{record.cause.trigger}: {record.cause.reason}"),
        ("slot", record.cause.scheduled_for and moment(record.cause.scheduled_for)),
        ("started", f"{record.started.astimezone():%Y-%m-%d %H:%M:%S}"),
        ("took", None if record.duration_s is None else f"{record.duration_s:.1f} s"),
        ("outcome", record.outcome or "running"),
        ("summary", record.summary),
        ("error", record.error),
        ("asked", ", ".join(map(str, record.models))),
        ("used", record.model),
        ("turns", record.cursor and f"{record.cursor[0] + 1} to {record.cursor[1]}" if _read(record) else None),
        ("calls", record.calls or None),
        ("tokens", f"{record.usage.input_tokens} in, {record.usage.output_tokens} out" if record.calls else None),
        ("cost", record.cost),
        ("undone", record.undone and moment(record.undone)),
    ]
    lines = [f"run {record.id}", *(f"  {name:8} {value}" for name, value in facts if value not in (None, ""))]
    lines += [f"  failed   {attempt.model}: {attempt.error}" for attempt in record.attempts]
    for change in record.changes:
        note = ", merged with an edit" if change.merged else ""
        lines.append(f"  changed  {change.path} ({change.before[:8]} to {change.after[:8]}{note})")
    return [*lines, *(f"  removed  {one_line(text, 80)}" for text in record.removed)]


def _read(record: RunRecord) -> bool:
    return record.cursor is not None and record.cursor[1] > record.cursor[0]


def _state(each: Outlook, newest: RunRecord | None, now: datetime) -> str:
    if newest is not None and newest.finished is None:
        return "running"
    if each.state.failures:
        return f"failed {each.state.failures} times" if each.state.failures > 1 else "failed"
    return "due" if each.cause is not None else "waiting"


def _why(each: Outlook, now: datetime) -> str:
    if each.cause is not None:
        return each.cause.reason
    if each.state.retry_after is not None and each.state.retry_after > now:
        return "another try after a failure" if each.state.failures else "another try after it gave way to a turn"
    if each.next is not None and each.next - now > timedelta(days=3650):
        return "hardly ever"
    return "; ".join(map(str, each.spec.triggers))
