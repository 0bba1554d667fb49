/*
 * chrometext — Chrome JSON that stands in a unit test, loaded; rows and coverage of the result. For
 * one .c file each: all is static.
 */
#ifndef CHROMETEXT_H
#define CHROMETEXT_H

#include "check.h"

#include "loadtext.h"
#include "ingest/formats.h"

static struct nl_err err;

static struct nl_trace *load_bytes(const char *text, size_t len, unsigned threads)
{
    return loadtext(&nl_format_kineto, text, len, threads, &err);
}

static struct nl_trace *load(const char *text)
{
    return load_bytes(text, strlen(text), 1);
}

/* Row of the slice of this name, NL_NULL_ROW when there is none. */
static uint32_t find(const struct nl_trace *t, const char *name)
{
    uint32_t id = nl_dict_find(&t->names, nl_str(name));
    for (uint32_t i = 0; i < t->slice.rows; i++)
        if (t->slice.name[i] == id)
            return i;
    return NL_NULL_ROW;
}

/* Count that coverage has for an item, 0 when it is not there. */
static int64_t covered(const struct nl_trace *t, const char *item)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < t->coverage.rows; i++)
        if (nl_str_is(nl_trace_name(t, t->coverage.item[i]), item))
            sum += t->coverage.count[i];
    return sum;
}

#endif
