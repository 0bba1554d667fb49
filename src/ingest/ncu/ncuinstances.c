/* Values per instance of a kernel: groups of numbers with shared keys, and rows. */
#include "ingest/ncu/ncuinstances.h"

#include <string.h>

/* Fewer are staged as rows. */
#define MIN_RUN 16u

/* Keys that a group is compared with: the last ones, of as many values. */
#define KEYS_TRIED 32u

/* Is a number an address in the code of the kernel? Counts and indices are
 * far below any address. */
#define CODE_LOWEST ((int64_t)1 << 20)
#define MAX_CODE    ((int64_t)1 << 28)

/* Room for what a run is made of. */
struct ncu_places {
    int64_t number[NL_MAX_KEYS], offset[NL_MAX_KEYS];
    double value[NL_MAX_KEYS];
    uint32_t file[NL_MAX_KEYS], line[NL_MAX_KEYS];
    uint32_t opcode[NL_MAX_KEYS], ptx[NL_MAX_KEYS];
    uint32_t metric[NL_MAX_KEYS], key[NL_MAX_KEYS], text[NL_MAX_KEYS];
};

static void add_group(struct ncu_instances *in, size_t first, size_t count, uint32_t keys)
{
    nl_grow(&in->groups, &in->group_cap, in->has.groups + 1);
    in->groups[in->has.groups++] = (struct ncu_group){.first = first, .count = count, .keys = keys};
}

void ncu_instances_row(struct ncu_instances *in, const struct nl_instance_row *row)
{
    ncu_instances_close(in);
    nl_grow(&in->rows, &in->row_cap, in->has.rows + 1);
    in->rows[in->has.rows] = *row;
    struct ncu_group *last =
        in->has.groups > in->before.groups ? &in->groups[in->has.groups - 1] : NULL;
    if (last && last->keys == NCU_ROWS)
        last->count++;
    else
        add_group(in, in->has.rows, 1, NCU_ROWS);
    in->has.rows++;
}

/* The keys that equal the last `count` numbers; added when there are none. */
static uint32_t find_keys(struct ncu_instances *in, uint32_t count)
{
    const int64_t *numbers = in->numbers + in->has.numbers - count;
    size_t least = in->has.keys > KEYS_TRIED ? in->has.keys - KEYS_TRIED : 0;
    for (size_t i = in->has.keys; i-- > least;)
        if (in->keys[i].count == count &&
            memcmp(in->numbers + in->keys[i].first, numbers, count * sizeof *numbers) == 0) {
            in->has.numbers -= count;
            return (uint32_t)i;
        }
    nl_grow(&in->keys, &in->key_cap, in->has.keys + 1);
    in->keys[in->has.keys] = (struct ncu_keys){.first = in->has.numbers - count, .count = count};
    return (uint32_t)in->has.keys++;
}

void ncu_instances_close(struct ncu_instances *in)
{
    uint32_t count = in->open;
    size_t number = in->has.numbers - count, value = in->has.values - count;
    in->open = 0;
    if (count >= MIN_RUN) {
        add_group(in, value, count, find_keys(in, count));
        return;
    }
    in->has.numbers = number;
    in->has.values = value;
    for (uint32_t i = 0; i < count; i++) {
        struct nl_instance_row row = nl_instance_row();
        row.number = in->numbers[number + i];
        row.value = in->values[value + i];
        ncu_instances_row(in, &row);
    }
}

void ncu_instances_end(struct ncu_instances *in, uint32_t metric)
{
    ncu_instances_close(in);
    for (size_t i = in->before.groups; i < in->has.groups; i++)
        in->groups[i].metric = metric;
    for (size_t i = in->before.rows; i < in->has.rows; i++)
        in->rows[i].metric = metric;
    in->before = in->has;
}

void ncu_instances_drop(struct ncu_instances *in)
{
    in->has = in->before;
    in->open = 0;
}

static uint32_t file_name(struct ncu_instances *in, struct nl_stage *stage,
                          const struct cubinlines *lines, uint32_t file)
{
    size_t before = in->file_cap;
    nl_grow(&in->files, &in->file_cap, (size_t)file + 1);
    if (before < in->file_cap)
        memset(in->files + before, 0, (in->file_cap - before) * sizeof *in->files);
    if (!in->files[file])
        in->files[file] = nl_stage_name(stage, lines->files[file]);
    return in->files[file];
}

static int64_t offset_of(const struct ncu_code *code, int64_t number)
{
    bool inside = code->first >= CODE_LOWEST && number != NL_NULL_I64 && number >= code->first &&
                  number - code->first < MAX_CODE;
    return inside ? number - code->first : NL_NULL_I64;
}

static const struct cubinlines_row *source_line(const struct ncu_code *code, int64_t offset,
                                                size_t *near)
{
    return code->function && offset != NL_NULL_I64
               ? cubinlines_at(code->lines, code->function, (uint64_t)offset, near)
               : NULL;
}

