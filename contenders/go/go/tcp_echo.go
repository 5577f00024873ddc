package main

import (
	"encoding/binary"
	"io"
	"net"

	"palio/contenders/go/harness"
)

// prepareTCPEcho listens; Palio asks at a fixed rate.
func prepareTCPEcho(request *harness.Request) (harness.Work, error) {
	values, err := numbers(request, "connections", "bytes", "rate", "requests")
	if err != nil {
		return harness.Work{}, err
	}
	// When requests come, and how many, is for those who ask.
	connections, size := values[0], values[1]
	if size < 8 {
		return harness.Work{}, harness.Misuse("--set bytes=%d: a request has a number", size)
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return harness.Work{}, harness.Unsupported("cannot listen: %v", err)
	}
	work := harness.Serving(listener.Addr().(*net.TCPAddr).Port, func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return serveEcho(listener, connections, size) })
	})
	return work.StoppedBy(func() { listener.Close() }), nil
}

// echoed is what came of a connection: the sum of the numbers of its requests, and how many there
// were.
type echoed struct{ sum, requests uint64 }

// serveEcho serves so many connections to their end. Connections have TCP_NODELAY by default.
func serveEcho(listener net.Listener, connections, size int) harness.Iteration {
	ended := make(chan echoed, connections)
	for range connections {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go func() { ended <- echo(connection, size) }()
	}
	var all echoed
	for range connections {
		one := <-ended
		all.sum += one.sum
		all.requests += one.requests
	}
	return harness.Iteration{Answer: all.sum, Ops: all.requests, Work: all.requests}
}

// echo answers each request of a connection.
func echo(connection net.Conn, size int) (done echoed) {
	defer connection.Close()
	buffer := make([]byte, size)
	for {
		if _, err := io.ReadFull(connection, buffer); err == io.EOF {
			return done
		} else if err != nil {
			panic(err)
		}
		if _, err := connection.Write(buffer); err != nil {
			panic(err)
		}
		done.sum += binary.LittleEndian.Uint64(buffer)
		done.requests++
	}
}
