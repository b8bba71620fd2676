//! The distance between a confirmation and the answer it confirms: models, clients, time taken, sources and commands.
//!
//! Times and captured runs are measured; the rest is what callers say. The distance is only shown next to the grade and does
//! not affect it.

use std::fmt;

use super::{Assessment, CapturedRun};
use crate::decide::references::sources;
use crate::domain::caller::program_of;
use crate::domain::{Caller, Classification, Node};
use crate::ruleset::corrections::Corrections;
use crate::ruleset::rules::verification::{ClaimedAuthor, Confirming, Grade, author};
use crate::text::{counted, one_line, shorten};

/// The maximum length of a model or client name, in characters.
const NAME: usize = 40;
/// The seconds below which a confirmation counts as quick.
const QUICK: i64 = 120;
/// Begins a comparison of two equal names.
const SAME: &str = "the same ";

/// The distance between a confirmation and the answer it confirms. Displayed as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distance {
    /// A comparison such as `another session of the same model (opus-4)`, if the models on both sides are known.
    model: Option<String>,
    /// A comparison such as `the same client (claude-code)`, if the clients on both sides are known.
    client: Option<String>,
    /// The seconds from the proposal of the confirmation to its state. When the work began is only said, so it does not
    /// count. `None` if one call proposed and stored it.
    seconds: Option<i64>,
    /// The sources and commands of the confirmation. `None` if its text is withheld.
    pub own: Option<Own>,
    /// The number of confirmations stored by the same call, including this one.
    in_one_call: usize,
}

/// The sources of a confirmation, the commands that it reports and the runs that its author captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    sources: usize,
    commands: usize,
    /// Captured by the author of the confirmation after its proposal.
    runs: usize,
    /// Captured for the confirmation under another name after its proposal.
    others_runs: usize,
}

impl Assessment<'_> {
    /// Returns the distance between a confirmation and the answer. `None` if the confirming node no longer exists.
    pub fn distance(&self, answer: &Node, by: &Confirming) -> Option<Distance> {
        let node = self.investigation.node(&by.node)?;
        let result = node.classification.as_ref()?;
        let corrected_by = Corrections::of(self.investigation, answer);
        let (model, client) = between(result, &corrected_by.others(&author(result).0));
        let (checker, given) = (author(result).0, result.last_given());
        let until = given.map_or(result.committed_at, |change| change.at);
        // What one call proposed and stored was worked on before.
        let is_at_once = until == node.proposed_at;
        let is_later = |captured: &&CapturedRun<'_>| {
            captured.run.at >= node.proposed_at || is_at_once && result.runs.contains(&captured.run.id)
        };
        let runs: Vec<_> = self.runs_of(&node.id).filter(is_later).collect();
        let own_runs = runs.iter().filter(|captured| {
            let by = &captured.run.author;
            let by = ClaimedAuthor::of(by.agent_id.as_deref(), &by.caller);
            // An agent's shell may tell only its client.
            let program =
                |who: &ClaimedAuthor<'_>| who.caller.client.clone().map(|it| program_of(&it).to_owned());
            let is_same_client = !by.has_name()
                && by.caller.session.is_none()
                && program(&by).is_some_and(|own| program(&checker) == Some(own));
            by.is_same_as(&checker) || by.shares_session(&checker) || is_same_client
        });
        let own_runs = own_runs.count();
        Some(Distance {
            model,
            client,
            seconds: (!is_at_once).then(|| until.seconds().saturating_sub(node.proposed_at.seconds()).max(0)),
            own: Some(Own {
                sources: sources(result),
                commands: result.commands.len(),
                runs: own_runs,
                others_runs: runs.len() - own_runs,
            }),
            in_one_call: self.in_one_call(result),
        })
    }

    /// Returns the number of confirmations stored by the same call as the given result.
    fn in_one_call(&self, result: &Classification) -> usize {
        if result.reclassified.last().is_some_and(|change| change.child().is_none()) {
            return 1;
        }
        let calls = self.calls.get(&result.committed_at).into_iter().flatten();
        calls.filter(|caller| **caller == &result.caller).count()
    }
}

