// concurrencpp: every child is a parallel coroutine on the thread pool executor, and its result is
// awaited.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <concurrencpp/concurrencpp.h>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

using concurrencpp::executor_tag;
using concurrencpp::result;
using Executor = std::shared_ptr<concurrencpp::thread_pool_executor>;

template <class Forks>
result<palio::fib::Packed> fib(executor_tag, Executor executor, palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) co_return n;
    Forks::handed(2);
    auto x = fib<Forks>({}, executor, n - 1);
    auto y = fib<Forks>({}, executor, n - 2);
    const auto first = co_await x;
    co_return palio::fib::join(first, co_await y);
}

template <class Forks>
result<palio::skynet::Below> skynet(executor_tag, Executor executor, std::uint64_t first, std::uint64_t size) {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<result<palio::skynet::Below>, palio::skynet::children> below;
    for (std::uint64_t child = 0; child < palio::skynet::children; ++child) {
        Forks::handed(1);
        below[child] = skynet<Forks>({}, executor, first + child * part, part);
    }
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (auto& child : below) all += co_await child;
    co_return all;
}

template <class Forks>
result<palio::nqueens::Below> place(executor_tag, Executor executor, palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    std::array<result<palio::nqueens::Below>, palio::nqueens::n_max> below;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (!placement.is_legal(column)) continue;
        Forks::handed(1);
        below[children++] = place<Forks>({}, executor, placement.with(column));
    }
    for (std::size_t child = 0; child < children; ++child) all += co_await below[child];
    co_return all;
}

template <class Forks>
result<std::uint64_t> multiply(executor_tag, Executor executor, palio::matmul::Product product) {
    if (product.is_base()) {
        product.multiply();
        co_return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        Forks::handed(4);
        auto c11 = multiply<Forks>({}, executor, product.quadrant(0, 0, middle));
        auto c12 = multiply<Forks>({}, executor, product.quadrant(0, 1, middle));
        auto c21 = multiply<Forks>({}, executor, product.quadrant(1, 0, middle));
        auto c22 = multiply<Forks>({}, executor, product.quadrant(1, 1, middle));
        blocks += co_await c11;
        blocks += co_await c12;
        blocks += co_await c21;
        blocks += co_await c22;
    }
    co_return blocks;
}

// `function`, run by a thread pool of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    concurrencpp::runtime_options options;
    options.max_cpu_threads = request.threads();
    return [runtime = std::make_shared<concurrencpp::runtime>(options), function](const auto&... args) {
        return function({}, runtime->thread_pool_executor(), args...).get();
    };
}

std::string version() {
    const auto [major, minor, revision] = concurrencpp::runtime::version();
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(revision);
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "concurrencpp",
            .runtime = "concurrencpp",
            .version = version(),
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
