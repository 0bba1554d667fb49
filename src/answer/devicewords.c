/* devicewords — see devicewords.h. */
#include "answer/devicewords.h"

#include "answer/namesums.h"
#include "answer/lastrank.h"
#include "findings/remedy.h"
#include "tables/resultcells.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/lookup.h"
#include "tables/scope.h"
#include "timeline/quantile.h"
#include "timeline/waitname.h"

#define MIN_INSIDE_SHARE 0.05 /* of the time: what a finding about computing can win is named */
#define MAX_SPREAD_SHARE                                                                           \
    0.1 /* of the computing, in the kernel that takes most: its name says little */

/* "GPU 0", "Rank 3 GPU 0", "GPU 0 (1 of 2)". */
static void tell_place(const struct nl_device_case *it, struct nl_buf *out, const char *before,
                       int64_t rank, int64_t ordinal)
{
    const char *word = nl_device_word(it->judged->trace, it->row.device);
    nl_buf_text(out, before);
    if (rank != NL_NULL_I64)
        nl_buf_format(out, "rank %lld ", (long long)rank);
    if (ordinal == NL_NULL_I64)
        nl_buf_text(out, "the device");
    else
        nl_buf_format(out, "%s %lld", word, (long long)ordinal);
}

void nl_device_put_place(const struct nl_device_case *it, struct nl_buf *out, const char *before)
{
    tell_place(it, out, before, it->row.rank, it->row.ordinal);
}

bool nl_device_is_place(const struct nl_device_case *it, const struct nl_finding *finding)
{
    return finding->rank == it->row.rank && finding->device == it->row.ordinal;
}

#define MAX_CATEGORIES 64

/* "cudaLaunchKernel 104 ms in aten::addmm, cudaFree 45 ms (29 ms in aten::mm)". */
static void put_names(struct nl_device_case *it, struct nl_buf *out, const char *before,
                      enum nl_time_what what, size_t most)
{
    const struct nl_time_name *names = it->parts.parts[what].names;
    for (size_t i = 0; i < most && i < NL_TIME_NAMES && names[i].name; i++) {
        nl_tell_name(out, i ? ", " : before, nl_str(names[i].name));
        nl_tell_time(out, " ", names[i].ns);
        bool all = names[i].inside_ns >= names[i].ns - names[i].ns / 20;
        if (!names[i].inside)
            continue;
        if (!all)
            nl_tell_time(out, " (", names[i].inside_ns);
        nl_tell_name(out, " in ", nl_str(names[i].inside));
        nl_buf_text(out, all ? "" : ")");
    }
}

static const char *first_name(const struct nl_device_case *it, enum nl_time_what what)
{
    return it->parts.parts[what].names[0].name;
}

static void close_sentence(struct nl_device_case *it, struct nl_buf *out, const char *culprit)
{
    nl_buf_char(out, '.');
    nl_tell_end(it->judged, &it->judged->verdict->sentence);
    if (culprit)
        it->judged->verdict->culprit = culprit;
}

/* ---- computing ---- */

/* Collectives and waits are kernels, too. */
static bool is_computing(const struct nl_result *kernels, size_t row)
{
    struct nl_str class = nl_lookup_text(kernels, row, "class");
    return !nl_str_is(class, "communication") && !nl_str_is(class, "wait");
}

/* The names that take most of the computing: of one device, of those of all. */
struct top_kernels {
    struct nl_str names[2];
    int64_t ns[2], whole;
    size_t count;
    bool kernels; /* names of kernels as they were recorded */
};

static struct top_kernels own_kernels(const struct nl_device_case *it)
{
    const struct nl_time_part *own = &it->parts.parts[NL_TIME_COMPUTE];
    struct top_kernels top = {.whole = own->ns};
    for (; top.count < 2 && own->names[top.count].name; top.count++) {
        top.names[top.count] = nl_str(own->names[top.count].name);
        top.ns[top.count] = own->names[top.count].ns;
    }
    return top;
}

