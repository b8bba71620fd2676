//! `objections`: the effect of ending with an unresolved objection to an answer that nobody has refuted, to its
//! ancestors, or to its confirmations (`OBJECTION_OPEN`): `warn` (the default), `reject`, which keeps the investigation
//! from ending, or `"off"`. A person can resolve an objection, and so can an agent that did not write the node. Callers
//! name themselves, so nobody verifies who wrote it.
//!
//! ```yaml
//! objections: reject
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use super::agents::Enforcement;
use super::verification::{ClaimedAuthor, writers};
use super::{RuleKind, SILENT, Verb};
use crate::domain::{
    Code, Comment, CommentId, CommentKind, Commenter, Diagnostic, Investigation, Node, NodeId, Timestamp,
    Wording,
};
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::support::Premise;
use crate::text::{one_line, shorten};

/// Reports `OBJECTION_OPEN`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "objections",
    errors: &[(Verb::End, Code::ObjectionOpen)],
    warnings: &[(Verb::End, Code::ObjectionOpen)],
    end,
    end_checks,
    ..SILENT
};

/// The maximum number of characters quoted from an objection in a message.
const QUOTED: usize = 200;

/// An unresolved objection.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The comment that raises the objection.
    pub comment: Arc<Comment>,
    /// The replies to the objection, oldest first.
    pub replies: Vec<Arc<Comment>>,
}

impl Objection {
    /// Returns whether the last reply is an answer, in which case the objection awaits a resolution.
    pub fn is_answered(&self) -> bool {
        self.replies.last().is_some_and(|last| last.kind == CommentKind::Answer)
    }

    /// Describes the objection in a sentence.
    pub fn message(&self) -> String {
        let about = self.comment.node.as_ref().map_or("the whole investigation", NodeId::as_str);
        let text = shorten(&one_line(&self.comment.text), QUOTED);
        let text = text.trim_end_matches('.');
        format!("{} objects to {about}: “{text}”", one_line(&self.comment.author.label()))
    }
}

/// Returns the open objections, oldest first.
pub fn open(investigation: &Investigation) -> Vec<Objection> {
    let mut open: Vec<Objection> = Vec::new();
    for comment in investigation.comments().filter(|comment| comment.kind == CommentKind::Objection) {
        open.push(Objection { comment: Arc::clone(comment), replies: Vec::new() });
    }
    if open.is_empty() {
        return open;
    }
    let mut resolved = HashSet::new();
    for comment in investigation.comments().filter(|comment| comment.reply_to.is_some()) {
        let replied = comment.reply_to.and_then(|id| investigation.comment(id));
        let about = replied.and_then(|replied| objection_of(investigation, replied)).map(|it| it.id);
        let Some(objection) = open.iter_mut().find(|it| Some(it.comment.id) == about) else { continue };
        let node = objection.comment.node.as_ref().and_then(|id| investigation.node(id));
        let is_of_now = |saw| node.is_some_and(|node| node.claim_hashes().any(|hash| hash == saw));
        let settles = |node| may_resolve(investigation, node, &comment.author, Some(comment.at));
        if comment.kind == CommentKind::Resolution
            && comment.saw.is_none_or(is_of_now)
            && settles(node.map(AsRef::as_ref))
        {
            resolved.insert(objection.comment.id);
        }
        objection.replies.push(Arc::clone(comment));
    }
    open.retain(|objection| !resolved.contains(&objection.comment.id));
    open
}

/// Returns a comment and the comments that it replies to, up to the first of its thread.
pub fn thread<'a>(
    investigation: &'a Investigation,
    comment: &'a Arc<Comment>,
) -> impl Iterator<Item = &'a Arc<Comment>> {
    let mut seen = HashSet::new();
    let earlier = |it: &&'a Arc<Comment>| it.reply_to.and_then(|id| investigation.comment(id));
    // Manually edited comments may reply to each other in a cycle.
    std::iter::successors(Some(comment), earlier).take_while(move |it| seen.insert(it.id))
}

/// Returns the objection that the comment is, or the nearest one that it replies to. An objection can itself reply to
/// another.
pub fn objection_of<'a>(
    investigation: &'a Investigation,
    comment: &'a Arc<Comment>,
) -> Option<&'a Arc<Comment>> {
    thread(investigation, comment).find(|it| it.kind == CommentKind::Objection)
}

/// Returns whether `author` may resolve objections to the node. Considers the node's authors up to `at`, or all authors
/// if `at` is `None`, because later text does not reopen an objection.
pub fn may_resolve(
    investigation: &Investigation,
    node: Option<&Node>,
    author: &Commenter,
    at: Option<Timestamp>,
) -> bool {
    let Some(node) = node.filter(|node| node.classification.is_some()) else { return true };
    let who = ClaimedAuthor::of(author.agent_id.as_deref(), &author.caller);
    who.independence_from(&writers(investigation, node, at)).is_confirmed()
}

/// Returns the open objections that an answer must withstand: those to its premises, the answer itself included.
pub fn against<'a>(premises: &[Premise<'_>], open: &'a [Objection]) -> Vec<&'a Objection> {
    let rests_on: HashSet<&NodeId> = premises.iter().map(|it| &it.node.id).collect();
    let concerns = |it: &&Objection| it.comment.node.as_ref().is_some_and(|node| rests_on.contains(node));
    open.iter().filter(concerns).collect()
}

fn end(rules: &EffectiveRules) -> Option<String> {
    let asked = rules.ruleset().objections == Enforcement::Reject;
    asked.then(|| "No objection is open.".to_owned())
}

/// Returns the open objections to current answers, if the ruleset applies this enforcement to objections.
fn end_checks(investigation: &Investigation, rules: &EffectiveRules, asked: Enforcement) -> Vec<Diagnostic> {
    if rules.ruleset().objections != asked {
        return Vec::new();
    }
    let open = open(investigation);
    if open.is_empty() {
        return Vec::new();
    }
    let answers = rules.answers(investigation);
    let against = answers.flat_map(|node| against(&rules.premises(investigation, &node.id), &open));
    let against: HashSet<CommentId> = against.map(|objection| objection.comment.id).collect();
    open.iter().filter(|objection| against.contains(&objection.comment.id)).map(diagnostic).collect()
}

/// Describes an open objection and its remedy.
pub fn diagnostic(objection: &Objection) -> Diagnostic {
    let comment = &objection.comment;
    let node = comment.node.as_ref().map_or("", NodeId::as_str);
    let how = match objection.is_answered() {
        true => Wording::both("tot_comment with kind resolution and replyTo", "tot resolve").map(|call| {
            let id = comment.id;
            format!(
                "It has been answered, but stays open until someone other than {node}'s author resolves it: {call} {id}."
            )
        }),
        false => Wording::both(
            format!(
                "Check it, fix what is wrong with tot_amend or tot_reclassify, and answer it: tot_comment with kind \
                 answer and replyTo {}.",
                comment.id
            ),
            format!(
                "Check it, fix what is wrong with `tot amend`, and answer it: tot comment \
                 --reply-to {}.",
                comment.id
            ),
        ),
    };
    let diagnostic = Diagnostic::new(Code::ObjectionOpen, format!("{}.", objection.message()));
    if node.is_empty() { diagnostic } else { diagnostic.about(node) }.suggest(how)
}
