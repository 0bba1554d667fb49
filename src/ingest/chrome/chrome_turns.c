/*
 * The driver of one list of events: cuts the input into blocks of whole events and spreads them
 * over threads.
 *
 * A single thread parses a block where it was read, and moves only the rest of its last event.
 * Several threads take turns: the thread whose turn it is reads into its own buffer, finds the end
 * of the last whole event with the exact scan of chrome_scan, leaves the rest to the next thread,
 * and parses its block during the turns of the others. So a block stays in the caches of one core,
 * no thread only reads, and there is one buffer per thread and one for the rest.
 */
#include <pthread.h>

#include "base/mem.h"
#include "base/plainlocale.h"
#include "ingest/chrome/chrome_feed.h"
#include "ingest/chrome/chrome_work.h"

static bool read_on(struct chrome_feed *feed, struct chrome_load *load, struct nl_err *err)
{
    if (nl_job_cancelled(load->job))
        return nl_fail(err, NL_INTERRUPTED, "stopped on request");
    return chrome_feed_more(feed, err);
}

/* Skips the event at the start of the window, which exceeds the size limit. */
static bool skip_giant(struct chrome_load *load, struct chrome_feed *feed,
                       struct chrome_worker *worker, struct nl_err *err)
{
    struct chrome_walk walk = {0, 0, 0};
    worker->offset = feed->offset;
    chrome_note(worker, CHROME_NOTE_GIANT);
    while (feed->at < feed->end && ((unsigned char)*feed->at <= ' ' || *feed->at == ','))
        chrome_feed_use(feed, feed->at + 1);
    chrome_feed_use(feed, feed->at < feed->end ? feed->at + 1 : feed->end);
    for (;;) {
        const char *close = chrome_walk_list(&walk, feed->at, feed->end);
        chrome_feed_use(feed, close ? close + 1 : feed->end);
        if (close || feed->ended)
            return true;
        if (!read_on(feed, load, err))
            return false;
    }
}

/* True when the window is full of one unfinished event and must not grow. */
static bool at_ceiling(const struct chrome_feed *feed)
{
    return (size_t)(feed->end - feed->at) >= CHROME_MAX_VALUE;
}

/* ---- In place. ---- */

/* Parses the whole events of the window. *list_end: the window is at the bracket that ends the
 * list. */
static bool take_window(struct chrome_load *load, struct chrome_feed *feed,
                        struct chrome_worker *worker, bool lines, uint64_t *unit, bool *list_end,
                        struct nl_err *err)
{
    bool stray = true;
    *list_end = false;
    while (stray && feed->at < feed->end) {
        worker->unit = *unit;
        worker->number = 0;
        worker->at_file_end = feed->ended;
        nl_stage_begin(worker->stage, load->source, (*unit)++);
        const char *stop =
            chrome_take_block(worker, feed->at, feed->end, feed->offset, feed->ended, list_end);
        bool stuck = stop == feed->at && !*list_end && at_ceiling(feed);
        chrome_feed_use(feed, stop);
        if (stuck && !skip_giant(load, feed, worker, err))
            return false;
        stray = *list_end && lines; /* a bracket among lines of events */
        if (stray) {
            chrome_feed_use(feed, feed->at + 1);
            *list_end = false;
        }
    }
    return true;
}

static bool read_inline(struct chrome_load *load, struct chrome_feed *feed,
                        struct chrome_worker *worker, bool lines, uint64_t *unit,
                        struct nl_err *err)
{
    for (;;) {
        bool list_end;
        if (!take_window(load, feed, worker, lines, unit, &list_end, err))
            return false;
        if (list_end || feed->ended)
            return true;
        chrome_feed_shrink(feed);
        if (!read_on(feed, load, err))
            return false;
    }
}

/* ---- Several threads. ---- */

struct turns {
    struct chrome_load *load;
    struct chrome_feed *feed;
    bool lines, over, failed;
    uint64_t *unit;
    struct nl_err *err;
    pthread_mutex_t lock; /* guards all of this; its holder has the turn */
};

struct runner {
    struct turns *turns;
    struct chrome_worker *worker;
    char *spare; /* a buffer of CHROME_BLOCK, or NULL */
    pthread_t thread;
};

/* Text in a piece of the stream or in a buffer. */
struct block {
    struct nl_stream_piece piece;
    char *bytes;
    size_t room;
    const char *text, *end;
    uint64_t offset, unit;
};

/* Puts a buffer of the runner under the window; the window's becomes the spare one. */
static void bring_buffer(struct chrome_feed *feed, struct runner *runner)
{
    if (nl_stream_is_ahead(feed->stream))
        return; /* each block comes in a separate piece */
    if (!runner->spare)
        runner->spare = chrome_feed_buffer(CHROME_BLOCK);
    if ((size_t)(feed->end - feed->at) > CHROME_BLOCK)
        return;
    bool usual = feed->room == CHROME_BLOCK;
    runner->spare = chrome_feed_swap(feed, feed->at, runner->spare, CHROME_BLOCK);
    if (!usual) {
        nl_free(runner->spare);
        runner->spare = chrome_feed_buffer(CHROME_BLOCK);
    }
}