static struct top_kernels all_kernels(const struct nl_device_case *it)
{
    const struct nl_result *rows = nl_judged_part(it->judged, "kernels");
    struct top_kernels top = {.kernels = true};
    for (size_t i = 0; rows && i < rows->rows; i++) {
        if (!is_computing(rows, i))
            continue;
        int64_t ns = nl_lookup_i64(rows, i, "total_ns");
        nl_sum_add(&top.whole, ns);
        if (top.count == 2)
            continue;
        top.names[top.count] = nl_lookup_text(rows, i, "name");
        top.ns[top.count++] = ns;
    }
    return top;
}

/* "; most in gemm 60 %, softmax 8.0 %", where that is little "; spread over
 * many kernels, most in …". */
static void put_kernels(struct nl_device_case *it, struct nl_buf *out)
{
    struct top_kernels top = {.count = 0};
    if (it->devices > 1) /* the table is about all devices */
        top = own_kernels(it);
    if (!top.count)
        top = all_kernels(it);
    if (top.count)
        nl_buf_text(out, (double)top.ns[0] < MAX_SPREAD_SHARE * (double)top.whole
                             ? "; spread over many kernels, most in "
                             : "; most in ");
    for (size_t i = 0; i < top.count; i++) {
        (top.kernels ? nl_tell_kernel : nl_tell_name)(out, i ? ", " : "", top.names[i]);
        nl_tell_ratio(out, " ", top.ns[i], top.whole);
    }
}

static const char *top_kernel(struct nl_device_case *it)
{
    const struct nl_result *kernels = nl_judged_part(it->judged, "kernels");
    if (it->devices > 1 && first_name(it, NL_TIME_COMPUTE))
        return first_name(it, NL_TIME_COMPUTE);
    for (size_t i = 0; kernels && i < kernels->rows; i++)
        if (is_computing(kernels, i))
            return nl_keep_kernel(it->judged, nl_lookup_text(kernels, i, "name"));
    return NULL;
}

/* "gemm 60 %, attention 20 %" over all devices, if the names say. */
static void put_categories(struct nl_device_case *it, struct nl_buf *out, const char *before)
{
    const struct nl_result *rows = nl_judged_part(it->judged, "kernel_categories");
    int64_t whole = rows ? nl_lookup_sum(rows, "sum_ns") : 0;
    struct nl_name_sum categories[MAX_CATEGORIES];
    size_t said = 0,
           count =
               rows ? nl_sum_by_name(rows, "category", "sum_ns", categories, MAX_CATEGORIES) : 0;
    for (size_t i = 0; i < count && said < 3; i++) {
        struct nl_str name = categories[i].name;
        int64_t ns = categories[i].ns;
        if (!name.len || nl_str_is(name, "other") || ns < whole / 20 ||
            (nl_str_is(name, "unclassified") && 2 * ns > whole)) /* says nothing */
            continue;
        nl_buf_text(out, said++ ? ", " : before);
        nl_buf_add(out, name.ptr, name.len);
        nl_tell_ratio(out, " ", ns, whole);
    }
}

/* "; matrix products run without tensor cores, which costs up to 525.2 ms". */
static void put_inside(struct nl_device_case *it, struct nl_buf *out)
{
    static const struct {
        const char *cause, *words, *of_amd; /* after the finding's work; of_amd: NULL the same */
    } rows[] = {
        {"tensor_core_unused", "run without tensor cores", "run without matrix cores"},
        {"elementwise_not_fused", "elementwise operators are not fused", NULL},
        {"attention_not_fused", "attention is not fused", NULL},
        {"gemm_misaligned", "sizes of matrix products are not aligned", NULL},
        {"d2d_copy_or_cast_excess", "kernels that only copy, cast or change layout take much of it",
         NULL},
        {"layout_copies", "operators that only move data take much of it", NULL},
        {"decode_weight_bound", "decode is bound by reading weights", NULL},
    };
    if (!it->inside || (double)it->inside_ns < MIN_INSIDE_SHARE * (double)it->parts.total)
        return;
    bool amd = nl_setting_of(it->judged->trace, it->row.device).maker == NL_MAKER_AMD;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!strcmp(it->inside->cause, rows[i].cause)) {
            nl_buf_text(out, "; ");
            if (it->inside->work)
                nl_buf_format(out, "%s ", it->inside->work);
            nl_buf_text(out, amd && rows[i].of_amd ? rows[i].of_amd : rows[i].words);
            nl_tell_time(out, ", which costs up to ", it->inside_ns);
            if (!nl_device_is_place(it, it->inside))
                tell_place(it, out, " on ", it->inside->rank, it->inside->device);
        }
}

