#!/usr/bin/env python3
"""Small changes of every file of the corpus and of some archives, one at a time, and what the readers make of each: what differs from the rows of the
file as it is, a line for each change.

    tests/altered/run.py [WORD...]        all, or the families whose name contains a WORD
    tests/altered/run.py --brief          one change of four, one of 16 where each costs more: what `make check` asks for
    tests/altered/run.py --accept WORD    write what is read now into the files whose name contains WORD

variants.py says which changes: members of JSON gone or of another type, words that nobody knows, columns and tables that are not
there, fields of messages, lines, tokens, bytes. Thousands of files are read by one program (unit/readeach.c), which takes under a millisecond for each. One of four is analysed,
too: the tables of `analyze --all` and the short page.

One family, `nibbled`, is more changes of every file, of bytes and tokens all over it (nibbled.py), a checksum each.
Two are about answers: `times` changes the times of whole profiles (times.py) and compares what comes out with what was there,
too; `words` calls everything in small programs by each word that the source asks names for (words.py), a checksum each.

A change after which nothing differs has no line. A line of tests/altered/FAMILY.txt is the file, the change, and after two colons the columns in which something differs: how many values they have now,
the least and the greatest (of texts the first), up to three of them, how many more, and a checksum of all that differs. That a reader is right
is proved elsewhere; here none changes its mind about an odd file without anyone noticing.
"""
import itertools
import os
import subprocess
import sys
import tempfile
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), HERE]
from harness import PROGRAM, TESTS, Tally, accepting, environment, is_brief, meant, scratch  # noqa: E402
import nibbled  # noqa: E402
import packed  # noqa: E402
import times  # noqa: E402
import words  # noqa: E402
from variants import variants  # noqa: E402

READ = os.path.join(os.path.dirname(PROGRAM), "tests", "unit", "readeach")
MAX_BYTES = 150000  # of a file that is changed
ANALYZED = 4  # of so many changes one is analysed, too
WORDS = 20  # in a line of words.txt
ASKED_BRIEFLY = 4  # of so many changes one is tried with --brief
WHOLE_BRIEFLY = 16  # of so many that cost more each: lines of many changes, whole answers
WHOLE = {"chrome", "times"}  # the largest reader, and what is not about readers: all changes; of others half of them


def corpus():
    """{family: its files} of those that are one file each."""
    top = os.path.join(TESTS, "corpus")
    for family in sorted(os.listdir(top)):
        here = os.path.join(top, family)
        names = [name for name in sorted(os.listdir(here)) if not name.startswith(("README", ".")) and not name.endswith((".py", ".gz"))]
        yield family, [os.path.join(here, name) for name in names if os.path.isfile(os.path.join(here, name)) and
                       os.path.getsize(os.path.join(here, name)) < MAX_BYTES]


def read_all(files, folder):
    """What is said of each (name, bytes, what is asked about it, in readeach.c's word) of an iterator, in order; and what went wrong."""
    with open(os.path.join(folder, "told"), "wb+") as told, open(os.path.join(folder, "errors"), "wb+") as errors:
        reader = subprocess.Popen([READ], cwd=folder, env=environment(scratch()), stdin=subprocess.PIPE, stdout=told, stderr=errors)
        given = 0
        try:
            for name, data, asked in files:
                reader.stdin.write(b"%s %d %s\n" % (name.encode(), len(data), asked) + data)
                given += 1
            reader.stdin.close()
        except BrokenPipeError:
            pass
        status = reader.wait()
        told.seek(0), errors.seek(0)
        answers = [part.strip("\n") for part in ("\n" + told.read().decode("utf-8", "backslashreplace")).split("\n=\n")[1:]]
        noise = errors.read().decode("utf-8", "replace")
    return answers, "status %d after %d of %d files\n%s" % (status, len(answers), given, noise) if status or noise or len(answers) < given else ""


def by_column(answer):
    found = {}
    for line in answer.splitlines():
        column, _, rest = line.partition(" ")
        if column == "coverage":  # by what it says
            count, _, rest = rest.partition(" ")
            column, rest = "coverage " + rest.partition(":")[0], count + rest.partition(":")[2]
        found[column] = found.get(column, "") + rest
    return found


def difference(base, answer):
    """What differs, in short, as one line; None when nothing does."""
    if answer.startswith("refused"):
        return None if base == answer else answer.split("\n")[0][:150]
    old, new = by_column(base), by_column(answer)
    if not any(column.startswith("answers.") for column in new):
        old = {column: text for column, text in old.items() if not column.startswith("answers.")}
    what = ["%s %s" % (column, new.get(column, "gone")) for column in dict.fromkeys([*old, *new]) if old.get(column) != new.get(column)]
    what = [each for each in what if not each.startswith("sources.bytes ")]
    if not what:
        return None
    what.sort(key=lambda each: not each.startswith(("WRONG", "answers.page", "coverage")))
    told = [each.rpartition(" ~")[0] or each for each in what[:3]]
    told = [each if len(each) < most else each[:most - 3] + "..." for each in told for most in [110 if each.startswith("answers.page") else 56]]
    return "%s%s ~%08x" % ("; ".join(told), "; %d more" % (len(what) - 3) if len(what) > 3 else "", zlib.crc32("\n".join(what).encode()))


