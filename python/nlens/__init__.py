"""Names what a program does, for ``neurolens run``.

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
decorated too.
"""
import sys as _sys
import time as _time
from typing import Any, Callable, Optional, TypeVar, Union, overload

from . import _capture
from ._capture import (counter, is_recording, layer, mark_event, range_end, range_start, scope, start, step, stop,
                       thread_name)
from ._decorate import decorate as _decorate

__all__ = ["counter", "is_recording", "layer", "mark_event", "profile_function", "range_end", "range_start", "scope",
           "start", "step", "stop", "thread_name", "timed"]

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
        return _decorate(scope(name or inner.__qualname__, category), inner)
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
        return _decorate(self._scope, function)


def _tell_tasks_apart() -> None:
    asyncio = _sys.modules["asyncio"]
    _capture.setup("current_task", asyncio.current_task)
    _capture.setup("running_loop", asyncio._get_running_loop)


_capture.setup("decorate", _decorate)
if "asyncio" in _sys.modules and hasattr(_sys.modules["asyncio"], "current_task"):
    _tell_tasks_apart()
