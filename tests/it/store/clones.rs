//! Three or four clones of one investigation, each with calls of all kinds, commits by hand and clocks that differ, which meet now and
//! then: by our merge, and by git's with and without its merge driver, with `tot merge --resolve` after it. Nothing that was stored
//! is lost, `tot check` finds no error, and whoever merges with whom first, the tree is the same.
//!
//! 10 cases by default and 200 with `TOT_CASES=200`. On 2026-11-24, a debug build on 2 busy cores, 25 cases took 152 s of the
//! processor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tree_of_thoughts::base::world::World;
use tree_of_thoughts::decide::amend::Amend;
use tree_of_thoughts::decide::attach::NewAttachment;
use tree_of_thoughts::decide::claim::Claimant;
use tree_of_thoughts::decide::comment::Say;
use tree_of_thoughts::decide::commit::{NewVerification, NodeResult};
use tree_of_thoughts::decide::end::{Bind, EarlyStop, End};
use tree_of_thoughts::decide::propose::{NewNode, Propose};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::start::Start;
use tree_of_thoughts::domain::{ByHand, Caller, CommentKind, Investigation, NodeId, StopReason, Timestamp};
use tree_of_thoughts::ruleset::EffectiveRules;
use tree_of_thoughts::service::check::{self, Objects, Severity};
use tree_of_thoughts::service::{Refusal, Service, Written};
use tree_of_thoughts::store::git::CommitId;
use tree_of_thoughts::store::{Durability, Joined, Store};

use crate::rules::table::EVIDENCE;
use crate::support::random::Random;
use crate::support::testing::{cases_or, tries_all};
use crate::support::{Sandbox, TOT, copy_new, files, with_tot};

const NAMES: [&str; 4] = ["one", "two", "three", "four"];
/// The actions of a case.
const STEPS: usize = 36;

/// `TOT_SEED=131` plays only that case.
#[test]
fn three_or_four_clones_lose_nothing_and_come_to_one_tree_in_any_order() {
    let mut told = BTreeMap::new();
    if let Some(seed) = std::env::var("TOT_SEED").ok().and_then(|seed| seed.parse().ok()) {
        return Team::new(seed).play(&mut told);
    }
    // The ten cases from here on have each kind of merge.
    let first = if tries_all() { u64::from(std::process::id()) << 16 } else { 60 };
    for seed in first..first + u64::from(cases_or(200, 10)) {
        Team::new(seed).play(&mut told);
    }
    // The test would prove little if nearly all calls were refused, or nothing ever conflicted.
    let of = |what: &str| told.get(what).copied().unwrap_or(0);
    for what in ["propose", "commit", "late", "reclassify", "amend", "comment", "end", "attach", "claim"] {
        assert!(of(what) > 0, "{what}: {told:?}");
    }
    for what in ["merged", "git merged", "driver merged", "resolved", "by hand"] {
        assert!(of(what) > 0, "{what}: {told:?}");
    }
}

impl Random {
    fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.index(number) == 0
    }

    fn of<'l, T>(&mut self, list: &'l [T]) -> Option<&'l T> {
        if list.is_empty() { None } else { Some(&list[self.index(list.len())]) }
    }
}

struct Machine {
    root: PathBuf,
    repository: PathBuf,
    clock: PathBuf,
    /// How far the clock is ahead, in milliseconds. It advances with each call, so no two calls on one machine have the
    /// same time; calls on two machines may.
    skew: i64,
    service: Service,
}

struct Team {
    sandbox: Sandbox,
    id: String,
    clones: Vec<Machine>,
    random: Random,
    now: i64,
    /// The number of texts passed to calls. Each has its own marker word.
    words: usize,
    /// The marker words that calls and manual edits removed.
    given_up: BTreeSet<String>,
    story: Vec<String>,
}

/// Returns every file in a work tree.
type Content = BTreeMap<PathBuf, Vec<u8>>;

