/* Whose memory is live at the peak (answer/verdictmemory.c): allocations and frees, one to a line,
 * and stacks, innermost frame first; worked out by hand. */
#include "judging.h"

/* "TS ADDRESS KIB KIND [STACK]\n" each: an address of - is unknown, so is a size of -; a free is
 * negative. KIND: - for none. STACK: "NAME|FILE|MODULE;…". A + stands for a blank. */
static void blanks(char *text)
{
    for (; *text; text++)
        *text = *text == '+' ? ' ' : *text;
}

static uint32_t stage_stack(struct nl_stage *stage, char *text)
{
    uint32_t parent = NL_NULL_ROW;
    for (char *end; *text; *end = '\0') { /* from the outermost, which is the last */
        end = strrchr(text, ';');
        char *name = end ? end + 1 : text;
        struct nl_stack_row row = nl_stack_row();
        row.parent = parent;
        end = end ? end : text;
        char *file = strchr(name, '|'), *module = file ? strchr(file + 1, '|') : NULL;
        if (file)
            *file++ = '\0';
        if (module)
            *module++ = '\0';
        blanks(name);
        row.name = nl_stage_name(stage, nl_str(name));
        row.file = file ? nl_stage_name(stage, nl_str(file)) : 0;
        row.module = module ? nl_stage_name(stage, nl_str(module)) : 0;
        parent = nl_stage_stack(stage, &row);
    }
    return parent;
}

static void stage_memory(struct nl_stage *stage, uint32_t lane, const char *line)
{
    char address[24], bytes[24], kind[120], stack[400] = "", text[500];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    long long ts;
    if (sscanf(text, "%lld %23s %23s %119s %399[^\n]", &ts, address, bytes, kind, stack) < 4)
        NL_BUG("a line of the test");
    struct nl_memory_row row = nl_memory_row();
    row.ts = 1000 + ts;
    row.lane = lane;
    if (*address != '-')
        row.address = strtoull(address, NULL, 10);
    if (strcmp(bytes, "-") != 0)
        row.bytes = (int64_t)(strtod(bytes, NULL) * 1024);
    blanks(kind);
    row.kind = *kind == '-' ? 0 : nl_stage_name(stage, nl_str(kind));
    row.stack = stage_stack(stage, stack);
    nl_stage_memory(stage, &row);
}

static struct nl_trace *recorded(const char *format, const char *lines)
{
    struct nl_err err = {0};
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    uint32_t source = nl_builder_source(builder, "snapshot", format);
    uint32_t process = nl_builder_process(builder, source, 1);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = nl_builder_thread(builder, process, 1),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    uint32_t lane = nl_builder_lane(builder, &key);
    nl_stage_begin(stage, source, 0);
    for (; *lines; lines = strchr(lines, '\n') + 1)
        stage_memory(stage, lane, lines);
    return nl_builder_finish(builder, &err);
}

static void says(const char *what, const char *lines, const char *want)
{
    check_case(what);
    judge_check(nl_judge_memory, recorded("torch-memory-snapshot", lines), want);
    check_case(NULL);
}

#define AT_PEAK "memory-snapshot: Memory: at the peak "
#define WEIGHTS "weights and other memory from before the recording"