/* Takes the window up to `cut`; the rest moves to the spare buffer, or from a piece to the feed's
 * own buffer. */
static void take_block(struct turns *turns, struct runner *runner, const char *cut,
                       struct block *block)
{
    struct chrome_feed *feed = turns->feed;
    size_t left = (size_t)(feed->end - cut), room = CHROME_BLOCK;
    *block = (struct block){.room = feed->room,
                            .text = feed->at,
                            .end = cut,
                            .offset = feed->offset,
                            .unit = (*turns->unit)++};
    if (feed->piece.bytes) {
        block->piece = chrome_feed_take_piece(feed, cut);
        return;
    }
    if (left > room || !runner->spare) {
        nl_free(runner->spare);
        room = left > room ? feed->room : room;
        runner->spare = chrome_feed_buffer(room);
    }
    block->bytes = chrome_feed_swap(feed, cut, runner->spare, room);
    runner->spare = NULL;
}

/* True if the text after the cut looks like the text between two events. */
static bool is_between(const struct chrome_feed *feed, const char *cut, bool lines)
{
    const char *p = chrome_skip_space(cut);
    return p < feed->end ? *p == (lines ? '{' : ',') : lines;
}

/* Cuts a block; false when the list ends or reading failed. The cut scan is exact only for
 * well-formed JSON. If it finds the end of the list too early, the window is parsed in place, in
 * this turn, so that most damaged files read the same with any number of threads. */
static bool cut_block(struct turns *turns, struct runner *runner, struct block *block)
{
    struct chrome_feed *feed = turns->feed;
    bring_buffer(feed, runner);
    for (;;) {
        struct chrome_cut cut = chrome_find_cut(feed->at, feed->end);
        bool full = (size_t)(feed->end - feed->at) >= CHROME_BLOCK, list_end = false;
        bool sound = !feed->ended && !cut.list_end;
        if (sound && cut.events_end && is_between(feed, cut.events_end, turns->lines)) {
            take_block(turns, runner, cut.events_end, block);
            return true;
        }
        turns->failed =
            (full || !sound) && !take_window(turns->load, feed, runner->worker, turns->lines,
                                             turns->unit, &list_end, turns->err);
        if (turns->failed || list_end || feed->ended)
            return false;
        turns->failed = !read_on(feed, turns->load, turns->err);
        if (turns->failed)
            return false;
    }
}

/* Waits for the turn and uses it; false when there are no more blocks. */
static bool wait_turn(struct turns *turns, struct runner *runner, struct block *block)
{
    pthread_mutex_lock(&turns->lock);
    turns->over = turns->over || !cut_block(turns, runner, block);
    bool have = !turns->over;
    pthread_mutex_unlock(&turns->lock);
    return have;
}

static void parse_block(struct chrome_worker *worker, const struct block *block)
{
    const char *p = block->text;
    worker->unit = block->unit;
    worker->number = 0;
    worker->at_file_end = false; /* the file's end is parsed in place */
    nl_stage_begin(worker->stage, worker->load->source, block->unit);
    while (p < block->end) { /* brackets inside mean damage */
        bool bracket = false;
        p = chrome_take_block(worker, p, block->end, block->offset + (uint64_t)(p - block->text),
                              true, &bracket);
        p += bracket;
    }
}

static void *run_worker(void *context)
{
    struct runner *runner = context;
    struct block block;
    locale_t theirs = nl_locale_enter();
    while (wait_turn(runner->turns, runner, &block)) {
        if (!nl_job_cancelled(runner->turns->load->job))
            parse_block(runner->worker, &block);
        nl_stream_return(runner->turns->feed->stream, &block.piece);
        if (!block.bytes)
            continue;
        if (block.room == CHROME_BLOCK)
            runner->spare = block.bytes;
        else
            nl_free(block.bytes);
    }
    nl_free(runner->spare);
    nl_locale_leave(theirs);
    return NULL;
}

static bool read_threaded(struct turns *turns, struct chrome_worker *workers, unsigned count)
{
    struct runner *runners = nl_zalloc(count * sizeof *runners);
    unsigned started = 1;
    pthread_mutex_init(&turns->lock, NULL);
    for (unsigned i = 0; i < count; i++)
        runners[i] = (struct runner){.turns = turns, .worker = &workers[i]};
    while (started < count &&
           pthread_create(&runners[started].thread, NULL, run_worker, &runners[started]) == 0)
        started++;
    run_worker(&runners[0]);
    for (unsigned i = 1; i < started; i++)
        pthread_join(runners[i].thread, NULL);
    pthread_mutex_destroy(&turns->lock);
    nl_free(runners);
    return !turns->failed;
}

bool chrome_read_events(struct chrome_load *load, struct chrome_feed *feed,
                        struct chrome_worker *workers, unsigned count, bool lines, uint64_t *unit,
                        struct nl_err *err)
{
    struct turns turns = {.load = load, .feed = feed, .lines = lines, .unit = unit, .err = err};
    if (count == 1)
        return read_inline(load, feed, &workers[0], lines, unit, err);
    return read_threaded(&turns, workers, count);
}
