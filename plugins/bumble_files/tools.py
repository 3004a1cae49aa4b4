"""The tools that a model works on files with."""

from __future__ import annotations

import os
import threading
from itertools import islice
from typing import Annotated

from pydantic import Field

from bumble_core import ToolError, ToolResult

from .contents import WriteBytes, read_at, replace_at
from .differences import difference
from .search import Glob, Search, line_matcher
from .texts import FileText, page, unique_place
from .workspace import Place, Workspace, kind_of, printable

_MOST_LISTED = 1000
_MOST_FOUND = 100
_EMPTY = FileText("", bom=False, returns=())

PathText = Annotated[str, Field(description="Path relative to the workspace.")]
FolderText = Annotated[str, Field(description="Folder, relative to the workspace.")]


class FileTools:
    """Files of one workspace. `limit` is the most bytes of a file that are looked at, `room` the characters of a page.

    The lock keeps two calls of one step from reading the same file, each changing its copy, and the later one undoing
    the earlier.
    """

    def __init__(self, workspace: Workspace, *, limit: int, room: int, write: WriteBytes = os.write) -> None:
        self._workspace, self._limit, self._room, self._write = workspace, limit, room, write
        self._writing = threading.Lock()

    def read_file(
        self,
        path: PathText,
        start_line: Annotated[int, Field(description="First line, from 1.", ge=1)] = 1,
        line_count: Annotated[int, Field(description="Lines at most.", ge=1)] = 500,
    ) -> str:
        """Read a text file. The first line of the answer says which lines of how many follow."""
        with self._workspace.place(path) as place:
            self._workspace.require(place, path, "a file")
            data, status = read_at(place.folder, place.name, self._limit)
        text = FileText.read(data)
        if text is None:
            return f"{place.path}: binary file of {status.st_size} bytes, not shown"
        lines, last, total = page(text.readable, start_line, line_count, self._room)
        if not total:
            return f"{place.path}: empty file"
        if start_line > total:
            raise self._workspace.refusal(path, f"the file has {total} lines, none from {start_line} on")
        is_whole = status.st_size <= len(data)
        notes = [f"{place.path}: lines {start_line}-{last} of {'' if is_whole else 'more than '}{total}"]
        notes += [] if is_whole else [f"only the first {len(data)} of {status.st_size} bytes can be read"]
        notes += [f"go on with start_line={last + 1}"] if last < total else []
        notes += ["lines end in CRLF"] if text.ends_lines_with_crlf else []
        notes += ["no newline at the end"] if last == total and is_whole and not text.text.endswith("\n") else []
        notes += [] if text.is_utf8 else ["some bytes are not UTF-8 and shown as \ufffd"]
        return f"[{'; '.join(notes)}]\n{lines}"

    def write_file(
        self,
        path: PathText,
        text: Annotated[str, Field(description="The whole new text, or the text to append.")],
        append: Annotated[bool, Field(description="Add to the end of the file instead of replacing it.")] = False,
    ) -> ToolResult:
        """Write a text file; missing folders are made. Write long texts in pieces, with append=true after the first."""
        with self._writing, self._workspace.place(path, create=True) as place:
            former, seen = (None, None) if place.status is None else self._old(place, path, is_needed=append)
            if append and former is None and place.status is not None:
                raise self._workspace.refusal(path, "this is a binary file; nothing can be appended")
            old = former or _EMPTY
            data = old.with_added(text) if append else old.with_all(text)
            replace_at(place, data, seen if append else None, self._write)
        did = "appended" if append and place.status else "wrote" if place.status is None else "replaced the file with"
        told = f"{did} {len(text)} characters: {place.path} now has {len(data)} bytes{_endings(old)}"
        return _written(told, place, former, data)

    def edit_file(
        self,
        path: PathText,
        old: Annotated[str, Field(description="The text to replace, exactly as in the file; it must be unique there.")],
        new: Annotated[str, Field(description="The text to put in its place.")],
    ) -> ToolResult:
        """Replace one piece of a text file."""
        old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
        with self._writing, self._workspace.place(path) as place:
            self._workspace.require(place, path, "a file")
            text, seen = self._old(place, path, is_needed=True)
            if text is None:
                raise self._workspace.refusal(path, "this is a binary file and cannot be edited")
            try:
                start, end = unique_place(text.text, old)
            except ToolError as error:
                raise self._workspace.refusal(path, str(error)) from error
            if old == new:
                raise self._workspace.refusal(path, "`old` and `new` are the same; nothing was changed")
            data = text.with_edit(start, end, new)
            replace_at(place, data, seen, self._write)
        line = text.text.count("\n", 0, start) + 1
        told = f"replaced {len(old)} characters by {len(new)} in {place.path}, line {line}{_endings(text)}"
        return _written(told, place, text, data)

    def list_directory(self, path: FolderText = ".") -> str:
        """List a folder: folders end in `/`, files have their size in bytes."""
        with self._workspace.place(path) as place:
            self._workspace.require(place, path, "a folder")
            with os.scandir(place.folder) as entries:
                known = sorted(islice(entries, _MOST_LISTED + 1), key=lambda entry: entry.name)
            lines = [_line(entry) for entry in known[:_MOST_LISTED]]
        if len(known) > _MOST_LISTED:
            lines.append(f"[only {_MOST_LISTED} entries are shown; use search_files with a glob for others]")
        return "\n".join(lines) or f"{place.path}: empty folder"

    def search_files(
        self,
        pattern: Annotated[str, Field(description="Regular expression for a line; empty: list the files.")] = "",
        path: Annotated[str, Field(description="File or folder, relative to the workspace.")] = ".",
        glob: Annotated[str, Field(description="Which files, such as `*.py` or `src/**/*.md`.")] = "*",
    ) -> str:
        """Find lines in one file or in the files below a folder, or files by name. Answers are `path:line: text`."""
        try:
            search = Search(Glob(glob), line_matcher(pattern), self._limit, _MOST_FOUND)
        except ToolError as error:
            raise self._workspace.refusal(path, str(error)) from error
        with self._workspace.place(path) as place:
            if place.kind == "a file":
                search.look(place.folder, place.name, place.path)
            else:
                self._workspace.require(place, path, "a folder")
                search.run(place.folder, place.path)
        notes = [f"{len(search.found)} found, files looked at: {search.files}"]
        notes += (
            [f"{search.unread} not or not wholly read: binary, too large or not permitted"] if search.unread else []
        )
        notes += ["there may be more; narrow the search"] if search.is_cut else []
        return "\n".join([f"[{'; '.join(notes)}]", *search.found])

    def _old(self, place: Place, path: str, *, is_needed: bool) -> tuple[FileText | None, os.stat_result | None]:
        """Return the text that is there now; one that is not needed may be too large, and is then not known."""
        self._workspace.require(place, path, "a file")
        if place.status is not None and not place.status.st_mode & 0o222:
            raise self._workspace.refusal(path, "the file is read-only")
        data, status = read_at(place.folder, place.name, self._limit)
        if status.st_size <= len(data):
            return FileText.read(data), status
        if is_needed:
            raise self._workspace.refusal(
                path, f"{status.st_size} bytes are too many; at most {self._limit} can be changed"
            )
        return None, status


def _line(entry: os.DirEntry[str]) -> str:
    name = printable(entry.name)
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return f"{name} (gone meanwhile)"
    kind = kind_of(status.st_mode)
    notes = {"a folder": "/", "a file": f" ({status.st_size} bytes)"}
    return name + notes.get(kind, f" ({kind})")


def _written(told: str, place: Place, old: FileText | None, data: bytes) -> ToolResult:
    """Return what the model is told about a write, and for reviews what it changed."""
    path, new = place.path, FileText.read(data)
    if place.status is not None and old is None:
        diff = f"{path}: {place.status.st_size} bytes, binary or too many to compare, were replaced\n"
    else:
        diff = difference(path, old.readable if old else None, new.readable if new else "")
    return ToolResult(call_id="", name="", content=told, diff=diff)


def _endings(text: FileText) -> str:
    kept = [name for name, is_kept in (("CRLF line endings", text.ends_lines_with_crlf), ("BOM", text.bom)) if is_kept]
    return f"; kept its {' and '.join(kept)}" if kept else ""
