"""Tables of lines of the standard library's code objects, with what the interpreter itself says of them:
"FORMAT FIRST HEX", then "AT LINE" for each instruction (0 = no line), then ".". For pylinescheck."""
import dis
import importlib
import sys
import types

FORMAT = 0 if sys.version_info < (3, 10) else 1 if sys.version_info < (3, 11) else 2


def codes(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes(constant)


def lines_of(code):
    if FORMAT:
        for begin, end, line in code.co_lines():
            for at in range(begin, end, 2):
                yield at, line or 0
        return
    line, starts = code.co_firstlineno, dict(dis.findlinestarts(code))
    for at in range(0, len(code.co_code), 2):
        line = starts.get(at, line)
        yield at, line


for name in ("ast", "asyncio.base_events", "argparse", "dataclasses", "inspect", "json.decoder", "typing", "tarfile"):
    with open(importlib.import_module(name).__file__, encoding="utf-8") as file:
        whole = compile(file.read(), name, "exec")
    for code in codes(whole):
        table = code.co_linetable if FORMAT else code.co_lnotab
        print(FORMAT, code.co_firstlineno, table.hex() or "-")
        for at, line in lines_of(code):
            print(at, line)
        print(".")
