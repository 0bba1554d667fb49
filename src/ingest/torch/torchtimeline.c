/*
 * Memory timelines of PyTorch's profiler (`export_memory_timeline("….raw.json.gz")`): an array of
 * [time in ns, action, bytes, category]. A new version of a tensor comes as a pair, the old bytes
 * off its old category and the new ones on the new, so both are rows; totals are the sum so far,
 * which is exact because what existed before leads with time -1.
 */
#include "base/mem.h"
#include "ingest/ingest.h"
#include "parse/jsonpull.h"

enum { PREEXISTING, CREATE, INCREMENT_VERSION, DESTROY, ACTIONS };
static const char *const action_names[ACTIONS] = {"preexisting", "create", "increment_version",
                                                  "destroy"};
#define CATEGORIES 8
#define EARLIEST   INT64_C(1000000000000000) /* times are ns since 1970 */
static const char *const category_names[CATEGORIES] = {
    "PARAMETER",  "OPTIMIZER_STATE", "INPUT",           "TEMPORARY",
    "ACTIVATION", "GRADIENT",        "AUTOGRAD_DETAIL", "unknown"};

struct timeline {
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    struct jsonpull json;
    uint32_t source, lane, actions[ACTIONS], categories[CATEGORIES];
    int64_t total, before_bytes, first_ts;
    int64_t rows, before, odd;
    bool overflow;
};

/* Up to `most` whole numbers of an array; false when it holds others or another count. */
static bool read_numbers(struct jsonpull *json, int64_t *numbers, unsigned most)
{
    unsigned count = 0;
    bool sound = true;
    while (jsonpull_item(json)) {
        bool number =
            json->type == JSONPULL_NUMBER && count < most && jsonpull_i64(json, &numbers[count]);
        sound &= number;
        count++;
        jsonpull_skip(json);
    }
    return sound && count == most;
}

static void add_memory_row(struct timeline *t, const int64_t numbers[4])
{
    struct nl_memory_row row = nl_memory_row();
    int64_t action = numbers[1], category = numbers[3];
    bool known = action >= 1 && action <= ACTIONS && category >= 0 && category < CATEGORIES;
    if (!known || numbers[0] < -1 || __builtin_add_overflow(t->total, numbers[2], &t->total)) {
        t->odd++;
        return;
    }
    row.ts = numbers[0];
    if (numbers[0] < 0) { /* it was there when the recording began: its first moment */
        row.ts = t->first_ts;
        t->before++;
    }
    row.lane = t->lane;
    row.bytes = numbers[2];
    if (t->total >= 0)
        row.total_allocated = (uint64_t)t->total;
    row.kind = t->categories[category];
    row.action = t->actions[action - 1];
    nl_stage_memory(t->stage, &row);
    t->rows++;
}

/* The first time in the file, which what came before it is given. */
static bool find_first(struct timeline *t, const struct nl_input *input, struct nl_err *err)
{
    struct nl_stream *stream = nl_stream_open(input->path, t->job, err);
    int64_t numbers[4] = {-1};
    if (!stream)
        return false;
    jsonpull_stream(&t->json, stream, 0, err);
    if (jsonpull_next(&t->json) == JSONPULL_ARRAY)
        while (numbers[0] < 0 && jsonpull_item(&t->json)) {
            bool entry = t->json.type == JSONPULL_ARRAY && read_numbers(&t->json, numbers, 4);
            numbers[0] = entry ? numbers[0] : -1;
            jsonpull_skip(&t->json);
        }
    t->first_ts = numbers[0] < 0 ? 0 : numbers[0];
    jsonpull_release(&t->json);
    nl_stream_close(stream);
    return err->code == NL_OK;
}

static void read_rows(struct timeline *t)
{
    int64_t numbers[4], seen = 0;
    if (jsonpull_next(&t->json) != JSONPULL_ARRAY)
        return;
    while (jsonpull_item(&t->json)) {
        if ((seen++ & 4095) == 0 &&
            (nl_job_cancelled(t->job) || nl_builder_over_budget(t->builder)))
            return;
        if (t->json.type != JSONPULL_ARRAY) {
            t->odd++;
            jsonpull_skip(&t->json);
        } else if (read_numbers(&t->json, numbers, 4)) {
            add_memory_row(t, numbers);
        } else {
            t->odd += !t->json.problem;
        }
    }
}

