#!/usr/bin/env python3
"""Sampling of Python programs from outside, with every interpreter from 3.9 on that is found: python3, python3.N, the
system's (which has no libpython of its own file), and those of pyenv. What samples say is held against what the programs themselves count (tests/pysample/)."""
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import PROGRAM, TESTS, Noise, Tally, calmly, catches, environment, least, neurolens, scratch, wait_until  # noqa: E402

PROGRAMS = os.path.join(TESTS, "pysample")
DEF = os.path.join(os.path.dirname(TESTS), "src/capture/python/pylayout.def")
LINES_CHECK = os.path.join(os.path.dirname(PROGRAM), "tests/unit/pylinescheck")
DESCRIBED = (3, 13)  # from here on interpreters describe themselves
NOBODY = 65534
tally = Tally("pysample")


def interpreters():
    """{executable: (version, folder of headers)}, one per version and place."""
    names = ["python3", "/usr/bin/python3"] + ["python3.%d" % minor for minor in range(9, 15)]
    names += sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")))
    found = {}
    for name in names:
        try:
            done = subprocess.run([name, "-c", "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); "
                                   "print('%d.%d' % sys.version_info[:2]); print(sysconfig.get_path('include'))"],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
        except (OSError, subprocess.SubprocessError):
            continue
        executable, version, headers = done.stdout.decode().splitlines()
        version = tuple(int(part) for part in version.split("."))
        if version >= (3, 9):
            found[executable] = (version, headers)
    return found


def program(name):
    return os.path.join(PROGRAMS, name)


def sql(path, query):
    done = neurolens(["sql", "--no-cache", "--absolute", "--format", "json", path, query], timeout=120)
    if done.status != 0:
        raise AssertionError(done.describe())
    return json.loads(done.stdout)["result"]["rows"]


# Samples of native code are the matter of native/run.py.
QUIET = ("--native", "off", "--switches", "off")


def record(words, options=(), quiet=QUIET, **more):
    record.count += 1
    path = os.path.join(scratch(), "s%d.nlt" % record.count)
    done = neurolens(["run", "-o", path] + list(quiet) + list(options) + ["--"] + words, timeout=240, **more)
    return path, done


record.count = 0


def weights(path, where="1"):
    """{function: [samples, weight]} by the innermost frame."""
    rows = sql(path, "SELECT k.name, count(*), sum(s.weight) FROM samples s JOIN stacks k ON k.id = s.stack "
               "WHERE %s GROUP BY k.name" % where)
    return {name: [int(count), int(weight)] for name, count, weight in rows}


def inside(path, function, where="1"):
    """[samples, weight] with the function anywhere on the stack."""
    rows = sql(path, "WITH RECURSIVE below(node) AS (SELECT id FROM stacks WHERE name = '%s' UNION SELECT k.id FROM stacks k "
               "JOIN below ON k.parent = below.node) SELECT count(*), sum(s.weight) FROM samples s "
               "WHERE s.stack IN (SELECT node FROM below) AND %s" % (function, where))
    return [int(rows[0][0]), int(rows[0][1] or 0)]


def coverage(path):
    return {item: count for item, count in sql(path, "SELECT item, count FROM coverage")}


def share_problem(path, took):
    """Are the shares of heavy and light those that the program itself measured? Five standard deviations of the
    sample, which is reckoned from the weights."""
    heavy, light = inside(path, "heavy"), inside(path, "light")
    if heavy[0] + light[0] < 300:
        return Noise("%d and %d samples" % (heavy[0], light[0]))
    share = heavy[1] / (heavy[1] + light[1])
    want = took["heavy"] / (took["heavy"] + took["light"])
    squares = sql(path, "SELECT sum(1.0 * weight), sum(1.0 * weight * weight) FROM samples")[0]
    effective = float(squares[0]) ** 2 / float(squares[1])
    bound = 5 * (want * (1 - want) / effective) ** 0.5
    print("    share %.4f, want %.4f within %.4f, %d samples" % (share, want, bound, heavy[0] + light[0]))
    return None if abs(share - want) <= bound else "share %.4f, want %.4f within %.4f" % (share, want, bound)


def check(name, test, *args):
    try:
        problem = calmly(test, *args)
    except (AssertionError, IndexError, KeyError, ValueError, OSError, subprocess.SubprocessError) as wrong:
        problem = "%s: %s" % (type(wrong).__name__, wrong)
    tally.check(name, not problem, problem or "")


# ---- tables ----

def table():
    """{name: [a column's text per version from 3.9 on]} of pylayout.def."""
    rows = {}
    with open(DEF, encoding="utf-8") as file:
        for line in file:
            match = re.match(r"PYFIELD\((\w+),(.*)\)\s*(/\*.*)?$", line)
            if match:
                rows[match.group(1)] = [cell.strip() for cell in match.group(2).split(",")]
    return rows


def words_of(python):
    """The first words of the runtime structure of an interpreter, as it has them in its memory."""
    code = ("import ctypes; runtime = ctypes.c_char.in_dll(ctypes.pythonapi, '_PyRuntime'); "
            "print(*(ctypes.c_uint64 * 64).from_address(ctypes.addressof(runtime)))")
    return [int(word) for word in subprocess.run([python, "-c", code], stdout=subprocess.PIPE, check=True).stdout.split()]


def layout(python, version, headers):
    """The table agrees with the compiler's reading of the interpreter's headers."""
    told = os.path.join(scratch(), "offsets")
    done = subprocess.run([os.environ.get("CC", "cc"), "-w", "-I", headers, "-I", os.path.join(headers, "internal"),
                           program("offsets.c"), "-o", told], stderr=subprocess.PIPE)
    if done.returncode:
        return done.stderr.decode()
    want = dict(line.split() for line in subprocess.run([told], stdout=subprocess.PIPE, check=True).stdout.decode().splitlines())
    words = words_of(python)
    rows = table()
    if sorted(rows) != sorted(want):
        return "the table has %s, offsets.c has %s" % (sorted(rows), sorted(want))
    for name, cells in rows.items():
        cell = cells[version[1] - 9]
        if cell == "NONE" and name == "runtime_main" and version >= DESCRIBED:
            continue  # not needed: threads have their numbers there
        word = re.match(r"WORD\((\d+)\)", cell)
        got = 65535 if cell == "NONE" else words[int(word.group(1))] if word else int(cell)
        if got != int(want[name]):
            return "%s: %s, the headers say %s" % (name, got, want[name])
    return None


def lines(python):
    told = subprocess.Popen([python, program("lines.py")], stdout=subprocess.PIPE)
    done = subprocess.run([LINES_CHECK], stdin=told.stdout, stdout=subprocess.PIPE)
    told.wait()
    return None if done.returncode == 0 and not told.returncode else done.stdout.decode()


# ---- what samples say ----

def shares(python):
    path, done = record([python, program("shares.py"), "2"], ["--sample-rate", "2000"])
    if done.status != 0:
        return done.describe()
    return share_problem(path, json.loads(done.stdout.splitlines()[-1]))


def crowded(python):
    """A program that has half a processor: running samples weigh its processor time, not the time that it wanted one."""
    path, done = record([python, program("crowded.py"), "1"], ["--sample-rate", "800"])
    if done.status != 0:
        return done.describe()
    took = json.loads(done.stdout.splitlines()[-1])
    total, want = 0, sum(took.values())
    shares = {}
    for name in took:
        shares[name] = inside(path, name, "s.event = 'python'")[1] / 1e9
        total += shares[name]
    print("    %.3f s sampled of %.3f s on the processor, heavy %.3f of them, truly %.3f" % (
        total, want, shares["heavy"] / max(total, 1e-9), took["heavy"] / want))
    if not 0.9 * want < total < 1.05 * want:
        return Noise("%.3f s of samples that ran, %.3f s on the processor" % (total, want))
    return None if abs(shares["heavy"] / total - took["heavy"] / want) < 0.08 else Noise("shares %s, want %s" % (shares, took))


def kinds(python, version):
    part = 0.2
    path, done = record([python, program("kinds.py"), str(part)], ["--sample-rate", "800"])
    if done.status != 0:
        return done.describe()
    qualified = version >= (3, 11)
    names = ["in_c", "numbers", "takes_numbers", "inner", "outer", "worker", "made_at_run_time",
             "Model.Layer.forward" if qualified else "forward", "Model.größe" if qualified else "größe",
             "Model.大きさ" if qualified else "大きさ", "<lambda>"]
    for name in names:
        samples, weight = inside(path, name)
        if not part * 0.5e9 < weight < part * 3e9:
            return Noise("%s: %d samples, %d ns" % (name, samples, weight))
    asleep = inside(path, "sleeper", "s.event = 'python (waiting)'")
    awake = inside(path, "sleeper", "s.event = 'python'")
    if asleep[1] < part * 0.5e9 or awake[1] > asleep[1] / 5:
        return Noise("sleeper: waits %s, runs %s" % (asleep, awake))
    with open(program("kinds.py"), encoding="utf-8") as file:
        wanted = [number + 1 for number, line in enumerate(file) if "# the line that is looked for" in line][0]
    at = sql(path, "SELECT k.line, count(*) FROM samples s JOIN stacks k ON k.id = s.stack WHERE k.name = 'in_c' "
             "GROUP BY k.line ORDER BY 2 DESC")
    if int(at[0][0]) != wanted:
        return "line %s in a function written in C, want %d" % (at[:3], wanted)
    made = sql(path, "SELECT DISTINCT file FROM stacks WHERE name = 'made_at_run_time'")
    if made != [["<made in a test>"]]:
        return "made_at_run_time is in %s" % made
    lanes = sql(path, "SELECT count(DISTINCT s.lane) FROM samples s")[0][0]
    roots = sql(path, "SELECT DISTINCT name FROM stacks WHERE parent IS NULL AND id IN (SELECT stack FROM samples "
                "UNION SELECT parent FROM stacks)")
    strange = {row[0] for row in roots} - {"<module>", "_find_and_load", "Thread._bootstrap", "_bootstrap"}
    if int(lanes) < 3:
        return "%s lanes" % lanes
    return "roots: %s" % strange if any(name.startswith(("Model", "in_c", "spin")) for name in strange) else None


def deep(python):
    path, done = record([python, program("deep.py"), "900", "0.25"], ["--sample-rate", "400"])
    if done.status != 0:
        return done.describe()
    depth = ("WITH RECURSIVE d(node, depth) AS (SELECT id, 1 FROM stacks WHERE parent IS NULL UNION ALL SELECT k.id, "
             "d.depth + 1 FROM d JOIN stacks k ON k.parent = d.node) SELECT max(depth) FROM d "
             "JOIN samples s ON s.stack = d.node")
    got = int(sql(path, depth)[0][0])
    cut = [int(count) for item, count in coverage(path).items() if item.startswith("cut: call stacks")]
    if got == 1000 and cut == [1]:  # seen once, on a busy machine: read while the program unwinds, of two moments
        return Noise("900 calls: a stack without an end")
    if not 901 <= got <= 910 or any(item.startswith("cut") for item in coverage(path)):
        return "900 calls: depth %d, coverage %s" % (got, coverage(path))
    path, done = record([python, program("deep.py"), "3000", "0.25"], ["--sample-rate", "400"])
    cut = [count for item, count in coverage(path).items() if item.startswith("cut: call stacks")]
    got = int(sql(path, depth)[0][0])
    if done.status != 0 or got != 1000 or not cut or int(cut[0]) > 400:
        return "3000 calls: depth %d, coverage %s, %s" % (got, coverage(path), done.describe())
    return None if int(cut[0]) >= 20 else Noise("3000 calls: only %s stacks" % cut[0])


def churn(python):
    """Frames are never put together from two code objects."""
    path, done = record([python, program("churn.py"), "1.25"], ["--sample-rate", "2000"])
    if done.status != 0:
        return done.describe()
    rows = sql(path, "SELECT name, file, line FROM stacks WHERE name LIKE '%made_%' OR file LIKE '<file%'")
    if len(rows) < 200:
        return Noise("only %d frames" % len(rows))
    for name, file, line in rows:
        number = re.match(r"<file (\d+)>$", file or "")
        named = name.split(".")[0] in ("made_%s" % (number and number.group(1)), "<module>", "<listcomp>")
        if not number or not named:
            return "%s in %s" % (name, file)
        if line is not None and name != "<module>" and int(line) != int(number.group(1)):
            return "%s in %s: line %s" % (name, file, line)
    torn = coverage(path).get("Python samples whose stack could not be read", 0)
    whole = int(sql(path, "SELECT count(*) FROM samples")[0][0])
    print("    %d frames of code that comes and goes, %s of %d stacks unreadable" % (len(rows), torn, whole))
    return None if int(torn) * 20 < whole else Noise("%s of %d stacks could not be read" % (torn, whole))


def reuse(python):
    """Code that lies where other code was a moment ago is not taken for it."""
    path, done = record([python, program("reuse.py"), "2"], ["--sample-rate", "2000"])
    if done.status != 0:
        return done.describe()
    return share_problem(path, json.loads(done.stdout.splitlines()[-1]))


def forks(python):
    path, done = record([python, program("forks.py")], ["--sample-rate", "200"])
    if done.status != 5 or done.stdout != "7 0\n":
        return done.describe()
    for name in ("in_fork", "in_spawned", "after"):
        samples, weight = inside(path, name)
        if not 0.1e9 < weight < 1e9:
            return Noise("%s: %d samples, %d ns; %s" % (name, samples, weight, coverage(path)))
    processes = sql(path, "SELECT DISTINCT l.process FROM samples s JOIN lanes l ON l.id = s.lane")
    return None if len(processes) >= 3 else "processes: %s" % processes


def untouched(python):
    """The program sees nothing of it."""
    bare = subprocess.run([python, program("untouched.py"), "400000"], env=environment(scratch()), stdout=subprocess.PIPE)
    path, done = record([python, program("untouched.py"), "400000"], ["--python", "sample"])
    if done.status != 0:
        return done.describe()
    want, got = (json.loads(text)["sees"] for text in (bare.stdout, done.stdout))
    if want != got:
        return "bare %s, sampled %s" % (want, got)
    return None if inside(path, "work")[0] > 3 else Noise("no samples")


def overhead(python):
    """Processor time of the program, bare and sampled in turns."""
    ratios, rounds = [], 7
    for _ in range(rounds):
        bare = subprocess.run([python, program("untouched.py"), "400000"], env=environment(scratch()),
                              stdout=subprocess.PIPE)
        _, done = record([python, program("untouched.py"), "400000"], ["--python", "sample"])
        ratios.append(json.loads(done.stdout)["took"] / json.loads(bare.stdout)["took"])
        if min(ratios) < 1.05 and sum(ratio < 1.2 for ratio in ratios) > rounds // 2:
            break  # the median of all is below, too, whatever the others are
    middle = statistics.median(ratios)
    print("    processor time, sampled to bare: median %.3f, least %.3f, most %.3f of %d rounds"
          % (middle, min(ratios), max(ratios), len(ratios)))
    return None if min(ratios) < 1.05 and middle < 1.2 else Noise("ratios %s" % ratios)


def attach(python):
    target = subprocess.Popen([python, program("shares.py"), "2.3"], env=environment(scratch()), stdout=subprocess.PIPE)
    target.stdout.readline()
    path = os.path.join(scratch(), "attach.nlt")
    if os.path.exists(path):
        os.remove(path)
    done = neurolens(["run", "-o", path, "--sample-rate", "2000", "--pid", str(target.pid)], timeout=60)
    took = json.loads(target.stdout.read())
    if done.status != 0 or target.wait() != 0:
        return done.describe()
    if "1 process" not in done.stderr or "CPU samples: only in programs that neurolens starts" not in done.stderr:
        return done.stderr
    return share_problem(path, took)


# ---- what cannot be sampled ----

def run_attached(target, options, *more, **others):
    path = os.path.join(tempfile.mkdtemp(dir=scratch()), "a.nlt")
    return path, neurolens(["run", "-o", path, "--pid", str(target)] + list(options), timeout=60, *more, **others)


def attach_ends():
    """By the duration, by a signal; the process goes on."""
    target = subprocess.Popen([sys.executable, program("shares.py"), "60"], stdout=subprocess.PIPE)
    try:
        target.stdout.readline()
        results = []

        def took():
            before = time.monotonic()
            results.append(run_attached(target.pid, ["--duration", "500ms"]))
            return time.monotonic() - before
        soonest = least(took, 20)
        if any(done.status != 0 or not os.path.exists(path) for path, done in results) or not 0.45 < soonest < 20:
            return "%.1f s, %s" % (soonest, results[-1][1].describe())
        folder = tempfile.mkdtemp(dir=scratch())
        path = os.path.join(folder, "b.nlt")
        mine = subprocess.Popen([PROGRAM, "run", "-q", "-o", path, "--pid", str(target.pid)], env=environment(scratch()))
        # SIGINT is caught from the start; this one when the signals are the recorder's.
        wait_until(lambda: catches(mine.pid, signal.SIGUSR1) or mine.poll() is not None)
        time.sleep(0.4)
        mine.send_signal(signal.SIGINT)
        if mine.wait(timeout=30) != 0 or not os.path.exists(path):
            return "SIGINT: status %s" % mine.returncode
        if inside(path, "heavy")[0] < 10:
            return Noise("SIGINT: %d samples" % inside(path, "heavy")[0])
        if os.listdir(folder) != ["b.nlt"]:
            return "left: %s" % os.listdir(folder)
        return None if target.poll() is None else "the process ended: %s" % target.returncode
    finally:
        target.kill()
        target.wait()


def container():
    """A process in a PID namespace of its own: numbers of threads are those that are seen from outside."""
    inside_it = "import os, sys; os.execv(sys.executable, [sys.executable] + %r)" % [program("shares.py"), "60"]
    outer = subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-c", inside_it],
                             stdout=subprocess.PIPE)
    try:
        if outer.stdout.readline() != b"ready\n":
            return "unshare: status %s" % outer.wait()
        with open("/proc/%d/task/%d/children" % (outer.pid, outer.pid), encoding="ascii") as file:
            target = int(file.read().split()[0])
        path, done = run_attached(target, ["--duration", "500ms"])
        if done.status != 0:
            return done.describe()
        threads = sql(path, "SELECT DISTINCT t.tid FROM samples s JOIN lanes l ON l.id = s.lane JOIN threads t ON t.id = l.thread")
        if threads != [[target]]:
            return "threads %s, want %d" % (threads, target)
        return None if inside(path, "heavy")[0] > 20 else Noise("%d samples" % inside(path, "heavy")[0])
    finally:
        outer.kill()
        outer.wait()


