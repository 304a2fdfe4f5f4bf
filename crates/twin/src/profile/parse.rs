//! From TOML text to a [`Profile`], with one clear error for whatever is wrong.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::limits::{MAX_CORES, MAX_IDLE_STATES, range_of};
use super::values::unknown_word;
use super::{Dispatch, Profile, WakeBalancer};
use bayop_core::Error;

impl Profile {
    /// Parses a profile. `source` names the text in errors: a file name, say.
    pub fn parse(text: &str, source: &str) -> Result<Self, Error> {
        let document = Document { text, source };
        let table = DeTable::parse(text).map_err(|e| document.syntax_error(&e))?;
        let mut leaves = Vec::new();
        collect_table(&mut leaves, "", table.get_ref());
        for leaf in &leaves {
            document.check_range(leaf)?;
        }
        let profile = Self::deserialize(toml::Deserializer::from(table)).map_err(|e| document.schema_error(&e))?;
        let place = |key: &str| document.place_of(key, &leaves);
        profile.check(&place)?;
        profile.check_names(&place)?;
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
        for (i, w) in machine.idle_states.windows(2).enumerate() {
            if w[0].exit_latency_us > w[1].exit_latency_us {
                let value = format!("{} after {}", w[1].exit_latency_us, w[0].exit_latency_us);
                let key = format!("machine.idle_states.{}.exit_latency_us", i + 1);
                return Err(Error::cannot_use(value, "deeper idle states must not be left sooner").at(place(&key)));
            }
        }
        for (i, state) in machine.idle_states.iter().enumerate() {
            if machine.idle_states[..i].iter().any(|other| other.name == state.name) {
                let rule = "idle states must have names of their own";
                return Err(Error::cannot_use(&state.name, rule).at(place(&format!("machine.idle_states.{i}.name"))));
            }
        }
        self.check_cores(place)?;
        let nic = &machine.nic;
        if nic.rx_usecs_min > nic.rx_usecs_max {
            let value = format!("{} > {}", nic.rx_usecs_min, nic.rx_usecs_max);
            let rule = "rx_usecs_min must not exceed rx_usecs_max";
            return Err(Error::cannot_use(value, rule).at(place("machine.nic.rx_usecs_min")));
        }
        if self.os.frequency_governor.acts_at_events() {
            self.check_events(place)?;
        }
        if self.os.wake_balancer != WakeBalancer::None {
            self.check_wake_balancer(place)?;
        }
        if self.exchange.is_some() && self.serving_cores() != 1 {
            let wrong = format!("{} of {} CPUs serve", self.serving_cores(), self.cpus());
            return Err(Error::input(wrong)
                .rule("a closed loop must have one that serves")
                .at(place("app.spare_cores"))
                .hint("spare_cores is one less than cores, or than hyperthreads where the system uses them"));
        }
        Ok(())
    }

    /// Rules of cores, and of packages of them.
    fn check_cores(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        let machine = &self.machine;
        if self.cpus() > MAX_CORES {
            let value = format!("{} times {}", machine.cores, machine.threads_per_core);
            let rule = format!("cores times threads_per_core must be at most {MAX_CORES}");
            return Err(Error::cannot_use(value, rule).at(place("machine.threads_per_core")));
        }
        if self.app.spare_cores >= self.cpus() {
            let wrong = format!("{} of {} CPUs are spare", self.app.spare_cores, self.cpus());
            return Err(Error::input(wrong).rule("at least one must serve").at(place("app.spare_cores")));
        }
        let (turbo_mhz, freq_mhz) = (&machine.turbo_mhz, &machine.freq_mhz);
        let has = |mhz: &f64| (freq_mhz[0]..=freq_mhz[freq_mhz.len() - 1]).contains(mhz);
        if !turbo_mhz.iter().all(has) || turbo_mhz.windows(2).any(|w| w[0] < w[1]) {
            let rule = "turbo_mhz must lie within freq_mhz and not rise with the number of active cores";
            return Err(Error::cannot_use(format!("{turbo_mhz:?}"), rule).at(place("machine.turbo_mhz")));
        }
        if let Some(asleep_w) = machine.power.asleep_w.filter(|&asleep_w| asleep_w > machine.power.static_w) {
            let rule = "packages must not draw more asleep (asleep_w) than awake (static_w)";
            let value = format!("{asleep_w} > {}", machine.power.static_w);
            return Err(Error::cannot_use(value, rule).at(place("machine.power.asleep_w")));
        }
        Ok(())
    }