def number_of(what):
    """The same of one change in every run, without an order: says which changes are tried."""
    return zlib.crc32(what.encode("utf-8", "replace"))


def briefly(family):
    return WHOLE_BRIEFLY if family in ("times", *OWN_LINES) else ASKED_BRIEFLY


def is_tried(label, brief, asked_of=ASKED_BRIEFLY):
    return not brief or number_of(label[::-1]) // ANALYZED % asked_of == 0


def changes(paths, family, labels, brief):
    """(name, bytes, what is asked) of each file and each change of it that is tried; `labels` gets (place of the file as it is, what is changed)."""
    seen = set()
    for path in paths:
        name = os.path.basename(path)
        with open(path, "rb") as file:
            data = file.read()
        base = len(labels)
        labels.append(None)
        yield name, data, b"first" if family == "times" else b"analyze"
        for what, changed in times.retimed(name, data) if family == "times" else variants(family, data, seen):
            label = "%s, %s" % (name, what)
            if changed is not None and changed != data and (family in WHOLE or number_of(what) & 1 == 0) and is_tried(label, brief, briefly(family)):
                labels.append((base, label))
                yield name, changed, b"beside" if family == "times" else b"analyze" if number_of(what[::-1]) % ANALYZED == 0 else b"read"


def short_sum(text):
    return "%03x" % (zlib.crc32(text.encode("utf-8", "replace")) & 0xfff)


def nibbled_lines(folder, brief):
    """As lines(), of nibbled.py's changes of the corpus; a line is a checksum of each of a file."""
    given, labels = [], []
    for family, paths in corpus():
        for label, path in (("%s/%s" % (family, os.path.basename(path)), path) for path in paths):
            if is_tried(label, brief, WHOLE_BRIEFLY):
                with open(path, "rb") as file:
                    changed = list(nibbled.nibbled(label, file.read()))
                labels.append((label, len(changed)))
                given.append((os.path.basename(path).encode(), changed))
    answers, bad = read_all(((name.decode(), data, b"analyze" if analyze else b"read") for name, changed in given for data, analyze in changed), folder)
    bad += "".join("%s\n" % line for answer in answers for line in answer.splitlines() if line.startswith("WRONG"))
    sums = iter(map(short_sum, answers))
    return ["%s :: %s" % (label, "".join(itertools.islice(sums, count))) for label, count in labels], len(answers), bad


def word_lines(folder, brief):
    """As lines(), of programs with a word each; a line is a checksum of all that is said of WORDS of them."""
    batches = [words.listed()[at:at + WORDS] for at in range(0, len(words.listed()), WORDS)]
    batches = [batch for batch in batches if is_tried(word_label(batch), brief, WHOLE_BRIEFLY)]
    answers, bad = read_all((("word.json", program(word), b"analyze") for batch in batches for word in batch for program in (words.program, words.hosted)), folder)
    sums = map(short_sum, map("".join, zip(answers[::2], answers[1::2])))
    return ["%s :: %s" % (word_label(batch), " ".join(itertools.islice(sums, len(batch)))) for batch in batches], len(answers), bad


def word_label(batch):
    return "%s … %s" % (batch[0], batch[-1])


OWN_LINES = {"nibbled": nibbled_lines, "words": word_lines}


def lines(paths, family, folder, brief):
    """A line of every change that makes a difference, how many changes there were, and what went wrong."""
    labels = []
    answers, bad = read_all(changes(paths, family, labels, brief), folder)
    told = [(label[1], difference(answers[label[0]], answer)) for label, answer in zip(labels, answers) if label]
    return ["%s :: %s" % each for each in told if each[1]], len(told), bad


def main():
    only, brief = [], is_brief()
    accept = accepting(__doc__, only=only)
    tally = Tally("altered")
    made = tempfile.TemporaryDirectory(prefix="neurolens-packed-")
    for family, paths in [*corpus(), ("archives", packed.write(made.name)), ("times", times.write(made.name)), *((family, []) for family in OWN_LINES)]:
        if accept is not None and accept not in family or only and not any(word in family for word in only):
            continue
        if accept is not None and family == "words":
            words.gather()
        with tempfile.TemporaryDirectory(prefix="neurolens-altered-") as folder:
            now, count, bad = OWN_LINES[family](folder, brief) if family in OWN_LINES else lines(paths, family, folder, brief)
        kept = os.path.join(HERE, family + ".txt")
        if accept is not None:
            with open(kept, "w", encoding="utf-8") as file:
                file.write("\n".join(now) + "\n")
            continue
        before = []
        if os.path.exists(kept):
            with open(kept, encoding="utf-8") as file:
                before = [line for line in file.read().split("\n")[:-1] if is_tried(line.partition(" :: ")[0], brief, briefly(family))]
        differs = ["- " + line for line in before if line not in set(now)][:15] + ["+ " + line for line in now if line not in set(before)][:15]
        tally.check("%s: %d changes%s" % (family, count, " of %d files" % len(paths) if paths else ""), now == before and not bad,
                    bad + meant("tests/altered/run.py --accept " + family, "\n".join(differs)))
    if accept is None:
        tally.finish()


if __name__ == "__main__":
    main()