def not_python():
    target = subprocess.Popen(["sleep", "60"])
    try:
        path, done = run_attached(target.pid, [])
        if done.status != 5 or "no Python interpreter" not in done.stderr or os.listdir(os.path.dirname(path)):
            return done.describe()
    finally:
        target.kill()
        target.wait()
    path, done = run_attached(target.pid, [])
    if done.status != 5 or "is not there" not in done.stderr:
        return done.describe()
    path, done = record(["sleep", "0.3"])
    if done.status != 0 or "Python" in done.stderr or any("Python" in item for item in coverage(path)):
        return "a program that is not Python: " + done.describe()
    return None


def not_permitted():
    target = subprocess.Popen([sys.executable, program("shares.py"), "60"], stdout=subprocess.PIPE)
    try:
        target.stdout.readline()
        place = tempfile.mkdtemp()
        os.chmod(place, 0o777)
        reachable = os.path.join(place, "neurolens")
        shutil.copy(PROGRAM, reachable)
        done = subprocess.run([reachable, "run", "-o", os.path.join(place, "p.nlt"), "--pid", str(target.pid)],
                              env=environment(place), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              preexec_fn=lambda: (os.setgroups([]), os.setgid(NOBODY), os.setuid(NOBODY)))
        text = done.stderr.decode()
        shutil.rmtree(place)
        return None if done.returncode == 5 and "not permitted" in text and "ptrace_scope" in text else text
    finally:
        target.kill()
        target.wait()


