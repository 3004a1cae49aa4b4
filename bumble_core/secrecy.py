"""Keep secrets out of what is printed: values of keys that sound secret, and passwords inside of texts."""

from __future__ import annotations

import re

MASK = "***"

_SECRET_WORDS = frozenset(
    {"key", "keys", "apikey", "secret", "secrets", "token", "password", "passwords", "passwd", "passphrase"}
    | {"credential", "credentials", "authorization", "cookie", "bearer"}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_INSIDE = (
    (re.compile(r"(://[^/\s:@]*:)[^/\s@]+(?=@)"), rf"\1{MASK}"),
    (re.compile(r"([?&;][^=&\s]*(?:key|token|secret|password|signature|sig)=)[^&\s#]+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b((?:Bearer|Basic)\s+)\S+", re.IGNORECASE), rf"\1{MASK}"),
    (re.compile(r"\b(?:sk|pk|rk|hf|ghp|gho|glpat|github_pat|xox[abprs])[-_][A-Za-z0-9_\-]{8,}"), MASK),
)


def sounds_secret(name: str) -> bool:
    """Tell whether a key holds a secret by its last word: `api_key` does; `api_key_env` and `max_tokens` do not."""
    words = _WORD.findall(name)
    return bool(words) and words[-1].lower() in _SECRET_WORDS


def masked(value: object, *names: str) -> object:
    """Return `value` fit to print, whatever it holds; `names` are the keys that it stands under."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {key: masked(each, *names, str(key)) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each, *names) for each in value]
    if any(sounds_secret(name) for name in names):
        return MASK
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    """Return `text` with what looks like a key, a password or a token covered."""
    for pattern, replacement in _INSIDE:
        text = pattern.sub(replacement, text)
    return text
