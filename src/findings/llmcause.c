/* llmcause — see llmcause.h. */
#include "findings/llmcause.h"

#include "base/sum.h"
#include "tables/memo.h"

bool nl_llm_is_here(const struct nl_scene *scene, const struct nl_llm_work *step)
{
    return nl_llm_step_ns(step) != NL_NULL_I64 && step->device == scene->device->device &&
           step->rank == scene->device->rank;
}

struct nl_llm_sum nl_llm_add_up(struct nl_scene *scene, enum nl_llm_phase phase,
                                struct nl_intervals *where)
{
    const struct nl_llm_steps *steps = nl_memo_llm_steps(scene->memo);
    struct nl_llm_sum sum = {.memory_rate = NAN, .confidence = 1};
    for (size_t i = 0; i < steps->count; i++) {
        const struct nl_llm_work *step = &steps->items[i];
        if ((phase != NL_LLM_NONE && step->told.phase != phase) || !nl_llm_is_here(scene, step))
            continue;
        sum.steps++;
        nl_sum_add(&sum.span_ns, nl_llm_step_ns(step));
        nl_sum_add(&sum.kernel_ns, step->kernel_ns);
        nl_sum_add(&sum.graph_ns, step->graph_ns);
        nl_sum_add(&sum.product_ns, step->product_ns);
        nl_sum_add(&sum.known_ns, step->known_ns);
        sum.memory_rate = step->memory_rate;
        sum.confidence = step->confidence < sum.confidence ? step->confidence : sum.confidence;
        if (step->weight_bytes > 0) {
            sum.weight_bytes += step->weight_bytes;
            sum.weights_s += step->weight_bytes / step->memory_rate;
            sum.compute_s += step->compute_s;
        }
        if (step->rows == step->rows) {
            sum.rows += step->rows;
            sum.with_rows++;
        }
        if (where)
            nl_intervals_add(where, step->first, step->last);
    }
    return sum;
}

const char *nl_llm_sql(const struct nl_scene *scene, const char *what, enum nl_llm_phase phase)
{
    const char *of =
        phase == NL_LLM_NONE ? "" : nl_say(scene, "phase = '%s' AND ", nl_llm_phase_text(phase));
    return nl_say(scene, "SELECT %s FROM llm_steps%s WHERE dur IS NOT NULL AND %s%s", what,
                  nl_scene_args(scene), of, nl_scene_place(scene, ""));
}
