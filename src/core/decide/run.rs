//! `tot run` and `tot rerun` record command runs. Runs can be recorded even before a node has a result and after the
//! investigation has ended.

use std::fmt;
use std::sync::Arc;

use super::attach::{self, NewAttachment};
use super::sources::was_taken_back;
use super::{Decision, Rejection, check_texts, not_blank, quoted, trimmed};
use crate::domain::run::{Expectation, ProjectState, Ran, RunComparison};
use crate::domain::{
    Code, Commenter, Diagnostic, Event, Investigation, NodeId, Run, RunId, RunKind, Timestamp, Wording,
};
use crate::ruleset::EffectiveRules;
use crate::ruleset::rules::CallDiagnostics;

/// Runs to store in one commit, not yet validated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewRuns {
    /// Runs, repetitions, expectations, judgements and retractions.
    pub runs: Vec<NewRun>,
    /// Files to store with the run's node. Allowed only with a single new run.
    pub attachments: Vec<NewAttachment>,
    /// The agent that ran the commands.
    pub agent_id: Option<String>,
}

/// A run, repetition, expectation, judgement or retraction to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// The node, or `None` for the whole investigation. Other records than captured runs inherit their run's node.
    pub node: Option<NodeId>,
    /// The author's note, or the reason for a judgement or a retraction.
    pub note: Option<String>,
    /// The kind of record. The verdict of a repetition is always recomputed.
    pub what: RunKind,
}

/// The time after which a repetition that says the same as the last one is stored all the same.
const STALE_SECONDS: f64 = 30.0 * 24.0 * 60.0 * 60.0;

/// Stores runs by `author` under `id` and the next free ids. Leaves out repetitions that say the same as the last one in the
/// same state of the project.
///
/// # Errors
///
/// Returns errors with the codes `NODE_NOT_FOUND`, `RUN_NOT_FOUND`, `MISSING_REASON`, `EMPTY_BATCH`, `SECRET_SUSPECTED`,
/// `INVALID_ARGUMENT` or `TEXT_TOO_LONG`.
pub fn record(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: NewRuns,
    author: &Commenter,
    mut id: RunId,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let mut diagnostics = CallDiagnostics::default();
    let author = Commenter { agent_id: trimmed(request.agent_id), ..author.clone() };
    check_texts(rules, "", author.agent_id.iter().map(|it| ("agentId", it.as_str())), &mut diagnostics);
    if request.runs.is_empty() {
        return Err(Diagnostic::new(Code::EmptyBatch, "The call has no run.").into());
    }
    let mut runs: Vec<Run> = Vec::with_capacity(request.runs.len());
    for new in request.runs {
        let note = not_blank(new.note);
        let (node, mut what) = match placed(investigation, new.node, new.what) {
            Ok(placed) => placed,
            Err(error) => {
                diagnostics.errors.push(error);
                continue;
            }
        };
        if matches!(what, RunKind::Judged { .. }) && note.is_none() {
            let how = "Say why the evidence holds or fails despite the difference.";
            diagnostics.refuse(Code::MissingReason, "", "The judgement has no reason.", how);
        }
        if let RunKind::Judged { of, holds: true } = what
            && let Some(part) = part_in(investigation, rules, of, &author)
        {
            let message = format!("{part}, so your word does not settle this difference.");
            let how = "Let somebody else judge it, say that the evidence fails, or take back the rerun if it is your own and a mistake.";
            diagnostics.refuse(Code::InvalidArgument, "", message, how);
        }
        if let RunKind::Expected { of, expectations } = &what {
            if let Some(unmet) = expectations.iter().find(|it| !it.held) {
                let message = format!("The stored output does not meet {}.", quoted(&unmet.pattern));
                let how = "Expect what it shows, or object to the node: what was never met can't tell a rerun that differs.";
                diagnostics.refuse(Code::InvalidArgument, "", message, how);
            }
            let differing = investigation.counted_runs().find(|run| run.of() == Some(*of) && differs(run));
            if let Some(part) = differing.and_then(|run| part_in(investigation, rules, run.id, &author)) {
                let message = format!("{part}, and a rerun of it differs.");
                let how = "Let somebody else say what matters, or judge the difference.";
                diagnostics.refuse(Code::InvalidArgument, "", message, how);
            }
        }
        if let RunKind::Retracted { of } = what {
            check_retraction(investigation, rules, of, &author, note.as_deref(), &mut diagnostics);
        }
        if let RunKind::Repeated { of, at, verdict, ran } = &what
            && !is_news(investigation, *of, (at.as_ref(), *verdict, ran), &author, now)
        {
            continue;
        }
        if let RunKind::Captured(ran) = &mut what {
            for file in &mut ran.files {
                if investigation.content(file).is_some() {
                    (file.text, file.base64) = (None, None);
                }
            }
        }
        while investigation.run(id).is_some() {
            id = id.next();
        }
        let run = Run { id, node, author: author.clone(), at: now, note, what };
        id = id.next();
        let about = run.node.as_ref().map_or("", NodeId::as_str);
        check_texts(rules, about, texts(investigation, &run), &mut diagnostics);
        runs.push(run);
    }
    let mut attachments = Vec::new();
    if !request.attachments.is_empty() {
        match runs.as_mut_slice() {
            [Run { node: Some(node), what: RunKind::Captured(ran), .. }] => {
                attachments =
                    attach::checked(investigation, rules, node, request.attachments, &mut diagnostics);
                ran.attachments = attachments.iter().map(|file| file.name.clone()).collect();
            }
            _ => {
                let message = "Attachments need a node, and the call names none.";
                let how = "Name the node that the command was run for.";
                diagnostics.refuse(Code::InvalidArgument, "", message, how);
            }
        }
    }
    Rejection::unless_empty(diagnostics.errors)?;
    let runs: Vec<Arc<Run>> = runs.into_iter().map(Arc::new).collect();
    let event = (!runs.is_empty()).then_some(Event::Ran { runs, attachments });
    Ok(Decision { event, warnings: diagnostics.warnings })
}

