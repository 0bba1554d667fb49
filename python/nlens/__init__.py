"""NeuroLens from Python: names what a program does, for ``neurolens run``, and reads profiles.

    import nlens

    with nlens.scope("load"):
        ...

    @nlens.profile_function
    def forward(batch): ...

    for batch in loader:
        with nlens.step():
            with nlens.layer("encoder"):
                ...
            nlens.counter("queue", len(queue))
    nlens.mark_event("epoch done")

Without a recorder every call returns at once. Recorded scopes end on the thread they began on; inside an
asyncio task they are shown in a row of the task. Functions that run as coroutines or generators may be
decorated too. In an interpreter that the C extension does not serve (before CPython 3.9, without the GIL), they do nothing.

    profile = nlens.open("run.nlt")             # any format, or a run of the ledger
    print(profile.answer["sentence"], profile.findings[0]["title"])
    profile.sql("SELECT name, dur FROM kernels WHERE dur > ?", [1000000])      # ns
    profile.window(step=(10, 20)).section("kernels")
    nlens.diff("before.nlt", "after.nlt").result
    nlens.check("new.nlt", baseline="main.nlt").passed

The command ``neurolens`` does the reading; errors are NeuroLensError, with the command's message and exit status.
"""
import sys as _sys
import time as _time
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar, overload

if TYPE_CHECKING:
    from . import _capture
    from ._engine import (InconclusiveError, InputError, InternalError, NeuroLensError, SurroundingsError, UsageError)
    from ._ledger import Ledger
    from ._manager import ProfilerManager
    from ._profile import Answer, CheckAnswer, Profile, Table, check, diff, open
    from ._push import push
    from ._trace import TraceHandler, trace_handler
    KerasCallback: Any
    LightningCallback: Any
    TrainerCallback: Any
try:
    if _sys.version_info < (3, 9) or "t" in getattr(_sys, "abiflags", ""):  # a build without the GIL would load it, and crash
        raise ImportError("the extension needs CPython 3.9 or later, with the GIL")
    from . import _capture
    from ._capture import (counter, is_recording, layer, mark_event, range_end, range_start, scope, start, step, stop,
                           thread_name)
except ImportError as _wrong:  # not for this interpreter
    if not (getattr(_wrong, "path", None) or "__init__.py").endswith("__init__.py"):
        raise
    from . import _nocapture as _capture  # type: ignore[no-redef]
    from ._nocapture import (counter, is_recording, layer, mark_event, range_end, range_start, scope, start, step, stop,  # type: ignore[assignment]
                             thread_name)
    _sys.modules[__name__ + "._capture"] = _capture
from ._decorate import decorate as _decorate

_inner: Any = _capture  # with what the package alone uses
_READING = {"_engine": ("InconclusiveError", "InputError", "InternalError", "NeuroLensError", "SurroundingsError", "UsageError"),
            "_profile": ("Answer", "CheckAnswer", "Profile", "Table", "check", "diff", "open"),
            "_manager": ("ProfilerManager",), "_ledger": ("Ledger",), "_push": ("push",), "_trace": ("TraceHandler", "trace_handler")}
_CALLBACKS = {"KerasCallback": "keras", "LightningCallback": "lightning", "TrainerCallback": "transformers"}
__all__ = ["Answer", "CheckAnswer", "InconclusiveError", "InputError", "InternalError", "Ledger", "NeuroLensError", "Profile", "ProfilerManager",
           "SurroundingsError", "Table", "TraceHandler", "UsageError", "check", "counter", "diff", "is_recording", "layer", "mark_event",
           "open", "profile_function", "push", "range_end", "range_start", "scope", "start", "step", "stop", "thread_name", "timed",
           "trace_handler"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


@overload
def profile_function(function: _Function) -> _Function: ...
@overload
def profile_function(function: None = None, *, name: Optional[str] = None,
                     category: Optional[str] = None) -> Callable[[_Function], _Function]: ...
def profile_function(function: Optional[Callable[..., Any]] = None, *, name: Optional[str] = None,
                     category: Optional[str] = None) -> Any:
    """Decorates a function: each call is a scope. ``name`` is the function's qualified name when not given."""
    def wrap(inner: Callable[..., Any]) -> Callable[..., Any]:
        decorated: Callable[..., Any] = _decorate(scope(name or inner.__qualname__, category), inner)
        return decorated
    return wrap if function is None else wrap(function)


class timed:
    """A scope that also tells the program how long it took, recorder or not.

        with nlens.timed("load") as load:
            ...
        print(load.seconds)     # None until the end
    """
    __slots__ = ("_scope", "_began", "seconds")

    def __init__(self, name: str, category: Optional[str] = None) -> None:
        self._scope = scope(name, category)
        self._began = 0
        self.seconds: Optional[float] = None

    def __enter__(self) -> "timed":
        self._scope.__enter__()
        self._began = _time.perf_counter_ns()
        return self

    def __exit__(self, *problem: Any) -> None:
        self.seconds = (_time.perf_counter_ns() - self._began) / 1e9
        self._scope.__exit__(*problem)

    def __call__(self, function: _Function) -> _Function:
        decorated: _Function = _decorate(self._scope, function)
        return decorated


def _tell_tasks_apart() -> None:
    asyncio = _sys.modules["asyncio"]
    _inner.setup("current_task", asyncio.current_task)
    _inner.setup("running_loop", asyncio._get_running_loop)


def __getattr__(name: str) -> Any:
    """What reads profiles is imported when it is first used: programs that are recorded do without."""
    from importlib import import_module
    for module, names in _READING.items():
        if name in names:
            found = globals()[name] = getattr(import_module("." + module, __name__), name)
            return found
    if name in _CALLBACKS:  # their base class is the framework's
        made = globals()[name] = getattr(import_module("._callbacks", __name__), _CALLBACKS[name])()
        return made
    raise AttributeError("module %r has no attribute %r" % (__name__, name))


_inner.setup("decorate", _decorate)
if "asyncio" in _sys.modules and hasattr(_sys.modules["asyncio"], "current_task"):
    _tell_tasks_apart()
