/* Code objects, read from another process and remembered. */
#include "capture/python/pycode.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "capture/python/pylines.h"

#define MAX_HEAD    512u
#define MAX_FIND    256u
#define MAX_NAME    1000u /* characters; longer ones are cut */
#define MAX_FILE    2000u
#define MAX_TABLE   ((size_t)1 << 20)  /* bytes of one table of lines */
#define MAX_TABLES  ((size_t)32 << 20) /* of all */
#define MAX_ENTRIES ((size_t)1 << 16)
#define MAX_TEXTS   ((size_t)64 << 20)
#define LAST        4u

/* Shows that the object at an address is still the one that was read. */
struct head {
    uint64_t type, file, name, lines;
    int32_t first;
};

struct pycode_entry {
    uint64_t address;
    struct head head;
    const char *prefix; /* "function\tfile\t" */
    unsigned char *table;
    size_t table_len;
    struct {
        uint64_t at;
        const char *text;
    } last[LAST]; /* as found lately */
    unsigned next;
};

void pycode_init(struct pycode *code, struct pymem *mem, const struct pyfind *found)
{
    *code = (struct pycode){.mem = mem, .found = found};
    nl_arena_init(&code->arena);
}

static void drop_entries(struct pycode *code)
{
    for (size_t i = 0; i < code->count; i++) {
        nl_free(code->entries[i]->table);
        nl_free(code->entries[i]);
    }
    nl_idmap_clear(&code->by_address);
    code->count = code->table_bytes = 0;
}

void pycode_release(struct pycode *code)
{
    drop_entries(code);
    nl_free(code->entries);
    nl_idmap_release(&code->by_address);
    nl_free(code->texts);
    nl_lookup_release(&code->text_rows);
    nl_arena_free(&code->arena);
}

void pycode_begin(struct pycode *code)
{
    if (code->count >= MAX_ENTRIES || code->table_bytes >= MAX_TABLES)
        drop_entries(code);
}

/* ---- texts ---- */

/* The one copy of a text. */
static const char *keep_text(struct pycode *code, const char *text, size_t len)
{
    uint64_t hash = nl_hash_keyed(text, len);
    uint32_t row = NL_LOOKUP(&code->text_rows, hash, i,
                             strncmp(code->texts[i], text, len) == 0 && !code->texts[i][len]);
    if (row != NL_NO_ROW)
        return code->texts[row];
    if (code->arena.used > MAX_TEXTS) {
        code->overflow++;
        return "(too many functions)";
    }
    nl_grow(&code->texts, &code->text_cap, code->text_count + 1);
    nl_lookup_add(&code->text_rows, hash, (uint32_t)code->text_count);
    return code->texts[code->text_count++] = nl_arena_text(&code->arena, text, len);
}

static void add_utf8(struct nl_buf *buf, uint32_t point)
{
    char text[4];
    if (point < 0x20 || point == 0x7f) {
        nl_buf_char(buf, ' '); /* tabs part the fields */
    } else if (point < 0x110000 && (point < 0xd800 || point > 0xdfff)) {
        nl_buf_add(buf, text, nl_utf8_put(text, point));
    } else {
        nl_buf_char(buf, '?'); /* half of a pair: bytes that were not UTF-8 */
    }
}

/* A str: its characters' address, width and number. Of its state: bits 2 to 4 the bytes per
 * character, 5 compact, 6 ASCII. */
struct str {
    uint64_t data;
    uint32_t width;
    size_t length;
};

static bool read_str(struct pycode *code, uint64_t address, struct str *str)
{
    const struct pylayout *layout = &code->found->layout;
    int64_t length;
    uint32_t state;
    if (!pymem_read(code->mem, address + layout->text_length, &length, sizeof length) ||
        !pymem_read(code->mem, address + layout->text_state, &state, sizeof state))
        return false;
    bool compact = state >> 5 & 1, ascii = state >> 6 & 1;
    *str = (struct str){address + (ascii ? layout->text_ascii : layout->text_other), state >> 2 & 7,
                        (size_t)length};
    if (ascii)
        return compact && str->width == 1 && length >= 0 && length < INT32_MAX;
    return compact && (str->width == 1 || str->width == 2 || str->width == 4) && length >= 0 &&
           length < INT32_MAX;
}

