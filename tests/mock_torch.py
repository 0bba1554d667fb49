"""A module in PyTorch's place for tests/profile_torch.py: as much of it as torchdriver.py uses on a build
without Kineto, with operators whose lengths are known. $MOCK says how it misbehaves."""
import contextlib
import os
import sys
import types

mode = os.environ.get("MOCK", "fine")
if mode == "no torch":
    raise ModuleNotFoundError("No module named 'torch'", name="torch")
if mode == "broken":
    raise ImportError("libcublas.so.13: cannot open shared object file")
if mode == "needs another":
    raise ModuleNotFoundError("No module named 'sympy'", name="sympy")

__version__ = "2.99.0"


class Tensor:
    def __init__(self, *shape):
        self.shape, self.dtype = shape, float32


class Kind:
    is_floating_point = True

    def __str__(self):
        return "torch.float32"


float32 = Kind()


class Module:
    training = False

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def parameters(self):
        return ()

    buffers = parameters


class Session:
    """The profiler: a clock of its own, in us, and what was recorded."""
    current = None

    def __enter__(self):
        Session.current = self
        self.now, self.function_events = 1000.0, []
        return self

    def __exit__(self, *problem):
        Session.current = None
        if mode == "loses steps":
            self.function_events = [one for one in self.function_events if "Step" not in one.name]


@contextlib.contextmanager
def record_function(name):
    session = Session.current
    start = session.now if session else 0
    yield
    if session:
        session.function_events.append(types.SimpleNamespace(
            name=name.partition("#")[0] + ("*" if "#" in name else ""), thread=1,
            time_range=types.SimpleNamespace(start=start, end=session.now)))


@contextlib.contextmanager
def operator(name, microseconds):
    """An operator that takes so long by itself, beside what it calls."""
    with record_function(name):
        if Session.current:
            Session.current.now += microseconds
        yield


def module(name, **members):
    made = types.ModuleType("torch." + name)
    made.__dict__.update(members)
    sys.modules[made.__name__] = made
    return made


autograd = module("autograd", kineto_available=lambda: False)
autograd.profiler = module("autograd.profiler", profile=Session, record_function=record_function)
autograd.profiler_legacy = module("autograd.profiler_legacy", profile=Session)
profiler = module("profiler")
nn = module("nn", Module=Module)
cuda = module("cuda", is_available=lambda: False)
threads = None


def set_num_threads(count):
    global threads
    threads = count


def is_grad_enabled():
    return True


def set_grad_enabled(enabled):
    return contextlib.nullcontext()


class Generator:
    def manual_seed(self, seed):
        return self


class Made(Tensor):
    def to(self, what):
        return self


def rand(sizes, generator=None):
    return Made(*sizes)


if mode == "other":
    del autograd
