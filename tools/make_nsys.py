#!/usr/bin/env python3
"""make_nsys.py OUT.sqlite [options]: a small database in the shape of an Nsight Systems export.

Everything is made up but follows the schemas of real exports, release by release (--era). The same
options give the same rows. Prints the number of rows of every event table as JSON.

A run of the made-up program: each rank (a process) uses one GPU and repeats a step of `forward`,
`backward` and `optimizer`; every kernel has its launch call; each step ends in a copy back and a
synchronisation, and in an all-reduce on a stream of its own when there are several ranks.
"""
import argparse
import json
import os
import sqlite3
import sys

ERAS = ["2021", "2.9", "3.0", "3.4", "3.7", "3.11", "3.17", "3.24", "3.25"]
VERSIONS = {"2021": None, "2.9": ("2.9.1", "2022.1.3.18"), "3.0": ("3.0.0", "2022.4.2.1"),
            "3.4": ("3.4.0", "2023.3.3.42"), "3.7": ("3.7.2", "2023.4.4.54"),
            "3.11": ("3.11.1", "2024.2.3.38"), "3.17": ("3.17.2", "2025.1.3.140"),
            "3.24": ("3.24.0", "2025.5.2.266"), "3.25": ("3.25.0", "2026.2.1.210")}

# table: [(column, type, first era it is in)], as the exports declare them.
SCHEMA = {
    "StringIds": [("id", "INTEGER NOT NULL PRIMARY KEY", "2021"), ("value", "TEXT NOT NULL", "2021")],
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("deviceId", "INTEGER NOT NULL", "2021"), ("contextId", "INTEGER NOT NULL", "2021"),
        ("greenContextId", "INTEGER", "3.11"), ("streamId", "INTEGER NOT NULL", "2021"),
        ("correlationId", "INTEGER", "2021"), ("globalPid", "INTEGER", "2021"),
        ("demangledName", "INTEGER NOT NULL", "2021"), ("shortName", "INTEGER NOT NULL", "2021"),
        ("mangledName", "INTEGER", "2.9"), ("launchType", "INTEGER", "2021"),
        ("cacheConfig", "INTEGER", "2021"), ("registersPerThread", "INTEGER NOT NULL", "2021"),
        ("gridX", "INTEGER NOT NULL", "2021"), ("gridY", "INTEGER NOT NULL", "2021"),
        ("gridZ", "INTEGER NOT NULL", "2021"), ("blockX", "INTEGER NOT NULL", "2021"),
        ("blockY", "INTEGER NOT NULL", "2021"), ("blockZ", "INTEGER NOT NULL", "2021"),
        ("staticSharedMemory", "INTEGER NOT NULL", "2021"),
        ("dynamicSharedMemory", "INTEGER NOT NULL", "2021"),
        ("localMemoryPerThread", "INTEGER NOT NULL", "2021"),
        ("localMemoryTotal", "INTEGER NOT NULL", "2021"), ("gridId", "INTEGER NOT NULL", "2021"),
        ("sharedMemoryExecuted", "INTEGER", "2021"), ("graphNodeId", "INTEGER", "2021"),
        ("sharedMemoryLimitConfig", "INTEGER", "2021"), ("graphId", "INTEGER", "3.24"),
        ("clusterX", "INTEGER", "3.24"), ("clusterY", "INTEGER", "3.24"),
        ("clusterZ", "INTEGER", "3.24"), ("tensorSizeMinusOneElements", "TEXT NOT NULL", "3.25")],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("eventClass", "INTEGER NOT NULL", "2021"), ("globalTid", "INTEGER", "2021"),
        ("correlationId", "INTEGER", "2021"), ("nameId", "INTEGER NOT NULL", "2021"),
        ("returnValue", "INTEGER NOT NULL", "2021"), ("callchainId", "INTEGER", "2021")],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("deviceId", "INTEGER NOT NULL", "2021"), ("contextId", "INTEGER NOT NULL", "2021"),
        ("greenContextId", "INTEGER", "3.11"), ("streamId", "INTEGER NOT NULL", "2021"),
        ("correlationId", "INTEGER", "2021"), ("globalPid", "INTEGER", "2021"),
        ("bytes", "INTEGER NOT NULL", "2021"), ("copyKind", "INTEGER NOT NULL", "2021"),
        ("srcKind", "INTEGER", "2021"), ("dstKind", "INTEGER", "2021"),
        ("srcDeviceId", "INTEGER", "2021"), ("dstDeviceId", "INTEGER", "2021"),
        ("graphNodeId", "INTEGER", "2021"), ("copyCount", "INTEGER", "3.17")],
    "CUPTI_ACTIVITY_KIND_MEMSET": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("deviceId", "INTEGER NOT NULL", "2021"), ("contextId", "INTEGER NOT NULL", "2021"),
        ("streamId", "INTEGER NOT NULL", "2021"), ("correlationId", "INTEGER", "2021"),
        ("globalPid", "INTEGER", "2021"), ("value", "INTEGER NOT NULL", "2021"),
        ("bytes", "INTEGER NOT NULL", "2021"), ("memKind", "INTEGER", "2021")],
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("deviceId", "INTEGER NOT NULL", "2021"), ("contextId", "INTEGER NOT NULL", "2021"),
        ("streamId", "INTEGER NOT NULL", "2021"), ("correlationId", "INTEGER", "2021"),
        ("globalPid", "INTEGER", "2021"), ("syncType", "INTEGER NOT NULL", "2021"),
        ("eventId", "INTEGER NOT NULL", "2021"), ("eventSyncId", "INTEGER", "3.24")],
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": [
        ("timestamp", "INTEGER", "3.24"), ("deviceId", "INTEGER NOT NULL", "2.9"),
        ("contextId", "INTEGER NOT NULL", "2.9"), ("streamId", "INTEGER NOT NULL", "2.9"),
        ("correlationId", "INTEGER", "2.9"), ("globalPid", "INTEGER", "2.9"),
        ("eventId", "INTEGER NOT NULL", "2.9")],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": [
        ("start", "INTEGER NOT NULL", "3.11"), ("end", "INTEGER NOT NULL", "3.11"),
        ("deviceId", "INTEGER NOT NULL", "3.11"), ("contextId", "INTEGER NOT NULL", "3.11"),
        ("streamId", "INTEGER NOT NULL", "3.11"), ("correlationId", "INTEGER", "3.11"),
        ("globalPid", "INTEGER", "3.11"), ("graphId", "INTEGER NOT NULL", "3.11"),
        ("graphExecId", "INTEGER NOT NULL", "3.11")],
    "CUDA_GRAPH_NODE_EVENTS": [
        ("start", "INTEGER NOT NULL", "3.11"), ("end", "INTEGER NOT NULL", "3.11"),
        ("eventClass", "INTEGER NOT NULL", "3.11"), ("globalTid", "INTEGER", "3.11"),
        ("nameId", "INTEGER NOT NULL", "3.11"), ("graphNodeId", "INTEGER NOT NULL", "3.11"),
        ("originalGraphNodeId", "INTEGER", "3.11")],
    "NVTX_EVENTS": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER", "2021"),
        ("eventType", "INTEGER NOT NULL", "2021"), ("rangeId", "INTEGER", "2021"),
        ("category", "INTEGER", "2021"), ("color", "INTEGER", "2021"), ("text", "TEXT", "2021"),
        ("globalTid", "INTEGER", "2021"), ("endGlobalTid", "INTEGER", "2021"),
        ("textId", "INTEGER", "2021"), ("domainId", "INTEGER", "2021"),
        ("uint64Value", "INTEGER", "2021"), ("int64Value", "INTEGER", "2021"),
        ("doubleValue", "REAL", "2021"), ("uint32Value", "INTEGER", "2021"),
        ("int32Value", "INTEGER", "2021"), ("floatValue", "REAL", "2021"),
        ("jsonTextId", "INTEGER", "2021"), ("jsonText", "TEXT", "2021"),
        ("binaryData", "TEXT", "3.17")],
    "OSRT_API": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("eventClass", "INTEGER NOT NULL", "2021"), ("globalTid", "INTEGER", "2021"),
        ("nameId", "INTEGER NOT NULL", "2021"), ("returnValue", "INTEGER NOT NULL", "2021"),
        ("nestingLevel", "INTEGER", "2021"), ("callchainId", "INTEGER NOT NULL", "2021")],
    "PROFILER_OVERHEAD": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("globalTid", "INTEGER", "2021"), ("nameId", "INTEGER NOT NULL", "2021"),
        ("returnValue", "INTEGER NOT NULL", "2021")],
    "CUPTI_ACTIVITY_KIND_OVERHEAD": [
        ("start", "INTEGER NOT NULL", "3.24"), ("end", "INTEGER NOT NULL", "3.24"),
        ("eventClass", "INTEGER NOT NULL", "3.24"), ("globalTid", "INTEGER", "3.24"),
        ("correlationId", "INTEGER", "3.24"), ("nameId", "INTEGER", "3.24"),
        ("overheadType", "INTEGER NOT NULL", "3.24")],
    "CUBLAS_EVENTS": [
        ("start", "INTEGER NOT NULL", "2021"), ("end", "INTEGER NOT NULL", "2021"),
        ("eventClass", "INTEGER NOT NULL", "2021"), ("globalTid", "INTEGER", "2021"),
        ("nameId", "INTEGER NOT NULL", "2021")],
    "SCHED_EVENTS": [
        ("start", "INTEGER NOT NULL", "2021"), ("cpu", "INTEGER NOT NULL", "2021"),
        ("isSchedIn", "INTEGER NOT NULL", "2021"), ("globalTid", "INTEGER", "2021")],
    "GPU_CONTEXT_SWITCH_EVENTS": [
        ("tag", "INTEGER NOT NULL", "2021"), ("vmId", "INTEGER NOT NULL", "2021"),
        ("seqNo", "INTEGER NOT NULL", "2021"), ("contextId", "INTEGER NOT NULL", "2021"),
        ("timestamp", "INTEGER NOT NULL", "2021"), ("globalPid", "INTEGER", "2021"),
        ("gpuId", "INTEGER", "2021")],
    "COMPOSITE_EVENTS": [
        ("id", "INTEGER NOT NULL PRIMARY KEY", "2021"), ("start", "INTEGER NOT NULL", "2021"),
        ("cpu", "INTEGER", "2021"), ("threadState", "INTEGER", "2021"),
        ("globalTid", "INTEGER", "2021"), ("cpuCycles", "INTEGER NOT NULL", "2021")],
    "SAMPLING_CALLCHAINS": [
        ("id", "INTEGER NOT NULL", "2021"), ("symbol", "INTEGER NOT NULL", "2021"),
        ("module", "INTEGER NOT NULL", "2021"), ("unresolved", "INTEGER", "2021"),
        ("stackDepth", "INTEGER NOT NULL", "2021"), (None, "PRIMARY KEY (id, stackDepth)", "2021")],
    "GPU_METRICS": [
        ("timestamp", "INTEGER", "2.9"), ("typeId", "INTEGER NOT NULL", "2.9"),
        ("metricId", "INTEGER NOT NULL", "2.9"), ("value", "INTEGER NOT NULL", "2.9")],
    "TARGET_INFO_GPU_METRICS": [
        ("typeId", "INTEGER NOT NULL", "2.9"), ("sourceId", "INTEGER NOT NULL", "2.9"),
        ("typeName", "TEXT NOT NULL", "2.9"), ("metricId", "INTEGER NOT NULL", "2.9"),
        ("metricName", "TEXT NOT NULL", "2.9")],
    "CUDA_GPU_MEMORY_USAGE_EVENTS": [
        ("start", "INTEGER NOT NULL", "2.9"), ("globalPid", "INTEGER NOT NULL", "2.9"),
        ("deviceId", "INTEGER NOT NULL", "2.9"), ("contextId", "INTEGER NOT NULL", "2.9"),
        ("address", "INTEGER NOT NULL", "2.9"), ("pc", "INTEGER NOT NULL", "2.9"),
        ("bytes", "INTEGER NOT NULL", "2.9"), ("memKind", "INTEGER NOT NULL", "2.9"),
        ("memoryOperationType", "INTEGER NOT NULL", "2.9"), ("name", "TEXT", "2.9")],
    "MPI_COLLECTIVES_EVENTS": [
        ("start", "INTEGER NOT NULL", "2.9"), ("end", "INTEGER", "2.9"),
        ("globalTid", "INTEGER", "2.9"), ("textId", "INTEGER", "2.9"),
        ("commHandle", "INTEGER", "2.9"), ("rootRank", "INTEGER", "2.9"),
        ("size", "INTEGER", "2.9"), ("recvSize", "INTEGER", "2.9")],
    "MPI_RANKS": [("globalTid", "INTEGER", "2.9"), ("rank", "INTEGER", "2.9")],
    "DIAGNOSTIC_EVENT": [
        ("timestamp", "INTEGER NOT NULL", "3.11"), ("timestampType", "INTEGER NOT NULL", "3.11"),
        ("source", "INTEGER NOT NULL", "3.11"), ("severity", "INTEGER NOT NULL", "3.11"),
        ("text", "TEXT NOT NULL", "3.11"), ("globalPid", "INTEGER", "3.11")],
    "PROCESSES": [("globalPid", "INTEGER", "2.9"), ("pid", "INTEGER", "2.9"), ("name", "TEXT", "2.9")],
    "ThreadNames": [("nameId", "INTEGER NOT NULL", "2021"), ("priority", "INTEGER", "2021"),
                    ("globalTid", "INTEGER", "2021")],
    "TARGET_INFO_SESSION_START_TIME": [("utcEpochNs", "INTEGER", "2021"), ("utcTime", "TEXT", "2021"),
                                       ("localTime", "TEXT", "2021")],
    "TARGET_INFO_SYSTEM_ENV": [
        ("globalVid", "INTEGER", "2021"), ("devStateName", "TEXT NOT NULL", "2021"),
        ("name", "TEXT NOT NULL", "2021"), ("nameEnum", "INTEGER NOT NULL", "2021"),
        ("value", "TEXT NOT NULL", "2021")],
    "TARGET_INFO_GPU": [
        ("vmId", "INTEGER NOT NULL", "2021"), ("id", "INTEGER NOT NULL", "2021"),
        ("name", "TEXT", "2021"), ("busLocation", "TEXT", "2021"), ("isDiscrete", "INTEGER", "2021"),
        ("totalMemory", "INTEGER", "2021"), ("memoryBandwidth", "INTEGER", "2021"),
        ("clockRate", "INTEGER", "2021"), ("smCount", "INTEGER", "2021"), ("uuid", "TEXT", "2021"),
        ("cuDevice", "INTEGER", "2021"), ("threadsPerWarp", "INTEGER", "2021"),
        ("maxWarpsPerSm", "INTEGER", "2021"), ("computeMajor", "INTEGER", "2021"),
        ("computeMinor", "INTEGER", "2021")],
    "TARGET_INFO_CUDA_DEVICE": [("gpuId", "INTEGER", "3.17"), ("cudaId", "INTEGER NOT NULL", "3.17"),
                                ("pid", "INTEGER NOT NULL", "3.17")],
    "ANALYSIS_DETAILS": [
        ("globalVid", "INTEGER NOT NULL", "2.9"), ("duration", "INTEGER NOT NULL", "2.9"),
        ("startTime", "INTEGER NOT NULL", "2.9"), ("stopTime", "INTEGER NOT NULL", "2.9")],
}
for _enum in ("ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND", "ENUM_CUPTI_SYNC_TYPE",
              "ENUM_NSYS_EVENT_TYPE"):
    SCHEMA[_enum] = [("id", "INTEGER NOT NULL PRIMARY KEY", "3.0"), ("name", "TEXT", "3.0"),
                     ("label", "TEXT", "3.0")]
