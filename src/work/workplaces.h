/*
 * workplaces — where the rows of op_work belong besides their operator: the module (in
 * traces without modules the innermost range) around their launch, and the step that
 * their first kernel starts in.
 *
 *     struct nl_work_places places;
 *     nl_work_places_init(&places, &works, &layers, layer_owner, &steps);
 *     ... places.layers[i], places.steps[i] for works.items[i] ...
 *     nl_work_places_release(&places);
 *
 * Kernels in no operator are one row per device and name: they have no place.
 */
#ifndef NL_WORKPLACES_H
#define NL_WORKPLACES_H

#include "timeline/stepfind.h"
#include "work/opwork.h"

struct nl_work_places {
    const struct nl_found_steps *found; /* borrowed */
    uint32_t *layers;                   /* name of the module or range (dictionary id); 0 none */
    uint32_t *steps;                    /* index in found->items + 1; 0 none */
};

/* `owner` as nl_owners_layer or nl_owners_find give it for `layers`. */
void nl_work_places_init(struct nl_work_places *places, const struct nl_op_works *works,
                         const struct nl_rangetree *layers, const uint32_t *owner,
                         const struct nl_found_steps *steps);
void nl_work_places_release(struct nl_work_places *places);

#endif
