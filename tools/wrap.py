#!/usr/bin/env python3
"""Wraps the prose of Markdown pages at 100 columns; `make format` does so with every page.

    tools/wrap.py FILE…           paragraphs and list items with a longer line are wrapped anew
    tools/wrap.py --check FILE…   names such lines instead; the status is 1 where there are any
    tools/wrap.py < PAGE          writes the page, wrapped, to the standard output

Tables, headings, code, HTML, quotes and what a program makes (between `<!-- NAME: made … -->` and `<!-- end of NAME -->`)
stay as they are, and so does a word that is longer than a line. Code between backticks is a word. What is wrapped
means the same: a word that would begin a list, a heading or a quote never begins a line."""
import re
import sys

WIDTH = 100
ITEM = re.compile(r"( *)([-*+]|\d+[.)])( +)(?=\S)")
OTHER = re.compile(r" *(\||#|<|>|```|~~~|\[[^\]]+\]: )|\s*$")  # begins no paragraph, and ends one
BLOCK = re.compile(r"([-+*>|]|#+|=+|-+|\d+[.)])$|```|~~~|\||>")
MADE = re.compile(r"<!-- ([^:]+): made .*?-->\n.*?<!-- end of \1 -->", re.S)


def words_of(text):
    """Split at spaces, but not inside code; a word that begins a block stays with the one before."""
    words = []
    for word in re.findall(r"(?:`+[^`]*`+|\S)+", text):
        if words and BLOCK.match(word):
            words[-1] += " " + word
        else:
            words.append(word)
    return words


def wrapped(first, rest, text):
    """Lines of a paragraph: `first` stands before the first line, `rest` before the others."""
    lines, line = [], first
    for word in words_of(text):
        empty = not line.strip() or line == first
        if not empty and len(line) + 1 + len(word) > WIDTH:
            lines.append(line)
            line, empty = rest, True
        line += word if empty else " " + word
    return lines + [line]


def front_matter(lines):
    """The line behind what a page says about itself in YAML; 0 where it says nothing."""
    return lines.index("---", 1) + 1 if lines[0] == "---" and "---" in lines[1:] else 0


def paragraphs(lines):
    """(begin, end, first, rest) of each paragraph and list item."""
    fence, inside, begin, after_blank = None, 0, front_matter(lines), True
    while begin < len(lines):
        line = lines[begin]
        mark = re.match(r" *(```|~~~)", line)
        item = ITEM.match(line)
        indent = len(line) - len(line.lstrip(" "))
        if mark:
            fence = None if fence == mark.group(1) else fence or mark.group(1)
        if line.strip() and not item and indent < inside and after_blank:
            inside = 0
        code = after_blank and indent >= inside + 4
        if fence or mark or code or OTHER.match(line):
            after_blank = code or not line.strip()
            begin += 1
            continue
        if item:
            inside = len(item.group(0))
        first = item.group(0) if item else " " * indent
        end = begin + 1
        while end < len(lines) and not OTHER.match(lines[end]) and not ITEM.match(lines[end]) and not lines[end - 1].endswith(("  ", "\\")):
            end += 1
        yield begin, end, first, " " * (len(item.group(0)) if item else indent)
        begin, after_blank = end, False


def too_long(lines, kept):
    """Paragraphs with a line that can be shorter."""
    for begin, end, first, rest in paragraphs(lines):
        if any(len(line) > WIDTH for line in lines[begin:end]) and not any(i in kept for i in range(begin, end)):
            text = " ".join([lines[begin][len(first):]] + [line.strip() for line in lines[begin + 1:end]])
            new = wrapped(first, rest, text)
            if new != lines[begin:end]:
                yield begin, end, new


def wrap(text):
    """The text wrapped, and the numbers of the lines where a paragraph that was too long began."""
    lines = text.split("\n")
    kept = {n for made in MADE.finditer(text) for n in range(text.count("\n", 0, made.start()), text.count("\n", 0, made.end()) + 1)}
    found = list(too_long(lines, kept))
    for begin, end, new in reversed(found):
        lines[begin:end] = new
    return "\n".join(lines), [begin + 1 for begin, _, _ in found]


def main():
    paths = [word for word in sys.argv[1:] if word != "--check"]
    if not paths:
        sys.stdout.write(wrap(sys.stdin.read())[0])
    bad = False
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text, found = wrap(file.read())
        if "--check" in sys.argv:
            bad |= bool(found)
            for line in found:
                print("%s:%d: prose of more than %d columns (`make format` wraps it)" % (path, line, WIDTH))
        elif found:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    sys.exit(bad)


if __name__ == "__main__":
    main()
