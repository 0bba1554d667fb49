#!/usr/bin/env python3
"""`neurolens profile --backend torch`: with a module in PyTorch's place (mock_torch.py) whose operators have
known lengths, with scripts that misbehave, and with PyTorch itself where there is one.

    tests/profile_torch.py              all
    tests/profile_torch.py WORD...      the tests whose name contains a WORD

$TORCH_PYTHON is the Python that has PyTorch (default: build/venv-frameworks/bin/python).
"""
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import zipfile

from harness import PROGRAM, ROOT, TESTS, Tally, environment, neurolens, one_line_error, scratch

tally = Tally("profile torch")
REAL = os.path.abspath(os.environ.get("TORCH_PYTHON") or
                       os.path.join(ROOT, "build", "venv-frameworks", "bin", "python"))
ATTEMPTS = 6  # of a comparison of times: other work runs on the machine


def wanted(name):
    return len(sys.argv) < 2 or any(word in name for word in sys.argv[1:])


def in_scratch(*names):
    return os.path.join(scratch(), *names)


def write(name, text):
    with open(in_scratch(name), "w", encoding="utf-8") as file:
        file.write(text)
    return in_scratch(name)


def left_behind():
    return glob.glob(in_scratch("neurolens-??????"))


def profile(path, *words, python=sys.executable, timeout=120, mock="fine", **extra):
    if mock:
        extra.update(PYTHONPATH=in_scratch("mock"), MOCK=mock)
    return neurolens(["profile", path, "--backend", "torch", "--ledger", in_scratch("ledger"), "--python", python,
                      *words], timeout=timeout, extra=extra)


def rows(result, table):
    return json.loads(result.stdout)["result"][table]


def facts(result):
    return {row["fact"]: row["value"] for row in rows(result, "setup")}


# ---- the mock ----

MODEL = """
import sys, time
import torch
print("to be seen by nobody")
class Net(torch.nn.Module):
    def forward(self, x, scale=None):
        time.sleep(0.0005)
        with torch.operator("aten::linear", 20):
            with torch.operator("aten::addmm", 30):
                pass
            with torch.operator("aten::linear", 5):
                pass
        with torch.operator("aten::relu", 7.25):
            pass
model = Net()
"""


def set_up():
    os.makedirs(in_scratch("mock", "torch"))
    shutil.copy(os.path.join(TESTS, "mock_torch.py"), in_scratch("mock", "torch", "__init__.py"))
    write("net.py", MODEL)


def numbers():
    """Sums of a run from lengths that are known, on the clock of the runs; the run is in the ledger."""
    result = profile(in_scratch("net.py"), "--input", "x=4x8", "--format", "json", "--profiled-runs", "20",
                     "--threads", "3")
    if not tally.check("the mock runs", result.status == 0 and not left_behind(), result.describe()):
        return
    got = [(row["operator"], row["count"], row["self_ns"], row["total_ns"]) for row in rows(result, "operators")]
    tally.check("operators: self times, and an operator in itself counts once",
                got == [("aten::addmm", 20, 30000, 30000), ("aten::linear", 40, 25000, 55000),
                        ("aten::relu", 20, 7250, 7250)], got)
    share = [round(row["share"], 6) for row in rows(result, "operators")]
    tally.check("shares", share == [round(part / 62.25, 6) for part in (30, 25, 7.25)], share)
    latency = rows(result, "latency")
    plain, profiled = latency[0], latency[1]
    tally.check("the runs", 500000 <= plain["median_ns"] < 5000000 and profiled["count"] == 20 and
                plain["median_low_ns"] <= plain["median_ns"] <= plain["median_high_ns"] and
                latency[2]["median_ns"] == profiled["median_ns"] - plain["median_ns"] and
                latency[3]["median_ns"] == 62250 and latency[3]["count"] == 20, latency)
    told = facts(result)
    tally.check("the setup", told["backend version"] == "2.99.0" and told["kind"] == "script" and
                told["inputs"] == "x: f32[4, 8]" and told["threads"] == "3" and told["mode"] == "evaluation" and
                "no Kineto" in told["profiler"], told)
    found = neurolens(["sql", told["run"], "--ledger", in_scratch("ledger"), "--format", "json",
                       "SELECT dur FROM nvtx WHERE name = 'unprofiled run' ORDER BY dur"])
    durs = [row[0] for row in json.loads(found.stdout)["result"]["rows"]]
    tally.check("the plain runs are ranges of the run in the ledger", len(durs) == plain["count"] and
                abs(statistics.median(durs) - plain["median_ns"]) <= 1, found.describe()[:1000])
    check_document(told["run"], "mock", "2.99.0", "net", 4)


