//! An investigation in memory: the pure decisions with their own clock, without git or a server.

use std::sync::Arc;

use tree_of_thoughts::assess::Assessment;
use tree_of_thoughts::decide::amend::{Amend, amend};
use tree_of_thoughts::decide::comment::{Say, comment};
use tree_of_thoughts::decide::commit::{NodeResult, commit};
use tree_of_thoughts::decide::end::{Bind, End, end};
use tree_of_thoughts::decide::propose::{NewNode, Propose, propose};
use tree_of_thoughts::decide::reclassify::{Reclassify, reclassify};
use tree_of_thoughts::decide::run::{NewRun, NewRuns, record};
use tree_of_thoughts::decide::standing::{NextRound, blockers, outlook};
use tree_of_thoughts::decide::start::{Start, start};
use tree_of_thoughts::decide::{Decision, Rejection};
use tree_of_thoughts::domain::{
    Caller, Code, CommentId, Commenter, Diagnostic, Event, Investigation, LookedUpPaths, Node, RunId,
    RunKind, SessionId, Timestamp, Wording,
};
use tree_of_thoughts::ruleset::{EffectiveRules, Library, RulesetFile};
use tree_of_thoughts::yaml;

/// Evidence that is long enough for every built-in ruleset.
pub const EVIDENCE: &str = "Measured three times on the same machine, with the same result each time.";

/// An investigation, its rules and its clock.
#[derive(Clone)]
pub struct Table {
    pub ruleset: Arc<RulesetFile>,
    pub investigation: Investigation,
    pub now: Timestamp,
    /// The client that makes the calls.
    pub caller: Caller,
    /// The project lookups for the paths that the calls cite.
    pub known: LookedUpPaths,
}

/// Returns the reason why a start is refused, or an empty string.
pub fn start_of(ruleset: &str, request: Start) -> String {
    let library = Library::built_in();
    let id = SessionId::new(0, [0; 10]);
    let now = Timestamp::from_milliseconds(0).unwrap();
    match start(request, &library.get(ruleset).unwrap().ruleset, None, id, now) {
        Ok(_) => String::new(),
        Err(rejection) => told(&rejection.errors),
    }
}

/// Words that mean nothing to people: the tools and their fields, except fields of the files.
const TOOL_WORDS: [&str; 21] = [
    "tot_",
    "agentId",
    "plannedAction",
    "alternativesConsidered",
    "notCovered",
    "nodeId",
    "replyTo",
    "sessionId",
    "minRounds",
    "minRoots",
    "allowEarlyTerminal",
    "maxTasks",
    "parent: null",
    "`answers`",
    "`withdraw`",
    "`nodes`",
    "`results`",
    "`reason`",
    "`evidence`",
    "`conclusion`",
    "`as:",
];

/// Asserts that the wording for people contains no words of the tools. Returns the wording for agents.
pub fn worded(text: &Wording) -> String {
    let person = text.person();
    assert!(!TOOL_WORDS.iter().any(|word| person.contains(word)), "{person}");
    text.agent().to_owned()
}

