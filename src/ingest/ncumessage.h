/*
 * ncumessage — parts of the messages in reports of Nsight Compute: values, texts, and what is told of
 * the session and its devices. All borrow from the message.
 */
#ifndef NCUMESSAGE_H
#define NCUMESSAGE_H

#include "ingest/ncu.h"
#include "ingest/wire.h"

/* MetricValue. `room` holds the digits of a number that a double does not. */
struct ncu_value ncu_read_value(const struct wire_field *from, char room[24]);

/* The first text field `number` of a message, and the first number; empty and 0 when there is none. */
struct nl_str ncu_text_in(struct wire message, uint32_t number);
uint64_t ncu_number_in(struct wire message, uint32_t number);

/* SessionDetails: devices, and the facts that are safe to show (the command line is not). */
void ncu_read_session(struct ncu_load *load, const struct wire_field *from);

#endif
