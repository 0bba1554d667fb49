#!/usr/bin/env python3
"""Known GPU work in PyTorch; prints as JSON how long it took and, with --profile, which kernels torch.profiler saw.

    launches.py COUNT [--profile]
"""
import json
import sys
import time

import torch


def work(count):
    a = torch.ones(256, 256, device="cuda")
    host = torch.ones(1 << 16).pin_memory()
    for i in range(count):
        a = torch.relu(a @ a * 1e-3 + 1)
        if i % 10 == 0:
            host.to("cuda", non_blocking=True)
    torch.cuda.synchronize()


def main():
    count, answer = int(sys.argv[1]), {}
    if "--profile" in sys.argv:
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
            work(count)
        kernels = {}
        for event in profiler.profiler.kineto_results.events():
            name = event.name()
            if "CUDA" in str(event.device_type()) and not name.startswith(("Memcpy", "Memset", "cuda", "aten")):
                kernels[name] = kernels.get(name, 0) + 1
        answer["kernels"] = kernels
    else:
        begin = time.perf_counter_ns()
        work(count)
        answer["wall_ns"] = time.perf_counter_ns() - begin
    answer["torch"] = torch.__version__
    print(json.dumps(answer))


main()
