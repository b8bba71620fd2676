//! Merging the work of two clones: a fast-forward, or one merge commit that both create identically.

use std::path::{Path, PathBuf};

use serde_json::json;
use tree_of_thoughts::domain::{ByHand, NodeId};
use tree_of_thoughts::format::layout;
use tree_of_thoughts::store::git::CommitId;
use tree_of_thoughts::store::{Joined, Store, StoreError, StoreErrorKind};

use crate::support::{Sandbox, Server, Session, TOT, codes, node, result};

/// Two machines with the same investigation: a researched root.
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
        let mut session = Session::start(&sandbox, json!({"mode": "smoke", "allowEarlyTerminal": true}));
        session.grow(&[("R1.A", None)], "EXPLORE");
        session.ok("tot_propose", json!({"nodes": [node("R2.A9", Some("R1.A"))]}));
        let here = Machine { root: sandbox.root(), repository: session.repository() };
        drop(session);
        let root = sandbox.path("there");
        std::fs::create_dir(&root).unwrap();
        let repository = root.join(here.repository.file_name().unwrap());
        sandbox.git(&root, &["clone", "--quiet", here.repository.to_str().unwrap()]);
        let there = Machine { root, repository };
        Pair { sandbox, here, there }
    }

    fn server(&self, machine: &Machine) -> Server {
        self.sandbox.server_in(&machine.root, &[])
    }

    fn session(&self) -> String {
        self.here.repository.file_name().unwrap().to_str().unwrap().to_owned()
    }

    fn grow(&self, machine: &Machine, id: &str, title: &str) {
        let node = json!({"id": id, "parent": "R1.A", "title": title, "plannedAction": "Look at it."});
        self.server(machine).ok("tot_propose", json!({"sessionId": self.session(), "nodes": [node]}));
    }

    /// Commits a result for the proposal that both have.
    fn research(&self, machine: &Machine, state: &str, findings: &str) {
        let mut result = result("R2.A9", state);
        result["findings"] = json!(findings);
        result["agentId"] = json!(format!("agent of {state}"));
        self.server(machine).ok("tot_commit", json!({"sessionId": self.session(), "results": [result]}));
    }

    /// Returns the findings of `tot check`.
    fn checked(&self, machine: &Machine) -> String {
        let output = self.sandbox.command(TOT).arg("check").arg(&machine.repository).output().unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    /// Commits a file manually.
    fn write(&self, machine: &Machine, path: &str, text: &str) {
        let file = machine.repository.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
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

    /// Two proposals under one id. The later one, here, was researched, with every field set.
    fn collide(&self) {
        let id = self.session();
        self.grow(&self.there, "R2.A1", "There, and earlier");
        self.sandbox.sleep(60);
        self.grow(&self.here, "R2.A1", "Here");
        let mut server = self.server(&self.here);
        let mut found = result("R2.A1", "EXPLORE");
        found["attachments"] = json!([{"name": "a.log", "text": "Seen here."}]);
        server.ok("tot_commit", json!({"sessionId": id, "results": [found]}));
        server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R3.A1a", Some("R2.A1"))]}));
        let said = json!({"sessionId": id, "nodeId": "R2.A1", "kind": "objection", "text": "Was it?"});
        server.ok("tot_comment", said);
    }

    /// Makes the last commit give the later proposal the next free id, R2.A2, as an earlier program did.
    fn as_an_older_program(&self, machine: &Machine) {
        let git = |arguments: &[&str]| self.sandbox.git(&machine.repository, arguments);
        let message = git(&["log", "-1", "--format=%B"]);
        let moved = message.split(" renamed to R2.").nth(1).and_then(|rest| rest.split('\n').next()).unwrap();
        for path in git(&["ls-files"]).lines() {
            let file = machine.repository.join(path);
            let text = std::fs::read_to_string(&file).unwrap().replace(moved, "A2");
            std::fs::remove_file(&file).unwrap();
            let id = path.rsplit('/').next().unwrap().trim_end_matches(".yaml").replace(moved, "A2");
            let path = match path.starts_with(layout::NODES) {
                true => layout::node(&id.parse().unwrap()),
                false => path.replace(moved, "A2"),
            };
            let file = machine.repository.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        self.amend(machine, &message.replace(moved, "A2"));
    }

    fn amend(&self, machine: &Machine, message: &str) {
        self.sandbox.git(&machine.repository, &["add", "--all"]);
        self.sandbox.git(&machine.repository, &["commit", "--quiet", "--amend", "-m", message]);
    }

    fn by_hand(&self, machine: &Machine) -> ByHand {
        machine.store().load(&machine.repository).unwrap().investigation.by_hand().clone()
    }

    fn refused(&self, to: &Machine, from: &Machine) -> StoreError {
        let before = self.sandbox.head(&to.repository);
        match self.join(to, from) {
            Err(error) => {
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
    assert_eq!(pair.here.nodes().len(), 4);
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(": error "), "{checked}");
    let message = pair.sandbox.git(&pair.here.repository, &["log", "-1", "--format=%(trailers:key=Merged)"]);
    let renamed = message.trim().strip_prefix("Merged: R2.A1 renamed to ");
    let renamed = renamed.unwrap_or_else(|| panic!("{message}"));
    let parents = pair.sandbox.git(&pair.here.repository, &["log", "-1", "--format=%P"]);
    let parents: Vec<&str> = parents.split_whitespace().collect();
    assert!(parents.len() == 2 && parents[0] < parents[1], "{parents:?}");
    let snapshot = pair.here.store().load(&pair.here.repository).unwrap();
    let moved: NodeId = renamed.parse().unwrap();
    let node = snapshot.investigation.node(&moved).unwrap();
    assert_eq!(node.renamed_from, Some("R2.A1".parse().unwrap()));
}

/// Compared with only one of two common ancestors, the file would come back.
#[test]
fn what_was_taken_back_stays_away_where_histories_cross() {
    let pair = Pair::new();
    let (here, there) = (&pair.here, &pair.there);
    pair.write(here, "notes.md", "one");
    pair.join(there, here).unwrap();
    pair.write(here, "notes.md", "two");
    pair.grow(there, "R2.A1", "There");
    let (ours, theirs) = (pair.fetch(there, here), pair.fetch(here, there));
    // Each merges the other, with its own change in between.
    here.store().join(&here.repository, theirs).unwrap();
    pair.write(here, "notes.md", "one");
    there.store().join(&there.repository, ours).unwrap();
    pair.grow(there, "R2.A2", "Later");
    pair.join(here, there).unwrap();
    assert_eq!(std::fs::read_to_string(here.repository.join("notes.md")).unwrap(), "one");
    assert_eq!(here.nodes().len(), 4);
}

#[test]
fn a_proposal_that_was_researched_on_both_sides_is_contested_until_somebody_decides() {
    let pair = Pair::new();
    let id = pair.session();
    pair.research(&pair.here, "DEAD", "It was measured here, and does not hold.");
    pair.sandbox.sleep(60);
    pair.research(&pair.there, "EXPLORE", "It was measured there, and may hold.");
    let joined = pair.join(&pair.here, &pair.there).unwrap();
    let Joined::Merged { decisions, .. } = joined else { panic!("{joined:?}") };
    let told: Vec<String> = decisions.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["R2.A9 has a second result", "R2.A9 is contested: DEAD against EXPLORE"]);
    let checked = pair.checked(&pair.here);
    assert!(checked.contains("CONTESTED") && !checked.contains(": error "), "{checked}");
    let mut server = pair.server(&pair.here);
    let status = server.ok("tot_status", json!({"sessionId": id}));
    assert!(status.to_string().contains("CONTESTED"), "{status:#}");
    let next = server.ok("tot_next", json!({"sessionId": id}));
    assert_eq!(next["nextCall"]["tool"], "tot_reclassify", "{next:#}");
    assert_eq!(next["nextCall"]["arguments"]["nodeId"], "R2.A9", "{next:#}");
    // Both results are shown wherever the node is.
    let read = server.ok("tot_read", json!({"sessionId": id, "nodeIds": ["R2.A9"]})).to_string();
    let page =
        server.request("resources/read", json!({"uri": format!("tot://{id}/nodes/R2.A9")})).to_string();
    let report = server.ok("tot_report", json!({"sessionId": id}));
    let index = PathBuf::from(report["index"].as_str().unwrap());
    let site = index.parent().unwrap();
    let html = std::fs::read_to_string(site.join("nodes").join("R2.A9.html")).unwrap();
    let data = std::fs::read_to_string(site.join("investigation.json")).unwrap();
    for text in ["measured here", "measured there", "agent of DEAD", "agent of EXPLORE"] {
        for (place, told) in
            [("tot_read", &read), ("the resource", &page), ("the page", &html), ("the JSON", &data)]
        {
            assert!(told.contains(text), "{text} is not in {place}: {told}");
        }
    }
    assert!(html.contains("Contested"), "{html}");
    // Naming the current state also decides.
    let decided = json!({"sessionId": id, "nodeId": "R2.A9", "newState": "DEAD", "reason": "I repeated both.",
        "agentId": "judge"});
    server.ok("tot_reclassify", decided.clone());
    let status = server.ok("tot_status", json!({"sessionId": id}));
    assert!(!status.to_string().contains("CONTESTED"), "{status:#}");
    assert!(!pair.checked(&pair.here).contains("CONTESTED"));
    let before = pair.sandbox.head(&pair.here.repository);
    server.ok("tot_reclassify", decided);
    assert_eq!(pair.sandbox.head(&pair.here.repository), before);
}

/// The proposal that moves is the one with this id in the first parent, or in the second.
#[test]
fn a_committed_node_that_moves_is_not_called_lost() {
    let pair = Pair::new();
    for (machine, title) in [(&pair.here, "Here"), (&pair.there, "There")] {
        pair.grow(machine, "R2.A1", title);
        pair.sandbox.sleep(60);
        let mut result = result("R2.A1", "DEAD");
        result["findings"] = json!(format!("{title} it was measured, and does not hold."));
        pair.server(machine).ok("tot_commit", json!({"sessionId": pair.session(), "results": [result]}));
    }
    pair.join(&pair.here, &pair.there).unwrap();
    assert_eq!(pair.here.nodes().len(), 4);
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(": error ") && !checked.contains("STORED_LOST"), "{checked}");
}

/// Such merges were made when the moved proposal got the next free id.
#[test]
fn a_merge_by_an_older_program_is_not_called_changed_by_hand() {
    let pair = Pair::new();
    pair.collide();
    let (here, there) = (&pair.here.repository, &pair.there.repository);
    let before = pair.sandbox.head(here);
    pair.join(&pair.here, &pair.there).unwrap();
    pair.as_an_older_program(&pair.here);
    let older = pair.sandbox.head(here);
    let message = pair.sandbox.git(here, &["log", "-1", "--format=%B"]);
    assert!(message.contains("\nMerged: R2.A1 renamed to R2.A2\n"), "{message}");
    assert_eq!(pair.by_hand(&pair.here), ByHand::default());
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(" error ") && !checked.contains("COMMIT_BY_HAND"), "{checked}");
    // They hide no more than any other merge: neither text nor the owner of an id.
    let file = here.join("nodes/R2/R2.A2.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("Findings of R2.A1.", "Seen by three people.")).unwrap();
    pair.amend(&pair.here, &message);
    assert_eq!(pair.by_hand(&pair.here).nodes, ["R2.A2".parse().unwrap()].into());
    pair.sandbox.git(here, &["reset", "--quiet", "--hard", &older]);
    let [first, second] = ["nodes/R2/R2.A1.yaml", "nodes/R2/R2.A2.yaml"].map(|path| here.join(path));
    let [one, other] = [&first, &second].map(|file| std::fs::read_to_string(file).unwrap());
    std::fs::write(&first, other.replace("id: R2.A2", "id: R2.A1").replace("renamedFrom: R2.A1\n", ""))
        .unwrap();
    std::fs::write(&second, one.replace("id: R2.A1", "id: R2.A2\nrenamedFrom: R2.A1")).unwrap();
    pair.amend(&pair.here, &message);
    assert!(pair.by_hand(&pair.here).nodes.contains(&"R2.A2".parse().unwrap()));
    // A current merge meets the same proposals: nothing is lost, and nothing occurs twice.
    pair.sandbox.git(here, &["reset", "--quiet", "--hard", &before]);
    pair.join(&pair.there, &pair.here).unwrap();
    let merged = pair.sandbox.head(there);
    pair.sandbox.git(here, &["reset", "--quiet", "--hard", &older]);
    let Joined::Merged { commit, .. } = pair.join(&pair.here, &pair.there).unwrap() else { panic!() };
    pair.fetch(&pair.there, &pair.here);
    pair.sandbox.git(there, &["reset", "--quiet", "--hard", &merged]);
    let joined = pair.there.store().join(there, older.trim().parse().unwrap()).unwrap();
    assert!(matches!(joined, Joined::Merged { commit: other, .. } if other == commit), "{joined:?}");
    let titles: Vec<String> = pair.here.nodes();
    let is_here = |title: &str| titles.iter().filter(|node| node.ends_with(title)).count() == 1;
    assert!(titles.len() == 5 && is_here(" There, and earlier") && is_here(" Here"), "{titles:?}");
    assert_eq!(pair.by_hand(&pair.here), ByHand::default());
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(" error "), "{checked}");
}

#[test]
fn markers_that_an_older_program_resolved_are_not_called_changed_by_hand() {
    let pair = Pair::new();
    pair.collide();
    let here = &pair.here.repository;
    let theirs = pair.fetch(&pair.here, &pair.there).to_string();
    assert!(!pair.sandbox.try_git(here, &["merge", "--quiet", "--no-edit", &theirs]).status.success());
    pair.sandbox.git(here, &["commit", "--quiet", "--all", "--no-edit"]);
    let resolve = ["merge", "--resolve", "--root", pair.here.root.to_str().unwrap()];
    assert!(pair.sandbox.command(TOT).args(resolve).output().unwrap().status.success());
    assert_eq!(pair.by_hand(&pair.here), ByHand::default());
    pair.as_an_older_program(&pair.here);
    assert_eq!(pair.by_hand(&pair.here), ByHand::default());
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(" error "), "{checked}");
}

