#!/usr/bin/env python3
"""One workload in every format of GPU timelines: all must give the same numbers.

    tests/parity/run.py [WORD...] the formats whose name contains a WORD

parity/workload.py tells the run, parity/write_*.py write it, a row of parity/formats.py each, and
parity/brute.py counts what must come out. What a format has no place for must be unknown or absent
in the answer too: a number that nobody recorded is wrong. Each is exported as a run document, too, and the
document must answer like the profile it was made from.
"""
import json
import os
import struct
import sys
import tempfile
from dataclasses import replace

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from harness import TESTS, Tally, forked as neurolens  # noqa: E402

sys.path[:0] = [os.path.join(TESTS, "parity"), os.path.join(TESTS, "oracle")]
import brute  # noqa: E402
import workload  # noqa: E402
from fingerprint import base_name  # noqa: E402
from formats import FORMATS, written  # noqa: E402


class Wrong(Exception):
    pass


def ask(*words):
    result = neurolens([*words, "--format", "json", "--no-cache"])
    if result.status:
        raise Wrong(result.describe())
    return json.loads(result.stdout)


def rows(profile, query):
    return [tuple(row) for row in ask("sql", profile, query)["result"]["rows"]]


def keyed(items, keys, values):
    """Objects of JSON as {keys: values}, like the answers of brute.py."""
    out = {}
    for item in items:
        key = tuple(item[k] for k in keys)
        key = key[0] if len(keys) == 1 else key
        if key in out:
            raise Wrong("two rows for %s" % (key,))
        out[key] = tuple(item[v] for v in values)
    return out


def told(form, run):
    """What can be known from it."""
    unknown = {"copy": "bytes", "memset": "fill bytes"}
    work = [replace(x, device=None if "devices" in form.lacks else x.device + form.first_device,
                    bytes=None if unknown.get(x.kind) in form.lacks else x.bytes) for x in run.work]
    syncs = [replace(x, device=x.device + form.first_device) for x in run.syncs]
    return run.only(work=work, syncs=syncs)


# ---- questions: (form, run, profile, analysis) → (expected, got) ----

def breakdown(form, run, profile, answer):
    return brute.breakdown(run, form.fill), keyed(
        answer["breakdown"], ["device"],
        ["wall_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"])


def breakdown_in_sql(form, run, profile, answer):
    got = rows(profile, "SELECT device, wall_ns, compute_ns, exposed_comm_ns, exposed_copy_ns, idle_ns "
                        "FROM time_breakdown")
    return brute.breakdown(run, form.fill), {r[0]: r[1:] for r in got}


def kernels(form, run, profile, answer):
    return brute.kernels(run), keyed(answer["kernels"], ["name"],
                                     ["count", "total_ns", "min_ns", "max_ns"])


def kernel_summary(form, run, profile, answer):
    got = rows(profile, "SELECT name, count, total_ns, min_ns, max_ns FROM kernel_summary")
    return brute.kernels(run), {r[0]: r[1:] for r in got}


def kernel_classes(form, run, profile, answer):
    expected = {name: (brute.CLASS.get(name, "memset"),) for name in brute.kernels(run)}
    return expected, keyed(answer["kernels"], ["name"], ["class"])


def copies(form, run, profile, answer):
    return brute.copies(run), keyed(answer["copies"], ["device", "kind"],
                                    ["count", "bytes", "total_ns"])


def memsets(form, run, profile, answer):
    return brute.memsets(run), keyed(answer["memsets"], ["device"], ["count", "bytes", "total_ns"])


def collectives(form, run, profile, answer):
    return brute.collectives(run), keyed(answer["collectives"], ["operation"], ["count", "total_ns"])


def timeline(form, run, profile, answer):
    got = rows(profile, "SELECT 'kernel', name, device, stream, ts, dur FROM kernels UNION ALL "
                        "SELECT 'copy', '', device, stream, ts, dur FROM copies UNION ALL "
                        "SELECT 'memset', '', device, stream, ts, dur FROM memsets")
    first = min((r[4] for r in got), default=0)
    return brute.timeline(run), sorted((r[:4] + (r[4] - first, r[5]) for r in got), key=repr)


def streams(form, run, profile, answer):
    return brute.streams(run), keyed(answer["streams"], ["device", "stream"],
                                     ["kernels", "copies", "memsets", "busy_ns"])


def calls(form, run, profile, answer):
    return brute.calls(run, form.calls or {}), keyed(answer["api"], ["name"], ["count", "total_ns"])


def links(form, run, profile, answer):
    got = rows(profile, "SELECT s.kind, s.ts - l.ts FROM slices s JOIN slices l ON l.id = s.link "
                        "WHERE s.kind IN ('kernel', 'memcpy', 'memset')")
    names = {"kernel": "kernel", "memcpy": "copy", "memset": "memset"}
    expected = [] if "links" in form.lacks else brute.delays(run)
    return expected, sorted((names[kind], delay) for kind, delay in got)


def syncs(form, run, profile, answer):
    got = rows(profile, "SELECT device, stream, count(*), sum(dur) FROM syncs GROUP BY 1, 2")
    return brute.syncs(run), {r[:2]: r[2:] for r in got}


def ranges(form, run, profile, answer):
    return brute.ranges(run), keyed(answer["nvtx"], ["name"], ["count", "total_ns"])


def steps(form, run, profile, answer):
    """A repeating pattern may be found where no steps are told; it must say that it was found."""
    found = answer["steps"]
    if "steps" in form.lacks:
        return set(), {x["method"] for x in found if x["method"] in ("marked", "ranges")}
    first = found[0]["start_ns"] if found else 0
    return brute.steps(run), [(x["start_ns"] - first, x["dur_ns"]) for x in found]


