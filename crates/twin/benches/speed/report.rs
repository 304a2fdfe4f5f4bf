//! The results as a table for people and as JSON for programs.

use std::path::PathBuf;

use crate::events::KINDS;
use crate::{Point, REPEATS, REQUESTS, Results};

/// The file after `--out`; `cargo bench` adds arguments of its own.
pub fn out_file() -> Option<PathBuf> {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "--out");
    arguments.next()?;
    Some(arguments.next().expect("--out needs a file").into())
}

/// Prints the table of one profile.
pub fn print(results: &Results) {
    println!("{}, one thread, million simulated requests per second of CPU time:", results.name);
    println!(
        "{:>6} {:>6} {:>9} {:>9} {:>7} {:>7} {:>8} {:>9} {:>9} {:>7} {:>5}",
        "cores", "kqps", "rx_usecs", "freq_mhz", "best", "median", "int/req", "idle/req", "requests", "interr.", "idle"
    );
    for point in &results.points {
        let or_auto = |value: Option<f64>| value.map_or("auto".into(), |value| value.to_string());
        let [requests, interrupts, idle] = results.costs.shares(point).map(|share| 100.0 * share);
        println!(
            "{:>6} {:>6} {:>9} {:>9} {:>7.1} {:>7.1} {:>8.2} {:>9.2} {requests:>8.0}% {interrupts:>6.0}% {idle:>4.0}%",
            point.cores,
            point.qps * 1e-3,
            or_auto(point.rx_usecs),
            or_auto(point.freq_mhz),
            point.best_mreq_per_s(),
            point.median_mreq_per_s(),
            point.events[1],
            point.events[2],
        );
    }
    let costs: Vec<String> =
        KINDS.iter().zip(results.costs.ns).map(|(kind, ns)| format!("{ns:.1} ns per {kind}")).collect();
    println!(
        "Shares of time from a fit over the pinned settings: {} (mean error {:.0}%)",
        costs.join(", "),
        100.0 * results.costs.error
    );
    println!(
        "Two threads: {:.2} times as fast by the wall clock (best rounds), {:.2} by CPU time (two idle cores)\n",
        results.scaling.by_wall(),
        results.scaling.by_cpu()
    );
}

/// All results as a JSON document.
pub fn json(results: &[Results], load_average: [f64; 2]) -> String {
    let profiles: Vec<String> = results.iter().map(profile).collect();
    format!(
        "{{\n  \"requests\": {REQUESTS},\n  \"repeats\": {REPEATS},\n  \"load_average\": {},\n  \"profiles\": [\n{}\n  ]\n}}\n",
        numbers(&load_average),
        profiles.join(",\n")
    )
}

fn profile(results: &Results) -> String {
    let points: Vec<String> = results.points.iter().map(|point| format!("        {}", self::point(point))).collect();
    let kinds: Vec<String> =
        KINDS.iter().zip(results.costs.ns).map(|(kind, ns)| format!("\"{kind}\": {ns:.2}")).collect();
    let scaling = &results.scaling;
    format!(
        "    {{\n      \"name\": \"{}\",\n      \"points\": [\n{}\n      ],\n      \"ns_per_event\": {{{}}},\n      \
         \"fit_error\": {:.4},\n      \"two_threads\": {{\"wall_s\": {}, \"cpu_s\": {}, \"by_wall\": {:.3}, \
         \"by_cpu\": {:.3}}}\n    }}",
        results.name,
        points.join(",\n"),
        kinds.join(", "),
        results.costs.error,
        numbers(&scaling.wall_s),
        numbers(&scaling.cpu_s),
        scaling.by_wall(),
        scaling.by_cpu(),
    )
}

fn point(point: &Point) -> String {
    let or_null = |value: Option<f64>| value.map_or("null".into(), |value| value.to_string());
    format!(
        "{{\"cores\": {}, \"qps\": {}, \"rx_usecs\": {}, \"freq_mhz\": {}, \"completed\": {}, \"utilization\": {:.4}, \
         \"events_per_request\": {}, \"cpu_s\": {}, \"best_mreq_per_s\": {:.3}}}",
        point.cores,
        point.qps,
        or_null(point.rx_usecs),
        or_null(point.freq_mhz),
        point.completed,
        point.utilization,
        numbers(&point.events),
        numbers(&point.cpu_s),
        point.best_mreq_per_s(),
    )
}

fn numbers(values: &[f64]) -> String {
    let values: Vec<String> = values.iter().map(|value| format!("{value:.6}")).collect();
    format!("[{}]", values.join(", "))
}
