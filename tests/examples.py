#!/usr/bin/env python3
"""Every example of examples/ is run as its head says, and its recording has what the example names."""
import glob
import json
import os
import shutil
import subprocess
import sys

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch

EXAMPLES = os.path.join(ROOT, "examples")
PYTHON_FOLDER = os.path.join(os.path.dirname(PROGRAM), "python")
REAL = os.environ.get("INTEGRATIONS_PYTHON") or os.path.join(ROOT, "build", "venv-integrations", "bin", "python")
# The cells one after the other, as a kernel runs them.
NOTEBOOK = """
import json, os, sys
os.environ["PROFILE"] = sys.argv[2]
space = {}
with open(sys.argv[1]) as file:
    document = json.load(file)
assert document["nbformat"] == 4 and not any(cell.get("outputs") for cell in document["cells"])
for cell in document["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
"""
tally = Tally("examples")
seen = set()


def run(*words):
    env = dict(environment(scratch()), PYTHONPATH=PYTHON_FOLDER, NEUROLENS_PROGRAM=PROGRAM)
    return subprocess.run(words, cwd=scratch(), env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, stdin=subprocess.DEVNULL)


def example(name):
    seen.add(name)
    return os.path.join(EXAMPLES, name)


def recorded(name, words, wants):
    """Rows of the recording: {query: rows}."""
    out = os.path.join(scratch(), name.replace("/", "_") + ".nlt")
    done = run(PROGRAM, "run", "--quiet", "--native", "off", "-o", out, "--", *words)
    found = {}
    for query in wants if done.returncode == 0 else ():
        found[query] = json.loads(neurolens(["sql", out, query, "--format", "json"]).stdout)["result"]["rows"]
    tally.check(name, done.returncode == 0 and found == wants, "%s\n%s" % (done.stdout[-2000:], found))
    return out


def compiled(name, compiler, *flags):
    program = os.path.join(scratch(), name.replace("/", "_"))
    if not shutil.which(compiler):
        tally.skip(name, "no " + compiler)
        return None
    done = run(compiler, "-O2", "-Wall", "-Wextra", "-Werror", *flags, "-I" + os.path.join(ROOT, "include"), example(name), "-o", program)
    if not tally.check(name + " compiles", done.returncode == 0, done.stdout):
        return None
    return program


def has(*modules):
    ask = "import importlib.util, sys; sys.exit(not all(importlib.util.find_spec(name) for name in sys.argv[1:]))"
    return os.path.exists(REAL) and run(REAL, "-c", ask, *modules).returncode == 0


def main():
    steps, layers = "SELECT count(*) FROM steps", "SELECT name, count(*) FROM layers GROUP BY name ORDER BY name"
    scopes = "SELECT name, count(*) FROM nvtx WHERE name IN ('load', 'part', 'check', 'odd part', 'done', 'update') GROUP BY name ORDER BY name"
    program = compiled("c/pipeline.c", "cc")
    if program:
        recorded("c/pipeline.c", [program], {steps: [[5]], layers: [["encoder", 5]], scopes: [["done", 1], ["load", 5]]})
    program = compiled("cpp/pipeline.cpp", "c++", "-pthread")
    if program:
        recorded("cpp/pipeline.cpp", [program], {scopes: [["check", 7], ["odd part", 3], ["part", 7]]})
    out = recorded("python/train.py", [sys.executable, example("python/train.py")], {steps: [[5]], layers: [["encoder", 5], ["head", 5]]})
    done = run(sys.executable, example("python/read.py"), out)
    lines = done.stdout.splitlines()
    tally.check("python/read.py", done.returncode == 0 and len([line for line in lines if line.startswith("   ") and " 5 calls" in line]) == 2 and len(lines) >= 3, done.stdout)
    done = run(sys.executable, "-c", NOTEBOOK, example("notebook/profile.ipynb"), os.path.join(FIXTURES, "made_gpu_train.json.gz"))
    lines = done.stdout.splitlines()
    tally.check("notebook/profile.ipynb", done.returncode == 0 and lines[:1] and lines[0].startswith("Compute-bound: GPU 0") and
                any(line.startswith("made_gpu_train.json.gz[step=10:12] {") for line in lines) and os.path.exists(os.path.join(scratch(), "report.html")), done.stdout)
    if has("torch"):
        done = run(REAL, example("pytorch/handler.py"))
        tally.check("pytorch/handler.py", done.returncode == 0 and "nlens: more: neurolens analyze traces/" in done.stdout, done.stdout)
    else:
        tally.skip("pytorch/handler.py", "no torch in build/venv-integrations; NEUROLENS_WITH_INTEGRATIONS=1 tools/test_frameworks.sh")
    if has("jax"):
        recorded("jax/train.py", [REAL, example("jax/train.py")], {steps: [[5]], scopes: [["update", 5]]})
    else:
        tally.skip("jax/train.py", "no jax in build/venv-integrations; NEUROLENS_WITH_INTEGRATIONS=1 tools/test_frameworks.sh")
    there = {os.path.relpath(path, EXAMPLES) for path in glob.glob(EXAMPLES + "/*/*") if not path.endswith(".pyc") and os.path.isfile(path)}
    seen.add("c/read.c")  # by tests/engine.py
    left = there - seen - {"pytorch/handler.py", "jax/train.py"}
    tally.check("each example is run by this", not left, left)
    tally.finish()


main()
