// oneTBB: tbb::parallel_invoke where the number of children is known, tbb::task_group where it is
// not. The last child of a group runs in run_and_wait, which need not spawn it.
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/quicksort.hpp"
#include "workloads/skynet.hpp"
#include "workloads/unbalanced_tree.hpp"

namespace {

template <class Forks>
palio::fib::Packed fib(palio::fib::Argument n) {
    if (palio::fib::is_leaf(n)) return n;
    palio::fib::Packed x, y;
    Forks::handed(1);
    tbb::parallel_invoke([&] { x = fib<Forks>(n - 1); }, [&] { y = fib<Forks>(n - 2); });
    return palio::fib::join(x, y);
}

template <class Forks>
palio::skynet::Below skynet(std::uint64_t first, std::uint64_t size) {
    if (size == 1) return {.sum = first, .tasks = 1};
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    constexpr std::uint64_t last = palio::skynet::children - 1;
    tbb::task_group ten;
    for (std::uint64_t child = 0; child < last; ++child) {
        Forks::handed(1);
        ten.run([&below, child, first, part] { below[child] = skynet<Forks>(first + child * part, part); });
    }
    ten.run_and_wait([&below, first, part] { below[last] = skynet<Forks>(first + last * part, part); });
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    return all;
}

template <class Forks>
palio::nqueens::Below place(const palio::nqueens::Placement& placement) {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) return all;
    std::array<std::uint8_t, palio::nqueens::n_max> legal;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (placement.is_legal(column)) legal[children++] = column;
    }
    if (children == 0) return all;
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    const auto task = [&](std::size_t child) {
        return [&result = below[child], child = placement.with(legal[child])] { result = place<Forks>(child); };
    };
    tbb::task_group row;
    for (std::size_t child = 0; child + 1 < children; ++child) {
        Forks::handed(1);
        row.run(task(child));
    }
    row.run_and_wait(task(children - 1));
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    return all;
}

template <class Forks>
std::uint64_t multiply(const palio::matmul::Product& product) {
    if (product.is_base()) {
        product.multiply();
        return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21, c22;
        Forks::handed(3);
        tbb::parallel_invoke([&] { c11 = multiply<Forks>(product.quadrant(0, 0, middle)); },
                             [&] { c12 = multiply<Forks>(product.quadrant(0, 1, middle)); },
                             [&] { c21 = multiply<Forks>(product.quadrant(1, 0, middle)); },
                             [&] { c22 = multiply<Forks>(product.quadrant(1, 1, middle)); });
        blocks += c11 + c12 + c21 + c22;
    }
    return blocks;
}

palio::unbalanced_tree::Below search(palio::unbalanced_tree::Node node, std::size_t children,
                                     const palio::unbalanced_tree::Shape& shape) {
    palio::unbalanced_tree::Below all = node.own();
    if (children == 0) return all;
    std::vector<palio::unbalanced_tree::Below> below(children);
    const auto task = [&](std::size_t i) {
        return [&result = below[i], child = node.child(i), &shape] { result = search(child, child.children(shape), shape); };
    };
    tbb::task_group row;
    for (std::size_t i = 0; i + 1 < children; ++i) row.run(task(i));
    row.run_and_wait(task(children - 1));
    for (const auto& child : below) all += child;
    return all;
}

std::uint64_t sort(palio::quicksort::Part part, std::size_t leaf) {
    if (part.size() <= leaf) {
        palio::quicksort::sort_here(part);
        return 1;
    }
    const std::size_t middle = palio::quicksort::partition(part);
    std::uint64_t left, right;
    tbb::parallel_invoke([&] { left = sort(part.first(middle), leaf); },
                         [&] { right = sort(part.subspan(middle), leaf); });
    return 1 + left + right;
}

// Joins the workers when it goes; left to the exit of the process, they would only be abandoned.
class Scheduler {
public:
    Scheduler() : handle_(tbb::attach{}) {}
    ~Scheduler() { tbb::finalize(handle_, std::nothrow); }

private:
    tbb::task_scheduler_handle handle_;
};

// TBB's own for a worker, on 64 bits.
constexpr std::size_t stack_kib_default = 4096;

// Exactly `threads` threads, the calling one among them: it takes the arena's reserved slot for as
// long as it executes.
class Runtime {
public:
    Runtime(std::size_t threads, std::optional<std::size_t> stack_kib)
        : limit_(tbb::global_control::max_allowed_parallelism, threads), arena_(static_cast<int>(threads)) {
        if (stack_kib) stacks_.emplace(tbb::global_control::thread_stack_size, *stack_kib * 1024);
        arena_.initialize();
    }

    template <class Function>
    auto execute(Function&& function) {
        return arena_.execute(std::forward<Function>(function));
    }

private:
    Scheduler scheduler_;
    // TBB's own limit is the number of CPUs, and an arena alone could not go beyond it.
    tbb::global_control limit_;
    std::optional<tbb::global_control> stacks_;
    tbb::task_arena arena_;
};

// `function`, run inside an arena of the threads asked for.
auto inside(palio::Request& request, auto function) {
    const auto stack_kib = request.knob<std::size_t>("stack_kib");
    if (stack_kib && (*stack_kib < 64 || *stack_kib > 1 << 20)) {
        throw palio::Refusal::misuse("--set stack_kib=" + std::to_string(*stack_kib) + " is not from 64 to 1048576");
    }
    return [runtime = std::make_shared<Runtime>(request.threads(), stack_kib), function](const auto&... args) {
        return runtime->execute([&] { return function(args...); });
    };
}

// The scheduler is in the library and the tasks are in the headers: both versions count.
std::string version() {
    std::string version = TBB_runtime_version();
    if (TBB_runtime_interface_version() != TBB_INTERFACE_VERSION) version += " (headers " TBB_VERSION_STRING ")";
    return version;
}

}  // namespace

int main(int argc, char** argv) {
    using palio::Request;
    return palio::serve(
        {
            .id = "onetbb",
            .runtime = "oneTBB",
            .version = version(),
            .workloads =
                {
                    PALIO_FORKING(fib, fib),
                    PALIO_FORKING(skynet, skynet),
                    PALIO_FORKING(nqueens, place),
                    PALIO_FORKING(matmul, multiply),
                    {"held_out/unbalanced_tree",
                     [](Request& r) { return palio::unbalanced_tree::prepare(r, inside(r, search)); }},
                    {"held_out/quicksort", [](Request& r) { return palio::quicksort::prepare(r, inside(r, sort)); }},
                },
            .knobs = {{"stack_kib", std::to_string(stack_kib_default)}},
        },
        argc, argv);
}
