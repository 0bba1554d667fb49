/*
 * Collapsed stacks: a line per stack, frames from the outermost joined with ';', then the weight. A line
 * has no place for the kind of weight, so a file holds one: the one that is asked for, else the first.
 */
#include "export/jsonbytes.h"
#include "export/stackfold.h"

/* What separates frames and lines cannot stand in a name. */
static void put_frame(struct bytes *out, struct nl_str name)
{
    size_t start = out->len;
    bytes_utf8(out, name);
    for (size_t i = start; i < out->len; i++) {
        if (out->at[i] == ';')
            out->at[i] = ':';
        else if (out->at[i] < 0x20)
            out->at[i] = ' ';
    }
}

static const struct nl_stacktree *choose(const struct nl_stackfold *fold, struct nl_export *export,
                                         struct nl_err *err)
{
    const struct nl_stacktree *chosen = NULL;
    for (size_t i = 0; i < fold->count; i++) {
        bool asked = export->of && nl_str_contains(fold->trees[i].event, export->of);
        if (!chosen && (asked || !export->of))
            chosen = &fold->trees[i];
    }
    if (!chosen && fold->count)
        (void)nl_fail(err, NL_USAGE, "--of: no stacks of '%s'; there is %.*s", export->of,
                      (int)fold->trees[0].event.len, fold->trees[0].event.ptr);
    else if (!chosen)
        (void)nl_fail(err, NL_INCOMPARABLE,
                      "the profile has neither CPU samples nor device work; record one of them");
    for (size_t i = 0; chosen && i < fold->count; i++)
        if (&fold->trees[i] != chosen) {
            char *what = nl_arena_format(&export->arena, "stacks of %.*s (--of names them)",
                                         (int)fold->trees[i].event.len, fold->trees[i].event.ptr);
            nl_export_lost(export, fold->trees[i].samples, what);
        }
    return chosen;
}

static void write_tree(const struct nl_stackfold *fold, const struct nl_stacktree *tree, FILE *out)
{
    struct bytes line = {0};
    for (uint32_t node = 1; node < tree->count; node++) {
        if (!tree->nodes[node].self)
            continue;
        uint32_t depth, *path = nl_stackfold_path(tree, node, &depth);
        bytes_clear(&line);
        for (uint32_t i = 0; i < depth; i++) {
            if (i)
                bytes_u8(&line, ';');
            put_frame(&line, fold->frames[path[i]].name);
        }
        bytes_u8(&line, ' ');
        json_i64(&line, tree->nodes[node].self);
        bytes_u8(&line, '\n');
        fwrite(line.at, 1, line.len, out);
        nl_free(path);
    }
    bytes_release(&line);
}

bool nl_export_folded(struct nl_export *export, struct nl_err *err)
{
    struct nl_stackfold fold;
    nl_stackfold_make(&fold, export);
    const struct nl_stacktree *tree = choose(&fold, export, err);
    if (tree)
        write_tree(&fold, tree, export->out);
    nl_stackfold_release(&fold);
    return tree != NULL && nl_export_goes_on(export, err);
}
