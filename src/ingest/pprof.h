/*
 * pprof — profiles of Go, gperftools and google/pprof: what the two parts share.
 *
 *   pprof.c        profile.proto, plain or gzip: the format row
 *   pproflegacy.c  what came before it: binary CPU profiles and text profiles of heap and contention
 */
#ifndef NL_PPROF_H
#define NL_PPROF_H

#include "ingest/cpuprofile.h"

/* Whole profiles from memory; for tests and fuzzing too. */
NL_MUST_CHECK bool pprof_load_bytes(struct nl_builder *builder, uint32_t source, const void *bytes,
                                    size_t len, struct nl_job *job, struct nl_err *err);

/* Score of a head that may be a legacy profile, 0 when it is none. */
int pprof_legacy_sniff(const unsigned char *head, size_t len);
NL_MUST_CHECK bool pprof_legacy_load(struct cpuprofile *profile, const unsigned char *bytes,
                                     size_t len, struct nl_err *err);

#endif
