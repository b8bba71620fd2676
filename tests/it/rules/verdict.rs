//! What counts as confirmed, and what a conclusion rests on. Each test covers a way in which this was once reported
//! wrongly.

use insta::assert_snapshot;
use tree_of_thoughts::assess::{Outcome, Verdict};
use tree_of_thoughts::decide::amend::Amend;
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::end::{Bind, EarlyStop, End};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::domain::{BoundAs, Caller, CommentKind, Commenter, StopReason};

use crate::support::table::{EVIDENCE, Table, found, said};

fn session(name: &str) -> Caller {
    Caller { session: Some(name.into()), ..Caller::default() }
}

/// An answer at the root, by `stub` in session `one`, with a proposal below it.
fn answered() -> Table {
    let mut table = Table::new("review");
    table.caller = session("one");
    table.propose(&[("R1.A", "")]);
    table.sleep(60);
    table.try_commit(vec![by("stub", "R1.A", "ANSWER")]).unwrap();
    table.propose(&[("R2.A1", "R1.A")]);
    table.sleep(60);
    table
}

fn by(agent: &str, node: &str, state: &str) -> NodeResult {
    NodeResult {
        agent_id: Some(agent.into()),
        evidence: Some(EVIDENCE.into()),
        alternatives_considered: vec![
            "A cold cache, which a second run rules out.".into(),
            "A wrong clock.".into(),
        ],
        ..found(node, state)
    }
}

fn verdict(table: &Table, node: &str) -> Verdict {
    table.assessment().verdict_of(&node.parse().unwrap()).unwrap()
}

fn concluded(answers: &[Bind]) -> End {
    End { conclusion: Some("It is the cache.".into()), answers: answers.to_vec(), ..End::default() }
}

#[test]
fn who_rewrote_an_answer_does_not_confirm_it() {
    let mut table = answered();
    table.caller = session("two");
    table
        .try_amend(Amend {
            node_id: Some("R1.A".into()),
            reason: "It was a stub.".into(),
            findings: Some("Another text altogether, with all that was found.".into()),
            agent_id: Some("rewriter".into()),
            ..Amend::default()
        })
        .unwrap();
    table.sleep(60);
    table.try_commit(vec![by("rewriter", "R2.A1", "CONFIRMED")]).unwrap();
    assert_eq!(verdict(&table, "R1.A"), Verdict::AuthorOnly);
}

#[test]
fn who_made_a_node_an_answer_does_not_confirm_it_by_a_child() {
    let mut table = Table::new("multi-gate");
    table.caller = session("one");
    table.grow(&[
        ("R1.A", "", "VERIFY"),
        ("R1.B", "", "DEAD"),
        ("R1.C", "", "DEAD"),
        ("R1.D", "", "DEAD"),
        ("R1.E", "", "DEAD"),
    ]);
    table.grow(&[("R2.A1", "R1.A", "VERIFY")]);
    table.grow(&[("R3.A1a", "R2.A1", "VERIFY")]);
    table.caller = session("two");
    table
        .try_reclassify(Reclassify {
            node_id: "R3.A1a".into(),
            new_state: "VALID_PENDING".into(),
            reason: Some("The second run shows it.".into()),
            evidence: Some(EVIDENCE.into()),
            agent_id: Some("turner".into()),
            ..Reclassify::default()
        })
        .unwrap();
    table.propose(&[("R4.A1a1", "R3.A1a")]);
    table.sleep(60);
    table.try_commit(vec![by("turner", "R4.A1a1", "VALID")]).unwrap();
    assert_eq!(table.node("R3.A1a").state().unwrap().as_str(), "VALID");
    assert_eq!(verdict(&table, "R3.A1a"), Verdict::AuthorOnly);
}

