/* The run document: strict JSON, the schema's interpreter, settings, identity, peaks, and a
 * document with numbers worked out by hand. */
#include "check.h"
#include "gputrace.h"

#include "base/jsoncheck.h"
#include "parse/jsonpull.h"
#include "rundoc/doccheck.h"
#include "work/gpupeaks.h"

#define MIB ((size_t)1 << 20)

static void takes_json_only(void)
{
    static const struct {
        const char *text;
        int64_t offset; /* where it stops being JSON; -1 = it is */
    } rows[] = {
        {"0", -1},
        {"-0.5e+10", -1},
        {" [ ] ", -1},
        {"{\"a\":[true,null]}", -1},
        {"\"\\u00e9\"", -1},
        {"\"\xc3\xa9\"", -1},
        {"", 0},
        {"01", 1},
        {"1.", 2},
        {"1e", 2},
        {"-", 1},
        {"+1", 0},
        {"NaN", 0},
        {"[1,]", 3},
        {"{\"a\":1,}", 7},
        {"{\"a\" 1}", 5},
        {"{1:2}", 1},
        {"[1}", 2},
        {"1 2", 2},
        {"\"\t\"", 1},
        {"\"\\x\"", 1},
        {"\"\\u12g4\"", 1},
        {"\"\xff\"", 1},
        {"\"\xed\xa0\x80\"", 1},
        {"\"a", 2},
        {"[1", 2},
        {"\xef\xbb\xbf{}", 0},
        {"nul", 0},
    };
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_json_problem problem;
        check_case(rows[i].text);
        bool good = nl_json_check(rows[i].text, strlen(rows[i].text), &problem);
        CHECK(good == (rows[i].offset < 0));
        if (!good)
            CHECK_INT(problem.offset, rows[i].offset);
    }
    char deep[200];
    struct nl_json_problem problem;
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    check_case("depth");
    CHECK(nl_json_check(deep + 36, 128, &problem));
    CHECK(!nl_json_check(deep + 35, 130, &problem));
}

