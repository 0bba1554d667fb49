/*
 * Instructions of HLO programs with the events that ran them: a row of table nodes per event, and
 * the columns of an operator of the CPU.
 *
 * Several kernels may run one instruction (a convolution that first reorders its input). The costs
 * of an execution are then at one of them, the kernel with most of the instruction's time on that
 * plane, so that sums over rows do not count them again; hence rows are staged when a plane is
 * done.
 */
#include <stdlib.h>

#include "base/chars.h"
#include "base/mem.h"
#include "ingest/xplane/hlofields.h"
#include "ingest/xplane/xplane.h"
#include "ingest/xplane/xplane_nodes.h"
#include "ingest/xplane/xplanefields.h"

/* An instruction as rows have it: ids of names in the stage. */
struct xplane_facts {
    uint32_t name, type, module, operation, file, line, target, detail, precision;
    uint32_t input_shapes, input_types, output_shapes, output_types;
    uint64_t flops, bytes, output_bytes;
    uint32_t leader;    /* name of the kernel that has its costs, */
    uint32_t leader_of; /* in this plane (number of planes staged, + 1) */
};

/* ---- the programs of a file ---- */

static struct nl_str stat_name(const struct xplane_plane *plane, const struct wire *stat)
{
    uint64_t id = (uint64_t)hlo_number(stat, XSTAT_METADATA_ID, 0);
    uint32_t row = nl_idmap_get(&plane->stat_index, id);
    return row != NL_NO_ROW ? plane->stats[row].name : (struct nl_str){"", 0};
}

/* "module(14)" → 14, as programs are numbered if no statistic gives it; else the row's own id. */
static uint64_t id_in_title(const struct xplane_meta *meta)
{
    uint64_t id = 0;
    size_t end = meta->name.len, at = end;
    if (end < 3 || meta->name.ptr[--end] != ')')
        return (uint64_t)meta->id;
    for (at = end; at && nl_is_digit(meta->name.ptr[at - 1]);)
        at--;
    if (at == end || !at || meta->name.ptr[at - 1] != '(')
        return (uint64_t)meta->id;
    for (; at < end; at++)
        if (__builtin_mul_overflow(id, 10, &id) ||
            __builtin_add_overflow(id, (uint64_t)(meta->name.ptr[at] - '0'), &id))
            return (uint64_t)meta->id;
    return id;
}

/* Old files have the program in the row's `metadata`, newer ones in a statistic. */
static struct wire program_of(const struct xplane_plane *plane, const struct xplane_meta *meta,
                              uint64_t *id)
{
    struct wire wire = meta->stats, program = wire_over(NULL, 0);
    struct wire_field field;
    *id = id_in_title(meta);
    while (wire_next(&wire, &field)) {
        struct wire inside = wire_inside(&field);
        if (!wire_is_text(&field) || !field.len)
            continue;
        struct nl_str name = field.number == XEVENT_METADATA_STATS ? stat_name(plane, &inside)
                                                                   : (struct nl_str){"", 0};
        if (field.number == XEVENT_METADATA_METADATA && !program.at)
            program = inside;
        else if (nl_str_is(name, "Hlo Proto") || nl_str_is(name, "hlo_proto"))
            program = hlo_inside(&inside, XSTAT_BYTES);
        else if (nl_str_is(name, "program_id"))
            *id = (uint64_t)hlo_number(&inside, XSTAT_UINT64,
                                       hlo_number(&inside, XSTAT_INT64, (int64_t)*id));
    }
    return program;
}

void xplane_programs(struct xplane_load *load, const struct xplane_plane *named)
{
    struct xplane_plane plane = *named; /* with separate tables */
    xplane_tables_read(load, &plane);
    for (size_t i = 0; i < plane.meta_count; i++) {
        uint64_t id;
        struct wire program = program_of(&plane, &plane.metas[i], &id);
        if (program.at)
            hlo_add(&load->programs, id, plane.metas[i].name, program);
    }
    xplane_tables_release(&plane);
}

/* ---- what an instruction is ---- */

static uint32_t written(struct xplane_load *load)
{
    return nl_stage_name(load->stage, (struct nl_str){load->text.ptr, load->text.len});
}

static uint32_t arrays(struct xplane_load *load, const struct hlo_program *program,
                       const struct hlo_instruction *it, bool inputs, bool types)
{
    nl_buf_clear(&load->text);
    return hlo_write_arrays(&load->text, program, it, inputs, types) ? written(load) : NL_NO_NAME;
}

static uint32_t detail_of(struct xplane_load *load, const struct hlo_program *program,
                          const struct hlo_instruction *it)
{
    nl_buf_clear(&load->text);
    hlo_write_detail(&load->text, program, it);
    return written(load);
}