def check_document(run, name, version, model, batch):
    path = in_scratch("run.json")
    done = neurolens(["export", run, "--to", "run.json", "--ledger", in_scratch("ledger"), "-o", path])
    valid = neurolens(["validate", path])
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    now = time.time_ns()
    tally.check("%s: run.json in the ledger is valid and knows the backend" % name,
                done.status == 0 and valid.status == 0 and document["software"]["backend"] == "pytorch" and
                document["software"]["backend_version"] == version and
                document["software"]["framework_version"] == version and
                document["software"]["python_version"].startswith("3.") and
                document["workload"]["model"] == model and document["workload"]["batch_size"] == batch and
                document["workload"]["phase"] == "inference" and
                now - 600 * 10**9 < document["run"]["start_epoch_ns"] < now and
                document["hardware"]["cpu_count"] == os.cpu_count(),
                valid.describe() + json.dumps(document)[:3000])


# Name, what is added to the model's script, $MOCK, words, exit status, what the message says.
FAULTS = (
    ("no torch", "", "no torch", [], 5, "has no PyTorch; `%s -m pip install torch` gets it, --python FILE"
     % sys.executable),
    ("broken", "", "broken", [], 5, "PyTorch cannot be imported: ImportError: libcublas.so.13: cannot open"),
    ("needs another", "", "needs another", [], 5, "cannot be imported: ModuleNotFoundError: No module named 'sympy'"),
    ("other", "", "other", [], 5, "is not PyTorch"),
    ("syntax", "def (", "fine", [], 4, "SyntaxError: invalid syntax"),
    ("raises", "raise KeyError('weights.bin')", "fine", [], 4,
     "KeyError: 'weights.bin' while loading the model (raises.py, line"),
    ("no model", "del model", "fine", [], 4, "the script makes no `model` that can be called"),
    ("not callable", "model = 3", "fine", [], 4, "the script makes no `model` that can be called"),
    ("bad inputs", "def inputs(): raise OSError('no data')", "fine", [], 4, "OSError: no data while loading the model"),
    ("too many", "inputs = (1, 2, 3)", "fine", [], 4, "TypeError"),
    ("forward raises", "def model(x): raise ValueError('x\\nis wrong')", "fine", ["--input", "x=2"], 4,
     "ValueError: x while warming up (forward_raises.py, line"),
    ("empty error", "def model(x): raise RuntimeError", "fine", ["--input", "x=2"], 4,
     "RuntimeError while warming up"),
    ("exits", "def model(): sys.exit(0)", "fine", [], 4, "the program ended itself while warming up (exit 0"),
    ("exits early", "sys.exit('usage: net.py FILE')", "fine", [], 4,
     "the program ended itself while loading the model (exit usage: net.py FILE"),
    ("leaves", "import os\ndef model(): os._exit(0)", "fine", [], 5, "Python ended before the model was measured"),
    ("leaves with 7", "import os\ndef model(): print('the end', flush=True); os._exit(7)", "fine", [], 5,
     "Python ended while warming up with status 7; its last words: the end"),
    ("crashes", "import os\ndef model(): os.kill(os.getpid(), 11)", "fine", [], 5,
     "Python crashed while warming up (SIGSEGV)"),
    ("late", "n = 0\ndef model():\n    global n\n    n += 1\n    time.sleep(0.001)\n    if n == 30: raise "
     "RuntimeError('out of memory')", "fine", [], 4, "RuntimeError: out of memory while running with"),
    ("no shape", "", "fine", [], 2, "the shape of 'x' is not in the file; give it with --input x=SHAPE"),
    ("no such input", "", "fine", ["--input", "y=2"], 2, "--input y: no such input; inputs: x: tensor; scale: tensor"),
    ("no such dim", "", "fine", ["--dim", "n=2", "--input", "x=2"], 2, "--dim n: no input has a dimension of that"),
    ("no such type", "", "fine", ["--input", "x=2xu16"], 2, "PyTorch 2.99.0 has no tensors of u16"),
    ("own inputs", "inputs = {'x': 1}", "fine", ["--input", "x=2"], 2, "the script makes its `inputs` itself"),
    ("device", "def model(): pass", "fine", ["--provider", "cuda"], 2, "`model` is a function"),
)


