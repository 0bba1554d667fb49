/*
 * Chrome trace-event JSON and PyTorch's Kineto dialect of it: recognition, and the top level
 * of a file (an object with traceEvents, a bare array, closed or not, one event per line,
 * several documents one after the other) around its lists of events. The files of the
 * reader, from bytes to rows:
 *
 *   chrome_feed                  the input, as a window of bytes
 *   chrome_turns                 lists of events → blocks of whole events, read by several threads
 *   chrome_scan                  where strings, containers and events end (SIMD)
 *   chrome_work                  a block → its events; what all parts share
 *   chrome_repair                a damaged event → clean JSON
 *   chrome_event, chrome_value   an event → its fields and known arguments (chrome_args.def); numbers, times
 *   chrome_steps, chrome_guess   text that repeats from event to event, recognised instead of parsed
 *   chrome_words, chrome_texts   sets of known keys; texts that were seen before
 *   chrome_names                 texts → name ids
 *   chrome_lanes                 pids and tids → lanes
 *   chrome_phase                 an event → what its phase asks for
 *   chrome_rows, chrome_device   complete events (X) by category → rows of the host, and of devices
 *   chrome_nsys, chrome_rpd      the dialects of nsys2json and of rocmProfileData
 *   chrome_memdump               memory dumps (v)
 *   chrome_stacks, chrome_v8     call stacks and samples; V8's profiles (v8profile.c: as files of their own)
 *   chrome_pair                  after all blocks: begins with ends, starts of flows with their ends
 *   chrome_head                  top-level metadata
 *   chrome_report                names of processes and threads; coverage (chrome_notes.def)
 */
#include <stdio.h>

#include "base/stream.h"
#include "ingest/ingest.h"
#include "base/mem.h"
#include "ingest/chrome/chrome_feed.h"
#include "ingest/chrome/chrome_head.h"
#include "ingest/chrome/chrome_rows.h"

#define MAX_THREADS 16
#define MAX_CAPTURE ((size_t)16 << 20)  /* of a top-level value that is read */
#define EPOCH_FIRST 1000000000000000000 /* 2001 in ns: times above it count from 1970 */
#define EPOCH_LAST  4102444800000000000 /* 2100 */

struct reader {
    struct chrome_load load;
    struct chrome_feed feed;
    struct chrome_head head;
    struct chrome_worker *workers;
    unsigned count; /* of workers */
    uint64_t unit;  /* number of the next unit of rows */
    unsigned documents, lists;
    bool unclosed; /* the last list of events */
    bool bare;     /* which stands in no object */
    struct nl_err *err;
};

static bool more(struct reader *r)
{
    if (nl_job_cancelled(r->load.job))
        return nl_fail(r->err, NL_INTERRUPTED, "stopped on request");
    return chrome_feed_more(&r->feed, r->err);
}

static void note_here(struct reader *r, enum chrome_note note)
{
    struct chrome_worker *worker = &r->workers[0];
    worker->offset = r->feed.offset;
    chrome_note(worker, note);
}

/* ---- Lists of events. ---- */

/* The window is at the first event of a list. */
static bool read_list(struct reader *r, bool lines)
{
    while (!r->feed.ended && (size_t)(r->feed.end - r->feed.at) < CHROME_FIRST_WINDOW / 2)
        if (!more(r))
            return false;
    r->load.lines = lines;
    if (r->lists++ == 0)
        chrome_peek(&r->workers[0], r->feed.at, r->feed.end);
    if (!chrome_read_events(&r->load, &r->feed, r->workers, r->count, lines, &r->unit, r->err))
        return false;
    if (r->feed.at < r->feed.end)
        chrome_feed_use(&r->feed, r->feed.at + 1); /* the bracket */
    else
        r->unclosed = !lines;
    return true;
}

/* ---- Values that are no events. ---- */

/* A value being skipped piece by piece. */
struct skip {
    struct chrome_walk walk; /* of a container */
    char first;
    bool escaped, closed;
};

