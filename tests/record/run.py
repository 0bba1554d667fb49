#!/usr/bin/env python3
"""Recording: programs of tests/record are compiled and run under `neurolens run`; what is found must be what they
did, to the event, whatever happens to them or to the recorder."""
import csv
import io
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import PROGRAM, ROOT, TESTS, Noise, Tally, calmly, environment, forked, least, neurolens, scratch  # noqa: E402

FLAGS = {"static.c": ["-static"], "plugin.c": ["-shared", "-fPIC"],
         "nvmlmock.c": ["-shared", "-fPIC"]}
SOURCES = os.path.join(TESTS, "record")
tally = Tally("record")
random.seed(7)


COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
INCLUDE = os.path.join(ROOT, "include")


def build():
    """Compiles the programs; False when there is no compiler."""
    if not COMPILER:
        return False
    for name in sorted(os.listdir(SOURCES)):
        if name.endswith(".c") and not name.startswith(("mock_", "rocm_")):
            subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-I", INCLUDE, "-o",
                            program(name[:-2]), os.path.join(SOURCES, name), "-lpthread", "-ldl"] +
                           FLAGS.get(name, []), check=True)
    return True


def program(name):
    return os.path.join(scratch(), name)


def sql(path, query, timeout=60):
    done = forked(["sql", "--no-cache", "--absolute", "--format", "csv", path, query], timeout=timeout)
    if done.status != 0:
        raise AssertionError(done.describe())
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


def numbers(path, *queries):
    """The number that each says, 0 for none; asked at once, as most of the time goes into loading the recording."""
    return [int(value) if value else 0 for value in sql(path, "SELECT " + ", ".join("(%s)" % query for query in queries))[0]]


def number(path, query):
    return numbers(path, query)[0]


def coverage(path):
    return {row[0]: int(row[1]) for row in
            sql(path, "SELECT item, sum(count) FROM coverage GROUP BY item")}


def dropped(path):
    return number(path, DROPPED)


DROPPED = "SELECT sum(count) FROM coverage WHERE item LIKE 'dropped: events%'"

# What cannot be said of a sample of machine code that fell into a library without symbols is the matter of native/run.py.
UNSURE = "SELECT count(*) FROM coverage WHERE item NOT LIKE 'machine code %' AND item NOT LIKE 'cut: call stacks %'"


class Run:
    """One `neurolens run`, its recording at .path."""
    numbers = itertools.count(1)

    def __init__(self, words, options=(), timeout=120, **more):
        self.path = os.path.join(scratch(), "r%d.nlt" % next(Run.numbers))
        self.done = neurolens(["run", "-o", self.path] + list(options) + ["--"] + list(words),
                              timeout=timeout, **more)

    def remove(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        shutil.rmtree(self.path + ".parts", True)


def check(name, test):
    only = [word for word in sys.argv[1:] if not word.startswith("-")]
    if only and not any(word in name for word in only):
        return
    try:
        problem = calmly(test)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


def expect(run, status=0, **queries):
    """First difference between what is asked for and what is there, or None."""
    if run.done.status != status:
        return run.done.describe()
    found = numbers(run.path, *(query for query, _ in queries.values())) if queries else []
    for (what, (_, value)), got in zip(queries.items(), found):
        if got != value:
            return "%s: %s, want %s\n%s" % (what, got, value, run.done.describe())
    return None


NAMED = "SELECT count(*) FROM slices WHERE name = '%s'"


# ---- what is recorded ----

def scopes():
    run = Run([program("scopes"), "3", "1000"])
    wrong = expect(
        run,
        layers=("SELECT count(*) FROM layers", 3000),
        leaves=(NAMED % "leaf", 3000),
        values=("SELECT count(*) FROM counters WHERE name = 'round'", 3000),
        sums=("SELECT sum(value) FROM counters WHERE name = 'round'", 3 * 999 * 1000 // 2),
        workers=("SELECT count(*) FROM threads WHERE name = 'worker'", 3),
        steps=("SELECT count(*) + sum(\"index\") FROM steps", 6),
        marks=("SELECT count(*) FROM nvtx n JOIN slices s ON s.id = n.slice "
               "WHERE s.name = 'mark' AND n.category = 'kind' AND n.style = 'mark'", 3),
        flows=("SELECT count(*) FROM flows f JOIN slices d ON d.id = f.dst WHERE d.name = 'target'", 3),
        ranges=("SELECT count(*) FROM slices s JOIN lanes l ON l.id = s.lane "
                "WHERE s.name = 'range' AND l.name = 'lane'", 1),
        inside=("SELECT count(*) FROM slices s JOIN slices p ON p.ts <= s.ts AND p.ts + p.dur >= s.ts + s.dur "
                "AND p.process = s.process AND p.lane = s.lane WHERE s.name = 'leaf' AND p.name = 'layer'", 3000),
        unsure=(UNSURE, 0))
    run.remove()
    return wrong


def times():
    """Both ends of a scope, against the program's own readings around them."""
    worst = 0
    for _ in range(5):
        run = Run([program("scopes")])
        before, after, end_before, end_after = map(int, run.done.stdout.split())
        row = sql(run.path, "SELECT ts, ts + dur FROM slices WHERE name = 'all'")[0]
        begin, end = int(row[0]), int(row[1])
        worst = max(worst, before - begin, begin - after, end_before - end, end - end_after)
        run.remove()
    return None if worst <= 200 else "off by %d ns" % worst


def compiled_away():
    """With NEUROLENS_DISABLE: every call is there and does nothing."""
    with open(os.path.join(INCLUDE, "neurolens.h"), encoding="utf-8") as file:
        enabled, _, rest = file.read().partition("#else /* compiled away */")
    halves = [{name: re.sub(r"\s+", " ", words) for name, words in re.findall(r"^static inline \w+ (nl_\w+)\(([^)]*)\)\n\{", half, re.M)}
              for half in (enabled, rest.partition("#endif")[0])]
    asks = {"nl_recorder", "nl_library"}  # what the calls themselves ask
    public = {name: words for name, words in halves[0].items() if not name.endswith("_") and name not in asks}
    if len(public) < 13 or public != halves[1]:
        return "enabled %s\ncompiled away %s" % (sorted(public.items()), sorted(halves[1].items()))
    for name, words in (("scopes", ["2", "10"]), ("marks", ["10", "threads=50", "steps=3"])):
        path = program(name + "_away")
        subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-DNEUROLENS_DISABLE", "-I", INCLUDE, "-o", path,
                        os.path.join(SOURCES, name + ".c"), "-lpthread"], check=True)
        run = Run([path] + words)
        wrong = expect(run, slices=("SELECT count(*) FROM nvtx", 0), layers=("SELECT count(*) FROM layers", 0),
                       counters=("SELECT count(*) FROM counters WHERE name = 'round'", 0), steps=("SELECT count(*) FROM steps", 0))
        run.remove()
        if wrong:
            return "%s: %s" % (name, wrong)
    return None


