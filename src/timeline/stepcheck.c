/* Iterations or layers — see stepcheck.h. */
#include "timeline/stepcheck.h"

#include "base/chars.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sort.h"
#include "timeline/stepname.h"

#define MIN_NAMES          3    /* numbered names on the host that say anything */
#define MIN_NUMBERED_SHARE 0.5  /* of the segments, on average, hold a numbered name: iterations */
#define COMES_ONCE         0.34 /* fewer: layers */
#define SAME_LAUNCH        0.5

/* Whether a number in the text may be a layer's: "blocks.9", "layer_3", "decoder block 4". A number
 * after any other word ("Compute 10") may as well count iterations. */
static bool numbers_layers(struct nl_str text)
{
    bool digit = false;
    for (size_t i = 0; i < text.len; i++) {
        if (!nl_is_digit(text.ptr[i]))
            continue;
        digit = true;
        if (i && text.ptr[i - 1] == '.')
            return true;
    }
    return digit &&
           (nl_str_find_nocase(text, "layer") >= 0 || nl_str_find_nocase(text, "block") >= 0);
}

/* Hash of the name of a numbered layer, without the running "op_id = N" of PyTorch; 0 for other
 * names. Segment numbers take the lower half of a key. */
static uint64_t layer_hash(struct nl_str text, bool module)
{
    static const char id[] = ", op_id = ";
    for (size_t i = 0; i + sizeof id - 1 <= text.len; i++)
        if (!memcmp(text.ptr + i, id, sizeof id - 1))
            text.len = i;
    if (!module && !numbers_layers(text))
        return 0;
    for (size_t i = 0; i < text.len; i++)
        if (nl_is_digit(text.ptr[i]))
            return (nl_hash(text.ptr, text.len) | (uint64_t)1 << 32) & ~(uint64_t)UINT32_MAX;
    return 0;
}

static int64_t launch_time(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t launch = trace->slice.link[slice];
    return trace->slice.ts[launch == NL_NULL_ROW ? slice : launch];
}

/* Segments that begin with the same launch as the one before. */
static bool one_launch(const struct nl_trace *trace, const uint32_t *markers, size_t count)
{
    size_t same = 0;
    for (size_t i = 1; i < count; i++) {
        uint32_t launch = trace->slice.link[markers[i]];
        same += launch != NL_NULL_ROW && launch == trace->slice.link[markers[i - 1]];
    }
    return (double)same > SAME_LAUNCH * (double)(count - 1);
}

/* A server writes one of these around every step of its engine, so what repeats inside one is
 * within a step. */
static bool is_engine_step(struct nl_str text)
{
    static const char *const patterns[] = {"execute_*context*generation*", "step[*",
                                           "[executor] _forward_step #*"};
    int64_t number;
    int rule = nl_step_rule_of(text, &number);
    for (size_t i = 0; rule >= 0 && i < sizeof patterns / sizeof patterns[0]; i++)
        if (!strcmp(nl_step_rules[rule].pattern, patterns[i]))
            return true;
    return false;
}

/* Whether a server's step holds the launches of most segments. */
static bool one_step(const struct nl_trace *trace, int64_t rank, const int64_t *bounds,
                     size_t count)
{
    enum { UNSEEN, NO, YES };
    uint8_t *engine = nl_zalloc(trace->names.count);
    bool found = false;
    for (uint32_t row = 0; row < trace->nvtx.rows && !found; row++) {
        uint32_t slice = trace->nvtx.slice[row];
        uint32_t name = slice == NL_NULL_ROW ? NL_NO_NAME : trace->slice.name[slice];
        if (slice == NL_NULL_ROW || engine[name] == NO)
            continue;
        if (engine[name] == UNSEEN)
            engine[name] = is_engine_step(nl_trace_name(trace, name)) ? YES : NO;
        if (engine[name] == NO || nl_lane_rank(trace, trace->slice.lane[slice]) != rank)
            continue;
        size_t first = NL_FIRST(i, (size_t)0, count, bounds[i] >= trace->slice.ts[slice]);
        size_t after = NL_FIRST(i, first, count, bounds[i] >= nl_slice_end(trace, slice));
        found = after - first > count / 2;
    }
    nl_free(engine);
    return found;
}

