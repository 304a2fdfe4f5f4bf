//! Which records are asked for.

use std::fmt;
use std::str::FromStr;

use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};
use serde::{Deserialize, Serialize};

use bayop_core::Error;

/// How requests spread over the records: `uniform`, or `zipf:EXPONENT`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Popularity {
    /// Every record alike.
    Uniform,
    /// The k-th most popular record is asked for in proportion to `k^-exponent`.
    Zipf(f64),
}

/// Draws records.
pub enum Chooser {
    /// Every record alike.
    Uniform(u64),
    /// By rank: record 0 is the most popular.
    Zipf(Zipf<f64>, u64),
}

impl Popularity {
    /// What draws among `records`.
    pub fn chooser(self, records: u64) -> Chooser {
        match self {
            Self::Uniform => Chooser::Uniform(records),
            Self::Zipf(exponent) => {
                Chooser::Zipf(Zipf::new(records as f64, exponent).expect("checked when it was read"), records)
            }
        }
    }
}

impl Chooser {
    /// A record.
    #[inline]
    pub fn choose(&self, rng: &mut SmallRng) -> u64 {
        match self {
            Self::Uniform(records) => rng.random_range(0..*records),
            Self::Zipf(zipf, records) => (zipf.sample(rng) as u64 - 1).min(records - 1),
        }
    }
}

impl FromStr for Popularity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refuse = || {
            Error::cannot_use(text, "a popularity must be uniform, or zipf with a positive exponent")
                .at("popularity")
                .hint("for example zipf:0.99")
        };
        match text.split_once(':') {
            None if text == "uniform" => Ok(Self::Uniform),
            Some(("zipf", exponent)) => {
                let exponent: f64 = exponent.parse().map_err(|_| refuse())?;
                if (1e-6..=100.0).contains(&exponent) { Ok(Self::Zipf(exponent)) } else { Err(refuse()) }
            }
            _ => Err(refuse()),
        }
    }
}

impl TryFrom<String> for Popularity {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<Popularity> for String {
    fn from(popularity: Popularity) -> Self {
        popularity.to_string()
    }
}

impl fmt::Display for Popularity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
        }
    }
}
