"""ROCm's profilers: rocprofv3 as JSON, as database and as a folder of CSV files; rocprof v1 and v2.

They have no record of a fill: the runtime fills with a kernel of its own.
"""
import csv
import json
import os
import sqlite3

import workload as w

FILL = "__amd_rocclr_fillBufferAligned"
CALLS = {"launch": "hipLaunchKernel", "copy": "hipMemcpyAsync", "memset": "hipMemsetAsync",
         "wait": "hipStreamSynchronize"}
DIRECTIONS = {"HtoD": "HOST_TO_DEVICE", "DtoH": "DEVICE_TO_HOST", "DtoD": "DEVICE_TO_DEVICE"}
AGENT = 1  # number of the first GPU; the CPU is 0
OPERATIONS = {
    "NONE": [],
    "HIP_RUNTIME_API": ["NONE"] + sorted(CALLS.values()),
    "KERNEL_DISPATCH": ["NONE", "ENQUEUE", "COMPLETE"],
    "MEMORY_COPY": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST"] +
                   ["MEMORY_COPY_" + d for d in DIRECTIONS.values()],
    "MARKER_CORE_RANGE_API": ["roctxThreadRangeA"],
}
KINDS = list(OPERATIONS)


def ends(item):
    """Agents that a copy reads and writes."""
    device = item.device + AGENT
    return {"HtoD": (0, device), "DtoH": (device, 0), "DtoD": (device, device)}[item.direction]


def dispatches(run):
    return [x for x in run.work if x.kind == "kernel"]


# ---- JSON ----

def record(kind, operation, item, correlation):
    return {"size": 64, "kind": KINDS.index(kind), "operation": operation, "thread_id": w.PID,
            "correlation_id": {"internal": correlation, "external": 0},
            "start_timestamp": item.start, "end_timestamp": item.end}


def handle(agent):
    return {"handle": 900 + agent}


def symbols(run):
    return {name: 10 + i for i, name in enumerate(sorted({x.name for x in dispatches(run)}))}


def dispatch_records(run):
    ids = symbols(run)
    for number, x in enumerate(dispatches(run), 1):
        row = record("KERNEL_DISPATCH", 2, x, x.correlation)
        row["dispatch_info"] = {
            "agent_id": handle(x.device + AGENT), "queue_id": {"handle": 16 + x.stream},
            "kernel_id": ids[x.name], "dispatch_id": number, "private_segment_size": 0,
            "group_segment_size": 0, "workgroup_size": {"x": 128, "y": 1, "z": 1},
            "grid_size": {"x": 80 * 128, "y": 1, "z": 1}}
        row["stream_id"] = {"handle": x.stream}
        yield row


def copy_records(run):
    for x in run.of("copy"):
        name = "MEMORY_COPY_" + DIRECTIONS[x.direction]
        row = record("MEMORY_COPY", OPERATIONS["MEMORY_COPY"].index(name), x, x.correlation)
        source, target = ends(x)
        row.update(src_agent_id=handle(source), dst_agent_id=handle(target), bytes=x.bytes,
                   stream_id={"handle": x.stream})
        yield row


def agents():
    for number in range(w.DEVICES + 1):
        yield {"id": handle(number), "type": 1 if number == 0 else 2, "cu_count": 64,
               "name": "gfx942" if number else "Some CPU", "node_id": number,
               "product_name": "Made-up GPU" if number else "Some CPU",
               "logical_node_type_id": max(0, number - AGENT)}


def write_json(run, folder):
    path = os.path.join(folder, "run_results.json")
    hip = OPERATIONS["HIP_RUNTIME_API"]
    tool = {
        "metadata": {"pid": w.PID, "init_time": 1, "fini_time": 2},
        "agents": list(agents()), "counters": [],
        "strings": {"callback_records": [], "correlation_id": {"external": []},
                    "buffer_records": [{"kind": k, "operations": v} for k, v in OPERATIONS.items()],
                    "marker_api": [{"key": 9_000 + x.index, "value": x.name} for x in run.ranges]},
        "code_objects": [],
        "kernel_symbols": [{"size": 88, "kernel_id": n, "kernel_name": name + ".kd",
                            "formatted_kernel_name": name} for name, n in symbols(run).items()],
        "callback_records": {},
        "buffer_records": {
            "kernel_dispatch": list(dispatch_records(run)),
            "hip_api": [record("HIP_RUNTIME_API", hip.index(CALLS[x.role]), x, x.correlation)
                        for x in run.calls],
            "marker_api": [record("MARKER_CORE_RANGE_API", 0, x, 9_000 + x.index)
                           for x in run.ranges],
            "memory_copy": list(copy_records(run))}}
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


