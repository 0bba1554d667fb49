/*
 * distinct — texts of a column, cut to a width so that different texts stay different: names of
 * kernels often differ in the middle only ("…tilesize32x32x8…", "…tilesize64x256x8…"), which is
 * what nl_celltext_elide leaves out.
 */
#ifndef NL_DISTINCT_H
#define NL_DISTINCT_H

#include "base/mem.h"
#include "base/str.h"

/* Texts wider than `width` that would look alike, although they are not, are replaced by cuts at
 * most that wide which show where they differ; made in the arena. Others are left as they are:
 * eliding them is the caller's. Equal texts get equal cuts. If no cut distinguishes two, the second
 * gets a number: "…~2". Widths below 12 columns are left alone. */
void nl_distinct(struct nl_str *texts, size_t count, size_t width, struct nl_arena *arena);

#endif
