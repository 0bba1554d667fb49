"""Recursion so deep, then work at the bottom."""
import sys
import threading
import time


def down(levels):
    if levels:
        return down(levels - 1)
    end = time.perf_counter() + float(sys.argv[2])
    while time.perf_counter() < end:
        pass
    return 0


threading.stack_size(256 << 20)
sys.setrecursionlimit(100000)
thread = threading.Thread(target=down, args=(int(sys.argv[1]),))
thread.start()
thread.join()
