/*
 * Parquet: a file per table, row groups of a million rows, the columns of a group encoded by
 * several threads. The footer says what the columns mean, and says that statistics are in the usual
 * order (without column_orders they are ignored).
 */
#include "base/pool.h"
#include "export/parquetchunk.h"
#include "export/tablemeta.h"
#include "export/tableset.h"

#define GROUP_ROWS 1048576u
#define CODEC_ZSTD 6
#define CREATED_BY "neurolens version " NL_VERSION

enum { OPTIONAL = 1, REQUIRED = 0 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };

struct group {
    const struct nl_table_view *view;
    struct parquet_chunk *chunks; /* per column */
    uint32_t first, rows;
};

struct file {
    const struct nl_export *export;
    const struct nl_table_view *view;
    FILE *out;
    uint64_t at;         /* bytes written */
    struct bytes groups; /* RowGroup structs, as elements of a list */
    size_t group_count;
};

/* ---- the footer ---- */

/* Bits of an unsigned integer column; 0 = it is none. */
static int unsigned_bits(enum nl_form form)
{
    switch (form) {
    case NL_FORM_U64: return 64;
    case NL_FORM_U32: return 32;
    case NL_FORM_U16: return 16;
    case NL_FORM_U8: return 8;
    default: return 0;
    }
}

static void put_schema(struct thrift *thrift, const struct nl_table_view *view)
{
    static const int converted[] = {[8] = 11, [16] = 12, [32] = 13, [64] = 14}; /* UINT_… */
    thrift_list(thrift, 2, THRIFT_STRUCT, view->count + 1u);
    thrift_open(thrift, 0);
    thrift_text(thrift, 4, nl_str("schema"));
    thrift_i32(thrift, 5, view->count);
    thrift_close(thrift);
    for (unsigned c = 0; c < view->count; c++) {
        const struct nl_view_column *column = &view->columns[c];
        int bits = unsigned_bits(column->form);
        bool text = parquet_type_of(column->form) == PARQUET_BYTES;
        thrift_open(thrift, 0);
        thrift_i32(thrift, 1, parquet_type_of(column->form));
        thrift_i32(thrift, 3, column->nullable ? OPTIONAL : REQUIRED);
        thrift_text(thrift, 4, nl_str(column->name));
        if (text || bits) {
            thrift_i32(thrift, 6, text ? 0 : converted[bits]);
            thrift_open(thrift, 10);
            thrift_open(thrift, text ? LOGICAL_STRING : LOGICAL_INTEGER);
            if (bits) {
                thrift_i8(thrift, 1, (int8_t)bits);
                thrift_bool(thrift, 2, false);
            }
            thrift_close(thrift);
            thrift_close(thrift);
        }
        thrift_close(thrift);
    }
}

static void put_pair(struct thrift *thrift, const char *key, struct nl_str value)
{
    thrift_open(thrift, 0);
    thrift_text(thrift, 1, nl_str(key));
    thrift_text(thrift, 2, value);
    thrift_close(thrift);
}

static void put_metadata(struct thrift *thrift, const struct file *file)
{
    struct nl_table_meta meta;
    nl_table_meta_make(&meta, file->view);
    thrift_list(thrift, 5, THRIFT_STRUCT, NL_TABLE_PAIRS);
    for (size_t i = 0; i < NL_TABLE_PAIRS; i++)
        put_pair(thrift, meta.pairs[i].key, meta.pairs[i].value);
    nl_table_meta_release(&meta);
}

static void write_footer(struct file *file)
{
    struct bytes out = {0};
    struct thrift thrift = thrift_over(&out);
    thrift_i32(&thrift, 1, 2);
    put_schema(&thrift, file->view);
    thrift_i64(&thrift, 3, file->view->row_count);
    thrift_list(&thrift, 4, THRIFT_STRUCT, file->group_count);
    bytes_add(&out, file->groups.at, file->groups.len);
    put_metadata(&thrift, file);
    thrift_text(&thrift, 6, nl_str(CREATED_BY));
    thrift_list(&thrift, 7, THRIFT_STRUCT, file->view->count);
    for (unsigned c = 0; c < file->view->count; c++) {
        thrift_open(&thrift, 0);
        thrift_open(&thrift, 1); /* TypeDefinedOrder */
        thrift_close(&thrift);
        thrift_close(&thrift);
    }
    thrift_close(&thrift);
    bytes_u32(&out, (uint32_t)out.len);
    bytes_add(&out, "PAR1", 4);
    fwrite(out.at, 1, out.len, file->out);
    bytes_release(&out);
}

