#!/usr/bin/env python3
"""The answer that README.md shows is the one that the program gives: its lines, in their order; […] stands for what is left out."""
import os
import re

from harness import FIXTURES, ROOT, Tally, neurolens

tally = Tally("readme")
with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
    shown = re.search(r"^```\n\$ neurolens (analyze \S+)\n(.*?)^```", file.read(), re.M | re.S)
if tally.check("there is an answer", shown, "no block that begins with $ neurolens analyze"):
    said = neurolens(shown[1].split(), cwd=FIXTURES).stdout.splitlines()
    at, unsaid = 0, []
    for line in shown[2].splitlines():
        if line in said[at:]:
            at += said[at:].index(line) + 1
        elif line not in ("", "[…]"):
            unsaid.append(line)
    tally.check("it is the program's", at > 5 and not unsaid, "not in the answer, or not in this place:\n" + "\n".join(unsaid))
tally.finish()
