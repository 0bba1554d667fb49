/* bookcause — see bookcause.h. */
#include "findings/bookcause.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/utf8.h"
#include "timeline/feeder.h"

#define MAX_NAME  60
#define MAX_PROVE 2048

struct nl_booked nl_booked_sum(const struct nl_scene *scene, nl_booked_test *wanted)
{
    struct nl_booked sum = {0};
    for (size_t i = 0; scene->booked && i < scene->booked->rows; i++) {
        const struct nl_account_row *row = &scene->account->rows[scene->booked->first_row + i];
        if (!wanted(scene, row))
            continue;
        nl_sum_add(&sum.ns, row->ns);
        sum.count += row->count;
        if (!sum.top || row->ns > sum.top->ns)
            sum.top = row;
    }
    return sum;
}

struct named {
    uint32_t name;
    int64_t ns;
    uint64_t count;
};

static int by_time(const void *left, const void *right)
{
    const struct named *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Names of the rows that pass, most time first; nl_free it. */
static struct named *names_of(const struct nl_scene *scene, nl_booked_test *wanted, size_t *count)
{
    size_t cap = 0;
    struct named *names = NULL;
    uint32_t *at = nl_zalloc(((size_t)scene->trace->names.count + 1) * sizeof *at);
    *count = 0;
    for (size_t i = 0; scene->booked && i < scene->booked->rows; i++) {
        const struct nl_account_row *row = &scene->account->rows[scene->booked->first_row + i];
        if (row->name == NL_NO_NAME || row->name >= scene->trace->names.count ||
            !wanted(scene, row))
            continue;
        if (!at[row->name]) {
            nl_grow(&names, &cap, *count + 1);
            names[*count] = (struct named){.name = row->name};
            at[row->name] = (uint32_t)++ * count;
        }
        struct named *it = &names[at[row->name] - 1];
        nl_sum_add(&it->ns, row->ns);
        it->count += row->count;
    }
    nl_free(at);
    if (*count)
        qsort(names, *count, sizeof *names, by_time);
    return names;
}

struct nl_booked_by_name nl_booked_by_name(const struct nl_scene *scene, nl_booked_test *wanted)
{
    struct nl_booked_by_name sum = {0};
    struct named *names = names_of(scene, wanted, &sum.names);
    const char *condition = "name IN (";
    for (size_t i = 0; i < sum.names && i < NL_BOOKED_NAMES; i++) {
        nl_sum_add(&sum.ns, names[i].ns);
        sum.count += names[i].count;
        condition = nl_say(scene, "%s%s%s", condition, i ? ", " : "",
                           nl_say_quoted(scene, nl_account_name(scene->account, names[i].name)));
    }
    if (sum.names) {
        sum.top = names[0].name;
        sum.top_ns = names[0].ns;
    }
    sum.condition = nl_say(scene, "%s)", condition);
    nl_free(names);
    return sum;
}

const char *nl_booked_text(const struct nl_scene *scene, uint32_t id)
{
    struct nl_str name = nl_account_name(scene->account, id);
    return nl_say(scene, "%.*s", NL_UP_TO(MAX_NAME, name));
}

bool nl_booked_own_before(const struct nl_account_device *device, const struct nl_account_row *row)
{
    if (row->part != NL_BOOKED_BEFORE || row->phase != NL_STEADY || row->not_program ||
        row->name == NL_NO_NAME || !device || !device->steps[NL_STEADY])
        return false;
    return row->activity == NL_ACTIVITY_OP || row->activity == NL_ACTIVITY_PYTHON ||
           row->activity == NL_ACTIVITY_LAYER || row->activity == NL_ACTIVITY_RANGE ||
           row->activity == NL_ACTIVITY_FUNCTION || row->activity == NL_ACTIVITY_OTHER;
}

int64_t nl_booked_total(const struct nl_scene *scene)
{
    return scene->booked ? nl_account_total(scene->booked) : 0;
}

static bool is_late(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return row->part == NL_BOOKED_COMM_WAIT && row->late == scene->late->member;
}

int64_t nl_booked_late(const struct nl_scene *scene)
{
    return scene->late->others ? nl_booked_sum(scene, is_late).ns : 0;
}

const char *nl_booked_member(const struct nl_scene *scene, uint32_t member)
{
    struct nl_buf text;
    nl_buf_init(&text, MAX_PROVE);
    nl_account_put_member(scene->account, member, &text);
    const char *name = nl_say(scene, "%.*s", (int)text.len, text.ptr);
    nl_buf_release(&text);
    return name;
}

const char *nl_booked_sql(const struct nl_scene *scene, const char *what, const char *condition)
{
    return nl_say(scene, "SELECT %s FROM account%s WHERE (%s) AND %s", what, nl_scene_args(scene),
                  condition, nl_scene_place(scene, ""));
}

/* ---- names ---- */

bool nl_marks_in(struct nl_marks marks, struct nl_str name)
{
    for (size_t i = 0; i < marks.count; i++)
        if (nl_str_contains(name, marks.texts[i]))
            return true;
    return false;
}

/* What GLOB knows stands for itself in brackets. */
static const char *glob_of(const struct nl_scene *scene, const char *text)
{
    const char *glob = "";
    for (; *text; text++)
        glob = nl_say(scene, strchr("*?[", *text) ? "%s[%c]" : "%s%c", glob, *text);
    return glob;
}

const char *nl_marks_sql(const struct nl_scene *scene, const char *column, struct nl_marks marks)
{
    const char *text = "(";
    for (size_t i = 0; i < marks.count; i++)
        text = nl_say(scene, "%s%s%s GLOB '*%s*'", text, i ? " OR " : "", column,
                      strpbrk(marks.texts[i], "*?[") ? glob_of(scene, marks.texts[i])
                                                     : marks.texts[i]);
    return nl_say(scene, "%s)", text);
}

bool nl_marks_end(struct nl_marks marks, struct nl_str name)
{
    size_t from = 0, end = 0;
    if (nl_str_starts(name, "<method '"))
        from = end = strlen("<method '");
    else if (nl_str_starts(name, "<built-in method "))
        from = end = strlen("<built-in method ");
    while (end < name.len &&
           (nl_is_word(name.ptr[end]) || name.ptr[end] == '.' || name.ptr[end] == ':'))
        end++;
    size_t start = end;
    while (start > from && nl_is_word(name.ptr[start - 1]))
        start--;
    struct nl_str word = {name.ptr + start, end - start};
    for (size_t i = 0; i < marks.count; i++)
        if (nl_str_is(word, marks.texts[i]))
            return true;
    return false;
}

uint8_t *nl_marks_names(const struct nl_trace *trace, struct nl_marks marks)
{
    uint8_t *marked = nl_zalloc((size_t)trace->names.count + 1);
    for (uint32_t id = 1; id < trace->names.count; id++)
        marked[id] = nl_marks_in(marks, nl_trace_name(trace, id));
    return marked;
}

/* ---- slices of the CPU ---- */

static uint32_t feeding_thread(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    uint64_t *launches = nl_zalloc(((size_t)trace->thread.rows + 1) * sizeof *launches);
    uint32_t best = NL_NULL_ROW;
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t launch = trace->slice.link[trace->kernel.slice[scene->kernels[i]]];
        uint32_t thread =
            launch == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.thread[trace->slice.lane[launch]];
        if (thread == NL_NULL_ROW)
            continue;
        launches[thread]++;
        if (best == NL_NULL_ROW || launches[thread] > launches[best])
            best = thread;
    }
    nl_free(launches);
    return best;
}

