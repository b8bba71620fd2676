//! Random calls, legal or not, through the whole server except its protocol. Nothing panics, a rejected call changes
//! nothing, and the investigation on disk is always allowed by its ruleset.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use tree_of_thoughts::assess::Assessment;
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::blockers::{at_odds, blockers};
use tree_of_thoughts::decide::commit::{NodeResult, commit};
use tree_of_thoughts::decide::end::{Bind, End, end};
use tree_of_thoughts::decide::next::{Next, outlook};
use tree_of_thoughts::decide::propose::{NewNode, Propose, propose};
use tree_of_thoughts::decide::reclassify::{Reclassify, reclassify};
use tree_of_thoughts::decide::start::{Start, start};
use tree_of_thoughts::domain::{Caller, Code, Diagnostic, Investigation, NodeId, SessionId, Timestamp};
use tree_of_thoughts::format::message;
use tree_of_thoughts::graph;
use tree_of_thoughts::ruleset::instructions::instructions;
use tree_of_thoughts::ruleset::{EffectiveRules, Library};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::store::{Durability, Snapshot, Store};

use super::table::{EVIDENCE, worded};
use crate::support::is_named;

/// One call. The numbers select among the existing nodes.
#[derive(Clone, Debug)]
enum Call {
    Propose { parent: u8, steps: Vec<u8>, withdraw: Option<u8>, wild: Option<u8> },
    Commit { first: u8, states: Vec<u8>, evidence: bool, agent: u8 },
    Reclassify { node: u8, state: u8, evidence: bool },
    Claim { agent: u8, tasks: u8 },
    Release(u8),
    End,
    Sleep(u8),
}

fn call() -> impl Strategy<Value = Call> {
    let steps = proptest::collection::vec(0..5u8, 0..5);
    let states = proptest::collection::vec(any::<u8>(), 0..5);
    let rarely = || proptest::option::weighted(0.1, any::<u8>());
    prop_oneof![
        6 => (any::<u8>(), steps, rarely(), rarely())
            .prop_map(|(parent, steps, withdraw, wild)| Call::Propose { parent, steps, withdraw, wild }),
        6 => (any::<u8>(), states, proptest::bool::weighted(0.9), any::<u8>())
            .prop_map(|(first, states, evidence, agent)| Call::Commit { first, states, evidence, agent }),
        3 => (any::<u8>(), any::<u8>(), any::<bool>())
            .prop_map(|(node, state, evidence)| Call::Reclassify { node, state, evidence }),
        1 => (0..3u8, any::<u8>()).prop_map(|(agent, tasks)| Call::Claim { agent, tasks }),
        1 => any::<u8>().prop_map(Call::Release),
        1 => Just(Call::End),
        3 => (0..30u8).prop_map(Call::Sleep),
    ]
}

/// Ids that are invalid, or not in this tree.
const WILD: [&str; 8] = ["", "R1.a", "R2.A", "R9.A1a1", "../x", "R1.B", "R3.A1", "constructor"];

/// The investigation under test.
struct Bench {
    service: Service,
    clock: PathBuf,
    now: i64,
    id: String,
    accepted: usize,
}

impl Bench {
    fn begin(folder: &std::path::Path, ruleset: usize, mode: usize) -> Bench {
        let library = Library::default();
        let guide = super::super::rulesets::example();
        let library = if ruleset == library.all().count() {
            Library::with([("post-mortem.yaml", guide)]).unwrap()
        } else {
            library
        };
        let file = library.all().nth(ruleset).unwrap();
        let clock = folder.join("clock");
        let mut service = Service::new(folder.join("root"), World::File(clock.clone()), None);
        service.store = service.store.with_durability(Durability::Git);
        let mut bench = Bench { service, clock, now: 1_767_603_600_000, id: String::new(), accepted: 1 };
        bench.sleep(0);
        let modes = file.ruleset.mode_names();
        let request = Start {
            query: "Why?".into(),
            mode: Some(modes[mode % modes.len()].to_owned()),
            min_roots: file.ruleset.roots.min_is_chosen.then_some(2),
            ..Start::default()
        };
        let now = bench.service.now().map_err(|_| ()).unwrap();
        let id = bench.service.world().id(now, SessionId::new);
        let meta = start(request, &file.ruleset, None, id, now).unwrap();
        bench.id = meta.id.to_string();
        let text = message::started(&meta);
        bench.service.store().create(meta, file, &text).unwrap();
        bench
    }

