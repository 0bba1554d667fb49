"""A Parquet reader of our own, for tests: only what our writer uses, read to the letter.

Every length, offset and count that the file states is checked against what is there, so that a file that
other readers would forgive fails here. zstd is the system's library.
"""
import ctypes
import ctypes.util
import struct


def _zstd():
    name = ctypes.util.find_library("zstd")
    library = ctypes.CDLL(name) if name else None
    if library:
        library.ZSTD_decompress.restype = ctypes.c_size_t
        library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return library


ZSTD = _zstd()


def decompress(data, size):
    room = ctypes.create_string_buffer(size + 1)
    got = ZSTD.ZSTD_decompress(room, size + 1, data, len(data))
    assert got == size, "page of %d bytes gave %d" % (size, got)
    return room.raw[:size]


class Thrift:
    """Thrift's compact protocol: structs as {field: value}."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def varint(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def value(self, kind):
        if kind in (1, 2):
            return kind == 1
        if kind == 3:
            self.at += 1
            return struct.unpack("b", self.data[self.at - 1:self.at])[0]
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            size = self.varint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == 9:
            head = self.data[self.at]
            self.at += 1
            count = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15) for _ in range(count)]
        assert kind == 12, kind
        return self.struct()

    def struct(self):
        fields, last = {}, 0
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == 0:
                return fields
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            assert last not in fields
            fields[last] = self.value(head & 15)


def hybrid(data, at, width, count):
    """`count` numbers of the RLE/bit-packing hybrid, and where they end."""
    out = []
    reader = Thrift(data, at)
    while len(out) < count:
        head = reader.varint()
        if head & 1:
            size = (head >> 1) * width
            bits = int.from_bytes(data[reader.at:reader.at + size], "little")
            assert reader.at + size <= len(data)
            reader.at += size
            out += [bits >> i * width & (1 << width) - 1 for i in range((head >> 1) * 8)]
        else:
            size = (width + 7) // 8
            out += [int.from_bytes(data[reader.at:reader.at + size], "little")] * (head >> 1)
            reader.at += size
    return out[:count], reader.at


def delta(data, at, count, wide):
    reader = Thrift(data, at)
    block, minis, total = reader.varint(), reader.varint(), reader.varint()
    assert total == count, (total, count)
    values, span = [reader.zigzag()], block // minis
    while len(values) < count:
        least = reader.zigzag()
        widths = data[reader.at:reader.at + minis]
        reader.at += minis
        for width in widths:
            if len(values) >= count:
                break
            size = span * width // 8
            bits = int.from_bytes(data[reader.at:reader.at + size], "little")
            reader.at += size
            for i in range(min(span, count - len(values))):
                step = least + (bits >> i * width & (1 << width) - 1)
                values.append(values[-1] + step)
    mask = (1 << 64 if wide else 1 << 32) - 1
    return [(v & mask) - (mask + 1 if v & mask > mask >> 1 else 0) for v in values[:count]], reader.at


def plain(data, at, kind, count):
    if kind == 6:
        out = []
        for _ in range(count):
            size, = struct.unpack_from("<I", data, at)
            out.append(data[at + 4:at + 4 + size].decode())
            at += 4 + size
        return out, at
    code, size = {1: ("i", 4), 2: ("q", 8), 5: ("d", 8)}[kind]
    return list(struct.unpack_from("<%d%s" % (count, code), data, at)), at + size * count


def column(data, chunk, element):
    meta = chunk[3]
    kind, optional = element[1], element[3] == 1
    at = meta.get(11, meta[9])
    end, values, dictionary, rows, nulls = at + meta[7], [], None, 0, 0
    while at < end:
        reader = Thrift(data, at)
        header = reader.struct()
        body = decompress(data[reader.at:reader.at + header[3]], header[2])
        at = reader.at + header[3]
        if header[1] == 2:
            dictionary, used = plain(body, 0, kind, header[7][1])
            assert used == len(body)
            continue
        count, encoding = header[5][1], header[5][2]
        valid, place = [1] * count, 0
        if optional:
            size, = struct.unpack_from("<I", body, 0)
            valid, used = hybrid(body, 4, 1, count)
            assert used == 4 + size
            place = 4 + size
        known = sum(valid)
        if encoding == 8:
            got, place = hybrid(body, place + 1, body[place], known) if known else ([], len(body))
            got = [dictionary[i] for i in got]
        elif encoding == 5:
            got, place = delta(body, place, known, kind == 2) if known else ([], len(body))
        else:
            assert encoding == 0
            got, place = plain(body, place, kind, known)
        assert place == len(body), "%d bytes left in a page" % (len(body) - place)
        stream = iter(got)
        values += [next(stream) if v else None for v in valid]
        rows += count
        nulls += count - known
    assert at == end and rows == meta[5] and meta[12][3] == nulls
    signed = element.get(6) not in (11, 12, 13, 14)
    bits = {11: 32, 12: 32, 13: 32, 14: 64}.get(element.get(6))
    if not signed:
        values = [v if v is None else v & (1 << bits) - 1 for v in values]
    known = [v for v in values if v is not None]
    if 5 in meta[12] and known:
        code = {1: "<i" if signed else "<I", 2: "<q" if signed else "<Q", 5: "<d"}.get(kind)
        told = [struct.unpack(code, meta[12][f])[0] if code else meta[12][f].decode() for f in (6, 5)]
        if not code:
            assert told == [min(known, key=str.encode), max(known, key=str.encode)], told
        else:
            assert told == [min(known), max(known)], (told, min(known), max(known))
    return values


def read(path):
    """(column names, rows, key-value metadata)."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == data[-4:] == b"PAR1"
    size, = struct.unpack("<I", data[-8:-4])
    footer = Thrift(data, len(data) - 8 - size)
    meta = footer.struct()
    assert footer.at == len(data) - 8
    elements = meta[2][1:]
    assert meta[2][0][5] == len(elements) == len(meta[7])
    columns = [[] for _ in elements]
    for group in meta[4]:
        for i, chunk in enumerate(group[1]):
            values = column(data, chunk, elements[i])
            assert len(values) == group[3]
            columns[i] += values
    rows = [list(row) for row in zip(*columns)]
    assert len(rows) == meta[3]
    pairs = {p[1].decode(): p[2].decode() for p in meta[5]}
    return [e[4].decode() for e in elements], rows, pairs
