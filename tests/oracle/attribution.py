#!/usr/bin/env python3
"""Attribution against the files' own words: where a Kineto file says by "External id" which operator
launched a piece of device work, containment on the launching thread must find the same one in at
least 99.9 % of all cases. Containment is computed here, from rows, by another method (each thread's
events replayed in order of time); `launch_ranges` and `kernel_owner` must agree with it and with the
ids. Then sums: device time of all operators and of what has none is all device time.

    tests/oracle/attribution.py [build/neurolens]
"""
import bisect
import collections
import glob
import os
import sys

from oracle import SHARED, Checker, Neurolens, shared_or_leave

ENOUGH = 0.999
WORK = "('kernel', 'memcpy', 'memset', 'graph_launch')"


def innermost(ranges, moments):
    """ranges: (start, end, id), moments: (ts, key), of one thread. key -> id of the range that began
    last (of equal starts the shorter) among those that contain ts; by walking back from ts."""
    ordered = sorted(ranges, key=lambda r: (r[0], -r[1]))
    starts = [r[0] for r in ordered]
    reach, longest = [], 0
    for start, end, _ in ordered:
        longest = max(longest, end)
        reach.append(longest)
    found = {}
    for ts, key in moments:
        at = bisect.bisect_right(starts, ts) - 1
        while at >= 0 and reach[at] > ts and ordered[at][1] <= ts:
            at -= 1
        if at >= 0 and ordered[at][1] > ts:
            found[key] = ordered[at][2]
    return found


def by_thread(rows):
    out = collections.defaultdict(list)
    for thread, *rest in rows:
        out[thread].append(rest)
    return out


def contain(tool, profile, kind):
    """Device work -> slice of `kind` around its launch."""
    ranges = by_thread(tool.sql(profile, "SELECT l.thread, s.ts, s.ts + s.dur, s.id FROM slices s JOIN "
                                "lanes l ON l.id = s.lane WHERE s.kind = '%s' AND s.dur IS NOT NULL "
                                "AND l.thread IS NOT NULL AND s.flags & 2 = 0" % kind))
    moments = by_thread(tool.sql(profile, "SELECT l.thread, c.ts, w.id FROM slices w JOIN slices c ON "
                                 "c.id = w.link JOIN lanes l ON l.id = c.lane WHERE w.kind IN " + WORK))
    found = {}
    for thread, wanted in moments.items():
        found.update(innermost(ranges.get(thread, []), wanted))
    return found


def ids(tool, profile):
    """Device work -> slices of the operators that its id names, in its process."""
    named = collections.defaultdict(list)
    for process, number, op in tool.sql(profile, "SELECT l.process, o.external_id, o.slice FROM ops o "
                                        "JOIN slices s ON s.id = o.slice JOIN lanes l ON l.id = s.lane "
                                        "WHERE o.external_id > 0"):
        named[process, number].append(op)
    out = {}
    for table in ("kernels", "copies", "memsets"):
        for work, number, process in tool.sql(profile, """
                SELECT w.slice, coalesce(w.external_id, a.external_id), l.process FROM %s w
                JOIN slices s ON s.id = w.slice JOIN slices c ON c.id = s.link
                JOIN api a ON a.slice = c.id JOIN lanes l ON l.id = c.lane""" % table):
            if number and (process, number) in named:
                out[work] = named[process, number]
    return out


def unions(intervals):
    """Length of the union of (device, start, end), per device."""
    total, reach, device = 0, None, object()
    for place, start, end in sorted(intervals, key=lambda i: (str(i[0]), i[1], i[2])):
        if place != device or reach is None:
            device, reach = place, start
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


def by_name(tool, path):
    """Operator -> work, own and inclusive device time and union, from kernel_owner and parents: a
    chain is followed through every operator around the first (rows whose operators do not cross)."""
    parents = dict(tool.sql(path, "SELECT id, parent FROM slices WHERE parent IS NOT NULL"))
    ops = dict(tool.sql(path, "SELECT s.id, s.name FROM slices s WHERE s.kind = 'op'"))
    own, works = collections.Counter(), collections.Counter()
    around = collections.defaultdict(list)
    for op, device, start, dur in tool.sql(path, "SELECT o.op, l.device, s.ts, s.dur FROM kernel_owner o "
                                           "JOIN slices s ON s.id = o.slice JOIN lanes l ON l.id = s.lane "
                                           "WHERE o.op IS NOT NULL AND s.dur IS NOT NULL"):
        own[ops[op]] += dur
        works[ops[op]] += 1
        names = set()
        while op is not None:
            names.add(ops.get(op))
            op = parents.get(op)
        for one in names - {None}:
            around[one].append((device, start, start + dur))
    return {n: (works[n], own[n], sum(i[2] - i[1] for i in around[n]), unions(around[n]))
            for n in around}


