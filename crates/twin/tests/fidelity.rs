//! A few published measurements that the shipped profiles must keep reproducing.
//!
//! Medians over repeats of `data/study_memcached.csv` and `data/study_silo.csv` (RAPL limit
//! 135 W). The whole tables are compared by `bayop twin validate`; this is the smoke alarm.
#![allow(missing_docs)]

mod common;

use bayop_twin::{Knob, Length, Load, Profile, Run, Setting};
use common::{FILES, measure};

/// One row: profile, load, setting (none: default policy), then what was measured.
struct Row(usize, f64, Option<(f64, f64)>, Measured);

struct Measured {
    power_w: f64,
    p50_us: f64,
    p99_us: f64,
    utilization: f64,
    interrupts_per_s: f64,
}

const fn row(file: usize, qps: f64, setting: Option<(f64, f64)>, m: [f64; 5]) -> Row {
    Row(
        file,
        qps,
        setting,
        Measured { power_w: m[0], p50_us: m[1], p99_us: m[2], utilization: m[3], interrupts_per_s: m[4] },
    )
}

const ROWS: [Row; 16] = [
    row(0, 200e3, Some((2.0, 2900.0)), [108.7, 44.3, 61.7, 0.286, 619.0e3]),
    row(0, 200e3, Some((50.0, 1700.0)), [64.9, 76.8, 116.5, 0.391, 258.1e3]),
    row(0, 200e3, Some((400.0, 2300.0)), [75.8, 274.4, 485.4, 0.250, 39.1e3]),
    row(0, 600e3, Some((20.0, 2900.0)), [139.6, 59.9, 110.8, 0.654, 681.8e3]),
    row(0, 600e3, Some((100.0, 2300.0)), [100.5, 114.6, 188.8, 0.618, 156.2e3]),
    row(0, 600e3, Some((200.0, 2500.0)), [104.7, 168.6, 294.6, 0.511, 78.1e3]),
    row(1, 200e3, Some((10.0, 2100.0)), [64.4, 47.6, 72.2, 0.209, 412.8e3]),
    row(1, 200e3, Some((300.0, 2900.0)), [76.5, 194.9, 355.3, 0.148, 52.1e3]),
    row(1, 600e3, Some((50.0, 2900.0)), [98.6, 65.3, 108.5, 0.321, 310.1e3]),
    row(1, 600e3, Some((400.0, 1700.0)), [58.5, 253.7, 458.1, 0.338, 39.1e3]),
    row(2, 50e3, Some((100.0, 2600.0)), [88.5, 103.4, 261.6, 0.201, 80.6e3]),
    row(2, 200e3, Some((300.0, 2700.0)), [115.8, 307.3, 569.4, 0.511, 48.8e3]),
    row(0, 200e3, None, [66.8, 62.5, 104.1, 0.446, 413.2e3]),
    row(0, 600e3, None, [129.7, 62.3, 139.6, 0.715, 791.2e3]),
    row(2, 50e3, None, [81.4, 93.2, 364.2, 0.253, 123.7e3]),
    row(2, 200e3, None, [126.5, 89.1, 404.8, 0.592, 374.1e3]),
];

#[test]
fn measured_rows_are_reproduced() {
    for Row(file, qps, setting, measured) in ROWS {
        let (name, text) = FILES[file];
        let profile = Profile::parse(text, name).unwrap();
        let setting = setting.map_or(Setting::default(), |(rx_usecs, freq_mhz)| {
            Setting::default().with(Knob::RxUsecs, rx_usecs).with(Knob::FreqMhz, freq_mhz)
        });
        let m = measure(
            &profile,
            &Run { setting, load: Load::Qps(qps), length: Length::Requests(300_000), warmup_s: None, seed: 4 },
        );
        let is_default = setting == Setting::default();
        let near = |what: &str, found: f64, expected: f64, tolerance: f64| {
            let error = found / expected - 1.0;
            assert!(error.abs() <= tolerance, "{name} {qps} {setting:?}: {what} {found:.4} instead of {expected}");
        };
        near("power_w", m.power_w, measured.power_w, if is_default { 0.05 } else { 0.06 });
        near("p99_us", m.quantile_us(0.99).unwrap(), measured.p99_us, if is_default { 0.2 } else { 0.1 });
        // On Linux silo seems to answer in batches, which the twin does not model (docs/twin.md).
        let batches = file == 2;
        near("p50_us", m.quantile_us(0.5).unwrap(), measured.p50_us, if batches { 0.15 } else { 0.1 });
        near("utilization", m.utilization, measured.utilization, 0.1);
        near("interrupts_per_s", m.interrupts_per_s, measured.interrupts_per_s, 0.2);
    }
}
