/* What the operators of a trace had to do (work/opwork.h): whose the kernels are, whose the
 * operations, which count, on profiles whose products can be worked out on paper. */
#include <math.h>

#include "base/mem.h"
#include "check.h"
#include "gputrace.h"
#include "work/roofline.h"

#define FLOATS "[\"float\", \"float\"]"
#define HALVES "[\"c10::Half\", \"c10::Half\"]"
#define MM     "[[4, 8], [8, 16]]" /* 2 · 4 · 8 · 16 = 1024 operations */

static void op(struct gputrace *make, const char *name, const char *shapes, const char *types,
               int64_t us, int64_t dur_us)
{
    struct nl_op_row row = nl_op_row();
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, name, us, dur_us);
    if (shapes) {
        row.shapes = nl_stage_name(make->stage, nl_str(shapes));
        row.dtypes = nl_stage_name(make->stage, nl_str(types));
    }
    nl_stage_op(make->stage, &row);
}

/* The works of a trace. */
struct made {
    struct nl_trace *trace;
    struct nl_owners owners;
    struct nl_rangetree ops;
    uint32_t *owner_of;
    struct nl_op_works works;
};

static bool find(struct made *made, struct gputrace *make, const struct nl_work_scope *scope)
{
    made->trace = gputrace_close(make);
    if (!made->trace)
        return false;
    nl_owners_init(&made->owners, made->trace);
    nl_rangetree_init(&made->ops, made->trace, NL_KIND_OP);
    made->owner_of = nl_owners_op(&made->owners, &made->ops);
    nl_op_works_init(&made->works, made->trace, &made->owners, &made->ops, made->owner_of, scope);
    return true;
}

static void release(struct made *made)
{
    nl_op_works_release(&made->works);
    CHECK(!made->works.items && !made->works.count);
    nl_free(made->owner_of);
    nl_rangetree_release(&made->ops);
    nl_owners_release(&made->owners);
    nl_trace_free(made->trace);
}

/* The only work of a name; NULL: none, or several. */
static const struct nl_op_work *work_of(const struct made *made, const char *name)
{
    const struct nl_op_work *found = NULL;
    size_t count = 0;
    for (size_t i = 0; i < made->works.count; i++)
        if (nl_str_is(nl_trace_name(made->trace, made->works.items[i].name), name)) {
            found = &made->works.items[i];
            count++;
        }
    return count == 1 ? found : NULL;
}

static void check_flops(const struct nl_op_work *work, double flops)
{
    CHECK_NEAR(work->flops, flops, 1e-9);
    CHECK_NEAR(work->flops_needed, flops, 1e-9);
}

/* A product of two kernels in an operator that nothing is known of, and a
 * kernel of nobody, twice. */
