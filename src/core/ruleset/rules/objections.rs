//! `objections`: the effect of ending with an unresolved objection to an answer that nobody has refuted, to its
//! ancestors, or to its confirmations (`OBJECTION_OPEN`): `warn` (the default), `reject`, which keeps the investigation
//! from ending, or `"off"`. Whoever wrote the node, or an answer that rests on it, can't resolve an objection to it. Callers
//! name themselves, so nobody verifies who wrote it. A correction that nobody has accepted or resolved counts too.
//!
//! ```yaml
//! objections: reject
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use super::agents::Enforcement;
use super::verification::{ClaimedAuthor, writers};
use super::{RuleKind, SILENT, Verb};
use crate::domain::edit::{self, TextEdit};
use crate::domain::{
    Code, Comment, CommentId, CommentKind, Commenter, Conclusion, Diagnostic, Investigation, NodeId,
    Timestamp, Wording,
};
use crate::ruleset::corrections;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::support::Premise;
use crate::text::{counted, one_line, shorten};

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

/// An unresolved objection, or a correction that nobody has accepted or resolved.
#[derive(Clone, Debug)]
pub struct Objection {
    /// The comment that raises the objection.
    pub comment: Arc<Comment>,
    /// The replies to the objection, oldest first.
    pub replies: Vec<Arc<Comment>>,
    /// True for a correction of a passage that is no longer in the text, so that nobody can accept it.
    pub is_outdated: bool,
}

impl Objection {
    /// Returns whether the last reply is an answer, in which case the objection awaits a resolution.
    pub fn is_answered(&self) -> bool {
        self.replies.last().is_some_and(|last| last.kind == CommentKind::Answer)
    }

    /// Returns whether it is a correction, which is no reason to contest an answer.
    pub fn is_correction(&self) -> bool {
        self.comment.kind == CommentKind::Correction
    }

    /// Describes the objection in a sentence.
    pub fn message(&self) -> String {
        let (by, about) =
            (one_line(&self.comment.author.label()), self.comment.node.as_ref().map(NodeId::as_str));
        let text = shorten(&one_line(&self.comment.text), QUOTED);
        let text = text.trim_end_matches('.');
        match self.is_correction() {
            true => {
                let about = about.unwrap_or("the conclusion");
                let since = if self.is_outdated { ", but the passage has changed since" } else { "" };
                format!("{by} corrects {about}: {} (“{text}”){since}", self.comment.edits_in_short())
            }
            false => format!("{by} objects to {}: “{text}”", about.unwrap_or("the whole investigation")),
        }
    }
}

/// Returns the open objections, oldest first.
pub fn open(investigation: &Investigation) -> Vec<Objection> {
    let mut open: Vec<Objection> = Vec::new();
    for comment in investigation.comments().filter(|comment| comment.kind.is_settled_later()) {
        open.push(Objection { comment: Arc::clone(comment), replies: Vec::new(), is_outdated: false });
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
        if comment.kind == CommentKind::Resolution
            && comment.saw.is_none_or(is_of_now)
            && may_resolve(investigation, &objection.comment, &comment.author, Some(comment.at))
        {
            resolved.insert(objection.comment.id);
        }
        objection.replies.push(Arc::clone(comment));
    }
    open.retain(|it| !resolved.contains(&it.comment.id) && !is_accepted(investigation, &it.comment));
    for it in open.iter_mut().filter(|it| it.is_correction()) {
        let text = corrected_text(investigation, it.comment.node.as_ref());
        it.is_outdated = text.is_none_or(|text| edit::apply(text, &it.comment.edits).is_err());
    }
    open
}

/// Counts objections and corrections: `2 objections`, `1 objection and 1 correction`, each with `adjective` before the noun.
pub fn counted_in_words(open: &[Objection], adjective: &str) -> String {
    let corrections = open.iter().filter(|it| it.is_correction()).count();
    let [objections, corrections] = [(open.len() - corrections, "objection"), (corrections, "correction")]
        .map(|(number, noun)| (number, counted(number, &format!("{adjective}{noun}"))));
    match (objections.0, corrections.0) {
        (_, 0) => objections.1,
        (0, _) => corrections.1,
        _ => format!("{} and {}", objections.1, corrections.1),
    }
}

/// Returns the text that a correction is about: the findings of its node, or the conclusion.
pub fn corrected_text<'a>(investigation: &'a Investigation, node: Option<&NodeId>) -> Option<&'a str> {
    match node {
        Some(node) => Some(&investigation.committed_node(node)?.classification.as_ref()?.findings),
        None => investigation.report()?.conclusion.as_deref(),
    }
}

