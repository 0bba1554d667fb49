/*
 * files — the inputs a profile was read from.
 */
#include <stdio.h>

#include "tables/resultcells.h"
#include "base/mem.h"

#define COLUMNS(C)                                                                                 \
    C(file, NULL, TEXT)                                                                            \
    C(program, NULL, TEXT)                                                                         \
    C(format, NULL, TEXT)                                                                          \
    C(tool, NULL, TEXT)                                                                            \
    C(bytes, "size", BYTES)                                                                        \
    C(rank, NULL, INTEGER)                                                                         \
    C(clock, NULL, TEXT)                                                                           \
    C(epoch_ns, NULL, INTEGER)                                                                     \
    C(offset_ns, "offset", NS)
NL_COLUMNS(COLUMNS);

static bool is_recording(const struct nl_trace *trace, uint32_t row)
{
    return nl_str_is(nl_trace_name(trace, trace->source.format[row]), "recording");
}

/* Of a recording, which is of one process. */
static struct nl_cell program_of(struct nl_result *result, const struct nl_trace *trace,
                                 uint32_t row)
{
    for (uint32_t i = 0; is_recording(trace, row) && i < trace->process.rows; i++)
        if (trace->process.source[i] == row)
            return nl_cell_name(result, trace, trace->process.name[i]);
    return nl_cell_name(result, trace, NL_NO_NAME);
}

static void put_row(struct nl_result *result, const struct nl_trace *trace, uint32_t row)
{
    const struct nl_source_table *source = &trace->source;
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_file] = nl_cell_name(result, trace, source->file[row]);
    cells[AT_program] = program_of(result, trace, row);
    cells[AT_format] = nl_cell_name(result, trace, source->format[row]);
    cells[AT_tool] = nl_cell_name(result, trace, source->tool[row]);
    cells[AT_bytes] = nl_cell_count(source->bytes[row]);
    cells[AT_rank] = nl_cell_i64(source->rank[row]);
    cells[AT_clock] = nl_cell_name(result, trace, source->clock[row]);
    cells[AT_epoch_ns] = nl_cell_i64(source->epoch_ns[row]);
    cells[AT_offset_ns] = nl_cell_i64(source->offset_ns[row]);
}

/* A line for all processes of a run that recorded nothing: a script starts hundreds of them. */
static void put_empty(struct nl_result *result, const struct nl_trace *trace, const bool *empty)
{
    uint64_t count = 0, bytes = 0;
    uint32_t last = 0;
    char text[64];
    for (uint32_t row = 0; row < trace->source.rows; row++) {
        if (!empty[row])
            continue;
        count++;
        bytes += trace->source.bytes[row];
        last = row;
    }
    if (count == 1)
        put_row(result, trace, last);
    if (count < 2)
        return;
    struct nl_cell *cells = nl_result_row(result);
    (void)snprintf(text, sizeof text, "%llu processes without events", (unsigned long long)count);
    cells[AT_file] = nl_cell_text(result, nl_str(text));
    cells[AT_format] = nl_cell_name(result, trace, trace->source.format[last]);
    cells[AT_bytes] = nl_cell_count(bytes);
}

/* Processes that recorded nothing but scheduling, and raised no warnings. */
static bool *find_empty(const struct nl_trace *trace)
{
    bool *empty = nl_zalloc(trace->source.rows + (size_t)1);
    for (uint32_t row = 0; row < trace->source.rows; row++)
        empty[row] = is_recording(trace, row) && trace->source.bytes[row] != NL_NULL_U64;
    for (uint32_t row = 0; row < trace->lane.rows; row++) {
        uint32_t process = trace->lane.process[row];
        uint32_t source = process < trace->process.rows ? trace->process.source[process] : 0;
        if (process < trace->process.rows && source < trace->source.rows &&
            trace->lane.kind[row] != NL_LANE_SCHED)
            empty[source] = false;
    }
    for (uint32_t row = 0; row < trace->coverage.rows; row++)
        if (trace->coverage.source[row] < trace->source.rows)
            empty[trace->coverage.source[row]] = false;
    return empty;
}

static struct nl_result *files_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("files", NULL, columns);
    bool *empty = find_empty(trace);
    for (uint32_t row = 0; row < trace->source.rows; row++)
        if (!empty[row])
            put_row(result, trace, row);
    put_empty(result, trace, empty);
    nl_free(empty);
    return result;
}

const struct nl_analysis nl_analysis_files = {
    .name = "files",
    .key = "files",
    .title = "Files",
    .run = files_run,
    .doc = "Every input: format, the program that wrote it, size, rank, clock, UTC time of its "
           "time 0 (ns since 1970), and the offset from its own times to those of the profile; for "
           "recordings also the recorded program. Processes of a run that recorded nothing share "
           "the last line; the table sources lists them individually.",
};