def faults():
    for name, text, mock, words, status, message in FAULTS:
        path = write(name.replace(" ", "_") + ".py", MODEL + text + "\n")
        result = profile(path, *words, mock=mock)
        tally.check("script with fault '%s'" % name, result.status == status and message in result.stderr and
                    one_line_error(result) and not left_behind(), result.describe())
    os.chmod(write("no_python", "#!/bin/sh\necho this is no Python\nexit 3\n"), 0o755)
    result = profile(in_scratch("net.py"), python=in_scratch("no_python"))
    tally.check("a program that is no Python", result.status == 5 and one_line_error(result) and
                "Python ended with status 3; its last words: this is no Python" in result.stderr,
                result.describe())
    result = profile(in_scratch("net.py"), "--input", "x=2", mock="loses steps", timeout=60)
    tally.check("a profiler that loses the marks of runs: the latency is there, operators are not",
                result.status == 0 and "without the profiler" in result.stdout and "aten::" not in result.stdout,
                result.describe())


def files():
    """What is no model, by content."""
    with zipfile.ZipFile(in_scratch("weights.pt"), "w") as archive:
        archive.writestr("weights/data.pkl", b"\x80\x02}q\x00.")
    with zipfile.ZipFile(in_scratch("package.pt2"), "w") as archive:
        archive.writestr("package/data/aotinductor/model/model.so", b"")
    with zipfile.ZipFile(in_scratch("other.pt"), "w") as archive:
        archive.writestr("readme.txt", b"")
    write("text.pt", "no model\n")
    write("cut.pt", "PK\3\4")
    for name, message in (("weights.pt", "holds weights or a pickled module, but no code; save it with"),
                          ("package.pt2", "is a package of AOTInductor"),
                          ("other.pt", "is no TorchScript file, exported program or Python script"),
                          ("text.pt", "is no TorchScript file"), ("cut.pt", "is no TorchScript file")):
        result = profile(in_scratch(name))
        tally.check("refuses %s" % name, result.status == 4 and message in result.stderr and
                    one_line_error(result) and not left_behind(), result.describe())


def behaviours():
    """What is odd but works."""
    for name, text in (("prints", "def model(): print('x' * 100000); sys.stderr.write('y')"),
                       ("a function", "def model(x, y=2): assert y == 3\ninputs = lambda: {'x': 1, 'y': 3}"),
                       ("threads", "import threading\nthreading.Thread(target=time.sleep, args=(99,)).start()\n"
                        "def model(): pass"),
                       ("arguments", "assert len(sys.argv) == 1 and __name__ != '__main__'\nimport beside\n"
                        "def model(): pass"),
                       ("closes", "import os\nos.close(1); os.close(2)\ndef model(): pass"),
                       ("changes folder", "import os\nos.chdir('/')\ndef model(): pass")):
        write("beside.py", "")
        path = write(name.replace(" ", "_") + ".py", MODEL + text + "\n")
        result = profile(path, "--max-time", "200ms", "--no-add", "--format", "csv")
        tally.check("a script that %s" % name, result.status == 0 and result.stdout.startswith("operator,") and
                    not left_behind(), result.describe())


