"""What the configuration says of the router. Light: every process reads it."""

from __future__ import annotations

from pydantic import Field

from bumble_core import PluginConfig


class RouterConfig(PluginConfig):
    """When a message is answered by reflex, and when a model is asked about it."""

    reflex_below_chars: int = Field(
        default=80, ge=0, description="Messages shorter than this, in characters, count as short."
    )
    reflex_below_intensity: float = Field(
        default=0.6, ge=0, le=1, description="Messages of this intensity or more are answered with thought."
    )
    certain_from: float = Field(default=0.7, ge=0.5, le=1, description="Confidence from which on no model is asked.")
    leaning_from: float = Field(
        default=0.6, ge=0.5, le=1, description="Confidence that is enough where no model may be asked; else: thought."
    )
    classifier: bool = Field(default=False, description="Ask a model for one word where the signs are not certain.")
    classifier_models: tuple[str, ...] = Field(
        default=(), description="Models that are asked for it, `provider:model` each; empty: those of the turn."
    )
    classifier_timeout_s: float = Field(default=10, gt=0, description="Longest wait for the word, in seconds.")
