//! `tot_start` starts an investigation with immutable settings.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Rejection, TITLE_MAX, check_lengths, check_line, given, not_blank};
use crate::domain::{Code, Diagnostic, Meta, SessionId, Timestamp};
use crate::ruleset::rules::{self, CallDiagnostics, early_states, min_rounds, roots};
use crate::ruleset::{Enforcement, Ruleset, effective};

/// The unvalidated input of `tot_start`. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Start {
    /// The full question.
    #[schemars(extend("examples" = ["Why did p99 latency double after the upgrade to PostgreSQL 18?"]))]
    pub query: String,
    /// For lists; default: first line of the query.
    pub title: Option<String>,
    /// Known facts: versions, logs, constraints.
    pub context: Option<String>,
    /// A mode of the method; default: the first.
    pub mode: Option<String>,
    /// Roots to propose, if you can choose.
    #[schemars(range(min = 1))]
    pub min_roots: Option<u32>,
    /// More than the method requires, or fewer if the mode allows.
    #[schemars(range(min = 1, max = 20))]
    pub min_rounds: Option<u32>,
    /// Accept premature states.
    pub allow_early_terminal: Option<bool>,
}

/// Returns a new investigation that uses `ruleset` and the operator's `floor` for the minimum number of rounds.
///
/// # Errors
///
/// Returns all `INVALID_ARGUMENT` and `TEXT_TOO_LONG` errors together.
pub fn start(
    request: Start,
    ruleset: &Ruleset,
    floor: Option<u32>,
    id: SessionId,
    now: Timestamp,
) -> Result<Meta, Rejection> {
    let mut diagnostics = CallDiagnostics::default();
    let name = &ruleset.name;
    if request.query.trim().is_empty() {
        let how = "Say what to find out, in a sentence or more.";
        diagnostics.refuse(Code::InvalidArgument, "", "query is empty.", how);
    }
    let modes = ruleset.mode_names();
    let mode = request.mode.as_deref().map_or(modes[0], str::trim);
    if !modes.contains(&mode) {
        let how = format!("Choose one of {}, or leave it out.", effective::list(&modes));
        diagnostics.refuse(Code::InvalidArgument, "", format!("mode: {name} has no mode `{mode}`."), how);
    }
    let mut choice =
        |chosen: Result<u32, Diagnostic>| chosen.map_err(|error| diagnostics.errors.push(error)).ok();
    let min_rounds = choice(min_rounds::chosen(ruleset, mode, request.min_rounds, floor));
    let min_roots = choice(roots::chosen(ruleset, request.min_roots));
    let keeps = early_states::chosen(ruleset, request.allow_early_terminal, min_rounds.unwrap_or(0));
    let allow_early_terminal = keeps.map_err(|error| diagnostics.errors.push(error)).ok();
    let title = not_blank(request.title).unwrap_or_else(|| title_of(&request.query));
    check_line("", "title", Some(&title), TITLE_MAX, "the query", &mut diagnostics);
    let context = request.context.iter().map(|text| ("context", text.as_str()));
    check_lengths("", std::iter::once(("query", request.query.as_str())).chain(context), &mut diagnostics);
    let (Some(min_rounds), Some(min_roots), Some(allow_early_terminal)) =
        (min_rounds, min_roots, allow_early_terminal)
    else {
        return Err(Rejection { errors: diagnostics.errors });
    };
    Rejection::unless_empty(diagnostics.errors)?;
    Ok(Meta {
        id,
        title,
        query: request.query,
        context: not_blank(request.context),
        ruleset: name.clone(),
        mode: mode.to_owned(),
        min_rounds,
        min_roots,
        allow_early_terminal,
        started_at: now,
    })
}

/// Checks the request for suspected credentials. Separate from [`start`] because a replay may skip this check.
pub fn secrets(request: &Start, enforcement: Enforcement) -> CallDiagnostics {
    let optional = [("title", &request.title), ("context", &request.context)];
    let texts =
        std::iter::once(("query", request.query.as_str())).chain(optional.into_iter().filter_map(given));
    let mut diagnostics = CallDiagnostics::default();
    rules::secrets::check(enforcement, "", texts, &mut diagnostics);
    diagnostics
}

/// Returns the first line of the query, cut at a word boundary after about 100 characters.
fn title_of(query: &str) -> String {
    let line = query.trim().lines().next().unwrap_or_default().trim();
    if line.chars().count() <= 100 {
        return line.to_owned();
    }
    let cut: String = line.chars().take(99).collect();
    let end = cut.rfind(' ').filter(|end| *end > 50).unwrap_or(cut.len());
    format!("{}…", cut[..end].trim_end())
}
