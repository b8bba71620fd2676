//! `tot_comment`, `tot comment`, `tot object` and `tot resolve`: comments by people and agents. Ended investigations
//! accept comments too.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::edits::edited;
use super::{Decision, Rejection, check_texts, means_report, quoted, refuse_ambiguous, trimmed};
use crate::domain::node::says_nothing;
use crate::domain::{
    Code, Comment, CommentId, CommentKind, Commenter, Conclusion, Diagnostic, Event, Investigation, Node,
    NodeId, TextEdit, Timestamp, Wording,
};
use crate::ruleset::EffectiveRules;
use crate::ruleset::corrections::{self, Corrections, is_small};
use crate::ruleset::rules::objections::{corrected_text, may_resolve, objection_of};
use crate::ruleset::rules::verification::ClaimedAuthor;
use crate::ruleset::rules::{CallDiagnostics, shortened};

/// An unvalidated comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Say {
    /// The node; default: that of `replyTo`, or none.
    pub node_id: Option<String>,
    /// objection: the node is wrong; correction: mends passages; confirmation: the report withstood an attack.
    #[serde(default)]
    #[schemars(with = "String", extend("enum" = ["comment", "objection", "correction", "confirmation", "answer", "resolution"]))]
    pub kind: CommentKind,
    /// The comment to answer or resolve.
    pub reply_to: Option<String>,
    /// As in tot_amend.
    #[serde(default)]
    #[schemars(extend("x-elsewhere" = true))]
    pub edits: Vec<TextEdit>,
    /// Markdown.
    pub text: String,
    /// The agent's name.
    pub agent_id: Option<String>,
}

/// Error codes for rejected comments, besides those common to all calls.
pub const CODES: &[Code] =
    &[Code::NodeNotFound, Code::CommentNotFound, Code::ResolvedByAuthor, Code::SecretSuspected];

/// Warning codes for comments.
pub const WARNINGS: &[Code] = &[Code::SecretSuspected, Code::LargeCorrection];

