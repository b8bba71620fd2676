//! The `runs/<id>.yaml` files.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::comment_file::{AuthorEntry, ByEntry, author, author_entry};
use crate::domain::run::{Expectation, Ran, RunComparison};
use crate::domain::{NodeId, Run, RunId, RunKind, Timestamp};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunFile {
    id: RunId,
    node: Option<NodeId>,
    /// The run that this record repeats, judges or takes back, or of which it expects something.
    of: Option<RunId>,
    /// The project's commit at the time of the repetition.
    at: Option<String>,
    verdict: Option<WrittenResult>,
    author: AuthorEntry,
    by: ByEntry,
    stored_at: Timestamp,
    note: Option<String>,
    /// What is expected of a captured run later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expectations: Vec<Expectation>,
    /// Absent in a judgement or a retraction.
    ran: Option<Ran>,
}

/// The verdict in a repetition, a judgement or a retraction.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WrittenResult {
    Same,
    Differs,
    CouldNotRun,
    Expected,
    Holds,
    Fails,
    Retracted,
}

impl Serialize for Run {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        entry(self.clone()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Run {
    fn deserialize<D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        run(RunFile::deserialize(fields)?).map_err(serde::de::Error::custom)
    }
}

fn entry(run: Run) -> RunFile {
    let Run { id, mut node, author, at: stored_at, note, what } = run;
    node.iter_mut().for_each(|id| id.show_whole(true));
    let (author, by) = author_entry(author);
    let mut expectations = Vec::new();
    let (of, at, verdict, ran) = match what {
        RunKind::Captured(ran) => (None, None, None, Some(ran)),
        RunKind::Repeated { of, at, verdict, ran } => {
            let verdict = match verdict {
                RunComparison::Same => WrittenResult::Same,
                RunComparison::Differs => WrittenResult::Differs,
                RunComparison::CouldNotRun => WrittenResult::CouldNotRun,
            };
            (Some(of), at, Some(verdict), Some(ran))
        }
        RunKind::Expected { of, expectations: expected } => {
            expectations = expected;
            (Some(of), None, Some(WrittenResult::Expected), None)
        }
        RunKind::Judged { of, holds } => {
            (Some(of), None, Some(if holds { WrittenResult::Holds } else { WrittenResult::Fails }), None)
        }
        RunKind::Retracted { of } => (Some(of), None, Some(WrittenResult::Retracted), None),
    };
    RunFile { id, node, of, at, verdict, author, by, stored_at, note, expectations, ran }
}

fn run(file: RunFile) -> Result<Run, &'static str> {
    if file.expectations.is_empty() == matches!(file.verdict, Some(WrittenResult::Expected)) {
        return Err("`expectations` and the verdict `expected` require each other");
    }
    let what = match (file.of, file.verdict, file.ran) {
        (None, None, Some(ran)) if file.at.is_none() => RunKind::Captured(ran),
        (Some(of), Some(said), ran) => {
            let verdict = match said {
                WrittenResult::Same => Ok(RunComparison::Same),
                WrittenResult::Differs => Ok(RunComparison::Differs),
                WrittenResult::CouldNotRun => Ok(RunComparison::CouldNotRun),
                WrittenResult::Expected => Err(RunKind::Expected { of, expectations: file.expectations }),
                WrittenResult::Holds => Err(RunKind::Judged { of, holds: true }),
                WrittenResult::Fails => Err(RunKind::Judged { of, holds: false }),
                WrittenResult::Retracted => Err(RunKind::Retracted { of }),
            };
            match (verdict, ran) {
                (Ok(verdict), Some(ran)) => RunKind::Repeated { of, at: file.at, verdict, ran },
                (Err(what), None) if file.at.is_none() => what,
                (Ok(_), None) => return Err("this `verdict` requires `ran`"),
                (Err(_), _) => return Err("a judgement or a retraction can't have `ran` or `at`"),
            }
        }
        (None, None, None) => return Err("missing field `ran`"),
        _ => return Err("`of` and `verdict` require each other, and `at` requires both"),
    };
    let author = author(file.author, file.by);
    Ok(Run { id: file.id, node: file.node, author, at: file.stored_at, note: file.note, what })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::{
        Ended, InputFile, Output, ProjectState, RunInput, RunRef, RunVariable, Seconds, System,
    };
    use crate::domain::{Commenter, Person};
    use crate::format::StoredFile;

