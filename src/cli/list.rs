//! `tot list`: lists investigations with their answers.

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use super::place::Common;
use super::print::{columns, page, say_fields, tell};
use super::screen::{BAD, BOLD, NodeLine, QUIET, Screen, assessed, styled, verdict_style};
use super::{CommandError, CommandResult, is_person};
use crate::assess::{self, Verdict, in_words};
use crate::base::parallel;
use crate::base::world::World;
use crate::decide::blockers;
use crate::domain::Timestamp;
use crate::ruleset::rules::objections;
use crate::service::project::{Project, ProjectFiles};
use crate::service::signoff;
use crate::store::{ListEntry, ListFilter, ListState, Store};
use crate::text::{columns as width, counted, one_line};

/// List investigations, newest first, a row each: the title, the verdict, what needs somebody, and the age.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ListArguments {
    /// Words that must all occur in the id, the title, the question or the ruleset's name
    text: Vec<String>,
    /// Only investigations that have not ended; same as --state open
    #[arg(long)]
    open: bool,
    /// Only investigations in one of these states; separate several with commas, or repeat the option
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<InvestigationState>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
With --json: {investigations: [{sessionId, path, title, ruleset, states, totalNodes, currentRound, startedAt, verdict?, bottomLine?,
totalInputsChanged?, totalAnswers, answer?, owed?, totalObjections, signOff?, ahead?, behind?, fault?}]}

Examples:
  tot list                                  all investigations
  tot list sqlite --open                    open ones about SQLite
  tot list --state contested,self-checked   those that need a second look
  tot list --json | jq -r '.investigations[] | select(.ahead > 0) | .sessionId'";

/// A state of an investigation. States can be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum InvestigationState {
    /// Not ended, or continued since
    Open,
    /// Ended
    Ended,
    /// Ended before its rules were met
    StoppedEarly,
    /// Ended, but reopened since, or research from elsewhere has been added
    Continued,
    /// Ended, but a requirement of its rules is not met
    RulesUnmet,
    /// The conclusion, or the best answer so far, is confirmed by someone other than its author
    Confirmed,
    /// The conclusion, or the best answer so far, is checked only by its author
    SelfChecked,
    /// The conclusion, or the best answer so far, is not confirmed
    Unconfirmed,
    /// The conclusion, or the best answer so far, is refuted
    Refuted,
    /// The conclusion, or the best answer so far, rests on a refuted answer
    Undermined,
    /// Without an answer
    Unanswered,
    /// With a contested answer
    Contested,
    /// Approved in its current state by a valid sign-off
    Approved,
    /// Unreadable
    Unreadable,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedInvestigation {
    session_id: Option<String>,
    path: String,
    title: Option<String>,
    ruleset: Option<String>,
    /// All states of the investigation.
    states: Vec<InvestigationState>,
    total_nodes: usize,
    current_round: u32,
    started_at: Option<String>,
    /// The beginning of the verdict's sentence.
    verdict: Option<String>,
    #[serde(skip)]
    class: Option<Verdict>,
    /// The time of the last research, or of the end.
    #[serde(skip)]
    changed_at: Option<Timestamp>,
    /// The bottom line of the conclusion.
    bottom_line: Option<String>,
    /// The number of commands whose inputs changed since they were run.
    total_inputs_changed: Option<usize>,
    /// The number of unrefuted answers.
    total_answers: usize,
    /// The most certain answer.
    answer: Option<NodeLine>,
    /// The first step required before the investigation can end.
    owed: Option<String>,
    /// The number of open objections and corrections, and both in words.
    total_objections: usize,
    #[serde(skip)]
    open: Option<String>,
    /// The newest sign-off and its validity.
    sign_off: Option<String>,
    /// The number of commits to push, as of the last sync.
    ahead: Option<usize>,
    /// The number of commits to pull, as of the last sync.
    behind: Option<usize>,
    fault: Option<String>,
}

