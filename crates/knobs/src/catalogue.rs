//! The catalogue of knobs: one data file, checked when it is first used.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::network::CoalesceParameter;
use bayop_core::{Error, Result};

/// The catalogue as it is written.
pub const TEXT: &str = include_str!("../catalogue.toml");

/// What one knob is, on every machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// `domain.name_unit`, such as `nic.rx_usecs`.
    pub id: String,
    /// What it does, in one sentence.
    pub summary: String,
    /// The unit of its numbers; none for named choices and counts.
    pub unit: Option<String>,
    /// What its places are called.
    pub place: String,
    /// The values that it takes, and where the bounds come from.
    pub domain: String,
    /// The kernel interface that shows it.
    pub read: String,
    /// The kernel interface that sets it.
    pub write: String,
    /// How a write is undone.
    pub undo: String,
    /// Which end of a numeric domain makes the service fastest.
    pub safest: Option<End>,
    /// What other knobs must be set to for this one to matter, by id: a word, a number, several with commas between
    /// them, or `LOW:HIGH`.
    #[serde(default)]
    pub only_with: BTreeMap<String, String>,
    /// Whether it reaches below the kernel's own drivers, so that nobody should allow it without a reason.
    #[serde(default)]
    pub opt_in: bool,
    /// What a write may do beside setting the value.
    #[serde(default)]
    pub hazards: Vec<String>,
    /// Where the kernel documents it.
    pub source: String,
    /// How programs spell it that set it without BayOp.
    #[serde(skip_serializing)]
    pub spelled: Option<Spelling>,
}

/// How ethtool, systemd and whoever writes files spell a knob.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spelling {
    /// The parameter of `ethtool -C`.
    pub ethtool: Option<String>,
    /// The key of a systemd.link file.
    pub link: Option<String>,
    /// ethtool's parameter and systemd.link's key of the switch that must be off, because it takes the knob over.
    pub without: Option<[String; 2]>,
    /// Files, in the order in which they are written; `{1}` stands for the place, `{2}` for what follows a slash in it.
    #[serde(default)]
    pub files: Vec<String>,
    /// How many of the files' units are one of the knob's; none for one.
    pub factor: Option<u32>,
    /// What the files have for some of the knob's values.
    #[serde(default)]
    pub words: BTreeMap<String, String>,
    /// The place, as a shell's pattern, where the knob is meant on the whole machine; none where a place must be named.
    pub everywhere: Option<String>,
}

/// Which end of a numeric domain makes the service fastest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "utoipa", derive(utoipa::ToSchema), schema(as = SafestEnd))]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The least value.
    Low,
    /// The greatest value.
    High,
}

/// What a network driver makes of a coalescing parameter.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Driver {
    /// As in `/sys/class/net/DEVICE/device/driver`, such as `ixgbe`.
    pub name: String,
    /// The parameters that the rule is about.
    pub parameters: Vec<CoalesceParameter>,
    /// The rule, in one sentence.
    pub rule: String,
    /// The greatest value that the driver takes, where it has a bound.
    pub greatest: Option<u32>,
    /// How it rounds what it takes, if it does.
    pub rounding: Option<Rounding>,
    /// Whether it then shows what was asked instead of what is in effect.
    #[serde(default)]
    pub shows_request: bool,
    /// Values that stand for something else, or that it refuses.
    #[serde(default)]
    pub reserved: Vec<Reserved>,
    /// What a write may do beside setting the value.
    #[serde(default)]
    pub hazards: Vec<String>,
    /// The file of the kernel's sources that has the rule.
    pub source: String,
}

/// How a driver rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rounding {
    /// Down to a multiple.
    Down(u32),
    /// Up to a multiple.
    Up(u32),
    /// Down to a multiple of what the device says.
    Device,
    /// By way of a whole rate per second that is a multiple of 4.
    Rate,
}

/// Values that a driver keeps for itself: they mean something else to it than their number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// The least of them.
    pub low: u32,
    /// The greatest of them.
    pub high: u32,
    /// What they mean to the driver.
    pub meaning: String,
}

// A derived schema of `Reserved` would refuse unknown fields in the API's answers, as that does in the catalogue.
/// Values that a driver keeps for itself: they mean something else to it than their number, and are refused.
#[cfg(feature = "utoipa")]
#[derive(utoipa::ToSchema)]
#[schema(as = Reserved)]
#[expect(dead_code, reason = "the schema of Reserved, which is what is serialised")]
pub(crate) struct ReservedSchema {
    /// The least of them.
    low: u32,
    /// The greatest of them.
    high: u32,
    /// What they mean to the driver.
    meaning: String,
}

impl std::fmt::Display for Reserved {
    /// The values: `1`, `4 to 9`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { low, high, .. } = self;
        if low == high { write!(f, "{low}") } else { write!(f, "{low} to {high}") }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    knob: Vec<Entry>,
    driver: Vec<Driver>,
}

static FILE: LazyLock<File> =
    LazyLock::new(|| toml::from_str(TEXT).expect("the embedded catalogue is valid, by its own test"));

/// Every knob, in the order of the file.
pub fn entries() -> &'static [Entry] {
    &FILE.knob
}

/// The knob of that id.
pub fn entry(id: &str) -> Option<&'static Entry> {
    entries().iter().find(|entry| entry.id == id)
}

