"""What the Python test scripts share: running the program, one line per test, a last line with sums.

    from harness import Tally, neurolens
    tally = Tally("robust")
    result = neurolens(["info", path], timeout=5)
    tally.check("prefix 3 KiB", result.status in (0, 4), "status %d" % result.status)
    tally.skip("tmpfs", "not root")
    tally.finish()          # prints the sums, exits 1 when any failed

The program is $NEUROLENS, or build/neurolens. Every run gets an empty home folder and a fixed
environment, so that nothing outside the test decides the outcome.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
FIXTURES = os.path.join(TESTS, "fixtures")
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what they start in the background
PROGRAM = os.path.abspath(os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens")))


class Tally:
    """Counts tests and prints one line for each; many like ones may be printed as one."""

    def __init__(self, part):
        self.part = part
        self.passed = self.failed = self.skipped = 0

    def ok(self, name):
        self.passed += 1
        print("ok %s: %s" % (self.part, name), flush=True)

    def fail(self, name, details=""):
        self.failed += 1
        for line in str(details).splitlines()[:40]:
            print("    " + line)
        print("FAIL %s: %s" % (self.part, name), flush=True)

    def skip(self, name, reason):
        self.skipped += 1
        print("skipped %s: %s: %s" % (self.part, name, reason), flush=True)

    def check(self, name, good, details=""):
        if good:
            self.ok(name)
        else:
            self.fail(name, details)
        return good

    def finish(self):
        print("%d passed, %d failed, %d skipped" % (self.passed, self.failed, self.skipped))
        sys.exit(1 if self.failed else 0)


class Result:
    def __init__(self, status, stdout, stderr, timed_out=False):
        self.status = status  # negative: killed by that signal
        self.stdout = stdout
        self.stderr = stderr
        self.timed_out = timed_out

    def describe(self):
        how = "timed out" if self.timed_out else "status %s" % self.status
        if self.status is not None and self.status < 0:
            how = "killed by " + signal.Signals(-self.status).name
        return "%s\nstdout: %s\nstderr: %s" % (how, self.stdout[-2000:], self.stderr[-4000:])


def environment(home):
    """A fixed environment around the folder `home`."""
    kept = {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS") or k == "PATH"}
    kept.update(
        HOME=home, TMPDIR=home, LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb", COLUMNS="100",
        TESTS=TESTS, FIXTURES=FIXTURES, NEUROLENS_CACHE_WRITE="foreground",  # nothing goes on when a command has ended
        PATH=os.path.dirname(PROGRAM) + os.pathsep + kept.get("PATH", "/usr/bin:/bin"),
    )
    return kept


_home = None


def has_terminal():
    """Whether a pseudo-terminal can be had; bare chroots have none."""
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False


def scratch():
    """A folder for the whole run, removed at its end."""
    global _home
    if _home is None:
        import atexit
        _home = tempfile.mkdtemp(prefix="neurolens-test-")
        atexit.register(shutil.rmtree, _home, True)
    return _home


def neurolens(arguments, timeout=60, cwd=None, stdin=None, extra=None, preexec=None):
    """Runs the program; never raises for what the program does."""
    home = scratch()
    env = environment(home)
    env.update(extra or {})
    try:
        done = subprocess.run([PROGRAM] + list(arguments), cwd=cwd or home, env=env,
                              input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              preexec_fn=preexec)
    except subprocess.TimeoutExpired as late:
        return Result(None, (late.stdout or b"").decode("utf-8", "replace"),
                      (late.stderr or b"").decode("utf-8", "replace"), True)
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"),
                  done.stderr.decode("utf-8", "replace"))


def one_line_error(result):
    """Does stderr hold exactly one line, and is it ours?"""
    lines = result.stderr.splitlines()
    return len(lines) == 1 and lines[0].startswith("neurolens: ")
