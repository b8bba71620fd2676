//! `tot comment`, `tot object` and `tot resolve`: write a person's comments and corrections.

use std::path::Path;
use std::sync::Arc;

use clap::Args;
use serde_json::json;

use super::caller::{agent_name, caller_as};
use super::editor::{self, Edited};
use super::place::{Common, Location};
use super::print::{say_fields, stored, warn};
use super::work::given;
use super::{CommandError, CommandResult, say};
use crate::base::world::World;
use crate::decide::comment::{self, Say};
use crate::domain::{Comment, CommentKind, Event, Investigation, NodeId, TextEdit};
use crate::ruleset::rules::objections;
use crate::service::{Service, Written};
use crate::text::one_line;

/// Comment on a node, or on the whole investigation. The comment is stored as one file in one commit, with your git
/// identity as its author.
#[derive(Args)]
#[command(after_long_help = COMMENT_EXAMPLES)]
pub(super) struct CommentArguments {
    /// Node; default: the whole investigation
    node: Option<String>,
    /// Reply to another comment: its id, or a part of the id
    #[arg(long, value_name = "COMMENT")]
    reply_to: Option<String>,
    /// Propose to replace a passage of the findings or, without a node, of the conclusion; may be repeated
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], conflicts_with = "reply_to")]
    correct: Vec<String>,
    /// Confirm the report after trying to refute it, and say what you tried
    #[arg(long, conflicts_with_all = ["node", "reply_to", "correct"])]
    confirm: bool,
    #[command(flatten)]
    how: CommentOptions,
}

const COMMENT_EXAMPLES: &str = "\
Examples:
  tot comment R2.A1 -m 'Measured on one disk only.'
  tot comment R2.A1 --correct '12 lots' '14 lots' -m 'Two were cut off.'
  tot comment --confirm -m 'Reran both loads and read each passage: it holds.'
  tot comment                            on the investigation, in your editor
  tot comment --reply-to 8f3a -m 'Done: see R3.A1b.'";

/// Object to a node, and say why. Nodes that build on it are contested until the objection is resolved.
#[derive(Args)]
#[command(after_long_help = OBJECT_EXAMPLES)]
pub(super) struct ObjectArguments {
    /// Node
    node: String,
    #[command(flatten)]
    how: CommentOptions,
}

const OBJECT_EXAMPLES: &str = "\
Examples:
  tot object R2.A1 -m 'The cache was warm: rerun it after a restart.'
  tot object R2.A1                       in your editor";

/// Resolve an objection or decline a correction, and say how. The node's author cannot do this.
#[derive(Args)]
#[command(after_long_help = RESOLVE_EXAMPLES)]
pub(super) struct ResolveArguments {
    /// Objection or correction: its id, a part of the id, or its node if only one is open there
    comment: String,
    #[command(flatten)]
    how: CommentOptions,
}

const RESOLVE_EXAMPLES: &str = "\
Examples:
  tot resolve 8f3a -m 'Rerun with a cold cache: 4 h, see R3.A1b.'
  tot resolve R2.A1 -m 'Withdrawn.'";

