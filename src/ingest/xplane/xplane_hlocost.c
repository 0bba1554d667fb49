/*
 * What one execution of an instruction costs by the shapes in its program. The counts are those of
 * XLA's own cost analysis, with two differences: arithmetic counts where it is on floating-point
 * numbers, and what XLA counts as nothing because it does not know is unknown here.
 *
 *   dot           2 · elements of the result · product of the contracted dimensions of the left side
 *   convolution   2 · batch · output features · input features of the kernel · positions, where
 *                 positions, per spatial dimension, are pairs of output and kernel places that meet
 *                 an element of the input (not its padding, nor a hole of its dilation)
 *   reduction     (elements of the input − of the result) · operations of what it applies
 */
#include "base/chars.h"
#include "base/mem.h"
#include "ingest/xplane/xplane_hlo.h"
#include "ingest/xplane/hlofields.h"
#include "store/schema.h"

#define CALLS_DEEP 64
#define MAX_WORK   ((uint64_t)1 << 26) /* per program: its steps may be no more than this */

enum rule { NOTHING, PER_ELEMENT, DOT, CONVOLUTION, REDUCE, REDUCE_WINDOW, MAP, INSIDE, CUSTOM };

/* Opcodes without a row are unknown: while, conditional, sort, fft, scatter, … */
static const struct {
    const char *opcode;
    enum rule rule;
} rules[] = {
    {"abs", PER_ELEMENT},
    {"add", PER_ELEMENT},
    {"ceil", PER_ELEMENT},
    {"clamp", PER_ELEMENT},
    {"compare", PER_ELEMENT},
    {"convert", PER_ELEMENT},
    {"divide", PER_ELEMENT},
    {"floor", PER_ELEMENT},
    {"is-finite", PER_ELEMENT},
    {"maximum", PER_ELEMENT},
    {"minimum", PER_ELEMENT},
    {"multiply", PER_ELEMENT},
    {"negate", PER_ELEMENT},
    {"reduce-precision", PER_ELEMENT},
    {"remainder", PER_ELEMENT},
    {"round-nearest-afz", PER_ELEMENT},
    {"select", PER_ELEMENT},
    {"round-nearest-even", PER_ELEMENT},
    {"sign", PER_ELEMENT},
    {"subtract", PER_ELEMENT},
    {"dot", DOT},
    {"convolution", CONVOLUTION},
    {"reduce", REDUCE},
    {"reduce-window", REDUCE_WINDOW},
    {"map", MAP},
    {"fusion", INSIDE},
    {"call", INSIDE},
    {"async-start", INSIDE},
    {"custom-call", CUSTOM},
    {"add-dependency", NOTHING},
    {"after-all", NOTHING},
    {"all-gather", NOTHING},
    {"all-to-all", NOTHING},
    {"and", NOTHING},
    {"async-done", NOTHING},
    {"async-update", NOTHING},
    {"atan2", NOTHING},
    {"bitcast", NOTHING},
    {"broadcast", NOTHING},
    {"bitcast-convert", NOTHING},
    {"cbrt", NOTHING},
    {"collective-permute", NOTHING},
    {"complex", NOTHING},
    {"concatenate", NOTHING},
    {"constant", NOTHING},
    {"copy", NOTHING},
    {"copy-done", NOTHING},
    {"copy-start", NOTHING},
    {"cosine", NOTHING},
    {"count-leading-zeros", NOTHING},
    {"domain", NOTHING},
    {"dynamic-slice", NOTHING},
    {"erf", NOTHING},
    {"dynamic-update-slice", NOTHING},
    {"exponential", NOTHING},
    {"exponential-minus-one", NOTHING},
    {"gather", NOTHING},
    {"get-tuple-element", NOTHING},
    {"iota", NOTHING},
    {"log", NOTHING},
    {"log-plus-one", NOTHING},
    {"logistic", NOTHING},
    {"not", NOTHING},
    {"or", NOTHING},
    {"pad", NOTHING},
    {"parameter", NOTHING},
    {"partition-id", NOTHING},
    {"popcnt", NOTHING},
    {"power", NOTHING},
    {"replica-id", NOTHING},
    {"reshape", NOTHING},
    {"reverse", NOTHING},
    {"rsqrt", NOTHING},
    {"shift-left", NOTHING},
    {"sine", NOTHING},
    {"shift-right-arithmetic", NOTHING},
    {"slice", NOTHING},
    {"shift-right-logical", NOTHING},
    {"sqrt", NOTHING},
    {"tan", NOTHING},
    {"tanh", NOTHING},
    {"transpose", NOTHING},
    {"tuple", NOTHING},
    {"xor", NOTHING},
};

