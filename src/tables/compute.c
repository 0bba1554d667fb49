/* compute — how good the compute is, in at most five lines for the short report. */
#include <math.h>

#include "base/sum.h"
#include "base/units.h"
#include "base/utf8.h"
#include "tables/resultcells.h"
#include "tables/efficiency.h"
#include "tables/workrows.h"

#define MIN_SHARE      0.01 /* of kernel time: headroom below is not worth a line */
#define MIN_KNOWN      0.2  /* of the time in products, that use of a peak is worth a line */
#define MIN_ROOF_SHARE 0.1  /* of its roof: what reaches less is bound by something else */
#define CLOCK_APART    1.05 /* of use by the maker's figure: less is no news */
#define ROUNDING       1e-9 /* of one figure worked out in two ways */
#define MAX_NAME       28   /* bytes of a name in a line */

#define COLUMNS(C)                                                                                 \
    C(what, NULL, TEXT)                                                                            \
    C(share, NULL, SHARE)                                                                          \
    C(says, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static void add_row(struct nl_result *result, const char *what, double share, const char *says)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_what] = nl_cell_static(what);
    cells[AT_share] = nl_cell_f64(share);
    cells[AT_says] = nl_cell_static(says);
}

/* What the figures are over: "4 steady steps". */
static const char *span_words(struct nl_result *result, uint64_t steps)
{
    if (!steps)
        return "the whole capture";
    return nl_arena_format(&result->arena, "%llu steady step%s", (unsigned long long)steps,
                           steps == 1 ? "" : "s");
}

static const char *rate_words(struct nl_result *result, double flops_per_s)
{
    bool tera = flops_per_s >= 1e11, giga = flops_per_s >= 1e8;
    return nl_arena_format(&result->arena, "%.3g %s",
                           flops_per_s / (tera   ? 1e12
                                          : giga ? 1e9
                                                 : 1e6),
                           tera   ? "TFLOP/s"
                           : giga ? "GFLOP/s"
                                  : "MFLOP/s");
}

/* Where the clock was down, the use of what the device could do then. */
static const char *clock_words(struct nl_result *result, const struct nl_efficiency *row)
{
    double at_clock = nl_hfu_at_clock(row);
    if (!(at_clock > CLOCK_APART * row->hfu) || at_clock > 1)
        return "";
    return nl_arena_format(&result->arena, ", %.1f %% at the %.0f MHz that it ran at",
                           100 * at_clock, row->clock_hz / 1e6);
}

/* The device that is used worst: of several, one line is enough. */
static void say_use(struct nl_result *result, const struct nl_efficiency *rows, size_t count)
{
    const struct nl_efficiency *worst = NULL;
    for (size_t i = 0; i < count; i++)
        if (!isnan(rows[i].hfu) && (!worst || rows[i].hfu < worst->hfu))
            worst = &rows[i];
    if (!worst)
        return;
    double rate = worst->flops / ((double)worst->wall_ns / 1e9);
    const char *over = span_words(result, worst->steps);
    if (worst->hfu > 1) {
        add_row(result, "HFU", worst->hfu,
                nl_arena_format(&result->arena,
                                "%.1f TFLOP/s over %s beats the peak: measurement or peak is wrong",
                                rate / 1e12, over));
        return;
    }
    bool apart = fabs(worst->mfu - worst->hfu) > ROUNDING * worst->hfu;
    add_row(result, apart ? "MFU" : "HFU", worst->mfu == worst->mfu ? worst->mfu : worst->hfu,
            nl_arena_format(&result->arena, "%s of %.4g TFLOP/s (%s, %s%s) over %s%s%s",
                            rate_words(result, rate), worst->peak_flops / 1e12,
                            worst->peaks->product ? worst->peaks->product : "device",
                            work_type_name(worst->type) ? work_type_name(worst->type) : "?",
                            worst->peaks->estimated ? ", estimated" : "", over,
                            clock_words(result, worst),
                            count > 1 ? ", the device used least" : ""));
}

