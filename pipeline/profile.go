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

// deviceBudget decides what plans for the device may hold, of what was asked for: no more than
// the device has, or the profile says that it has, since a plan for more could not be run
// there. So many sessions use the device at a time.
func (s *Session) deviceBudget(asked Budget, sharers int) Budget {
	if s.info == nil {
		if asked.Limited() {
			return asked.SharedBy(sharers)
		}
		return Unlimited().Because("no limit: whole planes in the host's memory")
	}
	b, p := asked, s.set.Profile
	switch {
	case asked.Decided():
	case p == nil:
		b = defaultBudget(s.info)
	default: // the profile's own default; on a device that is here, no more than its
		b = Limit(p.GlobalMem / 5 * 4).Because(fmt.Sprintf("80 %% of the %s of %s", Bytes(p.GlobalMem), p.Name))
		if s.choice.Device != nil {
			if here := defaultBudget(s.choice.Device.Info()); here.Bytes() < b.Bytes() {
				b = here
			}
		}
	}
	if most := s.info.GlobalMem; most > 0 && b.Bytes() > most {
		wish := "no limit was asked for"
		switch {
		case asked.Limited():
			wish = Bytes(asked.Bytes()) + " were asked for"
		case b.Limited():
			wish = b.Why() + " would be more"
		}
		owner := "the device"
		if p != nil && p.GlobalMem == most {
			owner = p.Name
		}
		b = Limit(most).Because(fmt.Sprintf("all that %s has; %s", owner, wish))
	}
	return b.SharedBy(sharers)
}

// defaultBudget is what a device is given if nobody says how much.
func defaultBudget(i *clrt.DeviceInfo) Budget {
	if i.Type != clrt.CPU {
		return Limit(i.GlobalMem / 5 * 4).Because(fmt.Sprintf("80 %% of the device's %s", Bytes(i.GlobalMem)))
	}
	if avail, ok := memAvailable(); ok {
		return Limit(avail / 2).Because(fmt.Sprintf("half of the %s available", Bytes(avail)))
	}
	return Limit(i.GlobalMem / 2).Because(fmt.Sprintf("half of the device's %s", Bytes(i.GlobalMem)))
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
