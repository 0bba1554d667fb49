/* Linked statically by the test: a recording library cannot be loaded into it. */
#include <neurolens.h>

int main(void)
{
    NL_FUNCTION();
    return 3;
}