    fn sleep(&mut self, seconds: u8) {
        self.now += i64::from(seconds) * 1_000;
        let time = Timestamp::from_milliseconds(self.now).unwrap();
        std::fs::write(&self.clock, time.to_string()).unwrap();
    }

    fn snapshot(&self) -> Snapshot {
        self.service.read(&self.id).map_err(|_| ()).unwrap().snapshot
    }

    /// Returns the parent that a number selects: a committed node, usually open, or `None` for a root.
    fn parent(investigation: &Investigation, rules: &EffectiveRules, at: u8) -> Option<NodeId> {
        let any_state = at.is_multiple_of(16);
        let places: Vec<_> = investigation
            .committed()
            .filter(|(_, state)| any_state || !rules.is_terminal(state))
            .map(|(node, _)| node.id.clone())
            .collect();
        places.get(at as usize % (places.len() + 1)).cloned()
    }

    /// Returns one of five ids below it, so that many collide.
    fn child(parent: Option<&NodeId>, step: u8) -> String {
        let Some(parent) = parent else { return format!("R1.{}", ["A", "B", "C", "D", "a"][step as usize]) };
        let digit = parent.suffix().ends_with(|c: char| c.is_ascii_digit());
        let step = if digit { ["a", "b", "c", "d", "B"] } else { ["1", "2", "3", "4", "5"] }[step as usize];
        parent.short().child(step).map_or_else(String::new, |id| id.to_string())
    }