/// The earlier proposal, which is pending, replaces a committed one, and the child of that one moves with it.
#[test]
fn a_committed_node_that_makes_way_for_a_proposal_is_not_called_lost_from_either_side() {
    for here_is_first in [true, false] {
        let pair = Pair::new();
        let id = pair.session();
        pair.grow(&pair.there, "R2.A1", "There, and earlier");
        pair.sandbox.sleep(60);
        pair.grow(&pair.here, "R2.A1", "Here");
        let mut server = pair.server(&pair.here);
        server.ok("tot_commit", json!({"sessionId": id, "results": [result("R2.A1", "EXPLORE")]}));
        server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R3.A1a", Some("R2.A1"))]}));
        server.ok("tot_commit", json!({"sessionId": id, "results": [result("R3.A1a", "EXPLORE")]}));
        let (here, there) = (&pair.here.repository, &pair.there.repository);
        let mut number = 0;
        // The parents are in the order of their ids.
        while (pair.sandbox.head(here) < pair.sandbox.head(there)) != here_is_first {
            number += 1;
            pair.write(&pair.here, "notes.md", &number.to_string());
        }
        pair.join(&pair.here, &pair.there).unwrap();
        assert_eq!(pair.here.nodes().len(), 5);
        let checked = pair.checked(&pair.here);
        assert!(!checked.contains(" error "), "{checked}");
        // The earlier one can be committed.
        server.ok("tot_commit", json!({"sessionId": id, "results": [result("R2.A1", "DEAD")]}));
        let checked = pair.checked(&pair.here);
        assert!(!checked.contains(" error "), "{checked}");
    }
}

