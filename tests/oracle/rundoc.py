#!/usr/bin/env python3
"""Run documents against independent reckoning.

    rundoc.py [NEUROLENS]

Without ../shared: the fixtures. With it: small samples of every kind, too.

- The public JSON Schema validator (python3-jsonschema) and `neurolens validate` agree on every
  document, and on more than 50 broken ones fault by fault: place and keyword.
- Statistics, breakdowns, steps and metrics are computed again from what `sql` tells.
- A document with all events, read as a profile, gives the breakdown and kernel summary of the
  profile it was made from; a cut one says so in its coverage.
"""
import json
import math
import os
import pickle
import random
import sys
import tempfile

import oracle
from publicschema import Draft202012Validator, validators

ROOT = oracle.ROOT
TESTS = os.path.join(ROOT, "tests")
FIXTURES = ["fixtures/torch_cpu_train.json.gz", "fixtures/ort_cpu_mlp.json.gz",
            "corpus/nsys/era-3.25-all.sqlite", "corpus/nsys/era-2.9-two-ranks.sqlite",
            "corpus/nsys/graph-nodes.sqlite", "corpus/chrome/kineto.json",
            "corpus/chrome/fused_ranks.json", "corpus/xplane/gpu.xplane.pb",
            "corpus/tensorrt/engine", "corpus/rocprof/4242_kernel_trace.csv",
            "corpus/ncu/two-kernels.ncu-rep", "corpus/gputelemetry/query.csv"]
LARGEST = 2 << 20  # bytes of a sample
QUANTILES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99))

def pointer(path):
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


class Documents:
    """Makes and checks documents in a folder of its own."""

    def __init__(self, program):
        self.program = program
        self.folder = tempfile.TemporaryDirectory(prefix="neurolens-rundoc-")
        self.schemas = [json.loads(self.call("schema", name)[1]) for name in ("run", "run-3", "run-2", "run-1")]
        self.validators = validators(self.schemas) if Draft202012Validator else None

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def call(self, *words):
        status, out, errors = self.program.answer(*words)
        return status, out.decode(), errors.decode()

    def export(self, profile, *more, name="run.json"):
        status, _, errors = self.call("export", profile, "--to", "run.json", "-o", self.path(name),
                                      *more)
        return (self.path(name), None) if status == 0 else (None, "%d %s" % (status, errors))

    def ours(self, path):
        """Faults as (pointer, keyword), sorted."""
        status, out, errors = self.call("validate", "--format", "json", path)
        if status not in (0, 1):
            return [("", errors)]
        return sorted((f["pointer"], f["keyword"]) for f in json.loads(out)["result"]["faults"])

    def theirs(self, document):
        version = document.get("schema") if isinstance(document, dict) else None
        known = isinstance(version, str) and version in self.validators
        validator = self.validators[version if known else "neurolens.run/4"]
        return sorted((pointer(error.absolute_path), error.validator)
                      for error in validator.iter_errors(document))


# ---- agreement ----

def objects(value, path=()):
    """Every (path, value) of a document."""
    yield path, value
    inner = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from objects(item, path + (key,))


def at(document, path):
    for part in path:
        document = document[part]
    return document


