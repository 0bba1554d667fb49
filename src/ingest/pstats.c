/*
 * What cProfile and profile save: {(file, line, function): (primitive calls, calls, self seconds,
 * total seconds, {caller: the same, per caller})} in Python's marshal format. A function becomes a
 * stack of one frame with a sample that weighs its own time, and rows of table calls: all callers
 * together, and each.
 *
 * Mind the order: a function's calls stand behind its primitive calls, a caller's before them.
 */
#include "ingest/cpuprofile.h"

#include <math.h>

#include "base/mem.h"
#include "ingest/marshal.h"
#include "ingest/wholefile.h"

struct pstats {
    struct cpuprofile profile;
    struct marshal marshal;
    struct nl_sample_row sample;
    struct nl_call_row *shared; /* numbers that later callers may refer to */
    size_t shared_count, shared_cap;
    uint64_t functions, callers, odd_callers, odd_times;
};

static int sniff(const struct nl_input *input, const char **why)
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

/* Seconds → ns; unknown when they are no number, or too many. */
static int64_t ns_of(struct pstats *load, const struct marshal_value *value)
{
    double seconds = value->type == MARSHAL_REAL ? value->real : NAN;
    if (value->type == MARSHAL_INTEGER && value->integer != NL_NULL_I64)
        seconds = (double)value->integer;
    if (seconds >= -4e9 && seconds <= 4e9)
        return (int64_t)llround(seconds * 1e9);
    load->odd_times++;
    return NL_NULL_I64;
}

static int64_t count_of(const struct marshal_value *value)
{
    return value->type == MARSHAL_INTEGER ? value->integer : NL_NULL_I64;
}

/* The node of a function whose key begins with `value`; NL_NULL_ROW with a problem. */
static uint32_t read_function(struct pstats *load, struct marshal_value value)
{
    struct marshal *marshal = &load->marshal;
    if (value.type == MARSHAL_DEFINED && value.integer >= 0)
        return (uint32_t)value.integer;
    if (value.type != MARSHAL_TUPLE || value.count != 3) {
        marshal->problem = marshal->problem ? marshal->problem : "a key is no function";
        return NL_NULL_ROW;
    }
    struct marshal_value file = marshal_next(marshal), line = marshal_next(marshal);
    struct marshal_value name = marshal_next(marshal);
    if (marshal->problem || file.type != MARSHAL_TEXT || name.type != MARSHAL_TEXT) {
        marshal->problem = marshal->problem ? marshal->problem : "a function has no name";
        return NL_NULL_ROW;
    }
    struct nl_stack_row row = nl_stack_row();
    row.name = cpuprofile_name(&load->profile, name.text);
    if (!nl_str_is(file.text, "~")) /* built in: no file, and line 0 */
        row.file = cpuprofile_name(&load->profile, file.text);
    if (row.file && line.type == MARSHAL_INTEGER && line.integer >= 0 && line.integer < NL_NULL_U32)
        row.line = (uint32_t)line.integer;
    uint32_t node = cpuprofile_frame(&load->profile, NL_NULL_ROW, &row);
    marshal_define(marshal, value.number, node);
    return node;
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
    if (value.type == MARSHAL_DEFINED && value.integer < 0) {
        const struct nl_call_row *before = &load->shared[-(value.integer + 1)];
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
    if (!read_numbers(load, call, true))
        return false;
    if (value.number != MARSHAL_NO_NUMBER) {
        nl_grow(&load->shared, &load->shared_cap, load->shared_count + 1);
        load->shared[load->shared_count++] = *call;
        marshal_define(marshal, value.number, -(int64_t)load->shared_count);
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
        load->callers++;
        nl_stage_call(load->profile.stage, &call);
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
    load->sample.stack = call.stack;
    load->sample.weight = call.self_ns;
    nl_stage_call(load->profile.stage, &call);
    cpuprofile_sample(&load->profile, &load->sample);
    struct marshal_value callers = marshal_next(marshal);
    if (callers.type == MARSHAL_DICT)
        read_callers(load, call.stack);
    else
        load->odd_callers++;
    return !marshal->problem;
}

static void report(struct pstats *load, const struct whole_file *file)
{
    struct cpuprofile *profile = &load->profile;
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: marshalled data", load->marshal.problem != NULL,
                     load->marshal.problem);
    cpuprofile_cover(profile, "truncated: compressed data", file->cut, file->damage);
    cpuprofile_cover(profile, "functions without callers", load->odd_callers, NULL);
    cpuprofile_cover(profile, "times that are no numbers", load->odd_times, NULL);
    cpuprofile_cover(profile, "threads not told", 1,
                     "the profiler sees the thread it was started in only");
}

static bool load_file(struct pstats *load, const struct whole_file *file, const char *path,
                      struct nl_err *err)
{
    marshal_init(&load->marshal, file->bytes, file->size);
    load->sample = nl_sample_row();
    load->sample.unit = cpuprofile_name(&load->profile, nl_str("ns"));
    load->sample.lane = cpuprofile_lane(&load->profile, NL_NULL_I64, NL_NULL_I64, nl_str(""));
    struct marshal_value first = marshal_next(&load->marshal);
    if (first.type == MARSHAL_DICT)
        while (!cpuprofile_stopped(&load->profile) && read_entry(load))
            ;
    report(load, file);
    if (load->functions || cpuprofile_stopped(&load->profile))
        return true;
    nl_err_at(err, path, load->marshal.at - load->marshal.start);
    return nl_fail(err, NL_FORMAT, "no function can be read%s%s", load->marshal.problem ? ": " : "",
                   load->marshal.problem ? load->marshal.problem : "");
}

static bool load(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                 struct nl_job *job, struct nl_err *err)
{
    struct whole_file file = {0};
    if (!whole_file_open(&file, input, job, err))
        return false;
    struct pstats *load = nl_zalloc(sizeof *load);
    cpuprofile_begin(&load->profile, builder, source, job);
    bool done = load_file(load, &file, input->path, err);
    bool ended = cpuprofile_end(&load->profile, done ? err : NULL);
    marshal_release(&load->marshal);
    nl_free(load->shared);
    nl_free(load);
    whole_file_close(&file);
    return ended && done;
}

const struct nl_format nl_format_pstats = {.name = "pstats",
                                           .title = "cProfile statistics (pstats)",
                                           .sniff = sniff,
                                           .load = load,
                                           .doc = "formats/pstats.md"};
