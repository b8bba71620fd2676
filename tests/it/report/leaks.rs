//! Random investigations on two machines, with merges that change node ids. No byte published by either machine
//! contains what one of them withholds, and nothing else is withheld.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::amend::Amend;
use tree_of_thoughts::decide::attach::NewAttachment;
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::propose::{NewNode, Propose};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::run::{NewRun, NewRuns};
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::run::{Ended, Output, Ran, RunVerdict, Seconds, System};
use tree_of_thoughts::domain::{Caller, CommentKind, Node, NodeId, RunKind};
use tree_of_thoughts::format::{FileChange, withheld_file};
use tree_of_thoughts::report::{
    self, Comparison, ReportInput, SiteContents, SiteOptions, Templates, changes, diff, export,
};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::service::signoff;
use tree_of_thoughts::store::{CommitId, Draft, Snapshot, Store, StoreError};

use crate::support::copy_new;
use crate::support::testing::{folder, sampled};

/// A step: the machine, the action and the node.
type Step = (bool, u8, usize);

struct Machine {
    service: Service,
    repository: PathBuf,
}

/// Two machines with one investigation and a shared clock.
struct Pair {
    machines: [Machine; 2],
    session: String,
    clock: PathBuf,
    seconds: i64,
    proposals: usize,
    /// The marker words of the withheld proposals.
    secrets: BTreeSet<String>,
    _folder: tempfile::TempDir,
}

/// A word that occurs in each text of one proposal and in no other text.
fn word(node: &Node) -> String {
    let word = node.title.split(' ').find(|word| word.starts_with("Qq"));
    word.expect("a title has its word").to_owned()
}

fn text(what: &str, word: &str) -> String {
    format!("The {what} of {word} is no business of strangers.\nSo is {word}.")
}

impl Pair {
    fn new() -> Pair {
        let folder = folder();
        let clock = folder.path().join("clock");
        let service = |name: &str| Service::new(folder.path().join(name), World::File(clock.clone()), None);
        fs::write(&clock, "2026-01-05T09:00:00Z").unwrap();
        let [here, there] = ["here", "there"].map(service);
        let request = Start { query: "Why?".into(), mode: Some("smoke".into()), ..Start::default() };
        let (standing, _) = here.start(None, request, &Caller::default()).ok().unwrap();
        let session = standing.investigation().meta().id.to_string();
        let repositories = [&here, &there].map(|service| service.store().root().join(&session));
        let [here, there] = [(here, &repositories[0]), (there, &repositories[1])]
            .map(|(service, repository)| Machine { service, repository: repository.clone() });
        let mut pair = Pair {
            machines: [here, there],
            session,
            clock,
            seconds: 0,
            proposals: 0,
            secrets: BTreeSet::new(),
            _folder: folder,
        };
        pair.propose(0, "R1.A", None);
        pair.research(0, "R1.A");
        copy_new(&repositories[0], &repositories[1]);
        pair
    }

    fn tick(&mut self) {
        self.seconds += 60;
        let (hours, minutes) = (9 + self.seconds / 3_600, self.seconds / 60 % 60);
        fs::write(&self.clock, format!("2026-01-05T{hours:02}:{minutes:02}:00Z")).unwrap();
    }

    fn snapshot(&self, machine: usize) -> Snapshot {
        let Machine { service, repository } = &self.machines[machine];
        service.store().load(repository).unwrap()
    }

    fn word_of(&self, machine: usize, id: &str) -> Option<String> {
        self.snapshot(machine).investigation.node(&id.parse().unwrap()).map(|node| word(node))
    }

    fn propose(&mut self, machine: usize, id: &str, parent: Option<&str>) {
        self.tick();
        self.proposals += 1;
        let word = format!("Qq{}zx", self.proposals);
        let node = NewNode {
            id: id.into(),
            parent: parent.map(str::to_owned),
            title: format!("About {word}"),
            planned_action: text("plan", &word),
            covers: Vec::new(),
        };
        // A taken id is refused.
        let request = Propose { nodes: vec![node], withdraw: Vec::new() };
        let _ = self.machines[machine].service.propose(&self.session, request, &Caller::default());
    }

    fn research(&mut self, machine: usize, id: &str) {
        self.tick();
        let Some(word) = self.word_of(machine, id) else { return };
        let result = NodeResult {
            node_id: id.into(),
            state: "EXPLORE".into(),
            headline: Some(format!("Found {word}")),
            findings: text("finding", &word),
            evidence: Some(text("evidence", &word)),
            agent_id: Some(format!("agent-{}", self.seconds)),
            ..NodeResult::default()
        };
        let _ = self.machines[machine].service.commit(&self.session, vec![result], &Caller::default());
    }

