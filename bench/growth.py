#!/usr/bin/env python3
"""Time and memory over the number of events: is the cost of an event the same at 10^5 and at 10^7?

    bench/growth.py [--events 100000,1000000,10000000] [--sample FILE] [--profile FILE ...]

Makes Kineto traces of so many events out of a sample (tools/scale_chrome.py) in build/bench, asks `info` of each without a cache on
one thread, then `analyze` of the cached trace with and without a kept report, and prints a Markdown table: processor time, peak
memory and page faults per event. --profile measures these files instead. Least of three runs.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("NEUROLENS", os.path.join(ROOT, "build", "neurolens"))
FOLDER = os.path.join(ROOT, "build", "bench")
FIXTURE = os.path.join(ROOT, "tests", "fixtures", "made_gpu_train.json.gz")
BYTES_PER_EVENT = 260


def cost(words, env, times=3):
    """Processor seconds, peak bytes and page faults: of the run with the least time."""
    best = None
    for _ in range(times):
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen([PROGRAM, *words], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            if child.returncode:
                out.seek(0)
                sys.exit("%s: exit %d\n%s" % (" ".join(words), child.returncode, out.read().decode("utf-8", "replace")))
        seconds = usage.ru_utime + usage.ru_stime
        if not best or seconds < best[0]:
            best = seconds, usage.ru_maxrss * 1024, usage.ru_minflt
    return best


def made(sample, events):
    path = os.path.join(FOLDER, "growth-%d.json" % events)
    if not os.path.exists(path):
        os.makedirs(FOLDER, exist_ok=True)
        part = path + ".part"
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "scale_chrome.py"), sample, part,
                        str(max(1, events * BYTES_PER_EVENT // 10**6))], check=True)
        os.rename(part, path)
    return path


def slices(path, env):
    said = subprocess.run([PROGRAM, "info", path, "--format", "json"], env=env, stdout=subprocess.PIPE, check=True)
    profile = json.loads(said.stdout)["profile"]
    return profile.get("slices") or profile["events"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", default="100000,1000000,10000000")
    parser.add_argument("--sample", default=FIXTURE)
    parser.add_argument("--profile", nargs="*")
    wanted = parser.parse_args()
    paths = wanted.profile or [made(wanted.sample, int(count)) for count in wanted.events.split(",")]
    print("| slices | MB | load: ns each | B at the peak each | page faults per 1,000 | answer: ns each | again: ms | its peak, MB |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=FOLDER if os.path.isdir(FOLDER) else None) as ledger:
        env = dict(os.environ, NEUROLENS_LEDGER=ledger, NEUROLENS_CACHE_WRITE="foreground")
        empty = cost(["version"], env)
        for path in paths:
            load = cost(["info", "--no-cache", "-j1", path], env)
            count = slices(path, env)
            answers = []
            for _ in range(3):
                for kept in glob.glob(os.path.join(ledger, "cache", "*.nla")):
                    os.unlink(kept)
                answers.append(cost(["analyze", path], env, 1))
            answer, again = min(answers), cost(["analyze", path], env)
            print("| {:,} | {:.0f} | {:.0f} | {:.0f} | {:.1f} | {:.0f} | {:.0f} | {:.0f} |".format(
                count, os.path.getsize(path) / 1e6, (load[0] - empty[0]) / count * 1e9, load[1] / count,
                1e3 * load[2] / count, answer[0] / count * 1e9, again[0] * 1e3, again[1] / 1e6), flush=True)


main()