/* "fusion" of kind kLoop → "loop fusion"; others as they are. */
static struct nl_str type_of(const struct hlo_instruction *it)
{
    static const char *const kinds[][2] = {{"kLoop", "loop fusion"},
                                           {"kInput", "input fusion"},
                                           {"kOutput", "output fusion"},
                                           {"kCustom", "custom fusion"}};
    struct nl_str kind = hlo_text(&it->bytes, INSTRUCTION_FUSION_KIND);
    for (size_t i = 0; kind.len && i < sizeof kinds / sizeof kinds[0]; i++)
        if (nl_str_is(kind, kinds[i][0]))
            return nl_str(kinds[i][1]);
    return it->opcode;
}

/* The message with this number, from 1, of a repeated field; over nothing without. */
static struct wire nth(const struct wire *message, uint32_t number, int64_t which)
{
    struct wire wire = *message;
    struct wire_field field;
    while (which > 0 && wire_next(&wire, &field))
        if (field.number == number && wire_is_text(&field) && --which == 0)
            return wire_inside(&field);
    return wire_over(NULL, 0);
}

/* Source file and line: given by the instruction, or by the innermost frame of its stack. */
static void find_source(struct xplane_load *load, const struct hlo_program *program,
                        const struct wire *about, struct xplane_facts *facts)
{
    struct nl_str file = hlo_text(about, METADATA_SOURCE_FILE);
    int64_t line = hlo_number(about, METADATA_SOURCE_LINE, 0);
    if (!file.len) {
        const struct wire *index = &program->frames;
        struct wire frame =
            nth(index, FRAME_INDEX_STACK_FRAMES, hlo_number(about, METADATA_STACK_FRAME_ID, 0));
        struct wire place = nth(index, FRAME_INDEX_FILE_LOCATIONS,
                                hlo_number(&frame, STACK_FRAME_FILE_LOCATION_ID, 0));
        struct wire name =
            nth(index, FRAME_INDEX_FILE_NAMES, hlo_number(&place, FILE_LOCATION_FILE_NAME_ID, 0));
        if (!name.at)
            return;
        file = (struct nl_str){(const char *)name.at, (size_t)(name.end - name.at)};
        line = hlo_number(&place, FILE_LOCATION_LINE, 0);
    }
    facts->file = nl_stage_name(load->stage, file);
    if (line > 0 && line < UINT32_MAX)
        facts->line = (uint32_t)line;
}

static uint32_t stage_text(struct xplane_load *load, struct nl_str text)
{
    return text.len ? nl_stage_name(load->stage, text) : NL_NO_NAME;
}

static uint32_t precision_of(struct xplane_load *load, const struct hlo_program *program,
                             const struct hlo_instruction *it)
{
    int64_t ids[HLO_MAX_NUMBERS];
    const struct hlo_instruction *operand = hlo_numbers(&it->bytes, INSTRUCTION_OPERAND_IDS, ids)
                                                ? hlo_operand(program, it, ids[0])
                                                : NULL;
    struct hlo_shape shape;
    hlo_first_shape(operand ? &operand->shape : &it->shape, &shape);
    return shape.known ? nl_stage_name(load->stage, nl_str(hlo_type_name(shape.type))) : NL_NO_NAME;
}

static void describe(struct xplane_load *load, struct hlo_program *program,
                     struct hlo_instruction *it)
{
    struct wire about = hlo_inside(&it->bytes, INSTRUCTION_METADATA);
    struct xplane_facts facts = {
        .name = stage_text(load, it->name),
        .type = stage_text(load, type_of(it)),
        .module = stage_text(load, program->name),
        .operation = stage_text(load, hlo_text(&about, METADATA_OP_NAME)),
        .target = stage_text(load, hlo_text(&it->bytes, INSTRUCTION_CUSTOM_CALL_TARGET)),
        .line = NL_NULL_U32,
        .flops = hlo_flops(program, it),
        .bytes = hlo_bytes(program, it),
        .output_bytes = hlo_shape_bytes(&it->shape)};
    facts.input_shapes = arrays(load, program, it, true, false);
    facts.input_types = arrays(load, program, it, true, true);
    facts.output_shapes = arrays(load, program, it, false, false);
    facts.output_types = arrays(load, program, it, false, true);
    facts.detail = detail_of(load, program, it);
    facts.precision = precision_of(load, program, it);
    find_source(load, program, &about, &facts);
    nl_grow(&load->facts, &load->facts_cap, load->facts_count + 1);
    load->facts[load->facts_count++] = facts;
    it->facts = (uint32_t)load->facts_count;
}

/* ---- events ---- */

static uint64_t program_id(const struct xplane_stats *stats)
{
    const struct xplane_value *value = &stats->value[XPLANE_PROGRAM_ID];
    bool number = xplane_has(stats, XPLANE_PROGRAM_ID) &&
                  (value->type == XPLANE_INT || value->type == XPLANE_UINT);
    return number ? value->number.u : NL_NULL_U64;
}

