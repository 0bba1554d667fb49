/*
 * alerts — thresholds: what is watched while programs run, and when it is worth a word.
 * A row of alerts.def each.
 *
 * One struct alerts per subject (a device, a process) holds what is on. A threshold is crossed
 * once: it has to be left by the row's second number before it can be crossed again, so a value
 * that wavers is one alert.
 */
#ifndef NL_ALERTS_H
#define NL_ALERTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is compared with thresholds. */
enum alert_input {
    ALERT_TEMPERATURE,        /* C */
    ALERT_MEMORY_TEMPERATURE, /* C */
    ALERT_MEMORY,             /* used, of the device's, 0 to 1 */
    ALERT_SLOWED,             /* 1 = slowed by heat or by the hardware */
    ALERT_CAPPED,             /* 1 = at its power limit, by the driver's word or by its power */
    ALERT_GROWTH              /* resident memory over that of a minute ago, when 1 GiB or more */
};

struct alert_row {
    const char *word; /* as `top` shows it: "HOT" */
    const char *text; /* as recordings call the mark */
    enum alert_input input;
    double raise, clear;
};
#define NL_ALERT(identifier, word, text, input, raise, clear) NL_ALERT_##identifier,
enum {
#include "capture/recorder/alerts.def"
    ALERT_ROWS
};
#undef NL_ALERT
extern const struct alert_row alert_rows[ALERT_ROWS];

struct alerts {
    uint32_t on; /* bit per row */
};

/* Holds a value against the thresholds; returns the bits of the rows that were crossed just now. */
uint32_t alerts_see(struct alerts *alerts, enum alert_input input, double value);

/* The resident memory of a process over a minute. */
#define ALERT_GROWTH_SLOTS 6u
struct alert_growth {
    uint64_t least[ALERT_GROWTH_SLOTS]; /* of ten seconds each, 0 = none yet */
    int64_t began_ns;                   /* of the newest */
};
/* `bytes` now against the least of the last minute: 1.5 = half as much again; 0 = it
 * grew by less than 1 GiB. */
double alert_growth(struct alert_growth *growth, int64_t now_ns, uint64_t bytes);

/* Whether the driver's reasons of throttling, and the power against its limit (0 = not known), say
 * that the device is slowed or capped. */
bool alert_is_slowed(uint64_t throttle_bits);
bool alert_is_capped(uint64_t throttle_bits, double power, double limit);

#endif
