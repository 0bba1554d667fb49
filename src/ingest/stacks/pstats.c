/*
 * What cProfile and profile save: {(file, line, function): (primitive calls, calls, self seconds,
 * total seconds, {caller: the same, per caller})} in Python's marshal format. A function becomes a
 * stack of one frame with a sample that weighs its own time, and rows of table calls: all callers
 * together, and each.
 *
 * Mind the order: a function's calls come after its primitive calls, a caller's before them.
 *
 * Calls that switch the profiler on or off are the profiler's, not the program's: they are counted
 * in coverage and nowhere else.
 */
#include "ingest/lib/cpuprofile.h"

#include <math.h>

#include "base/mem.h"
#include "ingest/stacks/marshal.h"
#include "ingest/lib/wholefile.h"

/* What a reference was made into (marshal_define). */
enum meaning { MEANS_FUNCTION, MEANS_NUMBERS /* in `shared` */, MEANS_NAME };

/* A function's place in the table of frames is anywhere in memory: it is fetched when the function
 * is met, and looked at when this many functions or rows more were read. */
#define WAITING_FUNCTIONS 16
#define WAITING_ROWS      256

/* Methods of the profiler as it writes them itself. */
static const char *const own_names[] = {"<method 'enable' of '_lsprof.Profiler' objects>",
                                        "<method 'disable' of '_lsprof.Profiler' objects>"};
#define OWN_NAMES (sizeof own_names / sizeof own_names[0])

struct pstats {
    struct cpuprofile profile;
    struct marshal marshal;
    struct nl_sample_row sample;
    struct nl_stack_row waiting[WAITING_FUNCTIONS];
    unsigned waiting_count;
    struct nl_call_row rows[WAITING_ROWS]; /* of functions by number, not by node */
    size_t row_count;
    uint32_t numbers;  /* functions are numbered as they come */
    uint32_t *node_of; /* their nodes; NULL while these are the same, since none came twice */
    size_t node_cap;
    struct nl_call_row *shared; /* numbers that later callers may refer to */
    size_t shared_count, shared_cap;
    uint32_t builtin; /* the name that stands for a file where there is none */
    uint32_t own_name[OWN_NAMES], own[OWN_NAMES]; /* functions by number; NL_NULL_ROW = not met */
    uint64_t functions, odd_callers, odd_times, own_calls;
};

static int pstats_sniff(const struct nl_input *input, const char **why)
{
    const unsigned char *head = input->head;
    if (input->head_len < 8 || (head[0] & 0x7f) != '{')
        return 0;
    if ((head[0] | head[1]) & 0x80)
        *why = "marshalled Python data, but no dict of functions";
    unsigned tuple = head[1] & 0x7fu;
    size_t text = tuple == ')' ? 3 : 6;
    bool three = head[2] == 3 && (tuple == ')' || (!head[3] && !head[4] && !head[5]));
    if ((tuple != ')' && tuple != '(') || !strchr("zZaAuts", head[text] & 0x7f))
        return 0;
    if (three && (head[text] & 0x7f))
        return 92;
    return 0;
}

static bool means(const struct marshal_value *value, enum meaning meaning)
{
    return value->type == MARSHAL_DEFINED && value->count == meaning;
}

/* To the nearest, halves away from 0: what llround does, without a call. */
static inline int64_t rounded(double value)
{
    int64_t whole = (int64_t)value;
    double rest = value - (double)whole;
    return whole + (rest >= 0.5) - (rest <= -0.5);
}

/* Seconds → ns; unknown when they are no number, or too many. */
static int64_t ns_of(struct pstats *load, const struct marshal_value *value)
{
    double seconds = value->type == MARSHAL_REAL ? value->real : NAN;
    if (value->type == MARSHAL_INTEGER && value->integer != NL_NULL_I64)
        seconds = (double)value->integer;
    if (seconds >= -4e9 && seconds <= 4e9)
        return rounded(seconds * 1e9);
    load->odd_times++;
    return NL_NULL_I64;
}

static int64_t count_of(const struct marshal_value *value)
{
    return value->type == MARSHAL_INTEGER ? value->integer : NL_NULL_I64;
}

static void set_node(struct pstats *load, uint32_t function, uint32_t node)
{
    if (!load->node_of && node == function)
        return;
    size_t known = load->node_of ? function : 0;
    nl_grow(&load->node_of, &load->node_cap, (size_t)function + 1);
    for (; known < function; known++)
        load->node_of[known] = (uint32_t)known;
    load->node_of[function] = node;
}

static uint32_t node_of(const struct pstats *load, uint32_t function)
{
    return load->node_of && function != NL_NULL_ROW ? load->node_of[function] : function;
}

