"""Runs in the user's Python for `neurolens profile --backend torch`: a model, timed and profiled in turns.

    python torchdriver.py FOLDER MODEL key=value…      (src/backend/torchrun.c writes the words)

Everything is given in files of FOLDER: `stage` (what is being done, and a count of runs at byte 128, read
while this runs), `facts` and `runs` and trace.json at the end, or `error`: "CODE text". What is printed is
the model's own business. Works with Python 3.7 and PyTorch 1.8 or newer; nothing but PyTorch is imported
for its sake.

The profiler is PyTorch's: Kineto's trace as it is, switched on and off between blocks of runs (PyTorch
2.4), or for one block at the end (older), or without Kineto (Debian's builds) the operators it tells.
"""
import inspect
import itertools
import json
import os
import re
import struct
import sys
import time
import traceback
import types
import zipfile

MS = 1000000
SETTLE_BELOW = 50 * MS  # these are ortrun.c's
PLAIN_BLOCK, MAX_PLAIN = 50 * MS, 1000
PROFILED_BLOCK, MAX_PROFILED = 25 * MS, 10
JUDGED_FROM, TIGHT = 20, 0.01
PROFILED_WARMUP = 3
STEP = "ProfilerStep"

USAGE, FORMAT, ENVIRONMENT = 2, 4, 5
TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "i16": "int16",
         "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
         "bool": "bool"}
NAMES = {"torch." + name: short for short, name in TYPES.items()}

torch = None


class Failure(Exception):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


# ---- telling ----

class Teller:
    def __init__(self, folder):
        self.folder = folder
        self.stage_fd = os.open(self.path("stage"), os.O_WRONLY)
        self.doing = ""
        self.runs = 0

    def path(self, name):
        return os.path.join(self.folder, name)

    def stage(self, text):
        self.doing = text
        os.pwrite(self.stage_fd, text.encode().ljust(96, b"\0"), 0)

    def count(self):
        self.runs += 1
        if self.runs & 15 == 0:
            os.pwrite(self.stage_fd, struct.pack("=I", self.runs), 128)

    def error(self, code, text):
        with open(self.path("error"), "w", encoding="utf-8", errors="replace") as file:
            file.write("%d %s" % (code, " ".join(text.split())))


class Plan:
    """The key=value words."""

    def __init__(self, words):
        self.inputs, self.dims, self.device = {}, {}, None
        for word in words:
            key, value = word.split("=", 1)
            if key == "input":
                name, shape = value.rsplit("=", 1)
                self.inputs[name] = shape
            elif key == "dim":
                name, size = value.rsplit("=", 1)
                self.dims[name] = int(size)
            elif key == "device":
                self.device = value
            else:
                setattr(self, key, int(value))


# ---- inputs ----

class Input:
    """One tensor: sizes are numbers or texts (symbols), `value` an example that was kept with the model."""

    def __init__(self, name, dtype=None, sizes=None, value=None, required=True):
        self.name, self.dtype, self.sizes, self.value, self.required = name, dtype, sizes, value, required
        self.low = self.high = None

    def text(self):
        kind = NAMES.get(str(self.dtype), str(self.dtype)) if self.dtype else "tensor"
        return "%s: %s%s" % (self.name, kind, "" if self.sizes is None else "[%s]" % ", ".join(map(str, self.sizes)))


def texts(inputs):
    return "; ".join(one.text() for one in inputs) or "none"


def read_word(one, shape, inputs):
    """SHAPE of --input into the input; the form was checked before."""
    spec, _, span = shape.partition(":")
    if span:
        one.low, one.high = (int(number) for number in span.split(".."))
    parts = spec.split("x")
    kind = parts.pop() if not parts[-1].isdigit() else None
    sizes = [int(part) for part in parts]
    if kind:
        dtype = getattr(torch, TYPES.get(kind, "?"), None)
        if dtype is None:
            raise Failure(USAGE, "--input %s: PyTorch %s has no tensors of %s" % (one.name, torch.__version__, kind))
        if one.dtype not in (None, dtype):
            raise Failure(USAGE, "--input %s: the model has another element type; inputs: %s"
                          % (one.name, texts(inputs)))
        one.dtype = dtype
    if one.sizes is not None:
        if len(one.sizes) != len(sizes):
            raise Failure(USAGE, "--input %s: the model has another number of dimensions; inputs: %s"
                          % (one.name, texts(inputs)))
        if any(isinstance(fixed, int) and fixed != size for fixed, size in zip(one.sizes, sizes)):
            raise Failure(USAGE, "--input %s: the model has another fixed size; inputs: %s"
                          % (one.name, texts(inputs)))
    elif not sizes and one.dtype is None:
        one.dtype = torch.float32
    return sizes


