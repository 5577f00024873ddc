package harness

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Request is what the command line asks for.
type Request struct {
	Workload string
	Threads  int
	// Salt is fresh for every process, and to be mixed into the work as its definition says.
	Salt     uint64
	settings map[string]string
	// countForks says that this process is there to count its forks.
	countForks bool
}

// parseRequest reads the arguments by hand: the package flag would also take -threads=2 and stop at
// the first word that is no option, which the contract knows nothing of.
func parseRequest(args []string) (*Request, error) {
	request := &Request{settings: map[string]string{}}
	seen := map[string]bool{}
	for len(args) > 0 {
		option := args[0]
		// The one option without a value.
		if option == "--count-forks" {
			if request.countForks {
				return nil, Misuse("%s is given twice", option)
			}
			request.countForks = true
			args = args[1:]
			continue
		}
		if option != "--workload" && option != "--threads" && option != "--salt" && option != "--set" {
			return nil, Misuse("unknown argument %q", option)
		}
		if len(args) < 2 {
			return nil, Misuse("%s wants a value", option)
		}
		if seen[option] && option != "--set" {
			return nil, Misuse("%s is given twice", option)
		}
		seen[option] = true
		if err := request.take(option, args[1]); err != nil {
			return nil, err
		}
		args = args[2:]
	}
	for _, option := range []string{"--workload", "--threads", "--salt"} {
		if !seen[option] {
			return nil, Misuse("%s is missing", option)
		}
	}
	return request, nil
}

func (r *Request) take(option, value string) error {
	switch option {
	case "--workload":
		r.Workload = value
	case "--threads":
		count, err := strconv.ParseUint(value, 10, strconv.IntSize-1)
		if err != nil || count == 0 {
			return Misuse("--threads %q is not an integer of at least 1", value)
		}
		r.Threads = int(count)
	case "--salt":
		salt, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return Misuse("--salt %q is not a whole number of 64 bits", value)
		}
		r.Salt = salt
	case "--set":
		key, text, found := strings.Cut(value, "=")
		if !found || key == "" || text == "" {
			return Misuse("--set %q is not KEY=VALUE", value)
		}
		if strings.ContainsFunc(value, unicode.IsSpace) {
			return Misuse("--set %q has white space in it", value)
		}
		if _, twice := r.settings[key]; twice {
			return Misuse("--set %s is given twice", key)
		}
		r.settings[key] = text
	}
	return nil
}

// Knob takes the setting key, if the user made it.
func (r *Request) Knob(key string) (value string, turned bool) {
	value, turned = r.settings[key]
	delete(r.settings, key)
	return value, turned
}

// Text takes the workload's parameter key.
func (r *Request) Text(key string) (string, error) {
	value, found := r.Knob(key)
	if !found {
		return "", Misuse("the parameter %q is missing: add --set %s=…", key, key)
	}
	return value, nil
}

// OneOf takes the workload's parameter key, one of a few words.
func (r *Request) OneOf(key string, words ...string) (string, error) {
	value, err := r.Text(key)
	if err == nil && !slices.Contains(words, value) {
		return "", Misuse("--set %s=%s is none of %s", key, value, strings.Join(words, ", "))
	}
	return value, err
}

// Between takes the workload's parameter key, a whole number from low to high.
func (r *Request) Between(key string, low, high uint64) (uint64, error) {
	value, err := r.Text(key)
	if err != nil {
		return 0, err
	}
	number, err := strconv.ParseUint(value, 10, 64)
	if err != nil || number < low || number > high {
		return 0, Misuse("--set %s=%s is not a whole number from %d to %d", key, value, low, high)
	}
	return number, nil
}

func (r *Request) refuseWhatIsLeft() error {
	keys := make([]string, 0, len(r.settings))
	for key := range r.settings {
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil
	}
	// In order, so that the same mistake always gets the same message.
	return Misuse("%q has no parameter or knob %q", r.Workload, slices.Min(keys))
}

// conformance is the workload that checks a harness rather than a runtime; conformanceEvents adds
// events to it.
func conformance(request *Request) (Work, error) {
	answer, err := request.Text("answer")
	if err != nil {
		return Work{}, err
	}
	ops, err := request.Between("ops", 0, math.MaxUint64)
	if err != nil {
		return Work{}, err
	}
	text, err := request.Text("work")
	if err != nil {
		return Work{}, err
	}
	given := &done{answer: answer, ops: ops, counted: text != "-"}
	if given.counted {
		if given.work, err = strconv.ParseUint(text, 10, 64); err != nil {
			return Work{}, Misuse("--set work=%s is neither a whole number nor -", text)
		}
	}
	work := Work{given: given}
	if request.Workload == conformanceForks {
		forks, err := request.Between("forks", 0, math.MaxUint64)
		if err != nil {
			return Work{}, err
		}
		counted := new(uint64)
		work.beside = func() { *counted += forks }
		work = work.CountedBy(func() uint64 { return *counted })
	}
	if request.Workload == conformanceEvents {
		work.givenEvents, err = request.wholeNumbers("events")
	}
	return work, err
}

// conformanceEvents is a name of its own, so that a harness without events can refuse it as any
// other workload.
const conformanceEvents = "conformance/events"

// conformanceForks is conformance with forks, which are counted.
const conformanceForks = "conformance/forks"

// wholeNumbers takes the workload's parameter key, at least one whole number with commas between
// them.
func (r *Request) wholeNumbers(key string) ([]uint64, error) {
	text, err := r.Text(key)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, word := range strings.Split(text, ",") {
		number, err := strconv.ParseUint(word, 10, 64)
		if err != nil {
			return nil, Misuse("--set %s=%s is no list of whole numbers", key, text)
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}
