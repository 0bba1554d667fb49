/* Windows: a row per key for the words, then times looked up in the trace and intersected. */
#define _GNU_SOURCE
#include "timeline/window.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/nearest.h"
#include "base/units.h"
#include "base/utf8.h"
#include "timeline/stepfind.h"

#define SHOWN(text) NL_UP_TO(60, text)

size_t nl_window_split(const char *text, struct nl_str *words)
{
    size_t len = strlen(text);
    *words = (struct nl_str){NULL, 0};
    if (len < 3 || text[len - 1] != ']')
        return len;
    bool quoted = false;
    for (size_t at = len - 1; at-- > 1;) {
        if (text[at] == '"')
            quoted = !quoted;
        if (text[at] == '[' && !quoted) {
            *words = (struct nl_str){text + at + 1, len - at - 2};
            return at;
        }
    }
    return len;
}

/* ---- Words ---- */

typedef bool number_reader(struct nl_str text, int64_t *value);

/* "a:b", "a:", ":b"; `single` allows "a" alone, which means [a, a + 1). */
static bool parse_range(struct nl_str text, number_reader *read, bool single, int64_t *start,
                        int64_t *end, struct nl_err *err)
{
    const char *colon = memchr(text.ptr, ':', text.len);
    size_t left = colon ? (size_t)(colon - text.ptr) : text.len;
    struct nl_str a = {text.ptr, left};
    struct nl_str b = {text.ptr + left + 1, colon ? text.len - left - 1 : 0};
    *start = INT64_MIN;
    *end = INT64_MAX;
    if ((!colon && !single) || (a.len && !read(a, start)) || (b.len && !read(b, end)) ||
        (!a.len && !b.len))
        return nl_fail(err, NL_USAGE, "window: '%.*s' is no %s", SHOWN(text),
                       single ? "range such as 10:20" : "time range such as 1.2s:1.5s");
    if (!colon)
        *end = *start == INT64_MAX ? INT64_MAX : *start + 1;
    if (*start >= *end)
        return nl_fail(err, NL_USAGE, "window: '%.*s' is empty; the end must be after the start",
                       SHOWN(text));
    return true;
}

/* The intersection of two ranges of one kind, which may be empty. */
static void keep_common(bool *has, int64_t *start, int64_t *end, int64_t more_start,
                        int64_t more_end)
{
    *start = *has && *start > more_start ? *start : more_start;
    *end = *has && *end < more_end ? *end : more_end;
    *has = true;
}

static bool set_steps(struct nl_str value, struct nl_window_words *words, struct nl_arena *arena,
                      struct nl_err *err)
{
    (void)arena;
    int64_t first, end;
    if (!parse_range(value, nl_parse_i64, true, &first, &end, err))
        return false;
    keep_common(&words->has_steps, &words->first_step, &words->end_step, first, end);
    return true;
}

static bool set_id(struct nl_str value, bool *has, int64_t *id, const char *what,
                   struct nl_err *err)
{
    int64_t number;
    if (!nl_parse_i64(value, &number) || number < 0)
        return nl_fail(err, NL_USAGE, "window: '%.*s' is no %s number", SHOWN(value), what);
    if (*has && *id != number)
        return nl_fail(err, NL_USAGE,
                       "window: nothing is of %s %" PRId64 " and of %s %" PRId64 "; name one", what,
                       *id, what, number);
    *has = true;
    *id = number;
    return true;
}

static bool set_rank(struct nl_str value, struct nl_window_words *words, struct nl_arena *arena,
                     struct nl_err *err)
{
    (void)arena;
    return set_id(value, &words->has_rank, &words->rank, "rank", err);
}

static bool set_device(struct nl_str value, struct nl_window_words *words, struct nl_arena *arena,
                       struct nl_err *err)
{
    (void)arena;
    return set_id(value, &words->has_device, &words->device, "device", err);
}

static bool set_nvtx(struct nl_str value, struct nl_window_words *words, struct nl_arena *arena,
                     struct nl_err *err)
{
    if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
        value = (struct nl_str){value.ptr + 1, value.len - 2};
    if (!value.len)
        return nl_fail(err, NL_USAGE, "window: nvtx needs a text, such as nvtx=\"forward*\"");
    if (words->nvtx)
        return nl_fail(err, NL_USAGE, "window: nvtx is named twice; name it once");
    words->nvtx = nl_arena_text(arena, value.ptr, value.len);
    return true;
}

