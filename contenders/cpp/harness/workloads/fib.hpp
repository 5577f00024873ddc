// Recursive Fibonacci: what is the work (workloads/fib.toml), without the forking.
#pragma once

#include <cstdint>

#include "palio.hpp"

namespace palio::fib {

// A call returns its value in the low 32 bits and the forks below it in the high ones, to which
// each leaf adds the salt.
using Packed = std::uint64_t;

// The argument of a call: n in the low 32 bits, and in the high ones the salt, which no call
// changes. A call that forks no more returns its argument, so that the salt comes to the leaves for
// nothing.
using Argument = std::uint64_t;

constexpr bool is_leaf(Argument n) { return static_cast<std::uint32_t>(n) < 2; }

// Joins two calls: both halves add without a carry between them, and the fork of these two is one
// more.
constexpr Packed join(Packed x, Packed y) { return x + y + (Packed{1} << 32); }

// The forks f out of f + salt * (f + 1) modulo 2^32: the salt came once from each leaf, of which
// there is one more than forks.
constexpr std::uint32_t forks(std::uint32_t upper, std::uint32_t salt) {
    const std::uint32_t factor = salt + 1;
    // Newton's iteration for the inverse of an odd number, which has 3 right bits to begin with and
    // twice as many after each step.
    std::uint32_t inverse = factor;
    for (int bits = 3; bits < 32; bits *= 2) inverse *= 2 - factor * inverse;
    return (upper - salt) * inverse;
}

// `root(argument)` computes a Packed inside the runtime.
template <class Root>
Work prepare(Request& request, Root root) {
    // Beyond this the number of forks does not fit its half.
    constexpr unsigned n_max = 46;
    const auto n = request.param<unsigned>("n");
    if (n > n_max) {
        throw Refusal::misuse("--set n=" + std::to_string(n) + ": fib counts its forks in 32 bits, so n is at most " +
                              std::to_string(n_max));
    }
    // Even, so that the forks can be told from it.
    const std::uint32_t salt = request.salt() & 0xffff'fffe;
    return Work::plain([=] {
        const Packed packed = root(Argument{salt} << 32 | n);
        const std::uint64_t done = forks(static_cast<std::uint32_t>(packed >> 32), salt);
        return Iteration{.answer = packed, .ops = done, .work = done};
    });
}

}  // namespace palio::fib
