//! Honest work is easy, and cheating shows: grades of confirmation, refutations, amendments, and accurate conclusions.

use std::sync::Arc;

use insta::assert_snapshot;
use tree_of_thoughts::decide::amend::Amend;
use tree_of_thoughts::decide::backing::{NewCitation, NewCommand, NewLink};
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::end::{EarlyStop, End};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::standing::{Weakened, missing_steps, weakened};
use tree_of_thoughts::domain::{
    Asked, Caller, Change, CitedPath, CommentKind, Commenter, Conclusion, LinkKind, LookedUp, PersonsAnswer,
    Pin, StopReason,
};
use tree_of_thoughts::format::readme::readme;
use tree_of_thoughts::ruleset::rules::verification::Grade;

use crate::support::table::{Table, found, said};

/// An answer R1.A by `researcher` in the first session, with a pending child R2.A1.
fn answer(ruleset: &str, state: &str) -> Table {
    let mut table = Table::new(ruleset);
    table.caller = session("one");
    table.propose(&[("R1.A", "")]);
    let alternatives_considered = vec!["The cache was cold.".into(), "The clock was wrong.".into()];
    let agent_id = Some("researcher".into());
    table.sleep(60);
    table.try_commit(vec![NodeResult { alternatives_considered, agent_id, ..found("R1.A", state) }]).unwrap();
    table.propose(&[("R2.A1", "R1.A")]);
    table.sleep(60);
    table
}

fn session(name: &str) -> Caller {
    Caller { client: Some("it/1".into()), session: Some(name.into()), ..Caller::default() }
}

/// Returns the verdict on R1.A after this agent has committed the child with these findings in this session.
fn graded(findings: &str, agent: Option<&str>, in_session: &str) -> Grade {
    let mut table = answer("review", "ANSWER");
    table.caller = session(in_session);
    let result = NodeResult {
        findings: findings.into(),
        agent_id: agent.map(str::to_owned),
        ..found("R2.A1", "CONFIRMED")
    };
    table.try_commit(vec![result]).unwrap();
    grade(&table)
}

fn grade(table: &Table) -> Grade {
    table.rules().grade(&table.investigation, table.node("R1.A"))
}

#[test]
fn a_confirmation_is_worth_what_its_author_and_its_findings_are() {
    let tried = "Three other causes were tried, and none of them fits.";
    assert_eq!(graded(tried, Some("reviewer"), "two"), Grade::Independent);
    assert_eq!(graded(tried, Some("researcher"), "two"), Grade::SelfChecked);
    assert_eq!(graded(tried, Some("reviewer"), "one"), Grade::SecondAgent);
    assert_eq!(graded(tried, Some("Researcher "), "one"), Grade::SelfChecked);
    for nothing in ["", "ok", "Yes.", "x", "<findings in Markdown>"] {
        assert_eq!(graded(nothing, Some("reviewer"), "two"), Grade::None, "{nothing}");
    }
    // A sentence in a script without spaces.
    assert_eq!(graded("日志是另一台服务器的。", Some("reviewer"), "two"), Grade::Independent);
}

#[test]
fn a_person_confirms_what_somebody_else_wrote_and_is_missed_no_agent() {
    let ada = || Caller::of_person("Ada", Some("ada@example.org".into()));
    let tried = "Three other causes were tried, and none of them fits.";
    let confirmed_by = |mut table: Table, caller: Caller, agent: Option<&str>| {
        table.caller = caller;
        let agent_id = agent.map(str::to_owned);
        let result = NodeResult { findings: tried.into(), agent_id, ..found("R2.A1", "CONFIRMED") };
        let said = said(table.try_commit(vec![result]));
        (grade(&table), said.contains("MISSING_AGENT"))
    };
    let by_ada = || {
        let mut table = Table::new("review");
        table.caller = ada();
        table.propose(&[("R1.A", "")]);
        table.sleep(60);
        let alternatives_considered = vec!["The cache was cold.".into(), "The clock was wrong.".into()];
        let result = NodeResult { alternatives_considered, agent_id: None, ..found("R1.A", "ANSWER") };
        table.try_commit(vec![result]).unwrap();
        table.propose(&[("R2.A1", "R1.A")]);
        table.sleep(60);
        table
    };
    let agents = || answer("review", "ANSWER");
    assert_eq!(confirmed_by(agents(), ada(), None), (Grade::Independent, false));
    // The method refuses results without an author.
    assert_eq!(confirmed_by(agents(), session("two"), None), (Grade::None, true));
    // A result that a person submits for an agent is the agent's.
    assert_eq!(confirmed_by(agents(), ada(), Some("researcher")), (Grade::SelfChecked, false));
    assert_eq!(confirmed_by(agents(), ada(), Some("reviewer")), (Grade::SecondAgent, false));
    assert_eq!(confirmed_by(by_ada(), session("one"), Some("reviewer")), (Grade::Independent, false));
    let elsewhere = Caller::of_person("Ada L.", Some("Ada@example.org".into()));
    assert_eq!(confirmed_by(by_ada(), elsewhere, None), (Grade::SelfChecked, false));
    // Naming an agent does not make her a second person.
    assert_eq!(confirmed_by(by_ada(), ada(), Some("me")), (Grade::SelfChecked, false));
    let grace = Caller::of_person("Grace", Some("grace@example.org".into()));
    assert_eq!(confirmed_by(by_ada(), grace, None), (Grade::Independent, false));
}

