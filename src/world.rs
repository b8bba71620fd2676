//! The one place where time and randomness are read. Everything further in gets them as values.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::domain::{CommentId, RunId, SessionId, Timestamp};

/// The source of time and randomness.
#[derive(Clone, Debug)]
pub enum World {
    /// The machine's clock, and random numbers of its operating system.
    Machine,
    /// A file that contains one time, from which session ids are derived. For replays and tests, whose commits must
    /// be the same every time. Set by the operator of a server, never by a client.
    File(PathBuf),
}

/// Why the time can't be read.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The clock file of a replay is unreadable.
    #[error("the clock file {path} can't be read")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The clock has no valid time.
    #[error("{0}")]
    NoTime(String),
}

impl World {
    /// The time.
    ///
    /// # Errors
    ///
    /// The clock is outside of the years 0 to 9999, or the clock file is unreadable.
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

    /// A new session id, for an investigation that begins at `now`.
    pub fn session_id(&self, now: Timestamp) -> SessionId {
        let (milliseconds, random) = self.seed(now);
        SessionId::new(milliseconds, random)
    }

    /// A new id for a comment written at `now`.
    pub fn comment_id(&self, now: Timestamp) -> CommentId {
        let (milliseconds, random) = self.seed(now);
        CommentId::new(milliseconds, random)
    }

    /// A new id for a run stored at `now`.
    pub fn run_id(&self, now: Timestamp) -> RunId {
        let (milliseconds, random) = self.seed(now);
        RunId::new(milliseconds, random)
    }

    /// The parts of an id of that time.
    fn seed(&self, now: Timestamp) -> (u64, [u8; 10]) {
        let milliseconds = u64::try_from(now.milliseconds()).unwrap_or_default();
        (milliseconds, self.random(milliseconds))
    }

    /// A random duration of at most `most`, so that processes that collided once do not collide again.
    pub fn jitter(&self, most: Duration) -> Duration {
        most * u32::from(self.number()) / u32::from(u16::MAX)
    }

    /// A random number, so that two names made separately differ.
    pub fn number(&self) -> u16 {
        let seed = self.now().map_or(0, |now| u64::try_from(now.milliseconds()).unwrap_or_default());
        let [high, low, ..] = self.random(seed);
        u16::from_be_bytes([high, low])
    }

    fn random(&self, seed: u64) -> [u8; 10] {
        let mut random = [0; 10];
        match self {
            World::Machine => {
                // Version and variant take bits of the bytes 6 and 8; the others are all random.
                let bytes = uuid::Uuid::new_v4().into_bytes();
                random[..6].copy_from_slice(&bytes[..6]);
                random[6..].copy_from_slice(&bytes[9..13]);
            }
            World::File(_) => {
                // SplitMix64: well distributed, and the same on every machine.
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

    #[test]
    fn two_ids_of_one_time_differ_on_a_machine_and_agree_in_a_replay() {
        let now: Timestamp = "2026-11-20T09:15:02.114Z".parse().unwrap();
        assert_ne!(World::Machine.session_id(now), World::Machine.session_id(now));
        let replay = World::File("clock".into());
        assert_eq!(replay.session_id(now), replay.session_id(now));
    }
}
