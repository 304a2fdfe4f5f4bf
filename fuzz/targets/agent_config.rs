//! Whatever a configuration says: it is refused at one of its lines, or allows nothing but knobs that there are; and the
//! journal that undoes is the journal that serves.

#![no_main]

use std::path::Path;

use bayop_agent::config::{Config, stated};
use bayop_knobs::catalogue;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let parse = |text| Config::parse(text, Path::new("agent.toml"));
    match parse(text) {
        Ok(config) => {
            let default = parse("").expect("no text is the default").state_dir;
            assert_eq!(stated(text).unwrap_or(default), config.state_dir);
            assert!(config.socket.is_absolute() && config.state_dir.is_absolute());
            for (id, rule) in &config.allow.0 {
                assert!(catalogue::entry(id).is_some() && !rule.places.is_empty(), "{id}: {rule:?}");
                assert!(rule.low.unwrap_or(f64::MIN) <= rule.high.unwrap_or(f64::MAX), "{id}: {rule:?}");
            }
        }
        Err(error) => {
            let place = error.place.as_ref().expect("a message names a place");
            let line = place.strip_prefix("agent.toml:").and_then(|line| line.split(':').next()?.parse().ok());
            assert!(line.is_some_and(|line| (1..=text.split('\n').count()).contains(&line)), "{error}");
        }
    }
});
