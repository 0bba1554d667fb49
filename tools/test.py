#!/usr/bin/env python3
"""Everything that must hold, in one run, as many parts at a time as the machine carries.

    tools/test.py             all parts (`make test`)
    tools/test.py --check     those that answer within a minute (`make check`)
    tools/test.py --quick [S] of these as many as end within S (15) seconds, the nearest to what was changed first (`make quick`)
    tools/test.py WORD...     the parts whose name contains a WORD, and the builds that they need
    tools/test.py --list      the parts, with what they need
    tools/test.py --times N   every chosen part N times: what fails once in N is flaky

A part is a program that prints one line per test (`ok …`, `FAIL …`, `skipped …: reason`, details
indented above a FAIL) and ends with `N passed, N failed, N skipped`. A line per part is shown, and what
failed; that again and what was skipped, with its reason, stand at the end. The last line is the sum
over the parts. The exit status is 1 when anything failed.

A part that measures (`quiet`) and failed, or that was not done in time, runs once more at the end, with nothing beside it: its
second answer counts, and the summary shows the first. A fault fails again; what other programs spoiled does not.

A script of tests/ that has no row here runs with the defaults, so that a new one cannot be forgotten.

  CC_GCC, CC_CLANG   the compilers (gcc, clang)
  WERROR             true (default) or false: warnings are errors
  JOBS               cores to use (default: all)
  FUZZ_MADE          inputs that each fuzz target makes of those that are kept (default 150)
"""
import argparse
import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import nearness

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)
GCC = os.environ.get("CC_GCC", "gcc")
CLANG = os.environ.get("CC_CLANG", "clang")
WERROR = "-Dwerror=" + os.environ.get("WERROR", "true")
PYTHON = sys.executable or "python3"  # itself: "python3" may be a script that looks for one, at each start
CORES = int(os.environ.get("JOBS") or os.cpu_count() or 1)
VERBOSE = "--verbose" in sys.argv
QUICK_S = 15.0
MIN_AFTER_BUILD_S = 8.0  # that a quick run has left for tests
SUMS = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
NO_PARTS = {"harness.py", "growthtables.py", "publicschema.py", "hta_read.py", "onnxmodel.py", "vt.py", "mock_torch.py", "profile_oracle.py", "races.py", "plantedsteps.py", "parquetread.py", "arrowread.py",
            "jsonsums.py", "answertraces.py", "mixedtraces.py"}
NO_ORACLES = {"oracle.py", "protowire.py"}

# name: cores it keeps busy, seconds it may take, and what else there is to know.
#   check   belongs to `make check`
#   brief   `make check` and `make quick` run it with --brief
#   quiet   measures time, or how often something was seen: no compiler runs beside it
#   env     variables, arg…  arguments
ROWS = {
    "query": dict(path="tests/query/run.py", check=True),
    "cli": dict(path="tests/cli/run.py", check=True),
    "golden_run": dict(path="tests/golden_run/run.py", check=True),
    "corpus": dict(path="tests/corpus_expect/run.py", check=True),
    "parity": dict(path="tests/parity/run.py", check=True),
    "sums": dict(path="tests/sums/run.py", check=True, brief=True),
    "altered": dict(path="tests/altered/run.py", check=True, brief=True),
    "plans": dict(check=True),
    "readme": dict(check=True),
    "generators": dict(limit=600),
    "badinput": dict(limit=600),
    "ledger": dict(cores=0.5, limit=900),
    "membudget": dict(limit=600),
    "reopen": dict(limit=600),
    "hostile": dict(limit=600),
    "wholefuzz": dict(limit=900),
    "nltfile": dict(limit=900),
    "archives": dict(quiet=True),
    "sandbox": dict(limit=600, quiet=True),
    "growth": dict(quiet=True, limit=1200),
    "top": dict(cores=0.5, quiet=True),
    "bench": dict(cores=1, quiet=True),
    "record": dict(path="tests/record/run.py", cores=0.5, quiet=True, limit=600),
    "record_gpu": dict(cores=0.5, quiet=True),
    "record_rocm": dict(cores=0.5, quiet=True),
    "native": dict(path="tests/native/run.py", cores=0.5, quiet=True, limit=600),
    "python": dict(path="tests/python/run.py", cores=0.5, quiet=True, limit=900),
    "pysample": dict(path="tests/pysample/run.py", cores=0.5, quiet=True, limit=900),
    "profile": dict(cores=1, quiet=True, limit=600),
    "profile_tensorrt": dict(cores=0.5, quiet=True),
    "profile_torch": dict(cores=1, quiet=True, limit=600),
    "gaterecordings": dict(cores=1, quiet=True, limit=600),
    "exports": dict(limit=600),
    "open_real": dict(cores=1.5, limit=600),
    "page": dict(cores=1.5, limit=900),
    "check": dict(limit=600),
}
SANITIZED = {"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allocator_may_return_null=1",
             "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1", "TSAN_OPTIONS": "halt_on_error=1"}


