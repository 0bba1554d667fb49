"""As shares.py, but each function is made before its call and thrown away after it, so that the one's code lies where
the other's was, called from the same place."""
import json
import sys
import time
import types


def template(until):
    while clock() < until:  # noqa: F821
        pass


def main(seconds):
    took, places = {"heavy": 0.0, "light": 0.0}, {"heavy": set(), "light": set()}
    space = {"clock": time.perf_counter}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, length in (("heavy", 0.003), ("light", 0.001)):
            names = {"co_name": name, "co_qualname": name} if sys.version_info >= (3, 11) else {"co_name": name}
            function = types.FunctionType(template.__code__.replace(**names), space)
            places[name].add(id(function.__code__))
            before = time.perf_counter()
            function(before + length)
            took[name] += time.perf_counter() - before
            del function
    print("%d places of both" % len(places["heavy"] & places["light"]), file=sys.stderr)
    print(json.dumps(took))


main(float(sys.argv[1]))
