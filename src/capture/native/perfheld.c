/* Rows in three arrays. */
#include "capture/native/perfheld.h"

#include <string.h>

#include "base/mem.h"
#include "capture/recorder/partvalues.h"

#define PATIENCE_NS                                                                                \
    ((int64_t)500000000) /* for a process that loads our library to have its recording */
#define MAX_ROWS 4096u

struct perfheld *perfheld_new(void)
{
    struct perfheld *held = nl_zalloc(sizeof *held);
    held->inner = -1;
    return held;
}

void perfheld_free(struct perfheld *held)
{
    if (!held)
        return;
    nl_free(held->samples);
    nl_free(held->runs);
    nl_free(held->frames);
    nl_free(held);
}

void perfheld_clear(struct perfheld *held)
{
    held->sample_count = held->run_count = held->frame_count = 0;
}

void perfheld_sample(struct perfheld *held, const struct part_sample *sample)
{
    nl_grow(&held->samples, &held->sample_cap, held->sample_count + 1);
    nl_grow(&held->frames, &held->frame_cap, held->frame_count + sample->frame_count);
    struct part_sample *row = &held->samples[held->sample_count++];
    *row = *sample;
    row->frames = NULL; /* they move while the array grows */
    memcpy(held->frames + held->frame_count, sample->frames,
           sample->frame_count * sizeof *sample->frames);
    held->frame_count += sample->frame_count;
}

void perfheld_run(struct perfheld *held, const struct part_run *run)
{
    nl_grow(&held->runs, &held->run_cap, held->run_count + 1);
    held->runs[held->run_count++] = *run;
}

bool perfheld_is_empty(const struct perfheld *held)
{
    return !held->sample_count && !held->run_count;
}

bool perfheld_has_samples(const struct perfheld *held)
{
    return held->sample_count > 0;
}

bool perfheld_waits(const struct perfheld *held, int64_t now)
{
    return held->sample_count && now - held->samples[0].ns > PATIENCE_NS;
}

bool perfheld_is_full(const struct perfheld *held)
{
    return held->sample_count + held->run_count > MAX_ROWS;
}

void perfheld_hand_over(struct perfheld *held, struct part *part, uint64_t now_ticks)
{
    const char **frames = held->frames;
    for (size_t i = 0; i < held->sample_count; i++) {
        struct part_sample *sample = &held->samples[i];
        sample->frames = frames;
        frames += sample->frame_count;
        part_sample(part, now_ticks, sample);
    }
    for (size_t i = 0; i < held->run_count; i++)
        part_run(part, now_ticks, &held->runs[i]);
    perfheld_clear(held);
}
