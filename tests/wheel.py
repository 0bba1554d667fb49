#!/usr/bin/env python3
"""The Python package as users have it: reading profiles, `python -m nlens`, interpreters without the C extension; and the
wheel, when `make wheel` left one in dist/: installed into a fresh virtual environment of every CPython found, without network.

    tests/wheel.py            expected values come from the command's own JSON and from SQLite, not from the package
"""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import zipfile

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch, wait_until

TRACE = os.path.join(FIXTURES, "made_gpu_train.json.gz")
PYTHON_FOLDER = os.path.join(os.path.dirname(PROGRAM), "python")
IMPORT_MS = 50
MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}  # of a wheel; what readelf calls it
LONGEST = "SELECT name, dur FROM kernels ORDER BY dur DESC, name LIMIT 3"
PYENV = os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")  # before the home folder is an empty one
tally = Tally("wheel")

sys.path.insert(0, PYTHON_FOLDER)
os.environ.update(environment(scratch()))
os.environ["NEUROLENS_PROGRAM"] = PROGRAM
import nlens  # noqa: E402


def guarded(name, test, *words):
    try:
        tally.check(name, *test(*words))
    except Exception as wrong:
        tally.fail(name, "%s: %s" % (type(wrong).__name__, wrong))


def raised(kind, status, call, *words):
    """True when the call raises exactly this; else what it did."""
    try:
        found = call(*words)
    except nlens.NeuroLensError as wrong:
        return type(wrong) is kind and wrong.status == status and str(wrong) == wrong.message != "" and \
            wrong.command[0] in (PROGRAM, "libneurolens")
    return found is None


# ---- reading ----

def command_json(words):
    return json.loads(neurolens(words + ["--format", "json"]).stdout)


def reading():
    profile, want = nlens.open(TRACE), command_json(["analyze", TRACE])
    account = command_json(["analyze", TRACE, "--all", "--section", "account"])["result"]["account"]
    return (profile.answer == want["result"]["answer"] and profile.findings == want["result"]["findings"] and
            profile.info == want["profile"] and profile.coverage == want["coverage"]["items"] and
            profile.account == account and len(account) > 3, "differs from the command's JSON")


def rows():
    table = nlens.open(TRACE).table("kernels")
    want = command_json(["sql", TRACE, "SELECT * FROM kernels"])["result"]
    return (len(table) > 200 and not table.truncated and table.columns == [column["name"] for column in want["columns"]] and
            table.units["dur"] == "ns" and table.units["name"] is None and table.column("dur") == [row["dur"] for row in table.dicts()] and
            [list(row) for row in table] == want["rows"], "%r" % table)


def limited():
    table = nlens.open(TRACE).sql("SELECT name FROM kernels", limit=3)
    return len(table) == 3 and table.truncated, "%r" % table


def narrowed():
    profile = nlens.open(TRACE)
    part = profile.window(step=(10, 12))
    both = part.window(gpu=0)
    want = command_json(["analyze", TRACE + "[step=10:12]", "--all", "--section", "kernels"])["result"]["kernels"]
    return (part.section("kernels") == want and want != profile.section("kernels") and both.name.endswith("[step=10:12,gpu=0]") and
            both.section("kernels") == want and profile.window(time=(0, "200ms")).name.endswith("[0ns:200ms]"), part.name)


def errors():
    profile = nlens.open(TRACE)
    broken = os.path.join(scratch(), "broken")
    with open(broken, "w") as file:
        file.write("nothing known\n")
    cases = [(nlens.InputError, 4, nlens.open, "no_such_file"), (nlens.InputError, 4, nlens.open, broken),
             (nlens.UsageError, 2, profile.sql, "SELECT nosuch"), (nlens.UsageError, 2, profile.section, "nosuch"),
             (nlens.UsageError, 2, profile.window(step=(10, 11)).table, "kernels"),
             (nlens.UsageError, 2, profile.export, "nosuch", os.path.join(scratch(), "x"))]
    wrong = [str(case[2:]) for case in cases if raised(*case) is not True]
    os.environ["NEUROLENS_PROGRAM"] = "/nothing/here"
    try:
        nlens.open(TRACE)
        wrong.append("no command")
    except nlens.SurroundingsError:
        pass
    finally:
        os.environ["NEUROLENS_PROGRAM"] = PROGRAM
    return not wrong, wrong


