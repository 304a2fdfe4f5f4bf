//! The conditions that a setting is held under, and when one of them breaks. Pure: time and counts are arguments.
//!
//! A guard knows three things: what was pushed and when, what a network device's counter showed and when, and when the
//! hold began. It asks nobody, so that it judges as fast when the brain is gone.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::latency::{Latency, quantile_of};
use bayop_core::{Error, Result};

/// How long a counter may be unreadable before nobody knows the load; no less than its window.
const BLIND: Duration = Duration::from_secs(1);

/// What has to be so while a setting is held: at least one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// What clients see, as it is pushed.
    #[serde(default)]
    pub latency: Option<LatencyLimit>,
    /// What the machine is asked, by its own counter.
    #[serde(default)]
    pub load: Option<LoadBand>,
    /// How long the setting is held at most.
    #[serde(default)]
    pub longest_s: Option<f64>,
}

/// A quantile of the latency that clients see stays below a limit, and somebody says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LatencyLimit {
    /// Such as `p99_us`. A lower quantile above the limit breaks it too.
    pub quantity: String,
    /// The limit.
    pub limit_us: f64,
    /// How old the last push that names the quantity may be: 0.5 to 3600.
    pub silence_s: f64,
    /// So long after the hold's beginning, pushes count as signs of life only: they are about the setting before. 0 to 60.
    #[serde(default)]
    pub settle_s: f64,
}

/// The packets that a network device receives stay in a band.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadBand {
    /// Such as `eth0`.
    pub device: String,
    /// The least rate.
    pub low_packets_per_s: f64,
    /// The greatest rate.
    pub high_packets_per_s: f64,
    /// Over how long the rate is taken: 0.5 to 60.
    #[serde(default = "one_second")]
    pub window_s: f64,
}

fn one_second() -> f64 {
    1.0
}

impl Conditions {
    /// Refuses conditions that can't be judged.
    ///
    /// # Errors
    /// There is none, or a number is out of bounds.
    pub fn check(&self) -> Result<()> {
        if self.latency.is_none() && self.load.is_none() && self.longest_s.is_none() {
            return Err(Error::input("the hold has no condition")
                .rule("a hold must have a limit of latency, a band of load or a longest time")
                .at("conditions")
                .hint("POST /v1/apply sets what needs none"));
        }
        if let Some(LatencyLimit { quantity, limit_us, silence_s, settle_s }) = &self.latency {
            if quantile_of(quantity).is_none() {
                let rule = "a quantity must be a latency quantile, such as p99_us";
                return Err(Error::cannot_use(quantity, rule).at("conditions.latency.quantity"));
            }
            if !(limit_us.is_finite() && *limit_us > 0.0) {
                let rule = "a limit must be a positive number of us";
                return Err(Error::cannot_use(limit_us, rule).at("conditions.latency.limit_us"));
            }
            within(*silence_s, 0.5, 3600.0, "conditions.latency.silence_s")?;
            within(*settle_s, 0.0, 60.0, "conditions.latency.settle_s")?;
        }
        if let Some(LoadBand { low_packets_per_s: low, high_packets_per_s: high, window_s, .. }) = &self.load {
            if !(0.0 <= *low && low < high && high.is_finite()) {
                let rule = "a band of load must be from 0 or more to more than that";
                return Err(Error::cannot_use(format!("{low} to {high}"), rule).at("conditions.load"));
            }
            within(*window_s, 0.5, 60.0, "conditions.load.window_s")?;
        }
        self.longest_s.map_or(Ok(()), |longest_s| within(longest_s, 1.0, 7.0 * 86_400.0, "conditions.longest_s"))
    }
}

fn within(value_s: f64, low: f64, high: f64, place: &str) -> Result<()> {
    if (low..=high).contains(&value_s) {
        return Ok(());
    }
    Err(Error::cannot_use(value_s, format!("the time must be {low} to {high} seconds")).at(place))
}

/// Which condition broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// A latency above its limit.
    Latency,
    /// No latency for too long.
    Silence,
    /// A load outside its band, or one that nobody can read.
    Load,
    /// The longest time.
    Time,
}

impl Condition {
    /// As JSON and metrics have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Silence => "silence",
            Self::Load => "load",
            Self::Time => "time",
        }
    }
}

