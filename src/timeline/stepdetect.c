/* Repetition in the launch sequence — see stepdetect.h. */
#include "timeline/stepdetect.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/median.h"

#define MIN_STEPS  3  /* occurrences of a marker */
#define MIN_PERIOD 3  /* tokens per step: a loop over one kernel has no distinguishable steps */
#define MAX_TRIALS 24 /* markers looked at closely */
#define MAX_UNEVENNESS                                                                             \
    0.6 /* spread of distances (deviation / mean) over which a name marks nothing */
#define MIN_SCORE    0.5
#define AS_GOOD      0.97 /* of the best score: then the shorter period */
#define MAX_SURENESS 0.9

struct name_facts {
    size_t first, last; /* positions */
    double squares;     /* sum of squared distances */
    uint32_t count;
    uint32_t seen, typical; /* in the segment being looked at, in the typical one */
};

struct segment {
    size_t first, last;
    uint64_t hash;
};

struct detector {
    const uint32_t *tokens; /* numbers of names */
    size_t count;
    const double *idle;
    struct name_facts *names;
    uint64_t *name_hashes;
    uint32_t name_count;
    uint32_t repeating; /* names with MIN_STEPS occurrences or more */
    struct segment *segments, typical;
    size_t segment_count;
    uint64_t *hashes;
};

static uint64_t mix(uint64_t value)
{
    value = (value + 1) * 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 29) * 0xbf58476d1ce4e5b9u;
    return value ^ value >> 32;
}

static void learn_names(struct detector *d)
{
    for (size_t i = 0; i < d->count; i++) {
        struct name_facts *name = &d->names[d->tokens[i]];
        if (!name->count) {
            name->first = i;
        } else {
            double distance = (double)(i - name->last);
            name->squares += distance * distance;
        }
        name->count++;
        name->last = i;
    }
    for (uint32_t n = 0; n < d->name_count; n++) {
        d->name_hashes[n] = mix(n);
        d->repeating += d->names[n].count >= MIN_STEPS;
    }
}

/* Deviation of the distances between occurrences, over their mean. */
static double unevenness(const struct name_facts *name)
{
    double gaps = (double)name->count - 1, mean = (double)(name->last - name->first) / gaps;
    double variance = name->squares / gaps - mean * mean;
    return variance > 0 ? sqrt(variance) / mean : 0;
}

static bool can_mark(const struct detector *d, const struct name_facts *name)
{
    return name->count >= MIN_STEPS &&
           name->last - name->first >= (size_t)MIN_PERIOD * (name->count - 1) &&
           name->last - name->first >= d->count / 4 && unevenness(name) < MAX_UNEVENNESS;
}