def shape_inputs(inputs, plan):
    """Makes every size known: --input, --dim, the example that lies with the model; a first dimension is 1."""
    known = {one.name: one for one in inputs}
    given, symbols = {}, dict(plan.dims)
    for name, shape in plan.inputs.items():
        if name not in known:
            raise Failure(USAGE, "--input %s: no such input; inputs: %s" % (name, texts(inputs)))
        given[name] = read_word(known[name], shape, inputs)
        for symbol, size in zip(known[name].sizes or (), given[name]):
            if isinstance(symbol, str):
                symbols.setdefault(symbol, size)
    free = {size for one in inputs for size in one.sizes or () if isinstance(size, str)}
    for name in plan.dims:
        if name not in free:
            raise Failure(USAGE, "--dim %s: no input has a dimension of that name; inputs: %s" % (name, texts(inputs)))
    for one in inputs:
        if one.value is not None:
            for symbol, size in zip(one.sizes, one.value.shape):
                symbols.setdefault(symbol, size)
    for one in inputs:
        shape_one(one, given.get(one.name), symbols, inputs)


def shape_one(one, sizes, symbols, inputs):
    if sizes is None and one.sizes is None:
        if one.required:
            raise Failure(USAGE, "the shape of '%s' is not in the file; give it with --input %s=SHAPE, such as "
                          "%s=1x3x224x224xf32; inputs: %s" % (one.name, one.name, one.name, texts(inputs)))
        return
    if sizes is None:
        sizes = [symbols.get(size, size) for size in one.sizes]
        for at, size in enumerate(sizes):
            if isinstance(size, str) and at:
                raise Failure(USAGE, "'%s' leaves '%s' open; give it with --dim %s=N; inputs: %s"
                              % (one.name, size, size, texts(inputs)))
        sizes = [1 if isinstance(size, str) else size for size in sizes]
    elif one.value is not None:
        one.value = None  # another value was asked for
    if one.value is not None and list(one.value.shape) != sizes:
        one.value = None
    one.sizes = sizes


def fill(one, device, generator):
    if one.value is not None:
        return one.value if device is None else one.value.to(device)
    dtype = one.dtype or torch.float32
    if dtype.is_floating_point or dtype.is_complex:
        made = torch.rand(one.sizes, generator=generator).to(dtype)
    elif dtype == torch.bool:
        made = torch.randint(0, 2, one.sizes, generator=generator).to(dtype)
    elif one.low is None and "mask" in one.name:
        made = torch.ones(one.sizes, dtype=dtype)
    else:
        low, high = (0, 99) if one.low is None else (one.low, one.high)
        made = torch.randint(low, high + 1, one.sizes, generator=generator).to(dtype)
    return made.to(device or "cpu")


# ---- models ----

class Model:
    """`call` with `inputs`; `assemble(tensors by name)` gives what it is called with."""

    def __init__(self, kind):
        self.kind, self.call, self.inputs = kind, None, []
        self.grad = False
        self.device = None
        self.args, self.kwargs = (), {}

    def assemble(self, made):
        self.kwargs = made


def by_order(model):
    """TorchScript takes its arguments by position: names may be mangled."""
    def assemble(made):
        names = [one.name for one in model.inputs]
        while names and names[-1] not in made:
            names.pop()
        missing = [name for name in names if name not in made]
        model.args = ()
        model.kwargs = made if missing else {}
        if not missing:
            model.args = tuple(made[name] for name in names)
    return assemble


def device_of(module):
    for parameter in itertools.chain(module.parameters(), module.buffers()):
        return parameter.device
    return None


def load_script_module(path, device):
    model = Model("TorchScript")
    loaded = torch.jit.load(path, map_location=device or "cpu")
    loaded.eval()
    model.call, model.device = loaded, device
    for argument in loaded.forward.schema.arguments[1:]:
        if str(argument.type) in ("Tensor", "Optional[Tensor]"):
            model.inputs.append(Input(argument.name, required=not argument.has_default_value()))
        elif not argument.has_default_value():
            raise Failure(FORMAT, "its input '%s' is a %s, and made-up values are tensors; call it in a script "
                          "(`model` and `inputs`)" % (argument.name, argument.type))
    model.assemble = by_order(model)
    return model


