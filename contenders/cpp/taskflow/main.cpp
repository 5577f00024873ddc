// Taskflow: a tf::TaskGroup for the children of a call, and corun to execute tasks until they are
// done.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <taskflow/taskflow.hpp>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

template <class Forks>
palio::fib::Packed fib(tf::Executor& executor, palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) return n;
    palio::fib::Packed x;
    tf::TaskGroup forked = executor.task_group();
    Forks::handed(1);
    forked.silent_async([&executor, &x, n] { x = fib<Forks>(executor, n - 1); });
    const palio::fib::Packed y = fib<Forks>(executor, n - 2);
    forked.corun();
    return palio::fib::join(x, y);
}

template <class Forks>
palio::skynet::Below skynet(tf::Executor& executor, std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    constexpr std::uint64_t last = palio::skynet::children - 1;
    tf::TaskGroup ten = executor.task_group();
    for (std::uint64_t child = 0; child < last; ++child) {
        Forks::handed(1);
        ten.silent_async([&executor, &result = below[child], from = first + child * part, part] {
            result = skynet<Forks>(executor, from, part);
        });
    }
    below[last] = skynet<Forks>(executor, first + last * part, part);
    ten.corun();
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    return all;
}

template <class Forks>
palio::nqueens::Below place(tf::Executor& executor, const palio::nqueens::Placement& placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    std::size_t children = 0;
    tf::TaskGroup legal = executor.task_group();
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (!placement.is_legal(column)) continue;
        Forks::handed(1);
        legal.silent_async([&executor, &result = below[children++], child = placement.with(column)] {
            result = place<Forks>(executor, child);
        });
    }
    legal.corun();
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    return all;
}

template <class Forks>
std::uint64_t multiply(tf::Executor& executor, const palio::matmul::Product& product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    tf::TaskGroup three = executor.task_group();
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21;
        Forks::handed(3);
        three.silent_async([&, middle] { c11 = multiply<Forks>(executor, product.quadrant(0, 0, middle)); });
        three.silent_async([&, middle] { c12 = multiply<Forks>(executor, product.quadrant(0, 1, middle)); });
        three.silent_async([&, middle] { c21 = multiply<Forks>(executor, product.quadrant(1, 0, middle)); });
        const std::uint64_t c22 = multiply<Forks>(executor, product.quadrant(1, 1, middle));
        three.corun();
        blocks += c11 + c12 + c21 + c22;
    }
    return blocks;
}

// `function`, run as a task of an executor of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [executor = std::make_shared<tf::Executor>(request.threads()), function](const auto&... args) {
        return executor->async([&] { return function(*executor, args...); }).get();
    };
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "taskflow",
            .runtime = "Taskflow",
            .version = tf::version(),
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
