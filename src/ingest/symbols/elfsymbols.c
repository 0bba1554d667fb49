/*
 * Symbols are sorted once and searched; libdwfl looks through all of them for every address. The
 * lines of a compilation unit are read when the first address in it is asked for.
 */
#define _GNU_SOURCE
#include "ingest/symbols/elfsymbols.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/search.h"

#define MAX_SEGMENTS 64u
#define MAX_SYMBOLS  ((size_t)1 << 25)
#define MAX_RANGES   ((size_t)1 << 22)
#define DEBUG_FOLDER "/usr/lib/debug/.build-id/"

struct segment {
    uint64_t offset, bytes, address;
};

struct symbol {
    uint64_t address, bytes;
    const char *name; /* in the file's string table */
};

/* Addresses of a compilation unit. */
struct range {
    uint64_t begin, end;
    Dwarf_Off unit;
};

/* The file, or its separate debug file. */
struct image {
    int descriptor;
    Elf *elf;
};

struct elfsymbols {
    struct image own, debug;
    struct segment segments[MAX_SEGMENTS];
    size_t segment_count;
    struct symbol *symbols;
    size_t symbol_count, symbol_cap;
    Dwarf *dwarf;
    struct range *ranges;
    size_t range_count, range_cap;
};

/* ---- opening ---- */

static void close_image(struct image *image)
{
    if (image->elf)
        elf_end(image->elf);
    if (image->descriptor >= 0)
        close(image->descriptor);
    *image = (struct image){.descriptor = -1};
}

/* A path may name anything: no pipe is waited for, no device read. */
static bool open_image(struct image *image, const char *path, struct stat *info)
{
    image->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (image->descriptor < 0)
        return false;
    (void)elf_version(EV_CURRENT);
    if (fstat(image->descriptor, info) == 0 && S_ISREG(info->st_mode))
        image->elf = elf_begin(image->descriptor, ELF_C_READ, NULL);
    if (image->elf && elf_kind(image->elf) == ELF_K_ELF)
        return true;
    close_image(image);
    return false;
}

static void write_hex(char *text, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)snprintf(text + i * 2, 3, "%02x", bytes[i]);
}

/* "" = it has none. */
static void build_id(Elf *elf, char text[2 * 64 + 1])
{
    const void *bytes = NULL;
    ssize_t count = dwelf_elf_gnu_build_id(elf, &bytes);
    text[0] = '\0';
    if (count > 0)
        write_hex(text, bytes, count < 64 ? (size_t)count : 64);
}

static bool is_same(const struct image *image, const struct stat *info, struct nl_str id,
                    char text[2 * 64 + 1])
{
    char stamp[64];
    build_id(image->elf, text);
    if (id.ptr[0] != '~')
        return nl_str_is(id, text);
    (void)snprintf(stamp, sizeof stamp, "~%llx-%llx", (unsigned long long)info->st_size,
                   (unsigned long long)info->st_mtim.tv_sec * 1000000000u +
                       (unsigned long long)info->st_mtim.tv_nsec);
    return nl_str_is(id, stamp);
}

static void read_segments(struct elfsymbols *symbols)
{
    size_t count = 0;
    if (elf_getphdrnum(symbols->own.elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && symbols->segment_count < MAX_SEGMENTS; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(symbols->own.elf, (int)i, &head) && head.p_type == PT_LOAD)
            symbols->segments[symbols->segment_count++] =
                (struct segment){head.p_offset, head.p_filesz, head.p_vaddr};
    }
}

/* ---- symbols ---- */

static bool is_function(const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && symbol->st_value &&
           (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static void add_table(struct elfsymbols *symbols, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = head->sh_entsize ? (size_t)(head->sh_size / head->sh_entsize) : 0;
    for (size_t i = 0; data && i < count && symbols->symbol_count < MAX_SYMBOLS; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol))
            break;
        if (!is_function(&symbol))
            continue;
        const char *name = elf_strptr(elf, head->sh_link, symbol.st_name);
        if (!name || !*name)
            continue;
        nl_grow(&symbols->symbols, &symbols->symbol_cap, symbols->symbol_count + 1);
        symbols->symbols[symbols->symbol_count++] =
            (struct symbol){symbol.st_value, symbol.st_size, name};
    }
}

/* All tables of a kind; false: there is none. */
static bool add_tables(struct elfsymbols *symbols, Elf *elf, uint32_t type)
{
    bool found = false;
    for (Elf_Scn *section = elf ? elf_nextscn(elf, NULL) : NULL; section;
         section = elf_nextscn(elf, section)) {
        GElf_Shdr head;
        if (!gelf_getshdr(section, &head) || head.sh_type != type)
            continue;
        add_table(symbols, elf, section, &head);
        found = true;
    }
    return found;
}

static size_t underscores(const char *name)
{
    return strspn(name, "_");
}

/* By address; of several names of a function the plainest first. */
static int by_address(const void *x, const void *y)
{
    const struct symbol *a = x, *b = y;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if ((a->bytes > 0) != (b->bytes > 0))
        return a->bytes ? -1 : 1;
    if (underscores(a->name) != underscores(b->name))
        return underscores(a->name) < underscores(b->name) ? -1 : 1;
    size_t first = strlen(a->name), second = strlen(b->name);
    return first != second ? (first < second ? -1 : 1) : strcmp(a->name, b->name);
}

