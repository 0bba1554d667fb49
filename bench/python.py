#!/usr/bin/env python3
"""What a scope costs in Python, beside an empty context manager written in Python; and function tracing.

    python3 bench/python.py [PYTHON]

Runs itself without and under `neurolens run`. Minimum of many rounds, ns per `with` less the empty loop.
"""
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens"))
ROUNDS, COUNT = 60, 5000


def best(function):
    shortest = None
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        function()
        took = time.perf_counter_ns() - began
        shortest = took if shortest is None or took < shortest else shortest
    return shortest / COUNT



class Empty:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        return False


def measure():
    import nlens
    empty, scope, made = Empty(), nlens.scope, nlens.scope("made once")

    def nothing():
        for _ in range(COUNT):
            pass

    def python():
        for _ in range(COUNT):
            with empty:
                pass

    def fresh():
        for _ in range(COUNT):
            with scope("made each time"):
                pass

    def again():
        for _ in range(COUNT):
            with made:
                pass

    floor = best(nothing)
    for name, function in (("empty context manager in Python", python), ("with scope(name)", fresh),
                           ("with a scope made before", again)):
        print("  %-34s %6.1f ns" % (name, best(function) - floor))


def run(words, python, title):
    print(title, flush=True)
    path = os.path.join("/tmp", "neurolens-bench-%d.nlt" % os.getpid())
    variables = dict(os.environ, PYTHONPATH=os.path.join(os.path.dirname(PROGRAM), "python"))
    subprocess.run([word.replace("OUT", path) for word in words] + [python, os.path.abspath(__file__), "--measure"],
                   env=variables, check=True)
    if os.path.exists(path):
        os.unlink(path)


def main():
    if "--measure" in sys.argv:
        measure()
        return
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    run([], python, "without a recorder")
    run([PROGRAM, "run", "-q", "-o", "OUT", "--"], python, "recorded")
    run([PROGRAM, "run", "-q", "--paused", "-o", "OUT", "--"], python, "under the recorder, window closed")


main()
