#!/usr/bin/env python3
"""Do two builds answer alike, byte for byte? A change for speed or memory must not change an answer.

    bench/equal_outputs.py BEFORE AFTER [FILE|FOLDER ...] [--every N] [--threads N]

Every file (default: ../shared/samples and tests/corpus) is asked with both programs: `info` and `analyze --all` as JSON, and all rows
of the tables of SQL, without a cache. Prints the first difference of each file, exits 1 when there was one. What neither
program can read must be refused with the same words.
"""
import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLES = ("slices", "kernels", "copies", "memsets", "syncs", "api", "ops", "layers", "nvtx", "python", "collectives", "counters",
          "steps", "lanes", "devices", "processes", "threads", "metadata", "coverage", "memory", "samples", "stacks", "slice_stacks", "flows", "args",
          "metrics", "metric_instances", "kernel_measurements", "counter_series", "graph_launches", "calls", "nodes", "sources", "account",
          "op_work", "roofline", "idle_gaps", "kernel_summary")
DUMP = "\n".join("SELECT '%s', * FROM %s;" % (table, table) for table in TABLES)
QUESTIONS = (("info", "--format", "json"), ("analyze", "--all", "--format", "json"), ("sql", "--format", "csv"))


def answer(program, words, path, threads):
    command = [program, words[0], "--no-cache", "-j%d" % threads, path, *words[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600,
                          input=DUMP.encode() if words[0] == "sql" else b"")
    return done.returncode, done.stdout


def compare(before, after, path, threads):
    for words in QUESTIONS:
        left, right = answer(before, words, path, threads), answer(after, words, path, threads)
        if left == right:
            continue
        lines = zip(left[1].splitlines() + [b""], right[1].splitlines() + [b""])
        first = next(((x, y) for x, y in lines if x != y), (b"", b""))
        return "%s: exit %d, %d; %s\n    %s" % (words[0], left[0], right[0], first[0][:300].decode("utf-8", "replace"),
                                             first[1][:300].decode("utf-8", "replace"))
    return None


def files(places):
    for place in places:
        if os.path.isfile(place):
            yield place
        for folder, _, names in sorted(os.walk(place)):
            for name in sorted(names):
                yield os.path.join(folder, name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("place", nargs="*", default=[os.path.join(ROOT, "..", "shared", "samples"), os.path.join(ROOT, "tests", "corpus")])
    parser.add_argument("--every", type=int, default=1, help="compare every Nth file")
    parser.add_argument("--threads", type=int, default=2)
    wanted = parser.parse_args()
    count = different = 0
    for number, path in enumerate(files(wanted.place)):
        if number % wanted.every:
            continue
        count += 1
        said = compare(wanted.before, wanted.after, path, wanted.threads)
        if said:
            different += 1
            print("%s\n  %s" % (path, said), flush=True)
    print("%d files compared, %d differ" % (count, different))
    sys.exit(1 if different or not count else 0)


main()