def load_program(path, device):
    model = Model("exported program")
    if not hasattr(torch, "export") or not hasattr(torch.export, "load"):
        raise Failure(ENVIRONMENT, "PyTorch %s reads no exported programs; 2.1 or newer does" % torch.__version__)
    program = torch.export.load(path)
    if device:
        from torch.export.passes import move_to_device_pass
        program = move_to_device_pass(program, device)
    model.device = device
    examples = []
    if getattr(program, "example_inputs", None):
        examples = torch.utils._pytree.tree_flatten(program.example_inputs)[0]
    values = {node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"}
    leaves = []  # names of tensors, or other values as they are
    for at, name in enumerate(program.graph_signature.user_inputs):
        value = values.get(name) if isinstance(name, str) else None
        if isinstance(value, torch.Tensor):
            sizes = [size if isinstance(size, int) else str(size) for size in value.shape]
            example = examples[at] if at < len(examples) and isinstance(examples[at], torch.Tensor) else None
            model.inputs.append(Input(name, value.dtype, sizes, example))
            leaves.append(lambda made, name=name: made[name])
        else:
            other = examples[at] if at < len(examples) else name
            leaves.append(lambda made, other=other: other)

    def assemble(made):
        flat = [leaf(made) for leaf in leaves]
        model.args, model.kwargs = torch.utils._pytree.tree_unflatten(flat, program.call_spec.in_spec)

    model.assemble, model.call = assemble, program.module()
    return model


def load_script(path, plan):
    model = Model("script")
    module = types.ModuleType("neurolens_model")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    with open(path, "rb") as file:
        source = file.read()
    exec(compile(source, path, "exec"), module.__dict__)
    call = getattr(module, "model", None)
    if not callable(call):
        raise Failure(FORMAT, "the script makes no `model` that can be called (a module or a function); `inputs` "
                      "beside it is what to call it with")
    model.call = call
    is_module = isinstance(call, torch.nn.Module)
    model.grad = not is_module
    if plan.device and not is_module:
        raise Failure(USAGE, "--provider %s: `model` is a function, the script puts its tensors where they belong"
                      % plan.device)
    if plan.device:
        call.to(plan.device)
    model.device = plan.device or (device_of(call) if is_module else None)
    if hasattr(module, "inputs"):
        if plan.inputs or plan.dims:
            raise Failure(USAGE, "--input and --dim: the script makes its `inputs` itself")
        take_inputs(model, module.inputs)
    else:
        ask_signature(model, call.forward if is_module else call)
    return model


def take_inputs(model, inputs):
    if callable(inputs) and not isinstance(inputs, torch.Tensor):
        inputs = inputs()
    if isinstance(inputs, dict):
        args, kwargs = (), inputs
    else:
        args, kwargs = (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)), {}

    def move(value):
        return value.to(model.device) if isinstance(value, torch.Tensor) and model.device else value

    model.args = tuple(move(value) for value in args)
    model.kwargs = {name: move(value) for name, value in kwargs.items()}
    named = [("input %d" % at, value) for at, value in enumerate(args)] + list(kwargs.items())
    model.made = [Input(name, value.dtype, list(value.shape)) for name, value in named
                  if isinstance(value, torch.Tensor)]
    model.assemble = lambda made: None


def ask_signature(model, function):
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    for one in parameters:
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            model.inputs.append(Input(one.name, required=one.default is one.empty))
    model.assemble = by_order(model)


def kind_of(path):
    if path.endswith(".py"):
        return "script"
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    if any(name.endswith("serialized_exported_program.json") or re.search(r"(^|/)models/[^/]+\.json$", name)
           for name in names):
        return "program"
    if any("/code/" in name for name in names):
        return "torchscript"
    if any("/aotinductor/" in name for name in names):
        return "aotinductor"
    return "pickle" if any(name.endswith("/data.pkl") for name in names) else None


