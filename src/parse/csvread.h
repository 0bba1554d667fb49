/*
 * csvread — rows of comma- or tab-separated text from a stream, as profilers write them.
 *
 *     struct csvread csv;
 *     csvread_init(&csv, stream, job, &(struct csvread_options){.comment = '#'});
 *     if (csvread_header(&csv, err) != CSVREAD_ROW) ...
 *     int start = csvread_column(&csv, "Start_Timestamp|BeginNs");
 *     while ((got = csvread_next(&csv, err)) == CSVREAD_ROW)
 *         ... csvread_cell(&csv, start) ...
 *     csvread_release(&csv);
 *
 * RFC 4180 quotes (a quoted cell may hold delimiters, line ends and doubled quotes), LF or CRLF, a
 * UTF-8 mark at the start, rows of any number of cells. Empty lines, and lines that begin with the
 * comment character, are left out. A quote that is never closed is taken as a plain character, so
 * that a damaged row costs itself and not the rest of the file; it is counted.
 *
 * Memory is one window (1 MiB, more only for a longer row, 16 MiB at most); the text of cells is in
 * it until the next row is asked for. Over 500 MB/s per core on plain numbers.
 */
#ifndef CSVREAD_H
#define CSVREAD_H

#include "base/err.h"
#include "base/stream.h"
#include "base/str.h"

#define CSVREAD_MAX_CELLS 65536

struct csvread_options {
    char delimiter;     /* 0: the one of , ; tab | that the first row has most of */
    char comment;       /* lines that begin with it are left out; 0 = none */
    bool trim;          /* spaces and tabs around cells go */
    bool ignore_quotes; /* quotes are characters like others */
};

struct csvread {
    /* the row; cells beyond `count` do not exist */
    struct nl_str *cells;
    size_t count;
    struct nl_str row; /* all of it as it stands (doubled quotes already undone within cells) */
    uint64_t line;     /* of the row's beginning, from 1 */
    uint64_t offset;   /* byte of the row's beginning in the decompressed text */
    /* the header, copied */
    struct nl_str *names;
    size_t name_count;
    /* what was met so far */
    uint64_t rows, comments, blank_lines, loose_quotes, long_rows;
    /* private */
    struct nl_stream *stream;
    struct nl_job *job;
    struct csvread_options options;
    char *window, *name_text;
    size_t cap, at, len, cell_cap, escaped_cap, escaped_count;
    size_t *escaped; /* cells that hold doubled quotes */
    uint64_t window_offset, next_line;
    bool ended, started;
};

enum csvread_status { CSVREAD_ERROR, CSVREAD_END, CSVREAD_ROW };

/* Borrows stream and job (may be NULL). NULL options are all zero. */
void csvread_init(struct csvread *csv, struct nl_stream *stream, struct nl_job *job,
                  const struct csvread_options *options);
void csvread_release(struct csvread *csv);

/* Next row. CSVREAD_ERROR: the stream failed, the job was cancelled (NL_INTERRUPTED), or the text
 * is UTF-16 (NL_FORMAT); err says it. */
enum csvread_status csvread_next(struct csvread *csv, struct nl_err *err);

/* Next row, kept as the header; or the row just read as the header. */
enum csvread_status csvread_header(struct csvread *csv, struct nl_err *err);
void csvread_take_header(struct csvread *csv);

/* Column of the header by any of the names "a|b|c", the earlier name first; -1 when there is none.
 * Case and spaces around do not matter. A name also matches without the unit in brackets that the
 * file puts after it: "Duration" finds "Duration (ns)" and "power.draw" finds "power.draw [W]". */
int csvread_column(const struct csvread *csv, const char *names);

/* The text in brackets at the end of a column's name, "ns" for "Duration (ns)"; empty if none. */
struct nl_str csvread_unit(const struct csvread *csv, int column);

/* Cell of the row; empty text (len 0) when column is -1 or the row is shorter. */
static inline struct nl_str csvread_cell(const struct csvread *csv, int column)
{
    if (column < 0 || (size_t)column >= csv->count)
        return (struct nl_str){"", 0};
    return csv->cells[column];
}

/* Text without spaces, tabs and CRs around. */
struct nl_str csvread_trimmed(struct nl_str text);

/* Numbers; false, and *value as it was, when the cell (trimmed) is none. u64 also takes 0x… text;
 * csvread_scaled gives the decimal text × 10^power, exact, rounded half away from zero:
 * power 9 makes "1.25" seconds 1250000000 ns. */
bool csvread_i64(struct nl_str cell, int64_t *value);
bool csvread_u64(struct nl_str cell, uint64_t *value);
bool csvread_f64(struct nl_str cell, double *value);
bool csvread_scaled(struct nl_str cell, int power, int64_t *value);

/* The power of ten that makes ns of a unit of time (s, ms, us, µs, ns, msec,
 * …); false if it is none. */
bool csvread_time_unit(struct nl_str unit, int *power);

#endif
