/*
 * Column chunks. Names and words are dictionaries of what the row group uses; row numbers and times
 * are differences; everything else is plain. Pages are compressed with zstd at its quickest.
 */
#include "export/parquetchunk.h"

#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define PAGE_ROWS      131072u
#define LEVEL          1
#define MAX_DICTIONARY ((size_t)16 << 20) /* bytes; a larger one is not worth it */
#define MAX_RANGE_TEXT 64                 /* bytes of a text in statistics */
#define MAX_WORDS      64

enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

struct maker {
    struct parquet_chunk *chunk;
    const struct nl_table_view *view;
    const struct nl_view_column *column;
    uint32_t first, count;
    int64_t *numbers;  /* of known values; bits of doubles */
    uint32_t *indexes; /* of known values in the dictionary */
    uint32_t *valid;   /* 1 per row that is known */
    size_t known;
    struct bytes plain; /* the dictionary's texts, or all texts */
    size_t *text_at;    /* per entry of the dictionary, and its end */
    size_t entries, entry_cap;
    struct bytes page, header;
    struct nl_buf room;
};

enum parquet_type parquet_type_of(enum nl_form form)
{
    switch (form) {
    case NL_FORM_I64:
    case NL_FORM_U64: return PARQUET_INT64;
    case NL_FORM_U32:
    case NL_FORM_U16:
    case NL_FORM_U8: return PARQUET_INT32;
    case NL_FORM_F64: return PARQUET_DOUBLE;
    case NL_FORM_NAME:
    case NL_FORM_WORD:
    case NL_FORM_TEXT: break;
    }
    return PARQUET_BYTES;
}

/* ---- gathering ---- */

static void gather_numbers(struct maker *maker)
{
    union nl_view_cell value = {0};
    bool narrow = parquet_type_of(maker->column->form) == PARQUET_INT32;
    for (uint32_t i = 0; i < maker->count; i++) {
        maker->valid[i] = nl_view_value(maker->view, maker->column, maker->first + i, &value);
        int64_t number;
        memcpy(&number, &value, sizeof number);
        if (maker->valid[i])
            maker->numbers[maker->known++] = narrow ? (int32_t)(uint32_t)value.u64 : number;
    }
}

static void put_byte_array(struct maker *maker, struct nl_str text)
{
    size_t start = maker->plain.len;
    bytes_u32(&maker->plain, 0);
    bytes_utf8(&maker->plain, text);
    uint32_t len = (uint32_t)(maker->plain.len - start - 4);
    memcpy(maker->plain.at + start, &len, sizeof len);
}

static uint32_t add_entry(struct maker *maker, struct nl_str text)
{
    nl_grow(&maker->text_at, &maker->entry_cap, maker->entries + 2);
    maker->text_at[maker->entries] = maker->plain.len;
    put_byte_array(maker, text);
    maker->text_at[++maker->entries] = maker->plain.len;
    return (uint32_t)maker->entries - 1;
}

static struct nl_str name_text(struct maker *maker, uint32_t id)
{
    nl_buf_clear(&maker->room);
    return nl_trace_text(maker->view->export->trace, id, &maker->room);
}

/* False when the dictionary becomes too large, or the ids are no names. */
static bool gather_names(struct maker *maker)
{
    uint32_t names = maker->view->export->trace->names.count;
    uint32_t *index = nl_zalloc((names + (size_t)1) * sizeof *index); /* 0 = not there yet */
    union nl_view_cell value;
    bool good = true;
    for (uint32_t i = 0; i < maker->count && good; i++) {
        maker->valid[i] = nl_view_value(maker->view, maker->column, maker->first + i, &value);
        if (!maker->valid[i])
            continue;
        good = value.name < names && maker->plain.len < MAX_DICTIONARY;
        if (good && !index[value.name])
            index[value.name] = add_entry(maker, name_text(maker, value.name)) + 1;
        if (good)
            maker->indexes[maker->known++] = index[value.name] - 1;
    }
    nl_free(index);
    return good;
}

static void gather_words(struct maker *maker)
{
    const char *words[MAX_WORDS];
    size_t count = 0;
    union nl_view_cell value;
    for (uint32_t i = 0; i < maker->count; i++) {
        maker->valid[i] = nl_view_value(maker->view, maker->column, maker->first + i, &value);
        if (!maker->valid[i])
            continue;
        size_t at = 0;
        while (at < count && words[at] != value.text)
            at++;
        if (at == count) {
            if (count == MAX_WORDS)
                NL_BUG("an enumeration with more words than a dictionary of them");
            words[count++] = value.text;
            (void)add_entry(maker, nl_str(value.text));
        }
        maker->indexes[maker->known++] = (uint32_t)at;
    }
}

