// OpenMP tasks on GCC's libgomp: one task per child, and one taskwait for the children.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <omp.h>

#include "libgomp_version.hpp"
#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

template <class Forks>
palio::fib::Packed fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) return n;
    palio::fib::Packed x, y;
    Forks::handed(2);
#pragma omp task shared(x)
    x = fib<Forks>(n - 1);
#pragma omp task shared(y)
    y = fib<Forks>(n - 2);
#pragma omp taskwait
    return palio::fib::join(x, y);
}

template <class Forks>
palio::skynet::Below skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    for (std::uint64_t child = 0; child < palio::skynet::children; ++child) {
        Forks::handed(1);
#pragma omp task shared(below)
        below[child] = skynet<Forks>(first + child * part, part);
    }
#pragma omp taskwait
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    return all;
}

template <class Forks>
palio::nqueens::Below place(palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (!placement.is_legal(column)) continue;
        const std::size_t child = children++;
        const palio::nqueens::Placement placed = placement.with(column);
        Forks::handed(1);
#pragma omp task shared(below)
        below[child] = place<Forks>(placed);
    }
#pragma omp taskwait
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    return all;
}

template <class Forks>
std::uint64_t multiply(palio::matmul::Product product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21, c22;
        Forks::handed(4);
#pragma omp task shared(c11)
        c11 = multiply<Forks>(product.quadrant(0, 0, middle));
#pragma omp task shared(c12)
        c12 = multiply<Forks>(product.quadrant(0, 1, middle));
#pragma omp task shared(c21)
        c21 = multiply<Forks>(product.quadrant(1, 0, middle));
#pragma omp task shared(c22)
        c22 = multiply<Forks>(product.quadrant(1, 1, middle));
#pragma omp taskwait
        blocks += c11 + c12 + c21 + c22;
    }
    return blocks;
}

// Starts a team once, which libgomp keeps for the parallel regions that follow.
void start(int threads) {
    int started = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    started = omp_get_num_threads();
    // OMP_THREAD_LIMIT, OMP_DYNAMIC or the system may give less than was asked for, and libgomp
    // goes on with less.
    if (started != threads) {
        throw palio::Refusal::unsupported("libgomp gave " + std::to_string(started) + " thread(s), not " +
                                          std::to_string(threads));
    }
}

// `function`, run by one thread of a parallel region of the threads asked for; the others of the
// team take its tasks.
auto inside(const palio::Request& request, auto function) {
    const int threads = static_cast<int>(request.threads());
    start(threads);
    return [=](const auto&... args) {
        decltype(function(args...)) result;
#pragma omp parallel num_threads(threads)
#pragma omp single
        result = function(args...);
        return result;
    };
}

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "openmp",
            .runtime = "libgomp",
            .version = libgomp::Version::of_this_process(),
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
