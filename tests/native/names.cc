// Functions with C++ names: a template, a member of a class in a namespace, a lambda's caller.
#include <cstdlib>
#include <ctime>

static volatile double sink;

namespace shop
{
template <typename T> struct Basket {
    __attribute__((noinline, noclone)) void add(T value, int rounds)
    {
        for (int i = 0; i < rounds; i++)
            sink = sink + static_cast<double>(value) * i;
    }
};
} // namespace shop

int main(int count, char **words)
{
    shop::Basket<int> basket;
    double seconds = count > 1 ? atof(words[1]) : 1;
    for (clock_t end = clock() + static_cast<clock_t>(seconds * CLOCKS_PER_SEC); clock() < end;)
        basket.add(3, 100000);
    return 0;
}
