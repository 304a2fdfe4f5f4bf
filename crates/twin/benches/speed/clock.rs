//! CPU time, which a machine shared with others disturbs least.

/// CPU time of the calling thread in seconds.
pub fn thread_cpu_s() -> f64 {
    std::thread::yield_now(); // or Linux would answer with the time of its last tick, up to 4 ms ago
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has /proc/thread-self/schedstat");
    let ns: f64 = stat.split_whitespace().next().and_then(|ns| ns.parse().ok()).expect("nanoseconds on a CPU");
    ns * 1e-9
}

/// User CPU time of all threads of this process in seconds (Linux counts ticks of 10 ms).
pub fn process_cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has /proc/self/stat");
    let fields = stat.rsplit(')').next().expect("a field after the name");
    fields.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok()).expect("utime") / 100.0
}

/// Load average of the last minute.
pub fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").expect("Linux has /proc/loadavg");
    text.split_whitespace().next().and_then(|load| load.parse().ok()).expect("a load average")
}
