//! Ranges of every number in a profile, by the unit that its key carries.

/// Most packets that one poll can handle.
pub const MAX_POLL_BUDGET: usize = 64;
/// Longest request queue.
pub const MAX_QUEUE: usize = 65_536;
/// Most idle states (`CPUIDLE_STATE_MAX` in Linux).
pub const MAX_IDLE_STATES: usize = 10;
/// Most cores.
pub const MAX_CORES: usize = 256;

/// A closed range and whether only whole numbers are allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Least value.
    pub least: f64,
    /// Greatest value.
    pub greatest: f64,
    /// Whole numbers only.
    pub whole: bool,
    /// Unit for messages; may be empty.
    pub unit: &'static str,
}

/// Keys with a range of their own: key, least, greatest.
const BY_KEY: &[(&str, f64, f64)] = &[
    ("arrival_shape", 0.0, 0.45),
    ("service_log_sd", 0.0, 2.0),
    ("busy_sibling_factor", 1.0, 10.0),
    ("cost_factor", 0.01, 100.0),
    ("memory_us_per_kcycle", 0.0, 10.0),
    ("rx_usecs_step", 0.001, 1e4),
    ("rx_usecs_tick_factor", 0.1, 10.0),
    ("frequency_sampling_us", 100.0, 1e7),
    ("idle_loop_tau_us", 0.001, 1e7),
    ("idle_timer_period_us", 1.0, 1e9),
    ("idle_latency_price", 0.0, 1e5),
    ("ack_rx_usecs", 0.001, 1e9),
    ("copy_kcycles_per_kib", 0.0, 1000.0),
    ("kinstructions_per_kib", 0.0, 1000.0),
    ("wire_mbit_s", 1.0, 1e7),
    ("bus_mbit_s", 1.0, 1e7),
];

/// Keys that count things: key, least, greatest.
const COUNTS: &[(&str, usize, usize)] = &[
    ("cores", 1, MAX_CORES),
    ("frequency_domain_cores", 1, MAX_CORES),
    ("package_cores", 0, MAX_CORES),
    ("rx_frames_max", 0, 65_535),
    ("threads_per_core", 1, 8),
    ("spare_cores", 0, MAX_CORES - 1),
    ("connections", 1, 10_000_000),
    ("poll_budget", 1, MAX_POLL_BUDGET),
    ("frequency_poll_budget", 1, MAX_POLL_BUDGET),
    ("queue_limit", 1, MAX_QUEUE),
];

/// Unit suffixes: suffix, least, greatest, unit.
const BY_SUFFIX: &[(&str, f64, f64, &str)] = &[
    ("_us", 0.0, 1e7, "us"),
    ("_usecs", 0.0, 1e6, "us"),
    ("_mhz", 10.0, 20_000.0, "MHz"),
    ("_w", 0.0, 10_000.0, "W"),
    ("_kcycles", 0.0, 1e8, "kilocycles"),
    ("_kinstructions", 0.0, 1e8, "thousand instructions"),
    ("_bytes", 1.0, 1e6, "bytes"),
    ("_share", 0.0, 1.0, ""),
    ("_exponent", 0.0, 20.0, ""),
    ("_factor", 0.0, 100.0, ""),
    ("_batching", 0.0, 1000.0, ""),
    ("_usecs_min", 0.0, 1e6, "us"),
    ("_usecs_max", 0.0, 1e6, "us"),
];

/// The range of a number, by the last word of its dotted key; `None` when the key is not that
/// of a number.
pub fn range_of(dotted_key: &str) -> Option<Range> {
    let key = dotted_key.rsplit('.').find(|part| part.parse::<usize>().is_err())?;
    if let Some(&(_, least, greatest)) = COUNTS.iter().find(|(name, ..)| *name == key) {
        return Some(Range { least: least as f64, greatest: greatest as f64, whole: true, unit: "" });
    }
    if let Some(&(_, least, greatest)) = BY_KEY.iter().find(|(name, ..)| *name == key) {
        return Some(Range { least, greatest, whole: false, unit: "" });
    }
    BY_SUFFIX.iter().find(|(suffix, ..)| key.ends_with(suffix)).map(|&(_, least, greatest, unit)| Range {
        least,
        greatest,
        whole: false,
        unit,
    })
}

impl Range {
    /// Whether `value` is allowed; NaN and infinities never are.
    pub fn allows(&self, value: f64) -> bool {
        (self.least..=self.greatest).contains(&value) && (!self.whole || value.fract() == 0.0)
    }

    /// The rule in words.
    pub fn rule(&self) -> String {
        let whole = if self.whole { "a whole number " } else { "" };
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        format!("it must be {whole}between {} and {}{unit}", self.least, self.greatest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_follow_units() {
        assert_eq!(range_of("machine.idle_states.2.exit_latency_us").unwrap().unit, "us");
        assert_eq!(range_of("machine.freq_mhz.0").unwrap().unit, "MHz");
        assert!(range_of("machine.cores").unwrap().whole);
        assert_eq!(range_of("machine.name"), None);
        assert!(!range_of("os.steer_us").unwrap().allows(f64::NAN));
        assert!(!range_of("machine.cores").unwrap().allows(2.5));
    }
}
