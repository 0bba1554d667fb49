#!/usr/bin/env python3
"""Work of operators, peaks and rooflines, against figures of others.

    tests/work.py [WORD...]       the parts whose name contains a WORD
    tests/work.py coverage --all  all profiles of ../shared, whatever made them (`make shares`)

- FLOPs of real programs on the CPU: torch.utils.flop_counter (fixtures/record_flops.py).
- FLOPs and bytes of operators of public GPU traces: AMD's TraceLens (../shared).
- Bytes, nesting, lists and compiled kernels: traces made here, with figures worked out by hand.
- XLA's own figures stay as they are.
"""
import ast
import csv
import glob
import json
import os
import sqlite3
import sys
import tempfile

from harness import FIXTURES, ROOT, Tally, forked as neurolens

SHARED = os.path.join(ROOT, "..", "shared", "samples")
MATRIX = "model IN ('gemm', 'convolution', 'attention')"


class Wrong(Exception):
    pass


def ask(*words, timeout=120):
    result = neurolens([*words, "--format", "json", "--no-cache"], timeout=timeout)
    if result.status:
        raise Wrong(result.describe())
    return json.loads(result.stdout)


def rows(profile, query):
    return [tuple(row) for row in ask("sql", profile, query)["result"]["rows"]]


def op(name, ts, dur, dims, types=None, values=None, strides=None, **more):
    args = {"Input Dims": dims}
    if types is not None:
        args["Input type"] = types
    if values is not None:
        args["Concrete Inputs"] = values
    if strides is not None:
        args["Input Strides"] = strides
    args.update(more)
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": args}


def launched(name, ts, correlation, dur=10.0, launch=None, device=0):
    """A launch at `launch` (µs) and its kernel at `ts`."""
    return [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
         "ts": launch if launch is not None else ts, "dur": 0.5,
         "args": {"correlation": correlation}},
        {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": 7, "ts": ts, "dur": dur,
         "args": {"device": device, "stream": 7, "correlation": correlation,
                  "grid": [128, 1, 1], "block": [128, 1, 1]}}]


def trace_of(events, device=None):
    properties = [device] if device else []
    return {"schemaVersion": 1, "deviceProperties": properties, "traceEvents": events}


def write(folder, name, trace):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(trace))
    return path


# ---- FLOPs of real programs ----

# nn.MultiheadAttention in inference is one fused operator that flop_counter does not look into: its
# products are 24·96·32·2, twice 8·12·12·8·2 and 24·32·32·2.
NOT_SEEN_BY_TORCH = {"transformer_infer": 147456 + 2 * 18432 + 49152}


def against_torch(tally, folder):
    with open(os.path.join(FIXTURES, "torch_cpu_flops.expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    got = dict(rows(os.path.join(FIXTURES, "torch_cpu_flops.json.gz"),
                    "SELECT n.name, sum(w.flops) FROM nvtx n JOIN (SELECT w.*, s.ts FROM op_work w "
                    "JOIN slices s ON s.id = w.op WHERE %s) w ON w.ts >= n.ts AND w.ts < n.ts + "
                    "n.dur GROUP BY n.name" % MATRIX))
    for name, flops in expected.items():
        want = flops + NOT_SEEN_BY_TORCH.get(name, 0)
        tally.check("torch counts as many FLOPs: " + name, got.get(name) == want,
                    "%s, torch %s" % (got.get(name), want))


# ---- TraceLens on public traces ----

def tracelens_cases():
    """(name, dims, types, values, FLOPs, bytes) of the operators whose model TraceLens has."""
    seen = set()
    for path in sorted(glob.glob(os.path.join(SHARED, "torch_oracle", "AMD*", "**",
                                              "unified_perf_summary.csv"), recursive=True)):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (row["name"], row["Input Dims"], row["Input type"])
                if not row["GFLOPS"] or key in seen or row["name"].startswith("pseudo"):
                    continue
                seen.add(key)
                values = ast.literal_eval(row["Concrete Inputs"])
                yield (row["name"], ast.literal_eval(row["Input Dims"]),
                       ast.literal_eval(row["Input type"]), values,
                       float(row["GFLOPS"]) * 1e9, row["Data Moved (MB)"])


def size(dims):
    product = 1
    for dim in dims:
        product *= dim
    return product


def bias_of(name, dims):
    """What TraceLens adds for a bias: one operation per output element."""
    if name == "aten::addmm":
        return size(dims[1][:1]) * dims[2][1]
    if name == "vllm::rocm_unquantized_gemm" and dims[2]:
        return dims[0][0] * dims[1][0]
    return 0


def against_tracelens(tally, folder):
    cases = list(tracelens_cases())
    if not cases:
        tally.skip("TraceLens", "no ../shared")
        return
    events = []
    for i, (name, dims, types, values, _, _) in enumerate(cases):
        events.append(op(name, 100 * i, 50, dims, list(types), list(values)))
        events += launched("some_kernel", 100 * i + 20, i + 1, 10, 100 * i + 10)
    path = write(folder, "tracelens.json", trace_of(events))
    got = rows(path, "SELECT w.name, w.flops_needed, w.bytes, w.model, s.ts FROM op_work w JOIN "
                     "slices s ON s.id = w.op ORDER BY s.ts")
    wrong, compared, bytes_compared = [], 0, 0
    for case, row in zip(cases, got):
        name, dims, _, _, flops, moved = case
        if row[3] not in ("gemm", "attention") or name.startswith("vllm::unified_attention"):
            continue  # lengths of paged attention come from the name of a range there
        compared += 1
        if row[1] is None or abs(row[1] + bias_of(name, dims) - flops) > 1e-6 * flops + 1:
            wrong.append("%s %s: %s FLOPs, TraceLens %s" % (name, dims, row[1], flops))
        if moved and row[3] == "gemm":
            bytes_compared += 1
            if row[2] is None or abs(row[2] - float(moved) * 2**20) > 1e-6 * row[2] + 1:
                wrong.append("%s %s: %s bytes, TraceLens %s" % (name, dims, row[2],
                                                               float(moved) * 2**20))
    tally.check("TraceLens' FLOPs of %d and bytes of %d products and attentions" %
                (compared, bytes_compared), compared >= 10 and not wrong, "\n".join(wrong))


# ---- by hand ----

