/*
 * Operators of servers and of image models that memory decides, whose outputs are not as large as
 * an input: rotary embeddings in place, writes into a cache of keys and values, padding, resizing.
 * Least bytes: what is read once, what is written once.
 */
#include "work/workmodel.h"

/* Queries and keys are turned where they are. at: positions, queries, keys.
 * Three operations per element. */
bool work_rotary(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *q = work_tensor_at(call->args, (unsigned)at[1], 0);
    const struct work_tensor *k = work_tensor_at(call->args, (unsigned)at[2], 0);
    if (!q)
        return false;
    cost->flops = cost->flops_needed = 3 * (work_elements(q) + (k ? work_elements(k) : 0));
    cost->type = call->args->inputs[at[1]].type;
    if (work_type_bits(cost->type))
        cost->bytes = work_input_bytes(call->args, (unsigned)at[0]) +
                      2 * (work_input_bytes(call->args, (unsigned)at[1]) +
                           (k ? work_input_bytes(call->args, (unsigned)at[2]) : 0));
    return true;
}

/* New keys and values are read and written in the cache's type. at: keys, values (both of them in
 * the same cache: of a latent cache its two parts), cache, numbers of slots. */
bool work_store_cache(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    double bytes = 0;
    unsigned cache = (unsigned)at[2];
    unsigned bits = work_tensor_at(call->args, cache, 0)
                        ? (unsigned)work_type_bits(call->args->inputs[cache].type)
                        : 0;
    for (unsigned i = 0; i < 2; i++) {
        const struct work_tensor *tensor = work_tensor_at(call->args, (unsigned)at[i], 0);
        if (!tensor || !bits)
            return false;
        bytes += work_input_bytes(call->args, (unsigned)at[i]) + work_elements(tensor) * bits / 8;
    }
    cost->flops = cost->flops_needed = 0;
    cost->type = call->args->inputs[at[0]].type;
    cost->bytes = bytes + work_input_bytes(call->args, (unsigned)at[3]);
    return true;
}

enum resize { PADDED, SCALED };

#define MAX_LISTED 2 * WORK_MAX_DIMS

/* Sizes of the output from the list of padding: pairs, the last dimension first. */
static bool pad(const struct work_args *args, unsigned index, double *sizes, unsigned rank)
{
    int64_t list[MAX_LISTED];
    int count = work_integers_at(args, index, list, MAX_LISTED);
    if (count < 2 || count % 2 || count / 2 > (int)rank)
        return false;
    for (int i = 0; i < count / 2; i++)
        sizes[rank - 1 - (unsigned)i] += (double)list[2 * i] + (double)list[2 * i + 1];
    return true;
}

/* Sizes of the output as given, or by factors ("[2., 2.]"): of all dimensions after batch and
 * channels. */
static bool scale(const struct work_args *args, unsigned index, double *sizes, unsigned rank)
{
    int64_t told[MAX_LISTED];
    double factors[MAX_LISTED];
    int behind = (int)rank - 2;
    if (work_integers_at(args, index, told, MAX_LISTED) == behind) {
        for (int i = 0; i < behind; i++)
            sizes[i + 2] = (double)told[i];
        return true;
    }
    if (work_numbers_at(args, index + 1, factors, MAX_LISTED) != behind)
        return false;
    for (int i = 0; i < behind; i++)
        sizes[i + 2] = floor(sizes[i + 2] * factors[i]);
    return true;
}

/* at: input, list, how the list gives the output's sizes. */
bool work_resized(const struct work_call *call, struct work_cost *cost)
{
    const signed char *at = call->model->at;
    const struct work_tensor *input = work_tensor_at(call->args, (unsigned)at[0], 0);
    double sizes[WORK_MAX_DIMS], elements = 1;
    if (!input || input->rank < 1)
        return false;
    for (unsigned i = 0; i < input->rank; i++)
        sizes[i] = (double)input->dims[i];
    bool known = at[2] == PADDED
                     ? pad(call->args, (unsigned)at[1], sizes, input->rank)
                     : input->rank > 2 && scale(call->args, (unsigned)at[1], sizes, input->rank);
    for (unsigned i = 0; i < input->rank; i++)
        elements *= sizes[i];
    if (!known || !(elements > 0))
        return false;
    double read = work_elements(input) < elements ? work_elements(input) : elements;
    cost->flops = cost->flops_needed = 0;
    cost->type = call->args->inputs[at[0]].type;
    if (work_type_bits(cost->type))
        cost->bytes = (read + elements) * work_type_bits(cost->type) / 8;
    return true;
}
