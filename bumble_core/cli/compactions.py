"""Say in words what a compaction did."""

from __future__ import annotations

from ..types.compaction import Compaction, PhaseReport


def outcome(done: Compaction) -> str:
    """Return one sentence for whoever asked for the compaction."""
    if done.freed <= 0:
        why = f": {'; '.join(done.problems)}" if done.problems else ": all of it is protected, or too short"
        return f"Nothing could be left out{why}"
    return (
        f"Shortened from {done.tokens_before:,} to {done.tokens_after:,} tokens, "
        f"{done.messages_before} to {done.messages_after} messages; the log keeps them all"
    )


def lines_of(done: Compaction) -> list[str]:
    """Return the lines of a session's entry: the whole, then what each phase did."""
    focus = f", to keep {done.focus!r}" if done.focus else ""
    took = ""
    if done.spent is not None:
        usage = done.spent.usage
        cost = "" if done.spent.cost is None else f", cost {done.spent.cost:.4g}"
        took = f"; took {usage.input_tokens} tokens in, {usage.output_tokens} out{cost}"
    head = (
        f"  (compaction, {done.cause}{focus}: {done.tokens_before:,} to {done.tokens_after:,} tokens, "
        f"{done.messages_before} to {done.messages_after} messages{took})"
    )
    return [head, *(f"    {line}" for each in done.reports if (line := _phase(each)))]


def _phase(report: PhaseReport) -> str:
    if not report.kept:
        return f"{report.phase}: undone, {report.note}"
    counts = {"removed": report.removed, "shortened": report.shortened, "added": report.added}
    told = ", ".join(f"{verb} {count}" for verb, count in counts.items() if count)
    span = f" ({report.first} to {report.last})" if report.removed else ""
    return f"{report.phase}: {told}{span}" if told else ""
