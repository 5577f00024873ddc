// Recursive matrix multiplication: what is the work (workloads/matmul.toml), without the forking.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "palio.hpp"

namespace palio::matmul {

constexpr std::size_t base_size = 32;

// Three matrices of this size take 3 GiB.
constexpr std::size_t n_max = 16384;

// A square matrix, row by row, which starts on a cache line, as in every language: where it does
// not, every load of a whole vector touches two lines, and the kernel takes twice as long.
class Matrix {
public:
    explicit Matrix(std::size_t n)
        : n_(n), cells_(static_cast<int*>(::operator new[](n * n * sizeof(int), cache_line))) {
        clear();
    }

    int* data() { return cells_.get(); }
    int& at(std::size_t i, std::size_t j) { return cells_[i * n_ + j]; }
    void clear() { std::uninitialized_fill_n(data(), n_ * n_, 0); }

private:
    static constexpr std::align_val_t cache_line{64};
    struct Free {
        void operator()(int* cells) const { ::operator delete[](cells, cache_line); }
    };

    std::size_t n_;
    std::unique_ptr<int[], Free> cells_;
};

// C += A * B for three square blocks, each inside a matrix whose rows are `stride` numbers apart.
struct Product {
    const int* a;
    const int* b;
    int* c;
    std::size_t size;
    std::size_t stride;

    bool is_base() const { return size <= base_size; }

    // C[row][column] += A[row][middle] * B[middle][column], for quadrants.
    Product quadrant(std::size_t row, std::size_t column, std::size_t middle) const {
        const std::size_t half = size / 2;
        return {
            .a = a + (row * stride + middle) * half,
            .b = b + (middle * stride + column) * half,
            .c = c + (row * stride + column) * half,
            .size = half,
            .stride = stride,
        };
    }

    // The base case.
    void multiply() const {
        for (std::size_t i = 0; i < base_size; ++i) multiply_row(a + i * stride, b, c + i * stride, stride);
    }

private:
    // The loops over k and j, on a row of A, all of B and a row of C, which overlaps neither. As in
    // Rust's harness this is a function of its own: Clang believes `__restrict` of a parameter
    // only, and, given the loop over i as well, would compute several rows at once, which no other
    // compiler here does. It is not inlined, so that the surroundings of a contender cannot change
    // its machine code.
    [[gnu::noinline]] static void multiply_row(const int* a, const int* b, int* __restrict c,
                                               std::size_t stride) {
        for (std::size_t k = 0; k < base_size; ++k) {
            for (std::size_t j = 0; j < base_size; ++j) c[j] += a[k] * b[k * stride + j];
        }
    }
};

// `Root(product)` multiplies inside the runtime and gives the number of base cases.
template <class Root>
class Stages final : public Staged {
public:
    Stages(std::size_t n, std::uint64_t salt, Root root) : root_(std::move(root)), n_(n), a_(n), b_(n), c_(n) {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                a_.at(i, j) = static_cast<int>(mix(salt, i * n + j) % 5);
                // Its cells are numbered on from those of A.
                b_.at(i, j) = static_cast<int>(mix(salt, n * n + i * n + j) % 7);
            }
        }
    }

    void prepare() override { c_.clear(); }

    void run() override {
        blocks_ = root_(Product{.a = a_.data(), .b = b_.data(), .c = c_.data(), .size = n_, .stride = n_});
    }

    Iteration finish() override {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n_; ++i) {
            for (std::size_t j = 0; j < n_; ++j) {
                sum += static_cast<std::uint64_t>(c_.at(i, j)) * (1 + (i + 3 * j) % 11);
            }
        }
        return {.answer = sum, .ops = blocks_, .work = blocks_};
    }

private:
    Root root_;
    std::size_t n_;
    Matrix a_;
    Matrix b_;
    Matrix c_;
    std::uint64_t blocks_ = 0;
};

template <class Root>
Work prepare(Request& request, Root root) {
    const auto n = request.param<std::size_t>("n");
    if (n < base_size || n > n_max || !std::has_single_bit(n)) {
        throw Refusal::misuse("--set n=" + std::to_string(n) + " is not a power of two from 32 to 16384");
    }
    return Work::staged(std::make_unique<Stages<Root>>(n, request.salt(), std::move(root)));
}

}  // namespace palio::matmul
