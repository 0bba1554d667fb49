#!/usr/bin/env python3
"""How sure findings are is measured, never set: counts of src/findings/sureness.def against planted profiles.

    tests/sureness.py            a sample: no finding may be wrong that the counts do not hold
    tests/sureness.py --all      all variations of all planted profiles, and those of test_sureness; writes
                                 the counts anew (`make sureness`)

The profiles are those of tests/work.py, and of tests/unit/plantedall.h (asked by test_sureness). Varied: lengths by
up to 5 % here and there, as captures differ; every fourth launch lost; no launches."""
import copy
import json
import math
import multiprocessing.dummy
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import ROOT, Tally, neurolens  # noqa: E402
import work  # noqa: E402

TABLE = os.path.join(ROOT, "src", "findings", "sureness.def")
HEAD = """/* NL_SURE(cause, hits, of, …) — how often findings of a cause were right on planted profiles, of how many that were
 * printed: with launches and names recorded; with launches; the device alone; on profiles without device work.
 * Made by `make sureness`: measured, not set. */
"""
ALL, WAYS = 30, {"whole": 30, "some lost": 10, "no launches": 3}  # variations
NAMED, LAUNCHED, DEVICE = range(3)  # what is recorded: columns of the table
COPIES = ("aten::copy_", [[1 << 22], [1 << 22]], work.F, 100.0,
          {"kernel": "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>(int)"})
SOME = work.BIG[:3] + (100.0,)
PLANTED = [row for row in work.PLANTED] + [
    ("d2d_copy_or_cast_excess", True, "half of the time", [COPIES, SOME, SOME], None),
    ("d2d_copy_or_cast_excess", False, "a fortieth", [COPIES] + [SOME] * 39, None),
    ("d2d_copy_or_cast_excess", False, "products alone", [SOME], None)]


def stretched(at, variation):
    """Monotone: what was in order, nested or overlapping stays so."""
    for i, period in enumerate((37.0, 1100.0, 29000.0)):
        at += 0.05 / 3 * period / 2 / math.pi * math.sin(at / period * 2 * math.pi + variation * 2.399963 * (i + 1))
    return at


def varied(trace, variation, way):
    trace = copy.deepcopy(trace)
    for event in trace["traceEvents"]:
        if "ts" in event:
            end = stretched(event["ts"] + event.get("dur", 0), variation)
            event["ts"] = stretched(event["ts"], variation)
            event["dur"] = end - event["ts"]
        number = event["args"].get("correlation")
        if event.get("cat") == "cuda_runtime" and (way == "no launches" or way == "some lost" and number % 4 == 0):
            del event["args"]["correlation"]
    return trace


def profiles(folder):
    """(cause, planted?, what, traces)"""
    for cause, want, what, calls, device in PLANTED:
        with open(work.planted(folder, "planted.json", calls, device), encoding="utf-8") as file:
            yield cause, bool(want), what, [json.load(file)]
    for what, want, ranks in work.EXPERTS:
        yield "moe_imbalance", bool(want), what, list(work.traces_of_experts(ranks))


def printed(task):
    """(task, the finding of that cause if it is large enough to be printed)"""
    folder, number, cause, planted, what, traces, variation, way = task
    place = os.path.join(folder, "%d-%d-%s" % (number, variation, way))
    os.mkdir(place)
    paths = [work.write(place, "rank%d.json" % i, varied(trace, variation, way)) for i, trace in enumerate(traces)]
    result = neurolens(["analyze", "-q", "--all", "--no-cache", "--format", "json", *paths])
    shutil.rmtree(place)
    for finding in json.loads(result.stdout)["result"]["findings"]:
        if cause in (finding["cause"], *finding.get("also", [])) and len(finding["evidence"]) >= 2 and \
                finding["cost_ns"] >= 50000 and finding["cost_share"] >= 0.005:
            return task, finding
    return task, None