/* Of the time in matrix products: what has a model. Use of a peak by the little
 * that is known says nothing. */
static double known_products(const struct nl_op_works *works)
{
    int64_t known = 0, all = 0;
    for (size_t i = 0; i < works->count; i++) {
        nl_sum_add(&all, works->items[i].matrix_ns);
        if (works->items[i].flops == works->items[i].flops || works->items[i].inside)
            nl_sum_add(&known, works->items[i].matrix_ns);
    }
    return all > 0 ? (double)known / (double)all : 1;
}

/* What the steps that decode add up to. */
struct decoding {
    int64_t span, work, products, known;
    int64_t turn; /* of steps whose gap to the next is known, with it */
    size_t count, turns;
    double tokens, turn_tokens, weight_bytes, weights_s;
};

static struct decoding decoding_of(const struct nl_llm_steps *steps)
{
    struct decoding sum = {0};
    for (size_t i = 0; i < steps->count; i++) {
        const struct nl_llm_work *step = &steps->items[i];
        if (step->told.phase != NL_LLM_DECODE || nl_llm_step_ns(step) == NL_NULL_I64)
            continue;
        sum.count++;
        nl_sum_add(&sum.span, nl_llm_step_ns(step));
        nl_sum_add(&sum.work, step->work_ns);
        nl_sum_add(&sum.products, step->product_ns);
        nl_sum_add(&sum.known, step->known_ns);
        sum.tokens += nl_llm_step_tokens(step);
        sum.weight_bytes += step->weight_bytes;
        sum.weights_s += step->weight_bytes > 0 ? step->weight_bytes / step->memory_rate : 0;
        if (step->gap_ns == NL_NULL_I64)
            continue;
        sum.turns++;
        nl_sum_add(&sum.turn, nl_llm_step_ns(step));
        nl_sum_add(&sum.turn, step->gap_ns);
        sum.turn_tokens += nl_llm_step_tokens(step);
    }
    return sum;
}

/* Why it is not known what reading the weights takes; NULL when it is. */
static const char *no_weights(const struct decoding *sum)
{
    if (sum->known < sum->products / 2 || !(sum->weight_bytes > 0))
        return "an unknown time: sizes of products are not known";
    if (sum->weights_s != sum->weights_s)
        return "an unknown time: the device's memory bandwidth is not known";
    return sum->weights_s * 1e9 > NL_ROOF_BROKEN * (double)sum->span
               ? "longer at memory's peak than the steps: a cache holds them, or sizes, product or "
                 "bandwidth are wrong"
               : NULL;
}

/* On processors there is no MFU, as no maker states their peak: the rate of
 * products stands for it. */
static void say_host(struct nl_result *result, const struct nl_op_works *works,
                     const struct nl_device_peaks *peaks)
{
    bool known = nl_host_peaks(peaks, works->trace)->known;
    double flops = 0;
    int64_t ns = 0;
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        if (!work->matrix || isnan(work->flops_needed) || nl_op_work_ns(work) == NL_NULL_I64)
            continue;
        flops += work->flops_needed;
        nl_sum_add(&ns, nl_op_work_ns(work));
    }
    char length[NL_UNIT_TEXT];
    if (ns > 0)
        add_row(result, "CPU", NAN,
                nl_arena_format(&result->arena, "%.3g GFLOP/s in matrix products, over %s%s",
                                flops / (double)ns, nl_format_ns(length, ns),
                                known ? "" : "; measure the roof with `neurolens roof`"));
}

/* How much is known, and against what it is judged. */
static const char *host_note(struct nl_result *result, const struct nl_op_works *works,
                             const struct nl_device_peaks *peaks)
{
    const char *known = nl_work_coverage(result, works);
    const struct nl_device_peaks *host = nl_host_peaks(peaks, works->trace);
    if (!known || !works->trace->op.rows)
        return known;
    return host->known ? nl_arena_format(&result->arena, "%s; roofs %s", known, host->source)
                       : nl_arena_format(&result->arena, "%s; %s", known,
                                         nl_no_host_roofs(result, works->trace));
}

