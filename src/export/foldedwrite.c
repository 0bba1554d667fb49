/*
 * Collapsed stacks: a line per stack, frames from the outermost joined with ';', then the
 * weight. A line has no place for the kind of weight, so a file holds one: the one that is
 * asked for, else the first.
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
    nl_stackfold_make(&fold, export, true);
    const struct nl_stacktree *tree = nl_stackfold_choose(&fold, export, err);
    if (tree)
        write_tree(&fold, tree, export->out);
    nl_stackfold_release(&fold);
    return tree != NULL && nl_export_goes_on(export, err);
}
