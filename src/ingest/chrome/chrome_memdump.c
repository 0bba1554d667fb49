/*
 * Memory dumps (phase v): what a process has in memory at a moment, by its totals and by its
 * allocators. Numbers are hexadecimal text:
 *
 *     {"ph": "v", "pid": 1, "ts": 5, "args": {"dumps": {
 *         "process_totals": {"resident_set_bytes": "1a000"},
 *         "allocators": {"malloc/objects": {"attrs": {
 *             "size": {"type": "scalar", "units": "bytes", "value": "5c0"}}}}}}}
 *
 * Each becomes a counter of the process. Allocators are a tree; two levels of it are read, below
 * which they are heaps and pages by the thousand, with addresses in their names.
 */
#include "base/hex.h"
#include "ingest/chrome/chrome_rows.h"
#include "ingest/chrome/chrome_value.h"

struct dump {
    struct chrome_worker *worker;
    struct nl_counter_row row;
    uint32_t lane;
};

/* An object's text, walked member by member; empty for anything else. */
struct object {
    const char *at, *end;
};

static struct object object_of(const struct chrome_value *value)
{
    if (value->type != CHROME_OBJECT)
        return (struct object){NULL, NULL};
    return (struct object){value->ptr, value->ptr + value->len};
}

static bool next_in(struct object *object, struct nl_str *key, struct chrome_value *value)
{
    return object->at && chrome_member(&object->at, object->end, key, value);
}

/* Texts are hexadecimal. */
static bool read_number(const struct chrome_value *value, double *number)
{
    uint64_t sum;
    if (value->type != CHROME_STRING)
        return chrome_number(value, number);
    if (!nl_hex_u64(chrome_text(value), &sum))
        return false;
    *number = (double)sum;
    return true;
}

/* A counter "NAME" or "OWNER: NAME". */
static void add_counter(struct dump *dump, struct nl_str owner, struct nl_str name,
                        struct nl_str unit, const struct chrome_value *value)
{
    struct chrome_worker *worker = dump->worker;
    struct nl_buf *buf = &worker->text;
    if (!read_number(value, &dump->row.value)) {
        chrome_note(worker, CHROME_NOTE_BAD_COUNTER);
        return;
    }
    nl_buf_clear(buf);
    struct nl_str text = chrome_names_decode(&worker->names, owner, true);
    nl_buf_add(buf, text.ptr, text.len);
    nl_buf_text(buf, owner.len ? ": " : "");
    text = chrome_names_decode(&worker->names, name, true);
    nl_buf_add(buf, text.ptr, text.len);
    text = chrome_names_decode(&worker->names, unit, true);
    dump->row.series = nl_builder_series(worker->load->builder, dump->lane,
                                         (struct nl_str){buf->ptr, buf->len}, text);
    nl_stage_counter(worker->stage, &dump->row);
}

/* Members of other names are flags, and what one operating system alone reports. */
static void read_totals(struct dump *dump, const struct chrome_value *totals)
{
    struct object members = object_of(totals);
    struct nl_str key;
    struct chrome_value value;
    while (next_in(&members, &key, &value))
        if (nl_str_ends(key, "_bytes"))
            add_counter(dump, nl_str(""), key, nl_str("bytes"), &value);
}

static void read_attribute(struct dump *dump, struct nl_str allocator, struct nl_str name,
                           const struct chrome_value *attribute)
{
    struct object members = object_of(attribute);
    struct nl_str key, unit = nl_str("");
    struct chrome_value value, number = {.type = CHROME_NULL};
    bool scalar = false;
    while (next_in(&members, &key, &value)) {
        if (nl_str_is(key, "type"))
            scalar = nl_str_is(chrome_text(&value), "scalar");
        else if (nl_str_is(key, "units") && value.type == CHROME_STRING)
            unit = chrome_text(&value);
        else if (nl_str_is(key, "value"))
            number = value;
    }
    if (scalar)
        add_counter(dump, allocator, name, unit, &number);
}

static void read_allocators(struct dump *dump, const struct chrome_value *allocators)
{
    struct object all = object_of(allocators);
    struct nl_str name, key;
    struct chrome_value allocator, value, attribute;
    while (next_in(&all, &name, &allocator)) {
        const char *slash = memchr(name.ptr, '/', name.len);
        size_t rest = slash ? name.len - (size_t)(slash + 1 - name.ptr) : 0;
        if (rest && memchr(slash + 1, '/', rest)) {
            chrome_note(dump->worker, CHROME_NOTE_DEEP_ALLOCATOR);
            continue;
        }
        struct object parts = object_of(&allocator);
        while (next_in(&parts, &key, &value)) {
            struct object attributes = {NULL, NULL};
            if (nl_str_is(key, "attrs"))
                attributes = object_of(&value);
            while (next_in(&attributes, &key, &attribute))
                read_attribute(dump, name, key, &attribute);
        }
    }
}

static void read_dumps(struct dump *dump, const struct chrome_value *dumps)
{
    struct object members = object_of(dumps);
    struct nl_str key;
    struct chrome_value value;
    while (next_in(&members, &key, &value)) {
        if (nl_str_is(key, "process_totals"))
            read_totals(dump, &value);
        else if (nl_str_is(key, "allocators"))
            read_allocators(dump, &value);
        else if (value.type == CHROME_OBJECT || value.type == CHROME_ARRAY)
            chrome_note(dump->worker, CHROME_NOTE_DUMP_PART);
    }
}

void chrome_take_memory_dump(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    struct dump dump = {.worker = worker, .row = nl_counter_row()};
    if (!chrome_event_time(worker, &dump.row.ts))
        return;
    dump.lane = chrome_process_lane(worker, NL_LANE_PROCESS, 0);
    if (!chrome_has(event, CHROME_F_ARGS))
        return;
    struct object members = object_of(&event->field[CHROME_F_ARGS]);
    struct nl_str key;
    struct chrome_value value;
    while (next_in(&members, &key, &value))
        if (nl_str_is(key, "dumps"))
            read_dumps(&dump, &value);
}