impl Distance {
    /// Returns the comparison that tells of another client or model, if there is one.
    pub(super) fn elsewhere(&self) -> Option<String> {
        let compared = [(&self.client, "another client"), (&self.model, "another model")];
        compared.into_iter().find_map(|(text, other)| text.clone().filter(|text| text.contains(other)))
    }

    /// Returns the other confirmations that the same call stored, if there are any: `3 other confirmations`.
    fn others_in_call(&self) -> Option<String> {
        (self.in_one_call > 1).then(|| counted(self.in_one_call - 1, "other confirmation"))
    }

    /// Returns what makes the confirmation weak, each as the end of a sentence about it.
    pub(super) fn weaknesses(&self, grade: Grade) -> Vec<String> {
        let ran_nothing = self.own.is_some_and(|own| own.runs == 0);
        let is_same_session = grade == Grade::SecondAgent;
        let is_same = |client: &&String| client.starts_with(SAME) && !is_same_session;
        let client = self.client.as_ref().filter(is_same);
        let weaknesses = [
            self.seconds.filter(|it| *it < QUICK).map(|it| format!("took {}", in_words(it))),
            self.others_in_call().map(|others| format!("was stored together with {others}")),
            ran_nothing.then(|| "ran no command of its own".to_owned()),
            is_same_session.then(|| "comes from the same session".to_owned()),
            client.map(|client| format!("comes from {client}")),
        ];
        weaknesses.into_iter().flatten().collect()
    }
}

/// Compares models and clients if all of them are known. Skips results attributed only to a person.
fn between(result: &Classification, others: &[ClaimedAuthor<'_>]) -> (Option<String>, Option<String>) {
    let (by, _) = author(result);
    if by.person_alone().is_some() {
        return (None, None);
    }
    let others: Vec<&Caller> = others.iter().map(|who| who.caller).collect();
    let compare = |what: &str, of: fn(&Caller) -> Option<&str>| {
        let own = of(by.caller).filter(|own| !own.trim().is_empty())?;
        let others = others.iter().map(|other| of(other)).collect::<Option<Vec<&str>>>()?;
        let name = |text: &str| shorten(&one_line(text), NAME);
        match others.iter().find(|other| !own.eq_ignore_ascii_case(other)) {
            None => Some(format!("{SAME}{what} ({})", name(own))),
            Some(other) if !others.iter().any(|other| own.eq_ignore_ascii_case(other)) => {
                Some(format!("another {what} ({}, not {})", name(own), name(other)))
            }
            Some(_) => None,
        }
    };
    let model = compare("model", |caller| caller.model.as_deref()).map(|model| {
        let own = by.caller.session.as_deref();
        let sessions: Vec<Option<&str>> = others.iter().map(|other| other.session.as_deref()).collect();
        match own {
            Some(_) if sessions.contains(&own) => format!("the same session of {model}"),
            Some(_) if !sessions.contains(&None) => format!("another session of {model}"),
            _ => model,
        }
    });
    let client = compare("client", |caller| caller.client.as_deref().map(program_of));
    (model, client)
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.sources, "cited", "source"),
            (self.commands, "reported", "command"),
            (self.runs, "captured", "run"),
        ];
        let parts = parts.into_iter().filter(|(number, ..)| *number > 0);
        let parts = parts.map(|(number, verb, what)| format!("{verb} {}", counted(number, what)));
        let others = (self.others_runs > 0)
            .then(|| format!("rests on {} of somebody else", counted(self.others_runs, "run")));
        let parts: Vec<String> = parts.chain(others).collect();
        f.write_str(if parts.is_empty() { "cited and ran nothing" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let together = self.others_in_call().map(|others| format!("stored together with {others}"));
        // The most informative part comes first, because narrow screens cut off the rest.
        let parts = [self.model.clone(), self.seconds.map(|it| format!("took {}", in_words(it)))];
        let own = self.own.map(|own| own.to_string());
        let parts = parts.into_iter().chain([own, together, self.client.clone()]).flatten();
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// Formats a duration, for example `42 s`, `5 min`, `3 h` or `4 days`.
pub fn in_words(seconds: i64) -> String {
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