/* What the instruction at `offset` is: operation, and the statement of the PTX. */
static void name_instruction(struct ncu_places *places, uint32_t i, struct nl_stage *stage,
                             const struct ncu_code *code, size_t *near)
{
    int64_t offset = places->offset[i];
    bool known = code->body && offset != NL_NULL_I64;
    const char *opcode =
        known ? cubincode_opcode(code->programs, code->body, (uint64_t)offset) : NULL;
    struct nl_str ptx = known ? cubincode_ptx(code->programs, code->body, (uint64_t)offset, near)
                              : (struct nl_str){"", 0};
    places->opcode[i] = opcode ? nl_stage_name(stage, nl_str(opcode)) : NL_NO_NAME;
    places->ptx[i] = ptx.len ? nl_stage_name(stage, ptx) : NL_NO_NAME;
}

static struct nl_staged_keys *stage_keys(struct ncu_instances *in, struct nl_stage *stage,
                                         const struct ncu_code *code, const int64_t *numbers,
                                         uint32_t count)
{
    struct ncu_places *places = in->places;
    bool inside = false, lines = false;
    uint32_t opcodes = 0, statements = 0;
    size_t near = 0, near_ptx = 0;
    for (uint32_t i = 0; i < count; i++) {
        places->offset[i] = offset_of(code, numbers[i]);
        const struct cubinlines_row *line = source_line(code, places->offset[i], &near);
        places->file[i] = line ? file_name(in, stage, code->lines, line->file) : NL_NO_NAME;
        places->line[i] = line ? line->line : NL_NULL_U32;
        inside = inside || places->offset[i] != NL_NULL_I64;
        lines = lines || line;
        name_instruction(places, i, stage, code, &near_ptx);
        opcodes |= places->opcode[i];
        statements |= places->ptx[i];
    }
    return nl_stage_keys(stage,
                         &(struct nl_instance_keys){.count = count,
                                                    .number = numbers,
                                                    .offset = inside ? places->offset : NULL,
                                                    .file = lines ? places->file : NULL,
                                                    .line = lines ? places->line : NULL,
                                                    .opcode = opcodes ? places->opcode : NULL,
                                                    .ptx = statements ? places->ptx : NULL});
}

/* Rows, which may be of several metrics. */
static void stage_rows(struct ncu_instances *in, struct nl_stage *stage, uint32_t slice,
                       const struct ncu_code *code, const struct nl_instance_row *rows,
                       uint32_t count)
{
    struct ncu_places *places = in->places;
    uint32_t keys = 0, texts = 0;
    for (uint32_t i = 0; i < count; i++) {
        places->number[i] = rows[i].number;
        places->value[i] = rows[i].value;
        places->metric[i] = rows[i].metric;
        keys |= places->key[i] = rows[i].key;
        texts |= places->text[i] = rows[i].text;
    }
    struct nl_staged_keys *staged = stage_keys(in, stage, code, places->number, count);
    if (staged)
        nl_stage_instances(stage, slice, staged,
                           &(struct nl_instance_values){.value = places->value,
                                                        .metrics = places->metric,
                                                        .key = keys ? places->key : NULL,
                                                        .text = texts ? places->text : NULL});
}

static void stage_group(struct ncu_instances *in, struct nl_stage *stage, uint32_t slice,
                        const struct ncu_code *code, const struct ncu_group *group)
{
    struct ncu_keys *keys = &in->keys[group->keys];
    if (!keys->staged)
        keys->staged = stage_keys(in, stage, code, in->numbers + keys->first, keys->count);
    if (keys->staged)
        nl_stage_instances(stage, slice, keys->staged,
                           &(struct nl_instance_values){.value = in->values + group->first,
                                                        .metric = group->metric});
}

void ncu_instances_stage(struct ncu_instances *in, struct nl_stage *stage, uint32_t slice,
                         const struct ncu_code *code)
{
    if (in->has.groups && !in->places)
        in->places = nl_alloc(sizeof *in->places);
    for (size_t i = 0; i < in->has.groups; i++) {
        const struct ncu_group *group = &in->groups[i];
        if (group->keys != NCU_ROWS) {
            stage_group(in, stage, slice, code, group);
            continue;
        }
        size_t count = group->count; /* rows of all metrics up to the next run are adjacent */
        while (i + 1 < in->has.groups && in->groups[i + 1].keys == NCU_ROWS)
            count += in->groups[++i].count;
        for (size_t at = 0; at < count; at += NL_MAX_KEYS)
            stage_rows(in, stage, slice, code, in->rows + group->first + at,
                       (uint32_t)(count - at < NL_MAX_KEYS ? count - at : NL_MAX_KEYS));
    }
    in->has = in->before = (struct ncu_instances_counts){0};
}

void ncu_instances_release(struct ncu_instances *in)
{
    nl_free(in->numbers);
    nl_free(in->values);
    nl_free(in->rows);
    nl_free(in->keys);
    nl_free(in->groups);
    nl_free(in->files);
    nl_free(in->places);
    *in = (struct ncu_instances){0};
}
