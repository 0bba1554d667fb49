/*
 * Text traces of roctracer: a file per kind of record, which together are one recording. Calls are
 * read before what they launched, because names of kernels and sizes of copies stand there only in
 * most releases. Correlation ids are those of the lines; calls of releases that wrote none are
 * numbered from 1 as rocprof did when it made its tables.
 */
#include "ingest/amd/roctext.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "ingest/ingest.h"
#include "ingest/lib/gpurows.h"
#include "parse/textlines.h"
#include "store/copykind.h"

/* An end looks through them: more at once is no program's. */
#define MAX_OPEN_RANGES 4096u

struct launch {
    uint32_t kernel; /* name, 0 = none */
    int64_t bytes;
};

/* A range that was begun and not ended yet. */
struct open_range {
    int64_t pid, tid, ts, id; /* id: NL_NULL_I64 of pushed ones */
    uint32_t name;
};

struct roctext {
    struct gpurows rows;
    struct gpurows_map calls; /* process and correlation → launch */
    struct launch *launches;
    size_t launch_count, launch_cap;
    struct open_range *open;
    size_t open_count, open_cap;
    int64_t only_pid; /* of all lines so far; unknown: none or several */
    bool several_pids;
    bool hip_copies; /* copies of HIP were read: HSA's are the same ones */
    uint32_t roctx;
    /* of the file at hand */
    uint32_t source;
    int64_t file_pid, calls_of_file;
    int64_t good, bad, unnamed, unmatched, told_twice;
};

static uint64_t call_key(int64_t pid, int64_t correlation)
{
    return (uint64_t)correlation ^ (uint64_t)(pid == NL_NULL_I64 ? 0 : pid) << 40;
}

static void meet_pid(struct roctext *load, int64_t pid)
{
    load->several_pids |= load->only_pid != NL_NULL_I64 && load->only_pid != pid;
    load->only_pid = load->several_pids ? NL_NULL_I64 : pid;
}

/* The process of a line that names none. */
static int64_t pid_of(const struct roctext *load, int64_t pid)
{
    if (pid != NL_NULL_I64)
        return pid;
    return load->file_pid != NL_NULL_I64 ? load->file_pid : load->only_pid;
}

/* ---- Calls ---- */

static void note_launch(struct roctext *load, const struct roctext_line *line, int64_t correlation)
{
    struct nl_str kernel = roctext_argument(line->arguments, "kernel");
    struct nl_str size = roctext_argument(line->arguments, "sizeBytes");
    struct launch launch = {0, NL_NULL_I64};
    if (size.len && !nl_parse_i64(size, &launch.bytes))
        launch.bytes = NL_NULL_I64;
    if (kernel.len)
        launch.kernel = nl_stage_name(load->rows.stage, gpurows_kernel_name(kernel));
    if (!launch.kernel && launch.bytes < 0)
        return;
    nl_grow(&load->launches, &load->launch_cap, load->launch_count + 1);
    (void)gpurows_map_put(&load->calls, call_key(line->first, correlation), load->launch_count,
                          NULL);
    load->launches[load->launch_count++] = launch;
}

static void call_line(struct roctext *load, const struct roctext_line *line)
{
    struct nl_slice_row slice = nl_slice_row();
    int64_t correlation = line->correlation;
    load->calls_of_file++;
    if (correlation == NL_NULL_I64)
        correlation = load->calls_of_file;
    if (line->first != load->only_pid)
        meet_pid(load, line->first);
    bool hip = !nl_str_starts(line->name, "hsa") && !nl_str_starts(line->name, "kfd");
    if (hip)
        note_launch(load, line, correlation);
    if (!gpurows_times(&load->rows, line->begin, line->end, &slice))
        return;
    slice.kind = NL_KIND_API;
    slice.name = nl_stage_name(load->rows.stage, line->name);
    slice.lane = gpurows_thread(&load->rows, NL_LANE_THREAD, line->first, line->second, 0);
    struct nl_api_row api = nl_api_row();
    api.slice = nl_stage_slice(load->rows.stage, &slice);
    /* HSA numbers its calls on its own: only HIP's are those of device work. */
    api.correlation = hip && correlation > 0 ? (uint64_t)correlation : NL_NULL_U64;
    nl_stage_api(load->rows.stage, &api);
}