    fn act(&mut self, (machine, what, which): Step) {
        let machine = usize::from(machine);
        let snapshot = self.snapshot(machine);
        let nodes: Vec<_> = snapshot.investigation.nodes().cloned().collect();
        let node = &nodes[which % nodes.len()];
        let (id, word) = (node.id.to_string(), word(node));
        self.tick();
        let (session, caller) = (self.session.clone(), Caller::default());
        let Machine { service, repository } = &self.machines[machine];
        let reason = Some(text("reason", &word));
        match what % 13 {
            // Few ids, so that both machines take the same ones.
            0..=2 => {
                let step = if node.id.suffix().ends_with(|c: char| c.is_ascii_digit()) { "a" } else { "1" };
                // A different proposal under a withheld id is withheld too. This is correct, and not a secret of this
                // test.
                let free = |child: &NodeId| snapshot.investigation.node(child).is_none();
                if let Some(child) = node.id.child(step).filter(free) {
                    self.propose(machine, child.as_str(), Some(&id));
                }
            }
            3 | 4 => {
                let pending = snapshot.investigation.pending().next().map(|node| node.id.to_string());
                self.research(machine, &pending.unwrap_or(id));
            }
            5 => {
                let request = Amend {
                    node_id: Some(id),
                    reason: text("reason", &word),
                    findings: Some(text("amendment", &word)),
                    title: (which % 2 == 0).then(|| format!("Corrected {word}")),
                    ..Amend::default()
                };
                let _ = service.amend(&session, request, &caller);
            }
            6 => {
                let request = Reclassify {
                    node_id: id,
                    new_state: "DEAD".into(),
                    reason,
                    evidence: Some(text("evidence", &word)),
                    ..Reclassify::default()
                };
                let _ = service.reclassify(&session, request, &caller);
            }
            7 => {
                let request = Say {
                    node_id: Some(id),
                    kind: CommentKind::Objection,
                    text: text("objection", &word),
                    agent_id: Some("critic".into()),
                    ..Say::default()
                };
                let _ = service.comment(&session, request, &caller);
            }
            8 => {
                let file = NewAttachment {
                    name: format!("{word}.txt"),
                    content: text("attachment", &word).into_bytes(),
                };
                let _ = service.attach(&session, &node.id, &[file], &caller);
            }
            11 => {
                let earlier = snapshot.investigation.runs().find(|run| run.of().is_none());
                let earlier = earlier.filter(|_| which % 2 == 0);
                let about = earlier.and_then(|run| run.node.clone()).unwrap_or_else(|| node.id.clone());
                let Some(word) = self.word_of(machine, about.as_str()) else { return };
                let ran = Ran {
                    command: vec!["sh".into(), "-c".into(), text("command", &word)],
                    folder: None,
                    project: None,
                    started_at: snapshot.investigation.meta().started_at,
                    seconds: Seconds::default(),
                    timeout: None,
                    ended: Ended::Exit(0),
                    expected_exit: None,
                    output: Output { text: text("output", &word), ..Output::default() },
                    expectations: Vec::new(),
                    attachments: Vec::new(),
                    system: System::default(),
                };
                let new = match earlier {
                    Some(run) => {
                        let verdict = RunVerdict::Differs;
                        let what = RunKind::Repeated { of: run.id, at: None, verdict, ran };
                        NewRun { node: None, note: Some(text("note", &word)), what }
                    }
                    None => NewRun { node: Some(node.id.clone()), note: None, what: RunKind::Captured(ran) },
                };
                let request = NewRuns { runs: vec![new], attachments: Vec::new() };
                let _ = service.record(&session, request, &caller);
            }
            9 if node.is_pending() => {
                let request = Propose { nodes: Vec::new(), withdraw: vec![id] };
                let _ = service.propose(&session, request, &caller);
            }
            // A message that quotes text of a node which its commit does not touch, as older conclusions did.
            9 => {
                let message = format!(
                    "Look again\n\n    OBJECTION_OPEN: Ada objects to {id}: “{}”.\n",
                    text("objection", &word)
                );
                // A file that only this machine changes. A person would have to merge files changed on both.
                self.write(machine, &format!("notes-{machine}.md"), format!("{}\n", self.seconds), &message);
            }
            10 => {
                let known = service.store().withheld(repository).unwrap();
                let mut list = known.map(|text| withheld_file::read(&text).unwrap()).unwrap_or_default();
                let by = withheld_file::Withholding { by: "Ada".into(), why: None };
                list.insert(node.id.clone(), by);
                self.secrets.insert(word);
                self.write(machine, "withheld.yaml", withheld_file::write(&list).unwrap(), "Withhold\n");
            }
            _ => self.sync(),
        }
    }

    fn write(&self, machine: usize, path: &str, text: String, message: &str) {
        let Machine { service, repository } = &self.machines[machine];
        let at = service.now().ok().unwrap();
        let written = service.store().transact(repository, |_| -> Result<_, StoreError> {
            let file = FileChange { path: path.to_owned(), content: Some(text.clone().into_bytes()) };
            let draft = Draft { files: vec![file], changes: Vec::new(), message: message.to_owned(), at };
            Ok((vec![draft], ()))
        });
        written.unwrap();
    }

    fn sync(&self) {
        let [here, there] = &self.machines;
        for (from, to) in [(here, there), (there, here)] {
            copy_new(&from.repository.join(".git/objects"), &to.repository.join(".git/objects"));
        }
        let heads =
            [here, there].map(|machine| machine.service.store().head(&machine.repository).unwrap().unwrap());
        for (machine, theirs) in [here, there].into_iter().zip([heads[1], heads[0]]) {
            machine.service.store().join(&machine.repository, theirs).unwrap();
        }
    }

