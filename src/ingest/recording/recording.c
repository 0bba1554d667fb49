/*
 * Raw recordings of one process (nlrec/recformat.h): recognition, the head, and what is worth
 * knowing about how it was recorded. A recording that was not closed, because its process or the
 * recorder was killed, is read like any other up to the last event.
 */
#include "ingest/recording/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIN_BLOCK 256u
#define MAX_BLOCK ((uint32_t)1 << 24)

static int recording_sniff(const struct nl_input *input, const char **why)
{
    if (input->head_len < 8 || memcmp(input->head, NL_REC_MAGIC, 8) != 0)
        return 0;
    if (input->head_len < sizeof(struct nl_rec_head))
        *why = "cut inside its head";
    return 100;
}

static bool read_head(struct rec_load *load, struct nl_err *err)
{
    struct nl_rec_head *head = &load->head;
    nl_err_at(err, NULL, 0);
    if (!rec_read_head(load))
        return nl_fail(err, NL_FORMAT, "a recording truncated inside its header");
    head->program[sizeof head->program - 1] = '\0';
    head->host[sizeof head->host - 1] = '\0';
    head->tool[sizeof head->tool - 1] = '\0';
    if (head->version != NL_REC_VERSION)
        return nl_fail(err, NL_FORMAT, "a recording of version %u; this program reads version %u",
                       head->version, NL_REC_VERSION);
    bool power = head->block_bytes && (head->block_bytes & (head->block_bytes - 1)) == 0;
    if (!power || head->block_bytes < MIN_BLOCK || head->block_bytes > MAX_BLOCK ||
        head->head_bytes < sizeof *head || head->head_bytes > MAX_BLOCK)
        return nl_fail(err, NL_FORMAT, "a recording with a damaged header: blocks of %u bytes",
                       head->block_bytes);
    if (head->clock != NL_REC_CLOCK_TSC && head->clock != NL_REC_CLOCK_MONOTONIC)
        return nl_fail(err, NL_FORMAT, "a recording with an unknown clock (%u)", head->clock);
    return true;
}

static void tell_number(const struct rec_load *load, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)value);
    if (value != NL_NULL_I64)
        nl_builder_meta(load->builder, load->source, key, nl_str(text));
}

static void tell_process(struct rec_load *load)
{
    const struct nl_rec_head *head = &load->head;
    static const char *const policies[] = {"spill", "wrap", "stop"};
    static const char *const ends[] = {[NL_REC_OPEN] = "not seen: killed, or still running",
                                       [NL_REC_EXITED] = "in order",
                                       [NL_REC_EXECED] = "by becoming another program",
                                       [NL_REC_VANISHED] = "at once: killed, or by _exit"};
    uint32_t process = nl_builder_process(load->builder, load->source, head->pid);
    nl_builder_clock(load->builder, load->source, "monotonic",
                     head->epoch_ns == NL_REC_UNKNOWN ? NL_NULL_I64 : head->epoch_ns);
    if (head->tool[0])
        nl_builder_tool(load->builder, load->source, nl_str(head->tool));
    if (head->program[0])
        nl_builder_process_name(load->builder, process, nl_str(head->program));
    if (head->rank != NL_REC_UNKNOWN)
        nl_builder_process_rank(load->builder, process, head->rank);
    if (head->host[0])
        nl_builder_meta(load->builder, load->source, "host", nl_str(head->host));
    tell_number(load, "local rank", head->local_rank);
    tell_number(load, "world size", head->world);
    tell_number(load, "parent process", head->parent);
    if (head->end < sizeof ends / sizeof ends[0])
        nl_builder_meta(load->builder, load->source, "process ended", nl_str(ends[head->end]));
    if (head->policy < sizeof policies / sizeof policies[0])
        nl_builder_meta(load->builder, load->source, "policy", nl_str(policies[head->policy]));
    nl_builder_meta(
        load->builder, load->source, "clock source",
        nl_str(head->clock == NL_REC_CLOCK_TSC ? "time stamp counter" : "CLOCK_MONOTONIC"));
    if (head->foreign)
        nl_builder_meta(load->builder, load->source, "PID namespace",
                        nl_str("not the recorder's: no values of the process from /proc"));
    tell_number(load, "clock error (ns)", load->clock.error_ns);
}