def no_proc(python):
    """Without /proc the program runs as ever, and why it was not sampled is told."""
    path = os.path.join(scratch(), "noproc.nlt")
    library = os.path.join(os.path.dirname(PROGRAM), "src/capture/libneurolens-capture.so")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", "umount -l /proc || exit 99; exec \"$@\"", "sh", PROGRAM, "run", "-o", path,
                           "--native", "off", "--", python, "-c", "import sys, time; time.sleep(0.3); sys.exit(7)"],
                          env=dict(environment(scratch()), NEUROLENS_CAPTURE_LIBRARY=library), stderr=subprocess.PIPE, timeout=60)
    text = done.stderr.decode()
    return None if done.returncode == 7 and "Python samples: /proc cannot be read here" in text else "%d: %s" % (done.returncode, text)


def denied(python):
    """What containers deny to the recorder: the program runs as ever, and the report says what would allow it."""
    box = os.path.join(scratch(), "sandbox")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", os.path.join(TESTS, "record/sandbox.c"), "-o", box], check=True)
    path = os.path.join(scratch(), "denied.nlt")
    done = subprocess.run([box, "process_vm_readv", "perf_event_open", "pidfd_open", "ptrace", "--", PROGRAM, "run", "-o", path, "--",
                           python, "-c", "import sys, time; time.sleep(0.3); sys.exit(7)"],
                          env=environment(scratch()), stderr=subprocess.PIPE, timeout=60)
    text = done.stderr.decode()
    if done.returncode == 5 and "seccomp" in text:
        return None
    good = done.returncode == 7 and "CAP_SYS_PTRACE" in text and "CAP_PERFMON" in text
    told = coverage(path)
    if good and told == {"not recorded: Python samples": 1, "not recorded: CPU samples": 1}:
        return None
    return "%d: %s; coverage %s" % (done.returncode, text, told)


