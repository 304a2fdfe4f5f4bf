//! A setting, what takes its place, and the guard between the two.

use std::collections::BTreeMap;
use std::time::Duration;

use bayop_knobs::Value;

use crate::guard::{Breach, Guard};
use crate::messages::{FellBack, HoldInForce, Pushed};
use bayop_core::Error;

/// What is held under conditions, or was until one of them broke.
#[derive(Debug)]
pub(super) struct Guarded {
    pub(super) setting: BTreeMap<String, Value>,
    pub(super) fall_back: BTreeMap<String, Value>,
    /// Whose lease it was applied under.
    pub(super) holder: String,
    pub(super) guard: Guard,
    /// When the guard gave the setting up, and how.
    pub(super) fell_back: Option<(Duration, FellBack)>,
}

impl Guarded {
    /// Whether what clients see can end it.
    pub(super) fn watches_latency(&self) -> bool {
        self.fell_back.is_none() && self.guard.conditions().latency.is_some()
    }

    /// Takes down that a breach, seen then, has led to the fall-back by now, or to an error.
    pub(super) fn give_up(&mut self, breach: Breach, seen: Duration, now: Duration, error: Option<Error>) {
        let Breach { condition, seen: what } = breach;
        let took_s = (now - seen).as_secs_f64();
        self.fell_back = Some((seen, FellBack { condition, seen: what, age_s: took_s, took_s, error }));
    }

    /// As the API shows it.
    pub(super) fn view(&self, now: Duration) -> HoldInForce {
        let fell_back = self.fell_back.as_ref();
        HoldInForce {
            setting: self.setting.clone(),
            fall_back: self.fall_back.clone(),
            conditions: self.guard.conditions().clone(),
            age_s: self.guard.age(now).as_secs_f64(),
            latest: self.guard.latest(now).map(|(latency_us, age)| Pushed { latency_us, age_s: age.as_secs_f64() }),
            packets_per_s: self.guard.packets_per_s(),
            fell_back: fell_back.map(|(at, how)| FellBack { age_s: (now - *at).as_secs_f64(), ..how.clone() }),
        }
    }
}
