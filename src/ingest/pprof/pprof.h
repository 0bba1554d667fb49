/*
 * pprof — profiles of Go, gperftools and google/pprof: what the two parts share.
 *
 *   pprof.c        profile.proto, plain or gzip: the format row
 *   pproflegacy.c  what came before it: binary CPU profiles; texts of heap, contention, goroutines
 *   pprofraw.c     the text of `go tool pprof -raw`
 */
#ifndef NL_PPROF_H
#define NL_PPROF_H

#include "ingest/lib/cpuprofile.h"

/* Score of a head that may be a legacy profile, 0 when it is none. */
int pprof_legacy_sniff(const unsigned char *head, size_t len);
NL_MUST_CHECK bool pprof_legacy_load(struct cpuprofile *profile, const unsigned char *bytes,
                                     size_t len, struct nl_err *err);

/* A type of value as the store names it: units of time become ns. */
struct pprof_type {
    uint32_t event, unit; /* name ids */
    int64_t factor;       /* to the unit of the store */
};
struct pprof_type pprof_type_of(struct cpuprofile *profile, struct nl_str event,
                                struct nl_str unit);

/* Whether a head is the text of `go tool pprof -raw`. */
bool pprof_raw_recognise(struct nl_str text);
NL_MUST_CHECK bool pprof_raw_load(struct cpuprofile *profile, const unsigned char *bytes,
                                  size_t len, struct nl_err *err);

#endif
