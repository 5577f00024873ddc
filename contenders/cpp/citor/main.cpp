// citor: forkJoin where the number of children is known in the program text, forkJoinAll where it
// is not.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <citor/hints.h>
#include <citor/thread_pool.h>
#include <citor/version.h>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

using Pool = citor::ThreadPool;
using Hints = citor::HintsDefaults;

template <class Forks>
palio::fib::Packed fib(Pool& pool, palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) return n;
    palio::fib::Packed x, y;
    Forks::handed(1);
    pool.forkJoin<Hints>([&] { x = fib<Forks>(pool, n - 1); }, [&] { y = fib<Forks>(pool, n - 2); });
    return palio::fib::join(x, y);
}

template <class Forks>
palio::skynet::Below skynet(Pool& pool, std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    Forks::handed(below.size() - 1);
    pool.forkJoinAll<Hints>(below.size(),
                            [&](std::size_t child) { below[child] = skynet<Forks>(pool, first + child * part, part); });
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    return all;
}

template <class Forks>
palio::nqueens::Below place(Pool& pool, const palio::nqueens::Placement& placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<std::uint8_t, palio::nqueens::n_max> legal;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) legal[children++] = column;
    }
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    if (children > 1) Forks::handed(children - 1);
    pool.forkJoinAll<Hints>(
        children, [&](std::size_t child) { below[child] = place<Forks>(pool, placement.with(legal[child])); });
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    return all;
}

template <class Forks>
std::uint64_t multiply(Pool& pool, const palio::matmul::Product& product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21, c22;
        Forks::handed(3);
        pool.forkJoin<Hints>([&] { c11 = multiply<Forks>(pool, product.quadrant(0, 0, middle)); },
                             [&] { c12 = multiply<Forks>(pool, product.quadrant(0, 1, middle)); },
                             [&] { c21 = multiply<Forks>(pool, product.quadrant(1, 0, middle)); },
                             [&] { c22 = multiply<Forks>(pool, product.quadrant(1, 1, middle)); });
        blocks += c11 + c12 + c21 + c22;
    }
    return blocks;
}

// Exactly `threads` threads, the calling one among them.
std::shared_ptr<Pool> start(std::size_t threads) {
    auto pool = std::make_shared<Pool>(threads);
    // The default places one thread on a physical core; this placement goes on with their
    // hyperthreads.
    if (pool->participants() != threads) {
        pool.reset();
        pool = std::make_shared<Pool>(threads, citor::Affinity::PerCpuSmtPair);
    }
    if (pool->participants() != threads) {
        throw palio::Refusal::unsupported("citor has " + std::to_string(pool->participants()) +
                                          " CPU(s) for its threads, not " + std::to_string(threads));
    }
    return pool;
}

// `function`, run by this thread and the others of a pool.
auto inside(const palio::Request& request, auto function) {
    return [pool = start(request.threads()), function](const auto&... args) { return function(*pool, args...); };
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "citor",
            .runtime = "citor",
            .version = CITOR_VERSION_STRING,
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
