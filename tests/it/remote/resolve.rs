//! Merges made with git: the merge driver `tot merge-file`, and `tot merge --resolve` after git has merged line by line.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Machine, settle, team};
use crate::support::{Said, Sandbox, TOT, files, load, node, result, short, with_tot};

/// Two machines that have committed different results for one proposal, and one a second node with a child; on `one`, the
/// other's work was fetched and a merge by git has stopped, because it did not find its merge driver on the PATH.
fn stopped(sandbox: &Sandbox) -> (Machine, Machine, String) {
    let (_, one, other, id) = team(sandbox);
    let propose = |machine: &Machine, node: Value| {
        machine.call("tot_propose", json!({"sessionId": id, "nodes": [node]}));
    };
    propose(&one, node("R2.A1", Some("R1.A")));
    one.synced();
    other.synced();
    sandbox.sleep(60);
    for (machine, state, title) in [(&one, "EXPLORE", "ours"), (&other, "DEAD", "theirs")] {
        let mut found = result("R2.A1", state);
        found["agentId"] = json!(format!("agent-of-{title}"));
        found["findings"] = json!(format!("Findings of {title}."));
        machine.call("tot_commit", json!({"sessionId": id, "results": [found]}));
        // The same short id for two proposals, each of which has a child.
        let mut new = node("R2.A2", Some("R1.A"));
        new["title"] = json!(format!("Second of {title}"));
        propose(machine, new);
        sandbox.sleep(60);
        machine.call("tot_commit", json!({"sessionId": id, "results": [result("R2.A2", "EXPLORE")]}));
        propose(machine, node(&format!("R3.A2{}", &title[..1]), Some("R2.A2")));
    }
    other.synced();
    one.git(&id, &["fetch", "--quiet"]);
    let conflict = merge(&one, &id, &[]);
    assert!(conflict.contains("CONFLICT"), "{conflict}");
    (one, other, id)
}

/// Merges the fetched work with git, and returns git's output.
fn merge(machine: &Machine, id: &str, more: &[&str]) -> String {
    let arguments = [&["merge", "--quiet", "main@{upstream}"], more].concat();
    Said::from(machine.sandbox.try_git(&machine.repository(id), &arguments)).out
}

fn titles(machine: &Machine, id: &str) -> Vec<String> {
    let snapshot = load(&machine.repository(id));
    assert!(snapshot.faults.is_empty(), "{:?}", snapshot.faults);
    let nodes = snapshot.investigation.nodes();
    let mut titles: Vec<String> = nodes.map(|node| format!("{} {}", node.id.short(), node.title)).collect();
    titles.sort();
    titles
}

const JOINED: [&str; 6] = [
    "R1.A Title of R1.A",
    "R2.A1 Title of R2.A1",
    "R2.A2 Second of ours",
    "R2.A2 Second of theirs",
    "R3.A2o Title of R3.A2o",
    "R3.A2t Title of R3.A2t",
];