/// Stores a comment under the given id or the next free id. Does not store an exact duplicate of a comment.
///
/// # Errors
///
/// Returns errors with the codes in [`CODES`], `INVALID_ARGUMENT` or `TEXT_TOO_LONG`.
pub fn comment(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Say,
    author: Commenter,
    id: CommentId,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    refuse_ambiguous(investigation, request.node_id.as_deref())?;
    let kind = request.kind;
    let author = Commenter { agent_id: trimmed(request.agent_id), ..author };
    let mut diagnostics = CallDiagnostics::default();
    let reply_to = reply_to(investigation, kind, request.reply_to.as_deref(), &mut diagnostics);
    let node = node(investigation, request.node_id.as_deref(), reply_to, &mut diagnostics);
    if kind == CommentKind::Objection && node.is_none() && diagnostics.errors.is_empty() {
        diagnostics.refuse(
            Code::InvalidArgument,
            "",
            "An objection needs a node.",
            Wording::both("Name it with nodeId.", "Name the node."),
        );
    }
    let text = request.text.trim().to_owned();
    let report = investigation.report().and_then(Conclusion::as_node).filter(|_| node.is_none());
    if kind == CommentKind::Confirmation && diagnostics.errors.is_empty() {
        let who = corrections::author_of(&author);
        let is_author = |report: &Node| {
            let others = Corrections::of_report(investigation, report).others(&who);
            !who.independence_from(&others).is_confirmed()
        };
        match &report {
            None if node.is_some() => diagnostics.refuse(
                Code::InvalidArgument,
                node.as_ref().map_or("", NodeId::as_str),
                "A confirmation is about the report; a child confirms a node.",
                Wording::both("Leave out nodeId, or commit a child.", "Name no node, or commit a child."),
            ),
            None => diagnostics.refuse(
                Code::InvalidArgument,
                "",
                "There is no report to confirm.",
                Wording::both("tot_end with `draft: true`", "`tot end --draft`")
                    .map(|call| format!("{call} stores one.")),
            ),
            Some(report) if is_author(report) => diagnostics.refuse(
                Code::ResolvedByAuthor,
                "",
                "The report must be confirmed under a name other than its author's.",
                "Let somebody else check it.",
            ),
            Some(_) => {}
        }
    }
    let is_empty = text.is_empty()
        || (text.starts_with('<') && says_nothing(&text))
        || (!author.is_person() && kind != CommentKind::Comment && says_nothing(&text));
    if is_empty {
        let message = format!("The text of the {} says nothing.", kind.label());
        let how = match kind {
            CommentKind::Answer => {
                "Say in a sentence what was done and why, such as “Amended: the line is 144.”"
            }
            _ => "Say in a sentence what is meant, and why.",
        };
        diagnostics.refuse(Code::InvalidArgument, "", message, how);
    }
    let about = node.as_ref().map_or("", NodeId::as_str);
    let agent = author.agent_id.iter().map(|agent| ("agentId", agent.as_str()));
    let edits = request.edits.iter().flat_map(|it| [("old", it.old.as_str()), ("new", it.new.as_str())]);
    check_texts(rules, about, agent.chain([("text", text.as_str())]).chain(edits), &mut diagnostics);
    if diagnostics.errors.is_empty() {
        check_edits(investigation, node.as_ref(), kind, &request.edits, &mut diagnostics);
    }
    let subject = node.as_ref().and_then(|id| investigation.node(id));
    let objection = reply_to.and_then(|id| investigation.comment(id));
    if let Some(objection) = objection
        && kind == CommentKind::Resolution
        && let is_of_node = !may_resolve(investigation, objection, &author, None)
        && (is_of_node || wrote_what_rests_on(investigation, rules, objection, &author))
    {
        let (what, to) = (objection.kind.label(), if about.is_empty() { "the conclusion" } else { about });
        let of = match is_of_node {
            true => format!("{to}'s author"),
            false => format!("the author of an answer that rests on {to}"),
        };
        let message = format!("The {what} to {to} must be resolved under a name other than that of {of}.");
        let how = format!("Answer the {what}; let somebody else check the answer and resolve it.");
        diagnostics.refuse(Code::ResolvedByAuthor, about, message, how);
    }
    Rejection::unless_empty(diagnostics.errors)?;
    // A correction names the passages that it is about, so later changes elsewhere don't bring it back.
    let is_of_claim = kind == CommentKind::Resolution && objection.is_some_and(|it| it.edits.is_empty());
    let is_attack = matches!(kind, CommentKind::Confirmation | CommentKind::Correction);
    let seen = match subject {
        Some(node) => is_of_claim.then_some(node.as_ref()),
        None => report.as_ref().filter(|_| is_attack),
    };
    let saw = seen.and_then(Node::claim_hash);
    let said = investigation.comments().find(|it| {
        it.node == node
            && it.kind == kind
            && it.saw == saw
            && it.reply_to == reply_to
            && it.text == text
            && it.edits == request.edits
            && is_same(&it.author, &author)
    });
    if said.is_some() {
        return Ok(Decision { event: None, warnings: diagnostics.warnings });
    }
    let mut id = id;
    while investigation.comment(id).is_some() {
        id = id.next();
    }
    let comment =
        Arc::new(Comment { id, node, kind, reply_to, author, at: now, text, saw, edits: request.edits });
    let event = Event::Commented { comment: Arc::clone(&comment) };
    let is_large = || is_small(&investigation.with(&event.changes()), &comment) == Some(false);
    if kind == CommentKind::Correction && is_large() {
        let message = "Your corrections of this text change more than a quarter of it: you would be one of its authors, and \
                       could not confirm the rest.";
        let how = "Object instead, or correct only what is wrong.";
        let about = comment.node.as_ref().map_or("", NodeId::as_str);
        diagnostics.warnings.push(Diagnostic::new(Code::LargeCorrection, message).about(about).suggest(how));
    }
    Ok(Decision { event: Some(event), warnings: diagnostics.warnings })
}

/// Checks that a correction can be made in the text that it is about, and that no other comment has edits.
fn check_edits(
    investigation: &Investigation,
    node: Option<&NodeId>,
    kind: CommentKind,
    edits: &[TextEdit],
    diagnostics: &mut CallDiagnostics,
) {
    let about = node.map_or("", NodeId::as_str);
    let mut refuse = |message: &str, how: Wording| {
        diagnostics.refuse(Code::InvalidArgument, about, message.to_owned(), how);
    };
    match (kind, edits, corrected_text(investigation, node)) {
        (CommentKind::Correction, [], _) => {
            let how = Wording::both("Give `edits: [{old, new}]`.", "Give them with --correct OLD NEW.");
            refuse("The correction has no edits.", how);
        }
        (CommentKind::Correction, _, None) if node.is_some() => {
            refuse("The node has no findings yet.", "Correct a committed node.".into());
        }
        (CommentKind::Correction, _, None) => {
            let how = Wording::both("Name a node in `nodeId`.", "Name a node.");
            refuse("There is no conclusion to correct.", how);
        }
        (CommentKind::Correction, edits, Some(text))
            if is_in_bottom_line(investigation, node, text, edits) =>
        {
            let how = Wording::both(
                "Correct a passage of the conclusion, or change the bottom line with tot_amend.",
                "Correct a passage of the conclusion, or change the bottom line with `tot amend --conclusion --bottom-line \
                 TEXT`.",
            );
            refuse("A correction is of the conclusion's text, and this passage is in the bottom line.", how);
        }
        (CommentKind::Correction, edits, Some(text)) => match edited(about, text, edits) {
            Ok(made) if made == text => {
                refuse("The correction changes nothing.", "Say what to change.".into())
            }
            Ok(_) => {}
            Err(error) => diagnostics.errors.push(error),
        },
        (_, [], _) => {}
        (..) => {
            refuse("Only a correction has edits.", "Give the kind `correction`, or leave them out.".into())
        }
    }
}

