/*
 * Reading NVIDIA's GPUs: a row of reads[] per call of the library, with how often it is made. Rates
 * are what the driver can answer with something new: utilisation is a share of its last sixth to
 * whole second; power, clocks, temperature and the reasons of throttling change fast.
 * nvmlDeviceGetPcieThroughput is never called: it waits for 20 ms each time; the byte counters of
 * the fields give the same.
 */
#include "capture/gpu/nvml.h"

#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "capture/shared/ticks.h"

struct call {
    const struct nvml *nvml;
    struct nvml_device *device;
    struct gpu_reading *out;
};

static void put_metric(struct call *call, enum gpu_metric metric, double value)
{
    gpu_put(call->out, metric, value / gpu_metrics[metric].per_unit);
}

static int read_utilisation(struct call *call)
{
    struct nvml_utilisation rates = {0, 0};
    const uint64_t core = GPU_BIT(GPU_UTILISATION), memory = GPU_BIT(GPU_MEMORY_UTILISATION);
    uint64_t have = call->out->have;
    if ((have & core) && (have & memory))
        return NVML_OK; /* samples say more: this call returns the last of them */
    if (!call->nvml->utilisation)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call->nvml->utilisation(call->device->handle, &rates);
    if (result == NVML_OK && !(have & core))
        put_metric(call, GPU_UTILISATION, rates.gpu);
    if (result == NVML_OK && !(have & memory))
        put_metric(call, GPU_MEMORY_UTILISATION, rates.memory);
    return result;
}

static int sample_power(struct call *call)
{
    return nvml_read_samples(call->nvml, call->device, NVML_SAMPLES_POWER, GPU_POWER_SAMPLED,
                             call->out);
}

static int sample_utilisation(struct call *call)
{
    return nvml_read_samples(call->nvml, call->device, NVML_SAMPLES_UTILISATION, GPU_UTILISATION,
                             call->out);
}

static int sample_memory_utilisation(struct call *call)
{
    return nvml_read_samples(call->nvml, call->device, NVML_SAMPLES_MEMORY_UTILISATION,
                             GPU_MEMORY_UTILISATION, call->out);
}

/* The second version leaves out what the driver keeps for itself; a library that knows neither it
 * nor our version of it still knows the first. */
static int read_memory(struct call *call)
{
    struct nvml_memory2 memory2 = {.version = NVML_MEMORY2_VERSION};
    struct nvml_memory memory = {0, 0, 0};
    int result = NVML_FUNCTION_NOT_FOUND;
    if (call->nvml->memory2)
        result = call->nvml->memory2(call->device->handle, &memory2);
    if (result == NVML_OK) {
        put_metric(call, GPU_MEMORY_USED, (double)memory2.used);
        put_metric(call, GPU_MEMORY_TOTAL, (double)memory2.total);
        return result;
    }
    if (call->nvml->memory)
        result = call->nvml->memory(call->device->handle, &memory);
    if (result == NVML_OK) {
        put_metric(call, GPU_MEMORY_USED, (double)memory.used);
        put_metric(call, GPU_MEMORY_TOTAL, (double)memory.total);
    }
    return result;
}

/* Calls that give one number. */
static int read_one(struct call *call, int (*function)(nvml_handle, unsigned *),
                    enum gpu_metric metric)
{
    unsigned value = 0;
    int result = function ? function(call->device->handle, &value) : NVML_FUNCTION_NOT_FOUND;
    if (result == NVML_OK)
        put_metric(call, metric, value);
    return result;
}

static int read_power(struct call *call)
{
    if (call->device->instant)
        return NVML_OK; /* the field is better: this call returns the average of a second */
    return read_one(call, call->nvml->power, GPU_POWER);
}

static int read_limit(struct call *call)
{
    return read_one(call, call->nvml->power_limit, GPU_POWER_LIMIT);
}

static int read_fan(struct call *call)
{
    return read_one(call, call->nvml->fan, GPU_FAN);
}

