"""Traces of a training loop with known truth, in Kineto's form, for the tests of comparisons.

A step is a list of kernels with their times; the CPU launches them one after another, an all-reduce
runs beside the last ones. What a test plants it says when it makes the trace; everything is
simulated again with it, so that its effect on the step is the true one.
"""
import json
import random

KERNELS = [("embedding_kernel", "aten::embedding", 150), ("ln_kernel", "aten::layer_norm", 120)]
for _layer in range(6):
    KERNELS += [("sgemm_qkv", "aten::mm", 300), ("flash_fwd", "aten::attention", 200),
                ("gelu_kernel", "aten::gelu", 100), ("bias_add", "aten::add", 80),
                ("sgemm_out", "aten::mm", 60 + 240 * (_layer % 2))]
REDUCE_US = 250


class Plant:
    """What is different of one trace. `scale` multiplies a kernel's time, `names` renames, `fuse` replaces a run of
    kernels by one of (name, µs), `split` one by several, `order` swaps two kernels that follow each other, `sync` adds blocking calls a step of so many
    µs, `loader` µs of waiting for data, `ahead` a CPU that never waits for the GPU, `mark` what a step's range is called (None: there is none), `ops` what operators begin with, `capture` is what the whole capture is slower by."""

    def __init__(self, steps=20, scale=None, names=None, fuse=None, split=None, sync=0, loader=0,
                 capture=0.0, noise=0.005, batch=32, device="NVIDIA A100-SXM4-80GB", clock=1.0, reduce=1.0,
                 slow_steps=None, order=None, ahead=False, mark="ProfilerStep#%d", ops="aten::", seed=1):
        self.__dict__.update(locals())
        del self.__dict__["self"]

    def kernels(self):
        out = []
        for name, op, us in KERNELS:
            us *= (self.scale or {}).get(name, 1)
            out.append(((self.names or {}).get(name, name), op.replace("aten::", self.ops), us))
        if self.fuse:
            run, (name, us) = self.fuse
            done, at = [], 0
            while at < len(out):
                if tuple(k[0] for k in out[at:at + len(run)]) == tuple(run):
                    done.append((name, out[at][1], us))
                    at += len(run)
                else:
                    done.append(out[at])
                    at += 1
            out = done
        if self.split:
            whole, parts = self.split
            out = [piece for kernel in out for piece in
                   ([(n, kernel[1], us) for n, us in parts] if kernel[0] == whole else [kernel])]
        for at in range(len(out) - 1):
            if self.order == (out[at][0], out[at + 1][0]):
                out[at], out[at + 1] = out[at + 1], out[at]
        return out


def write(path, plant):
    """Writes the trace; returns the true mean step in µs."""
    rng = random.Random(plant.seed)
    events, at, correlation, total, behind = [], 1000.0, 1, 0.0, 0.0

    def put(cat, name, ts, dur, tid, pid=100, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                       "ts": round(ts, 3), "dur": round(dur, 3), "args": args})

    for step in range(plant.steps):
        begin, cpu, device = at, at, max(at, behind)
        if plant.loader:
            put("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                cpu, plant.loader, 100)
            cpu += plant.loader
        slow = (plant.slow_steps or {}).get(step, 1)
        kernels = plant.kernels()
        for i, (name, op, us) in enumerate(kernels):
            us *= (1 + plant.capture) * plant.clock * slow * rng.gauss(1, plant.noise)
            put("cpu_op", op, cpu, 6, 100, **{"Input Dims": [[plant.batch, 512], [512, 512]]})
            put("cuda_runtime", "cudaLaunchKernel", cpu + 1, 4, 100, correlation=correlation)
            start = max(device, cpu + 8)
            put("kernel", name, start, us, 7, pid=0, device=0, context=1, stream=7,
                correlation=correlation)
            if i == len(kernels) - 6:
                put("cuda_runtime", "cudaLaunchKernel", cpu + 5, 0.5, 100,
                    correlation=correlation + 1)
                put("kernel", "ncclDevKernel_AllReduce_Sum_f32", start + 1,
                    REDUCE_US * plant.reduce, 8, pid=0, device=0, context=1, stream=8,
                    correlation=correlation + 1)
                correlation += 1
            correlation += 1
            device = start + us
            cpu += 7
            if plant.sync and i in range(3, 3 + plant.sync):
                put("cuda_runtime", "cudaDeviceSynchronize", cpu, max(device - cpu, 1) + 2, 100,
                    correlation=correlation)  # returns 2 µs after the device is done
                correlation += 1
                cpu = max(cpu, device) + 12
        if not plant.ahead:
            put("cuda_runtime", "cudaDeviceSynchronize", cpu, max(device - cpu, 1), 100,
                correlation=correlation)
            correlation += 1
        behind = device
        end = (cpu if plant.ahead else max(cpu, device)) + 10
        if plant.mark:
            apart = 0 if plant.mark.startswith("Profiler") else 0.01  # ranges must not overlap
            put("user_annotation", plant.mark % step, begin, end - begin - apart, 100)
        total += end - begin
        at = end
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": plant.device}],
                "traceEvents": events}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(document))
    return total / plant.steps
