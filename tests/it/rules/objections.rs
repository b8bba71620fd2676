//! Objections: which are open, who may resolve them, and what depends on them.

use insta::assert_snapshot;
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::next::{LegalCall, Next, ObjectionReply, next};
use tree_of_thoughts::domain::{Caller, CommentKind, Commenter};
use tree_of_thoughts::ruleset::RulesetFile;
use tree_of_thoughts::ruleset::rules::objections;

use crate::support::table::{Table, said, told, worded};

/// A root, an answer below it, and a check of the answer by another agent.
fn answered() -> Table {
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "FOUND")]);
    table.grow(&[("R3.A1a", "R2.A1", "VERIFY")]);
    table
}

fn say(kind: CommentKind, text: &str) -> Say {
    Say { kind, text: text.to_owned(), agent_id: Some("a reader".into()), ..Say::default() }
}

fn objection(node: &str) -> Say {
    Say { node_id: Some(node.into()), ..say(CommentKind::Objection, "The cache was warm.") }
}

fn person() -> Commenter {
    Commenter { name: "Maria".into(), caller: Caller::of_person("Maria", None), ..Commenter::default() }
}

/// Returns the id of the newest comment.
fn newest(table: &Table) -> String {
    table.investigation.comments().next_back().unwrap().id.to_string()
}

fn reply(table: &Table, kind: CommentKind, agent: &str) -> Say {
    let agent_id = Some(agent.to_owned());
    Say { reply_to: Some(newest(table)), agent_id, ..say(kind, "It was run again, with the same result.") }
}

#[test]
fn an_open_objection_contests_the_answers_that_rest_on_the_node() {
    for node in ["R1.A", "R2.A1", "R3.A1a"] {
        let mut table = answered();
        table.say(objection(node), Commenter::default()).unwrap();
        let found = table.assessment();
        assert_eq!(found.answers[0].against.len(), 1, "{node}");
    }
    let mut table = answered();
    table.grow(&[("R2.A2", "R1.A", "DEAD")]);
    table.say(objection("R2.A2"), Commenter::default()).unwrap();
    assert_eq!(table.assessment().answers[0].against, []);
}

#[test]
fn an_open_objection_is_warned_of_at_the_end_or_keeps_it_away() {
    let mut table = answered();
    table.say(objection("R2.A1"), Commenter::default()).unwrap();
    let id = newest(&table);
    let warned = table.clone().try_end().unwrap();
    assert_snapshot!(told(&warned.warnings).replace(&id, "ID"), @"OBJECTION_OPEN R2.A1: a reader objects to R2.A1: “The cache was warm”. Check it, fix what is wrong with tot_amend or tot_reclassify, and answer it: tot_comment with kind answer and replyTo ID.");
    // Also after the investigation has ended; the conclusion stays.
    table.try_end().unwrap();
    let later = table.say(reply(&table, CommentKind::Answer, "agent-R2.A1"), Commenter::default());
    assert!(later.unwrap().event.is_some());
    assert!(table.investigation.end_in_force().is_some());
}

#[test]
fn who_wrote_a_node_answers_an_objection_to_it_and_does_not_resolve_it() {
    let mut table = answered();
    table.say(objection("R2.A1"), Commenter::default()).unwrap();
    let open = |table: &Table| objections::open(&table.investigation).len();
    let id = newest(&table);
    let own = table.say(reply(&table, CommentKind::Resolution, " Agent-R2.A1"), Commenter::default());
    assert_snapshot!(said(own).replace(&id, "ID"), @"RESOLVED_BY_AUTHOR R2.A1: An objection to R2.A1 must be resolved under a name other than that of R2.A1's author. Answer the objection; let somebody else check the answer and resolve it.");
    let nobody = Say { agent_id: None, ..reply(&table, CommentKind::Resolution, "") };
    assert!(said(table.say(nobody, Commenter::default())).contains("RESOLVED_BY_AUTHOR"));
    table.say(reply(&table, CommentKind::Answer, "agent-R2.A1"), Commenter::default()).unwrap();
    assert_eq!(open(&table), 1);
    // Replying to the answer counts as replying to the objection.
    let mut other = table.clone();
    other.say(reply(&table, CommentKind::Resolution, "agent-R3.A1a"), Commenter::default()).unwrap();
    assert_eq!(open(&other), 0);
    let mut other = table.clone();
    let by_person = Say { agent_id: None, ..reply(&table, CommentKind::Resolution, "") };
    other.say(by_person, person()).unwrap();
    assert_eq!(open(&other), 0);
}

/// A file written manually or by another program has no more effect than a call.
#[test]
fn a_resolution_by_the_author_that_is_there_all_the_same_resolves_nothing() {
    let mut table = answered();
    table.say(objection("R2.A1"), Commenter::default()).unwrap();
    table.caller = Caller { session: Some("s".into()), ..Caller::default() };
    table.say(reply(&table, CommentKind::Resolution, "another"), Commenter::default()).unwrap();
    assert_eq!(objections::open(&table.investigation).len(), 0);
    let forged = table.investigation.comments().map(|comment| {
        let mut comment = (**comment).clone();
        comment.author.agent_id = Some("agent-R2.A1".into());
        comment.into()
    });
    let forged: Vec<_> = forged.collect();
    let investigation = table.investigation.clone().with_comments(forged);
    assert_eq!(objections::open(&investigation).len(), 1);
}

