/* latewords — the sentence about the rank that the others wait for: who waits how long, and what it does longer than they. */
#include "answer/devicewords.h"

#include "tables/answer.h"

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

/* "; the CPU is in aten::add 10.99 ms (4.352 ms on the others), cudaLaunchKernel 5.209 ms (not on the others)". */
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

void nl_device_tell_late(struct nl_device_case *it)
{
    const struct nl_late_rank *late = &it->late;
    struct nl_verdict_words *verdict = it->judged->verdict;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_format(out, "Rank %lld is late: ", (long long)late->rank);
    if (late->others == 1)
        nl_buf_format(out, "rank %lld waits for it inside collectives", (long long)late->one_other);
    else
        nl_tell_number(out, "the other ", (int64_t)late->others, "rank",
                       "ranks wait for it inside collectives");
    nl_tell_of(out, late->others == 1 ? " for " : ", on average ", late->waits_ns, late->total_ns);
    struct doing does = doing(late->class);
    nl_buf_format(out, "; meanwhile its %s %lld%s",
                  nl_answer_device_word(it->judged->trace, it->row.device),
                  (long long)it->row.ordinal, does.before);
    nl_tell_time(out, "", late->ns);
    nl_buf_text(out, does.after);
    nl_tell_time(out, ", ", late->longer_ns);
    nl_buf_text(out, late->others == 1 ? " longer than the other" : " longer than the others");
    put_names(late, out);
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &verdict->sentence);
    verdict->culprit = late->names[0].name;
}
