/* Interval algebra against a yardstick that cannot be wrong: one bool per nanosecond. */
#include "check.h"
#include "timeline/interval.h"

#define SPAN 200

static uint64_t state = 42;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 9) % below;
}

static void paint(const struct nl_intervals *set, bool *line)
{
    memset(line, 0, SPAN);
    for (size_t i = 0; i < set->count; i++)
        for (int64_t t = set->items[i].start; t < set->items[i].end; t++)
            line[t] = true;
}

static bool is_normal(const struct nl_intervals *set)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->items[i].end <= set->items[i].start)
            return false;
        if (i && set->items[i].start <= set->items[i - 1].end)
            return false;
    }
    return true;
}

/* Intervals as they come from lanes: `runs` ascending runs, or in no order. */
static void make(struct nl_intervals *set, bool *line, unsigned count, unsigned runs)
{
    memset(line, 0, SPAN);
    nl_intervals_init(set);
    int64_t start = 0;
    for (unsigned i = 0; i < count; i++) {
        if (runs == 0 || i % (count / runs + 1) == 0)
            start = (int64_t)draw(SPAN);
        int64_t end = start + (int64_t)draw(9);
        end = end > SPAN ? SPAN : end;
        nl_intervals_add(set, start, end);
        for (int64_t t = start; t < end; t++)
            line[t] = true;
        start = end + (int64_t)draw(6);
        start = start >= SPAN ? 0 : start;
    }
}

static bool equals(const struct nl_intervals *set, const bool *line)
{
    bool painted[SPAN];
    paint(set, painted);
    return is_normal(set) && memcmp(painted, line, SPAN) == 0;
}

static void random_sets(void)
{
    for (unsigned round = 0; round < 3000; round++) {
        struct nl_intervals a, b, out;
        bool in_a[SPAN], in_b[SPAN], want[SPAN];
        make(&a, in_a, (unsigned)draw(200), (unsigned)draw(4));
        make(&b, in_b, (unsigned)draw(40), (unsigned)draw(4));
        nl_intervals_init(&out);
        nl_intervals_normalise(&a);
        nl_intervals_normalise(&b);
        REQUIRE(equals(&a, in_a) && equals(&b, in_b));
        nl_intervals_union(&a, &b, &out);
        int64_t in_both = 0, length = 0;
        for (int t = 0; t < SPAN; t++) {
            want[t] = in_a[t] || in_b[t];
            in_both += in_a[t] && in_b[t];
            length += in_a[t];
        }
        REQUIRE(equals(&out, want));
        CHECK_INT(nl_intervals_length(&a), length);
        CHECK_INT(nl_intervals_overlap(&a, &b), in_both);
        nl_intervals_intersect(&a, &b, &out);
        for (int t = 0; t < SPAN; t++)
            want[t] = in_a[t] && in_b[t];
        REQUIRE(equals(&out, want));
        nl_intervals_subtract(&a, &b, &out);
        for (int t = 0; t < SPAN; t++)
            want[t] = in_a[t] && !in_b[t];
        REQUIRE(equals(&out, want));
        int64_t from = (int64_t)draw(SPAN), to = (int64_t)draw(SPAN);
        nl_intervals_gaps(&a, from, to, &out);
        for (int t = 0; t < SPAN; t++)
            want[t] = t >= from && t < to && !in_a[t];
        REQUIRE(equals(&out, want));
        for (int t = 0; t < SPAN; t++) {
            ptrdiff_t at = nl_intervals_find(&a, t);
            REQUIRE((at >= 0) == in_a[t]);
            REQUIRE(at < 0 || (a.items[at].start <= t && t < a.items[at].end));
        }
        nl_intervals_release(&a);
        nl_intervals_release(&b);
        nl_intervals_release(&out);
    }
}

static void empty_and_odd(void)
{
    struct nl_intervals set, none, out;
    nl_intervals_init(&set);
    nl_intervals_init(&none);
    nl_intervals_init(&out);
    nl_intervals_normalise(&set);
    CHECK_INT(nl_intervals_length(&set), 0);
    CHECK_INT(nl_intervals_find(&set, 5), -1);
    nl_intervals_add(&set, 5, 5);
    nl_intervals_add(&set, 6, 4);
    CHECK_INT(set.count, 0);
    nl_intervals_gaps(&set, 3, 9, &out);
    CHECK_INT(nl_intervals_length(&out), 6);
    nl_intervals_add(&set, 10, 20);
    nl_intervals_add(&set, 20, 30);
    nl_intervals_add(&set, 40, 50);
    nl_intervals_normalise(&set);
    CHECK_INT(set.count, 2);
    nl_intervals_subtract(&set, &none, &out);
    CHECK_INT(nl_intervals_length(&out), 30);
    nl_intervals_subtract(&none, &set, &out);
    CHECK_INT(out.count, 0);
    nl_intervals_intersect(&set, &set, &out);
    CHECK_INT(nl_intervals_length(&out), 30);
    nl_intervals_release(&set);
    nl_intervals_release(&out);
}

/* The ends of int64 are times like any other. */
static void extremes(void)
{
    struct nl_intervals set, out;
    nl_intervals_init(&set);
    nl_intervals_init(&out);
    nl_intervals_add(&set, 100, INT64_MAX);
    nl_intervals_add(&set, INT64_MIN, -100);
    nl_intervals_normalise(&set);
    CHECK_INT(set.count, 2);
    CHECK_INT(nl_intervals_length(&set), INT64_MAX);
    nl_intervals_gaps(&set, INT64_MIN, INT64_MAX, &out);
    CHECK_INT(nl_intervals_length(&out), 200);
    CHECK_INT(nl_intervals_overlap(&set, &out), 0);
    nl_intervals_release(&set);
    nl_intervals_release(&out);
}

CHECK_MAIN("interval", {"random sets against a line of bools", random_sets},
           {"empty and odd", empty_and_odd}, {"extremes", extremes})
