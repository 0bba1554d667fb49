/* Fingerprints: signatures, components and likeness with numbers worked out by hand. */
#include <math.h>
#include <stdio.h>

#include "check.h"
#include "fingerprint/likeness.h"
#include "fingerprint/fingerprint_gather.h"
#include "gputrace.h"

static void kernels_have_one_name(void)
{
    static const struct {
        const char *name, *family, *signature; /* NULL: the same */
    } cases[] = {
        {"void ns::fill<4, float>(float*, int)", "fill", "fill<4,float>"},
        {"void fill<(int)4, float>(T2 *, int)", "fill", "fill<4,float>"},
        {"fill", "fill", NULL},
        {"_ZN2ns4fillILi4EfEEvPT0_i", "fill", NULL},
        {"void (anonymous namespace)::elementwise<A<int>, B(C)>(int, D)", "elementwise",
         "elementwise<A<int>,B(C)>"},
        {"triton_poi_fused_add_relu_12", "triton_poi_fused_add_relu_*", NULL},
        {"fusion.17", "fusion.*", NULL},
        {"sm90_xmma_gemm_bf16f32_tn_n_tilesize128x128x64",
         "sm90_xmma_gemm_bf16f32_tn_n_tilesize128x128x64", NULL},
        {"jit_fn_0xdeadbeef", "jit_fn_0x*", NULL},
        {"void "
         "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_nn>(cutlass_80::Params)",
         "cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_nn",
         "Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x64_nn>"},
        {"void cutlass::Kernel<cutlass::gemm::kernel::Gemm<A<int, 2>, B>, C>(Params)", "Gemm",
         "Kernel<Gemm<A<int,2>,B>,C>"},
        {"void cutlass::device_kernel<at::native::Fused<(int)3>>(P)", "Fused",
         "device_kernel<Fused<3>>"},
        {"Kernel2", "Kernel2", NULL},
        {"void Kernel2<>(int)", "Kernel2", "Kernel2<>"},
    };
    struct nl_buf text, family;
    nl_buf_init(&text, 1000);
    nl_buf_init(&family, 1000);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        fingerprint_kernel_signature(&text, &family, nl_str(cases[i].name));
        CHECK_TEXT(family.ptr, cases[i].family);
        CHECK_TEXT(text.ptr, cases[i].signature ? cases[i].signature : cases[i].family);
    }
    nl_buf_release(&text);
    nl_buf_release(&family);
}

/* ---- a made-up run on a device whose peaks are known ---- */

#define DEVICE "NVIDIA A100-SXM4-80GB" /* 2039 GB/s, 19.5 TFLOP/s in FP32, 312 in FP16 */

static void open_on_device(struct gputrace *make)
{
    gputrace_open(make);
    nl_builder_device_row(make->builder, make->device)->name =
        nl_builder_name(make->builder, nl_str(DEVICE));
}

static void metric(struct gputrace *make, uint32_t slice, const char *name, const char *unit,
                   double value)
{
    struct nl_metric_row row = nl_metric_row();
    row.slice = slice;
    row.name = nl_stage_name(make->stage, nl_str(name));
    row.unit = nl_stage_name(make->stage, nl_str(unit));
    row.value = value;
    nl_stage_metric(make->stage, &row);
}

static struct nl_runfingerprint *print_of(struct gputrace *make)
{
    struct nl_err err = {0};
    struct nl_trace *trace = gputrace_close(make);
    if (!trace)
        abort();
    struct nl_runfingerprint *print = nl_runfingerprint_new(trace, NULL, NULL, &err);
    nl_trace_free(trace);
    if (!print)
        abort();
    return print;
}

static const struct nl_fingerprint_item *
item_of(const struct nl_runfingerprint *print, enum nl_fingerprint_part part, const char *signature)
{
    for (size_t i = 0; i < print->parts[part].count; i++)
        if (strcmp(print->parts[part].items[i].signature, signature) == 0)
            return &print->parts[part].items[i];
    printf("    no item '%s'\n", signature);
    abort();
}

