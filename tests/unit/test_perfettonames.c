/* Names of processes in Perfetto traces: "rank 3: python", as exports write them, tells the rank; what only looks alike is a name. */
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

CHECK_MAIN("perfetto names", {"ranks of processes", ranks_of_processes})
