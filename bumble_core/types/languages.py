"""What plugins know of a language: lists of words and phrases by name."""

from __future__ import annotations

from .base import Value


class LanguagePack(Value):
    """Lists of phrases of one language, by the name of what they tell: `{"greeting": ("hello", "good morning")}`.

    `language` is a short code such as `en` or `pt`. A list's name is free: whoever reads the packs says which it uses.
    """

    language: str
    lists: dict[str, tuple[str, ...]]
