/*
 * Line tables of GPU programs (ingest/ncu/cubinlines.c): rows drawn with a seed are written as
 * DWARF's line number programs, in all the ways that the operations allow, and are to be found
 * again; offsets between, before and behind them, too.
 */
#include "check.h"

#include "ingest/ncu/cubinlines.h"

#define ROWS 60

static struct {
    unsigned char bytes[32768];
    size_t len;
} elf, table;

static uint64_t state;

static unsigned draw(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void put(size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        elf.bytes[at + i] = (unsigned char)(value >> 8 * i);
}

static void byte(uint64_t value)
{
    table.bytes[table.len++] = (unsigned char)value;
}

static void bytes(uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        byte(value >> 8 * i);
}

static void without_sign(uint64_t value)
{
    for (; value >= 128; value >>= 7)
        byte((value & 127) | 128);
    byte(value);
}

static void with_sign(int64_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        byte(((uint64_t)value & 127) | 128);
    byte((uint64_t)value & 127);
}

static void text(const char *text)
{
    do
        byte((unsigned char)*text);
    while (*text++);
}

/* ---- The table ---- */

struct form {
    unsigned version, step, range, opcodes;
    int base;
};
struct row {
    uint64_t offset;
    unsigned file; /* 1 to 3; others are none */
    unsigned line;
};
static struct function {
    struct row rows[ROWS];
    uint64_t end;
    size_t address_at; /* in the table: what the relocation names */
} functions[3];

static const char *const files[] = {"src/a.cu", "C:\\work\\b.cu", "c.cu"};
static const char *const names[] = {"a.cu", "b.cu", "c.cu"};

static void noise(const struct form *form)
{
    switch (draw(8)) {
    case 0: byte(6); break;
    case 1: byte(7); break;
    case 2: byte(5), without_sign(draw(1000)); break;
    case 3:
        if (form->opcodes > 12)
            byte(12), without_sign(draw(300));
        break;
    case 4: byte(0), without_sign(4), byte(0x80), bytes(draw(1 << 20), 3); break;
    default: break;
    }
}

/* Goes on by `more` bytes of code, which may stay short of it by what a special operation takes. */
static void advance(const struct form *form, uint64_t more)
{
    uint64_t constant = (255 - form->opcodes) / form->range * form->step;
    while (more) {
        unsigned way = draw(3);
        if (way == 0 && more >= constant) {
            byte(8);
            more -= constant;
        } else if (way == 1) {
            byte(9), bytes(more, 2);
            return;
        } else if (way == 2) {
            byte(2), without_sign(more / form->step);
            return;
        }
    }
}

static void write_row(const struct form *form, uint64_t more, int64_t lines)
{
    unsigned short_of = draw(4);
    noise(form);
    int64_t special = lines - form->base + form->range * short_of + form->opcodes;
    if (short_of * form->step <= more && lines >= form->base &&
        lines < form->base + (int64_t)form->range && special < 256 && draw(3)) {
        advance(form, more - short_of * form->step);
        byte((uint64_t)special);
        return;
    }
    advance(form, more);
    if (lines)
        byte(3), with_sign(lines);
    byte(1);
}

static void write_function(const struct form *form, struct function *function)
{
    uint64_t offset = 0;
    unsigned file = 1;
    int64_t line = 1;
    byte(0), without_sign(9), byte(2);
    function->address_at = table.len;
    bytes(0, 8);
    for (int i = 0; i < ROWS; i++) {
        struct row *row = &function->rows[i];
        uint64_t more = draw(8) ? (draw(40) + (i > 0)) * form->step : (draw(3000) + 1) * form->step;
        int64_t lines = draw(3) ? (int64_t)draw(20) - 6 : (int64_t)draw(5000) - 2500;
        if (line + lines < 1)
            lines = 1 - line + draw(9);
        row->file = draw(3) ? file : draw(5);
        if (row->file != file)
            byte(4), without_sign(row->file);
        write_row(form, more, lines);
        file = row->file;
        row->offset = offset += more;
        row->line = (unsigned)(line += lines);
    }
    advance(form, 7 * form->step);
    function->end = offset + 7 * form->step;
    byte(0), without_sign(1), byte(1);
}

static void write_table(const struct form *form)
{
    static const unsigned char operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    table.len = 0;
    bytes(0, 4), bytes(form->version, 2), bytes(0, 4);
    byte(form->step);
    if (form->version == 4)
        byte(1);
    byte(1), byte((uint64_t)form->base), byte(form->range), byte(form->opcodes);
    for (unsigned i = 1; i < form->opcodes; i++)
        byte(operands[i - 1]);
    text("folder"), text("another"), text("");
    for (size_t i = 0; i < CHECK_LENGTH(files); i++)
        text(files[i]), without_sign(i % 2), without_sign(300), without_sign(70000);
    text("");
    size_t head = table.len;
    for (size_t i = 0; i < CHECK_LENGTH(functions); i++)
        write_function(form, &functions[i]);
    size_t len = table.len;
    table.len = 0, bytes(len - 4, 4);
    table.len = 6, bytes(head - 10, 4);
    table.len = len;
}

/* ---- The file around it ---- */

static size_t add(const void *data, size_t len)
{
    size_t at = elf.len = (elf.len + 7) / 8 * 8;
    memcpy(elf.bytes + at, data, len);
    elf.len += len;
    return at;
}

static void write_elf(bool addends)
{
    static const char section_names[] =
        "\0.names\0.debug_line\0.rel.debug_line\0.rela.debug_line\0.symtab\0.strtab";
    static const unsigned name_at[] = {0, 1, 8, 20, 53, 61};
    size_t at[6] = {0}, len[6] = {0}, size = addends ? 24 : 16;
    unsigned char relocations[72] = {0}, symbols[96] = {0};
    memset(&elf, 0, sizeof elf);
    memcpy(elf.bytes, "\177ELF\2\1", 6);
    elf.len = 64;
    at[1] = add(section_names, len[1] = sizeof section_names);
    at[2] = add(table.bytes, len[2] = table.len);
    at[3] = add(relocations, len[3] = 3 * size);
    at[4] = add(symbols, len[4] = sizeof symbols);
    at[5] = add("\0f0\0f1\0f2", len[5] = 10);
    for (size_t i = 0; i < 3; i++) { /* symbol 3 - i is function i */
        put(at[3] + i * size, functions[i].address_at, 8);
        put(at[3] + i * size + 12, 3 - i, 4);
        put(at[4] + (3 - i) * 24, 1 + 3 * i, 4);
    }
    size_t sections = add("", 0);
    for (size_t i = 0; i < 6; i++) {
        size_t to = sections + i * 64;
        put(to, i == 3 && addends ? 36 : name_at[i], 4);
        put(to + 24, at[i], 8), put(to + 32, len[i], 8);
        put(to + 40, i == 3 ? 4 : i == 4 ? 5 : 0, 4);
    }
    elf.len = sections + 6 * 64;
    put(40, sections, 8), put(58, 64, 2), put(60, 6, 2), put(62, 1, 2);
}

/* ---- What is found ---- */

static const struct row *expected(const struct function *function, uint64_t offset)
{
    const struct row *found = NULL;
    for (size_t i = 0; i < ROWS && function->rows[i].offset <= offset; i++)
        found = &function->rows[i];
    return found && offset < function->end && found->file >= 1 && found->file <= 3 ? found : NULL;
}

static void same_rows(const struct cubinlines *lines, const struct form *form)
{
    for (size_t f = 0; f < CHECK_LENGTH(functions); f++) {
        char name[3] = {'f', (char)('0' + f), 0};
        const struct cubinlines_function *found = cubinlines_find(lines, 7, nl_str(name));
        REQUIRE(found);
        size_t near = 0;
        for (uint64_t offset = 0; offset < functions[f].end + 3 * form->step;
             offset += 1 + draw(form->step)) {
            size_t jumped = draw(2) ? near : 0;
            const struct row *want = expected(&functions[f], offset);
            const struct cubinlines_row *got = cubinlines_at(lines, found, offset, &near);
            const struct cubinlines_row *again = cubinlines_at(lines, found, offset, &jumped);
            CHECK(got == again);
            CHECK((got != NULL) == (want != NULL));
            if (got && want) {
                CHECK_INT(got->line, want->line);
                CHECK_STR(lines->files[got->file], names[want->file - 1]);
            }
        }
        near = ROWS;
        CHECK(cubinlines_at(lines, found, functions[f].end, &near) == NULL);
    }
    CHECK(!cubinlines_find(lines, 8, nl_str("f0")) && !cubinlines_find(lines, 7, nl_str("f3")));
    CHECK_INT(lines->damaged, 0);
}

static void rows_come_back(void)
{
    static const struct form forms[] = {{2, 1, 14, 10, -5},
                                        {3, 4, 10, 13, -3},
                                        {4, 16, 12, 13, -1},
                                        {2, 16, 1, 10, 0},
                                        {4, 1, 245, 10, -100}};
    for (unsigned seed = 0; seed < 4; seed++)
        for (size_t i = 0; i < CHECK_LENGTH(forms); i++) {
            struct cubinlines lines;
            state = seed * 100 + i;
            write_table(&forms[i]);
            write_elf(seed % 2);
            cubinlines_init(&lines);
            cubinlines_add(&lines, 7, elf.bytes, elf.len);
            same_rows(&lines, &forms[i]);
            cubinlines_release(&lines);
        }
}

CHECK_MAIN("cubinlines", {"rows come back", rows_come_back})
