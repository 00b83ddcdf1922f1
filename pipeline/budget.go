package pipeline

import (
	"fmt"

	"enhance/clrt"
	"enhance/internal/bytesize"
	"enhance/internal/hostmemory"
)

// deviceBudget is what plans for the device may hold: what was asked for or the default, but no more
// than the device or its profile has, since a plan for more could not be run there. The sharers are
// the sessions that use the device at a time.
func (s *Session) deviceBudget(asked Budget, sharers int) Budget {
	if s.device.info == nil {
		if asked.Limited() {
			return asked.SharedBy(sharers)
		}
		return Unlimited().Because("no limit: whole planes in the host's memory")
	}
	b, p := asked, s.device.profile
	switch {
	case asked.Decided():
	case p == nil:
		b = defaultBudget(s.device.info)
	default: // the profile's own default; on a device that is here, no more than its
		b = Limit(p.GlobalMem / 5 * 4).Because(fmt.Sprintf("80 %% of the %s of %s", bytesize.Text(p.GlobalMem), p.Name))
		if s.device.choice.Device != nil {
			if here := defaultBudget(s.device.choice.Device.Info()); here.Bytes() < b.Bytes() {
				b = here
			}
		}
	}
	if most := s.device.info.GlobalMem; most > 0 && b.Bytes() > most {
		wish := "no limit was asked for"
		switch {
		case asked.Limited():
			wish = bytesize.Text(asked.Bytes()) + " were asked for"
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
		return Limit(i.GlobalMem / 5 * 4).Because(fmt.Sprintf("80 %% of the device's %s", bytesize.Text(i.GlobalMem)))
	}
	if avail, ok := hostmemory.Available(); ok {
		return Limit(avail / 2).Because(fmt.Sprintf("half of the %s available", bytesize.Text(avail)))
	}
	return Limit(i.GlobalMem / 2).Because(fmt.Sprintf("half of the device's %s", bytesize.Text(i.GlobalMem)))
}

// allowed is what a plan made now may hold.
func (s *Session) allowed() Budget {
	if s.runner.found.Decided() {
		return s.runner.found
	}
	return s.budget
}
