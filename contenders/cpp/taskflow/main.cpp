// Taskflow: a tf::TaskGroup for the children of a call, and corun to execute tasks until they are
// done.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <taskflow/taskflow.hpp>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

palio::fib::Packed fib(tf::Executor& executor, palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) return n;
    palio::fib::Packed x;
    tf::TaskGroup forked = executor.task_group();
    forked.silent_async([&executor, &x, n] { x = fib(executor, n - 1); });
    const palio::fib::Packed y = fib(executor, n - 2);
    forked.corun();
    return palio::fib::join(x, y);
}

palio::skynet::Below skynet(tf::Executor& executor, std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    constexpr std::uint64_t last = palio::skynet::children - 1;
    tf::TaskGroup ten = executor.task_group();
    for (std::uint64_t child = 0; child < last; ++child) {
        ten.silent_async([&executor, &result = below[child], from = first + child * part, part] {
            result = skynet(executor, from, part);
        });
    }
    below[last] = skynet(executor, first + last * part, part);
    ten.corun();
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    return all;
}

palio::nqueens::Below place(tf::Executor& executor, const palio::nqueens::Placement& placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    std::size_t children = 0;
    tf::TaskGroup legal = executor.task_group();
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (!placement.is_legal(column)) continue;
        legal.silent_async([&executor, &result = below[children++], child = placement.with(column)] {
            result = place(executor, child);
        });
    }
    legal.corun();
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    return all;
}

std::uint64_t multiply(tf::Executor& executor, const palio::matmul::Product& product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    tf::TaskGroup three = executor.task_group();
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21;
        three.silent_async([&, middle] { c11 = multiply(executor, product.quadrant(0, 0, middle)); });
        three.silent_async([&, middle] { c12 = multiply(executor, product.quadrant(0, 1, middle)); });
        three.silent_async([&, middle] { c21 = multiply(executor, product.quadrant(1, 0, middle)); });
        const std::uint64_t c22 = multiply(executor, product.quadrant(1, 1, middle));
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
    using palio::Request;
    return palio::serve(
        {
            .id = "taskflow",
            .runtime = "Taskflow",
            .version = tf::version(),
            .workloads =
                {
                    {"fib", [](Request& r) { return palio::fib::prepare(r, inside(r, fib)); }},
                    {"skynet", [](Request& r) { return palio::skynet::prepare(r, inside(r, skynet)); }},
                    {"nqueens", [](Request& r) { return palio::nqueens::prepare(r, inside(r, place)); }},
                    {"matmul", [](Request& r) { return palio::matmul::prepare(r, inside(r, multiply)); }},
                },
        },
        argc, argv);
}