class Part:
    """One thing to run. `needs` is the name of the build it runs on; `makes` the one it makes."""

    def __init__(self, name, command, needs="build", makes=None, cores=1.0, limit=300, check=False, quiet=False, env=None, brief=False):
        self.name, self.command, self.needs, self.makes = name, command, needs, makes
        self.cores, self.limit, self.check, self.quiet = min(cores, CORES), limit, check, quiet
        self.env = dict(env or {})
        self.brief = brief
        self.state, self.seconds, self.sums, self.lines = "waits", 0.0, (0, 0, 0), []
        self.used = 0.0  # seconds of processor time, with those of its children that were waited for
        self.late = False
        self.cut = False  # ended in the middle, as the time for all was up
        self.first = []  # what its first run said, where it ran again alone


def has_fuzzer():
    return bool(subprocess.run(["tools/fuzz.sh", "flags"], stdout=subprocess.PIPE).stdout.strip())


def build_parts():
    """The builds; the first compiles with all cores, as everything waits for it. Where clang makes the one with sanitizers, that holds
    the code to clang's warnings and linker too; else a build of its own does, on which nothing runs, so that it need not optimise.
    Sanitizers need the lines of functions, not what a debugger needs. To optimise instrumented code costs more than it saves, but
    in the lowest rooms (meson.build). At a fixed address a program of many globals starts sooner: nothing is relocated."""
    few_symbols = ["-Doptimization=0", "-Ddebug=true"]
    asan = few_symbols + [WERROR, "-Dc_args=-g1 -fno-sanitize-recover=all", "-Db_sanitize=address,undefined", "-Db_lundef=false"]
    half = max(1, CORES // 2)  # much waits for it, too
    quick_linker = {"CC_LD": "gold"} if shutil.which("ld.gold") else {}
    rows = [("build", GCC, [WERROR], CORES, True, {})]
    if has_fuzzer():
        rows += [("build-asan", CLANG, asan + ["-Dfuzz=true", "-Db_pie=false", "-Dc_link_args=-no-pie"], half, False, quick_linker)]
    else:
        rows += [("build-asan", GCC, asan, half, False, quick_linker),
                 ("build-clang", CLANG, [WERROR, "-Doptimization=0"], 1, False, {})]
    # clang makes it in a fifth less of the processor's time than gcc, and what it makes runs in less than half of it.
    rows += [("build-tsan", CLANG if has_fuzzer() else GCC, few_symbols + ["-Dc_args=-g1", "-Db_sanitize=thread", "-Db_lundef=false"], 1,
              False, dict(quick_linker if has_fuzzer() else {}, TARGETS="neurolens"))]
    for folder, compiler, flags, jobs, check, env in rows:
        yield Part(folder + " with " + os.path.basename(compiler), ["tools/build.sh", folder, compiler, str(jobs)] + flags,
                   needs=None, makes=folder, cores=jobs, limit=1500, check=check, env=env)


def unit_parts(build, prefix, check):
    folder = os.path.join("tests", "unit")
    for name in sorted(n[:-2] for n in os.listdir(folder) if n.startswith("test_") and n.endswith(".c")):
        yield Part(prefix + name, [os.path.join(build, folder, name)], needs=build, check=check, limit=240 if check else 600)


def script_parts():
    """Every script of tests/ and tests/oracle/, with its row where it has one."""
    scripts = {n[:-3]: os.path.join("tests", n) for n in sorted(os.listdir("tests")) if n.endswith(".py") and n not in NO_PARTS}
    scripts.update({name: row["path"] for name, row in ROWS.items() if "path" in row})
    env = {"NEUROLENS": os.path.join(ROOT, "build", "neurolens")}
    for name, path in scripts.items():
        row = {k: v for k, v in ROWS.get(name, {}).items() if k != "path"}
        yield Part(name, [PYTHON, path], env=env, **row)
    for name in sorted(os.listdir("tests/oracle")):
        if name.endswith(".py") and name not in NO_ORACLES and not name.startswith("_"):
            yield Part("oracle " + name[:-3], [PYTHON, "tests/oracle/" + name], env=env, limit=600)


def sanitizer_parts():
    env = {"NEUROLENS": os.path.join(ROOT, "build-asan", "neurolens")}
    # All of the corpus in one program; of its formats those with most tables by the commands, too.
    words = {"corpus": ["chrome", "nsys"], "robust": ["--flips", "100", "--cuts", "4"], "altered": ["times", "nibbled", "--brief"]}
    for name, limit in (("corpus_in_one", 300), ("corpus", 600), ("altered", 600), ("recordings", 300), ("robust", 600)):
        path = ROWS.get(name, {}).get("path", "tests/%s.py" % name)
        yield Part("sanitizers: " + name, [PYTHON, path] + words.get(name, []), needs="build-asan", limit=limit,
                   env=dict(env, ROBUST_LIMIT_S="20"))
    yield from unit_parts("build-asan", "sanitizers: ", False)
    if has_fuzzer():
        for name in fuzz_targets():
            yield Part("fuzz " + name, ["tools/fuzz.sh", "build-asan", "fixed", name], needs="build-asan",
                       env={"FUZZ_MOST_SECONDS": "10"})
    yield Part("threads: four workers", ["tools/four_threads.sh", "build-tsan/neurolens"], needs="build-tsan", cores=2)


def fuzz_targets():
    """As fuzz/meson.build makes them: two lists of names, and a program per fuzz_*.c."""
    with open("fuzz/meson.build", encoding="utf-8") as file:
        text = file.read()
    lists = re.findall(r"^fuzz_(?:formats|databases)\s*=\s*\[(.*?)\]", text, re.M | re.S)
    names = {name for each in lists for name in re.findall(r"'(\w+)'", each)}
    names |= {n[len("fuzz_"):-2] for n in os.listdir("fuzz") if n.startswith("fuzz_") and n.endswith(".c")}
    return sorted(names)


def all_parts():
    """In the order in which they start, as far as cores allow."""
    yield Part("lint", [PYTHON, "tools/lint.py"], needs=None, cores=0.5, check=True)
    builds = list(build_parts())
    yield builds[0]
    scripts = list(script_parts())
    yield from (part for part in scripts if part.check)
    yield from unit_parts("build", "unit ", True)
    yield from builds[1:]
    # The longest first, so that none runs alone at the end. Those that measure wait a good part of their time: they start as soon as
    # no compiler runs, two at a time, and what computes runs beside them.
    scripts.sort(key=lambda part: (not part.quiet, -part.limit))
    yield from (part for part in scripts if not part.check)
    yield from sanitizer_parts()


class Driver:
    """Starts parts while their builds are there and cores are free; prints each when it ends."""

    def __init__(self, parts, until=None):
        """`until`: when all ends, by time.monotonic(); None: when all is done."""
        self.parts, self.lock, self.until = parts, threading.Condition(), until
        # Parts wait for disks and for each other a good part of their time.
        self.free = CORES + 0.5
        self.built, self.broken, self.children = set(), set(), set()

    def is_blocked(self, part):
        """Its build is there, but not enough cores: what stands after it in the list waits, too, so that a part
        that wants all cores is not passed by for ever."""
        running = any(p.state == "runs" for p in self.parts)
        return (not part.needs or part.needs in self.built) and running and part.cores > self.free + 1e-9

    def remains(self, part):
        """Seconds that a part may still take; a build takes what it needs, and what waits for one has time when it is there."""
        is_timed = self.until is not None and not part.makes and (not part.needs or part.needs in self.built)
        return min(part.limit, self.until - time.monotonic()) if is_timed else part.limit

    def may_start(self, part):
        running = [p for p in self.parts if p.state == "runs"]
        if part.needs and part.needs not in self.built:
            return False
        if part.quiet:
            return not any(p.makes for p in running) and sum(p.quiet for p in running) < max(1, CORES // 2) + 1
        return not (part.makes and any(p.quiet for p in running))

    def run(self):
        with self.lock:
            while any(p.state in ("waits", "runs") for p in self.parts):
                for part in self.parts:
                    if part.state == "waits" and self.remains(part) <= 0:
                        part.state = "left"
                    elif part.state == "waits" and part.needs in self.broken:
                        self.end(part, 0, ["skipped %s: %s does not compile" % (part.name, part.needs)], (0, 0, 1))
                    elif part.state == "waits" and self.is_blocked(part):
                        break
                    elif part.state == "waits" and self.may_start(part):
                        part.state = "runs"
                        self.free -= part.cores
                        threading.Thread(target=self.work, args=(part,), daemon=True).start()
                if any(p.state == "runs" for p in self.parts):
                    self.lock.wait()

    def work(self, part):
        began = time.monotonic()
        status, text, part.used = self.execute(part)
        lines, sums = self.understand(part, status, text)
        with self.lock:
            self.free += part.cores
            if part.makes:
                (self.built if not status else self.broken).add(part.makes)
                if self.until is not None:
                    self.until = max(self.until, time.monotonic() + MIN_AFTER_BUILD_S)
            self.end(part, time.monotonic() - began, lines, sums)
            self.lock.notify_all()

    def understand(self, part, status, text):
        """The lines of a part that are worth keeping, and its sums; a part that was killed or said nothing has failed."""
        lines = text.splitlines()
        found = [SUMS.match(line) for line in lines]
        sums = next((tuple(map(int, m.groups())) for m in reversed(found) if m), None)
        lines = [line for line, m in zip(lines, found) if not m and (line.startswith(("ok ", "FAIL ", "skipped ", "    ")) or status)]
        part.late = status == "late"
        if part.late and self.until is not None and time.monotonic() >= self.until:
            part.late, part.cut = False, True
            return lines, tuple(sum(line.startswith(word) for line in lines) for word in ("ok ", "FAIL ", "skipped "))
        if part.late:
            lines.append("FAIL %s: not done after %d s" % (part.name, part.limit))
        elif status and not (sums and sums[1]):
            lines.append("FAIL %s: exit %s" % (part.name, status))
        if sums is None:
            sums = (0, 1, 0) if status else (1, 0, 0)
            lines += [] if status else ["ok " + part.name]
        elif status and not sums[1]:
            sums = (sums[0], 1, sums[2])
        return lines, sums

    def run_again_alone(self):
        """What measures and failed, or was late, once more while nothing else runs."""
        for part in [p for p in self.parts if p.sums[1] and (p.quiet or p.late)]:
            print("again, alone: " + part.name, flush=True)
            part.first, began = list(failures(part)), time.monotonic()
            status, text, part.used = self.execute(part)
            lines, sums = self.understand(part, status, text)
            self.end(part, time.monotonic() - began, lines, sums)

    def execute(self, part):
        with tempfile.TemporaryFile() as log:
            try:
                child = subprocess.Popen(part.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                         env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **SANITIZED, **part.env),
                                         start_new_session=True)
            except OSError as error:
                return 127, str(error), 0.0
            self.children.add(child.pid)
            late = threading.Event()
            timer = threading.Timer(max(0, self.remains(part)), self.end_late, (child.pid, late))
            timer.start()
            _, status, usage = os.wait4(child.pid, 0)
            timer.cancel()
            child.returncode = os.waitstatus_to_exitcode(status)
            self.children.discard(child.pid)
            log.seek(0)
            return ("late" if late.is_set() else child.returncode, log.read().decode("utf-8", "replace"),
                    usage.ru_utime + usage.ru_stime)

    @staticmethod
    def end_late(pid, late):
        late.set()
        try:
            os.killpg(pid, signal.SIGKILL)
        except OSError:
            pass

    @staticmethod
    def end(part, seconds, lines, sums):
        part.state, part.seconds, part.lines, part.sums = "done", seconds, lines, sums
        shown = [line for line in lines if not line.startswith(("ok ", "skipped "))]
        if sums[1] == 0:
            shown.append("%s %s: %d passed%s, %.0f s, %.0f of the processor" %
                         ("cut short" if part.cut else "ok", part.name, sums[0], ", %d skipped" % sums[2] if sums[2] else "", seconds, part.used))
        print("\n".join(lines if VERBOSE else shown), flush=True)

    def stop(self):
        for pid in list(self.children):
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                pass


def failures(part):
    """The FAIL lines of a part with the details above each."""
    details = []
    for line in part.lines:
        if line.startswith("FAIL "):
            yield from details[-40:]
            yield line
        details = details + [line] if line.startswith("    ") else []


def group_of(part):
    """What a part's processor time is summed up under: builds, kinds of parts that are many, the dearest by their names."""
    if part.makes:
        return part.makes
    kind = part.name.split(" ")[0].rstrip(":")
    if kind in ("unit", "oracle", "fuzz"):
        return kind
    if kind == "sanitizers" and part.name.startswith("sanitizers: test_"):
        return "unit with sanitizers"
    return part.name if part.used >= 15 else "others"


def summary(parts, seconds):
    skipped = collections.Counter(re.sub(r"^skipped ", "", line) for p in parts for line in p.lines if line.startswith("skipped "))
    reasons = collections.defaultdict(list)
    for line, count in skipped.items():
        name, _, reason = line.rpartition(": ")
        reasons[reason].extend([name or line] * count)
    for reason, names in sorted(reasons.items(), key=lambda each: -len(each[1])):
        print("skipped %d: %s (%s%s)" % (len(names), reason, ", ".join(names[:3]), ", …" if len(names) > 3 else ""))
    noisy = [line for p in parts if p.first and not p.sums[1] for line in p.first]
    if noisy:
        print("what failed beside others and passed alone:\n" + "\n".join(noisy))
    failed = [line for p in parts for line in failures(p)]
    if failed:
        print("what failed:\n" + "\n".join(failed))
    slow = sorted((p for p in parts if p.seconds >= 10), key=lambda p: -p.seconds)[:12]
    if slow:
        print("slowest: " + ", ".join("%s %.0f s" % (p.name, p.seconds) for p in slow))
    groups = collections.Counter()
    for p in parts:
        groups[group_of(p)] += p.used
    if len(groups) > 1:
        print("of the processor: " + ", ".join("%s %.0f s" % each for each in groups.most_common()))
    left = [p.name for p in parts if p.state == "left" or p.cut]
    if left:
        print("not done in this time: %d of %d parts (%s%s); make check does all" % (len(left), len(parts), ", ".join(left[:8]), ", …" if len(left) > 8 else ""))
    print("took %.0f s, and %.0f s of the processor" % (seconds, sum(p.used for p in parts)))
    sums = [sum(p.sums[i] for p in parts) for i in range(3)]
    print("%d passed, %d failed, %d skipped" % tuple(sums))
    return 1 if sums[1] else 0


def nearest(parts):
    """The first build, and what is nearest to the changed files first."""
    paths = nearness.changed()
    shown = ", ".join(paths[:3]) + (" and %d more" % (len(paths) - 3) if len(paths) > 3 else "")
    print("nearest to " + shown if paths else "git names no changed file: the shortest parts first", flush=True)
    words = nearness.narrowed(paths)
    narrow = [Part("%s of %s" % (p.name, ", ".join(words[p.name])), p.command + words[p.name], p.needs, env=p.env) for p in parts if p.name in words]
    return nearness.order([p for p in parts if p.needs in (None, "build") and p.makes in (None, "build")] + narrow, paths)


def chosen(parts, options):
    """The parts asked for, and the builds that they run on."""
    for part in parts:
        if options.check or options.quick:
            part.command = part.command + ["--brief"] * part.brief
            part.env["CHECK_BRIEF"] = "1"  # unit tests that draw many cases draw fewer
    if options.quick:
        return nearest(parts)
    if options.check:
        parts = [p for p in parts if p.check]
    wanted = [p for p in parts if not options.words or any(word in p.name for word in options.words)]
    needed = {p.needs for p in wanted if p.needs}
    wanted = [p for p in parts if p in wanted or p.makes in needed]
    again = [p for p in wanted if not p.makes]
    for _ in range(options.times - 1):
        wanted += [Part(p.name, p.command, p.needs, None, p.cores, p.limit, p.check, p.quiet, p.env) for p in again]
    return wanted


def main():
    reader = argparse.ArgumentParser(usage=__doc__, add_help=True)
    reader.add_argument("words", nargs="*")
    reader.add_argument("--check", action="store_true")
    reader.add_argument("--quick", type=float, nargs="?", const=QUICK_S)
    reader.add_argument("--verbose", action="store_true")
    reader.add_argument("--list", action="store_true")
    reader.add_argument("--times", type=int, default=1)
    options = reader.parse_args()
    if subprocess.run(["tools/setup.sh"]).returncode:
        print("FAIL setup: see above\n0 passed, 1 failed, 0 skipped")
        return 1
    parts = chosen(list(all_parts()), options)
    if options.list:
        for part in parts:
            print("%-32s %-12s %.1f cores, ≤ %d s%s%s" % (part.name, part.needs or "-", part.cores, part.limit,
                                                         ", quiet" if part.quiet else "", ", check" if part.check else ""))
        return 0
    began = time.monotonic()
    driver = Driver(parts, began + options.quick if options.quick else None)
    try:
        driver.run()
        driver.run_again_alone()
    except KeyboardInterrupt:
        driver.stop()
        print("interrupted")
        return 130
    return summary(parts, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
