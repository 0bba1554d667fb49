"""Garbage collections of known number, between start() and stop()."""
import gc

import nlens

gc.disable()
nlens.start()
for generation, count in ((0, 5), (1, 3), (2, 2)):
    for _ in range(count):
        gc.collect(generation)
nlens.stop()
