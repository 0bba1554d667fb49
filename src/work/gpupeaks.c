/* data/gpus.yaml into rows. The file is ours: what is wrong in it is a bug, found by the tests. */
#include "work/gpupeaks.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>
#include <yaml.h>

#include "base/err.h"

extern const char nl_gpus_text[]; /* generated from data/gpus.yaml */

#define TERA 1e12
#define GIGA 1e9

const struct gpu_figure_def gpu_figures[GPU_FIGURES] = {
    {"fp64_tflops", "peak_fp64_flops_per_s", TERA},
    {"fp32_tflops", "peak_fp32_flops_per_s", TERA},
    {"tf32_tflops", "peak_tf32_flops_per_s", TERA},
    {"fp16_tflops", "peak_fp16_flops_per_s", TERA},
    {"bf16_tflops", "peak_bf16_flops_per_s", TERA},
    {"fp8_tflops", "peak_fp8_flops_per_s", TERA},
    {"int8_tops", "peak_int8_ops_per_s", TERA},
    {"fp4_tflops", "peak_fp4_flops_per_s", TERA},
    {"memory_gbytes", "peak_memory_bytes_per_s", GIGA},
    {"link_gbytes", NULL, GIGA},
};

struct load {
    struct gpu_peaks *peaks;
    yaml_document_t document;
};

static const char *text_of(const yaml_node_t *node)
{
    if (!node || node->type != YAML_SCALAR_NODE)
        NL_BUG("gpus.yaml: a text is expected");
    return (const char *)node->data.scalar.value;
}

static yaml_node_t *value_of(struct load *load, const yaml_node_t *mapping, const char *key)
{
    if (!mapping || mapping->type != YAML_MAPPING_NODE)
        NL_BUG("gpus.yaml: a mapping is expected");
    for (yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++)
        if (strcmp(text_of(yaml_document_get_node(&load->document, pair->key)), key) == 0)
            return yaml_document_get_node(&load->document, pair->value);
    return NULL;
}

static size_t length_of(const yaml_node_t *list)
{
    if (!list || list->type != YAML_SEQUENCE_NODE)
        NL_BUG("gpus.yaml: a list is expected");
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static yaml_node_t *item_of(struct load *load, const yaml_node_t *list, size_t i)
{
    return yaml_document_get_node(&load->document, list->data.sequence.items.start[i]);
}

static const char *join_sources(struct load *load, const yaml_node_t *known,
                                const yaml_node_t *list)
{
    struct nl_buf text;
    nl_buf_init(&text, 4096);
    nl_buf_text(&text, "makers' data sheets as listed in ");
    for (size_t i = 0; i < length_of(list); i++) {
        const yaml_node_t *source = value_of(load, known, text_of(item_of(load, list, i)));
        nl_buf_format(&text, "%s%s", i ? "; " : "", text_of(source));
    }
    const char *kept = nl_arena_text(&load->peaks->arena, text.ptr, text.len);
    nl_buf_release(&text);
    return kept;
}

static void take_gpu(struct load *load, const yaml_node_t *known, const yaml_node_t *node)
{
    struct gpu_peaks *peaks = load->peaks;
    struct gpu_peak peak = {0};
    const yaml_node_t *names = value_of(load, node, "names"), *sms = value_of(load, node, "sms");
    peak.name_count = length_of(names);
    peak.names = nl_arena_alloc(&peaks->arena, peak.name_count * sizeof *peak.names);
    for (size_t i = 0; i < peak.name_count; i++) {
        const char *name = text_of(item_of(load, names, i));
        peak.names[i] = nl_arena_text(&peaks->arena, name, strlen(name));
    }
    peak.sms = sms ? strtod(text_of(sms), NULL) : 0;
    const yaml_node_t *chip = value_of(load, node, "chip");
    for (size_t i = 0; chip && i < length_of(chip) && i < 4; i++)
        peak.chip[i] = strtod(text_of(item_of(load, chip, i)), NULL);
    peak.source = join_sources(load, known, value_of(load, node, "sources"));
    for (size_t i = 0; i < GPU_FIGURES; i++) {
        const yaml_node_t *value = value_of(load, node, gpu_figures[i].key);
        if (!value)
            continue;
        peak.figures[peak.count].figure = (enum gpu_figure)i;
        peak.figures[peak.count++].value = strtod(text_of(value), NULL) * gpu_figures[i].unit;
    }
    nl_grow(&peaks->items, &peaks->cap, peaks->count + 1);
    peaks->items[peaks->count++] = peak;
}

void gpu_peaks_init(struct gpu_peaks *peaks)
{
    struct load load = {.peaks = peaks};
    yaml_parser_t parser;
    *peaks = (struct gpu_peaks){0};
    nl_arena_init(&peaks->arena);
    if (!yaml_parser_initialize(&parser))
        nl_memory_exhausted(sizeof parser);
    yaml_parser_set_input_string(&parser, (const unsigned char *)nl_gpus_text,
                                 strlen(nl_gpus_text));
    bool loaded = yaml_parser_load(&parser, &load.document);
    if (!loaded && (parser.error == YAML_MEMORY_ERROR || parser.error == YAML_NO_ERROR))
        nl_memory_exhausted(strlen(nl_gpus_text));
    if (!loaded)
        NL_BUG("gpus.yaml is not YAML");
    const yaml_node_t *root = yaml_document_get_root_node(&load.document);
    const yaml_node_t *known = value_of(&load, root, "sources");
    const yaml_node_t *gpus = value_of(&load, root, "gpus");
    for (size_t i = 0; i < length_of(gpus); i++)
        take_gpu(&load, known, item_of(&load, gpus, i));
    yaml_document_delete(&load.document);
    yaml_parser_delete(&parser);
}

void gpu_peaks_release(struct gpu_peaks *peaks)
{
    nl_free(peaks->items);
    nl_arena_free(&peaks->arena);
}

static const char *without_maker(const char *name)
{
    static const char *const makers[] = {"NVIDIA ", "AMD ", "Tesla ", "GeForce "};
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strncasecmp(name, makers[i], strlen(makers[i])) == 0)
            return without_maker(name + strlen(makers[i]));
    return name;
}