static bool near(double x, double y)
{
    return fabs(x - y) <= 1e-6 * (fabs(x) > fabs(y) ? fabs(x) : fabs(y));
}

/* 10 + 20 us of gemm with an argument under two spellings, 30 + 20 of one that tells none, 20 of
 * relu: 100 us in 5 calls. */
static void shares_and_latencies(void)
{
    struct gputrace make;
    open_on_device(&make);
    gputrace_kernel(&make, 7, "void ns::gemm<float>(float*)", 0, 1, 10, 10);
    gputrace_kernel(&make, 7, "void gemm<float>(T1 *)", 0, 1, 20, 20);
    gputrace_kernel(&make, 8, "gemm", 0, 1, 20, 30);
    gputrace_kernel(&make, 8, "gemm", 0, 1, 60, 20);
    gputrace_kernel(&make, 7, "relu_kernel", -1, 0, 90, 20);
    struct nl_runfingerprint *print = print_of(&make);
    const struct nl_fingerprint_list *list = &print->parts[NL_FINGERPRINT_DEVICE];
    CHECK_INT((int64_t)list->count, 3);
    CHECK_INT((int64_t)list->calls, 5);
    CHECK_INT(list->total_ns, 100000);
    const struct nl_fingerprint_item *gemm = item_of(print, NL_FINGERPRINT_DEVICE, "gemm<float>");
    CHECK_INT((int64_t)gemm->count, 2);
    CHECK_INT(gemm->total_ns, 30000);
    CHECK_TEXT(gemm->family, "gemm");
    gemm = item_of(print, NL_FINGERPRINT_DEVICE, "gemm");
    CHECK_INT((int64_t)gemm->count, 2);
    CHECK_INT(gemm->total_ns, 50000);
    CHECK(near(gemm->share, 0.5));
    CHECK(near(gemm->values[NL_FINGERPRINT_LATENCY], 25000));
    CHECK(near(gemm->values[NL_FINGERPRINT_RELATIVE], 1.25));
    CHECK_TEXT(gemm->family, "gemm");
    CHECK_TEXT(gemm->category, "gemm");
    for (int v = NL_FINGERPRINT_INTENSITY; v < NL_FINGERPRINT_VALUES; v++)
        CHECK(isnan(gemm->values[v]));
    CHECK(near(item_of(print, NL_FINGERPRINT_DEVICE, "relu_kernel")->share, 0.2));
    CHECK_TEXT(print->device, DEVICE);
    CHECK(near(print->peak_bytes_per_s, 2039e9));
    CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_OP].count, 0);
    nl_runfingerprint_free(print);
}

#define OP "smsp__sass_thread_inst_executed_op_"

/* 10 us at 40 % occupancy and 30 us at 80 %: 70 %. FP32: 2 × 1000 a cycle at 1 GHz. */
static void measured_components(void)
{
    struct gputrace make;
    open_on_device(&make);
    for (int i = 0; i < 2; i++) {
        uint32_t slice = gputrace_kernel(&make, 7, "work", -1, 0, 100 * i, i ? 30 : 10);
        metric(&make, slice, "sm__warps_active.avg.pct_of_peak_sustained_active", "%", i ? 80 : 40);
        metric(&make, slice, "smsp__thread_inst_executed_per_inst_executed.ratio", "", 16);
        metric(&make, slice, "lts__t_sector_hit_rate.pct", "%", 25);
        metric(&make, slice, "dram__bytes.sum.per_second", "bytes/s", 1019.5e9);
        metric(&make, slice, OP "fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", 0);
        metric(&make, slice, OP "fmul_pred_on.sum.per_cycle_elapsed", "inst/cycle", 0);
        metric(&make, slice, OP "ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle", 1000);
        metric(&make, slice, "smsp__cycles_elapsed.avg.per_second", "cycles/s", 1e9);
        metric(&make, slice, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "%",
               0);
    }
    struct nl_runfingerprint *print = print_of(&make);
    const double *v = item_of(print, NL_FINGERPRINT_DEVICE, "work")->values;
    CHECK(near(v[NL_FINGERPRINT_OCCUPANCY], 0.7));
    CHECK(near(v[NL_FINGERPRINT_WARPS], 0.5));
    CHECK(near(v[NL_FINGERPRINT_L2_HITS], 0.25));
    CHECK(near(v[NL_FINGERPRINT_DRAM_RATE], 1019.5e9));
    CHECK(near(v[NL_FINGERPRINT_DRAM_SHARE], 0.5));
    CHECK(near(v[NL_FINGERPRINT_FLOP_RATE], 2e12));
    CHECK(near(v[NL_FINGERPRINT_INTENSITY], 2e12 / 1019.5e9));
    CHECK(near(v[NL_FINGERPRINT_ROOFLINE], 0.5)); /* memory: 0.5; arithmetic: 2 / 19.5 */
    CHECK(isnan(v[NL_FINGERPRINT_ESTIMATED]));
    nl_runfingerprint_free(print);
}

