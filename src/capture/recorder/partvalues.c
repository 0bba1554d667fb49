/*
 * The recorder's own cells in a process's recording: values, devices, alerts, notes,
 * samples. They wait in part->cells until there are enough for a block; names are
 * numbered from the top downwards.
 */
#include <string.h>

#include "base/mem.h"
#include "capture/recorder/partvalues.h"
#include "capture/shared/ticks.h"

#define MAX_NAMES ((size_t)1 << 20) /* frames of samples have the most; further ones share a name */

/* ---- names ---- */

static char *cut_copy(struct part *part, const char *text)
{
    size_t len = strnlen(text, NL_REC_MAX_NAME + 1);
    if (len > NL_REC_MAX_NAME) {
        len = NL_REC_MAX_NAME;
        __atomic_fetch_add(&part->head->cut_names, 1, __ATOMIC_RELAXED);
    }
    char *copy = nl_zalloc(len + 1);
    memcpy(copy, text, len);
    return copy;
}

static uint32_t name_id(struct part *part, const char *text)
{
    uint64_t hash = nl_hash_keyed(text, strnlen(text, NL_REC_MAX_NAME));
    uint32_t row =
        NL_LOOKUP(&part->name_rows, hash, i, strncmp(part->names[i], text, NL_REC_MAX_NAME) == 0);
    if (row == NL_NO_ROW && part->name_count >= MAX_NAMES)
        return name_id(part, "(too many names)");
    if (row == NL_NO_ROW) {
        row = (uint32_t)part->name_count;
        nl_grow(&part->names, &part->name_cap, part->name_count + 1);
        part->names[part->name_count++] = cut_copy(part, text);
        nl_lookup_add(&part->name_rows, hash, row);
    }
    return UINT32_MAX - row;
}

/* ---- values ---- */

static void add_cell(struct part *part, uint64_t time, uint8_t kind, uint32_t id,
                     struct nl_rec_more more)
{
    struct nl_rec_cell cell = {.time = time, .id = id, .kind = kind, .cells = 2};
    nl_buf_add(&part->cells, (const char *)&cell, sizeof cell);
    nl_buf_add(&part->cells, (const char *)&more, sizeof more);
}

/* Every block of the recorder's begins with who writes. */
static void begin_cells(struct part *part, uint64_t time)
{
    if (part->cells.len > PART_CELLS)
        part_write(part);
    if (!part->cells.len)
        add_cell(part, time, NL_REC_THREAD, NL_REC_RECORDER, (struct nl_rec_more){0});
}

static void add_value(struct part *part, uint64_t time, const char *name, const char *unit,
                      double value)
{
    struct nl_rec_more more = {.a = name_id(part, unit)};
    memcpy(&more.value, &value, sizeof value);
    add_cell(part, time, NL_REC_COUNTER, name_id(part, name), more);
}

static void add_device(struct part *part, uint64_t time, const struct part_device *device)
{
    struct nl_rec_cell cell = {
        .time = time, .id = name_id(part, device->name), .kind = NL_REC_DEVICE, .cells = 3};
    struct nl_rec_more more[2] = {{.value = (uint64_t)device->ordinal,
                                   .a = name_id(part, device->uuid),
                                   .b = name_id(part, device->bus)},
                                  {.a = name_id(part, device->vendor)}};
    nl_buf_add(&part->cells, (const char *)&cell, sizeof cell);
    nl_buf_add(&part->cells, (const char *)more, sizeof more);
}

void part_counter(struct parts *parts, struct part *part, int64_t thread, const char *name,
                  const char *unit, double value)
{
    uint64_t now = ticks_now(parts_control(parts)->clock);
    begin_cells(part, now);
    add_cell(part, now, NL_REC_SUBJECT, 0, (struct nl_rec_more){.value = (uint64_t)thread});
    add_value(part, now, name, unit, value);
}

void part_device_counter(struct part *part, const struct part_device *device, uint64_t time,
                         const char *name, const char *unit, double value)
{
    begin_cells(part, time);
    add_device(part, time, device);
    add_value(part, time, name, unit, value);
}

void part_alert(struct part *part, const struct part_device *device, uint64_t time,
                const char *name, double value)
{
    begin_cells(part, time);
    if (device)
        add_device(part, time, device);
    else
        add_cell(part, time, NL_REC_SUBJECT, 0, (struct nl_rec_more){0});
    struct nl_rec_cell cell = {.time = time,
                               .id = name_id(part, name),
                               .kind = NL_REC_MARK + NL_REC_CLASS_ALERT,
                               .cells = 3};
    struct nl_rec_more more[2] = {{0}, {.b = NL_REC_F64 << 8}};
    memcpy(&more[0].value, &value, sizeof value);
    nl_buf_add(&part->cells, (const char *)&cell, sizeof cell);
    nl_buf_add(&part->cells, (const char *)more, sizeof more);
}

void part_note(struct parts *parts, struct part *part, const char *item, uint64_t count,
               const char *detail)
{
    uint64_t now = ticks_now(parts_control(parts)->clock);
    begin_cells(part, now);
    add_cell(part, now, NL_REC_NOTE, name_id(part, item),
             (struct nl_rec_more){.value = count, .a = name_id(part, detail ? detail : "")});
}

void part_sample(struct part *part, uint64_t now_ticks, const struct part_sample *sample)
{
    enum { FIXED = 3, PER_CELL = NL_REC_CELL / sizeof(uint32_t) };
    uint32_t frames[(UINT8_MAX - FIXED) * PER_CELL];
    const size_t most = sizeof frames / sizeof frames[0];
    size_t count = sample->frame_count < most ? sample->frame_count : most;
    size_t cells = (count + PER_CELL - 1) / PER_CELL;
    begin_cells(part, now_ticks);
    memset(frames, 0, cells * NL_REC_CELL);
    for (size_t i = 0; i < count; i++)
        frames[i] = name_id(part, sample->frames[i]);
    bool cut = sample->cut || count < sample->frame_count;
    struct nl_rec_cell cell = {.time = (uint64_t)sample->ns,
                               .id = sample->thread,
                               .kind = NL_REC_SAMPLE,
                               .cells = (uint8_t)(FIXED + cells),
                               .depth = (uint16_t)count};
    struct nl_rec_more more[FIXED - 1] = {
        {sample->weight, name_id(part, sample->event), name_id(part, sample->unit)},
        {.a = sample->cpu, .b = cut ? NL_REC_SAMPLE_CUT : 0}};
    nl_buf_add(&part->cells, (const char *)&cell, sizeof cell);
    nl_buf_add(&part->cells, (const char *)more, sizeof more);
    nl_buf_add(&part->cells, (const char *)frames, cells * NL_REC_CELL);
}

void part_run(struct part *part, uint64_t now_ticks, const struct part_run *run)
{
    begin_cells(part, now_ticks);
    struct nl_rec_cell cell = {.time = (uint64_t)run->begin,
                               .id = run->thread,
                               .kind = NL_REC_RAN,
                               .cells = 2,
                               .depth = run->how};
    struct nl_rec_more more = {(uint64_t)run->end, run->cpu, 0};
    nl_buf_add(&part->cells, (const char *)&cell, sizeof cell);
    nl_buf_add(&part->cells, (const char *)&more, sizeof more);
}
