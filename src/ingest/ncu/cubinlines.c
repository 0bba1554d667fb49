/*
 * See cubinlines.h. The ELF file gives sections and the function that a line table's sequence is
 * of, by the relocation of the address that begins it; the table itself is DWARF 2 to 4.
 */
#include "ingest/ncu/cubinlines.h"

#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "ingest/ingest.h"

/* A part of the file, read from `at`; every read past `end` gives 0 and stays `over`. */
struct span {
    const unsigned char *start, *at, *end;
    bool over;
};

static struct span part_of(struct span whole, uint64_t from, uint64_t len)
{
    uint64_t size = (uint64_t)(whole.end - whole.start);
    if (from > size || len > size - from)
        return (struct span){whole.start, whole.start, whole.start, true};
    return (struct span){whole.start + from, whole.start + from, whole.start + from + len, false};
}

static uint64_t read_little_endian(struct span *span, unsigned bytes)
{
    uint64_t value = 0;
    if ((size_t)(span->end - span->at) < bytes) {
        span->over = true;
        span->at = span->end;
        return 0;
    }
    for (unsigned i = bytes; i-- > 0;)
        value = value << 8 | span->at[i];
    span->at += bytes;
    return value;
}

static uint64_t take_unsigned(struct span *span)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !span->over; shift += 7) {
        uint64_t byte = read_little_endian(span, 1);
        if (shift < 64)
            value |= (byte & 127) << shift;
        if (byte < 128)
            break;
    }
    return value;
}

static int64_t take_signed(struct span *span)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !span->over;) {
        uint64_t byte = read_little_endian(span, 1);
        if (shift < 64)
            value |= (byte & 127) << shift;
        shift += 7;
        if (byte >= 128)
            continue;
        if (byte & 64 && shift < 64)
            value |= ~UINT64_C(0) << shift;
        break;
    }
    return (int64_t)value;
}

static struct nl_str take_text(struct span *span)
{
    const unsigned char *start = span->at;
    const unsigned char *end =
        span->at < span->end ? memchr(start, 0, (size_t)(span->end - start)) : NULL;
    if (!end) {
        span->over = true;
        span->at = span->end;
        return nl_str("");
    }
    span->at = end + 1;
    return (struct nl_str){(const char *)start, (size_t)(end - start)};
}

/* ---- ELF ---- */

struct section {
    uint64_t name, type, offset, size, link, entry;
};

struct elf {
    struct span file;
    uint64_t table, entry_size, count;
    struct section names;
};

static struct section section_at(const struct elf *elf, uint64_t index)
{
    struct section section = {0};
    if (index >= elf->count)
        return section;
    struct span at = part_of(elf->file, elf->table + index * elf->entry_size, 64);
    section.name = read_little_endian(&at, 4);
    section.type = read_little_endian(&at, 4);
    (void)read_little_endian(&at, 8); /* flags */
    (void)read_little_endian(&at, 8); /* address */
    section.offset = read_little_endian(&at, 8);
    section.size = read_little_endian(&at, 8);
    section.link = read_little_endian(&at, 4);
    (void)read_little_endian(&at, 4);
    (void)read_little_endian(&at, 8);
    section.entry = read_little_endian(&at, 8);
    return section;
}

static struct span content(const struct elf *elf, const struct section *section)
{
    return part_of(elf->file, section->offset, section->size);
}

static struct nl_str text_at(const struct elf *elf, const struct section *strings, uint64_t at)
{
    struct span span = content(elf, strings);
    if (at >= (uint64_t)(span.end - span.start))
        return nl_str("");
    span.at = span.start + at;
    return take_text(&span);
}

static bool open_elf(struct elf *elf, const void *bytes, size_t len)
{
    *elf = (struct elf){.file = {bytes, bytes, (const unsigned char *)bytes + len, false}};
    if (len < 64 || memcmp(bytes, "\177ELF\2\1", 6) != 0)
        return false; /* 64 bits, little endian */
    struct span at = part_of(elf->file, 40, 24);
    elf->table = read_little_endian(&at, 8);
    (void)read_little_endian(&at, 10);
    elf->entry_size = read_little_endian(&at, 2);
    elf->count = read_little_endian(&at, 2);
    uint64_t names = read_little_endian(&at, 2);
    if (elf->entry_size < 64 || elf->table > len)
        return false;
    elf->names = section_at(elf, names);
    return true;
}