F, H = "float", "c10::BFloat16"
# name, dims, types, values, FLOPs, bytes, dtype, model
HAND = [
    ("aten::mm", [[4, 8], [8, 16]], [H, H], None, 1024, 2 * (32 + 128 + 64), "bf16", "gemm"),
    ("aten::bmm", [[2, 4, 8], [2, 8, 16]], [F, F], None, 2048, 4 * (64 + 256 + 128), "fp32", "gemm"),
    ("aten::_scaled_mm", [[16, 32], [32, 64], [], [], [], [], []],
     ["c10::Float8_e4m3fn"] * 2 + [F, F, "", "", "Scalar"], ["", "", "", "", "", "", "15"],
     65536, 512 + 2048 + 2 * 1024, "fp8", "gemm"),
    ("aten::_grouped_mm", [[10, 8], [3, 8, 4], [3]], [H, H, "int"], None,
     2 * 10 * 8 * 4, 2 * (80 + 96) + 2 * 40, "bf16", "gemm"),
    ("aten::convolution", [[1, 4, 9, 9], [8, 2, 3, 3], [8]] + [[]] * 6, [F] * 3 + [""] * 6,
     ["", "", "", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"],
     2 * 25 * 8 * 2 * 9, 4 * (324 + 144 + 200), "fp32", "convolution"),
    # A value that ends in an escape, before those that are read.
    ("aten::convolution", [[1, 4, 9, 9], [8, 2, 3, 3], [8]] + [[]] * 6, [F] * 3 + [""] * 6,
     ["", "", "a\\", "[2, 2]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "2"],
     2 * 25 * 8 * 2 * 9, 4 * (324 + 144 + 200), "fp32", "convolution"),
    ("aten::_flash_attention_forward", [[2, 16, 8, 64]] + [[2, 16, 2, 64]] * 2 + [[]] * 6,
     [H] * 3 + [""] * 6, [""] * 8 + ["True"], 2 * 2 * 8 * 16 * 16 * 128,
     2 * (2 * 16 * 8 * 64 * 2 + 2 * 2 * 16 * 2 * 64), "bf16", "attention"),
    ("aten::_cudnn_rnn", [[5, 3, 8], [[16, 8], [16, 4], [16], [16]]], [F, "TensorList"], None,
     2 * 5 * 3 * (128 + 64), 4 * (120 + 128 + 64 + 32), "fp32", "rnn"),
    ("aten::add", [[4, 1, 8], [5, 8], []], [F, F, "Scalar"], None, 160, 4 * (32 + 40 + 160), "fp32",
     "elementwise"),
    ("aten::gt", [[100], []], [F, "Scalar"], None, 100, 400 + 100, "fp32", "elementwise"),
    ("aten::copy_", [[8, 8], [8, 8], []], [H, F, "Scalar"], None, 0, 64 * 2 + 64 * 4, "fp32",
     "copy"),
    ("aten::fill_", [[64], []], [F, "Scalar"], None, 0, 256, "fp32", "fill"),
    ("aten::native_layer_norm", [[4, 8], [], [8], [8], []], [H, "ScalarList", H, H, "Scalar"], None,
     160, 2 * (32 + 8 + 8 + 32), "bf16", "norm"),
    ("aten::embedding", [[1000, 16], [7]], [H, "long int"], None, 0, 2 * 2 * 7 * 16 + 56, "bf16",
     "gather"),
    ("aten::index_select", [[10, 20], [], [4]], [F, "Scalar", "long int"], ["", "1", ""], 0,
     2 * 4 * 40 + 32, "fp32", "gather"),
    ("triton_poi_fused_add_0", [[1000, 8], [4, 8], [4, 8], []], [F, F, F, "Scalar"],
     ["", "", "", "32"], None, 3 * 32 * 4, "fp32", "compiled"),
    # No number of elements is told: of a table, the rows that seven indices name; in its look-alike no tensor has their size.
    ("triton_poi_fused_embedding_1", [[7], [1000, 16], [7, 16]], ["int", H, H], ["", "", ""], None, 7 * 4 + 2 * 2 * 7 * 16, "bf16",
     "compiled"),
    ("triton_poi_fused_add_2", [[7], [1000, 16], [1000, 16]], ["int", H, H], ["", "", ""], None, 7 * 4 + 2 * 2 * 16000, "bf16",
     "compiled"),
    # A list of tensors is none.
    ("triton_poi_fused_add_3", [[100], [[100], [100]], [100]], [F, [F, F], F], ["", "", ""], None, 2 * 400, "fp32", "compiled"),
    ("aten::sum", [[32, 4], [], []], [F, "", ""], None, 128, 512, "fp32", "reduction"),
    ("FlashAttnVarlenFunc", [[32, 8, 64]] * 3 + [[3], [3]] + [[]] * 5, [H] * 3 + ["int"] * 2 + [""] * 5,
     [""] * 9 + ["True"], 2 * 2 * 8 * 16 * 16 * 128, 2 * 4 * 32 * 8 * 64, "bf16", "attention"),
    ("xformers::efficient_attention_forward_cutlass", [[2, 16, 8, 64]] * 3, [H] * 3, None,
     2 * 2 * 8 * 16 * 16 * 128, 2 * 4 * 2 * 16 * 8 * 64, "bf16", "attention"),
    # Packed weights: 128 × 256 weights of 4 bits are 16 KiB, their scales in groups of 64 rows 2·256·2 bytes.
    ("_C::awq_gemm", [[8, 128], [128, 32], [2, 256], [2, 32], []], [H, "int", H, "int", "Scalar"],
     ["", "", "", "", "8"], 2 * 8 * 256 * 128, 2 * (8 * 128 + 8 * 256) + 16384 + 1024 + 256, "bf16", "gemm"),
    ("_C::gptq_gemm", [[8, 128], [16, 256], [2, 32], [2, 256], [128], [], []],
     [H, "int", "int", H, "int", "Scalar", "Scalar"], None, 2 * 8 * 256 * 128,
     2 * (8 * 128 + 8 * 256) + 16384 + 256 + 1024, "bf16", "gemm"),
    # Marlin's tiles hide N (8 × 512 words); the sizes among the scalars tell it, the scales else.
    ("_C::gptq_marlin_gemm", [[8, 128], [], [8, 512], [], [2, 256], [], [], [], [], [64], [], [], [], []],
     [H, "", "int", "", H, "", "", "", "", "int", "Scalar", "Scalar", "Scalar", "Scalar"],
     [""] * 10 + ["1125899906843648", "8", "256", "128"], 2 * 8 * 256 * 128,
     2 * (8 * 128 + 8 * 256) + 16384 + 1024, "bf16", "gemm"),
    # The output, given as the second input, is written once and not read.
    ("_C::gptq_marlin_gemm", [[8, 128], [8, 256], [8, 512], [], [2, 256], [], [], [], [], [64], [], [], [], []],
     [H, H, "int", "", H, "", "", "", "", "int", "Scalar", "Scalar", "Scalar", "Scalar"],
     [""] * 10 + ["1125899906843648", "8", "256", "128"], 2 * 8 * 256 * 128,
     2 * (8 * 128 + 8 * 256) + 16384 + 1024, "bf16", "gemm"),
    # Half of 2:4 weights is multiplied; two bits of meta data for each four values.
    ("_C::gptq_marlin_24_gemm", [[8, 128], [4, 512], [4, 64], [2, 256], [64], [], [], [], []],
     [H, "int", "short", H, "int", "Scalar", "Scalar", "Scalar", "Scalar"],
     [""] * 5 + ["1125899906843648", "8", "256", "128"], 8 * 256 * 128,
     2 * (8 * 128 + 8 * 256) + 8192 + 512 + 1024, "bf16", "gemm"),
    ("_C::marlin_gemm", [[8, 128], [8, 512], [1, 256], [64], [], [], []],
     [H, "int", H, "int", "Scalar", "Scalar", "Scalar"], None, 2 * 8 * 256 * 128,
     2 * (8 * 128 + 8 * 256) + 16384 + 512, "bf16", "gemm"),
    ("aten::_weight_int4pack_mm", [[8, 128], [32, 1, 32, 4], [], [2, 256, 2]], [H, "int", "Scalar", H], None,
     2 * 8 * 256 * 128, 2 * (8 * 128 + 8 * 256) + 16384 + 2048, "bf16", "gemm"),
    ("bitsandbytes::gemv_4bit", [[1, 128], [16384, 1], [], [512], [16], []],
     [H, "unsigned char", "ScalarList", F, F, "Scalar"], ["", "", "[256, 128]", "", "", "64"],
     2 * 256 * 128, 2 * (128 + 256) + 16384, "bf16", "gemm"),
    ("bitsandbytes::int8_linear_matmul", [[8, 128], [256, 128]], ["signed char"] * 2, None, 2 * 8 * 256 * 128,
     8 * 128 + 256 * 128 + 8 * 256, "int8", "gemm"),
    ("_C::cutlass_scaled_fp4_mm", [[8, 256], [8, 64], [256, 64], [128, 8], [256, 8], [1]],
     [H, "unsigned char", "unsigned char", "c10::Float8_e4m3fn", "c10::Float8_e4m3fn", F], None, 2 * 8 * 256 * 128,
     (8 * 128 + 256 * 128) // 2 + 2 * 8 * 256, "fp4", "gemm"),
    # A look-alike: no sizes, and no scales whose rows divide K: N is not known, nor is the work.
    ("_C::awq_gemm", [[8, 128], [128, 32], [3, 256], [3, 32], []], [H, "int", H, "int", "Scalar"], None, None, None,
     None, "gemm"),
    ("flashinfer::bmm_fp8", [[2, 4, 8], [2, 8, 16]], ["c10::Float8_e4m3fn"] * 2, None, 2048,
     64 + 256 + 128, "fp8", "gemm"),
    # Experts: 4 tokens to 2 of 8 each, weights of 8 * (2 * 16 * 32 + 32 * 16) elements; all are used.
    ("aiter::ck_moe", [[4, 32], [8, 32, 32], [8, 32, 16], [4, 2], [4, 2]], [H, H, H, F, "int"], None,
     2 * 8 * 3 * 16 * 32, 2 * 8 * 3 * 16 * 32 + 2 * 2 * 4 * 32, "bf16", "moe"),
    ("vllm::rocm_aiter_fused_moe", [[1, 32], [8, 32, 32], [8, 32, 16], [1, 2], [1, 2]],
     [H, "c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz", F, "int"], None,
     2 * 2 * 3 * 16 * 32, 2 * 3 * 16 * 32 + 2 * 2 * 32, "fp8", "moe"),
    # Four bits (MXFP4, INT4): half as many bytes as elements, and kernels widen them to the tokens' type.
    ("vllm::outplace_fused_experts", [[4, 32], [8, 32, 16], [8, 32, 8], [4, 2], [4, 2]],
     [H, "unsigned char", "unsigned char", F, "int"], None, 2 * 8 * 3 * 16 * 32,
     8 * 3 * 16 * 32 // 2 + 2 * 2 * 4 * 32, "bf16", "moe"),
    ("aiter::fused_moe_", [[4, 16], [8, 32, 16], [8, 32, 8], [4, 2], [4, 2]],
     ["c10::Float4_e2m1fn_x2"] * 3 + [F, "int"], None, 2 * 8 * 3 * 16 * 32,
     8 * 3 * 16 * 32 // 2 + 2 * 4 * 32 // 2, "fp4", "moe"),
    # Half the width, but 16 bits: they are no weights of these tokens.
    ("aiter::ck_moe", [[4, 32], [8, 32, 16], [8, 32, 8], [4, 2], [4, 2]], [H, H, H, F, "int"], None, None,
     None, None, "moe"),
    # INT8 weights under 16-bit activations multiply as 16 bits; the weights are read as bytes.
    ("aten::_weight_int8pack_mm", [[8, 128], [256, 128], [256]], [H, "signed char", H], None, 2 * 8 * 256 * 128,
     2 * 8 * 128 + 256 * 128 + 2 * 8 * 256, "bf16", "gemm"),
    ("_C::allspark_w8a16_gemm", [[8, 128], [128, 256], [1, 256], [], [], [], [], [], [], []],
     [H, "unsigned char", H, "", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar", "Scalar"], None,
     2 * 8 * 256 * 128, 2 * (8 * 128 + 8 * 256) + 128 * 256 + 2 * 256, "bf16", "gemm"),
    ("vllm::w8a8_block_fp8_matmul_deepgemm", [[8, 128], [256, 128], [8, 1], [2, 1], [], []],
     ["c10::Float8_e4m3fn"] * 2 + [F, F, "ScalarList", ""], None, 2 * 8 * 256 * 128,
     8 * 128 + 256 * 128 + 2 * 8 * 256, "fp8", "gemm"),
    ("sgl_kernel::dsv3_router_gemm", [[4, 256], [4, 7168], [256, 7168]], [F, H, H], None, 2 * 4 * 256 * 7168,
     2 * (4 * 7168 + 256 * 7168 + 4 * 256), "bf16", "gemm"),
    ("sglang::unified_attention_with_output", [[32, 64, 64]] * 3, [H] * 3, None, None, None, None, "attention"),
    ("flashinfer::BatchDecode", [[4, 8, 64]], [H], None, None, None, None, "attention"),
    ("_LayerNormMLP", [[32, 64], [64]], [H, H], None, None, None, None, "gemm"),
    # Servers and image models.
    ("aiter::rmsnorm", [[32, 64], [32, 64], [64], []], [H, H, H, "Scalar"], None, 4 * 2048, 2 * (2 * 2048 + 64), "bf16", "norm"),
    ("aiter::add_rmsnorm", [[8, 16]] * 4 + [[16], []], [H] * 5 + ["Scalar"], None, 5 * 128, 2 * (4 * 128 + 16), "bf16", "norm"),
    ("_C::fused_add_rms_norm", [[8, 16], [8, 16], [16], []], [H] * 3 + ["Scalar"], None, 5 * 128, 2 * (4 * 128 + 16), "bf16", "norm"),
    # Scales of channels are no last dimension: five operations per element of the image.
    ("aiter::_groupnorm_run", [[1, 512, 4, 4], [], [512], [512], []], [H, "Scalar", H, H, "Scalar"], None, 5 * 8192,
     2 * (2 * 8192 + 2 * 512), "bf16", "norm"),
    ("aten::native_batch_norm", [[2, 512, 4, 4]] + [[512]] * 4 + [[]] * 3, [F] * 5 + ["Scalar"] * 3, None, 5 * 16384,
     4 * (2 * 16384 + 4 * 512), "fp32", "norm"),
    ("_C::rotary_embedding", [[4], [4, 64], [4, 16], [], [128, 32], []], ["long int", H, H, "Scalar", H, "Scalar"], None,
     3 * 320, 4 * 8 + 2 * 2 * 320, "bf16", "elementwise"),
    ("_C_cache_ops::reshape_and_cache_flash", [[4, 2, 8], [4, 2, 8], [100, 16, 2, 8], [100, 16, 2, 8], [4], [], [], []],
     [H, H, "unsigned char", "unsigned char", "long int", "", F, F], None, 0, 2 * (64 * 2 + 64) + 4 * 8, "bf16", "copy"),
    ("sglang::store_cache", [[4, 16], [4, 16], [100, 16], [100, 16], [4], [], []], [H] * 4 + ["long int", "Scalar", "Scalar"],
     None, 0, 2 * 64 * 4 + 4 * 8, "bf16", "copy"),
    ("_C::static_scaled_fp8_quant", [[8, 16], [8, 16], []], ["c10::Float8_e4m3fn", H, F], None, 2 * 128, 128 + 256 + 4, "bf16",
     "elementwise"),
    ("aten::replication_pad3d", [[1, 2, 3, 4, 5], []], [H, "ScalarList"], ["", "[1, 1, 1, 1, 2, 0]"], 0,
     2 * (120 + 2 * 5 * 6 * 7), "bf16", "copy"),
    ("aten::constant_pad_nd", [[3, 5], [], []], [F, "ScalarList", "Scalar"], ["", "[0, 3]", "0"], 0, 4 * (15 + 24), "fp32", "copy"),
    ("aten::upsample_nearest2d", [[1, 2, 4, 4], [], []], [H, "", "ScalarList"], ["", "", "[2., 1.5]"], 0,
     2 * (32 + 2 * 8 * 6), "bf16", "copy"),
    ("aten::upsample_nearest2d", [[1, 2, 4, 4], [], [], []], [H, "ScalarList", "Scalar", "Scalar"], ["", "[8, 16]", "", ""], 0,
     2 * (32 + 2 * 8 * 16), "bf16", "copy"),
    ("aten::upsample_nearest2d", [[1, 2, 4, 4], [], []], [H, "", "ScalarList"], ["", "", ""], None, None, None, "copy"),
    # Three prompts of 8 tokens each, from keys and values of 2 heads.
    ("aiter::mha_batch_prefill", [[24, 4, 16], [100, 2, 16], [100, 2, 16], [4], [4], [99]] + [[]] * 7, [H] * 3 + ["int"] * 3 +
     ["Scalar"] * 7, [""] * 6 + ["8", "8", "0.", "0.25", "0.", "False", "True"], 2 * 4 * 24 * 8 * 32, 2 * (24 * 4 * 32 + 24 * 2 * 32),
     "bf16", "attention"),
    # Look-alikes: prompts of different lengths; keys of an earlier turn before them.
    ("aiter::mha_batch_prefill", [[23, 4, 16], [100, 2, 16], [100, 2, 16], [4], [4], [99]] + [[]] * 7, [H] * 3 + ["int"] * 3 +
     ["Scalar"] * 7, [""] * 6 + ["8", "8", "0.", "0.25", "0.", "False", "True"], None, None, None, "attention"),
    ("aiter::mha_batch_prefill", [[24, 4, 16], [100, 2, 16], [100, 2, 16], [4], [4], [99]] + [[]] * 7, [H] * 3 + ["int"] * 3 +
     ["Scalar"] * 7, [""] * 6 + ["8", "20", "0.", "0.25", "0.", "False", "True"], None, None, None, "attention"),
    ("aiter::fmha_v3_fwd", [[2, 16, 8, 64]] + [[2, 16, 2, 64]] * 2 + [[]] * 3, [H] * 3 + ["Scalar"] * 3, ["", "", "", "0.", "0.1", "True"],
     2 * 2 * 8 * 16 * 16 * 128, 2 * (2 * 16 * 8 * 64 * 2 + 2 * 2 * 16 * 2 * 64), "bf16", "attention"),
    ("xfuser::flydsl_attn_kernel", [[2, 16, 8, 64]] * 3 + [[]], [H] * 3 + ["Scalar"], ["", "", "", "False"], 2 * 2 * 8 * 16 * 16 * 128,
     2 * 4 * 2 * 16 * 8 * 64, "bf16", "attention"),
    ("sage_fwd_1", [[1, 24, 8, 16]] * 3 + [[]], ["signed char", "signed char", "c10::Float8_e4m3fnuz", "Scalar"], None,
     2 * 24 * 8 * 8 * 32, 4 * 24 * 8 * 16, "int8", "attention"),
    ("aiter::gemm_a16w16", [[8, 128], [256, 128], [], []], [H, H, "", "Scalar"], None, 2 * 8 * 256 * 128,
     2 * (8 * 128 + 256 * 128 + 8 * 256), "bf16", "gemm"),
    ("flashinfer::trtllm_fp4_block_scale_moe", [[4, 8, 64]], [H], None, None, None, None, "moe"),
    ("flashinfer::batch_decode_with_kv_cache_dtype_q_bf16_run", [[4, 8, 64]], [H], None, None, None, None, "attention"),
    ("flashinfer::fp4_quantize_sm100", [[4, 64]], [H], None, None, None, None, None),
    # Where the output goes is not read.
    ("aten::mul", [[512], [], [512]], [H, "double", H], None, 512, 2 * 2 * 512 + 8, "bf16", "elementwise"),
    # Not enough told, or nonsense: unknown, never 0.
    ("aten::mm", [[4, 8], [9, 16]], [H, H], None, None, None, None, "gemm"),
    ("aten::mm", [], [], None, None, None, None, "gemm"),
    ("vllm::unified_attention_with_output", [[32, 64, 64]] * 3, [H] * 3, None, None, None, None,
     "attention"),
    ("my::operator", [[4, 4]], [F], None, None, None, None, None),
]


def by_hand(tally, folder):
    events = []
    for i, (name, dims, types, values, *_) in enumerate(HAND):
        events.append(op(name, 100 * i, 50, dims, types, values))
        events += launched("some_kernel", 100 * i + 20, i + 1, 10, 100 * i + 10)
    path = write(folder, "hand.json", trace_of(events))
    got = rows(path, "SELECT w.name, w.flops, w.bytes, w.dtype, w.model, w.kernel_ns FROM op_work w "
                     "JOIN slices s ON s.id = w.op ORDER BY s.ts")
    for want, row in zip(HAND, got):
        name, dims, _, _, flops, moved, dtype, model = want
        tally.check("by hand: %s %s" % (name, dims),
                    row == (name, flops, moved, dtype, model, 10000),
                    "%s, by hand %s" % (row, want))
    tally.check("by hand: all %d" % len(HAND), len(got) == len(HAND))


def nvtx_shapes(tally, folder):
    """emit_nvtx(record_shapes=True) under Nsight Systems: PyTorch's text (getNvtxStr) tells shapes, the kernel's name the type."""
    path = os.path.join(folder, "emit_nvtx.sqlite")
    bf16, fp32 = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_tn", "ampere_sgemm_128x64_nn"
    names = [bf16, fp32, "cudaLaunchKernel", "void at::native::vectorized_elementwise_kernel"]
    ranges = [  # text, start, end, kernel
        ("train step", 0, 100000, None),
        ("aten::mm, seq = 7, op_id = 12, sizes = [[64, 128], [128, 256]], input_op_ids = [(3,0), (5,0)]", 1000, 9000, 0),
        ("aten::addmm, op_id = 13, sizes = [[32], [64, 16], [16, 32], [], []]", 11000, 19000, 1),
        ("aten::mm, op_id = 14", 21000, 29000, 1),                            # no sizes were recorded
        ("load, sizes = large", 31000, 39000, 3),                             # somebody's own words
        ("batch, sizes = [[64, 128], [128, 256]] of today", 41000, 49000, 3)]
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, cuDevice INTEGER, smCount INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
              correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
              streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER,
              gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
            CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER,
              color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);""")
        database.executemany("INSERT INTO StringIds VALUES(?, ?)", enumerate(names))
        database.execute("INSERT INTO TARGET_INFO_GPU VALUES(0, 'NVIDIA A100-SXM4-80GB', 0, 108)")
        thread = 0x1000001000001
        for i, (text, start, end, kernel) in enumerate(ranges):
            database.execute("INSERT INTO NVTX_EVENTS VALUES(?, ?, 59, NULL, NULL, NULL, ?, ?, NULL, NULL, 0)",
                             (start, end, text, thread))
            if kernel is None:
                continue
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?, ?, 1, ?, ?, 2, 0)",
                             (start + 100, start + 1000, thread, i))
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?, ?, 0, 1, 7, ?, ?, ?, ?, 1, 1, 1, 128, 1, 1)",
                             (start + 50000, start + 55000, i, thread & ~0xffffff, kernel, kernel))
    database.close()
    got = rows(path, "SELECT name, flops, bytes, dtype, kernel_ns FROM op_work WHERE op IS NOT NULL ORDER BY ts")
    tally.check("shapes of emit_nvtx give FLOPs and bytes", got == [
        ("aten::mm", 2 * 64 * 256 * 128, 2 * (64 * 128 + 128 * 256 + 64 * 256), "bf16", 5000),
        ("aten::addmm", 2 * 64 * 32 * 16, 4 * (32 + 64 * 16 + 16 * 32 + 64 * 32), "fp32", 5000)], got)
    got = rows(path, "SELECT name, sequence, external_id FROM ops o ORDER BY ts")
    tally.check("and their numbers", got == [("aten::mm", 7, 12), ("aten::addmm", None, 13)], got)
    got = rows(path, "SELECT name FROM nvtx ORDER BY ts")
    tally.check("what has no sizes stays a range", got == [(ranges[i][0],) for i in (0, 3, 4, 5)], got)
    got = rows(path, "SELECT sum(kernel_ns) FROM op_work")
    tally.check("and all kernels are in the rows", got == [(25000,)], got)


def nesting(tally, folder):
    """linear → addmm → kernel; a cast inside; a kernel of linear's own; a kernel without operator."""
    events = [op("aten::linear", 0, 100, [[4, 8], [16, 8], [16]], [F, F, F]),
              op("aten::to", 5, 10, [[4, 8]], [H]),
              op("aten::copy_", 6, 8, [[4, 8], [4, 8]], [F, H]),
              op("aten::addmm", 20, 50, [[16], [4, 8], [8, 16], [], []], [F, F, F, "", ""])]
    events += launched("cast", 300, 1, 3, 7) + launched("gemm_kernel", 310, 2, 20, 30)
    events += launched("splitk_reduce", 340, 3, 5, 40) + launched("extra", 350, 4, 7, 90)
    events += launched("alone", 400, 5, 11, 200) + launched("alone", 420, 6, 2, 201)
    path = write(folder, "nesting.json", trace_of(events))
    got = rows(path, "SELECT name, kernel_ns, kernels, flops, inside FROM op_work ORDER BY kernel_ns")
    tally.check("nested operators count once", got == [
        ("aten::copy_", 3000, 1, 0, 0), ("aten::linear", 7000, 1, None, 1),
        ("alone", 13000, 2, None, 0), ("aten::addmm", 25000, 2, 1024, 0)], got)
    total = rows(path, "SELECT (SELECT sum(kernel_ns) FROM op_work), (SELECT sum(dur) FROM kernels)")
    tally.check("kernel_ns adds up to all kernels", total[0][0] == total[0][1], total)


def experts_inside(tally, folder):
    """MXFP4 experts whose operator shows tokens and scores: the operators inside tell the rest; look-alikes are unknown."""
    def call(start, views, k="2", router=(4, 8)):
        events = [op("vllm::moe_forward", start, 80, [[4, 32], [4, 8], [], []], [H, H, "", ""]),
                  op("TopK", start + 5, 5, [list(router), [], []], [H, "Scalar", ""], ["", k, ""])]
        return events + [op("aten::view", start + 12 + 3 * i, 2, [view, []], [dtype, "ScalarList"]) for i, (view, dtype) in enumerate(views)]
    byte = "unsigned char"
    up, down = [8, 16, 32], [8, 8, 32]  # 32 deep, 2 * 16 wide; 16 deep, 32 wide
    cases = [([(up, byte), (down, byte)], {}, 2 * 4 * 2 * (32 * 32 + 16 * 32)),
             ([(up, byte), (up, byte), (down, byte)], {}, 2 * 4 * 2 * (32 * 32 + 16 * 32)),
             ([(up, byte)], {}, None),                                      # half of the weights
             ([(up, byte), (down, byte)], {"k": "two"}, None),              # how many experts is not told
             ([(up, byte), (down, byte)], {"router": (5, 8)}, None),        # the router of other tokens
             ([(up, byte), ([8, 16, 64], byte), (down, byte)], {}, None),   # weights of two sizes
             ([(up, byte), ([8, 6, 32], byte)], {}, None),                  # sizes that do not fit
             ([(up, H), (down, H)], {}, None)]                              # no bytes
    events = []
    for i, (views, more, _) in enumerate(cases):
        events += call(100 * i, views, **more)
        events += launched("_matmul_ogs", 100 * i + 60, i + 1, 10, 100 * i + 50)
    got = rows(write(folder, "experts.json", trace_of(events)),
               "SELECT w.flops, w.dtype, w.bytes FROM op_work w JOIN slices s ON s.id = w.op WHERE w.kernel_ns > 0 ORDER BY s.ts")
    tally.check("experts by the operators inside", [row[0] for row in got] == [flops for _, _, flops in cases], got)
    tally.check("in the type of the tokens, all weights once", got[0][1:] == ("bf16", 8 * (32 * 32 + 16 * 32) / 2 + 2 * 2 * 4 * 32), got[0])


def paged(tally, folder):
    """Lengths of paged attention from the step's name; MLA in the latent space; what does not tell stays unknown."""
    name = "vllm::unified_attention_with_output"
    q, k = [2, 8, 64], [2, 2, 64]
    step = "execute_context_0(sq0sk0sqsq0sqsk0)_generation_2(sq2sk1000sqsq2sqsk1000)"
    mixed = "execute_context_1(sq100sk100sqsq10000sqsk10000)_generation_1(sq1sk400sqsq1sqsk400)"
    plain = "execute_context_0(0)_generation_2(2)"
    mla = ("vllm::unified_mla_attention_with_output", [[2, 16, 192], [2, 512], [2, 1, 64], [2, 16, 128]])
    cases = [(step, name, [q, k, k, q], 20, 2 * 1000 * (512 + 512), 2 * (1000 * 256 + 2 * 1024)),
             (step, name, [[2, 512], [2, 128], [2, 128], [2, 512]], 20, 2 * 1000 * 1024, 2 * (1000 * 256 + 2 * 1024)),
             (mixed, name, [[101, 8, 64], [101, 2, 64], [101, 2, 64], [101, 8, 64]], 20, 2 * 10400 * 1024, 2 * (500 * 256 + 101 * 1024)),
             (plain, name, [q, k, k, q], 20, None, None),
             (step, *mla, 20, 2 * 1000 * 16 * (2 * 512 + 64), 2 * (1000 * 576 + 2 * 16 * (192 + 512))),
             (mixed, *mla, 20, None, None),                      # prefill works on what is not latent
             (step, "sglang::unified_attention_with_output", [q, k, k, q], 20, 2 * 1000 * 1024, 2 * (1000 * 256 + 2 * 1024))]
    cached = [100, 16, 2, 64]                                     # pages of 16 tokens
    cases += [(step, "_vllm_fa2_C::varlen_fwd", [q, cached, cached, q], 20, 2 * 1000 * 1024, 2 * (1000 * 256 + 2 * 1024)),
              (step, "_vllm_fa3_C::fwd", [q, cached, cached, [], [], [], q], 20, 2 * 1000 * 1024, 2 * (1000 * 256 + 2 * 1024)),
              (step, "sgl_kernel::fwd", [q, cached, cached, [], [], [], []], 20, 2 * 1000 * 1024, 2 * (1000 * 256 + 2 * 1024)),
              (step, "sgl_kernel::fwd", [q, [1600, 2, 64], [1600, 2, 64]], 20, None, None),   # no pages: layout unknown
              (step, "aiter::paged_attention_ragged", [q, [9], q, [100, 1, 2, 64], [100, 1, 2, 64]], 20, 2 * 1000 * 1024,
               2 * (1000 * 256 + 2 * 1024)),
              (step, "aiter::paged_attention_ragged", [q, [9], q, cached, cached], 20, None, None)]  # heads or tokens first?
    for code, cache in ((0, cached), (1, [100, 2, 16, 64]), (2, cached)):
        cases.append((step, "flashinfer::batch_decode_with_kv_cache_x_run", [[9], [9], [], q, cache, cache, [3], [9], [2], q, [], []], 20,
                      None if code == 2 else 2 * 1000 * 1024, None if code == 2 else 2 * (1000 * 256 + 2 * 1024),
                      [""] * 11 + [str(code)]))
    events, correlation = [], 0
    for i, (text, operator, dims, _, _, _, *values) in enumerate(cases):
        start = 1000 * i
        events.append({"ph": "X", "cat": "user_annotation", "name": text, "pid": 1, "tid": 1, "ts": start, "dur": 900})
        for at, us in ((10, 20), (200, 11), (400, 9)):           # the last as a layer with a window would
            correlation += 1
            events.append(op(operator, start + at, 50, dims, [H] * len(dims), *values))
            events += launched("paged", start + at + 100, correlation, us, start + at + 10)
    got = rows(write(folder, "paged.json", trace_of(events)), "SELECT w.flops, w.bytes FROM op_work w JOIN slices s ON s.id = w.op ORDER BY s.ts")
    want = []
    for _, _, _, _, flops, moved, *_ in cases:
        want += [(flops, moved), (flops, moved), (None, None)]
    tally.check("paged attention by the step's name", got == want, "%s\nby hand %s" % (got, want))
    # A causal mask hides half of the prompt's own pairs: of 100 × 100, and none of the 400 of the request that decodes.
    needed = rows(os.path.join(folder, "paged.json"), "SELECT w.flops_needed FROM op_work w JOIN slices s ON s.id = w.op ORDER BY s.ts")
    tally.check("half of a prompt is behind its mask", needed[6] == (2 * (10400 - 5000) * 1024,), needed[6])


def expanded(tally, folder):
    """What an expanded tensor repeats is read once: 10·512 of 10·512·7·7 elements, and all of them written."""
    events = [op("aten::div", 0, 50, [[10, 512, 7, 7], []], [H, "Scalar"], None, [[512, 1, 0, 0], []]), *launched("k", 100, 1, 10.0, 10)]
    got = rows(write(folder, "expanded.json", trace_of(events)), "SELECT flops, bytes FROM op_work")
    tally.check("expanded tensors are read once", got == [(250880, 2 * (5120 + 250880))], got)


# Product, type and operations or bytes per second, from the makers' pages, or tables of them (data/gpus.yaml names which).
PRODUCTS = [("TPU v4", "memory", 1200e9), ("TPU v5 Lite", "int8", 393e12), ("TPU v5e", "memory", 819e9),
            ("TPU v5p", "bf16", 459e12), ("TPU v6 Lite", "int8", 1836e12), ("TPU v6e", "memory", 1638e9),
            ("Trainium", "bf16", 190e12), ("Trainium2", "fp8", 1299e12), ("Trainium3", "memory", 4900e9),
            ("Gaudi2", "bf16", 432e12), ("Gaudi3", "fp8", 1835e12), ("HL-325L", "memory", 3670e9),
            ("NVIDIA GeForce RTX 3090", "bf16", 71e12), ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "memory", 1792e9), ("AMD Instinct MI100", "bf16", 92.3e12), ("NVIDIA A40", "int8", 299.3e12),
            ("NVIDIA GeForce RTX 4090", "bf16", 165.2e12), ("NVIDIA RTX 6000 Ada Generation", "memory", 960e9)]


def peaks_of_products(tally, folder):
    """Peaks by the name that profiles give a device."""
    types = {"bf16": H, "int8": "signed char", "fp8": "c10::Float8_e4m3fn", "memory": H}
    wrong = []
    for product, what, peak in PRODUCTS:
        name = "aten::_scaled_mm" if what == "fp8" else "aten::_int_mm" if what == "int8" else "aten::mm"
        events = [op(name, 0, 50, [[64, 64], [64, 64]], [types[what]] * 2), *launched("gemm", 100, 1, 10, 10)]
        path = write(folder, "product.json", trace_of(events, {"id": 0, "name": product}))
        row = next(row for row in table(path, "roofline") if row["kind"] == "operator")
        found = row["peak_bytes_per_s" if what == "memory" else "peak_flops_per_s"]
        if found is None or abs(found - peak) > 1e-9 * peak:
            wrong.append((product, what, found, peak))
    tally.check("peaks of %d products" % len(PRODUCTS), not wrong, wrong)
    # 76 multiprocessors × 2.52 GHz × 1024 operations, half of it on a GeForce (NVIDIA states 97.5 for the RTX 4080).
    for name, share in (("NVIDIA GeForce RTX 4080", 0.5), ("NVIDIA RTX 4500 Ada Generation", 1)):
        events = [op("aten::mm", 0, 50, [[64, 64], [64, 64]], [H, H]), *launched("gemm", 100, 1, 10, 10)]
        device = {"id": 0, "name": name, "computeMajor": 8, "computeMinor": 9, "numSms": 76}
        row = next(row for row in table(write(folder, "geforce.json", trace_of(events, device)), "roofline") if row["kind"] == "operator")
        tally.check("estimated peak of a %s" % name, abs(row["peak_flops_per_s"] - 76 * 2.52e9 * 1024 * share) < 1, row)


def old_convolution(tally, folder):
    """PyTorch 1.8 wrote shapes alone: the output comes from the operator that takes it."""
    events = [op("aten::conv2d", 0, 50, [[2, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], []]),
              op("aten::cudnn_convolution", 5, 40, [[2, 3, 8, 8], [4, 3, 3, 3]] + [[]] * 7),
              op("aten::batch_norm", 60, 10, [[2, 4, 4, 4], [4]])]
    events += launched("cudnn", 100, 1, 10, 10)
    path = write(folder, "old.json", trace_of(events))
    got = rows(path, "SELECT name, flops, estimated FROM op_work")
    tally.check("output of an old convolution", got == [
        ("aten::cudnn_convolution", 2 * 2 * 16 * 4 * 27, 1)], got)


def xla(tally, folder):
    path = os.path.join(FIXTURES, "jax_cpu.xplane.pb")
    got = rows(path, "SELECT n.id, n.flops, w.flops FROM (SELECT rowid AS id, slice, flops FROM nodes "
                     "WHERE flops IS NOT NULL) n JOIN op_work w ON w.op = n.slice")
    tally.check("XLA's figures stay equal (%d)" % len(got),
                len(got) > 30 and all(a == b for _, a, b in got), got[:5])
    with open(os.path.join(FIXTURES, "jax_cpu.flops.json"), encoding="utf-8") as file:
        expected = json.load(file)
    total = rows(path, "SELECT sum(flops) FROM op_work WHERE name LIKE 'jit(product)%'")[0][0]
    tally.check("XLA's cost analysis of a product",
                total == expected["flops"]["jit_product"] * expected["runs"], total)


def xla_on_rocm(tally, folder):
    """What XLA fused, and calls of libraries, are no elementwise operators; HBM3 is told with half its bandwidth."""
    tests = os.path.join(SHARED, "xplane", "AMD-AGI+TraceLens", "tests")
    if not os.path.isdir(tests):
        tally.skip("XLA on ROCm", "no ../shared")
        return
    attention = os.path.join(tests, "test_data_jax_te_fused_attn_categorization",
                             "934987a2fc2f.xplane.pb")
    got = rows(attention, "SELECT DISTINCT n.type, o.model FROM op_work o JOIN nodes n ON n.slice = o.op "
                          "ORDER BY 1, 2")
    tally.check("families of HLO", got == [
        ("custom fusion", "gemm"), ("custom-call", "attention"), ("custom-call", "gemm"),
        ("input fusion", "compiled"), ("loop fusion", "compiled")], got)
    # Transformer Engine's attention: [2, 2048, 3, 16, 128], two products forward and five backward, at one kernel of each call.
    pairs = 2 * 16 * 2048 * 2048 * 128
    got = rows(attention, "SELECT n.tactic, count(*), min(w.flops), max(w.flops), max(w.flops_needed), max(w.bytes), min(w.estimated) FROM op_work w "
                          "JOIN nodes n ON n.slice = w.op WHERE w.model = 'attention' AND w.flops IS NOT NULL GROUP BY 1 ORDER BY 1")
    size = 2 * 2048 * 4 * 16 * 128 * 2
    tally.check("FLOPs of Transformer Engine's attention in XLA, once a call", got == [
        ("te_fused_attn_backward_ffi", 10, 10 * pairs, 10 * pairs, 5 * pairs, 2 * size, 1),
        ("te_fused_attn_forward_ffi", 10, 4 * pairs, 4 * pairs, 2 * pairs, size, 1)], got)
    mi300 = os.path.join(tests, "traces", "mi300", "jax_conv_minimal_08", "tw003.xplane.pb")
    for path, peak in ((attention, 8.192e12), (mi300, 5.3248e12)):
        got = rows(path, "SELECT max(peak_bytes_per_s), max(over_roof) FROM roofline")
        tally.check("bandwidth of HBM3, nothing beyond it", got == [(peak, 0)], got)


def onnx(tally, folder):
    got = rows(os.path.join(FIXTURES, "ort_cpu_mlp.json.gz"),
               "SELECT DISTINCT flops, model FROM op_work WHERE model = 'gemm' ORDER BY 1")
    tally.check("ONNX Runtime: products from shapes with packed weights",
                got == [(2 * 8 * 128 * 10, "gemm"), (2 * 8 * 64 * 128, "gemm")], got)


def odd_inputs(tally, folder):
    """Texts of any shape load, and what they do not tell stays unknown."""
    odd = [[[-4, 8], [8, 16]], [[2**62, 2**62], [2**62, 3]], [[[[4]]], [8]], [["a", None], 3],
           [[1] * 9, [1] * 9], [[0, 8], [8, 0]], "no list", {"a": 1}, [[4.5, 2], [2, 2]]]
    events = []
    for i, dims in enumerate(odd):
        events.append(op("aten::mm", 100 * i, 50, dims, [F, F]))
        events.append(op("aten::convolution", 100 * i + 5, 40, dims, [F, F], ["", "", "", "[0]"]))
        events += launched("k", 100 * i + 20, 2 * i + 1, 10, 100 * i + 10)
        events += launched("k", 100 * i + 60, 2 * i + 2, 10, 100 * i + 47)
    path = write(folder, "odd.json", trace_of(events))
    got = rows(path, "SELECT flops, bytes FROM op_work")
    tally.check("odd shapes", all((f is None or f >= 0) and (b is None or b >= 0) for f, b in got),
                got)


# ---- rooflines ----

H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85 << 30, "computeMajor": 9,
        "computeMinor": 0, "numSms": 132, "maxThreadsPerBlock": 1024}
PEAKS = {"bf16": 989.5e12, "fp32": 67e12, "memory": 3350e9}  # data/gpus.yaml, read by a person
TARGET = 0.8


def roofline_events():
    """name, dims, type, kernel µs, FLOPs, bytes: one of each bound, one faster than possible."""
    cases = [("aten::mm", [[4096, 4096], [4096, 4096]], H, 300.0, 2 * 4096**3, 3 * 2 * 4096**2),
             ("aten::bmm", [[1, 8, 4096], [1, 4096, 4096]], H, 40.0, 2 * 8 * 4096**2,
              2 * (2 * 8 * 4096 + 4096**2)),
             ("aten::add", [[1 << 26], [1 << 26]], F, 400.0, 1 << 26, 3 * 4 << 26),
             ("aten::mul", [[1 << 10], [1 << 10]], F, 2.0, 1 << 10, 3 * 4 << 10),
             ("aten::addmm", [[4096], [4096, 4096], [4096, 4096]], H, 90.0, 2 * 4096**3,
              3 * 2 * 4096**2 + 2 * 4096)]
    events = []
    for i, (name, dims, dtype, us, _, _) in enumerate(cases):
        events.append(op(name, 1000 * i, 50, dims, [dtype] * len(dims)))
        events += launched("k%d" % i, 1000 * i + 20, i + 1, us, 1000 * i + 10)
    return cases, events


def roofs(tally, folder):
    cases, events = roofline_events()
    path = write(folder, "roofs.json", trace_of(events, H100))
    got = {row[0]: row[1:] for row in rows(
        path, "SELECT name, roof_share, bound, headroom_ns, over_roof, flops_per_s, bytes_per_s, "
              "intensity, attainable_flops_per_s FROM roofline WHERE kind = 'operator'")}
    bounds = {"aten::mm": "compute", "aten::bmm": "memory", "aten::add": "memory",
              "aten::mul": "latency", "aten::addmm": "compute"}
    least_all = headroom_all = time_all = 0
    for name, _, dtype, us, flops, moved in cases:
        peak = PEAKS["bf16"] if dtype == H else PEAKS["fp32"]
        least = max(flops / peak, moved / PEAKS["memory"])
        headroom = int(max(0.0, us * 1e3 - least / TARGET * 1e9))
        least_all, headroom_all, time_all = least_all + least, headroom_all + headroom, time_all + us
        share, bound, spare, over, rate, bandwidth, intensity, attainable = got[name]
        good = (abs(share - least / us * 1e6) < 1e-9 and bound == bounds[name] and
                abs(spare - headroom) <= 1 and over == (least / us * 1e6 > 1.05) and
                abs(rate - flops / us * 1e6) < 1e-6 * rate and
                abs(bandwidth - moved / us * 1e6) < 1e-6 * bandwidth and
                abs(intensity - flops / moved) < 1e-9 * intensity and
                abs(attainable - min(peak, flops / moved * PEAKS["memory"])) < 1e-9 * attainable)
        tally.check("roof of " + name, good, "%s\nby hand %s %s" % (got[name], least, headroom))
    device = rows(path, "SELECT name, headroom_ns, roof_share, total_ns FROM roofline WHERE kind = "
                        "'device'")[0]
    tally.check("roof of the device", device[0] == H100["name"] and
                abs(device[1] - headroom_all) <= 5 and
                abs(device[2] - least_all / time_all * 1e6) < 1e-9 and
                device[3] == time_all * 1000, device)
    unknown = dict(H100, name="Accelerator X", computeMajor=77)
    path = write(folder, "unknown.json", trace_of(events, unknown))
    got = rows(path, "SELECT count(roof_share), count(headroom_ns), count(attainable_flops_per_s), "
                     "count(flops_per_s) FROM roofline WHERE kind = 'operator'")
    tally.check("an unknown device has no roofs", got == [(0, 0, 0, 5)], got)


def roofline_plot(tally, folder):
    """The picture and its data: operators by headroom, the roofs of their types, no more than the width."""
    cases, events = roofline_events()
    path = write(folder, "plot.json", trace_of(events, H100))
    data = [row for row in table(path, "roofline") if row["kind"] == "operator"]
    tally.check("roofs beside every operator", len(data) == len(cases) and all(
        row["peak_bytes_per_s"] == PEAKS["memory"] and row["peak_flops_per_s"] == PEAKS[
            "bf16" if row["model"] == "gemm" else "fp32"] for row in data), data)
    others = [row for row in table(path, "roofline") if row["kind"] != "operator"]
    tally.check("a family of several types has no peak", others and all(
        row["peak_flops_per_s"] is None for row in others), others)
    for width, locale in ((60, "C"), (100, "en_US.UTF-8")):
        result = neurolens(["analyze", path, "--section", "roofline", "--no-cache"],
                           extra={"COLUMNS": str(width), "LC_ALL": locale})
        lines = result.stdout.split("\n\n")[1].split("\n")[2:]
        picture = [line for line in lines if " |" in line or " \u2524" in line or " \u2502" in line]
        drawn = "".join(picture)
        tally.check("plot at %d columns, %s" % (width, locale), len(picture) >= 10 and all(
            len(line) <= width for line in lines) and
            any("  %d %s " % (i + 1, data[i]["name"]) in line for i in (0, 1) for line in lines) and
            "bf16 products: 989.5 TFLOP/s, 3.350 TB/s, ridge at 295.4" in "\n".join(lines) and
            all(str(i + 1) in drawn for i in range(3)) and (locale != "C" or drawn.isascii()),
            result.stdout)


def efficiency(tally, folder):
    """HFU over two steady steps of 1 ms; MFU leaves out a fifth of attention's backward pass."""
    q = [[2, 512, 16, 64]] * 3
    events, correlation = [], 0
    for step in range(4):
        start = 1000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1,
                       "tid": 1, "ts": start, "dur": 1000, "args": {}})
        for name, dims, offset, us in [
                ("aten::mm", [[2048, 2048], [2048, 2048]], 10, 100.0),
                ("aten::_flash_attention_backward", [[2, 512, 16, 64]] + q + [[2, 512, 16, 64]], 300,
                 200.0)]:
            correlation += 1
            events.append(op(name, start + offset, 50, dims, [H] * len(dims)))
            events += launched("k" + name[6:8], start + offset + 100, correlation, us,
                               start + offset + 10)
    path = write(folder, "steps.json", trace_of(events, H100))
    mm, attention = 2 * 2048**3, 2 * 2 * 16 * 512 * 512 * 5 * 64
    result = ask("analyze", path, "--section", "efficiency")["result"]["efficiency"]
    row = result["rows"][0] if isinstance(result, dict) else result[0]
    hfu = (mm + attention) / 1e-3 / PEAKS["bf16"]
    mfu = (mm + attention * 4 / 5) / 1e-3 / PEAKS["bf16"]
    tally.check("HFU and MFU", abs(row["hfu"] - hfu) < 1e-6 * hfu and abs(row["mfu"] - mfu) < 1e-6 *
                mfu and row["dtype"] == "bf16" and row["steps"] >= 2, row)
    row = ask("analyze", path, "--section", "efficiency", "--flops-per-step", "1e11",
              "--tokens-per-step", "1024")["result"]["efficiency"]
    row = row["rows"][0] if isinstance(row, dict) else row[0]
    tally.check("MFU of FLOPs as told, tokens per second",
                abs(row["mfu"] - 1e11 / 1e-3 / PEAKS["bf16"]) < 1e-9 and
                abs(row["tokens_per_s"] - 1024e3) < 1e-6, row)
    other = write(folder, "other-steps.json", trace_of(events, {"id": 0, "name": "NVIDIA A100-PG509-200"}))
    said = neurolens(["analyze", other, "--section", "efficiency", "--no-cache"])
    tally.check("why there is no MFU", "MFU unknown: the peaks of NVIDIA A100-PG509-200" in
                " ".join(said.stdout.split()), said.describe())
    for device, words in (({"id": 0, "name": ""}, "the profile does not name the device, so its peaks are not known"),
                          ({"id": 0, "name": "Accelerator X"}, "the peaks of Accelerator X are not in the list of devices")):
        said = neurolens(["analyze", write(folder, "no-roof.json", trace_of(events, device)), "--no-cache"])
        block = " ".join(said.stdout.split()).partition("efficiency ")[2]
        tally.check("the first lines say why there is no roof: %s" % device["name"], block.startswith("no roof") and words in block[:200], said.describe())
    bad = neurolens(["analyze", path, "--flops-per-step", "many"])
    tally.check("--flops-per-step takes a number", bad.status == 2, bad.describe())


def little_use(tally, folder):
    """Next to no use of the peak is small, not none: 2·64³ FLOPs in 10 ms are 0.000005 % of an H100. Where operators take
    next to no time, the short page leaves out how good they are; their table has it."""
    for took, shown in ((200.0, True), (10.0, False)):
        events = []
        for i in range(100):
            events.append(op("aten::mm", 10000 * i, 50, [[64, 64], [64, 64]], [H, H]))
            events += launched("gemm", 10000 * i + 100, i + 1, took, 10000 * i + 10)
        path = write(folder, "little.json", trace_of(events, H100))
        said, table = (neurolens(["analyze", path, "--no-cache", *more]) for more in ((), ("--section", "compute")))
        tally.check("use of the peak below 0.1 %%, operators %s µs of 10 ms" % took,
                    ("HFU below 0.1 %:" in said.stdout) == shown and ("efficiency" in said.stdout) == shown and
                    "TFLOP/s" in table.stdout, said.describe() + table.describe())


def unlisted_devices(tally, folder):
    """ROCm numbers kernels' devices as its driver does: one that is not listed is of the only product that is."""
    mi300 = {"id": 0, "name": "AMD Instinct MI300X", "totalGlobalMem": 192 << 30, "computeMajor": 9, "computeMinor": 4,
             "numSms": 304}
    events = [op("aten::mm", 0, 50, [[64, 64], [64, 64]], [H, H]), *launched("gemm", 100, 1, 10.0, 10, device=9)]
    for what, devices, want in [
            ("one product", [mi300], "AMD Instinct MI300X"),
            ("eight of it", [dict(mi300, id=i) for i in range(8)], "AMD Instinct MI300X"),
            ("two products", [mi300, dict(mi300, id=1, name="AMD Instinct MI210", numSms=104)], None),
            ("none", [], None)]:
        path = write(folder, "unlisted.json", dict(trace_of(events), deviceProperties=devices))
        got = rows(path, "SELECT name, ordinal FROM devices WHERE ordinal = 9")
        noted = [row for row in rows(path, "SELECT item, count FROM coverage WHERE item LIKE 'devices that%'")]
        tally.check("a device that is not listed: " + what, got == [(want, 9)] and
                    noted == ([("devices that are not listed", 1)] if want else []), (got, noted))


def layers_and_steps(tally, folder):
    """Two modules over three steps; figures by hand, and sums that must agree with the device's."""
    cases = [("aten::mm", [[2048, 2048], [2048, 2048]], H, "nn.Module: Linear_0", 100.0,
              2 * 2048**3, 3 * 2 * 2048**2),
             ("aten::add", [[1 << 24], [1 << 24]], F, "nn.Module: Norm_0", 150.0, 1 << 24, 12 << 24),
             ("aten::_flash_attention_backward", [[2, 512, 16, 64]] * 5, H, "nn.Module: Linear_0",
              200.0, 2 * 2 * 16 * 512 * 512 * 5 * 64, None),
             ("aten::mul", [[1 << 24], [1 << 24]], F, None, 150.0, 1 << 24, 12 << 24)]
    events, correlation = [], 0
    for step in range(3):
        start = 2000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 1,
                       "tid": 1, "ts": start, "dur": 2000, "args": {}})
        for i, (name, dims, dtype, module, us, _, _) in enumerate(cases):
            at = start + 300 * i
            correlation += 1
            if module:
                events.append({"ph": "X", "cat": "python_function", "name": module, "pid": 1,
                               "tid": 1, "ts": at, "dur": 100, "args": {
                                   "Python id": correlation, "Python parent id": None,
                                   "Python module id": i}})
            events.append(op(name, at + 5, 50, dims, [dtype] * len(dims)))
            events += launched("k%d" % i, at + 20, correlation, us, at + 10)
    path = write(folder, "layers.json", trace_of(events, H100))
    layers = {row["name"]: row for row in table(path, "layer_efficiency")}
    linear, norm = layers.get("nn.Module: Linear_0"), layers.get("nn.Module: Norm_0")
    mm, attention = cases[0][5], cases[2][5]
    tally.check("two modules, none for what is in none", len(layers) == 2 and linear and norm and
                linear["total_ns"] == 900000 and norm["total_ns"] == 450000 and
                abs(linear["hfu"] - (mm + attention) / PEAKS["bf16"] / 300e-6) < 1e-9 and
                abs(norm["roof_share"] - (12 << 24) / PEAKS["memory"] / 150e-6) < 1e-9 and
                linear["bound"] == "compute" and norm["bound"] == "memory", layers)
    steps = table(path, "step_efficiency")
    hfu = (mm + attention) / PEAKS["bf16"] / 2e-3
    mfu = (mm + attention * 4 / 5) / PEAKS["bf16"] / 2e-3
    tally.check("use of the peak per step", len(steps) == 3 and all(
        row["wall_ns"] == 2000000 and row["kernel_ns"] == 600000 and abs(row["hfu"] - hfu) < 1e-9 and
        abs(row["mfu"] - mfu) < 1e-9 for row in steps), steps)
    device = [row for row in table(path, "roofline") if row["kind"] == "device"][0]
    tally.check("headroom of steps adds up to the device's",
                sum(row["headroom_ns"] for row in steps) == device["headroom_ns"] > 0, device)
    sums = rows(path, "SELECT kind, sum(total_ns), sum(headroom_ns) FROM roofline WHERE kind IN "
                      "('operator', 'layer', 'step', 'device') GROUP BY kind ORDER BY kind")
    want = {row[0]: row[1:] for row in sums}
    tally.check("SQL: operators, steps and device add up to the same", want["operator"] ==
                want["step"] == want["device"] and want["layer"][0] == 1350000, sums)
    told = ask("analyze", path, "--section", "step_efficiency", "--flops-per-step", "1e11",
               "--tokens-per-step", "4096")["result"]["step_efficiency"]
    tally.check("steps as told", all(abs(row["mfu"] - 1e11 / 2e-3 / PEAKS["bf16"]) < 1e-9 and
                                     abs(row["tokens_per_s"] - 4096 / 2e-3) < 1e-6 for row in told),
                told)


