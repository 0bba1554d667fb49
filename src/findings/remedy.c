/* remedy — see remedy.h. */
#include "findings/remedy.h"

#include <string.h>

#include "base/str.h"

#define WORDS_DEEP 4
#define MAX_TEXT   4096
#define ROWS_LOOK  4096 /* calls and operators searched for a telling name */

enum {
    NV = 1 << NL_MAKER_NVIDIA,
    AMD = 1 << NL_MAKER_AMD,
    TPU = 1 << NL_MAKER_GOOGLE,
    OTHER = 1 << NL_MAKER_OTHER,
    GPU = NV | AMD | OTHER,
    ANY = GPU | TPU,
    TORCH = 1 << NL_FRAMEWORK_TORCH,
    XLA = 1 << NL_FRAMEWORK_XLA,
    ORT = 1 << NL_FRAMEWORK_ORT,
    TRT = 1 << NL_FRAMEWORK_TENSORRT,
    NONE = 1 << NL_FRAMEWORK_NONE,
    EVERY = TORCH | NONE | XLA | ORT | TRT
};

static const struct {
    const char *cause;
    unsigned makers, frameworks;
    struct nl_suggestion suggestion;
} remedies[] = {
#define NL_REMEDY(cause, makers, frameworks, action, why, verify)                                  \
    {cause, makers, frameworks, {action, why, verify}},
#include "findings/remedies.def"
};

static const struct {
    const char *key;
    const char *by_maker[NL_MAKERS];
    const char *by_framework[NL_FRAMEWORKS];
} words[] = {
#define NL_REMEDY_WORD(key, nvidia, amd, tpu, other) {key, {nvidia, amd, tpu, other}, {0}},
#define NL_REMEDY_PHRASE(key, torch, xla, ort, tensorrt, none)                                     \
    {key, {0}, {torch, xla, ort, tensorrt, none}},
#include "findings/remedywords.def"
};

/* ---- words ---- */

static const char *word_of(struct nl_str key, struct nl_setting setting)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_is(key, words[i].key))
            return words[i].by_maker[0] ? words[i].by_maker[setting.maker]
                                        : words[i].by_framework[setting.framework];
    NL_BUG("a remedy has a word that no table has");
}

static void write(struct nl_buf *out, const char *text, struct nl_setting setting, unsigned deep)
{
    if (deep > WORDS_DEEP)
        NL_BUG("words of remedies go round in circles");
    while (*text) {
        size_t plain = strcspn(text, "{"), key;
        nl_buf_add(out, text, plain);
        text += plain;
        if (!*text)
            return;
        key = strcspn(++text, "}");
        write(out, word_of((struct nl_str){text, key}, setting), setting, deep + 1);
        text += key + 1;
    }
}

static const char *worded(const char *text, struct nl_setting setting, struct nl_arena *arena)
{
    struct nl_buf out;
    if (!strchr(text, '{'))
        return text;
    nl_buf_init(&out, MAX_TEXT);
    write(&out, text, setting, 0);
    const char *made = nl_arena_text(arena, out.ptr, out.len);
    nl_buf_release(&out);
    return made;
}

/* A row's cause, with or without a variant, or the beginning of several: "cause:var*". */
static bool belongs_to(const char *row, const char *cause)
{
    size_t len = strlen(row);
    return len && row[len - 1] == '*' ? strncmp(row, cause, len - 1) == 0 : strcmp(row, cause) == 0;
}

const struct nl_suggestion *nl_remedies(const char *cause, struct nl_setting setting,
                                        struct nl_arena *arena)
{
    struct nl_suggestion *made = nl_arena_alloc(arena, (NL_FINDING_SUGGESTIONS + 1) * sizeof *made);
    size_t count = 0;
    for (size_t i = 0; i < sizeof remedies / sizeof remedies[0]; i++) {
        const struct nl_suggestion *it = &remedies[i].suggestion;
        if (!belongs_to(remedies[i].cause, cause) || !(remedies[i].makers >> setting.maker & 1) ||
            !(remedies[i].frameworks >> setting.framework & 1) || count == NL_FINDING_SUGGESTIONS)
            continue;
        made[count++] = (struct nl_suggestion){worded(it->action, setting, arena),
                                               worded(it->why, setting, arena),
                                               worded(it->verify, setting, arena)};
    }
    made[count] = (struct nl_suggestion){0};
    return made;
}

/* ---- settings ---- */

struct sign {
    const char *text;
    int means;
};

/* The first sign that the text holds (anywhere) or begins with. */
static int read_sign(struct nl_str text, const struct sign *signs, size_t count, bool anywhere)
{
    for (size_t i = 0; i < count; i++)
        if (anywhere ? nl_str_find_nocase(text, signs[i].text) >= 0
                     : nl_str_starts(text, signs[i].text))
            return signs[i].means;
    return -1;
}
#define READ(text, signs, anywhere) read_sign(text, signs, sizeof signs / sizeof signs[0], anywhere)

