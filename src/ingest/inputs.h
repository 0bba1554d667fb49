/*
 * inputs — the files that a profile's name stands for: files, folders, globs.
 */
#ifndef NL_INPUTS_H
#define NL_INPUTS_H

#include "base/err.h"
#include "base/mem.h"
#include "ingest/archive.h"
#include "base/map.h"

struct nl_inputs {
    struct nl_path {
        const char *path; /* to open */
        const char
            *where;       /* its place: the path, or of a member of an archive "ARCHIVE/its name" */
        const char *name; /* for people: file name without folders, or "stdin" */
        const char *member; /* of the archive `path`, when one of it was named; or NULL */
        bool from_folder;   /* found inside a folder, by a glob or in an archive, not named */
    } * items;
    size_t count, cap;
    struct nl_idmap by_path; /* hash of the path → item */
    /* descriptors of the files that standard input, pipes and members of archives were copied to */
    int *spools;
    size_t spool_count, spool_cap;
    struct nl_archive_told told; /* of nl_inputs_unpack */
    struct nl_arena arena;
};

/* Folders give their regular files (not hidden ones, and not neurolens.yaml), sorted by name
 * with numbers in numeric order; a glob gives its matches likewise. A name that exists is never
 * taken as a glob. Two names for one file count once. "-" is standard input; it and named pipes
 * are copied to unnamed temporary files, since readers look at their input more than once.
 * Fails when nothing is found. */
NL_MUST_CHECK bool nl_inputs_expand(struct nl_inputs *inputs, const char *const *paths,
                                    size_t count, struct nl_err *err);
void nl_inputs_free(struct nl_inputs *inputs);

/* Archives (archive.h) among them stand for themselves so far: a name "a.zip/rank0.json" is an item
 * of the archive with that member. */
bool nl_inputs_packed(const struct nl_inputs *inputs);

/* The same with archives replaced by what they hold, each member an unnamed temporary file
 * in `folder` (NULL: that for temporary files), in the order of a folder's. Spools of
 * `inputs` stay its own. Frees `unpacked` when it fails. In this process: nl_unpack
 * (unpack.h) does it in a confined one. */
NL_MUST_CHECK bool nl_inputs_unpack(struct nl_inputs *unpacked, const struct nl_inputs *inputs,
                                    const char *folder, struct nl_job *job, struct nl_err *err);

/* One item each: a member of `archive`, whose descriptor it takes; a copy of an
 * item. Doubles are left out. */
void nl_inputs_add_member(struct nl_inputs *to, const struct nl_path *archive, struct nl_str name,
                          int fd);
void nl_inputs_add_plain(struct nl_inputs *to, const struct nl_path *item);

/* Of a folder: the file that holds the same events as this one, or more of them (the SQLite export
 * of a report, the unpacked copy of a packed file); NULL when there is none. By names: what one
 * program writes in several forms, or another packs, keeps its stem. */
const struct nl_path *nl_inputs_twin(const struct nl_inputs *inputs, size_t item);

/* Rank as people write it in file names: "rank-34.…", "rank0_trace", "worker3.", "_rank_7"; else
 * INT64_MIN. */
int64_t nl_rank_in_name(const char *name);

/* Size of a regular file, 0 when it is none. */
uint64_t nl_file_bytes(const char *path);

/* The same; fails with NL_IO when the system does not say, but for "-", which has no size. */
NL_MUST_CHECK bool nl_file_size(const char *path, uint64_t *bytes, struct nl_err *err);

/* First bytes of a file; returns how many there were. */
size_t nl_file_start(const char *path, void *bytes, size_t room);

#endif
