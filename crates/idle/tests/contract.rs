//! What every governor must do, whatever it is told.

use bayop_idle::replay::{Period, replay};
use bayop_idle::{
    BayOp, Choice, Expert, Faults, Fixed, Governor, Haltpoll, Ladder, MAX_STATES, Menu, MenuOf, NetworkExpert, Plans,
    ResidencyExpert, Shadow, Slept, Slo, States, Teo, UNIT, View, Waker, Yawn,
};
use proptest::prelude::*;

/// Every governor, for some states.
fn governors(plans: &Plans) -> Vec<(&'static str, Box<dyn Governor + '_>)> {
    let experts = || (ResidencyExpert::default(), NetworkExpert::default());
    vec![
        ("fixed", Box::new(Fixed(usize::MAX))),
        ("menu of 4.4", Box::new(Menu::new(MenuOf::Linux4))),
        ("menu of 6.1", Box::new(Menu::new(MenuOf::Linux6))),
        ("teo", Box::new(Teo::default())),
        ("ladder", Box::new(Ladder::default())),
        ("haltpoll", Box::new(Haltpoll::default())),
        ("yawn", Box::new(Yawn::new(experts(), Faults::AsPublished))),
        ("yawn-mended", Box::new(Yawn::new(experts(), Faults::Mended))),
        ("bayop", Box::new(BayOp::new(plans, UNIT / 10))),
        ("bayop under an SLO", Box::new(Slo::new(plans, Slo::LATE_PER_MILLION))),
        ("bayop with menu in its shadow", Box::new(Shadow::new(plans, Menu::new(MenuOf::Linux6)))),
        ("bayop with teo in its shadow", Box::new(Shadow::new(plans, Teo::default()))),
    ]
}

fn any_states() -> impl Strategy<Value = States> {
    let row = (number(), number(), 0..=UNIT);
    prop::collection::vec(row, 1..=MAX_STATES).prop_map(|rows| {
        let (mut latencies, mut residencies, mut powers) = (vec![], vec![], vec![]);
        for (latency, residency, power) in rows {
            latencies.push(latency);
            residencies.push(residency);
            powers.push(power);
        }
        latencies.sort_unstable();
        residencies.sort_unstable();
        powers.sort_unstable_by(|a, b| b.cmp(a));
        let rows: Vec<_> = latencies.into_iter().zip(residencies).zip(powers).map(|((l, r), p)| (l, r, p)).collect();
        States::new(&rows).expect("sorted rows")
    })
}

/// Numbers of any size, small ones as often as great ones.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), 0..100_u32, 0..10_000_u32, any::<u32>(), Just(u32::MAX)]
}

fn any_waker() -> impl Strategy<Value = Waker> {
    prop_oneof![Just(Waker::Event), Just(Waker::Timer), Just(Waker::Tick), Just(Waker::Own)]
}

/// A call of each method.
fn any_calls() -> impl Strategy<Value = Vec<(View, Slept, u64, u32)>> {
    let view = (any::<u64>(), number(), 1..=4_000_u32, number())
        .prop_map(|(now_us, timer_us, tick_us, max_latency_us)| View { now_us, timer_us, tick_us, max_latency_us });
    let slept = (number(), any_waker()).prop_map(|(length_us, waker)| Slept { length_us, waker });
    prop::collection::vec((view, slept, any::<u64>(), number()), 1..200)
}

fn allowed(states: &States, choice: &Choice, max_latency_us: u32) -> bool {
    choice.state == 0 || (choice.state < states.len() && states[choice.state].exit_latency_us <= max_latency_us)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Debug assertions are on in tests, so that an overflow would be a panic.
    #[test]
    fn no_governor_panics_or_goes_deeper_than_the_limit(states in any_states(), calls in any_calls(), limit_us in number()) {
        let plans = Plans::new(&states, limit_us);
        for (name, mut governor) in governors(&plans) {
            for (view, slept, at_us, count) in &calls {
                governor.arrivals(*at_us, *count);
                let choice = governor.select(&states, view);
                prop_assert!(allowed(&states, &choice, view.max_latency_us), "{name}: {choice:?} for {view:?}");
                governor.reflect(&states, slept);
            }
        }
    }

    #[test]
    fn replay_counts_every_wake_up_and_no_whole_stay_beats_the_least_energy(
        states in any_states(),
        lengths_us in prop::collection::vec((number(), any::<bool>()), 1..200),
    ) {
        let plans = Plans::new(&states, 50);
        for (name, mut governor) in governors(&plans) {
            let mut start_us = 0;
            let periods = lengths_us.iter().map(|&(length_us, by_timer)| {
                start_us += u64::from(length_us) + 10;
                let timer_us = if by_timer { length_us } else { u32::MAX };
                Period { start_us, length_us, timer_us, by_timer, arrivals: 1, arrival_age_us: Some(5) }
            });
            let periods: Vec<_> = periods.filter(|period| period.length_us < 1_000_000).collect();
            let (mut ends, mut asleep, mut whole) = (0, 0, true);
            let outcome = replay(&states, periods.iter().copied(), u32::MAX, &mut *governor, |stay| {
                ends += u64::from(stay.late_us.is_some());
                asleep += 1;
                whole &= stay.length_us == periods[stay.period].length_us;
            });
            prop_assert_eq!(ends, periods.iter().filter(|period| !period.by_timer).count() as u64, "{}", name);
            prop_assert_eq!(asleep, outcome.decisions, "{}", name);
            if whole {
                prop_assert!(outcome.energy >= outcome.least_energy, "{}: {:?}", name, outcome);
            }
        }
    }

    #[test]
    fn the_weights_of_experts_sum_to_one(calls in any_calls(), mended in any::<bool>()) {
        let states = sandy_bridge();
        let faults = if mended { Faults::Mended } else { Faults::AsPublished };
        let mut yawn = Yawn::new((ResidencyExpert::default(), NetworkExpert::default(), Silent), faults);
        for (view, slept, at_us, count) in &calls {
            yawn.arrivals(*at_us, *count);
            yawn.select(&states, view);
            yawn.reflect(&states, slept);
            prop_assert_eq!(yawn.weights().iter().sum::<u32>(), 1 << 16);
            prop_assert!(yawn.weights().iter().all(|&weight| weight >= (1 << 16) / 200));
        }
    }
}

