"""The database of rocmProfileData: calls, operations, and which issued which."""
import os
import sqlite3

import workload as w

CALLS = {"launch": "hipLaunchKernel", "copy": "hipMemcpyAsync", "memset": "hipMemsetAsync",
         "wait": "hipStreamSynchronize"}
COPIES = {"HtoD": "CopyHostToDevice", "DtoH": "CopyDeviceToHost", "DtoD": "CopyDeviceToDevice"}
TABLES = """
CREATE TABLE rocpd_metadata (id integer primary key, tag text, value text);
CREATE TABLE rocpd_string (id integer primary key, string varchar(4096));
CREATE TABLE rocpd_api (id integer primary key, pid integer, tid integer, start integer, "end" integer,
                        apiName_id integer, args_id integer);
CREATE TABLE rocpd_op (id integer primary key, gpuId integer, queueId integer, sequenceId integer,
                       completionSignal varchar(18), start integer, "end" integer,
                       description_id integer, opType_id integer);
CREATE TABLE rocpd_api_ops (id integer primary key, api_id integer, op_id integer);
CREATE TABLE rocpd_copyapi (api_ptr_id integer primary key, stream varchar(18), size integer,
                            kind integer);
CREATE TABLE rocpd_kernelapi (api_ptr_id integer primary key, stream varchar(18), gridX integer,
                              gridY integer, gridZ integer, workgroupX integer, workgroupY integer,
                              workgroupZ integer, groupSegmentSize integer, kernelName_id integer);
INSERT INTO rocpd_metadata VALUES (1, 'schema_version', '2');
"""


def write(run, folder):
    path = os.path.join(folder, "run.rpd")
    db = sqlite3.connect(path)
    db.executescript(TABLES)
    strings = {}

    def text(value):
        return strings.setdefault(value, len(strings) + 1)

    def add(table, *values):
        db.execute("INSERT INTO rocpd_%s VALUES (%s)" % (table, ",".join("?" * len(values))), values)

    for x in run.calls:
        add("api", x.correlation, w.PID, w.PID, x.start, x.end, text(CALLS[x.role]), text(""))
    for x in run.ranges:
        add("api", 9_000 + x.index, w.PID, w.PID, x.start, x.end, text("UserMarker"), text(x.name))
    for number, x in enumerate(run.work, 1):
        kind = {"kernel": "KernelExecution", "memset": "FillBuffer"}.get(x.kind) or \
            COPIES[x.direction]
        add("op", number, x.device, x.stream, 0, "", x.start, x.end, text(x.name), text(kind))
        add("api_ops", number, x.correlation, number)
        if x.kind == "copy":
            add("copyapi", x.correlation, "0x0", x.bytes, 1)
        if x.kind == "kernel":
            add("kernelapi", x.correlation, "0x0", 80, 1, 1, 128, 1, 1, 0, text(x.name))
    for value, number in strings.items():
        add("string", number, value)
    db.commit()
    db.close()
    return path
