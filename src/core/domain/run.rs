//! Recorded command runs: evidence that anybody can reproduce.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::{AttachmentName, Commenter, Node, NodeId, RunId, Timestamp};
use crate::text::{counted, made_visible, one_line, shell_line, shorten, without_escapes};

/// A record in `runs/`: a command run, what is expected of one, a judgement on a difference, or a retraction. Each record is written once to its own file and
/// never changed, so records cannot conflict in a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The id, which begins with the time of the commit.
    pub id: RunId,
    /// The node that the run supports. Absent if no node was named when the run was recorded; results can still cite
    /// the run.
    pub node: Option<NodeId>,
    /// The author of the record.
    pub author: Commenter,
    /// The time at which the record was stored.
    pub at: Timestamp,
    /// The author's note. For a judgement or a retraction, this is the reason.
    pub note: Option<String>,
    /// The kind of record, with its data.
    pub what: RunKind,
}

/// The kind of record, with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunKind {
    /// The first run of a command.
    Captured(Ran),
    /// A repetition of an earlier run.
    Repeated {
        /// The captured run that was repeated.
        of: RunId,
        /// The project's commit at the time of the repetition; absent outside a repository.
        at: Option<String>,
        /// The result of the comparison with the captured run.
        verdict: RunComparison,
        /// The command and the outcome of the repetition.
        ran: Ran,
    },
    /// What somebody expects of a captured run, judged on its stored output.
    Expected {
        /// The captured run.
        of: RunId,
        /// The expectations.
        expectations: Vec<Expectation>,
    },
    /// A judgement on a difference.
    Judged {
        /// The differing repetition.
        of: RunId,
        /// True if the evidence holds despite the difference.
        holds: bool,
    },
    /// A retraction. What was taken back counts for nothing; see [`Investigation::counted_runs`](super::Investigation::counted_runs).
    Retracted {
        /// The captured run or the repetition.
        of: RunId,
    },
}

/// A command and its outcome. The default printed nothing and exited with 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ran {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The working directory relative to the project root, separated by `/`; absent for the root.
    pub folder: Option<String>,
    /// The state of the project; absent outside a repository.
    pub project: Option<ProjectState>,
    /// The start time.
    pub started_at: Timestamp,
    /// The duration.
    #[schemars(with = "f64")]
    pub seconds: Seconds,
    /// The time limit in seconds, if any.
    pub timeout: Option<u64>,
    /// How the command ended.
    pub ended: Ended,
    /// The expected exit status. If absent, the actual status is treated as the expected one.
    pub expected_exit: Option<i32>,
    /// The recorded output.
    pub output: Output,
    /// The patterns that the output had to match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
    /// Output files, stored as attachments of the node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<AttachmentName>,
    /// The files from outside the project that the command needs, such as a script. Only a captured run has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<InputFile>,
    /// The environment variables that the command names, with the values that its author stored. Only a captured run has
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<RunVariable>,
    /// The line for a shell that prepares a work tree for a rerun, such as `npm ci`. Only a captured run has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// The project's files that the command reads, as its author declared them or as a trace found them. Of repetitions, only
    /// traced ones have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<RunInput>,
    /// The folders and patterns among the declared inputs, so that a file added there is noticed. Relative to the project
    /// root, which is `.`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_folders: Vec<String>,
    /// The branches and tags that the command names. Of repetitions, only those of the captured run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refs: Vec<RunRef>,
    /// True if a trace found the inputs. They then include folders whose names the command read, and paths that it looked for in
    /// vain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
    /// True if it ran with the variables that make output alike everywhere, such as `NO_COLOR`. Earlier versions set none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain: bool,
    /// True if its author says that the command reads fixed revisions only, so that no change of the project concerns it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// The machine on which the command ran.
    pub system: System,
}

/// A file from outside the project that a command needs. In the command, its path is `$TOT_FILES/<name>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InputFile {
    /// The file name.
    pub name: AttachmentName,
    /// The SHA-256 hash of the content, in hexadecimal.
    pub sha256: String,
    /// The content, if it is plain text. Absent if an earlier run has the same content.
    pub text: Option<String>,
    /// Other content, in base64.
    pub base64: Option<String>,
}

