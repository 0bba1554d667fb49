/*
 * Files of processes that said they are there (control.h) and had no event yet. The process pays a
 * few microseconds for that, a file costs a few hundred.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "capture/recorder/partannounced.h"
#include "capture/shared/recfile.h"

struct told {
    uint64_t ticket;
    uint32_t place;
};

static int by_ticket(const void *a, const void *b)
{
    uint64_t left = ((const struct told *)a)->ticket, right = ((const struct told *)b)->ticket;
    return left < right ? -1 : left > right;
}

/* What the process would have written into it. */
static void fill_head(struct nl_rec_head *head, const struct nl_announcement *told, uint32_t place)
{
    head->pairs[0] = told->pair;
    head->ticket = told->ticket;
    head->announced = place + 1;
    __atomic_fetch_or(&head->python, told->python, __ATOMIC_RELAXED);
}

void parts_leave_place(struct parts *parts, struct part *part)
{
    struct nl_control *control = parts_control(parts);
    struct nl_rec_head *head = part->head;
    uint32_t place = head->announced - 1;
    if (!head->announced || head->announced > NL_CONTROL_PLACES)
        return;
    const struct nl_announcement *told = &control->announcements[place];
    if (told->ticket != head->ticket)
        return;
    if (head->end == NL_REC_OPEN && __atomic_load_n(&told->ended, __ATOMIC_ACQUIRE)) {
        head->last = told->last;
        head->end = NL_REC_EXITED;
    }
    __atomic_store_n(&control->announced[place], NL_ANNOUNCED_FREE, __ATOMIC_RELEASE);
}

static void make(struct parts *parts, uint32_t place)
{
    struct nl_control *control = parts_control(parts);
    struct nl_announcement *told = &control->announcements[place];
    uint8_t state = NL_ANNOUNCED;
    struct recfile file;
    if (!__atomic_compare_exchange_n(&control->announced[place], &state, NL_ANNOUNCED_MAKING, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return; /* it had an event meanwhile */
    told->program[sizeof told->program - 1] = told->host[sizeof told->host - 1] = '\0';
    struct recfile_facts facts = {.program = told->program,
                                  .host = told->host,
                                  .pid = told->pid,
                                  .parent = told->parent,
                                  .rank = told->rank,
                                  .local_rank = told->local_rank,
                                  .world = told->world};
    bool made = recfile_make(&file, parts_folder(parts), control, &facts);
    if (made) {
        fill_head(file.head, told, place);
        told->number = file.number;
    }
    state = NL_ANNOUNCED_MAKING;
    if (__atomic_compare_exchange_n(&control->announced[place], &state,
                                    made ? NL_ANNOUNCED_MADE : NL_ANNOUNCED_REFUSED, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        __atomic_fetch_add(made ? &control->attached : &control->refused, 1, __ATOMIC_RELEASE);
    else if (made)
        unlink(file.path); /* it did not wait any longer and made its own */
    if (made)
        recfile_forget(&file);
}

void parts_announced(struct parts *parts)
{
    struct nl_control *control = parts_control(parts);
    struct told told[NL_CONTROL_PLACES];
    size_t count = 0;
    for (uint32_t place = 0; place < NL_CONTROL_PLACES; place++)
        if (__atomic_load_n(&control->announced[place], __ATOMIC_ACQUIRE) == NL_ANNOUNCED)
            told[count++] = (struct told){control->announcements[place].ticket, place};
    if (count > 1)
        qsort(told, count, sizeof *told, by_ticket);
    for (size_t i = 0; i < count; i++)
        make(parts, told[i].place);
}