uint32_t nl_scene_thread(const struct nl_scene *scene)
{
    if (!scene->cpu)
        return feeding_thread(scene);
    if (scene->device->process == NL_NULL_ROW)
        return NL_NULL_ROW;
    struct nl_lanes_of lanes;
    bool others;
    nl_lanes_of_init(&lanes, scene->trace);
    uint32_t thread = nl_main_thread(scene->trace, &lanes, scene->device->process, &others);
    nl_lanes_of_release(&lanes);
    return thread;
}

const char *nl_scene_thread_sql(const struct nl_scene *scene, uint32_t thread)
{
    return nl_say(scene, "lane IN (SELECT id FROM lanes WHERE thread = %u)", thread);
}

size_t nl_scene_slices(const struct nl_scene *scene, uint32_t thread, const uint8_t *marked,
                       struct nl_intervals *out, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    const struct nl_window *window = scene->window;
    size_t count = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.thread[lane] != thread || trace->lane.kind[lane] == NL_LANE_SCHED)
            continue;
        uint32_t end = trace->lane.first[lane] + trace->lane.count[lane];
        for (uint32_t slice = trace->lane.first[lane]; slice < end; slice++) {
            int64_t ts = trace->slice.ts[slice], stop = nl_slice_end(trace, slice);
            if (!marked[trace->slice.name[slice]] || trace->slice.dur[slice] == NL_NULL_I64 ||
                (window->has_time && (ts < window->start || ts >= window->end)))
                continue;
            nl_intervals_add(out, ts, stop);
            count++;
            if (longest)
                nl_example_slice(scene, longest, slice);
        }
    }
    nl_intervals_normalise(out);
    return count;
}

