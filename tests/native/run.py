#!/usr/bin/env python3
"""Native CPU sampling: programs of tests/native, whose functions take known times, are run under `neurolens run`; samples, names and
times off the processors must be what they did, within the statistics of so many samples."""
import collections
import csv
import ctypes
import glob
import io
import json
import math
import os
import platform
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import PROGRAM, TESTS, Noise, Tally, calmly, environment, neurolens, scratch  # noqa: E402

SOURCES = os.path.join(TESTS, "native")
BUILDS = {  # program: source, flags
    "fp": ("shares.c", ["-fno-omit-frame-pointer"]),
    "nofp": ("shares.c", ["-fomit-frame-pointer"]),
    "lines": ("shares.c", ["-g"]),
    "stripped": ("shares.c", ["-s"]),
    "nobuildid": ("shares.c", ["-Wl,--build-id=none"]),
    "static": ("shares.c", ["-static"]),
    "many": ("many.c", []),
    "jit": ("jit.c", []),
    "work": ("work.c", []),
    "plugin.so": ("plugin.c", ["-shared", "-fPIC"]),
    "names": ("names.cc", []),
    "deep": ("deep.c", ["-fomit-frame-pointer"]),
}
SECOND = 10**9
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
tally = Tally("native")


def program(name):
    return os.path.join(scratch(), name)


def build():
    """False when there is no compiler."""
    c, cc = shutil.which("gcc") or shutil.which("cc"), shutil.which("g++") or shutil.which("c++")
    for name, (source, flags) in BUILDS.items():
        compiler = cc if source.endswith(".cc") else c
        if compiler:
            subprocess.run([compiler, "-O2", "-Wall", "-Wextra", "-o", program(name), os.path.join(SOURCES, source)] +
                           flags + ["-lpthread", "-ldl"], check=True)
    return bool(c)


def rows(path, query):
    done = neurolens(["sql", "--no-cache", "--absolute", "--format", "csv", path, query], timeout=60)
    if done.status != 0:
        raise AssertionError(done.describe())
    return list(csv.reader(io.StringIO(done.stdout)))[1:]


Sample = collections.namedtuple("Sample", "ts pid tid weight event stack")


class Profile:
    """Samples of a profile; stacks are tuples of names, innermost first."""

    def __init__(self, path):
        self.path = path
        frames = {int(r[0]): (int(r[1]) if r[1] else None, r[2]) for r in rows(path, "SELECT id, parent, name FROM stacks")}
        self.samples = []
        for ts, pid, tid, weight, event, node in rows(
                path, "SELECT s.ts, p.pid, t.tid, s.weight, s.event, s.stack FROM samples s JOIN lanes l ON l.id = s.lane "
                      "JOIN processes p ON p.id = l.process JOIN threads t ON t.id = l.thread"):
            stack, at = [], int(node) if node else None
            while at is not None:
                stack.append(frames[at][1])
                at = frames[at][0]
            self.samples.append(Sample(int(ts), int(pid), int(tid), int(weight), event, tuple(stack)))
        self.coverage = {r[0]: int(r[1]) for r in rows(path, "SELECT item, sum(count) FROM coverage GROUP BY item")}

    def within(self, name):
        return [s for s in self.samples if name in s.stack]


class Run(Profile):
    """A program under `neurolens run`, and its profile."""
    count = 0

    def __init__(self, words, options=(), timeout=120, **more):
        Run.count += 1
        path = os.path.join(scratch(), "n%d.nlt" % Run.count)
        self.done = neurolens(["run", "-o", path] + list(options) + ["--"] + list(words), timeout=timeout, **more)
        if self.done.status != 0 or not os.path.exists(path):
            raise AssertionError(self.done.describe())
        super().__init__(path)


def check(name, test):
    try:
        problem = calmly(test)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


def off_by(found, of, share):
    """Is found of `of` samples more than 4.5 standard deviations (and 1 %) from a share?"""
    slack = 4.5 * math.sqrt(max(share * (1 - share), 0.01) / of) + 0.01
    return abs(found / of - share) > slack


