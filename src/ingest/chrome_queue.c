/*
 * The driver of one list of events: cuts the input into blocks of whole events and spreads them
 * over workers.
 *
 * With one worker the block is parsed where it was read and only what is left of its last event is
 * moved; with more, the exact scan of chrome_scan finds the last event's end, and the buffer itself
 * becomes the block. Buffers go round in a ring, so memory is bounded by their number.
 */
#include <pthread.h>

#include "base/mem.h"
#include "ingest/chrome_feed.h"
#include "ingest/chrome_work.h"

struct block {
    char *bytes;
    size_t room;
    const char *text, *end;
    uint64_t offset, unit;
    bool last;
};

#define RING_MOST 64

struct queue {
    struct chrome_load *load;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct block waiting[RING_MOST];
    size_t put, taken; /* counts; put - taken blocks wait */
    char *spare[RING_MOST];
    size_t spares, buffers, buffers_most;
    bool closed;
};

static struct chrome_feed *read_on(struct chrome_feed *feed, struct chrome_load *load,
                                   struct nl_err *err)
{
    if (nl_job_cancelled(load->job)) {
        nl_fail(err, NL_INTERRUPTED, "stopped on request");
        return NULL;
    }
    return chrome_feed_more(feed, err) ? feed : NULL;
}

/* The event at the start of the window is over the ceiling: passes by it. */
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
    return (size_t)(feed->end - feed->at) >= CHROME_MOST;
}

/* ---- One worker, in place. ---- */

static bool read_inline(struct chrome_load *load, struct chrome_feed *feed,
                        struct chrome_worker *worker, bool lines, uint64_t *unit,
                        struct nl_err *err)
{
    bool list_end = false;
    while (!list_end) {
        if (feed->at < feed->end) {
            worker->unit = *unit;
            worker->number = 0;
            worker->at_file_end = feed->ended;
            nl_stage_begin(worker->stage, load->source, (*unit)++);
            const char *stop = chrome_take_block(worker, feed->at, feed->end, feed->offset,
                                                 feed->ended, &list_end);
            bool stuck = stop == feed->at && !list_end && at_ceiling(feed);
            chrome_feed_use(feed, stop);
            if (stuck && !skip_giant(load, feed, worker, err))
                return false;
            if (list_end && lines) { /* a stray bracket among lines of events */
                chrome_feed_use(feed, feed->at + 1);
                list_end = false;
                continue;
            }
        }
        if (!list_end && feed->ended)
            return true;
        if (!list_end && !read_on(feed, load, err))
            return false;
    }
    return true;
}

/* ---- Several workers. ---- */

struct runner {
    struct queue *queue;
    struct chrome_worker *worker;
    pthread_t thread;
};

static bool take(struct queue *q, struct block *block)
{
    pthread_mutex_lock(&q->lock);
    while (q->put == q->taken && !q->closed)
        pthread_cond_wait(&q->changed, &q->lock);
    bool have = q->put > q->taken;
    if (have)
        *block = q->waiting[q->taken++ % RING_MOST];
    pthread_mutex_unlock(&q->lock);
    return have;
}

static void give_back(struct queue *q, struct block *block)
{
    bool usual = block->room == CHROME_BLOCK;
    if (!usual)
        nl_free(block->bytes);
    pthread_mutex_lock(&q->lock);
    if (usual)
        q->spare[q->spares++] = block->bytes;
    else
        q->buffers--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

/* A buffer to read into; waits while all are with workers. */
static char *buffer(struct queue *q)
{
    char *bytes = NULL;
    pthread_mutex_lock(&q->lock);
    while (!q->spares && q->buffers >= q->buffers_most)
        pthread_cond_wait(&q->changed, &q->lock);
    if (q->spares)
        bytes = q->spare[--q->spares];
    else
        q->buffers++;
    pthread_mutex_unlock(&q->lock);
    return bytes ? bytes : chrome_feed_buffer(CHROME_BLOCK);
}

static void put(struct queue *q, const struct block *block)
{
    pthread_mutex_lock(&q->lock);
    q->waiting[q->put++ % RING_MOST] = *block;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->lock);
}

static void *run(void *context)
{
    struct runner *runner = context;
    struct chrome_worker *worker = runner->worker;
    struct block block;
    while (take(runner->queue, &block)) {
        if (!nl_job_cancelled(worker->load->job)) {
            const char *p = block.text;
            worker->unit = block.unit;
            worker->number = 0;
            worker->at_file_end = block.last;
            nl_stage_begin(worker->stage, worker->load->source, block.unit);
            while (p < block.end) { /* brackets inside come from damage or lines of documents */
                bool bracket = false;
                p = chrome_take_block(worker, p, block.end,
                                      block.offset + (uint64_t)(p - block.text), true, &bracket);
                p += bracket;
            }
        }
        give_back(runner->queue, &block);
    }
    return NULL;
}

/* Is the text at the window's start a whole or cut event (true), or damaged (false)? */
static bool is_sound(struct chrome_worker *scratch, const struct chrome_feed *feed)
{
    const char *p = feed->at;
    while (p < feed->end && ((unsigned char)*p <= ' ' || *p == ','))
        p++;
    return p == feed->end || *p != '{' ||
           chrome_parse(&scratch->parser, &scratch->event, &p, feed->end) != CHROME_BAD;
}

#define SUSPECT ((size_t)4 << 20) /* an unfinished event this long may be a lost quote */

