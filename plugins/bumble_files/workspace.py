"""Lead from a path that a model wrote to what it names inside one folder, and never out of it.

Every step is taken from the open folder before it, without following links; a link is read and walked by hand. So a
folder that somebody replaces by a link between two steps changes where the walk goes, but never leads it outside.
"""

from __future__ import annotations

import errno
import os
import stat
import unicodedata
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from bumble_core import ToolError

_LONGEST_PATH = 4096
_MOST_DETOURS = 40  # links followed and steps tried again, together: what Linux allows for links
_DEEPEST = 100
_MOST_NEIGHBOURS = 1000
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """`name` in the open folder `folder`; a folder is itself open, with the name `.`.

    `path` is relative to the workspace, links resolved, and fit to be shown on one line. `status` is None where there
    is nothing yet.
    """

    folder: int
    name: str
    path: str
    status: os.stat_result | None

    @property
    def kind(self) -> str:
        return kind_of(self.status.st_mode) if self.status else "nothing"


class Workspace:
    """One folder of the disk; the paths of all tools are relative to it."""

    def __init__(self, root: Path) -> None:
        self._written = Path(os.path.abspath(root.expanduser()))  # noqa: PTH100 - `resolve` would follow links
        self.root = self._written.resolve()

    @contextmanager
    def place(self, path: str, *, create: bool = False) -> Iterator[Place]:
        """Give the place that `path` leads to; its folder is open until the block ends.

        With `create`, missing folders on the way are made.

        Raises:
            ToolError: the path leaves the workspace, or the system refuses a step of it.
        """
        with self.explained(path):
            walk = _Walk(self, path)
            try:
                yield walk.lead(self._steps(path, path), create=create)
            finally:
                walk.close()

    @contextmanager
    def explained(self, path: str) -> Iterator[None]:
        """Turn what the system refuses into an answer for the model."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise self.refusal(path, reason[:1].lower() + reason[1:]) from error
        except UnicodeError as error:
            raise self.refusal(path, "not a name that a file can have") from error

    def refusal(self, path: str, reason: str) -> ToolError:
        return ToolError(
            f"`{printable(path[:200])}`: {reason}. The workspace is `{self.root}`; paths are relative to it"
        )

    def require(self, place: Place, path: str, kind: str) -> None:
        """Refuse `place` unless it is a `kind`, that is `a file` or `a folder`."""
        if place.status is None:
            raise self.refusal(path, f"no such file or folder{_neighbour(place)}")
        if place.kind != kind:
            raise self.refusal(path, f"this is {place.kind}, not {kind}")

    def steps_of_link(self, path: str, target: str) -> tuple[bool, list[str]]:
        """Return whether `target` starts at the workspace itself, and the steps to take from there."""
        return target.startswith("/"), self._steps(path, target)

    def _steps(self, path: str, target: str) -> list[str]:
        if not target or "\x00" in target or len(target) > _LONGEST_PATH:
            raise self.refusal(path, "this is not a path")
        steps = [step for step in target.split("/") if step not in {"", "."}]
        if steps and steps[0] == "~":
            raise self.refusal(path, "`~` is not known here")
        if not target.startswith("/"):
            return steps
        for base in (self._written.parts[1:], self.root.parts[1:]):
            if tuple(steps[: len(base)]) == base:
                return steps[len(base) :]
        raise self.refusal(path, "this leads out of the workspace")


class _Walk:
    """The folders that are open on the way; the first is the workspace."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        self._workspace, self._path = workspace, path
        self._names_a_folder = path.rsplit("/", 1)[-1] in {"", "."}
        self._folders = [os.open(workspace.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._names: list[str] = []
        self._detours = 0

    def close(self) -> None:
        while self._folders:
            os.close(self._folders.pop())

    def lead(self, steps: list[str], *, create: bool) -> Place:
        pending = deque(steps)
        while pending:
            step, folder = pending.popleft(), self._folders[-1]
            if step == "..":
                self._up()
                continue
            status = status_at(folder, step)
            if status is not None and stat.S_ISLNK(status.st_mode):
                self._follow(step, pending)
            elif status is not None and stat.S_ISDIR(status.st_mode):
                self._down(step, pending)
            elif not pending and not self._names_a_folder:
                path = printable("/".join([*self._names, step]))
                return Place(folder=folder, name=step, path=path, status=status)
            elif status is not None:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            elif create and pending and ".." not in pending:
                self._make(step, pending)
            else:
                raise FileNotFoundError(errno.ENOENT, f"no such folder: {step[:200]!r}")
        folder = self._folders[-1]
        path = printable("/".join(self._names)) or "."
        return Place(folder=folder, name=".", path=path, status=os.fstat(folder))

    def _up(self) -> None:
        if len(self._folders) == 1:
            raise self._workspace.refusal(self._path, "this leads out of the workspace")
        os.close(self._folders.pop())
        self._names.pop()

    def _down(self, step: str, pending: deque[str]) -> None:
        if len(self._folders) > _DEEPEST:
            raise self._too_deep()
        try:
            self._folders.append(os.open(step, FOLDER, dir_fd=self._folders[-1]))
        except OSError as error:
            self._again(step, pending, error, {errno.ELOOP, errno.ENOTDIR, errno.ENOENT})
        else:
            self._names.append(step)

    def _follow(self, step: str, pending: deque[str]) -> None:
        try:
            target = os.readlink(step, dir_fd=self._folders[-1])
        except OSError as error:
            self._again(step, pending, error, {errno.EINVAL, errno.ENOENT})
            return
        self._detour()
        from_root, steps = self._workspace.steps_of_link(self._path, target)
        if from_root:
            while len(self._folders) > 1:
                self._up()
        pending.extendleft(reversed(steps))

    def _make(self, step: str, pending: deque[str]) -> None:
        if len(self._folders) + len(pending) > _DEEPEST:
            raise self._too_deep()
        with suppress(FileExistsError):
            os.mkdir(step, dir_fd=self._folders[-1])
        self._down(step, pending)

    def _again(self, step: str, pending: deque[str], error: OSError, changed: set[int]) -> None:
        """Take a step once more when the error says that something else stands there now."""
        if error.errno not in changed:
            raise error
        self._detour()
        pending.appendleft(step)

    def _too_deep(self) -> ToolError:
        return self._workspace.refusal(self._path, f"more than {_DEEPEST} folders deep")

    def _detour(self) -> None:
        self._detours += 1
        if self._detours > _MOST_DETOURS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def status_at(folder: int, name: str) -> os.stat_result | None:
    """Return what stands under `name` in an open folder, links not followed; None for nothing."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def kind_of(mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")


def printable(name: str) -> str:
    """Return a name that stays on one line of an answer."""
    return name if name.isprintable() else repr(name)[1:-1]


def _neighbour(place: Place) -> str:
    with os.scandir(place.folder) as entries:
        names = [entry.name for entry in islice(entries, _MOST_NEIGHBOURS)]
    same = [name for name in names if _folded(name) == _folded(place.name)]
    near = same or get_close_matches(place.name, names, n=1)
    form = "; it is written with other Unicode characters" if near and _form(near[0]) == _form(place.name) else ""
    return f" (did you mean `{printable(near[0])}`{form}?)" if near else ""


def _folded(name: str) -> str:
    return _form(name).casefold()


def _form(name: str) -> str:
    return unicodedata.normalize("NFC", name)