MUTATIONS = [  # (name, what becomes of a value; None = it does not apply to it)
    ("null", lambda v: (None,) if v is not None else None),
    ("a text", lambda v: ("text",) if not isinstance(v, str) else None),
    ("an empty text", lambda v: ("",) if isinstance(v, str) else None),
    ("a number for a text", lambda v: (7,) if isinstance(v, str) else None),
    ("less than nothing", lambda v: (-1,) if type(v) is int else None),
    ("a fraction", lambda v: (v + 0.5,) if type(v) is int else None),
    ("a whole number with a point", lambda v: (float(v),) if type(v) is int and v < 1e15 else None),
    ("a great number", lambda v: (1e300,) if isinstance(v, (int, float)) else None),
    ("true", lambda v: (True,) if not isinstance(v, bool) else None),
    ("one for true", lambda v: (1,) if isinstance(v, bool) else None),
    ("a list", lambda v: ([],) if not isinstance(v, list) else None),
    ("an empty list", lambda v: ([],) if isinstance(v, list) and v else None),
    ("an object", lambda v: ({},) if not isinstance(v, list) else None),
    ("a list with null", lambda v: (v + [None],) if isinstance(v, list) else None),
    ("a list with a text", lambda v: (v + ["x"],) if isinstance(v, list) else None),
    ("one member more", lambda v: (dict(v, more=1),) if isinstance(v, dict) else None),
    ("a member less", lambda v: (dict(list(v.items())[1:]),) if v and isinstance(v, dict) else None),
    ("two members less, one more", lambda v: (dict(list(v.items())[2:], other=None),)
     if isinstance(v, dict) and len(v) > 2 else None),
    ("no members", lambda v: ({},) if isinstance(v, dict) and v else None),
    ("an unknown word", lambda v: ("nonesuch/~word",) if isinstance(v, str) else None),
]


def mutants(document, seed, count):
    """(name, broken document): each mutation at places of its own, some twice in one document."""
    chance = random.Random(seed)
    places, kept = [path for path, _ in objects(document)], pickle.dumps(document)
    made = 0
    while made < count:
        name, change = MUTATIONS[made % len(MUTATIONS)]
        broken, done = pickle.loads(kept), []
        for _ in range(1 + made % 3):
            for _ in range(200):
                path = chance.choice(places)
                try:
                    new = change(at(broken, path)) if path else None
                except (KeyError, IndexError, TypeError):
                    new = None  # an earlier change took the place away
                if new is not None:
                    at(broken, path[:-1])[path[-1]] = new[0]
                    done.append(pointer(path))
                    break
        made += 1
        yield "%s at %s" % (name, ", ".join(done)), broken


def check_agreement(check, documents, paths):
    if not documents.validators:
        check.skip("the public validator agrees", "no python3-jsonschema")
        return
    for schema in documents.schemas:
        Draft202012Validator.check_schema(schema)
    check.ok("the schemas are schemas of draft 2020-12")
    broken = differ = faults = 0
    for number, path in enumerate(paths):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        check.equal("validators agree on %s" % os.path.basename(path), ([], []),
                    (documents.theirs(document), documents.ours(path)))
        for name, mutant in mutants(document, number, 20):
            with open(documents.path("mutant.json"), "w", encoding="utf-8") as file:
                file.write(json.dumps(mutant))
            theirs, ours = documents.theirs(mutant), documents.ours(documents.path("mutant.json"))
            broken += bool(theirs)
            faults += len(theirs)
            if theirs != ours:
                differ += 1
                check.fail("validators agree: " + name, theirs[:3], ours[:3])
    if not differ:
        check.ok("validators agree on %d broken documents, %d faults, place and keyword"
                 % (broken, faults))
    check.equal("50 documents are broken", True, broken >= 50)


def check_syntax(check, documents):
    """What is no JSON, or has a key twice, is refused; json.loads is the other opinion."""
    texts = ["", " ", "{", "[1,]", '{"a":1,}', "nul", "NaN", "[Infinity]", "01", "1.", "+1", ".5",
             "1e", '"\t"', '"\\x"', '"\\u12"', "[1 2]", '{"a" 1}', "{1:2}", "[}", '{"a":1]', "1 2",
             "[" * 100, '"\xff', "\ufeff{}", "tru", "[1", '{"a"', '{"a":', "-", "--1", "'a'"]
    wrong = []
    for text in texts:
        path = documents.path("syntax.json")
        with open(path, "wb") as file:
            file.write(text.encode("latin-1" if "\xff" in text else "utf-8"))
        if documents.ours(path) != [("", "syntax")]:
            wrong.append((text, documents.ours(path)))
    check.equal("%d texts that are no JSON" % len(texts), [], wrong)
    with open(documents.path("syntax.json"), "w", encoding="utf-8") as file:
        file.write('{"schema": "neurolens.run/1", "schema": "neurolens.run/1"}')
    check.equal("a key that occurs twice", True,
                ("/schema", "duplicate") in documents.ours(documents.path("syntax.json")))