static struct section find_section(const struct elf *elf, const char *name)
{
    for (uint64_t i = 0; i < elf->count; i++) {
        struct section section = section_at(elf, i);
        if (nl_str_is(text_at(elf, &elf->names, section.name), name))
            return section;
    }
    return (struct section){0};
}

/* ---- Which function an address of the table is of. ---- */

struct owners {
    const struct elf *elf;
    struct gpurows_map symbols; /* place in .debug_line → number of the symbol */
    struct section table, strings;
};

static void read_relocations(struct owners *owners, const char *name, unsigned size)
{
    struct section section = find_section(owners->elf, name);
    struct span span = content(owners->elf, &section);
    if (!section.size)
        return;
    owners->table = section_at(owners->elf, section.link);
    owners->strings = section_at(owners->elf, owners->table.link);
    while ((size_t)(span.end - span.at) >= size) {
        uint64_t place = read_little_endian(&span, 8), symbol = read_little_endian(&span, 8) >> 32;
        (void)gpurows_map_put(&owners->symbols, place, symbol, NULL);
        span.at += size - 16;
    }
}

/* Name of the function whose address stands at a place of the table, "" if it is not given. */
static struct nl_str owner_at(const struct owners *owners, uint64_t place)
{
    const uint64_t *symbol = gpurows_map_find(&owners->symbols, place);
    if (!symbol)
        return nl_str("");
    struct span span = content(owners->elf, &owners->table);
    uint64_t count = (uint64_t)(span.end - span.start) / 24;
    if (*symbol >= count)
        return nl_str("");
    span.at = span.start + *symbol * 24;
    return text_at(owners->elf, &owners->strings, read_little_endian(&span, 4));
}

/* ---- Line tables. ---- */

struct unit {
    struct cubinlines *lines;
    const struct owners *owners;
    uint64_t id;
    struct span program, whole;
    unsigned step, range, opcodes;
    int base;
    unsigned char operands[256];
    size_t first_file; /* of the unit, in lines->files */
    /* registers */
    uint64_t address, start, file, line;
    bool open; /* a function is being read */
    struct cubinlines_function function;
};

static void add_file(struct cubinlines *lines, struct nl_str path)
{
    for (size_t i = path.len; i > 0; i--)
        if (path.ptr[i - 1] == '/' || path.ptr[i - 1] == '\\') {
            path = (struct nl_str){path.ptr + i, path.len - i};
            break;
        }
    nl_grow(&lines->files, &lines->file_cap, lines->file_count + 1);
    lines->files[lines->file_count++] =
        (struct nl_str){nl_arena_text(&lines->texts, path.ptr, path.len), path.len};
}

static uint64_t function_key(uint64_t id, struct nl_str function)
{
    return nl_hash(function.ptr, function.len) ^ id * 0x9E3779B97F4A7C15u;
}

/* The row of what the registers say; line 0 where they say nothing, or at the end. */
static struct cubinlines_row row_now(const struct unit *unit, bool end)
{
    const struct cubinlines *lines = unit->lines;
    uint64_t files = lines->file_count - unit->first_file;
    bool filed = unit->file >= 1 && unit->file <= files;
    if (end || !(filed || lines->unfiled) || unit->line >= UINT32_MAX)
        return (struct cubinlines_row){unit->address - unit->start, 0, 0};
    return (struct cubinlines_row){unit->address - unit->start,
                                   filed ? (uint32_t)(unit->first_file + unit->file - 1) : 0,
                                   (uint32_t)unit->line};
}

static void add_line_row(struct unit *unit, bool end)
{
    struct cubinlines *lines = unit->lines;
    struct cubinlines_function *function = &unit->function;
    struct cubinlines_row row = row_now(unit, end);
    const struct cubinlines_row *last = function->count ? &lines->rows[lines->row_count - 1] : NULL;
    if (!unit->open || unit->address < unit->start || (last && row.offset < last->offset))
        return; /* backwards: not of this function */
    if (last && last->file == row.file && last->line == row.line)
        return;
    if (lines->row_count == MAX_CUBINLINES) {
        lines->full++;
        return;
    }
    nl_grow(&lines->rows, &lines->row_cap, lines->row_count + 1);
    lines->rows[lines->row_count++] = row;
    function->count++;
}

static void end_sequence(struct unit *unit)
{
    struct cubinlines *lines = unit->lines;
    add_line_row(unit, true);
    if (unit->open) {
        nl_grow(&lines->functions, &lines->function_cap, lines->function_count + 1);
        lines->functions[lines->function_count++] = unit->function;
    }
    unit->open = false;
    unit->address = unit->start = 0;
    unit->file = unit->line = 1;
}

