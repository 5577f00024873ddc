package main

import (
	"runtime"
	"time"
)

// bell passes a moment to the one goroutine that waits for it. A channel without a buffer, since a
// send that does not wait succeeds only when the receiver is parked.
type bell chan time.Time

// tryRing rings if the goroutine sleeps.
func (b bell) tryRing() bool {
	select {
	case b <- time.Now():
		return true
	default:
		return false
	}
}

// ring yields until the goroutine sleeps.
func (b bell) ring() {
	for !b.tryRing() {
		runtime.Gosched()
	}
}

func (b bell) heard() time.Time { return <-b }
