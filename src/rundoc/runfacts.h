/*
 * runfacts — the single facts of a run: values of the scalar members of run, hardware, software and
 * workload, by their dotted key ("hardware.sm_count"). They come from the trace's tables and
 * metadata, and settings win over what was found.
 *
 * A fact is kept as text and only if the schema allows it at that place; what the source wrote in
 * another form is left unknown rather than guessed.
 */
#ifndef NL_RUNFACTS_H
#define NL_RUNFACTS_H

#include "rundoc/docschema.h"
#include "store/trace.h"

struct run_fact {
    const char *key, *value; /* value NULL = set to unknown */
};

struct run_facts {
    struct run_fact *items;
    size_t count, cap;
    struct nl_arena arena;
};

void run_facts_init(struct run_facts *facts);
void run_facts_release(struct run_facts *facts);

/* The value's text, or NULL. The later of two with one key is meant. */
const char *run_fact(const struct run_facts *facts, const char *key);
double run_fact_number(const struct run_facts *facts, const char *key); /* NaN unknown */

/* Keeps the fact if `schema` allows it; empty texts are unknown. */
void run_fact_set(struct run_facts *facts, const struct doc_schema *schema, const char *key,
                  struct nl_str value);

/* Makes it unknown, whatever was found. */
void run_fact_clear(struct run_facts *facts, const char *key);

/* What the trace and its metadata say. `busy_devices`: how many did work. */
void run_facts_find(struct run_facts *facts, const struct doc_schema *schema,
                    const struct nl_trace *trace, size_t busy_devices);

/* The peaks of the device (gpupeaks.h), where nothing was set. */
void run_facts_find_peaks(struct run_facts *facts, const struct doc_schema *schema);

/* A maker as the schema spells it; NULL for an empty text. */
const char *run_vendor(struct nl_str text);

#endif