static int read_energy(struct call *call)
{
    unsigned long long mj = 0;
    int result = NVML_FUNCTION_NOT_FOUND;
    if (call->nvml->energy)
        result = call->nvml->energy(call->device->handle, &mj);
    if (result == NVML_OK)
        put_metric(call, GPU_ENERGY, (double)mj);
    return result;
}

static int read_temperature(struct call *call)
{
    unsigned degrees = 0;
    int result = NVML_FUNCTION_NOT_FOUND;
    if (call->nvml->temperature)
        result = call->nvml->temperature(call->device->handle, 0, &degrees);
    if (result == NVML_OK)
        put_metric(call, GPU_TEMPERATURE, degrees);
    return result;
}

/* NVML_CLOCK_SM 1, NVML_CLOCK_MEM 2 */
static int read_clocks(struct call *call)
{
    unsigned core = 0, memory = 0;
    if (!call->nvml->clock)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call->nvml->clock(call->device->handle, 1, &core);
    if (result == NVML_OK)
        put_metric(call, GPU_CLOCK, core);
    int other = call->nvml->clock(call->device->handle, 2, &memory);
    if (other == NVML_OK)
        put_metric(call, GPU_MEMORY_CLOCK, memory);
    return result == NVML_OK ? other : result;
}

static int read_reasons(struct call *call)
{
    unsigned long long bits = 0;
    int result = NVML_FUNCTION_NOT_FOUND;
    if (call->nvml->reasons)
        result = call->nvml->reasons(call->device->handle, &bits);
    if (result == NVML_OK)
        put_metric(call, GPU_THROTTLE, (double)bits);
    return result;
}

static int read_state(struct call *call)
{
    int state = 0, result = NVML_FUNCTION_NOT_FOUND;
    if (call->nvml->state)
        result = call->nvml->state(call->device->handle, &state);
    if (result == NVML_OK && state >= 0 && state <= 15) /* 32 = unknown */
        put_metric(call, GPU_STATE, state);
    return result;
}

/* ---- fields ---- */

static bool is_unsupported(int result)
{
    return result == NVML_NOT_SUPPORTED || result == NVML_FUNCTION_NOT_FOUND ||
           result == NVML_INVALID_ARGUMENT || result == NVML_VERSION_MISMATCH ||
           result == NVML_NO_PERMISSION;
}

double nvml_number(unsigned type, const union nvml_value *value)
{
    switch (type) {
    case NVML_TYPE_DOUBLE: return value->real;
    case NVML_TYPE_U32: return value->u32;
    case NVML_TYPE_I64: return (double)value->i64;
    case NVML_TYPE_I32: return value->i32;
    case NVML_TYPE_U16: return value->u16;
    default: return (double)value->u64;
    }
}

struct wanted {
    unsigned field, scope;
    enum gpu_metric metric;
};
#define MAX_FIELDS 8u

/* Each field has a separate result. Those that the device lacks are not asked for again. */
static int read_fields(struct call *call, const struct wanted *wanted, size_t count)
{
    struct nvml_field fields[MAX_FIELDS];
    enum gpu_metric metrics[MAX_FIELDS];
    int asked = 0;
    if (!call->nvml->fields)
        return NVML_FUNCTION_NOT_FOUND;
    memset(fields, 0, sizeof fields);
    for (size_t i = 0; i < count; i++) {
        if (call->device->refused & ~call->device->seen & GPU_BIT(wanted[i].metric))
            continue;
        fields[asked].field = wanted[i].field;
        fields[asked].scope = wanted[i].scope;
        metrics[asked++] = wanted[i].metric;
    }
    int result = asked ? call->nvml->fields(call->device->handle, asked, fields) : NVML_OK;
    for (int i = 0; result == NVML_OK && i < asked; i++) {
        if (fields[i].result == NVML_OK)
            put_metric(call, metrics[i], nvml_number(fields[i].type, &fields[i].value));
        else if (is_unsupported(fields[i].result))
            call->device->refused |= GPU_BIT(metrics[i]);
        else
            call->out->errors++;
    }
    return result;
}

static int read_fast_fields(struct call *call)
{
    static const struct wanted wanted[] = {{NVML_FIELD_POWER_INSTANT, 0, GPU_POWER}};
    int result = read_fields(call, wanted, 1);
    call->device->instant = call->device->instant || call->out->have & GPU_BIT(GPU_POWER);
    return result;
}