impl Team {
    fn new(seed: u64) -> Team {
        let sandbox = Sandbox::new();
        let mut random = Random(seed);
        let rulesets = ["single-root", "multi-gate", "review", "found-verify", "exhaust", "drill"];
        let ruleset = rulesets[random.index(rulesets.len())];
        let skews = [0, 0, 30_000, -40_000, 3_600_000];
        let mut clones = Vec::new();
        for name in &NAMES[..3 + random.index(2)] {
            let (root, clock) = (sandbox.path(name), sandbox.path(&format!("{name}.clock")));
            let mut service = Service::new(root.clone(), World::File(clock.clone()), None);
            service.store = service.store.with_durability(Durability::Git);
            let skew = skews[random.index(skews.len())];
            clones.push(Machine { repository: PathBuf::new(), root, clock, skew, service });
        }
        let mut team = Team {
            sandbox,
            id: String::new(),
            clones,
            random,
            now: 1_767_603_600_000,
            words: 0,
            given_up: BTreeSet::new(),
            story: vec![format!("seed {seed}, {ruleset}")],
        };
        team.sleep();
        let request = Start { query: "Why is the sky blue?".into(), ..Start::default() };
        let started = team.clones[0].service.start(Some(ruleset), request, &Caller::default());
        let (loaded, _) = started.map_err(|refusal| refusal.errors).unwrap();
        team.id = loaded.snapshot.investigation.meta().id.to_string();
        team.clones[0].repository = team.clones[0].root.join(&team.id);
        for at in 1..team.clones.len() {
            std::fs::create_dir_all(&team.clones[at].root).unwrap();
            let from = team.clones[0].repository.to_str().unwrap().to_owned();
            team.sandbox.git(&team.clones[at].root, &["clone", "--quiet", &from]);
            team.clones[at].repository = team.clones[at].root.join(&team.id);
        }
        team
    }

    fn sleep(&mut self) {
        self.now += [0, 4, 700, 20_000, 600_000][self.random.index(5)];
        (0..self.clones.len()).for_each(|at| self.set_clock(at, 0));
    }

    fn set_clock(&self, at: usize, more: i64) {
        let clone = &self.clones[at];
        let time = Timestamp::from_milliseconds(self.now + clone.skew + more).unwrap();
        std::fs::write(&clone.clock, time.to_string()).unwrap();
    }

    fn play(&mut self, told: &mut BTreeMap<String, usize>) {
        for _ in 0..STEPS {
            if self.random.one_in(2) {
                self.sleep();
            }
            let count = self.clones.len();
            let at = self.random.index(count);
            let other = (at + 1 + self.random.index(count - 1)) % count;
            let what = match self.random.index(20) {
                0..=2 => self.join(at, other),
                3 => self.merge_by_git(at, other),
                4 => self.by_hand(at),
                _ => self.call(at),
            };
            self.story.push(format!("{}: {what}", NAMES[at]));
            *told.entry(what).or_default() += 1;
        }
        self.finish();
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{what}\n{}", self.story.join("\n"))
    }

    /// Returns text that can be recognized later.
    fn text(&mut self, about: &str) -> String {
        self.words += 1;
        format!("{about} word{}.", self.words)
    }

    fn content(&self, at: usize) -> Content {
        files(&self.clones[at].repository, false)
    }

    /// Makes a call. Returns its description, or the reason for its refusal.
    fn call(&mut self, at: usize) -> String {
        let before = self.content(at);
        self.clones[at].skew += 4;
        self.set_clock(at, 0);
        let (what, written) = self.any_call(at);
        match written {
            None => format!("{what}: nothing to be done"),
            Some(Err(refusal)) => {
                let codes: Vec<String> = refusal.errors.iter().map(|error| error.code.to_string()).collect();
                format!("{what} refused: {}", codes.join(", "))
            }
            Some(Ok(written)) if written.decision.event.is_none() => format!("{what}: as it is"),
            Some(Ok(_)) => {
                let after = self.content(at);
                self.given_up.extend(words(&before).difference(&words(&after)).cloned());
                what
            }
        }
    }