#[test]
fn an_objection_is_a_task_until_it_is_answered() {
    let mut table = answered();
    table.say(objection("R2.A1"), Commenter::default()).unwrap();
    let plan = |table: &Table| {
        next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap().next_call
    };
    let task = plan(&table).unwrap();
    assert_snapshot!(worded(&task.reason), @"a reader objects to R2.A1: “The cache was warm”. Check it, fix what is wrong, and answer it.");
    assert!(matches!(task.call, LegalCall::Reply(ObjectionReply { kind: CommentKind::Answer, .. })));
    table.say(reply(&table, CommentKind::Answer, "agent-R2.A1"), Commenter::default()).unwrap();
    assert!(matches!(plan(&table).unwrap().call, LegalCall::End(_)));
    // Anyone who disagrees can say so, and it becomes a task again.
    table.say(reply(&table, CommentKind::Comment, "a reader"), Commenter::default()).unwrap();
    assert!(matches!(plan(&table).unwrap().call, LegalCall::Reply(_)));
}

#[test]
fn the_end_says_nothing_of_an_objection_that_no_answer_rests_on() {
    let mut table = answered();
    table.grow(&[("R2.A2", "R1.A", "DEAD")]);
    table.say(objection("R2.A2"), Commenter::default()).unwrap();
    assert_eq!(objections::open(&table.investigation).len(), 1);
    assert_eq!(told(&table.try_end().unwrap().warnings), "");
}

#[test]
fn where_the_rules_refuse_an_end_with_objections_another_is_asked_to_resolve_them() {
    let text = "version: 1\nname: strict\nsummary: S\nstates:\n- {name: YES, meaning: An answer, role: solution, \
                colour: green, terminal: true}\nobjections: reject\nchecks: {suspicious: \"off\"}\nend: {minRounds: 1}\n";
    let mut table = Table::of(RulesetFile::parse(text).unwrap(), Default::default());
    table.grow(&[("R1.A", "", "YES")]);
    table.say(objection("R1.A"), Commenter::default()).unwrap();
    table.say(reply(&table, CommentKind::Answer, "agent-R1.A"), Commenter::default()).unwrap();
    let id = table.investigation.comments().next().unwrap().id.to_string();
    assert_snapshot!(said(table.try_end()).replace(&id, "ID"), @"OBJECTION_OPEN R1.A: a reader objects to R1.A: “The cache was warm”. It has been answered, but stays open until someone other than R1.A's author resolves it: tot_comment with kind resolution and replyTo ID.");
    let plan = next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap();
    let task = plan.next_call.unwrap();
    assert!(matches!(task.call, LegalCall::Reply(ObjectionReply { kind: CommentKind::Resolution, .. })));
    table.say(reply(&table, CommentKind::Resolution, "a judge"), Commenter::default()).unwrap();
    table.try_end().unwrap();
}

#[test]
fn what_is_said_must_fit() {
    let mut table = answered();
    let mut refused = |request: Say| said(table.say(request, Commenter::default()));
    let cases = [
        refused(objection("R9.Z")),
        refused(say(CommentKind::Objection, "It is wrong.")),
        refused(say(CommentKind::Answer, "It is right.")),
        refused(Say { reply_to: Some("x".into()), ..say(CommentKind::Answer, "It is right.") }),
        refused(Say { reply_to: Some("x".into()), ..say(CommentKind::Resolution, "It is right.") }),
        refused(Say { node_id: Some("R1.A".into()), ..say(CommentKind::Objection, "no") }),
        refused(say(CommentKind::Comment, " ")),
        refused(say(CommentKind::Comment, "<what you say>")),
    ];
    assert_snapshot!(cases.join("\n"), @r#"
        NODE_NOT_FOUND: There is no node `R9.Z`. tot_status lists the nodes.
        INVALID_ARGUMENT: An objection needs a node. Name it with nodeId.
        INVALID_ARGUMENT: The answer names no comment. Name the comment with replyTo; call tot_read on the node to list its comments.
        COMMENT_NOT_FOUND: There is no comment `x`. Call tot_read on the node to list its comments.
        COMMENT_NOT_FOUND: There is no objection `x`. Call tot_read on the node to list its comments.
        INVALID_ARGUMENT: The text of the objection says nothing. Say in a sentence what is meant, and why.
        INVALID_ARGUMENT: The text of the comment says nothing. Say in a sentence what is meant, and why.
        INVALID_ARGUMENT: The text of the comment says nothing. Say in a sentence what is meant, and why.
        "#);
    assert!(
        table.say(say(CommentKind::Comment, "Good work."), Commenter::default()).unwrap().event.is_some()
    );
    assert!(
        table.say(say(CommentKind::Comment, "Good work."), Commenter::default()).unwrap().event.is_none()
    );
    assert!(table.say(say(CommentKind::Comment, "Good work."), person()).unwrap().event.is_some());
}

#[test]
fn what_an_agent_says_is_not_told_as_of_the_person_whom_git_names() {
    let by = |caller: Caller, agent_id: Option<&str>| {
        let agent_id = agent_id.map(str::to_owned);
        Commenter { name: "Maria".into(), caller, agent_id, ..Commenter::default() }.label().to_owned()
    };
    let client = || Caller { client: Some("claude-code/2.1.154".into()), ..Caller::default() };
    assert_eq!(by(Caller::of_person("Maria", None), None), "Maria");
    assert_eq!(by(client(), None), "claude-code");
    assert_eq!(by(client(), Some("reviewer-1")), "reviewer-1");
    assert_eq!(by(Caller::default(), None), "Maria");
}
