/*
 * A library in the place of NVIDIA's, for tests: two GPUs whose values follow the calls, and
 * that misbehave as the words of NVML_MOCK say, joined with commas. Compiled with -DOLD it lacks
 * what early versions lack.
 *
 *   noinit        the driver is not loaded            mismatch   library and driver of different versions
 *   nodevices     a driver without a card             badcount   counting fails
 *   newer         structs and fields of later versions are asked for
 *   errors        every second call fails             lost       the second GPU is gone after a while
 *   unsupported   nothing but the name and memory     slow       every call takes 60 ms
 *   hang          a call never comes back             hot        temperature, memory and throttling over thresholds
 *   many          more processes than fit             slowstart  nvmlInit takes a second
 *   metered       energy goes up as power says
 *
 * The driver's own samples, one in 20 ms of which 2.4 s are kept; one in 10 of
 * power is a peak of 690 W:
 *
 *   nosamples     they are not supported              nonesince  there are none
 *   empty         there are 0                         repeat     what was seen is told again
 *   zero          one more, without a time            future     one more, of tomorrow
 *   backwards     the newest first                    overfull   says that it gave more than was asked for
 *   small         says that more are there than fit   failing    the call fails
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OK          0
#define INVALID     2
#define UNSUPPORTED 3
#define NOT_FOUND   6
#define SMALL       7
#define NOT_LOADED  9
#define LOST        15
#define MISMATCH    18
#define VERSION     25
#define UNKNOWN     999

static unsigned calls;

static int word(const char *name)
{
    const char *words = getenv("NVML_MOCK"), *at = words ? strstr(words, name) : NULL;
    size_t len = strlen(name);
    return at && (at == words || at[-1] == ',') && (at[len] == ',' || !at[len]);
}

static unsigned number(void *device)
{
    return (unsigned)(size_t)device - 1;
}

/* How a call about a device goes, before it does anything. */
static int before(void *device)
{
    calls++;
    if (word("slow"))
        usleep(60000);
    if (word("hang") && calls > 3)
        sleep(1000);
    if (word("unsupported"))
        return UNSUPPORTED;
    if (word("errors") && calls % 2)
        return UNKNOWN;
    return word("lost") && number(device) == 1 && calls > 20 ? LOST : OK;
}

int nvmlInit_v2(void)
{
    if (word("slowstart"))
        sleep(1);
    return word("noinit") ? NOT_LOADED : word("mismatch") ? MISMATCH : OK;
}

int nvmlShutdown(void)
{
    return OK;
}

const char *nvmlErrorString(int result)
{
    return result == NOT_LOADED ? "Driver Not Loaded"
           : result == MISMATCH ? "Driver/library version mismatch"
                                : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = word("nodevices") ? 0 : 2;
    return word("badcount") ? UNKNOWN : OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(size_t)(index + 1);
    return OK;
}

int nvmlDeviceGetName(void *device, char *text, unsigned room)
{
    snprintf(text, room, "Mock H%u00", number(device) + 1);
    return OK;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned room)
{
    snprintf(text, room, "GPU-0000000%u", number(device));
    return OK;
}

int nvmlDeviceGetUtilizationRates(void *device, unsigned rates[2])
{
    int result = before(device);
    rates[0] = number(device) ? 12 : 93;
    rates[1] = number(device) ? 3 : 41;
    return result;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long memory[3])
{
    memory[0] = 80ull << 30;
    memory[2] = number(device) ? 1ull << 30 : word("hot") ? 79ull << 30 : 60ull << 30;
    memory[1] = memory[0] - memory[2];
    (void)device;
    return OK;
}

#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned long long memory[5])
{
    int result = before(device);
    unsigned version = *(unsigned *)memory;
    if (word("newer") || version != (40u | 2u << 24))
        return VERSION;
    memory[1] = 80ull << 30;
    memory[4] = number(device) ? 1ull << 30 : word("hot") ? 79ull << 30 : 60ull << 30;
    memory[3] = memory[1] - memory[4];
    memory[2] = 0;
    return result;
}
#endif

int nvmlDeviceGetPowerUsage(void *device, unsigned *mw)
{
    *mw = number(device) ? 71000 : 612500;
    return before(device);
}

int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *mw)
{
    *mw = 700000;
    return before(device);
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    *mj = word("metered") ? (unsigned long long)(seconds * 1e3 * (number(device) ? 71 : 612.5))
                          : 1000000ull + calls;
    return before(device);
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *degrees)
{
    *degrees = number(device) ? 34 : word("hot") ? 88 : 67;
    return sensor ? INVALID : before(device);
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
    *mhz = which == 1 ? (number(device) ? 345 : 1755) : 2619;
    return before(device);
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *bits)
{
    *bits = number(device) ? 1 : word("hot") ? 0x44 : 0;
    return before(device);
}

