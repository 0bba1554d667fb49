/*
 * verdictdevice — the answer for timelines with device work. The class follows from how the device
 * spent its time (timeparts.h): the largest part other than compute, if it exceeds compute, or if
 * it is at least a quarter of the time and compute is below three quarters; otherwise compute.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/median.h"
#include "base/sum.h"
#include "answer/devicewords.h"
#include "answer/latewords.h"
#include "answer/devicenotes.h"
#include "answer/devicecopies.h"
#include "answer/lastrank.h"
#include "answer/wholebars.h"
#include "base/units.h"
#include "tables/resultcells.h"
#include "tables/lookup.h"
#include "tables/memo.h"
#include "timeline/hostbusy.h"
#include "timeline/replays.h"

#define MIN_CAUSE_SHARE   0.25 /* of the time: a cause other than compute */
#define MIN_COMPUTE_SHARE 0.75
#define MIN_STARTUP_SHARE 0.8 /* of the time: start-up is then the answer, whatever the steps do */
#define MIN_CONFIDENCE    0.85
#define STEPS             5   /* at least this many make a steady phase */
#define IN_STEPS          0.9 /* of the device's work: one marked step is then enough */
#define SAME_LENGTH       100 /* durations that differ by less than 1/100 are equal */

struct group {
    enum nl_verdict_class class;
    int64_t ns;
};

/* True if the finding's numbers, which are those of its worst device, are about this
 * device. Captures of one device share ordinal and rank: then it is one that costs
 * time within this capture. */
static bool is_of_device(const struct nl_device_case *it, const struct nl_finding *finding)
{
    struct nl_interval wall = {it->row.start_ns, it->row.start_ns + it->row.wall_ns};
    return it->devices < 2 || finding->device == NL_NULL_I64 ||
           (finding->device == it->row.ordinal && finding->rank == it->row.rank &&
            (!finding->where.count ||
             nl_intervals_overlap(&finding->where, &(struct nl_intervals){&wall, 1, 1}) > 0));
}

/* Cost of the cause's finding within the time of the answer. */
static int64_t finding_ns(const struct nl_device_case *it, const char *cause)
{
    const struct nl_findings *findings = it->judged->report->findings;
    for (size_t i = 0; findings && i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (strcmp(finding->cause, cause) != 0 || !is_of_device(it, finding))
            continue;
        if (!it->in_steps)
            return finding->cost_ns;
        struct nl_interval steady = {it->first, it->last};
        int64_t inside =
            nl_intervals_overlap(&finding->where, &(struct nl_intervals){&steady, 1, 1});
        return inside < finding->cost_ns ? inside : finding->cost_ns;
    }
    return 0;
}

/* Calls that are slow in every step are not start-up. */
static bool comes_back(const struct nl_device_case *it)
{
    return it->steps >= 3 && it->parts.parts[NL_TIME_FIRST].names[0].count >= (uint64_t)it->steps;
}

static int64_t part(const struct nl_device_case *it, enum nl_time_what what)
{
    return it->parts.parts[what].ns;
}

/* Fetching input runs operators, which the division by innermost slices books separately: use the
 * finding if it is larger. */
static int64_t input_ns(const struct nl_device_case *it)
{
    int64_t named = part(it, NL_TIME_INPUT), found = finding_ns(it, "dataloader_stall");
    /* All time of a step before its first kernel is input preparation if more than a quarter of it
     * is. */
    int64_t prepared = it->parts.input_before;
    if (prepared > it->parts.before_own / 4 && prepared < it->parts.before_own)
        prepared = it->parts.before_own;
    nl_sum_add(&found, prepared);
    return named > found ? named : found;
}

/* Launched work does not start while the launching thread is in blocking calls. */
static bool held_in_calls(const struct nl_device_case *it)
{
    return it->parts.held_blocked > part(it, NL_TIME_HELD) / 2;
}

/* Moves up to *wanted out of *from. */
static void move_ns(int64_t *from, int64_t *wanted)
{
    int64_t taken = *wanted < *from ? *wanted : *from;
    *from -= taken;
    *wanted -= taken;
}

/* True if the time without any record is before the device's first work, or before nearly all of
 * it. */
static bool nothing_is_startup(const struct nl_device_case *it)
{
    int64_t nothing = part(it, NL_TIME_NOTHING);
    return it->parts.nothing_before > nothing / 2 ||
           (it->parts.early_nothing && it->parts.largest_nothing > nothing / 2);
}

