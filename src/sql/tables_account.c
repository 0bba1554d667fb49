/* Table function on account/account.h: every nanosecond booked once. */
#include "account/account.h"

#include "base/mem.h"
#include "sql/tablecells.h"

#define MAX_TEXT (1 << 20)

/* What a statement reads; claims are made when they are first asked for. */
struct opened {
    struct nl_account *account;
    struct nl_window window;
    const char **claims;
    size_t claim_count;
    bool claimed;
};

static bool open_account(struct nl_tf_call *call, sqlite3_value **args)
{
    struct opened *opened = nl_zalloc(sizeof *opened);
    opened->window = nl_argument_window(call, args, true);
    opened->account = nl_account_new(call->db->trace, &opened->window);
    call->rows = opened->account->row_count;
    call->state = opened;
    return true;
}

static void close_account(struct nl_tf_call *call)
{
    struct opened *opened = call->state;
    if (!opened)
        return;
    nl_account_free(opened->account);
    nl_free(opened->claims);
    nl_free(opened);
}

static void show_finding(const struct nl_tf_call *call, size_t index, sqlite3_context *context)
{
    struct opened *opened = call->state;
    if (!opened->claimed && call->db->options.claims)
        opened->claims = call->db->options.claims(call->db->trace, &opened->window, call->db->job,
                                                  &opened->claim_count);
    opened->claimed = true;
    if (!opened->claims && nl_db_must_stop(call->db)) { /* they were not made: no answer says so */
        sqlite3_result_error_code(context, SQLITE_INTERRUPT);
        return;
    }
    nl_show_text(context, index < opened->claim_count ? opened->claims[index] : NULL);
}