static void refuses_unknown_keywords(void)
{
    static const struct {
        const char *schema, *part; /* of the reason; NULL = it is understood */
    } rows[] = {
        {"{\"type\":\"object\"}", NULL},
        {"{\"type\":\"objekt\"}", "type"},
        {"{\"anyOf\":[]}", "anyOf"},
        {"{\"properties\":{\"a\":{\"format\":\"date\"}}}", "format"},
        {"{\"additionalProperties\":true}", "additionalProperties"},
        {"{\"required\":[\"a\"]}", "required"},
        {"{\"$ref\":\"#/$defs/a\"}", "$ref"},
        {"{\"$defs\":{\"a\":{}},\"$ref\":\"#/$defs/a\",\"minimum\":1}", "$ref"},
        {"{\"enum\":[1]}", "enum"},
        {"{\"const\":1}", "const"},
        {"{\"pattern\":\"^($\"}", "pattern"},
        {"{\"pattern\":\"a\"}", "pattern"},
        {"{\"items\":true}", "schema"},
        {"{\"minItems\":-1}", "minItems"},
        {"{\"type\":1,\"type\":2}", "schema"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct doc_schema schema;
        struct nl_err err;
        nl_err_clear(&err);
        check_case(rows[i].schema);
        CHECK(doc_schema_compile(&schema, rows[i].schema, &err) == !rows[i].part);
        if (rows[i].part)
            CHECK(strstr(err.text, rows[i].part) != NULL);
        doc_schema_release(&schema);
    }
}

/* Faults of a text under a schema as "pointer keyword; …". */
static void faults_of(char out[400], const char *schema_text, const char *text)
{
    struct doc_schema schema;
    struct nl_rundoc_faults faults = {0};
    struct nl_err err;
    nl_err_clear(&err);
    nl_arena_init(&faults.arena);
    out[0] = 0;
    if (doc_schema_compile(&schema, schema_text, &err))
        (void)doc_check(schema.root, text, strlen(text), &faults);
    for (size_t i = 0; i < faults.count; i++)
        snprintf(out + strlen(out), 400 - strlen(out), "%s%s %s", i ? "; " : "",
                 faults.items[i].pointer, faults.items[i].keyword);
    nl_rundoc_faults_release(&faults);
    doc_schema_release(&schema);
}

static void finds_every_fault(void)
{
    static const char schema[] =
        "{\"$defs\":{\"size\":{\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"],"
        "\"additionalProperties\":false}},\"type\":\"object\",\"properties\":{"
        "\"v\":{\"const\":\"x/1\"},\"a/"
        "b~\":{\"type\":[\"integer\",\"null\"],\"minimum\":0,\"maximum\":9},"
        "\"e\":{\"type\":[\"string\",\"null\"],\"enum\":[\"on\",\"off\",null]},"
        "\"t\":{\"type\":\"string\",\"minLength\":2,\"pattern\":\"^[a-z]+$\"},"
        "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":1,\"maxItems\":2},"
        "\"s\":{\"$ref\":\"#/$defs/size\",\"type\":[\"object\",\"null\"]}},"
        "\"required\":[\"v\"],\"additionalProperties\":false}";
    static const struct {
        const char *text, *faults;
    } rows[] = {
        {"{\"v\":\"x/1\"}", ""},
        {"{\"v\":\"x/1\",\"a/b~\":9,\"e\":null,\"t\":\"ab\",\"l\":[1,2.5],\"s\":{\"n\":2}}", ""},
        {"{\"v\":\"x/1\",\"a/b~\":3.0,\"s\":null}", ""},
        {"[]", " type"},
        {"{}", " required"},
        {"{\"v\":1,\"w\":{\"deep\":[]}}", "/v const;  additionalProperties"},
        {"{\"v\":\"x/1\",\"a/b~\":10}", "/a~1b~0 maximum"},
        {"{\"v\":\"x/1\",\"a/b~\":-0.5}", "/a~1b~0 type; /a~1b~0 minimum"},
        {"{\"v\":\"x/1\",\"a/b~\":-1e999}", "/a~1b~0 type; /a~1b~0 minimum"},
        {"{\"v\":\"x/1\",\"a/b~\":true}", "/a~1b~0 type"},
        {"{\"v\":\"x/1\",\"e\":\"out\"}", "/e enum"},
        {"{\"v\":\"x/1\",\"e\":{}}", "/e type; /e enum"},
        {"{\"v\":\"x/1\",\"t\":\"\xc3\xa4\"}", "/t minLength; /t pattern"},
        {"{\"v\":\"x/1\",\"t\":\"ab\\n\"}", "/t pattern"},
        {"{\"v\":\"x/1\",\"t\":\"ab\\u0000\"}", "/t pattern"},
        {"{\"v\":\"x/1\",\"l\":[]}", "/l minItems"},
        {"{\"v\":\"x/1\",\"l\":[1,null,[2]]}", "/l/1 type; /l/2 type; /l maxItems"},
        {"{\"v\":\"x/1\",\"s\":{\"n\":1,\"m\":2,\"k\":3}}", "/s additionalProperties"},
        {"{\"v\":\"x/1\",\"s\":{}}", "/s required"},
        {"{\"v\":\"x/1\",\"v\":\"x/1\"}", "/v duplicate"},
        {"{\"v\":\"x/1\",}", " syntax"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        char got[400];
        check_case(rows[i].text);
        faults_of(got, schema, rows[i].text);
        CHECK_TEXT(got, rows[i].faults);
    }
}

/* Every object closed, every member required: parity of documents follows from that. */
static void check_strict(const struct doc_node *node, const char *name)
{
    check_case(name);
    CHECK(!node->members || node->closed);
    CHECK(!(node->types & DOC_OBJECT) || node->members);
    CHECK(!(node->types & DOC_ARRAY) || node->items);
    CHECK(node->types || node->constant);
    for (size_t i = 0; i < node->member_count; i++) {
        CHECK(node->members[i].required);
        check_strict(node->members[i].node, node->members[i].name);
    }
    if (node->items)
        check_strict(node->items, name);
}

static void schema_is_strict(void)
{
    struct doc_schema schema;
    doc_schema_open(&schema);
    check_strict(schema.root, "root");
    doc_schema_release(&schema);
}

static void bounds_the_list(void)
{
    struct nl_rundoc_faults faults;
    struct nl_buf text;
    nl_buf_init(&text, MIB);
    nl_buf_text(&text, "{\"memory\":[");
    for (int i = 0; i < 2 * DOC_FAULTS; i++)
        nl_buf_text(&text, i ? ",1" : "1");
    nl_buf_text(&text, "]}");
    CHECK(!nl_rundoc_check(text.ptr, text.len, &faults));
    CHECK_INT(faults.count, DOC_FAULTS);
    CHECK(faults.more);
    nl_rundoc_faults_release(&faults);
    nl_buf_release(&text);
}

static void id_is_of_the_content(void)
{
    struct nl_rundoc_source sources[3] = {
        {.name = "a", .sha256 = "11"}, {.name = "b", .sha256 = "22"}, {.name = "c", .sha256 = "2"}};
    char one[NL_RUNDOC_ID], other[NL_RUNDOC_ID];
    struct nl_err err;
    nl_err_clear(&err);
    CHECK(nl_rundoc_id(one, sources, 2, &err));
    CHECK_INT(strlen(one), 32);
    sources[0].name = "renamed";
    struct nl_rundoc_source turned[] = {sources[1], sources[0]};
    CHECK(nl_rundoc_id(other, turned, 2, &err));
    CHECK_TEXT(other, one);
    CHECK(nl_rundoc_id(other, sources + 1, 2, &err));
    CHECK(strcmp(other, one) != 0);
}

static void settings_are_of_the_schema(void)
{
    static const struct {
        const char *key, *value, *part; /* of the reason; NULL = allowed */
    } rows[] = {
        {"workload.batch_size", "32", NULL},
        {"workload.batch_size", "null", NULL},
        {"workload.batch_size", "0", "less than 1"},
        {"workload.batch_size", "3.5", "integer"},
        {"workload.batch_size", " 3", "integer"},
        {"workload.batch_size", "", "integer"},
        {"workload.model_flops_per_step", "1.5e15", NULL},
        {"workload.model", "a \"b\" \\", NULL},
        {"workload.precision", "bf16", NULL},
        {"workload.precision", "bf17", "fp64, fp32"},
        {"run.git_dirty", "true", NULL},
        {"run.git_dirty", "yes", "boolean"},
        {"run.git_commit", "0123abc", NULL},
        {"run.git_commit", "main", "match"},
        {"run.id", "x", "nothing to set"},
        {"run.sources", "x", "nothing to set"},
        {"workload.batchsize", "1", "did you mean workload.batch_size?"},
        {"batch_size", "1", "did you mean workload.batch_size?"},
        {"devices.rank", "1", "nothing to set"},
        {"", "", "nothing to set"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_rundoc_setting setting = {rows[i].key, rows[i].value};
        struct nl_err err;
        nl_err_clear(&err);
        check_case(rows[i].value[0] ? rows[i].value : rows[i].key);
        CHECK(nl_rundoc_setting_check(&setting, &err) == !rows[i].part);
        if (rows[i].part) {
            CHECK_INT(err.code, NL_USAGE);
            CHECK(strstr(err.text, rows[i].part) != NULL);
        }
    }
}

/* A member's own name stands for its whole key. */
static void names_alone_are_keys(void)
{
    static const struct {
        const char *word, *key;
    } rows[] = {{"batch_size", "workload.batch_size"},
                {"git_commit", "run.git_commit"},
                {"device_name", "hardware.device_name"},
                {"backend", "software.backend"},
                {"workload.model", "workload.model"},
                {"other.model", "other.model"},
                {"sources", "sources"}, /* no fact */
                {"nothing", "nothing"},
                {"", ""}};
    struct nl_arena arena;
    nl_arena_init(&arena);
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        check_case(rows[i].word);
        CHECK_TEXT(nl_rundoc_setting_key(rows[i].word, &arena), rows[i].key);
    }
    nl_arena_free(&arena);
}

static void knows_peaks_by_name(void)
{
    struct gpu_peaks peaks;
    gpu_peaks_init(&peaks);
    const struct gpu_peak *a100 = gpu_peaks_find(&peaks, "NVIDIA A100-SXM4-80GB", NAN);
    REQUIRE(a100 && a100->source[0]);
    CHECK_INT(a100->figures[a100->count - 2].figure, GPU_MEMORY);
    CHECK_NEAR(a100->figures[a100->count - 2].value, 2039e9, 0);
    CHECK_INT(a100->figures[a100->count - 1].figure, GPU_LINK);
    CHECK(gpu_peaks_find(&peaks, "NVIDIA H100 80GB HBM3", 132) != NULL);
    CHECK(gpu_peaks_find(&peaks, "NVIDIA H100 80GB HBM3", 114) == NULL);
    CHECK(gpu_peaks_find(&peaks, "Tesla T4", 40) != NULL);
    CHECK(gpu_peaks_find(&peaks, "AMD Instinct MI300X", NAN) != NULL);
    CHECK(gpu_peaks_find(&peaks, "NVIDIA A100", NAN) == NULL);
    CHECK(gpu_peaks_find(&peaks, "", NAN) == NULL);
    for (size_t i = 0; i < peaks.count; i++) {
        check_case(peaks.items[i].names[0]);
        CHECK(peaks.items[i].count > 0);
        for (size_t k = 0; k < peaks.items[i].name_count; k++)
            CHECK(gpu_peaks_find(&peaks, peaks.items[i].names[k], NAN) == &peaks.items[i]);
    }
    gpu_peaks_release(&peaks);
}

/* ---- a document by hand ---- */

/* Kernels of 10 and 30 µs with 60 µs between them. */
static struct nl_trace *two_kernels(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", 0, 5, 10, 10);
    gputrace_kernel(&make, 7, "gemm", 50, 5, 80, 30);
    return gputrace_close(&make);
}

static bool write_with(const struct nl_trace *trace, struct nl_rundoc_options options,
                       struct nl_buf *out, struct nl_err *err)
{
    static const struct nl_rundoc_source source = {.name = "made-up.json", .bytes = 5};
    struct nl_rundoc_source full = source;
    memset(full.sha256, 'a', NL_DIGEST_TEXT - 1);
    options.sources = &full;
    options.source_count = 1;
    nl_err_clear(err);
    nl_buf_clear(out);
    return nl_rundoc_write(trace, &options, NULL, out, err);
}

static void numbers_by_hand(void)
{
    static const char *const parts[] = {
        "\"wall_ns\":100000,\"compute_ns\":40000,\"exposed_comm_ns\":0,\"exposed_copy_ns\":0,"
        "\"idle_ns\":60000,\"comm_ns\":0,\"copy_ns\":0,\"overlap_ns\":0,\"kernel_count\":2",
        "\"count\":2,\"total_ns\":40000,\"mean_ns\":20000,\"std_ns\":14142.13562373095,"
        "\"min_ns\":10000,\"max_ns\":30000,\"p50_ns\":20000,\"p90_ns\":28000,\"p95_ns\":29000,"
        "\"p99_ns\":29800",
        "{\"name\":\"idle_share\",\"unit\":\"0..1\",\"value\":0.6,\"missing\":null}",
        "{\"name\":\"mfu\",\"unit\":\"0..1\",\"value\":null,\"missing\":\"workload.model_flops_per_"
        "step\"}",
        "{\"kind\":\"kernel\",\"total\":2,\"listed\":2}",
        "\"backend\": \"pytorch\"",
        "\"batch_size\": 8,",
        "\"task\": null,",
        "\"peak_bf16_flops_per_s\": 989500000000000,",
    };
    static const struct nl_rundoc_setting settings[] = {
        {"workload.batch_size", "4"},
        {"workload.batch_size", "8"},
        {"workload.task", "classify"},
        {"workload.task", "null"},
        {"hardware.device_name", "NVIDIA H100 80GB HBM3"},
    };
    struct nl_trace *trace = two_kernels();
    struct nl_buf out, again;
    struct nl_err err;
    nl_buf_init(&out, MIB);
    nl_buf_init(&again, MIB);
    struct nl_rundoc_options options = {.settings = settings,
                                        .setting_count = CHECK_LENGTH(settings)};
    REQUIRE(write_with(trace, options, &out, &err));
    for (size_t i = 0; i < CHECK_LENGTH(parts); i++) {
        check_case(parts[i]);
        CHECK(strstr(out.ptr, parts[i]) != NULL);
    }
    check_case("equal bytes");
    CHECK(write_with(trace, options, &again, &err) && out.len == again.len &&
          memcmp(out.ptr, again.ptr, out.len) == 0);
    nl_buf_release(&out);
    nl_buf_release(&again);
    nl_trace_free(trace);
}

static void lists_device_work_first(void)
{
    static const struct {
        uint64_t limit;
        const char *kernels, *calls, *complete;
    } rows[] = {
        {1, "\"kind\":\"kernel\",\"total\":2,\"listed\":1",
         "\"kind\":\"api\",\"total\":2,\"listed\":0", "\"timeline_complete\": false"},
        {3, "\"kind\":\"kernel\",\"total\":2,\"listed\":2",
         "\"kind\":\"api\",\"total\":2,\"listed\":1", "\"timeline_complete\": false"},
        {UINT64_MAX, "\"kind\":\"kernel\",\"total\":2,\"listed\":2",
         "\"kind\":\"api\",\"total\":2,\"listed\":2", "\"timeline_complete\": true"},
    };
    struct nl_trace *trace = two_kernels();
    struct nl_buf out;
    struct nl_err err;
    nl_buf_init(&out, MIB);
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        check_case(rows[i].calls);
        struct nl_rundoc_options options = {.event_limit = rows[i].limit};
        REQUIRE(write_with(trace, options, &out, &err));
        CHECK(strstr(out.ptr, rows[i].kernels) != NULL);
        CHECK(strstr(out.ptr, rows[i].calls) != NULL);
        CHECK(strstr(out.ptr, rows[i].complete) != NULL);
    }
    nl_buf_release(&out);
    nl_trace_free(trace);
}

