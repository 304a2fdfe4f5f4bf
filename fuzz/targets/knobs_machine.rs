//! Whatever a text says that a machine is: it is refused, or unpacked into its folder and nowhere else; examined without
//! looking elsewhere; and what is recorded of it is a machine again.

#![no_main]

use std::fs;
use std::path::Path;

use bayop_knobs::doctor::{self, examine};
use bayop_knobs::knob::survey;
use bayop_knobs::{recording, tree};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("machine");
    let Ok(host) = tree::unpack(text, &root) else { return };
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), usize::from(root.exists()));
    stays_in(&root, &root);
    examine(&host, &doctor::Options::default());
    for instance in survey(&host).instances {
        let _ = instance.read(&host);
    }
    let again = recording::record(&host);
    tree::unpack(&again, &folder.path().join("again")).unwrap_or_else(|error| panic!("{error}\n{again}"));
});

/// No link below `folder` leads out of `root`.
fn stays_in(root: &Path, folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.expect("an entry")) {
        let (path, kind) = (entry.path(), entry.file_type().expect("a type"));
        if kind.is_dir() {
            stays_in(root, &path);
        } else if let Ok(end) = fs::canonicalize(&path) {
            assert!(end.starts_with(root.canonicalize().expect("a folder")), "{} is {}", path.display(), end.display());
        }
    }
}