def hostile():
    """Rubbish in place of an interpreter's structures is refused or counted; nothing crashes or hangs."""
    built = os.path.join(scratch(), "hostile")
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-rdynamic", program("hostile.c"), "-o", built], check=True)
    for version in ("0x030b07f0", "0x030c01f0", "0x030d00f0", "0x030e00f0", "0x030f00f0", "0x030c00a1", "0"):
        known = version[:6] in ("0x030b", "0x030c", "0x030d", "0x030e") and version[-2] == "f"
        path, done = record([built, version, "750" if known else "150"], ["--sample-rate", "4000"])
        if done.status != 9 or not os.path.exists(path):
            return "%s: %s" % (version, done.describe())
        refused = [row[0] for row in sql(path, "SELECT detail FROM coverage WHERE item = 'not recorded: Python samples'")]
        print("    %s: %s samples, %s" % (version, sql(path, "SELECT count(*) FROM samples")[0][0], refused or coverage(path)))
        if not known and not any("is not known" in text or "version for tests" in text for text in refused):
            return "%s: %s" % (version, refused)
    return None


def window(python):
    """--delay and --duration hold for samples."""
    path, done = record([python, program("shares.py"), "1.25"], ["--delay", "250ms", "--duration", "500ms"])
    first, last, weight = (int(value) for value in sql(path, "SELECT min(ts), max(ts), sum(weight) FROM samples "
                                                       "WHERE event = 'python'")[0])
    begin = int(sql(path, "SELECT min(ts) FROM counters")[0][0])
    good = done.status == 0 and last - first < 0.7e9 and weight < 0.75e9 and first >= begin - 0.1e9
    return None if good else Noise("from %d to %d, weight %d, %s" % (first - begin, last - begin, weight, done.describe()))