/* ---- Device work ---- */

static enum nl_kind activity_kind(struct nl_str name)
{
    if (nl_str_contains(name, "::") || nl_str_contains(name, "<"))
        return NL_KIND_KERNEL;
    if (nl_str_is(name, "Marker") || nl_str_is(name, "MarkerDispatch") || nl_str_is(name, "Task") ||
        nl_str_is(name, "Barrier") || nl_str_is(name, "hcCommandMarker"))
        return NL_KIND_DEVICE_OTHER;
    if (nl_str_starts(name, "Fill") || nl_str_starts(name, "hcMemset"))
        return NL_KIND_MEMSET;
    if (nl_str_starts(name, "Copy") || nl_str_starts(name, "hcMemcpy"))
        return NL_KIND_MEMCPY;
    return NL_KIND_KERNEL;
}

static bool is_no_name(struct nl_str name)
{
    return nl_str_is(name, "KernelExecution") || nl_str_is(name, "hcCommandKernel");
}

static void side_row(struct roctext *load, const struct nl_slice_row *slice, struct nl_str name,
                     uint64_t correlation, const struct launch *launch)
{
    struct nl_stage *stage = load->rows.stage;
    uint32_t row = nl_stage_slice(stage, slice);
    if (slice->kind == NL_KIND_KERNEL) {
        struct nl_kernel_row kernel = nl_kernel_row();
        kernel.slice = row;
        kernel.correlation = correlation;
        nl_stage_kernel(stage, &kernel);
    } else if (slice->kind == NL_KIND_MEMCPY) {
        struct nl_copy_row copy = nl_copy_row();
        copy.slice = row;
        copy.correlation = correlation;
        copy.kind = (uint8_t)nl_copykind_of_text(name);
        if (launch && launch->bytes >= 0)
            copy.bytes = (uint64_t)launch->bytes;
        nl_stage_copy(stage, &copy);
    } else if (slice->kind == NL_KIND_MEMSET) {
        struct nl_memset_row fill = nl_memset_row();
        fill.slice = row;
        fill.correlation = correlation;
        if (launch && launch->bytes >= 0)
            fill.bytes = (uint64_t)launch->bytes;
        nl_stage_memset(stage, &fill);
    }
}

/* HSA's copies have no device and no kind, and are HIP's copies once more where those were read. */
static void copy_line(struct roctext *load, const struct roctext_line *line)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_str name = nl_str("async-copy");
    if (load->hip_copies) {
        load->told_twice++;
        return;
    }
    if (!gpurows_times(&load->rows, line->begin, line->end, &slice))
        return;
    slice.kind = NL_KIND_MEMCPY;
    slice.name = nl_stage_name(load->rows.stage, name);
    slice.lane =
        gpurows_stream(&load->rows, pid_of(load, line->pid), NL_NULL_I64, NL_NULL_I64, NL_NULL_I64);
    side_row(load, &slice, name, NL_NULL_U64, NULL);
}

static void work_line(struct roctext *load, const struct roctext_line *line)
{
    struct nl_slice_row slice = nl_slice_row();
    int64_t pid = pid_of(load, line->pid);
    struct nl_str name = gpurows_kernel_name(line->name);
    if (!gpurows_times(&load->rows, line->begin, line->end, &slice))
        return;
    const uint64_t *found = gpurows_map_find(&load->calls, call_key(pid, line->correlation));
    const struct launch *launch = found ? &load->launches[*found] : NULL;
    slice.kind = (uint8_t)activity_kind(name);
    load->hip_copies |= slice.kind == NL_KIND_MEMCPY;
    bool told = slice.kind == NL_KIND_KERNEL && launch && launch->kernel;
    slice.name = told ? launch->kernel : nl_stage_name(load->rows.stage, name);
    load->unnamed += slice.kind == NL_KIND_KERNEL && !told && is_no_name(name);
    slice.lane = gpurows_stream(&load->rows, pid, line->first, NL_NULL_I64, line->second);
    side_row(load, &slice, name, line->correlation > 0 ? (uint64_t)line->correlation : NL_NULL_U64,
             launch);
}

