/*
 * Finding the blocks of a recording. The file is walked block by block; what does not begin like a
 * block is skipped (room that was taken but never used). Packed blocks are decompressed once to see
 * what is in them, and again when their turn comes if they had to give way meanwhile: memory stays
 * bounded however long the recording.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <isa-l/crc.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "ingest/recording/recording.h"

#define MAX_RAW      ((uint32_t)4 << 20) /* of one packed block; the recorder makes 1 MiB */
#define MIN_RESIDENT ((uint64_t)64 << 20)
#define MAX_NAMES    ((size_t)1 << 21)

static uint64_t resident_most(const struct rec_load *load)
{
    uint64_t share = load->job ? load->job->memory_bytes / 8 : 0;
    return share > MIN_RESIDENT ? share : MIN_RESIDENT;
}

/* ---- bytes of the file ---- */

/* Reads from the file, never through a mapping: a recording has holes, and a mapped hole on a full
 * tmpfs is a SIGBUS, as is a file that somebody cuts meanwhile. */
static bool read_at(const struct rec_load *load, void *to, uint64_t offset, size_t count)
{
    if (offset > load->file->size || count > load->file->size - offset)
        return false;
    if (load->descriptor < 0) {
        memcpy(to, load->file->bytes + offset, count);
        return true;
    }
    for (char *at = to; count;) {
        ssize_t got = pread(load->descriptor, at, count, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        offset += (uint64_t)got;
        count -= (size_t)got;
    }
    return true;
}

/* The same into a buffer that the next call uses again; NULL when it cannot be had. */
static unsigned char *borrow_at(struct rec_load *load, uint64_t offset, size_t count)
{
    nl_grow(&load->buffer, &load->buffer_cap, count + 1);
    return read_at(load, load->buffer, offset, count) ? load->buffer : NULL;
}

bool rec_read_head(struct rec_load *load)
{
    return read_at(load, &load->head, 0, sizeof load->head);
}

/* ---- packed blocks ---- */

static void make_room(struct rec_load *load, uint32_t raw)
{
    for (size_t tries = 0; tries < load->pack_count; tries++) {
        if (load->resident + raw <= resident_most(load))
            return;
        struct rec_pack *pack = &load->packs[load->evict++ % load->pack_count];
        if (!pack->room)
            continue;
        nl_pages_free(pack->room, pack->raw);
        pack->room = NULL;
        load->resident -= pack->raw;
    }
}

static bool unpack(struct rec_load *load, struct rec_pack *pack)
{
    if (pack->room)
        return true;
    const unsigned char *bytes = borrow_at(load, pack->offset, pack->bytes);
    if (!bytes)
        return false;
    make_room(load, pack->raw);
    unsigned char *room = nl_pages(pack->raw);
    size_t got = ZSTD_decompress(room, pack->raw, bytes, pack->bytes);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        nl_memory_exhausted(pack->raw);
    if (ZSTD_isError(got) || got != pack->raw) {
        nl_pages_free(room, pack->raw);
        return false;
    }
    pack->room = room;
    load->resident += pack->raw;
    return true;
}

const unsigned char *rec_block_bytes(struct rec_load *load, const struct rec_place *place)
{
    if (place->packed == NL_NULL_ROW) {
        const unsigned char *bytes = borrow_at(load, place->offset, place->used);
        load->unread_blocks += !bytes;
        return bytes;
    }
    struct rec_pack *pack = &load->packs[place->packed];
    /* Blocks come nearly in order; a file made to thrash is not worth the time. */
    bool again = !pack->room;
    if (again && ++load->reloads > 2 * load->pack_count + 1024) {
        load->unread_blocks++;
        return NULL;
    }
    if (!unpack(load, pack)) {
        load->unread_blocks++;
        return NULL;
    }
    return pack->room + place->offset;
}

/* ---- names ---- */

/* Ids go upwards from 1 in the process and downwards from the top in the recorder: both are dense,
 * and alternate in one table. */
static size_t name_row(uint32_t id)
{
    return id < NL_REC_OWN_NAMES ? (size_t)id * 2 : (size_t)(UINT32_MAX - id) * 2 + 1;
}

static void keep_name(struct rec_load *load, uint32_t id, const char *text, size_t bytes)
{
    size_t row = name_row(id);
    if (!id || row > MAX_NAMES) {
        load->bad_names++;
        return;
    }
    size_t before = load->name_cap, ids_before = load->id_cap;
    nl_grow(&load->names, &load->name_cap, row + 1);
    nl_grow(&load->name_ids, &load->id_cap, row + 1);
    memset(load->names + before, 0, (load->name_cap - before) * sizeof *load->names);
    memset(load->name_ids + ids_before, 0, (load->id_cap - ids_before) * sizeof *load->name_ids);
    if (load->name_count <= row)
        load->name_count = row + 1;
    if (!load->names[row].ptr)
        load->names[row] = (struct nl_str){nl_arena_text(&load->arena, text, bytes), bytes};
}

static void read_names(struct rec_load *load, const unsigned char *bytes, uint32_t used)
{
    struct nl_rec_name name;
    for (uint32_t at = 0; used - at >= sizeof name;) {
        memcpy(&name, bytes + at, sizeof name);
        uint32_t left = used - at - (uint32_t)sizeof name;
        if (name.bytes > left || name.bytes > NL_REC_MAX_NAME) {
            load->bad_names++;
            return;
        }
        keep_name(load, name.id, (const char *)bytes + at + sizeof name, name.bytes);
        uint32_t step = (uint32_t)sizeof name + ((name.bytes + 7) & ~7u);
        at += step < used - at ? step : used - at;
    }
}

struct nl_str rec_name(const struct rec_load *load, uint32_t id)
{
    struct nl_str none = {"", 0};
    size_t row = name_row(id);
    return row < load->name_count && load->names[row].ptr ? load->names[row] : none;
}

uint32_t rec_name_id(struct rec_load *load, uint32_t id)
{
    size_t row = name_row(id);
    if (row >= load->name_count || !load->names[row].ptr)
        return NL_NO_NAME;
    if (!load->name_ids[row])
        load->name_ids[row] = nl_stage_name(load->stage, load->names[row]);
    return load->name_ids[row];
}

/* ---- the walk ---- */

static void keep_place(struct rec_load *load, const struct nl_rec_block *block, uint64_t payload,
                       uint32_t packed)
{
    if (block->bracket)
        rec_clock_add(&load->clock, block->ticks, block->monotonic_ns, block->bracket - 1);
    if (block->used < NL_REC_CELL)
        return;
    size_t row = load->place_count++;
    nl_grow(&load->places, &load->place_cap, row + 1);
    nl_grow(&load->order, &load->order_cap, row + 1);
    load->places[row] = (struct rec_place){payload, packed, block->used};
    load->order[row] = (struct nl_keyed){block->sequence, (uint32_t)row};
}

/* One block that is not packed, wherever it is; `room` bytes follow its header. */
static void take_block(struct rec_load *load, struct nl_rec_block block,
                       const unsigned char *payload, uint64_t offset, uint64_t room,
                       uint32_t packed)
{
    if (block.used > room) {
        load->cut_blocks++;
        block.used = (uint32_t)room & ~(NL_REC_CELL - 1);
    }
    if (block.kind == NL_REC_EVENTS)
        keep_place(load, &block, offset, packed);
    else if (block.kind == NL_REC_NAMES)
        read_names(load, payload, block.used);
    else
        load->bad_blocks++;
}

static void walk_pack(struct rec_load *load, uint32_t row)
{
    const struct rec_pack *pack = &load->packs[row];
    struct nl_rec_block block;
    for (uint32_t at = 0; pack->raw - at >= sizeof block;) {
        memcpy(&block, pack->room + at, sizeof block);
        uint32_t left = pack->raw - at - (uint32_t)sizeof block;
        if (block.magic != NL_REC_BLOCK_MAGIC || block.used > left) {
            load->bad_blocks++;
            return;
        }
        at += (uint32_t)sizeof block;
        take_block(load, block, pack->room + at, at, left, row);
        at += block.used;
    }
}

/* A PACKED block whose header is at `offset`; returns how many blocks it covers. */
static uint64_t take_pack(struct rec_load *load, const struct nl_rec_block *block, uint64_t offset)
{
    uint64_t behind = load->file->size - offset - sizeof *block;
    uint64_t room = (uint64_t)block->span * load->head.block_bytes;
    struct rec_pack pack = {offset + sizeof *block, block->used, block->raw, NULL};
    if (block->used > behind || room < sizeof *block || block->used > room - sizeof *block ||
        !block->raw || block->raw > MAX_RAW) {
        load->bad_packs++;
        return 1;
    }
    const unsigned char *bytes = borrow_at(load, pack.offset, block->used);
    if (!bytes || load->pack_count >= NL_NULL_ROW ||
        crc32_gzip_refl(0, bytes, block->used) != block->crc) {
        load->bad_packs++;
        return 1;
    }
    nl_grow(&load->packs, &load->pack_cap, load->pack_count + 1);
    load->packs[load->pack_count++] = pack;
    if (unpack(load, &load->packs[load->pack_count - 1])) {
        walk_pack(load, (uint32_t)load->pack_count - 1);
        return block->span;
    }
    load->bad_packs++;
    load->pack_count--;
    return 1;
}

static uint64_t take_at(struct rec_load *load, uint64_t offset)
{
    struct nl_rec_block block;
    if (!read_at(load, &block, offset, sizeof block) || block.magic != NL_REC_BLOCK_MAGIC)
        return 1;
    if (block.kind == NL_REC_PACKED)
        return take_pack(load, &block, offset);
    if (block.state == NL_REC_FREE)
        return 1;
    uint64_t payload = offset + sizeof block;
    uint64_t room = load->head.block_bytes - sizeof block;
    if (room > load->file->size - payload)
        room = load->file->size - payload;
    const unsigned char *names = NULL;
    if (block.kind == NL_REC_NAMES)
        names = borrow_at(load, payload, block.used < room ? block.used : room);
    if (block.kind == NL_REC_NAMES && !names)
        load->bad_blocks++;
    else
        take_block(load, block, names, payload, room, NL_NULL_ROW);
    return 1;
}

/* Sorts by sequence and leaves out what is there twice: packed by the recorder, which was then
 * ended before it could give the block back. */
static void put_in_order(struct rec_load *load)
{
    struct nl_keyed *scratch = nl_alloc((load->place_count + 1) * sizeof *scratch);
    nl_sort_keyed(load->order, scratch, load->place_count);
    nl_free(scratch);
    size_t kept = 0;
    for (size_t i = 0; i < load->place_count; i++)
        if (!kept || load->order[kept - 1].key != load->order[i].key)
            load->order[kept++] = load->order[i];
    load->place_count = kept;
}

bool rec_blocks_find(struct rec_load *load, struct nl_err *err)
{
    const struct nl_rec_head *head = &load->head;
    uint32_t pairs = head->pair_count < NL_REC_PAIRS ? head->pair_count : NL_REC_PAIRS;
    load->clock.clock = head->clock;
    for (uint32_t i = 0; i < pairs; i++)
        rec_clock_add(&load->clock, head->pairs[i].ticks, head->pairs[i].monotonic_ns,
                      head->pairs[i].bracket);
    if (head->last.ticks)
        rec_clock_add(&load->clock, head->last.ticks, head->last.monotonic_ns, head->last.bracket);
    uint64_t offset = head->head_bytes, step = head->block_bytes;
    while (offset < load->file->size && load->file->size - offset >= sizeof(struct nl_rec_block)) {
        if (nl_job_cancelled(load->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        uint64_t blocks = take_at(load, offset);
        nl_job_add(load->job, blocks * step);
        if (blocks > (load->file->size - offset) / step)
            break;
        offset += blocks * step;
    }
    put_in_order(load);
    rec_clock_settle(&load->clock, head->ticks_per_second);
    return true;
}

void rec_blocks_release(struct rec_load *load)
{
    for (size_t i = 0; i < load->pack_count; i++)
        nl_pages_free(load->packs[i].room, load->packs[i].room ? load->packs[i].raw : 0);
    nl_free(load->packs);
    nl_free(load->places);
    nl_free(load->order);
    nl_free(load->names);
    nl_free(load->name_ids);
    nl_free(load->buffer);
    nl_idmap_release(&load->categories);
    nl_idmap_release(&load->run_lanes);
    nl_arena_free(&load->arena);
}
