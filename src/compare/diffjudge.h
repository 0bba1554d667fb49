/*
 * diffjudge — the verdict of a diff, and how sure it is.
 */
#ifndef NL_COMPARE_DIFFJUDGE_H
#define NL_COMPARE_DIFFJUDGE_H

#include "compare/diffsure.h"

/* An empty table of facts. */
struct nl_result *diff_facts_table(void);

/* `noise`: how captures differ, by history. */
void diff_judge(struct diff_sureness *sureness, const struct diff_judged *base,
                const struct diff_judged *changed, const struct nl_noise *noise);
const char *diff_verdict_text(enum diff_verdict verdict);

#endif
