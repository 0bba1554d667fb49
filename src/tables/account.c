/*
 * account — where all time went, every nanosecond booked once, to a phase, a part and a culprit.
 * The rows come from account/account.h; SQL has them as the table account.
 */
#include "account/account.h"

#include <string.h>

#include "tables/resultcells.h"
#include "tables/memo.h"

#define MAX_TEXT (1 << 20)

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(phase, NULL, TEXT)                                                                           \
    C(part, NULL, TEXT)                                                                            \
    C(culprit, NULL, TEXT)                                                                         \
    C(ns, "time", NS)                                                                              \
    C(ns_per_step, "per step", NS)                                                                 \
    C(share, "of all", SHARE)                                                                      \
    C(phase_share, "of phase", SHARE)                                                              \
    C(inside, NULL, INTEGER)                                                                       \
    C(finding, NULL, TEXT)                                                                         \
    C(kind, NULL, TEXT)                                                                            \
    C(op, "operator", TEXT)                                                                        \
    C(range, NULL, TEXT)                                                                           \
    C(wait, "after the wait", TEXT)                                                                \
    C(class, NULL, TEXT)                                                                           \
    C(thread, NULL, TEXT)                                                                          \
    C(count, NULL, COUNT)                                                                          \
    C(bytes, NULL, BYTES)
NL_COLUMNS(COLUMNS);

static struct nl_cell name_cell(struct nl_result *result, const struct nl_account *account,
                                uint32_t id)
{
    return id == NL_NO_NAME ? nl_cell_static(NULL)
                            : nl_cell_text(result, nl_account_name(account, id));
}

static void add_account_row(struct nl_result *result, const struct nl_account *account,
                            const struct nl_account_row *row, const char *finding,
                            struct nl_buf *text)
{
    const struct nl_account_device *device = &account->devices[row->device];
    char room[64];
    nl_buf_clear(text);
    nl_account_culprit(account, row, text);
    const char *kind = nl_account_kind(row, room);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(device->rank);
    cells[AT_device] = nl_cell_i64(device->ordinal);
    cells[AT_phase] = nl_cell_static(nl_phase_name((enum nl_phase)row->phase));
    cells[AT_part] = nl_cell_static(nl_account_part_name((enum nl_account_part)row->part));
    cells[AT_culprit] = nl_cell_text(result, (struct nl_str){text->ptr, text->len});
    cells[AT_ns] = nl_cell_i64(row->ns);
    cells[AT_ns_per_step] = nl_cell_i64(nl_account_per_step(account, row));
    cells[AT_share] = nl_cell_share(row->ns, nl_account_total(device));
    cells[AT_phase_share] = nl_cell_share(row->ns, device->phase_ns[row->phase]);
    cells[AT_inside] = nl_cell_i64(device->starts_unknown ? NL_NULL_I64 : row->inside);
    cells[AT_finding] = nl_cell_static(finding);
    cells[AT_kind] = nl_cell_text(result, nl_str(kind));
    cells[AT_op] = name_cell(result, account, row->op);
    cells[AT_range] = name_cell(result, account, row->module_or_range);
    cells[AT_wait] = name_cell(result, account, row->wait);
    if (row->class < NL_IDLE_CLASSES)
        cells[AT_class] = nl_cell_static(nl_idle_class_name((enum nl_idle_class)row->class));
    if (row->activity != NL_ACTIVITY_COUNT)
        cells[AT_thread] = nl_cell_static(nl_idle_thread_name(row->activity, row->elsewhere));
    cells[AT_count] = nl_cell_count(row->count);
    cells[AT_bytes] = nl_cell_count(row->bytes);
}

static struct nl_result *account_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)job;
    (void)err;
    (void)trace;
    const struct nl_account *account = nl_memo_account(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("account", NULL, columns);
    struct nl_buf text;
    nl_buf_init(&text, MAX_TEXT);
    for (size_t i = 0; i < account->row_count; i++)
        add_account_row(result, account, &account->rows[i],
                        i < options->claim_count ? options->claims[i] : NULL, &text);
    nl_buf_release(&text);
    nl_result_settle(result, "ns");
    return result;
}

const struct nl_analysis nl_analysis_account = {
    .name = "account",
    .key = "account",
    .title = "Account of all time",
    .run = account_run,
    .doc =
        "Attributes every nanosecond of each device exactly once: phase (startup, warmup, steady, "
        "tail, outlier), part (compute, exposed_comm, exposed_copy, …, idle, before_device, "
        "after_device) and culprit, with the time per step. inside = 1 between the device's first "
        "and last work: there the parts add up to those of time_breakdown, exactly. For a process "
        "without device work it is the account of the main thread. `wait` names the blocking call "
        "without which the CPU could have run ahead and hidden that idle time.",
};