NOT_RUN = {
    None: "is no TorchScript file, exported program or Python script (.py)",
    "pickle": "holds weights or a pickled module, but no code; save it with torch.export.save or torch.jit.save, or "
              "give a script that makes `model` and `inputs`",
    "aotinductor": "is a package of AOTInductor, which does not tell its inputs; load it in a script that makes "
                   "`model` and `inputs`",
}


def load(path, plan):
    kind = kind_of(path)
    if kind in NOT_RUN:
        raise Failure(FORMAT, NOT_RUN[kind])
    if kind == "script":
        return load_script(path, plan)
    model = (load_program if kind == "program" else load_script_module)(path, plan.device)
    if not model.device and hasattr(model.call, "parameters"):
        model.device = device_of(model.call)
    return model


def prepare(model, plan):
    """Fills the inputs; a script may have made them."""
    if not hasattr(model, "made"):
        shape_inputs(model.inputs, plan)
        generator = torch.Generator().manual_seed(1)
        chosen = [one for one in model.inputs if one.required or isinstance(one.sizes, list)]
        model.assemble({one.name: fill(one, model.device, generator) for one in chosen})
        model.made = chosen
    for one in model.made:
        one.dtype = one.dtype or torch.float32


# ---- profilers ----

class Kineto:
    """PyTorch's own trace. Off and on again by itself since 2.4; older ones record one block."""

    def __init__(self):
        profiler = torch.profiler
        self.activities = [profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            self.activities.append(profiler.ProfilerActivity.CUDA)
        self.profile = profiler.profile(activities=self.activities)
        self.turns = hasattr(self.profile, "toggle_collection_dynamic")

    def start(self):
        if self.turns:
            self.profile.start()  # seconds, where it loads CUPTI
            self.off()

    def on(self, number):
        if self.turns:
            self.profile.toggle_collection_dynamic(True, self.activities)
        else:
            self.profile.start()

    def off(self):
        if self.turns:
            self.profile.toggle_collection_dynamic(False, self.activities)

    def finish(self, path, times, profiled):
        self.profile.stop()
        raw = path + ".raw"
        self.profile.export_chrome_trace(raw)
        join(raw, path, times)
        os.remove(raw)


class Events:
    """Operators without Kineto: every block of runs is a session of the profiler that was there before it (its
    times are exact to the ns, those of the other one without Kineto to the us). Sessions have clocks of their
    own; the ranges around the runs, which the driver timed as well, put them in their place."""
    turns = True

    def __init__(self):
        try:
            from torch.autograd.profiler_legacy import profile
        except ImportError:
            from torch.autograd.profiler import profile
        self.make, self.blocks = profile, []

    def start(self):
        pass

    def on(self, number):
        self.number, self.session = number, self.make()
        self.session.__enter__()

    def off(self):
        self.session.__exit__(None, None, None)
        self.blocks.append((self.number, [(event.name, event.thread, event.time_range.start, event.time_range.end)
                                          for event in self.session.function_events]))

    def finish(self, path, times, profiled):
        zero = min(run[0] for run in times)
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": %d, "traceEvents": [\n'
                       % zero)
            file.write(",\n".join(itertools.chain(plain_events(times, zero), self.events(profiled, zero))))
            file.write("\n]}\n")

    def events(self, profiled, zero):
        for number, block in self.blocks:
            steps = sorted(event[2:] for event in block if event[0].startswith(STEP))
            main = [event[1] for event in block if event[0].startswith(STEP)][:1]
            if not steps:
                continue
            # The range begins before its clock is read, now and then long before: the least distance is right.
            shift = min((run[0] - zero) / 1000 - step[0] for run, step in zip(profiled[number:], steps))
            for at, (start, end) in enumerate(steps):
                yield event_text(STEP + "#%d" % (number + at), "user_annotation", os.getpid(),
                                 (start + shift) * 1000, (end - start) * 1000)
            for name, thread, start, end in block:
                if not name.startswith(STEP):
                    yield event_text(name, "cpu_op", os.getpid() if [thread] == main else thread,
                                     (start + shift) * 1000, (end - start) * 1000)


def event_text(name, category, thread, start_ns, dur_ns):
    return json.dumps({"ph": "X", "cat": category, "name": name, "pid": os.getpid(), "tid": thread,
                       "ts": round(start_ns / 1000, 3), "dur": round(dur_ns / 1000, 3)})


