//! The list of a root's investigations.

use serde_json::json;
use tree_of_thoughts::store::{ListFilter, ListState, Listing, Store};

use crate::support::{Sandbox, Session, node};

fn all() -> ListFilter {
    ListFilter { state: ListState::All, text: None, after: None, limit: 100 }
}

fn titles(listing: &Listing) -> Vec<&str> {
    let facts = listing.entries.iter().map(|entry| entry.facts.as_ref());
    facts.map(|facts| facts.map_or("-", |facts| &facts.title)).collect()
}

/// Starts investigations, each a minute after the previous one.
fn started(sandbox: &Sandbox, queries: &[&str]) -> Vec<Session> {
    let start = |query: &&str| {
        sandbox.sleep(60);
        Session::start(sandbox, json!({"query": query, "mode": "smoke"}))
    };
    queries.iter().map(start).collect()
}

#[test]
fn the_newest_stand_first_with_what_is_to_know_of_each() {
    let sandbox = Sandbox::new();
    let first = &mut started(&sandbox, &["Why is the sky blue?", "Why is grass green?"])[0];
    first.grow(&[("R1.A", None)], "EXPLORE");
    first.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    let store = Store::new(sandbox.root());
    for look in ["the first", "one from memory"] {
        let listing = store.list(&all()).unwrap();
        assert_eq!((listing.total, &listing.next), (2, &None), "{look}");
        assert_eq!(titles(&listing), ["Why is grass green?", "Why is the sky blue?"], "{look}");
        let sky = &listing.entries[1];
        assert_eq!(sky.id.unwrap().to_string(), first.id);
        assert_eq!(sky.fault, None);
        let facts = sky.facts.as_ref().unwrap();
        assert_eq!((facts.nodes, facts.round, facts.ended), (1, 1, false), "a proposal is no node yet");
        assert_eq!(facts.started_at.to_string(), "2026-01-05T09:01:00.000Z");
    }
}

#[test]
fn what_changed_since_the_last_look_is_seen() {
    let sandbox = Sandbox::new();
    let session = started(&sandbox, &["Why?"]).remove(0);
    let store = Store::new(sandbox.root());
    let total = |state| store.list(&ListFilter { state, ..all() }).unwrap().total;
    let end = "version: 2\nendedAt: 2026-01-05T10:00:00.000Z\n";
    session.write("conclusion.yaml", end);
    assert_eq!(total(ListState::Ended), 0, "the work tree is not what is committed");
    session.edit("conclusion.yaml", end);
    assert_eq!(total(ListState::Ended), 1);
    session.git(&["gc", "-q"]);
    assert_eq!((total(ListState::Ended), total(ListState::Open)), (1, 0));
    started(&sandbox, &["And why else?"]);
    assert_eq!(total(ListState::All), 2);
    std::fs::remove_dir_all(session.repository()).unwrap();
    assert_eq!(titles(&store.list(&all()).unwrap()), ["And why else?"]);
}

#[test]
fn pages_follow_each_other_while_investigations_are_added() {
    let sandbox = Sandbox::new();
    started(&sandbox, &["Question 0?", "Question 1?", "Question 2?", "Question 3?", "Question 4?"]);
    let store = Store::new(sandbox.root());
    let page = store.list(&ListFilter { limit: 2, ..all() }).unwrap();
    assert_eq!((titles(&page), page.total), (vec!["Question 4?", "Question 3?"], 5));
    started(&sandbox, &["Question 5?"]);
    let page = store.list(&ListFilter { limit: 2, after: page.next, ..all() }).unwrap();
    assert_eq!((titles(&page), page.total), (vec!["Question 2?", "Question 1?"], 6));
    let page = store.list(&ListFilter { limit: 2, after: page.next, ..all() }).unwrap();
    assert_eq!((titles(&page), &page.next), (vec!["Question 0?"], &None));
    for cursor in ["", "x", "/", "1", "99999999999999999999/x"] {
        let error = store.list(&ListFilter { after: Some(cursor.into()), ..all() }).unwrap_err();
        assert_eq!(error.hint().unwrap(), "Omit the cursor to start at the first page", "{error}");
    }
}