def too_old(python):
    path, done = record([python, "-c", "import time; time.sleep(0.3)"], ["--python", "sample"])
    if done.status != 0 or not re.search("Python samples: CPython before 3.9 is not known", done.stderr):
        return done.describe()
    return None if coverage(path) == {"not recorded: Python samples": 1} else str(coverage(path))


def wrong_words():
    for words, text in ((["--pid", "1", "--", "true"], "not both"), (["--pid", "99999999999"], "no process"),
                        (["--pid", "1", "--steps", "1:2"], "--steps"), (["--pid", "1", "--python", "off"], "samples alone"),
                        ([], "--pid PID"), (["--sample-rate", "100000", "--", "true"], "--sample-rate"),
                        (["--sample-rate", "-1", "--", "true"], "--sample-rate"),
                        (["--native", "no", "--", "true"], "--native"), (["--sample", "9", "--", "true"], "unknown option")):
        done = neurolens(["run", "-o", os.path.join(scratch(), "w.nlt")] + words)
        if done.status != 2 or text not in done.stderr:
            return "%s: %s" % (words, done.describe())
    return None


def native_works():
    """Can the kernel's samples be had here?"""
    found = json.loads(neurolens(["doctor", "--format", "json"]).stdout)
    return any(row["what"] == "CPU sampling" and row["state"] == "ok" for row in found["result"])


