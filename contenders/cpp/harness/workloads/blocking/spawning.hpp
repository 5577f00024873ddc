// Rows about tasks that do next to nothing, over a runtime whose tasks block.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../tasks.hpp"

namespace palio::blocking {

using tasks::salt;
using tasks::Summed;

// Spawns `task(i)` for each i below `count`, and keeps the handles.
template <class R, class Each>
auto spawn_all(std::uint64_t count, Each task) {
    std::vector<decltype(R::spawn([=] { return task(std::uint64_t{0}); }))> handles;
    handles.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) handles.push_back(R::spawn([=] { return task(i); }));
    return handles;
}

// Joins one after the other; sums what they returned.
template <class Handles>
Summed join_all(Handles& handles) {
    Summed all{};
    for (auto& handle : handles) {
        all.sum += handle.join();
        ++all.count;
    }
    return all;
}

template <class R>
Summed spawn_join(std::uint64_t tasks) {
    auto handles = spawn_all<R>(tasks, [](std::uint64_t) { return std::uint64_t{1}; });
    return join_all(handles);
}

template <class R>
Summed spawn_yield_join(std::uint64_t tasks) {
    auto handles = spawn_all<R>(tasks, [](std::uint64_t) {
        R::yield();
        return 2 + salt;
    });
    return join_all(handles);
}

template <class R>
Summed spawn_by_spawners(std::uint64_t spawners, std::uint64_t tasks_each) {
    auto parts = spawn_all<R>(spawners, [=](std::uint64_t) {
        auto handles = spawn_all<R>(tasks_each, [](std::uint64_t) { return 1 + salt; });
        return join_all(handles);
    });
    Summed all{};
    for (auto& part : parts) all += part.join();
    return all;
}

// Yields so often; returns how often it did.
template <class R>
std::uint64_t yield_often(std::uint64_t yields) {
    std::uint64_t done = 0;
    for (; done < yields; ++done) R::yield();
    return done;
}

template <class R>
Summed yield_many(std::uint64_t tasks, std::uint64_t yields) {
    auto handles = spawn_all<R>(tasks, [=](std::uint64_t) { return yield_often<R>(yields); });
    return Summed::counted(join_all(handles).sum);
}

// Each link spawns the next one and ends; the last one tells `end` how far it came.
template <class R, class End>
void link(std::uint64_t left, std::uint64_t count, End end) {
    if (left == 0) {
        end(count);
    } else {
        R::detach([=] { link<R>(left - 1, count + 1, end); });
    }
}

// Spawns the first link.
template <class R, class End>
void chain(std::uint64_t depth, End end) {
    R::detach([=] { link<R>(depth - 1, salt + 1, end); });
}

template <class R>
Summed chained_spawn(std::uint64_t depth) {
    const auto last = std::make_shared<typename R::Oneshot>();
    chain<R>(depth, [=](std::uint64_t count) { last->send(count); });
    const std::uint64_t count = last->receive();
    return {.sum = count, .count = count - salt};
}

// Sends `number` to a new task, and returns what came back. Whoever sends has the channel, too: it
// may still be in there when what it sent has been received.
template <class R>
std::uint64_t ping(std::uint64_t number) {
    const auto there = std::make_shared<typename R::Oneshot>();
    const auto back = std::make_shared<typename R::Oneshot>();
    R::detach([=] { back->send(there->receive()); });
    there->send(number);
    return back->receive();
}

template <class R>
Summed ping_pong_oneshot(std::uint64_t rounds) {
    Summed all{};
    for (; all.count < rounds; ++all.count) all.sum += ping<R>(salt + all.count);
    return all;
}

template <class R>
Summed primes(std::uint64_t limit, std::uint64_t tasks) {
    auto handles = spawn_all<R>(tasks, [=](std::uint64_t first) { return tasks::primes(first, limit, tasks); });
    return join_all(handles);
}

// Not to be made a loop of: what it returns passes through something opaque.
[[gnu::noinline]] inline std::uint64_t descend(std::uint64_t depth) {
    std::uint64_t reached = depth == 0 ? salt : 1 + descend(depth - 1);
    asm volatile("" : "+r"(reached));
    return reached;
}

template <class R>
Summed deep_recursion(std::uint64_t depth) {
    const std::uint64_t reached = R::spawn([=] { return descend(depth); }).join();
    return {.sum = reached, .count = reached - salt};
}

inline std::uint64_t throw_if_odd(std::uint64_t i) {
    if (i % 2 == 1) throw std::runtime_error("odd");
    return tasks::returned + salt;
}

template <class R>
Summed exceptions(std::uint64_t tasks) {
    auto handles = spawn_all<R>(tasks, throw_if_odd);
    Summed all{};
    for (auto& handle : handles) {
        try {
            all.sum += handle.join();
        } catch (const std::runtime_error&) {
            ++all.sum;
        }
        ++all.count;
    }
    return all;
}

template <class R>
Summed many_timers(std::uint64_t sleepers) {
    auto handles = spawn_all<R>(sleepers, [](std::uint64_t i) {
        const auto duration = tasks::sleep_of(i);
        R::sleep(duration);
        return static_cast<std::uint64_t>(duration.count());
    });
    return join_all(handles);
}

}  // namespace palio::blocking
