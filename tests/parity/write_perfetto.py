"""Perfetto protobuf: tracks as rocprofv3 writes them, and render stages as drivers of GPUs do."""
import os

import workload as w
from protowire import field

CALLS = {"launch": "hipLaunchKernel", "copy": "hipMemcpyAsync", "memset": "hipMemsetAsync",
         "wait": "hipStreamSynchronize"}
DIRECTIONS = {"HtoD": "HOST_TO_DEVICE", "DtoH": "DEVICE_TO_HOST", "DtoD": "DEVICE_TO_DEVICE"}
THREAD = 2  # the track


def track_of(item):
    return 100 + 32 * item.device + item.stream


def packet(body, ts=None):
    head = b"" if ts is None else field(8, ts)
    return field(1, head + field(10, 1) + body)


def annotation(name, number):
    return field(4, field(10, name) + field(3, number))


def both_ends(item, track, category, name, **numbers):
    """Begin and end of a TrackEvent, with the time of each."""
    notes = b"".join(annotation(k, v) for k, v in numbers.items() if v is not None)
    begin = field(11, field(9, 1) + field(11, track) + field(22, category) + field(23, name) + notes)
    end = field(11, field(9, 2) + field(11, track))
    return [(item.start, 1, -item.dur, packet(begin, item.start)),
            (item.end, 0, 0, packet(end, item.end))]


def write_tracks(run, folder):
    path = os.path.join(folder, "run.pftrace")
    out = packet(field(60, field(1, 1) + field(3, field(1, w.PID) + field(6, "train"))))
    out += packet(field(60, field(1, THREAD) + field(5, 1) +
                        field(4, field(1, w.PID) + field(2, w.PID) + field(5, "main"))))
    for track, device, stream in sorted({(track_of(x), x.device, x.stream) for x in run.work}):
        out += packet(field(60, field(1, track) +
                            field(2, "GPU [%d] QUEUE [%d]" % (device, stream))))
    events = []
    for x in run.work:
        if x.kind == "kernel":
            events += both_ends(x, track_of(x), "kernel_dispatch", x.name, corr_id=x.correlation)
        else:
            events += both_ends(x, track_of(x), "memory_copy",
                                "MEMORY_COPY_" + DIRECTIONS[x.direction], corr_id=x.correlation,
                                bytes=x.bytes)
    for x in run.calls:
        events += both_ends(x, THREAD, "hip_api", CALLS[x.role], corr_id=x.correlation)
    for x in run.ranges:
        events += both_ends(x, THREAD, "marker_api", x.name)
    with open(path, "wb") as file:
        file.write(out + b"".join(e[-1] for e in sorted(events, key=lambda e: e[:3])))
    return path


def write_stages(run, folder):
    path = os.path.join(folder, "run.pftrace")
    names = {name: 10 + i for i, name in enumerate(sorted({x.name for x in run.of("kernel")}))}
    queues = {w.COMPUTE: w.COMPUTE, w.COMMUNICATION: w.COMMUNICATION}
    interned = b"".join(field(24, field(1, n) + field(2, "queue %d" % s) + field(4, 2))
                        for s, n in queues.items())
    interned += field(24, field(1, 3) + field(2, "Compute") + field(4, 2))
    interned += b"".join(field(1001, field(1, n) + field(2, name) + field(4, "sm_80"))
                         for name, n in names.items())
    out = packet(field(12, interned) + field(13, 1), 0)
    for x in run.of("kernel"):
        out += packet(field(53, field(2, x.dur) + field(13, queues[x.stream]) + field(14, 3) +
                            field(11, x.device) + field(19, names[x.name])) + field(13, 2), x.start)
    with open(path, "wb") as file:
        file.write(out)
    return path