static bool find_rule(struct nl_str opcode, enum rule *rule)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (nl_str_is(opcode, rules[i].opcode)) {
            *rule = rules[i].rule;
            return true;
        }
    return false;
}

/* Products and sums of counts; unknown stays unknown. */
static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (a == NL_NULL_U64 || b == NL_NULL_U64 || __builtin_mul_overflow(a, b, &product) ||
        product > INT64_MAX)
        return NL_NULL_U64;
    return product;
}

static uint64_t plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    if (a == NL_NULL_U64 || b == NL_NULL_U64 || __builtin_add_overflow(a, b, &sum) ||
        sum > INT64_MAX)
        return NL_NULL_U64;
    return sum;
}

/* Dimension `number` of a shape; NL_NULL_U64 when it has none. */
static uint64_t dimension(const struct hlo_shape *shape, int64_t number)
{
    return shape->known && number >= 0 && number < shape->rank ? (uint64_t)shape->dims[number]
                                                               : NL_NULL_U64;
}

static bool operand_shape(const struct hlo_program *program, const struct hlo_instruction *it,
                          unsigned which, struct hlo_shape *shape)
{
    int64_t ids[HLO_MAX_NUMBERS];
    size_t count = hlo_numbers(&it->bytes, INSTRUCTION_OPERAND_IDS, ids);
    const struct hlo_instruction *operand =
        which < count && which < HLO_MAX_NUMBERS ? hlo_operand(program, it, ids[which]) : NULL;
    if (!operand)
        return false;
    hlo_first_shape(&operand->shape, shape);
    return shape->known;
}

/* ---- dots ---- */

static bool is_complex(const struct hlo_shape *shape)
{
    const char *name = hlo_type_name(shape->type);
    return name && name[0] == 'c';
}

static uint64_t contracted(const struct hlo_shape *left, const struct hlo_shape *result,
                           const int64_t *dims, size_t count)
{
    uint64_t product = times(2, hlo_elements(result));
    if (is_complex(result) || count > HLO_MAX_NUMBERS)
        return NL_NULL_U64;
    for (size_t i = 0; i < count; i++)
        product = times(product, dimension(left, dims[i]));
    return product;
}

static uint64_t dot_flops(const struct hlo_program *program, const struct hlo_instruction *it)
{
    struct wire numbers = hlo_inside(&it->bytes, INSTRUCTION_DOT_DIMENSION_NUMBERS);
    int64_t dims[HLO_MAX_NUMBERS];
    struct hlo_shape left, result;
    hlo_first_shape(&it->shape, &result);
    if (!numbers.at || !operand_shape(program, it, 0, &left))
        return NL_NULL_U64;
    return contracted(&left, &result, dims,
                      hlo_numbers(&numbers, DOT_LHS_CONTRACTING_DIMENSIONS, dims));
}

/* A product that was handed to a library: the contracted dimensions stand in the JSON text
 * "lhs_contracting_dimensions":["1"]. */
static uint64_t gemm_flops(const struct hlo_program *program, const struct hlo_instruction *it)
{
    static const char key[] = "\"lhs_contracting_dimensions\":[";
    struct nl_str text = hlo_text(&it->bytes, INSTRUCTION_BACKEND_CONFIG);
    ptrdiff_t at = nl_str_find_nocase(text, key);
    int64_t dims[HLO_MAX_NUMBERS];
    size_t count = 0;
    struct hlo_shape left, result;
    hlo_first_shape(&it->shape, &result);
    if (at < 0 || !operand_shape(program, it, 0, &left))
        return NL_NULL_U64;
    for (size_t i = (size_t)at + sizeof key - 1; i < text.len && text.ptr[i] != ']'; i++) {
        if (!nl_is_digit(text.ptr[i]))
            continue;
        if (count == HLO_MAX_NUMBERS)
            return NL_NULL_U64;
        for (dims[count] = 0; i < text.len && nl_is_digit(text.ptr[i]); i++)
            dims[count] =
                dims[count] < HLO_MAX_NUMBERS ? dims[count] * 10 + text.ptr[i] - '0' : dims[count];
        i--;
        count++;
    }
    return contracted(&left, &result, dims, count);
}