#[test]
fn a_reclassify_without_a_reason_confirms_nothing_but_oneself() {
    let grade_of = |reason: Option<&str>, evidence: Option<&str>| {
        let mut table = answer("single-root", "FOUND");
        table.propose(&[("R2.A1", "R1.A")]);
        table.sleep(60);
        table.commit(&[("R2.A1", "EXPLORE")]);
        table.reclassify("R1.A", "FOUND");
        table.caller = session("two");
        let request = Reclassify {
            node_id: "R2.A1".into(),
            new_state: "VERIFY".into(),
            reason: reason.map(str::to_owned),
            evidence: evidence.map(str::to_owned),
            agent_id: Some("reviewer".into()),
            ..Reclassify::default()
        };
        let said = said(table.try_reclassify(request));
        assert_eq!(said.contains("NO_REASON"), reason.is_none(), "{said}");
        grade(&table)
    };
    let reason = "The second run says the same.";
    assert_eq!(grade_of(None, None), Grade::SelfChecked);
    assert_eq!(grade_of(Some(reason), None), Grade::SelfChecked, "a reason is no evidence");
    assert_eq!(grade_of(Some(reason), Some("Run 2: 97 ms, as in run 1.")), Grade::Independent);
    let mut table = answer("review", "ANSWER");
    assert_snapshot!(said(table.try_reclassify(Reclassify {
        node_id: "R1.A".into(),
        new_state: "OPEN".into(),
        ..Reclassify::default()
    })), @"NO_REASON R1.A: R1.A becomes OPEN without a reason. Say in `reason` what was learned since its commit.");
}

#[test]
fn a_refutation_that_is_turned_round_confirms_nothing_until_another_looks_again() {
    let mut table = answer("review", "ANSWER");
    table.caller = session("two");
    let by = |agent: &str, node: &str, state: &str| NodeResult {
        findings: "Three other causes were tried.".into(),
        agent_id: Some(agent.into()),
        ..found(node, state)
    };
    table.try_commit(vec![by("reviewer", "R2.A1", "REFUTED")]).unwrap();
    let found_now = table.assessment();
    assert_eq!((found_now.refuted.len(), found_now.dead_ends.len()), (1, 0), "what refutes is no dead end");
    let turn = |state: &str| Reclassify {
        node_id: "R2.A1".into(),
        new_state: state.into(),
        reason: Some("The three causes can not be after all, as the log of the second run shows.".into()),
        evidence: Some("Measured on three machines, ten times each, with a cold cache.".into()),
        agent_id: Some("third".into()),
        ..Reclassify::default()
    };
    table.caller = session("three");
    table.try_reclassify(turn("CONFIRMED")).unwrap();
    assert_eq!(grade(&table), Grade::None);
    assert_snapshot!(said(table.try_end()), @"UNCONFIRMED_ANSWER R1.A: R1.A is ANSWER and not checked. Let another agent, or a person, try to refute it, and commit a child with the result.");
    table.propose(&[("R2.A2", "R1.A")]);
    table.try_commit(vec![by("fourth", "R2.A2", "CONFIRMED")]).unwrap();
    assert_eq!(grade(&table), Grade::Independent);
}