# ---- database, schema 3 ----

ID = "_000063cf_1fd9_7c6e_9a51_0f2a5b1c3d4e"
COLUMNS = {
    "metadata": "tag TEXT, value TEXT",
    "string": "string TEXT",
    "info_process": "nid INTEGER, ppid INTEGER, pid INTEGER, command TEXT",
    "info_thread": "nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, "
                  "logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT",
    "info_kernel_symbol": "kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, "
             "correlation_id INTEGER, extdata JSONB",
    "region": 'nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, "end" BIGINT, name_id INTEGER, '
              "event_id INTEGER",
    "kernel_dispatch": "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, "
                       "dispatch_id INTEGER, queue_id INTEGER, stream_id INTEGER, start BIGINT, "
                       '"end" BIGINT, private_segment_size INTEGER, group_segment_size INTEGER, '
                       "workgroup_size_x INTEGER, workgroup_size_y INTEGER, "
                       "workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, "
                       "grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER",
    "memory_copy": 'nid INTEGER, pid INTEGER, tid INTEGER, start BIGINT, "end" BIGINT, '
                   "name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, "
                   "src_agent_id INTEGER, src_address INTEGER, size INTEGER, queue_id INTEGER, "
                   "stream_id INTEGER, event_id INTEGER",
}


class Database:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.ids = dict.fromkeys(COLUMNS, 0)
        self.texts = {}
        for table, columns in COLUMNS.items():
            self.db.execute('CREATE TABLE "rocpd_%s%s" (id INTEGER PRIMARY KEY, %s)' % (
                table, ID, columns))

    def add(self, table, *values, number=None):
        self.ids[table] = number if number is not None else self.ids[table] + 1
        self.db.execute('INSERT INTO "rocpd_%s%s" VALUES (?%s)' % (table, ID, ",?" * len(values)),
                        (self.ids[table],) + values)
        return self.ids[table]

    def text(self, value):
        if value not in self.texts:
            self.texts[value] = self.add("string", value)
        return self.texts[value]

    def event(self, category, stack, message=None):
        return self.add("event", self.text(category), stack, stack, 0,
                        json.dumps({"message": message} if message else {}))


def write_database(run, folder):
    path = os.path.join(folder, "run_results.db")
    out = Database(path)
    out.add("metadata", "schema_version", "3")
    out.add("info_process", 1, 1, w.PID, "train", number=w.PID)
    out.add("info_thread", 1, 1, w.PID, w.PID, "main", number=w.PID)
    for number in range(w.DEVICES + 1):
        kind = "GPU" if number else "CPU"
        out.add("info_agent", 1, w.PID, kind, number, number, max(0, number - AGENT), "gfx942",
                "Made-up " + kind, number=number)
    ids = symbols(run)
    for name, number in ids.items():
        out.add("info_kernel_symbol", name + ".kd", name, 24, number=number)
    for x in run.calls:
        out.add("region", 1, w.PID, w.PID, x.start, x.end, out.text(CALLS[x.role]),
                out.event("HIP_RUNTIME_API", x.correlation))
    for x in run.ranges:
        out.add("region", 1, w.PID, w.PID, x.start, x.end, out.text("roctxRangePushA"),
                out.event("MARKER_CORE_RANGE_API", 9_000 + x.index, x.name))
    for number, x in enumerate(dispatches(run), 1):
        out.add("kernel_dispatch", 1, w.PID, w.PID, x.device + AGENT, ids[x.name], number,
                x.stream, x.stream, x.start, x.end, 0, 0, 128, 1, 1, 80 * 128, 1, 1, 1,
                out.event("KERNEL_DISPATCH", x.correlation))
    for x in run.of("copy"):
        source, target = ends(x)
        out.add("memory_copy", 1, w.PID, w.PID, x.start, x.end,
                out.text("MEMORY_COPY_" + DIRECTIONS[x.direction]), target, 1, source, 2, x.bytes,
                None, x.stream, out.event("MEMORY_COPY", x.correlation))
    out.db.commit()
    out.db.close()
    return path


