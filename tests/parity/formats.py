"""The formats of tests/parity/run.py, a row each: who writes it, and what it cannot tell.

`lacks` names what the format has no place for; then the program must have none of it, or NULL:

    copies, fills, calls, syncs, ranges, steps    no rows at all
    bytes, fill bytes                             copies, fills of unknown size
    devices                                       device NULL (one device is written)
    links                                         no work has a launch
    device work                                   kernels are rows of another kind, or sums

`advised` names the tables that the answer must tell how to record, since another option of the same
tool does.
"""
from dataclasses import dataclass, replace
from typing import Callable, Dict, FrozenSet, Optional, Tuple

import workload
import write_chrome
import write_inference
import write_nsys
import write_nvprof
import write_perfetto
import write_rocprof
import write_rpd
import write_xplane


@dataclass(frozen=True)
class Format:
    name: str  # as `neurolens info` has it
    what: str
    write: Callable
    lacks: FrozenSet[str] = frozenset()
    calls: Optional[Dict[str, str]] = None  # names of the calls
    tick: int = 1  # ns; 1000 where times are whole microseconds
    origin: int = 5_000_000_000_000_000  # ns: since boot
    fill: Optional[str] = None  # a fill is a kernel of this name
    first_device: int = 0
    range_name: Optional[str] = None  # with %d for the number of the step
    advised: FrozenSet[str] = frozenset()
    within: Tuple[str, ...] = ()  # formats of the files that a document was made from


def row(name, what, write, *lacks, **more):
    return Format(name, what, write, frozenset(lacks), **more)


FORMATS = [
    row("nsys", "SQLite export", write_nsys.write, calls=write_nsys.CALLS, origin=7_000_000),
    row("kineto", "PyTorch", write_chrome.write_kineto, calls=write_chrome.CALLS, origin=7_000_000,
        range_name="ProfilerStep#%d"),
    row("chrome", "rows of a program", write_chrome.write_generic, "device work", origin=7_000_000),
    row("xplane", "planes of GPUs", write_xplane.write, "syncs", calls=write_xplane.CALLS,
        range_name="train"),
    row("nvprof", "SQLite export", write_nvprof.write_database, calls=write_nvprof.CALLS),
    row("nvprof-csv", "GPU and API trace", write_nvprof.write_log, "syncs", "ranges", "steps",
        calls=write_nvprof.CALLS, origin=250_000_000, advised={"nvtx", "syncs"}),
    row("rpd", "rocmProfileData", write_rpd.write, "syncs", "fill bytes", calls=write_rpd.CALLS),
    row("rocpd", "rocprofv3", write_rocprof.write_database, "syncs", calls=write_rocprof.CALLS,
        fill=write_rocprof.FILL),
    row("rocprofv3", "rocprofv3", write_rocprof.write_json, "syncs", calls=write_rocprof.CALLS,
        fill=write_rocprof.FILL),
    row("rocprof", "CSV tables of rocprofv3", write_rocprof.write_csv, "syncs", "bytes",
        calls=write_rocprof.CALLS, fill=write_rocprof.FILL),
    row("rocprof", "kernel trace of rocprofv3", write_rocprof.write_kernel_trace, "syncs", "copies",
        "calls", "ranges", "steps", "links", fill=write_rocprof.FILL,
        first_device=write_rocprof.AGENT, advised={"copies", "api", "nvtx"}),
    row("rocprof", "rocprof v1", write_rocprof.write_v1, "syncs", "copies", "calls", "ranges",
        "steps", "links", fill=write_rocprof.FILL, advised={"copies", "api", "nvtx"}),
    row("rocprof", "rocprof v2", write_rocprof.write_v2, "syncs", "copies", "calls", "ranges",
        "steps", "links", fill=write_rocprof.FILL, advised={"copies", "api", "nvtx"}),
    row("perfetto", "tracks of rocprofv3", write_perfetto.write_tracks, "syncs",
        calls=write_perfetto.CALLS, fill=write_rocprof.FILL),
    row("perfetto", "render stages", write_perfetto.write_stages, "syncs", "copies", "fills", "calls",
        "ranges", "steps", "links"),
    row("onnxruntime", "CUDA provider", write_inference.write_onnxruntime, "devices", "bytes", "fills",
        "links", "syncs", calls=write_inference.CALLS, tick=1000, origin=1_000_000,
        range_name="model_run"),
    row("tensorrt", "layers", write_inference.write_tensorrt, "device work"),
]


def written(form):
    """The workload as a format can tell it: what is in the file."""
    devices = 1 if "devices" in form.lacks else workload.DEVICES
    run = workload.make(form.tick, form.origin, devices)
    work = run.work
    if form.fill:
        work = [replace(x, kind="kernel", name=form.fill) if x.kind == "memset" else x for x in work]
    gone = {kind for lack, kind in (("copies", "copy"), ("fills", "memset")) if lack in form.lacks}
    ranges = [replace(x, name=form.range_name.replace("%d", str(x.index))) for x in run.ranges] \
        if form.range_name else run.ranges
    return run.only(work=[x for x in work if x.kind not in gone],
                    calls=[] if "calls" in form.lacks else run.calls,
                    syncs=[] if "syncs" in form.lacks else run.syncs,
                    ranges=[] if "ranges" in form.lacks else ranges)
