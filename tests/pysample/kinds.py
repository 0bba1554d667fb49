"""All that can be on a stack: threads, tasks, generators, functions written in C, names that are not ASCII, code
that was made at run time. Each part runs for a while of its own."""
import asyncio
import sys
import threading
import time
import zlib

PART = float(sys.argv[1])
DATA = bytes(range(256)) * 4096


def spin(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


class Model:
    class Layer:
        def forward(self):
            spin(PART)

    def größe(self):
        spin(PART)

    def 大きさ(self):
        spin(PART)


def in_c():
    end = time.perf_counter() + PART
    while time.perf_counter() < end:
        zlib.compress(DATA, 9)  # the line that is looked for


def numbers():
    while True:
        spin(PART / 4)
        yield 1


def takes_numbers():
    for _, _ in zip(range(4), numbers()):
        pass


async def inner():
    spin(PART / 2)
    await asyncio.sleep(0)
    spin(PART / 2)


async def outer():
    await inner()


def worker():
    spin(PART)


def sleeper():
    time.sleep(PART)


def threads():
    several = [threading.Thread(target=worker, name="spins"), threading.Thread(target=sleeper, name="sleeps")]
    for thread in several:
        thread.start()
    for thread in several:
        thread.join()


MADE = "def made_at_run_time():\n    spin(PART)\n"

Model.Layer().forward()
Model().größe()
Model().大きさ()
in_c()
takes_numbers()
asyncio.run(outer())
threads()
exec(compile(MADE, "<made in a test>", "exec"))
made_at_run_time()  # noqa: F821
(lambda: spin(PART))()