#[test]
fn one_thing_to_do_is_owed_once() {
    let mut table = answer("review", "ANSWER");
    let codes = |table: &Table| -> Vec<String> {
        missing_steps(&table.investigation, &table.rules()).iter().map(|owed| owed.code.to_string()).collect()
    };
    assert_eq!(codes(&table), ["MIN_ROUNDS", "UNCONFIRMED_ANSWER", "PENDING_PROPOSALS"]);
    table.caller = session("two");
    let own = NodeResult { agent_id: Some("researcher".into()), ..found("R2.A1", "CONFIRMED") };
    table.try_commit(vec![own]).unwrap();
    assert_eq!(codes(&table), ["UNCONFIRMED_ANSWER"]);
}

#[test]
fn what_becomes_doubtful_is_named() {
    let mut table = answer("review", "ANSWER");
    table.propose(&[("R2.A2", "R1.A"), ("R2.A3", "R1.A")]);
    table.caller = session("two");
    let by = |node: &str, state: &str| NodeResult {
        findings: "Three other causes were tried.".into(),
        agent_id: Some("reviewer".into()),
        ..found(node, state)
    };
    let between =
        |before: &Table, after: &Table| weakened(&before.investigation, &after.investigation, &after.rules());
    let before = table.clone();
    table.try_commit(vec![by("R2.A1", "CONFIRMED")]).unwrap();
    assert_eq!(between(&before, &table), Weakened::default());
    let confirmed = table.clone();
    table.try_amend(amend("R1.A", Some("It was 40 ms and not 30 ms."), None)).unwrap();
    assert_eq!(between(&confirmed, &table).unconfirmed, ["R1.A".parse().unwrap()]);
    table.try_commit(vec![by("R2.A2", "REFUTED")]).unwrap();
    assert_eq!(between(&confirmed, &table).refuted, ["R1.A".parse().unwrap()]);
    assert_eq!(between(&confirmed, &table).unconfirmed, []);
    let refuted = table.clone();
    table.try_commit(vec![by("R2.A3", "REFUTED")]).unwrap();
    assert_eq!(between(&refuted, &table), Weakened::default(), "it was refuted before");
}

fn amend(id: &str, findings: Option<&str>, headline: Option<&str>) -> Amend {
    Amend {
        node_id: Some(id.into()),
        reason: "A number was wrong.".into(),
        findings: findings.map(str::to_owned),
        headline: headline.map(str::to_owned),
        agent_id: Some("researcher".into()),
        ..Amend::default()
    }
}

#[test]
fn what_was_amended_after_its_confirmation_is_not_confirmed() {
    for (findings, headline) in
        [(Some("It was 40 ms and not 30 ms."), None), (None, Some("The cache was cold."))]
    {
        let mut table = answer("review", "ANSWER");
        table.caller = session("two");
        table.commit(&[("R2.A1", "CONFIRMED")]);
        assert_eq!(grade(&table), Grade::Independent);
        // Even if the clock was set back in between.
        table.sleep(-600);
        table.try_amend(amend("R1.A", findings, headline)).unwrap();
        assert_eq!(grade(&table), Grade::None);
        // A new confirmation is later than the amendment, whatever the clock says.
        table.propose(&[("R2.A2", "R1.A")]);
        table.commit(&[("R2.A2", "CONFIRMED")]);
        assert_eq!(grade(&table), Grade::SecondAgent, "it was amended in this session");
        let amended = &table.node("R1.A").classification.as_ref().unwrap().amended;
        assert_eq!(amended[0].findings.as_deref(), findings.map(|_| "Findings of R1.A."));
        assert_eq!(amended[0].headline.as_deref(), headline.map(|_| ""));
        assert_eq!(amended[0].caller, session("two"));
        assert_eq!(table.node("R1.A").name(), headline.unwrap_or("Title of R1.A"));
    }
}

#[test]
fn nobody_fills_in_a_confirmation_of_his_own_answer_or_empties_a_refutation() {
    let mut table = answer("review", "ANSWER");
    table.caller = session("two");
    let empty = NodeResult { findings: "ok".into(), ..found("R2.A1", "CONFIRMED") };
    table.try_commit(vec![empty]).unwrap();
    table.caller = session("one");
    table.try_amend(amend("R2.A1", Some("Three other causes were tried."), None)).unwrap();
    assert_eq!(grade(&table), Grade::SelfChecked);
    let mut table = answer("review", "ANSWER");
    table.commit(&[("R2.A1", "REFUTED")]);
    table.try_amend(amend("R2.A1", Some("ok"), None)).unwrap();
    assert_eq!(table.rules().refuted_by(&table.investigation, table.node("R1.A")).len(), 1);
}

