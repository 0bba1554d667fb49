/*
 * Profiles from before profile.proto.
 *
 * Binary CPU profiles of gperftools are machine words, 4 or 8 bytes, either byte order: a header
 * 0, 3, 0, period in µs, 0; records count, frames, addresses (leaf first); a trailer 0, 1, 0; then
 * text: /proc/self/maps, or for Java the symbols of the addresses.
 *
 * Text profiles say "heap profile: …", "--- contentionz …" or "goroutine profile: …", then a line
 * per stack: numbers, '@', addresses; then the maps. Go writes the symbols of the addresses below
 * each stack. Heap profiles that were sampled are scaled up to all allocations, as pprof does it:
 * small ones are seen less often, so that shares of what was sampled blame the large ones. Waits
 * for locks are kept as recorded.
 */
#include "ingest/pprof/pprof.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/hex.h"
#include "base/mem.h"
#include "base/map.h"

#define NO_ADDRESS UINT64_MAX
#define MAX_RANGES 4096 /* each is looked through once per address */

struct range {
    uint64_t from, to;
    uint32_t module;
};

struct legacy {
    struct cpuprofile *profile;
    const unsigned char *at, *end;
    unsigned word;
    bool big_endian;
    struct range *ranges;
    size_t range_count, range_cap;
    struct symbol {
        struct nl_stack_row frame;
        uint32_t outer; /* of an inlined call: row of its caller + 1 */
    } * symbols;        /* of addresses, where the file has them */
    size_t symbol_count, symbol_cap;
    uint64_t symbol_address; /* of the line before, in Go's texts */
    bool symbol_open;        /* that line made the symbol: more may be inlined there */
    struct nl_idmap symbol_index;
    uint64_t *stack;
    size_t depth, cap;
    uint64_t bad;
    uint64_t heap_rate; /* bytes between two samples of allocations; 0: every one was recorded */
    bool cut;
};

/* ---- words ---- */

static bool next_word(struct legacy *l, uint64_t *value)
{
    uint64_t sum = 0;
    if ((size_t)(l->end - l->at) < l->word)
        return false;
    for (unsigned i = 0; i < l->word; i++)
        sum |= (uint64_t)l->at[l->big_endian ? l->word - 1 - i : i] << (8 * i);
    l->at += l->word;
    *value = sum;
    return true;
}

/* The header in one of the four shapes a word can have; the reader stands after it. */
static bool read_header(struct legacy *l, const unsigned char *bytes, size_t len,
                        uint64_t *period_us)
{
    for (unsigned shape = 0; shape < 4; shape++) {
        uint64_t word[5] = {1, 0, 0, 0, 1};
        l->at = bytes;
        l->end = bytes + len;
        l->word = shape & 1 ? 4 : 8;
        l->big_endian = shape & 2;
        bool whole = true;
        for (unsigned i = 0; i < 5; i++)
            whole = whole && next_word(l, &word[i]);
        bool known = word[1] >= 3 && word[1] <= 16 && word[2] <= 1;
        for (uint64_t extra = 3; known && whole && extra < word[1]; extra++)
            whole = next_word(l, &word[4]);
        if (whole && known && word[0] == 0 && word[3] > 0 && word[3] <= 60000000) {
            *period_us = word[3];
            return true;
        }
    }
    return false;
}

static bool is_text_profile(struct nl_str text)
{
    static const char *const starts[] = {"heap profile:",      "--- contentionz",
                                         "--- mutex:",         "--- contention:",
                                         "goroutine profile:", "threadcreate profile:"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(text, starts[i]))
            return true;
    return false;
}

int pprof_legacy_sniff(const unsigned char *head, size_t len)
{
    struct legacy l = {0};
    uint64_t period;
    if (is_text_profile((struct nl_str){(const char *)head, len}))
        return 90;
    return len >= 40 && read_header(&l, head, len, &period) ? 85 : 0;
}

/* ---- text ---- */

