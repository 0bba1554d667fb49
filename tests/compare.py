#!/usr/bin/env python3
"""What must hold of `neurolens diff`, whatever is compared.

    tests/compare.py

Of every file of the corpus with itself nothing changes; of neighbours, and of each with a file of another
family, the parts add up to the change, and the other way round gives the negative. The workload of
parity/ in two formats is the same program: nothing changes but what one format cannot tell. A changed
name changes no total.
"""
import json
import os
import re
import sys
import tempfile

from harness import TESTS, Tally, forked as neurolens

sys.path[:0] = [os.path.join(TESTS, "parity"), os.path.join(TESTS, "oracle")]
from formats import FORMATS, written  # noqa: E402

CORPUS = os.path.join(TESTS, "corpus")
SUMMED = ("attribution", "parts", "operators", "modules", "ranges")


class Wrong(Exception):
    pass


def once(pairs):
    """An object whose members all have names of their own."""
    if len(dict(pairs)) < len(pairs):
        raise Wrong("a name stands twice: %s" % [name for name, _ in pairs])
    return dict(pairs)


def diff(a, b):
    """The answer and the status; None when one of them is no profile."""
    result = neurolens(["diff", a, b, "--format", "json", "--no-cache"])
    if result.status == 4:
        return None
    if result.status not in (0, 3):
        raise Wrong(result.describe())
    document = json.loads(result.stdout, object_pairs_hook=once)
    if document["schema"] != "neurolens.diff/1" or not document["base"]["profile"]["files"]:
        raise Wrong("not the envelope of a diff")
    answer = document["result"]
    verdict = answer["verdict"][0]["verdict"]
    if (verdict == "cannot compare") != (result.status == 3):
        raise Wrong("status %d and %s" % (result.status, verdict))
    return answer


def value(row, what):
    """A number in ns, or in the unit of what was sampled."""
    return row[what + "_ns"] if what + "_ns" in row else row[what + "_weight"]


# Numbers that are no quantities of a unit; everything else says its unit at the end of its name.
PLAIN = {"ratio", "ratio_low", "ratio_high", "median_ratio", "base_samples", "new_samples",
         "base_discarded", "new_discarded", "rank", "device", "step", "base_calls", "new_calls",
         "base_pieces", "new_pieces", "mean_ratio", "mean_ratio_low", "mean_ratio_high", "p95_ratio",
         "base_slow", "new_slow", "base_captures", "new_captures", "captures_needed"}
UNITS = ("_ns", "_share", "_count", "_spans", "_per_s", "_weight")
OF_THE_ROW = {"counts": "unit", "counters": "unit", "recorded": "what"}  # a column says the unit


def check_units(answer):
    for section, rows in answer.items():
        if section in ("headline", "truncated"):
            continue
        for row in rows:
            for name, cell in row.items():
                if isinstance(cell, bool) or not isinstance(cell, (int, float)):
                    continue
                if section in OF_THE_ROW and OF_THE_ROW[section] in row:
                    continue
                if name not in PLAIN and not name.endswith(UNITS):
                    raise Wrong("%s: %s has no unit" % (section, name))
                if name.endswith("_ns") and not isinstance(cell, int):
                    raise Wrong("%s: %s is not in whole ns: %r" % (section, name, cell))


def check_sums(answer):
    check_units(answer)
    verdict = answer["verdict"][0]
    for section in SUMMED:
        rows = answer.get(section, [])
        if not rows:
            continue
        for what in ("base", "new", "change"):
            total = sum(value(row, what) for row in rows)
            if total != value(verdict, what):
                raise Wrong("%s: %s adds up to %s, not %s" % (section, what, total,
                                                              value(verdict, what)))
        for row in rows:
            if section == "parts":
                continue
            if row["part"] == "idle" and value(row, "by_count") is not None:
                raise Wrong("%s: idle time has no calls: %s" % (section, row))
            if value(row, "by_count") is not None and \
                    value(row, "by_count") + value(row, "by_time") != value(row, "change"):
                raise Wrong("%s: %s is not split into its change" % (section, row["name"]))


