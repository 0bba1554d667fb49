#!/usr/bin/env python3
"""Do the tests bite? Changes one line of the program at a time and counts the changes that no test of
`make check` notices; `make mutants`.

    tools/mutants.py [-n COUNT] [--seed N] [--room ROOM] [--keep FILE]

A mutant is one edit of one line in src: a comparison or a sign turned round, a number changed, a
condition negated, two arguments swapped, a `break` taken out. COUNT of them (default 40) are drawn over the
engine, the readers and the findings with a fixed seed, so that a run can be repeated. Each is compiled in
build-mutants (a copy of the tree there, so that this one stays as it is) and put to the parts of `make
check`, cheapest first; the first failure kills it. What does not compile, or compiles to the same bytes, is
drawn again. The last line is the score; docs/mutants.md keeps the last full run.
"""
import argparse
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ("timeline", "tables", "findings", "ingest", "parse", "sql", "store", "compare", "rundoc", "fingerprint")
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


def prepare():
    """A copy of the tracked tree with a build of its own; the bytes of its program."""
    os.makedirs(COPY, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["rsync", "-a", "--checksum", "--from0", "--files-from=-", ROOT + "/", COPY + "/"], input=files, check=True)
    if not os.path.exists(os.path.join(COPY, "build", "build.ninja")):
        subprocess.run(["meson", "setup", "build", "-Dbuildtype=debugoptimized", "--optimization=1"], cwd=COPY, stdout=subprocess.DEVNULL, check=True)
    if subprocess.run(["ninja", "-C", "build", "--quiet"], cwd=COPY, stdout=subprocess.DEVNULL).returncode:
        sys.exit("the tree does not compile")


def digest():
    with open(os.path.join(COPY, "build", "neurolens"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def killer():
    """The first part of make check that fails, or None."""
    env = dict(os.environ, NEUROLENS=os.path.join(COPY, "build", "neurolens"), PYTHONDONTWRITEBYTECODE="1")
    scripts = [["python3", "tests/" + name] for name in ("query/run.py", "corpus.py", "golden_run/run.py", "cli/run.py", "parity.py", "invariants.py")]
    folder = os.path.join(COPY, "build", "tests", "unit")
    units = [[os.path.join(folder, n)] for n in sorted(os.listdir(folder)) if n.startswith("test_") and not n.endswith(".p")]
    for command in scripts[:3] + units + scripts[3:]:
        try:
            done = subprocess.run(command, cwd=COPY, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
            if done.returncode:
                return os.path.basename(command[-1])
        except subprocess.TimeoutExpired:
            return os.path.basename(command[-1]) + " (endless)"
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
        subprocess.run(["ninja", "-C", "build", "--quiet"], cwd=COPY, stdout=subprocess.DEVNULL)
        return killer() or "survived"
    finally:
        lines[number] = old
        with open(name, "w", encoding="utf-8") as file:
            file.write("\n".join(lines))


def main():
    reader = argparse.ArgumentParser(usage=__doc__)
    reader.add_argument("-n", type=int, default=40)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--room", default="")
    reader.add_argument("--keep", default="", help="write the table here, as Markdown")
    options = reader.parse_args()
    os.environ.pop("WERROR", None)
    if not shutil.which("rsync"):
        sys.exit("rsync is missing: apt-get install rsync")
    prepare()
    before, chance = digest(), random.Random(options.seed)
    pool = []
    for room in ROOMS:
        if options.room in room:
            for folder, _, names in sorted(os.walk(os.path.join(COPY, "src", room))):
                for name in sorted(n for n in names if n.endswith(".c")):
                    path = os.path.relpath(os.path.join(folder, name), COPY)
                    with open(os.path.join(COPY, path), encoding="utf-8") as file:
                        pool += [(path, number, line) for number, line in places(file.read())]
    chance.shuffle(pool)
    killed, survivors = 0, []
    for path, number, line in pool:
        if killed + len(survivors) >= options.n:
            break
        verdict = judge(path, number, line, before)
        if verdict in ("same", "broken"):
            continue
        killed += verdict != "survived"
        if verdict == "survived":
            survivors.append((path, number + 1, line.strip()))
        print("%-10s %s:%d: %s" % (verdict if verdict == "survived" else "killed", path, number + 1, line.strip() + ("" if verdict == "survived" else "   [%s]" % verdict)), flush=True)
    total = killed + len(survivors)
    print("%d of %d mutants killed (%.0f %%)" % (killed, total, 100.0 * killed / max(1, total)))
    if options.keep:
        with open(options.keep, "w", encoding="utf-8") as file:
            file.write("# Mutants\n\nMade by `make mutants`: one line of the program changed at a time, and whether a part of `make check` or the\n"
                       "invariants noticed. Seed %d: **%d of %d killed**.\n\n" % (options.seed, killed, total))
            file.write("| survived | changed to |\n|---|---|\n" + "".join("| %s:%d | `%s` |\n" % (p, n, l.replace("|", "\\|")) for p, n, l in survivors))


main()
