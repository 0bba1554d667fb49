/* validate: every file against the schema of the run document; all faults,
 * exit 1 when there is one. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/stream.h"
#include "cli/output.h"
#include "rundoc/rundoc.h"
#include "view/view.h"
#include "view/jsonview.h"
#include "tables/resultcells.h"

#define MAX_READ ((size_t)1 << 30) /* of a document that cannot be mapped */

/* A document as it is on disk or was read from standard input. */
struct document {
    const char *name;
    const char *text;
    size_t size;
    struct nl_map map;
    struct nl_buf buf;
};

/* Standard input, and what is packed. */
static bool read_all(struct document *document, const char *name, struct nl_err *err)
{
    bool done = nl_stream_read_all(&document->buf, name, err);
    document->text = document->buf.ptr ? document->buf.ptr : "";
    document->size = document->buf.len;
    return done;
}

static bool is_packed(const char *name)
{
    struct nl_stream *stream = nl_stream_open(name, NULL, NULL);
    bool packed = stream && strcmp(nl_stream_encoding(stream), "plain") != 0;
    if (stream)
        nl_stream_close(stream);
    return packed;
}

static bool open_document(struct document *document, const char *name, struct nl_err *err)
{
    *document = (struct document){.name = name};
    nl_buf_init(&document->buf, MAX_READ);
    if (strcmp(name, "-") == 0 || is_packed(name))
        return read_all(document, name, err);
    if (!nl_map_open(&document->map, name, err))
        return false;
    document->text = document->map.bytes ? (const char *)document->map.bytes : "";
    document->size = document->map.size;
    return true;
}

static void close_document(struct document *document)
{
    if (document->map.bytes)
        nl_map_close(&document->map);
    nl_buf_release(&document->buf);
}

/* ---- the answer: a table of faults ---- */

#define COLUMNS(C)                                                                                 \
    C(file, NULL, TEXT)                                                                            \
    C(pointer, NULL, TEXT)                                                                         \
    C(keyword, NULL, TEXT)                                                                         \
    C(says, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static void add_faults(struct nl_result *result, const char *name,
                       const struct nl_rundoc_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct nl_rundoc_fault *fault = &faults->items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_file] = nl_cell_text(result, nl_str(name));
        cells[AT_pointer] = nl_cell_text(result, nl_str(fault->pointer));
        cells[AT_keyword] = nl_cell_text(result, nl_str(fault->keyword));
        cells[AT_says] = nl_cell_text(result, nl_str(fault->says));
    }
    if (faults->more)
        result->note = "more is wrong than is listed";
}

/* `ends`: rows up to and with each file's. */
static void print_text(FILE *out, char *const *names, const size_t *ends, size_t count,
                       const struct nl_result *result)
{
    for (size_t i = 0, row = 0; i < count; i++) {
        if (row == ends[i])
            fprintf(out, "%s: valid\n", names[i]);
        for (; row < ends[i]; row++) {
            struct nl_str pointer = nl_result_cell(result, row, 1)->text;
            struct nl_str keyword = nl_result_cell(result, row, 2)->text;
            struct nl_str says = nl_result_cell(result, row, 3)->text;
            if (!pointer.len)
                pointer = nl_str("the document");
            fprintf(out, "%s: %.*s: %.*s (%.*s)\n", names[i], (int)pointer.len, pointer.ptr,
                    (int)says.len, says.ptr, (int)keyword.len, keyword.ptr);
        }
    }
    if (result->note)
        fprintf(out, "%s\n", result->note);
}

static void print_json(FILE *out, size_t count, const struct nl_result *result)
{
    struct nl_json json;
    nl_view_json_begin(&json, out, "neurolens.validate/1");
    nl_json_open(&json, '{');
    nl_json_key(&json, "files");
    nl_json_u64(&json, count);
    nl_json_key(&json, "valid");
    nl_json_bool(&json, result->rows == 0);
    nl_json_key(&json, "truncated");
    nl_json_bool(&json, result->note != NULL);
    nl_json_key(&json, "faults");
    nl_json_open(&json, '[');
    for (size_t row = 0; row < result->rows; row++) {
        nl_json_open(&json, '{');
        for (size_t i = 0; i < result->column_count; i++) {
            nl_json_key(&json, result->columns[i].name);
            nl_json_str(&json, nl_result_cell(result, row, i)->text);
        }
        nl_json_close(&json, '}');
    }
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
}

static bool show_problems(const struct nl_call *call, struct nl_output *output, const size_t *ends,
                          const struct nl_result *result, struct nl_err *err)
{
    const char *format = output->view->name;
    if (strcmp(format, "text") == 0)
        print_text(output->stream, call->argument, ends, (size_t)call->count, result);
    else if (strcmp(format, "json") == 0)
        print_json(output->stream, (size_t)call->count, result);
    else
        return output->view->render_result(output->stream, NULL, result,
                                           &(struct nl_view_options){0}, err);
    return true;
}

static bool validate_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, (const char *const *)call->argument, (size_t)call->count,
                        err))
        return false;
    struct nl_result *result =
        nl_result_new("validate", "Faults", columns, sizeof columns / sizeof columns[0]);
    size_t *ends = nl_zalloc((size_t)call->count * sizeof *ends);
    bool done = true;
    for (int i = 0; done && i < call->count; i++) {
        struct nl_rundoc_faults faults;
        struct document document;
        done = open_document(&document, call->argument[i], err);
        if (done && !nl_rundoc_check(document.text, document.size, &faults))
            add_faults(result, document.name, &faults);
        if (done)
            nl_rundoc_faults_release(&faults);
        close_document(&document);
        ends[i] = result->rows;
    }
    done = done && show_problems(call, &output, ends, result, err);
    call->status = result->rows ? 1 : 0;
    nl_free(ends);
    nl_result_free(result);
    return nl_output_close(&output, call, done, err);
}

const struct nl_command nl_command_validate = {
    .name = "validate",
    .group = "Ledger",
    .summary = "validate run.json files",
    .usage = "FILE…",
    .least = 1,
    .most = -1,
    .tables = NL_TABLES(nl_common_options),
    .help =
        "Validates each FILE (a run.json, compressed or not; - is standard input) and lists "
        "every\n"
        "error: its place as a JSON pointer, the schema keyword, and the reason. Works offline.\n"
        "Exits with 1 if any file is invalid.",
    .examples = "neurolens validate run.json\n"
                "neurolens validate --format json runs/*.json",
    .run = validate_run,
};
