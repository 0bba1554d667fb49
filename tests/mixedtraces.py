"""Programs in Kineto's form that have something of everything: operators with shapes, kernels of all kinds, copies, waits, graphs, collectives,
memory, counters, Python frames, other threads and devices, events of every category. Numbers are drawn with a seed, and are the same on
every machine; whole microseconds mostly, many of them round, so that equal ones and bounds occur.

    path = write(folder, "mixed.json", seed)
    path = write_hosted(folder, "cpu.json", seed)       # on the CPU alone
    path = write_session(folder, "ort.json", seed)      # runs of a model by ONNX Runtime
    path = write_stacks(folder, "out.folded", seed)     # sampled stacks
    path = write_readings(folder, "smi.csv", seed)      # counters of accelerators
    slower = write(folder, "slower.json", seed, 110)    # the same program, whose kernels take 110 %
"""
import json
import os

OPS = [("aten::mm", [[64, 128], [128, 256]], "ampere_sgemm_128x64_tn"), ("aten::addmm", [[256], [64, 128], [128, 256]], "sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32"),
       ("aten::bmm", [[8, 64, 64], [8, 64, 64]], "cutlass_80_tensorop_s16816gemm_bf16_128x64_32x6_nn_align8"), ("aten::linear", [[64, 127], [255, 127]], "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n"),
       ("aten::convolution", [[2, 16, 32, 32], [32, 16, 3, 3]], "implicit_convolve_sgemm"), ("aten::native_layer_norm", [[64, 1024]], "vectorized_layer_norm_kernel"),
       ("aten::_softmax", [[64, 1024]], "softmax_warp_forward"), ("aten::gelu", [[64, 1024]], "vectorized_elementwise_kernel<4, GeluCUDAKernelImpl>"),
       ("aten::add", [[64, 1024], [64, 1024]], "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>>"), ("aten::mul", [[64, 1024], []], "unrolled_elementwise_kernel<MulFunctor>"),
       ("aten::_scaled_dot_product_flash_attention", [[2, 8, 64, 64]] * 3, "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>"), ("aten::embedding", [[50000, 64], [2, 64]], "indexSelectLargeIndex"),
       ("aten::index", [[64, 1024], [64]], "index_elementwise_kernel"), ("aten::sum", [[64, 1024]], "reduce_kernel<512, 1, ReduceOp<float>>"), ("aten::_foreach_add_", [[64, 64]], "multi_tensor_apply_kernel"),
       ("aten::native_dropout", [[64, 1024]], "fused_dropout_kernel_vec"), ("aten::transpose", [[64, 1024]], "batch_transpose_nchwToNhwc"), ("triton::fused", [[64, 1024]], "triton_poi_fused_add_mul_0"),
       ("aten::sort", [[4096]], "DeviceRadixSortOnesweepKernel"), ("vllm::paged_attention", [[8, 64]], "paged_attention_v1_kernel"), ("aten::matmul", [[64, 64], [64, 64]], "dgemm_kernel_fp64"),
       ("c10d::allreduce_", [[1 << 20]], "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"), ("c10d::_allgather_base_", [[1 << 18]], "ncclDevKernel_AllGather_RING_LL"),
       ("moe::topk", [[64, 8]], "moe_topk_gating_kernel"), ("fp8::scaled_mm", [[64, 64], [64, 64]], "sm90_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n")]
COPIES = [("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy"), ("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy"), ("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy"), ("Memcpy DtoH (Device -> Pinned)", "gpu_memcpy"),
          ("Memcpy DtoD (Device -> Device)", "gpu_memcpy"), ("Memcpy PtoP (Device -> Device)", "gpu_memcpy"), ("Memcpy HtoH (Pageable -> Pinned)", "gpu_memcpy"), ("Memset (Device)", "gpu_memset"), ("Memset (Unknown)", "gpu_memset")]
