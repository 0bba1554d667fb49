"""Recording without a change to the program: what is installed when Python starts under `neurolens run`.

Nothing is imported for the sake of recording: hooks of a library wait until the program has imported it.
A hook that fails is left out; that it failed goes into the recording, as a line of coverage.
"""
import atexit
import gc
import os
import sys
import time
from _weakref import ref

from . import _capture, _tell_tasks_apart
from ._calibrate import calibrate

MAX_PROBLEMS = 50
MAX_TASKS = 1000
_problems = []
calibrated = (0, 0)  # functions and calls that were left out on purpose
thread_begins = None  # called in threads of threading, when they begin


def problem(where, wrong):
    """Notes what could not be recorded, once for each text."""
    text = "%s: %s" % (where, wrong if isinstance(wrong, str) else "%s: %s" % (type(wrong).__name__, wrong))
    if text not in _problems and len(_problems) < MAX_PROBLEMS:
        _problems.append(text)
        _capture.problem(text)


def attempt(where, function, *args):
    try:
        function(*args)
    except Exception as wrong:
        problem(where, wrong)


# ---- after an import ----

class AfterImport:
    """Runs a function when a module has been imported. First in sys.meta_path; finds nothing itself."""

    def __init__(self, waiting):
        self.waiting = waiting

    def find_spec(self, name, path=None, target=None):
        function = self.waiting.pop(name, None)
        if function is None:
            return None
        try:
            spec = self.others_spec(name, path, target)
        except BaseException:
            self.waiting[name] = function
            raise
        if spec is not None and spec.loader is not None:
            self.wrap(name, spec.loader, function)
        else:
            self.waiting[name] = function
        return spec

    def others_spec(self, name, path, target):
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def wrap(self, name, loader, function):
        """The loader belongs to this one module, so its method may be covered until it has run."""
        inner = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            try:
                inner(module)
            except BaseException:
                self.waiting[name] = function
                raise
            begun = time.thread_time_ns()
            attempt(name, function)
            took(time.thread_time_ns() - begun)

        try:
            loader.exec_module = exec_module
        except AttributeError as wrong:
            problem(name, wrong)


def _hook(module, function):
    def run():
        part = __import__("nlens." + module, fromlist=[function])
        getattr(part, function)()
    return run


# ---- threads and tasks ----

def name_threads():
    import threading
    inner = threading.Thread._bootstrap_inner

    def _bootstrap_inner(self):
        try:
            _capture.thread_name(self.name)
            if thread_begins:
                thread_begins()
        except Exception as wrong:
            problem("names of threads", wrong)
        return inner(self)

    threading.Thread._bootstrap_inner = _bootstrap_inner


class Tasks:
    """Names of scopes of asyncio tasks, made when a task first runs. They go with their task, before its id
    is used again."""

    def __init__(self):
        self.names = {}
        self.references = {}
        self.named = 0

    def learn(self, owner):
        """Keeps the name of a task that runs first. None: objects of this type are no tasks."""
        if not hasattr(type(owner), "get_coro"):
            return None
        try:
            name = getattr(owner.get_coro(), "__qualname__", "?")
            if self.named < MAX_TASKS:
                self.named += 1
                name = "%s (%s)" % (name, owner.get_name())
            key = id(owner)
            self.references[key] = ref(owner, lambda _: (self.names.pop(key, None), self.references.pop(key, None)))
            self.names[key] = name
            return name
        except Exception as wrong:  # a task of another kind
            problem("names of tasks", wrong)
            return None


def tell_callbacks():
    """Each step of a task as a scope named after its coroutine and, of the first tasks, itself."""
    import asyncio.events
    _tell_tasks_apart()
    tasks = Tasks()
    inner = asyncio.events.Handle._run
    asyncio.events.Handle._run = _capture.watch_tasks(asyncio.events.Handle, tasks.learn, tasks.names)
    calibrate("tasks", asyncio.events.Handle, inner, tasks)


# ---- calls of functions ----

def call_limit():
    return int(os.environ.get("NEUROLENS_PYTHON_CALLS", "10000"))


def trace(c_functions):
    _capture.setup("own_folder", os.path.dirname(os.path.abspath(__file__)) + os.sep)
    _capture.setup("call_limit", call_limit())
    if hasattr(sys, "monitoring"):
        monitor(c_functions)
    elif not _capture.trace_frames(True):
        raise RuntimeError("another tool evaluates frames")
    else:
        calibrate_frames()
        if c_functions:
            attempt("calls of C functions", profile)
    atexit.register(attempt, "calls of functions", tell_losses)


