/* One gzip member. */
#include "export/gzout.h"

#include <isa-l/igzip_lib.h>

#define ROOM ((size_t)256 << 10)

void nl_gzip_write(FILE *out, const struct bytes *bytes)
{
    struct isal_zstream stream;
    uint8_t *room = nl_alloc(ROOM), *level = nl_alloc(ISAL_DEF_LVL1_DEFAULT);
    size_t at = 0;
    isal_deflate_init(&stream);
    stream.gzip_flag = IGZIP_GZIP;
    stream.level = 1;
    stream.level_buf = level;
    stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    do {
        size_t some = bytes->len - at < ((size_t)1 << 30) ? bytes->len - at : (size_t)1 << 30;
        stream.next_in = bytes->at + at;
        stream.avail_in = (uint32_t)some;
        at += some;
        stream.end_of_stream = at == bytes->len;
        do {
            stream.next_out = room;
            stream.avail_out = ROOM;
            if (isal_deflate(&stream) != COMP_OK)
                NL_BUG("deflate failed");
            fwrite(room, 1, ROOM - stream.avail_out, out);
        } while (stream.avail_out == 0);
    } while (at < bytes->len);
    nl_free(room);
    nl_free(level);
}
