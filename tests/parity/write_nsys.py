"""Nsight Systems' SQLite export; the schema is that of tools/make_nsys.py."""
import argparse
import os
import sys

import workload as w

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import make_nsys  # noqa: E402

PROCESS = (1 << 48) | (w.PID << 24)
THREAD = PROCESS | w.PID
CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync",
         "wait": "cudaStreamSynchronize"}
# direction: copyKind, srcKind, dstKind
KINDS = {"HtoD": (1, 0, 2), "DtoH": (2, 2, 1), "DtoD": (8, 2, 2)}


def place(item):
    return dict(start=item.start, end=item.end, deviceId=item.device, contextId=1 + item.device,
                streamId=item.stream, globalPid=PROCESS, correlationId=item.correlation)


def write(run, folder):
    path = os.path.join(folder, "run.sqlite")
    maker = make_nsys.Maker(argparse.Namespace(
        era="3.24", eager=False, utf16=False, page_size=4096, without_rowid=False,
        wal=False, inline_text=False, seed=1))
    for item in run.of("kernel"):
        name = maker.text(item.name)
        maker.add("CUPTI_ACTIVITY_KIND_KERNEL", **place(item), demangledName=name, shortName=name,
                  registersPerThread=40, gridX=80, gridY=1, gridZ=1, blockX=128, blockY=1, blockZ=1)
    for item in run.of("copy"):
        kind, source, target = KINDS[item.direction]
        maker.add("CUPTI_ACTIVITY_KIND_MEMCPY", **place(item), bytes=item.bytes, copyKind=kind,
                  srcKind=source, dstKind=target)
    for item in run.of("memset"):
        maker.add("CUPTI_ACTIVITY_KIND_MEMSET", **place(item), bytes=item.bytes, value=0, memKind=2)
    for item in run.syncs:
        maker.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **place(item), syncType=3,
                  eventId=4294967295)
    for call in run.calls:
        maker.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=call.start, end=call.end, globalTid=THREAD,
                  correlationId=call.correlation, nameId=maker.text(CALLS[call.role] + "_v3020"))
    for item in run.ranges:
        maker.add("NVTX_EVENTS", start=item.start, end=item.end, eventType=59, globalTid=THREAD,
                  domainId=0, text=item.name)
    for gpu in range(w.DEVICES):
        maker.add("TARGET_INFO_GPU", id=gpu, name="Made-up GPU", cuDevice=gpu)
        maker.add("TARGET_INFO_CUDA_DEVICE", gpuId=gpu, cudaId=gpu, pid=w.PID)
    maker.write(path)
    return path
