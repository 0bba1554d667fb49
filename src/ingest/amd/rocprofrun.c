/*
 * One run of rocprofv3 is several files: which belong together, and which process a row is of. Only
 * calls and counters name their process, so those files are read before kernels and copies if they
 * have it, and counters after the kernels that they are about.
 */
#include <string.h>

#include "base/mem.h"
#include "ingest/amd/rocprof.h"

/* ---- Names of files ---- */

/* In the order of loading. */
static const char *const endings[] = {
    "agent_info",
    "hip_api_trace",
    "hip_runtime_api_trace",
    "hip_compiler_api_trace",
    "hsa_api_trace",
    "hsa_core_api_trace",
    "hsa_amd_ext_api_trace",
    "hsa_image_ext_api_trace",
    "hsa_finalize_ext_api_trace",
    "marker_api_trace",
    "rccl_api_trace",
    "rocdecode_api_trace",
    "rocjpeg_api_trace",
    "kernel_trace",
    "memory_copy_trace",
    "memory_allocation_trace",
    "scratch_memory_trace",
    "counter_collection",
    "pc_sampling_host_trap",
    "pc_sampling_stochastic",
};

static size_t without(const char *path, size_t len, const char *ending)
{
    size_t cut = strlen(ending);
    return len >= cut && memcmp(path + len - cut, ending, cut) == 0 ? len - cut : len;
}

size_t rocprof_recording(const struct nl_input *input, unsigned *place)
{
    size_t len = strlen(input->where);
    len = without(input->where, len, ".gz");
    len = without(input->where, len, ".zst");
    size_t name = without(input->where, len, ".csv");
    for (unsigned i = 0; name < len && i < sizeof endings / sizeof endings[0]; i++) {
        size_t stem = without(input->where, name, endings[i]);
        bool whole_word =
            stem > 0 && (input->where[stem - 1] == '_' || input->where[stem - 1] == '/');
        if (stem < name && whole_word) {
            *place = i;
            return stem;
        }
    }
    return 0;
}

/* ---- Processes ---- */

struct rocprof *rocprof_new(struct nl_builder *builder, uint32_t source, struct nl_job *job)
{
    struct rocprof *load = nl_zalloc(sizeof *load);
    gpurows_begin(&load->rows, builder, source, job);
    nl_builder_correlation_per_process(builder, source);
    load->only_pid = NL_NULL_I64;
    return load;
}

void rocprof_free(void *context)
{
    struct rocprof *load = context;
    gpurows_end(&load->rows);
    gpurows_map_release(&load->dispatches);
    gpurows_map_release(&load->pids);
    gpurows_map_release(&load->guids);
    nl_free(load);
}

static void meet_pid(struct rocprof *load, int64_t pid)
{
    load->several_pids |= load->only_pid != NL_NULL_I64 && load->only_pid != pid;
    load->only_pid = load->several_pids ? NL_NULL_I64 : pid;
}

static uint64_t guid_of(const struct rocprof *load)
{
    struct nl_str guid = csvread_cell(&load->csv, load->guid_column);
    return nl_hash(guid.ptr, guid.len);
}

int64_t rocprof_pid(struct rocprof *load, int what)
{
    int64_t pid = rocprof_i64(load, what);
    bool named = load->guid_column >= 0;
    if (pid == NL_NULL_I64 && named) {
        const uint64_t *found = gpurows_map_find(&load->pids, guid_of(load));
        return found ? (int64_t)*found : NL_NULL_I64;
    }
    if (pid == NL_NULL_I64)
        pid = load->file_pid;
    if (pid == NL_NULL_I64)
        return load->only_pid;
    if (pid != load->only_pid)
        meet_pid(load, pid);
    if (named) {
        uint64_t guid = guid_of(load);
        (void)gpurows_map_put(&load->pids, guid, (uint64_t)pid, NULL);
        (void)gpurows_map_put(&load->guids, (uint64_t)pid, guid, NULL);
    }
    return pid;
}

uint64_t rocprof_correlation(struct rocprof *load, int what, int64_t pid)
{
    uint64_t id = rocprof_id(load, what);
    if (load->guid_column < 0 || pid == NL_NULL_I64)
        return id;
    const uint64_t *owner = gpurows_map_find(&load->guids, (uint64_t)pid);
    if (!owner || *owner == guid_of(load))
        return id;
    load->ambiguous++;
    return NL_NULL_U64;
}

uint64_t *rocprof_dispatch(struct rocprof *load, int64_t pid, int agent, int number, bool *made)
{
    uint64_t key = (uint64_t)rocprof_agent(load, agent) << 32 ^ (uint64_t)rocprof_i64(load, number);
    uint64_t guid = load->guid_column >= 0 ? guid_of(load) : 0;
    return gpurows_map_put(&load->dispatches, key ^ (uint64_t)pid << 40 ^ guid, UINT64_MAX, made);
}