static void read_symbols(struct elfsymbols *symbols)
{
    if (!add_tables(symbols, symbols->own.elf, SHT_SYMTAB) &&
        !add_tables(symbols, symbols->debug.elf, SHT_SYMTAB))
        (void)add_tables(symbols, symbols->own.elf, SHT_DYNSYM);
    struct symbol *rows = symbols->symbols;
    size_t kept = 0;
    if (symbols->symbol_count)
        qsort(rows, symbols->symbol_count, sizeof *rows, by_address);
    for (size_t i = 0; i < symbols->symbol_count; i++)
        if (!kept || rows[kept - 1].address != rows[i].address)
            rows[kept++] = rows[i];
    symbols->symbol_count = kept;
}

static const char *function_at(const struct elfsymbols *symbols, uint64_t address)
{
    size_t low = NL_FIRST(i, 0, symbols->symbol_count, symbols->symbols[i].address > address);
    if (!low)
        return NULL;
    const struct symbol *symbol = &symbols->symbols[low - 1];
    /* Assembly has symbols without a size: up to the next. */
    return !symbol->bytes || address - symbol->address < symbol->bytes ? symbol->name : NULL;
}

/* ---- lines ---- */

static void add_unit(struct elfsymbols *symbols, Dwarf_Die *unit)
{
    Dwarf_Addr base, begin, end;
    for (ptrdiff_t next = dwarf_ranges(unit, 0, &base, &begin, &end);
         next > 0 && symbols->range_count < MAX_RANGES;
         next = dwarf_ranges(unit, next, &base, &begin, &end)) {
        if (end <= begin)
            continue;
        nl_grow(&symbols->ranges, &symbols->range_cap, symbols->range_count + 1);
        symbols->ranges[symbols->range_count++] = (struct range){begin, end, dwarf_dieoffset(unit)};
    }
}

static int by_begin(const void *x, const void *y)
{
    const struct range *a = x, *b = y;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

static bool read_units(struct elfsymbols *symbols, Elf *elf)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Die die;
    uint8_t kind;
    symbols->dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    while (symbols->dwarf &&
           dwarf_get_units(symbols->dwarf, unit, &unit, NULL, &kind, &die, NULL) == 0)
        if (kind == DW_UT_compile || kind == DW_UT_skeleton)
            add_unit(symbols, &die);
    if (symbols->range_count) {
        qsort(symbols->ranges, symbols->range_count, sizeof *symbols->ranges, by_begin);
        return true;
    }
    if (symbols->dwarf)
        dwarf_end(symbols->dwarf);
    symbols->dwarf = NULL;
    return false;
}

static void line_at(struct elfsymbols *symbols, uint64_t address, struct elfsymbols_place *place)
{
    Dwarf_Die unit;
    size_t low = NL_FIRST(i, 0, symbols->range_count, symbols->ranges[i].begin > address);
    if (!low || symbols->ranges[low - 1].end <= address ||
        !dwarf_offdie(symbols->dwarf, symbols->ranges[low - 1].unit, &unit))
        return;
    Dwarf_Line *line = dwarf_getsrc_die(&unit, address);
    int number = 0;
    if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
        return;
    place->file = dwarf_linesrc(line, NULL, NULL);
    place->line = place->file ? (uint32_t)number : 0;
}

/* ---- the rest ---- */

/* Distributions put symbols and lines of their files there, by build id. */
static void find_debug_file(struct elfsymbols *symbols, const char *id)
{
    char path[256], found[2 * 64 + 1];
    struct stat info;
    if (strlen(id) < 4)
        return;
    (void)snprintf(path, sizeof path, DEBUG_FOLDER "%.2s/%s.debug", id, id + 2);
    if (!open_image(&symbols->debug, path, &info))
        return;
    build_id(symbols->debug.elf, found);
    if (strcmp(found, id) != 0)
        close_image(&symbols->debug);
}

struct elfsymbols *elfsymbols_open(const char *path, struct nl_str id, enum elfsymbols_state *state)
{
    struct elfsymbols *symbols = nl_zalloc(sizeof *symbols);
    struct stat info;
    char text[2 * 64 + 1];
    symbols->own.descriptor = symbols->debug.descriptor = -1;
    *state = ELFSYMBOLS_MISSING;
    if (id.len && open_image(&symbols->own, path, &info)) {
        *state = ELFSYMBOLS_CHANGED;
        if (is_same(&symbols->own, &info, id, text)) {
            *state = ELFSYMBOLS_THERE;
            find_debug_file(symbols, text);
            read_segments(symbols);
            read_symbols(symbols);
            if (!read_units(symbols, symbols->own.elf))
                (void)read_units(symbols, symbols->debug.elf);
            return symbols;
        }
    }
    elfsymbols_close(symbols);
    return NULL;
}

void elfsymbols_close(struct elfsymbols *symbols)
{
    if (!symbols)
        return;
    if (symbols->dwarf)
        dwarf_end(symbols->dwarf);
    close_image(&symbols->debug);
    close_image(&symbols->own);
    nl_free(symbols->symbols);
    nl_free(symbols->ranges);
    nl_free(symbols);
}

void elfsymbols_find(struct elfsymbols *symbols, uint64_t file_offset,
                     struct elfsymbols_place *place)
{
    *place = (struct elfsymbols_place){0};
    for (size_t i = 0; i < symbols->segment_count; i++) {
        const struct segment *segment = &symbols->segments[i];
        if (file_offset < segment->offset || file_offset - segment->offset >= segment->bytes)
            continue;
        uint64_t address = file_offset - segment->offset + segment->address;
        place->function = function_at(symbols, address);
        if (symbols->dwarf)
            line_at(symbols, address, place);
        return;
    }
}
