/* Records of the kernel's ring, what lies where in processes, who has a processor, unwinding: bytes
 * and numbers made by hand. */
#include "check.h"

#include <dwarf.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include "capture/native/cfivalue.h"
#include "capture/native/perfframes.h"
#include "capture/native/perfmaps.h"
#include "capture/native/perfrecord.h"
#include "capture/native/perfthreads.h"
#include "capture/native/unwind.h"
#include "capture/recorder/partvalues.h"

/* ---- records ---- */

static unsigned char bytes[4096];
static size_t used;

static void begin(uint32_t type, uint16_t misc)
{
    struct perf_event_header head = {type, misc, 0};
    memcpy(bytes, &head, sizeof head);
    used = sizeof head;
}

static void put64(uint64_t value)
{
    memcpy(bytes + used, &value, sizeof value);
    used += sizeof value;
}

static void put32(uint32_t first, uint32_t second)
{
    put64((uint64_t)second << 32 | first);
}

static void finish(void)
{
    uint16_t size = (uint16_t)used;
    memcpy(bytes + offsetof(struct perf_event_header, size), &size, sizeof size);
}

#define FIXED                                                                                      \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)
static const struct perf_record_layout chained = {FIXED | PERF_SAMPLE_CALLCHAIN, 0};
static const struct perf_record_layout copied = {
    FIXED | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 3};

/* Taken apart as it is, refused when cut anywhere. */
static bool read_whole(const struct perf_record_layout *layout, struct perf_record *record)
{
    finish();
    for (size_t len = 0; len < used; len += 8)
        if (perf_record_read(layout, bytes, len, record))
            return false;
    return perf_record_read(layout, bytes, used, record);
}

static void begin_sample(uint16_t misc)
{
    begin(PERF_RECORD_SAMPLE, misc);
    put64(0x401000);
    put32(7, 9);
    put64(1234);
    put32(3, 0);
    put64(1000000);
}

static void samples(void)
{
    struct perf_record record;
    begin_sample(PERF_RECORD_MISC_KERNEL);
    put64(2);
    put64((uint64_t)PERF_CONTEXT_USER);
    put64(0x402000);
    REQUIRE(read_whole(&chained, &record));
    CHECK(record.kind == PERF_RECORD_KIND_SAMPLE && record.in_kernel);
    CHECK_INT(record.pid, 7);
    CHECK_INT(record.tid, 9);
    CHECK_INT(record.time, 1234);
    CHECK_INT(record.cpu, 3);
    CHECK_INT(record.period, 1000000);
    CHECK_INT(record.chain_count, 2);
    CHECK_INT(perf_record_u64(record.chain, 1), 0x402000);

    begin_sample(PERF_RECORD_MISC_USER);
    put64((uint64_t)1 << 60); /* more addresses than there is room for */
    finish();
    CHECK(!perf_record_read(&chained, bytes, used, &record));
}

static void stacks(void)
{
    struct perf_record record;
    begin_sample(PERF_RECORD_MISC_USER);
    put64(PERF_SAMPLE_REGS_ABI_64);
    put64(11);
    put64(12);
    put64(16);
    put64(21);
    put64(22);
    put64(8); /* of which so many count */
    REQUIRE(read_whole(&copied, &record));
    CHECK(!record.in_kernel);
    CHECK_INT(record.register_count, 2);
    CHECK_INT(perf_record_u64(record.registers, 1), 12);
    CHECK_INT(record.stack_len, 8);
    CHECK_INT(perf_record_u64(record.stack, 0), 21);

    begin_sample(PERF_RECORD_MISC_USER); /* a thread of the kernel has neither */
    put64(PERF_SAMPLE_REGS_ABI_NONE);
    put64(0);
    finish();
    REQUIRE(perf_record_read(&copied, bytes, used, &record));
    CHECK(!record.registers && !record.stack);
}

static void put_tail(void)
{
    put32(7, 9);
    put64(5555);
    put32(1, 0);
}