/* Tensor cores worked: the counters do not hold their operations. */
static void tensor_work_is_not_counted(void)
{
    struct gputrace make;
    open_on_device(&make);
    uint32_t slice = gputrace_kernel(&make, 7, "work", -1, 0, 0, 10);
    metric(&make, slice, "sm__warps_active.avg.pct_of_peak_sustained_active", "%", 40);
    metric(&make, slice, OP "fadd_pred_on.sum.per_cycle_elapsed", "inst/cycle", 1);
    metric(&make, slice, OP "fmul_pred_on.sum.per_cycle_elapsed", "inst/cycle", 1);
    metric(&make, slice, OP "ffma_pred_on.sum.per_cycle_elapsed", "inst/cycle", 1);
    metric(&make, slice, "smsp__cycles_elapsed.avg.per_second", "cycles/s", 1e9);
    metric(&make, slice, "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "%", 5);
    struct nl_runfingerprint *print = print_of(&make);
    const double *v = item_of(print, NL_FINGERPRINT_DEVICE, "work")->values;
    CHECK(near(v[NL_FINGERPRINT_OCCUPANCY], 0.4));
    CHECK(isnan(v[NL_FINGERPRINT_FLOP_RATE]) && isnan(v[NL_FINGERPRINT_INTENSITY]) &&
          isnan(v[NL_FINGERPRINT_ROOFLINE]));
    nl_runfingerprint_free(print);
}

static void add_op(struct gputrace *make, const char *name, const char *types, uint64_t flops,
                   uint64_t bytes, int64_t us, int64_t dur)
{
    struct nl_op_row row = nl_op_row();
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, name, us, dur);
    row.dtypes = nl_stage_name(make->stage, nl_str(types));
    row.flops = flops;
    row.bytes = bytes;
    nl_stage_op(make->stage, &row);
}

/* aten::mm in aten::linear: 312 MFLOP in FP16 take 1 us of 10 at the peak; a second call's bytes
 * take 10 us of its 10 (20.39 MB at 2039 GB/s): 11 of 20. Of the sum, twice as fast cannot be. */
