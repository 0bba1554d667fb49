/*
 * arrowcolumn — a column of a table as Arrow's buffers, batch by batch: which values are known (a
 * bit each), then numbers, or places in a dictionary, or ends of texts and the texts.
 *
 *     arrow_column_open(&column, view, &view->columns[c]);      // reads names once, for the dictionary
 *     arrow_column_fill(&column, first, rows);                  // buffers of a batch
 *     ... column.buffers[0 .. column.buffer_count), column.nulls ...
 *     arrow_column_close(&column);
 *
 * Columns may be filled by several threads, one each.
 */
#ifndef NL_ARROWCOLUMN_H
#define NL_ARROWCOLUMN_H

#include "export/bytes.h"
#include "export/tableview.h"

struct arrow_column {
    const struct nl_table_view *view;
    const struct nl_view_column *column;
    bool has_dictionary;
    struct arrow_column *dictionary; /* its texts, one buffer set */
    uint64_t entries;                /* of the dictionary */
    uint32_t *index;                 /* of names: id → entry + 1 */
    const char **words;              /* of words: the entries */
    size_t word_cap;
    struct bytes buffers[3];
    unsigned buffer_count;
    uint64_t nulls;
    struct nl_buf room;
};

static inline bool arrow_is_text(enum nl_form form)
{
    return form == NL_FORM_NAME || form == NL_FORM_WORD || form == NL_FORM_TEXT;
}

void arrow_column_open(struct arrow_column *column, const struct nl_table_view *view,
                       const struct nl_view_column *of);
void arrow_column_fill(struct arrow_column *column, uint32_t first, uint32_t rows);
void arrow_column_close(struct arrow_column *column);

#endif
