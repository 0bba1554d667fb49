#!/usr/bin/env python3
"""The rank that the others wait for: ranks of a data-parallel program are played step by step, each file with a clock of its own,
and what the answer says of who is late, why, and what can be won is held to what playing it again without the delay wins. Among
them programs in which no rank is late, though all wait."""
import json
import os
import re

from answertraces import Trace
from harness import Tally, forked as neurolens, scratch

OPS, TRANSFER = 40, 300  # of a step; of an all-reduce, µs
SHIFT = 7000  # between the clocks of two ranks


class Rank:
    """One rank of a plan: what its steps take, µs; its trace on a clock of its own."""

    def __init__(self, number, plan, trace=None, shift=SHIFT):
        self.trace, self.number, self.plan, self.shift = trace or Trace(), number, plan, shift * number
        self.now = 1000 + self.shift

    def step(self, index):
        """Up to the collective: when the rank is ready for it."""
        plan = self.plan(self.number, index)
        self.begin = now = self.now
        if plan.get("fetch"):
            self.trace.slice("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", now, plan["fetch"] - 2)
            now += plan["fetch"]
        free = now
        for _ in range(OPS):
            self.trace.slice("cpu_op", plan.get("op", "aten::mm"), now, plan.get("gap", 20) - 2)
            free = max(free, now + plan.get("gap", 20) - 6)
            self.trace.launch(now + plan.get("gap", 20) - 10, 5, free, plan.get("kernel", 50), plan.get("name", "gemm_kernel"))
            free += plan.get("kernel", 50)
            now += plan.get("gap", 20)
        self.cpu, self.ready = now, free + 4
        return self.ready - self.shift

    def collective(self, index, end, hidden):
        """All ranks leave it at `end`; beside it the device computes where it is `hidden`."""
        end += self.shift
        self.trace.launch(self.cpu, 5, self.ready, end - self.ready, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", stream=20,
                          **{"Collective name": "allreduce", "Process Group Name": "0", "Process Group Ranks": "[0, 1, 2, 3]",
                             "Group size": 4, "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "dtype": "BFloat16", "Seq": index})
        if hidden:
            self.trace.launch(self.cpu + 6, 5, self.ready, end - self.ready, "gemm_beside")
        self.trace.slice("cuda_runtime", "cudaDeviceSynchronize", self.cpu + 12, end + 2 - self.cpu - 12)
        self.trace.slice("user_annotation", "ProfilerStep#%d" % index, self.begin, end + 10 - self.begin)
        self.now = end + 12

    def write(self, folder):
        path = self.trace.write(folder, "rank%d.json" % self.number)
        with open(path) as file:
            document = json.load(file)
        document["distributedInfo"] = {"backend": "nccl", "rank": self.number, "world_size": 4}
        with open(path, "w") as file:
            file.write(json.dumps(document))
        return path


def play(plan, ranks, steps=12, hidden=False, make=Rank):
    """The ranks, and how long the program takes."""
    them = [make(number, plan) for number in range(ranks)]
    end = 0
    for index in range(steps):
        end = max([rank.step(index) for rank in them]) + TRANSFER
        for rank in them:
            rank.collective(index, end, hidden)
    return them, end


def ask(folder, them, *options):
    paths = [rank.write(folder) for rank in them]
    done = neurolens(["analyze", "-q", "--no-cache", *(options or ("--format", "json")), *paths])
    for path in paths:
        os.remove(path)
    return " ".join(done.stdout.split()) if options else json.loads(done.stdout)["result"]


def only(number, one, others=None):
    """A plan by which one rank differs from the others."""
    return lambda rank, index: one if rank == number else others or {}


# causes whose savings are of all ranks: communication, and what balances them
OF_ALL = ("exposed_communication", "comm_on_compute_stream", "low_bus_bandwidth", "moe_imbalance")

# what, ranks, the plan, the late rank, class, what the sentence says
LATE = [
    ("operators take longer to dispatch", 4, only(2, {"gap": 120, "kernel": 20, "op": "aten::slow"}, {"gap": 60, "kernel": 20}), 2, "launch",
     "for the CPU to launch work, ", "aten::slow"),
    ("its kernels take longer", 4, only(1, {"kernel": 90, "name": "slow_kernel"}), 1, "compute", "computes", "slow_kernel"),
    ("its input comes late", 4, only(3, {"fetch": 1500}), 3, "input", "for input data, ", "DataLoader"),
    ("its input comes later than the others'", 2, only(0, {"fetch": 3000}, {"fetch": 1000}), 0, "input", "for input data, ", "DataLoader"),
    ("one of two computes longer", 2, only(1, {"kernel": 70}), 1, "compute", "computes", "gemm_kernel"),
]


def bounded(tally, what, findings, number, ranks, told):
    """Findings of some ranks win what the late one's being quicker wins, once; by what others save alone nothing is won."""
    some = [finding for finding in findings if finding["scope"]["devices"] < ranks and finding["cause"] not in OF_ALL]
    late = [finding for finding in some if finding["scope"]["rank"] == number]
    others = [finding for finding in some if finding not in late and finding["cause"] != "collective_skew"]
    tally.check("%s: no finding of the late rank promises more than the program gains" % what,
                all(finding["saving_ns"][1] <= told * 1.05 for finding in late), (told, late))
    tally.check("%s: what its own device saves is told of what saves, and is no less" % what,
                all(finding["alone_ns"] is None if finding["cause"] in (*OF_ALL, "collective_skew") or finding["severity"] == "info"
                    else finding["alone_ns"] >= finding["saving_ns"][1] for finding in findings),
                [(finding["cause"], finding["saving_ns"], finding["alone_ns"]) for finding in findings])
    tally.check("%s: what others alone save wins nothing" % what, all(finding["saving_ns"][1] == 0 for finding in others), others)
    tally.check("%s: what is won by being quicker is won once" % what,
                sum(finding["net_saving_ns"] for finding in some if finding["net_saving_ns"]) <= told * 1.05, some)


def apart(tally, folder):
    """What all ranks do too long is won by all: no more than playing it without that wins; what they wait is no second gain."""
    slow, quick = LATE[3][2], lambda rank, index: {}
    them, took = play(slow, 2)
    won = took - play(quick, 2)[1]
    findings = {finding["cause"]: finding for finding in ask(folder, them)["findings"]}
    stall = findings["dataloader_stall"]
    tally.check("input is late on both ranks: both together win what playing it without wins",
                won * 800 <= stall["saving_ns"][1] <= won * 1050 and stall["scope"]["devices"] == 2, (won, stall))
    total = sum(finding["net_saving_ns"] for finding in findings.values() if finding["cause"] not in OF_ALL)
    tally.check("input is late on both ranks: all findings together win no more", total <= won * 1050, (won, findings))
    text = ask(folder, them, "--format", "text")
    tally.check("input is late on both ranks: where it must be done is said", "done on both ranks" in text, text)
    them = play(only(0, {"fetch": 3000, "gap": 120, "kernel": 20}, {"fetch": 1000, "gap": 60, "kernel": 20}), 2)[0]
    text = ask(folder, them, "--format", "text")
    tally.check("operators and input are late on both ranks: where it must be done is said beside what others save",
                re.search(r"besides the others, [0-9.]+ ms alone, done on both ranks", text), text)


def own_trouble(tally, folder):
    """A rank that waits for the late one has trouble of its own: it is told, and that nothing is won by it now."""
    plan = lambda rank, index: {"kernel": 120} if rank == 1 else {"fetch": 700} if rank == 0 else {}
    them, took = play(plan, 4)
    same = play(lambda rank, index: {} if rank == 0 else plan(rank, index), 4)[1]
    result = ask(folder, them)
    stall = [finding for finding in result["findings"] if finding["cause"] == "dataloader_stall"]
    tally.check("trouble of a rank that waits wins nothing", took == same and stall and stall[0]["scope"]["rank"] == 0
                and stall[0]["saving_ns"] == [0, 0], (took, same, stall))
    own = 11 * 698  # µs: of the first of 12 fetches the device does not know
    tally.check("what it saves on its own device is told", stall[0]["alone_ns"] == own * 1000, (own, stall))
    done = ask(folder, them, "--section", "findings", "--format", "text")
    tally.check("and says so", "saves nothing while another is late: 7.678 ms on this device" in done, done)


def late(tally, folder):
    for what, ranks, plan, number, kind, doing, name in LATE:
        them, took = play(plan, ranks)
        others = [plan(rank, 0) for rank in range(ranks) if rank != number]
        won = took - play(lambda rank, index: others[0], ranks)[1]
        result = ask(folder, them)
        answer = result["answer"]
        sentence = answer["sentence"]
        who = "rank %d waits for it" % (1 - number) if ranks == 2 else "the other 3 ranks wait for it inside collectives"
        tally.check("%s: rank %d is late" % (what, number),
                    sentence.startswith("Rank %d is late: %s" % (number, who)) and answer["class"] == kind and doing in sentence
                    and name in sentence, answer)
        told = answer["saving_ns"]
        tally.check("%s: no more is promised than playing it again wins, and no less than half" % what,
                    told is not None and won * 500 <= told <= won * 1050, (told, won * 1000))
        findings = {finding["cause"]: finding for finding in result["findings"]}
        exposed, skew = findings["exposed_communication"], findings["collective_skew"]
        advice = " ".join(suggestion["do"] for suggestion in skew["suggestions"])
        tally.check("%s: of communication only the transfer can be hidden" % what,
                    0 < exposed["saving_ns"][1] <= 12 * TRANSFER * 1000 < exposed["cost_ns"], exposed)
        tally.check("%s: the finding promises no more than the answer, for the ranks that are there" % what,
                    skew["saving_ns"][1] <= told and "profile all ranks" not in advice and "Compare the late rank" in advice, skew)
        bounded(tally, what, result["findings"], number, ranks, told)
        tally.check("%s: the wait is said once" % what, not any("arrives last" in note for note in answer["notes"]), answer["notes"])


ALIKE = [
    ("all ranks are alike", {}, lambda rank, index: {"gap": 60, "kernel": 20}),
    ("the ranks are late in turn", {}, lambda rank, index: {"kernel": 90 if index % 4 == rank else 50}),
    ("two of four are late", {}, lambda rank, index: {"kernel": 90 if rank < 2 else 50}),
    ("one is late by little", {}, only(2, {"kernel": 52})),
    ("waiting is hidden behind computing", {"hidden": True}, only(2, {"kernel": 90})),
    ("one is late in one step of twelve", {}, lambda rank, index: {"kernel": 120 if (rank, index) == (1, 5) else 50}),
]


def alike(tally, folder):
    for what, options, plan in ALIKE:
        result = ask(folder, play(plan, 4, **options)[0])
        tally.check("no rank is late: " + what, "is late" not in result["answer"]["sentence"], result["answer"])
        tally.check("what a device saves alone is told where one is late at all: " + what,
                    any(finding["alone_ns"] is not None for finding in result["findings"]) == ("in one step" in what),
                    [(finding["cause"], finding["alone_ns"]) for finding in result["findings"]])
        for finding in result["findings"]:
            if finding["cause"] == "exposed_communication" and ("turn" in what or "two" in what):
                tally.check("all of it may be hidden: " + what, finding["saving_ns"][1] == finding["cost_ns"], finding)


def in_turn(tally, folder):
    """Of two ranks each waits for the other: balanced they would win, but neither is the late one."""
    result = ask(folder, play(lambda rank, index: {"kernel": 90 if index % 2 == rank else 50}, 2)[0])
    tally.check("no rank is late: two ranks in turn", "is late" not in result["answer"]["sentence"], result["answer"])
    skew = [finding for finding in result["findings"] if finding["cause"] == "collective_skew"]
    tally.check("in turn, they are found waiting", skew and skew[0]["saving_ns"][1] == skew[0]["cost_ns"], skew)


def shapes(tally, folder):
    """Who is late does not depend on the order of the files; one rank alone has nobody to wait for."""
    them, _ = play(LATE[1][2], 4)
    first, turned = ask(folder, them)["answer"], ask(folder, them[::-1])["answer"]
    tally.check("files in another order", first == turned, (first, turned))
    alone = ask(folder, them[:1])["answer"]
    tally.check("one rank alone", "is late" not in alone["sentence"], alone)


def main():
    tally = Tally("lateranks")
    folder = scratch()
    late(tally, folder)
    alike(tally, folder)
    in_turn(tally, folder)
    apart(tally, folder)
    own_trouble(tally, folder)
    shapes(tally, folder)
    tally.finish()


if __name__ == "__main__":
    main()
