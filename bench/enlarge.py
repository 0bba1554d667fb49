"""Makes a large profile of one format out of a small one, by repeating its records.

    bench/enlarge.py FUNCTION SMALL LARGE BYTES

Repeated records get later times and ids of their own where the format has them, so that the large
file has the statistics of the small one and none of its records is merged away. Each function
takes the small file's bytes, decompressed, and returns those of the large one; sqlite() takes paths.
"""
import copy
import functools
import gc
import gzip
import json
import marshal
import os
import pickle
import random
import re
import shutil
import sqlite3
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests",
                                "oracle"))
from protowire import fields, packed, varint  # noqa: E402

gc.disable()  # what is read is large and refers to itself nowhere


def plain(data):
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def copies(unit, size):
    return max(1, size // max(1, len(unit)))


# ---- text ----

def lines(data, size):
    return data * copies(data, size)


def table(data, size):
    """A CSV table: everything up to its header and units once, the rows again and again."""
    rows = data.splitlines(keepends=True)
    at = max(range(len(rows)), key=lambda i: (rows[i].count(b","), -i)) + 1
    while not re.search(rb"[0-9]", rows[at]):
        at += 1
    body = b"".join(rows[at:])
    return b"".join(rows[:at]) + body * copies(body, size)


# ---- JSON ----

def moved(value, step, keys):
    """A copy in which the numbers of some keys are `step` further, for times and ids alike."""
    if isinstance(value, list):
        return [moved(one, step, keys) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: one + step[keys[key]] if key in keys and isinstance(one, (int, float)) else
            moved(one, step, keys) for key, one in value.items()}


def again(records, times, step, keys):
    return [one for k in range(times) for one in
            moved(records, {what: k * far for what, far in step.items()}, keys)]


def times_of(document, size):
    return max(1, size // len(json.dumps(document)))


def ort(data, size):
    events = json.loads(data)
    return json.dumps(again(events, times_of(events, size), {"t": 10**8}, {"ts": "t"})).encode()


def chrome(data, size):
    document = json.loads(data)
    events = document["traceEvents"]
    document["traceEvents"] = again(events, times_of(events, size), {"t": 10**8}, {"ts": "t"})
    return json.dumps(document).encode()


def tensorrt(data, size):
    runs = json.loads(data)
    keys = {key: "t" for key in runs[0] if re.match("(start|end).*Ms", key)}
    return json.dumps(again(runs, times_of(runs, size), {"t": 10**5}, keys), indent=0).encode()


def scalene(data, size):
    document = json.loads(data)
    document["files"] = {"%s/%d" % (name, k): file for k in range(times_of(document, size))
                         for name, file in document["files"].items()}
    return json.dumps(document, indent=4).encode()


def speedscope(data, size):
    document = json.loads(data)
    times = times_of(document["profiles"], size)
    for profile in document["profiles"]:
        for key in ("samples", "weights"):
            profile[key] *= times
    return json.dumps(document).encode()


def v8profile(data, size):
    """More samples of a call tree that is larger: a copy of the nodes for every 300 samples."""
    document = json.loads(data)
    nodes, samples, deltas = document["nodes"], document["samples"], document["timeDeltas"]
    document.update(nodes=[], samples=[], timeDeltas=[])
    step = max(node["id"] for node in nodes)
    repeats = 300 // len(samples) + 1
    unit = len(json.dumps(nodes)) + repeats * len(json.dumps([samples, deltas]))
    for k in range(max(1, size // unit)):
        document["nodes"] += [dict(node, id=node["id"] + k * step, children=[
            child + k * step for child in node.get("children", [])]) for node in nodes]
        document["samples"] += [one + k * step for one in samples] * repeats
        document["timeDeltas"] += deltas * repeats
    return json.dumps(document, separators=(",", ":")).encode()


def pyinstrument(data, size):
    document = json.loads(data)
    root = document["frame_tree"]
    kept = root["children"]
    root["children"] = [dict(child, identifier="run %d\0run.py\0%d" % (k, k + 1))
                        for k in range(times_of(document, size)) for child in kept]
    return json.dumps(document).encode()


def rocjson(data, size):
    document = json.loads(data)
    records = document["rocprofiler-sdk-tool"][0]["buffer_records"]
    keys = {"start_timestamp": "t", "end_timestamp": "t", "internal": "id", "dispatch_id": "id"}
    times = times_of(records, size)
    for name, rows in records.items():
        records[name] = again(rows, times, {"t": 10**12, "id": 10**7}, keys)
    return json.dumps(document).encode()


def torchet(data, size):
    document = json.loads(data)
    keys = {"id": "id", "ctrl_deps": "id", "ctrl": "id"}
    document["nodes"] = again(document["nodes"], times_of(document, size), {"id": 10**6}, keys)
    return json.dumps(document, indent=2).encode()


# ---- Python's own ----

def pstats(data, size):
    """Functions of other files. As in a recorded one, a file's name is one object however many functions
    it has, and numbers over 256 are objects of their own: that is what marshal refers to."""
    functions = marshal.loads(data)

    @functools.cache
    def renamed(path, k):
        return path + str(k)

    @functools.cache
    def other(function, k):
        return (renamed(function[0], k), *function[1:])

    def fresh(numbers):
        return tuple(one * 1.0 if isinstance(one, float) else int(str(one)) for one in numbers)
    return marshal.dumps({other(function, k): (*fresh(facts[:4]), {
        other(caller, k): fresh(numbers) for caller, numbers in facts[4].items()})
        for k in range(copies(data, size)) for function, facts in functions.items()})


def torchmem(data, size):
    document = pickle.loads(data)
    times = copies(pickle.dumps(document["device_traces"]), size)
    for at, events in enumerate(document["device_traces"]):
        document["device_traces"][at] = [
            dict(event, time_us=event["time_us"] + k * 10**8)
            for k in range(times) for event in copy.deepcopy(events)]
    return pickle.dumps(document)


def flightrec(data, size):
    document = pickle.loads(data)
    entries, times = document["entries"], copies(data, size)
    keys = {"record_id": "id", "collective_seq_id": "id"}
    keys.update({key: "t" for key in entries[0] if key.startswith("time_")})
    document["entries"] = again(entries, times, {"id": 10**4, "t": 10**10}, keys)
    return pickle.dumps(document)


# ---- protobuf ----

def number(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(key, value):
    if isinstance(value, int):
        return number(key << 3) + number(value)
    return number(key << 3 | 2) + number(len(value)) + value


def raw(data):
    """(number, value, bytes of the whole field), so that the rest is kept as it was."""
    at = 0
    for key, value in fields(data):
        start = at
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            at += length
        else:
            at += 8 if kind == 1 else 4
        yield key, value, data[start:at]


def pprof(data, size):
    """Samples of 50,000 stacks of a made-up call tree; `data` gives the tables of types and strings.
    No recorded profile of this format is at hand that is larger than 100 KB."""
    chance = random.Random(1)
    texts = [value for key, value, _ in raw(data) if key == 6]
    out = [data]
    for k in range(5000):
        out.append(field(6, b"runtime/package%d.(*Type).Method%d" % (k % 70, k)))
        out.append(field(5, field(1, 1000 + k) + field(2, len(texts) + k) + field(4, 1)))
    for k in range(20000):
        line = field(1, 1000 + k % 5000) + field(2, k % 900 + 1)
        out.append(field(4, field(1, 1000 + k) + field(3, 0x400000 + 16 * k) + field(4, line)))
    types = sum(key == 1 for key, _, _ in raw(data))
    total, stacks = 0, [list(range(15))]
    while total < size:
        stack = chance.choice(stacks)
        if len(stacks) < 50000:
            stack = stack[:len(stack) - chance.randrange(min(len(stack) - 8, 4))]
            stack += [chance.randrange(20000) for _ in range(chance.randrange(1, 4))]
            stacks.append(stack[:60])
        values = b"".join(number(chance.randrange(1, 10**7)) for _ in range(types))
        out.append(field(2, field(1, b"".join(number(1000 + one) for one in reversed(stack))) +
                         field(2, values)))
        total += len(out[-1])
    return b"".join(out)


def later(event, key, step):
    return b"".join(field(key, value + step) if number_ == key else whole
                    for number_, value, whole in raw(event))


def xplane(data, size):
    """Events of every line again, after the longest line's end."""
    events = sum(len(whole) for key, plane, _ in raw(data) if key == 1
                 for inner, line, _ in raw(plane) if inner == 3
                 for number_, _, whole in raw(line) if number_ == 4)
    times, step, out = 1 + (size - len(data)) // events, 10**13, []
    for key, value, whole in raw(data):
        if key == 1:
            plane = []
            for inner, line, text in raw(value):
                if inner == 3:
                    events = [one for number_, one, _ in raw(line) if number_ == 4]
                    line += b"".join(field(4, later(event, 2, k * step))
                                     for k in range(1, times) for event in events)
                    text = field(3, line)
                plane.append(text)
            whole = field(1, b"".join(plane))
        out.append(whole)
    return b"".join(out)


def perfetto(data, size):
    """Packets again with later times; kernel events have times of their own."""
    def bundle(value, step):
        out = []
        for key, one, whole in raw(value):
            if key == 2:
                whole = field(2, later(one, 1, step))
            elif key == 4:
                whole = field(4, b"".join(compact(one, step)))
            out.append(whole)
        return b"".join(out)

    def compact(value, step):
        for key, one, whole in raw(value):
            if key in (1, 6) and isinstance(one, bytes) and one:
                deltas = list(packed([one]))
                whole = field(key, b"".join(map(number, [deltas[0] + step, *deltas[1:]])))
            yield whole

    packets = [list(raw(value)) for key, value, _ in raw(data) if key == 1]
    out = [data]
    for k in range(1, copies(data, size)):
        for packet in packets:
            out.append(field(1, b"".join(
                field(8, value + k * 10**11) if key == 8 else
                field(1, bundle(value, k * 10**11)) if key == 1 else whole
                for key, value, whole in packet)))
    return b"".join(out)


def ncurep(data, size):
    """Blocks again: magic, header, then blocks of header and payload."""
    start = 8 + struct.unpack_from("<I", data, 4)[0]
    return data + data[start:] * (copies(data, size) - 1)


# ---- SQLite ----

TIMES = {"start", "end", "timestamp", "queued", "submitted", "completed"}
# columns of ids, and the table whose rows they number; None: none
IDS = {"id": "", "_id_": "", "event_id": "rocpd_event", "api_id": "rocpd_api",
       "api_ptr_id": "rocpd_api", "op_id": "rocpd_op", "correlationId": None,
       "correlation_id": None, "dispatch_id": None}


def owner(name, column):
    table = re.sub("_[0-9a-f]{8}_[0-9a-f_]{20,}$", "", name)
    return table if IDS[column] == "" else IDS[column] or column


def grows(name, columns):
    """Tables of events, and what belongs to one event."""
    return bool(set(columns) & (TIMES | set(IDS) - {"id", "_id_"})) and not re.search(
        "rocpd_info|_STREAM$", name)


class Table:
    def __init__(self, db, name, columns):
        self.insert = 'INSERT INTO "%s" VALUES (%s)' % (name, ",".join("?" * len(columns)))
        self.rows = list(db.execute('SELECT * FROM "%s"' % name))
        self.owners = ["time" if one in TIMES else owner(name, one) if one in IDS else None
                       for one in columns]

    def steps(self, step):
        """Ids of a copy lie behind those of the one before it."""
        for row in self.rows:
            for value, what in zip(row, self.owners):
                if what not in (None, "time") and isinstance(value, int) and value < 1 << 31:
                    step[what] = max(step.get(what, 0), value + 1)

    def add(self, db, step, k):
        db.executemany(self.insert, (
            [value + k * step.get(what, 0) if what and isinstance(value, int) else value
             for value, what in zip(row, self.owners)] for row in self.rows))


def sqlite(source, target, size):
    shutil.copy(source, target)
    os.chmod(target, 0o644)
    db = sqlite3.connect(target)
    db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF")
    tables, step, k = [], {"time": 10**12}, 1
    for name, in list(db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")):
        columns = [row[1] for row in db.execute('PRAGMA table_info("%s")' % name)]
        if grows(name, columns):
            tables.append(Table(db, name, columns))
            tables[-1].steps(step)
    page = db.execute("PRAGMA page_size").fetchone()[0]
    while db.execute("PRAGMA page_count").fetchone()[0] * page < size:
        for table in tables:
            table.add(db, step, k)
        k += 1
    db.commit()
    db.close()


def main():
    name, source, target, size = sys.argv[1:]
    if name == "sqlite":
        sqlite(source, target, int(size))
        return
    with open(source, "rb") as file:
        data = globals()[name](plain(file.read()), int(size))
    with open(target, "wb") as file:
        file.write(data)


if __name__ == "__main__":
    main()
