/*
 * judging — what one judge of the room answer says of a made-up profile: class, sentence, culprit
 * and notes as one text, a line each. For judges that ask for the trace alone, or for tables, which
 * are written by hand, too.
 *
 *     judge_check(nl_judge_hang, trace, "hang: Hang: rank 2 …");     takes the trace
 *
 *     struct nl_result *table = judge_table("overlap", "rank device comm_ns\n"
 *                                                      "0 0 100\n"
 *                                                      "1 - 90\n");
 *     judge_check_with(nl_judge_samples, trace, &table, 1, "cpu-only: …");     takes both
 */
#ifndef JUDGING_H
#define JUDGING_H

#include "answer/judge.h"
#include "check.h"
#include "gputrace.h"
#include "tables/memo.h"
#include "tables/result.h"

static inline void judge_put(struct nl_buf *out, const struct nl_verdict_words *verdict)
{
    nl_buf_format(out, "%s: %s\n", nl_verdict_class_name(verdict->class),
                  verdict->sentence ? verdict->sentence : "(nothing)");
    nl_buf_format(out, "culprit: %s\n", verdict->culprit ? verdict->culprit : "(none)");
    for (size_t i = 0; i < verdict->note_count; i++)
        nl_buf_format(out, "%s\n", verdict->notes[i]);
}

/* Where the text that is wanted ends with "…", what follows does not matter. */
static inline void judge_compare(struct nl_buf *out, const char *want)
{
    size_t length = strlen(want), dots = strlen("…");
    if (length >= dots && !strcmp(want + length - dots, "…")) {
        bool begins = strncmp(out->ptr, want, length - dots) == 0;
        CHECK_TEXT(begins ? want : out->ptr, want);
    } else {
        CHECK_TEXT(out->ptr, want);
    }
}

/* The cells of a line, with blanks between them; at most 16. */
static inline size_t judge_cells(const char *line, char cells[16][80])
{
    size_t count = 0;
    for (; *line && *line != '\n'; line += *line == ' ') {
        size_t length = strcspn(line, " \n");
        snprintf(cells[count++], 80, "%.*s", (int)length, line);
        line += length;
    }
    return count;
}

/* A first line of names of columns, then a line for each row. Whole numbers are those, numbers with
 * a point are broken ones, - is unknown, all else is text, in which + stands for a blank. */
static inline struct nl_result *judge_table(const char *name, const char *lines)
{
    char cells[16][80];
    struct nl_result_column columns[16];
    static char names[64][80]; /* columns borrow their names */
    static size_t used;
    size_t count = judge_cells(lines, cells);
    for (size_t i = 0; i < count; i++) {
        char *kept = strcpy(names[used++ % 64], cells[i]);
        columns[i] = (struct nl_result_column){kept, NULL, NL_MEANS_ANY};
    }
    struct nl_result *result = nl_result_new(name, NULL, columns, count);
    while (*(lines = strchr(lines, '\n') + 1)) {
        struct nl_cell *row = nl_result_row(result);
        for (size_t i = judge_cells(lines, cells); i-- > 0;) {
            bool number = !cells[i][strspn(cells[i], "0123456789.-")];
            for (char *at = cells[i]; *at; at++)
                *at = *at == '+' ? ' ' : *at;
            if (!strcmp(cells[i], "-"))
                continue;
            row[i] = !number                 ? nl_cell_text(result, nl_str(cells[i]))
                     : strchr(cells[i], '.') ? nl_cell_f64(strtod(cells[i], NULL))
                                             : nl_cell_i64(strtoll(cells[i], NULL, 10));
        }
    }
    return result;
}

/* What the judge says, at the end of `out`; nothing where it is no such profile. Takes both. */
static inline void judge_text(struct nl_buf *out, nl_judge *judge, struct nl_trace *trace,
                              struct nl_result **tables, size_t count)
{
    static const struct nl_window whole;
    struct nl_analyze_options options = {0};
    struct nl_report report = {.results = tables, .result_count = count};
    struct nl_verdict_words verdict = {0};
    struct nl_judged judged = {
        .report = &report, .trace = trace, .options = &options, .verdict = &verdict};
    options.memo = nl_memo_new(trace, &whole);
    nl_arena_init(&report.arena);
    nl_buf_init(&judged.out, 1);
    if (judge(&judged))
        judge_put(out, &verdict);
    nl_buf_char(out, '\0');
    nl_buf_release(&judged.out);
    nl_arena_free(&report.arena);
    nl_memo_free(options.memo);
    nl_trace_free(trace);
    for (size_t i = 0; i < count; i++)
        nl_result_free(tables[i]);
}

static inline void judge_check_with(nl_judge *judge, struct nl_trace *trace,
                                    struct nl_result **tables, size_t count, const char *want)
{
    struct nl_buf out;
    REQUIRE(trace);
    nl_buf_init(&out, 1 << 16);
    judge_text(&out, judge, trace, tables, count);
    judge_compare(&out, want);
    nl_buf_release(&out);
}

static inline void judge_check(nl_judge *judge, struct nl_trace *trace, const char *want)
{
    judge_check_with(judge, trace, NULL, 0, want);
}

#endif
