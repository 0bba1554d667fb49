#!/usr/bin/env python3
"""Properties that must hold whatever the trace: a second, brute-force implementation agrees on
random traces, and shifting times, permuting events, using other thread counts, compressing, or
splitting ranks over files change no answer.
"""
import gzip
import json
import random
import re
import tempfile
from pathlib import Path

from harness import ROOT, TESTS, Tally, forked as neurolens

tally = Tally("invariants")


def report(name, good, detail=""):
    tally.check(name, good, detail)


def ask(*arguments):
    """Runs neurolens with JSON output and gives the parsed document."""
    call = neurolens([*arguments, "--format", "json", "--no-cache"])
    if call.status != 0:
        raise SystemExit(f"{arguments}: {call.describe()}")
    return json.loads(call.stdout)


def micros(ns):
    """ns as the decimal number of microseconds that Kineto writes."""
    return f"{ns // 1000}.{ns % 1000:03d}"


NAMES = ["gemm_kernel", "void elementwise<int>(int)", "softmax", "layer_norm"]


def random_events(rng, rank=0, count=300):
    """Launch + device event pairs on three streams: kernels, NCCL kernels, copies, memsets."""
    events, correlation = [], 1
    for _ in range(count):
        ts = rng.randrange(0, 2_000_000)
        dur = rng.choice([0, 1, 7, rng.randrange(0, 4000), rng.randrange(0, 40_000)])
        kind = rng.choice(["kernel", "kernel", "kernel", "nccl", "copy", "memset"])
        stream = {"kernel": rng.choice([7, 7, 13]), "nccl": 20, "copy": 13, "memset": 7}[kind]
        name = {"kernel": rng.choice(NAMES), "nccl": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                "copy": "Memcpy HtoD (Pinned -> Device)", "memset": "Memset (Device)"}[kind]
        cat = {"copy": "gpu_memcpy", "memset": "gpu_memset"}.get(kind, "kernel")
        events.append({"kind": kind, "ts": ts, "dur": dur, "name": name, "cat": cat,
                       "stream": stream, "correlation": correlation, "rank": rank})
        correlation += 1
    return events


def document(events, rank=None, shift=0, permute=None):
    """The events as Kineto JSON text, times exact to the ns."""
    lines = []
    for e in events:
        lines.append('{"ph":"X","cat":"%s","name":"%s","pid":0,"tid":%d,"ts":%s,"dur":%s,"args":'
                     '{"device":0,"context":1,"stream":%d,"correlation":%d,"bytes":64}}'
                     % (e["cat"], e["name"], e["stream"], micros(e["ts"] + shift),
                        micros(e["dur"]), e["stream"], e["correlation"]))
        lines.append('{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":50,"tid":50,'
                     '"ts":%s,"dur":0.900,"args":{"correlation":%d}}'
                     % (micros(e["correlation"] * 1000 + shift), e["correlation"]))
    if permute:
        permute.shuffle(lines)
    head = {"schemaVersion": 1, "baseTimeNanoseconds": 1727743122000000000}
    if rank is not None:
        head["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(lines) + "\n]}\n"


def expected(events):
    """Breakdown by painting every nanosecond boundary: slow, obvious, independent."""
    bounds = sorted({t for e in events for t in (e["ts"], e["ts"] + e["dur"])})
    classes = {"kernel": 0, "nccl": 1, "copy": 2, "memset": 2}
    sums = [0, 0, 0, 0]
    starts = sorted(events, key=lambda e: e["ts"])
    active, at = [], 0
    for low, high in zip(bounds, bounds[1:]):
        while at < len(starts) and starts[at]["ts"] <= low:
            active.append(starts[at])
            at += 1
        active = [e for e in active if e["ts"] + e["dur"] > low]
        busy = {classes[e["kind"]] for e in active}
        sums[min(busy) if busy else 3] += high - low
    wall = bounds[-1] - bounds[0]
    return {"wall_ns": wall, "compute_ns": sums[0], "exposed_comm_ns": sums[1],
            "exposed_copy_ns": sums[2], "idle_ns": sums[3]}


