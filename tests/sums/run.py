#!/usr/bin/env python3
"""Whole answers are kept: what analyses, comparisons, fingerprints and run documents say of made traces, fixtures and files of the
corpus is what tests/sums says, in sums (jsonsums.py).

    tests/sums/run.py [WORD...]        all, or the groups whose name contains a WORD
    tests/sums/run.py --brief          all but comparisons of many captures and runs, which take as long as the rest: what `make check` asks for
    tests/sums/run.py --accept WORD    write what is said now into the files whose name contains WORD; where WORD is GROUP:PART, of that group what is
                                       asked with PART in it, and leave the rest as it stands

That an answer is right is proved elsewhere (answers.py, work.py, planted.py, oracles); here none changes without anyone
noticing. A file of tests/sums has a part for each question, which begins with `== ` and what was asked. Of new analyses and causes it is kept
where they answer; where they are silent, when they have a row in unit/keptnames.def.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from harness import FIXTURES, PROGRAM, ROOT, TESTS, Tally, accepting, environment, forked as neurolens, is_brief, meant, scratch  # noqa: E402
from jsonsums import KEPT, sums  # noqa: E402
import answertraces  # noqa: E402
import mixedtraces  # noqa: E402
import plantedsteps  # noqa: E402
import work  # noqa: E402

sys.path[:0] = [os.path.join(TESTS, "parity"), os.path.join(TESTS, "oracle")]
from formats import FORMATS, written  # noqa: E402

TRACES = ["made_gpu_train.json.gz", "torch_cpu_train.json.gz", "torch_cpu_stack.json.gz", "torch_cpu_flops.json.gz", "jax_cpu.xplane.pb",
          "ort_cpu_mlp.json.gz"]
RANKS = ["torch_cpu_ddp_rank0.json.gz", "torch_cpu_ddp_rank1.json.gz"]
ANALYZE, FINGERPRINT, DIFF = ["analyze", "--all"], ["fingerprint", "--all"], ["diff", "--all"]
EXPORT = ["export", "--to", "run.json", "--events", "3"]
CHANGES = [("plain", {}), ("slower", {"scale": {"sgemm_qkv": 1.1}}), ("renamed", {"names": {"flash_fwd": "flash_fwd_v3"}}),
           ("fused", {"fuse": (("gelu_kernel", "bias_add"), ("triton_fused_gelu_add", 110))}),
           ("split", {"split": ("flash_fwd", [("softmax_kernel", 140), ("bmm_kernel", 130)])}),
           ("order", {"order": ("gelu_kernel", "bias_add")}), ("sync", {"sync": 6}), ("loader", {"loader": 900}),
           ("batch", {"batch": 64}), ("device", {"device": "NVIDIA H100 80GB HBM3", "clock": 0.5}), ("clock", {"clock": 1.05}),
           ("reduce", {"reduce": 1.8}), ("ahead", {"ahead": True}), ("no marks", {"mark": None}), ("steps", {"steps": 9}),
           ("slow steps", {"slow_steps": {3: 1.5, 7: 1.2, 11: 1.5}})]


def corpus():
    """{folder: its files}, those that are made of several files left out."""
    for name in sorted(os.listdir(os.path.join(TESTS, "corpus"))):
        here = os.path.join(TESTS, "corpus", name)
        yield name, [os.path.join(here, n) for n in sorted(os.listdir(here)) if os.path.isfile(os.path.join(here, n)) and
                     not n.startswith(("README", ".")) and not n.endswith(".py")]


def of_answers(folder):
    """Programs with one cause each."""
    for plant in answertraces.PLANTED:
        yield plant.__name__, ANALYZE + [plant()[0].write(folder, plant.__name__ + ".json")]
    for copies, elementwise in (100, 0), (10, 20), (100, 150):
        yield "kinds %d %d" % (copies, elementwise), ANALYZE + [answertraces.kinds(copies, elementwise).write(folder, "kinds.json")]
    for cause, play, numbers, _ in answertraces.EDITS:
        program = answertraces.Program()
        play(program, False, *numbers)
        yield "%s %s" % (cause, " ".join(map(str, numbers))), ANALYZE + [program.trace.write(folder, "edit.json")]


def of_work(folder):
    """Operators of known work."""
    for cause, _, what, calls, device in work.PLANTED:
        yield "%s: %s" % (cause, what), ANALYZE + [work.planted(folder, "planted.json", calls, device)]


# What an operator may be given: shapes and types of its inputs, in order, and values of those that are numbers.
SHAPES = [([[4, 8], [8, 16], [16], [], []], None), ([[16], [4, 8], [8, 16], [], []], None), ([[2, 4, 8], [2, 8, 16], [4, 8], [2]], None),
          ([[2, 4, 9, 9], [8, 2, 3, 3], [8]] + [[]] * 6, ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"]),
          ([[2, 8, 9, 9], [2, 4, 17, 17], [8, 4, 3, 3]] + [[]] * 6, ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]),
          ([[2, 8, 16, 64], [2, 2, 16, 64], [2, 2, 16, 64], [2, 8, 16, 64], [2, 8, 16], []], ["", "", "", "", "", "True"]),
          ([[32, 8, 64], [32, 2, 64], [32, 2, 64], [32, 8, 64], [5], [5]], ["", "", "", "", "", ""]),
          ([[64, 128], [96, 128], [96, 4], [96, 4], [64, 96], []], ["", "", "", "", "", "32"]),
          ([[4, 8], [16, 8], [16], [4, 16]], None), ([[4, 8], [4, 8], [4, 1], []], None), ([[7, 5, 3]], None), ([[1000, 64], [20]], None), ([[], []], ["3", "4"])]
TYPES = [["c10::BFloat16"] * 9, ["float"] * 9, ["c10::Half", "unsigned char", "float", "int", "long int", "float", "", "", ""],
         ["c10::Float8_e4m3fn", "c10::Float8_e4m3fn", "float", "float", "c10::BFloat16", "", "", "", ""]]


OF_OPERATORS = """SELECT name, group_concat(told, '; ') FROM
(SELECT w.name AS name, ifnull(w.flops || ' ' || w.bytes || ' ' || w.dtype, ifnull(w.flops || ' ', '') || ifnull(w.bytes, '-')) AS told
 FROM op_work w JOIN slices s ON s.id = w.op ORDER BY w.name, s.ts) GROUP BY name"""


def otherwise(dims, texts, types, dice):
    """The inputs with one thing about them changed: a dimension more, fewer or another, an input gone or twice, another type, another value."""
    dims, types, texts = [list(each) for each in dims], list(types), list(texts) if texts else None
    at, what = dice.number(len(dims)), dice.number(8)
    if what == 0 and dims[at]:
        dims[at].pop(dice.number(len(dims[at])))
    elif what == 1:
        dims[at].insert(dice.number(len(dims[at]) + 1), dice.of([1, 2, 8]))
    elif what < 4 and dims[at]:
        place = dice.number(len(dims[at]))
        dims[at][place] = dice.of([0, 1, -1, dims[at][place] + 1, dims[at][place] * 2])
    elif what == 4:
        dims, types = dims[:at] + dims[at + 1:] or [[]], types[:at] + types[at + 1:] or [""]
        texts = texts and texts[:at] + texts[at + 1:] or None
    elif what == 5 and at < len(types):
        types[at] = dice.of(["double", "c10::Float8_e5m2", "", "int", "GenericList", "unknown"])
    elif what == 6 and texts:
        texts[at] = dice.of(["", "2", "[2]", "[1, 1, 1]", "False", "True", "-1", "0.5", "[0, 0]"])
    else:
        dims[at] = list(dims[dice.number(len(dims))])
    return dims, texts, types


# Inputs of a convolution without its settings, and shapes of the next operator, some of which are its output.
FOLLOWED = [([2] + [4] + [9] * n, [8, 4] + [3] * m) for n in range(5) for m in range(5)]
OUTPUTS = [[], [2, 8], [2, 8, 9], [2, 8, 7, 7], [2, 8, 15, 15], [2, 8, 16, 15], [2, 8, 1, 0], [2, 7, 7, 7], [3, 8, 7, 7], [2, 8, 7, 7, 7], [2, 8, 1, 1, 15, 15]]


def of_followed(folder):
    events = []
    for number, (dims, output) in enumerate((list(dims), output) for dims in FOLLOWED for output in OUTPUTS):
        at = 1000.0 * number
        if number % 3 == 0:  # another thread between
            events.append(dict(work.op("aten::other", at + 60, 5, [[2, 8, 7, 7]], ["float"]), tid=2))
        events += [work.op("aten::cudnn_convolution", at, 50, dims, [TYPES[number % 2][0]] * 2), work.op("aten::relu", at + (40 if number % 7 == 0 else 60), 20, [output], ["float"])]
        events += work.launched("conv_kernel", at + 20, number + 1, 10, at + 10)
        for k in range(number % 18):
            events.append(work.op("aten::view", at + 100 + 10 * k, 5, [[1]], ["float"]))
    path = work.write(folder, "followed.json", work.trace_of(events, work.H100))
    yield "followed convolutions", ["sql", "--limit", "1000", path, "SELECT s.ts / 1000000, w.flops, w.bytes, w.dtype FROM op_work w JOIN slices s ON s.id = w.op WHERE w.name LIKE '%conv%' AND w.flops IS NOT NULL"]


def of_operators(folder):
    """Every operator of workmodels.def with inputs of many shapes, most of which it cannot have; each is inside another."""
    with open(os.path.join(ROOT, "src", "work", "workmodels.def"), encoding="utf-8") as file:
        rows = re.findall(r'^NL_WORK\("([^"]+)", (\w+)', file.read(), re.M)
    for family in sorted({family for _, family in rows}):
        names = [name.replace("*", "x") for name, of in rows if of == family]
        events, dice = [], mixedtraces.Dice(len(family))
        for name in dict.fromkeys(name if "::" in name else "aten::" + name for name in names):
            for dims, texts in SHAPES:
                types = TYPES[len(events) // 4 % len(TYPES)]
                at, number = 100.0 * len(events), len(events) + 1
                events += [work.op("my::parent", at, 90, dims, types[:len(dims)], texts), work.op(name, at + 5, 50, dims, types[:len(dims)], texts)]
                events += work.launched("some_kernel", at + 20, number, 10, at + 10)
                for _ in range(4):
                    at, number = 100.0 * len(events), len(events) + 1
                    other = otherwise(dims, texts, types[:len(dims)], dice)
                    events += [work.op(name, at + 5, 50, other[0], other[2], other[1])] + work.launched("some_kernel", at + 20, number, 10, at + 10)
        path = work.write(folder, "operators.json", work.trace_of(events, work.H100))
        yield family, ["sql", "--limit", "1000", path, OF_OPERATORS]
    yield from of_followed(folder)


def of_mixed(folder):
    """Programs that have something of everything; of every third a window, and what it says beside a slower one of its kind."""
    for seed in range(1, 43):
        path = mixedtraces.write(folder, "mixed %d.json" % seed, seed)
        yield "analyze %d" % seed, ANALYZE + [path]
        if seed % 3 == 0:
            slower = mixedtraces.write(folder, "slower %d.json" % seed, seed, 104 + seed)
            yield "fingerprint %d" % seed, FINGERPRINT + [path]
            yield "diff %d with a slower one" % seed, DIFF + [path, slower]
            yield "window of %d" % seed, ANALYZE + [path + "[300us:2ms]"]
            yield "run.json %d" % seed, EXPORT + [path]
        if seed % 6 == 0:  # notes of tables stand in what people read
            for section in "op_work", "roofline", "efficiency", "launches":
                yield "%s of %d as text" % (section, seed), ["analyze", "--limit", "2", "--section", section, "--format", "text", path]
    for seed in range(101, 109):
        paths = [mixedtraces.write(folder, "rank %d of %d.json" % (rank, seed), seed, 100 + rank * (seed % 4) * 7, rank) for rank in range(2 + seed % 2)]
        yield "analyze ranks of %d" % seed, ANALYZE + paths
    before = {}
    for seed in range(1, 21):
        for kind, make in ("session", mixedtraces.write_session), ("CPU", mixedtraces.write_hosted), ("readings", mixedtraces.write_readings), ("stacks", mixedtraces.write_stacks):
            path = make(folder, "%s %d.json" % (kind, seed), seed)
            yield "analyze %s %d" % (kind, seed), ANALYZE + [path]
            if seed % 5 == 0:
                yield "diff %s %d with the one before" % (kind, seed), DIFF + [before[kind], path]
                yield "fingerprint %s %d" % (kind, seed), FINGERPRINT + [path]
            before[kind] = path


SERVED = ["execute_context_1(512)_generation_0(0)", "execute_context_0(0)_generation_8(8)", "execute_context_1(64)_generation_4(4)", "execute_context_0(0)_generation_2(2)"]


def of_windows(folder):
    """Windows that begin and end exactly where something does: it belongs to the window that it begins in, and to no other."""
    events, number = [], 0
    for step in range(8):
        at = 1000.0 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": SERVED[step % 4], "pid": 1, "tid": 1, "ts": at, "dur": 900, "args": {}})
        for k in range(3):
            number += 1
            events.append(work.op("aten::mm", at + 200 * k, 50, [[8, 512], [512, 512]], ["c10::Half"] * 2))
            events += work.launched("gemm", at + 200 * k + 100, number, 100 + 10 * step, at + 200 * k + 20)
    served = work.write(folder, "served.json", work.trace_of(events, work.H100))
    for window in "[0ms:1ms]", "[1ms:2ms]", "[1ms:4ms]", "[1900us:3900us]", "[1100us:3500us]", "[7ms:8ms]":
        yield "served %s" % window, ANALYZE + [served + window]
    for seed in range(2, 26, 4):
        path = mixedtraces.write(folder, "mixed %d.json" % seed, seed)
        with open(path, encoding="utf-8") as file:
            found = [event for event in json.load(file)["traceEvents"] if event.get("ph") == "X" and event.get("dur")]
        begin = min(event["ts"] for event in found)
        starts, ends = sorted({event["ts"] - begin for event in found}), sorted({event["ts"] + event["dur"] - begin for event in found})
        for bounds in (starts[len(starts) // 4], starts[3 * len(starts) // 4]), (ends[len(ends) // 4], ends[3 * len(ends) // 4]):
            yield "mixed %d from start to start, or end to end: %g us" % (seed, bounds[0]), ANALYZE + [path + "[%dns:%dns]" % tuple(round(1000 * each) for each in bounds)]


def of_categories(folder):
    """A file of two events of one category of Kineto, and nothing else."""
    for category in mixedtraces.CATEGORIES:
        path = os.path.join(folder, "category.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"traceEvents": [{"ph": "X", "cat": category, "name": "it", "pid": 3, "tid": 4, "ts": ts, "dur": 2, "args": {"device": 1, "stream": 5, "correlation": 6, "External id": 7, "bytes": 8}} for ts in (10, 20)]}))
        yield category, ["sql", path, "SELECT kind, name, ts, dur, flags, lane_name, process, rank FROM slices"]


def of_names(folder):
    """What names of kernels tell, of those in kernelnames.lst and of many that differ in one place."""
    with open(os.path.join(HERE, "kernelnames.lst"), encoding="utf-8") as file:
        names = file.read().splitlines()
    for start in range(0, len(names), 40):
        path = mixedtraces.write_names(folder, "names.json", names[start:start + 40])
        yield "read from %d" % start, ["sql", "--limit", "1000", path, "SELECT name, short_name, class, category, tensor_core, dtype FROM kernels ORDER BY ts"]
        yield "shown from %d" % start, ["analyze", "--all", "--section", "kernels", "--format", "text", path]


def of_fixtures(_):
    for words in ANALYZE, FINGERPRINT:
        for name in TRACES:
            yield "%s %s" % (words[0], name), words + [os.path.join(FIXTURES, name)]
        yield words[0] + " two ranks", words + [os.path.join(FIXTURES, name) for name in RANKS]
    for window in "[0ms:5ms]", "[2ms:20ms]", "[1s:2s]":
        for name in TRACES[:3]:
            yield "analyze %s%s" % (name, window), ANALYZE + [os.path.join(FIXTURES, name) + window]
    for a, b in zip(TRACES, TRACES[1:] + TRACES[:1]):
        yield "diff %s %s" % (a, b), DIFF + [os.path.join(FIXTURES, a), os.path.join(FIXTURES, b)]
    yield "diff of ranks", DIFF + [os.path.join(FIXTURES, name) for name in RANKS]


def of_formats(folder):
    """One workload in every format."""
    before = None
    for number, form in enumerate(FORMATS):
        place = os.path.join(folder, str(number))
        os.mkdir(place)
        path, name = form.write(written(form), place), "%s, %s" % (form.name, form.what)
        yield "analyze " + name, ANALYZE + [path]
        yield "fingerprint " + name, FINGERPRINT + [path]
        yield "run.json " + name, EXPORT + [path]
        if before:
            yield "diff with the one before: " + name, DIFF + [before, path]
            yield "rank with the one before: " + name, ["rank", "--all", before, path]
        before = path


def of_changes(folder):
    """One training loop, and what was changed in it."""
    paths = {}
    for name, changes in CHANGES:
        for take in 1, 2:
            paths[name, take] = os.path.join(folder, "%s %d.json" % (name, take))
            plantedsteps.write(paths[name, take], plantedsteps.Plant(**dict({"steps": 15}, **changes, seed=take, capture=0.002 * take)))
    for name, _ in CHANGES:
        first, second = paths[name, 1], paths[name, 2]
        yield "analyze " + name, ANALYZE + [first]
        yield "fingerprint " + name, FINGERPRINT + [first]
        yield "diff plain " + name, DIFF + ["%s,%s" % (paths["plain", 1], paths["plain", 2]), ":", "%s,%s" % (first, second)]
        yield "check plain " + name, ["check", "%s,%s" % (first, second), "--baseline", "%s,%s" % (paths["plain", 1], paths["plain", 2])]
        yield "check the first " + name, ["check", first, "--baseline", paths["plain", 1], "--fail-on", "kernels.count > +0%",
                                          "--fail-on", "idle.share > +2%", "--fail-on", "step.p95 > +4%", "--allow", "all"]
    yield "rank", ["rank", "--all", *(paths[name, 1] for name in ("plain", "slower", "fused", "clock", "sync"))]


def metrics():
    """(name, a bound in its unit) of every metric of rules, and of columns of tables."""
    with open(os.path.join(ROOT, "src", "compare", "metricnames.def"), encoding="utf-8") as file:
        named = re.findall(r'^METRIC\("([^"]+)", \w+, \w+, (\w+)', file.read(), re.M)
    bound = {"NS": "2ms", "SHARE": "30%", "BYTES": "3MiB", "NUMBER": "33", "COUNT": "11"}
    return [(name, bound[meaning]) for name, meaning in named] + \
        [('op["aten::mm"].p95', "40us"), ('kernel["sgemm*"].total', "9ms"), ('kernel["flash_fwd"].mean', "199us"), ('kernels["flash_fwd"].count', "36"),
         ("step_summary.p95_ns", "5ms"), ("breakdown.idle_share", "1%")]


def captured(folder, name, count, **changes):
    """Captures of one program: made when first asked for, joined by commas."""
    paths = [os.path.join(folder, "%s %d.json" % (name, take)) for take in range(count)]
    for take, path in enumerate(paths):
        if not os.path.exists(path):
            plantedsteps.write(path, plantedsteps.Plant(**dict({"steps": 6}, **changes, seed=take + 1, capture=0.004 * (take * 7 % 5 - 2))))
    return ",".join(paths)


def of_compares(folder):
    """Comparisons of many captures, candidates and runs."""
    every = {name: captured(folder, name, 3, **{**changes, "steps": min(changes.get("steps", 6), 12) if name != "slow steps" else 12}) for name, changes in CHANGES}
    names = list(every)
    plain = every["plain"]
    for name in names[1:]:
        yield "diff of 3 and 3 captures: " + name, DIFF + [plain, ":", every[name]]
    for a, b in (11, 9), (10, 11), (1, 3), (5, 1):
        yield "diff of %d and %d captures" % (a, b), DIFF + [captured(folder, "many", a, steps=4), ":", captured(folder, "many slower", b, steps=4, scale={"flash_fwd": 1.04})]
    for at, name in enumerate(names):
        some = [every[names[(at + k) % len(names)]].split(",") for k in (0, 1, 5)]
        yield "rank 3 of " + name, ["rank", "--all", "--price", "A100=1.5", "--price", "H100=3"] + [",".join(paths[:take + 1]) for take, paths in enumerate(some)]
    for count in 1, 3, 4:
        short = [captured(folder, "short %d %d" % (steps, count), 1, steps=steps, clock=clock) for steps, clock in ((count, 1), (count + 1, 1.001), (count, 0.9))]
        yield "rank of %d steps" % count, ["rank", "--all"] + short
        yield "diff of %d steps" % count, DIFF + short[:2]
        yield "check of %d steps" % count, ["check", short[1], "--baseline", short[0], "--fail-on", "step.p50 > +1%", "--fail-on", "idle.share > +1%"]
    yield "rank of 12", ["rank", "--all"] + [path.split(",")[0] for path in every.values()][:12]
    yield "rank of the same", ["rank", "--all"] + plain.split(",")[:1] * 3
    for name, files in corpus():
        if 2 < len(files):
            yield "rank corpus " + name, ["rank"] + files[:3]
    rules = [word for metric, bound in metrics() for limit in (" > +1%", " < -1%", " > " + bound, " < " + bound) for word in ("--fail-on", metric + limit)]
    for name, count in ("slower", 3), ("sync", 1):
        yield "check all rules, %d: %s" % (count, name), ["check", ",".join(every[name].split(",")[:count]), "--baseline", ",".join(plain.split(",")[:count]), "--allow", "all"] + rules
    yield "check all rules of a program", ["check", os.path.join(FIXTURES, TRACES[0])] + [word for metric, bound in metrics() for word in ("--fail-on", metric + " > " + bound)]
    for a, b in ((6, 5),):
        wide = ",".join(captured(folder, "wide", 6, steps=4, noise=0.1).split(",")[:a])
        yield "self-test of %d and %d" % (a, b), ["check", "--self-test", captured(folder, "many", b, steps=4), "--baseline", wide]
    yield "self-test", ["check", "--self-test"]
    yield from of_ledger(folder, every)


def of_ledger(folder, every):
    """Runs that are alike, and how numbers of runs changed."""
    ledger, add = os.path.join(folder, "ledger"), lambda words: neurolens(words + ["--quiet"])
    for name, paths in every.items():
        add(["add", paths.split(",")[0], "--ledger", ledger, "--set", "name=" + name.replace(" ", "-"), "--set", "batch_size=%d" % (len(name) % 3 + 1)])
    for name in TRACES:
        add(["add", os.path.join(FIXTURES, name), "--ledger", ledger])
    for name in "plain", "fused", "device", "no marks":
        yield "similar to " + name, ["similar", "--all", every[name].split(",")[1], "--ledger", ledger]
    for name in TRACES:
        yield "similar to " + name, ["similar", "--all", os.path.join(FIXTURES, name), "--ledger", ledger]
    for metric, _ in metrics():
        yield "trend of " + metric, ["trend", "--all", metric, "--ledger", ledger]
    for words in ["--window", "6"], ["--magnitude", "20%"], ["--limit", "7"], ["--fail-on-change", "name=s*"], ["--by", "commit"]:
        yield "trend of steps, " + " ".join(words), ["trend", "--all", "step.p50", "--ledger", ledger] + words


def of_corpus(_):
    """Fingerprints, run documents and comparisons; analyses are kept by tests/corpus_expect."""
    for name, files in corpus():
        for path in files[:3]:
            short = os.path.relpath(path, TESTS)
            yield "fingerprint " + short, FINGERPRINT + [path]
            yield "run.json " + short, EXPORT + [path]
        for a, b in zip(files[:3], files[1:4]):
            yield "diff %s %s" % (os.path.relpath(a, TESTS), os.path.basename(b)), DIFF + [a, b]
        if len(files) > 1:
            yield "analyze all of " + name, ANALYZE + files[:6]


GROUPS = {"answers": of_answers, "work": of_work, "operators": of_operators, "fixtures": of_fixtures, "formats": of_formats, "changes": of_changes, "compares": of_compares, "mixed": of_mixed, "windows": of_windows, "names": of_names, "categories": of_categories,
          "corpus": of_corpus}


SLOW = {"compares"}
BRIEF = {"work", "corpus", "mixed", "windows"}


def said(words, folder, brief):
    """The sums of an answer; of a refusal the status and the first line, without folders."""
    document, shown = words[0] == "export", "text" in words
    result = neurolens(words + (["--quiet"] if words[0] == "trend" else ["--no-cache", "--quiet"]) + ([] if document or shown else ["--format", "json"]), timeout=60)
    if shown:
        return "".join(re.sub(r"\s+", " ", line).strip() + "\n" for line in result.stdout.splitlines())
    try:
        text = result.stdout.replace(folder + "/", "").replace(TESTS + "/", "")
        if words[0] == "trend":
            text = re.sub(r"\d{4}-\d\d-\d\d(T[\d:]+Z)?", "today", text)
        return ("status %d\n" % result.status if result.status else "") + sums(json.loads(text), brief)
    except ValueError:
        line = (result.stderr or result.stdout or "\n").splitlines()[0]
        return "status %s: %s\n" % (result.status, line.replace(folder + "/", "").replace(TESTS + "/", ""))


def read(path):
    """{question: answer} of a file."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return parts_of(file.read())


