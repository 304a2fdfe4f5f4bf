//! Lists of CPUs, as Linux writes them.

/// CPUs that are told apart, as in `balance.bpf.c`.
pub const MOST_CPUS: usize = 512;

/// Reads numbers and ranges such as `0-7,16` in their order (kernel document admin-guide/cputopology).
///
/// # Errors
/// It is no such list, or has a CPU twice; or one that has no number below [`MOST_CPUS`].
pub fn parse_cpus(text: &str) -> Result<Vec<u32>, String> {
    let number = |text: &str| match text.parse() {
        Ok(number) if (number as usize) < MOST_CPUS => Ok(number),
        _ => Err(format!("CPUs must have numbers from 0 to {}, as in 0-7,16", MOST_CPUS - 1)),
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err("a range must not end before it begins".to_owned());
        }
        for cpu in first..=last {
            if cpus.contains(&cpu) {
                return Err(format!("a CPU must come once only: {cpu}"));
            }
            cpus.push(cpu);
        }
    }
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_keep_their_order() {
        assert_eq!(parse_cpus("2-3,0"), Ok(vec![2, 3, 0]));
        assert_eq!(parse_cpus("511"), Ok(vec![511]));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for text in ["", ",", "a", "-1", "3-", "512", "1-0", "0,0", "0-3,2", "0 1"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }
}
