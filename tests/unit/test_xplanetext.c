/* The small languages inside XPlane texts. */
#include "check.h"
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

CHECK_MAIN("xplane text", {"reads kernel details", reads_kernel_details},
           {"reads copies", reads_copies}, {"reads HLO", reads_hlo})
