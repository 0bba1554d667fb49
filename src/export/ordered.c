/* A batch of pieces at a time: rendered by all threads, written by one. */
#include "export/ordered.h"

#include "base/pool.h"

#define BATCH 16 /* pieces that are in memory at once */

struct batch {
    nl_render_fn *render;
    const void *context;
    struct bytes outs[BATCH];
    size_t first;
};

static void render_one(void *context, size_t index, unsigned worker)
{
    (void)worker;
    struct batch *batch = context;
    bytes_clear(&batch->outs[index]);
    batch->render(batch->context, batch->first + index, &batch->outs[index]);
}

bool nl_write_ordered(const struct nl_export *export, FILE *out, size_t count, nl_render_fn *render,
                      const void *context, struct nl_err *err)
{
    struct batch batch = {.render = render, .context = context};
    bool done = nl_export_goes_on(export, err);
    while (done && batch.first < count) {
        size_t left = count - batch.first, some = left < BATCH ? left : BATCH;
        nl_parallel(nl_job_threads(export->job), some, render_one, &batch);
        for (size_t i = 0; i < some; i++)
            if (batch.outs[i].len) /* else there may be no text */
                fwrite(batch.outs[i].at, 1, batch.outs[i].len, out);
        batch.first += some;
        nl_job_add(export->job, some);
        done = nl_export_goes_on(export, err);
    }
    for (size_t i = 0; i < BATCH; i++)
        bytes_release(&batch.outs[i]);
    return done;
}
