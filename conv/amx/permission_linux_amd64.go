package amx

import "syscall"

// permitted asks Linux to let this process, all its threads, use the registers of tiles. The system refuses where
// processor, kernel or container have none; asking again does no harm.
func permitted() bool {
	const (
		request  = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData = 18     // XFEATURE_XTILEDATA
	)
	_, _, failed := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, request, tileData, 0)
	return failed == 0
}
