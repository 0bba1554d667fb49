/* tracefile: what is written is read back; what is damaged is refused or harmless. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/tracecheck.h"
#include "store/tracefile.h"

#include "fabricate.h"
#include "gputrace.h"

static char folder[] = "/tmp/neurolens-tracefile-XXXXXX";
static char path[64];

static struct nl_trace *made(uint32_t units, uint32_t slices)
{
    struct nl_err err;
    if (!path[0]) {
        if (!mkdtemp(folder))
            return NULL;
        snprintf(path, sizeof path, "%s/trace.nlt", folder);
    }
    nl_err_clear(&err);
    return fabricate(units, slices, 1, NULL, &err);
}

static void clean(void)
{
    unlink(path);
    rmdir(folder);
    path[0] = '\0';
    memcpy(folder, "/tmp/neurolens-tracefile-XXXXXX", sizeof folder);
}

/* Every stored column of every table, and the dictionary. */
static void check_same(const struct nl_trace *a, const struct nl_trace *b)
{
    CHECK_INT(a->first_ts, b->first_ts);
    CHECK_INT(a->last_ts, b->last_ts);
    CHECK_INT(a->names.count, b->names.count);
    for (uint32_t i = 0; i < a->names.count; i++)
        CHECK(nl_str_eq(nl_trace_name(a, i), nl_trace_name(b, i)));
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (column->hop != NL_HOP_NONE)
            continue;
        uint32_t rows = nl_trace_rows(a, column->table);
        check_case(column->name);
        CHECK_INT(rows, nl_trace_rows(b, column->table));
        if (rows == nl_trace_rows(b, column->table) && rows)
            CHECK(memcmp(nl_trace_column(a, column), nl_trace_column(b, column),
                         (size_t)rows * column->size) == 0);
    }
    check_case(NULL);
}

static void round_trip(void)
{
    static const uint32_t sizes[] = {0, 1, 50, 3000};
    for (size_t i = 0; i < CHECK_LENGTH(sizes); i++) {
        struct nl_err err;
        nl_err_clear(&err);
        struct nl_trace *trace = made(2, sizes[i]);
        REQUIRE(trace != NULL);
        CHECK(nl_trace_save(trace, path, &err));
        struct nl_trace *again = nl_trace_open(path, true, 2, &err);
        CHECK(again != NULL);
        if (again) {
            check_same(trace, again);
            nl_trace_free(again);
        }
        nl_trace_free(trace);
        clean();
    }
}

/* Reads everything a reader would: must not crash whatever the file held. */
static uint64_t walk(const struct nl_trace *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        sum += nl_trace_name(t, t->slice.name[i]).len;
        sum += (uint64_t)nl_slice_end(t, i) + (uint64_t)nl_slice_rank(t, i);
        if (t->slice.parent[i] != NL_NULL_ROW)
            sum += t->slice.depth[t->slice.parent[i]];
        if (t->slice.link[i] != NL_NULL_ROW)
            sum += t->slice.kind[t->slice.link[i]];
    }
    for (uint32_t l = 0; l < t->lane.rows; l++) {
        sum += nl_lane_slice_at(t, &(struct nl_lane_cursor){0}, l, t->first_ts + 500);
        for (uint32_t i = 0; i < t->lane.count[l]; i++)
            sum += t->slice.depth[t->lane.first[l] + i];
    }
    for (uint32_t i = 0; i < t->kernel.rows; i++)
        if (t->kernel.slice[i] != NL_NULL_ROW)
            sum += t->slice.kind[t->kernel.slice[i]];
    return sum;
}

static void write_file(const unsigned char *bytes, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

/* The bytes of a saved small trace; nl_free'd by the caller. */
static unsigned char *saved_bytes(size_t *len)
{
    struct nl_err err;
    struct nl_map map;
    struct nl_trace *trace = made(1, 30);
    unsigned char *bytes = NULL;
    nl_err_clear(&err);
    if (trace && nl_trace_save(trace, path, &err) && nl_map_open(&map, path, &err)) {
        bytes = nl_alloc(map.size);
        memcpy(bytes, map.bytes, map.size);
        *len = map.size;
        nl_map_close(&map);
    }
    if (trace)
        nl_trace_free(trace);
    return bytes;
}

static volatile uint64_t sink;

/* Every byte changed, one at a time: refused, or opened with every reference in range. With
 * verification on, a change in a chunk, the header or the contents is always found. */
static void every_byte_damaged(void)
{
    size_t len;
    unsigned char *bytes = saved_bytes(&len);
    REQUIRE(bytes != NULL);
    static const unsigned char masks[] = {0xff, 0x01, 0x80};
    uint64_t accepted = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char mask = masks[i % CHECK_LENGTH(masks)];
        struct nl_err err;
        nl_err_clear(&err);
        int fd = open(path, O_WRONLY);
        unsigned char changed = bytes[i] ^ mask;
        CHECK(fd >= 0 && pwrite(fd, &changed, 1, (off_t)i) == 1);
        struct nl_trace *trace = nl_trace_open(path, false, 1, &err);
        if (trace) {
            accepted++;
            sink += walk(trace);
            nl_trace_free(trace);
        } else {
            CHECK_INT(err.code, NL_FORMAT);
        }
        CHECK(pwrite(fd, &bytes[i], 1, (off_t)i) == 1);
        close(fd);
    }
    CHECK(accepted < len);
    nl_free(bytes);
    clean();
}

