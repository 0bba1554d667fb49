/*
 * Clocks of Perfetto traces: what snapshots tie together, and where an event of each clock comes to
 * lie. Times are worked out by hand from the format's description: a clock is its reading at the
 * last snapshot, times its unit, beside the trace clock's; 64 to 127 belong to the sequence that
 * named them, all others to the trace.
 */
#include "corpus.h"

#define GONE (-1) /* such an event is left out */

enum what { END, SNAPSHOT, READS, EVENT, DEFAULT_CLOCK };

struct step {
    enum what what;
    unsigned sequence;
    uint64_t clock; /* of a snapshot: the primary one; of an event: 0 = none is named */
    uint64_t value, unit;
    bool adds;  /* incremental */
    int64_t at; /* of an event */
};

#define SNAP(sequence, primary)                                                                    \
    {                                                                                              \
        SNAPSHOT, sequence, primary, 0, 0, false, 0                                                \
    }
#define READ(clock, value)                                                                         \
    {                                                                                              \
        READS, 0, clock, value, 0, false, 0                                                        \
    }
#define READ_IN(clock, value, unit)                                                                \
    {                                                                                              \
        READS, 0, clock, value, unit, false, 0                                                     \
    }
#define READ_ADDING(clock, value, unit)                                                            \
    {                                                                                              \
        READS, 0, clock, value, unit, true, 0                                                      \
    }
#define AT(sequence, clock, value, at)                                                             \
    {                                                                                              \
        EVENT, sequence, clock, value, 0, false, at                                                \
    }
#define DEFAULT(sequence, clock)                                                                   \
    {                                                                                              \
        DEFAULT_CLOCK, sequence, clock, 0, 0, false, 0                                             \
    }

static const struct {
    const char *name;
    struct step steps[8];
} cases[] = {
    {"the trace clock is that of boot", {SNAP(1, 0), READ(6, 1000), AT(1, 6, 5000, 5000)}},
    {"and is meant where none is named", {SNAP(1, 0), READ(6, 1000), AT(1, 0, 5000, 5000)}},
    {"a second clock", {SNAP(1, 0), READ(6, 9000), READ(3, 500), AT(1, 3, 600, 9100)}},
    {"read before the first", {SNAP(1, 0), READ(3, 500), READ(6, 9000), AT(1, 3, 600, 9100)}},
    {"before the snapshot", {SNAP(1, 0), READ(6, 9000), READ(3, 500), AT(1, 3, 400, 8900)}},
    {"a third", {SNAP(1, 0), READ(6, 9000), READ(3, 500), READ(4, 70), AT(1, 4, 71, 9001)}},
    {"a unit", {SNAP(1, 0), READ(6, 9000), READ_IN(64, 50, 1000), AT(1, 64, 55, 14000)}},
    {"seconds", {SNAP(1, 0), READ(6, 9), READ_IN(64, 1, 1000000000), AT(1, 64, 3, 2000000009)}},
    {"more than seconds", {SNAP(1, 0), READ(6, 9), READ_IN(64, 1, 1000000001), AT(1, 64, 3, 11)}},
    {"no unit", {SNAP(1, 0), READ(6, 9000), READ_IN(64, 50, 0), AT(1, 64, 55, 9005)}},
    {"one that adds up",
     {SNAP(1, 0), READ(6, 9000), READ_ADDING(64, 50, 10), AT(1, 64, 5, 9050), AT(1, 64, 7, 9120),
      AT(1, 64, 0, 9120)}},
    {"another trace clock", {SNAP(1, 3), READ(6, 9000), READ(3, 500), AT(1, 3, 600, 600)}},
    {"beside which that of boot is a second",
     {SNAP(1, 3), READ(6, 9000), READ(3, 500), AT(1, 6, 9100, 600), AT(1, 0, 700, 700)}},
    {"only the first snapshot says which",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), SNAP(1, 3), READ(6, 9900), READ(3, 600),
      AT(1, 3, 650, 9950)}},
    {"the last snapshot counts",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), SNAP(1, 0), READ(6, 9900), READ(3, 600),
      AT(1, 3, 650, 9950)}},
    {"one without the trace clock, through a clock that was tied to it",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), SNAP(1, 0), READ(3, 700), READ(64, 10),
      AT(1, 64, 15, 9205)}},
    {"read last there",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), SNAP(1, 0), READ(64, 10), READ(3, 700),
      AT(1, 64, 15, 9205)}},
    {"that had a unit",
     {SNAP(1, 0), READ(6, 9000), READ_IN(64, 5, 100), SNAP(1, 0), READ_IN(64, 7, 100), READ(3, 10),
      AT(1, 3, 15, 9205)}},
    {"through none",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), SNAP(1, 0), READ(4, 700), READ(64, 10),
      AT(1, 64, 15, GONE)}},
    {"a sequence's own",
     {SNAP(1, 0), READ(6, 9000), READ(64, 10), SNAP(2, 0), READ(6, 9000), READ(64, 20),
      AT(1, 64, 25, 9015), AT(2, 64, 25, 9005)}},
    {"its last", {SNAP(1, 0), READ(6, 9000), READ(127, 10), AT(2, 127, 15, GONE)}},
    {"the trace's", {SNAP(1, 0), READ(6, 9000), READ(128, 10), AT(2, 128, 15, 9005)}},
    {"the trace's last built-in", {SNAP(1, 0), READ(6, 9000), READ(63, 10), AT(2, 63, 15, 9005)}},
    {"not tied", {SNAP(1, 0), READ(6, 9000), AT(1, 5, 15, GONE), AT(1, 64, 15, GONE)}},
    {"without a snapshot", {AT(1, 3, 700, 700), AT(1, 63, 800, 800), AT(1, 64, 900, GONE)}},
    {"no time", {SNAP(1, 0), READ(6, 9), AT(1, 6, (uint64_t)INT64_MAX + 1, GONE), AT(1, 6, 7, 7)}},
    {"default of a sequence",
     {SNAP(1, 0), READ(6, 9000), READ(3, 500), DEFAULT(2, 3), AT(2, 0, 600, 9100),
      AT(1, 0, 600, 600), AT(2, 6, 600, 600)}},
};