static void operators(void)
{
    struct gputrace make;
    open_on_device(&make);
    add_op(&make, "aten::linear", "[\"c10::Half\"]", NL_NULL_U64, NL_NULL_U64, 0, 30);
    add_op(&make, "aten::mm", "[\"c10::Half\"]", 312000000, 1000, 5, 20);
    gputrace_kernel(&make, 7, "gemm", 10, 2, 100, 10);
    add_op(&make, "aten::mm", "[\"c10::Half\"]", 312000000, 20390000, 40, 20);
    gputrace_kernel(&make, 7, "gemm", 45, 2, 200, 10);
    add_op(&make, "aten::sum", "[\"double\"]", 1000000000, 8, 70, 20);
    gputrace_kernel(&make, 7, "reduce", 75, 2, 300, 20);
    struct nl_runfingerprint *print = print_of(&make);
    const struct nl_fingerprint_item *mm = item_of(print, NL_FINGERPRINT_OP_DEVICE, "aten::mm");
    CHECK_INT((int64_t)mm->count, 2);
    CHECK_INT(mm->total_ns, 20000);
    CHECK(near(mm->share, 0.5));
    CHECK(near(mm->values[NL_FINGERPRINT_ROOFLINE], 11.0 / 20));
    CHECK(near(mm->values[NL_FINGERPRINT_FLOP_RATE], 624e6 / 20e-6));
    CHECK(near(mm->values[NL_FINGERPRINT_INTENSITY], 624e6 / 20391000));
    CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_OP_DEVICE].count, 2);
    /* 1 GFLOP in FP64 takes 51 us at 19.5 TFLOP/s, more than the 20 it took. */
    CHECK(isnan(
        item_of(print, NL_FINGERPRINT_OP_DEVICE, "aten::sum")->values[NL_FINGERPRINT_ROOFLINE]));
    CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_OP_DEVICE].impossible, 1);
    const struct nl_fingerprint_item *linear = item_of(print, NL_FINGERPRINT_OP, "aten::linear");
    CHECK_INT(linear->total_ns, 10000); /* 30 without the 20 inside */
    CHECK(isnan(linear->values[NL_FINGERPRINT_FLOP_RATE]));
    /* Its operations were the device's: what it spent on the host tells nothing of their rate. */
    mm = item_of(print, NL_FINGERPRINT_OP, "aten::mm");
    CHECK_INT(mm->total_ns, 40000);
    CHECK(isnan(mm->values[NL_FINGERPRINT_FLOP_RATE]));
    CHECK(near(mm->values[NL_FINGERPRINT_INTENSITY], 624e6 / 20391000));
    nl_runfingerprint_free(print);
}

/* On the host, what has no operators inside did its operations itself. */
static void operators_of_the_host(void)
{
    struct gputrace make;
    open_on_device(&make);
    add_op(&make, "aten::conv2d", "[\"float\"]", 1000000, 8, 0, 30);
    add_op(&make, "aten::mkldnn_convolution", "[\"float\"]", 1000000, 8, 5, 20);
    struct nl_runfingerprint *print = print_of(&make);
    const struct nl_fingerprint_item *outer = item_of(print, NL_FINGERPRINT_OP, "aten::conv2d");
    const struct nl_fingerprint_item *inner =
        item_of(print, NL_FINGERPRINT_OP, "aten::mkldnn_convolution");
    CHECK(near(inner->values[NL_FINGERPRINT_FLOP_RATE], 1e6 / 20e-6));
    CHECK_INT(outer->total_ns, 10000);
    CHECK(isnan(outer->values[NL_FINGERPRINT_FLOP_RATE]));
    nl_runfingerprint_free(print);
}

static void add_shaped(struct gputrace *make, const char *name, const char *shapes, int64_t us)
{
    struct nl_op_row row = nl_op_row();
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, name, us, 15);
    row.shapes = nl_stage_name(make->stage, nl_str(shapes));
    nl_stage_op(make->stage, &row);
}

/* ---- likeness ---- */

struct work {
    const char *name;
    int64_t us;
};

/* Packed, as a ledger has it; what is not used of `work` has no name. */
static struct nl_fingerprint_view view_of(const struct work work[4], bool reversed)
{
    struct gputrace make;
    struct nl_fingerprint_view view = {0};
    struct nl_buf items, names;
    int64_t at = 10;
    open_on_device(&make);
    for (int i = 0; i < 4; i++) {
        const struct work *one = &work[reversed ? 3 - i : i];
        if (one->name)
            gputrace_kernel(&make, reversed ? i : 7, one->name, -1, 0, at, one->us);
        at += 100;
    }
    struct nl_runfingerprint *print = print_of(&make);
    nl_buf_init(&items, NL_MAX_FINGERPRINT_PACK);
    nl_buf_init(&names, NL_MAX_FINGERPRINT_PACK);
    nl_fingerprint_pack(print, &items, &names);
    CHECK(nl_fingerprint_unpack(&view, (struct nl_str){items.ptr, items.len}));
    nl_buf_release(&items);
    nl_buf_release(&names);
    nl_runfingerprint_free(print);
    return view;
}