def unknown_work(tally, folder):
    """Notes name what has most of the time of unknown work."""
    mm, mine = ("aten::mm", [[64, 64], [64, 64]], H, 10.0), ("my::operator", [[4, 4]], F, 30.0)
    def note(name, events):
        path = write(folder, name, trace_of(events, H100))
        return " ".join(neurolens(["analyze", path, "--section", "compute"]).stdout.split())
    events = []
    for i, (name, dims, dtype, us) in enumerate([mm, mine]):
        events.append(op(name, 100 * i, 50, dims, [dtype] * len(dims)))
        events += launched("k%d" % i, 100 * i + 20, i + 1, us, 100 * i + 10)
    said = note("unknown.json", events)
    tally.check("the operator of unknown work",
                "known for 25.0 %" in said and
                "the largest operator of unknown work is my::operator (75.0 %)" in said, said)
    said = note("alone.json", events[:3] + launched("replayed", 900, 9, 90.0)[1:])
    tally.check("kernels in no operator", "90.0 % is of kernels in no operator" in said, said)
    said = note("known.json", events[:3])
    tally.check("nothing of unknown work", "known for 100.0 %" in said and
                "unknown work" not in said and "in no operator" not in said, said)


def moves(tally, folder):
    """diff and run.json: the same products at half and at all of their speed, figures by hand."""
    paths, use = [], []
    for us in (400.0, 200.0):
        events, correlation = [], 0
        for step in range(4):
            start = 1000 * step
            events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step,
                           "pid": 1, "tid": 1, "ts": start, "dur": 1000, "args": {}})
            for name, dims, offset in (("aten::mm", [[4096, 4096], [4096, 4096]], 10),
                                       ("aten::add", [[1 << 24], [1 << 24]], 500)):
                correlation += 1
                events.append(op(name, start + offset, 50, dims, [H if name == "aten::mm" else F] * 2))
                events += launched("k" + name[6:], start + offset + 10, correlation,
                                   us if name == "aten::mm" else 100.0, start + offset + 5)
        paths.append(write(folder, "moves%d.json" % us, trace_of(events, H100)))
        use.append(2 * 4096**3 / PEAKS["bf16"] / (us * 1e-6))
    answer = neurolens(["diff", *paths, "--section", "efficiency", "--format", "json"])
    got = {row["name"]: row for row in json.loads(answer.stdout)["result"]["efficiency"]}
    mm, all_devices = got["aten::mm"], got["all devices"]
    tally.check("diff: share of the roof moves", abs(mm["base_roof_share"] - use[0]) < 1e-9 and
                abs(mm["new_roof_share"] - use[1]) < 1e-9 and
                abs(mm["change_share"] - (use[1] - use[0])) < 1e-9 and mm["dtype"] == "bf16" and
                got["aten::add"]["change_share"] == 0, got)
    tally.check("diff: HFU moves not where the wall stays", abs(
        all_devices["base_hfu_share"] - 2 * 4096**3 / PEAKS["bf16"] / 1e-3) < 1e-9 and
        all_devices["base_hfu_share"] == all_devices["new_hfu_share"] and
        all_devices["base_headroom_ns"] > all_devices["new_headroom_ns"], all_devices)
    document = neurolens(["export", paths[0], "--to", "run.json", "-o", "-"])
    metrics = {row["name"]: row["value"] for row in json.loads(document.stdout)["metrics"]}
    flops, moved = 2 * 4096**3 + (1 << 24), 3 * 2 * 4096**2 + (12 << 24)
    least = 2 * 4096**3 / PEAKS["bf16"] + (12 << 24) / PEAKS["memory"]
    spare = (max(0, 400e-6 - 2 * 4096**3 / PEAKS["bf16"] / TARGET) +
             max(0, 100e-6 - (12 << 24) / PEAKS["memory"] / TARGET))
    want = {"hfu": 2 * 4096**3 / PEAKS["bf16"] / 1e-3, "operator_mfu": 2 * 4096**3 / PEAKS["bf16"] / 1e-3,
            "achieved_flops_per_s": flops / 500e-6, "achieved_bytes_per_s": moved / 500e-6,
            "roof_share": least / 500e-6, "headroom_share": spare / 500e-6}
    wrong = {name: (metrics.get(name), value) for name, value in want.items()
             if metrics.get(name) is None or abs(metrics[name] - value) > 1e-5 * value}
    tally.check("run.json: derived metrics of the work", not wrong, wrong)


