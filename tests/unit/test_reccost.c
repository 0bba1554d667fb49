/* What recording cost (derive/reccost.h): each hook by its own key, however
 * much others look like it. */
#include "check.h"

#include "derive/derive.h"
#include "derive/reccost.h"
#include "store/builder.h"

static void hooks_by_their_keys(void)
{
    struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_reccost cost;
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "x", "x");
    nl_builder_meta(builder, source, "recorded events", nl_str("10"));
    nl_builder_meta(builder, source, "recorder.event_ns", nl_str("2"));
    struct nl_trace *trace = nl_builder_finish(builder, &err);
    REQUIRE(trace);
    REQUIRE(nl_reccost(trace, &cost));
    char key[128];
    builder = nl_builder_new(&job);
    source = nl_builder_source(builder, "x", "x");
    nl_builder_meta(builder, source, "recorded events", nl_str("10"));
    nl_builder_meta(builder, source, "recorder.event_ns", nl_str("2"));
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++) {
        char number[16];
        snprintf(number, sizeof number, "%zu", i + 3);
        snprintf(key, sizeof key, NL_RECCOST_HOOK "%s", cost.hooks[i].word);
        nl_builder_meta(builder, source, key, nl_str(number));
        key[strlen(NL_RECCOST_HOOK) - 2] = 'x'; /* as long, and another */
        nl_builder_meta(builder, source, key, nl_str("1000"));
        nl_builder_meta(builder, source, cost.hooks[i].word, nl_str("1000"));
        snprintf(key, sizeof key, NL_RECCOST_HOOK "%s.", cost.hooks[i].word);
        nl_builder_meta(builder, source, key, nl_str("1000"));
    }
    nl_trace_free(trace);
    trace = nl_builder_finish(builder, &err);
    REQUIRE(trace);
    REQUIRE(nl_reccost(trace, &cost));
    CHECK(cost.events == 10 && cost.event_ns == 2);
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++)
        CHECK_INT((int64_t)cost.hooks[i].each_ns, i + 3);
    nl_trace_free(trace);
}

CHECK_MAIN("reccost", {"hooks by their keys", hooks_by_their_keys})
