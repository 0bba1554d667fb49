/*
 * The order of all that is derived. Launches are linked first: captures of graphs and measurements
 * are joined by the order of launches, and clocks are checked by them.
 */
#include "derive/derive.h"

#include "base/pool.h"
#include "derive/clockcheck.h"
#include "derive/sourcenames.h"
#include "derive/graphjoin.h"
#include "derive/kernelrows.h"
#include "derive/link.h"
#include "derive/measure.h"
#include "derive/nodejoin.h"
#include "store/finishing.h"

struct joining {
    struct nl_finish *f;
    struct nl_launches launches;
    struct nl_err *err;
    bool classed;
};

/* Launches are joined while kernels are classed by their names: the join is work for one thread,
 * and neither looks at what the other writes. */
static void join_or_class(void *context, size_t task, unsigned worker)
{
    struct joining *joining = context;
    struct nl_finish *f = joining->f;
    unsigned threads = nl_job_threads(f->b->job);
    (void)worker;
    if (task == 0) {
        joining->launches = nl_link_launches(f->trace, f->b->per_process);
        return;
    }
    nl_kernel_rows_class(f->trace, threads > 1 ? threads - 1 : 1);
    joining->classed = nl_kernel_rows_collectives(f, joining->err);
}

static void report_trace_count(struct nl_finish *f, const char *item, uint64_t count,
                               const char *detail)
{
    if (count)
        nl_builder_coverage(f->b, NL_NULL_ROW, item, (int64_t)count, detail);
}

static void report_coverage(struct nl_finish *f, const struct nl_launches *launches)
{
    report_trace_count(f, "device work without a launch", launches->unlinked,
                       "launched before the recording began, or its API record was dropped");
    report_trace_count(f, "API calls sharing a correlation id", launches->duplicates,
                       "the outermost call is the launch");
    struct nl_clock_checks clocks;
    nl_clock_checks_init(&clocks, f->trace);
    nl_clock_checks_cover(&clocks, f->b);
    nl_clock_checks_release(&clocks);
}

static bool derive(struct nl_finish *f, struct nl_err *err)
{
    unsigned threads = nl_job_threads(f->b->job);
    struct joining joining = {.f = f, .err = err};
    nl_join_nodes(f->trace);
    nl_name_by_source(f->trace);
    nl_forget_external_ids(f->trace, f->b->forget_ids);
    nl_parallel(f->slices < NL_FEW_ROWS ? 1 : threads, 2, join_or_class, &joining);
    if (!joining.classed)
        return false;
    nl_finishing_give_back(f);
    nl_link_flows(f->trace, threads);
    if (!nl_join_graphs(f, err) || !nl_measure(f, err))
        return false;
    nl_finishing_extent(f);
    report_coverage(f, &joining.launches);
    return true;
}

struct nl_trace *nl_builder_finish(struct nl_builder *builder, struct nl_err *err)
{
    struct nl_finish f;
    nl_finishing_begin(&f, builder);
    bool done = nl_finishing_rows(&f, err) && derive(&f, err);
    return nl_finishing_end(&f, done);
}
