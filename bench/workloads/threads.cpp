// The C++ workload of bench/overhead.py: two threads take texts from a queue, count their words in maps of
// their own, and a third joins the maps. Each job is a scope of neurolens.h (some 50 µs), as a program
// would name its parts. Same protocol as programs.py.
#include <neurolens.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

using counts = std::unordered_map<std::string, long>;

class queue {
    std::deque<const std::string *> jobs;
    std::mutex lock;
    std::condition_variable ready;
    bool done = false;

public:
    void put(const std::string *job)
    {
        std::lock_guard<std::mutex> guard(lock);
        jobs.push_back(job);
        ready.notify_one();
    }
    void close()
    {
        std::lock_guard<std::mutex> guard(lock);
        done = true;
        ready.notify_all();
    }
    const std::string *take()
    {
        std::unique_lock<std::mutex> guard(lock);
        ready.wait(guard, [this] { return done || !jobs.empty(); });
        if (jobs.empty())
            return nullptr;
        const std::string *job = jobs.front();
        jobs.pop_front();
        return job;
    }
};

static void count_words(const std::string &text, counts &into)
{
    NL_SCOPE("count words");
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); i++) {
        if (i < text.size() && text[i] != ' ')
            continue;
        into[text.substr(begin, i - begin)]++;
        begin = i + 1;
    }
}

static void work(queue &jobs, counts &own)
{
    NL_FUNCTION();
    while (const std::string *text = jobs.take())
        count_words(*text, own);
}

static size_t piece(const std::vector<std::string> &texts)
{
    NL_SCOPE("piece");
    queue jobs;
    counts own[2];
    std::thread workers[2];
    for (int i = 0; i < 2; i++)
        workers[i] = std::thread(work, std::ref(jobs), std::ref(own[i]));
    for (const std::string &text : texts)
        jobs.put(&text);
    jobs.close();
    for (std::thread &worker : workers)
        worker.join();
    NL_SCOPE("join");
    std::map<std::string, long> sorted;
    for (const counts &one : own)
        for (const auto &pair : one)
            sorted[pair.first] += pair.second;
    return sorted.size();
}

int main()
{
    std::vector<std::string> texts;
    unsigned state = 1;
    for (int i = 0; i < 600; i++) {
        std::string text;
        for (int word = 0; word < 500; word++) {
            state = state * 1103515245 + 12345;
            text += "word" + std::to_string((state >> 16) % 3000) + " ";
        }
        texts.push_back(text);
    }
    for (int i = 0; i < 3; i++)
        piece(texts);
    std::puts("ready");
    std::fflush(stdout);
    char line[64];
    while (std::fgets(line, sizeof line, stdin)) {
        auto began = std::chrono::steady_clock::now();
        piece(texts);
        long long took = std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
        std::printf("%lld\n", took);
        std::fflush(stdout);
    }
}