/* Takes in [p, end); where the value ended, or `end`. */
static const char *skip_piece(struct skip *skip, const char *p, const char *end)
{
    if (skip->first == '{' || skip->first == '[') {
        p = chrome_walk_list(&skip->walk, p, end);
        skip->closed = p != NULL;
        return skip->closed ? p + 1 : end;
    }
    if (skip->first == '"') {
        for (; p < end && !skip->closed; p++) {
            skip->closed = !skip->escaped && *p == '"';
            skip->escaped = !skip->escaped && *p == '\\';
        }
        return p;
    }
    while (p < end && *p != ',' && *p != '}' && *p != ']')
        p++;
    skip->closed = p < end;
    return p;
}

/* Skips the value at the window's start, of any size. */
static bool skip_value(struct reader *r)
{
    struct skip skip = {.first = *r->feed.at};
    if (strchr("{[\"", skip.first))
        chrome_feed_use(&r->feed, r->feed.at + 1);
    for (;;) {
        chrome_feed_use(&r->feed, skip_piece(&skip, r->feed.at, r->feed.end));
        if (skip.closed || r->feed.ended)
            return true;
        if (!more(r))
            return false;
    }
}

/* Parses the value at the window's start; *whole is false when it is damaged or too large. */
static bool capture_value(struct reader *r, struct chrome_value *value, bool *whole)
{
    for (;;) {
        const char *p = r->feed.at;
        enum chrome_status status = chrome_parse_value(value, &p, r->feed.end);
        size_t have = (size_t)(r->feed.end - r->feed.at);
        *whole = status == CHROME_OK;
        if (*whole || status == CHROME_BAD || r->feed.ended || have > MAX_CAPTURE) {
            if (*whole)
                chrome_feed_use(&r->feed, p);
            return true;
        }
        if (!more(r))
            return false;
    }
}

/* A key at the window's start, with its colon; copied to `key`. *found is
 * false when there is none. */
static bool read_key(struct reader *r, char *key, size_t room, struct nl_str *text, bool *found)
{
    struct chrome_value value;
    char c;
    *found = false;
    if (!capture_value(r, &value, found))
        return false;
    if (!*found || value.type != CHROME_STRING)
        return true;
    size_t len = value.len < room ? value.len : room;
    memcpy(key, value.ptr, len);
    *text = (struct nl_str){key, len};
    if (!chrome_feed_peek(&r->feed, &c, r->err))
        return false;
    *found = c == ':';
    if (*found)
        chrome_feed_use(&r->feed, r->feed.at + 1);
    return chrome_feed_peek(&r->feed, &c, r->err);
}

/* ---- Call stacks. ---- */

/* On to the next item or member, over commas; false at the end of the list or object. */
static bool next_part(struct reader *r, char close, bool *found)
{
    char c;
    *found = false;
    if (nl_job_cancelled(r->load.job))
        return nl_fail(r->err, NL_INTERRUPTED, "stopped on request");
    for (;;) {
        if (!chrome_feed_peek(&r->feed, &c, r->err))
            return false;
        if (c != ',')
            break;
        chrome_feed_use(&r->feed, r->feed.at + 1);
    }
    *found = c != '\0' && c != close;
    if (c == close)
        chrome_feed_use(&r->feed, r->feed.at + 1);
    return true;
}

/* The dictionary `stackFrames`, after its '{'. */
static bool read_frames(struct reader *r)
{
    struct chrome_value value;
    for (;;) {
        char id[256];
        struct nl_str key = {id, 0};
        bool found;
        if (!next_part(r, '}', &found) || (found && !read_key(r, id, sizeof id, &key, &found)))
            return false;
        if (!found || r->feed.at == r->feed.end)
            return true;
        if (!capture_value(r, &value, &found))
            return false;
        if (found) {
            chrome_take_frame(&r->workers[0], key, &value);
            continue;
        }
        note_here(r, CHROME_NOTE_BAD_HEADER);
        return true;
    }
}