#[test]
fn two_changes_to_one_state_are_no_fault_and_one_that_a_hand_adds_is() {
    let pair = Pair::new();
    pair.research(&pair.here, "EXPLORE", "It may hold.");
    pair.join(&pair.there, &pair.here).unwrap();
    for (machine, reason) in [(&pair.here, "Here it was refuted."), (&pair.there, "There it was refuted.")] {
        pair.sandbox.sleep(60);
        let change =
            json!({"sessionId": pair.session(), "nodeId": "R2.A9", "newState": "DEAD", "reason": reason});
        pair.server(machine).ok("tot_reclassify", change);
    }
    pair.join(&pair.here, &pair.there).unwrap();
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(" error "), "{checked}");
    let path = "nodes/R2/R2.A9.yaml";
    let text = std::fs::read_to_string(pair.here.repository.join(path)).unwrap();
    assert!(text.contains("from: DEAD\n  to: DEAD"), "{text}");
    let forged = text + "- from: DEAD\n  to: DEAD\n  at: \"2026-01-05T12:00:00.000Z\"\n  agentId: forged\n";
    pair.write(&pair.here, path, &forged);
    let checked = pair.checked(&pair.here);
    assert!(checked.contains(" error RECLASSIFIED_CHAIN"), "{checked}");
}