#[test]
fn who_gives_no_name_confirms_nothing_but_oneself() {
    let mut table = answer("found-verify", "FOUND");
    table.reclassify("R1.A", "FOUND");
    table.caller = session("two");
    let nameless = NodeResult { agent_id: None, ..found("R2.A1", "VERIFY") };
    table.try_commit(vec![nameless]).unwrap();
    assert_eq!(grade(&table), Grade::SelfChecked);
}

#[test]
fn an_amendment_that_can_t_be_made() {
    let mut table = answer("review", "ANSWER");
    let amend = |id: &str, reason: &str, title: Option<&str>| Amend {
        node_id: Some(id.into()),
        reason: reason.into(),
        title: title.map(str::to_owned),
        ..Amend::default()
    };
    assert_snapshot!(said(table.try_amend(amend("R2.A1", "x", Some("Y")))), @"NODE_NOT_FOUND R2.A1: `R2.A1` is not a committed node. Amend a committed node; to change a pending one, propose it again.");
    assert_snapshot!(said(table.try_amend(amend("R1.A", " ", Some("Y")))), @"MISSING_REASON R1.A: The change to R1.A has no reason. Say in `reason` what was wrong.");
    assert_snapshot!(said(table.try_amend(amend("R1.A", "It is wrong.", None))), @"EMPTY_BATCH R1.A: The call changes nothing. Give `findings`, `headline` or another part of a node, or, without `nodeId`, `conclusion`, `answers` or `notCovered`.");
    let long = "x".repeat(301);
    assert_snapshot!(said(table.try_amend(amend("R1.A", "It is wrong.", Some(&long)))), @"TEXT_TOO_LONG R1.A: The title has 301 characters; the limit is 300. Shorten it, and say the rest in the findings.");
    let same = table.try_amend(amend("R1.A", "It is wrong.", Some("Title of R1.A"))).unwrap();
    assert_eq!(same.event, None);
}

#[test]
fn every_part_of_what_a_node_says_can_be_amended_and_voids_its_confirmation() {
    type Change = fn(&mut Amend);
    let part = |change: Change| {
        let mut amend = amend("R1.A", None, None);
        change(&mut amend);
        amend
    };
    let all = |amend: &mut Amend| {
        amend.evidence = Some("Measured five times, on two machines, each time with a cold cache.".into());
        amend.alternatives_considered = Some(vec!["The disk was full.".into()]);
        amend.commands = Some(vec![ran("cargo bench")]);
        amend.references =
            Some(vec![NewCitation { target: "src/cache.rs".into(), ..NewCitation::default() }]);
    };
    let each: [(&str, Change); 6] = [
        ("evidence", |amend| amend.evidence = Some("Measured twice.".into())),
        ("alternativesConsidered", |amend| amend.alternatives_considered = Some(Vec::new())),
        ("caveats", |amend| amend.caveats = Some(vec!["The other disk.".into()])),
        ("commands", |amend| amend.commands = Some(vec![ran("make")])),
        ("references", |amend| {
            amend.references =
                Some(vec![NewCitation { target: "src/a.rs".into(), ..NewCitation::default() }]);
        }),
        ("evidence alternativesConsidered commands references", all),
    ];
    for (parts, change) in each {
        let mut table = answer("review", "ANSWER");
        table.caller = session("two");
        let tried = "Three other causes were tried, and none of them fits.";
        table.try_commit(vec![NodeResult { findings: tried.into(), ..found("R2.A1", "CONFIRMED") }]).unwrap();
        assert_eq!(grade(&table), Grade::Independent);
        let before = table.node("R1.A").clone();
        table.try_amend(part(change)).unwrap();
        assert_eq!(grade(&table), Grade::None, "{parts}");
        let mut node = table.node("R1.A").clone();
        let amended = node.classification.as_mut().unwrap().amended.pop().unwrap();
        assert_eq!(amended.parts().collect::<Vec<_>>().join(" "), parts);
        let mut undone = amended.clone();
        undone.exchange(&mut node);
        assert_eq!(node, before, "the file holds what stood there");
        assert_eq!(table.try_amend(part(change)).unwrap().event, None, "{parts} again");
    }
    let mut table = answer("review", "ANSWER");
    let wrong = |amend: &mut Amend| amend.references = Some(vec![NewCitation::default()]);
    assert_snapshot!(said(table.try_amend(part(wrong))), @"INVALID_ARGUMENT R1.A: A reference in R1.A has no target. Give its URL or path.");
    let nowhere = amend("R1.A", Some("It is the cache.\n\n## References\n- what I remember"), None);
    assert!(said(table.try_amend(nowhere)).contains("UNREADABLE_REFERENCE R1.A"));
}

