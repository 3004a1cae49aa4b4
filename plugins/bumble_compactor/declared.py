"""What the job is called, when it runs and which files it keeps. Light: every process reads it."""

from __future__ import annotations

from bumble_core.types.jobs import DocumentLargerThan, JobSpec, When

KNOWLEDGE = "knowledge.md"
OWED = "flush_owed.json"
NOTHING_OWED = "[]\n"

FLUSH_OWED = JobSpec(
    id="memory_flush_owed",
    summary="Keep the facts that a compaction had no time to keep",
    triggers=(When(DocumentLargerThan(OWED, len(NOTHING_OWED))),),
    outputs=(KNOWLEDGE, OWED),
)
