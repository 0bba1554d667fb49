/*
 * Names of addresses: those of an ELF file that is written here byte by byte
 * (symbols/elfsymbols.c), and those that a program tells in /tmp/perf-PID.map (symbols/jitnames.c).
 * What lies where is written beside it.
 */
#include "check.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/symbols/elfsymbols.h"
#include "ingest/symbols/jitnames.h"

/* ---- An ELF file ---- */

#define SEGMENT 0x1000 /* bytes 0x1000 to 0x1fff of the file are at 0x401000 */
#define ADDRESS 0x401000
#define SECOND  0x2100 /* and 0x100 from there at 0x500000 */

static const struct {
    uint64_t address, bytes;
    const char *name;
    unsigned char type;
    uint16_t section;
} made[] = {
    {0, 0, "", STT_NOTYPE, 0},
    {0x401000, 0x10, "first", STT_FUNC, 1},
    {0x401020, 8, "__alias", STT_FUNC, 1},
    {0x401020, 8, "_ali", STT_FUNC, 1},
    {0x401020, 8, "alias_long", STT_FUNC, 1},
    {0x401020, 8, "alias", STT_FUNC, 1},
    {0x401020, 8, "aliaz", STT_FUNC, 1},
    {0x401030, 0, "unsized", STT_FUNC, 1},
    {0x401030, 4, "_sized", STT_FUNC, 1},
    {0x401040, 0, "assembly", STT_FUNC, 1},
    {0x401050, 4, "an_object", STT_OBJECT, 1},
    {0x401052, 4, "elsewhere", STT_FUNC, SHN_UNDEF},
    {0x401054, 4, "", STT_FUNC, 1},
    {0, 0x500000, "at_nought", STT_FUNC, 1},
    {0x401060, 0x10, "chosen", STT_GNU_IFUNC, 1},
    {0x401ff0, 0x40, "last", STT_FUNC, 1},
    {0x500000, 0x10, "second", STT_FUNC, 1},
};

static const struct {
    uint64_t offset;
    const char *name; /* NULL: none */
} asked[] = {
    {0xfff, NULL},
    {0x1000, "first"},
    {0x100f, "first"},
    {0x1010, NULL},
    {0x101f, NULL},
    {0x1020, "alias"},
    {0x1027, "alias"},
    {0x1028, NULL},
    {0x1030, "_sized"},
    {0x1033, "_sized"},
    {0x1034, NULL},
    {0x1040, "assembly"},
    {0x1050, "assembly"},
    {0x1053, "assembly"},
    {0x1055, "assembly"},
    {0x105f, "assembly"},
    {0x1060, "chosen"},
    {0x106f, "chosen"},
    {0x1070, NULL},
    {0x1fef, NULL},
    {0x1ff0, "last"},
    {0x1fff, "last"},
    {0x2000, NULL},
    {0x20ff, NULL},
    {0x2100, "second"},
    {0x210f, "second"},
    {0x2110, NULL},
    {0x21ff, NULL},
    {0x2200, NULL},
    {UINT64_MAX, NULL},
    {0, NULL},
};

struct image {
    Elf64_Ehdr head;
    Elf64_Phdr parts[4];
    Elf64_Nhdr note;
    char note_name[4];
    unsigned char id[20];
    Elf64_Sym symbols[CHECK_LENGTH(made)];
    char names[512];
    Elf64_Shdr sections[5];
};

#define AT(member) offsetof(struct image, member)

static void add_sections(struct image *image, uint32_t symbols)
{
    image->sections[1] = (Elf64_Shdr){.sh_type = symbols,
                                      .sh_offset = AT(symbols),
                                      .sh_size = sizeof image->symbols,
                                      .sh_link = 2,
                                      .sh_info = 1,
                                      .sh_addralign = 8,
                                      .sh_entsize = sizeof(Elf64_Sym)};
    image->sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                      .sh_offset = AT(names),
                                      .sh_size = sizeof image->names,
                                      .sh_addralign = 1};
    image->sections[3] = (Elf64_Shdr){.sh_type = SHT_NOTE,
                                      .sh_flags = SHF_ALLOC,
                                      .sh_offset = AT(note),
                                      .sh_size = AT(symbols) - AT(note),
                                      .sh_addralign = 4};
    image->sections[4] = image->sections[2];
}