static const struct {
    const char *name;
    bool (*set)(struct nl_str value, struct nl_window_words *words, struct nl_arena *arena,
                struct nl_err *err);
} keys[] = {{"step", set_steps}, {"nvtx", set_nvtx}, {"rank", set_rank}, {"gpu", set_device}};

static bool parse_part(struct nl_str part, struct nl_window_words *words, struct nl_arena *arena,
                       struct nl_err *err)
{
    const char *equals = memchr(part.ptr, '=', part.len);
    if (!equals) {
        int64_t from, to;
        if (!parse_range(part, nl_parse_ns, false, &from, &to, err))
            return false;
        keep_common(&words->has_time, &words->start, &words->end, from, to);
        return true;
    }
    struct nl_str key = {part.ptr, (size_t)(equals - part.ptr)};
    struct nl_str value = {equals + 1, part.len - key.len - 1};
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, nl_arena_text(arena, key.ptr, key.len));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (nl_str_is(key, keys[i].name))
            return keys[i].set(value, words, arena, err);
        nl_nearest_offer(&nearest, keys[i].name);
    }
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_USAGE, "window: unknown key '%.*s'; %s%s%s", SHOWN(key),
                   best ? "did you mean " : "there are step, nvtx, rank and gpu", best ? best : "",
                   best ? "?" : "");
}

bool nl_window_parse(struct nl_str text, struct nl_window_words *words, struct nl_arena *arena,
                     struct nl_err *err)
{
    *words = (struct nl_window_words){0};
    bool quoted = false;
    size_t start = 0;
    for (size_t at = 0; at <= text.len; at++) {
        if (at < text.len && text.ptr[at] == '"')
            quoted = !quoted;
        if (at < text.len && (quoted || text.ptr[at] != ','))
            continue;
        struct nl_str part = {text.ptr + start, at - start};
        while (part.len && *part.ptr == ' ')
            part = (struct nl_str){part.ptr + 1, part.len - 1};
        if (!part.len)
            return nl_fail(err, NL_USAGE, "window: something is missing in '[%.*s]'", SHOWN(text));
        if (!parse_part(part, words, arena, err))
            return false;
        start = at + 1;
    }
    return true;
}

/* ---- Times ---- */

/* The hull of what matched so far. */
struct span {
    int64_t start, end;
    uint64_t matches;
};

static void span_add(struct span *span, int64_t start, int64_t end)
{
    if (!span->matches || start < span->start)
        span->start = start;
    if (!span->matches || end > span->end)
        span->end = end;
    span->matches++;
}

static void narrow(struct nl_window *window, int64_t start, int64_t end)
{
    if (!window->has_time || start > window->start)
        window->start = start;
    if (!window->has_time || end < window->end)
        window->end = end;
    window->has_time = true;
}

static bool rank_matches(const struct nl_window *window, const struct nl_trace *trace,
                         uint32_t lane)
{
    if (!window->has_rank || lane == NL_NULL_ROW)
        return true;
    uint32_t process = trace->lane.process[lane];
    return process != NL_NULL_ROW && trace->process.rank[process] == window->rank;
}

/* Steps that the program did not mark, numbered from 0 as table detected_steps shows them. */
static void add_detected(const struct nl_window_words *words, const struct nl_trace *trace,
                         const struct nl_window *window, struct span *span, int64_t *least,
                         int64_t *most)
{
    struct nl_found_steps found;
    nl_steps_find(trace, &found);
    for (size_t g = 0; g < found.group_count; g++) {
        const struct nl_step_group *group = &found.groups[g];
        if (window->has_rank && group->rank != window->rank)
            continue;
        for (size_t i = group->first; i < group->first + group->count; i++) {
            const struct nl_found_step *step = &found.items[i];
            *least = step->index < *least ? step->index : *least;
            *most = step->index > *most ? step->index : *most;
            if (step->index >= words->first_step && step->index < words->end_step)
                span_add(span, step->start, step->end);
        }
    }
    nl_steps_release(&found);
}

static bool find_steps(const struct nl_window_words *words, const struct nl_trace *trace,
                       struct nl_window *window, struct nl_err *err)
{
    const struct nl_step_table *steps = &trace->step;
    struct span span = {0};
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < steps->rows; i++) {
        int64_t index = steps->index[i];
        if (index == NL_NULL_I64 || !rank_matches(window, trace, steps->lane[i]))
            continue;
        least = index < least ? index : least;
        most = index > most ? index : most;
        int64_t dur = steps->dur[i] == NL_NULL_I64 ? 0 : steps->dur[i];
        if (index >= words->first_step && index < words->end_step)
            span_add(&span, steps->ts[i], steps->ts[i] + dur);
    }
    if (least > most)
        add_detected(words, trace, window, &span, &least, &most);
    if (least > most)
        return nl_fail(err, NL_USAGE,
                       "window: the profile has no steps, marked or detected; use times or nvtx=");
    if (!span.matches)
        return nl_fail(err, NL_USAGE,
                       "window: no such step; the profile has %" PRId64 " to %" PRId64, least,
                       most);
    narrow(window, span.start, span.end);
    return true;
}

