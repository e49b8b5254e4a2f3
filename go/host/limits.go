//go:build linux || darwin

package host

import (
	"syscall"
	"time"
)

// limit what the process may use, as far as the system has such limits.
func limit() {
	for resource, most := range map[int]uint64{
		syscall.RLIMIT_AS:     2 << 30, // bytes of address space: Go reserves half of it and uses little
		syscall.RLIMIT_CPU:    60,      // seconds
		syscall.RLIMIT_FSIZE:  0,       // bytes of a file
		syscall.RLIMIT_CORE:   0,
		syscall.RLIMIT_NOFILE: 64,
	} {
		_ = syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most})
	}
}

// cpuTime that the process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
