/* The rank of a dump of NCCL's flight recorder is nowhere but in its file's name: the number at its
 * end, before what follows a dot. */
#include "corpus.h"

static void ranks_of_names(void)
{
    static const struct {
        const char *name;
        int64_t rank;
    } cases[] = {{"flight_2", 2},
                 {"flight_2.json", 2},
                 {"dump-17", 17},
                 {"nccl_trace-3.a.b", 3},
                 {"a_12.x.json", 12},
                 {"_4", 4},
                 {"a_0", 0},
                 {"a-b_00031", 31},
                 {"run5", NL_NULL_I64},
                 {"5", NL_NULL_I64},
                 {"a_5x", NL_NULL_I64},
                 {"a_", NL_NULL_I64},
                 {"a-.json", NL_NULL_I64},
                 {"x_9.5.json", NL_NULL_I64},
                 {"a 7", NL_NULL_I64},
                 {"a1-b2", NL_NULL_I64},
                 {"a2-", NL_NULL_I64},
                 {"dump", NL_NULL_I64}};
    char folder[] = "/tmp/nl-flight-XXXXXX", from[512], to[600];
    REQUIRE(mkdtemp(folder));
    snprintf(from, sizeof from, "%s/corpus/pickle/flight_json_2.json", check_folder);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].name);
        snprintf(to, sizeof to, "%s/%s", folder, cases[i].name);
        CHECK_INT(symlink(from, to), 0);
        struct nl_trace *trace = corpus_ingest_path(to);
        CHECK(trace);
        if (trace) {
            CHECK(trace->process.rows > 0);
            for (uint32_t p = 0; p < trace->process.rows; p++)
                CHECK_INT(trace->process.rank[p], cases[i].rank);
        }
        nl_trace_free(trace);
        unlink(to);
    }
    rmdir(folder);
}

CHECK_MAIN("flightnames", {"ranks of names", ranks_of_names})
