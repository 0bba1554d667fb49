#!/usr/bin/env python3
"""libneurolens from Python and C: the same answers as the command, for every table; Arrow's consumers; Ctrl-C."""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch

BUILD = os.path.dirname(PROGRAM)
LIBRARY = os.path.join(BUILD, "src", "engine", "libneurolens.so.0")
REAL = os.environ.get("INTEGRATIONS_PYTHON") or os.path.join(ROOT, "build", "venv-integrations", "bin", "python")
FILES = [os.path.join(FIXTURES, name) for name in ("made_gpu_train.json.gz", "jax_cpu.xplane.pb", "ort_cpu_mlp.json.gz")]
sys.path.insert(0, os.path.join(BUILD, "python"))
os.environ["NEUROLENS_LIBRARY"] = LIBRARY
os.environ["NEUROLENS_PROGRAM"] = PROGRAM
os.environ["NEUROLENS_LEDGER"] = os.path.join(scratch(), "ledger")
tally = Tally("engine")

CONSUMERS = """
import sys, nlens
table = nlens.open(sys.argv[1]).sql("SELECT name, dur, NULL AS void, CASE WHEN dur % 2 THEN dur / 2.0 END AS half FROM slices")
want = [sum(table.column("dur")), len(table), sum(value is None for value in table.column("half"))]
try:
    name = sys.argv[2]
    if name == "pyarrow":
        import pyarrow
        found = pyarrow.table(table)
        got = [sum(found["dur"].to_pylist()), found.num_rows, found["half"].null_count]
        assert found.to_pylist() == table.dicts() and found.schema.field("dur").metadata == {b"unit": b"ns"}
        found.validate(full=True)
    elif name == "polars":
        import polars
        found = polars.DataFrame(table)
        got = [found["dur"].sum(), len(found), found["half"].null_count()]
        assert found.rows() == table.rows
    elif name == "duckdb":
        import duckdb
        got = list(duckdb.sql("SELECT sum(dur)::BIGINT, count(*), count(*) - count(half) FROM \\"table\\"").fetchall()[0])
    else:
        import pandas
        found = table.to_pandas()
        got = [int(found["dur"].sum()), len(found), int(found["half"].isna().sum())]
except ImportError as wrong:
    print("missing", wrong)
else:
    print(got == want, got, want)
"""

STOPPED = """
import sys, nlens
from nlens import _native
profile = nlens.open(sys.argv[1])
profile.sql("SELECT 1")
library, order = _native.find(), []
real_sql, real_free = library.nlens_sql, library.nlens_task_free

def sql(*words):
    answer = real_sql(*words)
    order.append("the query ended")
    return answer

def free(task):
    order.append("its task was freed")
    real_free(task)

library.nlens_sql, library.nlens_task_free = sql, free
print("asking", flush=True)
try:
    profile.sql("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n")
except KeyboardInterrupt:
    print("stopped", order, flush=True)
print(profile.sql("SELECT 2").rows, flush=True)
"""


def reports(library):
    """`nlens_report` writes what the command prints."""
    library.nlens_report.restype = ctypes.c_void_p
    library.nlens_report.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p,
                                     ctypes.c_void_p]
    for path in FILES:
        profile = _native.Profile(library, [path])
        for what, section, form in (("analyze", None, "json"), ("info", None, "json"), ("analyze", "kernels", "csv"), ("analyze", None, "md")):
            text = library.nlens_report(profile._opened.handle, what.encode(), section and section.encode(), form.encode(), None, None, None)
            ours = ctypes.string_at(text).decode("utf-8", "replace")
            library.nlens_free(ctypes.c_void_p(text))
            theirs = neurolens([what, path, "--format", form] + (["--section", section] if section else [])).stdout
            tally.check("%s of %s as %s, as the command prints it" % (section or what, os.path.basename(path), form), ours == theirs,
                        "\n".join(a + " | " + b for a, b in zip(ours.splitlines(), theirs.splitlines()) if a != b)[:600])


