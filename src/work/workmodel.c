/* workmodel — see workmodel.h: the table, and how a name finds its row. */
#include "work/workmodel.h"

static const struct work_model models[] = {
#define NL_WORK(name, family, cost, ...) {name, WORK_##family, cost, {__VA_ARGS__}},
#include "work/workmodels.def"
};

static const char *const families[WORK_FAMILIES] = {
    [WORK_GEMM] = "gemm",
    [WORK_CONVOLUTION] = "convolution",
    [WORK_ATTENTION] = "attention",
    [WORK_MOE] = "moe",
    [WORK_RNN] = "rnn",
    [WORK_NORM] = "norm",
    [WORK_SOFTMAX] = "softmax",
    [WORK_ELEMENTWISE] = "elementwise",
    [WORK_REDUCTION] = "reduction",
    [WORK_GATHER] = "gather",
    [WORK_LOSS] = "loss",
    [WORK_OPTIMIZER] = "optimizer",
    [WORK_COPY] = "copy",
    [WORK_FILL] = "fill",
    [WORK_POOLING] = "pooling",
    [WORK_SORT] = "sort",
    [WORK_COMPILED] = "compiled",
    [WORK_COUNTED] = "counted",
};

const char *work_family_name(enum work_family family)
{
    return families[family];
}

static bool matches(const char *row, struct nl_str name)
{
    size_t len = strlen(row);
    if (row[len - 1] == '*')
        return name.len + 1 >= len && memcmp(row, name.ptr, len - 1) == 0;
    return name.len == len && memcmp(row, name.ptr, len) == 0;
}

static const struct work_model *find_model(struct nl_str name)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0] && name.len; i++)
        if (matches(models[i].name, name))
            return &models[i];
    return NULL;
}

const struct work_model *work_model_find(struct nl_str name)
{
    if (nl_str_starts(name, "aten::"))
        name = (struct nl_str){name.ptr + 6, name.len - 6};
    const struct work_model *model = find_model(name);
    if (!model && name.len && name.ptr[name.len - 1] == '_')
        model = find_model((struct nl_str){name.ptr, name.len - 1});
    return model;
}

bool work_model_cost(const struct work_model *model, const struct work_call *call,
                     struct work_cost *cost)
{
    *cost = nl_no_work_cost();
    if (!model->cost || !call->args->count)
        return false;
    struct work_call own = *call;
    own.model = model;
    return model->cost(&own, cost);
}
