//! One logfmt line per change on standard error, which is the journal's under systemd.

use std::fmt::{Display, Write as _};

/// Writes `event=EVENT key=value ...`; values with spaces or quotes are quoted.
pub fn event(event: &str, fields: &[(&str, &dyn Display)]) {
    eprintln!("{}", line(event, fields));
}

fn line(event: &str, fields: &[(&str, &dyn Display)]) -> String {
    let mut line = format!("event={event}");
    for (key, value) in fields {
        let value = value.to_string();
        let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_graphic() && !"\"=\\".contains(c));
        // Writing to a string does not fail.
        let _ = if plain { write!(line, " {key}={value}") } else { write!(line, " {key}={value:?}") };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_can_not_forge_a_field_or_a_line() {
        let forged = "x reason=\"none\"\nevent=restored";
        let line = line("applied", &[("knob", &"nic.rx_usecs@eth0"), ("holder", &forged), ("reason", &"")]);
        let expected = r#"event=applied knob=nic.rx_usecs@eth0 holder="x reason=\"none\"\nevent=restored" reason="""#;
        assert_eq!(line, expected);
    }
}
