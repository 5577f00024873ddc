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

func expect[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s gave %v, not %v", what, got, want)
	}
}

func TestFib(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		// Value and value of n+1: there is one fork fewer than the latter.
		value, next := uint64(0), uint64(1)
		for n := range uint64(17) {
			expect(t, fmt.Sprint("fib ", n), fib(n), value+(next-1)*oneFork)
			value, next = next, value+next
		}
	})
}

func TestSkynet(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		tasks := uint64(0)
		for leaves := uint64(1); leaves <= 1000; leaves *= 10 {
			tasks += leaves
			expect(t, fmt.Sprint("skynet ", leaves), skynet(0, leaves), subtree{leaves * (leaves - 1) / 2, tasks})
		}
	})
}

func TestNqueens(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for n := 1; n <= 7; n++ {
			expect(t, fmt.Sprint("nqueens ", n), tryRow(board{}, 0, n), placeBySets(0, n, 0, 0, 0))
		}
	})
}

// placeBySets counts the same by other means: columns and diagonals under attack are bits.
func placeBySets(row, n int, columns, rising, falling uint64) (all placements) {
	if row == n {
		return placements{solutions: 1}
	}
	for column := range n {
		c, r, f := uint64(1)<<column, uint64(1)<<(row+column), uint64(1)<<(row-column+n)
		if columns&c == 0 && rising&r == 0 && falling&f == 0 {
			below := placeBySets(row+1, n, columns|c, rising|r, falling|f)
			all.solutions += below.solutions
			all.made += below.made + 1
		}
	}
	return all
}

func TestMatmul(t *testing.T) {
	onThreads(t, func(t *testing.T) {
		for _, n := range []int{32, 64, 128} {
			var sum uint64
			for i := range n {
				for j := range n {
					for k := range n {
						sum += uint64((i+2*k)%5) * uint64((3*k+j)%7) * uint64(1+(i+3*j)%11)
					}
				}
			}
			bases := uint64(n / 32 * n / 32 * n / 32)
			m := newMultiplication(n)
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