static bool next_line(struct legacy *l, struct nl_str *line)
{
    if (l->at >= l->end)
        return false;
    const unsigned char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
    const unsigned char *last = stop ? stop : l->end;
    *line = (struct nl_str){(const char *)l->at, (size_t)(last - l->at)};
    l->at = stop ? stop + 1 : l->end;
    while (line->len && (*line->ptr == ' ' || *line->ptr == '\t')) {
        line->ptr++;
        line->len--;
    }
    return true;
}

/* Over 15: none. */
static unsigned digit_of(char c)
{
    return (unsigned)nl_hex_digit(c);
}

/* A number at the start of the text, taken off it with the blanks before. */
static bool take_number(struct nl_str *text, unsigned base, uint64_t *number)
{
    size_t at = 0;
    uint64_t sum = 0;
    while (at < text->len && (text->ptr[at] == ' ' || text->ptr[at] == '\t'))
        at++;
    if (base == 16 && at + 2 < text->len && text->ptr[at] == '0' && text->ptr[at + 1] == 'x')
        at += 2;
    size_t start = at;
    while (at < text->len && digit_of(text->ptr[at]) < base && at - start < 19)
        sum = sum * base + digit_of(text->ptr[at++]);
    text->ptr += at;
    text->len -= at;
    *number = sum;
    return at > start;
}

static bool take_char(struct nl_str *text, char c)
{
    size_t at = 0;
    while (at < text->len && text->ptr[at] == ' ')
        at++;
    if (at >= text->len || text->ptr[at] != c)
        return false;
    text->ptr += at + 1;
    text->len -= at + 1;
    return true;
}

/* "400000-af2000 r-xp 00000000 fc:00 123   /path" */
static bool read_map(struct legacy *l, struct nl_str line)
{
    struct range range = {0};
    if (!take_number(&line, 16, &range.from) || !take_char(&line, '-') ||
        !take_number(&line, 16, &range.to) || range.to <= range.from)
        return false;
    ptrdiff_t slash = nl_str_find_nocase(line, " /");
    ptrdiff_t bracket = nl_str_find_nocase(line, " [");
    ptrdiff_t at = slash >= 0 ? slash : bracket;
    if (at >= 0) {
        line.ptr += at + 1;
        line.len -= (size_t)at + 1;
        range.module = cpuprofile_name(l->profile, line);
    }
    if (l->range_count == MAX_RANGES)
        return true;
    nl_grow(&l->ranges, &l->range_cap, l->range_count + 1);
    l->ranges[l->range_count++] = range;
    return true;
}

static void add_symbol(struct legacy *l, uint64_t address, const struct nl_stack_row *frame)
{
    nl_grow(&l->symbols, &l->symbol_cap, l->symbol_count + 1);
    if (address != NO_ADDRESS)
        nl_idmap_put(&l->symbol_index, address, (uint32_t)l->symbol_count);
    l->symbols[l->symbol_count++] = (struct symbol){.frame = *frame};
}

/* Java: "0x1e com.example.work (Source.java:12)" */
static void read_symbol(struct legacy *l, struct nl_str line)
{
    uint64_t address;
    struct nl_stack_row frame = nl_stack_row();
    if (!nl_str_starts(line, "0x") || !take_number(&line, 16, &address) || !line.len ||
        *line.ptr != ' ')
        return;
    while (line.len && *line.ptr == ' ') {
        line.ptr++;
        line.len--;
    }
    if (!line.len)
        return;
    cpuprofile_frame_text(l->profile, &frame, line);
    add_symbol(l, address, &frame);
}

static struct nl_str take_tabbed(struct nl_str *line)
{
    struct nl_str word = *line;
    const char *tab = memchr(line->ptr, '\t', line->len);
    word.len = tab ? (size_t)(tab - line->ptr) : line->len;
    line->ptr += word.len;
    line->len -= word.len;
    while (line->len && line->ptr[0] == '\t') {
        line->ptr++;
        line->len--;
    }
    return word;
}

