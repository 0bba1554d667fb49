/*
 * Texts that look alike when elided are found by sorting what would be shown. Of such a group the
 * first place where its texts differ becomes part of the cut: head … place … tail. Those that agree
 * there, too, are a smaller group with a later place in the next round; what no round distinguishes
 * is numbered.
 */
#include "view/distinct.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/chars.h"
#include "view/celltext.h"

#define MIN_WIDTH         12 /* below it, three parts say nothing */
#define SHORTENING_ROUNDS 6
#define SHOWN_BYTES       ((size_t)1 << 20)

struct entry {
    struct nl_str text, cut;
    uint32_t row;
};

static int by_cut(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int order = nl_str_order(a->cut, b->cut);
    return order ? order : nl_str_order(a->text, b->text);
}

/* Where two texts differ first, moved back to the start of its word, by `most` bytes at most. */
static size_t difference_start(struct nl_str a, struct nl_str b, size_t most)
{
    size_t same = 0;
    while (same < a.len && same < b.len && a.ptr[same] == b.ptr[same])
        same++;
    size_t at = same;
    while (at && same - at < most && nl_is_alnum(a.ptr[at - 1]))
        at--;
    if (at && nl_is_alnum(a.ptr[at - 1]))
        at = same; /* one long word: from the difference on */
    while (at && at < a.len && ((unsigned char)a.ptr[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Bytes of the start, or with `end` of the end, of a text that take `width` columns at most. */
static struct nl_str part_of(struct nl_str text, size_t width, bool end)
{
    size_t len = text.len < width ? text.len : width;
    for (;; len--) {
        struct nl_str part = {end ? text.ptr + text.len - len : text.ptr, len};
        const char *edge = end ? part.ptr : part.ptr + len;
        bool inside = edge < text.ptr + text.len && ((unsigned char)*edge & 0xC0) == 0x80;
        if (!len || (!inside && nl_celltext_width(part) <= width))
            return part;
    }
}

/* head … from place … tail; the last part is left out where the middle reaches the end. */
static struct nl_str cut_at(struct nl_str text, size_t place, size_t width, struct nl_arena *arena)
{
    struct nl_buf out;
    struct nl_str head = part_of(text, (width - 2) / 3, false);
    struct nl_str rest = place < text.len ? (struct nl_str){text.ptr + place, text.len - place}
                                          : (struct nl_str){"", 0};
    nl_buf_init(&out, SHOWN_BYTES);
    if (place <= head.len) {
        nl_celltext_elide(&out, text, width);
    } else {
        size_t left = width - nl_celltext_width(head) - 1;
        nl_buf_add(&out, head.ptr, head.len);
        nl_buf_text(&out, "…");
        if (nl_celltext_width(rest) <= left) {
            nl_buf_add(&out, rest.ptr, rest.len);
        } else {
            struct nl_str tail = part_of(rest, (left - 1) / 3, true);
            struct nl_str middle = part_of(rest, left - 1 - nl_celltext_width(tail), false);
            nl_buf_add(&out, middle.ptr, middle.len);
            nl_buf_text(&out, "…");
            nl_buf_add(&out, tail.ptr, tail.len);
        }
    }
    struct nl_str made = {nl_arena_text(arena, out.len ? out.ptr : "", out.len), out.len};
    nl_buf_release(&out);
    return made;
}

/* Cuts the texts of a group in the order of texts where its first and last differ. */
static void cut_group(struct entry *group, size_t count, size_t width, struct nl_arena *arena)
{
    size_t place = difference_start(group[0].text, group[count - 1].text, (width - 2) / 3);
    for (size_t i = 0; i < count; i++) {
        bool same = i && nl_str_eq(group[i].text, group[i - 1].text);
        group[i].cut = same ? group[i - 1].cut : cut_at(group[i].text, place, width, arena);
    }
}

/* The last resort: the second and further texts of a group get a number. */
static void number_group(struct entry *group, size_t count, size_t width, struct nl_arena *arena)
{
    unsigned number = 1;
    for (size_t i = 1; i < count; i++) {
        char mark[16];
        if (nl_str_eq(group[i].text, group[i - 1].text)) {
            group[i].cut = group[i - 1].cut;
            continue;
        }
        size_t len = (size_t)snprintf(mark, sizeof mark, "~%u", ++number);
        struct nl_str head = part_of(group[i].cut, width - len, false);
        struct nl_buf out;
        nl_buf_init(&out, SHOWN_BYTES);
        nl_buf_add(&out, head.ptr, head.len);
        nl_buf_add(&out, mark, len);
        group[i].cut = (struct nl_str){nl_arena_text(arena, out.ptr, out.len), out.len};
        nl_buf_release(&out);
    }
}

/* One round over all texts: what is shown alike and is not gets new cuts.
 * False when nothing was. */
static bool tell_apart(struct entry *entries, size_t count, size_t width, struct nl_arena *arena,
                       bool last)
{
    bool found = false;
    qsort(entries, count, sizeof *entries, by_cut);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && nl_str_eq(entries[to].cut, entries[from].cut); to++)
            ;
        if (nl_str_eq(entries[from].text, entries[to - 1].text))
            continue;
        found = true;
        if (last)
            number_group(entries + from, to - from, width, arena);
        else
            cut_group(entries + from, to - from, width, arena);
    }
    return found;
}

static struct nl_str elided(struct nl_str text, size_t width, struct nl_arena *arena)
{
    struct nl_buf out;
    nl_buf_init(&out, SHOWN_BYTES);
    nl_celltext_elide(&out, text, width);
    struct nl_str made = {nl_arena_text(arena, out.len ? out.ptr : "", out.len), out.len};
    nl_buf_release(&out);
    return made;
}

void nl_distinct(struct nl_str *texts, size_t count, size_t width, struct nl_arena *arena)
{
    size_t wide = 0;
    if (width < MIN_WIDTH || count < 2)
        return;
    struct entry *entries = nl_alloc(count * sizeof *entries);
    for (size_t i = 0; i < count; i++)
        if (texts[i].len > width && nl_celltext_width(texts[i]) > width)
            entries[wide++] = (struct entry){texts[i], elided(texts[i], width, arena), (uint32_t)i};
    bool any = wide > 1 && tell_apart(entries, wide, width, arena, false), more = any;
    for (unsigned round = 1; more && round <= SHORTENING_ROUNDS; round++)
        more = tell_apart(entries, wide, width, arena, round == SHORTENING_ROUNDS);
    for (size_t i = 0; any && i < wide; i++)
        texts[entries[i].row] = entries[i].cut;
    nl_free(entries);
}
