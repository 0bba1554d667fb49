#!/usr/bin/env python3
"""All files of the corpus and all broken ones, read and analysed one after the other by one program (unit/readeach.c), which says
nothing on stderr: nothing of one file is left for the next. With sanitizers this finds what a run for each file would, without a start for each.

What is read and said of each file is held by corpus_expect/run.py.
"""
import os
import subprocess
import sys
import tempfile

from harness import PROGRAM, TESTS, Tally, environment, scratch

READ = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "readeach")


def files(top):
    for folder, _, names in sorted(os.walk(os.path.join(TESTS, top))):
        for name in sorted(names):
            if not name.startswith(("README", ".")) and not name.endswith(".py"):
                yield os.path.join(folder, name)


def read(paths):
    """What is said of each file, in order; and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="neurolens-corpus-") as folder, tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as errors:
        reader = subprocess.Popen([READ], cwd=folder, env=environment(scratch()), stdin=subprocess.PIPE, stdout=told, stderr=errors)
        try:
            for path in paths:
                with open(path, "rb") as file:
                    data = file.read()
                reader.stdin.write(b"%s %d analyze\n" % (os.path.basename(path).replace(" ", "_").encode(), len(data)) + data)
            reader.stdin.close()
        except BrokenPipeError:
            pass
        status = reader.wait()
        told.seek(0), errors.seek(0)
        answers = ("\n" + told.read().decode("utf-8", "backslashreplace")).split("\n=\n")[1:]
        noise = errors.read().decode("utf-8", "replace")
    return answers, "status %d after %d of %d files\n%s" % (status, len(answers), len(paths), noise) if status or noise or len(answers) < len(paths) else ""


def main():
    tally = Tally("corpus_in_one")
    sound, broken = list(files("corpus")), list(files("reject"))
    answers, wrong = read(sound + broken)
    tally.check("%d files and %d broken ones" % (len(sound), len(broken)), not wrong, wrong[-3000:])
    refused = [path for path, answer in zip(sound, answers) if answer.startswith("refused") or "\nWRONG" in answer or "answers.page" not in answer]
    tally.check("sound ones are read and analysed", not refused, "\n".join(refused))
    taken = [path for path, answer in zip(broken, answers[len(sound):]) if not answer.startswith("refused")]
    tally.check("broken ones are refused", not taken, "\n".join(taken))
    tally.finish()


if __name__ == "__main__":
    sys.exit(main())
