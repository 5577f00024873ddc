package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// baseSize is the side of the blocks that are multiplied in place.
const baseSize = 32

func prepareMatmul(request *harness.Request) (harness.Work, error) {
	n, err := request.Between("n", baseSize, 1<<14)
	if err != nil {
		return harness.Work{}, err
	}
	if n&(n-1) != 0 {
		return harness.Work{}, harness.Misuse("--set n=%d is not a power of two", n)
	}
	return countingGoroutines(harness.Staged(newMultiplication(int(n), request.Salt))), startScheduler(request)
}

// multiplication is C += A * B, with C cleared before every iteration.
type multiplication struct {
	n       int
	a, b, c block
	bases   uint64
}

func newMultiplication(n int, salt uint64) *multiplication {
	newMatrix := func() block { return block{elements: make([]int32, n*n), stride: n} }
	m := &multiplication{n: n, a: newMatrix(), b: newMatrix(), c: newMatrix()}
	for i := range n {
		for j := range n {
			at := i*n + j
			m.a.elements[at] = int32(harness.Mix(salt, uint64(at)) % 5)
			// Its elements are numbered on from those of a.
			m.b.elements[at] = int32(harness.Mix(salt, uint64(n*n+at)) % 7)
		}
	}
	return m
}

func (m *multiplication) Prepare() { clear(m.c.elements) }

func (m *multiplication) Run() { m.bases = multiply(m.c, m.a, m.b, m.n) }

func (m *multiplication) Finish() harness.Iteration {
	var sum uint64
	for i := range m.n {
		for j := range m.n {
			sum += uint64(m.c.elements[i*m.n+j]) * uint64(1+(i+3*j)%11)
		}
	}
	return harness.Iteration{Answer: sum, Ops: m.bases, Work: m.bases}
}

// block is a square part of a row-major matrix: it starts at the first element, and its rows are
// stride apart.
type block struct {
	elements []int32
	stride   int
}

// quadrants cuts a block of side 2*half.
func (b block) quadrants(half int) (q11, q12, q21, q22 block) {
	at := func(row, column int) block { return block{b.elements[row*b.stride+column:], b.stride} }
	return at(0, 0), at(0, half), at(half, 0), at(half, half)
}

// multiply does c += a * b for blocks of side n, and returns the number of base cases.
func multiply(c, a, b block, n int) uint64 {
	if n == baseSize {
		multiplyBase(c, a, b)
		return 1
	}
	half := n / 2
	c11, c12, c21, c22 := c.quadrants(half)
	a11, a12, a21, a22 := a.quadrants(half)
	b11, b12, b21, b22 := b.quadrants(half)
	bases := multiplyFour([4]product{{c11, a11, b11}, {c12, a11, b12}, {c21, a21, b11}, {c22, a21, b12}}, half)
	return bases + multiplyFour([4]product{{c11, a12, b21}, {c12, a12, b22}, {c21, a22, b21}, {c22, a22, b22}}, half)
}

// product is one call to multiply.
type product struct{ c, a, b block }

// multiplyFour forks four calls and joins them; the last one runs in place.
func multiplyFour(products [4]product, n int) uint64 {
	var forked struct {
		done  sync.WaitGroup
		bases [3]uint64
	}
	forked.done.Add(len(forked.bases))
	for i := range forked.bases {
		p := products[i]
		go func() {
			forked.bases[i] = multiply(p.c, p.a, p.b, n)
			forked.done.Done()
		}()
	}
	bases := multiply(products[3].c, products[3].a, products[3].b, n)
	forked.done.Wait()
	for _, more := range forked.bases {
		bases += more
	}
	return bases
}

// multiplyBase is the plain triple loop. The rows are cut to a constant length, so that the
// compiler need not check every index of the innermost loop.
func multiplyBase(c, a, b block) {
	for i := range baseSize {
		cRow := c.elements[i*c.stride:][:baseSize]
		aRow := a.elements[i*a.stride:][:baseSize]
		for k := range baseSize {
			bRow := b.elements[k*b.stride:][:baseSize]
			factor := aRow[k]
			for j := range baseSize {
				cRow[j] += factor * bRow[j]
			}
		}
	}
}
