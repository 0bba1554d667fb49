/* Thresholds. */
#include "capture/recorder/alerts.h"

#include "capture/gpu/gpu.h"

#define GIB            (UINT64_C(1) << 30)
#define GROWTH_SLOT_NS ((int64_t)10 * 1000000000)
#define AT_LIMIT       0.99

const struct alert_row alert_rows[ALERT_ROWS] = {
#define NL_ALERT(identifier, word, text, input, raise, clear)                                      \
    {word, text, ALERT_##input, raise, clear},
#include "capture/recorder/alerts.def"
#undef NL_ALERT
};

uint32_t alerts_see(struct alerts *alerts, enum alert_input input, double value)
{
    uint32_t crossed = 0;
    for (unsigned i = 0; i < ALERT_ROWS; i++) {
        uint32_t bit = 1u << i;
        if (alert_rows[i].input != input)
            continue;
        if (value >= alert_rows[i].raise && !(alerts->on & bit)) {
            alerts->on |= bit;
            crossed |= bit;
        } else if (value < alert_rows[i].clear) {
            alerts->on &= ~bit;
        }
    }
    return crossed;
}

double alert_growth(struct alert_growth *growth, int64_t now_ns, uint64_t bytes)
{
    uint64_t least = bytes;
    if (growth->began_ns == 0)
        growth->began_ns = now_ns;
    for (unsigned turns = 0;
         now_ns - growth->began_ns >= GROWTH_SLOT_NS && turns < ALERT_GROWTH_SLOTS; turns++) {
        for (unsigned i = ALERT_GROWTH_SLOTS - 1; i > 0; i--)
            growth->least[i] = growth->least[i - 1];
        growth->least[0] = 0;
        growth->began_ns += GROWTH_SLOT_NS;
    }
    if (now_ns - growth->began_ns >= GROWTH_SLOT_NS)
        growth->began_ns = now_ns; /* not read for over a minute */
    if (!growth->least[0] || bytes < growth->least[0])
        growth->least[0] = bytes;
    for (unsigned i = 0; i < ALERT_GROWTH_SLOTS; i++)
        if (growth->least[i] && growth->least[i] < least)
            least = growth->least[i];
    return bytes - least >= GIB && least ? (double)bytes / (double)least : 0;
}

bool alert_is_slowed(uint64_t throttle_bits)
{
    return throttle_bits & (GPU_THROTTLE_SLOWDOWN | GPU_THROTTLE_SYNC_BOOST | GPU_THROTTLE_THERMAL |
                            GPU_THROTTLE_HARDWARE_THERMAL | GPU_THROTTLE_POWER_BRAKE);
}

bool alert_is_capped(uint64_t throttle_bits, double power, double limit)
{
    return throttle_bits & GPU_THROTTLE_POWER_CAP || (limit > 0 && power >= limit * AT_LIMIT);
}