/* ---- row groups ---- */

static void make_chunk(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct group *group = context;
    parquet_chunk_make(&group->chunks[index], group->view, &group->view->columns[index],
                       group->first, group->rows);
}

static void put_statistics(struct thrift *thrift, const struct parquet_chunk *chunk)
{
    thrift_open(thrift, 12);
    thrift_i64(thrift, 3, (int64_t)chunk->nulls);
    if (chunk->has_range) {
        thrift_text(thrift, 5, (struct nl_str){(const char *)chunk->most.at, chunk->most.len});
        thrift_text(thrift, 6, (struct nl_str){(const char *)chunk->least.at, chunk->least.len});
    }
    thrift_close(thrift);
}

static void put_chunk(struct thrift *thrift, const struct nl_view_column *column,
                      const struct parquet_chunk *chunk, uint64_t at, uint32_t rows)
{
    thrift_open(thrift, 0);
    thrift_i64(thrift, 2, (int64_t)at);
    thrift_open(thrift, 3);
    thrift_i32(thrift, 1, parquet_type_of(column->form));
    thrift_list(thrift, 2, THRIFT_I32, chunk->has_dictionary ? 3 : 2);
    bytes_zigzag(thrift->out, chunk->encoding);
    bytes_zigzag(thrift->out, PARQUET_RLE);
    if (chunk->has_dictionary)
        bytes_zigzag(thrift->out, PARQUET_PLAIN);
    thrift_list(thrift, 3, THRIFT_BINARY, 1);
    thrift_text(thrift, 0, nl_str(column->name));
    thrift_i32(thrift, 4, CODEC_ZSTD);
    thrift_i64(thrift, 5, rows);
    thrift_i64(thrift, 6, (int64_t)chunk->plain_bytes);
    thrift_i64(thrift, 7, (int64_t)chunk->out.len);
    thrift_i64(thrift, 9, (int64_t)(at + chunk->data_at));
    if (chunk->has_dictionary)
        thrift_i64(thrift, 11, (int64_t)at);
    put_statistics(thrift, chunk);
    thrift_close(thrift);
    thrift_close(thrift);
}

static void write_group(struct file *file, struct group *group)
{
    struct thrift thrift = thrift_over(&file->groups);
    uint64_t start = file->at, plain = 0;
    thrift_open(&thrift, 0);
    thrift_list(&thrift, 1, THRIFT_STRUCT, file->view->count);
    for (unsigned c = 0; c < file->view->count; c++) {
        const struct parquet_chunk *chunk = &group->chunks[c];
        put_chunk(&thrift, &file->view->columns[c], chunk, file->at, group->rows);
        fwrite(chunk->out.at, 1, chunk->out.len, file->out);
        file->at += chunk->out.len;
        plain += chunk->plain_bytes;
    }
    thrift_i64(&thrift, 2, (int64_t)plain);
    thrift_i64(&thrift, 3, group->rows);
    thrift_i64(&thrift, 5, (int64_t)start);
    thrift_i64(&thrift, 6, (int64_t)(file->at - start));
    thrift_i16(&thrift, 7, (int64_t)(file->group_count & INT16_MAX));
    thrift_close(&thrift);
    file->group_count++;
}

static bool write_parquet(const struct nl_export *export, const struct nl_table_view *view,
                          FILE *out, struct nl_err *err)
{
    struct file file = {.export = export, .view = view, .out = out, .at = 4};
    struct group group = {.view = view};
    bool done = true;
    group.chunks = nl_zalloc((view->count + 1u) * sizeof *group.chunks);
    fwrite("PAR1", 1, 4, out);
    for (; done && group.first < view->row_count; group.first += group.rows) {
        uint32_t left = view->row_count - group.first;
        group.rows = left < GROUP_ROWS ? left : GROUP_ROWS;
        nl_parallel(nl_job_threads(export->job), view->count, make_chunk, &group);
        write_group(&file, &group);
        nl_job_add(export->job, 1);
        done = nl_export_goes_on(export, err);
    }
    write_footer(&file);
    for (unsigned c = 0; c < view->count; c++)
        parquet_chunk_release(&group.chunks[c]);
    nl_free(group.chunks);
    bytes_release(&file.groups);
    return done;
}

bool nl_export_parquet(struct nl_export *export, struct nl_err *err)
{
    static const struct nl_table_format format = {".parquet", write_parquet};
    return nl_write_tables(export, &format, err);
}
