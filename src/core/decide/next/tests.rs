use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};

use super::*;
use crate::decide::comment::{Say, comment};
use crate::decide::commit::{NewVerification, NodeResult, commit};
use crate::decide::end::{Bind, End, end};
use crate::decide::propose::propose;
use crate::decide::reclassify::{Reclassify, reclassify};
use crate::decide::start::{Start, start};
use crate::decide::{Decision, TITLE_MAX};
use crate::domain::{Caller, Classification, CommentId, CommentKind, Commenter, Event, SessionId, Timestamp};
use crate::ruleset::{RulesetFile, builtin};

const EVIDENCE: &str = "Measured twice on the test machine: 41 ms before, 97 ms after the change.";

#[path = "../../../../tests/support/closing.rs"]
mod closing;

/// An in-memory investigation.
struct Play<'r> {
    file: &'r RulesetFile,
    investigation: Investigation,
    now: i64,
}

impl<'r> Play<'r> {
    fn new(ruleset: &str, mode: Option<&str>, min_rounds: Option<u32>) -> Play<'r> {
        let file = builtin::all().iter().find(|file| file.ruleset.name == ruleset).unwrap();
        let request = Start {
            query: "Why did p99 latency double after the upgrade?".into(),
            mode: mode.map(str::to_owned),
            min_rounds,
            ..Start::default()
        };
        let at = Timestamp::from_milliseconds(0).unwrap();
        let meta = start(request, &file.ruleset, None, SessionId::new(0, [7; 10]), at).unwrap();
        Play { file, investigation: Investigation::new(meta), now: 0 }
    }

    fn rules(&self) -> EffectiveRules<'r> {
        EffectiveRules::new(&self.file.ruleset, self.investigation.meta())
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_milliseconds(self.now).unwrap()
    }

    fn plan(&self, request: &Next) -> Plan {
        next(&self.investigation, &self.rules(), request, self.time()).unwrap()
    }

    /// Applies a decision. Returns whether it was accepted.
    fn take(
        &mut self,
        decide: impl FnOnce(&Investigation, &EffectiveRules, Timestamp) -> Result<Decision, Rejection>,
    ) -> Result<(), Rejection> {
        self.now += 60_000;
        let at = Timestamp::from_milliseconds(self.now).unwrap();
        let decision = decide(&self.investigation, &self.rules(), at)?;
        if let Some(event) = &decision.event {
            self.investigation = self.investigation.with(&event.changes());
        }
        Ok(())
    }

    fn propose(&mut self, plan: &Plan) {
        let tasks = plan.proposal();
        let result = self
            .take(|investigation, rules, at| propose(investigation, rules, tasks, &Caller::default(), at));
        result.unwrap_or_else(|why| panic!("{}: tasks are refused: {why}", self.show()));
    }

    fn commit(&mut self, states: &[(NodeId, String)]) -> Result<(), Rejection> {
        let results = states
            .iter()
            .map(|(node, state)| NodeResult {
                node_id: node.to_string(),
                state: state.clone(),
                findings: "Something was found.".into(),
                agent_id: Some(format!("agent-{node}")),
                evidence: Some(EVIDENCE.into()),
                verification: NewVerification {
                    alternatives_considered: vec!["Another cause.".into(), "A wrong clock.".into()],
                    ..NewVerification::default()
                },
                ..NodeResult::default()
            })
            .collect();
        self.take(|investigation, rules, at| {
            commit(
                investigation,
                rules,
                results,
                &crate::domain::LookedUpPaths::new(),
                &Caller::default(),
                at,
            )
        })
    }

    fn reclassify(&mut self, node: &NodeId, state: &str) -> Result<(), Rejection> {
        let request = Reclassify {
            node_id: node.to_string(),
            new_state: state.to_owned(),
            reason: Some("It was looked at once more.".into()),
            evidence: Some(EVIDENCE.into()),
            ..Reclassify::default()
        };
        self.take(|investigation, rules, at| reclassify(investigation, rules, request, at))
    }

    fn say(&mut self, request: Say) -> Result<(), Rejection> {
        self.take(|investigation, rules, at| {
            let id = CommentId::new(u64::try_from(at.milliseconds()).unwrap(), [0; 10]);
            comment(investigation, rules, request, Commenter::default(), id, at)
        })
    }

    fn object(&mut self, node: &NodeId, text: &str) {
        let objection = Say {
            node_id: Some(node.to_string()),
            kind: CommentKind::Objection,
            text: format!("It is wrong, since {text}."),
            agent_id: Some("a reader".into()),
            ..Say::default()
        };
        self.say(objection).unwrap();
    }

    /// Proposes the given nodes, then commits each in its state.
    fn grow(&mut self, nodes: &[(&str, Option<&str>, &str)]) {
        let request = Propose {
            nodes: nodes
                .iter()
                .map(|(id, parent, _)| NewNode {
                    id: (*id).to_owned(),
                    parent: parent.map(str::to_owned),
                    title: format!("Title of {id}"),
                    planned_action: "Look.".into(),
                    ..NewNode::default()
                })
                .collect(),
            ..Propose::default()
        };
        self.take(|investigation, rules, at| propose(investigation, rules, request, &Caller::default(), at))
            .unwrap();
        let states: Vec<_> =
            nodes.iter().map(|(id, _, state)| (id.parse().unwrap(), (*state).to_owned())).collect();
        self.commit(&states).unwrap();
    }

    /// Commits nodes as an agent that closes branches where it may.
    fn close(&mut self, nodes: &[NodeId]) -> Result<(), Rejection> {
        let states = closing::states(&self.investigation, &self.rules(), nodes);
        let states = nodes.iter().cloned().zip(states.iter().map(ToString::to_string));
        self.commit(&states.collect::<Vec<_>>())
    }

    /// Executes the planned call. Returns whether it ended the investigation.
    fn follow(&mut self, plan: &Plan) -> bool {
        let NextStep::Call(call) = &plan.outlook.next_step else {
            panic!("{}: {:?}", self.show(), plan.outlook.next_step)
        };
        let before = self.investigation.clone();
        let accepted = match &call.call {
            LegalCall::Propose(_) => {
                self.propose(plan);
                Ok(())
            }
            LegalCall::Withdraw(ids) => {
                let withdraw = ids.iter().map(ToString::to_string).collect();
                let request = Propose { withdraw, ..Propose::default() };
                self.take(|investigation, rules, at| {
                    propose(investigation, rules, request, &Caller::default(), at)
                })
            }
            LegalCall::Commit(nodes) => self.close(nodes),
            LegalCall::Reclassify(change) => self.reclassify(&change.node, change.state.as_str()),
            LegalCall::Reply(reply) => self.say(Say {
                kind: reply.kind,
                reply_to: Some(reply.to.to_string()),
                text: "It was looked into, and holds.".into(),
                agent_id: Some("another".into()),
                ..Say::default()
            }),
            LegalCall::Accept(_) => unreachable!("nobody corrects"),
            LegalCall::End(answers) => self.take(|investigation, rules, at| {
                let bind = |it: &BoundAnswer| Bind::As { id: it.id.to_string(), role: Some(it.role) };
                let answers = answers.iter().flatten().map(bind).collect();
                let said = || Some("It is so.".to_owned());
                let request = End { conclusion: said(), bottom_line: said(), answers, ..End::default() };
                let decision = end(investigation, rules, request, &crate::domain::LookedUpPaths::new(), at)?;
                assert!(matches!(decision.event, Some(Event::Ended { .. })));
                Ok(decision)
            }),
        };
        accepted.unwrap_or_else(|why| panic!("{}: {call:?} is refused: {why}", self.show()));
        assert_ne!(before, self.investigation, "{}: {call:?} changes nothing", self.show());
        self.investigation.conclusion().is_some()
    }

    /// Follows plans until the investigation ends. Returns the number of calls.
    fn finish(&mut self, request: &Next) -> usize {
        for calls in 1..=1_500 {
            let plan = self.plan(request);
            self.check(&plan, request);
            if self.follow(&plan) {
                return calls;
            }
        }
        panic!("{}: no end after 1500 calls of {request:?}", self.show());
    }

    /// Checks the properties of every plan.
    fn check(&self, plan: &Plan, request: &Next) {
        let mut after = Play { file: self.file, investigation: self.investigation.clone(), now: self.now };
        if plan.tasks.is_empty() {
            return;
        }
        let most = request.max_tasks.unwrap_or(TASKS_DEFAULT).max(self.rules().min_roots);
        assert!(plan.tasks.len() <= most as usize, "{} tasks", plan.tasks.len());
        after.propose(plan);
        let nodes: Vec<NodeId> = plan.tasks.iter().map(|task| task.id.clone()).collect();
        after.close(&nodes).unwrap_or_else(|why| panic!("{}: {nodes:?} are refused: {why}", after.show()));
        for task in &plan.tasks {
            assert!(task.title.chars().count() <= TITLE_MAX);
            assert!(task.prompt.chars().count() <= 1_250, "{}", task.prompt);
            assert!(task.prompt.contains("## References") && task.prompt.contains(task.id.as_str()));
        }
    }

    fn show(&self) -> String {
        let mut text = format!("{}:", self.file.ruleset.name);
        for node in self.investigation.preorder() {
            text.push_str(&format!(" {}={}", node.id, node.state().map_or("?", StateName::as_str)));
        }
        text
    }
}

