// Rows about tasks, channels and timers: what is the work, without the tasks.
//
// The definitions are in workloads/; here is what a contender must not do by itself, so that no two
// of them count in different ways.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>

#include <sched.h>

#include "palio.hpp"

namespace palio::tasks {

// The salt. Read where it is needed and not passed down to it: it would make every task larger.
inline std::uint64_t salt = 0;

// What was summed up, and of how many pieces of work.
struct Summed {
    std::uint64_t sum;
    std::uint64_t count;

    // Where the pieces themselves are the answer.
    static constexpr Summed counted(std::uint64_t pieces) { return {.sum = pieces, .count = pieces}; }

    Summed& operator+=(const Summed& more) {
        sum += more.sum;
        count += more.count;
        return *this;
    }
};

// Takes the parameter `key`, a number of things that must fit into memory.
inline std::uint64_t number(Request& request, const char* key) {
    const auto value = request.param<std::uint64_t>(key);
    if (value > std::numeric_limits<std::int32_t>::max()) {
        throw Refusal::misuse("--set " + std::string(key) + "=" + std::to_string(value) + " is more than 2147483647");
    }
    return value;
}

// Takes the parameter `key`, which is one of two words; whether it is the first.
inline bool is_first(Request& request, const char* key, const std::string& first, const std::string& other) {
    const auto said = request.param<std::string>(key);
    if (said != first && said != other) {
        throw Refusal::misuse("--set " + std::string(key) + "=" + said + " is neither " + first + " nor " + other);
    }
    return said == first;
}

// For rows whose root may be outside, in contenders where only a worker can await a task.
inline void on_worker(Request& request) {
    if (!is_first(request, "root", "worker", "outside")) {
        throw Refusal::unsupported("a root outside could not await a task");
    }
}

// For rows that are defined on one thread.
inline void on_one_thread(const Request& request) {
    if (request.threads() != 1) {
        throw Refusal::unsupported(palio::quoted(request.workload()) + " is for one thread, not " +
                                   std::to_string(request.threads()));
    }
}

// An iteration whose operations are its pieces of work.
inline Iteration iteration(const Summed& all) { return {.answer = all.sum, .ops = all.count, .work = all.count}; }

// `root(number...)`, with the parameters named, does an iteration and gives a Summed.
template <class Root, class... Key>
Work prepare(Request& request, Root root, Key... keys) {
    salt = request.salt();
    // In braces, so that they are taken in this order, and the first one that is wrong is named.
    const std::tuple numbers{number(request, keys)...};
    return Work::plain([=] { return iteration(std::apply(root, numbers)); });
}

// `root(batch, number...)`, with the parameters named, does all iterations of a sample, and gives
// the TimedIterations.
template <class Root, class... Key>
Work prepare_batched(Request& request, Root root, Key... keys) {
    salt = request.salt();
    const std::tuple numbers{number(request, keys)...};
    return Work::batched([=](std::uint32_t batch) {
        return std::apply([&](const auto&... values) { return root(batch, values...); }, numbers);
    });
}

// rt_multi_threaded/ping_pong and ping_pong_oneshot, whose units are `tasks` tasks each.
template <class Root>
Work prepare_round_trips(Request& request, Root root, const char* key, std::uint64_t tasks) {
    salt = request.salt();
    const auto trips = number(request, key);
    return Work::plain([=] {
        const Summed all = root(trips);
        return Iteration{.answer = all.sum, .ops = all.count, .work = all.count * tasks};
    });
}

// Those of rt_multi_threaded/spawn_many_remote: tasks for each of the spawners.
template <class Root>
Work prepare_spawners(Request& request, Root root) {
    salt = request.salt();
    const auto spawners = number(request, "spawners");
    const auto tasks = number(request, "tasks");
    if (spawners == 0 || tasks % spawners != 0) {
        throw Refusal::misuse("--set tasks=" + std::to_string(tasks) +
                              " is no multiple of spawners=" + std::to_string(spawners));
    }
    return Work::plain([=] {
        const Summed all = root(spawners, tasks / spawners);
        return Iteration{.answer = all.sum, .ops = tasks, .work = all.count};
    });
}

// How long the sleeper `i` of many_timers sleeps.
inline std::chrono::milliseconds sleep_of(std::uint64_t i) { return std::chrono::milliseconds(1 + mix(salt, i) % 10); }

// The sum of the weights of the primes below `limit` that are `first` modulo `step`.
//
// `limit` came through `number`, so that what is divided fits 32 bits. LLVM sees that as it
// divides, and takes the shorter instruction, which is the faster one; GCC takes what the type
// says.
inline std::uint64_t primes(std::uint64_t first, std::uint64_t limit, std::uint64_t step) {
    const auto is_prime = [](std::uint32_t n) {
        if (n % 2 == 0 || n < 2) return n == 2;
        for (std::uint32_t divisor = 3; std::uint64_t{divisor} * divisor <= n; divisor += 2) {
            if (n % divisor == 0) return false;
        }
        return true;
    };
    std::uint64_t sum = 0;
    for (std::uint64_t n = first; n < limit; n += step) {
        if (is_prime(static_cast<std::uint32_t>(n))) sum += mix(salt, n);
    }
    return sum;
}

// What a task returns of catch_unwind_panics that does not panic, beside the salt.
constexpr std::uint64_t returned = 1'000'000;

// How long the timers of the rows timer/… would take.
constexpr std::chrono::seconds unfired{1};

// Holds a worker for 10 µs without its runtime's knowledge, and gives the processor to other
// threads again and again.
inline void stall() {
    using Clock = std::chrono::steady_clock;
    for (const auto start = Clock::now(); Clock::now() - start < std::chrono::microseconds(10);) sched_yield();
}

}  // namespace palio::tasks
