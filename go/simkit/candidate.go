package simkit

import (
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

const largestSource = 1 << 20 // bytes

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
		overlay, err := overlaid(named, root, file, folder)
		if err != nil {
			return launch, err
		}
		build = append(build, "-overlay", overlay)
	}
	command := exec.Command("go", append(build, host)...)
	command.Dir = root
	if said, err := command.CombinedOutput(); err != nil {
		return launch, fmt.Errorf("the candidate cannot be built: %w\n%.4000s", err, said)
	}
	return Launch{Command: []string{worker}, Folder: empty, First: json.RawMessage(`""`)}, os.Mkdir(empty, 0o500)
}

// overlaid writes what tells `go build` to take the candidate's file in place of the reference's.
func overlaid(named, root, file, folder string) (string, error) {
	about, err := os.Lstat(named)
	if err != nil {
		return "", fmt.Errorf("the candidate cannot be read: %w", err)
	}
	if !about.Mode().IsRegular() || about.Size() > largestSource {
		return "", fmt.Errorf("the candidate %s is no file of at most %d bytes", named, largestSource)
	}
	source, err := os.ReadFile(named)
	if err != nil {
		return "", err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	copied, overlay := filepath.Join(folder, filepath.Base(file)), filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(copied, source, 0o600); err != nil {
		return "", err
	}
	replace := map[string]any{"Replace": map[string]string{filepath.Join(root, file): copied}}
	return overlay, os.WriteFile(overlay, encode(replace), 0o600)
}
