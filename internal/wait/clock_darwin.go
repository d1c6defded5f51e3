package wait

import "golang.org/x/sys/unix"

const clock = unix.CLOCK_UPTIME_RAW