def parts_of(text):
    """{question: answer} of a text in which they stand; of two of one name the second is numbered."""
    parts = {}
    for part in ("\n" + text).split("\n== ")[1:]:
        question, number = part.split("\n")[0], 2
        base = question
        while question in parts:
            question, number = "%s (%d)" % (base, number), number + 1
        parts[question] = part.partition("\n")[2].rstrip("\n")
    return parts


def edges(tally, accept, part=""):
    """What unit/edgesays.c says of profiles on both sides of each threshold, and of planted ones."""
    path, program = os.path.join(HERE, "edges.txt"), os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "edgesays")
    result = subprocess.run([program], env=environment(scratch()), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    now, kept = parts_of(result.stdout.decode()), read(path)
    if accept:
        return keep(path, chosen(kept, now, part))
    tally.check("edges: all is said", result.returncode == 0 and not result.stderr, "status %s\n%s" % (result.returncode, result.stderr.decode()))
    for question in dict.fromkeys([*kept, *now]):
        tally.check("edges: " + question, now.get(question) == kept.get(question),
                    meant("tests/sums/run.py --accept edges", difference(kept.get(question, ""), now.get(question, "")) or "no such part"))


def chosen(kept, now, part):
    """What is kept when the questions with `part` in them are accepted."""
    return {question: answer if part in question else kept[question] for question, answer in now.items() if part in question or question in kept}


def keep(path, parts):
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join("== %s\n%s\n" % each for each in parts.items()))