/// A project file that a command reads, as it was in the recorded state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunInput {
    /// The path relative to the project root.
    pub path: String,
    /// The git id of the content or, of a submodule, its commit. Of a folder, the SHA-256 hash of the names in it, or nothing if
    /// the command did not list it.
    pub blob: String,
    /// The mode in git's notation, unless it is that of a plain file. It is `040000` for a folder, and `000000` for what is absent.
    #[serde(default = "plain", skip_serializing_if = "is_plain")]
    pub mode: String,
    /// True of a file that a traced command did not open, but only asked what it is, such as its size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub seen: bool,
}

/// A branch, remote branch or tag of the project that a command names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunRef {
    /// The name, as the command has it.
    pub name: String,
    /// The commit to which it pointed.
    pub commit: String,
}

/// The mode of a plain file in git's notation.
pub const PLAIN_FILE: &str = "100644";

fn plain() -> String {
    PLAIN_FILE.to_owned()
}

fn is_plain(mode: &str) -> bool {
    mode == PLAIN_FILE
}

/// An environment variable that a command names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunVariable {
    /// The name.
    pub name: String,
    /// The value, if the author stored it.
    pub value: Option<String>,
}

/// The state of the project when a command ran in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProjectState {
    /// The commit; absent if the repository had no commit yet.
    pub commit: Option<String>,
    /// The tracked files that differed from the commit and the untracked files that were named, relative to the project
    /// root.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The differences from the commit, as a patch for `git apply`. Absent if there are no differences or they are too
    /// large.
    pub patch: Option<String>,
    /// The untracked files whose content is not stored. If there are too many, their top folders, ending with `/`. Also what
    /// the command names outside of the project: absolute, or beginning with `../`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<String>,
    /// What the command may read by its declared inputs, and what git ignores or keeps apart: ignored files, repositories within
    /// the project, untracked files that the user hides. A folder ends with `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored: Vec<String>,
    /// Only in a repetition: true if the commit does not contain the one at which an earlier repetition differed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub behind: bool,
}

/// Describes how a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// The command exited with this status.
    Exit(i32),
    /// The command was terminated by this signal.
    Signal(i32),
    /// The command reached its time limit.
    TimedOut,
    /// The command could not be started, for this reason.
    NotRun(String),
}

impl Default for Ended {
    fn default() -> Self {
        Ended::Exit(0)
    }
}

/// The output of a command: standard output and standard error, interleaved as they arrived. Control characters are
/// replaced by control pictures, and invalid bytes by U+FFFD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Output {
    /// The complete output or, if it is too long, the first half of the recorded part.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// The second half of the recorded part, if the output is too long.
    pub end: Option<String>,
    /// The total number of bytes printed.
    pub bytes: u64,
    /// The SHA-256 hash of everything printed, in hexadecimal. If both streams have output, it is the hash of their two
    /// hashes, so interleaving does not matter.
    pub sha256: String,
    /// Such a hash of each line without what chance decides, such as colours and the names of temporary files. Absent if the
    /// output is recorded completely, or if a stream has more than 64 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_sha256: Option<String>,
}

/// A pattern that a line of a command's output has to match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// The regular expression that at least one line has to match.
    pub pattern: String,
    /// The inclusive range for the number that the first group matches in the last matching line, such as `0..50`.
    #[serde(rename = "in")]
    pub range: Option<String>,
    /// The last matching line, or the number in it; absent without a match.
    pub found: Option<String>,
    /// True if the expectation was met.
    pub held: bool,
}

/// The machine on which a command ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct System {
    /// The operating system, as named by Rust: `linux`, `macos`, `windows`.
    pub os: String,
    /// The processor architecture, as named by Rust: `x86_64`, `aarch64`.
    pub architecture: String,
    /// The number of threads that can run at once.
    pub cpus: usize,
}