/*
 * Here: gemm_a 60, relu_kernel 20, softmax_x 20 of 100 us, mean 33.3. There: gemm_a 40, relu_kernel
 * 40, gemm_b 20, mean 33.3. Same: min(60, 40) + min(20, 40) = 0.6; alike: gemm has 0.2 left here,
 * 0.2 there. gemm_a: 1.8 and 1.2 of the mean, 2/3; relu_kernel 0.6 and 1.2, 1/2. 0.4 × (1/2 + 1/3)
 * + 0.2 × (1/2 + 1/4) + 0.2 × 1/2 = 0.58333
 */
static void likeness_by_hand(void)
{
    struct nl_fingerprint_view a =
        view_of((struct work[4]){{"gemm_a", 60}, {"relu_kernel", 20}, {"softmax_x", 20}}, false);
    struct nl_fingerprint_view b =
        view_of((struct work[4]){{"gemm_a", 40}, {"relu_kernel", 40}, {"gemm_b", 20}}, false);
    struct nl_likeness like = nl_likeness_of(&a, &b), back = nl_likeness_of(&b, &a);
    CHECK(near(like.similarity, 0.4 * (0.5 + 1.0 / 3) + 0.2 * 0.75 + 0.1));
    CHECK(near(like.same, 0.6));
    CHECK(near(like.alike, 0.2));
    CHECK(near(like.unmatched, 0.2));
    CHECK(near(like.behaviour, (0.4 * 2 / 3 + 0.2 / 2) / 0.6));
    CHECK_INT((int64_t)like.level_parts, 1 << NL_FINGERPRINT_DEVICE);
    CHECK(near(like.parts[NL_FINGERPRINT_DEVICE].known[NL_FINGERPRINT_RELATIVE], 0.6));
    CHECK(like.parts[NL_FINGERPRINT_DEVICE].known[NL_FINGERPRINT_OCCUPANCY] == 0);
    CHECK(isnan(like.parts[NL_FINGERPRINT_DEVICE].closeness[NL_FINGERPRINT_OCCUPANCY]));
    CHECK(like.similarity == back.similarity && like.same == back.same && like.alike == back.alike);
    size_t count;
    struct nl_likeness_item *items = nl_likeness_items(&a, &b, NL_FINGERPRINT_DEVICE, &count);
    double agrees = 0, differs = 0;
    for (size_t i = 0; i < count; i++) {
        agrees += items[i].agrees;
        differs += items[i].differs;
    }
    CHECK_INT((int64_t)count, 4);
    CHECK(near(agrees, 0.4 * (0.5 + 1.0 / 3) + 0.2 * 0.75));
    CHECK(near(differs, 2 - 0.6 - agrees)); /* all shares of both, each pair's min once */
    nl_free(items);
    nl_fingerprint_view_release(&a);
    nl_fingerprint_view_release(&b);
}

/*
 * Here: fill<1> 60, fill<2> 20, sort 20 of 100. There: fill<1> 30, fill<3> 40, fill 10, sort<2> 20.
 * Mean calls of 33.3 and 25. fill<1>: min 0.3, of 1.8 and 1.2 of the mean: 2/3. The family fill has
 * 0.3 + 0.2 left here and 0.4 + 0.1 there: 0.1 may be any of them, 0.4 is another one. sort tells
 * no arguments: 0.2 may be sort<2>.
 */
static void families_by_hand(void)
{
    struct nl_fingerprint_view a =
        view_of((struct work[4]){{"fill<1>(int)", 60}, {"fill<2>(int)", 20}, {"sort", 20}}, false);
    struct nl_fingerprint_view b = view_of(
        (struct work[4]){
            {"fill<1>(int)", 30}, {"fill<3>(int)", 40}, {"fill", 10}, {"sort<2>(int)", 20}},
        false);
    struct nl_likeness like = nl_likeness_of(&a, &b), back = nl_likeness_of(&b, &a);
    CHECK(near(like.similarity, 0.3 * (0.5 + 1.0 / 3) + 0.1 + 0.4 / 2 + 0.2));
    CHECK(near(like.same, 0.3 + 0.1 + 0.2));
    CHECK(near(like.alike, 0.4));
    CHECK(fabs(like.unmatched) < 1e-6);
    CHECK(like.similarity == back.similarity && like.same == back.same && like.alike == back.alike);
    nl_fingerprint_view_release(&a);
    nl_fingerprint_view_release(&b);
}

