/*
 * An ONNX Runtime that does what $MOCK says: works, fails, lies, crashes or never returns. Only for
 * tests/profile.py, which compiles it. Places in the table are those of onnxruntime_c_api.h 1.14.
 *
 * "fine": one input x: f32[n, 4]; a run takes 200 us (220 in the session that profiles)
 * and writes to the profile node "a" of 7 us and node "b" of 11 us, the first three runs
 * of the session 1000 us each.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char status_text[200];
static int status_code;
static const void *table[300];
static int profiled_session, plain_session, profiled_runs;
static char profile_path[1000];
static float data[1 << 16];

static int mode(const char *name)
{
    const char *mock = getenv("MOCK");
    return mock && strcmp(mock, name) == 0;
}

static void *fail(int code, const char *text)
{
    status_code = code;
    snprintf(status_text, sizeof status_text, "%s", text);
    return status_text;
}

static int get_code(const void *status)
{
    (void)status;
    return status_code;
}
static const char *get_message(const void *status)
{
    (void)status;
    return mode("no message") ? NULL : status_text;
}
static void release(void *object)
{
    (void)object;
}
static void *fine(void)
{
    return NULL;
}
static void *set_pointer_1(void **out)
{
    *out = &data;
    return NULL;
}
static void *create_env(int level, const char *name, const void *threads, void **out)
{
    (void)level, (void)name, (void)threads;
    if (mode("noisy crash")) {
        fprintf(stderr, "first line\nthe ceiling fell down\n");
        raise(SIGABRT);
    }
    *out = &data;
    return NULL;
}
static void *enable_profiling(void *options, const char *prefix)
{
    *(int *)options = 1;
    snprintf(profile_path, sizeof profile_path, "%s_mock.json", prefix);
    return NULL;
}
static int options_flag;
static void *create_options(void **out)
{
    options_flag = 0;
    *out = &options_flag;
    return NULL;
}
static void *create_session(const void *env, const char *path, const void *options, void **out)
{
    (void)env, (void)path;
    if (mode("refuse"))
        return fail(9, "Could not find an implementation for\nFrob(13)");
    if (mode("no message"))
        return fail(1, "");
    if (mode("crash on load"))
        raise(SIGSEGV);
    *out = mode("no session")      ? NULL
           : *(const int *)options ? (void *)&profiled_session
                                   : (void *)&plain_session;
    return NULL;
}
static void *count_inputs(const void *session, size_t *count)
{
    (void)session;
    *count = mode("many inputs") ? SIZE_MAX : 1;
    return NULL;
}
static void *count_outputs(const void *session, size_t *count)
{
    (void)session;
    *count = 1;
    return NULL;
}
static void *name_of(const void *session, size_t at, void *allocator, char **name)
{
    (void)session, (void)at, (void)allocator;
    *name = mode("no name") ? NULL : (char *)"x";
    return NULL;
}
static void *type_of(const void *session, size_t at, void **type)
{
    (void)session, (void)at;
    *type = &data;
    return NULL;
}
static void *cast(const void *type, const void **shape)
{
    *shape = mode("no shape") ? NULL : type;
    return NULL;
}
static void *kind(const void *type, int *out)
{
    (void)type;
    *out = 1;
    return NULL;
}
static void *element(const void *shape, int *out)
{
    (void)shape;
    *out = mode("odd type") ? 99 : 1;
    return NULL;
}
static void *rank(const void *shape, size_t *out)
{
    (void)shape;
    *out = mode("high rank") ? 5000 : 2;
    return NULL;
}
static void *dims(const void *shape, int64_t *out, size_t count)
{
    (void)shape, (void)count;
    out[0] = -1;
    out[1] = 4;
    return NULL;
}
static void *symbols(const void *shape, const char **out, size_t count)
{
    (void)shape, (void)count;
    out[0] = "n";
    out[1] = "";
    return NULL;
}
static void *create_tensor(void *allocator, const int64_t *size, size_t count, int type, void **out)
{
    (void)allocator, (void)size, (void)count, (void)type;
    *out = mode("no tensor") ? NULL : &data;
    return NULL;
}
static void *tensor_data(void *value, void **out)
{
    (void)value;
    *out = mode("no data") ? NULL : data;
    return NULL;
}
static void *providers(char ***names, int *count)
{
    static char *list[] = {"CPUExecutionProvider"};
    *names = mode("no providers") ? NULL : list;
    *count = mode("no providers") ? 3 : 1;
    return NULL;
}
static void *start_ns(const void *session, uint64_t *ns)
{
    (void)session;
    *ns = mode("no epoch") ? 0 : (uint64_t)time(NULL) * 1000000000u - 1000000000u;
    return NULL;
}
static void *add_provider(void *options, const char *name, const void *keys, const void *values,
                          size_t n)
{
    (void)options, (void)keys, (void)values, (void)n, (void)name;
    return fail(2, "Unknown provider name");
}

static void busy(long us)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000 < us);
}

static void *run(const void *session, const void *options, const char *const *names,
                 const void *const *inputs, size_t count, const char *const *outputs, size_t made,
                 void **values)
{
    (void)options, (void)names, (void)inputs, (void)count, (void)outputs, (void)made, (void)values;
    static int runs;
    if (mode("crash in run") && ++runs == 5)
        raise(SIGSEGV);
    if (mode("exit in run"))
        exit(0);
    if (mode("endless"))
        for (;;)
            pause();
    if (mode("fail in run"))
        return fail(2, "indices element out of data bounds");
    busy((mode("slow") ? 120000 : 200) +
         (session == &profiled_session ? 20 : 0)); /* profiling costs something */
    profiled_runs += session == &profiled_session;
    return NULL;
}