/// A seeded random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Plays some rounds as an erratic agent: with tasks from plans or nodes of its own, in any accepted state.
fn wander(play: &mut Play<'_>, random: &mut Random, rounds: usize) {
    for _ in 0..rounds {
        let request = Next { max_tasks: Some(1 + random.below(20) as u32), ..Next::default() };
        let plan = play.plan(&request);
        play.check(&plan, &request);
        if !plan.tasks.is_empty() && random.below(4) > 0 {
            play.propose(&plan);
        }
        let open: Vec<NodeId> = play
            .investigation
            .committed()
            .filter(|(_, state)| !play.rules().is_terminal(state))
            .map(|(node, _)| node.id.clone())
            .collect();
        if !open.is_empty() && random.below(3) == 0 {
            let parent = &open[random.below(open.len())];
            let id = parent.short().child(["1", "q", "Q", "12"][random.below(4)]).unwrap();
            let node = NewNode {
                id: id.to_string(),
                parent: Some(parent.to_string()),
                title: "My own".into(),
                planned_action: String::new(),
                ..NewNode::default()
            };
            let request = Propose { nodes: vec![node], ..Propose::default() };
            // The id may already be in use.
            let _ = play.take(|investigation, rules, at| {
                propose(investigation, rules, request, &Caller::default(), at)
            });
        }
        let states: Vec<String> =
            play.file.ruleset.states.iter().map(|state| state.name.to_string()).collect();
        let mut state = || states[random.below(states.len())].clone();
        let pending: Vec<NodeId> = play.investigation.pending().map(|node| node.id.clone()).collect();
        // Commits the nodes together or individually, because a limit on closing rejects many batches.
        for _ in 0..5 {
            let batch: Vec<_> = pending.iter().map(|id| (id.clone(), state())).collect();
            if !batch.is_empty() && play.commit(&batch).is_ok() {
                break;
            }
        }
        for id in pending {
            let _ = play.commit(&[(id, state())]);
        }
        let committed: Vec<NodeId> =
            play.investigation.committed().map(|(node, _)| node.id.clone()).collect();
        if !committed.is_empty() && random.below(4) == 0 {
            play.object(&committed[random.below(committed.len())].clone(), "nobody has measured it");
        }
        if !committed.is_empty() && random.below(3) == 0 {
            let state = states[random.below(states.len())].clone();
            let _ = play.reclassify(&committed[random.below(committed.len())], &state);
        }
        let pending: Vec<String> = play.investigation.pending().map(|node| node.id.to_string()).collect();
        if !pending.is_empty() && random.below(4) == 0 {
            let request = Propose {
                withdraw: vec![pending[random.below(pending.len())].clone()],
                ..Propose::default()
            };
            // A withdrawal that would leave too few roots is refused.
            let _ = play.take(|investigation, rules, at| {
                propose(investigation, rules, request, &Caller::default(), at)
            });
        }
    }
}

