/*
 * Inputs of operator calls as profiles write them (work/workargs.h): what each form says, what is
 * beyond the limits, texts that are cut anywhere. Texts are cut out of larger ones, so that a
 * letter read behind them shows.
 */
#include "check.h"
#include "work/workargs.h"

/* The inputs as words: tensors with their sizes, lists with members, elements and
 * matrices, values, types. */
static const char *said_of(const struct work_args *args)
{
    static char said[1000];
    size_t at = 0;
    said[0] = '\0';
    for (unsigned i = 0; i < args->count; i++) {
        const struct work_input *input = &args->inputs[i];
        const char *type = work_type_name(input->type);
        at += (size_t)snprintf(said + at, sizeof said - at, "%s%s", i ? " " : "",
                               input->is_list     ? "list"
                               : input->is_tensor ? "tensor"
                                                  : "-");
        for (unsigned k = 0; (input->is_tensor || input->is_list) && k < input->tensor.rank; k++)
            at += (size_t)snprintf(said + at, sizeof said - at, "%c%" PRId64, k ? 'x' : ':',
                                   input->tensor.dims[k]);
        for (unsigned k = 0; input->tensor.has_strides && k < input->tensor.rank; k++)
            at += (size_t)snprintf(said + at, sizeof said - at, "%c%" PRId64, k ? ',' : '@',
                                   input->tensor.strides[k]);
        if (input->is_list)
            at += (size_t)snprintf(said + at, sizeof said - at, "/%u/%g/%g", input->members,
                                   input->elements, input->matrices);
        else if (input->is_tensor)
            at += (size_t)snprintf(said + at, sizeof said - at, "/%g", input->elements);
        at += (size_t)snprintf(said + at, sizeof said - at, "%s%s%s%.*s", type ? ":" : "",
                               type ? type : "", input->value.len ? "=" : "", (int)input->value.len,
                               input->value.len ? input->value.ptr : "");
    }
    return said;
}

/* A text that ends before its last letter. */
static struct nl_str cut_out(const char *text)
{
    return (struct nl_str){text, strlen(text) - (*text != '\0')};
}

#define OF(text) text "7" /* a digit behind the text, which is not read */

static const struct {
    const char *shapes, *types, *strides, *values, *said;
} cases[] = {
    {OF("[[32, 128], [128, 64]]"), OF("[\"float\", \"c10::Half\"]"), "", "",
     "tensor:32x128/4096:fp32 tensor:128x64/8192:fp16"},
    {OF("[[0,9]]"), "", "", "", "tensor:0x9/0"},
    {OF("[[], [7]]"), "", "", "", "- tensor:7/7"},
    {OF("[[], [7]]"), OF("[\"float\", \"\"]"), "", "", "tensor/1:fp32 tensor:7/7"},
    {OF("[[], []]"), OF("[\"Scalar\", \"TensorList\"]"), "", OF("[\"0.5\", \"\"]"), "-=0.5 -"},
    {OF("[[[3, 4], [3]], [2]]"), OF("[\"TensorList\", \"int\"]"), "", "",
     "list:3x4/2/15/12 tensor:2/2:int32"},
    {OF("[[[3, 4], [5, 6, 2], []], [2]]"), OF("[[\"float\", \"int\"], \"long\"]"), "", "",
     "list:3x4/3/73/72:fp32 tensor:2/2:int64"},
    {OF("[[[]]]"), OF("[[]]"), "", "", "list/1/1/0"},
    {OF("[[2, 3], [4]]"), "", OF("[[3, 1], [1]]"), "", "tensor:2x3@3,1/6 tensor:4@1/4"},
    {OF("[[2, 3], [4]]"), "", OF("[[1], [1]]"), "", "tensor:2x3/6 tensor:4@1/4"},
    {OF("[[2, 3], [4]]"), "", OF("[[], [1]]"), "", "tensor:2x3/6 tensor:4@1/4"},
    {OF("[[2, 3]]"), "", OF("[[3, 1], [1]]"), "", "tensor:2x3@3,1/6"},
    {OF("[[2], []]"), OF("[\"float\", \"Scalar\"]"), "", OF("[\"\", \"True\", \"9\"]"),
     "tensor:2/2:fp32 -=True"},
    {OF("[[2], []]"), OF("[\"float\", \"Scalar\", \"int\"]"), "", OF("[\"\", \"a \\\"b\\\" c\"]"),
     "tensor:2/2:fp32 -=a \\\"b\\\" c"},
    {OF("[ [ 2 , 3 ] ,\n[ 4 ] ]"), "", "", "", "tensor:2x3/6 tensor:4/4"},
    {OF("[[1, 2, 3, 4, 5, 6, 7, 8]]"), "", "", "", "tensor:1x2x3x4x5x6x7x8/40320"},
    {OF("[[5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]"), "", "", "", "tensor:5/5"}, /* too many sizes */
    {OF("[[999999999999999999]]"), "", "", "", "tensor:999999999999999999/1e+18"},
    {OF("[[5], [1000000000000000000]]"), "", "", "", "tensor:5/5"}, /* more than 18 digits */
    {OF("[[5], [-1]]"), "", "", "", "tensor:5/5"},
    {OF("[[5], [x]]"), "", "", "", "tensor:5/5"},
    {OF("[[5], 6]"), "", "", "", "tensor:5/5"},
    {OF("[[5], [6"), "", "", "", "tensor:5/5"},
    {OF("[[5], [6,"), "", "", "", "tensor:5/5"},
    {OF("[[5], [[6], 7]]"), "", "", "", "tensor:5/5"},
    {OF("[[5], [[6], [7]"), "", "", "", "tensor:5/5"},
    {OF("[[5]"), "", "", "", "tensor:5/5"},
    {OF("[]"), OF("[\"float\"]"), "", "", ""},
    {"", OF("[\"float\"]"), OF("[[1]]"), OF("[\"1\"]"), ""},
    {OF("[[5]]"), OF("[\"float"), "", "", "tensor:5/5"},
    {OF("[[5], [6]]"), OF("[\"float\", \"int"), "", "", "tensor:5/5:fp32 tensor:6/6"},
    {OF("[[5], [6]]"), OF("[[\"float\", \"int\""), "", "", "tensor:5/5:fp32 tensor:6/6"},
    {OF("[[5], [6]]"), "", OF("[[1], ["), OF("[\"1\", \"2"), "tensor:5@1/5=1 tensor:6/6"},
};

