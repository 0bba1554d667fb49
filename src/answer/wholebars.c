/* wholebars — see wholebars.h. */
#include "answer/wholebars.h"

#include "base/units.h"
#include "tables/memo.h"

#define MIN_OUTSIDE 0.005 /* of the whole: less is not named */

static void fill_bar(struct nl_verdict_bar *bar, const struct nl_device_breakdown *row,
                     const struct nl_time_parts *parts)
{
    const struct nl_time_part *part = parts->parts;
    bar->rank = row->rank;
    bar->device = row->ordinal;
    bar->ns = parts->total;
    bar->parts[NL_WHOLE_COMPUTE] = part[NL_TIME_COMPUTE].ns;
    bar->parts[NL_WHOLE_COMM] = part[NL_TIME_COMM].ns;
    bar->parts[NL_WHOLE_COPY] = part[NL_TIME_COPY].ns;
    bar->parts[NL_WHOLE_OUTSIDE] = parts->before + parts->after;
    bar->parts[NL_WHOLE_IDLE] = parts->total - part[NL_TIME_COMPUTE].ns - part[NL_TIME_COMM].ns -
                                part[NL_TIME_COPY].ns - parts->before - parts->after;
}

static const char *words_of(struct nl_device_case *it)
{
    char text[NL_UNIT_TEXT];
    const struct nl_time_parts *parts = &it->parts;
    int64_t outside = parts->before + parts->after;
    if (it->in_steps)
        return nl_arena_format(&it->judged->report->arena, "%s steady step%s",
                               nl_format_count(text, (uint64_t)it->steps),
                               it->steps == 1 ? "" : "s");
    if ((double)outside < MIN_OUTSIDE * (double)parts->total)
        return "from its first work to the last";
    return parts->after > parts->before ? "with the CPU's work after it"
                                        : "with the CPU's work before it";
}

void nl_whole_bars(struct nl_device_case *it)
{
    size_t count;
    struct nl_verdict_words *verdict = it->judged->verdict;
    const struct nl_device_breakdown *rows = nl_memo_breakdown(it->judged->options->memo, &count);
    verdict->whole = words_of(it);
    verdict->rank = it->row.rank;
    verdict->device = it->row.ordinal;
    verdict->whole_ns = it->parts.total;
    verdict->whole_wall_ns = it->row.wall_ns;
    verdict->whole_steps = it->in_steps ? (size_t)it->steps : 0;
    for (size_t i = 0; i < count; i++) {
        struct nl_time_parts other;
        const struct nl_time_parts *parts = &it->parts;
        size_t room = NL_VERDICT_BARS - verdict->bar_count;
        bool keeps = i == it->parts.device || room > (i < it->parts.device);
        if (keeps && i != it->parts.device) {
            keeps = nl_time_sums(it->judged, i, it->in_steps ? NL_STEADY : NL_PHASES, &other) &&
                    other.total > 0;
            parts = &other;
        }
        if (keeps)
            fill_bar(&verdict->bars[verdict->bar_count++], &rows[i], parts);
        else
            verdict->bar_more++;
    }
}
