/* Signature and shapes; ortvalue.c fills the tensors. */
#include "backend/ortinput.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

#define MAX_TEXT ((size_t)64 << 10)

/* ---- the signature ---- */

static bool read_shape(struct ort_input *input, const struct ort_api *api,
                       const struct ort_shape *shape, struct nl_arena *arena, struct nl_err *err)
{
    const char *symbols[ORT_MAX_RANK] = {0};
    if (!ort_ok(api, api->GetTensorElementType(shape, &input->type), input->name, err) ||
        !ort_ok(api, api->GetDimensionsCount(shape, &input->rank), input->name, err))
        return false;
    if (input->rank > ORT_MAX_RANK)
        return nl_fail(err, NL_LIMIT, "input '%.80s' has %zu dimensions; at most %d are made",
                       input->name, input->rank, ORT_MAX_RANK);
    if (!ort_ok(api, api->GetDimensions(shape, input->size, input->rank), input->name, err) ||
        !ort_ok(api, api->GetSymbolicDimensions(shape, symbols, input->rank), input->name, err))
        return false;
    for (size_t i = 0; i < input->rank; i++)
        if (symbols[i] && *symbols[i])
            input->symbol[i] = nl_arena_text(arena, symbols[i], strlen(symbols[i]));
    return true;
}

static bool read_type(struct ort_input *input, const struct ort_api *api,
                      const struct ort_type *type, struct nl_arena *arena, struct nl_err *err)
{
    enum { TENSOR = 1 };
    const struct ort_shape *shape = NULL;
    int kind = 0;
    if (!ort_ok(api, api->GetOnnxTypeFromTypeInfo(type, &kind), input->name, err) ||
        !ort_ok(api, api->CastTypeInfoToTensorInfo(type, &shape), input->name, err))
        return false;
    if (kind == TENSOR && shape) {
        if (!read_shape(input, api, shape, arena, err))
            return false;
        if (ort_type_name(input->type))
            return true;
    }
    return nl_fail(
        err, NL_FORMAT,
        "input '%.80s' is not a tensor of numbers or strings (ONNX type %d, element type "
        "%d); such inputs cannot be generated",
        input->name, kind, input->type);
}

static bool read_input(struct ort_input *input, size_t at, const struct ort_api *api,
                       const struct ort_session *session, struct nl_arena *arena,
                       struct nl_err *err)
{
    struct ort_type *type = NULL;
    char *name = NULL;
    if (!ort_ok(api, api->SessionGetInputName(session, at, api->allocator, &name), "an input",
                err) ||
        !ort_ok(api, api->SessionGetInputTypeInfo(session, at, &type), "an input", err))
        return false;
    if (!name || !type)
        return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime does not describe input %zu", at);
    input->name = name;
    bool good = read_type(input, api, type, arena, err);
    api->ReleaseTypeInfo(type);
    return good;
}

bool ort_inputs_read(struct ort_inputs *inputs, const struct ort_api *api,
                     const struct ort_session *session, struct nl_arena *arena, struct nl_err *err)
{
    *inputs = (struct ort_inputs){0};
    size_t count = 0;
    if (!ort_ok(api, api->SessionGetInputCount(session, &count), "the inputs", err))
        return false;
    if (count > 65536)
        return nl_fail(err, NL_LIMIT, "the model has %zu inputs", count);
    inputs->items = nl_arena_alloc(arena, (count + 1) * sizeof *inputs->items);
    inputs->names = nl_arena_alloc(arena, (count + 1) * sizeof *inputs->names);
    inputs->values = nl_arena_alloc(arena, (count + 1) * sizeof(struct ort_value *));
    for (size_t i = 0; i < count; i++, inputs->count++) {
        if (!read_input(&inputs->items[i], i, api, session, arena, err))
            return false;
        inputs->names[i] = inputs->items[i].name;
    }
    return true;
}

const char *ort_inputs_text(const struct ort_inputs *inputs, struct nl_arena *arena)
{
    struct nl_buf text;
    nl_buf_init(&text, MAX_TEXT);
    for (size_t i = 0; i < inputs->count; i++) {
        const struct ort_input *input = &inputs->items[i];
        nl_buf_format(&text, "%s%s: %s[", i ? "; " : "", input->name, ort_type_name(input->type));
        for (size_t k = 0; k < input->rank; k++) {
            nl_buf_text(&text, k ? ", " : "");
            if (input->size[k] >= 0)
                nl_buf_format(&text, "%" PRId64, input->size[k]);
            else
                nl_buf_text(&text, input->symbol[k] ? input->symbol[k] : "?");
        }
        nl_buf_char(&text, ']');
    }
    const char *copy = nl_arena_text(arena, text.ptr ? text.ptr : "", text.len);
    nl_buf_release(&text);
    return copy;
}

/* ---- shapes ---- */