/* Where to cut a window that has no clean cut: before the last text that looks like an event.
 * NULL = read more first. */
static const char *guess_cut(struct chrome_feed *feed, struct chrome_worker *scratch)
{
    if ((size_t)(feed->end - feed->at) < SUSPECT && is_sound(scratch, feed))
        return NULL;
    const char *guess = chrome_guess_last_event(feed->at, feed->end);
    if (!guess || guess == feed->at)
        return NULL;
    scratch->offset = feed->offset + (uint64_t)(guess - feed->at);
    chrome_note(scratch, CHROME_NOTE_RESYNC);
    return guess;
}

/* Hands the window up to `cut` to the workers. */
static void send(struct queue *q, struct chrome_feed *feed, const char *cut, uint64_t *unit,
                 bool last)
{
    struct block block = {.room = feed->room,
                          .text = feed->at,
                          .end = cut,
                          .offset = feed->offset,
                          .unit = (*unit)++,
                          .last = last};
    size_t left = (size_t)(feed->end - cut), room = CHROME_BLOCK;
    char *bytes = buffer(q);
    if (left > room) {
        nl_free(bytes);
        bytes = chrome_feed_buffer(feed->room);
        room = feed->room;
    }
    block.bytes = chrome_feed_swap(feed, cut, bytes, room);
    put(q, &block);
}

#define LOOK_BEHIND_LIST 256 /* bytes wanted after a ']' to tell whether the list ends */

enum list_end {
    LIST_ENDS,
    LIST_GOES_ON, /* the bracket is a stray one */
    LIST_UNCLEAR  /* too little behind it to tell */
};

static enum list_end judge_bracket(const struct chrome_feed *feed, const char *bracket, bool lines)
{
    if (!feed->ended && feed->end - bracket < LOOK_BEHIND_LIST)
        return LIST_UNCLEAR;
    if (lines || *bracket == '}' || chrome_list_goes_on(bracket + 1, feed->end))
        return LIST_GOES_ON;
    return LIST_ENDS;
}

/* Sends what can be sent of the window; *done when the list is at its end. */
static bool cut_window(struct queue *q, struct chrome_feed *feed, struct chrome_worker *scratch,
                       bool lines, uint64_t *unit, bool *done)
{
    struct chrome_cut cut = chrome_find_cut(feed->at, feed->end);
    if (cut.list_end) {
        enum list_end judged = judge_bracket(feed, cut.list_end, lines);
        if (judged == LIST_UNCLEAR)
            return false;
        const char *to = cut.list_end + (judged == LIST_GOES_ON);
        if (to > feed->at)
            send(q, feed, to, unit, false);
        *done = judged == LIST_ENDS;
        return true;
    }
    const char *to = feed->ended ? feed->end : cut.events_end;
    if (!to && (size_t)(feed->end - feed->at) >= CHROME_BLOCK)
        to = guess_cut(feed, scratch);
    if (to && to > feed->at)
        send(q, feed, to, unit, feed->ended);
    *done = feed->ended;
    return *done;
}

/* Cuts blocks until the list ends. `scratch` is for looking and noting only. */
static bool cut_blocks(struct queue *q, struct chrome_feed *feed, struct chrome_worker *scratch,
                       bool lines, uint64_t *unit, struct nl_err *err)
{
    bool done = false;
    for (;;) {
        bool again = cut_window(q, feed, scratch, lines, unit, &done);
        if (done)
            return true;
        if (again)
            continue;
        if (at_ceiling(feed) && !skip_giant(q->load, feed, scratch, err))
            return false;
        if (!read_on(feed, q->load, err))
            return false;
    }
}

static bool read_threaded(struct chrome_load *load, struct chrome_feed *feed,
                          struct chrome_worker *workers, unsigned count, bool lines, uint64_t *unit,
                          struct nl_err *err)
{
    struct queue q = {.load = load, .buffers_most = (size_t)count * 2 + 2};
    struct chrome_worker *scratch = &workers[count]; /* the driver's own */
    struct runner runners[RING_MOST / 2];
    unsigned started = 0;
    pthread_mutex_init(&q.lock, NULL);
    pthread_cond_init(&q.changed, NULL);
    for (; started < count; started++) {
        runners[started] = (struct runner){.queue = &q, .worker = &workers[started]};
        if (pthread_create(&runners[started].thread, NULL, run, &runners[started]) != 0)
            break;
    }
    bool ok = started > 0 ? cut_blocks(&q, feed, scratch, lines, unit, err)
                          : nl_fail(err, NL_ENVIRONMENT, "no thread can be started");
    pthread_mutex_lock(&q.lock);
    q.closed = true;
    pthread_cond_broadcast(&q.changed);
    pthread_mutex_unlock(&q.lock);
    for (unsigned i = 0; i < started; i++)
        pthread_join(runners[i].thread, NULL);
    for (size_t i = 0; i < q.spares; i++)
        nl_free(q.spare[i]);
    pthread_cond_destroy(&q.changed);
    pthread_mutex_destroy(&q.lock);
    return ok;
}

bool chrome_read_events(struct chrome_load *load, struct chrome_feed *feed,
                        struct chrome_worker *workers, unsigned count, bool lines, uint64_t *unit,
                        struct nl_err *err)
{
    if (count == 1)
        return read_inline(load, feed, &workers[0], lines, unit, err);
    return read_threaded(load, feed, workers, count, lines, unit, err);
}
