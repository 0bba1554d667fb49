#!/usr/bin/env python3
"""Puts what comes on the standard input, wrapped, between two marks of a page, which stays else as it is.

    build/neurolens schema analyses | tools/fill.py docs/analysis.md analyses
    build/neurolens schema analyses | tools/fill.py --check docs/analysis.md analyses    changes nothing; fails where it would

The marks are `<!-- NAME: … -->` and `<!-- end of NAME -->`, each on a line of its own."""
import re
import sys

import wrap

check = "--check" in sys.argv
page, name = [word for word in sys.argv[1:] if word != "--check"]
with open(page, encoding="utf-8") as file:
    text = file.read()
content = wrap.wrap(sys.stdin.read())[0]
made, count = re.subn(r"(<!-- %s: .*?-->\n).*?(<!-- end of %s -->\n)" % (name, name), lambda m: m.group(1) + content + m.group(2), text, flags=re.S)
if count != 1:
    sys.exit("%s has no place for %s" % (page, name))
if made != text and check:
    sys.exit("%s: run `make docs`" % page)
if made != text:
    with open(page, "w", encoding="utf-8") as file:
        file.write(made)
