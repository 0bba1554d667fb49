/*
 * causetext — how causes write down what they found: sentences, conditions in SQL, cost and
 * confidence. The SQL looks at the whole profile, as `neurolens sql` does, so a window appears in
 * it as conditions on time.
 */
#include <math.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/chars.h"
#include "tables/resultcells.h"
#include "tables/readname.h"
#include "tables/shortname.h"
#include "findings/cause.h"
#include "base/units.h"

#define SAY_BYTES    8192
#define KERNEL_READ  4096
#define KERNEL_SHOWN 64

void *nl_scene_alloc(const struct nl_scene *scene, size_t bytes)
{
    pthread_mutex_lock(&scene->locks->texts);
    void *memory = nl_arena_alloc(scene->arena, bytes);
    pthread_mutex_unlock(&scene->locks->texts);
    return memory;
}

const char *nl_scene_text(const struct nl_scene *scene, struct nl_str text)
{
    char *copy = nl_scene_alloc(scene, text.len + 1);
    if (text.len)
        memcpy(copy, text.ptr, text.len);
    return copy;
}

const char *nl_say(const struct nl_scene *scene, const char *format, ...)
{
    char text[SAY_BYTES];
    va_list list;
    va_start(list, format);
    int len = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (len < 0)
        len = 0;
    return nl_scene_text(
        scene, (struct nl_str){text, (size_t)len < sizeof text ? (size_t)len : sizeof text - 1});
}

const char *nl_say_ns(const struct nl_scene *scene, int64_t ns)
{
    char text[NL_UNIT_TEXT];
    return nl_say(scene, "%s", nl_format_ns(text, ns));
}

const char *nl_say_share(const struct nl_scene *scene, double share)
{
    char text[NL_UNIT_TEXT];
    return nl_say(scene, "%s", nl_format_percent(text, share));
}

const char *nl_say_bytes(const struct nl_scene *scene, uint64_t bytes)
{
    char text[NL_UNIT_TEXT];
    return nl_say(scene, "%s", nl_format_bytes(text, bytes));
}

const char *nl_say_kernel(const struct nl_scene *scene, struct nl_str name)
{
    struct nl_buf read, shown;
    nl_buf_init(&read, KERNEL_READ);
    nl_buf_init(&shown, KERNEL_READ);
    nl_read_kernel(&read, name);
    nl_elide_name(&shown, (struct nl_str){read.len ? read.ptr : "", read.len}, KERNEL_SHOWN);
    const char *text = nl_say(scene, "%.*s", (int)shown.len, shown.len ? shown.ptr : "");
    nl_buf_release(&read);
    nl_buf_release(&shown);
    return text;
}

const char *nl_say_count(const struct nl_scene *scene, uint64_t count)
{
    char text[NL_UNIT_TEXT];
    return nl_say(scene, "%s", nl_format_count(text, count));
}

const char *nl_say_rate(const struct nl_scene *scene, double bytes_per_s)
{
    char text[NL_UNIT_TEXT];
    return nl_say(scene, "%s", nl_format_rate(text, bytes_per_s));
}

const char *nl_say_quoted(const struct nl_scene *scene, struct nl_str text)
{
    char *out = nl_scene_alloc(scene, 2 * text.len + 3), *to = out;
    *to++ = '\'';
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            *to++ = '\'';
        *to++ = text.ptr[i];
    }
    *to++ = '\'';
    return out;
}

/* ---- Conditions ---- */

static const char *number(const struct nl_scene *scene, const char *alias, const char *column,
                          int64_t value)
{
    return value == NL_NULL_I64 ? nl_say(scene, "%s%s IS NULL", alias, column)
                                : nl_say(scene, "%s%s = %" PRId64, alias, column, value);
}

const char *nl_scene_during(const struct nl_scene *scene, const char *alias)
{
    if (!scene->window->has_time)
        return "";
    int64_t first = scene->trace->first_ts;
    return nl_say(scene, " AND %sts >= %" PRId64 " AND %sts < %" PRId64, alias,
                  scene->window->start - first, alias, scene->window->end - first);
}