/// Each is valid on its own: a proposal there, below a node that was given up here.
#[test]
fn a_proposal_below_what_was_given_up_elsewhere_is_a_warning_and_by_hand_an_error() {
    let pair = Pair::new();
    pair.research(&pair.here, "EXPLORE", "It may hold.");
    pair.join(&pair.there, &pair.here).unwrap();
    let below = json!({"sessionId": pair.session(), "nodes": [node("R3.A9a", Some("R2.A9"))]});
    pair.server(&pair.there).ok("tot_propose", below);
    pair.sandbox.sleep(60);
    let change = json!({"sessionId": pair.session(), "nodeId": "R2.A9", "newState": "DEAD", "reason": "It does not hold."});
    pair.server(&pair.here).ok("tot_reclassify", change);
    pair.join(&pair.here, &pair.there).unwrap();
    let checked = pair.checked(&pair.here);
    assert!(checked.contains(" warning TERMINAL_PARENT") && !checked.contains(" error "), "{checked}");
    let text = "version: 1\nid: R3.A9b\nparent: R2.A9\ntitle: By hand\nplannedAction: Look.\n\
                proposedAt: \"2026-01-05T12:00:00.000Z\"\n";
    pair.write(&pair.here, &layout::node(&"R3.A9b".parse().unwrap()), text);
    let checked = pair.checked(&pair.here);
    assert!(checked.contains(" error TERMINAL_PARENT"), "{checked}");
}