def nvtx():
    run = Run([program("nvtx")])
    wrong = expect(
        run,
        batches=("SELECT count(*) FROM nvtx WHERE name LIKE 'batch %' AND style = 'push_pop'", 200),
        ticks=("SELECT count(*) FROM nvtx WHERE name = 'tick' AND style = 'mark'", 200),
        domain=("SELECT count(*) FROM nvtx WHERE name = 'registered' AND domain = 'my.domain' AND "
                "category = 'seven' AND color = 4278255360 AND payload = '-42'", 1),
        plain=("SELECT count(*) FROM nvtx WHERE name = 'plain' AND domain IS NULL AND category = '9' AND "
               "payload = '0.5'", 1),
        wide=("SELECT count(*) FROM nvtx WHERE name = 'wide \u00e9\u4e2d\U0001f600'", 1),
        across=("SELECT count(*) FROM nvtx WHERE name = 'across' AND style = 'start_end' AND dur > 0", 1),
        crossing=("SELECT count(*) FROM nvtx n JOIN slices s ON s.id = n.slice JOIN nvtx o ON o.name = 'main' "
                  "WHERE n.name = 'crossing' AND s.depth = 1 AND n.ts >= o.ts AND n.ts + n.dur <= o.ts + o.dur", 1),
        unsure=(UNSURE, 0))
    run.remove()
    return wrong


def not_recording():
    for name, words in (("scopes", []), ("marks", ["10"])):
        done = subprocess.run([program(name)] + words, stdout=subprocess.DEVNULL, timeout=20)
        if done.returncode != 0:
            return "%s ends with %d by itself" % (name, done.returncode)
    return None


# ---- many threads and processes ----

def threads():
    run = Run([program("marks"), "0", "threads=10000"], ["--switches", "on"])
    wrong = expect(run, marks=(NAMED % "thread", 10000), dropped=(UNSURE, 0))
    run.remove()
    return wrong


def forks():
    run = Run([program("marks"), "1", "forks=300"])
    wrong = expect(run, children=(NAMED % "child", 300), grandchildren=(NAMED % "grandchild", 30),
                   processes=("SELECT count(DISTINCT process) FROM slices", 331),
                   parents=(NAMED % "mark", 1))
    run.remove()
    return wrong


def execs():
    run = Run([program("marks"), "0", "exec=20"])
    wrong = expect(run, marks=(NAMED % "exec", 20), pids=("SELECT count(DISTINCT process) FROM slices", 1),
                   parts=("SELECT count(*) FROM sources", 20))
    run.remove()
    return wrong


def descriptor_executed():
    """A program executed by a descriptor that is closed thereby: the path that the kernel tells is gone."""
    code = "import os, sys; os.execve(os.open(sys.argv[1], os.O_RDONLY | os.O_CLOEXEC), sys.argv[1:], os.environ)"
    run = Run([sys.executable, "-SI", "-c", code, program("marks"), "1"], ["--python", "off"])
    wrong = expect(run, marks=(NAMED % "mark", 1), named=("SELECT count(*) FROM processes WHERE name = 'marks'", 1))
    names = [row[0] for row in sql(run.path, "SELECT name FROM processes")]
    run.remove()
    return wrong or ("processes %s" % names if any(name.isdigit() for name in names) else None)


def ranks():
    run = Run([program("marks"), "1"], extra={"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8"})
    wrong = expect(run, rank=("SELECT rank FROM processes", 3),
                   world=("SELECT value FROM metadata WHERE key = 'world size'", 8))
    run.remove()
    return wrong


# ---- the program is not disturbed ----

def statuses():
    for words, status in ((["exit=0"], 0), (["exit=41"], 41), (["exit=255"], 255), (["kill=9"], -9),
                          (["kill=15"], -15), (["kill=11"], -11)):
        run = Run([program("marks"), "5"] + words)
        wrong = expect(run, status, marks=(NAMED % "mark", 5))
        run.remove()
        if wrong:
            return "%s: %s" % (words, wrong)
    path = os.path.join(scratch(), "ignored.nlt")
    ignoring = subprocess.run([PROGRAM, "run", "-q", "-o", path, "--", program("marks"), "5", "exit=41"],
                              env=environment(scratch()), timeout=30,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)).returncode
    if ignoring != 41:
        return "status %d where SIGCHLD is ignored" % ignoring
    for words, status in ((["/nonexistent/program"], 127), ([SOURCES], 126)):
        run = Run(words)
        if run.done.status != status or os.path.exists(run.path + ".parts"):
            return "%s: %s" % (words, run.done.describe())
    return None


def nobody_reads():
    """The report goes to a closed pipe: the status is still the program's, and nothing is left behind."""
    path = os.path.join(scratch(), "unread.nlt")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([PROGRAM, "run", "-o", path, "--", program("marks"), "3", "exit=9"],
                          env=environment(scratch()), stderr=write_end, timeout=30)
    os.close(write_end)
    if done.returncode != 9 or os.path.exists(path + ".parts"):
        return "status %d" % done.returncode
    return None if number(path, NAMED % "mark") == 3 else "marks are missing"


def signals():
    """SIGTERM reaches the program, which ends in its own way."""
    path = os.path.join(scratch(), "term.nlt")
    child = subprocess.Popen([PROGRAM, "run", "-q", "-o", path, "--", program("marks"), "7", "term"],
                             env=environment(scratch()), stdout=subprocess.PIPE)
    child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    status = child.wait(20)
    if status != 5:
        return "status %d" % status
    return None if number(path, NAMED % "mark") == 7 else "marks are missing"


def signal_mask():
    """What is blocked for neurolens is blocked for the program, and nothing else."""
    for blocked in ((), (signal.SIGUSR1, signal.SIGPIPE)):
        path = os.path.join(scratch(), "mask.nlt")
        done = subprocess.run([PROGRAM, "run", "-q", "-o", path, "--", "grep", "SigBlk", "/proc/self/status"],
                              env=environment(scratch()), stdout=subprocess.PIPE, timeout=30,
                              preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, blocked))
        os.unlink(path)
        if int(done.stdout.split()[1], 16) != sum(1 << (number - 1) for number in blocked):
            return "%s: %s" % (blocked, done.stdout)
    return None


def can_unshare():
    return subprocess.run(["unshare", "-pf", "true"], stderr=subprocess.DEVNULL).returncode == 0 \
        if shutil.which("unshare") else False