/* Go: "#\t0x43e0c5\truntime.gopark+0xe5\t\t/go/src/runtime/proc.go:398", innermost first. The
 * address is that of the call, one before where the stack says that it returns to. A line with the
 * address of the one above is the caller that it was inlined into. */
static bool read_go_symbol(struct legacy *l, struct nl_str line)
{
    uint64_t address, number;
    struct nl_stack_row frame = nl_stack_row();
    if (!nl_str_starts(line, "#\t0x")) {
        l->symbol_open = false;
        return false;
    }
    line.ptr += 2;
    line.len -= 2;
    (void)take_number(&line, 16, &address);
    (void)take_tabbed(&line);
    struct nl_str name = take_tabbed(&line), place = take_tabbed(&line);
    ptrdiff_t plus = nl_str_find_nocase(name, "+0x");
    name.len = plus > 0 ? (size_t)plus : name.len;
    frame.name = cpuprofile_name(l->profile, name);
    size_t colon = place.len;
    while (colon > 0 && place.ptr[colon - 1] != ':')
        colon--;
    struct nl_str digits = {place.ptr + colon, place.len - colon};
    if (colon > 1 && take_number(&digits, 10, &number) && number < NL_NULL_U32) {
        frame.file = cpuprofile_name(l->profile, (struct nl_str){place.ptr, colon - 1});
        frame.line = (uint32_t)number;
    }
    bool inlined = l->symbol_open && address == l->symbol_address;
    if (!inlined && nl_idmap_get(&l->symbol_index, address) != NL_NO_ROW) {
        l->symbol_open = false;
        return true;
    }
    if (inlined)
        l->symbols[l->symbol_count - 1].outer = (uint32_t)l->symbol_count + 1;
    else if (nl_idmap_get(&l->symbol_index, address + 1) == NL_NO_ROW)
        nl_idmap_put(&l->symbol_index, address + 1, (uint32_t)l->symbol_count);
    add_symbol(l, inlined ? NO_ADDRESS : address, &frame);
    l->symbol_address = address;
    l->symbol_open = true;
    return true;
}

static void read_tail(struct legacy *l)
{
    struct nl_str line;
    while (!cpuprofile_stopped(l->profile) && next_line(l, &line))
        if (!read_go_symbol(l, line) && !read_map(l, line))
            read_symbol(l, line);
}

/* ---- stacks ---- */

static uint32_t module_of(const struct legacy *l, uint64_t address)
{
    for (size_t i = 0; i < l->range_count; i++)
        if (address >= l->ranges[i].from && address < l->ranges[i].to)
            return l->ranges[i].module;
    return NL_NO_NAME;
}

