/*
 * Names in Perfetto traces. Of processes: "rank 3: python", as exports write them, tells the rank;
 * what only looks alike is a name. Of tracks: "GPU [4] QUEUE [1]", and "stream 7" below "GPU 0: …",
 * tell which device and queue it is.
 */
#include "corpus.h"

/* A field of less than 128 bytes. */
static void put(struct nl_buf *to, unsigned number, const void *bytes, size_t len)
{
    if (number >= 16)
        nl_buf_char(to, (char)((number << 3 & 0x7f) | 2 | 0x80));
    nl_buf_char(to, (char)(number >= 16 ? number >> 4 : number << 3 | 2));
    nl_buf_char(to, (char)len);
    nl_buf_add(to, bytes, len);
}

static void put_number(struct nl_buf *to, unsigned number, unsigned value)
{
    if (number >= 16)
        nl_buf_char(to, (char)((number << 3 & 0x7f) | 0x80));
    nl_buf_char(to, (char)(number >= 16 ? number >> 4 : number << 3));
    nl_buf_char(to, (char)value);
}

/* Two packets: the track of a process with this name, and an instant on it. */
static void put_process(struct nl_buf *trace, const char *name)
{
    struct nl_buf process, track, packet, event;
    nl_buf_init(&process, 1000), nl_buf_init(&track, 1000);
    nl_buf_init(&packet, 1000), nl_buf_init(&event, 1000);
    put_number(&process, 1, 7);
    put(&process, 6, name, strlen(name));
    put_number(&track, 1, 1);
    put(&track, 3, process.ptr, process.len);
    put_number(&packet, 10, 1);
    put(&packet, 60, track.ptr, track.len);
    put(trace, 1, packet.ptr, packet.len);
    nl_buf_clear(&packet);
    put_number(&event, 9, 3);
    put_number(&event, 11, 1);
    put(&event, 23, "mark", 4);
    put_number(&packet, 8, 100);
    put_number(&packet, 10, 1);
    put(&packet, 11, event.ptr, event.len);
    put(trace, 1, packet.ptr, packet.len);
    nl_buf_release(&process), nl_buf_release(&track);
    nl_buf_release(&packet), nl_buf_release(&event);
}

