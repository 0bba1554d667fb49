#!/usr/bin/env python3
"""Measured roofs: kept by host, preferred for profiles of that host, and never those of another machine.

    tests/roofs.py [WORD...]      the parts whose name contains a WORD

Roofs are planted in a ledger, so that rates, roofs and headroom can be worked out by hand.
"""
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile

from harness import FIXTURES, TESTS, Tally, forked as neurolens

tally = Tally("roofs")

PEAK, BYTES = 1e11, 2e10  # of the planted host: FLOP/s of FP32, B/s


def call(*words, timeout=120, extra=None):
    return neurolens([*words], timeout=timeout, extra=extra)


def asked(*words):
    done = call(*words, "--format", "json", "--no-cache")
    if done.status:
        raise AssertionError(done.describe())
    return json.loads(done.stdout)


def cpu_trace(folder, meta=None):
    """A product bound by arithmetic, one bound by memory, an addition, and a product in a type without a roof."""
    path = os.path.join(folder, "cpu%d.json" % (len(meta or {})))

    def op(name, ts, dur, dims, kind):
        return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
                "args": {"Input Dims": dims, "Input type": [kind] * len(dims)}}
    events = [op("aten::mm", 0, 40000, [[1000, 1000], [1000, 1000]], "float"),
              op("aten::mv", 50000, 400, [[1000, 1000], [1000]], "float"),
              op("aten::add", 60000, 1000, [[1000, 1000], [1000, 1000], []], "float"),
              op("aten::mm", 70000, 1000, [[64, 64], [64, 64]], "c10::BFloat16")]
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "record_shapes": 1, "traceEvents": events, **(meta or {})}))
    return path


def plant(ledger, host, cpu, processors, rows):
    """Rows of (device, type, threads, FLOP/s, B/s) in table roofs."""
    if not os.path.exists(os.path.join(ledger, "ledger.db")):
        assert call("add", os.path.join(FIXTURES, "ort_cpu_mlp.json.gz"), "--ledger", ledger).status == 0
    with sqlite3.connect(os.path.join(ledger, "ledger.db")) as database:
        database.execute("DELETE FROM roofs WHERE host = ? AND cpu = ?", (host, cpu))
        database.executemany("INSERT INTO roofs VALUES(?, ?, ?, ?, ?, ?, ?, ?, 'planted', 1750000000000000000)",
                             [(host, cpu, processors, *row) for row in rows])
    database.close()


def operators(path, *words):
    rows = asked("sql", path, "SELECT name, dtype, peak_flops_per_s, peak_bytes_per_s, roof_share, bound, headroom_ns, "
                 "attainable_flops_per_s FROM roofline WHERE kind = 'operator'", *words)["result"]["rows"]
    return {(row[0], row[1]): row[2:] for row in rows}


def told(path, section, *words):
    """A section as text, its lines joined: notes stand there alone."""
    return " ".join(call("analyze", path, "--section", section, "--no-cache", *words).stdout.split())


def near(a, b):
    return a is not None and abs(a - b) <= 1e-6 * abs(b)


def measured_later(folder):
    """A report that was kept is no longer the answer when roofs of its host were measured since."""
    ledger, base, path = (os.path.join(folder, name) for name in ("later", "base.json", "later.json"))
    shutil.copyfile(cpu_trace(folder, {"hostname": "node7"}), base)
    subprocess.run([sys.executable, os.path.join(TESTS, "..", "tools", "scale_chrome.py"), base, path, "30"], check=True,
                   stdout=subprocess.DEVNULL)
    plant(ledger, "elsewhere", "Fast CPU", 8, [("", "fp32", 8, PEAK, BYTES)])

    def look():
        done = call("analyze", path, "-v", "--ledger", ledger, "--host", "node7", "--section", "roofline", "--format", "json")
        return "report is from the cache" in done.stderr, json.loads(done.stdout)["result"]
    first, again = look(), look()
    plant(ledger, "node7", "", 8, [("", "fp32", 8, PEAK, BYTES)])
    roofs, kept = look(), look()
    plant(ledger, "node7", "", 8, [("", "fp32", 8, 2 * PEAK, BYTES)])
    higher = look()
    tally.check("a report is kept", [look_[0] for look_ in (first, again, roofs, kept, higher)] ==
                [False, True, False, True, False] and first[1] == again[1] and roofs[1] == kept[1],
                [look_[0] for look_ in (first, again, roofs, kept, higher)])
    tally.check("and not the answer once other roofs were measured",
                first[1] != roofs[1] and roofs[1] != higher[1], (str(first[1])[:400], str(roofs[1])[:400]))


