/* latewords — the sentence about the rank or device that the others wait for: who waits how long,
 * and what it does longer than they. */
#include "answer/latewords.h"

#include "tables/memo.h"

/* What the device does in that time, around the time: "computes 40.00 ms". */
struct doing {
    const char *before, *after;
};

static struct doing doing(enum nl_verdict_class class)
{
    switch (class) {
    case NL_VERDICT_COMPUTE: return (struct doing){" computes ", ""};
    case NL_VERDICT_COPY: return (struct doing){" is ", " in exposed copies"};
    case NL_VERDICT_LAUNCH: return (struct doing){" waits ", " for the CPU to launch work"};
    case NL_VERDICT_INPUT: return (struct doing){" waits ", " for input data"};
    case NL_VERDICT_SYNC:
        return (struct doing){" is idle ", " while the CPU still sits in a blocking call"};
    case NL_VERDICT_STARTUP: return (struct doing){" waits ", " for first-time calls"};
    case NL_VERDICT_HOST: return (struct doing){" waits ", " for long CPU work"};
    default: return (struct doing){" is idle ", " for no reason that was recorded"};
    }
}

/* "; the CPU is in aten::add 10.99 ms (4.352 ms on the others), cudaLaunchKernel 5.209
 * ms (not on the others)". */
static void put_names(const struct nl_late_rank *late, struct nl_buf *out)
{
    bool computes = late->class == NL_VERDICT_COMPUTE;
    for (size_t i = 0; i < NL_LATE_NAMES && late->names[i].name; i++) {
        const struct nl_late_name *name = &late->names[i];
        nl_tell_name(out,
                     i          ? ", "
                     : computes ? "; longer in "
                                : "; the CPU is in ",
                     nl_str(name->name));
        nl_tell_time(out, " ", name->ns);
        const char *where = late->others == 1 ? "on the other" : "on the others";
        if (name->others_ns)
            nl_tell_time(out, " (", name->others_ns);
        nl_buf_format(out, name->others_ns ? " %s)" : " (not %s)", where);
    }
}

static const char *word_of(const struct nl_device_case *it)
{
    return nl_device_word(it->judged->trace, it->row.device);
}

/* "rank 3" where each rank has one device, else "GPU 1" or "rank 0 GPU 1". */
static void put_who(const struct nl_device_case *it, const char *rank,
                    const struct nl_device_breakdown *row, struct nl_buf *out)
{
    if (row->rank != NL_NULL_I64)
        nl_buf_format(out, "%s %lld", rank, (long long)row->rank);
    if (!it->late.by_rank)
        nl_buf_format(out, "%s%s %lld", row->rank != NL_NULL_I64 ? " " : "", word_of(it),
                      (long long)row->ordinal);
}

/* "rank 0 waits", "the other 3 GPUs wait". */
static void put_others(const struct nl_device_case *it, struct nl_buf *out)
{
    const struct nl_late_rank *late = &it->late;
    size_t count;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(it->judged->options->memo, &count);
    if (late->others > 1) {
        nl_buf_format(out, "the other %zu %ss wait", late->others,
                      late->by_rank ? "rank" : word_of(it));
        return;
    }
    put_who(it, "rank", &rows[late->one_other], out);
    nl_buf_text(out, " waits");
}

void nl_device_tell_late(struct nl_device_case *it)
{
    const struct nl_late_rank *late = &it->late;
    struct nl_verdict_words *verdict = it->judged->verdict;
    struct nl_buf *out = nl_tell_begin(it->judged);
    put_who(it, "Rank", &it->row, out);
    nl_buf_text(out, " is late: ");
    put_others(it, out);
    nl_buf_text(out, " for it inside collectives");
    nl_tell_of(out, late->others == 1 ? " for " : ", on average ", late->waits_ns, late->total_ns);
    struct doing does = doing(late->class);
    if (late->by_rank)
        nl_buf_format(out, "; meanwhile its %s %lld", word_of(it), (long long)it->row.ordinal);
    else
        nl_buf_text(out, "; meanwhile it");
    nl_buf_text(out, does.before);
    nl_tell_time(out, "", late->ns);
    nl_buf_text(out, does.after);
    nl_tell_time(out, ", ", late->longer_ns);
    nl_buf_text(out, late->others == 1 ? " longer than the other" : " longer than the others");
    put_names(late, out);
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &verdict->sentence);
    verdict->culprit = late->names[0].name;
}