static void ranks_of_processes(void)
{
    static const struct {
        const char *recorded;
        int64_t rank;
        const char *name;
    } cases[] = {{"rank 3: python", 3, "python"},
                 {"rank 12: a: b", 12, "a: b"},
                 {"rank 0: x", 0, "x"},
                 {"rank 3: ", NL_NULL_I64, "rank 3: "},
                 {"rank 3:", NL_NULL_I64, "rank 3:"},
                 {"rank 3:x", NL_NULL_I64, "rank 3:x"},
                 {"rank 3:xy", NL_NULL_I64, "rank 3:xy"},
                 {"rank 3", NL_NULL_I64, "rank 3"},
                 {"rank : x", NL_NULL_I64, "rank : x"},
                 {"rank ", NL_NULL_I64, "rank "},
                 {"ranks 3: python", NL_NULL_I64, "ranks 3: python"},
                 {"my rank 3: python", NL_NULL_I64, "my rank 3: python"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf text;
        check_case(cases[i].recorded);
        nl_buf_init(&text, 1000);
        put_process(&text, cases[i].recorded);
        struct nl_trace *trace = corpus_ingest_bytes(text.ptr, text.len);
        nl_buf_release(&text);
        REQUIRE(trace);
        CHECK_INT(trace->process.rows, 1);
        if (trace->process.rows == 1) {
            CHECK_INT(trace->process.rank[0], cases[i].rank);
            CHECK_STR(nl_trace_name(trace, trace->process.name[0]), cases[i].name);
        }
        nl_trace_free(trace);
    }
}

/* The track `number`, below `parent` when that is not 0. */
static void put_track(struct nl_buf *trace, unsigned number, unsigned parent, const char *name)
{
    struct nl_buf track, packet;
    nl_buf_init(&track, 1000), nl_buf_init(&packet, 1000);
    put_number(&track, 1, number);
    put(&track, 2, name, strlen(name));
    if (parent)
        put_number(&track, 5, parent);
    put_number(&packet, 10, 1);
    put(&packet, 60, track.ptr, track.len);
    put(trace, 1, packet.ptr, packet.len);
    nl_buf_release(&track), nl_buf_release(&packet);
}

/* A kernel on a track begins (1) or ends (2). */
static void put_kernel(struct nl_buf *trace, unsigned track, unsigned what, unsigned ts)
{
    struct nl_buf event, packet;
    nl_buf_init(&event, 1000), nl_buf_init(&packet, 1000);
    put_number(&event, 9, what);
    put_number(&event, 11, track);
    put(&event, 22, "kernel_dispatch", 15);
    put(&event, 23, "k", 1);
    put_number(&packet, 8, ts);
    put_number(&packet, 10, 1);
    put(&packet, 11, event.ptr, event.len);
    put(trace, 1, packet.ptr, packet.len);
    nl_buf_release(&event), nl_buf_release(&packet);
}

static void devices_of_tracks(void)
{
    static const struct {
        const char *parent, *name;
        int64_t device, stream;
    } cases[] = {
        {NULL, "GPU [4] QUEUE [1]", 4, 1},
        {NULL, "GPU [0] QUEUE [9]", 0, 9},
        {NULL, "GPU [9] QUEUE [0]", 9, 0},
        {NULL, "[12][345]", 12, 345},
        {NULL, "GPU [1] QUEUE [2] OF [3]", 1, 2},
        {NULL, "GPU [x] [5] QUEUE [:] [/] [6]", 5, 6},
        {NULL, "GPU [3]", 3, NL_NULL_I64},
        {NULL, "GPU [3] QUEUE []", 3, NL_NULL_I64},
        {NULL, "GPU [7x] QUEUE [8", 7, 8},
        {NULL, "[123456789] [1234567890]", 123456789, 123456789}, /* nine digits are read */
        {"GPU 0: NVIDIA H100", "stream 7", 0, 7},
        {"GPU 9: x", "stream 0", 9, 0},
        {"GPU 12", "stream 345", 12, 345},
        {"GPU 2: x", "all of stream 19", 2, 19},
        {"GPU 2: x", "upstream 3 stream 4", 2, 4},
        {"GPU 2: x", "stream x", 2, NL_NULL_I64},
        {"GPU 2: x", "stream ", 2, NL_NULL_I64},
        {"GPU 2: x", "other", 2, NL_NULL_I64},
        {"GPU 2: x", "GPU [3] QUEUE [4]", 3, 4}, /* its own name says more */
        {"GPU 123456789", "stream 1234567890", 123456789, 123456789},
        {"GPU x", "stream 7", NL_NULL_I64, NL_NULL_I64},
        {"GPUs 2", "stream 7", NL_NULL_I64, NL_NULL_I64},
        {"GPU ", "stream 7", NL_NULL_I64, NL_NULL_I64},
        {NULL, "stream 7", NL_NULL_I64, NL_NULL_I64},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf text;
        check_case(cases[i].name);
        nl_buf_init(&text, 4000);
        if (cases[i].parent)
            put_track(&text, 1, 0, cases[i].parent);
        put_track(&text, 2, cases[i].parent ? 1 : 0, cases[i].name);
        put_kernel(&text, 2, 1, 10);
        put_kernel(&text, 2, 2, 20);
        struct nl_trace *trace = corpus_ingest_bytes(text.ptr, text.len);
        nl_buf_release(&text);
        REQUIRE(trace && trace->slice.rows == 1);
        uint32_t lane = trace->slice.lane[0], device = trace->lane.device[lane];
        CHECK_INT(device == NL_NULL_ROW ? NL_NULL_I64 : (int64_t)trace->device.ordinal[device],
                  cases[i].device);
        CHECK_INT(trace->lane.stream[lane], cases[i].stream);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("perfetto names", {"ranks of processes", ranks_of_processes},
           {"devices of tracks", devices_of_tracks})
