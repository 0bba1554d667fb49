"""ONNX Runtime's profile of a CUDA session, and TensorRT's profile of layers."""
import json
import os

import workload as w

CALLS = {"launch": "cudaLaunchKernel", "copy": "cudaMemcpyAsync", "memset": "cudaMemsetAsync",
         "wait": "cudaStreamSynchronize"}
COPIES = {"HtoD": "MemcpyHostToDevice", "DtoH": "MemcpyDeviceToHost", "DtoD": "MemcpyDeviceToDevice"}


def event(category, name, item, pid, **args):
    return {"cat": category, "pid": pid, "tid": pid, "dur": item.dur // 1000,
            "ts": item.start // 1000, "ph": "X", "name": name, "args": args}


def write_onnxruntime(run, folder):
    path = os.path.join(folder, "run.json")
    events = [event("Session", "model_run", x, w.PID) for x in run.ranges]
    events += [event("Api", CALLS[x.role], x, w.PID) for x in run.calls]
    for x in run.work:
        grid = {"grid_x": "80", "grid_y": "1", "grid_z": "1", "block_x": "128", "block_y": "1",
                "block_z": "1"}
        events.append(event("Kernel", x.name or COPIES[x.direction], x, -1, stream=str(x.stream),
                            **grid))
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(e) for e in events) + "\n]\n")
    return path


def write_tensorrt(run, folder):
    """Every kernel is a layer; what else there is has no place in such a file."""
    path = os.path.join(folder, "profile.json")
    names = sorted({x.name for x in run.of("kernel")})
    total = sum(x.dur for x in run.of("kernel"))
    rows = [{"count": w.STEPS}]
    for name in names:
        durs = [x.dur for x in run.of("kernel") if x.name == name]
        rows.append({"name": name, "timeMs": sum(durs) / 1e6,
                     "averageMs": sum(durs) / 1e6 / w.STEPS, "medianMs": sorted(durs)[1] / 1e6,
                     "percentage": 100 * sum(durs) / total})
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(rows))
    return path
