//! The order and content of what reviewers are shown.

use insta::assert_snapshot;
use tree_of_thoughts::decide::amend::Amend;
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::domain::{Caller, CommentKind, Commenter, Investigation};
use tree_of_thoughts::report::review::review;
use tree_of_thoughts::service::project::ProjectEvidence;
use tree_of_thoughts::view::NodeView;

use crate::support::table::{Table, found};

fn told(before: Option<&Investigation>, table: &Table) -> String {
    let items = review(before, &table.investigation, Some(&table.rules()), &ProjectEvidence::default());
    let mut text = String::new();
    for item in items {
        let node = item.node.map_or_else(|| "the whole".to_owned(), |node| node.to_string());
        text.push_str(&format!("{node}: {}\n", item.title));
        for note in item.notes {
            text.push_str(&format!("  {} - {}\n", note.risk.label(), note.text));
        }
    }
    text
}

fn object(table: &mut Table, node: &str) {
    let objection = Say {
        node_id: Some(node.into()),
        kind: CommentKind::Objection,
        text: "The cache\nwas warm.".into(),
        ..Say::default()
    };
    let maria =
        Commenter { name: "Maria".into(), caller: Caller::of_person("Maria", None), ..Commenter::default() };
    table.say(objection, maria).unwrap();
}

#[test]
fn what_is_new_is_told_with_the_riskiest_first() {
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "FOUND"), ("R2.A2", "R1.A", "EXPLORE"), ("R2.A3", "R1.A", "DEAD")]);
    table.grow(&[("R3.A1a", "R2.A1", "VERIFY")]);
    let seen = table.investigation.clone();
    assert_eq!(told(Some(&seen), &table), "");

    table.try_propose(vec![crate::support::table::new("R3.A2b", "R2.A2")], &[]).unwrap();
    table.sleep(60);
    let mut own = found("R3.A2b", "FOUND");
    own.agent_id = None;
    table.try_commit(vec![own]).unwrap();
    table.reclassify("R2.A3", "EXPLORE");
    table.propose(&[("R3.A3a", "R2.A3")]);
    let headline = Amend {
        node_id: Some("R2.A2".into()),
        headline: Some("Half of it".into()),
        reason: "Shorter.".into(),
        ..Amend::default()
    };
    table.try_amend(headline).unwrap();
    object(&mut table, "R1.A");
    assert_snapshot!(told(Some(&seen), &table), @"
    R2.A1: Title of R2.A1
      contested - Maria objects to R1.A: “The cache was warm”
    R3.A2b: Title of R3.A2b
      contested - Maria objects to R1.A: “The cache was warm”
      unconfirmed - an answer, not checked
      warning - MISSING_AGENT R3.A2b was committed without an agentId.
      changed - committed as FOUND
    R1.A: Title of R1.A
      objection - Maria objects: The cache was warm.
    R2.A3: Title of R2.A3
      turned - DEAD became EXPLORE: It was looked into once more.
    R2.A2: Half of it
      changed - amended (headline): Shorter.
    R3.A3a: Title of R3.A3a
      changed - proposed
    ");
}

#[test]
fn what_a_person_did_is_told_with_the_name() {
    let mut table = Table::in_mode("single-root", "smoke");
    table.caller = Caller::of_person("Ada", Some("ada@example.org".into()));
    table.propose(&[("R1.A", "")]);
    let seen = table.investigation.clone();
    table.sleep(60);
    table.try_commit(vec![NodeResult { agent_id: None, ..found("R1.A", "DEAD") }]).unwrap();
    table.reclassify("R1.A", "EXPLORE");
    let headline = Amend {
        node_id: Some("R1.A".into()),
        headline: Some("Half of it".into()),
        reason: "Shorter.".into(),
        ..Amend::default()
    };
    table.try_amend(headline).unwrap();
    assert_snapshot!(told(Some(&seen), &table), @"
        R1.A: Half of it
          turned - DEAD became EXPLORE, by Ada, a person: It was looked into once more.
          changed - amended (headline), by Ada, a person: Shorter.
          changed - committed as DEAD, by Ada, a person
        ");
    let root = table.investigation.nodes().next().unwrap();
    assert_snapshot!(NodeView::stored(root).amended[0].line(), @"2026-01-05T09:01:00.000Z by Ada, a person: Shorter.; headline before:");
}

#[test]
fn an_objection_that_was_seen_already_is_not_new() {
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "FOUND")]);
    table.grow(&[("R3.A1a", "R2.A1", "VERIFY")]);
    object(&mut table, "R1.A");
    let seen = table.investigation.clone();
    table.try_end().unwrap();
    assert_snapshot!(told(Some(&seen), &table), @r#"
        the whole: Why is the sky blue?
          conclusion - it was ended: Air scatters blue light.
        "#);
    assert!(told(None, &table).starts_with("R2.A1: Title of R2.A1\n  contested - Maria objects to R1.A"));
}
