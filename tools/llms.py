#!/usr/bin/env python3
"""llms.txt (llmstxt.org): the pages of docs/ with the first sentence of each, for programs that read documentation.

    tools/llms.py             writes llms.txt; `make docs` calls it
    tools/llms.py --print
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SECTIONS = [("Tasks", ["docs/guide", "docs/workflows.md"]), ("Commands and formats", ["docs", "docs/formats"]),
            ("For agents", ["agent/neurolens/SKILL.md", "agent/neurolens/references"]), ("Internals", ["CONTRIBUTING.md", "src"])]
MOST = 200  # characters of a summary


def pages(place):
    path = os.path.join(ROOT, place)
    if place.endswith(".md"):
        return [place]
    if place == "src":
        return sorted(os.path.join(place, room, "README.md") for room in os.listdir(path))
    return sorted(os.path.join(place, name) for name in os.listdir(path) if name.endswith(".md") and name != "README.md")


def summary(text):
    """The first sentence of the first paragraph that is text, without its marks."""
    for paragraph in re.sub(r"^---\n.*?\n---\n", "", text, flags=re.S).split("\n\n"):
        if re.match(r"[A-Za-z`*]", paragraph):
            plain = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", " ".join(paragraph.split()))
            sentence = re.match(r".*?\.(?= |$)", plain)
            sentence = (sentence.group(0) if sentence else plain).rstrip(":.")
            return sentence if len(sentence) <= MOST else sentence[:MOST].rsplit(" ", 1)[0] + " …"
    return ""


def made():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        lines = ["# NeuroLens", "", "> " + re.search(r"\*\*(.*?)\*\*(.*?)\n\n", file.read(), re.S).group(0).replace("*", "").strip().replace("\n", " ")]
    listed = set()
    for title, places in SECTIONS:
        lines += ["", "## " + title, ""]
        for page in [page for place in places for page in pages(place) if page not in listed]:
            listed.add(page)
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = file.read()
            heading = re.search(r"^# (.+)$", text, re.M)
            told = summary(text)
            lines.append("- [%s](%s)%s" % (heading.group(1) if heading else page, page, ": " + told if told else ""))
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(made())
    else:
        with open(os.path.join(ROOT, "llms.txt"), "w", encoding="utf-8") as file:
            file.write(made())


main()