static void sums_up(void)
{
    says("the peak is the highest sum",
         "1 1 1 alloc\n2 2 2 alloc\n3 1 -1 free\n4 3 0.5 alloc\n5 4 - alloc\n6 4 0 alloc\n",
         AT_PEAK "3.000 KiB are live: (no stack) 3.000 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 2.500 KiB are still live at the end.\n");
    says("of equal ones the first", "1 1 1 alloc f|a.py\n2 1 -1 free\n3 3 1 alloc g|b.py\n",
         AT_PEAK "1.000 KiB are live: f (a.py) 1.000 KiB.\nculprit: f (a.py)\n"
                 "Of what was allocated while recording, 1.000 KiB are still live at the end.\n");
    says("all is freed", "1 1 1 alloc\n2 1 -1 free\n",
         AT_PEAK "1.000 KiB are live: (no stack) 1.000 KiB.\nculprit: (no stack)\n"
                 "Everything that was allocated while recording was freed again.\n");
    says("what is there at the end tells of what was there before",
         "0 90 8 snapshot+segments\n0 91 6.5 snapshot+blocks\n"
         "1 1 1 alloc\n2 2 2 alloc\n3 1 -1 free\n4 3 0.5 alloc\n",
         AT_PEAK "7.000 KiB are live, of 8.000 KiB reserved: 4.000 KiB (57 %) from before the "
                 "recording, such as weights; allocated since then by (no stack) 3.000 KiB.\n"
                 "culprit: " WEIGHTS "\nAt the end 6.500 KiB are live and 1.500 KiB (19 % of what "
                 "is reserved) lie unused in the allocator's cache.\n"
                 "Of what was allocated while recording, 2.500 KiB are still live at the end.\n");
    says("sums beyond 8 EiB stay there",
         "0 90 9e15 snapshot+segments\n0 91 9e15 snapshot+segments\n0 92 9e15 snapshot+blocks\n"
         "0 93 9e15 snapshot+blocks\n0 94 - snapshot+blocks\n1 1 9e15 alloc\n2 2 9e15 alloc\n",
         AT_PEAK "8.000 EiB are live, of 8.000 EiB reserved: (no stack) 8.000 EiB.\nculprit: (no "
                 "stack)\nOf what was allocated while recording, 8.000 EiB are still live at the "
                 "end.\n");
    says("all that is reserved is live",
         "0 90 2 snapshot+segments\n0 91 2 snapshot+blocks\n"
         "1 1 2 alloc\n",
         AT_PEAK "2.000 KiB are live, of 2.000 KiB reserved: (no stack) 2.000 KiB.\nculprit: (no "
                 "stack)\nOf what was allocated while recording, 2.000 KiB are still live at the "
                 "end.\n");
    says("nothing is live at the end", "0 90 2 snapshot+segments\n1 1 2 alloc\n2 1 -2 free\n",
         AT_PEAK "2.000 KiB are live, of 2.000 KiB reserved: (no stack) 2.000 KiB.\nculprit: (no "
                 "stack)\nEverything that was allocated while recording was freed again.\n");
    says("half is from before", "0 91 2 snapshot+blocks\n1 1 1 alloc\n",
         AT_PEAK "2.000 KiB are live: 1.000 KiB (50 %) from before the recording, such as weights; "
                 "allocated since then by (no stack) 1.000 KiB.\nculprit: (no stack)\n…");
    says("more than half is", "0 91 2.25 snapshot+blocks\n1 1 1 alloc\n",
         AT_PEAK "2.250 KiB are live: 1.250 KiB (56 %) from before the recording, such as weights; "
                 "allocated since then by (no stack) 1.000 KiB.\nculprit: " WEIGHTS "\n…");
    says("only what was live before is freed",
         "0 91 0.5 snapshot+blocks\n1 9 -1 free\n2 1 0.5 alloc\n",
         AT_PEAK "1.000 KiB are live: 1.000 KiB (100 %) from before the recording, such as "
                 "weights.\nculprit: " WEIGHTS "\nOf what was allocated while recording, 512 B are "
                 "still live at the end; of what was live before, 1.000 KiB were freed.\n");
    says("more is live than the sum says, since others are freed",
         "0 91 6 snapshot+blocks\n1 9 -4 free\n2 1 1 alloc\n3 1 -1 free\n4 2 2 alloc\n"
         "5 3 4 alloc\n",
         AT_PEAK "6.000 KiB are live: (no stack) 6.000 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 6.000 KiB are still live at the end; of "
                 "what was live before, 4.000 KiB were freed.\n");
    says("used again after it was freed", "1 1 1 alloc\n2 1 -1 free\n3 1 2 alloc\n",
         AT_PEAK "2.000 KiB are live: (no stack) 2.000 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 2.000 KiB are still live at the end.\n");
}

