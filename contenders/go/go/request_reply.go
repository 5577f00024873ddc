package main

import "palio/contenders/go/harness"

// requestsRoom is the workload's own number.
const requestsRoom = 10

// question carries the channel on which it wants to be answered.
type question struct {
	number uint64
	answer chan<- uint64
}

func prepareRequestReply(request *harness.Request) (harness.Work, error) {
	requests, err := request.Between("requests", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return requestReply(requests) })
	}), startScheduler(request)
}

// requestReply is the client; the server lives as long as it has questions.
func requestReply(requests uint64) harness.Iteration {
	questions := make(chan question, requestsRoom)
	go func() {
		for question := range questions {
			question.answer <- question.number + 1
		}
	}()
	var all harness.Iteration
	for number := range requests {
		answer := make(chan uint64, 1)
		questions <- question{salt + number, answer}
		all.Answer += <-answer
		all.Work++
	}
	close(questions)
	all.Ops = all.Work
	return all
}
