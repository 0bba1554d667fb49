#!/usr/bin/env python3
"""embed.py IN OUT NAME: a file as the C array `const char NAME[]` (and a NUL), for the build."""
import sys


def main():
    source, out, name = sys.argv[1:4]
    with open(source, "rb") as file:
        data = file.read() + b"\0"
    with open(out, "w", encoding="ascii") as file:
        file.write("extern const char %s[];\nconst char %s[] = {\n" % (name, name))
        for at in range(0, len(data), 20):
            file.write("    %s,\n" % ", ".join(str(b if b < 128 else b - 256)
                                               for b in data[at:at + 20]))
        file.write("};\n")


main()