/// The result of comparing a repetition with the captured run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum RunComparison {
    /// The repetition ended the same way and met all expectations or, without expectations, printed the same output.
    Same,
    /// The repetition ended differently, failed an expectation, or printed different output.
    Differs,
    /// The repetition could not be started or did not finish.
    CouldNotRun,
}

/// A duration in milliseconds. Files and JSON store it as a decimal number of seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds {
    /// The number of milliseconds.
    pub milliseconds: u64,
}

impl Run {
    /// Returns the command and its outcome; `None` for a judgement or a retraction.
    pub fn ran(&self) -> Option<&Ran> {
        match &self.what {
            RunKind::Captured(ran) | RunKind::Repeated { ran, .. } => Some(ran),
            _ => None,
        }
    }

    /// Returns whether the command was run for the node, or a result of the node names it.
    pub fn is_of(&self, node: &Node) -> bool {
        self.node.as_ref() == Some(&node.id) || node.results().any(|result| result.runs.contains(&self.id))
    }

    /// Returns what was expected of the output.
    pub fn expectations(&self) -> &[Expectation] {
        match &self.what {
            RunKind::Captured(ran) | RunKind::Repeated { ran, .. } => &ran.expectations,
            RunKind::Expected { expectations, .. } => expectations,
            _ => &[],
        }
    }

    /// Summarizes the record on one line: `python3 load.py (exit 0, 55 s)`, `python3 load.py (differs)`, or the reason for
    /// a judgement or a retraction.
    pub fn summary(&self) -> String {
        match &self.what {
            RunKind::Captured(ran) => format!("{} ({}, {})", ran.line(), ran.ended, ran.seconds),
            RunKind::Repeated { ran, .. } => format!("{} ({})", ran.line(), self.outcome()),
            RunKind::Expected { expectations, .. } => {
                let all: Vec<String> = expectations.iter().map(ToString::to_string).collect();
                one_line(&all.join(" · "))
            }
            RunKind::Judged { .. } | RunKind::Retracted { .. } => {
                format!("{}: {}", self.outcome(), self.note.as_deref().unwrap_or("no reason given"))
            }
        }
    }

    /// Returns the outcome in a word or two, such as `same`, `holds`, or `new` for a captured run.
    pub fn outcome(&self) -> &'static str {
        match &self.what {
            RunKind::Captured(_) => "new",
            RunKind::Repeated { verdict, .. } => verdict.label(),
            RunKind::Expected { .. } => "expected",
            RunKind::Judged { holds, .. } => {
                if *holds {
                    "holds"
                } else {
                    "fails"
                }
            }
            RunKind::Retracted { .. } => "taken back",
        }
    }

    /// Returns the record that this one repeats, judges or takes back, if any.
    pub fn of(&self) -> Option<RunId> {
        match &self.what {
            RunKind::Captured(_) => None,
            RunKind::Repeated { of, .. }
            | RunKind::Expected { of, .. }
            | RunKind::Judged { of, .. }
            | RunKind::Retracted { of } => Some(*of),
        }
    }
}

impl ProjectState {
    /// Returns whether a repetition in this state had uncommitted changes besides those of the first run.
    pub fn is_dirty(&self, first: Option<&ProjectState>) -> bool {
        let is_as_recorded = first.is_some_and(|first| {
            self.changed == first.changed && (self.patch.is_none() || self.patch == first.patch)
        });
        !self.changed.is_empty() && !is_as_recorded
    }

