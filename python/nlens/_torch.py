"""PyTorch: layers, operators, backward passes, steps, waits for data, memory of GPUs.

Layers are calls of nn.Module, named as named_modules() names them below the module that was called
first; that one has the name of its class. The call itself is patched: hooks of modules would cost four
times as much, because modules with hooks are called in another way. While torch.compile looks at a
module the patch calls straight through.
"""
import _thread
import atexit
import functools
import os
import time
import weakref

from . import _capture
from ._calibrate import calibrate
from ._hooks import attempt, problem

MEMORY_EVERY_NS = 50_000_000


class Layers:
    """Scopes of modules. A module that goes away takes its scope with it, before its id is used again."""

    def __init__(self):
        self.scopes = {}
        self.references = {}
        self.owners = {}

    def put(self, module, name):
        key = id(module)
        self.scopes[key] = _capture.hook_layer(name)
        self.references[key] = weakref.ref(module, lambda _: (self.scopes.pop(key, None),
                                                              self.references.pop(key, None)))

    def learn(self, root):
        """Names a module that was called and is not known, and what is in it."""
        kind = type(root).__name__
        for path, module in root.named_modules():
            if not path:
                name = kind
            elif self.owners.setdefault(path, kind) == kind:
                name = path
            else:
                name = kind + "." + path
            self.put(module, name)
        return self.scopes[id(root)]


class Steps:
    """A step of training: from the first wait for data or call of a model to the end of step() of the
    first optimizer. A program that marks steps itself is left alone."""

    def __init__(self, torch):
        self.is_grad_enabled = torch.is_grad_enabled
        self.waits = False  # there are optimizers and no step is open
        self.optimizer = None
        self.count = 0
        self.token = 0
        self.thread = 0
        self.memory_at = 0

    def begin(self):
        if self.waits and self.is_grad_enabled() and not _capture.has_own_steps():
            self.waits = False
            self.thread = _thread.get_ident()
            self.token = _capture.step_begin(self.count)

    def end(self, optimizer):
        if self.optimizer is None or self.optimizer() is None:
            self.optimizer = weakref.ref(optimizer)
        if self.optimizer() is not optimizer:
            return
        self.count += 1
        if self.token and self.thread == _thread.get_ident():
            _capture.end(self.token)
        self.token = 0
        self.waits = True


def patch_modules(torch, layers, steps):
    inner = torch.nn.Module.__call__
    known = layers.scopes.get
    compiler = getattr(torch, "compiler", None)
    compiling = getattr(compiler, "is_dynamo_compiling", None) or getattr(compiler, "is_compiling", None) or bool

    def scope_of(module):
        try:
            return layers.learn(module)
        except Exception as wrong:
            problem("layers", wrong)
            return _capture.hook_layer(type(module).__name__)

    # The module stays in `args`: taking it out and putting it back would make a list and a tuple.
    @functools.wraps(inner)
    def __call__(*args, **kwargs):
        if compiling():
            return inner(*args, **kwargs)
        if steps.waits and args[0].training:
            steps.begin()
        with known(id(args[0])) or scope_of(args[0]):
            return inner(*args, **kwargs)

    torch.nn.Module.__call__ = __call__
    calibrate("layers", torch, inner, __call__)


def scoped(owner, name, title, before=None):
    """Puts a scope around a function of a module or class."""
    inner = getattr(owner, name)
    begin, end, kind = _capture.begin, _capture.end, _capture.SCOPE

    @functools.wraps(inner)
    def call(*args, **kwargs):
        if before:
            before(*args)
        token = begin(title, kind)
        try:
            return inner(*args, **kwargs)
        finally:
            end(token)

    setattr(owner, name, call)


def tell_memory(torch):
    """Counters of the caching allocator, of every GPU that this process uses."""
    cuda = torch.cuda
    if not cuda.is_initialized():
        return
    for device in range(cuda.device_count()):
        statistics = cuda.memory_stats(device)
        for counter, key in (("allocated", "allocated_bytes.all.current"), ("reserved", "reserved_bytes.all.current")):
            if statistics.get("reserved_bytes.all.peak"):
                _capture.counter("CUDA memory %s, GPU %d" % (counter, device), statistics.get(key, 0), "bytes")


def observe_steps(torch, steps):
    from torch.optim import optimizer as module
    open_steps = []
    make = module.Optimizer.__init__

    @functools.wraps(make)
    def __init__(self, *args, **kwargs):
        steps.waits = not steps.token
        return make(self, *args, **kwargs)

    def before(optimizer, args, kwargs):
        open_steps.append(_capture.begin(type(optimizer).__name__ + ".step", _capture.SCOPE))

    def after(optimizer, args, kwargs):
        if open_steps:
            _capture.end(open_steps.pop())
        steps.end(optimizer)
        now = time.monotonic_ns()
        if now >= steps.memory_at:
            steps.memory_at = now + MEMORY_EVERY_NS
            attempt("CUDA memory", tell_memory, torch)

    module.Optimizer.__init__ = __init__
    module.register_optimizer_step_pre_hook(before)
    module.register_optimizer_step_post_hook(after)


def is_not_last(iterator):
    """Will it give another batch, as far as is known?"""
    try:
        return iterator._num_yielded < len(iterator)
    except (TypeError, AttributeError, NotImplementedError):
        return False


def observe_operators(torch):
    shapes = os.environ.get("NEUROLENS_SHAPES") == "1"
    _capture.ran(_capture.HOOK_OPERATOR, 1)  # it is there; operators are counted as events
    calibrate("operators", torch, shapes, _capture.observe_operators(shapes))
    if shapes:
        atexit.register(tell_shapes)


def tell_shapes():
    seen, cut = _capture.shapes_seen()
    if cut:
        problem("shapes of operators", "those of %d operators are longer than 2 KB and were left out" % cut)
    elif not seen:
        problem("shapes of operators", "none came: no operator ran, or this PyTorch has another layout")


def install():
    import torch
    layers, steps = Layers(), Steps(torch)

    def data_comes(iterator):
        # Not for the first step: by its end it is known whether the program marks steps itself.
        if steps.count and is_not_last(iterator):
            steps.begin()

    attempt("layers", patch_modules, torch, layers, steps)
    attempt("operators", observe_operators, torch)
    attempt("backward", scoped, torch.autograd, "backward", "backward")
    attempt("backward", scoped, torch.autograd, "grad", "grad")
    attempt("steps", observe_steps, torch, steps)
    from torch.utils.data import dataloader
    attempt("waits for data", scoped, dataloader._BaseDataLoaderIter, "__next__", "DataLoader.__next__", data_comes)