    /// Rules of a balancer of awakened requests.
    fn check_wake_balancer(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        let (key, value) = ("os.wake_balancer", format!("{:?}", self.os.wake_balancer).to_lowercase());
        if self.os.dispatch != Dispatch::Steered || self.exchange.is_some() || self.app.shared_queue {
            let rule = "a wake balancer must have steered dispatch, an open loop and a queue for each thread";
            return Err(Error::cannot_use(value, rule).at(place(key)));
        }
        if self.os.frequency_governor.acts_at_events() {
            let rule = "a wake balancer must have a frequency policy that does not act at events";
            return Err(Error::cannot_use(value, rule).at(place(key)));
        }
        Ok(())
    }

    /// Rules of a frequency policy that acts at events.
    fn check_events(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        let (key, value) = ("os.frequency_governor", format!("{:?}", self.os.frequency_governor).to_lowercase());
        if self.os.dispatch != Dispatch::Steered || self.exchange.is_some() {
            let rule = "a policy that acts at events must have steered dispatch and an open loop";
            return Err(Error::cannot_use(value, rule).at(place(key)));
        }
        if self.threads_per_core() > 1 || !self.machine.turbo_mhz.is_empty() {
            let rule = "a policy that acts at events must have one thread a core and no turbo";
            let hint = "hyperthreads = false, turbo_mhz = []";
            return Err(Error::cannot_use(value, rule).at(place(key)).hint(hint));
        }
        if self.app.spare_core_load_share > 0.0 && self.serving_cores() % self.machine.frequency_domain_cores > 0 {
            let rule = "a policy that acts at events must not share a clock with a busy spare core";
            return Err(Error::cannot_use(value, rule).at(place(key)).hint("frequency_domain_cores = 1"));
        }
        Ok(())
    }
}

/// What is no table in the text.
struct Leaf {
    key: String,
    number: Option<f64>,
    start: usize,
}

/// Flattens a table into what it holds, with dotted keys.
fn collect_table(leaves: &mut Vec<Leaf>, prefix: &str, table: &DeTable<'_>) {
    for (key, value) in table {
        let key = if prefix.is_empty() { key.get_ref().to_string() } else { format!("{prefix}.{}", key.get_ref()) };
        collect_value(leaves, key, value);
    }
}

fn collect_value(leaves: &mut Vec<Leaf>, key: String, value: &Spanned<DeValue<'_>>) {
    let number = match value.get_ref() {
        DeValue::Table(table) => return collect_table(leaves, &key, table),
        DeValue::Array(array) => {
            for (i, item) in array.iter().enumerate() {
                collect_value(leaves, format!("{key}.{i}"), item);
            }
            return;
        }
        // What no 128 bits hold is beyond every range.
        DeValue::Integer(number) => i128::from_str_radix(&number.as_str().replace('_', ""), number.radix())
            .map_or(Some(f64::INFINITY), |number| Some(number as f64)),
        DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
        _ => None,
    };
    leaves.push(Leaf { key, number, start: value.span().start });
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

    fn place_of(&self, key: &str, leaves: &[Leaf]) -> String {
        match leaves.iter().find(|leaf| leaf.key == key || leaf.key.starts_with(&format!("{key}."))) {
            Some(leaf) => format!("{}, line {}, key {key}", self.source, self.line(leaf.start)),
            None => format!("{}, key {key}", self.source),
        }
    }

    fn check_range(&self, leaf: &Leaf) -> Result<(), Error> {
        match (leaf.number, range_of(&leaf.key)) {
            (Some(number), Some(range)) if !range.allows(number) => {
                let place = format!("{}, line {}, key {}", self.source, self.line(leaf.start), leaf.key);
                Err(Error::cannot_use(number, range.rule()).at(place))
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
        if let Some(error) = unknown_word(message) {
            return error.at(place);
        }
        let value = error.span().map_or("", |span| &self.text[span]).trim().lines().next().unwrap_or_default();
        if let Some(rule) = rule_of_type(message) {
            return Error::cannot_use(value, rule).at(place);
        }
        Error::input(format!("{value} does not fit: {}", message.replace('`', ""))).value(value).at(place)
    }
}

/// Serde's message about a value of another type than its key takes, as a rule.
fn rule_of_type(message: &str) -> Option<String> {
    let (_, expected) = message.strip_prefix("invalid ")?.rsplit_once(", expected ")?;
    let what = match expected {
        "usize" => "a whole number",
        "f64" => "a number",
        "a string" | "string" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        other if other.starts_with("struct") => "a table",
        other => other,
    };
    Some(format!("it must be {what}"))
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
