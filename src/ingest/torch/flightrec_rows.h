/*
 * flightrec_rows — entries of NCCL flight recorder dumps as rows.
 *
 *     flightrec_rows_init(&rows, pickle, builder, stage, process);
 *     rows.groups = pickle_get(pickle, pickle->root, "pg_config");
 *     while (… && flightrec_rows_take(&rows, pairs, count)) ...
 *     flightrec_rows_release(&rows);
 *
 * A job enqueues the same few kinds of collectives on the same few groups, and pickles hold equal
 * texts once: what a name, a type or a group comes to is kept by the value (its number in the
 * pickle) in small tables of the ones met last. Args are patterns with numbers filled in
 * (store/filled.h), and patterns are few.
 */
#ifndef NL_FLIGHTREC_ROWS_H
#define NL_FLIGHTREC_ROWS_H

#include "ingest/ingest.h"
#include "ingest/torch/pickle.h"

#define FLIGHTREC_KNOWN   256 /* slots of each table */
#define FLIGHTREC_SETS    64  /* of patterns, and how many a set has */
#define FLIGHTREC_WAYS    4
#define FLIGHTREC_TEXT    4096 /* bytes of an entry's args; longer ones are not kept */
#define FLIGHTREC_SHAPES  64   /* shapes, and extents of each, that args have */
#define FLIGHTREC_EXTENTS 16

/* Fields of an entry; the first ones go into its args, in this order. */
enum flightrec_field {
    FR_RECORD_ID,
    FR_PG_ID,
    FR_STATE,
    FR_COLLECTIVE_SEQ_ID,
    FR_SEQ_ID,
    FR_P2P_SEQ_ID,
    FR_OP_ID,
    FR_IS_P2P,
    FR_RETIRED,
    FR_TIMEOUT_MS,
    FR_DURATION_MS,
    FR_THREAD_NAME,
    FR_THREAD_ID,
    FR_KEPT, /* number of those */
    FR_PROCESS_GROUP = FR_KEPT,
    FR_PROFILING_NAME,
    FR_TIME_CREATED,
    FR_TIME_COMPLETED,
    FR_INPUT_SIZES,
    FR_INPUT_DTYPES,
    FR_OUTPUT_SIZES,
    FR_OUTPUT_DTYPES,
    FR_FIELDS
};

struct flightrec_name {
    uint64_t bits; /* of the value; all ones = none */
    uint32_t name, operation;
    int64_t peer;
};

struct flightrec_dtype {
    uint64_t bits;
    uint32_t name;
    unsigned bytes; /* of an element, 0 = unknown */
};

struct flightrec_group {
    uint64_t name_bits, description_bits;
    struct pickle_value description; /* a text, or NONE */
    uint32_t name, ranks_name, ranks, lane;
};

/* What args look like but for their numbers: a word per field, then one per shape of the input. */
#define FLIGHTREC_WORDS (FR_KEPT + 1 + FLIGHTREC_SHAPES)
struct flightrec_pattern {
    uint64_t words[FLIGHTREC_WORDS];
    unsigned word_count; /* 0 = none */
    uint32_t name;
    size_t len; /* of the text; over FLIGHTREC_TEXT: not kept */
};

struct flightrec_rows {
    struct pickle_value groups; /* pg_config, set before the first entry is taken */
    int64_t pending, untimed, odd;
    /* private */
    struct pickle *pickle;
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t process;
    struct pickle_layout layout;
    struct pickle_value fields[FR_FIELDS + 1];
    struct flightrec_name names[FLIGHTREC_KNOWN];
    struct flightrec_dtype dtypes[FLIGHTREC_KNOWN];
    struct flightrec_group known_groups[FLIGHTREC_KNOWN];
    uint64_t state_bits; /* of the state met last, and what it is */
    bool completed;
    struct flightrec_pattern patterns[FLIGHTREC_SETS][FLIGHTREC_WAYS];
    unsigned patterns_made;
    /* of the entry at hand, the group's description after FR_KEPT */
    uint64_t words[FLIGHTREC_WORDS];
    unsigned word_count, numbers;
    unsigned char packed[FLIGHTREC_WORDS * FLIGHTREC_EXTENTS * 10];
    size_t packed_len;
    struct nl_buf scratch;
    char text[FLIGHTREC_TEXT];
    size_t text_len; /* over FLIGHTREC_TEXT: too long */
};

void flightrec_rows_init(struct flightrec_rows *rows, struct pickle *pickle,
                         struct nl_builder *builder, struct nl_stage *stage, uint32_t process);
void flightrec_rows_release(struct flightrec_rows *rows);

/* Takes an entry, by its keys and values; none are an odd one. False when the walk has cost more
 * than the file is worth (pickle_spend). */
bool flightrec_rows_take(struct flightrec_rows *rows, const struct pickle_value *pairs,
                         size_t count);

#endif
