#!/usr/bin/env python3
"""The GPU that the others wait for, in ONE recording without ranks: Kineto's of one process, and Nsight Systems' of one process a GPU.
Programs are played step by step as in lateranks.py, on one clock; among them some in which no GPU is late though kernels of NCCL
wait: pipelines, devices that do different things, groups that overlap by chance, clocks of two hosts."""
import argparse
import json
import os
import sys

import lateranks
from answertraces import Trace, launched
from harness import Tally, forked as neurolens, scratch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import make_nsys  # noqa: E402


class Gpu(Trace):
    """The part of a trace that is of one GPU and the thread that feeds it; nothing names ranks or groups."""

    def __init__(self, number):
        super().__init__()
        self.number, self.next = number, 1 + 600 * number

    def slice(self, cat, name, ts, dur, tid=None, pid=1, **args):
        if cat == "user_annotation" and self.number: # the one profiler of the process marks each step once
            return
        super().slice(cat, name, ts, dur, 100 + self.number if tid is None else tid, pid, **args)

    def launch(self, ts, dur, start, length, kernel="gemm_kernel", call="cudaLaunchKernel", stream=7, device=0, cat="kernel", **args):
        super().launch(ts, dur, start, length, kernel, call, stream, self.number, cat)


def player(shift=0):
    return lambda number, plan: lateranks.Rank(number, plan, Gpu(number), shift)


def kineto(folder, them):
    path = os.path.join(folder, "gpus.json")
    with open(path, "w") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": rank.number, "name": "NVIDIA A100-SXM4-80GB"} for rank in them],
                   "traceEvents": [event for rank in them for event in rank.trace.events]}))
    return path


def nsys(folder, them):
    path = os.path.join(folder, "gpus.sqlite")
    if os.path.exists(path):
        os.remove(path)
    maker = make_nsys.Maker(argparse.Namespace(era="3.24", eager=False, utf16=False, page_size=4096, without_rowid=False, wal=False,
                                               inline_text=False, seed=1))
    for rank in them:
        process = (1 << 48) | ((500 + rank.number) << 24)
        thread = process | (500 + rank.number)
        for event in rank.trace.events:
            start, end, args = event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000, event["args"]
            if event["cat"] == "kernel":
                name = maker.text(event["name"])
                maker.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=rank.number, contextId=1, streamId=event["tid"],
                          globalPid=process, correlationId=args["correlation"], demangledName=name, shortName=name, registersPerThread=40,
                          gridX=80, gridY=1, gridZ=1, blockX=128, blockY=1, blockZ=1)
            elif event["cat"] == "cuda_runtime":
                maker.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, globalTid=thread, correlationId=args.get("correlation", 0),
                          nameId=maker.text(event["name"] + "_v3020"))
            else:
                maker.add("NVTX_EVENTS", start=start, end=end, eventType=59, globalTid=thread, domainId=0, text=event["name"])
        maker.add("TARGET_INFO_GPU", id=rank.number, name="NVIDIA A100-SXM4-80GB", cuDevice=rank.number)
        maker.add("TARGET_INFO_CUDA_DEVICE", gpuId=rank.number, cudaId=rank.number, pid=500 + rank.number)
    maker.write(path)
    return path


def ask(path):
    done = neurolens(["analyze", "-q", "--no-cache", "--format", "json", path])
    return json.loads(done.stdout)["result"]


def late(tally, folder):
    for what, gpus, plan, number, kind, doing, name in lateranks.LATE:
        them, took = lateranks.play(plan, gpus, make=player())
        others = [plan(gpu, 0) for gpu in range(gpus) if gpu != number]
        won = took - lateranks.play(lambda gpu, index: others[0], gpus)[1]
        for write in (kineto, nsys):
            said = "%s, %s: " % (write.__name__, what)
            result = ask(write(folder, them))
            answer = result["answer"]
            who = "GPU %d waits for it" % (1 - number) if gpus == 2 else "the other 3 GPUs wait for it inside collectives"
            tally.check(said + "GPU %d is late" % number,
                        answer["sentence"].startswith("GPU %d is late: %s" % (number, who)) and answer["class"] == kind
                        and doing in answer["sentence"] and (name in answer["sentence"] or write is nsys), answer)
            told = answer["saving_ns"]
            tally.check(said + "no more is promised than playing it again wins, and no less than half",
                        told and won * 500 <= told <= won * 1050, (told, won * 1000))
            skew = [finding for finding in result["findings"] if finding["cause"] == "collective_skew"]
            tally.check(said + "the finding says for whom, and promises no more",
                        skew and "for GPU %d:" % number in skew[0]["title"] and skew[0]["saving_ns"][1] <= (told or 0), skew)