static bool find_ranges(const struct nl_window_words *words, const struct nl_trace *trace,
                        struct nl_window *window, char *note, struct nl_err *err)
{
    struct span span = {0};
    char name[1024];
    for (uint32_t i = 0; i < trace->nvtx.rows; i++) {
        uint32_t slice = trace->nvtx.slice[i];
        if (slice == NL_NULL_ROW || !rank_matches(window, trace, trace->slice.lane[slice]))
            continue;
        struct nl_str text = nl_trace_name(trace, trace->slice.name[slice]);
        snprintf(name, sizeof name, "%.*s", NL_UP_TO(1023, text));
        if (fnmatch(words->nvtx, name, 0) == 0)
            span_add(&span, trace->slice.ts[slice], nl_slice_end(trace, slice));
    }
    if (!span.matches)
        return nl_fail(err, NL_USAGE, "window: no range matches nvtx=\"%.60s\" (of %" PRIu32 ")",
                       words->nvtx, trace->nvtx.rows);
    if (span.matches > 1 && note)
        snprintf(note, NL_WINDOW_NOTE,
                 "nvtx=\"%.60s\" matches %" PRIu64 " ranges; the window is from the first to the "
                 "last",
                 words->nvtx, span.matches);
    narrow(window, span.start, span.end);
    return true;
}

static int64_t shifted(int64_t time, int64_t by)
{
    int64_t sum;
    if (time == INT64_MIN || time == INT64_MAX)
        return time;
    if (__builtin_add_overflow(time, by, &sum))
        return time < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Is there such a rank (of a process) or device number? Both are plain columns. */
static bool in_column(const int64_t *values, uint32_t rows, int64_t wanted)
{
    for (uint32_t i = 0; i < rows; i++)
        if (values[i] == wanted)
            return true;
    return false;
}

static bool check_ids(const struct nl_window_words *words, const struct nl_trace *trace,
                      struct nl_err *err)
{
    if (words->has_rank && !in_column(trace->process.rank, trace->process.rows, words->rank))
        return nl_fail(err, NL_USAGE,
                       "window: the profile has no rank %" PRId64 "; info lists the ranks",
                       words->rank);
    if (words->has_device && !in_column(trace->device.ordinal, trace->device.rows, words->device))
        return nl_fail(err, NL_USAGE,
                       "window: the profile has no device %" PRId64 "; info lists the devices",
                       words->device);
    return true;
}

bool nl_window_resolve(const struct nl_window_words *words, const struct nl_trace *trace,
                       bool absolute, struct nl_window *window, char *note, struct nl_err *err)
{
    *window = (struct nl_window){.has_rank = words->has_rank,
                                 .rank = words->rank,
                                 .has_device = words->has_device,
                                 .device = words->device};
    if (note)
        note[0] = '\0';
    if (!check_ids(words, trace, err))
        return false;
    int64_t origin = absolute ? 0 : trace->first_ts;
    if (words->has_time)
        narrow(window, shifted(words->start, origin), shifted(words->end, origin));
    if (words->has_steps && !find_steps(words, trace, window, err))
        return false;
    if (words->nvtx && !find_ranges(words, trace, window, note, err))
        return false;
    if (!window->has_time)
        return true;
    narrow(window, trace->first_ts, trace->last_ts);
    if (window->start < window->end)
        return true;
    char length[NL_UNIT_TEXT];
    return nl_fail(err, NL_USAGE, "window: it contains nothing; the profile is %s long",
                   nl_format_ns(length, trace->last_ts - trace->first_ts));
}

bool nl_window_refuse_sql(const struct nl_window *window, int64_t origin, struct nl_err *err)
{
    if (!window->has_time)
        return nl_fail(err, NL_USAGE,
                       "sql reads the whole profile; write WHERE rank = … or "
                       "device = … instead of the window");
    return nl_fail(err, NL_USAGE,
                   "sql reads the whole profile; instead of the window write WHERE ts < %" PRId64
                   " AND ts + dur > %" PRId64,
                   window->end - origin, window->start - origin);
}
