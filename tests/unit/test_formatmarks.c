/* Formats that are recognised by words: each word counts, too few are not enough, and what
 * is of no format scores 0. */
#include "corpus.h"
#include "ingest/formats.h"

static int score_of(const struct nl_format *format, const char *head, size_t len, const char **why)
{
    struct nl_input input = {.path = "x",
                             .where = "x",
                             .name = "x",
                             .encoding = "plain",
                             .head = (const unsigned char *)head,
                             .head_len = len,
                             .bytes = len,
                             .rank = NL_NULL_I64};
    *why = NULL;
    return format->sniff(&input, why);
}

/* `begin`, then `count` of the marks from the i-th on, round the end. */
static int score_with(const struct nl_format *format, const char *begin, const char *const *marks,
                      size_t of, size_t i, size_t count, const char **why)
{
    struct nl_buf text;
    nl_buf_init(&text, 65536);
    nl_buf_text(&text, begin);
    for (size_t k = 0; k < count; k++)
        nl_buf_format(&text, "%s\n", marks[(i + k) % of]);
    int score = score_of(format, text.ptr, text.len, why);
    nl_buf_release(&text);
    return score;
}

/* One input per mark that it is needed in: as many as are enough, and the same without it. */
static void each_counts(const struct nl_format *format, const char *begin, const char *const *marks,
                        size_t of, size_t enough)
{
    const char *why;
    for (size_t i = 0; i < of; i++) {
        check_case(marks[i]);
        CHECK(score_with(format, begin, marks, of, i, enough, &why) > 50);
        CHECK(why == NULL);
        CHECK_INT(score_with(format, begin, marks, of, i + 1, enough - 1, &why), 0);
        CHECK(why != NULL);
    }
    check_case(NULL);
}

static void memory_snapshots(void)
{
    static const char *const marks[] = {"segments",     "device_traces",  "allocated_size",
                                        "segment_type", "free_completed", "requested_size",
                                        "active_size",  "blocks"};
    const char *why;
    each_counts(&nl_format_torchmem, "\x80\x04", marks, CHECK_LENGTH(marks), 4);
    for (char version = 1; version < 8; version++) { /* of pickle; 2 to 5 begin so */
        const char begin[] = {'\x80', version, 0};
        int score = score_with(&nl_format_torchmem, begin, marks, CHECK_LENGTH(marks), 0, 4, &why);
        CHECK((score > 50) == (version >= 2 && version <= 5));
    }
    CHECK_INT(score_with(&nl_format_torchmem, "{\"", marks, CHECK_LENGTH(marks), 0, 8, &why), 0);
    CHECK(why == NULL);
}

static void flight_records(void)
{
    static const char *const marks[] = {"pg_config",       "pg_status",         "nccl_version",
                                        "profiling_name",  "collective_seq_id", "time_created_ns",
                                        "comm_lib_version"};
    each_counts(&nl_format_flightrec, "\x80\x04", marks, CHECK_LENGTH(marks), 2);
}

