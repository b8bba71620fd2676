//! What two clones have added is joined: a fast-forward, or one merge commit that both make alike.

use std::path::{Path, PathBuf};

use serde_json::json;
use tree_of_thoughts::domain::NodeId;
use tree_of_thoughts::store::git::CommitId;
use tree_of_thoughts::store::{JoinError, Joined, Store, StoreError};

use crate::support::{Sandbox, Session};

/// Two machines with the same investigation: a root that is researched.
struct Pair {
    sandbox: Sandbox,
    here: Machine,
    there: Machine,
}

#[derive(Clone)]
struct Machine {
    root: PathBuf,
    repository: PathBuf,
}

impl Machine {
    fn store(&self) -> Store {
        Store::new(&self.root)
    }

    fn nodes(&self) -> Vec<String> {
        let snapshot = self.store().load(&self.repository).unwrap();
        assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
        snapshot.investigation.nodes().map(|node| format!("{} {}", node.id, node.title)).collect()
    }
}

impl Pair {
    fn new() -> Pair {
        let sandbox = Sandbox::new();
        let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
        session.grow(&[("R1.A", None)], "EXPLORE");
        let here = Machine { root: sandbox.root(), repository: session.repository() };
        drop(session);
        let root = sandbox.path("there");
        std::fs::create_dir(&root).unwrap();
        let repository = root.join(here.repository.file_name().unwrap());
        sandbox.git(&root, &["clone", "--quiet", here.repository.to_str().unwrap()]);
        let there = Machine { root, repository };
        Pair { sandbox, here, there }
    }

    fn grow(&self, machine: &Machine, id: &str, title: &str) {
        let mut server = self.sandbox.server_in(&machine.root, &[]);
        let session = machine.repository.file_name().unwrap().to_str().unwrap();
        let node = json!({"id": id, "parent": "R1.A", "title": title, "plannedAction": "Look at it."});
        server.ok("tot_propose", json!({"sessionId": session, "nodes": [node]}));
    }

    /// Commits a file by hand.
    fn write(&self, machine: &Machine, path: &str, text: &str) {
        std::fs::write(machine.repository.join(path), text).unwrap();
        self.sandbox.git(&machine.repository, &["add", path]);
        self.sandbox.git(&machine.repository, &["commit", "--quiet", "-m", "By hand"]);
    }

    fn fetch(&self, to: &Machine, from: &Machine) -> CommitId {
        self.sandbox.git(&to.repository, &["fetch", "--quiet", from.repository.to_str().unwrap(), "main"]);
        self.sandbox.head(&from.repository).trim().parse().unwrap()
    }

    fn join(&self, to: &Machine, from: &Machine) -> Result<Joined, StoreError> {
        let theirs = self.fetch(to, from);
        let joined = to.store().join(&to.repository, theirs);
        self.sandbox.assert_sound(&to.repository);
        joined
    }