/* The symbol of an address, looked up once. */
static uint32_t symbol_of(struct legacy *l, uint64_t address)
{
    uint32_t row = nl_idmap_get(&l->symbol_index, address);
    if (row == NL_NO_ROW) {
        char text[32];
        struct nl_stack_row frame = nl_stack_row();
        (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
        frame.name = cpuprofile_name(l->profile, nl_str(text));
        frame.module = module_of(l, address);
        row = (uint32_t)l->symbol_count;
        add_symbol(l, address, &frame);
    }
    return row;
}

/* Callers first: those that an address's calls were inlined into follow it, in a row. */
static uint32_t add_symbols(struct legacy *l, uint32_t node, uint32_t first)
{
    uint32_t last = first;
    while (l->symbols[last].outer)
        last = l->symbols[last].outer - 1;
    for (uint32_t row = last + 1; row-- > first;)
        node = cpuprofile_frame(l->profile, node, &l->symbols[row].frame);
    return node;
}

static uint32_t add_stack(struct legacy *l)
{
    uint32_t node = NL_NULL_ROW;
    for (size_t i = l->depth; i-- > 0;)
        node = add_symbols(l, node, symbol_of(l, l->stack[i]));
    return node;
}

static void add_sample(struct legacy *l, uint32_t stack, const char *event, const char *unit,
                       uint64_t weight)
{
    struct nl_sample_row row = nl_sample_row();
    if (weight == 0)
        return;
    if (weight > INT64_MAX) {
        l->bad++;
        return;
    }
    row.event = cpuprofile_name(l->profile, nl_str(event));
    row.unit = cpuprofile_name(l->profile, nl_str(unit));
    row.weight = (int64_t)weight;
    row.stack = stack;
    cpuprofile_sample(l->profile, &row);
}

/* ---- binary CPU profiles ---- */

/* The next record into l->stack. False at the trailer, or where the file ends early. */
static bool next_record(struct legacy *l, uint64_t *count)
{
    uint64_t depth;
    l->depth = 0;
    if (!next_word(l, count) || !next_word(l, &depth) ||
        depth > (uint64_t)(l->end - l->at) / l->word) {
        l->cut = true;
        return false;
    }
    nl_grow(&l->stack, &l->cap, depth + 1);
    while (l->depth < depth && next_word(l, &l->stack[l->depth]))
        l->depth++;
    return !(*count == 0 && depth == 1 && l->stack[0] == 0);
}

static void load_cpu(struct legacy *l, uint64_t period_us)
{
    const unsigned char *records = l->at;
    uint64_t count, ns;
    while (!cpuprofile_stopped(l->profile) && next_record(l, &count))
        ;
    read_tail(l);
    l->at = records;
    while (!cpuprofile_stopped(l->profile) && next_record(l, &count)) {
        uint32_t stack = add_stack(l);
        add_sample(l, stack, "samples", "samples", count);
        if (__builtin_mul_overflow(count, period_us * 1000, &ns))
            l->bad++;
        else
            add_sample(l, stack, "cpu", "ns", ns);
    }
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, period_us * 1000);
    nl_builder_meta(l->profile->builder, l->profile->source, "sampling_period", nl_str(text));
}

/* ---- text profiles ---- */

static void take_addresses(struct legacy *l, struct nl_str line)
{
    uint64_t address;
    l->depth = 0;
    while (take_number(&line, 16, &address)) {
        nl_grow(&l->stack, &l->cap, l->depth + 1);
        l->stack[l->depth++] = address;
    }
}

/* "heap profile: … @ heap_v2/524288": tcmalloc, jemalloc; "@ heap/1048576": Go, twice its rate.
 * Other words (heapprofile, growthz) are of profiles that hold all. */
static uint64_t heap_rate(struct nl_str head)
{
    static const struct {
        const char *mark;
        unsigned per;
    } marks[] = {{"@ heap_v2/", 1}, {"@ heapz_v2/", 1}, {"@ heap/", 2}};
    uint64_t rate = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        ptrdiff_t at = nl_str_find_nocase(head, marks[i].mark);
        if (at < 0)
            continue;
        size_t skip = (size_t)at + strlen(marks[i].mark);
        struct nl_str rest = {head.ptr + skip, head.len - skip};
        if (take_number(&rest, 10, &rate))
            return rate / marks[i].per;
    }
    return 0;
}

/* Of allocations of `bytes` / `count` each, 1 - exp(-size / rate) are sampled (pprof,
 * profile/legacy_profile.go: scaleHeapSample). */
static void scale_up(uint64_t rate, uint64_t *count, uint64_t *bytes)
{
    if (rate <= 1 || !*count || !*bytes)
        return;
    /* in the order of pprof's formula, so that sums are the same to the byte */
    double scale = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)rate));
    double all[] = {(double)*count * scale, (double)*bytes * scale};
    *count = all[0] < (double)INT64_MAX ? (uint64_t)all[0] : UINT64_MAX;
    *bytes = all[1] < (double)INT64_MAX ? (uint64_t)all[1] : UINT64_MAX;
}

