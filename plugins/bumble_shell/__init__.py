"""A tool that runs commands in the workspace."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from bumble_core import PluginConfig, hookimpl, tool
from bumble_core.ports import Tool

from .command import Shell
from .environment import scrubbed, sounds_secret

_ENDING_S = 5.0  # what the end of a command that took too long may take itself


class ShellConfig(PluginConfig):
    """Where commands run, how long, and what they see."""

    root: Path = Field(default=Path(), description="The workspace; the working directory unless given.")
    timeout_s: float = Field(default=60, gt=0, description="How long a command may run unless the model says.")
    max_timeout_s: float = Field(default=600, gt=0, description="How long a command may run at most.")
    max_output_bytes: int = Field(default=1_000_000, ge=1000, description="Most bytes of an output that are kept.")
    environment: tuple[str, ...] = Field(
        default=(), description="Variables, or patterns of them, that a command sees beside the usual ones."
    )

    @field_validator("environment")
    @classmethod
    def _no_secrets(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if secret := [name for name in names if sounds_secret(name)]:
            raise ValueError(f"`{secret[0]}` sounds like a secret; a command is given none")
        return names


class ShellPlugin:
    """Offers `run_command`; a person is asked before each call unless the configuration allows it by name."""

    Config = ShellConfig

    def __init__(self, config: ShellConfig) -> None:
        self._config = config

    @hookimpl
    def bumble_tools(self) -> list[Tool]:
        config = self._config
        shell = Shell(
            config.root,
            lambda: scrubbed(config.environment),
            timeout_s=config.timeout_s,
            max_timeout_s=config.max_timeout_s,
            max_output_bytes=config.max_output_bytes,
        )
        return [tool(shell.run_command, asks_first=True, timeout_s=config.max_timeout_s + _ENDING_S)]
