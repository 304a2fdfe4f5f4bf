//! Distributions of sizes and of gaps between arrivals, spelled as mutilate spells them.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::{Distribution as _, Exp1, StandardNormal};
use serde::{Deserialize, Serialize};

use bayop_core::Error;

const HINT: &str = "fixed:30, uniform:100, normal:30,8, exponential:0.01, pareto:15,214.476,0.348238, \
                    gev:30.7984,8.20449,0.078688, discrete:16=0.5,21=0.5, fb_key, fb_value, fb_ia";

/// Sizes of small values of Facebook's ETC pool and their probabilities: Atikoglu et al., "Workload Analysis of a
/// Large-Scale Key-Value Store" (SIGMETRICS 2012), section 5.
const ETC_SMALL_VALUES: [f64; 15] = [
    0.00536, 0.00047, 0.17820, 0.09239, 0.00018, 0.02740, 0.00065, 0.00606, 0.00023, 0.00837, 0.00837, 0.08989,
    0.00092, 0.00326, 0.01980,
];

/// The shape of a random number.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Fixed(f64),
    /// Between 0 and the number.
    Uniform(f64),
    Normal {
        mean: f64,
        sd: f64,
    },
    /// With a rate, so that the mean is its reciprocal.
    Exponential(f64),
    /// Generalized Pareto: `location + scale (U^-shape - 1) / shape`.
    Pareto {
        location: f64,
        scale: f64,
        shape: f64,
    },
    /// Generalized extreme value: `location + scale (E^-shape - 1) / shape` with E exponential.
    ExtremeValue {
        location: f64,
        scale: f64,
        shape: f64,
    },
    /// Values with their cumulative probabilities; what is left falls to the other shape.
    Discrete {
        cumulative: Vec<(f64, f64)>,
        rest: Option<Box<Shape>>,
    },
}

/// A distribution that people can write: `fixed:30`, `pareto:15,214.476,0.348238`, `fb_key`.
///
/// `fb_key`, `fb_value` and `fb_ia` are the key sizes, value sizes and inter-arrival times of Facebook's ETC pool with
/// the parameters of Atikoglu et al. (SIGMETRICS 2012), as mutilate has them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Distribution {
    text: String,
    shape: Shape,
}

impl Distribution {
    /// A random number.
    #[inline]
    pub fn sample(&self, rng: &mut SmallRng) -> f64 {
        self.shape.sample(rng)
    }

    /// Whether all numbers are the same.
    pub fn is_fixed(&self) -> bool {
        matches!(self.shape, Shape::Fixed(_))
    }

    /// The mean, where arrivals may use it: positive, finite, and no negative numbers.
    pub fn mean_of_gaps(&self) -> Option<f64> {
        let mean = match self.shape {
            Shape::Fixed(value) => value,
            Shape::Uniform(most) => most / 2.0,
            Shape::Exponential(rate) => 1.0 / rate,
            Shape::Pareto { location, scale, shape } if location >= 0.0 && shape < 1.0 => {
                location + scale / (1.0 - shape)
            }
            _ => return None,
        };
        (mean.is_finite() && mean > 0.0).then_some(mean)
    }
}

impl Shape {
    fn sample(&self, rng: &mut SmallRng) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform(most) => most * rng.random::<f64>(),
            Self::Normal { mean, sd } => {
                let unit: f64 = StandardNormal.sample(rng);
                mean + sd * unit
            }
            Self::Exponential(rate) => {
                let unit: f64 = Exp1.sample(rng);
                unit / rate
            }
            // 1 - U lies in (0, 1], so that the power is finite.
            Self::Pareto { location, scale, shape } => location + scale * box_cox(1.0 - rng.random::<f64>(), *shape),
            Self::ExtremeValue { location, scale, shape } => {
                let unit: f64 = Exp1.sample(rng);
                location + scale * box_cox(unit.max(f64::MIN_POSITIVE), *shape)
            }
            Self::Discrete { cumulative, rest } => {
                let u = rng.random::<f64>();
                match (cumulative.iter().find(|(below, _)| u < *below), rest) {
                    (Some((_, value)), _) => *value,
                    (None, Some(rest)) => rest.sample(rng),
                    (None, None) => cumulative[cumulative.len() - 1].1,
                }
            }
        }
    }
}

