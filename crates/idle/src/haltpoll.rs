//! Linux's haltpoll governor, as documented (Documentation/virt/guest-halt-polling.rst): polls for a while before it
//! halts, for longer when that would have caught the event, for less long when the core slept on.

use crate::governor::{Choice, Governor, Slept, View, Waker};
use crate::states::States;

/// The longest that it polls (`guest_halt_poll_ns`).
const MAX_POLL_US: u32 = 200;
/// How long it polls at first (`guest_halt_poll_grow_start`).
const FIRST_POLL_US: u32 = 50;

/// State of one core's governor. A guest's halt is the deepest state: how deep the core then sleeps is the host's choice.
#[derive(Clone, Debug, Default)]
pub struct Haltpoll {
    poll_us: u32,
    polling: bool,
    polled: bool,
}

impl Governor for Haltpoll {
    #[inline]
    fn select(&mut self, states: &States, view: &View) -> Choice {
        self.polling = !self.polled && self.poll_us > 0 && states[0].exit_latency_us == 0;
        if self.polling {
            Choice { state: 0, wake_after_us: Some(self.poll_us), keeps_tick: false }
        } else {
            Choice::stay(states.deepest_within(view.max_latency_us))
        }
    }

    #[inline]
    fn reflect(&mut self, _: &States, slept: &Slept) {
        self.polled = slept.waker == Waker::Own;
        if self.polled || self.polling {
            return;
        }
        if slept.length_us > self.poll_us && slept.length_us <= MAX_POLL_US {
            self.poll_us = (2 * self.poll_us).clamp(FIRST_POLL_US, MAX_POLL_US);
        } else if slept.length_us > MAX_POLL_US {
            self.poll_us /= 2;
        }
    }
}
