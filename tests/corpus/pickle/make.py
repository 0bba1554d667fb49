#!/usr/bin/env python3
"""Writes the small pickles of this folder and of tests/reject/pickle, by hand."""
import os
import pickle

HERE = os.path.dirname(os.path.abspath(__file__))
REJECT = os.path.join(HERE, "..", "..", "reject", "pickle")


def entry(i, **more):
    out = {"record_id": 100 + i, "pg_id": 1, "process_group": ("7", "DATA_PARALLEL"),
           "collective_seq_id": 20 + i, "p2p_seq_id": 0, "op_id": 20 + i,
           "profiling_name": "nccl:all_reduce", "time_created_ns": 1700000000000000000 + i * 1000,
           "input_sizes": [[4, 8]], "input_dtypes": ["BFloat16"], "output_sizes": [[4, 8]],
           "output_dtypes": ["BFloat16"], "state": "scheduled", "time_discovered_started_ns": None,
           "time_discovered_completed_ns": None, "retired": False, "timeout_ms": 600000, "is_p2p": False}
    out.update(more)
    return out


def flight(entries):
    return {"version": "2.9", "nccl_version": "2.27.3",
            "pg_config": {"7": {"name": "7", "desc": "DATA_PARALLEL", "ranks": "[0, 1, 2]"}},
            "pg_status": {"1": {"last_enqueued_collective": 23, "last_started_collective": -1,
                                "last_completed_collective": 21}}, "entries": entries}


FRAMES = [{"name": name, "filename": "model.py", "line": i} for i, name in enumerate(("inner", "middle", "main"))]


def event(action, addr, size, us, frames=FRAMES):
    out = {"action": action, "addr": addr, "size": size, "stream": 0, "frames": frames}
    if us is not None:
        out["time_us"] = us
    return out


def snapshot(events, **more):
    segment = {"device": 0, "address": 1 << 46, "total_size": 4096, "allocated_size": 1024, "active_size": 1024,
               "stream": 0, "segment_type": "small", "frames": [],
               "blocks": [{"size": 1024, "state": "active_allocated", "frames": FRAMES[1:]},
                          {"size": 3072, "state": "inactive", "frames": []}]}
    out = {"segments": [segment], "device_traces": [[], events] if more.get("second") else [events],
           "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "max_split_size": -1}}
    if "annotations" in more:
        out["external_annotations"] = more["annotations"]
    return out


def events(times=True):
    at = (lambda i: 1700000000000000 + i) if times else (lambda i: None)
    return [event("free_completed", 5, 512, at(0), []), event("alloc", 1 << 46, 1024, at(1)),
            event("alloc", 77, 2048, at(2), FRAMES[:2]), event("free_requested", 77, 2048, at(3)),
            event("free_completed", 77, 2048, at(4)), event("oom", 0, 1 << 40, at(5))]


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def main():
    done = entry(0, state="completed", retired=True, time_discovered_completed_ns=1700000000000005000)
    sound = flight([done, entry(1, state="completed"), entry(2, is_p2p=True, p2p_seq_id=9, profiling_name="nccl:send 0->2"),
                    entry(3, input_sizes=[[2 ** 40, 2 ** 40]], output_dtypes=[])])
    marks = [{"stage": "START", "name": "step", "device": 0, "time_us": 1700000000000000},
             {"stage": "END", "name": "step", "device": 0, "time_us": 1700000000000003},
             {"stage": "START", "name": "open", "device": 0, "time_us": 1700000000000001}]
    write(HERE, "flight_rank_3", pickle.dumps(sound, 2))
    write(HERE, "flight_old_0.pkl", pickle.dumps({"version": "1.5", "entries": [
        {"record_id": 1, "seq_id": 4, "profiling_name": "nccl:broadcast", "time_created_ns": 1700000000000000000,
         "input_sizes": [[3]], "output_sizes": [[3]], "state": "started", "collective_seq_id": 4}]}, 2))
    write(HERE, "flight_cut_1", pickle.dumps(sound, 2)[:-300])
    shape = [[4, 8]]  # one list in all entries, by way of the memo
    write(HERE, "flight_shared_5", pickle.dumps(flight([
        entry(i, input_sizes=shape, duration_ms=i / 4) for i in range(6)]), 4))
    write(HERE, "memory.pickle", pickle.dumps(snapshot(events(), annotations=marks), 4))
    write(HERE, "memory_no_times.pickle", pickle.dumps(snapshot(events(False)), 4))
    write(HERE, "memory_second_device.pickle", pickle.dumps(snapshot(events(), second=True), 5))
    write(HERE, "memory_segments_only.pickle", pickle.dumps(snapshot([])["segments"], 4))
    write(HERE, "memory_cut.pickle", pickle.dumps(snapshot(events()), 4)[:-120])
    loop = snapshot([])
    loop["device_traces"] = [[event("alloc", 1, 2, 3)] * 50] * 50
    loop["device_traces"][0].append(loop["device_traces"])
    write(HERE, "memory_circle.pickle", pickle.dumps(loop, 4))
    keys = b"X\x0d\x00\x00\x00pg_config_keyX\x09\x00\x00\x00pg_statusX\x0c\x00\x00\x00nccl_version"
    write(REJECT, "code_reduce", b"\x80\x02}(" + keys + b"cos\nsystem\nX\x02\x00\x00\x00ls\x85Ru.")
    write(REJECT, "code_stack_global", b"\x80\x04}(" + keys + b"\x8c\x02os\x8c\x06system\x93u.")
    write(REJECT, "code_build", b"\x80\x02}(" + keys + b"Nu}b.")
    write(REJECT, "flight_without_entries", pickle.dumps({"pg_config": {}, "pg_status": {}, "nccl_version": "2"}, 2))
    write(REJECT, "flight_entries_are_text", pickle.dumps(dict(sound, entries="none"), 2))
    write(REJECT, "wild_memo", b"\x80\x02}(" + keys + b"r\xff\xff\xff\x7f.")
    write(REJECT, "other_pickle", pickle.dumps({"weights": [1.0, 2.0]}, 4))
    write(REJECT, "memory_nothing_in_it", pickle.dumps(
        {"segments": 1, "device_traces": None, "active_size": 2, "requested_size": 3}, 4))
    write(REJECT, "memory_empty_stack", b"\x80\x04e segments device_traces allocated_size segment_type blocks")


if __name__ == "__main__":
    main()
