/*
 * xplane_nodes — which instruction of an HLO program an event ran, as rows of table nodes.
 *
 * Programs are listed before any event is read. While a plane is read,
 * xplane_instruction finds what an event ran and xplane_ran keeps it; xplane_nodes_stage
 * writes the rows when the plane is done.
 */
#ifndef NL_XPLANE_NODES_H
#define NL_XPLANE_NODES_H

#include "ingest/xplane/xplane.h"

/* Lists the HLO programs of a plane; before all other planes. */
void xplane_programs(struct xplane_load *load, const struct xplane_plane *plane);
void xplane_programs_note(struct xplane_load *load);
void xplane_programs_release(struct xplane_load *load);
/* The instruction `name` of the program in `stats`; XPLANE_NO_FACTS when it is not there. */
uint32_t xplane_instruction(struct xplane_load *load, const struct xplane_stats *stats,
                            struct nl_str name);
/* Costs that the profiler recorded go before those that follow from shapes. */
void xplane_recorded(struct xplane_load *load, uint32_t facts, const struct xplane_stats *stats);
void xplane_ran(struct xplane_load *load, uint32_t slice, const struct xplane_event *event,
                uint32_t facts);
void xplane_op_facts(const struct xplane_load *load, uint32_t facts, struct nl_op_row *row);
/* Rows of all that ran since the last call: at the end of each plane. */
void xplane_nodes_stage(struct xplane_load *load);

#endif