def parameters():
    """Bound queries answer as SQLite's own binding does."""
    from nlens._profile import bind
    base = sqlite3.connect(":memory:")
    values = [None, True, -(1 << 63), (1 << 63) - 1, 0.1, -1e300, "it's", "?:x--", b"\x00\xff", "", 'a"b']
    query = "SELECT %s, '?', \"?\", 'it''s ?' /* ? :x */ -- ?" % ", ".join("?" * len(values))
    plain = base.execute(query.replace('"?"', "'?'"), values).fetchall()
    ours = base.execute(bind(query.replace('"?"', "'?'"), values)).fetchall()
    named = base.execute(bind("SELECT :a, @b, ':a', :a", {"a": "x'y", "b": 2})).fetchall()
    refused = 0
    for query, given in (("SELECT ?", []), ("SELECT ?", [1, 2]), ("SELECT :a", {}), ("SELECT 1", [1]), ("SELECT ?", [1 << 63]),
                         ("SELECT ?", [float("nan")]), ("SELECT ?", ["a\0b"]), ("SELECT ?", [object()])):
        try:
            bind(query, given)
        except nlens.UsageError:
            refused += 1
    return plain == ours and named == [("x'y", 2, ":a", "x'y")] and refused == 8, "%s\n%s\n%s %d" % (plain, ours, named, refused)


def compared():
    answer = nlens.diff(TRACE, TRACE)
    want = command_json(["diff", TRACE, TRACE])
    return answer.status in (0, 3) and answer.result == want["result"] and answer.document["schema"] == want["schema"], answer


def gated():
    words = ["check", TRACE, "--baseline", TRACE]
    done = neurolens(words + ["--format", "json"])
    if done.status == 2:
        return raised(nlens.UsageError, 2, nlens.check, TRACE, TRACE) is True, "no command check, but no UsageError"
    answer = nlens.check(TRACE, baseline=TRACE)
    return answer.status == done.status and answer.passed + answer.regressed + answer.inconclusive == 1, answer


def written():
    profile, folder = nlens.open(TRACE), scratch()
    profile.report(os.path.join(folder, "r.html"))
    profile.export("run.json", os.path.join(folder, "r.json"))
    with open(os.path.join(folder, "r.json")) as file:
        document = json.load(file)
    with open(os.path.join(folder, "r.html")) as file:
        page = file.read()
    return document["schema"].startswith("neurolens.run/") and "<html" in page, "%d" % len(page)


