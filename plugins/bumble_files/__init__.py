"""Tools for reading and writing files inside one workspace folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from bumble_core import PluginConfig, Settings, hookimpl, tool
from bumble_core.ports import Tool

from .tools import FileTools
from .workspace import Workspace

_HEADER_CHARS = 300


class FilesConfig(PluginConfig):
    """Where the tools work, and how much of a file they look at."""

    root: Path = Field(default=Path(), description="The workspace; the working directory unless given.")
    max_read_bytes: int = Field(
        default=10_485_760, gt=0, description="Most bytes of one file that are read, searched, edited or appended to."
    )


class FilesPlugin:
    """Offers `read_file`, `write_file`, `edit_file`, `list_directory` and `search_files`."""

    Config = FilesConfig

    def __init__(self, config: FilesConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_tools(self, settings: Settings) -> list[Tool]:
        room = max(100, settings.tools.max_output_chars - _HEADER_CHARS)
        files = FileTools(Workspace(self._config.root), limit=self._config.max_read_bytes, room=room)
        named = (files.read_file, files.write_file, files.edit_file, files.list_directory, files.search_files)
        return [tool(each) for each in named]