def shares_of(run, names=("one", "two", "five")):
    return [len(run.within(name)) for name in names]


def wrong_shares(run, took):
    """First difference from the times that the program measured itself."""
    found = shares_of(run)
    total = sum(found)
    if total < 200:
        return "%d samples only" % total
    for count, ns in zip(found, took):
        if off_by(count, total, ns / sum(took)):
            return "samples %s, times %s" % (found, took)
    return None


# ---- names and shares ----

def shares(name, stacks):
    run = Run([program(name), "1"], ["--sample-rate", "997", "--stacks", stacks])
    took = [int(word) for word in run.done.stdout.split()]
    wrong = wrong_shares(run, took)
    if wrong:
        return wrong
    clock = [s for s in run.samples if s.event == "cpu-clock"]
    weight = sum(s.weight for s in clock)
    if clock and abs(weight - sum(took)) > 0.15 * sum(took):
        return "weights are %d ns of %d" % (weight, sum(took))
    if stacks == "dwarf":
        whole = [s for s in run.within("one") if s.stack[-3:-1] != ("main", "__libc_start_call_main") and
                 not ("inner" in s.stack and "outer" in s.stack and "main" in s.stack)]
        if len(whole) > len(run.within("one")) / 20:
            return "stacks: %s" % collections.Counter(s.stack for s in whole).most_common(3)
    return None


def frame_pointers():
    """What has them shows its callers with --stacks fp, too."""
    run = Run([program("fp"), "0.5"], ["--sample-rate", "997", "--stacks", "fp"])
    called = [s for s in run.within("two") if "main" in s.stack]
    if len(called) < 0.8 * len(run.within("two")):
        return "%d of %d reach main" % (len(called), len(run.within("two")))
    return None


def no_stacks():
    run = Run([program("nofp"), "0.5"], ["--sample-rate", "500", "--stacks", "off"])
    deep = [s for s in run.samples if len([f for f in s.stack if f != "[kernel]"]) > 1]
    return "%d deep stacks" % len(deep) if deep else wrong_shares(run, [int(w) for w in run.done.stdout.split()])


def lines():
    run = Run([program("lines"), "0.4"], ["--sample-rate", "997"])
    found = rows(run.path, "SELECT DISTINCT p.file, p.line FROM stacks p JOIN stacks s ON s.parent = p.id "
                 "WHERE p.name = 'inner' AND p.line IS NOT NULL")  # where it calls; it may itself be met at its return
    text = open(os.path.join(SOURCES, "shares.c"), encoding="utf-8").read().splitlines()
    good = [r for r in found if r[0].endswith("/shares.c") and "which" in text[int(r[1]) - 1]]
    return None if good and len(good) == len(found) else "lines of inner: %s" % found


def stripped():
    run = Run([program("stripped"), "0.4"], ["--sample-rate", "500"])
    places = [s for s in run.samples if any(f.startswith("stripped+0x") for f in s.stack)]
    if len(places) < 0.9 * len(run.samples) or not run.coverage.get("machine code without a function name"):
        return "%d of %d; %s" % (len(places), len(run.samples), run.coverage)
    return None


def no_build_id():
    run = Run([program("nobuildid"), "0.5"], ["--sample-rate", "500"])
    return wrong_shares(run, [int(word) for word in run.done.stdout.split()])


def changed():
    """A program that is another by the time names are looked for gets none, and is told."""
    copy = program("changing")
    shutil.copy(program("fp"), copy)
    run = Run(["sh", "-c", "%s 0.4 && cp %s %s.new && mv %s.new %s" % (copy, program("many"), copy, copy, copy)],
              ["--sample-rate", "500"])
    wrong = [s for s in run.samples if any(f in ("work", "threads", "plugin", "sleeping") for f in s.stack)]
    if wrong or not run.coverage.get("machine code of files that are others by now"):
        return "%s, %s" % (wrong[:3], run.coverage)
    return None if any(f.startswith("changing+0x") for s in run.samples for f in s.stack) else "no places"