const char *nl_scene_place(const struct nl_scene *scene, const char *alias)
{
    const char *device = number(scene, alias, "device", scene->device->ordinal);
    if (scene->cpu)
        device = nl_say(scene, "%s AND %s", device,
                        number(scene, alias, "process",
                               scene->device->process == NL_NULL_ROW
                                   ? NL_NULL_I64
                                   : scene->trace->process.pid[scene->device->process]));
    if (scene->device->rank == NL_NULL_I64)
        return device;
    return nl_say(scene, "%s AND %s", number(scene, alias, "rank", scene->device->rank), device);
}

const char *nl_scene_on(const struct nl_scene *scene, const char *alias)
{
    return nl_say(scene, "%s%s", nl_scene_place(scene, alias), nl_scene_during(scene, alias));
}

const char *nl_scene_args(const struct nl_scene *scene)
{
    if (!scene->window->has_time)
        return "";
    int64_t first = scene->trace->first_ts;
    return nl_say(scene, "(%" PRId64 ", %" PRId64 ")", scene->window->start - first,
                  scene->window->end - first);
}

const char *nl_scene_name(const struct nl_scene *scene)
{
    const struct nl_idle_device *device = scene->device;
    if (scene->cpu)
        return device->rank == NL_NULL_I64 ? "the CPU"
                                           : nl_say(scene, "rank %" PRId64, device->rank);
    const char *gpu = device->ordinal == NL_NULL_I64
                          ? "the device"
                          : nl_say(scene, "%s %" PRId64,
                                   nl_device_word(scene->trace, device->device), device->ordinal);
    return device->rank == NL_NULL_I64 ? gpu
                                       : nl_say(scene, "rank %" PRId64 " %s", device->rank, gpu);
}

const char *nl_scene_exposed_sql(const struct nl_scene *scene, const char *condition)
{
    const char *place = nl_scene_place(scene, "");
    const char *set = nl_say(
        scene,
        "interval_subtract((SELECT intervals(ts, dur) FROM copies WHERE %s AND %s), "
        "(SELECT intervals(ts, dur) FROM (SELECT ts, dur FROM kernels WHERE %s AND (class IS NULL "
        "OR class IN ('compute', 'communication'))%s)))",
        nl_scene_on(scene, ""), condition, place,
        scene->trace->graph.rows
            ? nl_say(scene, " UNION ALL SELECT ts, dur FROM graph_launches WHERE %s", place)
            : "");
    if (!scene->window->has_time)
        return nl_say(scene, "SELECT interval_length(%s)", set);
    int64_t first = scene->trace->first_ts;
    return nl_say(scene, "SELECT overlap_ns(%s, (SELECT intervals(%" PRId64 ", %" PRId64 ")))", set,
                  scene->window->start - first, scene->window->end - scene->window->start);
}

/* ---- Findings ---- */

void nl_find(const struct nl_scene *scene, struct nl_finding *finding, int64_t cost_ns,
             double critical_share, double coverage)
{
    double share = nl_scene_share(scene, cost_ns);
    finding->cost_ns = cost_ns;
    finding->cost_share = scene->parts->starts_unknown ? (double)NAN : share < 1 ? share : 1;
    finding->saving_ns[0] = cost_ns / 2;
    finding->saving_ns[1] = cost_ns;
    finding->severity = share >= critical_share ? NL_SEVERITY_CRITICAL : NL_SEVERITY_WARNING;
    finding->confidence = coverage; /* times that of its cause: sureness.h */
}

void nl_title(const struct nl_scene *scene, struct nl_finding *finding, const char *format, ...)
{
    char text[SAY_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (nl_is_lower(text[0]) && !strncmp(text, "rank ", 5))
        text[0] = 'R';
    finding->title = nl_scene_text(scene, nl_str(text));
}

struct nl_evidence *nl_evidence(struct nl_finding *finding, struct nl_evidence evidence)
{
    if (finding->evidence_count == NL_FINDING_EVIDENCE)
        NL_BUG("a cause has too much evidence");
    finding->evidence[finding->evidence_count] = evidence;
    return &finding->evidence[finding->evidence_count++];
}

enum nl_verdict nl_abstain(struct nl_finding *finding, const char *reason)
{
    finding->reason = reason;
    return NL_CAUSE_ABSTAINED;
}