/// `(x^-shape - 1) / shape`, and its limit `-ln x` where the shape is 0.
fn box_cox(x: f64, shape: f64) -> f64 {
    if shape == 0.0 { -x.ln() } else { (x.powf(-shape) - 1.0) / shape }
}

impl FromStr for Distribution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = |rule: &str| Error::cannot_use(text, rule).at("distribution").hint(format!("for example {HINT}"));
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, rest),
            None if text.parse::<f64>().is_ok() => ("fixed", text),
            None => (text, ""),
        };
        let shape = if name == "discrete" {
            discrete(rest)
        } else {
            let parameters: Option<Vec<f64>> =
                rest.split(',').filter(|part| !part.is_empty()).map(|part| part.trim().parse().ok()).collect();
            parameters.and_then(|parameters| continuous(name, &parameters))
        };
        let shape = shape.ok_or_else(|| refuse("a distribution must have a known name and all of its numbers"))?;
        if !shape.is_sound() {
            return Err(refuse("numbers of a distribution must be finite, and its scale not negative"));
        }
        Ok(Self { text: text.to_owned(), shape })
    }
}

fn continuous(name: &str, parameters: &[f64]) -> Option<Shape> {
    Some(match (name, parameters) {
        ("fixed", &[value]) => Shape::Fixed(value),
        // Without a number they are gaps, whose mean the load gives.
        ("fixed", []) => Shape::Fixed(1.0),
        ("uniform", &[most]) => Shape::Uniform(most),
        ("uniform", []) => Shape::Uniform(2.0),
        ("exponential", &[rate]) => Shape::Exponential(rate),
        ("exponential", []) => Shape::Exponential(1.0),
        ("normal", &[mean, sd]) => Shape::Normal { mean, sd },
        ("pareto", &[location, scale, shape]) => Shape::Pareto { location, scale, shape },
        ("gev", &[location, scale, shape]) => Shape::ExtremeValue { location, scale, shape },
        ("fb_key", []) => Shape::ExtremeValue { location: 30.7984, scale: 8.20449, shape: 0.078_688 },
        ("fb_ia", []) => Shape::Pareto { location: 0.0, scale: 16.0292, shape: 0.154_971 },
        ("fb_value", []) => {
            let small = ETC_SMALL_VALUES.iter().enumerate().map(|(size, &share)| (size as f64, share));
            let large = Shape::Pareto { location: 15.0, scale: 214.476, shape: 0.348_238 };
            Shape::Discrete { cumulative: accumulate(small), rest: Some(Box::new(large)) }
        }
        _ => return None,
    })
}

/// Reads `16=0.5,21=0.5`: values and their probabilities, which sum to 1.
fn discrete(text: &str) -> Option<Shape> {
    let pairs: Option<Vec<(f64, f64)>> = text
        .split(',')
        .map(|pair| {
            let (value, share) = pair.split_once('=')?;
            Some((value.trim().parse().ok()?, share.trim().parse().ok().filter(|share| *share >= 0.0)?))
        })
        .collect();
    let cumulative = accumulate(pairs?.into_iter());
    let total = cumulative.last()?.0;
    ((total - 1.0).abs() < 1e-6).then_some(Shape::Discrete { cumulative, rest: None })
}

fn accumulate(pairs: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut below = 0.0;
    pairs
        .map(|(value, share)| {
            below += share;
            (below, value)
        })
        .collect()
}

impl Shape {
    fn is_sound(&self) -> bool {
        let finite = |numbers: &[f64]| numbers.iter().all(|number| number.is_finite());
        match self {
            Self::Fixed(value) | Self::Uniform(value) => finite(&[*value]) && *value >= 0.0,
            Self::Normal { mean, sd } => finite(&[*mean, *sd]) && *sd >= 0.0,
            Self::Exponential(rate) => finite(&[*rate]) && *rate > 0.0,
            Self::Pareto { location, scale, shape } | Self::ExtremeValue { location, scale, shape } => {
                finite(&[*location, *scale, *shape]) && *scale >= 0.0
            }
            Self::Discrete { cumulative, .. } => cumulative.iter().all(|(below, value)| finite(&[*below, *value])),
        }
    }
}

impl TryFrom<String> for Distribution {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.text
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