def measure(folder, every, variations):
    counts, highest = {}, {}
    tasks = [(folder, number, cause, planted, what, traces, variation, way)
             for number, (cause, planted, what, traces) in enumerate(profiles(folder)) if number % every == 0
             for variation in range(1, variations + 1) for way, most in WAYS.items() if variation <= most]
    with multiprocessing.dummy.Pool(4) as pool:
        for (_, _, cause, planted, what, _, variation, way), finding in pool.imap(printed, tasks):
            if not finding:
                continue
            of = DEVICE if way == "no launches" else LAUNCHED if cause == "moe_imbalance" else NAMED
            row = counts.setdefault(cause, [0] * 8)
            row[2 * of] += planted
            row[2 * of + 1] += 1
            highest[cause, of] = max(highest.get((cause, of), 0), finding["confidence"])
            if not planted:
                print("    wrong: %s: %s, variation %d, %s" % (cause, what, variation, way))
    return counts, highest


def stated():
    with open(TABLE, encoding="utf-8") as file:
        rows = re.findall(r'NL_SURE\("(\w+)", ([\d, ]+)\)', file.read())
    return {cause: [int(n) for n in numbers.split(",")] for cause, numbers in rows}


def bound(rows, cause, column):
    """The formula of sureness.h for a cause that has trials in that column, without what holds between columns."""
    hits, of = rows.get(cause, [0] * 8)[2 * column:2 * column + 2]
    usual = sum(row[2 * column] for row in rows.values()) / sum(row[2 * column + 1] for row in rows.values())
    z, n = 1.6448536, min(of + 20, 60) if hits >= usual * of else 20
    share = (hits + 20 * usual) / (of + 20)
    return (share + z * z / (2 * n) - z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))) / (1 + z * z / n)


def write_table(counts):
    with open(os.path.join(ROOT, "src", "findings", "causes.def"), encoding="utf-8") as file:
        causes = re.findall(r"^NL_CAUSE\((\w+),", file.read(), re.M)
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for cause in causes:
            if any(counts.get(cause, [])):
                file.write('NL_SURE("%s", %s)\n' % (cause, ", ".join(map(str, counts[cause]))))
        file.write("#undef NL_SURE\n")


def everything(folder):
    counts, _ = measure(folder, 1, ALL)
    print("counts of profiles in JSON:", counts)
    program = os.path.join(ROOT, "build", "tests", "unit", "test_sureness")
    text = subprocess.run([program], env=dict(os.environ, SURENESS="60"), capture_output=True, text=True).stdout
    for cause, numbers in re.findall(r"^count (\w+) ([\d ]+)$", text, re.M):
        row = counts.setdefault(cause, [0] * 8)
        for i, number in enumerate(numbers.split()):
            row[i] += int(number)
    write_table(counts)


def event(cat, name, at, length, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 7, "ts": at, "dur": length,
            "args": {"device": 0, "stream": 7, **args}}


def collectives(lengths):
    """All-reduces of 4 KiB behind a product each, of those lengths in µs."""
    events = []
    for i, length in enumerate(lengths):
        reduce_ = event("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 5000 * i + 1000, length,
                        **{"Collective name": "allreduce", "dtype": "Float", "Group size": 8, "In msg nelems": 1024,
                           "Out msg nelems": 1024, "Process Group Name": "0"})
        events += [event("kernel", "gemm", 5000 * i, 1000), reduce_]
    return events


def waited_for(every):
    """Twenty kernels of a millisecond, each waited for with cudaDeviceSynchronize, half a millisecond apart; only one of
    `every` has a launch."""
    events = []
    for i in range(20):
        at = 1500 * i
        if i % every == 0:
            call = {**event("cuda_runtime", "cudaLaunchKernel", at, 5), "tid": 1}
            call["args"] = {"correlation": i + 1}
            events.append(call)
        wait = {**event("cuda_runtime", "cudaDeviceSynchronize", at + 10, 1005), "tid": 1}
        wait["args"] = {"correlation": 1000 + i}
        events += [wait, event("kernel", "gemm", at + 10, 1000, **({"correlation": i + 1} if i % every == 0 else {}))]
    return events


