//! Histograms, reports and confidence intervals.

use bayop_load::histogram::{Histogram, hgrm, quantile_ns};
use bayop_load::interval::quantile;
use bayop_load::report::{BATCHES, Batch, Loss, Report};
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use serde_json::json;

fn histogram(times_ns: &[u64]) -> Histogram {
    let mut histogram = Histogram::default();
    times_ns.iter().for_each(|&time_ns| histogram.record(time_ns));
    histogram
}

/// A report of batches with exponential latencies of these means.
fn exponential(means_ns: &[f64], requests: usize, rng: &mut SmallRng) -> Report {
    let mut report = Report::default();
    for mean_ns in means_ns {
        let mut batch = Batch::default();
        for _ in 0..requests {
            let unit: f64 = Exp1.sample(rng);
            batch.latency.record((mean_ns * unit) as u64);
        }
        report.batches.push(batch);
    }
    report
}

#[test]
fn nothing_measured_has_no_quantiles() {
    assert_eq!(quantile_ns(&Histogram::default(), 0.5), None);
    assert_eq!(quantile(&Report::default(), 0.99).value_ns, None);
}

#[test]
fn what_failed_of_a_mix_is_slower_than_all_that_was_answered() {
    let seen = Batch { latency: histogram(&[1000, 2000, 3000]), failed: 1 };
    let mut report = Report { mix: [("read".to_owned(), seen.clone())].into(), ..Report::default() };
    report.merge(&Report {
        mix: [("read".to_owned(), seen.clone()), ("write".to_owned(), seen)].into(),
        ..Report::default()
    });
    let [read, write] = ["read", "write"].map(|name| &report.mix[name]);
    assert_eq!((read.count(), read.failed, write.count()), (8, 2, 4));
    assert_eq!(
        [0.25, 0.5, 0.75, 0.76].map(|share| read.quantile_ns(share).map(|ns| ns / 100)),
        [Some(10), Some(20), Some(30), None]
    );
    assert_eq!(Report::from_json(&report.to_json()).unwrap(), report);
}

/// A report of one request, with the fields of an object in place of its own.
fn report_with(fields: serde_json::Value) -> Result<Report, bayop_core::Error> {
    let mut report = Report { batches: vec![Batch { latency: histogram(&[1000]), failed: 0 }], ..Report::default() };
    report.counts.intended = 1;
    let mut json: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    let serde_json::Value::Object(fields) = fields else { panic!("{fields} is no object") };
    json.as_object_mut().unwrap().extend(fields);
    Report::from_json(&json.to_string())
}

#[test]
fn a_report_of_what_no_run_gives_is_refused() {
    let batch = |count: u64, failed: u64| json!({"latency": [[1000, count]], "failed": failed});
    let half = u64::MAX / 2 + 1;
    for (fields, why) in [
        (json!({"duration_s": -5.0}), "it lasts -5.0 s; a duration must be 0 to 1e6 s"),
        (json!({"duration_s": 1e308}), "it lasts 1e308 s; a duration must be 0 to 1e6 s"),
        (
            json!({"batches": vec![batch(1, 0); BATCHES + 1]}),
            "it has 41 batches, and a mix of 0; batches must be at most 40",
        ),
        (json!({"batches": [batch(1, u64::MAX)]}), "what a run counts must be at most 2^56"),
        (json!({"batches": vec![batch(1 << 55, 0); 3]}), "what a run counts must be at most 2^56"),
        (json!({"batches": [{"latency": [[1, half], [2, half]], "failed": 0}]}), "must add up to less than 2^64"),
        (json!({"mix": {"a": batch(u64::MAX, 1)}}), "what a run counts must be at most 2^56"),
        (json!({"lateness": [[u64::MAX, u64::MAX]]}), "what a run counts must be at most 2^56"),
        (json!({"troubles": {"x": u64::MAX}}), "what a run counts must be at most 2^56"),
        (json!({"\u{1b}[31m\n": 1}), "unknown field `\\u{1b}[31m\\n`"),
    ] {
        let error = report_with(fields).unwrap_err().to_string();
        assert!(error.starts_with("this is no report of this program: ") && error.contains(why), "{error}");
    }
    let mut counts = serde_json::to_value(Report::default().counts).unwrap();
    counts["answers_in_time"] = u64::MAX.into();
    assert!(report_with(json!({"counts": counts})).is_err());
    assert_eq!(report_with(json!({"duration_s": 1e6, "batches": vec![batch(1, 1); BATCHES]})).unwrap().duration_s, 1e6);
}

