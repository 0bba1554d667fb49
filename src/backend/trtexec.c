/* Finding trtexec and speaking its language. */
#define _GNU_SOURCE
#include "backend/trtexec.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "parse/wire.h"

#define USUAL_PLACE "/usr/src/tensorrt/bin/trtexec"
#define MAX_WORDS   16

/* ---- finding ---- */

static bool can_run(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static const char *on_path(struct nl_arena *arena)
{
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        size_t len = strcspn(rest, ":");
        const char *path =
            nl_arena_format(arena, "%.*s/trtexec", len ? (int)len : 1, len ? rest : ".");
        if (can_run(path))
            return path;
        rest += len + (rest[len] == ':');
    }
    return NULL;
}

const char *trtexec_find(const char *given, struct nl_arena *arena, struct nl_err *err)
{
    if (given) {
        if (can_run(given))
            return given;
        (void)nl_fail(err, NL_ENVIRONMENT, "--trtexec: %.300s is not an executable program", given);
        return NULL;
    }
    const char *found = on_path(arena);
    if (!found && can_run(USUAL_PLACE))
        found = USUAL_PLACE;
    if (!found)
        (void)nl_fail(
            err, NL_ENVIRONMENT,
            "no trtexec found on PATH or in /usr/src/tensorrt/bin; it comes with TensorRT "
            "(the archive's bin folder, or the package libnvinfer-bin), --trtexec FILE "
            "names one");
    return found;
}

/* ---- the kind of the model ---- */

/* Fields of ModelProto (onnx.proto). */
enum {
    MODEL_IR_VERSION = 1,
    MODEL_PRODUCER_NAME = 2,
    MODEL_PRODUCER_VERSION = 3,
    MODEL_DOMAIN = 4,
    MODEL_MODEL_VERSION = 5,
    MODEL_DOC_STRING = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET_IMPORT = 8,
    MODEL_METADATA_PROPS = 14,
    MODEL_TRAINING_INFO = 20,
    MODEL_FUNCTIONS = 25,
    MODEL_CONFIGURATION = 26
};

static bool is_model_field(const struct wire_field *field)
{
    switch (field->number) {
    case MODEL_IR_VERSION:
    case MODEL_MODEL_VERSION: return wire_is_varint(field);
    case MODEL_PRODUCER_NAME:
    case MODEL_PRODUCER_VERSION:
    case MODEL_DOMAIN:
    case MODEL_DOC_STRING:
    case MODEL_GRAPH:
    case MODEL_OPSET_IMPORT:
    case MODEL_METADATA_PROPS:
    case MODEL_TRAINING_INFO:
    case MODEL_FUNCTIONS:
    case MODEL_CONFIGURATION: return wire_is_text(field);
    default: return false;
    }
}

static bool is_model_message(struct wire model)
{
    struct wire_field field;
    bool graph = false;
    while (wire_next(&model, &field)) {
        if (!is_model_field(&field))
            return false;
        graph = graph || field.number == MODEL_GRAPH;
    }
    return graph && !model.damaged;
}

bool trtexec_is_onnx(const char *model)
{
    size_t len = strlen(model);
    struct nl_map map;
    struct nl_err err = {0};
    if (len > 5 && strcmp(model + len - 5, ".onnx") == 0)
        return true;
    if (!nl_map_open(&map, model, &err))
        return false;
    bool onnx = is_model_message(wire_over(map.bytes, map.size));
    nl_map_close(&map);
    return onnx;
}

/* ---- the command line ---- */

static bool add_shape(struct nl_buf *text, const struct ort_input_word *input, struct nl_err *err)
{
    if (input->type || input->has_range)
        return nl_fail(err, NL_USAGE,
                       "--input: '%.100s': trtexec takes types and values from the model; give "
                       "the sizes alone, such as x=2x3",
                       input->name);
    if (strpbrk(input->name, ",'"))
        return nl_fail(err, NL_USAGE, "--input: trtexec does not accept an input named '%.100s'",
                       input->name);
    const char *quote = strchr(input->name, ':') ? "'" : "";
    nl_buf_format(text, "%s%s%s%s:", text->len ? "," : "--shapes=", quote, input->name, quote);
    for (size_t i = 0; i < input->rank; i++)
        nl_buf_format(text, "%s%" PRId64, i ? "x" : "", input->size[i]);
    return true;
}

static bool shapes_of(const struct trtexec_plan *plan, struct nl_arena *arena, char **word,
                      struct nl_err *err)
{
    struct nl_buf text;
    bool good = true;
    nl_buf_init(&text, 1 << 20);
    if (plan->words->dim_count)
        good = nl_fail(err, NL_USAGE,
                       "--dim: trtexec has no named dimensions; give whole shapes, such as "
                       "--input x=2x3");
    for (size_t i = 0; good && i < plan->words->input_count; i++)
        good = add_shape(&text, &plan->words->inputs[i], err);
    if (good && text.len)
        *word = nl_arena_text(arena, text.ptr, text.len);
    nl_buf_release(&text);
    return good;
}

char **trtexec_command(const struct trtexec_plan *plan, struct nl_arena *arena, struct nl_err *err)
{
    char **words = nl_arena_alloc(arena, MAX_WORDS * sizeof *words);
    char *shapes = NULL;
    size_t count = 0;
    if (!shapes_of(plan, arena, &shapes, err))
        return NULL;
    words[count++] = nl_arena_format(arena, "%s", plan->program);
    words[count++] = nl_arena_format(
        arena, trtexec_is_onnx(plan->model) ? "--onnx=%s" : "--loadEngine=%s", plan->model);
    if (shapes)
        words[count++] = shapes;
    words[count++] = nl_arena_format(arena, "--warmUp=%" PRId64, plan->warm_up_ms);
    if (plan->max_runs) {
        words[count++] = nl_arena_format(arena, "--iterations=%" PRId64, plan->max_runs);
        words[count++] = nl_arena_format(arena, "--duration=0");
    } else if (plan->max_ns) {
        words[count++] = nl_arena_format(arena, "--duration=%g", (double)plan->max_ns / 1e9);
    }
    words[count++] = nl_arena_format(arena, "--separateProfileRun");
    words[count++] = nl_arena_format(arena, "--profilingVerbosity=detailed");
    words[count++] = nl_arena_format(arena, "--exportTimes=%s", plan->times);
    words[count++] = nl_arena_format(arena, "--exportProfile=%s", plan->profile);
    words[count++] = nl_arena_format(arena, "--exportLayerInfo=%s", plan->layers);
    words[count] = NULL;
    return words;
}

/* ---- the log ---- */

/* v8502 is 8.5.2, v100300 is 10.3.0: TensorRT 10 has two digits for the minor release. */
const char *trtexec_version(const char *log, struct nl_arena *arena)
{
    char text[4096];
    FILE *file = fopen(log, "rb");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[got] = '\0';
    static const char mark[] = "[TensorRT v";
    const char *found = strstr(text, mark);
    if (!found)
        return "";
    found += sizeof mark - 1;
    size_t digits = strspn(found, "0123456789");
    if (digits != 4 && digits != 6)
        return "";
    unsigned long number = strtoul(found, NULL, 10), minor = digits == 4 ? 10 : 100;
    return nl_arena_format(arena, "%lu.%lu.%lu", number / 100 / minor, number / 100 % minor,
                           number % 100);
}
