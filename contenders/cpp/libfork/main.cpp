// libfork: fork every child but the last, call the last, join.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include <libfork.hpp>

#include "palio.hpp"
#include "workloads/fib.hpp"
#include "workloads/forking.hpp"
#include "workloads/matmul.hpp"
#include "workloads/nqueens.hpp"
#include "workloads/skynet.hpp"

namespace {

template <class Forks>
constexpr auto fib = [](auto self, palio::fib::Argument n) -> lf::task<palio::fib::Packed> {
    if (palio::fib::is_leaf(n)) co_return n;
    palio::fib::Packed x, y;
    Forks::handed(1);
    co_await lf::fork[&x, self](n - 1);
    co_await lf::call[&y, self](n - 2);
    co_await lf::join;
    co_return palio::fib::join(x, y);
};

template <class Forks>
constexpr auto skynet = [](auto self, std::uint64_t first, std::uint64_t size) -> lf::task<palio::skynet::Below> {
    if (size == 1) co_return palio::skynet::Below{.sum = first, .tasks = 1};
    constexpr std::uint64_t last = palio::skynet::children - 1;
    const std::uint64_t part = size / palio::skynet::children;
    std::array<palio::skynet::Below, palio::skynet::children> below;
    for (std::uint64_t child = 0; child < last; ++child) {
        Forks::handed(1);
        co_await lf::fork[&below[child], self](first + child * part, part);
    }
    co_await lf::call[&below[last], self](first + last * part, part);
    co_await lf::join;
    palio::skynet::Below all{.sum = 0, .tasks = 1};
    for (const auto& child : below) all += child;
    co_return all;
};

template <class Forks>
constexpr auto place = [](auto self, palio::nqueens::Placement placement) -> lf::task<palio::nqueens::Below> {
    palio::nqueens::Below all = placement.own();
    if (placement.is_full()) co_return all;
    std::array<palio::nqueens::Below, palio::nqueens::n_max> below;
    std::size_t children = 0;
    for (std::uint8_t column = 0; column < placement.n; ++column) {
        if (!placement.is_legal(column)) continue;
        Forks::handed(1);
        co_await lf::fork[&below[children++], self](placement.with(column));
    }
    co_await lf::join;
    for (std::size_t child = 0; child < children; ++child) all += below[child];
    co_return all;
};

template <class Forks>
constexpr auto multiply = [](auto self, palio::matmul::Product product) -> lf::task<std::uint64_t> {
    if (product.is_base()) {
        product.multiply();
        co_return 1;
    }
    std::uint64_t blocks = 0;
    for (const std::size_t middle : {0, 1}) {
        std::uint64_t c11, c12, c21, c22;
        Forks::handed(3);
        co_await lf::fork[&c11, self](product.quadrant(0, 0, middle));
        co_await lf::fork[&c12, self](product.quadrant(0, 1, middle));
        co_await lf::fork[&c21, self](product.quadrant(1, 0, middle));
        co_await lf::call[&c22, self](product.quadrant(1, 1, middle));
        co_await lf::join;
        blocks += c11 + c12 + c21 + c22;
    }
    co_return blocks;
};

// `function`, run by a pool of the threads asked for, while this thread waits.
auto inside(const palio::Request& request, auto function) {
    return [pool = std::make_shared<lf::lazy_pool>(request.threads()), function](const auto&... args) {
        return lf::sync_wait(*pool, function, args...);
    };
}

#define PALIO_TEXT_OF(value) #value
#define PALIO_TEXT(value) PALIO_TEXT_OF(value)

// The library is its headers, so that their version is what is linked.
const char* const version =
    PALIO_TEXT(LF_VERSION_MAJOR) "." PALIO_TEXT(LF_VERSION_MINOR) "." PALIO_TEXT(LF_VERSION_PATCH);

}  // namespace

int main(int argc, char** argv) {
    return palio::serve(
        {
            .id = "libfork",
            .runtime = "libfork",
            .version = version,
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