/// An expert of a user's own, who never knows.
struct Silent;

impl Expert for Silent {
    fn forecast_us(&mut self, _: &View) -> Option<u32> {
        None
    }
}

/// POLL, C1, C1E, C3 and C7 of a Xeon E5-2690.
fn sandy_bridge() -> States {
    let rows = [(0, 0, UNIT), (2, 2, 369), (10, 20, 225), (80, 211, 102), (109, 345, 26)];
    States::new(&rows).expect("a table of states")
}

/// What the last tenth of many equal periods is spent in.
fn settled(governor: &mut dyn Governor, states: &States, length_us: u32) -> Vec<usize> {
    settled_within(u32::MAX, governor, states, length_us)
}

/// The same where the kernel limits the latency.
fn settled_within(limit_us: u32, governor: &mut dyn Governor, states: &States, length_us: u32) -> Vec<usize> {
    let periods = (0..1_000_u64).map(|i| Period {
        start_us: i * u64::from(length_us + 20),
        length_us,
        timer_us: 1_000_000,
        by_timer: false,
        arrivals: 1,
        arrival_age_us: Some(10),
    });
    let mut deepest = vec![0; 1_000];
    replay(states, periods, limit_us, governor, |stay| deepest[stay.period] = deepest[stay.period].max(stay.state));
    deepest.split_off(900)
}

#[test]
fn those_that_learn_lengths_find_the_state_of_regular_periods() {
    let states = sandy_bridge();
    let plans = Plans::new(&states, 50);
    for (length_us, expected) in [(9, 1), (60, 2), (3_000, 4)] {
        for (name, mut governor) in governors(&plans) {
            if name.starts_with("menu") || name == "teo" || name == "bayop" {
                let deepest = settled(&mut *governor, &states, length_us);
                assert!(deepest.iter().all(|&state| state == expected), "{name}, {length_us} us: {deepest:?}");
            }
        }
    }
}

#[test]
fn a_limit_allows_a_state_whose_exit_latency_it_is_and_nothing_later() {
    let states = sandy_bridge();
    for (limit_us, expected) in [(109, 4), (108, 3), (80, 3), (79, 2), (10, 2)] {
        let plans = Plans::new(&states, limit_us);
        let mut never_late = Slo::new(&plans, 0);
        let deepest = settled(&mut never_late, &states, 3_000);
        assert!(deepest.iter().all(|&state| state == expected), "{limit_us} us: {deepest:?}");
        let periods = (0..20_000_u64).map(|i| Period {
            start_us: i * 10_000,
            length_us: (i * 7_919 % 997) as u32 >> (i % 5),
            timer_us: 1_000_000,
            by_timer: false,
            arrivals: 1,
            arrival_age_us: Some(10),
        });
        let mut latest_us = 0;
        replay(&states, periods, u32::MAX, &mut never_late, |stay| {
            latest_us = latest_us.max(stay.late_us.unwrap_or(0))
        });
        assert!(latest_us <= limit_us, "{latest_us} us, limit {limit_us}");
    }
}

#[test]
fn the_deepest_state_of_a_limit_takes_long_periods() {
    let states = sandy_bridge();
    let plans = Plans::new(&states, 50);
    for (limit_us, expected) in [(109, 4), (108, 3), (79, 2), (9, 1)] {
        for length_us in [3_000, 10_000, 30_000, 100_000, 1_000_000] {
            let mut bayop = BayOp::new(&plans, 3 * UNIT / 10);
            let deepest = settled_within(limit_us, &mut bayop, &states, length_us);
            assert!(deepest.iter().all(|&s| s == expected), "{limit_us} us, {length_us} us: {deepest:?}");
        }
    }
}

#[test]
fn the_published_fault_gives_all_weight_to_who_is_silent() {
    let weights = |faults| {
        let states = sandy_bridge();
        let mut yawn = Yawn::new((ResidencyExpert::default(), Silent), faults);
        settled(&mut yawn, &states, 700);
        yawn.weights()[1]
    };
    assert!(weights(Faults::AsPublished) > (1 << 16) / 10 * 9);
    assert_eq!(weights(Faults::Mended), 1 << 15);
}

#[test]
fn a_regular_arrival_finds_the_core_awake() {
    let states = sandy_bridge();
    let plans = Plans::new(&states, 50);
    let mut bayop = BayOp::new(&plans, UNIT / 10);
    let periods = (0..2_000_u64).map(|i| Period {
        start_us: i * 2_020,
        length_us: 2_000,
        timer_us: 1_000_000,
        by_timer: false,
        arrivals: 1,
        arrival_age_us: Some(10),
    });
    let mut late_us = vec![];
    let outcome = replay(&states, periods, u32::MAX, &mut bayop, |stay| late_us.extend(stay.late_us));
    assert!(outcome.own_wakes > 1_900, "{outcome:?}");
    assert!(late_us[200..].iter().all(|&us| us <= 2), "{:?}", &late_us[1_900..]);
    assert!(outcome.energy as f64 / (outcome.least_energy as f64) < 1.1, "{outcome:?}");
}
