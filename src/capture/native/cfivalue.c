/* Anything odd (an empty stack, an unknown operation or register) ends with "not known". */
#include "capture/native/cfivalue.h"

#include <dwarf.h>
#include <string.h>

#define MAX_DEPTH 32u
#define MAX_STEPS 256u

struct dwarf_stack {
    const struct cfivalue_state *state;
    uint64_t values[MAX_DEPTH];
    size_t depth;
    bool failed, is_value;
};

bool cfivalue_memory(const struct cfivalue_state *state, uint64_t address, uint64_t *value)
{
    uint64_t offset = address - state->stack_start;
    if (state->stack_len < sizeof *value || offset > state->stack_len - sizeof *value)
        return false;
    memcpy(value, state->stack + offset, sizeof *value);
    return true;
}

static void push(struct dwarf_stack *stack, uint64_t value)
{
    if (stack->depth == MAX_DEPTH)
        stack->failed = true;
    else
        stack->values[stack->depth++] = value;
}

static uint64_t pop(struct dwarf_stack *stack)
{
    if (stack->depth)
        return stack->values[--stack->depth];
    stack->failed = true;
    return 0;
}

static uint64_t register_value(struct dwarf_stack *stack, uint64_t number)
{
    if (number < CFIVALUE_REGISTERS && stack->state->known[number])
        return stack->state->registers[number];
    stack->failed = true;
    return 0;
}

static void load_word(struct dwarf_stack *stack)
{
    uint64_t value = 0;
    if (!cfivalue_memory(stack->state, pop(stack), &value))
        stack->failed = true;
    push(stack, value);
}

/* Operations of two operands; false: none of them. */
static bool combine(struct dwarf_stack *stack, uint8_t atom)
{
    uint64_t b = pop(stack), a = pop(stack), value;
    switch (atom) {
    case DW_OP_plus: value = a + b; break;
    case DW_OP_minus: value = a - b; break;
    case DW_OP_mul: value = a * b; break;
    case DW_OP_and: value = a & b; break;
    case DW_OP_or: value = a | b; break;
    case DW_OP_shl: value = b < 64 ? a << b : 0; break;
    case DW_OP_shr: value = b < 64 ? a >> b : 0; break;
    case DW_OP_eq: value = a == b; break;
    case DW_OP_ne: value = a != b; break;
    case DW_OP_ge: value = (int64_t)a >= (int64_t)b; break;
    case DW_OP_gt: value = (int64_t)a > (int64_t)b; break;
    case DW_OP_le: value = (int64_t)a <= (int64_t)b; break;
    case DW_OP_lt: value = (int64_t)a < (int64_t)b; break;
    default: return false;
    }
    push(stack, value);
    return true;
}

/* Operations that shuffle, or begin from nothing; false: none of them. */
static bool apply_stack_op(struct dwarf_stack *stack, const Dwarf_Op *op)
{
    uint64_t value;
    switch (op->atom) {
    case DW_OP_addr:
    case DW_OP_constu:
    case DW_OP_consts:
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_const8u:
    case DW_OP_const8s: push(stack, op->number); break;
    case DW_OP_bregx: push(stack, register_value(stack, op->number) + op->number2); break;
    case DW_OP_plus_uconst: push(stack, pop(stack) + op->number); break;
    case DW_OP_call_frame_cfa: push(stack, stack->state->cfa); break;
    case DW_OP_dup:
        value = pop(stack);
        push(stack, value);
        push(stack, value);
        break;
    case DW_OP_drop: (void)pop(stack); break;
    case DW_OP_deref: load_word(stack); break;
    case DW_OP_nop: break;
    case DW_OP_stack_value: stack->is_value = true; break;
    case DW_OP_regx:
        push(stack, register_value(stack, op->number));
        stack->is_value = true;
        break;
    default: return false;
    }
    return true;
}

static void step(struct dwarf_stack *stack, const Dwarf_Op *op)
{
    uint8_t atom = op->atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
        push(stack, atom - DW_OP_lit0);
    } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        push(stack, register_value(stack, atom - DW_OP_breg0) + op->number);
    } else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        push(stack, register_value(stack, atom - DW_OP_reg0));
        stack->is_value = true;
    } else if (!apply_stack_op(stack, op) && !combine(stack, atom)) {
        stack->failed = true;
    }
}

bool cfivalue_of(const struct cfivalue_state *state, const Dwarf_Op *ops, size_t count,
                 uint64_t *value, bool *is_value)
{
    struct dwarf_stack stack = {.state = state};
    for (size_t i = 0; i < count && i < MAX_STEPS && !stack.failed; i++)
        step(&stack, &ops[i]);
    *value = pop(&stack);
    *is_value = stack.is_value;
    return !stack.failed && count <= MAX_STEPS;
}
