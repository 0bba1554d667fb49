"""nvprof: its SQLite export, and its CSV log with a GPU trace and an API trace."""
import csv
import os
import sqlite3

import workload as w

CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync",
         "wait": "cudaStreamSynchronize"}
NUMBERS = {"launch": 211, "copy": 41, "memset": 51, "wait": 131}
KINDS = {"HtoD": (1, 1, 3), "DtoH": (2, 3, 2), "DtoD": (8, 3, 3)}
MEMORY = {"HtoD": ("Pageable", "Device"), "DtoH": ("Device", "Pinned"), "DtoD": ("Device", "Device")}

TABLES = {
    "KIND_CONTEXT": "contextId INT, deviceId INT",
    "KIND_RUNTIME": 'cbid INT, start INT, "end" INT, processId INT, threadId INT, correlationId INT, '
                    "returnValue INT",
    "KIND_CONCURRENT_KERNEL": 'registersPerThread INT, start INT, "end" INT, deviceId INT, '
                              "contextId INT, streamId INT, gridX INT, gridY INT, gridZ INT, blockX INT, "
                              "blockY INT, blockZ INT, correlationId INT, name INT",
    "KIND_MEMCPY": "copyKind INT, srcKind INT, dstKind INT, bytes INT, start INT, "
                   '"end" INT, deviceId INT, contextId INT, streamId INT, correlationId INT',
    "KIND_MEMSET": 'value INT, bytes INT, start INT, "end" INT, deviceId INT, contextId INT, '
                   "streamId INT, correlationId INT, memoryKind INT",
    "KIND_SYNCHRONIZATION": 'type INT, start INT, "end" INT, correlationId INT, contextId INT, '
                            "streamId INT, cudaEventId INT",
    "KIND_MARKER": "flags INT, timestamp INT, id INT, objectKind INT, objectId BLOB, name INT, "
                   "domain INT",
}


def write_database(run, folder):
    path = os.path.join(folder, "run.nvvp")
    db = sqlite3.connect(path)
    names = {}
    db.execute("CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY, value TEXT NOT NULL UNIQUE)")
    for table, columns in TABLES.items():
        db.execute("CREATE TABLE CUPTI_ACTIVITY_%s (_id_ INTEGER PRIMARY KEY, %s)" % (table, columns))

    def add(table, *values):
        db.execute("INSERT INTO CUPTI_ACTIVITY_%s VALUES (NULL%s)" % (table, ",?" * len(values)),
                   values)

    def text(value):
        return names.setdefault(value, len(names) + 1)

    for device in range(w.DEVICES):
        add("KIND_CONTEXT", device + 1, device)
    for x in run.of("kernel"):
        add("KIND_CONCURRENT_KERNEL", 16, x.start, x.end, x.device, x.device + 1, x.stream, 80, 1, 1,
            128, 1, 1, x.correlation, text(x.name))
    for x in run.of("copy"):
        add("KIND_MEMCPY", *KINDS[x.direction], x.bytes, x.start, x.end, x.device, x.device + 1,
            x.stream, x.correlation)
    for x in run.of("memset"):
        add("KIND_MEMSET", 0, x.bytes, x.start, x.end, x.device, x.device + 1, x.stream,
            x.correlation, 3)
    for x in run.calls:
        add("KIND_RUNTIME", NUMBERS[x.role], x.start, x.end, w.PID, w.PID, x.correlation, 0)
    for x in run.syncs:
        add("KIND_SYNCHRONIZATION", 3, x.start, x.end, x.correlation, x.device + 1, x.stream, -1)
    thread = w.PID.to_bytes(4, "little") + w.PID.to_bytes(8, "little")
    for number, x in enumerate(run.ranges):
        add("KIND_MARKER", 2, x.start, number + 1, 2, thread, text(x.name), 0)
        add("KIND_MARKER", 4, x.end, number + 1, 2, thread, 0, 0)
    db.executemany("INSERT INTO StringTable VALUES (?, ?)", [(0, "-- null --")] +
                   [(n, t) for t, n in names.items()])
    db.commit()
    db.close()
    return path


GPU_COLUMNS = ["Start", "Duration", "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z",
               "Registers Per Thread", "Static SMem", "Dynamic SMem", "Size", "Throughput",
               "SrcMemType", "DstMemType", "Device", "Context", "Stream", "Name", "Correlation_ID"]


def decimal(ns, digits):
    """ns as a number with so many digits behind the point, exactly."""
    return "%d.%0*d" % (ns // 10 ** digits, digits, ns % 10 ** digits)


def gpu_row(x):
    row = dict.fromkeys(GPU_COLUMNS, "")
    row.update({"Start": decimal(x.start, 6), "Duration": decimal(x.dur, 3), "Context": x.device + 1,
                "Device": "Tesla V100 (%d)" % x.device, "Stream": x.stream, "Name": x.name,
                "Correlation_ID": x.correlation})
    if x.kind == "kernel":
        row["Name"] = "%s [%d]" % (x.name, x.correlation)
        row.update(zip(GPU_COLUMNS[2:11], (80, 1, 1, 128, 1, 1, 16, "2.000000", 0)))
        return row
    row["Size"] = "%.6f" % (x.bytes / (1 << 20))
    row["Name"] = "[CUDA memset]" if x.kind == "memset" else "[CUDA memcpy %s]" % x.direction
    row["SrcMemType"], row["DstMemType"] = ("Device", "") if x.kind == "memset" else \
        MEMORY[x.direction]
    return row


def write_log(run, folder):
    path = os.path.join(folder, "run.csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        def table(columns, units, rows):
            out = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            out.writerow(columns)
            file.write(units + "\n")
            for row in rows:
                out.writerow([row[c] for c in columns])

        file.write("==%d== NVPROF is profiling process %d, command: ./train\n" % (w.PID, w.PID))
        table(GPU_COLUMNS, "ms,us,,,,,,,,KB,B,MB,GB/s,,,,,,,",
              [gpu_row(x) for x in sorted(run.work, key=lambda x: x.start)])
        file.write("\n")
        table(["Start", "Duration", "Name", "Correlation_ID"], "ms,us,,", [
            {"Start": decimal(x.start, 6), "Duration": decimal(x.dur, 3), "Name": CALLS[x.role],
             "Correlation_ID": x.correlation} for x in run.calls])
    return path