/* Steps that decode: how long, how many tokens, and the least time of reading their weights. */
static void say_decode(struct nl_result *result, const struct nl_llm_steps *steps)
{
    struct decoding sum = decoding_of(steps);
    char length[NL_UNIT_TEXT], least[NL_UNIT_TEXT], work[NL_UNIT_TEXT];
    if (!sum.count || sum.span <= 0)
        return;
    const char *why = no_weights(&sum), *rate = "", *idle = "";
    nl_format_ns(length, sum.span / (int64_t)sum.count);
    nl_format_ns(least, why ? 0 : nl_sum_near(sum.weights_s * 1e9 / (double)sum.count));
    if (sum.tokens > 0 && sum.turns && sum.turn > 0)
        rate = nl_arena_format(&result->arena, " (%.4g tokens per step, %.4g per second)",
                               sum.tokens / (double)sum.count,
                               sum.turn_tokens / ((double)sum.turn / 1e9));
    else if (sum.tokens > 0)
        rate = nl_arena_format(&result->arena, " (%.4g tokens per step)",
                               sum.tokens / (double)sum.count);
    if (sum.work < sum.span / 2)
        idle = nl_arena_format(&result->arena, ", %s of it with work on the device",
                               nl_format_ns(work, sum.work / (int64_t)sum.count));
    add_row(result, "decode", why ? NAN : sum.weights_s * 1e9 / (double)sum.span,
            nl_arena_format(&result->arena, "%s per step%s%s; reading weights takes %s%s", length,
                            rate, idle, why ? why : least, why ? "" : " or more"));
}

/* From first to last work, of all devices together; 0 unknown. */
static int64_t devices_wall(const struct nl_analyze_options *options)
{
    size_t count;
    int64_t wall = 0;
    const struct nl_device_breakdown *parts = nl_memo_breakdown(options->memo, &count);
    for (size_t i = 0; i < count; i++)
        nl_sum_add(&wall, parts[i].wall_ns);
    return wall;
}

/* Shares are of the operators' time: how much that is stands in a row before, or a bound of
 * hardly any time reads as that of the program. What is nearer to memory's roof than to
 * arithmetic's says how near it comes. */
static void say_bounds(struct nl_result *result, const struct nl_analyze_options *options,
                       const struct nl_roofs *roofs)
{
    enum { FAR = NL_BOUNDS, SAID };
    int64_t by[SAID] = {0}, all = 0, wall = devices_wall(options);
    double least[SAID] = {0};
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_roof *roof = &roofs->items[i];
        if (roof->kind != NL_ROOF_OPERATOR)
            continue;
        bool near = roof->bound != NL_BOUND_MEMORY && roof->bound != NL_BOUND_COMPUTE;
        unsigned bound = near || nl_roof_share(roof) >= MIN_ROOF_SHARE ? roof->bound : FAR;
        nl_sum_add(&by[bound], roof->ns);
        least[bound] += roof->least_s;
        nl_sum_add(&all, roof->ns);
    }
    int64_t unjudged = by[NL_BOUND_UNKNOWN];
    nl_sum_add(&unjudged, by[NL_BOUND_COMMUNICATION]);
    if (!all || unjudged == all)
        return;
    char part[NL_UNIT_TEXT], whole[NL_UNIT_TEXT];
    if (wall >= all)
        add_row(result, "operators", (double)all / (double)wall,
                nl_arena_format(&result->arena, "%s in operators, of %s from first to last work",
                                nl_format_ns(part, all), nl_format_ns(whole, wall)));
    struct nl_buf text;
    nl_buf_init(&text, 1024);
    const char *names[SAID] = {"no roof known",          "compute",       "memory bandwidth",
                               "latency (tiny kernels)", "communication", "far from any roof"};
    const char *between = "";
    for (unsigned k = 1; k <= SAID; k++) {
        unsigned bound = k % SAID;
        double share = (double)by[bound] / (double)all;
        if (share < 0.005)
            continue;
        nl_buf_format(&text, "%s%s %.0f %%", between, names[bound], 100 * share);
        double reached = by[bound] ? least[bound] * 1e9 / (double)by[bound] : 0;
        if ((bound == NL_BOUND_MEMORY || bound == NL_BOUND_COMPUTE) && reached <= 1)
            nl_buf_format(&text, " (reaches %.0f %%)", 100 * reached);
        between = ", ";
    }
    add_row(result, "bound by", NAN, nl_arena_text(&result->arena, text.ptr, text.len));
    nl_buf_release(&text);
}