#[derive(Args)]
struct CommentOptions {
    /// Comment in Markdown; default: standard input, or your editor at a terminal
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// Name of the agent who says it, so that it is not taken for a person's words
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(super) fn comment(arguments: &CommentArguments) -> CommandResult {
    let CommentArguments { node, reply_to, correct, confirm, how } = arguments;
    let kind = match reply_to {
        _ if *confirm => CommentKind::Confirmation,
        Some(_) => CommentKind::Answer,
        None if correct.is_empty() => CommentKind::Comment,
        None => CommentKind::Correction,
    };
    talk(kind, node.as_deref(), reply_to.as_deref(), edits(correct), how)
}

pub(super) fn object(arguments: &ObjectArguments) -> CommandResult {
    talk(CommentKind::Objection, Some(&arguments.node), None, Vec::new(), &arguments.how)
}

pub(super) fn resolve(arguments: &ResolveArguments) -> CommandResult {
    talk(CommentKind::Resolution, None, Some(&arguments.comment), Vec::new(), &arguments.how)
}

/// Returns the edits of an option that takes pairs.
pub(super) fn edits(pairs: &[String]) -> Vec<TextEdit> {
    let pairs = pairs.chunks_exact(2);
    pairs.map(|pair| TextEdit { old: pair[0].clone(), new: pair[1].clone() }).collect()
}

fn talk(
    kind: CommentKind,
    node: Option<&str>,
    reply_to: Option<&str>,
    edits: Vec<TextEdit>,
    how: &CommentOptions,
) -> CommandResult {
    let place = how.common.place()?;
    let path = place.folder()?;
    let node = node.map(|word| place.node_id(&path, word)).transpose()?;
    let message = how.message.as_deref();
    let words =
        CommentRequest { kind, node: node.as_ref(), reply_to, edits, message, agent: how.agent.as_deref() };
    let (written, comment) = write(&place, &path, &words)?;
    let said = tell(&place, &written, comment.as_deref(), how);
    if written.decision.event.is_some() { stored(said) } else { said }
}

/// Prints the result. `comment` is the new comment, or the one that already said the same.
fn tell(
    place: &Location,
    written: &Written,
    comment: Option<&Comment>,
    how: &CommentOptions,
) -> CommandResult {
    if how.common.json {
        let head = written.commit().map(|commit| commit.to_string());
        return say_fields(&json!({
            "commit": head,
            "commentId": comment.map(|it| it.id.to_string()),
            "nodeId": comment.and_then(|it| it.node.as_ref()),
        }));
    }
    let comment = comment.filter(|_| written.decision.event.is_some());
    let Some(comment) = comment else { return say("That comment already exists; nothing was written.\n") };
    let about = comment
        .node
        .as_ref()
        .map_or(if comment.saw.is_some() { "the report" } else { "the investigation" }, NodeId::as_str);
    let open = objections::open(written.loaded.investigation());
    let open = match open.len() {
        0 => "no objection is open".to_owned(),
        1 => format!("{} is open", objections::counted_in_words(&open, "")),
        _ => format!("{} are open", objections::counted_in_words(&open, "")),
    };
    let accept = match comment.kind {
        CommentKind::Correction => {
            let accept = place.command("tot amend", &format!("--accept {}", comment.id));
            format!("somebody else accepts it: {accept}\n")
        }
        _ => String::new(),
    };
    say(&format!("{} {} on {about}; {open}\n{accept}", comment.kind.label(), comment.id))
}

/// A comment to write.
#[derive(Default)]
pub(super) struct CommentRequest<'a> {
    pub kind: CommentKind,
    pub node: Option<&'a NodeId>,
    pub reply_to: Option<&'a str>,
    /// Only for a correction: its edits.
    pub edits: Vec<TextEdit>,
    /// The comment's text. If absent, it is read from standard input, or from an editor at a terminal.
    pub message: Option<&'a str>,
    /// The agent who says it, if it is not the caller.
    pub agent: Option<&'a str>,
}