def pid_namespace():
    """A process whose number means nobody outside: everything is recorded, nothing read from another's /proc."""
    absent = next(pid for pid in range(50, 30000) if not os.path.exists("/proc/%d" % pid))
    words = "i=0; while [ $i -lt %d ]; do i=$((i+1)); env -u LD_PRELOAD true; done; %s 300 alarms=300; exit 6"
    run = Run(["unshare", "-pf", "sh", "-c", words % (absent - 2, program("marks"))])
    pids = [int(row[0]) for row in sql(run.path, "SELECT pid FROM processes WHERE name = 'marks'")]
    values = number(run.path, "SELECT count(*) FROM counters c JOIN lanes l ON l.id = c.lane WHERE l.pid = %d" % absent)
    cover = number(run.path, UNSURE)
    wrong = expect(run, 6, marks=(NAMED % "mark", 300))
    span = number(run.path, "SELECT max(ts) - min(ts) FROM slices WHERE name = 'tick'")
    run.remove()
    if not wrong and span < 200e6:
        wrong = "ticks of only %d ns of 300 ms" % span
    if wrong or pids != [absent] or values or cover:
        return wrong or "processes %s, want %d; %d values; %s" % (pids, absent, values, cover)
    return "told as alive: %s" % run.done.stderr if "still ran" in run.done.stderr else None


def few_descriptors():
    """More processes at once than the recorder has descriptors for: all of each is recorded."""
    path = os.path.join(scratch(), "few.nlt")
    words = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do %s 1 alarms=300 >/dev/null & done; wait"
    done = subprocess.run([PROGRAM, "run", "-q", "-o", path, "--sample-rate", "0", "--switches", "off", "--", "sh", "-c",
                           words % program("marks")],
                          env=environment(scratch()), timeout=60,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24)))
    spans = [int(row[0]) for row in sql(path, "SELECT max(s.ts) - min(s.ts) FROM slices s JOIN lanes l ON l.id = s.lane "
                                              "WHERE s.name = 'tick' GROUP BY l.pid")]
    cover = coverage(path)
    os.unlink(path)
    if done.returncode or len(spans) != 20 or min(spans) < 200e6 or cover:
        return "status %d, %s of 300 ms, %s" % (done.returncode, spans, cover)
    return None


def empty_processes():
    """Processes that record nothing share a line of the files; each is still a source and a process."""
    run = Run(["sh", "-c", "%s 3 & wait; for i in 1 2 3 4 5 6 7 8 9; do cat /dev/null; done; exit 4" % program("marks")],
              ["--sample-rate", "0", "--switches", "off"])
    answer = json.loads(neurolens(["info", "--format", "json", run.path]).stdout)
    text = neurolens(["info", run.path]).stdout
    sources = [int(row[0]) for row in sql(run.path, "SELECT bytes FROM sources")]
    processes = number(run.path, "SELECT count(*) FROM processes")
    # On a busy machine some live long enough for a reading of their memory.
    told = number(run.path, "SELECT count(DISTINCT pid) FROM lanes WHERE kind != 'sched'")
    run.remove()
    files = answer["profile"]["files"]
    empty = [row for row in files if row["file"].endswith(" processes without events")]
    if run.done.status != 4 or len(sources) != processes or processes < 11 or len(empty) != 1:
        return "%d sources, %d processes, %s" % (len(sources), processes, run.done.describe())
    if int(empty[0]["file"].split()[0]) + len(files) - 1 != len(sources) or len(files) != told + 1 or files[-1] != empty[0]:
        return "files %s" % files
    if sum(row["bytes"] for row in files) != sum(sources):
        return "%s bytes of files, %s of sources" % (files, sources)
    return None if "\n%d processes · " % len(sources) in text else text


def started():
    """Programs without events make no file: while the recorder is stopped there is none. All have their line in the end."""
    script = ("kill -STOP $PPID; sleep 0.1; before=$(ls $NEUROLENS_RECORDING | wc -l); i=0; while [ $i -lt 40 ]; do /bin/true; i=$((i + 1)); done; "
              "echo $(($(ls $NEUROLENS_RECORDING | wc -l) - before)); kill -CONT $PPID; exec %s 3" % program("marks"))
    run = Run(["sh", "-c", script])
    if run.done.status != 0 or run.done.stdout.split()[:1] != ["0"]:
        return run.done.describe()
    counts = {name: int(count) for name, count in sql(run.path, "SELECT name, count(*) FROM processes GROUP BY name")}
    bad = sql(run.path, "SELECT item FROM coverage WHERE item LIKE '%killed%'")
    return None if counts.get("true") == 40 and not bad else "%s %s" % (counts, bad)


def started_cost():
    """Processor time of /bin/true, started under the recorder with the library and without it, in turns: least of the rounds of each."""
    code = ("import os, resource as r\n"
            "bare = {n: v for n, v in os.environ.items() if n != 'LD_PRELOAD' and not n.startswith(('NEUROLENS', 'NVTX', 'CUDA'))}\n"
            "def cost(variables):\n"
            "    def now():\n"
            "        use = r.getrusage(r.RUSAGE_CHILDREN)\n"
            "        return use.ru_utime + use.ru_stime\n"
            "    before = now()\n"
            "    for _ in range(20): os.waitpid(os.posix_spawn('/bin/true', ['true'], variables), 0)\n"
            "    return (now() - before) / 20\n"
            "pairs = [(cost(bare), cost(os.environ)) for _ in range(40)]\n"
            "print(min(p[0] for p in pairs), min(p[1] for p in pairs))\n")
    run = Run([sys.executable, "-SI", "-c", code], ["--python", "off"])
    bare, recorded = map(float, run.done.stdout.split())
    told = float(sql(run.path, "SELECT value FROM metadata WHERE key = 'recorder.start_ns'")[0][0]) / 1e9
    print("    %.3f ms bare, %.3f ms more recorded, %.3f ms told" % (bare * 1e3, (recorded - bare) * 1e3, told * 1e3))
    if not (recorded - bare) / 3 < told < 3 * (recorded - bare):
        return Noise("%.3f ms more, %.3f ms told" % ((recorded - bare) * 1e3, told * 1e3))
    # The program itself, and those that have the library; without it a process is not seen.
    starts = int(sql(run.path, "SELECT value FROM metadata WHERE key = 'recorder.starts'")[0][0])
    if starts != 1 + 40 * 20:
        return "%d starts" % starts
    # Making a file in each, as once, took 1.55 times as long as bare.
    return None if recorded < 1.45 * bare else Noise("%.3f ms, bare %.3f ms" % (recorded * 1e3, bare * 1e3))


