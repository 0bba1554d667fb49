/*
 * ncumessage — parts of the messages in reports of Nsight Compute: values, texts, and what is known
 * of the session and its devices. All borrow from the message.
 */
#ifndef NCUMESSAGE_H
#define NCUMESSAGE_H

#include "ingest/ncu/ncu.h"
#include "parse/wire.h"

/* MetricValue. `room` holds the digits of a number that a double does not. */
struct ncu_value ncu_read_value(const struct wire_field *from, char room[24]);

/* An instance whose two values are whole numbers below 2^53 (the key: 2^56), as nearly all are: {1
 * {4 or 5 key}, 2 {4 or 5 value}} and nothing else. False for all others, and for the last few
 * bytes before `end`: they are to be read field by field. */
bool ncu_quick_instance(const struct wire_field *from, const unsigned char *end, int64_t *key,
                        double *value);

/* The first text field `number` of a message, and the first number; empty
 * and 0 when there is none. */
struct nl_str ncu_text_in(struct wire message, uint32_t number);
uint64_t ncu_number_in(struct wire message, uint32_t number);

/* SessionDetails: devices, and the facts that are safe to show (the command line is not). */
void ncu_read_session(struct ncu_load *load, const struct wire_field *from);

#endif
