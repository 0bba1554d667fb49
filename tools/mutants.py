#!/usr/bin/env python3
"""Do the tests bite? Changes one line of the program at a time and counts the changes that no test notices; `make mutants`.

    tools/mutants.py [-n COUNT] [--seed N] [--room ROOM] [--jobs N] [--minutes M] [--trust] [--log FILE] [--keep FILE]
    tools/mutants.py --again --log FILE    the survivors of that log once more, with the tests as they are now
    tools/mutants.py --table --log FILE    only the table of that log

A mutant is one edit of one line in src: a comparison or a sign turned round, a number changed, a
condition negated, two arguments swapped, a `break` taken out. COUNT of them (default 40) are drawn over the
engine, the readers and the findings with a fixed seed, so that a run can be repeated. Each is compiled in a
copy of the tree (build-mutants-0, -1 … for --jobs), so that this one stays as it is, and put to the parts of `make
check`, to the invariants and to BEYOND, those parts of `make test` that exist for its room and are quick; the first test that fails
kills it, and so does ten times the time of the processor that a part needs. What survives that is put to the unit tests and the
corpus with sanitizers, as in `make test`: what reads behind an array mostly shows there alone. What does not compile, or compiles to the same bytes, is drawn again.

Not drawn is what changes the program's needs alone, whatever it does, and what a comparison for
sorting cannot show: see `is_only_room`, `is_sign`, `is_settled`. What a person found to be equivalent,
or a matter of speed, stands with the reason in tools/mutants.tsv; it still counts as survived, and the share without it is shown beside.

--log appends each verdict as a line of JSON; mutants that stand in it are not judged again, so that a run can be stopped and
continued. Verdicts stand in the order of the pool, however many are judged at once. docs/mutants.md keeps the last runs.
"""
import argparse
import collections
import filecmp
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from roomparts import BEYOND, CHECK, FIRST, SECONDS, SLOW_UNITS, UNITS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ("timeline", "account", "work", "tables", "findings", "answer", "ingest", "parse", "sql", "store", "derive", "redact", "compare", "rundoc",
         "fingerprint")
REASONS = os.path.join(ROOT, "tools", "mutants.tsv")

SWAPS = [(r"<=", "<"), (r">=", ">"), (r"(?<![-<])<(?![<=])", "<="), (r"(?<![->])>(?![>=])", ">="), (r"==", "!="), (r"!=", "=="),
         (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]]) - (?=[\w(])", " + "),
         (r"(?<=[\w)\]]) \* (?=[\w(])", " / "), (r"\breturn true;", "return false;"), (r"\breturn false;", "return true;"),
         (r"\bbreak;", ";"), (r"\+\+;", "--;"), (r" \+= ", " -= ")]

HEAP_CHECK = "/lib/x86_64-linux-gnu/libc_malloc_debug.so.0"  # of glibc
SANITIZED = "build-sanitized"
MIN_LIMIT_S = 60  # of the processor, each process; a unit test takes milliseconds
WAITING = 5  # times as long by the clock: the machine may do other things


def is_only_room(plain, match):
    """Whether a number that grows changes nothing but how much memory is asked for, or when: places where a growing array
    begins or doubles, spare items of an array or an allocation, prefetching. Taking less is drawn: that overflows."""
    if re.search(r"\b(\w+(?:->|\.))?(cap|room|size|small_size)\b \? .* \* 2 : \d+", plain) or "__builtin_prefetch" in plain:
        return True
    before, after = plain[:match.start()], plain[match.end():]
    if re.search(r"sizeof \*?\w+\[$", before) and after.startswith("]"):
        return True  # every element of an array has one size
    if re.match(r"\s+[\w ]+ \*?\w+\[\w+ \+ $", before) and after.startswith("];"):
        return True
    if re.search(r"\bnl_grow\([^;]* \+ $", before) and after.startswith(");"):
        return True
    if re.search(r"alloc\($", before) and re.match(r" \* [\w.>-]+ \* sizeof", after):
        return True
    return bool(re.search(r"alloc\([^;]*\((?:\(\w+\))?\w[\w.>-]*(?:\[\w+\])? \+ (?:\(\w+\))?$", before) and re.match(r"\) \* sizeof", after))


def is_sign(head, plain, match):
    """Whether a number is what a function for sorting answers, of which only the sign counts."""
    return head and re.search(r"\? -?1 : -?1;$", plain) and "return" in plain and match.start() > plain.index("?")