def by_hand(folder):
    ledger = os.path.join(folder, "hand")
    path = cpu_trace(folder)
    plant(ledger, "node7", "Fast CPU", 8, [
        ("", "fp32", 1, PEAK / 4, BYTES / 2), ("", "fp32", 8, PEAK, BYTES), ("", "fp64", 8, PEAK / 2, None)])
    got = operators(path, "--ledger", ledger, "--host", "node7")
    mm, mv, add, half = (got[key] for key in (("aten::mm", "fp32"), ("aten::mv", "fp32"), ("aten::add", "fp32"),
                                              ("aten::mm", "bf16")))
    # 2·10^9 operations at 10^11 a second: 20 ms of 40; at 80 % of the roof 25 ms, so 15 ms are left.
    tally.check("a product against the FP32 peak of most threads", mm[:2] == [PEAK, BYTES] and near(mm[2], 0.5) and
                mm[3] == "compute" and mm[4] == 15000000 and near(mm[5], PEAK), mm)
    # 4·(10^6 + 2·10^3) bytes at 2·10^10 a second: 200.4 µs of 400.
    tally.check("a product with a vector against memory", near(mv[2], 0.501) and mv[3] == "memory" and
                abs(mv[4] - (400000 - 200400 / 0.8)) <= 1, mv)
    # 12·10^6 bytes and the scalar's 4 at 2·10^10 a second: 600 µs of 1000.
    tally.check("an addition against memory", near(add[2], 0.6000002) and add[3] == "memory" and
                abs(add[4] - 250000) <= 1, add)
    tally.check("a type that was not measured has no roof", half[0] is None and half[2] is None and half[4] is None, half)
    note = told(path, "compute", "--ledger", ledger, "--host", "node7")
    tally.check("the note names the measurement", "measured on node7 with up to 8 threads (planted), 2025-06-15" in note, note)
    efficiency = asked("sql", path, "SELECT count(*) FROM roofline WHERE kind = 'device' AND peak_bytes_per_s = %f" % BYTES,
                       "--ledger", ledger, "--host", "node7")["result"]["rows"]
    tally.check("the device row has memory's roof", efficiency == [[1]], efficiency)


def foreign(folder):
    """No host, another host, two machines of one name, and a recorded host that --host contradicts."""
    ledger = os.path.join(folder, "foreign")
    path = cpu_trace(folder)
    plant(ledger, "node7", "Fast CPU", 8, [("", "fp32", 8, PEAK, BYTES)])
    for name, words, says in (
            ("a profile that tells no host has none", (), "does not record its host"),
            ("nor has one of another host", ("--host", "node8"), "none were measured on host node8")):
        got = operators(path, "--ledger", ledger, *words)
        note = told(path, "roofline", "--ledger", ledger, *words)
        tally.check(name, all(row[0] is None and row[4] is None for row in got.values()) and
                    says in note and "neurolens roof" in note, (got, note))
    plant(ledger, "node7", "Slow CPU", 8, [("", "fp32", 8, PEAK / 10, BYTES)])
    got = operators(path, "--ledger", ledger, "--host", "node7")
    tally.check("nor one of two machines with that name", all(row[0] is None for row in got.values()), got)
    done = call("add", path, "--ledger", ledger, "--no-cache", "--set", "hardware.host_name=node7",
                "--set", "hardware.cpu_model=Slow CPU")
    got = operators("@", "--ledger", ledger)
    tally.check("a run whose facts tell which has its roofs", done.status == 0 and
                got[("aten::mm", "fp32")][0] == PEAK / 10, (done.describe(), got))
    got = operators("@", "--ledger", ledger, "--host", "node8")
    tally.check("a recorded host wins over --host", got[("aten::mm", "fp32")][0] == PEAK / 10, got)


