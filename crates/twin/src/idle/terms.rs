//! What governors of `crates/idle` are told of a machine.

use bayop_idle::{Plans, States, UNIT};

use crate::profile::{IdleState, Power, Profile};

/// Exit latency and target residency in us, power in 1 / [`UNIT`] of a polling core's.
type Row = (u32, u32, u32);

/// The machine's idle states, and what to make of them.
pub struct Terms {
    /// Latencies and residencies as the kernel's table has them.
    pub states: States,
    /// Plans by that table.
    pub(super) table_plans: Plans,
    /// Plans by what the states take on this machine, as its owner can measure it.
    pub(super) measured_plans: Plans,
    /// Of latency, in 1/1024 us of a polling core for each us.
    pub(super) price: u32,
}

impl Terms {
    /// The terms of a profile.
    pub fn new(profile: &Profile) -> Self {
        let late_us = profile.os.idle_late_us.round() as u32;
        let [states, measured] = [table_rows(profile), measured_rows(profile)]
            .map(|rows| States::new(&rows).expect("a profile's states go from shallow to deep"));
        Self {
            states,
            table_plans: Plans::new(&states, late_us),
            measured_plans: Plans::new(&measured, late_us),
            price: (profile.os.idle_latency_price * f64::from(UNIT)).round() as u32,
        }
    }
}

/// Power of a core that has been in a state for long, at the greatest frequency.
fn power_w(power: &Power, state: &IdleState) -> f64 {
    match state {
        IdleState { exit_latency_us: 0.0, .. } => busy_w(power),
        IdleState { settle_us: f64::INFINITY, .. } => power.halted_core_at_max_freq_w,
        settled => settled.settled_w,
    }
}

fn busy_w(power: &Power) -> f64 {
    power.busy_core_w + power.busy_core_at_max_freq_w
}

/// A power as a share of a polling core's, no more than the shallower states have.
fn share(power: &Power, watts: f64, most: u32) -> u32 {
    let polling_w = busy_w(power);
    if polling_w > 0.0 { most.min((watts / polling_w * f64::from(UNIT)).round() as u32) } else { most }
}

/// As the kernel sees it: after its target residency a state has taken as much as the next shallower one.
fn table_rows(profile: &Profile) -> Vec<Row> {
    let power = &profile.machine.power;
    let mut least = UNIT;
    let row = |state: &IdleState| {
        least = share(power, power_w(power, state), least);
        (state.exit_latency_us.round() as u32, state.target_residency_us.round() as u32, least)
    };
    profile.machine.idle_states.iter().map(row).collect()
}

/// As it is: until a state has settled, the core draws what a halted one does. A state that is never the best for any
/// length looks like the next shallower one that is.
fn measured_rows(profile: &Profile) -> Vec<Row> {
    let power = &profile.machine.power;
    let halted_w = power.halted_core_at_max_freq_w;
    let states = &profile.machine.idle_states;
    // Those on the lower envelope of energy over length: index, residency, power, energy of entering. First a core that
    // polls, whether or not it is among them.
    let mut best: Vec<(usize, f64, f64, f64)> = vec![(0, 0.0, busy_w(power), 0.0)];
    for (i, state) in states.iter().enumerate().filter(|(_, state)| state.exit_latency_us > 0.0) {
        let watts = power_w(power, state);
        let entering_uj =
            if state.settle_us.is_finite() { f64::max(halted_w - watts, 0.0) * state.settle_us } else { 0.0 };
        while let Some(&(_, residency_us, above_w, above_uj)) = best.last() {
            if watts > above_w || (watts == above_w && entering_uj >= above_uj) {
                break;
            }
            // Infinitely negative where it takes no less, but is sooner entered. A core that has not settled draws as much
            // in any state: one that breaks even before has lost nothing until then.
            let even_us = (entering_uj - above_uj) / (above_w - watts);
            let after_us =
                if even_us <= state.settle_us { f64::min(even_us, state.target_residency_us) } else { even_us };
            if after_us > residency_us || best.len() == 1 {
                best.push((i, f64::max(after_us, 0.0), watts, entering_uj));
                break;
            }
            best.pop();
        }
    }
    let row = |(i, state): (usize, &IdleState)| {
        let (_, residency_us, watts, _) = best.iter().rev().find(|(first, ..)| *first <= i).expect("the first is 0");
        (state.exit_latency_us.round() as u32, residency_us.round() as u32, share(power, *watts, UNIT))
    };
    states.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn break_even_times_are_where_the_energies_of_a_core_are_equal() {
        let text = include_str!("../../../../python/bayop/twin/profiles/linux_memcached.toml");
        let profile = Profile::parse(text, "linux_memcached.toml").unwrap();
        let rows = measured_rows(&profile);
        // C1E settles in 83 us and C7 in 253, at 2.88 W until then and 0.50 and 0 after; C3 takes longer than C7. Until C1E
        // has settled it is no worse than C1, which never does.
        let expected_us = [0.0, 0.0, 20.0, 20.0, (2.8794 * (252.84 - 83.33) + 0.503 * 83.33) / 0.503];
        for (row, expected_us) in rows.iter().zip(expected_us) {
            assert!((f64::from(row.1) - expected_us).abs() <= 0.5, "{rows:?}");
        }
        assert_eq!(rows[3].2, rows[2].2, "C3 looks like C1E: {rows:?}");
        assert_eq!((rows[0].2, rows[4].2), (UNIT, 0));
    }
}
