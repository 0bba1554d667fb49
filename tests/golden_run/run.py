#!/usr/bin/env python3
"""Golden run documents: a small profile of every backend, with a timeline of five events (cuda: of all).

    tests/golden_run/run.py             compare
    tests/golden_run/run.py --accept    write what comes out as what is expected

Beside the bytes it checks that they are stable (again, and with another number of threads), that
all documents have one structure (the same members in the same order at every place), in the order
of the schema, and that each passes `neurolens validate`.
"""
import difflib
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import TESTS, Tally, accepting, forked as neurolens, meant  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = {
    "pytorch": ["fixtures/torch_cpu_stack.json.gz"],
    "pytorch-two-ranks": ["fixtures/torch_cpu_ddp_rank0.json.gz",
                          "fixtures/torch_cpu_ddp_rank1.json.gz"],
    "pytorch-gpu": ["corpus/chrome/kineto.json"],
    "onnxruntime": ["fixtures/ort_cpu_mlp.json.gz"],
    "onnxruntime-cuda": ["corpus/ort/cuda.json"],
    "tensorrt": ["corpus/tensorrt/engine"],
    "xla-gpu": ["corpus/xplane/gpu.xplane.pb"],
    "xla-tpu": ["corpus/xplane/tpu.xplane.pb"],
    "cuda": ["corpus/nsys/era-3.25-all.sqlite"],
    "cuda-two-ranks": ["corpus/nsys/era-2.9-two-ranks.sqlite"],
    "hip": ["corpus/rocprof/4242_kernel_trace.csv", "corpus/rocprof/4242_hip_api_trace.csv"],
    "ncu": ["corpus/ncu/two-kernels.ncu-rep"],
    "joined": ["golden_run/joined/timeline.json", "golden_run/joined/report.csv"],
}
WHOLE = ("cuda", "joined")  # with all events


def export(name, *more):
    paths = [os.path.join(TESTS, path) for path in PROFILES[name]]
    events = "all" if name in WHOLE else "5"
    return neurolens(["export", "--no-cache", *paths, "--to", "run.json", "--events", events, *more])


def without_version(text):
    return re.sub(r'"writer": "neurolens [^"]*"', '"writer": "neurolens"', text)


def structures(value, path, found):
    """Path of every object → its members in order; places in lists are one path."""
    if isinstance(value, dict):
        found.setdefault(path, set()).add(tuple(value))
        for key, inner in value.items():
            structures(inner, path + "/" + key, found)
    elif isinstance(value, list):
        for inner in value:
            structures(inner, path + "/*", found)


def schema_structures(schema, node, path, found):
    """The same from the schema."""
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    if "properties" in node:
        found[path] = {tuple(node["properties"])}
        for key, inner in node["properties"].items():
            schema_structures(schema, inner, path + "/" + key, found)
    if "items" in node:
        schema_structures(schema, node["items"], path + "/*", found)


def joined(tally):
    """What a joined report measured is in the document as it is in the profile."""
    paths = [os.path.join(TESTS, path) for path in PROFILES["joined"]]
    document = os.path.join(HERE, "joined.run.json")
    for query in ("SELECT ts, name, measurement, achieved_occupancy, l2_hit_rate FROM kernels ORDER BY ts",
                  "SELECT slice, name, measured_name, launches, measured, measured_ns, achieved_occupancy, "
                  "l2_hit_rate, sm_throughput, memory_throughput FROM kernel_measurements",
                  "SELECT slice, name, value, unit, text, section, measurement, measured FROM metrics"):
        answers = [neurolens(["sql", "--no-cache", *of, query, "--format", "csv"])
                   for of in (paths, [document])]
        tally.check("joined: %s" % query.split(" FROM ")[1].split()[0],
                    answers[0].status == 0 and answers[0].stdout.count("\n") > 3 and
                    answers[0].stdout == answers[1].stdout, answers[1].describe())
    prints = [neurolens(["fingerprint", "--no-cache", *of, "--format", "csv"]).stdout
              for of in (paths, [document])]
    tally.check("joined: the same fingerprint", prints[0] == prints[1] and "0.65" in prints[0], prints)
    more = neurolens(["sql", "--no-cache", document, "--join", paths[1], "--format", "csv",
                      "SELECT count(*), min(m.slice IS NOT NULL) FROM kernel_measurements m"])
    tally.check("joined: again, with the document", more.stdout.split()[-1] == "6,1", more.describe())