def module():
    done = subprocess.run([sys.executable, "-m", "nlens", "version"], env=dict(os.environ, PYTHONPATH=PYTHON_FOLDER),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode == 0 and done.stdout == neurolens(["version"]).stdout, done.stdout


def no_extension():
    """Without the C extension: imports, decorates and reads; run says once what is missing, the program runs."""
    folder = os.path.join(scratch(), "bare")
    shutil.copytree(os.path.join(PYTHON_FOLDER, "nlens"), os.path.join(folder, "nlens"), ignore=shutil.ignore_patterns("*.so*", "__pycache__"))
    program = ("import nlens\n@nlens.profile_function\ndef f(): return 3\n@nlens.scope('g')\ndef g():\n  yield 1\n"
               "with nlens.step(), nlens.layer('x'), nlens.timed('t') as t: nlens.counter('c', f())\n"
               "print(list(g()), t.seconds > 0, nlens.is_recording(), nlens.open(%r).info['slices'])\n" % TRACE)
    done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, PYTHONPATH=folder), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    bare = done.stdout
    # With the extension there, in an interpreter that says it has no GIL: it would load, and crash.
    free = "import sys; sys.abiflags = 't'; import nlens; print(nlens._capture.__name__)"
    done = subprocess.run([sys.executable, "-c", free], env=dict(os.environ, PYTHONPATH=PYTHON_FOLDER), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return bare == "[1] True False %d\n" % command_json(["info", TRACE])["profile"]["slices"] and done.stdout == "nlens._nocapture\n", bare + done.stdout


def ledgers():
    """Runs of a ledger are what the command lists, and profiles like those of files."""
    folder = os.path.join(scratch(), "kept")
    ledger = nlens.Ledger(folder)
    first = ledger.add(TRACE, tags="base", facts={"batch_size": 32})
    second = ledger.add(os.path.join(FIXTURES, "ort_cpu_mlp.json.gz"), tags=["new", "nightly"])
    ledger.note(first, "a note")
    want = command_json(["ls", "--ledger", folder])["result"]
    run = ledger.open("base")
    query = "SELECT count(*), sum(dur) FROM kernels"
    wrong = [name for name, good in {
        "runs": ledger.runs() == want and [row["id"] for row in want] == [second, first],
        "filters": [row["id"] for row in ledger.runs("batch_size=32")] == [first] and ledger.runs("batch_size=33") == [] and
        [row["id"] for row in ledger.runs(limit=1)] == [second],
        "show": ledger.show(first)["metadata"] == command_json(["show", "--ledger", folder, first])["result"]["metadata"],
        "trend": {row["id"] for row in ledger.trend("timeline.duration_ns")["series"]} == {first, second},
        "answer": run.answer == nlens.open(TRACE).answer and run.section("kernels") == nlens.open(TRACE).section("kernels"),
        "sql": run.sql(query).rows == nlens.open(TRACE).sql(query).rows,
        "window": run.window(step=(10, 12)).section("kernels") == nlens.open(TRACE).window(step=(10, 12)).section("kernels"),
        "no such run": raised(nlens.InputError, 4, ledger.open, "@~9") is True, "no filter": raised(nlens.UsageError, 2, ledger.runs, "nosuch=1") is True,
        "another ledger": nlens.open("@", ledger=folder).name == second}.items() if not good]
    return not wrong, wrong


def settled():
    """A run that was opened by @, @~1 or a tag stays the same run for every question, whatever another process adds."""
    folder = os.path.join(scratch(), "growing")
    ledger = nlens.Ledger(folder)
    other = os.path.join(FIXTURES, "ort_cpu_mlp.json.gz")
    first = ledger.add(TRACE, tags="base")
    opened = {"@": ledger.open("@"), "a tag": ledger.open("base"), "nlens.open": nlens.open("@", ledger=folder),
              "a window": nlens.open("@[step=10:12]", ledger=folder)}
    ledger.add(other, tags="base")
    opened["@~1"] = ledger.open("@~1")
    ledger.add(os.path.join(FIXTURES, "torch_cpu_stack.json.gz"), tags="base")
    want, query = nlens.open(TRACE), "SELECT count(*), sum(dur) FROM kernels"
    part = want.window(step=(10, 12)).section("kernels")
    wrong = [name for name, run in opened.items()
             if not run.name.startswith(first) or run.section("kernels") != (part if name == "a window" else want.section("kernels"))]
    wrong += [name for name, run in opened.items() if name != "a window" and
              (run.answer != want.answer or run.sql(query).rows != want.sql(query).rows or run.sql(query, limit=5).rows != want.sql(query).rows)]
    return not wrong, wrong


def budgets():
    """A budget of memory holds for the command and for the library: an exception, and the process goes on."""
    from nlens._profile import memory_bytes
    sizes = [memory_bytes(text) for text in (None, 5, "512", "1k", "2 MiB", "1.5GB")]
    wrong = [] if sizes == [0, 5, 512, 1024, 2 << 20, 3 << 29] else [sizes]
    try:
        wrong.append(memory_bytes("much"))
    except nlens.UsageError:
        pass
    profile = nlens.open(TRACE, memory="1GiB")
    endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT length(group_concat(printf('%0900d', i))) FROM n"
    small = nlens.open(TRACE, memory="64MiB")
    for name, call in (("the library", lambda: small.sql(endless)), ("the command", lambda: small.sql(endless, limit=5))):
        try:
            call()
            wrong.append(name)
        except nlens.SurroundingsError as error:
            if error.status != 5:
                wrong.append(error.message)
    return not wrong and len(profile.table("kernels")) == len(small.table("kernels")) > 0, wrong


# ---- the manager ----

def managed():
    """What the manager says of two profiles is what the command says."""
    manager = nlens.ProfilerManager()
    manager.open(TRACE, name="a")
    make_ranks()
    ranks = manager.open(os.path.join(scratch(), "ranks"), name="ranks")
    rows = {name: command_json(["analyze", TRACE, "--all", "--section", name])["result"].get(name, []) for name in
            ("layer_times", "memory", "kernels", "breakdown", "idle_causes")}
    joined = {name: command_json(["analyze", ranks.name, "--all", "--section", name])["result"].get(name, []) for name in ("collectives", "overlap")}
    findings = command_json(["analyze", TRACE])["result"]["findings"]
    gpu = manager.gpu("a")
    wrong = [name for name, good in {
        "names": manager.names == ["a", "ranks"] and len(manager) == 2 and list(manager) == manager.names and manager["a"].name == TRACE,
        "layers": manager.layers("a") == rows["layer_times"], "memory": manager.memory("a") == rows["memory"],
        "bottlenecks": manager.bottlenecks("a") == findings and 0 < len(manager.bottlenecks("a", 0.3)) < len(findings),
        "gpu": gpu["kernels"] == rows["kernels"] and gpu["breakdown"] == rows["breakdown"] and gpu["devices"][0]["name"].startswith("NVIDIA A100") and
        gpu["idle_causes"] == rows["idle_causes"],
        "distributed": manager.distributed() == {"ranks": [0, 1], "collectives": joined["collectives"], "overlap": joined["overlap"]},
        "compare": manager.compare("a", "a").result == command_json(["diff", TRACE, TRACE])["result"]}.items() if not good]
    for call in (lambda: manager.layers("nosuch"), lambda: nlens.ProfilerManager().layers()):
        try:
            call()
            wrong.append("unknown name")
        except nlens.UsageError:
            pass
    path = os.path.join(scratch(), "dashboard.json")
    manager.write(path)
    with open(path) as file:
        document = json.load(file)
    one = document["profiles"][0]
    good = one["sections"]["kernels"] == rows["kernels"][:20] and one["findings"] == findings and document["regions"] == [] and \
        [each["name"] for each in document["profiles"]] == ["a", "ranks"]
    return not wrong and good, wrong


def make_ranks():
    folder = os.path.join(scratch(), "ranks")
    os.makedirs(folder, exist_ok=True)
    for rank in range(2):
        shutil.copy(os.path.join(FIXTURES, "torch_cpu_ddp_rank%d.json.gz" % rank), folder)


def regions():
    """Regions of several threads and of themselves are counted each, recorded or not; errors leave them."""
    from concurrent.futures import ThreadPoolExecutor
    manager = nlens.ProfilerManager()

    @manager.profile
    def down(n):
        return n if n == 0 else down(n - 1)

    @manager.region("fails")
    def fails():
        raise KeyError("x")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(down, [4] * 20))
    for _ in range(3):
        try:
            fails()
        except KeyError:
            pass
    refused = 0
    for function in (lambda: (yield), eval("__import__('asyncio').sleep")):
        try:
            manager.region("later")(function)
        except nlens.UsageError:
            refused += 1
    rows = {row["name"]: row for row in manager.regions}
    inner = rows[down.__qualname__]
    return (set(rows) == {down.__qualname__, "fails"} and inner["count"] == 100 and rows["fails"]["count"] == 3 and refused == 2 and
            0 <= inner["min_ns"] <= inner["max_ns"] <= inner["total_ns"]), (rows, refused)


