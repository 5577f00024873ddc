// Rows that a thread outside begins and waits for, over a runtime whose tasks block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../bell.hpp"
#include "spawning.hpp"

namespace palio::blocking {

// What the thread outside has, and lends to tasks; the runtime is the first of it to go.
template <class R>
struct Outside {
    explicit Outside(std::size_t threads) : runtime(threads) {}

    Bell<Summed> bell;
    std::atomic<std::uint64_t> left{0};
    std::atomic<std::uint64_t> sum{0};
    R runtime;
};

template <class R>
Summed spawn_many_detached(Outside<R>& outside, std::uint64_t tasks) {
    if (tasks == 0) return {};
    outside.left = tasks;
    for (std::uint64_t i = 0; i < tasks; ++i) {
        outside.runtime.enter([&outside, tasks] {
            const std::uint64_t left = --outside.left;
            if (left == 0) outside.bell.ring(Summed::counted(tasks - left));
        });
    }
    return outside.bell.wait();
}

template <class R>
Summed spawn_then_block(R& runtime, std::uint64_t tasks) {
    const auto one = [] { return std::uint64_t{1}; };
    std::vector<decltype(runtime.start(one))> handles;
    handles.reserve(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) handles.push_back(runtime.start(one));
    Summed all{};
    for (auto& handle : handles) all.count += handle.get();
    return Summed::counted(all.count);
}

template <class R>
Summed ping_pong(Outside<R>& outside, std::uint64_t pairs) {
    if (pairs == 0) return {};
    outside.left = pairs;
    outside.sum = 0;
    outside.runtime.enter([&outside, pairs] {
        for (std::uint64_t i = 0; i < pairs; ++i) {
            R::detach([&outside, pairs, i] {
                outside.sum += ping<R>(salt + i);
                const std::uint64_t left = --outside.left;
                if (left == 0) outside.bell.ring({.sum = outside.sum, .count = pairs - left});
            });
        }
    });
    return outside.bell.wait();
}

template <class R>
Summed yield_many_from_outside(Outside<R>& outside, std::uint64_t tasks, std::uint64_t yields) {
    for (std::uint64_t i = 0; i < tasks; ++i) {
        outside.runtime.enter([&outside, yields] { outside.bell.ring(Summed::counted(yield_often<R>(yields))); });
    }
    Summed all{};
    for (std::uint64_t i = 0; i < tasks; ++i) all += outside.bell.wait();
    return all;
}

template <class R>
Summed chain_from_outside(Outside<R>& outside, std::uint64_t depth) {
    outside.runtime.enter([&outside, depth] {
        chain<R>(depth, [&outside](std::uint64_t count) { outside.bell.ring({.sum = count, .count = count - salt}); });
    });
    return outside.bell.wait();
}

}  // namespace palio::blocking
