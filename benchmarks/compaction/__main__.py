"""Measure what compaction keeps of ten long conversations.

    python -m benchmarks.compaction [--json] [--write] [--model NAME [--session NAME] [--messages N]]

Without a model: the ideal and the extractive summariser, some seconds. `--write` updates the documentation.
`--model` has a real model summarise, as `bumble` would ask it, in the window that it has; name a session, or it takes
all ten, and how many of its messages, or it takes them all.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from benchmarks.compaction.page import PAGE, WINDOW, measured, page, table
from benchmarks.compaction.score import Score, score
from benchmarks.compaction.scripts import NAMES
from benchmarks.compaction.sessions import LongSession, session
from bumble_core import Settings, assemble
from bumble_core.types.inference import ModelRef


async def of_model(name: str, longs: Sequence[LongSession]) -> tuple[Score, ...]:
    settings, ref = Settings.model_validate({"agent": {"models": [name]}}), ModelRef.parse(name)
    with TemporaryDirectory() as home:
        async with assemble(settings, home=Path(home), run_jobs=False) as runtime:
            stages = runtime.parts.stages
            known = await stages.room.sizing.window_of(ref, may_list=True) if stages.room.sizing else None
            window = min(known or WINDOW, WINDOW)
            return tuple([await score(long, stages.inference, window, ref) for long in longs])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} of the reference")
    parser.add_argument("--model", help="have this model summarise, `provider:model`")
    parser.add_argument("--session", action="append", choices=NAMES, help="only this one, with a model")
    parser.add_argument("--messages", type=int, help="only so many messages of each session, with a model")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    longs = [session(name).first(asked.messages) for name in asked.session or NAMES] if asked.model else []
    found: Mapping[str, Sequence[Score]] = (
        {asked.model: asyncio.run(of_model(asked.model, longs))} if longs else measured()
    )
    if asked.write and not asked.model:
        PAGE.write_text(page(found), encoding="utf-8")
    if asked.json:
        print(json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()}))
    else:
        print("\n\n".join(f"{name}\n{table(rows)}" for name, rows in found.items()))


if __name__ == "__main__":
    main()
