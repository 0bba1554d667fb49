"""Stands in for the C extension `_capture` in interpreters that it does not serve: every call is accepted, nothing is recorded."""
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

if TYPE_CHECKING:
    from typing import Literal

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Scope:
    """Does nothing in a ``with``; decorates like the real one."""

    def __init__(self, name: Optional[str] = None) -> None:
        self.name = name

    def __enter__(self) -> "Scope":
        return self

    def __exit__(self, *problem: Any) -> "Literal[False]":
        return False

    def __call__(self, function: _Function) -> _Function:
        from ._decorate import decorate
        decorated: _Function = decorate(self, function)
        return decorated


def scope(name: str, category: Optional[str] = None) -> Scope:
    return Scope(name)


layer = scope


def step(index: Optional[int] = None, name: Optional[str] = None) -> Scope:
    return Scope(name)


def mark_event(name: str, category: Optional[str] = None) -> None:
    pass


def counter(name: str, value: float, unit: Optional[str] = None) -> None:
    pass


def range_start(name: str, lane: Optional[str] = None) -> int:
    return 0


def range_end(number: int) -> None:
    pass


def thread_name(name: str) -> None:
    pass


def start() -> None:
    pass


def stop() -> None:
    pass


def is_recording() -> bool:
    return False


is_attached = is_recording


def setup(name: str, value: Any) -> None:
    pass