    fn any_call(&mut self, at: usize) -> (String, Option<Result<Written, Refusal>>) {
        let snapshot = self.clones[at].service.store().load(&self.clones[at].repository).unwrap();
        let investigation = &snapshot.investigation;
        let ruleset = &snapshot.ruleset.as_ref().unwrap().ruleset;
        let rules = EffectiveRules::new(ruleset, investigation.meta());
        let states: Vec<String> = ruleset.states.iter().map(|state| state.name.to_string()).collect();
        let pending: Vec<NodeId> = investigation.pending().map(|node| node.id.clone()).collect();
        let committed: Vec<NodeId> = investigation.committed().map(|(node, _)| node.id.clone()).collect();
        let agent = format!("agent-{}", self.random.index(4));
        let session = format!("session-{at}-{}", self.random.index(3));
        let caller = Caller { session: Some(session), ..Caller::default() };
        let agent_id = Some(agent).filter(|_| !self.random.one_in(4));
        let id = self.id.clone();
        match self.random.index(16) {
            0..=3 => {
                let request = self.proposal(investigation, &rules, &pending);
                let written = self.clones[at].service.propose(&id, request, &caller);
                ("propose".into(), Some(written))
            }
            4..=7 => {
                let is_late = self.random.one_in(6);
                let from = if is_late { &committed } else { &pending };
                let number = 1 + self.random.index(from.len().max(1));
                let chosen: Vec<NodeId> = from.iter().take(number).cloned().collect();
                let results = chosen.iter().map(|node| {
                    let has_log = self.random.one_in(6);
                    let attached =
                        has_log.then(|| serde_json::json!([{"name": "a.log", "text": self.text("log")}]));
                    NodeResult {
                        node_id: node.to_string(),
                        state: self.random.of(&states).unwrap().clone(),
                        findings: self.text("Findings"),
                        headline: self.random.one_in(2).then(|| self.text("Headline")),
                        evidence: Some(format!("{EVIDENCE} {}", self.text("Seen"))),
                        verification: NewVerification {
                            alternatives_considered: ["the other one", "a third one"]
                                .map(|it| self.text(&format!("It could have been {it}, which was looked at")))
                                .into(),
                            ..NewVerification::default()
                        },
                        agent_id: agent_id.clone(),
                        claimed: is_late,
                        attachments: attached.map_or_else(Vec::new, |it| serde_json::from_value(it).unwrap()),
                        ..NodeResult::default()
                    }
                });
                let results: Vec<NodeResult> = results.collect();
                let is_empty = results.is_empty();
                let what = if is_late { "late" } else { "commit" };
                (what.into(), (!is_empty).then(|| self.clones[at].service.commit(&id, results, &caller)))
            }
            8 | 9 => {
                let node = self.random.of(&committed).cloned();
                let request = node.map(|node| Reclassify {
                    node_id: node.to_string(),
                    new_state: self.random.of(&states).unwrap().clone(),
                    // Two may be identical.
                    reason: Some(if self.random.one_in(3) { "Alike.".into() } else { self.text("Reason") }),
                    evidence: self.random.one_in(2).then(|| EVIDENCE.to_owned()),
                    agent_id,
                    ..Reclassify::default()
                });
                let written =
                    request.map(|request| self.clones[at].service.reclassify(&id, request, &caller));
                ("reclassify".into(), written)
            }
            10 => {
                let of_end = investigation.conclusion().is_some() && self.random.one_in(2);
                let alike = self.random.one_in(3);
                let mut text = |about| if alike { format!("{about} alike.") } else { self.text(about) };
                let request = Amend {
                    reason: text("Amended"),
                    bottom_line: of_end.then(|| text("Do")),
                    conclusion: of_end.then(|| text("Concluded")),
                    headline: (!of_end).then(|| text("Headline")),
                    findings: (!of_end).then(|| text("Findings")),
                    title: (!of_end).then(|| text("Title")),
                    agent_id,
                    ..Amend::default()
                };
                let node = self.random.of(&committed).map(ToString::to_string);
                let request = Amend { node_id: node.filter(|_| !of_end), ..request };
                ("amend".into(), Some(self.clones[at].service.amend(&id, request, &caller)))
            }
            11 | 12 => {
                let comments: Vec<_> = investigation.comments().cloned().collect();
                let reply_to = self.random.of(&comments).filter(|_| self.random.one_in(2)).cloned();
                let kind = match (&reply_to, self.random.index(2)) {
                    (None, 0) => CommentKind::Comment,
                    (None, _) => CommentKind::Objection,
                    (Some(_), 0) => CommentKind::Answer,
                    (Some(_), _) => CommentKind::Resolution,
                };
                let node = self.random.of(&committed).filter(|_| reply_to.is_none());
                let request = Say {
                    node_id: node.map(ToString::to_string),
                    kind,
                    reply_to: reply_to.map(|comment| comment.id.to_string()),
                    text: self.text("Said"),
                    agent_id,
                    ..Say::default()
                };
                // With such a clock, the time alone determines the id.
                self.set_clock(at, at as i64 + 1);
                ("comment".into(), Some(self.clones[at].service.comment(&id, request, &caller)))
            }
            13 => {
                let answers: Vec<&NodeId> = rules.answers(investigation).map(|node| &node.id).collect();
                let answers = answers.into_iter().map(|id| Bind::Id(id.to_string())).collect();
                let request = End {
                    bottom_line: Some(self.text("Do")),
                    draft: self.random.one_in(3),
                    conclusion: (!self.random.one_in(5)).then(|| self.text("Concluded")),
                    answers,
                    not_covered: vec![self.text("Open")],
                    agent_id,
                    stopped: self
                        .random
                        .one_in(2)
                        .then_some(EarlyStop { reason: StopReason::Enough, note: None }),
                    ..End::default()
                };
                ("end".into(), Some(self.clones[at].service.end(&id, request, &caller)))
            }
            14 => {
                let node = self.random.of(&committed).cloned();
                let name = ["a.log", "A.log", "b.log"][self.random.index(3)].to_owned();
                let files = [NewAttachment { name, content: self.text("Attached").into_bytes() }];
                let written = node.map(|node| self.clones[at].service.attach(&id, &node, &files, &caller));
                ("attach".into(), written)
            }
            _ => {
                let node = self.random.of(&pending).cloned();
                let claimant = Claimant { agent_id, minutes: Some(1 + self.random.index(2) as u32) };
                let releases = self.random.one_in(3);
                let written = node.map(|node| match releases {
                    true => self.clones[at].service.release(&id, &[node], &caller),
                    false => self.clones[at].service.claim(&id, &[node], &claimant, &caller),
                });
                (if releases { "release" } else { "claim" }.into(), written)
            }
        }
    }

