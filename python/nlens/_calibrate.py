"""What each hook costs on this machine: the same loop with the hook and without, in turns, once a run (pymeasure.c).

Under 2 ms a hook, in the first process that installs it. Nothing that goes wrong here keeps anything from being recorded:
the cost of that hook is then not known.
"""
from . import _capture

TIMES = 100  # in a loop; each writes two events, or a few more
CODE = """
def nothing():
    pass

def loop():
    for _ in range(%d):
        nothing()
"""


def calibrate(what, *given):
    """Measures it; the hook is installed before and after."""
    on = None
    try:
        on, off, loop, hook, times = globals()["_" + what](*given)
        _capture.measure(hook, loop, on, off, times)
    except Exception:
        if on:
            on()


def _tasks(handle, inner, tasks):
    import asyncio.events

    class Task:
        def get_coro(self):
            return None

        def get_name(self):
            return "calibration"

        def step(self):
            pass

        get_debug = get_coro  # for the handle, of its loop

    task, ours, named = Task(), handle._run, tasks.named
    begun = asyncio.events.Handle(task.step, (), task)

    def loop():
        for _ in range(TIMES):
            begun._run()

    def on():
        handle._run = ours
        tasks.named = named

    def off():
        handle._run = inner

    return on, off, loop, _capture.HOOK_TASK, 0


def _layers(torch, inner, ours):
    module = torch.nn.Identity()

    def loop():
        for _ in range(TIMES):
            module(None)

    def on():
        torch.nn.Module.__call__ = ours

    def off():
        torch.nn.Module.__call__ = inner

    return on, off, loop, _capture.HOOK_LAYER, 0


def _operators(torch, shapes, handle):
    handles = [handle]
    value = torch.zeros(1, device="cpu")

    def loop():
        for _ in range(TIMES):
            value.abs_()

    def on():
        if not handles:
            handles.append(_capture.observe_operators(shapes))

    def off():
        while handles:
            _capture.forget_operators(handles.pop())

    return on, off, loop, _capture.HOOK_OPERATOR, 0


def _calls(on, off):
    return on, off, _code(), _capture.HOOK_CALL, 0


def _calls_left_out(on, off):
    """Beyond the limit of calls: they are counted and not written."""
    return on, off, _code(), _capture.HOOK_PASSED, TIMES + 1


def _code():
    """Not code of this package, which is not followed."""
    names = {}
    exec(compile(CODE % TIMES, "<calibration>", "exec"), names)
    return names["loop"]