static void put(FILE *file, const char *category, const char *name, long ts, long dur,
                const char *args)
{
    fprintf(file,
            "{\"cat\" : \"%s\",\"pid\" :7,\"tid\" :8,\"dur\" :%ld,\"ts\" :%ld,\"ph\" : \"X\","
            "\"name\" :\"%s\",\"args\" : {%s}},\n",
            category, dur, ts, name, args);
}

static void *end_profiling(void *session, void *allocator, char **name)
{
    (void)session, (void)allocator;
    FILE *file = mode("no profile") ? NULL : fopen(profile_path, "w");
    *name = mode("no profile name") ? NULL : profile_path;
    if (!file)
        return NULL;
    fprintf(file, mode("profile is text") ? "nothing to see" : "[\n");
    put(file, "Session", "model_loading_uri", 0, 5, "");
    for (int i = 0; i < profiled_runs; i++) {
        long slow = i < 3 ? 1000 : 0, ts = 1000000 + i * 10000L;
        put(file, "Node", "a_kernel_time", ts + 1, slow ? slow : 7,
            "\"op_name\" : \"Add\", \"node_index\" : \"0\"");
        put(file, "Node", "b_kernel_time", ts + 1100, slow ? slow : 11,
            "\"op_name\" : \"Mul\", \"node_index\" : \"1\"");
        put(file, "Session", "model_run", ts, 4000, "");
    }
    if (!mode("profile is cut"))
        fprintf(file, "]\n");
    fclose(file);
    return NULL;
}

static const void *const *get_api(uint32_t version)
{
    static const struct {
        int place;
        const void *function;
    } all[] = {{1, get_code},        {2, get_message},
               {7, create_session},  {9, run},
               {10, create_options}, {14, enable_profiling},
               {30, count_inputs},   {31, count_outputs},
               {33, type_of},        {36, name_of},
               {37, name_of},        {48, create_tensor},
               {51, tensor_data},    {55, cast},
               {56, kind},           {60, element},
               {61, rank},           {62, dims},
               {63, symbols},        {78, set_pointer_1},
               {93, release},        {95, release},
               {96, release},        {98, release},
               {100, release},       {110, end_profiling},
               {119, create_env},    {121, set_pointer_1},
               {125, providers},     {146, start_ns},
               {216, add_provider}};
    if (mode("no table") || version != 14)
        return NULL;
    for (int i = 0; i < 300; i++)
        table[i] = (const void *)fine;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        table[all[i].place] = all[i].function;
    if (mode("holes"))
        table[147] = NULL;
    return table;
}

static const char *get_version(void)
{
    return mode("old") ? "1.8.1" : mode("no version") ? NULL : mode("odd version") ? "" : "1.99.0";
}

const void *OrtGetApiBase(void)
{
    static const void *base[2];
    base[0] = (const void *)get_api;
    base[1] = (const void *)get_version;
    if (mode("crash on open"))
        raise(SIGILL);
    return mode("no base") ? NULL : base;
}