/* Where the counter and CLOCK_MONOTONIC parted: events between the two
 * readings may be off by the step. */
static void tell_steps(struct rec_load *load)
{
    const struct nl_clockmap *map = &load->clock.map;
    char detail[128];
    if (!map->steps || load->head.clock != NL_REC_CLOCK_TSC)
        return;
    (void)snprintf(
        detail, sizeof detail,
        "the largest by %.0f ns: the machine slept, or its clock was set; times between the "
        "two readings may be off by as much",
        map->largest_step);
    rec_cover(load, "clock steps between readings", map->steps, detail);
}

static void tell_losses(struct rec_load *load)
{
    static const struct {
        const char *item, *detail;
    } drops[NL_REC_DROPS] = {
        [NL_REC_DROP_ROOM] = {"dropped: events with no room in memory",
                              "raise --buffer, or choose --policy wrap"},
        [NL_REC_DROP_SIGNAL] = {"dropped: events in signal handlers",
                                "the handler interrupted the writing of another event"},
        [NL_REC_DROP_DEEP] = {"dropped: scopes nested too deep", NULL},
        [NL_REC_DROP_NAME] = {"dropped: names", "the events are there without a name"},
        [NL_REC_DROP_WRAP] = {"dropped: events overwritten by newer ones", "--policy wrap"},
    };
    const struct nl_rec_head *head = &load->head;
    for (unsigned i = 0; i < NL_REC_DROPS; i++)
        rec_cover(load, drops[i].item, head->drops[i] & INT64_MAX, drops[i].detail);
    rec_cover(load, "cut: names over 4,095 bytes", head->cut_names & INT64_MAX, NULL);
    rec_cover(load, "blocks that could not be moved to disk", head->spill_errors & INT64_MAX, NULL);
    rec_cover(load, "recorded in windows: opened or closed", head->window_moves,
              "events outside the windows, and scopes begun there, are missing");
    rec_cover(load, "recording not closed: the recorder did not end normally", !head->closed,
              "it was killed; what it adds at the end is missing");
    rec_cover(load, "skipped: damaged blocks", load->bad_blocks, NULL);
    rec_cover(load, "skipped: damaged packed blocks", load->bad_packs, NULL);
    rec_cover(load, "skipped: packed blocks that could not be read again", load->unread_blocks,
              NULL);
    rec_cover(load, "skipped: damaged names", load->bad_names, NULL);
    rec_cover(load, "truncated: blocks cut by the end of the file", load->cut_blocks, NULL);
    rec_cover(load, "skipped: clock readings that contradict others", load->clock.map.odd, NULL);
    tell_steps(load);
}

static bool load_file(struct rec_load *load, struct nl_err *err)
{
    if (!read_head(load, err) || !rec_blocks_find(load, err))
        return false;
    tell_process(load);
    if (!rec_events_read(load, err))
        return false;
    tell_losses(load);
    return true;
}

static bool recording_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rec_load load = {.builder = reading->builder,
                            .source = reading->source,
                            .job = reading->job,
                            .symbols = reading->input->symbols,
                            .file = reading->file,
                            .descriptor = -1};
    if (load.file->map.bytes)
        load.descriptor = open(reading->input->path, O_RDONLY | O_CLOEXEC);
    nl_arena_init(&load.arena);
    load.stage = nl_stage_new(reading->builder);
    nl_stage_begin(load.stage, reading->source, 0);
    nl_err_at(err, reading->input->place, -1);
    bool done = load_file(&load, err);
    if (done)
        rec_facts_tell(&load, reading->input->path);
    rec_blocks_release(&load);
    rec_clock_release(&load.clock);
    if (load.descriptor >= 0)
        close(load.descriptor);
    return done;
}

const struct nl_format nl_format_recording = {.name = "recording",
                                              .title = "neurolens raw recording",
                                              .sniff = recording_sniff,
                                              .load = recording_load,
                                              .feed = NL_FEED_WHOLE,
                                              .reach = NL_REACH_FILES,
                                              .doc = "formats/recording.md"};