# ---- phases and links ----

def table(path, section):
    result = ask("analyze", path, "--section", section)["result"][section]
    return result["rows"] if isinstance(result, dict) else result


def phases(tally, folder):
    """vLLM names its steps; kernels launched in them are theirs, also from graphs."""
    events, correlation = [], 0
    named = [("execute_context_1(512)_generation_0(0)", 400, 0), ("execute_context_0(0)_generation_8(8)",
             50, 1), ("execute_16_context_1(sq8sk8sqsq64sqsk64)_generation_8(sq8sk900sqsq8sqsk900)", 90, 0),
             ("execute_context_0(0)_generation_8(8)", 60, 1)]
    for i, (name, us, graph) in enumerate(named):
        start = 1000 * i
        events.append({"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1,
                       "ts": start, "dur": 900, "args": {}})
        for k in range(2):
            correlation += 1
            pair = launched("k", start + 100 + k * us, correlation, us, start + 10 + k)
            if graph:
                pair[1]["args"]["graph id"] = 3
            events += pair
    path = write(folder, "vllm.json", trace_of(events, H100))
    got = {row["phase"]: row for row in table(path, "phases_llm")}
    decode, prefill, mixed = got.get("decode"), got.get("prefill"), got.get("mixed")
    tally.check("phases of vLLM's steps", bool(decode and prefill and mixed) and
                decode["steps"] == 2 and decode["kernel_ns"] == 220000 and
                decode["tokens_per_step"] == 8 and decode["requests_per_step"] == 8 and
                abs(decode["ns_per_token"] - (100e3 + 120e3) / 2 / 8) < 1e-6 and
                prefill["tokens_per_step"] == 512 and prefill["step_ns"] == 800000 and
                mixed["tokens_per_step"] == 16 and mixed["requests_per_step"] == 9 and
                mixed["kv_tokens_per_step"] == 908 and prefill["gap_ns"] == 200000, got)


