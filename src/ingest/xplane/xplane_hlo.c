/*
 * Programs: an HloProto has a module, whose computations have instructions (hlofields.h).
 *
 * Ids of instructions are unique within a computation only (newer programs number from 0 in each),
 * so they are indexed together with it.
 */
#include "ingest/xplane/xplane_hlo.h"
#include "ingest/xplane/hlofields.h"

#include "base/mem.h"
#include "store/schema.h"

#define SHAPES_DEEP 16

void hlo_add(struct hlo_programs *programs, uint64_t id, struct nl_str title, struct wire bytes)
{
    struct hlo_program program = {.id = id, .name = title, .bytes = bytes};
    for (size_t at = title.len; at-- > 0;)
        if (title.ptr[at] == '(') {
            program.name.len = at;
            break;
        }
    nl_grow(&programs->items, &programs->cap, programs->count + 1);
    nl_idmap_put(&programs->by_id, id, (uint32_t)programs->count);
    programs->items[programs->count++] = program;
}

void hlo_release(struct hlo_programs *programs)
{
    for (size_t i = 0; i < programs->count; i++) {
        struct hlo_program *program = &programs->items[i];
        nl_free(program->instructions);
        nl_free(program->computations);
        nl_idmap_release(&program->by_name);
        nl_idmap_release(&program->by_id);
        nl_idmap_release(&program->by_computation);
    }
    nl_free(programs->items);
    nl_idmap_release(&programs->by_id);
}

/* ---- fields ---- */

struct wire hlo_inside(const struct wire *message, uint32_t number)
{
    struct wire wire = *message, inside = wire_over(NULL, 0);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number == number && wire_is_text(&field))
            inside = wire_inside(&field);
    return inside;
}

struct nl_str hlo_text(const struct wire *message, uint32_t number)
{
    struct wire inside = hlo_inside(message, number);
    return inside.at ? (struct nl_str){(const char *)inside.at, (size_t)(inside.end - inside.at)}
                     : (struct nl_str){"", 0};
}

int64_t hlo_number(const struct wire *message, uint32_t number, int64_t otherwise)
{
    struct wire wire = *message;
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number == number && wire_is_varint(&field))
            otherwise = wire_i64(&field);
    return otherwise;
}

void hlo_each_id(const struct wire *message, uint32_t number,
                 void (*take)(void *context, int64_t id), void *context)
{
    struct wire wire = *message;
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        uint64_t value;
        if (field.number != number)
            continue;
        if (wire_is_varint(&field))
            take(context, (int64_t)field.value);
        else
            for (struct wire packed = wire_inside(&field); wire_varint(&packed, &value);)
                take(context, (int64_t)value);
    }
}

struct numbers {
    int64_t *out;
    size_t count;
};

static void take_id(void *context, int64_t value)
{
    struct numbers *numbers = context;
    if (numbers->count < HLO_MAX_NUMBERS)
        numbers->out[numbers->count] = value;
    numbers->count++;
}

size_t hlo_numbers(const struct wire *message, uint32_t number, int64_t out[HLO_MAX_NUMBERS])
{
    struct numbers numbers = {.out = out};
    hlo_each_id(message, number, take_id, &numbers);
    return numbers.count;
}

/* ---- shapes ---- */

/* PrimitiveType of XLA's xla_data.proto; a gap is a type without a size. */
static const struct {
    const char *name;
    uint8_t bits;
    bool real;
} types[] = {[1] = {"pred", 8, false},       [2] = {"s8", 8, false},
             [3] = {"s16", 16, false},       [4] = {"s32", 32, false},
             [5] = {"s64", 64, false},       [6] = {"u8", 8, false},
             [7] = {"u16", 16, false},       [8] = {"u32", 32, false},
             [9] = {"u64", 64, false},       [10] = {"f16", 16, true},
             [11] = {"f32", 32, true},       [12] = {"f64", 64, true},
             [15] = {"c64", 64, false},      [16] = {"bf16", 16, true},
             [18] = {"c128", 128, false},    [19] = {"f8e5m2", 8, true},
             [20] = {"f8e4m3fn", 8, true},   [21] = {"s4", 4, false},
             [22] = {"u4", 4, false},        [23] = {"f8e4m3b11fnuz", 8, true},
             [24] = {"f8e5m2fnuz", 8, true}, [25] = {"f8e4m3fnuz", 8, true},
             [26] = {"s2", 2, false},        [27] = {"u2", 2, false},
             [28] = {"f8e4m3", 8, true},     [29] = {"f8e3m4", 8, true},
             [30] = {"s1", 1, false},        [31] = {"u1", 1, false},
             [32] = {"f4e2m1fn", 4, true},   [33] = {"f8e8m0fnu", 8, true}};
