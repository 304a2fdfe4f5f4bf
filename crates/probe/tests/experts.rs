//! The experts of the eBPF programs, compiled for this machine, beside those of `crates/idle`.

use std::cell::Cell;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bayop_idle::{Expert, Faults, Governor, NetworkExpert, ResidencyExpert, Slept, States, UNIT, View, Waker, Yawn};
use proptest::collection::vec;
use proptest::prelude::*;

const RESIDENCIES_US: [u32; 4] = [0, 2, 20, 600];
const MOST_LOSS_US: u32 = 999;

/// Reads when a stay began, polls until the next one, its length and what it counts for; prints what was forecast for it
/// and what the experts have come to then.
const HARNESS: &str = r#"
#include <stdio.h>
#include "experts.h"

int main(void)
{
	static const volatile __u32 residencies_us[STATES] = {0, 2, 20, 600, -1, -1, -1, -1, -1, -1};
	struct experts experts = {0};
	unsigned long long now_us;
	unsigned int polls, length_us, counts;

	while (scanf("%llu %u %u %u", &now_us, &polls, &length_us, &counts) == 4) {
		forecast(&experts, now_us);
		for (int i = 0; i < FORECASTS; i++)
			printf("%u ", experts.forecasts_us[i]);
		experts.polls += polls;
		learn(&experts, length_us, counts, residencies_us);
		for (int i = 0; i < FORECASTS; i++)
			printf("%llu %llu %llu ", experts.scores[i].forecasts, experts.scores[i].hits, experts.scores[i].loss_us);
		printf("%u %u\n", experts.weights[0], experts.weights[1]);
	}
	return 0;
}
"#;

/// A stay: how long after the one before it began, polls that found packets since then, its length, and what it counts
/// for.
type Stay = (u64, u32, u32, u32);

#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    forecasts_us: [u32; 3],
    scores: [[u64; 3]; 3],
    weights: [u32; 2],
}

fn harness() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("experts.c"), folder.join("experts"));
    std::fs::write(&source, HARNESS).unwrap();
    let headers = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/src/bpf");
    let flags = [headers, "-O1", "-Wall", "-Werror", "-o"];
    let compiled = Command::new("cc").args(flags).arg(&program).arg(&source).status().unwrap();
    assert!(compiled.success(), "cc links every program of Rust's");
    program
}

fn told_by_c(harness: &Path, stays: &[Stay]) -> Vec<Told> {
    let mut running = Command::new(harness).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut now_us, mut lines) = (0, String::new());
    for (later_us, polls, length_us, counts) in stays {
        now_us += later_us;
        lines += &format!("{now_us} {polls} {length_us} {counts}\n");
    }
    running.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let printed = String::from_utf8(running.wait_with_output().unwrap().stdout).unwrap();
    printed.lines().map(told).collect()
}

fn told(line: &str) -> Told {
    let numbers: Vec<u64> = line.split(' ').map(|number| number.parse().unwrap()).collect();
    let short = |index: usize| u32::try_from(numbers[index]).unwrap();
    Told {
        forecasts_us: [short(0), short(1), short(2)],
        scores: [0, 1, 2].map(|expert| [0, 1, 2].map(|number| numbers[3 + 3 * expert + number])),
        weights: [short(12), short(13)],
    }
}

fn told_by_rust(stays: &[Stay]) -> Vec<Told> {
    let states = States::new(&RESIDENCIES_US.map(|us| (0, us, UNIT))).unwrap();
    let mut yawn = Yawn::new((ResidencyExpert::default(), NetworkExpert::default()), Faults::Mended);
    let (mut residency, mut network) = (ResidencyExpert::default(), NetworkExpert::default());
    let (mut now_us, mut scores) = (0, [[0; 3]; 3]);
    let mut all = Vec::new();
    for &(later_us, polls, length_us, counts) in stays {
        now_us += later_us;
        let view = View { now_us, timer_us: u32::MAX, tick_us: 4_000, max_latency_us: u32::MAX };
        yawn.select(&states, &view);
        if let Some(before) = all.last_mut() {
            // Yawn weighs when it is asked again.
            let before: &mut Told = before;
            before.weights = yawn.weights().try_into().unwrap();
        }
        let experts = [residency.forecast_us(&view), network.forecast_us(&view)];
        let weights = all.last().map_or([1 << 15; 2], |before| before.weights);
        let voted = experts.iter().zip(weights).filter_map(|(us, weight)| Some((u64::from((*us)?), u64::from(weight))));
        let (sum, votes) = voted.fold((0, 0), |(sum, votes), (us, weight)| (sum + us * weight, votes + weight));
        let together = sum / votes;
        let forecasts = [experts[0], experts[1], Some(together as u32)];
        for (expert, score) in scores.iter_mut().enumerate() {
            let Some(us) = forecasts[expert].filter(|_| expert != 1 || polls > 0) else { continue };
            let hit = states.deepest_for(us, u32::MAX) == states.deepest_for(length_us, u32::MAX);
            let gained = [1, u64::from(hit), us.abs_diff(length_us).min(MOST_LOSS_US).into()];
            for (sum, gained) in score.iter_mut().zip(gained) {
                *sum += gained * u64::from(counts);
            }
        }
        all.push(Told { forecasts_us: forecasts.map(|us| us.unwrap_or(u32::MAX)), scores, weights });
        if polls > 0 {
            yawn.arrivals(now_us + u64::from(length_us), polls);
            network.arrivals(now_us + u64::from(length_us), polls);
        }
        yawn.reflect(&states, &Slept { length_us, waker: Waker::Event });
        residency.learn(length_us);
    }
    all.pop();
    all
}

#[test]
fn the_experts_in_the_kernel_are_those_of_the_governors() {
    let (harness, has_spoken) = (harness(), Cell::new(0));
    // From a busy CPU, whose network expert speaks, to a quiet one, whose does not.
    let stay = (1_u64..40_000, prop_oneof![Just(0_u32), 1..5_u32], 0_u32..30_000, prop_oneof![Just(1_u32), Just(64)]);
    proptest!(ProptestConfig::with_cases(64), |(stays in vec(stay, 2..400), hurry in 1_u64..200)| {
        let stays: Vec<Stay> = stays.into_iter().map(|(us, polls, length, counts)| {
            (us / hurry + 1, polls, length / hurry as u32, counts)
        }).collect();
        let mut c = told_by_c(&harness, &stays);
        c.pop();
        has_spoken.set(has_spoken.get() + c.last().map_or(0, |told| told.scores[1][0]));
        prop_assert_eq!(c, told_by_rust(&stays));
    });
    assert!(has_spoken.get() > 0, "the network expert has abstained throughout");
}