# ---- CSV ----

def table(folder, name, columns, rows):
    with open(os.path.join(folder, name), "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        out.writerow(columns.split(","))
        out.writerows(rows)


def write_csv(run, folder):
    """rocprofv3: a file per kind of record, together a profile."""
    table(folder, "%d_agent_info.csv" % w.PID,
          "Node_Id,Logical_Node_Id,Agent_Type,Cu_Count,Wave_Front_Size,Logical_Node_Type_Id,Name,"
          "Product_Name",
          [[n, n, "GPU" if n else "CPU", 64, 64, max(0, n - AGENT), "gfx942", "Made-up"]
           for n in range(w.DEVICES + 1)])
    ids = symbols(run)
    table(folder, "%d_kernel_trace.csv" % w.PID,
          "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,"
          "Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,"
          "Accum_VGPR_Count,SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,"
          "Grid_Size_X,Grid_Size_Y,Grid_Size_Z",
          [["KERNEL_DISPATCH", "Agent %d" % (x.device + AGENT), x.stream, x.stream, w.PID, n,
            ids[x.name], x.name, x.correlation, x.start, x.end, 0, 0, 8, 0, 16, 128, 1, 1, 80 * 128,
            1, 1] for n, x in enumerate(dispatches(run), 1)])
    table(folder, "%d_memory_copy_trace.csv" % w.PID,
          "Kind,Direction,Stream_Id,Source_Agent_Id,Destination_Agent_Id,Correlation_Id,"
          "Start_Timestamp,End_Timestamp",
          [["MEMORY_COPY", "MEMORY_COPY_" + DIRECTIONS[x.direction], x.stream] +
           ["Agent %d" % agent for agent in ends(x)] + [x.correlation, x.start, x.end]
           for x in run.of("copy")])
    columns = "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp"
    table(folder, "%d_hip_api_trace.csv" % w.PID, columns,
          [["HIP_RUNTIME_API", CALLS[x.role], w.PID, w.PID, x.correlation, x.start, x.end]
           for x in run.calls])
    table(folder, "%d_marker_api_trace.csv" % w.PID, columns,
          [["MARKER_CORE_API", x.name, w.PID, w.PID, 9_000 + x.index, x.start, x.end]
           for x in run.ranges])
    return folder


def write_kernel_trace(run, folder):
    """One file of such a folder alone."""
    return os.path.join(write_csv(run, folder), "%d_kernel_trace.csv" % w.PID)


def write_v1(run, folder):
    table(folder, "results.csv",
          "Index,KernelName,gpu-id,queue-id,queue-index,pid,tid,grd,wgr,lds,scr,vgpr,sgpr,fbar,sig,"
          "obj,DispatchNs,BeginNs,EndNs,CompleteNs",
          [[n, x.name + ".kd", x.device, x.stream, n, w.PID, w.PID, 80 * 128, 128, 0, 0, 56, 56, 1,
            "0x0", "0x7f9346387880", x.start - 50, x.start, x.end, x.end + 50]
           for n, x in enumerate(dispatches(run))])
    return os.path.join(folder, "results.csv")


def write_v2(run, folder):
    table(folder, "results.csv",
          "Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,Grid_Size,Workgroup_Size,"
          "LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,"
          "Start_Timestamp,End_Timestamp,Correlation_ID",
          [[n, x.device, x.stream, 0, w.PID, w.PID, 80 * 128, 128, 0, 0, 16, 0, 32, 64,
            x.name + " [clone .kd]", x.start, x.end, x.correlation]
           for n, x in enumerate(dispatches(run))])
    return os.path.join(folder, "results.csv")
