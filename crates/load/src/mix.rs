//! Several ways of asking, by weight.

use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;

use bayop_core::Error;

/// Most ways of asking in one plan.
pub(crate) const MOST: usize = 1000;
/// Greatest weight.
const GREATEST: f64 = 1e9;

/// Ways of asking one server in one protocol; at least one.
#[derive(Clone, Debug)]
pub struct Mix<P> {
    ways: Vec<P>,
    /// Of several: which one is next.
    index: Option<WeightedIndex<f64>>,
}

impl<P> Mix<P> {
    /// One way only.
    pub fn one(way: P) -> Self {
        Self { ways: vec![way], index: None }
    }

    /// Ways with their weights, which were [checked](check).
    ///
    /// # Panics
    /// They were not.
    pub fn new(ways: impl IntoIterator<Item = (f64, P)>) -> Self {
        let (weights, ways): (Vec<f64>, Vec<P>) = ways.into_iter().unzip();
        let index = (ways.len() != 1).then(|| WeightedIndex::new(weights).expect("weights that were checked"));
        Self { ways, index }
    }

    /// The way of the next request, with its place among them.
    #[inline]
    pub fn choose(&self, rng: &mut SmallRng) -> (usize, &P) {
        // Nothing is drawn where there is nothing to choose.
        let place = self.index.as_ref().map_or(0, |index| index.sample(rng));
        (place, &self.ways[place])
    }

    /// Reads answers, which look the same whatever was asked.
    #[inline]
    pub fn reader(&self) -> &P {
        &self.ways[0]
    }
}

/// Checks the weights of a plan's requests.
///
/// # Errors
/// There are none or too many, or one is not positive.
pub fn check(weights: impl ExactSizeIterator<Item = f64>) -> Result<(), Error> {
    if !(1..=MOST).contains(&weights.len()) {
        return Err(Error::cannot_use(weights.len(), "requests of a mix must be 1 to 1000").at("mix"));
    }
    for weight in weights {
        if !(weight > 0.0 && weight <= GREATEST) {
            return Err(Error::cannot_use(weight, "a weight must be positive, and at most 1e9").at("mix"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn ways_are_chosen_by_their_weights() {
        let mix = Mix::new([(9.0, 'a'), (0.5, 'b'), (0.5, 'c')]);
        let mut rng = SmallRng::seed_from_u64(4);
        let mut counts = [0; 3];
        for _ in 0..100_000 {
            let (place, way) = mix.choose(&mut rng);
            assert_eq!(*way, ['a', 'b', 'c'][place]);
            counts[place] += 1;
        }
        assert!((89_500..90_500).contains(&counts[0]), "{counts:?}");
        assert!((4_700..5_300).contains(&counts[1]) && (4_700..5_300).contains(&counts[2]), "{counts:?}");
    }

    #[test]
    fn a_single_way_draws_nothing() {
        let (mut rng, mut other) = (SmallRng::seed_from_u64(4), SmallRng::seed_from_u64(4));
        assert_eq!((Mix::one('a').choose(&mut rng), Mix::new([(3.0, 'b')]).choose(&mut rng)), ((0, &'a'), (0, &'b')));
        assert_eq!(rng.random::<u64>(), other.random::<u64>());
    }

    #[test]
    fn weights_must_be_positive_and_some() {
        assert!(check([1.0, 1e9].into_iter()).is_ok());
        for weights in [vec![], vec![1.0; 1001], vec![1.0, 0.0], vec![-1.0], vec![f64::NAN], vec![f64::INFINITY]] {
            assert_eq!(check(weights.into_iter()).unwrap_err().place.as_deref(), Some("mix"));
        }
    }
}