/// Writes the comment in one commit. Also returns the comment, or the one that already said the same.
pub(super) fn write(
    place: &Location,
    path: &Path,
    words: &CommentRequest<'_>,
) -> CommandResult<(Written, Option<Arc<Comment>>)> {
    let CommentRequest { kind, node, reply_to, message, agent, .. } = *words;
    let snapshot = place.store.load(path)?;
    let investigation = snapshot.investigation.as_ref();
    let reply_to = reply_to.map(|part| find(investigation, kind, part)).transpose()?;
    if let Some(node) = node {
        investigation.node(node).ok_or_else(|| format!("there is no node {node}"))?;
    }
    let (text, kept) = match given(message)? {
        Some(text) => (text, None),
        None => {
            let edited = edited(place, path, investigation, kind, node, reply_to.as_ref())?;
            (edited.text.clone(), Some(edited))
        }
    };
    let request = Say {
        node_id: node.map(|node| node.whole().to_owned()),
        kind,
        reply_to: reply_to.as_ref().map(|it| it.id.to_string()),
        text: text.clone(),
        edits: words.edits.clone(),
        agent_id: agent.map(str::to_owned),
    };
    let service = Service::new(place.store.root().to_owned(), World::Machine, None);
    let session = investigation.meta().id.to_string();
    let caller = caller_as(agent, &place.store, path)?;
    let written = service.comment(&session, request, &caller).map_err(|refusal| {
        let error = CommandError::from(refusal);
        match &kept {
            Some(edited) => format!("{error}\n{}", edited.kept()).into(),
            None => error,
        }
    })?;
    kept.iter().for_each(Edited::stored);
    warn("tot comment", &written);
    let name = place.store.open(path)?.identity().0;
    let is_it = |it: &&Arc<Comment>| {
        (it.kind, it.text.as_str(), &it.edits) == (kind, text.trim(), &words.edits)
            && it.reply_to == reply_to.as_ref().map(|it| it.id)
            && (reply_to.is_some() || it.node.as_ref() == node)
            && (it.author.name.as_str(), it.author.agent_id.as_deref()) == (name.as_str(), agent)
    };
    let comment = match &written.decision.event {
        Some(Event::Commented { comment }) => Some(comment),
        _ => written.loaded.investigation().comments().rfind(is_it),
    };
    let comment = comment.cloned();
    Ok((written, comment))
}

/// Finds the only comment whose id begins or ends with `part`. For a resolution, only open objections and corrections are
/// searched, and `part` can also be the id of their node.
fn find(investigation: &Investigation, kind: CommentKind, part: &str) -> CommandResult<Comment> {
    let open = objections::open(investigation);
    let is_open = |it: &Comment| open.iter().any(|open| open.comment.id == it.id);
    let is_of_node = |it: &Comment| it.node.as_ref().is_some_and(|node| node.as_str() == part.trim());
    let found = match kind {
        CommentKind::Resolution => {
            comment::find(investigation, part, "open objection or correction", |it, is_named| {
                is_open(it) && (is_named || is_of_node(it))
            })
        }
        _ => comment::find(investigation, part, "comment", |_, is_named| is_named),
    };
    Ok(found?.as_ref().clone())
}

/// Opens an editor for the comment.
fn edited(
    place: &Location,
    path: &Path,
    investigation: &Investigation,
    kind: CommentKind,
    node: Option<&NodeId>,
    reply_to: Option<&Comment>,
) -> CommandResult<Edited> {
    let about = node.or(reply_to.and_then(|it| it.node.as_ref()));
    let node = about.and_then(|node| investigation.node(node));
    let mut help = format!(
        "Your {} on {}, in Markdown. Everything below the line is ignored.\n",
        kind.label(),
        about.map_or("the investigation", NodeId::as_str),
    );
    if let Some(node) = node {
        let findings = node.classification.as_ref().map_or("", |it| &it.findings);
        help.push_str(&format!("\n{}\n{findings}\n", one_line(node.name())));
    }
    if let Some(comment) = reply_to {
        help.push_str(&format!("\n{} wrote:\n{}\n", one_line(&comment.author.label()), comment.text));
    }
    let again = match (kind, reply_to, about) {
        (CommentKind::Resolution, Some(objection), _) => ("tot resolve", format!("{} <", objection.id)),
        (_, Some(comment), _) => ("tot comment", format!("--reply-to {} <", comment.id)),
        (CommentKind::Objection, None, Some(node)) => ("tot object", format!("{node} <")),
        (_, None, Some(node)) => ("tot comment", format!("{node} <")),
        (_, None, None) => ("tot comment", "<".to_owned()),
    };
    let again = place.command(again.0, &again.1);
    editor::write(&editor::folder_in(path), "TOT_COMMENT.md", "", &help, again)
}