#[test]
fn a_wrong_conclusion_is_amended_and_kept() {
    let mut table = answer("review", "ANSWER");
    let amend = |conclusion: Option<&str>, node: Option<&str>| Amend {
        node_id: node.map(str::to_owned),
        reason: "It was the disk.".into(),
        conclusion: conclusion.map(str::to_owned),
        agent_id: Some("lead".into()),
        ..Amend::default()
    };
    assert_snapshot!(said(table.try_amend(amend(Some("The disk."), None))), @"INVALID_ARGUMENT: There is no conclusion to amend. Give one with tot_end, or name a node in `nodeId`.");
    let stopped = Some(EarlyStop { reason: StopReason::Enough, note: None });
    let conclusion = Some("It is the cache, as the second run shows.".into());
    table.try_end_with(End { conclusion, stopped, ..End::default() }).unwrap();
    assert_snapshot!(said(table.try_amend(amend(Some("The disk."), Some("R1.A")))), @"INVALID_ARGUMENT: A node has no conclusion. Leave out `nodeId` to amend the conclusion, its `answers` or `notCovered`.");
    assert_snapshot!(said(table.try_amend(amend(None, None))), @"EMPTY_BATCH: The call changes nothing. Give `findings`, `headline` or another part of a node, or, without `nodeId`, `conclusion`, `answers` or `notCovered`.");
    table.sleep(60);
    table.caller = session("two");
    assert_eq!(said(table.try_amend(amend(Some("The disk."), None))), "");
    let end = table.investigation.conclusion().unwrap();
    assert_eq!(end.conclusion.as_deref(), Some("The disk."));
    assert_eq!(end.caller, session("one"), "who ended it");
    let [amended] = end.amended.as_slice() else { panic!("{end:?}") };
    assert_eq!(amended.conclusion.as_deref(), Some("It is the cache, as the second run shows."));
    assert_eq!((amended.agent_id.as_deref(), &amended.caller), (Some("lead"), &session("two")));
    assert_eq!(table.try_amend(amend(Some("The disk."), None)).unwrap().event, None);
    assert_snapshot!(said(table.try_amend(Amend { reason: " ".into(), ..amend(Some("Neither."), None) })), @"MISSING_REASON: The change to the conclusion has no reason. Say in `reason` what was wrong.");
}

#[test]
fn a_child_refutes_its_parent() {
    // By its state, in a ruleset with a state for refutations.
    let mut table = answer("review", "ANSWER");
    table.commit(&[("R2.A1", "REFUTED")]);
    let found_so_far = table.assessment();
    assert!(found_so_far.answers.is_empty());
    assert_eq!(found_so_far.refuted[0].refuted_by[0].as_str(), "R2.A1");
    assert_eq!(table.node("R1.A").state().unwrap().as_str(), "ANSWER", "what was found is kept");
    // By its `refutes` field, in any other ruleset.
    let mut table = answer("found-verify", "FOUND");
    table.reclassify("R1.A", "FOUND");
    let refuting = |state: &str| NodeResult { refutes: true, ..found("R2.A1", state) };
    assert_snapshot!(said(table.try_commit(vec![refuting("EXPLORE")])), @"INVALID_ARGUMENT R2.A1: R2.A1 can't refute its parent: EXPLORE is not terminal. Leave `refutes` out, or commit a child in a terminal state with it.");
    table.try_commit(vec![refuting("VERIFY")]).unwrap();
    let found_so_far = table.assessment();
    assert_eq!((found_so_far.answers.len(), found_so_far.refuted.len()), (0, 1));
    // A root has nothing to refute.
    table.propose(&[("R1.B", "")]);
    let root = NodeResult { refutes: true, ..found("R1.B", "DEAD") };
    assert_snapshot!(said(table.try_commit(vec![root])), @"INVALID_ARGUMENT R1.B: R1.B can't refute its parent: it is a root. Leave `refutes` out, or commit a child in a terminal state with it.");
}