def nsys_host(folder):
    """Nsight Systems records the machine's name: its roofs need no --host; "unknown" names no processor."""
    source = os.path.join(TESTS, "corpus", "nsys", "era-3.25-all.sqlite")
    for processor in ("Fast CPU", "unknown"):
        path = os.path.join(folder, "nsys-%s.sqlite" % processor.split()[0])
        shutil.copy(source, path)
        os.chmod(path, 0o644)
        with sqlite3.connect(path) as database:
            database.execute("DELETE FROM TARGET_INFO_SYSTEM_ENV WHERE name IN ('Hostname', 'CpuDescription')")
            database.executemany("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(0, 'Local', ?, 0, ?)",
                                 [("Hostname", "node7"), ("CpuDescription", processor)])
        database.close()
        known = asked("sql", path, "SELECT key, value FROM metadata WHERE key IN ('Hostname', 'CpuDescription') ORDER BY key")
        expected = [["CpuDescription", processor]] * (processor != "unknown") + [["Hostname", "node7"]]
        tally.check("Nsight Systems' host and processor (%s)" % processor, known["result"]["rows"] == expected, known)
        done = call("info", path, "--host", "node8", "--no-cache")
        tally.check("its host is that of the profile (%s)" % processor,
                    "the profile was recorded on node7" in done.stderr, done.describe())


def exceeded(folder):
    """A roof that was measured beside other work: the profile is faster, which stands in the first line of efficiency."""
    ledger = os.path.join(folder, "exceeded")
    path = cpu_trace(folder)
    plant(ledger, "node7", "Fast CPU", 8, [("", "fp32", 8, PEAK / 10, BYTES)])
    words = ("analyze", path, "--section", "compute", "--ledger", ledger, "--host", "node7")
    rows = asked(*words)["result"]
    rows = rows["compute"] if isinstance(rows, dict) else rows
    order = [row["what"] for row in rows]
    over = next((row for row in rows if row["what"] == "over the roof"), {"share": 0, "says": ""})
    tally.check("a measured roof that the profile exceeds is said before what follows from it",
                abs(over["share"] - 5) < 1e-9 and "too low" in over["says"] and
                order.index("over the roof") < order.index("bound by"), rows)
    plant(ledger, "node7", "Fast CPU", 8, [("", "fp32", 8, PEAK, BYTES)])
    short = told(path, "compute", "--ledger", ledger, "--host", "node7")
    tally.check("and nothing where it is not exceeded", "bound by" in short and "over the roof" not in short, short)


def kept(folder):
    """What `roof` measures is kept by host; the highest counts; --replace forgets; merge brings it along."""
    ledger, other = os.path.join(folder, "kept"), os.path.join(folder, "other")
    path = cpu_trace(folder)
    first = call("roof", "--ledger", ledger, "--format", "json")
    note = json.loads(first.stdout)
    host = socket.gethostname()
    got = operators(path, "--ledger", ledger, "--host", host)[("aten::mm", "fp32")]
    most = max(row["flops_per_s"] for row in note["result"])
    tally.check("profiles of this host are judged by it", got[0] > most * (1 - 1e-9), (got, most))
    with sqlite3.connect(os.path.join(ledger, "ledger.db")) as database:
        database.execute("UPDATE roofs SET flops_per_s = 1e18")
    database.close()
    again = call("roof", "--ledger", ledger, "--only", "cpu")
    tally.check("roof says for whom it keeps", "kept for profiles of host %s" % host in " ".join(again.stdout.split()),
                again.describe())
    got = operators(path, "--ledger", ledger, "--host", host)[("aten::mm", "fp32")]
    tally.check("the highest of several measurements counts", got[0] == 1e18, got)
    merged = call("ledger", "merge", ledger, other)
    got = operators(path, "--ledger", other, "--host", host)[("aten::mm", "fp32")]
    tally.check("merge brings roofs along", merged.status == 0 and got[0] == 1e18, (merged.describe(), got))
    call("roof", "--ledger", ledger, "--replace")
    got = operators(path, "--ledger", ledger, "--host", host)[("aten::mm", "fp32")]
    tally.check("--replace forgets them", got[0] is not None and got[0] < 1e17, got)
    before = os.path.getsize(os.path.join(ledger, "ledger.db"))
    none = call("roof", "--only", "cpu", "--no-keep", "--ledger", os.path.join(folder, "nowhere"), "--format", "json")
    lacks = call("roof", "--only", "gpu", "--ledger", os.path.join(folder, "nowhere"), extra={"LD_LIBRARY_PATH": ""})
    if lacks.status:  # a machine with a GPU measures it
        tally.check("without a GPU --only gpu ends with 5, says what to do and keeps nothing", lacks.status == 5 and not lacks.stdout and
                    not os.path.exists(os.path.join(folder, "nowhere")) and "no GPU was measured: " in lacks.stderr and "`neurolens roof --only cpu`" in lacks.stderr, lacks.describe())
    tally.check("--no-keep leaves ledgers alone", none.status == 0 and not os.path.exists(os.path.join(folder, "nowhere"))
                and before, none.describe())


