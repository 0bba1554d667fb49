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
import atexit
import contextlib
import gc
import os
import resource
import selectors
import shutil
import signal
import socket
import re
import subprocess
import sys
import tempfile
import threading
import time

TESTS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(TESTS)
FIXTURES = os.path.join(TESTS, "fixtures")
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells ignore it for what they start in the background
gc.disable()  # what scripts read is large and refers to itself nowhere: to search it for cycles doubles the time to read it
PROGRAM = os.path.abspath(os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens")))


def accepting(document, word=True, only=None):
    """What a test that keeps answers was asked: None to compare, else the WORD after --accept; True where `word` is false and none
    belongs there. To the list `only`, where there is one, go words without --accept: of what is compared. --help shows `document`, and
    anything else is an error: a slip must not look like a test that passed."""
    words = sys.argv[1:]
    if only is not None and words and not any(each.startswith("-") for each in words):
        only += words
        return None
    if words in (["--help"], ["-h"]):
        print(document)
        sys.exit(0)
    if words and (words[0] != "--accept" or len(words) != 1 + word):
        print("%s: unknown words %s; see --help" % (sys.argv[0], " ".join(words)), file=sys.stderr)
        sys.exit(2)
    return words[-1] if words and word else True if words else None


def is_brief():
    """Whether --brief is among the words, which is taken out: `make check` asks so for what answers soonest, `make test` for all."""
    found = "--brief" in sys.argv
    if found:
        sys.argv.remove("--brief")
    return found


def by_source(names):
    """{name: as its source has it} of names that linkers use, by c++filt of binutils; others are as they were."""
    known = {name: name for name in names}
    mangled = sorted(name for name in known if name and re.match("__?[ZR]", name))
    if mangled:
        done = subprocess.run(["c++filt", "-i"], input="\n".join(mangled), stdout=subprocess.PIPE, check=True, universal_newlines=True)
        known.update(zip(mangled, done.stdout.splitlines()))
    return known


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


def meant(command, difference):
    """The difference to what is kept, under the command that keeps the new answer: for a failure's details."""
    return "meant? then, when you have read what differs: %s\n%s" % (command, difference) if difference else ""


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


class ForkServer:
    """The program, loaded once and forked for each run (forkserver.c): of 5 ms of a run on a small file 2 are its start."""

    SHIM = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "libforkserver.so")
    MAX_BYTES = 60000  # of a request, and of what a pipe takes at once

    def __init__(self):
        self.link, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))
        self.server = subprocess.Popen([PROGRAM], cwd=scratch(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                                       env=dict(environment(scratch()), LD_PRELOAD=self.SHIM, FORKSERVER_SOCKET=str(theirs.fileno()), ASAN_OPTIONS=options))
        theirs.close()
        atexit.register(self.close)

    def close(self):
        """Its time and that of its children are this script's from then on."""
        self.link.close()
        self.server.wait()

    def number(self):
        answer = self.link.recv(4)
        if len(answer) < 4:
            raise RuntimeError("the server of forks ended: status %s" % self.server.wait())
        return int.from_bytes(answer, sys.byteorder, signed=True)

    def run(self, request, stdin, timeout):
        """What came of a request, as a Result."""
        status, out, err, late = self.run_raw(request, stdin, timeout)
        return Result(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), late)

    def run_raw(self, request, stdin, timeout):
        """What came of a request: its status, None when it was late; bytes of its outputs; whether it was late."""
        (ours_out, out), (ours_err, err) = os.pipe(), os.pipe()
        into = os.open(os.devnull, os.O_RDONLY) if stdin is None else self.filled(stdin)
        socket.send_fds(self.link, [request], [into, out, err])
        for each in into, out, err:
            os.close(each)
        pid, end, late = self.number(), time.monotonic() + timeout, False
        texts = {ours_out: bytearray(), ours_err: bytearray()}
        with selectors.DefaultSelector() as waiting:
            for each in texts:
                waiting.register(each, selectors.EVENT_READ)
            while waiting.get_map():
                ready = waiting.select(None if late else max(0.0, end - time.monotonic()))
                if not ready:
                    late = True
                    with contextlib.suppress(ProcessLookupError):  # it ended, and one of its own holds the pipes
                        os.kill(pid, signal.SIGKILL)
                for key, _ in ready:
                    more = os.read(key.fd, 1 << 16)
                    texts[key.fd] += more
                    if not more:
                        waiting.unregister(key.fd)
                        os.close(key.fd)
        status = os.waitstatus_to_exitcode(self.number())
        return None if late else status, bytes(texts[ours_out]), bytes(texts[ours_err]), late

    @staticmethod
    def filled(stdin):
        ours, theirs = os.pipe()
        os.write(theirs, stdin)
        os.close(theirs)
        return ours