/// Returns every ruleset in each of its modes.
fn methods() -> Vec<(&'static str, Option<&'static str>)> {
    builtin::all()
        .iter()
        .flat_map(|file| {
            file.ruleset.mode_names().into_iter().map(|mode| (file.ruleset.name.as_str(), Some(mode)))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 0, ..crate::testing::sampled(16) })]

    #[test]
    fn following_the_next_call_ends_every_investigation(
        seed in any::<u64>(),
        rounds in 0..10_usize,
        max_tasks in 1..=20_u32,
        more_rounds in 0..3_u32,
    ) {
        for (ruleset, mode) in methods() {
            let own = Play::new(ruleset, mode, None).investigation.meta().min_rounds;
            let mut play = Play::new(ruleset, mode, Some(own + more_rounds));
            wander(&mut play, &mut Random(seed), rounds);
            let request = Next { max_tasks: Some(max_tasks), ..Next::default() };
            play.finish(&request);
            // The conclusion stays in force.
            prop_assert_eq!(play.plan(&request).outlook.next_step, NextStep::Reopen);
        }
    }
}

#[test]
fn a_plan_that_is_followed_from_the_start_is_short() {
    for (ruleset, mode) in methods() {
        let mut play = Play::new(ruleset, mode, None);
        let calls = play.finish(&Next::default());
        let nodes = play.investigation.nodes().count();
        assert!(nodes <= 220 && calls <= 110, "{ruleset} {mode:?}: {nodes} nodes, {calls} calls");
    }
}