static struct group largest(const struct nl_device_case *it)
{
    int64_t input = input_ns(it), inside = input - part(it, NL_TIME_INPUT);
    int64_t dispatch = part(it, NL_TIME_DISPATCH) + part(it, NL_TIME_QUEUED);
    int64_t host = part(it, NL_TIME_HOST), nothing = part(it, NL_TIME_NOTHING);
    int64_t held = part(it, NL_TIME_HELD), blocked = held_in_calls(it) ? held : 0;
    int64_t startup = comes_back(it) ? 0 : part(it, NL_TIME_FIRST);
    if (comes_back(it))
        host += part(it, NL_TIME_FIRST);
    move_ns(&host, &inside);
    move_ns(&startup, &inside);
    move_ns(&dispatch, &inside);
    bool early = nothing_is_startup(it);
    const struct group groups[] = {
        {NL_VERDICT_COMMUNICATION, part(it, NL_TIME_COMM)},
        {NL_VERDICT_COPY, part(it, NL_TIME_COPY)},
        {NL_VERDICT_LAUNCH, dispatch},
        {NL_VERDICT_INPUT, input},
        {NL_VERDICT_SYNC, part(it, NL_TIME_SYNC) + blocked},
        {NL_VERDICT_STARTUP, startup + (early ? nothing : 0)},
        {NL_VERDICT_HOST, host},
        {NL_VERDICT_IDLE, part(it, NL_TIME_UNKNOWN) + (early ? 0 : nothing) + held - blocked},
    };
    struct group best = groups[0];
    for (size_t i = 1; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].ns > best.ns)
            best = groups[i];
    /* A named cause of nearly the same size says more than many small gaps. */
    if (best.class == NL_VERDICT_LAUNCH && input > it->parts.total / 5 && input > best.ns / 2)
        best = (struct group){NL_VERDICT_INPUT, input};
    return best;
}

/* Time the device waits for the CPU, whatever the CPU does. */
static int64_t cpu_late(const struct nl_device_case *it)
{
    return part(it, NL_TIME_DISPATCH) + part(it, NL_TIME_QUEUED) + part(it, NL_TIME_FIRST) +
           part(it, NL_TIME_INPUT) + part(it, NL_TIME_SYNC) + part(it, NL_TIME_HOST) +
           (held_in_calls(it) ? part(it, NL_TIME_HELD) : 0);
}

/* The compute finding with the largest saving, or NULL. Its confidence must be high: an unknown
 * device may have no tensor cores. */
static const struct nl_finding *inside_compute(const struct nl_device_case *it)
{
    static const char *const causes[] = {"tensor_core_unused",      "elementwise_not_fused",
                                         "attention_not_fused",     "gemm_misaligned",
                                         "d2d_copy_or_cast_excess", "layout_copies",
                                         "decode_weight_bound"};
    const struct nl_findings *findings = it->judged->report->findings;
    const struct nl_finding *best = NULL;
    for (size_t i = 0; findings && i < findings->count; i++)
        for (size_t c = 0; c < sizeof causes / sizeof causes[0]; c++)
            if (!strcmp(findings->items[i].cause, causes[c]) &&
                findings->items[i].confidence >= MIN_CONFIDENCE &&
                is_of_device(it, &findings->items[i]) &&
                (!best || findings->items[i].net_saving_ns > best->net_saving_ns))
                best = &findings->items[i];
    return best;
}

/* The finding's saving scaled to the time of the answer: findings cover the whole profile. */
static int64_t won_inside(const struct nl_device_case *it, const struct nl_finding *finding)
{
    if (!finding || it->row.compute_ns <= 0)
        return 0;
    double share = (double)finding->net_saving_ns / (double)it->row.compute_ns;
    return nl_sum_near((share < 1 ? share : 1) * (double)part(it, NL_TIME_COMPUTE));
}

/* If most events or graph kernels are missing: the largest measured part, because gaps say
 * nothing. */
static struct group choose_measured(const struct nl_device_case *it)
{
    const struct group groups[] = {{NL_VERDICT_COMMUNICATION, part(it, NL_TIME_COMM)},
                                   {NL_VERDICT_COPY, part(it, NL_TIME_COPY)},
                                   {NL_VERDICT_COMPUTE, part(it, NL_TIME_COMPUTE)}};
    struct group best = groups[0];
    for (size_t i = 1; i < sizeof groups / sizeof groups[0]; i++)
        if (groups[i].ns > best.ns)
            best = groups[i];
    return best;
}

