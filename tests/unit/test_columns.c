/* Columns in which stretches of rows have one value: such are mapped pages, and must
 * read as what was staged. */
#include "check.h"

#include "base/mem.h"
#include "base/pagepool.h"
#include "derive/derive.h"
#include "store/builder.h"

#include "fabricate.h"

enum { ROWS = 1500000, UNITS = 6 };

/* What row `i` says: all the same; the same in stretches that begin and end anywhere; one value and
 * then each its own; zeros. */
static uint32_t stretched(uint32_t i)
{
    static const uint32_t ends[] = {300123, 300124, 817000, 1100001};
    uint32_t stretch = 0;
    while (stretch < CHECK_LENGTH(ends) && i >= ends[stretch])
        stretch++;
    return stretch == 2 ? i : stretch * 7;
}

static struct nl_kernel_row row_at(struct nl_stage *stage, uint32_t i)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.grid_x = 128;
    row.grid_y = stretched(i);
    row.block_x = i < 777777 ? 3 : i;
    row.block_y = i < 777777 ? i : 3;
    row.registers = 0;
    row.correlation = i < ROWS / 2 ? (uint64_t)5 << 40 : (uint64_t)6 << 40;
    row.short_name = nl_stage_name(stage, nl_str(i < ROWS / 3 ? "one" : "other"));
    row.occupancy = i < ROWS / 2 ? 0.5 : NL_NULL_F64;
    row.class = NL_CLASS_COPY;
    return row;
}

static unsigned differs(const struct nl_trace *t, uint32_t i)
{
    const struct nl_kernel_table *kernel = &t->kernel;
    bool half = i < ROWS / 2, early = i < 777777;
    return kernel->grid_x[i] != 128 || kernel->grid_y[i] != stretched(i) ||
           kernel->block_x[i] != (early ? 3 : i) || kernel->block_y[i] != (early ? i : 3) ||
           kernel->registers[i] != 0 || kernel->class[i] != NL_CLASS_COPY ||
           kernel->correlation[i] != (half ? (uint64_t)5 << 40 : (uint64_t)6 << 40) ||
           !nl_str_is(nl_trace_name(t, kernel->short_name[i]), i < ROWS / 3 ? "one" : "other") ||
           (half ? kernel->occupancy[i] < 0.5 || kernel->occupancy[i] > 0.5
                 : !isnan(kernel->occupancy[i])) ||
           kernel->grid_z[i] != NL_NULL_U32 || kernel->measurement[i] != NL_NULL_ROW;
}

static void stretches_of_one_value(void)
{
    for (unsigned threads = 1; threads <= 3; threads += 2) {
        struct nl_job job = {.threads = threads};
        struct nl_builder *b = nl_builder_new(&job);
        uint32_t source = nl_builder_source(b, "test", "test");
        struct nl_stage *stages[2] = {nl_stage_new(b), nl_stage_new(b)};
        for (uint32_t unit = 0; unit < UNITS; unit++) {
            struct nl_stage *stage = stages[unit % 2]; /* other numbers of the same names */
            nl_stage_begin(stage, source, unit);
            for (uint32_t i = unit * (ROWS / UNITS); i < (unit + 1) * (ROWS / UNITS); i++) {
                struct nl_kernel_row row = row_at(stage, i);
                nl_stage_kernel(stage, &row);
            }
        }
        struct nl_trace *t = nl_builder_finish(b, NULL);
        REQUIRE(t != NULL && t->kernel.rows == ROWS);
        unsigned wrong = 0;
        for (uint32_t i = 0; i < ROWS; i++)
            wrong += differs(t, i);
        CHECK_INT(wrong, 0);
        t->kernel.grid_x[70000] = 1; /* of the one cell alone */
        CHECK(t->kernel.grid_x[69999] == 128 && t->kernel.grid_x[70000 + 65536] == 128);
        nl_trace_free(t);
    }
}

/* Parts of an array that begin and end within pages, beside parts that
 * pages of the pool come under. */
static void parts_of_an_array(void)
{
    enum { BYTES = 8 << 20 };
    struct nl_pagepool pool;
    size_t from = 12345, to = BYTES / 2 + 777, done = 0;
    nl_pagepool_init(&pool, NULL);
    unsigned char *old = nl_pagepool_take(&pool, BYTES), *cells = nl_pagepool_fresh(&pool, BYTES);
    memset(old, 0xa5, BYTES);
    nl_pagepool_give(&pool, old, BYTES);
    nl_pagepool_put_under(&pool, cells, &done, from);
    size_t before = done;
    REQUIRE(nl_pagepool_repeat_part(&pool, cells, &from, &to, 0x0101010101010101, &done));
    CHECK(from == before && to <= BYTES / 2 + 777 && to > BYTES / 2 - 65536);
    CHECK(done >= BYTES / 2 + 777);
    nl_pagepool_put_under(&pool, cells, &done, BYTES);
    unsigned wrong = 0;
    for (size_t i = from; i < to; i++)
        wrong += cells[i] != 1;
    CHECK_INT(wrong, 0);
    memset(cells + to, 2, BYTES - to);
    memset(cells, 3, from);
    CHECK(cells[from] == 1 && cells[to - 1] == 1);
    from = 0;
    to = 70000;
    CHECK(!nl_pagepool_repeat_part(&pool, cells, &from, &to, 1, &done)); /* too few */
    CHECK(from == 0 && to == 70000);
    nl_pagepool_free(&pool, cells, BYTES);
    nl_pagepool_release(&pool);
}

CHECK_MAIN("columns", {"stretches of one value", stretches_of_one_value},
           {"parts of an array", parts_of_an_array})
