//! Where an awakened request is served: Yawn's load balancer (Sharafzadeh et al., APSys 2019, section 3.6).
//!
//! It goes to the first operating core that has room for it, in one fixed order, so that work gathers on the first cores
//! and the others sleep on. Only when none has room is the next one woken. At low load every core is idle for moments, so
//! a core counts as operating by what it did lately.

/// How long work counts as lately done: its weight falls by half in that time. The paper does not say.
const HALF_LIFE_US: f64 = 20_000.0;
/// A core has room while threads kept it busy for less than this part of its time. The paper does not say.
const MOST_UTILIZATION: f64 = 0.5;
/// And while fewer requests than this are waiting or in service there. The paper does not say.
const MOST_BACKLOG: usize = 2;

/// What each core's threads did lately.
pub struct WakeBalancer {
    utilization: Vec<f64>,
    /// As of when.
    at_us: f64,
}

impl WakeBalancer {
    /// Nothing yet.
    pub fn new(cores: usize) -> Self {
        Self { utilization: vec![0.0; cores], at_us: 0.0 }
    }

    /// The core for a request that takes `service_us`, at `now_us`, which never goes back. `backlog` says how many
    /// requests a core has; `home` is where it goes when none has room.
    pub fn place(&mut self, now_us: f64, home: usize, service_us: f64, backlog: impl Fn(usize) -> usize) -> usize {
        let passed_us = now_us - std::mem::replace(&mut self.at_us, now_us);
        if passed_us > 0.0 {
            let left = (-passed_us / HALF_LIFE_US).exp2();
            self.utilization.iter_mut().for_each(|share| *share *= left);
        }
        let more = service_us * std::f64::consts::LN_2 / HALF_LIFE_US;
        let has_room =
            |core: &usize| self.utilization[*core] + more < MOST_UTILIZATION && backlog(*core) < MOST_BACKLOG;
        let core = (0..self.utilization.len()).find(has_room).unwrap_or(home);
        self.utilization[core] += more;
        core
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places a request of 10 us every so often, for a second of which the last half counts; how many each core gets.
    fn placed(every_us: f64) -> [u32; 4] {
        let mut balancer = WakeBalancer::new(4);
        let mut counts = [0; 4];
        for i in 0..(1e6 / every_us) as u32 {
            let now_us = f64::from(i) * every_us;
            let core = balancer.place(now_us, 3, 10.0, |_| 0);
            counts[core] += u32::from(now_us > 5e5);
        }
        counts
    }

    #[test]
    fn work_gathers_on_the_first_cores_that_have_room() {
        assert_eq!(placed(100.0), [5_000 - 1, 0, 0, 0]);
        // Load of 0.8: half of the time of the first core, the rest on its neighbour.
        let [first, second, third, _] = placed(12.5);
        assert!((f64::from(first) / 40_000.0 - 0.5 / 0.8).abs() < 0.01, "{first}");
        assert_eq!((first + second, third), (39_999, 0));
    }

    #[test]
    fn nobody_waits_behind_a_queue_while_a_neighbour_sleeps() {
        let mut balancer = WakeBalancer::new(3);
        assert_eq!(balancer.place(0.0, 0, 10.0, |core| [2, 1, 0][core]), 1);
        assert_eq!(balancer.place(0.0, 2, 10.0, |_| 5), 2, "at home, when none has room");
    }
}
