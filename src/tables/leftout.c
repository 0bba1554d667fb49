/* See leftout.h. */
#include "tables/leftout.h"

#include <stdlib.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/str.h"

#define ITEM "Python calls"

const char *nl_left_text(enum nl_left bound)
{
    static const char *const texts[NL_LEFTS] = {
        [NL_LEFT_LEAST] = "at least", [NL_LEFT_MOST] = "at most", [NL_LEFT_FIRST] = "first calls"};
    return texts[bound];
}

/* ---- the limit ---- */

/* The number after a word; 0 without. */
static uint64_t number_behind(struct nl_str text, const char *word)
{
    ptrdiff_t at = nl_str_find_nocase(text, word);
    uint64_t number = 0;
    if (at < 0)
        return 0;
    for (size_t i = (size_t)at + strlen(word);
         i < text.len && nl_is_digit(text.ptr[i]) && number < UINT32_MAX; i++)
        number = number * 10 + (uint64_t)(text.ptr[i] - '0');
    return number;
}

/* The least that is given: hooks say it in one of two ways
 * (python/nlens/_hooks.py). 0: none was reached. */
static uint64_t limit_of(const struct nl_trace *trace)
{
    uint64_t least = 0;
    for (uint32_t row = 0; row < trace->coverage.rows; row++) {
        struct nl_str detail = nl_trace_name(trace, trace->coverage.detail[row]);
        if (!nl_str_contains(nl_trace_name(trace, trace->coverage.item[row]), ITEM) &&
            !nl_str_contains(detail, ITEM))
            continue;
        uint64_t first = number_behind(detail, "beyond its first ");
        uint64_t number = first ? first : number_behind(detail, "called more than ");
        if (number && (!least || number < least))
            least = number;
    }
    return least;
}

/* ---- who reached it, and when ---- */

struct call {
    uint32_t process, name; /* rows */
    int64_t start, end;     /* store time */
};

static int by_function(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static struct call *calls_of(const struct nl_trace *trace, size_t *count)
{
    struct call *calls = nl_alloc(((size_t)trace->python.rows + 1) * sizeof *calls);
    *count = trace->python.rows;
    for (size_t i = 0; i < *count; i++) {
        uint32_t slice = trace->python.slice[i];
        int64_t ts = trace->slice.ts[slice], dur = trace->slice.dur[slice];
        calls[i] =
            (struct call){trace->lane.process[trace->slice.lane[slice]], trace->slice.name[slice],
                          ts, dur == NL_NULL_I64 ? INT64_MAX : ts + dur};
    }
    if (*count)
        qsort(calls, *count, sizeof *calls, by_function);
    return calls;
}

/* The two earliest functions of a process that reached the limit: of each the
 * other one is a stranger. */
struct reached {
    int64_t first, second; /* starts of their last calls; INT64_MAX none */
    uint32_t name;         /* of the first */
};

static void note_reached(struct reached *reached, uint32_t name, int64_t at)
{
    if (at < reached->first) {
        reached->second = reached->first;
        reached->first = at;
        reached->name = name;
    } else if (at < reached->second) {
        reached->second = at;
    }
}

/* `calls` are those of one process; of it, bounds by name. */
static void judge_process(const struct call *calls, size_t count, uint64_t limit, uint8_t *bounds)
{
    struct reached reached = {INT64_MAX, INT64_MAX, UINT32_MAX};
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && calls[next].name == calls[i].name; next++) {
        }
        if (next - i >= limit)
            note_reached(&reached, calls[i].name, calls[i + limit - 1].start);
    }
    for (size_t i = 0, next; i < count && reached.first < INT64_MAX; i = next) {
        int64_t others = calls[i].name == reached.name ? reached.second : reached.first;
        bool holds = false;
        for (next = i; next < count && calls[next].name == calls[i].name; next++)
            holds |= calls[next].end > others;
        bool cut = next - i >= limit;
        enum nl_left bound = cut && holds ? NL_LEFT_FIRST
                             : cut        ? NL_LEFT_LEAST
                             : holds      ? NL_LEFT_MOST
                                          : NL_LEFT_NONE;
        bounds[calls[i].name] |= (uint8_t)bound; /* least and most are both */
    }
}

uint8_t *nl_left_out(const struct nl_trace *trace)
{
    uint64_t limit = limit_of(trace);
    size_t count;
    if (!limit)
        return NULL;
    uint8_t *bounds = nl_zalloc((size_t)trace->names.count + 1);
    struct call *calls = calls_of(trace, &count);
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && calls[next].process == calls[i].process; next++) {
        }
        judge_process(calls + i, next - i, limit, bounds);
    }
    nl_free(calls);
    return bounds;
}
