"""Traces whose answers are known by construction: programs in Kineto's form, one cause each, some of them to be played with and
without it. For tests/answers.py, which holds what is said of them to what is so, and tests/sums/run.py, which keeps it.
"""
import json
import os
import random


class Trace:
    """A Kineto trace under construction; times in microseconds."""

    def __init__(self):
        self.events, self.next = [], 1

    def slice(self, cat, name, ts, dur, tid=7, pid=1, **args):
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args})

    def launch(self, ts, dur, start, length, kernel="gemm_kernel", call="cudaLaunchKernel", stream=7, device=0,
               cat="kernel", **args):
        self.slice("cuda_runtime", call, ts, dur, correlation=self.next)
        self.slice(cat, kernel, start, length, tid=stream, pid=device, correlation=self.next, device=device,
                   stream=stream, **args)
        self.next += 1

    def write(self, folder, name="trace.json", shuffle=False, shift=0):
        events = [dict(event, ts=event["ts"] + shift) for event in self.events]
        if shuffle:
            random.Random(1).shuffle(events)
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}],
                       "traceEvents": events}))
        return path


def launched(trace, count, gap, length, begin=1000, op="aten::mm", kernel="gemm_kernel"):
    """`count` operators, each launching a kernel of `length`; the next begins `gap` after the launch."""
    now = begin
    for _ in range(count):
        trace.slice("cpu_op", op, now, gap - 2)
        trace.launch(now + gap - 10, 5, now + gap, length, kernel)
        now += gap
    return now


def compute_bound():
    trace = Trace()
    start = 1100
    for i in range(200):
        trace.slice("cpu_op", "aten::mm", 1000 + 20 * i, 15)
        trace.launch(1002 + 20 * i, 5, start, 1000, "big_gemm_kernel")
        start += 1002
    trace.slice("cuda_runtime", "cudaDeviceSynchronize", 5100, start - 5000)
    return trace, "compute", "big_gemm_kernel"


def launch_bound():
    trace = Trace()
    launched(trace, 500, 60, 3, op="aten::add")
    return trace, "launch", "aten::add|cudaLaunchKernel"


def first_calls():
    trace = Trace()
    now = launched(trace, 50, 100, 60)
    trace.slice("cpu_op", "aten::conv2d", now, 400100)
    trace.launch(now + 10, 400000, now + 400020, 500, "conv_kernel")
    launched(trace, 50, 100, 60, begin=now + 400200)
    return trace, "startup", "cudaLaunchKernel"


