package main

import (
	"net"

	"palio/contenders/go/harness"
)

// descriptorsBeside is how many descriptors a process may have open that are no connections.
const descriptorsBeside = 64

func prepareTCPPingPong(request *harness.Request) (harness.Work, error) {
	connections, err := request.Between("connections", 1, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	roundTrips, err := request.Between("round_trips", 0, countMax)
	if err != nil {
		return harness.Work{}, err
	}
	if err := allowDescriptors(2*connections + descriptorsBeside); err != nil {
		return harness.Work{}, err
	}
	return harness.Plain(func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return tcpPingPong(int(connections), int(roundTrips)) })
	}), startScheduler(request)
}

// received is what one side of a connection has read.
type received struct{ sum, bytes, roundTrips uint64 }

// tcpPingPong is the root. An error of a socket is a panic in whatever goroutine has it, which ends
// the process.
func tcpPingPong(connections, roundTrips int) harness.Iteration {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	refuseToGoOn(err)
	// Room for both sides, so that nobody waits for the root.
	done := make(chan received, 2*connections)
	for i := range connections {
		key := byte(harness.Mix(salt, uint64(i)) | 1)
		go func() {
			connection, err := net.Dial("tcp4", listener.Addr().String())
			refuseToGoOn(err)
			done <- answer(connection, roundTrips, key)
		}()
	}
	for range connections {
		connection, err := listener.Accept()
		refuseToGoOn(err)
		go func() { done <- begin(connection, roundTrips) }()
	}
	var all harness.Iteration
	for range 2 * connections {
		side := <-done
		all.Answer += side.sum
		all.Ops += side.roundTrips
		all.Work += side.bytes
	}
	refuseToGoOn(listener.Close())
	return all
}

// begin is the accepting side: it writes what it read last, and 0 at first.
func begin(connection net.Conn, roundTrips int) (all received) {
	var one [1]byte
	for range roundTrips {
		write(connection, one[:])
		all.add(read(connection, one[:]))
		all.roundTrips++
	}
	refuseToGoOn(connection.Close())
	return all
}

// answer is the connecting side: it writes what it read plus its key.
func answer(connection net.Conn, roundTrips int, key byte) (all received) {
	var one [1]byte
	for range roundTrips {
		all.add(read(connection, one[:]))
		one[0] += key
		write(connection, one[:])
	}
	refuseToGoOn(connection.Close())
	return all
}

func (r *received) add(one byte) {
	r.sum += uint64(one)
	r.bytes++
}

func read(connection net.Conn, one []byte) byte {
	// A read of one byte gives it or an error, and never neither.
	_, err := connection.Read(one)
	refuseToGoOn(err)
	return one[0]
}

func write(connection net.Conn, one []byte) {
	_, err := connection.Write(one)
	refuseToGoOn(err)
}

func refuseToGoOn(err error) {
	if err != nil {
		panic(err)
	}
}