static struct group choose_group(const struct nl_device_case *it)
{
    if (it->thinned == it->thinned || it->replays)
        return choose_measured(it);
    struct group best = largest(it);
    int64_t compute = part(it, NL_TIME_COMPUTE), total = it->parts.total;
    int64_t ns = best.class == NL_VERDICT_COPY || best.class == NL_VERDICT_COMMUNICATION ||
                         best.class == NL_VERDICT_IDLE
                     ? best.ns
                     : cpu_late(it);
    bool weighty = best.class != NL_VERDICT_IDLE && (double)ns >= MIN_CAUSE_SHARE * (double)total &&
                   (double)compute < MIN_COMPUTE_SHARE * (double)total;
    bool wins_more = won_inside(it, inside_compute(it)) > ns;
    if (compute >= best.ns && (!weighty || wins_more))
        return (struct group){NL_VERDICT_COMPUTE, compute};
    return best;
}

/* True for files of NCCL's profiler plug-in: its calls are those of the library, which launch
 * collectives. */
static bool is_of_plugin(const struct nl_trace *trace)
{
    bool all = trace->source.rows > 0;
    for (uint32_t row = 0; row < trace->source.rows && all; row++)
        all = nl_str_is(nl_trace_name(trace, trace->source.format[row]), "nccl-json");
    return all;
}

/* One thread launches the collectives of several GPUs of one process: the first GPU waits for the
 * last launch. */
static void note_one_thread(struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    const struct nl_api_table *api = &trace->api;
    if (trace->device.rows < 2 || api->rows < trace->device.rows || !nl_lastrank_one_process(trace))
        return;
    int64_t sum = 0;
    for (uint32_t row = 0; row < api->rows; row++) {
        if (trace->slice.lane[api->slice[row]] != trace->slice.lane[api->slice[0]])
            return;
        nl_sum_add(&sum, trace->slice.dur[api->slice[row]]);
    }
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "One thread launches them on one GPU after the other: ", api->rows, "call",
                   "calls");
    nl_tell_time(out, ", ", sum);
    nl_buf_text(out, "; the time that earlier GPUs wait for the last one is not transfer time.");
    nl_tell_note(judged);
}

/* What passes in the group call around the first launch before that launch, where it is longer than
 * all collectives. */
static void note_set_up(struct nl_judged *judged, int64_t collectives_ns)
{
    const struct nl_trace *trace = judged->trace;
    uint32_t group = nl_dict_find(&trace->names, nl_str("ncclProfileGroupApi"));
    int64_t first = INT64_MAX, longest = 0;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        int64_t ts = trace->slice.ts[trace->api.slice[row]];
        first = ts < first ? ts : first;
    }
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        int64_t ts = trace->slice.ts[row], dur = trace->slice.dur[row];
        if (trace->slice.name[row] == group && dur != NL_NULL_I64 && ts < first &&
            dur >= first - ts && first - ts > longest)
            longest = first - ts;
    }
    if (longest <= collectives_ns)
        return;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_time(out, "Before the first launch, ", longest);
    nl_buf_text(out, " pass in its group call: NCCL connects the GPUs when a communicator is first "
                     "used.");
    nl_tell_note(judged);
}

/* Communication kernels only: the file has nothing else that the devices did. */
static bool judge_filtered(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "breakdown");
    bool plugin = is_of_plugin(judged->trace);
    if (nl_lookup_sum(rows, "compute_ns") || nl_lookup_sum(rows, "exposed_copy_ns") ||
        !nl_lookup_sum(rows, "exposed_comm_ns") || judged->trace->op.rows ||
        (judged->trace->api.rows && !plugin))
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Communication only: ", nl_lookup_sum(rows, "kernels"), "kernel",
                   "kernels of collectives");
    nl_tell_time(out, ", ", nl_lookup_sum(rows, "exposed_comm_ns"));
    nl_tell_number(out, " on ", (int64_t)rows->rows, "device", "devices");
    nl_buf_text(out, plugin ? ", all that NCCL's plug-in records of devices"
                            : ", nothing else is in the file");
    nl_lastrank_put(judged, out, "; ");
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMMUNICATION;
    judged->verdict->culprit = nl_device_top_collective(judged);
    if (plugin) {
        note_one_thread(judged);
        note_set_up(judged, nl_lookup_sum(rows, "exposed_comm_ns"));
    }
    return true;
}

