package simkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CandidateVariable names the environment variable that names the candidate: a Go file, which stands in for the
// reference's; or a .json file with a Launch, for a worker in any language. Without it the reference is judged.
const CandidateVariable = "PROTOSIM_CANDIDATE"

const largestSource = 1 << 18 // bytes: as many as protosim takes

// Candidate builds the host of a task's candidate, and says how it is started. The module lies in root; file is what a
// candidate may replace, host the command that its package is built into.
func Candidate(t testing.TB, root, file, host string) Launch {
	t.Helper()
	launch, err := candidate(os.Getenv(CandidateVariable), root, file, host, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return launch
}

func candidate(named, root, file, host, folder string) (launch Launch, err error) {
	if strings.HasSuffix(named, ".json") {
		if launch, err = LaunchFile(named); err != nil {
			err = fmt.Errorf("%s says not how to start a worker: %w", named, err)
		}
		return launch, err
	}
	worker, empty := filepath.Join(folder, "worker"), filepath.Join(folder, "empty")
	build := []string{"build", "-trimpath", "-o", worker}
	if named != "" {
		copied := filepath.Join(folder, filepath.Base(file))
		if err := copyCandidate(named, copied); err != nil {
			return launch, err
		}
		if err := passGate(root, file, copied); err != nil {
			return launch, err
		}
		overlay, err := overlay(root, file, copied)
		if err != nil {
			return launch, err
		}
		build = append(build, "-overlay", overlay)
	}
	if _, err := runGo(root, append(build, host)...); err != nil {
		return launch, fmt.Errorf("the candidate cannot be built: %w", err)
	}
	return Launch{Command: []string{worker}, Folder: empty, First: json.RawMessage(`""`)}, os.Mkdir(empty, 0o500)
}

// runGo gives what Go prints; the error has its complaints.
func runGo(root string, arguments ...string) ([]byte, error) {
	var complaints bytes.Buffer
	command := exec.Command("go", arguments...)
	command.Dir, command.Stderr = root, &complaints
	said, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%.4000s", err, complaints.Bytes())
	}
	return said, err
}

func copyCandidate(named, copied string) error {
	about, err := os.Lstat(named)
	if err != nil {
		if !filepath.IsAbs(named) {
			err = fmt.Errorf("%w (a test runs in the folder of its suite: name the whole path)", err)
		}
		return fmt.Errorf("the candidate cannot be read: %w", err)
	}
	if !about.Mode().IsRegular() {
		return fmt.Errorf("the candidate %s is a folder, a link or a device: name the file itself", named)
	}
	if about.Size() > largestSource {
		return fmt.Errorf("the candidate %s has %d bytes; %d are the most", named, about.Size(), largestSource)
	}
	source, err := os.ReadFile(named)
	if err != nil {
		return fmt.Errorf("the candidate cannot be read: %w", err)
	}
	return os.WriteFile(copied, source, 0o600)
}

// passGate asks the gate whether the candidate may take the reference's place.
func passGate(root, file, copied string) error {
	said, err := runGo(root, "run", "./gate", file, copied)
	if err != nil {
		return fmt.Errorf("the gate cannot be run: %w", err)
	}
	var verdict struct {
		Stage, Rule string
		Line        int
	}
	if err := json.Unmarshal(said, &verdict); err != nil {
		return fmt.Errorf("the gate says %.400q: %w", said, err)
	}
	if verdict.Stage != "" {
		return fmt.Errorf("the candidate is refused: %s, line %d: %s", verdict.Stage, verdict.Line, verdict.Rule)
	}
	return nil
}

// overlay writes what tells `go build` to take the candidate's file in place of the reference's.
func overlay(root, file, copied string) (string, error) {
	own, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	named := filepath.Join(filepath.Dir(copied), "overlay.json")
	replace := map[string]any{"Replace": map[string]string{own: copied}}
	return named, os.WriteFile(named, encode(replace), 0o600)
}