def difference(wanted, got):
    old, new = wanted.splitlines(), got.splitlines()
    return "\n".join(["- " + line for line in old if line not in new][:15] + ["+ " + line for line in new if line not in old][:15])


def group(tally, name, questions, accept, part=""):
    """Compares, or accepts the answers to the questions with `part` in them."""
    path = os.path.join(HERE, name + ".txt")
    kept, now = read(path), {}
    with tempfile.TemporaryDirectory(prefix="neurolens-sums-") as folder:
        for question, words in questions(folder):
            number = 2
            base = question
            while question in now:  # two of one name
                question, number = "%s (%d)" % (base, number), number + 1
            now[question] = said(words, folder, name in BRIEF).rstrip("\n")
            if not accept:
                tally.check("%s: %s" % (name, question), now[question] == kept.get(question),
                            meant("tests/sums/run.py --accept " + name, difference(kept.get(question, ""), now[question]) or "no such part"))
    if accept:
        keep(path, chosen(kept, now, part))
    else:
        gone = [question for question in kept if question not in now]
        tally.check(name + ": every part is asked for", not gone, gone)


def all_names():
    """Analyses and causes."""
    names = []
    for path, macro in ("tables/analyses.def", "NL_ANALYSIS"), ("findings/causes.def", "NL_CAUSE"):
        with open(os.path.join(ROOT, "src", path), encoding="utf-8") as file:
            names += re.findall(r"^%s\((\w+)" % macro, file.read(), re.M)
    return names


def main():
    only, brief = [], is_brief()
    accept = accepting(__doc__, only=only)
    tally = Tally("sums")
    word, _, part = (accept or "").partition(":")

    def is_asked(name):
        return any(each in name for each in only) if only else word in name and not (brief and name in SLOW)

    for name, questions in GROUPS.items():
        if is_asked(name):
            group(tally, name, questions, accept is not None, part)
    if is_asked("edges"):
        edges(tally, accept is not None, part)
    if accept is None:
        names = all_names()
        tally.check("keptnames.def names what there is", KEPT <= set(names), sorted(KEPT - set(names)))
        for name in names:
            if name not in KEPT:
                tally.skip("where %s is silent" % name, "no row in tests/unit/keptnames.def yet")
        tally.finish()


main()
