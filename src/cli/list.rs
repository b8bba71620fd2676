//! `tot list`: lists investigations with their answers.

use anstyle::Style;
use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::json;

use super::place::Common;
use super::print::{columns, page, say_fields, tell};
use super::screen::{BAD, BOLD, DOUBT, GOOD, NodeLine, QUIET, Screen, assessed, styled, verdict_style};
use super::{CommandError, CommandResult, is_person};
use crate::assess::{self, CapturedRun, InputState, Verdict};
use crate::base::parallel;
use crate::decide::blockers;
use crate::ruleset::rules::objections;
use crate::service::project::{Project, ProjectFiles};
use crate::service::signoff;
use crate::store::{ListEntry, ListFilter, ListState, Store};
use crate::text::{columns as width, counted, one_line};

/// List investigations, newest first, each with its best answer or the first required step.
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
    page(&shown(&investigations, Screen { columns: columns() }))
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
    let is_changed = |run: &&CapturedRun<'_>| matches!(run.input_state, Some(InputState::Changed(_)));
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
        bottom_line: assessment.bottom_line(),
        total_inputs_changed: Some(assessment.runs().filter(is_changed).count()).filter(|all| *all > 0),
        total_answers: answers.len(),
        answer: assessment.first().map(|answer| NodeLine::new(&assessment, answer.node)),
        owed: blockers.into_iter().next().map(|blocker| blocker.message.person().to_owned()),
        total_objections: assessment.open.len(),
        open: (!assessment.open.is_empty()).then(|| objections::counted_in_words(&assessment.open, "open ")),
        sign_off: sign_offs.all.first().map(|it| format!("{}, {}", it.decision, it.state)),
        ahead: apart.map(|(ahead, _)| ahead),
        behind: apart.map(|(_, behind)| behind),
        fault: entry.fault.or(fault),
        ..entry
    }
}

/// Formats each investigation in a few lines.
fn shown(entries: &[ListedInvestigation], screen: Screen) -> String {
    let ids: Vec<&str> = entries.iter().filter_map(|entry| entry.session_id.as_deref()).collect();
    let length = unique(&ids);
    let one = |entry: &ListedInvestigation| {
        let id = entry.session_id.as_deref().map_or("?", |id| id.get(..length).unwrap_or(id));
        let title = screen.rest(entry.title.as_deref().unwrap_or(&entry.path), length + 2);
        let mut text = format!("{}  {}\n", styled(QUIET, &format!("{id:<length$}")), styled(BOLD, &title));
        let indent = " ".repeat(length.min(8) + 2);
        let mut line = |line: String| text.push_str(&format!("{indent}{line}\n"));
        if let Some(verdict) = &entry.verdict {
            let style = entry.class.map_or(QUIET, verdict_style);
            line(styled(style, &screen.rest(verdict, indent.len())));
        }
        if let Some(bottom_line) = &entry.bottom_line {
            screen.wrapped(bottom_line, indent.len()).into_iter().for_each(&mut line);
        } else if let Some(answer) = &entry.answer {
            let more = match entry.total_answers {
                0 | 1 => String::new(),
                several => format!(" (+{})", several - 1),
            };
            let taken = indent.len() + width(&more);
            line(format!("{}{}", answer.text(screen, taken), styled(QUIET, &more)));
        }
        if let Some(owed) = &entry.owed {
            line(styled(QUIET, &screen.rest(&format!("required: {owed}"), indent.len())));
        }
        if let Some(fault) = &entry.fault {
            line(styled(BAD, &screen.rest(fault, indent.len())));
        }
        in_lines(&marks(entry), screen, indent.len()).into_iter().for_each(line);
        text
    };
    entries.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Returns the states and counts to show, with their styles.
fn marks(entry: &ListedInvestigation) -> Vec<(Style, String)> {
    let mut marks: Vec<(Style, String)> = Vec::new();
    for state in &entry.states {
        let (style, word) = match state {
            InvestigationState::Open => (QUIET, "open"),
            InvestigationState::Ended => (QUIET, "ended"),
            InvestigationState::StoppedEarly => (DOUBT, Verdict::StoppedEarly.label()),
            InvestigationState::Contested => (DOUBT, "contested"),
            InvestigationState::Approved => (GOOD, "approved"),
            InvestigationState::Unreadable => (BAD, "can't be read"),
            // The verdict says it.
            _ => continue,
        };
        marks.push((style, word.to_owned()));
    }
    marks.extend(
        entry
            .total_inputs_changed
            .map(|number| (DOUBT, format!("inputs of {} changed", counted(number, "command")))),
    );
    marks.extend(entry.open.as_ref().map(|open| (DOUBT, open.clone())));
    if let Some(sign_off) =
        entry.sign_off.as_ref().filter(|_| !entry.states.contains(&InvestigationState::Approved))
    {
        marks.push((Style::new(), one_line(sign_off)));
    }
    for (number, word) in [(entry.ahead, "ahead"), (entry.behind, "behind")] {
        let number = number.filter(|number| *number > 0);
        marks.extend(number.map(|number| (Style::new(), format!("{number} {word}"))));
    }
    marks.extend((entry.total_nodes > 0).then(|| (QUIET, counted(entry.total_nodes, "node"))));
    marks
}

/// Joins the marks with dots, and starts a new line when the current one is full. The indent takes up `taken` columns.
fn in_lines(marks: &[(Style, String)], screen: Screen, taken: usize) -> Vec<String> {
    let room = screen.columns.map_or(usize::MAX, |all| all.saturating_sub(taken));
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for (style, mark) in marks {
        let mark_width = width(mark);
        match lines.last_mut().filter(|_| used + 3 + mark_width <= room) {
            Some(line) => {
                line.push_str(&format!(" · {}", styled(*style, mark)));
                used += 3 + mark_width;
            }
            None => {
                lines.push(styled(*style, mark));
                used = mark_width;
            }
        }
    }
    lines
}

/// Returns the prefix length at which these ids are distinguishable, at least eight.
fn unique(ids: &[&str]) -> usize {
    let mut sorted = ids.to_vec();
    sorted.sort_unstable();
    let same =
        |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(one, other)| one == other).count();
    sorted.windows(2).map(|pair| same(pair) + 1).max().unwrap_or(0).max(8)
}