static void kernels_of_operators(void)
{
    struct gputrace make;
    struct made made;
    gputrace_open(&make);
    op(&make, "my::block", NULL, NULL, 0, 50);
    op(&make, "aten::mm", MM, FLOATS, 1, 20);
    gputrace_kernel(&make, 7, "ampere_sgemm_32x32", 2, 2, 100, 30);
    gputrace_kernel(&make, 7, "elementwise_kernel", 6, 2, 130, 7);
    gputrace_kernel(&make, 7, "my_kernel", 30, 2, 140, 11);
    gputrace_kernel(&make, 7, "ncclDevKernel_AllReduce_Sum_f32", 34, 2, 160, 13);
    gputrace_kernel(&make, 7, "lonely", 60, 2, 180, 17);
    gputrace_kernel(&make, 7, "lonely", 70, 2, 200, 19);
    gputrace_kernel(&make, 7, "alone", 80, 2, 220, 23);
    REQUIRE(find(&made, &make, NULL));
    CHECK(!made.works.on_host);
    REQUIRE(made.works.count == 4);
    const struct nl_op_work *mm = work_of(&made, "aten::mm"), *block = work_of(&made, "my::block"),
                            *lonely = work_of(&made, "lonely"), *alone = work_of(&made, "alone");
    REQUIRE(mm && block && lonely && alone);
    check_flops(mm, 1024);
    CHECK_NEAR(mm->bytes, 4 * (4 * 8 + 8 * 16 + 4 * 16), 1e-9);
    CHECK(mm->matrix && !mm->inside && !mm->measured && !mm->recorded && !mm->estimated);
    CHECK_INT(mm->family, WORK_GEMM);
    CHECK_INT(mm->type, WORK_FP32);
    CHECK_INT(mm->kernels, 2);
    CHECK_INT(mm->kernel_ns, 37000);
    CHECK_INT(mm->matrix_ns, 30000);
    CHECK_INT(mm->comm_ns, 0);
    CHECK_INT(mm->host_ns, NL_NULL_I64);
    CHECK_INT(nl_op_work_ns(mm), 37000);
    CHECK_INT(mm->ts, 100000);
    CHECK_INT(mm->rank, 0);
    CHECK_INT(mm->device, make.device);
    CHECK_INT(made.owners.work[mm->place], mm->first);
    CHECK(isnan(block->flops) && isnan(block->bytes) && !block->matrix);
    CHECK_INT(block->family, WORK_NO_FAMILY);
    CHECK_INT(block->kernels, 2);
    CHECK_INT(block->kernel_ns, 24000);
    CHECK_INT(block->matrix_ns, 0);
    CHECK_INT(block->comm_ns, 13000);
    CHECK_INT(lonely->slice, NL_NULL_ROW);
    CHECK_INT(lonely->kernels, 2);
    CHECK_INT(lonely->kernel_ns, 36000);
    CHECK_INT(lonely->ts, 180000);
    CHECK_INT(alone->kernel_ns, 23000);
    /* by slice, then those of no operator by their first kernel */
    CHECK(block == &made.works.items[0] && mm == &made.works.items[1]);
    CHECK(lonely == &made.works.items[2] && alone == &made.works.items[3]);
    release(&made);
}

/* Kernels of no operator are work of the device that ran them. */
static void alone_on_each_device(void)
{
    struct gputrace make;
    struct made made;
    gputrace_open(&make);
    uint32_t first = make.device, other = nl_builder_device(make.builder, make.source, 1, 1);
    for (int i = 0; i < 3; i++) {
        make.device = i == 1 ? other : first;
        gputrace_kernel(&make, 7, "lonely", 10 * i, 2, 100 + 50 * i, 10 + i);
    }
    REQUIRE(find(&made, &make, NULL));
    REQUIRE(made.works.count == 2);
    CHECK_INT(made.works.items[0].device, first);
    CHECK_INT(made.works.items[0].kernels, 2);
    CHECK_INT(made.works.items[0].kernel_ns, 22000);
    CHECK_INT(made.works.items[1].device, other);
    CHECK_INT(made.works.items[1].kernels, 1);
    CHECK_INT(made.works.items[1].kernel_ns, 11000);
    struct nl_device_peaks *peaks = nl_device_peaks_new(made.trace);
    struct nl_roofs roofs;
    nl_roofs_init(&roofs, &made.works, peaks, NULL, 0.8);
    for (size_t i = 0; i < roofs.count; i++)
        CHECK_INT(roofs.items[i].calls, roofs.items[i].device == first ? 2 : 1);
    CHECK_INT(roofs.count, 6); /* as kernels, as a family and as a device */
    nl_roofs_release(&roofs);
    nl_device_peaks_free(peaks);
    release(&made);
}

/* Operations of a product around another count in the inner one, those of what is no product, or
 * around none, stay. */
