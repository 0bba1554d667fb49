/* Frame by frame: the table's row of the place in the code says where the frame begins and where
 * its caller's registers were put. libdw reads the tables; rows are found by the index that
 * linkers add to .eh_frame. */
#define _GNU_SOURCE
#include "capture/native/unwind.h"

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/native/cfivalue.h"

#define MAX_SEGMENTS  16u
#define FRAME_POINTER 6u /* DWARF's numbers */
#define STACK_POINTER 7u
#define RETURN        16u

/* A file with tables; cfi NULL = it has none, or cannot be read. */
struct file {
    Elf *elf;
    Dwarf_CFI *cfi;
    struct segment {
        uint64_t offset, bytes, address;
    } segments[MAX_SEGMENTS];
    size_t segment_count;
    bool asked;
};

struct unwind {
    const struct perfmaps *maps;
    struct file *files; /* by number of the module */
    size_t count, cap;
};

/* The kernel's numbers of registers, in DWARF's order. */
#if defined(__x86_64__)
static const uint8_t kernel_number[CFIVALUE_REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                          17, 18, 19, 20, 21, 22, 23, 8};

uint64_t unwind_registers(void)
{
    uint64_t mask = 0;
    for (unsigned i = 0; i < CFIVALUE_REGISTERS; i++)
        mask |= (uint64_t)1 << kernel_number[i];
    return mask;
}
#else
static const uint8_t kernel_number[CFIVALUE_REGISTERS];

uint64_t unwind_registers(void)
{
    return 0;
}
#endif

struct unwind *unwind_new(const struct perfmaps *maps)
{
    struct unwind *unwind = nl_zalloc(sizeof *unwind);
    unwind->maps = maps;
    return unwind;
}

static void close_file(struct file *file)
{
    if (file->cfi)
        dwarf_cfi_end(file->cfi);
    if (file->elf)
        elf_end(file->elf);
}

void unwind_free(struct unwind *unwind)
{
    if (!unwind)
        return;
    for (size_t i = 0; i < unwind->count; i++)
        close_file(&unwind->files[i]);
    nl_free(unwind->files);
    nl_free(unwind);
}

/* ---- files ---- */

/* The kernel's own part of every process is the same in ours. */
static Elf *open_vdso(void)
{
    unsigned long start = getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *head = NULL;
    char *bytes = NULL;
    memcpy(&bytes, &start, sizeof bytes);
    head = (const void *)bytes;
    return bytes ? elf_memory(bytes,
                              (size_t)(head->e_shoff + (uint64_t)head->e_shnum * head->e_shentsize))
                 : NULL;
}

/* Read, not mapped: a program may overwrite its own file. */
static Elf *open_elf(const struct perfmaps_module *module, int *descriptor)
{
    struct stat info;
    (void)elf_version(EV_CURRENT);
    if (!module->is_file)
        return strcmp(module->path, "[vdso]") == 0 ? open_vdso() : NULL;
    *descriptor = open(module->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*descriptor < 0 || fstat(*descriptor, &info) != 0 || !S_ISREG(info.st_mode))
        return NULL;
    return elf_begin(*descriptor, ELF_C_READ, NULL);
}

/* Replaced since it was mapped? */
static bool is_same(Elf *elf, const struct perfmaps_module *module)
{
    const void *bytes = NULL;
    char text[PERFMAPS_ID_TEXT] = "";
    ssize_t count = dwelf_elf_gnu_build_id(elf, &bytes);
    for (ssize_t i = 0; i < count && i * 2 + 3 < (ssize_t)PERFMAPS_ID_TEXT; i++)
        (void)snprintf(text + i * 2, 3, "%02x", ((const unsigned char *)bytes)[i]);
    return module->id[0] == '~' || !module->id[0] || strcmp(text, module->id) == 0;
}

static void read_segments(struct file *file)
{
    size_t count = 0;
    if (elf_getphdrnum(file->elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && file->segment_count < MAX_SEGMENTS; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(file->elf, (int)i, &head) && head.p_type == PT_LOAD)
            file->segments[file->segment_count++] =
                (struct segment){head.p_offset, head.p_filesz, head.p_vaddr};
    }
}

