/* The fingerprint as the document holds it: every part with all its items, so that two documents
 * can be compared without their profiles (docs/fingerprint.md). */
#include <math.h>

#include "fingerprint/fingerprint.h"
#include "rundoc/runparts.h"
#include "base/sum.h"

static void write_hash(struct run_parts *parts, const char *key, uint64_t hash)
{
    char text[20];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)hash);
    run_static(parts, key, text);
}

/* Times are whole ns. */
static void write_value(struct run_parts *parts, const struct nl_fingerprint_value_def *def,
                        double value)
{
    if (def->meaning == NL_MEANS_NS)
        run_i64(parts, def->column, isnan(value) ? NL_NULL_I64 : nl_whole_i64(value));
    else
        run_f64(parts, def->column, value);
}

static void write_item(struct run_parts *parts, const struct nl_fingerprint_item *item)
{
    run_row(parts);
    run_static(parts, "signature", item->signature);
    write_hash(parts, "hash", item->hash);
    run_static(parts, "family", item->family);
    run_static(parts, "category", item->category);
    run_u64(parts, "count", item->count);
    run_i64(parts, "total_ns", item->total_ns);
    run_f64(parts, "share", item->share > 1 ? 1 : item->share); /* rounding of the quotient */
    for (int v = 0; v < NL_FINGERPRINT_VALUES; v++)
        write_value(parts, &nl_fingerprint_values[v], item->values[v]);
    run_row_end(parts);
}

static void write_part(struct run_parts *parts, const char *name,
                       const struct nl_fingerprint_list *list)
{
    nl_json_open(&parts->json, '{');
    run_static(parts, "part", name);
    write_hash(parts, "signature", nl_fingerprint_signature(list));
    run_u64(parts, "calls", list->calls);
    run_i64(parts, "total_ns", list->total_ns);
    run_open(parts, "items", '[');
    for (size_t i = 0; i < list->count; i++)
        write_item(parts, &list->items[i]);
    run_close(parts, ']');
    run_close(parts, '}');
}

void run_write_fingerprint(struct run_parts *parts)
{
    const struct nl_runfingerprint *print = parts->print;
    if (!print) {
        nl_json_null(&parts->json);
        return;
    }
    nl_json_open(&parts->json, '{');
    run_u64(parts, "form", NL_FINGERPRINT_FORM);
    run_static(parts, "device_name", print->device);
    run_u64(parts, "excluded_steps", print->excluded_steps);
    run_open(parts, "parts", '[');
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++)
        if (print->parts[p].count)
            write_part(parts, nl_fingerprint_part_names[p], &print->parts[p]);
    run_close(parts, ']');
    nl_json_close(&parts->json, '}');
}
