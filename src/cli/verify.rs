//! `tot verify`: verifies an investigation's sign-offs.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::place::Common;
use super::print::{columns, say_json};
use super::screen::{Screen, assessed};
use super::{CommandResult, ExitResult, passed, say};
use crate::domain::Timestamp;
use crate::service::remote::GitProgram;
use crate::service::signoff::{self, SignOff, SignOffView, SignOffs, Signers};
use crate::text::{counted, one_line, shorten};

/// Verify an investigation's sign-offs: which are valid, whose they are, and what has changed since.
///
/// Exits with status 0 if the current commit is approved: it has a valid sign-off, and no valid rejection or invalid
/// sign-off.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct VerifyArguments {
    /// Investigation: id, prefix or suffix; optional when there is only one
    id: Option<String>,
    /// File of allowed SSH keys, one per line as `name@example.org ssh-ed25519 AAAA…` (see ALLOWED SIGNERS in ssh-keygen); default:
    /// gpg.ssh.allowedSignersFile in your git configuration. For OpenPGP and X.509, your keyring decides
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
States of a sign-off:
  valid      good signature on the current commit
  stale      good signature, but there are later commits
  unsigned   anyone could have made it
  unchecked  no key or program to check the signature with
  invalid    bad signature, a key that is not allowed, another commit, or a moved tag

Examples:
  tot verify 0196 --allowed-signers team/allowed_signers
  tot verify --json | jq '.signOffs[] | select(.state == \"valid\") | .signer'";

/// Returns git and the file with the allowed keys.
pub(super) fn signers(allowed: Option<&Path>) -> CommandResult<Signers> {
    if let Some(file) = allowed {
        // An unreadable file would otherwise make all sign-offs appear unchecked.
        std::fs::metadata(file).map_err(|error| format!("{} can't be read: {error}", file.display()))?;
    }
    Ok(Signers { git: GitProgram::find(false)?, allowed: allowed.map(Path::to_owned) })
}

pub(super) fn run(arguments: &VerifyArguments) -> ExitResult {
    let signers = signers(arguments.allowed_signers.as_deref())?;
    let place = arguments.common.place()?;
    let path = place.folder(arguments.id.as_deref())?;
    let snapshot = place.store.load(&path)?;
    let found = signoff::checked(&place.store, &snapshot, &signers)?;
    let meta = snapshot.investigation.meta();
    let approved = found.is_approved();
    let verdict = assessed(&snapshot).top().to_string();
    if arguments.common.json {
        let sign_offs: Vec<_> = found.all.iter().map(SignOffView::from).collect();
        say_json(&json!({
            "id": meta.id.to_string(),
            "title": meta.title,
            "head": snapshot.head.to_string(),
            "verdict": verdict,
            "approved": approved,
            "signOffs": sign_offs,
            "leftOut": found.left_out,
        }))?;
    } else {
        let screen = Screen { columns: columns() };
        say(&format!("{}.\n{}", screen.wrapped(&verdict, 1).join("\n"), lines(&found, screen)))?;
    }
    Ok(passed(approved))
}

fn lines(found: &SignOffs, screen: Screen) -> String {
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
