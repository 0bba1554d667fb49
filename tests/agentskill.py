#!/usr/bin/env python3
"""What coding agents are told (agent/, AGENTS.md, llms.txt) is true: every command of the skill runs, every field it names exists,
every link leads somewhere, and llms.txt is what tools/llms.py makes.

    tests/agentskill.py
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

from harness import FIXTURES, PROGRAM, ROOT, Tally, environment, scratch

SKILL = os.path.join(ROOT, "agent", "neurolens")
PROFILE = os.path.join(FIXTURES, "made_gpu_train.json.gz")
# Names that the texts use for the user's own files, all of them the bundled profile.
OWN = ["run.json.gz"] + [side + number + ".json.gz" for side in ("before", "after") for number in ("", "2", "3")]
RECORDS = ("run", "doctor")  # tests/record*.py and tests/doctor.py run those
tally = Tally("agent")


def pages():
    for folder, _, names in os.walk(SKILL):
        for name in sorted(names):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield os.path.relpath(os.path.join(folder, name), SKILL), file.read()


def run(words, folder):
    done = subprocess.run([PROGRAM] + words[1:], cwd=folder, env=dict(environment(folder), HOME=folder), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def fields_in(document, found, path="result"):
    """Every path of names below a JSON value, of a list those of all its rows."""
    for value in document if isinstance(document, list) else [document]:
        if isinstance(value, dict):
            for name, below in value.items():
                found.add("%s.%s" % (path, name))
                fields_in(below, found, "%s.%s" % (path, name))


def head(text):
    """The front matter's names and values (agentskills.io): one line each."""
    return dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())


def main():
    folder = os.path.join(scratch(), "agent")
    os.makedirs(folder)
    for name in OWN:
        shutil.copy(PROFILE, os.path.join(folder, name))
    texts = dict(pages())
    front = head(texts["SKILL.md"])
    tally.check("front matter", front["name"] == os.path.basename(SKILL) and 100 < len(front["description"]) <= 1024 and
                len(front["compatibility"]) <= 500 and len(texts["SKILL.md"].splitlines()) < 500, front)
    found, asked = set(), 0
    for name, text in sorted(texts.items(), key=lambda page: page[0] != "SKILL.md"):
        for line in re.findall(r"^    (neurolens .*)$", text, re.M):
            words = shlex.split(line)
            if words[1] in RECORDS or "run.nlt" in words:
                continue
            status, out, errors = run(words, folder)
            tally.check("%s: %s" % (name, line), status == 0 and out, "status %d\n%s" % (status, errors[-400:]))
            if words[-2:] == ["--format", "json"] and status == 0:
                document = json.loads(out)
                fields_in(document["result"], found)
                fields_in(document["coverage"], found, "coverage")
                asked += 1
    named = {(page, field) for page, text in texts.items() for field in re.findall(r"`((?:result|coverage)\.[a-z_.]+)`", text)}
    missing = sorted(place for place in named if place[1] not in found)
    tally.check("fields that the texts name exist", asked > 5 and len(named) > 10 and not missing, missing)
    inside = re.search(r"`result\.findings`: each has (.*?)name findings", texts["SKILL.md"], re.S).group(1)
    missing = [field for field in re.findall(r"`([a-z_]+)`", inside) if "result.findings." + field not in found]
    tally.check("fields of a finding exist", not missing, missing)
    for page, text in list(texts.items()) + [("../../AGENTS.md", open(os.path.join(ROOT, "AGENTS.md"), encoding="utf-8").read())]:
        lost = [link for link in re.findall(r"\]\(([^)#:]+)\)", text)
                if not os.path.exists(os.path.join(SKILL, os.path.dirname(page), link))]
        tally.check("links of " + page.replace("../", ""), not lost, lost)
    made = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "llms.py"), "--print"], stdout=subprocess.PIPE, text=True).stdout
    with open(os.path.join(ROOT, "llms.txt"), encoding="utf-8") as file:
        tally.check("llms.txt is of these pages (else: make docs)", file.read() == made and made.count("\n- [") > 30, "differs")
    tally.finish()


main()
