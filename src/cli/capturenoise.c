/* See capturenoise.h. */
#include "cli/capturenoise.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "cli/ledgercall.h"
#include "ledger/runnoise.h"
#include "rundoc/runfacts.h"
#include "tables/memo.h"

/* Runs of the ledger among captures. */
struct own {
    int64_t runs[NL_MAX_CAPTURES * 2];
    size_t count;
};

static void add_own(struct own *own, const struct nl_captures *captures, const struct nl_call *call)
{
    for (size_t i = 0; i < captures->count && own->count < NL_MAX_CAPTURES * 2; i++) {
        struct nl_ledger_run run;
        struct nl_err ignored;
        bool is_run = false;
        nl_err_clear(&ignored);
        if (nl_input_run(&captures->items[i].words, call, &run, &is_run, &ignored) && is_run)
            own->runs[own->count++] = run.run;
    }
}

/* The identity of a file, by its contents. */
static void who_of_file(const struct nl_captures *captures, struct nl_history_who *who,
                        struct nl_arena *arena)
{
    const struct nl_trace *trace = captures->items[0].trace;
    const char *path = captures->paths[0], *slash = strrchr(path, '/');
    struct nl_window whole = {0};
    struct nl_memo *memo = nl_memo_new(trace, &whole);
    struct doc_schema schema;
    struct run_facts facts;
    size_t busy;
    (void)nl_memo_breakdown(memo, &busy);
    doc_schema_open(&schema);
    run_facts_init(&facts);
    run_facts_find(&facts, &schema, trace, busy);
    for (size_t i = 0; i < facts.count; i++) {
        const char *value = run_fact(&facts, facts.items[i].key);
        if (value)
            nl_runhistory_take(who,
                               nl_arena_text(arena, facts.items[i].key, strlen(facts.items[i].key)),
                               nl_arena_text(arena, value, strlen(value)));
    }
    nl_runhistory_name(who, slash ? slash + 1 : path, arena);
    run_facts_release(&facts);
    doc_schema_release(&schema);
    nl_memo_free(memo);
}

static bool learn(struct nl_captures *captures, const struct own *own, const struct nl_call *call,
                  struct nl_ledger *ledger, struct nl_arena *arena, struct nl_err *err)
{
    struct own mine = {.count = 0};
    struct nl_history_who who = {0};
    struct nl_runnoise noise;
    add_own(&mine, captures, call);
    if (mine.count && !nl_runhistory_of(ledger, mine.runs[0], &who, arena, err))
        return false;
    if (!mine.count)
        who_of_file(captures, &who, arena);
    if (!nl_runnoise_learn(ledger, &who, own->runs, own->count, &noise, err))
        return false;
    if (isnan(noise.sd))
        return true;
    const char *host = nl_runhistory_host(&who);
    captures->input.noise = (struct nl_noise){
        .sd = noise.sd,
        .df = noise.df,
        .runs = noise.runs,
        .host = host ? nl_arena_text(&captures->arena, host, strlen(host)) : NULL};
    return true;
}

void nl_capture_noise(struct nl_captures *const *sides, size_t count, const struct nl_call *call)
{
    struct nl_err ignored;
    struct nl_arena arena;
    struct own own = {.count = 0};
    bool there = false;
    nl_err_clear(&ignored);
    if (!nl_ledgercall_there(call, &there, &ignored) || !there)
        return;
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, &ignored);
    nl_arena_init(&arena);
    for (size_t i = 0; i < count && ledger; i++)
        add_own(&own, sides[i], call);
    for (size_t i = 0; i < count && ledger; i++)
        if (sides[i]->count && !learn(sides[i], &own, call, ledger, &arena, &ignored))
            sides[i]->input.noise = (struct nl_noise){0};
    nl_arena_free(&arena);
    nl_ledger_close(ledger);
}
