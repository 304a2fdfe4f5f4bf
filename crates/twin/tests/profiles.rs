//! The parser: what it accepts, and one clear error for whatever is wrong.
#![allow(missing_docs)]

mod common;

use bayop_core::Error;
use bayop_twin::{Override, Profile};
use common::{FILES, linux};
use proptest::prelude::*;

/// The Linux profile with one line replaced.
fn with_line(old_start: &str, new: &str) -> Result<Profile, Error> {
    let text = FILES[0].1;
    let line = text.lines().find(|line| line.starts_with(old_start)).unwrap();
    Profile::parse(&text.replacen(line, new, 1), "linux.toml")
}

fn line_of(start: &str) -> usize {
    FILES[0].1.lines().position(|line| line.starts_with(start)).unwrap() + 1
}

#[test]
fn shipped_profiles_parse_and_survive_a_round_trip() {
    for (name, text) in FILES {
        let profile = Profile::parse(text, name).unwrap();
        assert_eq!(Profile::parse(&profile.to_toml(), "copy").unwrap(), profile);
        assert_eq!(profile.with_values(&[]).unwrap(), profile);
        let same: Vec<_> = profile.values().into_iter().map(|(k, v)| (k, Override::Number(v))).collect();
        assert_eq!(profile.with_values(&same).unwrap(), profile);
    }
}

#[test]
fn every_number_has_a_range() {
    for (key, value) in linux().values() {
        let range = bayop_twin::profile::limits::range_of(&key).unwrap_or_else(|| panic!("{key} has no range"));
        assert!(range.allows(value), "{key}");
    }
}

#[test]
fn every_number_line_names_its_source() {
    for (name, text) in FILES {
        for line in
            text.lines().filter(|line| line.contains(" = ") && !line.starts_with("name") && !line.starts_with('#'))
        {
            assert!(line.contains(" # "), "{name}: {line}");
        }
    }
}

#[test]
fn a_wrong_unit_is_an_unknown_key_with_a_hint() {
    let error = with_line("exit_latency_us", "exit_latency_ms = 0.002").unwrap_err();
    assert_eq!(error.value.as_deref(), Some("exit_latency_ms"));
    assert!(error.to_string().starts_with("there is no key exit_latency_ms (linux.toml, line "), "{error}");
    assert_eq!(error.hint.as_deref(), Some("did you mean exit_latency_us?"));
}

#[test]
fn typos_and_missing_keys() {
    let error = with_line("steer_us", "stear_us = 1.0").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean steer_us?"));
    assert!(error.to_string().contains(&format!("line {}", line_of("steer_us"))), "{error}");
    let error = with_line("steer_us", "").unwrap_err();
    assert!(error.to_string().starts_with("the key steer_us is missing (linux.toml, line "), "{error}");
}

#[test]
fn numbers_out_of_range() {
    for value in ["nan", "-1.0", "inf", "1e30"] {
        let error = with_line("steer_us", &format!("steer_us = {value}")).unwrap_err();
        assert!(error.to_string().contains("between 0 and"), "{error}");
        let place = format!("linux.toml, line {}, key os.steer_us", line_of("steer_us"));
        assert_eq!(error.place.as_deref(), Some(&*place));
    }
    assert!(with_line("cores", "cores = 16.5").unwrap_err().to_string().contains("whole"));
    assert!(with_line("cores", "cores = 0").is_err());
    assert!(with_line("poll_budget", "poll_budget = 65").is_err());
}

#[test]
fn wrong_types_words_and_syntax() {
    let error = with_line("steer_us", "steer_us = \"fast\"").unwrap_err();
    assert!(error.to_string().contains(&format!("line {}", line_of("steer_us"))), "{error}");
    let error = with_line("idle_governor", "idle_governor = \"doze\"").unwrap_err();
    assert!(error.to_string().starts_with("cannot use 'doze': it must be one of menu, menu-4.4, "), "{error}");
    let error = with_line("steer_us", "steer_us = = 1").unwrap_err();
    assert!(error.to_string().starts_with("steer_us = = 1 is not valid TOML: "), "{error}");
}

#[test]
fn a_wrong_type_is_told_what_it_must_be() {
    for (line, new, message) in [
        ("cores", "cores = \"16\"", "cannot use '\"16\"': it must be a whole number"),
        ("steer_us", "steer_us = \"fast\"", "cannot use '\"fast\"': it must be a number"),
        ("name", "name = 3", "cannot use '3': it must be a text"),
        ("freq_mhz", "freq_mhz = \"fast\"", "cannot use '\"fast\"': it must be a list"),
    ] {
        let error = with_line(line, new).unwrap_err().to_string();
        assert_eq!(error, format!("{message} (linux.toml, line {})", line_of(line)));
    }
    let error = Profile::parse("machine = 3", "x.toml").unwrap_err().to_string();
    assert_eq!(error, "cannot use '3': it must be a table (x.toml, line 1)");
}

