"""Calls of many kinds, for the comparison with cProfile: calls.py [cprofile]."""
import sys
import threading


def leaf(number):
    return number


def fibonacci(number):
    return number if number < 2 else fibonacci(number - 1) + fibonacci(number - 2)


def generator(count):
    for number in range(count):
        yield number


def delegating(count):
    return (yield from generator(count))


def raising():
    raise ValueError


async def coroutine(number):
    return leaf(number)


def recursive(number):
    return recursive(number - 1) + 1 if number else 0


def work():
    for number in range(100):
        leaf(number)
    fibonacci(12)
    assert sum(generator(10)) == sum(delegating(10))
    for _ in range(5):
        try:
            raising()
        except ValueError:
            pass
    closed = generator(5)
    next(closed)
    closed.close()
    thrown = generator(5)
    next(thrown)
    try:
        thrown.throw(KeyError)
    except KeyError:
        pass
    try:
        coroutine(1).send(None)
    except StopIteration:
        pass
    assert recursive(200) == 200
    assert sorted(range(10), key=lambda number: -number)[0] == 9


def main():
    if sys.argv[1:] != ["cprofile"]:
        work()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return
    import cProfile
    import pstats
    profile = cProfile.Profile()
    profile.runcall(work)
    for (file, line, _), (_, calls, *_) in pstats.Stats(profile).stats.items():
        if file == __file__:
            print(line, 2 * calls)


main()
