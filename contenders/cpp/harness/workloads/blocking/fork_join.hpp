// Rows that fork, over a runtime whose tasks block: each child but the last is spawned, the last
// one is called.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "../fib.hpp"
#include "../matmul.hpp"
#include "../nqueens.hpp"
#include "../skynet.hpp"

namespace palio::blocking {

template <class R, class T>
using Handle = typename R::template Handle<T>;

template <class R, class Forks>
fib::Packed fib_of(fib::Argument n) {
    if (fib::is_leaf(n)) return n;
    Forks::handed(1);
    auto forked = R::spawn([=] { return fib_of<R, Forks>(n - 1); });
    const auto y = fib_of<R, Forks>(n - 2);
    return fib::join(forked.join(), y);
}

template <class R, class Forks>
skynet::Below skynet_of(std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    constexpr std::uint64_t last = skynet::children - 1;
    const std::uint64_t part = size / skynet::children;
    std::array<std::optional<Handle<R, skynet::Below>>, last> handles;
    for (std::uint64_t child = 0; child < last; ++child) {
        Forks::handed(1);
        handles[child] = R::spawn([=] { return skynet_of<R, Forks>(first + child * part, part); });
    }
    skynet::Below all{.sum = 0, .tasks = 1};
    all += skynet_of<R, Forks>(first + last * part, part);
    for (auto& handle : handles) all += handle->join();
    return all;
}

template <class R, class Forks>
nqueens::Below place(const nqueens::Placement& placement) {
    nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<std::uint8_t, nqueens::n_max> legal;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) legal[children++] = column;
    }
    if (children == 0) return all;
    const std::size_t last = children - 1;
    std::array<std::optional<Handle<R, nqueens::Below>>, nqueens::n_max> handles;
    for (std::size_t child = 0; child < last; ++child) {
        Forks::handed(1);
        handles[child] = R::spawn([child = placement.with(legal[child])] { return place<R, Forks>(child); });
    }
    all += place<R, Forks>(placement.with(legal[last]));
    for (std::size_t child = 0; child < last; ++child) all += handles[child]->join();
    return all;
}

template <class R, class Forks>
std::uint64_t multiply(const matmul::Product& product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        const auto fork = [&](std::size_t row, std::size_t column) {
            return R::spawn([part = product.quadrant(row, column, middle)] { return multiply<R, Forks>(part); });
        };
        Forks::handed(3);
        auto c11 = fork(0, 0);
        auto c12 = fork(0, 1);
        auto c21 = fork(1, 0);
        blocks += multiply<R, Forks>(product.quadrant(1, 1, middle));
        blocks += c11.join() + c12.join() + c21.join();
    }
    return blocks;
}

}  // namespace palio::blocking