static void fill(struct image *image, uint32_t symbols)
{
    static const Elf64_Phdr parts[] = {
        {.p_type = PT_LOAD, .p_offset = SEGMENT, .p_vaddr = ADDRESS, .p_filesz = 0x1000},
        {.p_type = PT_NOTE, .p_offset = AT(note), .p_filesz = AT(symbols) - AT(note), .p_align = 4},
        {.p_type = PT_DYNAMIC, .p_offset = 0, .p_vaddr = ADDRESS, .p_filesz = 0x800},
        {.p_type = PT_LOAD, .p_offset = SECOND, .p_vaddr = 0x500000, .p_filesz = 0x100}};
    size_t used = 1;
    memset(image, 0, sizeof *image);
    memcpy(image->head.e_ident, ELFMAG, SELFMAG);
    image->head.e_ident[EI_CLASS] = ELFCLASS64;
    image->head.e_ident[EI_DATA] = ELFDATA2LSB;
    image->head.e_ident[EI_VERSION] = EV_CURRENT;
    image->head.e_version = EV_CURRENT;
    image->head.e_type = ET_EXEC;
    image->head.e_machine = EM_X86_64;
    image->head.e_phoff = AT(parts);
    image->head.e_shoff = AT(sections);
    image->head.e_ehsize = sizeof image->head;
    image->head.e_phentsize = sizeof parts[0];
    image->head.e_phnum = CHECK_LENGTH(parts);
    image->head.e_shentsize = sizeof image->sections[0];
    image->head.e_shnum = CHECK_LENGTH(image->sections);
    image->head.e_shstrndx = 4;
    memcpy(image->parts, parts, sizeof parts);
    image->note = (Elf64_Nhdr){.n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID};
    memcpy(image->note_name, "GNU", 4);
    for (unsigned i = 0; i < sizeof image->id; i++)
        image->id[i] = (unsigned char)(0x0a + 13 * i);
    for (size_t i = 0; i < CHECK_LENGTH(made); i++) {
        image->symbols[i] = (Elf64_Sym){.st_name = made[i].name[0] ? (uint32_t)used : 0,
                                        .st_info = (unsigned char)(STB_GLOBAL << 4 | made[i].type),
                                        .st_shndx = made[i].section,
                                        .st_value = made[i].address,
                                        .st_size = made[i].bytes};
        used +=
            (size_t)snprintf(image->names + used, sizeof image->names - used, "%s", made[i].name) +
            1;
    }
    add_sections(image, symbols);
}

/* 0x0a + 13 i, in hex. */
#define ID "0a1724313e4b5865727f8c99a6b3c0cddae7f401"

static char folder[] = "/tmp/neurolens-test-XXXXXX";

static const char *write_file(const void *bytes, size_t len)
{
    static char path[64];
    snprintf(path, sizeof path, "%s/image", folder);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
    return path;
}

static void check_names(const char *path)
{
    enum elfsymbols_state state;
    struct elfsymbols *symbols = elfsymbols_open(path, nl_str(ID), &state);
    REQUIRE(symbols);
    CHECK_INT(state, ELFSYMBOLS_THERE);
    for (size_t i = 0; i < CHECK_LENGTH(asked); i++) {
        char label[40];
        struct elfsymbols_place place;
        snprintf(label, sizeof label, "at %#llx", (unsigned long long)asked[i].offset);
        check_case(label);
        elfsymbols_find(symbols, asked[i].offset, &place);
        CHECK_TEXT(place.function ? place.function : "none",
                   asked[i].name ? asked[i].name : "none");
        CHECK(!place.file && !place.line);
    }
    elfsymbols_close(symbols);
}

static void functions(void)
{
    static struct image image;
    fill(&image, SHT_SYMTAB);
    check_names(write_file(&image, sizeof image));
    fill(&image, SHT_DYNSYM); /* stripped: what the linker needs is left */
    check_names(write_file(&image, sizeof image));
}

static void expect_state(const char *path, const char *id, enum elfsymbols_state want)
{
    enum elfsymbols_state state;
    struct elfsymbols *symbols = elfsymbols_open(path, nl_str(id), &state);
    check_case(*id ? id : "no id");
    CHECK_INT(state, want);
    CHECK((symbols != NULL) == (want == ELFSYMBOLS_THERE));
    elfsymbols_close(symbols);
}

static void whether_it_is_the_file(void)
{
    static struct image image;
    char id[64];
    fill(&image, SHT_SYMTAB);
    const char *path = write_file(&image, sizeof image);
    const struct timespec times[2] = {{5, 0}, {1234567890, 123456789}};
    if (utimensat(AT_FDCWD, path, times, 0) != 0)
        abort();
    expect_state(path, ID, ELFSYMBOLS_THERE);
    expect_state(path, "0a1724313e4b5865727f8c99a6b3c0cddae7f402", ELFSYMBOLS_CHANGED);
    expect_state(path, "0a17", ELFSYMBOLS_CHANGED);
    expect_state(path, "", ELFSYMBOLS_MISSING);
    for (int more = 0; more < 2; more++) {
        snprintf(id, sizeof id, "~%zx-%llx", sizeof image + (size_t)more, 1234567890123456789ull);
        expect_state(path, id, more ? ELFSYMBOLS_CHANGED : ELFSYMBOLS_THERE);
        snprintf(id, sizeof id, "~%zx-%llx", sizeof image, 1234567890123456789ull + (unsigned)more);
        expect_state(path, id, more ? ELFSYMBOLS_CHANGED : ELFSYMBOLS_THERE);
    }
    expect_state(folder, ID, ELFSYMBOLS_MISSING);
    expect_state("/nowhere/at/all", ID, ELFSYMBOLS_MISSING);
    expect_state(write_file("no ELF file", 11), ID, ELFSYMBOLS_MISSING);
    expect_state(write_file("", 0), ID, ELFSYMBOLS_MISSING);
}

