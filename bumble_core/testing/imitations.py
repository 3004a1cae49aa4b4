"""Imitations of seven servers, from their documentation and from what their users reported.

    async with StubServer(IMITATIONS["vllm"]) as stub:
        ...  # ask stub.url

No server is run: an imitation is only as true as its source. Some servers stand here twice, because what they do
depends on how they were started or on the model.
"""

from __future__ import annotations

from collections.abc import Callable

from .imitation import Body, Imitation, Refusal


def _openai_error(status: int, words: str) -> object:
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


def _llama_error(status: int, words: str) -> object:
    kind = "exceed_context_size_error" if "context size" in words else "invalid_request_error"
    return {"error": {"code": status, "message": words, "type": kind if status < 500 else "server_error"}}


def _vllm_error(status: int, words: str) -> object:
    return {"object": "error", "message": words, "type": "BadRequestError", "param": None, "code": status}


def _text_error(status: int, words: str) -> object:
    return {"error": words}


def _router_error(status: int, words: str) -> object:
    return {"error": {"message": words, "code": status}}


def _proxy_error(status: int, words: str) -> object:
    return {"error": {"message": words, "type": "None", "param": None, "code": str(status)}}


def _has(*keys: str) -> Callable[[Body], bool]:
    return lambda body: any(key in body for key in keys)


def _template_thinks(body: Body) -> bool:
    return bool(body.get("chat_template_kwargs", {}).get("enable_thinking", True))


def _effort_thinks(body: Body) -> bool:
    return bool(body.get("reasoning_effort", "none") != "none")


def _unsupported(parameter: str) -> str:
    return (
        f"litellm.UnsupportedParamsError: ollama does not support parameters: ['{parameter}'], for model={{model}}. "
        "To drop these, set `litellm.drop_params=True`"
    )


_OPENAI_OVERFLOW = (
    "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. "
    "Please reduce the length of the messages."
)
_ROUTER_OVERFLOW = (
    "This endpoint's maximum context length is {window} tokens. However, you requested about {tokens} tokens."
)
_LLAMA_OVERFLOW = "request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"

_ALL = (
    Imitation(
        name="openai",
        source="API reference, 2026; refusals as in langchain_dart#712, vllm-project/semantic-router#1901",
        error=_openai_error,
        overflow=_OPENAI_OVERFLOW,
        refusals=(
            Refusal(when=_has("chat_template_kwargs"), words="Unknown parameter: 'chat_template_kwargs'."),
            Refusal(when=_has("reasoning_effort"), words="Unrecognized request argument supplied: reasoning_effort"),
        ),
    ),
    Imitation(
        name="ollama",
        source="docs/api.md; tool_choice: ollama#8421, #11171, #17921; thinking: ollama#11439",
        wire="ollama",
        required="ignored",
        error=_text_error,
        overflow="the input length exceeds the context length",
        counts="always",
        refusals=(
            Refusal(
                when=lambda body: body.get("think") is True,
                words="{model} does not support thinking",
            ),
        ),
    ),
    Imitation(
        name="ollama-without-tools",
        source="server/routes.go: a model whose template has no tools; thinking: docs/thinking.md",
        wire="ollama",
        required="ignored",
        error=_text_error,
        overflow="the input length exceeds the context length",
        counts="always",
        thinks=lambda body: body.get("think") is True,
        refusals=(Refusal(when=_has("tools"), words="{model} does not support tools"),),
    ),
    Imitation(
        name="llama.cpp",
        source="tools/server/README.md, docs/function-calling.md",
        error=_llama_error,
        overflow=_LLAMA_OVERFLOW,
        thinks=_template_thinks,
    ),
    Imitation(
        name="llama.cpp-without-jinja",
        source="servers before `--jinja` was the default: ramalama#988, LLMKube#126",
        error=_llama_error,
        overflow=_LLAMA_OVERFLOW,
        refusals=(Refusal(when=_has("tools"), words="tools param requires --jinja flag", status=500),),
    ),
    Imitation(
        name="vllm",
        source="docs/features/tool_calling.md and reasoning_outputs.md, started with a tool parser",
        error=_vllm_error,
        overflow=_OPENAI_OVERFLOW,
        thinks=_template_thinks,
        thoughts_in="reasoning",
    ),
    Imitation(
        name="vllm-without-parser",
        source="vllm#9986, vllm#30613: started without a tool parser",
        error=_vllm_error,
        overflow=_OPENAI_OVERFLOW,
        refusals=(
            Refusal(
                when=_has("tools"),
                words='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            ),
        ),
    ),
    Imitation(
        name="lmstudio",
        source="docs of its OpenAI compatibility; refusals as in lmstudio-bug-tracker#307, #670",
        error=_text_error,
        overflow="The number of tokens to keep from the initial prompt is greater than the context length.",
        refusals=(
            Refusal(
                when=lambda body: not isinstance(body.get("tool_choice", ""), str),
                words="Invalid tool_choice type: 'object'. Supported string values: none, auto, required",
            ),
            Refusal(
                when=lambda body: body.get("response_format", {}).get("type") == "json_object",
                words="'response_format.type' must be 'json_schema' or 'text'",
            ),
        ),
    ),
    Imitation(
        name="lmstudio-silent",
        source="lmstudio-bug-tracker#1904: a call that is required comes back as an empty reply",
        required="silence",
        error=_text_error,
        overflow="The number of tokens to keep from the initial prompt is greater than the context length.",
    ),
    Imitation(
        name="openrouter",
        source="docs on streaming, errors and reasoning; comments before the first event",
        error=_router_error,
        overflow=_ROUTER_OVERFLOW,
        counts="always",
        thinks=_effort_thinks,
        thoughts_in="reasoning",
        preamble=b": OPENROUTER PROCESSING\n\n",
    ),
    Imitation(
        name="openrouter-without-choice",
        source="zed#36094: an upstream that knows no `tool_choice`",
        error=_router_error,
        overflow=_ROUTER_OVERFLOW,
        counts="always",
        preamble=b": OPENROUTER PROCESSING\n\n",
        refusals=(
            Refusal(
                when=_has("tool_choice"),
                words="No endpoints found that support the provided 'tool_choice' value.",
                status=404,
            ),
        ),
    ),
    Imitation(
        name="litellm",
        source="a proxy before Ollama; refusals as in litellm#10108, github-copilot-llm-gateway#79",
        error=_proxy_error,
        overflow="litellm.ContextWindowExceededError: the input length exceeds the context length",
        refusals=(
            Refusal(when=_has("tool_choice"), words=_unsupported("tool_choice")),
            Refusal(when=_has("reasoning_effort"), words=_unsupported("reasoning_effort")),
        ),
    ),
)

IMITATIONS = {imitation.name: imitation for imitation in _ALL}
