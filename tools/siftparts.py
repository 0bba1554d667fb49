#!/usr/bin/env python3
"""siftparts.py IN OUT: the sieve of redact/secretsift.c from the starts of tokens and the parts in secretshapes.def, for the build.

Texts are read two letters at a time. So each part has two rows: a pair of its letters that starts at an even place of it, and one that
starts at an odd place; the rarest are taken. Rows of one pair follow each other.
"""
import re
import sys

# How often letters stand in names of kernels and operators, roughly, per mille; others are rare.
COMMON = dict(zip("etanirolsmdcupgfhkvb_x012345678:", (
    90, 75, 65, 62, 60, 55, 52, 45, 42, 30, 30, 28, 22, 22, 18, 16, 14, 12, 10, 10, 60, 8, 14, 14, 12, 8, 10, 6, 8, 4, 8, 10)))


def weight(pair):
    return (COMMON.get(pair[0], 3)) * (COMMON.get(pair[1], 3))


def folded(letter):
    return ord(letter) & 0x5f


def parts_of(text):
    """Every part once, without those that have another in them."""
    found = sorted({start.lower() for start in re.findall(r'^(?:TOKEN|PART)\("([^"]+)"', text, re.M)}, key=lambda part: (len(part), part))
    kept = []
    for part in found:
        if not any(other in part for other in kept):
            kept.append(part)
    return kept


def main():
    source, out = sys.argv[1:3]
    with open(source, encoding="utf-8") as file:
        parts = parts_of(file.read())
    rows = {}
    for part in parts:
        for odd in (0, 1):
            at = min(range(odd, len(part) - 1, 2), key=lambda place, part=part: weight(part[place:place + 2]), default=None)
            if at is None:
                raise SystemExit("%s: a part has three letters or more" % part)
            rows.setdefault((folded(part[at]), folded(part[at + 1])), []).append((part, at))
    assert len(rows) < 256, "more pairs than a byte counts"
    lines, starts, index = [], [], []
    for number, (pair, same) in enumerate(sorted(rows.items())):
        starts.append(len(lines))
        index.append("[%d] = %d," % (pair[1] << 7 | pair[0], number + 1))
        lines += ['{{"%s", %d}, %d, %s},' % (part, len(part), at, "true" if place + 1 < len(same) else "false")
                  for place, (part, at) in enumerate(same)]
    with open(out, "w", encoding="ascii") as file:
        file.write("static const struct part parts[] = {\n%s\n};\n" % "\n".join(lines))
        file.write("static const uint16_t first_part[] = {%s};\n" % ", ".join(str(start) for start in starts))
        file.write("static const uint8_t number_of_pair[1 << 14] = {\n%s\n};\n" % "\n".join(index))


main()