def windows(library):
    """A window's reports are those of the command with brackets, also of a window of a window; what a profile is asked later is whole."""
    library.nlens_window.restype = ctypes.c_void_p
    library.nlens_window.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    profile = _native.Profile(library, [FILES[0]])
    outer = library.nlens_window(profile._opened.handle, b"step=10:13", None)
    inner = library.nlens_window(outer, b"step=11:20", None)
    for handle, words in ((outer, "[step=10:13]"), (inner, "[step=10:13,step=11:20]"), (inner, "[step=11:13]"), (profile._opened.handle, "")):
        for section, form in (("kernels", "json"), ("account", "csv")) + ((None, "text"),) * (words != "[step=11:13]"):
            text = library.nlens_report(handle, b"analyze", section and section.encode(), form.encode(), None, None, None)
            ours = ctypes.string_at(text).decode("utf-8", "replace")
            library.nlens_free(ctypes.c_void_p(text))
            theirs = neurolens(["analyze", FILES[0] + words, "--format", form] + (["--section", section] if section else [])).stdout
            if words == "[step=11:13]":  # the same part by other words
                ours, theirs = ours.split('"result"')[-1], theirs.split('"result"')[-1]
            tally.check("%s of %s as %s" % (section or "the answer", words or "the whole", form), ours == theirs,
                        "\n".join(a + " | " + b for a, b in zip(ours.splitlines(), theirs.splitlines()) if a != b)[:600])
    for handle in (outer, inner):
        library.nlens_close(ctypes.c_void_p(handle))


def tables(nlens):
    """Every table of SQL, every cell."""
    for path in FILES:
        names = [row[0] for row in nlens.open(path).sql("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").rows]
        profile, wrong, rows = nlens.open(path), [], 0
        for name in names:
            ours = profile.table(name)
            theirs = profile.table(name, limit=1 << 40)  # a limit: by the command
            rows += len(theirs)
            if ours.columns != theirs.columns or ours.units != theirs.units or ours.rows != theirs.rows or len(ours) != len(theirs):
                wrong.append(name)
        tally.check("%d tables of %s, %d rows, as the command has them" % (len(names), os.path.basename(path), rows),
                    len(names) > 40 and rows > 100 and not wrong, wrong)


def errors(nlens):
    for name, kind, status, ask in (
            ("an unknown column", nlens.UsageError, 2, lambda: nlens.open(FILES[0]).sql("SELECT nme FROM kernels")),
            ("no profile", nlens.InputError, 4, lambda: nlens.open(os.path.join(FIXTURES, "README.md")).sql("SELECT 1"))):
        try:
            ask()
            tally.fail(name, "no error")
        except kind as wrong:
            tally.check(name, wrong.status == status, wrong)
    table = nlens.open(FILES[0]).sql("SELECT 1", limit=5)
    try:
        table.__arrow_c_stream__()
        tally.fail("the command's answers have no stream", "one was made")
    except nlens.UsageError:
        tally.ok("the command's answers have no stream")


def copies(nlens):
    """Tables and profiles can be copied and sent to other processes."""
    import copy
    import pickle
    profile = nlens.open(FILES[0])
    table = profile.sql("SELECT name, dur FROM kernels ORDER BY dur DESC LIMIT 3")
    again, other = pickle.loads(pickle.dumps(table)), pickle.loads(pickle.dumps(profile))
    tally.check("tables and profiles are pickled and copied", again.rows == table.rows == copy.deepcopy(table).rows and len(again) == 3 and
                other.sql("SELECT count(*) FROM kernels").rows == profile.sql("SELECT count(*) FROM kernels").rows, again)
    try:
        profile.sql("SELECT 5 AS x\0 garbage")
        tally.fail("a NUL in a query", "no error")
    except nlens.UsageError as wrong:
        tally.check("a NUL in a query", "NUL" in str(wrong), wrong)


GERMAN = """
import locale, sys, nlens
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.localeconv()["decimal_point"] == ","
profile = nlens.open(sys.argv[1])
print(profile.sql("SELECT value FROM counters ORDER BY 1").rows, profile.sql("SELECT 0.5 UNION ALL SELECT 'x'").rows)
"""