/// Returns whether a repetition says anything new: another result than the last one in the same state of the project, judged by
/// other expectations, another commit to which a name in the command points, the first such result there by another person or
/// machine, or the first *same* after a difference elsewhere.
fn is_news(
    investigation: &Investigation,
    first: RunId,
    (at, verdict, ran): (Option<&String>, RunComparison, &Ran),
    author: &Commenter,
    now: Timestamp,
) -> bool {
    let again = || {
        investigation.counted_runs().filter_map(|run| match &run.what {
            RunKind::Repeated { of, at, verdict, ran } if *of == first => {
                Some((run, at.as_ref(), *verdict, ran))
            }
            _ => None,
        })
    };
    let state = |ran: &Ran| ran.project.clone().map(|state| ProjectState { behind: false, ..state });
    let now_here = (at, state(ran));
    let here = || again().filter(|it| (it.1, state(it.3)) == now_here);
    let Some((last, _, said, before)) = here().next_back() else { return true };
    let is_as_before = said == verdict
        && match verdict {
            RunComparison::Same => before.is_met() == ran.is_met(),
            // A command that prints something else each time differs again, until somebody judges what it printed.
            RunComparison::Differs => {
                let is_judged =
                    |run: &Arc<Run>| matches!(run.what, RunKind::Judged { of, .. } if of == last.id);
                let held = |ran: &Ran| ran.expectations.iter().map(|it| it.held).collect::<Vec<_>>();
                before.is_alike(ran)
                    || (before.ended == ran.ended
                        && held(before) == held(ran)
                        && !investigation.counted_runs().any(is_judged))
            }
            RunComparison::CouldNotRun => before.ended == ran.ended,
        };
    let [asked, asks] = [before, ran].map(|ran| ran.expectations.iter().map(Expectation::asked));
    let is_judged_alike = asked.eq(asks) && before.refs == ran.refs;
    if !is_as_before || !is_judged_alike || now.seconds_since(last.at) >= STALE_SECONDS {
        return true;
    }
    if verdict == RunComparison::CouldNotRun {
        return false;
    }
    let captured = investigation.run(first).and_then(|run| Some((run, run.ran()?)));
    let session = captured.and_then(|(run, _)| run.author.caller.session.as_ref());
    // A run in another session than the captured one reproduces it, and one such run is enough.
    let is_by_this_author = |(run, by): (&Arc<Run>, &Ran)| {
        let sessions = [&run.author, author].map(|it| it.caller.session.as_ref());
        run.author.label() == author.label()
            && by.system.is_like(&ran.system)
            && (sessions[0] == sessions[1] || sessions[0] != session)
    };
    let mut alike = here().filter(|it| it.2 == verdict).map(|(run, .., by)| (run, by));
    if verdict == RunComparison::Differs {
        return !alike.any(is_by_this_author);
    }
    let is_settled = again().all(|it| it.0.id <= last.id || it.2 != RunComparison::Differs);
    !is_settled || !alike.chain(captured).any(is_by_this_author)
}