/* "3: 9216 [5: 11000] @ 0x1 0x2" */
static bool heap_line(struct legacy *l, struct nl_str line)
{
    static const char *const events[] = {"inuse_objects", "inuse_space", "alloc_objects",
                                         "alloc_space"};
    uint64_t value[4];
    if (!take_number(&line, 10, &value[0]) || !take_char(&line, ':') ||
        !take_number(&line, 10, &value[1]) || !take_char(&line, '[') ||
        !take_number(&line, 10, &value[2]) || !take_char(&line, ':') ||
        !take_number(&line, 10, &value[3]) || !take_char(&line, ']') || !take_char(&line, '@'))
        return false;
    take_addresses(l, line);
    scale_up(l->heap_rate, &value[0], &value[1]);
    scale_up(l->heap_rate, &value[2], &value[3]);
    uint32_t stack = add_stack(l);
    for (unsigned i = 0; i < 4; i++)
        add_sample(l, stack, events[i], i & 1 ? "bytes" : "count", value[i]);
    return true;
}

/* "14 1 @ 0x1 0x2": cycles waited, times */
static bool contention_line(struct legacy *l, struct nl_str line)
{
    uint64_t cycles, times;
    if (!take_number(&line, 10, &cycles) || !take_number(&line, 10, &times) ||
        !take_char(&line, '@'))
        return false;
    take_addresses(l, line);
    uint32_t stack = add_stack(l);
    add_sample(l, stack, "contentions", "count", times);
    add_sample(l, stack, "delay", "cycles", cycles);
    return true;
}

/* "3 @ 0x1 0x2": goroutines, threads */
static bool count_line(struct legacy *l, struct nl_str line, const char *event)
{
    uint64_t count;
    if (!take_number(&line, 10, &count) || !take_char(&line, '@'))
        return false;
    take_addresses(l, line);
    add_sample(l, add_stack(l), event, "count", count);
    return true;
}

static bool sample_line(struct legacy *l, struct nl_str head, struct nl_str line)
{
    if (nl_str_starts(head, "heap profile:"))
        return heap_line(l, line);
    if (nl_str_starts(head, "goroutine profile:"))
        return count_line(l, line, "goroutine");
    if (nl_str_starts(head, "threadcreate profile:"))
        return count_line(l, line, "threadcreate");
    return contention_line(l, line);
}

static void load_text(struct legacy *l)
{
    const unsigned char *start = l->at;
    struct nl_str head, line;
    read_tail(l); /* maps come last, but stacks need them */
    l->at = start;
    if (!next_line(l, &head))
        return;
    bool all = nl_str_starts(head, "goroutine") || nl_str_starts(head, "threadcreate") ||
               nl_str_starts(head, "heap profile:");
    l->heap_rate = nl_str_starts(head, "heap profile:") ? heap_rate(head) : 0;
    while (!cpuprofile_stopped(l->profile) && next_line(l, &line)) {
        bool stack = sample_line(l, head, line);
        bool value =
            !stack && memchr(line.ptr, '@', line.len) && line.len && digit_of(line.ptr[0]) < 10;
        l->bad += value;
    }
    cpuprofile_cover(l->profile, "values scaled up to all allocations", l->heap_rate > 1,
                     "the profiler sampled a part of them");
    cpuprofile_cover(l->profile, "values as sampled, not scaled up", !all,
                     "the profiler recorded a part of all events");
}

/* ---- */

bool pprof_legacy_load(struct cpuprofile *profile, const unsigned char *bytes, size_t len,
                       struct nl_err *err)
{
    struct legacy *l = nl_zalloc(sizeof *l);
    uint64_t period = 0;
    bool done = true;
    l->profile = profile;
    if (read_header(l, bytes, len, &period)) {
        load_cpu(l, period);
    } else {
        l->at = bytes;
        l->end = bytes + len;
        load_text(l);
    }
    if (profile->samples == 0 && (l->cut || l->bad))
        done = nl_fail(err, NL_FORMAT, "the profile ends before its first sample");
    cpuprofile_no_timeline(profile);
    cpuprofile_cover(profile, "truncated: the file ends early", l->cut, NULL);
    cpuprofile_cover(profile, "skipped: lines or records with impossible numbers", l->bad, NULL);
    nl_idmap_release(&l->symbol_index);
    nl_free(l->symbols);
    nl_free(l->ranges);
    nl_free(l->stack);
    nl_free(l);
    return done;
}