const struct gpu_peak *gpu_peaks_find(const struct gpu_peaks *peaks, const char *name, double sms)
{
    const char *plain = without_maker(name);
    for (size_t i = 0; i < peaks->count; i++) {
        const struct gpu_peak *peak = &peaks->items[i];
        if (peak->sms > 0 && sms > 0 && sms != peak->sms)
            continue;
        for (size_t k = 0; k < peak->name_count; k++)
            if (strcasecmp(plain, peak->names[k]) == 0)
                return peak;
    }
    return NULL;
}

/* Drivers keep some of the memory for themselves, and say so in bytes. */
static bool is_like(const struct gpu_peak *peak, const double chip[4])
{
    return peak->chip[2] > 0 && peak->chip[0] == chip[0] && peak->chip[1] == chip[1] &&
           peak->chip[2] == chip[2] && fabs(chip[3] - peak->chip[3]) <= 0.04 * peak->chip[3];
}

static double figure_of(const struct gpu_peak *peak, size_t figure)
{
    for (size_t i = 0; i < peak->count; i++)
        if (peak->figures[i].figure == (enum gpu_figure)figure)
            return peak->figures[i].value;
    return NAN;
}

bool gpu_peaks_recognise(struct gpu_peaks *peaks, const double chip[4], struct gpu_likeness *like)
{
    const struct gpu_peak *first = NULL;
    struct nl_buf names;
    *like = (struct gpu_likeness){0};
    nl_buf_init(&names, 4096);
    for (size_t i = 0; i < peaks->count; i++) {
        const struct gpu_peak *peak = &peaks->items[i];
        if (!is_like(peak, chip))
            continue;
        for (size_t k = 0; k < GPU_FIGURES; k++) {
            double value = figure_of(peak, k);
            if (!first)
                like->figures[k] = value;
            else if (like->figures[k] != value)
                like->figures[k] = NAN;
        }
        nl_buf_format(&names, "%s%s", first ? " or " : "", peak->names[0]);
        first = first ? first : peak;
    }
    if (first) {
        like->products = nl_arena_text(&peaks->arena, names.ptr, names.len);
        like->source = first->source;
    }
    nl_buf_release(&names);
    return first != NULL;
}