def nvtx_cost():
    """What the recording says that a range of NVTX costs, against what the program measures of itself: within three times."""
    run = Run([program("nvtxcost")], ["--format", "json"])
    result = json.loads(run.done.stderr)["result"]
    told = result["hooks"][0]
    if (told["hook"], told["count"]) != ("nvtx", 40 * 500) or result["recording_ns"] < result["overhead_ns"] + result["hooks_ns"]:
        return "%s" % result
    measured, said = float(run.done.stdout), told["hook_ns"] + 2 * result["event_ns"]
    print("    %.0f ns measured, %.0f ns told" % (measured, said))
    if not measured / 3 < said < 3 * measured:
        return Noise("%.0f ns measured, %.0f ns told" % (measured, said))
    # What is measured for it is not in the recording, and nothing of it counts as lost.
    got = numbers(run.path, "SELECT count(*) FROM nvtx", "SELECT count(*) FROM nvtx WHERE name = 'a range of the program'", DROPPED)
    return None if got == [20000, 20000, 0] else "%s ranges\n%s" % (got, run.done.describe())


def program_pays():
    """What the report says the program pays for its events, against the program's own processor time with and without recording, in turns."""
    bare, recorded, told, total = [], [], [], []
    for turn in range(5):
        bare.append(float(subprocess.run([program("spend"), "1000000"], capture_output=True, check=True, timeout=60).stdout))
        run = Run([program("spend"), "1000000"], ["--format", "json"])
        result = json.loads(run.done.stderr)["result"]
        recorded.append(float(run.done.stdout))
        told.append(result["overhead_ns"] / 1e9)
        total.append(result["program_cpu_ns"] / 1e9)
        if not recorded[-1] <= total[-1] + 0.005 or total[-1] > 1.05 * recorded[-1] + 0.03:
            return Noise("the program says %.3f s, the report %.3f s" % (recorded[-1], total[-1]))
        more = min(recorded) - min(bare)
        # Nothing of it is hidden: twice what is told, and 5 % of the bare time for what noise there is. What is hidden is so in each turn.
        if turn and more <= 2 * min(told) + 0.05 * min(bare) + 0.01:
            break
    else:
        return Noise("%.3f s more, %.3f s told" % (more, min(told)))
    print("    %.3f s bare, %.3f s more recorded, %.3f s told" % (min(bare), more, min(told)))
    return None


def handlers():
    run = Run([program("marks"), "0", "handler"])
    handled = int(run.done.stdout)
    # A name that is first used in a handler may not be kept; its event is.
    found, lost, main = numbers(run.path, NAMED % "handled' OR name IS NULL OR name = '", DROPPED, NAMED % "main")
    run.remove()
    if main != 2000000 or found + lost != handled:
        return "%d of 2,000,000; %d found + %d dropped of %d handled" % (main, found, lost, handled)
    return None


def no_privileges():
    """A process that may gain no privileges records like any other."""
    run = Run(["setpriv", "--no-new-privs", program("marks"), "3"])
    wrong = expect(run, marks=(NAMED % "mark", 3))
    run.remove()
    return wrong


def set_user():
    """A set-user-ID program does what it does without us, as whom it should; the rest of the run is recorded."""
    privileged = program("id")
    shutil.copy(shutil.which("id"), privileged)
    os.chown(privileged, 1, 1)
    os.chmod(privileged, 0o4755)
    run = Run([privileged, "-u"], ["--native", "off"])
    if run.done.stdout != "1\n" or run.done.status != 0 or "set-user-ID" not in run.done.stderr or os.path.exists(run.path):
        return run.done.describe()
    run = Run(["sh", "-c", "%s -u; %s 3; exit 7" % (privileged, program("marks"))])
    wrong = expect(run, 7, marks=(NAMED % "mark", 3))
    if run.done.stdout != "1\n":
        wrong = run.done.describe()
    run.remove()
    return wrong


def sandboxes():
    """What containers deny costs no events; where no room can be taken for them, that is said."""
    box = program("sandbox")
    run = Run([box, "perf_event_open", "process_vm_readv", "ptrace", "pidfd_open", "--", program("marks"), "3", "exit=6"])
    wrong = expect(run, 6, marks=(NAMED % "mark", 3))
    run.remove()
    for call in ("fallocate", "madvise"):
        run = Run([box, call, "--", program("marks"), "100000", "exit=6"])
        there = os.path.exists(run.path)
        made, lost = numbers(run.path, NAMED % "mark", DROPPED) if there else (0, 100000)
        told = "dropped: 1" in run.done.stderr or "nothing was recorded" in run.done.stderr
        unknown = "could not make a file" in run.done.stderr
        if run.done.status != 6 or (made + lost != 100000 and not unknown) or (lost and not told):
            wrong = wrong or "%s: %d made, %d dropped\n%s" % (call, made, lost, run.done.describe())
        run.remove()
    return wrong


def can_sandbox():
    return subprocess.run([program("sandbox"), "ptrace", "--", "true"]).returncode == 0


def report_as_json():
    """The report says in JSON what it says in words, and what the recording has."""
    run = Run([program("marks"), "300", "threads=4", "exit=3"], ["--format", "json", "-q"])
    report = json.loads(run.done.stderr)
    told = report["result"]
    got = {"schema": report["schema"], "recording": told["recording"], "bytes": told["recording_bytes"],
           "status": told["exit_status"], "signal": told["exit_signal"], "processes": told["processes"],
           "threads": told["threads"], "events": {e["source"]: e["count"] for e in told["events"]},
           "dropped": sum(told["dropped"].values()), "unavailable": [s["source"] for s in told["sources"] if not s["available"]]}
    want = {"schema": "neurolens.recording/1", "recording": run.path, "bytes": os.path.getsize(run.path), "status": 3, "signal": None,
            "processes": 1, "threads": 1 + 50, "events": {"scopes": 300 + 50}, "dropped": 0, "unavailable": ["CUDA", "GPUs"]}
    if {key: got[key] for key in want if key != "unavailable"} != {key: want[key] for key in want if key != "unavailable"}:
        return "%s, want %s" % (got, want)
    if not 0 < told["overhead_ns"] < 1e6 or not 0 < told["recorder_cpu_ns"] < 1e9 or told["clock_error_ns"] < 1:
        return "%s" % told
    run.remove()
    run = Run([program("static")], ["--format", "json", "--native", "off"])
    told = json.loads(run.done.stderr)["result"]
    if run.done.status != 3 or told["recording"] is not None or "set-user-ID" not in told["nothing_recorded"]:
        return run.done.describe()
    run = Run([program("marks"), "1", "kill=9"], ["--format", "json"])
    told = json.loads(run.done.stderr)["result"]
    run.remove()
    if (told["exit_status"], told["exit_signal"]) != (None, 9):
        return run.done.describe()
    run = Run([program("marks"), "1"], ["--format", "csv"])
    return None if run.done.status == 2 and not os.path.exists(run.path) else run.done.describe()


