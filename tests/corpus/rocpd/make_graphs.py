#!/usr/bin/env python3
"""Writes graphs.db of this folder: launches of HIP graphs as schema 3.0.2 tells them, by hand after the
public description of the schema. Two launches lie within a recorded call of hipGraphLaunch, one does
not, one has no thread that is known, one ends before it starts, and one has texts for numbers."""
import os
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = "_0001b207_0000_7000_8000_00000000c0de"
PLACE = "nid INTEGER, pid INTEGER, tid INTEGER"
TABLES = {
    "metadata": "tag TEXT, value TEXT",
    "string": "string TEXT",
    "info_node": "hash INTEGER, machine_id TEXT",
    "info_process": "nid INTEGER, pid INTEGER",
    "info_thread": "nid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, type_index INTEGER, "
                  "name TEXT, product_name TEXT, extdata TEXT",
    "info_kernel_symbol": "kernel_name TEXT, display_name TEXT, arch_vgpr_count INTEGER",
    "event": "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
             "extdata TEXT",
    "region": PLACE + ', start BIGINT, "end" BIGINT, name_id INTEGER, event_id INTEGER',
    "kernel_dispatch": PLACE + ", agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER, "
                       'stream_id INTEGER, start BIGINT, "end" BIGINT, graph_exec_id INTEGER, '
                       "graph_node_id INTEGER, event_id INTEGER",
    "graph_launch": PLACE + ', agent_id INTEGER, queue_id INTEGER, start BIGINT, "end" BIGINT, '
                    "graph_exec_id INTEGER, kernel_dispatch_count INTEGER, event_id INTEGER",
}
ROWS = {
    "metadata": [("schema_version", "3.0.2")],
    "string": [("HIP_RUNTIME_API",), ("KERNEL_DISPATCH",), ("HIP_GRAPH",), ("hipGraphLaunch",), ("hipMalloc",)],
    "info_node": [(77, "m")],
    "info_process": [(1, 4242)],
    "info_thread": [(1, 1, 4243, "worker")],
    "info_agent": [(1, 1, "GPU", 1, 0, "gfx942", "AMD Instinct MI300X", "{}")],
    "info_kernel_symbol": [("_Z4stepPf.kd", "step(float*)", 24)],
    "event": [(1, 10, 0, 0, "{}"), (1, 20, 0, 0, "{}"), (2, 10, 0, 0, "{}"), (2, 10, 0, 0, "{}"),
              (2, 20, 0, 0, "{}"), (3, 10, 10, 0, "{}"), (3, 20, 20, 0, "{}"), (3, 30, 30, 0, "{}"),
              (3, None, None, 0, "{}"), (1, 5, 0, 0, "{}"), (3, 40, 40, 0, "{}"), (3, 50, 50, 0, "{}"),
              (2, 30, 0, 0, "{}")],
    "region": [(1, 1, 1, 1000, 1500, 4, 1), (1, 1, 1, 3000, 3600, 4, 2), (1, 1, 1, 500, 600, 5, 10)],
    "kernel_dispatch": [(1, 1, 1, 1, 1, 1, 0, 0, 2000, 2200, 7, 101, 3), (1, 1, 1, 1, 1, 2, 0, 0, 2300, 2500, 7, 102, 4),
                        (1, 1, 1, 1, 1, 3, 0, 0, 4000, 4100, 7, 101, 5), (1, 1, 1, 1, 1, 4, 0, 0, 6000, 6100, 9, 5, 13)],
    "graph_launch": [(1, 1, 1, 1, 0, 1010, 1490, 7, 2, 6), (1, 1, 1, 1, 0, 3010, 3590, 7, 1, 7),
                     (1, 1, 1, 1, 0, 5000, 5400, 9, 1, 8), (1, 1, 99, None, None, 5500, 5600, 9, 0, 9),
                     (1, 1, 1, 1, 0, 5800, 5700, 9, 0, 11), (1, 1, 1, 1, 0, 5900, 5950, "nine", None, 12)],
}


def main():
    path = os.path.join(HERE, "graphs.db")
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    for name, columns in TABLES.items():
        db.execute('CREATE TABLE "rocpd_%s%s" (id INTEGER PRIMARY KEY, %s)' % (name, RUN, columns))
        for row in ROWS[name]:
            db.execute('INSERT INTO "rocpd_%s%s" VALUES (NULL, %s)' % (name, RUN, ", ".join("?" * len(row))), row)
    db.commit()
    db.close()


main()
