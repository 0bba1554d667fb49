/* Every read is checked against the end of the record. */
#include "capture/native/perfrecord.h"

#include <linux/perf_event.h>
#include <string.h>

/* What is left of a record. */
struct cursor {
    const unsigned char *at, *end;
    bool cut;
};

static const unsigned char *read_bytes(struct cursor *cursor, size_t bytes)
{
    const unsigned char *at = cursor->at;
    if ((size_t)(cursor->end - at) < bytes) {
        cursor->cut = true;
        cursor->at = cursor->end;
        return NULL;
    }
    cursor->at += bytes;
    return at;
}

static uint64_t take_u64(struct cursor *cursor)
{
    const unsigned char *at = read_bytes(cursor, sizeof(uint64_t));
    return at ? perf_record_u64(at, 0) : 0;
}

static void take_pair(struct cursor *cursor, int64_t *first, int64_t *second)
{
    int32_t pair[2] = {0, 0};
    const unsigned char *at = read_bytes(cursor, sizeof pair);
    if (at)
        memcpy(pair, at, sizeof pair);
    *first = pair[0];
    *second = pair[1];
}

/* A count, then so many items of 8 bytes. */
static const unsigned char *take_list(struct cursor *cursor, size_t *count)
{
    uint64_t items = take_u64(cursor);
    *count = 0;
    if (items > (size_t)(cursor->end - cursor->at) / sizeof(uint64_t)) {
        cursor->cut = true;
        return NULL;
    }
    *count = (size_t)items;
    return read_bytes(cursor, (size_t)items * sizeof(uint64_t));
}

/* A length, so many bytes, and how many of these count. */
static void take_stack(struct cursor *cursor, struct perf_record *record)
{
    uint64_t room = take_u64(cursor);
    if (!room)
        return;
    if (room > (size_t)(cursor->end - cursor->at)) {
        cursor->cut = true;
        return;
    }
    record->stack = read_bytes(cursor, (size_t)room);
    uint64_t filled = take_u64(cursor);
    record->stack_len = filled < room ? (size_t)filled : (size_t)room;
}

static void take_registers(struct cursor *cursor, uint64_t mask, struct perf_record *record)
{
    uint64_t abi = take_u64(cursor);
    size_t count = (size_t)__builtin_popcountll(mask);
    if (abi == PERF_SAMPLE_REGS_ABI_NONE)
        return;
    const unsigned char *values = read_bytes(cursor, count * sizeof(uint64_t));
    if (abi != PERF_SAMPLE_REGS_ABI_64 || !values)
        return; /* a 32-bit program: its samples have no stack */
    record->registers = values;
    record->register_count = count;
}

static void read_sample(struct cursor *cursor, const struct perf_record_layout *layout,
                        struct perf_record *record)
{
    uint64_t type = layout->sample_type;
    if (type & PERF_SAMPLE_IP)
        record->ip = take_u64(cursor);
    if (type & PERF_SAMPLE_TID)
        take_pair(cursor, &record->pid, &record->tid);
    if (type & PERF_SAMPLE_TIME)
        record->time = take_u64(cursor);
    if (type & PERF_SAMPLE_CPU)
        record->cpu = take_u64(cursor) & UINT32_MAX;
    if (type & PERF_SAMPLE_PERIOD)
        record->period = take_u64(cursor);
    if (type & PERF_SAMPLE_CALLCHAIN)
        record->chain = take_list(cursor, &record->chain_count);
    if (type & PERF_SAMPLE_REGS_USER)
        take_registers(cursor, layout->registers, record);
    if (type & PERF_SAMPLE_STACK_USER)
        take_stack(cursor, record);
}

