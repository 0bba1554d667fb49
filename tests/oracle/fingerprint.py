#!/usr/bin/env python3
"""Fingerprints and likeness, reckoned a second time.

    fingerprint.py [NEUROLENS]

Without ../shared: the fixtures. With it: samples of every kind, too.

- Items (calls, total, median, share) of device work and of operators on the host are counted from rows that
  `sql` tells; names of kernels are taken apart here once more.
- The likeness of every pair is worked out from the two fingerprints as docs/fingerprint.md defines it, and
  must be what `similar` says.
- What must not matter does not: order of events, numbers of streams, threads and processes.
- Runs of one workload are nearer to each other than to any other; a model on a second GPU is nearer to itself
  than to other models. The distances are printed.
"""
import csv
import functools
import glob
import gzip
import json
import math
import os
import random
import re
import statistics
import sys

import _plantedtwins
import oracle

TESTS = os.path.join(oracle.ROOT, "tests")
RATIO = {"relative_latency", "flops_per_byte"}
SHARE = {"roofline_share", "occupancy_share", "estimated_occupancy_share", "warp_efficiency_share",
         "l2_hit_share", "dram_share"}
LEVELS = (("device", "op_device"), ("op",), ("layer",))


# ---- items ----

@functools.lru_cache(maxsize=None)
def base_name(name):
    """A function's own name: of "void a::b<c>(d)" it is "b"."""
    if name.startswith("_Z"):
        return None  # taken apart by the unit test
    depth, cut = 0, len(name)
    if name.endswith(")"):
        for i in range(len(name) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(name[i], 0)
            if depth == 0:
                if i and re.match(r"[\w$>]", name[i - 1]):
                    cut = i
                break
    name, depth, start = name[:cut], 0, 0
    for i, c in enumerate(name):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(c, 0)
        if depth == 0 and c == " " and i + 1 < len(name):
            start = i + 1
    name, depth, start = name[start:], 0, 0
    for i, c in enumerate(name):
        depth += {"(": 1, "<": 1, "[": 1, "{": 1, ")": -1, ">": -1, "]": -1, "}": -1}.get(c, 0)
        if depth == 0 and c == ":":
            start = i + 1
    name = name[start:]
    if "<" not in name[1:]:
        return name
    base, rest, depth = name[:name.index("<")], name[name.index("<") + 1:], 0
    if base in ("Kernel", "Kernel2", "device_kernel"):  # CUTLASS's wrappers: what they run
        for i, c in enumerate(rest):
            if depth == 0 and c in ",>":
                return base_name(rest[:i])
            depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(c, 0)
    return base


class Program(oracle.Neurolens):
    def json(self, *words):
        return self.run(*words, "--format", "json")["result"]


# Of device work: what it is called, when it was launched, how long it took.
DEVICE_WORK = [("kernels", "t.name"), ("copies", "t.kind"), ("memsets", "NULL")]
QUERIES = ["SELECT rank, marked_ts, marked_dur, phase FROM detected_steps",
           "SELECT o.name, o.shapes, o.rank, s.ts, s.dur, l.thread FROM ops o JOIN slices s ON s.id = o.slice "
           "JOIN lanes l ON l.id = s.lane WHERE s.dur IS NOT NULL AND s.flags & 2 = 0"] + [
    "SELECT %s, t.rank, coalesce(a.ts, t.ts), t.dur FROM %s t JOIN slices s ON s.id = t.slice "
    "LEFT JOIN slices a ON a.id = s.link WHERE t.dur IS NOT NULL" % (name, table) for table, name in DEVICE_WORK]


def excluded(found):
    """What starts in a step of warm-up or compilation does not count: spans of them, where a rank has others, too."""
    steps = {}
    for rank, ts, dur, phase in found:
        steps.setdefault(rank, []).append((ts, ts + dur, phase))
    return {rank: [s[:2] for s in of if s[2] not in ("steady", "last")] for rank, of in steps.items()
            if any(s[2] == "steady" for s in of)}


def is_left_out(spans, rank, ts):
    of = next(iter(spans.values())) if len(spans) == 1 else spans.get(rank, ())
    return any(start <= ts < end for start, end in of)


def device_items(found, spans):
    """Family → lengths, of names that folding leaves alone; None under others. Work counts where it was launched."""
    items = {}
    for (table, _), rows in zip(DEVICE_WORK, found):
        for text, rank, ts, dur in rows:
            if is_left_out(spans, rank, ts):
                continue
            item = {"kernels": base_name(text or ""), "copies": "[copy %s]" % (text or "?"),
                    "memsets": "[memset]"}[table]
            items.setdefault(item, []).append(dur)
    return items


def op_items(rows, spans):
    """Signature → own times of operators, from their nesting on each thread."""
    threads, items = {}, {}
    for name, shapes, rank, ts, dur, thread in rows:
        if re.search(r"\d", shapes or ""):
            name += " " + shapes.replace(" ", "").replace("\n", "")
        if thread is not None:
            left_out = is_left_out(spans, rank, ts)
            threads.setdefault(thread, []).append((ts, -dur, None if left_out else name))
    for calls in threads.values():
        calls.sort(key=lambda call: call[:2])
        stack, own = [], []
        for ts, minus, name in calls:
            while stack and stack[-1][0] < ts - minus:
                stack.pop()
            own.append([name, -minus])
            if stack:
                stack[-1][1][1] += minus
            stack.append((ts - minus, own[-1]))
        for name, length in own:
            if name is None:
                continue
            items.setdefault(name, []).append(max(length, 0))
    return items


def check_items(check, name, part, expected, key="signature"):
    """Those of the names that are as they were are equal; all of them add up."""
    total = sum(sum(lengths) for lengths in expected.values())
    calls = sum(len(lengths) for lengths in expected.values())
    got = {}
    for item in part:
        got.setdefault(item[key], []).append(item)
    check.equal(name + ": all add up", (calls, total),
                (sum(i["count"] for i in part), sum(i["total_ns"] for i in part)))
    wanted, found = {}, {}
    for signature, lengths in expected.items():
        if signature not in got or "*" in signature:
            continue
        items = got[signature]
        median = math.floor(statistics.median(lengths) + 0.5) if len(items) == 1 else None
        wanted[signature] = (len(lengths), sum(lengths), median,
                             round(sum(lengths) / total, 9) if total else None)
        found[signature] = (sum(i["count"] for i in items), sum(i["total_ns"] for i in items),
                            items[0]["latency_ns"] if len(items) == 1 else None,
                            round(sum(i["share"] for i in items), 9) if total else None)
    check.rows(name, wanted, found)


# ---- likeness ----

def closeness(x, y):
    each = []
    for column in RATIO | SHARE:
        a, b = x[column], y[column]
        if a is None or b is None:
            continue
        if a == b:
            each.append(1)
        elif column in SHARE:
            each.append(max(0, 1 - abs(a - b)))
        else:
            each.append(min(a, b) / max(a, b) if a > 0 and b > 0 else 0)
    return sum(each) / len(each) if each else None


def part_likeness(a, b):
    a = {i["signature"]: i for i in a}
    b = {i["signature"]: i for i in b}
    score = same = pairs = 0
    families = {}
    for signature in set(a) | set(b):
        x, y = a.get(signature), b.get(signature)
        both = min(x["share"], y["share"]) if x and y else 0
        pairs += bool(x and y)
        if both:
            close = closeness(x, y)
            score += both * (1 if close is None else 0.5 + 0.5 * close)
            same += both
        for item, side in ((x, 0), (y, 1)):
            if item:
                families.setdefault(item["family"], ([], []))[side].append((item, item["share"] - both))
    kin, left = 0, {}
    for sides in families.values():
        rest = [sum(share for _, share in side) for side in sides]
        plain = sum(share for side in sides for item, share in side if item["signature"] == item["family"])
        common = min(rest)
        unknown = min(common, plain)
        same += unknown
        score += unknown + 0.5 * (common - unknown)
        kin += common - unknown
        for side in (0, 1):
            for item, share in sides[side]:
                if item["category"] and rest[side] > 0:
                    left.setdefault(item["category"], [0, 0])[side] += share * (1 - common / rest[side])
    alike = sum(min(pair) for pair in left.values())
    return score + 0.5 * alike, same, kin + alike, pairs


def model(fingerprint):
    """Of the device, as the headline has it."""
    for line in fingerprint["headline"]:
        if line.startswith("Device: "):
            return re.split(r", peak of memory|; its peaks", line[8:])[0].rstrip(".")
    return None


def likeness(a, b):
    """None when no part is in both."""
    other = model(a) and model(b) and model(a) != model(b)
    for level in LEVELS:
        level = [p for p in level if a[p] and b[p]]
        if other and "op_device" in level:
            level = ["op_device"]
        parts = [part_likeness(a[p], b[p]) for p in level]
        if parts:
            *means, pairs = zip(*parts)
            return [sum(column) / len(parts) for column in means] + [sum(pairs)]
    return None


class Runs:
    """Profiles, their fingerprints, and what `similar` says of all pairs."""

    def __init__(self, check, program, folder, prints):
        self.check, self.program, self.prints, self.said = check, program, prints, {}
        self.ledger = os.path.join(folder, "ledger")
        for profile in prints:
            program.run("add", "--no-trace", "--no-cache", "--ledger", self.ledger, profile, "--format", "json")
        names = [os.path.basename(p) for p in prints]
        if len(set(names)) != len(names):
            raise SystemExit("names of profiles must differ: %s" % sorted(names))
        for profile in prints:
            answer = program.json("similar", "--no-cache", "--all", "--ledger", self.ledger, profile)
            self.said[profile] = {run["name"]: run for run in answer["runs"]}

    def check_pairs(self):
        wrong, pairs = [], 0
        known = {}  # it is the same both ways by its definition
        for a in self.prints:
            for b in self.prints:
                pairs += 1
                if (b, a) not in known:
                    known[a, b] = likeness(self.prints[a], self.prints[b])
                wanted = known[(b, a) if (b, a) in known else (a, b)]
                run = self.said[a].get(os.path.basename(b))
                got = run and [run["similarity"], run["same_share"], run["alike_share"], run["same_items"]]
                if (wanted is None) != (got is None) or \
                        (wanted and max(abs(x - y) for x, y in zip(wanted, got)) > 2e-4):
                    wrong.append((os.path.basename(a), os.path.basename(b), wanted, got))
        self.check.equal("likeness of %d pairs" % pairs, [], wrong[:3])
        self.check.equal("1 to themselves", [], [p for p in self.prints if known[p, p] and self.said[p][os.path.basename(p)]["similarity"] != 1])
        uneven = [(a, b) for a in self.prints for b in self.prints
                  if os.path.basename(b) in self.said[a] and
                  self.said[a][os.path.basename(b)]["similarity"] !=
                  self.said[b][os.path.basename(a)]["similarity"]]
        self.check.equal("the same both ways", [], uneven[:3])

    def similarity(self, a, b):
        run = self.said[a].get(os.path.basename(b))
        return run["similarity"] if run else 0

    def separated(self, name, group):
        """The members of the group are nearer to each other than to all others."""
        within = [self.similarity(a, b) for a in group for b in group if a != b]
        others = [(self.similarity(a, b), os.path.basename(b)) for a in group for b in self.prints
                  if b not in group]
        print("    %s: %.3f to %.3f within, at most %.3f to others (%s)" %
              (name, min(within), max(within), *max(others)))
        self.check.equal("%s is nearer to itself than to others" % name, True,
                         min(within) > max(others)[0])


# ---- what must not matter ----

def shuffled(events, rng):
    """The same work in another order, on other threads, streams and processes."""
    numbers = {}

    def other(kind, value):
        return numbers.setdefault((kind, str(value)), 1000 + len(numbers))

    out = []
    for event in events:
        event = json.loads(json.dumps(event))
        args = event.get("args", {})
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            event["tid"] = args["stream"] = other("stream", args.get("stream"))
        elif isinstance(event.get("tid"), int):
            event["tid"] = other("thread", event["tid"])
        if isinstance(event.get("pid"), int) and event["pid"] > 64:
            event["pid"] = other("process", event["pid"])
        out.append(event)
    rng.shuffle(out)
    return out


def check_order(check, program, folder, path):
    with (gzip.open if path.endswith("gz") else open)(path) as file:
        document = json.load(file)
    first = program.json("fingerprint", "--no-cache", path)
    document["traceEvents"] = shuffled(document["traceEvents"], random.Random(1))
    changed = os.path.join(folder, "changed.json")
    with open(changed, "w", encoding="utf-8") as file:
        file.write(json.dumps(document))
    again = program.json("fingerprint", "--no-cache", changed)
    def steady(rows):  # sums of fractions hang on their order in the last digits
        return [{k: float("%.10g" % v) if isinstance(v, float) else v for k, v in row.items()}
                for row in rows]

    for part in ("device", "parts"):
        check.equal("%s: order and lanes do not matter (%s)" % (os.path.basename(path), part),
                    steady(first[part]), steady(again[part]))


# ---- one model on two GPUs, from tables of what each kernel took ----

def lay_out(table, path, device):
    """A timeline with the kernels of a TraceLens kernel_summary.csv under their operators: as many of each as
    there were, each as long as their mean."""
    events, now, number = [], 0.0, 0
    with open(table, encoding="utf-8-sig") as file:
        for row in csv.DictReader(file):
            count = int(float(row["Kernel duration (µs)_count"]))
            mean = float(row["Kernel duration (µs)_mean"])
            for _ in range(count):
                number += 1
                op = row["Parent cpu_op"]
                if op:
                    events.append({"ph": "X", "cat": "cpu_op", "name": op, "pid": 100, "tid": 100, "ts": now,
                                   "dur": mean, "args": {"External id": number + 10**6}})
                    events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100,
                                   "tid": 100, "ts": now + mean / 4, "dur": mean / 4,
                                   "args": {"correlation": number}})
                events.append({"ph": "X", "cat": "kernel", "name": row["Kernel name"], "pid": 0, "tid": 7,
                               "ts": now + mean / 2, "dur": mean,
                               "args": {"device": 0, "context": 0, "stream": 7, "correlation": number}})
                now += 2 * mean
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": device}],
                   "traceEvents": events}))
    return path


