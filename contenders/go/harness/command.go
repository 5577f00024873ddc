package harness

import (
	"slices"
	"strconv"
	"strings"
)

// command is what Palio may ask of a contender that is ready: quit, or samples of batch iterations
// each.
type command struct {
	quit           bool
	samples, batch uint32
}

func parseCommand(line string) (command, error) {
	words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\r\n\f", r) })
	switch {
	case slices.Equal(words, []string{"quit"}):
		return command{quit: true}, nil
	case (len(words) == 2 || len(words) == 3) && words[0] == "run":
		parsed := command{batch: 1}
		for i, word := range words[1:] {
			count, err := strconv.ParseUint(word, 10, 32)
			if err != nil || count == 0 {
				return command{}, malformed(line, []string{"SAMPLES", "BATCH"}[i]+" is not an integer of at least 1")
			}
			if i == 0 {
				parsed.samples = uint32(count)
			} else {
				parsed.batch = uint32(count)
			}
		}
		return parsed, nil
	}
	return command{}, malformed(line, "expected `run SAMPLES [BATCH]` or `quit`")
}

func malformed(line, reason string) error {
	// A flood on the input must not flood the error message too.
	const shownMax = 120
	if runes := []rune(line); len(runes) > shownMax {
		line = string(runes[:shownMax]) + "…"
	}
	return Misuse("%s in the line %q", reason, line)
}
