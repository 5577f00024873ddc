// Skynet's ten-way tree: what is the work (workloads/skynet.toml), without the forking.
#pragma once

#include <cstdint>

#include "palio.hpp"

namespace palio::skynet {

constexpr std::uint64_t children = 10;

// What the subtree of one task did.
struct Below {
    std::uint64_t sum;
    std::uint64_t tasks;

    Below& operator+=(const Below& child) {
        sum += child.sum;
        tasks += child.tasks;
        return *this;
    }
};

// `root(first, size)` runs the root task, whose indices start from the salt, inside the runtime and
// gives its Below.
template <class Root>
Work prepare(Request& request, Root root) {
    const auto leaves = request.param<std::uint64_t>("leaves");
    auto rest = leaves;
    while (rest != 0 && rest % children == 0) rest /= children;
    if (rest != 1) throw Refusal::misuse("--set leaves=" + std::to_string(leaves) + " is not a power of ten");
    return Work::plain([=, salt = request.salt()] {
        const Below all = root(salt, leaves);
        return Iteration{.answer = all.sum, .ops = all.tasks, .work = all.tasks};
    });
}

}  // namespace palio::skynet
