/* What counts against the memory budget, and what happens when it is spent. */
#include "base/job.h"
#include "base/mem.h"
#include "derive/derive.h"
#include "check.h"
#include "cli/memguard.h"
#include "store/builder.h"

#define MIB ((uint64_t)1 << 20)

static void counts_touched_memory(void)
{
    uint64_t before = nl_memory_held();
    CHECK(before > 0);
    char *pages = nl_pages(64 * MIB);
    CHECK(nl_memory_held() < before + 16 * MIB); /* what is not touched does not count */
    memset(pages, 1, 64 * MIB);
    CHECK(nl_memory_held() > before + 48 * MIB);
    nl_pages_free(pages, 64 * MIB);
    CHECK(nl_memory_held() < before + 16 * MIB);
}

static void grows_without_losing(void)
{
    char *pages = nl_pages_grow(NULL, 0, 4096);
    REQUIRE(pages);
    strcpy(pages, "kept");
    pages = nl_pages_grow(pages, 4096, 8 * MIB);
    CHECK_TEXT(pages, "kept");
    CHECK_INT(pages[8 * MIB - 1], 0);
    nl_pages_free(pages, 8 * MIB);
}

static void stops_what_is_over(void)
{
    struct nl_job job = {.threads = 1, .memory_bytes = nl_memory_held() + 64 * MIB};
    struct nl_err err;
    int64_t wait = 50000000;
    nl_err_clear(&err);
    char *pages = nl_pages(80 * MIB);
    memset(pages, 1, 80 * MIB);
    CHECK_INT(nl_memguard_look(&job, &wait), NL_MEMGUARD_FITS); /* nothing is worked on yet */
    nl_job_phase(&job, "reading", 0);
    CHECK_INT(nl_memguard_look(&job, &wait), NL_MEMGUARD_LEAVE);
    CHECK(nl_job_cancelled(&job));
    nl_memguard_explain(&job, "a.json", &err);
    CHECK_INT(err.code, NL_MEMORY);
    CHECK_TEXT(err.file, "a.json");
    CHECK(strstr(err.text, "reading") && strstr(err.text, "--memory"));
    nl_pages_free(pages, 80 * MIB);
}

static void looks_often_when_room_is_short(void)
{
    struct nl_job job = {.threads = 1, .memory_bytes = nl_memory_held() + 1024 * MIB};
    struct nl_err err;
    int64_t far = 50000000, near = 50000000;
    nl_err_clear(&err);
    nl_job_phase(&job, "reading", 0);
    CHECK_INT(nl_memguard_look(&job, &far), NL_MEMGUARD_FITS);
    CHECK_INT(far, 50000000);
    job.memory_bytes = nl_memory_held() + 20 * MIB;
    CHECK_INT(nl_memguard_look(&job, &near), NL_MEMGUARD_FITS);
    CHECK(near < 8000000 && near > 0);
    CHECK(!nl_job_cancelled(&job));
    nl_memguard_explain(&job, "a.json", &err);
    CHECK_INT(err.code, NL_OK);
}

/* A quarter of the input takes three quarters of the budget, 2.25 MiB and what the last block goes
 * beyond: 2.255 MiB × 4 × 1.6. */
static void tells_the_need(void)
{
    struct nl_job job = {.threads = 1, .memory_bytes = 3 * MIB};
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "a.json", "test");
    uint32_t process = nl_builder_process(builder, source, 1);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = nl_builder_thread(builder, process, 1),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    uint32_t lane = nl_builder_lane(builder, &key);
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, source, 0);
    nl_job_phase(&job, "reading", 4000);
    nl_job_add(&job, 1000);
    for (int i = 0; i < 200000; i++) {
        struct nl_slice_row slice = nl_slice_row();
        slice.ts = i;
        slice.dur = 1;
        slice.lane = lane;
        nl_stage_slice(stage, &slice);
    }
    CHECK(nl_builder_over_budget(builder));
    CHECK(!nl_builder_finish(builder, &err));
    CHECK_INT(err.code, NL_MEMORY);
    CHECK(strstr(err.text, "3.000 MiB") && strstr(err.text, "about 14.43 MiB"));
}

/* Of the heap and of the kernel, and from one to the other; the end of an array is no array. */
static void keeps_small_arrays_in_the_heap(void)
{
    static const size_t sizes[] = {1, 24, 4095, 4096, 4097, 3 * MIB};
    for (size_t i = 0; i < CHECK_LENGTH(sizes); i++)
        for (size_t k = i; k < CHECK_LENGTH(sizes); k++) {
            char *pages = nl_pages(sizes[i]);
            CHECK(!pages[0] && !pages[sizes[i] - 1]);
            pages[0] = 1;
            pages[sizes[i] - 1] = 2;
            pages = nl_pages_grow(pages, sizes[i], sizes[k]);
            CHECK_INT(pages[sizes[i] - 1], 2);
            CHECK(i == 0 || pages[0] == 1);
            CHECK(k == i || !pages[sizes[k] - 1]);
            nl_pages_free(pages + sizes[k], 0);
            nl_pages_free(pages, sizes[k]);
        }
    CHECK(!nl_pages(0));
    nl_pages_free(NULL, 24);
}

CHECK_MAIN("memguard", {"keeps small arrays in the heap", keeps_small_arrays_in_the_heap},
           {"counts touched memory", counts_touched_memory},
           {"grows without losing", grows_without_losing},
           {"stops what is over", stops_what_is_over},
           {"looks often when room is short", looks_often_when_room_is_short},
           {"tells the need", tells_the_need})
