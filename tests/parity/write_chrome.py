"""Trace event JSON: as PyTorch's Kineto writes it, and as a program of which nothing is known."""
import json
import os

import workload as w

CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync",
         "wait": "cudaStreamSynchronize"}
MEMORY = {"HtoD": "Pageable -> Device", "DtoH": "Device -> Pinned", "DtoD": "Device -> Device"}
EPOCH = 1_700_000_000_000_000_000


def event(category, name, item, pid, tid, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid,
            "ts": item.start / 1000, "dur": item.dur / 1000, "args": args}


def on_device(category, name, item, **args):
    return event(category, name, item, item.device, item.stream, device=item.device,
                 stream=item.stream, context=item.device + 1, correlation=item.correlation, **args)


def kineto_events(run):
    for x in run.of("kernel"):
        yield on_device("kernel", x.name, x, grid=[80, 1, 1], block=[128, 1, 1])
    for x in run.of("copy"):
        yield on_device("gpu_memcpy", "Memcpy %s (%s)" % (x.direction, MEMORY[x.direction]), x,
                        bytes=x.bytes)
    for x in run.of("memset"):
        yield on_device("gpu_memset", "Memset (Device)", x, bytes=x.bytes)
    for x in run.syncs:
        yield on_device("cuda_sync", "Stream Sync", x, cuda_sync_kind="Stream Sync")
    for x in run.calls:
        yield event("cuda_runtime", CALLS[x.role], x, w.PID, w.PID, correlation=x.correlation)
    for x in run.ranges:
        yield event("user_annotation", x.name, x, w.PID, w.PID)


def write_kineto(run, folder):
    path = os.path.join(folder, "run.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "baseTimeNanoseconds": EPOCH, "displayTimeUnit": "ms",
                   "deviceProperties": [{"id": d, "name": "Made-up GPU"} for d in range(w.DEVICES)],
                   "traceEvents": sorted(kineto_events(run), key=lambda e: e["ts"])}))
    return path


def write_generic(run, folder):
    """Rows of a program's own, in B and E: nothing tells that some of them are kernels."""
    path = os.path.join(folder, "run.json")
    out = []
    for x in run.work:
        what = x.name or x.direction or "fill"
        for phase, ts in (("B", x.start), ("E", x.end)):
            out.append({"ph": phase, "name": what, "cat": "work", "pid": 9, "ts": ts / 1000,
                        "tid": 100 * x.device + x.stream})
    # An end before a begin at the same moment; no two of a lane overlap.
    out.sort(key=lambda e: (e["ts"], e["ph"] == "B"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(out))
    return path
