#!/usr/bin/env python3
"""`neurolens check` on captures whose truth is known: verdicts, exit statuses, what CI reads, wrong rules, and
how often the gate is wrong."""
import json
import os
import random
import re
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from harness import FIXTURES, Tally, forked as neurolens  # noqa: E402
from plantedsteps import Plant, write  # noqa: E402


def captures(folder, name, count, sd=0.005, seed=0, **changes):
    rng = random.Random("%s %s" % (name, seed))
    for i in range(count):
        write(os.path.join(folder, "%s%d.json" % (name, i)),
              Plant(**dict(changes, capture=rng.gauss(0, sd), seed=rng.random())))
    return ",".join("%s%d.json" % (name, i) for i in range(count))


def check(folder, *words):
    return neurolens(["check", *words, "--no-cache", "--quiet"], cwd=folder)


def verdicts(tally, folder):
    base = captures(folder, "base", 3)
    cases = [
        ("the same", captures(folder, "same", 3, seed=1), [], 0, "Pass: step.p50"),
        ("5 % slower", captures(folder, "slow", 3, clock=1.05), [], 1, "Regression: step.p50 +"),
        ("5 % faster", captures(folder, "fast", 3, clock=0.95), [], 0, "Pass: step.p50 -"),
        ("a kernel more", captures(folder, "more", 3, split=("gelu_kernel", [("gelu_a", 50), ("gelu_b", 50)])),
         ["--fail-on", "kernels.count > +0"], 1, "Regression: kernels.count +"),
        ("another GPU", captures(folder, "gpu", 3, device="NVIDIA H100 80GB HBM3"), [], 3,
         "Cannot compare: device model: A has NVIDIA A100-SXM4-80GB, B has NVIDIA H100 80GB HBM3"),
        ("another GPU, allowed", "gpu0.json,gpu1.json,gpu2.json", ["--allow", "device model"], 0, "Pass"),
        ("another batch", captures(folder, "batch", 3, batch=64), [], 3, "Cannot compare: batch"),
        ("a budget that holds", "slow0.json", ["--fail-on", "step.p50 < 1ms"], 0, "Pass"),
        ("an operator", captures(folder, "op", 3, scale={"flash_fwd": 1.3}),
         ["--fail-on", 'kernel["flash_fwd"].p50 > +10%'], 1, 'Regression: kernel["flash_fwd"].p50 +'),
        ("a metric that is not there", "same0.json,same1.json,same2.json",
         ["--fail-on", "memory.peak > +1%"], 3, "Inconclusive: memory.peak is unknown"),
    ]
    for what, new, words, status, line in cases:
        result = check(folder, new, "--baseline", base, *words)
        first = result.stdout.splitlines()[0] if result.stdout else ""
        tally.check(what, result.status == status and first.startswith(line),
                    "%s\n    %s %s" % (result.status, first, result.stderr))
    result = check(folder, "base0.json", "--fail-on", "step.p50 > 1ms")
    tally.check("a budget needs no baseline", result.status == 1 and
                result.stdout.startswith("Regression: step.p50 5."), result.describe())
    for name, every in (("paced", 100), ("lazy", 112)):  # as much time, 11 % fewer kernels
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
            file.write(json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k%d" % (i * 7 % 5), "pid": 0, "tid": 7, "ts": i * every * (1 + i % 3 / 50),
                                        "dur": 60 + i * 13 % 11, "args": {"device": 0, "stream": 7}} for i in range(100000 // every)] +
                       [{"ph": "X", "cat": "kernel", "name": "last", "pid": 0, "tid": 7, "ts": 105000, "dur": 10, "args": {"device": 0, "stream": 7}}]}))
    result = check(folder, "lazy.json", "--baseline", "paced.json")
    tally.check("another amount of work", result.status == 3 and result.stdout.startswith("Cannot compare: amount of work: B did 10."),
                result.describe())
    result = check(folder, "lazy.json", "--baseline", "paced.json", "--allow", "amount of work")
    tally.check("another amount of work, allowed", "Cannot compare" not in result.stdout, result.describe())
    noisy = captures(folder, "noisy", 2, sd=0.08, seed=5)
    result = check(folder, noisy, "--baseline", captures(folder, "noise", 2, sd=0.08, seed=9))
    tally.check("noise decides nothing", result.status in (0, 3), result.stdout[:300])