/// Every network driver whose rules are known.
pub fn drivers() -> &'static [Driver] {
    &FILE.driver
}

/// The rule of a driver for a parameter.
pub(crate) fn driver(name: &str, parameter: CoalesceParameter) -> Option<&'static Driver> {
    drivers().iter().find(|driver| driver.name == name && driver.parameters.contains(&parameter))
}

impl Driver {
    /// What the values within its bound may be spaced by and still be in effect as they are.
    pub(crate) fn step(&self) -> u32 {
        match self.rounding {
            Some(Rounding::Down(step) | Rounding::Up(step)) => step,
            Some(Rounding::Device | Rounding::Rate) | None => 1,
        }
    }

    /// The value that is in effect when `asked` was written.
    pub(crate) fn effective(&self, asked: u32, resolution: Option<u32>) -> u32 {
        if asked == 0 || self.reserved(asked).is_some() {
            return asked;
        }
        match self.rounding {
            None => asked,
            Some(Rounding::Down(step)) => asked - asked % step,
            Some(Rounding::Up(step)) => asked.next_multiple_of(step),
            Some(Rounding::Device) => asked - asked % resolution.unwrap_or(1).max(1),
            Some(Rounding::Rate) => {
                let rate = (1_000_000 / asked) & !3;
                1_000_000_u32.checked_div(rate).unwrap_or(asked)
            }
        }
    }

    /// The value that the driver shows when `asked` was written.
    ///
    /// # Errors
    /// It refuses the value.
    pub(crate) fn shown(&self, asked: u32, resolution: Option<u32>) -> Result<u32> {
        if self.greatest.is_some_and(|greatest| asked > greatest) {
            return Err(
                Error::unsupported(format!("the network driver refuses {asked}: invalid argument")).value(asked)
            );
        }
        Ok(if self.shows_request { asked } else { self.effective(asked, resolution) })
    }

    /// What a value means that the driver does not take for itself.
    pub(crate) fn reserved(&self, value: u32) -> Option<&Reserved> {
        self.reserved.iter().find(|reserved| (reserved.low..=reserved.high).contains(&value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_carry_a_domain() {
        let mut ids: Vec<_> = entries().iter().map(|entry| &entry.id).collect();
        assert!(ids.iter().all(|id| id.split('.').count() == 2));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), entries().len());
    }

    #[test]
    fn a_knob_matters_only_with_others_and_in_no_circle() {
        fn depth(id: &str, left: usize) -> usize {
            let others = &super::entry(id).unwrap_or_else(|| panic!("there is no {id}")).only_with;
            others.keys().map(|other| 1 + depth(other, left.checked_sub(1).expect("a circle"))).max().unwrap_or(0)
        }
        assert!(entries().iter().map(|entry| depth(&entry.id, entries().len())).max() > Some(0));
    }

    #[test]
    fn an_id_ends_in_its_unit() {
        for entry in entries() {
            let expected = match entry.unit.as_deref() {
                Some("us") => &["_us", "_usecs"][..],
                Some("MHz") => &["_mhz"],
                Some("W") => &["_w"],
                Some(other) => panic!("{}: unit {other}", entry.id),
                None => continue,
            };
            assert!(expected.iter().any(|end| entry.id.ends_with(end)), "{}", entry.id);
        }
    }

    #[test]
    fn a_knob_is_spelled_in_one_way() {
        for (id, spelled) in entries().iter().filter_map(|entry| Some((&entry.id, entry.spelled.as_ref()?))) {
            assert_ne!(spelled.ethtool.is_some(), !spelled.files.is_empty(), "{id}");
            assert!(spelled.files.iter().all(|file| file.starts_with("/sys/")), "{id}");
            assert_eq!(spelled.ethtool.is_some(), spelled.link.is_some(), "{id}");
        }
    }

    #[test]
    fn a_driver_has_one_rule_for_a_parameter_and_rounds_within_its_bounds() {
        for (index, rule) in drivers().iter().enumerate() {
            for parameter in &rule.parameters {
                let same = |other: &&Driver| other.name == rule.name && other.parameters.contains(parameter);
                assert_eq!(drivers()[index..].iter().filter(same).count(), 1, "{} {parameter:?}", rule.name);
            }
            let greatest = rule.greatest.unwrap_or(u32::MAX);
            assert_eq!(greatest % rule.step(), if greatest == u32::MAX { greatest % rule.step() } else { 0 });
            for asked in (0..20_000).filter(|&asked| asked <= greatest) {
                let effective = rule.effective(asked, Some(50));
                assert_eq!(rule.effective(effective, Some(50)), effective, "{} {asked}", rule.name);
            }
        }
    }

    #[test]
    fn drivers_round_as_their_sources_say() {
        let effective = |name, asked| driver(name, CoalesceParameter::RxUsecs).unwrap().effective(asked, Some(50));
        assert_eq!(effective("ena", 64), 50);
        assert_eq!(effective("i40e", 63), 64);
        assert_eq!(effective("ice", 63), 62);
        assert_eq!(effective("ixgbe", 9), 8);
        assert_eq!(effective("ixgbe", 1), 1);
        assert_eq!(effective("e1000e", 500), 500);
        assert_eq!(effective("e1000e", 7000), 7142);
        assert_eq!(effective("mlx5_core", 63), 63);
    }
}
