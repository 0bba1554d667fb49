/*
 * deviceorder — rows of a table by the device that they are of, in the order of the table. A job
 * may have thousands of devices: who asks for the rows of each must not walk over all rows.
 *
 *     struct nl_device_order order;
 *     nl_device_order_init(&order, &items[0].device, sizeof *items, count);
 *     const uint32_t *rows = nl_device_order_of(&order, device, &found);
 *     nl_device_order_release(&order);
 */
#ifndef NL_DEVICEORDER_H
#define NL_DEVICEORDER_H

#include <stddef.h>
#include <stdint.h>

struct nl_device_order {
    uint32_t *rows;   /* ascending within a device */
    uint32_t *first;  /* per device: where its part of `rows` begins; then of none; then the end */
    uint32_t devices; /* the highest device row + 1 */
};

/* `device`: the cell of the first row, NL_NULL_ROW for none; the others each `stride` bytes on. */
void nl_device_order_init(struct nl_device_order *order, const uint32_t *device, size_t stride,
                          size_t count);
/* Rows of a device row (NL_NULL_ROW: of none), and how many. */
const uint32_t *nl_device_order_of(const struct nl_device_order *order, uint32_t device,
                                   size_t *count);
void nl_device_order_release(struct nl_device_order *order);

#endif
