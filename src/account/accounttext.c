/* What an account's rows are called. */
#include <stdio.h>

#include "account/account.h"

const char *nl_account_part_name(enum nl_account_part part)
{
    static const char *const names[NL_BOOKED_PARTS] = {[NL_BOOKED_COMPUTE] = "compute",
                                                       [NL_BOOKED_COMM_WAIT] = "exposed_comm_wait",
                                                       [NL_BOOKED_COMM_TRANSFER] =
                                                           "exposed_comm_transfer",
                                                       [NL_BOOKED_COMM] = "exposed_comm",
                                                       [NL_BOOKED_COPY] = "exposed_copy",
                                                       [NL_BOOKED_MEMSET] = "exposed_memset",
                                                       [NL_BOOKED_MIGRATION] = "migration",
                                                       [NL_BOOKED_IDLE] = "idle",
                                                       [NL_BOOKED_BEFORE] = "before_device",
                                                       [NL_BOOKED_AFTER] = "after_device"};
    return names[part];
}

/* "HtoD (pageable)": the memory on the host's side, where it is known and says something. */
static const char *copy_kind(const struct nl_account_row *row, char room[64])
{
    const char *kind = nl_enum_text(NL_ENUM_copykind, nl_account_copykind(row));
    enum nl_memory from = nl_account_src_memory(row), to = nl_account_dst_memory(row);
    enum nl_memory host = from == NL_MEMORY_DEVICE || from == NL_MEMORY_UNKNOWN ? to : from;
    const char *memory = host == NL_MEMORY_DEVICE ? NULL : nl_enum_text(NL_ENUM_memory, host);
    if (!memory)
        return kind ? kind : "copy";
    (void)snprintf(room, 64, "%s (%s)", kind ? kind : "copy", memory);
    return room;
}

const char *nl_account_kind(const struct nl_account_row *row, char room[64])
{
    const char *category;
    if (row->activity != NL_ACTIVITY_COUNT)
        return nl_activity_name((enum nl_activity)row->activity);
    switch ((enum nl_account_part)row->part) {
    case NL_BOOKED_COPY:
    case NL_BOOKED_MIGRATION:
        if (row->category_or_copy > UINT8_MAX)
            return copy_kind(row, room);
        return "copy kernel";
    case NL_BOOKED_MEMSET: return "memset";
    case NL_BOOKED_COMM_WAIT:
    case NL_BOOKED_COMM_TRANSFER:
    case NL_BOOKED_COMM: return "communication";
    default:
        category = nl_enum_text(NL_ENUM_category, row->category_or_copy);
        return category ? category : "kernel";
    }
}

struct nl_str nl_account_name(const struct nl_account *account, uint32_t id)
{
    uint32_t folded = account->fold.ids[id];
    return folded ? nl_dict_text(&account->fold.texts, folded - 1)
                  : nl_trace_name(account->trace, id);
}

static void add_name(const struct nl_account *account, uint32_t name, struct nl_buf *out)
{
    struct nl_str text = nl_account_name(account, name);
    nl_buf_add(out, text.ptr, text.len);
}

static void add_full_name(const struct nl_account *account, uint32_t name, struct nl_buf *out)
{
    struct nl_str text = nl_trace_name(account->trace, name);
    nl_buf_add(out, text.ptr, text.len);
}

/* Who made a copy says more than its name. */
static void tell_copy(const struct nl_account *account, const struct nl_account_row *row,
                      struct nl_buf *out)
{
    char room[64];
    uint32_t by = row->module_or_range != NL_NO_NAME ? row->module_or_range : row->op;
    if (row->category_or_copy <= UINT8_MAX && row->name != NL_NO_NAME)
        add_full_name(account, row->name, out);
    else
        nl_buf_text(out, nl_account_kind(row, room));
    if (by != NL_NO_NAME) {
        nl_buf_text(out, " · ");
        add_name(account, by, out);
    }
}

/* What the CPU did, or the device. */
static void tell_name(const struct nl_account *account, const struct nl_account_row *row,
                      struct nl_buf *out)
{
    char room[64];
    if (row->name != NL_NO_NAME && row->activity == NL_ACTIVITY_COUNT)
        add_full_name(account, row->name, out);
    else if (row->name != NL_NO_NAME)
        add_name(account, row->name, out);
    else
        nl_buf_text(out, nl_account_kind(row, room));
    if (row->activity == NL_ACTIVITY_COPY && row->part == NL_BOOKED_IDLE &&
        !account->trace->copy.rows)
        nl_buf_text(out, " (its copies were not recorded)");
}

void nl_account_put_member(const struct nl_account *account, size_t member, struct nl_buf *out)
{
    const struct nl_account_member *it = &account->members[member];
    const struct nl_trace *trace = account->trace;
    bool by_rank = it->rank != NL_NULL_I64;
    if (by_rank)
        nl_buf_format(out, "rank %lld", (long long)it->rank);
    if (!by_rank || (!it->alone && it->device != NL_NULL_ROW))
        nl_buf_format(out, "%s%s %lld", by_rank ? " " : "", nl_device_word(trace, it->device),
                      (long long)trace->device.ordinal[it->device]);
}

const struct nl_account_device *nl_account_member_device(const struct nl_account *account,
                                                         size_t member)
{
    const struct nl_account_member *it = &account->members[member];
    for (size_t i = 0; i < account->device_count; i++) {
        const struct nl_account_device *device = &account->devices[i];
        if (device->device == it->device && device->rank == it->rank &&
            device->work_start != INT64_MIN)
            return device;
    }
    return NULL;
}

void nl_account_culprit(const struct nl_account *account, const struct nl_account_row *row,
                        struct nl_buf *out)
{
    switch ((enum nl_account_part)row->part) {
    case NL_BOOKED_COPY:
    case NL_BOOKED_MEMSET:
    case NL_BOOKED_MIGRATION: tell_copy(account, row, out); return;
    default: break;
    }
    if (row->class == NL_IDLE_SHORT)
        nl_buf_text(out, "gaps under 1 µs");
    else if (row->activity == NL_ACTIVITY_QUEUED && row->class == NL_IDLE_DEPENDENCY)
        nl_buf_text(out, "queued: waits for an event of another stream");
    else if (row->activity == NL_ACTIVITY_QUEUED && row->class == NL_IDLE_QUEUED)
        nl_buf_text(out, "queued: launched but not started");
    else if (row->activity == NL_ACTIVITY_QUEUED)
        nl_buf_text(out, "queued: launch latency");
    else
        tell_name(account, row, out);
    if (row->group != NL_NO_NAME) {
        nl_buf_text(out, ", group ");
        add_full_name(account, row->group, out);
    }
    if (row->part == NL_BOOKED_COMM_WAIT && row->late != NL_NULL_ROW) {
        nl_buf_text(out, ", waiting for ");
        nl_account_put_member(account, row->late, out);
    }
}