/// Returns whether a correction of the report is of a passage that only the bottom line has.
fn is_in_bottom_line(
    investigation: &Investigation,
    node: Option<&NodeId>,
    text: &str,
    edits: &[TextEdit],
) -> bool {
    let report = investigation.report().filter(|_| node.is_none());
    report.is_some_and(|it| {
        edits.iter().any(|edit| !text.contains(&edit.old) && it.bottom_line.contains(&edit.old))
    })
}

/// Returns whether two commenters are the same author, even in different sessions.
fn is_same(one: &Commenter, other: &Commenter) -> bool {
    let key = |it: &Commenter| (it.is_person(), it.name.clone(), it.email.clone(), it.agent_id.clone());
    key(one) == key(other)
}

/// Returns the comment to reply to. For a resolution, this is the objection, even if the request names an answer to the
/// objection.
fn reply_to(
    investigation: &Investigation,
    kind: CommentKind,
    named: Option<&str>,
    diagnostics: &mut CallDiagnostics,
) -> Option<CommentId> {
    let must = matches!(kind, CommentKind::Answer | CommentKind::Resolution);
    let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else {
        if must {
            let message = format!("The {} names no comment.", kind.label());
            let how = Wording::both(
                "Name the comment with replyTo; call tot_read on the node to list its comments.",
                "Name the comment by its id; `tot show NODE` lists them.",
            );
            diagnostics.refuse(Code::InvalidArgument, "", message, how);
        }
        return None;
    };
    let what = if kind == CommentKind::Resolution { "objection or correction" } else { "comment" };
    let found = find(investigation, named, what, |_, is_named| is_named).and_then(|it| match kind {
        CommentKind::Resolution => objection_of(investigation, it).ok_or_else(|| no_such(what, named)),
        _ => Ok(it),
    });
    let found = found.map_err(|message| {
        let how = Wording::both(
            "Call tot_read on the node to list its comments.",
            "`tot show NODE` lists its comments.",
        );
        diagnostics.refuse(Code::CommentNotFound, "", message, how);
    });
    Some(found.ok()?.id)
}

/// The maximum number of comments named in an error.
const NAMED: usize = 5;

/// Returns the only comment that fits. `fits` also gets whether the comment's id is this, or begins or ends with this.
///
/// # Errors
///
/// Returns a message if there is none, or if there are several.
pub fn find<'i>(
    investigation: &'i Investigation,
    named: &str,
    what: &str,
    fits: impl Fn(&Comment, bool) -> bool,
) -> Result<&'i Arc<Comment>, String> {
    let part = named.trim().to_ascii_lowercase();
    let is_it = |it: &&Arc<Comment>| fits(it, it.id.is_named(&part));
    match investigation.comments().filter(is_it).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        [] => Err(no_such(what, named)),
        ref several => {
            let ids: Vec<CommentId> = several.iter().map(|it| it.id).collect();
            Err(format!("{} names several comments: {}.", quoted(named), shortened(&ids, NAMED)))
        }
    }
}

fn no_such(what: &str, named: &str) -> String {
    format!("There is no {what} {}.", quoted(named))
}

/// Returns the node that the comment refers to.
fn node(
    investigation: &Investigation,
    named: Option<&str>,
    reply_to: Option<CommentId>,
    diagnostics: &mut CallDiagnostics,
) -> Option<NodeId> {
    let replied = reply_to.and_then(|id| investigation.comment(id));
    let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else {
        return replied?.node.clone();
    };
    let Ok(node) = investigation.find(named) else {
        let message = investigation.missing(named);
        let how = match means_report(named) {
            true => Wording::both("Leave out nodeId for the report.", "Name no node for the report."),
            false => Wording::both("tot_status", "`tot show`").map(|call| format!("{call} lists the nodes.")),
        };
        diagnostics.refuse(Code::NodeNotFound, "", message, how);
        return None;
    };
    if let Some(replied) = replied.filter(|replied| replied.node.as_ref() != Some(&node.id)) {
        let about = replied.node.as_ref().map_or("the whole investigation", NodeId::as_str);
        let message = format!("The comment {} is on {about}.", replied.id);
        let how = Wording::both("nodeId", "the node")
            .map(|node| format!("Leave out {node}: an answer is about the same node."));
        diagnostics.refuse(Code::InvalidArgument, "", message, how);
    }
    Some(node.id.clone())
}

/// Returns whether the author of a resolution wrote an answer that rests on the node objected to.
fn wrote_what_rests_on(
    investigation: &Investigation,
    rules: &EffectiveRules,
    objection: &Comment,
    author: &Commenter,
) -> bool {
    let is_one = |node: &Node| Some(&node.id) == objection.node.as_ref();
    let by = ClaimedAuthor::of(author.agent_id.as_deref(), &author.caller);
    objection.kind == CommentKind::Objection
        && objection.node.is_some()
        && !by.independence_from(&rules.writers_resting_on(investigation, is_one)).is_confirmed()
}
