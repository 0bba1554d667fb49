/* NAME=SHAPE and NAME=N, cut at the last "=": names of inputs may hold one. */
#include "backend/ortwords.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const struct {
    const char *name;
    size_t bytes;
    bool whole;
} types[ORT_TYPES] = {
    [ORT_F32] = {"f32", 4, false},   [ORT_U8] = {"u8", 1, true},
    [ORT_I8] = {"i8", 1, true},      [ORT_U16] = {"u16", 2, true},
    [ORT_I16] = {"i16", 2, true},    [ORT_I32] = {"i32", 4, true},
    [ORT_I64] = {"i64", 8, true},    [ORT_STRING] = {"string", 0, false},
    [ORT_BOOL] = {"bool", 1, false}, [ORT_F16] = {"f16", 2, false},
    [ORT_F64] = {"f64", 8, false},   [ORT_U32] = {"u32", 4, true},
    [ORT_U64] = {"u64", 8, true},    [ORT_BF16] = {"bf16", 2, false},
};

const char *ort_type_name(int type)
{
    return type > 0 && type < ORT_TYPES ? types[type].name : NULL;
}

size_t ort_type_bytes(int type)
{
    return type > 0 && type < ORT_TYPES ? types[type].bytes : 0;
}

bool ort_type_whole(int type)
{
    return type > 0 && type < ORT_TYPES && types[type].whole;
}

static int find_type(struct nl_str text)
{
    for (int i = 1; i < ORT_TYPES; i++)
        if (types[i].name && nl_str_is(text, types[i].name))
            return i;
    return 0;
}

/* Where a word's value begins, or NULL when it is not NAME=VALUE. */
static const char *cut(const char *word, const char **name, struct nl_arena *arena)
{
    const char *equals = strrchr(word, '=');
    if (!equals || equals == word || !equals[1])
        return NULL;
    *name = nl_arena_text(arena, word, (size_t)(equals - word));
    return equals + 1;
}

static bool read_range(struct ort_input_word *input, const char *text)
{
    const char *dots = strstr(text, "..");
    if (!dots)
        return false;
    input->has_range = true;
    return nl_parse_i64((struct nl_str){text, (size_t)(dots - text)}, &input->low) &&
           nl_parse_i64(nl_str(dots + 2), &input->high) && input->low <= input->high;
}

/* One part of 2x3xf32; a type ends it. */
static bool read_part(struct ort_input_word *input, struct nl_str part)
{
    if (input->type)
        return false;
    input->type = find_type(part);
    if (input->type)
        return true;
    return input->rank < ORT_MAX_RANK && nl_parse_i64(part, &input->size[input->rank]) &&
           input->size[input->rank++] >= 0;
}

static bool read_shape(struct ort_input_word *input, const char *text)
{
    const char *colon = strchr(text, ':');
    const char *end = colon ? colon : text + strlen(text);
    for (;;) {
        size_t len = strcspn(text, "x:");
        if (!read_part(input, (struct nl_str){text, len}))
            return false;
        text += len;
        if (text == end)
            return !colon || read_range(input, colon + 1);
        text++;
    }
}

static bool read_input(struct ort_words *words, const char *word, struct nl_arena *arena,
                       struct nl_err *err)
{
    struct ort_input_word *input = &words->inputs[words->input_count];
    const char *value = cut(word, &input->name, arena);
    if (!value || !read_shape(input, value))
        return nl_fail(
            err, NL_USAGE,
            "--input: '%.80s' is not NAME=SHAPE, such as x=2x3xf32 or ids=1x16xi64:0..99", word);
    for (size_t i = 0; i < words->input_count; i++)
        if (strcmp(words->inputs[i].name, input->name) == 0)
            return nl_fail(err, NL_USAGE, "--input: '%.80s' is given twice", input->name);
    words->input_count++;
    return true;
}

static bool read_dim(struct ort_words *words, const char *word, struct nl_arena *arena,
                     struct nl_err *err)
{
    struct ort_dim_word *dim = &words->dims[words->dim_count];
    const char *value = cut(word, &dim->name, arena);
    if (!value || !nl_parse_i64(nl_str(value), &dim->size) || dim->size < 1)
        return nl_fail(err, NL_USAGE, "--dim: '%.80s' is not NAME=N with N over 0, such as batch=8",
                       word);
    for (size_t i = 0; i < words->dim_count; i++)
        if (strcmp(words->dims[i].name, dim->name) == 0)
            return nl_fail(err, NL_USAGE, "--dim: '%.80s' is given twice", dim->name);
    words->dim_count++;
    return true;
}

bool ort_words_read(struct ort_words *words, const char *const *inputs, size_t input_count,
                    const char *const *dims, size_t dim_count, struct nl_arena *arena,
                    struct nl_err *err)
{
    *words = (struct ort_words){
        .inputs = nl_arena_alloc(arena, (input_count + 1) * sizeof(struct ort_input_word)),
        .dims = nl_arena_alloc(arena, (dim_count + 1) * sizeof(struct ort_dim_word))};
    for (size_t i = 0; i < input_count; i++)
        if (!read_input(words, inputs[i], arena, err))
            return false;
    for (size_t i = 0; i < dim_count; i++)
        if (!read_dim(words, dims[i], arena, err))
            return false;
    return true;
}
