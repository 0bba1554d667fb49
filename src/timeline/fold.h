/*
 * fold — names without what distinguishes one instance from the next: "aten::mm, op_id = 17" is
 * "aten::mm", "layers.12.mlp" is "layers.*.mlp". So a range that is opened a thousand times is one
 * row. The rules are the table foldrules.def; which of them were used can be shown in a note.
 *
 *     nl_fold_init(&fold, trace, NL_FOLD_INSTANCES);
 *     uint32_t id = nl_fold_id(&fold, slice.name);         // equal ids = equal folded texts
 *     cell = nl_cell_text(result, nl_fold_id_text(&fold, id));
 *     result->note = nl_fold_note(&fold, &result->arena);
 */
#ifndef NL_FOLD_H
#define NL_FOLD_H

#include "base/mem.h"
#include "store/trace.h"

#define NL_MAX_FOLD_RULES 64

enum nl_fold_level {
    NL_FOLD_NOTHING,   /* every name stays as it is */
    NL_FOLD_INSTANCES, /* instance numbers go */
    NL_FOLD_EYES       /* and those that distinguish parts of generated code */
};

struct nl_fold {
    const struct nl_trace *trace; /* borrowed */
    enum nl_fold_level level;
    struct nl_dict texts; /* what the names became */
    uint32_t *ids;        /* per name of the trace: id in texts + 1, 0 = not asked yet */
    size_t before;        /* different names asked for */
    struct nl_buf text;
    uint64_t starts[256]; /* per first byte: rules that may fit */
    uint64_t used[NL_MAX_FOLD_RULES];
};

void nl_fold_init(struct nl_fold *fold, const struct nl_trace *trace, enum nl_fold_level level);
void nl_fold_release(struct nl_fold *fold);

/* Id of the folded name, below fold->texts.count; 0 for NL_NO_NAME. */
uint32_t nl_fold_id(struct nl_fold *fold, uint32_t name);
/* Its text, which lives as long as the fold. */
static inline struct nl_str nl_fold_id_text(const struct nl_fold *fold, uint32_t id)
{
    return nl_dict_text(&fold->texts, id);
}

/* "16,782 names as 82: …", or NULL when no name was changed. Lives in the arena. */
const char *nl_fold_note(const struct nl_fold *fold, struct nl_arena *arena);

/* Which rules may fit, per first byte: made once, for many texts that are no names of one trace. */
struct nl_fold_starts {
    uint64_t rules[256];
};
void nl_fold_starts_init(struct nl_fold_starts *starts, enum nl_fold_level level);

/* The folded form of a text, appended to the empty `out`. */
void nl_fold_text(const struct nl_fold_starts *starts, struct nl_str name, struct nl_buf *out);

/* The same at once. For tests. */
void nl_fold_name(struct nl_str name, enum nl_fold_level level, struct nl_buf *out);

#endif