def samples_pay():
    """What the report says of the kernel's samples, against the program's own processor time with many and without any, in turns."""
    bare, sampled, told = [], [], []
    for _ in range(5):
        bare.append(float(Run([program("spend"), "1000000"], ["--sample-rate", "0"]).done.stdout))
        run = Run([program("spend"), "1000000"], ["--sample-rate", "5000", "--format", "json"])
        result = json.loads(run.done.stderr)["result"]
        cpu = [source for source in result["sources"] if source["source"] == "CPU samples"][0]
        if not cpu["available"]:
            return None
        cost, samples = cpu["sampling"]["sample_cost_ns"], cpu["sampling"]["samples"]
        if not samples:
            return Noise("no samples")
        if cost is None:
            if result["samples_ns"] is not None:
                return "%s samples of a cost not known are %s ns" % (samples, result["samples_ns"])
            continue
        if abs(result["samples_ns"] - cost * samples) > 1 + 1e-6 * result["samples_ns"]:
            return "%s samples of %s ns are %s ns" % (samples, cost, result["samples_ns"])
        sampled.append(float(run.done.stdout))
        told.append(result["samples_ns"] / 1e9)
        more = min(sampled) - min(bare)
        # The least is told, not more than there is; 5 % of the bare time for what noise there is. What is too much is so in each turn.
        if len(told) > 1 and min(told) <= 2 * more + 0.05 * min(bare) + 0.01:
            break
    else:
        if told:
            return Noise("%.3f s more, %.3f s told" % (more, min(told)))
        print("    not known here")
        return None
    print("    %.3f s without samples, %.3f s more with, %.3f s told" % (min(bare), more, min(told)))
    return None


# What each line of the report in words tells, and where the report as JSON has it.
IN_JSON = {
    "%s: %s, %\" PRIu64 \" process%s, %\" PRIu64 \" thread%s, %s": "recording wall_ns processes threads recording_bytes",
    "  events (begin and end count separately): %s%s%s values": "events values",
    "  samples: %s; times on a processor: %s": "samples processor_times",
    "neurolens:   dropped: %s %s%s": "dropped",
    "  dropped: none": "dropped",
    "the program was ended by SIG%s (%s)": "exit_signal",
    "the program exited with status %d": "exit_status",
    "next: neurolens analyze %s": "recording",
    "neurolens:   %\" PRIu32 \" process%s could not make a file to record to": "processes_without_file",
    "neurolens:   the disk was full: %s blocks stayed in memory": "blocks_disk_full",
    "  %s: %s time%s": "alerts",
    "  not recorded: %s: %s": "sources.available sources.why",
    "neurolens:   %s: %s readings are missing; the recording's coverage says why": "sources.missing_readings coverage",
    "neurolens:   %.*s: %.*s": "coverage",
    "  %.*s: %.*s": "coverage",
    "  overhead: at least %s in the program: %s events of %.1f ns": "overhead_ns events event_ns",
    "  overhead of samples: at least %s in the program: %s of %.1f us": "samples_ns sampling.samples sampling.sample_cost_ns",
    "  overhead of %s: at least %s in the program: %s %s of %s": "hooks_ns hooks process_starts process_start_ns",
    "  overhead of hooks: not known for %s %s": "hooks",
    "  overhead of installing Python's hooks: %s in the program": "python_hooks_start_ns",
    "  of the program's %s of processor time recording took at least %s": "program_cpu_ns recording_ns recording_share",
    "  overhead of GPU records: %s on a thread of its own (%s of its time): %.0f ns a record, beside what the driver takes":
        "gpu_records_ns gpu_records wall_ns",
    "  recorder: %s of CPU time, %s of memory at most": "recorder_cpu_ns peak_bytes",
    "  %s: %s; %s of the recorder (%s of a processor)": "sources.source sampling.samples sampling.recorder_ns wall_ns",
    "  %s: %s of the moments passed while the machine was busy; the samples weigh as much more":
        "sampling.moments sampling.moments_missed",
    "  %s: taken less often, at the least %.1f times a second, since a round took over a tenth of its time":
        "sampling.period_ns sampling.longest_period_ns",
    "  clock: %s, error below %\" PRIu64 \" ns": "clock clock_error_ns",
    "  window: recording was switched on or off %\" PRIu32 \" times": "window_changes",
    "  other processes still ran when the program ended; they are recorded up to there": "others_alive",
}


def lines_in_words():
    """The texts of runreport.c, as they stand there."""
    with open(os.path.join(ROOT, "src/cli/record/runreport.c"), encoding="utf-8") as file:
        source = file.read()
    piece = r'"(?:[^"\\]|\\.)*"'
    texts = re.findall(r"(?:nl_message_note\(\s*call|fprintf\(\s*stderr),\s*(%s(?:\s*(?:%s|PRI\w+))*)" % (piece, piece), source)
    return [re.sub(r'"\s*"', "", re.sub(r"\s+(PRI\w+)\s+", r" \1 ", text))[1:-1].replace("\\n", "") for text in texts]


def json_has_all():
    """No line of the report in words tells what the one in JSON does not have, and src/capture/README.md lists what that has."""
    lines, told = lines_in_words(), json.loads(Run([program("marks"), "3"], ["--format", "json"]).done.stderr)["result"]
    sampled = [source["sampling"] for source in told["sources"] if source["source"] == "Python samples"][0]
    there = set(told) | {"sources." + key for key in told["sources"][0]} | {"sampling." + key for key in sampled}
    with open(os.path.join(ROOT, "src/capture/README.md"), encoding="utf-8") as file:
        listed = file.read().split("## The report")[1].split("\n## ")[0]
    if len(lines) < 20 or sorted(set(lines)) != sorted(IN_JSON):
        return "lines of the report in words: new %s, gone %s" % (set(lines) - set(IN_JSON), set(IN_JSON) - set(lines))
    missing = [key for keys in IN_JSON.values() for key in keys.split() if key not in there]
    unlisted = [key for key in there if "`%s`" % key.split(".")[-1] not in listed]
    return "no %s in JSON, no %s in src/capture/README.md" % (missing, unlisted) if missing or unlisted else None


def static_program():
    run = Run([program("static")], ["--sample-rate", "0"])
    if run.done.status != 3 or "nothing was recorded" not in run.done.stderr or os.path.exists(run.path):
        return run.done.describe()
    return None


def plugins():
    run = Run([program("loader"), program("plugin")])
    wrong = expect(run, plugin=(NAMED % "in a plugin", 100), around=(NAMED % "around", 100),
                   unsure=(UNSURE, 0))
    run.remove()
    return wrong


# ---- GPUs ----

GPU_VALUES = "SELECT count(*) FROM counters WHERE name LIKE 'GPU %'"


