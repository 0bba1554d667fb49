/* Packing. Numbers are little-endian; what is read is bounded by what is there. */
#include "fingerprint/fingerprint_pack.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/utf8.h"

#define MAGIC    0x50464c4eu /* "NLFP" */
#define MAX_TEXT 1000        /* bytes of a name that are kept; hashes are of the whole */

_Static_assert(NL_FINGERPRINT_VALUES <= 16, "known values are bits of 16");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are written in the byte order of the machine");

static void put_bytes(struct nl_buf *out, const void *bytes, size_t size)
{
    nl_buf_add(out, bytes, size);
}

static void put_text(struct nl_buf *out, const char *text)
{
    struct nl_str whole = nl_str(text);
    uint16_t len = (uint16_t)nl_utf8_cut(whole.ptr, whole.len, MAX_TEXT);
    put_bytes(out, &len, sizeof len);
    put_bytes(out, whole.ptr ? whole.ptr : "", len);
}

static int by_hash(const void *left, const void *right)
{
    const struct nl_fingerprint_item *a = *(const struct nl_fingerprint_item *const *)left,
                                     *b = *(const struct nl_fingerprint_item *const *)right;
    if (a->family_hash != b->family_hash)
        return a->family_hash < b->family_hash ? -1 : 1;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return strcmp(a->signature, b->signature);
}

static void put_item(struct nl_buf *out, const struct nl_fingerprint_item *item)
{
    float share = (float)item->share;
    uint16_t known = 0;
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
        known |= (uint16_t)(isnan(item->values[v]) ? 0 : 1u << v);
    put_bytes(out, &item->hash, sizeof item->hash);
    put_bytes(out, &item->family_hash, sizeof item->family_hash);
    put_bytes(out, &item->category_hash, sizeof item->category_hash);
    put_bytes(out, &share, sizeof share);
    put_bytes(out, &known, sizeof known);
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        float value = (float)item->values[v];
        if (known & 1u << v)
            put_bytes(out, &value, sizeof value);
    }
}

void nl_fingerprint_pack(const struct nl_runfingerprint *print, struct nl_buf *items,
                         struct nl_buf *names)
{
    const uint32_t head[2] = {MAGIC, NL_FINGERPRINT_FORM};
    const uint64_t device = print->device ? nl_fingerprint_hash(nl_str(print->device)) : 0;
    put_bytes(items, head, sizeof head);
    put_bytes(items, &device, sizeof device);
    put_text(names, print->device);
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        const struct nl_fingerprint_list *list = &print->parts[p];
        uint32_t count = (uint32_t)list->count;
        const struct nl_fingerprint_item **order = nl_alloc((count + (size_t)1) * sizeof *order);
        for (uint32_t i = 0; i < count; i++)
            order[i] = &list->items[i];
        qsort(order, count, sizeof *order, by_hash);
        put_bytes(items, &count, sizeof count);
        for (uint32_t i = 0; i < count; i++) {
            put_item(items, order[i]);
            put_text(names, order[i]->signature);
            put_text(names, order[i]->category);
        }
        nl_free(order);
    }
}

/* ---- back ---- */

struct reader {
    const char *at, *end;
    bool short_; /* something was wanted after the end */
};

static void get(struct reader *reader, void *to, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size) {
        memset(to, 0, size);
        reader->short_ = true;
        reader->at = reader->end;
        return;
    }
    memcpy(to, reader->at, size);
    reader->at += size;
}

static void get_item(struct reader *reader, struct nl_packed_item *item)
{
    uint16_t known;
    get(reader, &item->hash, sizeof item->hash);
    get(reader, &item->family, sizeof item->family);
    get(reader, &item->category, sizeof item->category);
    get(reader, &item->share, sizeof item->share);
    get(reader, &known, sizeof known);
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++) {
        item->values[v] = NAN;
        if (!(known & 1u << v))
            continue;
        get(reader, &item->values[v], sizeof item->values[v]);
        if (!isfinite(item->values[v]))
            item->values[v] = NAN;
    }
}

/* Shares of a part add up to 1 but for rounding. */
static bool shares_add_up(const struct nl_packed_item *items, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(items[i].share >= 0 && items[i].share <= 1))
            return false;
        sum += items[i].share;
    }
    return !count || fabs(sum - 1) < 1e-3;
}

bool nl_fingerprint_unpack(struct nl_fingerprint_view *view, struct nl_str items)
{
    uint32_t head[2], count;
    if (!items.len) /* a run that was added without one */
        return false;
    struct reader reader = {items.ptr, items.ptr + items.len, false};
    get(&reader, head, sizeof head);
    if (head[0] != MAGIC || head[1] != NL_FINGERPRINT_FORM)
        return false;
    get(&reader, &view->device, sizeof view->device);
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        get(&reader, &count, sizeof count);
        if (count > NL_FINGERPRINT_ITEMS)
            return false;
        nl_grow(&view->items[p], &view->caps[p], (size_t)count + 1);
        view->count[p] = count;
        for (uint32_t i = 0; i < count; i++)
            get_item(&reader, &view->items[p][i]);
        if (!shares_add_up(view->items[p], count))
            return false;
    }
    return !reader.short_ && reader.at == reader.end;
}

void nl_fingerprint_view_release(struct nl_fingerprint_view *view)
{
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++)
        nl_free(view->items[p]);
    *view = (struct nl_fingerprint_view){0};
}

/* NULL for an empty text. */
static const char *get_text(struct reader *reader, struct nl_arena *arena)
{
    char text[MAX_TEXT];
    uint16_t len;
    get(reader, &len, sizeof len);
    if (len > MAX_TEXT) {
        reader->short_ = true;
        return NULL;
    }
    get(reader, text, len);
    return len ? nl_arena_text(arena, text, len) : NULL;
}

bool nl_fingerprint_texts(struct nl_fingerprint_texts *texts,
                          const struct nl_fingerprint_view *view, struct nl_str names,
                          struct nl_arena *arena)
{
    const char *from = names.len ? names.ptr : "";
    struct reader reader = {from, from + names.len, false};
    texts->device = get_text(&reader, arena);
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        size_t count = view->count[p];
        texts->signatures[p] = nl_arena_alloc(arena, (count + 1) * sizeof(char *));
        texts->categories[p] = nl_arena_alloc(arena, (count + 1) * sizeof(char *));
        for (size_t i = 0; i < count; i++) {
            texts->signatures[p][i] = get_text(&reader, arena);
            texts->categories[p][i] = get_text(&reader, arena);
        }
    }
    return !reader.short_ && reader.at == reader.end;
}