def layers_of_a_step(tally, folder):
    """What comes round inside one step of a server's engine is no step: layers between replays of pieces of a graph."""
    events, correlation = [], 0
    for layer in range(24):
        for k, name in enumerate(("attention", "gemm_up", "gemm_down", "norm")):
            correlation += 1
            at = 1000 + 100 * layer + 20 * k
            events += launched(name, at, correlation, 15.0, 10 + 30 * layer + 5 * k)
    mark = {"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 0, "dur": 900, "args": {}}
    for name, found in [("execute_8192_context_9(8155)_generation_37(37)", False), ("step[EXTEND bs=15 toks=15360]", False),
                        ("epoch", True), (None, True)]:
        path = write(folder, "layers.json", trace_of(events + ([dict(mark, name=name)] if name else []), H100))
        got = rows(path, "SELECT count(*) FROM detected_steps")[0][0]
        tally.check("layers inside %s" % name, (got > 2) == found, got)


def phases_without_names(tally, folder):
    """Marked steps tell their phase by kernels, queries or their pattern; look-alikes tell none."""
    def answer(name, kernel, lengths, dims=None, more=()):
        events = list(more)
        for i, us in enumerate(lengths):
            start, shape = 10000 * i, dims(i) if dims else []
            events += [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % i, "pid": 1,
                        "tid": 1, "ts": start, "dur": 9000, "args": {}},
                       op("aten::_flash_attention_forward", start + 100, 50, shape, [H] * len(shape))]
            events += launched(kernel, start + 200, 2 * i + 1, us, start + 110)
            events += launched("sm90_xmma_gemm_bf16_tile", start + 200 + us, 2 * i + 2, us, start + 155)
        path = write(folder, "phases.json", trace_of(events, H100))
        return [(row["phase"], row["steps"], row["source"], row["confidence"])
                for row in table(path, "phases_llm")]

    def sizes(queries):
        return lambda i: [[4, queries(i), 16, 64], [4, 512, 16, 64], [4, 512, 16, 64]]

    alike, flash = [200.0] * 10, "flash_fwd_kernel"
    cases = [
        ("attention kernels made for decode", [("decode", 10, "attention kernels", 0.9)],
         ("BatchDecodeWithPagedKVCacheKernel", alike)),
        ("queries of attention: one, after many",
         [("prefill", 1, "queries of attention", 0.9), ("decode", 9, "queries of attention", 0.9)],
         (flash, alike, sizes(lambda i: 1 if i else 512))),
        ("a long step before many alike",
         [("prefill", 1, "pattern of steps", 0.6), ("decode", 9, "pattern of steps", 0.6)],
         (flash, [2000.0] + alike[1:])),
        ("many queries in all steps (a vision transformer)", [], (flash, alike, sizes(lambda i: 197))),
        ("all steps alike", [], (flash, alike)),
        ("steps of all lengths", [], (flash, [2000.0, 200.0, 900.0, 300.0] * 3)),
        ("no attention", [], ("softmax", [2000.0] + alike[1:])),
        ("training", [], ("BatchDecodeWithPagedKVCacheKernel", alike, None,
                          [op("autograd::engine::evaluate_function: MmBackward0", 5, 5, [])]))]
    for what, want, arguments in cases:
        got = answer(what, *arguments)
        tally.check("phases without names: " + what, len(got) == len(want) and all(
            a[:3] == b[:3] and abs(a[3] - b[3]) < 1e-9 for a, b in zip(got, want)), got)


