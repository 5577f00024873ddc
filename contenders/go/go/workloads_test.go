package main

import (
	"fmt"
	"runtime"
	"testing"
	"unsafe"

	"palio/contenders/go/harness"
)

// onThreads runs a test on fewer, as many and more threads than a small machine has.
func onThreads(t *testing.T, test func(t *testing.T)) {
	for _, threads := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(threads), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
			test(t)
		})
	}
}

// seasoned sets the salt, and returns what takes it back.
func seasoned(with uint64) func() {
	before := salt
	salt = with
	return func() { salt = before }
}

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s gave %v, not %v", what, got, want)
	}
}

func TestFib(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, salt := range []uint64{0, 2, 0xFFFF_FFFE} {
			// Value and value of n+1: there is one fork fewer than the latter, and one leaf more.
			value, next := uint64(0), uint64(1)
			for n := range uint64(17) {
				result := fib(salt*oneFork + n)
				expect(t, fmt.Sprint("fib ", n), result, value+(next-1)*oneFork+next*salt*oneFork)
				expect(t, fmt.Sprint("forks of ", n), forks(uint32(result/oneFork), uint32(salt)), uint32(next-1))
				value, next = next, value+next
			}
		}
	})
}

func TestSkynet(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		tasks := uint64(0)
		for leaves := uint64(1); leaves <= 1000; leaves *= 10 {
			tasks += leaves
			for _, salt := range []uint64{0, 1<<64 - 5} {
				sum := leaves*(leaves-1)/2 + leaves*salt
				expect(t, fmt.Sprint("skynet ", leaves), skynet(salt, leaves), subtree{sum, tasks})
			}
		}
	})
}

func TestNqueens(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		defer seasoned(7)()
		for n := 1; n <= 7; n++ {
			expect(t, fmt.Sprint("nqueens ", n), tryRow(board{}, 0, n), placeBySets(0, n, 0, 0, 0, 0))
		}
	})
}

// placeBySets counts the same by other means: columns and diagonals under attack are bits.
func placeBySets(row, n, last int, columns, rising, falling uint64) (all placements) {
	if row == n {
		return placements{solutions: harness.Mix(salt, uint64(last))}
	}
	for column := range n {
		c, r, f := uint64(1)<<column, uint64(1)<<(row+column), uint64(1)<<(row-column+n)
		if columns&c == 0 && rising&r == 0 && falling&f == 0 {
			below := placeBySets(row+1, n, column, columns|c, rising|r, falling|f)
			all.solutions += below.solutions
			all.made += below.made + 1
		}
	}
	return all
}

func TestMatmul(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, n := range []int{32, 64, 128} {
			const salt = 7
			at := func(i, j int) uint64 { return uint64(i*n + j) }
			var sum uint64
			for i := range n {
				for j := range n {
					for k := range n {
						a, b := harness.Mix(salt, at(i, k))%5, harness.Mix(salt, at(n, 0)+at(k, j))%7
						sum += a * b * uint64(1+(i+3*j)%11)
					}
				}
			}
			bases := uint64(n / 32 * n / 32 * n / 32)
			m := newMultiplication(n, salt)
			for _, matrix := range []block{m.a, m.b, m.c} {
				// Go's allocator sees to it by its size classes; the definition demands it.
				if start := uintptr(unsafe.Pointer(&matrix.elements[0])); start%64 != 0 {
					t.Errorf("a matrix of %d rows starts at %#x, which is no multiple of 64", n, start)
				}
			}
			// Twice, since C must have been cleared between.
			for range 2 {
				m.Prepare()
				m.Run()
				expect(t, fmt.Sprint("matmul ", n), m.Finish(), harness.Iteration{Answer: sum, Ops: bases, Work: bases})
			}
		}
	})
}
