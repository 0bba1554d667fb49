/*
 * memo — what several analyses of one report need and should be computed once: idle time, self
 * times, whose work devices do, steps. A memo is for one trace and one window; it comes to an
 * analysis in nl_analyze_options, always (nl_analysis_run makes one where the caller has none).
 *
 * Everything is made when first asked for, lives as long as the memo and is only read. Thread-safe:
 * concurrent requests for one item wait until it is computed; different items are computed in
 * parallel.
 */
#ifndef NL_MEMO_H
#define NL_MEMO_H

#include "account/account.h"
#include "tables/steptime.h"
#include "timeline/apirole.h"
#include "timeline/idletime.h"
#include "timeline/owner.h"
#include "derive/clockcheck.h"
#include "work/llmsteps.h"

/* All ranges of one kind, and whose work is whose (timeline/owner.h). */
struct nl_memo_ranges {
    struct nl_rangetree tree;
    uint32_t *owner; /* per work of the owners: index in tree, NL_NULL_ROW none */
};

/* Both are borrowed. */
struct nl_memo *nl_memo_new(const struct nl_trace *trace, const struct nl_window *window);
void nl_memo_free(struct nl_memo *memo);

/* Under the memo's window. */
const struct nl_account *nl_memo_account(struct nl_memo *memo);
const struct nl_idle *nl_memo_idle(struct nl_memo *memo);
const struct nl_device_breakdown *nl_memo_breakdown(struct nl_memo *memo, size_t *count);
const struct nl_step_times *nl_memo_step_times(struct nl_memo *memo);

/* Of the whole trace, whatever the window. */
const struct nl_found_steps *nl_memo_steps(struct nl_memo *memo);
const struct nl_api_roles *nl_memo_roles(struct nl_memo *memo);
const int64_t *nl_memo_self_times(struct nl_memo *memo); /* per slice: timeline/attribution.h */
const struct nl_clock_checks *nl_memo_clocks(struct nl_memo *memo);
const struct nl_owners *nl_memo_owners(struct nl_memo *memo);
const uint8_t *nl_memo_no_work(struct nl_memo *memo); /* per name: timeline/nowork.h */
double nl_memo_thinned(struct nl_memo *memo);         /* timeline/thinned.h */
/* What operators had to do, under the memo's window, what devices can at
 * most, and both together. */
const struct nl_op_works *nl_memo_works(struct nl_memo *memo);
const struct nl_device_peaks *nl_memo_peaks(struct nl_memo *memo); /* per device of the trace */
const struct nl_work_places *nl_memo_places(struct nl_memo *memo); /* modules, else ranges */
const struct nl_roofs *nl_memo_roofs(struct nl_memo *memo);
const struct nl_llm_steps *nl_memo_llm_steps(struct nl_memo *memo);

/* Modules own the work of backward operators too (nl_owners_layer). */
const struct nl_memo_ranges *nl_memo_ranges(struct nl_memo *memo, enum nl_kind kind);

#endif