static void refuses_what_it_cannot_write(void)
{
    static const struct nl_rundoc_setting wrong = {"workload.nothing", "1"};
    struct nl_trace *trace = two_kernels();
    struct nl_buf out;
    struct nl_err err;
    nl_buf_init(&out, 1000);
    CHECK(!write_with(trace, (struct nl_rundoc_options){0}, &out, &err));
    CHECK_INT(err.code, NL_MEMORY);
    nl_buf_release(&out);
    nl_buf_init(&out, MIB);
    CHECK(!write_with(trace, (struct nl_rundoc_options){.settings = &wrong, .setting_count = 1},
                      &out, &err));
    CHECK_INT(err.code, NL_USAGE);
    nl_buf_release(&out);
    nl_trace_free(trace);
}

CHECK_MAIN("rundoc", {"takes JSON only", takes_json_only},
           {"refuses unknown keywords", refuses_unknown_keywords},
           {"finds every fault", finds_every_fault}, {"schema is strict", schema_is_strict},
           {"bounds the list", bounds_the_list}, {"id is of the content", id_is_of_the_content},
           {"settings are of the schema", settings_are_of_the_schema},
           {"names alone are keys", names_alone_are_keys},
           {"knows peaks by name", knows_peaks_by_name}, {"numbers by hand", numbers_by_hand},
           {"lists device work first", lists_device_work_first},
           {"refuses what it cannot write", refuses_what_it_cannot_write})
