// Rows about tasks that do next to nothing: spawned, yielding, joined.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "runtime.hpp"
#include "workloads/bell.hpp"
#include "workloads/tasks.hpp"

namespace contender {

using palio::tasks::salt;
using palio::tasks::Summed;

inline Task<std::uint64_t> value(std::uint64_t result) { co_return result; }

inline Task<> nothing() { co_return; }

// Yields so often; returns how often it did.
inline Task<std::uint64_t> yielder(std::uint64_t yields) {
    std::uint64_t done = 0;
    for (; done < yields; ++done) co_await yield();
    co_return done;
}

// Awaits one after the other; sums what they returned.
inline Task<Summed> join_all(const std::vector<Results<std::uint64_t>>& handles) {
    Summed all{};
    for (const auto& handle : handles) {
        all.sum += co_await handle.next();
        ++all.count;
    }
    co_return all;
}

// Spawns `task(i)` for each i below `tasks`, and keeps the handles.
template <class Each>
std::vector<Results<std::uint64_t>> spawn_all(const Executor& executor, std::uint64_t tasks, Each task) {
    std::vector<Results<std::uint64_t>> handles;
    handles.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) handles.push_back(spawn(executor, task(i)));
    return handles;
}

inline Task<Summed> spawn_join(std::uint64_t tasks) {
    const auto handles = spawn_all(co_await asio::this_coro::executor, tasks, [](std::uint64_t) { return value(1); });
    co_return co_await join_all(handles);
}

inline Task<std::uint64_t> yield_once() {
    co_await yield();
    co_return 2 + salt;
}

inline Task<Summed> spawn_yield_join(std::uint64_t tasks) {
    const auto handles = spawn_all(co_await asio::this_coro::executor, tasks, [](std::uint64_t) { return yield_once(); });
    co_return co_await join_all(handles);
}

inline Task<Summed> spawner(std::uint64_t tasks) {
    const auto handles = spawn_all(co_await asio::this_coro::executor, tasks, [](std::uint64_t) { return value(1 + salt); });
    co_return co_await join_all(handles);
}

inline Task<Summed> spawn_by_spawners(std::uint64_t spawners, std::uint64_t tasks_each) {
    Results<Summed> parts(co_await asio::this_coro::executor, spawners);
    for (std::uint64_t i = 0; i < spawners; ++i) parts.spawn(spawner(tasks_each));
    Summed all{};
    for (std::uint64_t i = 0; i < spawners; ++i) all += co_await parts.next();
    co_return all;
}

inline Task<Summed> yield_many(std::uint64_t tasks, std::uint64_t yields) {
    const auto handles =
        spawn_all(co_await asio::this_coro::executor, tasks, [=](std::uint64_t) { return yielder(yields); });
    const Summed all = co_await join_all(handles);
    co_return Summed::counted(all.sum);
}

// Each link spawns the next one and ends; the last one tells `end` how far it came.
template <class End>
Task<> link(std::uint64_t left, std::uint64_t count, End end) {
    if (left == 0) {
        end(count);
    } else {
        spawn(co_await asio::this_coro::executor, link(left - 1, count + 1, std::move(end)), asio::detached);
    }
}

// Spawns the first link, and ends.
template <class End>
Task<> chain(std::uint64_t depth, End end) {
    spawn(co_await asio::this_coro::executor, link(depth - 1, salt + 1, std::move(end)), asio::detached);
}

inline Task<Summed> chained_spawn(std::uint64_t depth) {
    const auto executor = co_await asio::this_coro::executor;
    const Oneshot last(executor);
    spawn(executor, chain(depth, [last](std::uint64_t count) { last.send(count); }), asio::detached);
    const std::uint64_t count = co_await last.receive();
    co_return Summed{.sum = count, .count = count - salt};
}

inline Task<> echo(Oneshot there, Oneshot back) { back.send(co_await there.receive()); }

// Sends `number` to a new task, and returns what came back.
inline Task<std::uint64_t> ping(std::uint64_t number) {
    const auto executor = co_await asio::this_coro::executor;
    const Oneshot there(executor), back(executor);
    spawn(executor, echo(there, back), asio::detached);
    there.send(number);
    co_return co_await back.receive();
}

inline Task<Summed> ping_pong_oneshot(std::uint64_t rounds) {
    Summed all{};
    for (std::uint64_t round = 0; round < rounds; ++round) {
        all.sum += co_await ping(salt + round);
        ++all.count;
    }
    co_return all;
}

inline Task<std::uint64_t> weigh_primes(std::uint64_t first, std::uint64_t limit, std::uint64_t step) {
    co_return palio::tasks::primes(first, limit, step);
}

inline Task<Summed> primes(std::uint64_t limit, std::uint64_t tasks) {
    const auto handles = spawn_all(co_await asio::this_coro::executor, tasks,
                                   [=](std::uint64_t first) { return weigh_primes(first, limit, tasks); });
    co_return co_await join_all(handles);
}

inline Task<std::uint64_t> descend(std::uint64_t depth) {
    if (depth == 0) co_return salt;
    co_return 1 + co_await descend(depth - 1);
}

inline Task<Summed> deep_recursion(std::uint64_t depth) {
    const auto handle = spawn(co_await asio::this_coro::executor, descend(depth));
    const std::uint64_t reached = co_await handle.next();
    co_return Summed{.sum = reached, .count = reached - salt};
}

inline Task<std::uint64_t> throw_if_odd(std::uint64_t i) {
    if (i % 2 == 1) throw std::runtime_error("odd");
    co_return palio::tasks::returned + salt;
}

inline Task<Summed> exceptions(std::uint64_t tasks) {
    const auto handles =
        spawn_all(co_await asio::this_coro::executor, tasks, [](std::uint64_t i) { return throw_if_odd(i); });
    Summed all{};
    for (const auto& handle : handles) {
        try {
            all.sum += co_await handle.next();
        } catch (const std::runtime_error&) {
            ++all.sum;
        }
        ++all.count;
    }
    co_return all;
}

}  // namespace contender
