"""Small changes of a file: each member gone or odd, each word another, each column NULL, each field of a message another.

    for name, data in variants(family, path, bytes, seen):

Which changes there are follows from the file alone, never from chance: what could be one of several is picked by the checksum of its name.
`seen` holds, over the files of a family, the places that were changed: what all of them have is changed in the first.
"""
import json
import os
import re
import sqlite3
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "oracle"))
import protowire  # noqa: E402

GONE = object()


def picked(label, options):
    return options[zlib.crc32(label.encode("utf-8", "replace")) % len(options)]


def fresh(seen, place):
    known = place in seen
    seen.add(place)
    return not known


def odd(label, value):
    """Another value in the place of one, of those that make sense for it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        choice = [value + 1, -value - 1, 0, value + 0.5, 2 ** 63, str(value), None, value * 1000]
    elif isinstance(value, str):
        choice = [value + "x", "", 7, None, value.upper(), value[1:]]
    elif value is None:
        return 1
    else:
        return type(value)()
    return picked(label, choice)


# ---- JSON ----

def members(value, path=""):
    """(place, holder, key) of every member and item below a value."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        place = path + ("[]" if isinstance(value, list) else ".%s" % (key if len(key) < 40 else key[:40]))
        yield place, value, key
        yield from members(inner, place)


def shown(value):
    text = "gone" if value is GONE else json.dumps(value, ensure_ascii=True)
    return text if len(text) < 30 else text[:27] + "..."


def with_member(holder, key, value, written):
    """What `written` gives while a member is another one."""
    if isinstance(holder, dict):
        kept = dict(holder)
        if value is GONE:
            del holder[key]
        else:
            holder[key] = value
        data = written()
        holder.clear()
        holder.update(kept)
    else:
        kept = list(holder)
        holder[key:key + 1] = [] if value is GONE else [value]
        data = written()
        holder[:] = kept
    return data


def of_json(family, documents, seen, join):
    places = {}
    for place, holder, key in members(documents):
        places.setdefault(place, []).append((holder, key))
    for place, spots in places.items():
        words = {}
        for holder, key in spots:
            if isinstance(holder[key], str) and len(holder[key]) < 60:
                words.setdefault(holder[key], (holder, key))
        for word, (holder, key) in list(words.items())[:9]:
            if fresh(seen, ("word", place, word)):
                yield "%s %s → %s" % (place, shown(word), shown(word + "x")), with_member(holder, key, word + "x", lambda: join(documents))
        if place == "[]" or not fresh(seen, place):
            continue
        for label in place, place + "!":
            holder, key = picked(label, spots)
            value = GONE if label == place else odd(place, holder[key])
            yield "%s %s → %s" % (place, shown(holder[key]), shown(value)), with_member(holder, key, value, lambda: join(documents))


def parsed(data):
    """The documents of a text and how they are joined again, or None."""
    try:
        return [json.loads(data)], lambda documents: json.dumps(documents[0] if documents else None).encode()
    except ValueError:
        pass
    try:
        return ([json.loads(line) for line in data.splitlines() if line.strip()],
                lambda documents: b"".join(json.dumps(document).encode() + b"\n" for document in documents))
    except ValueError:
        return None


# ---- text ----

TOKEN = re.compile(rb"[A-Za-z_][A-Za-z_0-9]*|\d+(?:\.\d+)?|[^\sA-Za-z_0-9]")


def other_token(token):
    if token[:1].isdigit():
        value = float(token) if b"." in token else int(token)
        choice = [str(value + 1), "-%s" % value, "0", str(value * 1000), "x", "99999999999999999999", ""]
        return picked(token.decode(), choice).encode()
    if token[:1].isalpha() or token[:1] == b"_":
        return picked(token.decode(), [token + b"x", token[1:], token.upper() if token.islower() else token.lower()])
    return picked(token.decode("latin-1"), [b"", b" ", token + token])


def clean(token):
    return token.decode("ascii", "backslashreplace")


