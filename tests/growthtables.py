"""Files that fill each table of a trace with n rows, for tests/growth.py: with its other shapes, no table is without one."""
import json
import os
import shutil
import sqlite3
import sys

from harness import ROOT, scratch

sys.path.insert(0, os.path.join(ROOT, "tests", "corpus", "ncu"))
# What is a row per kind of thing, not per thing.
BOUNDED = {"coverage": "a row per remark"}


def event(name, cat, ts, dur=1, pid=1, tid=1, ph="X", **more):
    return {"ph": ph, "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, **more}


def trace(parts, **more):
    """As text at once, which takes half the time of an event after the other."""
    return json.dumps({"schemaVersion": 1, "traceEvents": list(parts), **more})


def on_device(cat, name, pid=0, tid=7, **args):
    return lambda i, at: event(name, cat, at, pid=pid, tid=tid, args=dict(args, device=0, stream=7, correlation=i + 1))


def device_rows(n):
    """Copies, fills, waits, collectives and what launches them."""
    kinds = [on_device("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", bytes=4096),
             on_device("gpu_memset", "Memset (Device)", bytes=64),
             on_device("cuda_sync", "Stream Sync", stream=7),
             on_device("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)", tid=20),
             on_device("cuda_runtime", "cudaMemcpyAsync", pid=1, tid=1)]
    return trace((kind(i, 10 * i + k) for i in range(n) for k, kind in enumerate(kinds)))


def host_rows(n):
    """Modules, allocations, arrows, arguments."""
    parts = []
    for i in range(n):
        parts.append(event("nn.Module: Linear_%d" % i, "python_function", 10 * i, 5, args={
            "Python id": i + 1, "Python parent id": None, "Python module id": i}))
        parts.append(event("[memory]", "cpu_instant_event", 10 * i + 1, ph="i", s="t", args={
            "Total Allocated": 64 * i, "Device Type": 0, "Device Id": -1, "Addr": 4096 * i, "Bytes": 64}))
        parts.append(event("go", "arrow", 10 * i + 2, ph="s", id=i))
        parts.append(event("go", "arrow", 10 * i + 4, ph="f", id=i, bp="e"))
        parts.append(event("work", "mine", 10 * i + 2, 3, tid=2, args={"number": i, "text": "t%d" % i}))
    return trace(parts)


def stack_rows(n):
    """Slices with call stacks of their own."""
    frames = {str(i): dict({"name": "f%d" % i, "category": "m"}, **({"parent": str(i - 1)} if i % 8 else {})) for i in range(n)}
    return trace((event("w", "c", 10 * i, sf=i) for i in range(n)), stackFrames=frames)


def model_nodes(n):
    return json.dumps([{"cat": "Session", "pid": 1, "tid": 1, "dur": 5, "ts": 2, "ph": "X", "name": "session_initialization", "args": {}}] + [
        {"cat": "Node", "pid": 1, "tid": 1, "dur": 3, "ts": 10 + 4 * i, "ph": "X", "name": "conv%d_kernel_time" % i,
         "args": {"op_name": "Conv", "provider": "CPUExecutionProvider", "node_index": str(i)}} for i in range(n)])


def counted_kernels(n):
    """A raw page of Nsight Compute: measurements and metrics."""
    head = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC",' \
        '"gpu__time_duration.sum","dram__bytes.sum.per_second","launch__registers_per_thread"\n' \
        '"","","","","","","","","","","","usecond","Gbyte/second","register/thread"\n'
    return head + "".join('"%d","77","program","127.0.0.1","k%d(int)","1","7","(128, 1, 1)","(%d, 1, 1)","0","8.0","2.50","1.5","32"\n' % (i, i, i + 1)
                          for i in range(n))


def instance_rows(n):
    import make
    return make.report(instances=make.instanced("sass__inst_executed_per_opcode", n, [("OP%d" % i, i) for i in range(n)]))


# Of captured graphs, of which there are many, the text is written at once: that takes a sixth of the time.
OPERATOR = '{"ph":"X","cat":"cpu_op","name":"aten::op%d","pid":1,"tid":1,"ts":%d,"dur":8,"args":{"Input Dims":[[%d,4]],"Input type":["float"]}}'
CALL = '{"ph":"X","cat":"cuda_runtime","name":"%s","pid":1,"tid":1,"ts":%d,"dur":%d,"args":{"correlation":%d}}'
LAUNCH = '{"ph":"X","cat":"cuda_runtime","name":"hipLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,"args":{"correlation":%d,"kernel":"%s"}}'
KERNEL = '{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%d,"dur":8,"args":{"device":0,"stream":%d,"correlation":%d}}'


def graphs(parts):
    return '{"schemaVersion":1,"traceEvents":[%s]}' % ",".join(parts)


def capture(at, names, number):
    """A graph as it was captured: a launch of each kernel, in an operator of its own."""
    parts = [CALL % ("hipStreamBeginCapture", at, 1, number)]
    for i, name in enumerate(names):
        parts += (OPERATOR % (i, at + 10 * i + 10, i + 1), LAUNCH % (at + 10 * i + 12, number + i + 1, name))
    return parts + [CALL % ("hipStreamEndCapture", at + 10 * len(names) + 10, 1, number + len(names) + 1)]


def replay(at, names, number, streams=1):
    return [CALL % ("hipGraphLaunch", at, 5, number)] + [
        KERNEL % (name, 7 + i % streams, at + (10 // streams) * i + 20, 7 + i % streams, number) for i, name in enumerate(names)]


def captured_graph(n):
    """One graph of n kernels, its capture and a replay."""
    names = ["kernel%d" % i for i in range(n)]
    return graphs(capture(1, names, 1) + replay(10 * n + 20, names, n + 3))


def captured_graphs(kernels, streams=1):
    """n graphs, their captures and a replay of each; kernels(g): names of a graph's."""
    def make(n):
        parts, at, number = [], 1, 1
        for give, more in ((capture, ()), (replay, (streams,))):
            for g in range(n):
                names = kernels(g)
                parts.extend(give(at, names, number, *more))
                at, number = at + 10 * len(names) + 40, number + len(names) + 2
        return graphs(parts)
    return make


def turned(g):
    """The same eight kernels in one of many orders."""
    names = ["kernel%d" % i for i in range(8)]
    return [names.pop(g // 7 ** i % len(names)) for i in range(8)]


def waits_after(n):
    """Kernels with gaps before each, in which the CPU was in a range of another name."""
    def letters(i):
        return "".join(chr(97 + i // 26 ** k % 26) for k in range(4))
    return trace(part for i in range(n) for part in (
        event("load " + letters(i), "user_annotation", 1000 * i, 900),
        event("cudaLaunchKernel", "cuda_runtime", 1000 * i + 880, 5, args={"correlation": i + 1}),
        event("kernel", "kernel", 1000 * i + 890, 50, pid=0, tid=7, args={"device": 0, "stream": 7, "correlation": i + 1})))


def device_kernels(n):
    return trace(event("kernel", "kernel", 10 * i, 8, pid=i, tid=7, args={"device": i, "stream": 7, "correlation": i + 1}) for i in range(n))


def graph_rows(n):
    path = os.path.join(scratch(), "graphs.sqlite")
    shutil.copy(os.path.join(ROOT, "tests/corpus/nsys/graph-whole.sqlite"), path)
    database = sqlite3.connect(path)
    row = list(database.execute("SELECT * FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE").fetchone())
    length = row[1] - row[0]
    database.executemany("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(%s)" % ",".join("?" * len(row)),
                         ([row[1] + 2 * i * length, row[1] + (2 * i + 1) * length] + row[2:5] + [1000 + i] + row[6:7] + [i % 50, i]
                          for i in range(n)))
    database.commit()
    database.close()
    with open(path, "rb") as file:
        return file.read()


def folder_of(path, n):
    """A folder of n small traces in place of one file."""
    shutil.rmtree(path, True)
    os.makedirs(path)
    for i in range(n):
        with open(os.path.join(path, "rank%d.json" % i), "w", encoding="utf-8") as file:
            file.write(trace([event("k", "cpu_op", 10)], distributedInfo={"rank": i}))


SHAPES = {
    "copies, fills, waits and collectives": (5000, device_rows),
    "modules, allocations, arrows and arguments": (5000, host_rows),
    "slices with call stacks": (10000, stack_rows),
    "nodes of models": (8000, model_nodes),
    "kernels with counters": (8000, counted_kernels),
    "values per instance": (10000, instance_rows),
    "graph launches": (10000, graph_rows),
    "a captured graph": (10000, captured_graph),
    "equal captured graphs": (4000, captured_graphs(lambda g: ["kernel0", "kernel1", "kernel2"])),
    "captured graphs of other kernels": (4000, captured_graphs(lambda g: ["kernel%d" % g, "last"])),
    "captured graphs of the same kernels in other orders": (3000, captured_graphs(turned)),
    "captured graphs replayed on several streams": (3000, captured_graphs(lambda g: ["kernel0", "kernel1", "kernel2"], 3)),
    "files": (200, folder_of),
}
# Other commands than `analyze`, None stands for the file.
OTHERS = {
    "diff: devices": (8000, device_kernels, ["diff", None, None]),
    "diff: what the CPU did in gaps": (8000, waits_after, ["diff", None, None]),
    "fingerprint: devices": (16000, device_kernels, ["fingerprint", None]),
    "export: devices": (16000, device_kernels, ["export", None, "--to", "chrome"]),
}
# Every export that is one stream, and the page, of what lies on hosts and on devices.
OTHERS.update({"export to %s: %s" % (form, what): (n, make, ["export", None, "--to", form]) for form in (
    "run.json", "html", "perfetto", "speedscope", "folded", "pprof", "callgrind", "openmetrics", "otlp", "otlp-traces", "otlp-metrics")
    for what, n, make in (("hosts", 8000, host_rows), ("a device", 8000, device_rows), ("stacks", 8000, stack_rows))})
