// TooManyCooks: tmc::spawn_tuple where the number of children is known, tmc::spawn_many where they
// are a range.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <ranges>
#include <span>
#include <string>
#include <utility>

// The library is header-only; whoever builds it apart (TMC_STANDALONE_COMPILATION) gets its one
// definition here.
#define TMC_IMPL
#include <tmc/ex_cpu.hpp>
#include <tmc/spawn.hpp>
#include <tmc/spawn_many.hpp>
#include <tmc/spawn_tuple.hpp>
#include <tmc/sync.hpp>
#include <tmc/task.hpp>
#include <tmc/version.hpp>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

// Whether to race as the author's own benchmarks do.
#ifdef PALIO_TMC_UPSTREAM
constexpr bool as_upstream = true;
#else
constexpr bool as_upstream = false;
#endif

template <class Forks>
tmc::task<palio::fib::Packed> fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) co_return n;
    if constexpr (as_upstream) {
        Forks::handed(1);
        auto forked = tmc::spawn(fib<Forks>(n - 1)).fork();
        const auto y = co_await fib<Forks>(n - 2);
        const auto x = co_await std::move(forked);
        co_return palio::fib::join(x, y);
    } else {
        Forks::handed(2);
        const auto [x, y] = co_await tmc::spawn_tuple(fib<Forks>(n - 1), fib<Forks>(n - 2));
        co_return palio::fib::join(x, y);
    }
}

template <class Forks>
tmc::task<palio::skynet::Below> skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    auto children = std::views::iota(std::uint64_t{0}, palio::skynet::children) |
                    std::views::transform([=](std::uint64_t child) {
                        return skynet<Forks>(first + child * part, part);
                    });
    Forks::handed(palio::skynet::children);
    const auto below = co_await tmc::spawn_many<palio::skynet::children>(children.begin());
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    co_return all;
}

template <class Forks>
tmc::task<palio::nqueens::Below> place(palio::nqueens::Placement placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    std::array<std::uint8_t, palio::nqueens::n_max> legal;
    std::size_t count = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) legal[count++] = column;
    }
    auto children = std::span(legal).first(count) |
                    std::views::transform([&](std::uint8_t column) { return place<Forks>(placement.with(column)); });
    // Up to n_max results, in an array rather than on the heap; those beyond the last child are not
    // set.
    Forks::handed(count);
    const auto below = co_await tmc::spawn_many<palio::nqueens::n_max>(children.begin(), children.end());
    for (std::size_t child = 0; child < count; ++child) all += below[child];
    co_return all;
}

template <class Forks>
tmc::task<std::uint64_t> multiply(palio::matmul::Product product) {
    if (product.is_base()) {
        product.multiply();
        co_return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        Forks::handed(4);
        const auto [c11, c12, c21, c22] = co_await tmc::spawn_tuple(
            multiply<Forks>(product.quadrant(0, 0, middle)), multiply<Forks>(product.quadrant(0, 1, middle)),
            multiply<Forks>(product.quadrant(1, 0, middle)), multiply<Forks>(product.quadrant(1, 1, middle)));
        blocks += c11 + c12 + c21 + c22;
    }
    co_return blocks;
}

// Exactly as many threads as were asked for, all of them the executor's own.
std::shared_ptr<tmc::ex_cpu> start(const palio::Request& request) {
    const std::size_t threads = request.threads();
    auto executor = std::make_shared<tmc::ex_cpu>();
    executor->set_thread_count(threads);
    if constexpr (as_upstream) {
#ifdef TMC_USE_HWLOC
        executor->set_thread_pinning_level(tmc::topology::thread_pinning_level::CORE);
#endif
        if (request.workload() == "skynet") {
            executor->set_work_stealing_strategy(tmc::work_stealing_strategy::LATTICE_MATRIX);
        }
    }
    executor->init();
    if (executor->thread_count() != threads) {
        throw palio::Refusal::unsupported("TooManyCooks started " + std::to_string(executor->thread_count()) +
                                          " thread(s), not " + std::to_string(threads));
    }
    return executor;
}

// `function`, run by an executor of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [executor = start(request), function](const auto&... args) {
        return tmc::post_waitable(*executor, function(args...)).get();
    };
}

// The version of the headers, and the fingerprint that tells apart releases which share one.
std::string version() {
    return std::to_string(TMC_VERSION_MAJOR) + "." + std::to_string(TMC_VERSION_MINOR) + "." +
           std::to_string(TMC_VERSION_PATCH) + " (headers " PALIO_HEADERS ")";
}

// One machine word has a bit for each thread, unless the library was installed without this limit.
#ifdef TMC_MORE_THREADS
constexpr std::size_t threads_max = std::numeric_limits<int>::max();
#else
constexpr std::size_t threads_max = std::numeric_limits<std::size_t>::digits;
#endif

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "tmc",
            .runtime = "TooManyCooks",
            .version = version(),
            .workloads =
                {
                    PALIO_FORKING(fib, fib),
                    PALIO_FORKING(skynet, skynet),
                    PALIO_FORKING(nqueens, place),
                    PALIO_FORKING(matmul, multiply),
                },
            .threads_max = threads_max,
        },
        argc, argv);
}
