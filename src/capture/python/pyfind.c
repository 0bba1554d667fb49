/* Looks for an interpreter: mappings, ELF heads, symbols by the GNU hash table. */
#define _GNU_SOURCE
#include "capture/python/pyfind.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "capture/recorder/programfile.h"

#define MAX_HEADS   64u
#define MAX_DYNAMIC 256u
#define MAX_CHAIN   4096u
#define MAX_NAME    32u
#define MAX_MODULES 8u
#define MAX_LINE    8192u
#define LIBRARY     "/libpython3"

/* A file that is mapped. */
struct module {
    uint64_t base, bias, symbols, texts, hash;
};

/* DT_GNU_HASH begins with this; then come the words of the filter (64 bits each),
 * the buckets and the chains. */
struct gnu_hash {
    uint32_t buckets, first_symbol, filter_words, filter_shift;
};

/* ---- symbols ---- */

/* Addresses of the dynamic section are relocated by glibc, but not by every loader. */
static uint64_t relocated(const struct module *module, uint64_t address)
{
    return address < module->base ? address + module->bias : address;
}

static bool take_dynamic(struct pymem *mem, struct module *module, uint64_t address, uint64_t bytes)
{
    Elf64_Dyn entries[MAX_DYNAMIC];
    size_t count = bytes / sizeof entries[0];
    count = count < MAX_DYNAMIC ? count : MAX_DYNAMIC;
    if (!count || !pymem_read(mem, address, entries, count * sizeof entries[0]))
        return false;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t value = relocated(module, entries[i].d_un.d_ptr);
        if (entries[i].d_tag == DT_SYMTAB)
            module->symbols = value;
        if (entries[i].d_tag == DT_STRTAB)
            module->texts = value;
        if (entries[i].d_tag == DT_GNU_HASH)
            module->hash = value;
    }
    return module->symbols && module->texts && module->hash;
}

static bool open_module(struct pymem *mem, struct module *module)
{
    Elf64_Ehdr file;
    Elf64_Phdr heads[MAX_HEADS];
    if (!pymem_read(mem, module->base, &file, sizeof file) ||
        memcmp(file.e_ident, ELFMAG, SELFMAG) != 0 || file.e_ident[EI_CLASS] != ELFCLASS64 ||
        file.e_phentsize != sizeof heads[0] || !file.e_phnum || file.e_phnum > MAX_HEADS ||
        !pymem_read(mem, module->base + file.e_phoff, heads, file.e_phnum * sizeof heads[0]))
        return false;
    for (size_t i = 0; i < file.e_phnum; i++)
        if (heads[i].p_type == PT_LOAD && heads[i].p_offset == 0)
            module->bias = module->base - heads[i].p_vaddr;
    for (size_t i = 0; i < file.e_phnum; i++)
        if (heads[i].p_type == PT_DYNAMIC)
            return take_dynamic(mem, module, module->bias + heads[i].p_vaddr, heads[i].p_memsz);
    return false;
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

/* 0: not that name. */
static uint64_t symbol_if(struct pymem *mem, const struct module *module, uint32_t number,
                          const char *name)
{
    Elf64_Sym symbol;
    char text[MAX_NAME] = "";
    size_t len = strlen(name) + 1;
    if (!pymem_get(mem, module->symbols + (uint64_t)number * sizeof symbol, &symbol,
                   sizeof symbol) ||
        symbol.st_shndx == SHN_UNDEF || len > sizeof text ||
        !pymem_get(mem, module->texts + symbol.st_name, text, len) || memcmp(text, name, len) != 0)
        return 0;
    return module->bias + symbol.st_value;
}

/* Address of a symbol that the module defines; 0 = none. */
static uint64_t find_symbol(struct pymem *mem, const struct module *module, const char *name)
{
    struct gnu_hash table;
    uint32_t number, hash = hash_name(name), chained;
    if (!pymem_get(mem, module->hash, &table, sizeof table) || !table.buckets)
        return 0;
    uint64_t buckets =
        module->hash + sizeof table + (uint64_t)table.filter_words * sizeof(uint64_t);
    uint64_t chains = buckets + (uint64_t)table.buckets * sizeof number;
    if (!pymem_get(mem, buckets + (uint64_t)(hash % table.buckets) * sizeof number, &number,
                   sizeof number))
        return 0;
    for (unsigned i = 0; number >= table.first_symbol && i < MAX_CHAIN; i++, number++) {
        uint64_t address;
        if (!pymem_get(mem, chains + (uint64_t)(number - table.first_symbol) * sizeof chained,
                       &chained, sizeof chained))
            return 0;
        /* The lowest bit is no part of the hash: it marks the last of a bucket. */
        if ((chained | 1) == (hash | 1) && (address = symbol_if(mem, module, number, name)) != 0)
            return address;
        if (chained & 1)
            return 0;
    }
    return 0;
}

/* ---- mappings ---- */

/* "begin-end rights offset device inode path": the path of a mapping that
 * begins a file, or NULL. */
static const char *first_of_file(char *line, uint64_t *begin)
{
    unsigned long long address, offset;
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%llx-%*x %*s %llx %*s %*s %n", &address, &offset, &at) != 2 || offset ||
        line[at] != '/')
        return NULL;
    *begin = address;
    return line + at;
}

