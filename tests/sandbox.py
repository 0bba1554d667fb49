#!/usr/bin/env python3
"""Files read in a confined process of their own: the same answers, errors and exit statuses as without, for a small cost.

    tests/sandbox.py [--cost]     --cost prints the times, too
"""
import glob
import os
import resource
import subprocess
import sys

from harness import PROGRAM, ROOT, Tally, environment, neurolens, scratch

tally = Tally("sandbox")
RISKY = ["ncu", "pstats", "pickle"]
WAYS = [["info", "--format", "json"], ["analyze", "--all", "--format", "json"]]
MAX_SHARE, MAX_SECONDS = 0.10, 0.005
SANITIZED = b"__asan_init" in open(PROGRAM, "rb").read()


def files(folder, names):
    return sorted(path for name in names for path in glob.glob(os.path.join(ROOT, "tests", folder, name, "*"))
                  if os.path.isfile(path) and not path.endswith(".py"))


def answers(path, way, sandbox):
    got = neurolens(way + ["--no-cache", "-q", path], extra={"NEUROLENS_SANDBOX": sandbox}, timeout=60)
    return got.status, got.stdout, got.stderr


def same(name, paths, sandbox, ways):
    said = []
    for path in paths:
        for way in ways:
            want, got = answers(path, way, "off"), answers(path, way, sandbox)
            if want != got:
                said.append("%s %s: %s %r, apart %s %r" % (way[0], os.path.relpath(path, ROOT), want[0], want[2][:200], got[0], got[2][:200]))
    tally.check("%s: %d files" % (name, len(paths)), paths and not said, "\n".join(said[:8]))


def kept():
    """Byte for byte the same trace in the cache, and the same table by table."""
    said, count = [], 0
    for path in sorted(files("corpus", RISKY), key=os.path.getsize)[-6:]:
        out = []
        for sandbox in ("off", "auto"):
            folder = os.path.join(scratch(), "csv-" + sandbox)
            got = neurolens(["export", "-q", "--no-cache", path, "--to", "csv", "-o", folder], extra={"NEUROLENS_SANDBOX": sandbox})
            content = {}
            for base, _, names in os.walk(folder):
                for name in names:
                    with open(os.path.join(base, name), "rb") as file:
                        content[name] = file.read()
                    os.unlink(os.path.join(base, name))
            out.append((got.status, got.stdout, content))
            count += len(content)
        if out[0] != out[1]:
            said.append(path)
    tally.check("exports are byte for byte the same (%d tables)" % count, count > 20 and not said, said)


def many_kinds():
    """Risky files beside others, joined to others, piped, compressed."""
    cases = []
    report = sorted(files("corpus", ["ncu"]), key=os.path.getsize)
    report = [path for path in report if path.endswith(".ncu-rep")][:1]
    kineto = os.path.join(ROOT, "tests", "corpus", "chrome", "kineto.json")
    stats = files("corpus", ["pstats"])[:1]
    database = files("corpus", ["nsys"])[:1]
    if report:
        cases += [[kineto, "--join", report[0]], [database[0], "--join", report[0]], [kineto, report[0]]]
    if stats:
        cases += [[kineto, stats[0]], [database[0], stats[0]]]
        packed = os.path.join(scratch(), "packed.gz")
        with open(packed, "wb") as out:
            import gzip
            with open(stats[0], "rb") as file:
                out.write(gzip.compress(file.read()))
        cases.append([packed])
    said = []
    for words in cases:
        got = [neurolens(["info", "--format", "json", "--no-cache", "-q"] + words, extra={"NEUROLENS_SANDBOX": sandbox})
               for sandbox in ("off", "auto", "all")]
        if len({(g.status, g.stdout, g.stderr) for g in got}) != 1:
            said.append("%s: %s" % (words, [g.describe()[:300] for g in got]))
    tally.check("beside others, joined, compressed: %d" % len(cases), len(cases) >= 5 and not said, "\n".join(said))
    if stats:
        said = []
        with open(stats[0], "rb") as file:
            data = file.read()
        for sandbox in ("off", "auto"):
            got = subprocess.run([PROGRAM, "info", "--format", "json", "-"], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env=dict(environment(scratch()), NEUROLENS_SANDBOX=sandbox))
            said.append((got.returncode, got.stdout, got.stderr))
        tally.check("from a pipe", said[0] == said[1] and said[0][0] == 0, said[1])


def nothing_stays():
    place = os.path.join(scratch(), "tmp")
    os.makedirs(place, exist_ok=True)
    for path in files("corpus", RISKY)[:4]:
        neurolens(["info", "-q", "--no-cache", path], extra={"TMPDIR": place})
    tally.check("nothing is left in TMPDIR", not os.listdir(place), os.listdir(place))


def short_of_memory():
    """With a small budget: the same end."""
    paths = sorted(files("corpus", ["pickle"]), key=os.path.getsize)[-1:]
    said = []
    for path in paths:
        got = [neurolens(["info", "-q", "--no-cache", "--memory", "1M", path], extra={"NEUROLENS_SANDBOX": sandbox})
               for sandbox in ("off", "auto")]
        if got[0].status != got[1].status:
            said.append("%s: %s, %s" % (path, got[0].describe()[:300], got[1].describe()[:300]))
    tally.check("with little memory: the same status", not said, said)


def told():
    got = neurolens(["doctor"])
    line = [line for line in got.stdout.splitlines() if line.strip().startswith(("sandbox", "✓ sandbox"))
            or "sandbox" in line]
    tally.check("doctor tells of the sandbox", line, got.stdout)


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost():
    """Least of several runs in turn, so that a busy machine does not decide."""
    if SANITIZED:
        tally.skip("cost", "a build with sanitizers")
        return
    for path in [sorted(files("corpus", [name]), key=os.path.getsize)[-1] for name in RISKY]:
        least = {"off": 9e9, "auto": 9e9}
        for _ in range(40):
            for sandbox in least:
                env = dict(environment(scratch()), NEUROLENS_SANDBOX=sandbox)
                start = processor_seconds()
                subprocess.run([PROGRAM, "info", "-q", "--no-cache", path], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                least[sandbox] = min(least[sandbox], processor_seconds() - start)
            if least["auto"] - least["off"] <= max(MAX_SECONDS, MAX_SHARE * least["off"]) and "--cost" not in sys.argv:
                break
        extra = least["auto"] - least["off"]
        name = "cost of %s" % os.path.basename(path)
        if "--cost" in sys.argv:
            name += ": %.1f ms beside %.1f ms" % (1e3 * extra, 1e3 * least["off"])
        tally.check(name, extra <= max(MAX_SECONDS, MAX_SHARE * least["off"]), least)


def main():
    same("risky files", files("corpus", RISKY), "auto", WAYS)
    same("broken risky files", files("reject", RISKY), "auto", WAYS[:1])
    others = [name for name in os.listdir(os.path.join(ROOT, "tests", "corpus")) if name not in RISKY]
    same("all others, when all are read apart", [path for name in sorted(others) for path in files("corpus", [name])[:3]], "all", WAYS[:1])
    same("broken files, when all are read apart", [path for name in sorted(os.listdir(os.path.join(ROOT, "tests", "reject")))
                                                  for path in files("reject", [name])[:2]], "all", WAYS[:1])
    kept()
    many_kinds()
    nothing_stays()
    short_of_memory()
    told()
    cost()
    tally.finish()


if __name__ == "__main__":
    main()