/// Returns whether an amendment accepted the correction, and nothing has undone its edits since.
pub fn is_accepted(investigation: &Investigation, comment: &Comment) -> bool {
    let accepts = |correction: Option<CommentId>| correction == Some(comment.id);
    let is_accepted = comment.kind == CommentKind::Correction
        && match &comment.node {
            Some(node) => {
                let results = investigation.node(node).into_iter().flat_map(|node| node.results());
                results.flat_map(|result| &result.amended).any(|it| accepts(it.correction))
            }
            None => {
                let end = investigation.report().into_iter();
                end.flat_map(|end| &end.amended).any(|it| accepts(it.correction))
            }
        };
    let is_undone = || {
        let text = corrected_text(investigation, comment.node.as_ref()).unwrap_or_default();
        let reversed: Vec<TextEdit> = comment.edits.iter().map(TextEdit::reversed).collect();
        edit::apply(text, &comment.edits).is_ok_and(|it| it != text) && edit::apply(text, &reversed).is_err()
    };
    is_accepted && !is_undone()
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

/// Returns the objection or correction that the comment is, or the nearest one that it replies to. An objection can itself
/// reply to another.
pub fn objection_of<'a>(
    investigation: &'a Investigation,
    comment: &'a Arc<Comment>,
) -> Option<&'a Arc<Comment>> {
    thread(investigation, comment).find(|it| it.kind.is_settled_later())
}

/// Returns whether `author` may resolve the objection. Considers the node's authors up to `at`, or all authors if `at` is
/// `None`, because later text does not reopen an objection. Whoever proposed a correction may withdraw it.
pub fn may_resolve(
    investigation: &Investigation,
    objection: &Comment,
    author: &Commenter,
    at: Option<Timestamp>,
) -> bool {
    let who = ClaimedAuthor::of(author.agent_id.as_deref(), &author.caller);
    let is_correction = objection.kind == CommentKind::Correction;
    let corrector = corrections::author(objection);
    let is_unnamed = !who.has_name() && !corrector.has_name();
    let is_own = who.is_same_as(&corrector) || (is_unnamed && who.shares_session(&corrector));
    if is_correction && is_own {
        return true;
    }
    let report = investigation.report().filter(|_| is_correction).and_then(Conclusion::as_node);
    let node = match &objection.node {
        Some(id) => investigation.committed_node(id).map(AsRef::as_ref),
        None => report.as_ref(),
    };
    node.is_none_or(|node| who.independence_from(&writers(investigation, node, at)).is_confirmed())
}

/// Returns the open objections that an answer must withstand: those to its premises, the answer itself included. Corrections
/// are among them.
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
    let is_of_draft =
        |it: &&Objection| it.is_correction() && it.comment.node.is_none() && investigation.draft().is_some();
    let is_against = |it: &&Objection| against.contains(&it.comment.id) || is_of_draft(it);
    // Nothing was owed when it ended. A correction since then is a doubt about the answer.
    let is_later = |it: &&Objection| {
        let ended = investigation.end_in_force().map(|end| end.ended_at);
        it.is_correction() && ended.is_some_and(|ended| it.comment.at >= ended)
    };
    open.iter().filter(is_against).filter(|it| !is_later(it)).map(diagnostic).collect()
}

/// Says what to do about a correction of a passage that is no longer in the text.
pub fn outdated(id: CommentId) -> Wording {
    Wording::both(
        format!(
            "If it is still right, amend the text with `edits`. Then answer it: tot_comment with kind answer and replyTo {id}."
        ),
        format!(
            "If it is still right, change the text with `tot amend --edit`. Then answer it: `tot comment --reply-to {id}`."
        ),
    )
}

/// Describes an open objection and its remedy.
pub fn diagnostic(objection: &Objection) -> Diagnostic {
    let comment = &objection.comment;
    let node = comment.node.as_ref().map_or("", NodeId::as_str);
    let id = comment.id;
    let how = match objection.is_answered() {
        false if objection.is_outdated => outdated(id),
        false if objection.is_correction() => Wording::both(
            format!("Accept it: tot_amend with correction {id}. Or decline it: tot_comment with kind answer and replyTo {id}."),
            format!("Accept it: `tot amend --accept {id}`. Or decline it: `tot comment --reply-to {id}`."),
        ),
        true => Wording::both("tot_comment with kind resolution and replyTo", "tot resolve").map(|call| {
            let node = if node.is_empty() { "the draft" } else { node };
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
    Diagnostic::new(Code::ObjectionOpen, format!("{}.", objection.message())).about(node).suggest(how)
}
