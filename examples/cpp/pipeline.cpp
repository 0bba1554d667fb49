// The same in C++: a scope ends with its block, by an exception too; two threads, each with a name of its own.
//
//     c++ -O2 -pthread -I../../include pipeline.cpp -o pipeline
//     neurolens run -o pipeline.nlt -- ./pipeline
//     neurolens sql pipeline.nlt "SELECT name, count(*), sum(dur) FROM nvtx GROUP BY name"
#include <cstdio>
#include <neurolens.h>
#include <stdexcept>
#include <thread>
#include <vector>

static double work(const char *name, int parts)
{
    nl_thread_name(name);
    double sum = 0;
    for (int part = 0; part < parts; part++) {
        NL_SCOPE("part");
        std::vector<double> values(20000, 1.0 + part);
        for (double value : values)
            sum += value * value;
        try {
            NL_SCOPE("check");
            if (part % 2)
                throw std::runtime_error("odd");
        } catch (const std::runtime_error &) {
            nl_mark("odd part");
        }
    }
    return sum;
}

int main()
{
    double first = 0, second = 0;
    std::thread other([&] { second = work("second", 3); });
    first = work("first", 4);
    other.join();
    std::printf("%.6g\n", first + second);
    return 0;
}
