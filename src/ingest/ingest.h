/*
 * ingest — any profile in, one trace out.
 *
 * formats.def has a row per format: a sniff and a load function in a file of the format's folder.
 * Recognition is by content: each sniff sees the first 64 KiB (decompressed) and gives a score.
 * Nothing above this room knows formats.
 */
#ifndef NL_INGEST_H
#define NL_INGEST_H

#include "base/job.h"
#include "ingest/cache.h"
#include "ingest/inputs.h"
#include "ingest/reading.h"
#include "store/builder.h"

#define NL_SNIFF_BYTES 65536
#define NL_NEAR_MISS   20 /* a score */

/* One input as a format sees it. */
struct nl_input {
    const char *path;     /* to open; "-" is stdin */
    const char *where;    /* as in the folder or archive it is from: what `recording` looks at */
    const char *name;     /* file name without folders, for sources */
    const char *place;    /* what messages call it */
    const char *encoding; /* "plain", "gzip", "zstd" */
    const unsigned char *head;
    size_t head_len;
    uint64_t bytes;                /* size on disk, 0 = unknown */
    int64_t rank;                  /* from option or file name, NL_NULL_I64 unknown */
    struct symbols_files *symbols; /* of files that several inputs refer to (symbols.h); or NULL */
    void **recording; /* the reader's own, from file to file of one recording; NULL: alone */
};

struct nl_format {
    const char *name;  /* "nsys", "kineto" */
    const char *title; /* "Nsight Systems SQLite export" */
    /* 0 = surely not, 100 = surely; over 50 is taken. `why` gets a short reason for a nearest
     * miss ("a SQLite file without nsys tables"), or stays NULL. Of several misses the one with the
     * highest score is reported: NL_NEAR_MISS where words of the format itself were found. */
    int (*sniff)(const struct nl_input *input, const char **why);
    /* Stages everything into reading->builder under reading->source. Damage: load what is whole and
     * say so in coverage; fail only when nothing sensible can be had. Called by nl_reading_load. */
    bool (*load)(struct nl_reading *reading, struct nl_err *err);
    /* How load gets the input; what is opened for it is closed for it (reading.h). */
    enum nl_feed {
        NL_FEED_PATH = 0, /* it opens reading->input->path itself */
        NL_FEED_STREAM,   /* reading->stream: decompressed, from begin to end */
        NL_FEED_WHOLE /* reading->file: all bytes at once, for what refers backwards and forwards */
    } feed;
    const char *doc; /* page in docs/ */
    /* Reports of a kernel profiler, which runs every kernel alone: next to files of other formats
     * their metrics go to the kernels of those, and they are not part of the timeline. */
    bool measures;
    /* Files that could carry an attack: they are read in a separate process
     * (ingest/sandbox.h). NULL: none. */
    bool (*risky)(const struct nl_input *input);
    enum nl_reach {
        NL_REACH_INPUT = 0, /* reads its input alone */
        NL_REACH_COPIES,    /* may copy it to a private folder first */
        NL_REACH_FILES,     /* reads what its input names */
        NL_REACH_PROGRAMS   /* starts other programs: never read apart */
    } reach;
    /* For formats of which one recording is several files, a table each (else NULL): how much of
     * input->where all of them share, 0 = this one stands alone; and its place among them. The
     * files given of one recording are loaded one after the other, in ascending places, with the
     * same `recording`; after the last, `recording_end` gets what the reader put there. */
    size_t (*recording)(const struct nl_input *input, unsigned *place);
    void (*recording_end)(void *recording);
};

/* NULL-terminated. */
extern const struct nl_format *const nl_formats[];

struct nl_ingest_options {
    const char *cache_folder; /* NULL = no cache */
    uint64_t cache_bytes;     /* bound of that folder */
    int64_t rank;             /* NL_NULL_I64 = find out */
    bool verify;              /* check CRCs of .nlt input */
    bool unchecked;           /* a cached trace may come unchecked (tracefile.h) */
    /* Files whose metrics go to the kernels of the profile, whatever their format. */
    const char *const *join;
    size_t join_count;
    uint64_t *cached_as; /* gets the key under which the cache has it now or will soon, 0 = never */
    struct nl_cache_later *later; /* NULL: the cache gets the trace at once, whatever its size */
};

/* Loads one profile from files, folders and globs (each file a rank or host). Names that
 * cannot be opened fail the whole; files of unknown format inside a folder are skipped with
 * coverage. Fails with NL_USAGE when what is to be joined holds no metrics of kernels, or
 * there is nothing to join it to. */
struct nl_trace *nl_ingest(const char *const *paths, size_t count,
                           const struct nl_ingest_options *options, struct nl_job *job,
                           struct nl_err *err);

/* The same of names that were expanded already. */
struct nl_trace *nl_ingest_inputs(const struct nl_inputs *inputs,
                                  const struct nl_ingest_options *options, struct nl_job *job,
                                  struct nl_err *err);

#endif