/* The list `samples`, after its '['. */
static bool read_samples(struct reader *r)
{
    struct chrome_value value;
    bool found;
    for (;;) {
        if (!next_part(r, ']', &found))
            return false;
        if (!found)
            return true;
        if (!capture_value(r, &value, &found))
            return false;
        if (!found) {
            note_here(r, CHROME_NOTE_BAD_HEADER);
            return true;
        }
        chrome_take_sample(&r->workers[0], &value);
    }
}

/* ---- Documents. ---- */

static bool take_member(struct reader *r, struct nl_str key)
{
    struct chrome_value value;
    bool whole = false;
    if (nl_str_is(key, "traceEvents") && r->feed.at < r->feed.end && *r->feed.at == '[') {
        chrome_feed_use(&r->feed, r->feed.at + 1);
        return read_list(r, false);
    }
    if (r->feed.at == r->feed.end)
        return true;
    if ((nl_str_is(key, "stackFrames") && *r->feed.at == '{') ||
        (nl_str_is(key, "samples") && *r->feed.at == '[')) {
        bool frames = *r->feed.at == '{';
        chrome_feed_use(&r->feed, r->feed.at + 1);
        return frames ? read_frames(r) : read_samples(r);
    }
    if (!chrome_head_wants(key)) {
        chrome_head_skip(&r->head, &r->load, key);
        return skip_value(r);
    }
    if (!capture_value(r, &value, &whole))
        return false;
    if (whole) {
        chrome_head_take(&r->head, &r->load, &r->workers[0].names, key, &value);
        return true;
    }
    note_here(r, CHROME_NOTE_BAD_HEADER);
    return skip_value(r);
}

/* Where a key should stand there is something else: on to the next byte that may begin one. */
static void pass_damage(struct reader *r)
{
    note_here(r, CHROME_NOTE_BAD_HEADER);
    chrome_feed_use(&r->feed, r->feed.at + 1);
    while (r->feed.at < r->feed.end && *r->feed.at != '"' && *r->feed.at != '}')
        chrome_feed_use(&r->feed, r->feed.at + 1);
}

/* A key and its value, at a '"'. */
static bool read_member(struct reader *r)
{
    char name[256];
    struct nl_str key = {name, 0};
    bool found;
    if (!read_key(r, name, sizeof name, &key, &found))
        return false;
    if (found)
        return take_member(r, key);
    if (r->feed.at < r->feed.end && *r->feed.at == '"')
        chrome_feed_use(&r->feed, r->feed.at + 1);
    return true;
}

/* The members of an object, after its '{', up to its '}' or the end. */
static bool read_object(struct reader *r)
{
    char c;
    for (;;) {
        if (!chrome_feed_peek(&r->feed, &c, r->err))
            return false;
        switch (c) {
        case '\0': r->unclosed = true; return true;
        case '}': chrome_feed_use(&r->feed, r->feed.at + 1); return true;
        case ',': chrome_feed_use(&r->feed, r->feed.at + 1); break;
        case '"':
            if (!read_member(r))
                return false;
            break;
        default: pass_damage(r); break;
        }
    }
}

/* Is the object at the window's start an event by itself (one per line)? */
static bool is_event(struct reader *r)
{
    struct chrome_worker *scratch = &r->workers[0];
    const char *p = r->feed.at;
    if (chrome_parse(&scratch->parser, &scratch->event, &p, r->feed.end) == CHROME_OK)
        return chrome_has(&scratch->event, CHROME_F_PH);
    return false;
}