/* ---- phases ---- */

/* Median step of the rank; without steps of this rank, that of the first one. */
static int64_t median_step(struct nl_judged *judged, int64_t rank)
{
    const struct nl_result *rows = nl_judged_part(judged, "step_summary");
    size_t at = 0;
    while (rows && at < rows->rows && nl_lookup_i64(rows, at, "rank") != rank)
        at++;
    return rows ? nl_lookup_i64(rows, at < rows->rows ? at : 0, "p50_ns") : NL_NULL_I64;
}

/* Of the steady steps of one device alone. */
static int64_t median_on_device(const struct nl_step_times *times, uint32_t device)
{
    int64_t *lengths = nl_alloc((times->count + 1) * sizeof *lengths);
    size_t count = 0;
    for (size_t i = 0; i < times->count; i++)
        if (times->items[i].device == device && nl_step_is_steady(times->items[i].step))
            lengths[count++] = times->items[i].parts[NL_PART_WALL];
    int64_t median = count ? nl_median_i64(lengths, count) : NL_NULL_I64;
    nl_free(lengths);
    return median;
}

static void regard_steps(struct nl_device_case *it)
{
    const struct nl_device_breakdown *row = &it->row;
    const struct nl_step_times *times = nl_memo_step_times(it->judged->options->memo);
    bool captures = false; /* the median of the rank is of several */
    for (size_t i = 0; i < times->count; i++) {
        const struct nl_step_time *step = &times->items[i];
        captures |=
            step->rank == row->rank && step->ordinal == row->ordinal && step->device != row->device;
        if (step->rank != row->rank || step->device != row->device ||
            step->step->phase != NL_STEP_STEADY)
            continue;
        it->steps++;
        it->first = it->steps == 1 ? step->step->start : it->first;
        it->last = step->step->end;
        for (size_t part = 0; part < NL_STEP_PARTS; part++)
            nl_sum_add(&it->steady[part], step->parts[part]);
    }
    int64_t busy = row->wall_ns - row->idle_ns;
    int64_t inside = it->steady[NL_PART_WALL] - it->steady[NL_PART_IDLE];
    if (it->steps && inside < busy / 2 && it->last < row->start_ns + row->wall_ns / 2)
        it->steps = 0; /* the marks are around launches: the work comes later */
    if (!it->steps)
        return;
    it->step_ns =
        captures ? median_on_device(times, row->device) : median_step(it->judged, row->rank);
}

/* Takes the parts of the steady phase. It is cut at the steps; if most of the rank's work comes
 * after them, perhaps on another device, it is cut at the device's work (account/phase.h): false if
 * that differs from what a few steps contain. */
static bool take_steady(struct nl_device_case *it)
{
    int64_t length = it->steady[NL_PART_WALL];
    nl_time_parts_within(it->judged, &it->parts, NL_STEADY);
    return it->parts.account->steps[NL_STEADY] || it->steps >= STEPS ||
           llabs(it->parts.total - length) <= length / SAME_LENGTH;
}

/* Limits the answer to the steady steps, unless start-up dominates, or there are few steps and they
 * hold little of the device's work. */
static void narrow(struct nl_device_case *it)
{
    const struct nl_time_parts all = it->parts;
    int64_t busy = it->row.wall_ns - it->row.idle_ns;
    int64_t inside = it->steady[NL_PART_WALL] - it->steady[NL_PART_IDLE];
    bool most = (double)inside >= IN_STEPS * (double)busy;
    int64_t startup =
        all.parts[NL_TIME_FIRST].ns + (all.early_nothing ? all.parts[NL_TIME_NOTHING].ns : 0);
    if (!it->steps ||
        (it->steps < STEPS && (!most || it->steady[NL_PART_WALL] > all.total / 3 * 2)) ||
        !all.account->phase_ns[NL_STEADY] ||
        (it->steps >= STEPS && (double)startup >= MIN_STARTUP_SHARE * (double)all.total))
        return;
    it->in_steps = take_steady(it);
    if (!it->in_steps)
        it->parts = all;
    else if (it->parts.account->steps[NL_STEADY])
        it->steps = (int64_t)it->parts.account->steps[NL_STEADY];
}

/* Limits a saving to the device's time outside compute, and for copies, communication and waits
 * also to the time in which the CPU is not busy either (timeline/hostbusy.h). */
