"""Reading and writing protobuf without a schema, for oracles and makers of files that are protobuf."""
import struct


class Damaged(ValueError):
    pass


def varint(data, at):
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise Damaged()
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def fields(data):
    """(number, value): int for numbers, bytes for the rest. Raises Damaged where it ends early."""
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 128 else varint(data, at)
        kind = tag & 7
        if kind == 0 or kind == 2:  # most numbers and lengths are one byte
            value, at = (data[at], at + 1) if at < end and data[at] < 128 else varint(data, at)
            if kind == 2:
                size = value
                value, at = data[at:at + size], at + size
        elif kind == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        elif kind == 5:
            value, at = int.from_bytes(data[at:at + 4], "little"), at + 4
        else:
            raise Damaged()
        if at > end:
            raise Damaged()
        yield tag >> 3, value


def message(data):
    """Fields as {number: [values]}."""
    out = {}
    for number, value in fields(data):
        out.setdefault(number, []).append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def double(value):
    return struct.unpack("<d", struct.pack("<Q", value))[0]


def packed(values):
    """Varints of a repeated field, packed or not."""
    for value in values:
        if isinstance(value, int):
            yield value
            continue
        at = 0
        while at < len(value):
            one, at = varint(value, at)
            yield one


def varint_bytes(value):
    """The bytes of an integer as a varint; negative ones take ten."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number, value):
    """A field to write: int → varint, float → fixed64, text or bytes (a message) with its length."""
    if isinstance(value, int):
        return varint_bytes(number << 3) + varint_bytes(value)
    if isinstance(value, float):
        return varint_bytes(number << 3 | 1) + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return varint_bytes(number << 3 | 2) + varint_bytes(len(data)) + data
