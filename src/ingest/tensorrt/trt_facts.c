/*
 * Files that hold facts about a run but no times: metadata that the engine explorer extracts from
 * trtexec's log, properties of the device, and the values of output tensors, of which the shapes
 * are kept.
 */
#include <stdio.h>

#include "base/utf8.h"
#include "ingest/tensorrt/trt.h"

#define MAX_FACTS 256

static void keep_fact(struct trt_load *load, const char *group, struct nl_str key,
                      struct nl_str value)
{
    char name[160];
    if (load->rows++ >= MAX_FACTS)
        return;
    (void)snprintf(name, sizeof name, "%s%s%.*s", group, *group ? ": " : "", NL_UP_TO(100, key));
    nl_builder_meta(load->builder, load->source, name, value);
}

/* ---- Metadata of trex ---- */

static const char *const groups[] = {"performance_summary", "inference_options",
                                     "device_information", "build_options"};

/* The members of one group. Model paths (model_options) are left out. */
static void read_group(struct trt_load *load, const char *group)
{
    struct jsonpull *json = load->json;
    struct nl_str raw;
    char key[100];
    if (jsonpull_next(json) != JSONPULL_OBJECT) {
        jsonpull_skip(json);
        return;
    }
    while (jsonpull_member(json)) {
        size_t len = json->text.len < sizeof key ? json->text.len : sizeof key;
        memcpy(key, json->text.ptr, len);
        if (!jsonpull_raw(json, &raw))
            return;
        if (raw.len >= 2 && *raw.ptr == '"')
            raw = (struct nl_str){raw.ptr + 1, raw.len - 2};
        keep_fact(load, group, (struct nl_str){key, len}, raw);
    }
}

void trt_read_metadata(struct trt_load *load)
{
    struct jsonpull *json = load->json;
    jsonpull_next(json);
    while (jsonpull_member(json)) {
        size_t i = 0;
        while (i < sizeof groups / sizeof groups[0] && !nl_str_is(json->text, groups[i]))
            i++;
        if (i < sizeof groups / sizeof groups[0]) {
            read_group(load, groups[i]);
        } else {
            jsonpull_skip(json);
            nl_builder_coverage(load->builder, load->source, "not loaded: other groups of metadata",
                                1, "paths of the model, mostly");
            load->rows++;
        }
    }
}

/* ---- Properties of the device ---- */

void trt_read_device(struct trt_load *load)
{
    static const char *const wanted[] = {"Name",
                                         "ComputeCapability",
                                         "TotalMemory",
                                         "CUDA_VERSION",
                                         "CLOCK_RATE",
                                         "GLOBAL_MEMORY_BUS_WIDTH",
                                         "L2_CACHE_SIZE",
                                         "MEMORY_CLOCK_RATE",
                                         "WARP_SIZE",
                                         "MULTIPROCESSOR_COUNT",
                                         "COMPUTE_MODE",
                                         "ECC_ENABLED",
                                         "INTEGRATED",
                                         "MAX_REGISTERS_PER_MULTIPROCESSOR",
                                         "MAX_THREADS_PER_MULTIPROCESSOR",
                                         "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"};
    struct jsonpull *json = load->json;
    struct nl_str raw;
    jsonpull_next(json);
    while (jsonpull_item(json)) {
        if (json->type != JSONPULL_OBJECT) {
            jsonpull_skip(json);
            continue;
        }
        while (jsonpull_member(json)) {
            size_t i = 0;
            while (i < sizeof wanted / sizeof wanted[0] && !nl_str_is(json->text, wanted[i]))
                i++;
            if (i == sizeof wanted / sizeof wanted[0])
                jsonpull_skip(json);
            else if (jsonpull_raw(json, &raw))
                keep_fact(load, "device", nl_str(wanted[i]),
                          *raw.ptr == '"' ? (struct nl_str){raw.ptr + 1, raw.len - 2} : raw);
        }
    }
}

/* ---- Output tensors: [{"name", "dimensions": "1x1000", "values": [...]}] ---- */

void trt_read_output(struct trt_load *load)
{
    struct jsonpull *json = load->json;
    jsonpull_next(json);
    while (jsonpull_item(json) && !trt_stop(load)) {
        char name[100] = "?", dimensions[100] = "?", fact[160];
        uint64_t values = 0;
        if (json->type != JSONPULL_OBJECT) {
            jsonpull_skip(json);
            continue;
        }
        while (jsonpull_member(json)) {
            bool is_name = nl_str_is(json->text, "name");
            bool is_shape = nl_str_is(json->text, "dimensions");
            bool is_values = nl_str_is(json->text, "values");
            jsonpull_next(json);
            if ((is_name || is_shape) && json->type == JSONPULL_STRING)
                (void)snprintf(is_name ? name : dimensions, 100, "%.*s", NL_UP_TO(99, json->text));
            else if (is_values && json->type == JSONPULL_ARRAY)
                while (jsonpull_item(json))
                    values++;
            else
                jsonpull_skip(json);
        }
        if (json->problem)
            break;
        (void)snprintf(fact, sizeof fact, "%s, %llu values", dimensions,
                       (unsigned long long)values);
        keep_fact(load, "output", nl_str(name), nl_str(fact));
    }
    nl_builder_coverage(load->builder, load->source, "not loaded: values of output tensors",
                        (int64_t)load->rows, "their shapes are in the metadata");
}