def is_settled(before, plain, match):
    """Whether < becomes <= (> becomes >=) where the line before has asked that both differ."""
    sides = re.match(r"\s+return (.+) [<>] (.+) \? ", plain)
    return match.group(0) in "<>" and sides and before.strip() == "if (%s != %s)" % sides.groups()


def other_number(plain, match):
    """A number changed: larger, but the size of an array smaller, since a buffer that is too large shows nowhere."""
    value = int(match.group(1))
    if re.match(r"\s+(?:const |static |unsigned |struct )*\w+ [^=(]*\w\[$", plain[:match.start()]) and plain[match.end():match.end() + 1] == "]":
        return None if value < 2 else value // 10 if value > 19 else value - 1
    return value * 10 if value > 9 else value + 1


def places(text):
    """(line number, new line) of every mutation of one file; comments, preprocessor and messages are left alone."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)
    comparing, before = False, ""
    for number, line in enumerate(code.split("\n")):
        if line[:1].isalpha():
            comparing = bool(re.match(r"static int \w+\(const void \*\w+, const void \*\w+\)", line))
        plain = re.sub(r'"(?:\\.|[^"\\])*"', lambda m: "\0" * len(m.group(0)), line)
        if not line.startswith((" ", "\t")) or "static const" in line or line.strip().startswith("#"):
            continue
        for pattern, other in SWAPS:
            for match in re.finditer(pattern, plain):
                if not (match.group(0) in "<>" and (re.search(r"#include|\w<\w", plain) or is_settled(before, plain, match))):
                    yield number, line[:match.start()] + other + line[match.end():]
        for match in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", plain):
            value = None if is_only_room(plain, match) or is_sign(comparing, plain, match) else other_number(plain, match)
            if value is not None:
                yield number, line[:match.start()] + str(value) + line[match.end():]
        for match in re.finditer(r"\((\w+(?:->\w+|\.\w+)*), (\w+(?:->\w+|\.\w+)*)\)", plain):
            yield number, line[:match.start()] + "(%s, %s)" % match.group(2, 1) + line[match.end():]
        before = plain


def bring(source, copy):
    """Copies a file of other content, and no other: what is older than its product is not compiled again."""
    if not os.path.isfile(source) or os.path.isfile(copy) and filecmp.cmp(source, copy, shallow=False):
        return
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    if os.path.lexists(copy):
        os.remove(copy)
    shutil.copy(source, copy, follow_symlinks=False)


class Copy:
    """A copy of the tracked tree with a build of its own, in which mutants are judged one after the other."""

    def __init__(self, folder):
        self.folder, self.build, self.sound = folder, os.path.join(folder, "build"), set()
        self.bring_all()

    def prepare(self):
        """Builds what was brought."""
        again = ["--reconfigure"] if os.path.exists(os.path.join(self.build, "build.ninja")) else []
        env = dict(os.environ, CC_LD="gold") if shutil.which("ld.gold") else None
        # Optimised as it is handed out, nearly: what changes nothing is known by equal bytes. No debug information: links in a moment.
        subprocess.run(["meson", "setup", *again, "build", "-Dbuildtype=plain", "-Doptimization=2", "-Ddebug=false"], cwd=self.folder, env=env,
                       stdout=subprocess.DEVNULL, check=True)
        if not self.compile():
            sys.exit("the tree does not compile")
        self.before = self.digest()

    def bring_all(self):
        os.makedirs(self.folder, exist_ok=True)
        files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
        names = list(filter(None, os.fsdecode(files).split("\0")))
        for name in names:
            bring(os.path.join(ROOT, name), os.path.join(self.folder, name))
        tracked = {os.path.join(self.folder, name) for name in names}
        for top in ("src", "tests", "fuzz", "bench"):  # what an earlier tree had: a test that is still found there would not link
            for path, _, here in os.walk(os.path.join(self.folder, top)):
                for name in here:
                    if os.path.join(path, name) not in tracked and not name.endswith(".pyc"):
                        os.remove(os.path.join(path, name))

    def compile(self, *targets):
        return not subprocess.run(["ninja", "-C", "build", "--quiet", *targets], cwd=self.folder, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL).returncode

    def digest(self):
        with open(os.path.join(self.build, "neurolens"), "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()

    def units(self, path, build="build"):
        """Commands of the unit tests, linked now: those named as the changed file or its folder first, the slow ones last."""
        subprocess.run(["ninja", "-C", build, "--quiet"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        words = re.findall(r"[a-z]+", os.path.relpath(path, "src"))
        folder = os.path.join(self.folder, build, "tests", "unit")
        names = [n for n in os.listdir(folder) if n.startswith("test_") and not n.endswith(".p")]
        names.sort(key=lambda n: (n in SLOW_UNITS, not any(len(w) > 2 and w in n for w in words), n))
        for name in names:
            yield [os.path.join(folder, name)], SLOW_UNITS.get(name, 1)

    def parts(self, path):
        """(command, seconds) of all that a mutant of this file is put to."""
        room = path.split("/")[1]
        order = sorted(CHECK, key=lambda name: name != FIRST.get(room)) + BEYOND[room]
        for name in order:
            if name == UNITS:
                yield from self.units(path)
            else:
                yield ["python3", "tests/" + name], SECONDS[name]

    def sanitized(self, path):
        """The first unit test, or the corpus, that fails with sanitizers, or None."""
        if not os.path.exists(os.path.join(self.folder, SANITIZED, "build.ninja")):
            subprocess.run(["meson", "setup", SANITIZED, "-Dbuildtype=plain", "-Doptimization=0", "-Dc_args=-g1 -fno-sanitize-recover=all",
                            "-Db_sanitize=address,undefined", "-Db_lundef=false"], cwd=self.folder, stdout=subprocess.DEVNULL, check=True)
        for command, seconds in [*self.units(path, SANITIZED), (["python3", "tests/corpus_in_one.py"], SECONDS["corpus_in_one.py"])]:
            failed = self.fails(command, max(MIN_LIMIT_S, 60 * seconds), SANITIZED)
            if failed:
                return "sanitizers: " + os.path.basename(command[-1])
        return None

    def fails(self, command, limit, build="build"):
        """Whether a part fails; it is ended at its first failure."""
        room = os.path.join(self.folder, "build", "mutants-tmp")
        shutil.rmtree(room, ignore_errors=True)
        os.makedirs(room)
        env = dict(os.environ, NEUROLENS=os.path.join(self.folder, build, "neurolens"), PYTHONDONTWRITEBYTECODE="1", TMPDIR=room)
        limits = ["-c 0", "-t %d" % limit, "-v 16000000"]  # one at a time: dash takes no more at once
        if build == SANITIZED:  # whose addresses are spread over terabytes
            env.update(ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1", UBSAN_OPTIONS="halt_on_error=1")
            limits.pop()
        elif command[0].startswith("/") and os.path.basename(command[0]) not in SLOW_UNITS and os.path.exists(HEAP_CHECK):
            # what is written behind a block is seen, as in the parts of make test with sanitizers
            env.update(LD_PRELOAD=HEAP_CHECK, GLIBC_TUNABLES="glibc.malloc.check=3", MALLOC_PERTURB_="85")
        child = subprocess.Popen(["sh", "-c", "".join("ulimit %s && " % each for each in limits) + "exec \"$@\"", "sh", *command], cwd=self.folder, env=env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        late = threading.Event()
        timer = threading.Timer(WAITING * limit, lambda: (late.set(), end(child)))
        timer.start()
        try:
            failed = any(line.startswith(b"FAIL") for line in child.stdout)
        finally:
            if child.poll() is None and (failed if "failed" in locals() else True):
                end(child)
            timer.cancel()
            status = child.wait()
            shutil.rmtree(room, ignore_errors=True)
        return "endless" if late.is_set() else failed or status != 0

    def check(self):
        """A part that fails without a change would kill everything."""
        for room in ROOMS:
            for command, seconds in self.parts("src/%s/x.c" % room):
                if tuple(command) not in self.sound:
                    if self.fails(command, max(MIN_LIMIT_S, 10 * seconds)):
                        sys.exit("fails without a change: " + " ".join(command))
                    self.sound.add(tuple(command))
        failed = self.sanitized("src/base/x.c")
        if failed:
            sys.exit("fails without a change: " + failed)

    def killer(self, path):
        """The first part that fails, or None."""
        for command, seconds in self.parts(path):
            failed = self.fails(command, max(MIN_LIMIT_S, 10 * seconds))
            if failed:
                name = command[-1]
                return (os.path.relpath(name, self.folder) if name.startswith("/") else name) + (" (endless)" if failed == "endless" else "")
        return None

    def judge(self, path, number, line):
        """'same' or 'broken' when it is no mutant, else the part that killed it, or 'survived'."""
        name = os.path.join(self.folder, path)
        with open(name, encoding="utf-8") as file:
            lines = file.read().split("\n")
        old, lines[number] = lines[number], line
        try:
            with open(name, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))
            if not self.compile("neurolens"):
                return "broken"
            return "same" if self.digest() == self.before else self.killer(path) or self.sanitized(path) or "survived"
        finally:
            lines[number] = old
            with open(name, "w", encoding="utf-8") as file:
                file.write("\n".join(lines))


def end(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except OSError:
        pass


def pool_of(folder, wanted):
    """(path, line number, old line, new line) of every mutation of the rooms."""
    for room in ROOMS:
        if wanted in room:
            for where, _, names in sorted(os.walk(os.path.join(folder, "src", room))):
                for name in sorted(n for n in names if n.endswith(".c")):
                    path = os.path.relpath(os.path.join(where, name), folder)
                    with open(os.path.join(folder, path), encoding="utf-8") as file:
                        text = file.read()
                    lines = text.split("\n")
                    yield from ((path, number, lines[number], line) for number, line in places(text))


def survivors_of(folder, log):
    """Those of a log that survived, where their line stands today."""
    for each in log:
        if each["verdict"] == "survived" and each.get("now", "survived") == "survived" and not each.get("reason"):
            name = os.path.join(folder, each["path"])
            lines = []
            if os.path.exists(name):
                with open(name, encoding="utf-8") as file:
                    lines = file.read().split("\n")
            found = [i for i, line in enumerate(lines) if line == each["old"]]
            if found:
                yield each["path"], min(found, key=lambda i: abs(i - each["line"])), each["old"], each["new"]
            else:
                each["now"] = "gone"
                print("gone       %s:%d: %s" % (each["path"], each["line"] + 1, each["old"].strip()))


def reasons():
    """{(path, old, new): why nothing can be seen of it}."""
    if not os.path.exists(REASONS):
        return {}
    with open(REASONS, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip() and not line.startswith("#")]
    return {tuple(row[:3]): row[3] for row in rows}


def read_log(path):
    """The verdicts of a log; what was judged again carries its verdict as `now`, what is equivalent the `reason`."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        log = [json.loads(line) for line in file]
    known, first = reasons(), {}
    for each in log:
        key = (each["path"], each["old"], each["new"], each["line"])
        if each.get("again"):
            first[key]["now"] = each["verdict"]
        else:
            first.setdefault(key, each)
        each["reason"] = known.get((each["path"], each["old"].strip(), each["new"].strip()))
    return [each for each in log if not each.get("again") and each["verdict"] not in ("same", "broken")]