static void verification_finds_changes(void)
{
    size_t len;
    unsigned char *bytes = saved_bytes(&len);
    REQUIRE(bytes != NULL);
    size_t missed = 0;
    for (size_t i = 0; i < len; i += 7) {
        struct nl_err err;
        nl_err_clear(&err);
        bytes[i] ^= 0x10;
        write_file(bytes, len);
        bytes[i] ^= 0x10;
        struct nl_trace *trace = nl_trace_open(path, true, 1, &err);
        missed += trace != NULL;
        if (trace)
            nl_trace_free(trace);
    }
    /* Only padding between chunks (below 64 bytes each) may change unseen. */
    CHECK(missed < len / 7 / 2);
    nl_free(bytes);
    clean();
}

static void every_prefix_is_refused(void)
{
    size_t len;
    unsigned char *bytes = saved_bytes(&len);
    REQUIRE(bytes != NULL);
    for (size_t cut = 0; cut < len; cut += cut < 256 ? 1 : 61) {
        struct nl_err err;
        nl_err_clear(&err);
        write_file(bytes, cut);
        struct nl_trace *trace = nl_trace_open(path, false, 1, &err);
        CHECK(trace == NULL);
        CHECK_INT(err.code, NL_FORMAT);
        if (trace)
            nl_trace_free(trace);
    }
    nl_free(bytes);
    clean();
}

static void recognises_itself(void)
{
    CHECK(nl_trace_recognise("NLTRACE\n...", 11));
    CHECK(!nl_trace_recognise("NLTRACE", 7));
    CHECK(!nl_trace_recognise("SQLite format 3", 15));
}

static void saving_fails_cleanly(void)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = made(1, 10);
    REQUIRE(trace != NULL);
    CHECK(!nl_trace_save(trace, "/nowhere/at/all.nlt", &err));
    CHECK_INT(err.code, NL_WRITE);
    nl_trace_free(trace);
    clean();
}

/* ---- what walks rely on ---- */

/* A nested slice that has a neighbour of its depth before and behind it, on
 * a lane of three depths. */
static uint32_t nested(const struct nl_trace *t)
{
    for (uint32_t l = 0; l < t->lane.rows; l++)
        for (uint32_t i = 1; i + 1 < t->lane.count[l]; i++) {
            uint32_t row = t->lane.first[l] + i;
            if (t->slice.depth[row] == 1 && t->slice.depth[row - 1] == 1 &&
                t->slice.depth[row + 1] == 1 && t->slice.parent[row - 1] != t->slice.parent[row] &&
                t->slice.parent[row + 1] != t->slice.parent[row])
                return row;
        }
    return NL_NULL_ROW;
}

enum lie {
    TRUTH,
    DEPTH_TOO_DEEP,
    DEPTH_TOO_FLAT,
    PARENT_UNKNOWN,
    PARENT_OF_ROOT,
    PARENT_IS_SIBLING,
    PARENTS_OUT_OF_ORDER,
    PARENT_ON_OTHER_LANE,
    LANE_OF_ANOTHER,
    STARTS_OUT_OF_ORDER,
    STARTS_BEFORE_PARENT,
    ENDS_AFTER_PARENT,
    OVERLAPS_SIBLING,
    LANE_SHALLOWER,
    LANE_DEEPER,
    LANES_OVERLAP,
    LANES_LEAVE_OUT,
    LIES
};

static void tell(struct nl_trace *t, enum lie lie)
{
    uint32_t row = nested(t), parent = t->slice.parent[row], lane = t->slice.lane[row];
    uint32_t first = t->lane.first[lane];
    switch (lie) {
    case DEPTH_TOO_DEEP: t->slice.depth[row] = 3000; break;
    case DEPTH_TOO_FLAT: t->slice.depth[row] = 0; break;
    case PARENT_UNKNOWN: t->slice.parent[row] = NL_NULL_ROW; break;
    case PARENT_OF_ROOT: t->slice.parent[first + 1] = first; break;
    case PARENT_IS_SIBLING: t->slice.parent[row] = row - 1; break;
    case PARENTS_OUT_OF_ORDER: t->slice.parent[row + 1] = t->slice.parent[row - 1]; break;
    case PARENT_ON_OTHER_LANE: t->slice.parent[row] = lane ? 0 : parent + 1; break;
    case LANE_OF_ANOTHER: t->slice.lane[row] = lane ? 0 : 1; break;
    case STARTS_OUT_OF_ORDER: t->slice.ts[row] = t->slice.ts[row - 1] - 1; break;
    case STARTS_BEFORE_PARENT: t->slice.ts[row] = t->slice.ts[parent] - 1; break;
    case ENDS_AFTER_PARENT:
        t->slice.dur[row] = t->slice.ts[parent] + t->slice.dur[parent] + 1 - t->slice.ts[row];
        break;
    case OVERLAPS_SIBLING:
        t->slice.dur[row - 1] = t->slice.ts[row] + 1 - t->slice.ts[row - 1];
        break;
    case LANE_SHALLOWER: t->lane.depth[lane]--; break;
    case LANE_DEEPER: t->lane.depth[lane]++; break;
    case LANES_OVERLAP: t->lane.count[0]++; break;
    case LANES_LEAVE_OUT: t->lane.count[t->lane.rows - 1]--; break;
    default: break;
    }
}

