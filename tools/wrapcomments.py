#!/usr/bin/env python3
"""Wraps comments of C at 100 columns; `make format` does so with every file.

    tools/wrapcomments.py FILE…           comments that stand alone and have a longer line are wrapped anew
    tools/wrapcomments.py --check FILE…   names such lines instead; the status is 1 where there are any

Of a comment only the paragraphs are wrapped that have a line that is too long. Lines that are indented, that begin a list or hold
columns (two spaces between words) stay as they are. A comment after code that makes its line too long moves above it."""
import re
import sys

WIDTH = 100
MIN_AT_END = 24  # letters of the last line, where the lines above can be narrower for it
ALONE = re.compile(r"^( *)/\*(?!!)((?:(?!\*/).)*?)\*/[ \t]*$", re.M | re.S)
AS_IT_IS = re.compile(r"\s{2,}|[-+|]|\d+[.)] |----|$|.*\S {2,}\S")

# A declaration or statement and a comment after it; clang-format splits what is too long between type and name.
AFTER = re.compile(r"^( +)((?:const )?(?:unsigned |struct |enum )?\w+(?: \*+)?\n +)?(?! )((?!return\b|/\*|\*)[^\n/\"]*[;,]) ?/\*((?:(?!\*/).)*?)\*/[ \t]*$",
                   re.M | re.S)


def lifted(match):
    """The comment above what it is after, where they do not fit one line; a type and its name on one line again."""
    indent, split, code, body = match.groups()
    if split and not re.fullmatch(r"[\w*]+[\w*\[\], ]*[;,]", code):
        return match.group(0)
    whole = match.group(0).split("\n")
    if not split and all(len(line) <= WIDTH for line in whole):
        return match.group(0)
    text = " ".join(re.sub(r"^ *\*? ?", "", line).strip() for line in body.split("\n")).strip()
    declared = (" ".join(split.split()) + " " + code).replace("* ", "*") if split else code
    if len(indent + declared + " /* " + text + " */") <= WIDTH:
        return "%s%s /* %s */" % (indent, declared, text)
    return "%s/* %s */\n%s%s" % (indent, text, indent, declared)


def balanced(text, first, rest, room_at_end):
    """The same number of lines, without a last one of a word or two where narrower ones leave more for it."""
    lines = wrapped(text, first, rest, room_at_end, WIDTH)
    for width in range(WIDTH - 1, WIDTH - 25, -1):
        if len(lines) == 1 or len(lines[-1]) - len(rest) >= MIN_AT_END:
            break
        narrower = wrapped(text, first, rest, room_at_end, width)
        if len(narrower) > len(lines):
            break
        lines = narrower
    return lines


def wrapped(text, first, rest, room_at_end, width):
    """Lines of a paragraph; the last one leaves `room_at_end` columns free."""
    lines, line = [], first
    words = text.split()
    for place, word in enumerate(words):
        limit = width - (room_at_end if place == len(words) - 1 else 0)
        begun = line != rest and line != first
        if begun and len(line) + 1 + len(word) > limit:
            lines.append(line)
            line, begun = rest, False
        line += " " + word if begun else word
    return lines + [line]


def rewrapped(match):
    """The comment with its long paragraphs wrapped, or as it is."""
    indent, body = match.group(1), match.group(2)
    if all(len(line) <= WIDTH for line in match.group(0).split("\n")):
        return match.group(0)
    rest = indent + " * "
    lines = body.split("\n")
    open_line = not lines[0].strip()  # "/*" stands alone
    closed_line = len(lines) > 1 and not lines[-1].strip()
    texts = [lines[0].strip() if not open_line else ""] + [re.sub(r"^ *\*? ?", "", line).rstrip() for line in lines[1:]]
    texts = texts[int(open_line):len(texts) - int(closed_line)]
    out, place = [indent + "/*"] if open_line else [], 0
    while place < len(texts):
        end = place + 1
        first = indent + "/* " if place == 0 and not open_line else rest
        if AS_IT_IS.match(texts[place]):
            out.append((first + texts[place]).rstrip())
            place = end
            continue
        while end < len(texts) and not AS_IT_IS.match(texts[end]):
            end += 1
        paragraph, is_last = texts[place:end], end == len(texts) and not closed_line
        if any(len(rest + each) + 3 * is_last > WIDTH for each in paragraph):
            out += balanced(" ".join(paragraph), first, rest, 3 * is_last)
        else:
            out += [(first if i == 0 else rest) + each for i, each in enumerate(paragraph)]
        place = end
    return "\n".join(out) + (("\n" + indent + " */") if closed_line else " */")


def wrap(text):
    """The text of a file with its comments wrapped."""
    return ALONE.sub(rewrapped, AFTER.sub(lifted, text))


def main():
    bad = False
    for path in [word for word in sys.argv[1:] if word != "--check"]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        new = wrap(text)
        if new == text:
            continue
        if "--check" in sys.argv:
            bad = True
            print("%s: a comment of more than %d columns (`make format` wraps it)" % (path, WIDTH))
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(new)
    sys.exit(bad)


if __name__ == "__main__":
    main()
