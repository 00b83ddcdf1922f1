package pipeline

import (
	"fmt"

	"enhance/clrt"
)

// chooseDevice finds the device and what is planned for: the device itself, or
// the profile's limits on it, or the profile alone.
func (s *Session) chooseDevice() (err error) {
	p := s.set.Profile
	if p != nil && s.set.PlanOnly {
		s.choice = Choice{Index: -1, Why: "a profile, planned for and not run"}
		s.info = p.Info()
		return nil
	}
	if s.choice, err = ChooseCores(s.set.Device, s.set.Cores); err != nil {
		return err
	}
	if s.choice.Device == nil {
		if p != nil {
			return optionErrorf("device-profile", "the host executor has no limits to set: choose an OpenCL device, or plan without one (dry run)")
		}
		return nil
	}
	if s.info = s.choice.Device.Info(); p != nil {
		s.info = p.Limit(s.info)
	}
	return nil
}

// chooseBudget decides the budget for the device chosen.
func (s *Session) chooseBudget() {
	set, p := &s.set, s.set.Profile
	switch {
	case s.info == nil:
		s.budget, s.budgetWhy = max(0, int64(set.Memory)), askedFor
		if set.Memory <= 0 {
			s.budgetWhy = "no limit: whole planes in the host's memory"
		}
	case p != nil && set.Memory == DefaultMemory:
		// The profile's own default; on a device that is here, no more than its.
		s.budget, s.budgetWhy = p.GlobalMem/5*4, fmt.Sprintf("80 %% of the %s of %s", Bytes(p.GlobalMem), p.Name)
		if s.choice.Device != nil {
			if here, why := set.Memory.budget(s.choice.Device.Info()); here < s.budget {
				s.budget, s.budgetWhy = here, why
			}
		}
	default:
		s.budget, s.budgetWhy = set.Memory.budget(s.info)
	}
	s.capBudget()
	s.whole = wholeBudget{s.budget, s.budgetWhy, 1}
}

// wholeBudget is a device's budget before several sessions divide it.
type wholeBudget struct {
	budget  int64
	why     string
	sharers int64
}

// forSharers is what a device needs so that each of the sessions on it has n bytes.
func (s *Session) forSharers(n int64) int64 { return n * max(1, s.whole.sharers) }

// capBudget makes the budget no more than the device has, or the profile says that
// it has: a plan for more could not be run there.
func (s *Session) capBudget() {
	within := s.withinDevice(s.budget)
	if within == s.budget {
		return
	}
	asked := "no limit was asked for"
	if s.budget > 0 {
		asked = Bytes(s.budget) + " were asked for"
		if s.set.Memory <= 0 {
			asked = s.budgetWhy + " would be more"
		}
	}
	owner := "the device"
	if p := s.set.Profile; p != nil && p.GlobalMem == within {
		owner = p.Name
	}
	s.budget, s.budgetWhy = within, fmt.Sprintf("all that %s has; %s", owner, asked)
}

// withinDevice is a budget as far as the device's memory allows; 0 is no limit.
func (s *Session) withinDevice(budget int64) int64 {
	if s.info == nil || s.info.GlobalMem <= 0 {
		return budget
	}
	if budget == 0 {
		return s.info.GlobalMem
	}
	return min(budget, s.info.GlobalMem)
}

// deviceFacts name the device, and the profile that limits it.
func (s *Session) deviceFacts() DeviceFacts {
	d := DeviceFacts{Index: -1, Name: "host executor (no OpenCL)", Why: s.choice.Why, Info: s.info}
	switch {
	case s.choice.Device != nil:
		d.Index, d.Name = s.choice.Index, s.choice.Device.String()
	case s.info != nil:
		d.Name = s.info.Name
	}
	if s.set.Profile != nil {
		d.Profile = s.set.Profile.Name
	}
	return d
}

// sharesHost reports whether device buffers are really in the host's memory,
// whatever a profile says.
func (s *Session) sharesHost() bool {
	if s.choice.Device == nil {
		return s.info != nil && s.info.Unified
	}
	real := s.choice.Device.Info()
	return real.Unified || real.Type == clrt.CPU
}

// hostRest reports whether the host has memory besides what a device that shares it
// lends, where tensors and parameters may wait.
func (s *Session) hostRest() bool {
	switch p := s.set.Profile; {
	case p != nil:
		return p.Unified && p.HostMem > p.GlobalMem
	case s.info == nil || !s.info.Unified || s.info.Type == clrt.CPU:
		return false
	}
	total, ok := memTotal()
	return ok && total > s.info.GlobalMem
}

// discrete reports whether the profile wants a device that shares the host's
// memory planned for as if it had its own.
func (s *Session) discrete() bool { return s.set.Profile != nil && !s.set.Profile.Unified }
