//! Wake-ups by timers of a governor's own, and where the time goes.

use super::*;
use crate::run::{Length, Load, Run};

const C1: usize = 1;
const C7: usize = 4;

/// Deep for 100 us, and then shallow.
struct Early;

impl Chooser for Early {
    const WAKES: bool = true;

    fn select(&mut self, _: &[State], _: IdlePeriod) -> Stay {
        Stay { state: C7, again_us: 100.0, armed: true }
    }

    fn again(&mut self, _: &[State], _: IdlePeriod, stay_us: f64) -> Stay {
        assert!(stay_us > 100.0, "the wake-up takes time, too");
        Stay { state: C1, again_us: f64::INFINITY, armed: false }
    }

    fn reflect(&mut self, _: &[State], _: f64, _: f64) {}
}

fn server() -> (Profile, IdleModel, Costs) {
    let text = include_str!("../../../../../python/bayop/twin/profiles/linux_memcached.toml");
    let profile = Profile::parse(text, "linux_memcached.toml").unwrap();
    let load = Load::Qps(1e5);
    let run = Run { setting: Default::default(), load, length: Length::Requests(1), warmup_s: None, seed: 1 };
    let model = IdleModel::new(&profile, &run.apply(&profile).unwrap());
    let costs = Costs::table(&profile, 0.0).remove(0);
    (profile, model, costs)
}

fn total_us(time: &CoreTime) -> f64 {
    time.busy_us + time.idle.iter().map(|idle| idle.total_us()).sum::<f64>()
}

#[test]
fn work_waits_for_a_core_that_its_own_timer_is_waking() {
    let (profile, model, costs) = server();
    let deep_us = profile.machine.idle_states[C7].wake_us;
    let shallow_us = profile.machine.idle_states[C1].wake_us;
    let in_handler_us = 100.0 + deep_us + HANDLER_US - 110.0;
    for (length_us, exit_us) in [(90.0, deep_us), (110.0, in_handler_us), (500.0, shallow_us)] {
        let mut sleeper = Sleeper::new(Early);
        let wake = sleeper.sleep(&model, IdlePeriod { start_us: 0.0, length_us }, &costs);
        assert!((wake.exit_us - exit_us).abs() < 1e-9, "{length_us}: {wake:?} is not {exit_us}");
        assert!((total_us(&sleeper.time) - length_us - exit_us).abs() < 1e-9, "{:?}", sleeper.time);
        assert!(sleeper.time.busy_us > ARM_US, "{:?}", sleeper.time);
    }
}

#[test]
fn time_is_whole_wherever_it_is_cut() {
    let (_, model, costs) = server();
    for length_us in [60.0, 110.0, 400.0] {
        for cut_us in 1..length_us as u32 {
            let cut_us = f64::from(cut_us);
            let mut sleeper = Sleeper::new(Early);
            let before = sleeper.take_time(&model, &costs, 0.0, length_us, cut_us);
            assert!((total_us(&before) - cut_us).abs() < 1e-9, "{cut_us} of {length_us}: {before:?}");
            let wake = sleeper.sleep(&model, IdlePeriod { start_us: 0.0, length_us }, &costs);
            let end_us = length_us + wake.exit_us;
            let after = sleeper.take_time(&model, &costs, end_us, f64::INFINITY, end_us);
            let sum_us = total_us(&before) + total_us(&after);
            assert!((sum_us - end_us).abs() < 1e-9, "{cut_us} of {length_us}: {before:?} {after:?}");
        }
    }
}