#[test]
fn troubles_are_told_without_what_a_terminal_would_obey() {
    let mut report = Report::default();
    report.merge(&report_with(json!({"troubles": {"\u{1b}[31mb\u{e4}d \"\\x00\"\nno good: forged": 2}})).unwrap());
    report.add_trouble("\u{9b}31m", 1);
    let told: Vec<_> = report.troubles.keys().map(String::as_str).collect();
    assert_eq!(told, [r#"\u{1b}[31mbäd "\x00"\nno good: forged"#, r"\u{9b}31m"]);
}

#[test]
fn intervals_cover_the_truth_about_as_often_as_they_say() {
    let mut rng = SmallRng::seed_from_u64(1);
    let truth = 1e6 * 100.0_f64.ln();
    let runs = 200;
    let covered = (0..runs).filter(|_| {
        let found = quantile(&exponential(&[1e6; BATCHES], 500, &mut rng), 0.99);
        found.low_ns.is_some_and(|low| low as f64 <= truth) && found.high_ns.is_some_and(|high| high as f64 >= truth)
    });
    let share = covered.count() as f64 / f64::from(runs);
    assert!((0.90..=1.0).contains(&share), "{share}");
}

#[test]
fn batches_that_differ_widen_the_interval() {
    let mut rng = SmallRng::seed_from_u64(2);
    let means: Vec<f64> = (0..BATCHES).map(|_| 1e6 * rng.random_range(0.3..1.7)).collect();
    let steady = quantile(&exponential(&[1e6; BATCHES], 2000, &mut rng), 0.5).half_width().unwrap();
    let unsteady = quantile(&exponential(&means, 2000, &mut rng), 0.5).half_width().unwrap();
    assert!(unsteady > 3.0 * steady, "{steady} {unsteady}");
}

#[test]
fn a_tail_of_failures_has_no_latency() {
    let mut rng = SmallRng::seed_from_u64(3);
    let mut report = exponential(&[1e6; BATCHES], 100, &mut rng);
    report.batches.iter_mut().for_each(|batch| batch.failed = 5);
    assert!(quantile(&report, 0.9).value_ns.is_some());
    assert_eq!(quantile(&report, 0.99).value_ns, None);
}

#[test]
fn too_few_requests_leave_the_interval_open() {
    let mut rng = SmallRng::seed_from_u64(4);
    let found = quantile(&exponential(&[1e6; BATCHES], 2, &mut rng), 0.99);
    assert!(found.value_ns.is_some());
    assert_eq!((found.high_ns, found.half_width()), (None, None));
}

#[test]
fn hgrm_lists_ascending_percentiles_up_to_the_last() {
    let text = hgrm(&histogram(&(1..=1000).map(|us| us * 1000).collect::<Vec<_>>()));
    let rows: Vec<Vec<f64>> = text
        .lines()
        .skip(2)
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
        .collect();
    assert!(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"), "{text}");
    assert!(
        rows.windows(2).all(|pair| pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1] && pair[0][2] <= pair[1][2])
    );
    let last = rows.last().unwrap();
    assert_eq!((last[1], last[2]), (1.0, 1000.0));
    assert!((last[0] / 1000.0 - 1.0).abs() < 1e-3);
}

#[test]
fn every_loss_is_counted_once() {
    let mut report = Report::default();
    for loss in [Loss::Closed, Loss::TimedOut, Loss::Garbage, Loss::Unconnected] {
        *report.counts.lost_mut(loss) += 1;
    }
    assert_eq!(report.counts.lost(), 4);
}

proptest! {
    #[test]
    fn ranks_are_exact_to_three_digits(mut times in prop::collection::vec(1_u64..10_000_000_000, 1..300), q in 0.001_f64..1.0) {
        let found = quantile_ns(&histogram(&times), q).unwrap();
        times.sort_unstable();
        let rank = ((q * times.len() as f64).ceil() as usize).clamp(1, times.len());
        prop_assert!((found as f64 / times[rank - 1] as f64 - 1.0).abs() < 1e-3, "{found} {}", times[rank - 1]);
    }

    #[test]
    fn merging_reports_is_recording_both(a in prop::collection::vec(1_u64..1 << 40, 0..50), b in prop::collection::vec(1_u64..1 << 40, 0..50)) {
        let report = |times: &[u64]| Report {
            batches: vec![Batch { latency: histogram(times), failed: times.len() as u64 }],
            ..Report::default()
        };
        let both = report(&[a.clone(), b.clone()].concat());
        // One that was read takes in one that was recorded, and is taken in.
        let mut merged = Report::from_json(&report(&a).to_json()).unwrap();
        merged.merge(&report(&b));
        let mut other = report(&a);
        other.merge(&Report::from_json(&report(&b).to_json()).unwrap());
        for found in [merged, other] {
            prop_assert_eq!(found.latency(), both.latency());
            prop_assert_eq!(found.batches[0].failed, both.batches[0].failed);
        }
    }

    #[test]
    fn what_comes_later_has_batches_of_its_own(a in prop::collection::vec(1_u64..1 << 40, 0..50), b in prop::collection::vec(1_u64..1 << 40, 0..50)) {
        let report = |times: &[u64], duration_s| Report {
            batches: vec![Batch { latency: histogram(times), failed: 1 }],
            lateness: histogram(times),
            duration_s,
            ..Report::default()
        };
        let mut whole = report(&a, 0.25);
        whole.append(&report(&b, 0.5));
        prop_assert_eq!(whole.duration_s, 0.75);
        prop_assert_eq!(whole.batches.len(), 2);
        prop_assert_eq!(&whole.batches[1].latency, &histogram(&b));
        prop_assert_eq!(whole.lateness, histogram(&[a, b].concat()));
    }
}
