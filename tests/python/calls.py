"""Calls of many kinds, for the comparison with cProfile: calls.py [cprofile [C]]."""
import re
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


class Words(list):
    pass


def of_c(number):
    words = Words()
    for one in range(number):
        words.append(one)
    words.sort(key=lambda one: -one)
    try:
        words.index("absent")
    except ValueError:
        pass
    return len(words) + len("a b c".split()) + len(dict.fromkeys(words)) + "".join(map(str, words)).count("1")


def work():
    assert of_c(30) == 76
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
    if sys.argv[1:2] != ["cprofile"]:
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
        if file == __file__ and len(sys.argv) == 2:
            print(line, 2 * calls)
    if len(sys.argv) > 2:
        tell_c(pstats.Stats(profile))


def tell_c(stats):
    """C functions that were called from here, by the names that recordings give them."""
    found = {}
    for (_, _, name), (_, _, _, _, callers) in stats.stats.items():
        calls = sum(count for (file, _, _), (count, *_) in callers.items() if file == __file__)
        method = re.match(r"<method '(.*)' of '(.*)' objects>", name)
        function = re.match(r"<built-in method (.*)>", name)
        if calls and (method or function):
            key = "%s.%s" % (method.group(2), method.group(1)) if method else function.group(1)
            key = "dict.fromkeys" if key == "fromkeys" else key
            found[key] = found.get(key, 0) + 2 * calls
    for name, calls in sorted(found.items()):
        print(name, calls)


main()
