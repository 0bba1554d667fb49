"""What each hook costs on this machine: the same loop with the hook and without, in turns, once a run (pymeasure.c).

Under 2 ms a hook, in the first process that installs it. Nothing that goes wrong here keeps anything from being recorded:
the cost of that hook is then not known.
"""
from typing import TYPE_CHECKING, Any

from . import _capture

if TYPE_CHECKING:  # recorded programs do without
    from typing import Callable, Dict, List, Tuple
    _Action = Callable[[], object]
    _Plan = Tuple[_Action, _Action, _Action, int, int]  # installs the hook, takes it out, the loop, the hook, calls until the limit
TIMES = 100  # in a loop; each writes two events, or a few more
CODE = """
def nothing():
    pass

def loop():
    for _ in range(%d):
        nothing()
"""


def calibrate(what: str, *given: Any) -> None:
    """Measures it; the hook is installed before and after."""
    install: "List[_Action]" = []
    try:
        plan: "_Plan" = globals()["_" + what](*given)
        on, off, loop, hook, times = plan
        install.append(on)
        _capture.measure(hook, loop, on, off, times)
    except Exception:
        for on in install:
            on()


def _tasks(handle: Any, inner: Any, tasks: Any) -> "_Plan":
    import asyncio.events

    class Task:
        def get_coro(self) -> None:
            return None

        def get_name(self) -> str:
            return "calibration"

        def step(self) -> None:
            pass

        get_debug = get_coro  # for the handle, of its loop

    task: Any = Task()
    ours, named = handle._run, tasks.named
    begun = asyncio.events.Handle(task.step, (), task)

    def loop() -> None:
        for _ in range(TIMES):
            begun._run()

    def on() -> None:
        handle._run = ours
        tasks.named = named

    def off() -> None:
        handle._run = inner

    return on, off, loop, _capture.HOOK_TASK, 0


def _layers(torch: Any, inner: Any, ours: Any) -> "_Plan":
    module = torch.nn.Identity()

    def loop() -> None:
        for _ in range(TIMES):
            module(None)

    def on() -> None:
        torch.nn.Module.__call__ = ours

    def off() -> None:
        torch.nn.Module.__call__ = inner

    return on, off, loop, _capture.HOOK_LAYER, 0


def _operators(torch: Any, shapes: bool, handle: Any) -> "_Plan":
    handles: "List[Any]" = [handle]
    value = torch.zeros(1, device="cpu")

    def loop() -> None:
        for _ in range(TIMES):
            value.abs_()

    def on() -> None:
        if not handles:
            handles.append(_capture.observe_operators(shapes))

    def off() -> None:
        while handles:
            _capture.forget_operators(handles.pop())

    return on, off, loop, _capture.HOOK_OPERATOR, 0


def _calls(on: "_Action", off: "_Action") -> "_Plan":
    return on, off, _code(), _capture.HOOK_CALL, 0


def _calls_left_out(on: "_Action", off: "_Action") -> "_Plan":
    """Beyond the limit of calls: they are counted and not written."""
    return on, off, _code(), _capture.HOOK_PASSED, TIMES + 1


def _code() -> "_Action":
    """Not code of this package, which is not followed."""
    names: "Dict[str, _Action]" = {}
    exec(compile(CODE % TIMES, "<calibration>", "exec"), names)
    return names["loop"]
