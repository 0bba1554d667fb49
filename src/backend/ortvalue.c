/* Tensors with made-up values. */
#include <string.h>

#include "base/str.h"
#include "backend/ortvalue.h"

#define MAX_ELEMENTS ((uint64_t)1 << 36)
#define MAX_WHOLE    99

/* xorshift64 (G. Marsaglia, Xorshift RNGs, 2003): the same values in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

struct filling {
    uint64_t random;
    int64_t low;
    uint64_t span; /* of whole numbers: high - low, 0 = always low */
};

static void fill_float(struct filling *filling, int type, void *at)
{
    uint64_t random = next_random(&filling->random);
    float single = (float)(random >> 40) * 0x1p-24F;
    double wide = (double)(random >> 11) * 0x1p-53;
    /* Half 1 <= x < 2 halved: the exponent of [0.5, 1) and random mantissa. */
    uint16_t half = (uint16_t)(0x3800 | (random & 0x3FF));
    uint16_t brain = (uint16_t)(0x3F00 | (random & 0x7F));
    uint8_t truth = random & 1;
    switch (type) {
    case ORT_F32: memcpy(at, &single, sizeof single); break;
    case ORT_F64: memcpy(at, &wide, sizeof wide); break;
    case ORT_F16: memcpy(at, &half, sizeof half); break;
    case ORT_BF16: memcpy(at, &brain, sizeof brain); break;
    default: memcpy(at, &truth, sizeof truth);
    }
}

/* Little endian, so the low bytes are the number of a shorter type. */
static void fill_whole(struct filling *filling, size_t bytes, void *at)
{
    uint64_t random = next_random(&filling->random) >> 1;
    uint64_t value = (uint64_t)filling->low +
                     (filling->span == UINT64_MAX ? random : random % (filling->span + 1));
    memcpy(at, &value, bytes);
}

static struct filling filling_of(const struct ort_input *input)
{
    struct filling filling = {.random = 88172645463325252U, .span = MAX_WHOLE};
    if (input->word && input->word->has_range) {
        filling.low = input->word->low;
        filling.span = (uint64_t)input->word->high - (uint64_t)input->word->low;
    } else if (nl_str_find_nocase(nl_str(input->name), "mask") >= 0) {
        filling.low = 1;
        filling.span = 0;
    }
    return filling;
}

static bool fill_strings(const struct ort_api *api, struct ort_value *value,
                         const struct ort_input *input, uint64_t count, struct nl_arena *arena,
                         struct nl_err *err)
{
    const char **texts = nl_arena_alloc(arena, (count + 1) * sizeof *texts);
    for (uint64_t i = 0; i < count; i++)
        texts[i] = "a";
    return ort_ok(api, api->FillStringTensor(value, texts, count), input->name, err);
}

static bool fill_input(const struct ort_api *api, struct ort_value *value,
                       const struct ort_input *input, uint64_t count, struct nl_err *err)
{
    struct filling filling = filling_of(input);
    size_t bytes = ort_type_bytes(input->type);
    void *data = NULL;
    if (!ort_ok(api, api->GetTensorMutableData(value, &data), input->name, err))
        return false;
    if (!data && count)
        return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime cannot allocate input '%.80s'",
                       input->name);
    for (uint64_t i = 0; i < count; i++) {
        void *at = (char *)data + i * bytes;
        if (ort_type_whole(input->type))
            fill_whole(&filling, bytes, at);
        else
            fill_float(&filling, input->type, at);
    }
    return true;
}

bool ort_inputs_fill(struct ort_inputs *inputs, const struct ort_api *api, struct nl_arena *arena,
                     struct nl_err *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        const struct ort_input *input = &inputs->items[i];
        uint64_t count = 1;
        for (size_t k = 0; k < input->rank; k++)
            if (__builtin_mul_overflow(count, (uint64_t)input->size[k], &count) ||
                count > MAX_ELEMENTS)
                return nl_fail(err, NL_USAGE, "input '%.80s' would have over 2^36 elements",
                               input->name);
        if (!ort_ok(api,
                    api->CreateTensorAsOrtValue(api->allocator, input->size, input->rank,
                                                input->type, &inputs->values[i]),
                    input->name, err))
            return false;
        if (!inputs->values[i])
            return nl_fail(err, NL_ENVIRONMENT, "ONNX Runtime cannot create a tensor for '%.80s'",
                           input->name);
        bool done = input->type == ORT_STRING
                        ? fill_strings(api, inputs->values[i], input, count, arena, err)
                        : fill_input(api, inputs->values[i], input, count, err);
        if (!done)
            return false;
    }
    return true;
}
