#!/usr/bin/env python3
"""The part of run.sh that records and compares; see there."""
import csv
import io
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM, OUT = os.environ["NEUROLENS"], os.environ["OUT"]
TIMES = 5
results = {"checks": {}, "measured": {}}


def say(name, problem):
    results["checks"][name] = problem or "ok"
    if problem:
        print("    " + str(problem).replace("\n", "\n    "))
    print("%s gpu: %s" % ("FAIL" if problem else "ok", name), flush=True)


def sql(path, query):
    done = subprocess.run([PROGRAM, "sql", "--no-cache", "--absolute", "--format", "csv", path, query],
                          stdout=subprocess.PIPE, check=True, timeout=120)
    return list(csv.reader(io.StringIO(done.stdout.decode())))[1:]


def number(path, query):
    return int(sql(path, query)[0][0] or 0)


def last_json(done):
    return json.loads(done.stdout.decode().strip().splitlines()[-1])


def record(name, words, options=()):
    """Records a program; its answer and the path of the recording."""
    path = os.path.join(OUT, name + ".nlt")
    done = subprocess.run([PROGRAM, "run", "-o", path] + list(options) + ["--"] + words, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=180)
    print(done.stderr.decode(errors="replace"), end="")
    if done.returncode:
        raise RuntimeError("%s ended with %d" % (words[0], done.returncode))
    return last_json(done), path


def alone(words):
    return last_json(subprocess.run(words, stdout=subprocess.PIPE, check=True, timeout=180))


def first_wrong(path, queries):
    for query, want in queries:
        got = number(path, query)
        if got != want:
            return "%s: %d, want %d" % (query, got, want)
    return None


def coverage(path):
    """What was lost; that a call of the runtime and the driver's below it share an id loses nothing."""
    return sql(path, "SELECT item, count, detail FROM coverage WHERE item <> 'API calls sharing a correlation id'")


# Work lies behind the begin of its call.
ORDER = "SELECT count(*) FROM kernels k JOIN slices c ON c.id = k.launch WHERE k.ts < c.ts"
UNLINKED = "SELECT count(*) FROM kernels WHERE launch IS NULL"


def cuda_program(launches):
    answer, path = record("cuda", [launches, "2000"])
    results["cuda"] = answer
    results["coverage"] = coverage(path)
    say("a CUDA program, counted by itself", first_wrong(path, [
        ("SELECT count(*) FROM kernels WHERE name LIKE '%add%'", answer["add"]),
        ("SELECT count(*) FROM kernels WHERE name LIKE '%scale%'", answer["scale"]),
        ("SELECT count(*) FROM kernels WHERE graph IS NOT NULL", answer["in_graphs"]),
        ("SELECT count(*) FROM copies WHERE kind = 'HtoD' AND src_memory = 'pinned' AND bytes = %d" % answer["bytes"],
         answer["copies"]),
        ("SELECT count(*) FROM memsets", answer["fills"]),
        ("SELECT count(*) FROM kernels WHERE name LIKE '%add%' AND (grid_x <> 64 OR block_x <> 256)", 0),
        ("SELECT count(DISTINCT stream) FROM kernels WHERE name LIKE '%add%'", 2),
        ("SELECT count(*) FROM memory WHERE action = 'alloc' AND kind = 'device' AND bytes = %d" % answer["bytes"], 1),
        (UNLINKED, 0), (ORDER, 0)]))
    say("nothing was lost", "\n".join(map(str, results["coverage"])))
    answer, path = record("whole", [launches, "100"], ["--graphs", "whole"])
    say("whole graphs", first_wrong(path, [("SELECT count(*) FROM graph_launches", answer["graphs"]),
                                           ("SELECT count(*) FROM kernels WHERE graph IS NOT NULL", 0)]))
    clocks(path)


def clocks(path):
    """The CPU's and the GPU's times are of one clock: no kernel runs after the last call of the program ended."""
    say("one clock", first_wrong(path, [
        ("SELECT count(*) FROM kernels WHERE ts + dur > 100000 + (SELECT max(ts + dur) FROM api)", 0), (ORDER, 0)]))


def costs(name, words, key):
    """The fastest of some runs with and without recording, in turns."""
    plain, recorded = [], []
    for _ in range(TIMES):
        plain.append(alone(words)[key])
        answer, path = record("cost", words)
        recorded.append(answer[key])
        os.unlink(path)
    results["measured"][name] = {"alone": min(plain), "recorded": min(recorded), "ratio": min(recorded) / min(plain),
                                 "alone_all": plain, "recorded_all": recorded}
    print("gpu: %s: %.1f alone, %.1f recorded, %.3f times" % (name, min(plain), min(recorded),
                                                              min(recorded) / min(plain)))


def plain_name(name):
    """Demangled, without spaces: tools differ in those."""
    if name.startswith("_Z") and shutil.which("c++filt"):
        name = subprocess.run(["c++filt", name], stdout=subprocess.PIPE).stdout.decode().strip()
    return "".join(name.split())


def torch_program():
    script = os.path.join(HERE, "launches.py")
    want = alone([sys.executable, script, "200", "--profile"])
    answer, path = record("torch", [sys.executable, script, "200"])
    results["torch"] = answer["torch"]
    got = {}
    for name, count in sql(path, "SELECT name, count(*) FROM kernels GROUP BY name"):
        got[plain_name(name)] = got.get(plain_name(name), 0) + int(count)
    wanted = {}
    for name, count in want["kernels"].items():
        wanted[plain_name(name)] = wanted.get(plain_name(name), 0) + count
    differ = {name: (got.get(name), wanted.get(name)) for name in set(got) | set(wanted)
              if got.get(name) != wanted.get(name)}
    say("kernels as torch.profiler counts them", "here, there: %s" % differ if differ else None)
    say("PyTorch: nothing was lost", "\n".join(map(str, coverage(path))))
    costs("PyTorch, 2000 rounds, ns of wall time", [sys.executable, script, "2000"], "wall_ns")


def has_torch():
    done = subprocess.run([sys.executable, "-c", "import torch, sys; sys.exit(not torch.cuda.is_available())"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
    return done.returncode == 0


def attempt(name, part, *arguments):
    try:
        part(*arguments)
    except (RuntimeError, OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError) as wrong:
        say(name, "%s: %s" % (type(wrong).__name__, wrong))


def main():
    launches = sys.argv[1] if len(sys.argv) > 1 else ""
    if launches:
        attempt("a CUDA program", cuda_program, launches)
        attempt("cost of a launch", costs, "ns of a launch", [launches, "100000"], "launch_ns")
        attempt("cost of a run", costs, "ns of 100,000 launches", [launches, "100000"], "wall_ns")
    if has_torch():
        attempt("PyTorch", torch_program)
    else:
        print("skipped gpu: PyTorch: none with CUDA in %s" % sys.executable)
    if not results["checks"]:
        say("anything", "neither nvcc nor PyTorch is here")
    with open(os.path.join(OUT, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
    sys.exit(any(text != "ok" for text in results["checks"].values()))


main()
