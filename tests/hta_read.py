"""What HolisticTraceAnalysis says of traces: printed as JSON, for tests/exports_real.py. Runs under an interpreter
that has HTA.

    python hta_read.py TRACE.json...      one trace a rank, in their order
"""
import json
import logging
import os
import sys
import tempfile

os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis  # noqa: E402


def main():
    files = {rank: os.path.abspath(path) for rank, path in enumerate(sys.argv[1:])}
    analysis = TraceAnalysis(trace_files=files, trace_dir=tempfile.gettempdir())
    answer = {"ranks": {}}
    for rank in files:
        frame = analysis.t.get_trace(rank)
        names = analysis.t.symbol_table.get_sym_table()
        device = frame[frame["stream"] >= 0]
        sums = {}
        for name, duration in zip(device["name"], device["dur"]):
            entry = sums.setdefault(names[int(name)], [0, 0.0])
            entry[0] += 1
            entry[1] += float(duration)
        linked = device[device["index_correlation"] > 0]
        answer["ranks"][rank] = {"events": len(frame), "device": sums, "linked": len(linked),
                                 "steps": len([n for n in frame["name"] if names[int(n)].startswith("ProfilerStep")])}
    breakdown = analysis.get_temporal_breakdown(visualize=False)
    answer["temporal"] = breakdown.to_dict("records")
    overlap = analysis.get_comm_comp_overlap(visualize=False)
    answer["overlap"] = overlap.to_dict("records")
    kernels, _ = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=5)
    answer["kinds"] = kernels.to_dict("records")
    launches = analysis.get_cuda_kernel_launch_stats(ranks=list(files), visualize=False)
    answer["launches"] = {rank: [len(f), int(f["cpu_duration"].sum()), int(f["gpu_duration"].sum())] for rank, f in launches.items()}
    print(json.dumps(answer, default=float))


main()
