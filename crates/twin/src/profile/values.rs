//! A profile as a flat list of numbers: what fits perturb and random servers draw.

use serde::Deserialize;
use toml::Value;

use super::Profile;
use super::limits::range_of;
use super::never::NEVER;
use bayop_core::Error;

/// A replacement for one value of a profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Override {
    /// A number.
    Number(f64),
    /// A word, such as the name of an idle governor.
    Text(String),
}

impl Profile {
    /// Every number by its dotted key, such as `machine.idle_states.2.exit_latency_us`.
    pub fn values(&self) -> Vec<(String, f64)> {
        let mut numbers = Vec::new();
        flatten(&mut numbers, String::new(), &self.to_value());
        numbers
    }

    /// The same profile with some values replaced; keys as in [`Profile::values`], and those of
    /// words.
    pub fn with_values(&self, overrides: &[(String, Override)]) -> Result<Self, Error> {
        let mut value = self.to_value();
        for (key, replacement) in overrides {
            replace(&mut value, key, replacement)?;
        }
        let profile = Self::deserialize(value).map_err(|e| {
            let message = e.message().trim();
            let error = unknown_word(message);
            error.unwrap_or_else(|| Error::input(format!("a value does not fit: {message}"))).at("overridden values")
        })?;
        profile.check(&|key| format!("overridden values, key {key}"))?;
        Ok(profile)
    }

    /// The profile as TOML text (without comments).
    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self).expect("profiles hold nothing that TOML cannot")
    }

    fn to_value(&self) -> Value {
        Value::try_from(self).expect("profiles hold nothing that TOML cannot")
    }
}

/// Translates serde's message about a word that is none of those that a key takes.
pub(super) fn unknown_word(message: &str) -> Option<Error> {
    let words: Vec<&str> = message.strip_prefix("unknown variant")?.split('`').skip(1).step_by(2).collect();
    let (unknown, known) = words.split_first()?;
    Some(Error::cannot_use(*unknown, format!("it must be one of {}", known.join(", "))))
}

fn flatten(numbers: &mut Vec<(String, f64)>, key: String, value: &Value) {
    let below = |name: &str| if key.is_empty() { name.to_string() } else { format!("{key}.{name}") };
    match value {
        Value::Table(table) => table.iter().for_each(|(name, v)| flatten(numbers, below(name), v)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, v)| flatten(numbers, below(&i.to_string()), v)),
        Value::Integer(number) => numbers.push((key, *number as f64)),
        Value::Float(number) => numbers.push((key, *number)),
        _ => {}
    }
}

fn replace(root: &mut Value, key: &str, replacement: &Override) -> Result<(), Error> {
    let place = || format!("overridden values, key {key}");
    let unknown = || {
        Error::input(format!("there is no key {key} of a number or word"))
            .value(key)
            .at("overridden values")
            .hint("Profile.values() lists the keys of numbers")
    };
    let mut slot = root;
    for part in key.split('.') {
        slot = match slot {
            Value::Table(table) => table.get_mut(part),
            Value::Array(items) => part.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            _ => None,
        }
        .ok_or_else(unknown)?;
    }
    let may_be_never = key.ends_with(".settle_us");
    *slot = match (&*slot, replacement) {
        (Value::String(_), Override::Text(text)) => Value::String(text.clone()),
        (Value::Float(_), Override::Text(text)) if may_be_never && text == NEVER => Value::String(text.clone()),
        (old, Override::Number(number)) if old.is_integer() || old.is_float() || (may_be_never && old.is_str()) => {
            if let Some(range) = range_of(key).filter(|range| !range.allows(*number)) {
                return Err(Error::cannot_use(number, range.rule()).at(place()));
            }
            if matches!(slot, Value::Integer(_)) { Value::Integer(*number as i64) } else { Value::Float(*number) }
        }
        (Value::Table(_) | Value::Array(_), _) => return Err(unknown()),
        (_, Override::Text(text)) => return Err(Error::cannot_use(text, "it must be a number").at(place())),
        (_, Override::Number(number)) => return Err(Error::cannot_use(number, "it must be a word").at(place())),
    };
    Ok(())
}