CALLS = ["cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize", "cudaMalloc", "cudaFree", "cudaHostAlloc", "cudaMallocAsync", "cudaEventRecord", "cudaStreamWaitEvent",
         "cudaModuleLoadData", "cuModuleLoadDataEx", "cudaGraphInstantiate", "cudaStreamBeginCapture", "hipDeviceSynchronize", "cudaFuncGetAttributes", "cudaEventQuery"]
RANGES = ["Optimizer.step#AdamW.step", "Optimizer.zero_grad#AdamW.zero_grad", "forward", "backward", "loss", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "prefill", "decode", "nn.Module: Linear_0",
          "execute_context_2(128)_generation_4(4)", "DistributedDataParallel.forward", "## Call CompiledFxGraph f ##", "Torch-Compiled Region: 0/0", "Iteration 3"]
CATEGORIES = ["cpu_op", "hpu_op", "python_function", "user_annotation", "cuda_runtime", "cuda_driver", "hip_runtime", "hip_driver", "xpu_runtime", "xpu_driver", "mtia_runtime", "glow_runtime", "privateuse1_runtime",
              "privateuse1_driver", "kernel", "privateuse1_kernel", "gpu_memcpy", "privateuse1_memcpy", "gpu_memset", "privateuse1_memset", "mtia_ccp_events", "mtia_insight", "mtia_workloadd", "cuda_profiler_range",
              "gpu_pm_counter", "cuda_sync", "cuda_event", "gpu_user_annotation", "collective_comm", "overhead", "Trace", "FEE", "fee", "Operator", "Runtime", "Kernel", "Memcpy", "Memset", "unknown"]
