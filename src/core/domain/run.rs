//! Runs of commands: evidence that anybody can run again.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AttachmentName, Commenter, NodeId, RunId, Timestamp};
use crate::yaml;

/// One record below `runs/`: a run of a command, or a judgement on a difference. It is written once, never changed, and has
/// a file of its own, so that two never conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its id, which begins with the time of its commit.
    pub id: RunId,
    /// The node whose evidence it is; `None` where no node was named, until a result names the run.
    pub node: Option<NodeId>,
    /// The author: of the run, or of the judgement.
    pub author: Commenter,
    /// When it was stored.
    pub at: Timestamp,
    /// The author's note; of a judgement, the reason.
    pub note: Option<String>,
    /// What was done.
    pub what: RunKind,
}

/// The kind of a record, with its facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// A command was run for the first time.
    Captured(Ran),
    /// An earlier run was repeated.
    Repeated {
        /// The run that was repeated, which is one that was captured.
        of: RunId,
        /// The commit of the project that it ran at; `None` outside a repository.
        at: Option<String>,
        /// How the two compare.
        verdict: RunVerdict,
        /// What happened this time.
        ran: Ran,
    },
    /// Somebody judged a difference.
    Judged {
        /// The repetition that differs.
        of: RunId,
        /// Whether the evidence holds nevertheless.
        holds: bool,
    },
}

/// A command and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ran {
    /// The program and its arguments.
    #[serde(serialize_with = "yaml::texts")]
    pub command: Vec<String>,
    /// Where it ran, from the root of the project, with `/` between the parts; absent for the root.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub folder: Option<String>,
    /// The project as it was; absent outside a repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectState>,
    /// When it began.
    pub started_at: Timestamp,
    /// How long it took.
    pub seconds: Seconds,
    /// Its time limit in seconds; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// How it ended.
    pub ended: Ended,
    /// The expected status; absent if the actual one counts as expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_exit: Option<i32>,
    /// Its output.
    pub output: Output,
    /// What the output had to match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// Files that it left as attachments of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentName>,
    /// The machine.
    pub system: System,
}

/// The project when a command ran in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectState {
    /// The commit; absent where there was none yet.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub commit: Option<String>,
    /// Files that differed from that commit, from the root of the project.
    #[serde(default, skip_serializing_if = "Vec::is_empty", serialize_with = "yaml::texts")]
    pub changed: Vec<String>,
    /// The patch with these differences, for `git apply` on the commit; absent without differences, or if they are too many.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub patch: Option<String>,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// By itself, with this status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// By its time limit.
    TimedOut,
    /// It did not begin, and why.
    NotRun(#[serde(serialize_with = "yaml::text")] String),
}

/// The output of a command: standard output and standard error, in the order in which they came. Control characters appear as
/// Unicode's pictures of them, and bytes that are not text as U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// All of it; of a long one the first half of what is kept.
    #[serde(default, skip_serializing_if = "String::is_empty", serialize_with = "yaml::text")]
    pub text: String,
    /// The last half of what is kept of a long one.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub end: Option<String>,
    /// The number of bytes of all that was printed.
    pub bytes: u64,
    /// The SHA-256 of all that was printed, in hexadecimal digits; where both streams have something, that of the SHA-256 of each,
    /// so that it does not depend on how they mixed.
    #[serde(serialize_with = "yaml::text")]
    pub sha256: String,
}

/// What the output of a command has to match, line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// A regular expression that some line has to match.
    #[serde(serialize_with = "yaml::text")]
    pub pattern: String,
    /// Where the number that its first group matches in the last such line has to lie, both ends included: `0..50`.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub range: Option<String>,
    /// The last line that matched, or the number; absent where none did.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub found: Option<String>,
    /// Whether it held.
    pub held: bool,
}

/// The machine that a command ran on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct System {
    /// The operating system, as Rust names it: `linux`, `macos`, `windows`.
    #[serde(serialize_with = "yaml::text")]
    pub os: String,
    /// The processor's architecture, as Rust names it: `x86_64`, `aarch64`.
    #[serde(serialize_with = "yaml::text")]
    pub architecture: String,
    /// How many threads it runs at once.
    pub cpus: usize,
}

/// How a repetition compares with what it repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RunVerdict {
    /// It ended alike and every expectation held; without expectations it printed the same.
    Same,
    /// It did not.
    Differs,
    /// It did not begin, or did not come to its end.
    CouldNotRun,
}