#[test]
fn an_investigation_that_was_ended_here_and_went_on_there_can_be_ended_again() {
    let pair = Pair::new();
    let id = pair.session();
    pair.research(&pair.here, "DEAD", "It was measured here, and does not hold.");
    let stop = json!({"sessionId": id, "conclusion": "Nothing was found, and the time is over.",
        "stopped": {"reason": "budget"}});
    pair.server(&pair.here).ok("tot_end", stop.clone());
    pair.sandbox.sleep(60);
    pair.grow(&pair.there, "R2.A1", "There");
    let joined = pair.join(&pair.here, &pair.there).unwrap();
    let Joined::Merged { decisions, .. } = joined else { panic!("{joined:?}") };
    assert!(decisions.iter().any(|it| it.to_string().contains("continued on the other")), "{decisions:?}");
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains(": error "), "{checked}");
    let mut server = pair.server(&pair.here);
    let refused =
        server.refused("tot_end", json!({"sessionId": id, "conclusion": "Nothing was found at all."}));
    assert!(refused.contains(&"PENDING_PROPOSALS".to_owned()), "{refused:?}");
    let end = server.ok(
        "tot_end",
        json!({"sessionId": id, "conclusion": "Still nothing, after all of it.", "stopped": {"reason": "budget"}}),
    );
    assert_eq!(codes(&end["warnings"]), Vec::<String>::new(), "{end:#}");
    let checked = pair.checked(&pair.here);
    assert!(!checked.contains("research went on elsewhere") && !checked.contains(" error "), "{checked}");
    // Anyone who overwrites a current result is named, even under the name of a call.
    let path = "conclusion.yaml";
    let text = std::fs::read_to_string(pair.here.repository.join(path)).unwrap();
    std::fs::write(pair.here.repository.join(path), text.replace("Still nothing", "All of it")).unwrap();
    let forged = "End\n\nTool: tot_end\n";
    pair.sandbox.git(&pair.here.repository, &["commit", "--quiet", "--all", "-m", forged]);
    assert!(pair.checked(&pair.here).contains(" error STORED_LOST"), "{}", pair.checked(&pair.here));
}

