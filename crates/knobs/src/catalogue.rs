//! The catalogue of knobs: one data file, checked when it is first used.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

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
    /// The kernel interface that shows it.
    pub read: String,
    /// The kernel interface that sets it.
    pub write: String,
    /// How a write is undone.
    pub undo: String,
    /// Which end of a numeric domain makes the service fastest.
    pub safest: Option<End>,
    /// What a write may do beside setting the value.
    #[serde(default)]
    pub hazards: Vec<String>,
    /// Where the kernel documents it.
    pub source: String,
}

/// An end of a numeric domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The least value.
    Low,
    /// The greatest value.
    High,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    knob: Vec<Entry>,
}

static ENTRIES: LazyLock<Vec<Entry>> =
    LazyLock::new(|| toml::from_str::<File>(TEXT).expect("the embedded catalogue is valid, by its own test").knob);

/// Every knob, in the order of the file.
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// The knob of that id.
pub fn entry(id: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.id == id)
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
}