/* ---- Marks and ranges ---- */

static void range_row(struct roctext *load, const struct open_range *range, int64_t end,
                      enum nl_rangestyle style)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_nvtx_row nvtx = nl_nvtx_row();
    if (!gpurows_times(&load->rows, range->ts, end, &slice))
        return;
    slice.kind = NL_KIND_NVTX;
    slice.name = range->name;
    slice.flags |= style == NL_RANGE_MARK ? NL_SLICE_INSTANT : 0;
    slice.lane = gpurows_thread(&load->rows, NL_LANE_NVTX, range->pid, range->tid, load->roctx);
    nvtx.domain = load->roctx;
    nvtx.style = (uint8_t)style;
    nvtx.slice = nl_stage_slice(load->rows.stage, &slice);
    nl_stage_nvtx(load->rows.stage, &nvtx);
}

static void close_range(struct roctext *load, const struct roctext_line *line)
{
    bool stopped = line->operation == ROCTEXT_STOPPED;
    for (size_t i = load->open_count; i-- > 0;) {
        struct open_range *range = &load->open[i];
        bool this_one = stopped ? range->id == line->id && range->pid == line->first
                                : range->id == NL_NULL_I64 && range->pid == line->first &&
                                      range->tid == line->second;
        if (!this_one)
            continue;
        range_row(load, range, line->begin, stopped ? NL_RANGE_START_END : NL_RANGE_PUSH_POP);
        memmove(range, range + 1, (load->open_count - i - 1) * sizeof *range);
        load->open_count--;
        return;
    }
    load->unmatched++;
}

static void mark_line(struct roctext *load, const struct roctext_line *line)
{
    if (line->operation == ROCTEXT_POPPED || line->operation == ROCTEXT_STOPPED) {
        close_range(load, line);
        return;
    }
    struct open_range range = {line->first, line->second, line->begin,
                               line->operation == ROCTEXT_STARTED ? line->id : NL_NULL_I64,
                               nl_stage_name(load->rows.stage, line->name)};
    if (line->operation == ROCTEXT_MARKED) {
        range_row(load, &range, line->begin, NL_RANGE_MARK);
    } else if (load->open_count < MAX_OPEN_RANGES) {
        nl_grow(&load->open, &load->open_cap, load->open_count + 1);
        load->open[load->open_count++] = range;
    } else {
        load->unmatched++;
    }
}

/* What is left open ends with the trace. */
static void close_all(struct roctext *load)
{
    for (size_t i = 0; i < load->open_count; i++)
        range_row(load, &load->open[i], NL_NULL_I64,
                  load->open[i].id == NL_NULL_I64 ? NL_RANGE_PUSH_POP : NL_RANGE_START_END);
    load->open_count = 0;
}

/* ---- Files ---- */

/* In the order of loading. */
static const char *const endings[] = {
    "hip_api_trace", "hsa_api_trace", "kfd_api_trace",
    "roctx_trace",   "hcc_ops_trace", "async_copy_trace",
};

static size_t without(const char *path, size_t len, const char *ending)
{
    size_t cut = strlen(ending);
    return len >= cut && memcmp(path + len - cut, ending, cut) == 0 ? len - cut : len;
}

static size_t recording(const struct nl_input *input, unsigned *place)
{
    const char *path = input->where;
    size_t len = strlen(path);
    len = without(path, len, ".gz");
    len = without(path, len, ".zst");
    len = without(path, len, ".txt");
    for (unsigned i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t stem = without(path, len, endings[i]);
        if (stem < len && stem > 0 && (path[stem - 1] == '_' || path[stem - 1] == '/')) {
            *place = i;
            return stem;
        }
    }
    return 0;
}

static void recording_end(void *context)
{
    struct roctext *load = context;
    close_all(load);
    gpurows_end(&load->rows);
    gpurows_map_release(&load->calls);
    nl_free(load->launches);
    nl_free(load->open);
    nl_free(load);
}

/* "4242_hip_api_trace.txt" → 4242. */
static int64_t pid_in_name(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    int64_t pid = NL_NULL_I64;
    if (digits > 0 && digits < 11 && name[digits] == '_' &&
        !nl_parse_i64((struct nl_str){name, digits}, &pid))
        return NL_NULL_I64;
    return pid;
}

