//! Putting controls back to what was read from them before.

use bayop_knobs::{Host, control::Control};

use crate::fault;
use bayop_core::{Error, Result};

/// A control and the text that it shall read again.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Where.
    pub control: Control,
    /// What, as the kernel spelled it.
    pub text: String,
}

/// How often what still differs is written: controls depend on each other (a minimum may not pass its maximum, a fixed
/// frequency takes its governor), and no chain of them is longer.
const PASSES: usize = 4;

/// Writes the targets back, the last first, each on its own: one that fails keeps no other from being restored.
/// Returns those that do not read as they should in the end, with why.
///
/// What counts is the reading: a control that already reads right is not written, since a write may reset a link, and
/// a refused write of a text that stands for "not in use" (`<unsupported>`) does no harm once its governor is back.
pub fn put_back<'a>(host: &Host, targets: &'a [Target]) -> Vec<(&'a Target, Error)> {
    let mut wrong = differing(host, targets.iter().rev());
    for _ in 0..PASSES {
        if wrong.is_empty() {
            break;
        }
        let refused: Vec<_> = wrong.iter().map(|(target, _)| (*target, write(host, target))).collect();
        // A write may have disturbed what was right before it, so everything is looked at again.
        wrong = differing(host, targets.iter().rev());
        for (target, error) in &mut wrong {
            if let Some((_, Err(refusal))) = refused.iter().find(|(written, _)| written == target) {
                *error = refusal.clone();
            }
        }
    }
    wrong
}

fn differing<'a>(host: &Host, targets: impl Iterator<Item = &'a Target>) -> Vec<(&'a Target, Error)> {
    targets.filter_map(|target| Some((target, check(host, target).err()?))).collect()
}

fn check(host: &Host, target: &Target) -> Result<()> {
    let text = target.control.read(host)?;
    if text == target.text {
        return Ok(());
    }
    Err(Error::drift(format!("the control reads '{text}' and not '{}' again", target.text)).at(&target.control))
}

fn write(host: &Host, target: &Target) -> Result<()> {
    fault::point("restore.before_write");
    target.control.write(host, &target.text)?;
    fault::point("restore.after_write");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Host, Vec<Target>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            fs::write(root.path().join(path), text).unwrap();
        }
        let host = Host::recorded(root.path());
        let target = |(path, _): &(&str, &str)| Target { control: Control::file(*path), text: "found".to_owned() };
        let targets = files.iter().map(target).collect();
        (root, host, targets)
    }

    #[test]
    fn everything_is_put_back() {
        let (_root, host, targets) = machine(&[("a", "changed"), ("b", "found\n")]);
        assert_eq!(put_back(&host, &targets), []);
        assert_eq!((host.read("a").unwrap(), host.read("b").unwrap()), ("found".to_owned(), "found".to_owned()));
    }

    #[test]
    fn one_that_fails_keeps_no_other() {
        let (root, host, targets) = machine(&[("a", "changed"), ("b", "changed"), ("c", "changed")]);
        fs::remove_file(root.path().join("b")).unwrap();
        let failed = put_back(&host, &targets);
        assert_eq!(failed.iter().map(|(target, _)| &target.control).collect::<Vec<_>>(), [&Control::file("b")]);
        assert_eq!((host.read("a").unwrap(), host.read("c").unwrap()), ("found".to_owned(), "found".to_owned()));
    }
}
