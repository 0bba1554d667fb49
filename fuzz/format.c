/*
 * Any bytes as a file of one format: what its sniff says is within 0..100, loading fails only
 * with a message; what was loaded can be finished, passes the checks of trace files and answers
 * what is asked of it. Which format that is, the name says under which the program runs:
 * fuzz_NAME, as in src/ingest/formats.def.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers.h"
#include "derive/derive.h"
#include "ingest/formats.h"
#include "store/tracecheck.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void load(const struct nl_format *format, const char *path, const uint8_t *data, size_t size)
{
    struct nl_err err;
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30};
    struct nl_input input = {.path = path,
                             .place = "12_fuzz",
                             .name = "12_fuzz",
                             .encoding = "plain",
                             .head = data,
                             .head_len = size < NL_SNIFF_BYTES ? size : NL_SNIFF_BYTES,
                             .bytes = size,
                             .rank = NL_NULL_I64};
    const char *why = NULL;
    int score = format->sniff(&input, &why);
    if (score < 0 || score > 100)
        abort();
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, input.name, format->name);
    struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
    if (nl_reading_load(&reading, format, &err)) {
        struct nl_trace *trace = nl_builder_finish(builder, &err);
        if (trace) {
            char what[NL_TRACECHECK_TEXT];
            if (!nl_tracecheck(trace, 1, what)) {
                fprintf(stderr, "%s\n", what);
                abort();
            }
            answers_ask(trace, answers_variant(data, size));
            nl_trace_free(trace);
        }
        return;
    }
    if (err.code == NL_OK || !err.text[0])
        abort(); /* refused without a reason */
    nl_builder_free(builder);
}

static const struct nl_format *format_of_name(void)
{
    static const struct {
        const char *name;
        const struct nl_format *format;
    } formats[] = {
#define NL_FORMAT_ROW(name) {"fuzz_" #name, &nl_format_##name},
#include "ingest/formats.def"
#undef NL_FORMAT_ROW
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(program_invocation_short_name, formats[i].name))
            return formats[i].format;
    fprintf(stderr, "%s: no format has that name\n", program_invocation_short_name);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nl_format *format;
    char path[64];
    if (!format)
        format = format_of_name();
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    if (file < 0 || write(file, data, size) != (ssize_t)size)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    load(format, path, data, size);
    close(file);
    return 0;
}