/* On another device the kernels are others, and only operators tell:
 * aten::mm for all of the time. */
static void other_devices_are_compared_by_operators(void)
{
    struct nl_fingerprint_view views[3] = {{0}, {0}, {0}};
    static const char *const devices[] = {DEVICE, "AMD Instinct MI300X", DEVICE};
    for (int i = 0; i < 3; i++) {
        struct gputrace make;
        struct nl_buf items, names;
        gputrace_open(&make);
        nl_builder_device_row(make.builder, make.device)->name =
            nl_builder_name(make.builder, nl_str(devices[i]));
        gputrace_op(&make, "aten::mm", 0, 30);
        gputrace_kernel(&make, 7, i ? "Cijk_x" : "ampere_gemm", 10, 2, 100, 10);
        struct nl_runfingerprint *print = print_of(&make);
        nl_buf_init(&items, NL_MAX_FINGERPRINT_PACK);
        nl_buf_init(&names, NL_MAX_FINGERPRINT_PACK);
        nl_fingerprint_pack(print, &items, &names);
        CHECK(nl_fingerprint_unpack(&views[i], (struct nl_str){items.ptr, items.len}));
        nl_buf_release(&items);
        nl_buf_release(&names);
        nl_runfingerprint_free(print);
    }
    CHECK_INT((int64_t)nl_likeness_of(&views[0], &views[1]).level_parts,
              1 << NL_FINGERPRINT_OP_DEVICE);
    CHECK(nl_likeness_of(&views[0], &views[1]).similarity == 1);
    CHECK_INT((int64_t)nl_likeness_of(&views[0], &views[2]).level_parts,
              1 << NL_FINGERPRINT_DEVICE | 1 << NL_FINGERPRINT_OP_DEVICE);
    CHECK(nl_likeness_of(&views[0], &views[2]).similarity < 1);
    for (int i = 0; i < 3; i++)
        nl_fingerprint_view_release(&views[i]);
}

static void alike_as_can_be(void)
{
    const struct work work[4] = {{"gemm_a", 61}, {"relu_kernel", 23}, {"softmax_x", 17}, {"z", 1}};
    struct nl_fingerprint_view a = view_of(work, false), b = view_of(work, true);
    CHECK(nl_likeness_of(&a, &a).similarity == 1);
    CHECK(nl_likeness_of(&a, &b).similarity == 1); /* other streams, another order */
    CHECK(nl_likeness_of(&a, &b).behaviour == 1);
    nl_fingerprint_view_release(&b);
    b = view_of((struct work[4]){{"fft_kernel", 61}}, false);
    CHECK(nl_likeness_of(&a, &b).similarity == 0);
    nl_fingerprint_view_release(&b);
    b = (struct nl_fingerprint_view){0};
    struct nl_likeness none = nl_likeness_of(&a, &b);
    CHECK(isnan(none.similarity) && isnan(none.same) && none.level_parts == 0);
    nl_fingerprint_view_release(&a);
}

