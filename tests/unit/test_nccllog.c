/* Logs of NCCL and tables of nccl-tests: what the corpus files hold, worked out by hand. */
#include "corpus.h"

static const struct {
    const char *file;
    uint32_t collectives;
    int64_t calls, measured, mended, mixed;
} files[] = {
    {"info.log", 2, 2, 0, 0, 0},
    {"table.log", 3, 0, 3, 0, 0},
    {"table_between_lines.log", 7, 2, 5, 1, 2},
};

static void counts_of_files(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        check_case(files[i].file);
        struct nl_trace *trace = corpus_ingest("nccllog", files[i].file);
        REQUIRE(trace);
        CHECK_INT(trace->collective.rows, files[i].collectives);
        CHECK_INT(corpus_coverage(trace, "not recorded: times of NCCL calls"), files[i].calls);
        CHECK_INT(corpus_coverage(trace, "not recorded: when the tests ran"), files[i].measured);
        CHECK_INT(corpus_coverage(trace, "repaired: rows of nccl-tests split by other output"),
                  files[i].mended);
        CHECK_INT(corpus_coverage(trace, "skipped: rows of nccl-tests mixed with other output"),
                  files[i].mixed);
        nl_trace_free(trace);
    }
}

/* A row that NCCL's lines cut in three has the numbers of its pieces, a whole one its own, and the
 * last is cut by the end of the file: one side is known. */
static void pieces_are_put_together(void)
{
    static const struct {
        int64_t dur;
        uint64_t bytes;
    } measured[] = {{12340, 8}, {11500, 8}, {13250, 16}, {14750, 16}, {18000, 128}};
    struct nl_trace *trace = corpus_ingest("nccllog", "table_between_lines.log");
    size_t found = 0;
    REQUIRE(trace);
    for (uint32_t row = 0; row < trace->collective.rows; row++) {
        int64_t dur = trace->slice.dur[trace->collective.slice[row]];
        if (dur == 0)
            continue; /* a call, of which only the order is known */
        REQUIRE(found < CHECK_LENGTH(measured));
        CHECK_INT(dur, measured[found].dur);
        CHECK_INT((int64_t)trace->collective.bytes[row], (int64_t)measured[found].bytes);
        found++;
    }
    CHECK_INT((int64_t)found, CHECK_LENGTH(measured));
    nl_trace_free(trace);
}

CHECK_MAIN("nccllog", {"counts of files", counts_of_files},
           {"pieces are put together", pieces_are_put_together})
