#!/usr/bin/env python3
"""Idle time: computed once more in plain Python from rows that neurolens gives, on every sample.

    tests/oracle/idle.py [build/neurolens]

Gaps, classes, sums per activity and the cost of waits as docs/analysis.md defines them, with lists
and linear searches instead of sweeps and cursors; and, where definitions agree, Holistic Trace
Analysis' idle time breakdown: on a device with work on one stream only, its host wait is the sum of
the gaps whose launch came late.
"""
import bisect
import os
import sys

from oracle import Checker, Neurolens, read_csv, shared_or_leave

SMALL = 2 << 20
SHORT = 1000
SAMPLES = "samples/torch/facebookresearch+HolisticTraceAnalysis/tests/data"
HOST_LANES = ("thread", "annotation", "python", "nvtx", "osrt", "overhead")
TELLING = {"api": 3, "overhead": 3, "osrt": 1, "nvtx": 0}


class Profile:
    def __init__(self, tool, path):
        ask = lambda query: tool.sql(path, query)  # noqa: E731
        self.work = {}
        for table in ("kernels", "copies", "memsets", "graph_launches"):
            for device, rank, ts, dur, slice_id in ask(
                    "SELECT l.device, t.rank, t.ts, t.dur, t.slice FROM %s t JOIN slices s ON s.id = "
                    "t.slice JOIN lanes l ON l.id = s.lane WHERE t.dur IS NOT NULL" % table):
                self.work.setdefault(device, []).append((ts, ts + dur, slice_id))
        self.link = dict(ask("SELECT s.id, s.link FROM slices s JOIN slices a ON a.id = s.link "
                             "WHERE a.kind = 'api' AND s.kind IN ('kernel', 'memcpy', 'memset', "
                             "'graph_launch')"))
        self.slices = {row[0]: row[1:] for row in ask(
            "SELECT s.id, s.ts, s.dur, s.kind, s.name, s.lane, s.depth, l.thread FROM slices s JOIN "
            "lanes l ON l.id = s.lane WHERE l.thread IS NOT NULL AND l.kind IN (%s)"
            % ", ".join("'%s'" % kind for kind in HOST_LANES))}
        self.blocking = {row[0] for row in ask("SELECT slice FROM api WHERE api_blocks(name)")}
        self.threads = {}
        for key, (ts, dur, kind, name, lane, depth, thread) in self.slices.items():
            if dur:
                self.threads.setdefault(thread, {}).setdefault((lane, depth), []).append(
                    (ts, ts + dur, key))
        for runs in self.threads.values():
            for run in runs.values():
                run.sort()
        self.has_waits = ask("SELECT count(*) FROM syncs WHERE kind = 'stream_wait_event'")[0][0]

    def gaps(self, device):
        """(start, end, owner) in order."""
        end, out = None, []
        for start, stop, key in sorted(self.work[device]):
            if end is not None and start > end:
                out.append((end, start))
            end = stop if end is None else max(end, stop)
        return out

    def innermost(self, thread, moment):
        """The telling slice at a moment, and until when that holds."""
        best, until, found, closed = None, 1 << 62, {}, set()
        for (lane, _), run in sorted(self.threads.get(thread, {}).items()):
            if lane in closed:
                continue
            at = bisect.bisect_right(run, (moment, 1 << 62, 1 << 62)) - 1
            if at + 1 < len(run):
                until = min(until, run[at + 1][0])
            if at < 0 or run[at][1] <= moment:
                closed.add(lane)
                continue
            until = min(until, run[at][1])
            found[lane] = run[at][2]
        for key in found.values():
            rank = (TELLING.get(self.slices[key][2], 2), self.slices[key][0])
            if best is None or rank > best[0]:
                best = (rank, key)
        return (best[1] if best else None), until


def owner_of(profile, device, moment):
    """Launches of all work that begins where a gap ends; the program may take any of them."""
    return [profile.link.get(key) for ts, _, key in profile.work[device] if ts == moment]


def check_profile(check, tool, path, name):
    profile = Profile(tool, path)
    rows = tool.sql(path, "SELECT l.device, g.ts, g.dur, g.class, g.launch, g.sync, g.sync_ns, "
                          "g.activity_ns, g.activity_name FROM idle_gaps g JOIN slices s ON s.id = "
                          "g.after JOIN lanes l ON l.id = s.lane")
    by_device = {}
    for row in rows:
        by_device.setdefault(row[0], []).append(row[1:])
    wrong, judged, idle = [], 0, 0
    for device in profile.work:
        want = [gap for gap in profile.gaps(device) if gap[1] - gap[0] >= SHORT]
        idle += sum(end - start for start, end in profile.gaps(device))
        got = by_device.get(device, [])
        if [(ts, ts + dur) for ts, dur, *_ in got] != want:
            wrong.append("device %s: %d gaps, want %d" % (device, len(got), len(want)))
            continue
        if device is None:
            continue  # of several processes: the program keeps them apart
        for ts, dur, kind, launch, sync, sync_ns, spent, did in got:
            judged += 1
            wrong += check_gap(profile, device, (ts, ts + dur), kind, launch, sync, sync_ns, spent, did)
    total = tool.sql(path, "SELECT coalesce(sum(total_ns), 0) FROM idle_causes")[0][0]
    broken = tool.sql(path, "SELECT coalesce(sum(idle_ns), 0) FROM time_breakdown")[0][0]
    if total != broken or (None not in profile.work and total != idle):
        wrong.append("idle %d, time_breakdown %d, here %d" % (total, broken, idle))
    if wrong:
        check.fail(name, "the same idle time", "; ".join(wrong[:3]))
    else:
        check.ok("%s idle (%d gaps)" % (name, judged))


