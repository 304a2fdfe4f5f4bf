//! A value for some knobs.

use crate::knob::Knob;
use crate::profile::Profile;
use bayop_core::Error;

/// A value for some knobs; those that are left out are left to the operating system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Setting([Option<f64>; Knob::ALL.len()]);

impl Setting {
    /// The setting that gives these knobs, by id, their values.
    pub fn of_knobs<'a>(values: impl IntoIterator<Item = (&'a str, f64)>) -> Result<Self, Error> {
        let mut setting = Self::default();
        for (id, value) in values {
            let Some(knob) = Knob::of_id(id) else {
                let error = Error::input(format!("the twin does not model {id}")).value(id).at("run, setting");
                return Err(error.hint(format!("it models {}", Knob::ALL.map(Knob::id).join(", "))));
            };
            setting = setting.with(knob, value);
        }
        Ok(setting)
    }

    /// The same setting with another value of a knob, or with the knob left to the operating system.
    pub fn with(mut self, knob: Knob, value: impl Into<Option<f64>>) -> Self {
        self.0[knob as usize] = value.into();
        self
    }

    /// The value of a knob.
    pub fn get(&self, knob: Knob) -> Option<f64> {
        self.0[knob as usize]
    }

    /// The value of a knob, which the server must have and take.
    pub fn checked(&self, profile: &Profile, knob: Knob) -> Result<Option<f64>, Error> {
        let Some(value) = self.get(knob) else { return Ok(None) };
        let Some(domain) = knob.domain(profile) else {
            let knobs = Knob::ALL.into_iter().filter(|knob| knob.domain(profile).is_some()).map(Knob::id);
            return Err(Error::input(format!("{} has no {}", profile.name, knob.id()))
                .value(value)
                .at(format!("run, {}", knob.id()))
                .hint(format!("it has {}", knobs.collect::<Vec<_>>().join(", "))));
        };
        let (least, greatest) = domain.ends();
        check(value, least, greatest, knob.id()).map(Some)
    }
}

/// The value, which must lie in its range.
pub fn check(value: f64, least: f64, greatest: f64, name: &str) -> Result<f64, Error> {
    if (least..=greatest).contains(&value) {
        return Ok(value);
    }
    let rule = format!("{name} must be between {least} and {greatest}");
    Err(Error::cannot_use(value, rule).at(format!("run, {name}")))
}
