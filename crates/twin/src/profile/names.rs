//! What a server that somebody describes has to have beside its numbers.

use super::Profile;
use bayop_core::Error;

impl Profile {
    /// Everything has a name. `place` says where a key stands.
    pub(super) fn check_names(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        let parts = [("name", &self.name), ("machine.name", &self.machine.name), ("os.name", &self.os.name)];
        let states = self.machine.idle_states.iter().enumerate();
        let states = states.map(|(i, state)| (format!("machine.idle_states.{i}.name"), &state.name));
        let parts = parts.into_iter().chain([("app.name", &self.app.name)]);
        for (key, name) in parts.map(|(key, name)| (key.to_owned(), name)).chain(states) {
            if name.trim().is_empty() {
                return Err(Error::cannot_use(name, "a name must have at least one letter").at(place(&key)));
            }
        }
        Ok(())
    }
}
