/*
 * Layers of one engine that come from two files, as one row each: trtexec writes times of layers
 * (--exportProfile) and what the layers are (--exportLayerInfo) into different files, which know of
 * each other by the names of the layers only.
 *
 * A file with times takes the file without that shares most names with it, at least half of its
 * own; between equals the one nearest in the order of files, so that folders with several engines
 * whose files sort together are distinguished. Layers of one name are joined in their order.
 */
#include "derive/nodejoin.h"

#include "base/mem.h"

#define FILES_APART 64 /* files of one engine are close in the order of names */

struct join {
    struct nl_trace *trace;
    struct nl_node_table *nodes;
    struct part { /* rows of one source that have no slice */
        uint32_t first, end, source;
        bool timed, used;
    } * parts;
    size_t count, cap;
    uint32_t *first; /* by name: first free row of the part in hand + 1, 0 = none */
    uint32_t *next;  /* by row: the next of its name + 1 */
    bool *dead;      /* by row */
    uint32_t removed;
};

static void find_parts(struct join *join)
{
    const struct nl_node_table *n = join->nodes;
    for (uint32_t row = 0; row < n->rows; row++) {
        if (n->slice[row] != NL_NULL_ROW || n->source[row] == NL_NULL_ROW)
            continue;
        struct part *part = join->count ? &join->parts[join->count - 1] : NULL;
        if (!part || part->source != n->source[row] || part->end != row) {
            nl_grow(&join->parts, &join->cap, join->count + 1);
            part = &join->parts[join->count++];
            *part = (struct part){.first = row, .source = n->source[row]};
        }
        part->end = row + 1;
        part->timed |= n->count[row] != NL_NULL_I64 || n->total_ns[row] != NL_NULL_I64;
    }
}

/* Lists the rows of a part by name; undone by `index` false. */
static void index_names(struct join *join, const struct part *part, bool index)
{
    for (uint32_t row = part->end; row-- > part->first;) {
        uint32_t name = join->nodes->name[row];
        join->next[row] = index ? join->first[name] : 0;
        join->first[name] = index ? row + 1 : 0;
    }
}

static uint32_t shared_names(const struct join *join, const struct part *part)
{
    uint32_t shared = 0;
    for (uint32_t row = part->first; row < part->end; row++)
        shared += join->nodes->name[row] && join->first[join->nodes->name[row]] != 0;
    return shared;
}

/* The part without times that describes the timed part `timed`, whose names are indexed. */
static struct part *find_details(struct join *join, size_t timed)
{
    size_t from = timed > FILES_APART ? timed - FILES_APART : 0;
    uint32_t most = (join->parts[timed].end - join->parts[timed].first + 1) / 2;
    struct part *best = NULL;
    size_t apart = SIZE_MAX;
    for (size_t i = from; i < join->count && i <= timed + FILES_APART; i++) {
        struct part *part = &join->parts[i];
        if (part->timed || part->used || part->source == join->parts[timed].source)
            continue;
        uint32_t shared = shared_names(join, part);
        size_t distance = i > timed ? i - timed : timed - i;
        if (shared < most || shared == 0 || (best && shared == most && distance >= apart))
            continue;
        best = part;
        most = shared;
        apart = distance;
    }
    return best;
}

static char *cell(struct nl_trace *trace, const struct nl_column_def *column, uint32_t row)
{
    return (char *)(uintptr_t)nl_trace_column(trace, column) + (size_t)row * column->size;
}

static bool is_unknown(const struct nl_column_def *column, const char *cell)
{
    uint64_t bits = 0;
    double number;
    memcpy(&bits, cell, column->size);
    switch (column->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: return (int64_t)bits == NL_NULL_I64;
    case NL_TYPE_U64: return bits == NL_NULL_U64;
    case NL_TYPE_U32: return (uint32_t)bits == NL_NULL_U32;
    case NL_TYPE_F64: memcpy(&number, cell, sizeof number); return isnan(number);
    case NL_TYPE_NAME: return bits == NL_NO_NAME;
    default: return false;
    }
}

static bool is_stored(const struct nl_column_def *column)
{
    return column->table == NL_T_node && column->storage == NL_T_node && column->hop == NL_HOP_NONE;
}

/* What row `from` knows and row `to` does not. */
static void merge_row(struct join *join, uint32_t to, uint32_t from)
{
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (is_stored(column) && is_unknown(column, cell(join->trace, column, to)))
            memcpy(cell(join->trace, column, to), cell(join->trace, column, from), column->size);
    }
    join->dead[from] = true;
    join->removed++;
}

static void merge_parts(struct join *join, struct part *details)
{
    details->used = true;
    for (uint32_t row = details->first; row < details->end; row++) {
        uint32_t *place = &join->first[join->nodes->name[row]];
        if (!join->nodes->name[row] || !*place)
            continue;
        uint32_t to = *place - 1;
        *place = join->next[to];
        merge_row(join, to, row);
    }
}

/* Takes the dead rows out of every column. */
static void remove_dead(struct join *join)
{
    uint32_t rows = join->nodes->rows;
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        if (!is_stored(column))
            continue;
        char *old = cell(join->trace, column, 0);
        char *fresh = nl_trace_cells(join->trace, (size_t)(rows - join->removed) * column->size);
        char *to = fresh;
        for (uint32_t row = 0; row < rows; row++) {
            if (join->dead[row])
                continue;
            memcpy(to, old + (size_t)row * column->size, column->size);
            to += column->size;
        }
        memcpy((char *)join->nodes + column->array, &fresh, sizeof fresh);
        nl_trace_cells_free(join->trace, old, (size_t)rows * column->size);
    }
    join->nodes->rows = rows - join->removed;
}

void nl_join_nodes(struct nl_trace *trace)
{
    struct join join = {.trace = trace, .nodes = &trace->node};
    find_parts(&join);
    if (join.count > 1) {
        join.first = nl_zalloc(trace->names.count * sizeof *join.first);
        join.next = nl_zalloc((size_t)trace->node.rows * sizeof *join.next);
        join.dead = nl_zalloc(trace->node.rows * sizeof *join.dead);
        for (size_t i = 0; i < join.count; i++) {
            if (!join.parts[i].timed)
                continue;
            index_names(&join, &join.parts[i], true);
            struct part *details = find_details(&join, i);
            if (details)
                merge_parts(&join, details);
            index_names(&join, &join.parts[i], false);
        }
        if (join.removed)
            remove_dead(&join);
    }
    nl_free(join.parts);
    nl_free(join.first);
    nl_free(join.next);
    nl_free(join.dead);
}