# ---- numbers again ----

AGGREGATES = (("kernels", "SELECT name, dur FROM kernels"), ("ops", "SELECT name, dur FROM ops"), ("layers", "SELECT name, dur FROM layers"),
              ("copies", "SELECT kind, dur FROM copies"), ("calls", "SELECT name, dur FROM api"))
SHAPES = "SELECT o.name, o.dur, o.shapes, o.dtypes, n.type, n.input_shapes, n.input_types " \
         "FROM ops o LEFT JOIN nodes n ON n.slice = o.slice WHERE o.dur IS NOT NULL"
DEVICES = "SELECT rank, device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns FROM time_breakdown"
EVENTS = "SELECT count(*) FROM slices"

def close(a, b):
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6)


def stats(values):
    out = {"count": len(values), "total_ns": sum(values), "mean_ns": sum(values) / len(values),
           "std_ns": oracle.stddev(values), "min_ns": min(values), "max_ns": max(values)}
    for name, q in QUANTILES:
        out[name + "_ns"] = oracle.quantile(values, q)
    return out


def same_stats(expected, got):
    return list(expected) == list(got) and all(close(expected[k], got[k]) for k in expected)


def check_group(check, label, rows, groups):
    """rows: (key, dur) of sql; groups: {key: stats} of the document."""
    values = {}
    for key, dur in rows:
        if dur is not None:
            values.setdefault(key, []).append(dur)
    wrong = [key for key in set(values) | set(groups)
             if key not in values or key not in groups
             or not same_stats(stats(values[key]), groups[key])]
    if values or groups:
        check.equal("%s: %d groups" % (label, len(values)), [], wrong[:3])


def check_aggregates(check, program, label, profile, document):
    for key, query in AGGREGATES:
        rows = [tuple(row) for row in program.sql(profile, query)]
        groups = {row["kind" if key == "copies" else "name"]: row["dur_ns"] for row in document["aggregates"][key]}
        check_group(check, "%s: %s" % (label, key), rows, groups)
        totals = [row["dur_ns"]["total_ns"] for row in document["aggregates"][key]]
        if totals != sorted(totals, reverse=True):
            check.fail("%s: %s: largest total first" % (label, key), "descending", totals[:5])


def check_shapes(check, program, label, profile, document):
    """Kinds of operators and their calls by shapes and types, from rows of SQL."""
    rows = program.sql(profile, SHAPES)
    calls, kinds = {}, {}
    for name, length, shapes, types, kind, node_shapes, node_types in rows:
        key = (shapes, types) if shapes or types else (node_shapes, node_types)
        sums = calls.setdefault(name, {}).setdefault(key, [0, 0])
        sums[0] += 1
        sums[1] += length
        left, colons, right = (name or "").partition("::")
        plain = colons and right and left and all(c.isalnum() and c.isascii() or c == "_" for c in left)
        kinds.setdefault(name, set()).add(kind or (right if plain else None))
    wrong = []
    for op in document["aggregates"]["ops"]:
        expected = calls.get(op["name"], {})
        known = any(key != (None, None) for key in expected)
        listed = {(s["input_shapes"], s["input_types"]): [s["count"], s["total_ns"]] for s in op["shapes"]}
        order = [-s["total_ns"] for s in op["shapes"]]
        if op["type"] not in kinds.get(op["name"], ()) or op["shape_count"] != (len(expected) if known else 0) or \
                len(listed) != (min(len(expected), 32) if known else 0) or order != sorted(order) or \
                any(expected.get(key) != sums for key, sums in listed.items()):
            wrong.append((op["name"], op["type"], op["shape_count"], op["shapes"][:2], expected))
    if rows:
        check.equal("%s: kinds and shapes of %d operators" % (label, len(calls)), [], wrong[:2])


