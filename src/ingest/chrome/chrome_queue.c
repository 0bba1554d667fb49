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
#include "base/plainlocale.h"
#include "ingest/chrome/chrome_feed.h"
#include "ingest/chrome/chrome_work.h"

struct block {
    char *bytes;
    size_t room;
    const char *text, *end;
    uint64_t offset, unit;
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

/* ---- In place. ---- */

/* Takes what is whole in the window. *list_end: the window is at the bracket that ends the list. */
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
        if (!read_on(feed, load, err))
            return false;
    }
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
    (void)nl_locale_enter(); /* the thread ends with this */
    while (take(runner->queue, &block)) {
        if (!nl_job_cancelled(worker->load->job)) {
            const char *p = block.text;
            worker->unit = block.unit;
            worker->number = 0;
            worker->at_file_end = false; /* the file's end is the driver's */
            nl_stage_begin(worker->stage, worker->load->source, block.unit);
            while (p < block.end) { /* brackets inside come from damage */
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

/* Hands the window up to `cut` to the workers. */
static void send(struct queue *q, struct chrome_feed *feed, const char *cut, uint64_t *unit)
{
    struct block block = {.room = feed->room,
                          .text = feed->at,
                          .end = cut,
                          .offset = feed->offset,
                          .unit = (*unit)++};
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

/* Does the text behind a cut look as it does between two events? */
static bool is_between(const struct chrome_feed *feed, const char *cut, bool lines)
{
    const char *p = chrome_skip_space(cut);
    return p < feed->end ? *p == (lines ? '{' : ',') : lines;
}

/* Cuts blocks until the list ends. The scan for cuts is exact for sound text only. Where it meets
 * what sound text has but at the end of the list, the driver's own worker takes the window in place,
 * so that damage is read in the same way whatever the number of threads. */
static bool cut_blocks(struct queue *q, struct chrome_feed *feed, struct chrome_worker *own,
                       bool lines, uint64_t *unit, struct nl_err *err)
{
    for (;;) {
        struct chrome_cut cut = chrome_find_cut(feed->at, feed->end);
        bool full = (size_t)(feed->end - feed->at) >= CHROME_BLOCK, list_end = false;
        bool sound = !feed->ended && !cut.list_end;
        if (sound && cut.events_end && is_between(feed, cut.events_end, lines))
            send(q, feed, cut.events_end, unit);
        else if ((full || !sound) && !take_window(q->load, feed, own, lines, unit, &list_end, err))
            return false;
        if (list_end || feed->ended)
            return true;
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
                          : nl_fail(err, NL_ENVIRONMENT, "cannot start a thread");
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
