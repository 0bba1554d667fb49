#!/usr/bin/env python3
"""Links of the pages lead somewhere, every page has a place in the menu of the site, and the recipe for containers is one that may be built. `make
site` renders the pages, and looks at every link of the result; `make container-test` carries the recipe out.

    tests/website.py
"""
import os
import sys

from harness import ROOT, Tally

sys.path.insert(0, os.path.join(ROOT, "tools"))
import container  # noqa: E402
import website  # noqa: E402

tally = Tally("website")
count, links, wrong = website.dead_in_repository()
tally.check("%d links of %d pages lead somewhere" % (links, count), count > 60 and links > 150 and not wrong, "\n".join(wrong))
made = website.anchors("# A `code` [link](x.md), twice\n## Twice\n## Twice\n```\n# no heading\n```\n")
tally.check("headings have the places that GitHub gives them", made == {"a-code-link-twice", "twice", "twice-1"}, made)
missing = [name for name in website.tracked() if name.startswith("docs/") and name.endswith(".md") and
           name not in [page for _, found in website.pages(website.tracked()) for page in found]]
tally.check("every page is in the menu", not missing, missing)
tally.check("the recipe for containers: a fixed system, and a user without rights", container.steps()[0][0] == "FROM")
refused = 0
for text in ("FROM debian\nUSER 1\nENTRYPOINT [\"x\"]\n", "FROM debian:1\nRUN true\nENTRYPOINT [\"x\"]\n", "FROM debian:1\nRUN a\nUSER 1\nRUN b\nENTRYPOINT [\"x\"]\n",
             "FROM debian:1\nRUN a\nUSER 1\nENTRYPOINT x\n", "FROM debian:1\nADD http://x /\n"):
    try:
        container.steps(text)
    except ValueError:
        refused += 1
tally.check("... and recipes that are not are refused", refused == 5, refused)
tally.finish()
