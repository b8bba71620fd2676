//! `tot_start`: what is fixed for the whole investigation.

use super::secrets::Findings;
use super::{Rejection, TEXT_MAX, TITLE_MAX, not_blank};
use crate::domain::{Code, Diagnostic, Meta, SessionId, Timestamp};
use crate::ruleset::{Ruleset, Severity, effective};

/// The least and most that `minRounds` may be.
const MIN_ROUNDS: std::ops::RangeInclusive<u32> = 1..=20;

/// What an agent asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Start {
    /// The question.
    pub query: String,
    /// A short title; the query's first line where it is absent.
    pub title: Option<String>,
    /// What the agent was given.
    pub context: Option<String>,
    /// The mode; the ruleset's first where it is absent.
    pub mode: Option<String>,
    /// Roots that round 1 must have.
    pub min_roots: Option<u32>,
    /// The end is refused before this round.
    pub min_rounds: Option<u32>,
    /// Whether states that come too early are kept as they are.
    pub allow_early_terminal: Option<bool>,
}

/// What a new investigation is, under `ruleset` and the operator's `floor` of minimum rounds.
///
/// # Errors
///
/// `INVALID_ARGUMENT` and `TEXT_TOO_LONG`, all at once.
pub fn start(
    request: Start,
    ruleset: &Ruleset,
    floor: Option<u32>,
    id: SessionId,
    now: Timestamp,
) -> Result<Meta, Rejection> {
    let mut errors = Vec::new();
    let name = &ruleset.name;
    let mut invalid = |message: String, suggestion: String| {
        errors.push(Diagnostic::new(Code::InvalidArgument, message).suggest(suggestion));
    };
    if request.query.trim().is_empty() {
        invalid("query is empty.".into(), "Say what is to be found out, in a sentence or more.".into());
    }
    let modes = ruleset.mode_names();
    let mode = request.mode.as_deref().map_or(modes[0], str::trim);
    if !modes.contains(&mode) {
        invalid(
            format!("mode: {name} has no mode `{mode}`."),
            format!("Choose one of {}, or leave it out.", effective::list(&modes)),
        );
    }
    let min_rounds = {
        let of_mode = ruleset.mode(mode);
        let own = of_mode.and_then(|mode| mode.min_rounds).unwrap_or(ruleset.end.min_rounds);
        let may_be_lowered = of_mode.is_some_and(|mode| mode.min_rounds_may_be_lowered);
        let least = if may_be_lowered { *MIN_ROUNDS.start() } else { own }.max(floor.unwrap_or(0));
        let asked = request.min_rounds.unwrap_or(own.max(least));
        if asked > *MIN_ROUNDS.end() {
            invalid(
                format!("minRounds is {asked}; the most is {}.", MIN_ROUNDS.end()),
                "Ask for fewer rounds.".into(),
            );
        } else if asked < least && modes.contains(&mode) {
            let why = match floor {
                Some(floor) if floor == least && floor > own => "this server's least".to_owned(),
                _ => format!("what {name} asks for in mode {mode}"),
            };
            invalid(
                format!("minRounds is {asked}, below {least}, {why}."),
                format!("Leave it out, or ask for {least} or more."),
            );
        }
        asked
    };
    let min_roots = request.min_roots.unwrap_or(ruleset.roots.min);
    if let Some(asked) = request.min_roots {
        let most = ruleset.batch_limit.unwrap_or(u32::MAX).min(ruleset.roots.max.unwrap_or(u32::MAX));
        if !ruleset.roots.min_is_chosen && asked != ruleset.roots.min {
            invalid(
                format!("minRoots: {name} has a fixed number of {}.", ruleset.roots.min),
                "Leave minRoots out.".into(),
            );
        } else if asked < 1 || asked > most {
            invalid(
                format!(
                    "minRoots is {asked}; it is from 1 to {most}, since more could never start in one batch."
                ),
                format!("Leave it out for {}, or choose within these bounds.", ruleset.roots.min),
            );
        }
    }
    if request.allow_early_terminal.is_some() && !ruleset.has_conversions() {
        invalid(
            format!(
                "allowEarlyTerminal: {name} stores no state as another one, so there is nothing to allow."
            ),
            "Leave allowEarlyTerminal out.".into(),
        );
    }
    let title = not_blank(request.title).unwrap_or_else(|| title_of(&request.query));
    if title.chars().count() > TITLE_MAX {
        let message = format!("title has {} characters; the most is {TITLE_MAX}.", title.chars().count());
        errors.push(
            Diagnostic::new(Code::TextTooLong, message).suggest("Shorten it; the query says the rest."),
        );
    }
    for (field, text) in [("query", Some(&request.query)), ("context", request.context.as_ref())] {
        if let Some(text) = text.filter(|text| text.len() > TEXT_MAX) {
            let message = format!("{field} has {} bytes; the most is {TEXT_MAX}.", text.len());
            errors.push(Diagnostic::new(Code::TextTooLong, message).suggest("Shorten it."));
        }
    }
    Rejection::unless_empty(errors)?;
    Ok(Meta {
        id,
        title,
        query: request.query,
        context: not_blank(request.context),
        ruleset: name.clone(),
        mode: mode.to_owned(),
        min_rounds,
        min_roots,
        allow_early_terminal: request
            .allow_early_terminal
            .unwrap_or_else(|| ruleset.keeps_early_states(min_rounds)),
        started_at: now,
    })
}

/// What a start's texts hold that looks like a credential. Beside [`start`], which a replay may do without.
pub fn secrets(request: &Start, severity: Severity) -> Findings {
    let optional = [("title", &request.title), ("context", &request.context)];
    let texts = std::iter::once(("query", request.query.as_str()))
        .chain(optional.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?))));
    let mut findings = Findings::default();
    findings.check(severity, "", texts);
    findings
}

/// The first line of the query, cut at a word after about 100 characters.
fn title_of(query: &str) -> String {
    let line = query.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= 100 {
        return line.to_owned();
    }
    let cut: String = line.chars().take(99).collect();
    let end = cut.rfind(' ').filter(|end| *end > 50).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}