def alike(tally, folder):
    for what, options, plan in lateranks.ALIKE:
        them, _ = lateranks.play(plan, 4, make=player(), **options)
        for write in (kineto, nsys):
            answer = ask(write(folder, them))["answer"]
            tally.check("%s, no GPU is late: %s" % (write.__name__, what), "is late" not in answer["sentence"], answer)


SLOW = lateranks.only(1, {"kernel": 90})


def silent(tally, folder, what, them):
    for write in (kineto, nsys):
        result = ask(write(folder, them))
        text = json.dumps([result["answer"], result["findings"]])
        tally.check("%s, nothing is said of a late GPU: %s" % (write.__name__, what),
                    "is late" not in text and "arrives last" not in text and "waiting for GPU" not in text, result["answer"])


def played(gpus=2, shift=0):
    return lateranks.play(SLOW, gpus, make=player(shift))[0]


def rename(them, number, old, new):
    for event in them[number].trace.events:
        if old in event["name"]:
            event["name"] = event["name"].replace(old, new)


def look_alikes(tally, folder):
    silent(tally, folder, "clocks of two hosts", played(shift=700))
    them = played()
    rename(them, 1, "AllReduce", "AllGather")
    silent(tally, folder, "different collectives", them)
    them = played()
    rename(them, 0, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "softmax_kernel")
    rename(them, 1, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "softmax_kernel")
    silent(tally, folder, "no collectives", them)
    them = played()
    for number in range(2):
        rename(them, number, "AllReduce_Sum_bf16_RING_LL", "SendRecv")
    silent(tally, folder, "a pipeline: each waits for the stage before", them)
    them = played()
    last = max(index for index, event in enumerate(them[1].trace.events) if "nccl" in event["name"])
    del them[1].trace.events[last]
    silent(tally, folder, "one collective more on one device", them)
    # each of two jobs reduces between its own two GPUs, at other times: nobody waits for the other job
    two, other = played(), played()
    for rank in other:
        rank.trace.number = rank.number = rank.number + 2
        for event in rank.trace.events:
            event["ts"] += 1300
            event["pid"] = event["pid"] if event["pid"] == 1 and event["cat"] != "kernel" else rank.number
            event["args"] = dict(event["args"], **({"device": rank.number} if "device" in event["args"] else {}))
            if "correlation" in event["args"]:
                event["args"]["correlation"] += 1200
            event["tid"] = event["tid"] + 50 if event["tid"] >= 100 else event["tid"]
    silent(tally, folder, "two jobs side by side", two + other)


def two_gpus(folder, first, second):
    """The first finding, and the page, about two GPUs that launch kernels each on their own: gap and length of kernels."""
    them = []
    for number, (gap, length) in enumerate((first, second)):
        gpu = Gpu(number)
        launched(gpu, 250, gap, length, op="aten::add")
        them.append(argparse.Namespace(number=number, trace=gpu))
    path = kineto(folder, them)
    page = " ".join(neurolens(["analyze", "-q", "--no-cache", "--format", "text", path]).stdout.split())
    return ask(path), page


def one_place(tally, folder):
    """Sentence and first finding are about one GPU where two are alike; else the finding says that it is about another."""
    result, page = two_gpus(folder, (60, 3), (60, 12))
    tally.check("two alike: sentence and first finding are about one GPU", "GPU 1" in result["answer"]["sentence"]
                and result["findings"][0]["scope"]["gpu"] == 1 and "not the one above" not in page, (result["answer"], page))
    result, page = two_gpus(folder, (900, 3), (60, 55))
    tally.check("two that differ: the finding says that it is about another GPU", "GPU 1" in result["answer"]["sentence"]
                and result["findings"][0]["scope"]["gpu"] == 0 and "on this device alone, not the one above" in page,
                (result["answer"], page))


def several_ranks(tally, folder):
    """Ranks that are known come first: the same program with its ranks named speaks of ranks."""
    them, _ = lateranks.play(lateranks.LATE[1][2], 4)
    answer = lateranks.ask(folder, them)["answer"]
    tally.check("ranks that are known are named", answer["sentence"].startswith("Rank 1 is late: the other 3 ranks"), answer)


def main():
    tally = Tally("lategpus")
    folder = scratch()
    late(tally, folder)
    alike(tally, folder)
    look_alikes(tally, folder)
    several_ranks(tally, folder)
    one_place(tally, folder)
    tally.finish()


if __name__ == "__main__":
    main()
