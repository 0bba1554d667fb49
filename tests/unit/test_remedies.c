/* What is advised fits the device and the framework: every cause in every setting. */
#include <string.h>

#include "findings/cause.h"
#include "findings/remedy.h"
#include "check.h"

static const char *const causes[] = {
#define NL_CAUSE(name, level, title) #name,
#include "findings/causes.def"
    "gpu_idle:warm_up",    "gpu_idle:unknown",        "gpu_idle:capture",
    "lock_waits:join",     "kernel_hotspot:measured", "cpu_hotspot:native",
    "cpu_hotspot:address", "cpu_hotspot:operator",    "cpu_hotspot:builtin"};

/* Words of one maker's tools; the first row is NVIDIA's, and so on. */
static const char *const makers_words[NL_MAKERS][32] = {
    {"cuda", "nvidia", "nccl", "nsight", "nsys", "ncu ", "cublas", "cudnn", "tf32", "tensor core",
     "hopper", "ampere", "nvbandwidth", "dali", "wgmma", "nvjet", "bandwidthtest", "trtexec", NULL},
    {"hip", "rccl", "rocm", "rocprof", "amd", "miopen", "mfma", "matrix cores", "rocal", NULL},
    {"tpu", "pallas", NULL},
    {NULL}};

static const char *const framework_words[NL_FRAMEWORKS][32] = {
    {"torch", "dataloader", "fsdp", "ddp", "non_blocking", ".item()", NULL},
    {"jax", "jnp.", "xla", "tf.", "libtpu", NULL},
    {"iobinding", "ortvalue", "onnx", "provider", NULL},
    {"trtexec", "engine's enqueue", "--fp16", "--notf32", NULL},
    {NULL}};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Does `text` hold `word` at the start of a word, whatever the case? Names of
 * PyTorch's interface (the device is called 'cuda' under ROCm, too) and the title of a
 * table are no advice for a vendor. */
static bool holds(const char *text, const char *word)
{
    /* Names of causes stay what they are. */
    static const char *const names[] = {"torch.cuda.",        "'cuda'",
                                        "CUDA/HIP calls",     "cuda_graph_absent",
                                        "dataloader_stall",   "TORCH_LOGS=cudagraphs",
                                        "torch.backends.cuda"};
    char plain[2048];
    size_t len = 0;
    for (const char *at = text; *at && len < sizeof plain - 1;) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (!strncmp(at, names[i], strlen(names[i])))
                skip = strlen(names[i]);
        if (skip && strcmp(word, "torch") != 0)
            at += skip;
        else
            plain[len++] = lower(*at++);
    }
    plain[len] = '\0';
    for (const char *at = plain; (at = strstr(at, word)); at++)
        if (at == plain || at[-1] < 'a' || at[-1] > 'z')
            return true;
    return false;
}

static bool is_foreign(const char *text, struct nl_setting setting)
{
    for (int maker = 0; maker < NL_MAKERS; maker++)
        for (size_t i = 0; maker != (int)setting.maker && makers_words[maker][i]; i++) {
            /* The example for a GPU of nobody knows whom is NVIDIA's where it says so. */
            bool said = setting.maker == NL_MAKER_OTHER && maker == NL_MAKER_NVIDIA &&
                        (!strcmp(makers_words[maker][i], "tf32") ||
                         !strcmp(makers_words[maker][i], "ampere") ||
                         !strcmp(makers_words[maker][i], "tensor core") ||
                         !strcmp(makers_words[maker][i], "wgmma") ||
                         !strcmp(makers_words[maker][i], "nvjet"));
            bool trt = setting.framework == NL_FRAMEWORK_TENSORRT &&
                       !strcmp(makers_words[maker][i], "trtexec");
            if (!said && !trt && holds(text, makers_words[maker][i])) {
                printf("     \"%s\" is foreign in: %s\n", makers_words[maker][i], text);
                return true;
            }
        }
    for (int framework = 0; framework < NL_FRAMEWORKS; framework++)
        for (size_t i = 0; framework != (int)setting.framework && framework_words[framework][i];
             i++) {
            bool example =
                setting.framework == NL_FRAMEWORK_NONE && framework == NL_FRAMEWORK_TORCH;
            if (!example && holds(text, framework_words[framework][i])) {
                printf("     \"%s\" is foreign in: %s\n", framework_words[framework][i], text);
                return true;
            }
        }
    return false;
}