def hostile(folder):
    """Rows of a ledger are input: absurd figures are unknown, long texts are cut."""
    ledger = os.path.join(folder, "hostile")
    path = cpu_trace(folder)
    plant(ledger, "node9", "X" * 5000, 8, [
        ("", "fp32", -1, float("inf"), -5), ("", "fp64", 2 ** 40, "many", None), ("Y" * 900, "Z" * 900, 1, 1e300, 1e300)])
    got = call("analyze", path, "--section", "roofline", "--ledger", ledger, "--host", "node9", "--no-cache")
    tally.check("absurd roofs are no roofs", got.status == 0 and "inf" not in got.stdout, got.describe())


# ---- GPUs, by stand-ins for the makers' libraries (record/mock_gpublas.c) ----

CUDA = {"fp64": 5e13, "fp32": 4e13, "tf32": 3e14, "fp16": 7e14, "bf16": 8e14, "int8": 1.5e15, "fp8": 1.6e15, None: 3e12}
ROCM = {"fp64": 1e14, "fp32": 1.2e14, "fp16": 9e14, "bf16": 1e15, "int8": 2e15, None: 3e12}
PARTS = {"cuda": [("libcuda.so.1", "-DRUNTIME -DCUDA", ""), ("libcublas.so.12", "-DBLAS -DCUDA", "libcuda.so.1"),
                  ("libcublasLt.so.12", "-DLT -DCUDA", "libcuda.so.1")],
         "rocm": [("libamdhip64.so.6", "-DRUNTIME", ""), ("librocblas.so.4", "-DBLAS", "libamdhip64.so.6")]}


