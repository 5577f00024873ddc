package main

import (
	"runtime"
	"sync"
	"time"

	"palio/contenders/go/harness"
)

// grind is work of so many steps, none of which can start before the one before it has ended.
func grind(value, key uint64, steps int) uint64 {
	for range steps {
		value = harness.Mix(value, key)
	}
	return value
}

// shape is what decides the shape of an unbalanced tree: the children of the root, those of any
// other node that has some, and in how many of 10,000 cases it has some.
type shape struct {
	roots, branches int
	chance          uint64
}

func prepareUnbalancedTree(request *harness.Request) (harness.Work, error) {
	seed, err := request.Between("seed", 0, 1<<64-1)
	if err != nil {
		return harness.Work{}, err
	}
	roots, err := request.Between("roots", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	branches, err := request.Between("branches", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	chance, err := request.Between("chance", 0, 10_000)
	if err != nil {
		return harness.Work{}, err
	}
	if branches*chance >= 10_000 {
		return harness.Work{}, harness.Misuse("--set branches=%d and chance=%d: the tree may have no end", branches, chance)
	}
	tree := shape{roots: int(roots), branches: int(branches), chance: chance}
	return harness.Plain(func() harness.Iteration {
		whole := onGoroutine(func() subtree { return tree.search(seed, tree.roots) })
		return harness.Iteration{Answer: whole.sum, Ops: whole.tasks, Work: whole.tasks}
	}), startScheduler(request)
}

func (s shape) children(node uint64) int {
	if harness.Mix(node, 0)%10_000 < s.chance {
		return s.branches
	}
	return 0
}

// search forks a goroutine for each child but the last, which runs in place. Most nodes have none,
// and need no slice.
func (s shape) search(node uint64, children int) subtree {
	whole := subtree{sum: harness.Mix(salt, node), tasks: 1}
	if children == 0 {
		return whole
	}
	var done sync.WaitGroup
	results := make([]subtree, children)
	last := children - 1
	done.Add(last)
	for i := range last {
		go func() {
			child := harness.Mix(node, uint64(i)+1)
			results[i] = s.search(child, s.children(child))
			done.Done()
		}()
	}
	child := harness.Mix(node, uint64(children))
	results[last] = s.search(child, s.children(child))
	done.Wait()
	for _, child := range results {
		whole.sum += child.sum
		whole.tasks += child.tasks
	}
	return whole
}

func preparePhases(request *harness.Request) (harness.Work, error) {
	cells, err := request.Between("cells", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	phases, err := request.Between("phases", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	steps, err := request.Between("steps", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return phasesOf(int(cells), int(phases), int(steps)) })
	}), startScheduler(request)
}

// phasesOf writes the next values into another slice, as tasks of one phase read their neighbours'.
func phasesOf(cells, phases, steps int) harness.Iteration {
	values, next := make([]uint64, cells), make([]uint64, cells)
	for i := range values {
		values[i] = harness.Mix(salt, uint64(i))
	}
	var all harness.Iteration
	for range phases {
		var done sync.WaitGroup
		done.Add(cells)
		for i := range next {
			go func() {
				mixed := values[(i+cells-1)%cells] + 3*values[i] + 5*values[(i+1)%cells]
				next[i] = grind(mixed, uint64(i), steps)
				done.Done()
			}()
		}
		done.Wait()
		all.Work += uint64(cells)
		values, next = next, values
	}
	for _, value := range values {
		all.Answer += value
	}
	all.Ops = all.Work
	return all
}

// pipelineSteps are the steps that each stage takes for a value.
var pipelineSteps = [...]int{1, 32, 4, 128, 8}

func preparePipeline(request *harness.Request) (harness.Work, error) {
	values, err := request.Between("values", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	room, err := request.Between("room", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return pipeline(values, int(room)) })
	}), startScheduler(request)
}

// pipeline ends its channels by closing them, stage after stage.
func pipeline(values uint64, room int) harness.Iteration {
	source := make(chan uint64, room)
	go func() {
		for i := range values {
			source <- salt + i
		}
		close(source)
	}()
	var received [len(pipelineSteps)]uint64
	from := source
	for stage, steps := range pipelineSteps {
		inbox, to := from, make(chan uint64, room)
		go func() {
			for value := range inbox {
				received[stage]++
				to <- grind(value, uint64(stage), steps)
			}
			close(to)
		}()
		from = to
	}
	var all harness.Iteration
	for value := range from {
		all.Answer += value
		all.Ops++
	}
	// A closed channel says that the stage before it has ended.
	all.Work = all.Ops
	for _, count := range received {
		all.Work += count
	}
	return all
}

// message goes down to an actor's children, or up to its parent.
type message struct {
	value uint64
	up    bool
}

const actorChildren = 2

func prepareBroadcast(request *harness.Request) (harness.Work, error) {
	levels, err := request.Between("levels", 1, 24)
	if err != nil {
		return harness.Work{}, err
	}
	rounds, err := request.Between("rounds", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return broadcastDown(int(levels), rounds) })
	}), startScheduler(request)
}