void nl_device_tell_compute(struct nl_device_case *it, int64_t ns)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Compute-bound: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " computes ", ns, it->parts.total);
    put_kernels(it, out);
    put_inside(it, out);
    close_sentence(it, out, top_kernel(it));
    out = nl_tell_begin(it->judged);
    put_categories(it, out,
                   it->devices > 1 ? "Kernel time by category, all devices: "
                                   : "Kernel time by category: ");
    const struct nl_result *ops = nl_judged_part(it->judged, "op_gpu");
    for (size_t i = 0, said = 0; ops && i < ops->rows && said < 2; i++) {
        struct nl_str name = nl_lookup_text(ops, i, "name");
        if (!name.len || name.ptr[0] == '[')
            continue;
        nl_tell_name(out, said++ ? ", " : out->len ? "; by operator: " : "By operator: ", name);
    }
    if (out->len)
        nl_buf_char(out, '.');
    nl_tell_note(it->judged);
}

/* ---- communication ---- */

const char *nl_device_top_collective(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "collectives");
    return rows ? nl_keep_name(judged, nl_lookup_text(rows, 0, "operation")) : NULL;
}

/* If collectives have no names: the kernel. */
static void put_comm_kernel(struct nl_device_case *it, struct nl_buf *out)
{
    const struct nl_result *kernels = nl_judged_part(it->judged, "kernels");
    for (size_t row = 0; kernels && row < kernels->rows; row++) {
        if (!nl_str_is(nl_lookup_text(kernels, row, "class"), "communication"))
            continue;
        nl_tell_kernel(out, ", most in ", nl_lookup_text(kernels, row, "name"));
        return;
    }
}

void nl_device_tell_comm(struct nl_device_case *it, int64_t ns)
{
    const struct nl_result *rows = nl_judged_part(it->judged, "collectives");
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Communication-bound: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " spends ", ns, it->parts.total);
    nl_buf_text(out, " in exposed communication");
    if (rows && nl_lookup_text(rows, 0, "operation").len)
        nl_tell_name(out, ", most in ", nl_lookup_text(rows, 0, "operation"));
    else
        put_comm_kernel(it, out);
    nl_lastrank_put(it->judged, out, "; ");
    close_sentence(it, out, nl_device_top_collective(it->judged));
}

/* ---- the CPU is late ---- */

/* "; 19,370 kernels, median 8.000 µs": of all on the device. A mean would be
 * that of the few long ones. */
static void put_kernel_lengths(struct nl_device_case *it, struct nl_buf *out)
{
    const struct nl_trace *trace = it->judged->trace;
    int64_t *lengths = nl_alloc(((size_t)trace->kernel.rows + 1) * sizeof *lengths);
    struct nl_scope scope;
    size_t count = 0;
    nl_scope_init(&scope, trace, &it->judged->options->window);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (slice == NL_NULL_ROW || nl_slice_device(trace, slice) != it->row.device)
            continue;
        int64_t length = nl_scope_length(&scope, slice);
        if (length >= 0)
            lengths[count++] = length;
    }
    nl_scope_release(&scope);
    if (count) {
        nl_tell_number(out, "; ", (int64_t)count, "kernel", "kernels");
        nl_tell_time(out, count == 1 ? " of " : ", median ",
                     nl_sum_near(nl_quantile_median(lengths, count)));
    }
    nl_free(lengths);
}

void nl_device_tell_launch(struct nl_device_case *it, int64_t ns)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Launch-bound: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " waits for the CPU to launch work ", ns, it->parts.total);
    put_kernel_lengths(it, out);
    put_names(it, out, "; the CPU is in ", NL_TIME_DISPATCH, 3);
    close_sentence(it, out, first_name(it, NL_TIME_DISPATCH));
}

