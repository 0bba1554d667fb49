#!/usr/bin/env python3
"""A run that is forked (harness.forked, forkserver.c) is the run that is started: what it says, how it ends, what it may see."""
import os
import resource
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from harness import FIXTURES, Tally, forked, neurolens  # noqa: E402

TRAIN = os.path.join(FIXTURES, "made_gpu_train.json.gz")
# The words, and what else the run gets.
ASKED = [
    (["--version"], {}), (["no-such-command"], {}), ([], {}), (["info", "nowhere"], {}), (["info", "\udcff\udc9b.json"], {}),
    (["analyze", "--no-cache", TRAIN], {}), (["analyze", "--no-cache", "--all", "--format", "json", TRAIN], {}),
    (["sql", "--no-cache", TRAIN], {"stdin": b"SELECT count(*) FROM slices;\nSELECT 1;\n"}), (["validate", "-"], {"stdin": b""}),
    (["validate", "-"], {"stdin": b"[" * 200000}), (["info", "--no-cache", os.path.basename(TRAIN)], {"cwd": FIXTURES}),
    (["info"], {"extra": {"NEUROLENS_LEDGER": "/nowhere", "COLUMNS": "60", "LC_ALL": "C"}}), (["analyze", "--format", "x" * 40000, TRAIN], {}),
]
FOREVER = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def parts(result):
    return result.status, result.stdout, result.stderr, result.timed_out


def server():
    return harness._servers.mine.server


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
        return file.read().split()


def main():
    tally = Tally("forkserver")
    if not os.path.exists(harness.ForkServer.SHIM):
        tally.skip("all", "no %s beside the program" % os.path.basename(harness.ForkServer.SHIM))
        tally.finish()
    for words, more in ASKED:
        started, forks = neurolens(words, **more), forked(words, **more)
        tally.check("says the same: %s" % (" ".join(words)[:60].encode("ascii", "replace").decode() or "no words"), parts(started) == parts(forks),
                    "started: %s\nforked: %s" % (started.describe(), forks.describe()))
    late = forked(["sql", "--no-cache", TRAIN, FOREVER], timeout=0.5)
    tally.check("what takes too long is ended", late.timed_out and late.status is None and not children(server().pid), late.describe())
    tally.check("the next run is not disturbed", parts(forked(["--version"])) == parts(neurolens(["--version"])))
    left = forked(["info", "--no-cache", TRAIN], extra={"HOME": "/nowhere"}), forked(["info", "--no-cache", TRAIN])
    tally.check("nothing is left of a run for the next", parts(left[1]) == parts(neurolens(["info", "--no-cache", TRAIN])))
    forked(["sql", "--no-cache", TRAIN, FOREVER.replace("FROM n)", "FROM n WHERE i < 3000000)")])
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = server().pid
    harness._servers.mine.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    tally.check("at its end its time is the script's, with that of its runs", after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime > 0.1 and
                not os.path.exists("/proc/%d" % pid))
    del harness._servers.mine
    forked(["--version"])
    os.kill(server().pid, signal.SIGKILL)
    server().wait()
    try:
        forked(["--version"])
        tally.fail("a server that died is an error", "no error")
    except (RuntimeError, OSError) as error:
        tally.ok("a server that died is an error (%s)" % type(error).__name__)
    tally.finish()


main()
