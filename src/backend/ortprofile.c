/* Copying the list of events up to its end, and adding to it. */
#include "backend/ortprofile.h"
#include "base/chars.h"

#include <inttypes.h>
#include <string.h>

/* Bytes before the bracket that ends the list; 0 when there is none. */
static size_t list_end(const struct nl_map *map)
{
    size_t end = map->size;
    while (end && strchr(" \t\r\n", map->bytes[end - 1]))
        end--;
    return end && map->bytes[end - 1] == ']' && map->bytes[0] == '[' ? end - 1 : 0;
}

static size_t without_space(const struct nl_map *map, size_t end)
{
    while (end && strchr(" \t\r\n", map->bytes[end - 1]))
        end--;
    return end;
}

/* First number after "tid" : in the file, so that the ranges are where the profiler's are. */
static long long number_after(const struct nl_map *map, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i + len + 24 < map->size; i++) {
        if (memcmp(map->bytes + i, key, len) != 0)
            continue;
        long long number = 0;
        for (i += len; map->bytes[i] == ' ' || map->bytes[i] == ':'; i++)
            ;
        for (; nl_is_digit(map->bytes[i]) && number < INT64_MAX / 20; i++)
            number = number * 10 + (map->bytes[i] - '0');
        return number;
    }
    return 0;
}

/* A library that does not give its time 0 in UTC: then the ranges begin at the file's. */
static int64_t epoch_of(const struct ort_outcome *outcome)
{
    const int64_t hour = (int64_t)3600 * 1000000000;
    int64_t first = outcome->plain_count ? outcome->plain[0].start_ns : 0;
    bool told = outcome->profile_epoch_ns <= first && first - outcome->profile_epoch_ns < hour;
    return told ? outcome->profile_epoch_ns : first;
}

static void put_run(FILE *out, const struct ort_run *run, int64_t epoch, long long pid,
                    long long tid, bool first)
{
    int64_t ts = run->start_ns - epoch;
    fprintf(out,
            "%s{\"cat\" : \"Session\",\"pid\" :%lld,\"tid\" :%lld,\"dur\" :%" PRId64 ".%03" PRId64
            ",\"ts\" :%" PRId64 ".%03" PRId64 ",\"ph\" : \"X\",\"name\" :\"" ORT_PLAIN_RUN
            "\",\"args\" : {}}",
            first ? "\n" : ",\n", pid, tid, run->dur_ns / 1000, run->dur_ns % 1000, ts / 1000,
            ts % 1000);
}

static bool write_joined(const struct ort_outcome *outcome, const struct nl_map *map,
                         const char *path, struct nl_err *err)
{
    size_t end = list_end(map);
    struct nl_out out;
    if (!end)
        return nl_fail(err, NL_FORMAT, "ONNX Runtime's profile is not a complete list of events");
    if (!nl_out_open(&out, path, err))
        return false;
    int64_t epoch = epoch_of(outcome);
    long long pid = number_after(map, "\"pid\""), tid = number_after(map, "\"tid\"");
    end = without_space(map, end);
    fwrite(map->bytes, 1, end, out.stream);
    bool empty = end == 1 || map->bytes[end - 1] == ',';
    for (uint32_t i = 0; i < outcome->plain_count; i++)
        put_run(out.stream, &outcome->plain[i], epoch, pid, tid, empty && i == 0);
    fputs("\n]\n", out.stream);
    return nl_out_commit(&out, err);
}

bool ort_profile_join(const struct ort_outcome *outcome, const char *path, struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, outcome->profile, err))
        return false;
    bool done = write_joined(outcome, &map, path, err);
    nl_map_close(&map);
    return done;
}
