#!/usr/bin/env python3
"""Writes the XPlane files of this folder and of tests/reject/xplane: each a few events, by hand."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oracle"))
from protowire import field  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "xplane")


class Plane:
    def __init__(self, name, number=0):
        self.head = field(1, number) + field(2, name)
        self.lines, self.tail = b"", b""
        self.events, self.stats = {}, {}

    def stat_id(self, name):
        return self.stats.setdefault(name, len(self.stats) + 1)

    def stat(self, name, value):
        if isinstance(value, tuple):  # ("ref", text)
            return field(1, self.stat_id(name)) + field(7, self.stat_id(value[1]))
        kind = {int: 4, float: 2, str: 5, bytes: 6}[type(value)]
        if isinstance(value, int) and value > 1 << 62:
            kind = 3
        return field(1, self.stat_id(name)) + field(kind, value)

    def about(self, **stats):
        for name, value in stats.items():
            self.tail += field(6, self.stat(name, value))
        return self

    def meta(self, name, display="", **stats):
        key = (name, display)
        if key not in self.events:
            number = len(self.events) + 1
            body = field(1, number) + field(2, name)
            if display:
                body += field(4, display)
            for stat, value in stats.items():
                body += field(5, self.stat(stat, value))
            self.events[key] = (number, body)
        return self.events[key][0]

    def event(self, meta, offset_ps, dur_ps, **stats):
        body = field(1, meta) + field(2, offset_ps) + field(3, dur_ps)
        for name, value in stats.items():
            body += field(4, self.stat(name, value))
        return field(4, body)

    def line(self, number, name, timestamp_ns, *events):
        self.lines += field(3, field(1, number) + field(2, name) + field(3, timestamp_ns) +
                            b"".join(events))
        return self

    def encode(self):
        metas = b"".join(field(4, field(1, n) + field(2, body)) for n, body in
                         self.events.values())
        stats = b"".join(field(5, field(1, n) + field(2, field(1, n) + field(2, name)))
                         for name, n in self.stats.items())
        return field(1, self.head + self.lines + metas + stats + self.tail)


def gpu():
    """One GPU and one thread, with derived lines, an impossible kernel detail and an aggregate."""
    d = Plane("/device:GPU:0").about(device_vendor="Nvidia", clock_rate=1410000, core_count=108,
                                     memory_size=42 << 30, compute_cap_major=8)
    gemm, copy = d.meta("ampere_sgemm_128x64_nn"), d.meta("MemcpyH2D")
    nccl, step = d.meta("ncclDevKernel_AllReduce_Sum_f32_RING_LL"), d.meta("7")
    fill, module = d.meta("Memset"), d.meta("jit_train")
    details = ("ref", "regs:128 static_shared:49152 dynamic_shared:0 grid:64,2,1 block:256,1,1 "
                      "occ_pct:50")
    d.line(7, "Stream #7(Compute)", 1000,
           d.event(gemm, 5000000, 2000500, correlation_id=11, kernel_details=details,
                   hlo_op=("ref", "dot.3"), hlo_module=("ref", "jit_train"), program_id=1 << 63),
           d.event(nccl, 8000000, 4000000, correlation_id=12,
                   kernel_details="regs:2191500840 static_shared:32462 grid:1,1,1 block:1,1,1"),
           d.event(copy, 1000000, 500999, correlation_id=10,
                   memcpy_details="kind_src:pinned kind_dst:device size:4096 dest:0 async:1"),
           d.event(fill, 2000000, 100000, memset_details="kind:device num_bytes:64 async:1"))
    d.line(-559038737, "Steps", 1000, d.event(step, 1000000, 11000000, group_id=7))
    d.line(-559038734, "XLA Modules", 1000, d.event(module, 1000000, 11000000))
    d.lines += field(3, field(1, 99) + field(2, "Launch Stats") +
                     field(4, field(1, gemm) + field(5, 12) + field(3, 99)))
    h = Plane("/host:CPU")
    call, frame = h.meta("cuLaunchKernel"), h.meta("$train.py:12 step")
    op, alloc = h.meta("model/dense/MatMul:MatMul"), h.meta("MemoryAllocation")
    free, enclosing = h.meta("MemoryDeallocation"), h.meta("ExecutorState::Process")
    h.line(4711, "python3", 900,
           h.event(frame, 0, 9000000), h.event(enclosing, 100000, 5000000),
           h.event(op, 200000, 4000000, shape="(float[8,16])", is_eager=0),
           h.event(call, 300000, 50000, correlation_id=11, device_id=3),
           h.event(alloc, 400000, 0, addr=140000000000, allocation_bytes=1024, _p=1,
                   bytes_allocated=4096, bytes_reserved=8192, allocator_name="GPU_0_bfc"),
           h.event(free, 500000, 0, addr=140000000000, allocation_bytes=1024,
                   bytes_allocated=3072, allocator_name="gpu_host_bfc"),
           field(4, field(1, 4000) + field(2, 600000) + field(3, 1)))
    m = Plane("/host:metadata")
    m.tail += field(4, field(1, 1) + field(2, field(1, 1) + field(2, "jit_train(1)") +
                                           field(3, b"\x01\x02")))
    env = Plane("Task Environment").about(profile_start_time=1700000000000000000)
    return (d.encode() + h.encode() + m.encode() + env.encode() + field(2, "one error") +
            field(4, "host-a:6009"))


def tpu():
    """A TPU core: instructions, a copy from host memory, steps that the host marked."""
    d = Plane("/device:TPU:1 SparseCore 0", 2).about(device_type_string="TPU v5 lite",
                                                     peak_hbm_bw_gigabytes_per_second=819.0)
    reduce = d.meta("%all-reduce.1 = bf16[128,256]{1,0:T(8,128)} all-reduce(%p)", "all-reduce.1",
                    hlo_category="all-reduce", flops=0, bytes_accessed=131072)
    fusion = d.meta("%fusion.2 = f32[8]{0} fusion(%p)", "fusion.2", hlo_category="loop fusion")
    start = d.meta("%copy-start = (f32[64]{0}, f32[64]{0:S(5)}, u32[]) copy-start(%p)",
                   "copy-start", hlo_category="copy-start", bytes_accessed=256,
                   shape_with_layout="(f32[64]{0}, f32[64]{0:S(5)}, u32[]{:S(2)})")
    d.line(3, "XLA Ops", 0, d.event(fusion, 1000500, 2000250), d.event(start, 3000750, 100),
           d.event(reduce, 4000000, 3000000))
    d.line(4, "Async XLA Ops", 0, d.event(start, 3000750, 900000))
    d.line(6, "XLA TraceMe", 0, d.event(d.meta("dependency-wait"), 7000000, 1000))
    d.line(1, "Steps", 0, d.event(d.meta("0"), 1000000, 6000000))
    h = Plane("/host:CPU")
    h.line(1, "main/1", 0, h.event(h.meta("train"), 0, 8000000, step_num=5),
           h.event(h.meta("f"), 1 << 62, 1 << 62), h.event(h.meta("g"), -1500, 500))
    return d.encode() + h.encode()


def links():
    """Events that hand work on: to another thread, to a device, twice with one id, to nobody."""
    far = (1 << 63) + 5
    h = Plane("/host:CPU")
    make, work, call = h.meta("Schedule"), h.meta("Run"), h.meta("Enqueue")
    h.line(1, "main/1", 0,
           h.event(make, 1000000, 2000000, _p=7, _pt=5), h.event(make, 11000000, 2000000, _p=7, _pt=5),
           h.event(make, 21000000, 1000000, _p=7, _pt=1), h.event(make, 31000000, 1000000, _p=9),
           h.event(call, 41000000, 1000000, _p=far, _pt=12))
    h.line(2, "worker/2", 0,
           h.event(work, 4000000, 500000, _c=7, _ct=5), h.event(work, 5000000, 500000, _c=7, _ct=5),
           h.event(work, 14000000, 500000, _c=7, _ct=5), h.event(work, 500000, 100000, _c=7, _ct=5),
           h.event(work, 32000000, 500000, _c=9, _r=1), h.event(work, 33000000, 1000, _c=8, _ct=5),
           h.event(work, 34000000, 1000, _c=-1, _ct=1))
    d = Plane("/device:TPU:0", 1)
    d.line(2, "XLA Modules", 0, d.event(d.meta("jit_f"), 43000000, 9000000,
                                        _c=far - (1 << 64), _ct=12))
    d.line(3, "XLA Ops", 0, d.event(d.meta("%fusion = f32[8]{0} fusion()", "fusion"), 43000000,
                                    8000000))
    return d.encode() + h.encode()


def shape(kind, *dims):
    """ShapeProto of an array: 11 is f32, 16 bf16."""
    return field(2, kind) + b"".join(field(3, n) for n in dims)


def instruction(number, name, opcode, result, operands=(), called=(), **more):
    """HloInstructionProto; `more`: source (file, line), operation, frame, kind, target, fields."""
    about = b"".join(field(n, v) for n, v in
                     ((2, more.get("operation")), (3, more.get("source", [None])[0]),
                      (4, more.get("source", [0, None])[1]), (15, more.get("frame"))) if v)
    out = field(1, name) + field(2, opcode) + field(3, result)
    out += field(7, about) if about else b""
    out += field(11, more["kind"]) if "kind" in more else b""
    out += field(28, more["target"]) if "target" in more else b""
    out += b"".join(field(n, v) for n, v in more.get("fields", ()))
    return field(2, out + field(35, number) + b"".join(field(36, n) for n in operands) +
                 b"".join(field(38, n) for n in called))


def computation(number, name, fused, *instructions):
    return field(3, field(1, name) + b"".join(instructions) + field(5, number) + field(7, fused))


def program(name, *computations, frames=b""):
    return field(1, field(1, name) + b"".join(computations) + (field(17, frames) if frames else b""))


def hlo():
    """A GPU whose kernels run a compiled program: a dot in a fusion, a convolution that a library runs
    with two kernels, a product of another library, one that nobody can know; and an unknown program.
    Each computation numbers its instructions anew. In an old file's place (metadata) lies one more."""
    window = b"".join(field(1, field(1, 3) + field(2, s) + field(3, 1) + field(4, 1) + field(5, 1) +
                            field(6, 1)) for s in (1, 2))
    dims = (field(7, 0) + field(8, 3) + field(11, 1) + field(11, 2) + field(3, 2) + field(4, 3) +
            field(6, 0) + field(6, 1) + field(9, 0) + field(10, 3) + field(12, 1) + field(12, 2))
    fused = computation(
        7, "fused", 1, instruction(0, "p0", "parameter", shape(16, 8, 32)),
        instruction(1, "p1", "parameter", shape(16, 32, 4)),
        instruction(2, "dot.1", "dot", shape(11, 8, 4), (0, 1), fields=[(30, field(1, 1) + field(2, 0))]),
        instruction(3, "add.1", "add", shape(11, 8, 4), (2, 2)),
        instruction(4, "tanh.1", "tanh", shape(11, 8, 4), (3,)))
    pair = field(2, 13) + field(4, shape(11, 2, 8, 4, 5)) + field(4, shape(6, 1024))
    gemm = b'{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}'
    entry = computation(
        9, "main", 0, instruction(0, "x", "parameter", shape(16, 8, 32)),
        instruction(1, "w", "parameter", shape(16, 32, 4)),
        instruction(2, "gemm_fusion", "fusion", shape(11, 8, 4), (0, 1), (7,), kind="kLoop",
                    operation="jit(step)/dense/dot_general", frame=1),
        instruction(3, "image", "parameter", shape(11, 2, 8, 8, 3)),
        instruction(4, "kernel", "parameter", shape(11, 3, 3, 3, 5)),
        instruction(5, "cudnn-conv", "custom-call", pair, (3, 4), target="__cudnn$convForward",
                    operation="jit(step)/conv", source=("model.py", 12),
                    fields=[(15, window), (16, dims)]),
        instruction(6, "cublas-gemm", "custom-call", shape(11, 8, 4), (0, 1), target="__cublas$gemm",
                    fields=[(43, gemm)]),
        instruction(7, "sorted", "sort", shape(11, 8, 4), (2,)))
    frames = (field(1, "lib.py") + field(1, "train.py") + field(3, field(1, 2) + field(3, 33)) +
              field(4, field(1, 1)))
    d = Plane("/device:GPU:0").about(device_vendor="Nvidia")
    names = [d.meta(n) for n in ("loop_gemm_fusion", "reorder_nchw", "conv_winograd", "ampere_gemm",
                                 "sort", "stray", "reduce_old")]
    ops = ["gemm_fusion", "cudnn-conv", "cudnn-conv", "cublas-gemm", "sorted", "elsewhere"]
    events = [d.event(names[i], 1000000 * (6 * run + i + 1), [500000, 100000, 700000][i % 3],
                      hlo_op=("ref", op), hlo_module=("ref", "jit_step"), program_id=far(14))
              for run in range(2) for i, op in enumerate(ops)]
    events.append(d.event(names[6], 20000000, 1000, hlo_op=("ref", "%reduce.1"), program_id=21))
    d.line(7, "Stream #7", 0, *events)
    m = Plane("/host:metadata")
    m.meta("jit_step(%d)" % (far(14) & (1 << 64) - 1), **{"Hlo Proto": program(
        "jit_step", fused, entry, frames=frames)})
    m.meta("jit_unused(15)", **{"Hlo Proto": program("jit_unused", entry)})
    m.meta("jit_damaged(16)", **{"Hlo Proto": b"\x0a\x7f", "program_id": 16})
    old = program("jit_old", computation(
        1, "add", 0, instruction(0, "a", "parameter", shape(11)), instruction(1, "b", "parameter",
                                                                             shape(11)),
        instruction(2, "sum", "add", shape(11), (0, 1))), computation(
        2, "main", 0, instruction(0, "in", "parameter", shape(11, 30, 7)),
        instruction(1, "zero", "constant", shape(11)),
        instruction(2, "reduce.1", "reduce", shape(11, 7), (0, 1), (1,))))
    m.tail += field(4, field(1, 21) + field(2, field(1, 21) + field(2, "jit_old(21)") + field(3, old)))
    return d.encode() + m.encode()


