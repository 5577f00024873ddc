// Quicksort: what is the work (workloads/held_out/quicksort.toml), without the forking.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "palio.hpp"

namespace palio::quicksort {

// Parts of no more than these are sorted by insertion.
constexpr std::size_t small = 16;

using Part = std::span<std::uint64_t>;

// Hoare's partition around the median of the first, the middle and the last; how many are left of
// it.
inline std::size_t partition(Part part) {
    const std::uint64_t first = part.front(), middle = part[part.size() / 2], last = part.back();
    const std::uint64_t pivot = std::max(std::min(first, middle), std::min(std::max(first, middle), last));
    for (std::size_t left = 0, right = part.size() - 1;; ++left, --right) {
        while (part[left] < pivot) ++left;
        while (part[right] > pivot) --right;
        if (left >= right) return right + 1;
        std::swap(part[left], part[right]);
    }
}

// Sorts what is too small for a task. Never inlined, as in the other languages.
[[gnu::noinline]] inline void sort_here(Part part) {
    while (part.size() > small) {
        const std::size_t middle = partition(part);
        sort_here(part.first(middle));
        part = part.subspan(middle);
    }
    for (std::size_t end = 1; end < part.size(); ++end) {
        const std::uint64_t value = part[end];
        std::size_t at = end;
        for (; at > 0 && part[at - 1] > value; --at) part[at] = part[at - 1];
        part[at] = value;
    }
}

// `root(part, leaf)` sorts inside the runtime and gives the number of tasks.
template <class Root>
class Stages : public Staged {
public:
    Stages(std::vector<std::uint64_t> unsorted, std::size_t leaf, Root root)
        : unsorted_(std::move(unsorted)), sorted_(unsorted_), leaf_(leaf), root_(std::move(root)) {}

    void prepare() override { std::copy(unsorted_.begin(), unsorted_.end(), sorted_.begin()); }
    void run() override { tasks_ = root_(Part(sorted_), leaf_); }
    Iteration finish() override {
        std::uint64_t answer = 0, rank = 0;
        for (const std::uint64_t value : sorted_) answer += ++rank * value;
        return {.answer = answer, .ops = sorted_.size(), .work = tasks_};
    }

private:
    std::vector<std::uint64_t> unsorted_, sorted_;
    std::size_t leaf_;
    Root root_;
    std::uint64_t tasks_ = 0;
};

template <class Root>
Work prepare(Request& request, Root root) {
    const auto n = request.param<std::size_t>("n");
    const auto leaf = request.param<std::size_t>("leaf");
    if (leaf < small || n > std::size_t{1} << 30) {
        throw Refusal::misuse("--set n and leaf: at most 2^30 numbers, and leaves of at least " + std::to_string(small));
    }
    // The salt raises all of them alike, so that their order, and with it the tasks, hangs on their
    // places alone.
    std::vector<std::uint64_t> unsorted(n);
    for (std::size_t i = 0; i < n; ++i) unsorted[i] = (mix(0, i) >> 1) + (request.salt() >> 1);
    return Work::staged(std::make_unique<Stages<Root>>(std::move(unsorted), leaf, std::move(root)));
}

}  // namespace palio::quicksort
