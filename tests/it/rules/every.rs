//! What holds in every ruleset, and what depends on the project's files.

use std::fmt::Write;

use insta::assert_snapshot;
use tree_of_thoughts::decide::citing::cited_by_results;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::{Caller, CitedPath, Commenter, LookedUp, Pin};
use tree_of_thoughts::format::readme::readme;
use tree_of_thoughts::ruleset::builtin;
use tree_of_thoughts::ruleset::rules::objections;

use super::table::Table;
use super::transcripts::said;

/// Returns the codes in a reply.
fn codes(reply: &str) -> String {
    reply.lines().filter_map(|line| line.split([' ', ':']).nth(2)).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_ruleset_refuses_what_does_not_fit_and_stores_early_states_as_it_says() {
    let mut told = String::new();
    for file in builtin::all() {
        let ruleset = &file.ruleset;
        let open = ruleset.states.iter().find(|state| !state.terminal).unwrap().name.as_str();
        let terminal = ruleset.states.iter().find(|state| state.terminal).unwrap().name.as_str();
        let min_roots = ruleset.roots.min_is_chosen.then_some(1);
        let request = Start { query: "Why?".into(), min_roots, ..Start::default() };
        let started = Table::started(file.clone(), request).unwrap();
        let mut table = started.clone();
        table.call("propose R1.A");
        let doubts = codes(&table.call(&format!("commit {{nodeId: R1.A, state: {open}, agentId: null}}")));
        writeln!(told, "{} at once and without an agent: {doubts}", ruleset.name).unwrap();
        table.call(&format!("commit R1.A {open}"));
        assert_eq!(codes(&table.call("propose")), "EMPTY_BATCH");
        assert_eq!(codes(&table.call("propose {id: R2.A!, parent: R1.A}")), "INVALID_ID_FORMAT");
        assert_eq!(codes(&table.call(&format!("commit R2.A9 {open}"))), "NOT_PROPOSED");
        assert!(!table.call("owed").contains("NO_NODES"));
        table.call("propose R2.A1");
        assert!(table.call(&format!("reclassify R1.A {terminal}")).contains("HAS_CHILDREN R1.A"));
        for state in &ruleset.states {
            let mut above = started.clone();
            write!(told, "  {}:", state.name).unwrap();
            for id in ["R1.A", "R2.A1", "R3.A1a", "R4.A1a1", "R5.A1a1a"] {
                let mut table = above.clone();
                table.call(&format!("propose {id}"));
                table.sleep(60);
                let reply = codes(&table.call(&format!("commit {id} {}", state.name)));
                let stored = table.node(id).state().map_or("refused", |state| state.as_str());
                write!(told, " {stored} ({reply})").unwrap();
                above.call(&format!("grow {id} {open}"));
            }
            told.push('\n');
        }
    }
    assert_snapshot!(told.replace(" ()", ""));
}

/// Commits findings for R2.A2, whose citations are looked up like this. Returns the reply and what is stored.
fn citing(findings: &str, known: impl Fn(CitedPath) -> Option<LookedUp>) -> String {
    let mut table = Table::new("single-root");
    table.call("grow R1.A EXPLORE");
    table.call("propose R2.A1");
    table.sleep(60);
    let result = NodeResult {
        node_id: "R2.A1".into(),
        state: "EXPLORE".into(),
        findings: findings.into(),
        agent_id: Some("agent".into()),
        ..NodeResult::default()
    };
    let cited = cited_by_results(std::slice::from_ref(&result));
    table.known = cited.into_iter().filter_map(|it| Some((it.clone(), known(it)?))).collect();
    let reply = said(table.commit(vec![result]));
    reply + &table.call("show R2.A1, references, warnings")
}

fn pin() -> Pin {
    let blob = "0".repeat(40);
    Pin { path: "src/a.rs".into(), commit: None, blob, uncommitted: true, lines: None, text: None }
}

#[test]
fn citations_that_are_not_as_they_are_said_to_be() {
    let missing = "Found.\n\n## References\n- src/a.rs:9\n- src/b.rs:2";
    let missing = citing(missing, |cited| Some(LookedUp::Missing(format!("{} is not there", cited.path))));
    let ignored = "Found.\n\n## References\n- keys.tfvars:2";
    let ignored = citing(ignored, |cited| Some(LookedUp::Ignored(cited.path)));
    let unread =
        citing("Found.\n\n## References\n- src/a.rs:9", |_| Some(LookedUp::Unread("fatal: x".into())));
    // A name is not a quote.
    let quotes =
        "Found.\n\n## References\n- src/a.rs:9 - `let n = 3;` is the number\n- src/b.rs:2 - `connect()`";
    let misquoted = citing(quotes, |cited| {
        Some(LookedUp::Misquoted(pin(), format!("“{}” is not at src/a.rs:9", cited.quote?)))
    });
    assert_snapshot!([missing, ignored, misquoted, unread].join("\n"));
}

#[test]
fn an_answer_that_cites_a_file_of_the_project_is_not_of_words_alone() {
    let mut table = Table::new("review");
    let path = CitedPath { path: "src/a.rs".into(), lines: None, ..CitedPath::default() };
    table.known.insert(path, LookedUp::Found(pin()));
    table.call("propose R1.A");
    let reply = table.call("commit {nodeId: R1.A, state: ANSWER, references: [{target: src/a.rs}]}");
    assert_eq!(codes(&reply), "");
}

/// A file written manually or by another program has no more effect than a call.
#[test]
fn a_resolution_by_the_author_that_is_there_all_the_same_resolves_nothing() {
    let mut table = Table::new("review");
    table.caller = Caller { session: Some("s".into()), ..Caller::default() };
    table.call("grow R1.A ANSWER");
    table.call("comment {kind: objection, nodeId: R1.A}");
    table.call("comment {kind: resolution, replyTo: newest, agentId: another}");
    assert!(objections::open(&table.investigation).is_empty());
    let forged = table.investigation.comments().map(|comment| {
        let mut comment = (**comment).clone();
        comment.author.agent_id = Some("agent-R1.A".into());
        comment.into()
    });
    let forged = table.investigation.clone().with_comments(forged.collect::<Vec<_>>());
    assert_eq!(objections::open(&forged).len(), 1);
}

#[test]
fn what_an_agent_says_is_not_told_as_of_the_person_whom_git_names() {
    let by = |caller: Caller, agent_id: Option<&str>| {
        let agent_id = agent_id.map(str::to_owned);
        Commenter { name: "Maria".into(), caller, agent_id, ..Commenter::default() }.label().into_owned()
    };
    let client = || Caller { client: Some("claude-code/2.1.154".into()), ..Caller::default() };
    assert_eq!(by(Caller::of_person("Maria", None), None), "Maria (a person)");
    assert_eq!(by(client(), None), "claude-code");
    assert_eq!(by(client(), Some("reviewer-1")), "reviewer-1");
    assert_eq!(by(Caller::default(), None), "Maria");
}

#[test]
fn the_page_for_forges_tells_each_confirmation_for_what_it_is() {
    let mut table = Table::new("review");
    table.call("grow {nodeId: R1.A, state: ANSWER, agentId: researcher}");
    table.call("grow R2.A1 CONFIRMED, {nodeId: R2.A2, state: CONFIRMED, agentId: researcher}");
    table.call("end {stopped: {reason: enough}}");
    let page = readme(&table.investigation, &table.rules());
    let told = "confirmed by another agent, same session: [R2.A1](<nodes/R2/R2.A1.yaml>), [R2.A2](<nodes/R2/R2.A2.yaml>) (checked only by its author)";
    assert!(crate::support::short(&page).contains(told), "{page}");
}