def far(number):
    """A program's id above 2^63."""
    return number + (1 << 63)


def hlo_loop():
    """Programs that no compiler writes: a fusion that calls itself, an operand that is not there, shapes
    beyond all numbers, a window without end, tuples within tuples."""
    deep = shape(11, 4)
    for _ in range(40):
        deep = field(2, 13) + field(4, deep)
    window = field(1, field(1, 3) + field(2, 1) + field(5, 1) + field(6, 1 << 40))
    entry = computation(
        3, "main", 0, instruction(0, "self", "fusion", shape(11, 4), (9,), (3,)),
        instruction(1, "huge", "negate", shape(11, 1 << 40, 1 << 40)),
        instruction(2, "deep", "tuple", deep), instruction(3, "minus", "negate", shape(11, -5)),
        instruction(4, "dot", "dot", shape(11, 1 << 40, 1 << 20), (1, 1), fields=[(30, field(1, 7))]),
        instruction(5, "conv", "convolution", shape(11, 1 << 29, 1 << 29), (5, 5), fields=[
            (15, window), (16, field(11, 0) + field(6, 0) + field(12, 0))]),
        instruction(6, "odd", "", b"\x18\xff"), instruction(7, "nobody", "call", shape(99), (), (77,)))
    d = Plane("/device:TPU:0").about()
    d.line(3, "XLA Ops", 0, *[d.event(d.meta(n, n, program_id=5), 1000000 * i, 1000) for i, n in
                              enumerate(("self", "huge", "deep", "minus", "dot", "conv", "odd",
                                         "nobody"))])
    m = Plane("/host:metadata")
    m.meta("jit_f(5)", hlo_proto=program("jit_f", entry))
    return m.encode() + d.encode()


