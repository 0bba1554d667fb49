/*
 * tensor_core_unused — matrix products on the ordinary arithmetic units.
 *
 * Signal: kernels of matrix products (GEMM, convolution, attention, …) whose names say that they
 * run without tensor cores (sgemm, dgemm, ffma, simt; never inferred from "xmma", which NVIDIA uses
 * for both), over 10 % of all matrix time (TensorBoard plugin of Kineto; nsys-ai from 10 ms on).
 * What could be won: TF32 on A100 is up to 8 times FP32, but memory soon bounds it: the cost is 3/4
 * of the time (4 times as fast), the saving [1/4, 3/4].
 */
#include <string.h>

#include "base/chars.h"
#include "findings/cause.h"
#include "findings/remedy.h"
#include "base/sum.h"
#include "derive/kernelcategory.h"

#define MIN_SHARE      0.10
#define FIRST_MAJOR    7 /* compute capability with tensor cores */
#define CRITICAL_SHARE 0.20

/* What kernels of matrix products are called. */
enum work { PRODUCTS, CONVOLUTIONS, ATTENTION, WORKS };

struct matrix_time {
    int64_t without, unknown, all;
    int64_t without_by[WORKS], all_by[WORKS];
    uint64_t kernels;
};

static enum work work_of(unsigned category)
{
    return category == NL_CATEGORY_CONVOLUTION ? CONVOLUTIONS
           : category == NL_CATEGORY_ATTENTION ? ATTENTION
                                               : PRODUCTS;
}

/* "convolutions and matrix products": what has a twentieth of the time or
 * more, the longest first. */
static const char *name_works(const struct nl_scene *scene, const int64_t by[WORKS])
{
    static const char *const words[WORKS] = {"matrix products", "convolutions",
                                             "attention kernels"};
    const char *said = "";
    bool named[WORKS] = {false};
    int64_t all = 0;
    for (size_t i = 0; i < WORKS; i++)
        nl_sum_add(&all, by[i]);
    for (size_t left = WORKS; left > 0; left--) {
        size_t least = WORKS; /* of those that are not named */
        for (size_t i = 0; i < WORKS; i++)
            if (by[i] > 0 && by[i] >= all / 20 && !named[i] &&
                (least == WORKS || by[i] < by[least]))
                least = i;
        if (least == WORKS)
            break;
        named[least] = true;
        said = !*said                  ? words[least]
               : strstr(said, " and ") ? nl_say(scene, "%s, %s", words[least], said)
                                       : nl_say(scene, "%s and %s", words[least], said);
    }
    return said;
}

/* What kernels show of a GPU: the name of a library's kernel gives the oldest generation that it is
 * made for, never the newest. Nothing follows from volta_ and turing_: Turing chips without tensor
 * cores run them. */
struct shown {
    bool cores;  /* a kernel used them, or runs from Ampere on, which has them everywhere */
    bool ampere; /* or later */
};

/* Products of a matrix with a vector; the SQL of `tell` leaves out the same. */
static bool says_vector(struct nl_str name)
{
    static const char *const words[] = {"gemv", "matvec", "mul_mat_vec"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_find_nocase(name, words[i]) >= 0)
            return true;
    return false;
}

/* Matrix products that could run there: not with a vector (bound by memory), not in FP64. `vectors`
 * keeps per name whether it says so. */
static bool is_eligible(const struct nl_trace *trace, uint32_t kernel, uint8_t *vectors)
{
    enum { UNSEEN, VECTOR, NO_VECTOR };
    uint32_t name = trace->slice.name[trace->kernel.slice[kernel]];
    if (!nl_category_is_matrix(trace->kernel.category[kernel]) ||
        nl_str_is(nl_trace_name(trace, trace->kernel.dtype[kernel]), "fp64"))
        return false;
    if (vectors[name] == UNSEEN)
        vectors[name] = says_vector(nl_trace_name(trace, name)) ? VECTOR : NO_VECTOR;
    return vectors[name] == NO_VECTOR;
}