pub(super) fn run(arguments: &ListArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let words = Some(arguments.text.join(" ")).filter(|text| !text.trim().is_empty());
    let filter = ListFilter { state: ListState::All, text: words, after: None, limit: usize::MAX };
    if let Some(note) = place.note.as_ref().filter(|_| place.existing().is_ok()) {
        tell(&format!("tot list: {note}"));
    }
    let mut listed = place.existing()?.list(&filter)?.entries;
    if let Some(given) = place.given()? {
        listed.retain(|entry| given.contains(&entry.path));
    }
    let files = Project::here().and_then(|project| project.files(None));
    let look = |entry: &ListEntry| look_at(&place.store, entry, files.as_ref());
    let found = parallel::each(&listed, parallel::cores(), look);
    let mut wanted = arguments.state.clone();
    wanted.extend(arguments.open.then_some(InvestigationState::Open));
    let fits = |entry: &ListedInvestigation| {
        wanted.is_empty() || entry.states.iter().any(|state| wanted.contains(state))
    };
    let investigations: Vec<ListedInvestigation> = found.into_iter().filter(fits).collect();
    if arguments.common.json {
        return say_fields(&json!({"investigations": investigations}));
    }
    if investigations.is_empty() {
        let root = place.store.root().display();
        let none = match place.store.folders().len() {
            0 => format!("No investigations in {root}.\n"),
            several => format!("No matches among {} in {root}.\n", counted(several, "folder")),
        };
        return page(&none);
    }
    let length = unique(place.store.identified().iter().map(|(id, _)| id.to_string()).collect());
    page(&shown(&investigations, length, World::here().now().ok(), Screen { columns: columns() }))
}

/// Reads an investigation for the list.
fn look_at(store: &Store, listed: &ListEntry, files: Option<&ProjectFiles>) -> ListedInvestigation {
    let facts = listed.facts.as_ref();
    let entry = ListedInvestigation {
        session_id: listed.id.map(|id| id.to_string()),
        path: listed.path.display().to_string(),
        title: facts.map(|facts| facts.title.clone()),
        ruleset: facts.map(|facts| facts.ruleset.clone()),
        total_nodes: facts.map_or(0, |facts| facts.nodes),
        current_round: facts.map_or(0, |facts| facts.round),
        started_at: facts.map(|facts| facts.started_at.to_string()),
        fault: listed.fault.clone(),
        ..ListedInvestigation::default()
    };
    let snapshot = match store.load(&listed.path) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let fault = entry.fault.or_else(|| Some(CommandError::from(error).to_string()));
            return ListedInvestigation { fault, states: vec![InvestigationState::Unreadable], ..entry };
        }
    };
    let inputs = files.map(|files| files.inputs(&snapshot.investigation));
    let assessment = assessed(&snapshot).with_inputs(inputs.as_ref());
    let answers = &assessment.answers;
    let mut states = match assessment.outcome {
        assess::Outcome::Running => vec![InvestigationState::Open],
        assess::Outcome::Continued | assess::Outcome::Reopened => {
            vec![InvestigationState::Open, InvestigationState::Continued]
        }
        assess::Outcome::Ended => vec![InvestigationState::Ended],
        assess::Outcome::StoppedEarly => vec![InvestigationState::Ended, InvestigationState::StoppedEarly],
    };
    // Without the rules, the answers are unknown.
    let unanswered = if assessment.refuted.is_empty() {
        InvestigationState::Unanswered
    } else {
        InvestigationState::Refuted
    };
    states.extend((assessment.rules.is_some() && answers.is_empty()).then_some(unanswered));
    states.extend(match assessment.overall() {
        None | Some(Verdict::Contested | Verdict::StoppedEarly) => None,
        Some(Verdict::NotChecked) => (!answers.is_empty()).then_some(InvestigationState::Unconfirmed),
        Some(Verdict::Refuted) => Some(InvestigationState::Refuted),
        Some(Verdict::Undermined) => Some(InvestigationState::Undermined),
        Some(Verdict::RulesUnmet) => Some(InvestigationState::RulesUnmet),
        Some(Verdict::AuthorOnly) => Some(InvestigationState::SelfChecked),
        Some(verdict) => verdict.is_confirmed().then_some(InvestigationState::Confirmed),
    });
    states.extend(
        (assessment.count(|it| it == Verdict::Contested) > 0).then_some(InvestigationState::Contested),
    );
    let sign_offs = signoff::looked_up(store, &snapshot, is_person());
    states.extend(sign_offs.is_approved().then_some(InvestigationState::Approved));
    let apart = store.upstream(&snapshot).ok().flatten().and_then(|upstream| upstream.apart);
    let blockers = assessment
        .rules
        .map(|rules| blockers::blockers(assessment.investigation, &rules))
        .unwrap_or_default();
    let mut faults = snapshot.all_faults();
    let fault = faults.next().map(|first| match faults.count() {
        0 => first.to_string(),
        more => format!("{first}; and {}", counted(more, "more problem")),
    });
    ListedInvestigation {
        states,
        verdict: Some(assessment.in_short()),
        class: assessment.top().verdict,
        changed_at: assessment.investigation.last_research().max(assessment.end().map(|end| end.ended_at)),
        bottom_line: assessment.doubted_bottom_line(),
        total_inputs_changed: assessment.total_inputs_changed(),
        total_answers: answers.len(),
        answer: assessment.first().map(|answer| NodeLine::new(&assessment, answer.node)),
        owed: blockers.into_iter().next().map(|blocker| blocker.message.person().to_owned()),
        total_objections: assessment.open.len(),
        open: (!assessment.open.is_empty()).then(|| objections::counted_in_words(&assessment.open, "open ")),
        sign_off: sign_offs.all.first().map(|it| {
            let is_untold = it.is_earlier() && it.state != signoff::SignOffState::Stale;
            let earlier = if is_untold { ", before later changes" } else { "" };
            format!("{}, {}{earlier}", it.decision, it.state)
        }),
        ahead: apart.map(|(ahead, _)| ahead),
        behind: apart.map(|(_, behind)| behind),
        fault: entry.fault.or(fault),
        ..entry
    }
}

