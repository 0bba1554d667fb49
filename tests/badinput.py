#!/usr/bin/env python3
"""Inputs and surroundings that are wrong in the ways that happen: each gives a clear error or an
answer with coverage, in bounded time and memory."""
import atexit
import json
import os
import resource
import signal
import subprocess
import time

from harness import FIXTURES, PROGRAM, Tally, catches, environment, least, neurolens, one_line_error, scratch, wait_until

TRAIN = os.path.join(FIXTURES, "torch_cpu_train.json.gz")
tally = Tally("bad input")


def place(name, data=b""):
    path = os.path.join(scratch(), name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def refused(name, path, status=4, timeout=20, words=("info", "--no-cache")):
    result = neurolens(list(words) + [path], timeout=timeout)
    tally.check(name, result.status == status and one_line_error(result) and not result.stdout,
                result.describe())


def loads(name, path, timeout=30, preexec=None):
    result = neurolens(["info", "--no-cache", "--format", "json", path], timeout=timeout,
                       preexec=preexec)
    good = result.status == 0
    try:
        json.loads(result.stdout)
    except ValueError:
        good = False
    tally.check(name, good, result.describe())


def files():
    refused("empty file", place("empty.json"))
    refused("missing file", os.path.join(scratch(), "nothing-here.json"), status=4)
    refused("wrong magic", place("noise.bin", bytes(range(256)) * 64))
    refused("text that is no profile", place("letter.txt", b"Dear reader,\n" * 100))
    empty = os.path.join(scratch(), "empty-folder")
    os.makedirs(empty, exist_ok=True)
    refused("empty folder", empty)
    path = place("secret.json", b"{}")
    os.chmod(path, 0)
    if os.geteuid() != 0:
        refused("no permission", path)
        return
    # Root may read everything: become somebody who may not.
    os.chmod(scratch(), 0o755)
    try:
        result = neurolens(["info", path], preexec=lambda: os.setuid(65534))
    except (OSError, subprocess.SubprocessError):
        tally.skip("no permission", "root, and nobody may not run the program")
        return
    tally.check("no permission", result.status == 4 and "ermission" in result.stderr and
                one_line_error(result), result.describe())


def sparse():
    # In memory, where it can be had: what is read of a hole there takes no pages, which the kernel would have to clear first.
    folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else scratch()
    path = os.path.join(folder, "neurolens-sparse-%d.json" % os.getpid())
    atexit.register(lambda: os.path.exists(path) and os.unlink(path))
    with open(path, "wb") as file:
        file.truncate(4 << 30)
    refused("sparse file of 4 GiB", path)
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[\n{"ph":"X","ts":1,"dur":1,"pid":1,"tid":1,"name":"a"},\n')
        file.truncate(4 << 30)
    start = time.monotonic()
    result = neurolens(["info", "--no-cache", "--memory", "1GiB", path], timeout=300)  # half a minute on a busy machine
    tally.check("4 GiB of zeros behind a trace", result.status in (0, 4),
                "%.1f s, %s" % (time.monotonic() - start, result.describe()))
    os.unlink(path)


def event(**members):
    base = {"ph": "X", "ts": 10, "dur": 5, "pid": 1, "tid": 1, "name": "work"}
    base.update(members)
    return base


def trace(*events):
    return json.dumps({"schemaVersion": 1, "traceEvents": list(events)}).encode()


def limit_memory(gib):
    def apply():
        resource.setrlimit(resource.RLIMIT_AS, (gib << 30, gib << 30))
    return apply


def contents():
    deep = b"[" * 200000 + b"]" * 200000
    loads("deep nesting in an event", place("deep.json", trace(event(args={"a": 1})).replace(
        b'{"a": 1}', b'{"a": ' + deep + b'}') ))
    result = neurolens(["info", "--no-cache", place("alldeep.json", b"[" * 1000000)], timeout=20)
    tally.check("a million brackets", result.status == 4 and one_line_error(result),
                result.describe())
    path = os.path.join(scratch(), "long.json")
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[{"ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"name":"')
        for _ in range(200):
            file.write(b"x" * 1000000)
        file.write(b'"}]}')
    loads("a name of 200 million characters", path, timeout=60)
    os.unlink(path)
    loads("negative and overflowing times",
          place("times.json", trace(event(ts=-5), event(dur=-7), event(ts=1e30), event(dur=1e300),
                                    event(ts=9.3e15), event(ts="12"), event())))


def late_events():
    """Keys before the list of events may take more than the head by which a format is recognised."""
    events = [{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": i, "dur": 1} for i in range(9)]
    for key in ("otherData", "stackFrames"):
        before = {key: {str(i): {"name": "f%d" % i} for i in range(4000)}}
        path = place("late_%s.json" % key, json.dumps({"displayTimeUnit": "ms", **before, "traceEvents": events}).encode())
        result = neurolens(["info", "--no-cache", "--format", "json", path])
        tally.check("%s of %d KiB before the events" % (key, os.path.getsize(path) >> 10),
                    result.status == 0 and json.loads(result.stdout)["profile"]["slices"] == 9, result.describe())
    refused("much of it, and no events", place("none.json", json.dumps({"otherData": {str(i): "x" * 20 for i in range(4000)}}).encode()))


def disk_full():
    """The cache cannot be written: the answer comes anyway, and nothing is left behind."""
    ledger = os.path.join(scratch(), "full-ledger")

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))

    result = neurolens(["info", "--ledger", ledger, "torch.json"], cwd=unpacked(),
                       preexec=small_files)
    left = [n for _, _, names in os.walk(ledger) for n in names]
    tally.check("disk full while the cache is written", result.status == 0 and not left,
                "left: %s\n%s" % (left, result.describe()))
    output = os.path.join(scratch(), "answer.json")
    result = neurolens(["sql", "--no-cache", TRAIN, "SELECT * FROM ops", "--format", "json", "-o",
                        output], preexec=small_files)
    tally.check("disk full while -o is written",
                result.status == 5 and one_line_error(result) and not os.path.exists(output),
                result.describe())
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "sql", "--no-cache", TRAIN, "SELECT * FROM ops"],
                              env=environment(scratch()), stdin=subprocess.DEVNULL, stdout=full,
                              stderr=subprocess.PIPE, timeout=30)
    tally.check("standard output full", done.returncode == 5, done.stderr.decode())
    unwritable = neurolens(["info", "--ledger", "/proc/nowhere", TRAIN])
    tally.check("cache folder that cannot be made", unwritable.status == 0, unwritable.describe())


def unpacked():
    """A folder with an unpacked profile that is large enough to be cached."""
    import gzip
    folder = os.path.join(scratch(), "unpacked")
    os.makedirs(folder, exist_ok=True)
    with gzip.open(TRAIN) as packed:
        place("unpacked/torch.json", packed.read())
    return folder


def inputs_survive():
    path = os.path.join(unpacked(), "torch.json")
    before = os.stat(path)
    for name in (path, "torch.json", "./torch.json", "../unpacked/torch.json"):
        result = neurolens(["info", "--no-cache", "torch.json", "-o", name], cwd=unpacked())
        after = os.stat(path)
        same = (before.st_ino, before.st_size) == (after.st_ino, after.st_size)
        tally.check("-o %s is the input" % (name if name != path else "(absolute)"),
                    result.status == 2 and one_line_error(result) and same, result.describe())
    os.symlink("torch.json", os.path.join(unpacked(), "link.json"))
    result = neurolens(["info", "--no-cache", "torch.json", "-o", "link.json"], cwd=unpacked())
    tally.check("-o is a link to the input", result.status == 2, result.describe())
    result = neurolens(["info", "--no-cache", ".", "-o", "torch.json"], cwd=unpacked())
    tally.check("-o lies in the input folder", result.status == 2, result.describe())


def large_trace():
    """A file that takes a while to read."""
    path = os.path.join(scratch(), "large.json")
    one = json.dumps(event(name="op", cat="cpu_op")).encode()
    with open(path, "wb") as file:
        file.write(b'{"traceEvents":[' + one)
        block = (b",\n" + one) * 10000
        for _ in range(300):
            file.write(block)
        file.write(b"]}")
    return path


def interrupted(path, delay):
    """Ctrl-C so long after the program heeds it: (seconds until it has ended, what is wrong), or None when it was done before."""
    output = os.path.join(scratch(), "interrupted.json")
    process = subprocess.Popen([PROGRAM, "analyze", "--ledger", os.path.join(scratch(), "interrupted-ledger"), path, "-o", output],
                               env=environment(scratch()), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: catches(process.pid, signal.SIGINT) or process.poll() is not None)
    time.sleep(delay)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=20)
    took = time.monotonic() - start
    left = [n for n in os.listdir(scratch()) if n.startswith("interrupted.json")]
    if process.returncode == 0:
        for name in left:
            os.unlink(os.path.join(scratch(), name))
        return None
    good = process.returncode == 130 and not left and not stdout
    return took, "" if good else "status %s, left %s\n%s" % (process.returncode, left, stderr.decode())


def interruption():
    path = large_trace()
    for delay in (0.02, 0.1, 0.3, 0.6):
        ends = []

        def took():
            ends.append(interrupted(path, delay))
            return ends[-1][0] if ends[-1] and not ends[-1][1] else 0
        soonest = least(took, 0.5)
        if None in ends:
            tally.skip("Ctrl-C after %.2f s" % delay, "was done already")
            continue
        tally.check("Ctrl-C after %.2f s" % delay, soonest < 0.5 and not ends[-1][1], ends)
    os.unlink(path)


def closed_pipe():
    script = "'%s' sql --no-cache '%s' 'SELECT * FROM ops' | head -1" % (PROGRAM, TRAIN)
    done = subprocess.run(["bash", "-c", script], env=environment(scratch()),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=30)
    tally.check("closed pipe is quiet", not done.stderr, done.stderr.decode())


files()
sparse()
contents()
late_events()
disk_full()
inputs_survive()
interruption()
closed_pipe()
tally.finish()
