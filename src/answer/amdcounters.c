/* amdcounters — see amdcounters.h. */
#include "answer/amdcounters.h"

#include <math.h>

#include "answer/judge.h"

#define MAX_SAID 4
#define KIB      1024.0

enum {
    OCCUPANCY,
    MEM_BUSY,
    MEM_STALLED,
    VALU_BUSY,
    L2_HIT,
    FETCH_SIZE,
    WRITE_SIZE,
    HITS,
    MISSES,
    READS,
    READS_EA0,
    READS_32,
    READS_128,
    WRITES,
    WRITES_64,
    WAITING,
    WAITING_ISSUE,
    WAVE_CYCLES,
    COUNTERS
};

/* Names in rocprof, and of one sum over instances in rocprofiler-compute; MI300
 * numbers its EA interfaces. */
static const struct {
    const char *name;
    int counter;
} names[] = {{"OccupancyPercent", OCCUPANCY},
             {"MemUnitBusy", MEM_BUSY},
             {"MemUnitStalled", MEM_STALLED},
             {"VALUBusy", VALU_BUSY},
             {"L2CacheHit", L2_HIT},
             {"FETCH_SIZE", FETCH_SIZE},
             {"FetchSize", FETCH_SIZE},
             {"WRITE_SIZE", WRITE_SIZE},
             {"WriteSize", WRITE_SIZE},
             {"TCC_HIT_sum", HITS},
             {"TCC_MISS_sum", MISSES},
             {"TCC_EA_RDREQ_sum", READS},
             {"TCC_EA0_RDREQ_sum", READS_EA0},
             {"TCC_EA_RDREQ_32B_sum", READS_32},
             {"TCC_EA0_RDREQ_32B_sum", READS_32},
             {"TCC_BUBBLE_sum", READS_128},
             {"TCC_EA_WRREQ_sum", WRITES},
             {"TCC_EA0_WRREQ_sum", WRITES},
             {"TCC_EA_WRREQ_64B_sum", WRITES_64},
             {"TCC_EA0_WRREQ_64B_sum", WRITES_64},
             {"SQ_WAIT_ANY", WAITING},
             {"SQ_WAIT_INST_ANY", WAITING_ISSUE},
             {"SQ_WAVE_CYCLES", WAVE_CYCLES}};
#define NAMES (sizeof names / sizeof names[0])

struct meter {
    double sum, weighted; /* weighted: times the length of the dispatch */
    double ns;            /* of dispatches with the counter, those whose length is known */
    bool there;
};

static void read_meters(const struct nl_trace *trace, uint32_t kernel, struct meter *meters)
{
    uint32_t ids[NAMES] = {0};
    for (uint32_t id = 1; id < trace->names.count; id++)
        for (size_t i = 0; i < NAMES; i++)
            if (nl_str_is(nl_trace_name(trace, id), names[i].name))
                ids[i] = id;
    for (uint32_t row = 0; row < trace->metric.rows; row++) {
        uint32_t slice = trace->metric.slice[row];
        double value = trace->metric.value[row];
        if (slice == NL_NULL_ROW || trace->slice.name[slice] != kernel || value != value)
            continue;
        for (size_t i = 0; i < NAMES; i++) {
            if (!ids[i] || trace->metric.name[row] != ids[i])
                continue;
            struct meter *meter = &meters[names[i].counter];
            double ns =
                trace->slice.dur[slice] == NL_NULL_I64 ? 0 : (double)trace->slice.dur[slice];
            meter->there = true;
            meter->sum += value;
            meter->weighted += value * ns;
            meter->ns += ns;
        }
    }
}

static const char *before(unsigned *said)
{
    return (*said)++ ? ", " : ": ";
}

static void put_percent(struct nl_buf *out, unsigned *said, const struct meter *meter,
                        const char *words)
{
    if (!meter->there || !(meter->ns > 0) || *said == MAX_SAID)
        return;
    nl_buf_text(out, before(said));
    nl_tell_share(out, words, meter->weighted / meter->ns / 100);
}

