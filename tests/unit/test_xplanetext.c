/* The small languages inside XPlane texts. */
#include "check.h"
#include "ingest/xplane/xplane_hlo.h"
#include "ingest/xplane/xplane_text.h"

static void reads_kernel_details(void)
{
    struct nl_kernel_row row = nl_kernel_row();
    CHECK(xplane_kernel_details(nl_str("regs:38 shm:16 grid:160,2,1 block:1024,1,1"), &row));
    CHECK(row.registers == 38 && row.static_shared_bytes == 16 && row.grid_y == 2);
    CHECK(row.block_x == 1024 && isnan(row.occupancy));
    row = nl_kernel_row();
    CHECK(xplane_kernel_details(nl_str(" grid:16,1,1 block:512,1,1 group_mem:8 occ_pct:50"), &row));
    CHECK(row.registers == NL_NULL_U32 && row.static_shared_bytes == 8 && row.occupancy == 0.5);
    row = nl_kernel_row();
    CHECK(!xplane_kernel_details(nl_str("regs:2191500840 grid:1,1,1 block:1,1,1"), &row));
    CHECK(row.grid_x == NL_NULL_U32);
    CHECK(!xplane_kernel_details(nl_str("regs:17179869185 shm:7 grid:1,210453397508,0"), &row));
    CHECK(xplane_kernel_details(nl_str(""), &row));
}

static void reads_copies(void)
{
    uint8_t from = 0, to = 0;
    struct nl_str text = nl_str("kind_src:pinned kind_dst:device size:4096 dest:0 async:1");
    CHECK_INT(xplane_copy_details(text, &from, &to), 4096);
    CHECK(from == NL_MEMORY_PINNED && to == NL_MEMORY_DEVICE);
    CHECK(xplane_copy_details(nl_str("resize:1"), &from, &to) == NL_NULL_U64);
    CHECK(xplane_copy_kind(nl_str("MemcpyH2D")) == NL_COPY_HTOD);
    CHECK(xplane_copy_kind(nl_str("hipMemcpyDtoDAsync")) == NL_COPY_DTOD);
    CHECK(xplane_copy_kind(nl_str("memcpy")) == NL_COPY_UNKNOWN);
}

static void reads_hlo(void)
{
    struct nl_str dtype;
    uint64_t bytes = 0;
    CHECK(xplane_hlo_shape(nl_str("%a.1 = bf16[128,256]{1,0} all-reduce(%p)"), &dtype, &bytes));
    CHECK_STR(dtype, "bf16");
    CHECK_INT(bytes, 65536);
    CHECK(xplane_hlo_shape(nl_str("f32[] add(%p)"), &dtype, &bytes) && bytes == 4);
    CHECK(!xplane_hlo_shape(nl_str("(f32[2], f32[3]) all-reduce(%p)"), &dtype, &bytes));
    CHECK(!xplane_hlo_shape(nl_str("f32[99999999999999999999]"), &dtype, &bytes));
    CHECK(!xplane_hlo_shape(nl_str("%"), &dtype, &bytes));
    CHECK(xplane_hlo_copy_kind(nl_str("(f32[8,2]{1,0}, f32[8,2]{1,0:T(8)S(5)}, u32[])")) ==
          NL_COPY_HTOD);
    CHECK(xplane_hlo_copy_kind(nl_str("(f32[8]{0:S(5)}, f32[8]{0}, u32[])")) == NL_COPY_DTOH);
    CHECK(xplane_hlo_copy_kind(nl_str(")")) == NL_COPY_UNKNOWN);
    CHECK_TEXT(xplane_hlo_operation(nl_str("all-reduce-start")), "all_reduce");
    CHECK(xplane_hlo_operation(nl_str("sender")) == NULL);
}

/* PrimitiveType of XLA's xla_data.proto: number, name in HLO text, bits of an element,
 * a floating-point number? */