def windows():
    """Convolutions in one dimension, named after what they cost: twice the places of kernel and output that meet an element of
    the input, counted one by one (those that lie in a gap of a dilated input or outside meet none). Then windows at the limits of what is
    counted, 2^30, and one beyond, which are unknown, each in a program of its own."""
    dims = (field(7, 0) + field(8, 2) + field(11, 1) + field(3, 1) + field(4, 2) + field(6, 0) + field(9, 0) + field(10, 2) + field(12, 1))

    def convolution(number, name, inputs, kernels, outputs, stride, low, dilation, base):
        window = field(1, field(1, kernels) + field(2, stride) + field(3, low) + field(5, dilation) + field(6, base))
        return (instruction(number, "in%d" % number, "parameter", shape(11, 1, inputs, 1)) +
                instruction(number + 1, "kernel%d" % number, "parameter", shape(11, kernels, 1, 1)) +
                instruction(number + 2, name, "convolution", shape(11, 1, outputs, 1), (number, number + 1),
                            fields=[(15, window), (16, dims)]))

    def counted(inputs, kernels, outputs, stride, low, dilation, base):
        met = 0
        for kernel in range(kernels):
            for output in range(outputs):
                at = kernel * dilation - low + output * stride
                met += any(at == element * base for element in range(inputs))
        return 2 * met

    programs, names = [], []
    cases = [(inputs, kernels, outputs, stride, low, dilation, base) for inputs in (1, 5) for kernels in (1, 3) for outputs in (1, 4)
             for stride in (1, 2, 3) for low in (-1, 0, 2) for dilation in (1, 2) for base in (1, 2, 3)][::5]
    body = b""
    for number, case in enumerate(cases):
        names.append(("conv%d of %d" % (number, counted(*case)), 30))
        body += convolution(3 * number, names[-1][0], *case)
    programs.append((30, body))
    most = 1 << 30
    for what, place in ("stride", 3), ("low", 4), ("dilation", 5), ("base", 6):
        for value in (0, 1, most, most + 1, -most, -most - 1):
            case = [5, 1, 1, 1, 0, 1, 1]
            case[place] = value
            good = abs(value) <= most and (value > 0 or what == "low")
            name = "%s %d of %s" % (what, value, counted(*case) if good else "unknown")
            names.append((name, 31 + len(programs)))
            programs.append((31 + len(programs), convolution(0, name, *case)))
    d = Plane("/device:TPU:0").about()
    d.line(3, "XLA Ops", 0, *[d.event(d.meta(name, name, program_id=program_id), 1000000 * i, 1000)
                              for i, (name, program_id) in enumerate(names)])
    m = Plane("/host:metadata")
    for program_id, body in programs:
        m.meta("jit_f(%d)" % program_id, hlo_proto=program("jit_f", computation(3, "main", 0, body)))
    return m.encode() + d.encode()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def main():
    whole = gpu()
    write(os.path.join(HERE, "gpu.xplane.pb"), whole)
    write(os.path.join(HERE, "tpu.xplane.pb"), tpu())
    write(os.path.join(HERE, "links.xplane.pb"), links())
    write(os.path.join(HERE, "hlo.xplane.pb"), hlo())
    write(os.path.join(HERE, "hlo-loop.xplane.pb"), hlo_loop())
    write(os.path.join(HERE, "hlo-windows.xplane.pb"), windows())
    write(os.path.join(HERE, "cut.xplane.pb"), whole[:len(whole) // 2])
    write(os.path.join(HERE, "no-events.xplane.pb"),
          Plane("/device:GPU:0").encode() + Plane("/host:CPU").encode())
    mangled = bytes(whole).decode("utf-8", "replace").encode() + b"\xef\xbf\xbd" * 20
    write(os.path.join(REJECT, "saved-as-text.xplane.pb"), mangled)
    write(os.path.join(REJECT, "cut-in-first-plane.xplane.pb"), whole[:30])
    write(os.path.join(REJECT, "noise-after-name.xplane.pb"),
          field(1, field(2, "/host:CPU") + b"\xff" * 40)[:40])


main()