#[test]
fn what_is_written_later_opens_no_objection_again() {
    let mut table = answered();
    let say = |kind, reply_to: Option<String>, agent: &str| Say {
        node_id: Some("R1.A".into()),
        kind,
        reply_to,
        text: "The cache was warm in each of the runs.".into(),
        agent_id: Some(agent.into()),
    };
    table.say(say(CommentKind::Objection, None, "critic"), Commenter::default()).unwrap();
    let id = table.investigation.comments().next().unwrap().id.to_string();
    let elsewhere = Commenter { caller: session("two"), ..Commenter::default() };
    table.say(say(CommentKind::Resolution, Some(id), "judge"), elsewhere).unwrap();
    assert!(table.assessment().open.is_empty());
    table.sleep(60);
    table
        .try_amend(Amend {
            node_id: Some("R1.A".into()),
            reason: "A number was wrong.".into(),
            headline: Some("It is the cold cache.".into()),
            agent_id: Some("judge".into()),
            ..Amend::default()
        })
        .unwrap();
    assert!(table.assessment().open.is_empty(), "the judge had written nothing of it then");
}

#[test]
fn two_people_are_two() {
    let person = |name: &str| Caller::of_person(name, Some(format!("{name}@example.org")));
    let mut table = Table::new("single-root");
    table.caller = person("ada");
    let own = |node: &str, state: &str| NodeResult { agent_id: None, claimed: true, ..found(node, state) };
    table.propose(&[("R1.A", "")]);
    table.sleep(60);
    table.try_commit(vec![own("R1.A", "EXPLORE")]).unwrap();
    table.propose(&[("R2.A1", "R1.A")]);
    table.sleep(60);
    table.try_commit(vec![own("R2.A1", "DEAD")]).unwrap();
    table.caller = person("grace");
    table.try_commit(vec![own("R2.A1", "EXPLORE")]).unwrap();
    assert_eq!(table.node("R2.A1").classification.as_ref().unwrap().other_results.len(), 1);
    assert!(said(table.try_commit(vec![own("R2.A1", "EXPLORE")])).contains("NOT_PROPOSED"), "sent twice");
}

/// Two answers. The first is confirmed and the second is not; no required steps remain.
fn two_answers() -> Table {
    let mut table = Table::in_mode("single-root", "smoke");
    table.caller = session("one");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.grow(&[("R2.A1", "R1.A", "FOUND"), ("R2.A2", "R1.A", "FOUND")]);
    table.caller = session("two");
    table.grow(&[("R3.A1a", "R2.A1", "VERIFY")]);
    table
}

fn stopped(answers: &[Bind]) -> End {
    End { stopped: Some(EarlyStop { reason: StopReason::Enough, note: None }), ..concluded(answers) }
}

#[test]
fn a_conclusion_says_on_which_of_several_answers_it_rests() {
    let mut table = two_answers();
    assert_snapshot!(said(table.clone().try_end_with(stopped(&[]))), @"CONCLUSION_UNBOUND: There are 2 answers (R2.A1, R2.A2), and the conclusion does not say which of them it rests on. Name them in `answers`, with `as: rival` for those that are merely possible; tot_amend can name them later.");
    table.try_end_with(stopped(&[])).unwrap();
    let unbound = table.assessment();
    assert_eq!((unbound.bound().count(), unbound.first().is_none()), (0, true), "no answer stands beside it");
    assert_eq!(unbound.outcome, Outcome::StoppedEarly);
    assert_eq!(unbound.verdict(), Some(Verdict::StoppedEarly), "the worst counts");
    let named = Amend {
        reason: "It rests on the second.".into(),
        answers: Some(vec![Bind::Id("R2.A2".into())]),
        not_covered: Some(vec!["The other machine.".into()]),
        ..Amend::default()
    };
    table.try_amend(named.clone()).unwrap();
    let bound = table.assessment();
    assert_eq!(bound.first().unwrap().node.id.as_str(), "R2.A2", "the better one does not stand above it");
    assert_eq!(bound.answers[0].node.id.as_str(), "R2.A2");
    assert_eq!(bound.end().unwrap().not_covered, ["The other machine."]);
    assert!(table.try_amend(named).unwrap().event.is_none(), "twice is once");
    let amended = &table.investigation.conclusion().unwrap().amended;
    assert_eq!((amended.len(), amended[0].answers.as_deref()), (1, Some(&[][..])));
}

