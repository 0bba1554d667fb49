"""Everything of the package once, in counts that tests/python.py knows."""
import asyncio
import threading

import neurolens

ROUNDS = 100


@neurolens.profile_function
def work(number):
    return number + 1


@neurolens.profile_function(name="renamed", category="kind")
def other():
    return None


class Thing:
    @neurolens.scope("method")
    def method(self):
        return self

    @neurolens.scope("static")
    @staticmethod
    def static():
        return 1


@neurolens.scope("items")
def items(count):
    for number in range(count):
        yield number


@neurolens.scope("task")
async def task(number):
    await asyncio.sleep(0.001 * number)
    with neurolens.scope("inside"):
        await asyncio.sleep(0.001)
    return number


async def tasks():
    return await asyncio.gather(task(3), task(1), task(2))


def recursive(depth, shared):
    with shared:
        if depth:
            recursive(depth - 1, shared)


def many(shared):
    for _ in range(ROUNDS):
        with shared:
            work(1)


for index in range(ROUNDS):
    with neurolens.step():
        with neurolens.layer("encoder"):
            with neurolens.scope("inner", category="kind"):
                assert work(index) == index + 1
        neurolens.counter("queue", index, unit="items")
other()
assert Thing().method() and Thing.static() == 1
assert list(items(5)) == list(range(5))
neurolens.mark_event("point", "kind")
neurolens.mark_event("lone \udc80")
number = neurolens.range_start("range", lane="a lane")
neurolens.range_end(number)

with neurolens.timed("timed") as timer:
    pass
assert timer.seconds is not None and timer.seconds >= 0
try:
    with neurolens.scope("raises"):
        raise KeyError("through")
except KeyError:
    pass
for wrong in (lambda: neurolens.scope(), lambda: neurolens.scope(3), lambda: neurolens.scope("a", nothing=1),
              lambda: neurolens.counter("a", "b"), lambda: neurolens.step(-1), lambda: neurolens.scope("a")(3)):
    try:
        wrong()
    except (TypeError, ValueError):
        continue
    raise AssertionError("not refused")

recursive(20, neurolens.scope("recursive"))
shared = neurolens.scope("shared")
threads = [threading.Thread(target=many, args=(shared,), name="worker %d" % n) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert asyncio.run(tasks()) == [3, 1, 2]
print("done", neurolens.is_recording())