/* None of these is of any format: a score other than 0 is a near miss, which has a reason. */
static void nothing_of_any_format(void)
{
    static const struct {
        const char *text;
        size_t len;
    } others[] = {{"", 0},
                  {"x", 1},
                  {"{", 1},
                  {"{}", 2},
                  {"[]", 2},
                  {"{\"a\": 1}", 8},
                  {"[1, 2, 3]", 9},
                  {"\0\0\0\0\0\0\0\0", 8},
                  {"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
                  {"\x80\x04\x95\0\0\0\0\0\0\0\0}.", 13},
                  {"<html></html>\n", 14},
                  {"#!/bin/sh\necho\n", 15},
                  {"a,b,c\n1,2,3\n", 12},
                  {"\x7f"
                   "ELF\2\1\1\0",
                   8},
                  {"a text of no format\n", 20}};
    for (size_t f = 0; nl_formats[f]; f++)
        for (size_t i = 0; i < CHECK_LENGTH(others); i++) {
            const char *why;
            int score = score_of(nl_formats[f], others[i].text, others[i].len, &why);
            check_case(nl_formats[f]->name);
            CHECK(score == 0 || (score > 0 && score <= NL_NEAR_MISS && why));
        }
}

static void execution_traces(void)
{
    static const struct {
        const char *text;
        int score;
    } cases[] = {{"{\"schema\": \"1.1\", \"nodes\": []}", 93},
                 {"\xef\xbb\xbf \n{\"nodes\": [], \"schema\": 1}", 93},
                 {"{\"workload_graph\": []}", 93},
                 {"{\"schema\": \"1.1\"}", 0},
                 {"{\"nodes\": []}", 0},
                 {"{\"schema\": 1, \"nodes\": [], \"traceEvents\": []}", 0},
                 {"[\"schema\", \"nodes\", \"workload_graph\"]", 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        const char *why;
        check_case(cases[i].text);
        CHECK_INT(score_of(&nl_format_torchet, cases[i].text, strlen(cases[i].text), &why),
                  cases[i].score);
    }
}

/* Dumps that are JSON say of entries what they are: by a name of a collective, or by the state of
 * groups and the entries together. */
static void flight_records_as_json(void)
{
#define BOTH "\"pg_config\": {}, \"nccl_version\": \"2\""
    static const struct {
        const char *text;
        int score;
    } cases[] = {{"{" BOTH ", \"pg_status\": {}, \"entries\": []}", 95},
                 {" \n{" BOTH ", \"profiling_name\": 1}", 95},
                 {"{" BOTH ", \"pg_status\": {}}", 0},
                 {"{" BOTH ", \"entries\": []}", 0},
                 {"{" BOTH "}", 0},
                 {"[" BOTH ", \"profiling_name\": 1}", 0},
                 {"{" BOTH ", \"profiling_name\": 1, \"traceEvents\": []}", 0},
                 {"{" BOTH ", \"profiling_name\": 1, \"schemaVersion\": 1}", 0},
                 {"{\"profiling_name\": 1}", 0},
                 {"{\"profiling_name\": 1, \"pg_config\": 1}", 95}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        const char *why;
        check_case(cases[i].text);
        CHECK_INT(score_of(&nl_format_flightrec, cases[i].text, strlen(cases[i].text), &why),
                  cases[i].score);
    }
}

/* The head of ncu's table begins a line, at the start, behind a byte order
 * mark or below messages. */
static void pages_of_ncu(void)
{
#define HEAD "\"ID\",\"Process ID\",\"Process Name\"\n"
    static const struct {
        const char *text;
        int score;
    } cases[] = {{HEAD, 92},
                 {"ID,Process ID,x\n", 92},
                 {"\n" HEAD, 92},
                 {"a\n" HEAD, 92},
                 {"\xef\xbb\xbf" HEAD, 92},
                 {"\xef\xbb\xbfID,Process ID,x\n", 92},
                 {"x" HEAD, 0},
                 {"abc" HEAD, 0},
                 {"\xef\xbb\xbf " HEAD, 0},
                 {"==PROF== Connected\n", 60},
                 {"==PROF== Connected\n" HEAD, 92},
                 {" ==PROF== Connected\n", 0},
                 {"Launch Settings\n", 0},
                 {"\"ID\",\"Process\",\n", 0}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        const char *why;
        check_case(cases[i].text);
        CHECK_INT(score_of(&nl_format_ncucsv, cases[i].text, strlen(cases[i].text), &why),
                  cases[i].score);
        CHECK((why != NULL) == nl_str_starts(nl_str(cases[i].text), "Launch Settings"));
    }
}

/* Words of PyTorch's profiler; any word of trace events; keys beside the list of events, where that
 * comes behind all that is looked at. */
static void chrome_traces(void)
{
    static const char *const sure[] = {
        "\"cpu_op\"",          "\"user_annotation\"", "\"cuda_runtime\"", "\"python_function\"",
        "\"gpu_memcpy\"",      "\"schemaVersion\"",   "\"External id\"",  "\"Record function id\"",
        "\"Trace iteration\"", "\"deviceProperties\""};
    static const char *const beside[] = {"\"displayTimeUnit\"",     "\"stackFrames\"",
                                         "\"otherData\"",           "\"systemTraceEvents\"",
                                         "\"baseTimeNanoseconds\"", "\"distributedInfo\""};
    static const char *const events[] = {"\"traceEvents\"", "\"ph\""};
    const struct nl_format *format = &nl_format_kineto;
    const char *why;
    for (size_t i = 0; i < CHECK_LENGTH(sure); i++)
        CHECK_INT(score_with(format, "{", &sure[i], 1, 0, 1, &why), 90);
    for (size_t i = 0; i < CHECK_LENGTH(events); i++) {
        CHECK_INT(score_with(format, "{", &events[i], 1, 0, 1, &why), 70);
        CHECK_INT(score_with(format, "[", &events[i], 1, 0, 1, &why), 70);
        CHECK_INT(score_with(format, "(", &events[i], 1, 0, 1, &why), 0);
    }
    for (size_t i = 0; i < CHECK_LENGTH(beside); i++) {
        char *head = nl_alloc(NL_SNIFF_BYTES);
        memset(head, ' ', NL_SNIFF_BYTES);
        head[0] = '{';
        memcpy(head + 9, beside[i], strlen(beside[i]));
        check_case(beside[i]);
        CHECK_INT(score_of(format, head, NL_SNIFF_BYTES, &why), 65);
        CHECK(why == NULL);
        CHECK(score_of(format, head, NL_SNIFF_BYTES - 1, &why) < 50); /* the whole file */
        CHECK(why != NULL);
        head[0] = '[';
        CHECK(score_of(format, head, NL_SNIFF_BYTES, &why) < 50);
        nl_free(head);
    }
    check_case(NULL);
}

CHECK_MAIN("format marks", {"Chrome traces", chrome_traces},
           {"flight records as JSON", flight_records_as_json}, {"pages of ncu", pages_of_ncu},
           {"memory snapshots", memory_snapshots}, {"flight records", flight_records},
           {"execution traces", execution_traces}, {"nothing of any format", nothing_of_any_format})