def names(tally, folder):
    """Every derived metric of a run document is a metric of rules; its value is the document's."""
    write(os.path.join(folder, "doc.json"), Plant(steps=6))
    result = neurolens(["export", "doc.json", "--to", "run.json", "-o", "-"], cwd=folder)
    metrics = {row["name"]: row for row in json.loads(result.stdout)["metrics"]}
    words = [word for name in metrics for word in ("--fail-on", name + " > 1e30" if metrics[name]["unit"] not in ("ns", "bytes", "0..1")
                                                   else name + (" > 900000s" if metrics[name]["unit"] == "ns" else " > 9000TiB"
                                                                if metrics[name]["unit"] == "bytes" else " > 900%"))]
    answer = json.loads(check(folder, "doc.json", *words, "--format", "json").stdout)["result"]["rules"]
    told = {row["metric"]: row["new"] for row in answer}
    wrong = [(name, row["value"], told.get(name)) for name, row in metrics.items()
             if (row["value"] is None) != (told.get(name) is None) or
             (row["value"] and abs(told[name] / row["value"] - 1) > 1e-6)]
    tally.check("%d metrics of the run document" % len(metrics), len(told) == len(metrics) > 20 and not wrong and
                {"hfu", "roof_share", "headroom_share", "achieved_flops_per_s"} <= {n for n in metrics if metrics[n]["value"] is not None},
                wrong)


def outputs(tally, folder):
    words = ["slow0.json,slow1.json,slow2.json", "-b", "base0.json,base1.json,base2.json",
             "--fail-on", "step.p50 > +2%", "--fail-on", "step.max < 1s"]
    result = check(folder, *words, "--junit", "j.xml", "--sarif", "s.sarif", "--markdown", "m.md",
                   "--format", "json")
    answer = json.loads(result.stdout)
    rows = answer["result"]["rules"]
    tally.check("JSON", answer["schema"] == "neurolens.check/1" and
                answer["result"]["gate"][0]["verdict"] == "regression" and
                [r["status"] for r in rows] == ["fail", "fail"] and rows[0]["unit"] == "ns" and
                0.03 < rows[0]["change_share"] < 0.07, rows)
    suite = xml.etree.ElementTree.parse(os.path.join(folder, "j.xml")).getroot()[0]
    tally.check("JUnit", suite.get("tests") == "2" and suite.get("failures") == "2" and
                suite[0].find("failure").get("message").startswith("5."),
                xml.etree.ElementTree.tostring(suite))
    with open(os.path.join(folder, "s.sarif"), encoding="utf-8") as file:
        sarif = json.load(file)
    run = sarif["runs"][0]
    tally.check("SARIF", sarif["version"] == "2.1.0" and len(run["results"]) == 2 and
                run["results"][0]["level"] == "error" and
                run["tool"]["driver"]["rules"][0]["id"] == "step.p50 > +2%", run)
    with open(os.path.join(folder, "m.md"), encoding="utf-8") as file:
        text = file.read()
    tally.check("Markdown", text.startswith("### ❌ NeuroLens: regression") and "<details>" in text and
                len(text) < 4000, text[:300])
    result = check(folder, *words, "--format", "md")
    tally.check("--format md is the same", result.stdout == text, result.stdout[:200])


WRONG = [
    ("step.p51 > 3%", "rule 'step.p51 > 3%', column 1: no metric is called 'step.p51'; did you mean step.p"),
    ("step.p50 ~ 3%", "column 10: expected >, >=, <, <= or !="),
    ("step.p50 > fast", "column 12: expected a number such as 120ms, +3% or +50us"),
    ("step.p50 > 5", "column 12: expected a number such as 120ms"),
    ('op["mm.p95 > 1ms', "expected \" after the name of a row"),
    ('op["mm"] > 1ms', "expected .COLUMN after the row"),
    ("idle.share > 5", "column 14: expected a number such as 40%, 0.4 or +5%"),
    ("mfu < 40", "column 7: expected a number such as 40%, 0.4 or +5%"),
    ('op["mm"].p50x > 1ms', "column 17: expected a number without a unit, such as 37, +0 or +5%: 'p50x' is no column of times"),
]