#[test]
fn a_merge_that_git_has_stopped_is_made_by_node_and_what_was_merged_by_hand_is_kept_in_a_branch() {
    let (one, other, id) = stopped(&Sandbox::new());
    let propose = json!({"sessionId": id, "nodes": [node("R2.A5", Some("R1.A"))]});
    let refused = one.server().call("tot_propose", propose);
    assert_eq!(refused["errors"][0]["code"], "OPERATION_IN_PROGRESS");
    assert!(refused.to_string().contains("tot merge --resolve"), "{refused}");
    let heads = one.git(&id, &["rev-parse", "HEAD", "MERGE_HEAD"]);
    one.write(&id, "nodes/R2/R2.A1.yaml", "by hand\n");
    one.write(&id, "mine.md", "mine\n");
    // Git runs in the repository, whatever folder a relative root starts from.
    let root = one.root.strip_prefix(one.sandbox.path("")).unwrap().to_str().unwrap();
    let said = one
        .sandbox
        .run(TOT, &["merge", "--resolve", "--root", root])
        .out
        .replace(&one.head(&id)[..10], "COMMIT");
    let kept = one.git(&id, &["branch", "--list", "--format=%(refname:short)", "tot-kept/*"]);
    assert_snapshot!(said.replace(&kept, "KEPT"), @r"
    Merged in COMMIT
      R2.A1 has a second result
      R2.A1 is contested: EXPLORE against DEAD
    The conflicts are saved on branch KEPT
    ");
    assert_eq!(titles(&one, &id), JOINED);
    assert!(one.git(&id, &["grep", "-l", "by hand", &kept]).contains(":nodes/R2/R2.A1-"));
    assert_eq!(one.git(&id, &["rev-parse", &format!("{kept}^@")]), heads);
    assert_eq!(one.git(&id, &["rev-parse", "HEAD^@"]), heads);
    // An untracked file belongs to the user.
    assert_eq!(one.read(&id, "mine.md"), "mine\n");
    let left = fs::read_dir(one.repository(&id).join(".git")).unwrap().flatten().map(|it| it.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("tot-index")), "nothing is left");
    fs::remove_file(one.repository(&id).join("mine.md")).unwrap();
    let found = one.tot_check(&id).out;
    assert!(found.contains("MERGE") && !found.contains("BY_HAND"), "it is as the merge by node: {found}");
    assert_eq!(one.ok(&["merge", "--resolve"]), "Nothing to resolve.\n");
    settle(&[&one, &other], &id);
}

#[test]
fn what_git_merges_with_the_driver_is_what_a_sync_makes() {
    let (one, other, id) = stopped(&Sandbox::new());
    one.git(&id, &["merge", "--abort"]);
    let (repository, head) = (one.repository(&id), one.head(&id));
    let merged = [
        (&["merge", "--no-edit", "main@{upstream}"][..], true),
        (&["pull", "--no-edit"], true),
        (&["rebase", "--quiet", "main@{upstream}"], false),
        (&["cherry-pick", "HEAD..main@{upstream}"], false),
    ]
    .map(|(arguments, is_merge)| {
        one.git(&id, &["reset", "--quiet", "--hard", &head]);
        let mut command = one.sandbox.command("git");
        let ran =
            Said::from(with_tot(&mut command).current_dir(&repository).args(arguments).output().unwrap());
        assert_eq!(ran.status, 0, "{arguments:?}: {ran:?}");
        // In a rebase or cherry-pick, the checksum of a merged commit does not fit, because its files are others.
        let found = one.tot_check(&id);
        assert_eq!((found.status, found.out.contains("BY_HAND")), (0, !is_merge), "{arguments:?}: {found:?}");
        files(&repository, false)
    });
    one.git(&id, &["reset", "--quiet", "--hard", &head]);
    settle(&[&one, &other], &id);
    assert!(merged.iter().all(|it| *it == files(&repository, false)));
}

#[test]
fn a_stopped_rebase_or_cherry_pick_is_finished_and_what_a_person_has_mended_stays() {
    let (one, other, id) = stopped(&Sandbox::new());
    one.git(&id, &["merge", "--abort"]);
    for machine in [&one, &other] {
        machine.write(&id, "notes.md", &format!("{}\n", machine.root.display()));
        machine.commit_all(&id);
    }
    other.synced();
    one.git(&id, &["fetch", "--quiet"]);
    let mine = one.head(&id);
    for command in ["rebase main@{upstream}", "cherry-pick HEAD..main@{upstream}", "merge main@{upstream}"] {
        one.git(&id, &["reset", "--quiet", "--hard", &mine]);
        let ran = one.sandbox.try_git(&one.repository(&id), &command.split(' ').collect::<Vec<_>>());
        assert!(!ran.status.success(), "{ran:?}");
        one.refuses(&["sync"], &["is in progress", "`tot merge --resolve`", "--abort`"]);
        let before = one.git(&id, &["status", "--porcelain"]);
        let refused =
            one.refuses(&["merge", "--resolve"], &["notes.md: both sides have changed it", "`git add`"]);
        assert!(!refused.err.contains("nodes/"), "{refused:?}");
        if before.contains("notes.md") {
            assert_eq!(one.git(&id, &["status", "--porcelain"]), before);
        }
        one.write(&id, "notes.md", "both\n");
        one.git(&id, &["add", "notes.md"]);
        one.ok(&["merge", "--resolve"]);
        assert_eq!(one.read(&id, "notes.md"), "both\n", "{command}");
        assert_eq!(titles(&one, &id), JOINED, "{command}");
        let result = one.read(&id, "nodes/R2/R2.A1.yaml");
        assert!(
            ["ours", "theirs"].iter().all(|it| result.contains(&format!("Findings of {it}."))),
            "{result}"
        );
        one.assert_sound(&id);
        one.git(&id, &["symbolic-ref", "HEAD"]);
    }
    // A merge keeps what a revert removes.
    assert!(!one.sandbox.try_git(&one.repository(&id), &["revert", ":/Commit R2.A1"]).status.success());
    one.refuses(&["merge", "--resolve"], &["a revert is in progress", "would keep what it removes"]);
    one.git(&id, &["revert", "--abort"]);
    settle(&[&one, &other], &id);
}