func broadcastDown(levels int, rounds uint64) harness.Iteration {
	own := make(chan message, 1)
	counts := make(chan uint64, 1<<levels)
	top := spawnActor(levels, rounds, own, counts)
	var all harness.Iteration
	for round := range rounds {
		top <- message{value: harness.Mix(salt, round)}
		all.Answer += (<-own).value
		all.Ops++
	}
	all.Work = all.Ops
	for range 1<<levels - 1 {
		all.Work += <-counts
	}
	return all
}

// spawnActor starts an actor and all below it. At most as many messages wait for one as it has
// children, so that no actor waits for room.
func spawnActor(levels int, rounds uint64, parent chan<- message, counts chan<- uint64) chan<- message {
	inbox := make(chan message, actorChildren)
	var children []chan<- message
	if levels > 1 {
		for range actorChildren {
			children = append(children, spawnActor(levels-1, rounds, inbox, counts))
		}
	}
	go func() { counts <- actor(rounds, inbox, parent, children) }()
	return inbox
}

// actor answers every value that comes down, and returns how many messages it got.
func actor(rounds uint64, inbox <-chan message, parent chan<- message, children []chan<- message) uint64 {
	received := uint64(0)
	for range rounds {
		down := <-inbox
		received++
		sum := down.value
		if len(children) > 0 {
			sum = 0
		}
		for i, child := range children {
			child <- message{value: harness.Mix(down.value, uint64(i)+1)}
		}
		for range children {
			below := <-inbox
			if !below.up {
				panic("the parent waits for the answer")
			}
			received++
			sum += below.value
		}
		parent <- message{value: sum, up: true}
	}
	return received
}

func prepareDeadlines(request *harness.Request) (harness.Work, error) {
	tasks, err := request.Between("tasks", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return deadlines(int(tasks)) })
	}), startScheduler(request)
}

func deadlines(tasks int) harness.Iteration {
	var done sync.WaitGroup
	results := make([]uint64, tasks)
	done.Add(tasks)
	for i := range results {
		go func() {
			results[i] = withDeadline(harness.Mix(salt, uint64(i)))
			done.Done()
		}()
	}
	done.Wait()
	var all harness.Iteration
	for _, result := range results {
		all.Answer += result
		// Nobody waits less than a millisecond: a slot of 0 is a task that never ended.
		if result > 0 {
			all.Work++
		}
	}
	all.Ops = all.Work
	return all
}

// withDeadline waits for work or for its deadline, and stops the timer of the other one.
func withDeadline(number uint64) uint64 {
	milliseconds := 1 + (number>>1)%8
	short := time.Duration(milliseconds) * time.Millisecond
	work, limit := time.Second, short
	if number%2 == 1 {
		work, limit = short, time.Second
	}
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	worked := time.NewTimer(work)
	defer worked.Stop()
	select {
	case <-worked.C:
		return milliseconds
	case <-deadline.C:
		return 100 + milliseconds
	}
}

// Of a request: its tasks that compute, and how often the third one yields.
const (
	computeTasks = 2
	taskYields   = 4
)

func prepareRequests(request *harness.Request) (harness.Work, error) {
	requests, err := request.Between("requests", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	steps, err := request.Between("steps", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return requestsOf(int(requests), int(steps)) })
	}), startScheduler(request)
}

func requestsOf(requests, steps int) harness.Iteration {
	var done sync.WaitGroup
	results := make([]subtree, requests)
	done.Add(requests)
	for i := range results {
		go func() {
			results[i] = fanOut(harness.Mix(salt, uint64(i)), steps)
			done.Done()
		}()
	}
	done.Wait()
	all := harness.Iteration{Ops: uint64(requests)}
	for _, result := range results {
		all.Answer += result.sum
		all.Work += result.tasks
	}
	return all
}

// fanOut is one request: the sum of its four tasks, and the tasks, its own included.
func fanOut(value uint64, steps int) subtree {
	var children struct {
		done    sync.WaitGroup
		results [computeTasks + 1]subtree
	}
	sent := make(chan uint64, 1)
	children.done.Add(computeTasks + 2)
	for i := range computeTasks {
		go func() {
			key := uint64(i) + 1
			children.results[i] = subtree{sum: grind(value+key, key, steps), tasks: 1}
			children.done.Done()
		}()
	}
	go func() {
		for range taskYields {
			runtime.Gosched()
		}
		children.results[computeTasks] = subtree{sum: harness.Mix(value, computeTasks+1), tasks: 1}
		children.done.Done()
	}()
	go func() {
		sent <- harness.Mix(value, computeTasks+2)
		children.done.Done()
	}()
	whole := subtree{sum: <-sent, tasks: 2}
	children.done.Wait()
	for _, child := range children.results {
		whole.sum += child.sum
		whole.tasks += child.tasks
	}
	return whole
}
