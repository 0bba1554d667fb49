/*
 * A CPU profile of V8 by itself, as Node.js (--cpu-prof), Chrome's DevTools and Deno write it
 * (.cpuprofile): one object with the call tree, the node of each sample, and the µs between them.
 * It is what a trace of Chrome holds in pieces, so it is read as one piece by the same code.
 */
#include "ingest/chrome/chrome_stacks.h"
#include "ingest/chrome/chrome_v8.h"
#include "ingest/lib/wholefile.h"

static int v8profile_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    size_t at = 0;
    while (at < head.len && (head.ptr[at] == ' ' || head.ptr[at] == '\n' || head.ptr[at] == '\r' ||
                             head.ptr[at] == '\t'))
        at++;
    if (at == head.len || head.ptr[at] != '{' || nl_str_contains(head, "\"traceEvents\""))
        return 0;
    bool frames = nl_str_contains(head, "\"callFrame\"");
    if (frames && nl_str_contains(head, "\"nodes\""))
        return 85;
    if (frames && nl_str_contains(head, "\"selfSize\""))
        *why = "a heap profile of V8; give a CPU profile (node --cpu-prof)";
    else if (nl_str_contains(head, "\"functionName\"") && nl_str_contains(head, "\"callUID\""))
        *why = "of before 2016; record it again with a newer Chrome or Node.js";
    else
        return 0;
    return NL_NEAR_MISS;
}

/* The whole document is one piece of a profile that begins with it. */
static void read_profile(struct chrome_stacks *stacks, const void *bytes, size_t len)
{
    nl_grow(&stacks->chunks, &stacks->chunk_cap, 1);
    stacks->chunks[stacks->chunk_count++] = (struct chrome_chunk){
        .lane = cpuprofile_lane(&stacks->profile, NL_NULL_I64, NL_NULL_I64, nl_str("V8")),
        .start = true,
        .text = bytes,
        .len = len,
    };
    chrome_v8_finish(stacks);
    cpuprofile_cover(&stacks->profile, "unknown: frame of a stack", stacks->unresolved,
                     "the call tree has no node of that id; what it called is kept");
    cpuprofile_cover(&stacks->profile, "cut: call stack over 1024 frames, or in a circle",
                     stacks->deep, "the innermost are kept");
}

static bool v8profile_load(struct nl_reading *reading, struct nl_err *err)
{
    struct chrome_stacks stacks;
    chrome_stacks_init(&stacks);
    cpuprofile_begin(&stacks.profile, reading->builder, reading->source, reading->job);
    read_profile(&stacks, reading->file->bytes, reading->file->size);
    uint64_t samples = stacks.profile.samples;
    bool stopped = cpuprofile_stopped(&stacks.profile);
    bool done = cpuprofile_end(&stacks.profile, err);
    chrome_stacks_release(&stacks);
    if (done && !samples && !stopped)
        return nl_fail(err, NL_FORMAT,
                       "a CPU profile of V8 without a sample that has a time; record longer, or "
                       "fetch the file again");
    return done;
}

const struct nl_format nl_format_v8profile = {.name = "v8profile",
                                              .title = "V8 CPU profile (.cpuprofile)",
                                              .sniff = v8profile_sniff,
                                              .load = v8profile_load,
                                              .feed = NL_FEED_WHOLE,
                                              .doc = "formats/v8profile.md"};