def calibrate_frames():
    global calibrated

    def on():
        _capture.trace_frames(True)

    def off():
        _capture.trace_frames(False)

    calibrate("calls", on, off)
    _capture.setup("call_limit", 0)
    calibrate("calls_left_out", on, off)
    _capture.setup("call_limit", call_limit())
    calibrated = _capture.trace_losses()


def profile():
    """Before 3.12: a profile function in C, of each thread of its own."""
    global thread_begins
    if sys.getprofile() is not None:
        raise RuntimeError("another profile function is set")
    marker = object()

    def thread_begins():
        _capture.watch_calls(marker)

    def tell():
        if sys.getprofile() is not marker:
            problem("calls of C functions", "another profile function was set; calls from then on are missing")

    thread_begins()
    atexit.register(tell)


def monitor(c_functions):
    """Callbacks in C, for all threads. The place among tools is any that nobody uses."""
    monitoring = sys.monitoring
    free = [tool for tool in (3, 4, monitoring.PROFILER_ID) if monitoring.get_tool(tool) is None]
    if not free:
        raise RuntimeError("all places of sys.monitoring are taken")
    tool, events = free[0], monitoring.events
    _capture.setup("disable", monitoring.DISABLE)
    _capture.prepare_monitoring()
    monitoring.use_tool_id(tool, "neurolens")
    callbacks = {events.PY_START: _capture.on_enter, events.PY_RESUME: _capture.on_enter,
                 events.PY_THROW: _capture.on_throw, events.PY_RETURN: _capture.on_leave,
                 events.PY_YIELD: _capture.on_leave, events.PY_UNWIND: _capture.on_unwind}
    if c_functions:
        callbacks.update({events.CALL: _capture.on_call, events.C_RETURN: _capture.on_called,
                          events.C_RAISE: _capture.on_called})
    for event, callback in callbacks.items():
        monitoring.register_callback(tool, event, callback)
    every = sum(callbacks)

    def on():
        monitoring.set_events(tool, every)

    def off():
        monitoring.set_events(tool, 0)

    on()
    calibrate("calls", on, off)


def tell_losses():
    functions, calls = (now - before for now, before in zip(_capture.trace_losses(), calibrated))
    if not hasattr(sys, "monitoring"):
        _capture.ran(_capture.HOOK_PASSED, calls)
    if hasattr(sys, "monitoring") and functions:
        problem("Python calls", "%d functions were called more than %s times and not followed further" %
                (functions, os.environ.get("NEUROLENS_PYTHON_CALLS", "10000")))
    elif functions:
        problem("Python calls", "%d calls of %d functions are left out, each beyond its first %s" %
                (calls, functions, os.environ.get("NEUROLENS_PYTHON_CALLS", "10000")))
    if hasattr(_capture, "traces_frames") and not _capture.traces_frames():
        problem("Python calls", "another tool (torch.compile?) took the evaluation of frames over; calls from "
                                "then on are missing")


# ---- memory ----

def watch_heap():
    _capture.watch_heap()
    atexit.register(tell_peaks)


def tell_peaks():
    missed = _capture.heap_losses()
    if missed:
        problem("Python heap", "no peaks of %d steps and layers: more than 64 were open at once" % missed)


# ---- all of it ----

def took(ns):
    """Processor time that installing hooks took, what is measured for it included."""
    if _capture.is_attached():
        _capture.hooks_took(ns)


def install():
    if not _capture.is_attached():
        return
    _capture.hooked()
    mode = os.environ.get("NEUROLENS_PYTHON", "on")
    waiting = {"threading": name_threads, "asyncio": tell_callbacks, "torch": _hook("_torch", "install"),
               "jax": _hook("_jax", "install"), "keras": _hook("_keras", "install")}
    for name in [name for name in waiting if name in sys.modules]:
        attempt(name, waiting.pop(name))
    sys.meta_path.insert(0, AfterImport(waiting))
    gc.callbacks.append(_capture.gc_event)
    if os.environ.get("NEUROLENS_HEAP") == "1":
        attempt("Python heap", watch_heap)
    if mode in ("trace", "trace-c"):
        attempt("calls of functions", trace, mode == "trace-c")
