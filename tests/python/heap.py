"""Blocks of known sizes in steps and layers, a tenth of a gigabyte at most."""
import threading

import nlens

MB = 1_000_000


def keep_for_a_while():
    with nlens.layer("thread"):
        block = bytearray(30 * MB)
        del block


with nlens.layer("floor"):
    pass
with nlens.step():
    with nlens.layer("large"):
        block = bytearray(20 * MB)
        other = bytearray(30 * MB)
        del block, other
    with nlens.layer("small"):
        objects = [b"%250d" % number for number in range(65000)]
        del objects
    thread = threading.Thread(target=keep_for_a_while)
    thread.start()
    thread.join()
with nlens.layer("after"):
    pass


def nest(depth):
    with nlens.layer("deep"):
        if depth > 1:
            nest(depth - 1)


nest(70)