    /// Returns everything published about a state, compared with another, each with its name.
    fn published(&self, machine: usize, rev: Option<&CommitId>, other: &CommitId) -> Vec<(String, Vec<u8>)> {
        let Machine { service, repository } = &self.machines[machine];
        let store = Store::new(service.store().root());
        let withheld = report::withheld(&store, repository, false).unwrap();
        let snapshot = match rev {
            Some(rev) => store.load_at(repository, &rev.to_string()).unwrap(),
            None => store.load(repository).unwrap(),
        };
        let history = store.history(&snapshot).unwrap();
        let mut before = store.load_at(repository, &other.to_string()).unwrap();
        let relation = store.relation(&before, &snapshot).unwrap();
        let mut input = ReportInput {
            sign_offs: signoff::unchecked(&store, &snapshot).unwrap(),
            attachments: store.attachments(&snapshot).unwrap(),
            ends: report::ends(&store, repository, &history).unwrap(),
            snapshot,
            history,
            rev: rev.map(ToString::to_string),
            evidence: Default::default(),
            withheld: Default::default(),
        };
        withheld.hide(&mut before);
        input.withhold(&withheld);
        let options =
            SiteOptions { base_url: Some("https://example.org/".parse().unwrap()), ..SiteOptions::default() };
        let mut files = vec![
            ("json".to_owned(), export::data(&input).unwrap()),
            ("html".to_owned(), export::html(&input, &SiteOptions::default()).unwrap().bytes),
            ("dot".to_owned(), export::dot(&input).into_bytes()),
            ("mermaid".to_owned(), export::mermaid(&input).into_bytes()),
            ("svg".to_owned(), export::svg(&input).into_bytes()),
            (
                "diff".to_owned(),
                changes::markdown(&diff::Diff::new(&before, &input.snapshot), ["a", "b"]).into_bytes(),
            ),
        ];
        let comparison = Some(Comparison { before, relation, names: ["a".to_owned(), "b".to_owned()] });
        let contents = SiteContents { inputs: vec![input], comparison, ..SiteContents::default() };
        let templates = Templates::load(&options).unwrap();
        files.extend(report::site(&contents, &templates).unwrap());
        files
    }

    fn check(&self, machine: usize) -> Result<(), TestCaseError> {
        let Machine { service, repository } = &self.machines[machine];
        let snapshot = self.snapshot(machine);
        let all = service.store().history(&snapshot).unwrap();
        let commits: Vec<CommitId> = all.iter().map(|entry| entry.commit).collect();
        let known = service.store().withheld(repository).unwrap();
        let list = known.map(|text| withheld_file::read(&text).unwrap()).unwrap_or_default();
        // The proposals that this machine knows.
        let secrets: BTreeSet<&String> = self.secrets.iter().collect();
        let listed: BTreeSet<String> =
            list.keys().filter_map(|id| snapshot.investigation.node(id)).map(|node| word(node)).collect();
        prop_assert!(listed.iter().all(|word| secrets.contains(word)), "{:?} of {:?}", listed, secrets);
        let middle = &commits[commits.len() / 2];
        for (rev, other) in [(None, middle), (None, &commits[commits.len() - 1]), (Some(middle), &commits[0])]
        {
            for (path, bytes) in self.published(machine, rev, other) {
                let file = format!("{path} {}", String::from_utf8_lossy(&bytes).to_lowercase());
                for word in &listed {
                    let at = file.find(&word.to_lowercase());
                    let around =
                        at.map(|at| file[at.saturating_sub(200)..].chars().take(400).collect::<String>());
                    prop_assert_eq!(around, None, "{} in {} of {:?}", word, path, rev);
                }
                // All others are published.
                if path == "json" && rev.is_none() {
                    for node in snapshot.investigation.nodes() {
                        let word = word(node);
                        let is_there = file.contains(&word.to_lowercase());
                        prop_assert!(is_there != listed.contains(&word), "{} {}", node.id, word);
                    }
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(sampled(16))]

    #[test]
    fn no_byte_tells_what_is_withheld_whatever_id_a_merge_has_given_it(
        steps in prop::collection::vec((any::<bool>(), any::<u8>(), 0..8_usize), 4..24),
        withheld in (any::<bool>(), 0..8_usize),
    ) {
        let mut pair = Pair::new();
        for step in steps {
            pair.act(step);
        }
        pair.act((withheld.0, 10, withheld.1));
        pair.check(usize::from(withheld.0))?;
        pair.sync();
        for machine in 0..2 {
            pair.check(machine)?;
            let snapshot = pair.snapshot(machine);
            // The merges removed nothing from the list.
            let known = pair.machines[machine].service.store().withheld(&pair.machines[machine].repository).unwrap();
            let list = withheld_file::read(&known.unwrap()).unwrap();
            for node in snapshot.investigation.nodes() {
                let id: &NodeId = &node.id;
                prop_assert_eq!(list.contains_key(id), pair.secrets.contains(&word(node)), "{}", id);
            }
        }
    }
}