FILES = [
    ("rules:\n  - step.p50 > +3%\n  - mfu ? 3\n", "line 3, column 9: expected >, >=, <, <= or !="),
    ("rule:\n  - a\n", "line 1, column 1: expected rules, allow, on_inconclusive or tolerance"),
    ("rules:\n  - floor: 5ms\n", "expected metric: or fail_on: in this rule"),
    ("rules:\n  - metric: step.p50\n    floor: soon\n", "line 3, column 12: expected a number in the metric's unit"),
    ("rules:\n  - &a step.p50 > +3%\n  - *a\n", "line 3, column 5: expected a value; aliases are not read"),
    ("on_inconclusive: maybe\n", "line 1, column 18: expected warn, fail or pass"),
    ("rules: [\n", "line 2, column 1: "),
    ("tolerance: 2\n", "line 1, column 12: expected a share such as 2%"),
    ("rules:\n \t- step.p50 > +3%\n", "line 2, column 2: expected spaces; YAML takes no tab"),
    ("rules: 'a\n", "column 1: expected YAML: "),
    ("allow: [driver, drivr]\n", "line 1, column 17: no fact is called 'drivr'; did you mean driver"),
    ("", "line 1, column 1: expected rules:, allow:, on_inconclusive: or tolerance:"),
    ("# step.p50\n", "line 1, column 1: expected rules:, allow:"),
]


def wrong_rules(tally, folder):
    for rule, says in WRONG:
        result = check(folder, "same0.json", "--fail-on", rule)
        tally.check("wrong: %s" % rule, result.status == 2 and says in result.stderr, result.describe())
    for text, says in FILES:
        with open(os.path.join(folder, "rules.yaml"), "w", encoding="utf-8") as file:
            file.write(text)
        result = check(folder, "same0.json", "--rules", "rules.yaml")
        tally.check("wrong file: %r" % text, result.status == 2 and says in result.stderr, result.describe())


def allowed(tally, folder):
    """Every fact that any pair is compared by can be allowed; other words cannot."""
    corpus = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus")
    facts = set()
    for one, other in (("nsys/gpu-contexts.sqlite", "nsys/one-visible-gpu.sqlite"), ("perf/plain.txt", "perf/forms.txt"),
                       ("ort/cuda.json", "ort/release_1.3.json"), ("pstats/version3.prof", "viztracer/functions.json"),
                       ("same0.json", "batch0.json"), ("paced.json", "same0.json")):
        names = [name if name.endswith("0.json") or name == "paced.json" else os.path.join(corpus, name) for name in (one, other)]
        result = check(folder, names[1], "--baseline", names[0], "--format", "json")
        facts.update(row["fact"] for row in json.loads(result.stdout)["result"]["comparability"])
    words = [word for fact in sorted(facts) for word in ("--allow", fact)]
    result = check(folder, "same0.json", "--baseline", "same1.json", *words)
    tally.check("every fact can be allowed", len(facts) > 12 and result.status in (0, 3) and not result.stderr,
                "%s: %s" % (sorted(facts), result.stderr))
    result = check(folder, "same0.json", "--baseline", "same1.json", "--allow", "drivr")
    tally.check("only facts can be allowed", result.status == 2 and "did you mean driver" in result.stderr, result.describe())


def hostile(tally, folder):
    """Rules files with anything in them end with a message, never otherwise."""
    rng, seen = random.Random(11), set()
    seeds = [text for text, _ in FILES] + ["rules:\n  - metric: op[\"a\"].p95\n    floor: 5us\n    name: x\nallow: [driver]\n"]
    pieces = ["- ", ": ", "[", "]", "{", "}", "&a ", "*a", "!!", "'", '"', "\n", "  ", "#", "%", "9" * 40, "\0", "\xff", ">"]
    for _ in range(150):
        text = rng.choice(seeds)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(pieces) + text[at + rng.randrange(3):]
        with open(os.path.join(folder, "hostile.yaml"), "w", encoding="latin-1") as file:
            file.write(text)
        result = check(folder, "nothing-there.json", "--rules", "hostile.yaml")
        seen.add(result.status)
        if result.status not in (2, 4) or not result.stderr.strip():
            tally.fail("hostile rules", "%r\n    %s" % (text, result.describe()))
            return
    tally.check("150 hostile rules files", seen <= {2, 4}, seen)