#[test]
fn what_has_no_name_is_refused_where_it_stands() {
    let error = with_line("name", "name = \" \"").unwrap_err().to_string();
    assert!(error.contains("a name must have at least one letter"), "{error}");
    assert!(error.contains(&format!("linux.toml, line {}, key ", line_of("name"))), "{error}");
}

#[test]
fn an_idle_state_that_is_there_twice_is_refused_at_the_second() {
    let states: Vec<_> = FILES[0].1.lines().enumerate().filter(|(_, line)| line.starts_with("name = \"C")).collect();
    let ((_, first), (second, other)) = (states[0], states[1]);
    let text = FILES[0].1.replacen(other, first, 1);
    let place = Profile::parse(&text, "linux.toml").unwrap_err().place;
    let key = place.as_deref().unwrap_or_default();
    assert!(key.starts_with(&format!("linux.toml, line {}, key machine.idle_states.", second + 1)), "{key}");
}

#[test]
fn an_idle_state_may_never_settle() {
    let never = with_line("settle_us", "settle_us = \"never\"").unwrap();
    assert_eq!(never.machine.idle_states[0].settle_us, f64::INFINITY);
    assert_eq!(Profile::parse(&never.to_toml(), "copy").unwrap(), never);
    let key = "machine.idle_states.0.settle_us";
    assert!(never.values().iter().all(|(other, _)| other != key));
    let set = |profile: &Profile, value| profile.with_values(&[(key.to_string(), value)]);
    assert_eq!(set(&linux(), Override::Text("never".into())).unwrap(), never);
    assert_eq!(set(&never, Override::Number(100.0)).unwrap(), linux());
    assert!(set(&linux(), Override::Text("soon".into())).is_err());
    assert!(set(&never, Override::Number(-1.0)).unwrap_err().to_string().contains("between 0 and"));
    for wrong in ["\"soon\"", "inf", "-1", "true"] {
        let error = with_line("settle_us", &format!("settle_us = {wrong}")).unwrap_err();
        assert!(error.to_string().contains("it must be "), "{error}");
        assert!(error.place.unwrap().contains(&format!("line {}", line_of("settle_us"))));
    }
    assert!(with_line("wake_us", "wake_us = \"never\"").is_err());
}

#[test]
fn rules_between_keys() {
    assert!(with_line("freq_mhz", "freq_mhz = [1200, 1100]").unwrap_err().to_string().contains("ascending"));
    assert!(with_line("freq_mhz", "freq_mhz = []").is_err());
    assert!(with_line("spare_cores", "spare_cores = 16").is_err());
    assert!(with_line("rx_usecs_min", "rx_usecs_min = 2000").is_err());
    let deep_first = with_line("target_residency_us = 2 ", "target_residency_us = 50").unwrap_err();
    assert!(deep_first.to_string().contains("machine.idle_states.2"), "{deep_first}");
}

#[test]
fn overrides_are_checked_like_files() {
    let set = |key: &str, value: Override| linux().with_values(&[(key.to_string(), value)]);
    assert_eq!(set("app.request_kcycles", Override::Number(3.0)).unwrap().app.request_kcycles, 3.0);
    assert_eq!(set("machine.cores", Override::Number(8.0)).unwrap().machine.cores, 8);
    assert!(set("os.idle_governor", Override::Text("deepest".into())).is_ok());
    for (key, value) in [
        ("app.request_kcycle", Override::Number(3.0)),
        ("app.request_kcycles", Override::Number(-3.0)),
        ("app.request_kcycles", Override::Number(f64::NAN)),
        ("app.request_kcycles", Override::Text("3".into())),
        ("machine.cores", Override::Number(2.5)),
        ("machine", Override::Number(2.5)),
        ("os.idle_governor", Override::Text("doze".into())),
        ("os.idle_governor", Override::Number(1.0)),
    ] {
        let error = set(key, value).unwrap_err();
        assert!(error.place.is_some(), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,200}") {
        let _ = Profile::parse(&text, "noise");
    }

    #[test]
    fn a_broken_shipped_profile_never_panics(cut in 0usize..5000, insert in "[a-z0-9=\\[\\]\".\n ]{0,6}") {
        let text = FILES[0].1;
        let mut at = cut.min(text.len());
        while !text.is_char_boundary(at) { at -= 1; }
        let broken = format!("{}{insert}{}", &text[..at], &text[at..]);
        if let Err(error) = Profile::parse(&broken, "broken") {
            prop_assert!(error.place.unwrap().starts_with("broken"));
        }
    }

    #[test]
    fn any_number_is_accepted_exactly_in_its_range(index in 0usize..200, value in prop::num::f64::ANY) {
        let values = linux().values();
        let key = &values[index % values.len()].0;
        let range = bayop_twin::profile::limits::range_of(key).unwrap();
        let result = linux().with_values(&[(key.clone(), Override::Number(value))]);
        if !range.allows(value) {
            prop_assert!(result.is_err());
        }
    }
}
