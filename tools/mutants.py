#!/usr/bin/env python3
"""Do the tests bite? Changes one line of the program at a time and counts the changes that no test of
`make check` notices; `make mutants`.

    tools/mutants.py [-n COUNT] [--seed N] [--room ROOM] [--minutes M] [--log FILE] [--keep FILE]
    tools/mutants.py --again FILE    the survivors of that log once more, with the tests as they are now

A mutant is one edit of one line in src: a comparison or a sign turned round, a number changed, a
condition negated, two arguments swapped, a `break` taken out. COUNT of them (default 40) are drawn over the
engine, the readers and the findings with a fixed seed, so that a run can be repeated. Each is compiled in
build-mutants (a copy of the tree there, so that this one stays as it is) and put to the parts of `make
check`, cheapest first; the first failure kills it. What does not compile, or compiles to the same bytes, is
drawn again. --log appends each verdict as a line of JSON; mutants that stand in it are not judged
again, so that a run can be stopped and continued. The last line is the score; docs/mutants.md keeps the last run.
"""
import argparse
import filecmp
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ("timeline", "account", "work", "tables", "findings", "answer", "ingest", "parse", "sql", "store", "compare", "rundoc",
         "fingerprint")
COPY = os.path.join(ROOT, "build-mutants")

SWAPS = [(r"<=", "<"), (r">=", ">"), (r"(?<![-<])<(?![<=])", "<="), (r"(?<![->])>(?![>=])", ">="), (r"==", "!="), (r"!=", "=="),
         (r"&&", "||"), (r"\|\|", "&&"), (r"(?<=[\w)\]]) \+ (?=[\w(])", " - "), (r"(?<=[\w)\]]) - (?=[\w(])", " + "),
         (r"(?<=[\w)\]]) \* (?=[\w(])", " / "), (r"\breturn true;", "return false;"), (r"\breturn false;", "return true;"),
         (r"\bbreak;", ";"), (r"\+\+;", "--;"), (r" \+= ", " -= ")]


