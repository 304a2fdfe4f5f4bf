//! What a network driver really does with the delay that it is asked for.
//!
//! Drivers round and clamp: ENA turns 64 us into 50, and what `ethtool` shows is what was asked. A calibration measured
//! the spacing of interrupts at some requests; between them the effective delay is taken to be linear, beyond them that
//! of the nearest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bayop_knobs::network::identity::Identity;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{durable, files};
use bayop_core::{Error, Kind, Result};

/// The most points of a map.
const GREATEST_POINTS: usize = 1024;

/// The requested-to-effective map of one device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Map {
    /// The network device, such as `eth0`.
    pub device: String,
    /// Its driver, such as `ena`, where it was noted.
    #[serde(default)]
    pub driver: Option<String>,
    /// The measured points, by rising request.
    pub points: Vec<Point>,
}

/// One measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The rx_usecs that were written.
    pub requested_us: f64,
    /// The spacing of interrupts that it gave under load.
    pub effective_us: f64,
}

/// A map and the device that it is of, whatever that is called by now.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    map: Map,
    #[serde(default)]
    identity: Option<Identity>,
}

/// The maps of a machine, kept in a file.
#[derive(Debug)]
pub struct Calibration {
    path: PathBuf,
    maps: Vec<Stored>,
}

impl Map {
    /// Refuses a map that is no function of the request.
    ///
    /// # Errors
    /// The name is empty, there is no point or too many, or a point is no finite delay in rising order.
    pub fn check(&self) -> Result<()> {
        if self.device.is_empty() {
            return Err(Error::input("the calibration names no device").at("device"));
        }
        if !(1..=GREATEST_POINTS).contains(&self.points.len()) {
            let wrong = format!("the calibration has {} points", self.points.len());
            let rule = format!("it must have 1 to {GREATEST_POINTS}");
            return Err(Error::input(wrong).rule(rule).at("points"));
        }
        let delay = |us: f64| us.is_finite() && us >= 0.0;
        if let Some(point) = self.points.iter().find(|point| !delay(point.requested_us) || !delay(point.effective_us)) {
            let given = format!("{} us, {} us", point.requested_us, point.effective_us);
            return Err(Error::cannot_use(given, "delays must be finite and not negative").at("points"));
        }
        if !self.points.is_sorted_by(|one, next| one.requested_us < next.requested_us) {
            return Err(Error::input("the requests of the points do not rise").at("points"));
        }
        Ok(())
    }

    /// The delay in effect when `requested_us` is set.
    pub fn effective_us(&self, requested_us: f64) -> f64 {
        let after = self.points.partition_point(|point| point.requested_us < requested_us);
        match (after.checked_sub(1).and_then(|before| self.points.get(before)), self.points.get(after)) {
            (Some(low), Some(high)) => {
                let share = (requested_us - low.requested_us) / (high.requested_us - low.requested_us);
                low.effective_us + share * (high.effective_us - low.effective_us)
            }
            (Some(nearest), None) | (None, Some(nearest)) => nearest.effective_us,
            (None, None) => requested_us,
        }
    }
}

impl Stored {
    fn is_of(&self, device: &str, identity: Option<&Identity>) -> bool {
        match (&self.identity, identity) {
            (Some(measured), Some(now)) if measured.bus.is_some() && now.bus.is_some() => measured.is_hardware_of(now),
            _ => self.map.device == device,
        }
    }
}

impl Calibration {
    /// Reads the maps of a state folder; an absent file is none.
    ///
    /// # Errors
    /// The file is there but is no list of maps.
    pub fn load(folder: &Path) -> Result<Self> {
        let path = folder.join("calibration.json");
        let maps: Vec<Stored> = match files::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::unreadable(&path, &error).of(Kind::Unsupported)),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                Error::input(format!("{} is no calibration: {error}", path.display()))
                    .hint("remove the file and calibrate anew: bayop doctor --calibrate nic")
            })?,
        };
        for Stored { map, .. } in &maps {
            map.check().map_err(|error| error.at(path.display()))?;
        }
        Ok(Self { path, maps })
    }

    /// The maps, each with the name that its device had when it was measured.
    pub fn maps(&self) -> impl Iterator<Item = &Map> {
        self.maps.iter().map(|stored| &stored.map)
    }

    /// Whether there is no map.
    pub fn is_empty(&self) -> bool {
        self.maps.is_empty()
    }

    /// The map of a device. One that is plugged in has the map that was measured there, by whatever name.
    pub fn map(&self, device: &str, identity: Option<&Identity>) -> Option<&Map> {
        self.maps.iter().find(|stored| stored.is_of(device, identity)).map(|stored| &stored.map)
    }

    /// Keeps a map in place of its device's earlier one.
    ///
    /// # Errors
    /// The map is none, or the disk is full; the earlier map then stands.
    pub fn put(&mut self, map: Map, identity: Option<Identity>) -> Result<()> {
        map.check()?;
        let mut maps = self.maps.clone();
        maps.retain(|stored| stored.map.device != map.device && !stored.is_of(&map.device, identity.as_ref()));
        maps.push(Stored { map, identity });
        let text = serde_json::to_vec_pretty(&maps).expect("delays are finite");
        durable::replace(&self.path, &text).map_err(|error| Error::unwritable(&self.path, &error))?;
        self.maps = maps;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(points: &[(f64, f64)]) -> Map {
        let points = points.iter().map(|&(requested_us, effective_us)| Point { requested_us, effective_us }).collect();
        Map { device: "eth0".to_owned(), driver: Some("ena".to_owned()), points }
    }

    #[test]
    fn between_points_it_is_linear_and_beyond_them_the_nearest() {
        let map = map(&[(10.0, 20.0), (20.0, 40.0), (30.0, 40.0)]);
        let effective: Vec<_> = [0.0, 10.0, 15.0, 25.0, 99.0].map(|us| map.effective_us(us)).into();
        assert_eq!(effective, [20.0, 20.0, 30.0, 40.0, 40.0]);
    }

    #[test]
    fn what_is_put_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        Calibration::load(folder.path()).unwrap().put(map(&[(64.0, 50.0)]), None).unwrap();
        assert_eq!(Calibration::load(folder.path()).unwrap().map("eth0", None), Some(&map(&[(64.0, 50.0)])));
    }

    #[test]
    fn a_map_goes_with_its_device_and_not_with_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let slot = |bus: &str| Some(Identity { bus: Some(bus.to_owned()), ..Identity::default() });
        let mut calibration = Calibration::load(folder.path()).unwrap();
        calibration.put(map(&[(64.0, 50.0)]), slot("pci/1")).unwrap();
        let effective_us = |calibration: &Calibration, device: &str, bus: &str| {
            calibration.map(device, slot(bus).as_ref()).map(|map| map.effective_us(64.0))
        };
        assert_eq!(effective_us(&calibration, "lan0", "pci/1"), Some(50.0));
        assert_eq!(effective_us(&calibration, "eth0", "pci/2"), None);
        let renamed = Map { device: "lan0".to_owned(), ..map(&[(64.0, 60.0)]) };
        calibration.put(renamed, slot("pci/1")).unwrap();
        assert_eq!(effective_us(&calibration, "lan0", "pci/1"), Some(60.0));
        assert_eq!(calibration.maps().count(), 1);
    }

    #[test]
    fn what_is_no_map_is_refused() {
        for points in
            [&[][..], &[(1.0, f64::NAN)], &[(-1.0, 0.0)], &[(2.0, 1.0), (2.0, 3.0)], &[(2.0, 1.0), (1.0, 3.0)]]
        {
            assert!(map(points).check().is_err(), "{points:?}");
        }
    }
}