static void damage_is_refused(void)
{
    struct gputrace make;
    struct nl_buf items, names;
    struct nl_fingerprint_view view = {0};
    struct nl_fingerprint_texts texts;
    struct nl_arena arena;
    open_on_device(&make);
    gputrace_kernel(&make, 7, "gemm", -1, 0, 0, 10);
    gputrace_kernel(&make, 7, "relu_kernel", -1, 0, 20, 10);
    struct nl_runfingerprint *print = print_of(&make);
    nl_arena_init(&arena);
    nl_buf_init(&items, NL_MAX_FINGERPRINT_PACK);
    nl_buf_init(&names, NL_MAX_FINGERPRINT_PACK);
    nl_fingerprint_pack(print, &items, &names);
    for (size_t len = 0; len < items.len; len++)
        CHECK(!nl_fingerprint_unpack(&view, (struct nl_str){items.ptr, len}));
    CHECK(nl_fingerprint_unpack(&view, (struct nl_str){items.ptr, items.len}));
    CHECK_INT((int64_t)view.count[NL_FINGERPRINT_DEVICE], 2);
    for (size_t len = 0; len < names.len; len++)
        CHECK(!nl_fingerprint_texts(&texts, &view, (struct nl_str){names.ptr, len}, &arena));
    CHECK(nl_fingerprint_texts(&texts, &view, (struct nl_str){names.ptr, names.len}, &arena));
    CHECK_TEXT(texts.device, DEVICE);
    CHECK(!nl_fingerprint_unpack(&view, (struct nl_str){NULL, 0}));
    items.ptr[4] ^= 1; /* another form */
    CHECK(!nl_fingerprint_unpack(&view, (struct nl_str){items.ptr, items.len}));
    nl_buf_release(&items);
    nl_buf_release(&names);
    nl_arena_free(&arena);
    nl_fingerprint_view_release(&view);
    nl_runfingerprint_free(print);
}

/* Two products of one name and other shapes are two items of one family; blanks and operators
 * without shapes make no difference. 1,200 shapes are too many: then the name alone. */
static void shapes_tell_operators_apart(void)
{
    static const struct {
        const char *name, *shapes, *signature;
        int64_t ns;
    } cases[] = {
        {"aten::mm", "[[2, 3], [3, 4]]", "aten::mm [[2,3],[3,4]]", 30000},
        {"aten::mm", "[[2,3],[3,4]]", NULL, 0},
        {"aten::mm", "[[9,3],[3,4]]", "aten::mm [[9,3],[3,4]]", 15000},
        {"aten::mm", "", "aten::mm", 15000},
        {"aten::add", "[[], []]", "aten::add", 15000},
    };
    for (int many = 0; many < 2; many++) {
        struct gputrace make;
        char shapes[32];
        int64_t at = 0;
        open_on_device(&make);
        for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
            add_shaped(&make, cases[i].name, cases[i].shapes, at += 20);
        for (int i = 0; many && i < 1200; i++) {
            snprintf(shapes, sizeof shapes, "[[%d, 7]]", i);
            add_shaped(&make, "aten::mm", shapes, at += 20);
        }
        struct nl_runfingerprint *print = print_of(&make);
        CHECK(print->parts[NL_FINGERPRINT_OP].families == many);
        CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_OP].count, many ? 2 : 4);
        for (size_t i = 0; !many && i < CHECK_LENGTH(cases); i++)
            if (cases[i].signature) {
                const struct nl_fingerprint_item *item =
                    item_of(print, NL_FINGERPRINT_OP, cases[i].signature);
                CHECK_INT(item->total_ns, cases[i].ns);
                CHECK_TEXT(item->family, cases[i].name);
            }
        if (many) {
            const struct nl_fingerprint_item *item = item_of(print, NL_FINGERPRINT_OP, "aten::mm");
            CHECK_INT((int64_t)item->count, 1204);
            CHECK_INT(item->total_ns, 1204 * 15000);
            CHECK(near(item->values[NL_FINGERPRINT_LATENCY], 15000));
        }
        nl_runfingerprint_free(print);
    }
}

/* 12 steps of 100 us; the first two take five times as long, launch another
 * kernel and hold an operator. */
