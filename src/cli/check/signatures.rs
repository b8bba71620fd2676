//! `tot check --signatures`: verifies an investigation's sign-offs.

use std::path::Path;

use serde_json::json;

use crate::cli::place::Common;
use crate::cli::print::{columns, say_json};
use crate::cli::screen::{Screen, assessed};
use crate::cli::{CommandResult, ExitResult, passed, say};
use crate::domain::Timestamp;
use crate::service::remote::GitProgram;
use crate::service::signoff::{self, SignOff, SignOffView, SignOffs, Signers};
use crate::text::{counted, one_line, shorten};

/// Returns git and the file with the allowed keys.
pub(in crate::cli) fn signers(allowed: Option<&Path>) -> CommandResult<Signers> {
    if let Some(file) = allowed {
        // An unreadable file would otherwise make all sign-offs appear unchecked.
        std::fs::read(file).map_err(|error| format!("{} can't be read: {error}", file.display()))?;
    }
    Ok(Signers { git: GitProgram::find(false)?, allowed: allowed.map(Path::to_owned) })
}

/// Prints the sign-offs. Succeeds if the current commit is approved: it has a valid sign-off, and no valid rejection or invalid
/// sign-off.
pub(super) fn run(allowed: Option<&Path>, common: &Common) -> ExitResult {
    let signers = signers(allowed)?;
    let place = common.place()?;
    let path = place.folder()?;
    let snapshot = place.store.load(&path)?;
    let found = signoff::checked(&place.store, &snapshot, &signers)?;
    let meta = snapshot.investigation.meta();
    let approved = found.is_approved();
    let verdict = assessed(&snapshot).sentence(&found.signed());
    if common.json {
        let sign_offs: Vec<_> = found.all.iter().map(SignOffView::from).collect();
        say_json(&json!({
            "sessionId": meta.id,
            "title": meta.title,
            "head": snapshot.head.to_string(),
            "verdict": verdict,
            "approved": approved,
            "signOffs": sign_offs,
            "leftOut": found.left_out,
        }))?;
    } else {
        let screen = Screen { columns: columns() };
        say(&format!("{}\n{}", screen.wrapped(&verdict, 1).join("\n"), lines(&found, screen)))?;
    }
    Ok(passed(approved))
}

pub(in crate::cli) fn lines(found: &SignOffs, screen: Screen) -> String {
    if found.all.is_empty() {
        return "No sign-offs.\n".to_owned();
    }
    let mut text: String = found.all.iter().map(|it| block(it, screen)).collect();
    if found.left_out > 0 {
        text.push_str(&format!("{} skipped\n", counted(found.left_out, "more sign-off")));
    }
    text
}

/// Formats a sign-off: its state, with the details beside it.
fn block(it: &SignOff, screen: Screen) -> String {
    /// The width of the state column.
    const STATE: usize = 11;
    let commit = it.commit.to_string();
    let at = it.at.map(Timestamp::to_minute).map(|at| format!(", {at}")).unwrap_or_default();
    let said = it.statement.as_ref().map(|it| it.text.as_str()).filter(|text| !text.is_empty());
    let parts = [
        Some(format!("{} {} by {}{at}", it.decision, &commit[..10], it.by())),
        Some(it.tag.clone()),
        it.reason.clone(),
        said.map(|text| format!("“{text}”")),
        it.changed_since(),
        it.open_then(),
    ];
    let lines = parts.into_iter().flatten().flat_map(|part| screen.wrapped(&shown(&part), STATE));
    let line = |(at, line): (usize, String)| {
        let state = if at == 0 { it.state.to_string() } else { String::new() };
        format!("{state:<STATE$}{line}\n")
    };
    lines.enumerate().map(line).collect()
}

fn shown(text: &str) -> String {
    shorten(&one_line(text), 500)
}