#[test]
fn a_file_that_both_have_changed_by_hand_is_refused_with_the_way_out() {
    let pair = Pair::new();
    pair.write(&pair.here, "notes.md", "here");
    pair.write(&pair.there, "notes.md", "there");
    let error = pair.refused(&pair.here, &pair.there);
    assert!(error.to_string().ends_with("can't be merged: notes.md: both sides have changed it"), "{error}");
    assert!(error.hint().unwrap().contains(" merge "), "{}", error.hint().unwrap());
}

#[test]
fn a_link_or_a_huge_file_of_others_is_taken_and_comes_into_no_work_tree() {
    let pair = Pair::new();
    let (folder, here): (&Path, &Path) = (&pair.there.repository, &pair.here.repository);
    let blob = pair.sandbox.git(folder, &["rev-parse", "HEAD:ruleset.yaml"]);
    let entry = format!("120000,{},link", blob.trim());
    std::fs::write(folder.join("huge.bin"), vec![0; 20 << 20]).unwrap();
    pair.sandbox.git(folder, &["add", "huge.bin"]);
    pair.sandbox.git(folder, &["update-index", "--add", "--cacheinfo", &entry]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "Huge, and a link"]);
    // Fast-forwarded, and then merged.
    for number in 0..2 {
        pair.join(&pair.here, &pair.there).unwrap();
        for file in ["huge.bin", "link"] {
            assert!(here.join(file).symlink_metadata().is_err(), "{file}");
            pair.sandbox.git(here, &["cat-file", "-e", &format!("HEAD:{file}")]);
        }
        pair.sandbox.assert_sound(here);
        pair.grow(&pair.here, &format!("R2.A{}", number + 5), "Here");
        pair.sandbox
            .git(folder, &["update-index", "--add", "--cacheinfo", &entry.replace(",link", ",other")]);
        pair.sandbox.git(folder, &["commit", "--quiet", "--allow-empty", "-m", "Another link"]);
    }
    assert!(here.join("other").symlink_metadata().is_err());
}

#[test]
fn histories_with_nothing_in_common_are_refused() {
    let pair = Pair::new();
    let folder = &pair.there.repository;
    pair.sandbox.git(folder, &["checkout", "--quiet", "--orphan", "squashed"]);
    pair.sandbox.git(folder, &["commit", "--quiet", "-m", "All at once"]);
    pair.sandbox.git(folder, &["branch", "--quiet", "-M", "main"]);
    assert!(pair.refused(&pair.here, &pair.there).kind == StoreErrorKind::Unrelated);
}