_servers = threading.local()  # one per thread: each does one run at a time


def forked(arguments, timeout=60, cwd=None, stdin=None, extra=None):
    """As neurolens(), for scripts that ask much of small files: each run is a fork of one process. Not for what is measured: its time and
    memory count as this script's children's only in the end. Where the server is not built (another machine's program), as neurolens()."""
    home = scratch()
    request = fork_request(arguments, cwd or home, dict(environment(home), **(extra or {})), stdin)
    if not request or any(name.endswith("_OPTIONS") or name.startswith("LD_") for name in extra or {}):
        return neurolens(arguments, timeout, cwd, stdin, extra)
    return fork_server().run(request, stdin, timeout)


def fork_request(arguments, cwd, env, stdin=None):
    """What a ForkServer is asked with; None when that cannot be."""
    words = [PROGRAM] + list(arguments)
    texts = [cwd] + words + ["%s=%s" % each for each in env.items()]
    request = len(words).to_bytes(4, sys.byteorder) + b"".join(os.fsencode(text) + b"\0" for text in texts)
    return None if max(len(request), len(stdin or b"")) > ForkServer.MAX_BYTES or not os.path.exists(ForkServer.SHIM) else request


def fork_server():
    """This thread's."""
    if not hasattr(_servers, "mine"):
        _servers.mine = ForkServer()
    return _servers.mine


def least(measure, bound, times=5):
    """The least of what `measure` returns, and at once when it is below `bound`. For seconds, which a busy machine can only make
    more: what is truly slow is so each time."""
    best = measure()
    while best >= bound and times > 1:
        best, times = min(best, measure()), times - 1
    return best


class Noise(str):
    """What is wrong by a measurement that other programs can spoil: too long, too few in so much time. Nothing else is: what is
    lost, wrong or left behind is told as a plain text."""


def calmly(test, *words, times=5, **more):
    """What a test says is wrong, None when all is well. Noise is measured again: a real fault says the same each time."""
    for _ in range(times):
        problem = test(*words, **more)
        if not isinstance(problem, Noise):
            break
    return problem


def processor_seconds(run):
    """What `run` returns, and the processor time of the children that ended in it: what a busy machine does not change much."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return answer, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def wait_until(holds, seconds=60):
    """Whether `holds()` came true. The bound ends what hangs; what is waited for comes when the machine has time for it."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def status_of(pid, name):
    """A line of /proc/PID/status, or "" when the process is gone."""
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8", errors="replace") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(name + ":")), "")
    except OSError:
        return ""


def catches(pid, number):
    """Whether a process handles a signal by now; until then it would just end it. That it is blocked says nothing: who makes a
    thread has all of them blocked for a moment."""
    return bool(int(status_of(pid, "SigCgt") or "0", 16) >> (number - 1) & 1)


def one_line_error(result):
    """Does stderr hold exactly one line, and is it ours?"""
    lines = result.stderr.splitlines()
    return len(lines) == 1 and lines[0].startswith("neurolens: ")