static void put_part(struct nl_buf *out, unsigned *said, double part, double whole,
                     const char *words)
{
    if (!(whole > 0) || !(part >= 0) || part > whole || *said == MAX_SAID)
        return;
    nl_buf_text(out, before(said));
    nl_tell_share(out, words, part / whole);
}

static void put_bytes(struct nl_buf *out, unsigned *said, double bytes, double ns,
                      const char *words)
{
    if (!(bytes >= 1) || bytes > 1e18 || *said == MAX_SAID)
        return;
    nl_tell_size(out, before(said), (uint64_t)bytes);
    nl_buf_text(out, words);
    if (ns > 0)
        nl_buf_format(out, " (%.4g GB/s)", bytes / ns);
}

/* Two reasons to wait, counted apart: for data and barriers (s_waitcnt),
 * and to be chosen for issue. */
static void put_waits(struct nl_buf *out, unsigned *said, const struct meter *at)
{
    bool issue = at[WAITING_ISSUE].there && at[WAITING_ISSUE].sum >= 0 &&
                 at[WAITING_ISSUE].sum <= at[WAVE_CYCLES].sum;
    unsigned said_before = *said;
    if (!at[WAVE_CYCLES].there)
        return;
    if (at[WAITING].there)
        put_part(out, said, at[WAITING].sum, at[WAVE_CYCLES].sum,
                 "its waves wait for data or barriers ");
    if (issue && *said > said_before && at[WAVE_CYCLES].sum > 0)
        nl_tell_share(out, ", for issue ", at[WAITING_ISSUE].sum / at[WAVE_CYCLES].sum);
    else if (issue)
        put_part(out, said, at[WAITING_ISSUE].sum, at[WAVE_CYCLES].sum,
                 "its waves wait for issue ");
}

/* Bytes that it read, by AMD's formulas. MI300 reads up to 128 bytes at once: without the count of
 * those, it is unknown. */
static void put_reads(struct nl_buf *out, unsigned *said, const struct meter *at)
{
    const struct meter *reads = at[READS_EA0].there ? &at[READS_EA0] : &at[READS];
    if (!reads->there || !at[READS_32].there || (at[READS_EA0].there && !at[READS_128].there))
        return;
    put_bytes(out, said,
              128 * at[READS_128].sum + 32 * at[READS_32].sum +
                  64 * (reads->sum - at[READS_128].sum - at[READS_32].sum),
              reads->ns, " read from memory");
}

bool nl_tell_amd_counters(struct nl_buf *out, const struct nl_trace *trace, uint32_t kernel)
{
    struct meter at[COUNTERS] = {0};
    unsigned said = 0;
    read_meters(trace, kernel, at);
    put_percent(out, &said, &at[MEM_BUSY], "memory units busy ");
    put_percent(out, &said, &at[MEM_STALLED], "memory units stalled ");
    put_percent(out, &said, &at[VALU_BUSY], "vector units busy ");
    put_percent(out, &said, &at[L2_HIT], "L2 hits ");
    put_percent(out, &said, &at[OCCUPANCY], "occupancy ");
    put_waits(out, &said, at);
    if (at[HITS].there && at[MISSES].there)
        put_part(out, &said, at[HITS].sum, at[HITS].sum + at[MISSES].sum, "L2 hits ");
    if (at[FETCH_SIZE].there)
        put_bytes(out, &said, at[FETCH_SIZE].sum * KIB, at[FETCH_SIZE].ns, " read from memory");
    else
        put_reads(out, &said, at);
    if (at[WRITE_SIZE].there)
        put_bytes(out, &said, at[WRITE_SIZE].sum * KIB, at[WRITE_SIZE].ns, " written");
    else if (at[WRITES].there && at[WRITES_64].there)
        put_bytes(out, &said, 64 * at[WRITES_64].sum + 32 * (at[WRITES].sum - at[WRITES_64].sum),
                  at[WRITES].ns, " written");
    return said > 0;
}
