//! Stored runs of commands: in the history, and through merges, exports and manual changes.

use std::fs;
use std::path::PathBuf;

use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::attach::NewAttachment;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::propose::{NewNode, Propose};
use tree_of_thoughts::decide::run::{NewRun, NewRuns};
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::run::{Output, Ran, RunComparison, Seconds, System};
use tree_of_thoughts::domain::{Caller, Happening, NodeId, Run, RunId, RunKind};
use tree_of_thoughts::service::check::{self, Objects};
use tree_of_thoughts::service::{Service, Written};
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, copy_new};

struct Place {
    service: Service,
    repository: PathBuf,
    session: String,
    clock: PathBuf,
}

impl Place {
    /// An investigation with one proposal.
    fn new(sandbox: &Sandbox) -> Place {
        let clock = sandbox.path("clock");
        fs::write(&clock, "2026-01-05T09:00:00Z").unwrap();
        let service = Service::new(sandbox.path("one"), World::File(clock.clone()), None);
        let request = Start { query: "Why?".into(), ..Start::default() };
        let (loaded, _) = service.start(Some("review"), request, &Caller::default()).ok().unwrap();
        let session = loaded.investigation().meta().id.to_string();
        let repository = service.store().root().join(&session);
        Place { service, repository, session, clock }
    }

    /// A copy of it, with the same clock.
    fn copy(&self, sandbox: &Sandbox) -> Place {
        let service = Service::new(sandbox.path("two"), World::File(self.clock.clone()), None);
        let repository = service.store().root().join(&self.session);
        copy_new(&self.repository, &repository);
        Place { service, repository, session: self.session.clone(), clock: self.clock.clone() }
    }

    fn at(&self, minute: u32) -> &Place {
        fs::write(&self.clock, format!("2026-01-05T09:{minute:02}:00Z")).unwrap();
        self
    }

    fn propose(&self, id: &str, title: &str) {
        let node = NewNode { id: id.into(), title: title.into(), ..NewNode::default() };
        let request = Propose { nodes: vec![node], ..Propose::default() };
        self.service.propose(&self.session, request, &Caller::default()).ok().unwrap();
    }

    fn record(&self, runs: Vec<NewRun>, attachments: Vec<NewAttachment>) -> Vec<Run> {
        let request = NewRuns { runs, attachments, ..NewRuns::default() };
        let written: Written = self.service.record(&self.session, request, &Caller::default()).ok().unwrap();
        let changes = written.decision.event.unwrap().changes();
        let runs = changes.into_iter().filter_map(|change| match change {
            tree_of_thoughts::domain::Change::Run(run) => Some(run.as_ref().clone()),
            _ => None,
        });
        runs.collect()
    }

    fn store(&self) -> &Store {
        self.service.store()
    }

    /// Returns the repository's own facts, reread and checked.
    fn runs(&self) -> Vec<Run> {
        let store = Store::new(self.store().root());
        let snapshot = store.load(&self.repository).unwrap();
        assert_eq!(snapshot.faults, []);
        let found = check::check(&check::read(&store, &self.repository, Objects::default()).unwrap());
        let bad: Vec<_> = found.iter().filter(|it| it.severity != check::Severity::Note).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        snapshot.investigation.runs().map(|run| run.as_ref().clone()).collect()
    }
}

fn ran(output: &str) -> Ran {
    let output = Output { text: output.into(), sha256: output.into(), ..Output::default() };
    let at = "2026-01-05T09:00:00Z".parse().unwrap();
    Ran {
        seconds: Seconds { milliseconds: 250 },
        output,
        system: System { os: "linux".into(), architecture: "x86_64".into(), cpus: 2 },
        ..Ran::new(vec!["python3".into(), "load.py".into()], at)
    }
}

fn captured(node: Option<&str>, output: &str) -> NewRun {
    NewRun { node: node.map(|id| id.parse().unwrap()), note: None, what: RunKind::Captured(ran(output)) }
}

fn again(of: RunId, output: &str) -> NewRun {
    let what = RunKind::Repeated { of, at: None, verdict: RunComparison::Same, ran: ran(output) };
    NewRun { node: None, note: None, what }
}

