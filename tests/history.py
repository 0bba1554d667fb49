#!/usr/bin/env python3
"""What is unusual of a run against its own history in the ledger: held against medians and MADs worked out here, by host, and
at 100,000 runs."""
import json
import math
import os
import random
import sqlite3
import statistics
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tally, neurolens, processor_seconds  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402

EARLIER = 11


class Book:
    """A ledger whose runs are added one by one."""

    def __init__(self, folder):
        self.folder, self.rng, self.count = folder, random.Random(3), 0

    def call(self, *words):
        return neurolens([*words, "--ledger", os.path.join(self.folder, "book")], cwd=self.folder)

    def add(self, host, clock=1.0, branch=None, **changes):
        self.count += 1
        name = "trace%d.json" % self.count
        write(os.path.join(self.folder, name),
              Plant(**dict({"steps": 6, "clock": clock * self.rng.gauss(1, 0.008), "seed": self.rng.random()}, **changes)))
        words = (["--set", "host_name=" + host] if host else []) + (["--set", "git_branch=" + branch] if branch else [])
        return self.call("add", name, *words)

    def show(self, run="@"):
        return json.loads(self.call("show", run, "--format", "json").stdout)["result"]

    def listed(self, *words):
        return json.loads(self.call("ls", "--format", "json", *words).stdout)["result"]


def metrics(answer):
    return {row["name"]: row["value"] for row in answer["metrics"] if isinstance(row["value"], (int, float))}


def unusual(value, history):
    """(robust z, change) where it is unusual, else None: a second implementation."""
    usual = statistics.median(history)
    spread = max(1.4826022185056018 * statistics.median(abs(x - usual) for x in history), 0.01 * abs(usual))
    if not spread:
        return (None, None) if value != usual else None
    z = (value - usual) / spread
    return (z, (value - usual) / abs(usual)) if abs(z) > 3.5 and abs(value - usual) > 0.05 * abs(usual) else None


def check_run(tally, what, book, history):
    """The newest run: what the program says of every metric."""
    answer = book.show()
    told = {row["metric"]: row for row in answer["anomalies"]}
    units, wrong = {row["name"]: row["unit"] for row in answer["metrics"]}, []
    for name, value in metrics(answer).items():
        expected = unusual(value, [h[name] for h in history if name in h]) if len(history) >= 8 else None
        if expected and units[name] == "0..1" and abs(value - statistics.median(h[name] for h in history)) <= 0.01:
            expected = None
        row = told.get(name)
        if (row is None) != (expected is None):
            wrong.append((name, value, expected, row))
        elif row and expected[0] is not None and (abs(row["z"] / expected[0] - 1) > 1e-9 or
                                                  abs(row["change_share"] / expected[1] - 1) > 1e-9 or
                                                  row["history_count"] != len(history)):
            wrong.append((name, expected, row))
    tally.check("every metric of %s as worked out here" % what, not wrong, wrong)
    return answer, told


def hosts(tally, folder):
    book = Book(folder)
    past = {"alpha": [], "beta": []}
    for i in range(EARLIER):
        for host, clock in ("alpha", 1.0), ("beta", 2.0):
            result = book.add(host, clock)
            if i == 3 and host == "beta":
                answer = book.show()
                tally.check("3 earlier runs are no history", not answer["anomalies"] and answer["headline"][2] ==
                            "History: 3 earlier runs of this workload on beta; 8 are needed to say what is unusual.",
                            answer["headline"])
                tally.check("ls does not know either", book.listed("--limit", "1")[0]["anomalies"] is None)
            past[host].append(metrics(book.show()))
    tally.check("runs are added", result.status == 0, result.describe())
    answer = book.show()
    tally.check("a usual run", answer["headline"][2] == "Nothing unusual against 10 earlier runs of this workload on beta." and
                book.listed("--limit", "1")[0]["anomalies"] == "none", answer["headline"])
    book.add("alpha", 1.2)
    answer, told = check_run(tally, "a run that is 20 % slower", book, past["alpha"])
    row = told.get("mean_step_ns", {"change_share": 0})
    tally.check("it is told first, with the change", 0.17 < row["change_share"] < 0.23 and row["host"] == "alpha" and
                answer["headline"][2].startswith("Unusual: ") and "mean_step_ns 6." in answer["headline"][2] and
                "Against the newest 11 runs of this workload before it on alpha." in answer["headline"][2], answer["headline"])
    first = book.listed("--limit", "1")[0]
    tally.check("ls shows it", " %" in first["anomalies"] and "more" in first["anomalies"], first)
    tally.check("ls finds it", [r["id"] for r in book.listed("anomaly=mean_step_ns")] == [first["id"]], book.listed("anomaly=mean_step_ns"))
    text = book.call("ls").stdout
    tally.check("ls for eyes", "anomalies" in text and "none" in text, text)
    book.add("beta", 2.0, split=("gelu_kernel", [("gelu_a", 50), ("gelu_b", 50)]))
    answer, told = check_run(tally, "a run with more kernels", book, past["beta"])
    tally.check("of the other host its own history counts", "mean_step_ns" not in told and
                told.get("kernels_per_step", {"change_share": 0})["change_share"] > 0.1, told)
    book.add("gamma")
    tally.check("a new host has none", "History: 0 earlier runs of this workload on gamma" in book.show()["headline"][2],
                book.show()["headline"])
    before = book.show("@~2")["anomalies"]
    base = sqlite3.connect(os.path.join(folder, "book", "ledger.db"))
    base.execute("PRAGMA foreign_keys=ON")
    base.execute("DELETE FROM histories")
    base.execute("DELETE FROM anomalies")
    base.commit()
    base.close()
    tally.check("a run of an older version", "an older version added this run" in book.show("@~2")["headline"][2])
    result = book.call("ledger", "rebuild")
    tally.check("rebuild judges what is not judged, as before", result.status == 0 and book.show("@~2")["anomalies"] == before
                and len(before) > 1, (result.describe(), before))
    branches(tally, book)