    /// Returns one of few ids below a node, so that many collide, or withdraws a proposal.
    fn proposal(
        &mut self,
        investigation: &Investigation,
        rules: &EffectiveRules,
        pending: &[NodeId],
    ) -> Propose {
        let places = investigation.committed().filter(|(_, state)| !rules.is_terminal(state));
        let places: Vec<NodeId> = places.map(|(node, _)| node.id.clone()).collect();
        let parent = self.random.of(&places).cloned();
        let steps = match &parent {
            Some(parent) if parent.suffix().ends_with(|c: char| c.is_ascii_digit()) => ["a", "b", "c"],
            Some(_) => ["1", "2", "3"],
            None => ["A", "B", "C"],
        };
        let number = 1 + self.random.index(3);
        let nodes = (0..number).filter_map(|_| {
            let step = steps[self.random.index(3)];
            let id = match &parent {
                Some(parent) => parent.short().child(step)?.to_string(),
                None => format!("R1.{step}"),
            };
            Some(NewNode {
                id,
                parent: parent.as_ref().map(ToString::to_string),
                title: self.text("Title"),
                planned_action: self.text("Plan"),
                ..NewNode::default()
            })
        });
        let mut nodes: Vec<NewNode> = nodes.collect();
        let mut seen = BTreeSet::new();
        nodes.retain(|node| seen.insert(node.id.clone()));
        let withdraw = self.random.of(pending).filter(|_| self.random.one_in(5));
        Propose { nodes, withdraw: withdraw.map(ToString::to_string).into_iter().collect(), reopen: None }
    }

    /// A file of the user's own.
    fn by_hand(&mut self, at: usize) -> String {
        let repository = self.clones[at].repository.clone();
        let name = format!("notes-{at}.md");
        let before = std::fs::read_to_string(repository.join(&name)).unwrap_or_default();
        let text = before + &self.text("Note") + "\n";
        self.sandbox.commit_file(&repository, &name, &text);
        "by hand".into()
    }

