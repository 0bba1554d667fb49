/* A machine as JSON. */
#include "cli/record/topjson.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/sum.h"
#include "view/view.h"
#include "view/jsonview.h"

static void put_text_member(struct nl_json *json, const char *key, const char *text)
{
    nl_json_key(json, key);
    nl_json_text(json, *text ? text : NULL);
}

static void put_alerts(struct nl_json *json, const struct alerts *alerts)
{
    nl_json_key(json, "alerts");
    nl_json_open(json, '[');
    for (unsigned i = 0; i < ALERT_ROWS; i++)
        if (alerts->on >> i & 1u)
            nl_json_text(json, alert_rows[i].word);
    nl_json_close(json, ']');
}

static void put_gpu(struct nl_json *json, const struct machine_gpu *gpu, unsigned number)
{
    char words[128];
    const struct gpu_latest *latest = &gpu->latest;
    nl_json_open(json, '{');
    nl_json_put_u64(json, "index", number, true);
    put_text_member(json, "name", gpu->info.name);
    put_text_member(json, "vendor", gpu->info.vendor);
    put_text_member(json, "uuid", gpu->info.uuid);
    put_text_member(json, "bus", gpu->info.bus);
    for (unsigned i = 0; i < GPU_METRICS; i++)
        nl_json_put_f64(json, gpu_metrics[i].key, latest->value[i], latest->have & GPU_BIT(i));
    gpu_throttle_words(nl_whole_u64(gpu_latest(latest, GPU_THROTTLE)), words, sizeof words);
    nl_json_key(json, "throttle");
    nl_json_text(json, latest->have & GPU_BIT(GPU_THROTTLE) ? words : NULL);
    put_alerts(json, &latest->alerts);
    nl_json_close(json, '}');
}

static void put_system(struct nl_json *json, const struct machine_system *system)
{
    nl_json_key(json, "system");
    nl_json_open(json, '{');
    nl_json_put_f64(json, "processors", system->processors, system->processors > 0);
    nl_json_put_f64(json, "processors_used", system->busy, system->busy >= 0);
    nl_json_put_f64(json, "load_1min", system->load, system->load >= 0);
    nl_json_put_u64(json, "memory_total_bytes", system->memory_total, system->memory_total);
    nl_json_put_u64(json, "memory_available_bytes", system->memory_free, system->memory_total);
    nl_json_close(json, '}');
}

static void put_recording(struct nl_json *json, const struct machine_recording *recording)
{
    nl_json_key(json, "recording");
    if (!recording->there) {
        nl_json_null(json);
        return;
    }
    nl_json_open(json, '{');
    nl_json_put_f64(json, "seconds", (double)recording->spent_ns / 1e9, recording->spent_ns >= 0);
    nl_json_put_u64(json, "bytes", recording->bytes, true);
    nl_json_put_u64(json, "dropped_events", recording->dropped, true);
    nl_json_put_u64(json, "steps", recording->steps, true);
    nl_json_key(json, "step");
    if (recording->steps)
        nl_json_i64(json, recording->step);
    else
        nl_json_null(json);
    nl_json_put_f64(json, "step_seconds", recording->step_s, recording->step_s > 0);
    nl_json_close(json, '}');
}

static void put_process(struct nl_json *json, const struct machine_process *process)
{
    char state[2] = {process->state, '\0'};
    nl_json_open(json, '{');
    nl_json_key(json, "pid");
    nl_json_i64(json, process->pid);
    put_text_member(json, "command", process->command);
    put_text_member(json, "state", state);
    nl_json_put_f64(json, "processors_used", process->processors, process->processors >= 0);
    nl_json_put_u64(json, "resident_bytes", process->resident, true);
    nl_json_put_u64(json, "threads", process->threads, true);
    nl_json_put_u64(json, "gpu_memory_bytes", process->gpu_bytes,
                    process->gpus && process->gpu_bytes != UINT64_MAX);
    nl_json_key(json, "gpus");
    nl_json_open(json, '[');
    for (unsigned i = 0; i < GPU_MAX_DEVICES; i++)
        if (process->gpus >> i & 1u)
            nl_json_u64(json, i);
    nl_json_close(json, ']');
    put_alerts(json, &process->alerts);
    put_recording(json, &process->recording);
    nl_json_close(json, '}');
}

static void put_losses(struct nl_json *json, const struct gpu_losses *losses)
{
    nl_json_key(json, "gpu_losses");
    nl_json_open(json, '{');
    nl_json_put_u64(json, "failed_calls", losses->errors, true);
    nl_json_put_u64(json, "slow_calls", losses->slow, true);
    nl_json_put_u64(json, "missed_readings", losses->missed, true);
    nl_json_put_u64(json, "dropped_values", losses->dropped, true);
    nl_json_put_u64(json, "unlisted_processes", losses->unlisted, true);
    nl_json_put_u64(json, "lost_samples", losses->unsampled, true);
    nl_json_close(json, '}');
}

void nl_top_json(FILE *stream, const struct machine *machine, enum top_sort sort, size_t limit)
{
    struct nl_json json;
    const struct gpuwatch_state *state = &machine->gpu_state;
    size_t shown = machine->process_count < limit ? machine->process_count : limit;
    nl_view_json_begin(&json, stream, "neurolens.top/1");
    nl_json_open(&json, '{');
    put_system(&json, &machine->system);
    nl_json_key(&json, "gpus");
    nl_json_open(&json, '[');
    for (unsigned i = 0; i < machine->gpu_count; i++)
        put_gpu(&json, &machine->gpus[i], i);
    nl_json_close(&json, ']');
    put_text_member(&json, "gpu_note",
                    state->opened ? state->devices ? "" : state->why
                                  : "the driver has not answered");
    put_losses(&json, &state->losses);
    nl_json_key(&json, "processes");
    nl_json_open(&json, '[');
    const struct machine_process **order = top_order(machine, sort);
    for (size_t i = 0; i < shown; i++)
        put_process(&json, order[i]);
    nl_free(order);
    nl_json_close(&json, ']');
    nl_json_put_u64(&json, "processes_left_out", machine->process_count - shown + machine->unseen,
                    true);
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
    (void)fputc('\n', stream);
}
