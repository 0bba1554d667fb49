"""XPlane protobuf of TensorFlow, JAX and PyTorch/XLA: planes of GPUs and one of the host."""
import os

import workload as w
from protowire import field

CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync",
         "wait": "cudaStreamSynchronize"}
KINDS = {"HtoD": ("MemcpyH2D", "kind_src:pageable kind_dst:device"),
         "DtoH": ("MemcpyD2H", "kind_src:device kind_dst:pinned"),
         "DtoD": ("MemcpyD2D", "kind_src:device kind_dst:device")}


class Plane:
    """Names of events and statistics are told once per plane and then go by number."""

    def __init__(self, name):
        self.lines, self.names, self.stats = field(2, name), {}, {}

    def number(self, table, name):
        return table.setdefault(name, len(table) + 1)

    def event(self, item, line_ns, name, **stats):
        body = field(1, self.number(self.names, name))
        body += field(2, (item.start - line_ns) * 1000) + field(3, item.dur * 1000)
        for key, value in stats.items():
            kind = 4 if isinstance(value, int) else 5
            body += field(4, field(1, self.number(self.stats, key)) + field(kind, value))
        return field(4, body)

    def line(self, number, name, ns, events):
        self.lines += field(3, field(1, number) + field(2, name) + field(3, ns) + b"".join(events))

    def encode(self):
        tables = b"".join(
            field(place, field(1, n) + field(2, field(1, n) + field(2, name)))
            for place, table in ((4, self.names), (5, self.stats)) for name, n in table.items())
        return field(1, self.lines + tables)


def device_event(plane, x, line_ns):
    if x.kind == "kernel":
        return plane.event(x, line_ns, x.name, correlation_id=x.correlation,
                           kernel_details="regs:40 static_shared:0 dynamic_shared:0 grid:80,1,1 "
                                          "block:128,1,1 occ_pct:50")
    if x.kind == "memset":
        return plane.event(x, line_ns, "Memset", correlation_id=x.correlation,
                           memset_details="kind:device num_bytes:%d async:1" % x.bytes)
    name, memory = KINDS[x.direction]
    return plane.event(x, line_ns, name, correlation_id=x.correlation,
                       memcpy_details="%s size:%d dest:0 async:1" % (memory, x.bytes))


def write(run, folder):
    path = os.path.join(folder, "run.xplane.pb")
    first = min(x.start for x in run.ranges)
    out = b""
    for device in range(w.DEVICES):
        plane = Plane("/device:GPU:%d" % device)
        for stream in (w.COMPUTE, w.COMMUNICATION):
            plane.line(stream, "Stream #%d(Made-up)" % stream, first,
                       [device_event(plane, x, first) for x in run.work
                        if (x.device, x.stream) == (device, stream)])
        out += plane.encode()
    host = Plane("/host:CPU")
    events = [host.event(x, first, "train", step_num=x.index) for x in run.ranges]
    events += [host.event(x, first, CALLS[x.role], correlation_id=x.correlation) for x in run.calls]
    host.line(w.PID, "python3", first, events)
    with open(path, "wb") as file:
        file.write(out + host.encode())
    return path