def watched(mock, words=("1000",), library="nvmlmock", timeout=30, options=()):
    """A run beside GPUs that behave as the words of nvmlmock.c say."""
    return Run([program("linger")] + list(words), options, timeout=timeout,
               extra={"NEUROLENS_NVML": program(library), "NVML_MOCK": mock, "NVML_MOCK_PID": "1"})


def gpus():
    run = watched("")
    wrong = expect(
        run, devices=("SELECT count(*) FROM devices WHERE vendor = 'nvidia' AND name LIKE 'Mock H_00'", 2),
        uuids=("SELECT count(*) FROM devices WHERE uuid = 'GPU-0000000' || ordinal", 2),
        use=("SELECT 100 * min(value) + max(value) FROM counters WHERE name = 'GPU utilisation'", 1293),
        power=("SELECT count(*) FROM counters c JOIN lanes l ON l.id = c.lane WHERE c.name = 'GPU power' "
               "AND c.unit = 'W' AND c.value <> CASE l.device WHEN 0 THEN 612.5 ELSE 71 END", 0),
        gpm=("SELECT max(value) FROM counters WHERE name = 'GPU SM occupancy'", 30),
        marks=("SELECT count(*) FROM slices WHERE name LIKE 'alert%'", 0),
        absent=("SELECT count FROM coverage WHERE item LIKE 'GPU values that%'", 11))
    rate = float(sql(run.path, "SELECT (count(*) / 2 - 1) * 1e9 / (max(ts) - min(ts)) FROM counters WHERE name = 'GPU power'")[0][0] or 0)
    slow = number(run.path, "SELECT count(*) FROM counters WHERE name = 'GPU fan'")
    early = number(run.path, "SELECT count(*) FROM counters c, slices s WHERE s.name = 'mark' AND c.name LIKE 'GPU %' "
                             "AND (c.ts < s.ts - 1000000000 OR c.ts > s.ts + 3000000000)")
    run.remove()
    if not wrong and (not 4 <= rate <= 12 or slow or early):
        return Noise("power %g times in a second, fan %d times, %d far from the program" % (rate, slow, early))
    return wrong


SAMPLED = "FROM counters c JOIN lanes l ON l.id = c.lane WHERE l.device = 0 AND c.name = 'GPU power, sampled by the driver'"


def gpu_samples(mock):
    """What the driver samples between readings: each once, at its own time; peaks that no reading saw are there."""
    def test():
        run = watched(mock)
        gaps = sql(run.path, "SELECT min(gap), max(gap), count(*) FROM (SELECT c.ts - lag(c.ts) OVER (ORDER BY c.ts) AS gap %s)"
                   % SAMPLED)[0]
        wrong = expect(run, peak=("SELECT max(c.value) " + SAMPLED, 690),
                       polled=("SELECT CAST(10 * max(value) AS INTEGER) FROM counters WHERE name = 'GPU power'", 6125),
                       use=("SELECT 100 * min(value) + max(value) FROM counters WHERE name = 'GPU utilisation'", 1293),
                       unsure=("SELECT count(*) FROM coverage WHERE item LIKE '%samples%'", 0),
                       early=("SELECT count(*) FROM counters c, slices s WHERE s.name = 'mark' AND c.name LIKE 'GPU power, s%' "
                              "AND c.ts < s.ts - 1000000000", 0))
        run.remove()
        least, most, count = (int(float(value)) for value in gaps)
        if not wrong and (least < 19800000 or most > 20200000 or count < 30):
            return "%d samples, %d to %d ns apart" % (count, least, most)
        return wrong
    return test


def gpu_samples_missing():
    """Without samples utilisation is what the plain call tells."""
    for mock, absent in (("nosamples", 1), ("nonesince", 0), ("empty", 0)):
        run = watched(mock)
        wrong = expect(run, use=("SELECT 100 * min(value) + max(value) FROM counters WHERE name = 'GPU utilisation'", 1293),
                       sampled=("SELECT count(*) " + SAMPLED, 0),
                       absent=("SELECT count(*) FROM coverage WHERE detail LIKE 'GPU 0:%sampled by the driver%'", absent),
                       lost=("SELECT count(*) FROM coverage WHERE item LIKE 'lost%'", 0))
        run.remove()
        if wrong:
            return "%s: %s" % (mock, wrong)
    return None


def gpu_alerts():
    run = watched("hot", ("1000", "1100"))
    wrong = expect(run, marks=("SELECT count(DISTINCT name) FROM slices WHERE name LIKE 'alert%' AND dur = 0", 5),
                   once=("SELECT count(*) FROM slices WHERE name LIKE 'alert%'", 5),
                   value=("SELECT CAST(payload AS INTEGER) FROM nvtx WHERE name LIKE 'alert: GPU temp%'", 88))
    if not wrong and run.done.stderr.count(": 1 time") != 5:
        wrong = run.done.describe()
    run.remove()
    return wrong


# What a driver does, whether there are values, and what the coverage says.
FAULTY_DRIVERS = (("noinit", 0, ""), ("mismatch", 0, ""), ("nodevices", 0, ""), ("badcount", 0, ""),
                  ("errors", 1, "lost: calls of the GPU driver that failed"),
                  ("lost", 1, "lost: calls of the GPU driver that failed"),
                  ("unsupported", 1, "GPU values that the device or its driver does not have"),
                  ("newer", 1, "GPU values that the device or its driver does not have"),
                  ("many", 1, "lost: processes on GPUs"),
                  ("slow", 1, "slow calls of the GPU driver"),
                  ("zero", 1, "lost: samples of the GPU driver"),
                  ("future", 1, "lost: samples of the GPU driver"),
                  ("backwards", 1, "lost: samples of the GPU driver"),
                  ("overfull", 1, "lost: samples of the GPU driver"),
                  ("small", 1, "lost: samples of the GPU driver"),
                  ("failing", 1, "lost: calls of the GPU driver that failed"),
                  ("hang", 0, "lost: calls of the GPU driver that never came back"))


def gpu_fault(mock, values, item):
    # With calls of 60 ms the first readings come after most of a second, on a busy machine later.
    run = watched(mock, ("4000",) if mock == "slow" else ("1000",))
    got, cover = number(run.path, GPU_VALUES), coverage(run.path)
    said = "not recorded: GPUs: " in run.done.stderr
    wrong = expect(run, marks=(NAMED % "mark", 1))
    run.remove()
    if wrong:
        return "%s: %s" % (mock, wrong)
    if bool(got) != bool(values) or (item and not cover.get(item)) or said == bool(item):
        return "%s: %d values, coverage %s, %s" % (mock, got, cover, run.done.stderr)
    if item.startswith("lost") and "readings are missing" not in run.done.stderr:
        return "%s: %s" % (mock, run.done.stderr)
    return None


