/* Rows by device (work/deviceorder.c): each row once, in order, also those of no device. */
#include "check.h"

#include "store/trace.h"
#include "work/deviceorder.h"

struct row {
    int64_t other;
    uint32_t device;
};

/* What one asks for by walking over all rows is what the order gives. */
static void gives_each_row_once(void)
{
    static const struct row rows[] = {{1, 3}, {2, NL_NULL_ROW}, {3, 0}, {4, 3},
                                      {5, 0}, {6, NL_NULL_ROW}, {7, 3}};
    struct nl_device_order order;
    nl_device_order_init(&order, &rows[0].device, sizeof rows[0], CHECK_LENGTH(rows));
    size_t all = 0;
    for (uint32_t device = 0; device < 6; device++) {
        uint32_t asked = device == 5 ? NL_NULL_ROW : device;
        size_t count, found = 0;
        const uint32_t *of = nl_device_order_of(&order, asked, &count);
        for (uint32_t i = 0; i < CHECK_LENGTH(rows); i++)
            if (rows[i].device == asked) {
                CHECK(found < count && of[found] == i);
                found++;
            }
        CHECK_INT(count, found);
        all += count;
    }
    CHECK_INT(all, CHECK_LENGTH(rows));
    nl_device_order_release(&order);
}

static void nothing_has_no_rows(void)
{
    struct nl_device_order order = {0};
    size_t count = 1;
    (void)nl_device_order_of(&order, 0, &count);
    CHECK_INT(count, 0);
    count = 1;
    (void)nl_device_order_of(&order, NL_NULL_ROW, &count);
    CHECK_INT(count, 0);
    nl_device_order_release(&order);
}

CHECK_MAIN("deviceorder", {"gives each row once", gives_each_row_once},
           {"nothing has no rows", nothing_has_no_rows})
