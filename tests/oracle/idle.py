#!/usr/bin/env python3
"""Idle time: computed once more in plain Python from rows that neurolens gives, on every sample.

    tests/oracle/idle.py [build/neurolens]

Gaps, classes, sums per activity (off the processors and other threads included) and the cost of waits
as docs/analysis.md defines them, with lists and linear searches instead of sweeps and cursors; and, where definitions agree, Holistic Trace
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
OFF = {8: "off-CPU (ready to run)", 16: "off-CPU (waiting)"}
WAITS = set("""pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_mutex_lock
    pthread_mutex_timedlock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_barrier_wait pthread_join
    pthread_timedjoin_np sem_wait sem_timedwait sem_clockwait poll ppoll select pselect epoll_wait
    epoll_pwait futex sleep usleep nanosleep clock_nanosleep wait wait4 waitpid waitid sigwait
    sigtimedwait sigwaitinfo accept flock""".split())
SIGNALS = ("pthread_cond_signal", "pthread_cond_broadcast", "sem_post")


class Profile:
    def __init__(self, tool, path):
        ask = lambda query: tool.sql(path, query)  # noqa: E731
        self.work = {}
        for table in ("kernels", "copies", "memsets", "graph_launches"):
            for device, rank, ts, dur, slice_id in ask(
                    "SELECT l.device, t.rank, t.ts, t.dur, t.slice FROM %s t JOIN slices s ON s.id = "
                    "t.slice JOIN lanes l ON l.id = s.lane WHERE t.dur IS NOT NULL" % table):
                self.work.setdefault(device, []).append((ts, ts + dur, slice_id))
        self.begun = {}  # (device, moment): the work that begins then
        for device, rows in self.work.items():
            for ts, _, slice_id in rows:
                self.begun.setdefault((device, ts), []).append(slice_id)
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
        self.switches = {}
        for thread, ts, dur, flags in ask(
                "SELECT l.thread, s.ts, s.dur, s.flags FROM slices s JOIN lanes l ON l.id = s.lane WHERE "
                "l.kind = 'sched' AND l.thread IS NOT NULL AND l.sub = 0 AND s.depth = 0 ORDER BY s.ts"):
            self.switches.setdefault(thread, []).append((ts, ts + (dur or 0), flags))
        self.process = dict(ask("SELECT id, process FROM threads"))
        self.signals = [(self.slices[key][0], self.slices[key][0] + (self.slices[key][1] or 0),
                         self.slices[key][6]) for key in self.slices
                        if self.slices[key][3] in SIGNALS and self.slices[key][2] == "osrt"]
        self.forward = self.find_engines(ask)
        self.calls = {key: (launch, thread) for key, launch, thread in ask(
            "SELECT s.id, s.link, l.thread FROM slices s JOIN slices a ON a.id = s.link JOIN lanes l ON l.id = "
            "a.lane WHERE a.kind = 'api'")}
        self.lanes = {row[0]: row[1:] for row in ask("SELECT id, kind, process, thread, first, count FROM lanes")}
        self.on_lane = dict(ask("SELECT id, lane FROM slices WHERE kind IN ('kernel', 'memcpy', 'memset', "
                                "'graph_launch')"))
        self.feeders = {}
        self.totals = {}
        self.has_waits = ask("SELECT count(*) FROM syncs WHERE kind = 'stream_wait_event'")[0][0]

    def find_engines(self, ask):
        """Thread of backward passes -> the one thread of their forward passes."""
        thread = "(SELECT l.thread FROM slices s JOIN lanes l ON l.id = s.lane WHERE s.id = %s)"
        pairs = ask("SELECT DISTINCT %s, %s FROM flows f WHERE f.kind = 'forward_backward' AND f.src IS NOT "
                    "NULL AND f.dst IS NOT NULL" % (thread % "f.src", thread % "f.dst"))
        if not pairs:
            numbered = {}
            rows = ask("SELECT l.process, o.sequence, o.forward_thread, s.ts, l.thread FROM ops o JOIN slices "
                       "s ON s.id = o.slice JOIN lanes l ON l.id = s.lane WHERE o.sequence >= 0 AND "
                       "s.dur IS NOT NULL")
            for process, number, forward, ts, of in rows:
                if not forward or forward < 0:
                    numbered.setdefault((process, number), []).append((ts, of))
            for process, number, forward, ts, of in rows:
                before = [one for one in numbered.get((process, number), []) if one[0] < ts]
                if forward and forward > 0 and before:
                    pairs.append((max(before)[1], of))
        found = {}
        for source, engine in pairs:
            if source is not None and engine is not None and source != engine:
                found.setdefault(engine, set()).add(source)
        return {engine: min(sources) for engine, sources in found.items() if len(sources) == 1}

    def state(self, thread, moment):
        """'on', how it is off, or None; and until when."""
        runs, until = self.switches.get(thread, []), 1 << 62
        at = bisect.bisect_right([run[0] for run in runs], moment) - 1
        if at + 1 < len(runs):
            until = runs[at + 1][0]
        if at < 0:
            return None, until
        if runs[at][1] > moment:
            return "on", min(until, runs[at][1])
        return (OFF.get(runs[at][2] & 24, "off-CPU") if at + 1 < len(runs) else None), until

    def is_wait(self, key):
        return key is not None and self.slices[key][2] == "osrt" and self.slices[key][3] in WAITS

    def own(self, thread, key, moment):
        """What a thread in slice `key` does, as one key of sums; and until when."""
        kind, name = (self.slices[key][2], self.slices[key][3]) if key is not None else (None, None)
        state, until = self.state(thread, moment)
        gives_way = kind not in ("api", "gc", "compile", "overhead")
        if state == OFF[8] or (state not in (None, "on") and gives_way):
            kind = state
        elif state is None and self.is_wait(key):
            kind = OFF[16]
        return (kind, name), until

    def may_wait(self, key):
        return key is None or self.is_wait(key) or self.slices[key][2] == "nvtx" or (
            self.slices[key][2] == "python" and "run_backward" in self.slices[key][3])

    def waker(self, key):
        start, dur = self.slices[key][0], self.slices[key][1]
        if dur is None or not self.slices[key][3].startswith(("pthread_cond_", "sem_")):
            return None
        end, thread = start + dur, self.slices[key][6]
        near = {other for begin, stop, other in self.signals if begin <= end and
                abs(stop - end) <= 100000 and other != thread and
                self.process[other] == self.process[thread]}
        return near.pop() if len(near) == 1 else None

    def waits_for(self, thread, key, moment):
        """Slice of the thread that this one waits for, or None; and until when."""
        until, found = 1 << 62, None
        if not self.may_wait(key):
            return None, until
        if thread in self.forward:
            if key is None:
                work, until = self.innermost(self.forward[thread], moment)
                if work is not None and not self.may_wait(work):
                    begun = self.slices[work][0]
                    before, free = self.innermost(thread, begun)
                    found = work if before is None and free > moment else None
        else:
            busy = []
            for engine in self.forward:
                if self.forward[engine] == thread:
                    work, end = self.innermost(engine, moment)
                    until = min(until, end)
                    busy += [work] if work is not None and not self.is_wait(work) else []
            found = busy[0] if len(busy) == 1 else None
        if found is None and self.is_wait(key) and self.waker(key) is not None:
            work, end = self.innermost(self.waker(key), moment)
            until = min(until, end)
            found = None if self.is_wait(work) else work
        return found, until

    def feeder(self, device):
        """The thread whose calls launched most of a device's work, looked at 4,096 times a lane; where none is known
        the one thread of its process that has anything. None: no such thread, or several."""
        if device not in self.feeders:
            self.feeders[device] = self.find_feeder(device)
        return self.feeders[device]

    def find_feeder(self, device):
        lanes = {self.on_lane[key] for _, _, key in self.work[device]}
        counts = {}
        for lane in lanes:
            _, _, _, first, rows = self.lanes[lane]
            stride = rows // 4096 + 1
            for row in range(first, first + rows, stride):
                thread = self.calls.get(row, (None, None))[1]
                if thread is not None:
                    counts[thread] = counts.get(thread, 0) + stride
        if counts:
            return min(counts, key=lambda thread: (-counts[thread], thread))
        processes = {self.lanes[lane][1] for lane in lanes}
        if len(processes) != 1 or None in processes:
            return None
        process = processes.pop()
        for kinds in (("thread", "annotation", "python", "nvtx"), ("osrt",)):
            threads = {thread for kind, of, thread, _, rows in self.lanes.values()
                       if of == process and kind in kinds and thread is not None and rows}
            if threads:
                return threads.pop() if len(threads) == 1 else None
        return None

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
    return [profile.link.get(key) for key in profile.begun[device, moment]]


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
    if None not in profile.work:
        told = {tuple(row[:2]): row[2] for row in tool.sql(
            path, "SELECT CASE WHEN activity LIKE 'off-CPU%' THEN activity ELSE '' END, thread, "
                  "sum(total_ns) FROM idle_causes WHERE thread IS NOT NULL GROUP BY 1, 2")}
        if told != profile.totals:
            wrong.append("off-CPU and other threads %s, here %s" % (told, profile.totals))
    if wrong:
        check.fail(name, "the same idle time", "; ".join(wrong[:3]))
    else:
        check.ok("%s idle (%d gaps)" % (name, judged))


def check_gap(profile, device, gap, kind, launch, sync, sync_ns, spent, did):
    """Class by the launch, blocking call at the start, largest activity."""
    start, end = gap
    if launch not in owner_of(profile, device, end):
        return ["gap at %d: launch %s of no owner" % (start, launch)]
    if launch is None and kind != "unknown":
        return ["gap at %d is %s" % (start, kind)]
    if launch is None:  # what the thread did that feeds the device, all through the gap
        thread, returned = profile.feeder(device), end
        if thread is None:
            return []
    else:
        ts, dur, _, _, _, _, thread = profile.slices[launch]
        if (kind == "host_late") != (ts >= start):
            return ["gap at %d is %s, launch at %d" % (start, kind, ts)]
        returned = min(ts + (dur or 0), end)
    now, sums, first = start, {}, None
    while now < returned:
        key, until = profile.innermost(thread, now)
        first = key if now == start else first
        what, end_of_state = profile.own(thread, key, now)
        until, elsewhere = min(until, end_of_state), "launching"
        if what[0] != OFF[8]:
            other, end_of_other = profile.waits_for(thread, key, now)
            until = min(until, end_of_other)
            if other is not None:
                elsewhere = "other"
                what, end_of_state = profile.own(profile.slices[other][6], other, now)
                until = min(until, end_of_state)
        until = min(until, returned)
        off = what[0] if (what[0] or "").startswith("off-CPU") else ""
        profile.totals[off, elsewhere] = profile.totals.get((off, elsewhere), 0) + until - now
        sums[what, elsewhere] = sums.get((what, elsewhere), 0) + until - now
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
