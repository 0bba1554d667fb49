/*
 * report --site: every run of the ledger as a page, and an index of them with filters: a folder for
 * any file host. A run never changes, so its page is written once; what the ledger does not have
 * the events of is listed without.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/site.h"
#include "cli/pagecall.h"
#include "cli/cmd_report.h"
#include "ledger/runlist.h"
#include "pages/page.h"

struct site {
    struct nl_call *call;
    const char *folder;
    size_t written, there, without;
};

/* Writes one run's page; false when it cannot be had, which is reported and no end of the site. */
static bool write_run(struct site *site, const char *id, const char *path, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_out out;
    char *words[] = {nl_strdup(id)};
    bool done = nl_input_read(&input, words, 1, err);
    struct nl_trace *trace = done ? nl_input_load(&input, site->call, err) : NULL;
    done = trace && nl_out_open(&out, path, err);
    if (done) {
        done = nl_page_write(site->call, &input, trace, out.stream, err);
        if (done)
            done = nl_out_commit(&out, err);
        else
            nl_out_abort(&out);
    }
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    nl_free(words[0]);
    return done;
}

/* The cell that leads to a run's page, which is made when it is not there. */
static struct nl_cell page_of(struct site *site, struct nl_result *index, struct nl_str id,
                              struct nl_err *err)
{
    char *name = nl_arena_format(&index->arena, "%.*s.html", (int)id.len, id.ptr);
    char *path = nl_arena_format(&index->arena, "%s/%s", site->folder, name);
    struct nl_err why;
    nl_err_clear(&why);
    if (access(path, R_OK) == 0) {
        site->there++;
    } else if (write_run(site, nl_arena_text(&index->arena, id.ptr, id.len), path, &why)) {
        site->written++;
    } else {
        if (why.code == NL_INTERRUPTED || why.code == NL_WRITE)
            *err = why;
        site->without++;
        nl_message_detail(site->call, "%.*s has no page: %s", (int)id.len, id.ptr, why.text);
        return (struct nl_cell){.type = NL_CELL_NULL};
    }
    return (struct nl_cell){.type = NL_CELL_TEXT, .text = nl_str(name)};
}

/* The list of runs with a first column that names their pages; its texts are the list's. */
enum { PAGE, FROM_LIST };

static struct nl_result *index_of(struct site *site, const struct nl_result *list,
                                  struct nl_err *err)
{
    struct nl_result_column *columns = nl_alloc((FROM_LIST + list->column_count) * sizeof *columns);
    size_t id = 0;
    columns[PAGE] = (struct nl_result_column){"page", NULL, NL_MEANS_TEXT};
    for (size_t i = 0; i < list->column_count; i++) {
        columns[FROM_LIST + i] = list->columns[i];
        if (!strcmp(list->columns[i].name, "id"))
            id = i;
    }
    struct nl_result *index =
        nl_result_new("runs", "Runs", columns, FROM_LIST + list->column_count);
    nl_free(columns);
    for (size_t row = 0; row < list->rows && err->code == NL_OK; row++) {
        const struct nl_cell *name = nl_result_cell(list, row, id);
        if (name->type != NL_CELL_TEXT)
            continue;
        struct nl_cell page = page_of(site, index, name->text, err);
        struct nl_cell *cells = nl_result_row(index);
        cells[PAGE] = page;
        for (size_t i = 0; i < list->column_count; i++)
            cells[FROM_LIST + i] = *nl_result_cell(list, row, i);
    }
    return index;
}

static bool write_index(const struct site *site, struct nl_result *index, struct nl_err *err)
{
    struct nl_result *results[] = {index};
    char text[160];
    const char *headlines[] = {text};
    struct nl_report report = {.name = "site",
                               .title = "Runs",
                               .headlines = {headlines[0]},
                               .headline_count = 1,
                               .results = results,
                               .result_count = 1};
    struct nl_page page = {.kind = "site", .title = "Runs", .command = site->call->line};
    struct nl_out out;
    char *path = nl_alloc(strlen(site->folder) + sizeof "/index.html");
    sprintf(path, "%s/index.html", site->folder);
    snprintf(text, sizeof text, "%zu runs, %zu of them with a page.", index->rows,
             site->written + site->there);
    bool done = nl_out_open(&out, path, err);
    if (done) {
        done = nl_page_tables(out.stream, &page, &report, err);
        if (done)
            done = nl_out_commit(&out, err);
        else
            nl_out_abort(&out);
    }
    nl_free(path);
    return done;
}

bool nl_report_site(struct nl_call *call, struct nl_err *err)
{
    struct site site = {.call = call, .folder = nl_report_own(call)->site};
    bool every = call->count == 1 && !strcmp(call->argument[0], "@");
    struct nl_list_options options = {.filters = (const char *const *)call->argument,
                                      .filter_count = every ? 0 : (size_t)call->count,
                                      .limit = (uint64_t)call->settings.limit};
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    struct nl_result *list = ledger ? nl_ledger_list(ledger, &options, err) : NULL;
    nl_ledger_close(ledger);
    bool done = list && nl_make_folders(site.folder, err);
    if (done) {
        struct nl_result *index = index_of(&site, list, err);
        done = err->code == NL_OK && write_index(&site, index, err);
        nl_result_free(index);
    }
    if (done)
        nl_message_note(call, "%s/index.html: %zu pages written, %zu were there, %zu runs without",
                        site.folder, site.written, site.there, site.without);
    nl_result_free(list);
    return done;
}