def template(tally, folder):
    made = check(folder, "init", "own.yaml")
    again = check(folder, "init", "own.yaml")
    result = check(folder, "same0.json,same1.json,same2.json", "-b", "base0.json,base1.json,base2.json",
                   "--rules", "own.yaml")
    tally.check("check init writes rules that work", made.status == 0 and again.status == 2 and
                result.status == 0, result.describe())


def ledger_facts(tally, folder):
    """What only the ledger knows of a run decides, too: the traces are alike, the values that were set are not."""
    for name in "led32a", "led32b", "led64":
        write(os.path.join(folder, name + ".json"), Plant(seed=len(name) + ord(name[-1])))
    neurolens(["add", "--ledger", "facts", "led32a.json", "--set", "batch_size=32"], cwd=folder)
    neurolens(["add", "--ledger", "facts", "led32b.json", "--set", "batch_size=32"], cwd=folder)
    neurolens(["add", "--ledger", "facts", "led64.json", "--set", "batch_size=64"], cwd=folder)
    ledger = ["--ledger", "facts"]
    result = check(folder, "@", "-b", "@~1", *ledger)
    tally.check("another batch, as the ledger has it", result.status == 3 and
                result.stdout.startswith("Cannot compare: batch size: A has 32, B has 64."), result.describe())
    result = check(folder, "@~1", "-b", "@~2", *ledger)
    tally.check("the same batch, as the ledger has it", result.status == 0 and result.stdout.startswith("Pass: step.p50"),
                result.describe())
    result = check(folder, "@", "-b", "@~1", "--allow", "batch size", *ledger)
    tally.check("another batch that is allowed", result.status == 0, result.describe())
    rate = {name: json.loads(check(folder, ref, "--fail-on", "samples_per_s < 10", "--format", "json", *ledger).stdout)
            ["result"]["rules"][0]["new"] for name, ref in (("32", "@~1"), ("64", "@"))}
    tally.check("metrics that need the batch have it from the ledger", 1.9 < rate["64"] / rate["32"] < 2.1, rate)
    result = neurolens(["diff", "@~1", "@", "--no-cache", "--quiet", *ledger], cwd=folder)
    tally.check("diff of runs knows it, too", result.status == 3 and result.stdout.startswith("Cannot compare: batch size"),
                result.describe())


def simulation(tally, folder):
    """At the noise model of captures that differ by 1 %, 3 a side."""
    result = check(folder, "--self-test", "--format", "json")
    rows = {row["change_share"]: row for row in json.loads(result.stdout)["result"]}
    tally.check("false alarms at most 1 %", rows[0]["fail_share"] <= 0.01 and
                rows[0]["pass_share"] >= 0.95, rows[0])
    tally.check("+5 % is found in 95 % at least", rows[0.05]["fail_share"] >= 0.95, rows[0.05])
    tally.check("+10 % always", rows[0.1]["fail_share"] >= 0.999, rows[0.1])
    wide = captures(folder, "wide", 6, sd=0.03, seed=3)
    result = check(folder, "--self-test", "--baseline", wide, "--format", "json")
    rows = {row["change_share"]: row for row in json.loads(result.stdout)["result"]}
    tally.check("false alarms at the noise of a baseline of 3 %", rows[0]["fail_share"] <= 0.015, rows[0])


def write_layers(folder, name, ms):
    """TensorRT's means of a model of one layer."""
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump([{"count": 10}, {"name": "conv", "timeMs": 10 * ms, "averageMs": ms, "medianMs": ms, "percentage": 100}], file)


