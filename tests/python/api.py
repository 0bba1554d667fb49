"""Everything of the package once, in counts that tests/python/run.py knows."""
import asyncio
import threading

import nlens

ROUNDS = 100


@nlens.profile_function
def work(number):
    return number + 1


@nlens.profile_function(name="renamed", category="kind")
def other():
    return None


class Thing:
    @nlens.scope("method")
    def method(self):
        return self

    @nlens.scope("static")
    @staticmethod
    def static():
        return 1


@nlens.scope("items")
def items(count):
    for number in range(count):
        yield number


@nlens.scope("task")
async def task(number):
    await asyncio.sleep(0.001 * number)
    with nlens.scope("inside"):
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
    with nlens.step():
        with nlens.layer("encoder"):
            with nlens.scope("inner", category="kind"):
                assert work(index) == index + 1
        nlens.counter("queue", index, unit="items")
other()
assert Thing().method() and Thing.static() == 1
assert list(items(5)) == list(range(5))
nlens.mark_event("point", "kind")
nlens.mark_event("lone \udc80")
number = nlens.range_start("range", lane="a lane")
nlens.range_end(number)

with nlens.timed("timed") as timer:
    pass
assert timer.seconds is not None and timer.seconds >= 0
try:
    with nlens.scope("raises"):
        raise KeyError("through")
except KeyError:
    pass
for wrong in (lambda: nlens.scope(), lambda: nlens.scope(3), lambda: nlens.scope("a", nothing=1),
              lambda: nlens.counter("a", "b"), lambda: nlens.step(-1), lambda: nlens.scope("a")(3)):
    try:
        wrong()
    except (TypeError, ValueError):
        continue
    raise AssertionError("not refused")

recursive(20, nlens.scope("recursive"))
shared = nlens.scope("shared")
threads = [threading.Thread(target=many, args=(shared,), name="worker %d" % n) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert asyncio.run(tasks()) == [3, 1, 2]
print("done", nlens.is_recording())
