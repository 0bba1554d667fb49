/*
 * Any bytes as JSON: reading token by token ends, and from a stream gives the tokens that memory
 * gives; values that are skipped or taken raw end where reading them would.
 */
#include <stdint.h>
#include <stdlib.h>

#include "parse/jsonpull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t walk(struct jsonpull *reader, unsigned plan)
{
    uint64_t hash = 0;
    uint64_t last = 0;
    while (jsonpull_next(reader) > JSONPULL_END) {
        struct nl_str raw = reader->text;
        if (reader->offset < last || jsonpull_offset(reader) < reader->offset)
            abort();
        last = reader->offset;
        hash = hash * 31 + nl_hash(raw.ptr, raw.len) + (uint64_t)reader->type;
        plan = plan * 1103515245u + 12345u;
        if ((plan >> 16 & 7) == 0)
            jsonpull_skip(reader);
        else if ((plan >> 16 & 7) == 1 && jsonpull_raw(reader, &raw))
            hash += nl_hash(raw.ptr, raw.len);
        double number;
        int64_t ns;
        if (jsonpull_f64(reader, &number) && jsonpull_ns(reader, 3, &ns))
            hash += (uint64_t)ns;
    }
    if ((reader->type == JSONPULL_ERROR) != (reader->problem != NULL))
        abort();
    return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct nl_err err;
    struct jsonpull memory, streamed;
    unsigned options = data[0] & 15u, plan = data[1];
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(data + 2, size - 2, &err);
    jsonpull_memory(&memory, data + 2, size - 2, options);
    uint64_t one = walk(&memory, plan);
    if (stream && nl_str_is(nl_str(nl_stream_encoding(stream)), "plain")) {
        jsonpull_stream(&streamed, stream, options, &err);
        if (walk(&streamed, plan) != one)
            abort();
        jsonpull_release(&streamed);
    }
    jsonpull_release(&memory);
    nl_stream_close(stream);
    return 0;
}