static int maker_of_device(const struct nl_trace *trace, uint32_t device)
{
    static const struct sign vendors[] = {
        {"nvidia", NL_MAKER_NVIDIA},      {"amd", NL_MAKER_AMD},
        {"advanced micro", NL_MAKER_AMD}, {"google", NL_MAKER_GOOGLE},
        {"intel", NL_MAKER_OTHER},        {"apple", NL_MAKER_OTHER},
        {"qualcomm", NL_MAKER_OTHER},     {"radeon", NL_MAKER_AMD},
        {"instinct", NL_MAKER_AMD},       {"gfx", NL_MAKER_AMD},
        {"geforce", NL_MAKER_NVIDIA},     {"tesla", NL_MAKER_NVIDIA},
        {"quadro", NL_MAKER_NVIDIA},      {"rtx", NL_MAKER_NVIDIA},
        {"tpu", NL_MAKER_GOOGLE}};
    if (device >= trace->device.rows)
        return -1;
    int maker = READ(nl_trace_name(trace, trace->device.vendor[device]), vendors, true);
    return maker >= 0 ? maker
                      : READ(nl_trace_name(trace, trace->device.name[device]), vendors, true);
}

/* By what recorded it, and by what is only made by one: names of calls and
 * of libraries' kernels. */
static int maker_of_profile(const struct nl_trace *trace)
{
    static const struct sign tools[] = {{"nsys", NL_MAKER_NVIDIA},   {"ncu", NL_MAKER_NVIDIA},
                                        {"nvprof", NL_MAKER_NVIDIA}, {"roc", NL_MAKER_AMD},
                                        {"rpd", NL_MAKER_AMD},       {"tensorrt", NL_MAKER_NVIDIA},
                                        {"trt", NL_MAKER_NVIDIA}};
    static const struct sign calls[] = {{"hip", NL_MAKER_AMD},
                                        {"hsa_", NL_MAKER_AMD},
                                        {"cuda", NL_MAKER_NVIDIA},
                                        {"cu", NL_MAKER_NVIDIA}};
    static const struct sign kernels[] = {{"void at::native::hip", NL_MAKER_AMD},
                                          {"Cijk_", NL_MAKER_AMD},
                                          {"nvjet", NL_MAKER_NVIDIA},
                                          {"ampere_", NL_MAKER_NVIDIA},
                                          {"sm80_", NL_MAKER_NVIDIA},
                                          {"sm90_", NL_MAKER_NVIDIA},
                                          {"volta_", NL_MAKER_NVIDIA},
                                          {"turing_", NL_MAKER_NVIDIA}};
    int maker = -1;
    for (uint32_t i = 0; maker < 0 && i < trace->source.rows; i++)
        maker = READ(nl_trace_name(trace, trace->source.format[i]), tools, false);
    for (uint32_t i = 0; maker < 0 && i < trace->api.rows && i < ROWS_LOOK; i++)
        maker = READ(nl_trace_name(trace, trace->slice.name[trace->api.slice[i]]), calls, false);
    for (uint32_t i = 0; maker < 0 && i < trace->kernel.rows && i < ROWS_LOOK; i++)
        maker =
            READ(nl_trace_name(trace, trace->slice.name[trace->kernel.slice[i]]), kernels, false);
    return maker;
}

static enum nl_framework framework_of(const struct nl_trace *trace)
{
    static const struct sign tools[] = {
        {"kineto", NL_FRAMEWORK_TORCH},    {"torch", NL_FRAMEWORK_TORCH},
        {"pickle", NL_FRAMEWORK_TORCH},    {"xplane", NL_FRAMEWORK_XLA},
        {"onnxruntime", NL_FRAMEWORK_ORT}, {"tensorrt", NL_FRAMEWORK_TENSORRT},
        {"trt", NL_FRAMEWORK_TENSORRT}};
    static const struct sign kernels[] = {{"at::native", NL_FRAMEWORK_TORCH},
                                          {"triton_", NL_FRAMEWORK_TORCH},
                                          {"tensorflow::", NL_FRAMEWORK_XLA}};
    static const struct sign operators[] = {{"aten::", NL_FRAMEWORK_TORCH},
                                            {"autograd::", NL_FRAMEWORK_TORCH},
                                            {"ProfilerStep#", NL_FRAMEWORK_TORCH},
                                            {"XlaModule:", NL_FRAMEWORK_XLA},
                                            {"TSL:", NL_FRAMEWORK_XLA},
                                            {"TensorRT:", NL_FRAMEWORK_TENSORRT}};
    int framework = -1;
    for (uint32_t i = 0; framework < 0 && i < trace->source.rows; i++)
        framework = READ(nl_trace_name(trace, trace->source.format[i]), tools, false);
    for (uint32_t i = 0; framework < 0 && i < trace->op.rows && i < ROWS_LOOK; i++)
        framework =
            READ(nl_trace_name(trace, trace->slice.name[trace->op.slice[i]]), operators, false);
    for (uint32_t i = 0; framework < 0 && i < trace->nvtx.rows && i < ROWS_LOOK; i++)
        framework =
            READ(nl_trace_name(trace, trace->slice.name[trace->nvtx.slice[i]]), operators, false);
    for (uint32_t i = 0; framework < 0 && i < trace->kernel.rows && i < ROWS_LOOK; i++)
        framework =
            READ(nl_trace_name(trace, trace->slice.name[trace->kernel.slice[i]]), kernels, true);
    return framework >= 0 ? (enum nl_framework)framework : NL_FRAMEWORK_NONE;
}

struct nl_setting nl_setting_of(const struct nl_trace *trace, uint32_t device)
{
    int maker = maker_of_device(trace, device);
    if (maker < 0)
        maker = maker_of_profile(trace);
    struct nl_setting setting = {maker >= 0 ? (enum nl_maker)maker : NL_MAKER_OTHER,
                                 framework_of(trace)};
    if (setting.maker == NL_MAKER_GOOGLE)
        setting.framework = NL_FRAMEWORK_XLA;
    return setting;
}