    /// Names the files whose content is not stored, so that a rerun lacks it: `2 untracked files (a.csv, b.csv)`.
    pub fn not_stored(&self) -> Option<String> {
        let changed = named("changed file", if self.patch.is_none() { &self.changed } else { &[] });
        let all: Vec<String> = changed.into_iter().chain(self.untracked()).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// Counts and names the changed files, if any.
    pub fn changed(&self) -> Option<String> {
        named("changed file", &self.changed)
    }

    /// Returns the files and folders of whose content git knows nothing.
    pub fn unknown(&self) -> impl Iterator<Item = &String> {
        self.untracked.iter().chain(&self.ignored)
    }

    /// Says what a rerun in this state lacks, if anything.
    pub fn lacks(&self) -> Option<String> {
        let untracked = self.untracked().map(|files| format!("without {files}, not stored in the run"));
        let ignored = named("ignored path", &self.ignored);
        let ignored = ignored.map(|paths| format!("without {paths}, which it may read"));
        let all: Vec<String> = untracked.into_iter().chain(ignored).collect();
        (!all.is_empty()).then(|| all.join("; "))
    }

    /// Counts and names the untracked files, if any.
    pub fn untracked(&self) -> Option<String> {
        named("untracked file", &self.untracked)
    }
}

fn named(kind: &str, files: &[String]) -> Option<String> {
    /// The maximum number of files to name.
    const NAMED: usize = 20;
    let names: Vec<String> = files.iter().take(NAMED).map(|file| shorten(&one_line(file), 100)).collect();
    let more = if files.len() > NAMED { ", …" } else { "" };
    (!files.is_empty()).then(|| format!("{} ({}{more})", counted(files.len(), kind), names.join(", ")))
}

/// The root of the project in stored commands, values, outputs and expectations.
pub const PROJECT: &str = "$TOT_PROJECT";
/// The name of the file that was the standard input of a command.
pub const STDIN: &str = "stdin";

impl InputFile {
    /// Creates a file with its content.
    pub fn new(name: AttachmentName, content: Vec<u8>) -> InputFile {
        let sha256 = sha256(&content);
        let (text, base64) = match String::from_utf8(content) {
            Ok(text) if made_visible(&text) == text => (Some(text), None),
            Ok(text) => (None, Some(STANDARD.encode(text))),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        InputFile { name, sha256, text, base64 }
    }

    /// Creates the standard input of a command that was not stored, so that it can't be run again.
    pub fn lost_input() -> Option<InputFile> {
        let name = STDIN.parse().ok()?;
        Some(InputFile { name, sha256: String::new(), text: None, base64: None })
    }

    /// Returns the content, if it is stored here and has the recorded hash.
    pub fn content(&self) -> Option<Vec<u8>> {
        let content = match (&self.text, &self.base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, digits) => STANDARD.decode(digits.as_ref()?).ok()?,
        };
        (sha256(&content) == self.sha256).then_some(content)
    }
}

pub(crate) fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Ran {
    /// Names the files whose content a rerun lacks. See [`ProjectState::not_stored`].
    pub fn not_stored(&self) -> Option<String> {
        self.project.as_ref().and_then(ProjectState::not_stored)
    }

    /// Creates the record of a command that printed nothing and exited with 0.
    pub fn new(command: Vec<String>, started_at: Timestamp) -> Ran {
        Ran { command, started_at, ..Ran::default() }
    }

    /// Returns whether the command names a file of the project, or is known to read it.
    pub fn reads(&self, path: &str) -> bool {
        self.inputs.iter().any(|it| it.path == path) || self.command.iter().any(|word| word.contains(path))
    }

    /// Names what is stored with the command: files, variables with their values, and what prepares a work tree.
    pub fn stored_with(&self) -> Vec<String> {
        let stored = self.files.iter().filter(|file| !file.sha256.is_empty());
        let files = stored.map(|file| file.name.to_string());
        let value = |it: &RunVariable| Some(format!("{}={}", it.name, it.value.as_ref()?));
        let values = self.variables.iter().filter_map(value);
        let setup = self.setup.iter().map(|line| format!("setup: {line}"));
        files.chain(values).chain(setup).collect()
    }

    /// Returns the command on one line, quoted for a shell.
    pub fn line(&self) -> String {
        shell_line(&self.command)
    }

    /// Returns whether the command ended as expected and met what was expected of its output.
    pub fn is_met(&self) -> bool {
        self.expected_exit.is_none_or(|status| self.ended == Ended::Exit(status))
            && self.expectations.iter().all(|it| it.held)
    }

    /// Returns the verdict on this repetition for display, with what became of what was never met.
    pub fn said(&self, first: &Ran, verdict: RunComparison) -> &'static str {
        match (verdict, self.is_met()) {
            (RunComparison::Same, false) => "the same: not met",
            (RunComparison::Same, true) if !first.is_met() => "met now, and not met before",
            _ => verdict.label(),
        }
    }

