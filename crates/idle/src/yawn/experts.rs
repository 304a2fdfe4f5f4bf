//! The experts that Yawn listens to: the paper's two, and whatever a user adds.

use crate::governor::View;

/// Forecasts how long a core will be idle.
pub trait Expert {
    /// How long from now on; `None` abstains.
    fn forecast_us(&mut self, view: &View) -> Option<u32>;

    /// Whether it is packets that it forecasts, and not any wake-up.
    fn forecasts_arrivals(&self) -> bool {
        false
    }

    /// The mean gap between packets, from an expert that knows it and does not abstain.
    fn gap_us(&self) -> Option<u32> {
        None
    }

    /// Polls of the receive queue found packets.
    fn arrivals(&mut self, at_us: u64, count: u32) {
        let _ = (at_us, count);
    }

    /// How long the idle period was.
    fn learn(&mut self, length_us: u32) {
        let _ = length_us;
    }
}

/// Experts side by side: a tuple of two or three, or an array of up to eight alike.
pub trait Experts {
    /// How many.
    const COUNT: usize;

    /// Calls for each expert, with its index.
    fn each(&mut self, call: impl FnMut(usize, &mut dyn Expert));
}

impl<A: Expert, B: Expert> Experts for (A, B) {
    const COUNT: usize = 2;

    #[inline]
    fn each(&mut self, mut call: impl FnMut(usize, &mut dyn Expert)) {
        call(0, &mut self.0);
        call(1, &mut self.1);
    }
}

impl<A: Expert, B: Expert, C: Expert> Experts for (A, B, C) {
    const COUNT: usize = 3;

    #[inline]
    fn each(&mut self, mut call: impl FnMut(usize, &mut dyn Expert)) {
        call(0, &mut self.0);
        call(1, &mut self.1);
        call(2, &mut self.2);
    }
}

impl<E: Expert, const N: usize> Experts for [E; N] {
    const COUNT: usize = N;

    #[inline]
    fn each(&mut self, mut call: impl FnMut(usize, &mut dyn Expert)) {
        const { assert!(N > 0 && N <= super::MAX_EXPERTS, "1 to 8 experts") };
        self.iter_mut().enumerate().for_each(|(i, expert)| call(i, expert));
    }
}

/// The paper's residency expert: the next period will be as long as the last ones, by an exponentially weighted moving
/// average. Eq. 3 is printed without its divisor; the authors' kernel has (18 EMA + 2 y) / 20.
#[derive(Clone, Debug, Default)]
pub struct ResidencyExpert {
    mean_us: u32,
}

impl Expert for ResidencyExpert {
    #[inline]
    fn forecast_us(&mut self, _: &View) -> Option<u32> {
        Some(self.mean_us)
    }

    #[inline]
    fn learn(&mut self, length_us: u32) {
        self.mean_us = ((18 * u64::from(self.mean_us) + 2 * u64::from(length_us)) / 20) as u32;
    }
}

/// The window in which packets are counted.
const WINDOW_US: u64 = 500_000;
/// Abstains when packets are further apart.
const MAX_GAP_US: u32 = 10_000;

/// The paper's network expert: the next packet comes after the mean gap between packets, counted over half a second.
#[derive(Clone, Debug, Default)]
pub struct NetworkExpert {
    window_start_us: u64,
    count: u64,
    gap_us: Option<u32>,
}

impl Expert for NetworkExpert {
    #[inline]
    fn forecast_us(&mut self, view: &View) -> Option<u32> {
        let window_us = view.now_us.saturating_sub(self.window_start_us);
        if window_us >= WINDOW_US {
            let gap_us = window_us.checked_div(self.count).filter(|&us| us <= u64::from(MAX_GAP_US));
            *self = Self { window_start_us: view.now_us, count: 0, gap_us: gap_us.map(|us| us as u32) };
        }
        self.gap_us
    }

    fn forecasts_arrivals(&self) -> bool {
        true
    }

    #[inline]
    fn gap_us(&self) -> Option<u32> {
        self.gap_us
    }

    #[inline]
    fn arrivals(&mut self, _: u64, count: u32) {
        self.count = self.count.saturating_add(u64::from(count));
    }
}
