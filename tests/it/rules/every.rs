//! Rules that apply in every ruleset.

use insta::assert_snapshot;
use tree_of_thoughts::decide::citing::cited_by_results;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::end::{End, end};
use tree_of_thoughts::decide::propose::{NewNode, Propose, propose};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::{CitedPath, LookedUp, Pin};
use tree_of_thoughts::ruleset::builtin;

use crate::support::table::{Table, codes, found, new, said, start_of, told};

/// Returns an investigation in the default ruleset with an open root and an open child.
fn tree() -> Table {
    let mut table = Table::new("single-root");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "EXPLORE")]);
    table
}

/// Returns [`tree`], a minute after three more nodes were proposed.
fn with_pending() -> Table {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A"), ("R2.A3", "R1.A"), ("R2.A4", "R1.A")]);
    table.sleep(60);
    table
}

/// Returns the warning codes stored with the result of R2.A2.
fn stored(table: &Table) -> Vec<String> {
    let result = table.node("R2.A2").classification.as_ref().unwrap();
    result.warnings.iter().map(|warning| warning.code.to_string()).collect()
}

/// Commits findings for R2.A2, whose citations are looked up like this.
fn citing(findings: &str, known: impl Fn(CitedPath) -> Option<LookedUp>) -> (Table, String) {
    let mut table = with_pending();
    let result = NodeResult { findings: findings.into(), ..found("R2.A2", "EXPLORE") };
    let cited = cited_by_results(std::slice::from_ref(&result));
    table.known = cited.into_iter().filter_map(|it| Some((it.clone(), known(it)?))).collect();
    let said = said(table.try_commit(vec![result]));
    (table, said)
}

/// Returns a small investigation that has ended.
fn ended() -> Table {
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "DEAD")]);
    assert_eq!(table.end(), "");
    table
}

/// In each ruleset, with the required number of roots in the first open state.
fn in_each(check: impl Fn(&str, Table)) {
    for file in builtin::all() {
        let name = file.ruleset.name.as_str();
        let mut table = Table::new(name);
        let open = file.ruleset.states.iter().find(|state| !state.terminal).unwrap().name.to_string();
        let ids: Vec<String> =
            ('A'..).take(table.rules().min_roots() as usize).map(|letter| format!("R1.{letter}")).collect();
        let roots: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "", open.as_str())).collect();
        table.grow(&roots);
        check(&open, table);
    }
}

// Starting.

