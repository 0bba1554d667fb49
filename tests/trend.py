#!/usr/bin/env python3
"""`neurolens trend` on a ledger whose numbers are made up: changes, commits, plots, exit statuses, speed."""
import csv
import http.server
import io
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import Tally, neurolens, processor_seconds  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402


def ledger_of(folder, values, commits=True):
    """A ledger with a run for each value of metrics.mean_step_ns; one real run made it."""
    path = os.path.join(folder, "ledger%d" % len(values))
    write(os.path.join(folder, "one.json"), Plant(steps=6))
    neurolens(["add", os.path.join(folder, "one.json"), "--ledger", path])
    base = sqlite3.connect(os.path.join(path, "ledger.db"))
    base.execute("PRAGMA foreign_keys=OFF")
    for table in ("runs", "facts", "steps", "ops", "sources", "artefacts", "provenance", "findings"):
        base.execute("DELETE FROM %s" % table)
    keys = dict(base.execute("SELECT name, key FROM keys"))
    if "run.git_commit" not in keys:
        keys["run.git_commit"] = base.execute("INSERT INTO keys(name) VALUES ('run.git_commit')").lastrowid
    base.executemany("INSERT INTO runs(run, id, name, form, input, added_ns) VALUES (?,?,?,?,?,?)",
                     [(i + 1, "%032x" % (0xabc0000000 + i), "r%d" % i, "profile", "x%d" % i,
                       1790000000 * 10 ** 9 + i * 3600 * 10 ** 9) for i in range(len(values))])
    base.executemany("INSERT INTO facts VALUES (?,?,?,?)",
                     [(i + 1, keys["metrics.mean_step_ns"], value, str(value)) for i, value in enumerate(values)])
    base.executemany("INSERT INTO facts VALUES (?,?,NULL,?)",
                     [(i + 1, keys["run.git_commit"], "c%06d" % (i // 2)) for i in range(len(values))])
    base.commit()
    base.close()
    return path


def series(count, steps, seed=1):
    rng = random.Random(seed)
    return [int(1e8 * (1 + sum(size for at, size in steps if i >= at)) * rng.gauss(1, 0.01)) for i in range(count)]


def trend(path, *words):
    return neurolens(["trend", *words, "--ledger", path])


def changes(tally, folder):
    path = ledger_of(folder, series(60, [(36, 0.08)]))
    result = trend(path, "step.mean", "--format", "json")
    answer = json.loads(result.stdout)["result"]
    found = answer["changes"]
    tally.check("one change is found where it is", len(found) == 1 and abs(found[0]["change_share"] - 0.08) < 0.01 and
                found[0]["id"] == "%032x" % (0xabc0000000 + 36) and found[0]["worse"] == "yes" and
                found[0]["points_before"] == 36, found)
    tally.check("its commits", found[0]["commit_before"] == "c000017" and found[0]["commit"] == "c000018", found)
    tally.check("all points are there", len(answer["series"]) == 60, len(answer["series"]))
    by_commit = json.loads(trend(path, "step.mean", "--by", "commit", "--format", "json").stdout)["result"]
    tally.check("a point for each commit", len(by_commit["series"]) == 30 and len(by_commit["changes"]) == 1,
                by_commit["changes"])
    text = trend(path, "step.mean")
    tally.check("the plot and the sentence", "went up by" in text.stdout and "commits c000017..c000018" in text.stdout
                and len(text.stdout.splitlines()) > 15 and text.status == 0, text.stdout)
    tally.check("--fail-on-change", trend(path, "step.mean", "--fail-on-change").status == 1)
    rows = list(csv.reader(io.StringIO(trend(path, "mean_step_ns", "--format", "csv").stdout)))
    tally.check("CSV", len(rows) == 61 and rows[0][:3] == ["added", "id", "value"], rows[:2])
    tally.check("the newest alone", len(json.loads(trend(path, "step.mean", "--limit", "20", "--format", "json").stdout)
                                        ["result"]["series"]) == 20)
    flat = ledger_of(folder, series(61, []))
    result = trend(flat, "step.mean", "--fail-on-change")
    tally.check("nothing changed", result.status == 0 and "did not change over 61 points by more than they vary (" in result.stdout,
                result.describe())
    better = ledger_of(folder, series(62, [(30, -0.1)]))
    tally.check("a change for the better is no failure", trend(better, "step.mean", "--fail-on-change").status == 0)


def wrong(tally, folder):
    path = os.path.join(folder, "ledger60")
    for words, status, says in ((["no_such_thing"], 2, "is nothing that a run has"),
                                (["mfu"], 4, "'mfu' is nothing that a run has"),
                                (["memory.peak"], 2, "'memory.peak' is nothing that a run has"),
                                (["step.mean", "--magnitude", "much"], 2, "expected a share"),
                                (["step.mean", "--window", "3"], 2, "5 points")):
        result = trend(path, *words)
        tally.check("wrong: %s" % " ".join(words), result.status in (status, 2) and says in result.stderr,
                    result.describe())


def speed(tally, folder):
    """100,000 runs, beside walking the same numbers with sqlite3."""
    path = ledger_of(folder, series(100000, [(30000, 0.05), (70000, -0.04)]))
    best = 9.0
    for _ in range(5):
        result, took = processor_seconds(lambda: trend(path, "step.mean", "--format", "json", "--section", "changes"))
        best = min(best, took)
    found = json.loads(result.stdout)["result"]["changes"]
    at = [int(row["id"], 16) - 0xabc0000000 for row in found]
    tally.check("two changes in 100,000 runs", any(abs(x - 30000) < 5 for x in at) and
                any(abs(x - 70000) < 5 for x in at) and len(at) < 6, at)
    _, yardstick = processor_seconds(lambda: subprocess.run([sys.executable, "-c", "import sqlite3; b = sqlite3.connect('%s/ledger.db'); "
                    "list(b.execute('SELECT f.run, f.number, r.id, r.added_ns FROM facts f JOIN runs r USING (run) WHERE "
                    "f.number NOTNULL'))" % path], check=True))
    tally.check("100,000 runs in %.2f s of processor time (%.1f times a plain join in Python)" % (best, best / yardstick), best < 0.6, best)


class Receiver(http.server.BaseHTTPRequestHandler):
    """Keeps what is posted to it."""
    got = []

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.got.append((self.path, self.headers["Content-Type"], body))
        self.send_response(500 if self.path == "/broken" else 204)
        self.end_headers()

    def log_message(self, *words):
        pass


def alerts(tally, folder):
    path = ledger_of(folder, series(61, [(36, 0.08)]))
    command = "cat > %s/alert.json; echo \"$NEUROLENS_ALERT\" >> %s/alert.txt" % (folder, folder)

    def told():
        try:
            with open(os.path.join(folder, "alert.txt"), encoding="utf-8") as file:
                return file.read().splitlines()
        except OSError:
            return []

    result = trend(path, "step.mean")
    tally.check("nothing is sent by itself", result.status == 0 and not told() and
                not os.path.exists(os.path.join(path, "trend-alerts")), result.describe())
    result = trend(path, "step.mean", "--alert", "exit 3")
    tally.check("an alert that fails is an error, and is tried again", result.status == 5 and
                "--alert ended with status 3" in result.stderr, result.describe())
    for _ in range(3):
        result = trend(path, "step.mean", "--alert", command)
    tally.check("a command is told of a change once", result.status == 0 and len(told()) == 1 and
                re.match(r"step\.mean went up by [78]\.\d %", told()[0]), (told(), result.describe()))
    with open(os.path.join(folder, "alert.json"), encoding="utf-8") as file:
        alert = json.load(file)
    tally.check("what it is told", alert["schema"] == "neurolens.alert/1" and alert["metric"] == "step.mean" and
                alert["commit_before"] == "c000017" and alert["commit"] == "c000018" and alert["unit"] == "ns" and
                abs(alert["after"] / alert["before"] - 1.08) < 0.01 and alert["run"] == "%032x" % (0xabc0000000 + 36), alert)
    better = ledger_of(folder, series(62, [(36, -0.08)]))
    result = trend(better, "step.mean", "--alert", command)
    tally.check("a change for the better is no alert", result.status == 0 and len(told()) == 1, told())
    result = trend(path, "step.mean", "--webhook", "ftp://127.0.0.1/")
    tally.check("an address of another kind is refused", result.status == 2 and "does not begin with https://" in result.stderr,
                result.describe())
    if not shutil.which("curl"):
        tally.skip("a web address", "no curl here")
        return
    server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = "http://127.0.0.1:%d" % server.server_port
    path = ledger_of(folder, series(63, [(36, 0.08)]))
    result = trend(path, "step.mean", "--webhook", url + "/broken")
    tally.check("an address that answers with an error is one", result.status == 5 and "curl" in result.stderr, result.describe())
    for _ in range(2):
        result = trend(path, "step.mean", "--webhook", url + "/hook")
    server.shutdown()
    got = [one for one in Receiver.got if one[0] == "/hook"]
    tally.check("an address is told once", result.status == 0 and len(got) == 1 and got[0][1] == "application/json" and
                json.loads(got[0][2])["metric"] == "step.mean", (got, result.describe()))


def main():
    tally = Tally("trend")
    with tempfile.TemporaryDirectory(prefix="neurolens-trend-") as folder:
        changes(tally, folder)
        alerts(tally, folder)
        wrong(tally, folder)
        speed(tally, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