def is_gone(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def hanging():
    path = write("hangs.py", MODEL + "import os\ndef model():\n    open(%r, 'w').write(str(os.getpid()))\n"
                 "    time.sleep(60)\n" % in_scratch("pid"))
    for seconds in (1, 4, 16):  # on a busy machine Python may need more than one to begin
        result = profile(path, "--timeout", "%ds" % seconds)
        if os.path.exists(in_scratch("pid")) and os.path.getsize(in_scratch("pid")):
            break
    tally.check("a hanging model is ended", result.status == 5 and
                "Python was not done in %d s, while warming up; --timeout" % seconds in result.stderr and
                is_gone(int(open(in_scratch("pid"), encoding="ascii").read())) and not left_behind(),
                result.describe())
    os.remove(in_scratch("pid"))
    process = subprocess.Popen([PROGRAM, "profile", path, "--backend", "torch", "--python", sys.executable,
                                "--no-add"], env=dict(environment(scratch()), PYTHONPATH=in_scratch("mock")),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 20
    while time.monotonic() < end and not (os.path.exists(in_scratch("pid")) and os.path.getsize(in_scratch("pid"))):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    tally.check("a signal ends Python, too", is_gone(int(open(in_scratch("pid"), encoding="ascii").read())) and
                process.returncode in (130, 143) and not left_behind(), process.returncode)


def finding():
    """$VIRTUAL_ENV, then PATH."""
    for name in ("venv/bin", "bin"):
        os.makedirs(in_scratch(name))
        script = write(os.path.join(name, "python3"), "#!/bin/sh\necho I am in %s\nexit 9\n" % name)
        os.chmod(script, 0o755)
    os.symlink(in_scratch("venv/bin/python3"), in_scratch("venv/bin/python"))
    for name, extra, message in (("the virtual environment", {"VIRTUAL_ENV": in_scratch("venv")}, "I am in venv/bin"),
                                 ("PATH", {"PATH": "/nowhere:" + in_scratch("bin")}, "I am in bin"),
                                 ("nowhere", {"PATH": "/nowhere"}, "no python3 found on PATH; --python FILE")):
        result = neurolens(["profile", in_scratch("net.py"), "--backend", "torch"], extra=extra)
        tally.check("Python of %s" % name, result.status == 5 and message in result.stderr and
                    one_line_error(result), result.describe())


# ---- PyTorch ----

MAKE = """
import sys, warnings
import torch
warnings.simplefilter("ignore")
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(100, 256)
        self.up, self.down = torch.nn.Linear(256, 512), torch.nn.Linear(512, 64)
    def forward(self, ids, mask, scale: float = 2.0):
        x = self.embed(ids) * mask.unsqueeze(-1)
        return torch.softmax(self.down(torch.relu(self.up(x))) * scale, -1)
def example():
    return torch.randint(0, 100, (4, 64)), torch.ones(4, 64)
if __name__ == "__main__":
    folder, net = sys.argv[1], Net().eval()
    torch.jit.save(torch.jit.script(net), folder + "/scripted.pt")
    torch.jit.save(torch.jit.trace(net, example()), folder + "/traced.pt")
    torch.save(net.state_dict(), folder + "/weights.pt")
    if hasattr(torch, "export") and hasattr(torch.export, "save"):
        batch, length = torch.export.Dim("batch"), torch.export.Dim("length")
        shape = {0: batch, 1: length}
        torch.export.save(torch.export.export(net, example(), dynamic_shapes={"ids": shape, "mask": shape}),
                          folder + "/exported.pt2")
    print(torch.__version__)
"""
TIMED = """
import statistics, sys, time
sys.path.insert(0, sys.argv[1])
import maker, torch
torch.set_num_threads(1)
net, inputs, times = maker.Net().eval(), maker.example(), []
with torch.no_grad():
    end = time.monotonic() + 2
    while time.monotonic() < end:
        before = time.perf_counter_ns()
        net(*inputs)
        times.append(time.perf_counter_ns() - before)
print(statistics.median(times[10:]))
"""
SHAPES = ["--input", "ids=4x64xi64", "--input", "mask=4x64xf32"]


def real_files(version):
    cases = [("scripted.pt", SHAPES, "TorchScript"), ("maker_script.py", [], "script"),
             ("maker_events.py", [], "script"), ("maker_block.py", [], "script")]
    cases += [("traced.pt", ["--input", "ids=4x64xi64", "--input", "mask=4x64xf32"], "TorchScript")]
    if os.path.exists(in_scratch("exported.pt2")):
        cases += [("exported.pt2", [], "exported program")]
    for name, words, kind in cases:
        result = profile(in_scratch(name), *words, "--threads", "1", "--format", "json", "--max-time", "5s",
                         python=REAL, mock=None, timeout=300)
        label = "%s: %s" % (version, name)
        if not tally.check(label, result.status == 0 and not left_behind(), result.describe()):
            continue
        operators = {row["operator"]: row for row in rows(result, "operators")}
        latency, told = rows(result, "latency"), facts(result)
        count = latency[1]["count"]
        tally.check(label + ": operators, counts, setup", (count == 50 or "max-time" in told["stopped because"]) and
                    operators["aten::embedding"]["count"] == count and
                    operators["aten::addmm"]["count"] == 2 * count and
                    abs(sum(row["share"] for row in operators.values()) - 1) < 1e-9 and
                    latency[3]["median_ns"] <= latency[1]["median_ns"] * 1.05 and
                    told["kind"] == kind and told["backend version"] == version and
                    ("no Kineto" in told["profiler"]) == ("events" in name or not has_kineto()) and
                    ("one block" in told["profiled runs"]) == ("block" in name and has_kineto()), "%s\n%s\n%s"
                    % (latency, list(operators), told))
        check_document(told["run"], label, version, os.path.splitext(name)[0], 4)


def has_kineto():
    done = subprocess.run([REAL, "-c", "import torch; print(torch.autograd.kineto_available())"],
                          stdout=subprocess.PIPE)
    return done.stdout.strip() == b"True"


def real_words(version):
    cases = [("scripted.pt", [], 2, "the shape of 'ids' is not in the file; give it with --input ids=SHAPE"),
             ("scripted.pt", ["--input", "ids=4x64xi64:100..200", "--input", "mask=4x64"], 4, "scripted.pt: RuntimeError: index out of range in self while warming up"),
             ("scripted.pt", ["--input", "ids=4x64xi64", "--input", "mask=4x63"], 4, "RuntimeError"),
             ("scripted.pt", ["--provider", "nonsense", *SHAPES], 4, "RuntimeError"),
             ("weights.pt", [], 4, "holds weights")]
    if os.path.exists(in_scratch("exported.pt2")):
        cases += [("exported.pt2", ["--input", "ids=4x64xf32"], 2, "--input ids: the model has another element type"),
                  ("exported.pt2", ["--input", "ids=4xi64"], 2, "another number of dimensions"),
                  ("exported.pt2", ["--dim", "nonsense=4"], 2, "no input has a dimension of that name; inputs: ids: i64[s")]
    for name, words, status, message in cases:
        result = profile(in_scratch(name), *words, python=REAL, mock=None)
        tally.check("%s refuses %s %s" % (version, name, " ".join(words)), result.status == status and
                    message in result.stderr and one_line_error(result) and not left_behind(), result.describe())
    if os.path.exists(in_scratch("exported.pt2")):
        result = profile(in_scratch("exported.pt2"), "--input", "ids=2x16", "--no-add", "--format", "json",
                         "--max-time", "1s", python=REAL, mock=None)
        tally.check("%s: sizes of the same name follow" % version, result.status == 0 and
                    facts(result)["inputs"] == "ids: i64[2, 16]; mask: f32[2, 16]", result.describe())


def real_times(version):
    """Beside a loop in the same Python: medians of runs within 5 %; a quiet moment in some attempts is enough."""
    best = None
    for _ in range(ATTEMPTS):
        told = subprocess.run([REAL, "-c", TIMED, scratch()], stdout=subprocess.PIPE, check=True)
        result = profile(in_scratch("maker_script.py"), "--threads", "1", "--no-add", "--format", "json",
                         "--max-time", "4s", python=REAL, mock=None)
        ratio = abs(rows(result, "latency")[0]["median_ns"] / float(told.stdout) - 1)
        best = ratio if best is None else min(best, ratio)
        if best <= 0.05:
            break
    tally.check("%s: total within 5 %% of a plain loop's (%.2f %%)" % (version, best * 100), best <= 0.05)


def real():
    if not os.access(REAL, os.X_OK):
        tally.skip("PyTorch itself", "no %s; NEUROLENS_WITH_TORCH=1 tools/test_frameworks.sh makes it, or set "
                   "TORCH_PYTHON" % os.path.relpath(REAL, ROOT))
        return
    maker = write("maker.py", MAKE)
    done = subprocess.run([REAL, maker, scratch()], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if b"No module named 'torch'" in done.stderr:
        tally.skip("PyTorch itself", "not in %s" % os.path.relpath(REAL, ROOT))
        return
    if not tally.check("the models are made", done.returncode == 0, done.stderr.decode()):
        return
    script = "from maker import Net, example\nmodel = Net().eval()\ninputs = example\n"
    write("maker_script.py", script)
    write("maker_events.py", script + "import torch\ntorch.autograd.kineto_available = lambda: False\n")
    write("maker_block.py", script + "import torch\nif hasattr(torch.profiler.profile, 'toggle_collection_dynamic'):\n"
          "    del torch.profiler._KinetoProfile.toggle_collection_dynamic\n")
    version = done.stdout.decode().split()[-1]
    for test in (real_files, real_words, real_times):
        if wanted(test.__name__):
            test(version)


def main():
    set_up()
    for test in (numbers, faults, files, behaviours, hanging, finding):
        if wanted(test.__name__):
            test()
    if any(wanted(name) for name in ("real_files", "real_words", "real_times")):
        real()
    tally.finish()


main()