#[test]
fn a_conflict_that_only_a_person_can_resolve_is_shown_by_a_sync() {
    let (one, other, id) = stopped(&Sandbox::new());
    one.git(&id, &["merge", "--abort"]);
    for (machine, name) in [(&one, "ours"), (&other, "theirs")] {
        machine.edit(&id, "ruleset.yaml", "\nname: ", &format!("\n# Changed by {name}.\nname: "));
        machine.commit_all(&id);
    }
    other.synced();
    let head = one.head(&id);
    let both =
        ["ruleset.yaml: both sides", "+# Changed by ours.", "+# Changed by theirs.", "Merge it by hand"];
    one.fails("NOT_JOINED", &[&both[..], &["git -C", "tot merge --resolve"]].concat());
    assert_eq!(one.head(&id), head);
}

/// On `one`, a proposal was withdrawn and made again under another id. `other` has researched it in the meantime, and
/// both have researched a third one. If the file of the first proposal were deleted, git would see it renamed to the second's.
#[test]
fn a_merge_by_git_leaves_no_result_with_a_similar_proposal() {
    let (_, one, other, id) = team(&Sandbox::new());
    let propose = |ids: &[&str], withdraw: &[&str]| {
        let mut nodes: Vec<Value> = ids.iter().map(|id| node(id, Some("R1.A"))).collect();
        nodes[0]["title"] = json!("The prism splits the light of the sun, and not that of the lamp");
        nodes[0]["plannedAction"] = json!("Hold the prism into the light of both, and measure each colour.");
        one.call("tot_propose", json!({"sessionId": id, "nodes": nodes, "withdraw": withdraw}));
    };
    propose(&["R2.A1", "R2.A3"], &[]);
    one.synced();
    other.synced();
    one.sandbox.sleep(60);
    propose(&["R2.A2"], &["R2.A1"]);
    one.call("tot_commit", json!({"sessionId": id, "results": [result("R2.A3", "EXPLORE")]}));
    one.sandbox.sleep(60);
    let results = [result("R2.A1", "EXPLORE"), result("R2.A3", "DEAD")];
    other.call("tot_commit", json!({"sessionId": id, "results": results}));
    other.synced();
    one.git(&id, &["fetch", "--quiet"]);
    let before = one.head(&id);
    // With the settings of an investigation, and with those of a clone made with plain git.
    for more in [&[][..], &["-Xfind-renames=50%"]] {
        let said = merge(&one, &id, more);
        assert!(short(&said).contains("Merge conflict in nodes/R2/R2.A1.yaml"), "{said}");
        one.ok(&["merge", "--resolve"]);
        let snapshot = load(&one.repository(&id));
        let findings = ["R2.A1", "R2.A2"].map(|id| {
            let node = snapshot.investigation.find(id).unwrap();
            node.classification.as_ref().map(|result| result.findings.clone())
        });
        assert_eq!(findings, [Some("Findings of R2.A1.".to_owned()), None]);
        one.assert_sound(&id);
        one.git(&id, &["reset", "--quiet", "--hard", &before]);
    }
}
