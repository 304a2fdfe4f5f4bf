//! How service times vary from request to request.

use crate::normal::upper_quantile;
use crate::profile::App;
use crate::rng::remix;

/// Equally likely strata of requests, as a power of two.
const BITS: u32 = 10;
/// Strata that a stratum is divided into where it has to be, as a power of two.
const FINER_BITS: u32 = 2;
/// Strata are not divided further: so rare that nothing of the tail can be missed, whatever its weight is.
const MOST_BITS: u32 = 52;
/// Times that differ by no more than this, relative to themselves and to the mean of all, count as one.
const RESOLUTION: f64 = 0.01;

/// Service times relative to their mean.
///
/// Most requests take a log-normal time (a constant one when [`App::service_log_sd`] is 0) plus an
/// exponential one that grows with it; a share of long requests (the delivery and stock-level
/// transactions of TPC-C) take a multiple of that.
///
/// Nearly all strata are so narrow that one time stands for each. The others, the tails above all,
/// are divided until that is so: a second moment is made of little else than the tail once times vary
/// as much as the limits allow.
#[derive(Clone, Debug)]
pub struct ServiceTimes {
    /// The time of every stratum; where it is divided, minus the number of its block, from one.
    strata: Box<[f32; 1 << BITS]>,
    /// The same of finer strata.
    blocks: Vec<[f32; 1 << FINER_BITS]>,
}

impl ServiceTimes {
    /// The distribution of `app`.
    pub fn new(app: &App) -> Self {
        let mut blocks = Vec::new();
        let law = Law::new(app);
        let strata = std::array::from_fn(|stratum| law.tabulate(stratum as u64, BITS, &mut blocks));
        Self { strata: Box::new(strata), blocks }
    }

    /// One service time relative to the mean, from the upper bits of 64 random ones.
    #[inline(always)]
    pub fn factor(&self, bits: u64) -> f64 {
        let mut factor = self.strata[(bits >> 32) as usize % (1 << BITS)];
        if factor < 0.0 {
            rare();
            let mut finer = remix(bits);
            while factor < 0.0 {
                factor = self.blocks[-factor as usize - 1][finer as usize % (1 << FINER_BITS)];
                finer >>= FINER_BITS;
            }
        }
        f64::from(factor)
    }
}

/// Tells the compiler to keep its caller out of the way; `std::hint::cold_path` once it is stable.
#[cold]
#[inline]
fn rare() {}

/// The distribution that [`ServiceTimes`] draws from.
struct Law {
    log_sd: f64,
    exponential_share: f64,
    long_share: f64,
    long_factor: f64,
    /// Mean where that of requests that are not long is 1.
    mean: f64,
}

impl Law {
    fn new(app: &App) -> Self {
        Self {
            log_sd: app.service_log_sd,
            exponential_share: app.service_exponential_share,
            long_share: app.long_request_share,
            long_factor: app.long_request_factor,
            mean: 1.0 + app.long_request_share * (app.long_request_factor - 1.0),
        }
    }

    /// What stands for one of `2^bits` strata: its time, or minus the number of the block that divides it.
    fn tabulate(&self, stratum: u64, bits: u32, blocks: &mut Vec<[f32; 1 << FINER_BITS]>) -> f32 {
        // The very edges may be infinite, or belong to the neighbour.
        let [first, middle, last] = [1e-9, 0.5, 1.0 - 1e-9].map(|place| self.factor(stratum, bits, place));
        if bits == MOST_BITS || (first - last).abs() <= RESOLUTION * first.max(last).max(1.0) {
            return middle as f32;
        }
        let block = blocks.len();
        blocks.push([0.0; 1 << FINER_BITS]);
        for part in 0..1 << FINER_BITS {
            let finer = self.tabulate((stratum << FINER_BITS) + part, bits + FINER_BITS, blocks);
            blocks[block][part as usize] = finer;
        }
        -((block + 1) as f32)
    }

