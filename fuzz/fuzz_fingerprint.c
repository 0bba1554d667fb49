/*
 * Any bytes as a packed fingerprint, as a damaged ledger may hold: two bytes tell how many are the
 * items, the others are the names. What is taken is alike to itself, 1 exactly, and to another as
 * that one is to it; nothing is read behind the end.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fingerprint/similar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(const struct nl_fingerprint_view *a, const struct nl_fingerprint_view *b,
                    bool same)
{
    struct nl_likeness like = nl_likeness_of(a, b), back = nl_likeness_of(b, a);
    if (isnan(like.similarity) != isnan(back.similarity) ||
        (!isnan(like.similarity) &&
         (!(like.similarity >= 0 && like.similarity <= 1) || like.similarity != back.similarity ||
          (same && like.similarity != 1))))
        abort();
}

static void show(const struct nl_fingerprint_view *view, const struct nl_fingerprint_texts *texts)
{
    struct nl_similar_run run = {.id = "1", .view = *view, .texts = *texts};
    struct nl_similar_count counts = {.compared = 1};
    run.likeness = nl_likeness_of(view, view);
    nl_report_free(nl_similar_report(view, texts, &run, 1, &counts));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nl_fingerprint_view last; /* what was taken before */
    struct nl_fingerprint_view view = {0};
    struct nl_fingerprint_texts texts;
    struct nl_arena arena;
    uint16_t split = 0;
    if (size < sizeof split)
        return 0;
    memcpy(&split, data, sizeof split);
    data += sizeof split;
    size -= sizeof split;
    size_t items = split < size ? split : size;
    char *exact = malloc(items + 1); /* so that reading one byte too far is seen */
    if (!exact)
        return 0;
    memcpy(exact, data, items);
    exact = realloc(exact, items ? items : 1);
    nl_arena_init(&arena);
    if (nl_fingerprint_unpack(&view, (struct nl_str){exact, items})) {
        compare(&view, &view, true);
        compare(&view, &last, false);
        if (nl_fingerprint_texts(&texts, &view,
                                 (struct nl_str){(const char *)data + items, size - items}, &arena))
            show(&view, &texts);
        nl_fingerprint_view_release(&last);
        last = view;
    } else {
        nl_fingerprint_view_release(&view);
    }
    nl_arena_free(&arena);
    free(exact);
    return 0;
}
