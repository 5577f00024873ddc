// Rows about what a spawn costs whoever spawns.
#pragma once

#include <cstdint>
#include <memory>

#include <asio/defer.hpp>

#include "runtime.hpp"
#include "workloads/spawn_one.hpp"

namespace contender {

using palio::spawn_one::Shared;

inline Task<> one(Shared& shared) {
    shared.one();
    co_return;
}

inline Task<> spawn_one_by_one(Shared& shared, std::uint64_t tasks) {
    const auto executor = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < tasks; ++i) spawn(executor, one(shared), asio::detached);
}

// Onto the queue that this thread has for itself until it is done with what it runs.
inline Task<> defer_one_by_one(Shared& shared, std::uint64_t tasks) {
    const auto executor = co_await asio::this_coro::executor;
    for (std::uint64_t i = 0; i < tasks; ++i) {
        asio::defer(executor, [executor, task = one(shared)]() mutable {
            asio::co_spawn(executor, std::move(task), asio::detached);
        });
    }
}

inline palio::Work prepare_spawn_one(palio::Request& request) {
    if (palio::spawn_one::from_worker(request)) {
        return palio::spawn_one::prepare(request, inside(request, spawn_one_by_one));
    }
    return palio::spawn_one::prepare(
        request, [runtime = std::make_shared<Runtime>(request.threads())](Shared& shared, std::uint64_t tasks) {
            for (std::uint64_t i = 0; i < tasks; ++i) asio::co_spawn(runtime->executor(), one(shared), asio::detached);
        });
}

inline palio::Work prepare_defer_one(palio::Request& request) {
    return palio::spawn_one::prepare(request, inside(request, defer_one_by_one));
}

}  // namespace contender