/* Cuts at every occurrence of `marker`; the last segment reaches to the end. */
static void cut(struct detector *d, uint32_t marker)
{
    size_t i = d->names[marker].first;
    d->segment_count = 0;
    while (i < d->count) {
        struct segment *segment = &d->segments[d->segment_count++];
        segment->first = i;
        segment->hash = 0;
        do
            segment->hash += d->name_hashes[d->tokens[i++]];
        while (i < d->count && d->tokens[i] != marker);
        segment->last = i;
    }
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The bag of names that occurs most often, else the segment of median length. */
static size_t typical_segment(struct detector *d)
{
    size_t full = d->segment_count - 1, best = 0, best_run = 0;
    for (size_t i = 0; i < full; i++)
        d->hashes[i] = d->segments[i].hash;
    qsort(d->hashes, full, sizeof *d->hashes, by_value);
    uint64_t wanted = 0;
    for (size_t i = 0, run = 0; i < full; i++) {
        run = i && d->hashes[i] == d->hashes[i - 1] ? run + 1 : 1;
        if (run > best_run) {
            best_run = run;
            wanted = d->hashes[i];
        }
    }
    if (best_run > 1) {
        while (d->segments[best].hash != wanted)
            best++;
        return best;
    }
    for (size_t i = 0; i < full; i++)
        d->hashes[i] = (uint64_t)(d->segments[i].last - d->segments[i].first) << 32 | i;
    qsort(d->hashes, full, sizeof *d->hashes, by_value);
    return (size_t)(d->hashes[nl_median_upper_at(full)] & UINT32_MAX);
}

/* Twice the common part of the two bags over the sum of their sizes. Bags
 * of one hash are the same. */
static double likeness(struct detector *d, const struct segment *segment)
{
    size_t common = 0, length = segment->last - segment->first;
    size_t typical_length = d->typical.last - d->typical.first;
    if (segment->hash == d->typical.hash && length == typical_length)
        return 1;
    for (size_t i = segment->first; i < segment->last; i++) {
        struct name_facts *name = &d->names[d->tokens[i]];
        common += ++name->seen <= name->typical;
    }
    for (size_t i = segment->first; i < segment->last; i++)
        d->names[d->tokens[i]].seen = 0;
    return 2.0 * (double)common / (double)(length + typical_length);
}

/* Loads the typical segment's bag into the names; returns how many repeating names it holds. */
static uint32_t load_typical(struct detector *d, const struct segment *segment)
{
    uint32_t known = 0;
    d->typical = *segment;
    for (uint32_t n = 0; n < d->name_count; n++)
        d->names[n].typical = 0;
    for (size_t i = segment->first; i < segment->last; i++) {
        struct name_facts *name = &d->names[d->tokens[i]];
        known += name->typical++ == 0 && name->count >= MIN_STEPS;
    }
    return known;
}

/* How well `marker` explains the sequence, 0..1. Leaves its segments and typical bag loaded. */
static double score(struct detector *d, uint32_t marker)
{
    cut(d, marker);
    uint32_t held = load_typical(d, &d->segments[typical_segment(d)]);
    double known = (double)held / (double)d->repeating;
    size_t alike = 0;
    for (size_t i = 0; i + 1 < d->segment_count; i++)
        if (likeness(d, &d->segments[i]) >= NL_STEP_ALIKE)
            alike += d->segments[i].last - d->segments[i].first;
    double inner = (double)(d->names[marker].last - d->names[marker].first);
    double marks = d->names[marker].count; /* there are marks - 1 periods between them */
    double extent = fmin(1, inner * marks / ((marks - 1) * (double)d->count));
    return (double)alike / inner * known * sqrt(extent);
}

struct trial {
    uint32_t count, support, marker; /* names with that count; the evenest of them */
    double uneven, score;
};

static int by_count(const void *left, const void *right)
{
    const struct trial *a = left, *b = right;
    if (a->count != b->count)
        return a->count < b->count ? -1 : 1;
    return a->marker < b->marker ? -1 : a->marker > b->marker;
}

static int by_support(const void *left, const void *right)
{
    const struct trial *a = left, *b = right;
    if (a->support != b->support)
        return a->support > b->support ? -1 : 1;
    return a->count < b->count ? -1 : a->count > b->count;
}

/* One trial per number of occurrences, those that most names share first. */
static size_t list_trials(const struct detector *d, struct trial *trials)
{
    size_t found = 0, kept = 0;
    for (uint32_t n = 0; n < d->name_count; n++)
        if (can_mark(d, &d->names[n]))
            trials[found++] = (struct trial){.count = d->names[n].count,
                                             .marker = n,
                                             .support = 1,
                                             .uneven = unevenness(&d->names[n])};
    if (found)
        qsort(trials, found, sizeof *trials, by_count);
    for (size_t i = 0; i < found; i++) {
        if (kept && trials[kept - 1].count == trials[i].count) {
            struct trial *same = &trials[kept - 1];
            same->support++;
            if (trials[i].uneven < same->uneven) {
                same->uneven = trials[i].uneven;
                same->marker = trials[i].marker;
            }
        } else {
            trials[kept++] = trials[i];
        }
    }
    if (kept)
        qsort(trials, kept, sizeof *trials, by_support);
    return kept < MAX_TRIALS ? kept : MAX_TRIALS;
}

/* Of the names that come as often, the one before which the device idles longest. */
static uint32_t where_it_begins(const struct detector *d, uint32_t marker)
{
    uint32_t best = marker;
    for (uint32_t n = 0; n < d->name_count; n++) {
        const struct name_facts *name = &d->names[n], *so_far = &d->names[best];
        if (name->count != so_far->count || !can_mark(d, name))
            continue;
        if (d->idle[n] > d->idle[best] ||
            (d->idle[n] >= d->idle[best] && name->first < so_far->first))
            best = n;
    }
    return best;
}

static void fill_cuts(struct detector *d, struct nl_step_cuts *cuts)
{
    cuts->items = nl_alloc(d->segment_count * sizeof *cuts->items);
    for (size_t i = 0; i < d->segment_count; i++) {
        const struct segment *segment = &d->segments[i];
        double alike = likeness(d, segment);
        if (i + 1 == d->segment_count && alike < NL_STEP_ALIKE)
            break;
        cuts->items[cuts->count++] = (struct nl_step_cut){segment->first, segment->last, alike};
    }
}

static void choose_marker(struct detector *d, struct trial *trials, struct nl_step_cuts *cuts)
{
    size_t count = list_trials(d, trials);
    double best = 0;
    for (size_t i = 0; i < count; i++) {
        trials[i].score = score(d, trials[i].marker);
        best = trials[i].score > best ? trials[i].score : best;
    }
    const struct trial *chosen = NULL;
    for (size_t i = 0; i < count; i++)
        if (trials[i].score >= AS_GOOD * best && (!chosen || trials[i].count > chosen->count))
            chosen = &trials[i];
    if (!chosen || best < MIN_SCORE)
        return;
    cuts->name = where_it_begins(d, chosen->marker);
    double sure = score(d, cuts->name);
    if (sure < AS_GOOD * chosen->score) {
        cuts->name = chosen->marker;
        sure = score(d, cuts->name);
    }
    double steps = (double)chosen->count;
    cuts->confidence = fmin(MAX_SURENESS, sure * (1 - 1 / (steps + 1)));
    fill_cuts(d, cuts);
}

struct nl_step_cuts nl_step_detect(const struct nl_step_sequence *sequence)
{
    struct nl_step_cuts cuts = {0};
    size_t count = sequence->count;
    uint32_t name_count = sequence->name_count;
    if (count < (size_t)MIN_STEPS * MIN_PERIOD || name_count == 0)
        return cuts;
    struct detector d = {.tokens = sequence->names,
                         .count = count,
                         .idle = sequence->idle,
                         .name_count = name_count};
    d.names = nl_zalloc(name_count * sizeof *d.names);
    d.name_hashes = nl_alloc(name_count * sizeof *d.name_hashes);
    d.segments = nl_alloc((count + 1) * sizeof *d.segments);
    d.hashes = nl_alloc((count + 1) * sizeof *d.hashes);
    struct trial *trials = nl_alloc(name_count * sizeof *trials);
    learn_names(&d);
    if (d.repeating)
        choose_marker(&d, trials, &cuts);
    nl_free(trials);
    nl_free(d.hashes);
    nl_free(d.segments);
    nl_free(d.name_hashes);
    nl_free(d.names);
    return cuts;
}