/// Returns the record's node and kind, if the run that it refers to exists.
fn placed(
    investigation: &Investigation,
    node: Option<NodeId>,
    what: RunKind,
) -> Result<(Option<NodeId>, RunKind), Diagnostic> {
    let first = |of: &RunId| investigation.counted_runs().find(|run| run.id == *of).map(AsRef::as_ref);
    match what {
        RunKind::Captured(ran) => match node.as_ref().map(|id| (id, investigation.find(id.whole()))) {
            None => Ok((None, RunKind::Captured(ran))),
            Some((_, Ok(node))) => Ok((Some(node.id.clone()), RunKind::Captured(ran))),
            Some((id, Err(error))) => Err(error.ambiguous(id.as_str()).unwrap_or_else(|| {
                let how = "Propose it first; or name no node, and list the run in the `runs` of its result.";
                let error = Diagnostic::new(Code::NodeNotFound, investigation.missing(id.whole()));
                error.about(id).suggest(how)
            })),
        },
        RunKind::Repeated { of, at, ran, .. } => match first(&of) {
            Some(Run { node, what: RunKind::Captured(first), .. }) => {
                let later = investigation.expected_later();
                let verdict = ran.verdict(first, later.get(&of).map_or(&[], Vec::as_slice));
                Ok((node.clone(), RunKind::Repeated { of, at, verdict, ran }))
            }
            _ => Err(no_such(CAPTURED, of)),
        },
        RunKind::Expected { of, .. } => match first(&of) {
            Some(Run { node, what: RunKind::Captured(_), .. }) => Ok((node.clone(), what)),
            _ => Err(no_such(CAPTURED, of)),
        },
        RunKind::Judged { of, .. } => match first(&of).filter(|run| differs(run)) {
            Some(run) => Ok((run.node.clone(), what)),
            None => Err(no_such(DIFFERING, of)),
        },
        RunKind::Retracted { of } => match first(&of).filter(|run| is_retractable(run)) {
            Some(run) => Ok((run.node.clone(), what)),
            None => Err(no_such(RUN, of)),
        },
    }
}