uint32_t xplane_instruction(struct xplane_load *load, const struct xplane_stats *stats,
                            struct nl_str name)
{
    if (!load->programs.count || !name.len)
        return XPLANE_NO_FACTS;
    struct hlo_program *program =
        hlo_find(&load->programs, program_id(stats), xplane_text(stats, XPLANE_HLO_MODULE));
    struct hlo_instruction *it = program ? hlo_instruction_named(program, name) : NULL;
    if (!it) {
        load->notes[XPLANE_NOTE_INSTRUCTIONS]++;
        return XPLANE_NO_FACTS;
    }
    if (!it->facts)
        describe(load, program, it);
    return it->facts - 1;
}

void xplane_recorded(struct xplane_load *load, uint32_t facts, const struct xplane_stats *stats)
{
    uint64_t flops = xplane_u64(stats, XPLANE_FLOPS);
    uint64_t bytes = xplane_u64(stats, XPLANE_BYTES_ACCESSED);
    if (facts == XPLANE_NO_FACTS)
        return;
    if (flops <= INT64_MAX)
        load->facts[facts].flops = flops;
    if (bytes <= INT64_MAX)
        load->facts[facts].bytes = bytes;
}

void xplane_ran(struct xplane_load *load, uint32_t slice, const struct xplane_event *event,
                uint32_t facts)
{
    if (facts == XPLANE_NO_FACTS)
        return;
    struct xplane_facts *it = &load->facts[facts];
    struct xplane_run run = {slice, facts, xplane_name(load, event->meta), event->dur};
    if (it->leader_of != load->planes_staged + 1) {
        it->leader_of = load->planes_staged + 1;
        it->leader = run.name;
    }
    load->rivals |= it->leader != run.name;
    nl_grow(&load->ran, &load->ran_cap, load->ran_count + 1);
    load->ran[load->ran_count++] = run;
}

void xplane_op_facts(const struct xplane_load *load, uint32_t facts, struct nl_op_row *row)
{
    if (facts == XPLANE_NO_FACTS)
        return;
    const struct xplane_facts *it = &load->facts[facts];
    row->shapes = it->input_shapes;
    row->dtypes = it->input_types;
    row->flops = it->flops;
    row->bytes = it->bytes;
}

static int by_instruction(const void *x, const void *y)
{
    const struct xplane_run *a = x, *b = y;
    if (a->facts != b->facts)
        return a->facts < b->facts ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

/* Of each instruction the name with the longest time in all; of equal ones the first seen. */
static void find_leaders(struct xplane_load *load)
{
    int64_t most = -1;
    qsort(load->ran, load->ran_count, sizeof *load->ran, by_instruction);
    for (size_t i = 0, next; i < load->ran_count; i = next) {
        int64_t sum = 0;
        for (next = i; next < load->ran_count && load->ran[next].facts == load->ran[i].facts &&
                       load->ran[next].name == load->ran[i].name;
             next++)
            if (__builtin_add_overflow(sum, load->ran[next].dur, &sum))
                sum = INT64_MAX;
        if (i == 0 || load->ran[i - 1].facts != load->ran[i].facts)
            most = -1;
        if (sum > most) {
            most = sum;
            load->facts[load->ran[i].facts].leader = load->ran[i].name;
        }
    }
}

static int by_slice(const void *x, const void *y)
{
    const struct xplane_run *a = x, *b = y;
    return a->slice < b->slice ? -1 : a->slice > b->slice;
}

void xplane_nodes_stage(struct xplane_load *load)
{
    if (load->rivals) { /* else every instruction had one kernel */
        find_leaders(load);
        qsort(load->ran, load->ran_count, sizeof *load->ran, by_slice);
    }
    load->rivals = false;
    load->planes_staged++;
    for (size_t i = 0; i < load->ran_count; i++) {
        const struct xplane_run *run = &load->ran[i];
        const struct xplane_facts *facts = &load->facts[run->facts];
        struct nl_node_row row = nl_node_row();
        row.slice = run->slice;
        row.source = load->source;
        row.name = facts->name;
        row.type = facts->type;
        row.module = facts->module;
        row.operation = facts->operation;
        row.file = facts->file;
        row.line = facts->line;
        row.tactic = facts->target;
        row.detail = facts->detail;
        row.precision = facts->precision;
        row.input_shapes = facts->input_shapes;
        row.input_types = facts->input_types;
        row.output_shapes = facts->output_shapes;
        row.output_types = facts->output_types;
        if (facts->leader == run->name) {
            row.output_bytes = facts->output_bytes;
            row.flops = facts->flops;
            row.bytes = facts->bytes;
        }
        nl_stage_node(load->stage, &row);
    }
    load->ran_count = 0;
}

void xplane_programs_note(struct xplane_load *load)
{
    for (size_t i = 0; i < load->programs.count; i++) {
        const struct hlo_program *program = &load->programs.items[i];
        load->notes[XPLANE_NOTE_PROGRAMS] += !program->read;
        load->notes[XPLANE_NOTE_UNREADABLE] += program->read && !program->readable;
    }
}

void xplane_programs_release(struct xplane_load *load)
{
    hlo_release(&load->programs);
    nl_free(load->facts);
    nl_free(load->ran);
}
