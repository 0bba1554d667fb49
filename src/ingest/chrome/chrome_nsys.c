/* chrome_nsys — see chrome_nsys.h. */
#include "ingest/chrome/chrome_nsys.h"

#include "base/chars.h"
#include "ingest/chrome/chrome_rows.h"

static void row_cuda_call(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                          int64_t dur)
{
    struct nl_api_row row = nl_api_row();
    row.slice = chrome_slice(worker, cat, chrome_thread_lane(worker, cat->lane, 0), ts, dur);
    nl_stage_api(worker->stage, &row);
}

static const struct {
    struct chrome_cat cat;
    const char *process;
} nsys_cats[] = {
    {{"cuda", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_kernel, -1}, "Device "},
    {{"nvtx-kernel", NL_KIND_GPU_ANNOTATION, NL_LANE_GPU_ANNOTATION, chrome_row_range, -1},
     "Device "},
    {{"cuda_api", NL_KIND_API, NL_LANE_THREAD, row_cuda_call, -1}, "Host "},
    {{"nvtx", NL_KIND_NVTX, NL_LANE_ANNOTATION, chrome_row_annotation, -1}, "Host "},
};
static const struct chrome_cat nsys_copy = {NULL, NL_KIND_MEMCPY, NL_LANE_STREAM, chrome_row_copy,
                                            -1};
static const struct chrome_cat nsys_memset = {NULL, NL_KIND_MEMSET, NL_LANE_STREAM,
                                              chrome_row_memset, -1};

/* "Device 0" with "Device " → "0", the rest of the same text; false when that is no number. */
static bool number_after(struct chrome_value *value, struct nl_str before)
{
    struct nl_str text = {value->ptr, value->len};
    if (value->type != CHROME_STRING || !nl_str_starts(text, before.ptr) || text.len == before.len)
        return false;
    for (size_t i = before.len; i < text.len; i++)
        if (!nl_is_digit(text.ptr[i]))
            return false;
    value->ptr += before.len;
    value->len -= (uint32_t)before.len;
    return true;
}

/* The event's category when it is one of these, its process and thread made numbers; else NULL. */
static const struct chrome_cat *recognise(struct chrome_event *event)
{
    if (!chrome_has(event, CHROME_F_CAT) || !chrome_has(event, CHROME_F_PID) ||
        event->field[CHROME_F_CAT].type != CHROME_STRING)
        return NULL;
    struct nl_str text = {event->field[CHROME_F_CAT].ptr, event->field[CHROME_F_CAT].len};
    for (size_t i = 0; i < sizeof nsys_cats / sizeof nsys_cats[0]; i++) {
        if (!nl_str_is(text, nsys_cats[i].cat.text))
            continue;
        if (!number_after(&event->field[CHROME_F_PID], nl_str(nsys_cats[i].process)))
            return NULL;
        static const char *const threads[] = {"CUDA API ", "NVTX ", "Stream "};
        for (size_t t = 0;
             chrome_has(event, CHROME_F_TID) && t < sizeof threads / sizeof threads[0]; t++)
            if (number_after(&event->field[CHROME_F_TID], nl_str(threads[t])))
                break;
        return &nsys_cats[i].cat;
    }
    return NULL;
}

void chrome_nsys_look(struct chrome_worker *worker)
{
    struct chrome_load *load = worker->load;
    const struct chrome_cat *cat = recognise(&worker->event);
    if (cat && load->main_pid == NL_NULL_I64)
        load->main_pid = chrome_actor(&worker->event, CHROME_F_PID).number;
}

bool chrome_nsys_take(struct chrome_worker *worker, int64_t ts, int64_t dur)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_cat *cat = recognise(&worker->event);
    if (!cat)
        return false;
    struct nl_str name = chrome_field_text(event, CHROME_F_NAME);
    if (cat->kind == NL_KIND_KERNEL && nl_str_find_nocase(name, "memcpy ") >= 0)
        cat = &nsys_copy;
    else if (cat->kind == NL_KIND_KERNEL &&
             (nl_str_find_nocase(name, "[cuda memset") == 0 || nl_str_starts(name, "Memset")))
        cat = &nsys_memset;
    cat->row(worker, cat, ts, dur);
    return true;
}