/// Adds an error if this author can't take back this run: without a reason, only its own author can, and only if it does not
/// differ. Whoever captured a command, or wrote an answer that rests on it, can't take back the rerun of somebody else that
/// differs.
fn check_retraction(
    investigation: &Investigation,
    rules: &EffectiveRules,
    of: RunId,
    author: &Commenter,
    reason: Option<&str>,
    diagnostics: &mut CallDiagnostics,
) {
    let Some(run) = investigation.run(of) else { return };
    let is_own = author.is_same_author(&run.author);
    let is_claimed = author.may_be_same_author(&run.author);
    if reason.is_none() && (!is_claimed || differs(run)) {
        let which = if is_claimed { "a rerun that differs" } else { "somebody else's run" };
        let message = format!("You take back {which} without a reason.");
        let how = Wording::both("Say why it counts for nothing.", "Say with -m why it counts for nothing.");
        diagnostics.refuse(Code::MissingReason, "", message, how);
    }
    let is_other =
        |again: &Arc<Run>| again.of() == Some(of) && differs(again) && !author.is_same_author(&again.author);
    if matches!(run.what, RunKind::Captured(_)) && is_claimed && investigation.counted_runs().any(is_other) {
        let message = "You captured the command, and somebody else's rerun of it differs.";
        let how = "Correct what rests on it, or let somebody else take it back.";
        diagnostics.refuse(Code::InvalidArgument, "", message, how);
    }
    if differs(run)
        && !is_own
        && let Some(part) = part_in(investigation, rules, of, author)
    {
        let message = format!("{part}, and this rerun of it differs.");
        let how = "Let somebody else judge the difference, or take it back.";
        diagnostics.refuse(Code::InvalidArgument, "", message, how);
    }
}

/// Returns what this author has to do with the command that a repetition repeats, if anything.
fn part_in(
    investigation: &Investigation,
    rules: &EffectiveRules,
    repetition: RunId,
    author: &Commenter,
) -> Option<&'static str> {
    let first = investigation.run(investigation.run(repetition)?.of()?)?;
    if author.is_same_author(&first.author) {
        return Some("You captured the command");
    }
    let is_writer = rules.wrote_what_rests_on(investigation, first, author, None);
    is_writer.then_some("You wrote an answer that rests on the command")
}

const RUN: &str = "run";
const CAPTURED: &str = "captured run";
const DIFFERING: &str = "differing repetition";

fn differs(run: &Run) -> bool {
    matches!(run.what, RunKind::Repeated { verdict: RunComparison::Differs, .. })
}

fn no_such(what: &str, named: impl fmt::Display) -> Diagnostic {
    Diagnostic::new(Code::RunNotFound, format!("There is no {what} {named}."))
        .suggest("Call tot_read on the node to list its runs.")
        .for_people("`tot show NODE` lists its runs.")
}

/// Returns the captured run with this id, or with this unambiguous beginning or end of its id.
///
/// # Errors
///
/// Returns `RUN_NOT_FOUND` if no run matches, or several.
pub fn captured<'a>(investigation: &'a Investigation, named: &str) -> Result<&'a Run, Diagnostic> {
    one(investigation, |run| matches!(run.what, RunKind::Captured(_)), named, CAPTURED)
}

/// Returns whether a record can be taken back.
fn is_retractable(run: &Run) -> bool {
    run.ran().is_some() || matches!(run.what, RunKind::Expected { .. })
}

/// Returns the run, repetition or expectation with this id, or the only one whose id begins or ends with this.
///
/// # Errors
///
/// Returns `RUN_NOT_FOUND` if no run matches, or if several do.
pub fn any_run<'a>(investigation: &'a Investigation, named: &str) -> Result<&'a Run, Diagnostic> {
    one(investigation, is_retractable, named, RUN)
}

/// Returns the differing repetition with this id, or with this unambiguous beginning or end of its id.
///
/// # Errors
///
/// Returns `RUN_NOT_FOUND` if no run matches, or several.
pub fn differing<'a>(investigation: &'a Investigation, named: &str) -> Result<&'a Run, Diagnostic> {
    one(investigation, differs, named, DIFFERING)
}

/// Returns the runs with this id, or with this beginning or end of their ids, oldest first.
pub fn named<'a>(investigation: &'a Investigation, named: &str) -> impl Iterator<Item = &'a Run> {
    let part = named.trim().to_ascii_lowercase();
    investigation.counted_runs().map(AsRef::as_ref).filter(move |run| run.id.is_named(&part))
}

