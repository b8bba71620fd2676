//! Random investigations on two machines, with merges that change node ids. No byte published by either machine
//! contains what one of them withholds, and nothing else is withheld.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::attach::NewAttachment;
use tree_of_thoughts::decide::run::{NewRun, NewRuns};
use tree_of_thoughts::domain::run::{Ran, RunComparison};
use tree_of_thoughts::domain::{Caller, Node, NodeId, RunKind, ShortId};
use tree_of_thoughts::format::{FileChange, withheld_file};
use tree_of_thoughts::report::{Range, ReadOptions, SiteOptions, Templates, changes, diff, export};
use tree_of_thoughts::service::Service;
use tree_of_thoughts::store::{Draft, Snapshot, StoreError};

use super::pages::{SiteContents, site};
use crate::support::testing::sampled;
use crate::support::{Sandbox, copy_new};

/// A step: the machine, the action and the node.
type Step = (bool, u8, usize);

struct Machine {
    service: Service,
    repository: PathBuf,
}

/// Two machines with one investigation and a shared clock.
struct Pair {
    sandbox: Sandbox,
    machines: [Machine; 2],
    session: String,
    proposals: usize,
    /// The marker words of the withheld proposals.
    secrets: BTreeSet<String>,
    /// The ids of withdrawn proposals.
    withdrawn: BTreeSet<NodeId>,
}

/// A word that occurs in each text of one proposal and in no other text.
fn word(node: &Node) -> String {
    let word = node.title.split(' ').find(|word| word.starts_with("Qq"));
    word.expect("a title has its word").to_owned()
}

fn text(what: &str, word: &str) -> String {
    format!("The {what} of {word} is no business of strangers.\nSo is {word}.")
}

/// Returns a request as a client writes it.
fn request<T: DeserializeOwned>(request: Value) -> T {
    serde_json::from_value(request).unwrap()
}

impl Machine {
    fn snapshot(&self) -> Snapshot {
        self.service.store().load(&self.repository).unwrap()
    }

    /// Returns the list of withheld nodes.
    fn list(&self) -> withheld_file::WithheldList {
        let text = self.service.store().withheld(&self.repository).unwrap().text;
        text.map(|text| withheld_file::read(&text).unwrap()).unwrap_or_default()
    }

    fn write(&self, path: &str, text: String, message: &str) {
        let written = self.service.store().transact(&self.repository, |_| -> Result<_, StoreError> {
            let file = FileChange { path: path.to_owned(), content: Some(text.clone().into_bytes()) };
            let at = self.service.now().ok().unwrap();
            let draft = Draft { files: vec![file], changes: Vec::new(), message: message.to_owned(), at };
            Ok((vec![draft], ()))
        });
        written.unwrap();
    }

    /// Returns everything published about a state, compared with another, each with its name.
    fn published(&self, range: &Range) -> Vec<(String, Vec<u8>)> {
        let options = ReadOptions { range: Some(range.clone()), ..ReadOptions::default() };
        let (input, comparison) = options.read(self.service.store(), &self.repository).unwrap();
        let before = &comparison.as_ref().unwrap().before;
        let markdown = changes::markdown(&diff::Diff::new(before, &input.snapshot), ["a", "b"]);
        let files = [
            ("json", export::data(&input).unwrap()),
            ("html", export::html(&input, &SiteOptions::default()).unwrap().bytes),
            ("dot", export::dot(&input).into_bytes()),
            ("mermaid", export::mermaid(&input).into_bytes()),
            ("svg", export::svg(&input).into_bytes()),
            ("diff", markdown.into_bytes()),
        ];
        let base_url = Some("https://example.org/".parse().unwrap());
        let templates = Templates::load(&SiteOptions { base_url, ..SiteOptions::default() }).unwrap();
        let contents = SiteContents { inputs: vec![input], comparison, ..SiteContents::default() };
        let files = files.map(|(name, bytes)| (name.to_owned(), bytes)).into_iter();
        files.chain(site(&contents, &templates).unwrap()).collect()
    }
}