def missing(form, run, profile, answer):
    """What the tool could have recorded is named; of a whole profile nothing is."""
    asked = {"copies", "api", "nvtx", "syncs"}
    return set(form.advised), {x["missing"] for x in answer["missing"]} & asked


def contents(form, run, profile, answer):
    """`info`: how many of which kind."""
    info = ask("info", profile)["profile"]
    kinds = {"kernel": "kernel", "copy": "memcpy", "memset": "memset"}
    expected = {kinds[k]: len(run.of(k)) for k in kinds}
    expected.update(api=len(run.calls), sync=len(run.syncs), nvtx=len(run.ranges),
                    collectives=sum(row[0] for row in brute.collectives(run).values()),
                    format=[form.name, *form.within])
    got = {k: info["events"].get(k, 0) for k in expected if k != "format"}
    got["format"] = info["formats"]
    return expected, got


def fingerprint(form, run, profile, answer):
    """Families, calls and times of device work; the part's own signature follows from theirs. Template
    arguments are not in every format."""
    result = ask("fingerprint", profile)["result"]
    expected, items = {}, [(base_name(name), row) for name, row in brute.kernels(run).items()]
    items += [("[copy %s]" % kind, (row[0], row[2])) for (_, kind), row in brute.copies(run).items()]
    items += [("[memset]", (row[0], row[2])) for row in brute.memsets(run).values()]
    for name, row in items:
        count, total = expected.get(name, (0, 0))
        expected[name] = (count + row[0], total + row[1])
    got = {}
    for item in result["device"]:
        count, total = got.get(item["family"], (0, 0))
        got[item["family"]] = (count + item["count"], total + item["total_ns"])
    expected["the whole"] = "%016x" % fnv(b"".join(sorted(
        (struct.pack("<Q", fnv(name.encode())) for name in expected), key=lambda x: x[::-1])))
    got["the whole"] = result["parts"][0]["signature"] if result["parts"] else None
    return expected, got


def fnv(text):
    value = 0xcbf29ce484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    return value


QUESTIONS = [fingerprint, breakdown, breakdown_in_sql, kernels, kernel_summary, kernel_classes, copies, memsets,
             collectives, timeline, streams, calls, links, syncs, ranges, steps, missing, contents]


# ---- formats without work of a device ----

def no_device_work(form, run, profile, answer):
    """Nothing may claim what is not known to be device work."""
    claimed = [name for name in ("breakdown", "kernels", "copies", "memsets", "collectives",
                                 "streams", "launches") if answer[name]]
    return [], claimed


def generic_rows(form, run, profile, answer):
    got = rows(profile, "SELECT name, count(*), sum(dur) FROM slices WHERE kind = 'generic' GROUP BY 1")
    expected = brute.group(run.work, lambda x: x.name or x.direction or "fill", lambda x: x.dur)
    return expected, {r[0]: r[1:] for r in got}


def model_layers(form, run, profile, answer):
    got = rows(profile, "SELECT name, count, total_ns FROM nodes")
    return ({name: (workload.STEPS, row[1]) for name, row in brute.kernels(run).items()},
            {r[0]: r[1:] for r in got})


OTHERS = {"chrome": [no_device_work, generic_rows], "tensorrt": [no_device_work, model_layers]}


# ---- ----

def difference(expected, got):
    if isinstance(expected, dict) and isinstance(got, dict):
        keys = sorted(set(expected) | set(got), key=repr)
        return "\n".join("%s: expected %s, got %s" % (k, expected.get(k), got.get(k))
                         for k in keys if expected.get(k) != got.get(k))
    return "expected %s\ngot      %s" % (expected, got)


def document(profile, folder):
    """The profile as a run document that lists every event."""
    path = os.path.join(folder, "document.run.json")
    result = neurolens(["export", "--no-cache", profile, "--to", "run.json", "--events", "all",
                        "-o", path])
    if result.status:
        raise Wrong(result.describe())
    return path


def test_profile(tally, label, form, questions, run, profile):
    answer = ask("analyze", "--all", profile)["result"]
    for question in questions:
        name = "%s: %s" % (label, question.__name__.replace("_", " "))
        try:
            expected, got = question(form, run, profile, answer)
            tally.check(name, expected == got, difference(expected, got))
        except Wrong as wrong:
            tally.fail(name, wrong)


def test_format(tally, form):
    run = written(form)
    label, questions = "%s, %s" % (form.name, form.what), OTHERS.get(form.name, QUESTIONS)
    with tempfile.TemporaryDirectory(prefix="neurolens-parity-") as folder:
        profile = form.write(run, folder)
        seen = told(form, run)
        # Advice on recording is of the tool that recorded; a document is not recorded again.
        # Several files keep their names and formats in it.
        within = (form.name,) if os.path.isdir(profile) else ()
        as_document = replace(form, name="run.json", advised=frozenset(), within=within)
        try:
            test_profile(tally, label, form, questions, seen, profile)
            test_profile(tally, label + ", as a run document", as_document,
                         questions, seen, document(profile, folder))
        except Wrong as wrong:
            tally.fail(label, wrong)


def main():
    words = sys.argv[1:]
    tally = Tally("parity")
    for form in FORMATS:
        if not words or any(word in form.name for word in words):
            test_format(tally, form)
    tally.finish()


if __name__ == "__main__":
    main()
