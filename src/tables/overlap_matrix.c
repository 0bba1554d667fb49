/* overlap_matrix — which kinds of work of a device run at the same time. */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"

enum kind { COMPUTE, COMMUNICATION, HTOD, DTOH, DTOD, OTHER_COPY, FILL, KINDS };

static const char *const kind_names[KINDS] = {"compute", "communication", "HtoD", "DtoH",
                                              "DtoD",    "other copies",  "fills"};

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(a, NULL, TEXT)                                                                               \
    C(b, NULL, TEXT)                                                                               \
    C(a_ns, "a in all", NS)                                                                        \
    C(b_ns, "b in all", NS)                                                                        \
    C(both_ns, "at once", NS)                                                                      \
    C(a_share, "of a", SHARE)                                                                      \
    C(b_share, "of b", SHARE)
NL_COLUMNS(COLUMNS);

struct place_sets {
    struct nl_intervals sets[KINDS];
};

static enum kind kernel_kind(unsigned class)
{
    switch (class) {
    case NL_CLASS_COMMUNICATION: return COMMUNICATION;
    case NL_CLASS_COPY: return OTHER_COPY;
    case NL_CLASS_MEMSET: return FILL;
    default: return COMPUTE;
    }
}

static enum kind copy_kind(unsigned kind)
{
    switch (kind) {
    case NL_COPY_HTOD: return HTOD;
    case NL_COPY_DTOH: return DTOH;
    case NL_COPY_DTOD: return DTOD;
    default: return OTHER_COPY;
    }
}

static void add_slice(struct place_sets *all, const struct nl_scope *scope,
                      const struct nl_places *places, uint32_t slice, enum kind kind)
{
    int64_t start, end;
    uint32_t place = places->lane_place[scope->trace->slice.lane[slice]];
    if (place != NL_NULL_ROW && nl_scope_slice(scope, slice, &start, &end))
        nl_intervals_add(&all[place].sets[kind], start, end);
}

static void collect_intervals(struct place_sets *all, const struct nl_scope *scope,
                              const struct nl_places *places)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t row = 0; row < trace->kernel.rows; row++)
        add_slice(all, scope, places, trace->kernel.slice[row],
                  kernel_kind(trace->kernel.class[row]));
    for (uint32_t row = 0; row < trace->graph.rows; row++)
        add_slice(all, scope, places, trace->graph.slice[row], COMPUTE);
    for (uint32_t row = 0; row < trace->copy.rows; row++)
        add_slice(all, scope, places, trace->copy.slice[row], copy_kind(trace->copy.kind[row]));
    for (uint32_t row = 0; row < trace->memset.rows; row++)
        add_slice(all, scope, places, trace->memset.slice[row], FILL);
}

static void add_pairs(struct nl_result *result, const struct nl_place *place,
                      struct place_sets *all)
{
    for (size_t i = 0; i < KINDS; i++)
        nl_intervals_normalise(&all->sets[i]);
    for (size_t a = 0; a < KINDS; a++)
        for (size_t b = a + 1; b < KINDS; b++) {
            if (!all->sets[a].count || !all->sets[b].count)
                continue;
            int64_t both = nl_intervals_overlap(&all->sets[a], &all->sets[b]);
            if (!both && a > COMMUNICATION)
                continue; /* copies among themselves, in order */
            int64_t a_ns = nl_intervals_length(&all->sets[a]);
            int64_t b_ns = nl_intervals_length(&all->sets[b]);
            struct nl_cell *cells = nl_result_row(result);
            cells[AT_rank] = nl_cell_i64(place->rank);
            cells[AT_device] = nl_cell_i64(place->ordinal);
            cells[AT_a] = nl_cell_static(kind_names[a]);
            cells[AT_b] = nl_cell_static(kind_names[b]);
            cells[AT_a_ns] = nl_cell_i64(a_ns);
            cells[AT_b_ns] = nl_cell_i64(b_ns);
            cells[AT_both_ns] = nl_cell_i64(both);
            cells[AT_a_share] = nl_cell_share(both, a_ns);
            cells[AT_b_share] = nl_cell_share(both, b_ns);
        }
}

static struct nl_result *overlap_matrix_run(const struct nl_trace *trace,
                                            const struct nl_analyze_options *options,
                                            struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct place_sets *all = nl_zalloc((places.count + 1) * sizeof *all);
    collect_intervals(all, &scope, &places);
    struct nl_result *result = NL_ANSWER_NEW("overlap_matrix", NULL, columns);
    for (size_t i = 0; i < places.count; i++) {
        add_pairs(result, &places.items[i], &all[i]);
        for (size_t j = 0; j < KINDS; j++)
            nl_intervals_release(&all[i].sets[j]);
    }
    nl_free(all);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_overlap_matrix = {
    .name = "overlap_matrix",
    .key = "overlap_matrix",
    .title = "What runs at the same time",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = overlap_matrix_run,
    .doc = "Per rank, device and pair of kinds of work (compute, communication, copies by "
           "direction, memsets): the time with both running, and its share of either's union. "
           "Pairs of copies and memsets are listed only if they overlap.",
};