static struct roctext *begin_load(struct nl_builder *builder, uint32_t source, struct nl_job *job)
{
    struct roctext *load = nl_zalloc(sizeof *load);
    gpurows_begin(&load->rows, builder, source, job);
    nl_builder_correlation_per_process(builder, source);
    load->only_pid = NL_NULL_I64;
    load->roctx = nl_builder_name(builder, nl_str("roctx"));
    return load;
}

static void one_line(struct roctext *load, struct nl_str text)
{
    struct roctext_line line;
    if (!text.len)
        return;
    roctext_parse(&line, text);
    load->good += line.kind != ROCTEXT_NONE;
    if (line.kind == ROCTEXT_NONE)
        load->bad++;
    else if (line.kind == ROCTEXT_CALL)
        call_line(load, &line);
    else if (line.kind == ROCTEXT_MARK)
        mark_line(load, &line);
    else if (line.kind == ROCTEXT_COPY)
        copy_line(load, &line);
    else
        work_line(load, &line);
}

static void report_count(struct roctext *load, const char *item, int64_t count, const char *detail)
{
    if (count > 0)
        nl_builder_coverage(load->rows.builder, load->source, item, count, detail);
}

static bool read_lines(struct roctext *load, struct nl_stream *stream, struct nl_err *err)
{
    struct textlines lines;
    struct nl_str text;
    uint64_t count = 0;
    textlines_init(&lines, stream);
    while (textlines_next(&lines, &text, err)) {
        if ((count++ & 4095) == 0 && gpurows_stop(&load->rows))
            break;
        one_line(load, text);
    }
    bool failed = lines.failed;
    report_count(load, "skipped: line over 4 MiB", (int64_t)lines.cut, NULL);
    textlines_release(&lines);
    report_count(load, "skipped: damaged row", load->bad, "no line of a trace of roctracer");
    report_count(load, "not recorded: names of kernels", load->unnamed,
                 "give hip_api_trace.txt of the same run beside it");
    report_count(load, "skipped: ends of ranges that were never begun", load->unmatched, NULL);
    report_count(load, "left out: HSA's copies", load->told_twice,
                 "hcc_ops_trace.txt of the same run has them as HIP's");
    if (failed)
        return false;
    if (nl_job_cancelled(load->rows.job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return load->good > 0 || nl_fail(err, NL_FORMAT, "no line of it is one that roctracer writes");
}

static bool roctext_load(struct nl_reading *reading, struct nl_err *err)
{
    struct roctext *self = reading->input->recording ? *reading->input->recording : NULL;
    if (!self)
        self = begin_load(reading->builder, reading->source, reading->job);
    if (reading->input->recording)
        *reading->input->recording = self;
    self->source = reading->source;
    self->file_pid = pid_in_name(reading->input->name);
    self->calls_of_file = self->good = self->bad = self->unnamed = self->unmatched = 0;
    self->told_twice = 0;
    nl_builder_clock(reading->builder, reading->source, "boot", NL_NULL_I64);
    nl_builder_tool(reading->builder, reading->source, nl_str("roctracer"));
    bool done = read_lines(self, reading->stream, err);
    if (!reading->input->recording)
        recording_end(self);
    return done;
}

/* Of the first lines, the last of which may be cut, the first and most must be such. */
static int roctext_sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len}, text;
    struct roctext_line line;
    int good = 0, bad = 0;
    (void)why;
    while (good + bad < 8 && textlines_split(&head, &text)) {
        if (!text.len)
            continue;
        roctext_parse(&line, text);
        if (line.kind != ROCTEXT_NONE)
            good++;
        else if (!good || ++bad > good)
            return 0;
    }
    return good > bad ? 80 : 0;
}

const struct nl_format nl_format_roctext = {.name = "roctext",
                                            .title = "roctracer text traces (rocprof --hip-trace)",
                                            .sniff = roctext_sniff,
                                            .load = roctext_load,
                                            .feed = NL_FEED_STREAM,
                                            .doc = "formats/rocprof.md",
                                            .recording = recording,
                                            .recording_end = recording_end};