def recorded():
    """A command that is recorded by the manager, with its regions; one that fails."""
    folder = os.path.join(scratch(), "recorded")
    program = ("import nlens\nmanager = nlens.ProfilerManager()\nwith manager:\n  for i in range(3):\n    with nlens.step(), manager.region('inner'): pass\n"
               "with manager.region('outside'): pass\nassert len(manager.regions) == 2\n")
    manager = nlens.ProfilerManager(folder)
    profile = manager.record([sys.executable, "-c", program], name="job", options=["--paused", "--native", "off"])
    steps = profile.sql("SELECT count(*) FROM steps")[0][0]
    inner = dict(profile.sql("SELECT name, count(*) FROM nvtx WHERE name IN ('inner', 'outside') GROUP BY 1"))
    try:
        manager.record([sys.executable, "-c", "import sys; sys.exit('it broke')"], name="bad")
        return False, "no error"
    except nlens.NeuroLensError as wrong:
        said = wrong.message
    return steps == 3 and inner == {"inner": 3} and "it broke" in said and manager.names == ["job"], (steps, inner, said, manager.names)


def many_threads():
    """Questions of eight threads at once are answered as one by one."""
    from concurrent.futures import ThreadPoolExecutor
    profile = nlens.open(TRACE)
    queries = ["SELECT count(*), sum(dur) FROM kernels WHERE ts %% 4 = %d" % part for part in range(4)] * 2
    with ThreadPoolExecutor(8) as pool:
        found = [table[0] for table in pool.map(profile.sql, queries)]
    return found == [profile.sql(query)[0] for query in queries[:4]] * 2, found


