// Rows that fork: each child but the last is posted, the last is awaited in place, and the results
// of the others arrive through a channel.
#pragma once

#include <cstdint>

#include "runtime.hpp"
#include "workloads/fib.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace contender {

template <class Forks>
Task<palio::fib::Packed> fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) co_return n;
    Forks::handed(1);
    const auto forked = spawn(co_await asio::this_coro::executor, fib<Forks>(n - 1));
    const auto y = co_await fib<Forks>(n - 2);
    co_return palio::fib::join(co_await forked.next(), y);
}

template <class Forks>
Task<palio::skynet::Below> skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    constexpr std::uint64_t last = palio::skynet::children - 1;
    const std::uint64_t part = size / palio::skynet::children;
    Results<palio::skynet::Below> below(co_await asio::this_coro::executor, last);
    for (std::uint64_t child = 0; child < last; ++child) {
        Forks::handed(1);
        below.spawn(skynet<Forks>(first + child * part, part));
    }
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    all += co_await skynet<Forks>(first + last * part, part);
    for (std::uint64_t child = 0; child < last; ++child) all += co_await below.next();
    co_return all;
}

template <class Forks>
Task<palio::nqueens::Below> place(palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    std::array<std::uint8_t, palio::nqueens::n_max> legal;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) legal[children++] = column;
    }
    if (children == 0) co_return all;
    const std::size_t last = children - 1;
    if (last == 0) {
        all += co_await place<Forks>(placement.with(legal[last]));
        co_return all;
    }
    Results<palio::nqueens::Below> below(co_await asio::this_coro::executor, last);
    for (std::size_t child = 0; child < last; ++child) {
        Forks::handed(1);
        below.spawn(place<Forks>(placement.with(legal[child])));
    }
    all += co_await place<Forks>(placement.with(legal[last]));
    for (std::size_t child = 0; child < last; ++child) all += co_await below.next();
    co_return all;
}

template <class Forks>
Task<std::uint64_t> multiply(palio::matmul::Product product) {
    if (product.is_base()) {
        product.multiply();
        co_return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        Results<std::uint64_t> three(co_await asio::this_coro::executor, 3);
        Forks::handed(3);
        three.spawn(multiply<Forks>(product.quadrant(0, 0, middle)));
        three.spawn(multiply<Forks>(product.quadrant(0, 1, middle)));
        three.spawn(multiply<Forks>(product.quadrant(1, 0, middle)));
        blocks += co_await multiply<Forks>(product.quadrant(1, 1, middle));
        for (int i = 0; i < 3; ++i) blocks += co_await three.next();
    }
    co_return blocks;
}

}  // namespace contender
