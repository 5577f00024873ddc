// Folly: collectAll over the children, all but the last of which are handed to the executor.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <folly/coro/BlockingWait.h>
#include <folly/coro/Collect.h>
#include <folly/coro/CurrentExecutor.h>
#include <folly/coro/Task.h>
#include <folly/executors/CPUThreadPoolExecutor.h>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

using folly::coro::collectAll;
using folly::coro::Task;
using folly::coro::TaskWithExecutor;

// `task`, to be started by whichever thread of the executor takes it. As it is, collectAll would
// start it in place, and the next one only when it waits or ends.
template <class Forks, class T>
TaskWithExecutor<T> fork(folly::Executor* executor, Task<T> task) {
    Forks::handed(1);
    return folly::coro::co_withExecutor(executor, std::move(task));
}

template <class Forks>
Task<palio::fib::Packed> fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) co_return n;
    folly::Executor* const executor = co_await folly::coro::co_current_executor;
    const auto [x, y] = co_await collectAll(fork<Forks>(executor, fib<Forks>(n - 1)), fib<Forks>(n - 2));
    co_return palio::fib::join(x, y);
}

template <class Forks>
Task<palio::skynet::Below> skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    folly::Executor* const executor = co_await folly::coro::co_current_executor;
    constexpr std::uint64_t last = palio::skynet::children - 1;
    const std::uint64_t part = size / palio::skynet::children;
    auto ten = [&]<std::uint64_t... child>(std::integer_sequence<std::uint64_t, child...>) {
        return collectAll(fork<Forks>(executor, skynet<Forks>(first + child * part, part))...,
                          skynet<Forks>(first + last * part, part));
    }(std::make_integer_sequence<std::uint64_t, last>());
    const auto below = co_await std::move(ten);
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    std::apply([&](const auto&... child) { ((all += child), ...); }, below);
    co_return all;
}

template <class Forks>
Task<palio::nqueens::Below> place(palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    folly::Executor* const executor = co_await folly::coro::co_current_executor;
    std::vector<TaskWithExecutor<palio::nqueens::Below>> children;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) children.push_back(fork<Forks>(executor, place<Forks>(placement.with(column))));
    }
    const auto below = co_await folly::coro::collectAllRange(std::move(children));
    for (const auto& child : below) all += child;
    co_return all;
}

template <class Forks>
Task<std::uint64_t> multiply(palio::matmul::Product product) {
    if (product.is_base()) {
        product.multiply();
        co_return 1;
    }
    folly::Executor* const executor = co_await folly::coro::co_current_executor;
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        const auto [c11, c12, c21, c22] =
            co_await collectAll(fork<Forks>(executor, multiply<Forks>(product.quadrant(0, 0, middle))),
                                fork<Forks>(executor, multiply<Forks>(product.quadrant(0, 1, middle))),
                                fork<Forks>(executor, multiply<Forks>(product.quadrant(1, 0, middle))),
                                multiply<Forks>(product.quadrant(1, 1, middle)));
        blocks += c11 + c12 + c21 + c22;
    }
    co_return blocks;
}

// `function`, run by an executor of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [executor = std::make_shared<folly::CPUThreadPoolExecutor>(request.threads()), function](const auto&... args) {
        return folly::coro::blockingWait(folly::coro::co_withExecutor(executor.get(), function(args...)));
    };
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "folly",
            .runtime = "Folly",
            // Its headers have no number, and that of its package does not grow.
            .version = "headers " PALIO_HEADERS,
            .workloads =
                {
                    PALIO_FORKING(fib, fib),
                    PALIO_FORKING(skynet, skynet),
                    PALIO_FORKING(nqueens, place),
                    PALIO_FORKING(matmul, multiply),
                },
        },
        argc, argv);
}