/// Formats each investigation in a row: `length` characters of its id, sign and title, the verdict with what else is to be known,
/// and its age. The bottom line is below it.
fn shown(entries: &[ListedInvestigation], length: usize, now: Option<Timestamp>, screen: Screen) -> String {
    /// The columns of the title and what precedes it, if there is more than fits.
    const LEFT: usize = 44;
    let row = |entry: &ListedInvestigation| {
        let id = entry.session_id.as_deref().map_or("?", |id| id.get(..length).unwrap_or(id));
        let style = entry.class.map_or(QUIET, verdict_style);
        let sign = entry.class.map_or("·", Verdict::sign);
        let age = entry.changed_at.zip(now).map(|(at, now)| {
            format!(" · {} ago", in_words(now.seconds().saturating_sub(at.seconds()).max(0)))
        });
        let age = age.unwrap_or_default();
        let notes = screen.rest(&notes(entry).join(" · "), LEFT + width(&age));
        let taken = length + 4;
        let title = one_line(entry.title.as_deref().unwrap_or(&entry.path));
        let title = screen.rest(&title, taken + 2 + width(&notes) + width(&age));
        let room =
            screen.columns.map_or(0, |all| all.saturating_sub(taken + 2 + width(&notes) + width(&age)));
        let gap = " ".repeat(room.saturating_sub(width(&title)) + 2);
        let line =
            entry.bottom_line.as_ref().map(|line| format!("    {}\n", screen.rest(&one_line(line), 4)));
        let fault =
            entry.fault.as_ref().map(|fault| format!("    {}\n", styled(BAD, &screen.rest(fault, 4))));
        format!(
            "{}  {} {}{gap}{}{}\n{}{}",
            styled(QUIET, &format!("{id:<length$}")),
            styled(style, sign),
            styled(BOLD, &title),
            styled(style, &notes),
            styled(QUIET, &age),
            line.unwrap_or_default(),
            fault.unwrap_or_default()
        )
    };
    entries.iter().map(row).collect()
}

/// Returns the verdict, and what else is to be known.
fn notes(entry: &ListedInvestigation) -> Vec<String> {
    let is = |state| entry.states.contains(&state);
    let mut notes: Vec<String> = entry.verdict.iter().cloned().collect();
    notes.extend(is(InvestigationState::Unreadable).then(|| "can't be read".to_owned()));
    notes.extend(is(InvestigationState::Continued).then(|| "continued since".to_owned()));
    notes.extend(is(InvestigationState::Approved).then(|| "approved".to_owned()));
    notes.extend(entry.open.clone());
    let inputs = |number| format!("inputs of {} changed", counted(number, "command"));
    notes.extend(entry.total_inputs_changed.map(inputs));
    let sign_off = entry.sign_off.as_ref().filter(|_| !is(InvestigationState::Approved));
    notes.extend(sign_off.map(|sign_off| one_line(sign_off)));
    for (number, word) in [(entry.ahead, "ahead"), (entry.behind, "behind")] {
        notes.extend(number.filter(|number| *number > 0).map(|number| format!("{number} {word}")));
    }
    notes
}

/// Returns the prefix length at which these ids are distinguishable, at least eight.
fn unique(mut ids: Vec<String>) -> usize {
    ids.sort_unstable();
    let same = |pair: &[String]| {
        pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count()
    };
    ids.windows(2).map(|pair| same(pair) + 1).max().unwrap_or(0).max(8)
}