TYPES = ["float", "c10::Half", "c10::BFloat16", "double", "long int", "c10::Float8_e4m3fn"]
DEVICES = ["NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "AMD Instinct MI300X", "A card nobody knows"]


class Dice:
    """xorshift: the same numbers everywhere."""

    def __init__(self, seed):
        self.state = (seed * 0x9e3779b97f4a7c15 + 88172645463325252) & (1 << 64) - 1 or 1
        for _ in range(8):
            self.number(2)

    def number(self, sides):
        self.state ^= self.state << 13 & (1 << 64) - 1
        self.state ^= self.state >> 7
        self.state ^= self.state << 17 & (1 << 64) - 1
        return (self.state >> 16) % sides

    def of(self, choices):
        return choices[self.number(len(choices))]

    def one_in(self, times):
        return self.number(times) == 0


class Program:
    def __init__(self, seed, percent):
        self.dice, self.events, self.next, self.now, self.percent = Dice(seed), [], 1, 1000, percent
        self.devices = 1 + self.dice.one_in(3)
        self.free = {}  # when a stream is done
        self.bound = self.dice.of(["cpu", "gpu", "even"])
        self.kinds = [self.dice.of(OPS) for _ in range(3 + self.dice.number(9))]
        self.allocated, self.reserve = 1 << 28, self.dice.of([10, 11, 13, 15, 30])

    def put(self, cat, name, ts, dur, tid=10, pid=10, **args):
        event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur}
        self.events.append(dict(event, args=args) if args else event)

    def length(self):
        us = {"cpu": 3, "gpu": 90, "even": 25}[self.bound] * (1 + self.dice.number(4)) + (0 if self.dice.one_in(3) else self.dice.number(20))
        return us * self.percent // 100

    def work(self, cat, name, dur, stream=7, call="cudaLaunchKernel", tid=10, **args):
        """A launch at this moment and what it launches."""
        device = self.dice.number(self.devices) if self.dice.one_in(4) else 0
        start = max(self.free.get((device, stream), 0), self.now + 3 + self.dice.number(5))
        self.free[device, stream] = start + dur
        self.put("cuda_runtime", call, self.now, 2 + self.dice.number(4), tid, correlation=self.next, cbid=211, **{"External id": self.next})
        self.put(cat, name, start, dur, stream, device, device=device, context=1, stream=stream, correlation=self.next, **{"External id": self.next}, **args)
        if self.dice.one_in(5):
            self.events += [{"ph": "s", "id": self.next, "pid": 10, "tid": tid, "ts": self.now, "cat": "ac2g", "name": "ac2g"},
                            {"ph": "f", "id": self.next, "pid": device, "tid": stream, "ts": start, "cat": "ac2g", "name": "ac2g", "bp": "e"}]
        self.next += 1
        self.now += 5

    def op(self):
        name, dims, kernel = self.dice.of(self.kinds)
        begin, kind = self.now, self.dice.of(TYPES)
        self.now += 1 + self.dice.number(6 if self.bound != "cpu" else 40)
        tid = 11 if self.dice.one_in(6) else 10
        for _ in range(1 + self.dice.one_in(4)):
            more = {"theoretical occupancy": self.dice.of([0, 12, 50, 100])} if self.dice.one_in(2) else {"est. achieved occupancy %": self.dice.of([1, 24, 25, 26, 90])}
            nccl = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Group size": 2, "dtype": "Float"} if "nccl" in kernel else {}
            self.work("kernel", kernel, self.length(), 20 if "nccl" in kernel else 7 + self.dice.one_in(5), tid=tid, grid=[self.dice.of([1, 2, 32, 107, 108, 109, 216, 4000]), 1, 1],
                      block=[self.dice.of([32, 96, 128, 256, 1024]), 1, 1], **{"registers per thread": self.dice.of([16, 64, 255]), "shared memory": self.dice.of([0, 1024, 49152])}, **more, **nccl)
        self.put("cpu_op", name, begin, self.now - begin, tid, **{"External id": self.next, "Input Dims": dims, "Input type": [kind] * len(dims), "Sequence number": self.next})
        if self.dice.one_in(7):
            self.put("cpu_op", "aten::item", self.now, 30, **{"Input Dims": [[1]]})
            self.put("cpu_op", "aten::_local_scalar_dense", self.now + 1, 28)
            self.now += 2
            self.copy("Memcpy DtoH (Device -> Pageable)", "gpu_memcpy")
            self.put("cuda_runtime", "cudaStreamSynchronize", self.now, 20, correlation=self.next)
            self.now += 25

    def copy(self, name=None, cat=None):
        if name is None:
            name, cat = self.dice.of(COPIES)
        size = self.dice.of([4, 512, 65536, 1 << 20, 4 << 20])
        dur = max(1, size // self.dice.of([3000, 20000, 200000]))
        args = {"bytes": size, "memory bandwidth (GB/s)": size / dur / 1000}
        if "PtoP" in name:
            args.update({"fromDevice": 0, "inDevice": 0, "toDevice": 1})
        self.work(cat, name, dur, 7 if self.dice.one_in(2) else 14, "cudaMemcpyAsync" if cat == "gpu_memcpy" else "cudaMemsetAsync", **args)

    def call(self):
        name = self.dice.of(CALLS)
        dur = self.dice.of([2, 10, 50, 400])
        if "Synchronize" in name:
            dur = max(dur, max(self.free.values(), default=0) - self.now + 2)
        self.put("cuda_runtime", name, self.now, dur, correlation=self.next, **{"External id": self.next})
        if self.dice.one_in(2):
            self.put("cuda_sync", self.dice.of(["Stream Synchronize", "Context Sync", "Event Sync", "Stream Wait Event"]), self.now, dur, 7, 0, device=0, stream=7, correlation=self.next, wait_on_stream=14)
        self.next += 1
        self.now += dur

    def memory(self):
        size = self.dice.of([512, 2 << 20, 20 << 20, -512, -(2 << 20)])
        self.allocated += size
        self.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 10, "tid": 10, "ts": self.now,
                            "args": {"Total Reserved": self.allocated * self.reserve // 10, "Total Allocated": self.allocated, "Bytes": size, "Addr": self.next, "Device Id": 0, "Device Type": 1, "Ev Idx": self.next}})

    def graph(self):
        start = max(self.free.get((0, 7), 0), self.now + 8)
        self.put("cuda_runtime", "cudaGraphLaunch", self.now, 12, correlation=self.next)
        for i in range(2 + self.dice.number(5)):
            dur = self.length()
            self.put("kernel", self.dice.of(self.kinds)[2], start, dur, 7, 0, device=0, context=1, stream=7, correlation=self.next, **{"graph id": 3, "graph node id": 100 + i, "grid": [108, 1, 1], "block": [256, 1, 1]})
            start += dur + self.dice.number(3)
        self.free[0, 7] = start
        self.next += 1
        self.now += 14

    def odd(self):
        cat = self.dice.of(CATEGORIES)
        on_device = cat in ("kernel", "Kernel", "privateuse1_kernel", "mtia_ccp_events") or "mem" in cat.lower()
        start = max(self.free.get((0, 9), 0), self.now)
        self.put(cat, "odd %s" % cat, start if on_device else self.now, 3, 9 if on_device else 12, 0 if on_device else 10, device=0, stream=9, correlation=self.next, **{"External id": self.next, "bytes": 4096})
        self.free[0, 9] = start + 3 if on_device else self.free.get((0, 9), 0)
        self.next += 1

    def wait(self):
        self.now += self.dice.of([5, 50, 500, 3000])

    def piece(self):
        draw = self.dice.number(24)
        (self.op if draw < 12 else self.copy if draw < 15 else self.call if draw < 17 else self.memory if draw < 19 else self.graph if draw < 20 else self.odd if draw < 22 else self.wait)()

    def counters(self):
        self.events.append({"ph": "C", "cat": "gpu", "name": "GPU power (W)", "pid": 0, "tid": 0, "ts": self.now, "args": {"power": self.dice.of([100, 250, 399.5])}})

    def play(self):
        marks = self.dice.of(["ProfilerStep#%d", "iteration %d", None])
        python = self.dice.one_in(3)
        for step in range(3 + self.dice.number(7)):
            begin = self.now
            for _ in range(1 + self.dice.number(3)):
                inner, name = self.now, self.dice.of(RANGES)
                for _ in range(3 + self.dice.number(10)):
                    self.piece()
                self.put("user_annotation", name, inner, self.now - inner)
                if python:
                    self.put("python_function", "train.py(%d): %s" % (step % 3, name.split("#")[0]), inner, self.now - inner, **{"Python id": self.next, "Python parent id": None, "Python module id": 0})
            self.counters()
            if marks:
                self.put("user_annotation", marks % step, begin, self.now - begin)
            self.now += self.dice.of([0, 0, 1, 20, 900])
        if self.dice.one_in(2):
            self.put("overhead", "Buffer Flush", self.now, 300, 10)
        return self


def write(folder, name, seed, percent=100, rank=None):
    program = Program(seed, percent).play()
    properties = [{"id": i, "name": program.dice.of(DEVICES) if i == 0 else "NVIDIA A100-SXM4-80GB", "numSms": 108, "warpSize": 32, "maxThreadsPerMultiprocessor": 2048, "regsPerMultiprocessor": 65536,
                   "sharedMemPerMultiprocessor": 167936, "totalGlobalMem": 1 << 36, "computeMajor": 8} for i in range(program.devices)]
    document = {"schemaVersion": 1, "deviceProperties": properties, "record_shapes": 1, "traceEvents": program.events}
    if rank is not None or program.dice.one_in(3):
        document["distributedInfo"] = {"backend": "nccl", "rank": rank if rank is not None else program.dice.number(2), "world_size": 2 if rank is None else 3}
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(document))
    return path


# ---- programs without an accelerator ----

class Hosted(Program):
    """The same kinds of work, all of it on the CPU: operators within operators, Python, waits, other threads."""

    def op(self):
        name, dims, _ = self.dice.of(self.kinds)
        begin, tid, us = self.now, 11 if self.dice.one_in(5) else 10, self.length() * (40 if self.dice.one_in(30) else 1)
        inner = self.dice.number(us // 2 + 1)
        if inner:
            self.put("cpu_op", self.dice.of(["aten::empty", "aten::copy_", "aten::to", name]), begin + 1, inner, tid)
        self.put("cpu_op", name, begin, us + 2, tid, **{"Input Dims": dims, "Input type": ["float"] * len(dims)})
        self.now += us + 2 + self.dice.of([0, 0, 1, 30])

    def call(self):
        name = self.dice.of(["threading.py(320): wait", "<built-in method acquire of _thread.lock object>", "torch/utils/data/dataloader.py(630): __next__", "json/__init__.py(299): loads", "gc.collect", "socket.py(1): recv",
                             "train.py(7): step", "time.sleep"])
        us = self.dice.of([3, 40, 800])
        self.put("python_function", name, self.now, us, **{"Python id": self.next, "Python module id": 0})
        self.next += 1
        self.now += us

    copy = graph = call

    def odd(self):
        cat = self.dice.of(["python_function", "user_annotation", "overhead", "Trace", "unknown", "cpu_op", "collective_comm"])
        self.put(cat, "odd %s" % cat, self.now, 3, 12)
        self.now += 1


def write_hosted(folder, name, seed):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [], "record_shapes": 1, "traceEvents": Hosted(seed, 100).play().events}))
    return path


