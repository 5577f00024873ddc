// All placements of n queens: what is the work (workloads/nqueens.toml), without the forking.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "palio.hpp"

namespace palio::nqueens {

// The largest board. Its bytes are copied whole, whatever n is: that costs no more than copying 14
// of them, and keeps n a parameter. An array of exactly n bytes would make it a constant, and let
// the compiler unroll what others loop over.
constexpr std::size_t n_max = 16;

// The salt. Read at a solution and not passed down to it: it would make every placement larger.
inline std::uint64_t salt = 0;

// What a task found.
struct Below {
    // The sum of their weights.
    std::uint64_t solutions;
    std::uint64_t placements;

    Below& operator+=(const Below& child) {
        solutions += child.solutions;
        placements += child.placements;
        return *this;
    }
};

// Queens on the first rows of a board.
struct Placement {
    // The column of the queen in each row.
    std::array<std::uint8_t, n_max> board;
    std::uint8_t rows;
    std::uint8_t n;

    bool is_full() const { return rows == n; }

    // What this placement adds to what its children find; the empty board is none.
    Below own() const { return {.solutions = is_full() ? weight() : 0, .placements = rows > 0}; }

    // What a solution counts: the column of its last queen, mixed with the salt.
    std::uint64_t weight() const { return mix(salt, board[rows - 1]); }

    // Whether a queen in the next row is attacked by none of the rows above.
    bool is_legal(std::uint8_t column) const {
        for (int above = 0; above < rows; ++above) {
            const int other = board[above];
            const int distance = rows - above;
            if (other == column || other == column - distance || other == column + distance) return false;
        }
        return true;
    }

    // With one more queen, in the next row.
    Placement with(std::uint8_t column) const {
        Placement child = *this;
        child.board[rows] = column;
        ++child.rows;
        return child;
    }
};

// `root(placement)` runs the empty board inside the runtime and gives its Below.
template <class Root>
Work prepare(Request& request, Root root) {
    const auto n = request.param<std::size_t>("n");
    if (n == 0 || n > n_max) {
        throw Refusal::misuse("--set n=" + std::to_string(n) + " is not in 1..=" + std::to_string(n_max));
    }
    salt = request.salt();
    const Placement empty{.board = {}, .rows = 0, .n = static_cast<std::uint8_t>(n)};
    return Work::plain([=] {
        const Below all = root(empty);
        return Iteration{.answer = all.solutions, .ops = all.placements, .work = all.placements};
    });
}

}  // namespace palio::nqueens