static void others(void)
{
    struct perf_record record;
    begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    put32(7, 9);
    put64(0x7f0000);
    put64(0x1000);
    put64(0x2000);
    put64(0x0403020100000002u); /* 2 bytes of a build id, 3 unused ones; then the id */
    put64(0);
    put64(0);
    put64(0);
    memcpy(bytes + used, "/lib/a\0", 8);
    used += 8;
    put_tail();
    REQUIRE(read_whole(&chained, &record));
    CHECK(record.kind == PERF_RECORD_KIND_MAP);
    CHECK_TEXT(record.text, "/lib/a");
    CHECK_INT(record.file_offset, 0x2000);
    CHECK_INT(record.id_len, 2);
    CHECK(record.id[0] == 1 && record.id[1] == 2);
    CHECK_INT(record.time, 5555);

    begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    put32(7, 7);
    memcpy(bytes + used, "train\0\0", 8);
    used += 8;
    put_tail();
    REQUIRE(read_whole(&chained, &record));
    CHECK(record.kind == PERF_RECORD_KIND_COMM && record.exec);
    CHECK_TEXT(record.text, "train");

    begin(PERF_RECORD_FORK, 0);
    put32(20, 7);
    put32(20, 9);
    put64(5555);
    put_tail();
    REQUIRE(read_whole(&chained, &record));
    CHECK(record.kind == PERF_RECORD_KIND_FORK);
    CHECK_INT(record.pid, 20);
    CHECK_INT(record.parent, 7);
    CHECK_INT(record.tid, 20);

    begin(PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
    put_tail();
    REQUIRE(read_whole(&chained, &record));
    CHECK(record.kind == PERF_RECORD_KIND_SWITCH && record.out && record.preempted);

    begin(PERF_RECORD_LOST, 0);
    put64(1);
    put64(77);
    put_tail();
    REQUIRE(read_whole(&chained, &record));
    CHECK_INT(record.lost, 77);

    begin(PERF_RECORD_MMAP2, 0); /* a name without an end */
    for (int i = 0; i < 8; i++)
        put64(0x4141414141414141u);
    put_tail();
    finish();
    CHECK(!perf_record_read(&chained, bytes, used, &record));
}

/* ---- what lies where ---- */

static void map(struct perfmaps *maps, int64_t pid, uint64_t start, uint64_t end, uint64_t offset,
                const char *path)
{
    struct perfmaps_mapping mapping = {start, end, offset, perfmaps_module(maps, path, NULL, 0)};
    perfmaps_map(maps, perfmaps_process(maps, pid), &mapping);
}

static const char *text_at(struct perfframes *frames, struct perfmaps *maps, int64_t pid,
                           uint64_t address)
{
    return perfframes_text(frames, perfmaps_find(maps, pid), address);
}

static void mappings(void)
{
    struct perfmaps *maps = perfmaps_new();
    struct perfframes *frames = perfframes_new(maps);
    map(maps, 1, 0x1000, 0x9000, 0x100, "/none/a");
    map(maps, 1, 0x3000, 0x4000, 0, "/none/b"); /* in the middle of it */
    CHECK_INT(perfmaps_find(maps, 1)->count, 3);
    CHECK_TEXT(text_at(frames, maps, 1, 0x1010), "@/none/a\t\t0x110");
    CHECK_TEXT(text_at(frames, maps, 1, 0x3fff), "@/none/b\t\t0xfff");
    CHECK_TEXT(text_at(frames, maps, 1, 0x4000), "@/none/a\t\t0x3100");
    CHECK_TEXT(text_at(frames, maps, 1, 0x9000), "@[unknown]\t\t0x9000");
    perfmaps_fork(maps, 2, 1);
    map(maps, 1, 0x2000, 0x8000, 0, "//anon"); /* over most of all of it, after the fork */
    CHECK_INT(perfmaps_find(maps, 1)->count, 3);
    CHECK_TEXT(text_at(frames, maps, 1, 0x3000), "@//anon\t\t0x3000"); /* an address: no file */
    CHECK_TEXT(text_at(frames, maps, 2, 0x3001), "@/none/b\t\t0x1");
    CHECK_TEXT(text_at(frames, maps, 1, 0x8000), "@/none/a\t\t0x7100");
    perfmaps_clear(perfmaps_process(maps, 2));
    CHECK(!perfmaps_at(perfmaps_find(maps, 2), 0x3001));
    map(maps, 2, 0x5000, 0x5000, 0, "/none/empty");
    map(maps, 2, 0x6000, 0x1000, 0, "/none/backwards");
    CHECK_INT(perfmaps_find(maps, 2)->count, 0);
    map(maps, 2, 0x1000, 0x2000, 0, "/none/a\tb\n");
    CHECK_TEXT(text_at(frames, maps, 2, 0x1001), "@/none/a?b?\t\t0x1");
    perfframes_free(frames);
    perfmaps_free(maps);
}

/* This very program, as /proc has it. */
static void looked_up(void)
{
    struct perfmaps *maps = perfmaps_new();
    uint64_t here = (uint64_t)(uintptr_t)&looked_up;
    struct perfmaps_process *own = perfmaps_process(maps, getpid());
    perfmaps_look(maps, own);
    const struct perfmaps_mapping *mapping = perfmaps_at(own, here);
    REQUIRE(mapping != NULL);
    const struct perfmaps_module *module = perfmaps_module_at(maps, mapping->module);
    CHECK(strstr(module->path, "test_perf") && module->is_file && module->id[0] == '~');
    uint64_t changes = own->changes;
    perfmaps_look(maps, own); /* nothing new */
    CHECK_INT(own->changes, changes);
    perfmaps_free(maps);
}

/* Processes and threads come and go; none is lost or found twice. */
static void many(void)
{
    struct perfmaps *maps = perfmaps_new();
    struct perfthreads *threads = perfthreads_new();
    struct part_run run;
    uint32_t wrong = 0;
    for (int64_t pid = 1; pid <= 5000; pid++) {
        wrong += !perfmaps_process(maps, pid);
        perfthreads_in(threads, pid, pid * 10);
        if (pid % 3 == 0) {
            perfmaps_end(maps, pid);
            perfthreads_end(threads, pid);
        }
    }
    for (int64_t pid = 1; pid <= 5000; pid++) {
        struct perf_record record = {.tid = pid, .time = 100000, .cpu = 2};
        bool there = pid % 3 != 0;
        wrong += !perfmaps_find(maps, pid) == there;
        wrong += perfthreads_out(threads, &record, NL_REC_RAN_WAITS, &run) != there;
        wrong += there && (run.begin != pid * 10 || run.end != 100000 || run.thread != pid);
        wrong += perfthreads_out(threads, &record, 0, &run); /* once only */
    }
    CHECK_INT(wrong, 0);
    perfthreads_in(threads, 1, 5);
    perfthreads_forget(threads);
    struct perf_record record = {.tid = 1, .time = 9};
    CHECK(!perfthreads_out(threads, &record, 0, &run));
    perfthreads_free(threads);
    perfmaps_free(maps);
}

/* ---- unwinding ---- */

static void values(void)
{
    uint64_t stack[3] = {11, 22, 33}, value = 0;
    struct cfivalue_state state = {.stack = (const unsigned char *)stack,
                                   .stack_start = 0x1000,
                                   .stack_len = sizeof stack,
                                   .cfa = 0x1010};
    bool is_value = false;
    state.registers[7] = 0x1000;
    state.known[7] = true;
    const Dwarf_Op rsp8[] = {{.atom = DW_OP_breg7, .number = 8}};
    CHECK(cfivalue_of(&state, rsp8, 1, &value, &is_value) && value == 0x1008 && !is_value);
    CHECK(cfivalue_memory(&state, value, &value) && value == 22);
    const Dwarf_Op saved[] = {{.atom = DW_OP_call_frame_cfa},
                              {.atom = DW_OP_plus_uconst, .number = (Dwarf_Word)-16},
                              {.atom = DW_OP_deref},
                              {.atom = DW_OP_stack_value}};
    CHECK(cfivalue_of(&state, saved, 4, &value, &is_value) && value == 11 && is_value);
    /* the frame of a PLT entry: rsp + 8 + ((rip & 15) >= 11) * 8 */
    const Dwarf_Op plt[] = {{.atom = DW_OP_breg7, .number = 8},
                            {.atom = DW_OP_breg16},
                            {.atom = DW_OP_lit15},
                            {.atom = DW_OP_and},
                            {.atom = DW_OP_lit11},
                            {.atom = DW_OP_ge},
                            {.atom = DW_OP_lit3},
                            {.atom = DW_OP_shl},
                            {.atom = DW_OP_plus}};
    CHECK(!cfivalue_of(&state, plt, 9, &value, &is_value)); /* rip is not known */
    state.known[16] = true;
    state.registers[16] = 0x40100b;
    CHECK(cfivalue_of(&state, plt, 9, &value, &is_value) && value == 0x1010);
    state.registers[16] = 0x40100a;
    CHECK(cfivalue_of(&state, plt, 9, &value, &is_value) && value == 0x1008);
    const Dwarf_Op empty[] = {{.atom = DW_OP_plus}};
    CHECK(!cfivalue_of(&state, empty, 1, &value, &is_value));
    CHECK(!cfivalue_of(&state, NULL, 0, &value, &is_value));
    CHECK(!cfivalue_memory(&state, 0x1011, &value) && !cfivalue_memory(&state, 0xff8, &value));
    CHECK(!cfivalue_memory(&state, UINT64_MAX - 3, &value));
}

/* A sample without registers has no stack; one whose code lies nowhere has a place, and is cut. */
static void nowhere(void)
{
    struct perfmaps *maps = perfmaps_new();
    struct unwind *unwind = unwind_new(maps);
    uint64_t registers[CFIVALUE_REGISTERS] = {0}, addresses[8];
    struct perf_record record = {.pid = 1};
    bool cut = false;
    CHECK_INT(unwind_stack(unwind, perfmaps_process(maps, 1), &record, addresses, 8, &cut), 0);
    for (size_t i = 0; i < CFIVALUE_REGISTERS; i++)
        registers[i] = 0x5000;
    record.registers = (const unsigned char *)registers;
    record.register_count = CFIVALUE_REGISTERS;
    if (unwind_registers()) {
        CHECK_INT(unwind_stack(unwind, perfmaps_process(maps, 1), &record, addresses, 8, &cut), 1);
        CHECK(cut && addresses[0] == 0x5000);
    }
    unwind_free(unwind);
    perfmaps_free(maps);
}

CHECK_MAIN("perf", {"samples", samples}, {"copies of stacks", stacks}, {"other records", others},
           {"mappings", mappings}, {"mappings from /proc", looked_up},
           {"many processes and threads", many}, {"values", values},
           {"stacks that lead nowhere", nowhere})