#[test]
fn words_are_looked_for_in_id_title_question_and_ruleset() {
    let sandbox = Sandbox::new();
    let long = format!("Why is the sky blue?{} INDIGO", " Say more.".repeat(500));
    let sessions = started(&sandbox, &[&long, "Why is grass green?"]);
    let store = Store::new(sandbox.root());
    let total = |text: &str| store.list(&ListFilter { text: Some(text.into()), ..all() }).unwrap().total;
    for (text, expected) in [
        ("", 2),
        ("SKY", 1),
        ("blue sky", 1),
        ("sky green", 0),
        ("indigo", 1),
        (&sessions[0].id[20..], 1),
        ("nowhere", 0),
    ] {
        assert_eq!(total(text), expected, "{text}");
    }
}

#[test]
fn damage_is_listed_and_keeps_nothing_out() {
    let sandbox = Sandbox::new();
    let sessions = started(&sandbox, &["Question 0?", "Question 1?", "Question 2?", "Question 3?"]);
    // A file that can't be read, a missing one, and a folder that is no longer a repository.
    sessions[0].edit("investigation.yaml", "version: 2\nid: [\n");
    sessions[1].git(&["rm", "-q", "investigation.yaml"]);
    sessions[1].git(&["commit", "-qm", "By hand"]);
    std::fs::remove_file(sessions[2].repository().join(".git/HEAD")).unwrap();
    // Entries that are not investigations: a file, a folder, another repository, and a clone in progress.
    std::fs::write(sandbox.root().join("notes.txt"), "x").unwrap();
    std::fs::create_dir(sandbox.root().join("folder")).unwrap();
    sandbox.git(&sandbox.root(), &["clone", "-q", &sessions[1].id, "other"]);
    sandbox.git(&sandbox.root(), &["init", "-q", "begun"]);
    let listing = Store::new(sandbox.root()).list(&all()).unwrap();
    assert_eq!(titles(&listing), ["Question 3?", "-", "-", "-"]);
    let faults: Vec<&str> =
        listing.entries.iter().map(|entry| entry.fault.as_deref().unwrap_or_default()).collect();
    assert_eq!(faults[0], "");
    assert!(faults[1].contains("is not a git repository"), "{faults:?}");
    assert_eq!(faults[2], "investigation.yaml is missing");
    assert!(faults[3].starts_with("investigation.yaml:"), "{faults:?}");
    for (entry, session) in listing.entries.iter().zip(sessions.iter().rev()) {
        assert_eq!(entry.id.unwrap().to_string(), session.id, "its folder's name says which it is");
    }
    let open = ListFilter { state: ListState::Open, ..all() };
    assert_eq!(Store::new(sandbox.root()).list(&open).unwrap().total, 4, "nothing says that they have ended");
}

#[test]
fn one_id_in_two_folders_is_a_fault_of_both() {
    let sandbox = Sandbox::new();
    let id = started(&sandbox, &["Why?"]).remove(0).id;
    sandbox.git(&sandbox.root(), &["clone", "-q", &id, "copy"]);
    let listing = Store::new(sandbox.root()).list(&all()).unwrap();
    assert_eq!(titles(&listing), ["Why?", "Why?"]);
    for (entry, other) in listing.entries.iter().zip(listing.entries.iter().rev()) {
        let fault = entry.fault.as_deref().unwrap();
        assert!(fault.ends_with(&other.path.display().to_string()), "{fault}");
    }
}

#[test]
fn a_root_that_is_not_there_is_empty() {
    let sandbox = Sandbox::new();
    let store = Store::new(sandbox.root());
    assert_eq!(store.list(&all()).unwrap(), Listing { entries: Vec::new(), total: 0, next: None });
    std::fs::write(sandbox.root(), "x").unwrap();
    assert!(store.list(&all()).is_err());
}