/* Blocks that cannot be told apart: the running sum counts. */
static void unsure(void)
{
    says("no addresses", "1 - 1 alloc\n2 - 2 alloc\n3 - -1 free\n",
         AT_PEAK "3.000 KiB are live: (no stack) 2.000 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 2.000 KiB are still live at the end.\n");
    says("one has none", "1 1 1 alloc\n2 2 2 alloc\n3 - 0.5 alloc\n4 9 -2 free\n",
         AT_PEAK "3.500 KiB are live: (no stack) 3.500 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 1.500 KiB are still live at the end.\n");
    says("a free is missing", "1 1 1 alloc\n2 1 2 alloc\n",
         AT_PEAK "3.000 KiB are live: (no stack) 2.000 KiB.\nculprit: (no stack)\n"
                 "Of what was allocated while recording, 3.000 KiB are still live at the end.\n");
    says("more is freed than allocated", "1 1 1 alloc\n2 1 2 alloc\n3 2 -4 free\n",
         AT_PEAK "4.000 KiB are live: 1.000 KiB (25 %) from before the recording, such as weights; "
                 "allocated since then by (no stack) 2.000 KiB.\nculprit: (no stack)\n"
                 "Everything that was allocated while recording was freed again.\n");
}

/* Four are named, and none below a hundredth. */
static void names_owners(void)
{
    says("by size, then by name",
         "1 1 1 alloc d|d.py\n2 2 2 alloc b|b.py\n3 3 1 alloc c|c.py\n4 4 3 alloc a|a.py\n"
         "5 5 1 alloc b|b.py\n6 6 0.5 alloc e|e.py\n",
         AT_PEAK "8.500 KiB are live: a (a.py) 3.000 KiB, b (b.py) 3.000 KiB, c (c.py) 1.000 KiB, "
                 "d (d.py) 1.000 KiB.\nculprit: a (a.py)\n…");
    says("a hundredth", "1 1 99 alloc a|a.py\n2 2 1 alloc b|b.py\n",
         AT_PEAK "100.0 KiB are live: a (a.py) 99.00 KiB, b (b.py) 1.000 KiB.\n…");
    says("less than that, though all that is left at the end",
         "1 1 100 alloc a|a.py\n2 2 0.5 alloc b|b.py\n3 1 -100 free\n",
         AT_PEAK "100.5 KiB are live: a (a.py) 100.0 KiB.\n…");
    says("less than that", "1 1 100 alloc a|a.py\n2 2 1 alloc b|b.py\n",
         AT_PEAK "101.0 KiB are live: a (a.py) 100.0 KiB.\n…");
}

