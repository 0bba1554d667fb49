/*
 * The .nla file: what was saved is read, nothing else ever is, and no bytes do harm. Equality over
 * many profiles is for tests/reopen.py.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "answer/reportfile.h"
#include "base/crc.h"
#include "base/file.h"
#include "check.h"
#include "planted.h"
#include "shown.h"
#include "store/hostroofs.h"

#define HEADER 16 /* magic, CRC of the rest, format */

static const struct nl_str question = {"why is it slow", 14};

static struct nl_trace *profile_with_findings(void)
{
    struct gputrace make;
    gputrace_open(&make);
    copies_exposed(&make);
    return gputrace_close(&make);
}

static struct nl_report *report_of(const struct nl_trace *trace, size_t limit)
{
    const struct nl_analyze_options options = {.limit = limit, .all = true};
    struct nl_err err = {0};
    return nl_report_new(trace, "analyze", &options, NULL, &err);
}

static char *temporary(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/neurolens-report-%d.nla", (int)getpid());
    return path;
}

/* A saved report's bytes; free() them. */
static unsigned char *saved(const struct nl_report *report, const struct nl_profile *profile,
                            size_t *size)
{
    struct nl_err err = {0};
    struct nl_map map;
    CHECK(nl_report_save(report, profile, question, temporary(), &err));
    CHECK(nl_map_open(&map, temporary(), &err));
    unsigned char *bytes = malloc(map.size);
    memcpy(bytes, map.bytes, map.size);
    *size = map.size;
    nl_map_close(&map);
    unlink(temporary());
    return bytes;
}

/* Opens bytes as a file, which lies in memory. */
static struct nl_report *read_bytes(const unsigned char *bytes, size_t size,
                                    struct nl_profile **profile, struct nl_err *err)
{
    char path[64];
    int file = memfd_create("report", MFD_CLOEXEC);
    CHECK(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    *profile = NULL;
    struct nl_report *report = nl_report_open(path, question, profile, err);
    CHECK((report != NULL) == (*profile != NULL));
    close(file);
    return report;
}

static bool opens(const unsigned char *bytes, size_t size)
{
    struct nl_err err = {0};
    struct nl_profile *profile;
    struct nl_report *report = read_bytes(bytes, size, &profile, &err);
    CHECK(report || err.code == NL_FORMAT);
    nl_profile_free(profile);
    nl_report_free(report);
    return report != NULL;
}

static void reads_what_was_saved(void)
{
    struct nl_trace *trace = profile_with_findings();
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    struct nl_err err = {0};
    for (size_t limit = 0; limit < 2; limit++) {
        struct nl_report *made = report_of(trace, limit);
        REQUIRE(made && made->findings->count > 0);
        CHECK(nl_report_save(made, profile, question, temporary(), &err));
        struct nl_profile *facts = NULL;
        struct nl_report *read = nl_report_open(temporary(), question, &facts, &err);
        REQUIRE(read != NULL);
        char *before = shown(profile, made), *after = shown(facts, read);
        nl_profile_free(facts);
        CHECK_TEXT(after, before);
        CHECK(strstr(before, made->findings->items[0].title) != NULL);
        CHECK_INT(read->findings->judged, made->findings->judged);
        CHECK_INT(read->findings->items[0].level, made->findings->items[0].level);
        free(before);
        free(after);
        nl_report_free(made);
        nl_report_free(read);
    }
    unlink(temporary());
    nl_profile_free(profile);
    nl_trace_free(trace);
}

static void refuses_other_questions(void)
{
    struct nl_trace *trace = profile_with_findings();
    struct nl_report *report = report_of(trace, 0);
    struct nl_err err = {0};
    struct nl_profile *made = nl_profile_new(trace, NULL), *profile = NULL;
    CHECK(nl_report_save(report, made, question, temporary(), &err));
    CHECK(nl_report_open(temporary(), nl_str("why is it slow?"), &profile, &err) == NULL);
    CHECK_INT(err.code, NL_FORMAT);
    CHECK(nl_report_open(temporary(), nl_str(""), &profile, &err) == NULL);
    unlink(temporary());
    CHECK(nl_report_open(temporary(), question, &profile, &err) == NULL);
    CHECK_INT(err.code, NL_IO);
    CHECK(profile == NULL);
    nl_profile_free(made);
    nl_report_free(report);
    nl_trace_free(trace);
}

/* nl_free it. */
static struct nl_host_roofs *roofs_of(size_t count, double flops_per_s)
{
    struct nl_host_roofs *roofs = nl_zalloc(sizeof *roofs + count * sizeof roofs->items[0]);
    snprintf(roofs->host, sizeof roofs->host, "node7");
    roofs->count = count;
    for (size_t i = 0; i < count; i++)
        roofs->items[i].flops_per_s = flops_per_s;
    return roofs;
}

static void tells_questions_apart(void)
{
    const struct {
        uint64_t trace;
        const char *plan;
        struct nl_analyze_options options;
        const struct nl_host_roofs *roofs;
    } cases[] = {
        {7, "analyze", {.limit = 0}, NULL},
        {8, "analyze", {.limit = 0}, NULL},
        {7, "info", {.limit = 0}, NULL},
        {7, "analyze", {.fold = true}, NULL},
        {7, "analyze", {.all = true}, NULL},
        {7, "analyze", {.section = "kernels"}, NULL},
        {7, "analyze", {.section = "findings"}, NULL},
        {7, "analyze", {.window = {.has_time = true, .start = 1, .end = 23}}, NULL},
        {7, "analyze", {.window = {.has_time = true, .start = 12, .end = 3}}, NULL},
        {7, "analyze", {.window = {.has_rank = true, .rank = 0}}, NULL},
        {7, "analyze", {.window = {.has_device = true, .device = 0}}, NULL},
        {7, "analyze", {.window = {.has_device = true, .device = 1}}, NULL},
        {.trace = 7, .plan = "analyze", .roofs = roofs_of(0, 0)},
        {.trace = 7, .plan = "analyze", .roofs = roofs_of(1, 3e12)},
        {.trace = 7, .plan = "analyze", .roofs = roofs_of(1, 4e12)},
        {.trace = 7, .plan = "analyze", .roofs = roofs_of(2, 3e12)},
    };
    struct nl_buf texts[CHECK_LENGTH(cases)];
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        nl_buf_init(&texts[i], 4096);
        nl_report_question(&texts[i], cases[i].trace, cases[i].plan, &cases[i].options,
                           cases[i].roofs);
        CHECK(!texts[i].overflow);
        for (size_t before = 0; before < i; before++)
            CHECK(strcmp(texts[before].ptr, texts[i].ptr) != 0);
    }
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        nl_buf_release(&texts[i]);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        nl_free((void *)(uintptr_t)cases[i].roofs);
}