static void inputs_of_calls(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct work_args args;
        check_case(cases[i].shapes);
        work_args_read(&args,
                       (struct work_texts){cut_out(cases[i].shapes), cut_out(cases[i].types),
                                           cut_out(cases[i].strides), cut_out(cases[i].values)});
        CHECK_TEXT(said_of(&args), cases[i].said);
        CHECK_INT(args.has_values, cases[i].values[0] != '\0');
        CHECK_INT(args.has_types, cases[i].types[0] != '\0' &&
                                      strcmp(cases[i].types, OF("[\"float")) != 0 &&
                                      strcmp(cases[i].types, OF("[[\"float\", \"int\"")) != 0);
    }
}

/* 32 inputs are kept, and 1024 tensors of a list. */
static void most_of_all(void)
{
    static const struct {
        unsigned inputs, members, count;
    } limits[] = {{31, 0, 31}, {32, 0, 32}, {33, 0, 32}, {1, 1023, 1}, {1, 1024, 1}, {1, 1025, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(limits); i++) {
        static char text[8000];
        struct work_args args;
        size_t at = 0;
        text[at++] = '[';
        for (unsigned k = 0; k < limits[i].inputs; k++) {
            at += (size_t)snprintf(text + at, 10, "%s[", k ? "," : "");
            for (unsigned m = 0; m < limits[i].members; m++)
                at += (size_t)snprintf(text + at, 10, "%s[2]", m ? "," : "");
            at += (size_t)snprintf(text + at, 10, "%s]", limits[i].members ? "" : "3");
        }
        text[at++] = ']';
        work_args_read(&args, (struct work_texts){.shapes = {text, at}});
        CHECK_INT(args.count, limits[i].count);
        if (limits[i].members && limits[i].count)
            CHECK_NEAR(args.inputs[0].elements, 2 * limits[i].members, 0);
    }
}

/* ---- values ---- */

static struct work_args one_value(const char *text)
{
    struct work_args args = {.count = 1};
    args.inputs[0].value = (struct nl_str){text, strlen(text) - 1};
    return args;
}

static void scalars(void)
{
    static const struct {
        const char *text;
        bool whole;
        int64_t value;
        bool is_true;
    } values[] = {
        {OF("0"), true, 0, false},
        {OF("1"), true, 1, true},
        {OF("9"), true, 9, false},
        {OF("-12"), true, -12, false},
        {OF(" 3"), true, 3, false},
        {OF("3 "), false, 0, false},
        {OF("True"), false, 0, true},
        {OF("true"), false, 0, true},
        {OF("False"), false, 0, false},
        {OF("1."), false, 0, false},
        {OF("-"), false, 0, false},
        {OF("x"), false, 0, false},
        {OF("999999999999999999"), true, 999999999999999999, false},
        {OF("1000000000000000000"), false, 0, false},
        {OF(""), false, 0, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        struct work_args args = one_value(values[i].text);
        int64_t value = 0;
        check_case(values[i].text);
        CHECK_INT(work_integer_at(&args, 0, &value), values[i].whole);
        if (values[i].whole)
            CHECK_INT(value, values[i].value);
        CHECK_INT(work_true_at(&args, 0), values[i].is_true);
        CHECK(!work_integer_at(&args, 1, &value) && !work_true_at(&args, 1));
    }
}

static void lists(void)
{
    static const struct {
        const char *text;
        int count;
        int64_t values[3];
        int numbers; /* when they need not be whole */
        double reals[3];
    } values[] = {
        {OF("[1, 2]"), 2, {1, 2}, 2, {1, 2}},
        {OF("[1,2,-3]"), 3, {1, 2, -3}, 3, {1, 2, -3}},
        {OF("[1, 2, 3, 4]"), -1, {0}, -1, {0}}, /* more than there is room for */
        {OF("5"), 1, {5}, -1, {0}},
        {OF("[5]"), 1, {5}, 1, {5}},
        {OF("[]"), 0, {0}, -1, {0}},
        {OF("[2., 0.5]"), -1, {0}, 2, {2, 0.5}},
        {OF("[1e3, 2E-1, +4]"), -1, {0}, 3, {1000, 0.2, 4}},
        {OF("[1, x]"), -1, {0}, -1, {0}},
        {OF("[1, 2"), -1, {0}, -1, {0}},
        {OF("[1,"), -1, {0}, -1, {0}},
        {OF("[1.2.3]"), -1, {0}, -1, {0}},
        {OF("[0.1234567890123456789012345678]"), -1, {0}, 1, {0.1234567890123456789}},
        {OF("[0.1234567890123456789012345678901]"), -1, {0}, -1, {0}}, /* over 31 letters */
        {OF(""), -1, {0}, -1, {0}},
    };
    for (size_t i = 0; i < CHECK_LENGTH(values); i++) {
        struct work_args args = one_value(values[i].text);
        int64_t whole[3] = {0};
        double reals[3] = {0};
        check_case(values[i].text);
        CHECK_INT(work_integers_at(&args, 0, whole, 3), values[i].count);
        for (int k = 0; k < values[i].count; k++)
            CHECK_INT(whole[k], values[i].values[k]);
        CHECK_INT(work_numbers_at(&args, 0, reals, 3), values[i].numbers);
        for (int k = 0; k < values[i].numbers; k++)
            CHECK_NEAR(reals[k], values[i].reals[k], 1e-12);
        CHECK_INT(work_integers_at(&args, 1, whole, 3), -1);
        CHECK_INT(work_numbers_at(&args, 1, reals, 3), -1);
    }
}

static void tensors(void)
{
    struct work_args args;
    work_args_read(
        &args,
        (struct work_texts){.shapes = nl_str("[[2, 3], [[4, 5], [6]], [], [7]]"),
                            .types = nl_str("[\"float\", [\"c10::Half\"], \"Scalar\", \"odd\"]")});
    CHECK(work_tensor_at(&args, 0, 0) == &args.inputs[0].tensor);
    CHECK(work_tensor_at(&args, 0, 2) && !work_tensor_at(&args, 0, 1) &&
          !work_tensor_at(&args, 0, 3));
    CHECK(!work_tensor_at(&args, 1, 0) && !work_tensor_at(&args, 2, 0) &&
          work_tensor_at(&args, 3, 1));
    CHECK(!work_tensor_at(&args, 4, 0));
    CHECK_NEAR(work_input_bytes(&args, 0), 24, 0);
    CHECK_NEAR(work_input_bytes(&args, 1), 52, 0); /* a list whole */
    CHECK_NEAR(work_input_bytes(&args, 2), 0, 0);
    CHECK_NEAR(work_input_bytes(&args, 3), 0, 0); /* of no type that is known */
    CHECK_NEAR(work_input_bytes(&args, 4), 0, 0);
}

CHECK_MAIN("workargs", {"inputs of calls", inputs_of_calls}, {"most of all", most_of_all},
           {"scalars", scalars}, {"lists", lists}, {"tensors", tensors})
