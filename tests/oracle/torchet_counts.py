#!/usr/bin/env python3
"""Execution traces of ../shared/samples/torch_et, read by Python's json and by a few lines of
protobuf, against `neurolens sql`: every node with its id, name, caller, ids and shapes.

    tests/oracle/torchet_counts.py [build/neurolens]
"""
import glob
import gzip
import json
import os
import sys
import tarfile

from oracle import Checker, Neurolens, shared_or_leave


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def of_protobuf(data):
    at, first = 0, True
    while at < len(data):
        size, at = varint(data, at)
        message, at = data[at:at + size], at + size
        if not first:
            node = dict(fields(message))
            rf = [dict(fields(v)).get(9) for f, v in fields(message) if f == 10 and dict(fields(v))[1] == b"rf_id"]
            shapes = dict(fields(node[8])).get(2, b"").decode() if 8 in node else None
            yield (node.get(1, 0), node[2].decode(), None, rf[0] if rf else None, shapes or None,
                   node[7] * 1000 if 7 in node else None)
        first = False


def plain(value):
    return None if value == [] else value


def of_json(document):
    for n in document.get("nodes", []):
        attributes = {a["name"]: a["value"] for a in n.get("attrs", [])}
        side = n["inputs"]
        shapes = side["shapes"] if isinstance(side, dict) else n["input_shapes"]
        yield n["id"], n["name"], n.get("parent", n.get("ctrl_deps")), n.get("rf_id", attributes.get("rf_id")), plain(shapes), None
    for n in document.get("workload_graph", []):
        yield (n["Id"], n["Name"], None, None, None, n["runtime"] * 1000 if "runtime" in n else None)


def documents(path):
    if path.endswith((".tgz", ".tar.gz")):
        with tarfile.open(path) as tar:
            for member in tar.getmembers():
                if member.isfile() and not os.path.basename(member.name).startswith("._"):
                    yield member.name, tar.extractfile(member).read()
    else:
        with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
            yield path, file.read()


def nodes(path):
    out = []
    for name, data in documents(path):
        out += of_protobuf(data) if name.endswith(".et") else of_json(json.loads(data))
    return out


def main():
    folder = shared_or_leave("samples", "torch_et")
    check, tool = Checker(), Neurolens(sys.argv)
    for path in sorted(glob.glob(os.path.join(folder, "**", "*.*"), recursive=True)):
        if not os.path.isfile(path):
            continue
        want = nodes(path)
        got = []
        for row in tool.sql(path, 'SELECT "index", name, parent, external_id, input_shapes, total_ns FROM nodes'):
            row = list(row.values()) if isinstance(row, dict) else list(row)
            if row[4] and row[4].startswith("[") and not any(n[4] == row[4] for n in want[:1]):
                try:
                    row[4] = plain(json.loads(row[4]))
                except ValueError:
                    pass
            got.append(tuple(row))
        want = [tuple(json.loads(v) if i == 4 and isinstance(v, str) and "'" not in v else v
                      for i, v in enumerate(n)) for n in want]
        want = [n[:4] + (plain(n[4]),) + n[5:] for n in want]
        got = [n[:4] + (plain(json.loads(n[4])) if isinstance(n[4], str) and "'" not in n[4] else n[4],) + n[5:]
               for n in got]
        wrong = [(a, b) for a, b in zip(want, got) if a != b][:2]
        check.equal("%s nodes (%d)" % (path[len(folder) + 1:][-60:], len(want)), (len(want), []), (len(got), wrong))
    check.finish()


main()