/* ---- /tmp/perf-PID.map ---- */

static const char map[] = "401000 10 first\n"
                          "0x402000 0x8 with spaces in it\n"
                          "40A0fF 1f digits\n"
                          "ffffffff00000000 10 sixteen digits\n"
                          "1ffffffff00001000 10 seventeen\n"
                          "403000 10\n"
                          "403100 10 \n"
                          "403200  10 x\n"
                          "40320g 10 x\n"
                          "403300 0x x\n"
                          " 403400 10 x\n"
                          "\n"
                          "x 10 y\n"
                          "403500\t10 x\n"
                          "404000 10 told first\n"
                          "400f00 8 lowest\n"
                          "404000 8 told last\n"
                          "405000 0 empty\n"
                          "406000 10 without an end of line";

static const struct {
    uint64_t address;
    const char *name; /* "": none */
} lookups[] = {{0, ""},
               {0x400eff, ""},
               {0x400f00, "lowest"},
               {0x400f07, "lowest"},
               {0x400f08, ""},
               {0x401000, "first"},
               {0x40100f, "first"},
               {0x401010, ""},
               {0x402000, "with spaces in it"},
               {0x402007, "with spaces in it"},
               {0x402008, ""},
               {0x40a0ff, "digits"},
               {0x40a11d, "digits"},
               {0x40a11e, ""},
               {0xffffffff00000000, "sixteen digits"},
               {0xffffffff0000000f, "sixteen digits"},
               {0xffffffff00000010, ""},
               {0xffffffff00001000, ""},
               {0x1ffffffff0000100, ""},
               {0x403000, ""},
               {0x403100, ""},
               {0x403200, ""},
               {0x40320, ""},
               {0x403300, ""},
               {0x403400, ""},
               {0x403500, ""},
               {0x404000, "told last"},
               {0x404007, "told last"},
               {0x404008, ""},
               {0x405000, ""},
               {0x406000, "without an end of line"}};

static const char *map_path(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    return path;
}

static void write_map(const char *text, int64_t written_ns)
{
    const struct timespec times[2] = {{5, 0},
                                      {written_ns / 1000000000, (long)(written_ns % 1000000000)}};
    unlink(map_path());
    FILE *file = fopen(map_path(), "wb");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0 ||
        utimensat(AT_FDCWD, map_path(), times, 0) != 0)
        abort();
}

static void names_of_a_map(void)
{
    write_map(map, 1000);
    struct jitnames *names = jitnames_open(getpid(), 0, 2000);
    REQUIRE(names);
    for (size_t i = 0; i < CHECK_LENGTH(lookups); i++) {
        char label[40];
        snprintf(label, sizeof label, "at %#llx", (unsigned long long)lookups[i].address);
        check_case(label);
        CHECK_STR(jitnames_find(names, lookups[i].address), lookups[i].name);
    }
    jitnames_close(names);
    write_map("", 1000);
    names = jitnames_open(getpid(), 0, 2000);
    REQUIRE(names);
    CHECK_STR(jitnames_find(names, 0x401000), "");
    jitnames_close(names);
    unlink(map_path());
}

/* From a second before the process began to a second after it ended. */
static void maps_of_other_times(void)
{
    static const int64_t second = 1000000000;
    static const struct {
        int64_t begin, end; /* from when it was written on */
        bool there;
    } cases[] = {{-5, 5, true},
                 {1000000000, 2000000000, true},
                 {1000000001, 2000000000, false},
                 {-2000000000, -1000000000, true},
                 {-2000000000, -1000000001, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t written = 5000 * second + 7;
        write_map(map, written);
        struct jitnames *names =
            jitnames_open(getpid(), written + cases[i].begin, written + cases[i].end);
        CHECK_INT(names != NULL, cases[i].there);
        jitnames_close(names);
    }
    unlink(map_path());
    CHECK(!jitnames_open(getpid(), 0, INT64_MAX / 2));
    char target[64];
    snprintf(target, sizeof target, "%s/map", folder);
    write_map(map, 1000);
    if (rename(map_path(), target) == 0 && symlink(target, map_path()) == 0)
        CHECK(!jitnames_open(getpid(), 0, INT64_MAX / 2)); /* another's file could be named so */
    unlink(map_path());
    unlink(target);
}

static void remove_all(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/image", folder);
    unlink(path);
    rmdir(folder);
    unlink(map_path());
}

static void make_folder(void)
{
    if (!mkdtemp(folder))
        abort();
    atexit(remove_all);
}

CHECK_MAIN("symbols", {"a folder for files", make_folder}, {"functions of a file", functions},
           {"whether it is the file", whether_it_is_the_file},
           {"names that a program told", names_of_a_map},
           {"maps of other times", maps_of_other_times})