def places(text):
    """(line number, new line) of every mutation of one file; comments, preprocessor and messages are left alone."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=re.S)
    for number, line in enumerate(code.split("\n")):
        plain = re.sub(r'"(?:\\.|[^"\\])*"', lambda m: "\0" * len(m.group(0)), line)
        if not line.startswith((" ", "\t")) or "static const" in line or line.strip().startswith("#"):
            continue
        for pattern, other in SWAPS:
            for match in re.finditer(pattern, plain):
                if not (match.group(0) in "<>" and re.search(r"#include|\w<\w", plain)):
                    yield number, line[:match.start()] + other + line[match.end():]
        for match in re.finditer(r"(?<![\w.])(\d+)(?![\w.])", plain):
            value = int(match.group(1))
            yield number, line[:match.start()] + str(value * 10 if value > 9 else value + 1) + line[match.end():]
        for match in re.finditer(r"\((\w+(?:->\w+|\.\w+)*), (\w+(?:->\w+|\.\w+)*)\)", plain):
            yield number, line[:match.start()] + "(%s, %s)" % match.group(2, 1) + line[match.end():]


def bring(source, copy):
    """Copies a file of other content, and no other: what is older than its product is not compiled again."""
    if not os.path.isfile(source) or os.path.isfile(copy) and filecmp.cmp(source, copy, shallow=False):
        return
    os.makedirs(os.path.dirname(copy), exist_ok=True)
    if os.path.lexists(copy):
        os.remove(copy)
    shutil.copy(source, copy, follow_symlinks=False)


def prepare():
    """A copy of the tracked tree with a build of its own; the bytes of its program."""
    os.makedirs(COPY, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    for name in filter(None, os.fsdecode(files).split("\0")):
        bring(os.path.join(ROOT, name), os.path.join(COPY, name))
    tracked = {os.path.join(COPY, name) for name in os.fsdecode(files).split("\0")}
    gone = [os.path.join(path, name) for folder in ("src", "tests", "fuzz", "bench") for path, _, names in os.walk(os.path.join(COPY, folder))
            for name in names if os.path.join(path, name) not in tracked and not name.endswith(".pyc")]
    for name in gone:  # of an earlier tree: a test that is still found there would not link
        os.remove(name)
    if os.path.exists(os.path.join(COPY, "build", "build.ninja")):
        subprocess.run(["meson", "setup", "--reconfigure", "build"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    else:
        subprocess.run(["meson", "setup", "build", "-Dbuildtype=debugoptimized", "--optimization=1"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    if subprocess.run(["ninja", "-C", "build", "--quiet"], cwd=COPY, stdout=subprocess.DEVNULL).returncode:
        sys.exit("the tree does not compile")


def digest():
    with open(os.path.join(COPY, "build", "neurolens"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def parts():
    """Commands of `make check`, and the invariants; those that kill most in least time first. The unit tests are linked when
    the first of them is asked for, since that takes longer than most parts."""
    scripts = [["python3", "tests/" + name] for name in ("query/run.py", "golden_run/run.py", "corpus_expect/run.py", "cli/run.py", "parity/run.py")]
    yield from scripts
    subprocess.run(["ninja", "-C", "build", "--quiet"], cwd=COPY, stdout=subprocess.DEVNULL)
    folder = os.path.join(COPY, "build", "tests", "unit")
    yield from ([os.path.join(folder, n)] for n in sorted(os.listdir(folder)) if n.startswith("test_") and not n.endswith(".p"))
    yield ["python3", "tests/invariants.py"]


def killer():
    """The first part that fails, or None."""
    env = dict(os.environ, NEUROLENS=os.path.join(COPY, "build", "neurolens"), PYTHONDONTWRITEBYTECODE="1")
    for command in parts():
        try:
            done = subprocess.run(command, cwd=COPY, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900)
            if done.returncode:
                return os.path.relpath(command[-1], COPY) if command[-1].startswith(COPY) else command[-1]
        except subprocess.TimeoutExpired:
            return command[-1] + " (endless)"
    return None


def judge(path, number, line, before):
    """'same' or 'broken' when it is no mutant, else the part that killed it, or 'survived'."""
    name = os.path.join(COPY, path)
    with open(name, encoding="utf-8") as file:
        lines = file.read().split("\n")
    old, lines[number] = lines[number], line
    try:
        with open(name, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        if subprocess.run(["ninja", "-C", "build", "--quiet", "neurolens"], cwd=COPY, stdout=subprocess.DEVNULL).returncode:
            return "broken"
        if digest() == before:
            return "same"
        return killer() or "survived"
    finally:
        lines[number] = old
        with open(name, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def pool_of(wanted):
    """(path, line number, old line, new line) of every mutation of the rooms."""
    for room in ROOMS:
        if wanted in room:
            for folder, _, names in sorted(os.walk(os.path.join(COPY, "src", room))):
                for name in sorted(n for n in names if n.endswith(".c")):
                    path = os.path.relpath(os.path.join(folder, name), COPY)
                    with open(os.path.join(COPY, path), encoding="utf-8") as file:
                        text = file.read()
                    lines = text.split("\n")
                    yield from ((path, number, lines[number], line) for number, line in places(text))


def survivors_of(log):
    """Those of a log that survived, where their line stands today."""
    for each in log:
        if each["verdict"] == "survived":
            with open(os.path.join(COPY, each["path"]), encoding="utf-8") as file:
                lines = file.read().split("\n")
            found = [i for i, line in enumerate(lines) if line == each["old"]]
            if found:
                yield each["path"], min(found, key=lambda i: abs(i - each["line"])), each["old"], each["new"]
            else:
                print("gone       %s:%d: %s" % (each["path"], each["line"] + 1, each["old"].strip()))


def read_log(path):
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def table(log, seed):
    """The log as Markdown: a row per room, then the survivors."""
    total, killed = len(log), sum(each["verdict"] != "survived" for each in log)
    text = ("# Mutants\n\nWhat `make mutants` found: one line of the program is changed at a time (a comparison, a sign, a number,\n"
            "a condition, two arguments, a `break`), and the parts of `make check` and the invariants run until one fails.\n"
            "A random sample of the rooms below, seed %d: **%d of %d killed (%.0f %%)**.\n\n"
            "| room | mutants | killed | survived |\n|---|---|---|---|\n" % (seed, killed, total, 100.0 * killed / max(1, total)))
    for room in ROOMS:
        here = [each for each in log if each["path"].split("/")[1] == room]
        lived = sum(each["verdict"] == "survived" for each in here)
        text += "| %s | %d | %d | %d |\n" % (room, len(here), len(here) - lived, lived) if here else ""
    text += "\n| survived | was | changed to |\n|---|---|---|\n"
    cell = lambda line: "`%s`" % line.strip().replace("|", "\\|")
    for each in log:
        if each["verdict"] == "survived":
            text += "| %s:%d | %s | %s |\n" % (each["path"], each["line"] + 1, cell(each["old"]), cell(each["new"]))
    return text


def main():
    reader = argparse.ArgumentParser(usage=__doc__)
    reader.add_argument("-n", type=int, default=40)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--room", default="")
    reader.add_argument("--minutes", type=float, default=1e9, help="begin no mutant after so long")
    reader.add_argument("--log", default="", help="append the verdicts here; continues")
    reader.add_argument("--again", default="", help="judge the survivors of this log once more")
    reader.add_argument("--keep", default="", help="write the table here, as Markdown")
    options = reader.parse_args()
    os.environ.pop("WERROR", None)
    prepare()
    before, began = digest(), time.monotonic()
    log = read_log(options.log)
    known = {(each["path"], each["line"], each["new"]) for each in log}
    if options.again:
        pool = list(survivors_of(read_log(options.again)))
    else:
        pool = list(pool_of(options.room))
        random.Random(options.seed).shuffle(pool)
    for path, number, old, line in pool:
        if len(log) >= options.n or time.monotonic() - began > 60 * options.minutes:
            break
        if (path, number, line) in known:
            continue
        verdict = judge(path, number, line, before)
        if verdict in ("same", "broken"):
            continue
        log.append({"path": path, "line": number, "old": old, "new": line, "verdict": verdict})
        if options.log:
            with open(options.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(log[-1]) + "\n")
        print("%-10s %s:%d: %s%s" % ("survived" if verdict == "survived" else "killed", path, number + 1, line.strip(),
                                     "" if verdict == "survived" else "   [%s]" % verdict), flush=True)
    killed = sum(each["verdict"] != "survived" for each in log)
    print("%d of %d mutants killed (%.0f %%)" % (killed, len(log), 100.0 * killed / max(1, len(log))))
    if options.keep:
        with open(options.keep, "w", encoding="utf-8") as file:
            file.write(table(log, options.seed))


main()
