package main

import (
	"encoding/binary"
	"io"
	"net"

	"palio/contenders/go/harness"
)

// prepareTCPEcho is a server that sends back what it reads.
func prepareTCPEcho(request *harness.Request) (harness.Work, error) {
	return prepareTCPServer(request, 8, func([]byte) {})
}

// prepareTCPCompute is one that computes with the two numbers at the beginning of a request.
func prepareTCPCompute(request *harness.Request) (harness.Work, error) {
	steps, err := request.Between("steps", 0, 1<<36)
	if err != nil {
		return harness.Work{}, err
	}
	return prepareTCPServer(request, 16, func(request []byte) {
		x, factor := binary.LittleEndian.Uint64(request), binary.LittleEndian.Uint64(request[8:])
		for range steps {
			x = x*factor + 1
		}
		binary.LittleEndian.PutUint64(request, x)
	})
}

// prepareTCPServer listens; Palio asks at a fixed rate. What answer does makes a request, which
// begins with so many bytes of numbers, its answer.
func prepareTCPServer(request *harness.Request, least int, answer func([]byte)) (harness.Work, error) {
	values, err := numbers(request, "connections", "bytes", "rate", "requests")
	if err != nil {
		return harness.Work{}, err
	}
	// When requests come, and how many, is for those who ask.
	connections, size := values[0], values[1]
	if size < least {
		return harness.Work{}, harness.Misuse("--set bytes=%d: a request begins with %d bytes of numbers", size, least)
	}
	if err := startScheduler(request); err != nil {
		return harness.Work{}, err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return harness.Work{}, harness.Unsupported("cannot listen: %v", err)
	}
	work := harness.Serving(listener.Addr().(*net.TCPAddr).Port, func() harness.Iteration {
		return onGoroutine(func() harness.Iteration { return serveTCP(listener, connections, size, answer) })
	})
	return work.StoppedBy(func() { listener.Close() }), nil
}

// attended is what came of a connection: the sum of the numbers of its answers, and how many there
// were.
type attended struct{ sum, requests uint64 }

// serveTCP serves so many connections to their end. Connections have TCP_NODELAY by default.
func serveTCP(listener net.Listener, connections, size int, answer func([]byte)) harness.Iteration {
	ended := make(chan attended, connections)
	for range connections {
		connection, err := listener.Accept()
		if err != nil {
			panic(err)
		}
		go func() { ended <- attend(connection, size, answer) }()
	}
	var all attended
	for range connections {
		one := <-ended
		all.sum += one.sum
		all.requests += one.requests
	}
	return harness.Iteration{Answer: all.sum, Ops: all.requests, Work: all.requests}
}

// attend answers each request of a connection.
func attend(connection net.Conn, size int, answer func([]byte)) (done attended) {
	defer connection.Close()
	buffer := make([]byte, size)
	for {
		if _, err := io.ReadFull(connection, buffer); err == io.EOF {
			return done
		} else if err != nil {
			panic(err)
		}
		answer(buffer)
		if _, err := connection.Write(buffer); err != nil {
			panic(err)
		}
		done.sum += binary.LittleEndian.Uint64(buffer)
		done.requests++
	}
}