/* What fetching spends its time in, where that is not fetching by name; or NULL. */
static const struct nl_time_name *most_inside_input(const struct nl_device_case *it, int64_t ns)
{
    const struct nl_time_part *host = &it->parts.parts[NL_TIME_HOST];
    int64_t inside = ns - it->parts.parts[NL_TIME_INPUT].ns;
    bool tells = inside > host->ns / 2 && host->names[0].name && host->names[0].ns <= inside;
    return tells ? &host->names[0] : NULL;
}

/* Input fetched before the first work and outside steps, at most the time before the first step. */
static int64_t fetched_before_steps(const struct nl_device_case *it)
{
    int64_t lead = it->in_steps ? 0 : it->first - it->parts.account->start;
    if (lead <= 0)
        return 0;
    return lead < it->parts.input_before ? lead : it->parts.input_before;
}

void nl_device_tell_input(struct nl_device_case *it, int64_t ns)
{
    const char *name = first_name(it, NL_TIME_INPUT);
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Input-bound: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " waits for input data ", ns, it->parts.total);
    const struct nl_time_name *most = most_inside_input(it, ns);
    bool first = most && most->ns > it->parts.parts[NL_TIME_INPUT].names[0].ns;
    if (first || name)
        nl_tell_name(out, ", while the launching thread is in ", nl_str(first ? most->name : name));
    if (most)
        nl_tell_time(out, first ? " for " : ", ", most->ns);
    if (most && !first)
        nl_tell_name(out, " of it in ", nl_str(most->name));
    if (it->parts.input_before > ns / 2)
        nl_tell_time(out, "; before its first work ", it->parts.input_before);
    int64_t each = it->steps >= 3 ? (ns - fetched_before_steps(it)) / it->steps : 0;
    if (each > 0 && each < it->step_ns) {
        nl_tell_time(out, "; ", each);
        nl_tell_time(out, " of each step of ", it->step_ns);
    }
    close_sentence(it, out, name);
}

/* Launched work that does not begin while the CPU waits as well: for something else. */
static void tell_held(struct nl_device_case *it, int64_t ns)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Synchronisation: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " is idle ", ns, it->parts.total);
    put_names(it, out, " while the CPU sits in ", NL_TIME_HELD, 2);
    nl_buf_text(
        out,
        "; the next operation is already launched but does not start: CPU and GPU both wait for "
        "something that is not in the file");
    close_sentence(it, out, first_name(it, NL_TIME_HELD));
}

void nl_device_tell_sync(struct nl_device_case *it, int64_t ns)
{
    if (it->parts.parts[NL_TIME_HELD].ns > ns / 2) {
        tell_held(it, ns);
        return;
    }
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Synchronisation: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " is idle ", ns, it->parts.total);
    nl_buf_text(out, " while the CPU still sits in a blocking call");
    put_names(it, out, ": ", NL_TIME_SYNC, 2);
    close_sentence(it, out, first_name(it, NL_TIME_SYNC));
}

static void put_nothing(struct nl_device_case *it, struct nl_buf *out, const char *before)
{
    nl_tell_time(out, before, it->parts.largest_nothing);
    nl_buf_text(out, " in one gap with nothing recorded on the launching thread");
    if (it->parts.nothing_ended_by)
        nl_tell_name(out, ", until ", nl_str(it->parts.nothing_ended_by));
    else if (it->parts.gap_before)
        nl_tell_name(out, ", until ", nl_str(it->parts.gap_before));
}

/* A start that also uploads for long is not described by its calls alone. */
static void put_early_copies(struct nl_device_case *it, struct nl_buf *out)
{
    int64_t ns = it->parts.parts[NL_TIME_COPY].ns;
    if (ns > it->parts.total / 10)
        nl_tell_time(out, "; copies that nothing hides take ", ns);
}

