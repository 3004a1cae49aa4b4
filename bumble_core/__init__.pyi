from .asking import complete as complete
from .assembly import assemble as assemble
from .configuration import read_settings as read_settings
from .deferred import Deferred as Deferred
from .errors import AssemblyError as AssemblyError, BumbleError as BumbleError, ConfigError as ConfigError, ContractError as ContractError, HomeError as HomeError, InferenceError as InferenceError, PluginError as PluginError, RunError as RunError, StageConflictError as StageConflictError, ToolError as ToolError
from .hookspecs import hookimpl as hookimpl
from .runtime import Runtime as Runtime
from .tools import tool as tool
from .turn_handle import TurnHandle as TurnHandle
from .types.messages import Message as Message, ToolCall as ToolCall, ToolResult as ToolResult, assistant as assistant, tool_message as tool_message, user as user
from .types.settings import PluginConfig as PluginConfig, Settings as Settings
from .types.turn import Turn as Turn

__all__: list[str]  # noqa: PYI035

def __dir__() -> list[str]: ...
