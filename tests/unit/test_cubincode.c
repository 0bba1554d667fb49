/* Operations and PTX of a GPU program: an ELF file of one function, made here by hand. */
#include <string.h>

#include "check.h"
#include "ingest/ncu/cubincode.h"

static struct elf_writer {
    unsigned char bytes[4096];
    size_t len;
} elf;

static void put(size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        elf.bytes[at + i] = (unsigned char)(value >> 8 * i);
}

static size_t add(const void *bytes, size_t len)
{
    size_t at = elf.len = (elf.len + 15) / 16 * 16;
    if (len)
        memcpy(elf.bytes + at, bytes, len);
    elf.len += len;
    return at;
}

/* Sections in this order: none, names, code, PTX, its line table, relocations, symbols, strings. */
static const char section_names[] =
    "\0.shstrtab\0.text.f\0.nv_debug_ptx_txt\0.nv_debug_line_sass\0.rel.nv_debug_line_sass\0"
    ".symtab\0.strtab";
enum { SECTIONS = 8 };
static const char *const order[SECTIONS] = {"",
                                            ".shstrtab",
                                            ".text.f",
                                            ".nv_debug_ptx_txt",
                                            ".nv_debug_line_sass",
                                            ".rel.nv_debug_line_sass",
                                            ".symtab",
                                            ".strtab"};

static uint64_t name_at(const char *name)
{
    for (size_t at = 1; at < sizeof section_names; at += strlen(section_names + at) + 1)
        if (!strcmp(section_names + at, name))
            return at;
    return 0;
}

static void make(unsigned capability)
{
    static const char ptx[] =
        "\0.visible .entry f(\0  ld.global.u32 %r1, [%rd1];\0st.global.u32 [%rd2], %r1;\0";
    /* LDG, STG, bits of no operation, half an instruction */
    static const unsigned char code[3 * 16 + 8] = {
        [0] = 0x81, [1] = 0x79, [16] = 0x86, [17] = 0x79, [32] = 0xff, [33] = 0x01};
    /* DWARF 2, no files; address, file 0, line 3, +16 line 4, +32 end */
    static const unsigned char line[] = {
        41, 0, 0, 0, 2, 0, 16, 0, 0, 0, 1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1,  0, 0, 0,  1, 0, 0,
        0,  9, 2, 0, 0, 0, 0,  0, 0, 0, 0, 4, 0,    3,  2,  1, 3, 1, 2, 16, 1, 2, 32, 0, 1, 1};
    unsigned char table[sizeof line], symbols[48] = {0}, relocation[16] = {29};
    memcpy(table, line, sizeof line);
    table[0] = sizeof line - 4;
    relocation[12] = 1; /* symbol 1 */
    symbols[24] = 1;    /* its name */
    const struct {
        const void *bytes;
        size_t len;
    } parts[SECTIONS] = {{NULL, 0},
                         {section_names, sizeof section_names},
                         {code, sizeof code},
                         {ptx, sizeof ptx - 1},
                         {table, sizeof table},
                         {relocation, 16},
                         {symbols, 48},
                         {"\0f", 3}};
    uint64_t at[SECTIONS];
    elf.len = 64;
    memset(&elf.bytes, 0, sizeof elf.bytes);
    memcpy(elf.bytes, "\177ELF\2\1", 6);
    for (int i = 0; i < SECTIONS; i++)
        at[i] = add(parts[i].bytes, parts[i].len);
    size_t sections = add(NULL, 0);
    put(18, 190, 2), put(40, sections, 8), put(48, capability, 1), put(58, 64, 2),
        put(60, SECTIONS, 2), put(62, 1, 2);
    for (size_t i = 0; i < SECTIONS; i++) {
        put(sections + i * 64, name_at(order[i]), 4), put(sections + i * 64 + 24, at[i], 8);
        put(sections + i * 64 + 32, parts[i].len, 8);
        put(sections + i * 64 + 40, i == 5 ? 6 : i == 6 ? 7 : 0, 4);
    }
    elf.len = sections + SECTIONS * 64;
}

static void tells_operations_and_ptx(void)
{
    struct cubincode code;
    size_t near = 0;
    make(86);
    cubincode_init(&code);
    cubincode_add(&code, 7, elf.bytes, elf.len);
    CHECK(!cubincode_find(&code, 8, nl_str("f")) && !cubincode_find(&code, 7, nl_str("g")));
    const struct cubincode_function *f = cubincode_find(&code, 7, nl_str("f"));
    REQUIRE(f);
    CHECK_TEXT(cubincode_opcode(&code, f, 0), "LDG");
    CHECK_TEXT(cubincode_opcode(&code, f, 16), "STG");
    CHECK(!cubincode_opcode(&code, f, 32) && !cubincode_opcode(&code, f, 48) &&
          !cubincode_opcode(&code, f, 8));
    CHECK(nl_str_is(cubincode_ptx(&code, f, 0, &near), "ld.global.u32 %r1, [%rd1];"));
    CHECK(nl_str_is(cubincode_ptx(&code, f, 16, &near), "st.global.u32 [%rd2], %r1;"));
    CHECK(cubincode_ptx(&code, f, 4096, &near).len == 0);
    cubincode_release(&code);
}

static void leaves_what_it_does_not_know(void)
{
    struct cubincode code;
    cubincode_init(&code);
    make(61); /* instructions of 8 bytes */
    cubincode_add(&code, 1, elf.bytes, elf.len);
    CHECK(!cubincode_find(&code, 1, nl_str("f")));
    make(86);
    for (size_t len = 0; len < elf.len;
         len += 7) /* cut anywhere: no crash, and nothing but what is there */
        cubincode_add(&code, 100 + len, elf.bytes, len);
    cubincode_release(&code);
}

CHECK_MAIN("cubincode", {"tells operations and PTX", tells_operations_and_ptx},
           {"leaves what it does not know", leaves_what_it_does_not_know})