enum { TYPE_TUPLE = 13, TYPE_TOKEN = 17, TYPES = sizeof types / sizeof types[0] };

const char *hlo_type_name(uint32_t type)
{
    return type < TYPES ? types[type].name : NULL;
}

unsigned hlo_type_bits(struct nl_str name)
{
    for (uint32_t type = 0; type < TYPES; type++)
        if (types[type].name && nl_str_is(name, types[type].name))
            return types[type].bits;
    return 0;
}

bool hlo_type_is_real(uint32_t type)
{
    return type < TYPES && types[type].real;
}

void hlo_shape_read(const struct wire *shape, struct hlo_shape *out)
{
    int64_t type = hlo_number(shape, SHAPE_ELEMENT_TYPE, 0);
    size_t rank = hlo_numbers(shape, SHAPE_DIMENSIONS, out->dims);
    out->type = type > 0 && type < TYPES ? (uint32_t)type : 0;
    out->known = hlo_type_name(out->type) && rank <= HLO_MAX_NUMBERS;
    out->rank = out->known ? (unsigned)rank : 0;
    for (unsigned i = 0; i < out->rank; i++)
        out->known &= out->dims[i] >= 0;
}

uint64_t hlo_elements(const struct hlo_shape *shape)
{
    uint64_t elements = 1;
    for (unsigned i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(elements, (uint64_t)shape->dims[i], &elements) ||
            elements > (uint64_t)1 << 60)
            return NL_NULL_U64;
    return shape->known ? elements : NL_NULL_U64;
}

struct walk {
    void (*take)(void *context, const struct hlo_shape *array);
    void *context;
};

static bool walk_arrays(const struct walk *walk, const struct wire *shape, unsigned deep)
{
    int64_t type = hlo_number(shape, SHAPE_ELEMENT_TYPE, 0);
    struct hlo_shape array;
    if (type == TYPE_TOKEN)
        return true;
    if (type != TYPE_TUPLE) {
        hlo_shape_read(shape, &array);
        if (array.known)
            walk->take(walk->context, &array);
        return array.known;
    }
    struct wire wire = *shape;
    struct wire_field field;
    bool known = deep < SHAPES_DEEP;
    while (known && wire_next(&wire, &field)) {
        struct wire inside = wire_inside(&field);
        if (field.number == SHAPE_TUPLE_SHAPES && wire_is_text(&field))
            known = walk_arrays(walk, &inside, deep + 1);
    }
    return known;
}

bool hlo_each_array(const struct wire *shape,
                    void (*take)(void *context, const struct hlo_shape *array), void *context)
{
    struct walk walk = {take, context};
    return walk_arrays(&walk, shape, 0);
}

void hlo_first_shape(const struct wire *shape, struct hlo_shape *out)
{
    struct wire at = *shape;
    for (unsigned deep = 0;
         deep < SHAPES_DEEP && hlo_number(&at, SHAPE_ELEMENT_TYPE, 0) == TYPE_TUPLE; deep++) {
        struct wire wire = at;
        struct wire_field field;
        at = wire_over(NULL, 0);
        while (!at.at && wire_next(&wire, &field))
            if (field.number == SHAPE_TUPLE_SHAPES && wire_is_text(&field))
                at = wire_inside(&field);
    }
    hlo_shape_read(&at, out);
}

static void add_bytes(void *context, const struct hlo_shape *array)
{
    uint64_t *sum = context, elements = hlo_elements(array), bits;
    if (*sum == NL_NULL_U64 || elements == NL_NULL_U64 ||
        __builtin_mul_overflow(elements, (uint64_t)types[array->type].bits, &bits) ||
        __builtin_add_overflow(*sum, bits / 8 + (bits % 8 != 0), sum) || *sum > INT64_MAX)
        *sum = NL_NULL_U64;
}

uint64_t hlo_shape_bytes(const struct wire *shape)
{
    uint64_t sum = 0;
    return hlo_each_array(shape, add_bytes, &sum) ? sum : NL_NULL_U64;
}

/* ---- programs ---- */

static uint64_t mixed(int64_t id, uint32_t computation)
{
    struct {
        int64_t id;
        uint64_t computation;
    } both = {id, computation};
    return nl_hash(&both, sizeof both);
}