def branches(tally, book):
    """Runs by the branch that they were recorded on, where other commands take runs."""
    result = book.call("add", "trace1.json", "--set", "git_branch=main")
    result = book.call("diff", "branch:main~1", ":", "branch:main~1")
    tally.check("branch:main names the runs of a branch", result.status == 0 and result.stdout.startswith("No difference"),
                result.describe())
    tally.check("branch=main is a filter", len(book.listed("branch=main")) == 1 and len(book.listed("host=beta")) == EARLIER + 1,
                book.listed("branch=main"))


def seasons(tally, folder):
    """A branch that is known to be slower is its own measure; hours are those at which runs were added."""
    book, path = Book(folder), os.path.join(folder, "book", "ledger.db")
    for i in range(18):
        book.add("host", 1.3 if i % 2 else 1.0, branch="next" if i % 2 else "main")
        text = book.show()["headline"][2] if i == 14 else ""
        tally.check("too few of each branch: all runs count", text.endswith("on host.")) if text else None
    book.add("host", 1.3, branch="next")
    answer = book.show()
    tally.check("a slow branch is its own measure", not answer["anomalies"] and answer["headline"][2] ==
                "Nothing unusual against 9 earlier runs of this workload on host, of branch next.", answer["headline"])
    book.add("host", 1.3, branch="main")
    answer = book.show()
    row = {row["metric"]: row for row in answer["anomalies"]}.get("mean_step_ns", {})
    tally.check("main as slow as that branch is unusual", 0.25 < row.get("change_share", 0) < 0.35 and row["history_count"] == 9 and
                row["season"] == "of branch main" and answer["headline"][2].endswith("before it on host, of branch main."), answer["headline"])
    book.add("host", 1.3, branch="other")
    tally.check("a branch without a history is held against all", "season" not in book.show()["headline"][2] and
                "branch" not in book.show()["headline"][2], book.show()["headline"])
    base = sqlite3.connect(path)
    tally.check("seasons are in the ledger", base.execute("SELECT count(*) FROM histories WHERE season = 'of branch next'").fetchone()[0] >= 1)
    base.close()


def learnt(steps):
    """(s, runs) of runs given as lists of steady steps in the order of adding: a second implementation."""
    logs = [math.log(statistics.median(one)) for one in steps[-30:]]
    apart = [abs(a - b) for a, b in zip(logs, logs[1:])]
    most = 3.5 * 1.4826022185056018 * statistics.median(apart)
    return math.sqrt(sum(min(d, most) ** 2 for d in apart) / (2 * (len(logs) - 1))), len(logs)


def noise(tally, folder):
    """How captures differ is learnt from earlier runs of the same program; a change that the built-in noise hides is told."""
    book = Book(folder)
    for i in range(9):
        write(os.path.join(folder, "run%d.json" % i), Plant(steps=8, clock=book.rng.gauss(1, 0.002), noise=0.002, seed=book.rng.random()))
        book.call("add", "run%d.json" % i)
        if i == 4:
            write(os.path.join(folder, "run100.json"), Plant(steps=8, noise=0.002, seed=7))
            write(os.path.join(folder, "run101.json"), Plant(steps=8, noise=0.002, seed=8, clock=1.016))
            early = book.call("diff", "run100.json", "run101.json", "--format", "json")
    base = sqlite3.connect(os.path.join(folder, "book", "ledger.db"))
    steps = [[ns for ns, in base.execute("SELECT dur_ns FROM steps WHERE run = ? AND phase = 'steady'", (run,))]
             for run, in base.execute("SELECT run FROM runs ORDER BY run")]
    base.close()
    sd, runs = learnt(steps)
    first = json.loads(early.stdout)["result"]["verdict"][0]
    tally.check("5 runs tell no noise", first["noise_share"] is None and first["verdict"] == "inconclusive", first)
    result = book.call("diff", "run100.json", "run101.json", "--format", "json")
    answer = json.loads(result.stdout)["result"]
    row, back = answer["verdict"][0], json.loads(book.call("diff", "run101.json", "run100.json", "--format", "json").stdout)["result"]["verdict"][0]
    tally.check("9 runs do, as worked out here", abs(row["noise_share"] / sd - 1) < 1e-9 and row["noise_run_count"] == runs == 9,
                (row, sd))
    tally.check("a change of 1.6 %% at noise of %.2f %%: told from one capture a side" % (100 * sd), row["verdict"] == "slower" and
                any("(9 runs in the ledger)" in line for line in answer["headline"]), answer["headline"])
    tally.check("the other way round is the negative", back["verdict"] == "faster" and
                abs(row["ratio_low"] * back["ratio_high"] - 1) < 1e-9 and abs(row["ratio_high"] * back["ratio_low"] - 1) < 1e-9, back)
    other = neurolens(["diff", "run100.json", "run101.json", "--format", "json", "--ledger", os.path.join(folder, "empty")], cwd=folder)
    tally.check("another ledger does not know", other.status in (0, 4) and "slower" not in other.stdout, other.describe())
    row = json.loads(book.call("diff", "@~8", "@~7,@~6", "--format", "json").stdout)["result"]["verdict"][0]
    sd, runs = learnt(steps[3:])
    tally.check("runs that are compared do not count", row["noise_run_count"] == runs == 6 and abs(row["noise_share"] / sd - 1) < 1e-9, row)
    result = book.call("check", "run101.json", "--baseline", "run100.json", "--fail-on", "step.p50 > +1%")
    tally.check("check, too", result.status == 1 and "9 runs in the ledger" in " ".join(result.stdout.split()), result.describe())
    result = book.call("check", "--self-test", "--baseline", "run100.json", "--format", "json")
    tally.check("check --self-test, too", "as earlier runs in the ledger do" in result.stderr, result.describe())