def one_measurement(tally, folder):
    """Under 4 steps of one capture a side nothing shows how much they vary: diff, check and rank say so alike."""
    write(os.path.join(folder, "few0.json"), Plant(steps=3, seed=1))
    write(os.path.join(folder, "few1.json"), Plant(steps=3, seed=2, capture=0.3))
    result = check(folder, "few1.json", "--baseline", "few0.json")
    tally.check("one measurement a side is inconclusive", result.status == 3 and
                result.stdout.startswith("Inconclusive: step.p50 +") and "one measurement per side" in " ".join(result.stdout.split()), result.describe())
    said = " ".join(neurolens(["diff", "few0.json", "few1.json"], cwd=folder).stdout.split())
    tally.check("diff says the same", "but not certain: " in said and "too few for an interval" in said, said[:300])
    write_layers(folder, "layers 1.0.json", 1.0)
    for ms, words in ((1.251, "Slower by 25.1 %, but not certain: "), (1.249, "Inconclusive: +24.9 %: "), (0.799, "Faster by 20.1 %, but not certain: "),
                      (0.801, "Inconclusive: -19.9 %: ")):
        write_layers(folder, "layers.json", ms)
        said = " ".join(neurolens(["diff", "layers 1.0.json", "layers.json"], cwd=folder).stdout.split())
        tally.check("what is far apart is said to be faster or slower: %s" % ms, said.startswith(words) and "one measurement per side" in said, said[:300])
    said = neurolens(["rank", "few0.json", "few1.json"], cwd=folder).stdout
    words = " ".join(said.split())
    tally.check("rank recommends nothing by it", "times as long, by one measurement each" in words and "Recommendation: none yet" in words and
                "95 %" not in words.split("Where:")[0], said[:600])
    tally.check("rank takes captures of unknown or one rank for alternatives", "another rank" not in words, words[:600])
    ranks = [os.path.join(FIXTURES, "torch_cpu_ddp_rank%d.json.gz" % rank) for rank in (0, 1)]
    words = " ".join(neurolens(["rank"] + ranks).stdout.split())
    tally.check("rank tells that ranks of one run are no alternatives", "Each is another rank:" in words and "is rank 1. If they are of one run" in words, words)
    words = " ".join(neurolens(["rank", ranks[0], ranks[0]]).stdout.split())
    tally.check("and says nothing of it where the rank is the same", "another rank" not in words, words)
    result = check(folder, "few0.json", "--baseline", "few0.json")
    tally.check("nothing changed is no question of sureness", result.status == 0, result.describe())
    write(os.path.join(folder, "enough0.json"), Plant(steps=5, seed=1))
    write(os.path.join(folder, "enough1.json"), Plant(steps=5, seed=2, capture=0.3))
    result = check(folder, "enough1.json", "--baseline", "enough0.json")
    tally.check("4 steady steps a side decide", result.status == 1 and result.stdout.startswith("Regression: step.p50 +"), result.describe())


def one_measurement_with_history(tally, folder):
    """What the ledger knows of how captures differ decides where their steps are too few: in check, diff and rank alike."""
    rng, ledger = random.Random(5), ["--ledger", "noisebook"]
    for i in range(9):
        write(os.path.join(folder, "run%d.json" % i), Plant(steps=3, clock=rng.gauss(1, 0.002), seed=rng.random()))
        neurolens(["add", "run%d.json" % i, "--set", "name=short", *ledger], cwd=folder)
    for i, clock in enumerate((1, 1.3)):
        write(os.path.join(folder, "short%d.json" % i), Plant(steps=3, clock=clock, seed=i + 50))
        neurolens(["add", "short%d.json" % i, "--set", "name=short", *ledger], cwd=folder)
    result = check(folder, "@", "--baseline", "@~1", *ledger)
    tally.check("one measurement a side, and a history: check", result.status == 1 and result.stdout.startswith("Regression: step.p50 +"), result.describe())
    diff = json.loads(neurolens(["diff", "@~1", "@", "--format", "json", *ledger], cwd=folder).stdout)["result"]["verdict"][0]
    tally.check("diff", diff["verdict"] == "slower" and diff["ratio_low"] > 1.2, diff)
    rank = json.loads(neurolens(["rank", "@~1", "@", "--format", "json", *ledger], cwd=folder).stdout)["result"]["rank"][1]
    tally.check("rank", rank["tie"] == "no" and rank["ratio_low"] > 1.2 and abs(rank["ratio_low"] - diff["ratio_low"]) < 1e-9, (rank, diff))