/* ---- convolutions ---- */

struct window {
    int64_t stride, low, dilation, base; /* of the input: base */
};

static void read_window(const struct wire *message, struct window *window)
{
    window->stride = hlo_number(message, WINDOW_DIMENSION_STRIDE, 0);
    window->low = hlo_number(message, WINDOW_DIMENSION_PADDING_LOW, 0);
    window->dilation = hlo_number(message, WINDOW_DIMENSION_WINDOW_DILATION, 0);
    window->base = hlo_number(message, WINDOW_DIMENSION_BASE_DILATION, 0);
}

/* Places of the output from which kernel place `kernel` meets an element of the input. */
static uint64_t meets(struct hlo_program *program, const struct window *window, int64_t kernel,
                      int64_t output, int64_t input)
{
    int64_t from = kernel * window->dilation - window->low;
    uint64_t count = 0;
    if (window->base == 1) { /* 0 <= from + o·stride < input */
        int64_t first = from >= 0 ? 0 : (-from + window->stride - 1) / window->stride;
        int64_t last = from >= input ? -1 : (input - 1 - from) / window->stride;
        if (last > output - 1)
            last = output - 1;
        return last >= first ? (uint64_t)(last - first + 1) : 0;
    }
    program->work += (uint64_t)output;
    if (program->work > MAX_WORK)
        return NL_NULL_U64;
    for (int64_t o = 0; o < output; o++) {
        int64_t at = from + o * window->stride;
        count += at >= 0 && at % window->base == 0 && at / window->base < input;
    }
    return count;
}

static uint64_t positions(struct hlo_program *program, const struct window *window,
                          uint64_t kernels, uint64_t outputs, uint64_t inputs)
{
    const uint64_t most = (uint64_t)1 << 30; /* products of two stay within 64 bits */
    uint64_t sum = 0;
    if (kernels > most || outputs > most || inputs > most || window->stride < 1 ||
        window->stride > (int64_t)most || window->dilation < 1 ||
        window->dilation > (int64_t)most || window->base < 1 || window->base > (int64_t)most ||
        window->low > (int64_t)most || window->low < -(int64_t)most)
        return NL_NULL_U64;
    for (uint64_t kernel = 0; kernel < kernels; kernel++) {
        if (++program->work > MAX_WORK)
            return NL_NULL_U64;
        sum = plus(sum, meets(program, window, (int64_t)kernel, (int64_t)outputs, (int64_t)inputs));
    }
    return sum;
}

