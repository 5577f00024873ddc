// Recursive Fibonacci: what is the work (workloads/fib.toml), without the forking.
#pragma once

#include <cstdint>

#include "palio.hpp"

namespace palio::fib {

// A call returns its value in the low 32 bits and the forks below it in the high ones.
using Packed = std::uint64_t;

// Joins two calls: both halves add without a carry between them, and the fork of these two is one
// more.
constexpr Packed join(Packed x, Packed y) { return x + y + (Packed{1} << 32); }

// `root(n)` computes a Packed inside the runtime.
template <class Root>
Work prepare(Request& request, Root root) {
    // Beyond this the number of forks does not fit its half.
    constexpr unsigned n_max = 46;
    const auto n = request.param<unsigned>("n");
    if (n > n_max) {
        throw Refusal::misuse("--set n=" + std::to_string(n) + ": fib counts its forks in 32 bits, so n is at most " +
                              std::to_string(n_max));
    }
    return Work::plain([=] {
        const Packed packed = root(n);
        const std::uint64_t forks = packed >> 32;
        return Iteration{.answer = packed & 0xffff'ffff, .ops = forks, .work = forks};
    });
}

}  // namespace palio::fib
