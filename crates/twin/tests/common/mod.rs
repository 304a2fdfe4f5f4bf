//! Shared by the integration tests.
#![allow(dead_code, missing_docs)]

use bayop_twin::{Knob, Length, Load, Measurement, Override, Profile, Run, Setting, simulate};

pub const FILES: [(&str, &str); 4] = [
    ("linux_memcached.toml", include_str!("../../../../python/bayop/twin/profiles/linux_memcached.toml")),
    ("ebbrt_memcached.toml", include_str!("../../../../python/bayop/twin/profiles/ebbrt_memcached.toml")),
    ("linux_silo.toml", include_str!("../../../../python/bayop/twin/profiles/linux_silo.toml")),
    ("ebbrt_silo.toml", include_str!("../../../../python/bayop/twin/profiles/ebbrt_silo.toml")),
];

pub fn linux() -> Profile {
    Profile::parse(FILES[0].1, FILES[0].0).unwrap()
}

pub fn ebbrt() -> Profile {
    Profile::parse(FILES[1].1, FILES[1].0).unwrap()
}

pub fn with(profile: &Profile, values: &[(&str, f64)]) -> Profile {
    let overrides: Vec<_> = values.iter().map(|&(key, value)| (key.to_string(), Override::Number(value))).collect();
    profile.with_values(&overrides).unwrap()
}

pub fn run(qps: f64, rx_usecs: impl Into<Option<f64>>, freq_mhz: impl Into<Option<f64>>) -> Run {
    let setting = Setting::default().with(Knob::RxUsecs, rx_usecs).with(Knob::FreqMhz, freq_mhz);
    Run { setting, load: Load::Qps(qps), length: Length::Requests(100_000), warmup_s: None, seed: 1 }
}

pub fn measure(profile: &Profile, run: &Run) -> Measurement {
    simulate(profile, run).unwrap()
}
