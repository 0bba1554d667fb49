"""Files with a byte or a token gone, twice, another, or cut off behind it, at places all over them: more of what variants.py does, for which one
checksum of what is read is kept each.

    nibbled(name, bytes)   (changed bytes, whether they are analysed) of EACH changed files, the same ones in every run; of texts
                           also NUMBERS with a number at the end of what fits
"""
import re
import zlib

EACH = 80
NUMBERS = 40
ENDS = [b"0", b"-1", b"1", b"0.5", b"1e-9", b"2147483648", b"4294967295", b"4611686018427387904", b"9223372036854775807", b"9223372036854775808", b"18446744073709551615",
        b"1e19", b"1e308", b"1e999", b"00", b"1000000000000000"]
TOKEN = re.compile(rb"[A-Za-z_]+|\d+|\\u?[0-9A-Fa-f\\\"]+|\s+|[^\sA-Za-z_0-9]")
MAX_TOKENS = 4000  # of which places are picked


def is_text(data):
    return b"\0" not in data[:4096]


def spans(data):
    """(start, end) of what is changed: tokens of texts, single bytes of others."""
    if is_text(data):
        found = []
        for match in TOKEN.finditer(data):
            found.append(match.span())
            if len(found) == MAX_TOKENS:
                break
        return found
    return [(at, at + 1) for at in range(len(data)) if data[at] or at % 16 == 0]


def at_ends(name, data, places):
    """Numbers of a text, spread evenly over it, each another of ENDS."""
    numbers = [(a, b) for a, b in places if data[a:b].isdigit()]
    first = zlib.crc32(name[::-1].encode())
    for k in range(NUMBERS if numbers else 0):
        a, b = numbers[(first + k * len(numbers) // NUMBERS + k % 3) % len(numbers)]
        yield data[:a] + ENDS[(first + k) % len(ENDS)] + data[b:]


def number(token):
    """A number beside a number, else a letter more."""
    return b"%d" % (int(token) + 1) if token.isdigit() and len(token) < 18 else token + token[-1:]


CHANGES = [lambda data, a, b: data[:a] + data[b:], lambda data, a, b: data[:b] + data[a:], lambda data, a, b: data[:b], lambda data, a, b: data[:a + 1],
           lambda data, a, b: data[:a] + data[a + 1:], lambda data, a, b: data[:a] + number(data[a:b]) + data[b:],
           lambda data, a, b: data[:a] + bytes([(data[a] + 1) % 256]) + data[a + 1:], lambda data, a, b: data[:b - 1] + bytes([(data[b - 1] - 1) % 256]) + data[b:],
           lambda data, a, b: data[:a] + b"0" + data[b:]]


def nibbled(name, data):
    places = spans(data)
    if not places:
        return
    first = zlib.crc32(name.encode())
    for k in range(EACH):
        # Spread evenly over the file, from another place in each; every change meets every part of it.
        a, b = places[(first + k * len(places) // EACH + k % 5) % len(places)]
        yield CHANGES[(first + k) % len(CHANGES)](data, a, b), False
    if is_text(data):
        yield from ((changed, k % 4 == 0) for k, changed in enumerate(at_ends(name, data, places)))
