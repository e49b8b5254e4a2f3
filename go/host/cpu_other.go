//go:build !linux && !darwin

package host

import "time"

var began = time.Now()

// cpuTime is as near as this system gets to it.
func cpuTime() time.Duration { return time.Since(began) }
