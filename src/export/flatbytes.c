/* Layout: https://flatbuffers.dev/internals/. A table's description (vtable) stands before it. */
#include "export/flatbytes.h"

static size_t size_of(char field)
{
    switch (field) {
    case '1': return 1;
    case '2': return 2;
    case '8': return 8;
    case '.': return 0;
    default: return 4;
    }
}

struct flat_table flat_table(struct bytes *out, size_t from, const char *fields)
{
    struct flat_table table = {{0}};
    uint16_t place[FLAT_FIELDS] = {0}, count = (uint16_t)strlen(fields), size = 8;
    if (count > FLAT_FIELDS)
        NL_BUG("a FlatBuffer table of too many fields");
    for (size_t width = 8; width; width /= 2)
        for (unsigned i = 0; i < count; i++)
            if (size_of(fields[i]) == width) {
                place[i] = size;
                size = (uint16_t)(size + width);
            }
    uint16_t head[2] = {(uint16_t)(4 + 2 * count), size};
    flat_align(out, 8, head[0]);
    bytes_add(out, head, sizeof head);
    bytes_add(out, place, 2 * (size_t)count);
    size_t start = out->len;
    for (unsigned i = 0; i < size; i++)
        bytes_u8(out, 0);
    int32_t back = head[0];
    flat_set(out, start, &back, sizeof back);
    flat_refer(out, from, start);
    for (unsigned i = 0; i < count; i++)
        table.field[i] = place[i] ? start + place[i] : 0;
    return table;
}

size_t flat_vector(struct bytes *out, size_t from, size_t count, size_t size)
{
    flat_align(out, 8, 4);
    flat_refer(out, from, out->len);
    bytes_u32(out, (uint32_t)count);
    size_t start = out->len;
    memset(bytes_room(out, count * size + 1), 0, count * size);
    out->len += count * size;
    return start;
}

void flat_text(struct bytes *out, size_t from, struct nl_str text)
{
    flat_align(out, 4, 0);
    flat_refer(out, from, out->len);
    size_t start = out->len;
    bytes_u32(out, 0);
    bytes_utf8(out, text);
    uint32_t len = (uint32_t)(out->len - start - 4);
    flat_set(out, start, &len, sizeof len);
    bytes_u8(out, 0);
}
