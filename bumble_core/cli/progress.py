"""Draw how far a download has come. Apart, because rich takes longer to import than most commands to run."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ..printable import printable


class Bar:
    """A bar on standard error while the context is open; call it with what is done and the whole, in bytes."""

    def __init__(self, title: str) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))
        self._task = self._progress.add_task(printable(title), total=None)

    def __call__(self, done: int, total: int | None) -> None:
        self._progress.update(self._task, completed=done, total=total)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
