/* Numbers are kept where they fit and are free, and replaced by the next free one elsewhere. */
#include "export/nsyswho.h"

#include <stdlib.h>

#include "base/sort.h"

#define LIMIT ((int64_t)1 << 24)
#define VM    ((int64_t)1 << 48) /* the machine: what Nsight Systems has for the only one */

/* ---- numbers ---- */

struct taken {
    unsigned char *bits;
    int64_t next;
};

static bool claim_number(struct taken *taken, int64_t number)
{
    if (number < 0 || number >= LIMIT || taken->bits[number / 8] >> number % 8 & 1)
        return false;
    taken->bits[number / 8] = (unsigned char)(taken->bits[number / 8] | 1u << number % 8);
    return true;
}

/* Gives `wanted`, or the next free number; there are fewer rows than
 * numbers, or the last is shared. */
static int64_t give(struct taken *taken, int64_t wanted, uint64_t *renumbered)
{
    if (claim_number(taken, wanted))
        return wanted;
    ++*renumbered;
    while (taken->next < LIMIT - 1 && !claim_number(taken, taken->next))
        taken->next++;
    return taken->next;
}

static void number_processes(struct nsys_who *who)
{
    const struct nl_process_table *table = &who->trace->process;
    struct taken taken = {nl_zalloc((size_t)LIMIT / 8), 1};
    uint32_t nameless = 0;
    for (uint32_t i = 0; i < table->rows; i++)
        nameless += table->pid[i] == NL_NULL_I64;
    for (uint32_t i = 0; i < table->rows; i++)
        who->process[i] =
            nameless == 1 && table->pid[i] == NL_NULL_I64
                ? NL_NULL_I64 /* work of one unknown process, as cut-down files have it */
                : VM | give(&taken, table->pid[i], &who->renumbered) << 24;
    nl_free(taken.bits);
}

static int by_key(const void *a, const void *b)
{
    const struct nl_keyed *x = a, *y = b;
    return x->key != y->key ? (x->key > y->key) - (x->key < y->key)
                            : (x->row > y->row) - (x->row < y->row);
}

/* Threads of a process one after the other: of one number, the first keeps it;
 * others follow the largest. */
static void number_threads(struct nsys_who *who)
{
    const struct nl_thread_table *table = &who->trace->thread;
    struct nl_keyed *keyed = nl_alloc((table->rows + (size_t)1) * sizeof *keyed);
    for (uint32_t i = 0; i < table->rows; i++)
        keyed[i] = (struct nl_keyed){table->process[i], i};
    if (table->rows)
        qsort(keyed, table->rows, sizeof *keyed, by_key);
    struct taken taken = {nl_zalloc((size_t)LIMIT / 8), 1};
    for (uint32_t i = 0; i < table->rows; i++) {
        uint32_t row = keyed[i].row, process = table->process[row];
        if (i && keyed[i].key != keyed[i - 1].key) {
            for (uint32_t j = i; j-- > 0 && keyed[j].key == keyed[i - 1].key;) {
                int64_t number = who->thread[keyed[j].row] & (LIMIT - 1);
                taken.bits[number / 8] = 0;
            }
            taken.next = 1;
        }
        int64_t tid = give(&taken, table->tid[row], &who->renumbered);
        bool known = process != NL_NULL_ROW && who->process[process] != NL_NULL_I64;
        who->thread[row] = (known ? who->process[process] : VM) | tid;
    }
    nl_free(taken.bits);
    nl_free(keyed);
}

static bool ordinals_differ(const struct nl_device_table *table)
{
    for (uint32_t i = 0; i < table->rows; i++) {
        if (table->ordinal[i] < 0)
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (table->ordinal[i] == table->ordinal[j])
                return false;
    }
    return true;
}

void nsys_who_make(struct nsys_who *who, const struct nl_trace *trace)
{
    *who = (struct nsys_who){.trace = trace};
    who->process = nl_alloc((trace->process.rows + (size_t)1) * sizeof *who->process);
    who->thread = nl_alloc((trace->thread.rows + (size_t)1) * sizeof *who->thread);
    who->own_ordinals = trace->device.rows <= 4096 && ordinals_differ(&trace->device);
    number_processes(who);
    number_threads(who);
}

void nsys_who_release(struct nsys_who *who)
{
    nl_free(who->process);
    nl_free(who->thread);
    *who = (struct nsys_who){0};
}

int64_t nsys_who_process(const struct nsys_who *who, uint32_t lane)
{
    uint32_t process = who->trace->lane.process[lane];
    return process == NL_NULL_ROW ? NL_NULL_I64 : who->process[process];
}

int64_t nsys_who_thread(const struct nsys_who *who, uint32_t lane)
{
    uint32_t thread = who->trace->lane.thread[lane];
    if (thread != NL_NULL_ROW)
        return who->thread[thread];
    int64_t process = nsys_who_process(who, lane);
    return process == NL_NULL_I64 ? VM : process | (process >> 24 & (LIMIT - 1));
}

static int64_t gpu_of(const struct nsys_who *who, uint32_t device)
{
    return who->own_ordinals ? who->trace->device.ordinal[device] : device;
}

int64_t nsys_who_device(const struct nsys_who *who, uint32_t lane)
{
    uint32_t device = who->trace->lane.device[lane];
    if (device == NL_NULL_ROW)
        return NL_NULL_I64;
    int64_t ordinal = who->trace->device.ordinal[device];
    return ordinal == NL_NULL_I64 ? gpu_of(who, device) : ordinal;
}

/* ---- tables ---- */

