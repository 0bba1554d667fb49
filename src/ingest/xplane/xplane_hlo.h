/*
 * xplane_hlo — the HLO programs in XPlane files: what an instruction that ran is.
 *
 * Profilers put the compiled programs (HloProto) into the plane "/host:metadata", as a statistic of
 * a row of event_metadata whose id is the program's id and whose name is "module(id)". Programs are
 * listed first and read when an event names one of their instructions; text is borrowed from the
 * file's bytes.
 *
 *   xplane_hlo.c      programs and their instructions; finding one by program and name
 *   xplane_hlocost.c  floating-point operations and bytes of an instruction
 *   xplane_hlotext.c  arrays and products of an instruction as JSON
 *   xplane_nodes.c    instructions beside the events that ran them: table nodes
 */
#ifndef NL_XPLANE_HLO_H
#define NL_XPLANE_HLO_H

#include "base/map.h"
#include "parse/wire.h"

enum hlo_state { HLO_UNASKED, HLO_ASKING, HLO_KNOWN };

struct hlo_instruction {
    struct nl_str name, opcode;
    struct wire bytes; /* the whole message; the rest is read from it when asked */
    struct wire shape;
    int64_t id;
    uint32_t computation; /* index */
    uint32_t facts;       /* xplane_nodes.c: index + 1; 0 = not given yet */
    uint64_t flops;       /* when known; NL_NULL_U64 = unknown */
    uint8_t state;        /* enum hlo_state of flops */
};

struct hlo_computation {
    int64_t id;
    uint32_t first, end; /* its instructions */
    bool fused;
};

struct hlo_program {
    uint64_t id;
    struct nl_str name;  /* of the module, without the id */
    struct wire bytes;   /* HloProto */
    struct wire frames;  /* StackFrameIndexProto */
    bool read, readable; /* readable: it has instructions */
    struct hlo_instruction *instructions;
    size_t count, cap;
    struct hlo_computation *computations;
    size_t computation_count, computation_cap;
    struct nl_idmap by_name;        /* hash of an instruction's name → instruction */
    struct nl_idmap by_id;          /* id mixed with its computation → instruction */
    struct nl_idmap by_computation; /* id → computation */
    uint64_t work;                  /* steps spent on costs: bounded */
};

struct hlo_programs {
    struct hlo_program *items;
    size_t count, cap;
    struct nl_idmap by_id;
};

/* Adds a program; `title` is "module(id)". Nothing is read yet. */
void hlo_add(struct hlo_programs *programs, uint64_t id, struct nl_str title, struct wire bytes);
void hlo_release(struct hlo_programs *programs);

/* The program of this id or, without an id (NL_NULL_U64), the only one whose module has this name.
 * NULL when there is none, or when it cannot be read. */
struct hlo_program *hlo_find(struct hlo_programs *programs, uint64_t id, struct nl_str module);
struct hlo_instruction *hlo_instruction_named(struct hlo_program *program, struct nl_str name);

/* The operand with this id of an instruction; NULL when it is not there. */
struct hlo_instruction *hlo_operand(const struct hlo_program *program,
                                    const struct hlo_instruction *of, int64_t id);
const struct hlo_computation *hlo_computation(const struct hlo_program *program, int64_t id);

#define HLO_MAX_NUMBERS 32
/* Numbers of a repeated int64 field, packed or not, in order. Returns how many there are, which may
 * be more than `out` takes. */
size_t hlo_numbers(const struct wire *message, uint32_t number, int64_t out[HLO_MAX_NUMBERS]);
/* Calls `take` for every one, however many there are. */
void hlo_each_id(const struct wire *message, uint32_t number,
                 void (*take)(void *context, int64_t id), void *context);
/* The last field of this number as a message or text; over nothing when it is not there. */
struct wire hlo_inside(const struct wire *message, uint32_t number);
struct nl_str hlo_text(const struct wire *message, uint32_t number);
int64_t hlo_number(const struct wire *message, uint32_t number, int64_t otherwise);

/* An array of a shape. */
struct hlo_shape {
    uint32_t type; /* PrimitiveType */
    unsigned rank;
    int64_t dims[HLO_MAX_NUMBERS];
    bool known; /* an array: no token, no opaque, rank and dimensions in range */
};
void hlo_shape_read(const struct wire *shape, struct hlo_shape *out);
/* The first array of a shape that may be a tuple. */
void hlo_first_shape(const struct wire *shape, struct hlo_shape *out);
uint64_t hlo_elements(const struct hlo_shape *shape); /* NL_NULL_U64 when too many */
const char *hlo_type_name(uint32_t type);             /* "bf16"; NULL when not known */
unsigned hlo_type_bits(struct nl_str name);           /* of an element; 0 when not known */
bool hlo_type_is_real(uint32_t type);                 /* floating point, not complex */
/* Calls take for every array of a shape. False if some part is unknown, or nested too deeply. */
bool hlo_each_array(const struct wire *shape,
                    void (*take)(void *context, const struct hlo_shape *array), void *context);
uint64_t hlo_shape_bytes(const struct wire *shape);

/* Floating-point operations of one execution: 2 per multiply-add of a dot or convolution, 1 per
 * element of arithmetic, and per application of what a reduction applies; transcendental functions
 * count none. A fusion has those of what it fused. NL_NULL_U64 where a part is unknown. */
uint64_t hlo_flops(struct hlo_program *program, struct hlo_instruction *instruction);
/* Sizes of the operands and of the result, each once. */
uint64_t hlo_bytes(const struct hlo_program *program, const struct hlo_instruction *instruction);

/* Adds shapes or types of the operands or of the result, [[5,1024],[]] or ["f32","s32"], to `out`.
 * False when they are not known, or there are none. */
bool hlo_write_arrays(struct nl_buf *out, const struct hlo_program *program,
                      const struct hlo_instruction *instruction, bool inputs, bool types);
/* Adds {"program_id": …}, of what multiplies also "products": operands, result, dimensions. */
void hlo_write_detail(struct nl_buf *out, const struct hlo_program *program,
                      const struct hlo_instruction *instruction);

#endif
