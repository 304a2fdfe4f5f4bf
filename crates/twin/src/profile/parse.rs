//! From TOML text to a [`Profile`], with one clear error for whatever is wrong.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Profile;
use super::limits::{MAX_IDLE_STATES, range_of};
use bayop_core::Error;

impl Profile {
    /// Parses a profile. `source` names the text in errors: a file name, say.
    pub fn parse(text: &str, source: &str) -> Result<Self, Error> {
        let document = Document { text, source };
        let table = DeTable::parse(text).map_err(|e| document.syntax_error(&e))?;
        let mut numbers = Vec::new();
        collect_numbers(&mut numbers, "", table.get_ref());
        for number in &numbers {
            document.check_range(number)?;
        }
        let profile = Self::deserialize(toml::Deserializer::from(table)).map_err(|e| document.schema_error(&e))?;
        profile.check(&|key| document.place_of(key, &numbers))?;
        Ok(profile)
    }

    /// Rules that involve several keys. `place` says where a key stands.
    pub(super) fn check(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        let machine = &self.machine;
        if machine.freq_mhz.is_empty() || machine.freq_mhz.windows(2).any(|w| w[0] >= w[1]) {
            let steps = format!("{:?}", machine.freq_mhz);
            let rule = "P-states must be one or more, in ascending order";
            return Err(Error::cannot_use(steps, rule).at(place("machine.freq_mhz")));
        }
        let states = machine.idle_states.len();
        if !(1..=MAX_IDLE_STATES).contains(&states) {
            return Err(Error::input(format!("there are {states} idle states"))
                .rule(format!("there must be 1 to {MAX_IDLE_STATES}"))
                .at(place("machine.idle_states"))
                .hint("a machine without idle states has one: POLL, with exit_latency_us = 0"));
        }
        for (i, w) in machine.idle_states.windows(2).enumerate() {
            if w[0].target_residency_us > w[1].target_residency_us {
                let value = format!("{} after {}", w[1].target_residency_us, w[0].target_residency_us);
                let key = format!("machine.idle_states.{}.target_residency_us", i + 1);
                return Err(Error::cannot_use(value, "idle states must go from shallow to deep")
                    .at(place(&key))
                    .hint("sort them by target_residency_us"));
            }
        }
        let nic = &machine.nic;
        if nic.rx_usecs_min > nic.rx_usecs_max {
            let value = format!("{} > {}", nic.rx_usecs_min, nic.rx_usecs_max);
            let rule = "rx_usecs_min must not exceed rx_usecs_max";
            return Err(Error::cannot_use(value, rule).at(place("machine.nic.rx_usecs_min")));
        }
        if self.app.spare_cores >= machine.cores {
            let wrong = format!("{} of {} cores are spare", self.app.spare_cores, machine.cores);
            return Err(Error::input(wrong).rule("at least one must serve").at(place("app.spare_cores")));
        }
        if self.exchange.is_some() && self.serving_cores() != 1 {
            let wrong = format!("{} of {} cores serve", self.serving_cores(), machine.cores);
            return Err(Error::input(wrong)
                .rule("a closed loop must have one serving core")
                .at(place("app.spare_cores"))
                .hint("spare_cores is one less than cores"));
        }
        Ok(())
    }
}

/// A number in the text.
struct Number {
    key: String,
    value: f64,
    start: usize,
}

/// Flattens a table into its numbers with dotted keys.
fn collect_numbers(numbers: &mut Vec<Number>, prefix: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        collect_value(numbers, key, value);
    }
}

fn collect_value(numbers: &mut Vec<Number>, key: String, value: &Spanned<DeValue<'_>>) {
    let text = match value.get_ref() {
        DeValue::Table(table) => return collect_numbers(numbers, &key, table),
        DeValue::Array(array) => {
            for (i, item) in array.iter().enumerate() {
                collect_value(numbers, format!("{key}.{i}"), item);
            }
            return;
        }
        DeValue::Integer(number) => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return,
    };
    if let Ok(number) = text.replace('_', "").parse() {
        numbers.push(Number { key, value: number, start: value.span().start });
    }
}

/// The text being parsed, for error messages.
struct Document<'a> {
    text: &'a str,
    source: &'a str,
}

impl Document<'_> {
    fn line(&self, offset: usize) -> usize {
        self.text[..offset.min(self.text.len())].matches('\n').count() + 1
    }

    fn place_of(&self, key: &str, numbers: &[Number]) -> String {
        match numbers.iter().find(|n| n.key == key || n.key.starts_with(&format!("{key}."))) {
            Some(number) => format!("{}, line {}, key {key}", self.source, self.line(number.start)),
            None => format!("{}, key {key}", self.source),
        }
    }

    fn check_range(&self, number: &Number) -> Result<(), Error> {
        match range_of(&number.key) {
            Some(range) if !range.allows(number.value) => {
                let place = format!("{}, line {}, key {}", self.source, self.line(number.start), number.key);
                Err(Error::cannot_use(number.value, range.rule()).at(place))
            }
            _ => Ok(()), // keys that no range is known for are unknown keys: serde refuses them
        }
    }

    fn syntax_error(&self, error: &toml::de::Error) -> Error {
        let start = error.span().map_or(0, |s| s.start);
        let value = self.text.lines().nth(self.line(start) - 1).unwrap_or_default().trim();
        Error::input(format!("{value} is not valid TOML: {}", error.message().trim())).value(value).at(format!(
            "{}, line {}",
            self.source,
            self.line(start)
        ))
    }

    /// Translates serde's messages: unknown key, missing key, wrong type.
    fn schema_error(&self, error: &toml::de::Error) -> Error {
        let message = error.message();
        let line = error.span().map(|span| self.line(span.start));
        let place = line.map_or(self.source.to_string(), |line| format!("{}, line {line}", self.source));
        let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
        if message.starts_with("unknown field") && !quoted.is_empty() {
            let hint = match closest(quoted[0], &quoted[1..]) {
                Some(key) => format!("did you mean {key}?"),
                None => format!("known keys here: {}", quoted[1..].join(", ")),
            };
            return Error::input(format!("there is no key {}", quoted[0])).value(quoted[0]).at(place).hint(hint);
        }
        if message.starts_with("missing field") && !quoted.is_empty() {
            return Error::input(format!("the key {} is missing", quoted[0]))
                .at(place)
                .hint("start from a complete profile and change it");
        }
        let value = error.span().map_or("", |span| &self.text[span]).trim();
        Error::input(format!("{value} does not fit: {}", message.replace('`', ""))).value(value).at(place)
    }
}

/// The known key that an unknown one probably means: the same words in another unit, or a typo.
fn closest<'a>(unknown: &str, keys: &[&'a str]) -> Option<&'a str> {
    let stem = |key: &str| key.rsplit_once('_').map_or(key.to_string(), |(stem, _)| stem.to_string());
    let same_stem = keys.iter().find(|k| stem(k) == stem(unknown) || stem(k) == unknown);
    same_stem.copied().or_else(|| {
        let best = keys.iter().min_by_key(|k| edit_distance(unknown, k))?;
        (edit_distance(unknown, best) <= 1 + unknown.len() / 4).then_some(best)
    })
}

/// Levenshtein's distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