#[test]
fn a_start_asks_for_a_query_and_known_settings() {
    assert_eq!(start_of("single-root", Start { query: "q".into(), ..Start::default() }), "");
    let request = Start {
        query: " ".into(),
        mode: Some("fast".into()),
        min_rounds: Some(3),
        min_roots: Some(2),
        title: Some("x".repeat(301)),
        context: Some("x".repeat((1 << 20) + 1)),
        ..Start::default()
    };
    assert_snapshot!(start_of("single-root", request), @"
    INVALID_ARGUMENT: query is empty. Say what to find out, in a sentence or more.
    INVALID_ARGUMENT: mode: single-root has no mode `fast`. Choose one of deep, exhaustive, smoke, or leave it out.
    INVALID_ARGUMENT: minRoots: single-root fixes it at 1. Leave minRoots out.
    TEXT_TOO_LONG: The title has 301 characters; the limit is 300. Shorten it, and say the rest in the query.
    TEXT_TOO_LONG: context has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    ");
    let request = Start {
        query: "q".into(),
        min_rounds: Some(21),
        allow_early_terminal: Some(true),
        ..Start::default()
    };
    assert_snapshot!(start_of("drill", request), @"
    INVALID_ARGUMENT: minRounds is 21; the limit is 20. Ask for fewer rounds.
    INVALID_ARGUMENT: allowEarlyTerminal: drill converts no states, so there is nothing to allow. Leave allowEarlyTerminal out.
    ");
}

// Proposing.

#[test]
fn empty_batch() {
    assert_snapshot!(said(tree().try_propose(vec![], &[])), @"EMPTY_BATCH: The call has no nodes to propose or withdraw. Give `nodes` with at least one {id, parent, title, plannedAction}.");
    assert_snapshot!(said(tree().try_commit(vec![])), @"EMPTY_BATCH: The call has no results. Give `results` with at least one {nodeId, state, findings, agentId}.");
    in_each(|_, mut table| assert_eq!(codes(&said(table.try_propose(vec![], &[]))), ["EMPTY_BATCH"]));
}

#[test]
fn invalid_id_format() {
    assert_snapshot!(tree().propose(&[("", "R1.A"), ("R2.A-1", "R1.A")]), @"
    INVALID_ID_FORMAT: `` is not of the form R<round>.<suffix>: it does not begin with a capital R. Ids are R<round>.<suffix>, for example R1.A, its child R2.A1, and its child R3.A1a.
    INVALID_ID_FORMAT R2.A-1: `R2.A-1` is not of the form R<round>.<suffix>: the suffix may contain only A-Z, a-z and 0-9. Ids are R<round>.<suffix>, for example R1.A, its child R2.A1, and its child R3.A1a.
    ");
    in_each(|_, mut table| assert_eq!(codes(&table.propose(&[("R2.A!", "R1.A")])), ["INVALID_ID_FORMAT"]));
    assert_eq!(codes(&tree().propose(&[("R2.A2zZ9", "R1.A")])), ["R2_BREADTH"]);
}

#[test]
fn duplicates() {
    let mut table = tree();
    assert_snapshot!(table.propose(&[("R2.A2", "R1.A"), ("R2.A2", "R1.A")]), @"DUPLICATE_IN_BATCH R2.A2: R2.A2 is in the batch twice. Give each node its own id.");
    assert_snapshot!(table.propose(&[("R2.A1", "R1.A")]), @"DUPLICATE_ID R2.A1: R2.A1 is already committed. To change its state, use tot_reclassify; a new node below its parent could be R2.A2.");
    assert_snapshot!(table.propose(&[("R1.A", "")]), @"DUPLICATE_ID R1.A: R1.A is already committed. To change its state, use tot_reclassify; a new node needs another id.");
    assert_eq!(codes(&table.propose(&[("R2.A2", "R1.A")])), ["R2_BREADTH"]);
    // A pending node is replaced, and its time starts again.
    table.sleep(5);
    assert_eq!(codes(&table.propose(&[("R2.A2", "R1.A")])), ["R2_BREADTH"]);
    assert_eq!(table.node("R2.A2").proposed_at, table.now);
    assert_snapshot!(said(table.try_propose(vec![new("R2.A2", "R1.A")], &["R2.A2"])), @"DUPLICATE_IN_BATCH R2.A2: R2.A2 is proposed and withdrawn in one call. Proposing a pending id already replaces the proposal: leave it out of `withdraw`.");
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R2.A2", "EXPLORE"), ("R2.A2", "EXPLORE")]), @"DUPLICATE_IN_BATCH R2.A2: `R2.A2` is in the batch twice. Give one result per node.");
}

#[test]
fn id_case_collision() {
    let mut table = tree();
    table.propose(&[("R2.A1b", "R1.A")]);
    assert_snapshot!(table.propose(&[("R2.A1B", "R1.A"), ("R2.A3x", "R1.A"), ("R2.A3X", "R1.A")]), @"
    ID_CASE_COLLISION R2.A1B: R2.A1B differs from R2.A1b only in letter case. A repository with both can't be checked out on macOS or Windows. Choose another suffix.
    ID_CASE_COLLISION R2.A3X: R2.A3X differs from R2.A3x only in letter case. A repository with both can't be checked out on macOS or Windows. Choose another suffix.
    ");
    // Proposals withdrawn in the same call do not count.
    assert_eq!(codes(&said(table.try_propose(vec![new("R2.A1B", "R1.A")], &["R2.A1b"]))), ["R2_BREADTH"]);
}

#[test]
fn the_parent_must_be_committed_and_open() {
    let mut table = ended();
    table.reclassify("R2.A1", "EXPLORE");
    table.reclassify("R2.A1", "DEAD");
    table.propose(&[("R2.A2", "R1.A")]);
    assert_snapshot!(table.propose(&[("R3.A1a", "R2.A1"), ("R3.A2a", "R2.A2"), ("R3.A9a", "R2.A9"), ("R3.xa", "x")]), @"
    TERMINAL_PARENT R3.A1a: R2.A1 is DEAD, which takes no children. Propose below an open node, or revive R2.A1 with tot_reclassify.
    PARENT_NOT_FOUND R3.A2a: The parent R2.A2 is only proposed. Commit R2.A2 first, then propose below it.
    PARENT_NOT_FOUND R3.A9a: The parent `R2.A9` is not a committed node. Use the id of a committed node, or null for a root in round 1.
    PARENT_NOT_FOUND R3.xa: The parent `x` is not a committed node. Use the id of a committed node, or null for a root in round 1.
    ");
    assert_eq!(table.propose(&[("R2.A3", "R1.A")]), "");
}

#[test]
fn round_mismatch() {
    assert_snapshot!(tree().propose(&[("R3.A2", "R1.A"), ("R2.A1a", "R2.A1"), ("R2.B", ""), ("R9.A7", "R1.A")]), @"
    ROUND_MISMATCH R3.A2: R3.A2 is in round 3, but children of R1.A belong in round 2. Use an id like R2.A2.
    ROUND_MISMATCH R2.A1a: R2.A1a is in round 2, but children of R2.A1 belong in round 3. Use an id like R3.A1a.
    ROUND_MISMATCH R2.B: R2.B is in round 2 but has no parent; only round 1 has roots. Name its parent, or give it an id in round 1.
    ROUND_MISMATCH R9.A7: R9.A7 is in round 9, but children of R1.A belong in round 2. Use an id like R2.A2.
    ");
    assert_eq!(tree().propose(&[("R3.A1a", "R2.A1")]), "");
}

#[test]
fn id_parent_mismatch() {
    assert_snapshot!(tree().propose(&[("R2.B1", "R1.A"), ("R2.A", "R1.A"), ("R2.a2", "R1.A")]), @"
    ID_PARENT_MISMATCH R2.B1: The suffix of R2.B1 does not extend that of its parent R1.A. Use an id like R2.A2.
    ID_PARENT_MISMATCH R2.A: The suffix of R2.A does not extend that of its parent R1.A. Use an id like R2.A2.
    ID_PARENT_MISMATCH R2.a2: The suffix of R2.a2 does not extend that of its parent R1.A. Use an id like R2.A2.
    ");
}

#[test]
fn texts() {
    let mut table = tree();
    let node = |title: &str, planned_action: String| NewNode {
        title: title.into(),
        planned_action,
        ..new("R3.A1a", "R2.A1")
    };
    assert_snapshot!(said(table.try_propose(vec![node(" \n", String::new())], &[])), @"MISSING_TITLE R3.A1a: `R3.A1a` has no title. Give it a title of one line.");
    assert_snapshot!(said(table.try_propose(vec![node(&"é".repeat(301), "x".repeat((1 << 20) + 1))], &[])), @"
    TEXT_TOO_LONG R3.A1a: plannedAction has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    TEXT_TOO_LONG R3.A1a: The title has 301 characters; the limit is 300. Shorten it, and say the rest in plannedAction.
    ");
    assert_eq!(said(table.try_propose(vec![node(&"é".repeat(300), "x".repeat(1 << 20))], &[])), "");
    table.sleep(60);
    let long = || Some("x".repeat((1 << 20) + 1));
    let results = vec![NodeResult {
        findings: long().unwrap(),
        evidence: long(),
        verification_method: long(),
        agent_id: long(),
        alternatives_considered: vec![String::new(), long().unwrap()],
        ..found("R3.A1a", "EXPLORE")
    }];
    assert_snapshot!(said(table.try_commit(results)), @"
    TEXT_TOO_LONG R3.A1a: findings has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    TEXT_TOO_LONG R3.A1a: evidence has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    TEXT_TOO_LONG R3.A1a: verificationMethod has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    TEXT_TOO_LONG R3.A1a: agentId has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    TEXT_TOO_LONG R3.A1a: alternativesConsidered has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.
    ");
    let request = Reclassify {
        node_id: "R2.A1".into(),
        new_state: "FOUND".into(),
        reason: long(),
        ..Reclassify::default()
    };
    assert_snapshot!(said(table.try_reclassify(request)), @"TEXT_TOO_LONG R2.A1: reason has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.");
    let request = End { conclusion: long(), ..End::default() };
    let refused = end(&table.investigation, &table.rules(), request, table.now).unwrap_err();
    assert_snapshot!(told(&refused.errors[refused.errors.len() - 1..]), @"TEXT_TOO_LONG: conclusion has 1048577 bytes; the limit is 1048576. Shorten it, or keep the long material in a file and cite its path.");
}

#[test]
fn an_ended_investigation_takes_nothing_until_it_is_reopened() {
    let mut table = ended();
    assert_snapshot!(table.propose(&[("R2.A2", "R1.A")]), @"INVESTIGATION_ENDED: This investigation was ended at 2026-01-05T09:02:00.000Z. To continue it, reclassify a node to an open state; otherwise start a new investigation.");
    assert_snapshot!(table.reclassify("R1.A", "DEAD"), @"
    INVESTIGATION_ENDED R1.A: This investigation has ended; DEAD would not reopen it. Reclassify a node to an open state first.
    HAS_CHILDREN R1.A: R1.A has children (R2.A1), and DEAD takes none. A node with committed children stays open: close the leaves below it instead.
    ");
    assert_eq!(codes(&table.commit(&[("R2.A1", "DEAD")])), ["INVESTIGATION_ENDED"]);
    assert_eq!(table.end(), "");
    assert_eq!(table.blockers(), "");
    assert_eq!(table.reclassify("R2.A1", "EXPLORE"), "");
    assert!(table.investigation.conclusion().is_none());
    assert_eq!(table.propose(&[("R2.A2", "R1.A")]), "");
}

#[test]
fn a_second_conclusion_is_not_stored_unseen() {
    let table = ended();
    let again = |conclusion: Option<&str>| {
        let request = End { conclusion: conclusion.map(str::to_owned), ..End::default() };
        said(end(&table.investigation, &table.rules(), request, table.now))
    };
    assert_eq!(again(None), "");
    assert_snapshot!(again(Some("It was the cable.")), @"ALREADY_ENDED: The investigation already ended at 2026-01-05T09:02:00.000Z; nothing was stored. To change it, call tot_amend with `conclusion`, `answers` or `notCovered`. To continue, reclassify a node to an open state, then end the investigation again.");
}

#[test]
fn a_file_that_cannot_be_read_is_not_free_and_not_done() {
    let mut table = tree();
    table.investigation = table.investigation.clone().with_unreadable(["R2.A2".parse().unwrap()]);
    assert_snapshot!(table.propose(&[("R2.A2", "R1.A")]), @"DUPLICATE_ID R2.A2: R2.A2 has a file that can't be read or has no place in the tree. Choose another suffix, or fix that file by hand and commit it; tot_status names the problem.");
    assert!(
        table
            .blockers()
            .contains("UNREADABLE_NODE R2.A2: The file of R2.A2 can't be read or has no place in the tree.")
    );
}

#[test]
fn an_agent_who_only_changed_a_state_is_known_too() {
    let mut table = tree();
    let mut request =
        Reclassify { node_id: "R2.A1".into(), new_state: "DEAD".into(), ..Reclassify::default() };
    request.agent_id = Some("judge".into());
    table.try_reclassify(request).unwrap();
    table.propose(&[("R2.A2", "R1.A")]);
    table.sleep(60);
    let finding = NodeResult { agent_id: Some(" judge ".into()), ..found("R2.A2", "EXPLORE") };
    assert!(said(table.try_commit(vec![finding])).contains("REUSED_AGENT"));
}

#[test]
fn withdrawing() {
    let mut table = tree();
    assert_snapshot!(said(table.try_propose(vec![], &["R2.A2", "x"])), @"
    NOT_PROPOSED R2.A2: `R2.A2` is not a pending proposal, so it can't be withdrawn. No proposal is pending: propose nodes with tot_propose first.
    NOT_PROPOSED x: `x` is not a pending proposal, so it can't be withdrawn. No proposal is pending: propose nodes with tot_propose first.
    ");
    table.propose(&[("R2.A2", "R1.A"), ("R2.A3", "R1.A")]);
    assert_snapshot!(said(table.try_propose(vec![], &["R2.A1"])), @"NOT_PROPOSED R2.A1: `R2.A1` is not a pending proposal, so it can't be withdrawn. Pending: R2.A2, R2.A3.");
    assert_eq!(said(table.try_propose(vec![], &["R2.A2", "R2.A2"])), "");
    assert!(table.blockers().contains("PENDING_PROPOSALS: Proposed, but not committed: R2.A3."));
    assert_eq!(said(table.try_propose(vec![], &["R2.A3"])), "");
    assert!(!table.blockers().contains("PENDING_PROPOSALS"));
}

#[test]
fn a_fault_rejects_the_whole_batch_and_all_faults_are_told() {
    let table = tree();
    let request = Propose {
        nodes: vec![new("R2.A2", "R1.A"), new("R4.A", "R9.A"), NewNode::default()],
        withdraw: vec![],
    };
    let refused = propose(&table.investigation, &table.rules(), request, table.now).unwrap_err();
    assert_snapshot!(told(&refused.errors), @"
    PARENT_NOT_FOUND R4.A: The parent `R9.A` is not a committed node. Use the id of a committed node, or null for a root in round 1.
    MISSING_TITLE: A node has no title. Give it a title of one line.
    INVALID_ID_FORMAT: `` is not of the form R<round>.<suffix>: it does not begin with a capital R. Ids are R<round>.<suffix>, for example R1.A, its child R2.A1, and its child R3.A1a.
    ");
}

// Committing.

#[test]
fn not_proposed() {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A")]);
    assert_snapshot!(table.commit(&[("R2.A1", "EXPLORE"), ("R2.A9", "EXPLORE"), ("x", "EXPLORE")]), @"
    NOT_PROPOSED R2.A1: R2.A1 is already committed as EXPLORE. If you had claimed it, give `claimed: true` to store your result next to it; to change its state, use tot_reclassify. Pending: R2.A2.
    NOT_PROPOSED R2.A9: `R2.A9` was not proposed. Pending: R2.A2.
    NOT_PROPOSED x: `x` was not proposed. Pending: R2.A2.
    ");
    in_each(|open, mut table| assert_eq!(codes(&table.commit(&[("R2.A9", open)])), ["NOT_PROPOSED"]));
}

#[test]
fn unknown_state() {
    let mut table = with_pending();
    assert_snapshot!(table.commit(&[("R2.A2", "SOLVED")]), @"UNKNOWN_STATE R2.A2: `SOLVED` is not a state of single-root. The states are EXPLORE, FOUND, VERIFY, EXHAUST, DEAD.");
    assert_snapshot!(table.reclassify("R2.A1", ""), @"UNKNOWN_STATE R2.A1: `` is not a state of single-root. The states are EXPLORE, FOUND, VERIFY, EXHAUST, DEAD.");
    assert!(!table.commit(&[("R2.A2", " explore ")]).contains("UNKNOWN_STATE"));
}

#[test]
fn a_parent_that_was_closed_meanwhile() {
    // Only a merge of two clones can cause this: a pending child keeps its parent open.
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    let mut other = Table::in_mode("single-root", "smoke");
    other.grow(&[("R1.A", "", "DEAD")]);
    table.propose(&[("R2.A1", "R1.A")]);
    let change = tree_of_thoughts::domain::Change::Node(other.node("R1.A").clone().into());
    table.investigation = table.investigation.with(&[change]);
    table.sleep(60);
    assert_snapshot!(table.commit(&[("R2.A1", "EXPLORE")]), @"TERMINAL_PARENT R2.A1: R1.A has become DEAD since R2.A1 was proposed. Withdraw the proposal (tot_propose with `withdraw: [R2.A1]`), or revive R1.A with tot_reclassify.");
    table.reclassify("R1.A", "EXPLORE");
    assert_eq!(codes(&table.commit(&[("R2.A1", "EXPLORE")])), ["INCOMPLETE_EXPLORE"]);
}

#[test]
fn doubts_about_who_did_the_research_and_how_fast() {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A"), ("R2.A3", "R1.A"), ("R2.A4", "R1.A")]);
    table.sleep(9);
    let results = vec![
        NodeResult { agent_id: Some("agent-R2.A1".into()), ..found("R2.A2", "EXPLORE") },
        NodeResult { agent_id: Some(" ".into()), ..found("R2.A3", "EXPLORE") },
    ];
    assert_snapshot!(said(table.try_commit(results)), @"
    SUSPICIOUS R2.A2: R2.A2 was committed 9.0 s after it was proposed; research takes 10 s or more. Research a node between its proposal and its commit, or say when it began (`startedAt`) or what was run (`commands`).
    REUSED_AGENT R2.A2: R2.A2 was committed by agent-R2.A1, who already researched R2.A1. If you have sub-agents, give each one a node; if not, name yourself: an invented name convinces nobody.
    SUSPICIOUS R2.A3: R2.A3 was committed 9.0 s after it was proposed; research takes 10 s or more. Research a node between its proposal and its commit, or say when it began (`startedAt`) or what was run (`commands`).
    MISSING_AGENT R2.A3: R2.A3 was committed without an agentId. Give the id of the agent that did the research.
    INCOMPLETE_EXPLORE R2.A1: 3 EXPLORE nodes still lack children: R2.A1, R2.A2, R2.A3.
    ");
    assert_eq!(stored(&table), ["SUSPICIOUS", "REUSED_AGENT"]);
    table.sleep(1);
    assert_eq!(codes(&table.commit(&[("R2.A4", "EXPLORE")])), ["INCOMPLETE_EXPLORE"]);
}

#[test]
fn findings_that_say_nothing() {
    let mut table = with_pending();
    let blank = |id, findings: &str| NodeResult { findings: findings.into(), ..found(id, "EXPLORE") };
    let to_fill_in = "<findings in Markdown, sources under ## References>";
    let results = vec![blank("R2.A2", " \n"), blank("R2.A3", to_fill_in), blank("R2.A4", "-")];
    assert_snapshot!(said(table.try_commit(results)), @"
    EMPTY_FINDINGS R2.A2: R2.A2 was committed without findings. Say what was tried and what was found: a state alone convinces nobody.
    EMPTY_FINDINGS R2.A3: R2.A3 was committed with findings that say nothing. Say what was tried and what was found: a state alone convinces nobody.
    EMPTY_FINDINGS R2.A4: R2.A4 was committed with findings that say nothing. Say what was tried and what was found: a state alone convinces nobody.
    INCOMPLETE_EXPLORE R2.A1: 4 EXPLORE nodes still lack children: R2.A1, R2.A2, R2.A3, R2.A4.
    ");
    assert_eq!(stored(&table), ["EMPTY_FINDINGS"]);
}

#[test]
fn citations_that_are_not_as_they_are_said_to_be() {
    let missing = "Found.\n\n## References\n- src/a.rs:9\n- src/b.rs:2";
    let (table, said) =
        citing(missing, |cited| Some(LookedUp::Missing(format!("{} is not there", cited.path))));
    assert_snapshot!(said, @"
    REFERENCE_NOT_FOUND R2.A2: R2.A2 cites missing sources: src/a.rs is not there; src/b.rs is not there. Look again, and correct it with tot_amend; name another repository as `owner/name path:line`.
    INCOMPLETE_EXPLORE R2.A1: 2 EXPLORE nodes still lack children: R2.A1, R2.A2.
    ");
    assert_eq!(stored(&table), ["REFERENCE_NOT_FOUND"]);
    let (_, said) =
        citing("Found.\n\n## References\n- keys.tfvars:2", |cited| Some(LookedUp::Ignored(cited.path)));
    assert_snapshot!(said, @"
    REFERENCE_IGNORED R2.A2: R2.A2 cites ignored files, so only the names are stored: keys.tfvars. If the content may be shared, quote the relevant part in the findings.
    INCOMPLETE_EXPLORE R2.A1: 2 EXPLORE nodes still lack children: R2.A1, R2.A2.
    ");
    // A name is not a quote.
    let quotes =
        "Found.\n\n## References\n- src/a.rs:9 - `let n = 3;` is the number\n- src/b.rs:2 - `connect()`";
    let pin = Pin {
        path: "src/a.rs".into(),
        commit: None,
        blob: "0".repeat(40),
        uncommitted: true,
        lines: None,
        text: None,
    };
    let (table, said) = citing(quotes, |cited| {
        Some(LookedUp::Misquoted(pin.clone(), format!("“{}” is not at src/a.rs:9", cited.quote?)))
    });
    assert_snapshot!(said, @"
    QUOTE_NOT_THERE R2.A2: R2.A2 cites words that the file does not contain: “let n = 3;” is not at src/a.rs:9. Look again, and correct the lines or the words with tot_amend.
    INCOMPLETE_EXPLORE R2.A1: 2 EXPLORE nodes still lack children: R2.A1, R2.A2.
    ");
    assert_eq!(stored(&table), ["QUOTE_NOT_THERE"]);
    let reference = &table.node("R2.A2").classification.as_ref().unwrap().references[0];
    assert_eq!(reference.pinned.as_ref(), Some(&pin), "it is kept all the same");
}

#[test]
fn references_that_no_one_can_find() {
    let mut table = with_pending();
    let cites = |id, list: &str| NodeResult {
        findings: format!("Found.\n\n## References\n\n{list}\n"),
        ..found(id, "EXPLORE")
    };
    let unreadable = "- the wiki\n- src/a.rs:3\n- a talk\n- a book\n- a dream";
    let readable = "- tot@0a1b2c3:src/a.rs:3-5 - why\n- owner/name src/a.rs:3\n- https://a.example/x";
    let results = vec![cites("R2.A2", unreadable), cites("R2.A3", readable)];
    assert_snapshot!(said(table.try_commit(results)), @"
    UNREADABLE_REFERENCE R2.A2: Under References, R2.A2 has items that can't be read as sources: “the wiki” (line 5), “a talk” (line 7), “a book” (line 8), 1 more. Begin each item with a URL or a path: `src/a.rs:42 - why`, `owner/name src/a.rs:42`.
    INCOMPLETE_EXPLORE R2.A1: 3 EXPLORE nodes still lack children: R2.A1, R2.A2, R2.A3.
    ");
    assert_eq!(stored(&table), ["UNREADABLE_REFERENCE"]);
}

#[test]
fn blockers_do_not_ask_to_propose_what_is_pending() {
    let mut table = Table::new("single-root");
    let advice = |table: &Table| {
        let blockers = tree_of_thoughts::decide::standing::blockers(&table.investigation, &table.rules());
        let said = blockers
            .iter()
            .map(|it| format!("{}: {}", it.code, it.suggestion.as_ref().map_or("", |it| it.agent())));
        said.collect::<Vec<_>>().join("\n")
    };
    table.propose(&[("R1.A", "")]);
    assert_snapshot!(advice(&table), @"
    NO_NODES: Research what is pending, and commit it.
    MIN_ROUNDS: 
    PENDING_PROPOSALS: Commit it, or withdraw it with tot_propose (`withdraw`).
    ");
    table.commit(&[("R1.A", "EXPLORE")]);
    table.propose(&[("R2.A1", "R1.A")]);
    assert_snapshot!(advice(&table), @"
    MIN_ROUNDS: Propose more nodes below open ones until one in round 5 is committed.
    INSUFFICIENT_CHILDREN: Commit R2.A1, and also propose 1 child below R1.A.
    PENDING_PROPOSALS: Commit it, or withdraw it with tot_propose (`withdraw`).
    ");
    table.propose(&[("R2.A2", "R1.A"), ("R2.A3", "R1.A")]);
    assert_snapshot!(advice(&table), @"
    MIN_ROUNDS: Propose more nodes below open ones until one in round 5 is committed.
    INSUFFICIENT_CHILDREN: Commit R2.A1, R2.A2, R2.A3.
    PENDING_PROPOSALS: Commit them, or withdraw them with tot_propose (`withdraw`).
    ");
}

#[test]
fn what_looks_like_a_credential() {
    let mut table = with_pending();
    // Split, so that no scanner reports a leak in this file.
    let token = ["gh", "p_", "k9Zt3QwL7mVx2Rb8Nc4", "Yd6Hf1Js5PgT0aUe2"].concat();
    let findings = format!("The log shows it:\n\n    token={token}\n");
    let result = NodeResult { findings, ..found("R2.A2", "EXPLORE") };
    assert_snapshot!(said(table.try_commit(vec![result])), @"
    SECRET_SUSPECTED R2.A2: `findings` of R2.A2 may contain a GitHub token (line 3). If it is real, have it revoked: git keeps what was committed, even after it is edited out.
    INCOMPLETE_EXPLORE R2.A1: 2 EXPLORE nodes still lack children: R2.A1, R2.A2.
    ");
    let result = NodeResult { findings: "ghp_ begins a token.".into(), ..found("R2.A3", "EXPLORE") };
    assert_eq!(codes(&said(table.try_commit(vec![result]))), ["INCOMPLETE_EXPLORE"]);
}

#[test]
fn doubts_can_be_off_or_refuse() {
    // Which of the three rules each ruleset has.
    let mut of = Vec::new();
    for file in builtin::all() {
        let mut table = Table::started(&file.ruleset.name, Start::default());
        let ids = ["R1.A", "R1.B", "R1.C", "R1.D", "R1.E"];
        let number = table.rules().min_roots().max(1) as usize;
        let nodes: Vec<(&str, &str)> = ids[..number].iter().map(|id| (*id, "")).collect();
        table.propose(&nodes);
        let open = file.ruleset.states[0].name.to_string();
        let anonymous =
            ids[..number].iter().map(|id| NodeResult { agent_id: None, ..found(id, &open) }).collect();
        let all = said(table.try_commit(anonymous));
        let told: Vec<&str> =
            codes(&all).into_iter().filter(|code| !code.starts_with("INCOMPLETE")).collect();
        of.push(format!("{}: {}", file.ruleset.name, told.join(" ")));
    }
    assert_snapshot!(of.join("\n"), @"
    single-root: SUSPICIOUS MISSING_AGENT
    drill: 
    multi-gate: 
    found-verify: MISSING_AGENT
    exhaust: SUSPICIOUS MISSING_AGENT
    review: MISSING_AGENT
    ");
    let mut file = builtin::all()[0].clone();
    file.ruleset.checks.suspicious = tree_of_thoughts::ruleset::Enforcement::Reject;
    file.ruleset.checks.missing_agent = tree_of_thoughts::ruleset::Enforcement::Reject;
    let mut table = Table::of(file, Start::default());
    table.propose(&[("R1.A", "")]);
    let results = vec![NodeResult { agent_id: None, ..found("R1.A", "EXPLORE") }];
    assert_eq!(codes(&said(table.try_commit(results))), ["SUSPICIOUS", "MISSING_AGENT"]);
    assert!(table.node("R1.A").is_pending());
}

#[test]
fn incomplete() {
    let mut table = tree();
    assert_snapshot!(table.grow(&[("R2.A2", "R1.A", "EXPLORE")]), @"INCOMPLETE_EXPLORE R2.A1: 2 EXPLORE nodes still lack children: R2.A1, R2.A2.");
    let nodes: Vec<String> = (3..=8).map(|number| format!("R2.A{number}")).collect();
    let nodes: Vec<(&str, &str, &str)> = nodes.iter().map(|id| (id.as_str(), "R1.A", "EXPLORE")).collect();
    assert_snapshot!(table.grow(&nodes), @"INCOMPLETE_EXPLORE R2.A1: 8 EXPLORE nodes still lack children: R2.A1, R2.A2, R2.A3, R2.A4, R2.A5 and 3 more.");
    let mut closed = Table::in_mode("single-root", "smoke");
    assert_eq!(closed.grow(&[("R1.A", "", "DEAD")]), "");
}

// Reclassifying.

#[test]
fn node_not_found() {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A")]);
    assert_snapshot!(table.reclassify("R2.A2", "DEAD"), @"NODE_NOT_FOUND R2.A2: R2.A2 is only proposed; it has no state yet. Use the id of a committed node; a pending proposal is committed with tot_commit.");
    assert_snapshot!(table.reclassify("R2.A7", "DEAD"), @"NODE_NOT_FOUND R2.A7: There is no node `R2.A7`. Use the id of a committed node; a pending proposal is committed with tot_commit.");
    assert_eq!(codes(&table.reclassify("../R2.A1", "DEAD")), ["NODE_NOT_FOUND"]);
    assert_eq!(table.reclassify("R2.A1", "EXPLORE"), "", "it is that already");
}

#[test]
fn run_not_found() {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A")]);
    let result = NodeResult { runs: vec!["0123456789".into()], ..found("R2.A2", "EXPLORE") };
    assert_snapshot!(said(table.try_commit(vec![result])), @"RUN_NOT_FOUND R2.A2: There is no captured run `0123456789`. Call tot_read on the node to list its runs.");
}

#[test]
fn has_children() {
    let mut table = tree();
    table.propose(&[("R3.A1a", "R2.A1")]);
    assert_snapshot!(table.reclassify("R1.A", "DEAD"), @"HAS_CHILDREN R1.A: R1.A has children (R2.A1), and DEAD takes none. A node with committed children stays open: close the leaves below it instead.");
    assert_snapshot!(table.reclassify("R2.A1", "DEAD"), @"HAS_CHILDREN R2.A1: R2.A1 has children (R3.A1a), and DEAD takes none. They are only proposed: withdraw them first, with `withdraw` in tot_propose.");
    said(table.try_propose(vec![], &["R3.A1a"]));
    assert_eq!(codes(&table.reclassify("R2.A1", "DEAD")), ["EARLY_STATE"]);
    in_each(|_, mut table| {
        let state =
            table.rules().ruleset().states.iter().find(|state| state.terminal).unwrap().name.to_string();
        table.propose(&[("R2.A1", "R1.A")]);
        assert!(table.reclassify("R1.A", &state).starts_with("HAS_CHILDREN R1.A"), "{state}");
    });
}

#[test]
fn a_reclassify_around_the_depth_rules_warns() {
    let mut table = tree();
    assert_snapshot!(table.reclassify("R2.A1", "FOUND"), @"EARLY_STATE R2.A1: R2.A1 became FOUND in round 2, but FOUND is allowed only from round 4 on.");
    assert_eq!(table.reclassify("R2.A1", "EXPLORE"), "");
    let kept = table.node("R2.A1").classification.as_ref().unwrap();
    assert_eq!(kept.all_warnings().count(), 1, "it stays in the history");
}

// Ending.

#[test]
fn no_nodes() {
    assert_snapshot!(Table::new("single-root").end(), @"
    NO_NODES: Nothing is committed yet. Propose a root with tot_propose, research it, and commit it.
    MIN_ROUNDS: Round 5 must be reached; nothing is committed yet.
    ");
    in_each(|_, table| assert!(!table.blockers().contains("NO_NODES")));
}

#[test]
fn recovery_required() {
    let mut table =
        Table::started("single-root", Start { allow_early_terminal: Some(true), ..Start::default() });
    table.grow(&[("R1.A", "", "DEAD")]);
    assert_snapshot!(table.end(), @"
    RECOVERY_REQUIRED: Every node is closed, but round 5 has not been reached. Propose a new root, or reclassify a closed node to an open state.
    MIN_ROUNDS: Round 5 must be reached; the deepest committed node is in round 1.
    ");
    assert_snapshot!(table.next_action(), @"Every node is closed, but round 5 has not been reached. Propose a new root, or reclassify a closed node to an open state.");
    table.reclassify("R1.A", "EXPLORE");
    assert!(!table.blockers().contains("RECOVERY_REQUIRED"));
}

#[test]
fn every_blocker_is_listed() {
    let mut table = tree();
    table.propose(&[("R2.A2", "R1.A"), ("R3.A1a", "R2.A1")]);
    assert_snapshot!(table.end(), @"
    MIN_ROUNDS: Round 5 must be reached; the deepest committed node is in round 2. Propose more nodes below open ones until one in round 5 is committed.
    INSUFFICIENT_CHILDREN R1.A: R1.A is EXPLORE and needs 2 children; it has 1. Commit R2.A2.
    INSUFFICIENT_CHILDREN R2.A1: R2.A1 is EXPLORE and needs 2 children; it has 0. Commit R3.A1a, and also propose 1 child below R2.A1.
    PENDING_PROPOSALS: Proposed, but not committed: R2.A2, R3.A1a. Commit them, or withdraw them with tot_propose (`withdraw`).
    ");
    assert_snapshot!(table.next_action(), @"Research R2.A2, R3.A1a (if you have sub-agents, one each), then call tot_commit with state, findings and agentId.");
    said(table.try_propose(vec![], &["R2.A2", "R3.A1a"]));
    assert_snapshot!(table.next_action(), @"Call tot_propose for round 2: 1 child below R1.A (EXPLORE).");
    assert!(!table.blockers().contains("PENDING_PROPOSALS"));
}