static int read_slow_fields(struct call *call)
{
    static const struct wanted wanted[] = {
        {NVML_FIELD_POWER_AVERAGE, 0, GPU_POWER_AVERAGE},
        {NVML_FIELD_MEMORY_TEMPERATURE, 0, GPU_MEMORY_TEMPERATURE},
        {NVML_FIELD_PCIE_SENT, 0, GPU_PCIE_SENT},
        {NVML_FIELD_PCIE_RECEIVED, 0, GPU_PCIE_RECEIVED},
        {NVML_FIELD_NVLINK_SENT, NVML_ALL_LINKS, GPU_NVLINK_SENT},
        {NVML_FIELD_NVLINK_RECEIVED, NVML_ALL_LINKS, GPU_NVLINK_RECEIVED}};
    return read_fields(call, wanted, sizeof wanted / sizeof wanted[0]);
}

/* ---- processes ---- */

static int read_processes(struct call *call)
{
    struct nvml_process list[GPU_MAX_PROCESSES];
    struct gpu_reading *out = call->out;
    unsigned count = GPU_MAX_PROCESSES;
    if (!call->nvml->processes)
        return NVML_FUNCTION_NOT_FOUND;
    int result = call->nvml->processes(call->device->handle, &count, list);
    if (result == NVML_INSUFFICIENT_SIZE) { /* `count` is what there are; none was given */
        out->unlisted += count;
        return NVML_OK;
    }
    if (result != NVML_OK)
        return result;
    out->listed = true;
    out->process_count = count < GPU_MAX_PROCESSES ? count : GPU_MAX_PROCESSES;
    for (size_t i = 0; i < out->process_count; i++)
        out->process[i] = (struct gpu_process){
            list[i].pid, list[i].used == NVML_UNKNOWN_BYTES ? UINT64_MAX : list[i].used};
    return result;
}

/* ---- GPM ---- */

static int begin_gpm(struct call *call)
{
    const struct nvml *nvml = call->nvml;
    struct nvml_device *device = call->device;
    struct nvml_gpm_support support = {1, 0};
    if (!nvml->gpm_support || !nvml->gpm_alloc || !nvml->gpm_free || !nvml->gpm_sample ||
        !nvml->gpm_metrics)
        return NVML_FUNCTION_NOT_FOUND;
    int result = nvml->gpm_support(device->handle, &support);
    if (result != NVML_OK || !support.supported)
        return result != NVML_OK ? result : NVML_NOT_SUPPORTED;
    for (size_t i = 0; i < 2; i++)
        if (!device->gpm[i]) {
            result = nvml->gpm_alloc(&device->gpm[i]);
            if (result != NVML_OK)
                return result;
        }
    return nvml->gpm_sample(device->handle, device->gpm[0]);
}

/* What happened since the sample before. */
static int read_gpm(struct call *call)
{
    static const struct {
        unsigned gpm;
        enum gpu_metric metric;
    } wanted[] = {{NVML_GPM_SM_ACTIVE, GPU_SM_ACTIVE},
                  {NVML_GPM_SM_OCCUPANCY, GPU_SM_OCCUPANCY},
                  {NVML_GPM_TENSOR, GPU_TENSOR_ACTIVE},
                  {NVML_GPM_DRAM, GPU_DRAM_ACTIVE}};
    enum { WANTED = sizeof wanted / sizeof wanted[0] };
    struct nvml_device *device = call->device;
    if (!device->gpm_begun) {
        int begun = begin_gpm(call);
        device->gpm_begun = begun == NVML_OK;
        return begun;
    }
    int result = call->nvml->gpm_sample(device->handle, device->gpm[1]);
    if (result != NVML_OK)
        return result;
    struct nvml_gpm_query *query = nl_zalloc(sizeof *query);
    *query = (struct nvml_gpm_query){
        .version = 1, .count = WANTED, .before = device->gpm[0], .after = device->gpm[1]};
    for (size_t i = 0; i < WANTED; i++)
        query->metric[i].metric = wanted[i].gpm;
    result = call->nvml->gpm_metrics(query);
    device->gpm[0] = query->after;
    device->gpm[1] = query->before;
    for (size_t i = 0; result == NVML_OK && i < WANTED; i++) {
        if (query->metric[i].result == NVML_OK)
            put_metric(call, wanted[i].metric, query->metric[i].value);
        else if (is_unsupported(query->metric[i].result))
            device->refused |= GPU_BIT(wanted[i].metric);
        else
            call->out->errors++;
    }
    nl_free(query);
    return result;
}

