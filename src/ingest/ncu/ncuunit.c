/*
 * Units of Nsight Compute. Pages scale them per column and spell them by version; reports keep base
 * units and do not name them, so the name of a metric must decide.
 */
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/utf8.h"
#include "ingest/ncu/ncu.h"

static const struct {
    const char *spelled, *base;
    int exponent;
} words[] = {
    {"nsecond", "ns", 0},   {"usecond", "ns", 3},  {"msecond", "ns", 6},     {"second", "ns", 9},
    {"ns", "ns", 0},        {"us", "ns", 3},       {"ms", "ns", 6},          {"s", "ns", 9},
    {"hz", "Hz", 0},        {"khz", "Hz", 3},      {"mhz", "Hz", 6},         {"ghz", "Hz", 9},
    {"byte", "bytes", 0},   {"kbyte", "bytes", 3}, {"mbyte", "bytes", 6},    {"gbyte", "bytes", 9},
    {"tbyte", "bytes", 12}, {"bytes", "bytes", 0}, {"sectors", "sector", 0},
};

/* One side of a unit, case ignored: its base word and exponent; an unknown one as it is. */
static int base_word(struct nl_str word, char *out, size_t room)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (word.len == strlen(words[i].spelled) &&
            nl_str_find_nocase(word, words[i].spelled) == 0) {
            snprintf(out, room, "%s", words[i].base);
            return words[i].exponent;
        }
    snprintf(out, room, "%.*s", NL_UP_TO(20, word));
    return 0;
}

struct ncu_unit ncu_unit(struct nl_str spelled)
{
    struct ncu_unit unit = {.exponent = 0};
    char above[24], below[24];
    const char *slash = spelled.len ? memchr(spelled.ptr, '/', spelled.len) : NULL;
    if (!slash) {
        unit.exponent = base_word(spelled, unit.text, sizeof above);
        return unit;
    }
    size_t at = (size_t)(slash - spelled.ptr);
    if (nl_str_is((struct nl_str){spelled.ptr, at}, "%")) { /* as it is: 2.6 %/Kbyte */
        snprintf(unit.text, sizeof unit.text, "%.*s", NL_UP_TO(40, spelled));
        return unit;
    }
    unit.exponent = base_word((struct nl_str){spelled.ptr, at}, above, sizeof above);
    int down = base_word((struct nl_str){slash + 1, spelled.len - at - 1}, below, sizeof below);
    if (strcmp(below, "ns") == 0) { /* per time is per second */
        snprintf(below, sizeof below, "s");
        down -= 9;
    }
    unit.exponent -= down;
    if (strcmp(above, "cycle") == 0 && strcmp(below, "s") == 0)
        snprintf(unit.text, sizeof unit.text, "Hz");
    else
        snprintf(unit.text, sizeof unit.text, "%s/%s", above[0] ? above : "1", below);
    return unit;
}

/* The first row that matches decides. */
static const struct {
    enum { IS, STARTS, HAS } how;
    const char *text, *unit;
} rules[] = {
    {STARTS, "device__", ""},
    {STARTS, "nvlink__", ""},
    {STARTS, "numa__", ""},
    {STARTS, "c2clink__", ""},
    {STARTS, "pmsampling:", ""},
    {STARTS, "breakdown:", ""},
    {STARTS, "group:", ""},
    {HAS, ".pct", "%"},
    {HAS, "_pct", "%"},
    {IS, "launch__shared_mem_config_size", "bytes"},
    {IS, "launch__thread_count", "thread"},
    {IS, "launch__sm_count", "SM"},
    {STARTS, "launch__block_dim_", "block"},
    {STARTS, "launch__occupancy_limit_", "block"},
    {STARTS, "launch__registers_per_thread", "register/thread"},
    {STARTS, "launch__shared_mem_per_block", "bytes/block"},
    {STARTS, "launch__", ""},
    {HAS, "_per_opcode", ""},
    {STARTS, "smsp__pcsamp_buffer_size_bytes", "bytes"},
    {STARTS, "smsp__pcsamp_", ""},
    {STARTS, "derived__", ""},
    {STARTS, "memory_", "sector"},
    {STARTS, "smsp__average_warps_issue_stalled_", "inst"},
    {STARTS, "smsp__average_warp", "cycle"},
    {HAS, ".ratio", ""},
};

bool ncu_is_percent(struct nl_str metric)
{
    return nl_str_contains(metric, "_pct") || nl_str_contains(metric, ".pct");
}

struct ncu_unit ncu_unit_in(struct nl_str spelled, bool percent)
{
    struct ncu_unit unit = ncu_unit(spelled);
    if (!percent || strcmp(unit.text, "bytes") != 0)
        return unit;
    unit.exponent = 0;
    snprintf(unit.text, sizeof unit.text, "%%/%.*s", NL_UP_TO(20, spelled));
    return unit;
}

/* What a counter counts, by a word before its first dot. */
static const struct {
    const char *word, *unit;
} counted[] = {
    {"time_duration", "ns"}, {"bytes", "bytes"},        {"sectors", "sector"},
    {"requests", "request"}, {"cycles", "cycle"},       {"writeback_active", "cycle"},
    {"inst_", "inst"},       {"maximum_warps", "warp"}, {"warps", "warp"},
    {"passes", "pass"},
};

static const char *counted_unit(struct nl_str unit_word, struct nl_str rollup)
{
    static const struct {
        const char *unit, *per_second, *per_cycle;
    } rates[] = {
        {"bytes", "bytes/s", "bytes/cycle"},
        {"sector", "sector/s", "sector/cycle"},
        {"request", "request/s", "request/cycle"},
        {"cycle", "Hz", ""},
        {"inst", "inst/s", "inst/cycle"},
        {"warp", "warp/s", "warp"},
        {"ns", "", ""},
        {"pass", "", ""},
    };
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        if (!nl_str_is(unit_word, rates[i].unit))
            continue;
        if (nl_str_contains(rollup, "per_second"))
            return rates[i].per_second;
        if (nl_str_contains(rollup, "per_cycle") || nl_str_contains(rollup, "peak_sustained"))
            return rates[i].per_cycle;
        return rates[i].unit;
    }
    return "";
}

const char *ncu_unit_of(struct nl_str metric)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].how == IS       ? nl_str_is(metric, rules[i].text)
            : rules[i].how == STARTS ? nl_str_starts(metric, rules[i].text)
                                     : nl_str_contains(metric, rules[i].text))
            return rules[i].unit;
    const char *dot = metric.len ? memchr(metric.ptr, '.', metric.len) : NULL;
    size_t before = dot ? (size_t)(dot - metric.ptr) : metric.len;
    struct nl_str quantity = {metric.ptr, before};
    struct nl_str rollup = {metric.ptr + before, metric.len - before};
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++)
        if (nl_str_contains(quantity, counted[i].word))
            return counted_unit(nl_str(counted[i].unit), rollup);
    return "";
}

bool ncu_triple(struct nl_str text, uint32_t out[3])
{
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        while (at < text.len && strchr("(, ", text.ptr[at]))
            at++;
        uint64_t value = 0;
        size_t start = at;
        for (; at < text.len && nl_is_digit(text.ptr[at]); at++)
            if ((value = value * 10 + (uint64_t)(text.ptr[at] - '0')) >= UINT32_MAX)
                return false;
        if (at == start)
            return false;
        out[i] = (uint32_t)value;
    }
    return true;
}
