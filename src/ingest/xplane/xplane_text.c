/*
 * Texts are found by key ("grid:"), because their order and what is left out changed with releases.
 */
#include "ingest/xplane/xplane_text.h"

#include "base/chars.h"
#include "ingest/xplane/xplane_hlo.h"

/* Where the value of `key` starts: after the key, which follows a space or the start. */
static bool find_key(struct nl_str text, const char *key, struct nl_str *value)
{
    size_t len = strlen(key);
    for (size_t at = 0; at + len <= text.len; at++)
        if ((at == 0 || text.ptr[at - 1] == ' ') && memcmp(text.ptr + at, key, len) == 0) {
            value->ptr = text.ptr + at + len;
            value->len = text.len - at - len;
            return true;
        }
    return false;
}

/* An unsigned decimal; what was read is taken off the text. */
static bool take_number(struct nl_str *text, uint64_t *number)
{
    size_t at = 0;
    uint64_t sum = 0;
    while (at < text->len && nl_is_digit(text->ptr[at])) {
        if (sum > (UINT64_MAX - 9) / 10)
            return false;
        sum = sum * 10 + (uint64_t)(text->ptr[at++] - '0');
    }
    text->ptr += at;
    text->len -= at;
    *number = sum;
    return at > 0;
}

/* Up to three numbers with commas, each from 1 to most. */
static bool take_sizes(struct nl_str text, uint64_t most, uint32_t *x, uint32_t *y, uint32_t *z)
{
    uint64_t size[3] = {1, 1, 1};
    for (unsigned i = 0; i < 3; i++) {
        if (!take_number(&text, &size[i]) || size[i] == 0 || size[i] > most)
            return false;
        if (text.len == 0 || text.ptr[0] != ',')
            break;
        text.ptr++;
        text.len--;
    }
    *x = (uint32_t)size[0];
    *y = (uint32_t)size[1];
    *z = (uint32_t)size[2];
    return true;
}

/* A number that a device can have goes to *out. False when it cannot be. */
static bool take_limited(struct nl_str text, const char *key, uint64_t most, uint32_t *out)
{
    uint64_t number;
    struct nl_str value;
    if (!find_key(text, key, &value))
        return true;
    if (!take_number(&value, &number) || number > most)
        return false;
    *out = (uint32_t)number;
    return true;
}

bool xplane_kernel_details(struct nl_str text, struct nl_kernel_row *kernel)
{
    const uint64_t most_shared = (uint64_t)1 << 24;
    struct nl_str value;
    struct nl_kernel_row read = *kernel;
    bool sound = take_limited(text, "regs:", 65536, &read.registers);
    sound &= take_limited(text, "static_shared:", most_shared, &read.static_shared_bytes);
    sound &= take_limited(text, "dynamic_shared:", most_shared, &read.dynamic_shared_bytes);
    sound &= take_limited(text, "group_mem:", most_shared, &read.static_shared_bytes);
    sound &= take_limited(text, "shm:", most_shared, &read.static_shared_bytes);
    if (find_key(text, "grid:", &value))
        sound &= take_sizes(value, UINT32_MAX - 1, &read.grid_x, &read.grid_y, &read.grid_z);
    if (find_key(text, "block:", &value))
        sound &= take_sizes(value, 1024, &read.block_x, &read.block_y, &read.block_z);
    uint32_t percent = 0;
    sound &= take_limited(text, "occ_pct:", 100, &percent);
    if (!sound)
        return false; /* what was never set is wrong in every field */
    *kernel = read;
    if (percent) /* 0 is written where it was not computed */
        kernel->occupancy = percent / 100.0;
    return true;
}