def interrupted():
    """Ctrl-C while the command works ends both, at once: 0.2 s of this process's own, whatever the command does with signals."""
    stub = os.path.join(scratch(), "deaf")
    with open(stub, "w") as file:
        file.write("#!/bin/sh\ntrap '' TERM INT\necho $$ > %s/pid.new; mv %s/pid.new %s/pid\nwhile :; do sleep 0.02; done\n" % ((scratch(),) * 3))
    os.chmod(stub, 0o755)
    program = """
import os, signal, sys, threading, time, nlens
signal.signal(signal.SIGINT, signal.default_int_handler)
def press():
    while not os.path.exists(%r + "/pid"): time.sleep(0.01)
    times.append(time.monotonic()); os.kill(os.getpid(), signal.SIGINT)
times = []
threading.Thread(target=press).start()
try:
    nlens.open("x")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - times[0])
""" % scratch()
    took = []
    for _ in range(3):  # a busy machine may delay one
        if os.path.exists(scratch() + "/pid"):
            os.remove(scratch() + "/pid")
        done = subprocess.run([sys.executable, "-c", program], env=dict(os.environ, PYTHONPATH=PYTHON_FOLDER, NEUROLENS_PROGRAM=stub), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        words = done.stdout.split()
        if words[:1] != ["interrupted"]:
            return False, done.stdout
        with open(scratch() + "/pid") as file:
            alive = os.path.exists("/proc/%s" % file.read().strip())
        took.append(float(words[1]))
        if alive:
            return False, "the command goes on"
        if took[-1] < 0.2:
            break
    return min(took) < 0.2, took


PRESSED = """
import os, random, signal, sys, threading, time, nlens
folder, times, most, apart = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
armed = [False]
def on_signal(number, frame):
    if armed[0]: raise KeyboardInterrupt
signal.signal(signal.SIGINT, on_signal)
def presses(count, first):
    while not armed[0]: time.sleep(0)
    time.sleep(first)
    for _ in range(count):
        at.append(time.monotonic()); os.kill(os.getpid(), signal.SIGINT); time.sleep(random.random() * apart)
def ask():
    try:
        armed[0] = True
        nlens.open("x")
    except KeyboardInterrupt:
        return time.monotonic() - at[0]
def end(took=None):
    while True:
        try:
            armed[0] = False
            return took
        except KeyboardInterrupt: pass
def asked():
    took = None
    try: took = ask()
    except KeyboardInterrupt: pass
    return end(took)
random.seed(20)
nlens.Profile
longest = []
for i in range(times):
    at = []
    presser = threading.Thread(target=presses, args=(1 + i % most, random.random() * 0.03))
    presser.start()
    longest.append(asked() or 0.0)
    presser.join()
def left():
    return [pid for pid in os.listdir(folder) if os.path.exists("/proc/" + pid)] + [t.name for t in threading.enumerate() if t.name == "nlens"]
end = time.monotonic() + 10
while left() and time.monotonic() < end: time.sleep(0.01)
print(sorted(longest)[len(longest) // 2], left())
"""


def deaf_program(name):
    """A program that heeds no signal, and the folder in which it leaves its number."""
    program, pids = os.path.join(scratch(), "deaf-" + name), os.path.join(scratch(), "pids-" + name)
    os.makedirs(pids)
    with open(program, "w") as file:
        file.write("#!/bin/sh\ntrap '' TERM INT\n: > %s/$$\nwhile :; do sleep 0.02; done\n" % pids)
    os.chmod(program, 0o755)
    return pids, dict(os.environ, PYTHONPATH=PYTHON_FOLDER, NEUROLENS_PROGRAM=program)


def runs(pid):
    """Whether it is there, and not only waited for by nobody."""
    try:
        with open("/proc/%s/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def end_all(pids):
    """How many there were."""
    for pid in os.listdir(pids):
        try:
            os.kill(int(pid), 9)
        except OSError:
            pass
    return len(os.listdir(pids))


def pressed(most, apart):
    """Ctrl-C at any moment, once or several times, of which each may come while the last is heeded: nothing is left, no process and no thread."""
    pids, env = deaf_program("pressed%d" % most)
    done = subprocess.run([sys.executable, "-c", PRESSED, pids, "60", str(most), str(apart)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env, timeout=120)
    words = done.stdout.split(None, 1)
    return end_all(pids) > 0 and len(words) == 2 and words[1] == "[]\n" and float(words[0]) < 0.2, done.stdout


PRESSED_TO_END = """
import os, signal, sys, threading, time, nlens
signal.signal(signal.SIGINT, signal.default_int_handler)
def press():
    while not os.listdir(sys.argv[1]): time.sleep(0.01)
    for _ in range(int(sys.argv[2])):
        os.kill(os.getpid(), signal.SIGINT); time.sleep(0.01)
threading.Thread(target=press).start()
nlens.open("x")
"""


def pressed_to_the_end():
    """Ctrl-C that nobody catches ends the interpreter, and what it waited for, too, pressed once or again."""
    for presses in (1, 2, 3):
        for attempt in range(5):
            pids, env = deaf_program("end%d-%d" % (presses, attempt))
            done = subprocess.run([sys.executable, "-c", PRESSED_TO_END, pids, str(presses)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env=env, timeout=60)
            gone = wait_until(lambda pids=pids: not any(runs(pid) for pid in os.listdir(pids)), 5)
            if not end_all(pids) or not gone or done.returncode == 0:
                return False, "%d presses: status %d\n%s" % (presses, done.returncode, done.stdout)
    return True, ""


def abandoned_recording():
    """Ctrl-C during manager.record: the program that is recorded ends, too, although it heeds no signal."""
    program, pid_file = os.path.join(scratch(), "deaf.py"), os.path.join(scratch(), "deaf.pid")
    with open(program, "w") as file:
        file.write("import os, signal, time\nfor n in (2, 15): signal.signal(n, signal.SIG_IGN)\n"
                   "open(%r, 'w').write(str(os.getpid())); os.rename(%r, %r)\nwhile True: time.sleep(0.02)\n" % (pid_file + ".new", pid_file + ".new", pid_file))
    text = """
import os, signal, sys, threading, time, nlens
signal.signal(signal.SIGINT, signal.default_int_handler)
def press():
    while not os.path.exists(sys.argv[2]): time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    nlens.ProfilerManager(sys.argv[3]).record([sys.executable, sys.argv[1]], options=["--native", "off"])
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", text, program, pid_file, os.path.join(scratch(), "recordings")], env=dict(os.environ, PYTHONPATH=PYTHON_FOLDER),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    with open(pid_file) as file:
        pid = int(file.read())
    gone = wait_until(lambda: not os.path.exists("/proc/%d" % pid), 2)
    if not gone:
        os.kill(pid, 9)
    return done.stdout == "interrupted\n" and gone, (done.stdout, gone)


def type_checker():
    """mypy as words: this Python's, that of build/venv-integrations, or the program; None without."""
    for path in (os.path.join(ROOT, "build", "venv-integrations", "bin", "python"), sys.executable):
        if os.path.exists(path) and subprocess.run([path, "-c", "import mypy"], stderr=subprocess.DEVNULL).returncode == 0:
            return [path, "-m", "mypy"]
    found = shutil.which("mypy")
    return found and [found]


def typed(checker):
    """mypy --strict on the package; what patches frameworks while they run is left out, and the plug-in where the checker has no pytest."""
    user, rules = os.path.join(scratch(), "user.py"), os.path.join(scratch(), "mypy.ini")
    with open(user, "w") as file:
        file.write("import nlens\nprofile: nlens.Profile = nlens.ProfilerManager().open('x')\nsaid: nlens.TraceHandler = nlens.trace_handler('t')\n"
                   "rows: list[nlens.Table] = [profile.sql('SELECT 1')]\nsent: dict[str, float] = nlens.push(profile, to='openmetrics')\n"
                   "@nlens.profile_function\ndef f(x: int) -> str: return str(x)\ny: str = f(1)\n")
    with open(rules, "w") as file:  # PyTorch is used in one line; reading it takes a minute. Older decorators of pytest have no types
        file.write("[mypy]\nstrict = True\ncache_dir = %s\n[mypy-torch.*]\nignore_missing_imports = True\nfollow_imports = skip\n"
                   "[mypy-nlens.pytest_plugin]\ndisallow_untyped_decorators = False\nwarn_unused_ignores = False\n" % os.path.join(scratch(), "mypy"))

    def run(*words):
        return subprocess.run(checker + ["--config-file", rules, *words], cwd=os.path.join(ROOT, "python"), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)

    files = [path for path in sorted(glob.glob(os.path.join(ROOT, "python", "nlens", "*.py"))) if not re.search(r"_(hooks|jax|keras|torch)\.py$", path)]
    if run("-c", "import pytest").returncode != 0:
        files = [path for path in files if not path.endswith("pytest_plugin.py")]
        tally.skip("mypy --strict on the plug-in of pytest", "mypy sees no pytest")
    told = run(*files, user).stdout
    with open(user, "a") as file:
        file.write("wrong: int = profile.name\n")
    found = run(user).stdout
    return "Success" in told and "Incompatible types in assignment" in found, told + found


# ---- the wheel ----

def interpreters():
    """One CPython of each version from 3.9 on, with and without the GIL: {"3.14t": path}."""
    found = {}
    for path in glob.glob(PYENV) + ["/usr/bin/python3", sys.executable] + glob.glob(os.path.join(ROOT, "build", "pythons", "*", "bin", "python3")):
        done = subprocess.run([path, "-c", "import sys; print('%d.%d%s' % (*sys.version_info[:2], sys.abiflags), sys.version_info >= (3, 9))"],
                              stdout=subprocess.PIPE, text=True) if os.path.exists(path) else None
        if done and done.returncode == 0 and done.stdout.endswith("True\n"):
            found.setdefault(done.stdout.split()[0], path)
    return found


def contents(path):
    """One plain program, everything listed with its digest, licences and bill of what is inside."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        engine = [name for name in names if name.endswith(".data/scripts/neurolens")]
        record = archive.read([name for name in names if name.endswith("/RECORD")][0]).decode()
        bill = json.loads(archive.read([name for name in names if name.endswith(".cdx.json")][0]))
        elf = archive.read(engine[0])[:4] == b"\x7fELF"
    listed = sorted(line.split(",")[0] for line in record.splitlines())
    unlisted = [part["name"] for part in bill["components"] if part["version"] == "unknown"]
    wants = ["nlens/libneurolens-capture.so", "nlens/hook/sitecustomize.py", "nlens/py.typed"]
    return (elf and listed == sorted(names) and not unlisted and all(name in names for name in wants) and
            any(name.endswith("LICENSES-inside.txt") for name in names) and any(name.endswith("/entry_points.txt") for name in names) and os.path.getsize(path) < 8e6,
            "elf %s, unlisted %s, %d bytes" % (elf, unlisted, os.path.getsize(path)))


def needs_glibc(machine, path, folder):
    """What the program links to is glibc alone, not newer than the tag says. readelf, for it reads files of any machine."""
    with zipfile.ZipFile(path) as archive:
        archive.extractall(folder)
    tag = tuple(int(part) for part in re.search(r"manylinux_(\d+)_(\d+)_", path).groups())
    wrong = []
    for name in glob.glob(folder + "/**/*.so", recursive=True) + glob.glob(folder + "/*.data/scripts/neurolens"):
        text = subprocess.run(["readelf", "-dVW", name], stdout=subprocess.PIPE, text=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(\S+)\]", text))
        versions = [tuple(int(part) for part in found.split(".")) for found in re.findall(r"GLIBC_(\d+\.\d+)", text)]
        others = {library for library in needed if not re.match(r"(lib(c|m|dl|pthread|rt)|ld-linux-(x86-64|aarch64))\.so", library)}
        head = subprocess.run(["readelf", "-h", name], stdout=subprocess.PIPE, text=True).stdout
        if others or not versions or max(versions) > tag or MACHINES[machine] not in head:
            wrong.append("%s needs %s, glibc %s" % (name, others, max(versions, default=None)))
    return not wrong, "\n".join(wrong)


def installed(version, path, wheel):
    """All that a user does first, with nothing of this repository on any path."""
    folder = os.path.join(scratch(), "venv" + version)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("NEUROLENS", "PYTHON"))}

    def run(*words):
        done = subprocess.run(words, env=variables, cwd=scratch(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            raise RuntimeError("%s: status %d\n%s" % (" ".join(words), done.returncode, done.stdout))
        return done.stdout

    run(path, "-m", "venv", folder)
    python, command = os.path.join(folder, "bin", "python"), os.path.join(folder, "bin", "neurolens")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel)
    said = run(command, "version")
    if not said.startswith("neurolens") or run(python, "-m", "nlens", "version") != said:
        return False, "version says " + said
    if json.loads(run(command, "analyze", "-q", "-f", "json", TRACE)) != command_json(["analyze", "-q", TRACE]):
        return False, "the wheel's analyze differs from the build's"
    took = min(float(run(python, "-c", "import time; a = time.process_time(); import nlens; print((time.process_time() - a) * 1e3)"))
               for _ in range(5))
    hooked = run(python, "-c", "from importlib.metadata import distribution; print([(e.group, e.name, e.value) for e in distribution('neurolens-profiler').entry_points])")
    if hooked != "[('pytest11', 'nlens', 'nlens.pytest_plugin')]\n":
        return False, "pytest would not find the plug-in: " + hooked
    read = run(python, "-c", "import nlens; p = nlens.open(%r); print(len(p.table('kernels')), nlens._capture.__name__)" % TRACE).split()
    asked = json.loads(run(python, "-c", "import json, nlens; from nlens import _native; print(json.dumps([bool(_native.find()), "
                           "nlens.open(%r).sql(%r).rows]))" % (TRACE, LONGEST)))
    if asked != [True, command_json(["sql", TRACE, LONGEST])["result"]["rows"]]:
        return False, "the wheel's libneurolens answers %r" % asked
    program = os.path.join(scratch(), "steps.py")
    with open(program, "w") as file:
        file.write("import nlens\nfor i in range(7):\n    with nlens.step():\n        with nlens.layer('encoder'):\n            sum(range(1000))\n")
    out = os.path.join(folder, "t.nlt")
    text = run(command, "run", "-o", out, "--", python, program)
    steps = run(python, "-c", "import nlens; p = nlens.open(%r); print(p.sql('SELECT count(*) FROM steps')[0][0], "
                "p.sql(\"SELECT count(*) FROM layers WHERE name = ?\", ['encoder'])[0][0])" % out).split()
    free = version.endswith("t")  # without the GIL: profiles are read, nothing of Python is recorded, and the recording says so
    extension = read[1] == ("nlens._nocapture" if free else "nlens._capture")
    want = ["0", "0"] if free else ["7", "7"]
    if free and "hooks need the GIL" not in text:
        return False, "the recording does not say that hooks need the GIL: " + text
    good = took <= IMPORT_MS and int(read[0]) > 200 and steps == want and extension
    run(python, "-m", "pip", "uninstall", "--quiet", "-y", "neurolens-profiler")
    left = glob.glob(os.path.join(folder, "**", "*neurolens*"), recursive=True) + glob.glob(os.path.join(folder, "**", "nlens"), recursive=True)
    return good and left == [out] * (out in left), "import %.1f ms, %s, steps %s, left %s\n%s" % (took, read, steps, left, text)


def at_once(words, wheel, folder):
    """`uvx` and `pipx run`: the command of the wheel in an environment made for this call, without a network, in an empty home folder."""
    os.makedirs(folder)
    variables = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "PIP_NO_INDEX": "1", "NEUROLENS_LEDGER": os.path.join(folder, "ledger")}
    want = command_json(["analyze", "-q", TRACE])
    said = []
    for call in (["version"], ["analyze", "-q", "-f", "json", TRACE]):
        done = subprocess.run(words + [wheel, "neurolens"] + call, env=variables, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
        said.append(done.stdout if done.returncode == 0 else done.stderr)
    return said[0].startswith("neurolens ") and said[1].startswith("{") and json.loads(said[1]) == want, said


def main():
    for test in (reading, rows, limited, narrowed, errors, parameters, compared, gated, ledgers, settled, budgets, written, module, no_extension, managed, regions, recorded,
                 many_threads, interrupted, abandoned_recording):
        guarded(test.__name__, test)
    guarded("pressed", pressed, 3, 0.03)
    guarded("pressed in quick succession", pressed, 6, 0.0003)
    guarded("pressed to the end", pressed_to_the_end)
    checker = type_checker()
    if checker:
        guarded("mypy --strict", typed, checker)
    else:
        tally.skip("mypy --strict", "no mypy; apt-get install mypy")
    wheels = {name: glob.glob(os.path.join(ROOT, "dist", "neurolens_profiler-*_%s.whl" % name)) for name in MACHINES}
    for name, paths in wheels.items():
        if len(paths) == 1:
            guarded("contents of the wheel for " + name, contents, paths[0])
            guarded("what the wheel for %s links to" % name, needs_glibc, name, paths[0], os.path.join(scratch(), "unpacked-" + name))
        else:
            tally.skip("the wheel for " + name, "no dist/neurolens_profiler-*_%s.whl; make wheel MACHINE=%s" % (name, name))
    paths = wheels.get(os.uname().machine, [])
    if len(paths) != 1:
        return tally.finish()
    for name, words in (("uvx", ["--offline", "--no-index", "--from"]), ("pipx", ["run", "--spec"])):
        tool = shutil.which(name) or shutil.which(name, path=os.path.join(ROOT, "build", "wheel-tools", "bin"))
        if tool:
            guarded("the wheel by " + name, at_once, [tool] + words, paths[0], os.path.join(scratch(), "home-" + name))
        else:
            tally.skip(name, "not installed; make wheel puts it into build/wheel-tools")
    for version, path in sorted(interpreters().items(), key=lambda row: (len(row[0]), row[0])):
        guarded("the wheel on CPython " + version, installed, version, path, paths[0])
    return tally.finish()


main()
