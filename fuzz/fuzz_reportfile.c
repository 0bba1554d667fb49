/*
 * Any bytes as a .nla file: opening refuses them or gives a report that every view can show.
 *
 * An input that begins with 'P' is a list of patches {offset, value} for a sound file, whose
 * checksum is then made right again: so the checks behind the checksum are reached as well.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../tests/unit/planted.h"
#include "../tests/unit/shown.h"

#include "answer/reportfile.h"
#include "base/crc.h"
#include "base/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEADER 16 /* magic, CRC of the rest, format */

static const struct nl_str question = {"why", 3};
static unsigned char *sound, *patched;
static size_t sound_size;

static void prepare(void)
{
    const struct nl_analyze_options options = {.limit = 0};
    char path[] = "/tmp/neurolens-fuzz-XXXXXX";
    struct nl_err err;
    struct nl_map map;
    struct gputrace make;
    nl_err_clear(&err);
    gputrace_open(&make);
    copies_exposed(&make);
    struct nl_trace *trace = gputrace_close(&make);
    struct nl_report *report = nl_report_new(trace, "analyze", &options, NULL, &err);
    struct nl_profile *profile = nl_profile_new(trace, NULL);
    int fd = mkstemp(path);
    if (fd < 0 || !report || !nl_report_save(report, profile, question, path, &err) ||
        !nl_map_open(&map, path, &err))
        abort();
    sound_size = map.size;
    sound = malloc(sound_size);
    patched = malloc(sound_size);
    memcpy(sound, map.bytes, sound_size);
    nl_map_close(&map);
    nl_report_free(report);
    nl_profile_free(profile);
    nl_trace_free(trace);
    close(fd);
    unlink(path);
}

static size_t patch(const uint8_t *data, size_t size)
{
    memcpy(patched, sound, sound_size);
    size_t end = sound_size;
    for (; size >= 4; data += 4, size -= 4) {
        uint16_t at;
        memcpy(&at, data, 2);
        size_t offset = HEADER + at % (sound_size - HEADER - 2);
        memcpy(patched + offset, data + 2, 2);
    }
    if (size)
        end -= data[0] * 16u % (sound_size - HEADER);
    uint32_t crc = nl_crc32c(patched + HEADER, end - HEADER);
    memcpy(patched + 8, &crc, sizeof crc);
    return end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!sound)
        prepare();
    const uint8_t *bytes = data;
    size_t len = size;
    if (size && data[0] == 'P') {
        len = patch(data + 1, size - 1);
        bytes = patched;
    }
    char path[64];
    struct nl_err err;
    nl_err_clear(&err);
    int file = memfd_create("report", MFD_CLOEXEC);
    if (file < 0 || write(file, bytes, len) != (ssize_t)len)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    struct nl_profile *profile = NULL;
    struct nl_report *report = nl_report_open(path, question, &profile, &err);
    close(file);
    if (report)
        free(shown(profile, report));
    else if (err.code != NL_FORMAT)
        abort();
    nl_profile_free(profile);
    nl_report_free(report);
    return 0;
}
