/*
 * Arrow IPC files (Feather, version 2): a file per table, uncompressed, so that readers map them
 * and use the columns in place. Names and words are dictionaries of the whole file, written before
 * the first batch; other texts are large_utf8. Format:
 * https://arrow.apache.org/docs/format/Columnar.html
 */
#include "base/pool.h"
#include "export/arrowcolumn.h"
#include "export/flatbytes.h"
#include "export/tablemeta.h"
#include "export/tableset.h"

#define BATCH_ROWS 131072u
#define VERSION_5  4

enum { HEAD_SCHEMA = 1, HEAD_DICTIONARY = 2, HEAD_BATCH = 3 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_LARGE_UTF8 = 20, DOUBLE = 2 };

struct block {
    uint64_t at, meta, body;
};

struct file {
    const struct nl_table_view *view;
    FILE *out;
    uint64_t at; /* bytes written */
    struct arrow_column *columns;
    struct block *dictionaries, *batches;
    size_t dictionary_count, dictionary_cap, batch_count, batch_cap;
    uint32_t first, rows; /* of the batch being made */
};

/* ---- the schema ---- */

static int bits_of(enum nl_form form)
{
    switch (form) {
    case NL_FORM_U32: return 32;
    case NL_FORM_U16: return 16;
    case NL_FORM_U8: return 8;
    default: return 64;
    }
}

static void put_int(struct bytes *out, size_t from, int bits, bool is_signed)
{
    struct flat_table type = flat_table(out, from, "41");
    flat_number(out, &type, 0, bits, 4);
    flat_number(out, &type, 1, is_signed, 1);
}

static void put_type(struct bytes *out, const struct flat_table *field,
                     const struct arrow_column *column)
{
    enum nl_form form = column->column->form;
    bool text = arrow_is_text(form);
    flat_number(out, field, 2,
                text                  ? TYPE_LARGE_UTF8
                : form == NL_FORM_F64 ? TYPE_FLOAT
                                      : TYPE_INT,
                1);
    if (text) {
        (void)flat_table(out, flat_at(field, 3), "");
    } else if (form == NL_FORM_F64) {
        struct flat_table type = flat_table(out, flat_at(field, 3), "2");
        flat_number(out, &type, 0, DOUBLE, 2);
    } else {
        put_int(out, flat_at(field, 3), bits_of(form), form == NL_FORM_I64);
    }
}

static void put_field(struct bytes *out, size_t from, const struct file *file, unsigned c)
{
    const struct arrow_column *column = &file->columns[c];
    bool coded = column->has_dictionary;
    struct flat_table field = flat_table(out, from, coded ? "o11ooo" : "o11o.o");
    flat_text(out, flat_at(&field, 0), nl_str(column->column->name));
    flat_number(out, &field, 1, column->column->nullable, 1);
    put_type(out, &field, column);
    if (coded) {
        struct flat_table coding = flat_table(out, flat_at(&field, 4), "8o");
        flat_number(out, &coding, 0, c, 8);
        put_int(out, flat_at(&coding, 1), 32, true);
    }
    (void)flat_vector(out, flat_at(&field, 5), 0, 4);
}

static void put_schema(struct bytes *out, size_t from, const struct file *file)
{
    struct nl_table_meta meta;
    struct flat_table schema = flat_table(out, from, "2oo");
    size_t fields = flat_vector(out, flat_at(&schema, 1), file->view->count, 4);
    for (unsigned c = 0; c < file->view->count; c++)
        put_field(out, fields + 4 * (size_t)c, file, c);
    nl_table_meta_make(&meta, file->view);
    size_t pairs = flat_vector(out, flat_at(&schema, 2), NL_TABLE_PAIRS, 4);
    for (size_t i = 0; i < NL_TABLE_PAIRS; i++) {
        struct flat_table pair = flat_table(out, pairs + 4 * i, "oo");
        flat_text(out, flat_at(&pair, 0), nl_str(meta.pairs[i].key));
        flat_text(out, flat_at(&pair, 1), meta.pairs[i].value);
    }
    nl_table_meta_release(&meta);
}

/* ---- messages ---- */

static struct flat_table begin_message(struct bytes *meta, int head, uint64_t body)
{
    struct flat_table message = flat_table(meta, flat_begin(meta), "21o8");
    flat_number(meta, &message, 0, VERSION_5, 2);
    flat_number(meta, &message, 1, head, 1);
    flat_number(meta, &message, 3, (int64_t)body, 8);
    return message;
}

static struct block write_message(struct file *file, struct bytes *meta, uint64_t body)
{
    flat_align(meta, 8, 0);
    uint32_t prefix[2] = {0xffffffff, (uint32_t)meta->len};
    struct block block = {file->at, meta->len + sizeof prefix, body};
    fwrite(prefix, 1, sizeof prefix, file->out);
    fwrite(meta->at, 1, meta->len, file->out);
    file->at += block.meta + body;
    return block;
}

/* A RecordBatch of `count` columns; gives the bytes of its body. */
static uint64_t put_batch(struct bytes *meta, size_t from, const struct arrow_column *columns,
                          size_t count, uint64_t rows)
{
    struct flat_table batch = flat_table(meta, from, "8oo");
    size_t buffers = 0, made = 0;
    uint64_t at = 0;
    flat_number(meta, &batch, 0, (int64_t)rows, 8);
    size_t nodes = flat_vector(meta, flat_at(&batch, 1), count, 16);
    for (size_t c = 0; c < count; c++) {
        uint64_t node[2] = {rows, columns[c].nulls};
        flat_set(meta, nodes + 16 * c, node, sizeof node);
        buffers += columns[c].buffer_count;
    }
    size_t places = flat_vector(meta, flat_at(&batch, 2), buffers, 16);
    for (size_t c = 0; c < count; c++)
        for (unsigned i = 0; i < columns[c].buffer_count; i++) {
            uint64_t place[2] = {at, columns[c].buffers[i].len};
            flat_set(meta, places + 16 * made++, place, sizeof place);
            at += (place[1] + 7) / 8 * 8;
        }
    return at;
}

