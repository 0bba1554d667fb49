/* What a step of each candidate costs: energy from telemetry, price as given. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compare/rankinner.h"
#include "tables/resultcells.h"

#define NS_PER_HOUR 3.6e12

/* ---- prices ---- */

static bool is_named(const struct rank_candidate *c, const char *name)
{
    return !strcmp(rank_word(c), name) || !strcmp(c->input->word, name);
}

/* A part of the device's name in any case: "H100", "a100-sxm4". */
static bool is_device(struct nl_str device, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i + len <= device.len; i++)
        if (!strncasecmp(device.ptr + i, name, len))
            return true;
    return false;
}

/* Of a device's name the price is that of each device; of a candidate's that of
 * all it ran on, and it wins. */
static size_t price_devices(struct ranking *r, const struct nl_rank_price *price)
{
    size_t found = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct rank_candidate *c = &r->items[i];
        size_t devices = rank_device_count(c);
        if (!is_device(rank_device(c), price->name))
            continue;
        c->price = price->usd_per_hour * (double)devices;
        found++;
    }
    return found;
}

static size_t count_named(const struct ranking *r, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += is_named(&r->items[i], name);
    return count;
}

static bool take_prices(struct ranking *r, const struct nl_rank_price *prices, size_t count,
                        struct nl_err *err)
{
    for (size_t i = 0; i < count; i++) {
        if (count_named(r, prices[i].name) || price_devices(r, &prices[i]))
            continue;
        struct nl_str device = rank_device(&r->items[0]);
        return nl_fail(
            err, NL_USAGE,
            "--price %s: no candidate and no device is called that; name a candidate as it is "
            "typed here, or a part of a device's name%s%.*s",
            prices[i].name, device.len ? ", such as " : "", (int)device.len,
            device.len ? device.ptr : "");
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < r->count; k++)
            if (is_named(&r->items[k], prices[i].name))
                r->items[k].price = prices[i].usd_per_hour;
    return true;
}

/* ---- batch ---- */

static const char *fact_of(const struct ranking *r, const struct rank_candidate *c,
                           const char *name)
{
    for (size_t i = 0; i < c->facts.count; i++)
        if (!strcmp(c->facts.items[i].name, name))
            return c == r->order[0] ? c->facts.items[i].base : c->facts.items[i].changed;
    return NULL;
}

static double batch_of(const struct ranking *r, const struct rank_candidate *c)
{
    const char *text = fact_of(r, c, "batch size");
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    return text && end != text && !*end && value > 0 && isfinite(value) ? value : NAN;
}

bool rank_costs_find(struct ranking *r, const struct nl_rank_price *prices, size_t count,
                     struct nl_err *err)
{
    for (size_t i = 0; i < r->count; i++)
        r->items[i].price = r->items[i].price_step = NAN;
    if (!take_prices(r, prices, count, err))
        return false;
    for (size_t i = 0; i < r->count; i++) {
        struct rank_candidate *c = &r->items[i];
        c->energy = diff_energy_of(&c->side);
        c->batch = c->side.by_step ? batch_of(r, c) : NAN;
        c->price_step = c->price * c->time / NS_PER_HOUR;
    }
    return true;
}

/* ---- table ---- */

#define COST_COLUMNS(C)                                                                            \
    C(candidate, NULL, TEXT)                                                                       \
    C(devices, NULL, COUNT)                                                                        \
    C(batch_size, "batch", NUMBER)                                                                 \
    C(items_per_s, "items/s", NUMBER)                                                              \
    C(power_w, "W", NUMBER)                                                                        \
    C(energy_j, "J a step", NUMBER)                                                                \
    C(energy_per_item_j, "J an item", NUMBER)                                                      \
    C(energy_known_share, "of the time read", SHARE)                                               \
    C(price_per_hour_usd, "USD/h", NUMBER)                                                         \
    C(price_usd, "USD a step", NUMBER)                                                             \
    C(price_per_item_usd, "USD an item", NUMBER)
NL_COLUMNS(COST_COLUMNS);

struct nl_result *rank_cost_table(const struct ranking *r)
{
    struct nl_result *result = NL_ANSWER_NEW("cost", "What a step costs", columns);
    result->note =
        "an item is one of the batch; energy needs power or energy of the devices in the "
        "recording (`neurolens run` reads both), prices come from --price NAME=USD";
    for (size_t i = 0; i < r->count; i++) {
        const struct rank_candidate *c = r->order[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_candidate] = nl_cell_text(result, nl_str(rank_word(c)));
        cells[AT_devices] =
            rank_device_count(c) ? nl_cell_count(rank_device_count(c)) : (struct nl_cell){0};
        cells[AT_batch_size] = nl_cell_f64(c->batch);
        cells[AT_items_per_s] = nl_cell_f64(c->batch / c->time * 1e9);
        cells[AT_power_w] = nl_cell_f64(c->energy.watts);
        cells[AT_energy_j] = nl_cell_f64(c->energy.joules);
        cells[AT_energy_per_item_j] = nl_cell_f64(c->energy.joules / c->batch);
        cells[AT_energy_known_share] = nl_cell_f64(c->energy.share);
        cells[AT_price_per_hour_usd] = nl_cell_f64(c->price);
        cells[AT_price_usd] = nl_cell_f64(c->price_step);
        cells[AT_price_per_item_usd] = nl_cell_f64(c->price_step / c->batch);
    }
    return result;
}