/* What sample_id_all puts at the end of every record that is no sample. */
static void read_tail(struct cursor *cursor, const struct perf_record_layout *layout,
                      struct perf_record *record)
{
    uint64_t type = layout->sample_type;
    size_t bytes = 8 * (size_t)__builtin_popcountll(
                           type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU));
    if ((size_t)(cursor->end - cursor->at) < bytes) {
        cursor->cut = true;
        return;
    }
    struct cursor tail = {cursor->end - bytes, cursor->end, false};
    if (type & PERF_SAMPLE_TID)
        take_pair(&tail, &record->pid, &record->tid);
    if (type & PERF_SAMPLE_TIME)
        record->time = take_u64(&tail);
    if (type & PERF_SAMPLE_CPU)
        record->cpu = take_u64(&tail) & UINT32_MAX;
    cursor->end -= bytes;
}

static const char *take_text(struct cursor *cursor)
{
    size_t room = (size_t)(cursor->end - cursor->at);
    const char *text = (const char *)cursor->at;
    if (!memchr(text, 0, room)) {
        cursor->cut = true;
        return NULL;
    }
    return text;
}

static void read_map(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
    int64_t pid, tid;
    record->kind = PERF_RECORD_KIND_MAP;
    take_pair(cursor, &pid, &tid);
    record->pid = pid; /* of the mapping; the tail names the thread that made it */
    record->start = take_u64(cursor);
    record->len = take_u64(cursor);
    record->file_offset = take_u64(cursor);
    const unsigned char *identity = read_bytes(cursor, 24);
    (void)read_bytes(cursor, 8); /* protection and flags */
    if (identity && misc & PERF_RECORD_MISC_MMAP_BUILD_ID && identity[0] &&
        identity[0] <= PERF_MAX_RECORD_ID) {
        record->id_len = identity[0];
        record->id = identity + 4;
    }
    record->text = take_text(cursor);
}

static void read_comm(struct cursor *cursor, uint16_t misc, struct perf_record *record)
{
    int64_t pid, tid;
    record->kind = PERF_RECORD_KIND_COMM;
    record->exec = (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
    take_pair(cursor, &pid, &tid);
    record->pid = pid;
    record->tid = tid;
    record->text = take_text(cursor);
}

static void read_task(struct cursor *cursor, enum perf_record_kind kind, struct perf_record *record)
{
    int64_t parent_thread;
    record->kind = kind;
    take_pair(cursor, &record->pid, &record->parent);
    take_pair(cursor, &record->tid, &parent_thread);
}

static void read_switch(uint16_t misc, struct perf_record *record)
{
    record->kind = PERF_RECORD_KIND_SWITCH;
    record->out = (misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    record->preempted = (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
}

static void read_lost(struct cursor *cursor, struct perf_record *record)
{
    record->kind = PERF_RECORD_KIND_LOST;
    (void)take_u64(cursor); /* number of the event */
    record->lost = take_u64(cursor);
}

bool perf_record_read(const struct perf_record_layout *layout, const unsigned char *bytes,
                      size_t len, struct perf_record *record)
{
    struct perf_event_header head;
    *record = (struct perf_record){.pid = -1, .tid = -1, .parent = -1};
    if (len < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (head.size != len)
        return false;
    struct cursor cursor = {bytes + sizeof head, bytes + len, false};
    if (head.type == PERF_RECORD_SAMPLE) {
        record->kind = PERF_RECORD_KIND_SAMPLE;
        record->in_kernel = (head.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
        read_sample(&cursor, layout, record);
        return !cursor.cut;
    }
    read_tail(&cursor, layout, record);
    switch (head.type) {
    case PERF_RECORD_MMAP2: read_map(&cursor, head.misc, record); break;
    case PERF_RECORD_COMM: read_comm(&cursor, head.misc, record); break;
    case PERF_RECORD_FORK: read_task(&cursor, PERF_RECORD_KIND_FORK, record); break;
    case PERF_RECORD_EXIT: read_task(&cursor, PERF_RECORD_KIND_EXIT, record); break;
    case PERF_RECORD_SWITCH: read_switch(head.misc, record); break;
    case PERF_RECORD_LOST: read_lost(&cursor, record); break;
    case PERF_RECORD_THROTTLE: record->kind = PERF_RECORD_KIND_THROTTLE; break;
    default: break;
    }
    return !cursor.cut;
}