/* Makes nodes of the functions that wait and stages the rows that wait for these. */
static void stage_waiting_rows(struct pstats *load)
{
    uint32_t first = load->numbers - load->waiting_count;
    for (uint32_t i = 0; i < load->waiting_count; i++)
        set_node(load, first + i, cpuprofile_frame(&load->profile, NL_NULL_ROW, &load->waiting[i]));
    for (size_t i = 0; i < load->row_count; i++) {
        struct nl_call_row *row = &load->rows[i];
        row->stack = node_of(load, row->stack);
        row->caller = node_of(load, row->caller);
        nl_stage_call(load->profile.stage, row);
        if (row->caller != NL_NULL_ROW)
            continue;
        load->sample.stack = row->stack;
        load->sample.weight = row->self_ns;
        cpuprofile_sample(&load->profile, &load->sample);
    }
    load->waiting_count = 0;
    load->row_count = 0;
}

static bool is_own(const struct pstats *load, uint32_t function)
{
    for (size_t i = 0; i < OWN_NAMES; i++)
        if (load->own[i] == function && function != NL_NULL_ROW)
            return true;
    return false;
}

static void add_call_row(struct pstats *load, const struct nl_call_row *row)
{
    if (is_own(load, row->stack) || is_own(load, row->caller)) {
        load->own_calls += row->caller == NL_NULL_ROW && row->count > 0 ? (uint64_t)row->count : 0;
        return;
    }
    if (load->row_count == WAITING_ROWS)
        stage_waiting_rows(load);
    load->rows[load->row_count++] = *row;
}

static uint32_t add_function(struct pstats *load, const struct nl_stack_row *row)
{
    if (load->waiting_count == WAITING_FUNCTIONS)
        stage_waiting_rows(load);
    cpuprofile_expect(&load->profile, row);
    load->waiting[load->waiting_count++] = *row;
    return load->numbers++;
}

/* A text as name: of those that are referred to, only the first is looked at. */
static bool read_name(struct pstats *load, uint32_t *name)
{
    struct marshal *marshal = &load->marshal;
    struct marshal_value value = marshal_next(marshal);
    bool known = means(&value, MEANS_NAME);
    *name = known ? (uint32_t)value.integer : NL_NO_NAME;
    if (known || value.type != MARSHAL_TEXT)
        return known;
    *name = cpuprofile_name(&load->profile, marshal_text(&value));
    marshal_define(marshal, marshal->number, MEANS_NAME, *name);
    return true;
}

static void remember_own(struct pstats *load, const struct nl_stack_row *row, uint32_t function)
{
    for (size_t i = 0; i < OWN_NAMES; i++)
        if (row->name == load->own_name[i] && !row->file)
            load->own[i] = function;
}

/* The number of a function whose key begins with `value`; NL_NULL_ROW with a problem. */
static uint32_t read_function(struct pstats *load, struct marshal_value value)
{
    struct marshal *marshal = &load->marshal;
    if (means(&value, MEANS_FUNCTION))
        return (uint32_t)value.integer;
    if (value.type != MARSHAL_TUPLE || value.count != 3) {
        marshal->problem = marshal->problem ? marshal->problem : "a key is no function";
        return NL_NULL_ROW;
    }
    uint32_t reference = marshal->number;
    struct nl_stack_row row = nl_stack_row();
    bool has_file = read_name(load, &row.file);
    struct marshal_value line = marshal_next(marshal);
    bool has_name = read_name(load, &row.name);
    if (marshal->problem || !has_file || !has_name) {
        marshal->problem = marshal->problem ? marshal->problem : "a function has no name";
        return NL_NULL_ROW;
    }
    if (row.file == load->builtin) /* no file, and line 0 */
        row.file = NL_NO_NAME;
    if (row.file && line.type == MARSHAL_INTEGER && line.integer >= 0 && line.integer < NL_NULL_U32)
        row.line = (uint32_t)line.integer;
    uint32_t function = add_function(load, &row);
    remember_own(load, &row, function);
    marshal_define(marshal, reference, MEANS_FUNCTION, function);
    return function;
}

/* The numbers of a caller, or of a function (the first two the other way round). */
static bool read_numbers(struct pstats *load, struct nl_call_row *call, bool caller)
{
    struct marshal_value value[4];
    for (size_t i = 0; i < 4; i++)
        value[i] = marshal_next(&load->marshal);
    if (load->marshal.problem)
        return false;
    call->count = count_of(&value[caller ? 0 : 1]);
    call->primitive = count_of(&value[caller ? 1 : 0]);
    call->self_ns = ns_of(load, &value[2]);
    call->total_ns = ns_of(load, &value[3]);
    return true;
}

/* A caller's numbers: a tuple, one that was there before, or of profile.py the calls alone. */
static bool read_caller(struct pstats *load, struct nl_call_row *call)
{
    struct marshal *marshal = &load->marshal;
    struct marshal_value value = marshal_next(marshal);
    if (value.type == MARSHAL_INTEGER) {
        call->count = value.integer;
        return true;
    }
    if (means(&value, MEANS_NUMBERS)) {
        const struct nl_call_row *before = &load->shared[value.integer];
        call->count = before->count;
        call->primitive = before->primitive;
        call->self_ns = before->self_ns;
        call->total_ns = before->total_ns;
        return true;
    }
    if (value.type != MARSHAL_TUPLE || value.count != 4) {
        marshal->problem = marshal->problem ? marshal->problem : "a caller has no numbers";
        return false;
    }
    uint32_t number = marshal->number;
    if (!read_numbers(load, call, true))
        return false;
    if (number != MARSHAL_NO_NUMBER) {
        marshal_define(marshal, number, MEANS_NUMBERS, (int64_t)load->shared_count);
        nl_grow(&load->shared, &load->shared_cap, load->shared_count + 1);
        load->shared[load->shared_count++] = *call;
    }
    return true;
}

