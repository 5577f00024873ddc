package main

import "palio/contenders/go/harness"

// requestsRoom is the workload's own number.
const requestsRoom = 10

// question carries the channel on which it wants to be answered.
type question struct {
	number uint64
	answer chan<- uint64
}

func prepareRequestReply(root rooting) harness.Prepare {
	return func(request *harness.Request) (harness.Work, error) {
		requests, err := request.Between("requests", 0, countMax)
		if err != nil {
			return harness.Work{}, err
		}
		if err := startScheduler(request); err != nil {
			return harness.Work{}, err
		}
		questions := make(chan question, requestsRoom)
		go serve(questions)
		return root(func() harness.Iteration {
			return requestReply(questions, requests)
		}).StoppedBy(func() { close(questions) }), nil
	}
}

// serve answers as long as there may be questions: in all iterations.
func serve(questions <-chan question) {
	for question := range questions {
		question.answer <- question.number + 1
	}
}

// requestReply is the client.
func requestReply(questions chan<- question, requests uint64) harness.Iteration {
	var all harness.Iteration
	for number := range requests {
		answer := make(chan uint64, 1)
		questions <- question{salt + number, answer}
		all.Answer += <-answer
		all.Work++
	}
	all.Ops = all.Work
	return all
}
