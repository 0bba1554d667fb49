#!/usr/bin/env python3
"""What findings advise is for the vendor and the framework of the profile, on every sample.

    tests/oracle/remedies.py [build/neurolens]

The vendor is told here by the folder of the sample (the tool that wrote it), else by what the
file itself holds: names of calls of the runtime, of the device.
"""
import collections
import os
import re
import sys

from oracle import Checker, Neurolens, shared_or_leave

SMALL = 30 << 20
FOLDERS = {"nsys": "nvidia", "ncu": "nvidia", "nvprof": "nvidia", "rocprof": "amd", "tensorrt": "nvidia"}
WORDS = {
    "nvidia": "cuda[a-z]*|nvidia|nccl|nsight|nsys|ncu|cublas[a-z]*|cudnn|tf32|tensor cores?|hopper|ampere|dali|nvbandwidth",
    "amd": "hip[a-z]*|rccl|rocm|rocprof[a-z0-9]*|amd|miopen|mfma|matrix cores|rocal",
    "google": "tpus?|pallas|xla_tpu[a-z_]*|libtpu[a-z_]*",
}
FRAMEWORKS = {"torch": "torch[a-z.]*|fsdp|ddp|dataloader|non_blocking", "xla": "jax[a-z_.]*|jnp|xla[a-z_]*|tf",
              "ort": "iobinding|ortvalue|onnx[a-z]*", "tensorrt": "trtexec"}
NAMES = re.compile(r"torch\.(backends\.)?cuda[\w.]*|'cuda'|ProfilerActivity\.CUDA|TORCH_LOGS=cudagraphs|CUDA/HIP calls|"
                   r"cuda_graph_absent|dataloader_stall|tensor_core_unused|tensor_core|enable_cuda_sync_events")


def vendor(tool, path, folder):
    if folder in FOLDERS:
        return FOLDERS[folder]
    devices, api = tool.sql_each(path, ["SELECT vendor, name FROM devices", "SELECT DISTINCT name FROM api LIMIT 1000"])
    told = [str(v[0] or "") + " " + str(v[1] or "") for v in devices]
    for words, is_of in (("nvidia|geforce|tesla|rtx|quadro|a100|h100|v100", "nvidia"),
                         ("amd|instinct|radeon|gfx|mi[23]\\d\\d", "amd"), ("google|tpu", "google")):
        if any(re.search(words, text, re.I) for text in told):
            return is_of
    calls = [v[0] or "" for v in api]
    if any(re.match("hip[A-Z]|hsa_", name) for name in calls):
        return "amd"
    return "nvidia" if any(re.match("cuda[A-Z]|cu[A-Z]", name) for name in calls) else None


def framework(folder):
    return {"torch": "torch", "xplane": "xla", "ort": "ort", "tensorrt": "tensorrt"}.get(folder)


def texts(finding):
    for suggestion in finding["suggestions"]:
        yield from (suggestion["do"], suggestion["why"], suggestion["verify"])
    yield finding["not_this_if"]


def foreign(text, maker, own):
    text = NAMES.sub(" ", text)
    for other, words in WORDS.items():
        found = other != maker and maker and re.search(r"\b(%s)\b" % words, text, re.I)
        if found:
            return found.group(0)
    for other, words in FRAMEWORKS.items():
        found = own and other != own and re.search(r"\b(%s)\b" % words, text, re.I)
        if found and not (other == "tensorrt" and own == "ort"):
            return found.group(0)
    return None


def main():
    root = shared_or_leave("samples")
    check, tool = Checker(), Neurolens(sys.argv)
    counts = collections.Counter()
    for path, _, names in sorted(os.walk(root)):
        folder = os.path.relpath(path, root).split(os.sep)[0]
        for name in sorted(names):
            full = os.path.join(path, name)
            if folder.endswith("_oracle") or os.path.getsize(full) > SMALL or name.endswith((".tsv", ".md")):
                continue
            try:
                result = tool.run("analyze", full, "--all", "--format", "json")["result"]
            except (RuntimeError, ValueError):
                continue  # no profile
            if not result.get("findings"):
                continue
            maker, own = vendor(tool, full, folder), framework(folder)
            wrong = [(finding["cause"], word, text) for finding in result["findings"]
                     for text in texts(finding) for word in [foreign(text, maker, own)] if word]
            counts[maker or "unknown"] += len(result["findings"])
            if wrong:
                check.fail(os.path.relpath(full, root)[-70:], "advice for %s, %s" % (maker, own), wrong[:3])
            else:
                check.passed += 1
    print("     findings looked at: %s" % dict(counts))
    for maker in ("nvidia", "amd", "google"):
        check.equal("samples of %s have findings" % maker, True, counts[maker] > 0)
    check.finish()


main()
