/*
 * ortinput — a model's inputs: read from its session, given shapes, filled with made-up values.
 *
 * An unknown size comes from --input, from --dim by its symbol (or from another input that
 * has the same symbol), and is 1 when it is the first dimension and nothing says otherwise,
 * which is the batch nearly always. Any other unknown size is an error: a latency of a
 * guessed length means nothing.
 *
 * Values: floats uniform in [0, 1) ([0.5, 1) in 16 bits), whole numbers 0..99, or 1 where the name
 * has "mask" in it, bools 0 or 1, strings "a"; always the same ones.
 */
#ifndef ORTINPUT_H
#define ORTINPUT_H

#include "backend/ortapi.h"
#include "backend/ortwords.h"

struct ort_input {
    const char *name; /* the library's */
    int type;
    size_t rank;
    int64_t size[ORT_MAX_RANK];        /* -1 until known */
    const char *symbol[ORT_MAX_RANK];  /* "" or NULL without */
    const struct ort_input_word *word; /* what was said about it, or NULL */
};

struct ort_inputs {
    struct ort_input *items;
    size_t count;
    const char **names; /* in order, as Run takes them */
    struct ort_value **values;
};

/* The signature of a session. NL_FORMAT for an input that is no tensor. */
NL_MUST_CHECK bool ort_inputs_read(struct ort_inputs *inputs, const struct ort_api *api,
                                   const struct ort_session *session, struct nl_arena *arena,
                                   struct nl_err *err);

/* "x: f32[batch, 3, 224, 224]; ids: i64[1, seq]". */
const char *ort_inputs_text(const struct ort_inputs *inputs, struct nl_arena *arena);

/* Makes every size known. NL_USAGE, listing the inputs, for words that do not fit or lack. */
NL_MUST_CHECK bool ort_inputs_shape(struct ort_inputs *inputs, const struct ort_words *words,
                                    struct nl_arena *arena, struct nl_err *err);

#endif