/* Beginnings of the program's file and of what is called libpython3…; 0 with errno. */
static size_t find_modules(int64_t pid, struct module modules[MAX_MODULES])
{
    char path[64], program[PROGRAMFILE_PATH], line[MAX_LINE];
    size_t count = 0;
    uint64_t begin;
    (void)programfile_of(pid, program);
    (void)snprintf(path, sizeof path, "/proc/%lld/maps", (long long)pid);
    FILE *maps = fopen(path, "re");
    if (!maps)
        return 0;
    errno = 0;
    while (count < MAX_MODULES && fgets(line, sizeof line, maps)) {
        const char *name = first_of_file(line, &begin);
        if (name && (strcmp(name, program) == 0 ||
                     strncmp(strrchr(name, '/'), LIBRARY, sizeof LIBRARY - 1) == 0))
            modules[count++] = (struct module){.base = begin};
    }
    int failure = errno;
    (void)fclose(maps);
    errno = failure;
    return count;
}

/* ---- the interpreter ---- */

static enum pyfind_state refused(struct pyfind *found, const char *text)
{
    (void)snprintf(found->why, sizeof found->why, "%s", text);
    return PYFIND_REFUSED;
}

/* What /proc does not show may be there: hidepid, no /proc. */
static enum pyfind_state not_shown(struct pyfind *found, int64_t pid)
{
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return PYFIND_GONE;
    return refused(found, "/proc does not show the process: run neurolens as its user or as root, "
                          "where /proc is mounted");
}

static enum pyfind_state cannot_read(struct pyfind *found, int64_t pid, int failure)
{
    if (failure == ENOENT)
        return not_shown(found, pid);
    if (failure == ESRCH)
        return PYFIND_GONE;
    if (failure == ENOSYS)
        return refused(found, "the kernel or a sandbox has no process_vm_readv: run neurolens "
                              "outside of the sandbox, or allow it that call");
    if (failure != EPERM && failure != EACCES)
        return PYFIND_NONE;
    return refused(
        found, "not permitted to read the memory of the process: run neurolens as its user, and "
               "with kernel.yama.ptrace_scope=0 or as root when it is not its child; in a "
               "container with CAP_SYS_PTRACE");
}

/* 3.11 and later have their version as a constant; what came before follows from
 * functions that were new. */
static uint32_t version_of(struct pymem *mem, const struct module *module)
{
    uint64_t address = find_symbol(mem, module, "Py_Version"), version;
    if (address && pymem_read(mem, address, &version, sizeof version))
        return (uint32_t)version;
    if (find_symbol(mem, module, "PyIter_Send"))
        return 0x030a00f0;
    if (find_symbol(mem, module, "PyFrame_GetCode"))
        return 0x030900f0;
    return 0; /* older */
}

static enum pyfind_state take_runtime(struct pymem *mem, struct pyfind *found)
{
    uint64_t words[PYLAYOUT_WORDS], head, threads, interp;
    const struct pylayout *layout = &found->layout;
    if (!pymem_read(mem, found->runtime, words, sizeof words))
        return cannot_read(found, mem->pid, mem->failure);
    if (!pylayout_for(&found->layout, found->version, words, found->why, sizeof found->why))
        return PYFIND_REFUSED;
    if (!pymem_read(mem, found->runtime + layout->runtime_head, &head, sizeof head) || !head ||
        !pymem_read(mem, head + layout->interp_threads, &threads, sizeof threads) || !threads)
        return PYFIND_NOT_YET;
    if (!pymem_read(mem, threads + layout->thread_interp, &interp, sizeof interp))
        return PYFIND_NOT_YET;
    return interp == head ? PYFIND_READY : PYFIND_NOT_YET;
}

enum pyfind_state pyfind_look(struct pymem *mem, struct pyfind *found)
{
    struct module modules[MAX_MODULES];
    *found = (struct pyfind){0};
    size_t count = find_modules(mem->pid, modules);
    if (!count)
        return cannot_read(found, mem->pid, errno);
    pymem_round(mem);
    for (size_t i = 0; i < count; i++) {
        mem->failure = 0;
        if (!open_module(mem, &modules[i])) {
            if (mem->failure && mem->failure != EFAULT && mem->failure != EIO)
                return cannot_read(found, mem->pid, mem->failure);
            continue;
        }
        found->runtime = find_symbol(mem, &modules[i], "_PyRuntime");
        found->code_type = find_symbol(mem, &modules[i], "PyCode_Type");
        if ((!found->runtime || !found->code_type) &&
            find_symbol(mem, &modules[i], "Py_GetVersion")) {
            (void)pylayout_for(&found->layout, 0, NULL, found->why, sizeof found->why);
            return PYFIND_REFUSED;
        }
        if (!found->runtime || !found->code_type)
            continue;
        found->version = version_of(mem, &modules[i]);
        return take_runtime(mem, found);
    }
    return PYFIND_NONE;
}
