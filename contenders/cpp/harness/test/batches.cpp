// Tests of the harness: iterations of one sample that are done in one call.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "palio.hpp"
#include "workloads/blocking/rows.hpp"

namespace {

int passed = 0;
int failed = 0;

void check(const char* name, const std::string& seen, const std::string& wanted) {
    if (seen == wanted) {
        ++passed;
    } else {
        ++failed;
        std::cout << "failed: " << name << ": " << seen << " instead of " << wanted << '\n';
    }
}

// Work whose iterations give these answers, one after the other.
palio::Work answering(std::vector<std::uint64_t> answers) {
    return palio::Work::batched([answers, next = std::size_t{0}](std::uint32_t batch) mutable {
        palio::Iterations done;
        for (std::uint32_t i = 0; i < batch; ++i) done.add({.answer = answers[next++], .ops = 2, .work = 3});
        return done.stop();
    });
}

// Without what it took.
std::string sample(palio::Work& work, std::uint32_t batch) {
    const palio::Sample sums = work.sample(batch);
    return std::to_string(sums.ops) + " " + sums.answer.value_or("-") + " " + std::to_string(sums.work.value_or(0));
}

void sums_up() {
    palio::Work work = answering({5, 5, 5, 6, 7});
    check("answers that agree", sample(work, 2), "4 5 6");
    check("answers that differ", sample(work, 3), "6 differs:5:6 9");
}

// The way to the iterations of a batch and back is not timed.
void times_the_iterations_alone() {
    const auto way = std::chrono::milliseconds(20);
    palio::Work work = palio::Work::batched([way](std::uint32_t) {
        std::this_thread::sleep_for(way);
        palio::Iterations done;
        done.add({.answer = 7, .ops = 2, .work = 3});
        const auto timed = done.stop();
        std::this_thread::sleep_for(way);
        return timed;
    });
    const auto start = palio::Clock::now();
    const auto timed_ns = std::chrono::nanoseconds(work.sample(1).elapsed_ns);
    const bool is_beside = timed_ns + 2 * way <= palio::Clock::now() - start;
    check("the way is not timed", is_beside ? "yes" : "no", "yes");
}

// A runtime that runs everything at once, on the thread that asks, and says how often it was asked.
struct Runtime {
    inline static int entered = 0;

    explicit Runtime(std::size_t) {}

    auto run(auto f) {
        ++entered;
        return f();
    }
};

void enters_once() {
    const auto request = palio::Request::parse(
        {"--workload", "any", "--threads", "1", "--salt", "7", "--set", "n=3"});
    auto taken = request;
    int iterations = 0;
    const auto root = [&](std::uint64_t n) {
        ++iterations;
        return palio::tasks::Summed{.sum = palio::tasks::salt + n, .count = n};
    };
    palio::Work work =
        palio::tasks::prepare_batched(taken, palio::blocking::inside_in_one<Runtime>(taken, root), "n");
    check("one root", sample(work, 4), "12 10 12");
    check("entries into the runtime", std::to_string(Runtime::entered), "1");
    check("iterations", std::to_string(iterations), "4");
}

}  // namespace

int main() {
    sums_up();
    times_the_iterations_alone();
    enters_once();
    std::cout << passed << " passed, " << failed << " failed\n";
    return failed == 0 ? 0 : 1;
}