/// A condition that does not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Breach {
    /// Which.
    pub condition: Condition,
    /// What was seen, for people.
    pub seen: String,
}

/// Judges one hold.
#[derive(Debug, Clone)]
pub struct Guard {
    conditions: Conditions,
    began: Duration,
    /// The last value of the watched quantity, and when it was pushed.
    latest: Option<(f64, Duration)>,
    /// What the counter showed, as far back as the window and one look beyond.
    counts: VecDeque<(Duration, f64)>,
}

impl Guard {
    /// The guard of a hold that begins now.
    pub fn new(conditions: Conditions, now: Duration) -> Self {
        Self { conditions, began: now, latest: None, counts: VecDeque::new() }
    }

    /// What is guarded.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// How long the hold lasts.
    pub fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.began)
    }

    /// The last value of the watched quantity, in us, and how old it is.
    pub fn latest(&self, now: Duration) -> Option<(f64, Duration)> {
        self.latest.map(|(us, at)| (us, now.saturating_sub(at)))
    }

    /// The device whose counter is watched.
    pub fn device(&self) -> Option<&str> {
        self.conditions.load.as_ref().map(|load| load.device.as_str())
    }

    /// Takes in what was pushed; the breach, where it is one.
    ///
    /// # Errors
    /// It names no latency.
    pub fn hear(&mut self, latency: &Latency, now: Duration) -> Result<Option<Breach>> {
        let quantiles = latency.quantiles()?;
        let Some(LatencyLimit { quantity, limit_us, settle_s, .. }) = &self.conditions.latency else { return Ok(None) };
        let watched = quantile_of(quantity).expect("conditions were checked");
        if let Some((_, us)) = quantiles.iter().find(|(quantile, _)| *quantile == watched) {
            self.latest = Some((*us, now));
        }
        if self.age(now).as_secs_f64() < *settle_s {
            return Ok(None);
        }
        let over = quantiles.iter().rev().find(|(quantile, us)| *quantile <= watched && us > limit_us);
        Ok(over.map(|(quantile, us)| Breach {
            condition: Condition::Latency,
            seen: format!("p{} {us:.0} us, over {limit_us:.0} us", (quantile * 1e10).round() / 1e8),
        }))
    }

    /// Looks at what nobody pushes: the time, and the packets that the device has received, where they could be read.
    pub fn look(&mut self, packets: Option<f64>, now: Duration) -> Option<Breach> {
        let load = self.look_at_load(packets, now);
        self.look_at_time(now).or(load)
    }

    /// The rate over the window, once it is over.
    pub fn packets_per_s(&self) -> Option<f64> {
        let window = Duration::from_secs_f64(self.conditions.load.as_ref()?.window_s);
        let ((first, before), (last, after)) = (self.counts.front()?, self.counts.back()?);
        let passed = *last - *first;
        (passed >= window).then(|| (after - before) / passed.as_secs_f64())
    }

    fn look_at_time(&self, now: Duration) -> Option<Breach> {
        let age_s = self.age(now).as_secs_f64();
        let breach = |condition, seen| Some(Breach { condition, seen });
        if let Some(longest_s) = self.conditions.longest_s.filter(|longest_s| age_s >= *longest_s) {
            return breach(Condition::Time, format!("held for {longest_s} s"));
        }
        let LatencyLimit { quantity, silence_s, .. } = self.conditions.latency.as_ref()?;
        let silent_s = self.latest(now).map_or(age_s, |(_, age)| age.as_secs_f64());
        if silent_s <= *silence_s {
            return None;
        }
        breach(Condition::Silence, format!("no {quantity} for {silence_s} s"))
    }

    fn look_at_load(&mut self, packets: Option<f64>, now: Duration) -> Option<Breach> {
        let LoadBand { device, low_packets_per_s: low, high_packets_per_s: high, window_s } =
            self.conditions.load.as_ref()?;
        let window = Duration::from_secs_f64(*window_s);
        let breach = |seen| Some(Breach { condition: Condition::Load, seen });
        let Some(packets) = packets else {
            let last = self.counts.back().map_or(self.began, |(at, _)| *at);
            let is_blind = now.saturating_sub(last) > window.max(BLIND);
            return if is_blind { breach(format!("{device} does not say what it receives")) } else { None };
        };
        // A counter that falls has started anew.
        if self.counts.back().is_some_and(|(_, before)| packets < *before) {
            self.counts.clear();
        }
        self.counts.push_back((now, packets));
        while self.counts.get(1).is_some_and(|(at, _)| now - *at >= window) {
            self.counts.pop_front();
        }
        let rate = self.packets_per_s()?;
        if (*low..=*high).contains(&rate) {
            return None;
        }
        breach(format!("{device} receives {rate:.0} packets/s, not {low:.0} to {high:.0}"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn conditions(json: serde_json::Value) -> Conditions {
        serde_json::from_value(json).unwrap()
    }

    fn guard(json: serde_json::Value) -> Guard {
        let conditions = conditions(json);
        conditions.check().unwrap();
        Guard::new(conditions, s(100.0))
    }

    fn s(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    fn latency(json: serde_json::Value) -> Latency {
        let mut json = json;
        json["vantage"] = "client".into();
        serde_json::from_value(json).unwrap()
    }

    const P99: &str = r#"{"latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 3, "settle_s": 0.5}}"#;

    fn p99() -> Guard {
        guard(serde_json::from_str(P99).unwrap())
    }

    #[test]
    fn a_quantile_over_its_limit_is_a_breach_and_so_is_a_lower_one() {
        for (pushed, breach) in [
            (json!({"p99_us": 500}), None),
            (json!({"p99_us": 500.6}), Some("p99 501 us, over 500 us")),
            (json!({"p50_us": 501, "p99_us": 800}), Some("p99 800 us, over 500 us")),
            (json!({"p50_us": 501}), Some("p50 501 us, over 500 us")),
            (json!({"p999_us": 9000, "p99_us": 400}), None),
            (json!({"p999_us": 9000}), None),
        ] {
            let found = p99().hear(&latency(pushed.clone()), s(101.0)).unwrap();
            assert_eq!(found.as_ref().map(|found| found.seen.as_str()), breach, "{pushed}");
            assert!(found.is_none_or(|found| found.condition == Condition::Latency));
        }
        assert!(p99().hear(&latency(json!({"qps": 3})), s(101.0)).is_err());
    }

    #[test]
    fn while_a_setting_settles_a_push_is_a_sign_of_life_only() {
        let mut guard = p99();
        assert_eq!(guard.hear(&latency(json!({"p99_us": 9000})), s(100.4)).unwrap(), None);
        assert_eq!(guard.look(None, s(103.3)), None);
        assert!(guard.look(None, s(103.5)).is_some());
        assert!(guard.hear(&latency(json!({"p99_us": 9000})), s(100.5)).unwrap().is_some());
    }

    #[test]
    fn silence_is_a_breach_and_what_does_not_name_the_quantity_is_silence() {
        let mut guard = p99();
        assert_eq!(guard.look(None, s(103.0)), None);
        guard.hear(&latency(json!({"p99_us": 100})), s(103.0)).unwrap();
        guard.hear(&latency(json!({"p50_us": 100})), s(105.0)).unwrap();
        assert_eq!(guard.look(None, s(106.0)), None);
        let breach = guard.look(None, s(106.1)).unwrap();
        assert_eq!((breach.condition, breach.seen.as_str()), (Condition::Silence, "no p99_us for 3 s"));
        assert_eq!(guard.latest(s(106.0)), Some((100.0, s(3.0))));
    }

    #[test]
    fn the_longest_time_is_the_longest() {
        let mut guard = guard(json!({"longest_s": 60}));
        assert_eq!(guard.look(None, s(159.9)), None);
        assert_eq!(guard.look(None, s(160.0)).unwrap().condition, Condition::Time);
    }

    fn band(low: f64, high: f64) -> Guard {
        let band = json!({"device": "eth0", "low_packets_per_s": low, "high_packets_per_s": high});
        guard(json!({"load": band}))
    }

    #[test]
    fn a_load_that_doubles_breaks_its_band_within_the_window() {
        let (mut guard, mut packets, mut broke) = (band(800.0, 1200.0), 5e6, None);
        for look in 0..80 {
            let now = 100.0 + f64::from(look) * 0.25;
            packets += if now > 110.0 { 500.0 } else { 250.0 };
            let breach = guard.look(Some(packets), s(now));
            broke = broke.or(breach.map(|breach| (now, breach)));
        }
        let (at, breach) = broke.unwrap();
        assert!(at > 110.0 && at <= 110.5, "{at}");
        assert_eq!(breach.seen, "eth0 receives 1250 packets/s, not 800 to 1200");
    }

    #[test]
    fn a_counter_that_starts_anew_is_no_load_and_one_that_is_silent_is_unknown() {
        let mut guard = band(800.0, 1200.0);
        for look in 0..8 {
            assert_eq!(guard.look(Some(9e9 + f64::from(look) * 250.0), s(100.0 + f64::from(look) * 0.25)), None);
        }
        for look in 0..8 {
            assert_eq!(guard.look(Some(f64::from(look) * 250.0), s(102.0 + f64::from(look) * 0.25)), None);
        }
        assert_eq!(guard.look(None, s(104.7)), None);
        assert_eq!(guard.look(None, s(104.8)).unwrap().seen, "eth0 does not say what it receives");
    }

    #[test]
    fn conditions_that_can_not_be_judged_are_refused() {
        let latency = |part: &str, value: serde_json::Value| {
            let mut conditions: serde_json::Value = serde_json::from_str(P99).unwrap();
            conditions["latency"][part] = value;
            conditions
        };
        let load = |low: f64, high: f64, window_s: f64| {
            let (low, high) = (json!(low), json!(high));
            json!({"load": {"device": "eth0", "low_packets_per_s": low, "high_packets_per_s": high, "window_s": window_s}})
        };
        for (json, place) in [
            (json!({}), "conditions"),
            (latency("quantity", json!("mean_us")), "quantity"),
            (latency("limit_us", json!(0)), "limit_us"),
            (latency("silence_s", json!(0.4)), "silence_s"),
            (latency("silence_s", json!(3601)), "silence_s"),
            (latency("settle_s", json!(-1)), "settle_s"),
            (load(2.0, 2.0, 1.0), "load"),
            (load(-1.0, 2.0, 1.0), "load"),
            (load(1.0, 2.0, 0.1), "window_s"),
            (json!({"longest_s": 0.5}), "longest_s"),
        ] {
            let error = conditions(json.clone()).check().unwrap_err();
            assert!(error.place.as_deref().unwrap_or_default().ends_with(place), "{json}: {error}");
        }
    }

    proptest! {
        /// On a quiet day nothing breaks: pushes in time and below the limit, a load within its band however it scatters.
        #[test]
        fn a_quiet_day_has_no_breach(
            latencies in prop::collection::vec(1.0..=500.0, 100),
            pauses_s in prop::collection::vec(0.01..2.9, 100),
            rates in prop::collection::vec(800.0..=1200.0, 100),
        ) {
            let both = json!({
                "latency": {"quantity": "p99_us", "limit_us": 500, "silence_s": 3},
                "load": {"device": "eth0", "low_packets_per_s": 799, "high_packets_per_s": 1201},
            });
            let (mut guard, mut now_s, mut packets) = (guard(both), 100.0, 0.0);
            for ((us, pause_s), rate) in latencies.iter().zip(&pauses_s).zip(&rates) {
                prop_assert_eq!(guard.look(Some(packets), s(now_s)), None);
                now_s += pause_s;
                packets += rate * pause_s;
                prop_assert_eq!(guard.look(Some(packets), s(now_s)), None);
                prop_assert_eq!(guard.hear(&latency(json!({"p99_us": us})), s(now_s)).unwrap(), None);
            }
        }

        /// Whatever was before, a source that dies is found at the first look after its silence, and a limit at once.
        #[test]
        fn what_breaks_is_found(before in prop::collection::vec((1.0..=500.0, 0.01..2.9), 0..20), late_s in 0.001..10.0) {
            let (mut guard, mut now_s) = (p99(), 100.0);
            for (us, pause_s) in before {
                now_s += pause_s;
                guard.hear(&latency(json!({"p99_us": us})), s(now_s)).unwrap();
            }
            let mut harmed = guard.clone();
            let over = harmed.hear(&latency(json!({"p99_us": 501})), s(now_s.max(100.5))).unwrap();
            prop_assert_eq!(over.unwrap().condition, Condition::Latency);
            let breach = guard.look(None, s(now_s + 3.0 + late_s));
            prop_assert_eq!(breach.unwrap().condition, Condition::Silence);
        }
    }
}
