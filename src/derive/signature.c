/* Kernels grouped by name, grid and block, and which groups of two traces are the same kernel. */
#include "derive/signature.h"

#include "base/mem.h"
#include "derive/kernelname.h"

#define LONGEST_NAME ((size_t)64 << 20)

static struct nl_str bytes_of(const void *key, size_t len)
{
    return (struct nl_str){key, len};
}

static uint32_t source_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t process = nl_slice_process(trace, slice);
    return process == NL_NULL_ROW ? NL_NULL_ROW : trace->process.source[process];
}

/* name, source, grid, block; false when there is no slice, and so nothing. */
static bool read_key(const struct nl_trace *trace, uint32_t row, bool per_source, uint32_t key[8])
{
    const struct nl_kernel_table *k = &trace->kernel;
    if (k->slice[row] == NL_NULL_ROW)
        return false;
    const uint32_t known[8] = {trace->slice.name[k->slice[row]],
                               per_source ? source_of(trace, k->slice[row]) : 0,
                               k->grid_x[row],
                               k->grid_y[row],
                               k->grid_z[row],
                               k->block_x[row],
                               k->block_y[row],
                               k->block_z[row]};
    memcpy(key, known, sizeof known);
    return true;
}

static bool is_whole(const uint32_t key[8])
{
    bool whole = key[0] != NL_NO_NAME && key[1] != NL_NULL_ROW;
    for (int i = 2; i < 8; i++)
        whole = whole && key[i] != NL_NULL_U32;
    return whole;
}

/* The members of each signature after those of the previous one. */
static void list_members(struct nl_signatures *s, const uint32_t *of, uint32_t rows)
{
    uint32_t at = 0;
    for (size_t i = 0; i < s->count; i++) {
        s->items[i].first = at;
        at += s->items[i].kernels;
        s->items[i].kernels = 0;
    }
    s->members = nl_alloc(((size_t)at + 1) * sizeof *s->members);
    for (uint32_t row = 0; row < rows; row++) {
        if (of[row] == NL_NULL_ROW)
            continue;
        struct nl_signature *item = &s->items[of[row]];
        s->members[item->first + item->kernels++] = row;
    }
}

void nl_signatures_find(struct nl_signatures *s, const struct nl_trace *trace, bool per_source)
{
    uint32_t rows = trace->kernel.rows;
    uint32_t *of = nl_alloc(((size_t)rows + 1) * sizeof *of);
    struct nl_dict keys;
    nl_dict_init(&keys);
    *s = (struct nl_signatures){0};
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t key[8];
        of[row] = NL_NULL_ROW;
        if (!read_key(trace, row, per_source, key))
            continue;
        of[row] = nl_dict_add(&keys, bytes_of(key, sizeof key)) - 1;
        if (of[row] == s->count) {
            nl_grow(&s->items, &s->cap, s->count + 1);
            s->items[s->count] = (struct nl_signature){
                .name = key[0], .source = key[1], .partner = NL_NULL_ROW, .whole = is_whole(key)};
            memcpy(s->items[s->count++].shape, &key[2], sizeof s->items->shape);
        }
        s->items[of[row]].kernels++;
    }
    list_members(s, of, rows);
    nl_dict_release(&keys);
    nl_free(of);
}

void nl_signatures_release(struct nl_signatures *s)
{
    nl_free(s->items);
    nl_free(s->members);
}

/* One level of comparing: signatures with equal keys. */
struct level {
    struct nl_dict keys;
    struct nl_buf form;
    int level; /* -1 = names as they are */
    struct group {
        uint32_t runs, run; /* signatures of the run, the last of them */
        uint32_t reports;   /* of one report */
    } * groups;             /* by key */
    size_t cap;
};

/* Key of a signature: shape, source if it distinguishes reports, name in the level's form. */
static uint32_t signature_key(struct level *level, const struct nl_trace *trace,
                              const struct nl_signature *s, uint32_t source)
{
    struct nl_str name = nl_trace_name(trace, s->name);
    if (level->level < 0) {
        nl_buf_clear(&level->form);
        nl_buf_add(&level->form, name.ptr, name.len);
    } else {
        nl_kernel_name_form(&level->form, name, (enum nl_name_level)level->level);
    }
    nl_buf_add(&level->form, (const char *)s->shape, sizeof s->shape);
    nl_buf_add(&level->form, (const char *)&source, sizeof source);
    uint32_t key = nl_dict_add(&level->keys, bytes_of(level->form.ptr, level->form.len));
    size_t old = level->cap;
    nl_grow(&level->groups, &level->cap, (size_t)key + 1);
    if (level->cap > old)
        memset(&level->groups[old], 0, (level->cap - old) * sizeof *level->groups);
    return key;
}

/* The run has every key with the source NL_NULL_ROW, a report with its own. */
static void fill_level(struct level *level, const struct nl_trace *run,
                       const struct nl_signatures *runs, const struct nl_trace *report,
                       const struct nl_signatures *reports)
{
    for (size_t i = 0; i < runs->count; i++) {
        if (!runs->items[i].whole)
            continue;
        uint32_t key = signature_key(level, run, &runs->items[i], NL_NULL_ROW);
        level->groups[key].runs++;
        level->groups[key].run = (uint32_t)i;
    }
    for (size_t i = 0; i < reports->count; i++) {
        if (!reports->items[i].whole)
            continue;
        uint32_t key = signature_key(level, report, &reports->items[i], reports->items[i].source);
        level->groups[key].reports++;
    }
}

static bool may_pair(int level, const struct nl_trace *run, uint32_t run_name,
                     const struct nl_trace *report, uint32_t report_name)
{
    return level < NL_NAME_BASE || nl_kernel_name_is_base(nl_trace_name(run, run_name)) ||
           nl_kernel_name_is_base(nl_trace_name(report, report_name));
}

static void match_level(int number, const struct nl_trace *run, const struct nl_signatures *runs,
                        const struct nl_trace *report, struct nl_signatures *reports)
{
    struct level level = {.level = number};
    nl_dict_init(&level.keys);
    nl_buf_init(&level.form, LONGEST_NAME);
    fill_level(&level, run, runs, report, reports);
    for (size_t i = 0; i < reports->count; i++) {
        struct nl_signature *s = &reports->items[i];
        if (s->partner != NL_NULL_ROW || !s->whole)
            continue;
        uint32_t own = signature_key(&level, report, s, s->source);
        uint32_t theirs = signature_key(&level, report, s, NL_NULL_ROW);
        const struct group *group = &level.groups[theirs];
        if (!group->runs || !may_pair(number, run, runs->items[group->run].name, report, s->name))
            continue;
        if (group->runs == 1 && level.groups[own].reports == 1)
            s->partner = group->run;
        else
            s->ambiguous = true;
    }
    nl_dict_release(&level.keys);
    nl_buf_release(&level.form);
    nl_free(level.groups);
}

void nl_signatures_match(const struct nl_trace *run, const struct nl_signatures *run_signatures,
                         const struct nl_trace *report, struct nl_signatures *report_signatures)
{
    for (int level = -1; level < NL_NAME_LEVELS; level++)
        match_level(level, run, run_signatures, report, report_signatures);
}
