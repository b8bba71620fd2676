//! An investigation in memory: the pure decisions with their own clock, without git or a server.

use std::sync::Arc;

use tree_of_thoughts::assess::Assessment;
use tree_of_thoughts::decide::commit::{NodeResult, commit};
use tree_of_thoughts::decide::end::{End, end};
use tree_of_thoughts::decide::propose::{Propose, propose};
use tree_of_thoughts::decide::reclassify::{Reclassify, reclassify};
use tree_of_thoughts::decide::run::{NewRun, NewRuns, record};
use tree_of_thoughts::decide::start::{Start, start};
use tree_of_thoughts::decide::{Decision, Rejection};
use tree_of_thoughts::domain::{
    Caller, Commenter, Event, Investigation, LookedUpPaths, Node, RunId, RunKind, SessionId, Timestamp,
    Wording,
};
use tree_of_thoughts::ruleset::{EffectiveRules, Library, RulesetFile};
use tree_of_thoughts::yaml;

/// Evidence that is long enough for every built-in ruleset.
pub const EVIDENCE: &str = "Measured three times on the same machine, with the same result each time.";

/// Words that mean nothing to people: the tools and their fields, except fields of the files.
const TOOL_WORDS: [&str; 22] = [
    "tot_",
    "agentId",
    "plannedAction",
    "alternativesConsidered",
    "notCovered",
    "bottomLine",
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

/// Returns a built-in ruleset, or the example of the authoring guide.
pub fn ruleset(name: &str) -> RulesetFile {
    let library = Library::with([("post-mortem.yaml", crate::rulesets::example())]).unwrap();
    library.get(name).unwrap().clone()
}

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
    /// An earlier state, which the current one is compared with.
    pub marked: Option<Investigation>,
}

impl Table {
    pub fn new(name: &str) -> Self {
        Table::started(ruleset(name), Start { query: "Why?".into(), ..Start::default() }).unwrap()
    }

    pub fn started(file: RulesetFile, request: Start) -> Result<Self, Rejection> {
        let now: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
        let meta = start(request, &file.ruleset, None, SessionId::new(0, [0; 10]), now)?;
        Ok(Table {
            ruleset: Arc::new(file),
            investigation: Investigation::new(meta),
            now,
            caller: Caller::default(),
            known: LookedUpPaths::default(),
            marked: None,
        })
    }

    pub fn rules(&self) -> EffectiveRules<'_> {
        EffectiveRules::new(&self.ruleset.ruleset, self.investigation.meta())
    }

    pub fn assessment(&self) -> Assessment<'_> {
        Assessment::new(&self.investigation, Some(self.rules()))
    }

    pub fn node(&self, id: &str) -> &Node {
        self.investigation.find(id).unwrap()
    }

    pub fn sleep(&mut self, seconds: i64) {
        self.now = Timestamp::from_milliseconds(self.now.milliseconds() + seconds * 1_000).unwrap();
    }

    /// Makes a call of the table's client. An accepted call changes the investigation.
    pub fn take(
        &mut self,
        decide: impl FnOnce(&Table, &EffectiveRules) -> Result<Decision, Rejection>,
    ) -> Result<Decision, Rejection> {
        let mut decision = decide(self, &self.rules())?;
        decision.event = decision.event.map(|event| event.called_by(&self.caller));
        if let Some(event) = &decision.event {
            self.investigation = self.investigation.with(&event.changes());
        }
        Ok(decision)
    }

    pub fn propose(&mut self, request: Propose) -> Result<Decision, Rejection> {
        self.take(|table, rules| propose(&table.investigation, rules, request, &Caller::default(), table.now))
    }

    pub fn commit(&mut self, results: Vec<NodeResult>) -> Result<Decision, Rejection> {
        self.take(|table, rules| {
            commit(&table.investigation, rules, results, &table.known, &table.caller, table.now)
        })
    }

    pub fn reclassify(&mut self, request: Reclassify) -> Result<Decision, Rejection> {
        self.take(|table, rules| reclassify(&table.investigation, rules, request, table.now))
    }

    pub fn end(&mut self, request: End) -> Result<Decision, Rejection> {
        self.take(|table, rules| end(&table.investigation, rules, request, &table.known, table.now))
    }

    /// Runs a command as evidence for a node or the investigation.
    pub fn run(&mut self, node: Option<&str>) -> RunId {
        let ran = "{command: [./measure], startedAt: '2026-01-05T09:00:00Z', seconds: 1, ended: {exit: 0},
                    output: {bytes: 0, sha256: e3}, system: {os: linux, architecture: x86_64, cpus: 2}}";
        let what = RunKind::Captured(yaml::from_text(ran).unwrap());
        let run = NewRun { node: node.map(|id| id.parse().unwrap()), note: None, what };
        let request = NewRuns { runs: vec![run], ..NewRuns::default() };
        let id = RunId::new(u64::try_from(self.now.milliseconds()).unwrap(), [0; 10]);
        let author = Commenter::default();
        let decision =
            self.take(|table, rules| record(&table.investigation, rules, request, &author, id, table.now));
        match decision.unwrap().event {
            Some(Event::Ran { runs, .. }) => runs[0].id,
            event => panic!("{event:?}"),
        }
    }
}