    /// Compares this repetition with the first run, of which more may have been expected later.
    pub fn verdict(&self, first: &Ran, later: &[(&Arc<Run>, &Expectation)]) -> RunComparison {
        let is_as_before = self.ended == first.ended;
        match self.ended {
            Ended::NotRun(_) => return RunComparison::CouldNotRun,
            // A shell exits so if a program is missing, can't be started or is killed, as for want of memory.
            Ended::TimedOut | Ended::Signal(9) | Ended::Exit(126 | 127 | 137) if !is_as_before => {
                return RunComparison::CouldNotRun;
            }
            // How far it came until then depends on the machine.
            Ended::TimedOut => {
                let found =
                    |ran: &Ran| ran.expectations.iter().map(|it| it.found.is_some()).collect::<Vec<_>>();
                let is_like = match self.expectations.as_slice() {
                    [] => self.output.is_like(&first.output),
                    _ => later.is_empty() && found(self) == found(first),
                };
                return if is_like { RunComparison::Same } else { RunComparison::CouldNotRun };
            }
            _ => {}
        }
        // What was not met at first can't break.
        let was_unmet = |it: &Expectation| {
            let is_same = |other: &&Expectation| other.asked() == it.asked();
            let had_exited = matches!(first.ended, Ended::Exit(_));
            let mut expected = first.expectations.iter().chain(later.iter().map(|it| it.1));
            expected.find(is_same).is_some_and(|first| !(first.held && had_exited))
        };
        let is_met_now = !is_as_before && first.expected_exit.is_some_and(|it| self.ended == Ended::Exit(it));
        // The same output means the same, even if this version reads its numbers otherwise.
        let is_identical = !self.output.sha256.is_empty() && self.output.is_identical(&first.output);
        let holds = match self.expectations.as_slice() {
            _ if is_identical => true,
            [] => is_met_now || self.output.is_like(&first.output),
            expectations => expectations.iter().all(|it| it.held || was_unmet(it)),
        };
        let has_ended_so = is_as_before || is_met_now;
        if has_ended_so && holds { RunComparison::Same } else { RunComparison::Differs }
    }

    /// Returns whether another repetition had the same outcome: it ended the same way, met and failed the same expectations with
    /// the same values, and printed the same output.
    pub fn is_alike(&self, other: &Ran) -> bool {
        let is_withheld = self.output.sha256.is_empty();
        !is_withheld
            && self.ended == other.ended
            && self.expectations == other.expectations
            && self.output.is_like(&other.output)
    }
}

impl Output {
    fn is_identical(&self, other: &Output) -> bool {
        (&self.sha256, self.bytes) == (&other.sha256, other.bytes)
    }

    /// Returns whether this is the same output but for colours, blanks at the ends of lines, earlier states of a progress bar and
    /// the names of temporary files.
    pub fn is_like(&self, other: &Output) -> bool {
        let [own, others] = [self, other].map(|output| {
            let lines = output.text.trim_end().lines();
            (output.end.is_none() && !output.sha256.is_empty()).then(|| lines.map(steady).collect::<Vec<_>>())
        });
        let is_steady = self.steady_sha256.is_some() && self.steady_sha256 == other.steady_sha256;
        self.is_identical(other) || is_steady || (own.is_some() && own == others)
    }
}

/// Returns what a line of output shows without what chance decides: colours, blanks at its end, earlier states of a progress bar
/// and the names of temporary files.
pub fn steady(line: &str) -> String {
    let shown = without_escapes(line.trim_end_matches('␍'));
    without_temporary(shown.rsplit('␍').next().unwrap_or_default().trim_end())
}