def forward_of(tool, path):
    """Device work -> (forward operator by sequence number, all operators that arrows lead from), for
    work inside a backward operator. Forward of a number: the last to begin before."""
    ops, numbered = {}, collections.defaultdict(list)
    for op, ts, process, sequence, thread in tool.sql(path, """
            SELECT o.slice, s.ts, l.process, o.sequence, o.forward_thread FROM ops o
            JOIN slices s ON s.id = o.slice JOIN lanes l ON l.id = s.lane ORDER BY s.ts, s.dur DESC"""):
        ops[op] = (ts, process, sequence, (thread or 0) > 0)
        if sequence is not None and sequence >= 0 and not ops[op][3]:
            numbered[process, sequence].append((ts, op))
    parents = dict(tool.sql(path, "SELECT id, parent FROM slices WHERE parent IS NOT NULL"))
    arrows = dict(tool.sql(path, "SELECT dst, src FROM flows WHERE kind = 'forward_backward' AND src IS "
                           "NOT NULL AND dst IS NOT NULL"))
    want = {}
    for work, op in tool.sql(path, "SELECT slice, op FROM kernel_owner WHERE op IS NOT NULL"):
        while op is not None and not (op in ops and ops[op][3]):
            op = parents.get(op)
        if op is None:
            continue
        ts, process, sequence, _ = ops[op]
        before = [o for t, o in numbered.get((process, sequence), ()) if t < ts]
        if before:
            want[work] = (before[-1], arrows.get(op))
    return want


def check_sums(check, name, answer, total):
    """The parts of every table add up to all device work, and those of a tree to their parents."""
    for key, own in (("op_gpu", "gpu_ns"), ("layer_gpu", "gpu_ns"), ("op_tree", "gpu_self_ns"),
                     ("nvtx_tree", "gpu_self_ns"), ("layer_tree", "gpu_self_ns"),
                     ("python_tree", "gpu_self_ns")):
        rows = answer[key]
        if rows:
            check.equal("%s: %s adds up" % (name, key), total, sum(row[own] for row in rows))
        if not rows or not key.endswith("tree"):
            continue
        below, host = collections.Counter(), collections.Counter()
        for row in rows:
            below[row["parent"]] += row["gpu_ns"]
            host[row["parent"]] += row["cpu_ns"] or 0
        check.equal("%s: %s: device time of a parent is its own and its children's" % (name, key), [],
                    [row["path"] for row in rows
                     if row["gpu_ns"] != row["gpu_self_ns"] + below[row["id"]]])
        check.equal("%s: %s: children take no longer than their parent" % (name, key), [],
                    [row["path"] for row in rows if row["cpu_ns"] is not None
                     and host[row["id"]] > row["cpu_ns"]])


def check_profile(check, tool, path, totals):
    name = os.path.basename(path)
    owner = {row[0]: row[1:] for row in tool.sql(
        path, "SELECT slice, launch, op, nvtx, python, outer_op FROM kernel_owner")}
    if not owner:
        return
    told, seen = ids(tool, path), contain(tool, path, "op")
    right = sum(seen.get(work) in ops for work, ops in told.items())
    totals[0] += right
    totals[1] += len(told)
    if told:
        share = right / len(told)
        line = "%s: containment finds the operator told by id (%d of %d)" % (name, right, len(told))
        check.ok(line) if share >= ENOUGH else check.fail(line, ">= %.1f %%" % (ENOUGH * 100),
                                                          "%.3f %%" % (share * 100))
        check.equal("%s: kernel_owner takes the id" % name, 0,
                    sum(owner[work][1] not in ops for work, ops in told.items()))
    launched = {work for work, row in owner.items() if row[0] is not None}
    for kind, column in (("op", 1), ("nvtx", 2), ("python", 3)):
        want = seen if kind == "op" else contain(tool, path, kind)
        got = {w: owner[w][column] for w in launched
               if owner[w][column] is not None and not (kind == "op" and w in told)}
        want = {w: r for w, r in want.items() if not (kind == "op" and w in told)}
        if want or got:
            check.rows("%s: innermost %s" % (name, kind), want, got)
    (total,), = tool.sql(path, "SELECT sum(dur) FROM slices WHERE kind IN " + WORK)
    (owned,), = tool.sql(path, "SELECT sum(s.dur) FROM kernel_owner o JOIN slices s ON s.id = o.slice")
    check.equal("%s: device time is all there" % name, total, owned)
    want = forward_of(tool, path)
    got = dict(tool.sql(path, "SELECT slice, forward_op FROM kernel_owner WHERE forward_op IS NOT NULL"))
    if want:
        wrong = [w for w, ops in want.items() if got.get(w) not in ops]
        check.equal("%s: forward operators of backward work (%d)" % (name, len(want)), [], wrong[:5])
        seen = [ops for ops in want.values() if ops[1] is not None]
        share = sum(a == b for a, b in seen) / len(seen) if seen else 1
        if share < ENOUGH:
            print("     arrows and sequence numbers agree on %.1f %% of %d" % (share * 100, len(seen)))
    answer = tool.analyze(path)
    check_sums(check, name, answer, total)
    if tool.sql(path, "SELECT count(*) FROM slices s JOIN lanes l ON l.id = s.lane WHERE s.kind = 'op' "
                "AND l.sub > 0") == [[0]]:
        check.rows("%s: device time by operator" % name, by_name(tool, path),
                   {row["name"]: (row["gpu_ops"], row["gpu_ns"], row["gpu_total_ns"],
                                  row["gpu_union_ns"])
                    for row in answer["op_gpu"] if row["gpu_total_ns"] and row["count"] is not None})


def main():
    check, tool = Checker(), Neurolens(sys.argv)
    shared_or_leave("samples", "torch")
    totals = [0, 0]
    paths = sorted(glob.glob(os.path.join(SHARED, "samples", "torch", "**", "*.json*"), recursive=True))
    for path in paths:
        try:
            rows = tool.sql(path, "SELECT count(*) FROM ops, (SELECT count(*) n FROM kernels) WHERE n > 0")
        except RuntimeError:
            continue
        if rows[0][0]:
            check_profile(check, tool, path, totals)
    print("     ids in all: %d of %d" % tuple(totals))
    check.finish()


main()