#[test]
fn research_before_its_proposal_says_when_it_began_or_what_was_run() {
    let commit = |change: fn(&mut NodeResult)| {
        let mut table = Table::new("single-root");
        table.propose(&[("R1.A", "")]);
        let mut result = found("R1.A", "EXPLORE");
        change(&mut result);
        said(table.try_commit(vec![result]))
    };
    assert!(commit(|_| {}).contains("SUSPICIOUS"));
    assert!(!commit(|result| result.started_at = Some("2026-01-05T08:00:00Z".into())).contains("SUSPICIOUS"));
    assert!(!commit(|result| result.commands = vec![ran("cargo test")]).contains("SUSPICIOUS"));
    assert!(commit(|result| result.commands = vec![ran(" ")]).contains("SUSPICIOUS"));
    assert_snapshot!(commit(|result| result.started_at = Some("tomorrow".into())), @"INVALID_ARGUMENT R1.A: startedAt of R1.A: `tomorrow` is not a time like 2026-11-20T09:15:02.114Z. Give the time when the research began, or omit it.");
    assert_snapshot!(commit(|result| result.started_at = Some("2027-01-05T09:00:00Z".into())), @"INVALID_ARGUMENT R1.A: startedAt of R1.A is in the future; the current time is 2026-01-05T09:00:00.000Z. Give the time when the research began, or omit it.");
}

fn ran(command: &str) -> NewCommand {
    NewCommand { command: command.into(), exit_code: Some(0), output: None }
}

#[test]
fn sources_and_links_are_checked() {
    let mut table = answer("review", "ANSWER");
    let mut commit = |change: fn(&mut NodeResult)| {
        let mut result = found("R2.A1", "CONFIRMED");
        change(&mut result);
        said(table.try_commit(vec![result]))
    };
    assert_snapshot!(commit(|result| result.references = vec![NewCitation::default()]), @"INVALID_ARGUMENT R2.A1: A reference in R2.A1 has no target. Give its URL or path.");
    assert_snapshot!(commit(|result| {
        result.references = vec![NewCitation { target: "a".into(), lines: Some("9-3".into()), ..NewCitation::default() }];
    }), @"INVALID_ARGUMENT R2.A1: A reference in R2.A1 has an invalid line range: `9-3`. Write one line as 18, several as 18-24.");
    assert_snapshot!(commit(|result| {
        result.links = vec![NewLink { to: "R7.Q".into(), kind: LinkKind::Supports }];
    }), @"NODE_NOT_FOUND R2.A1: R2.A1 links to `R7.Q`, but no other node has that id. Link to a node that is committed or pending.");
    assert_eq!(
        commit(|result| {
            result.references =
                vec![NewCitation { target: "a".into(), lines: Some("3-9".into()), ..NewCitation::default() }];
            result.links = vec![NewLink { to: "R1.A".into(), kind: LinkKind::Supports }];
        }),
        ""
    );
    let stored = table.node("R2.A1").classification.as_ref().unwrap();
    assert_eq!(stored.references[0].lines.as_deref(), Some("3-9"));
    assert_eq!(stored.links[0].to.as_str(), "R1.A");
}

#[test]
fn a_person_who_was_asked_is_heard() {
    let mut table = answer("single-root", "EXPLORE");
    let end = |answer: PersonsAnswer, said: Option<&str>| End {
        conclusion: Some("It is the cache, as the second run shows.".into()),
        stopped: Some(EarlyStop { reason: StopReason::Enough, note: None }),
        asked: Some(Asked { answer, said: said.map(str::to_owned) }),
        ..End::default()
    };
    let no = end(PersonsAnswer::Declined, Some("Not before the disk was looked at."));
    assert_snapshot!(said(table.try_end_with(no)), @"END_DECLINED: The client's user declined to end the investigation: “Not before the disk was looked at.”. Ask that person what is missing, do it, then end it.");
    assert!(table.investigation.conclusion().is_none());
    assert_snapshot!(said(table.try_end_with(end(PersonsAnswer::Unanswered, None))), @"NOT_ACCEPTED: Ended without a person's approval (asked, and nobody answered in time).");
    let asked = table.investigation.conclusion().and_then(|end| end.asked.clone());
    assert_eq!(asked.unwrap().answer, PersonsAnswer::Unanswered);
}