static void put_varint(struct nl_buf *to, uint64_t value)
{
    for (; value > 127; value >>= 7)
        nl_buf_char(to, (char)((value & 127) | 128));
    nl_buf_char(to, (char)value);
}

static void put_number(struct nl_buf *to, unsigned number, uint64_t value)
{
    put_varint(to, number << 3);
    put_varint(to, value);
}

/* A message or a text; what stands in `bytes` is taken out. */
static void put(struct nl_buf *to, unsigned number, struct nl_buf *bytes)
{
    put_varint(to, number << 3 | 2);
    put_varint(to, bytes->len);
    nl_buf_add(to, bytes->ptr, bytes->len);
    nl_buf_clear(bytes);
}

static void put_packet(struct nl_buf *trace, unsigned sequence, struct nl_buf *packet)
{
    put_number(packet, 10, sequence);
    put(trace, 1, packet);
}

struct maker {
    struct nl_buf trace, packet, message, part;
    unsigned events;
};

static void put_event(struct maker *make, const struct step *step)
{
    nl_buf_char(&make->part, (char)('a' + make->events++));
    put(&make->message, 23, &make->part);
    put_number(&make->message, 9, 3); /* an instant */
    put_number(&make->message, 11, 1);
    put_number(&make->packet, 8, step->value);
    if (step->clock)
        put_number(&make->packet, 58, step->clock);
    put(&make->packet, 11, &make->message);
    put_packet(&make->trace, step->sequence, &make->packet);
}

/* Returns the step behind the snapshot's last. */
static const struct step *put_snapshot(struct maker *make, const struct step *step)
{
    unsigned sequence = step->sequence;
    if (step->clock)
        put_number(&make->message, 2, step->clock);
    for (step++; step->what == READS; step++) {
        put_number(&make->part, 1, step->clock);
        put_number(&make->part, 2, step->value);
        if (step->adds)
            put_number(&make->part, 3, 1);
        if (step->unit)
            put_number(&make->part, 4, step->unit);
        put(&make->message, 1, &make->part);
    }
    put(&make->packet, 6, &make->message);
    put_packet(&make->trace, sequence, &make->packet);
    return step;
}

static struct nl_trace *make_trace(const struct step *step)
{
    struct maker make = {.events = 0};
    nl_buf_init(&make.trace, 4000), nl_buf_init(&make.packet, 1000);
    nl_buf_init(&make.message, 1000), nl_buf_init(&make.part, 100);
    while (step->what != END) {
        if (step->what == SNAPSHOT) {
            step = put_snapshot(&make, step);
            continue;
        }
        if (step->what == DEFAULT_CLOCK) {
            put_number(&make.message, 58, step->clock);
            put(&make.packet, 59, &make.message);
            put_packet(&make.trace, step->sequence, &make.packet);
        } else {
            put_event(&make, step);
        }
        step++;
    }
    struct nl_trace *trace = corpus_ingest_bytes(make.trace.ptr, make.trace.len);
    nl_buf_release(&make.trace), nl_buf_release(&make.packet);
    nl_buf_release(&make.message), nl_buf_release(&make.part);
    return trace;
}

/* The event of this number, GONE when there is none. */
static int64_t time_of(const struct nl_trace *trace, unsigned number)
{
    char name[2] = {(char)('a' + number)};
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        if (nl_str_is(nl_trace_name(trace, trace->slice.name[i]), name))
            return trace->slice.ts[i];
    return GONE;
}

static void times_of_clocks(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        struct nl_trace *trace = make_trace(cases[i].steps);
        REQUIRE(trace);
        unsigned number = 0;
        for (const struct step *step = cases[i].steps; step->what != END; step++)
            if (step->what == EVENT)
                CHECK_INT(time_of(trace, number++), step->at);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("perfettoclocks", {"times of clocks", times_of_clocks})
