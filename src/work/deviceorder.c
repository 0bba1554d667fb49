/* deviceorder — see deviceorder.h. */
#include "work/deviceorder.h"

#include "base/mem.h"
#include "store/trace.h"

static uint32_t device_at(const uint32_t *device, size_t stride, size_t row)
{
    return *(const uint32_t *)(const void *)((const char *)device + row * stride);
}

/* Rows of no device come last. */
static uint32_t place_of(const struct nl_device_order *order, uint32_t device)
{
    return device == NL_NULL_ROW ? order->devices : device;
}

void nl_device_order_init(struct nl_device_order *order, const uint32_t *device, size_t stride,
                          size_t count)
{
    *order = (struct nl_device_order){0};
    for (size_t i = 0; i < count; i++) {
        uint32_t at = device_at(device, stride, i);
        if (at != NL_NULL_ROW && at >= order->devices)
            order->devices = at + 1;
    }
    order->rows = nl_alloc((count + 1) * sizeof *order->rows);
    order->first = nl_zalloc(((size_t)order->devices + 2) * sizeof *order->first);
    for (size_t i = 0; i < count; i++)
        order->first[place_of(order, device_at(device, stride, i)) + 1]++;
    for (uint32_t i = 0; i <= order->devices; i++)
        order->first[i + 1] += order->first[i];
    uint32_t *next = nl_alloc(((size_t)order->devices + 1) * sizeof *next);
    for (uint32_t i = 0; i <= order->devices; i++)
        next[i] = order->first[i];
    for (size_t i = 0; i < count; i++)
        order->rows[next[place_of(order, device_at(device, stride, i))]++] = (uint32_t)i;
    nl_free(next);
}

const uint32_t *nl_device_order_of(const struct nl_device_order *order, uint32_t device,
                                   size_t *count)
{
    uint32_t place = place_of(order, device);
    *count = 0;
    if (!order->first || (device >= order->devices && device != NL_NULL_ROW))
        return order->rows;
    *count = order->first[place + 1] - order->first[place];
    return order->rows + order->first[place];
}

void nl_device_order_release(struct nl_device_order *order)
{
    nl_free(order->rows);
    nl_free(order->first);
    *order = (struct nl_device_order){0};
}