def stand_ins(folder, maker):
    """The libraries of a maker in a folder of their own; None without a compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    place = os.path.join(folder, "lib-" + maker)
    if not compiler:
        return None
    if os.path.isdir(place):
        return place
    os.makedirs(place)
    for name, words, needs in PARTS[maker]:
        subprocess.run([*compiler.split(), "-O1", "-shared", "-fPIC", "-Wl,-soname," + name, *words.split(), "-o",
                        os.path.join(place, name), os.path.join(TESTS, "record", "mock_gpublas.c"),
                        *(["-L" + place, "-l:" + needs] if needs else [])], check=True)
    return place


def measured(folder, places, mode="", ledger=None, status=0):
    """(rates by device and type, what the stand-ins found wrong, stderr) of a call that ends with the status"""
    log = os.path.join(folder, "wrong.log")
    if os.path.exists(log):
        os.unlink(log)
    done = call("roof", "--only", "gpu", "--format", "json", *(["--ledger", ledger] if ledger else ["--no-keep"]),
                extra={"LD_LIBRARY_PATH": os.pathsep.join(places), "MOCK_LOG": log, "MOCK_GPU": mode})
    if done.status != status or status and done.stdout:
        raise AssertionError(done.describe())
    found = {}
    for row in [] if status else json.loads(done.stdout)["result"]:
        if row["device"]:
            found[(row["device"], row["type"])] = row["flops_per_s"] if row["type"] else row["bytes_per_s"]
    wrong = open(log, encoding="utf-8").read() if os.path.exists(log) else ""
    return found, wrong, done.stderr


def agrees(found, device, rates):
    return set(found) == {(device, kind) for kind in rates} and all(
        abs(found[(device, kind)] / rate - 1) < 1e-4 for kind, rate in rates.items())


def gpus(folder):
    cuda, rocm = stand_ins(folder, "cuda"), stand_ins(folder, "rocm")
    if not cuda:
        tally.skip("GPUs", "no C compiler")
        return
    nvidia, amd = "NVIDIA Stand-in 9000", "AMD Instinct Stand-in"
    got, wrong, says = measured(folder, [cuda])
    tally.check("cuBLAS and cuBLASLt: every type and memory, each argument right", agrees(got, nvidia, CUDA) and not wrong,
                (got, wrong, says))
    got, wrong, says = measured(folder, [rocm])
    tally.check("rocBLAS: every type that it has", agrees(got, amd, ROCM) and not wrong, (got, wrong, says))
    tally.check("and says which it lacks", all("%s not measured: rocBLAS has no product of that type" % kind in says
                                               for kind in ("tf32", "fp8")), says)
    for mode, lacks, line in (("nofp8", "fp8", "fp8 not measured: cuBLASLt: the requested functionality is not supported (15)"),
                              ("nobf16", "bf16", "bf16 not measured: cuBLAS: the requested functionality is not supported (15)")):
        got, wrong, says = measured(folder, [cuda], mode)
        tally.check("without %s the rest goes on" % lacks, line in says and not wrong and agrees(
            got, nvidia, {kind: rate for kind, rate in CUDA.items() if kind != lacks}), (got, wrong, says))
    got, wrong, says = measured(folder, [cuda], "small")
    tally.check("a small memory takes smaller matrices",
                agrees(got, nvidia, {kind: rate for kind, rate in CUDA.items() if kind}) and not wrong, (got, wrong, says))
    tally.check("but copies that a cache could hold are not measured", "memory not measured" in says, says)
    got, wrong, says = measured(folder, [cuda], "two")
    tally.check("two GPUs of one product are measured once", agrees(got, nvidia, CUDA) and not wrong, (got, wrong, says))
    for mode, line in (("full", "memory not measured: the GPU's memory is full"),
                       ("none", "no GPU was measured: the NVIDIA driver knows no GPU"),
                       ("init", "no GPU was measured: cuInit: no CUDA-capable device is detected (100)")):
        got, wrong, says = measured(folder, [cuda], mode, status=5)
        tally.check("an error in a line: " + mode, line in says and says.count(line) == 1 and "`neurolens roof --only cpu`" in says and not wrong, (wrong, says))
    alone = os.path.join(folder, "driver-alone")
    os.makedirs(alone)
    shutil.copy(os.path.join(cuda, "libcuda.so.1"), alone)
    got, wrong, says = measured(folder, [alone], status=5)
    tally.check("a driver without cuBLAS says so", "no cuBLAS: libcublas.so.13 is not there" in says, says)
    done = call("roof", "--only", "cpu", "--no-keep", "--format", "json", extra={"LD_LIBRARY_PATH": cuda})
    tally.check("--only cpu leaves GPUs alone", not any(row["device"] for row in json.loads(done.stdout)["result"]), done.describe())


def gpu_roofs_count(folder):
    """Of a profile of that host the measured figure beats the data sheet's; MFU stays with the sheet's."""
    ledger = os.path.join(folder, "gpu")
    plant(ledger, "node7", "", 0, [("NVIDIA H100 80GB HBM3", "bf16", 0, 8e14, None), ("NVIDIA H100 80GB HBM3", "", 0, None, 3e12),
                                   ("", "fp32", 8, PEAK, BYTES)])
    path = os.path.join(folder, "gpu.json")
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "args": {
                  "Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16"] * 2}},
              {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 5,
               "args": {"correlation": 1}},
              {"ph": "X", "cat": "kernel", "name": "ampere_bf16_s16816gemm_bf16_128x128", "pid": 0, "tid": 7, "ts": 100,
               "dur": 1000, "args": {"device": 0, "stream": 7, "correlation": 1, "grid": [1, 1, 1], "block": [128, 1, 1]}}]
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], "traceEvents": events}))
    for host, peak, memory in (("node7", 8e14, 3e12), ("node8", 989.5e12, 3350e9)):
        got = operators(path, "--ledger", ledger, "--host", host)[("aten::mm", "bf16")]
        tally.check("roofs of host " + host, abs(got[0] / peak - 1) < 1e-3 and abs(got[1] / memory - 1) < 1e-3, got)
        row = asked("analyze", path, "--section", "efficiency", "--ledger", ledger, "--host", host)["result"]["efficiency"][0]
        want = 2 * 4096 ** 3 / 1e-3 / 989.5e12
        tally.check("and HFU by the data sheet", abs(row["hfu"] / want - 1) < 1e-3, row)


def main():
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for part in (by_hand, foreign, nsys_host, exceeded, measured_later, kept, hostile, gpus, gpu_roofs_count):
            if not words or any(word in part.__name__ for word in words):
                part(folder)
    tally.finish()


if __name__ == "__main__":
    main()
