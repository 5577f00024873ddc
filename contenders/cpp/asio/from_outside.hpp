// Rows that a thread outside the runtime begins and waits for.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "background.hpp"
#include "runtime.hpp"
#include "spawning.hpp"
#include "workloads/bell.hpp"
#include "workloads/tasks.hpp"

namespace contender {

// What the thread outside has: a bell, which goes after the runtime whose tasks ring it, and what
// those count.
struct Outside {
    explicit Outside(std::size_t threads) : runtime(threads) {}

    palio::Bell<Summed> bell;
    std::atomic<std::uint64_t> left{0};
    std::atomic<std::uint64_t> sum{0};
    Runtime runtime;

    // Starts a task that nobody joins. Outside of the context's threads co_spawn itself posts.
    void spawn_detached(Task<> task) { asio::co_spawn(runtime.executor(), std::move(task), asio::detached); }
};

// `row(outside, number...)`, on this thread.
auto outside(const palio::Request& request, auto row) {
    return [outside = std::make_shared<Outside>(request.threads()), row](const auto&... args) { return row(*outside, args...); };
}

inline Task<> count_down(Outside& outside, std::uint64_t tasks) {
    const std::uint64_t left = --outside.left;
    if (left == 0) outside.bell.ring(Summed::counted(tasks - left));
    co_return;
}

inline Summed spawn_many_detached(Outside& outside, std::uint64_t tasks) {
    if (tasks == 0) return {};
    outside.left = tasks;
    for (std::uint64_t i = 0; i < tasks; ++i) outside.spawn_detached(count_down(outside, tasks));
    return outside.bell.wait();
}

// The handles are futures, on which a thread outside can block.
inline Summed spawn_then_block(Runtime& runtime, std::uint64_t tasks) {
    std::vector<std::future<void>> handles;
    handles.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) {
        handles.push_back(asio::co_spawn(runtime.executor(), nothing(), asio::use_future));
    }
    Summed all{};
    for (auto& handle : handles) {
        handle.get();
        ++all.count;
    }
    return Summed::counted(all.count);
}

inline auto beside_chains_outside(const palio::Request& request, std::uint64_t busy) {
    const auto company = std::make_shared<Busy>(request.threads());
    company->background.start_chains(company->runtime.executor(), busy, palio::tasks::stall);
    return [=](std::uint64_t tasks) { return spawn_then_block(company->runtime, tasks); };
}

inline Task<> ping_and_count(Outside& outside, std::uint64_t i, std::uint64_t pairs) {
    outside.sum += co_await ping(salt + i);
    const std::uint64_t left = --outside.left;
    if (left == 0) outside.bell.ring({.sum = outside.sum, .count = pairs - left});
}

inline Task<> ping_all(Outside& outside, std::uint64_t pairs) {
    const auto executor = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < pairs; ++i) spawn(executor, ping_and_count(outside, i, pairs), asio::detached);
}

inline Summed ping_pong(Outside& outside, std::uint64_t pairs) {
    if (pairs == 0) return {};
    outside.left = pairs;
    outside.sum = 0;
    outside.spawn_detached(ping_all(outside, pairs));
    return outside.bell.wait();
}

inline Task<> yield_and_ring(Outside& outside, std::uint64_t yields) {
    outside.bell.ring(Summed::counted(co_await yielder(yields)));
}

inline Summed yield_many_from_outside(Outside& outside, std::uint64_t tasks, std::uint64_t yields) {
    for (std::uint64_t i = 0; i < tasks; ++i) outside.spawn_detached(yield_and_ring(outside, yields));
    Summed all{};
    for (std::uint64_t i = 0; i < tasks; ++i) all += outside.bell.wait();
    return all;
}

inline Summed chain_from_outside(Outside& outside, std::uint64_t depth) {
    outside.spawn_detached(chain(depth, [&outside](std::uint64_t count) {
        outside.bell.ring({.sum = count, .count = count - salt});
    }));
    return outside.bell.wait();
}

}  // namespace contender