    /// Copies the objects of one clone to another, and returns the head of the first.
    fn fetch(&self, to: &Path, from: usize) -> CommitId {
        let from = &self.clones[from].repository;
        copy_new(&from.join(".git/objects"), &to.join(".git/objects"));
        self.sandbox.head(from).parse().unwrap()
    }

    /// Merges one clone into another with our merge.
    fn join(&mut self, at: usize, other: usize) -> String {
        let repository = self.clones[at].repository.clone();
        let kept: BTreeSet<String> = [at, other].iter().flat_map(|at| words(&self.content(*at))).collect();
        let theirs = self.fetch(&repository, other);
        let joined = match self.clones[at].service.store().join(&repository, theirs) {
            Ok(joined) => joined,
            Err(error) => self.fail(&format!("not joined: {error}")),
        };
        let what = match joined {
            Joined::Unchanged => return "unchanged".into(),
            Joined::FastForwarded { .. } => return "forward".into(),
            Joined::Merged { .. } => "merged",
        };
        self.holds(&repository, &kept, what);
        self.checked(&repository);
        what.into()
    }

    /// Merges one clone into another with git's own merge, which needs help with conflicts: with the merge driver, with a driver
    /// whose program is missing, or without one, as in a clone made with plain git.
    fn merge_by_git(&mut self, at: usize, other: usize) -> String {
        let repository = self.clones[at].repository.clone();
        let kept: BTreeSet<String> = [at, other].iter().flat_map(|at| words(&self.content(*at))).collect();
        let theirs = self.fetch(&repository, other).to_string();
        let before = self.sandbox.head(&repository);
        let driver = self.story.len() % 3;
        self.clones[at].service.store().configure(&repository).unwrap();
        if driver == 2 {
            self.sandbox.git(&repository, &["config", "--remove-section", "merge.tot"]);
        }
        let merged = self.git_merge(&repository, &theirs, driver == 0);
        let what = match (merged, driver) {
            (false, _) => "resolved",
            (true, 0) => "driver merged",
            (true, _) => "git merged",
        };
        // Line by line, git may make another file of two versions of a node, without a conflict. And it may bring two attachments
        // together whose names differ only in letter case. `tot check` says so, and who reads it takes the merge back.
        let is_misnamed = || errors(&repository).iter().any(|error| error.contains("ID_CASE_COLLISION"));
        if merged && ((driver > 0 && by_hand(&repository) != ByHand::default()) || is_misnamed()) {
            self.sandbox.git(&repository, &["reset", "--quiet", "--hard", &before]);
            return "git merged into a wrong file".into();
        }
        self.holds(&repository, &kept, what);
        self.checked(&repository);
        what.into()
    }

    /// Merges with git, and with `tot merge --resolve` if git reports a conflict. Returns whether git did not.
    fn git_merge(&self, repository: &Path, theirs: &str, has_driver: bool) -> bool {
        let mut command = self.sandbox.command("git");
        let merge = ["merge", "--quiet", "--no-edit", theirs];
        let is_merged = if has_driver { with_tot(&mut command) } else { &mut command }
            .current_dir(repository)
            .args(merge)
            .output()
            .unwrap()
            .status
            .success();
        if !is_merged {
            let root = repository.parent().unwrap().to_str().unwrap();
            let ran = self.sandbox.run(TOT, &["merge", "--resolve", "--root", root]);
            if ran.status != 0 {
                self.fail(&format!("not resolved: {}", ran.err));
            }
        }
        is_merged
    }

    fn holds(&self, repository: &Path, kept: &BTreeSet<String>, what: &str) {
        let now = words(&files(repository, false));
        let lost: Vec<&String> =
            kept.iter().filter(|word| !now.contains(*word) && !self.given_up.contains(*word)).collect();
        if !lost.is_empty() {
            self.fail(&format!("{lost:?} lost when {what}, in {}", repository.display()));
        }
    }

