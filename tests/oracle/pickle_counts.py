#!/usr/bin/env python3
"""PyTorch's pickles, read by Python's own unpickler (which is told to load no code), against
`neurolens sql`: flight recorder dumps and memory snapshots of ../shared/samples.

    tests/oracle/pickle_counts.py [build/neurolens]

Flight recorder: entries, times, sequence numbers, groups, and the missing ranks that the reference
analyser names. Memory: events, sizes, times, totals counted from the end, stacks.
"""
import collections
import glob
import json
import os
import pickle
import sys
import tempfile

from oracle import ROOT, SHARED, Checker, Neurolens, shared_or_leave

DTYPES = {"BFloat16": 2, "Half": 2, "Float": 4, "Long": 8, "Int": 4, "Byte": 1, "Double": 8, "Bool": 1}


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise ValueError("code")


def load(path):
    with open(path, "rb") as file:
        return Plain(file).load()


def rows(tool, path, query):
    return [list(r.values()) if isinstance(r, dict) else list(r) for r in tool.sql(path, query)]


def product(shape):
    out = 1
    for n in shape:
        out *= n
    return out


def size(sizes, dtypes):
    return sum(product(s) * DTYPES[d] for s, d in zip(sizes, dtypes))


def check_dump(check, tool, path):
    name = os.path.join(os.path.basename(os.path.dirname(path)), os.path.basename(path))
    dump = load(path)
    want = collections.Counter()
    for e in dump["entries"]:
        both = max(size(e["input_sizes"], e["input_dtypes"]), size(e["output_sizes"], e["output_dtypes"]))
        want[(e["time_created_ns"], e["profiling_name"], e["process_group"][0],
              e["p2p_seq_id"] if e["is_p2p"] else e["collective_seq_id"], both,
              sum(map(product, e["input_sizes"])), int(path.rsplit("_", 1)[1]))] += 1
    first = tool.first_ns(path) if dump["entries"] else 0
    got = collections.Counter(
        (r[0] + first, *r[1:]) for r in rows(
            tool, path, "SELECT c.ts, c.name, c.group_name, c.sequence, c.bytes, c.in_elements, c.rank "
                        "FROM collectives c"))
    check.equal("%s entries (%d)" % (name, len(dump["entries"])), want, got)
    groups = rows(tool, path, "SELECT count(*) FROM metadata WHERE key LIKE 'process group %' "
                              "AND key NOT LIKE 'process group id %'")[0][0]
    check.equal(name + " groups", len(dump["pg_config"]), groups)


MISSING = """
SELECT c.group_name, c.operation, json_extract(a.text, '$.input_sizes'), c.dtype, c.group_ranks,
       group_concat(DISTINCT c.rank)
FROM collectives c JOIN args a ON a.slice = c.slice WHERE c.peer IS NULL
GROUP BY c.group_name, c.sequence, c.operation HAVING count(DISTINCT c.rank) < c.ranks"""


def check_reference(check, tool, folder, reference):
    """Every row of the reference analyser is among the operations that lack a rank of their group."""
    lacking = set()
    for group, operation, sizes, dtype, ranks, present in rows(tool, folder, MISSING):
        absent = set(ranks.strip("[]").replace(" ", "").split(",")) - set(present.split(","))
        lacking.add((group, operation, sizes.strip("[]").replace(",", "x"), dtype, ",".join(sorted(absent))))
    with open(reference, encoding="utf-8") as file:
        for line in file.read().splitlines()[1:]:
            cells = [c.strip() for c in line.split("|")]
            row = (cells[0], cells[2].replace("nccl:", ""), cells[3], cells[4], cells[5])
            check.equal("%s group %s misses rank %s" % (os.path.basename(folder), row[0], row[4]),
                        True, row in lacking)