# ---- runs of a model, as ONNX Runtime records them ----

NODES = [("conv_%d", "Conv"), ("gemm_%d", "Gemm"), ("slice_%d", "Slice"), ("relu_%d", "Relu"), ("fused_%d", "TRTKernel_graph"), ("copy_%d", "MemcpyToHost"), ("loop_%d", "Loop"), ("matmul_%d", "MatMulNBits")]


def write_session(folder, name, seed):
    dice, now = Dice(seed), 1000
    nodes = [(text % i, kind, 10 * (1 + dice.number(60)), dice.of(["CPUExecutionProvider"] * 3 + ["CUDAExecutionProvider", "TensorrtExecutionProvider"])) for i, (text, kind) in
             enumerate(dice.of(NODES) for _ in range(2 + dice.number(6)))]
    lead, gap, shapes = dice.of([0, 0, 20, 500]), dice.of([0, 1, 40]), dice.of([0, 1, 2, 5])
    stalls, cold, slow, between = dice.of([0, 0, 20, 60]), dice.one_in(3), dice.of([0, 0, 4, 7]), dice.of([1, 1, 100, 2000])
    events = [{"cat": "Session", "pid": 1, "tid": 1, "dur": 100 + dice.number(9000), "ts": 1, "ph": "X", "name": text, "args": {}} for text in ("model_loading_uri", "session_initialization")]
    for number in range(1 + dice.number(45)):
        start, now = now, now + lead
        for node, kind, us, provider in nodes:
            us = us * (9 if cold and number == 0 else 1) * (5 if slow and number % slow == slow - 1 else 1) + dice.number(4)
            us += dice.of([50, 500, 5000]) if stalls and dice.one_in(stalls) else 0
            args = {"op_name": kind, "provider": provider, "node_index": "1", "output_size": str(dice.of([64, 4096])), "parameter_size": "128"}
            if shapes:
                args["input_type_shape"] = [{"float": [1, 64 * (1 + number % shapes)]}, {"float": [64, 64]}]
            if dice.one_in(2):
                events.append({"cat": "Node", "pid": 1, "tid": 1, "dur": 1, "ts": now, "ph": "X", "name": node + "_fence_before", "args": {"op_name": kind}})
            events.append({"cat": "Node", "pid": 1, "tid": 1, "dur": us, "ts": now, "ph": "X", "name": node + "_kernel_time", "args": args})
            now += us + gap
        for session in ("SequentialExecutor::Execute", "model_run"):
            events.append({"cat": "Session", "pid": 1, "tid": 1, "dur": now - start, "ts": start, "ph": "X", "name": session, "args": {}})
        now += between
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(events))
    return path


