/* Folded names: every rule, and names that must stay as they are. */
#include "timeline/fold.h"
#include "check.h"

static const struct {
    const char *name, *folded;
} cases[] = {
    /* emit_nvtx */
    {"aten::mm, op_id = 314273", "aten::mm"},
    {"aten::to, seq = 12, op_id = 3", "aten::to"},
    {"aten::mm, op_id = 7, input_op_ids = [(1,0), [(2,1)]]", "aten::mm"},
    {"aten::mm, op_id = 7, sizes = [[32, 3], []]", "aten::mm, sizes = [[32, 3], []]"},
    /* addresses */
    {"<built-in method get of dict object at 0x7f6078eca900>",
     "<built-in method get of dict object at 0x*>"},
    {"fn_0xdeadBEEF_x", "fn_0x*_x"},
    /* instances of modules */
    {"nn.Module: Linear_12", "nn.Module: Linear_*"},
    {"nn.Module: BatchNorm2d_3", "nn.Module: BatchNorm2d_*"},
    {"nn.Module: My_Norm2d_0", "nn.Module: My_Norm2d_*"},
    {"nn.Module: Linear", "nn.Module: Linear"},
    /* layers and blocks */
    {"model.layers.12.mlp", "model.layers.*.mlp"},
    {"layers[3].attn", "layers[3].attn"},
    {"layer_7", "layer_*"},
    {"Layer 7: attention", "Layer *: attention"},
    {"encoder_layer3/out", "encoder_layer*/out"},
    {"FSDP::pre_forward (encoder.block.1.layer.0)", "FSDP::pre_forward (encoder.block.*.layer.*)"},
    {"/blocks.0/blocks.0.1/Conv", "/blocks.*/blocks.*.*/Conv"},
    {"transformer.h.11.attn", "transformer.h.*.attn"},
    {"stack.0.1.2.norm", "stack.*.*.*.norm"},
    {"head.3", "head.*"},
    {"multilayer3", "multilayer3"},
    /* steps and the like */
    {"ProfilerStep#12", "ProfilerStep#*"},
    {"Step 190 to 200", "Step * to *"},
    {"step=4", "step=*"},
    {"iteration 3 forward", "iteration * forward"},
    {"iter_88", "iter_*"},
    {"epoch:2", "epoch:*"},
    {"micro batch 5", "micro batch *"},
    {"microbatch-5", "microbatch-*"},
    {"request 17 decode", "request * decode"},
    {"Compute & Residual 120", "Compute & Residual *"},
    {"Optimizer.step#SGD.step", "Optimizer.step#SGD.step"},
    /* torch.compile */
    {"## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52dvevbsmlh743q5tkclrt4gcqpzea ##",
     "## Call CompiledFxGraph * ##"},
    {"## Call CompiledFxGraph ##", "## Call CompiledFxGraph ##"},
    {"Torch-Compiled Region: 12/3", "Torch-Compiled Region: *"},
    {"Torch-Compiled Region: 0/0_1", "Torch-Compiled Region: *"},
    {"Torch-Compiled Region: !0/2/0", "Torch-Compiled Region: *"},
    {"Torch-Compiled Region", "Torch-Compiled Region"},
    {"torch_dynamo_resume_in_forward_at_123", "torch_dynamo_resume_in_forward_at_*"},
    {"/tmp/torchinductor_root/ih/cih3dx7ka4rys62ta2bnambn4fq7teloaokd5povyhnyz3w6xpgk.py(45): call",
     "/tmp/torchinductor_*.py(45): call"},
    {"torchinductor_utils/config.py(3): get", "torchinductor_utils/config.py(3): get"},
    {"__compiled_fn_3", "__compiled_fn_*"},
    {"__compiled_fn_3_8a7d1f33_1b2c_4d5e_9f00_112233445566", "__compiled_fn_*_*"},
    {"autograd::engine::evaluate_function: CompiledFunctionBackward",
     "autograd::engine::evaluate_function: CompiledFunctionBackward"},
    {"cudagraph_12 replay", "cudagraph_* replay"},
    {"CUDAGraph 3", "CUDAGraph *"},
    {"graph_break_2", "graph_break_*"},
    {"comm 1f3a5c7e9b2d4f60", "comm *"},
    {"8a7d1f33-1b2c-4d5e-9f00-112233445566.step", "*.step"},
    {"commit 1f3a5c7e9b2d4f6", "commit 1f3a5c7e9b2d4f6"},
    {"x1f3a5c7e9b2d4f60", "x1f3a5c7e9b2d4f60"},
    {"1f3a5c7e9b2d4f60zz", "1f3a5c7e9b2d4f60zz"},
    {"deadbeefdeadbeefdeadbeef", "deadbeefdeadbeefdeadbeef"},
    /* values stay */
    {"lr 0.5", "lr 0.5"},
    {"dropout p=0.1 x", "dropout p=0.1 x"},
    {"version 1.2.3", "version 1.2.3"},
    {"all2all_data", "all2all_data"},
    {"aten::conv2d", "aten::conv2d"},
    {"h100", "h100"},
    {"forward", "forward"},
    {"0x", "0x"},
    {", op_id = ", ", op_id = "},
    {"layers.", "layers."},
    {"input_op_ids = [", "input_op_ids = ["},
    {", input_op_ids = [1", ", input_op_ids = [1"},
};

/* As cases, but for eyes alone: else they stay. */
static const struct {
    const char *name, *folded;
} for_eyes[] = {
    {"triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul_*"},
    {"triton_red_fused_0", "triton_red_fused_*"},
    {"cpp_fused_add_mul_3", "cpp_fused_add_mul_*"},
};

static void folds_for_eyes(void)
{
    for (size_t i = 0; i < 2 * CHECK_LENGTH(for_eyes); i++) {
        struct nl_buf out;
        bool eyes = i % 2;
        check_case(for_eyes[i / 2].name);
        nl_buf_init(&out, 4096);
        nl_fold_name(nl_str(for_eyes[i / 2].name), eyes ? NL_FOLD_EYES : NL_FOLD_INSTANCES, &out);
        CHECK_STR(((struct nl_str){out.ptr, out.len}),
                  eyes ? for_eyes[i / 2].folded : for_eyes[i / 2].name);
        nl_buf_release(&out);
    }
}

static void folds_names(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        check_case(cases[i].name);
        nl_buf_init(&out, 4096);
        nl_fold_name(nl_str(cases[i].name), NL_FOLD_EYES, &out);
        CHECK_STR(((struct nl_str){out.len ? out.ptr : "", out.len}), cases[i].folded);
        nl_buf_release(&out);
    }
}

/* What is folded once stays as it is. */
static void folds_no_further(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        check_case(cases[i].folded);
        nl_buf_init(&out, 4096);
        nl_fold_name(nl_str(cases[i].folded), NL_FOLD_EYES, &out);
        CHECK_STR(((struct nl_str){out.len ? out.ptr : "", out.len}), cases[i].folded);
        nl_buf_release(&out);
    }
}

CHECK_MAIN("fold", {"folds names", folds_names}, {"folds no further", folds_no_further},
           {"folds for eyes", folds_for_eyes})
