#!/usr/bin/env python3
"""Answers of `analyze`: planted traces, one cause each with confounders, whose class, culprit and possible saving
are known by construction; metamorphic changes (shifted, shuffled, renamed) that must not change the class;
the limits of the page; and, where ../shared is there, the verdicts that experts wrote about real profiles.

    tests/answers.py [build/neurolens]
"""
import atexit
import functools
import glob
import json
import marshal
import os
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from answertraces import (EDITS, PLANTED, Program, Trace, captures, compute_bound, held, kinds, launch_bound, launched, loader_stall, prepared,  # noqa: E402
                          preprocessed, slow_host)

TESTS = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else harness.PROGRAM
SHARED = os.path.join(TESTS, "..", "..", "shared")
LEDGERS = tempfile.mkdtemp(prefix="neurolens-answers-")  # an empty one for each run
atexit.register(shutil.rmtree, LEDGERS, True)
passed = failed = skipped = 0


def check(good, what, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("%s answers: %s%s" % ("ok" if good else "FAIL", what, "" if good else ": " + str(detail)))
    return good


def output_of(command, *words, columns=100):
    """Status and output of a command, with an empty ledger. Forked from a program that is loaded already, where that is the one under test."""
    variables = {"COLUMNS": str(columns), "NO_COLOR": "1", "NEUROLENS_LEDGER": tempfile.mkdtemp(dir=LEDGERS)}
    if harness.PROGRAM == PROGRAM:
        done = harness.forked([command, "-q", "--no-cache", *words], timeout=120, cwd=os.getcwd(), extra=variables)
        if done.timed_out:
            raise SystemExit("%s: %s" % (words, done.describe()))
        return done.status, done.stdout
    done = subprocess.run([PROGRAM, command, "-q", "--no-cache", *words], capture_output=True, env=dict(os.environ, **variables), timeout=120)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def run(paths, *words, columns=100):
    return output_of("analyze", *words, *paths, columns=columns)


@functools.lru_cache(maxsize=None)
def page(path):
    """As run([path]), of a sample: what several look at is asked for once."""
    return run([path])


def core_words(folder):
    """Kernels that do without tensor cores are called what they are, the most first; what has next to none of the time is not named."""
    conv, product, few = ("implicit_convolve_sgemm", 1000), ("volta_sgemm_128x64_nn", 600), ("volta_sgemm_128x64_nn", 10)
    for kernels, title in (([conv], "Convolutions on GPU 0 do not use tensor cores: "), ([product], "Matrix products on GPU 0 do not use tensor cores: "),
                           ([product, conv], "Convolutions and matrix products on GPU 0 do not use tensor cores: "),
                           ([few, conv], "Convolutions on GPU 0 do not use tensor cores: ")):
        trace, now = Trace(), 1100
        for i in range(200):
            for name, length in kernels:
                trace.launch(1002 + 2 * i, 1, now, length, name)
                now += length + 2
        path = trace.write(folder, "cores.json")
        answer = json.loads(run([path], "--format", "json")[1])["result"]
        text = " ".join(run([path])[1].split())
        check("all of their time" in text and "that is 100" not in text, "a share of all is said once: " + title, text[:900])
        found = [f["title"] for f in answer["findings"] if f["cause"] == "tensor_core_unused"]
        words = title[0].lower() + title[1:].split(" on ")[0] + " run without tensor cores"
        check(found and found[0].startswith(title) and words in answer["answer"]["sentence"], title, (found, answer["answer"]["sentence"]))


def causes(folder):
    """Causes that are read off kinds of kernels: there when planted, absent below the threshold and when another has the time."""
    for copies, elementwise, wanted in ((100, 0, {"d2d_copy_or_cast_excess"}), (15, 0, set()), (10, 20, set()),
                                        (0, 150, {"elementwise_not_fused"}), (0, 50, set()),
                                        (100, 150, {"d2d_copy_or_cast_excess", "elementwise_not_fused"})):
        path = kinds(copies, elementwise).write(folder, "kinds.json")
        findings = json.loads(run([path], "--format", "json")[1])["result"]["findings"]
        found = {f["cause"]: f for f in findings if f["cause"] in ("d2d_copy_or_cast_excess", "elementwise_not_fused")}
        check(set(found) == wanted, "%d copies and %d elementwise kernels beside 200 products" % (copies, elementwise), set(found))
        for cause, count in (("d2d_copy_or_cast_excess", copies), ("elementwise_not_fused", elementwise)):
            if cause in wanted and cause in found:
                check(found[cause]["cost_ns"] == count * 100000, cause + " costs what its kernels take", found[cause]["cost_ns"])


def spread(folder):
    """A device that is busy all the time, with kernels of so many names: of 11 none takes a tenth, of 9 each does."""
    for names in (11, 9):
        trace = Trace()
        for i in range(names * 20):
            trace.launch(1000 + 8 * i, 5, 1100 + 100 * i, 100, "kernel_%c" % (97 + i % names))
        sentence = json.loads(run([trace.write(folder, "spread.json")], "--format", "json")[1])["result"]["answer"]["sentence"]
        check(("spread over many kernels, most in" in sentence) == (names == 11) and "most in kernel_" in sentence,
              "%d kernels of equal time" % names, sentence)


def recursion(folder):
    """`sort` calls itself four deep for 600 of 1000 us and `leaf` below it: its time with what it calls is 60 %, not
    the sum of all its calls."""
    trace = Trace()
    for turn in range(20):
        begin = 1000 + turn * 1000
        trace.slice("python_function", "main.py(1): other", begin, 400)
        for depth in range(4):
            trace.slice("python_function", "main.py(9): sort", begin + 400 + depth, 600 - 2 * depth)
        trace.slice("python_function", "main.py(30): leaf", begin + 410, 580)
    result = json.loads(run([trace.write(folder, "recursion.json")], "--format", "json")[1])["result"]
    told = " ".join(result["answer"]["notes"])
    check("main.py(9): sort 60 %" in told, "recursion counts once in time with what is called", told)
    totals = {row["name"]: row["total_ns"] for row in result["python"]}
    check(totals["main.py(9): sort"] == 20 * (600 + 598 + 596 + 594) * 1000, "the table sums all calls", totals)


def holders(folder):
    """Of four functions that hold others, the three that hold most are told, most first, whatever they do themselves."""
    trace = Trace()
    for turn in range(20):
        begin = 1000 + turn * 1000
        trace.slice("python_function", "main.py(1): outer", begin, 900)
        trace.slice("python_function", "main.py(2): middle", begin + 10, 800)
        trace.slice("python_function", "main.py(3): inner", begin + 50, 700)
        trace.slice("python_function", "main.py(4): last", begin + 130, 560)
        trace.slice("python_function", "main.py(9): leaf", begin + 300, 380)
        trace.slice("python_function", "main.py(8): apart", begin + 900, 99)
    result = json.loads(run([trace.write(folder, "holders.json")], "--format", "json")[1])["result"]
    told = [note for note in result["answer"]["notes"] if note.startswith("With what they call")]
    check(told == ["With what they call: main.py(1): outer 90 %, main.py(2): middle 80 %, main.py(3): inner 70 %."],
          "functions that hold most with what they call, most first", result["answer"]["notes"])


def joined(folder):
    """Who joins others has handed its work to them: no lock is held too long. Who acquires waits for a lock."""
    for name, joins in (("join (threading.py:1096)", True), ("_wait_for_tstate_lock (threading.py:1132)", True),
                        ("<method 'acquire' of '_thread.lock' objects>", False)):
        trace = Trace()
        for turn in range(20):
            trace.slice("python_function", "model.py(3): part", 1000 + turn * 2000, 600)
            trace.slice("python_function", name, 1600 + turn * 2000, 1400)
        findings = json.loads(run([trace.write(folder, "joined.json")], "--format", "json")[1])["result"]["findings"]
        advice = [s["do"] for f in findings if f["cause"] == "lock_waits" for s in f["suggestions"]]
        check(advice and any("that it joins" in text for text in advice) == joins and
              any("holds the lock" in text for text in advice) != joins, "advice for waiting in " + name, advice)


def work_named_like_waiting(folder):
    """A function that works and is called like one that waits is a hot spot; one that waits is none."""
    for name, hot in (("frame.py(9729): join", True), ("visitor.py(12): accept", True), ("query.py(3): select", True),
                      ("threading.py(1053): join", False), ("selectors.py(451): select", False), ("waits.py(3): wait", False)):
        trace = Trace()
        for turn in range(20):
            trace.slice("python_function", "model.py(3): part", 1000 + turn * 2000, 600)
            trace.slice("python_function", name, 1600 + turn * 2000, 1400)
        findings = json.loads(run([trace.write(folder, "like.json")], "--format", "json")[1])["result"]["findings"]
        found = [finding["culprit"] or finding["title"] for finding in findings if finding["cause"] == "cpu_hotspot"]
        check(any(name in text for text in found) == hot, "%s is %s" % (name, "a hot spot" if hot else "none"), (found, findings))


def steps_of_merged(folder):
    """Processes of one file without ranks each mark every step: it is one step; those that mark in turn have steps of their own."""
    for what, lag, steps in (("at the same time", 137, 12), ("in turn", 20000, 24)):
        trace = Trace()
        for number in range(2):
            for i in range(12):
                begin = 1000 + i * 1000 + number * lag
                trace.slice("user_annotation", "ProfilerStep#%d" % (i + number * 12 if steps > 12 else i), begin, 990, pid=1000 + number)
                for k in range(10):
                    trace.slice("cpu_op", "aten::mm", begin + k * 90, 40, pid=1000 + number)
                    trace.slice("cuda_runtime", "cudaLaunchKernel", begin + k * 90 + 5, 5, pid=1000 + number, correlation=trace.next)
                    trace.slice("kernel", "gemm", begin + k * 90 + 20, 60, pid=number, device=number, stream=7, correlation=trace.next)
                    trace.next += 1
        result = json.loads(run([trace.write(folder, "merged.json")], "--format", "json")[1])["result"]
        lengths = sorted(step["dur_ns"] for step in result["steps"])
        check(len(lengths) == steps and 900000 <= lengths[len(lengths) // 2] <= 1010000,
              "two processes mark their steps %s" % what, (lengths, result["answer"]["notes"]))


def heavy_samples(folder):
    """Weights that no 64 bits hold together stay the largest number there is: they had become negative, and no thread waited."""
    path = os.path.join(folder, "heavy.folded")
    with open(path, "w") as file:
        file.write("main;acquire 9223372036854775807\nmain;work 3\n")
    sentence = json.loads(run([path], "--format", "json")[1])["result"]["answer"]["sentence"]
    check(sentence.startswith("Waiting: the main thread spends 100 % of its samples in acquire"), "samples of the largest weight", sentence)


UUIDS = ["ffffff98132269-7fffffffe3-4cffffffad", "47ffffffb9ffffffc5ffffffc0-6a64-ffff",
         "02ffffffb8ffffffab4b-ffffffee2f-17ff", "ffffffd4ffffffecffffffd1ffffffb7-637"]


def plug_in(folder, name, begins, end, pids=(50, 50, 50, 50), again=(), group=None):
    """One all-reduce of four GPUs as NCCL's profiler plug-in writes it: launched at those µs, ended together; `again` are
    GPUs with a second one later, `group` is when the group call around all begins."""
    def event(kind, first, last, pid, gpu, **more):
        return {"type": kind, "gpuUuid": UUIDS[gpu], "start": {"ts": first, "pid": pid, "tid": pid},
                "stop": {"ts": last, "pid": pid, "tid": pid}, "duration": last - first, **more}
    lines = [event("ncclProfileGroupApi", group, max(begins) + 50, pids[0], 0, commId=77, rank=0, recordType="event")] if group else []
    calls = [(gpu, begin, end) for gpu, begin in enumerate(begins)] + [(gpu, end + 500, end + 9000) for gpu in again]
    for i, (gpu, begin, stop) in enumerate(calls):
        nccl = {"commId": 77, "rank": gpu, "recordType": "event"}
        details = {"func": "AllReduce", "seq": 0, "algo": "RING", "proto": "SIMPLE", "channels": 24, "warps": 17, "count": 1 << 25,
                   "root": 0, "dtype": "ncclFloat32"}
        lines += [event("ncclProfileKernelLaunch", begin - 400, begin, pids[gpu], gpu, extCorrId=i + 1, **nccl),
                  event("ncclProfileColl", begin + 1, begin + 20, pids[gpu], gpu, details=details, **nccl),
                  event("KERNEL", begin, stop, pids[gpu], gpu, recordType="cuptiActivity", extCorrId=i + 1, corrId=100 + i,
                        deviceId=gpu, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream="0x3d", details={"gridX": 24})]
        lines += [event("ncclProfileKernelCh", begin + 30 + channel, stop, pids[gpu], gpu, details={"channel": channel, "pTimer": 1}, **nccl)
                  for channel in range(8)]
    path = os.path.join(folder, name + ".jsonl")
    with open(path, "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def last_gpu(folder):
    """GPUs of one process, or of one each: who is launched last waits for nobody, as all end together. Not where all take the same,
    or where the GPUs have not as many collectives each (clocks of two hosts: lategpus.py)."""
    late = (14000.0, 9500.0, 5000.0, 500.0)
    text = first_lines(plug_in(folder, "late", late, 14600.0))
    check("Communication only: 4 kernels of collectives, 29.40 ms on 4 devices" in text and
          "GPU 0 arrives last: its collectives take 600.0 µs, on the others 9.600 ms on average, which is waiting for it" in text,
          "the last GPU of one process is named", text[:600])
    check("One thread launches them on one GPU after the other: 4 calls, 1.600 ms" in text and "Could save" not in text,
          "and that one thread launches", text[:600])
    check("Before the first launch" not in text, "no set-up without a group call", text[:600])
    late_after = [us + 40000.0 for us in late]
    text = first_lines(plug_in(folder, "set_up", late_after, 54600.0, group=10000.0))
    check("Before the first launch, 30.10 ms pass in its group call" in text, "the set-up in the group call is told", text[:600])
    text = first_lines(plug_in(folder, "short_set_up", late_after, 54600.0, group=11000.0))
    check("Before the first launch" not in text, "but not where it is shorter than the collectives", text[:600])
    text = first_lines(plug_in(folder, "processes", late, 14600.0, pids=(50, 51, 52, 53)))
    check("GPU 0 arrives last: its collectives take 600.0 µs" in text and "One thread" not in text,
          "the last GPU of one process each is named", text[:600])
    for name, path in (("equal", plug_in(folder, "equal", (10.0, 11.0, 12.0, 13.0), 9000.0)),
                       ("uneven", plug_in(folder, "uneven", late, 14600.0, again=(1, 2)))):
        text = first_lines(path)
        check("Communication" in text and "arrives last" not in text, "no last GPU: " + name, text[:500])


def ranks_of_benchmarks(folder):
    """nccl-tests lists its ranks and prints two bandwidths: both are in the answer; other lines are no ranks."""
    head = ("# nThread 1 nGpus 4 minBytes 8 maxBytes 67108864 step: 2(factor) warmup iters: 5 iters: 20 validation: 1\n#\n"
            "# Using devices\n%s#\n"
            "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"
            "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")
    rows = ("    33554432       8388608     float     sum      -1    400.0   83.89  125.83      0    401.0   83.68  125.51      0\n"
            "    67108864      16777216     float     sum      -1    700.0   95.87  143.80      0    710.0   94.52  141.78      0\n")
    listed = "".join("#  Rank %2d Group  0 Pid  64904 on       node0 device  %d [0000:17:00] NVIDIA A100 80GB PCIe\n" % (i, i)
                     for i in range(4))
    for name, ranks, says, never in (
            ("four", listed, " among 4 ranks reaches 95.87 GB/s (algorithm bandwidth; 143.8 GB/s on the bus)", "no such"),
            ("none", "# Rank order follows the devices\n", " reaches 95.87 GB/s (algorithm bandwidth; 143.8 GB/s on the bus)",
             "among")):
        path = os.path.join(folder, "ranks-%s.log" % name)
        with open(path, "w") as file:
            file.write("# Collective test starting: all_reduce_perf\n" + head % ranks + rows)
        text = first_lines(path)
        check(says in text and never not in text, "ranks of a benchmark: " + name, text[:400])


def steps_of_captures(folder):
    """A profiler that writes a file per cycle: each step is of its own file's capture, the answer is that of one file."""
    def written(name, factor, shift):
        trace = loader_stall()[0]
        trace.events = [dict(event, dur=event["dur"] * factor) if event["cat"] == "kernel" else event for event in trace.events]
        path = trace.write(folder, name, shift=shift)
        with open(path) as file:
            document = json.load(file)
        with open(path, "w") as file:
            json.dump(dict(document, baseTimeNanoseconds=1700000000000000000), file)
        return path
    both = [written("cycle_1.json", 1, 0), written("cycle_2.json", 0.8, 50000000)]

    def table(paths, name):
        return json.loads(run(paths, "--section", name, "--format", "json")[1])["result"][name]

    def answer(paths):
        return json.loads(run(paths, "--format", "json")[1])["result"]["answer"]
    alone = [{row["part"]: row for row in table([path], "step_parts")} for path in both]
    for row in table(both, "step_parts"):
        parts = [one[row["part"]] for one in alone]
        check(row["count"] == sum(one["count"] for one in parts), "steps of two captures: count of " + row["part"], row)
        mean = sum(one["count"] * one["mean_ns"] for one in parts) / row["count"]
        check(abs(row["mean_ns"] - mean) < 2, "steps of two captures: mean " + row["part"], (row, mean))
    names = ("class", "sentence", "saving_ns", "saving_ns_per_step", "whole_ns")
    told, ones = answer(both), [answer([path]) for path in both]
    check(any(all(told[name] == one[name] for name in names) for one in ones), "the answer of two captures is that of one",
          [{name: one[name] for name in names} for one in [told] + ones])


def snapshots_of_ranks(folder):
    """Snapshots of several processes, as of the ranks of one run: what is live does not add up on any device."""
    def written(name, blocks):
        mib = 1 << 20
        events = [{"action": "alloc", "addr": 4096 * i, "size": 8 * mib, "stream": 0, "time_us": 1700000000000000 + i,
                   "frames": [{"filename": "/src/model.py", "name": name, "line": 3}]} for i in range(1, blocks + 1)]
        segment = {"device": 0, "address": 0, "total_size": 200 * mib, "allocated_size": 8 * blocks * mib, "active_size": 8 * blocks * mib,
                   "stream": 0, "segment_type": "large", "frames": [],
                   "blocks": [{"size": 8 * blocks * mib, "requested_size": 8 * blocks * mib, "address": 0, "state": "active_allocated",
                               "frames": []}]}
        path = os.path.join(folder, name + ".pickle")
        with open(path, "wb") as file:
            pickle.dump({"segments": [segment], "device_traces": [events], "allocator_settings": {}}, file, 2)
        return path
    paths = [written("rank0", 4), written("rank1", 10), written("rank2", 7)]
    told = json.loads(run(paths, "--format", "json")[1])["result"]["answer"]
    alone = json.loads(run(paths[1:2], "--format", "json")[1])["result"]["answer"]
    check(told["sentence"] == alone["sentence"] and "80.00 MiB are live" in told["sentence"], "of several snapshots the largest is the answer", told)
    check("Of 3 files this is rank1.pickle, with the highest peak; the lowest peak is 32.00 MiB." in told["notes"], "which is said", told)


def counters_beside_calls(folder):
    """rocprofv3 of two runs in one folder: counters of the one, calls of the other, which launched none of its kernels."""
    apart = os.path.join(folder, "counters_beside_calls")
    os.mkdir(apart)
    with open(os.path.join(apart, "1_counter_collection.csv"), "w") as file:
        file.write("Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,"
                   "LDS_Block_Size,Scratch_Size,VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n")
        file.writelines("%d,%d,2,1,50,50,64,3,gemm,64,0,0,8,16,MemUnitBusy,75,%d,%d\n" % (i + 1, i + 1, at, at + 100000)
                        for i, at in enumerate(range(10 ** 7, 10 ** 9, 10 ** 7)))
    with open(os.path.join(apart, "2_hip_api_trace.csv"), "w") as file:
        file.write("Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n")
        file.writelines("HIP_RUNTIME_API,hipGraphLaunch,40,40,%d,%d,%d\n" % (700 + i, i * 10 ** 8, i * 10 ** 8 + 500000) for i in range(9))
    text = " ".join(run([apart])[1].split())
    check(text.startswith("Kernel counters: gemm takes 100 % of 9.900 ms kernel time (99 dispatches): memory units busy 75 %."),
          "counters beside calls of another run are counters", text[:400])
    check("has no launch" not in text, "and nothing was dropped", text[:800])


def windows_are_named(folder):
    """An answer about a part of a profile says so below its name; one about all of it does not."""
    path = launch_bound()[0].write(folder, "window.json")
    for window, says in (("", None), ("[gpu=0]", "limited to device 0"), ("[1ms:3ms]", "limited to 1.000 ms … 3.000 ms"),
                         ("[1ms:3ms,gpu=0]", "limited to 1.000 ms … 3.000 ms, device 0")):
        text = run([path + window])[1]
        check((says + "\n" in text) if says else ("limited to" not in text), "the window %s is named" % window, text[:500])


def event_loops(folder):
    """A loop that waits for events does nothing, in slices and in samples; a function of a similar name works."""
    def loop(name):
        p = Trace()
        for i in range(50):
            p.slice("sequence_manager", name, i * 1000, 900)
            p.slice("toplevel", "RunTask", i * 1000 + 900, 100)
        return p.write(folder, name.split("::")[1] + ".json")
    for path, says in ((loop("SequenceManager::DoIdleWork"), True), (loop("SequenceManager::DoIdleWorkload"), False),
                       (sampled(folder, "mach_msg_trap"), True), (sampled(folder, "mach_msg_trapeze"), False),
                       (sampled(folder, "runtime.netpoll"), True), (sampled(folder, "parking_lot"), False)):
        text = first_lines(path)
        check(text.startswith("Waiting: ") == says and (says or ("No GPU work was recorded" if path.endswith(".json") else "CPU-only profile") in text),
              "event loop: %s" % os.path.basename(path), text[:300])


def calls_without_end(folder):
    """A call of which no end was recorded counts up to the last moment: where that is most of what its name takes, without what it
    calls, the answer says so."""
    for begin, inside, says in ((20000, 0, "Counted up to the last moment, as no end was recorded: 80.00 ms of decode (1 call)"), (99000, 0, None),
                                (20000, 79000, None), (None, 0, None)):
        trace = Trace()
        for turn in range(100):
            trace.slice("work", "load", turn * 1000, 1000, tid=2)
            if turn < 20:
                trace.slice("work", "decode", turn * 1000, 100, tid=1)
        if begin:
            trace.events.append({"ph": "B", "cat": "work", "name": "decode", "pid": 1, "tid": 1, "ts": begin})
        if inside:
            trace.slice("work", "read_block", begin + 10, inside, tid=1)
        notes = " ".join(json.loads(run([trace.write(folder, "open.json")], "--format", "json")[1])["result"]["answer"]["notes"])
        check((says in notes) if says else "recorded end" not in notes, "a call that began at %s us has no end" % begin, notes)


def imports(folder):
    """Imports call each other and have little by themselves: what they take together is told where it is much."""
    for percent, name, says in ((60, "_find_and_load", True), (60, "_find_and_load (<frozen importlib._bootstrap>:1007)", True), (20, "_find_and_load", False),
                                (60, "_find_and_load_all", False)):
        path = os.path.join(folder, "imports.folded")
        with open(path, "w") as file:
            for i in range(10):
                file.write("python;main.py;%s;exec_module;%s;load_%d %d\npython;main.py;work_%d %d\n" % (name, name, i, percent, i, 100 - percent))
        notes = " ".join(json.loads(run([path], "--format", "json")[1])["result"]["answer"]["notes"])
        check(("Importing modules takes %d %% of it" % percent in notes) == says and ("Importing" in notes) == says, "%d %% in %s" % (percent, name), notes)


def one_wait(folder):
    """A device that waits for another one in a single collective is a warning, in several it is critical."""
    for count in (1, 2):
        trace, now = Trace(), 1000
        for _ in range(count):
            for device, length in ((0, 100), (1, 400)):
                for i in range(10):
                    trace.launch(now + 2 * i + device, 1, now + 10 + i * length, length, device=device)
                trace.launch(now + 30 + device, 1, now + 10 + 10 * length, 4300 - 10 * length, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", device=device)
            now += 4320
        findings = json.loads(run([trace.write(folder, "skew.json")], "--format", "json")[1])["result"]["findings"]
        grades = [f["severity"] for f in findings if f["cause"] == "collective_skew"]
        check(grades == ["warning" if count == 1 else "critical"], "waits in %d collectives" % count, grades)


def states_alone(folder):
    """Only states, on lanes of no thread: there is no verdict, but what takes most is named."""
    trace = Trace()
    for turn in range(40):
        for name, begin, length in (("request", 0, 6000), ("request", 1000, 8000), ("flush", 2000, 1000)):
            for phase, at in (("b", begin), ("e", begin + length)):
                trace.events.append({"ph": phase, "cat": "r", "name": name, "id": "%d %s %d" % (turn, name, begin), "pid": 1, "tid": 1,
                                     "ts": turn * 10000 + at})
    answer = json.loads(run([trace.write(folder, "states.json")], "--format", "json")[1])["result"]["answer"]
    check(answer["class"] == "none" and "Most time: request 560.0 ms in 80 calls, flush 40.00 ms in 40 calls." in answer["notes"],
          "states are named without a verdict", answer)


def helpers_that_wait(folder):
    """The main thread joins a helper: where that only waits, too, the answer says in what; not where it is for a short time, nor
    where the helper works."""
    for name, each, says in (("time.sleep", 900, True), ("select.epoll.poll", 900, True), ("time.sleep", 300, False), ("json.loads", 900, False)):
        trace = Trace()
        for turn in range(50):
            trace.slice("python_function", "_thread.lock.acquire", turn * 1000, 950, tid=1)
            trace.slice("python_function", "main.py(3): start", turn * 1000 + 950, 50, tid=1)
            trace.slice("python_function", name, turn * 1000, each, tid=2)
        text = first_lines(trace.write(folder, "helpers.json"))
        check(("in _thread.lock.acquire (50 calls), while helper threads are in %s for 45.00 ms (50 calls);" % name in text) == says and
              "Waiting: " in text and ("helper threads" in text) == says, "helper threads in %s for %d us" % (name, each), text[:400])


def threads_that_wait(folder):
    """Samples of the wall clock: all threads are there equally long. Told and booked is the main thread by its name, else one that
    does not mostly wait; names of waiting functions that are also those of work count by their files."""
    def write(name, *threads):
        frames, profiles = [], []
        for thread, stacks in threads:
            samples, weights = [], []
            for functions, seconds in stacks:
                frames += [{"name": function, "file": file} for function, file in functions]
                samples.append(list(range(len(frames) - len(functions), len(frames))))
                weights.append(seconds)
            profiles.append({"type": "sampled", "name": thread, "unit": "seconds", "startValue": 0, "endValue": sum(weights),
                             "samples": samples, "weights": weights})
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "profiles": profiles,
                       "shared": {"frames": frames}}))
        return path

    def ask(path):
        result = json.loads(run([path], "--format", "json")[1])["result"]
        return result, summed(result["account"], lambda row: row["part"])
    main = ("train", "train.py")
    joins = [((main, ("join", "threading.py")), 8.0), ((main, ("load", "train.py")), 2.0)]
    works = [((("run", "threading.py"), ("augment", "augment.py")), 9.0), ((("run", "threading.py"), ("get", "queue.py"), ("wait", "threading.py")), 1.1)]
    idles = [((("run", "threading.py"), ("get", "queue.py"), ("wait", "threading.py")), 10.1)]
    computes = [((main, ("forward", "model.py")), 9.0), ((main, ("join", "pandas/core/frame.py")), 1.0)]
    result, parts = ask(write("joins.json", ("MainThread", joins), ("Thread 2", works)))
    told = result["answer"]
    check(told["sentence"].startswith("Waiting: the main thread spends 80 %") and "augment 100 %" in " ".join(told["notes"]) and
          parts == {"idle": 8 * 10 ** 9, "compute": 2 * 10 ** 9}, "a main thread that waits for a helper", (told, parts))
    nameless = [((("run", "threading.py"), ("", "augment.py")), 10.1)]
    told = ask(write("nameless.json", ("MainThread", joins), ("Thread 2", nameless)))[0]["answer"]
    check(told["sentence"].startswith("Waiting: the main thread spends 80 %") and all(any(c.isalpha() for c in note) for note in told["notes"]),
          "nothing is said of helpers whose functions have no names", told)
    for names in (("Thread 2", "Thread 1"), ("helper", "MainThread")):
        result, parts = ask(write("idles.json", (names[0], idles), (names[1], computes)))
        hot = [finding["cause"] for finding in result["findings"]]
        check(parts == {"compute": 10 ** 10} and "lock_waits" not in hot and result["answer"]["culprit"] == "forward" and
              "50 % waiting (mostly wait); most in forward" in result["answer"]["sentence"],
              "a helper that waits all the time is not booked (%s)" % names[1], (result["answer"], parts, hot))


def gaps_that_wait(folder):
    """In gaps of a GPU the thread that launches sits in one Python function: one that only waits is waiting, its look-alikes are work."""
    for name, waits in (("threading.py(320): wait", True), ("queue.py(154): get", True), ("/usr/lib/python3.11/queue.py(154): get", True),
                        ("job_queue.py(154): get", False), ("queue.py(122): put", False), ("selectors.py(403): select", True),
                        ("<built-in method sleep of module object at 0x7f01>", True),
                        ("<built-in method acquire of _thread.lock object at 0x7f01>", True),
                        ("<built-in method join of str object at 0x7f01>", False), ("worker.py(12): wait_and_merge", False),
                        ("table.py(88): select", False), ("<method 'join' of 'str' objects>", False), ("cache.py(30): get", False)):
        trace, now = Trace(), 1000
        for _ in range(40):
            trace.slice("python_function", name, now, 5000)
            now = launched(trace, 4, 60, 55, begin=now + 5010)
        path = trace.write(folder, "waits.json")
        sentence = json.loads(run([path], "--format", "json")[1])["result"]["answer"]["sentence"]
        rows = output_of("sql", "--format", "json", path, "SELECT activity, sum(dur) AS ns FROM idle_gaps GROUP BY 1 ORDER BY 2 DESC LIMIT 1")[1]
        check(("off-CPU (waiting)" if waits else '"python"') in rows, "idle while in %s is %s" % (name, "waiting" if waits else "python"),
              (rows, sentence))
        check(("while the CPU itself waits, in" in sentence) == waits, "the sentence says so of %s" % name, sentence)


def cores_by_maker(folder):
    """What NVIDIA calls tensor cores, AMD calls matrix cores: sentence and finding say the same."""
    for device, kernel, call, cores in (
            ("NVIDIA A100-SXM4-80GB", "ampere_sgemm_128x64_tn", "cudaLaunchKernel", "tensor cores"),
            ("AMD Instinct MI300X", "miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_f3x2_stride1", "hipExtModuleLaunchKernel", "matrix cores")):
        trace, start = Trace(), 1100
        for i in range(100):
            trace.launch(1002 + 20 * i, 5, start, 1000, kernel, call)
            start += 1002
        path = trace.write(folder, "cores.json")
        with open(path) as file:
            document = json.load(file)
        document["deviceProperties"][0]["name"] = device
        with open(path, "w") as file:
            file.write(json.dumps(document))
        result = json.loads(run([path], "--format", "json")[1])["result"]
        titles = [finding["title"] for finding in result["findings"] if finding["cause"] == "tensor_core_unused"]
        other = "tensor" if cores.startswith("matrix") else "matrix"
        check("run without " + cores in result["answer"]["sentence"] and titles and cores in titles[0] and
              other + " cores" not in result["answer"]["sentence"], "cores of " + device, (result["answer"]["sentence"], titles))


def execution_traces(folder):
    """Nodes with lengths are no layers of an engine: computing and communication apart, the median, no advice for engines.
    Without lengths it stays a graph; few long nodes do not move the median."""
    def trace(name, nodes):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(json.dumps({"workload_graph": [
                {"Id": i + 1, "Name": node, "NodeType": kind, "ctrlDeps": [], "data_deps": [], "is_cpu_op": False,
                 **({"runtime": us} if us else {})} for i, (node, kind, us) in enumerate(nodes)]}))
        return path
    text = first_lines(trace("nodes.json", [("gemm_kernel", 4, 4)] * 30 + [("ncclKernel_AllReduce", 7, 300)] * 2 + [("gemm_long", 4, 480)]))
    check("Execution trace: 33 of 33 nodes have durations, 1.200 ms added up: 50 % computing, communication 50 %; the longest "
          "ncclKernel_AllReduce 50 % (2 nodes), gemm_long 40 %" in text and "The median node takes 4.000 µs" in text,
          "an execution trace with lengths", text[:600])
    check("trtexec" not in text and "layer takes" not in text, "and no advice for engines", text[:600])
    check("Nodes of the program by total time" in text and "Layers" not in text and "layers'" not in text, "its nodes are called nodes", text[600:1500])
    text = first_lines(trace("some.json", [("gemm_kernel", 4, 4)] * 20 + [("aten::mm(0)", 4, None)] * 20))
    check("20 of 40 nodes have durations, 80.00 µs added up: 100 % computing; " in text and "communication" not in text.split("Nodes of the")[0],
          "only some have lengths", text[:400])
    text = first_lines(trace("none.json", [("aten::mm(0)", 4, None)] * 40))
    check("a graph of 40 nodes without times" in text, "none has a length", text[:400])


def thinned(folder):
    """The same launches, of which CUPTI numbered one in five, or one in 250: then most of them are not in the file."""
    for every in (5, 250):
        trace = Trace()
        for i in range(600):
            kernel = "gemm_kernel" if i % 3 else "ncclDevKernel_SendRecv(ncclDevComm*)"
            trace.launch(1000 + 100 * i, 5, 1010 + 100 * i, 20, kernel, stream=7 if i % 3 else 9)
            trace.next += every - 1
        path = trace.write(folder, "thinned%d.json" % every)
        text = " ".join(run([path])[1].split())
        result = json.loads(run([path], "--format", "json")[1])["result"]
        causes = {finding["cause"] for finding in result["findings"]}
        if every == 5:
            check(result["answer"]["class"] != "compute" and causes & {"gpu_idle", "launch_bound_small_kernels"} and
                  "Most events are missing" not in text, "a whole trace is judged by its gaps", (text[:300], causes))
        else:
            check(result["answer"]["class"] == "compute" and not causes & {"gpu_idle", "launch_bound_small_kernels"} and
                  "use only 0.4 % of the correlation ids" in text and "Could save" not in text,
                  "a thinned trace is not judged by its gaps", (text[:300], causes))


def slow_start(folder):
    """A loader that takes 500 ms before the first steps and 8 ms in each later one: the answer counts the steady ones."""
    trace, now = Trace(), 1000
    for step in range(14):
        fetch = 500000 if step < 2 else 8000
        trace.slice("user_annotation", "ProfilerStep#%d" % step, now, fetch + 6000)
        trace.slice("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now + 10, fetch - 20)
        for i in range(10):
            trace.launch(now + fetch + 10 * i, 5, now + fetch + 60 + 500 * i, 499)
        trace.slice("cuda_runtime", "cudaDeviceSynchronize", now + fetch + 110, 5000)
        now += fetch + 6000
    path = trace.write(folder, "slow_start.json")
    answer = json.loads(run([path], "--format", "json")[1])["result"]["answer"]
    per_step = answer["saving_ns_per_step"]
    said = re.search(r"waits for input data ([0-9.]+) ms of ([0-9.]+) ms .*; ([0-9.]+) ms of each step", answer["sentence"])
    check(answer["class"] == "input" and said and float(said[1]) < 110 and float(said[3]) < 9 and 7e6 < per_step < 9e6,
          "input waits of warm-up are not those of steady steps", answer)


def rates(folder):
    """A table of nccl-tests: 20 us and 200 GB/s; the answer names the best rate, its size, the latency, and up to which size it
    is the limit: at 1 MiB, of 25 us, it is, at 4 MiB, of 41 us, no more."""
    def table(*powers):
        path = os.path.join(folder, "broadcast.log")
        with open(path, "w") as file:
            file.write("# Collective test starting: broadcast_perf\n# nThread 1 nGpus 8\n"
                       "#       size         count      type    root     time   algbw   busbw  error     time   algbw"
                       "   busbw  error\n")
            for power in range(*powers):
                us = 20 + 2 ** power / 200e3
                rate = 2 ** power / us / 1e3
                half = "%.2f %8.2f %8.2f  N/A" % (us, rate, rate)
                file.write("%12d %12d   float       0   %s   %s\n" % (2 ** power, 2 ** power // 4, half, half))
        return path
    text = " ".join(run([table(2, 31, 2)])[1].split())
    check("broadcast reaches 199.3 GB/s (algorithm bandwidth; 199.3 GB/s on the bus), 1.000 GiB in 5.389 ms; the smallest message, 4 B in "
          "20.00 µs." in text and "Messages of 4.000 MiB and more reach half of that rate; up to 1.000 MiB latency is the limit" in text,
          "a benchmark of communication has its rate and latency", text[:400])
    text = " ".join(run([table(8, 31, 2)])[1].split())
    check("Messages of 4.000 MiB and more" in text and "up to 1.000 MiB latency" in text, "sizes from 256 B on", text[:400])
    text = " ".join(run([table(20, 31, 1)])[1].split())
    check("Messages of 4.000 MiB and more reach half of that rate." in text and "latency" not in text,
          "large messages alone do not show the latency", text[:400])


def engine(folder):
    """Layers of an engine without times: their types, and how to get times from the maker's own tool."""
    path = os.path.join(folder, "layers.json")
    layers = [{"Name": "layer %d" % i, "LayerType": kind, "Inputs": [], "Outputs": []}
              for i, kind in enumerate(["CaskConvolution"] * 5 + ["Reformat"] * 3 + ["NoOp"])]
    with open(path, "w") as file:
        file.write(json.dumps({"Layers": layers, "Bindings": ["input"]}))
    text = " ".join(run([path])[1].split())
    check("Engine description: 9 layers without times; most often CaskConvolution 5, Reformat 3." in text and
          "trtexec --exportProfile" in text and "Kineto" not in text, "an engine description says how to get times", text[:400])


def model_runs(folder):
    """Runs of a model: stalls are told apart from slow operators, and time without an operator from both."""
    def runs(name, length, lead=0, gap=0, count=10, shape=None):
        events = [{"cat": "Session", "pid": 1, "tid": 1, "dur": 100, "ts": 1, "ph": "X", "name": "model_loading_uri", "args": {}}]
        now = 1000
        for number in range(count):
            start = now
            now += lead
            inputs = {"input_type_shape": [{"float": shape(number)}]} if shape else {}
            for node, kind in (("conv_a", "Conv"), ("conv_b", "Conv"), ("slice_c", "Slice"), ("gemm_d", "Gemm")):
                events.append({"cat": "Node", "pid": 1, "tid": 1, "dur": length(number, node), "ts": now, "ph": "X",
                               "name": node + "_kernel_time",
                               "args": {"op_name": kind, "provider": "CPUExecutionProvider", "node_index": "1", **inputs}})
                now += length(number, node) + gap
            for session in ("SequentialExecutor::Execute", "model_run"):
                events.append({"cat": "Session", "pid": 1, "tid": 1, "dur": now - start, "ts": start, "ph": "X", "name": session,
                               "args": {}})
            now += 1
        path = os.path.join(folder, name + ".json")
        with open(path, "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(event) for event in events) + "\n]\n")
        return path

    def usual(number, node):
        return {"conv_a": 600, "conv_b": 300, "slice_c": 20, "gemm_d": 80}[node]

    def stalled(number, node):
        hit = {3: "slice_c", 5: "gemm_d", 7: "conv_b"}.get(number)
        return usual(number, node) + (4000 if node == hit else 0)

    def answer(path):
        found = json.loads(run([path], "--format", "json")[1])["result"]["answer"]
        return found, " ".join([found["sentence"], *found.get("notes", [])])

    found, told = answer(runs("stalls", stalled))
    check("12.00 ms of it stalls in single calls" in told and "3 calls of 3 operators in 3 runs" in told and
          "Conv 90 %, Gemm 8.0 %, Slice 2.0 % of 10.00 ms without the stalls" in told and "not slow" in told and
          found["culprit"] == "stalls in single calls", "stalls are no operator's", found)
    found, told = answer(runs("slow", lambda number, node: 4000 if node == "slice_c" else usual(number, node)))
    check("stall" not in told.lower() and found["culprit"] == "Slice", "an operator that is always slow is no stall", found)
    found, told = answer(runs("cold", lambda number, node: usual(number, node) * (9 if number == 0 else 1)))
    check("all in the first run: warm-up" in told and "not slow" not in told, "a slow first run is warm-up", found)
    found, told = answer(runs("handover", usual, lead=3000, gap=100))
    check("no operator 34.00 ms (77 %)" in told and "30.00 ms before the first operator of a run, 3.000 ms between" in told and
          found["culprit"] == "time without an operator", "time without an operator is the executor's", found)

    # Every fifth run has six times the sequence: its operators are slow together, no thread was held up.
    def longer(number, node):
        return usual(number, node) * (6 if number % 5 == 4 else 1)

    found, told = answer(runs("longer", longer, count=20))
    check("held up" not in told and "not slow" not in told and "stall" not in told.lower() and found["culprit"] == "Conv" and
          "in 4 of 20 runs more than a tenth of the calls" in told and "whole runs are slower (larger inputs" in told,
          "larger inputs are no stalls", found)
    found, told = answer(runs("shapes", longer, count=20, shape=lambda number: [1, 768 if number % 5 == 4 else 128]))
    check("held up" not in told and "stall" not in told.lower() and "Slower" not in told and found["culprit"] == "Conv" and
          "Conv 90 %, Gemm 8.0 %, Slice 2.0 % of 40.00 ms" in told, "with shapes, each has its own median", found)
    found, told = answer(runs("busy", longer, count=20, shape=lambda number: [1, 128]))
    check("with the same shapes: whole runs are slower" in told and "larger inputs" not in told and "held up" not in told,
          "a busy machine slows whole runs", found)

    # Lengths of years, of a damaged file: their sum over 64 bits is no reason to say that nothing was recorded.
    for length in (3 * 10 ** 13, 2 * 10 ** 14):
        events = [{"cat": "Session", "pid": 1, "tid": 1, "dur": 5, "ts": 1000 + 10 * i, "ph": "X", "name": "model_run", "args": {}} for i in range(60)]
        events += [{"cat": "Node", "pid": 1, "tid": 1, "dur": length, "ts": 1000 + 10 * i, "ph": "X", "name": node + "_kernel_time",
                    "args": {"op_name": kind, "provider": "CPUExecutionProvider", "node_index": "1"}}
                   for i in range(60) for node, kind in (("conv_a", "Conv"), ("gemm_d", "Gemm"))]
        path = os.path.join(folder, "years.json")
        with open(path, "w") as file:
            file.write(json.dumps(events))
        found, told = answer(path)
        check(found["class"] == "cpu-only" and found["culprit"] == "Conv" and "No verdict" not in told, "lengths of years have an answer", found)

    # The same operator in each slow run: nothing changes.
    found, told = answer(runs("again", lambda number, node: usual(number, node) * (
        9 if number % 5 == 4 and node in ("conv_a", "conv_b") else 1), count=20))
    check("changing operators" not in told and "held up:" not in told, "the same operators each time are not changing ones", found)
    found, told = answer(runs("stalls", stalled, shape=lambda number: [1, 128]))
    check("They hit changing operators" in told, "stalls among calls of one shape are told", found)


def profilers_start(folder):
    """What switching the profiler on takes is its own; what the program loads is start-up."""
    def told(name, child):
        trace = Trace()
        trace.slice("python_function", "train.py(1): main", 500, 8100000)
        trace.slice("python_function", name, 1000, 5000000)
        trace.slice("python_function", child, 1100, 4900000)
        for i in range(300):
            trace.slice("cpu_op", "aten::mm", 5002000 + 10000 * i, 30)
            trace.launch(5002010 + 10000 * i, 5, 5002050 + 10000 * i, 9900)
        result = json.loads(run([trace.write(folder, "profiler.json")], "--format", "json")[1])["result"]
        titles = [f["title"] for f in result["findings"] if f["cause"] == "startup_dominated"]
        return result["answer"], " ".join([result["answer"]["sentence"], *result["answer"]["notes"]]), titles

    answer, text, titles = told("torch/profiler/profiler.py(209): start_trace", "<built-in method _enable_profiler>")
    check(answer["class"] == "compute" and "Profiler: 5.000 s of 8." in text and "no time of the program" in text and
          titles and titles[0].startswith("The profiler's own start takes 5.0"), "the profiler's start is its own", (text, titles))
    answer, text, titles = told("model.py(5): load", "<built-in method load_state>")
    check(answer["class"] == "startup" and "Profiler" not in text and titles and titles[0].startswith("Start-up takes"),
          "loading a model is start-up", (text, titles))


def one_of_two(folder):
    """A sentence about one GPU has the kernels and costs of that GPU alone."""
    trace = Trace()
    for device, kernel, length in ((0, "alpha_kernel", 900), (1, "beta_sgemm_128x64_tn", 950)):
        for i in range(100):
            trace.launch(1000 + 1000 * i + device, 1, 1500 + 1000 * i, length, kernel, stream=7 + device, device=device)
    answer = json.loads(run([trace.write(folder, "two.json")], "--format", "json")[1])["result"]["answer"]
    number = int(re.search(r"GPU (\d)", answer["sentence"])[1])
    own, other = (("alpha", "beta") if number == 0 else ("beta", "alpha"))
    check(own in answer["sentence"] and other not in answer["sentence"] and "100 %" in answer["sentence"] and
          ("tensor cores" in answer["sentence"]) <= (number == 1), "a sentence about one GPU has its own kernels", answer)


def copies_of_several(folder):
    """Sentence, title and the remark beside a finding name the GPU, where there are several and it is another one."""
    def make(devices, first, second):
        trace = Trace()
        for device, ways in zip(range(devices), (first, second)):
            for i in range(60):
                now = 1000 + 1000 * i
                trace.launch(now + device, 1, now + 10, 300, "gemm_kernel", stream=7 + 10 * device, device=device)
                for way, length in zip(("HtoD", "DtoH"), ways):
                    if length:
                        trace.launch(now + 3 + device, 1, now + (320 if way == "HtoD" else 660), length,
                                     "Memcpy %s (%s)" % (way, "Pinned -> Device" if way == "HtoD" else "Device -> Pinned"), call="cudaMemcpyAsync",
                                     stream=7 + 10 * device, device=device, cat="gpu_memcpy", bytes=length * 10000)
        result = json.loads(run([trace.write(folder, "ways.json")], "--format", "json")[1])["result"]
        return result["answer"]["sentence"], [finding["title"] for finding in result["findings"] if "opies" in finding["title"]]
    sentence, titles = make(2, (100, 0), (330, 330))
    check("on GPU 1: " in sentence and any(title.startswith("Copies between host and device are exposed (not overlapped with compute) on GPU 1: ")
                                           for title in titles), "copies of one of two GPUs: it is named", (sentence, titles))
    sentence, titles = make(1, (330, 330), ())
    check(sentence.startswith("Copy-bound") and " on GPU" not in sentence and titles and " on GPU" not in titles[0],
          "copies of the only GPU: it need not be named", (sentence, titles))


def placed_remark(folder):
    """A finding whose title names no GPU, about another one than the sentence's: the remark beside it names it."""
    trace = Trace()
    for device, length in ((0, 900), (1, 500)):
        for i in range(100):
            now = 1000 + 1000 * i
            trace.launch(now + device, 1, now + 10, length, "gemm_kernel", stream=7 + device, device=device)
            if device and i % 10 == 5:
                trace.launch(now + 3, 1, now + 520, 450, "Memcpy HtoD (Pinned -> Device)", call="cudaMemcpyAsync", stream=8, device=1,
                             cat="gpu_memcpy", bytes=4 << 20)
    path = trace.write(folder, "placed.json")
    page = " ".join(run([path], "-n", "9")[1].split())
    parts = re.split(r" \d\. ", page)
    slow = [part for part in parts if part.startswith("Large copies run at")]
    check(page.startswith("Compute-bound: GPU 0 ") and slow and "on GPU 1 alone, not the one above" in slow[0],
          "a finding about another GPU names it", (page[:100], slow))


def one_idle(folder):
    """The idle share of the sentence is the whole idle share that the bar shows."""
    trace, now = Trace(), 1000
    for i in range(60):
        for _ in range(20):
            trace.slice("cpu_op", "aten::add", now, 80)
            trace.launch(now + 70, 5, now + 90, 10)
            now += 100
        now += 9000
    result = json.loads(run([trace.write(folder, "idle.json")], "--format", "json")[1])["result"]
    sentence = result["answer"]["sentence"]
    said = re.search(r"is idle .* \((\d+) %\)", sentence)
    share = result["breakdown"][0]["idle_ns"] / result["breakdown"][0]["wall_ns"]
    check(not said or abs(int(said[1]) / 100 - share) < 0.02, "one share of idle time in an answer", (sentence, share))
    check(said, "long pauses are idle time", sentence)


def waits_own_little(folder):
    """A wait owns no more of the idle time after it than it lasted: work of 20 ms after a wait of 1 ms is that work's."""
    def cost(wait, work):
        trace, now = Trace(), 1000
        for _ in range(20):
            trace.launch(now, 5, now + 10, wait)
            trace.slice("cuda_runtime", "cudaDeviceSynchronize", now + 10, wait + 5)
            trace.slice("cpu_op", "aten::index", now + wait + 16, work)
            now += wait + work + 20
        result = json.loads(run([trace.write(folder, "waits.json")], "--all", "--format", "json")[1])["result"]
        found = [f for f in result["findings"] if f["cause"] == "sync_calls"]
        return (found[0]["cost_ns"], found[0]["saving_ns"][1]) if found else None

    check(cost(100, 20000) is None, "a wait of 0.1 ms owns none of 20 ms of work after it", cost(100, 20000))
    both = cost(5000, 2000)
    check(both and both[0] == both[1] and 19 * 2e6 <= both[0] <= 20 * 2.05e6, "a long wait could hide all of the work after it", both)
    part = cost(1000, 20000)
    check(part and part[0] == part[1] and 19e6 <= part[0] <= 20.2e6, "a wait of 1 ms owns 1 ms of each gap", part)


def captures_are_not_late(folder):
    """While graphs are captured, launches do not run: no finding says that the CPU is late, or promises that time."""
    path = captures()[0].write(folder, "captures.json")
    result = json.loads(run([path], "--format", "json")[1])["result"]
    found = [f for f in result["findings"] if f["cause"] == "gpu_idle"]
    check(len(found) == 1 and found[0]["severity"] == "info" and found[0]["saving_ns"] == [0, 0] and
          "capture of graphs" in found[0]["title"] and
          not [e for e in found[0]["evidence"] if e["metric"] == "idle_host_late_ns"], "idle time of captures is no fault", found)


def sampled(folder, leaf):
    """100 samples of 1 ms as `perf script` prints them, nine of ten in one function."""
    path = os.path.join(folder, leaf + ".perf")
    with open(path, "w") as file:
        for i in range(100):
            file.write("prog  100 [000] 1.%06d:    1000000 cpu-clock:\n\t42ed43 %s (/usr/bin/prog)\n"
                       "\t42e000 main (/usr/bin/prog)\n\n" % (i * 1000, leaf if i % 10 else "other"))
    return path


def hot(folder):
    """The hot function of a CPU profile gets advice for what it is."""
    python = os.path.join(folder, "hot.prof")
    functions = {("a.py", 1, "main"): (1, 1, 0.01, 1.0, {}), ("a.py", 9, "load"): (50, 50, 0.9, 0.9, {}),
                 ("a.py", 20, "other"): (50, 50, 0.09, 0.09, {})}
    functions.update({("a.py", 30 + i, "f%d" % i): (1, 1, 0.0, 0.0, {}) for i in range(10)})
    with open(python, "wb") as file:
        marshal.dump(functions, file)
    for path, says, never in ((sampled(folder, "0x42ed43"), "Give the profiler the program's symbols", "NumPy"),
                              (sampled(folder, "sgemm_kernel"), "perf annotate", "NumPy"),
                              (python, "NumPy", "perf annotate")):
        text = " ".join(run([path])[1].split())
        check(says in text and never not in text, "advice for a hot function: " + says, text[:500])


def first_lines(path):
    return " ".join(run([path])[1].split())


def layers_of_runs(folder):
    """Layers of an engine: a run is told, not the sum of all; advice only where the file shows something to win."""
    def profile(name, runs, layers):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(json.dumps([{"count": runs}] + [{"name": layer, "timeMs": ms * runs, "averageMs": ms, "medianMs": ms, "percentage": 1}
                                           for layer, ms in layers]))
        return path
    text = first_lines(profile("runs.json", 50, [("conv_1", 0.3), ("conv_2", 0.1), ("Reformatting CopyNode for Input Tensor 0 to conv_1", 0.1)]))
    check("3 layers, 500.0 µs a run (mean of 50 runs); the longest conv_1 60 %" in text and "The median layer takes 100.0 µs, the longest 60 %" in text and
          "25.00 ms" not in text.split("Layers of the")[0] and "Reformatting of tensors takes 20 %" in text and
          "--inputIOFormats" in text and "short as a launch" not in text, "layers of 50 runs: one run is told", text[:700])
    text = first_lines(profile("one.json", 1, [("conv_%d" % i, 0.005) for i in range(20)]))
    check("20 layers, 100.0 µs in one run" in text and "One run was measured" in text and "short as a launch" in text and
          "Reformatting" not in text and "16 bits" not in text, "layers of one run: short layers", text[:700])
    path = profile("typed.json", 10, [("a", 1), ("b", 1), ("c", 0.5)])
    graph = os.path.join(folder, "typed.graph.json")
    with open(graph, "w") as file:
        file.write(json.dumps({"Layers": [{"Name": name, "LayerType": "CaskConvolution", "Inputs": [{"Name": "x", "Format/Datatype": kind, "Dimensions": [1]}],
                               "Outputs": [{"Name": "y" + name, "Format/Datatype": kind, "Dimensions": [1]}]}
                              for name, kind in (("a", "Row major linear FP32"), ("b", "Row major linear FP32"),
                                                 ("c", "Row major linear FP16 format"))], "Bindings": ["x"]}))
    text = " ".join(run([path, graph])[1].split())
    check("Layers in FP32 take 80 %" in text and "modelopt.onnx.autocast" in text and "before TensorRT 11" in text,
          "layers whose type is known", text[:700])


def energy(folder):
    """Zeus: energies are added up; a window inside another one is not counted twice."""
    def log(name, rows):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write("start_time,window_name,elapsed_time,gpu0_energy,gpu1_energy\n" +
                       "".join("%s,%s,%s,%s,%s\n" % row for row in rows))
        return path
    text = first_lines(log("zeus.csv", [(100.0, "epoch 1", 10.0, 1000, 500), (120.0, "epoch 2", 5.0, 700, 300)]))
    check("Energy of 2 measured windows, 2 devices added up: 2500 J in 15.00 s, 166.7 W on average; least in epoch 2 1000 J in 5.000 s, most in epoch 1 1500 J"
          in text and "cut, filtered" not in text, "energies of windows", text[:500])
    text = first_lines(log("nested.csv", [(100.0, "epoch", 10.0, 1000, 500), (102.0, "step", 5.0, 700, 300)]))
    check("2 measured windows, 2 devices added up, some inside others; least in step 1000 J" in text and "2500" not in text, "windows inside windows", text[:500])
    text = first_lines(log("odd.csv", [(100.0, "a", 10.0, "nan", "inf"), (120.0, "b", 10.0, -5, 7)]))
    check("Energy of 1 measured window: 7 J in 10.00 s" in text and "nan" not in text and "inf " not in text, "energies that are none", text[:500])


def lines_of_scalene(folder):
    """Scalene: the line is named, not the kind of its time."""
    path = os.path.join(folder, "scalene.json")
    def line(number, python, native, system):
        return {"line": "x()\n", "lineno": number, "n_cpu_percent_python": python, "n_cpu_percent_c": native, "n_sys_percent": system,
                "memory_samples": [], "n_peak_mb": 0.0, "n_gpu_percent": 0.0}
    with open(path, "w") as file:
        file.write(json.dumps({"elapsed_time_sec": 10.0, "program": "a.py", "gpu": False, "files": {"/src/a.py": {
            "functions": [], "leaks": {}, "percent_cpu_time": 100.0,
            "lines": [line(3, 0.0, 60.0, 10.0), line(8, 20.0, 0.0, 0.0), line(9, 0.0, 0.0, 10.0)]}}}))
    text = first_lines(path)
    check("most in a.py:3 70 %, a.py:8 20 %, a.py:9 10 %." in text and "Of all of it 60 % pass in native code" in text and
          "[native]" not in text.split("Functions by")[0], "lines come first in Scalene's profiles", text[:600])
    text = first_lines(os.path.join(TESTS, "corpus", "speedscope", "waits.json"))
    check("(19.0 % of 5.511 s)" in text and "to last work" not in text, "a profile without a device has no first and last work", text[:900])
    for name, hot, says, never in (
            ("native", (5.0, 50.0, 10.0), "of its time in the line a.py:3 warning", "vectorise"),
            ("python", (60.0, 3.0, 2.0), "Make that function faster: vectorise it", "Python does not slow down")):
        path = os.path.join(folder, "scalene-%s.json" % name)
        with open(path, "w") as file:
            file.write(json.dumps({"elapsed_time_sec": 10.0, "program": "a.py", "gpu": False, "files": {"/src/a.py": {
                "functions": [], "leaks": {}, "percent_cpu_time": 100.0,
                "lines": [line(3, *hot)] + [line(10 + i, 3.0, 0.2, 0.3) for i in range(10)]}}}))
        text = first_lines(path)
        check(says in text and never not in text and "a.py:3 itself" not in text and "without what it calls" not in text and
              "%.1f %% of that in native code" % (100 * hot[1] / sum(hot)) in text, "a hot line of Scalene: " + name, text[:700])


def cpus_without_work(folder):
    """perf of a whole system: CPUs without work are idle, not busy in the kernel; a flat profile is called flat."""
    path = os.path.join(folder, "system.perf")
    with open(path, "w") as file:
        for i in range(100):
            name, frame = ("swapper", "ffff [unknown] ([kernel.kallsyms])") if i % 4 else ("prog", "42 work (/usr/bin/prog)")
            file.write("%s %d [000] 1.%06d:    1000000 cpu-clock:\n\t%s\n\n" % (name, 0 if i % 4 else 7, i * 1000, frame))
    text = first_lines(path)
    check("the CPUs are idle in 75 % of them (process swapper); most in work in prog 25 %" in text and
          "operating system's kernel" not in text, "idle CPUs of a whole system", text[:400])
    path = os.path.join(folder, "flat.perf")
    with open(path, "w") as file:
        for i in range(100):
            file.write("prog 7 [000] 1.%06d:    1000000 cpu-clock:\n\t42 f%d (/usr/bin/prog)\n\t43 %s (/usr/bin/prog)\n"
                       "\t44 main (/usr/bin/prog)\n\n" % (i * 1000, i // 2, "layout" if i < 40 else "render"))
    text = first_lines(path)
    check("no function stands out, the longest are f" in text and "With what they call: render in prog 60 %, layout in prog 40 %." in text,
          "a flat profile names what holds much together", text[:500])


def calls_inside(folder):
    """First-time calls in several operators: each operator is given what passes in it."""
    trace = Trace()
    now = 1000
    for op, length in (("aten::index_select", 300000), ("aten::mm", 150000)):
        trace.slice("cpu_op", op, now, length + 200)
        trace.launch(now + 10, length, now + length + 20, 500, op + "_kernel")
        now += length + 1000
    launched(trace, 50, 100, 60, begin=now)
    text = " ".join(run([trace.write(folder)])[1].split())
    check(re.search(r"cudaLaunchKernel 4[0-9.]+ ms \(300.0 ms in aten::index_select\)", text), "calls in several operators", text[:500])


def planted(folder):
    for plant in PLANTED:
        trace, wanted, culprit = plant()
        name = plant.__name__
        path = trace.write(folder, name + ".json")
        code, text = run([path], "--format", "json")
        if not check(code == 0, name + " is answered", code):
            continue
        result = json.loads(text)["result"]
        answer = result["answer"]
        check(answer["class"] == wanted, name + ": class " + wanted, "%s — %s" % (answer["class"], answer["sentence"]))
        if culprit:
            check(re.search(culprit, (answer["culprit"] or "") + answer["sentence"]), name + ": culprit", answer)
        bounds(name, result)
        thresholds(name, result)
        for change in ({"shuffle": True}, {"shift": 123456789}):
            moved = json.loads(run([trace.write(folder, name + "-moved.json", **change)], "--format", "json")[1])
            other = moved["result"]["answer"]
            same = all(other[key] == answer[key] for key in ("class", "saving_ns", "culprit"))
            check(same, "%s: the same when %s" % (name, " ".join(change)), other["sentence"])


def no_cliff(folder):
    """Windows of one program whose kernels take 9.98 and 10.02 µs tell one story; the longer the kernels, the less sure."""
    told = []
    for length in (6, 9.98, 10.02, 12, 20):
        trace = Trace()
        launched(trace, 400, 40, length, op="aten::add")
        result = json.loads(run([trace.write(folder, "cliff.json")], "--all", "--format", "json")[1])["result"]
        found = [f for f in result["findings"] if f["cause"] == "launch_bound_small_kernels"]
        told.append((result["answer"]["class"], found[0] if found else None))
    names = [tuple(f["cause"] for f in [told[i][1]] if f) + (told[i][0],) for i in (1, 2)]
    check(names[0] == names[1] == ("launch_bound_small_kernels", "launch"), "9.98 and 10.02 µs tell one story", names)
    if all(told[i][1] for i in range(4)):
        below, above = told[1][1], told[2][1]
        check(abs(below["cost_ns"] - above["cost_ns"]) < 0.01 * below["cost_ns"], "and cost the same", (below["cost_ns"], above["cost_ns"]))
        sure = [told[i][1]["confidence"] for i in range(4)]
        check(sure[0] == sure[1] and sure[1] - sure[2] < 0.01 and sure[2] > sure[3], "and are as sure", sure)
    check(told[4][1] is None, "kernels of 20 µs are not short", told[4][1] and told[4][1]["title"])


def window_without_work(folder):
    """A window in which no device works says so, and its own length."""
    trace = Trace()
    for i in range(100):
        trace.slice("python_function", "prepare.py(3): resize", 1000 + i * 1000, 900)
    launched(trace, 200, 60, 50, begin=201000)
    answer = json.loads(run([trace.write(folder, "window.json") + "[0s:0.1s]"], "--format", "json")[1])["result"]["answer"]
    check(answer["sentence"].startswith("No device work in this window, 100.0 ms"), "a window without work says so", answer["sentence"])


UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "%": 0.01, "": 1}


def thresholds(name, result):
    """Evidence with a printed threshold of one number is on the side of it that the finding needs."""
    asked, failing = 0, []
    for finding in result["findings"]:
        for evidence in finding["evidence"]:
            words = re.match(r"(>=|<=|>|<) ([0-9.]+) ?(%|ns|us|ms|s)?( of ([a-z ]+))?$", evidence["threshold"] or "")
            if not words:
                continue
            value, of = evidence["value"], words.group(5)
            if of and not evidence["metric"].endswith("_share"):
                if of != "wall" or not finding["cost_share"] or finding["cause"] == "copies_not_recorded":
                    continue
                value = value * finding["cost_share"] / finding["cost_ns"]
            limit = float(words.group(2)) * UNITS[words.group(3) or ""]
            asked += 1
            if not {">": value > limit, ">=": value >= limit, "<": value < limit, "<=": value <= limit}[words.group(1)]:
                failing.append((finding["cause"], evidence["metric"], evidence["threshold"], value))
    if asked:
        check(not failing, name + ": evidence keeps its thresholds", failing)


def bounds(name, result):
    """A saving is no more than the time in which no kernel runs."""
    answer, rows = result["answer"], result["breakdown"]
    if answer["saving_ns"] is None or not rows:
        return
    # The first and last moment of the trace bound the time that was looked at.
    compute = max(row["compute_ns"] for row in rows)
    per_step = answer.get("saving_ns_per_step")
    steps = [row["dur_ns"] for row in result.get("steps") or []]
    check(per_step is None or not steps or per_step < max(steps), name + ": no step saves more than it lasts", answer)
    check(0 < answer["saving_ns"], name + ": the saving is positive", answer)
    span = max(row["start_ns"] + row["wall_ns"] for row in rows)
    if answer["class"] == "compute":  # what a finding about kernels can win
        check(answer["saving_ns"] <= compute, name + ": the saving is a part of the computing", answer)
        return
    check(answer["saving_ns"] <= span - compute, name + ": the saving leaves the computing", answer)


def savings(folder):
    """What is promised can be had: the trace without the cause is shorter by no less than half of it, and by no more."""
    for gap, length in ((60, 3), (100, 40), (200, 20)):
        trace = Trace()
        end = launched(trace, 400, gap, length)
        answer = json.loads(run([trace.write(folder, "slow.json")], "--format", "json")[1])["result"]["answer"]
        least = 400 * length  # back to back
        gain = (end - 1000 - least) * 1000
        check(answer["saving_ns"] is not None and 0.5 * gain <= answer["saving_ns"] <= 1.02 * gain,
              "launches of %d µs every %d µs: the saving is what back-to-back kernels gain" % (length, gap),
              (answer["saving_ns"], gain))


# Judged after the first fifth or tenth of the time: what they cost in it is start-up, and not promised.
AFTER_START = {"allocator_churn": 0.7, "jit_compile_in_loop": 0.7, "caching_allocator_off": 0.7}


def edits(folder):
    """What a finding promises is what the same program wins when the cause is taken out of it, and never less."""
    for cause, play, numbers, most in EDITS:
        before, after = Program(), Program()
        play(before, False, *numbers)
        play(after, True, *numbers)
        won = (before.length() - after.length()) * 1000
        result = json.loads(run([before.trace.write(folder, "edit.json")], "--format", "json")[1])["result"]
        found = [f for f in result["findings"] if cause in (f["cause"], *f.get("also", []))]
        what = "%s %s" % (cause, " ".join(map(str, numbers)))
        if check(found, what + " is found", [f["cause"] for f in result["findings"]]):
            low, high = found[0]["saving_ns"]
            check(won * AFTER_START.get(cause, 1) <= high * 1.02 and low <= won * 1.02, what + ": what is won lies in the promised range", (low, won, high))
            check(high <= won * most, what + ": no more is promised than can be won", (won, high))


def pasted(folder):
    """Checks of findings are commands: pasted as they are, they print the number that the finding rests on."""
    spaced = os.path.join(folder, "a b's $HOME")
    os.makedirs(spaced)
    paths = [plant()[0].write(spaced, plant.__name__ + ".json") for plant in PLANTED]
    paths.append(os.path.join(TESTS, "fixtures", "made_gpu_train.json.gz"))
    paths.append(paths[-1] + "[0.2s:0.9s]")
    environment = dict(os.environ, NO_COLOR="1", NEUROLENS_LEDGER=tempfile.mkdtemp(dir=LEDGERS), PATH=os.path.join(folder, "bin") + ":" + os.environ["PATH"])
    os.makedirs(os.path.join(folder, "bin"))
    os.symlink(PROGRAM, os.path.join(folder, "bin", "neurolens"))
    seen = 0
    for path in paths:
        for finding in json.loads(run([path], "--format", "json")[1])["result"]["findings"]:
            done = subprocess.run(["sh", "-c", finding["check"] + " -q --format csv"], capture_output=True, env=environment, text=True)
            line = done.stdout.strip().split("\n")[-1]
            value = finding["evidence"][0]["value"]
            seen += 1
            if done.returncode or abs(float(line or "nan") - value) > 1e-9 * abs(value):
                check(False, "the check of %s in %s" % (finding["cause"], os.path.basename(path)), (value, line, done.stderr))
    check(seen > 15, "checks of findings can be pasted (%d)" % seen)
    lines = [line for line in run([paths[1]], "--section", "findings", columns=80)[1].split("\n") if line.startswith("     neurolens ") and "BEFORE" not in line]
    codes = [subprocess.run(["sh", "-c", line], capture_output=True, env=environment).returncode for line in lines]
    check(lines and not any(codes) and any(" sql " in line for line in lines), "commands of findings stand on lines of their own", (lines, codes))


def pages(folder):
    for plant in PLANTED:
        path = plant()[0].write(folder, "page.json")
        for columns in (80, 100, 120, 200):
            code, text = run([path], columns=columns)
            lines = text.rstrip("\n").split("\n")
            wide = [line for line in lines if len(line) > columns and " " in line.strip()]
            most = 45 if columns >= 100 else 60
            if not (code == 0 and len(lines) <= most and not [l for l in wide if "neurolens" not in l]):
                check(False, "%s fits %d columns" % (plant.__name__, columns), (len(lines), wide[:1]))
                break
        else:
            check(True, "%s fits a page at 80 to 200 columns" % plant.__name__)
    path = launch_bound()[0].write(folder, "full.json")
    brief, full = run([path])[1], run([path], "--full")[1]
    check(len(full.split("\n")) > 2 * len(brief.split("\n")), "--full prints more")
    check(brief.split("\n")[0][:20] == full.split("\n")[0][:20], "both begin with the answer")


def words(cause):
    """What causes.def says of a cause, without capitals."""
    with open(os.path.join(TESTS, "..", "src", "findings", "causes.def")) as file:
        return re.search(r'NL_CAUSE\(%s, \d, "(.*?)"\)' % cause, file.read()).group(1).lower()


def promised_once(folder):
    """Idle time of which a data loader has a third: the rest is promised besides, and each millisecond once; a loader
    that is all of it leaves nothing to promise, and without one the idle time is promised whole."""
    for loader, pause, besides in ((4000, 8000, True), (12000, 0, False), (0, 12000, False)):
        trace, now = Trace(), 1000
        for step in range(12):
            trace.slice("user_annotation", "ProfilerStep#%d" % step, now, 20000)
            if loader:
                trace.slice("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now, loader - 10)
            if pause:
                trace.slice("cpu_op", "app::postprocess", now + loader, pause - 10)
            trace.slice("cpu_op", "aten::mm", now + 12000, 7900)
            trace.launch(now + 12000, 5, now + 12010, 7980)
            now += 20000
        path = trace.write(folder, "promised.json")
        text = re.sub(r"\s+", " ", run([path])[1])
        result = json.loads(run([path], "--format", "json")[1])["result"]
        findings = [finding for finding in result["findings"] if finding["severity"] != "info"]
        idle = sum(row["ns"] for row in result["account"] if row["part"] == "idle")
        check(sum(finding["net_saving_ns"] for finding in findings if not finding["explained_by"]) <= idle,
              "%d ms of a loader, %d of a pause: idle time is promised once" % (loader // 1000, pause // 1000), text[:3000])
        told = re.findall(r"saves up to ([\d.]+ ms) \([\d.]+ %(?: of [\d.]+ m?s)?\) besides the others, ([\d.]+ ms) alone", text)
        check(bool(told) == besides, "and what others save is %s" % ("told beside it" if besides else "not spoken of"), (told, text[:3000]))


def before_the_first(folder):
    """The finding is about what the sentence says, and claims those rows of the account."""
    for plant in (prepared, preprocessed):
        path = plant()[0].write(folder, "before.json")
        result = json.loads(run([path], "--format", "json")[1])["result"]
        found = [finding for finding in result["findings"] if finding["cause"] == "cpu_before_work"]
        if plant is prepared:  # four steps: most of it lies between the first work and the last
            check(not found or found[0]["cost_ns"] < 8e6, "only the first step's beginning is in front of all", found)
            continue
        answer = result["answer"]
        check(bool(found) and found[0]["saving_ns"][1] == answer["saving_ns"] and found[0]["severity"] == "critical",
              "what precedes the first work is a finding, as large as the sentence says", (answer, found))
        rows = [row for row in result["account"] if row["finding"] == "cpu_before_work"]
        check(sum(row["ns"] for row in rows) == found[0]["cost_ns"] and all(row["part"] == "before_device" for row in rows),
              "and claims its rows", rows)


def held_is_not_promised(folder):
    """Idle time in which launched work does not start: no earlier launch would help, and none is advised."""
    for plant, waits in ((held, True), (slow_host, False)):
        result = json.loads(run([plant()[0].write(folder, "held.json")], "--format", "json")[1])["result"]
        found = [finding for finding in result["findings"] if finding["cause"] == "gpu_idle"]
        if not check(bool(found), plant.__name__ + ": idle time is a finding", result["findings"]):
            continue
        told = "launched and does not start" in found[0]["title"]
        advice = found[0]["suggestions"][0]["do"]
        check(told == waits and advice.startswith("Record" if waits else "Take"), "%s: the advice fits" % plant.__name__, (found[0]["title"], advice))
        check((found[0]["saving_ns"][1] < found[0]["cost_ns"] / 5) == waits, "%s: and what is promised" % plant.__name__, found[0]["saving_ns"])


def generated_code(folder):
    """Names of generated code are the same in the sentence and in findings: without the hashes of its file."""
    trace, now = Trace(), 1000
    for _ in range(300):
        trace.slice("python_function", "/tmp/torchinductor_root/ov/cov463qhi2m2kw6ldmzzijfv5t3cjjklfci3qly3nsw6upcskct3.py(2533): call", now, 90)
        trace.slice("python_function", "nn.Module: Linear_7", now + 90, 9)
        trace.slice("user_annotation", "IO %d" % (now // 100), now, 99)
        trace.launch(now + 88, 1, now + 90, 10)
        now += 100
    text = re.sub(r"\s+", " ", run([trace.write(folder, "generated.json")])[1]).split("What the CPU did")[0]
    check("/tmp/torchinductor_*.py(2533): call" in text[:400] and "ov/cov" not in text and "Linear_" not in text[:400] and "IO *" not in text[:400], "generated code has one name", text[:1500])


def two_clocks(folder):
    """Lanes that are days away from the others are of another clock; a lane with events on both sides, or minutes, are none."""
    for apart, same_lane, clocks in ((10 ** 12, False, True), (10 ** 12, True, False), (60 * 10 ** 6, False, False)):
        trace = Trace()
        for i in range(100):
            trace.slice("app", "work", apart + i * 1000, 900)
        trace.slice("app", "early", 10, 500, tid=7 if same_lane else 8)
        path = trace.write(folder, "clocks.json")
        text = re.sub(r"\s+", " ", run([path])[1])
        check(("Two clocks: 1 event is " in text and "100.0 ms" not in text and "99.90 ms" in text.split("Two clocks")[0]) if clocks
              else "Two clocks" not in text, "%d s apart%s" % (apart // 10 ** 6, ", on one lane" if same_lane else ""), text[:500])


def waits_for_locks(folder):
    """A contention profile counts waits, not processor time, and its table says so; folded stacks are samples of the CPU."""
    path = os.path.join(folder, "locks.contention")
    with open(path, "w") as file:
        file.write("--- contentionz 1 ---\ncycles/second = 3000000000\nsampling period = 100\nms since reset = 16502830\ndiscarded samples = 0\n"
                   "  19490304       27 @ 0x0000000000bccc97 0x0000000000c61202\n  2490304       2 @ 0x0000000000bccc99 0x0000000000c61202\n")
    text = run([path])[1]
    check("Contention profile" in text and "Functions by waits for locks" in text and "CPU samples" not in text, "waits for locks are called so", text)
    path = os.path.join(folder, "cpu.folded")
    with open(path, "w") as file:
        file.write("main;delay_line 10\nmain;work 20\n")
    check("Functions by CPU samples" in run([path])[1], "and samples of the CPU, too", run([path])[1])


def kernels_in_titles(folder):
    """A kernel is called in a finding's title what the tables call it."""
    trace = Trace()
    for i in range(100):
        trace.launch(1000 + 100 * i, 5, 1010 + 100 * i, 95, "void two_blocktiling<(int)128, (int)128, (int)8>(float*, int)")
    result = json.loads(run([trace.write(folder, "title.json")], "--format", "json")[1])["result"]
    titles = [finding["title"] for finding in result["findings"] if finding["cause"] == "kernel_hotspot"]
    check(titles and titles[0].endswith("GPU 0 does: two_blocktiling"), "kernels have one name", titles)


def fetching_in_windows(folder):
    """Of fetching counts what lies between the first and the last work of the window: beside nine steps it is as long as the waits
    for it, in all of them and in two. Its SQL says the same."""
    path = loader_stall()[0].write(folder, "loader.json")
    for window, steps in (("", 9), ("[step=2:4]", 2)):
        result = json.loads(run([path + window], "--format", "json")[1])["result"]
        found = [finding for finding in result["findings"] if finding["cause"] == "dataloader_stall"]
        if not check(bool(found), "fetching is found in " + (window or "all"), [finding["cause"] for finding in result["findings"]]):
            continue
        fetching = [evidence for evidence in found[0]["evidence"] if evidence["metric"] == "fetching_ns"][0]
        done = subprocess.run([PROGRAM, "sql", "-q", "--format", "csv", path, fetching["query"]], capture_output=True, text=True,
                              env=dict(os.environ, NEUROLENS_LEDGER=tempfile.mkdtemp(dir=LEDGERS)))
        check(fetching["value"] <= steps * 9e6 and fetching["value"] >= found[0]["cost_ns"] and
              done.stdout.split()[-1] == str(int(fetching["value"])), "%d fetches in %s" % (steps, window or "all"), (fetching["value"], found[0]["cost_ns"], done.stdout))


def short_lived_helpers(folder):
    """A process that was there for a fiftieth of the time: that it waited for a lock then is no finding about the program; one that
    was there for half of it is."""
    for lived, found in ((20000, False), (50000, False), (90000, False), (500000, True)):
        trace = Trace()
        for i in range(100):
            trace.slice("python_function", "model.py(%d): work" % (i % 5), 1000 + i * 10000, 9990, pid=1)
        trace.slice("python_function", "worker.py(3): wait_for_work", 1000, lived, pid=2, tid=9)
        trace.slice("python_function", "<method 'acquire' of '_thread.lock' objects>", 1010, lived - 100, pid=2, tid=9)
        result = json.loads(run([trace.write(folder, "helpers.json")], "--format", "json")[1])["result"]
        causes = [finding["cause"] for finding in result["findings"]]
        check(("lock_waits" in causes) == found, "a process of %d ms of 1000" % (lived // 1000), (causes, [finding["title"] for finding in result["findings"]]))


def copies_of_another():
    """Four TPUs wait for copies that are recorded under the first: what is said of another one are their directions."""
    global skipped
    path = os.path.join(SHARED, "samples", "xplane", "openxla+xprof", "xprof", "convert", "test_xplanes", "2cc1243f__tpu_inference_2.xplane.pb")
    if not os.path.exists(path):
        print("skipped: copies of another device, no ../shared")
        skipped += 1
        return
    check(") on TPU 1: host-to-device copies and device-to-host copies." in first_lines(path)[:400], "directions of another device's copies", first_lines(path)[:400])


def bare_addresses(folder):
    """Functions that are addresses: the answer says that their names are missing; a few among names are nothing to speak of."""
    for count, missing in ((90, True), (10, False)):
        path = os.path.join(folder, "bare.folded")
        with open(path, "w") as file:
            file.write("".join("main;0x42%04x 1\n" % i for i in range(count)) + "".join("main;work_%d 1\n" % i for i in range(100 - count)))
        text = re.sub(r"\s+", " ", run([path])[1])
        check(("Names are missing: %d %% of it is in bare addresses" % count in text) == missing and ("Names are missing" in text) == missing,
              "%d %% bare addresses" % count, text[:500])


def one_screen(folder):
    """One whole for sentence and bars, findings numbered as in their section, -n only shortens, commands can be copied."""
    wholes = numbers = shorter = copied = 0
    for plant in PLANTED:
        path = plant()[0].write(folder, "screen it's.json")
        answer = json.loads(run([path], "--format", "json")[1])["result"]
        text, flat = run([path], columns=200)[1], ""
        flat = re.sub(r"\s+", " ", text)
        whole = answer["answer"]["whole_ns"]
        told = re.search(r"([\d.,]+ (?:ns|µs|ms|s)) of ([\d.,]+ (?:ns|µs|ms|s)) \(", flat)
        bar = re.search(r"device 0 .*? of ([\d.,]+ (?:ns|µs|ms|s))( \([\d,]+ steady steps?\))?$", text, re.M)
        if whole is not None and not (bar and told and bar.group(1) == told.group(2)):
            check(False, "%s: bars and sentence are of one whole" % plant.__name__, text[:600])
        wholes += whole is not None
        listed = [line for line in run([path], "--section", "findings", columns=200)[1].split("\n") if re.match(r"\d+\. ", line)]
        causes = [finding["cause"] for finding in answer["findings"]]
        for line in text.split("\n"):
            found = re.match(r"(\d+)\. (?:(.+), see above)?", line)
            if found and (line not in listed if not found.group(2) else words(causes[int(found.group(1)) - 1]) != found.group(2).lower()):
                check(False, "%s: findings have the same numbers everywhere" % plant.__name__, line)
            numbers += bool(found)
        lengths = [len(run([path], "-n", str(n))[1].split("\n")) for n in (1, 100)] + [len(run([path])[1].split("\n"))]
        check(lengths == sorted(lengths), "%s: -n only shortens" % plant.__name__, lengths)
        shorter += lengths[0] < lengths[-1]
        for command in [line for line in text.split("\n") if line.startswith("  neurolens ")][:1]:
            env = dict(os.environ, NEUROLENS_LEDGER=tempfile.mkdtemp(dir=LEDGERS), PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"])
            copied += subprocess.run(["sh", "-c", command], capture_output=True, env=env).returncode == 0
    check(wholes > 10 and numbers > 10 and shorter > 5, "bars, numbers and limits were looked at", (wholes, numbers, shorter))
    check(copied == len(PLANTED), "the next command can be copied", copied)


MAX_SCREEN = 64 << 20  # bytes of a sample: larger ones take long and look no different
MAX_WORD = 40          # a word that is longer may stick out of a narrow screen: paths; code is broken behind its brackets


def wide(text):
    """Columns that a terminal gives a line."""
    return sum(0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def sticks_out(line, columns):
    """Wider than the screen, and neither a command to copy nor a line of one long word."""
    return wide(line) > columns and not line.startswith("  neurolens ") and not any(wide(word) > MAX_WORD and "(" not in word[1:-1] for word in line.split())


def screens():
    """Every answer about every sample fits a screen: 45 lines at most and 100 columns; at 80 no table loses what it is read
    for, nor sticks out."""
    samples = os.path.join(SHARED, "samples")
    if not os.path.isdir(samples):
        print("skipped: screens of ../shared")
        return
    paths = sorted(os.path.join(here, name) for here, _, names in os.walk(samples) for name in names)
    seen, long, out, narrow = 0, [], [], []
    for path in paths:
        if os.path.getsize(path) > MAX_SCREEN:
            continue
        status, text = page(path)
        if status:
            continue
        lines = text.split("\n")[:-1]
        seen += 1
        long += [(path, len(lines))] if len(lines) > 45 else []
        out += [(path, line) for line in lines if wide(line) > 100 and path not in line]  # which cannot be broken
        if seen % 6 == 0:
            lines = run([path], "--no-pager", columns=80)[1].split("\n")
            narrow += [(path, line) for line in lines if sticks_out(line, 80)]
            narrow += [(path, line, lines[i + 1]) for i, line in enumerate(lines[:-1])
                       if "share of" in line and not re.search(r"\bshare\b|of wall", lines[i + 1])]
    check(seen > 300, "screens of samples were looked at", seen)
    check(not long, "answers have 45 lines at most", long[:4])
    check(not out, "and 100 columns", out[:4])
    check(not narrow, "nothing sticks out of 80 columns, or is missing", narrow[:4])


def several(folder):
    """Several files: twice the same, captures of one device, ranks, and files that are hours apart."""
    def written(name, shift, rank=None):
        trace = compute_bound()[0]
        path = trace.write(folder, name, shift=shift)
        with open(path) as file:
            document = json.load(file)
        document["baseTimeNanoseconds"] = 1700000000000000000
        if rank is not None:
            document["distributedInfo"] = {"rank": rank, "world_size": 2}
        with open(path, "w") as file:
            file.write(json.dumps(document))
        return path

    def note(*paths):
        notes = json.loads(run(paths, "--format", "json")[1])["result"]["answer"]["notes"]
        return " ".join(notes[:1])

    first, again = written("several_a.json", 0), written("several_b.json", 0)
    check("same file is there more than once" in note(first, again), "the same file twice is told", note(first, again))
    later, latest = written("several_c.json", 5000000), written("several_d.json", 9000000)
    told = note(first, later, latest)
    check("3 captures of one device" in told and "repetitions, not devices" in told, "captures of one device are told", told)
    told = note(first, latest, later)
    check("3 captures of one device" in told, "and counted in whatever order they are given", told)
    ranks = [written("several_0.json", 0, 0), written("several_1.json", 500, 1)]
    check("captures of one" not in note(*ranks) and "more than once" not in note(*ranks), "ranks are no captures", note(*ranks))
    apart = [written("several_2.json", 0, 0), written("several_3.json", 3 * 3600 * 1000000, 1)]
    check("probably not from the same run" in note(*apart), "files three hours apart are told", note(*apart))
    check("captures" not in note(first) and "apart" not in note(first), "one file has nothing of it", note(first))


def replays(folder):
    """Graphs whose kernels are not in the file: what looks idle meanwhile is not called so, and nothing is promised. The
    same with their kernels is judged as ever."""
    for recorded in (False, True, "unlinked"):
        trace, now = Trace(), 1000
        for i in range(60):
            trace.launch(now, 5, now + 10, 480)
            now += 500
        for step in range(20):
            trace.launch(now, 5, now + 10, 20, "sample_kernel")
            now += 100
            trace.slice("cuda_runtime", "cudaGraphLaunch", now, 100, correlation=trace.next)
            for k in range(4 if recorded else 0):
                trace.slice("kernel", "decode_kernel", now + 110 + 900 * k, 890, tid=7, pid=0, device=0, stream=7,
                            **({} if recorded == "unlinked" else {"correlation": trace.next}))
            trace.next += 1
            trace.slice("cuda_runtime", "cudaStreamSynchronize", now + 100, 3700)
            now += 3850
        result = json.loads(run([trace.write(folder, "replays.json")], "--format", "json")[1])["result"]
        answer, told = result["answer"], " ".join(result["answer"]["notes"])
        causes = {finding["cause"] for finding in result["findings"]}
        if recorded:
            check("replayed graphs" not in told and answer["class"] == "compute", "graphs with kernels are judged as ever: %s" % recorded, answer)
        else:
            check(answer["class"] == "none" and "No verdict: the kernels of replayed graphs were not recorded" in answer["sentence"] and
                  "--cuda-graph-trace=node" in told and answer["saving_ns"] is None and "not recorded (20 launches of graphs)" in told and
                  not causes & {"gpu_idle", "sync_calls", "launch_bound_small_kernels", "cuda_graph_absent"},
                  "the time of graphs without kernels is not called idle", (answer, causes))


def replays_of_one(folder):
    """Two processes, a device each: one replays graphs without their kernels, the other waits for the CPU. Its gaps are idle."""
    for both in (False, True):
        trace = Trace()
        for pid, device in ((10, 0), (11, 1)):
            now = 1000
            for step in range(60):
                trace.slice("cuda_runtime", "cudaLaunchKernel", now, 5, pid=pid, correlation=trace.next)
                trace.slice("kernel", "sample_kernel", now + 10, 200, tid=7, pid=device, device=device, stream=7, correlation=trace.next)
                trace.next += 1
                if device == 0 or both:
                    trace.slice("cuda_runtime", "cudaGraphLaunch", now + 300, 20, pid=pid, correlation=trace.next)
                    trace.next += 1
                else:
                    trace.slice("cpu_op", "app::prepare", now + 20, 4900, pid=pid)
                now += 5000
        result = json.loads(run([trace.write(folder, "two.json")], "--format", "json")[1])["result"]
        idle = [finding["scope"]["gpu"] for finding in result["findings"] if finding["cause"] == "gpu_idle"]
        check(idle == ([] if both else [1]), "%s replay%s graphs unrecorded" % (("both", "") if both else ("one", "s")), (idle, result["answer"]["sentence"]))


def amd_counters(folder):
    """What counters say of the kernel with most time, by AMD's formulas: 3 dispatches of 10 us that read 96 kB each."""
    head = "Dispatch_ID,Kernel_Name,Grid_Size,Workgroup_Size,Start_Timestamp,End_Timestamp,%s\n"
    cases = (("TCC_HIT_sum,TCC_MISS_sum,SQ_WAIT_ANY,SQ_WAIT_INST_ANY,SQ_WAVE_CYCLES,TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum,TCC_BUBBLE_sum,"
              "TCC_EA0_WRREQ_sum,TCC_EA0_WRREQ_64B_sum", "250,750,156,3280,4000,1000,0,536,600,400",
              ("its waves wait for data or barriers 3.9 %, for issue 82 %", "L2 hits 25 %", "288.0 KiB read from memory (9.83 GB/s)", "93.75 KiB written (3.2 GB/s)")),
             ("FETCH_SIZE,L2CacheHit,MemUnitBusy", "96,40,90", ("memory units busy 90 %", "L2 hits 40 %", "288.0 KiB read from memory (9.83 GB/s)")),
             ("TCC_EA0_RDREQ_sum,TCC_EA0_RDREQ_32B_sum", "1000,0", ("(3 dispatches).",)),
             ("SQ_INSTS_BRANCH", "5", ("(3 dispatches).",)))
    for names, values, words in cases:
        path = os.path.join(folder, "pmc_perf.csv")
        with open(path, "w") as file:
            file.write(head % names)
            for i in range(3):
                file.write("%d,vecCopy,1024,256,%d,%d,%s\n" % (i, 1000000 + 50000 * i, 1010000 + 50000 * i, values))
        sentence = json.loads(run([path], "--format", "json")[1])["result"]["answer"]["sentence"]
        check(all(word in sentence for word in words), "counters of AMD: " + ", ".join(words), sentence)
        text = run([path])[1]
        check(bool(re.search(r"^Kernel counters(?!:)", text, re.M)) != ("Kernels by total time" in text), "kernels stand in one table", text)


def replaced_memory(folder):
    """A step that makes its state anew: what is live of before and of the recording, not their difference; owners are the program's."""
    def frames(*names):
        return [{"filename": name, "name": "f", "line": 3} for name in names]
    mib, kept = 1 << 20, []
    events = [{"action": "alloc", "addr": 9, "size": 4 * mib, "frames": frames("/tmp/torchinductor_me/ab/cxyz.py", "/src/model.py")}]
    for i in range(10):  # each block of before is freed after its successor of equal size was made
        events += [{"action": "alloc", "addr": 1000 + i, "size": 8 * mib, "frames": frames("/src/optimizer.py")},
                   {"action": "free_completed", "addr": 100 + i, "size": 8 * mib, "frames": frames("/src/optimizer.py")}]
    events += [{"action": "alloc", "addr": 10, "size": 12 * mib, "frames": frames("/src/model.py")},
               {"action": "free_completed", "addr": 10, "size": 12 * mib, "frames": []},
               {"action": "free_completed", "addr": 9, "size": 4 * mib, "frames": []}]
    for i, event in enumerate(events):
        event.update(stream=0, time_us=1700000000000000 + i)
        kept += [event]
    segment = {"device": 0, "address": 0, "total_size": 200 * mib, "allocated_size": 120 * mib, "active_size": 120 * mib, "stream": 0,
               "segment_type": "large", "frames": [], "blocks": [{"size": 120 * mib, "requested_size": 120 * mib, "address": 0,
                                                                  "state": "active_allocated", "frames": []},
                                                                 {"size": 80 * mib, "requested_size": 0, "address": 120 * mib,
                                                                  "state": "inactive", "frames": []}]}
    path = os.path.join(folder, "replaced.pickle")
    for left, before, says in ((0, "120.0 MiB (88 %)", "Everything that was allocated while recording was freed again."),
                               (80, "40.00 MiB (29 %)", "Of what was allocated while recording, 80.00 MiB are still live at the end; of what was live before, 80.00 MiB were freed."),
                               (40, "40.00 MiB (29 %)", "Of what was allocated while recording, 80.00 MiB are still live at the end; of what was live before, 40.00 MiB were freed.")):
        traced = [event for event in kept if event["addr"] in (9, 10) or event["addr"] >= (1000 if left else 5000) or
                  left and event["addr"] < 100 + left // 8]
        with open(path, "wb") as file:
            pickle.dump({"segments": [segment], "device_traces": [traced], "allocator_settings": {}}, file, 2)
        answer = json.loads(run([path], "--format", "json")[1])["result"]["answer"]
        check(says in answer["notes"], "%d MiB of before are freed and 80 are made: what is live at the end" % left, answer)
        check(before + " from before" in answer["sentence"],
              "%d MiB of before are freed: what is left of it at the peak" % left, answer["sentence"])
        check("f (model.py) 16.00 MiB" in answer["sentence"] and "cxyz" not in answer["sentence"], "generated code is not the program's own", answer)


def one_dump(folder):
    """A flight recorder's dump of one rank: what is open first is told, be it a receive, and whom it is from."""
    def entry(number, group, sequence, name, when, state="scheduled"):
        return {"record_id": number, "pg_id": 0, "process_group": (group, "PP" if group == "49" else "TP"), "collective_seq_id": sequence,
                "p2p_seq_id": sequence, "op_id": number, "profiling_name": name, "time_created_ns": when, "input_sizes": [[4]],
                "input_dtypes": ["Float"], "output_sizes": [[4]], "output_dtypes": ["Float"], "state": state, "time_discovered_started_ns": None,
                "time_discovered_completed_ns": None, "retired": False, "frames": [], "is_p2p": "<-" in name or "->" in name}
    groups = {"49": {"name": "49", "desc": "PP", "ranks": "[2, 6, 10, 14]"}, "36": {"name": "36", "desc": "TP", "ranks": "[2, 3]"}}
    base = 1700000000000000000
    reduce, receive, send = (lambda when: entry(3, "36", 7, "nccl:all_reduce", base + when), lambda when: entry(1, "49", 5, "nccl:recv 0<-3", base + when),
                             lambda when: entry(2, "49", 6, "nccl:send 0->1", base + when))
    for what, entries, says in (
            ("a receive", [receive(1000), send(2000), reduce(3000)], "3 operations have not completed; the first is recv 5 of PP 49, from rank 14."),
            ("a send", [send(1000), reduce(3000)], "2 operations have not completed; the first is send 6 of PP 49, to rank 6."),
            ("a collective", [reduce(500), receive(1000)], "2 operations have not completed; the first is all_reduce 7 of TP 36.")):
        path = os.path.join(folder, "one_dump_2")
        with open(path, "wb") as file:
            pickle.dump({"version": "2.9", "pg_config": groups, "pg_status": {}, "entries": entries}, file, 2)
        answer = json.loads(run([path], "--format", "json")[1])["result"]["answer"]
        check(answer["class"] == "hang" and answer["sentence"] == "Hang: " + says, "one dump, first open is " + what, answer)


def says_cut():
    """A note says where the end of a profile is missing, on the page and in JSON, in whatever words the reader counted it; long
    arguments are no end, nor is a start that was overwritten."""
    for name, cut in (("nsys/cut-in-half.sqlite", True), ("recording/gpu.nlrec", True), ("chrome/cut_in_event.json", True),
                      ("perfetto/cut.pftrace", True), ("perfetto/arguments.pftrace", False), ("perfetto/counters.pftrace", False),
                      ("viztracer/functions.json", False)):
        path, says = os.path.join(TESTS, "corpus", name), "Cut: the end of the recording is missing"
        for page in run([path])[1], run([path], "--full")[1], run([path], "--format", "md")[1]:
            check((says in page) == cut, name + (" is cut" if cut else " is whole"), page[:400])
        notes = json.loads(run([path], "--format", "json")[1])["result"]["answer"]["notes"]
        check(any(note.startswith(says) for note in notes) == cut, name + (" is cut" if cut else " is whole") + ", in JSON", notes)


def one_of_two_cut(folder):
    """Of two files one is cut: that is the last of four notes, and stays, for there is nothing to be said about the files."""
    trace, now = Trace(), 1000
    for step in range(10):
        trace.slice("user_annotation", "ProfilerStep#%d" % step, now, 2000)
        for i in range(18):
            trace.slice("cpu_op", "aten::conv2d", now + 2 + i * 2, 2)
            trace.launch(now + 3 + i * 2, 1, now + 50 + i * 100, 100, "implicit_convolve_sgemm")
        now += 2000
    paths = [trace.write(folder, "whole.json"), trace.write(folder, "part.json", shift=5)]
    with open(paths[1], "r+b") as file:
        file.truncate(os.path.getsize(paths[1]) - 9)
    notes = json.loads(run(paths, "--format", "json")[1])["result"]["answer"]["notes"]
    check(len(notes) == 4 and notes[3].startswith("Cut: "), "one of two files is cut", notes)


def kernels_missing(folder):
    """Launches without kernels, a cut file, a GPU that is named: no profile of the CPU alone, and the first line says what is missing."""
    launched = "GPU work was launched in 40 calls (cudaLaunchKernel), but its kernels are not in the file"
    lost = "The end of the file is missing, and GPU work with it if there was any: "
    for what, calls, waits, gpu, cut, kernels, says in (
            ("launches", True, False, True, False, False, launched + ". The CPU alone: "),
            ("launches, cut", True, False, True, True, False, launched + ", of which the end is missing. The CPU alone: "),
            ("launches and waiting", True, True, True, False, False, launched + ". Waiting: the program does nothing for "),
            ("a GPU's name", False, False, True, False, False, "No GPU work was recorded, "),
            ("a GPU's name, cut", False, False, True, True, False, lost),
            ("nothing, cut", False, False, False, True, False, lost),
            ("nothing", False, False, False, False, False, "CPU-only profile, "),
            ("all", True, False, True, False, True, "")):
        trace = Trace()
        for i in range(40):
            now = 1000 + i * 1000
            if not waits:
                trace.slice("cpu_op", "aten::mm", now, 500)
            if kernels:
                trace.launch(now + 10, 20, now + 40, 400, "gemm")
            elif calls:
                trace.slice("cuda_runtime", "cudaLaunchKernel", now + 10, 20)
            if waits:
                trace.slice("python_function", "<method 'acquire' of '_thread.lock' objects>", now + 100, 880)
        trace.slice("cpu_op", "aten::add", 42000, 5)
        path = trace.write(folder, "missing.json")
        with open(path) as file:
            document = json.load(file)
        document.pop("deviceProperties", None)
        if gpu:
            document = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100", "computeMajor": 8, "computeMinor": 0, "numSms": 108}], **document}
        text = json.dumps(document)
        with open(path, "w") as file:
            file.write(text[:text.rindex("}, {")] + "}, {" if cut else text)
        sentence = json.loads(run([path], "--format", "json")[1])["result"]["answer"]["sentence"]
        check(sentence.startswith(says) and ("not in the file" in sentence) == ("not in the file" in says), "of GPU work the file has " + what, sentence)


def operators_of_gpus(folder):
    """Operators that only GPUs have say that one computed: how fast the CPU was in its operators is not known then, and none is a hot spot."""
    for name, unseen in (("aten::record_stream", True), ("nccl:all_reduce", True), ("aten::cudnn_convolution", True), ("aten::_efficient_attention_forward", True),
                         ("aten::cudnn_is_acceptable", False), ("aten::_scaled_dot_product_flash_attention_for_cpu", False), ("aten::mm", False), ("gloo:all_reduce", False)):
        trace = Trace()
        for i in range(40):
            trace.slice("cpu_op", "aten::addmm", 1000 + i * 1000, 600, **{"Input Dims": [[512], [512, 512], [512, 512], [], []], "Input type": ["float"] * 3 + ["Scalar"] * 2})
            trace.slice("cpu_op", name, 1700 + i * 1000, 20)
        path = trace.write(folder, "operators.json")
        with open(path) as file:
            document = json.load(file)
        document.pop("deviceProperties", None)
        with open(path, "w") as file:
            json.dump(document, file)
        result = json.loads(run([path], "--format", "json", "--all")[1])["result"]
        begins = "No GPU work was recorded, but a GPU was used (%s): " % name if unseen else "CPU-only profile, "
        check(result["answer"]["sentence"].startswith(begins), "an operator %s" % name, result["answer"]["sentence"])
        causes = [finding["cause"] for finding in result["findings"]]
        check(("cpu_hotspot" in causes) != unseen, "an operator %s, hot spots" % name, causes)
        text = run([path])[1]
        check(("GFLOP/s" in text) != unseen, "an operator %s, rate" % name, text[:600])
        rows = subprocess.run([PROGRAM, "sql", "--no-cache", "--format", "csv", path, "SELECT count(flops), count(host_ns) FROM op_work WHERE name = 'aten::addmm'"], stdout=subprocess.PIPE, text=True).stdout.split()
        check(rows[-1] == ("40,0" if unseen else "40,40"), "an operator %s, its FLOPs and times" % name, rows)


def corrected(verdict):
    """Verdicts that the contract of the command line overrules, with the reason."""
    # A file that cannot be read ends with status 4 and a message on stderr, not with a report (docs: exit statuses).
    return verdict["file"].endswith("test_xplanes/tpu_inference_2.xplane.pb")


def place(row):
    return row["rank"], row["device"]


def summed(rows, key, value="ns"):
    sums = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), 0) + (row[value] or 0)
    return {key: ns for key, ns in sums.items() if ns}


# Parts of the account that a cause can save at most.
BOUNDS = {"h2d_in_critical_path": "exposed_copy", "d2h_in_critical_path": "exposed_copy", "exposed_communication": "exposed_comm",
          "comm_on_compute_stream": "exposed_comm", "sync_calls": "idle", "cpu_dispatch_overhead": "idle", "gpu_idle": "idle",
          "launch_bound_small_kernels": "idle", "cuda_graph_absent": "idle", "allocator_churn": "idle",
          "jit_compile_in_loop": "idle", "launch_api_slow": "idle", "launch_latency_gap": "idle", "dataloader_stall": "idle"}


def one_account(name, paths, result, ask_sql):
    """Tables, findings and SQL say the same of every nanosecond: identities of the account, and possible savings."""
    rows = [row for row in result["account"] if row["inside"]]
    faults = []
    idle = [row for row in rows if row["part"] == "idle" and row["device"] is not None]
    causes = summed(result["idle_causes"], lambda row: (place(row), row["class"], row["activity"]), "total_ns")
    if causes != summed(idle, lambda row: (place(row), row["class"], row["kind"])):
        faults.append("classes of idle time differ between account and idle_causes")
    for row in result["breakdown"]:
        mine = [other for other in rows if place(other) == place(row)]
        if sum(place(other) == place(row) for other in result["breakdown"]) == 1 and mine and \
                sum(other["ns"] for other in mine) != row["wall_ns"]:
            faults.append("the parts of %s are not its wall time" % (place(row),))
    ids = {finding["id"]: finding for finding in result["findings"]}
    claimed = summed([row for row in result["account"] if row["finding"]], lambda row: row["finding"])
    for finding in ids.values():
        if claimed.get(finding["id"], 0) != finding["claims_ns"]:
            faults.append("%s claims %s, its rows are %s" % (finding["id"], finding["claims_ns"], claimed.get(finding["id"])))
        part = BOUNDS.get(finding["cause"])
        there = [row for row in rows if part and row["part"].startswith(part) or part == "exposed_copy" and
                 row["part"] in ("exposed_memset", "migration")]
        most = sum(row["ns"] for row in there if place(row) == (finding["scope"]["rank"], finding["scope"]["gpu"]))
        if part and rows and finding["saving_ns"][1] > most:
            faults.append("%s saves %d of %d ns" % (finding["id"], finding["saving_ns"][1], most))
    faults += ["a row is claimed by %s, which is no finding" % name for name in claimed if name not in ids]
    if ask_sql:
        query = "SELECT rank, device, phase, part, class, kind, finding, sum(ns) AS ns FROM account GROUP BY 1, 2, 3, 4, 5, 6, 7"
        key = lambda row: (place(row), row["phase"], row["part"], row["class"], row["kind"], row["finding"])
        answer = json.loads(output_of("sql", "--format", "json", *paths, query)[1])["result"]
        rows = [dict(zip([column["name"] for column in answer["columns"]], row)) for row in answer["rows"]]
        if summed(rows, key) != summed(result["account"], key):
            faults.append("SQL differs")
    check(not faults, "one account: " + name, "; ".join(faults))


def verdicts():
    global skipped
    path = os.path.join(SHARED, "oracles", "verdicts.jsonl")
    if not os.path.exists(path):
        print("skipped: no ../shared")
        skipped += 1
        return
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    for verdict in rows:
        if "same_as" in verdict or verdict.get("sure", 1) < 0.5:
            continue
        where = os.path.join(SHARED, "samples", verdict["file"])
        paths = [where] if os.path.exists(where) else sorted(glob.glob(where))
        if not paths:
            continue
        code, text = page(paths[0]) if len(paths) == 1 else run(paths)
        if corrected(verdict):
            check(code == 4, "unreadable: " + verdict["file"], code)
            continue
        faults = ["exit %d" % code] if code else []
        lines = text.split("\n")
        flat = re.sub(r"\s+", " ", " ".join(lines[:12]))
        if verdict.get("culprit") and not any(re.search(p, flat, re.I) for p in verdict["culprit"]):
            faults.append("culprit not named")
        flat = re.sub(r"\s+", " ", " ".join(lines[:45]))
        faults += ["says /%s/" % p for p in verdict.get("must_not_say") or [] if re.search(p, flat, re.I)]
        result = json.loads(run(paths, "--format", "json")[1])["result"]
        one_account(verdict["file"], paths, result, len(paths) == 1)
        thresholds(verdict["file"], result)
        answer = result["answer"]
        if answer["class"] not in [verdict["class"], *verdict.get("also_ok", [])]:
            faults.append("class " + answer["class"])
        check(not faults, verdict["file"], "; ".join(faults))


with tempfile.TemporaryDirectory() as scratch:
    planted(scratch)
    savings(scratch)
    no_cliff(scratch)
    window_without_work(scratch)
    edits(scratch)
    pasted(scratch)
    causes(scratch)
    spread(scratch)
    pages(scratch)
    one_screen(scratch)
    promised_once(scratch)
    bare_addresses(scratch)
    short_lived_helpers(scratch)
    fetching_in_windows(scratch)
    kernels_in_titles(scratch)
    waits_for_locks(scratch)
    two_clocks(scratch)
    generated_code(scratch)
    held_is_not_promised(scratch)
    before_the_first(scratch)
    captures_are_not_late(scratch)
    several(scratch)
    recursion(scratch)
    holders(scratch)
    joined(scratch)
    work_named_like_waiting(scratch)
    steps_of_merged(scratch)
    heavy_samples(scratch)
    slow_start(scratch)
    rates(scratch)
    thinned(scratch)
    engine(scratch)
    model_runs(scratch)
    replays(scratch)
    replays_of_one(scratch)
    amd_counters(scratch)
    waits_own_little(scratch)
    profilers_start(scratch)
    one_of_two(scratch)
    copies_of_several(scratch)
    placed_remark(scratch)
    one_idle(scratch)
    hot(scratch)
    layers_of_runs(scratch)
    energy(scratch)
    lines_of_scalene(scratch)
    cpus_without_work(scratch)
    calls_inside(scratch)
    last_gpu(scratch)
    counters_beside_calls(scratch)
    snapshots_of_ranks(scratch)
    steps_of_captures(scratch)
    windows_are_named(scratch)
    event_loops(scratch)
    calls_without_end(scratch)
    imports(scratch)
    one_wait(scratch)
    states_alone(scratch)
    helpers_that_wait(scratch)
    threads_that_wait(scratch)
    gaps_that_wait(scratch)
    cores_by_maker(scratch)
    execution_traces(scratch)
    ranks_of_benchmarks(scratch)
    says_cut()
    one_of_two_cut(scratch)
    core_words(scratch)
    kernels_missing(scratch)
    operators_of_gpus(scratch)
    replaced_memory(scratch)
    one_dump(scratch)
copies_of_another()
verdicts()
screens()
print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
sys.exit(failed > 0)