static int64_t bounded(const struct nl_device_case *it, enum nl_verdict_class class, int64_t ns)
{
    const struct nl_account_device *device = it->parts.account;
    int64_t start = it->in_steps ? it->first : device->work_start;
    int64_t end = it->in_steps ? it->last : device->work_start + device->wall_ns;
    int64_t most = it->parts.total - part(it, NL_TIME_COMPUTE);
    if (class == NL_VERDICT_COPY || class == NL_VERDICT_COMMUNICATION || class == NL_VERDICT_SYNC) {
        const struct nl_api_roles *roles = nl_memo_roles(it->judged->options->memo);
        int64_t busy = nl_host_busy(it->judged->trace, roles, device->feeder, start, end);
        int64_t rest = it->parts.total - busy;
        most = rest < most ? rest : most;
    }
    return ns < most ? ns : most > 0 ? most : 0;
}

static void put_saving(struct nl_device_case *it, int64_t ns)
{
    struct nl_verdict_words *verdict = it->judged->verdict;
    verdict->saving_ns = ns;
    bool counted =
        it->in_steps || (it->steps >= 3 && it->steady[NL_PART_WALL] > it->parts.total / 2);
    /* Of all there is, warm-up included, the steady steps' share. */
    bool all = it->in_steps || it->steady[NL_PART_WALL] >= it->parts.total;
    double steady = all ? 1 : (double)it->steady[NL_PART_WALL] / (double)it->parts.total;
    int64_t a_step = counted ? (int64_t)((double)ns * steady) / it->steps : 0;
    /* If the device runs later than the marks, a step's share may exceed the step. */
    bool fits = counted && a_step < it->step_ns;
    verdict->saving_ns_per_step =
        fits && verdict->class != NL_VERDICT_STARTUP ? a_step : NL_NULL_I64;
}

/* The saving that can be promised, or NL_NULL_I64 for none: time without any record, work that does
 * not start for a reason outside the file, and start-up, which is paid once and mostly needed,
 * promise none. */
static int64_t promised(const struct nl_device_case *it, struct group group)
{
    if (group.class == NL_VERDICT_STARTUP || group.class == NL_VERDICT_IDLE)
        return NL_NULL_I64;
    if (group.class == NL_VERDICT_SYNC && part(it, NL_TIME_HELD) > group.ns / 2)
        return NL_NULL_I64;
    return bounded(it, group.class, group.ns);
}

static void put_phase(struct nl_device_case *it)
{
    struct nl_verdict_words *verdict = it->judged->verdict;
    verdict->phase = verdict->class == NL_VERDICT_STARTUP ? "startup" : "steady";
}

typedef void tell_fn(struct nl_device_case *it, int64_t ns);

static tell_fn *const tellers[NL_VERDICT_CLASSES] = {
    [NL_VERDICT_COMPUTE] = nl_device_tell_compute, [NL_VERDICT_COMMUNICATION] = nl_device_tell_comm,
    [NL_VERDICT_COPY] = nl_device_tell_copy,       [NL_VERDICT_LAUNCH] = nl_device_tell_launch,
    [NL_VERDICT_INPUT] = nl_device_tell_input,     [NL_VERDICT_SYNC] = nl_device_tell_sync,
    [NL_VERDICT_STARTUP] = nl_device_tell_startup, [NL_VERDICT_HOST] = nl_device_tell_host,
    [NL_VERDICT_IDLE] = nl_device_tell_idle,
};

static void tell_thinned(struct nl_device_case *it)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_share(out, "Most events are missing (filtered or sampled): the CUDA calls use only ",
                  it->thinned);
    nl_buf_text(
        out,
        " of the correlation ids between the first and the last; whole traces use at least 5 %. "
        "Times are lower bounds, and gaps are not idle time.");
    nl_tell_note(it->judged);
}

static void tell_too_thin(struct nl_device_case *it)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "No verdict: most events of this trace are missing.");
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = NL_VERDICT_NONE;
}

/* Promises the saving of the device that the sentence is about. */
static void put_saving_inside(struct nl_device_case *it)
{
    if (it->inside && nl_device_is_place(it, it->inside))
        put_saving(it, it->inside_ns);
}