HAND_MADE = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": [
    {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": start, "dur": length,
     "args": {"External id": start, **({"Input Dims": dims, "Input type": types} if dims else {})}}
    for name, start, length, dims, types in (
        ("aten::mm", 10, 5, [[4, 8], [8, 2]], ["float", "float"]),
        ("aten::mm", 20, 7, [[4, 8], [8, 2]], ["float", "float"]),
        ("aten::mm", 30, 40, [[64, 8], [8, 2]], ["float", "float"]),
        ("aten::mm", 80, 1, [[4, 8], [8, 2]], ["double", "double"]),
        ("aten::relu_", 90, 3, None, None),
        ("Optimizer.step#SGD.step", 100, 9, [[]], [""]))]}


def leaves(tally, folder):
    """Kinds and shapes of operators of a trace that was written by hand, and the vectors of it."""
    path = os.path.join(folder, "hand.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(HAND_MADE))
    result = neurolens(["export", "--no-cache", path, "--to", "run.json"])
    document = json.loads(result.stdout)
    ops = {op["name"]: op for op in document["aggregates"]["ops"]}
    mm = ops["aten::mm"]
    shape = {"small": '[[4,8],[8,2]]', "large": '[[64,8],[8,2]]'}
    tally.check("kinds of operators", [ops[name]["type"] for name in sorted(ops)] == [None, "mm", "relu_"], ops)
    tally.check("shapes of an operator", mm["shape_count"] == 3 and [
        [s["input_shapes"].replace(" ", ""), s["input_types"].replace(" ", ""), s["count"], s["total_ns"]]
        for s in mm["shapes"]] == [[shape["large"], '["float","float"]', 1, 40000], [shape["small"], '["float","float"]', 2, 12000],
                                   [shape["small"], '["double","double"]', 1, 1000]], mm)
    tally.check("an operator without shapes", (ops["aten::relu_"]["shape_count"], ops["aten::relu_"]["shapes"]) == (0, []))
    parts = document["fingerprint"]["parts"]
    tally.check("items of the fingerprint", [part["part"] for part in parts] == ["op"] and
                [(i["count"], i["total_ns"]) for i in parts[0]["items"]] == [(1, 40000), (3, 13000), (1, 9000), (1, 3000)] and
                abs(sum(i["share"] for i in parts[0]["items"]) - 1) < 1e-12, parts)
    tally.check("no finding is an empty list, and nothing is known of a recorder", document["findings"] == [] and
                set(document["recorder"].values()) == {None}, document["recorder"])


def said(tally, folder, found):
    """Tags and notes leave the ledger with the document, and come into another one with it."""
    first, second = ({"NEUROLENS_LEDGER": os.path.join(folder, name)} for name in ("first", "second"))
    steps = [neurolens(words, extra=first) for words in (
        ["init", "--ledger", first["NEUROLENS_LEDGER"]],
        ["add", os.path.join(TESTS, PROFILES["pytorch-gpu"][0])], ["export", "@", "--to", "run.json"],
        ["tag", "@", "feature/x", "baseline"], ["note", "@", "the clocks were fixed"], ["export", "@", "--to", "run.json"])]
    plain, text = json.loads(steps[2].stdout), steps[5].stdout
    document = json.loads(text)
    structures(document, "", found)
    run = document["run"]
    tally.check("nothing was said", (plain["run"]["tags"], plain["run"]["notes"]) == ([], []), steps[2].describe())
    tally.check("tags and notes leave with the document", run["tags"] == ["baseline", "feature/x"] and
                [note["text"] for note in run["notes"]] == ["the clocks were fixed"] and run["notes"][0]["made_epoch_ns"] > 1e18, run)
    run["tags"], run["notes"] = [], []
    tally.check("and nothing else changes", document == plain)
    path = os.path.join(folder, "said.run.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    tally.check("with them it is valid", neurolens(["validate", path]).status == 0)
    other = os.path.join(TESTS, PROFILES["xla-gpu"][0])
    for words in (["init", "--ledger", second["NEUROLENS_LEDGER"]], ["add", other], ["tag", "@", "baseline"], ["add", path]):
        neurolens(words, extra=second)
    again = neurolens(["export", "@", "--to", "run.json"], extra=second)
    tally.check("they come into another ledger", again.stdout == text, again.describe())
    means = json.loads(neurolens(["show", "baseline", "--format", "json"], extra=second).stdout)
    tally.check("where a tag goes on meaning what it meant", os.path.basename(other) in json.dumps(means), means)


def older(tally, version):
    """Documents of older versions are still valid, by their own schema, and read as before."""
    schema = json.loads(neurolens(["schema", "run-%d" % version]).stdout)
    wanted = {}
    schema_structures(schema, schema, "", wanted)
    for name in sorted(os.listdir(os.path.join(HERE, "v%d" % version))):
        path, found = os.path.join(HERE, "v%d" % version, name), {}
        valid = neurolens(["validate", path])
        tally.check("version %d, %s: valid" % (version, name), valid.status == 0, valid.stdout)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        structures(json.loads(text), "", found)
        tally.check("version %d, %s: of its schema" % (version, name),
                    not [p for p, members in found.items() if members != wanted.get(p)])
        newer = neurolens(["validate", "-"], stdin=text.replace("neurolens.run/%d" % version, "neurolens.run/4").encode())
        tally.check("version %d, %s: not as version 4" % (version, name), newer.status == 1, newer.describe())
        again = neurolens(["export", path, "--to", "run.json"])
        tally.check("version %d, %s: exported as it is" % (version, name), again.stdout == text, again.stderr)
        read = neurolens(["sql", "--no-cache", path, "SELECT count(*) FROM slices", "--format", "csv"])
        tally.check("version %d, %s: read" % (version, name), read.stdout.split()[-1:] ==
                    [str(len(json.loads(text)["timeline"]["events"]))], read.describe())


def main():
    tally, accept = Tally("golden run"), accepting(__doc__, word=False)
    schema = json.loads(neurolens(["schema", "run"]).stdout)
    wanted, found = {}, {}
    schema_structures(schema, schema, "", wanted)
    for name in PROFILES:
        result = export(name)
        path = os.path.join(HERE, name + ".run.json")
        if accept and result.status == 0:
            with open(path, "w", encoding="utf-8") as file:
                file.write(without_version(result.stdout))
        with open(path, encoding="utf-8") as file:
            expected = file.read()
        got = without_version(result.stdout)
        tally.check(name, result.status == 0 and got == expected, result.stderr + meant(
            "tests/golden_run/run.py --accept",
            "".join(difflib.unified_diff(expected.splitlines(True), got.splitlines(True), "expected", "got"))))
        again = export(name, "--threads", "1").stdout, export(name, "--threads", "4").stdout
        tally.check("%s: stable bytes" % name, again == (result.stdout, result.stdout))
        valid = neurolens(["validate", "-"], stdin=result.stdout.encode())
        tally.check("%s: valid" % name, valid.status == 0, valid.stdout)
        if result.status == 0:
            structures(json.loads(result.stdout), "", found)
    with tempfile.TemporaryDirectory() as folder:
        said(tally, folder, found)
    wrong = [(path, members) for path, members in sorted(found.items())
             if members != wanted.get(path)]
    tally.check("one structure for all backends, in the schema's order (%d kinds of objects)"
                % len(found), not wrong, wrong[:5])
    missing = sorted(set(wanted) - set(found))
    tally.check("every kind of object occurs", not missing, missing)
    backends = {json.loads(open(os.path.join(HERE, n + ".run.json")).read())["software"]["backend"]
                for n in PROFILES}
    tally.check("six backends", len(backends - {None}) >= 6, backends)
    joined(tally)
    with tempfile.TemporaryDirectory() as folder:
        leaves(tally, folder)
    older(tally, 1)
    older(tally, 2)
    older(tally, 3)
    tally.finish()


main()