def check_judged(check, documents, label, profile, document):
    """Findings and the fingerprint are those of the commands that answer them."""
    answer = json.loads(documents.call("analyze", "--no-cache", profile, "--format", "json")[1])["result"]["findings"]
    same = ("id", "cause", "severity", "title", "confidence", "cost_ns", "cost_share")
    check.equal("%s: %d findings" % (label, len(answer)),
                [[f[key] for key in same] + f["saving_ns"] for f in answer],
                [[f[key] for key in same] + [f["saving_low_ns"], f["saving_high_ns"]] for f in document["findings"]])
    print_ = json.loads(documents.call("fingerprint", "--no-cache", profile, "--format", "json")[1])["result"]
    made = {part["part"]: part for part in document["fingerprint"]["parts"]}
    check.equal("%s: parts of the fingerprint" % label,
                [[p["part"], p["signature"], p["items"], p["calls"], p["total_ns"]] for p in print_["parts"]],
                [[p["part"], p["signature"], len(p["items"]), p["calls"], p["total_ns"]]
                 for p in document["fingerprint"]["parts"]])
    for part in made:
        wrong = [(theirs, ours) for theirs, ours in zip(print_[part], made[part]["items"])
                 if any(theirs[key] != ours[key] for key in theirs) or ours["hash"] != fnv(ours["signature"])]
        check.equal("%s: %d items of %s" % (label, len(print_[part]), part), [], wrong[:1])


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return "%016x" % value


def has_starts(document):
    """False when coverage says of all kernels that the file does not tell when they ran."""
    without = sum(row["count"] for row in document["coverage"]["items"]
                  if row["item"] == "not recorded: start times of kernels")
    return not without or without < sum(d["kernel_count"] for d in document["devices"])


def check_devices(check, program, label, profile, document):
    names = ("rank", "ordinal", "wall_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns",
             "idle_ns")
    rows = program.sql(profile, DEVICES)
    order = lambda row: tuple(str(v) for v in row)
    got = [[device[name] for name in names] for device in document["devices"]]
    check.equal("%s: %d devices" % (label, len(rows)), sorted(rows, key=order),
                sorted(got, key=order))
    if not has_starts(document):
        known = [d for d in document["devices"] + document["ranks"]
                 for name in ("wall", "exposed_comm", "exposed_copy", "idle")
                 if d[name + "_ns"] is not None or d["compute_ns"] is None]
        check.equal("%s: without start times only compute is known" % label, [], known)
        return
    wrong = [d for d in document["devices"] + document["ranks"] if d["wall_ns"] != d["compute_ns"] +
             d["exposed_comm_ns"] + d["exposed_copy_ns"] + d["idle_ns"]]
    check.equal("%s: parts are the wall" % label, [], wrong)
    check.equal("%s: ranks are sums" % label, sum(d["wall_ns"] for d in document["devices"]),
                sum(r["wall_ns"] for r in document["ranks"]))


def check_steps(check, label, document):
    for group in document["steps"]:
        lengths = [step["dur_ns"] for step in group["items"]]
        steady = [step["dur_ns"] for step in group["items"] if step["phase"] == "steady" and step["dur_ns"] > 0]
        check.equal("%s: rank %s: %d steps" % (label, group["rank"], len(lengths)), True,
                    same_stats(stats(lengths), group["dur_ns"]) and
                    (same_stats(stats(steady), group["steady_dur_ns"]) if steady
                     else group["steady_dur_ns"] is None))


def ratio(part, whole):
    return part / whole if whole else None