def check_snapshot(check, tool, path):
    name = os.path.basename(path)[-40:]
    snap = load(path)
    first = tool.first_ns(path)
    for device, trace in enumerate(snap["device_traces"]):
        if not trace:
            continue
        want = [(e["time_us"] * 1000, e["action"], e["addr"]) for e in trace]
        got = [(r[0] + first, r[1], r[2]) for r in rows(
            tool, path, "SELECT ts, action, address FROM memory WHERE device = %d AND kind IN "
                        "('blocks', 'segments')" % device)]
        check.equal("%s events (%d)" % (name, len(want)), want, got)
        sign = {"alloc": 1, "free_completed": -1}
        total = sum(s["active_size"] for s in snap["segments"] if s["device"] == device)
        totals = []
        for e in reversed(trace):
            totals.append(total)
            total -= sign.get(e["action"], 0) * e["size"]
        ours = [r[0] for r in rows(tool, path, "SELECT total_allocated FROM memory WHERE device = %d AND kind "
                                               "IN ('blocks', 'segments')" % device)]
        check.equal(name + " totals", totals[::-1], ours)
        stacks = {tuple((f["name"], f["filename"], f["line"]) for f in e["frames"]) for e in trace if e["frames"]}
        mine = rows(tool, path, "SELECT count(DISTINCT stack) FROM memory WHERE kind = 'blocks'")[0][0]
        check.equal(name + " stacks", len(stacks), mine)
        tops = collections.Counter(e["frames"][0]["name"] for e in trace if e["frames"])
        check.rows(name + " innermost frames", dict(tops), dict(
            rows(tool, path, "SELECT s.name, count(*) FROM memory m JOIN stacks s ON s.id = m.stack "
                             "WHERE m.kind = 'blocks' GROUP BY 1")))
    blocks = [b["size"] for s in snap["segments"] for b in s["blocks"] if b["state"].startswith("active")]
    check.equal(name + " blocks", [len(blocks), sum(blocks)],
                rows(tool, path, "SELECT count(*), sum(bytes) FROM memory WHERE kind = 'snapshot blocks'")[0])
    check.equal(name + " segments",
                [len(snap["segments"]), sum(s["total_size"] for s in snap["segments"])],
                rows(tool, path, "SELECT count(*), sum(bytes) FROM memory WHERE kind = 'snapshot segments'")[0])
    pairs = sum(1 for a in snap.get("external_annotations", []) if a["stage"] == "START")
    check.equal(name + " annotations", pairs, rows(tool, path, "SELECT count(*) FROM nvtx")[0][0])


VARIANT = ("SELECT c.ts, c.dur, c.name, c.operation, c.bytes, c.in_elements, c.out_elements, c.dtype, c.group_name, "
           "c.group_ranks, c.ranks, c.sequence, c.peer, a.text FROM collectives c LEFT JOIN args a ON a.slice = c.slice",
           "SELECT key, value FROM metadata ORDER BY 1, 2", "SELECT item, count FROM coverage ORDER BY 1")


def check_json_variant(check, tool, path, folder):
    """A dump says the same as JSON, written here from what Python's unpickler made of it."""
    copy = os.path.join(folder, os.path.basename(path))
    with open(copy, "w", encoding="utf-8") as file:
        file.write(json.dumps(load(path)))
    same = [rows(tool, path, query) == rows(tool, copy, query) for query in VARIANT]
    check.equal(os.path.basename(path) + " as JSON", [True] * len(VARIANT), same)


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    with tempfile.TemporaryDirectory(prefix="neurolens-oracle-") as folder:
        for name in ("flight_rank_3", "flight_old_0.pkl"):
            check_json_variant(check, tool, os.path.join(ROOT, "tests", "corpus", "pickle", name), folder)
        for path in sorted(glob.glob(os.path.join(SHARED, "samples", "flight_recorder", "**", "_dump_*"),
                                     recursive=True)):
            check_json_variant(check, tool, path, folder)
    if not os.path.isdir(os.path.join(SHARED, "samples")):
        print("skipped: no ../shared")
        check.skipped += 1
        check.finish()
    samples = shared_or_leave("samples")
    traces = sorted(glob.glob(os.path.join(samples, "flight_recorder", "**", "_dump_*"), recursive=True))
    for path in traces:
        check_dump(check, tool, path)
    for folder in sorted({os.path.dirname(p) for p in traces}):
        for reference in glob.glob(os.path.join(os.path.dirname(os.path.dirname(folder)), "**",
                                                os.path.basename(folder) + "_reference.txt"), recursive=True):
            check_reference(check, tool, folder, reference)
    for path in sorted(glob.glob(os.path.join(samples, "torch_mem", "**", "*.pickle"), recursive=True)):
        check_snapshot(check, tool, path)
    check.finish()


main()