impl Pair {
    fn new() -> Pair {
        let sandbox = Sandbox::new();
        let services = ["here", "there"]
            .map(|name| Service::new(sandbox.path(name), World::File(sandbox.path("clock")), None));
        let start = request(json!({"query": "Why?", "mode": "smoke"}));
        let (loaded, _) = services[0].start(None, start, &Caller::default()).ok().unwrap();
        let session = loaded.investigation().meta().id.to_string();
        let machines = services.map(|service| {
            let repository = service.store().root().join(&session);
            Machine { service, repository }
        });
        let mut pair = Pair {
            sandbox,
            machines,
            session,
            proposals: 0,
            secrets: BTreeSet::new(),
            withdrawn: BTreeSet::new(),
        };
        pair.propose(0, "R1.A", None);
        let root = pair.machines[0].snapshot().investigation.nodes().next().unwrap().clone();
        assert!(pair.research(0, &root));
        copy_new(&pair.machines[0].repository, &pair.machines[1].repository);
        pair
    }

    /// Proposes a node, which must be accepted.
    fn propose(&mut self, machine: usize, id: &str, parent: Option<&str>) {
        self.proposals += 1;
        let word = format!("Qq{}zx", self.proposals);
        let node = json!({"id": id, "parent": parent, "title": format!("About {word}"), "plannedAction": text("plan", &word)});
        let nodes = request(json!({"nodes": [node]}));
        self.machines[machine].service.propose(&self.session, nodes, &Caller::default()).ok().unwrap();
    }

    /// Commits a result, which is refused unless the node is pending below an open one. Returns whether it is accepted.
    fn research(&self, machine: usize, node: &Node) -> bool {
        self.sandbox.sleep(60);
        let word = word(node);
        let result = json!({"nodeId": node.id, "state": "EXPLORE", "headline": format!("Found {word}"),
            "findings": text("finding", &word), "evidence": text("evidence", &word), "agentId": "one"});
        let results = vec![request(result)];
        self.machines[machine].service.commit(&self.session, results, &Caller::default()).is_ok()
    }

    fn act(&mut self, (machine, what, which): Step) {
        let machine = usize::from(machine);
        self.sandbox.sleep(60);
        let snapshot = self.machines[machine].snapshot();
        let investigation = &snapshot.investigation;
        let node = investigation.nodes().nth(which % investigation.nodes().count()).unwrap();
        let (id, word) = (&node.id, word(node));
        let (session, caller) = (self.session.clone(), &Caller::default());
        let Machine { service, .. } = &self.machines[machine];
        let text = |what: &str| text(what, &word);
        // Calls that are always refused would test nothing.
        match what % 13 {
            // Few ids, so that both machines take the same ones.
            0..=2 if node.state().is_some_and(|state| state.as_str() == "EXPLORE") => {
                let step = if id.suffix().ends_with(|c: char| c.is_ascii_digit()) { "a" } else { "1" };
                // A different proposal under a withheld id is withheld too. This is correct, and not a secret of this
                // test.
                let is_free = |child: &ShortId| {
                    investigation.nodes().all(|node| node.id.short() != child)
                        && !self.withdrawn.iter().any(|withdrawn| withdrawn.short() == child)
                };
                if let Some(child) = id.short().child(step).filter(is_free) {
                    self.propose(machine, child.as_str(), Some(id.as_str()));
                }
            }
            3 | 4 => drop(self.research(machine, investigation.pending().next().unwrap_or(node))),
            5 => {
                let title = (which % 2 == 0).then(|| format!("Corrected {word}"));
                let amend = json!({"nodeId": id, "reason": text("reason"), "findings": text("amendment"), "title": title});
                assert_eq!(service.amend(&session, request(amend), caller).is_ok(), !node.is_pending());
            }
            6 => {
                let change = json!({"nodeId": id, "newState": "DEAD", "reason": text("reason"), "evidence": text("evidence")});
                // Refused for a dead end, a proposal, and a node with children.
                let _ = service.reclassify(&session, request(change), caller);
            }
            7 => {
                let say = json!({"nodeId": id, "kind": "objection", "text": text("objection"), "agentId": "critic"});
                service.comment(&session, request(say), caller).ok().unwrap();
            }
            8 => {
                let content = text("attachment").into_bytes();
                let file = NewAttachment { name: format!("{word}.txt"), content };
                let may_be_refused = node.is_pending() || !investigation.attachments_of(id).is_empty();
                assert!(service.attach(&session, id, &[file], caller).is_ok() || may_be_refused);
            }
            11 => {
                let earlier = investigation.runs().find(|run| run.of().is_none() && which % 2 == 0);
                let about = earlier.and_then(|run| investigation.node(run.node.as_ref()?)).unwrap_or(node);
                let text = |what: &str| self::text(what, &self::word(about));
                let ran: Ran = request(
                    json!({"command": ["sh", "-c", text("command")], "startedAt": "2026-01-05T09:00:00.000Z",
                    "seconds": 0, "ended": {"exit": 0}, "output": {"text": text("output"), "bytes": 0, "sha256": ""},
                    "system": {"os": "", "architecture": "", "cpus": 1}}),
                );
                let verdict = RunComparison::Differs;
                let new = match earlier {
                    Some(run) => NewRun {
                        node: None,
                        note: Some(text("note")),
                        what: RunKind::Repeated { of: run.id, at: None, verdict, ran },
                    },
                    None => NewRun { node: Some(id.clone()), note: None, what: RunKind::Captured(ran) },
                };
                let runs = NewRuns { runs: vec![new], ..NewRuns::default() };
                service.record(&session, runs, caller).ok().unwrap();
            }
            // A withheld proposal that is gone would not be checked.
            9 if node.is_pending() && !self.secrets.contains(&word) => {
                service.propose(&session, request(json!({"withdraw": [id]})), caller).ok().unwrap();
                self.withdrawn.insert(id.clone());
            }
            // A message that quotes text of a node which its commit does not touch, as older conclusions did.
            9 => {
                let objection = text("objection");
                let message =
                    format!("Look again\n\n    OBJECTION_OPEN: Ada objects to {id}: “{objection}”.\n");
                // A file that only this machine changes. A person would have to merge files changed on both.
                let now = service.now().ok().unwrap();
                self.machines[machine].write(&format!("notes-{machine}.md"), format!("{now}\n"), &message);
            }
            10 => {
                let mut list = self.machines[machine].list();
                list.insert(id.clone(), withheld_file::Withholding { by: "Ada".into(), why: None });
                self.secrets.insert(word);
                let list = withheld_file::write(&list).unwrap();
                self.machines[machine].write("withheld.yaml", list, "Withhold\n");
            }
            _ => self.sync(),
        }
    }

