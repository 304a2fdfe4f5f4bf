//! What a server that somebody describes has to be like to exist. A fit may pass through others on its way.

use super::Profile;
use bayop_core::Error;

impl Profile {
    /// Rules of what can be built. `place` says where a key stands.
    pub(super) fn check_possible(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
        self.check_names(place)?;
        let machine = &self.machine;
        if machine.package_cores > machine.cores {
            let value = format!("{} of {}", machine.package_cores, machine.cores);
            let rule = "a package must not have more cores (package_cores) than the machine (cores)";
            let hint = "package_cores = 0 stands for all cores";
            return Err(Error::cannot_use(value, rule).at(place("machine.package_cores")).hint(hint));
        }
        let power = &machine.power;
        let (halted_w, busy_w) = (power.halted_core_at_max_freq_w, power.busy_core_w + power.busy_core_at_max_freq_w);
        if halted_w > busy_w {
            let value = format!("{halted_w} > {busy_w:.5}");
            let rule = "a core must not draw more halted (halted_core_at_max_freq_w) than busy (busy_core_w + \
                        busy_core_at_max_freq_w)";
            return Err(Error::cannot_use(value, rule).at(place("machine.power.halted_core_at_max_freq_w")));
        }
        Ok(())
    }

    fn check_names(&self, place: &dyn Fn(&str) -> String) -> Result<(), Error> {
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