def two_gpus(folder):
    place = os.path.join(oracle.SHARED, "samples", "torch_oracle", "AMD-AGI+TraceLens", "tests", "traces",
                         "compare_test_e2e", "reference")
    return [lay_out(os.path.join(place, name + "_perf_report_csvs", "kernel_summary.csv"),
                    os.path.join(folder, "qwen-%s.json" % name), device)
            for name, device in (("h100", "NVIDIA H100 80GB HBM3"), ("mi300", "AMD Instinct MI300X"))]


# Traces of five models on both, one file each: NAME/h100/MODEL and NAME/mi300/MODEL.
PAIRS = "torch/AMD-AGI+TraceLens/tests/traces"


def nearest_are_twins(check, program, folder, place):
    """One model on two makers' devices: the nearest of each of the runs is its twin."""
    runs = {}
    for path in sorted(glob.glob(os.path.join(place, "h100", "*.gz"))):
        twin = os.path.join(place, "mi300", os.path.basename(path))
        if os.path.exists(twin):
            runs[path], runs[twin] = twin, path
    if not runs:
        check.skip("nearest on two GPUs", "no traces of one model on H100 and MI300X")
        return
    ledger = os.path.join(folder, "twins of " + os.path.basename(place))
    program.run("add", "--no-trace", "--no-cache", "--ledger", ledger, *runs, "--format", "json")
    wrong = []
    for path, twin in runs.items():
        answer = program.json("similar", "--no-cache", "--all", "--ledger", ledger, path)["runs"]
        others = [run for run in answer if run["similarity"] < 1]
        device = {"h100": "MI300", "mi300": "H100"}[os.path.basename(os.path.dirname(path))]
        best = others[0]
        if best["name"] != os.path.basename(twin) or device not in (best["device"] or ""):
            wrong.append((path, best["name"], best["device"], best["similarity"]))
    check.equal("%d runs of %d models on H100 and MI300X are nearest to their twins" %
                (len(runs), len(runs) // 2), [], wrong)


# ---- samples ----

SAMPLES = ("torch/pytorch+kineto/tb_plugin/samples/*/*.gz", "torch/harryjmoss+particle_transformer/*/*/*.json",
           "torch/harryjmoss+particle_transformer/*.json", "nsys/GindaChen*.sqlite", "nsys/Yoon*.sqlite",
           "torch/sidnb13+torch-profiling-tutorial/*/*/*.json", "nsys/amir*.sqlite",
           "torch/AMD-AGI+TraceLens/tests/traces/*/*.gz", "torch/AMD-AGI+TraceLens/tests/traces/*/*/*.gz",
           "torch/facebook*/tests/data/ns_resolution_trace/*.gz", "torch/Coding*/*/*.json",
           "ort/recorded_by_us/*.json", "ort/recorded_by_us_2/*.json",
           "tensorrt/NVIDIA+TensorRT/*/*/trt-engine-explorer/*/*/resnet/*/*/*.profile.json",
           "tensorrt/NVIDIA+TensorRT/*/*/trt-engine-explorer/tests/inputs/fd*.profile.json")
GROUPS = (("kineto's ResNet-50, two versions", "worker0.pt"),
          ("particle_transformer, batch 2, four runs", "hmoss-6a49xb_198(1897|0917)"),
          ("nsys-ai's MFU runs, before and after", "mfu_2gpu"),
          ("Qwen1.5-0.5B on H100 and MI300X", "qwen-"),
          ("MNIST in ONNX Runtime 1.22 and 1.23", "cpu_mnist"),
          ("a CNN in ONNX Runtime 1.14 to 1.20", r"cnn_ort_|cnn_2026"),
          ("ResNet in TensorRT, FP32 and FP16", "(bd8aa336|f0cfa115)__resnet"))


def main():
    check, program = oracle.Checker(), Program(sys.argv)
    folder = program.home.name
    fixtures = [os.path.join(TESTS, path) for path in
                ("fixtures/torch_cpu_train.json.gz", "fixtures/torch_cpu_stack.json.gz",
                 "fixtures/ort_cpu_mlp.json.gz", "corpus/nsys/era-3.25-all.sqlite",
                 "corpus/chrome/kineto.json", "corpus/xplane/gpu.xplane.pb")]
    samples = []
    if os.path.isdir(os.path.join(oracle.SHARED, "samples")):
        for pattern in SAMPLES:
            samples += sorted(glob.glob(os.path.join(oracle.SHARED, "samples", pattern)))
    prints = {}
    for profile in fixtures + samples:
        name = os.path.basename(profile)
        answer = prints[profile] = program.json("fingerprint", "--no-cache", profile)
        steps, ops, *device = program.sql_each(profile, QUERIES, "--no-cache")
        spans = excluded(steps)
        if answer["device"]:
            check_items(check, name + ": device", answer["device"], device_items(device, spans), "family")
        if answer["op"]:
            check_items(check, name + ": op", answer["op"], op_items(ops, spans))
    check_order(check, program, folder, os.path.join(TESTS, "corpus/chrome/kineto.json"))
    for path in samples:
        if "particle_transformer" in path and "2557314b" in path:
            check_order(check, program, folder, path)
    for profile in two_gpus(folder) if samples else []:
        prints[profile] = program.json("fingerprint", "--no-cache", profile)
    runs = Runs(check, program, folder, prints)
    runs.check_pairs()
    for name, pattern in GROUPS if samples else ():
        runs.separated(name, [p for p in runs.prints if re.search(pattern, os.path.basename(p))])
    nearest_are_twins(check, program, folder, _plantedtwins.make(os.path.join(folder, "planted")))
    nearest_are_twins(check, program, folder, os.environ.get("NEUROLENS_TWINS") or
                      os.path.join(oracle.SHARED, "samples", PAIRS))
    check.finish()


if __name__ == "__main__":
    main()