def of_text(family, data, seen):
    lines = data.split(b"\n")
    for at in sorted({i * len(lines) // 10 for i in range(10)}):
        yield "line %d gone" % (at + 1), b"\n".join(lines[:at] + lines[at + 1:])
    for at in sorted({i * len(lines) // 4 for i in range(4)}):
        yield "line %d twice" % (at + 1), b"\n".join(lines[:at + 1] + lines[at:])
    yield "cut at two thirds", data[:len(data) * 2 // 3]
    spots = {}
    for match in TOKEN.finditer(data):
        spots.setdefault(match.group(0), []).append(match.start())
    for token, starts in list(spots.items())[:80]:
        if fresh(seen, ("token", token)):
            at, new = picked(clean(token), starts), other_token(token)
            yield "%s at %d → %s" % (clean(token), at, clean(new) or "nothing"), data[:at] + new + data[at + len(token):]


# ---- databases ----

def changed_database(data, statement, values):
    base = sqlite3.connect(":memory:")
    base.deserialize(data)
    try:
        base.execute(statement, values)
        base.commit()
        return base.serialize()
    except sqlite3.Error:
        return None
    finally:
        base.close()


def cells_of(base, table, column):
    """(rowid, value) of some row for which the column is known, else of any; None of an empty table."""
    rows = base.execute('SELECT rowid, "%s" FROM "%s" WHERE "%s" IS NOT NULL' % (column, table, column)).fetchall() or \
        base.execute('SELECT rowid, "%s" FROM "%s"' % (column, table)).fetchall()
    return picked(column, rows) if rows else None


def of_database(family, data, seen):
    base = sqlite3.connect(":memory:")
    base.deserialize(data)
    tables = [row[0] for row in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")]
    for table in tables:
        plain = re.sub("_?[0-9a-f]{8}[0-9a-f_]*$", "", table)  # rocpd's have an id of the run behind their name
        columns = [row[1] for row in base.execute('PRAGMA table_info("%s")' % table)]
        if fresh(seen, plain):
            yield "%s gone" % plain, changed_database(data, 'DROP TABLE "%s"' % table, ())
        for column in columns:
            place = "%s.%s" % (plain, column)
            if not fresh(seen, place):
                continue
            yield "%s gone" % place, changed_database(data, 'ALTER TABLE "%s" RENAME COLUMN "%s" TO "%sx"' % (table, column, column), ())
            try:
                spot = cells_of(base, table, column)
            except sqlite3.Error:  # without rowid
                continue
            if spot is None:
                continue
            old = spot[1] if isinstance(spot[1], (int, float, str)) else None
            for value in dict.fromkeys([None, odd(place, old)]):
                value = min(value, 2 ** 62) if isinstance(value, int) else value
                yield "%s %s → %s" % (place, shown(old), shown(value)), \
                    changed_database(data, 'UPDATE "%s" SET "%s" = ? WHERE rowid = ?' % (table, column), (value, spot[0]))
    base.close()


# ---- protobuf ----

def encoded(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def wire(data):
    """[[number, kind, value]] of a message, messages within as such lists; None when it is none."""
    at, found = 0, []
    try:
        while at < len(data):
            tag, at = protowire.varint(data, at)
            kind, number = tag & 7, tag >> 3
            if not 0 < number < 70000 or kind not in (0, 1, 2, 5):
                return None
            if kind == 0:
                value, at = protowire.varint(data, at)
            else:
                size = 8 if kind == 1 else 4
                if kind == 2:
                    size, at = protowire.varint(data, at)
                value, at = data[at:at + size], at + size
                if at > len(data):
                    return None
            if kind == 2 and value and not re.fullmatch(rb"[\x20-\x7e]{2,}", value):
                value = wire(value) or value
            found.append([number, kind, value])
    except protowire.Damaged:
        return None
    return found


def unwired(fields):
    out = b""
    for number, kind, value in fields:
        out += encoded(number << 3 | kind)
        if kind == 0:
            out += encoded(value)
        elif kind == 2:
            inner = unwired(value) if isinstance(value, list) else value
            out += encoded(len(inner)) + inner
        else:
            out += value
    return out


def spots_of(fields, path=""):
    for at, (number, _, value) in enumerate(fields):
        place = "%s/%d" % (path, number)
        yield place, fields, at
        if isinstance(value, list):
            yield from spots_of(value, place)


def other_fields(place, kind, value):
    if kind == 0:
        choice = [value + 1, 0, (1 << 64) - 1, value * 1000 % (1 << 63), max(value - 1, 0)]
    elif kind == 2:
        return [b""] if isinstance(value, list) else [value + b"x", b""]
    else:
        choice = [bytes(len(value)), b"\xff" * len(value), value[:-1] + bytes([value[-1] ^ 128])]
    at = zlib.crc32(place.encode())
    return [choice[at % len(choice)], choice[(at + 1) % len(choice)]]


def of_message(family, data, seen):
    fields = wire(data)
    places = {}
    for place, holder, at in spots_of(fields):
        places.setdefault(place, []).append((holder, at))
    for place, spots in places.items():
        if not fresh(seen, place):
            continue
        holder, at = picked(place, spots)
        kept = holder[at]
        del holder[at]
        yield "%s gone" % place, unwired(fields)
        holder.insert(at, kept)
        holder, at = picked(place + "!", spots)
        number, kind, old = holder[at]
        for value in other_fields(place, kind, old):
            holder[at] = [number, kind, value]
            was = old if isinstance(old, int) else "a message" if isinstance(old, list) else clean(old[:12]).encode("unicode_escape").decode()
            now = value if isinstance(value, int) else clean(value[:13]).encode("unicode_escape").decode()
            yield "%s %s → %s" % (place, was, now), unwired(fields)
        holder[at] = [number, kind, old]


# ---- other bytes ----

def of_bytes(family, data, seen):
    for at in sorted({i * len(data) // 35 for i in range(35)}):
        while data[at] == 0 and at + 1 < len(data) and at % 8 != 7:  # more is said where something stands
            at += 1
        new = picked("%d" % at, [(data[at] + 1) % 256, (data[at] - 1) % 256, 0, 255, data[at] ^ 128])
        if new != data[at]:
            yield "byte %d: %d → %d" % (at, data[at], new), data[:at] + bytes([new]) + data[at + 1:]
    for part in range(1, 8):
        yield "cut at %d of 8" % part, data[:len(data) * part // 8]


def of_archive(family, data, seen):
    """Every byte of the records, not of what is packed: of ZIP behind each PK, of tar the fields of each header."""
    places = set()
    if data[:2] == b"\x1f\x8b":
        places.update([*range(10), 11, 12, 13, 14, *range(len(data) - 8, len(data))])
    elif b"PK\5\6" in data:
        for match in re.finditer(rb"PK(?:\x01\x02|\x03\x04|\x05\x06|\x06\x06|\x06\x07|\x07\x08)", data):
            places.update(range(match.start(), match.start() + 50))
    else:
        for start in range(0, len(data), 512):
            if data[start + 257:start + 262] == b"ustar":
                places.update(start + at for at in (0, 5, 100, 107, 124, 130, 134, 135, 136, 147, 148, 153, 155, 156, 157, 257, 262, 263, 264, 345))
    if len(data) < 20000:
        for at in sorted(place for place in places if place < len(data)):
            new = picked("%d" % at, [(data[at] + 1) % 256, (data[at] - 1) % 256, 0, 255])
            if new != data[at]:
                yield "byte %d: %d → %d" % (at, data[at], new), data[:at] + bytes([new]) + data[at + 1:]
    for less in (1, 2, 21, 22, 23, 100, 511, 512, 1024):
        yield "%d bytes less" % less, data[:-less]
    yield "4 bytes more", data + b"more"


MESSAGES = {"perfetto", "pprof", "xplane"}


def variants(family, data, seen):
    """(what is changed, the bytes then)."""
    if family == "archives":
        return of_archive(family, data, seen)
    if data.startswith(b"SQLite format 3\0"):
        if len(data) % 512 or data[16:18] == b"\0\0":
            return of_bytes(family, data, seen)
        return of_database(family, data, seen)
    document = parsed(data)
    if document:
        return of_json(family, *document[:1], seen, document[1])
    if family in MESSAGES and wire(data):
        return of_message(family, data, seen)
    try:
        data.decode("utf-8")
    except ValueError:
        return of_bytes(family, data, seen)
    return of_bytes(family, data, seen) if b"\0" in data else of_text(family, data, seen)