def languages():
    """A program that speaks German writes 0,5: the library does not."""
    folder = os.path.join(scratch(), "locales")
    os.makedirs(folder)
    made = shutil.which("localedef") and subprocess.run(["localedef", "-f", "UTF-8", "-i", "de_DE", os.path.join(folder, "de_DE.UTF-8")],
                                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if not os.path.exists(os.path.join(folder, "de_DE.UTF-8", "LC_NUMERIC")):
        tally.skip("numbers in another language", "no localedef, or no source of de_DE: %s" % (made and made.stdout.decode()[-100:]))
        return
    path = os.path.join(scratch(), "halves.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"traceEvents": [{"ph": "C", "name": "load", "pid": 1, "ts": i, "args": {"value": 0.5 + i}} for i in range(3)] +
                   [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0.25, "dur": 1.5}]}))
    env = dict(environment(scratch()), PYTHONPATH=os.path.join(BUILD, "python"), NEUROLENS_LIBRARY=LIBRARY, NEUROLENS_PROGRAM=PROGRAM,
               LOCPATH=folder)
    done = subprocess.run([sys.executable, "-c", GERMAN, path], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    tally.check("numbers in another language", done.stdout == "[(0.5,), (1.5,), (2.5,)] [('0.5',), ('x',)]\n", done.stdout)


def streams(nlens):
    """Capsules that nobody takes give their memory back; so do answers, whatever goes first."""
    profile = nlens.open(FILES[0])
    capsules = [profile.sql("SELECT * FROM slices").__arrow_c_stream__() for _ in range(20)]
    held = len(_native._handed)
    del capsules
    tally.check("capsules that nobody took are gone", held == 20 and not _native._handed, (held, _native._handed))


def consumers():
    program = os.path.join(scratch(), "consumers.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(CONSUMERS)
    env = dict(os.environ, PYTHONPATH=os.path.join(BUILD, "python"))
    for name in ("pyarrow", "polars", "duckdb", "pandas"):
        if not os.path.exists(REAL):
            tally.skip(name, "no build/venv-integrations; NEUROLENS_WITH_INTEGRATIONS=1 tools/test_frameworks.sh")
            continue
        done = subprocess.run([REAL, program, FILES[0], name], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.stdout.startswith("missing"):
            tally.skip(name, done.stdout.strip())
        else:
            tally.check(name + " takes an answer", done.returncode == 0 and done.stdout.startswith("True"), done.stdout)


def stopped():
    env = dict(environment(scratch()), PYTHONPATH=os.path.join(BUILD, "python"), NEUROLENS_LIBRARY=LIBRARY, NEUROLENS_PROGRAM=PROGRAM)
    process = subprocess.Popen([sys.executable, "-c", STOPPED, FILES[0]], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[0]
    tally.check("Ctrl-C ends a query, and the profile can be asked again", rest == "stopped ['the query ended', 'its task was freed']\n[(2,)]\n", rest)


PRESSED_TWICE = """
import os, signal, sys, threading, time, nlens
from nlens import _native
profile = nlens.open(sys.argv[1])
profile.sql("SELECT 1")
library, tasks, freed = _native.find(), [], []
real_new, real_free = library.nlens_task_new, library.nlens_task_free

def new():
    tasks.append(real_new())
    return tasks[-1]

def free(task):
    freed.append(task)
    real_free(task)

library.nlens_task_new, library.nlens_task_free = new, free
signal.signal(signal.SIGINT, signal.default_int_handler)
# The second is one function of SQLite's, which looks at nothing until it is done.
endless = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
deaf = "SELECT replace(hex(zeroblob(%d)), '0', 'ab') LIKE '%%b%%a%%b%%a%%b%%c%%a'" % int(sys.argv[2])
took = {endless: [], deaf: []}
for query in (endless, deaf) * 3:
    at = []
    def press(times):
        time.sleep(0.2)
        for _ in range(times):
            at.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.001)
    presser = threading.Thread(target=press, args=(2,))
    presser.start()
    try:
        try:
            profile.sql(query)
        finally:
            seen = time.monotonic()
            while presser.is_alive():
                try: presser.join()
                except KeyboardInterrupt: pass
    except KeyboardInterrupt:
        took[query].append(seen - at[0])
end = time.monotonic() + 60
while time.monotonic() < end and any(thread.name == "nlens" for thread in threading.enumerate()): time.sleep(0.01)
print(len(took[endless]), min(took[endless]) < 0.2, min(took[deaf], default=0) < 0.25, sorted(tasks) == sorted(freed), profile.sql("SELECT 2").rows)
"""


def stopped_twice():
    """A second Ctrl-C while the first is heeded leaks no task; what looks at nothing does not keep the caller."""
    env = dict(environment(scratch()), PYTHONPATH=os.path.join(BUILD, "python"), NEUROLENS_LIBRARY=LIBRARY, NEUROLENS_PROGRAM=PROGRAM)
    done = subprocess.run([sys.executable, "-c", PRESSED_TWICE, FILES[0], "20000000"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    tally.check("Ctrl-C twice, and in one function of SQLite's", done.stdout == "3 True True True [(2,)]\n", done.stdout)


def compiled():
    """examples/c/read.c against the header and the library; what pkg-config and CMake are told."""
    if not shutil.which("cc"):
        tally.skip("a program in C", "no cc")
        return
    program, folder = os.path.join(scratch(), "read"), os.path.dirname(LIBRARY)
    done = subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-I" + os.path.join(ROOT, "include"),
                           os.path.join(ROOT, "examples", "c", "read.c"), "-o", program, LIBRARY, "-Wl,-rpath," + folder],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not tally.check("c/read.c compiles", done.returncode == 0, done.stdout):
        return
    done = subprocess.run([program, FILES[0]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = json.loads(neurolens(["sql", FILES[0], "SELECT name, sum(dur) FROM slices WHERE name IS NOT NULL GROUP BY name ORDER BY 2 DESC, 1 "
                                 "LIMIT 5", "--format", "json"]).stdout)["result"]["rows"]
    want = ["%12.3f ms  %s" % (total / 1e6, name) for name, total in rows]
    tally.check("c/read.c prints what the command finds", done.returncode == 0 and done.stdout.splitlines()[-5:] == want, done.stdout)
    done = subprocess.run([program, os.path.join(FIXTURES, "README.md")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    tally.check("... and an error in one line", done.returncode == 4 and done.stderr.count("\n") == 1, done.stderr)
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], stdout=subprocess.PIPE, text=True).stdout.split("\n")
    names = [line.split()[2] for line in symbols if line]
    tally.check("only versioned names of the header are seen", len(names) > 15 and
                all(name == "NEUROLENS_1" or (name.startswith("nlens_") and name.endswith("@@NEUROLENS_1")) for name in names), names)
    with open(os.path.join(BUILD, "meson-private", "neurolens-engine.pc"), encoding="utf-8") as file:
        text = file.read()
    tally.check("pkg-config is told", "-lneurolens" in text and "Cflags: -I${includedir}" in text, text)


def versions():
    """find_package takes this version and older ones of its major."""
    if not shutil.which("cmake"):
        tally.skip("versions of the CMake package", "no cmake")
        return
    asked = {"": True, "0": True, "0.1": True, "0.1.0": True, "0.1.0 EXACT": True, "0.0.9": True, "0.1.1": False, "0.2": False, "1.0": False,
             "0.0.9 EXACT": False, "0.1...0.3": True, "0.0.1...<0.1.0": False, "0.0.1...0.0.9": False}
    folder = os.path.join(scratch(), "cmake")
    os.makedirs(folder)
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.19)\nproject(asks NONE)\nset_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)\n")
        for words in asked:
            file.write('set(neurolens_DIR "%s" CACHE PATH "" FORCE)\n' % os.path.join(BUILD, "src", "engine"))
            file.write('find_package(neurolens %s CONFIG QUIET)\nmessage("[%s] ${neurolens_FOUND}")\n' % (words, words))
            file.write("unset(neurolens_FOUND)\n")
    done = subprocess.run(["cmake", "-S", folder, "-B", os.path.join(folder, "build")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)
    got = {words: "[%s] 1" % words in done.stdout.splitlines() for words in asked}
    tally.check("find_package takes the versions it should", done.returncode == 0 and got == asked, done.stdout)


if not os.path.exists(LIBRARY):
    tally.skip("all of it", "no library beside the program")
elif "build-asan" in LIBRARY:
    tally.skip("all of it", "a sanitizer's library cannot be loaded by Python; test_engine runs there")
else:
    import nlens
    from nlens import _native
    found = _native.find()
    if tally.check("Python finds the library", found is not None):
        reports(found)
        windows(found)
        tables(nlens)
        errors(nlens)
        streams(nlens)
        copies(nlens)
    consumers()
    languages()
    stopped()
    stopped_twice()
    compiled()
    versions()
tally.finish()
