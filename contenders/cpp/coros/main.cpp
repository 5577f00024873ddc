// coros: wait_tasks over the children, all of which go onto the deque of the worker that waits.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <start_tasks.h>
#include <thread_pool.h>
#include <wait_tasks.h>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

using coros::Task;

template <class Forks>
Task<palio::fib::Packed> fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) co_return n;
    auto x = fib<Forks>(n - 1);
    auto y = fib<Forks>(n - 2);
    Forks::handed(2);
    co_await coros::wait_tasks(x, y);
    co_return palio::fib::join(*x, *y);
}

// A number of tasks that is known in the program text needs no vector.
template <std::size_t count, class T>
auto wait_all(std::array<Task<T>, count>& tasks) {
    return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return coros::wait_tasks(tasks[i]...);
    }(std::make_index_sequence<count>());
}

template <class Forks>
Task<palio::skynet::Below> skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<Task<palio::skynet::Below>, palio::skynet::children> below;
    for (std::uint64_t child = 0; child < palio::skynet::children; ++child) {
        below[child] = skynet<Forks>(first + child * part, part);
    }
    Forks::handed(palio::skynet::children);
    co_await wait_all(below);
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (auto& child : below) all += *child;
    co_return all;
}

template <class Forks>
Task<palio::nqueens::Below> place(palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    std::vector<Task<palio::nqueens::Below>> below;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) below.push_back(place<Forks>(placement.with(column)));
    }
    // Nobody would wake whoever waits for none.
    if (below.empty()) co_return all;
    Forks::handed(below.size());
    co_await coros::wait_tasks(below);
    for (auto& child : below) all += *child;
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
        auto c11 = multiply<Forks>(product.quadrant(0, 0, middle));
        auto c12 = multiply<Forks>(product.quadrant(0, 1, middle));
        auto c21 = multiply<Forks>(product.quadrant(1, 0, middle));
        auto c22 = multiply<Forks>(product.quadrant(1, 1, middle));
        Forks::handed(4);
        co_await coros::wait_tasks(c11, c12, c21, c22);
        blocks += *c11 + *c12 + *c21 + *c22;
    }
    co_return blocks;
}

// `function`, run by a pool of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [pool = std::make_shared<coros::ThreadPool>(static_cast<int>(request.threads())), function](const auto&... args) {
        auto root = function(args...);
        coros::start_sync(*pool, root);
        return *root;
    };
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "coros",
            .runtime = "coros",
            // Its headers have no number.
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
