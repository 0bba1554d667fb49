/* judge — see judge.h. */
#include "answer/judge.h"

#include "base/chars.h"
#include "base/demangle.h"
#include "base/units.h"
#include "tables/readname.h"
#include "tables/shortname.h"

#define SENTENCE_BYTES 4000
#define NAME_BYTES     72

const struct nl_result *nl_judged_part(const struct nl_judged *judged, const char *name)
{
    return nl_report_part(judged->report, name);
}

bool nl_judged_in_window(const struct nl_judged *judged)
{
    const struct nl_window *window = &judged->options->window;
    return window->has_time || window->has_rank || window->has_device;
}

struct nl_buf *nl_tell_begin(struct nl_judged *judged)
{
    nl_buf_clear(&judged->out);
    judged->out.max = SENTENCE_BYTES;
    return &judged->out;
}

void nl_tell_end(struct nl_judged *judged, const char **text)
{
    struct nl_buf *out = &judged->out;
    if (out->len && nl_is_lower(out->ptr[0]) && !strncmp(out->ptr, "rank ", 5))
        out->ptr[0] = 'R';
    if (out->len)
        *text = nl_arena_text(&judged->report->arena, out->ptr, out->len);
}

void nl_tell_note(struct nl_judged *judged)
{
    struct nl_verdict_words *verdict = judged->verdict;
    if (verdict->note_count < NL_VERDICT_NOTES && judged->out.len)
        nl_tell_end(judged, &verdict->notes[verdict->note_count++]);
}

void nl_tell_time(struct nl_buf *out, const char *before, int64_t ns)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(out, "%s%s", before, nl_format_ns(text, ns));
}

/* By eye: whole percents from ten on. */
void nl_tell_share(struct nl_buf *out, const char *before, double share)
{
    double percent = share * 100;
    nl_buf_format(out, percent >= 9.95 ? "%s%.0f %%" : "%s%.1f %%", before, percent);
}

void nl_tell_ratio(struct nl_buf *out, const char *before, int64_t part, int64_t whole)
{
    if (whole > 0)
        nl_tell_share(out, before, (double)part / (double)whole);
}

void nl_tell_of(struct nl_buf *out, const char *before, int64_t ns, int64_t whole)
{
    nl_tell_time(out, before, ns);
    nl_tell_time(out, " of ", whole);
    nl_tell_ratio(out, " (", ns, whole);
    nl_buf_char(out, ')');
}

void nl_tell_number(struct nl_buf *out, const char *before, int64_t count, const char *one,
                    const char *many)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(out, "%s%s %s", before, nl_format_count(text, (uint64_t)count),
                  count == 1 ? one : many);
}

void nl_tell_size(struct nl_buf *out, const char *before, uint64_t bytes)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(out, "%s%s", before, nl_format_bytes(text, bytes));
}

void nl_tell_name(struct nl_buf *out, const char *before, struct nl_str name)
{
    struct nl_buf plain;
    nl_buf_init(&plain, name.len + 1 > NL_MAX_DEMANGLED ? name.len + 1 : NL_MAX_DEMANGLED);
    nl_plain_name(&plain, name);
    nl_buf_text(out, before);
    nl_elide_name(out, plain.len ? (struct nl_str){plain.ptr, plain.len} : nl_str("(unnamed)"),
                  NAME_BYTES);
    nl_buf_release(&plain);
}

void nl_tell_kernel(struct nl_buf *out, const char *before, struct nl_str name)
{
    struct nl_buf read;
    nl_buf_init(&read, SENTENCE_BYTES);
    nl_read_kernel(&read, name);
    nl_tell_name(out, before, (struct nl_str){read.ptr, read.len});
    nl_buf_release(&read);
}

const char *nl_keep_name(struct nl_judged *judged, struct nl_str name)
{
    return name.len ? nl_arena_text(&judged->report->arena, name.ptr, name.len) : NULL;
}

const char *nl_keep_kernel(struct nl_judged *judged, struct nl_str name)
{
    struct nl_buf read;
    nl_buf_init(&read, SENTENCE_BYTES);
    nl_read_kernel(&read, name);
    const char *kept = nl_keep_name(judged, (struct nl_str){read.ptr, read.len});
    nl_buf_release(&read);
    return kept;
}