/// Builds an investigation with the given batches under a ruleset.
fn grown(ruleset: &str, batches: &[&[(&str, Option<&str>, &str)]]) -> Play<'static> {
    let mut play = Play::new(ruleset, None, None);
    for batch in batches {
        play.grow(batch);
    }
    play
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.tasks.iter().map(|task| task.id.as_str()).collect()
}

/// Returns the ids of the tasks that the rules require.
fn required(plan: &Plan) -> Vec<&str> {
    plan.tasks.iter().filter(|task| task.is_required).map(|task| task.id.as_str()).collect()
}

#[test]
fn the_first_batch_is_the_roots_that_the_ruleset_asks_for() {
    let plan = |ruleset, max_tasks| {
        Play::new(ruleset, None, None).plan(&Next { max_tasks: Some(max_tasks), ..Next::default() })
    };
    assert_eq!(ids(&plan("single-root", 8)), ["R1.A"]);
    // A batch of roots is accepted or refused as a whole.
    assert_eq!(ids(&plan("drill", 1)), ["R1.A", "R1.B", "R1.C", "R1.D", "R1.E"]);
    assert_eq!(ids(&plan("exhaust", 8)), ["R1.A", "R1.B", "R1.C"]);
    assert_eq!(ids(&plan("exhaust", 1)), ["R1.A"]);
}