def check_metrics(check, label, document):
    got = {row["name"]: row["value"] for row in document["metrics"]}
    missing = [row["name"] for row in document["metrics"]
               if (row["value"] is None) != (row["missing"] is not None)]
    check.equal("%s: a metric has a value or names what is missing" % label, [], missing)
    devices, work = document["devices"], document["workload"]
    total = {k: sum(d[k] for d in devices) for k in devices[0] if k.endswith("_ns")} \
        if devices and has_starts(document) else {}
    ranks = [[s["dur_ns"] for s in g["items"] if s["phase"] == "steady" and s["dur_ns"] > 0] for g in document["steps"]]
    together = [[rank[n] for rank in ranks if n < len(rank)] for n in range(max(map(len, ranks), default=0))]
    mean = sum(sum(one) / len(one) for one in together) / len(together) if together else None
    profiled = [s["dur_ns"] for g in document["steps"] for s in g["items"] if s["phase"] == "profiled" and s["dur_ns"] > 0]
    rate = 1e9 / mean if mean else None
    times = lambda *values: None if None in values else math.prod(values)
    flops = times(work["model_flops_per_step"], rate)
    peak = document["hardware"].get("peak_%s_flops_per_s" % work["precision"])
    expected = {"wall_ns": total.get("wall_ns"),
                "mean_step_ns": mean, "profiled_step_ns": sum(profiled) / len(profiled) if profiled else None,
                "steps_per_s": rate, "samples_per_s": times(work["batch_size"], rate),
                "tokens_per_s": times(work["batch_size"], rate, work["sequence_length"]),
                "model_flops_per_s": flops,
                "mfu": ratio(flops, peak * document["hardware"]["device_count"])
                if flops and peak else None,
                "kernel_count": sum(d["kernel_count"] for d in devices) if devices else None}
    for part in ("compute", "exposed_comm", "exposed_copy", "idle"):
        expected[part + "_share"] = ratio(total.get(part + "_ns", 0), total.get("wall_ns"))
    idle = expected["idle_share"]
    expected["gpu_busy_share"] = None if idle is None else 1 - idle
    expected["comm_overlap_share"] = ratio(total.get("overlap_ns", 0), total.get("comm_ns"))
    wrong = [(k, v, got[k]) for k, v in expected.items() if not close(v, got[k])]
    check.equal("%s: %d metrics" % (label, len(expected)), [], wrong)


# ---- there and back ----

SUMMARIES = ("SELECT rank, device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns "
             "FROM time_breakdown ORDER BY 1, 2",
             "SELECT * FROM kernel_summary ORDER BY total_ns DESC, name",
             "SELECT kind, count(*), sum(dur) FROM slices GROUP BY kind ORDER BY 1")


def check_round_trip(check, program, documents, label, profile, path):
    program.ask(path, SUMMARIES)
    for query in SUMMARIES:
        check.equal("%s: there and back: %s" % (label, query.split("FROM ")[1][:14]),
                    program.sql(profile, query), program.sql(path, query))


def check_cut(check, program, documents, label, profile, events):
    cut, why = documents.export(profile, "--events", "3", name="cut.json")
    if not cut:
        check.fail("%s: a cut timeline" % label, "a document", why)
        return
    with open(cut, encoding="utf-8") as file:
        document = json.load(file)
    missing = {row["kind"]: row["total"] - row["listed"] for row in document["coverage"]["events"]
               if row["total"] > row["listed"]}
    said = {item.rsplit(": ", 1)[1]: count for item, count in program.sql(
        cut, "SELECT item, count FROM coverage WHERE item LIKE 'not in the run document: %' "
             "AND detail LIKE '%timeline was cut%'")}
    check.equal("%s: a cut timeline says so" % label,
                (events <= 3, {k or "events": v for k, v in missing.items()}),
                (document["coverage"]["timeline_complete"], said))


def check_profile(check, program, documents, label, profile, name):
    program.ask(profile, [EVENTS, *(query for _, query in AGGREGATES), SHAPES, DEVICES, *SUMMARIES])
    path, why = documents.export(profile, "--events", "all", name=name)
    if not path:
        check.fail("%s: export" % label, "a document", why)
        return None
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    check.equal("%s: what it is shown as" % label, True,
                document["coverage"]["timeline_complete"] and
                len(document["timeline"]["events"]) ==
                program.sql(profile, EVENTS)[0][0])
    check_aggregates(check, program, label, profile, document)
    check_shapes(check, program, label, profile, document)
    check_judged(check, documents, label, profile, document)
    check_devices(check, program, label, profile, document)
    check_steps(check, label, document)
    check_metrics(check, label, document)
    check_round_trip(check, program, documents, label, profile, path)
    check_cut(check, program, documents, label, profile, len(document["timeline"]["events"]))
    return path


