"""Half a processor: a competitor spins on the one that this program may use. Work is split 3 to 1 by the thread's
own processor time, which is printed: `{"heavy": s, "light": s}`. The spinner ends with us."""
import json
import os
import sys
import time


def heavy(until):
    x = 0
    while time.thread_time() < until:
        for i in range(2000):
            x += i * i
    return x


def light(until):
    x = 0
    while time.thread_time() < until:
        for i in range(2000):
            x += i * i
    return x


def spin(parent):
    while os.getppid() == parent:
        for _ in range(10000):
            pass


def main(seconds):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    parent = os.getpid()
    child = os.fork()
    if not child:
        spin(parent)
        os._exit(0)
    took, begin = {"heavy": 0.0, "light": 0.0}, time.thread_time()
    while time.thread_time() - begin < seconds:
        for name, work, share in (("heavy", heavy, 0.03), ("light", light, 0.01)):
            before = time.thread_time()
            work(before + share)
            took[name] += time.thread_time() - before
    os.kill(child, 9)
    os.waitpid(child, 0)
    print(json.dumps(took))


main(float(sys.argv[1]))