static void check_cause(const char *cause, struct nl_setting setting, struct nl_arena *arena)
{
    const struct nl_suggestion *list = nl_remedies(cause, setting, arena);
    size_t count = 0;
    for (; list[count].action; count++) {
        const char *texts[] = {list[count].action, list[count].why, list[count].verify};
        for (size_t i = 0; i < 3; i++) {
            CHECK(texts[i][0] && !strchr(texts[i], '{') && !strchr(texts[i], '}'));
            CHECK(!is_foreign(texts[i], setting));
        }
        for (size_t i = 0; i < count; i++)
            CHECK(strcmp(list[i].action, list[count].action) != 0);
    }
    if (count < 2)
        printf("     %s: maker %d, framework %d\n", cause, setting.maker, setting.framework);
    CHECK(count >= 2 && count <= NL_FINDING_SUGGESTIONS);
}

static void every_cause_fits_every_setting(void)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++)
        for (int maker = 0; maker < NL_MAKERS; maker++)
            for (int framework = 0; framework < NL_FRAMEWORKS; framework++) {
                struct nl_setting setting = {(enum nl_maker)maker, (enum nl_framework)framework};
                if (maker == NL_MAKER_GOOGLE && framework != NL_FRAMEWORK_XLA)
                    continue; /* no such setting is made */
                if (framework == NL_FRAMEWORK_TENSORRT && maker != NL_MAKER_NVIDIA)
                    continue;
                check_cause(causes[i], setting, &arena);
                if (maker == NL_MAKER_NVIDIA && !strcmp(causes[i], "tensor_core_unused")) {
                    check_cause("tensor_core_unused:tf32", setting, &arena);
                    check_cause("tensor_core_unused:tf32_convolutions", setting, &arena);
                }
            }
    nl_arena_free(&arena);
}

static void words_are_those_of_the_setting(void)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    struct nl_setting amd = {NL_MAKER_AMD, NL_FRAMEWORK_ORT},
                      nvidia = {NL_MAKER_NVIDIA, NL_FRAMEWORK_ORT};
    struct nl_setting torch = {NL_MAKER_NVIDIA, NL_FRAMEWORK_TORCH};
    CHECK(holds(nl_remedies("tensor_core_unused:tf32", torch, &arena)[0].action, "matmul"));
    CHECK(!holds(nl_remedies("tensor_core_unused:tf32", torch, &arena)[0].action, "cudnn"));
    CHECK(holds(nl_remedies("tensor_core_unused:tf32_convolutions", torch, &arena)[0].action,
                "cudnn.allow_tf32"));
    CHECK(!holds(nl_remedies("tensor_core_unused:tf32_convolutions", torch, &arena)[0].action,
                 "matmul"));
    CHECK_TEXT(nl_remedies("tensor_core_unused:tf32_convolutions", nvidia, &arena)[0].action,
               nl_remedies("tensor_core_unused:tf32", nvidia, &arena)[0].action);
    CHECK_TEXT(nl_remedies("cuda_graph_absent", amd, &arena)[0].action,
               "Run the step as a HIP graph: the provider's option enable_hip_graph=1");
    CHECK_TEXT(nl_remedies("cuda_graph_absent", nvidia, &arena)[0].action,
               "Run the step as a CUDA graph: the provider's option enable_cuda_graph=1");
    CHECK(nl_remedies("no such cause", amd, &arena)[0].action == NULL);
    nl_arena_free(&arena);
}

CHECK_MAIN("remedies", {"every cause fits every setting", every_cause_fits_every_setting},
           {"words are those of the setting", words_are_those_of_the_setting})