static void write_body(struct file *file, const struct arrow_column *columns, size_t count)
{
    static const char zeros[8] = {0};
    for (size_t c = 0; c < count; c++)
        for (unsigned i = 0; i < columns[c].buffer_count; i++) {
            const struct bytes *buffer = &columns[c].buffers[i];
            fwrite(buffer->at, 1, buffer->len, file->out);
            fwrite(zeros, 1, (8 - buffer->len % 8) % 8, file->out);
        }
}

static void write_dictionary(struct file *file, unsigned c)
{
    struct bytes meta = {0};
    const struct arrow_column *texts = file->columns[c].dictionary;
    struct flat_table message = begin_message(&meta, HEAD_DICTIONARY, 0);
    struct flat_table dictionary = flat_table(&meta, flat_at(&message, 2), "8o");
    flat_number(&meta, &dictionary, 0, c, 8);
    uint64_t body = put_batch(&meta, flat_at(&dictionary, 1), texts, 1, file->columns[c].entries);
    flat_number(&meta, &message, 3, (int64_t)body, 8);
    nl_grow(&file->dictionaries, &file->dictionary_cap, file->dictionary_count + 1);
    file->dictionaries[file->dictionary_count++] = write_message(file, &meta, body);
    write_body(file, texts, 1);
    bytes_release(&meta);
}

static void make_column(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct file *file = context;
    arrow_column_fill(&file->columns[index], file->first, file->rows);
}

static void write_batch(struct file *file, const struct nl_export *export)
{
    struct bytes meta = {0};
    nl_parallel(nl_job_threads(export->job), file->view->count, make_column, file);
    struct flat_table message = begin_message(&meta, HEAD_BATCH, 0);
    uint64_t body =
        put_batch(&meta, flat_at(&message, 2), file->columns, file->view->count, file->rows);
    flat_number(&meta, &message, 3, (int64_t)body, 8);
    nl_grow(&file->batches, &file->batch_cap, file->batch_count + 1);
    file->batches[file->batch_count++] = write_message(file, &meta, body);
    write_body(file, file->columns, file->view->count);
    bytes_release(&meta);
}

/* ---- the file ---- */

static void put_blocks(struct bytes *out, size_t from, const struct block *blocks, size_t count)
{
    size_t at = flat_vector(out, from, count, 24);
    for (size_t i = 0; i < count; i++) {
        uint64_t place[3] = {blocks[i].at, blocks[i].meta, blocks[i].body};
        flat_set(out, at + 24 * i, place, sizeof place);
    }
}

static void write_footer(struct file *file)
{
    static const uint32_t end[2] = {0xffffffff, 0};
    struct bytes out = {0};
    fwrite(end, 1, sizeof end, file->out);
    struct flat_table footer = flat_table(&out, flat_begin(&out), "2ooo");
    flat_number(&out, &footer, 0, VERSION_5, 2);
    put_schema(&out, flat_at(&footer, 1), file);
    put_blocks(&out, flat_at(&footer, 2), file->dictionaries, file->dictionary_count);
    put_blocks(&out, flat_at(&footer, 3), file->batches, file->batch_count);
    bytes_u32(&out, (uint32_t)out.len);
    bytes_add(&out, "ARROW1", 6);
    fwrite(out.at, 1, out.len, file->out);
    bytes_release(&out);
}

static void write_head(struct file *file)
{
    struct bytes meta = {0};
    fwrite("ARROW1\0", 1, 8, file->out);
    file->at = 8;
    struct flat_table message = begin_message(&meta, HEAD_SCHEMA, 0);
    put_schema(&meta, flat_at(&message, 2), file);
    (void)write_message(file, &meta, 0);
    bytes_release(&meta);
    for (unsigned c = 0; c < file->view->count; c++)
        if (file->columns[c].has_dictionary)
            write_dictionary(file, c);
}

static bool write_arrow(const struct nl_export *export, const struct nl_table_view *view, FILE *out,
                        struct nl_err *err)
{
    struct file file = {.view = view, .out = out};
    bool done = true;
    file.columns = nl_zalloc((view->count + 1u) * sizeof *file.columns);
    for (unsigned c = 0; c < view->count; c++)
        arrow_column_open(&file.columns[c], view, &view->columns[c]);
    write_head(&file);
    for (; done && file.first < view->row_count; file.first += file.rows) {
        uint32_t left = view->row_count - file.first;
        file.rows = left < BATCH_ROWS ? left : BATCH_ROWS;
        write_batch(&file, export);
        nl_job_add(export->job, 1);
        done = nl_export_goes_on(export, err);
    }
    write_footer(&file);
    for (unsigned c = 0; c < view->count; c++)
        arrow_column_close(&file.columns[c]);
    nl_free(file.columns);
    nl_free(file.dictionaries);
    nl_free(file.batches);
    return done;
}

bool nl_export_arrow(struct nl_export *export, struct nl_err *err)
{
    static const struct nl_table_format format = {".arrow", write_arrow};
    return nl_write_tables(export, &format, err);
}
