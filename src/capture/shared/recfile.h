/*
 * recfile — the recording file of this process from the inside: blocks are had, filled and handed
 * back, by many threads at once and without a lock.
 *
 * The file is mapped shared and its room on the disk is taken before it is written to, so a full
 * disk is a refusal and never a SIGBUS. No descriptor is kept open: programs close them all.
 * Nothing here touches the heap, prints, or fails in a way that the program would notice.
 */
#ifndef NL_RECFILE_H
#define NL_RECFILE_H

#include "capture/shared/rechead.h"

#define RECFILE_MAX_BLOCKS (1u << 20)

struct recfile {
    struct nl_rec_head *head; /* mapped, shared */
    struct nl_control *control;
    char path[4096];
    void **address;  /* of blocks by number, in this process; reserved, touched where used */
    uint32_t *owned; /* numbers of the blocks mapped here, in the order of growth */
    uint32_t owned_count, cursor, growths;
    uint32_t number; /* N of the file's name */
};

/* Makes FOLDER/PID-N.nlrec for the lowest free N. False: no file can be made here. */
bool recfile_make(struct recfile *file, const char *folder, struct nl_control *control,
                  const struct recfile_facts *facts);

/* Goes on with the file that the recorder made for this process
 * (control.h). False: it is not there. */
bool recfile_claim(struct recfile *file, const char *folder, struct nl_control *control,
                   uint32_t place);

/* Forgets the mappings of the file (a forked child does not write to its parent's). */
void recfile_forget(struct recfile *file);

/* An empty ACTIVE block of `kind`, or NULL: the cap is reached, the disk is full. */
struct nl_rec_block *recfile_take(struct recfile *file, uint32_t kind);

/* The block of events is full (or its writer ended): `events`: their number in it. From here on it
 * may be taken away or overwritten; blocks of names are never retired. */
void recfile_retire(struct recfile *file, struct nl_rec_block *block, uint32_t events);

static inline char *recfile_payload(struct nl_rec_block *block)
{
    return (char *)block + sizeof *block;
}
#define RECFILE_ROOM (NL_REC_BLOCK_BYTES - (uint32_t)sizeof(struct nl_rec_block))

static inline void recfile_drop(struct recfile *file, enum nl_rec_drop why, uint64_t count)
{
    __atomic_fetch_add(&file->head->drops[why], count, __ATOMIC_RELAXED);
}

#endif
