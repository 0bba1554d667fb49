/* torchtypes — see torchtypes.h. */
#include "ingest/lib/torchtypes.h"

static const struct {
    const char *name;
    unsigned bytes;
} types[] = {
    {"Float", 4},
    {"Half", 2},
    {"BFloat16", 2},
    {"Double", 8},
    {"Int", 4},
    {"Long", 8},
    {"Short", 2},
    {"Byte", 1},
    {"Char", 1},
    {"Bool", 1},
    {"ComplexHalf", 4},
    {"ComplexFloat", 8},
    {"ComplexDouble", 16},
    {"Float8_e4m3fn", 1},
    {"Float8_e5m2", 1},
    {"Float8_e4m3fnuz", 1},
    {"Float8_e5m2fnuz", 1},
    {"UInt16", 2},
    {"UInt32", 4},
    {"UInt64", 8},
    {"Float8_e8m0fnu", 1},
};

unsigned torchtypes_bytes(struct nl_str name)
{
    if (nl_str_starts(name, "c10::"))
        name = (struct nl_str){name.ptr + 5, name.len - 5};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (nl_str_is(name, types[i].name))
            return types[i].bytes;
    return 0;
}