static void say_headroom(struct nl_result *result, const struct nl_trace *trace,
                         const struct nl_roofs *roofs)
{
    int64_t headroom = 0, all = 0;
    const struct nl_roof *first = NULL;
    for (size_t i = 0; i < roofs->count; i++) {
        const struct nl_roof *roof = &roofs->items[i];
        if (roof->kind != NL_ROOF_OPERATOR)
            continue;
        nl_sum_add(&all, roof->ns);
        if (roof->headroom_ns == NL_NULL_I64)
            continue;
        nl_sum_add(&headroom, roof->headroom_ns);
        if (!first && !roof->over)
            first = roof;
    }
    if (!first || headroom < nl_sum_near(MIN_SHARE * (double)all))
        return;
    struct nl_str name = nl_trace_name(trace, first->name);
    const char *type = work_type_name((enum work_type)first->type);
    char won[NL_UNIT_TEXT], whole[NL_UNIT_TEXT], most[NL_UNIT_TEXT];
    const char *says = nl_arena_format(
        &result->arena, "%s of %s at %.0f %% of the roofs; most: %.*s (%s, at %.0f %%) %s",
        nl_format_ns(won, headroom), nl_format_ns(whole, all), 100 * NL_ROOF_TARGET,
        NL_UP_TO(MAX_NAME, name), type ? type : "?", 100 * nl_roof_share(first),
        nl_format_ns(most, first->headroom_ns));
    add_row(result, "headroom", (double)headroom / (double)all, says);
}

static bool are_measured(const struct nl_trace *trace, const struct nl_op_works *works,
                         const struct nl_device_peaks *peaks)
{
    if (works->on_host)
        return nl_host_peaks(peaks, trace)->measured;
    bool measured = false;
    for (uint32_t device = 0; device < trace->device.rows; device++)
        measured |= peaks[device].measured;
    return measured;
}

/* A measured roof that a profile exceeds was measured while other work ran: all that follows from
 * it is wrong, too. */
static void say_broken(struct nl_result *result, const struct nl_trace *trace,
                       const struct nl_roofs *roofs, bool measured)
{
    const struct nl_roof *worst = NULL;
    for (size_t i = 0; i < roofs->count; i++)
        if (roofs->items[i].kind == NL_ROOF_OPERATOR && roofs->items[i].over &&
            (!worst || roofs->items[i].ns > worst->ns))
            worst = &roofs->items[i];
    if (!worst)
        return;
    struct nl_str name = nl_trace_name(trace, worst->name);
    add_row(
        result, "over the roof", nl_roof_share(worst),
        nl_arena_format(
            &result->arena, "%.*s is faster than the %s", NL_UP_TO(60, name),
            measured
                ? "roof measured here, which is too low: run `neurolens roof --replace` while the "
                  "machine is idle"
                : "device's peak: measurement, shapes or peak is wrong"));
}

/* Work is known, and there is nothing to compare it with. */
static bool lacks_roofs(const struct nl_roofs *roofs)
{
    bool judged = false, work = false;
    for (size_t i = 0; i < roofs->count; i++) {
        judged |= roofs->items[i].judged_ns > 0;
        work |= roofs->items[i].flops == roofs->items[i].flops;
    }
    return work && !judged;
}