def plain_events(times, base):
    thread = os.getpid()  # Kineto's number of the main thread
    for start, dur in times:
        yield event_text("unprofiled run", "user_annotation", thread, start - base, dur)


def join(raw, path, times):
    """The trace with a range for every run without the profiler, behind the bracket that opens its events."""
    with open(raw, "rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        head = file.read(1 << 22)
        file.seek(max(0, size - (1 << 16)))
        tail = file.read()
        at = re.search(rb'"traceEvents"\s*:\s*\[', head)
        if not at:
            raise Failure(FORMAT, "PyTorch's profiler wrote no list of events")
        base = re.search(rb'"baseTimeNanoseconds"\s*:\s*(\d+)', head[:at.start()] + tail)
        with open(path, "wb") as out:
            out.write(head[:at.end()] + b"\n")
            out.write(",\n".join(plain_events(times, int(base.group(1)) if base else 0)).encode())
            file.seek(at.end())
            rest = file.read(1 << 20)
            out.write(b"" if rest.lstrip().startswith(b"]") else b",")
            while rest:
                out.write(rest)
                rest = file.read(1 << 20)


# ---- measuring ----

class Measuring:
    def __init__(self, model, plan, teller):
        self.model, self.plan, self.teller = model, plan, teller
        self.plain, self.profiled = [], []
        self.typical, self.end, self.judge_at, self.tight = 1, 0, JUDGED_FROM, False
        self.synchronize = lambda: None

    def run(self):
        model, clock = self.model, time.perf_counter_ns
        start = time.time_ns()
        before = clock()
        model.call(*model.args, **model.kwargs)
        self.synchronize()
        dur = clock() - before
        self.teller.count()
        return start, dur

    def warm_up(self, runs):
        end = time.monotonic_ns() + self.plan.max_ns // 5
        for _ in range(max(runs, 1)):
            self.typical = max(self.run()[1], 1)
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                self.synchronize = torch.cuda.synchronize
            if time.monotonic_ns() >= end:
                return

    def late(self):
        return time.monotonic_ns() >= self.end

    def plain_block(self):
        if len(self.plain) >= self.plan.max_runs:
            return
        if self.typical < SETTLE_BELOW:
            self.run()
        for _ in range(max(1, min(PLAIN_BLOCK // self.typical, MAX_PLAIN))):
            if self.plain and (self.late() or len(self.plain) >= self.plan.max_runs):
                return
            self.plain.append(self.run())

    def profiled_block(self, profiler, most):
        if len(self.profiled) >= self.plan.profiled_runs:
            return
        profiler.on(len(self.profiled))
        for _ in range(0 if self.typical >= SETTLE_BELOW else 1 if self.profiled else PROFILED_WARMUP):
            self.run()
        for _ in range(most):
            if self.profiled and (self.late() or len(self.profiled) >= self.plan.profiled_runs):
                break
            with torch.autograd.profiler.record_function(STEP + "#%d" % len(self.profiled)):
                self.profiled.append(self.run())
        profiler.off()

    def judge(self):
        """Is the median known well enough? By order statistics (medianrange.h); looked at now and then."""
        count = len(self.plain)
        if count >= self.judge_at:
            durs = sorted(run[1] for run in self.plain)
            middle, rank = durs[count // 2], int(count / 2 - 0.98 * count ** 0.5)
            wide = max(middle - durs[max(rank - 1, 0)], durs[min(count - rank, count - 1)] - middle)
            self.tight = wide <= TIGHT * middle
            self.judge_at = count + count // 10 + 1
        return "tight" if self.tight else "runs" if count >= self.plan.max_runs else "time"

    def measure(self, profiler):
        self.end = time.monotonic_ns() + self.plan.max_ns
        block = max(1, min(PROFILED_BLOCK // self.typical, MAX_PROFILED))
        while True:
            self.teller.stage("running without the profiler")
            self.plain_block()
            if profiler.turns:
                self.teller.stage("running with the profiler")
                self.profiled_block(profiler, block)
            stop = self.judge()
            enough = not profiler.turns or len(self.profiled) >= self.plan.profiled_runs
            if self.late() or (enough and stop != "time"):
                break
        if not profiler.turns:
            self.teller.stage("running with the profiler")
            self.end += self.plan.max_ns
            self.profiled_block(profiler, self.plan.profiled_runs)
        return stop


def write_facts(teller, facts):
    with open(teller.path("facts"), "w", encoding="utf-8", errors="replace") as file:
        for key, value in facts.items():
            file.write("%s %s\n" % (key, " ".join(str(value).split())))


def import_torch():
    global torch
    try:
        import torch as found
    except ImportError as wrong:
        if getattr(wrong, "name", None) == "torch":
            raise Failure(ENVIRONMENT, "%s has no PyTorch; `%s -m pip install torch` gets it, --python FILE names a "
                          "Python that has it" % (sys.executable, sys.executable))
        raise Failure(ENVIRONMENT, "%s: PyTorch cannot be imported: %s: %s"
                      % (sys.executable, type(wrong).__name__, wrong))
    if not hasattr(found, "__version__") or not hasattr(found, "autograd"):
        raise Failure(ENVIRONMENT, "%s: the module torch (%s) is not PyTorch"
                      % (sys.executable, getattr(found, "__file__", "no file")))
    torch = found


def work(teller, path, plan):
    teller.stage("importing torch")
    import_torch()
    if plan.threads:
        torch.set_num_threads(plan.threads)
    teller.stage("loading the model")
    before = time.perf_counter_ns()
    model = load(path, plan)
    load_ns = time.perf_counter_ns() - before
    prepare(model, plan)
    measuring = Measuring(model, plan, teller)
    with torch.set_grad_enabled(model.grad and torch.is_grad_enabled()):
        teller.stage("warming up")
        measuring.warm_up(plan.warm_up)
        kineto = hasattr(torch, "profiler") and torch.autograd.kineto_available()
        profiler = Kineto() if kineto else Events()
        teller.stage("starting the profiler")
        profiler.start()
        stop = measuring.measure(profiler)
    teller.stage("writing what was measured")
    profiler.finish(teller.path("trace.json"), measuring.plain, measuring.profiled)
    with open(teller.path("runs"), "w", encoding="ascii") as file:
        for letter, runs in (("u", measuring.plain), ("p", measuring.profiled)):
            for start, dur in runs:
                file.write("%s %d %d\n" % (letter, start, dur))
    sizes = model.made[0].sizes if model.made else ()
    write_facts(teller, {
        "version": torch.__version__, "python": "%d.%d.%d" % sys.version_info[:3], "kind": model.kind, "inputs": texts(model.made),
        "batch": sizes[0] if sizes else "", "device": model.device or "", "load_ns": load_ns, "stop": stop,
        "profiler": "Kineto" if kineto else "the operators' own (this PyTorch has no Kineto)",
        "turns": int(profiler.turns), "mode": mode_of(model), "done": 1})


def mode_of(model):
    if model.kind == "exported program":
        return "as it was exported"
    if not isinstance(model.call, torch.nn.Module):
        return "the script's own"
    return "training" if model.call.training else "evaluation"


def where(wrong):
    """The last line of the model's own files in the traceback."""
    found = ""
    for frame in traceback.extract_tb(wrong.__traceback__):
        if frame.filename != __file__ and os.sep + "torch" + os.sep not in frame.filename:
            found = " (%s, line %s)" % (os.path.basename(frame.filename), frame.lineno)
    return found


def last_line(wrong):
    """Exceptions of TorchScript and export have many lines, of which the last says what happened."""
    lines = [line.strip() for line in str(wrong).strip().splitlines() if line.strip()]
    text = lines[-1] if lines and "Traceback of TorchScript" in str(wrong) else lines[0] if lines else ""
    kind = type(wrong).__name__
    return text[:300] if text.startswith(kind + ": ") else "%s%s%s" % (kind, ": " if text else "", text[:300])


def main():
    teller = Teller(sys.argv[1])
    status = 1
    try:
        work(teller, sys.argv[2], Plan(sys.argv[3:]))
        status = 0
    except Failure as wrong:
        teller.error(wrong.code, str(wrong))
    except SystemExit as wrong:
        teller.error(FORMAT, "the program ended itself while %s (exit %s%s)" % (teller.doing, wrong.code, where(wrong)))
    except MemoryError:
        teller.error(ENVIRONMENT, "no memory while %s" % teller.doing)
    except BaseException as wrong:
        traceback.print_exc()
        teller.error(FORMAT, "%s while %s%s" % (last_line(wrong), teller.doing, where(wrong)))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status)  # threads of the model do not keep it


main()