struct shaping {
    struct ort_inputs *inputs;
    const struct ort_words *words;
    const char *listing; /* of the inputs as the model has them */
    int64_t *said;       /* per --dim: 1 when a symbol took it */
    struct nl_err *err;
};

static bool refuse_input(const struct shaping *shaping, const struct ort_input_word *word,
                         const char *why)
{
    return nl_fail(shaping->err, NL_USAGE, "--input %.60s: %s; inputs: %.300s", word->name, why,
                   shaping->listing);
}

static bool apply_word(const struct shaping *shaping, struct ort_input *input)
{
    const struct ort_input_word *word = input->word;
    if (word->type && word->type != input->type)
        return refuse_input(shaping, word, "the model has another element type");
    if (word->rank != input->rank)
        return refuse_input(shaping, word, "the model has another number of dimensions");
    if (word->has_range && !ort_type_whole(input->type))
        return refuse_input(shaping, word, "a range is for whole numbers");
    for (size_t i = 0; i < input->rank; i++) {
        if (input->size[i] >= 0 && input->size[i] != word->size[i])
            return refuse_input(shaping, word, "the model has another fixed size");
        input->size[i] = word->size[i];
    }
    return true;
}

static bool apply_words(const struct shaping *shaping)
{
    for (size_t w = 0; w < shaping->words->input_count; w++) {
        const struct ort_input_word *word = &shaping->words->inputs[w];
        struct ort_input *input = NULL;
        for (size_t i = 0; i < shaping->inputs->count; i++)
            if (strcmp(shaping->inputs->items[i].name, word->name) == 0)
                input = &shaping->inputs->items[i];
        if (!input)
            return refuse_input(shaping, word, "the model has no such input");
        input->word = word;
        if (!apply_word(shaping, input))
            return false;
    }
    return true;
}

static const struct ort_dim_word *find_dim(const struct shaping *shaping, const char *symbol)
{
    for (size_t i = 0; symbol && i < shaping->words->dim_count; i++)
        if (strcmp(shaping->words->dims[i].name, symbol) == 0) {
            shaping->said[i] = 1;
            return &shaping->words->dims[i];
        }
    return NULL;
}

/* The size that another input already has for the symbol, or -1. */
static int64_t size_elsewhere(const struct shaping *shaping, const char *symbol)
{
    for (size_t i = 0; symbol && i < shaping->inputs->count; i++) {
        const struct ort_input *input = &shaping->inputs->items[i];
        for (size_t k = 0; k < input->rank; k++)
            if (input->symbol[k] && strcmp(input->symbol[k], symbol) == 0 && input->size[k] >= 0)
                return input->size[k];
    }
    return -1;
}

static void apply_dims(const struct shaping *shaping)
{
    for (size_t i = 0; i < shaping->inputs->count; i++) {
        struct ort_input *input = &shaping->inputs->items[i];
        for (size_t k = 0; k < input->rank; k++) {
            const struct ort_dim_word *dim = find_dim(shaping, input->symbol[k]);
            if (dim && input->size[k] < 0)
                input->size[k] = dim->size;
        }
    }
}

static bool all_dims_meant(const struct shaping *shaping)
{
    for (size_t i = 0; i < shaping->words->dim_count; i++)
        if (!shaping->said[i])
            return nl_fail(shaping->err, NL_USAGE,
                           "--dim %.60s: no input has a dimension of that name; inputs: %.300s",
                           shaping->words->dims[i].name, shaping->listing);
    return true;
}

static bool complete(const struct shaping *shaping, struct ort_input *input)
{
    for (size_t k = 0; k < input->rank; k++) {
        if (input->size[k] < 0)
            input->size[k] = size_elsewhere(shaping, input->symbol[k]);
        if (input->size[k] < 0 && k == 0)
            input->size[k] = 1;
        if (input->size[k] >= 0)
            continue;
        if (input->symbol[k])
            return nl_fail(shaping->err, NL_USAGE,
                           "the model leaves '%.60s' open; give it with --dim %.60s=N; inputs: "
                           "%.240s",
                           input->symbol[k], input->symbol[k], shaping->listing);
        return nl_fail(shaping->err, NL_USAGE,
                       "the model leaves dimension %zu of '%.60s' open; give its whole shape with "
                       "--input %.60s=2x3x...; inputs: %.240s",
                       k, input->name, input->name, shaping->listing);
    }
    return true;
}

bool ort_inputs_shape(struct ort_inputs *inputs, const struct ort_words *words,
                      struct nl_arena *arena, struct nl_err *err)
{
    struct shaping shaping = {inputs, words, ort_inputs_text(inputs, arena),
                              nl_arena_alloc(arena, (words->dim_count + 1) * sizeof(int64_t)), err};
    if (!apply_words(&shaping))
        return false;
    apply_dims(&shaping);
    if (!all_dims_meant(&shaping))
        return false;
    for (size_t i = 0; i < inputs->count; i++)
        if (!complete(&shaping, &inputs->items[i]))
            return false;
    return true;
}