static uint8_t memory_kind(struct nl_str text)
{
    static const struct {
        const char *name;
        uint8_t memory;
    } kinds[] = {{"pageable", NL_MEMORY_PAGEABLE},
                 {"pinned", NL_MEMORY_PINNED},
                 {"device_static", NL_MEMORY_DEVICE_STATIC},
                 {"managed_static", NL_MEMORY_MANAGED_STATIC},
                 {"device", NL_MEMORY_DEVICE},
                 {"managed", NL_MEMORY_MANAGED},
                 {"array", NL_MEMORY_ARRAY}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (nl_str_starts(text, kinds[i].name))
            return kinds[i].memory;
    return NL_MEMORY_UNKNOWN;
}

uint64_t xplane_copy_details(struct nl_str text, uint8_t *src_memory, uint8_t *dst_memory)
{
    struct nl_str value;
    uint64_t bytes = NL_NULL_U64;
    if (find_key(text, "kind_src:", &value))
        *src_memory = memory_kind(value);
    if (find_key(text, "kind_dst:", &value))
        *dst_memory = memory_kind(value);
    if (!find_key(text, "size:", &value) && !find_key(text, "num_bytes:", &value))
        return NL_NULL_U64;
    return take_number(&value, &bytes) ? bytes : NL_NULL_U64;
}

enum nl_copykind xplane_copy_kind(struct nl_str name)
{
    static const struct {
        const char *part;
        enum nl_copykind kind;
    } parts[] = {{"H2D", NL_COPY_HTOD},           {"D2H", NL_COPY_DTOH},
                 {"D2D", NL_COPY_DTOD},           {"P2P", NL_COPY_PTOP},
                 {"H2H", NL_COPY_HTOH},           {"HtoD", NL_COPY_HTOD},
                 {"DtoH", NL_COPY_DTOH},          {"DtoD", NL_COPY_DTOD},
                 {"HostToDevice", NL_COPY_HTOD},  {"DeviceToHost", NL_COPY_DTOH},
                 {"DeviceToDevice", NL_COPY_DTOD}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_contains(name, parts[i].part))
            return parts[i].kind;
    return NL_COPY_UNKNOWN;
}

bool xplane_hlo_shape(struct nl_str text, struct nl_str *dtype, uint64_t *bytes)
{
    for (size_t at = 0; at + 3 <= text.len && text.ptr[0] == '%'; at++)
        if (memcmp(text.ptr + at, " = ", 3) == 0) {
            text.ptr += at + 3;
            text.len -= at + 3;
        }
    size_t len = 0;
    while (len < text.len && len < 16 && text.ptr[len] != '[')
        len++;
    *dtype = (struct nl_str){text.ptr, len};
    uint64_t elements = 1, size;
    uint64_t bits = hlo_type_bits(*dtype);
    if (len + 1 >= text.len || !bits)
        return false;
    text.ptr += len + 1;
    text.len -= len + 1;
    while (take_number(&text, &size)) {
        if (size == 0 || elements > ((uint64_t)1 << 50) / size)
            return false;
        elements *= size;
        if (text.len && text.ptr[0] == ',') {
            text.ptr++;
            text.len--;
        }
    }
    *bytes = (elements * bits + 7) / 8;
    return text.len && text.ptr[0] == ']';
}

enum nl_copykind xplane_hlo_copy_kind(struct nl_str layout)
{
    bool host[2] = {false, false};
    unsigned depth = 0, item = 0;
    for (size_t at = 0; at + 4 <= layout.len && item < 2; at++) {
        char c = layout.ptr[at];
        if (c == '(' || c == '{' || c == '[')
            depth++;
        else if (depth && (c == ')' || c == '}' || c == ']'))
            depth--;
        else if (c == ',' && depth == 1)
            item++;
        else if (memcmp(layout.ptr + at, "S(5)", 4) == 0)
            host[item] = true;
    }
    if (host[0] == host[1])
        return NL_COPY_UNKNOWN;
    return host[0] ? NL_COPY_DTOH : NL_COPY_HTOD;
}

const char *xplane_hlo_operation(struct nl_str category)
{
    static const struct {
        const char *start, *operation;
    } operations[] = {{"all-reduce", "all_reduce"},         {"all-gather", "all_gather"},
                      {"reduce-scatter", "reduce_scatter"}, {"all-to-all", "all_to_all"},
                      {"ragged-all-to-all", "all_to_all"},  {"collective-permute", "send_recv"},
                      {"collective-broadcast", "broadcast"}};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (nl_str_starts(category, operations[i].start))
            return operations[i].operation;
    if (nl_str_is(category, "send") || nl_str_is(category, "send-done"))
        return "send";
    if (nl_str_is(category, "recv") || nl_str_is(category, "recv-done"))
        return "recv";
    return NULL;
}

bool xplane_hlo_is_copy(struct nl_str category)
{
    return nl_str_is(category, "copy-start") || nl_str_is(category, "copy-done");
}
