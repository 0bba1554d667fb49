/*
 * One worker: from a block of text to staged rows.
 *
 * Well-formed events go through the strict parser alone. When it stops, the event is repaired, or
 * else skipped up to the next place that looks like an event; each is noted with its place.
 */
#include "ingest/chrome/chrome_nsys.h"
#include "ingest/chrome/chrome_rows.h"

void chrome_worker_init(struct chrome_worker *worker, struct chrome_load *load)
{
    *worker = (struct chrome_worker){.load = load, .first_ts = INT64_MAX};
    memset(worker->note_offset, 0xff, sizeof worker->note_offset);
    chrome_parser_init(&worker->parser);
    worker->stage = nl_stage_new(load->builder);
    chrome_names_init(&worker->names, load->builder, worker->stage);
    chrome_names_init(&worker->shared, load->builder, NULL);
    worker->parser.guess.texts = &worker->names.texts;
    worker->lanes = nl_zalloc(CHROME_LANE_SLOTS * sizeof *worker->lanes);
    worker->label_hashes = nl_zalloc(CHROME_LABEL_SLOTS * sizeof *worker->label_hashes);
    worker->keys = nl_zalloc(CHROME_MAX_KEYS * sizeof *worker->keys);
    nl_buf_init(&worker->repaired, 0);
    nl_buf_init(&worker->text, CHROME_MAX_ARGS);
    nl_arena_init(&worker->texts);
}

void chrome_worker_release(struct chrome_worker *worker)
{
    void *owned[] = {worker->lanes,       worker->label_hashes, worker->keys,
                     worker->spans.items, worker->asyncs.items, worker->flows.items,
                     worker->flow_ends,   worker->labels,       worker->device_lanes};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        nl_free(owned[i]);
    nl_idmap_release(&worker->pids);
    chrome_names_release(&worker->names);
    chrome_names_release(&worker->shared);
    nl_buf_release(&worker->repaired);
    nl_buf_release(&worker->text);
    nl_arena_free(&worker->texts);
}

/* The event at *text could not be parsed: repaired and taken, or skipped (*text moves on). False
 * when the text may go on in the next block. */
static bool take_damaged(struct chrome_worker *worker, const char **text, const char *end,
                         bool last)
{
    uint64_t before[CHROME_NOTE_COUNT], offsets[CHROME_NOTE_COUNT];
    memcpy(before, worker->notes, sizeof before);
    memcpy(offsets, worker->note_offset, sizeof offsets);
    const char *p = *text, *next = chrome_guess_event(*text + 1, end);
    if (chrome_repair(worker, &p, next ? next : end)) {
        const char *clean = worker->repaired.ptr;
        const char *clean_end = clean + worker->repaired.len - CHROME_PAD;
        clean += strspn(clean, " ");
        if (chrome_parse(&worker->parser, &worker->event, &clean, clean_end) == CHROME_OK) {
            chrome_take_event(worker);
            *text = p;
            return true;
        }
    }
    memcpy(worker->notes, before, sizeof before);
    memcpy(worker->note_offset, offsets, sizeof offsets);
    if (!next && !last)
        return false;
    bool cut = !next && worker->at_file_end;
    chrome_note(worker, cut ? CHROME_NOTE_CUT : CHROME_NOTE_BAD_EVENT);
    *text = next ? next : end;
    return true;
}

/* Something between events that is no event: a number, a text, a nested list. */
static bool skip_stray(struct chrome_worker *worker, const char **text, const char *end, bool last)
{
    struct chrome_value value;
    const char *p = *text;
    if (chrome_parse_value(&value, &p, end) == CHROME_OK && p <= end) {
        if (value.type != CHROME_NULL)
            chrome_note(worker, CHROME_NOTE_NOT_EVENT);
        *text = p;
        return true;
    }
    const char *next = chrome_guess_event(*text + 1, end);
    if (!next && !last)
        return false;
    chrome_note(worker, CHROME_NOTE_SEPARATORS);
    *text = next ? next : end;
    return true;
}