def gpu_faults():
    """Whatever the driver does there is a recording, and what is missing is told. Such runs wait nearly all of their time: four at once."""
    with ThreadPoolExecutor(4) as pool:
        return next(filter(None, pool.map(lambda fault: gpu_fault(*fault), FAULTY_DRIVERS)), None)


def gpu_window():
    """What GPUs do while the window is closed is not recorded."""
    run = watched("", ("2000",), options=("--delay", "1500ms"))
    powers = number(run.path, "SELECT count(*) FROM counters WHERE name = 'GPU power'")
    span = number(run.path, "SELECT max(ts) - min(ts) FROM counters WHERE name LIKE 'GPU power%'")
    run.remove()
    return None if powers and span < 1300000000 else Noise("%d values over %d ns" % (powers, span))


def no_gpu():
    run = watched("", library="absent.so")
    wrong = expect(run, marks=(NAMED % "mark", 1), values=(GPU_VALUES, 0))
    run.remove()
    return wrong or (None if "not recorded: GPUs: no NVIDIA driver" in run.done.stderr else run.done.describe())


def slow_driver():
    """A driver that hangs holds up neither the program nor the end of the run for long."""
    def took():
        begun = time.time()
        watched("hang", ("200",)).remove()
        return time.time() - begun
    soonest = least(took, 8)
    return None if soonest < 8 else "it took %.1f s" % soonest


# ---- policies ----

def adds_up(policy, buffer, count):
    run = Run([program("marks"), str(count)], ["--policy", policy, "--buffer", buffer])
    kept, lost, last = numbers(run.path, NAMED % "mark", DROPPED, "SELECT sum(count) FROM coverage WHERE item = 'dropped: events overwritten by newer ones'")
    run.remove()
    if kept + lost != count:
        return "%d kept + %d dropped, want %d\n%s" % (kept, lost, count, run.done.describe())
    return kept, lost, last


def spill():
    got = adds_up("spill", "64MiB", 3000000)
    if isinstance(got, str):
        return got
    return None if got[1] == 0 else "%d dropped although there was room" % got[1]


def wrap():
    got = adds_up("wrap", "1MiB", 1000000)
    if isinstance(got, str):
        return got
    return None if got[1] == got[2] > 0 else "kept %d, dropped %d, overwritten %d" % got


def stop():
    got = adds_up("stop", "1MiB", 1000000)
    if isinstance(got, str):
        return got
    return None if got[1] > 0 and got[2] == 0 else "kept %d, dropped %d, overwritten %d" % got


def newest():
    """Wrap keeps the newest: the recording ends with the last numbers that were made."""
    state = os.path.join(scratch(), "newest")
    run = Run(["timeout", "-s", "KILL", "0.5", program("forever"), state],
              ["--policy", "wrap", "--buffer", "2MiB"])
    made = read_count(state)
    row = sql(run.path, "SELECT max(value), min(value), count(*) FROM counters WHERE name = 'number'")[0]
    run.remove()
    most, least, count = (int(float(v)) for v in row)
    if most - made not in (-1, 0) or least == 0 or most - least + 1 != count:
        return "numbers %d to %d (%d of them), made %d" % (least, most, count, made)
    return None


# ---- sudden ends ----

def read_count(path):
    with open(path, "rb") as file:
        return struct.unpack("<Q", file.read(8))[0]


def verify_killed(path, made, joined):
    """The numbers found and lost are those made; the one being made may be there or not."""
    rows = sql(path, "SELECT 'numbers', count(*), count(DISTINCT value) FROM counters WHERE name = 'number' UNION ALL "
                     "SELECT 'item ' || item, sum(count), 0 FROM coverage GROUP BY item")
    (_, count, distinct), *items = [(name, int(number), int(other)) for name, number, other in rows]
    lost = sum(number for item, number, _ in items if item.startswith("item dropped: events"))
    if count != distinct:
        return "%d numbers, %d different ones" % (count, distinct)
    if count + lost not in (made, made + 1):
        return "%d found + %d dropped of %d made" % (count, lost, made)
    if not joined and not any(item.startswith("item recording not closed") for item, _, _ in items):
        return "the recording does not say that it was cut short"
    return None


# The recorder relieves a program of its full blocks every 20 ms; a block is full after a fraction of one. So all that happens has
# happened twice in this time, and numbers are few enough to be read soon.
KILL_WITHIN_S = 0.044


def kill_after(seconds, whom):
    """One kill -9 after so many seconds of numbers; returns a problem or None."""
    path = os.path.join(scratch(), "killed.nlt")
    state = os.path.join(scratch(), "made")
    for old in (path, state):
        if os.path.exists(old):
            os.unlink(old)
    shutil.rmtree(path + ".parts", True)
    recorder = subprocess.Popen([PROGRAM, "run", "-q", "-o", path, "--", program("forever"), state],
                                env=environment(scratch()), stderr=subprocess.DEVNULL)
    while not os.path.exists(state) or os.path.getsize(state) < 8 or read_count(state) == 0:
        time.sleep(0.001)
    time.sleep(seconds)
    with open("/proc/%d/task/%d/children" % (recorder.pid, recorder.pid)) as file:
        child = int(file.read().split()[0])
    if whom == "program":
        os.kill(child, signal.SIGKILL)
        if recorder.wait(60) != -signal.SIGKILL:
            return "the recorder ended with %s" % recorder.returncode
        return verify_killed(path, read_count(state), True)
    recorder.kill()
    recorder.wait(20)
    time.sleep(random.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    while os.path.exists("/proc/%d" % child) and open("/proc/%d/stat" % child).read().split()[2] != "Z":
        time.sleep(0.001)
    return verify_killed(path + ".parts", read_count(state), False)


def kills(whom, times):
    """At moments by chance, one in each of as many parts of the time."""
    def test():
        for i in range(times):
            wrong = kill_after((i + random.random()) / times * KILL_WITHIN_S, whom)
            if wrong:
                return "time %d: %s" % (i, wrong)
        return None
    return test


# ---- no room, no permission ----

def limited():
    """The program may write files of 300 KiB at most: it must not be ended by SIGXFSZ."""
    words = ["bash", "-c", "ulimit -f 300; exec %s 100000 exit=6" % program("marks")]
    run = Run(words, ["--policy", "stop"])
    kept, lost = numbers(run.path, NAMED % "mark", DROPPED)
    run.remove()
    if run.done.status != 6 or kept + lost != 100000 or not lost:
        return "%d kept + %d dropped\n%s" % (kept, lost, run.done.describe())
    return None


def can_mount():
    folder = os.path.join(scratch(), "small")
    os.mkdir(folder)
    return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder],
                          stderr=subprocess.DEVNULL).returncode == 0


