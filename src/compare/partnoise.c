/* See partnoise.h. */
#include "compare/partnoise.h"

#include <math.h>

#include "base/mem.h"
#include "compare/replicate.h"

static double sum_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

struct nl_part_noise nl_part_noise_of(const struct diff_side *capture, enum diff_group group,
                                      bool share)
{
    struct nl_part_noise noise = {NAN, 1};
    size_t count = capture->length_count;
    const double *part = capture->part_lengths[group], *length = capture->lengths;
    double all = sum_of(part, count), whole = sum_of(length, count), spread, calm;
    if (!(all > 0) || !(whole > 0))
        return noise;
    double mean = all / (double)count, of = all / whole;
    double *apart = nl_alloc(count * sizeof *apart);
    for (size_t i = 0; i < count; i++)
        apart[i] = share ? part[i] - of * length[i] : part[i];
    noise.se = nl_mean_error(apart, count, &spread) / mean;
    nl_free(apart);
    (void)nl_mean_error(length, count, &calm);
    calm *= (double)count / whole;
    calm = calm > NL_PART_CALM ? calm : NL_PART_CALM;
    noise.wider = spread / mean > calm ? spread / mean / calm : 1;
    return noise;
}