/* Most of it is one gap of which nothing is known: that comes first. */
static void put_early_nothing(struct nl_device_case *it, struct nl_buf *out)
{
    bool before = it->parts.nothing_before > it->parts.largest_nothing;
    nl_tell_of(out, "Start-up: ", before ? it->parts.nothing_before : it->parts.largest_nothing,
               it->parts.total);
    nl_buf_text(
        out, before ? " pass before the first work, with nothing recorded on the launching thread"
                    : " pass in one gap with nothing recorded on the launching thread");
    const char *until =
        it->parts.nothing_ended_by ? it->parts.nothing_ended_by : it->parts.gap_before;
    if (until && !before)
        nl_tell_name(out, ", until ", nl_str(until));
    if (it->parts.parts[NL_TIME_FIRST].ns <= it->parts.total / 1000)
        return;
    nl_tell_time(out, "; first-time calls take ", it->parts.parts[NL_TIME_FIRST].ns);
    put_names(it, out, ": ", NL_TIME_FIRST, 3);
}

void nl_device_tell_startup(struct nl_device_case *it, int64_t ns)
{
    const struct nl_time_part *first = &it->parts.parts[NL_TIME_FIRST];
    struct nl_buf *out = nl_tell_begin(it->judged);
    bool early = it->parts.early_nothing;
    /* the gap may hold more than what nothing was recorded of */
    if (it->parts.largest_nothing > it->parts.parts[NL_TIME_NOTHING].ns)
        it->parts.largest_nothing = it->parts.parts[NL_TIME_NOTHING].ns;
    if ((early && it->parts.largest_nothing > ns / 2) || it->parts.nothing_before > ns / 2) {
        put_early_nothing(it, out);
    } else {
        nl_tell_of(out, "Start-up: ", ns, it->parts.total);
        nl_buf_text(out, " go to first-time work");
        put_names(it, out, ": ", NL_TIME_FIRST, 3);
        if (early && it->parts.largest_nothing > ns / 10)
            put_nothing(it, out, first->names[0].name ? "; " : ": ");
    }
    put_early_copies(it, out);
    const char *culprit =
        first->ns >= it->parts.largest_nothing ? first->names[0].name : it->parts.nothing_ended_by;
    close_sentence(it, out, culprit ? culprit : first->names[0].name);
}

void nl_device_tell_host(struct nl_device_case *it, int64_t ns)
{
    const struct nl_time_part *parts = it->parts.parts;
    enum nl_time_what what =
        parts[NL_TIME_FIRST].ns > parts[NL_TIME_HOST].ns && first_name(it, NL_TIME_FIRST)
            ? NL_TIME_FIRST
            : NL_TIME_HOST;
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_buf_text(out, "Host-bound: ");
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " waits ", ns, it->parts.total);
    const char *name = first_name(it, what);
    bool waits = name && nl_is_wait_name(nl_str(name));
    put_names(it, out, waits ? " while the CPU itself waits, in " : " for the CPU: ", what,
              waits ? 1 : 3);
    if (it->parts.before > ns / 2 && it->parts.before <= ns)
        nl_tell_time(out, "; before its first work ", it->parts.before);
    if (it->parts.after > ns / 2)
        nl_tell_time(out, "; the CPU keeps running after the last work of the device, for ",
                     it->parts.after);
    close_sentence(it, out, first_name(it, what));
}

void nl_device_tell_idle(struct nl_device_case *it, int64_t ns)
{
    struct nl_buf *out = nl_tell_begin(it->judged);
    nl_device_put_place(it, out, "");
    nl_tell_of(out, " is idle ", it->parts.idle > ns ? it->parts.idle : ns, it->parts.total);
    if (it->parts.parts[NL_TIME_UNKNOWN].ns > ns / 2) {
        nl_buf_text(out, "; why is not in the file: launches were not recorded");
        nl_tell_time(out, "; the longest gap takes ", it->parts.longest_gap);
        if (it->parts.gap_before)
            nl_tell_name(out, ", before ", nl_str(it->parts.gap_before));
    } else if (it->parts.parts[NL_TIME_HELD].ns > ns / 2) {
        nl_buf_text(out, "; most of it the next work was launched and does not begin: what it "
                         "waits for is not in "
                         "the file");
        nl_tell_time(out, "; the longest gap takes ", it->parts.longest_gap);
        if (it->parts.gap_before)
            nl_tell_name(out, ", before ", nl_str(it->parts.gap_before));
    } else {
        put_nothing(it, out, "; ");
    }
    close_sentence(it, out, it->parts.nothing_ended_by);
}