# ---- readings of accelerators ----

READINGS = ["utilization.gpu [%]", "utilization.memory [%]", "memory.used [MiB]", "power.draw [W]", "temperature.gpu", "clocks.sm [MHz]", "utilization.encoder [%]", "enc_util [%]", "dec_util [%]", "gpu_util [%]", "sm_active", "gr_engine_active",
            "my_dec_util", "busy", "fb_used [MiB]", "fan.speed [%]", "clocks_throttle_reasons.active", "pcie_rx [MB/s]", "temp_mem", "power.limit [W]"]


def write_readings(folder, name, seed):
    """As nvidia-smi writes them; columns in any order."""
    dice = Dice(seed)
    columns = list(dict.fromkeys(dice.of(READINGS) for _ in range(1 + dice.number(9))))
    lines = ["timestamp, index, " + ", ".join(columns)]
    usual = {(gpu, column): dice.of([0, 3, 55, 99.5, 100, 1284]) for gpu in range(2) for column in columns}
    devices, still = 1 + dice.one_in(3), dice.one_in(3)
    for k in range(2 + dice.number(30)):
        for gpu in range(devices):
            cells = ["[N/A]" if dice.one_in(25) else "%g" % (usual[gpu, column] + (0 if still else dice.number(4))) for column in columns]
            lines.append("2026/01/02 03:%02d:%02d.%d00, %d, %s" % (k // 60, k % 60, gpu, gpu, ", ".join(cells)))
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


# ---- stacks that were sampled ----

FRAMES = ["main", "train", "forward", "torch/nn/modules/linear.py:forward", "at::native::mm", "cblas_sgemm", "std::vector<float>::push_back", "_PyEval_EvalFrameDefault", "epoll_wait", "futex_wait", "pthread_cond_wait", "__libc_start_main",
          "malloc", "memcpy", "gc_collect_main", "read_[k]", "do_syscall_64_[k]", "native_write_msr_[k]", "schedule_[k]", "json.loads", "[unknown]", "0x7f0012", "worker.run (loader.py:12)", "PyObject_Call"]


def write_stacks(folder, name, seed):
    """Folded stacks, as flame graphs are made of; of some the threads are named."""
    dice = Dice(seed)
    frames, lines = [dice.of(FRAMES) for _ in range(4 + dice.number(12))], []
    threads = dice.of([[""], ["python;", "pt_autograd_0;"], ["python-12/12;", "python-12/13;", "loader-14/14;"]])
    for _ in range(1 + dice.number(60)):
        stack = [dice.of(frames) for _ in range(1 + dice.number(7))]
        lines.append("%s%s %d" % (dice.of(threads), ";".join(stack), dice.of([1, 1, 2, 10, 100, 1000])))
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    return path


# ---- names of kernels ----

def write_names(folder, name, names):
    """A kernel of each name and of six names that differ in one place, each of another length of time."""
    told = list(names)
    for number, text in enumerate(names):
        dice = Dice(number + 1)
        for _ in range(6):
            at, what = dice.number(len(text)), dice.number(4)
            part = text[at:at + 1 + dice.number(6)]
            told.append(text[:at] + text[at + len(part):] if what == 0 else text[:at] + dice.of("<>,:(_ 1xN*&") + text[at:] if what == 1 else
                        text[:at] + part.swapcase() + text[at + len(part):] if what == 2 else text[:at])
    events = [{"ph": "X", "cat": "kernel", "name": text, "pid": 0, "tid": 7, "ts": 10000 * k, "dur": 9000 - k, "args": {"device": 0, "stream": 7}} for k, text in enumerate(dict.fromkeys(filter(None, told)))]
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return path
