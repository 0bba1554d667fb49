/* AMD's GPUs as the amdgpu driver shows them in /sys/class/drm: no library is needed. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/gpu/gpu.h"
#include "capture/shared/ticks.h"

#define PATH_BYTES 512u

/* File → value: in the device's folder, or in that of its sensors. */
static const struct {
    const char *file;
    bool sensor;
    unsigned period_ms;
    enum gpu_metric metric;
    double per_unit; /* of the file's unit in one of ours */
} reads[] = {
    {"gpu_busy_percent", false, 200, GPU_UTILISATION, 1},
    {"mem_busy_percent", false, 200, GPU_MEMORY_UTILISATION, 1},
    {"mem_info_vram_used", false, 500, GPU_MEMORY_USED, 1},
    {"mem_info_vram_total", false, 500, GPU_MEMORY_TOTAL, 1},
    {"power1_average", true, 100, GPU_POWER, 1e6},
    {"power1_input", true, 100, GPU_POWER, 1e6},
    {"power1_cap", true, 1000, GPU_POWER_LIMIT, 1e6},
    {"energy1_input", true, 200, GPU_ENERGY, 1e6},
    {"temp1_input", true, 100, GPU_TEMPERATURE, 1e3},
    {"temp3_input", true, 500, GPU_MEMORY_TEMPERATURE, 1e3},
    {"freq1_input", true, 100, GPU_CLOCK, 1e6},
    {"freq2_input", true, 100, GPU_MEMORY_CLOCK, 1e6},
};
#define READS (sizeof reads / sizeof reads[0])

struct card {
    char folder[PATH_BYTES], sensors[PATH_BYTES]; /* "" = no sensors */
    struct gpu_info info;
    int64_t next_ns[READS];
    uint64_t refused, seen;
};

struct amd {
    struct card *cards;
    size_t cap;
    unsigned count;
};

/* The first line of a file; false when it cannot be read or is empty. */
static bool first_line(const char *folder, const char *name, char *text, size_t room)
{
    char path[PATH_BYTES * 2];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, room - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return *text;
}

static void find_sensors(struct card *card)
{
    char folder[PATH_BYTES + 16];
    (void)snprintf(folder, sizeof folder, "%s/hwmon", card->folder);
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries))
        if (strncmp(entry->d_name, "hwmon", 5) == 0 && strlen(entry->d_name) < 32)
            (void)snprintf(card->sensors, sizeof card->sensors, "%.440s/%.32s", folder,
                           entry->d_name);
    closedir(entries);
}

static void describe_card(struct card *card)
{
    struct gpu_info *info = &card->info;
    char text[PATH_BYTES];
    info->vendor = "amd";
    if (first_line(card->folder, "product_name", text, sizeof text))
        (void)snprintf(info->name, sizeof info->name, "%.90s", text);
    else if (first_line(card->folder, "device", text, sizeof text))
        (void)snprintf(info->name, sizeof info->name, "AMD GPU %.60s", text);
    if (first_line(card->folder, "unique_id", text, sizeof text))
        (void)snprintf(info->uuid, sizeof info->uuid, "GPU-%.80s", text);
    ssize_t got = readlink(card->folder, text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    const char *slash = strrchr(text, '/');
    if (slash)
        (void)snprintf(info->bus, sizeof info->bus, "%.30s", slash + 1);
}

static bool is_card(const char *name)
{
    return strncmp(name, "card", 4) == 0 && name[4] && !name[4 + strspn(name + 4, "0123456789")] &&
           strlen(name) < 16;
}

static int by_number(const void *a, const void *b)
{
    const char *one = strrchr(((const struct card *)a)->info.bus, 'd');
    const char *other = strrchr(((const struct card *)b)->info.bus, 'd');
    return (one ? atoi(one + 1) : 0) - (other ? atoi(other + 1) : 0);
}

static void find_cards(struct amd *amd, const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry = readdir(entries); entry && amd->count < GPU_MAX_DEVICES;
         entry = readdir(entries)) {
        struct card card = {.sensors = ""};
        char text[32];
        if (!is_card(entry->d_name))
            continue;
        (void)snprintf(card.folder, sizeof card.folder, "%.400s/%.16s/device", folder,
                       entry->d_name);
        if (!first_line(card.folder, "vendor", text, sizeof text) || strcmp(text, "0x1002") != 0)
            continue;
        (void)snprintf(card.info.bus, sizeof card.info.bus, "%.16s", entry->d_name);
        nl_grow(&amd->cards, &amd->cap, amd->count + 1u);
        amd->cards[amd->count++] = card;
    }
    closedir(entries);
}

static void *amd_open(const char *root, char why[GPU_WHY])
{
    char folder[PATH_BYTES];
    struct amd *amd = nl_zalloc(sizeof *amd);
    (void)snprintf(folder, sizeof folder, "%.400s/sys/class/drm", root);
    find_cards(amd, folder);
    if (!amd->count) {
        nl_free(amd);
        (void)snprintf(why, GPU_WHY, "no AMD GPU in /sys/class/drm");
        return NULL;
    }
    qsort(amd->cards, amd->count, sizeof *amd->cards, by_number);
    for (unsigned i = 0; i < amd->count; i++) {
        amd->cards[i].info.bus[0] = '\0';
        find_sensors(&amd->cards[i]);
        describe_card(&amd->cards[i]);
    }
    return amd;
}

static unsigned amd_count(const void *state)
{
    return ((const struct amd *)state)->count;
}

static void amd_describe(const void *state, unsigned device, struct gpu_info *info)
{
    *info = ((const struct amd *)state)->cards[device].info;
}

static void amd_read(void *state, unsigned device, int64_t now_ns, struct gpu_reading *out)
{
    struct card *card = &((struct amd *)state)->cards[device];
    for (size_t i = 0; i < READS; i++) {
        char text[64];
        int64_t value;
        if (now_ns < card->next_ns[i])
            continue;
        const char *folder = reads[i].sensor ? card->sensors : card->folder;
        int64_t before = ticks_clock_ns(CLOCK_MONOTONIC);
        bool got = *folder && first_line(folder, reads[i].file, text, sizeof text);
        int64_t spent = ticks_clock_ns(CLOCK_MONOTONIC) - before;
        out->slow += spent > GPU_SLOW_NS;
        card->next_ns[i] = gpu_next(now_ns, reads[i].period_ms, spent);
        if (got && nl_parse_i64(nl_str(text), &value)) {
            gpu_put(out, reads[i].metric, (double)value / reads[i].per_unit);
        } else if (got || card->seen & GPU_BIT(reads[i].metric)) {
            out->errors++;
            card->next_ns[i] = now_ns + GPU_RETRY_NS;
        } else {
            card->refused |= GPU_BIT(reads[i].metric);
            card->next_ns[i] = INT64_MAX;
        }
    }
    card->seen |= out->have;
}

static uint64_t amd_absent(const void *state, unsigned device)
{
    const struct card *card = &((const struct amd *)state)->cards[device];
    uint64_t absent = GPU_BIT(GPU_METRICS) - 1; /* but what sysfs may have */
    for (size_t i = 0; i < READS; i++)
        absent &= ~GPU_BIT(reads[i].metric);
    return absent | (card->refused & ~card->seen);
}

static void amd_close(void *state)
{
    struct amd *amd = state;
    nl_free(amd->cards);
    nl_free(amd);
}

const struct gpu_vendor gpu_amd = {.name = "amdgpu",
                                   .open = amd_open,
                                   .count = amd_count,
                                   .describe = amd_describe,
                                   .read = amd_read,
                                   .absent = amd_absent,
                                   .close = amd_close};