def idle_trace(path, rng, extra=0.0):
    """12 steps of 9 ms of kernels and idle time of 0.1 to 1.9 ms."""
    events, at, names = [], 1000.0, ("gemm", "softmax", "norm")
    for step in range(13):
        begin = at
        for i, name in enumerate(names):
            call = {"ph": "X", "pid": 100, "tid": 100, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 4,
                    "args": {"correlation": step * 3 + i + 1}}
            events += [call, {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": name, "ts": at + 5, "dur": 3000,
                              "args": {"device": 0, "stream": 7, "context": 1, "correlation": step * 3 + i + 1}}]
            at += 3000 + (5 if i == 2 else 0)
        at += (rng.uniform(100, 1900) + extra)
        events.append({"ph": "X", "pid": 100, "tid": 100, "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "ts": begin, "dur": at - begin})
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": events}))


def parts_of_steps(tally, folder):
    """A tenth of the step that varies by half of itself: what the step varies by is much of that part."""
    rng, seen = random.Random(11), []
    rules = [word for rule in ("idle.ns > +2%", "idle.share > +2%", "step_idle_share > +2%") for word in ("--fail-on", rule)]
    for pair in range(14):
        for side in "ab":
            idle_trace(os.path.join(folder, "idle-%s.json" % side), rng)
        answer = json.loads(check(folder, "idle-b.json", "-b", "idle-a.json", *rules, "--format", "json").stdout)["result"]
        seen.append([(row["status"], row["change_share"]) for row in answer["rules"]])
    tally.check("14 pairs of one distribution: no part of a step fails", len(seen) == 14 and
                all(status != "fail" for row in seen for status, _ in row), seen)
    tally.check("and parts did differ by much", max(abs(change) for row in seen for _, change in row) > 0.2, seen)
    idle_trace(os.path.join(folder, "idle-c.json"), rng, extra=3000)
    result = check(folder, "idle-c.json", "-b", "idle-a.json", *rules)
    tally.check("four times the idle time does", result.status == 1, result.describe())


def part_trace(path, rng, share=0.1, idle=1.0, idle_step=0.01, idle_capture=0.01):
    """20 steps of 10 ms, `share` of it idle. Compute and idle time differ between captures (1 % and `idle_capture`) and between steps, each by
    itself; `idle` more idle time is as much less compute."""
    compute = 10000 * (1 - share * idle) * (1 + rng.gauss(0, 0.01))
    wait, follows, at, events = 10000 * share * idle * (1 + rng.gauss(0, idle_capture)), 0.0, 1000.0, []
    for step in range(20):
        follows, begin = 0.3 * follows + rng.gauss(0, 0.0095), at
        for i in range(2):
            length, correlation = compute / 2 * (1 + follows), step * 2 + i + 1
            events += [{"ph": "X", "pid": 100, "tid": 100, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "dur": 4,
                        "args": {"correlation": correlation}},
                       {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "k%d" % i, "ts": at + 5, "dur": length,
                        "args": {"device": 0, "stream": 7, "context": 1, "correlation": correlation}}]
            at += length + 5 * i
        at += max(wait * (1 + rng.gauss(0, idle_step)), 50)
        events.append({"ph": "X", "pid": 100, "tid": 100, "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "ts": begin, "dur": at - begin})
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100"}], "traceEvents": events}))


def part_noise(tally, folder):
    """The noise of a part decides about the part, not that of its step. NEUROLENS_WHOLE=1: 20 times as many pairs."""
    many = 20 if os.environ.get("NEUROLENS_WHOLE") else 1
    words = [word for rule in ("idle.ns", "idle.share", "compute.ns", "step_idle_share") for word in ("--fail-on", rule + " > +%s%%")]

    def statuses(rng, name, count, pairs, kinds, limit):
        pools = {kind: [] for kind in kinds}
        for kind, plant in kinds.items():
            for i in range(max(2 * count, 8) * (4 if many > 1 else 1)):
                pools[kind].append("%s-%s%d.json" % (name, kind, i))
                part_trace(os.path.join(folder, pools[kind][-1]), rng, **plant)
        out = []
        for _ in range(pairs):
            both = [rng.sample(pools[kind], count) for kind in kinds] if len(kinds) > 1 else None
            one = rng.sample(next(iter(pools.values())), 2 * count)
            base, new = both or (one[:count], one[count:])
            rules = [word % limit if "%s" in word else word for word in words]
            answer = json.loads(check(folder, ",".join(new), "-b", ",".join(base), *rules, "--format", "json").stdout)["result"]
            out.append({row["metric"]: (row["status"], row["change_share"]) for row in answer["rules"]})
        return out

    rng = random.Random(18)
    for name, count, plant in (("calm", 1, {}), ("calm", 3, {}), ("restless", 1, {"idle_step": 0.3, "idle_capture": 0.05})):
        seen = statuses(rng, name, count, 8 * many, {"same": plant}, 2 if count > 2 else 5)
        failed = sum(status == "fail" for row in seen for status, _ in row.values())
        tally.check("%s parts, %d × %d captures of one program: no part fails" % (name, count, count),
                    failed <= len(seen) * 4 // 100 if many > 1 else not failed, [failed, seen[:8]])
        if name == "calm":
            passed = sum(row["idle.ns"][0] == "pass" for row in seen)
            tally.check("and %d × %d decide" % (count, count), passed >= 0.9 * len(seen) - 1, [passed, seen[:8]])
    seen = statuses(rng, "more", 3, 5 * many, {"a": {"share": 0.3}, "b": {"share": 0.3, "idle": 1.05}}, 2)
    found = sum(row["idle.ns"][0] == "fail" for row in seen)
    tally.check("+5 % of idle time, the step as long as before: found, and compute passes",
                found >= 0.95 * len(seen) - 1 and all(row["compute.ns"][0] == "pass" for row in seen), seen[:5])
    result = check(folder, "more-b0.json,more-b1.json,more-b2.json", "-b", "more-a0.json,more-a1.json,more-a2.json")
    tally.check("the step itself passes", result.status == 0, result.describe())
    parts = json.loads(neurolens(["diff", "calm-same0.json", "more-b0.json", "--format", "json", "--no-cache"], cwd=folder).stdout)["result"]["parts"]
    rows = {row["part"]: row for row in parts}
    tally.check("diff says of each part what it varies by", rows["idle"]["beyond_noise"] == "yes" and
                rows["idle"]["change_low_ns"] < rows["idle"]["change_ns"] < rows["idle"]["change_high_ns"], parts)


def why_inconclusive(tally, folder):
    """What would decide is advised of what it helps, and a budget says why it decides nothing."""
    result = check(folder, "enough1.json", "--baseline", "enough0.json", "--fail-on", "run.duration > +2%")
    tally.check("steps are no help to the length of a recording", result.status == 3 and "record 3 captures per side." in " ".join(result.stdout.split()), result.describe())
    mean = json.loads(check(folder, "base0.json", "--fail-on", "step.p50 < 1000s", "--format", "json").stdout)["result"]["rules"][0]["new"]
    result = check(folder, "base0.json", "--fail-on", "step.p50 > %dns" % (mean * 0.9995))
    said = " ".join(result.stdout.split())
    tally.check("an inconclusive budget says why", result.status == 3 and "over the budget, but by less than captures vary" in said[:400], result.describe())
    fixture = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "torch_cpu_train.json.gz")
    result = check(folder, fixture, "--fail-on", "kernels.count > 5")
    tally.check("no device: no kernels is not 0 kernels", result.status == 3 and "kernels.count is unknown" in result.stdout, result.describe())


def words(tally, folder):
    """Sentences that promise no more than was measured."""
    def said(*command):
        return " ".join(neurolens([*command, "--no-cache"], cwd=folder).stdout.split("Can they be compared?")[0].split())

    noise = said("diff", "base0.json", "same0.json")
    tally.check("changes within noise are called so, and what helps comes first", "none of it is beyond noise. Next: record more captures of both" in noise and
                "Most:" not in noise, noise[:700])
    with open(os.path.join(folder, "base0.json"), encoding="utf-8") as file:
        trace = json.load(file)
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] not in ("kernel", "cuda_runtime")]
    with open(os.path.join(folder, "cpu.json"), "w", encoding="utf-8") as file:
        file.write(json.dumps(trace))
    result = check(folder, "cpu.json", "--baseline", "base0.json")
    tally.check("kernels on one side alone are no comparison", result.status == 3 and
                re.match(r"Cannot compare: kernels: A has \d+, B has none", result.stdout), result.describe())
    result = check(folder, "lazy.json", "--baseline", "paced.json", "--allow", "amount of work")
    tally.check("what stands for a time says which", "time.mean (first to last GPU operation) " in " ".join(result.stdout.split()), result.describe())
    result = check(folder, "base0.json,base1.json,base2.json", "--baseline", "same0.json,same1.json,same2.json")
    tally.check("a pass within noise asks for nothing", result.status == 0 and "beyond noise" in result.stdout and "Next:" not in result.stdout, result.describe())
    shaky = [",".join("shaky-%s%d.json" % (side, i) for i in range(3)) for side in "ab"]
    for side, values in (("a", (-0.05, 0, 0.05)), ("b", (0.02, 0.08, 0.14))):
        for i, value in enumerate(values):
            write(os.path.join(folder, "shaky-%s%d.json" % (side, i)), Plant(capture=value, seed=i))
    result = check(folder, shaky[1], "--baseline", shaky[0])
    text = " ".join(result.stdout.split())
    needed = re.search(r"(\d+) more captures? per side would decide", text)
    # 5 % apart within a side, a verdict at 99.99 %: t(18) = 4.65 x 5 % x (2 / 10)^1/2 = 10 % is about what 7 more tell of 8 %
    tally.check("over the limit and unsure: why, how many more, and that they are next", result.status == 3 and needed and 4 <= int(needed[1]) <= 20 and
                "over the limit, but captures vary too much to be sure" in text and "Next: record more captures of both" in text, result.describe())
    # four per mille of the step under another name is no news beside the verdict; a twentieth is
    write(os.path.join(folder, "renamed.json"), Plant(seed=1, clock=1.2, names={"ln_kernel": "ln_kernel_v2"}, scale={"ln_kernel": 0.1}))
    write(os.path.join(folder, "named.json"), Plant(seed=2, scale={"ln_kernel": 0.1}))
    tally.check("a small kernel that has another name is not told on top", "ln_kernel_v2" not in said("diff", "named.json", "renamed.json"),
                said("diff", "named.json", "renamed.json"))


def no_baseline(tally, folder):
    """There is no A: no column of it, no table that compares."""
    result = check(folder, "base0.json", "--fail-on", "step.p50 < 120ms")
    tally.check("a budget's first line says which side is allowed", "(allowed ≥ 120.0 ms)" in result.stdout.split("\n")[0], result.stdout[:200])
    tally.check("no table speaks of A or B", not re.search(r"^[^\n]*\b[AB]\b", result.stdout, re.M) and "compared" not in result.stdout, result.stdout)
    text = check(folder, "base0.json", "--fail-on", "step.p50 < 120ms", "--format", "md").stdout
    tally.check("nor does the comment", "baseline" not in text and "| rule | value | allowed |" in text, text)


def sampled(folder, name, *events):
    """A report of `perf script` with so many samples of each event."""
    lines = ["# ========\n# captured on    : Thu Jan  1 00:00:00 2026\n# ========\n#"]
    for event, count in events:
        lines += ["train  100/101 [002]  %d.%06d:     250000 %s: \n\t          401b97 inner+0x1f (/usr/bin/train)\n" %
                  (10 + len(lines) // 1000, len(lines) % 1000 * 1000, event) for _ in range(count)]
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))


def events_of_all(tally, folder):
    """What is compared was sampled in every capture, not in each pair of them."""
    clock, cycles = "cpu-clock:u", "cycles:u"
    sampled(folder, "both.txt", (clock, 100), (cycles, 50))
    sampled(folder, "turned.txt", (cycles, 50), (clock, 100))
    sampled(folder, "clock.txt", (clock, 120))
    sampled(folder, "cycles.txt", (cycles, 70))
    result = check(folder, "clock.txt,cycles.txt", "--baseline", "both.txt")
    tally.check("captures that sampled no common event", result.status == 3 and result.stdout.startswith("Cannot compare: nothing was recorded"), result.describe())
    result = check(folder, "both.txt,turned.txt,clock.txt", "--baseline", "turned.txt")
    tally.check("the event that all sampled", "25.00 ms → 26.67 ms" in " ".join(result.stdout.split()), result.describe())


def main():
    tally = Tally("check")
    with tempfile.TemporaryDirectory(prefix="neurolens-check-") as folder:
        verdicts(tally, folder)
        names(tally, folder)
        outputs(tally, folder)
        one_measurement(tally, folder)
        one_measurement_with_history(tally, folder)
        parts_of_steps(tally, folder)
        part_noise(tally, folder)
        why_inconclusive(tally, folder)
        words(tally, folder)
        no_baseline(tally, folder)
        events_of_all(tally, folder)
        wrong_rules(tally, folder)
        allowed(tally, folder)
        hostile(tally, folder)
        template(tally, folder)
        ledger_facts(tally, folder)
        simulation(tally, folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
