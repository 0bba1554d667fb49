"""What must come out, counted from the workload in the dullest way there is.

Nothing here is shared with the program, and nothing is clever: the breakdown walks every stretch
between two neighbouring ends and asks each piece of work whether it covers it.
"""
import workload as w

COLLECTIVES = {w.REDUCE: "all_reduce"}
CLASS = {w.GEMM: "compute", w.ADD: "compute", w.REDUCE: "communication"}


def class_of(item, fill=None):
    """compute, communication or copy: what a device's moment counts as while `item` runs."""
    if item.kind != "kernel" or item.name == fill:
        return "copy"
    return CLASS[item.name]


def breakdown(run, fill=None):
    """{device: (wall, compute, exposed communication, exposed copies, idle)} in ns"""
    out = {}
    for device in {x.device for x in run.work}:
        work = [x for x in run.work if x.device == device]
        ends = sorted({x.start for x in work} | {x.end for x in work})
        parts = {"compute": 0, "communication": 0, "copy": 0, "idle": 0}
        for a, b in zip(ends, ends[1:]):
            running = {class_of(x, fill) for x in work if x.start <= a and b <= x.end}
            for name in ("compute", "communication", "copy", "idle"):
                if name in running or name == "idle":
                    parts[name] += b - a
                    break
        out[device] = (ends[-1] - ends[0], parts["compute"], parts["communication"], parts["copy"],
                       parts["idle"])
    return out


def group(items, key, *values):
    """{key: (count, sum of each value, or None where one is unknown)}"""
    out = {}
    for item in items:
        out.setdefault(key(item), []).append([value(item) for value in values])
    return {k: (len(rows),) + tuple(None if None in column else sum(column)
                                    for column in zip(*rows)) for k, rows in out.items()}


def kernels(run):
    """{name: (count, total, shortest, longest)}"""
    names = {x.name for x in run.of("kernel")}
    out = {}
    for name in names:
        durs = [x.dur for x in run.of("kernel") if x.name == name]
        out[name] = (len(durs), sum(durs), min(durs), max(durs))
    return out


def copies(run):
    return group(run.of("copy"), lambda x: (x.device, x.direction), lambda x: x.bytes,
                 lambda x: x.dur)


def memsets(run):
    return group(run.of("memset"), lambda x: x.device, lambda x: x.bytes, lambda x: x.dur)


def collectives(run):
    return group([x for x in run.of("kernel") if x.name in COLLECTIVES],
                 lambda x: COLLECTIVES[x.name], lambda x: x.dur)


def timeline(run):
    """Every piece of device work, from the first on: (kind, name of a kernel, device, stream, start, length)"""
    first = min(x.start for x in run.work)
    return sorted(((x.kind, x.name if x.kind == "kernel" else "", x.device, x.stream,
                    x.start - first, x.dur) for x in run.work), key=repr)


def streams(run):
    """{(device, stream): (kernels, copies, memsets, busy ns)}; work of a stream does not overlap"""
    out = {}
    for item in run.work:
        row = out.setdefault((item.device, item.stream), [0, 0, 0, 0])
        row[("kernel", "copy", "memset").index(item.kind)] += 1
        row[3] += item.dur
    return {k: tuple(v) for k, v in out.items()}


def calls(run, names):
    return group(run.calls, lambda x: names[x.role], lambda x: x.dur)


def delays(run):
    """From the start of the call to the start of the work, of each piece of work"""
    start = {x.correlation: x.start for x in run.calls}
    return sorted((x.kind, x.start - start[x.correlation]) for x in run.work)


def syncs(run):
    return group(run.syncs, lambda x: (x.device, x.stream), lambda x: x.dur)


def ranges(run):
    return group(run.ranges, lambda x: x.name, lambda x: x.dur)


def steps(run):
    """(start from the first step's, length) of each"""
    return [(x.start - run.ranges[0].start, x.dur) for x in run.ranges]
