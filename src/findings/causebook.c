/* The book of causes: rows of causes.def, remedies.def and causesources.def as text. */
#include "findings/causebook.h"

#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/mem.h"
#include "findings/cause.h"
#include "findings/causes.h"
#include "findings/remedy.h"

#define NL_CAUSE(name, level, title) {&nl_cause_##name, title, level},
static const struct {
    const struct nl_cause *cause;
    const char *title;
    unsigned level;
} book[] = {
#include "findings/causes.def"
};
#define CAUSES (sizeof book / sizeof book[0])

/* Causes with remedies, and their variants ("gpu_idle:warm_up"). */
#define NL_REMEDY(cause, makers, frameworks, action, why, verify) cause,
static const char *const remedied[] = {
#include "findings/remedies.def"
};

#define NL_PAGE_MATMUL                                                                             \
    "https://docs.nvidia.com/deeplearning/performance/pdf/"                                        \
    "Matrix-Multiplication-Background-User-Guide.pdf"
#define NL_CAUSE_SOURCE(cause, page) {cause, page},
static const struct {
    const char *cause, *page;
} sources[] = {
#include "findings/causesources.def"
};

/* The id that has exactly `before` ids in front of it. */
const char *nl_causebook_id(size_t i)
{
    for (size_t at = 0; at < CAUSES; at++) {
        size_t before = 0;
        for (size_t other = 0; other < CAUSES; other++)
            before += strcmp(book[other].cause->id, book[at].cause->id) < 0;
        if (before == i)
            return book[at].cause->id;
    }
    return NULL;
}

/* The row of the book, or CAUSES. */
static size_t book_row(const char *id)
{
    size_t row = 0;
    while (row < CAUSES && strcmp(book[row].cause->id, id) != 0)
        row++;
    return row;
}

const char *nl_causebook_title(const char *id)
{
    size_t row = book_row(id);
    return row < CAUSES ? book[row].title : NULL;
}

static void put_needs(struct nl_buf *out, const struct nl_cause *cause)
{
    if (!cause->need_count)
        return;
    nl_buf_text(out, "It needs: ");
    for (unsigned i = 0; i < cause->need_count; i++) {
        const struct nl_need *need = &cause->needs[i];
        nl_buf_format(out, "%s%s%s%s", i ? ", " : "", nl_tables[need->table].sql,
                      need->column ? "." : "", need->column ? need->column : "");
    }
    nl_buf_text(out, " (tables and columns of SQL).\n\n");
}

static void put_remedies(struct nl_buf *out, const char *cause, struct nl_arena *arena)
{
    const struct nl_setting setting = {NL_MAKER_NVIDIA, NL_FRAMEWORK_TORCH};
    const struct nl_suggestion *it = nl_remedies(cause, setting, arena);
    const char *variant = strchr(cause, ':');
    if (!it->action)
        return;
    nl_buf_format(out, "What helps%s%s (with PyTorch on an NVIDIA GPU):\n\n",
                  variant ? ", variant " : "", variant ? variant + 1 : "");
    for (; it->action; it++)
        nl_buf_format(out, "- %s.\n  Why: %s.\n  Check: %s\n", it->action, it->why, it->verify);
    nl_buf_text(out, "\n");
}

static void put_sources(struct nl_buf *out, const char *id)
{
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        if (strcmp(sources[i].cause, id) == 0)
            nl_buf_format(out, "More about it: %s\n\n", sources[i].page);
}

static bool is_of(const char *remedy, const char *id)
{
    size_t len = strlen(id);
    return strncmp(remedy, id, len) == 0 && (remedy[len] == 0 || remedy[len] == ':');
}

bool nl_causebook_page(struct nl_buf *out, const char *id)
{
    size_t row = book_row(id);
    struct nl_arena arena;
    if (row == CAUSES)
        return false;
    const struct nl_cause *cause = book[row].cause;
    nl_arena_init(&arena);
    nl_buf_format(out, "%s: %s\n\n%s\n\n", cause->id, book[row].title, cause->doc);
    if (cause->not_this_if)
        nl_buf_format(out, "Rule it out when %s.\n\n", cause->not_this_if);
    put_needs(out, cause);
    const char *last = "";
    for (size_t i = 0; i < sizeof remedied / sizeof remedied[0]; i++)
        if (is_of(remedied[i], id) && strcmp(remedied[i], last) != 0) {
            last = remedied[i];
            put_remedies(out, last, &arena);
        }
    put_sources(out, id);
    nl_arena_free(&arena);
    return true;
}

void nl_causebook_document(struct nl_buf *out)
{
    for (size_t i = 0; i < CAUSES; i++) {
        const struct nl_cause *cause = book[i].cause;
        nl_buf_format(out, "%s### `%s`\n\n**%c%s.** Level %u.\n\n%s\n\n", i ? "\n" : "", cause->id,
                      nl_upper(*book[i].title), book[i].title + 1, book[i].level, cause->doc);
        if (cause->not_this_if)
            nl_buf_format(out, "Rule it out when %s.\n", cause->not_this_if);
        put_sources(out, cause->id);
    }
}
