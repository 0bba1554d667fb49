// Yardstick: what a SIMD JSON parser needs to find ts, dur and name of every event in
// memory, storing nothing.
// Built by bench.py when libsimdjson-dev is installed.   yardstick_simdjson FILE → seconds, events
#include <chrono>
#include <cstdio>
#include <simdjson.h>

int main(int argc, char **argv)
{
    using namespace simdjson;
    padded_string json = padded_string::load(argv[argc - 1]);
    auto start = std::chrono::steady_clock::now(); // the file is in memory already
    ondemand::parser parser;
    ondemand::document document = parser.iterate(json);
    size_t events = 0, sum = 0;
    for (auto event : document["traceEvents"].get_array()) {
        for (auto field : event.get_object()) {
            std::string_view key = field.unescaped_key();
            if (key == "ts" || key == "dur") {
                double value;
                if (!field.value().get_double().get(value))
                    sum += (size_t)value;
            } else if (key == "name") {
                std::string_view text;
                if (!field.value().get_string().get(text))
                    sum += text.size();
            }
        }
        events++;
    }
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::printf("%.6f %zu %zu\n", took.count(), events, sum & 1);
}
