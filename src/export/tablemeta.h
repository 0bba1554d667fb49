/*
 * tablemeta — what a file of a table says about itself, for formats whose files have pairs of key
 * and text: which table, the time of the first event on its own clock, units and meanings of
 * columns, and what was not recorded.
 *
 *     struct nl_table_pair pairs[NL_TABLE_PAIRS];
 *     nl_table_meta_make(&meta, view);
 *     for (i = 0; i < NL_TABLE_PAIRS; i++) ... meta.pairs[i].key, meta.pairs[i].value ...
 *     nl_table_meta_release(&meta);
 */
#ifndef NL_TABLEMETA_H
#define NL_TABLEMETA_H

#include "export/tableview.h"

#define NL_TABLE_PAIRS 5

struct nl_table_meta {
    struct {
        const char *key;
        struct nl_str value;
    } pairs[NL_TABLE_PAIRS];
    char first[32];
    struct nl_buf columns, coverage;
};

void nl_table_meta_make(struct nl_table_meta *meta, const struct nl_table_view *view);
void nl_table_meta_release(struct nl_table_meta *meta);

#endif