def training(tally, folder):
    events = [op("aten::mm", 0, 50, [[4, 4], [4, 4]], [F, F]),
              op("autograd::engine::evaluate_function: MmBackward0", 100, 50, []),
              op("aten::mm", 110, 30, [[4, 4], [4, 4]], [F, F]),
              op("MulBackward0", 200, 50, []), op("aten::mul", 210, 30, [[4], [4]], [F, F]),
              {"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 1,
               "tid": 1, "ts": 300, "dur": 50, "args": {}},
              op("aten::add_", 310, 30, [[4], [4]], [F, F])]
    for i, (ts, us) in enumerate([(10, 5), (120, 7), (220, 11), (320, 13)]):
        events += launched("k%d" % i, 1000 + 100 * i, i + 1, us, ts)
    path = write(folder, "training.json", trace_of(events))
    got = {row["phase"]: row["kernel_ns"] for row in table(path, "phases_llm")}
    tally.check("passes of training", got == {"forward": 5000, "backward": 18000,
                                              "optimizer": 13000}, got)


def micro_batches(tally, folder):
    """Three micro-batches of two steps; the same without accumulation; gradients scaled in between; two optimizers."""
    gemm, other = "ampere_sgemm_128x64_nn", "vectorized_elementwise_kernel"

    def of(plan):
        events, ts = [], 0
        for i, kind in enumerate(plan):
            inner = {"F": op("aten::mm", ts + 10, 30, [[4, 4], [4, 4]], [F, F]),
                     "B": op("aten::mm", ts + 10, 30, [[4, 4], [4, 4]], [F, F]),
                     "O": op("aten::add_", ts + 10, 30, [[4], [4]], [F, F]),
                     "s": op("aten::mul_", ts + 10, 30, [[4], []], [F, F])}[kind]
            if kind == "B":
                events.append(op("autograd::engine::evaluate_function: MmBackward0", ts, 50, []))
            if kind == "O":
                events.append({"ph": "X", "cat": "user_annotation", "name": "Optimizer.step#AdamW.step", "pid": 1,
                               "tid": 1, "ts": ts, "dur": 50, "args": {}})
            events.append(inner)
            events += launched(gemm if kind in "FB" else other, ts + 20, i + 1, {"F": 5, "B": 11, "O": 3, "s": 1}[kind], ts + 15)
            ts += 100
        path = write(folder, "micro.json", trace_of(events))
        return {row["phase"]: (row["micro_batches"], row["micro_batch_ns"]) for row in table(path, "phases_llm")}
    got = of("FFBBFFBFB" "O" "FBFFBBFB" "OO")
    tally.check("micro-batches per optimizer step", got == {
        "forward": (3, (5 + 4) * 5000 // 6), "backward": (3, (4 + 4) * 11000 // 6), "optimizer": (None, None)}, got)
    for name, plan in (("no accumulation has none", "FFBBOFFBBO"), ("nor have gradients that are scaled in between", "FFBsBsBOFBsBO"),
                       ("nor two models with an optimizer each", "FBOFBOFBOFBO"), ("without an optimizer it is not known", "FBFBFB")):
        got = of(plan)
        tally.check(name, got and all(value == (None, None) for value in got.values()), got)


def links(tally, folder):
    """All-reduce of 64 MiB of bf16 in 8 ranks: the shortest stands for the transfer."""
    events = []
    for i, us in enumerate([400.0, 900.0, 500.0]):
        pair = launched("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1000 * i + 20, i + 1, us,
                        1000 * i + 10)
        pair[1]["args"].update({
            "Collective name": "allreduce", "dtype": "BFloat16", "Group size": 8,
            "In msg nelems": 1 << 25, "Out msg nelems": 1 << 25, "Process Group Name": "0"})
        events += pair
    path = write(folder, "links.json", trace_of(events, H100))
    got = table(path, "bus_bandwidth")
    algorithm = (2 << 25) / 400e-6
    tally.check("bus bandwidth of an all-reduce", len(got) == 1 and got[0]["count"] == 3 and
                abs(got[0]["algorithm_bytes_per_s"] - algorithm) < 1e-6 * algorithm and
                abs(got[0]["bus_bytes_per_s"] - algorithm * 7 / 4) < 1e-6 * algorithm and
                abs(got[0]["link_share"] - algorithm * 7 / 4 / 450e9) < 1e-9, got)
    tally.check("too few calls for more", got[0]["waiting_ns"] is None and got[0]["verdict"] == "too few calls", got)


def verdicts(tally, folder):
    """Late, slow, both, neither; groups of one rank and the first call, which connects the ranks, are neither."""
    def of(lengths, elements=1 << 25, ranks=8, device=H100):
        events = []
        for i, us in enumerate(lengths):
            pair = launched("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100000 * i + 20, i + 1, us, 100000 * i + 10)
            pair[1]["args"].update({
                "Collective name": "allreduce", "dtype": "BFloat16", "Group size": ranks, "In msg nelems": elements,
                "Out msg nelems": elements, "Process Group Name": "0"})
            events += pair
        got = table(write(folder, "verdicts.json", trace_of(events, device)), "bus_bandwidth")
        return [(row["verdict"], row["waiting_ns"], row["expected_ns"]) for row in got]
    # 64 MiB in 8 ranks: 2^26 bytes × 7/4 / (0.8 × 450 GB/s) = 326,223 ns
    expected = round(2 ** 26 * 7 / 4 / (0.8 * 450e9) * 1e9)
    for name, lengths, more, verdict, waiting, time in (
            ("as fast as it can", [400.0] * 4, {}, "as expected", 0, expected),
            ("the first connects the ranks", [90000.0, 400.0, 400.0, 410.0], {}, "as expected", 10000, expected),
            ("others come late", [400.0, 400.0, 1200.0, 1200.0], {}, "late", 1600000, expected),
            ("slow for its size", [900.0] * 4, {}, "slow", 0, expected),
            ("late and slow", [900.0, 900.0, 3000.0, 3000.0], {}, "late and slow", 4200000, expected),
            ("small", [20.0] * 4, {"elements": 1 << 15}, "small", 0, None),
            ("small and late", [20.0, 20.0, 90.0, 90.0], {"elements": 1 << 15}, "late", 140000, None),
            ("a group of one rank", [20.0, 20.0, 9000.0, 9000.0], {"ranks": 1}, "one rank", None, None),
            ("two behind the first", [400.0, 900.0, 900.0], {}, "too few calls", None, expected),
            ("a device without a known link", [400.0] * 4, {"device": dict(H100, name="Unheard-of 9000")}, None, 0, None)):
        got = of(lengths, **more)
        tally.check("collective: " + name, got == [(verdict, waiting, time)], (got, verdict, waiting, time))


# ---- causes inside compute ----

def planted(folder, name, calls, device=None):
    """A trace of operators back to back on the device: (name, dims, dtype, µs), twenty times over. More
    of a call: `kernel` its name, `args` of the kernel, `range` around it, `slow` a factor of its length in
    those rounds. With `range` of steps each round is one."""
    events, at, correlation = [], 0.0, 0
    for turn in range(20):
        begin, spans = correlation * 3 + 3, {}
        for operator, dims, dtype, us, *more in calls:
            more = more[0] if more else {}
            correlation += 1
            types = [dtype] * len(dims) if isinstance(dtype, str) else dtype
            us *= more.get("slow", {}).get(turn, 1)
            if more.get("range"):
                spans.setdefault(more["range"], []).append(correlation * 3)
            events.append(op(operator, correlation * 3, 2, dims, types, more.get("values")))
            call, kernel = launched(more.get("kernel", "k_" + operator.split("::")[-1]), 10000 + at,
                                    correlation, us, correlation * 3 + 1)
            kernel["args"].update(more.get("args", {}))
            events += [call, kernel]
            at += us
        for annotation, times in spans.items():
            events.append({"ph": "X", "cat": "user_annotation", "name": annotation, "pid": 1, "tid": 1,
                           "ts": times[0] - 0.25, "dur": times[-1] - times[0] + 2.5, "args": {}})
        if any(len(call) > 4 and call[4].get("steps") for call in calls):
            events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % turn,
                           "pid": 1, "tid": 1, "ts": begin - 0.25,
                           "dur": correlation * 3 + 2.5 - begin, "args": {}})
    return write(folder, name, trace_of(events, device or H100))


BIG = ("aten::mm", [[4096, 4096], [4096, 4096]], H, 160.0)
SKINNY = ("aten::mm", [[8, 8192], [8192, 8192]], H, 50.0)
ODD = ("aten::mm", [[4096, 4095], [4095, 4095]], H, 600.0)
ADD = ("aten::add", [[1 << 24], [1 << 24]], F, 70.0)
CAST = ("aten::copy_", [[1 << 24], [1 << 24]], [F, H], 60.0)
SCORES = [("aten::bmm", [[64, 1024, 64], [64, 64, 1024]], H, 60.0),
          ("aten::_softmax", [[64, 1024, 1024], [], []], [H, "", ""], 90.0),
          ("aten::bmm", [[64, 1024, 1024], [64, 1024, 64]], H, 60.0)]
FLASH = ("aten::_flash_attention_forward", [[4, 1024, 16, 64]] * 3, H, 60.0)
OTHER = dict(H100, name="Accelerator X", computeMajor=77)
A100 = dict(H100, name="NVIDIA A100-SXM4-80GB", computeMajor=8, numSms=108)
B200 = dict(H100, name="NVIDIA B200", computeMajor=10, numSms=148)
SOME_A100 = dict(A100, name="NVIDIA A100", totalGlobalMem=0)  # of 40 or 80 GB: bandwidth not known
TF32 = {"kernel": "cutlass_80_tensorop_s1688gemm_128x128_tn_align4"}
WIDE = ("aten::mm", [[4096, 4096], [4096, 4096]], F, 330.0, TF32)
GATHER = ("aten::embedding", [[1 << 20, 64], [1 << 20]], [F, "long int"], 900.0)


def scaled(fast, us=120.0):
    """An FP8 product of 2·4096³ FLOPs (69 µs at the roof of an H100) as torch._scaled_mm is recorded."""
    return ("aten::_scaled_mm", [[4096, 4096], [4096, 4096], [], [], [], [], [], []],
            ["c10::Float8_e4m3fn"] * 2 + [F, F, "", "", "Scalar", "Scalar"], us, {"values": [""] * 6 + ["15", fast]})


def launch(blocks, threads, registers, shared=0, kernel="k_some"):
    return {"kernel": kernel, "args": {
        "grid": [blocks, 1, 1], "block": [threads, 1, 1], "registers per thread": registers,
        "shared memory": shared}}


def matrix(blocks, shared=200 * 1024):
    """A product of one block a multiprocessor (shared memory), of that many blocks."""
    return BIG + (launch(blocks, 128, 168, shared, "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tile"),)


def update(count, operator="aten::mul", steps="Optimizer.step#Adam.step"):
    return [(operator, [[1 << 22], [1 << 22]], F, 20.0, {"range": steps})] * count


def rounds(slow):
    return [ADD + ({"steps": True, "slow": slow},), BIG]


DECODE, PREFILL = "execute_context_0(0)_generation_8(8)", "execute_context_1(512)_generation_0(0)"


def within(step, *calls):
    """The calls in a range of that name, one a round; "steps": in marked steps without a name."""
    more = {"steps": True} if step == "steps" else {"range": step}
    return [call[:4] + (dict(call[4] if len(call) > 4 else {}, **more),) for call in calls]


def product(rows, us, width=8192):
    return ("aten::mm", [[rows, width], [width, width]], H, us)


def exchange(kernel):
    return ("c10d::some_", [[1 << 20]], H, 10.0, {"kernel": kernel})


UNSIZED = ("my::product", [], H, 50.0, {"kernel": "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tile"})
ONE_QUERY = ("aten::_flash_attention_forward", [[8, 1, 16, 64], [8, 1024, 16, 64], [8, 1024, 16, 64]], H, 6.0)

# cause, found?, what, calls, device
PLANTED = [
    ("decode_weight_bound", True, "8 requests against 8192 × 8192", within(DECODE, SKINNY), None),
    ("decode_weight_bound", True, "steps without names, one query per sequence",
     within("steps", ONE_QUERY, SKINNY), None),
    ("decode_weight_bound", False, "arithmetic takes longer", within(DECODE, product(1024, 160.0)), None),
    ("decode_weight_bound", False, "other work takes most of a step",
     within(DECODE, SKINNY, ADD, ADD), None),
    ("decode_weight_bound", False, "the same products in prefill", within(PREFILL, SKINNY), None),
    ("decode_weight_bound", False, "no steps of inference", [SKINNY], None),
    ("decode_weight_bound", None, "products without shapes", within(DECODE, UNSIZED), None),
    ("decode_weight_bound", None, "peaks not known", within(DECODE, SKINNY), OTHER),
    ("padding_waste", True, "832 rows for 512 tokens", within(PREFILL, product(832, 130.0)), None),
    ("padding_waste", True, "832 rows for 512 tokens, and sums between ranks",
     within(PREFILL, product(832, 130.0), exchange("ncclDevKernel_AllReduce_Sum_bf16_RING_LL")), None),
    ("padding_waste", None, "tokens of other ranks, gathered",
     within(PREFILL, product(832, 130.0), exchange("ncclDevKernel_AllGather_RING_LL")), None),
    ("padding_waste", None, "tokens of other ranks, exchanged",
     within(PREFILL, product(832, 130.0), exchange("ncclDevKernel_SendRecv")), None),
    ("padding_waste", None, "a whole multiple of the tokens", within(PREFILL, product(1024, 160.0)), None),
    ("padding_waste", None, "three tokens for each request",
     within("execute_context_0(0)_generation_512(512)", product(1536, 240.0)), None),
    ("padding_waste", False, "TensorRT-LLM does not tell the tokens that are generated",
     within("_forward_step 12: 1 ctx reqs, 512 ctx tokens, 64 gen reqs", product(832, 130.0)), None),
    ("padding_waste", True, "TensorRT-LLM tells those of prompts",
     within("_forward_step 12: 1 ctx reqs, 512 ctx tokens, 0 gen reqs", product(832, 130.0)), None),
    ("padding_waste", False, "576 rows for 512 tokens", within(PREFILL, product(576, 90.0)), None),
    ("padding_waste", False, "32 rows for 8 tokens, which wait for weights all the same",
     within(DECODE, product(32, 50.0)), None),
    ("padding_waste", False, "the number of tokens is not told",
     within("step[PREFILL bs=4]", product(1024, 160.0)), None),
    ("padding_waste", None, "products without shapes", within(PREFILL, UNSIZED), None),
    ("gemm_memory_bound", True, "8 rows against 8192 × 8192", [SKINNY], None),
    ("gemm_memory_bound", False, "large products", [BIG], None),
    ("gemm_memory_bound", False, "few rows, but far from memory's peak",
     [SKINNY[:3] + (500.0,)], None),
    ("gemm_memory_bound", None, "peaks not known", [SKINNY], OTHER),
    ("small_products", True, "64 rows against 256 × 256", [product(64, 6.0, 256)] * 5, None),
    ("small_products", False, "large products", [BIG], None),
    ("small_products", False, "small, but near their roofs", [product(64, 1.2, 1024)] * 5, None),
    ("small_products", False, "small beside large products", [product(64, 6.0, 256), BIG], None),
    ("small_products", False, "small, but held up for long", [product(64, 60.0, 256)] * 5, None),
    ("small_products", False, "as short as kernels are", [product(64, 2.0, 256)] * 5, None),
    ("small_products", None, "peaks not known", [product(64, 6.0, 256)] * 5, OTHER),
    ("gemm_misaligned", True, "N and K of 4095", [ODD], None),
    ("gemm_misaligned", False, "N and K of 4096", [BIG], None),
    ("gemm_misaligned", False, "odd, but near the roof", [ODD[:3] + (160.0,)], None),
    ("elementwise_not_fused", True, "three in a row", [ADD, ADD, ADD, BIG], None),
    ("elementwise_not_fused", False, "each between products", [ADD, BIG], None),
    ("elementwise_not_fused", False, "small beside the products", [ADD, ADD] + [BIG] * 20, None),
    ("layout_copies", True, "a cast beside each product", [CAST, BIG], None),
    ("layout_copies", False, "a cast beside many products", [CAST] + [BIG] * 12, None),
    ("layout_copies", False, "no copies", [ADD, BIG], None),
    ("attention_not_fused", True, "bmm, softmax, bmm", SCORES, None),
    ("attention_not_fused", False, "flash attention", [FLASH, BIG], None),
    ("attention_not_fused", False, "softmax of a classifier", [BIG, SCORES[1], ADD, BIG], None),
    ("fp8_full_accumulation", True, "FP8 without fast accumulation on an H100", [scaled("False")], None),
    ("fp8_full_accumulation", False, "it accumulates fast", [scaled("True")], None),
    ("fp8_full_accumulation", False, "some do: the others are those of gradients", [scaled("True")] + [scaled("False")] * 2, None),
    ("fp8_full_accumulation", False, "near the roof", [scaled("False", 78.0)], None),
    ("fp8_full_accumulation", False, "not told", [scaled("")], None),
    ("fp8_full_accumulation", False, "a chip without that choice", [scaled("False")], B200),
    ("fp8_full_accumulation", None, "peaks not known", [scaled("False")], dict(OTHER, computeMajor=9, totalGlobalMem=0, numSms=0)),
    ("fp8_unused", True, "large products in 16 bits on an H100", [BIG], None),
    ("fp8_unused", False, "a chip without FP8", [BIG], A100),
    ("fp8_unused", False, "products that wait for memory", [SKINNY], None),
    ("tf32_products", True, "FP32 inputs on tensor cores", [WIDE], None),
    ("tf32_products", False, "16 bits", [BIG], None),
    ("tf32_products", False, "FP32 bound by memory", [SKINNY[:2] + (F, 90.0, TF32)], None),
    ("tf32_products", None, "peaks not known", [WIDE], OTHER),
    ("gather_bound", True, "an embedding at a sixth of memory's peak", [GATHER, BIG], None),
    ("gather_bound", False, "near memory's peak", [GATHER[:3] + (200.0,), BIG], None),
    ("gather_bound", False, "small beside the products", [GATHER] + [BIG] * 80, None),
    ("wave_quantisation", True, "133 blocks on 132 multiprocessors", [matrix(133)], None),
    ("wave_quantisation", False, "132 blocks on 132 multiprocessors", [matrix(132)], None),
    ("wave_quantisation", False, "many waves", [matrix(132 * 9 + 1)], None),
    ("wave_quantisation", False, "two blocks fit, so half a wave", [matrix(133, 100 * 1024)], None),
    ("wave_quantisation", None, "another maker's device", [matrix(133)], OTHER),
    ("low_occupancy", True, "255 registers and 128 threads of 48 KiB",
     [ADD + (launch(4096, 128, 255, 100 * 1024),)], None),
    ("low_occupancy", False, "32 registers", [ADD + (launch(4096, 256, 32),)], None),
    ("low_occupancy", False, "products need few warps", [matrix(4096)], None),
    ("low_occupancy", False, "fewer blocks than the device holds",
     [ADD + (launch(64, 128, 255, 100 * 1024),)], None),
    ("optimizer_unfused", True, "200 multiplications a step", update(200), None),
    ("optimizer_unfused", False, "foreach", update(200, "aten::_foreach_mul"), None),
    ("optimizer_unfused", False, "few kernels", update(20), None),
    ("optimizer_unfused", False, "not in the optimizer", update(200, steps="forward"), None),
    ("slow_instances", True, "two of twenty take 20 times as long", rounds({3: 20, 11: 20}), None),
    ("slow_instances", False, "all alike", rounds({}), None),
    ("slow_instances", False, "half of them, in most steps",
     rounds({turn: 20 for turn in range(0, 20, 2)}), None),
    ("slow_instances", False, "twice as long is no outlier", rounds({3: 4, 11: 4}), None),
    ("slow_instances", None, "no steps", [ADD + ({"slow": {3: 20, 11: 20}},), BIG], None),
    ("roof_headroom", True, "products at a tenth of the roof", [BIG[:3] + (1400.0,)], None),
    ("roof_headroom", False, "products at their roof", [BIG], None),
    ("roof_headroom", False, "one slow product between good ones", [BIG] * 8 + [BIG[:3] + (400.0,)], None),
    ("roof_headroom", None, "peaks not known", [BIG[:3] + (1400.0,)], OTHER),
]


def causes(tally, folder):
    for cause, want, what, calls, device in PLANTED:
        path = planted(folder, "planted.json", calls, device)
        result = ask("analyze", path)["result"]
        found = [f for f in result["findings"] if f["cause"] == cause]
        abstained = [a for a in result["abstained"] if a["cause"] == cause]
        details = [f["cause"] for f in result["findings"]] + abstained
        if want is None:
            tally.check("%s abstains: %s" % (cause, what), not found and abstained, details)
            continue
        tally.check("%s: %s: %s" % (cause, "found" if want else "absent", what),
                    bool(found) == want and not abstained, details)
        for evidence in found[0]["evidence"] if found else []:
            got = rows(path, evidence["query"])[0][0]
            tally.check("%s: SQL gives %s" % (cause, evidence["metric"]),
                        abs(got - evidence["value"]) <= 1e-6 * abs(got) + 1e-9,
                        "%s, %s" % (got, evidence))


def served(tally, folder):
    """Launch-bound steps of a server get the server's options, others PyTorch's."""
    for operator, want in (("vllm::unified_attention_with_output", True), ("aten::mul", False)):
        events = []
        for i in range(400):
            events.append(op(operator, 50 * i, 40, [[8, 8]], [H]))
            events += launched("k", 50 * i + 25, i + 1, 4.0, 50 * i + 20)
        found = [f for f in ask("analyze", write(folder, "served.json", trace_of(events, H100)))["result"]["findings"]
                 if f["cause"] in ("launch_bound_small_kernels", "cpu_dispatch_overhead")]
        words = json.dumps(found)
        tally.check("advice of a %s" % ("server" if want else "program"), bool(found) and ("--enforce-eager" in words) == want and
                    ("torch.compile" in words) != want, words[:600])


def weights_stay(tally, folder):
    """What reading the weights takes cannot be saved: 4-bit weights are a quarter of those of 16 bits."""
    path = planted(folder, "weights.json", within(DECODE, SKINNY))
    result = ask("analyze", path)["result"]
    found = [f for f in result["findings"] if f["cause"] == "decode_weight_bound"]
    reading = rows(path, "SELECT sum(weights_ns) FROM llm_steps")[0][0]
    most = 20 * 50e3 - reading / 0.8 + 0.75 * reading
    tally.check("decode_weight_bound saves no more than smaller weights can", len(found) == 1 and
                abs(found[0]["saving_ns"][1] - most) <= 1, found)
    text = neurolens(["analyze", path]).stdout
    tally.check("the answer promises no more", "Could save at most" in text and
                "%.1f µs" % (most / 1e3) in text.split("Could save")[1].split("\n")[0] and
                "972.9" not in text, text[:400])


def small_products_save(tally, folder):
    """No kernel is shorter than 2 µs: 100 products of 6 µs each."""
    result = ask("analyze", planted(folder, "small.json", [product(64, 6.0, 256)] * 5))["result"]
    found = [f for f in result["findings"] if f["cause"] == "small_products"]
    tally.check("small_products saves what is beyond 2 µs", len(found) == 1 and
                found[0]["saving_ns"][1] == 100 * 4000, found)


def bounds_of_steps(tally, folder):
    """What bounds steps, and what reading their weights takes, is said only where it is known."""
    long = ("aten::_flash_attention_forward",
            [[8, 1, 64, 128], [8, 16384, 8, 128], [8, 16384, 8, 128]], H, 200.0)
    cases = [  # what, calls, device, bound, whether the weights have a time
        ("weights", within(DECODE, SKINNY), None, "reading weights", True),
        ("a long KV cache", within(DECODE, SKINNY, long), None, "reading the KV cache", True),
        ("few products with sizes", within(DECODE, UNSIZED, product(8, 20.0, 2048)), None, None, False),
        ("slow kernels", within(DECODE, product(8, 500.0)), None, "kernels below their roofs", True),
        ("no bandwidth", within(DECODE, SKINNY), SOME_A100, None, False),
        ("no bandwidth, arithmetic", within(PREFILL, product(4096, 2200.0)), SOME_A100, "arithmetic", False),
        ("faster than memory", within(DECODE, product(8, 9.0)), None, None, True)]
    for what, calls, device, bound, timed in cases:
        path = planted(folder, "bounds.json", calls, device)
        got = table(path, "phases_llm")
        tally.check("what bounds steps: " + what, len(got) == 1 and got[0]["bound"] == bound and
                    (got[0]["weights_ns"] is not None) == timed, got)
        if what == "a long KV cache":
            reading = rows(path, "SELECT avg(weights_ns) FROM llm_steps")[0][0]
            tally.check("weights are no KV cache", abs(got[0]["weights_ns"] - reading) < 1, got)


def words(tally, folder):
    """A range with the word decode is an LLM's step only if attention runs in it, of one query each."""
    many = ("aten::_flash_attention_forward", [[1, 4096, 1, 64]] * 3, H, 6.0)
    for name, calls, want in [
            ("decode_step", [ONE_QUERY, SKINNY], "decode"),
            ("decode", [ADD + ({"kernel": "paged_attention_v1_kernel"},), SKINNY], "decode"),
            ("prefill", [many, BIG], "prefill"), ("forward_decode", [SKINNY], "decode"),
            ("decode_jpeg", [ADD], None), ("decode_predictions", [SKINNY], None),
            ("vae_decode", [many, BIG], None)]:
        path = planted(folder, "words.json", within(name, *calls))
        got = [(row["phase"], row["steps"]) for row in table(path, "phases_llm")]
        tally.check("words: %s is %s" % (name, want), got == ([(want, 20)] if want else []), got)
    path = planted(folder, "words.json", within("decode_jpeg", ADD) + within(DECODE, SKINNY))
    got = [(row["phase"], row["steps"]) for row in table(path, "phases_llm")]
    tally.check("words: images beside steps of vLLM", got == [("decode", 20)], got)


def waiting(folder):
    """Steps of 2 ms that run a kernel of 10 µs at their begin and one 1 ms later."""
    events = []
    for i in range(3):
        events.append({"ph": "X", "cat": "user_annotation", "name": DECODE, "pid": 1, "tid": 1, "ts": 2000 * i,
                       "dur": 1900, "args": {}})
        for k in range(2):
            events += launched("k", 2000 * i + 50 + 1000 * k, 2 * i + k + 1, 10.0, 2000 * i + 10 + k)
    return write(folder, "waiting.json", trace_of(events, H100))


def decode_line(tally, folder):
    """Tokens per second count the gaps between steps; what is not known says why."""
    def line(path):
        return [row["says"] for row in table(path, "compute") if row["what"] == "decode"]

    def steps(count):
        events = []
        for i in range(count):
            events.append({"ph": "X", "cat": "user_annotation", "name": DECODE, "pid": 1, "tid": 1,
                           "ts": 1000 * i, "dur": 90, "args": {}})
            events += launched("k", 1000 * i + 50, i + 1, 100.0, 1000 * i + 10)
        return write(folder, "line of %d.json" % count, trace_of(events, H100))

    for what, path, says in [
            ("with gaps", steps(5), "(8 tokens per step, 8000 per second)"),
            ("one step", steps(1), "(8 tokens per step)"),
            ("waits within steps", waiting(folder), "1.010 ms per step (8 tokens per step, 4000 per second), 20.00 µs of it with work"),
            ("no sizes", planted(folder, "line1.json", within(DECODE, UNSIZED)), "sizes of products are not"),
            ("no bandwidth", planted(folder, "line2.json", within(DECODE, SKINNY), SOME_A100),
             "memory bandwidth is not known"),
            ("over the roof", planted(folder, "line3.json", within(DECODE, product(8, 9.0))),
             "longer at memory's peak than the steps")]:
        got = line(path)
        tally.check("the line of decode: " + what, len(got) == 1 and says in got[0], got)


def devices_of_steps(tally, folder):
    """A process that drives several devices: a step is the work of one of them, weights too."""
    events, at, correlation = [], 10000.0, 0
    for step in range(20):
        start = 1000 * step
        events.append({"ph": "X", "cat": "user_annotation", "name": DECODE, "pid": 1, "tid": 1,
                       "ts": start, "dur": 900, "args": {}})
        for device in range(8):
            correlation += 1
            events.append(op("aten::mm", start + 10 * device + 10, 5, [[8, 8192], [8192, 8192]], [H, H]))
            pair = launched("sm90_xmma_gemm_bf16_tile", at, correlation, 400.0, start + 10 * device + 11,
                            device)
            events += pair
        at += 1000
    path = write(folder, "devices.json", dict(
        trace_of(events), deviceProperties=[dict(H100, id=device) for device in range(8)]))
    got = rows(path, "SELECT device, dur, kernel_ns, weight_bytes FROM llm_steps")
    one = 2 * (8 * 8192 * 2 + 8192 * 8192)
    tally.check("steps of one process on eight devices", len(got) == 20 and
                all(row == (0, 400000, 400000, one) for row in got), got[:3])
    found = [f["cause"] for f in ask("analyze", path)["result"]["findings"]]
    tally.check("weights of eight devices are not read by one", "decode_weight_bound" not in found, found)


# Four ranks with experts, products and all-to-all: (µs of experts, products, all-to-all) each; a fourth
# number: rounds of these, 20 else.
EXPERTS = [
    ("experts of one rank take twice the median", True,
     [(100, 200, 130), (100, 200, 130), (200, 200, 30), (100, 200, 130)]),
    ("ranks with fewer expert kernels are not compared", True,
     [(100, 200, 130), (100, 200, 130), (200, 200, 30), (100, 200, 130)] + [(1, 200, 5, 10)] * 4),
    ("a slow device", False, [(100, 200, 330), (100, 200, 330), (200, 400, 30), (100, 200, 330)]),
    ("nobody waits for it", False, [(100, 200, 30), (100, 200, 30), (200, 200, 30), (100, 200, 30)]),
    ("all alike", False, [(100, 200, 30)] * 4),
    ("one rank alone", None, [(200, 200, 30)])]


def traces_of_experts(ranks):
    for rank, lengths in enumerate(ranks):
        events, at, correlation = [], 1000.0, 0
        for _ in range(lengths[3] if len(lengths) > 3 else 20):
            for kernel, us in zip(("fused_moe_kernel", "sm90_xmma_gemm_bf16_tile",
                                   "ncclDevKernel_SendRecv"), lengths):
                correlation += 1
                events += launched(kernel, at, correlation, us, correlation * 2)
                at += us
        yield dict(trace_of(events, H100), distributedInfo={"backend": "nccl", "rank": rank,
                                                            "world_size": len(ranks)})


def experts(tally, folder):
    for what, want, ranks in EXPERTS:
        place = os.path.join(folder, "experts %d" % len(os.listdir(folder)))
        os.mkdir(place)
        for rank, trace in enumerate(traces_of_experts(ranks)):
            write(place, "rank%d.json" % rank, trace)
        result = ask("analyze", place)["result"]
        found = [f for f in result["findings"] if f["cause"] == "moe_imbalance"]
        abstained = [a for a in result["abstained"] if a["cause"] == "moe_imbalance"]
        tally.check("moe_imbalance: " + what, bool(found) == bool(want) and
                    bool(abstained) == (want is None), [f["cause"] for f in result["findings"]])
        for finding in found:
            tally.check("moe_imbalance names the rank", finding["scope"]["rank"] == 2, finding["scope"])
            for evidence in finding["evidence"]:
                got = rows(place, evidence["query"])[0][0]
                tally.check("moe_imbalance: SQL gives " + evidence["metric"],
                            got == evidence["value"], "%s, %s" % (got, evidence))


def played_again(tally, folder):
    """What is promised is what the same program wins without the cause: rows that are tokens alone; experts spread
    evenly, for whose slowest rank nobody waits then."""
    for padded, us in ((832, 130.0), (1024 + 64, 170.0), (704, 110.0)):
        result = ask("analyze", planted(folder, "padded.json", within(PREFILL, product(padded, us))))["result"]
        found = [f for f in result["findings"] if f["cause"] == "padding_waste"]
        won = 20 * us * (1 - 512 / padded) * 1000
        tally.check("padding_waste of %d rows: no more is promised than can be won" % padded, len(found) == 1 and
                    0.9 * won <= found[0]["saving_ns"][1] <= 1.1 * won, (won, [f["saving_ns"] for f in found]))
    for number, (usual, slow, dense) in enumerate(((100, 200, 200), (100, 150, 100), (300, 900, 100))):
        wait = slow - usual + 30
        ranks = [(usual, dense, wait), (usual, dense, wait), (slow, dense, 30), (usual, dense, wait)]
        place = os.path.join(folder, "balance %d" % number)
        os.mkdir(place)
        for rank, trace in enumerate(traces_of_experts(ranks)):
            write(place, "rank%d.json" % rank, trace)
        found = [f for f in ask("analyze", place)["result"]["findings"] if f["cause"] == "moe_imbalance"]
        won = 20 * (slow - (3 * usual + slow) / 4) * 1000
        tally.check("moe_imbalance of %d and %d: no more is promised than can be won" % (slow, usual), len(found) == 1 and
                    0.9 * won <= found[0]["saving_ns"][1] <= 1.1 * won, (won, [f["saving_ns"] for f in found]))


# ---- roofs of this machine ----

def machine(tally, folder):
    """Within what physics allows: 64 operations a cycle at 6 GHz, and no memory is that fast."""
    got = json.loads(neurolens(["roof", "--only", "cpu", "--format", "json"]).stdout)["result"]
    threads = [row["threads"] for row in got]
    tally.check("roofs of this machine", threads[0] == 1 and threads == sorted(set(threads)) and all(
        1e8 < row["flops_per_s"] < row["threads"] * 64 * 6e9 and
        1e8 < row["bytes_per_s"] < 4e12 and
        abs(row["ridge"] - row["flops_per_s"] / row["bytes_per_s"]) < 1e-9 * row["ridge"]
        for row in got), got)


# ---- coverage of real profiles ----

def samples(every):
    """Profiles of ../shared: those of PyTorch, whose operators have shapes; with `every` all that there are."""
    if not every:
        return sorted(glob.glob(os.path.join(SHARED, "torch", "**", "*.json*"), recursive=True))
    return sorted(path for path in glob.glob(os.path.join(SHARED, "**", "*"), recursive=True)
                  if os.path.isfile(path) and "_oracle" not in path)


def coverage(tally, folder, every=False):
    """Of GEMM, convolution and attention kernels launched by operators with shapes, the share of time
    with a model; rows add up to all kernels; what is over its roof says so."""
    seen = asked = 0
    sums, silent = [], []
    for path in samples(every):
        try:
            row = rows(path, "SELECT sum(w.matrix_ns), sum(iif(w.flops IS NOT NULL OR w.inside, w.matrix_ns, 0)), "
                             "(SELECT sum(kernel_ns) FROM op_work), (SELECT sum(dur) FROM kernels), "
                             "(SELECT count(*) FROM roofline WHERE roof_share > 1.05 AND kind = 'operator' "
                             "AND NOT over_roof) FROM op_work w JOIN ops o ON o.slice = w.op WHERE "
                             "o.shapes IS NOT NULL")[0]
        except Wrong:
            continue
        name = os.path.relpath(path, SHARED)
        asked += 1
        if row[3] and row[2] != row[3]:
            sums.append((name, row[2], row[3]))
        if row[4]:
            silent.append((name, row[4]))
        if not row[0]:
            continue
        seen += 1
        tally.check("%s: %.1f %% of %.1f ms of matrix kernels have a model" % (
            os.path.basename(path)[:40], 100.0 * row[1] / row[0], row[0] / 1e6),
            row[1] >= 0.9 * row[0])
    if not asked:
        tally.skip("coverage", "no ../shared")
        return
    tally.check("rows of op_work add up to the kernels of %d profiles" % asked, not sums, sums)
    tally.check("no operator of %d profiles is over its roof without being flagged" % asked, not silent,
                silent)
    tally.check("profiles with shapes", seen > 10, seen)


PARTS = [against_torch, against_tracelens, by_hand, nvtx_shapes, nesting, experts_inside, paged, expanded, peaks_of_products, old_convolution, xla, xla_on_rocm, onnx, odd_inputs,
         roofs, roofline_plot, layers_and_steps, little_use, unlisted_devices, layers_of_a_step, unknown_work, moves, efficiency, phases, phases_without_names,
         training, micro_batches, links, verdicts, machine, causes, served, weights_stay, small_products_save, bounds_of_steps, decode_line, words,
         devices_of_steps, experts, played_again,
         coverage]


def main():
    every = "--all" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--all"]
    tally = Tally("work")
    with tempfile.TemporaryDirectory() as folder:
        for part in PARTS:
            if words and not any(word in part.__name__ for word in words):
                continue
            try:
                if part is coverage:
                    coverage(tally, folder, every)
                else:
                    part(tally, folder)
            except Wrong as wrong:
                tally.fail(part.__name__, wrong)
    tally.finish()


if __name__ == "__main__":
    main()