#[test]
fn an_end_says_what_it_is() {
    let mut table = answer("single-root", "EXPLORE");
    let stop = || Some(EarlyStop { reason: StopReason::Budget, note: Some("The day is over.".into()) });
    let end = |stopped: Option<EarlyStop>, conclusion: Option<&str>| End {
        stopped,
        conclusion: conclusion.map(str::to_owned),
        ..End::default()
    };
    assert!(said(table.try_end_with(end(None, None))).contains("MIN_ROUNDS"));
    assert_snapshot!(said(table.try_end_with(end(stop(), None))), @"MISSING_CONCLUSION: It ends without a conclusion. Call tot_end with `conclusion`: the answer, how sure it is, what was ruled out.");
    let ended = table.investigation.conclusion().unwrap();
    assert_eq!(ended.stopped.as_ref().unwrap().reason, StopReason::Budget);
    let ended_at = ended.ended_at;
    assert!(!missing_steps(&table.investigation, &table.rules()).is_empty(), "what was owed is still known");
    // A later conclusion is stored; a different one is refused.
    table.sleep(60);
    assert_eq!(said(table.try_end_with(end(None, Some("Air scatters blue light.")))), "");
    let ended = table.investigation.conclusion().unwrap();
    assert_eq!((ended.ended_at, ended.concluded_at), (ended_at, Some(table.now)));
    assert!(said(table.try_end_with(end(None, Some("It is the sea.")))).contains("ALREADY_ENDED"));
}

#[test]
fn a_review_does_not_end_with_an_open_objection_to_its_answer() {
    let mut table = answer("review", "ANSWER");
    table.caller = session("two");
    table.commit(&[("R2.A1", "CONFIRMED")]);
    let objection = Say {
        node_id: Some("R1.A".into()),
        kind: CommentKind::Objection,
        text: "The cache was warm.".into(),
        agent_id: Some("a reader".into()),
        ..Say::default()
    };
    table.say(objection, Commenter::default()).unwrap();
    assert!(said(table.try_end()).starts_with("OBJECTION_OPEN"));
}

#[test]
fn nothing_is_stopped_where_nothing_is_owed() {
    let mut table = answer("review", "ANSWER");
    table.caller = session("two");
    table.commit(&[("R2.A1", "CONFIRMED")]);
    let stopped = Some(EarlyStop { reason: StopReason::Enough, note: None });
    let conclusion = Some("The cache was cold.".to_owned());
    assert_eq!(said(table.try_end_with(End { conclusion, stopped, ..End::default() })), "");
    assert_eq!(table.investigation.conclusion().unwrap().stopped, None);
}

