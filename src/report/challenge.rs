//! Prepared messages that ask a publisher, a person or an agent to review a result.

use serde::Serialize;

use super::address::{BaseUrl, IssueUrl};
use super::model::{Card, Header};
use crate::markdown::{Reader, literal};
use crate::text::{one_line, shorten};

/// The maximum length of a title or an excerpt, in characters.
const TITLE: usize = 200;

/// The prepared messages for one node.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Challenge {
    /// The message for people: a summary of the result, with room for the objection.
    pub objection: String,
    /// The address that opens a new issue containing `objection`, if the forge is known.
    pub issue: Option<String>,
    /// The address that opens an email containing `objection`, if there is no issue page.
    pub mail: Option<String>,
    /// The message for an agent connected to the investigation's server.
    pub text: String,
}

/// Returns the messages for a node. `base` contains the site's address and the path of the investigation's folder, if
/// known.
pub(super) fn challenge(
    header: &Header,
    card: &Card,
    base: Option<(&BaseUrl, &str)>,
    issues: Option<&IssueUrl>,
) -> Challenge {
    let short = |text: &str| shorten(&one_line(text), TITLE);
    let (session, id) = (&header.facts.id, &card.id);
    let title = short(&card.title);
    let page = base.map(|(base, folder)| format!("Page: {}\n", base.of(&format!("{folder}{}", card.href))));
    let page = page.unwrap_or_default();
    let facts = |quote: &dyn Fn(&str) -> String| {
        let (of, title) = (quote(&header.facts.title), quote(&card.title));
        let (state, commit) = (&card.state.name, &header.head);
        format!("Investigation: {of} ({session})\nNode: {id}, {state}: {title}\nCommit: {commit}\n{page}")
    };
    let text = format!(
        "Try to show that this result is wrong.\n\n{}Objection: (what seems wrong, and why)\n\n\
         1. Read the node with tot_read, the path to it and its confirmations.\n\
         2. Check its sources, rerun its commands, and look for a case it does not cover.\n\
         3. If it does not hold, call tot_comment with sessionId {session}, nodeId {id}, kind objection and what you found. \
         If it holds, say what you tried, with kind comment.\n",
        facts(&short)
    );
    let subject = format!("Objection to {id}: {title}");
    let message = |quote| format!("{}\nWhat seems wrong, and why:\n\n", facts(quote));
    let objection = message(&short);
    // A title in an issue notifies nobody.
    let issue =
        issues.map(|issues| issues.of(&subject, &message(&|text| literal(text, TITLE, Reader::Comment))));
    let mail = if issue.is_none() { IssueUrl::mail(&subject, &objection) } else { None };
    Challenge { objection, issue, mail, text }
}
