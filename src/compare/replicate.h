/*
 * replicate — how far two sides differ, and how sure that is, when captures are what repeats.
 *
 * Steps of one capture are no replicates: captures of one program differ by a percent or more for
 * reasons that no step shows, and steps follow each other. So each capture gives one value, the
 * logarithm of its typical (or mean) step, with the error that its own steps show; the shift
 * between two sides is the difference of their means, as a ratio exp(shift). Its variance:
 *
 *   three captures or more   s² = (d0 s0² + Σ (x - mean)²) / (d0 + d), d = captures - 2: what the
 *                            captures show, moderated by what is known of noise beforehand (Smyth,
 *                            Stat. Appl. Genet. Mol. Biol. 3, 2004), unless they refute it (4 times
 *                            its variance: d0 = 0); degrees of freedom d0 + d
 *   one a side               s0² a capture and the error within each; degrees of freedom by Welch and
 *                            Satterthwaite
 *
 * s0 is learnt from history where there is one, else 1 % with several captures, 1.5 % with one. The
 * error within a capture follows from its steps in the order of time: their spread, and how many
 * independent ones they amount to (a process that forgets at a constant rate, with Kendall's
 * correction of its bias), and never less than blocks of steps show.
 */
#ifndef NL_COMPARE_REPLICATE_H
#define NL_COMPARE_REPLICATE_H

#include <stdbool.h>
#include <stddef.h>

#define NL_NOISE_SEVERAL 0.01  /* of a capture against the next, when nothing is known */
#define NL_NOISE_SINGLE  0.015 /* the same where no side shows it */
#define NL_NOISE_BUSY    0.02  /* captures that differ by more need a surer verdict */
#define NL_NOISE_DF      2.0   /* how firmly that is believed with several captures */
#define NL_NOISE_DF_ONE  8.0

/* What is known beforehand of how captures differ; zeroed = the defaults above. */
struct nl_noise {
    double sd;        /* of logarithms; 0 = not known */
    double df;        /* degrees of freedom of that */
    size_t runs;      /* that it was learnt from, */
    const char *host; /* and on which; NULL not known */
};

/* One capture: its steps in few numbers. Unknown is NaN. */
struct nl_capture {
    size_t steps;
    double median, mean, p95;  /* ns */
    double independent;        /* steps that they amount to */
    double median_se, mean_se; /* of the logarithms of median and mean; NaN with under 4 steps */
    size_t slow;               /* steps over NL_SLOW_STEP medians */
};

#define NL_SLOW_STEP 1.1

/* Of lengths > 0 in the order of time. */
struct nl_capture nl_capture_of(const double *lengths, size_t count);

/* Standard error of the mean of values in the order of time, found as that of steps; under 4: NaN.
 * `*spread`, where given, is the deviation of one, less what single far ones add to it. */
double nl_mean_error(const double *values, size_t count, double *spread);

struct nl_value {
    double log, se; /* of one capture; se NaN = not known */
};

struct nl_apart {
    double shift;     /* of logarithms; NaN when a side has no captures */
    double se, df;    /* NaN = not known */
    double low, high; /* 95 % */
    double p;         /* of no change, two-sided */
    double spread;    /* of the captures of a side, of logarithms; NaN with one a side */
};

struct nl_apart nl_apart_of(const struct nl_value *a, size_t a_count, const struct nl_value *b,
                            size_t b_count, const struct nl_noise *noise);

/* Bound that the shift is above with confidence 1 - tail. */
double nl_apart_above(const struct nl_apart *apart, double tail);

/* The chance of a false alarm that may be taken: `tail`, and less where captures differ by more
 * than NL_NOISE_BUSY, as they do on busy machines, whose noise no distribution describes: with the
 * 5th power of the spread, down to 1 in 10,000. */
double nl_apart_tail(const struct nl_apart *apart, double tail);

/* How many captures more a side, of so many now, until a change of `change` (of the logarithm)
 * would be distinguished from none with that one-sided tail: 0 = it already is, SIZE_MAX = over
 * 1000. */
size_t nl_captures_needed(const struct nl_apart *apart, size_t a_count, size_t b_count,
                          double change, double tail);

/* Values far from the median of their side (robust z above 3.5 and more than 5 %), of at least
 * three: sets outlying[i], returns how many. `values` are logarithms. */
size_t nl_outlying(const double *values, size_t count, bool *outlying);

#endif