def mirrored(rows):
    """Rows as they must be the other way round."""
    swap = {"removed": "added", "added": "removed", "fused": "split", "split": "fused"}
    return sorted((row["part"], swap.get(row["match"], row["match"]),
                   row["base_name"] or row["name"], value(row, "new"), value(row, "base"),
                   None if value(row, "by_count") is None else -value(row, "by_count"))
                  for row in rows)


def plain(rows):
    return sorted((row["part"], row["match"], row["name"], value(row, "base"), value(row, "new"),
                   value(row, "by_count")) for row in rows)


def check_mirror(there, back):
    opposite = {"slower": "faster", "faster": "slower"}
    verdict = there["verdict"][0]["verdict"]
    if opposite.get(verdict, verdict) != back["verdict"][0]["verdict"]:
        raise Wrong("%s there, %s back" % (verdict, back["verdict"][0]["verdict"]))
    a, b = mirrored(there.get("attribution", [])), plain(back.get("attribution", []))
    if a != b:
        raise Wrong("not the negative: %s" % [x for x in a if x not in b][:3])


def check_same(answer):
    for section in SUMMED:
        for row in answer.get(section, []):
            if value(row, "change") or row.get("match", "same") != "same":
                raise Wrong("%s of one file changed: %s" % (section, row))
    for row in answer["counts"]:
        if row["changed"] == "yes":
            raise Wrong("counts of one file changed: %s" % row)
    for row in answer["counters"]:
        if any(row["base_" + what] != row["new_" + what] for what in ("mean", "max", "count")):
            raise Wrong("counters of one file changed: %s" % row)
    if answer["facts"] or answer["recorded"]:
        raise Wrong("facts of one file differ")
    if answer["verdict"][0]["verdict"] in ("slower", "faster"):
        raise Wrong("one file is slower than itself")


def families():
    for folder in sorted(os.listdir(CORPUS)):
        path = os.path.join(CORPUS, folder)
        if os.path.isdir(path):
            yield folder, [os.path.join(path, name) for name in sorted(os.listdir(path))
                           if not name.endswith((".txt.expected", ".md"))]


def check_family(tally, name, files, stranger):
    pairs = compared = 0
    try:
        for at, path in enumerate(files):
            answer = diff(path, path)
            if answer is None:
                continue
            check_sums(answer)
            check_same(answer)
            for other in files[at + 1:at + 2] + [stranger]:
                there, back = diff(path, other), diff(other, path)
                if there is None or back is None:
                    continue
                check_sums(there)
                check_mirror(there, back)
                pairs += 1
                compared += there["verdict"][0]["unit"] is not None
    except Wrong as wrong:
        tally.fail("%s: %s" % (name, os.path.basename(path)), wrong)
        return
    tally.ok("%s: %d files, %d pairs, %d with something in common" % (name, len(files), pairs,
                                                                        compared))


# ---- the same workload in two formats ----

LESS = {"copies", "devices", "device work", "fills"}


def check_formats(tally, folder):
    paths = {}
    first = FORMATS[0]
    for form in FORMATS:
        place = tempfile.mkdtemp(dir=folder)
        paths[form.what, form.name] = form.write(written(form), place)
    for form in FORMATS[1:]:
        label = "%s and %s, %s" % (first.name, form.name, form.what)
        try:
            answer = diff(paths[first.what, first.name], paths[form.what, form.name])
            check_sums(answer)
            check_format(form, answer)
            tally.ok(label)
        except Wrong as wrong:
            tally.fail(label, wrong)


def check_format(form, answer):
    verdict = answer["verdict"][0]
    parts = {row["part"]: row["change_ns"] for row in answer.get("parts", [])}
    lacks = form.lacks & LESS
    if lacks - {"copies", "fills"}:
        if not answer["recorded"] and verdict["verdict"] != "cannot compare":
            raise Wrong("nothing is said to be missing")
        return
    if form.fill:  # the fills are kernels there
        if verdict["change_ns"]:
            raise Wrong("the time differs: %s" % verdict)
        return
    if parts["compute"] or parts["exposed communication"]:
        raise Wrong("work differs: %s" % parts)
    if lacks:
        told = {row["what"] for row in answer["recorded"]}
        if not lacks <= {"fills" if t == "memsets" else t for t in told}:
            raise Wrong("%s are not said to be missing: %s" % (lacks, told))
        return
    if any(parts.values()) or verdict["change_ns"]:
        raise Wrong("the same workload differs: %s" % parts)