static const struct {
    uint32_t type;
    const char *name;
    uint64_t bits;
    bool real;
} types[] = {
    {1, "pred", 8, false},       {30, "s1", 1, false},
    {26, "s2", 2, false},        {21, "s4", 4, false},
    {2, "s8", 8, false},         {3, "s16", 16, false},
    {4, "s32", 32, false},       {5, "s64", 64, false},
    {31, "u1", 1, false},        {27, "u2", 2, false},
    {22, "u4", 4, false},        {6, "u8", 8, false},
    {7, "u16", 16, false},       {8, "u32", 32, false},
    {9, "u64", 64, false},       {32, "f4e2m1fn", 4, true},
    {29, "f8e3m4", 8, true},     {28, "f8e4m3", 8, true},
    {20, "f8e4m3fn", 8, true},   {23, "f8e4m3b11fnuz", 8, true},
    {25, "f8e4m3fnuz", 8, true}, {19, "f8e5m2", 8, true},
    {24, "f8e5m2fnuz", 8, true}, {33, "f8e8m0fnu", 8, true},
    {10, "f16", 16, true},       {16, "bf16", 16, true},
    {11, "f32", 32, true},       {12, "f64", 64, true},
    {15, "c64", 64, false},      {18, "c128", 128, false},
};

static void knows_every_hlo_type(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(types); i++) {
        char text[64];
        struct nl_str dtype;
        uint64_t bytes = 0;
        check_case(types[i].name);
        CHECK_TEXT(hlo_type_name(types[i].type), types[i].name);
        CHECK(hlo_type_is_real(types[i].type) == types[i].real);
        CHECK_INT(hlo_type_bits(nl_str(types[i].name)), types[i].bits);
        snprintf(text, sizeof text, "%s[5,8]{1,0} add(%%p)", types[i].name);
        CHECK(xplane_hlo_shape(nl_str(text), &dtype, &bytes));
        CHECK_STR(dtype, types[i].name);
        CHECK_INT(bytes, 5 * types[i].bits);
        snprintf(text, sizeof text, "%s[3]", types[i].name); /* less than a byte is one */
        CHECK(xplane_hlo_shape(nl_str(text), &dtype, &bytes));
        CHECK_INT(bytes, (3 * types[i].bits + 7) / 8);
    }
}

/* Neither numbers that are no array's (0, tuple, opaque, token, those to come) nor names alike. */
static void knows_no_other_hlo_type(void)
{
    static const char *const names[] = {"",      "f",      "f3",    "f322", "F32",
                                        "tuple", "opaque", "token", "s3"};
    for (uint32_t type = 0; type < 300; type++) {
        bool known = false;
        for (size_t i = 0; i < CHECK_LENGTH(types); i++)
            known |= types[i].type == type;
        CHECK((hlo_type_name(type) != NULL) == known);
        CHECK(known || !hlo_type_is_real(type));
    }
    for (size_t i = 0; i < CHECK_LENGTH(names); i++) {
        char text[32];
        struct nl_str dtype;
        uint64_t bytes = 0;
        check_case(names[i]);
        CHECK_INT(hlo_type_bits(nl_str(names[i])), 0);
        snprintf(text, sizeof text, "%s[8]", names[i]);
        CHECK(!xplane_hlo_shape(nl_str(text), &dtype, &bytes));
    }
}

/* Every word that tells where a copy goes from and to. */
static void knows_every_copy(void)
{
    static const struct {
        const char *name;
        enum nl_copykind kind;
    } copies[] = {{"MemcpyH2D", NL_COPY_HTOD},          {"MemcpyD2H", NL_COPY_DTOH},
                  {"MemcpyD2D", NL_COPY_DTOD},          {"MemcpyP2P", NL_COPY_PTOP},
                  {"MemcpyH2H", NL_COPY_HTOH},          {"hipMemcpyHtoD", NL_COPY_HTOD},
                  {"hipMemcpyDtoH", NL_COPY_DTOH},      {"hipMemcpyDtoD", NL_COPY_DTOD},
                  {"CopyHostToDevice", NL_COPY_HTOD},   {"CopyDeviceToHost", NL_COPY_DTOH},
                  {"CopyDeviceToDevice", NL_COPY_DTOD}, {"MemcpyOther", NL_COPY_UNKNOWN}};
    for (size_t i = 0; i < CHECK_LENGTH(copies); i++) {
        check_case(copies[i].name);
        CHECK_INT(xplane_copy_kind(nl_str(copies[i].name)), copies[i].kind);
    }
}