def write(folder, name, text):
    path = Path(folder) / name
    path.write_text(text)
    return str(path)


def answers(path, *options):
    """What must not change: every table of the report that is about time and counts."""
    result = ask("analyze", path, *options)["result"]
    keep = {}
    for key in ("breakdown", "kernels", "copies", "overlap"):
        rows = result.get(key) or []
        keep[key] = sorted(json.dumps({k: v for k, v in row.items() if k != "start_ns"},
                                      sort_keys=True) for row in rows)
    return keep


def check_random(folder, seed):
    rng = random.Random(seed)
    events = random_events(rng)
    path = write(folder, f"r{seed}.json", document(events))
    rows = ask("sql", path, "SELECT wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns"
               " FROM time_breakdown")["result"]["rows"]
    want = list(expected(events).values())
    report(f"breakdown seed {seed}", rows == [want], f"expected {want} got {rows}")
    wall, *parts = rows[0]
    report(f"identity seed {seed}", wall == sum(parts), f"{wall} != {sum(parts)}")
    linked = ask("sql", path, "SELECT count(*), count(launch) FROM kernels")["result"]["rows"][0]
    report(f"linked seed {seed}", linked[0] == linked[1], str(linked))


def check_same(folder, name, base, path, *options):
    got = answers(path, *options)
    report(name, got == base, "the answers differ" if got.keys() == base.keys() else "sections")


def check_metamorphic(folder):
    events = random_events(random.Random(99), count=800)
    base_path = write(folder, "base.json", document(events))
    base = answers(base_path)
    shift = 86_400_000_000_123
    check_same(folder, "times shifted by a day and 123 ns", base,
               write(folder, "shift.json", document(events, shift=shift)))
    check_same(folder, "events permuted", base,
               write(folder, "permuted.json", document(events, permute=random.Random(5))))
    for threads in ("1", "2", "7"):
        check_same(folder, f"--threads {threads}", base, base_path, "--threads", threads)
    packed = Path(folder) / "packed"
    packed.write_bytes(gzip.compress(document(events).encode()))
    check_same(folder, "gzip under a name without extension", base, str(packed))


def check_ranks(folder):
    """Two ranks in one folder give what each gives alone."""
    ranks = Path(folder) / "ranks"
    ranks.mkdir()
    alone = []
    columns = ("SELECT rank, device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns"
               " FROM time_breakdown")
    for rank in (0, 1):
        events = random_events(random.Random(rank + 1000), rank)
        path = write(ranks, f"rank{rank}.json", document(events, rank=rank))
        alone += ask("sql", path, columns)["result"]["rows"]
    both = ask("sql", str(ranks), columns)["result"]["rows"]
    report("two ranks in a folder", both == alone, f"expected {alone} got {both}")


def dump(path, threads, without=()):
    """Every row of every table, coverage with it."""
    tables = re.findall(r'NL_TABLE\(\w+, "(\w+)"',
                        Path(ROOT, "src", "store", "schema.def").read_text())
    query = ";".join(f"SELECT * FROM {table}" for table in [*tables, "coverage"] if table not in without)
    call = neurolens(["sql", path, query, "--format", "csv", "--no-cache", "--threads", threads])
    if call.status != 0:
        raise SystemExit(f"{path}: {call.describe()}")
    return call.stdout


DAMAGED = {
    "a lost quote": '{"ph":"X","cat":"cpu_op","name":"say "hi","pid":1,"tid":1,"ts":5,"dur":1}',
    "brackets behind a bare quote":
        '{"ph":"X","cat":"cpu_op","name":"say "hi]}}","pid":1,"tid":1,"ts":5,"dur":1}',
    "a bracket too few":
        '{"ph":"X","cat":"cpu_op","name":"say","pid":1,"tid":1,"ts":5,"dur":1,"args":{"a":[1,2}',
    "a bracket too many": '{"ph":"X","cat":"cpu_op","name":"say","pid":1,"tid":1,"ts":5,"dur":1}}}',
    "an event inside an event": '{"ph":"X","cat":"cpu_op","name":"interleaved {"ph":"X"',
    "an end of the list among its events": "]",
}