/* The place of the next event, or of what stops the block: a ']' or '}' of the list. */
static inline const char *next_event(const char *p, const char *end)
{
    p = chrome_skip_space(p);
    while (*p == ',' && p < end)
        p = chrome_skip_space(p + 1);
    return p;
}

bool chrome_list_goes_on(const char *after, const char *end)
{
    const char *p = after;
    bool comma = false;
    while (p < end && ((unsigned char)*p <= ' ' || (*p == ',' && !comma)))
        comma |= *p++ == ',';
    return comma && p < end && *p == '{';
}

#define LOOK_BEHIND_LIST 256 /* bytes wanted after a ']' to decide */
#define MAX_UNFINISHED_BYTES                                                                       \
    ((size_t)4 << 20) /* an unfinished event this long may be a lost quote */

/* The event at `start` continues beyond the window. Wait for more? */
static bool wait_for_more(const char *start, const char *end)
{
    return (size_t)(end - start) < MAX_UNFINISHED_BYTES || !chrome_guess_event(start + 1, end);
}

/* The event at *text (its '{'): taken, repaired or skipped. False if it continues beyond `end`. */
static inline bool take_one(struct chrome_worker *worker, const char **text, const char *end,
                            bool last)
{
    const char *p = *text;
    enum chrome_status status = chrome_parse(&worker->parser, &worker->event, &p, end);
    if (status == CHROME_OK) {
        chrome_take_event(worker);
        if (!worker->load->lines && *chrome_skip_space(p) == '{')
            chrome_note(worker, CHROME_NOTE_COMMAS);
        *text = p;
        return true;
    }
    if (status == CHROME_MORE && !last && wait_for_more(*text, end))
        return false;
    return take_damaged(worker, text, end, last);
}

const char *chrome_take_block(struct chrome_worker *worker, const char *text, const char *end,
                              uint64_t offset, bool last, bool *list_end)
{
    const char *p = next_event(text, end);
    while (p < end) {
        const char *start = p;
        worker->offset = offset + (uint64_t)(p - text);
        if (*p == '{') {
            if (!take_one(worker, &p, end, last))
                return start;
        } else if (*p == '}' || (*p == ']' && chrome_list_goes_on(p + 1, end))) {
            chrome_note(worker, CHROME_NOTE_SEPARATORS);
            p++;
        } else if (*p == ']') {
            *list_end = last || end - p >= LOOK_BEHIND_LIST;
            return p;
        } else if (!skip_stray(worker, &p, end, last)) {
            return start;
        }
        p = next_event(p, end);
    }
    return end;
}

/* ---- The look ahead. ---- */

#define PEEK_BYTES ((size_t)512 << 10)
#define PEEK_PIDS  32

struct pid_count {
    int64_t pid;
    unsigned events;
};

void chrome_peek(struct chrome_worker *worker, const char *text, const char *end)
{
    struct chrome_load *load = worker->load;
    struct pid_count pids[PEEK_PIDS] = {{0, 0}};
    const char *stop = (size_t)(end - text) > PEEK_BYTES ? text + PEEK_BYTES : end;
    unsigned most = 0;
    for (const char *p = next_event(text, end); p < stop && *p == '{'; p = next_event(p, end)) {
        if (chrome_parse(&worker->parser, &worker->event, &p, end) != CHROME_OK)
            break;
        const struct chrome_cat *cat = chrome_category(worker);
        if (!cat) {
            chrome_rpd_look(worker);
            chrome_nsys_look(worker);
            continue;
        }
        load->kineto |= cat->needs != CHROME_CAT_NOT_KINETO;
        struct chrome_actor pid = chrome_actor(&worker->event, CHROME_F_PID);
        if ((cat->kind != NL_KIND_API && cat->kind != NL_KIND_OP) || pid.name ||
            pid.number == NL_NULL_I64 || chrome_arg(&worker->event, CHROME_ARG_RANK_RAW))
            continue;
        unsigned i = 0;
        while (i < PEEK_PIDS - 1 && pids[i].events && pids[i].pid != pid.number)
            i++;
        pids[i].pid = pid.number;
        if (++pids[i].events > most) {
            most = pids[i].events;
            load->main_pid = pid.number;
        }
    }
    chrome_rpd_settle(load);
}