/* Of shapes as the dimension numbers name them: what goes in, the kernel, what comes out. */
static uint64_t convolution_flops(struct hlo_program *program, const struct hlo_instruction *it,
                                  const struct hlo_shape shapes[3])
{
    const struct hlo_shape *input = &shapes[0], *kernel = &shapes[1], *output = &shapes[2];
    struct wire numbers = hlo_inside(&it->bytes, INSTRUCTION_CONVOLUTION_DIMENSION_NUMBERS),
                windows = hlo_inside(&it->bytes, INSTRUCTION_WINDOW);
    int64_t in[HLO_MAX_NUMBERS], of[HLO_MAX_NUMBERS], out[HLO_MAX_NUMBERS];
    size_t count = hlo_numbers(&numbers, CONVOLUTION_INPUT_SPATIAL_DIMENSIONS, in), at = 0;
    struct wire_field field;
    if (!numbers.at || count > HLO_MAX_NUMBERS ||
        hlo_numbers(&numbers, CONVOLUTION_KERNEL_SPATIAL_DIMENSIONS, of) != count ||
        hlo_numbers(&numbers, CONVOLUTION_OUTPUT_SPATIAL_DIMENSIONS, out) != count ||
        is_complex(output))
        return NL_NULL_U64;
    int64_t batch = hlo_number(&numbers, CONVOLUTION_OUTPUT_BATCH_DIMENSION, 0);
    int64_t feature = hlo_number(&numbers, CONVOLUTION_OUTPUT_FEATURE_DIMENSION, 0);
    int64_t from = hlo_number(&numbers, CONVOLUTION_KERNEL_INPUT_FEATURE_DIMENSION, 0);
    uint64_t flops = times(2, dimension(output, batch));
    flops = times(flops, dimension(output, feature));
    flops = times(flops, dimension(kernel, from));
    while (wire_next(&windows, &field)) {
        struct wire inside = wire_inside(&field);
        struct window window;
        if (field.number != WINDOW_DIMENSIONS || !wire_is_text(&field))
            continue;
        if (at == count)
            return NL_NULL_U64;
        read_window(&inside, &window);
        flops = times(flops, positions(program, &window, dimension(kernel, of[at]),
                                       dimension(output, out[at]), dimension(input, in[at])));
        at++;
    }
    return at == count ? flops : NL_NULL_U64;
}

/* Which of left operand, right operand and result is the input, the kernel and the output. */
static uint64_t convolve(struct hlo_program *program, const struct hlo_instruction *it,
                         const uint8_t roles[3])
{
    struct hlo_shape have[3], shapes[3];
    hlo_first_shape(&it->shape, &have[2]);
    if (!operand_shape(program, it, 0, &have[0]) || !operand_shape(program, it, 1, &have[1]))
        return NL_NULL_U64;
    for (unsigned i = 0; i < 3; i++)
        shapes[i] = have[roles[i]];
    return convolution_flops(program, it, shapes);
}

static uint64_t custom_flops(struct hlo_program *program, const struct hlo_instruction *it)
{
    static const struct {
        const char *target;
        uint8_t roles[3];
    } targets[] = {{"__cudnn$convForward", {0, 1, 2}},
                   {"__cudnn$convBackwardInput", {2, 1, 0}},
                   {"__cudnn$convBackwardFilter", {0, 2, 1}}};
    struct nl_str target = hlo_text(&it->bytes, INSTRUCTION_CUSTOM_CALL_TARGET);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (nl_str_is(target, targets[i].target))
            return convolve(program, it, targets[i].roles);
    if (nl_str_is(target, "__cublas$gemm") || nl_str_starts(target, "__cublas$lt$matmul"))
        return gemm_flops(program, it);
    return NL_NULL_U64;
}

/* ---- what has other instructions inside ---- */

struct called {
    struct hlo_program *program;
    uint64_t flops;
    unsigned deep;
};

static uint64_t flops_of(struct hlo_program *program, struct hlo_instruction *it, unsigned deep);

static void add_computation(void *context, int64_t id)
{
    struct called *called = context;
    const struct hlo_computation *of = hlo_computation(called->program, id);
    if (!of) {
        called->flops = NL_NULL_U64;
        return;
    }
    for (uint32_t row = of->first; row < of->end && called->flops != NL_NULL_U64; row++) {
        if (++called->program->work > MAX_WORK)
            called->flops = NL_NULL_U64;
        called->flops =
            plus(called->flops,
                 flops_of(called->program, &called->program->instructions[row], called->deep + 1));
    }
}

static uint64_t inside_flops(struct hlo_program *program, const struct hlo_instruction *it,
                             unsigned deep)
{
    struct called called = {.program = program, .deep = deep};
    if (deep < CALLS_DEEP)
        hlo_each_id(&it->bytes, INSTRUCTION_CALLED_COMPUTATION_IDS, add_computation, &called);
    return deep < CALLS_DEEP ? called.flops : NL_NULL_U64;
}

static uint64_t reduce_flops(struct hlo_program *program, const struct hlo_instruction *it,
                             unsigned deep)
{
    struct hlo_shape input, result;
    hlo_first_shape(&it->shape, &result);
    if (!operand_shape(program, it, 0, &input))
        return NL_NULL_U64;
    uint64_t from = hlo_elements(&input), to = hlo_elements(&result);
    if (from == NL_NULL_U64 || to == NL_NULL_U64 || from < to)
        return NL_NULL_U64;
    return times(from - to, inside_flops(program, it, deep));
}