static struct matrix_time sum_matrix_time(struct nl_scene *scene, struct nl_intervals *where,
                                          struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    struct matrix_time time = {0};
    uint8_t *vectors = nl_zalloc(trace->names.count);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t row = scene->kernels[i], slice = trace->kernel.slice[row];
        if (!is_eligible(trace, row, vectors))
            continue;
        enum work work = work_of(trace->kernel.category[row]);
        nl_sum_add(&time.all, trace->slice.dur[slice]);
        nl_sum_add(&time.all_by[work], trace->slice.dur[slice]);
        if (trace->kernel.tensor_core[row] == NL_TENSORCORE_UNKNOWN)
            nl_sum_add(&time.unknown, trace->slice.dur[slice]);
        if (trace->kernel.tensor_core[row] != NL_TENSORCORE_NO)
            continue;
        nl_sum_add(&time.without, trace->slice.dur[slice]);
        nl_sum_add(&time.without_by[work], trace->slice.dur[slice]);
        time.kernels++;
        nl_intervals_add(where, trace->slice.ts[slice], nl_slice_end(trace, slice));
        nl_example_slice(scene, longest, slice);
    }
    nl_free(vectors);
    return time;
}

static void describe_matrix_time(struct nl_scene *scene, struct nl_finding *finding,
                                 struct matrix_time time, struct nl_evidence without)
{
    static const char matrix[] =
        "category IN ('gemm', 'convolution', 'attention', 'moe', 'rnn') AND (dtype IS NULL OR "
        "dtype <> 'fp64') AND name NOT LIKE '%gemv%' AND name NOT LIKE '%matvec%' AND name NOT "
        "LIKE '%mul_mat_vec%'";
    double share = (double)time.without / (double)time.all;
    without.metric = "matrix_without_tensor_cores_ns";
    without.says = nl_say(scene,
                          "%s in %s kernels whose names say that they run without tensor (matrix) "
                          "cores (sgemm, ffma, simt, FP32 types)",
                          nl_say_ns(scene, time.without), nl_say_count(scene, time.kernels));
    without.query =
        nl_say(scene, "SELECT sum(dur) FROM kernels WHERE %s AND tensor_core = 'no' AND %s", matrix,
               nl_scene_on(scene, ""));
    without.meaning = NL_MEANS_NS;
    without.value = (double)time.without;
    nl_evidence(finding, without);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "matrix_without_tensor_cores_share",
                    .says = nl_say(scene, "that is %s of all time in %s",
                                   nl_say_share(scene, share), name_works(scene, time.all_by)),
                    .threshold = "> 10 % of matrix time",
                    .query = nl_say(scene,
                                    "SELECT sum(iif(tensor_core = 'no', dur, 0)) * 1.0 / "
                                    "sum(dur) FROM kernels WHERE %s AND %s",
                                    matrix, nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_SHARE,
                    .value = share});
}

static bool says_any(struct nl_str name, const char *const *words)
{
    for (; *words; words++)
        if (nl_str_contains(name, *words))
            return true;
    return false;
}

static struct nl_str device_name(const struct nl_scene *scene)
{
    uint32_t device = scene->device->device;
    return device == NL_NULL_ROW ? nl_str("")
                                 : nl_trace_name(scene->trace, scene->trace->device.name[device]);
}

static struct shown shown_by_kernels(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct shown shown = {0};
    for (size_t i = 0; i < scene->kernel_count && !(shown.cores && shown.ampere); i++) {
        uint32_t row = scene->kernels[i];
        struct nl_str name = nl_trace_name(trace, trace->slice.name[trace->kernel.slice[row]]);
        shown.ampere = shown.ampere || nl_str_starts(name, "ampere_");
        shown.cores =
            shown.cores || shown.ampere || trace->kernel.tensor_core[row] == NL_TENSORCORE_YES;
    }
    return shown;
}

/* Volta and Turing have tensor cores but no TF32. If the capability is unknown, names count: "RTX
 * 6000" is of two generations. */
static bool has_tf32(const struct nl_scene *scene, uint32_t major)
{
    static const char *const nvidia[] = {"V100", "T4",       "TITAN V",  "RTX 20",   "2080", "2070",
                                         "2060", "RTX 5000", "RTX 6000", "RTX 8000", NULL};
    struct nl_str name = device_name(scene);
    return major == NL_NULL_U32 ? name.len && !says_any(name, nvidia) : major >= 8;
}

/* Turing chips that were made without them (TU116, TU117) are of capability 7.5 like the others.
 * AMD's first with matrix cores are MI100 (gfx908) and RDNA 3 (gfx11). */
static bool has_none(const struct nl_scene *scene, bool amd, uint32_t major)
{
    static const char *const turing[] = {"GTX 16", "MX450", "MX550", "T1000", "T600", "T400", NULL};
    static const char *const vega[] = {"MI50", "MI60",   "MI25",   "Vega",
                                       "VII",  "gfx900", "gfx906", NULL};
    struct nl_str name = device_name(scene);
    return amd ? major == 10 || says_any(name, vega) : says_any(name, turing);
}