/* Every kind of memory, in the words of CUPTI's names. */
static void knows_every_memory(void)
{
    static const struct {
        const char *name;
        uint8_t memory;
    } kinds[] = {{"pageable", NL_MEMORY_PAGEABLE},
                 {"pinned", NL_MEMORY_PINNED},
                 {"device", NL_MEMORY_DEVICE},
                 {"array", NL_MEMORY_ARRAY},
                 {"managed", NL_MEMORY_MANAGED},
                 {"device_static", NL_MEMORY_DEVICE_STATIC},
                 {"managed_static", NL_MEMORY_MANAGED_STATIC},
                 {"unknown", NL_MEMORY_UNKNOWN}};
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++) {
        char text[64];
        uint8_t from = 99, to = 99;
        check_case(kinds[i].name);
        snprintf(text, sizeof text, "kind_src:%s num_bytes:7", kinds[i].name);
        CHECK_INT(xplane_copy_details(nl_str(text), &from, &to), 7);
        CHECK_INT(from, kinds[i].memory);
        CHECK_INT(to, 99);
        snprintf(text, sizeof text, "kind_dst:%s size:9", kinds[i].name);
        CHECK_INT(xplane_copy_details(nl_str(text), &from, &to), 9);
        CHECK_INT(to, kinds[i].memory);
    }
}

/* Every category of instruction that communicates or copies, and ones that only look alike. */
static void knows_every_communication(void)
{
    static const struct {
        const char *category, *operation;
    } categories[] = {{"all-reduce", "all_reduce"},
                      {"all-reduce-done", "all_reduce"},
                      {"all-gather", "all_gather"},
                      {"reduce-scatter", "reduce_scatter"},
                      {"all-to-all", "all_to_all"},
                      {"ragged-all-to-all", "all_to_all"},
                      {"collective-permute-start", "send_recv"},
                      {"collective-broadcast", "broadcast"},
                      {"send", "send"},
                      {"send-done", "send"},
                      {"recv", "recv"},
                      {"recv-done", "recv"}};
    static const char *const others[] = {"reduce", "receive", "broadcast", "gather", "fusion", ""};
    for (size_t i = 0; i < CHECK_LENGTH(categories); i++) {
        check_case(categories[i].category);
        CHECK_TEXT(xplane_hlo_operation(nl_str(categories[i].category)), categories[i].operation);
        CHECK(!xplane_hlo_is_copy(nl_str(categories[i].category)));
    }
    for (size_t i = 0; i < CHECK_LENGTH(others); i++) {
        check_case(others[i]);
        CHECK(xplane_hlo_operation(nl_str(others[i])) == NULL);
        CHECK(!xplane_hlo_is_copy(nl_str(others[i])));
    }
    CHECK(xplane_hlo_is_copy(nl_str("copy-start")) && xplane_hlo_is_copy(nl_str("copy-done")));
    CHECK(!xplane_hlo_is_copy(nl_str("copy")));
}

CHECK_MAIN("xplane text", {"reads kernel details", reads_kernel_details},
           {"reads copies", reads_copies}, {"reads HLO", reads_hlo},
           {"knows every HLO type", knows_every_hlo_type},
           {"knows no other HLO type", knows_no_other_hlo_type},
           {"knows every copy", knows_every_copy}, {"knows every memory", knows_every_memory},
           {"knows every communication", knows_every_communication})