static void write_names(const struct nsys_who *who, struct nsys_db *db)
{
    const struct nl_trace *trace = who->trace;
    nsysdb_table(db, "PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT");
    for (uint32_t i = 0; i < trace->process.rows; i++) {
        if (who->process[i] == NL_NULL_I64)
            continue;
        nsysdb_number(db, who->process[i]);
        nsysdb_number(db, who->process[i] >> 24 & (LIMIT - 1));
        nsysdb_name_text(db, trace->process.name[i]);
        nsysdb_row(db);
    }
    nsysdb_table(db, "ThreadNames", "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER");
    for (uint32_t i = 0; i < trace->thread.rows; i++)
        if (trace->thread.name[i] != NL_NO_NAME) {
            nsysdb_name_id(db, trace->thread.name[i]);
            nsysdb_number(db, 0);
            nsysdb_number(db, who->thread[i]);
            nsysdb_row(db);
        }
}

static void write_gpus(const struct nsys_who *who, struct nsys_db *db)
{
    const struct nl_device_table *table = &who->trace->device;
    nsysdb_table(
        db, "TARGET_INFO_GPU",
        "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, "
        "totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, "
        "uuid TEXT, cuDevice INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, "
        "computeMajor INTEGER, computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER");
    for (uint32_t i = 0; i < table->rows; i++) {
        nsysdb_number(db, VM);
        nsysdb_number(db, gpu_of(who, i));
        nsysdb_name_text(db, table->name[i]);
        nsysdb_name_text(db, table->bus[i]);
        nsysdb_known_u64(db, table->memory_bytes[i]);
        nsysdb_known_u64(db, table->bandwidth_bytes_per_s[i]);
        nsysdb_known_u64(db, table->clock_hz[i]);
        nsysdb_known_u32(db, table->sm_count[i]);
        nsysdb_name_text(db, table->uuid[i]);
        nsysdb_known(db, who->own_ordinals ? table->ordinal[i] : NL_NULL_I64);
        nsysdb_known_u32(db, table->warp_size[i]);
        nsysdb_known_u32(db, table->max_warps_per_sm[i]);
        for (unsigned times = 0; times < 2; times++) {
            nsysdb_known_u32(db, table->compute_major[i]);
            nsysdb_known_u32(db, table->compute_minor[i]);
        }
        nsysdb_row(db);
    }
}

#define LOOK_BACK 4096 /* lanes: those of one GPU are adjacent */

/* Is the lane the first of its (process, device), level 0; … and context, level
 * 1; … and stream, level 2? */
static bool is_first(const struct nl_lane_table *table, uint32_t i, unsigned level)
{
    if (table->device[i] == NL_NULL_ROW || table->process[i] == NL_NULL_ROW ||
        (level >= 1 && table->context[i] == NL_NULL_I64) ||
        (level >= 2 && table->stream[i] == NL_NULL_I64))
        return false;
    for (uint32_t j = i; j-- > 0 && i - j < LOOK_BACK;)
        if (table->device[i] == table->device[j] && table->process[i] == table->process[j] &&
            (level < 1 || table->context[i] == table->context[j]) &&
            (level < 2 || table->stream[i] == table->stream[j]))
            return false;
    return true;
}

static void put_device(const struct nsys_who *who, struct nsys_db *db, uint32_t lane, int64_t pid)
{
    nsysdb_number(db, gpu_of(who, who->trace->lane.device[lane]));
    nsysdb_number(db, nsys_who_device(who, lane));
    nsysdb_number(db, pid);
    nsysdb_row(db);
}

/* A context or a stream: the columns that both tables have, and deviceId in the first. */
static void put_context(const struct nsys_who *who, struct nsys_db *db, uint32_t lane, int64_t pid,
                        bool stream)
{
    nsysdb_number(db, stream ? who->trace->lane.stream[lane] : 0);
    nsysdb_number(db, 0);
    nsysdb_number(db, 1);
    nsysdb_number(db, pid);
    if (!stream)
        nsysdb_number(db, nsys_who_device(who, lane));
    nsysdb_number(db, who->trace->lane.context[lane]);
    nsysdb_number(db, 0);
    nsysdb_number(db, 0);
    nsysdb_row(db);
}

static void each_lane(const struct nsys_who *who, struct nsys_db *db, unsigned level)
{
    const struct nl_lane_table *table = &who->trace->lane;
    for (uint32_t i = 0; i < table->rows; i++) {
        int64_t global = nsys_who_process(who, i), pid = global >> 24 & (LIMIT - 1);
        if (global == NL_NULL_I64 || !is_first(table, i, level))
            continue;
        if (level == 0)
            put_device(who, db, i, pid);
        else
            put_context(who, db, i, pid, level == 2);
    }
}

void nsys_who_write(const struct nsys_who *who, struct nsys_db *db)
{
    write_names(who, db);
    write_gpus(who, db);
    nsysdb_table(db, "TARGET_INFO_CUDA_DEVICE",
                 "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL");
    each_lane(who, db, 0);
    nsysdb_table(
        db, "TARGET_INFO_CUDA_CONTEXT_INFO",
        "nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
        "processId INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
        "parentContextId INTEGER, isGreenContext INTEGER");
    each_lane(who, db, 1);
    nsysdb_table(
        db, "TARGET_INFO_CUDA_STREAM",
        "streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, "
        "processId INTEGER NOT NULL, contextId INTEGER NOT NULL, priority INTEGER NOT NULL, "
        "flag INTEGER NOT NULL");
    each_lane(who, db, 2);
}
