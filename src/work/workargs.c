/* workargs — see workargs.h. One pass over each text; a cursor that never leaves it. */
#include "work/workargs.h"
#include "base/chars.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

static struct cursor over(struct nl_str text)
{
    return (struct cursor){text.ptr, text.ptr ? text.ptr + text.len : NULL};
}

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

static bool skip_letter(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    if (cursor->at >= cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

static bool see(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    return cursor->at < cursor->end && *cursor->at == wanted;
}

/* Digits with a sign; the rest of a number with a point is left where it is. */
static bool take_integer(struct cursor *cursor, int64_t *value)
{
    skip_blanks(cursor);
    bool negative = skip_letter(cursor, '-');
    int64_t sum = 0;
    int digits = 0;
    for (; cursor->at < cursor->end && nl_is_digit(*cursor->at); cursor->at++) {
        if (++digits > 18)
            return false;
        sum = sum * 10 + (*cursor->at - '0');
    }
    *value = negative ? -sum : sum;
    return digits > 0;
}

/* "[1, 2]" after the bracket, to the end of it. */
static bool take_numbers(struct cursor *cursor, int64_t *values, unsigned *count)
{
    *count = 0;
    if (skip_letter(cursor, ']'))
        return true;
    do {
        int64_t value;
        if (*count == WORK_MAX_DIMS || !take_integer(cursor, &value) || value < 0)
            return false;
        values[(*count)++] = value;
    } while (skip_letter(cursor, ','));
    return skip_letter(cursor, ']');
}

double work_elements(const struct work_tensor *tensor)
{
    double product = 1;
    for (unsigned i = 0; i < tensor->rank; i++)
        product *= tensor->dims[i] > 0 ? (double)tensor->dims[i] : 0;
    return product;
}

static bool take_member(struct cursor *cursor, struct work_input *input)
{
    struct work_tensor member = {.rank = 0};
    if (!take_numbers(cursor, member.dims, &member.rank))
        return false;
    double elements = work_elements(&member);
    if (input->members++ == 0)
        input->tensor = member;
    input->elements += elements;
    input->matrices += member.rank >= 2 ? elements : 0;
    return input->members <= WORK_MAX_MEMBERS;
}

/* One input of the list of shapes, after its bracket: numbers, or a list of such. */
static bool take_shape(struct cursor *cursor, struct work_input *input)
{
    *input = (struct work_input){0};
    if (!see(cursor, '[')) {
        if (!take_numbers(cursor, input->tensor.dims, &input->tensor.rank))
            return false;
        input->elements = work_elements(&input->tensor);
        input->is_tensor = input->tensor.rank > 0;
        return true;
    }
    input->is_list = true;
    do {
        if (!skip_letter(cursor, '[') || !take_member(cursor, input))
            return false;
    } while (skip_letter(cursor, ','));
    return skip_letter(cursor, ']');
}

static void read_shapes(struct work_args *args, struct nl_str text)
{
    struct cursor cursor = over(text);
    if (!skip_letter(&cursor, '[') || see(&cursor, ']'))
        return;
    do {
        if (args->count == WORK_MAX_INPUTS || !skip_letter(&cursor, '[') ||
            !take_shape(&cursor, &args->inputs[args->count]))
            return;
        args->count++;
    } while (skip_letter(&cursor, ','));
}

/* A JSON string without its quotes; escapes stay as they are. */
static bool take_text(struct cursor *cursor, struct nl_str *text)
{
    if (!skip_letter(cursor, '"'))
        return false;
    text->ptr = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != '"')
        cursor->at += *cursor->at == '\\' ? 2 : 1;
    if (cursor->at >= cursor->end)
        return false;
    text->len = (size_t)(cursor->at - text->ptr);
    cursor->at++;
    return true;
}

static bool says_list(struct nl_str type)
{
    return nl_str_is(type, "TensorList") || nl_str_is(type, "GenericList");
}

static void take_type(struct work_input *input, struct nl_str text)
{
    input->type = work_type_of(text);
    if (input->is_list || says_list(text))
        return;
    /* A shape of [] is a tensor with one element when it has an element type. */
    input->is_tensor = input->is_tensor || input->type != WORK_TYPE_UNKNOWN;
}

/* ["float", "Scalar", ["float", "float"]]: the inner list is of a list's tensors. */
static void read_types(struct work_args *args, struct nl_str text)
{
    struct cursor cursor = over(text);
    if (!skip_letter(&cursor, '[') || see(&cursor, ']'))
        return;
    unsigned index = 0;
    do {
        struct nl_str type = {0};
        bool list = skip_letter(&cursor, '[');
        bool first = true;
        do {
            if (list && see(&cursor, ']'))
                break;
            if (!take_text(&cursor, &type))
                return;
            if (index < args->count && first)
                take_type(&args->inputs[index], type);
            first = false;
        } while (list && skip_letter(&cursor, ','));
        if (list && !skip_letter(&cursor, ']'))
            return;
        args->has_types = true;
        index++;
    } while (skip_letter(&cursor, ','));
}

static void read_strides(struct work_args *args, struct nl_str text)
{
    struct cursor cursor = over(text);
    if (!skip_letter(&cursor, '[') || see(&cursor, ']'))
        return;
    for (unsigned index = 0; index < args->count; index++) {
        struct work_input strides;
        if (!skip_letter(&cursor, '[') || !take_shape(&cursor, &strides))
            return;
        struct work_tensor *tensor = &args->inputs[index].tensor;
        if (strides.is_tensor && strides.tensor.rank == tensor->rank) {
            memcpy(tensor->strides, strides.tensor.dims, sizeof tensor->strides);
            tensor->has_strides = true;
        }
        if (!skip_letter(&cursor, ','))
            return;
    }
}

static void read_values(struct work_args *args, struct nl_str text)
{
    struct cursor cursor = over(text);
    if (!skip_letter(&cursor, '[') || see(&cursor, ']'))
        return;
    unsigned index = 0;
    do {
        struct nl_str value;
        if (!take_text(&cursor, &value))
            return;
        args->has_values = true;
        if (index < args->count)
            args->inputs[index].value = value;
        index++;
    } while (skip_letter(&cursor, ','));
}

void work_args_read(struct work_args *args, struct work_texts texts)
{
    args->count = 0;
    args->has_values = args->has_types = false;
    read_shapes(args, texts.shapes);
    read_types(args, texts.types);
    read_strides(args, texts.strides);
    read_values(args, texts.values);
}

const struct work_tensor *work_tensor_at(const struct work_args *args, unsigned index,
                                         unsigned rank)
{
    if (index >= args->count || !args->inputs[index].is_tensor)
        return NULL;
    const struct work_tensor *tensor = &args->inputs[index].tensor;
    return rank && tensor->rank != rank ? NULL : tensor;
}

bool work_integer_at(const struct work_args *args, unsigned index, int64_t *value)
{
    if (index >= args->count)
        return false;
    struct cursor cursor = over(args->inputs[index].value);
    return take_integer(&cursor, value) && cursor.at == cursor.end;
}

bool work_true_at(const struct work_args *args, unsigned index)
{
    return index < args->count && (nl_str_is(args->inputs[index].value, "True") ||
                                   nl_str_is(args->inputs[index].value, "true") ||
                                   nl_str_is(args->inputs[index].value, "1"));
}

int work_integers_at(const struct work_args *args, unsigned index, int64_t *values, int room)
{
    if (index >= args->count || !args->inputs[index].value.len)
        return -1;
    struct cursor cursor = over(args->inputs[index].value);
    bool list = skip_letter(&cursor, '[');
    int count = 0;
    if (list && skip_letter(&cursor, ']'))
        return 0;
    do {
        if (count == room || !take_integer(&cursor, &values[count]))
            return -1;
        count++;
    } while (list && skip_letter(&cursor, ','));
    return !list || skip_letter(&cursor, ']') ? count : -1;
}

/* Digits and a point, as PyTorch writes factors and scales; of more than 31
 * bytes or any other form none. */
static bool take_number(struct cursor *cursor, double *value)
{
    char text[32];
    size_t count = 0;
    skip_blanks(cursor);
    while (cursor->at < cursor->end && count + 1 < sizeof text && *cursor->at &&
           strchr("0123456789.eE+-", *cursor->at))
        text[count++] = *cursor->at++;
    text[count] = '\0';
    char *rest;
    *value = strtod(text, &rest);
    return count && !*rest && *value == *value;
}

int work_numbers_at(const struct work_args *args, unsigned index, double *values, int room)
{
    if (index >= args->count || !args->inputs[index].value.len)
        return -1;
    struct cursor cursor = over(args->inputs[index].value);
    int count = 0;
    if (!skip_letter(&cursor, '['))
        return -1;
    do {
        if (count == room || !take_number(&cursor, &values[count]))
            return -1;
        count++;
    } while (skip_letter(&cursor, ','));
    return skip_letter(&cursor, ']') ? count : -1;
}

double work_input_bytes(const struct work_args *args, unsigned index)
{
    if (index >= args->count)
        return 0;
    const struct work_input *input = &args->inputs[index];
    if (!input->is_tensor && !input->is_list)
        return 0;
    return input->elements * work_type_bits(input->type) / 8;
}
