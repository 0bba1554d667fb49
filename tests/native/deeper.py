"""Takes about as many seconds of a processor as asked, nearly all of them in innermost(), which inner() calls for outer()."""
import os
import sys
import time


def innermost(rounds):
    total = 0
    for number in range(rounds):
        total += number * number
    return total


def inner(rounds):
    return innermost(rounds) + 1


def outer(seconds):
    end = time.process_time() + seconds  # on a busy machine the start would weigh more
    while time.process_time() < end:
        inner(20000)


print(os.getpid(), flush=True)
outer(float(sys.argv[1]))