def modes(python):
    """--python, --native and --sample-rate: which kinds of samples there are."""
    spin = "import time\nend = time.process_time() + 0.25\nwhile time.process_time() < end: pass"  # on a busy machine, too
    of_native = native_works()
    for options, of_python, native in (([], True, True), (["--python", "sample"], True, True), (["--python", "trace"], False, True),
                                       (["--python", "off"], False, True), (["--sample-rate", "0"], False, False),
                                       (["--native", "off"], True, False), (["--native", "off", "--python", "off"], False, False),
                                       (["--python", "trace", "--sample-rate", "80"], True, True),
                                       (["--python", "trace", "--sample-rate", "80", "--native", "off"], True, False)):
        path, done = record([python, "-c", spin], options, quiet=())
        counts = {True: 0, False: 0}
        for event, count in sql(path, "SELECT event, count(*) FROM samples GROUP BY event"):
            counts[event.startswith("python")] += int(count)
        wanted = (of_python, native and of_native)
        if done.status != 0 or "not recorded: Python" in done.stderr:
            return "%s: %s" % (options, done.describe())
        for got, want in zip((counts[True], counts[False]), wanted):
            if (got > 5) != want or (got and not want):
                return "%s: %s samples of Python and of native code, want %s\n%s" % (options, counts, wanted, done.stderr)
    path, done = record([python, "-c", spin], ["--python", "sample"])
    if "Python samples: " not in done.stderr:
        return done.stderr
    shown = neurolens(["analyze", "--no-cache", "--format", "json", "--section", "cpu_samples", path], timeout=60)
    wanted = all(text in shown.stdout for text in ('"<module>"', '"ns"', '"python"'))
    return None if shown.status == 0 and wanted else shown.describe()


