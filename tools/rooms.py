#!/usr/bin/env python3
"""Lists in the README.md of each room, and of python/, the files that nothing in the page names, with the first words of their heads.

    tools/rooms.py            adds what is missing, takes out what is gone; leaves the other lines as they are
    tools/rooms.py --check    says what is missing or gone, also in the first column of tables of modules or files (`make lint`)

A page names a file without its ending, in backquotes; `cause_*` stands for all that begin so. Files of one name are one module."""
import fnmatch
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = "## Other files\n"
ENDINGS = (".h", ".c", ".def", ".py")
MOST = 110  # letters of what a line says


def rooms():
    """The folders that have such a page."""
    return sorted(os.path.join("src", name) for name in os.listdir("src") if os.path.isdir(os.path.join("src", name))) + ["python"]


def modules(room):
    """{name: its paths} of a room."""
    found = {}
    for folder, _, names in sorted(os.walk(room)):
        for name in names:
            if name.endswith(ENDINGS):
                found.setdefault(name.rsplit(".", 1)[0], []).append(os.path.join(folder, name))
    return found


def words_of(paths):
    """What the head of a module says it is, as far as the first sentence or its end of a thought goes."""
    for path in sorted(paths, key=lambda each: ENDINGS.index(os.path.splitext(each)[1])):
        with open(path, encoding="utf-8") as file:
            match = re.match(r'\s*(?:/\*|""")(.*?)(?:\*/|""")', file.read(), re.S)
        if match:
            text = re.sub(r"\s*\n\s*\*?\s*", " ", match.group(1).split("\n *\n")[0].split("\n\n")[0]).strip()
            text = re.sub(r"^[\w.(), /\"]{1,60} — ", "", text)
            text = re.split(r"(?<=[a-z)`])\.(?:\s|$)|[;:]\s", text)[0].strip()
            while len(text) > MOST and "," in text:
                text = text.rpartition(",")[0]
            return text if len(text) <= MOST else text[:MOST].rpartition(" ")[0] + " …"
    return ""


def named(text):
    """Names and patterns in backquotes, without endings."""
    return {re.sub(r"\.(?:c|h|def|py)$", "", os.path.basename(each)) for each in re.findall(r"`([\w./*…]+)`", text)}


def split(text):
    """The page, and the lines of its list: {name: line}."""
    page, _, rest = text.partition(HEAD)
    lines = re.findall(r"^- `(\w+)`.*(?:\n  .*)*", rest, re.M)
    whole = re.findall(r"^- `\w+`.*(?:\n  .*)*", rest, re.M)
    return page, dict(zip(lines, whole))


def wanted(room, page):
    """The modules that the page itself does not name."""
    names = {each.replace("…", "*") for each in named(page)}
    patterns = [each for each in names if "*" in each and len(each) > 3]
    return {name: paths for name, paths in sorted(modules(room).items())
            if name not in names and not any(fnmatch.fnmatchcase(name, each) for each in patterns)}


def strangers(room, page):
    """What first columns of tables of modules or files name in backquotes and no file is called."""
    known, cells = modules(room), []
    for table in re.findall(r"^\| (?:modules?|files?) \|.*\n((?:\|.*\n)*)", page, re.M):
        cells += [line.split("|")[1] for line in table.splitlines()]
    return [each for cell in cells for each in sorted(named(cell)) if re.fullmatch(r"[a-z_]\w*", each) and each not in known]


def main():
    os.chdir(ROOT)
    check = "--check" in sys.argv[1:]
    for room in rooms():
        path = room + "/README.md"
        with open(path, encoding="utf-8") as file:
            text = file.read()
        page, listed = split(text)
        missing = wanted(room, page)
        if check:
            for name in sorted(set(missing) - set(listed)):
                print("%s: does not name %s: run tools/rooms.py" % (path, name))
            if HEAD in text and not listed:
                print("%s: ends with an empty list: run tools/rooms.py" % path)
            for name in strangers(room, page):
                print("%s: no file of %s is called %s" % (path, room, name))
            for name in sorted(set(listed) - set(missing)):
                print("%s: lists %s, which is gone or named above: run tools/rooms.py" % (path, name))
        elif set(missing) != set(listed) or HEAD in text and not listed:
            lines = [listed.get(name) or ("- `%s`: %s" % (name, words_of(paths))).rstrip(": ") for name, paths in missing.items()]
            with open(path, "w", encoding="utf-8") as file:
                file.write(page.rstrip("\n") + "\n" + ("\n%s\n%s\n" % (HEAD, "\n".join(lines)) if lines else ""))
            subprocess.run(["tools/wrap.py", path], check=True)
            print("wrote %s" % path)


main()