static bool add_str(struct pycode *code, uint64_t address, size_t most, struct nl_buf *buf)
{
    unsigned char bytes[MAX_FILE * 4];
    struct str str;
    if (!read_str(code, address, &str))
        return false;
    size_t count = str.length < most ? str.length : most;
    if (count && !pymem_read(code->mem, str.data, bytes, count * str.width))
        return false;
    for (size_t i = 0; i < count; i++) {
        uint32_t point = bytes[i * str.width];
        for (uint32_t j = 1; j < str.width; j++)
            point |= (uint32_t)bytes[i * str.width + j] << 8 * j;
        add_utf8(buf, point);
    }
    if (str.length > most)
        nl_buf_text(buf, "…");
    return true;
}

/* ---- entries ---- */

static bool read_table(struct pycode *code, struct pycode_entry *entry)
{
    const struct pylayout *layout = &code->found->layout;
    int64_t size;
    if (!pymem_read(code->mem, entry->head.lines + layout->bytes_size, &size, sizeof size) ||
        size < 0 || (uint64_t)size > MAX_TABLE)
        return false;
    entry->table_len = (size_t)size;
    entry->table = nl_alloc(entry->table_len + 1);
    code->table_bytes += entry->table_len;
    return !size || pymem_read(code->mem, entry->head.lines + layout->bytes_data, entry->table,
                               entry->table_len);
}

static bool read_prefix(struct pycode *code, struct pycode_entry *entry)
{
    struct nl_buf buf;
    nl_buf_init(&buf, (MAX_NAME + MAX_FILE) * 4 + 16);
    bool done = add_str(code, entry->head.name, MAX_NAME, &buf);
    nl_buf_char(&buf, '\t');
    done = done && add_str(code, entry->head.file, MAX_FILE, &buf);
    nl_buf_char(&buf, '\t');
    if (done)
        entry->prefix = keep_text(code, buf.ptr, buf.len);
    nl_buf_release(&buf);
    return done;
}

static uint64_t word_at(const unsigned char *bytes, uint32_t offset)
{
    uint64_t word;
    memcpy(&word, bytes + offset, sizeof word);
    return word;
}

static uint32_t head_bytes(const struct pylayout *layout)
{
    uint32_t end = layout->code_file > layout->code_name ? layout->code_file : layout->code_name;
    end = (end > layout->code_lines ? end : layout->code_lines) + 8;
    end = end > layout->code_first + 8 ? end : layout->code_first + 8;
    return end < MAX_HEAD ? end : 0;
}

/* Whether the object is still the one whose head that is, after its texts were read: it may have
 * been freed between, and the texts be those of something else. What is freed keeps most of its
 * bytes, but the allocators put an address or 0 where the count of references was. */
static bool is_alive(struct pycode *code, uint64_t address, const struct head *head)
{
    const struct pylayout *layout = &code->found->layout;
    unsigned char bytes[MAX_HEAD];
    if (!pymem_read(code->mem, address, bytes, head_bytes(layout)))
        return false;
    uint64_t references = word_at(bytes, 0);
    bool freed = layout->object_type == 8 && (!references || (references >> 32 & 0xffff));
    return !freed && word_at(bytes, layout->object_type) == head->type &&
           word_at(bytes, layout->code_file) == head->file &&
           word_at(bytes, layout->code_name) == head->name &&
           word_at(bytes, layout->code_lines) == head->lines;
}