def doubt_is_stated(tally, folder):
    """Less sure by the factor that the documents state, of all five: half of the products without tensor cores where nobody
    knows the GPU, and a little over the threshold where its name does; one gap that is nearly all idle time, and a gap in
    each of twenty; late ranks seen from one; and waits where the launches of half of the work are known, and of all."""
    def sure_of(cause, events, device):
        head = {"deviceProperties": [device]} if device else {}
        path = work.write(folder, "doubt.json", {**head, "traceEvents": events})
        result = json.loads(neurolens(["analyze", "-q", "--no-cache", "--all", "--format", "json", path]).stdout)["result"]
        return [f["confidence"] for f in result["findings"] if f["cause"] == cause]
    rows = stated()
    pauses = [event("kernel", "sgemm_128x128_nn", at * 2000, 1000) for at in range(20)]
    one_gap = [event("kernel", "sgemm_128x128_nn", at * 1000 + 20000 * (at > 9), 1000) for at in range(20)]
    mixed, many = ([event("kernel", "sgemm_128x128_nn" if at % 20 < without else "ampere_h16816gemm_128x128_nn", at * 1000, 1000)
                    for at in range(40)] for without in (3, 5))
    late = collectives([100] + [900] * 12)
    for cause, events, device, column, factor in (
            ("tensor_core_unused", pauses, None, DEVICE, 0.85), ("tensor_core_unused", mixed, work.H100, DEVICE, 0.9),
            ("tensor_core_unused", many, work.H100, DEVICE, 1), ("gpu_idle", pauses, None, DEVICE, 1),
            ("gpu_idle", one_gap, None, DEVICE, 0.85), ("collective_skew", late, None, DEVICE, 0.9),
            ("sync_calls", waited_for(2), None, LAUNCHED, 0.92), ("sync_calls", waited_for(1), None, LAUNCHED, 1)):
        have, want = sure_of(cause, events, device), factor * bound(rows, cause, column)
        tally.check("%s: doubt of %g" % (cause, factor), len(have) == 1 and abs(have[0] - want) < 1e-6, (have, want))


def all_shows_more(tally, folder):
    """A copy of 40 µs is a tenth of the time, but less than the 50 µs from which findings are printed."""
    path = work.write(folder, "short.json", {"traceEvents": [
        event("kernel", "gemm", 1000, 200), event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1200, 40, bytes=4096),
        event("kernel", "gemm", 1240, 200)]})
    for options, want in ((["--all"], True), ([], False)):
        result = json.loads(neurolens(["analyze", "-q", "--no-cache", "--format", "json", *options, path]).stdout)["result"]
        found = [f["cost_ns"] for f in result["findings"] if f["cause"] == "h2d_in_critical_path"]
        tally.check("%s: a finding too small to be printed" % (options or "no option"), found == [40000] * want, result["findings"])


def main():
    tally = Tally("sureness")
    with tempfile.TemporaryDirectory(prefix="neurolens-sureness-") as folder:
        if "--all" in sys.argv:
            everything(folder)
            return 0
        all_shows_more(tally, folder)
        doubt_is_stated(tally, folder)
        counts, highest = measure(folder, 5, 1)
        rows = stated()
        for cause, row in counts.items():
            have = rows.get(cause, [0] * 8)
            held = all(row[2 * i + 1] - row[2 * i] <= have[2 * i + 1] - have[2 * i] and row[2 * i] <= have[2 * i]
                       for i in range(4))
            tally.check("%s: its counts hold what is measured" % cause, held, (row, have))
        for (cause, of), confidence in highest.items():
            most = bound(rows, cause, of)
            tally.check("%s: as sure as it was right, at most" % cause, confidence <= most + 1e-9, (confidence, most))
        tally.check("findings were looked at", len(highest) >= 5, len(highest))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
