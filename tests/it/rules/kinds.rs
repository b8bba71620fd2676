//! Every kind of rule, on a ruleset in which it fires and on one in which it is silent. Also the rule's description,
//! which is identical for agents, in the terminal and in the report.

use std::collections::BTreeMap;
use std::sync::Arc;

use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::next::{Next, next};
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::{Code, CommentKind, Commenter};
use tree_of_thoughts::report::{ReportInput, SiteContents, SiteOptions, Templates, site};
use tree_of_thoughts::ruleset::instructions::instructions;
use tree_of_thoughts::ruleset::plain_text::plain_text;
use tree_of_thoughts::ruleset::rules::{self, KINDS};
use tree_of_thoughts::ruleset::{EffectiveRules, RulesetFile, builtin};
use tree_of_thoughts::service::project::ProjectEvidence;
use tree_of_thoughts::service::signoff::SignOffs;
use tree_of_thoughts::store::{Size, Snapshot};

use crate::support::table::{Table, found, said};

/// A ruleset with minimal requirements.
const LITTLE: &str = "\
version: 1
name: little
summary: A method that asks for little.
states:
- {name: GO, meaning: Go on, role: open, colour: lightblue, children: [{min: 1}]}
- {name: WAIT, meaning: Go on later, role: open, colour: gray, children: [{min: 1}]}
- {name: YES, meaning: An answer, role: solution, colour: green, terminal: true}
- {name: NO, meaning: Ruled out, role: deadEnd, colour: red, terminal: true}
checks: {suspicious: \"off\", missingAgent: \"off\", reusedAgent: \"off\", secretSuspected: \"off\"}
end: {minRounds: 1}
";

const WAIT: &str = "WAIT, meaning: Go on later, role: open, colour: gray, children: [{min: 1}]";

/// A kind of rule, and a ruleset in which it fires.
struct Fixture {
    kind: &'static str,
    /// A part of the ruleset above, and its replacement.
    with: [&'static str; 2],
    /// The calls, and the expected messages.
    play: fn(&mut Table) -> String,
    /// A phrase that occurs only where the rule fires.
    says: &'static str,
}

const fn fixture(
    kind: &'static str,
    with: [&'static str; 2],
    play: fn(&mut Table) -> String,
    says: &'static str,
) -> Fixture {
    Fixture { kind, with, play, says }
}

const FIXTURES: [Fixture; 20] = [
    fixture("end.minRounds", ["minRounds: 1", "minRounds: 3"], one_closed_root, "MIN_ROUNDS"),
    fixture(
        "end.minDepth",
        ["minRounds: 1", "minRounds: 1, minDepth: 2"],
        one_closed_root,
        "DEPTH_TOO_SHALLOW",
    ),
    fixture(
        "states",
        [WAIT, "WAIT, meaning: Go on later, role: theory, colour: gray, terminal: true"],
        |table| {
            table.grow(&[("R1.A", "", "GO")]);
            table.grow(&[("R2.A1", "R1.A", "YES")]);
            table.reclassify("R1.A", "WAIT")
        },
        "HAS_CHILDREN",
    ),
    fixture(
        "states.children",
        ["children: [{min: 1}]", "children: [{min: 2}]"],
        a_child_that_answers,
        "INSUFFICIENT_CHILDREN",
    ),
    fixture(
        "states.childStates",
        ["children: [{min: 1}]", "children: [{min: 1}], childStates: [GO, NO]"],
        a_child_that_answers,
        "INVALID_CHILD_STATE",
    ),
    fixture(
        "earlyStates",
        ["end:", "earlyStates: [{states: [YES], toRound: 1, storeAs: GO}]\nend:"],
        an_answer_at_once,
        "DEPTH_ENFORCED",
    ),
    fixture(
        "evidence",
        ["end:", "evidence: {states: [YES], minCharacters: 500}\nend:"],
        an_answer_at_once,
        "MISSING_EVIDENCE",
    ),
    fixture("runs", ["end:", "runs: {states: [YES]}\nend:"], an_answer_at_once, "NOT_RUN"),
    fixture(
        "alternatives",
        ["end:", "alternatives: {states: [YES], min: 1}\nend:"],
        an_answer_at_once,
        "MISSING_ALTERNATIVES",
    ),
    fixture(
        "confirmations",
        [WAIT, "WAIT, meaning: Go on later, role: awaitingConfirmation, colour: gray, children: [{min: 1}]"],
        |table| {
            table.grow(&[("R1.A", "", "WAIT")]);
            table.grow(&[("R2.A1", "R1.A", "GO")]);
            table.grow(&[("R3.A1a", "R2.A1", "NO")]);
            table.blockers()
        },
        "AWAITING_CONFIRMATION",
    ),
    fixture(
        "verification",
        ["end:", "verification: {confirmed: reject}\nend:"],
        one_closed_root,
        "UNCONFIRMED_ANSWER",
    ),
    fixture(
        "objections",
        ["end:", "objections: reject\nend:"],
        |table| {
            table.grow(&[("R1.A", "", "YES")]);
            let objection = Say {
                node_id: Some("R1.A".into()),
                kind: CommentKind::Objection,
                text: "It was not measured.".into(),
                ..Say::default()
            };
            table.say(objection, Commenter::default()).unwrap();
            table.blockers()
        },
        "OBJECTION_OPEN",
    ),
    fixture(
        "terminalRatio",
        [
            "end:",
            "terminalRatio:\n  limits: [{maxPercent: 0}]\n  alsoClosed: [WAIT]\n  notCounted:\n  - {states: [NO], \
             toRound: 1}\n  - {childrenOf: [WAIT]}\nend:",
        ],
        |table| {
            table.propose(&[("R1.A", "")]);
            table.commit(&[("R1.A", "WAIT")])
        },
        "TERMINAL_RATIO_EXCEEDED",
    ),
    fixture("batchLimit", ["end:", "batchLimit: 1\nend:"], two_roots, "BATCH_OVERFLOW"),
    fixture("roots", ["end:", "roots: {max: 1}\nend:"], two_roots, "TOO_MANY_ROOTS"),
    fixture("breadth", ["end:", "breadth: {round: 1, recommended: 3}\nend:"], two_roots, "R1_BREADTH"),
    fixture(
        "checks",
        ["missingAgent: \"off\"", "missingAgent: reject"],
        |table| {
            table.propose(&[("R1.A", "")]);
            said(table.try_commit(vec![NodeResult { agent_id: None, ..found("R1.A", "YES") }]))
        },
        "MISSING_AGENT",
    ),
    fixture(
        "checks.secretSuspected",
        ["secretSuspected: \"off\"", "secretSuspected: reject"],
        |table| {
            table.propose(&[("R1.A", "")]);
            let token = ["gh", "p_", "k9Zt3QwL7", "mVx2Rb8Nc4", "Yd6Hf1Js5P", "gT0aUe2"].concat();
            said(table.try_commit(vec![NodeResult { findings: token, ..found("R1.A", "YES") }]))
        },
        "SECRET_SUSPECTED",
    ),
    fixture(
        "end.minQualityPercent",
        ["minRounds: 1", "minRounds: 1, minQualityPercent: 100"],
        one_closed_root,
        "QUALITY_TOO_LOW",
    ),
    fixture(
        "modes",
        ["end:", "modes: [{name: eager, meaning: More of it, childrenAsked: 3}]\nend:"],
        |table| {
            table.grow(&[("R1.A", "", "GO")]);
            let plan = next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap();
            format!("{} TASKS", plan.tasks.len())
        },
        "3 TASKS",
    ),
];

fn an_answer_at_once(table: &mut Table) -> String {
    table.propose(&[("R1.A", "")]);
    table.commit(&[("R1.A", "YES")])
}

fn one_closed_root(table: &mut Table) -> String {
    table.grow(&[("R1.A", "", "YES")]);
    table.blockers()
}

fn a_child_that_answers(table: &mut Table) -> String {
    table.grow(&[("R1.A", "", "GO")]);
    table.propose(&[("R2.A1", "R1.A")]);
    let said = table.commit(&[("R2.A1", "YES")]);
    format!("{said}\n{}", table.blockers())
}

fn two_roots(table: &mut Table) -> String {
    table.propose(&[("R1.A", ""), ("R1.B", "")])
}

fn little(with: [&str; 2]) -> RulesetFile {
    assert!(LITTLE.contains(with[0]), "{}", with[0]);
    let mut text = LITTLE.replacen(with[0], with[1], 1);
    if with[1].contains("awaitingConfirmation") {
        text = text.replace(
            "end:",
            "confirmations: [{state: WAIT, outcomes: [{child: YES, becomes: YES}, {child: NO, becomes: GO}]}]\nend:",
        );
    }
    RulesetFile::parse(&text).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// Returns all descriptions of the rules.
fn words(rules: &EffectiveRules) -> Vec<String> {
    let states = &rules.ruleset().states;
    let of_states = states.iter().map(|state| rules::of_state(rules, state));
    of_states.chain(rules::sentences(rules)).chain(rules::end(rules)).collect()
}

#[test]
fn every_kind_has_a_fixture() {
    let kinds: Vec<&str> = KINDS.iter().map(|kind| kind.key).collect();
    let fixtures: Vec<&str> = FIXTURES.iter().map(|fixture| fixture.kind).collect();
    assert_eq!(kinds, fixtures);
}

#[test]
fn each_kind_fires_where_it_is_asked_for_and_is_silent_elsewhere() {
    for Fixture { kind, with, play, says } in FIXTURES {
        let fires = play(&mut Table::of(little(with), Start::default()));
        assert!(fires.contains(says), "{kind}: {fires}");
        let silent = play(&mut Table::of(little(["", ""]), Start::default()));
        assert!(!silent.contains(says), "{kind}: {silent}");
        // A capitalized word that is not a code is a figure.
        assert!(says.contains("TASKS") || says.contains("BREADTH") || !is_other(says), "{says} is no code");
    }
}

fn is_other(code: &str) -> bool {
    matches!(Code::parse(code), Code::Other(_))
}

#[test]
fn each_kind_says_what_it_asks_for() {
    let silent = little(["", ""]);
    let before = words(&EffectiveRules::by_default(&silent.ruleset));
    for Fixture { kind, with, .. } in FIXTURES {
        let file = little(with);
        let after = words(&EffectiveRules::by_default(&file.ruleset));
        assert_ne!(before, after, "{kind} is not told");
    }
}

/// The report once omitted which states count as closed, and which nodes do not count.
#[test]
fn also_closed_and_not_counted_are_told_alike_to_agents_at_a_terminal_and_in_the_report() {
    let mut files: Vec<RulesetFile> = FIXTURES.iter().map(|fixture| little(fixture.with)).collect();
    files.extend(builtin::all().iter().cloned());
    let templates = Templates::load(&SiteOptions::default()).unwrap();
    let mut told = String::new();
    for file in files {
        let table = Table::of(file.clone(), Start::default());
        let agents = instructions(&table.rules());
        let terminal = plain_text(&file.ruleset, 100).split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words(&table.rules());
        let snapshot = Snapshot {
            path: "investigation".into(),
            head: "0123456789012345678901234567890123456789".parse().unwrap(),
            branch: Some("main".into()),
            investigation: Arc::new(table.investigation),
            ruleset: Ok(Arc::new(file)),
            faults: Vec::new(),
            size: Size::default(),
            first: None,
        };
        let pages: BTreeMap<String, Vec<u8>> = site(
            &SiteContents::from(
                &[ReportInput {
                    snapshot,
                    history: Vec::new(),
                    rev: None,
                    sign_offs: SignOffs::default(),
                    evidence: ProjectEvidence::default(),
                    attachments: Vec::new(),
                    withheld: Default::default(),
                    ends: Vec::new(),
                }][..],
            ),
            &templates,
        )
        .unwrap();
        let page = |name: &str| String::from_utf8(pages[name].clone()).unwrap().replace("&#39;", "'");
        let (judged, print) = (page("judged.html"), page("print.html"));
        for sentence in words {
            for text in [&agents, &terminal, &judged, &print] {
                assert!(text.contains(&sentence), "`{sentence}` is not in\n{text}");
            }
            told.push_str(&sentence);
        }
    }
    for ratio in ["(with WAIT)", "(with VALID_PENDING)", "There, nodes in DEAD of round 1 do not count."] {
        assert!(told.contains(ratio), "{ratio}");
    }
}