    fn sync(&self) {
        let [here, there] = &self.machines;
        for (from, to) in [(here, there), (there, here)] {
            copy_new(&from.repository.join(".git/objects"), &to.repository.join(".git/objects"));
        }
        let [head, other] =
            [here, there].map(|machine| machine.service.store().head(&machine.repository).unwrap().unwrap());
        for (machine, theirs) in [(here, other), (there, head)] {
            machine.service.store().join(&machine.repository, theirs).unwrap();
        }
    }

    fn check(&self, machine: &Machine) -> Result<(), TestCaseError> {
        let snapshot = machine.snapshot();
        let history = machine.service.store().history(&snapshot).unwrap();
        let list = machine.list();
        let nodes = || snapshot.investigation.nodes();
        let listed: BTreeSet<String> =
            nodes().filter(|node| list.contains_key(&node.id)).map(|node| word(node)).collect();
        prop_assert!(listed.is_subset(&self.secrets), "{:?} of {:?}", listed, self.secrets);
        let [newest, middle, oldest] =
            [0, history.len() / 2, history.len() - 1].map(|at| history[at].commit.to_string());
        for (from, to) in [(&middle, "HEAD"), (&oldest, "HEAD"), (&newest, &middle)] {
            let range = Range { from: from.clone(), to: to.to_owned() };
            for (path, bytes) in machine.published(&range) {
                let file = format!("{path} {}", String::from_utf8_lossy(&bytes)).to_lowercase();
                for word in &listed {
                    let around = file.split_once(&word.to_lowercase());
                    prop_assert!(around.is_none(), "{} in {} of {:?}: {:?}", word, path, range, around);
                }
                // All others are published.
                if path == "json" && to == "HEAD" {
                    for word in nodes().map(|node| word(node)).filter(|word| !listed.contains(word)) {
                        prop_assert!(file.contains(&word.to_lowercase()), "{}", word);
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
        pair.check(&pair.machines[usize::from(withheld.0)])?;
        pair.sync();
        for machine in &pair.machines {
            pair.check(machine)?;
            // The merges removed nothing from the list.
            let list = machine.list();
            for node in machine.snapshot().investigation.nodes() {
                let is_secret = pair.secrets.contains(&word(node));
                prop_assert_eq!(list.contains_key(&node.id), is_secret, "{}", node.id);
            }
        }
    }
}
