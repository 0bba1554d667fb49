/*
 * Reports of nvidia-smi -q (ingest/telemetry/gputelemetry_report.c), as text and as XML: what
 * becomes a counter and by which name, which numbers measure nothing, facts of devices, processes.
 * Small reports, told as they are written and read by hand.
 */
#include "check.h"

#include <stdlib.h>

#include "loadtext.h"
#include "ingest/telemetry/gputelemetry.h"
#include "ingest/formats.h"

#define HEAD "==============NVSMI LOG==============\n\nTimestamp   : Wed Aug  6 15:47:19 2025\n"
#define GPU  "GPU 00000000:06:00.0\n"
#define XML                                                                                        \
    "<?xml version=\"1.0\" ?>\n<nvidia_smi_log>\n<timestamp>Wed Aug  6 15:47:19 "                  \
    "2025</timestamp>\n"

static struct nl_trace *load(const char *text)
{
    struct nl_err err;
    struct nl_trace *trace = loadtext(&nl_format_gputelemetry, text, strlen(text), 1, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "0 Fan Speed[%]=30@0;" of all values, sorted, "MIG 1 of 0 …" of a part of a device; behind @ the
 * seconds since the first. */
static const char *say(const struct nl_trace *t)
{
    static char text[4000];
    char lines[16][1000];
    size_t count = 0, at = 0;
    int64_t first = t->counter.rows ? t->counter.ts[0] : 0;
    for (uint32_t i = 0; i < t->counter.rows && count < 16; i++) {
        uint32_t series = t->counter.series[i], lane = t->series.lane[series];
        uint32_t device = lane == NL_NULL_ROW ? NL_NULL_ROW : t->lane.device[lane];
        struct nl_str name = nl_trace_name(t, t->series.name[series]);
        struct nl_str unit = nl_trace_name(t, t->series.unit[series]);
        struct nl_str of =
            lane == NL_NULL_ROW ? nl_str("") : nl_trace_name(t, t->lane.domain[lane]);
        snprintf(lines[count++], sizeof lines[0], "%.*s%s%d %.*s[%.*s]=%g@%g;", (int)of.len, of.ptr,
                 of.len ? " of " : "", device == NL_NULL_ROW ? -1 : (int)t->device.ordinal[device],
                 (int)name.len, name.ptr, (int)unit.len, unit.ptr, t->counter.value[i],
                 (double)(t->counter.ts[i] - first) / 1e9);
    }
    qsort(lines, count, sizeof lines[0], by_text);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s", lines[i]);
    return text;
}

static const struct {
    const char *what, *text, *want;
} values[] = {
    {"a value", HEAD GPU "    Fan Speed   : 30 %\n", "0 Fan Speed[%]=30@0;"},
    {"in a section", HEAD GPU "    Utilization\n        Gpu : 97 %\n",
     "0 Utilization: Gpu[%]=97@0;"},
    {"in two, and behind them",
     HEAD GPU "    A\n        B\n            C : 1 W\n        D : 2 W\n    E : 3 W\n",
     "0 A: B: C[W]=1@0;0 A: D[W]=2@0;0 E[W]=3@0;"},
    {"a section that has a value is no part of names", HEAD GPU "    A : P2\n        B : 5 C\n",
     "0 B[C]=5@0;"},
    {"a key named as its section", HEAD GPU "    A\n        A : 5 C\n", "0 A: A[C]=5@0;"},
    {"reasons", HEAD GPU "    Reasons\n        Idle : Not Active\n        Cap : Active\n",
     "0 Reasons: Cap[]=1@0;0 Reasons: Idle[]=0@0;"},
    {"no number", HEAD GPU "    A : N/A\n    B : Enabled\n    C : 0x06\n    D : 1 W\n",
     "0 D[W]=1@0;"},
    {"a colon in the key", HEAD GPU "    a:b : 5 W\n", "0 a:b[W]=5@0;"},
    {"a colon in the value", HEAD GPU "    Bus Id : 00000000:06:00.0\n    D : 1 W\n",
     "0 D[W]=1@0;"},
    {"a version, a date, and what is below zero",
     HEAD GPU "    A : 535.104.05\n    B : 2025-01-02\n    C : -3 C\n    D : 1.5 W\n",
     "0 C[C]=-3@0;0 D[W]=1.5@0;"},
    {"a key without a value", HEAD GPU "    A :\n        D : 1 W\n", "0 D[W]=1@0;"},
    {"two devices", HEAD GPU "    A : 1 W\n" GPU "    A : 2 W\n", "0 A[W]=1@0;1 A[W]=2@0;"},
    {"what stands behind them", HEAD GPU "    A : 1 W\nB : 5 W\n    C : 6 W\n", "0 A[W]=1@0;"},
    {"what stands before", "A : 5 W\n" HEAD "B : 5 W\n" GPU "    A : 1 W\n", "0 A[W]=1@0;"},
    {"two reports",
     HEAD GPU "    A : 1 W\n"
              "==============NVSMI LOG==============\n"
              "Timestamp : Wed Aug  6 15:47:21 2025\n" GPU "    A : 3 W\n",
     "0 A[W]=1@0;0 A[W]=3@2;"},
    {"MIG devices, whose names begin behind theirs",
     HEAD GPU
     "    MIG Devices\n        MIG Device\n            Index : 0\n            FB Memory Usage\n"
     "                Used : 12 MiB\n        MIG Device\n            Index : 3\n            FB "
     "Memory Usage\n"
     "                Used : 13 MiB\n    A : 1 W\n",
     "0 A[W]=1@0;MIG 0 of 0 FB Memory Usage: Used[MiB]=12@0;MIG 3 of 0 FB Memory Usage: "
     "Used[MiB]=13@0;"},
    {"XML",
     XML "<gpu id=\"0:1\">\n<fan_speed>30 %</fan_speed>\n<fb>\n<used>5 MiB</used>\n</fb>\n</gpu>\n",
     "0 fan_speed[%]=30@0;0 fb: used[MiB]=5@0;"},
    {"on one line", XML "<gpu id='0:1'><a><b>1 W</b><c>2 W</c></a><d>3 W</d></gpu>",
     "0 a: b[W]=1@0;0 a: c[W]=2@0;0 d[W]=3@0;"},
    {"empty elements", XML "<gpu id=\"0:1\"><x/><y /><z></z><a b=\"c\">1 W</a></gpu>\n",
     "0 a[W]=1@0;"},
    {"two devices in XML", XML "<gpu id=\"0:1\"><a>1 W</a></gpu><gpu id=\"0:2\"><a>2 W</a></gpu>\n",
     "0 a[W]=1@0;1 a[W]=2@0;"},
    {"behind a device in XML", XML "<gpu id=\"0:1\"><a>1 W</a></gpu><b>5 W</b>\n", "0 a[W]=1@0;"},
    {"comments, and tags over lines",
     XML "<gpu id=\"0:1\"><!-- x --><a>1 W</a><b\n>\n<c>2 W</c></gpu>\n", "0 a[W]=1@0;0 c[W]=2@0;"},
    {"reasons in XML", XML "<gpu id=\"0:1\"><r><a>Active</a><b>Not Active</b></r></gpu>\n",
     "0 r: a[]=1@0;0 r: b[]=0@0;"},
};

static void values_of_reports(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        check_case(values[i].what);
        struct nl_trace *t = load(values[i].text);
        REQUIRE(t);
        CHECK_TEXT(say(t), values[i].want);
        nl_trace_free(t);
    }
}

/* Numbers that measure nothing, alone or in their section; the same names elsewhere do. */
static void identities(void)
{
    static const struct {
        const char *section, *text, *xml_section, *xml;
    } keys[] = {
        {NULL, "Serial Number", NULL, "serial"},
        {NULL, "Minor Number", NULL, "minor_number"},
        {NULL, "Attached GPUs", NULL, "attached_gpus"},
        {NULL, "GPU Part Number", NULL, "gpu_part_number"},
        {NULL, "Board Part Number", NULL, "board_part_number"},
        {NULL, "Module ID", NULL, "gpu_module_id"},
        {NULL, "Module Id", NULL, "module_id"},
        {NULL, "GPU Instance ID", NULL, "gpu_instance_id"},
        {NULL, "GPU instance ID", NULL, "gpu_instance_id"},
        {NULL, "Compute Instance ID", NULL, "compute_instance_id"},
        {NULL, "Compute instance ID", NULL, "compute_instance_id"},
        {NULL, "VBIOS Version", NULL, "vbios_version"},
        {"PCI", "Bus", "pci", "pci_bus"},
        {"PCI", "Device", "pci", "pci_device"},
        {"PCI", "Domain", "pci", "pci_domain"},
        {"PCI", "Device Id", "pci", "pci_device_id"},
        {"PCI", "Sub System Id", "pci", "pci_sub_system_id"},
        {"PCI", "Base Classcode", "pci", "pci_base_class"},
        {"PCI", "Sub Classcode", "pci", "pci_sub_class"},
        {"Inforom Version", "Whatever", "inforom_version", "whatever"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(keys); i++) {
        char text[600], want[100];
        struct nl_trace *t;
        const char *section = keys[i].section;
        check_case(keys[i].text);
        snprintf(text, sizeof text, HEAD GPU "    A : 1 W\n    %s\n        %s : 5 W\n",
                 section ? section : "Any", keys[i].text);
        REQUIRE((t = load(text)) != NULL);
        CHECK_TEXT(say(t), "0 A[W]=1@0;");
        nl_trace_free(t);
        snprintf(text, sizeof text, XML "<gpu id=\"0:1\"><a>1 W</a><%s><%s>5 W</%s></%s></gpu>\n",
                 section ? keys[i].xml_section : "any", keys[i].xml, keys[i].xml,
                 section ? keys[i].xml_section : "any");
        REQUIRE((t = load(text)) != NULL);
        CHECK_TEXT(say(t), "0 a[W]=1@0;");
        nl_trace_free(t);
        if (!section)
            continue;
        snprintf(text, sizeof text, HEAD GPU "    Other\n        %s : 5 W\n", keys[i].text);
        snprintf(want, sizeof want, "0 Other: %s[W]=5@0;", keys[i].text);
        REQUIRE((t = load(text)) != NULL);
        CHECK_TEXT(say(t), want);
        nl_trace_free(t);
    }
}

/* Each month, and what is no time: then reports are a tick apart. */
static void times_of_reports(void)
{
    static const struct {
        const char *said, *is;
    } times[] = {
        {"Wed Jan  1 00:00:01 2025", "2025/01/01 00:00:01"},
        {"Fri Feb 28 15:47:19 2025", "2025/02/28 15:47:19"},
        {"Mon Mar 31 15:47:19 2025", "2025/03/31 15:47:19"},
        {"Wed Apr 30 15:47:19 2025", "2025/04/30 15:47:19"},
        {"Sat May 10 03:38:32 2025", "2025/05/10 03:38:32"},
        {"Sun Jun  1 15:47:19 2025", "2025/06/01 15:47:19"},
        {"Tue Jul  1 15:47:19 2025", "2025/07/01 15:47:19"},
        {"Wed Aug  6 15:47:19 2025", "2025/08/06 15:47:19"},
        {"Mon Sep  1 15:47:19 2025", "2025/09/01 15:47:19"},
        {"Wed Oct  1 15:47:19 2025", "2025/10/01 15:47:19"},
        {"Sat Nov  1 15:47:19 2025", "2025/11/01 15:47:19"},
        {"Wed Dec 31 23:59:59 2025", "2025/12/31 23:59:59"},
        {"Wed anF  1 15:47:19 2025", NULL},
        {"Wed Abc  1 15:47:19 2025", NULL},
        {"Wed Jan  0 15:47:19 2025", NULL},
        {"Wed Jan 1", NULL},
    };
    for (size_t i = 0; i < CHECK_LENGTH(times); i++) {
        char text[400];
        struct telemetry scratch = {.source = 0};
        struct nl_trace *t;
        int64_t first, last;
        check_case(times[i].said);
        snprintf(text, sizeof text,
                 HEAD GPU "    A : 1 W\n"
                          "==============NVSMI LOG==============\nTimestamp : %s\n" GPU
                          "    A : 2 W\n",
                 times[i].said);
        REQUIRE((t = load(text)) != NULL);
        REQUIRE(t->counter.rows == 2);
        if (times[i].is) {
            CHECK(telemetry_time(&scratch, nl_str("2025/08/06 15:47:19"), &first));
            CHECK(telemetry_time(&scratch, nl_str(times[i].is), &last));
            CHECK_INT(t->counter.ts[1] - t->counter.ts[0], last - first);
        } else {
            CHECK(t->counter.ts[1] != t->counter.ts[0]);
        }
        nl_trace_free(t);
    }
}

/* ---- facts ---- */

static const char *text_in(const struct nl_trace *t, uint32_t name)
{
    static char text[100];
    struct nl_str said = nl_trace_name(t, name);
    snprintf(text, sizeof text, "%.*s", (int)said.len, said.ptr);
    return text;
}

static void facts_of_devices(void)
{
    static const char *const reports[] = {
        HEAD GPU
        "    Product Name : Some GPU\n    GPU UUID : GPU-1\n    MIG Devices\n        MIG Device\n"
        "            FB Memory Usage\n                Total : 5 MiB\n    FB Memory Usage\n"
        "        Total : 40960 MiB\n    Max Clocks\n        SM : 1410 MHz\n    Clocks\n        SM "
        ": 210 MHz\n"
        "    Processes\n        Process ID : 4242\n            Name : /usr/bin/python3\n"
        "            Used GPU Memory : 7 MiB\n        Process ID : 77\n            Name : "
        "C:\\a\\b.exe\n"
        "            Used GPU Memory : 8 MiB\n",
        XML "<gpu id=\"00000000:06:00.0\"><product_name>Some "
            "GPU</product_name><uuid>GPU-1</uuid><mig_devices>"
            "<mig_device><fb_memory_usage><total>5 "
            "MiB</total></fb_memory_usage></mig_device></mig_devices>"
            "<fb_memory_usage><total>40960 MiB</total></fb_memory_usage><max_clocks><sm_clock>1410 "
            "MHz</sm_clock>"
            "</max_clocks><clocks><sm_clock>210 "
            "MHz</sm_clock></clocks><processes><process_info><pid>4242</pid>"
            "<process_name>/usr/bin/python3</process_name><used>7 "
            "MiB</used></process_info><process_info>"
            "<pid>77</pid><process_name>C:\\a\\b.exe</process_name><used>8 "
            "MiB</used></process_info></processes></gpu>\n"};
    for (size_t i = 0; i < CHECK_LENGTH(reports); i++) {
        check_case(i ? "XML" : "text");
        struct nl_trace *t = load(reports[i]);
        REQUIRE(t && t->device.rows == 1);
        CHECK_TEXT(text_in(t, t->device.name[0]), "Some GPU");
        CHECK_TEXT(text_in(t, t->device.uuid[0]), "GPU-1");
        CHECK_TEXT(text_in(t, t->device.bus[0]), "00000000:06:00.0");
        CHECK_TEXT(text_in(t, t->device.vendor[0]), "nvidia");
        CHECK_INT(t->device.memory_bytes[0], (int64_t)40960 << 20);
        CHECK_INT(t->device.clock_hz[0], 1410000000);
        unsigned found = 0;
        for (uint32_t p = 0; p < t->process.rows; p++) {
            const char *name = text_in(t, t->process.name[p]);
            found += t->process.pid[p] == 4242 && !strcmp(name, "python3");
            found += t->process.pid[p] == 77 && !strcmp(name, "b.exe");
        }
        CHECK_INT(found, 2);
        nl_trace_free(t);
    }
}

/* What is no number is no fact, and a fact is no other one: -1 is unknown. */
static void facts_that_are_none(void)
{
    static const struct {
        const char *what, *text, *name;
        int64_t memory, clock;
    } cases[] = {
        {"memory alone", HEAD GPU "    FB Memory Usage\n        Total : 5 MiB\n", "", 5 << 20, -1},
        {"a clock alone", HEAD GPU "    Max Clocks\n        SM : 7 MHz\n", "", -1, 7000000},
        {"no numbers",
         HEAD GPU "    FB Memory Usage\n        Total : N/A\n    Max Clocks\n        SM : N/A\n"
                  "    A : 1 W\n",
         "", -1, -1},
        {"other sections",
         HEAD GPU "    BAR1 Memory Usage\n        Total : 5 MiB\n    Clocks\n        SM : 7 MHz\n",
         "", -1, -1},
        {"entities",
         XML "<gpu id=\"0:1\"><product_name>a&amp;b&lt;c&gt;d&quot;e&apos;f&x;&amp</product_name>"
             "<a>1 W</a></gpu>\n",
         "a&b<c>d\"e'f&x;&amp", -1, -1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].what);
        struct nl_trace *t = load(cases[i].text);
        REQUIRE(t && t->device.rows == 1);
        CHECK_TEXT(text_in(t, t->device.name[0]), cases[i].name);
        CHECK_INT(t->device.memory_bytes[0] == NL_NULL_U64 ? -1
                                                           : (int64_t)t->device.memory_bytes[0],
                  cases[i].memory);
        CHECK_INT(t->device.clock_hz[0] == NL_NULL_U64 ? -1 : (int64_t)t->device.clock_hz[0],
                  cases[i].clock);
        nl_trace_free(t);
    }
}

/* Twelve sections in each other are kept, each with 64 letters of its name: the
 * longest name that there can be. */
static void deep_names(void)
{
    static char text[4000], want[1000];
    for (unsigned depth = 11; depth <= 13; depth++) {
        size_t at = (size_t)snprintf(text, sizeof text, HEAD GPU), w = 2;
        memcpy(want, "0 ", 3);
        for (unsigned i = 0; i < depth; i++) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%*s%c%070d\n", 4 + (int)i, "",
                                   'a' + (int)i, 0);
            if (i < 12)
                w += (size_t)snprintf(want + w, sizeof want - w, "%c%063d: ", 'a' + (int)i, 0);
        }
        snprintf(text + at, sizeof text - at, "%20sz%070d : 5 W\n", "", 0);
        snprintf(want + w, sizeof want - w, "z%063d[W]=5@0;", 0);
        struct nl_trace *t = load(text);
        REQUIRE(t);
        CHECK_TEXT(say(t), want);
        nl_trace_free(t);
    }
}

CHECK_MAIN("telemetryreport", {"values of reports", values_of_reports}, {"identities", identities},
           {"times of reports", times_of_reports}, {"facts of devices", facts_of_devices},
           {"facts that are none", facts_that_are_none}, {"deep names", deep_names})