static void say_no_roof(struct nl_result *result, const struct nl_efficiency *rows, size_t count)
{
    const char *product = NULL;
    for (size_t i = 0; i < count && !product; i++)
        product = rows[i].peaks->product;
    add_row(result, "no roof", NAN,
            product ? nl_arena_format(&result->arena,
                                      "the peaks of %s are not in the list of devices "
                                      "(data/gpus.yaml)",
                                      product)
                    : "the profile does not name the device, so its peaks are not known");
}

/* What records the shapes of operators; NULL where no tool of the sources is known to. */
static const char *shapes_by(const struct nl_trace *trace)
{
    static const char *const tools[][2] = {
        {"kineto", "profile(record_shapes=True)"},
        {"nsys", "torch.autograd.profiler.emit_nvtx(record_shapes=True)"},
        {"recording", "neurolens run --shapes"}};
    for (uint32_t source = 0; source < trace->source.rows; source++)
        for (size_t i = 0; i < sizeof tools / sizeof tools[0]; i++)
            if (nl_str_is(nl_trace_name(trace, trace->source.format[source]), tools[i][0]))
                return tools[i][1];
    return NULL;
}

/* How much is known, and why there may be no roofs. */
static const char *roofs_note(struct nl_result *result, const struct nl_trace *trace,
                              const struct nl_roofs *roofs, const struct nl_op_works *works)
{
    const char *known = nl_work_coverage(result, works), *tool = shapes_by(trace);
    bool work = false;
    for (size_t i = 0; i < roofs->count; i++)
        work |= roofs->items[i].flops == roofs->items[i].flops;
    if (!work && trace->op.rows && tool && nl_has_device_work(trace))
        return nl_arena_format(&result->arena, "%s; record shapes to know it: %s",
                               known ? known : "", tool);
    if (!known || !lacks_roofs(roofs))
        return known;
    return nl_arena_format(
        &result->arena, "%s; no roofs: the profile does not tell a product whose peaks are known",
        known);
}

static struct nl_result *compute_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    size_t count;
    struct nl_efficiency *rows = nl_efficiency_new(trace, options, &count);
    const struct nl_roofs *roofs = nl_memo_roofs(options->memo);
    const struct nl_op_works *works = nl_memo_works(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("compute", NULL, columns);
    if (known_products(works) >= MIN_KNOWN)
        say_use(result, rows, count);
    if (nl_has_device_work(trace) && lacks_roofs(roofs))
        say_no_roof(result, rows, count);
    if (works->on_host)
        say_host(result, works, nl_memo_peaks(options->memo));
    bool measured = are_measured(trace, works, nl_memo_peaks(options->memo));
    if (measured)
        say_broken(result, trace, roofs, true);
    say_decode(result, nl_memo_llm_steps(options->memo));
    say_bounds(result, options, roofs);
    say_headroom(result, trace, roofs);
    if (!measured)
        say_broken(result, trace, roofs, false);
    result->note = works->on_host ? host_note(result, works, nl_memo_peaks(options->memo))
                                  : roofs_note(result, trace, roofs, works);
    nl_free(rows);
    return result;
}

const struct nl_analysis nl_analysis_compute = {
    .name = "compute",
    .key = "compute",
    .title = "Compute efficiency",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .instead = &(const struct nl_need){NL_T_op, NULL}, /* of CPUs */
    .run = compute_run,
    .doc = "A summary in a few lines: use of the peak (MFU or HFU, if the work is known for a "
           "fifth of the time in matrix products), decode steps of LLMs with the minimum time for "
           "reading their weights, the share of time in operators, what bounds them and how close "
           "they are to that roof, headroom to the roofs with the operator that has most of it, "
           "what is faster than possible, and the share of time that has a work model.",
};
