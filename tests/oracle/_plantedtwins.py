"""Traces of five models, each as PyTorch records it on NVIDIA's and on AMD's devices: the same operators and shapes, kernels under the names of
each maker's libraries, other speeds, and a warm-up that is longer on one."""
import gzip
import json
import os
import random

# operator: kernels on NVIDIA's and AMD's devices, as PyTorch names them there
KERNELS = {
    "aten::mm": ("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_%s_32x5_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_%s_32x5_tn_align8::Params)",
                 "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT%sx64_MI16x16x1_SN_LDSB1_AFC1_GSU1_WG32_8_1"),
    "aten::addmm": ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize%sx64_warpgroupsize1x1x1_bias_bf16_execute_segment_k_off_kernel__5x_cublas",
                    "Cijk_Ailk_Bljk_BBS_BH_Bias_AH_HAS_SAV_UserArgs_MT%sx32_MI32x32x1_SN_LDSB0_AFC1_GSU1_WG64_4_1"),
    "aten::bmm": ("ampere_bf16_s1688gemm_bf16_%s_ldg8_f2f_stages_32x1_nn", "Cijk_Ailk_Bljk_BBH_MT%sx16_SE_1LDSB1_APM1_AF0EM8_AF1EM1_AMAS3_ASAE01"),
    "aten::_flash_attention_forward": ("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>, false, true>(pytorch_flash::Flash_fwd_params)",
                                       "attn_fwd.kd"),
    "aten::convolution": ("sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize%sx32_stage4_warpsize2x2x1_g1_tensor16x8x16_kernel_cudnn",
                          "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex0_bt%sx32_wt32x32x4_ws1x1_wr2x2_ta1x8x1x1_1x4x1x64_tb1x8x1x1_1x4x1x64"),
    "aten::batch_norm": ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float, int, 512, true, 1, true>(cudnnTensorStruct, __nv_bfloat16 const*)", "MIOpenBatchNormFwdTrainSpatialNorm.kd"),
    "aten::layer_norm": ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)",
                         "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*) [clone .kd]"),
    "aten::gelu": ("void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}>(int)",
                   "void at::native::modern::elementwise_kernel<at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}, 512, 4>(int) [clone .kd]"),
    "aten::relu": ("void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&)>(int)",
                   "void at::native::modern::elementwise_kernel<at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&), 512, 4>(int) [clone .kd]"),
    "aten::add": ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >(int)",
                  "void at::native::modern::elementwise_kernel<at::native::CUDAFunctor_add<c10::BFloat16>, 512, 4>(int) [clone .kd]"),
    "aten::embedding_bag": ("void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<c10::BFloat16, long>(long const*)",
                            "void at::native::(anonymous namespace)::EmbeddingBag_updateOutputKernel_sum_mean<c10::BFloat16, long>(long const*) [clone .kd]"),
}


def transformer(layers, tokens, hidden, fused):
    block = [("aten::layer_norm", [[tokens, hidden]], 12), ("aten::addmm", [[3 * hidden], [tokens, hidden], [hidden, 3 * hidden]], 90),
             ("aten::addmm", [[hidden], [tokens, hidden], [hidden, hidden]], 35), ("aten::add", [[tokens, hidden], [tokens, hidden]], 8),
             ("aten::addmm", [[4 * hidden], [tokens, hidden], [hidden, 4 * hidden]], 120), ("aten::gelu", [[tokens, 4 * hidden]], 20),
             ("aten::addmm", [[hidden], [tokens, 4 * hidden], [4 * hidden, hidden]], 115)]
    heads = hidden // 64
    block[2:2] = [("aten::_flash_attention_forward", [[1, tokens, heads, 64]] * 3, 60)] if fused else \
        [("aten::bmm", [[heads, tokens, 64], [heads, 64, tokens]], 50), ("aten::bmm", [[heads, tokens, tokens], [heads, tokens, 64]], 50)]
    return block * layers


MODELS = {
    "bert": transformer(6, 4096, 768, False), "gpt2": transformer(8, 1024, 1600, True), "vit": transformer(6, 12608, 768, True),
    "resnet": [op for c, w in ((64, 56), (128, 28), (256, 14), (512, 7)) for op in
               [("aten::convolution", [[32, c, w, w], [c, c, 3, 3]], 80), ("aten::batch_norm", [[32, c, w, w]], 25), ("aten::relu", [[32, c, w, w]], 10)] * 4],
    "dlrm": [("aten::embedding_bag", [[1000000, 64], [65536]], 140)] * 8 + [("aten::addmm", [[512], [2048, 13], [13, 512]], 20), ("aten::relu", [[2048, 512]], 5)] * 3 +
            [("aten::bmm", [[2048, 27, 64], [2048, 64, 27]], 60), ("aten::mm", [[2048, 1024], [1024, 1]], 15)],
}


def write(path, model, maker, seed):
    dice, now, number = random.Random(seed), 0.0, 0
    speed = {op: dice.uniform(.6, 1.7) if maker else 1 for op in KERNELS}
    events = []
    for step in range(8):
        begin = now
        for op, dims, base in MODELS[model]:
            slow = (6 if step < 2 and maker else 3 if step == 0 else 1) * dice.uniform(.98, 1.02)
            length, number = base * speed[op] * slow, number + 1
            text = KERNELS[op][maker]
            tile = "128x%d" % (64 << len(str(dims)) % 3)
            text = text.replace("%s", tile)
            events += [{"ph": "X", "cat": "cpu_op", "name": op, "pid": 9, "tid": 9, "ts": now, "dur": 6, "args": {"External id": number, "Input Dims": dims}},
                       {"ph": "X", "cat": "cuda_runtime", "name": ("cudaLaunchKernel", "hipExtModuleLaunchKernel")[maker], "pid": 9, "tid": 9, "ts": now + 1, "dur": 3,
                        "args": {"correlation": number, "External id": number}},
                       {"ph": "X", "cat": "kernel", "name": text, "pid": 0, "tid": 7, "ts": now + 8, "dur": length,
                        "args": {"device": 0, "context": 0, "stream": 7, "correlation": number, "External id": number}}]
            now += 9 + length
        events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d" % step, "pid": 9, "tid": 9, "ts": begin, "dur": now - begin - 0.5})
        now += 20
    device = ({"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}, {"id": 0, "name": "AMD Instinct MI300X"})[maker]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write(json.dumps({"schemaVersion": 1, "deviceProperties": [device], "traceEvents": events}))


def make(folder):
    for model in MODELS:
        for maker, name in enumerate(("h100", "mi300")):
            write(os.path.join(folder, name, model + ".json.gz"), model, maker, model + name)
    return folder
