#!/usr/bin/env python3
"""Makes a large Chrome/Kineto trace out of a small one, by repeating its events later in time.

    tools/scale_chrome.py IN.json[.gz] OUT.json[.gz] MEGABYTES

Times stay exact: they are moved as integers of nanoseconds. The result has MEGABYTES of JSON text;
everything but the times is as in the original, so it has the statistics of a real file.
"""
import gzip
import re
import sys


def read(path):
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def to_ns(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def split(text):
    """(head, pieces, times, tail): the events' text around their times, and the times in ns."""
    start = re.search(r'"traceEvents"\s*:\s*\[', text)
    start = start.end() if start else text.index("[") + 1
    end = text.rindex("]")
    body = text[start:end]
    pieces, times, at = [], [], 0
    for match in re.finditer(r'"ts"\s*:\s*(\d+(?:\.\d+)?)', body):
        pieces.append(body[at:match.start(1)])
        times.append(to_ns(match.group(1)))
        at = match.end(1)
    pieces.append(body[at:])
    return text[:start], pieces, times, text[end:]


def main():
    source, target, megabytes = sys.argv[1], sys.argv[2], float(sys.argv[3])
    head, pieces, times, tail = split(read(source))
    real = [t for t in times if t > 0]
    span = max(real) - min(real) + 1000000
    size, wanted, copies = 0, megabytes * 1e6, 0
    opener = gzip.open if target.endswith(".gz") else open
    options = {"compresslevel": 6} if target.endswith(".gz") else {}
    with opener(target, "wt", encoding="utf-8", errors="surrogateescape", **options) as out:
        out.write(head)
        while copies == 0 or size < wanted:
            shift = copies * span
            parts = [pieces[0]]
            for time, piece in zip(times, pieces[1:]):
                moved = time + shift if time > 0 else time
                parts.append("%d.%03d" % divmod(moved, 1000))
                parts.append(piece)
            text = ("" if copies == 0 else ",") + "".join(parts)
            out.write(text)
            size += len(text)
            copies += 1
        out.write(tail)
    print("%s: %d times the events of %s, %.0f MB of JSON" % (target, copies, source, size / 1e6))


main()
