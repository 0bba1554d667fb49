#!/usr/bin/env python3
"""The Python part of recording, with every CPython from 3.9 on that is here ($MORE_PYTHONS names others, with : between them).

PyTorch is tested with $TORCH_PYTHON, or build/venv-frameworks (tools/test_frameworks.sh), when it is there, Keras
and JAX with $KERAS_PYTHON or likewise, TensorFlow below Keras with $TENSORFLOW_PYTHON.
"""
import csv
import functools
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import PROGRAM, ROOT, TESTS, Tally, environment, neurolens, scratch  # noqa: E402

PROGRAMS = os.path.join(TESTS, "python")
BUILD = os.path.dirname(PROGRAM)
PACKAGE = os.path.join(BUILD, "python", "nlens")
tally = Tally("python")


@functools.cache
def interpreters():
    """{version: executable} of those that the one extension serves."""
    try:
        told = subprocess.run(["meson", "introspect", "--buildoptions", BUILD], stdout=subprocess.PIPE, check=True)
        names = [option["value"] for option in json.loads(told.stdout) if option["name"] == "pythons"][0]
    except (OSError, subprocess.SubprocessError, IndexError, ValueError):
        names = ["python3"]
    names = list(names) + [name for name in os.environ.get("MORE_PYTHONS", "").split(":") if name]
    names += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    if not os.path.exists(os.path.join(PACKAGE, "_capture.abi3.so")):
        return {}
    found = {}
    for name in names:
        try:
            done = subprocess.run([name, "-c", "import sys, importlib.machinery as m; print(sys.executable); "
                                   "print('%d.%d' % sys.version_info[:2]); print('.abi3.so' in m.EXTENSION_SUFFIXES)"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        executable, version, loads = done.stdout.decode().split()
        if loads == "True" and tuple(map(int, version.split("."))) >= (3, 9):
            found.setdefault(version, executable)
    return found


def python_with(variable, module):
    look = "import importlib.util as u, sys; sys.exit(not u.find_spec('%s'))" % module
    for python in (os.environ.get(variable), os.path.join(ROOT, "build/venv-frameworks/bin/python")):
        if python and os.path.exists(python) and subprocess.run([python, "-c", look]).returncode == 0:
            return python
    return None


def sql(path, query):
    done = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", path, query], timeout=60)
    if done.status != 0:
        raise AssertionError(done.describe())
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def record(words, options=(), **more):
    record.count += 1
    path = os.path.join(scratch(), "r%d.nlt" % record.count)
    # Samples, and what cannot be said of them on a busy machine, are the matter of native/run.py and pysample/run.py.
    quiet = ["--native", "off", "--switches", "off"] + ([] if "--sample-rate" in options else ["--sample-rate", "0"])
    done = neurolens(["run", "-o", path] + quiet + list(options) + ["--"] + words, timeout=240, **more)
    return path, done


record.count = 0


def program(name):
    return os.path.join(PROGRAMS, name)


def first_difference(got, want):
    for key in sorted(set(got) | set(want)):
        if got.get(key) != want.get(key):
            return "%s: %s, want %s" % (key, got.get(key), want.get(key))
    return None


def check(name, test, *args):
    try:
        problem = test(*args)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


# ---- with every interpreter ----

def hook_cost(python, hook, options=(), bare=None):
    """What the recording says that a hook costs with its two events, against what the program measures of itself: within three times."""
    tried = []
    for _ in range(4):
        path, done = record([python, program("hookcost.py"), hook], list(options) + ["--format", "json"])
        if done.status != 0:
            return done.describe()
        hooked, without = map(float, done.stdout.split())
        result = json.loads(done.stderr)["result"]
        told = {each["hook"]: each for each in result["hooks"]}[{"calls": "python_functions"}.get(hook, hook)]
        if not told["count"] or not told["hook_ns"]:
            return "%s of %s" % (told, result["hooks"])
        said = told["hook_ns"] + 2 * result["event_ns"]
        measured = hooked - (without if bare is None else bare())
        tried.append("%.0f ns measured, %.0f ns told" % (measured, said))
        if measured / 3 < said < 3 * measured:
            break
    else:
        return "; ".join(tried)
    print("    %s: %s" % (hook, tried[-1]))
    # The same in SQL, where the parts are summed up.
    got = dict(sql(path, "SELECT key, value FROM metadata WHERE key LIKE 'recorder.hook_ns.%' OR key LIKE 'hooks run: %'"))
    return None if len(got) >= 2 else "metadata: %s" % got


def task_cost(python):
    return hook_cost(python, "tasks")


def call_cost(python):
    return hook_cost(python, "calls", ["--python", "trace"])


def unmeasured(python):
    """Hooks that are installed while nothing is recorded have no cost, and that is said; installing them has."""
    path, done = record([python, program("tasks.py")], ["--paused"])
    if done.status != 0 or os.path.exists(path) and sql(path, "SELECT 1 FROM metadata WHERE key LIKE 'recorder.hook_ns.%'"):
        return done.describe()
    return None if "overhead of installing Python's hooks: " in done.stderr else done.describe()



def api(python):
    path, done = record([python, program("api.py")])
    if done.status != 0 or done.stdout != "done True\n":
        return done.describe()
    got = {name: int(count) for name, count in sql(path, "SELECT name, count(*) FROM slices WHERE kind <> 'gc' "
                                                   "AND name NOT LIKE '% (Task-%)' GROUP BY name")}
    want = {"encoder": 100, "inner": 100, "work": 400, "renamed": 1, "method": 1, "static": 1, "items": 1, "point": 1,
            "range": 1, "timed": 1, "raises": 1, "recursive": 21, "shared": 300, "task": 3, "inside": 3, "step": 100,
            "lone \\udc80": 1}
    got.update(swapped=int(sql(path, "SELECT count(*) FROM slices a JOIN slices b ON b.lane = a.lane AND b.name = 'inside' "
                               "WHERE a.name = 'task' AND (b.ts < a.ts OR b.ts + b.dur > a.ts + a.dur)")[0][0]),
               lanes=len(sql(path, "SELECT DISTINCT l.name FROM slices s JOIN lanes l ON l.id = s.lane WHERE "
                             "s.name IN ('task', 'inside') AND l.name LIKE 'asyncio: Task-%'")),
               threads=len(sql(path, "SELECT name FROM threads WHERE name LIKE 'worker %'")),
               depth=int(sql(path, "SELECT count(*) FROM slices s JOIN slices p ON p.id = s.parent "
                             "WHERE s.name = 'recursive' AND p.name = 'recursive'")[0][0]),
               kinds=int(sql(path, "SELECT count(*) FROM nvtx WHERE category = 'kind'")[0][0]),
               layers=int(sql(path, "SELECT count(*) FROM layers WHERE name = 'encoder'")[0][0]),
               sum=float(sql(path, "SELECT sum(value) FROM counters WHERE name = 'queue'")[0][0]),
               steps=int(sql(path, "SELECT sum(\"index\") FROM steps")[0][0]),
               unsure=len(sql(path, "SELECT * FROM coverage")))
    want.update(swapped=0, lanes=3, threads=3, depth=20, kinds=102, layers=100, sum=4950.0, steps=4950, unsure=0)
    return first_difference(got, want)


def without(python):
    """The package without a recorder."""
    variables = environment(scratch())
    variables["PYTHONPATH"] = os.path.dirname(PACKAGE)
    done = subprocess.run([python, program("api.py")], env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return None if done.stdout == b"done False\n" else done.stdout.decode()


def calls(python):
    """Each function as often as cProfile says."""
    path, done = record([python, program("calls.py")], ["--python", "trace"])
    if done.status != 0:
        return done.describe()
    told = subprocess.run([python, program("calls.py"), "cprofile"], stdout=subprocess.PIPE, check=True)
    want = {int(line): int(count) for line, count in map(str.split, told.stdout.decode().splitlines())}
    got = {int(re.search(r"\((\d+)\)", name).group(1)): int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM python WHERE name LIKE '%calls.py(%' "
               "AND name NOT LIKE '%module>' AND name NOT LIKE '%: main' AND name NOT LIKE '%: Words' GROUP BY name")}
    if not want or sql(path, "SELECT * FROM coverage"):
        return "coverage: %s" % sql(path, "SELECT * FROM coverage")
    return first_difference(got, want)


def c_calls(python):
    """Functions of C too, as often as cProfile says, in threads as well; none of them for the hooks' own sake."""
    path, done = record([python, program("calls.py")], ["--python", "trace-c"])
    if done.status != 0:
        return done.describe()
    told = subprocess.run([python, program("calls.py"), "cprofile", "C"], stdout=subprocess.PIPE, check=True)
    want = dict((name, int(count)) for name, count in map(str.split, told.stdout.decode().splitlines()))
    got = {name: int(count) for name, count in
           sql(path, "SELECT c.name, count(*) FROM python c JOIN slices s ON s.id = c.slice JOIN slices p ON p.id = s.parent "
               "WHERE p.name LIKE '%calls.py(%' AND p.name NOT LIKE '%module>' AND p.name NOT LIKE '%: main' "
               "AND c.name NOT LIKE '%(%' GROUP BY c.name")}
    if len(want) < 8 or sql(path, "SELECT * FROM coverage"):
        return "want %s, coverage: %s" % (want, sql(path, "SELECT * FROM coverage"))
    ours = sql(path, "SELECT name FROM python WHERE name LIKE 'nlens%' OR name LIKE '%_hooks.py%'")
    return first_difference(got, want) or ("of ours: %s" % ours if ours else None)


def another_profile(python):
    """A profile function of the program's own stays, and what that costs us is said (before 3.12)."""
    code = "import sys; seen = []; sys.setprofile(lambda *a: seen.append(1)); len([]); sys.setprofile(None); print(len(seen) > 1)"
    path, done = record([python, "-c", code], ["--python", "trace-c"])
    if done.status != 0 or done.stdout != "True\n":
        return done.describe()
    said = [row[0] for row in sql(path, "SELECT item FROM coverage") if row[0] != "scopes that never ended"]
    old = "import sys; sys.exit(not hasattr(sys, 'monitoring'))"
    want = ["not recorded: calls of C functions"] if subprocess.run([python, "-c", old]).returncode else []
    return None if said == want else "coverage: %s" % said


def heap(python):
    """Blocks of known sizes, as peaks of the step and layers they are in; threads allocate too."""
    path, done = record([python, program("heap.py")], ["--python-heap"])
    if done.status != 0:
        return done.describe()
    peak = {name[len("Python heap peak: "):]: float(value) / 1e6 for name, value in
            sql(path, "SELECT name, max(value) FROM counters WHERE name LIKE 'Python heap peak: %' GROUP BY name")}
    most = float(sql(path, "SELECT max(value) FROM counters WHERE name = 'Python heap'")[0][0]) / 1e6
    floor = peak.get("floor", -1000)
    got = {name: round((value - floor) / 10) for name, value in peak.items()}
    got["most"] = round((most - floor) / 10)
    said = sql(path, "SELECT item, detail FROM coverage")
    if [item for item, _ in said] != ["not recorded: Python heap"] or "peaks of 6 steps and layers" not in said[0][1]:
        return "coverage: %s" % said
    return first_difference(got, {"floor": 0, "large": 5, "small": 2, "thread": 3, "step": 5, "most": 5, "after": 0, "deep": 0})


def no_heap(python):
    """A debugging allocator hides the sizes of blocks: said, and the program runs."""
    path, done = record([python, program("heap.py")], ["--python-heap"], extra={"PYTHONMALLOC": "debug"})
    said = sql(path, "SELECT item FROM coverage")
    return None if done.status == 0 and said == [["not recorded: Python heap"]] else "%s %s" % (done.describe(), said)


def nesting(python):
    """Calls lie in their callers, with the callers' names."""
    path, _ = record([python, program("calls.py")], ["--python", "trace"])
    wrong = sql(path, "SELECT s.name, p.name FROM slices s LEFT JOIN slices p ON p.id = s.parent WHERE "
                "s.kind = 'python' AND s.name LIKE '%: leaf' AND p.name NOT LIKE '%: work' AND p.name NOT LIKE "
                "'%: coroutine'")
    return "%s" % wrong[:3] if wrong else None


def limit(python):
    """Functions over the limit are cut, others are not, and it is said."""
    variables = {"NEUROLENS_PYTHON_CALLS": "50"}
    path, done = record([python, program("calls.py")], ["--python", "trace"], extra=variables)
    got = {name.rsplit(" ", 1)[1]: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM python WHERE name LIKE '%calls.py(%' GROUP BY name")}
    wrong = first_difference({key: got.get(key) for key in ("leaf", "fibonacci", "recursive", "raising")},
                             {"leaf": 50, "fibonacci": 50, "recursive": 50, "raising": 10})
    said = sql(path, "SELECT detail FROM coverage WHERE item = 'not recorded: Python calls'")
    if not wrong and not said:
        wrong = "nothing said: %s" % sql(path, "SELECT item, detail FROM coverage")
    if not wrong and "Python calls:" not in done.stderr:
        wrong = done.describe()
    return wrong or bounds(python, path)


def functions(path):
    """{name of a function of the program: its row} of the table; of the lambdas, which have one name, with their line."""
    shown = neurolens(["analyze", path, "--section", "python", "--all", "--format", "json"])
    found = {}
    for row in json.loads(shown.stdout)["result"]["python"]:
        place, _, name = row["name"].rpartition(" ")
        if "calls.py(" in place:
            found[row["name"].rpartition("/")[2] if name == "<lambda>" else name] = row
    return found


def bounds(python, path):
    """Rows whose calls were left out are bounds without a share, and hold against a recording of all calls; so do the
    others. Sentences say the same."""
    whole, cut = functions(record([python, program("calls.py")], ["--python", "trace"],
                                  extra={"NEUROLENS_PYTHON_CALLS": "1000000"})[0]), functions(path)
    if any("bound" in row for row in whole.values()):
        return "bounds of a recording of all calls: %s" % whole
    for name, row in cut.items():
        least, truth = row["bound"] in ("at least", "first calls"), whole[name]["count"]
        if (row["share"] is None) != (row["bound"] is not None) or (least and row["count"] != 50) or (not least and row["count"] != truth):
            return "%s: %s, and %s of all calls" % (name, row, whole[name])
    if {cut[name]["bound"] for name in ("leaf", "fibonacci", "recursive")} - {"at least", "first calls"} or \
            cut["work"]["bound"] != "at most":
        return "bounds: %s" % {name: row["bound"] for name, row in cut.items()}
    text = " ".join(neurolens(["analyze", path]).stdout.split("1. ")[0].split())
    for name, row in cut.items():
        for told in re.findall(re.escape(": " + name) + r" ([^:;]*\))", text.split("With what they call")[0]):
            if row["bound"] and "%" in told:
                return "%s has a share in: %s" % (name, text)
    return None


MODES = (["on"], ["trace"], ["trace-c"], ["on", "--python-heap", "--shapes"], ["off"])
FLAGS = ([], ["-W", "error"], ["-S"], ["-I"], ["-E"], ["-X", "utf8"])


def modes_of(flags, python):
    """Where our hooks run and warnings may end them: all with each interpreter. Else each with two of the interpreters."""
    pythons = sorted(interpreters().values())
    at, count = pythons.index(python), len(pythons)
    return MODES if flags in FLAGS[:2] else [mode for number, mode in enumerate(MODES) if at in (number % count, (number + 1) % count)]


def same(python):
    """The program's output and status do not change, whatever is recorded."""
    place = os.path.join(scratch(), "site")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "sitecustomize.py"), "w") as file:
        file.write("import os\nMINE = True\nos.environ['SITE_TOLD'] = 'yes'\n")
    for flags in FLAGS:
        words = [python] + flags + [program("surroundings.py"), "a b"]
        variables = environment(scratch())
        variables["PYTHONPATH"] = place
        plain = subprocess.run(words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for mode in modes_of(flags, python):
            path, done = record(words, ["-q", "--python"] + mode, extra={"PYTHONPATH": place})
            if (done.status, done.stdout, done.stderr) != (plain.returncode, plain.stdout.decode(),
                                                           plain.stderr.decode()):
                return "%s %s: %s\nwant: %s" % (flags, mode, done.describe(), plain)
        if not flags and plain.stdout.decode().count("yes True") != 1:
            return plain.stdout.decode()
    return None


def garbage(python):
    path, done = record([python, program("garbage.py")], ["--paused"])
    if done.status != 0:
        return done.describe()
    got = {name[-1]: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM slices WHERE kind = 'gc' GROUP BY name")}
    return first_difference(got, {"0": 5, "1": 3, "2": 2})


def tasks(python):
    """Runs of tasks are named after coroutine and task; names do not move to later tasks."""
    path, done = record([python, program("tasks.py")])
    if done.status != 0:
        return done.describe()
    got = {name: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM slices WHERE kind = 'nvtx' AND name LIKE '%(%' GROUP BY name")}
    want = {"first (one)": 3, "second (two)": 2, "main (main)": 202}
    want.update({"short (t%d)" % number: 1 for number in range(200)})
    return first_difference({name: got.get(name) for name in want}, want)


def broken(python):
    """A hook that fails: the program does not notice, the report says so, once."""
    place = os.path.join(scratch(), "fake", "torch")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "__init__.py"), "w") as file:
        file.write("value = 42\n")
    path, done = record([python, "-c", "import torch; print(torch.value)"], ["--paused"],
                        extra={"PYTHONPATH": os.path.dirname(place)})
    if done.status != 0 or done.stdout != "42\n" or done.stderr.count("not recorded: torch: AttributeError") != 1:
        return done.describe()
    got = sql(path, "SELECT item, count FROM coverage")
    return None if got == [["not recorded: torch", "1"]] else "coverage: %s" % got


def problems(python):
    """Any number of them, with and without a reason."""
    path, done = record([python, "-c", "from nlens import _capture as c\n"
                         "for n in range(70): c.problem('hook %d: why' % n)\n"
                         "c.problem('')\nc.problem('no reason')\n"], ["-q"])
    if done.status != 0:
        return done.describe()
    got = {item: (int(count), detail) for item, count, detail in sql(path, "SELECT item, count, detail FROM coverage")}
    want = {"not recorded: hook %d" % n: (1, "why") for n in range(64)}
    want["not recorded: other hooks"] = (8, "")
    return first_difference(got, want)


def environments(python):
    """A virtual environment of its own."""
    folder = os.path.join(scratch(), "venv" + os.path.basename(os.path.dirname(os.path.dirname(python))))
    if subprocess.run([python, "-m", "venv", "--without-pip", folder], stderr=subprocess.DEVNULL).returncode != 0:
        tally.skip("virtual environment", "venv does not work with %s" % python)
        return None
    path, done = record([os.path.join(folder, "bin", "python"), program("api.py")])
    return None if done.status == 0 and sql(path, "SELECT * FROM layers LIMIT 1") else done.describe()


# ---- hooks that do not run ----

HOOKS = "not recorded: Python layers, operators and steps"


def coverage(path):
    return {item: detail for item, detail in sql(path, "SELECT item, detail FROM coverage")}


def processes(path):
    return sql(path, "SELECT pid, name FROM processes")


def switched_off(python):
    """-I, -E, -S, a cleared environment, another PYTHONPATH: a line of coverage each, with what to do; -P and a safe path do not matter."""
    runs = [([python, "-I"], {}, "without -I"), ([python, "-Es"], {}, "without -E"), ([python, "-S"], {}, "without -S"),
            ([python, "-X", "utf8", "-W", "ignore"], {}, None), ([python], {"PYTHONSAFEPATH": "1"}, None),
            (["env", "-u", "PYTHONPATH", python], {}, "add to it, do not replace it")]
    for words, variables, want in runs:
        path, done = record(words + ["-c", "print(42)"], ["-q"], extra=variables)
        said = coverage(path).get(HOOKS) if os.path.exists(path) else None
        if done.status != 0 or done.stdout != "42\n" or done.stderr or (want not in (said or "") if want else said):
            return "%s: %s, coverage %s, processes %s" % (words, done.describe(), coverage(path) if os.path.exists(path) else None,
                                                          processes(path) if os.path.exists(path) else None)
    path, done = record(["env", "-i", python, "-c", "import time; time.sleep(0.5)"])
    if "LD_PRELOAD" not in coverage(path).get(HOOKS, "") or "env -i" not in done.stderr:
        return "env -i: %s, coverage %s" % (done.describe(), coverage(path))
    path, done = record([python, "--version"], ["-q"])
    return "--version: %s" % coverage(path) if os.path.exists(path) and HOOKS in coverage(path) else None


def slow_recorder(python):
    """The recorder is not done with a process's file when the hooks want it: the process makes its own, and is one process that was hooked."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    shim, race = os.path.join(scratch(), "slowrecorder.so"), os.path.join(scratch(), "race%s" % record.count)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, program("slowrecorder.c"), "-ldl"], check=True)
    os.mkdir(race)
    code = "import nlens, os\nwith nlens.scope('made'): pass\nopen(os.path.join(os.environ['RACE'], 'done'), 'w').close(); print(42)"
    path, done = record([os.path.realpath(python), "-c", code], ["-q"], extra={"LD_PRELOAD": shim, "RACE": race})
    met = os.path.exists(os.path.join(race, "begun"))
    made = sql(path, "SELECT count(*) FROM slices WHERE name = 'made'")
    if done.status != 0 or done.stdout != "42\n" or not met or len(processes(path)) != 1 or coverage(path) or made != [["1"]]:
        return "%s, met %s, processes %s, coverage %s, %s" % (done.describe(), met, processes(path), coverage(path), made)
    return None


def no_extension(python):
    """A package without its extension: the program runs, `import nlens` too, and coverage names the remedy."""
    folder = os.path.join(scratch(), "without", "nlens")
    if not os.path.exists(folder):
        shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    code = "import nlens\nwith nlens.scope('a'): pass\nprint(nlens.is_recording())"
    path, done = record(["env", "PYTHONPATH=" + os.path.join(folder, "hook"), python, "-c", code], ["-q"])
    if done.status != 0 or done.stdout != "False\n":
        return done.describe()
    return None if "python3-dev" in coverage(path).get(HOOKS, "") else "coverage: %s" % coverage(path)


def older(python):
    """CPython before 3.9: `import nlens` works, nothing is recorded by it, and that is said."""
    code = "import nlens\nwith nlens.scope('a'): pass\nprint(nlens.is_recording())"
    path, done = record([python, "-c", code], ["-q"])
    if done.status != 0 or done.stdout != "False\n":
        return done.describe()
    return None if "3.9 or later" in coverage(path).get(HOOKS, "") else "coverage: %s" % coverage(path)


def namespace(python):
    """A PID namespace of its own: Python's memory is not found from outside, and that is said."""
    words = ["unshare", "-Urpf", "--mount-proc"]
    if not shutil.which("unshare") or subprocess.run(words + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        tally.skip("PID namespace", "unshare is not permitted here")
        return None
    path, done = record(words + [python, program("api.py")], ["-q", "--sample-rate", "100"])
    said = coverage(path)
    if done.status != 0 or not sql(path, "SELECT 1 FROM layers LIMIT 1"):
        return done.describe()
    return None if "inside" in said.get("not recorded: Python samples", "") else "coverage: %s" % said


# ---- PyTorch ----

def layers(python):
    path, done = record([python, program("model.py"), "train"])
    if done.status != 0:
        return done.describe()
    got = {name: int(count) for name, count in sql(path, "SELECT name, count(*) FROM layers GROUP BY name")}
    want = {"LM": 5, "model": 5, "head": 5}
    for number in range(4):
        for part in ("", ".norm", ".mlp", ".mlp.0", ".mlp.1", ".mlp.2"):
            want["model.layers.%d%s" % (number, part)] = 5
    got.update({name: int(count) for name, count in
                sql(path, "SELECT name, count(*) FROM nvtx GROUP BY name")})
    want.update({"DataLoader.__next__": 6, "backward": 5, "SGD.step": 5, "step": 5})
    got["outside"] = int(sql(path, "SELECT count(*) FROM layers l WHERE NOT EXISTS (SELECT 1 FROM steps s "
                             "WHERE s.ts <= l.ts AND s.ts + s.dur >= l.ts + l.dur)")[0][0])
    got["unsure"] = len(sql(path, "SELECT * FROM coverage"))
    want.update(outside=0, unsure=0)
    return first_difference(got, want)


def operators(python):
    path, done = record([python, program("model.py"), "count"], ["--paused"])
    if done.status != 0:
        return done.describe()
    want = {line.split("\t")[1]: int(line.split("\t")[0]) for line in done.stdout.splitlines()}
    got = {name: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM slices WHERE kind = 'op' GROUP BY name")}
    return first_difference(got, want) if len(want) > 20 else "few operators: %s" % want


def shapes(python):
    """Shapes as torch.profiler records them, of the same calls; without being asked for there are none."""
    path, done = record([python, program("model.py"), "shapes"], ["--paused", "--shapes"])
    if done.status != 0:
        return done.describe()
    want = {tuple(line.split("\t")[1:]): int(line.split("\t")[0]) for line in done.stdout.splitlines()}
    got = {(name, text): int(count) for name, text, count in
           sql(path, "SELECT name, shapes, count(*) FROM ops WHERE shapes IS NOT NULL GROUP BY name, shapes")}
    if len(want) < 20 or sql(path, "SELECT * FROM coverage WHERE item LIKE 'not recorded: shapes%'"):
        return "few shapes: %s, coverage: %s" % (want, sql(path, "SELECT * FROM coverage"))
    path, _ = record([python, program("model.py"), "train"])
    return first_difference(got, want) or ("unasked" if sql(path, "SELECT 1 FROM ops WHERE shapes IS NOT NULL") else None)


def layer_cost(python):
    return hook_cost(python, "layers")


def operator_cost(python):
    """Against a run without hooks; a call may be two operators, one within the other."""
    def bare():
        _, done = record([python, program("hookcost.py"), "operators"], ["--python", "off"])
        return float(done.stdout.split()[0])

    tried = []
    for _ in range(4):
        _, done = record([python, program("hookcost.py"), "operators"], ["--format", "json"])
        result = json.loads(done.stderr)["result"]
        told = {each["hook"]: each for each in result["hooks"]}["operators"]
        measured = (float(done.stdout.split()[0]) - bare()) / max(1, round(told["count"] / 8000))
        said = told["hook_ns"] + 2 * result["event_ns"]
        tried.append("%.0f ns measured, %.0f ns told" % (measured, said))
        if measured / 3 < said < 3 * measured:
            print("    operators: %s" % tried[-1])
            return None
    return "; ".join(tried)


def compiles(python):
    path, done = record([python, program("model.py"), "compile"])
    if done.status != 0 or done.stdout != "0\n":
        return done.describe()
    got = [row[0] for row in sql(path, "SELECT DISTINCT name FROM layers")]
    return None if got == ["OptimizedModule"] else "layers: %s" % got


def compiles_traced(python):
    """Dynamo and our evaluation of frames get along."""
    path, done = record([python, program("model.py"), "compile"], ["--python", "trace"])
    return None if done.status == 0 and done.stdout == "0\n" else done.describe()


def workers(python):
    """Worker processes of a DataLoader; none of them makes steps."""
    path, done = record([python, program("model.py"), "workers"])
    if done.status != 0:
        return done.describe()
    got = {"layers": len(sql(path, "SELECT 1 FROM layers WHERE name = 'head'")),
           "steps": len(sql(path, "SELECT 1 FROM steps")), "processes": len(sql(path, "SELECT 1 FROM processes"))}
    return first_difference(got, {"layers": 5, "steps": 5, "processes": 3})


def own(python):
    path, done = record([python, program("model.py"), "own"])
    got = [int(row[0]) for row in sql(path, "SELECT \"index\" FROM steps ORDER BY ts")]
    return None if got == [100, 101, 102, 103, 104] else "steps: %s\n%s" % (got, done.describe())


def launched(python):
    """torchrun: two processes, each with its rank, and the launcher."""
    path, done = record([python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", program("model.py"),
                         "distributed"])
    if done.status != 0:
        return done.describe()
    got = {"calls of %s" % rank: int(count) for rank, count in
           sql(path, "SELECT rank, count(*) FROM layers WHERE name = 'module.head' GROUP BY rank")}
    got["ranks"] = sorted(row[0] for row in sql(path, "SELECT DISTINCT rank FROM processes WHERE rank IS NOT NULL"))
    return first_difference(got, {"calls of 0": 5, "calls of 1": 5, "ranks": ["0", "1"]})


# ---- Keras and JAX ----

def keras(python):
    """On the JAX backend: batches of fit() are compiled, calls of the model are not."""
    path, done = record([python, program("keras_jax.py")], extra={"KERAS_BACKEND": "jax"})
    if done.status != 0:
        return done.describe()
    got = {name: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM slices WHERE kind IN ('nvtx', 'layer') GROUP BY name")}
    want = {"step": 8, "epoch": 2, "evaluate": 1, "predict": 1, "net": 3, "net/first": 3, "net/second": 3, "train": 4,
            "inside": 4}
    wrong = first_difference({key: got.get(key) for key in want}, want)
    steps = [int(row[0]) for row in sql(path, "SELECT \"index\" FROM steps WHERE name = 'train' ORDER BY ts")]
    if steps != [10, 11, 12, 13]:
        return "steps: %s" % steps
    if not sql(path, "SELECT value FROM counters WHERE name = 'JAX backend_compile' AND value > 0"):
        return "no compilations"
    return wrong or ("coverage" if sql(path, "SELECT * FROM coverage") else None)


def keras_elsewhere(python, backend):
    """On the other backends: steps, epochs and calls; layers of PyTorch's are its modules."""
    path, done = record([python, program("keras_jax.py")], extra={"KERAS_BACKEND": backend})
    if done.status != 0:
        return done.describe()
    got = {name: int(count) for name, count in
           sql(path, "SELECT name, count(*) FROM slices WHERE kind IN ('nvtx', 'layer') GROUP BY name")}
    want = {"step": 8, "epoch": 2, "evaluate": 1, "predict": 1}
    want.update({"backward": 8} if backend == "torch" else {"net": 3, "net/first": 3, "net/second": 3})
    wrong = first_difference({key: got.get(key) for key in want}, want)
    return wrong or ("coverage" if sql(path, "SELECT * FROM coverage") else None)


def keras_torch(python):
    return keras_elsewhere(python, "torch")


def keras_tensorflow(python):
    return keras_elsewhere(python, "tensorflow")


def frameworks(tests, variable, module, how):
    wanted = [test for test in tests if len(sys.argv) < 2 or {test.__name__, module} & set(sys.argv[1:])]
    python = python_with(variable, module) if wanted else None
    for test in wanted:
        if python:
            check("%s %s" % (module, test.__name__), test, python)
        else:
            tally.skip("%s %s" % (module, test.__name__), "no %s; %s tools/test_frameworks.sh" % (module, how))


def main():
    pythons = interpreters()
    if not pythons:
        tally.skip("all", "the package is not built (no Python headers?)")
    for version, python in sorted(pythons.items(), key=lambda item: int(item[0].split(".")[1])):
        for test in (api, without, calls, c_calls, another_profile, nesting, limit, same, garbage, heap, no_heap, broken, problems,
                     tasks, task_cost, call_cost, unmeasured, environments, switched_off, slow_recorder, no_extension, namespace):
            if len(sys.argv) < 2 or test.__name__ in sys.argv[1:] or version in sys.argv[1:]:
                check("%s %s" % (version, test.__name__), test, python)
    for python in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.[678].*/bin/python3"))):
        if len(sys.argv) < 2 or "older" in sys.argv[1:]:
            check("%s older" % python.split("/")[-3], older, python)
    frameworks((layers, operators, layer_cost, operator_cost, shapes, compiles, compiles_traced, workers, own, launched), "TORCH_PYTHON", "torch", "NEUROLENS_WITH_TORCH=1")
    frameworks((keras,), "KERAS_PYTHON", "keras", "NEUROLENS_WITH_KERAS=1")
    frameworks((keras_torch,), "KERAS_PYTHON", "torch", "NEUROLENS_WITH_KERAS=1 NEUROLENS_WITH_TORCH=1")
    frameworks((keras_tensorflow,), "TENSORFLOW_PYTHON", "tensorflow", "set TENSORFLOW_PYTHON")
    tally.finish()


if __name__ == "__main__":
    main()
