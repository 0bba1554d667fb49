#!/usr/bin/env python3
"""Writes the small execution traces of this folder and of tests/reject/torchet, by hand."""
import gzip
import io
import json
import os
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "oracle"))
from protowire import field, varint_bytes  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "torchet")

OLD = {"schema": "1.0.1", "pid": 12, "time": "2024-01-01 00:00:00", "start_ts": 100, "finish_ts": 200, "nodes": [
    {"name": "[pytorch|profiler|execution_graph|process]", "id": 1, "rf_id": 0, "parent": 1, "scope": 7, "tid": 0,
     "inputs": [], "input_shapes": [], "input_types": [], "outputs": [], "output_shapes": [], "output_types": []},
    {"name": "aten::addmm", "id": 14, "rf_id": 5, "parent": 1, "fw_parent": 0, "seq_id": 661, "scope": 0, "tid": 1,
     "op_schema": "aten::addmm(Tensor self) -> Tensor", "inputs": [[7, 8, 0, 1024, 4, "cuda:0"], 1],
     "input_shapes": [[1024], []], "input_types": ["Tensor(float)", "Int"], "outputs": [[18, 19, 0, 4, 4, "cuda:0"]],
     "output_shapes": [[4]], "output_types": ["Tensor(float)"]}]}
NEW = {"schema": "1.1.0-chakra.0.0.4", "pid": 13, "environment": {"TOKEN": "secret"}, "nodes": [
    {"id": 3, "name": "record_param_comms", "ctrl_deps": 2, "inputs": {
        "values": [[1, 2, 0, 4, 2, "cuda:1"]], "shapes": [[4]], "types": ["Tensor(half)"], "strides": [[1]]},
     "outputs": {"values": [], "shapes": [], "types": []}, "attrs": [
         {"name": "rf_id", "type": "uint64", "value": 77}, {"name": "collective_name", "type": "string", "value": "all\"reduce"},
         {"name": "pg_name", "type": "string", "value": "0"}, {"name": "kernel_file", "type": "string", "value": "a/b"}]}]}
CHAKRA = {"workload_graph": [{"Id": 216, "Name": "aten::flatten", "NodeType": 4, "ctrlDeps": [3], "data_deps": [],
                              "runtime": 318, "is_cpu_op": True}], "ngpus": 8}


def chakra():
    head = field(2, field(1, "schema") + field(29, "1.0.2-chakra.0.0.4")) + field(2, field(1, "pid") + field(13, 9))
    send = field(2, "COMM_SEND_0") + field(3, 5) + field(7, 12) + field(10, field(1, "comm_size") + field(9, 131072))
    work = field(1, 2) + field(2, "gemm") + field(3, 4) + field(5, b"\x00\x01") + field(6, 5) + field(7, 3)
    work += field(8, field(1, "[[1, 2, 0, 4, 4, 'cuda:0']]") + field(2, "[[4]]") + field(3, "['Tensor(float)']"))
    work += field(10, field(1, "seq_id") + field(9, 2 ** 64 - 1)) + field(10, field(1, "rf_id") + field(9, 55))
    work += field(10, field(1, "is_cpu_op") + field(27, 1)) + field(10, field(1, "api_key") + field(29, "secret"))
    return b"".join(varint_bytes(len(m)) + m for m in (head, send, work))


def archive(members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def main():
    old, new = json.dumps(OLD), json.dumps(NEW, indent=1)
    write(HERE, "flat.json", old)
    write(HERE, "attributes.json", new)
    write(HERE, "chakra.json", json.dumps(CHAKRA))
    write(HERE, "cut.json", old[:-150])
    write(HERE, "inf.json", old.replace('"cuda:0"], 1]', '"cuda:0"], inf, -nan]'))
    write(HERE, "chakra.0.et", chakra())
    write(HERE, "chakra-cut.et", chakra()[:-20])
    write(HERE, "macos.tgz", gzip.compress(archive([("._a.json", b"\0\5\26\7"), ("a.json", old.encode()),
                                                    ("dir/b.et", chakra())]), mtime=0))
    write(REJECT, "no-nodes.json", '{"schema": "1.0.1", "pid": 1, "nodes": []}')
    write(REJECT, "nodes-are-text.json", '{"schema": "1.0.1", "nodes": "none"}')
    write(REJECT, "cut-in-first-node.json", '{"schema": "1.0.1", "nodes": [{"id": 1, "name": "a')
    write(REJECT, "empty-archive.tar", archive([]))
    write(REJECT, "other-archive.tar", archive([("readme", b"hello")]))
    write(REJECT, "metadata-only.et", chakra()[:50])


if __name__ == "__main__":
    main()