static void show_culprit(const struct nl_account *account, const struct nl_account_row *row,
                         sqlite3_context *context)
{
    struct nl_buf text;
    nl_buf_init(&text, MAX_TEXT);
    nl_account_culprit(account, row, &text);
    sqlite3_result_text64(context, text.ptr ? text.ptr : "", text.len, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
    nl_buf_release(&text);
}

static void show_name(const struct nl_account *account, uint32_t id, sqlite3_context *context)
{
    struct nl_str name = nl_account_name(account, id);
    if (id == NL_NO_NAME)
        sqlite3_result_null(context);
    else
        sqlite3_result_text64(context, name.ptr, name.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void show_share(int64_t part, int64_t whole, sqlite3_context *context)
{
    if (whole > 0)
        sqlite3_result_double(context, (double)part / (double)whole);
    else
        sqlite3_result_null(context);
}

static void show_process(const struct nl_account *account, const struct nl_account_row *row,
                         sqlite3_context *context)
{
    uint32_t process = account->devices[row->device].process;
    nl_show_int(context,
                process == NL_NULL_ROW ? NL_NULL_I64 : account->trace->process.pid[process]);
}

#define ACCOUNT_COLUMNS(C, P)                                                                      \
    C(P, rank, "INTEGER", "rank, where only one used the device")                                  \
    C(P, device, "INTEGER", "device number within its rank; NULL in a CPU-only account")           \
    C(P, phase, "TEXT", "startup, warmup, steady, tail or outlier")                                \
    C(P, part, "TEXT",                                                                             \
      "compute, exposed_comm, exposed_comm_wait, exposed_comm_transfer, exposed_copy, "            \
      "exposed_memset, migration, idle, before_device or after_device")                            \
    C(P, culprit, "TEXT", "who had the time: a kernel, a copy and its owner, what the CPU did")    \
    C(P, ns, "INTEGER NS", "time booked")                                                          \
    C(P, ns_per_step, "INTEGER NS", "over the steps of the phase; NULL without steps")             \
    C(P, share, "REAL", "of all time of the device's account")                                     \
    C(P, inside, "INTEGER",                                                                        \
      "1 between the device's first and last work; NULL where the file has no start times")        \
    C(P, finding, "TEXT",                                                                          \
      "id of the finding that explains the row (at most one); NULL where none does")               \
    C(P, phase_share, "REAL", "of the device's time in that phase")                                \
    C(P, kind, "TEXT", "category of the kernel, kind of copy, or what the CPU did: operator, …")   \
    C(P, op, "TEXT", "operator that launched the work")                                            \
    C(P, range, "TEXT", "module, else NVTX range or annotation, that launched it")                 \
    C(P, wait, "TEXT",                                                                             \
      "idle: blocking call without which the CPU could have run ahead through the time")           \
    C(P, class, "TEXT", "idle: host_late, dependency, launch_latency, queued, unknown or short")   \
    C(P, thread, "TEXT", "who did it: launching, or other, a thread it waited for")                \
    C(P, count, "INTEGER", "operations on the device, or idle gaps")                               \
    C(P, bytes, "INTEGER", "of copies and memsets")                                                \
    C(P, process, "INTEGER", "OS process id; NULL where several processes share a device")         \
    C(P, name, "TEXT", "the kernel, collective or copy, or what the CPU did, by itself")
NL_TF_COLUMNS(account_columns, ACCOUNT, ACCOUNT_COLUMNS);

static void more_columns(const struct nl_tf_call *call, const struct nl_account_row *row,
                         int column, sqlite3_context *context)
{
    char room[64];
    const struct nl_account *account = ((const struct opened *)call->state)->account;
    switch (column) {
    case ACCOUNT_kind:
        sqlite3_result_text(context, nl_account_kind(row, room), -1, SQLITE_TRANSIENT);
        break;
    case ACCOUNT_op: show_name(account, row->op, context); break;
    case ACCOUNT_range: show_name(account, row->module_or_range, context); break;
    case ACCOUNT_wait: show_name(account, row->wait, context); break;
    case ACCOUNT_class:
        nl_show_text(context, row->class < NL_IDLE_CLASSES
                                  ? nl_idle_class_name((enum nl_idle_class)row->class)
                                  : NULL);
        break;
    case ACCOUNT_thread:
        nl_show_text(context, row->activity != NL_ACTIVITY_COUNT
                                  ? nl_idle_thread_name(row->activity, row->elsewhere)
                                  : NULL);
        break;
    case ACCOUNT_count: nl_show_int(context, (int64_t)row->count); break;
    case ACCOUNT_bytes:
        nl_show_int(context, row->bytes == NL_NULL_U64 ? NL_NULL_I64 : (int64_t)row->bytes);
        break;
    case ACCOUNT_process: show_process(account, row, context); break;
    default: show_name(account, row->name, context); break;
    }
}

static void account_column(const struct nl_tf_call *call, size_t index, int column,
                           sqlite3_context *context)
{
    const struct nl_account *account = ((const struct opened *)call->state)->account;
    const struct nl_account_row *row = &account->rows[index];
    const struct nl_account_device *device = &account->devices[row->device];
    switch (column) {
    case ACCOUNT_rank: nl_show_int(context, device->rank); break;
    case ACCOUNT_device: nl_show_int(context, device->ordinal); break;
    case ACCOUNT_phase: nl_show_text(context, nl_phase_name((enum nl_phase)row->phase)); break;
    case ACCOUNT_part:
        nl_show_text(context, nl_account_part_name((enum nl_account_part)row->part));
        break;
    case ACCOUNT_culprit: show_culprit(account, row, context); break;
    case ACCOUNT_ns: nl_show_int(context, row->ns); break;
    case ACCOUNT_ns_per_step: nl_show_int(context, nl_account_per_step(account, row)); break;
    case ACCOUNT_share: show_share(row->ns, nl_account_total(device), context); break;
    case ACCOUNT_inside:
        nl_show_int(context, device->starts_unknown ? NL_NULL_I64 : row->inside);
        break;
    case ACCOUNT_finding: show_finding(call, index, context); break;
    case ACCOUNT_phase_share: show_share(row->ns, device->phase_ns[row->phase], context); break;
    default: more_columns(call, row, column, context); break;
    }
}

const struct nl_table_function nl_tf_account = {
    .name = "account",
    .signature = "account(window_start, window_end, window_rank)",
    .doc =
        "Where all time went: every nanosecond of each device counted once, with a phase, a part "
        "and a culprit. Between a device's first and last work (inside = 1) the parts add up to "
        "those of time_breakdown: Σ ns = wall_ns, exactly. before_device and after_device are what "
        "the thread that feeds the device did. A process without device work has the account of "
        "its main thread, with device NULL: compute is what the thread worked on, idle where it "
        "waited or nothing was recorded. With a window, everything is clipped to it.",
    .example =
        "SELECT phase, part, culprit, ns, ns_per_step FROM account ORDER BY ns DESC LIMIT 10",
    .columns = account_columns,
    .arguments = (const struct nl_tf_column[]){{"window_start", "INTEGER", "first ns to look at"},
                                               {"window_end", "INTEGER",
                                                "end of what to look at, not included"},
                                               {"window_rank", "INTEGER", "only this rank"},
                                               {0}},
    .listed = true,
    .open = open_account,
    .column = account_column,
    .close = close_account};