def main():
    only = sys.argv[1:]
    if "PYTHONDONTWRITEBYTECODE" not in os.environ:
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    found = interpreters()
    every = "NEUROLENS_EVERY_PYTHON" in os.environ or only
    some = {min(found, key=lambda one: found[one][0]), max(found, key=lambda one: found[one][0])} if found else set()
    for python, (version, headers) in found.items():
        label = "%d.%d" % version
        if only and label not in only:
            continue
        if os.path.exists(os.path.join(headers, "internal", "pycore_runtime.h")):
            check("%s: layout" % label, layout, python, version, headers)
        else:
            tally.skip("%s: layout" % label, "no headers")
        check("%s: lines" % label, lines, python)
        if not every and python not in some:
            tally.skip("%s: the rest" % label, "the oldest and the newest do; NEUROLENS_EVERY_PYTHON=1 or tools/test_frameworks.sh")
            continue
        check("%s: shares" % label, shares, python)
        check("%s: a shared processor" % label, crowded, python)
        check("%s: kinds" % label, kinds, python, version)
        check("%s: deep" % label, deep, python)
        check("%s: churn" % label, churn, python)
        check("%s: reuse" % label, reuse, python)
        check("%s: forks" % label, forks, python)
        check("%s: untouched" % label, untouched, python)
        check("%s: attach" % label, attach, python)
    if not found:
        tally.skip("all", "no interpreter from 3.9 on")
    if found and (not only or "rest" in only):
        python = next(iter(found))
        check("modes", modes, python)
        check("attach ends", attach_ends)
        check("not Python", not_python)
        for old in sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.[678].*/bin/python3"))):
            check("too old: %s" % old.split(os.sep)[-3], too_old, old)
        check("window", window, python)
        check("wrong words", wrong_words)
        check("hostile", hostile)
        check("denied system calls", denied, python)
        if os.getuid() == 0:
            check("container", container)
            check("no /proc", no_proc, python)
            check("not permitted", not_permitted)
        else:
            tally.skip("not permitted", "not root")
        check("overhead", overhead, python)
    tally.finish()


main()
