//! `tot approve`: signs off a commit as a person.

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::place::Common;
use super::print::{say_json, stored};
use super::{CommandResult, say};
use crate::base::world::World;
use crate::secrets::suspects;
use crate::service::remote::{GitProgram, NewTag};
use crate::service::signoff::{self, SignOffDecision};
use crate::store::{Snapshot, Store};
use crate::text::one_line;

/// Add your name: sign off an investigation with a tag on its newest commit, signed with your own git setup.
///
/// A sign-off covers one commit; later commits make it stale. Anyone can check it with `git verify-tag`, and `tot
/// check --signatures` says how far to trust it. Anyone who can use your key can sign in your name, including an agent in your
/// shell, unless the key asks you first.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct ApproveArguments {
    /// Comment stored with the sign-off
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Reject instead of approving
    #[arg(long)]
    reject: bool,
    /// Create the tag without signing it; it is shown as unsigned, because anyone can create such a tag
    #[arg(long)]
    unsigned: bool,
    #[command(flatten)]
    common: Common,
}

const EXAMPLES: &str = "\
Examples:
  tot approve -m \"Tried R3.A1a myself\"
  tot approve --reject -m \"R2.B rests on one blog post\"
  tot sync                                  sends it to the others

To sign with an SSH key:
  git config --global gpg.format ssh
  git config --global user.signingkey ~/.ssh/id_ed25519.pub";

/// The JSON output of `tot approve`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ApproveDocument {
    pub tag: String,
    decision: SignOffDecision,
    commit: String,
    signed: bool,
    open: Vec<String>,
}

pub(super) fn run(arguments: &ApproveArguments) -> CommandResult {
    let place = arguments.common.place()?;
    let path = place.folder()?;
    let decision = if arguments.reject { SignOffDecision::Rejected } else { SignOffDecision::Approved };
    let text = arguments.message.as_deref().unwrap_or_default();
    let snapshot = place.store.load(&path)?;
    let signed = sign(&place.store, &snapshot, decision, text, !arguments.unsigned)?;
    if arguments.common.json {
        return stored(say_json(&signed));
    }
    let unsigned = if signed.signed { "" } else { ", unsigned" };
    let title = one_line(&snapshot.investigation.meta().title);
    let mut said = format!("{title}: {decision} as of {}{unsigned}\n{}\n", &signed.commit[..10], signed.tag);
    let open = signed.open.iter().map(|line| format!("  open: {}\n", one_line(line)));
    said.extend(open);
    stored(say(&said))
}

/// Signs the committed state. The work tree must have no uncommitted changes.
pub(super) fn sign(
    store: &Store,
    snapshot: &Snapshot,
    decision: SignOffDecision,
    text: &str,
    is_signed: bool,
) -> CommandResult<ApproveDocument> {
    let path = &snapshot.path;
    if let Some(suspect) = suspects(text).first() {
        let kind = suspect.kind;
        return Err(
            format!("the message may contain {kind}, which a tag keeps for good: leave it out").into()
        );
    }
    let git = GitProgram::find(super::is_person())?;
    refuse_changed(&git, path)?;
    let files = store.files_to_sign(snapshot)?;
    let person = store.open(path)?.author();
    let person = person.ok_or("git does not know your name: set it with `git config --global user.name`")?;
    let open = signoff::open_points(snapshot);
    let message = signoff::statement(decision, snapshot, &files, &open, text);
    let tag = signoff::tag_name(decision, &person, snapshot.head, World::Machine.random_number());
    store.open(path)?.check_room(&tag)?;
    let new = NewTag { name: &tag, commit: snapshot.head, message: &message, is_signed };
    if let Err(error) = git.tag(path, &new) {
        return Err(match error.without_key() {
            Some(hint) => format!("{error}. {hint}").into(),
            None => error.into(),
        });
    }
    Ok(ApproveDocument { tag, decision, commit: snapshot.head.to_string(), signed: is_signed, open })
}

/// Returns an error if the work tree has changes: the person may have reviewed them, but only the commit is signed.
fn refuse_changed(git: &GitProgram, path: &Path) -> CommandResult {
    // A bare repository has no work tree.
    let changed = if path.join(".git").exists() { git.changed_files(path)? } else { Vec::new() };
    match changed.first() {
        None => Ok(()),
        Some(file) => Err(format!(
            "{} has uncommitted changes, and a sign-off covers only commits: commit or undo them (`git restore`)",
            one_line(file)
        )
        .into()),
    }
}