def share(log):
    killed = sum(each["verdict"] != "survived" for each in log)
    equal = sum(each["verdict"] == "survived" and bool(each.get("reason")) for each in log)
    text = "%d of %d killed (%.0f %%)" % (killed, len(log), 100.0 * killed / max(1, len(log)))
    return text + ("; %d of the %d that change something (%.0f %%)" %
                   (killed, len(log) - equal, 100.0 * killed / max(1, len(log) - equal)) if equal else "")


def cell(line):
    return "`%s`" % line.strip()


def today(each):
    if each.get("reason"):
        return "Equivalent: " + each["reason"]
    now = each.get("now", "survived")
    return {"survived": "Survives", "gone": "The line is gone"}.get(now, "Killed: " + now)


def table(log):
    """The log as Markdown (tools/wrap.py wraps it): a share per seed, a row per room, then the survivors."""
    text = ("# Mutants\n\nWhat `make mutants` found: one line of the program is changed at a time (a comparison, a sign, a number,\n"
            "a condition, two arguments, a `break`), and the parts of `make check`, the invariants and a few parts of `make test`\n"
            "that exist for the room (`BEYOND` in `tools/roomparts.py`) run until one fails. Random samples of the rooms below.\n")
    for seed in dict.fromkeys(each["seed"] for each in log):
        here = [each for each in log if each["seed"] == seed]
        text += "\n## Seed %s\n\n**%s**, with the tests as they were then.\n\n| room | mutants | killed | equivalent | survived |\n|---|---|---|---|---|\n" % (seed, share(here))
        for room in ROOMS:
            mine = [each for each in here if each["path"].split("/")[1] == room]
            lived = [each for each in mine if each["verdict"] == "survived"]
            equal = sum(bool(each.get("reason")) for each in lived)
            text += "| %s | %d | %d | %d | %d |\n" % (room, len(mine), len(mine) - len(lived), equal, len(lived) - equal) if mine else ""
        text += "\n" * any(each["verdict"] == "survived" for each in here)
        for each in here:
            if each["verdict"] == "survived":
                text += "- %s:%d: %s → %s. %s\n" % (each["path"], each["line"] + 1, cell(each["old"]), cell(each["new"]), today(each))
    return text