/// A length of time, to the millisecond: a decimal number of seconds in files and JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds {
    /// The milliseconds.
    pub milliseconds: u64,
}

impl Run {
    /// What happened, unless it is a judgement.
    pub fn ran(&self) -> Option<&Ran> {
        match &self.what {
            RunKind::Captured(ran) | RunKind::Repeated { ran, .. } => Some(ran),
            RunKind::Judged { .. } => None,
        }
    }

    /// What was done and what came of it, on one line: `python3 load.py (exit 0, 55 s)`, `python3 load.py (differs)`, or what
    /// a judgement says.
    pub fn summary(&self) -> String {
        match &self.what {
            RunKind::Captured(ran) => format!("{} ({}, {})", ran.line(), ran.ended, ran.seconds),
            RunKind::Repeated { ran, .. } => format!("{} ({})", ran.line(), self.outcome()),
            RunKind::Judged { .. } => {
                format!("{}: {}", self.outcome(), self.note.as_deref().unwrap_or_default())
            }
        }
    }

    /// What came of it, in a word or two: `same`, `holds`; of one that was captured, `new`.
    pub fn outcome(&self) -> &'static str {
        match &self.what {
            RunKind::Captured(_) => "new",
            RunKind::Repeated { verdict, .. } => verdict.label(),
            RunKind::Judged { holds, .. } => {
                if *holds {
                    "holds"
                } else {
                    "fails"
                }
            }
        }
    }

    /// The record that it is about, where it is not the first of a command.
    pub fn of(&self) -> Option<RunId> {
        match &self.what {
            RunKind::Captured(_) => None,
            RunKind::Repeated { of, .. } | RunKind::Judged { of, .. } => Some(*of),
        }
    }
}

impl Ran {
    /// The command as a shell would take it, on one line.
    pub fn line(&self) -> String {
        let quoted = self.command.iter().map(|word| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
            match !word.is_empty() && word.chars().all(is_plain) {
                true => word.clone(),
                false => format!("'{}'", word.replace('\'', r"'\''")),
            }
        });
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// How this repetition compares with the first run.
    pub fn verdict(&self, first: &Ran) -> RunVerdict {
        match self.ended {
            Ended::NotRun(_) => return RunVerdict::CouldNotRun,
            Ended::TimedOut if first.ended != Ended::TimedOut => return RunVerdict::CouldNotRun,
            _ => {}
        }
        let holds = match self.expectations.as_slice() {
            [] => self.output.sha256 == first.output.sha256 && self.output.bytes == first.output.bytes,
            expectations => expectations.iter().all(|it| it.held),
        };
        let has_ended_so = match first.expected_exit {
            Some(status) => self.ended == Ended::Exit(status),
            None => self.ended == first.ended,
        };
        if has_ended_so && holds { RunVerdict::Same } else { RunVerdict::Differs }
    }

    /// Whether another repetition of the same command came out as this one: it ended alike, met and missed the same
    /// expectations with the same values, or without any printed the same.
    pub fn is_alike(&self, other: &Ran) -> bool {
        let prints_alike = || {
            (&self.output.sha256, self.output.bytes) == (&other.output.sha256, other.output.bytes)
                || !self.expectations.is_empty()
        };
        let is_withheld = self.output.sha256.is_empty();
        !is_withheld && self.ended == other.ended && self.expectations == other.expectations && prints_alike()
    }
}

impl RunVerdict {
    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            RunVerdict::Same => "same",
            RunVerdict::Differs => "differs",
            RunVerdict::CouldNotRun => "could not run",
        }
    }
}

/// `exit 0`, `signal 9`, `timed out`, `not run: REASON`.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Exit(status) => write!(f, "exit {status}"),
            Ended::Signal(signal) => write!(f, "signal {signal}"),
            Ended::TimedOut => f.write_str("timed out"),
            Ended::NotRun(reason) => write!(f, "not run: {reason}"),
        }
    }
}

/// `0.2 s`, `55 s`.
impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.milliseconds {
            short @ ..10_000 => write!(f, "{}.{} s", short / 1000, short % 1000 / 100),
            long => write!(f, "{} s", (long + 500) / 1000),
        }
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "2^53 milliseconds are 285,000 years")]
        serializer.serialize_f64(self.milliseconds as f64 / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..1e12).contains(&seconds) {
            return Err(serde::de::Error::custom("not a number of seconds"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in bounds")]
        Ok(Seconds { milliseconds: (seconds * 1000.0).round() as u64 })
    }
}