static void warm_up_is_left_out(void)
{
    struct gputrace make;
    int64_t at = 1000;
    open_on_device(&make);
    for (int i = 0; i < 12; i++) {
        int64_t us = i < 2 ? 500 : 100;
        gputrace_step(&make, at, us);
        gputrace_op(&make, i < 2 ? "aten::empty" : "aten::mm", at + 1, 20);
        gputrace_kernel(&make, 7, i < 2 ? "autotune" : "gemm", at + 2, 1, at + 10, us - 20);
        at += us;
    }
    struct nl_runfingerprint *print = print_of(&make);
    const struct nl_fingerprint_list *list = &print->parts[NL_FINGERPRINT_DEVICE];
    CHECK_INT((int64_t)print->excluded_steps, 2);
    CHECK_INT((int64_t)list->count, 1);
    CHECK_INT(list->total_ns, 10 * 80000);
    CHECK_TEXT(list->items[0].signature, "gemm");
    CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_OP].count, 1);
    CHECK_TEXT(print->parts[NL_FINGERPRINT_OP].items[0].signature, "aten::mm");
    CHECK_TEXT(print->parts[NL_FINGERPRINT_OP_DEVICE].items[0].signature, "aten::mm");
    nl_runfingerprint_free(print);
}

/* 1,200 names: 999 items, and one for the 201 smallest. */
static void the_smallest_are_one(void)
{
    struct gputrace make;
    char name[32];
    open_on_device(&make);
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof name, "k%dx", i);
        gputrace_kernel(&make, 7, name, -1, 0, 10000LL * i, 2000 - i);
    }
    struct nl_runfingerprint *print = print_of(&make);
    CHECK_INT((int64_t)print->parts[NL_FINGERPRINT_DEVICE].count, NL_FINGERPRINT_ITEMS);
    const struct nl_fingerprint_item *rest =
        item_of(print, NL_FINGERPRINT_DEVICE, NL_FINGERPRINT_REST);
    CHECK_INT((int64_t)rest->count, 201);
    CHECK_INT(rest->total_ns, 201LL * (801 + 1001) / 2 * 1000);
    CHECK_INT(print->parts[NL_FINGERPRINT_DEVICE].total_ns, 1200LL * (801 + 2000) / 2 * 1000);
    nl_runfingerprint_free(print);
}

/* 3,000 bytes of two-byte characters behind one of one: names are cut between characters. */
static void long_names_are_cut(void)
{
    struct gputrace make;
    struct nl_buf items, names;
    struct nl_fingerprint_view view = {0};
    struct nl_fingerprint_texts texts;
    struct nl_arena arena;
    char name[3002] = "k";
    for (int i = 1; i + 1 < 3001; i += 2)
        memcpy(&name[i], "\xc3\xa4", 2);
    open_on_device(&make);
    gputrace_kernel(&make, 7, name, -1, 0, 0, 10);
    struct nl_runfingerprint *print = print_of(&make);
    nl_arena_init(&arena);
    nl_buf_init(&items, NL_MAX_FINGERPRINT_PACK);
    nl_buf_init(&names, NL_MAX_FINGERPRINT_PACK);
    nl_fingerprint_pack(print, &items, &names);
    CHECK(nl_fingerprint_unpack(&view, (struct nl_str){items.ptr, items.len}));
    CHECK(nl_fingerprint_texts(&texts, &view, (struct nl_str){names.ptr, names.len}, &arena));
    CHECK_INT((int64_t)strlen(texts.signatures[NL_FINGERPRINT_DEVICE][0]), 999);
    CHECK(view.items[NL_FINGERPRINT_DEVICE][0].hash == nl_fingerprint_hash(nl_str(name)));
    nl_buf_release(&items);
    nl_buf_release(&names);
    nl_arena_free(&arena);
    nl_fingerprint_view_release(&view);
    nl_runfingerprint_free(print);
}

CHECK_MAIN("fingerprint", {"kernels have one name", kernels_have_one_name},
           {"shares and latencies", shares_and_latencies},
           {"measured components", measured_components},
           {"tensor work is not counted", tensor_work_is_not_counted}, {"operators", operators},
           {"operators of the host", operators_of_the_host}, {"likeness by hand", likeness_by_hand},
           {"shapes tell operators apart", shapes_tell_operators_apart},
           {"warm-up is left out", warm_up_is_left_out}, {"families by hand", families_by_hand},
           {"other devices are compared by operators", other_devices_are_compared_by_operators},
           {"alike as can be", alike_as_can_be}, {"damage is refused", damage_is_refused},
           {"long names are cut", long_names_are_cut},
           {"the smallest are one", the_smallest_are_one})
