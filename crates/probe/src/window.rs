//! One window, as it is printed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::counters::Counters;
use crate::histogram::{Distribution, of_counts};
use crate::wait::{Moderation, WithWait};

/// Requests that must lie beyond a quantile for it to be told: p99 needs a thousand of them.
const BEYOND: f64 = 10.0;

const QUANTILES: [(&str, f64); 5] =
    [("p50_us", 0.5), ("p90_us", 0.9), ("p95_us", 0.95), ("p99_us", 0.99), ("p999_us", 0.999)];

/// Where the wait before the interrupt comes from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Wait {
    /// It is not added: the vantage is `server`.
    None,
    /// Requests are counted from their departure already.
    Departure,
    /// It is modelled, for a number of receive queues that share the packets.
    Modelled(Moderation, u32),
}

/// What one window showed. Every number is in the unit that its name carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Window {
    /// `server+wait` or `server`.
    pub vantage: &'static str,
    /// `departure` or `modelled`, where the wait was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<&'static str>,
    /// Length of the window.
    pub duration_s: f64,
    /// Requests that were answered in it.
    pub requests: u64,
    /// Requests not counted, because too many of their connection were waiting already.
    pub crowded: u64,
    /// Requests not counted, because nothing says when they were sent.
    pub undated: u64,
    /// What eBPF took, for each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<f64>,
    /// `qps`, `mean_us`, and the quantiles that enough requests stand behind.
    #[serde(flatten)]
    pub quantities: BTreeMap<&'static str, f64>,
    /// Of each quantile, from its rank's binomial distribution: as if requests were independent.
    pub relative_sd: BTreeMap<&'static str, f64>,
}

impl Window {
    /// From what was counted in `duration_s`, and what eBPF took for it, when that is known.
    pub fn new(counters: &Counters, duration_s: f64, wait: Wait, run_time_ns: Option<f64>) -> Self {
        let server = of_counts(&counters.buckets);
        let (mut quantities, mut relative_sd) = (BTreeMap::new(), BTreeMap::new());
        if server.count() > 0 {
            let mut mean_us = counters.sum_ns as f64 / server.count() as f64 / 1e3;
            if let Wait::Modelled(moderation, queues) = wait {
                let packets_per_s = counters.packets as f64 / duration_s / f64::from(queues);
                let clients = WithWait::new(&server, moderation, packets_per_s);
                mean_us += clients.mean_wait_us();
                add_quantiles(&clients, server.count(), &mut quantities, &mut relative_sd);
            } else {
                add_quantiles(&server, server.count(), &mut quantities, &mut relative_sd);
            }
            quantities.insert("mean_us", mean_us);
            quantities.insert("qps", server.count() as f64 / duration_s);
        }
        Self {
            vantage: if wait == Wait::None { "server" } else { "server+wait" },
            wait: match wait {
                Wait::None => None,
                Wait::Departure => Some("departure"),
                Wait::Modelled(..) => Some("modelled"),
            },
            duration_s,
            requests: server.count(),
            crowded: counters.crowded,
            undated: counters.undated,
            cost_ns: run_time_ns.filter(|_| server.count() > 0).map(|ns| ns / server.count() as f64),
            quantities,
            relative_sd,
        }
    }
}

fn add_quantiles(
    latency: &impl Distribution,
    count: u64,
    quantities: &mut BTreeMap<&'static str, f64>,
    relative_sd: &mut BTreeMap<&'static str, f64>,
) {
    let count = count as f64;
    for (name, q) in QUANTILES {
        if count * (1.0 - q) < BEYOND * (1.0 - 1e-9) {
            continue;
        }
        let quantile_us = latency.quantile_us(q);
        let sd = (q * (1.0 - q) / count).sqrt();
        let sd_us = (latency.quantile_us(q + sd) - latency.quantile_us(q - sd)) / 2.0;
        quantities.insert(name, quantile_us);
        relative_sd.insert(name, sd_us / quantile_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::BUCKETS;

    fn counters(requests: u64) -> Counters {
        let mut buckets = vec![0; BUCKETS];
        buckets[360] = requests; // 40.96 us to 41.984 us
        Counters { buckets, sum_ns: requests * 41_000, packets: 2 * requests, crowded: 0, undated: 3 }
    }

    #[test]
    fn a_quantile_needs_ten_requests_beyond_it() {
        let names = |requests| Window::new(&counters(requests), 1.0, Wait::None, None).quantities.into_keys();
        assert_eq!(names(0).count(), 0);
        assert_eq!(names(19).collect::<Vec<_>>(), ["mean_us", "qps"]);
        assert_eq!(names(1000).collect::<Vec<_>>(), ["mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "qps"]);
        assert!(names(10_000).any(|name| name == "p999_us"));
    }

    #[test]
    fn the_vantage_says_whether_the_wait_was_added() {
        let moderation = Moderation { delay_us: 100.0, quiet_delays: 1 };
        let window = |wait| Window::new(&counters(20_000), 2.0, wait, Some(10_000_000.0));
        let (server, departure) = (window(Wait::None), window(Wait::Departure));
        let modelled = window(Wait::Modelled(moderation, 2));
        assert_eq!((server.vantage, server.wait), ("server", None));
        assert_eq!((departure.vantage, departure.wait), ("server+wait", Some("departure")));
        assert_eq!((modelled.vantage, modelled.wait), ("server+wait", Some("modelled")));
        assert_eq!(server.quantities["qps"], 10_000.0);
        assert_eq!(server.quantities["mean_us"], 41.0);
        assert_eq!(server.cost_ns, Some(500.0));
        // 10,000 packets/s in each of two queues: exp(-1) of 1 + exp(-1) have their interrupt at once.
        let at_once = moderation.share_at_once(10_000.0);
        assert!((at_once - 0.269).abs() < 1e-3);
        assert!((modelled.quantities["mean_us"] - 41.0 - (1.0 - at_once) * 50.0).abs() < 1e-9);
        assert!(modelled.quantities["p99_us"] > 130.0);
    }

    #[test]
    fn it_is_printed_as_one_flat_object() {
        let json = serde_json::to_value(Window::new(&counters(1000), 1.0, Wait::Departure, None)).unwrap();
        assert_eq!(json["vantage"], "server+wait");
        assert_eq!(json["undated"], 3);
        assert!(json["p99_us"].is_f64() && json["relative_sd"]["p99_us"].is_f64());
        assert!(json.get("cost_ns").is_none());
    }
}