static void read_callers(struct pstats *load, uint32_t function)
{
    struct marshal *marshal = &load->marshal;
    for (struct marshal_value key = marshal_next(marshal);
         key.type != MARSHAL_DICT_END && !marshal->problem; key = marshal_next(marshal)) {
        struct nl_call_row call = nl_call_row();
        call.stack = function;
        call.caller = read_function(load, key);
        if (marshal->problem || !read_caller(load, &call))
            return;
        add_call_row(load, &call);
    }
}

/* A function and its callers. False at the end, or at a problem. */
static bool read_entry(struct pstats *load)
{
    struct marshal *marshal = &load->marshal;
    struct marshal_value key = marshal_next(marshal);
    if (key.type == MARSHAL_DICT_END || marshal->problem)
        return false;
    struct nl_call_row call = nl_call_row();
    call.stack = read_function(load, key);
    if (marshal->problem)
        return false;
    struct marshal_value value = marshal_next(marshal);
    if (value.type != MARSHAL_TUPLE || value.count != 5) {
        marshal->problem = marshal->problem ? marshal->problem : "a function has no numbers";
        return false;
    }
    if (!read_numbers(load, &call, false))
        return false;
    load->functions++;
    add_call_row(load, &call);
    struct marshal_value callers = marshal_next(marshal);
    if (callers.type == MARSHAL_DICT)
        read_callers(load, call.stack);
    else
        load->odd_callers++;
    return !marshal->problem;
}

static void report_coverage(struct pstats *load)
{
    struct cpuprofile *profile = &load->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: marshalled data", load->marshal.problem != NULL,
                     load->marshal.problem);
    cpuprofile_cover(profile, "functions without callers", load->odd_callers, NULL);
    cpuprofile_cover(profile, "times that are not numbers", load->odd_times, NULL);
    cpuprofile_cover(profile, "calls of the profiler itself", load->own_calls,
                     "they switch it on or off; left out");
    cpuprofile_cover(profile, "threads not recorded", 1,
                     "the profiler sees the thread it was started in only");
}

static bool load_file(struct pstats *load, const struct whole_file *file, const char *place,
                      struct nl_err *err)
{
    const void *mark = file->bytes;
    marshal_init(&load->marshal, file->bytes, file->size);
    load->builtin = cpuprofile_name(&load->profile, nl_str("~"));
    for (size_t i = 0; i < OWN_NAMES; i++) {
        load->own_name[i] = cpuprofile_name(&load->profile, nl_str(own_names[i]));
        load->own[i] = NL_NULL_ROW;
    }
    load->sample = nl_sample_row();
    load->sample.unit = cpuprofile_name(&load->profile, nl_str("ns"));
    load->sample.lane = cpuprofile_lane(&load->profile, NL_NULL_I64, NL_NULL_I64, nl_str(""));
    struct marshal_value first = marshal_next(&load->marshal);
    if (first.type == MARSHAL_DICT)
        while (!cpuprofile_stopped(&load->profile) && read_entry(load))
            whole_file_passed(file, &mark, load->marshal.at);
    stage_waiting_rows(load);
    report_coverage(load);
    if (load->functions || cpuprofile_stopped(&load->profile))
        return true;
    nl_err_at(err, place, load->marshal.at - load->marshal.start);
    return nl_fail(err, NL_FORMAT, "no function can be read%s%s", load->marshal.problem ? ": " : "",
                   load->marshal.problem ? load->marshal.problem : "");
}

static bool pstats_load(struct nl_reading *reading, struct nl_err *err)
{
    struct pstats *load = nl_zalloc(sizeof *load);
    cpuprofile_begin(&load->profile, reading->builder, reading->source, reading->job);
    bool done = load_file(load, reading->file, reading->input->place, err);
    bool ended = cpuprofile_end(&load->profile, done ? err : NULL);
    marshal_release(&load->marshal);
    nl_free(load->shared);
    nl_free(load->node_of);
    nl_free(load);
    return ended && done;
}

/* Programs of a small machine, with references. */
static bool pstats_risky(const struct nl_input *input)
{
    (void)input;
    return true;
}

const struct nl_format nl_format_pstats = {.name = "pstats",
                                           .title = "cProfile statistics (pstats)",
                                           .sniff = pstats_sniff,
                                           .load = pstats_load,
                                           .feed = NL_FEED_WHOLE,
                                           .risky = pstats_risky,
                                           .doc = "formats/pstats.md"};
