/*
 * cpuprofile — what the readers of CPU profiles share: one unit of rows, the tree of call stacks
 * while it grows, samples, and what coverage says of a profile without a timeline.
 *
 *     struct cpuprofile profile;
 *     cpuprofile_begin(&profile, builder, source, job);
 *     node = NL_NULL_ROW;
 *     per frame, outermost first:  node = cpuprofile_frame(&profile, node, &frame);
 *     cpuprofile_sample(&profile, &sample);                // nl_sample_row with what is known
 *     if (cpuprofile_stopped(&profile)) ...                // now and then
 *     return cpuprofile_end(&profile, err);
 *
 * All rows of a file are one unit, since stacks are shared by its samples.
 */
#ifndef CPUPROFILE_H
#define CPUPROFILE_H

#include "ingest/ingest.h"
#include "ingest/lib/stacktree.h"

struct cpuprofile {
    struct nl_builder *builder;
    uint32_t source;
    struct nl_job *job;
    struct nl_stage *stage;
    struct stack_tree tree; /* its nodes are the rows staged */
    uint64_t samples, ticks;
    bool stopped;
};

void cpuprofile_begin(struct cpuprofile *profile, struct nl_builder *builder, uint32_t source,
                      struct nl_job *job);

/* The same within a unit of rows that the reader has begun. */
void cpuprofile_share(struct cpuprofile *profile, struct nl_builder *builder, uint32_t source,
                      struct nl_job *job, struct nl_stage *stage);
/* Frees what a shared one holds; rows stay. */
void cpuprofile_release(struct cpuprofile *profile);

/* Frees; false with NL_INTERRUPTED when the load was cancelled. */
NL_MUST_CHECK bool cpuprofile_end(struct cpuprofile *profile, struct nl_err *err);

/* Cancelled or over the budget; cheap enough for every line. */
bool cpuprofile_stopped(struct cpuprofile *profile);

uint32_t cpuprofile_name(struct cpuprofile *profile, struct nl_str text);

/* Node of a frame below its caller, made when it is new. frame->parent is ignored. */
uint32_t cpuprofile_frame(struct cpuprofile *profile, uint32_t parent,
                          const struct nl_stack_row *frame);

/* Fetches what cpuprofile_frame will look at: for who knows frames some time before. */
void cpuprofile_expect(const struct cpuprofile *profile, const struct nl_stack_row *frame);

/* The same in two steps, for a frame that is met often: its number, and the node. */
uint32_t cpuprofile_intern(struct cpuprofile *profile, const struct nl_stack_row *frame);
uint32_t cpuprofile_child(struct cpuprofile *profile, uint32_t parent, uint32_t frame);

/* Node of a whole stack of interned frames, outermost first; NL_NULL_ROW of none. */
uint32_t cpuprofile_stack(struct cpuprofile *profile, const uint32_t *frames, size_t count);

void cpuprofile_sample(struct cpuprofile *profile, const struct nl_sample_row *sample);

/* Lane of a thread. Either id may be NL_NULL_I64; name may be empty. */
uint32_t cpuprofile_lane(struct cpuprofile *profile, int64_t pid, int64_t tid, struct nl_str name);

/* Counts in coverage, when there is something to count. */
void cpuprofile_cover(struct cpuprofile *profile, const char *item, uint64_t count,
                      const char *detail);

/* Coverage of a profile that knows how much, but not when. */
void cpuprofile_no_timeline(struct cpuprofile *profile);

/* "name (file.py:12)" taken apart into name, file and line; other text is the name. */
void cpuprofile_frame_text(struct cpuprofile *profile, struct nl_stack_row *frame,
                           struct nl_str text);

#endif
