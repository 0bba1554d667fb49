/*
 * A folder that changes while it is read: what was read then belongs to no state of the folder,
 * and is not kept for any.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/ingest.h"
#include "check.h"

#define EVENTS 3000

static char folder[] = "/tmp/neurolens-cachekey-XXXXXX";
static char place[64], cache[64];
static int changes; /* that are still to come */

static void write_trace(const char *name, int events)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", place, name);
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    fputs("{\"traceEvents\":[\n", file);
    for (int i = 0; i < events; i++)
        fprintf(
            file,
            "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"operator of %s\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":5}\n",
            i ? "," : "", name, 10 * i);
    fputs("]}\n", file);
    fclose(file);
}

/* Called while the files are read. */
static void change(struct nl_job *job)
{
    (void)job;
    if (!changes)
        return;
    changes--;
    write_trace("b.json", EVENTS + 7);
}

static uint32_t slices_of(uint64_t *cached_as)
{
    const char *const path = place;
    struct nl_err err = {0};
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30, .look = change};
    const struct nl_ingest_options options = {.rank = NL_NULL_I64,
                                              .cache_folder = cache,
                                              .cache_bytes = (uint64_t)1 << 30,
                                              .cached_as = cached_as};
    struct nl_trace *trace = nl_ingest(&path, 1, &options, &job, &err);
    uint32_t rows = trace ? trace->slice.rows : 0;
    if (trace)
        nl_trace_free(trace);
    return rows;
}

static size_t traces_kept(void)
{
    size_t count = 0;
    DIR *list = opendir(cache);
    for (struct dirent *entry; list && (entry = readdir(list));)
        count += strstr(entry->d_name, ".nlt") != NULL;
    if (list)
        closedir(list);
    return count;
}

static void keeps_no_mixture(void)
{
    uint64_t cached_as = 1;
    write_trace("a.json", EVENTS);
    write_trace("b.json", EVENTS);
    changes = 1;
    CHECK(slices_of(&cached_as) >= EVENTS);
    CHECK_INT(changes, 0);
    CHECK_INT(cached_as, 0);
    CHECK_INT(traces_kept(), 0);
    CHECK_INT(slices_of(&cached_as), 2 * EVENTS + 7); /* nothing changes: it is kept */
    CHECK(cached_as != 0);
    CHECK_INT(traces_kept(), 1);
    CHECK_INT(slices_of(&cached_as), 2 * EVENTS + 7);
}

static void makes_folders(void)
{
    REQUIRE(mkdtemp(folder));
    snprintf(place, sizeof place, "%s/in", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    REQUIRE(mkdir(place, 0700) == 0);
}

static void removes_folders(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK_INT(system(command), 0);
}

CHECK_MAIN("cachekey", {"makes folders", makes_folders}, {"keeps no mixture", keeps_no_mixture},
           {"removes folders", removes_folders})