/* ---- statistics ---- */

static void keep_range(struct parquet_chunk *chunk, const void *least, const void *most, size_t len)
{
    chunk->has_range = true;
    bytes_add(&chunk->least, least, len);
    bytes_add(&chunk->most, most, len);
}

static void range_of_integers(struct maker *maker)
{
    bool is_unsigned = maker->column->form != NL_FORM_I64;
    uint64_t flip = is_unsigned ? 0 : (uint64_t)1 << 63, least = UINT64_MAX, most = 0;
    bool narrow = parquet_type_of(maker->column->form) == PARQUET_INT32;
    for (size_t i = 0; i < maker->known; i++) {
        uint64_t key = (uint64_t)maker->numbers[i];
        key = narrow ? (uint32_t)key : key ^ flip;
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    if (!narrow) {
        least ^= flip;
        most ^= flip;
    }
    keep_range(maker->chunk, &least, &most, narrow ? 4 : 8);
}

static void range_of_doubles(struct maker *maker)
{
    double least = 0, most = 0, value;
    for (size_t i = 0; i < maker->known; i++) {
        memcpy(&value, &maker->numbers[i], sizeof value);
        least = !i || value < least ? value : least;
        most = !i || value > most ? value : most;
    }
    least = least == 0 ? -0.0 : least; /* the format wants zeros that way */
    most = most == 0 ? 0.0 : most;
    keep_range(maker->chunk, &least, &most, sizeof least);
}

static struct nl_str entry(const struct maker *maker, size_t i)
{
    return (struct nl_str){(const char *)maker->plain.at + maker->text_at[i] + 4,
                           maker->text_at[i + 1] - maker->text_at[i] - 4};
}

static void range_of_texts(struct maker *maker)
{
    struct nl_str least = entry(maker, 0), most = least;
    for (size_t i = 1; i < maker->entries; i++) {
        struct nl_str text = entry(maker, i);
        least = nl_str_order(text, least) < 0 ? text : least;
        most = nl_str_order(text, most) > 0 ? text : most;
    }
    if (least.len > MAX_RANGE_TEXT || most.len > MAX_RANGE_TEXT)
        return;
    maker->chunk->has_range = true;
    bytes_add(&maker->chunk->least, least.ptr, least.len);
    bytes_add(&maker->chunk->most, most.ptr, most.len);
}

/* ---- pages ---- */

static void end_page(struct maker *maker, int type, uint32_t values, enum parquet_encoding encoding)
{
    struct parquet_chunk *chunk = maker->chunk;
    size_t most = ZSTD_compressBound(maker->page.len);
    struct bytes packed = {0};
    size_t len =
        ZSTD_compress(bytes_room(&packed, most + 1), most, maker->page.at, maker->page.len, LEVEL);
    if (ZSTD_getErrorCode(len) == ZSTD_error_memory_allocation)
        nl_memory_exhausted(most);
    if (ZSTD_isError(len))
        NL_BUG("zstd refused a page");
    bytes_clear(&maker->header);
    struct thrift thrift = thrift_over(&maker->header);
    thrift_i32(&thrift, 1, type);
    thrift_i32(&thrift, 2, (int64_t)maker->page.len);
    thrift_i32(&thrift, 3, (int64_t)len);
    thrift_open(&thrift, type == PAGE_DATA ? 5 : 7);
    thrift_i32(&thrift, 1, values);
    thrift_i32(&thrift, 2, encoding);
    if (type == PAGE_DATA) {
        thrift_i32(&thrift, 3, PARQUET_RLE);
        thrift_i32(&thrift, 4, PARQUET_RLE);
    }
    thrift_close(&thrift);
    thrift_close(&thrift);
    bytes_add(&chunk->out, maker->header.at, maker->header.len);
    bytes_add(&chunk->out, packed.at, len);
    chunk->plain_bytes += maker->header.len + maker->page.len;
    bytes_release(&packed);
    bytes_clear(&maker->page);
}

static void put_levels(struct maker *maker, uint32_t from, uint32_t rows)
{
    if (!maker->column->nullable)
        return;
    size_t start = maker->page.len;
    bytes_u32(&maker->page, 0);
    parquet_hybrid(&maker->page, maker->valid + from, rows, 1);
    uint32_t len = (uint32_t)(maker->page.len - start - 4);
    memcpy(maker->page.at + start, &len, sizeof len);
}

static void put_plain(struct maker *maker, size_t at, size_t count)
{
    enum parquet_type type = parquet_type_of(maker->column->form);
    for (size_t i = at; i < at + count; i++)
        if (type == PARQUET_INT32)
            bytes_u32(&maker->page, (uint32_t)maker->numbers[i]);
        else
            bytes_u64(&maker->page, (uint64_t)maker->numbers[i]);
}

static void put_plain_texts(struct maker *maker, uint32_t from, uint32_t rows)
{
    union nl_view_cell value;
    bytes_clear(&maker->plain);
    for (uint32_t i = from; i < from + rows; i++)
        if (nl_view_value(maker->view, maker->column, maker->first + i, &value))
            put_byte_array(maker, maker->column->form == NL_FORM_NAME ? name_text(maker, value.name)
                                                                      : value.str);
    bytes_add(&maker->page, maker->plain.at, maker->plain.len);
}

static void write_pages(struct maker *maker)
{
    enum parquet_encoding encoding = maker->chunk->encoding;
    bool texts = parquet_type_of(maker->column->form) == PARQUET_BYTES;
    bool wide = parquet_type_of(maker->column->form) == PARQUET_INT64;
    unsigned width = parquet_width(maker->entries ? (uint32_t)maker->entries - 1 : 0);
    size_t at = 0;
    maker->chunk->data_at = maker->chunk->out.len;
    for (uint32_t from = 0; from < maker->count || !from; from += PAGE_ROWS) {
        uint32_t rows = maker->count - from < PAGE_ROWS ? maker->count - from : PAGE_ROWS;
        size_t known = 0;
        for (uint32_t i = from; i < from + rows; i++)
            known += maker->valid[i];
        put_levels(maker, from, rows);
        if (encoding == PARQUET_DICTIONARY) {
            bytes_u8(&maker->page, (uint8_t)width);
            parquet_hybrid(&maker->page, maker->indexes + at, known, width);
        } else if (texts) {
            put_plain_texts(maker, from, rows);
        } else if (encoding == PARQUET_DELTA) {
            parquet_delta(&maker->page, maker->numbers + at, known, wide);
        } else {
            put_plain(maker, at, known);
        }
        end_page(maker, PAGE_DATA, rows, encoding);
        at += known;
    }
}

static void gather_plain_texts(struct maker *maker)
{
    union nl_view_cell value;
    maker->known = 0;
    for (uint32_t i = 0; i < maker->count; i++) {
        maker->valid[i] = nl_view_value(maker->view, maker->column, maker->first + i, &value);
        maker->known += maker->valid[i];
    }
}

static void gather_texts(struct maker *maker)
{
    bool dictionary = maker->column->form == NL_FORM_WORD;
    if (dictionary)
        gather_words(maker);
    else if (maker->column->form == NL_FORM_NAME)
        dictionary = gather_names(maker);
    if (!dictionary) {
        gather_plain_texts(maker);
        return;
    }
    maker->chunk->encoding = PARQUET_DICTIONARY;
    maker->chunk->has_dictionary = true;
    if (maker->entries)
        range_of_texts(maker);
    bytes_add(&maker->page, maker->plain.at, maker->plain.len);
    end_page(maker, PAGE_DICTIONARY, (uint32_t)maker->entries, PARQUET_PLAIN);
}

void parquet_chunk_make(struct parquet_chunk *chunk, const struct nl_table_view *view,
                        const struct nl_view_column *column, uint32_t first, uint32_t count)
{
    struct maker maker = {
        .chunk = chunk, .view = view, .column = column, .first = first, .count = count};
    bool texts = parquet_type_of(column->form) == PARQUET_BYTES;
    parquet_chunk_release(chunk);
    nl_buf_init(&maker.room, NL_MAX_FILLED);
    maker.valid = nl_alloc((count + (size_t)1) * sizeof *maker.valid);
    maker.numbers = texts ? NULL : nl_alloc((count + (size_t)1) * sizeof *maker.numbers);
    maker.indexes = texts ? nl_alloc((count + (size_t)1) * sizeof *maker.indexes) : NULL;
    if (texts) {
        gather_texts(&maker);
    } else {
        gather_numbers(&maker);
        chunk->encoding = column->ascending ? PARQUET_DELTA : PARQUET_PLAIN;
        if (maker.known && column->form == NL_FORM_F64)
            range_of_doubles(&maker);
        else if (maker.known)
            range_of_integers(&maker);
    }
    chunk->nulls = count - maker.known;
    write_pages(&maker);
    nl_free(maker.valid);
    nl_free(maker.numbers);
    nl_free(maker.indexes);
    nl_free(maker.text_at);
    nl_buf_release(&maker.room);
    bytes_release(&maker.plain);
    bytes_release(&maker.page);
    bytes_release(&maker.header);
}

void parquet_chunk_release(struct parquet_chunk *chunk)
{
    bytes_release(&chunk->out);
    bytes_release(&chunk->least);
    bytes_release(&chunk->most);
    *chunk = (struct parquet_chunk){0};
}