class Run:
    """Judges a pool in several copies; verdicts are told in the order of the pool."""

    def __init__(self, options, copies, pool, log):
        self.options, self.copies, self.pool, self.log = options, copies, pool, log
        known = {(each["path"], each["line"], each["new"]) for each in log}
        self.waiting = collections.deque(each for each in pool if options.again or (each[0], each[1], each[3]) not in known)
        self.missing = len(self.waiting) if options.again else options.n - sum(each["seed"] == options.seed for each in log)
        self.lock, self.running, self.told = threading.Condition(), collections.OrderedDict(), 0
        self.end_at = time.monotonic() + 60 * options.minutes

    def tell(self, each, verdict):
        """Logs and prints one; what is no mutant is logged as well, so that it is not compiled again."""
        path, number, old, line = each
        row = {"seed": self.options.seed, "path": path, "line": number, "old": old, "new": line, "verdict": verdict}
        if self.options.again:
            row["again"] = True
        else:
            self.missing -= verdict not in ("same", "broken")
        with open(self.options.log, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if verdict not in ("same", "broken"):
            print("%-10s %s:%d: %s%s" % ("survived" if verdict == "survived" else "killed", path, number + 1, line.strip(),
                                         "" if verdict == "survived" else "   [%s]" % verdict), flush=True)

    def next_one(self):
        """The next of the pool, None when there are enough."""
        with self.lock:
            while self.waiting and time.monotonic() < self.end_at:
                if len(self.running) - sum(v in ("same", "broken") for v in self.running.values()) < self.missing:
                    each = self.waiting.popleft()
                    self.running[each] = None
                    return each
                if self.missing <= 0:
                    break
                self.lock.wait()
        return None

    def work(self, copy):
        for each in iter(self.next_one, None):
            verdict = copy.judge(each[0], each[1], each[3])
            with self.lock:
                self.running[each] = verdict
                while self.running and next(iter(self.running.values())):
                    self.tell(*self.running.popitem(last=False))
                self.lock.notify_all()

    def go(self):
        threads = [threading.Thread(target=self.work, args=(copy,)) for copy in self.copies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main():
    reader = argparse.ArgumentParser(usage=__doc__)
    reader.add_argument("-n", type=int, default=40)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--room", default="")
    reader.add_argument("--jobs", type=int, default=1)
    reader.add_argument("--minutes", type=float, default=1e9, help="begin no mutant after so long")
    reader.add_argument("--log", default="", help="append the verdicts here; continues")
    reader.add_argument("--again", action="store_true", help="judge the survivors of the log once more")
    reader.add_argument("--table", action="store_true", help="judge nothing")
    reader.add_argument("--trust", action="store_true", help="do not run all parts on the tree without a change first")
    reader.add_argument("--keep", default="", help="write the table here, as Markdown")
    reader.add_argument("--folder", default="build-mutants", help="where the copies are, without -0, -1 …")
    options = reader.parse_args()
    os.environ.pop("WERROR", None)
    if not options.log:
        options.log = os.path.join(tempfile.mkdtemp(prefix="mutants-"), "log")
    if not options.table:
        copies = [Copy(os.path.join(ROOT, "%s-%d" % (options.folder, i))) for i in range(options.jobs)]
        for copy in copies:
            copy.prepare()
        if not options.trust:
            copies[0].check()
        log = read_log(options.log)
        if options.again:
            pool = list(survivors_of(copies[0].folder, log))
        else:
            pool = list(pool_of(copies[0].folder, options.room))
            random.Random(options.seed).shuffle(pool)
        Run(options, copies, pool, log).go()
    log = read_log(options.log)
    for seed in dict.fromkeys(each["seed"] for each in log):
        print("seed %s: %s" % (seed, share([each for each in log if each["seed"] == seed])))
    if options.keep:
        with open(options.keep, "w", encoding="utf-8") as file:
            file.write(table(log))


if __name__ == "__main__":
    main()