static void begin_timeline(struct timeline *t)
{
    t->stage = nl_stage_new(t->builder);
    nl_stage_begin(t->stage, t->source, 0);
    nl_builder_clock(t->builder, t->source, "unix", 0);
    nl_builder_tool(t->builder, t->source, nl_str("PyTorch"));
    struct nl_lane_key key = {.kind = NL_LANE_PROCESS,
                              .process = nl_builder_process(t->builder, t->source, NL_NULL_I64),
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    t->lane = nl_builder_lane(t->builder, &key);
    for (int i = 0; i < ACTIONS; i++)
        t->actions[i] = nl_stage_name(t->stage, nl_str(action_names[i]));
    for (int i = 0; i < CATEGORIES; i++)
        t->categories[i] = nl_stage_name(t->stage, nl_str(category_names[i]));
}

static void report_coverage(struct timeline *t)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } notes[] = {
        {"not recorded: when memory was allocated before the recording", t->before,
         "it counts from the first moment"},
        {"skipped: entries that cannot be interpreted", t->odd, NULL},
        {"truncated: the file ends early", t->json.cut, "entries before it are loaded"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count)
            nl_builder_coverage(t->builder, t->source, notes[i].item, notes[i].count,
                                notes[i].detail);
}

static bool torchtimeline_load(struct nl_reading *reading, struct nl_err *err)
{
    struct timeline *t = nl_zalloc(sizeof *t);
    *t = (struct timeline){
        .builder = reading->builder, .source = reading->source, .job = reading->job};
    bool done = find_first(t, reading->input, err);
    struct nl_stream *stream =
        done ? nl_stream_open(reading->input->path, reading->job, err) : NULL;
    if (stream) {
        begin_timeline(t);
        jsonpull_stream(&t->json, stream, 0, err);
        read_rows(t);
        report_coverage(t);
        done = err->code == NL_OK;
        if (done && nl_job_cancelled(reading->job))
            done = nl_fail(err, NL_INTERRUPTED, "interrupted");
        else if (done && t->rows == 0)
            done = nl_fail(err, NL_FORMAT, "no entry of a memory timeline in this array");
        jsonpull_release(&t->json);
        nl_stream_close(stream);
    }
    nl_free(t);
    return done && stream;
}

static bool is_entry(const int64_t numbers[4])
{
    bool epoch = numbers[0] == -1 || numbers[0] > EARLIEST;
    return epoch && numbers[1] >= 1 && numbers[1] <= ACTIONS && numbers[3] >= 0 &&
           numbers[3] < CATEGORIES;
}

/* Three sound entries lead, or all there are. */
static int torchtimeline_sniff(const struct nl_input *input, const char **why)
{
    if (input->head_len == 0 || input->head[0] != '[')
        return 0;
    struct jsonpull *json = nl_zalloc(sizeof *json);
    int64_t numbers[4] = {0};
    unsigned sound = 0, seen = 0, lists = 0;
    jsonpull_memory(json, input->head, input->head_len, 0);
    bool array = jsonpull_next(json) == JSONPULL_ARRAY;
    while (array && seen < 3 && jsonpull_item(json) && json->type == JSONPULL_ARRAY) {
        bool four = read_numbers(json, numbers, 4);
        sound += four && is_entry(numbers);
        lists += !four;
        seen++;
    }
    bool summed = lists == 2 && !sound && numbers[0] > EARLIEST;
    if (summed)
        *why = "the summed variant of it (.json), without single entries; export .raw.json.gz";
    jsonpull_release(json);
    nl_free(json);
    return seen && sound == seen ? 78 : summed ? NL_NEAR_MISS : 0;
}

const struct nl_format nl_format_torchtimeline = {.name = "torch-memory-timeline",
                                                  .title = "PyTorch memory timeline",
                                                  .sniff = torchtimeline_sniff,
                                                  .load = torchtimeline_load,
                                                  .doc = "formats/torchmem.md"};
