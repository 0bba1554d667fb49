#!/usr/bin/env python3
"""Fuzzing that goes on, with counts that are kept.

    tools/fuzz_counts.py BUILD [--minutes N] [--seconds N] [NAME...]    every target in turn, --seconds (60) each, round after round,
                                                                        until --minutes are over (0: until Ctrl-C)
    tools/fuzz_counts.py BUILD --minimise [NAME...]                     what the targets found, as few and small files as possible

After each target the table in docs/fuzzing.md is written again: executions in all, per second, edges, inputs that are kept, findings. New inputs
lie in BUILD/fuzz/corpus, findings in BUILD/fuzz/found. --minimise takes of the new inputs those that reach edges which the files in tests/corpus,
tests/reject and fuzz/seeds do not, at most KEPT files of at most KEPT_BYTES bytes a target, into fuzz/seeds. The seeds are ours:
../shared is not read, so that nothing of foreign profiles gets into the repository.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "docs", "fuzzing.md")
GOAL = 10 ** 9
KEPT, KEPT_BYTES = 8, 1024
LIMITS = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"]
# Without these a fault of undefined behaviour is a line among others.
STRICT = {"ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
HEAD = "| target | executions | per second | edges | inputs | findings |\n|---|---:|---:|---:|---:|---:|\n"


def read_table():
    """{target: [executions, per second, edges, inputs, findings]}"""
    rows = {}
    with open(PAGE, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip().replace(",", "") for cell in line.strip().strip("|").split("|")]
            if len(cells) == 6 and all(cell.isdigit() for cell in cells[1:]):  # not the sum, which has no speed
                rows[cells[0]] = [int(cell) for cell in cells[1:]]
    return rows


def write_table(rows):
    total = sum(row[0] for row in rows.values())
    lines = ["| %s | %s |\n" % (name, " | ".join("{:,}".format(cell) for cell in rows[name])) for name in sorted(rows)]
    last = "| all | {:,} | | | {:,} | {:,} |\n".format(total, sum(row[3] for row in rows.values()), sum(row[4] for row in rows.values()))
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    said = "{:,} executions of the {:,} that we want: {:.2f} %.\n\n".format(total, GOAL, 100 * total / GOAL)
    begin, end = "<!-- counts: tools/fuzz_counts.py -->\n", "<!-- end -->\n"
    at, to = text.index(begin) + len(begin), text.index(end)
    with open(PAGE + ".new", "w", encoding="utf-8") as file:
        file.write(text[:at] + said + HEAD + "".join(lines) + last + text[to:])
    os.replace(PAGE + ".new", PAGE)
    return total


def seeds(name):
    said = subprocess.run(["tools/fuzz.sh", "seeds", name], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return [os.path.join(ROOT, folder) for folder in said.split()]


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def fuzz(build, name, seconds):
    """(executions, edges, inputs, new findings) of one turn."""
    own, found = (os.path.join(build, "fuzz", kind, "fuzz_" + name) for kind in ("corpus", "found"))
    os.makedirs(own, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    before = set(os.listdir(found))
    done = subprocess.run([os.path.join(build, "fuzz", "fuzz_" + name), "-max_total_time=%d" % seconds, "-print_final_stats=1",
                           "-artifact_prefix=" + found + "/"] + LIMITS + [own] + seeds(name),
                          env={**STRICT, **os.environ, "FUZZ_DEEP": "1"}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="replace")
    runs = last_number(r"stat::number_of_executed_units: *(\d+)", done.stderr) or last_number(r"^#(\d+)\b", done.stderr)
    fresh = sorted(set(os.listdir(found)) - before)
    if done.returncode or fresh:
        print("    " + "\n    ".join(done.stderr.splitlines()[-12:]))
        print("FAIL fuzz: %s: %s" % (name, ", ".join(fresh) or "exit %d" % done.returncode), flush=True)
    return runs, last_number(r"cov: (\d+)", done.stderr), len(os.listdir(own)), len(fresh) or int(done.returncode != 0)


def minimise(build, name):
    """Few small inputs that reach what the seeds do not."""
    own = os.path.join(build, "fuzz", "corpus", "fuzz_" + name)
    if not os.path.isdir(own):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        small, kept = os.path.join(folder, "small"), os.path.join(folder, "kept")
        os.makedirs(small)
        os.makedirs(kept)
        for path in glob.glob(os.path.join(own, "*")):
            if os.path.getsize(path) <= KEPT_BYTES:
                shutil.copy(path, small)
        for given in seeds(name):  # what is reached already
            for path in glob.glob(os.path.join(given, "*")):
                if os.path.isfile(path):
                    shutil.copy(path, os.path.join(kept, "seed-" + os.path.basename(path)))
        subprocess.run([os.path.join(build, "fuzz", "fuzz_" + name), "-merge=1"] + LIMITS + [kept, small], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        fresh = sorted((path for path in glob.glob(os.path.join(kept, "*")) if not os.path.basename(path).startswith("seed-")),
                       key=os.path.getsize, reverse=True)  # the longest reach most
        place = os.path.join(ROOT, "fuzz", "seeds", name)
        there = len(glob.glob(os.path.join(place, "fuzzed-*")))
        for path in fresh[:max(0, KEPT - there)]:
            os.makedirs(place, exist_ok=True)
            shutil.copy(path, os.path.join(place, "fuzzed-" + os.path.basename(path)[:12]))
        return len(fresh[:max(0, KEPT - there)])


def main():
    reader = argparse.ArgumentParser(usage=__doc__)
    reader.add_argument("build")
    reader.add_argument("--minutes", type=float, default=0)
    reader.add_argument("--seconds", type=int, default=60)
    reader.add_argument("--minimise", action="store_true")
    reader.add_argument("names", nargs="*")
    options = reader.parse_intermixed_args()
    targets = sorted(os.path.basename(path)[5:] for path in glob.glob(os.path.join(options.build, "fuzz", "fuzz_*"))
                     if os.path.isfile(path) and os.access(path, os.X_OK))
    targets = [name for name in targets if not options.names or name in options.names]
    if not targets:
        sys.exit("no fuzz targets in %s (clang's libFuzzer is needed: make fuzz)" % options.build)
    end, rows, wrong = time.time() + 60 * options.minutes, read_table(), 0
    if options.minimise:
        for name in targets:
            print("%s: %d kept" % (name, minimise(options.build, name)), flush=True)
        return 0
    try:
        while True:
            for name in targets:
                if options.minutes and time.time() + options.seconds > end:
                    return wrong > 0
                runs, edges, inputs, findings = fuzz(options.build, name, options.seconds)
                row = rows.setdefault(name, [0, 0, 0, 0, 0])
                row[0] += runs
                row[1:] = [runs // options.seconds, max(row[2], edges), inputs, row[4] + findings]
                wrong += findings
                print("ok fuzz: %s: %d runs, %d edges; %d in all" % (name, runs, edges, write_table(rows)), flush=True)
    except KeyboardInterrupt:
        return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
