//! The only module that reads the clock and generates random numbers. All other modules receive the time and random
//! numbers as values.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::Timestamp;

/// The source of the time and of random numbers.
#[derive(Clone, Debug)]
pub enum World {
    /// The system clock, and random numbers from the operating system.
    Machine,
    /// A file that contains the time. Ids are derived from the time, so the commits of replays and tests are
    /// reproducible.
    File(PathBuf),
}

/// The reason why the time can't be read.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The clock file of a replay can't be read.
    #[error("the clock file {path} can't be read")]
    Unreadable {
        /// The path of the clock file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The clock does not contain a valid time.
    #[error("{0}")]
    NoTime(String),
}

impl World {
    /// Returns the machine's world. In a debug build, which the tests run, the variable `TOT_CLOCK` names a file that
    /// contains the time.
    pub fn here() -> World {
        let file = std::env::var_os("TOT_CLOCK").filter(|_| cfg!(debug_assertions));
        file.map_or(World::Machine, |file| World::File(file.into()))
    }

    /// Returns the current time.
    ///
    /// # Errors
    ///
    /// Returns an error if the time is outside the supported range of years, or if the clock file can't be read.
    pub fn now(&self) -> Result<Timestamp, WorldError> {
        match self {
            World::Machine => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .ok()
                .and_then(|since| i64::try_from(since.as_millis()).ok())
                .and_then(Timestamp::from_milliseconds)
                .ok_or_else(|| {
                    WorldError::NoTime("the system clock is outside the years 1970 to 9999".into())
                }),
            World::File(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| WorldError::Unreadable { path: path.clone(), source })?;
                text.trim()
                    .parse()
                    .map_err(|error| WorldError::NoTime(format!("{}: {error}", path.display())))
            }
        }
    }

    /// Creates an id for what begins at `now`, by a constructor such as `SessionId::new`.
    pub fn id<T>(&self, now: Timestamp, new: fn(u64, [u8; 10]) -> T) -> T {
        let milliseconds = u64::try_from(now.milliseconds()).unwrap_or_default();
        new(milliseconds, self.random(milliseconds))
    }

    /// Returns a random duration of at most `most`, so that processes do not collide repeatedly.
    pub fn jitter(&self, most: Duration) -> Duration {
        most * u32::from(self.random_number()) / u32::from(u16::MAX)
    }

    /// Returns a random number that keeps independently created names distinct.
    pub fn random_number(&self) -> u16 {
        let seed = self.now().map_or(0, |now| u64::try_from(now.milliseconds()).unwrap_or_default());
        let [high, low, ..] = self.random(seed);
        u16::from_be_bytes([high, low])
    }

    fn random(&self, seed: u64) -> [u8; 10] {
        let mut random = [0; 10];
        match self {
            World::Machine => {
                // Skip bytes 6 and 8, which contain the version and the variant. All other bits are random.
                let bytes = uuid::Uuid::new_v4().into_bytes();
                random[..6].copy_from_slice(&bytes[..6]);
                random[6..].copy_from_slice(&bytes[9..13]);
            }
            World::File(_) => {
                // SplitMix64 has a good distribution and produces the same numbers on every machine.
                let mut state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
                for byte in &mut random {
                    state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                    state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                    state ^= state >> 31;
                    *byte = (state & 0xff) as u8;
                }
            }
        }
        random
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::SessionId;

    #[test]
    fn two_ids_of_one_time_differ_on_a_machine_and_agree_in_a_replay() {
        let now: Timestamp = "2026-11-20T09:15:02.114Z".parse().unwrap();
        assert_ne!(World::Machine.id(now, SessionId::new), World::Machine.id(now, SessionId::new));
        let replay = World::File("clock".into());
        assert_eq!(replay.id(now, SessionId::new), replay.id(now, SessionId::new));
    }
}
