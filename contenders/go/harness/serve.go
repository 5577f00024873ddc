package harness

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unicode/utf8"
)

// Serve runs the contender, the whole of its main, and returns the exit status.
func Serve(contender Contender) int {
	// A Go program that panics or deadlocks exits with 2, which the contract reads as misuse; an abort
	// is a signal, and that is a crash to everyone.
	debug.SetTraceback("crash")
	return Converse(contender, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Converse is one conversation with the contender: what Serve has with this process's own arguments
// and streams.
func Converse(contender Contender, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	err := func() error {
		if len(args) > 0 && args[0] == "--describe" {
			return contender.describe(stdout)
		}
		request, err := parseRequest(args)
		if err != nil {
			return err
		}
		work, err := contender.prepare(request)
		if err != nil {
			return err
		}
		err = obey(&work, bufio.NewReader(stdin), stdout)
		work.end()
		return err
	}()
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", contender.ID, err)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return refusal.status
	}
	return exitMisuse
}

// obey does what the input says until quit or its end. Nothing is buffered on the way out, so that
// a line is with its reader before the next sample begins.
func obey(work *Work, input *bufio.Reader, output io.Writer) error {
	for {
		line, err := input.ReadString('\n')
		if err != nil && err != io.EOF {
			return Misuse("standard input: %v", err)
		}
		ended := err == io.EOF
		if !utf8.ValidString(line) {
			return malformed(line, "there is something that is not UTF-8")
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if strings.TrimSpace(line) != "" {
			quit, err := obeyLine(work, line, output)
			if quit || err != nil {
				return err
			}
		}
		if ended {
			return nil
		}
	}
}

func obeyLine(work *Work, line string, output io.Writer) (quit bool, err error) {
	command, err := parseCommand(line)
	if err != nil || command.quit {
		return command.quit, err
	}
	// Nobody who asks is there to see it fail: the sample's own line does.
	say := func(port int) { fmt.Fprintf(output, "serving %d\n", port) }
	for range command.samples {
		if _, err := fmt.Fprintln(output, work.sample(command.batch, say)); err != nil {
			return false, Misuse("standard output was closed")
		}
	}
	if _, err := fmt.Fprintf(output, "done %d\n", command.samples); err != nil {
		return false, Misuse("standard output was closed")
	}
	return false, nil
}
