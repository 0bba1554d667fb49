/*
 * Instructions of HLO programs as JSON: the arrays that they take and give, and
 * what of them multiplies.
 */
#include "base/json.h"
#include "ingest/xplane/hlofields.h"
#include "ingest/xplane/xplane_hlo.h"

#define MAX_PRODUCTS 8

struct array_list {
    struct nl_json *json;
    bool types;
};

static void write_array(void *context, const struct hlo_shape *array)
{
    struct array_list *list = context;
    if (list->types) {
        nl_json_text(list->json, hlo_type_name(array->type));
        return;
    }
    nl_json_open(list->json, '[');
    for (unsigned i = 0; i < array->rank; i++)
        nl_json_i64(list->json, array->dims[i]);
    nl_json_close(list->json, ']');
}

struct operands {
    const struct hlo_program *program;
    const struct hlo_instruction *of;
    struct array_list list;
    bool known;
};

static void write_operand(void *context, int64_t id)
{
    struct operands *operands = context;
    const struct hlo_instruction *operand = hlo_operand(operands->program, operands->of, id);
    if (!operand || !hlo_each_array(&operand->shape, write_array, &operands->list))
        operands->known = false;
}

bool hlo_write_arrays(struct nl_buf *out, const struct hlo_program *program,
                      const struct hlo_instruction *it, bool inputs, bool types)
{
    struct nl_json json;
    struct operands operands = {program, it, {&json, types}, true};
    size_t before = out->len;
    nl_json_to_buf(&json, out, 0);
    nl_json_open(&json, '[');
    if (inputs)
        hlo_each_id(&it->bytes, INSTRUCTION_OPERAND_IDS, write_operand, &operands);
    else
        operands.known = hlo_each_array(&it->shape, write_array, &operands.list);
    nl_json_close(&json, ']');
    return operands.known && out->len - before > 2;
}

static void write_numbers(struct nl_json *json, const char *key, const struct wire *message,
                          uint32_t number)
{
    int64_t numbers[HLO_MAX_NUMBERS];
    size_t count = hlo_numbers(message, number, numbers);
    nl_json_key(json, key);
    nl_json_open(json, '[');
    for (size_t i = 0; i < count && i < HLO_MAX_NUMBERS; i++)
        nl_json_i64(json, numbers[i]);
    nl_json_close(json, ']');
}

static void write_shape(struct nl_json *json, const char *key, const struct wire *message)
{
    struct array_list list = {json, false};
    struct hlo_shape shape;
    hlo_first_shape(message, &shape);
    nl_json_key(json, key);
    write_array(&list, &shape);
}

/* One number of each dimension of a window. */
static void write_window(struct nl_json *json, const char *key, struct wire window, uint32_t number)
{
    struct wire_field field;
    nl_json_key(json, key);
    nl_json_open(json, '[');
    while (wire_next(&window, &field)) {
        struct wire inside = wire_inside(&field);
        if (field.number == WINDOW_DIMENSIONS && wire_is_text(&field))
            nl_json_i64(json, hlo_number(&inside, number, 0));
    }
    nl_json_close(json, ']');
}

/* A dot or convolution: operands, result, and which dimensions are multiplied. */
static void write_product(struct nl_json *json, const struct hlo_program *program,
                          const struct hlo_instruction *it)
{
    int64_t ids[HLO_MAX_NUMBERS];
    size_t count = hlo_numbers(&it->bytes, INSTRUCTION_OPERAND_IDS, ids);
    const struct hlo_instruction *left = count > 0 ? hlo_operand(program, it, ids[0]) : NULL;
    const struct hlo_instruction *right = count > 1 ? hlo_operand(program, it, ids[1]) : NULL;
    struct wire dot = hlo_inside(&it->bytes, INSTRUCTION_DOT_DIMENSION_NUMBERS);
    struct wire window = hlo_inside(&it->bytes, INSTRUCTION_WINDOW);
    nl_json_open(json, '{');
    nl_json_key(json, "opcode");
    nl_json_str(json, it->opcode);
    if (left)
        write_shape(json, "left", &left->shape);
    if (right)
        write_shape(json, "right", &right->shape);
    write_shape(json, "result", &it->shape);
    if (dot.at) {
        write_numbers(json, "left_contracting", &dot, DOT_LHS_CONTRACTING_DIMENSIONS);
        write_numbers(json, "right_contracting", &dot, DOT_RHS_CONTRACTING_DIMENSIONS);
        write_numbers(json, "left_batch", &dot, DOT_LHS_BATCH_DIMENSIONS);
        write_numbers(json, "right_batch", &dot, DOT_RHS_BATCH_DIMENSIONS);
    }
    if (window.at) {
        write_window(json, "window", window, WINDOW_DIMENSION_SIZE);
        write_window(json, "stride", window, WINDOW_DIMENSION_STRIDE);
        write_window(json, "padding_low", window, WINDOW_DIMENSION_PADDING_LOW);
        write_window(json, "padding_high", window, WINDOW_DIMENSION_PADDING_HIGH);
    }
    nl_json_close(json, '}');
}

struct products {
    const struct hlo_program *program;
    struct nl_json *json;
    unsigned count;
};

static bool is_product(const struct hlo_instruction *it)
{
    return nl_str_is(it->opcode, "dot") || nl_str_is(it->opcode, "convolution") ||
           (nl_str_is(it->opcode, "custom-call") &&
            hlo_inside(&it->bytes, INSTRUCTION_CONVOLUTION_DIMENSION_NUMBERS).at);
}

static void take_product(struct products *products, const struct hlo_instruction *it)
{
    if (!is_product(it) || products->count == MAX_PRODUCTS)
        return;
    if (!products->count++) {
        nl_json_key(products->json, "products");
        nl_json_open(products->json, '[');
    }
    write_product(products->json, products->program, it);
}

static void take_computation(void *context, int64_t id)
{
    struct products *products = context;
    const struct hlo_computation *of = hlo_computation(products->program, id);
    for (uint32_t row = of ? of->first : 0; of && row < of->end; row++)
        take_product(products, &products->program->instructions[row]);
}

void hlo_write_detail(struct nl_buf *out, const struct hlo_program *program,
                      const struct hlo_instruction *it)
{
    struct nl_json json;
    struct products products = {program, &json, 0};
    nl_json_to_buf(&json, out, 0);
    nl_json_open(&json, '{');
    nl_json_key(&json, "program_id");
    nl_json_u64(&json, program->id);
    take_product(&products, it);
    if (nl_str_is(it->opcode, "fusion") || nl_str_is(it->opcode, "call"))
        hlo_each_id(&it->bytes, INSTRUCTION_CALLED_COMPUTATION_IDS, take_computation, &products);
    if (products.count)
        nl_json_close(&json, ']');
    nl_json_close(&json, '}');
}
