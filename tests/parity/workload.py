"""One small training run, told once: what every format of tests/parity/run.py writes down.

Two devices with two streams each run three steps. Per step and device: a copy in, a GEMM, an
element-wise kernel and an all-reduce beside them, a copy on the device, a fill, a second GEMM, a copy
out that it hides in part, a wait of the CPU; in between, gaps. Times are whole ticks, so a format
that knows only microseconds gets the same run with longer ticks, not rounded numbers.
"""
from dataclasses import dataclass, field, replace
from typing import List, Optional

PID = 4242
GEMM = "ampere_sgemm_128x64_nn"
ADD = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float*)"
REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
STEPS = 3
DEVICES = 2
COMPUTE, COMMUNICATION = 7, 13  # streams


@dataclass(frozen=True)
class Work:
    """A kernel, a copy or a fill on a device."""
    kind: str  # kernel, copy, memset
    name: str
    device: Optional[int]
    stream: Optional[int]
    start: int
    dur: int
    correlation: Optional[int]
    bytes: Optional[int] = None
    direction: Optional[str] = None

    @property
    def end(self):
        return self.start + self.dur


@dataclass(frozen=True)
class Call:
    """A call of the runtime on the CPU: `role` is launch, copy, memset or wait."""
    role: str
    start: int
    dur: int
    correlation: Optional[int]

    @property
    def end(self):
        return self.start + self.dur


@dataclass(frozen=True)
class Sync:
    """The profiler's own record of a wait for a stream."""
    device: int
    stream: int
    start: int
    dur: int
    correlation: int

    @property
    def end(self):
        return self.start + self.dur


@dataclass(frozen=True)
class Range:
    """A step, as the program marked it."""
    name: str
    index: int
    start: int
    dur: int

    @property
    def end(self):
        return self.start + self.dur


@dataclass(frozen=True)
class Workload:
    work: List[Work] = field(default_factory=list)
    calls: List[Call] = field(default_factory=list)
    syncs: List[Sync] = field(default_factory=list)
    ranges: List[Range] = field(default_factory=list)

    def of(self, kind):
        return [w for w in self.work if w.kind == kind]

    def only(self, **what):
        return replace(self, **what)


# (kind, name or direction, stream, start and length in ticks within the step, bytes)
STEP = [
    ("copy", "HtoD", COMPUTE, 5_000, 5_001, 1 << 20),
    ("kernel", GEMM, COMPUTE, 11_001, 20_011, None),
    ("kernel", REDUCE, COMMUNICATION, 24_000, 30_017, None),
    ("kernel", ADD, COMPUTE, 32_000, 4_003, None),
    ("copy", "DtoD", COMPUTE, 44_000, 6_001, 1 << 18),
    ("memset", "", COMPUTE, 56_000, 777, 1 << 16),
    ("kernel", GEMM, COMPUTE, 59_000, 15_005, None),
    ("copy", "DtoH", COMMUNICATION, 69_000, 10_009, 1 << 12),
]
ROLES = {"kernel": "launch", "copy": "copy", "memset": "memset"}


def make(tick=1, origin=0, devices=DEVICES):
    """The run: ticks of `tick` ns, starting at `origin` ns."""
    out = Workload()
    correlation = 100

    def at(ticks):
        return origin + ticks * tick

    for step in range(STEPS):
        begin = 1_000 + step * 100_003
        cpu = begin + 100
        for device in range(devices):
            # Devices differ, or an answer for the wrong one would look right.
            late = 333 * device + 11 * step * device
            for kind, name, stream, start, dur, size in STEP:
                correlation += 1
                out.calls.append(Call(ROLES[kind], at(cpu), 120 * tick, correlation))
                cpu += 200
                out.work.append(Work(
                    kind, "" if kind != "kernel" else name, device, stream,
                    at(begin + start + late), (dur + 13 * step + 7 * device) * tick, correlation,
                    size, name if kind == "copy" else None))
        cpu = begin + 60_000
        for device in range(devices):
            correlation += 1
            dur = 20_000 - 17_000 * device
            out.calls.append(Call("wait", at(cpu), dur * tick, correlation))
            out.syncs.append(Sync(device, COMMUNICATION, at(cpu + 50), (dur - 100) * tick,
                                  correlation))
            cpu += dur + 100
        out.ranges.append(Range("step %d" % step, step, at(begin), (95_000 + 7 * step) * tick))
    return out