def check_gap(profile, device, gap, kind, launch, sync, sync_ns, spent, did):
    """Class by the launch, blocking call at the start, largest activity."""
    start, end = gap
    if launch not in owner_of(profile, device, end):
        return ["gap at %d: launch %s of no owner" % (start, launch)]
    if launch is None:
        return [] if kind == "unknown" else ["gap at %d is %s" % (start, kind)]
    ts, dur, _, _, _, _, thread = profile.slices[launch]
    if (kind == "host_late") != (ts >= start):
        return ["gap at %d is %s, launch at %d" % (start, kind, ts)]
    returned, now, sums, first = min(ts + (dur or 0), end), start, {}, None
    while now < returned:
        key, until = profile.innermost(thread, now)
        first = key if now == start else first
        name = profile.slices[key][3] if key is not None else None
        family = profile.slices[key][2] if key is not None else None
        until = min(until, returned)
        sums[(family, name)] = sums.get((family, name), 0) + until - now
        now = until
    if now < end:
        sums["queued"] = end - now
    want_sync = first if kind == "host_late" and first in profile.blocking else None
    out = []
    if sync != want_sync:
        out.append("gap at %d: sync %s, want %s" % (start, sync, want_sync))
    elif sync is not None:
        from_ = max(start, profile.slices[sync][0] + profile.slices[sync][1])
        if sync_ns != max(0, end - from_):
            out.append("gap at %d: sync_ns %s" % (start, sync_ns))
    if spent != max(sums.values()):
        out.append("gap at %d: activity %s %s, want %s" % (start, spent, did, sums))
    return out


def check_hta(check, tool, root):
    """HTA's host wait: per stream, so where one stream is alone on its device, and times are whole
    microseconds (it rounds others), and no ProfilerStep is dropped. Gaps under 1 us are none."""
    folder = shared_or_leave("oracles", "hta")
    for name, inside in (("critical_path_cuda_event_sync", "critical_path/cuda_event_sync"),
                         ("critical_path_simple_add", "critical_path/simple_add"),
                         ("trace_compare_base", "trace_compare/base"),
                         ("amd_trace", "amd_trace"),
                         ("nccl_parser_config", "nccl_parser_config"),
                         ("ns_resolution_trace", "ns_resolution_trace")):
        table = os.path.join(folder, name, "idle_time_breakdown.csv")
        data = os.path.join(root, inside)
        if not os.path.exists(table) or not os.path.isdir(data):
            check.skip("%s against HTA" % name, "no answer of HTA's")
            continue
        path = os.path.join(data, sorted(os.listdir(data))[0])
        streams, broken, steps = tool.sql(
            path, "SELECT count(DISTINCT stream), sum(dur % 1000 <> 0 OR ts % 1000 <> 0), (SELECT "
                  "count(DISTINCT name) FROM slices WHERE name LIKE '%ProfilerStep%') FROM (SELECT "
                  "stream, ts, dur FROM kernels UNION ALL SELECT stream, ts, dur FROM copies UNION ALL "
                  "SELECT stream, ts, dur FROM memsets)")[0]
        if streams != 1 or broken or steps > 1:
            check.skip("%s against HTA" % name, "%d streams, %d times broken, %d steps: defined "
                       "otherwise there" % (streams, broken, steps))
            continue
        want = sum(float(row["idle_time"]) for row in read_csv(table)
                   if row["idle_category"] == "host_wait")
        late = tool.sql(path, "SELECT coalesce(sum(dur), 0) / 1000.0 FROM idle_gaps WHERE class = "
                              "'host_late'")[0][0]
        check.near("%s host wait as HTA's" % name, want, late, 1)


def main():
    root = shared_or_leave("samples")
    check, tool = Checker(), Neurolens(sys.argv)
    for folder in ("nsys", "torch"):
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for file in sorted(names):
                full = os.path.join(path, file)
                if not file.endswith((".sqlite", ".json", ".json.gz")) or \
                        os.path.getsize(full) > SMALL:
                    continue
                try:
                    if not tool.sql(full, "SELECT count(*) FROM kernels")[0][0]:
                        continue
                except RuntimeError:
                    continue  # not a profile: other tests hold that this is said well
                check_profile(check, tool, full, os.path.relpath(full, root)[-60:])
    check_hta(check, tool, os.path.join(root, *SAMPLES.split("/")[1:]))
    check.finish()


if __name__ == "__main__":
    main()