/// Replaces the paths of temporary files and folders, whose names are random.
fn without_temporary(line: &str) -> String {
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    // The names that mktemp, Python, Rust and pytest give.
    const FOLDERS: [&str; 5] = ["/tmp/", "/var/tmp/", "/var/folders/", "/private/", "/dev/shm/"];
    let is_random = |name: &str, length: usize| {
        name.split('.').next().is_some_and(|it| it.len() == length) && !name.starts_with('.')
    };
    let is_temporary = |name: &str| {
        let [mktemp, python, rust, pytest] =
            ["tmp.", "tmp", ".tmp", "pytest-"].map(|it| name.strip_prefix(it));
        mktemp.is_some_and(|it| is_random(it, 10))
            || python.is_some_and(|it| is_random(it, 8))
            || rust.is_some_and(|it| is_random(it, 6))
            || pytest.is_some_and(|it| it.chars().all(|c| c.is_ascii_digit()))
    };
    let steady = |path: &str| {
        let names: Vec<&str> = path.split('/').collect();
        let is_below = FOLDERS.iter().any(|folder| path.starts_with(folder));
        let is_first = |at: usize| ["tmp", "T", "shm"].contains(&names[at - 1]);
        let is_chance = |at: usize| is_temporary(names[at]) || is_first(at) && ends_at_random(names[at]);
        let last = (1..names.len()).rev().find(|at| is_below && is_chance(*at));
        last.map(|at| format!("$TMPDIR/{}", names[at + 1..].join("/")))
    };
    let (mut result, mut rest) = (String::new(), line);
    while let Some(begin) = rest.find(is_of_path) {
        let end = rest[begin..].find(|c| !is_of_path(c)).map_or(rest.len(), |at| begin + at);
        let path = &rest[begin..end];
        result += &rest[..begin];
        result += &steady(path).unwrap_or_else(|| path.to_owned());
        rest = &rest[end..];
    }
    result + rest
}

/// Returns whether a name of a file, with or without its extension, ends as mkdtemp, mktemp, Go or Java end it after a prefix.
fn ends_at_random(name: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    // A word, also with a number, has a meaning.
    let is_word = |part: &str| {
        let word = part.trim_end_matches(is_digit).trim_start_matches(|c: char| c.is_ascii_uppercase());
        word.chars().all(|c| c.is_ascii_lowercase())
    };
    let is_random = |name: &str, length: usize| {
        let at = name.len().checked_sub(length);
        at.and_then(|at| name.split_at_checked(at)).is_some_and(|(before, end)| {
            let is_plain = end.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            before.ends_with(['-', '_', '.']) && is_plain && !end.split('_').all(is_word)
        })
    };
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    [name, stem].iter().any(|name| {
        name.len() - name.trim_end_matches(is_digit).len() >= 9
            || [6, 8, 10].iter().any(|length| is_random(name, *length))
    })
}

impl System {
    /// Returns whether this is a machine of the same kind, whatever its number of threads.
    pub fn is_like(&self, other: &System) -> bool {
        (&self.os, &self.architecture) == (&other.os, &other.architecture)
    }
}

impl RunComparison {
    /// Returns the verdict for display.
    pub fn label(self) -> &'static str {
        match self {
            RunComparison::Same => "same",
            RunComparison::Differs => "differs",
            RunComparison::CouldNotRun => "could not run",
        }
    }
}

impl Expectation {
    /// Returns what is asked of the output, whatever was found.
    pub fn asked(&self) -> (&str, Option<&str>) {
        (&self.pattern, self.range.as_deref())
    }
}

/// Displayed with the value found: `p99 ([0-9.]+) in 0..50: 41`.
impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pattern)?;
        if let Some(range) = &self.range {
            write!(f, " in {range}")?;
        }
        match (&self.found, self.held) {
            (Some(found), true) => write!(f, ": {found}"),
            (Some(found), false) => write!(f, ": not met, {found}"),
            (None, _) => f.write_str(": not met"),
        }
    }
}

/// Displayed as `exit 0`, `signal 9`, `timed out` or `not run: REASON`.
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

/// Displayed as `0.2 s` or `55 s`.
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