def halves(count=24000):
    """Begins, ends and arrows of many threads whose names come up in other blocks than those before:
    threads that race to number lanes and names do it in another order every time."""
    kinds = ['"ph":"B"', '"ph":"E"', '"ph":"b","cat":"c%d","id":%d', '"ph":"e","cat":"c%d","id":%d',
             '"ph":"s","cat":"f%d","id":%d', '"ph":"f","cat":"f%d","id":%d']
    for i in range(count):
        turn, kind = divmod(i, len(kinds))
        lane = turn // 10 * 7 % 400
        what = kinds[kind] % (lane % 7, turn) if kind > 1 else kinds[kind]
        yield ('{%s,"name":"op %d","pid":%d,"tid":%d,"ts":%d,"args":{"at":"%d %s"}}'
               % (what, lane, lane % 3, lane, turn // 50, turn, "x" * 60))


def check_threads(folder):
    """The same bytes whatever the number of threads: of damaged text, too, where several threads
    must find the same events; the made files are larger than the blocks that threads take."""
    paths = sorted(path for path in Path(TESTS, "corpus").rglob("*")
                   if path.is_file() and path.suffix != ".py"
                   and path.name not in ("README", "README.md", ".gitignore"))
    paths.append(Path(write(folder, "halves.json", '{"traceEvents": [\n' + ",\n".join(halves()) +
                            "]}")))
    event = '{"ph":"X","cat":"cpu_op","name":"op %d","pid":1,"tid":1,"ts":%d,"dur":1,"args":{}}'
    for name, damaged in DAMAGED.items():
        lines = [event % (i % 97, i * 10) for i in range(30000)]
        for at in (29990, 15000, 10000):
            lines.insert(at, damaged)
        paths.append(Path(write(folder, name + ".json", '{"traceEvents": [\n' +
                                ",\n".join(lines) + '],\n"traceName": "x"}')))
    for path in paths:
        one = dump(str(path), "1")
        for threads in ("2", "5"):
            report(f"{path.name} with {threads} threads", dump(str(path), threads) == one,
                   "another dump of all tables than with one")
    check_packed(folder, [path for path in paths if path.parent == Path(folder)] + [sizes(folder)])


def sizes(folder):
    """Events of all sizes, larger ones than the pieces that are unpacked at a time among them."""
    chance = random.Random(8)
    event = '{"ph":"X","cat":"cpu_op","name":"op %d","pid":1,"tid":1,"ts":%d,"dur":1,"args":{"text":"%s"}}'
    lengths = [chance.choice((0, 50, 4000, 70000)) for _ in range(400)]
    for at, length in ((3, 3 << 20), (100, 65500), (101, 65536), (200, 1 << 20), (201, 1 << 20), (390, 5 << 20)):
        lengths[at] = length
    lines = [event % (i % 97, i * 10, "y" * length) for i, length in enumerate(lengths)]
    return Path(write(folder, "sizes.json", '{"traceEvents": [\n' + ",\n".join(lines) + "]}"))


def check_packed(folder, paths):
    """What is unpacked while it is read, where it lies, gives the rows of the file itself."""
    packed = Path(folder) / "unpacked"
    packed.mkdir()
    for path in paths:
        plain = dump(str(path), "1", {"sources"})
        (packed / path.name).write_bytes(gzip.compress(path.read_bytes(), 1))
        for threads in ("1", "2", "5"):
            report(f"{path.name}, packed, with {threads} threads", dump(str(packed / path.name), threads, {"sources"}) == plain,
                   "another dump of all tables than of the file itself")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(8):
            check_random(folder, seed)
        check_metamorphic(folder)
        check_ranks(folder)
        check_threads(folder)
    tally.finish()


if __name__ == "__main__":
    main()