static void one_in_another(void)
{
    static const struct {
        const char *outer, *shapes, *inner;
        bool inside;
        double flops; /* of the outer, -1: not known */
    } cases[] = {{"aten::matmul", MM, "aten::mm", true, -1},
                 {"aten::matmul", MM, "my::mm", false, 1024},
                 {"my::matmul", MM, "aten::mm", false, -1},
                 {"aten::relu", "[[4, 16]]", "aten::mm", false, 64},
                 {"aten::matmul", MM, "aten::relu", false, 1024}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct made made;
        gputrace_open(&make);
        check_case(cases[i].outer);
        op(&make, cases[i].outer, cases[i].shapes, FLOATS, 0, 50);
        gputrace_kernel(&make, 7, "first_kernel", 1, 2, 100, 5);
        op(&make, "my::between", NULL, NULL, 9, 30);
        op(&make, cases[i].inner, MM, FLOATS, 10, 20);
        gputrace_kernel(&make, 7, "second_kernel", 12, 2, 110, 9);
        REQUIRE(find(&made, &make, NULL));
        const struct nl_op_work *outer = work_of(&made, cases[i].outer);
        REQUIRE(outer);
        CHECK_INT(outer->inside, cases[i].inside);
        check_flops(outer, cases[i].flops < 0 ? NAN : cases[i].flops);
        if (cases[i].inside) {
            CHECK(isnan(outer->bytes) && isnan(outer->rows) && isnan(outer->queries));
            CHECK_INT(outer->kernel_ns, 5000);
        }
        const struct nl_op_work *inner = work_of(&made, cases[i].inner);
        if (!strcmp(cases[i].inner, "aten::mm")) {
            REQUIRE(inner);
            check_flops(inner, 1024);
            CHECK_INT(inner->kernel_ns, 9000);
        } else if (!strcmp(cases[i].inner, "my::mm")) { /* not known: the one around it is */
            CHECK(!inner);
            CHECK_INT(outer->kernel_ns, 14000);
        }
        release(&made);
    }
}

/* Sets of inputs are worked out once each; all that distinguishes them does. */
static void sets_of_inputs(void)
{
    static const struct {
        const char *name, *shapes, *types;
        double flops, bytes;
    } cases[] = {
        {"aten::mm", MM, FLOATS, 1024, 4 * 224},
        {"aten::mm", "[[4, 8], [8, 32]]", FLOATS, 2048, 4 * (32 + 256 + 128)},
        {"aten::mm", MM, HALVES, 1024, 2 * 224},
        {"aten::mm", MM, FLOATS, 1024, 4 * 224},
        {"aten::bmm", "[[2, 4, 8], [2, 8, 16]]", FLOATS, 2048, 4 * 448},
        {"aten::mm", "[[4, 8]]", FLOATS, NAN, NAN},
        {"aten::mm", NULL, NULL, NAN, NAN},
    };
    struct gputrace make;
    struct made made;
    gputrace_open(&make);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t at = 10 * (int64_t)i;
        op(&make, cases[i].name, cases[i].shapes, cases[i].types, at, 8);
        gputrace_kernel(&make, 7, "gemm", at + 1, 2, at + 100, 5);
    }
    REQUIRE(find(&made, &make, NULL));
    REQUIRE(made.works.count == CHECK_LENGTH(cases));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char label[16];
        snprintf(label, sizeof label, "set %zu", i);
        check_case(label);
        check_flops(&made.works.items[i], cases[i].flops);
        CHECK_NEAR(made.works.items[i].bytes, cases[i].bytes, 1e-9);
        CHECK_INT(made.works.items[i].family, WORK_GEMM);
    }
    release(&made);
}