def full_disk():
    """A file system of 2 MiB: nothing but the recording suffers, and what is lost is counted."""
    folder = os.path.join(scratch(), "small")
    try:
        path = os.path.join(folder, "f.nlt")
        done = neurolens(["run", "-o", path, "--", program("marks"), "400000", "exit=6"])
        parts = path + ".parts"
        where = path if os.path.exists(path) else parts
        kept, lost = numbers(where, NAMED % "mark", DROPPED)
        if done.status != 6 or kept + lost != 400000 or not lost:
            return "%d kept + %d dropped\n%s" % (kept, lost, done.describe())
        return None
    finally:
        subprocess.run(["umount", folder])


def read_only():
    folder = os.path.join(scratch(), "nothing")
    done = neurolens(["run", "-o", os.path.join(folder, "x.nlt"), "--", program("marks"), "1"])
    if done.status != 5 or "choose a place with -o" not in done.stderr:
        return done.describe()
    os.mkdir(folder + ".parts")
    done = neurolens(["run", "-o", folder, "--", program("marks"), "1"])
    return None if done.status == 0 and "nothing.parts.1" in done.stderr else done.describe()


# ---- windows ----

def steps():
    run = Run([program("marks"), "4", "steps=30"], ["--steps", "10:20"])
    wrong = expect(run, steps=("SELECT count(*) FROM steps WHERE \"index\" BETWEEN 10 AND 19", 10),
                   all=("SELECT count(*) FROM steps", 10), marks=(NAMED % "in step", 10),
                   before=(NAMED % "mark", 0),
                   told=("SELECT count FROM coverage WHERE item LIKE 'recorded in windows%'", 2))
    run.remove()
    return wrong


def delay():
    run = Run([program("marks"), "5", "alarms=400"], ["--delay", "150ms", "--duration", "100ms"])
    found = number(run.path, NAMED % "tick")
    run.remove()
    return None if 20 <= found <= 130 else Noise("%d ticks in 100 ms" % found)


def trigger():
    run = Run([program("marks"), "5", "steps=4"], ["--trigger", "in step"])
    wrong = expect(run, marks=(NAMED % "mark", 0), steps=(NAMED % "in step", 4))
    run.remove()
    return wrong


def on_signal():
    path = os.path.join(scratch(), "usr1.nlt")
    if os.path.exists(path):
        os.unlink(path)
    child = subprocess.Popen([PROGRAM, "run", "-q", "-o", path, "--on-signal", "USR1", "--", program("marks"),
                              "5", "alarms=500"], env=environment(scratch()), stdout=subprocess.PIPE)
    child.stdout.readline()
    time.sleep(0.1)
    child.send_signal(signal.SIGUSR1)
    time.sleep(0.15)
    child.send_signal(signal.SIGUSR1)
    if child.wait(30) != 0:
        return "status %d" % child.returncode
    found, before = number(path, NAMED % "tick"), number(path, NAMED % "mark")
    if before:
        return "%d marks before the signal" % before
    return None if 20 <= found <= 250 else Noise("%d ticks" % found)


# ---- values of processes ----

def values():
    run = Run([program("marks"), "1", "alarms=400"])
    rows = dict((r[0], (int(r[1]), float(r[2]))) for r in
                sql(run.path, "SELECT name, count(*), max(value) FROM counters GROUP BY name"))
    stamps = [int(r[0]) for r in
              sql(run.path, "SELECT ts FROM counters WHERE name = 'resident memory' ORDER BY ts")]
    run.remove()
    for name in ("resident memory", "processors used", "page faults, minor", "context switches, voluntary",
                 "threads", "thread CPU time"):
        if name not in rows:
            return "no %s: %s" % (name, rows)
    if len(stamps) < 3 or min(b - a for a, b in zip(stamps, stamps[1:])) < 90e6:
        return Noise("read at %s" % stamps)
    if not 1 << 18 < rows["resident memory"][1] < 1 << 28:
        return "resident memory: %s" % (rows["resident memory"],)
    return None if rows["threads"][1] == 1 else "threads: %s" % (rows["threads"],)


def main():
    if not build():
        tally.skip("all", "no C compiler")
        tally.finish()
    few = 5 if "--few" in sys.argv else 100
    for name, test in (("scopes, layers, steps, counters, flows, ranges", scopes), ("times", times),
                       ("calls that are compiled away", compiled_away),
                       ("NVTX", nvtx), ("programs without a recorder", not_recording),
                       ("10,000 short threads", threads), ("300 forks", forks), ("20 execs", execs),
                       ("a program executed by its descriptor", descriptor_executed),
                       ("ranks", ranks), ("exit statuses", statuses), ("signals are passed on", signals),
                       ("blocked signals", signal_mask), ("processes that record nothing", empty_processes),
                       ("few descriptors", few_descriptors),
                       ("nobody reads the report", nobody_reads),
                       ("programs that record nothing", started), ("what a started program costs", started_cost), ("what a range of NVTX costs", nvtx_cost),
                       ("what the program pays", program_pays), ("and for samples what it says", samples_pay),
                       ("events in signal handlers", handlers),
                       ("a static program", static_program), ("the report as JSON", report_as_json), ("JSON has all of the report", json_has_all),
                       ("libraries that come and go", plugins), ("policy spill", spill), ("policy wrap", wrap),
                       ("policy stop", stop), ("wrap keeps the newest", newest),
                       ("a file size limit", limited), ("no folder", read_only), ("--steps", steps),
                       ("--delay, --duration", delay), ("--trigger", trigger), ("--on-signal", on_signal),
                       ("values of processes", values), ("values of GPUs", gpus),
                       ("samples of a GPU driver", gpu_samples("")),
                       ("a driver that tells samples again", gpu_samples("repeat")),
                       ("no samples of the driver", gpu_samples_missing),
                       ("thresholds become marks", gpu_alerts), ("GPU drivers that misbehave", gpu_faults),
                       ("GPUs and the window", gpu_window), ("no GPU", no_gpu), ("a GPU driver that hangs", slow_driver),
                       ("program killed %d times" % few, kills("program", few)),
                       ("recorder killed %d times" % few, kills("recorder", few))):
        check(name, test)
    if shutil.which("setpriv"):
        check("no new privileges", no_privileges)
    else:
        tally.skip("no new privileges", "no setpriv")
    if os.geteuid() == 0 and shutil.which("id"):
        check("a set-user-ID program", set_user)
    else:
        tally.skip("a set-user-ID program", "not root")
    if can_sandbox():
        check("denied system calls", sandboxes)
    else:
        tally.skip("denied system calls", "no seccomp")
    if can_unshare():
        check("another PID namespace", pid_namespace)
    else:
        tally.skip("another PID namespace", "no unshare, or not allowed")
    if can_mount():
        check("full disk", full_disk)
    else:
        tally.skip("full disk", "cannot mount a file system here")
    tally.finish()


main()
