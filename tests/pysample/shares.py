"""Two functions that burn processor time, one three times as often; says what each took as it saw it."""
import json
import sys
import time


def burn(until):
    count = 0
    while time.perf_counter() < until:
        count += 1
    return count


def heavy():
    burn(time.perf_counter() + 0.003)


def light():
    burn(time.perf_counter() + 0.001)


def main(seconds):
    took = {"heavy": 0.0, "light": 0.0}
    end = time.perf_counter() + seconds
    print("ready", flush=True)
    while time.perf_counter() < end:
        for function in (heavy, light):
            before = time.perf_counter()
            function()
            took[function.__name__] += time.perf_counter() - before
    print(json.dumps(took))


main(float(sys.argv[1]))