/* Everything in the file. */
static bool read_documents(struct reader *r)
{
    char c;
    for (;;) {
        if (!chrome_feed_peek(&r->feed, &c, r->err))
            return false;
        if (c == '\0')
            return true;
        if (c == '{' && is_event(r)) {
            r->documents++;
            if (!read_list(r, true))
                return false;
        } else if (c == '{' || c == '[') {
            r->documents++;
            r->bare = c == '[';
            chrome_feed_use(&r->feed, r->feed.at + 1);
            if (!(c == '{' ? read_object(r) : read_list(r, false)))
                return false;
        } else if (r->documents == 0) {
            nl_err_at(r->err, r->load.input->place, (int64_t)r->feed.offset);
            return nl_fail(r->err, NL_FORMAT, "no JSON: the text must begin with { or [");
        } else {
            note_here(r, CHROME_NOTE_SEPARATORS);
            while (r->feed.at < r->feed.end && *r->feed.at != '{' && *r->feed.at != '[')
                chrome_feed_use(&r->feed, r->feed.at + 1);
        }
    }
}

/* Skips a byte order mark at the start. */
static bool skip_byte_order_mark(struct reader *r)
{
    if (!more(r))
        return false;
    if (r->feed.end - r->feed.at >= 3 && memcmp(r->feed.at, "\xEF\xBB\xBF", 3) == 0)
        chrome_feed_use(&r->feed, r->feed.at + 3);
    return true;
}

/* ---- The end. ---- */

static void settle_clock(struct reader *r)
{
    int64_t first = INT64_MAX, epoch = NL_NULL_I64;
    for (unsigned w = 0; w < r->count; w++)
        if (r->workers[w].first_ts < first)
            first = r->workers[w].first_ts;
    const char *clock = "trace";
    if (r->head.base_ns != NL_NULL_I64) {
        epoch = r->head.base_ns;
        clock = "base time + trace";
    } else if (first >= EPOCH_FIRST && first < EPOCH_LAST) {
        epoch = 0;
        clock = "unix";
    }
    nl_builder_clock(r->load.builder, r->load.source, clock, epoch);
}

/* Files whose external ids mostly repeat the correlation ids say nothing
 * about operators by them. */
static void settle_external_ids(struct reader *r)
{
    struct chrome_load *load = &r->load;
    uint64_t ids = 0, equal = 0;
    for (unsigned w = 0; w < r->count; w++) {
        ids += r->workers[w].device_ids;
        equal += r->workers[w].device_ids_equal;
    }
    if (equal <= ids / 2)
        return;
    nl_builder_forget_external_ids(load->builder, load->source);
    nl_builder_coverage(load->builder, load->source, "external ids that repeat the correlation",
                        (int64_t)equal,
                        "PyTorch 1.11 to 2.2 writes them so; operators are found by time instead");
}

static void finish_load(struct reader *r)
{
    struct chrome_load *load = &r->load;
    chrome_pair(load, r->workers, r->count, r->unit);
    if (r->documents > 1)
        note_here(r, CHROME_NOTE_DOCUMENTS);
    if (r->head.several_bases)
        note_here(r, CHROME_NOTE_BASES);
    if (r->unclosed) /* PyTorch writes objects, and closes them */
        note_here(r, r->bare && !load->kineto && !r->head.kineto ? CHROME_NOTE_OPEN_LIST
                                                                 : CHROME_NOTE_UNCLOSED);
    chrome_report(load, r->workers, r->count);
    chrome_head_settle(&r->head, load, r->workers, r->count);
    settle_clock(r);
    int64_t rank = r->head.rank != NL_NULL_I64 ? r->head.rank : load->input->rank;
    if (rank != NL_NULL_I64)
        nl_builder_rank(load->builder, load->source, rank);
    settle_external_ids(r);
    nl_builder_format(load->builder, load->source,
                      load->kineto || r->head.kineto ? "kineto" : "chrome");
}