    /// Asserts that `tot check`, in a new process, finds no error, and that nothing is reported as changed manually.
    fn checked(&self, repository: &Path) {
        let by_hand = by_hand(repository);
        if by_hand != ByHand::default() {
            self.fail(&format!("{by_hand:?} in {}", repository.display()));
        }
        let wrong = errors(repository);
        if !wrong.is_empty() {
            self.fail(&format!("{wrong:#?} in {}", repository.display()));
        }
    }

    /// Merges the clones, from each on.
    fn finish(&mut self) {
        let referee = self.sandbox.path("referee").join(&self.id);
        std::fs::create_dir_all(referee.parent().unwrap()).unwrap();
        let from = self.clones[0].repository.to_str().unwrap().to_owned();
        self.sandbox.git(referee.parent().unwrap(), &["clone", "--quiet", &from]);
        let heads: Vec<CommitId> = (0..self.clones.len()).map(|at| self.fetch(&referee, at)).collect();
        let kept: BTreeSet<String> = (0..self.clones.len()).flat_map(|at| words(&self.content(at))).collect();
        let mut trees = Vec::new();
        for first in 0..heads.len() {
            let (earlier, later) = heads.split_at(first);
            let (first, more) = (heads[first], later[1..].iter().chain(earlier).copied());
            self.sandbox.git(&referee, &["reset", "--quiet", "--hard", &first.to_string()]);
            let store = Store::new(referee.parent().unwrap());
            for theirs in more {
                if let Err(error) = store.join(&referee, theirs) {
                    self.fail(&format!("not joined in the end: {error}"));
                }
            }
            self.holds(&referee, &kept, "merged in the end");
            self.checked(&referee);
            trees.push(files(&referee, false));
        }
        // With its driver, git makes the same of nodes and of the conclusion.
        let (last, others) = heads.split_last().unwrap();
        self.sandbox.git(&referee, &["reset", "--quiet", "--hard", &last.to_string()]);
        Store::new(referee.parent().unwrap()).configure(&referee).unwrap();
        for theirs in others {
            self.git_merge(&referee, &theirs.to_string(), true);
        }
        let mut tree = trees[0].clone();
        tree.retain(|path, _| !path.starts_with("nodes") && path.as_path() != Path::new("conclusion.yaml"));
        let is_merged =
            |path: &PathBuf| path.starts_with("nodes") || path.as_path() == Path::new("conclusion.yaml");
        tree.extend(files(&referee, false).into_iter().filter(|(path, _)| is_merged(path)));
        trees.push(tree);
        for tree in &trees[1..] {
            let paths = tree.keys().chain(trees[0].keys());
            let differ: BTreeSet<_> = paths.filter(|path| tree.get(*path) != trees[0].get(*path)).collect();
            if !differ.is_empty() {
                self.fail(&format!("the order matters for {differ:?}"));
            }
        }
    }
}

/// Returns the errors that `tot check` finds.
fn errors(repository: &Path) -> Vec<String> {
    let store = Store::new(repository.parent().unwrap());
    let subject = check::read(&store, repository, Objects::default()).unwrap();
    let findings = check::check(&subject);
    let wrong = findings.iter().filter(|finding| finding.severity == Severity::Error);
    wrong.map(ToString::to_string).collect()
}

/// Returns what a new process reports as changed manually.
fn by_hand(repository: &Path) -> ByHand {
    let snapshot = Store::new(repository.parent().unwrap()).load(repository).unwrap();
    snapshot.investigation.by_hand().clone()
}

/// Returns the marker words in all files except the generated page, and a conclusion after which the investigation was
/// reopened: another one takes its place.
fn words(content: &Content) -> BTreeSet<String> {
    let texts = content.iter().filter(|(path, _)| path.as_path() != Path::new("README.md"));
    let is_reopened =
        |text: &[u8]| String::from_utf8_lossy(text).lines().any(|line| line.starts_with("reopened:"));
    let texts = texts.filter(|(_, text)| !is_reopened(text));
    let mut words = BTreeSet::new();
    for (_, text) in texts {
        let text = String::from_utf8_lossy(text);
        let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
        let is_word = |part: &&str| part.len() > 4 && part.starts_with("word");
        words.extend(parts.filter(is_word).map(str::to_owned));
    }
    words
}