static struct file *file_of(struct unwind *unwind, uint32_t module)
{
    while (unwind->count <= module) {
        nl_grow(&unwind->files, &unwind->cap, unwind->count + 1);
        unwind->files[unwind->count++] = (struct file){0};
    }
    struct file *file = &unwind->files[module];
    if (file->asked)
        return file;
    const struct perfmaps_module *about = perfmaps_module_at(unwind->maps, module);
    int descriptor = -1;
    file->asked = true;
    file->elf = open_elf(about, &descriptor);
    if (file->elf && elf_kind(file->elf) == ELF_K_ELF && is_same(file->elf, about)) {
        read_segments(file);
        file->cfi = dwarf_getcfi_elf(file->elf);
    }
    if (file->elf)
        (void)elf_cntl(file->elf, ELF_C_FDDONE); /* the tables are in memory now */
    if (descriptor >= 0)
        close(descriptor);
    return file;
}

/* The row of the table for an address of a process; NULL: none. To be freed. */
static Dwarf_Frame *row_of(struct unwind *unwind, const struct perfmaps_process *process,
                           uint64_t address)
{
    const struct perfmaps_mapping *mapping = perfmaps_at(process, address);
    Dwarf_Frame *row = NULL;
    if (!mapping)
        return NULL;
    struct file *file = file_of(unwind, mapping->module);
    uint64_t offset = address - mapping->start;
    if (perfmaps_module_at(unwind->maps, mapping->module)->is_file)
        offset += mapping->file_offset;
    for (size_t i = 0; file->cfi && i < file->segment_count; i++) {
        const struct segment *segment = &file->segments[i];
        if (offset < segment->offset || offset - segment->offset >= segment->bytes)
            continue;
        uint64_t place = offset - segment->offset + segment->address;
        return dwarf_cfi_addrframe(file->cfi, place, &row) == 0 ? row : NULL;
    }
    return NULL;
}

/* ---- frames ---- */

static void set_registers(struct cfivalue_state *state, const struct perf_record *record,
                          uint64_t mask)
{
    for (unsigned i = 0; i < CFIVALUE_REGISTERS; i++) {
        uint64_t below = mask & (((uint64_t)1 << kernel_number[i]) - 1);
        state->registers[i] =
            perf_record_u64(record->registers, (size_t)__builtin_popcountll(below));
        state->known[i] = true;
    }
    state->stack = record->stack;
    state->stack_start = state->registers[STACK_POINTER];
    state->stack_len = record->stack_len;
}

/* One register of the caller. False: the tables say where it is, and it cannot be read from there
 * (it is beyond the copy of the stack); that is another thing than tables that say it has none. */
static bool find_register(const struct cfivalue_state *now, Dwarf_Frame *row, unsigned number,
                          struct cfivalue_state *caller)
{
    Dwarf_Op room[3], *ops = NULL;
    size_t count = 0;
    uint64_t value;
    bool is_value;
    caller->known[number] = false;
    if (dwarf_frame_register(row, (int)number, room, &ops, &count) != 0)
        return false;
    if (!count) { /* unchanged, or undefined */
        caller->known[number] = !ops && now->known[number];
        return ops || now->known[number];
    }
    if (!cfivalue_of(now, ops, count, &value, &is_value) ||
        (!is_value && !cfivalue_memory(now, value, &value)))
        return false;
    caller->registers[number] = value;
    caller->known[number] = true;
    return true;
}

