/* Folded names: every rule, and names that must stay as they are. */
#include "analyze/fold.h"
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

static void folds_names(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        check_case(cases[i].name);
        nl_buf_init(&out, 4096);
        nl_fold_name(nl_str(cases[i].name), &out);
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
        nl_fold_name(nl_str(cases[i].folded), &out);
        CHECK_STR(((struct nl_str){out.len ? out.ptr : "", out.len}), cases[i].folded);
        nl_buf_release(&out);
    }
}

CHECK_MAIN("fold", {"folds names", folds_names}, {"folds no further", folds_no_further})