static uint64_t reduce_window_flops(struct hlo_program *program, const struct hlo_instruction *it,
                                    unsigned deep)
{
    struct wire windows = hlo_inside(&it->bytes, INSTRUCTION_WINDOW);
    struct wire_field field;
    struct hlo_shape result;
    uint64_t size = 1;
    hlo_first_shape(&it->shape, &result);
    while (wire_next(&windows, &field)) {
        struct wire inside = wire_inside(&field);
        int64_t length = hlo_number(&inside, WINDOW_DIMENSION_SIZE, 0);
        if (field.number == WINDOW_DIMENSIONS && wire_is_text(&field))
            size = length > 0 ? times(size, (uint64_t)length) : NL_NULL_U64;
    }
    if (size == NL_NULL_U64)
        return NL_NULL_U64;
    return times(times(size - 1, hlo_elements(&result)), inside_flops(program, it, deep));
}

/* One per element where the numbers are real: of a comparison, what it compares. */
static uint64_t element_flops(const struct hlo_program *program, const struct hlo_instruction *it)
{
    struct hlo_shape result, operand;
    hlo_first_shape(&it->shape, &result);
    if (is_complex(&result))
        return NL_NULL_U64;
    bool real = hlo_type_is_real(result.type);
    if (!real && operand_shape(program, it, 0, &operand))
        real = hlo_type_is_real(operand.type);
    return real ? hlo_elements(&result) : result.known ? 0 : NL_NULL_U64;
}

static uint64_t map_flops(struct hlo_program *program, const struct hlo_instruction *it,
                          unsigned deep)
{
    struct hlo_shape result;
    hlo_first_shape(&it->shape, &result);
    return times(hlo_elements(&result), inside_flops(program, it, deep));
}

static uint64_t ruled(struct hlo_program *program, struct hlo_instruction *it, unsigned deep)
{
    static const uint8_t straight[3] = {0, 1, 2};
    enum rule rule;
    if (!find_rule(it->opcode, &rule))
        return NL_NULL_U64;
    switch (rule) {
    case NOTHING: return 0;
    case PER_ELEMENT: return element_flops(program, it);
    case DOT: return dot_flops(program, it);
    case CONVOLUTION: return convolve(program, it, straight);
    case REDUCE: return reduce_flops(program, it, deep);
    case REDUCE_WINDOW: return reduce_window_flops(program, it, deep);
    case MAP: return map_flops(program, it, deep);
    case INSIDE: return inside_flops(program, it, deep);
    case CUSTOM: return custom_flops(program, it);
    }
    return NL_NULL_U64;
}

static uint64_t flops_of(struct hlo_program *program, struct hlo_instruction *it, unsigned deep)
{
    if (it->state == HLO_UNASKED) {
        it->state = HLO_ASKING; /* a program that calls itself is no program: unknown */
        it->flops = ruled(program, it, deep);
        it->state = HLO_KNOWN;
    }
    return it->state == HLO_KNOWN ? it->flops : NL_NULL_U64;
}

uint64_t hlo_flops(struct hlo_program *program, struct hlo_instruction *instruction)
{
    return flops_of(program, instruction, 0);
}

/* ---- bytes ---- */

struct sizes {
    const struct hlo_program *program;
    const struct hlo_instruction *of;
    uint64_t sum;
};

static void add_operand(void *context, int64_t id)
{
    struct sizes *sizes = context;
    const struct hlo_instruction *operand = hlo_operand(sizes->program, sizes->of, id);
    sizes->sum = operand ? plus(sizes->sum, hlo_shape_bytes(&operand->shape)) : NL_NULL_U64;
}

uint64_t hlo_bytes(const struct hlo_program *program, const struct hlo_instruction *instruction)
{
    struct sizes sizes = {program, instruction, hlo_shape_bytes(&instruction->shape)};
    hlo_each_id(&instruction->bytes, INSTRUCTION_OPERAND_IDS, add_operand, &sizes);
    return sizes.sum;
}
