"""Functions wrapped in a scope, whatever kind of function they are."""
import functools
from typing import Any

from . import _capture

CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200


def decorate(scope: Any, function: Any) -> Any:
    """The function, with `scope` around each call. Generators: from the first item to the last."""
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(decorate(scope, function.__func__))
    if not callable(function):
        raise TypeError("a scope decorates a function, not %s" % type(function).__name__)
    kind = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if kind & CO_COROUTINE:
        return _coroutine(scope, function)
    if kind & CO_ASYNC_GENERATOR:
        return _async_generator(scope, function)
    if kind & CO_GENERATOR:
        return _generator(scope.name, function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return function(*args, **kwargs)
    return call


def _coroutine(scope: Any, function: Any) -> Any:
    _use_asyncio()

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        with scope:
            return await function(*args, **kwargs)
    return call


def _async_generator(scope: Any, function: Any) -> Any:
    _use_asyncio()

    @functools.wraps(function)
    async def call(*args: Any, **kwargs: Any) -> Any:
        with scope:
            async for item in function(*args, **kwargs):
                yield item
    return call


def _generator(name: str, function: Any) -> Any:
    """Generators of a thread overlap in any way: ranges."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        number = _capture.range_start(name, "generators")
        try:
            return (yield from function(*args, **kwargs))
        finally:
            _capture.range_end(number)
    return call


def _use_asyncio() -> None:
    import asyncio  # noqa: F401  the program is about to
    from . import _tell_tasks_apart
    _tell_tasks_apart()
