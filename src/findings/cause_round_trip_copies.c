/*
 * round_trip_copies — the same bytes go to the host and come back.
 *
 * Signal: a copy to the host is followed by one of the very same size (64 KiB at least) to
 * the device before another copy of that size to the host: ten such pairs, whose exposed
 * time is over 2 % of wall. Sizes are all that is recorded, so it is likely, not certain,
 * that the bytes are the same.
 */
#include <stdlib.h>

#include "findings/copycause.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"

#define WARN_SHARE     0.02
#define CRITICAL_SHARE 0.20
#define MIN_BYTES      65536
#define MIN_PAIRS      10

struct trips {
    uint64_t pairs, bytes;
    uint8_t *is_part; /* per row of table copy */
};

struct by_size {
    uint64_t bytes;
    int64_t ts;
    uint32_t copy;
};

static int by_size_and_time(const void *left, const void *right)
{
    const struct by_size *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return a->copy < b->copy ? -1 : a->copy > b->copy;
}

static struct trips find_trips(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct by_size *rows = nl_alloc((scene->copy_count + 1) * sizeof *rows);
    struct trips trips = {.is_part = nl_zalloc((size_t)trace->copy.rows + 1)};
    size_t count = 0;
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t copy = scene->copies[i];
        if ((!nl_copy_is_htod(trace, copy) && !nl_copy_is_dtoh(trace, copy)) ||
            trace->copy.bytes[copy] == NL_NULL_U64 || trace->copy.bytes[copy] < MIN_BYTES)
            continue;
        rows[count++] = (struct by_size){trace->copy.bytes[copy],
                                         trace->slice.ts[trace->copy.slice[copy]], copy};
    }
    if (count)
        qsort(rows, count, sizeof *rows, by_size_and_time);
    for (size_t i = 0; i + 1 < count; i++) {
        if (rows[i].bytes != rows[i + 1].bytes || !nl_copy_is_dtoh(trace, rows[i].copy) ||
            !nl_copy_is_htod(trace, rows[i + 1].copy))
            continue;
        trips.is_part[rows[i].copy] = trips.is_part[rows[i + 1].copy] = 1;
        trips.pairs++;
        trips.bytes += rows[i].bytes < UINT64_MAX - trips.bytes ? rows[i].bytes : 0;
        i++;
    }
    nl_free(rows);
    return trips;
}

/* Exposed time of the pairs' copies. */
static int64_t claim_copies(const struct nl_scene *scene, const struct trips *trips,
                            struct nl_intervals *out)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_intervals all;
    nl_intervals_init(&all);
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t slice = trace->copy.slice[scene->copies[i]];
        if (trips->is_part[scene->copies[i]])
            nl_intervals_add(&all, trace->slice.ts[slice], nl_slice_end(trace, slice));
    }
    nl_intervals_normalise(&all);
    nl_intervals_subtract(&all, &scene->hidden, out);
    nl_intervals_release(&all);
    return nl_intervals_length(out);
}

/* The same of those in start-up, which alone are part of `trips` then. */
static int64_t once_of(const struct nl_scene *scene, struct trips *trips)
{
    struct nl_intervals exposed;
    nl_intervals_init(&exposed);
    for (size_t i = 0; i < scene->copy_count; i++)
        trips->is_part[scene->copies[i]] &= nl_copy_is_once(scene, scene->copies[i]);
    int64_t ns = claim_copies(scene, trips, &exposed);
    nl_intervals_release(&exposed);
    return ns;
}

static enum nl_verdict round_trip_copies_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    struct trips trips = find_trips(scene);
    int64_t cost = claim_copies(scene, &trips, &finding->where);
    int64_t once = once_of(scene, &trips);
    nl_free(trips.is_part);
    if (trips.pairs < MIN_PAIRS || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *pairs = nl_say(scene,
                               "FROM (SELECT kind, bytes, lead(kind) OVER w AS then_kind, "
                               "lead(bytes) OVER w AS then_bytes FROM copies WHERE kind IN "
                               "('HtoD', 'DtoH') AND bytes >= %d AND dur IS NOT NULL AND %s WINDOW "
                               "w AS (ORDER BY bytes, ts, slice)) WHERE kind = 'DtoH' AND "
                               "then_kind = 'HtoD' AND bytes = then_bytes",
                               MIN_BYTES, nl_scene_on(scene, ""));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(
        scene, finding,
        "%s copies to the host come back with the same size: %s there and back, %s exposed on %s%s",
        nl_say_count(scene, trips.pairs), nl_say_bytes(scene, trips.bytes), nl_say_ns(scene, cost),
        nl_scene_name(scene), nl_copy_promise(scene, finding, once));
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "round_trips",
                    .says = nl_say(
                        scene, "%s pairs of copies of one size, to the host and then to the device",
                        nl_say_count(scene, trips.pairs)),
                    .threshold = "10 at least, > 2 % of wall exposed",
                    .query = nl_say(scene, "SELECT count(*) %s", pairs),
                    .meaning = NL_MEANS_COUNT,
                    .value = (double)trips.pairs});
    nl_evidence(finding, (struct nl_evidence){
                             .metric = "round_trip_bytes",
                             .says = nl_say(scene, "%s each way", nl_say_bytes(scene, trips.bytes)),
                             .query = nl_say(scene, "SELECT sum(bytes) %s", pairs),
                             .meaning = NL_MEANS_BYTES,
                             .value = (double)trips.bytes});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_round_trip_copies = {
    .id = "round_trip_copies",
    .doc = "Copies of 64 KiB or more to the host, each followed by one of the same size to the "
           "device: at least ten pairs, with an exposed time of more than 2 % of wall. If most of "
           "it is in start-up, that part is paid once and not counted as a saving.",
    .needs = {{NL_T_copy, "bytes"}},
    .need_count = 1,
    .evaluate = round_trip_copies_evaluate,
    .not_this_if = "inputs and outputs happen to have the same size (then the data differs), or "
                   "the copies are overlapped",
};