static void index_instruction(struct hlo_program *program, uint32_t row, bool fused)
{
    const struct hlo_instruction *it = &program->instructions[row];
    uint64_t name = nl_hash(it->name.ptr, it->name.len);
    nl_idmap_put(&program->by_id, mixed(it->id, it->computation), row);
    /* What is fused runs under the name of its fusion. */
    if (!fused || nl_idmap_get(&program->by_name, name) == NL_NO_ROW)
        nl_idmap_put(&program->by_name, name, row);
}

static void read_instruction(struct hlo_program *program, const struct wire_field *bytes,
                             uint32_t computation)
{
    struct hlo_instruction it = {.bytes = wire_inside(bytes),
                                 .name = {"", 0},
                                 .opcode = {"", 0},
                                 .shape = wire_over(NULL, 0),
                                 .flops = NL_NULL_U64,
                                 .computation = computation};
    struct wire wire = it.bytes;
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case INSTRUCTION_NAME: it.name = wire_str(&field); break;
        case INSTRUCTION_OPCODE: it.opcode = wire_str(&field); break;
        case INSTRUCTION_SHAPE: it.shape = wire_inside(&field); break;
        case INSTRUCTION_ID: it.id = wire_i64(&field); break;
        default: break;
        }
    }
    nl_grow(&program->instructions, &program->cap, program->count + 1);
    program->instructions[program->count++] = it;
}

static void read_computation(struct hlo_program *program, const struct wire_field *bytes)
{
    struct wire message = wire_inside(bytes), wire = message;
    struct wire_field field;
    uint32_t number = (uint32_t)program->computation_count;
    struct hlo_computation it = {.first = (uint32_t)program->count,
                                 .id = hlo_number(&message, COMPUTATION_ID, 0),
                                 .fused = hlo_number(&message, COMPUTATION_IS_FUSION, 0) != 0};
    while (wire_next(&wire, &field) && program->count < UINT32_MAX - 1)
        if (field.number == COMPUTATION_INSTRUCTIONS && wire_is_text(&field))
            read_instruction(program, &field, number);
    it.end = (uint32_t)program->count;
    for (uint32_t row = it.first; row < it.end; row++)
        index_instruction(program, row, it.fused);
    nl_idmap_put(&program->by_computation, (uint64_t)it.id, number);
    nl_grow(&program->computations, &program->computation_cap, program->computation_count + 1);
    program->computations[program->computation_count++] = it;
}

static void read_program(struct hlo_program *program)
{
    struct wire module = hlo_inside(&program->bytes, HLO_MODULE), wire = module;
    struct wire_field field;
    program->read = true;
    while (wire_next(&wire, &field))
        if (field.number == MODULE_COMPUTATIONS && wire_is_text(&field))
            read_computation(program, &field);
    program->frames = hlo_inside(&module, MODULE_STACK_FRAME_INDEX);
    program->readable = program->count > 0 && !wire.damaged;
}

struct hlo_program *hlo_find(struct hlo_programs *programs, uint64_t id, struct nl_str module)
{
    struct hlo_program *found = NULL;
    if (id != NL_NULL_U64) {
        uint32_t row = nl_idmap_get(&programs->by_id, id);
        found = row != NL_NO_ROW ? &programs->items[row] : NULL;
    } else if (module.len) {
        for (size_t i = 0; i < programs->count; i++) {
            if (!nl_str_eq(programs->items[i].name, module))
                continue;
            if (found)
                return NULL; /* several programs of one name: which is not given */
            found = &programs->items[i];
        }
    }
    if (found && !found->read)
        read_program(found);
    return found && found->readable ? found : NULL;
}

struct hlo_instruction *hlo_instruction_named(struct hlo_program *program, struct nl_str name)
{
    if (name.len && name.ptr[0] == '%')
        name = (struct nl_str){name.ptr + 1, name.len - 1};
    uint32_t row = nl_idmap_get(&program->by_name, nl_hash(name.ptr, name.len));
    if (row == NL_NO_ROW || !nl_str_eq(program->instructions[row].name, name))
        return NULL;
    return &program->instructions[row];
}

struct hlo_instruction *hlo_operand(const struct hlo_program *program,
                                    const struct hlo_instruction *of, int64_t id)
{
    uint32_t row = nl_idmap_get(&program->by_id, mixed(id, of->computation));
    if (row == NL_NO_ROW || program->instructions[row].id != id ||
        program->instructions[row].computation != of->computation)
        return NULL;
    return &program->instructions[row];
}

const struct hlo_computation *hlo_computation(const struct hlo_program *program, int64_t id)
{
    uint32_t row = nl_idmap_get(&program->by_computation, (uint64_t)id);
    return row != NL_NO_ROW ? &program->computations[row] : NULL;
}