#[test]
fn an_answer_that_can_not_be_named() {
    let mut table = two_answers();
    let id = |id: &str| Bind::Id(id.into());
    let main = |id: &str| Bind::As { id: id.into(), role: Some(BoundAs::Main) };
    let rival = |id: &str| Bind::As { id: id.into(), role: Some(BoundAs::Rival) };
    assert_snapshot!(said(table.try_end_with(stopped(&[id("R1.A")]))), @"INVALID_ARGUMENT R1.A: `R1.A` is not a current answer. The current answers: R2.A1, R2.A2.");
    assert_snapshot!(said(table.try_end_with(stopped(&[id("R2.A1"), id("R2.A1")]))), @"INVALID_ARGUMENT R2.A1: R2.A1 is named twice in `answers`. Name it once.");
    assert_snapshot!(said(table.try_end_with(stopped(&[main("R2.A1"), main("R2.A2")]))), @"INVALID_ARGUMENT: `answers` must name one main answer, or parts that together form the conclusion. Mark each of several parts with `as: part`, and other answers with `as: rival`.");
    assert_snapshot!(said(table.try_end_with(stopped(&[rival("R2.A1")]))), @"INVALID_ARGUMENT: `answers` must name one main answer, or parts that together form the conclusion. Mark each of several parts with `as: part`, and other answers with `as: rival`.");
    table.try_end_with(stopped(&[id("R2.A1"), rival("R2.A2")])).unwrap();
    let roles: Vec<BoundAs> = table.assessment().bound().map(|bound| bound.role).collect();
    assert_eq!(roles, [BoundAs::Main, BoundAs::Rival]);
}

#[test]
fn a_review_does_not_end_on_answers_it_does_not_name() {
    let mut table = Table::new("review");
    table.caller = session("one");
    table.propose(&[("R1.A", ""), ("R1.B", "")]);
    table.sleep(60);
    table.try_commit(vec![by("one", "R1.A", "ANSWER"), by("other", "R1.B", "ANSWER")]).unwrap();
    table.propose(&[("R2.A1", "R1.A"), ("R2.B1", "R1.B")]);
    table.sleep(60);
    table.caller = session("two");
    table.try_commit(vec![by("critic", "R2.A1", "CONFIRMED"), by("critic-2", "R2.B1", "CONFIRMED")]).unwrap();
    assert_snapshot!(said(table.try_end_with(concluded(&[]))), @"CONCLUSION_UNBOUND: There are 2 answers (R1.A, R1.B), and the conclusion does not say which of them it rests on. Name them in `answers`, with `as: rival` for those that are merely possible; tot_amend can name them later.");
    table.try_end_with(concluded(&[Bind::Id("R1.A".into()), Bind::Id("R1.B".into())])).unwrap();
    assert_eq!(table.assessment().verdict(), Some(Verdict::OtherSession));
}

/// The page once showed the headline, author and badge of a different answer above an unchanged conclusion.
#[test]
fn an_objection_to_its_answer_puts_no_other_answer_above_a_conclusion() {
    let mut table = two_answers();
    table.try_end_with(stopped(&[Bind::Id("R2.A1".into())])).unwrap();
    table
        .say(
            Say {
                node_id: Some("R2.A1".into()),
                kind: CommentKind::Objection,
                reply_to: None,
                text: "The cache was warm in each of the runs.".into(),
                agent_id: Some("critic".into()),
            },
            Commenter::default(),
        )
        .unwrap();
    let assessment = table.assessment();
    let first = assessment.first().unwrap();
    assert_eq!((first.node.id.as_str(), first.verdict), ("R2.A1", Verdict::Contested));
    assert_eq!(assessment.verdict(), Some(Verdict::Contested));
    assert_eq!(assessment.count(Verdict::is_confirmed), 0);
}

#[test]
fn a_conclusion_without_an_answer_is_not_denied() {
    let mut table = Table::new("single-root");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.try_end_with(stopped(&[])).unwrap();
    assert_snapshot!(table.assessment().found(), @"No node is marked as an answer, so nobody has checked the conclusion.");
}