/* Whose a block is: of the innermost frame of the program's own Python code. */
static void whose_it_is(void)
{
    static const struct {
        const char *stack, *owner;
    } cases[] = {
        {"f|src/train.py;main|run.py", "f (train.py)"},
        {"f||src/train.py:12", "f (train.py)"},
        {"f||train.py:7:12", "f (train.py)"},
        {"malloc|alloc.cpp;f|train.py", "f (train.py)"},
        {"l|/x/site-packages/a.py;f|train.py", "f (train.py)"},
        {"l|/x/dist-packages/a.py;f|train.py", "f (train.py)"},
        {"l|/usr/lib/python3/a.py;f|train.py", "f (train.py)"},
        {"l|<frozen.py>;f|train.py", "f (train.py)"},
        {"l|/x/torch/a.py;f|train.py", "f (train.py)"},
        {"l|C:\\torch\\a.py;f|train.py", "f (train.py)"},
        {"l|<eval_with_key>.1_a.py;f|train.py", "f (train.py)"},
        {"l|/tmp/torchinductor_me/a.py;f|train.py", "f (train.py)"},
        {"l|/x/site-packages/a.py;k|/x/site-packages/b.py", "l (a.py)"},
        {"f|;g|", "f"},
        {"torch::unwind|;g|", "g"},
        {"torch::CapturedTraceback|;g|", "g"},
        {"torch::cuda::a|;g|", "g"},
        {"c10::a|;g|", "g"},
        {"at::detail::a|;g|", "g"},
        {"at::(anonymous+namespace)::a|;g|", "g"},
        {"at::_ops::a|;g|", "g"},
        {"at::native::empty_cuda|;g|", "g"},
        {"torch::ProfilerX|;g|", "g"},
        {"|;g|", "g"},
        {"at::native::add|;g|", "at::native::add"},
        {"c10::a|;c10::b|", "c10::a"},
        {"g|;torch::autograd::generated::X|", "torch::autograd::generated::X"},
        {"g|;torch::autograd::AccumulateGrad|", "torch::autograd::AccumulateGrad"},
        {"void+f<float>(int)|", "f"},
        {"void|", "void"},
        {"void+f|", "f"},
        {"f(int)|", "f"},
        {"f<int>(float)|", "f"},
        {"(lambda)|", "(lambda)"},
        {"<module>|a.py", "<module> (a.py)"},
        {"g|;f|a.cu", "g"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char line[500], want[500];
        snprintf(line, sizeof line, "1 1 1 alloc %s\n", cases[i].stack);
        snprintf(want, sizeof want, AT_PEAK "1.000 KiB are live: %s 1.000 KiB.\nculprit: %s\n…",
                 cases[i].owner, cases[i].owner);
        says(cases[i].stack, line, want);
    }
}

static void categories(void)
{
    char longest[100] = "", line[200], want[400];
    check_case("each with its share");
    judge_check(nl_judge_memory,
                recorded("torch-memory-timeline",
                         "1 1 2 PARAMETER\n2 2 1 AUTOGRAD_DETAIL\n3 3 1 -\n4 3 -1 -\n"
                         "5 4 0.5 snapshot+Az\n6 2 -1 AUTOGRAD_DETAIL\n"),
                AT_PEAK "4.000 KiB are live: parameter 2.000 KiB (50 %), autograd detail 1.000 KiB "
                        "(25 %), unknown 1.000 KiB (25 %).\nculprit: parameter\n"
                        "At the end 2.500 KiB are left.\n");
    check_case("what is freed counts against it");
    judge_check(nl_judge_memory,
                recorded("torch-memory-timeline",
                         "1 1 4 Az\n2 2 1 snapshot+B\n3 1 -3 Az\n4 3 5 Az\n5 4 -9 Az\n"),
                AT_PEAK "7.000 KiB are live: az 6.000 KiB (86 %), snapshot b 1.000 KiB (14 %).\n"
                        "culprit: az\nAt the end 0 B are left.\n");
    check_case("99 letters of a name");
    memset(longest, 'x', 99);
    snprintf(line, sizeof line, "1 1 1 %syy\n", longest);
    snprintf(want, sizeof want, AT_PEAK "1.000 KiB are live: %s 1.000 KiB (100 %%).\n…", longest);
    judge_check(nl_judge_memory, recorded("torch-memory-timeline", line), want);
    check_case(NULL);
}

/* A profile that has anything else is not about memory. */
static struct nl_trace *with(char other, int count)
{
    struct gputrace make;
    struct nl_memory_row row = nl_memory_row();
    gputrace_open(&make);
    row.ts = 1000;
    row.lane = make.calls;
    row.address = 1;
    row.bytes = 1024;
    nl_stage_memory(make.stage, &row);
    for (int i = 0; i < count; i++) {
        uint32_t slice;
        switch (other) {
        case 'k': gputrace_kernel(&make, 7, "k", -1, 1, 10 * i, 5); break;
        case 'o': gputrace_op(&make, "o", 10 * i, 5); break;
        case 'a': gputrace_call(&make, "cudaFree", 10 * i, 5); break;
        case 'p':
            slice = gputrace_slice(&make, NL_KIND_PYTHON, make.calls, "p", 10 * i, 5);
            nl_stage_python(make.stage, &(struct nl_python_row){.slice = slice});
            break;
        case 'l':
            slice = gputrace_slice(&make, NL_KIND_LAYER, make.calls, "l", 10 * i, 5);
            nl_stage_layer(make.stage, &(struct nl_layer_row){.slice = slice});
            break;
        default: gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "s", 10 * i, 5); break;
        }
    }
    return gputrace_close(&make);
}

static void about_memory(void)
{
    judge_check(nl_judge_memory, with('s', 99), AT_PEAK "1.000 KiB…");
    judge_check(nl_judge_memory, with('s', 100), "");
    for (const char *other = "koapl"; *other; other++)
        judge_check(nl_judge_memory, with(*other, 1), "");
}

CHECK_MAIN("verdictmemory", {"sums up", sums_up}, {"blocks that cannot be told apart", unsure},
           {"names owners", names_owners}, {"whose it is", whose_it_is}, {"categories", categories},
           {"what is about memory", about_memory})
