"""Archives of two small profiles, in the forms that programs write: for run.py, which changes them as it does the files of the corpus. No
bytes in them depend on the version of a compressor: what is packed is stored.
"""
import gzip
import io
import json
import os
import tarfile
import zipfile
import zlib

WHEN = (2026, 1, 2, 3, 4, 6)


def profile(rank):
    return json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 10 * k, "dur": 5, "args": {"device": 0, "stream": 7}}
        for k in range(3 + rank)]}).encode()


FILES = [("ranks/rank0.json", profile(0)), ("ranks/rank1.json", profile(1))]


def zipped(comment=b"", before=b"", filler=0, wide=False, streamed=False):
    room = io.BytesIO()
    if streamed:  # lengths stand behind the bytes
        room.seekable = lambda: False
    with zipfile.ZipFile(room, "w", zipfile.ZIP_STORED) as archive:
        for name, data in FILES + ([("filler.bin", bytes(filler))] if filler else []):
            info = zipfile.ZipInfo(name, WHEN)
            with archive.open(info, "w", force_zip64=wide) as file:
                file.write(data)
        archive.comment = comment
    return before + room.getvalue()


def deflated():
    """As zipped(), in blocks of deflate that are stored."""
    room = io.BytesIO()
    with zipfile.ZipFile(room, "w", zipfile.ZIP_DEFLATED, compresslevel=0) as archive:
        for name, data in FILES:
            archive.writestr(zipfile.ZipInfo(name, WHEN), data, zipfile.ZIP_DEFLATED, 0)
    return room.getvalue()


def tarred(form, long=False):
    room = io.BytesIO()
    with tarfile.open(fileobj=room, mode="w", format=form) as archive:
        for name, data in FILES:
            info = tarfile.TarInfo("d" * 120 + "/" + name if long else name)
            info.size, info.mtime = len(data), 1700000000
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("link.json")
        link.type, link.linkname = tarfile.SYMTYPE, "ranks/rank0.json"
        archive.addfile(link)
    return room.getvalue()


def gzipped(data):
    stored = zlib.compressobj(0, zlib.DEFLATED, -15)
    body = stored.compress(data) + stored.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


def write(folder):
    """The paths of all of them."""
    assert gzip.decompress(gzipped(FILES[0][1])) == FILES[0][1]
    made = {"plain.zip": zipped(), "comment.zip": zipped(b"said of it"), "far.zip": zipped(b"c" * 65535), "large.zip": zipped(filler=70000), "behind.zip": zipped(before=b"#!/bin/sh\n"),
            "wide.zip": zipped(wide=True), "streamed.zip": zipped(streamed=True), "deflated.zip": deflated(), "ustar.tar": tarred(tarfile.USTAR_FORMAT), "gnu.tar": tarred(tarfile.GNU_FORMAT, True),
            "pax.tar": tarred(tarfile.PAX_FORMAT, True), "packed.tgz": gzipped(tarred(tarfile.USTAR_FORMAT)), "one.json.gz": gzipped(FILES[1][1])}
    for name, data in made.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(data)
    return [os.path.join(folder, name) for name in made]
