#!/usr/bin/env python3
"""The package nlens inside other tools: the handler of torch.profiler, the pytest plug-in, callbacks of training frameworks, push.

    tests/integrations.py [WORD…]

What is not installed is played: by stand-ins whose members and parameters are held against the real packages where these are there
($INTEGRATIONS_PYTHON or build/venv-integrations: NEUROLENS_WITH_INTEGRATIONS=1 tools/test_frameworks.sh). pytest is the real one, or skipped.
"""
import glob
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch

TRACE = os.path.join(FIXTURES, "made_gpu_train.json.gz")
PYTHON_FOLDER = os.path.join(os.path.dirname(PROGRAM), "python")
tally = Tally("integrations")


def real_python():
    for path in (os.environ.get("INTEGRATIONS_PYTHON", ""), os.path.join(ROOT, "build", "venv-integrations", "bin", "python")):
        if os.path.exists(path):
            return path
    return None


REAL = real_python()


def has(python, *modules):
    """The modules are installed; a child that dies while it looks counts as no."""
    ask = "import importlib.util, sys; sys.exit(not all(importlib.util.find_spec(name) for name in sys.argv[1:]))"
    return python is not None and subprocess.run([python, "-c", ask, *modules], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def guarded(name, test, *words):
    if len(sys.argv) > 1 and not any(word in name for word in sys.argv[1:]):
        return
    try:
        tally.check(name, *test(*words))
    except Exception as wrong:
        tally.fail(name, "%s: %s" % (type(wrong).__name__, wrong))


def folder(name):
    path = os.path.join(scratch(), name)
    os.makedirs(path, exist_ok=True)
    return path


def variables(**more):
    return dict(environment(scratch()), NEUROLENS_PROGRAM=PROGRAM, PYTHONPATH=PYTHON_FOLDER, **more)


def python(text, *words, interpreter=sys.executable, cwd=None, before=(), **more):
    """Status, stdout and stderr of a program in Python, with nlens."""
    path = os.path.join(scratch(), "program.%d.py" % len(os.listdir(scratch())))
    with open(path, "w") as file:
        file.write(text)
    done = subprocess.run([*before, interpreter, path, *words], env=variables(**more), cwd=cwd or scratch(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def sql(path, query):
    return json.loads(neurolens(["sql", path, query, "--format", "json"]).stdout)["result"]["rows"]


# ---- the handler of torch.profiler ----

PLAYED = """
import gzip, os, shutil, sys, time, nlens
class Profiler:  # what the handler uses of torch.profiler.profile
    def export_chrome_trace(self, path):
        if os.environ.get("BROKEN"):
            with open(path, "w") as file:
                file.write("half")
            raise RuntimeError("no Kineto here")
        if os.environ.get("GARBAGE"):
            with open(path, "w") as file:
                file.write("no trace")
            return
        with gzip.open(%r, "rb") as whole, (gzip.open if path.endswith(".gz") else open)(path, "wb") as file:
            file.write(whole.read())
said = []
""" % TRACE


def handler_cycles():
    """Two cycles: two traces, both read, and in the ledger with their facts; the texts are the command's."""
    place = folder("cycles")
    status, out, err = python(PLAYED + """
handler = nlens.trace_handler("traces", name="job", ledger="ledger", facts={"batch_size": 32}, say=said.append, use_gzip=True)
handler(Profiler()); handler(Profiler())
assert handler.wait(120)
print(handler.traces, len(handler.answers), handler.answers[0]["sentence"], handler.answers[0]["run"])
print("\\n".join(said))
""", cwd=place)
    want = json.loads(neurolens(["analyze", TRACE, "--format", "json"]).stdout)["result"]
    runs = json.loads(neurolens(["ls", "--ledger", os.path.join(place, "ledger"), "--format", "json"]).stdout)["result"]
    text = json.dumps(runs)
    names = sorted(os.listdir(os.path.join(place, "traces")))
    return (status == 0 and names == ["job.0.pt.trace.json.gz", "job.1.pt.trace.json.gz"] and want["answer"]["sentence"] in out and
            "2. " + want["findings"][1]["title"] in out and out.count("more: neurolens analyze") == 2 and '32' in text, (status, names, out, err, text))


def handler_at_exit():
    """The program ends at once: its end waits for the answer, which goes to stderr."""
    status, out, err = python(PLAYED + "nlens.trace_handler('at_exit')(Profiler())\n")
    return status == 0 and out == "" and "nlens: Compute-bound" in err and "more: neurolens analyze at_exit" in err, (status, out, err)


def handler_ranks():
    """Two ranks that write at different times are read as one profile, by rank 0 alone."""
    place = folder("ranks")
    text = PLAYED + """
time.sleep(float(sys.argv[1]))
handler = nlens.trace_handler("traces", ranks_within=60)
handler(Profiler()); handler.wait()
print(handler.traces, [answer["trace"] for answer in handler.answers])
"""
    path = os.path.join(place, "rank.py")
    with open(path, "w") as file:
        file.write(text)
    os.makedirs(os.path.join(place, "traces", "cycle0"))
    old = os.path.join(place, "traces", "cycle0", "rank1.pt.trace.json")  # of an earlier job
    with open(old, "w") as file:
        file.write("old")
    os.utime(old, (1e9, 1e9))
    started = [subprocess.Popen([sys.executable, path, wait], env=variables(RANK=rank, WORLD_SIZE="2"), cwd=place, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True) for rank, wait in (("0", "0"), ("1", "0.4"))]
    said = [process.communicate(timeout=120) for process in started]
    names = sorted(os.listdir(os.path.join(place, "traces", "cycle0")))
    return (names == ["rank0.pt.trace.json", "rank1.pt.trace.json"] and "'traces/cycle0'" in said[0][0] and "analyze traces/cycle0" in said[0][1] and
            "of 2 ranks" not in said[0][1] and said[1][0] == "['traces/cycle0/rank1.pt.trace.json'] []\n" and said[1][1] == "", (names, said))


def handler_alone():
    """A rank that never comes is named."""
    status, out, err = python(PLAYED + "nlens.trace_handler('alone', wait=True, ranks_within=0)(Profiler())\n", RANK="0", WORLD_SIZE="2")
    return status == 0 and "1 of 2 ranks wrote their trace in time" in err, (status, err)


def handler_failures():
    """Nothing that fails reaches the training: the export, the folder, the reading, the command, the text."""
    place = folder("failures")
    open(os.path.join(place, "file"), "w").close()
    text = PLAYED + """
nlens.trace_handler(sys.argv[1], wait=True, say=(lambda text: 1 / 0) if len(sys.argv) > 2 else None)(Profiler())
print("trained")
"""
    cases = [("export", dict(BROKEN="1"), ["traces"], "no Kineto here"), ("folder", {}, ["file/traces"], "no trace was written"),
             ("reading", dict(GARBAGE="1"), ["garbage"], "was not read"), ("text", {}, ["text", "bad"], "ZeroDivisionError"),
             ("warnings as errors", dict(GARBAGE="1", PYTHONWARNINGS="error"), ["errors"], "was not read")]
    wrong = []
    for name, more, words, want in cases:
        status, out, err = python(text, *words, cwd=place, **more)
        if status != 0 or out != "trained\n" or want not in err or "Traceback" in err:
            wrong.append((name, status, out, err))
    return not wrong and not glob.glob(os.path.join(place, "traces", "*")), wrong


REAL_TORCH = """
import sys, torch, nlens
from torch.profiler import profile, schedule
said = []
handler = nlens.trace_handler(sys.argv[1], say=said.append)
model = torch.nn.Linear(32, 32)
with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=2), on_trace_ready=handler) as profiler:
    for i in range(10):
        model(torch.ones(8, 32)).sum().backward()
        profiler.step()
handler.wait(120)
with profile(on_trace_ready=handler):
    model(torch.ones(8, 32))
handler.wait(120)
print(len(handler.traces), len(handler.answers), [nlens.open(path).sql("SELECT count(*) FROM steps")[0][0] for path in handler.traces])
"""


def handler_torch():
    status, out, err = python(REAL_TORCH, folder("torch"), interpreter=REAL)
    return status == 0 and out == "3 3 [2, 2, 0]\n", (status, out, err[-3000:])


REAL_RANKS = """
import sys, torch, nlens
import torch.distributed as distributed
from torch.profiler import profile
distributed.init_process_group("gloo")
handler = nlens.trace_handler(sys.argv[1])
with profile(on_trace_ready=handler):
    tensor = torch.ones(100)
    distributed.all_reduce(tensor)
handler.wait(120)
if distributed.get_rank() == 0:
    print(nlens.open(handler.answers[0]["trace"]).info["ranks"])
distributed.barrier()
distributed.destroy_process_group()
"""


def handler_torchrun():
    path = os.path.join(folder("torchrun"), "ranks.py")
    with open(path, "w") as file:
        file.write(REAL_RANKS)
    done = subprocess.run([REAL, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", path, folder("torchrun/traces")],
                          env=variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    return done.returncode == 0 and "[0, 1]" in done.stdout, (done.stdout, done.stderr[-2000:])


# ---- pytest ----

TESTS = """
import os, time, pytest, nlens
def spin(seconds):
    end = time.process_time_ns() + int(seconds * 1e9)
    while time.process_time_ns() < end:
        pass
@pytest.fixture
def data():
    assert "NLENS_PYTEST_OUTCOME" in os.environ or "PLAIN" in os.environ   # not set up outside
    return 3
@pytest.mark.nlens("step.p50 > +400%", captures=1, repeat=6)
def test_step(data):
    assert data == 3
    spin(0.001 * float(os.environ.get("SLOW", "1")))
@pytest.mark.nlens("step.p50 > 200s", captures=1, repeat=2)
def test_budget():
    pass
@pytest.mark.nlens(captures=1)
def test_never_recorded():
    assert 0, "broken inside"
"""


def pytest_run(place, *words, **more):
    done = subprocess.run([PYTEST, "-m", "pytest", "-q", "-p", "nlens.pytest_plugin", "-p", "no:cacheprovider", "-c", "pytest.ini", *words], cwd=place,
                          env=variables(**more), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout


def pytest_gate():
    """Plain; update; unchanged; 20 times slower; a test that fails; a budget without a baseline; properties in JUnit's XML."""
    place = folder("pytest")
    with open(os.path.join(place, "test_speed.py"), "w") as file:
        file.write(TESTS)
    with open(os.path.join(place, "pytest.ini"), "w") as file:
        file.write("[pytest]\n")
    wrong = []

    def expect(name, good, said):
        if not good:
            wrong.append((name, said))

    status, said = pytest_run(place, "-k", "not never", PLAIN="1")
    expect("plain", status == 0 and "2 passed" in said and not os.path.exists(os.path.join(place, ".nlens")), said)
    status, said = pytest_run(place, "--nlens", "-k", "step")
    expect("no baseline", status == 1 and "no baseline of this test; record one with --nlens-update" in said, said)
    status, said = pytest_run(place, "--nlens-update", "-k", "step")
    kept = glob.glob(os.path.join(place, ".nlens", "baseline", "*test_step*", "1.nlt"))
    expect("update", status == 0 and len(kept) == 1 and sql(kept[0], "SELECT count(*) FROM steps") == [[6]], said)
    status, said = pytest_run(place, "--nlens", "--junitxml", "same.xml", "-k", "not never")
    cases = {case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")}
             for case in xml.etree.ElementTree.parse(os.path.join(place, "same.xml")).iter("testcase")}
    expect("unchanged", status == 0 and cases["test_step"]["nlens.verdict"] == "pass" and int(cases["test_step"]["nlens.step.p50.new"]) > 900000 and
           cases["test_budget"]["nlens.verdict"] == "pass" and "test_step: Pass: step.p50" in said, (said, cases))
    status, said = pytest_run(place, "--nlens", "-k", "step", "-o", "junit_family=xunit2", SLOW="20")
    expect("slow", status == 1 and "Regression: step.p50" in said and "next: neurolens diff" in said, said)
    status, said = pytest_run(place, "--nlens-update", "-k", "never")
    expect("fails", status == 1 and "failed while it was recorded (capture 1)" in said and "broken inside" in said, said)
    return not wrong, wrong


REFUSED = """
import pytest, unittest
class TestOld(unittest.TestCase):
    @pytest.mark.nlens
    def test_it(self): pass
@pytest.mark.nlens(rule="x")
def test_words(): pass
@pytest.mark.nlens(repeat=2)
async def test_later(): pass
"""


def pytest_refuses():
    """What cannot be measured is a usage error with the reason, not a test that passes."""
    place = folder("refused")
    with open(os.path.join(place, "test_refused.py"), "w") as file:
        file.write(REFUSED)
    with open(os.path.join(place, "pytest.ini"), "w") as file:
        file.write("[pytest]\n")
    cases = [("TestOld", "plain classes", {}), ("words", "nlens(rule=…) is unknown", {}), ("later", "not for coroutines", {})]
    wrong = []
    for word, want, more in cases:
        status, said = pytest_run(place, "--nlens-update", "test_refused.py::%s" % {"TestOld": "TestOld", "words": "test_words", "later": "test_later"}[word])
        if want not in said or status == 0:
            wrong.append((word, status, said[-600:]))
    status, said = pytest_run(place, "--nlens", "-o", "nlens_inconclusive=maybe")
    if status != 4 or "fail, skip or pass" not in said:
        wrong.append(("ini", status, said[-600:]))
    return not wrong, wrong


def pytest_xdist():
    place = folder("pytest_xdist")
    with open(os.path.join(place, "test_one.py"), "w") as file:
        file.write("def test_one(): pass\n")
    open(os.path.join(place, "pytest.ini"), "w").close()
    with open(os.path.join(place, "pytest.ini"), "w") as file:
        file.write("[pytest]\n")
    status, said = pytest_run(place, "--nlens", "-n", "2")
    return status == 4 and "without pytest-xdist" in said, (status, said)


# ---- callbacks ----

# Hooks that the callbacks have, and the parameters that the framework gives by name or by place. Held against the real packages below.
LIGHTNING = {"on_train_batch_start": "trainer pl_module batch batch_idx", "on_train_batch_end": "trainer pl_module outputs batch batch_idx",
             "on_exception": "trainer pl_module exception", "teardown": "trainer pl_module stage",
             **{"on_%s" % name: "trainer pl_module" for name in ("train_epoch_start", "train_epoch_end", "validation_start", "validation_end",
                                                                "test_start", "test_end", "predict_start", "predict_end")}}
TRANSFORMERS = {"on_predict": "args state control metrics",
                **{"on_%s" % name: "args state control" for name in ("epoch_begin", "epoch_end", "step_begin", "step_end", "prediction_step",
                                                                     "evaluate", "log", "train_end")}}
KERAS = {"on_train_batch_begin": "batch logs", "on_train_batch_end": "batch logs", "on_epoch_begin": "epoch logs", "on_epoch_end": "epoch logs",
         **{"on_%s" % name: "logs" for name in ("test_begin", "test_end", "predict_begin", "predict_end", "train_end")}}

LOOPS = """
import copy, pickle, sys, types
base = type("Callback", (), {})
for name, attribute in (("lightning.pytorch", "Callback"), ("transformers", "TrainerCallback"), ("keras.callbacks", "Callback")):
    module = types.ModuleType(name)
    setattr(module, attribute, base)
    sys.modules[name] = module
sys.modules["keras"] = types.ModuleType("keras"); sys.modules["keras"].callbacks = sys.modules["keras.callbacks"]
sys.modules["lightning"] = types.ModuleType("lightning")
import nlens
def call(callback, hook, **words):
    getattr(callback, hook)(**words)
class Trainer:
    logged_metrics = {"loss": 0.5, "text": "x"}
lit = nlens.LightningCallback(window=(1, 3) if len(sys.argv) > 1 else None)
for epoch in range(2):
    call(lit, "on_train_epoch_start", trainer=Trainer, pl_module=0)
    for i in range(3):
        call(lit, "on_train_batch_start", trainer=Trainer, pl_module=0, batch=0, batch_idx=i)
        call(lit, "on_train_batch_end", trainer=Trainer, pl_module=0, outputs=0, batch=0, batch_idx=i)
    call(lit, "on_validation_start", trainer=Trainer, pl_module=0); call(lit, "on_validation_end", trainer=Trainer, pl_module=0)
    call(lit, "on_train_epoch_end", trainer=Trainer, pl_module=0)
call(lit, "teardown", trainer=Trainer, pl_module=0, stage="fit")
hug, state = nlens.TrainerCallback(), types.SimpleNamespace(global_step=0)
call(hug, "on_epoch_begin", args=0, state=state, control=0, model=0)
for i in range(4):
    call(hug, "on_step_begin", args=0, state=state, control=0, model=0)
    state.global_step += 1
    call(hug, "on_step_end", args=0, state=state, control=0, model=0)
    call(hug, "on_log", args=0, state=state, control=0, logs={"loss": 0.25, "grad_norm": 1})
call(hug, "on_prediction_step", args=0, state=state, control=0); call(hug, "on_prediction_step", args=0, state=state, control=0)
call(hug, "on_evaluate", args=0, state=state, control=0, metrics={})
call(hug, "on_step_begin", args=0, state=state, control=0)       # left by an exception: the end closes what is open
call(hug, "on_train_end", args=0, state=state, control=0)
ker = nlens.KerasCallback()
call(ker, "on_epoch_begin", epoch=0, logs=None)
for i in range(2):
    call(ker, "on_train_batch_begin", batch=i, logs=None); call(ker, "on_train_batch_end", batch=i, logs={"loss": 1.0})
call(ker, "on_test_begin", logs=None); call(ker, "on_test_end", logs=None)
call(ker, "on_epoch_end", epoch=0, logs={"accuracy": 0.75})
call(ker, "on_train_end", logs=None)
for each in (lit, hug, ker):
    assert pickle.loads(pickle.dumps(copy.deepcopy(each)))._nlens._window == each._nlens._window
try:
    nlens.LightningCallback(window=(3, 3)); raise SystemExit("window (3, 3)")
except nlens.UsageError:
    pass
print("done")
"""


def callbacks_played():
    out = os.path.join(folder("callbacks"), "t.nlt")
    status, said, err = python(LOOPS, before=[PROGRAM, "run", "--quiet", "--native", "off", "-o", out, "--"])
    if status != 0 or said != "done\n":
        return False, (status, said, err)
    steps = sql(out, "SELECT count(*) FROM steps")[0][0]
    scopes = dict(sql(out, "SELECT name, count(*) FROM nvtx WHERE name IN ('epoch', 'validation', 'evaluate', 'test') GROUP BY 1"))
    counters = dict(sql(out, "SELECT name, max(value) FROM counters WHERE name IN ('loss', 'grad_norm', 'accuracy') GROUP BY 1"))
    return (steps == 6 + 5 + 2 and scopes == {"epoch": 4, "validation": 2, "evaluate": 2} and
            counters == {"loss": 0.5, "grad_norm": 1.0, "accuracy": 0.75}), (steps, scopes, counters)


def callbacks_unrecorded():
    """Without a recorder they do nothing, and a window whose torch.profiler cannot begin is a line of the log."""
    status, said, err = python(LOOPS, "window")
    return status == 0 and said == "done\n" and "torch.profiler did not begin" in err, (status, said, err)


def hooks(name, place, attribute, table):
    """The stand-in's hooks and parameters are those of the real package."""
    text = """
import importlib, inspect, json, sys
base = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
print(json.dumps({hook: [name for name in inspect.signature(getattr(base, hook)).parameters if name not in ("self", "kwargs")] for hook in sys.argv[3:]}))
"""
    status, said, err = python(text, place, attribute, *table, interpreter=REAL, KERAS_BACKEND="jax")
    found = json.loads(said.splitlines()[-1]) if status == 0 else {}
    wrong = {hook: (found.get(hook), words) for hook, words in table.items() if [each for each in found.get(hook, []) if each != "dataloader_idx"] != words.split()}
    return not wrong, wrong or err


REAL_LIGHTNING = """
import logging, sys, torch, nlens
import lightning.pytorch as lightning
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        loss = self.layer(batch[0]).mean()
        self.log("loss", loss)
        return loss
    def validation_step(self, batch, index):
        self.layer(batch[0])
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)
data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(20, 4)), batch_size=4)
window = eval(sys.argv[1])
trainer = lightning.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            callbacks=[nlens.LightningCallback(window=window, folder=sys.argv[2])], num_sanity_val_steps=0, log_every_n_steps=1)
trainer.fit(Model(), data, data)
"""

REAL_TRANSFORMERS = """
import sys, torch, transformers, nlens
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def forward(self, x=None, labels=None):
        out = self.layer(x)
        return {"loss": ((out - labels) ** 2).mean(), "logits": out}
data = [{"x": torch.ones(4), "labels": torch.ones(1)} for _ in range(20)]
window = eval(sys.argv[1])
arguments = transformers.TrainingArguments(output_dir=sys.argv[2] + "/out", per_device_train_batch_size=4, num_train_epochs=2, logging_steps=1, use_cpu=True,
                                           report_to=[], eval_strategy="epoch", save_strategy="no", disable_tqdm=True)
transformers.Trainer(model=Model(), args=arguments, train_dataset=data, eval_dataset=data,
                     callbacks=[nlens.TrainerCallback(window=window, folder=sys.argv[2])]).train()
"""

REAL_KERAS = """
import sys, numpy, keras, nlens
model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((20, 4)), numpy.ones((20, 1)), batch_size=4, epochs=2, verbose=0, validation_data=(numpy.ones((4, 4)), numpy.ones((4, 1))),
          callbacks=[nlens.KerasCallback()])
"""


def callback_real(text, name, evaluation, **more):
    """Ten steps, two epochs and two evaluations, whatever the framework; values that were logged."""
    out = os.path.join(folder("real"), name + ".nlt")
    status, said, err = python(text, "None", folder("real/" + name), interpreter=REAL, before=[PROGRAM, "run", "--quiet", "--native", "off", "-o", out, "--"], **more)
    if status != 0:
        return False, (status, err[-3000:])
    steps = [row[0] for row in sql(out, "SELECT \"index\" FROM steps ORDER BY ts")]
    scopes = dict(sql(out, "SELECT name, count(*) FROM nvtx WHERE name IN ('epoch', '%s') GROUP BY 1" % evaluation))
    values = sql(out, "SELECT count(*) FROM counters WHERE name = 'loss'")[0][0]
    return steps == list(range(10)) and scopes == {"epoch": 2, evaluation: 2} and values >= 2, (steps, scopes, values, err[-1000:])


def callback_window(text, name):
    """Without a recorder torch.profiler records the window of steps, and the answer is printed."""
    place = folder("window/" + name)
    status, said, err = python(text, "(2, 5)", place, interpreter=REAL)
    traces = glob.glob(os.path.join(place, "*.pt.trace.json"))
    return status == 0 and len(traces) == 1 and "nlens: more: neurolens analyze" in err, (status, traces, err[-2000:])


# ---- push ----

def push_openmetrics():
    place = os.path.join(folder("push"), "run.prom")
    status, said, err = python("import nlens, sys\nprint(nlens.push(%r, to='openmetrics', where=sys.argv[1], labels={'model': 'a\"b\\\\c'})['kernel_count'])\n" % TRACE, place)
    with open(place) as file:
        text = file.read()
    document = json.loads(neurolens(["export", TRACE, "--to", "run.json", "-o", "-"]).stdout)
    known = {row["name"]: row["value"] for row in document["metrics"] if row["value"] is not None}
    line = re.search(r'^neurolens_mean_step_seconds\{profile="made_gpu_train.json.gz",model="a\\"b\\\\c"\} (\S+)$', text, re.M)
    good = (status == 0 and said == "1910.0\n" and line and float(line.group(1)) == known["mean_step_ns"] / 1e9 and text.endswith("# EOF\n") and
            len(re.findall("^# TYPE", text, re.M)) == len(known) + 1 and "_share" not in text and os.listdir(os.path.dirname(place)) == ["run.prom"])
    return good, (status, said, err, text)


def push_refuses():
    status, said, err = python("""
import nlens
for words in (dict(to="nowhere"), dict(to="tensorboard"), dict(to="openmetrics"), dict(to="openmetrics", where="x", labels={"a-b": "1"})):
    try:
        nlens.push(%r, **words)
        print("taken", words)
    except nlens.UsageError:
        pass
""" % TRACE)
    return status == 0 and said == "", (status, said, err)


PUSHED = {
    "openmetrics": ("prometheus_client", """
from prometheus_client.openmetrics.parser import text_string_to_metric_families
sent = nlens.push(TRACE, to="openmetrics", where="m.prom")
families = list(text_string_to_metric_families(open("m.prom").read()))
print(len(families) == len(sent), {f.type for f in families} == {"gauge"}, [s.value for f in families for s in f.samples if f.name == "neurolens_kernel_count"] == [1910.0])
"""),
    "tensorboard": ("tensorboard", """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
sent = nlens.push(TRACE, to="tensorboard", where="tb", step=7)
found = EventAccumulator("tb"); found.Reload()
scalars = {tag[len("neurolens/"):]: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}
text = found.Tensors("neurolens/answer")[0].tensor_proto.string_val[0].decode()
print(set(scalars) == set(sent), all(rows[0][0] == 7 and abs(rows[0][1] - sent[name]) <= 1e-6 * abs(sent[name]) for name, rows in scalars.items()), "Compute-bound" in text)
"""),
    "mlflow": ("mlflow", """
import mlflow
sent = nlens.push(TRACE, to="mlflow", where="sqlite:///" + os.path.abspath("ml.db") if SQL else os.path.abspath("ml"), step=3, labels={"model": "m"})
run = mlflow.MlflowClient().search_runs([mlflow.get_experiment_by_name("Default").experiment_id])[0]
names = [item.path for item in mlflow.MlflowClient().list_artifacts(run.info.run_id, "neurolens")]
print({"neurolens." + name: value for name, value in sent.items()} == run.data.metrics, run.data.tags["neurolens.model"] == "m", names == ["neurolens/neurolens-report.html"])
"""),
    "wandb": ("wandb", """
import glob, wandb
with wandb.init(project="p", mode="offline") as run:
    sent = nlens.push(TRACE, to="wandb", step=3)
    summary = dict(run.summary)
print(all(summary["neurolens/" + name] == value for name, value in sent.items()), "Compute-bound" in summary["neurolens/answer"], len(glob.glob("wandb/offline-run-*/*.wandb")) == 1)
"""),
}


def pushed(name):
    place = folder("pushed/" + name)
    text = "import os, nlens\nTRACE = %r\nSQL = False\n" % TRACE + PUSHED[name][1]
    status, said, err = python(text, interpreter=REAL, cwd=place, WANDB_DIR=place, WANDB_SILENT="true", MLFLOW_ALLOW_FILE_STORE="true")
    return status == 0 and said.splitlines()[-1:] == ["True True True"], (status, said, err[-3000:])


def main():
    for test in (handler_cycles, handler_at_exit, handler_ranks, handler_alone, handler_failures):
        guarded(test.__name__, test)
    if PYTEST:
        guarded("pytest_gate", pytest_gate)
        guarded("pytest_refuses", pytest_refuses)
    else:
        tally.skip("pytest", "no pytest in this Python")
    for test in (callbacks_played, callbacks_unrecorded, push_openmetrics, push_refuses):
        guarded(test.__name__, test)
    real = [("torch", "handler_torch", handler_torch), ("torch", "handler_torchrun", handler_torchrun),
            ("lightning", "hooks_lightning", hooks, "lightning", "lightning.pytorch", "Callback", LIGHTNING),
            ("transformers", "hooks_transformers", hooks, "transformers", "transformers", "TrainerCallback", TRANSFORMERS),
            ("keras", "hooks_keras", hooks, "keras", "keras.callbacks", "Callback", KERAS),
            ("lightning", "real_lightning", callback_real, REAL_LIGHTNING, "lightning", "validation"),
            ("transformers", "real_transformers", callback_real, REAL_TRANSFORMERS, "transformers", "evaluate"),
            ("keras", "real_keras", lambda: callback_real(REAL_KERAS, "keras", "evaluate", KERAS_BACKEND="jax")),
            ("lightning", "window_lightning", callback_window, REAL_LIGHTNING, "lightning"),
            ("transformers", "window_transformers", callback_window, REAL_TRANSFORMERS, "transformers")]
    real += [(PUSHED[name][0], "push_real_" + name, pushed, name) for name in PUSHED]
    if PYTEST and has(PYTEST, "xdist"):
        guarded("pytest_xdist", pytest_xdist)
    missing = set()
    for module, name, test, *words in real:
        if has(REAL, module):
            guarded(name, test, *words)
        else:
            missing.add(module)
    if missing:
        tally.skip("with the real " + ", ".join(sorted(missing)), "not installed; NEUROLENS_WITH_INTEGRATIONS=1 tools/test_frameworks.sh")
    tally.finish()


PYTEST = next((each for each in (REAL, sys.executable) if has(each, "pytest")), None)
main()
