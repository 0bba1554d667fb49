/*
 * Extended NVTX payloads: structures that a library attached to a range, as bytes. The file says in
 * NVTX_PAYLOAD_SCHEMA_ENTRIES which fields they have (exported with --include-blobs=true only).
 * They become JSON text; from NCCL's, message size and peer are taken out.
 *
 * A payload is, little endian: domain, schema, size, end (8 bytes each), then the structure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/search.h"
#include "ingest/nsys/nsyspayload.h"
#include "ingest/nsys/nsysrows.h"
#include "ingest/nsys/nsysids.h"

#define HEADER     32
#define MAX_FIELDS 65536
#define MAX_BYTES  4096 /* of a payload that is looked at */

/* ---- Schemas ---- */

enum { E_DOMAIN, E_SCHEMA, E_INDEX, E_TYPE, E_OFFSET, E_NAME, E_CELLS };
static const char *const entry_columns[E_CELLS + 1] = {
    [E_DOMAIN] = "domainId", [E_SCHEMA] = "schemaId", [E_INDEX] = "idx",
    [E_TYPE] = "type",       [E_OFFSET] = "offset",   [E_NAME] = "name"};

static void entry_row(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nl_str name = nsys_text(load, &cells[E_NAME]);
    struct nsys_field field = {.domain = dbcell_i64(&cells[E_DOMAIN]),
                               .schema = dbcell_i64(&cells[E_SCHEMA]),
                               .index = dbcell_i64(&cells[E_INDEX]),
                               .type = dbcell_i64(&cells[E_TYPE]),
                               .offset = dbcell_i64(&cells[E_OFFSET])};
    if (name.len == 0 || load->field_count >= MAX_FIELDS)
        return;
    field.name = (struct nl_str){nl_arena_text(&load->db.arena, name.ptr, name.len), name.len};
    nl_grow(&load->fields, &load->field_cap, load->field_count + 1);
    load->fields[load->field_count++] = field;
}

