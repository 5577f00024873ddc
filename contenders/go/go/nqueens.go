package main

import (
	"sync"

	"palio/contenders/go/harness"
)

// rowsMax is the size of a board's array, which Go wants to know when it compiles. A board of fewer
// rows leaves the rest unused, and copying 16 bytes costs no more than copying 14.
const rowsMax = 16

// board holds the column of the queen in each row.
type board [rowsMax]byte

// placements is what a task returns: the weights of the solutions below it and the placements made,
// its own included.
type placements struct{ solutions, made uint64 }

func prepareNqueens(request *harness.Request) (harness.Work, error) {
	n, err := request.Between("n", 1, 255)
	if err != nil {
		return harness.Work{}, err
	}
	if n > rowsMax {
		return harness.Work{}, harness.Unsupported("go has boards of at most %d rows, not --set n=%d", rowsMax, n)
	}
	return countingGoroutines(harness.Plain(func() harness.Iteration {
		all := tryRow(board{}, 0, int(n))
		return harness.Iteration{Answer: all.solutions, Ops: all.made, Work: all.made}
	})), startScheduler(request)
}

// place is a task: the last queen on the board was put into the row above this one.
func place(queens board, row, n int) placements {
	if row == n {
		// A solution counts what the column of its last queen is mixed to.
		return placements{solutions: harness.Mix(salt, uint64(queens[row-1])), made: 1}
	}
	below := tryRow(queens, row, n)
	below.made++
	return below
}

// tryRow forks a task for each legal placement in a row but the last, which runs in place, and
// joins them.
func tryRow(queens board, row, n int) placements {
	var children struct {
		done    sync.WaitGroup
		results [rowsMax]placements
	}
	forked := 0
	// The last legal column so far. It is forked when there is another one behind it.
	last := -1
	for column := range n {
		if !legal(&queens, row, column) {
			continue
		}
		if last >= 0 {
			child, slot := queens, &children.results[forked]
			child[row] = byte(last)
			forked++
			children.done.Add(1)
			go func() {
				*slot = place(child, row+1, n)
				children.done.Done()
			}()
		}
		last = column
	}
	var all placements
	if last >= 0 {
		child := queens
		child[row] = byte(last)
		all = place(child, row+1, n)
	}
	children.done.Wait()
	for _, child := range children.results[:forked] {
		all.solutions += child.solutions
		all.made += child.made
	}
	return all
}

// legal checks a queen in this column against all rows above, one by one.
func legal(queens *board, row, column int) bool {
	for above := range row {
		apart := int(queens[above]) - column
		if apart == 0 || apart == row-above || apart == above-row {
			return false
		}
	}
	return true
}