def loader_stall():
    trace = Trace()
    now = 1000
    for step in range(10):
        trace.slice("user_annotation", "ProfilerStep#%d" % step, now, 20000)
        trace.slice("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now + 10, 9000)
        for i in range(20):
            trace.slice("cpu_op", "aten::mm", now + 9100 + 20 * i, 18)
            trace.launch(now + 9105 + 20 * i, 5, now + 9200 + 500 * i, 498)
        trace.slice("cuda_runtime", "cudaDeviceSynchronize", now + 9600, 9650)
        now += 20000
    return trace, "input", "DataLoader"


def copies():
    trace = Trace()
    now = 1000
    for _ in range(20):
        trace.slice("cpu_op", "aten::copy_", now, 9000)
        trace.launch(now + 2, 8990, now + 20, 8900, "Memcpy HtoD (Pageable -> Device)", "cudaMemcpyAsync",
                     cat="gpu_memcpy", bytes=100 << 20)
        trace.launch(now + 9000, 5, now + 9010, 900)
        now += 10000
    return trace, "copy", "aten::copy_|host-to-device"


def communication():
    trace = Trace()
    now = 1000
    for _ in range(30):
        trace.slice("cpu_op", "aten::mm", now, 40)
        trace.launch(now + 5, 5, now + 50, 300)
        trace.launch(now + 20, 5, now + 352, 3000, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", stream=9)
        now += 3400
    return trace, "communication", "all_?reduce"


def slow_host():
    trace = Trace()
    now = 1000
    for _ in range(20):
        trace.slice("user_annotation", "write_results", now, 8000)
        now += 8010
        for i in range(4):
            trace.launch(now + 6 * i, 4, now + 10 + 500 * i, 498)
        now += 2010
    return trace, "host", "write_results"


def one_pause():
    trace = Trace()
    now = launched(trace, 300, 500, 490)
    now = launched(trace, 100, 500, 490, begin=now + 400000)
    return trace, "idle", ""


def cpu_only():
    trace = Trace()
    for i in range(200):
        trace.slice("cpu_op", "aten::convolution", 1000 + i * 1000, 800)
        trace.slice("cpu_op", "aten::relu", 1800 + i * 1000, 100)
    return trace, "cpu-only", "aten::convolution"


def kinds(copies, elementwise):
    """A device that is busy all the time, with so many kernels of these kinds beside 200 products."""
    trace, start = Trace(), 1100
    names = {"copy": "void at::native::elementwise_kernel<128, 4, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)",
             "add": "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)",
             "mm": "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn"}
    work = ["mm"] * 200 + ["copy"] * copies + ["add"] * elementwise
    random.Random(2).shuffle(work)
    for i, kind in enumerate(work):
        trace.launch(1000 + 8 * i, 5, start, 100, names[kind])
        start += 100
    return trace


def few():
    trace = Trace()
    launched(trace, 3, 100, 50)
    return trace, "none", ""


def prepared():
    """Each step begins with an operator of the CPU: it is the step's own work, also before the first kernel of all."""
    trace, now = Trace(), 1000
    for step in range(4):
        trace.slice("user_annotation", "ProfilerStep#%d" % step, now, 12000)
        trace.slice("cpu_op", "aten::normal_", now + 10, 7000)
        trace.launch(now + 7050, 5, now + 7060, 4800)
        trace.slice("cuda_runtime", "cudaDeviceSynchronize", now + 7060, 4850)
        now += 12000
    return trace, "host", "aten::normal_"


def preprocessed():
    """Images are prepared before the first kernel of the only step, by functions that are known for it with all they call."""
    trace = Trace()
    trace.slice("user_annotation", "ProfilerStep#3", 1000, 400000)
    trace.slice("python_function", "transformers/image_transforms.py(390): normalize", 1010, 200000)
    for i in range(20):
        trace.slice("python_function", "<built-in method astype of numpy.ndarray object at 0x7f00>", 1020 + 10000 * i, 9000)
    start = 202000
    for i in range(100):
        trace.slice("cpu_op", "aten::mm", 201500 + 20 * i, 18)
        trace.launch(201505 + 20 * i, 5, start, 1900)
        start += 1901
    trace.slice("cuda_runtime", "cudaDeviceSynchronize", 203600, start - 203600 + 10)
    return trace, "input", "image_transforms"


def held():
    """Work is launched, does not begin for 50 ms, and another thread of the program sits in a call that copies."""
    trace, now = Trace(), 1000
    for _ in range(5):
        trace.launch(now, 5, now + 20, 200)
        trace.launch(now + 10, 5, now + 60000, 9000, call="cudaGraphLaunch")
        trace.slice("user_annotation", "## sparse_data_dist ##", now + 20, 59000, tid=8)
        trace.slice("cuda_runtime", "cudaMemcpyAsync", now + 30, 58900, tid=8)
        for i in range(20):
            trace.slice("cpu_op", "aten::add", now + 100 + 40 * i, 30)
        now += 70000
    return trace, "sync", "cudaMemcpyAsync.*sparse_data_dist"


def captures():
    """Several graphs are captured one after another; between them a kernel runs."""
    trace, now = Trace(), 1000
    for _ in range(10):
        trace.slice("cuda_runtime", "hipStreamBeginCapture", now, 5)
        for i in range(100):
            trace.slice("cpu_op", "aten::mm", now + 10 + 90 * i, 80)
        trace.slice("cuda_runtime", "hipStreamEndCapture", now + 9100, 5)
        trace.launch(now + 9200, 5, now + 9210, 20)
        now += 9300
    return trace, "startup", "10 graphs are being captured"


def ending():
    """What is freed and unloaded after the last kernel is no waiting of the device."""
    trace, _, _ = compute_bound()
    end = max(event["ts"] + event["dur"] for event in trace.events)
    trace.slice("cuda_runtime", "cuModuleUnload", end + 10, 900000)
    return trace, "compute", "big_gemm_kernel"


def between_ranks():
    """Kernels of collectives are not what a device computes, though they are the longest here."""
    trace, now = Trace(), 1000
    for _ in range(30):
        trace.slice("cpu_op", "aten::mm", now, 40)
        trace.launch(now + 5, 5, now + 50, 3000, "gemm_a")
        trace.launch(now + 15, 5, now + 3051, 900, "gemm_b")
        trace.launch(now + 20, 5, now + 50, 3900, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", stream=9)
        now += 3955
    return trace, "compute", "most in gemm_a 77 %"


def helper_waits():
    """A helper thread waits all the time; the program itself computes."""
    trace = Trace()
    trace.slice("python_function", "threading.py(359): wait", 1000, 200000, tid=9)
    for i in range(100):
        trace.slice("python_function", "model.py(12): forward", 1000 + i * 2000, 1500)
        trace.slice("python_function", "model.py(20): norm", 2500 + i * 2000, 400)
    return trace, "cpu-only", "forward"


def own_waits():
    trace = Trace()
    for i in range(100):
        trace.slice("python_function", "threading.py(359): wait", 1000 + i * 2000, 1700)
        trace.slice("python_function", "model.py(20): norm", 2700 + i * 2000, 200)
    return trace, "idle", "threading.py.359.: wait"


def messages():
    trace = Trace()
    for i in range(30):
        trace.slice("cpu_op", "gloo:recv", 1000 + i * 1000, 700)
        trace.slice("cpu_op", "aten::add", 1700 + i * 1000, 200)
    return trace, "communication", "gloo:recv"


PLANTED = [compute_bound, launch_bound, first_calls, loader_stall, copies, communication, slow_host, one_pause, cpu_only, few,
           prepared, preprocessed, held, captures, ending, between_ranks, messages, helper_waits, own_waits]


class Program:
    """What a thread does, step by step, played on one device: calls take time, streams run in order, a wait ends when the
    device has nothing left. Played again with one thing changed it tells what the change wins. Microseconds."""
    CALL, LATENCY = 5, 4

    def __init__(self):
        self.trace, self.now, self.begin, self.free = Trace(), 1000, None, {}
        self.end = 0

    def cpu(self, name, length, cat="cpu_op"):
        if length > 0:
            self.trace.slice(cat, name, self.now, length)
        self.now += length

    def work(self, name, length, stream=7, after=None, call="cudaLaunchKernel", cat="kernel", **args):
        at = max(self.now + self.CALL + self.LATENCY, self.free.get(stream, 0), self.free.get(after, 0))
        self.trace.launch(self.now, self.CALL, at, length, name, call, stream, 0, cat, **args)
        self.now += self.CALL
        self.free[stream] = at + length
        self.begin = at if self.begin is None else self.begin
        self.end = max(self.end, at + length)

    def copy(self, kind, length, size, memory="Pinned", **more):
        host, device = (memory, "Device") if kind == "HtoD" else ("Device", memory)
        self.work("Memcpy %s (%s -> %s)" % (kind, host, device), length, call="cudaMemcpyAsync", cat="gpu_memcpy", bytes=size, **more)

    def wait(self, call="cudaDeviceSynchronize"):
        until = max([self.now + 2] + [free + 2 for free in self.free.values()])
        self.trace.slice("cuda_runtime", call, self.now, until - self.now)
        self.now = until

    def length(self):
        return self.end - self.begin if self.end else self.now - 1000


def waits(p, changed, cpu, device):
    """The CPU prepares each step only after it has waited for the one before."""
    for _ in range(40):
        p.cpu("aten::prepare", cpu)
        p.work("gemm_bf16", device)
        if not changed:
            p.wait()


def readback(p, changed, cpu, device):
    for _ in range(40):
        p.cpu("aten::prepare", cpu)
        p.work("gemm_bf16", device)
        if not changed:
            p.copy("DtoH", 2, 4)
            p.wait("cudaStreamSynchronize")


def copied(p, changed, device, length, memory="Pinned"):
    for _ in range(40):
        if not changed:
            p.copy("HtoD", length, length * 20000, memory)
        p.work("gemm_bf16", device)


def both_ways(p, changed, device, length):
    for _ in range(40):
        if not changed:
            p.copy("HtoD", length, length * 20000)
        p.work("gemm_bf16", device)
        if not changed:
            p.copy("DtoH", length // 2, length * 10000)


def fetched(p, changed, fetch, device):
    for _ in range(30):
        p.cpu("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 20 if changed else fetch, "user_annotation")
        p.work("gemm_bf16", device)


def dispatched(p, changed, op, device):
    for _ in range(400):
        p.cpu("aten::linear", 0 if changed else op)
        p.work("gemm_bf16", device)


def products(p, changed, length):
    """TF32: at best four times as fast here."""
    for _ in range(60):
        p.work("ampere_sgemm_128x64_tn" if not changed else "ampere_s1688gemm_tf32", length / 4 if changed else length)


def chains(p, changed, count, length):
    """`count` kernels in a row become one, which reads and writes once."""
    name = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int)"
    for _ in range(60):
        p.work("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_nn", 100)
        for _ in range(1 if changed else count):
            p.work(name, length)


def collectives(p, changed, device, length):
    """Beside the next product instead of after it."""
    for _ in range(40):
        p.work("gemm_bf16", device)
        p.work("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", length, stream=20, after=None if changed else 7)
        if not changed:
            p.free[7] = max(p.free[7], p.free[20])


def called(p, changed, call, length, device):
    """A call of the runtime before every kernel, while the device waits."""
    for _ in range(60):
        if not changed:
            p.cpu(call, length, "cuda_runtime")
        p.work("gemm_bf16", device)
        p.wait()


def allocated(p, changed, length, device):
    """cudaMalloc and cudaFree around every operator, as without a caching allocator."""
    for _ in range(300):
        p.cpu("aten::linear", 10)
        if not changed:
            p.cpu("cudaMalloc", length, "cuda_runtime")
        p.work("gemm_bf16", device)
        if not changed:
            p.cpu("cudaFree", length, "cuda_runtime")


def slow_launches(p, changed, length, device):
    p.CALL = 5 if changed else length
    for _ in range(300):
        p.work("gemm_bf16", device)


def there_and_back(p, changed, length, device):
    for _ in range(40):
        p.work("gemm_bf16", device)
        if not changed:
            p.copy("DtoH", length, length * 20000)
            p.copy("HtoD", length, length * 20000)


def many_copies(p, changed, count, device):
    """One copy takes as long as one of the many, and a little per byte."""
    for _ in range(40):
        for _ in range(1 if changed else count):
            p.copy("HtoD", 3, 4096)
        p.work("gemm_bf16", device)


def collected(p, changed, length, device):
    for i in range(60):
        p.cpu("gc.collect", 0 if changed or i % 3 else length, "python_function")
        p.cpu("step", 20, "python_function")
        p.work("gemm_bf16", device)
        p.wait()


def on_cpu(p, changed, name, length, rest):
    """One function of the main thread among others, gone, or (code of one's own) four times as fast; no device."""
    for i in range(60):
        for j in range(5):
            p.cpu("model.py(%d): part%d" % (10 * j, j), rest / 5, "python_function")
        p.cpu(name, length / 4 if changed and "augment" in name else 0 if changed else length, "python_function")


def saved(p, changed, every, length, rest):
    """Some steps of many save a checkpoint."""
    for i in range(60):
        begin = p.now
        p.cpu("model.py(3): forward", rest, "python_function")
        p.cpu("save.py(9): save", 0 if changed or i % every != every - 1 else length, "python_function")
        p.trace.slice("user_annotation", "ProfilerStep#%d" % i, begin, p.now - begin)


# cause, what is played, numbers; the last: how much more than what the change wins may be promised
EDITS = [(cause, play, numbers, 1.1) for cause, play, rows in (
    ("sync_calls", waits, ((100, 300), (300, 100), (50, 60), (400, 400))),
    ("item_scalar_readback", readback, ((80, 200), (200, 80), (150, 150))),
    ("h2d_in_critical_path", copied, ((200, 100), (100, 300), (400, 60))),
    ("h2d_in_critical_path", both_ways, ((200, 100), (100, 200))),
    ("dataloader_stall", fetched, ((2000, 500), (1500, 1000), (3000, 2000))),
    ("exposed_communication", collectives, ((200, 100), (100, 80), (300, 300))),
) for numbers in rows] + [
    ("h2d_in_critical_path", copied, (100, 200, "Pageable"), 1.1),
    ("cpu_dispatch_overhead", dispatched, (30, 10), 1.3), ("cpu_dispatch_overhead", dispatched, (60, 20), 1.3),
    ("cpu_dispatch_overhead", dispatched, (100, 15), 1.3),
    ("tensor_core_unused", products, (200,), 1.1), ("tensor_core_unused", products, (50,), 1.1),
    ("elementwise_not_fused", chains, (2, 60), 1.1), ("elementwise_not_fused", chains, (3, 40), 1.1),
    ("elementwise_not_fused", chains, (6, 30), 1.1)] + [
    (cause, play, numbers, 1.1) for cause, play, rows in (
        ("allocator_churn", called, (("cudaMalloc", 200, 300), ("cudaMalloc", 600, 200))),
        ("jit_compile_in_loop", called, (("cuModuleLoadDataEx", 2000, 300), ("cuModuleLoadDataEx", 500, 500))),
        ("caching_allocator_off", allocated, ((200, 300), (500, 200))),
        ("launch_api_slow", slow_launches, ((60, 30), (100, 50))),
        ("round_trip_copies", there_and_back, ((100, 300), (300, 200))),
        ("many_small_copies", many_copies, ((20, 60), (40, 100))),
        ("gc_pause", collected, ((2000, 300), (600, 200))),
        ("gc_pause", on_cpu, (("gc.collect", 600, 1000), ("gc.collect", 2000, 1000))),
        ("data_loading", on_cpu, (("dataloader.py(630): __next__", 600, 1000), ("dataloader.py(630): __next__", 3000, 1000))),
        ("lock_waits", on_cpu, (("<method 'acquire' of '_thread.lock' objects>", 700, 1000),)),
        ("io_waits", on_cpu, (("<method 'read' of '_io.BufferedReader' objects>", 700, 1000),)),
        ("cpu_hotspot", on_cpu, (("train.py(7): augment", 3000, 1000),)),
        ("periodic_outlier_steps", saved, ((10, 20000, 1000), (20, 60000, 1000)))) for numbers in rows]
