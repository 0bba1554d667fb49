#!/usr/bin/env python3
"""Query tests: a trace, questions in SQL and the answers, in one file.

    tests/query/run.py [WORD...]            run all, or the files whose name contains a WORD
    tests/query/run.py --accept [WORD...]   write the answers that came as those expected

A file tests/query/NAME.test has lines of prose (what it proves), then parts that begin with a line
`--- WORD`:

    --- trace       Chrome/Kineto JSON, once; with a name (`--- trace gpu.csv`) a file of any text format, which may contain escapes such as \\t when the
                    name is followed by `escaped`
    --- sql         one statement; more words on the line are options of `neurolens sql`
    --- expect      the answer as --format csv gives it, or after a failure `error: ` and the message
    --- sql …
"""
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from harness import Tally, forked as neurolens  # noqa: E402

PART = re.compile(r"^--- (trace|sql|expect)( .*)?\n", re.M)


def read(path):
    """Prose, (name, bytes) of the trace, its line and body as they stand, and the questions as [options, sql, expected]."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    places = list(PART.finditer(text))
    trace, questions = ["trace.json", b"", ""], []
    for place, after in zip(places, places[1:] + [None]):
        body = text[place.end():after.start() if after else len(text)]
        if place.group(1) == "trace":
            words = (place.group(2) or "").split()
            data = body.encode().decode("unicode_escape").encode("latin-1") if "escaped" in words else body.encode()
            trace = [words[0] if words else "trace.json", data, text[place.start():place.end()] + body]
        elif place.group(1) == "sql":
            questions.append([(place.group(2) or "").split(), body.strip(), ""])
        else:
            questions[-1][2] = body
    return text[:places[0].start()], trace, questions


def write(path, prose, trace, questions):
    with open(path, "w", encoding="utf-8") as file:
        file.write(prose + trace[2])
        for options, sql, expected in questions:
            file.write("--- sql%s\n%s\n--- expect\n%s" %
                       ("".join(" " + option for option in options), sql, expected))


def answer(profile, options, sql):
    result = neurolens(["sql", "--no-cache", "--format", "csv", *options, profile, sql + ";"],
                       timeout=60)
    output = result.stdout if isinstance(result.stdout, str) else result.stdout.decode()
    errors = result.stderr if isinstance(result.stderr, str) else result.stderr.decode()
    if result.status == 0:
        return output.replace("\r\n", "\n")
    message = errors.strip().splitlines()[0] if errors.strip() else "exit %d" % result.status
    return "error: %s\n" % message.replace(profile, "PROFILE").replace("neurolens: ", "", 1)


def run(tally, name, accept):
    path = os.path.join(HERE, name)
    prose, trace, questions = read(path)
    with tempfile.TemporaryDirectory() as folder:
        profile = os.path.join(folder, trace[0])
        with open(profile, "wb") as file:
            file.write(trace[1])
        for question in questions:
            got = answer(profile, question[0], question[1])
            if accept:
                question[2] = got
            label = "%s: %s" % (name[:-5], " ".join(question[1].split())[:70])
            tally.check(label, got == question[2],
                        "want:\n%sgot:\n%s" % (question[2], got))
    if accept:
        write(path, prose, trace, questions)


def main(words):
    accept = "--accept" in words
    words = [word for word in words if word != "--accept"]
    tally = Tally("query")
    for name in sorted(os.listdir(HERE)):
        if name.endswith(".test") and (not words or any(word in name for word in words)):
            run(tally, name, accept)
    tally.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