#[test]
fn a_review_needs_evidence_alternatives_and_another_who_attacks_the_answer() {
    let mut table = Table::new("review");
    table.propose(&[("R1.A", "")]);
    let bare = NodeResult {
        node_id: "R1.A".into(),
        state: "ANSWER".into(),
        findings: "It is the cache.".into(),
        ..NodeResult::default()
    };
    assert_snapshot!(said(table.try_commit(vec![bare])), @"
    MISSING_EVIDENCE R1.A: ANSWER needs evidence of at least 40 characters; there are 0. Put what was measured or read into `evidence`.
    MISSING_ALTERNATIVES R1.A: ANSWER needs 2 in alternativesConsidered, not 0. Say what else could be the answer, and why it is not, each in a sentence.
    MISSING_AGENT R1.A: R1.A was committed without an agentId. Give the id of the agent that did the research.
    ");
    let mut table = answer("review", "ANSWER");
    let own = NodeResult { agent_id: Some("researcher".into()), ..found("R2.A1", "CONFIRMED") };
    table.try_commit(vec![own]).unwrap();
    assert_snapshot!(said(table.try_end()), @"UNCONFIRMED_ANSWER R1.A: R1.A is ANSWER and checked only by its author. Let another agent, or a person, try to refute it, and commit a child with the result.");
    table.propose(&[("R2.A2", "R1.A")]);
    table.commit(&[("R2.A2", "CONFIRMED")]);
    assert_snapshot!(said(table.try_end_with(End::default())), @"MISSING_CONCLUSION: It ends without a conclusion. Call tot_end with `conclusion`: the answer, how sure it is, what was ruled out.");
    assert_snapshot!(said(table.try_end()), @"NOT_INDEPENDENT R1.A: R1.A is ANSWER and confirmed by another agent, same session. Let an agent in another session, or a person, try to refute it, and commit a child with the result.");
}

#[test]
fn in_a_review_a_command_is_evidence_and_an_answer_of_words_alone_is_warned_of() {
    let words = || NodeResult {
        alternatives_considered: vec!["The cache was cold.".into(), "The clock was wrong.".into()],
        ..found("R1.A", "ANSWER")
    };
    let mut begun = Table::new("review");
    begun.propose(&[("R1.A", "")]);
    let mut table = begun.clone();
    assert_snapshot!(said(table.try_commit(vec![words()])), @"
    NOT_RUN R1.A: R1.A is ANSWER, and its evidence is text only. If something can be run, capture it in your shell: `tot run R1.A -- COMMAND`.
    INCOMPLETE_ANSWER R1.A: R1.A needs 1 CONFIRMED or REFUTED child, and has 0.
    ");
    // With a file that was found, and with a command that was run, which counts as evidence without any text.
    let mut table = begun.clone();
    let path = CitedPath { path: "src/cache.rs".into(), lines: None, ..CitedPath::default() };
    let pin = Pin {
        path: "src/cache.rs".into(),
        commit: None,
        blob: "0".repeat(40),
        uncommitted: false,
        lines: None,
        text: None,
    };
    table.known.insert(path, LookedUp::Found(pin));
    let citing = NewCitation { target: "src/cache.rs".into(), ..NewCitation::default() };
    let citing = NodeResult { references: vec![citing], ..words() };
    assert!(!said(table.try_commit(vec![citing])).contains("NOT_RUN"));
    for (node, named) in [(Some("R1.A"), false), (None, true)] {
        let mut table = begun.clone();
        let id = table.run(node);
        let runs = named.then(|| id.to_string()).into_iter().collect();
        let bare = NodeResult { evidence: None, runs, ..words() };
        assert!(!said(table.try_commit(vec![bare])).contains("EVIDENCE") && table.state("R1.A") == "ANSWER");
        let stored = &table.node("R1.A").classification.as_ref().unwrap().warnings;
        assert!(stored.iter().all(|warning| warning.code != "NOT_RUN"), "{stored:?}");
    }
    // A node that became an answer later counts too.
    let mut table = begun.clone();
    table.commit(&[("R1.A", "OPEN")]);
    assert!(table.reclassify("R1.A", "ANSWER").contains("NOT_RUN"));
    let mut table = begun;
    table.commit(&[("R1.A", "OPEN")]);
    table.run(Some("R1.A"));
    assert!(!table.reclassify("R1.A", "ANSWER").contains("NOT_RUN"));
}

#[test]
fn an_open_question_blocks_the_end_also_where_answers_must_be_confirmed() {
    let mut table = Table::new("review");
    table.grow(&[("R1.A", "", "OPEN"), ("R1.B", "", "OPEN")]);
    table.grow(&[("R2.A1", "R1.A", "OPEN")]);
    let refused = said(table.try_end());
    assert!(refused.contains("INSUFFICIENT_CHILDREN R1.B"), "{refused}");
    assert!(refused.contains("INSUFFICIENT_CHILDREN R2.A1"), "{refused}");
}

#[test]
fn the_page_for_forges_tells_each_confirmation_for_what_it_is() {
    let mut table = answer("review", "ANSWER");
    table.propose(&[("R2.A2", "R1.A")]);
    table.sleep(60);
    let own = table.node("R1.A").classification.as_ref().unwrap().agent_id.clone();
    table
        .try_commit(vec![
            found("R2.A1", "CONFIRMED"),
            NodeResult { agent_id: own, ..found("R2.A2", "CONFIRMED") },
        ])
        .unwrap();
    let end = Change::Concluded(Arc::new(Conclusion::new(table.now)));
    let page = readme(&table.investigation.with(&[end]), &table.rules());
    let told = "confirmed by another agent, same session: [R2.A1](<nodes/R2/R2.A1.yaml>), [R2.A2](<nodes/R2/R2.A2.yaml>) (checked only by its author)";
    assert!(page.contains(told), "{page}");
}
