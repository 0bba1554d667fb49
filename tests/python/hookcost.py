"""What a hook costs as the program itself measures it: the same loop with the hook and without, in turns; ns of processor
time for one, the least of many rounds. hookcost.py tasks|calls|layers|operators"""
import sys
import time

TIMES, ROUNDS = 200, 40


def least_of(loop, on=None, off=None):
    """(ns with, ns without) for one; without `off` only the first."""
    times = [float("inf"), float("inf")]
    for _ in range(ROUNDS):
        for place, prepare in enumerate((on, off)[:2 if off else 1]):
            if prepare:
                prepare()
            begun = time.thread_time_ns()
            loop()
            times[place] = min(times[place], time.thread_time_ns() - begun)
    if on:
        on()
    return [each / TIMES for each in times]


def tasks():
    """A handle of asyncio, and one of the same module loaded once more, which no hook knows."""
    import asyncio.events
    import importlib.util

    spec = importlib.util.spec_from_file_location("asyncio.events_again", asyncio.events.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)

    class Task:
        def get_coro(self):
            return main

        def get_name(self):
            return "of the test"

        def get_debug(self):
            return False

        def step(self):
            pass

    task = Task()
    handles = {"hooked": asyncio.events.Handle(task.step, (), task), "bare": again.Handle(task.step, (), task)}
    now = []

    def loop():
        handle = now[0]
        for _ in range(TIMES):
            handle._run()

    return least_of(loop, lambda: now.__setitem__(slice(None), [handles["hooked"]]), lambda: now.__setitem__(slice(None), [handles["bare"]]))


def nothing():
    pass


def many():
    for _ in range(TIMES):
        nothing()


def calls():
    from nlens import _capture
    if not hasattr(sys, "monitoring"):
        return least_of(many, lambda: _capture.trace_frames(True), lambda: _capture.trace_frames(False))
    monitoring = sys.monitoring
    tool = [tool for tool in range(6) if monitoring.get_tool(tool) == "neurolens"][0]
    events = monitoring.get_events(tool)
    return least_of(many, lambda: monitoring.set_events(tool, events), lambda: monitoring.set_events(tool, 0))


def layers():
    import torch
    module, ours = torch.nn.Identity(), torch.nn.Module.__call__

    def loop():
        for _ in range(TIMES):
            module(None)

    def patch(function):
        torch.nn.Module.__call__ = function

    return least_of(loop, lambda: patch(ours), lambda: patch(ours.__wrapped__))


def operators():
    """To be run with hooks and without: what is installed at the start stays."""
    import torch
    value = torch.zeros(1)

    def loop():
        for _ in range(TIMES):
            value.abs_()

    return least_of(loop)


def main():
    print(*globals()[sys.argv[1]]())


main()