    fn run(&mut self, call: &Call) -> Result<(), TestCaseError> {
        let before = self.snapshot();
        let investigation = &before.investigation;
        let ids: Vec<String> = investigation.nodes().map(|node| node.id.to_string()).collect();
        let pending: Vec<String> = investigation.pending().map(|node| node.id.to_string()).collect();
        let states: Vec<String> = {
            let ruleset = before.ruleset.as_ref().unwrap();
            ruleset
                .ruleset
                .states
                .iter()
                .map(|state| state.name.to_string())
                .chain(["NOTHING".into()])
                .collect()
        };
        let pick = |from: &[String], at: u8| match from.len() {
            0 => WILD[at as usize % WILD.len()].to_owned(),
            many => from[at as usize % many].clone(),
        };
        let evidence = |given: bool| given.then(|| EVIDENCE.to_owned());
        let written = match call {
            Call::Sleep(seconds) => {
                self.sleep(*seconds);
                return Ok(());
            }
            Call::Propose { parent, steps, withdraw, wild } => {
                let parent = {
                    let ruleset = &before.ruleset.as_ref().unwrap().ruleset;
                    let rules = EffectiveRules::new(ruleset, investigation.meta());
                    Bench::parent(investigation, &rules, *parent)
                };
                // Usually free ids, otherwise any of the five.
                let any = (0..5).map(|step| Bench::child(parent.as_ref(), step));
                let mut free = any.filter(|id| !ids.contains(id));
                let new = steps.iter().map(|step| match step {
                    4 => Bench::child(parent.as_ref(), 4 - steps[0]),
                    _ => free.next().unwrap_or_default(),
                });
                let wild = wild.map(|at| WILD[at as usize % WILD.len()].to_owned());
                let ids: Vec<String> = new.chain(wild).filter(|id| !id.is_empty()).collect();
                let node = |id| NewNode {
                    id,
                    parent: parent.as_ref().map(ToString::to_string),
                    title: "T".into(),
                    planned_action: String::new(),
                    ..NewNode::default()
                };
                let request = Propose {
                    nodes: ids.into_iter().map(node).collect(),
                    withdraw: withdraw.iter().map(|at| pick(&pending, *at)).collect(),
                    reopen: withdraw.map(|_| "It was doubted.".into()),
                };
                self.service.write(&self.id, &Caller::default(), |investigation, rules, now| {
                    propose(investigation, rules, request.clone(), &Caller::default(), now)
                })
            }
            Call::Commit { first, states: chosen, evidence: given, agent } => {
                // Sometimes it comes late, with a claim.
                let claimed = agent.is_multiple_of(6);
                let from = if claimed { &ids } else { &pending };
                let results: Vec<NodeResult> = chosen
                    .iter()
                    .zip(u16::from(*first)..)
                    // Sometimes more results than nodes, so that one node occurs twice.
                    .take(if agent.is_multiple_of(8) { 5 } else { from.len().max(1) })
                    .map(|(state, node)| NodeResult {
                        node_id: pick(from, (node % 256) as u8),
                        claimed,
                        state: pick(&states, if state.is_multiple_of(3) { 0 } else { *state }),
                        findings: "See https://example.org/a.".into(),
                        agent_id: (agent % 4 > 0).then(|| format!("agent-{agent}")),
                        evidence: evidence(*given),
                        ..NodeResult::default()
                    })
                    .collect();
                self.service.write(&self.id, &Caller::default(), |investigation, rules, now| {
                    commit(investigation, rules, results.clone(), &HashMap::new(), &Caller::default(), now)
                })
            }
            Call::Reclassify { node, state, evidence: given } => {
                let request = Reclassify {
                    node_id: pick(&ids, *node),
                    new_state: pick(&states, *state),
                    evidence: evidence(*given),
                    ..Reclassify::default()
                };
                self.service.write(&self.id, &Caller::default(), |investigation, rules, now| {
                    reclassify(investigation, rules, request.clone(), now)
                })
            }
            Call::Claim { agent, tasks } => {
                let plan = Next {
                    agent_id: Some(format!("agent-{agent}")),
                    max_tasks: Some(u32::from(tasks % 20) + 1),
                    ..Next::default()
                };
                let minutes = Some(u32::from(tasks % 2) + 1);
                self.service.claim_next(&self.id, &plan, minutes, &Caller::default())
            }
            Call::Release(node) => match pick(&pending, *node).parse() {
                Ok(node) => self.service.release(&self.id, &[node], &Caller::default()),
                Err(_) => return Ok(()),
            },
            Call::End => self.service.write(&self.id, &Caller::default(), |investigation, rules, now| {
                end(investigation, rules, concluded(investigation, rules), &HashMap::new(), now)
            }),
        };
        let tool = match call {
            // Released nodes must be pending too.
            Call::Propose { .. } | Call::Release(_) => "tot_propose",
            Call::Claim { .. } => "tot_next",
            Call::Commit { .. } => "tot_commit",
            Call::Reclassify { .. } => "tot_reclassify",
            Call::End | Call::Sleep(_) => "tot_end",
        };
        let said = match &written {
            Ok(written) => &written.decision.warnings,
            Err(refusal) => &refusal.errors,
        };
        for diagnostic in said {
            prop_assert!(is_named(tool, &diagnostic.code), "{} does not say {}", tool, diagnostic);
        }
        let after = self.snapshot();
        match written {
            Ok(written) if written.decision.event.is_some() => {
                self.accepted += 1;
                prop_assert_ne!(before.head, after.head);
            }
            Ok(_) => prop_assert_eq!(before.head, after.head),
            Err(refusal) => {
                prop_assert!(!refusal.errors.is_empty());
                prop_assert_eq!(before.head, after.head, "a rejected call writes nothing");
            }
        }
        self.check(&after)
    }

