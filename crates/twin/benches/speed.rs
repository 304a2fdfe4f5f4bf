//! How many requests per second of CPU time the twin simulates, and where the time goes.
//!
//! `cargo bench -p bayop-twin` prints, for each profile and setting, millions of simulated
//! requests per second of user CPU time on one thread (the best of three), then the cost of each
//! kind of event from a least-squares fit over the settings, then the gain from two threads.

use std::time::Instant;

use bayop_twin::{Length, Profile, Run, Setting, simulate, simulate_batch};

const LINUX: &str = include_str!("../../../python/bayop/target/profiles/linux_memcached.toml");
const EBBRT: &str = include_str!("../../../python/bayop/target/profiles/ebbrt_memcached.toml");
const REQUESTS: u64 = 3_000_000;
const REPEATS: usize = 3;

/// User CPU time of this process, all threads, in seconds (Linux counts ticks of 10 ms).
fn user_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc/self/stat");
    let fields = stat.rsplit(')').next().expect("a field after the name");
    fields.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok()).expect("utime") / 100.0
}

fn run(qps: f64, rx_usecs: Option<f64>, seed: u64) -> Run {
    let freq_mhz = rx_usecs.map(|_| 2900.0);
    Run { setting: Setting { rx_usecs, freq_mhz }, qps, length: Length::Requests(REQUESTS), warmup_s: Some(0.0), seed }
}

/// Solves the normal equations of a least-squares fit with non-negative coefficients by dropping
/// negative ones.
fn fit(rows: &[Vec<f64>], times: &[f64]) -> Vec<f64> {
    let n = rows[0].len();
    let mut active: Vec<usize> = (0..n).collect();
    loop {
        let m = active.len();
        let mut a = vec![vec![0.0; m + 1]; m];
        for (row, time) in rows.iter().zip(times) {
            for i in 0..m {
                for j in 0..m {
                    a[i][j] += row[active[i]] * row[active[j]] / (time * time);
                }
                a[i][m] += row[active[i]] / time;
            }
        }
        for i in 0..m {
            let pivot = a[i].clone();
            for (k, row) in a.iter_mut().enumerate().filter(|(k, _)| *k != i) {
                let _ = k;
                let factor = row[i] / pivot[i];
                row.iter_mut().zip(&pivot).for_each(|(x, p)| *x -= factor * p);
            }
        }
        let solution: Vec<f64> = (0..m).map(|i| a[i][m] / a[i][i]).collect();
        match (0..m).min_by(|&i, &j| solution[i].total_cmp(&solution[j])) {
            Some(worst) if solution[worst] < 0.0 => {
                active.remove(worst);
            }
            _ => {
                let mut all = vec![0.0; n];
                active.iter().zip(solution).for_each(|(&i, x)| all[i] = x);
                return all;
            }
        }
    }
}

fn main() {
    for (name, text) in [("linux", LINUX), ("ebbrt", EBBRT)] {
        let profile = Profile::parse(text, name).expect("the shipped profile parses");
        println!("{name}, one thread, 2900 MHz:");
        println!("{:>9} {:>9} {:>12} {:>12} {:>12}", "qps", "rx_usecs", "Mreq/s", "int/req", "idle/req");
        let (mut rows, mut times) = (Vec::new(), Vec::new());
        for qps in [200_000.0, 600_000.0] {
            for rx_usecs in [Some(2.0), Some(10.0), Some(50.0), Some(100.0), Some(400.0), None] {
                let mut least_s = f64::INFINITY;
                let mut measured = None;
                for _ in 0..REPEATS {
                    let before_s = user_cpu_s();
                    measured = simulate(&profile, &run(qps, rx_usecs, 1)).ok();
                    least_s = least_s.min(user_cpu_s() - before_s);
                }
                let Some(m) = measured else { continue };
                let idle: f64 = m.idle_states.iter().map(|s| s.entries_per_s).sum::<f64>() / m.qps;
                let interrupts = m.interrupts_per_s / m.qps;
                let speed = m.completed as f64 / least_s / 1e6;
                let label = rx_usecs.map_or("auto".into(), |us| us.to_string());
                println!("{qps:>9} {label:>9} {speed:>12.1} {interrupts:>12.2} {idle:>12.2}");
                if rx_usecs.is_some() {
                    rows.push(vec![1.0, interrupts, idle]);
                    times.push(1e3 / speed);
                }
            }
        }
        let cost = fit(&rows, &times);
        println!(
            "  fitted ns per request {:.0}, per interrupt {:.0}, per idle period {:.0}",
            cost[0], cost[1], cost[2]
        );
        let jobs: Vec<(&Profile, Run)> = (0..8).map(|seed| (&profile, run(600_000.0, Some(50.0), seed))).collect();
        let (mut wall_s, mut cpu_s) = ([0.0; 2], [0.0; 2]);
        for threads in [1, 2] {
            let (start, before_s) = (Instant::now(), user_cpu_s());
            let done = simulate_batch(&jobs, threads, || false).is_ok();
            cpu_s[threads - 1] = if done { user_cpu_s() - before_s } else { f64::NAN };
            wall_s[threads - 1] = start.elapsed().as_secs_f64();
        }
        println!(
            "  two threads: {:.2} times as fast by the wall clock, {:.2} by CPU time (what two idle cores would give)",
            wall_s[0] / wall_s[1],
            2.0 * cpu_s[0] / cpu_s[1]
        );
    }
}