/* Was there anything? */
static bool check_content(struct reader *r)
{
    uint64_t events = r->load.stacks.sample_count;
    for (unsigned w = 0; w < r->count; w++)
        events += r->workers[w].events;
    if (events)
        return true;
    nl_err_at(r->err, r->load.input->place, (int64_t)r->feed.offset);
    if (!r->documents)
        return nl_fail(r->err, NL_FORMAT, "the file is empty");
    if (r->lists)
        return nl_fail(r->err, NL_FORMAT, "the list of trace events has no event in it");
    return nl_fail(r->err, NL_FORMAT, "JSON without traceEvents: no trace in the Chrome format");
}

static bool kineto_load(struct nl_reading *reading, struct nl_err *err)
{
    struct reader r = {.load = {.builder = reading->builder,
                                .source = reading->source,
                                .input = reading->input,
                                .job = reading->job,
                                .stream = reading->stream,
                                .main_pid = NL_NULL_I64},
                       .err = err};
    unsigned threads = nl_job_threads(reading->job);
    r.count = threads < MAX_THREADS ? threads : MAX_THREADS;
    chrome_cats_init(&r.load.cats);
    chrome_head_init(&r.head);
    chrome_stacks_init(&r.load.stacks);
    chrome_feed_init(&r.feed, reading->stream);
    r.workers = nl_alloc(r.count * sizeof *r.workers);
    for (unsigned w = 0; w < r.count; w++)
        chrome_worker_init(&r.workers[w], &r.load);
    bool ok = skip_byte_order_mark(&r) && read_documents(&r) && check_content(&r);
    if (ok)
        finish_load(&r);
    for (unsigned w = 0; w < r.count; w++)
        chrome_worker_release(&r.workers[w]);
    nl_free(r.workers);
    chrome_stacks_release(&r.load.stacks);
    chrome_feed_release(&r.feed);
    return ok;
}

/* ---- Recognition. ---- */

static bool head_has(const struct nl_input *input, const char *text)
{
    return nl_str_contains((struct nl_str){(const char *)input->head, input->head_len}, text);
}

/* First byte of the text that is neither white space nor a byte order mark. */
static int first_byte(const struct nl_input *input)
{
    size_t i = input->head_len >= 3 && memcmp(input->head, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (i < input->head_len && input->head[i] <= ' ')
        i++;
    return i < input->head_len ? input->head[i] : 0;
}

/* Keys and categories that make it Kineto rather than another tool's trace. */
static const char *const kineto_marks[] = {
    "\"cpu_op\"",          "\"user_annotation\"", "\"cuda_runtime\"", "\"python_function\"",
    "\"gpu_memcpy\"",      "\"schemaVersion\"",   "\"External id\"",  "\"Record function id\"",
    "\"Trace iteration\"", "\"deviceProperties\""};

/* Top-level keys other than the list of events, which may come after them all, beyond the head. */
static const char *const beside_events[] = {"\"displayTimeUnit\"",     "\"stackFrames\"",
                                            "\"otherData\"",           "\"systemTraceEvents\"",
                                            "\"baseTimeNanoseconds\"", "\"distributedInfo\""};

static int kineto_sniff(const struct nl_input *input, const char **why)
{
    int first = first_byte(input);
    if (first != '{' && first != '[')
        return 0;
    for (size_t i = 0; i < sizeof kineto_marks / sizeof kineto_marks[0]; i++)
        if (head_has(input, kineto_marks[i]))
            return 90;
    if (head_has(input, "\"traceEvents\"") || head_has(input, "\"ph\""))
        return 70;
    for (size_t i = 0; i < sizeof beside_events / sizeof beside_events[0]; i++)
        if (first == '{' && input->head_len == NL_SNIFF_BYTES && head_has(input, beside_events[i]))
            return 65;
    *why = "JSON without trace events";
    return NL_NEAR_MISS / 2; /* any JSON: other formats may know better */
}

const struct nl_format nl_format_kineto = {
    .name = "kineto",
    .title = "PyTorch profiler (Kineto) or Chrome trace-event JSON",
    .sniff = kineto_sniff,
    .load = kineto_load,
    .feed = NL_FEED_STREAM,
    .doc = "ingest.md"};
