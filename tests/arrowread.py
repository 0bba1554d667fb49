"""Reading Arrow IPC files as far as our writer goes, by FlatBuffers' and Arrow's own documents: tests hold the writer
against this where pyarrow is not installed.

    names, rows, pairs = arrowread.read(path)
"""
import struct


class Table:
    """A FlatBuffer table: fields by number."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        vtable = at - struct.unpack_from("<i", data, at)[0]
        size, = struct.unpack_from("<H", data, vtable)
        self.places = struct.unpack_from("<%dH" % ((size - 4) // 2), data, vtable + 4)

    def place(self, field):
        return self.at + self.places[field] if field < len(self.places) and self.places[field] else None

    def number(self, field, code, default=0):
        place = self.place(field)
        return default if place is None else struct.unpack_from("<" + code, self.data, place)[0]

    def follow(self, place):
        return place + struct.unpack_from("<I", self.data, place)[0]

    def table(self, field):
        place = self.place(field)
        return None if place is None else Table(self.data, self.follow(place))

    def text(self, field):
        at = self.follow(self.place(field))
        size, = struct.unpack_from("<I", self.data, at)
        assert self.data[at + 4 + size] == 0
        return self.data[at + 4:at + 4 + size].decode()

    def tables(self, field):
        at = self.follow(self.place(field))
        count, = struct.unpack_from("<I", self.data, at)
        return [Table(self.data, self.follow(at + 4 + 4 * i)) for i in range(count)]

    def structs(self, field, code):
        place = self.place(field)
        at = self.follow(place)
        count, = struct.unpack_from("<I", self.data, at)
        assert (at + 4) % 8 == 0
        return [struct.unpack_from("<" + code, self.data, at + 4 + i * struct.calcsize("<" + code)) for i in range(count)]


def root(data):
    return Table(data, struct.unpack_from("<I", data, 0)[0])


def message(data, block):
    at, meta, size = block[0], block[1], block[2]
    mark, length = struct.unpack_from("<II", data, at)
    assert mark == 0xffffffff and length + 8 == meta and at % 8 == 0 and meta % 8 == 0 and size % 8 == 0
    head = root(data[at + 8:at + 8 + length])
    assert head.number(0, "h") == 4 and head.number(3, "q") == size
    return head.number(1, "B"), head.table(2), data[at + meta:at + meta + size]


def texts(buffers, body, rows):
    (at, size), (text_at, text_size) = buffers
    ends = struct.unpack_from("<%dq" % (rows + 1), body, at)
    assert size == 8 * (rows + 1) and ends[-1] == text_size
    return [body[text_at + a:text_at + b].decode() for a, b in zip(ends, ends[1:])]


CODES = {(True, 64): "q", (False, 64): "Q", (False, 32): "I", (False, 16): "H", (False, 8): "B"}


def column(field, buffers, body, rows, nulls, dictionaries):
    at, size = buffers.pop(0)
    valid = [True] * rows if not size else [body[at + i // 8] >> i % 8 & 1 for i in range(rows)]
    assert valid.count(0) == nulls  # False is 0, too
    coding, kind = field.table(4), field.number(2, "B")
    if coding:
        at, size = buffers.pop(0)
        words = dictionaries[coding.number(0, "q")]
        values = [words[i] if known else None for i, known in zip(struct.unpack_from("<%di" % rows, body, at), valid)]
    elif kind == 20:
        values = texts([buffers.pop(0), buffers.pop(0)], body, rows)
    else:
        at, size = buffers.pop(0)
        kind_table = field.table(3)
        code = "d" if kind == 3 else CODES[bool(kind_table.number(1, "B")), kind_table.number(0, "i")]
        values = struct.unpack_from("<%d%s" % (rows, code), body, at)
    return [value if known else None for value, known in zip(values, valid)]


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"ARROW1\0\0" and data[-6:] == b"ARROW1"
    size, = struct.unpack_from("<I", data, len(data) - 10)
    footer = root(data[len(data) - 10 - size:len(data) - 10])
    schema = footer.table(1)
    fields = schema.tables(1)
    dictionaries, rows = {}, []
    for block in footer.structs(2, "qi4xq"):
        kind, head, body = message(data, block)
        assert kind == 2
        batch = head.table(1)
        count = batch.number(0, "q")
        dictionaries[head.number(0, "q")] = texts(batch.structs(2, "qq")[1:], body, count)
    for block in footer.structs(3, "qi4xq"):
        kind, head, body = message(data, block)
        assert kind == 3
        count, buffers = head.number(0, "q"), list(head.structs(2, "qq"))
        nodes = head.structs(1, "qq")
        columns = [column(field, buffers, body, count, node[1], dictionaries) for field, node in zip(fields, nodes)]
        assert not buffers and all(node[0] == count for node in nodes)
        rows += [list(row) for row in zip(*columns)]
    return [f.text(0) for f in fields], rows, {p.text(0): p.text(1) for p in schema.tables(2)}
