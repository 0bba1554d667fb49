/* A pipeline that loads, computes and saves: steps, layers, scopes and a counter of neurolens.h.
 *
 *     cc -O2 -I../../include pipeline.c -o pipeline
 *     neurolens run -o pipeline.nlt -- ./pipeline
 *     neurolens analyze pipeline.nlt --section layer_times
 */
#include <neurolens.h>
#include <stdio.h>

enum { STEPS = 5, VALUES = 20000 };

static double values[VALUES];

static void load(int step)
{
    NL_SCOPE_CATEGORY("load", "input");
    for (int i = 0; i < VALUES; i++)
        values[i] = (double)(i % 97) + step;
}

static double compute(void)
{
    NL_LAYER("encoder");
    double sum = 0;
    for (int pass = 0; pass < 20; pass++)
        for (int i = 1; i < VALUES; i++)
            sum += values[i] * values[i - 1];
    return sum;
}

int main(void)
{
    double sum = 0;
    nl_thread_name("pipeline");
    for (int step = 0; step < STEPS; step++) {
        NL_STEP(step);
        load(step);
        sum += compute();
        nl_counter_unit("values", VALUES, "items");
    }
    nl_mark("done");
    printf("%d steps, %.6g\n", STEPS, sum);
    return 0;
}
