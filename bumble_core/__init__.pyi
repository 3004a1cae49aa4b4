from .asking import complete as complete
from .assembly import assemble as assemble
from .configuration import read_settings as read_settings
from .cutting import with_shorter_outputs as with_shorter_outputs
from .deferred import Deferred as Deferred
from .deferred import Later as Later
from .errors import (
    AssemblyError as AssemblyError,
)
from .errors import (
    BumbleError as BumbleError,
)
from .errors import (
    ConfigError as ConfigError,
)
from .errors import (
    ContractError as ContractError,
)
from .errors import (
    HomeError as HomeError,
)
from .errors import (
    InferenceError as InferenceError,
)
from .errors import (
    PluginError as PluginError,
)
from .errors import (
    RunError as RunError,
)
from .errors import (
    StageConflictError as StageConflictError,
)
from .errors import (
    ToolError as ToolError,
)
from .framing import fitted as fitted
from .framing import framed as framed
from .framing import shortened as shortened
from .hookspecs import hookimpl as hookimpl
from .locking import is_locked as is_locked
from .locking import title_key as title_key
from .runtime import Runtime as Runtime
from .tools import tool as tool
from .turn_handle import TurnHandle as TurnHandle
from .types.messages import (
    Message as Message,
)
from .types.messages import (
    ToolCall as ToolCall,
)
from .types.messages import (
    ToolResult as ToolResult,
)
from .types.messages import (
    assistant as assistant,
)
from .types.messages import (
    tool_message as tool_message,
)
from .types.messages import (
    user as user,
)
from .types.settings import PluginConfig as PluginConfig
from .types.settings import Settings as Settings
from .types.turn import Turn as Turn
from .watching import WatchedDocuments as WatchedDocuments

__all__: list[str]  # noqa: PYI035

def __dir__() -> list[str]: ...