/* From a frame to its caller's; false: the stack cannot be followed any further. */
static bool step(struct cfivalue_state *state, Dwarf_Frame *row)
{
    Dwarf_Op *ops;
    size_t count;
    bool is_value;
    if (dwarf_frame_cfa(row, &ops, &count) != 0 || !count ||
        !cfivalue_of(state, ops, count, &state->cfa, &is_value))
        return false;
    struct cfivalue_state caller = *state;
    bool whence = true;
    for (unsigned i = 0; i < CFIVALUE_REGISTERS; i++) {
        bool found = find_register(state, row, i, &caller);
        whence = i == RETURN ? found : whence;
    }
    if (!caller.known[STACK_POINTER]) {
        caller.registers[STACK_POINTER] = state->cfa;
        caller.known[STACK_POINTER] = true;
    }
    bool upwards = caller.registers[STACK_POINTER] > state->registers[STACK_POINTER];
    *state = caller;
    return upwards && whence;
}

/*
 * Behind its call the code itself may say what it put on the stack: "add $N, %rsp; ret". CPython's
 * trampolines (PYTHONPERFSUPPORT), one per Python function, are made so and keep no frame pointer.
 */
static bool step_by_code(const struct perfmaps_process *process, uint64_t place,
                         struct cfivalue_state *state)
{
    unsigned char code[5] = {0};
    struct iovec to = {code, sizeof code}, from = {.iov_len = sizeof code};
    uint64_t back;
    memcpy(&from.iov_base, &place, sizeof from.iov_base);
    if (process_vm_readv((pid_t)process->pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof code ||
        memcmp(code, "\x48\x83\xc4", 3) != 0 || code[3] > INT8_MAX || code[4] != 0xc3)
        return false;
    uint64_t stack = state->registers[STACK_POINTER] + code[3];
    if (!cfivalue_memory(state, stack, &back) || !perfmaps_at(process, back - 1))
        return false;
    state->registers[STACK_POINTER] = stack + 8;
    state->registers[RETURN] = back;
    return true;
}

/* Code that a program made has no tables; most that make it keep frame pointers. */
static bool step_made(const struct unwind *unwind, const struct perfmaps_process *process,
                      uint64_t place, bool behind_call, struct cfivalue_state *state)
{
    const struct perfmaps_mapping *mapping = perfmaps_at(process, place);
    uint64_t frame = state->registers[FRAME_POINTER], outer, back;
    if (!mapping || perfmaps_module_at(unwind->maps, mapping->module)->is_file)
        return false;
    if (behind_call && step_by_code(process, place, state))
        return true;
    if (!state->known[FRAME_POINTER] || frame < state->registers[STACK_POINTER] ||
        !cfivalue_memory(state, frame, &outer) || !cfivalue_memory(state, frame + 8, &back) ||
        !perfmaps_at(process, back - 1))
        return false;
    for (unsigned i = 0; i < CFIVALUE_REGISTERS; i++) /* what it did with the others is not known */
        state->known[i] = i == FRAME_POINTER || i == STACK_POINTER || i == RETURN;
    state->registers[FRAME_POINTER] = outer;
    state->registers[STACK_POINTER] = frame + 16;
    state->registers[RETURN] = back;
    return true;
}

size_t unwind_stack(struct unwind *unwind, const struct perfmaps_process *process,
                    const struct perf_record *record, uint64_t *addresses, size_t most, bool *cut)
{
    uint64_t mask = unwind_registers();
    struct cfivalue_state state = {0};
    size_t count = 0;
    bool interrupted = true; /* the place is the instruction itself, not after a call */
    if (record->register_count !=
        CFIVALUE_REGISTERS) /* a 32-bit program, or a thread of the kernel */
        return 0;
    set_registers(&state, record, mask);
    *cut = true;
    while (count < most) {
        uint64_t place = state.registers[RETURN];
        if (!state.known[RETURN] || !place) {
            *cut = false; /* tables say so of what a thread begins with */
            break;
        }
        addresses[count++] = place;
        Dwarf_Frame *row = row_of(unwind, process, interrupted ? place : place - 1);
        bool signal = false;
        bool gone = row ? dwarf_frame_info(row, NULL, NULL, &signal) < 0 || !step(&state, row)
                        : !step_made(unwind, process, place, !interrupted, &state);
        nl_free(row);
        if (gone)
            break;
        interrupted = signal;
    }
    return count;
}
