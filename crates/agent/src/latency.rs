//! What clients see, as whoever knows it pushes it to the agent: a source of latency's line, in a request or a datagram.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use bayop_core::{Error, Result};

/// No latency is greater, in us: a week and a half.
const MOST_US: f64 = 1e12;

/// Where a latency was measured. On the server alone, nobody sees a packet wait for its interrupt, which is what the
/// knobs lengthen: that is no latency that anything may be held by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Vantage {
    /// By the clients, or by what stands next to them.
    #[serde(rename = "client")]
    Client,
    /// By an open-loop probe on another host.
    #[serde(rename = "probe")]
    Probe,
    /// On the server, with the wait before the interrupt added.
    #[serde(rename = "server+wait")]
    ServerAndWait,
}

/// What clients saw in the last moments: `{"vantage": "client", "p99_us": 310.5}`.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
pub struct Latency {
    /// Where it was measured.
    pub vantage: Vantage,
    /// Quantiles in us by their names, such as `p99_us`; what else is there is passed over.
    #[serde(flatten, deserialize_with = "bayop_core::each_once")]
    #[schema(value_type = BTreeMap<String, serde_json::Value>)]
    quantities: BTreeMap<String, Value>,
}

impl Latency {
    /// The latency that a datagram holds.
    ///
    /// # Errors
    /// It holds something else.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let latency = Self::read(text)?;
        latency.quantiles()?;
        Ok(latency)
    }

    /// The latency that a line of a source holds; none where too few requests came for a quantile.
    ///
    /// # Errors
    /// It holds something else.
    pub fn parse_line(line: &[u8]) -> Result<Option<Self>> {
        let latency = Self::read(line)?;
        if latency.quantities.keys().all(|name| quantile_of(name).is_none()) {
            return Ok(None);
        }
        latency.quantiles()?;
        Ok(Some(latency))
    }

    fn read(text: &[u8]) -> Result<Self> {
        serde_json::from_slice(text).map_err(|error| {
            Error::input(format!("the datagram holds no latency: {error}"))
                .hint(r#"such as {"vantage": "client", "p99_us": 310.5}"#)
        })
    }

    /// The quantiles with their latencies in us, the least first.
    ///
    /// # Errors
    /// There is none, or one is no positive number, or so great that nobody can have waited for so long.
    pub fn quantiles(&self) -> Result<Vec<(f64, f64)>> {
        let named = self.quantities.iter().filter_map(|(name, value)| Some((name, quantile_of(name)?, value)));
        let rule = "a latency must be a positive number of us, at most 1e12";
        let is_latency = |us: &f64| *us > 0.0 && *us <= MOST_US;
        let quantiles = named.map(|(name, quantile, value)| match value.as_f64().filter(is_latency) {
            Some(us) => Ok((quantile, us)),
            None => Err(Error::cannot_use(value, rule).at(name)),
        });
        let mut quantiles = quantiles.collect::<Result<Vec<_>>>()?;
        if quantiles.is_empty() {
            return Err(Error::input("there is no latency quantile").rule("a latency must name one, such as p99_us"));
        }
        quantiles.sort_by(|one, other| one.0.total_cmp(&other.0));
        Ok(quantiles)
    }
}

/// The quantile that a field holds, as python/bayop/slo.py names it: `p99_us` is 0.99, `p999_us` 0.999, `p100_us` 1; none
/// for any other field.
pub fn quantile_of(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?.strip_suffix("_us")?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (whole, rest) = digits.split_at(digits.len().min(2));
    if digits == "100" {
        Some(1.0)
    } else {
        format!("{whole}.{rest}0").parse::<f64>().ok().map(|percent| percent / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_are_those_that_the_brain_names() {
        for (name, quantile) in
            [("p50_us", 0.5), ("p99_us", 0.99), ("p999_us", 0.999), ("p9_us", 0.09), ("p100_us", 1.0)]
        {
            assert!((quantile_of(name).unwrap() - quantile).abs() < 1e-12, "{name}");
        }
        for name in ["p_us", "p99", "99_us", "p9.9_us", "p-9_us", "mean_us", "qps", "", "p+9_us", "p٩٩_us"] {
            assert_eq!(quantile_of(name), None, "{name}");
        }
    }

    #[test]
    fn a_line_of_a_probe_is_a_latency() {
        let line = br#"{"vantage":"server+wait","wait":"departure","duration_s":1.0,"requests":99,"qps":99.0,
            "p90_us":200,"p50_us":100.5,"relative_sd":{"p50_us":0.1}}"#;
        assert_eq!(Latency::parse(line).unwrap().quantiles(), Ok(vec![(0.5, 100.5), (0.9, 200.0)]));
    }

    #[test]
    fn what_says_nothing_is_refused() {
        for (text, word) in [
            (r#"{"p99_us": 310}"#, "vantage"),
            (r#"{"vantage": "server", "p99_us": 310}"#, "server+wait"),
            (r#"{"vantage": "client", "qps": 310}"#, "quantile"),
            (r#"{"vantage": "client", "p99_us": 900, "p99_us": 1}"#, "twice"),
            (r#"{"vantage": "client", "p99_us": 0}"#, "positive"),
            (r#"{"vantage": "client", "p99_us": "310"}"#, "positive"),
            (r#"{"vantage": "client", "p99_us": null}"#, "positive"),
            (r#"{"vantage": "client", "p99_us": 1e308}"#, "at most 1e12"),
            (r#"{"vantage": "client", "p99_us": 1e999}"#, "out of range"),
            ("310", "latency"),
            ("", "EOF"),
        ] {
            let error = Latency::parse(text.as_bytes()).unwrap_err().report();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_is_refused_or_has_positive_quantiles(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(latency) = Latency::parse(&bytes) {
                prop_assert!(latency.quantiles().unwrap().iter().all(|(_, us)| *us > 0.0));
            }
        }

        #[test]
        fn whatever_is_named_is_refused_or_between_0_and_1(name in "p[0-9]{1,20}_us|[a-z0-9_]{0,8}") {
            prop_assert!(quantile_of(&name).is_none_or(|quantile| (0.0..=1.0).contains(&quantile)), "{name}");
        }
    }
}