#[test]
fn the_recommended_breadth_is_asked_for_at_once() {
    let play = grown("single-root", &[&[("R1.A", None, "EXPLORE")]]);
    assert_eq!(ids(&play.plan(&Next::default())), ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5"]);
}

#[test]
fn what_is_required_is_told_apart_from_what_widens() {
    assert_eq!(required(&grown("exhaust", &[]).plan(&Next::default())), ["R1.A"]);
    for mode in [None, Some("exhaustive")] {
        let mut play = Play::new("single-root", mode, None);
        play.grow(&[("R1.A", None, "EXPLORE")]);
        let plan = play.plan(&Next::default());
        assert_eq!(required(&plan), ["R2.A1", "R2.A2"]);
        assert_eq!(ids(&plan).len(), 5);
    }
}

#[test]
fn a_task_is_named_after_what_the_node_that_it_continues_found() {
    let mut play = grown("single-root", &[&[("R1.A", None, "EXPLORE")]]);
    let mut node = Node::clone(play.investigation.find("R1.A").unwrap());
    node.classification.as_mut().unwrap().headline = Some("The plan changed".into());
    play.investigation = play.investigation.with(&[crate::domain::Change::Node(std::sync::Arc::new(node))]);
    assert_eq!(play.plan(&Next::default()).tasks[0].title, "Dig deeper: The plan changed (1)");
}

/// `states_that_count` must agree with single commits below each node and at the root.
#[test]
fn the_states_that_count_are_those_that_a_commit_stores_as_asked() {
    for (ruleset, mode) in methods() {
        let mut play = Play::new(ruleset, mode, None);
        loop {
            let plan = play.plan(&Next::default());
            let before = play.investigation.clone();
            if let Some(task) = plan.tasks.first() {
                play.propose(&plan);
                let proposed = play.investigation.clone();
                let parent = task.parent.as_ref().and_then(|id| before.node(id)).map(AsRef::as_ref);
                let rules = play.rules();
                let counts: Vec<&StateName> =
                    states_that_count(&before, &rules, parent).into_iter().map(|state| &state.name).collect();
                for state in play.file.ruleset.states.iter().map(|state| &state.name) {
                    let is_done = play.commit(&[(task.id.clone(), state.to_string())]).is_ok();
                    let result = play
                        .investigation
                        .find(task.id.as_str())
                        .ok()
                        .and_then(|node| node.classification.as_ref());
                    let is_as_asked =
                        is_done && result.is_some_and(|result| result.requested_state.is_none());
                    assert_eq!(
                        is_as_asked,
                        counts.contains(&state),
                        "{ruleset} {mode:?} {}: {state}",
                        task.id
                    );
                    play.investigation = proposed.clone();
                }
            }
            play.investigation = before;
            if play.follow(&plan) {
                break;
            }
        }
    }
}

#[test]
fn a_node_without_a_parent_goes_where_one_is_owed_or_where_somebody_was_at_work() {
    let place = |play: &Play, state: Option<&str>| {
        let state = state.map(|state| state.parse().unwrap());
        let place = place_of_next(&play.investigation, &play.rules(), state.as_ref());
        place.map(|parent| parent.map(|id| id.to_string()))
    };
    let at = |id: &str| Some(Some(id.to_owned()));
    let mut play = Play::new("review", None, None);
    assert_eq!(place(&play, None), Some(None));
    play.grow(&[("R1.A", None, "OPEN")]);
    assert_eq!(place(&play, None), at("R1.A"));
    play.grow(&[("R2.A1", Some("R1.A"), "RULED_OUT")]);
    // No required steps remain, so the new node goes next to the newest node.
    assert_eq!(place(&play, None), at("R1.A"));
    play.grow(&[("R2.A2", Some("R1.A"), "ANSWER")]);
    assert_eq!((place(&play, None), place(&play, Some("CONFIRMED"))), (at("R2.A2"), at("R2.A2")));
    // A node that does not check the answer goes next to the answer.
    assert_eq!((place(&play, Some("RULED_OUT")), place(&play, Some("OPEN"))), (at("R1.A"), at("R1.A")));
    play.grow(&[("R3.A2a", Some("R2.A2"), "CONFIRMED")]);
    assert_eq!(place(&play, Some("CONFIRMED")), at("R2.A2"));
    // Nothing can be placed below a pending root, and a second root is not allowed.
    let mut play = Play::new("single-root", None, None);
    let plan = play.plan(&Next::default());
    play.propose(&plan);
    assert_eq!(place(&play, None), None);
}

#[test]
fn what_is_required_comes_before_the_checks_of_answers_and_what_widens() {
    let (a, b, c) = (Some("R1.A"), Some("R1.B"), Some("R2.A1"));
    let play = grown(
        "found-verify",
        &[
            &[("R1.A", None, "EXPLORE"), ("R1.B", None, "EXPLORE")],
            &[("R2.A1", a, "EXPLORE"), ("R2.A2", a, "DEAD"), ("R2.B1", b, "DEAD")],
            &[("R3.A1a", c, "FOUND"), ("R3.A1b", c, "EXPLORE")],
        ],
    );
    let plan = play.plan(&Next::default());
    assert_eq!(ids(&plan), ["R2.B2", "R4.A1a1", "R4.A1b1", "R4.A1b2"]);
    let check = &plan.tasks[1];
    assert!(check.title.starts_with("Check the answer: Title of R3.A1a"), "{}", check.title);
    assert!(check.planned_action.contains("break"), "{}", check.planned_action);
    // An objection comes before new nodes.
    let mut play = grown("single-root", &[&[("R1.A", None, "EXPLORE")]]);
    let wording =
        |play: &Play| play.plan(&Next::default()).outlook.next_step.wording(None).person().to_owned();
    assert_eq!(wording(&play), "`tot propose --next` for round 2: 2 children below R1.A (EXPLORE).");
    play.object(&play.investigation.find("R1.A").unwrap().id.clone(), "nobody has measured it");
    assert!(wording(&play).contains("a reader objects to R1.A"), "{}", wording(&play));
    assert_eq!(ids(&play.plan(&Next::default())).len(), 5);
}

#[test]
fn the_mode_asks_for_more_children() {
    let mut play = Play::new("single-root", Some("exhaustive"), None);
    play.grow(&[("R1.A", None, "EXPLORE")]);
    let a = Some("R1.A");
    play.grow(&[
        ("R2.A1", a, "EXPLORE"),
        ("R2.A2", a, "EXPLORE"),
        ("R2.A3", a, "EXPLORE"),
        ("R2.A4", a, "EXPLORE"),
    ]);
    play.grow(&[("R2.A5", a, "EXPLORE")]);
    let plan = play.plan(&Next { max_tasks: Some(20), ..Next::default() });
    assert_eq!(plan.tasks.len(), 15);
}

#[test]
fn pending_proposals_come_first_and_are_not_proposed_again() {
    let mut play = grown("drill", &[]);
    let roots = play.plan(&Next::default());
    play.propose(&roots);
    let plan = play.plan(&Next::default());
    assert!(plan.tasks.is_empty());
    let Some(LegalCall::Commit(nodes)) = plan.outlook.next_step.call() else { panic!("{plan:?}") };
    assert_eq!(nodes.len(), 5);
    let briefs =
        briefs(&play.investigation, &play.rules(), &[play.investigation.find("R1.B").unwrap().id.clone()]);
    assert_eq!((briefs.len(), briefs[0].title.as_str()), (1, roots.tasks[1].title.as_str()));
}

#[test]
fn a_proposal_below_a_closed_parent_is_withdrawn() {
    let mut play = grown("exhaust", &[&[("R1.A", None, "EXPLORE")], &[("R2.A1", Some("R1.A"), "EXPLORE")]]);
    let plan = play.plan(&Next::default());
    play.propose(&plan);
    // Only a manual merge can close a parent with pending children. This writes the result of such a merge directly.
    let mut node = Node::clone(play.investigation.find("R1.A").unwrap());
    node.classification.as_mut().unwrap().state = "DEAD".parse().unwrap();
    play.investigation = play.investigation.with(&[crate::domain::Change::Node(std::sync::Arc::new(node))]);
    let plan = play.plan(&Next::default());
    assert!(matches!(plan.outlook.next_step.call(), Some(LegalCall::Withdraw(ids)) if ids.len() == 1));
}

#[test]
fn the_last_open_leaf_behind_a_limit_on_closing_is_reclassified() {
    let mut play = Play::new("multi-gate", None, None);
    play.finish(&Next::default());
    let by_hand = play
        .investigation
        .committed()
        .filter(|(node, _)| node.classification.as_ref().is_some_and(|it| !it.reclassified.is_empty()));
    assert!(by_hand.count() >= 1, "{}", play.show());
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let play = Play::new("exhaust", None, None);
    let requests =
        [Next { max_tasks: Some(0), ..Next::default() }, Next { max_tasks: Some(21), ..Next::default() }];
    for request in requests {
        let errors = next(&play.investigation, &play.rules(), &request, play.time()).unwrap_err().errors;
        assert_eq!(errors[0].code, "INVALID_ARGUMENT", "{request:?}");
    }
}

#[test]
fn a_prompt_says_all_that_an_agent_needs() {
    let mut play = Play::new("multi-gate", None, None);
    play.grow(&["R1.A", "R1.B", "R1.C", "R1.D", "R1.E"].map(|id| (id, None, "DRILL")));
    let plan = play.plan(&Next { max_tasks: Some(5), ..Next::default() });
    let prompt = &plan.tasks[0].prompt;
    for part in [
        "Research R2.A1",
        "p99 latency",
        "R1.A DRILL “Title of R1.A”",
        "R1.A found: Something was found.",
        "round 2",
        "DRILL",
        "VERIFY",
        "50 characters",
        "## References",
    ] {
        assert!(prompt.contains(part), "{part} is not in: {prompt}");
    }
    assert!(!prompt.contains("SPEC"), "it is locked: {prompt}");
}

/// A merge has joined two results, and children are missing, too.
#[test]
fn the_status_and_the_plan_settle_differing_results_first() {
    let mut play = Play::new("single-root", None, None);
    play.grow(&[("R1.A", None, "EXPLORE")]);
    play.grow(&[("R2.A1", Some("R1.A"), "EXPLORE")]);
    let mut node = Node::clone(play.investigation.find("R2.A1").unwrap());
    let other = Classification::new("DEAD".parse().unwrap(), "It was not so.", play.time());
    node.classification.as_mut().unwrap().other_results.push(other);
    let merged = Event::Amended { node: std::sync::Arc::new(node) };
    play.investigation = play.investigation.with(&merged.changes());
    let step = play.plan(&Next::default()).outlook.next_step;
    assert!(matches!(step.call(), Some(LegalCall::Reclassify(_))), "{step:?}");
    let outlook = outlook(&play.investigation, &play.rules());
    assert!(outlook.next_round.is_some());
    assert_eq!(outlook.next_step, step);
}