def check_corpus(check, documents):
    """Damaged and odd files give documents, too: each is checked before it is written."""
    count, wrong = 0, []
    for path, _, names in sorted(os.walk(os.path.join(TESTS, "corpus"))):
        for name in sorted(names):
            if name.endswith((".py", ".md")):
                continue
            made, why = documents.export(os.path.join(path, name), name="corpus.json")
            count += 1
            if not made:
                wrong.append((name, why))
    check.equal("corpus: %d files give documents" % count, [], wrong)


def check_order(check, program):
    """Members of a document may stand in any order."""
    corpus = os.path.join(TESTS, "corpus", "runjson")
    query = "SELECT kind, name, ts, dur, lane_name, process FROM slices ORDER BY 3, 2, 4"
    rows = [program.sql(os.path.join(corpus, name), query)
            for name in ("every_kind.json", "sorted_members.json")]
    check.equal("members in another order: %d events" % len(rows[0]), rows[0], rows[1])


def check_settings(check, program, documents):
    """Metrics that need what only people know."""
    path, why = documents.export(
        os.path.join(TESTS, FIXTURES[0]), "--set", "workload.batch_size=16",
        "--set", "workload.sequence_length=8", "--set", "workload.model_flops_per_step=2.5e15",
        "--set", "workload.precision=bf16", "--set", "hardware.device_name=NVIDIA H100 80GB HBM3",
        "--set", "hardware.device_count=2", name="set.json")
    if not path:
        check.fail("settings", "a document", why)
        return
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    got = {row["name"]: row["value"] for row in document["metrics"]}
    check.equal("settings: peak of the named device", 989.5e12,
                document["hardware"]["peak_bf16_flops_per_s"])
    check.equal("settings: every metric of steps is known", [],
                [n for n in ("samples_per_s", "tokens_per_s", "mfu") if got[n] is None])
    check_metrics(check, "settings", document)


def samples():
    top = os.path.join(oracle.SHARED, "samples")
    for folder in ("torch", "nsys", "xplane", "ort", "tensorrt", "rocprof", "nvprof", "ncu", "chrome"):
        taken = 0
        for path, _, names in sorted(os.walk(os.path.join(top, folder))):
            for name in sorted(names):
                full = os.path.join(path, name)
                if taken < 4 and os.path.getsize(full) < LARGEST and \
                        name.endswith((".json", ".json.gz", ".sqlite", ".pb", ".csv", ".nvvp", ".ncu-rep")):
                    taken += 1
                    yield full


def main(argv):
    program, check = oracle.Neurolens(argv), oracle.Checker()
    documents = Documents(program)
    paths = []
    for number, profile in enumerate(FIXTURES):
        path = check_profile(check, program, documents, os.path.basename(profile),
                             os.path.join(TESTS, profile), "fixture%d.json" % number)
        if path and os.path.getsize(path) < 200000:
            paths.append(path)
    # With what a joined report measured; and of version 1.
    paths += [os.path.join(TESTS, "golden_run", name) for name in
              ("joined.run.json", "v1/cuda.run.json", "v1/ncu.run.json", "v1/pytorch.run.json")]
    check_settings(check, program, documents)
    check_order(check, program)
    check_corpus(check, documents)
    check_agreement(check, documents, paths)
    check_syntax(check, documents)
    if not os.path.exists(os.path.join(oracle.SHARED, "samples")):
        check.skip("samples", "no ../shared")
    for number, profile in enumerate(samples()):
        try:
            program.sql(profile, "SELECT 1")
        except RuntimeError:
            continue  # not a profile
        path = check_profile(check, program, documents, os.path.basename(profile)[-40:], profile,
                             "sample.json")
        if path and documents.validators and os.path.getsize(path) < 20 << 20:
            with open(path, encoding="utf-8") as file:
                check.equal("validators agree on it", [], documents.theirs(json.load(file))[:3])
    check.finish()


main(sys.argv)