/// Formats diagnostics as agents see them, one per line.
pub fn told(diagnostics: &[Diagnostic]) -> String {
    // A text that is too long may be in a field that only agents use.
    let for_people = diagnostics.iter().filter(|it| it.code != Code::TextTooLong);
    for_people.for_each(|it| drop(worded(&it.text())));
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns a result with findings, evidence and its own agent.
pub fn found(id: &str, state: &str) -> NodeResult {
    NodeResult {
        node_id: id.into(),
        state: state.into(),
        findings: format!("Findings of {id}."),
        agent_id: Some(format!("agent-{id}")),
        evidence: Some(EVIDENCE.into()),
        ..NodeResult::default()
    }
}

/// Returns a node to propose. By default, its parent is the committed node whose suffix it extends by one character.
pub fn new(id: &str, parent: &str) -> NewNode {
    NewNode {
        id: id.into(),
        parent: (!parent.is_empty()).then(|| parent.to_owned()),
        title: format!("Title of {id}"),
        planned_action: "Look.".into(),
        covers: Vec::new(),
    }
}

impl Table {
    pub fn new(ruleset: &str) -> Self {
        Table::started(ruleset, Start::default())
    }

    pub fn in_mode(ruleset: &str, mode: &str) -> Self {
        Table::started(ruleset, Start { mode: Some(mode.into()), ..Start::default() })
    }

    pub fn started(ruleset: &str, request: Start) -> Self {
        let library = Library::built_in();
        Table::of(library.get(ruleset).unwrap().clone(), request)
    }

    pub fn of(file: RulesetFile, mut request: Start) -> Self {
        request.query = "Why is the sky blue?".into();
        let now: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
        let meta = start(request, &file.ruleset, None, SessionId::new(0, [0; 10]), now).unwrap();
        Table {
            ruleset: Arc::new(file),
            investigation: Investigation::new(meta),
            now,
            caller: Caller::default(),
            known: LookedUpPaths::default(),
        }
    }

    /// Returns the verdict on an answer.
    pub fn assessment(&self) -> Assessment<'_> {
        Assessment::new(&self.investigation, Some(self.rules()))
    }

    pub fn rules(&self) -> EffectiveRules<'_> {
        EffectiveRules::new(&self.ruleset.ruleset, self.investigation.meta())
    }

    pub fn sleep(&mut self, seconds: i64) {
        self.now = Timestamp::from_milliseconds(self.now.milliseconds() + seconds * 1_000).unwrap();
    }

    pub fn try_propose(&mut self, nodes: Vec<NewNode>, withdraw: &[&str]) -> Result<Decision, Rejection> {
        let withdraw = withdraw.iter().map(|id| (*id).to_owned()).collect();
        let decision = propose(&self.investigation, &self.rules(), Propose { nodes, withdraw }, self.now)?;
        Ok(self.apply(decision))
    }

    pub fn try_commit(&mut self, results: Vec<NodeResult>) -> Result<Decision, Rejection> {
        let decision =
            commit(&self.investigation, &self.rules(), results, &self.known, &self.caller, self.now)?;
        Ok(self.apply(decision))
    }

    pub fn try_reclassify(&mut self, request: Reclassify) -> Result<Decision, Rejection> {
        let decision = reclassify(&self.investigation, &self.rules(), request, self.now)?;
        Ok(self.apply(decision))
    }

    pub fn try_end(&mut self) -> Result<Decision, Rejection> {
        let request = End { conclusion: Some("Air scatters blue light.".into()), ..End::default() };
        self.try_end_naming_all(request)
    }

    /// Ends the investigation and names every answer if there are several.
    pub fn try_end_naming_all(&mut self, request: End) -> Result<Decision, Rejection> {
        let rules = self.rules();
        let answers = rules.answers(&self.investigation);
        let answers = answers.map(|node| Bind::Id(node.id.to_string())).collect();
        self.try_end_with(End { answers, ..request })
    }

    pub fn try_end_with(&mut self, request: End) -> Result<Decision, Rejection> {
        let decision = end(&self.investigation, &self.rules(), request, self.now)?;
        Ok(self.apply(decision))
    }

    pub fn try_amend(&mut self, request: Amend) -> Result<Decision, Rejection> {
        let decision = amend(&self.investigation, &self.rules(), request, &self.known, self.now)?;
        Ok(self.apply(decision))
    }

    /// Adds a comment, a minute later.
    pub fn say(&mut self, request: Say, author: Commenter) -> Result<Decision, Rejection> {
        self.sleep(60);
        let id = CommentId::new(u64::try_from(self.now.milliseconds()).unwrap(), [0; 10]);
        let caller = if author.is_person() { author.caller.clone() } else { self.caller.clone() };
        let decision = comment(&self.investigation, &self.rules(), request, author, id, self.now)?;
        Ok(self.apply_by(&caller, decision))
    }

    /// Runs a command as evidence for a node or the investigation.
    pub fn run(&mut self, node: Option<&str>) -> RunId {
        let ran = "{command: [./measure], startedAt: '2026-01-05T09:00:00Z', seconds: 1, ended: {exit: 0},
                    output: {bytes: 0, sha256: ''}, system: {os: linux, architecture: x86_64, cpus: 2}}";
        let what = RunKind::Captured(yaml::from_text(ran).unwrap());
        let run = NewRun { node: node.map(|id| id.parse().unwrap()), note: None, what };
        let request = NewRuns { runs: vec![run], attachments: Vec::new() };
        let id = RunId::new(u64::try_from(self.now.milliseconds()).unwrap(), [0; 10]);
        let author = Commenter::default();
        let decision = record(&self.investigation, &self.rules(), request, &author, id, self.now).unwrap();
        match self.apply(decision).event {
            Some(Event::Ran { runs, .. }) => runs[0].id,
            event => panic!("{event:?}"),
        }
    }

    pub fn apply(&mut self, decision: Decision) -> Decision {
        self.apply_by(&self.caller.clone(), decision)
    }

    fn apply_by(&mut self, caller: &Caller, mut decision: Decision) -> Decision {
        decision.event = decision.event.map(|event| event.called_by(caller));
        if let Some(event) = &decision.event {
            self.investigation = self.investigation.with(&event.changes());
        }
        decision
    }

    /// Proposes nodes, each `(id, parent)`, and returns the warnings or errors.
    pub fn propose(&mut self, nodes: &[(&str, &str)]) -> String {
        let nodes = nodes.iter().map(|(id, parent)| new(id, parent)).collect();
        said(self.try_propose(nodes, &[]))
    }

    /// Commits nodes, each `(id, state)`, with their own evidence and agents.
    pub fn commit(&mut self, results: &[(&str, &str)]) -> String {
        said(self.try_commit(results.iter().map(|(id, state)| found(id, state)).collect()))
    }

    /// Changes a state, with evidence.
    pub fn reclassify(&mut self, id: &str, state: &str) -> String {
        said(self.try_reclassify(Reclassify {
            node_id: id.into(),
            new_state: state.into(),
            reason: Some("It was looked into once more.".into()),
            evidence: Some(EVIDENCE.into()),
            ..Reclassify::default()
        }))
    }

    pub fn end(&mut self) -> String {
        said(self.try_end())
    }

    /// Proposes nodes `(id, parent, state)`, lets a minute pass and commits them. Both calls must be accepted.
    pub fn grow(&mut self, nodes: &[(&str, &str, &str)]) -> String {
        let new = nodes.iter().map(|(id, parent, _)| new(id, parent)).collect();
        self.try_propose(new, &[]).unwrap();
        self.sleep(60);
        let results = nodes.iter().map(|(id, _, state)| found(id, state)).collect();
        told(&self.try_commit(results).unwrap().warnings)
    }

    pub fn state(&self, id: &str) -> String {
        self.node(id).state().unwrap().to_string()
    }

    pub fn node(&self, id: &str) -> &Node {
        self.investigation.node(&id.parse().unwrap()).unwrap()
    }

    /// Returns the conditions that prevent ending.
    pub fn blockers(&self) -> String {
        told(&blockers(&self.investigation, &self.rules()))
    }

    pub fn next_round(&self) -> NextRound {
        outlook(&self.investigation, &self.rules()).next_round.unwrap()
    }

    pub fn next_action(&self) -> String {
        worded(&outlook(&self.investigation, &self.rules()).next_step.wording(None))
    }
}

/// Formats the warnings or errors, and a parent's state change.
pub fn said(outcome: Result<Decision, Rejection>) -> String {
    match outcome {
        Err(rejection) => told(&rejection.errors),
        Ok(decision) => {
            let transitions = match &decision.event {
                Some(Event::Committed { transitions, .. } | Event::Reclassified { transitions, .. }) => {
                    transitions
                }
                _ => return told(&decision.warnings),
            };
            let mut lines: Vec<String> =
                transitions.iter().map(|t| format!("{} {} -> {}", t.node.id, t.from, t.to)).collect();
            lines.extend(decision.warnings.chunks(1).map(told));
            lines.join("\n")
        }
    }
}

/// Returns only the codes, in order.
pub fn codes(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.split([':', ' ']).next()).collect()
}
