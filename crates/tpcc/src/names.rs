//! Numbers and names that are not all as likely (clauses 2.1.6 and 4.3.2.3).

use core::ops::RangeInclusive;

use crate::random::Random;
use crate::store::Text;

/// The constants C of NURand: which numbers are the likely ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    last_name: u32,
    customer: u32,
    item: u32,
}

impl Constants {
    /// Those of a population.
    pub fn for_population(random: &mut Random) -> Self {
        Self {
            last_name: random.uniform(0..=255),
            customer: random.uniform(0..=1_023),
            item: random.uniform(0..=8_191),
        }
    }

    /// Those of a run on a population: its last names differ by as much as clause 2.1.6.1 asks.
    pub fn for_run(self, random: &mut Random) -> Self {
        loop {
            let drawn = Self::for_population(random);
            let delta = drawn.last_name.abs_diff(self.last_name);
            if (65..=119).contains(&delta) && delta != 96 && delta != 112 {
                return drawn;
            }
        }
    }

    /// The number of a last name.
    pub(crate) fn last_name(self, random: &mut Random) -> u32 {
        nurand(random, 255, self.last_name, 0..=999)
    }

    /// One of so many customers of a district.
    pub(crate) fn customer(self, random: &mut Random, customers: u32) -> u32 {
        nurand(random, 1_023, self.customer, 1..=customers)
    }

    /// One of so many items.
    pub(crate) fn item(self, random: &mut Random, items: u32) -> u32 {
        nurand(random, 8_191, self.item, 1..=items)
    }
}

/// NURand(A, x, y) of clause 2.1.6.
fn nurand(random: &mut Random, a: u32, c: u32, range: RangeInclusive<u32>) -> u32 {
    let (x, y) = range.clone().into_inner();
    ((random.uniform(0..=a) | random.uniform(range)) + c) % (y - x + 1) + x
}

/// The last name of a number below 1,000: a syllable for each digit.
pub(crate) fn last_name(number: u32) -> Text<16> {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let digits = [number / 100, number / 10 % 10, number % 10];
    Text::new(digits.into_iter().flat_map(|digit| SYLLABLES[digit as usize].bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_name_has_a_syllable_for_each_digit() {
        // The examples of the specification, and the longest.
        assert_eq!(last_name(371).bytes(), b"PRICALLYOUGHT");
        assert_eq!(last_name(40).bytes(), b"BARPRESBAR");
        assert_eq!(last_name(777).bytes(), b"CALLYCALLYCALLY");
    }

    #[test]
    fn the_likely_customers_are_those_of_the_constant() {
        let mut random = Random::new(1);
        let constants = Constants { last_name: 0, customer: 500, item: 0 };
        let mut counts = [0_u32; 3_001];
        (0..300_000).for_each(|_| counts[constants.customer(&mut random, 3_000) as usize] += 1);
        // Customer 1,524 comes if x OR y is 1,023: y is at most that for 1,023 of 3,000, and each of ten bits is one in x
        // or y with 3/4. Within five standard deviations of a binomial distribution.
        let expected = 300_000.0 * 1_024.0 / 3_000.0 * 0.75_f64.powi(10);
        assert!((f64::from(counts[1_524]) - expected).abs() < 5.0 * expected.sqrt(), "{}", counts[1_524]);
        assert_eq!(counts[0], 0);
    }

    #[test]
    fn a_run_has_other_last_names_than_its_population() {
        let mut random = Random::new(1);
        let population = Constants::for_population(&mut random);
        for _ in 0..100 {
            let delta = population.for_run(&mut random).last_name.abs_diff(population.last_name);
            assert!((65..=119).contains(&delta) && delta != 96 && delta != 112, "{delta}");
        }
    }
}
