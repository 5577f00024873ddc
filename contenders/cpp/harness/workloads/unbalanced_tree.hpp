// A tree whose shape only its own search shows: what is the work
// (workloads/held_out/unbalanced_tree.toml), without the forking.
#pragma once

#include <cstddef>
#include <cstdint>

#include "palio.hpp"

namespace palio::unbalanced_tree {

// The salt. Read at a node and not passed down to it: it would make every task larger.
inline std::uint64_t salt = 0;

// What decides the shape of a tree.
struct Shape {
    // Children of the root.
    std::size_t roots;
    // Children of any other node that has some.
    std::size_t branches;
    // In how many of 10,000 cases it has some.
    std::uint64_t chance;
};

// What the subtree of one task did.
struct Below {
    std::uint64_t sum;
    std::uint64_t nodes;

    Below& operator+=(const Below& child) {
        sum += child.sum;
        nodes += child.nodes;
        return *this;
    }
};

// One node: a number from which its whole subtree follows.
struct Node {
    std::uint64_t state;

    Below own() const { return {.sum = mix(salt, state), .nodes = 1}; }

    // How many children a node has that is not the root.
    std::size_t children(const Shape& shape) const { return mix(state, 0) % 10'000 < shape.chance ? shape.branches : 0; }

    Node child(std::size_t i) const { return {mix(state, i + 1)}; }
};

// `root(node, children, shape)` runs the root task inside the runtime and gives its Below.
template <class Root>
Work prepare(Request& request, Root root) {
    const Node node{request.param<std::uint64_t>("seed")};
    const Shape shape{.roots = request.param<std::size_t>("roots"),
                      .branches = request.param<std::size_t>("branches"),
                      .chance = request.param<std::uint64_t>("chance")};
    if (shape.chance > 10'000 || shape.branches > 10'000 || shape.branches * shape.chance >= 10'000) {
        throw Refusal::misuse("--set branches and chance: the tree may have no end");
    }
    salt = request.salt();
    return Work::plain([=] {
        const Below all = root(node, shape.roots, shape);
        return Iteration{.answer = all.sum, .ops = all.nodes, .work = all.nodes};
    });
}

}  // namespace palio::unbalanced_tree