/* An address begins a function; its relocation says which. Of two tables the first counts. */
static void set_address(struct unit *unit, struct span *operand)
{
    struct cubinlines *lines = unit->lines;
    struct nl_str name = owner_at(unit->owners, (uint64_t)(operand->at - unit->whole.start));
    bool made = false;
    if (unit->open)
        end_sequence(unit);
    unit->address = unit->start = read_little_endian(operand, 8);
    if (!name.len)
        return;
    (void)gpurows_map_put(&lines->known, function_key(unit->id, name), lines->function_count,
                          &made);
    unit->open = made;
    unit->function = (struct cubinlines_function){lines->row_count, 0};
}

/* Operations of DWARF's line number programs (section 6.2.5 of version 4),
 * under their names there. */
enum { DW_LNE_END_SEQUENCE = 1, DW_LNE_SET_ADDRESS = 2, DW_LNE_DEFINE_FILE = 3 };
enum {
    DW_LNS_EXTENDED_OP = 0,
    DW_LNS_COPY = 1,
    DW_LNS_ADVANCE_PC = 2,
    DW_LNS_ADVANCE_LINE = 3,
    DW_LNS_SET_FILE = 4,
    DW_LNS_CONST_ADD_PC = 8,
    DW_LNS_FIXED_ADVANCE_PC = 9
};

static void extended(struct unit *unit)
{
    struct span *program = &unit->program;
    uint64_t len = take_unsigned(program);
    if (len == 0 || len > (uint64_t)(program->end - program->at)) {
        program->over = true;
        return;
    }
    struct span operand = {program->at, program->at, program->at + len, false};
    program->at += len;
    switch (read_little_endian(&operand, 1)) {
    case DW_LNE_END_SEQUENCE: end_sequence(unit); break;
    case DW_LNE_SET_ADDRESS:
        if (len == 9)
            set_address(unit, &operand);
        break;
    case DW_LNE_DEFINE_FILE: add_file(unit->lines, take_text(&operand)); break;
    default: break; /* inlined calls and the like */
    }
}

static void standard(struct unit *unit, unsigned opcode)
{
    struct span *program = &unit->program;
    switch (opcode) {
    case DW_LNS_COPY: add_line_row(unit, false); break;
    case DW_LNS_ADVANCE_PC: unit->address += take_unsigned(program) * unit->step; break;
    case DW_LNS_ADVANCE_LINE: unit->line += (uint64_t)take_signed(program); break;
    case DW_LNS_SET_FILE: unit->file = take_unsigned(program); break;
    case DW_LNS_CONST_ADD_PC:
        unit->address += (255 - unit->opcodes) / unit->range * unit->step;
        break;
    case DW_LNS_FIXED_ADVANCE_PC: unit->address += read_little_endian(program, 2); break;
    default:
        for (unsigned i = 0; i < unit->operands[opcode]; i++)
            (void)take_unsigned(program);
        break;
    }
}

static void run_line_program(struct unit *unit)
{
    struct span *program = &unit->program;
    unit->file = unit->line = 1;
    while (program->at < program->end && !program->over) {
        unsigned opcode = (unsigned)read_little_endian(program, 1);
        if (opcode >= unit->opcodes) {
            unsigned special = opcode - unit->opcodes;
            unit->address += special / unit->range * unit->step;
            unit->line += (uint64_t)(int64_t)(unit->base + (int)(special % unit->range));
            add_line_row(unit, false);
        } else if (opcode == DW_LNS_EXTENDED_OP) {
            extended(unit);
        } else {
            standard(unit, opcode);
        }
    }
    end_sequence(unit);
    unit->lines->damaged += program->over;
}

/* Directories and files of a unit's head. */
static void read_files(struct unit *unit, struct span *head)
{
    unit->first_file = unit->lines->file_count;
    while (!head->over && take_text(head).len)
        ;
    for (;;) {
        struct nl_str path = take_text(head);
        if (head->over || !path.len)
            return;
        for (int i = 0; i < 3; i++) /* directory, time, size */
            (void)take_unsigned(head);
        add_file(unit->lines, path);
    }
}