/* What lets convolutions use TF32 is another switch than that of matrix products. */
static const char *remedies_of(const struct matrix_time *time)
{
    return time->without_by[CONVOLUTIONS] > time->without / 2
               ? "tensor_core_unused:tf32_convolutions"
               : "tensor_core_unused:tf32";
}

/* "300 ms of their 700 ms". */
static const char *say_part(const struct nl_scene *scene, int64_t part, int64_t whole)
{
    const char *one = nl_say_ns(scene, part), *all = nl_say_ns(scene, whole);
    return strcmp(one, all) == 0 ? nl_say(scene, "%s, all of their time", one)
                                 : nl_say(scene, "%s of their %s", one, all);
}

/* Promises nothing if it is unknown whether the GPU has them, and no TF32 if its generation is
 * unknown. */
static void name_it(struct nl_scene *scene, struct nl_finding *finding, struct matrix_time time,
                    bool amd, uint32_t major)
{
    bool told = major != NL_NULL_U32 || device_name(scene).len;
    struct shown shown = told ? (struct shown){0} : shown_by_kernels(scene);
    bool known = told || shown.cores;
    if (!known) {
        finding->severity = NL_SEVERITY_INFO;
        finding->saving_ns[0] = finding->saving_ns[1] = 0;
        finding->confidence = NL_DOUBT_CORES;
        finding->remedies = amd ? NULL : "tensor_core_unused:unknown";
    } else if (!amd && (shown.ampere || has_tf32(scene, major))) {
        finding->remedies = remedies_of(&time);
    } else if (!amd && !told) {
        finding->remedies = "tensor_core_unused:unknown";
    }
    int64_t theirs = 0;
    for (size_t i = 0; i < WORKS; i++)
        nl_sum_add(&theirs, time.without_by[i] > 0 ? time.all_by[i] : 0);
    const char *work = name_works(scene, time.without_by);
    finding->work = work;
    nl_title(scene, finding, "%c%s on %s do not use %s cores%s: %s", nl_upper(*work), work + 1,
             nl_scene_name(scene), amd ? "matrix" : "tensor",
             known ? "" : " (whether this GPU has them is not recorded)",
             say_part(scene, time.without, theirs));
}

static enum nl_verdict tensor_core_unused_evaluate(struct nl_scene *scene,
                                                   struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t device = scene->device->device;
    uint32_t major = device == NL_NULL_ROW ? NL_NULL_U32 : trace->device.compute_major[device];
    bool amd = nl_setting_of(trace, device).maker == NL_MAKER_AMD;
    if ((major != NL_NULL_U32 && major < FIRST_MAJOR) || has_none(scene, amd, major))
        return NL_CAUSE_ABSENT;
    struct nl_evidence longest = {0};
    struct matrix_time time = sum_matrix_time(scene, &finding->where, &longest);
    if (!time.all)
        return NL_CAUSE_ABSENT;
    if (time.unknown == time.all)
        return nl_abstain(finding, "the names of the matrix kernels do not tell");
    double share = (double)time.without / (double)time.all;
    if (share <= MIN_SHARE)
        return NL_CAUSE_ABSENT;
    int64_t cost = time.without / 4 * 3;
    nl_find(scene, finding, cost, CRITICAL_SHARE, share > 2 * MIN_SHARE ? 1 : NL_DOUBT_NEAR);
    finding->saving_ns[0] = time.without / 4;
    name_it(scene, finding, time, amd, major);
    describe_matrix_time(scene, finding, time, longest);
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_tensor_core_unused = {
    .id = "tensor_core_unused",
    .doc = "More than 10 % of the time of matrix products (GEMM, convolution, attention, …; not "
           "FP64, not matrix-vector) is in kernels whose names say that they use no tensor cores "
           "(sgemm, ffma, simt; \"xmma\" alone proves nothing). The device has tensor cores "
           "(compute capability 7 or newer), or is unknown. Cost: 3/4 of the time of these "
           "kernels; saving 1/4 to 3/4; informational if the GPU is unknown.",
    .needs = {{NL_T_kernel, "category"}},
    .need_count = 1,
    .evaluate = tensor_core_unused_evaluate,
    .not_this_if = "double precision is needed (FP64 and matrix-vector products are left out), or "
                   "the GPU has none (an older generation)",
};
