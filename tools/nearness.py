"""Which parts of `make check` are nearest to what was changed: the order of `tools/test.py --quick`.

A change is near to a part in this order: the part's own files; a unit test that includes a changed file's header, or whose
name begins with its name; the files of the changed reader's formats, and unit tests whose name begins like a word of the path;
what exists for the changed room; unit tests that include a header of that room; then all others. Of those equally far the short
ones come first.
"""
import os
import re
import subprocess

import roomparts

# A reader's folder in src/ingest, and folders of tests/corpus with files that it reads; where none is named, those of its name.
FORMATS = {"amd": ("roc", "rpd"), "chrome": ("chrome", "ort", "viztracer"), "rundoc": ("runjson",), "telemetry": ("gputelemetry", "zeus"),
           "stacks": ("collapsed", "perf", "pstats", "pyinstrument", "scalene", "speedscope", "v8profile"),
           "torch": ("pickle", "torchet", "torchtimeline")}
BY_FORMAT = ("corpus", "altered")  # parts that take words of which files
# Rooms that answers come from, and what of the kept answers is about one cause or threshold each.
ANSWERING, ANSWERS = {"findings", "answer", "account", "tables", "timeline"}, ["edges", "answers"]
SHORT_UNIT_S = 1.5
ALIKE_LETTERS = 6  # at the start of two names, as in verdictdevice and verdicts
FIRST_WITHIN_S = 8  # what of a room's parts is worth its time in so short a run


def said(*words):
    """Lines that git says; none without git, or in a tree that is no clone."""
    try:
        done = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except OSError:
        return []
    return done.stdout.decode().splitlines() if done.returncode == 0 else []


def changed():
    """Files that differ from the last commit, or where none does, those of the last commit."""
    now = said("diff", "--name-only", "HEAD") + said("ls-files", "-o", "--exclude-standard")
    return now or said("diff", "--name-only", "HEAD~1", "HEAD")


def room_of(path):
    words = path.split("/")
    return words[1] if words[0] == "src" and len(words) > 2 else None


def formats_of(paths):
    """Words of corpus folders when all that changed are readers, else none."""
    folders = {path.split("/")[2] for path in paths if path.startswith("src/ingest/") and path.count("/") > 2}
    others = [path for path in paths if room_of(path) and (not path.startswith("src/ingest/") or path.count("/") == 2)]
    if others or "lib" in folders:
        return []
    return [word for folder in sorted(folders) for word in FORMATS.get(folder, (folder,))]


def narrowed(paths):
    """{part: words for it} where less than the whole part is nearest."""
    formats = formats_of(paths)
    words = {part: formats for part in BY_FORMAT if formats}
    if any(room_of(path) in ANSWERING for path in paths):
        words["sums"] = ANSWERS
    return words


def included(test):
    """Headers of src that a unit test includes."""
    with open(test, encoding="utf-8") as file:
        return set(re.findall(r'^#include "(\w+/[\w/]+\.(?:h|def))"', file.read(), re.M))


def unit_distance(name, paths):
    source = "tests/unit/%s.c" % name
    if source in paths:
        return 0
    headers = included(source)
    stems = {path[len("src/"):].rpartition(".")[0] for path in paths if room_of(path)}
    if any(header.rpartition(".")[0] in stems for header in headers) or any(name[len("test_"):].startswith(os.path.basename(stem)) for stem in stems):
        return 1
    words = {word for stem in stems for word in re.findall(r"[a-z]{3,}", stem.partition("/")[2])}
    if any(len(os.path.commonprefix([word, name[len("test_"):]])) >= min(len(word), ALIKE_LETTERS) for word in words):
        return 2
    rooms = {room_of(path) for path in paths} - {None, "base"}
    return 4 if any(header.split("/")[0] in rooms for header in headers) else 5


def script_distance(name, script, paths):
    folder = os.path.dirname(script) + "/" if script.endswith("/run.py") else script
    if any(path.startswith(folder) for path in paths):
        return 0
    rooms = {room_of(path) for path in paths} - {None}
    if " of " in name:
        return 2
    named = script[len("tests/"):]
    if any(named == roomparts.FIRST.get(room) or named in roomparts.BEYOND.get(room, ()) for room in rooms):
        return 3
    return 5


def seconds_of(part):
    """Of the processor, about."""
    if part.name.startswith("unit "):
        return roomparts.SLOW_UNITS.get(part.name[len("unit "):], 0.2)
    return roomparts.SECONDS.get(part.command[1][len("tests/"):], 5) if len(part.command) > 1 else 5


def worth(part):
    """The place among those that are equally far."""
    if part.name.startswith("unit "):
        return 1 if seconds_of(part) <= SHORT_UNIT_S else 3
    return 0 if seconds_of(part) <= 2 else 2


def order(parts, paths):
    """The parts with the nearest first; those beyond `make check` only where they exist for a changed room and are short.
    Of readers alone, the files of their formats come before the same part about all files."""
    ranked = []
    for part in parts:
        if part.makes or part.name == "lint":
            ranked.append(((-1, 0, 0), part))
            continue
        script = next((word for word in part.command if word.startswith("tests/")), "")
        unit = part.name.startswith("unit ")
        distance = unit_distance(part.name[len("unit "):], paths) if unit else script_distance(part.name, script, paths)
        if not part.check and " of " not in part.name and (distance > 3 or seconds_of(part) > FIRST_WITHIN_S):
            continue
        ranked.append(((distance, worth(part), seconds_of(part)), part))
    return [part for _, part in sorted(ranked, key=lambda each: each[0])]