fn one<'a>(
    investigation: &'a Investigation,
    fits: fn(&Run) -> bool,
    part: &str,
    what: &str,
) -> Result<&'a Run, Diagnostic> {
    let mut runs = named(investigation, part).filter(|run| fits(run));
    match (runs.next(), runs.next()) {
        (Some(run), None) => Ok(run),
        (Some(_), Some(_)) => {
            let message = format!("The ids of several runs begin or end with {}.", quoted(part));
            Err(Diagnostic::new(Code::RunNotFound, message).suggest("Give more of the id."))
        }
        (None, _) if was_taken_back(investigation, part) => {
            let message = format!("The run {} was taken back already.", quoted(part));
            Err(Diagnostic::new(Code::RunNotFound, message).suggest("It counts for nothing."))
        }
        (None, _) => Err(no_such(what, quoted(part))),
    }
}

/// Returns the externally supplied text fields of a run with their names.
fn texts<'a>(investigation: &'a Investigation, run: &'a Run) -> impl Iterator<Item = (&'a str, &'a str)> {
    let note = run.note.iter().map(|note| ("note", note.as_str()));
    let expected = run.expectations().iter().flat_map(|it| [Some(&it.pattern), it.found.as_ref()]);
    let expected = expected.flatten().map(|text| ("expectations", text.as_str()));
    note.chain(expected).chain(run.ran().into_iter().flat_map(|ran| {
        let project = ran.project.iter().flat_map(|project| {
            let files = project.changed.iter().chain(project.unknown()).map(|file| ("files", file.as_str()));
            files.chain(project.patch.iter().map(|patch| ("patch", patch.as_str())))
        });
        let folder = ran.folder.iter().map(|folder| ("folder", folder.as_str()));
        let output = [("output", ran.output.text.as_str())].into_iter();
        let end = ran.output.end.iter().map(|end| ("output", end.as_str()));
        let command = ran.command.iter().chain(&ran.setup).map(|word| ("command", word.as_str()));
        // The content of a file may be stored with an earlier run.
        let files = ran.files.iter().map(|file| investigation.stored(file).unwrap_or(file));
        let files = files.flat_map(|file| file.text.iter().chain(&file.base64));
        let values = ran.variables.iter().flat_map(|it| it.value.iter().chain([&it.name]));
        let inputs = ran.inputs.iter().map(|it| &it.path).chain(&ran.input_folders);
        let files = files.chain(values).chain(inputs).map(|text| ("files", text.as_str()));
        command.chain(files).chain(folder).chain(output).chain(end).chain(project)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::run::{Ended, Expectation, Output, Ran};
    use crate::domain::{Meta, Node};

    fn at() -> Timestamp {
        Timestamp::from_milliseconds(0).unwrap()
    }

    fn ran(output: &str) -> Ran {
        let output = Output { text: output.into(), sha256: output.into(), ..Output::default() };
        Ran { output, ..Ran::new(vec!["true".into()], at()) }
    }

    fn started() -> Investigation {
        let meta = Meta::sample("review", at());
        let node = Node::new("R1.A".parse().unwrap(), None, "A", at());
        Investigation::from_facts(meta, [Arc::new(node)], None).0
    }

    fn rules(investigation: &Investigation) -> EffectiveRules<'_> {
        let all = crate::ruleset::builtin::all();
        let review = all.iter().find(|it| it.ruleset.name == "review").expect("built in");
        EffectiveRules::new(&review.ruleset, investigation.meta())
    }

    fn stored(investigation: &Investigation, new: NewRun) -> Result<(Run, Investigation), Vec<Code>> {
        let rules = rules(investigation);
        let request = NewRuns { runs: vec![new], ..NewRuns::default() };
        let id = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        let decision = record(investigation, &rules, request, &Commenter::default(), id, at())
            .map_err(|rejection| rejection.errors.into_iter().map(|error| error.code).collect::<Vec<_>>())?;
        let Some(event @ Event::Ran { runs, .. }) = &decision.event else { panic!("a run") };
        Ok((runs[0].as_ref().clone(), investigation.with(&event.changes())))
    }

    fn new(node: Option<&str>, what: RunKind) -> NewRun {
        NewRun { node: node.map(|id| id.parse().unwrap()), note: None, what }
    }

    fn again(of: RunId, ran: Ran) -> NewRun {
        new(None, RunKind::Repeated { of, at: None, verdict: RunComparison::Same, ran })
    }

    #[test]
    fn a_run_belongs_to_a_node_that_is_there_and_a_repetition_is_compared_here() {
        let refused = stored(&started(), new(Some("R2.A1"), RunKind::Captured(ran("1"))));
        assert_eq!(refused.unwrap_err(), [Code::NodeNotFound]);
        let (first, after) = stored(&started(), new(Some("R1.A"), RunKind::Captured(ran("1")))).unwrap();
        for (output, ended, expected) in [
            ("1", Ended::Exit(0), RunComparison::Same),
            ("2", Ended::Exit(0), RunComparison::Differs),
            ("1", Ended::Exit(1), RunComparison::Differs),
            ("1", Ended::TimedOut, RunComparison::CouldNotRun),
            ("2", Ended::Signal(9), RunComparison::CouldNotRun),
            ("1", Ended::NotRun("no program".into()), RunComparison::CouldNotRun),
        ] {
            let (run, _) = stored(&after, again(first.id, Ran { ended, ..ran(output) })).unwrap();
            assert!(matches!(run.what, RunKind::Repeated { verdict, .. } if verdict == expected), "{run:?}");
            assert_eq!((run.node, run.id), (first.node.clone(), first.id.next()));
        }
        let hung = |output| Ran { ended: Ended::TimedOut, ..ran(output) };
        assert_eq!(hung("1").verdict(&hung("1"), &[]), RunComparison::Same);
        assert_eq!(hung("1").verdict(&hung("2"), &[]), RunComparison::CouldNotRun);
        for (expected_exit, output, verdict) in [
            (Some(1), "1", RunComparison::Differs),
            // What was not met is met now.
            (Some(0), "1", RunComparison::Same),
            (Some(0), "2", RunComparison::Same),
        ] {
            let first = Ran { expected_exit, ended: Ended::Exit(1), ..ran("1") };
            assert_eq!(ran(output).verdict(&first, &[]), verdict, "{expected_exit:?}");
            let first = Ran { expected_exit: Some(1), ..ran("1") };
            assert_eq!(first.verdict(&first, &[]), RunComparison::Same);
        }
        for (one, other, is_like) in [
            ("in /tmp/tmp.Ab3dE6gHij/x, 1", "in /var/tmp/tmpab12cd_8/x, 1", true),
            ("/tmp/pytest-of-a/pytest-3/test_a0", "/tmp/pytest-of-b/pytest-12/test_a0", true),
            ("in /tmp/tmp.Ab3dE6gHij/x", "in /tmp/tmp.Ab3dE6gHij/y", false),
            ("in /tmp/good", "in /tmp/bad", false),
            ("5%␛[1G/tmp/a-x8d9a_2k /tmp/tmp.Ab12Cd", "41%␈␈␈/tmp/a-7pq_2kaz /tmp/tmp.2nYztt", true),
            ("/tmp/run-failed, /tmp/x_case12", "/tmp/run-passed, /tmp/x_case13", false),
        ] {
            assert_eq!(ran(one).output.is_like(&ran(other).output), is_like, "{one} {other}");
        }
        let expects = |held| Expectation { pattern: "x".into(), range: None, found: None, held };
        for (held, expected) in [(true, RunComparison::Same), (false, RunComparison::Differs)] {
            let other = Ran { expectations: vec![expects(true), expects(held)], ..ran("2") };
            let (run, _) = stored(&after, again(first.id, other)).unwrap();
            assert!(matches!(run.what, RunKind::Repeated { verdict, .. } if verdict == expected), "{run:?}");
        }
    }

    #[test]
    fn only_a_difference_is_judged_and_with_a_reason() {
        let (first, after) = stored(&started(), new(None, RunKind::Captured(ran("1")))).unwrap();
        let judged = |of| NewRun {
            note: Some("Only the clock.".into()),
            ..new(None, RunKind::Judged { of, holds: true })
        };
        assert_eq!(stored(&after, judged(first.id)).unwrap_err(), [Code::RunNotFound]);
        let (same, after) = stored(&after, again(first.id, ran("1"))).unwrap();
        assert_eq!(stored(&after, judged(same.id)).unwrap_err(), [Code::RunNotFound]);
        let (differs, after) = stored(&after, again(first.id, ran("2"))).unwrap();
        assert_eq!(
            stored(&after, NewRun { note: None, ..judged(differs.id) }).unwrap_err(),
            [Code::MissingReason]
        );
        let (judgement, after) = stored(&after, judged(differs.id)).unwrap();
        assert_eq!(judgement.of(), Some(differs.id));
        assert_eq!(differing(&after, &differs.id.to_string()).unwrap().id, differs.id);
        // Only the first run of a command can be repeated, not its repetitions.
        assert_eq!(stored(&after, again(differs.id, ran("1"))).unwrap_err(), [Code::RunNotFound]);
    }

    #[test]
    fn only_a_repetition_that_says_something_new_is_stored() {
        let (first, mut facts) = stored(&started(), new(None, RunKind::Captured(ran("1")))).unwrap();
        // The author, the day, the commit, and what it prints.
        for (author, day, at, output, is_news) in [
            ("", 0, "a", "1", true),
            ("", 1, "a", "1", false),
            ("", 1, "b", "1", true),
            ("Cid", 1, "a", "1", true),
            ("Cid", 2, "a", "1", false),
            ("", 2, "a", "1", false),
            ("", 29, "a", "1", false),
            ("", 31, "a", "1", true),
            ("Cid", 32, "a", "2", true),
            ("", 33, "a", "2", true),
            ("", 33, "a", "2", false),
            ("", 33, "a", "3", false),
            ("", 33, "b", "1", true),
            ("", 33, "b", "1", false),
            ("", 34, "a", "3", false),
        ] {
            let (id, what) = (first.id, (author, day, at, output));
            let now = Timestamp::from_milliseconds(day * 86_400_000).unwrap();
            let author = Commenter { name: author.to_owned(), ..Commenter::default() };
            let at = Some(at.to_owned());
            let again = RunKind::Repeated { of: id, at, verdict: RunComparison::Same, ran: ran(output) };
            let request = NewRuns { runs: vec![new(None, again)], ..NewRuns::default() };
            let decision = record(&facts, &rules(&facts), request, &author, id, now).unwrap();
            assert_eq!(decision.event.is_some(), is_news, "{what:?}");
            facts = decision.event.map_or(facts.clone(), |event| facts.with(&event.changes()));
        }
    }

    #[test]
    fn a_run_is_named_by_a_beginning_or_an_end_of_its_id_where_that_is_enough() {
        let (first, after) = stored(&started(), new(None, RunKind::Captured(ran("1")))).unwrap();
        let (second, after) = stored(&after, new(None, RunKind::Captured(ran("1")))).unwrap();
        assert_eq!(captured(&after, "8057").unwrap().id, first.id);
        assert_eq!(captured(&after, "8058").unwrap().id, second.id);
        for named in ["", "057", "9999", "R1.A", "01890a5d"] {
            assert_eq!(captured(&after, named).unwrap_err().code, Code::RunNotFound, "{named}");
        }
        let start = &first.id.to_string()[..35];
        assert!(captured(&after, start).is_err());
        let alone = stored(&started(), new(None, RunKind::Captured(ran("1")))).unwrap().1;
        assert_eq!(captured(&alone, start).unwrap().id, first.id);
    }
}