/* One unit of the table; false at its end. */
static bool read_unit(struct unit *unit, struct span *table)
{
    uint64_t size = read_little_endian(table, 4);
    if (table->over || size < 2 || size > (uint64_t)(table->end - table->at)) {
        unit->lines->damaged += size != 0;
        return false;
    }
    struct span head = {table->at, table->at, table->at + size, false};
    table->at += size;
    uint64_t version = read_little_endian(&head, 2), len = read_little_endian(&head, 4);
    if (version < 2 || version > 4 || len > (uint64_t)(head.end - head.at)) {
        unit->lines->damaged++;
        return true;
    }
    unit->program = (struct span){head.at + len, head.at + len, head.end, false};
    head.end = head.at + len;
    unit->step = (unsigned)read_little_endian(&head, 1);
    (void)read_little_endian(&head, version == 4 ? 2 : 1); /* operations per instruction, is_stmt */
    unit->base = (int)(int8_t)read_little_endian(&head, 1);
    unit->range = (unsigned)read_little_endian(&head, 1);
    unit->opcodes = (unsigned)read_little_endian(&head, 1);
    for (unsigned i = 1; i < unit->opcodes; i++)
        unit->operands[i] = (unsigned char)read_little_endian(&head, 1);
    read_files(unit, &head);
    if (head.over || !unit->range || !unit->opcodes)
        unit->lines->damaged++;
    else
        run_line_program(unit);
    return true;
}

void cubinlines_init(struct cubinlines *lines)
{
    *lines = (struct cubinlines){0};
    nl_arena_init(&lines->texts);
}

void cubinlines_release(struct cubinlines *lines)
{
    nl_arena_free(&lines->texts);
    nl_free(lines->rows);
    nl_free(lines->functions);
    nl_free(lines->files);
    gpurows_map_release(&lines->known);
    *lines = (struct cubinlines){0};
}

void cubinlines_add(struct cubinlines *lines, uint64_t id, const void *bytes, size_t len)
{
    cubinlines_add_table(lines, id, bytes, len, ".debug_line");
}

void cubinlines_sections(const void *bytes, size_t len,
                         void (*show)(void *context, struct nl_str name, struct nl_str content),
                         void *context)
{
    struct elf elf;
    if (!open_elf(&elf, bytes, len))
        return;
    for (uint64_t i = 0; i < elf.count; i++) {
        struct section section = section_at(&elf, i);
        struct span span = content(&elf, &section);
        show(context, text_at(&elf, &elf.names, section.name),
             (struct nl_str){(const char *)span.start, (size_t)(span.end - span.start)});
    }
}

void cubinlines_add_table(struct cubinlines *lines, uint64_t id, const void *bytes, size_t len,
                          const char *name)
{
    char relocations[2][64];
    struct elf elf;
    if (!open_elf(&elf, bytes, len))
        return;
    struct owners owners = {.elf = &elf};
    struct section section = find_section(&elf, name);
    struct span table = content(&elf, &section);
    (void)snprintf(relocations[0], sizeof relocations[0], ".rel%s", name);
    (void)snprintf(relocations[1], sizeof relocations[1], ".rela%s", name);
    read_relocations(&owners, relocations[0], 16);
    read_relocations(&owners, relocations[1], 24);
    struct unit unit = {.lines = lines, .owners = &owners, .id = id, .whole = table};
    while (section.size && read_unit(&unit, &table))
        unit.open = false;
    gpurows_map_release(&owners.symbols);
}

const struct cubinlines_function *cubinlines_find(const struct cubinlines *lines, uint64_t id,
                                                  struct nl_str function)
{
    const uint64_t *number = gpurows_map_find(&lines->known, function_key(id, function));
    return number && *number < lines->function_count ? &lines->functions[*number] : NULL;
}

const struct cubinlines_row *cubinlines_at(const struct cubinlines *lines,
                                           const struct cubinlines_function *function,
                                           uint64_t offset, size_t *near)
{
    const struct cubinlines_row *rows = lines->rows + function->first;
    size_t low = 0, high = function->count; /* the last row at or before the offset */
    if (*near < high && rows[*near].offset <= offset) {
        low = *near;
        for (int i = 0; i < 2 && low + 1 < high && rows[low + 1].offset <= offset; i++)
            low++;
        if (low + 1 == high || rows[low + 1].offset > offset)
            high = low + 1;
    }
    low = NL_FIRST(i, low + 1, high, rows[i].offset > offset) - 1;
    *near = low;
    bool known = function->count && rows[low].offset <= offset && rows[low].line;
    return known ? &rows[low] : NULL;
}