/* Opened unchecked, damage in a large table waits for nl_trace_check; in a small one it is found at
 * once, and nothing that is accepted in two steps would be refused in one. */
static void checks_later(void)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = made(2, 3 * NL_TRACECHECK_SMALL);
    REQUIRE(trace != NULL && nested(trace) != NL_NULL_ROW);
    tell(trace, PARENT_UNKNOWN);
    CHECK(nl_trace_save(trace, path, &err));
    struct nl_trace *damaged = nl_trace_open_unchecked(path, &err);
    REQUIRE(damaged != NULL);
    CHECK(damaged->unchecked);
    CHECK_INT(damaged->slice.rows, trace->slice.rows);
    CHECK(!nl_trace_check(damaged, 2, &err) && damaged->unchecked);
    CHECK_INT(err.code, NL_FORMAT);
    nl_trace_free(damaged);
    nl_trace_free(trace);
    size_t len;
    unsigned char *bytes = saved_bytes(&len);
    REQUIRE(bytes != NULL);
    size_t at_once = 0, accepted = 0;
    for (size_t i = 0; i < len; i += 5) {
        bytes[i] ^= 0x21;
        write_file(bytes, len);
        bytes[i] ^= 0x21;
        nl_err_clear(&err);
        struct nl_trace *whole = nl_trace_open(path, false, 1, &err);
        struct nl_trace *later = nl_trace_open_unchecked(path, &err);
        at_once += !later;
        bool fine = later && nl_trace_check(later, 1, &err);
        CHECK_INT(fine, whole != NULL);
        CHECK(!fine || !later->unchecked);
        accepted += fine;
        if (fine)
            sink += walk(later);
        if (later)
            nl_trace_free(later);
        if (whole)
            nl_trace_free(whole);
    }
    CHECK(at_once > 0 && accepted > 0);
    nl_free(bytes);
    clean();
}

/* Walks over lanes follow depths and parents without asking: what they rely on is checked. */
static void nesting_is_checked(void)
{
    for (enum lie lie = TRUTH; lie < LIES; lie++) {
        char what[NL_TRACECHECK_TEXT] = "";
        struct nl_trace *trace = made(2, 3000);
        REQUIRE(trace != NULL && nested(trace) != NL_NULL_ROW);
        tell(trace, lie);
        CHECK_INT(nl_tracecheck(trace, 2, what), lie == TRUTH);
        if ((lie == TRUTH) != !what[0])
            printf("    lie %d: %s\n", lie, what);
        nl_trace_free(trace);
    }
    clean();
}

#define PIECE ((uint32_t)1 << 18) /* slices that are checked at once */

/* Kernels of a stream, on its lane alone or also on a sub-lane for those that overlap, in more
 * pieces than one: two of a lane that overlap are found where a piece begins, too. */
static void pieces_are_joined(void)
{
    for (uint32_t lanes = 1; lanes <= 2; lanes++) {
        struct gputrace make;
        char what[NL_TRACECHECK_TEXT] = "";
        gputrace_open(&make);
        for (int64_t i = 0; i < PIECE / lanes + 10; i++) {
            gputrace_kernel(&make, 7, "a", -1, 0, 20 * i, 10);
            if (lanes == 2)
                gputrace_kernel(&make, 7, "b", -1, 0, 20 * i + 5, 10);
        }
        struct nl_trace *t = gputrace_close(&make);
        REQUIRE(t && t->slice.rows > PIECE + 1);
        CHECK(nl_tracecheck(t, 1, what));
        CHECK_INT(t->lane.sub[t->slice.lane[PIECE]], lanes - 1);
        for (uint32_t row = PIECE - 1; row <= PIECE + 1; row++) {
            int64_t dur = t->slice.dur[row - 1];
            CHECK_INT(t->slice.lane[row - 1], t->slice.lane[row]);
            t->slice.dur[row - 1] = t->slice.ts[row] + 1 - t->slice.ts[row - 1];
            CHECK(!nl_tracecheck(t, 1, what));
            t->slice.dur[row - 1] = dur;
        }
        nl_trace_free(t);
    }
}

CHECK_MAIN("tracefile", {"round trip", round_trip}, {"every byte damaged", every_byte_damaged},
           {"verification finds changes", verification_finds_changes},
           {"checks later", checks_later}, {"every prefix is refused", every_prefix_is_refused},
           {"recognises itself", recognises_itself}, {"nesting is checked", nesting_is_checked},
           {"pieces are joined", pieces_are_joined}, {"saving fails cleanly", saving_fails_cleanly})
