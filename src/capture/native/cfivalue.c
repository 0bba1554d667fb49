/* Anything odd (an empty stack, an unknown operation or register) ends with "not known". */
#include "capture/native/cfivalue.h"

#include <dwarf.h>
#include <string.h>

#define MAX_DEPTH 32u
#define MAX_STEPS 256u

struct machine {
    const struct cfivalue_state *state;
    uint64_t stack[MAX_DEPTH];
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

static void push(struct machine *machine, uint64_t value)
{
    if (machine->depth == MAX_DEPTH)
        machine->failed = true;
    else
        machine->stack[machine->depth++] = value;
}

static uint64_t pop(struct machine *machine)
{
    if (machine->depth)
        return machine->stack[--machine->depth];
    machine->failed = true;
    return 0;
}

static uint64_t known(struct machine *machine, uint64_t number)
{
    if (number < CFIVALUE_REGISTERS && machine->state->known[number])
        return machine->state->registers[number];
    machine->failed = true;
    return 0;
}

static void load(struct machine *machine)
{
    uint64_t value = 0;
    if (!cfivalue_memory(machine->state, pop(machine), &value))
        machine->failed = true;
    push(machine, value);
}

/* Operations of two operands; false: none of them. */
static bool combine(struct machine *machine, uint8_t atom)
{
    uint64_t b = pop(machine), a = pop(machine), value;
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
    push(machine, value);
    return true;
}

/* Operations that shuffle, or begin from nothing; false: none of them. */
static bool put(struct machine *machine, const Dwarf_Op *op)
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
    case DW_OP_const8s: push(machine, op->number); break;
    case DW_OP_bregx: push(machine, known(machine, op->number) + op->number2); break;
    case DW_OP_plus_uconst: push(machine, pop(machine) + op->number); break;
    case DW_OP_call_frame_cfa: push(machine, machine->state->cfa); break;
    case DW_OP_dup:
        value = pop(machine);
        push(machine, value);
        push(machine, value);
        break;
    case DW_OP_drop: (void)pop(machine); break;
    case DW_OP_deref: load(machine); break;
    case DW_OP_nop: break;
    case DW_OP_stack_value: machine->is_value = true; break;
    case DW_OP_regx:
        push(machine, known(machine, op->number));
        machine->is_value = true;
        break;
    default: return false;
    }
    return true;
}

static void step(struct machine *machine, const Dwarf_Op *op)
{
    uint8_t atom = op->atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
        push(machine, atom - DW_OP_lit0);
    } else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
        push(machine, known(machine, atom - DW_OP_breg0) + op->number);
    } else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
        push(machine, known(machine, atom - DW_OP_reg0));
        machine->is_value = true;
    } else if (!put(machine, op) && !combine(machine, atom)) {
        machine->failed = true;
    }
}

bool cfivalue_of(const struct cfivalue_state *state, const Dwarf_Op *ops, size_t count,
                 uint64_t *value, bool *is_value)
{
    struct machine machine = {.state = state};
    for (size_t i = 0; i < count && i < MAX_STEPS && !machine.failed; i++)
        step(&machine, &ops[i]);
    *value = pop(&machine);
    *is_value = machine.is_value;
    return !machine.failed && count <= MAX_STEPS;
}
