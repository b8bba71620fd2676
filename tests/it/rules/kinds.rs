//! Every kind of rule, on a ruleset in which it fires and on one in which it is silent. Also the rule's description,
//! which is identical for agents, in the terminal and in the report.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::report::{ReportInput, SiteOptions, Templates};
use tree_of_thoughts::ruleset::instructions::instructions;
use tree_of_thoughts::ruleset::plain_text::plain_text;
use tree_of_thoughts::ruleset::rules::{self, KINDS};
use tree_of_thoughts::ruleset::{EffectiveRules, RulesetFile, builtin};
use tree_of_thoughts::store::Snapshot;
use tree_of_thoughts::yaml;

use super::table::Table;
use crate::report::pages::{SiteContents, site};

/// A kind of rule, and a ruleset in which it fires.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Fixture {
    kind: String,
    state: Value,
    keys: Map<String, Value>,
    calls: Vec<String>,
    says: String,
}

impl Fixture {
    fn all() -> Vec<Fixture> {
        yaml::from_text(include_str!("kinds.yaml").split("\n---\n").nth(1).unwrap()).unwrap()
    }

    fn ruleset(&self) -> RulesetFile {
        let little = include_str!("kinds.yaml").split("\n---\n").next().unwrap();
        let mut ruleset: Value = yaml::from_text(little).unwrap();
        let states = ruleset["states"].as_array_mut().unwrap();
        states
            .iter_mut()
            .filter(|it| it["name"] == self.state["name"])
            .for_each(|it| *it = self.state.clone());
        ruleset.as_object_mut().unwrap().extend(self.keys.clone());
        let text = yaml::to_text(&ruleset).unwrap();
        RulesetFile::parse(&text).unwrap_or_else(|errors| panic!("{}: {errors:#?}", self.kind))
    }

    /// Returns the last reply to the calls under a ruleset, and what they stored.
    fn reply(&self, ruleset: RulesetFile) -> (String, Table) {
        let mut table = Table::started(ruleset, Start { query: "Why?".into(), ..Start::default() }).unwrap();
        let replies: Vec<String> = self.calls.iter().map(|call| table.call(call)).collect();
        (replies.last().unwrap().clone(), table)
    }
}

/// Returns all descriptions of the rules.
fn words(rules: &EffectiveRules) -> Vec<String> {
    let states = &rules.ruleset().states;
    let of_states = states.iter().map(|state| rules::of_state(rules, state));
    of_states.chain(rules::sentences(rules)).chain(rules::end(rules)).collect()
}

#[test]
fn each_kind_fires_where_it_is_asked_for_and_is_silent_elsewhere_and_says_what_it_asks_for() {
    let fixtures = Fixture::all();
    let mut kinds: Vec<&str> = fixtures.iter().map(|fixture| fixture.kind.as_str()).collect();
    kinds.dedup();
    assert_eq!(KINDS.iter().map(|kind| kind.key).collect::<Vec<_>>(), kinds);
    let silent = Fixture::default().ruleset();
    let mut broken = Vec::new();
    for fixture in fixtures {
        let (kind, says, file) = (&fixture.kind, &fixture.says, fixture.ruleset());
        let [before, after] = [&silent, &file].map(|file| words(&EffectiveRules::by_default(&file.ruleset)));
        assert_ne!(before, after, "{kind} is not told");
        let (reply, _) = fixture.reply(file.clone());
        assert!(reply.contains(says), "{kind}: {reply}");
        let declared = KINDS.iter().filter(|known| known.key == kind);
        let mut codes = declared.flat_map(|kind| kind.errors.iter().chain(kind.warnings));
        assert!(says.contains(':') || codes.any(|(_, code)| code == says.as_str()), "{kind} has no {says}");
        let (reply, Table { investigation: stored, .. }) = fixture.reply(silent.clone());
        assert!(!reply.contains(says), "{kind}: {reply}");
        // `tot check` asks the kind about what the silent ruleset let through.
        let violations = rules::violations(&stored, &EffectiveRules::new(&file.ruleset, stored.meta()));
        broken.extend(violations.first().map(|_| kind.clone()));
    }
    assert_eq!(broken.join(" "), "end.minRounds states states.childStates earlyStates evidence roots modes");
}

/// The report once omitted which states count as closed, and which nodes do not count.
#[test]
fn each_rule_is_told_alike_to_agents_at_a_terminal_and_in_the_report() {
    let mut files: Vec<RulesetFile> = Fixture::all().iter().map(Fixture::ruleset).collect();
    files.extend(builtin::all().iter().cloned());
    let templates = Templates::load(&SiteOptions::default()).unwrap();
    let mut told = String::new();
    for file in files {
        let rules = EffectiveRules::by_default(&file.ruleset);
        let terminal = plain_text(&file.ruleset, 100).split_whitespace().collect::<Vec<_>>().join(" ");
        let investigation = Table::started(file.clone(), Start { query: "Why?".into(), ..Start::default() });
        let snapshot = Snapshot::without_repository(investigation.unwrap().investigation, file.clone());
        let input = ReportInput::new(snapshot, Vec::new());
        let pages: BTreeMap<String, Vec<u8>> = site(&SiteContents::from(&[input][..]), &templates).unwrap();
        let page = |name: &str| {
            let page = String::from_utf8(pages[name].clone()).unwrap().replace("&#39;", "'");
            page.replace("<code>", "`").replace("</code>", "`")
        };
        for sentence in words(&rules) {
            for text in [&instructions(&rules), &terminal, &page("judged.html"), &page("print.html")] {
                assert!(text.contains(&sentence), "`{sentence}` is not in\n{text}");
            }
            told.push_str(&sentence);
        }
    }
    for ratio in ["(with WAIT)", "(with VALID_PENDING)", "There, nodes in DEAD of round 1 do not count."] {
        assert!(told.contains(ratio), "{ratio}");
    }
}
