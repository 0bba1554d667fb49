/*
 * wave_quantisation — the last wave of blocks leaves most multiprocessors idle.
 *
 * Signal: a grid is worked off in waves of as many blocks as the device holds (launchfit.h). In the
 * last one of a few waves part of the multiprocessors has nothing to do: waves / ceil(waves) below
 * 0.8 with one to four waves (NVIDIA, Matrix Multiplication Background, "wave quantization"; Nsight
 * Compute's rule of the tail effect). Kernels of matrix products that do so take over 5 % of wall.
 * Cost: the idle part of their time.
 */
#include "base/sum.h"

#include <math.h>

#include "derive/kernelcategory.h"
#include "findings/cause.h"
#include "work/launchfit.h"

#define MIN_SHARE      0.05
#define CRITICAL_SHARE 0.20
#define MAX_USE        0.8

struct tails {
    int64_t ns, lost, products,
        fitted; /* of the kernels that do; lost; of all products; with a fit */
    uint64_t kernels;
    double worst_waves;
    int64_t worst_ns;
    uint32_t worst; /* slice of the longest */
};

/* Part of the waves that is used. */
static double use_of(double waves)
{
    double whole = floor(waves);
    return waves / (waves > whole ? whole + 1 : whole);
}

static void add_kernel(struct nl_scene *scene, uint32_t kernel, struct tails *tails,
                       struct nl_finding *finding, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t slice = trace->kernel.slice[kernel];
    int64_t ns = trace->slice.dur[slice];
    struct nl_launch_fit fit;
    if (!nl_category_is_matrix(trace->kernel.category[kernel]))
        return;
    nl_sum_add(&tails->products, ns);
    if (!nl_launch_fit(trace, scene->device->device, kernel, &fit))
        return;
    nl_sum_add(&tails->fitted, ns);
    if (fit.waves <= 1 || use_of(fit.waves) >= MAX_USE) /* four waves and more are used so */
        return;
    tails->kernels++;
    nl_sum_add(&tails->ns, ns);
    nl_sum_add(&tails->lost, nl_sum_near((double)ns * (1 - use_of(fit.waves))));
    nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
    nl_example_slice(scene, longest, slice);
    if (ns > tails->worst_ns) {
        tails->worst_ns = ns;
        tails->worst = slice;
        tails->worst_waves = fit.waves;
    }
}

static enum nl_verdict wave_quantisation_evaluate(struct nl_scene *scene,
                                                  struct nl_finding *finding)
{
    struct tails tails = {0};
    struct nl_evidence longest = {0};
    for (size_t i = 0; i < scene->kernel_count; i++)
        add_kernel(scene, scene->kernels[i], &tails, finding, &longest);
    if (!tails.products)
        return NL_CAUSE_ABSENT;
    if (!tails.fitted)
        return nl_abstain(finding, "registers of kernels, or the size of the device, were not "
                                   "recorded or are not known");
    if (nl_scene_share(scene, tails.lost) < MIN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, tails.lost, CRITICAL_SHARE,
            (double)tails.fitted / (double)tails.products);
    finding->saving_ns[0] = 0;
    nl_title(scene, finding,
             "Matrix kernels on %s end in a wave that leaves multiprocessors idle: %s lost",
             nl_scene_name(scene), nl_say_ns(scene, tails.lost));
    longest.metric = "longest_matrix_kernel_with_tail_ns";
    longest.says =
        nl_say(scene, "%s in %s such kernels; the longest runs in %.2f waves of blocks",
               nl_say_ns(scene, tails.ns), nl_say_count(scene, tails.kernels), tails.worst_waves);
    longest.threshold = "1 to 4 waves, less than 80 % used; lost > 5 % of wall";
    longest.query = nl_say(scene, "SELECT dur FROM slices WHERE id = %u", tails.worst);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)tails.worst_ns;
    nl_evidence(finding, longest);
    nl_evidence(finding,
                (struct nl_evidence){
                    .metric = "matrix_kernel_ns",
                    .says = nl_say(scene, "of %s in kernels of products in all",
                                   nl_say_ns(scene, tails.products)),
                    .query = nl_say(scene,
                                    "SELECT sum(dur) FROM kernels WHERE category IN ('gemm', "
                                    "'convolution', 'attention', 'moe', 'rnn') AND %s",
                                    nl_scene_on(scene, "")),
                    .meaning = NL_MEANS_NS,
                    .value = (double)tails.products});
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_wave_quantisation = {
    .id = "wave_quantisation",
    .doc = "Matrix product kernels whose grid takes one to four waves of the blocks that the "
           "device holds (threads, registers, shared memory per block; CUDA occupancy calculator), "
           "and fills less than 80 % of them, lose more than 5 % of wall in the last wave (NVIDIA, "
           "Matrix Multiplication Background). Cost: the unused part of their time.",
    .needs = {{NL_T_kernel, "registers"}, {NL_T_kernel, "grid_x"}},
    .need_count = 2,
    .evaluate = wave_quantisation_evaluate,
    .not_this_if = "other streams fill the idle multiprocessors, or the kernel is persistent (as "
                   "many blocks as the device holds)",
};