static int by_place(const void *x, const void *y)
{
    const struct nsys_field *a = x, *b = y;
    if (a->domain != b->domain)
        return a->domain < b->domain ? -1 : 1;
    if (a->schema != b->schema)
        return a->schema < b->schema ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void nsys_payload_load(struct nsys_load *load)
{
    nsys_each(load, "NVTX_PAYLOAD_SCHEMA_ENTRIES", entry_columns, entry_row, load);
    if (load->field_count > 0)
        qsort(load->fields, load->field_count, sizeof *load->fields, by_place);
}

/* First field of a schema; it is followed by the others. */
static size_t first_field(const struct nsys_load *load, int64_t domain, int64_t schema)
{
    size_t low = 0, high = load->field_count;
    struct nsys_field key = {.domain = domain, .schema = schema, .index = INT64_MIN};
    return NL_FIRST(i, low, high, by_place(&load->fields[i], &key) >= 0);
}

/* ---- Values ---- */

static uint64_t little(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

/* Types of nvToolsExtPayload.h that are a number, on 64-bit Linux. */
static const struct {
    uint8_t size;
    char kind; /* i signed, u unsigned, f floating point */
} types[] = {
    [1] = {1, 'i'},  [2] = {1, 'u'},  [3] = {2, 'i'},  [4] = {2, 'u'},  [5] = {4, 'i'},
    [6] = {4, 'u'},  [7] = {8, 'i'},  [8] = {8, 'u'},  [9] = {8, 'i'},  [10] = {8, 'u'},
    [11] = {1, 'i'}, [12] = {1, 'u'}, [13] = {2, 'i'}, [14] = {2, 'u'}, [15] = {4, 'i'},
    [16] = {4, 'u'}, [17] = {8, 'i'}, [18] = {8, 'u'}, [19] = {4, 'f'}, [20] = {8, 'f'},
    [22] = {8, 'u'}, [23] = {8, 'u'},
};
#define TYPES ((int64_t)(sizeof types / sizeof types[0]))

static void keep_payload_field(struct nsys_payload *payload, struct nl_str name, uint64_t value)
{
    if (nl_str_starts(name, "Message size"))
        payload->bytes = value;
    else if (nl_str_is(name, "Peer rank") || nl_str_is(name, "Root"))
        payload->peer = (int64_t)value;
}

static void write_field(struct nl_json *json, struct nsys_payload *payload,
                        const struct nsys_field *field, const unsigned char *bytes)
{
    unsigned size = types[field->type].size, unused = 64 - 8 * size;
    uint64_t value = little(bytes, size);
    char kind = types[field->type].kind;
    nl_json_key(json, field->name.ptr);
    if (kind == 'f' && size == 4) {
        uint32_t bits = (uint32_t)value;
        float number;
        memcpy(&number, &bits, sizeof number);
        nl_json_f64(json, (double)number);
    } else if (kind == 'f') {
        double number;
        memcpy(&number, &value, sizeof number);
        nl_json_f64(json, number);
    } else if (kind == 'i') {
        int64_t number = (int64_t)(value << unused) >> unused;
        keep_payload_field(payload, field->name, (uint64_t)number);
        nl_json_i64(json, number);
    } else {
        keep_payload_field(payload, field->name, value);
        nl_json_u64(json, value);
    }
}

/* The payload's bytes, which old exports wrote as hexadecimal text. */
static size_t raw_bytes(dbfile_cells cell, unsigned char bytes[MAX_BYTES])
{
    size_t len = cell->len < MAX_BYTES ? cell->len : MAX_BYTES;
    if (cell->type == SQLITEPAGES_BLOB || len < 2 * HEADER) {
        memcpy(bytes, cell->bytes, len);
        return len;
    }
    len /= 2;
    for (size_t i = 0; i < len; i++) {
        unsigned byte;
        char pair[3] = {(char)cell->bytes[2 * i], (char)cell->bytes[2 * i + 1], 0};
        char *end;
        byte = (unsigned)strtoul(pair, &end, 16);
        if (end != pair + 2) { /* not hexadecimal: the bytes themselves, marked as text */
            len = cell->len < MAX_BYTES ? cell->len : MAX_BYTES;
            memcpy(bytes, cell->bytes, len);
            return len;
        }
        bytes[i] = (unsigned char)byte;
    }
    return len;
}

bool nsys_payload_decode(struct nsys_worker *worker, dbfile_cells cell,
                         struct nsys_payload *payload)
{
    unsigned char bytes[MAX_BYTES];
    const struct nsys_load *load = worker->load;
    *payload = (struct nsys_payload){.bytes = NL_NULL_U64, .peer = NL_NULL_I64};
    if (cell->type != SQLITEPAGES_BLOB && cell->type != SQLITEPAGES_TEXT)
        return false;
    size_t len = raw_bytes(cell, bytes);
    if (len < HEADER)
        return false;
    int64_t domain = (int64_t)little(bytes, 8), schema = (int64_t)little(bytes + 8, 8);
    struct nl_buf text;
    struct nl_json json;
    nl_buf_init(&text, 65536);
    nl_json_to_buf(&json, &text, 0);
    nl_json_open(&json, '{');
    size_t first = first_field(load, domain, schema), i = first;
    for (; i < load->field_count && load->fields[i].domain == domain &&
           load->fields[i].schema == schema;
         i++) {
        const struct nsys_field *field = &load->fields[i];
        int64_t room = (int64_t)(len - HEADER),
                at = field->offset == NL_NULL_I64 ? 0 : field->offset;
        if (field->type > 0 && field->type < TYPES && types[field->type].size > 0 && at >= 0 &&
            at <= room - types[field->type].size)
            write_field(&json, payload, field, bytes + HEADER + at);
    }
    if (i == first) {
        nl_json_key(&json, "schema");
        nl_json_i64(&json, schema);
        nl_json_key(&json, "bytes");
        nl_json_u64(&json, len - HEADER);
    }
    nl_json_close(&json, '}');
    payload->text = nl_stage_name(worker->stage, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
    return true;
}
