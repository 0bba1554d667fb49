"""What a program can see of being watched, and how long it takes for a fixed piece of work."""
import json
import os
import sys
import time


def work(rounds):
    total = 0
    for number in range(rounds):
        total += number % 7 * len(str(number))
    return total


def tracer():
    with open("/proc/self/status", encoding="ascii") as status:
        return [line.split()[1] for line in status if line.startswith("TracerPid")][0]


before = time.process_time()
result = [work(int(sys.argv[1])) for _ in range(5)]
took = time.process_time() - before
print(json.dumps({"took": took, "sees": {
    "result": result, "tracer": tracer(), "trace": repr(sys.gettrace()), "profile": repr(sys.getprofile()),
    "modules": sorted(name for name in sys.modules if "neurolens" in name or "nlens" in name or name == "sitecustomize"),
    "variables": sorted(name for name in os.environ if name.startswith(("PYTHON", "NEUROLENS_PYTHON")))}}))