int nvmlDeviceGetPerformanceState(void *device, int *state)
{
    *state = number(device) ? 8 : 0;
    return before(device);
}

int nvmlDeviceGetFanSpeed(void *device, unsigned *percent)
{
    *percent = 0;
    (void)device;
    return UNSUPPORTED;
}

#ifndef OLD
struct field {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type;
    int result;
    unsigned long long value;
};

struct sample {
    unsigned long long time, value;
};

#define SAMPLE_US 20000ull
#define KEPT      120u

static unsigned long long sample(void *device, int which, unsigned long long number)
{
    if (which == 0)
        return device == (void *)1 ? (number % 10 ? 612500 : 690000) : 71000;
    return which == 1 ? (device == (void *)1 ? 93 : 12) : device == (void *)1 ? 41 : 3;
}

int nvmlDeviceGetSamples(void *device, int which, unsigned long long seen, unsigned *type,
                         unsigned *count, struct sample *samples)
{
    struct timespec now;
    unsigned room = *count, put = 0;
    int result = before(device);
    if (word("nosamples"))
        return UNSUPPORTED;
    if (word("nonesince"))
        return NOT_FOUND;
    if (word("failing"))
        return UNKNOWN;
    clock_gettime(CLOCK_REALTIME, &now);
    unsigned long long last =
        ((unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000) /
        SAMPLE_US;
    last -= last % 10 == 0; /* the newest is no peak: what top shows stays */
    *type = 1;
    *count = word("small") ? KEPT * 10 : 0;
    if (*count || word("empty"))
        return *count ? SMALL : result;
    for (unsigned long long i = last - KEPT + 1; i <= last && put < room; i++)
        if (i * SAMPLE_US > seen || word("repeat"))
            samples[put++] = (struct sample){i * SAMPLE_US, sample(device, which, i)};
    for (unsigned i = 0; word("backwards") && i < put / 2; i++) {
        struct sample swapped = samples[i];
        samples[i] = samples[put - 1 - i];
        samples[put - 1 - i] = swapped;
    }
    if (word("zero") && put < room)
        samples[put++] = (struct sample){0, 5};
    if (word("future") && put < room)
        samples[put++] = (struct sample){(last + 4320000) * SAMPLE_US, 5};
    *count = word("overfull") ? room + 10 : put;
    return result;
}

int nvmlDeviceGetFieldValues(void *device, int count, struct field *fields)
{
    int result = before(device);
    for (int i = 0; i < count; i++) {
        unsigned id = fields[i].field;
        fields[i].type = id == 186 || id == 185 || id == 82 ? 1 : 3;
        fields[i].result = word("newer") ? INVALID : OK;
        fields[i].value = id == 186   ? (number(device) ? 71000
                                         : word("hot")  ? 699000
                                                        : 612500)
                          : id == 185 ? (number(device) ? 70000 : 600000)
                          : id == 82  ? 71
                                      : 1000ull * calls;
        if (id == 138 || id == 139)
            fields[i].result = UNSUPPORTED;
    }
    return result;
}
#endif

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned instances[2];
};

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, struct process *list)
{
    const char *pid = getenv("NVML_MOCK_PID");
    int result = before(device);
    if (word("many")) {
        *count = 100000;
        return SMALL;
    }
    *count = number(device) ? 1 : 2;
    for (unsigned i = 0; i < *count; i++) {
        list[i].pid = pid ? (unsigned)atoi(pid) : 4242;
        list[i].used = i ? ~0ull : 3ull << 30;
    }
    if (!number(device))
        list[1].pid = 77;
    return result;
}

#ifndef OLD
/* ---- counters of the hardware ---- */

int nvmlGpmQueryDeviceSupport(void *device, unsigned support[2])
{
    int result = before(device);
    support[1] = number(device) == 0;
    return support[0] == 1 ? result : VERSION;
}

int nvmlGpmSampleAlloc(void **sample)
{
    *sample = calloc(1, 64);
    return *sample ? OK : UNKNOWN;
}

int nvmlGpmSampleFree(void *sample)
{
    free(sample);
    return OK;
}

int nvmlGpmSampleGet(void *device, unsigned *sample)
{
    *sample = ++calls;
    return before(device);
}

struct metric {
    unsigned metric;
    int result;
    double value;
    const char *names[3];
};

struct query {
    unsigned version, count;
    unsigned *first, *second;
    struct metric metric[];
};

int nvmlGpmMetricsGet(struct query *query)
{
    if (query->version != 1 || query->first == query->second || *query->first >= *query->second)
        return INVALID;
    for (unsigned i = 0; i < query->count; i++) {
        query->metric[i].value = query->metric[i].metric * 10;
        query->metric[i].result = query->metric[i].metric == 5 ? UNSUPPORTED : OK;
    }
    return OK;
}
#endif
