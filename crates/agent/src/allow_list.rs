//! What may be written at all: the knobs, their places and ranges that the administrator listed.

use std::collections::BTreeMap;

use bayop_knobs::{Value, knob::Domain, knob::Instance};
use serde::Deserialize;

use bayop_core::{Error, Kind, Result};

use crate::files::DEFAULT_PATH;

/// What is allowed of one knob. A bound that is absent is the kernel's own.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The places, such as `eth0`; a star at the end stands for anything: `eth0/*`, `policy*`.
    pub places: Vec<String>,
    /// The least value.
    pub low: Option<f64>,
    /// The greatest value.
    pub high: Option<f64>,
    /// The only values.
    pub choices: Option<Vec<Value>>,
}

/// The rules, by knob id. A knob without a rule is not writable.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllowList(pub BTreeMap<String, Rule>);

impl Rule {
    /// Refuses a rule that can't mean anything.
    ///
    /// # Errors
    /// A bound is no number, or the bounds or lists are empty.
    pub fn check(&self) -> Result<()> {
        let (low, high) = (self.low.unwrap_or(f64::MIN), self.high.unwrap_or(f64::MAX));
        let choices = self.choices.iter().flatten();
        let finite = choices.filter_map(|choice| match choice {
            Value::Number(number) => Some(*number),
            Value::Word(_) => None,
        });
        if let Some(number) = finite.chain([low, high]).find(|number| !number.is_finite()) {
            return Err(Error::cannot_use(number, "a bound must be a finite number"));
        }
        if low > high {
            return Err(Error::input(format!("low, {low}, is above high, {high}")));
        }
        if self.places.is_empty() || self.choices.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::input("places or choices are empty").hint("remove the entry to allow nothing"));
        }
        Ok(())
    }

    fn covers(&self, at: &str) -> bool {
        self.places.iter().any(|place| match place.strip_suffix('*') {
            Some(start) => at.starts_with(start),
            None => place == at,
        })
    }

    fn narrow(&self, domain: &Domain) -> Option<Domain> {
        let (low, high) = (self.low.unwrap_or(f64::MIN), self.high.unwrap_or(f64::MAX));
        let within = |value: &Value| match value {
            Value::Number(number) => (low..=high).contains(number),
            Value::Word(_) => self.low.is_none() && self.high.is_none(),
        };
        let listed = |value: &Value| self.choices.as_ref().is_none_or(|choices| choices.contains(value));
        match (domain, &self.choices) {
            (Domain::Steps { low: least, high: greatest, step, reserved }, None) => {
                let mut low = least + ((low - least) / step).ceil().max(0.0) * step;
                let mut high = greatest.min(least + ((high - least) / step).floor() * step);
                // A bound on a value that the driver keeps for itself moves to the next that may be written.
                while low <= high && domain.reserved(low).is_some() {
                    low += step;
                }
                while low <= high && domain.reserved(high).is_some() {
                    high -= step;
                }
                let reserved = reserved.iter().filter(|kept| (low..=high).contains(&f64::from(kept.low)));
                let reserved = reserved.cloned().collect();
                (low <= high).then_some(Domain::Steps { low, high, step: *step, reserved })
            }
            (Domain::Steps { .. }, Some(choices)) => {
                chosen(choices.iter().filter(|value| within(value) && domain.check(value).is_ok()))
            }
            (Domain::Choices(values), _) => chosen(values.iter().filter(|value| within(value) && listed(value))),
        }
    }
}

fn chosen<'a>(values: impl Iterator<Item = &'a Value>) -> Option<Domain> {
    let values: Vec<_> = values.cloned().collect();
    (!values.is_empty()).then_some(Domain::Choices(values))
}

impl AllowList {
    /// What of the instance's domain may be written; none when nothing.
    pub fn domain(&self, instance: &Instance) -> Option<Domain> {
        let rule = self.0.get(&instance.knob.id).filter(|rule| rule.covers(&instance.at))?;
        rule.narrow(&instance.domain)
    }

    /// Refuses what may not be written.
    ///
    /// # Errors
    /// The kernel's domain does not have the value, or the allow-list has not the knob, the place or the value.
    pub fn check(&self, instance: &Instance, value: &Value) -> Result<()> {
        instance.domain.check(value).map_err(|error| error.at(instance.name()))?;
        let id = &instance.knob.id;
        let Some(allowed) = self.domain(instance) else {
            return Err(not_allowed(&instance.name(), id, &instance.at).value(value));
        };
        allowed.check(value).map_err(|error| {
            let wrong = format!("the agent's allow-list does not allow {value}");
            Error { kind: Kind::Forbidden, wrong: Some(wrong.into()), ..error }
                .at(instance.name())
                .hint(format!("widen [allow.\"{id}\"] in {DEFAULT_PATH}"))
        })
    }
}

