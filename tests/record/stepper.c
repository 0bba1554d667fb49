/* Steps 100, 101, … of as many milliseconds as it is told, until it is killed. */
#include <stdlib.h>
#include <unistd.h>

#include "neurolens.h"

int main(int count, char **word)
{
    for (int step = 100;; step++) {
        uint64_t token = nl_step_begin(step);
        usleep(count > 1 ? (useconds_t)atoi(word[1]) * 1000 : 1000);
        nl_scope_end(token);
    }
}