    /// Creates a run with every field set.
    fn full() -> Run {
        let person = Person { name: "Ada".into(), email: Some("ada@example.com".into()) };
        let mut author =
            Commenter { name: "Ada".into(), email: person.email.clone(), ..Commenter::default() };
        author.caller.person = Some(person);
        let at = Timestamp::from_milliseconds(1_700_000_000_000).unwrap();
        let ran = Ran {
            command: vec!["python3".into(), "load.py".into(), "--text".into(), "a\nb: c".into()],
            folder: Some("bench".into()),
            project: Some(ProjectState {
                commit: Some("3f2a91c".into()),
                changed: vec!["bench/load.py".into()],
                patch: Some("--- a/bench/load.py\n+++ b/bench/load.py\n@@ -1 +1 @@\n-a \n+b\n".into()),
                untracked: vec!["notes.md".into()],
                ignored: vec!["data/".into()],
                behind: false,
            }),
            started_at: at,
            seconds: Seconds { milliseconds: 55_012 },
            timeout: Some(60),
            ended: Ended::Exit(0),
            expected_exit: Some(0),
            output: Output {
                text: "p99 41 ms\n\ttab\n␛[0m\n".into(),
                end: Some("done\n".into()),
                bytes: 9_000_000,
                sha256: "00".repeat(32),
                steady_sha256: Some("11".repeat(32)),
            },
            expectations: vec![Expectation {
                pattern: r"p99 (\d+) ms".into(),
                range: Some("0..50".into()),
                found: Some("41".into()),
                held: true,
            }],
            attachments: vec!["load.log".parse().unwrap()],
            variables: vec![RunVariable { name: "SEED".into(), value: Some("7".into()) }],
            setup: Some("npm ci".into()),
            files: vec![InputFile::new("load.py".parse().unwrap(), b"print(41)\n".to_vec())],
            inputs: vec![RunInput {
                path: "data/a.csv".into(),
                blob: "b10b".into(),
                mode: "100755".into(),
                seen: true,
            }],
            input_folders: vec!["data".into()],
            refs: vec![RunRef { name: "main".into(), commit: "3f2a91c".into() }],
            traced: true,
            plain: true,
            pinned: true,
            system: System { os: "linux".into(), architecture: "x86_64".into(), cpus: 2 },
        };
        Run {
            id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
            node: Some("R2.A1".parse().unwrap()),
            author,
            at,
            note: Some("Warm cache.".into()),
            what: RunKind::Captured(ran),
        }
    }

    #[test]
    fn a_run_stands_in_its_file_as_people_read_it() {
        insta::assert_snapshot!(Run::write(&full()).unwrap());
    }

    #[test]
    fn every_kind_comes_back_as_it_was_in_both_formats() {
        let captured = full();
        let Some(ran) = captured.ran().cloned() else { panic!("a run") };
        let of = captured.id;
        let mut kinds = vec![captured.what.clone()];
        for (verdict, ended) in [
            (RunComparison::Same, Ended::Exit(-1)),
            (RunComparison::Differs, Ended::Signal(9)),
            (RunComparison::CouldNotRun, Ended::TimedOut),
            (RunComparison::CouldNotRun, Ended::NotRun("no: such program".into())),
        ] {
            let ran = Ran { ended, project: None, output: Output::default(), ..ran.clone() };
            kinds.push(RunKind::Repeated { of, at: Some("3f2a91c".into()), verdict, ran });
        }
        kinds.extend([true, false].map(|holds| RunKind::Judged { of, holds }));
        kinds.push(RunKind::Expected { of, expectations: ran.expectations });
        kinds.push(RunKind::Retracted { of });
        for what in kinds {
            let run = Run { what, ..captured.clone() };
            let text = Run::write(&run).unwrap();
            assert_eq!(Run::read(&text).as_ref(), Ok(&run), "{text}");
            let json = serde_json::to_string(&run).unwrap();
            assert_eq!(serde_json::from_str::<Run>(&json).unwrap(), run, "{json}");
        }
    }

    #[test]
    fn what_does_not_fit_together_is_a_fault() {
        let text = Run::write(&full()).unwrap();
        for (from, to) in [
            ("version: 2\n", ""),
            ("author:", "verdict: same\nauthor:"),
            ("author:", "of: 01890a5d-ac96-774b-bcce-b302099a8057\nauthor:"),
            ("author:", "of: 01890a5d-ac96-774b-bcce-b302099a8057\nverdict: holds\nauthor:"),
            ("seconds: 55.012", "seconds: -1"),
            ("seconds: 55.012", "seconds: .inf"),
        ] {
            let other = text.replacen(from, to, 1);
            assert_ne!(text, other, "{from}");
            assert!(Run::read(&other).is_err(), "{other}");
        }
    }
}