ENUMS = {
    "ENUM_CUDA_MEMCPY_OPER": [
        (0, "CUDA_MEMCPY_KIND_UNKNOWN", "Unknown"), (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"), (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
        (10, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer")],
    "ENUM_CUDA_MEM_KIND": [
        (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device")],
    "ENUM_CUPTI_SYNC_TYPE": [
        (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"),
        (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"),
        (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"),
        (4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync")],
    "ENUM_NSYS_EVENT_TYPE": [
        (33, "NvtxCategory", "NvtxCategory"), (34, "NvtxMark", "NvtxMark"),
        (39, "NvtxThread", "NvtxThread"), (59, "NvtxPushPopRange", "NvtxPushPopRange"),
        (60, "NvtxStartEndRange", "NvtxStartEndRange"),
        (75, "NvtxDomainCreate", "NvtxDomainCreate")],
}

KERNELS = [
    ("void cutlass::gemm<float, (int)128, (int)64>(T1 *, const T1 *, const T1 *)", "gemm", 180_000),
    ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::AddFunctor<float>>(int)",
     "vectorized_elementwise_kernel", 6_000),
    ("void at::native::reduce_kernel<(int)512, (int)1, at::native::MeanOps<float>>(T3)",
     "reduce_kernel", 11_000),
    ("void softmax_warp_forward<float, float, float, (int)10>(T2 *, const T1 *, int)",
     "softmax_warp_forward", 24_000)]


class Maker:
    """Collects rows per table; writes those that the era has."""

    def __init__(self, options):
        self.options = options
        self.era = ERAS.index(options.era)
        self.rows = {}
        self.strings = {}
        self.state = options.seed * 2 + 1

    def random(self, bound):
        """0 <= n < bound, the same on every machine."""
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & (2 ** 64 - 1)
        return (self.state >> 33) % bound

    def text(self, value):
        if self.options.inline_text:
            return value
        return self.strings.setdefault(value, len(self.strings))

    def add(self, table, **values):
        self.rows.setdefault(table, []).append(values)

    def columns(self, table):
        return [c for c in SCHEMA[table] if ERAS.index(c[2]) <= self.era]

    def write(self, path):
        for value, number in self.strings.items():
            self.add("StringIds", id=number, value=value)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA page_size=%d" % self.options.page_size)
        if self.options.utf16:
            db.execute("PRAGMA encoding='UTF-16le'")
        db.execute("PRAGMA journal_mode=%s" % ("wal" if self.options.wal else "off"))
        db.execute("BEGIN")
        for table in list(SCHEMA) + ["META_DATA_EXPORT", "EXPORT_META_DATA", "META_DATA_CAPTURE"]:
            if table not in SCHEMA:
                SCHEMA[table] = [("name", "TEXT NOT NULL", "2021"), ("value", "TEXT", "2021")]
            columns = self.columns(table)
            rows = self.rows.get(table, [])
            if not columns or (not rows and not self.options.eager):
                continue
            db.execute('CREATE TABLE "%s" (\n    -- Made up.\n\n    %s\n)%s' % (
                table, ",\n    ".join(('"%s" %s' % c[:2]) if c[0] else c[1] for c in columns),
                " WITHOUT ROWID" if self.options.without_rowid and table == "SAMPLING_CALLCHAINS"
                else ""))
            names = [c[0] for c in columns if c[0]]
            db.executemany('INSERT INTO "%s" VALUES (%s)' % (table, ",".join("?" * len(names))),
                           [[row.get(n, 0 if "NOT NULL" in c[1] and "INTEGER" in c[1] else
                                     "[]" if "NOT NULL" in c[1] else None)
                             for n, c in zip(names, columns)] for row in rows])
        db.execute("COMMIT")
        if self.options.wal:
            # Left as a program that is still writing leaves it: rows in the log only.
            os._exit(self.finish(path, db))
        counts = self.counts(db)
        db.close()
        return counts

    @staticmethod
    def counts(db):
        tables = [r[0] for r in db.execute("SELECT name FROM sqlite_master WHERE type='table'")]
        return {t: db.execute('SELECT count(*) FROM "%s"' % t).fetchone()[0] for t in tables}

    def finish(self, path, db):
        print(json.dumps(self.counts(db), sort_keys=True))
        sys.stdout.flush()
        return 0


class Rank:
    """One process with its GPU: clocks of its thread and of its streams."""

    def __init__(self, maker, rank):
        options = maker.options
        self.maker, self.rank = maker, rank
        self.pid = 4000 + rank * 10
        self.process = (1 << 48) | (self.pid << 24)
        self.thread = self.process | self.pid
        self.helper = self.process | (self.pid + 1)
        self.gpu = rank % options.gpus
        # One visible GPU per process, as launchers set it, or all of them.
        self.device = 0 if options.visible == "one" else self.gpu
        self.cpu_time = 1_000_000 + rank * 777
        self.free = {7: 0, 13: 0}
        self.correlation = 100
        self.graph_node = 1 << 32

    def api(self, name, length, result=0):
        self.correlation += 1
        start = self.cpu_time
        self.cpu_time += length
        self.maker.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=self.cpu_time,
                       globalTid=self.thread, correlationId=self.correlation,
                       nameId=self.maker.text(name), returnValue=result)
        self.cpu_time += 500
        return start

    def where(self, stream):
        return dict(deviceId=self.device, contextId=1, streamId=stream, globalPid=self.process,
                    correlationId=self.correlation)

    def device_time(self, stream, launched, length):
        start = max(self.free[stream], launched + 3_000)
        self.free[stream] = start + length
        return dict(start=start, end=start + length)

    def kernel(self, name, short, length, stream=7, launched=None, **more):
        if launched is None:
            launched = self.api("cudaLaunchKernel_v7000", 4_000 + self.maker.random(1_000))
        self.maker.add("CUPTI_ACTIVITY_KIND_KERNEL", **self.where(stream),
                       **self.device_time(stream, launched, length + self.maker.random(500)),
                       demangledName=self.maker.text(name), shortName=self.maker.text(short),
                       mangledName=self.maker.text(short), registersPerThread=40, gridX=80, gridY=2,
                       gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=1024,
                       dynamicSharedMemory=0, launchType=1, **more)

    def copy(self, kind, size, src, dst):
        launched = self.api("cudaMemcpyAsync_v3020", 6_000)
        self.maker.add("CUPTI_ACTIVITY_KIND_MEMCPY", **self.where(7),
                       **self.device_time(7, launched, 2_000 + size // 20), bytes=size, copyKind=kind,
                       srcKind=src, dstKind=dst, srcDeviceId=self.device, dstDeviceId=self.device)

    def wait(self):
        start = self.cpu_time
        end = max(start + 2_000, self.free[7] + 1_000, self.free[13])
        self.api("cudaStreamSynchronize_v3020", end - start)
        self.maker.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=start + 100, end=end - 100,
                       **self.where(7), syncType=3, eventId=4294967295)

    def range(self, name, start, registered=False, **more):
        named = dict(textId=self.maker.text(name)) if registered and not \
            self.maker.options.inline_text else dict(text=name)
        values = dict(start=start, end=self.cpu_time, eventType=59, globalTid=self.thread, domainId=0)
        values.update(named)
        values.update(more)
        self.maker.add("NVTX_EVENTS", **values)

    def graph(self, count):
        options = self.maker.options
        launched = self.api("cudaGraphLaunch_v10000", 9_000)
        if options.graph == "graph":
            self.maker.add("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", **self.where(7),
                           **self.device_time(7, launched, 40_000 * count), graphId=1, graphExecId=2)
            return
        for i in range(count):
            name, short, length = KERNELS[i % len(KERNELS)]
            self.kernel(name, short, length, launched=launched, graphNodeId=self.graph_node + i,
                        graphId=1)

    def step(self, index, kernels):
        options = self.maker.options
        begin = self.cpu_time
        self.copy(1, 1_048_576, 0, 2)
        for part in ("forward", "backward", "optimizer"):
            part_begin = self.cpu_time
            if options.graph != "none" and part == "forward":
                self.graph(kernels)
            else:
                for _ in range(kernels):
                    self.kernel(*KERNELS[self.maker.random(len(KERNELS))])
            if options.nvtx:
                self.range(part, part_begin, registered=True)
        self.maker.add("CUPTI_ACTIVITY_KIND_MEMSET", **self.where(7),
                       **self.device_time(7, self.api("cudaMemsetAsync_v3020", 3_000), 1_500),
                       value=0, bytes=65_536, memKind=2)
        if options.ranks > 1:
            self.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned "
                        "long)4096>)", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 90_000, stream=13)
        self.copy(2, 4_096, 2, 1)
        self.wait()
        if options.nvtx:
            self.range("step %d" % index, begin, uint64Value=index)
        return begin

    def extras(self, index, begin):
        options, add, text = self.maker.options, self.maker.add, self.maker.text
        end = self.cpu_time
        if options.nvtx:
            self.range("load batch", begin, eventType=60, rangeId=index, domainId=1,
                       endGlobalTid=self.helper, color=0xFF00FF00, category=2)
            self.range("checkpoint", end, eventType=34, end=None, doubleValue=0.5)
        if options.osrt:
            add("OSRT_API", start=begin + 200, end=begin + 9_000, eventClass=27, globalTid=self.helper,
                nameId=text("poll"))
        if options.sched:
            add("SCHED_EVENTS", start=begin, cpu=self.rank, isSchedIn=1, globalTid=self.thread)
            add("SCHED_EVENTS", start=end, cpu=self.rank, isSchedIn=0, globalTid=self.thread)
            sample = len(self.maker.rows.get("COMPOSITE_EVENTS", [])) + 1
            add("COMPOSITE_EVENTS", id=sample, start=begin + 50, cpu=self.rank, globalTid=self.thread,
                threadState=1, cpuCycles=1_000)
            for depth, symbol in enumerate(["work%d" % (index % 3), "train", "main"]):
                add("SAMPLING_CALLCHAINS", id=sample, symbol=text(symbol), module=text("/usr/bin/app"),
                    stackDepth=depth)
        if options.metrics:
            for metric in range(2):
                for k in range(4):
                    add("GPU_METRICS", timestamp=begin + k * (end - begin) // 4, typeId=self.gpu,
                        metricId=metric, value=self.maker.random(100))
        if options.memory:
            for operation, moment in ((0, begin), (1, end)):
                add("CUDA_GPU_MEMORY_USAGE_EVENTS", start=moment, globalPid=self.process,
                    deviceId=self.device, contextId=1, address=0x7F0000000000 + index * 4096,
                    bytes=4_096, memKind=2, memoryOperationType=operation)
        if options.mpi:
            add("MPI_COLLECTIVES_EVENTS", start=begin + 10, end=begin + 5_000, globalTid=self.thread,
                textId=text("MPI_Allreduce"), size=4_096)
        add("PROFILER_OVERHEAD", start=end, end=end + 300, globalTid=self.thread,
            nameId=text("Buffer flush"))
        add("CUPTI_ACTIVITY_KIND_OVERHEAD", start=end, end=end + 200, globalTid=self.thread,
            nameId=None, overheadType=3)
        add("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **self.where(7), eventId=index,
            timestamp=end if options.era == "3.25" else 0)


def describe(maker, ranks):
    """What is in the file beside the events."""
    options, add = maker.options, maker.add
    for table, rows in ENUMS.items():
        for number, name, label in rows:
            add(table, id=number, name=name, label=label)
    for gpu in range(options.gpus):
        add("TARGET_INFO_GPU", id=gpu, name="Made-up GPU", busLocation="0000:0%d:00.0" % (gpu + 1),
            isDiscrete=1, totalMemory=25_769_803_776, memoryBandwidth=936_000_000_000,
            clockRate=1_695_000_000, smCount=82, uuid="0000-%d" % gpu, cuDevice=gpu,
            threadsPerWarp=32, maxWarpsPerSm=48, computeMajor=8, computeMinor=6)
        if options.metrics:
            for metric, name in enumerate(["SMs Active [Throughput %]", "GPC Clock Frequency [MHz]"]):
                add("TARGET_INFO_GPU_METRICS", typeId=gpu, typeName="GPU Metrics", metricId=metric,
                    metricName=name)
    for rank in ranks:
        add("TARGET_INFO_CUDA_DEVICE", gpuId=rank.gpu, cudaId=rank.device, pid=rank.pid)
        add("PROCESSES", globalPid=rank.process, pid=rank.pid, name="python3")
        add("ThreadNames", nameId=maker.text("python3"), priority=20, globalTid=rank.thread)
        add("ThreadNames", nameId=maker.text("main thread"), priority=30, globalTid=rank.thread)
        add("ThreadNames", nameId=maker.text("worker"), priority=20, globalTid=rank.helper)
        if options.mpi:
            add("MPI_RANKS", globalTid=rank.thread, rank=rank.rank)
        if options.nvtx:
            add("NVTX_EVENTS", start=-5, eventType=75, text="Data", globalTid=rank.thread, domainId=1)
            add("NVTX_EVENTS", start=-4, eventType=33, text="input", globalTid=rank.thread, domainId=1,
                category=2)
    add("PROCESSES", globalPid=1 << 48 | 1 << 24, pid=1, name="init")
    add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=1_700_000_000_000_000_000,
        utcTime="2023-11-14T22:13:20", localTime="2023-11-14T22:13:20")
    for name, value in (("OsDescription", "Made-up OS 1"), ("Hostname", "secret-host"),
                        ("CpuDescription", "Made-up CPU"), ("NvDriverVersion", "550.1"),
                        ("DeviceEnvironment", "API_TOKEN=hunter2")):
        add("TARGET_INFO_SYSTEM_ENV", devStateName="target", name=name, value=value)
    add("ANALYSIS_DETAILS", globalVid=1 << 48, duration=max(r.cpu_time for r in ranks),
        stopTime=max(r.cpu_time for r in ranks))
    add("DIAGNOSTIC_EVENT", timestampType=1, source=1, severity=1, text="Profiling has started.")
    add("DIAGNOSTIC_EVENT", timestampType=1, source=3, severity=2,
        text="Not all CUDA events might have been collected.")
    version = VERSIONS[options.era]
    if version:
        table = "META_DATA_EXPORT" if maker.era >= ERAS.index("3.4") else "EXPORT_META_DATA"
        for name, value in (("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                            ("EXPORT_PRODUCT_VERSION", version[1]),
                            ("EXPORT_SCHEMA_VERSION", version[0]), ("EXPORT_HOST", "secret-host"),
                            ("EXPORT_USER", "secret-user"), ("EXPORT_PARAM_LAZY", "true")):
            add(table, name=name, value=value)
    if maker.era >= ERAS.index("3.4"):
        add("META_DATA_CAPTURE", name="CAPTURE_EVENT_TYPE", value="Cuda")
        add("META_DATA_CAPTURE", name="PROCESS_0:COMMAND", value="python3")
        add("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value='API_TOKEN="hunter2"')
        add("META_DATA_CAPTURE", name="PROCESS_0:ENVIRONMENT_VARIABLE", value='RANK="5"')


def contexts(maker, rank):
    """Contexts take turns on the GPU: the program's and those of a process that is not recorded. With
    what real recordings have, too: stages in between, a start and an end that were lost, a switch
    without its time, a reset, and the last one still there at the end."""
    ack, save, restore, start, no_time, reset = 2, 7, 8, 9, 10, 11
    other = 1 << 48 | 77 << 24
    at, rows = 1_000, [(save, 3, other)]
    for turn in range(6):
        context, process = ((4, rank.process), (3, other))[turn % 2]
        rows += [(restore, context, process), (start, context, process), (1, context, process),
                 (ack, context, process), (save, context, process)]
    rows += [(restore, 4, rank.process), (restore, 4, rank.process), (no_time, 4, rank.process),
             (save, 4, rank.process), (start, 3, other), (reset, 3, other),
             (restore, 5, None), (save, 5, None), (restore, 4, rank.process)]
    for number, (tag, context, process) in enumerate(rows):
        at += 0 if tag == start else 10_000 + maker.random(3_000)
        maker.add("GPU_CONTEXT_SWITCH_EVENTS", tag=tag, vmId=0, seqNo=number, contextId=context,
                  timestamp=0 if tag == no_time else at, globalPid=process, gpuId=rank.gpu)
    maker.rows["GPU_CONTEXT_SWITCH_EVENTS"].sort(key=lambda row: row["contextId"])
    maker.add("PROCESSES", globalPid=other, pid=77, name="compositor")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out")
    parser.add_argument("--era", choices=ERAS, default="3.24")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--kernels", type=int, default=8, help="per part of a step")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--visible", choices=["all", "one"], default="all",
                        help="GPUs that each process sees")
    parser.add_argument("--graph", choices=["none", "node", "graph"], default="none")
    for name in ("nvtx", "osrt", "sched", "metrics", "memory", "mpi"):
        parser.add_argument("--" + name, action="store_true")
    parser.add_argument("--contexts", action="store_true", help="switches of GPU contexts")
    parser.add_argument("--all", action="store_true", help="every kind of event")
    parser.add_argument("--inline-text", action="store_true", help="text where ids of strings belong")
    parser.add_argument("--eager", action="store_true", help="also tables without rows")
    parser.add_argument("--without-rowid", action="store_true", help="one table without rowids")
    parser.add_argument("--page-size", type=int, default=4096)
    parser.add_argument("--utf16", action="store_true")
    parser.add_argument("--wal", action="store_true", help="leave all rows in a write-ahead log")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.all:
        for name in ("nvtx", "osrt", "sched", "metrics", "memory", "mpi"):
            setattr(options, name, True)
    for suffix in ("", "-wal", "-shm", "-journal"):
        if os.path.exists(options.out + suffix):
            os.remove(options.out + suffix)
    maker = Maker(options)
    ranks = [Rank(maker, i) for i in range(options.ranks)]
    for index in range(options.steps):
        for rank in ranks:
            rank.extras(index, rank.step(index, options.kernels))
    if options.contexts:
        contexts(maker, ranks[0])
    describe(maker, ranks)
    print(json.dumps(maker.write(options.out), sort_keys=True))


if __name__ == "__main__":
    main()