    fn refused(&self, to: &Machine, from: &Machine) -> JoinError {
        let before = self.sandbox.head(&to.repository);
        match self.join(to, from) {
            Err(StoreError::Join(error)) => {
                assert_eq!(self.sandbox.head(&to.repository), before);
                error
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn who_is_behind_goes_forward_and_keeps_what_is_not_committed() {
    let pair = Pair::new();
    pair.grow(&pair.there, "R2.A1", "There");
    std::fs::write(pair.here.repository.join("draft.md"), "not committed").unwrap();
    let to = pair.fetch(&pair.here, &pair.there);
    let from = pair.sandbox.head(&pair.here.repository).trim().parse().unwrap();
    let joined = pair.here.store().join(&pair.here.repository, to).unwrap();
    assert_eq!(joined, Joined::FastForwarded { from, to });
    assert_eq!(pair.here.nodes(), pair.there.nodes());
    let status = pair.sandbox.git(&pair.here.repository, &["status", "--porcelain"]);
    assert_eq!(status.trim(), "?? draft.md");
    assert_eq!(pair.here.store().join(&pair.here.repository, to).unwrap(), Joined::Unchanged);
}

#[test]
fn both_sides_make_the_same_merge_commit() {
    let pair = Pair::new();
    pair.grow(&pair.here, "R2.A1", "Here");
    pair.grow(&pair.there, "R2.A1", "There");
    let other = pair.here.clone();
    let heads = [pair.fetch(&pair.there, &other), pair.fetch(&pair.here, &pair.there)];
    for (machine, theirs) in [(&pair.there, heads[0]), (&pair.here, heads[1])] {
        let joined = machine.store().join(&machine.repository, theirs).unwrap();
        let Joined::Merged { decisions, .. } = joined else { panic!("{joined:?}") };
        assert_eq!(decisions.len(), 1);
        pair.sandbox.assert_sound(&machine.repository);
    }
    assert_eq!(pair.sandbox.head(&pair.here.repository), pair.sandbox.head(&pair.there.repository));
    assert_eq!(pair.here.nodes().len(), 3);
    let message = pair.sandbox.git(&pair.here.repository, &["log", "-1", "--format=%(trailers:key=Merged)"]);
    assert!(message.starts_with("Merged: R2.A1 renamed to R2.A2 ("), "{message}");
    let parents = pair.sandbox.git(&pair.here.repository, &["log", "-1", "--format=%P"]);
    let parents: Vec<&str> = parents.split_whitespace().collect();
    assert!(parents.len() == 2 && parents[0] < parents[1], "{parents:?}");
    let snapshot = pair.here.store().load(&pair.here.repository).unwrap();
    let moved: NodeId = "R2.A2".parse().unwrap();
    let node = snapshot.investigation.node(&moved).unwrap();
    assert_eq!(node.renamed_from, Some("R2.A1".parse().unwrap()));
}

/// Against one of two commits that both sides have in common, the file would come back.
#[test]
fn what_was_taken_back_stays_away_where_histories_cross() {
    let pair = Pair::new();
    let (here, there) = (&pair.here, &pair.there);
    pair.write(here, "notes.md", "one");
    pair.join(there, here).unwrap();
    pair.write(here, "notes.md", "two");
    pair.grow(there, "R2.A1", "There");
    let (ours, theirs) = (pair.fetch(there, here), pair.fetch(here, there));
    // Both merge the other, each with a change of its own in between.
    here.store().join(&here.repository, theirs).unwrap();
    pair.write(here, "notes.md", "one");
    there.store().join(&there.repository, ours).unwrap();
    pair.grow(there, "R2.A2", "Later");
    pair.join(here, there).unwrap();
    assert_eq!(std::fs::read_to_string(here.repository.join("notes.md")).unwrap(), "one");
    assert_eq!(here.nodes().len(), 3);
}

#[test]
fn a_file_that_both_have_changed_by_hand_is_refused_with_the_way_out() {
    let pair = Pair::new();
    pair.write(&pair.here, "notes.md", "here");
    pair.write(&pair.there, "notes.md", "there");
    let error = pair.refused(&pair.here, &pair.there);
    assert!(error.to_string().ends_with("can't be merged: notes.md: both sides have changed it"), "{error}");
    assert!(error.hint().contains(" merge "), "{}", error.hint());
}

#[test]
fn a_commit_with_a_link_or_a_huge_file_is_refused_though_its_tip_has_neither() {
    let pair = Pair::new();
    let folder: &Path = &pair.there.repository;
    std::fs::write(folder.join("huge.bin"), vec![0; 20 << 20]).unwrap();
    pair.sandbox.git(folder, &["add", "huge.bin"]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "Huge"]);
    pair.sandbox.git(folder, &["rm", "--quiet", "huge.bin"]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "Gone"]);
    let error = pair.refused(&pair.here, &pair.there);
    assert!(matches!(&error, JoinError::Refused { file, .. } if file == "huge.bin"), "{error}");
    pair.sandbox.git(folder, &["reset", "--quiet", "--hard", "HEAD~2"]);
    let blob = pair.sandbox.git(folder, &["rev-parse", "HEAD:ruleset.yaml"]);
    let entry = format!("120000,{},link", blob.trim());
    pair.sandbox.git(folder, &["update-index", "--add", "--cacheinfo", &entry]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "Link"]);
    let error = pair.refused(&pair.here, &pair.there);
    assert!(error.to_string().contains("symbolic link"), "{error}");
}

#[test]
fn histories_with_nothing_in_common_are_refused() {
    let pair = Pair::new();
    let folder = &pair.there.repository;
    pair.sandbox.git(folder, &["checkout", "--quiet", "--orphan", "squashed"]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "All at once"]);
    pair.sandbox.git(folder, &["branch", "--quiet", "-M", "main"]);
    assert!(matches!(pair.refused(&pair.here, &pair.there), JoinError::Unrelated { .. }));
}
