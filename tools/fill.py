#!/usr/bin/env python3
"""Puts what comes on the standard input between two marks of a page, which stays else as it is.

    build/neurolens schema analyses | tools/fill.py docs/analysis.md analyses

The marks are `<!-- NAME: … -->` and `<!-- end of NAME -->`, each on a line of its own."""
import re
import sys

page, name = sys.argv[1:3]
with open(page, encoding="utf-8") as file:
    text = file.read()
made, count = re.subn(r"(<!-- %s: .*?-->\n).*?(<!-- end of %s -->\n)" % (name, name),
                      lambda m: m.group(1) + sys.stdin.read() + m.group(2), text, flags=re.S)
if count != 1:
    sys.exit("%s has no place for %s" % (page, name))
if made != text:
    with open(page, "w", encoding="utf-8") as file:
        file.write(made)