static void refuses_damage(void)
{
    struct nl_trace *trace = profile_with_findings();
    struct nl_report *report = report_of(trace, 0);
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    size_t size;
    unsigned char *bytes = saved(report, profile, &size);
    nl_profile_free(profile);
    for (size_t at = 0; at < size; at += at < 200 ? 1 : 37) {
        bytes[at] ^= (unsigned char)(1u << at % 8);
        CHECK(!opens(bytes, size));
        bytes[at] ^= (unsigned char)(1u << at % 8);
    }
    for (size_t len = 0; len < size; len += len < 100 ? 1 : 97)
        CHECK(!opens(bytes, len));
    bytes = realloc(bytes, size + 1);
    bytes[size] = 0;
    CHECK(!opens(bytes, size + 1));
    CHECK(opens(bytes, size));
    CHECK(!opens((const unsigned char *)"NLTRACE\n", 8));
    free(bytes);
    nl_report_free(report);
    nl_trace_free(trace);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* With a right checksum: the bounds behind it must hold on their own. */
static void bears_forged_files(void)
{
    struct nl_trace *trace = profile_with_findings();
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    struct nl_report *report = report_of(trace, 0);
    struct nl_err err = {0};
    uint64_t random = 88172645463325252u;
    size_t size, opened = 0, refused = 0, rounds = (size_t)check_draws(800);
    unsigned char *good = saved(report, profile, &size), *bytes = malloc(size);
    for (size_t round = 0; round < rounds; round++) {
        memcpy(bytes, good, size);
        size_t len = round % 5 ? size : HEADER + next_random(&random) % (size - HEADER);
        for (size_t i = round % 4 + 1; i-- > 0;) {
            size_t at = HEADER + next_random(&random) % (size - HEADER);
            bytes[at] = round % 3 ? 0xff : (unsigned char)next_random(&random);
        }
        uint32_t crc = nl_crc32c(bytes + HEADER, len - HEADER);
        memcpy(bytes + 8, &crc, sizeof crc);
        struct nl_profile *facts;
        struct nl_report *read = read_bytes(bytes, len, &facts, &err);
        if (read)
            free(shown(facts, read));
        nl_profile_free(facts);
        *(read ? &opened : &refused) += 1;
        nl_report_free(read);
    }
    CHECK(opened > rounds / 8 && refused > rounds / 8); /* both ways were gone */
    free(good);
    free(bytes);
    nl_report_free(report);
    nl_profile_free(profile);
    nl_trace_free(trace);
}

CHECK_MAIN("reportfile", {"reads what was saved", reads_what_was_saved},
           {"refuses other questions", refuses_other_questions},
           {"tells questions apart", tells_questions_apart}, {"refuses damage", refuses_damage},
           {"bears forged files", bears_forged_files})
