/* Header and frame lines of `perf script`, with what makes them hard: names with blanks,
 * missing fields, branches. */
#include "check.h"

#include "ingest/stacks/perfline.h"
#include "store/schema.h"

#define NONE NL_NULL_I64

static void headers(void)
{
    static const struct {
        const char *line, *comm, *event, *rest;
        int64_t pid, tid, cpu, time, period;
    } cases[] = {
        {"python3  1234/5678 [003] 12.345678:  250000 cycles:ppp: ", "python3", "cycles:ppp", "",
         1234, 5678, 3, 12345678000, 250000},
        {"python3 77 12.5: cycles:", "python3", "cycles", "", NONE, 77, NONE, 12500000000, NONE},
        {"my prog 2 77 0.000001: 1 cpu-clock:", "my prog 2", "cpu-clock", "", NONE, 77, NONE, 1000,
         1},
        {"prog 12 cycles.user:", "prog", "cycles.user", "", NONE, 12, NONE, NONE, NONE},
        {"prog 12 1.5x:", NULL, NULL, NULL, 0, 0, 0, 0, 0},
        {"prog 12 [00x] 1.5: cycles:", "prog 12 [00x] 1.5: cycles:", NULL, NULL, 0, 0, 0, 0, 0},
        {"prog 12 1.5: sched:sched_switch: prev_comm=a ==> next_comm=b", "prog",
         "sched:sched_switch", "prev_comm=a ==> next_comm=b", NONE, 12, NONE, 1500000000, NONE},
        {"prog 12 cycles: 7f00 work+0x1a (/bin/prog)", "prog", "cycles",
         "7f00 work+0x1a (/bin/prog)", NONE, 12, NONE, NONE, NONE},
        {"prog 12 cycles: not a frame", NULL, NULL, NULL, 0, 0, 0, 0, 0},
        {"12 1.5: cycles:", NULL, NULL, NULL, 0, 0, 0, 0, 0},
        {"prog 12 1.5: 9lives:", NULL, NULL, NULL, 0, 0, 0, 0, 0},
        {"\t    7f00 work+0x1a (/bin/prog)", NULL, NULL, NULL, 0, 0, 0, 0, 0},
        {"", NULL, NULL, NULL, 0, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct perfline_header header = {0};
        check_case(cases[i].line);
        bool found = perfline_header(nl_str(cases[i].line), &header);
        CHECK(found == (cases[i].event != NULL));
        if (!found || !cases[i].event)
            continue;
        CHECK_STR(header.comm, cases[i].comm);
        CHECK_STR(header.event, cases[i].event);
        CHECK_STR(header.rest, cases[i].rest);
        CHECK_INT(header.pid, cases[i].pid);
        CHECK_INT(header.tid, cases[i].tid);
        CHECK_INT(header.cpu, cases[i].cpu);
        CHECK_INT(header.time_ns, cases[i].time);
        CHECK_INT(header.period, cases[i].period);
        CHECK(!header.is_branch);
    }
}

static void branches(void)
{
    struct perfline_header header = {0};
    REQUIRE(perfline_header(
        nl_str("prog 12/12 [001] 1.000000005:  call    7f10 leaf+0x0 (/bin/prog)   7f00 work+0x1a "
               "(/bin/prog)"),
        &header));
    CHECK(header.is_branch);
    CHECK_STR(header.event, "call");
    CHECK_STR(header.rest, "7f00 work+0x1a (/bin/prog)");
    CHECK_INT(header.time_ns, 1000000005);
    REQUIRE(perfline_header(
        nl_str("prog 12 1.5: tx abrt  0 [unknown] ([unknown])  7f00 work+0x1a (/bin/prog)"),
        &header));
    CHECK_STR(header.event, "tx abrt");
}

static void frames(void)
{
    static const struct {
        const char *line, *symbol, *module;
    } cases[] = {
        {"  7f00 work+0x1a (/bin/prog)", "work", "/bin/prog"},
        {"7f00 operator new(unsigned long)+0x1 (/lib/a b.so)", "operator new(unsigned long)",
         "/lib/a b.so"},
        {"7f00 work (/tmp/prog (deleted))", "work", "/tmp/prog (deleted)"},
        {"7f00 work", "work", ""},
        {"7f00 work (inlined)", "work", ""},
        {"7f00 +0x1a (m)", "+0x1a", "m"},
        {"7f00 (m)", "", "m"},
        {"7f00", NULL, NULL},
        {"xyz work (m)", NULL, NULL},
        {"12345678901234567 work (m)", NULL, NULL},
        {"", NULL, NULL},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct perfline_frame frame;
        check_case(cases[i].line);
        bool found = perfline_frame(nl_str(cases[i].line), &frame);
        CHECK(found == (cases[i].symbol != NULL));
        if (!found || !cases[i].symbol)
            continue;
        CHECK_STR(frame.symbol, cases[i].symbol);
        if (frame.module.ptr) /* NULL where the line has none */
            CHECK_STR(frame.module, cases[i].module);
        else
            CHECK(!cases[i].module[0]);
    }
    CHECK(perfline_is_trouble(nl_str(" instruction trace error type 1")));
    CHECK(!perfline_is_trouble(nl_str("prog 12 1.5: instruction trace error")));
}

CHECK_MAIN("perfline", {"headers", headers}, {"branches", branches}, {"frames", frames})
