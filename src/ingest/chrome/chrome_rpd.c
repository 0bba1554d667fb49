/* chrome_rpd — see chrome_rpd.h. */
#include "ingest/chrome/chrome_rpd.h"

#include "base/chars.h"
#include "ingest/chrome/chrome_rows.h"

static const struct chrome_cat rpd_cats[] = {
    {"KernelExecution", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_kernel, -1},
    {"FillBuffer", NL_KIND_MEMSET, NL_LANE_STREAM, chrome_row_memset, -1},
    {"Copy", NL_KIND_MEMCPY, NL_LANE_STREAM, chrome_row_copy, -1}, /* and what follows it */
};
static const struct chrome_cat hip_call = {NULL, NL_KIND_API, NL_LANE_THREAD, NULL, -1};
static const struct chrome_cat marker_range = {NULL, NL_KIND_NVTX, NL_LANE_ANNOTATION,
                                               chrome_row_annotation, -1};
/* Graphs and frames of markers cover the operations inside them. */
static const struct chrome_cat over_operations = {NULL, NL_KIND_GPU_ANNOTATION,
                                                  NL_LANE_GPU_ANNOTATION, chrome_row_range, -1};
static const struct chrome_cat other_work = {NULL, NL_KIND_DEVICE_OTHER, NL_LANE_DEVICE,
                                             chrome_row_range, -1};

static struct nl_str text_argument(const struct chrome_event *event, const char *wanted)
{
    struct nl_str key;
    struct chrome_value value;
    if (!chrome_has(event, CHROME_F_ARGS) || event->field[CHROME_F_ARGS].type != CHROME_OBJECT)
        return (struct nl_str){"", 0};
    const char *p = event->field[CHROME_F_ARGS].ptr, *end = p + event->field[CHROME_F_ARGS].len;
    while (chrome_member(&p, end, &key, &value))
        if (nl_str_is(key, wanted) && value.type == CHROME_STRING)
            return chrome_text(&value);
    return (struct nl_str){"", 0};
}

bool chrome_rpd_is_gpu(const struct chrome_load *load, int64_t pid)
{
    for (unsigned i = 0; i < load->rpd.gpu_count; i++)
        if (load->rpd.gpus[i] == pid)
            return true;
    return false;
}

static const struct chrome_cat *category_of(struct nl_str desc)
{
    for (size_t i = 0; i < sizeof rpd_cats / sizeof rpd_cats[0]; i++)
        if (nl_str_is(desc, rpd_cats[i].text) ||
            (rpd_cats[i].kind == NL_KIND_MEMCPY && nl_str_starts(desc, rpd_cats[i].text)))
            return &rpd_cats[i];
    return NULL;
}

/* "GPU2" */
static bool is_gpu_name(struct nl_str name)
{
    if (name.len < 4 || !nl_str_starts(name, "GPU"))
        return false;
    for (size_t i = 3; i < name.len; i++)
        if (!nl_is_digit(name.ptr[i]))
            return false;
    return true;
}

static void look_at_label(struct chrome_load *load, const struct chrome_event *event, int64_t pid)
{
    struct nl_str what = chrome_field_text(event, CHROME_F_NAME);
    struct nl_str name = text_argument(event, "name");
    struct chrome_rpd *rpd = &load->rpd;
    if (nl_str_is(what, "process_name") && is_gpu_name(name) && !chrome_rpd_is_gpu(load, pid) &&
        rpd->gpu_count < CHROME_RPD_GPUS) {
        rpd->gpus[rpd->gpu_count++] = pid;
    } else if (nl_str_is(what, "thread_name") && nl_str_starts(name, "Hip ") &&
               (!rpd->pid_count || pid != rpd->main_pid)) {
        rpd->main_pid = rpd->pid_count++ ? NL_NULL_I64 : pid;
    }
}

void chrome_rpd_look(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    struct nl_str phase = chrome_field_text(event, CHROME_F_PH);
    int64_t pid = chrome_actor(event, CHROME_F_PID).number;
    if (pid == NL_NULL_I64 || chrome_has(event, CHROME_F_CAT))
        return;
    if (nl_str_is(phase, "M"))
        look_at_label(worker->load, event, pid);
    else if (nl_str_is(phase, "X") && chrome_rpd_is_gpu(worker->load, pid) &&
             category_of(text_argument(event, "desc")))
        worker->load->rpd.on = true;
}

void chrome_rpd_settle(struct chrome_load *load)
{
    load->rpd.on &= !load->kineto;
    if (load->rpd.on)
        load->main_pid = load->rpd.main_pid;
}

static void take_on_gpu(struct chrome_worker *worker, struct nl_str desc, int64_t ts, int64_t dur)
{
    const struct chrome_cat *cat = category_of(desc);
    bool over =
        nl_str_starts(desc, "UserMarker frame") || text_argument(&worker->event, "kernels").len;
    if (!cat)
        cat = over ? &over_operations : &other_work;
    cat->row(worker, cat, ts, dur);
}

bool chrome_rpd_take(struct chrome_worker *worker, int64_t ts, int64_t dur)
{
    const struct chrome_event *event = &worker->event;
    struct nl_str desc = text_argument(event, "desc");
    struct nl_str name = chrome_field_text(event, CHROME_F_NAME);
    if (chrome_has(event, CHROME_F_CAT))
        return false;
    if (chrome_rpd_is_gpu(worker->load, chrome_actor(event, CHROME_F_PID).number)) {
        take_on_gpu(worker, desc, ts, dur);
        return true;
    }
    if (desc.len && nl_str_eq(desc, name)) {
        marker_range.row(worker, &marker_range, ts, dur);
        return true;
    }
    struct nl_api_row row = nl_api_row();
    row.slice =
        chrome_slice(worker, &hip_call, chrome_thread_lane(worker, hip_call.lane, 0), ts, dur);
    nl_stage_api(worker->stage, &row);
    if (desc.len)
        chrome_keep_args(worker, row.slice);
    return true;
}