    /// Asserts that the ruleset allows the investigation, and that every query works on it.
    fn check(&self, snapshot: &Snapshot) -> Result<(), TestCaseError> {
        let ruleset = snapshot.ruleset.as_ref().unwrap();
        let investigation = &snapshot.investigation;
        let rules = EffectiveRules::new(&ruleset.ruleset, investigation.meta());
        prop_assert_eq!(at_odds(investigation, &rules), Vec::new());
        let mut spellings: Vec<String> =
            investigation.nodes().map(|node| node.id.as_str().to_ascii_lowercase()).collect();
        spellings.sort();
        spellings.dedup();
        prop_assert_eq!(spellings.len(), investigation.nodes().count());
        let blocked = blockers(investigation, &rules);
        for blocker in &blocked {
            prop_assert!(is_named("tot_end", &blocker.code), "tot_end does not say {}", blocker);
        }
        if investigation.conclusion().is_some() {
            prop_assert!(blocked.is_empty());
        }
        let now = self.service.now().map_err(|_| ()).unwrap();
        let ended = end(investigation, &rules, concluded(investigation, &rules), &HashMap::new(), now);
        prop_assert_eq!(blocked.is_empty(), ended.is_ok(), "canEnd says what tot_end does");
        let outlook = outlook(investigation, &rules);
        prop_assert!(!worded(&outlook.next_step.wording(None)).is_empty());
        // It lists only the first nodes that lack children.
        let is_lacking = |it: &&Diagnostic| it.code == Code::InsufficientChildren;
        prop_assert_eq!(outlook.lacking, blocked.iter().filter(is_lacking).count());
        let mut more = 3;
        let is_worded = |it: &&Diagnostic| {
            more -= i32::from(is_lacking(it));
            !is_lacking(it) || more >= 0
        };
        prop_assert!(outlook.blockers.iter().eq(blocked.iter().filter(is_worded)));
        let assessment = Assessment::new(investigation, Some(rules));
        let _ = (graph::dot(&assessment), graph::mermaid(&assessment));
        prop_assert!(!instructions(&rules).is_empty());
        Ok(())
    }

    /// Asserts that a new process reads the same state, and that the history adds up to it.
    fn read_again(&self) -> Result<(), TestCaseError> {
        let held = self.snapshot();
        let store = Store::new(self.service.store().root());
        let fresh = store.load(&held.path).unwrap();
        prop_assert_eq!(fresh.head, held.head);
        prop_assert_eq!(&fresh.faults, &Vec::new());
        prop_assert_eq!(fresh.investigation.as_ref(), held.investigation.as_ref());
        let history = store.history(&fresh).unwrap();
        prop_assert_eq!(history.len(), self.accepted, "one commit for each accepted call");
        let folded = crate::store::history::folded(&fresh, &history);
        prop_assert_eq!(&folded, fresh.investigation.as_ref());
        Ok(())
    }
}

/// Makes the calls, and returns the numbers of accepted calls and of resulting nodes.
fn play(ruleset: usize, mode: usize, calls: &[Call]) -> Result<(usize, usize), TestCaseError> {
    let folder = crate::support::testing::folder();
    let mut bench = Bench::begin(folder.path(), ruleset, mode);
    for call in calls {
        bench.run(call)?;
    }
    bench.read_again()?;
    Ok((bench.accepted, bench.snapshot().investigation.nodes().count()))
}

/// The test would prove little if nearly all calls were refused.
#[test]
fn any_calls_leave_a_sound_investigation() {
    let (accepted, nodes, calls) = (Cell::new(0), Cell::new(0), Cell::new(0));
    for ruleset in 0..6 {
        let mut config = crate::support::testing::sampled(11);
        if let RngSeed::Fixed(seed) = &mut config.rng_seed {
            *seed += ruleset as u64;
        }
        let list = proptest::collection::vec(call(), 30..50);
        let played = TestRunner::new(config).run(&(0..3usize, list), |(mode, list)| {
            let (more, here) = play(ruleset, mode, &list)?;
            accepted.set(accepted.get() + more);
            nodes.set(nodes.get() + here);
            calls.set(calls.get() + list.len());
            Ok(())
        });
        played.unwrap_or_else(|error| panic!("in ruleset {ruleset}: {error}"));
    }
    assert!(accepted.get() * 6 > calls.get(), "{accepted:?} of {calls:?} calls were accepted");
    assert!(nodes.get() > 40, "{nodes:?} nodes came of them");
}

/// A conclusion that names every answer.
fn concluded(investigation: &Investigation, rules: &EffectiveRules) -> End {
    let answers = rules.answers(investigation).map(|node| Bind::Id(node.id.to_string())).collect();
    End {
        conclusion: Some("It is so.".into()),
        bottom_line: Some("Do it.".into()),
        answers,
        ..End::default()
    }
}