#[test]
fn a_run_is_one_commit_that_history_and_check_know() {
    let sandbox = Sandbox::new();
    let place = Place::new(&sandbox);
    place.at(1).propose("R1.A", "Measure");
    let log = NewAttachment { name: "load.log".into(), content: b"p99 41 ms\n".to_vec() };
    let first = place.at(2).record(vec![captured(Some("R1.A"), "41")], vec![log]).remove(0);
    let repeated = place.at(3).record(vec![again(first.id, "41"), again(first.id, "42")], Vec::new());
    let judgement = NewRun {
        node: None,
        note: Some("Another disk.".into()),
        what: RunKind::Judged { of: repeated[1].id, holds: true },
    };
    place.at(4).record(vec![judgement], Vec::new());
    assert_eq!(place.runs().len(), 4);
    let snapshot = place.store().load(&place.repository).unwrap();
    let history = place.store().history(&snapshot).unwrap();
    let subjects: Vec<&str> = history.iter().map(|entry| entry.subject()).collect();
    insta::assert_snapshot!(subjects.join("\n"), @r"
    Judge a difference in R1.A: holds
    Run 2 commands again: 1 same, 1 differs
    Run R1.A: python3 load.py (exit 0, 0.2 s), with 1 file
    Propose R1.A
    Start: Why?
    ");
    let told = history.iter().flat_map(|entry| &entry.happenings);
    assert_eq!(told.filter(|it| matches!(it, Happening::Ran(_))).count(), 4);
    assert!(history.iter().all(|entry| entry.is_of_call()));
}

#[test]
fn runs_of_two_clones_never_conflict_and_stay_with_their_nodes() {
    let sandbox = Sandbox::new();
    let here = Place::new(&sandbox);
    let there = here.copy(&sandbox);
    here.at(1).propose("R1.A", "The earlier");
    there.at(2).propose("R1.A", "The later");
    let ours = here.record(vec![captured(Some("R1.A"), "ours")], Vec::new()).remove(0);
    // With such a clock, the time alone determines the id.
    let theirs = there.at(3).record(vec![captured(Some("R1.A"), "theirs")], Vec::new()).remove(0);
    there.record(vec![again(theirs.id, "other")], Vec::new());
    copy_new(&there.repository.join(".git/objects"), &here.repository.join(".git/objects"));
    let head = there.store().head(&there.repository).unwrap().unwrap();
    here.store().join(&here.repository, head).unwrap();
    let runs = here.runs();
    assert_eq!(runs.len(), 3);
    let investigation = here.store().load(&here.repository).unwrap().investigation;
    let title = |id: RunId| {
        let node: &NodeId = runs.iter().find(|run| run.id == id).unwrap().node.as_ref().unwrap();
        investigation.node(node).unwrap().title.clone()
    };
    assert_eq!(title(ours.id), "The earlier");
    assert_eq!(runs.iter().filter(|run| run.of().is_none()).count(), 2);
    assert!(runs.iter().filter(|run| run.id != ours.id).all(|run| title(run.id) == "The later"));
}

#[test]
fn a_result_names_runs_that_were_stored_before_its_node() {
    let sandbox = Sandbox::new();
    let place = Place::new(&sandbox);
    let run = place.at(1).record(vec![captured(None, "41")], Vec::new()).remove(0);
    place.at(2).propose("R1.A", "Measure");
    let id = run.id.to_string();
    let result = |named: &str| NodeResult {
        node_id: "R1.A".into(),
        state: "OPEN".into(),
        findings: "It takes 41 ms.".into(),
        agent_id: Some("agent-1".into()),
        runs: vec![named.to_owned()],
        ..NodeResult::default()
    };
    let refused = place.service.commit(&place.session, vec![result("ffff0000")], &Caller::default());
    let codes: Vec<String> =
        refused.err().unwrap().errors.iter().map(|error| error.code.to_string()).collect();
    assert_eq!(codes, ["RUN_NOT_FOUND"]);
    place.service.commit(&place.session, vec![result(&id[28..])], &Caller::default()).ok().unwrap();
    assert_eq!(place.runs(), std::slice::from_ref(&run));
    let investigation = place.store().load(&place.repository).unwrap().investigation;
    let node = investigation.find("R1.A").unwrap();
    assert_eq!(node.classification.as_ref().unwrap().runs, [run.id]);
}

#[test]
fn a_run_that_a_hand_changed_or_removed_is_named() {
    let sandbox = Sandbox::new();
    let place = Place::new(&sandbox);
    place.at(1).propose("R1.A", "Measure");
    let first = place.at(2).record(vec![captured(Some("R1.A"), "41")], Vec::new()).remove(0);
    let second = place.at(3).record(vec![again(first.id, "42")], Vec::new()).remove(0);
    place.runs();
    let file = |id: RunId| format!("runs/{id}.yaml");
    let path = place.repository.join(file(second.id));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("verdict: differs", "verdict: same")).unwrap();
    let git = |arguments: &[&str]| sandbox.git(&place.repository, arguments);
    git(&["commit", "--quiet", "-am", "Better"]);
    git(&["rm", "--quiet", &file(first.id)]);
    git(&["commit", "--quiet", "-m", "Gone"]);
    let store = Store::new(place.store().root());
    let found = check::check(&check::read(&store, &place.repository, Objects::default()).unwrap());
    let lost: Vec<String> = found
        .iter()
        .filter(|it| it.code == "STORED_LOST")
        .map(|it| {
            it.message.replace(&first.id.to_string(), "FIRST").replace(&second.id.to_string(), "SECOND")
        })
        .collect();
    assert_eq!(lost, ["This commit changed the run SECOND.", "This commit removed the run FIRST."]);
}
