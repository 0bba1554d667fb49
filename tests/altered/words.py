"""A small program for each word that the source asks names for: operators, kernels, ranges, calls and Python functions that are called so, and
nearly so (a letter more or fewer at either end, the other case).

    listed()              the words, kept in words.lst, so that a new word in the source changes nothing here until it is asked for
    gather()              writes those that stand in the source now into words.lst
    program(word)         the profile of a word, in Kineto's form
    hosted(word)          one on the CPU alone: frames, operators, threads and counters that are called so
"""
import glob
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIST = os.path.join(HERE, "words.lst")
ROOMS = ["timeline", "account", "work", "tables", "findings", "answer", "derive", "fingerprint", "compare", "ingest/chrome", "ingest/lib", "store"]
# One token without blanks, long enough to be the name of something.
WORD = re.compile(r"[A-Za-z_#:.<0-9@~*/()\[\]-]{3,40}")
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
SHAPES = [[64, 128], [128, 256]]


def gather():
    words = set()
    for room in ROOMS:
        for path in glob.glob(os.path.join(ROOT, "src", room, "**", "*.[cd]*"), recursive=True):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if not line.startswith("#include"):
                        words.update(word for word in LITERAL.findall(line) if WORD.fullmatch(word))
    with open(LIST, "w", encoding="utf-8") as file:
        file.write("".join(word + "\n" for word in sorted(words)))


def listed():
    with open(LIST, encoding="utf-8") as file:
        return file.read().split("\n")[:-1]


def forms(word):
    plain = word.replace("*", "x")
    return [plain, "x" + plain, plain + "x", plain[1:], plain[:-1], plain.swapcase()]


def program(word):
    events = []

    def put(cat, name, ts, dur, tid=10, **args):
        events.append({"ph": "X", "cat": cat, "name": name, "pid": 10 if tid >= 10 else 0, "tid": tid, "ts": ts, "dur": dur, "args": args})

    for k, name in enumerate(forms(word)):
        at, number = 1000 + 400 * k, 2 * k + 1
        put("user_annotation", name, at, 380)
        put("python_function", name, at + 1, 370)
        put("cpu_op", name, at + 10, 100, **{"Input Dims": SHAPES, "Input type": ["float", "float"], "External id": number})
        put("cuda_runtime", "cudaLaunchKernel", at + 20, 10, correlation=number, **{"External id": number})
        put("kernel", "some_kernel", at + 40, 60 + k, tid=7, device=0, stream=7, correlation=number, **{"External id": number})
        put("cpu_op", "aten::mm", at + 120, 100, **{"Input Dims": SHAPES, "Input type": ["float", "float"], "External id": number + 1})
        put("cuda_runtime", "cudaLaunchKernel", at + 130, 10, correlation=number + 1, **{"External id": number + 1})
        put("kernel", name, at + 150, 80 - k, tid=7, device=0, stream=7, correlation=number + 1, **{"External id": number + 1})
        put("cuda_runtime", name, at + 250, 90 + k, correlation=100 + k)
        put("cpu_op", name, at + 20, 200, tid=11)
    return written(events, deviceProperties=[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}])


def hosted(word):
    events = []
    for k, name in enumerate(forms(word)):
        at, tid = 1000 + 300 * k, 20 + k
        events.append({"ph": "M", "name": "thread_name", "pid": 10, "tid": tid, "args": {"name": name}})
        events.append({"ph": "C", "name": name, "pid": 10, "ts": at, "args": {name: 10 + k, "value": 20 - k}})
        for cat, of, ts, dur in (("python_function", name, at, 250 + k), ("python_function", "loop.py(%d): %s" % (k + 1, name), at + 10, 100 + 7 * k),
                                 ("cpu_op", name, at + 120, 80), ("user_annotation", "step", at, 290)):
            events += [{"ph": "X", "cat": cat, "name": of, "pid": 10, "tid": where, "ts": ts, "dur": dur, "args": {"Input Dims": SHAPES, "Input type": ["float", "float"]} if cat == "cpu_op" else {}}
                       for where in (10, tid)]
    return written(events)


def written(events, **others):
    return json.dumps(dict(others, schemaVersion=1, traceEvents=events)).encode()