/* Work that starts in [start, end), on lanes that are asked for. */
static void scopes(void)
{
    static const struct {
        int64_t start, end; /* us */
        bool with_lanes, own_lane;
        int64_t kernel_us;
    } cases[] = {{100, 101, false, false, 30}, {101, 200, false, false, 7},
                 {99, 100, false, false, 0},   {100, 130, false, false, 30},
                 {100, 131, false, false, 37}, {130, 131, false, false, 7},
                 {0, 900, true, true, 37},     {0, 900, true, false, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct made made;
        uint8_t lanes[64];
        char label[16];
        snprintf(label, sizeof label, "scope %zu", i);
        check_case(label);
        memset(lanes, cases[i].own_lane, sizeof lanes);
        gputrace_open(&make);
        op(&make, "aten::mm", MM, FLOATS, 1, 20);
        gputrace_kernel(&make, 7, "ampere_sgemm_32x32", 2, 2, 100, 30);
        gputrace_kernel(&make, 7, "splitKreduce_kernel", 6, 2, 130, 7);
        struct nl_work_scope scope = {1000 * cases[i].start, 1000 * cases[i].end,
                                      cases[i].with_lanes ? lanes : NULL};
        REQUIRE(find(&made, &make, &scope));
        CHECK(!made.works.on_host);
        CHECK_INT(made.works.count, cases[i].kernel_us > 0);
        if (made.works.count)
            CHECK_INT(made.works.items[0].kernel_ns, 1000 * cases[i].kernel_us);
        release(&made);
    }
}

/* A kernel with counters: 1e9 cycles a second, in each 10 additions, 20 fused products, so many
 * fused ones in double precision; 2e9 bytes a second. */
static void counted_kernel(struct gputrace *make, const char *name, double doubles, int64_t call_us,
                           int64_t us, int64_t dur_us)
{
    const struct {
        const char *name;
        double value;
    } metrics[] = {
        {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed", 10},
        {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed", 0},
        {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed", 20},
        {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum.per_cycle_elapsed", doubles},
        {"smsp__cycles_elapsed.avg.per_second", 1e9},
        {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 0}};
    struct nl_kernel_row row = nl_kernel_row();
    struct nl_measurement_row measured = nl_measurement_row();
    row.correlation = ++make->correlation;
    gputrace_call_as(make, "cudaLaunchKernel", call_us, 1, row.correlation);
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7), name,
                               us, dur_us);
    measured.slice = row.slice;
    measured.dram_bytes_per_s = 2e9;
    row.measurement = nl_stage_measurement(make->stage, &measured);
    nl_stage_kernel(make->stage, &row);
    for (size_t i = 0; i < CHECK_LENGTH(metrics); i++) {
        struct nl_metric_row metric = nl_metric_row();
        metric.slice = row.slice;
        metric.measurement = row.measurement;
        metric.name = nl_stage_name(make->stage, nl_str(metrics[i].name));
        metric.value = metrics[i].value;
        nl_stage_metric(make->stage, &metric);
    }
}

/* What was counted stands where no model knows the operator, and beside it where one does. Each
 * kernel with counters in no operator is a row of its own. */
static void counted(void)
{
    struct gputrace make;
    struct made made;
    gputrace_open(&make);
    op(&make, "aten::mm", MM, HALVES, 0, 20);
    counted_kernel(&make, "gemm", 0, 1, 100, 30); /* 50e9 a second: 1.5e6 */
    gputrace_kernel(&make, 7, "plain", 5, 1, 130, 7);
    counted_kernel(&make, "gemm", 0, 8, 140, 10);
    op(&make, "my::op", NULL, NULL, 30, 10);
    counted_kernel(&make, "mine", 30, 31, 160, 20); /* 60e9 more */
    counted_kernel(&make, "lonely", 20, 50, 190, 10);
    counted_kernel(&make, "lonely", 20, 52, 210, 40);
    REQUIRE(find(&made, &make, NULL));
    REQUIRE(made.works.count == 4);
    const struct nl_op_work *mm = work_of(&made, "aten::mm"), *mine = work_of(&made, "my::op");
    REQUIRE(mm && mine);
    check_flops(mm, 1024);
    CHECK(!mm->measured);
    CHECK_INT(mm->type, WORK_FP16); /* as its inputs are */
    CHECK_INT(mm->family, WORK_GEMM);
    CHECK_NEAR(mm->counted_flops, 2e6, 1e-3);
    CHECK_NEAR(mm->counted_bytes, 8e4, 1e-3);
    CHECK(mine->measured);
    CHECK_INT(mine->family, WORK_COUNTED);
    CHECK_INT(mine->type, WORK_FP64);
    CHECK_NEAR(mine->flops, 2.2e6, 1e-3);
    CHECK_NEAR(mine->flops_needed, 2.2e6, 1e-3);
    CHECK_NEAR(mine->bytes, 4e4, 1e-3);
    for (size_t i = 2; i < 4; i++) {
        const struct nl_op_work *lonely = &made.works.items[i];
        double seconds = i == 2 ? 10e-6 : 40e-6;
        CHECK_STR(nl_trace_name(made.trace, lonely->name), "lonely");
        CHECK_INT(lonely->slice, lonely->first);
        CHECK_INT(lonely->kernels, 1);
        CHECK_INT(lonely->type, WORK_FP32);
        CHECK_NEAR(lonely->flops, 90e9 * seconds, 1e-3);
        CHECK_NEAR(lonely->bytes, 2e9 * seconds, 1e-3);
        CHECK(lonely->measured);
    }
    release(&made);
}

/* Single precision on tensor cores is TF32; only short types are misaligned. */
static void types(void)
{
    static const struct {
        const char *types, *shapes, *kernel;
        enum work_type type;
        bool tensor_cores, misaligned;
    } cases[] = {
        {FLOATS, MM, "ampere_sgemm_32x32", WORK_FP32, false, false},
        {FLOATS, "[[4, 7], [7, 15]]", "ampere_sgemm_32x32", WORK_FP32, false, false},
        {FLOATS, MM, "cutlass_80_tensorop_s1688gemm_128x64", WORK_TF32, true, false},
        {FLOATS, "[[4, 7], [7, 15]]", "cutlass_80_tensorop_s1688gemm_128x64", WORK_TF32, true,
         true},
        {HALVES, MM, "ampere_h16816gemm_128x64", WORK_FP16, true, false},
        {HALVES, "[[4, 7], [7, 15]]", "ampere_h16816gemm_128x64", WORK_FP16, true, true},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        struct made made;
        char label[16];
        snprintf(label, sizeof label, "type %zu", i);
        check_case(label);
        gputrace_open(&make);
        op(&make, "aten::mm", cases[i].shapes, cases[i].types, 1, 20);
        gputrace_kernel(&make, 7, cases[i].kernel, 2, 2, 100, 30);
        gputrace_kernel(&make, 7, "plain_kernel", 6, 2, 130, 7);
        REQUIRE(find(&made, &make, NULL));
        REQUIRE(made.works.count == 1);
        CHECK_INT(made.works.items[0].type, cases[i].type);
        CHECK_INT(made.works.items[0].tensor_cores, cases[i].tensor_cores);
        CHECK_INT(made.works.items[0].misaligned, cases[i].misaligned);
        release(&made);
    }
}

/* Without kernels the operators are the work: of products the innermost that can be judged, of
 * others those in no product and around nothing that counts. */
static void on_the_host(void)
{
    static const struct {
        const char *name, *shapes;
        int64_t start, length;
        bool counts;
    } ops[] = {{"my::model", NULL, 0, 400, false},
               {"aten::matmul", MM, 10, 80, false}, /* around another product */
               {"aten::mm", MM, 20, 50, true},
               {"aten::relu", "[[4, 16]]", 30, 10, false}, /* in a product */
               {"aten::softmax", "[[4, 16]]", 100, 50, false},
               {"aten::_softmax", "[[4, 16]]", 110, 30, true},
               {"aten::relu", "[[4, 16]]", 200, 40, false},
               {"aten::mm", MM, 210, 20, true},
               {"aten::add", "[[4, 16], [4, 16]]", 300, 10, true}};
    struct gputrace make;
    struct made made;
    size_t counting = 0;
    gputrace_open(&make);
    for (size_t i = 0; i < CHECK_LENGTH(ops); i++) {
        op(&make, ops[i].name, ops[i].shapes, FLOATS, ops[i].start, ops[i].length);
        counting += ops[i].counts;
    }
    REQUIRE(find(&made, &make, NULL));
    CHECK(made.works.on_host);
    CHECK_INT(made.works.count, counting);
    for (size_t i = 0; i < CHECK_LENGTH(ops); i++) {
        const struct nl_op_work *work = NULL;
        for (size_t k = 0; k < made.works.count; k++)
            if (made.works.items[k].ts == 1000 * ops[i].start)
                work = &made.works.items[k];
        check_case(ops[i].name);
        REQUIRE((work != NULL) == ops[i].counts);
        if (!work)
            continue;
        CHECK_STR(nl_trace_name(made.trace, work->name), ops[i].name);
        CHECK_INT(work->host_ns, 1000 * ops[i].length);
        CHECK_INT(work->kernel_ns, NL_NULL_I64);
        CHECK_INT(work->place, NL_NULL_ROW);
        CHECK_INT(nl_op_work_ns(work), 1000 * ops[i].length);
        CHECK_INT(work->kernels, 0);
        CHECK(!work->inside);
    }
    for (size_t k = 1; k < made.works.count; k++)
        CHECK(made.works.items[k].slice > made.works.items[k - 1].slice);
    release(&made);
    gputrace_open(&make); /* and of those only what starts in the scope */
    for (size_t i = 0; i < CHECK_LENGTH(ops); i++)
        op(&make, ops[i].name, ops[i].shapes, FLOATS, ops[i].start, ops[i].length);
    REQUIRE(find(&made, &make, &(struct nl_work_scope){20000, 210000, NULL}));
    CHECK_INT(made.works.count, 2);
    release(&made);
}

/* Of a GPU whose kernels were not recorded the operators' time is no time of the work. */
static void gpu_that_was_not_seen(void)
{
    struct gputrace make;
    struct made made;
    gputrace_open(&make);
    op(&make, "aten::mm", MM, FLOATS, 1, 20);
    gputrace_call(&make, "cudaLaunchKernel", 2, 3);
    REQUIRE(find(&made, &make, NULL));
    REQUIRE(made.works.count == 1);
    CHECK(!made.works.on_host);
    CHECK_INT(made.works.items[0].host_ns, NL_NULL_I64);
    check_flops(&made.works.items[0], 1024);
    release(&made);
}

/* Attention's backward pass works its scores out again. */
static void works_out_again(void)
{
    static const struct {
        const char *name;
        enum work_family family;
        double again;
    } cases[] = {{"aten::_flash_attention_backward", WORK_ATTENTION, 200},
                 {"FlashAttnBackward", WORK_ATTENTION, 200},
                 {"backward_attention", WORK_ATTENTION, 200},
                 {"aten::_flash_attention_forward", WORK_ATTENTION, 0},
                 {"MmBackward0", WORK_GEMM, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        gputrace_open(&make);
        gputrace_op(&make, cases[i].name, 0, 10);
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_op_work work = {
            .name = trace->slice.name[0], .family = (uint8_t)cases[i].family, .flops_needed = 1000};
        check_case(cases[i].name);
        CHECK_NEAR(nl_op_work_again(trace, &work), cases[i].again, 1e-9);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("opwork", {"kernels of operators", kernels_of_operators},
           {"alone on each device", alone_on_each_device}, {"one in another", one_in_another},
           {"sets of inputs", sets_of_inputs}, {"scopes", scopes}, {"counted", counted},
           {"types", types}, {"on the host", on_the_host},
           {"a GPU that was not seen", gpu_that_was_not_seen}, {"works out again", works_out_again})