/* Index of the last boundary at or before ts; count when ts is before all. */
static size_t segment_of(const int64_t *bounds, size_t count, int64_t ts)
{
    size_t low = NL_FIRST(i, 0, count, bounds[i] > ts);
    return low ? low - 1 : count;
}

/* Pairs (name, segment) as keys. */
static size_t list_pairs(const struct nl_trace *trace, int64_t rank, const int64_t *bounds,
                         size_t count, struct nl_keyed **pairs)
{
    enum { UNSEEN, NO, YES };
    uint8_t *numbered = nl_zalloc(trace->names.count);
    uint64_t *hashes = nl_alloc(trace->names.count * sizeof *hashes);
    size_t found = 0, cap = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        uint8_t kind = trace->slice.kind[row];
        uint32_t name = trace->slice.name[row];
        if ((kind != NL_KIND_NVTX && kind != NL_KIND_LAYER) || numbered[name] == NO)
            continue;
        if (numbered[name] == UNSEEN) {
            hashes[name] = layer_hash(nl_trace_name(trace, name), kind == NL_KIND_LAYER);
            numbered[name] = hashes[name] ? YES : NO;
        }
        size_t segment = segment_of(bounds, count, trace->slice.ts[row]);
        if (!hashes[name] || segment == count ||
            nl_lane_rank(trace, trace->slice.lane[row]) != rank)
            continue;
        nl_grow(pairs, &cap, found + 1);
        (*pairs)[found++] = (struct nl_keyed){.key = hashes[name] | segment, .row = row};
    }
    nl_free(numbered);
    nl_free(hashes);
    return found;
}

static enum nl_step_verdict judge_numbered_names(const struct nl_keyed *pairs, size_t found,
                                                 size_t segments)
{
    size_t names = 0, held = 0;
    for (size_t i = 0; i < found; i++) {
        held += i == 0 || pairs[i].key != pairs[i - 1].key;
        names += i == 0 || pairs[i].key >> 32 != pairs[i - 1].key >> 32;
    }
    if (names < MIN_NAMES)
        return NL_STEPS_NOT_TOLD;
    double share = (double)held / (double)names / (double)segments;
    if (share >= MIN_NUMBERED_SHARE)
        return NL_STEPS_ARE_STEPS;
    return share < COMES_ONCE ? NL_STEPS_ARE_LAYERS : NL_STEPS_NOT_TOLD;
}

enum nl_step_verdict nl_steps_check(const struct nl_trace *trace, int64_t rank,
                                    const uint32_t *markers, size_t count)
{
    if (count < 2)
        return NL_STEPS_NOT_TOLD;
    if (one_launch(trace, markers, count))
        return NL_STEPS_ARE_LAYERS;
    int64_t *bounds = nl_alloc(count * sizeof *bounds);
    struct nl_keyed *pairs = NULL;
    for (size_t i = 0; i < count; i++)
        bounds[i] = launch_time(trace, markers[i]);
    nl_sort_i64(bounds, count);
    if (one_step(trace, rank, bounds, count)) {
        nl_free(bounds);
        return NL_STEPS_ARE_LAYERS;
    }
    size_t found = list_pairs(trace, rank, bounds, count, &pairs);
    struct nl_keyed *scratch = nl_alloc((found + 1) * sizeof *scratch);
    nl_sort_keyed(pairs, scratch, found);
    enum nl_step_verdict verdict = judge_numbered_names(pairs, found, count);
    nl_free(scratch);
    nl_free(pairs);
    nl_free(bounds);
    return verdict;
}