/* ---- the table ---- */

static const struct {
    int (*read)(struct call *call);
    unsigned period_ms;
    uint64_t metrics;
} reads[] = {
    {read_fast_fields, 100, GPU_BIT(GPU_POWER)},
    {read_power, 100, GPU_BIT(GPU_POWER)}, /* after the fields */
    {read_temperature, 100, GPU_BIT(GPU_TEMPERATURE)},
    {read_clocks, 100, GPU_BIT(GPU_CLOCK) | GPU_BIT(GPU_MEMORY_CLOCK)},
    {read_reasons, 100, GPU_BIT(GPU_THROTTLE)},
    {sample_power, 200, GPU_BIT(GPU_POWER_SAMPLED)},
    {sample_utilisation, 200, 0}, /* without samples the call after them decides */
    {sample_memory_utilisation, 200, 0},
    {read_utilisation, 200, GPU_BIT(GPU_UTILISATION) | GPU_BIT(GPU_MEMORY_UTILISATION)},
    {read_energy, 200, GPU_BIT(GPU_ENERGY)},
    {read_gpm, 200,
     GPU_BIT(GPU_SM_ACTIVE) | GPU_BIT(GPU_SM_OCCUPANCY) | GPU_BIT(GPU_TENSOR_ACTIVE) |
         GPU_BIT(GPU_DRAM_ACTIVE)},
    {read_memory, 500, GPU_BIT(GPU_MEMORY_USED) | GPU_BIT(GPU_MEMORY_TOTAL)},
    {read_slow_fields, 500,
     GPU_BIT(GPU_POWER_AVERAGE) | GPU_BIT(GPU_MEMORY_TEMPERATURE) | GPU_BIT(GPU_PCIE_SENT) |
         GPU_BIT(GPU_PCIE_RECEIVED) | GPU_BIT(GPU_NVLINK_SENT) | GPU_BIT(GPU_NVLINK_RECEIVED)},
    {read_processes, 1000, 0},
    {read_limit, 1000, GPU_BIT(GPU_POWER_LIMIT)},
    {read_state, 1000, GPU_BIT(GPU_STATE)},
    {read_fan, 1000, GPU_BIT(GPU_FAN)},
};
_Static_assert(sizeof reads / sizeof reads[0] == NVML_READS, "a time for each row");

void nvml_read(void *state, unsigned number, int64_t now_ns, struct gpu_reading *out)
{
    struct nvml *nvml = state;
    struct nvml_device *device = &nvml->devices[number];
    struct call call = {nvml, device, out};
    for (size_t i = 0; i < NVML_READS; i++) {
        if (now_ns < device->next_ns[i])
            continue;
        int64_t before = ticks_clock_ns(CLOCK_MONOTONIC);
        int result = reads[i].read(&call);
        int64_t spent = ticks_clock_ns(CLOCK_MONOTONIC) - before;
        out->slow += spent > GPU_SLOW_NS;
        device->next_ns[i] = gpu_next(now_ns, reads[i].period_ms, spent);
        if (result == NVML_OK)
            continue;
        if (is_unsupported(result)) {
            device->refused |= reads[i].metrics;
            device->next_ns[i] = INT64_MAX;
        } else {
            out->errors++;
            device->next_ns[i] = now_ns + GPU_RETRY_NS;
        }
    }
    device->seen |= out->have;
}

void nvml_read_end(struct nvml *nvml, struct nvml_device *device)
{
    for (size_t i = 0; i < 2; i++)
        if (device->gpm[i])
            (void)nvml->gpm_free(device->gpm[i]);
}