static bool is_cpus_fault(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    (void)scene;
    return gap->class == NL_IDLE_HOST_LATE || gap->class == NL_IDLE_UNKNOWN;
}

void nl_scene_keep_idle(const struct nl_scene *scene, const struct nl_intervals *set,
                        struct nl_intervals *out)
{
    struct nl_intervals gaps;
    nl_intervals_init(&gaps);
    if (scene->cpu) {
        nl_intervals_union(set, &gaps, out);
    } else {
        nl_scene_sum_gaps(scene, is_cpus_fault, NULL, &gaps);
        nl_intervals_normalise(&gaps);
        nl_intervals_intersect(set, &gaps, out);
    }
    nl_intervals_release(&gaps);
}

const char *nl_scene_keep_idle_sql(const struct nl_scene *scene, const char *set)
{
    if (scene->cpu)
        return nl_say(scene, "SELECT interval_length(%s)", set);
    return nl_say(
        scene,
        "SELECT overlap_ns(%s, (SELECT intervals(ts, dur) FROM idle_gaps%s WHERE class IN "
        "('host_late', 'unknown') AND %s))",
        set, nl_scene_args(scene), nl_scene_place(scene, ""));
}

/* ---- evidence ---- */

struct nl_evidence *nl_prove(const struct nl_scene *scene, struct nl_finding *finding,
                             struct nl_evidence evidence, const char *format, ...)
{
    char text[MAX_PROVE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    evidence.says = nl_say(scene, "%s", text);
    return nl_evidence(finding, evidence);
}

/* ---- causes that are calls of one kind ---- */

/* Rows that pass the condition, of the part that is asked for. */
static const char *of_part(const struct nl_scene *scene, const struct nl_booked_calls *calls,
                           const char *condition)
{
    return calls->part ? nl_say(scene, "part = '%s' AND %s", calls->part, condition) : condition;
}

enum nl_verdict nl_judge_calls(struct nl_scene *scene, struct nl_finding *finding,
                               const struct nl_booked_calls *calls)
{
    struct nl_booked_by_name sum = nl_booked_by_name(scene, calls->wanted);
    if (nl_scene_share(scene, sum.ns) <= calls->warn_share)
        return NL_CAUSE_ABSENT;
    finding->culprit = nl_booked_text(scene, sum.top);
    nl_find(scene, finding, sum.ns, calls->critical_share, 1);
    nl_title(scene, finding, "%s %s (%s of the time) %s, most in %s", calls->before,
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share), calls->after,
             finding->culprit);
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = calls->metric,
                 .threshold = calls->threshold,
                 .query = nl_booked_sql(scene, "sum(ns)", of_part(scene, calls, sum.condition)),
                 .meaning = NL_MEANS_NS,
                 .value = (double)sum.ns},
             "%s (%s of the time) in %s", nl_say_ns(scene, sum.ns),
             nl_say_share(scene, finding->cost_share), calls->says);
    nl_prove(
        scene, finding,
        (struct nl_evidence){
            .metric = calls->longest,
            .query = nl_booked_sql(
                scene, "sum(ns)",
                of_part(scene, calls,
                        nl_say(scene, "name = %s",
                               nl_say_quoted(scene, nl_account_name(scene->account, sum.top))))),
            .meaning = NL_MEANS_NS,
            .value = (double)sum.top_ns},
        "%s of it in %s", nl_say_ns(scene, sum.top_ns), finding->culprit);
    return NL_CAUSE_FOUND;
}