def cplusplus():
    run = Run([program("names"), "0.4"], ["--sample-rate", "500"])
    found = run.within("shop::Basket<int>::add(int, int)")
    return None if len(found) > 0.8 * len(run.samples) else collections.Counter(s.stack for s in run.samples).most_common(3)


def made_code():
    run = Run([program("jit")], ["--sample-rate", "500"])
    os.unlink(run.done.stdout.strip())
    found = [s for s in run.within("made::loop(int)") if "main" in s.stack]
    return None if len(found) > 0.8 * len(run.samples) else collections.Counter(s.stack for s in run.samples).most_common(3)


def interpreters():
    """Of those that can put a trampoline before each Python function (3.12 and later), one per version."""
    found = {}
    names = ["python3"] + sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    for name in names:
        done = subprocess.run([name, "-c", "import sys; sys.activate_stack_trampoline('perf'); print(sys.executable, "
                                           "'%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode == 0:
            executable, version = done.stdout.decode().split()
            found[version] = executable
    return found


def cut_stacks():
    """Frames beyond the copied part of a stack: each such stack is counted as cut; a larger copy holds all."""
    small = Run([program("deep"), "300", "0.8"], ["--sample-rate", "300"])
    large = Run([program("deep"), "300", "0.8"], ["--sample-rate", "300", "--stack-size", "65528"])
    for run, whole in ((small, False), (large, True)):
        stacks = [s.stack for s in run.within("bottom")]
        reach = [stack for stack in stacks if stack[-1] in ("_start", "__libc_start_main", "__libc_start_main_impl")]
        cut = run.coverage.get("cut: call stacks without their outermost frames", 0)
        print("    %d stacks, %d reach the start, %d counted as cut" % (len(stacks), len(reach), cut))
        if len(stacks) < 20 or (len(reach) < 0.95 * len(stacks) if whole else reach):
            return "%d of %d stacks reach the start" % (len(reach), len(stacks))
        if cut < len(stacks) - len(reach):
            return "%d stacks do not reach the start, %d are counted as cut" % (len(stacks) - len(reach), cut)
        if whole and max(stack.count("rec") for stack in stacks) != 301:
            return "%d frames of rec, want 301" % max(stack.count("rec") for stack in stacks)
    return None


def trampolines(python):
    """PYTHONPERFSUPPORT: Python functions within the native stacks, which reach from the innermost C function to _start."""
    def test():
        script = os.path.join(TESTS, "native", "deeper.py")
        run = Run([python, script, "1.0"], ["--sample-rate", "500"], extra={"PYTHONPERFSUPPORT": "1"})
        for path in glob.glob("/tmp/perf-*.map"):
            if run.done.stdout.split() and path == "/tmp/perf-%s.map" % run.done.stdout.split()[0]:
                os.unlink(path)
        native = [s.stack for s in run.samples if not s.event.startswith("python")]
        inside = [stack for stack in native if "innermost" in stack]
        order = [stack for stack in inside if [name for name in stack if name in ("innermost", "inner", "outer")] ==
                 ["innermost", "inner", "outer"] and stack[-1] in ("_start", "__libc_start_main", "__libc_start_main_impl")]
        if len(inside) < 0.7 * len(native) or len(order) < 0.95 * len(inside):
            return "%d samples, %d inside, %d whole: %s" % (len(native), len(inside), len(order), native[len(native) // 2])
        return None
    return test


def against_perf():
    """The same program under `perf record`, by its own reader here: the same shares."""
    data, text = program("perf.data"), program("perf.txt")
    done = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "-g", "-o", data, program("fp"), "1"],
                          capture_output=True, text=True, timeout=60)
    if done.returncode:
        return "perf record: %s" % done.stderr
    with open(text, "w", encoding="utf-8") as file:
        subprocess.run(["perf", "script", "-F", "comm,pid,tid,time,period,event,ip,sym,dso", "-i", data], stdout=file, stderr=subprocess.DEVNULL, check=True, timeout=60)
    theirs = shares_of(Profile(text))
    ours = shares_of(Run([program("fp"), "1"], ["--sample-rate", "997"]))
    for a, b in zip(ours, theirs):
        share = (a + b) / (sum(ours) + sum(theirs))
        if off_by(a, sum(ours), share) or off_by(b, sum(theirs), share):
            return "ours %s, theirs %s" % (ours, theirs)
    return None


# ---- threads and processes ----

def wrong_time(samples, seconds, what):
    """Each sample is a millisecond (a hundredth of it at --sample-rate 1000 may be elsewhere)."""
    weight = sum(s.weight for s in samples) / SECOND
    return None if abs(weight - seconds) < 0.15 * seconds + 0.02 else "%s: %.3f s, want %.3f" % (what, weight, seconds)


def ran(path, pid=None):
    """Seconds on a processor, by thread."""
    return {int(r[1]): int(r[2]) / SECOND for r in
            rows(path, "SELECT p.pid, t.tid, sum(s.dur) FROM slices s JOIN lanes l ON l.id = s.lane JOIN threads t ON t.id = l.thread "
                       "JOIN processes p ON p.id = l.process WHERE s.kind = 'sched' GROUP BY 1, 2")
            if pid is None or int(r[0]) == pid}


def stolen():
    """Seconds that the machine below this one took, all processors together."""
    with open("/proc/stat", encoding="ascii") as file:
        return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")


def threads():
    before = stolen()
    run = Run([program("many"), "threads", "4"], ["--sample-rate", "997", "--switches", "on"])
    by_thread = collections.defaultdict(list)
    for sample in run.within("thread_main"):
        by_thread[sample.tid].append(sample)
    if len(by_thread) != 4:
        return "threads %s" % {tid: len(s) for tid, s in by_thread.items()}
    times = ran(run.path)
    most = 0.33 + stolen() - before  # threads keep their processor meanwhile
    for tid, samples in by_thread.items():
        wrong = wrong_time(samples, 0.3, "thread %d" % tid)
        if wrong:
            return wrong
        if not 0.29 < times.get(tid, 0) < most:
            return "on a processor: %s" % times
    return not_listed(run, by_thread, times)


def not_listed(run, by_thread, times):
    """A thread that computes and never calls anything that is recorded is a thread all the same."""
    done = neurolens(["analyze", run.path, "--section", "threads", "--format", "json"])
    listed = {row["thread"]: row for row in json.loads(done.stdout)["result"]["threads"]}
    for tid, samples in by_thread.items():
        row = listed.get(tid)
        if not row or abs(row["on_cpu_ns"] / SECOND - times[tid]) > 1e-6 or row["samples"] < len(samples):
            return "thread %d is listed as %s" % (tid, row)
    return None


SWITCHING = 20e-6  # between a switch as the scheduler accounts it and as it is reported; 15 us were seen


def short_threads():
    """300 threads, each of which ends when its own clock says 0.1 ms. Of every stretch on a processor the switches are missing."""
    run = Run([program("many"), "short", "300"], ["--sample-rate", "997", "--switches", "on"])
    times = {int(r[0]): (int(r[1]) / SECOND, int(r[2])) for r in
             rows(run.path, "SELECT t.tid, sum(s.dur), count(*) FROM slices s JOIN lanes l ON l.id = s.lane JOIN threads t ON "
                            "t.id = l.thread WHERE s.kind = 'sched' GROUP BY 1")}
    unknown = [item for item in run.coverage if "lost" in item or "processor" in item]
    short = {tid: time for tid, time in times.items() if time[0] + SWITCHING * time[1] < 0.0001}
    if len(times) != 301 or short or sum(time for time, _ in times.values()) < 300 * 0.0001 or unknown:
        return "%d threads, too short %s, %s" % (len(times), short, run.coverage)
    return None


def sleeps():
    """A sleep is the time between two runs of the thread, to a millisecond, and is told as waiting."""
    run = Run([program("many"), "work", "0.1", "sleep", "0.3", "work", "0.1"], ["--switches", "on"])
    tid, before, after = [int(word) for word in run.done.stdout.split()]
    runs = [(int(r[0]), int(r[1]), int(r[2])) for r in
            rows(run.path, "SELECT s.ts, s.ts + s.dur, s.flags FROM slices s JOIN lanes l ON l.id = s.lane JOIN threads t ON "
                           "t.id = l.thread WHERE s.kind = 'sched' AND t.tid = %d ORDER BY 1" % tid)]
    gaps = [(b[0] - a[1], a[1], b[0], a[2]) for a, b in zip(runs, runs[1:])]
    longest, begin, end, flags = max(gaps)
    if not before <= begin <= before + 5000000 or not after - 20000000 <= end <= after or not flags & 16:
        return "asleep from %d to %d, flags %d; it says %d to %d" % (begin, end, flags, before, after)
    overlap = [a for a, b in zip(runs, runs[1:]) if b[0] < a[1]]
    return "runs overlap: %s" % overlap if overlap else None


def families():
    run = Run([program("many"), "fork", "0.3", "work", "0.2", "exec", "0.3"], ["--sample-rate", "997"])
    child = run.within("work_in_child")
    pids = {s.pid for s in child}
    # On its way to its work and back the child is in main and in the C library, never in the parent's work.
    beside = [s for s in run.samples if s.pid in pids and "work" in s.stack and s not in child]
    if len(pids) != 1 or beside:
        return "the child's samples are not its own: %s, %d of %d beside" % (pids, len(beside), len(child))
    parent = [s for s in run.samples if s.pid not in pids and "work" in s.stack]
    return (wrong_time(child, 0.3, "child") or wrong_time(parent, 0.5, "parent before and after exec"))


def plugins():
    path = program("plugin.so")
    run = Run([program("many"), "plugin", path, "work", "0.1", "plugin", path], ["--sample-rate", "997"])
    return wrong_time(run.within("plugin_work"), 0.6, "plugin")


def static():
    run = Run([program("static"), "0.5"], ["--sample-rate", "997"])
    return wrong_shares(run, [int(word) for word in run.done.stdout.split()])


# ---- what cannot be had, what is lost ----

def window():
    run = Run([program("many"), "work", "0.05", "sleep", "0.8", "work", "0.3"], ["--sample-rate", "997", "--delay", "500ms"])
    tid, before, after = [int(word) for word in run.done.stdout.split()]
    woken = before + SECOND * 4 // 5  # it may have to wait for a processor then
    early = [s for s in run.samples if s.ts < woken - SECOND // 200]
    if early or not before < after:
        return "samples before it, %s; asleep from %d to %d" % (early, before, after)
    pids = {s.pid for s in run.samples}
    return wrong_time(run.samples, 0.3, "inside") if pids == {tid} else "samples of %s, want %d alone" % (pids, tid)


def not_wanted():
    run = Run([program("nofp"), "0.2"], ["--sample-rate", "0", "--switches", "off"])
    return "%d samples" % len(run.samples) if run.samples or "CPU samples" in run.done.stderr else None


def forbid_perf():
    """As container run times do: perf_event_open fails with EPERM."""
    nr = {"x86_64": 298, "aarch64": 241}[platform.machine()]
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, nr), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    filters = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    program_of = struct.pack("=HxxxxxxQ", len(code), ctypes.addressof(filters))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.c_char_p(program_of), 0, 0):
        os._exit(99)


def forbidden():
    path = os.path.join(scratch(), "forbidden.nlt")
    done = subprocess.run([PROGRAM, "run", "-o", path, "--", program("nofp"), "0.2"], capture_output=True, text=True,
                          env=environment(scratch()), timeout=60, preexec_fn=forbid_perf)
    if done.returncode or "not recorded: CPU samples: perf_event_open is not permitted" not in done.stderr:
        return "status %d\n%s" % (done.returncode, done.stderr)
    return None if not Profile(path).samples else "samples"


def used_by(pid):
    """Processor time of a process so far, s."""
    with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
        words = file.read().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def started_by(pid, path):
    """The child that has become the program at `path`; the recorder asks git about the folder, too."""
    for _ in range(3000):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as file:
            for child in file.read().split():
                try:
                    if os.path.realpath("/proc/%s/exe" % child) == os.path.realpath(path):
                        return int(child)
                except OSError:
                    pass
        time.sleep(0.01)
    raise AssertionError("no program was started")


def wait_until_used(pid, seconds):
    """On a busy machine a second of a program takes many."""
    until = time.monotonic() + 100
    while used_by(pid) < seconds:
        if time.monotonic() > until:
            raise AssertionError("the program got no processor for %s s" % seconds)
        time.sleep(0.02)


def lost():
    """While the recorder does not run the rings fill: what is lost is counted, what comes later is there."""
    path = os.path.join(scratch(), "lost.nlt")
    recorder = subprocess.Popen([PROGRAM, "run", "-o", path, "--sample-rate", "5000", "--", program("nofp"), "3"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(scratch()))
    child = started_by(recorder.pid, program("nofp"))
    wait_until_used(child, 0.3)
    recorder.send_signal(signal.SIGSTOP)
    wait_until_used(child, used_by(child) + 1)
    recorder.send_signal(signal.SIGCONT)
    _, errors = recorder.communicate(timeout=120)
    profile = Profile(path)
    count = profile.coverage.get("lost: records of samples and switches", 0)
    if recorder.returncode or not count or "readings are missing" not in errors:
        return "status %d, %d lost\n%s" % (recorder.returncode, count, errors)
    times = sorted(s.ts for s in profile.samples)
    gap = max(range(1, len(times)), key=lambda i: times[i] - times[i - 1])
    late = len(times) - gap
    return None if late > 500 else Noise("%d samples later" % late)


SWITCHES = """
import os, resource, sys, threading, time
there, back = os.pipe(), os.pipe()
def other():
    while os.read(there[0], 1) == b"x":
        os.write(back[1], b"x")
thread, end = threading.Thread(target=other), time.monotonic() + float(sys.argv[1])
thread.start()
while time.monotonic() < end:
    for _ in range(100):
        os.write(there[1], b"x")
        os.read(back[0], 1)
os.write(there[1], b"q")
thread.join()
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_nvcsw + used.ru_nivcsw)  # a byte that is there already needs no switch
"""


def many_switches():
    """--switches auto gives up when they come too often, which it looks at twice a second, and says so; on records them all."""
    run = Run([sys.executable, "-c", SWITCHES, "3"], ["--python", "off"])
    told = run.coverage.get("context switches are recorded for the first moments alone")
    count, begin, end = map(int, rows(run.path, "SELECT count(*), min(ts), max(ts) FROM slices WHERE kind = 'sched'")[0])
    often = 2 * count * SECOND / (end - begin) / os.cpu_count()  # records a second and processor; the bound is 10,000
    if not told and often > 15000:
        return "not told, %d runs, %d a second" % (count, often)
    if told and count > 0.7 * int(run.done.stdout):
        return Noise("told, and yet %d runs of %s switches are there" % (count, run.done.stdout.strip()))
    run = Run([sys.executable, "-c", SWITCHES, "0.5"], ["--python", "off", "--switches", "on"])
    more, switched = int(rows(run.path, "SELECT count(*) FROM slices WHERE kind = 'sched'")[0][0]), int(run.done.stdout)
    if more > 0.97 * switched:
        return None
    lost = run.coverage.get("lost: records of samples and switches", 0)  # the recorder waited for a processor; silently none may go
    return (Noise if lost else str)("on: %d runs of %d switches, %d records lost" % (more, switched, lost))


def unprivileged():
    """As another user: programs are sampled, the kernel's part of their time is not where it may not be."""
    folder = os.path.join("/tmp", "neurolens-native-%d" % os.getpid())
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    try:
        path = os.path.join(folder, "run.nlt")
        shutil.copy(program("nofp"), os.path.join(folder, "shares"))
        done = subprocess.run(NOBODY + [PROGRAM, "run", "-o", path,
                               "--sample-rate", "997", "--", os.path.join(folder, "shares"), "0.5"], capture_output=True, text=True,
                              env=dict(environment(folder), HOME=folder), timeout=60)
        if done.returncode:
            return "status %d\n%s" % (done.returncode, done.stderr)
        profile = Profile(path)
        paranoid = int(open("/proc/sys/kernel/perf_event_paranoid", encoding="utf-8").read())
        told = "processor time in the kernel is not sampled" in profile.coverage
        if told != (paranoid > 1):
            return "paranoid %d, %s" % (paranoid, profile.coverage)
        return wrong_shares(profile, [int(word) for word in done.stdout.split()])
    finally:
        shutil.rmtree(folder, True)


def used(words):
    """Processor time of a command and its children, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, env=environment(scratch()), timeout=120)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise AssertionError(done.stderr)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cost():
    """Bare and sampled in turn: what a fixed amount of work costs. The number is for eyes, of --stacks fp where the test is
    asked for by its name; the bound is wide, since other programs share the machine."""
    best = {}
    for _ in range(7):
        for name, options in (("bare", None), ("default", [])) + ((("fp", ["--stacks", "fp"]),) if sys.argv[1:] else ()):
            path = os.path.join(scratch(), "cost.nlt")
            words = [program("work"), "200"]
            if options is not None:
                words = [PROGRAM, "run", "-q", "-o", path] + options + ["--"] + words
            done = subprocess.run(words, capture_output=True, text=True, env=environment(scratch()), timeout=120)
            best[name] = min(best.get(name, 1e9), float(done.stdout))
            if os.path.exists(path):
                os.unlink(path)
    print("    processor time of the program, to bare: " +
          ", ".join("%s %.4f" % (name, best[name] / best["bare"]) for name in best if name != "bare"))
    return None if best["default"] < 1.05 * best["bare"] else Noise(best)


def main():
    if not build():
        tally.skip("all", "no C compiler")
        tally.finish()
    probe = json.loads(neurolens(["doctor", "--format", "json"]).stdout)
    row = [row for row in probe["result"] if row["what"] == "CPU sampling"][0]
    if row["state"] != "ok":
        check("perf is not permitted", forbidden)
        tally.skip("the rest", "no perf events here: %s" % row)
        tally.finish()
    tests = [("by frame pointers", lambda: shares("fp", "fp")), ("by DWARF", lambda: shares("nofp", "dwarf")),
             ("frame pointers by DWARF", lambda: shares("fp", "dwarf")), ("callers by frame pointers", frame_pointers),
             ("cut stacks", cut_stacks), ("--stacks off", no_stacks), ("source lines", lines), ("a stripped program", stripped),
             ("no build id", no_build_id), ("a program that changed", changed), ("threads", threads),
             ("short threads", short_threads), ("a sleep", sleeps), ("fork and exec", families),
             ("libraries that come and go", plugins), ("a static program", static), ("a window", window),
             ("not wanted", not_wanted), ("perf is not permitted", forbidden), ("lost records", lost),
             ("too many switches", many_switches), ("what it costs", cost)]
    if os.path.exists(program("names")):
        tests.append(("C++ names", cplusplus))
    if platform.machine() == "x86_64":
        tests.append(("code made at run time", made_code))
        tests += [("Python %s in native stacks" % version, trampolines(python))
                  for version, python in interpreters().items()]
    if shutil.which("perf"):
        tests.append(("against perf", against_perf))
    if os.geteuid() == 0 and shutil.which("setpriv"):
        if subprocess.run(NOBODY + ["test", "-x", PROGRAM]).returncode == 0:
            tests.append(("another user", unprivileged))
        else:
            tally.skip("another user", "who may not run %s" % PROGRAM)
    for name, test in tests:
        if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
            check(name, test)
    tally.finish()


if __name__ == "__main__":
    main()