def many(tally, folder):
    """100,000 runs of 20 hosts and 50 workloads."""
    book = Book(folder)
    book.add("host0")
    path = os.path.join(folder, "book", "ledger.db")
    base = sqlite3.connect(path)
    base.execute("PRAGMA foreign_keys=OFF")
    facts = base.execute("SELECT key, number, text, name FROM facts JOIN keys USING (key) WHERE name IN ('metrics.mean_step_ns', "
                         "'metrics.idle_share', 'software.backend', 'hardware.device_name', 'hardware.device_count')").fetchall()
    keys = dict(base.execute("SELECT name, key FROM keys"))
    for name in "workload.model", "hardware.host_name":
        if name not in keys:
            keys[name] = base.execute("INSERT INTO keys(name) VALUES (?)", (name,)).lastrowid
    count = 100000
    base.executemany("INSERT INTO runs(run, id, name, form, input, added_ns) VALUES (?,?,?,?,?,?)",
                     [(i, "%032x" % (0xabc0000000 + i), "trace.json", "profile", "x%d" % i, 1790000000 * 10 ** 9 + i)
                      for i in range(10, count + 10)])
    base.executemany("INSERT INTO facts VALUES (?,?,?,?)",
                     [(i, key, number, text) for i in range(10, count + 10) for key, number, text, _ in facts])
    base.executemany("INSERT INTO facts VALUES (?,?,NULL,?)",
                     [(i, keys["workload.model"], "model%d" % (i % 50)) for i in range(10, count + 10)])
    base.executemany("INSERT INTO facts VALUES (?,?,NULL,?)",
                     [(i, keys["hardware.host_name"], "host%d" % (i % 20)) for i in range(10, count + 10)])
    base.executemany("INSERT INTO histories(run, runs, workload, host) VALUES (?, 30, 'm', 'h')", [(i,) for i in range(10, count + 10)])
    base.commit()
    base.close()

    # Processor time: a busy machine makes any other kind as long as it likes.
    took = plain = 9.0
    for _ in range(5):
        result, seconds = processor_seconds(lambda: book.call("ls"))
        took, plain = min(took, seconds), min(plain, processor_seconds(lambda: book.call("ls", "--columns", "id,added,name"))[1])
        if took < 2 * plain + 0.1:
            break
    tally.check("100,000 runs: ls in %.3f s (without what is unusual %.3f s)" % (took, plain), result.status == 0 and
                "none" in result.stdout and took < 2 * plain + 0.1, result.stdout[:300])
    write(os.path.join(folder, "slow.json"), Plant(steps=6, clock=1.3))
    result, took = processor_seconds(lambda: book.call("add", "slow.json", "--set", "model=model7", "--set", "host_name=host7"))
    answer = book.show()
    tally.check("100,000 runs: add, and judge it, in %.3f s" % took, result.status == 0 and took < 0.5 and
                "mean_step_ns" in {row["metric"] for row in answer["anomalies"]} and
                "Against the newest 30 runs" in answer["headline"][2], (result.describe(), answer["headline"]))


def main():
    tally = Tally("history")
    with tempfile.TemporaryDirectory(prefix="neurolens-history-") as folder:
        hosts(tally, folder)
    with tempfile.TemporaryDirectory(prefix="neurolens-history-") as folder:
        noise(tally, folder)
    with tempfile.TemporaryDirectory(prefix="neurolens-history-") as folder:
        seasons(tally, folder)
    with tempfile.TemporaryDirectory(prefix="neurolens-history-") as folder:
        many(tally, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