    /// The time at `place` (0 to 1) of a stratum. The first strata hold the long requests, the longest first, the last
    /// ones the others, the longest last: so both tails are at an end, where floating point resolves them.
    fn factor(&self, stratum: u64, bits: u32, place: f64) -> f64 {
        let strata = 1_u64 << bits;
        let below = (stratum as f64 + place) / strata as f64;
        let above = ((strata - stratum) as f64 - place) / strata as f64;
        let time = if below < self.long_share {
            self.long_factor * self.time_exceeded(below / self.long_share)
        } else {
            self.time_exceeded(above / (1.0 - self.long_share))
        };
        time / self.mean
    }

    /// What a share `p` of the requests of one kind exceeds, where their mean is 1.
    fn time_exceeded(&self, p: f64) -> f64 {
        let p = p.min(1.0 - f64::EPSILON); // rounded up, maybe
        let log_normal =
            if self.log_sd > 0.0 { (self.log_sd * (upper_quantile(p) - 0.5 * self.log_sd)).exp() } else { 1.0 };
        (1.0 - self.exponential_share) * log_normal - self.exponential_share * p.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::rng::Rng;
    use proptest::prelude::*;

    fn app(log_sd: f64, exponential_share: f64, long_share: f64, long_factor: f64) -> App {
        let text = include_str!("../../../python/bayop/twin/profiles/linux_memcached.toml");
        let mut app = Profile::parse(text, "linux_memcached.toml").unwrap().app;
        app.service_log_sd = log_sd;
        app.service_exponential_share = exponential_share;
        app.long_request_share = long_share;
        app.long_request_factor = long_factor;
        app
    }

    /// The distribution by numerical integration over the normal variate, knowing no quantile of it.
    struct Expected {
        /// Of requests of one kind: their time and the share that takes longer, the longest first.
        times: Vec<(f64, f64)>,
        /// `E[S^2] / E[S]^2`.
        second_moment: f64,
        mean: f64,
        long_share: f64,
        long_factor: f64,
    }

    impl Expected {
        fn new(app: &App) -> Self {
            const STEP: f64 = 1e-3;
            let (long_share, long_factor) = (app.long_request_share, app.long_request_factor);
            let (log_sd, exponential_share) = (app.service_log_sd, app.service_exponential_share);
            let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let (mut above, mut times, mut moments) = (0.0, Vec::new(), [0.0; 2]);
            for z in (0..22_000).map(|i| 13.0 - STEP * (f64::from(i) + 0.5)) {
                let share = STEP * density(z);
                let exceeded = above + 0.5 * share;
                let time = (1.0 - exponential_share) * (log_sd * (z - 0.5 * log_sd)).exp()
                    - exponential_share * f64::ln(exceeded);
                moments[0] += share * time;
                moments[1] += share * time * time;
                above += share;
                times.push((time, exceeded));
            }
            let of_both = |k: i32| (1.0 - long_share + long_share * long_factor.powi(k)) * moments[k as usize - 1];
            let mean = of_both(1);
            Self { times, second_moment: of_both(2) / (mean * mean), mean, long_share, long_factor }
        }

        /// The time, relative to the mean, that a share of all requests exceeds.
        fn quantile(&self, share: f64) -> f64 {
            let above = |time: f64| match self.times.partition_point(|&(other, _)| other > time) {
                0 => 0.0,
                count => self.times[count - 1].1,
            };
            let exceeds = |time: f64| {
                (1.0 - self.long_share) * above(time) + self.long_share * above(time / self.long_factor) > share
            };
            let (mut low, mut high) = (1e-9_f64, 1e9_f64);
            for _ in 0..60 {
                let middle = (low * high).sqrt();
                *(if exceeds(middle) { &mut low } else { &mut high }) = middle;
            }
            high / self.mean
        }
    }

    /// Every time that is drawn with its probability, in ascending order.
    fn all_of(times: &ServiceTimes) -> Vec<(f64, f64)> {
        fn add(all: &mut Vec<(f64, f64)>, times: &ServiceTimes, entry: f32, share: f64) {
            if entry < 0.0 {
                let block = times.blocks[-entry as usize - 1];
                block.iter().for_each(|&finer| add(all, times, finer, share / block.len() as f64));
            } else {
                all.push((f64::from(entry), share));
            }
        }
        let mut all = Vec::new();
        times.strata.iter().for_each(|&entry| add(&mut all, times, entry, 1.0 / f64::from(1 << BITS)));
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    /// The time that a share of all requests exceeds.
    fn quantile(all: &[(f64, f64)], share: f64) -> f64 {
        let mut above = 0.0;
        all.iter()
            .rev()
            .find(|(_, each)| {
                above += each;
                above >= share
            })
            .unwrap()
            .0
    }

    #[test]
    fn quantiles_are_those_of_the_distribution() {
        for (log_sd, exponential_share, long_share, long_factor) in [
            (0.0, 0.04, 0.0, 1.0),
            (0.0, 1.0, 0.0, 1.0),
            (0.05, 0.0, 0.0, 1.0),
            (0.8, 0.0, 0.0, 1.0),
            (2.0, 0.0, 0.0, 1.0),
            (0.0, 0.36, 0.08, 4.0),
            (1.5, 0.3, 0.0123, 10.0),
        ] {
            let app = app(log_sd, exponential_share, long_share, long_factor);
            let (all, expected) = (all_of(&ServiceTimes::new(&app)), Expected::new(&app));
            for share in [0.5, 0.1, 0.05, 0.01, 1e-3, 1e-4] {
                let ratio = quantile(&all, share) / expected.quantile(share);
                assert!((ratio - 1.0).abs() < 0.006, "{share} of {log_sd}, {exponential_share}, {long_share}: {ratio}");
            }
        }
    }

    #[test]
    fn what_is_drawn_is_the_distribution() {
        let times = ServiceTimes::new(&app(0.8, 0.2, 0.08, 5.0));
        let mut rng = Rng::new(3, 0);
        let (draws, all) = (1 << 20, all_of(&times));
        for share in [0.9, 0.5, 0.1, 0.01, 1e-3] {
            let limit = quantile(&all, share);
            let above = (0..draws).filter(|_| times.factor(rng.next_u64()) > limit).count() as f64;
            let expected =
                f64::from(draws) * all.iter().filter(|(time, _)| *time > limit).map(|(_, each)| each).sum::<f64>();
            assert!((above - expected).abs() < 5.0 * expected.sqrt(), "{share}: {above}, not {expected}");
        }
    }

    #[test]
    fn hardly_any_of_the_usual_requests_need_a_second_look() {
        let divided = |times: &ServiceTimes| times.strata.iter().filter(|&&entry| entry < 0.0).count();
        let text = include_str!("../../../python/bayop/twin/profiles/linux_memcached.toml");
        let usual = ServiceTimes::new(&Profile::parse(text, "linux_memcached.toml").unwrap().app);
        assert!(divided(&usual) <= 4);
        assert_eq!(divided(&ServiceTimes::new(&app(0.0, 0.0, 0.0, 1.0))), 0);
        assert!(divided(&ServiceTimes::new(&app(2.0, 0.0, 0.0, 1.0))) < 1 << (BITS - 3));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_first_two_moments_are_those_of_the_distribution(
            log_sd in prop_oneof![Just(0.0), 0.0..=2.0, Just(2.0)],
            exponential_share in prop_oneof![Just(0.0), 0.0..=1.0],
            long_share in prop_oneof![Just(0.0), 0.0..=1.0, 0.0..0.01],
            long_factor in 0.1..20.0,
        ) {
            let app = app(log_sd, exponential_share, long_share, long_factor);
            let all = all_of(&ServiceTimes::new(&app));
            let moment = |k| all.iter().map(|(time, each)| each * time.powi(k)).sum::<f64>();
            prop_assert!((moment(1) - 1.0).abs() < 2e-4, "mean {}", moment(1));
            let ratio = moment(2) / Expected::new(&app).second_moment;
            prop_assert!((ratio - 1.0).abs() < 1e-3, "the second moment is {ratio} of what it should be");
        }
    }
}