/* Replays by the process that feeds the device; by all processes if that is unknown. */
static uint64_t replays_of(const struct nl_device_case *it)
{
    const struct nl_trace *trace = it->judged->trace;
    uint32_t feeder = it->parts.account ? it->parts.account->feeder : NL_NULL_ROW;
    return nl_replays_unrecorded(trace, feeder == NL_NULL_ROW ? NL_NULL_ROW
                                                              : trace->thread.process[feeder]);
}

/* Kernels that were not recorded may have taken more time than was measured: no verdict is
 * possible. */
static bool judge_unrecorded(struct nl_device_case *it)
{
    if (!it->replays || it->parts.idle <= it->parts.total - it->parts.idle)
        return false;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_tell_time(out, "No verdict: the kernels of replayed graphs were not recorded, and of the ",
                 it->parts.total);
    nl_tell_time(out, " of the device ", it->parts.idle);
    nl_buf_text(out, " are theirs or idle.");
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    it->judged->verdict->class = NL_VERDICT_NONE;
    out = nl_tell_begin(it->judged);
    nl_buf_text(out,
                "Record them: nsys profile --cuda-graph-trace=node; of other profilers record a "
                "run without graphs (vLLM: --enforce-eager).");
    nl_tell_note(it->judged);
    nl_device_tell_rest(it, NL_VERDICT_NONE);
    return true;
}

/* Sets the device of that row, its steps, and the time of the answer. */
static bool take_device(struct nl_judged *judged, size_t device, struct nl_device_case *it)
{
    size_t count;
    *it = (struct nl_device_case){.judged = judged,
                                  .thinned = nl_memo_thinned(judged->options->memo)};
    if (!nl_time_parts(judged, device, &it->parts))
        return false;
    it->replays = replays_of(it);
    it->row = nl_memo_breakdown(judged->options->memo, &count)[it->parts.device];
    it->devices = count;
    regard_steps(it);
    if (!it->replays) /* little is recorded in steps that replay graphs */
        narrow(it);
    return true;
}

/* Takes the late rank, if one stands out in the time of the answer. */
static bool take_late(struct nl_judged *judged, struct nl_device_case *it)
{
    struct nl_late_rank late;
    return nl_late_rank_find(judged, NL_PHASES, &late) && take_device(judged, late.device, it) &&
           it->thinned != it->thinned && !it->replays &&
           nl_late_rank_find(judged, it->in_steps ? NL_STEADY : NL_PHASES, &it->late) &&
           it->late.device == late.device;
}

static void judge_late(struct nl_device_case *it)
{
    enum nl_verdict_class class = it->late.class;
    it->judged->verdict->class = class;
    nl_device_tell_late(it);
    if (class != NL_VERDICT_STARTUP && class != NL_VERDICT_IDLE)
        put_saving(it, it->late.net_saving_ns);
    put_phase(it);
    nl_device_tell_rest(it, class);
}

static void judge_group(struct nl_device_case *it)
{
    struct group group = choose_group(it);
    it->judged->verdict->class = group.class;
    if ((group.class == NL_VERDICT_LAUNCH || group.class == NL_VERDICT_HOST ||
         group.class == NL_VERDICT_IDLE || group.class == NL_VERDICT_STARTUP) &&
        nl_device_tell_capture(it))
        return;
    it->inside = group.class == NL_VERDICT_COMPUTE ? inside_compute(it) : NULL;
    it->inside_ns = won_inside(it, it->inside);
    if (it->thinned == it->thinned && group.ns < it->parts.total / 10)
        tell_too_thin(it);
    else
        tellers[group.class](it, group.ns);
    int64_t saving = group.class == NL_VERDICT_COMPUTE ? NL_NULL_I64 : promised(it, group);
    if (it->thinned == it->thinned)
        tell_thinned(it);
    else if (saving != NL_NULL_I64)
        put_saving(it, saving);
    else
        put_saving_inside(it);
    put_phase(it);
    nl_device_tell_rest(it, group.class);
}

static bool judge_timeline(struct nl_judged *judged)
{
    struct nl_device_case it;
    bool late = take_late(judged, &it);
    if (!late && !take_device(judged, NL_TIME_BUSIEST, &it))
        return false;
    nl_whole_bars(&it);
    if (late)
        judge_late(&it);
    else if (!judge_unrecorded(&it))
        judge_group(&it);
    return true;
}

bool nl_judge_device(struct nl_judged *judged)
{
    if (!nl_judged_part(judged, "breakdown"))
        return false;
    return nl_judge_few(judged) || judge_filtered(judged) || judge_timeline(judged);
}
