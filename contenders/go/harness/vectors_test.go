package harness

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

const vectorsPath = "../../../crates/palio-protocol/vectors/conformance.toml"

// vector is one session that every harness must pass.
type vector struct {
	Name   string
	Args   []string
	Stdin  string
	Stdout []string
	Status int
	Stderr string
	// Optional vectors are about events, which this harness has.
	Optional bool
}

// readVectors knows as much TOML as the file uses, since the standard library has none: tables, and
// values that are JSON but for a comma after an array's last element. Anything else fails the test.
func readVectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile(vectorsPath)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`(?m)^#.*$`).ReplaceAll(text, nil)
	text = regexp.MustCompile(`,\s*\n\]`).ReplaceAll(text, []byte("]"))
	assignment := regexp.MustCompile(`(?m)^(\w+) = `)
	var vectors []vector
	for _, table := range strings.Split(string(text), "[[vector]]")[1:] {
		fields := assignment.ReplaceAllString(strings.TrimSpace(table), `,"$1": `)
		var parsed vector
		decoder := json.NewDecoder(strings.NewReader("{" + strings.TrimPrefix(fields, ",") + "}"))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&parsed); err != nil {
			t.Fatalf("%v in the vector %s", err, table)
		}
		vectors = append(vectors, parsed)
	}
	return vectors
}

func TestEveryVectorPasses(t *testing.T) {
	vectors := readVectors(t)
	if len(vectors) < 20 {
		t.Fatalf("only %d vectors were found", len(vectors))
	}
	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := Converse(Contender{ID: "test"}, v.Args, strings.NewReader(v.Stdin), &stdout, &stderr)
			if status != v.Status {
				t.Errorf("the status is %d, not %d", status, v.Status)
			}
			if !strings.Contains(stderr.String(), v.Stderr) {
				t.Errorf("standard error is %q, without %q", stderr.String(), v.Stderr)
			}
			if (status == 0) != (stderr.Len() == 0) {
				t.Errorf("status %d with %q on standard error", status, stderr.String())
			}
			if want := pattern(v.Stdout); !want.MatchString(stdout.String()) {
				t.Errorf("standard output is %q, not %s", stdout.String(), want)
			}
		})
	}
}

// pattern puts a number of at least 1 for #, and a number or a dash for ?.
func pattern(lines []string) *regexp.Regexp {
	var all strings.Builder
	for _, line := range lines {
		line = regexp.QuoteMeta(line)
		line = strings.ReplaceAll(line, "#", `[1-9][0-9]*`)
		line = strings.ReplaceAll(line, `\?`, `(-|[0-9]+)`)
		all.WriteString(line + "\n")
	}
	return regexp.MustCompile(`\A` + all.String() + `\z`)
}