/// The error of a knob that may not be written; `place` is where it would be.
pub fn not_allowed(name: &str, id: &str, place: &str) -> Error {
    Error::forbidden(format!("{name} is not on the agent's allow-list"))
        .hint(format!("add [allow.\"{id}\"] with places = [\"{place}\"] to {DEFAULT_PATH}"))
}

#[cfg(test)]
mod tests {
    use bayop_knobs::catalogue::Reserved;

    use super::*;

    fn rule(low: Option<f64>, high: Option<f64>, choices: Option<Vec<Value>>) -> Rule {
        Rule { places: vec!["eth0".to_owned()], low, high, choices }
    }

    const STEPS: Domain = Domain::Steps { low: 0.0, high: 1000.0, step: 2.0, reserved: Vec::new() };

    #[test]
    fn bounds_fall_on_steps_inside_both() {
        let narrowed = |low, high| rule(low, high, None).narrow(&STEPS);
        assert_eq!(narrowed(None, None), Some(STEPS));
        assert_eq!(
            narrowed(Some(3.0), Some(9.0)),
            Some(Domain::Steps { low: 4.0, high: 8.0, step: 2.0, reserved: Vec::new() })
        );
        assert_eq!(narrowed(Some(-5.0), Some(2000.0)), Some(STEPS));
        assert_eq!(narrowed(Some(2000.0), None), None);
        assert_eq!(narrowed(None, Some(-1.0)), None);
    }

    #[test]
    fn bounds_step_over_what_the_driver_keeps() {
        let kept = |low, high| Reserved { low, high, meaning: "the driver's own".to_owned() };
        let steps = |low, high, reserved| Domain::Steps { low, high, step: 1.0, reserved };
        let igb = steps(0.0, 10_000.0, vec![kept(1, 1), kept(2, 9)]);
        let narrowed = |low, high| rule(low, high, None).narrow(&igb);
        assert_eq!(narrowed(None, Some(500.0)), Some(steps(0.0, 500.0, vec![kept(1, 1), kept(2, 9)])));
        assert_eq!(narrowed(Some(1.0), Some(500.0)), Some(steps(10.0, 500.0, vec![])));
        assert_eq!(narrowed(None, Some(5.0)), Some(steps(0.0, 0.0, vec![])));
        assert_eq!(narrowed(Some(3.0), Some(5.0)), None);
        let listed = rule(None, None, Some(vec![3.0.into(), 10.0.into()])).narrow(&igb);
        assert_eq!(listed, Some(Domain::Choices(vec![10.0.into()])));
    }

    #[test]
    fn choices_are_those_that_the_kernel_has_too() {
        let words = Domain::Choices(vec!["on".into(), "off".into()]);
        let listed = rule(None, None, Some(vec!["off".into(), "maybe".into()]));
        assert_eq!(listed.narrow(&words), Some(Domain::Choices(vec!["off".into()])));
        let numbers = rule(None, Some(100.0), Some(vec![10.0.into(), 11.0.into(), 500.0.into()]));
        assert_eq!(numbers.narrow(&STEPS), Some(Domain::Choices(vec![10.0.into()])));
        assert_eq!(rule(Some(0.0), None, None).narrow(&words), None);
    }

    #[test]
    fn places_are_names_or_beginnings() {
        let covers =
            |place: &str, at: &str| Rule { places: vec![place.to_owned()], ..rule(None, None, None) }.covers(at);
        assert!(covers("eth0", "eth0") && covers("eth0/*", "eth0/rx-3") && covers("*", "policy0"));
        assert!(!covers("eth0", "eth01") && !covers("eth0", "eth0/rx-3") && !covers("eth0/*", "eth0"));
    }

    #[test]
    fn rules_that_mean_nothing_are_refused() {
        for wrong in [
            rule(Some(f64::NAN), None, None),
            rule(None, Some(f64::INFINITY), None),
            rule(Some(2.0), Some(1.0), None),
            rule(None, None, Some(vec![])),
            rule(None, None, Some(vec![f64::NAN.into()])),
            Rule { places: vec![], ..rule(None, None, None) },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        assert!(rule(Some(0.0), Some(0.0), None).check().is_ok());
    }
}
