//! Recorded machines that change while a test watches.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use bayop_knobs::sensor::{Options, Reading, Sensors};
use bayop_knobs::{Host, tree};
use tempfile::TempDir;

/// A recorded machine in a folder of its own.
pub struct Machine {
    root: TempDir,
}

impl Machine {
    /// Unpacks `tests/machines/NAME.tree`.
    pub fn recorded(name: &str) -> Self {
        let machine = Self::empty();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/machines");
        let text = fs::read_to_string(folder.join(format!("{name}.tree"))).unwrap();
        tree::unpack(&text, machine.root.path()).unwrap();
        machine
    }

    pub fn empty() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    pub fn host(&self) -> Host {
        Host::recorded(self.root.path())
    }

    /// Writes a file, as its driver would show it from now on.
    pub fn set(&self, path: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), text).unwrap();
    }

    /// Takes the permission to read away.
    pub fn forbid(&self, path: &str) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o200)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).unwrap();
    }

    /// Sensors by the options of a `[power]` table, opened at second 0.
    pub fn sensors(&self, power: &str) -> Sensors {
        let options: Options = toml::from_str(power).unwrap();
        Sensors::open(self.host(), &options, 0.0).unwrap()
    }
}

/// The reading of that id, which must be there.
pub fn find<'a>(readings: &'a [Reading], id: &str) -> &'a Reading {
    readings.iter().find(|reading| reading.id() == id).unwrap_or_else(|| {
        panic!("no {id} among {:?}", readings.iter().map(Reading::id).collect::<Vec<_>>());
    })
}

/// Its value, which must be known.
pub fn value(readings: &[Reading], id: &str) -> f64 {
    find(readings, id).value.clone().unwrap()
}
