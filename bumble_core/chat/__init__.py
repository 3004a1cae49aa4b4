"""The shape of OpenAI's chat completions, which most servers speak: a request's body, and a reply from its chunks.

No I/O and no HTTP library: a provider that runs a model in its own process uses it too.
"""

from __future__ import annotations

from ..failures import failure
from ..servers import Server
from .answer import AnswerBuilder
from .assembler import ChatAssembler
from .bodies import BodyEncoder
from .calls import CallAssembler, read_arguments
from .estimate import TokenEstimate
from .requests import (
    encode_fields,
    encode_json,
    encode_message,
    encode_messages,
    encode_request,
    encode_tools,
    tool_name,
)
from .text import ThoughtSplitter, whole_characters

__all__ = [
    "AnswerBuilder",
    "BodyEncoder",
    "CallAssembler",
    "ChatAssembler",
    "Server",
    "ThoughtSplitter",
    "TokenEstimate",
    "encode_fields",
    "encode_json",
    "encode_message",
    "encode_messages",
    "encode_request",
    "encode_tools",
    "failure",
    "read_arguments",
    "tool_name",
    "whole_characters",
]