/* The entry of the code object with this head; NULL when its texts cannot be read. */
static struct pycode_entry *entry_of(struct pycode *code, uint64_t address, const struct head *head)
{
    uint32_t row = nl_idmap_get_or_put(&code->by_address, address, (uint32_t)code->count);
    struct pycode_entry *entry = row < code->count ? code->entries[row] : NULL;
    if (entry && entry->prefix && memcmp(&entry->head, head, sizeof *head) == 0)
        return entry;
    if (!entry) {
        nl_grow(&code->entries, &code->cap, code->count + 1);
        entry = code->entries[code->count++] = nl_zalloc(sizeof *entry);
    }
    nl_free(entry->table);
    *entry = (struct pycode_entry){.address = address};
    memcpy(&entry->head, head, sizeof *head);
    if (read_prefix(code, entry) && read_table(code, entry) && is_alive(code, address, head))
        return entry;
    entry->prefix = NULL;
    return NULL;
}

static void find_some(struct pycode *code, const uint64_t *addresses, struct pycode_entry **entries,
                      size_t count)
{
    const struct pylayout *layout = &code->found->layout;
    struct pymem_piece pieces[MAX_FIND];
    uint32_t bytes = head_bytes(layout);
    unsigned char *heads = nl_alloc(count * MAX_HEAD + 1);
    for (size_t i = 0; i < count; i++)
        pieces[i] = (struct pymem_piece){addresses[i], heads + i * MAX_HEAD, bytes, false};
    if (bytes)
        pymem_read_all(code->mem, pieces, count);
    for (size_t i = 0; i < count; i++) {
        const unsigned char *from = pieces[i].to;
        struct head head;
        memset(&head, 0, sizeof head); /* compared as bytes */
        entries[i] = NULL;
        if (!pieces[i].done || word_at(from, layout->object_type) != code->found->code_type)
            continue;
        head.type = code->found->code_type;
        head.file = word_at(from, layout->code_file);
        head.name = word_at(from, layout->code_name);
        head.lines = word_at(from, layout->code_lines);
        memcpy(&head.first, from + layout->code_first, sizeof head.first);
        entries[i] = entry_of(code, addresses[i], &head);
    }
    nl_free(heads);
}

void pycode_find(struct pycode *code, const uint64_t *addresses, struct pycode_entry **entries,
                 size_t count)
{
    for (size_t at = 0; at < count; at += MAX_FIND) {
        size_t some = count - at < MAX_FIND ? count - at : MAX_FIND;
        find_some(code, addresses + at, entries + at, some);
    }
}

/* ---- frames ---- */

/* Offset of the instruction in bytes; where it cannot be one, before the first. */
static int32_t offset_of(const struct pycode *code, const struct pycode_entry *entry, uint64_t at)
{
    const struct pylayout *layout = &code->found->layout;
    int64_t offset = layout->at_scale ? (int64_t)(int32_t)at * layout->at_scale
                                      : (int64_t)(at - (entry->address + layout->code_bytes));
    return offset >= 0 && offset < INT32_MAX ? (int32_t)offset : -1;
}

const char *pycode_frame(struct pycode *code, struct pycode_entry *entry, uint64_t at)
{
    for (unsigned i = 0; i < LAST; i++)
        if (entry->last[i].text && entry->last[i].at == at)
            return entry->last[i].text;
    char number[16] = "";
    struct nl_buf buf;
    int32_t line = pylines_find(code->found->layout.lines, entry->table, entry->table_len,
                                entry->head.first, offset_of(code, entry, at));
    if (line > 0)
        (void)snprintf(number, sizeof number, "%d", (int)line);
    nl_buf_init(&buf, (MAX_NAME + MAX_FILE) * 4 + 32);
    nl_buf_text(&buf, entry->prefix);
    nl_buf_text(&buf, number);
    unsigned slot = entry->next++ % LAST;
    entry->last[slot].at = at;
    entry->last[slot].text = keep_text(code, buf.ptr, buf.len);
    nl_buf_release(&buf);
    return entry->last[slot].text;
}