# ---- names ----

def check_names(tally, folder):
    """A kernel's name, changed in its template and then altogether."""
    with open(os.path.join(CORPUS, "chrome", "kineto.json"), encoding="utf-8") as file:
        text = file.read()
    name = re.search(r'"cat": ?"kernel".*?"name": ?"([^"]+)"|"name": ?"([^"]+)", ?"cat": ?"kernel"',
                     text, re.S)
    name = name.group(1) or name.group(2)
    before = os.path.join(folder, "before.json")
    with open(before, "w", encoding="utf-8") as file:
        file.write(text)
    for other in ("void %s(int)" % name, "another_kernel"):
        after = os.path.join(folder, "after.json")
        with open(after, "w", encoding="utf-8") as file:
            file.write(text.replace('"%s"' % name, '"%s"' % other))
        try:
            answer = diff(before, after)
            check_sums(answer)
            if answer["verdict"][0]["change_ns"] or any(r["change_ns"] for r in answer["parts"]):
                raise Wrong("a name changed a total: %s" % answer["parts"])
            tally.ok("%s called %s" % (name, other))
        except Wrong as wrong:
            tally.fail("%s called %s" % (name, other), wrong)


# ---- steps on one side only ----

def check_host_steps(tally, folder):
    """Operators on a CPU, 5 us each. A step of one side is never compared with the whole of the other."""
    paths = []
    for name, marked in ("whole", False), ("steps", True):
        events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 9, "tid": 9,
                   "ts": 100 * i + 1, "dur": 5, "args": {}} for i in range(8)]
        if marked:
            events += [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": 9,
                        "tid": 9, "ts": 100 * i, "dur": 90, "args": {}} for i in range(8)]
        paths.append(os.path.join(folder, name + ".json"))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    for a, b, ns, samples in (paths[0], paths[1], 40000, None), (paths[1], paths[1], 5000, 8):
        verdict = diff(a, b)["verdict"][0]
        got = verdict["unit"], verdict["base_ns"], verdict["new_ns"], verdict["base_samples"]
        tally.check("operators of %s and %s" % (os.path.basename(a), os.path.basename(b)),
                    got == ("host", ns, ns, samples), verdict)


# ---- damaged times ----

def check_long(tally, folder):
    """Four devices that are busy for 127 years each: no number holds the sum."""
    kernels = [{"ph": "X", "cat": "kernel", "name": "k%d" % i, "pid": i // 3, "tid": 7 + i % 3,
                "ts": 0, "dur": 4.0e15,
                "args": {"device": i // 3, "context": 1, "stream": 7 + i % 3, "correlation": i}}
               for i in range(12)]
    operators = [{"ph": "X", "cat": "cpu_op", "name": "o%d" % i, "pid": 50, "tid": 50 + i, "ts": 0,
                  "dur": 4.0e15, "args": {}} for i in range(12)]
    for what, events in ("kernels", kernels), ("operators", operators):
        path = os.path.join(folder, what + ".json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json.dumps({"traceEvents": events}))
        try:
            verdict = diff(path, path)["verdict"][0]
            good = verdict["reason"] == "times are too long to be added up" and \
                verdict["base_ns"] is None
            tally.check("%s of 127 years" % what, good, verdict)
        except Wrong as wrong:
            tally.fail("%s of 127 years" % what, wrong)


def main():
    tally = Tally("compare")
    everything = list(families())
    for at, (name, files) in enumerate(everything):
        check_family(tally, name, files, everything[at - 1][1][0])
    with tempfile.TemporaryDirectory(prefix="neurolens-compare-") as folder:
        check_formats(tally, folder)
        check_names(tally, folder)
        check_host_steps(tally, folder)
        check_long(tally, folder)
    tally.finish()


if __name__ == "__main__":
    main()
