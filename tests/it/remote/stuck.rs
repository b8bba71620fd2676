//! Situations that locked people out or took their work when they shared, each by its name.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::resolve::stopped;
use super::sync::{assert_settled, hook};
use super::{Machine, Ran, hub, refs, team, two};
use crate::support::{Sandbox, node, result};

/// Replaces a part of a file in the work tree.
pub(super) fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}: {text}");
    fs::write(path, text.replace(from, to)).unwrap();
}

pub(super) fn commit_all(sandbox: &Sandbox, repository: &Path, message: &str) {
    sandbox.git(repository, &["add", "--all"]);
    sandbox.git(repository, &["commit", "--quiet", "-m", message]);
}

fn is_in(machine: &Machine<'_>, id: &str, file: &str) -> bool {
    machine.repository(id).join(file).symlink_metadata().is_ok()
}

#[test]
fn a_refused_resolve_does_not_destroy_a_merge_by_hand() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    // A conflict that only a person can resolve, and did.
    sandbox.git(&repository, &["merge", "--abort"]);
    for (machine, name) in [(&one, "ours"), (&other, "theirs")] {
        let file = machine.repository(&id).join("ruleset.yaml");
        fs::write(&file, format!("# Changed by {name}.\n{}", fs::read_to_string(&file).unwrap())).unwrap();
        commit_all(&sandbox, &machine.repository(&id), "Say who has looked at the rules");
    }
    other.synced();
    let told = one.fails("NOT_JOINED", &[]);
    assert!(told.contains("git -C") && told.contains("tot merge --resolve"), "{told}");
    sandbox.try_git(&repository, &["merge", "--quiet", "main@{upstream}"]);
    let rules = sandbox.git(&repository, &["show", "HEAD:ruleset.yaml"]);
    let mended = rules.replace("# Changed by ours.", "# Changed by ours and theirs.");
    fs::write(repository.join("ruleset.yaml"), &mended).unwrap();
    sandbox.git(&repository, &["add", "ruleset.yaml"]);
    let before = sandbox.git(&repository, &["status", "--porcelain"]);
    let ran = one.tot(&["merge", "--resolve"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    for part in ["ruleset.yaml: both sides have changed it", "git commit -a", "tot merge --resolve"] {
        assert!(ran.err.contains(part), "{part}: {ran:?}");
    }
    assert!(
        !ran.err.contains(" merge 0") && !ran.err.contains("git -C"),
        "git refuses a second merge: {ran:?}"
    );
    assert_eq!(sandbox.git(&repository, &["status", "--porcelain"]), before);
    assert_eq!(fs::read_to_string(repository.join("ruleset.yaml")).unwrap(), mended);
    // The suggestion works.
    sandbox.git(&repository, &["commit", "--quiet", "-a", "--no-edit"]);
    one.ok(&["merge", "--resolve"]);
    assert_eq!(sandbox.git(&repository, &["show", "HEAD:ruleset.yaml"]), mended);
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn what_was_merged_by_hand_is_kept_in_a_branch_that_is_named() {
    let sandbox = Sandbox::new();
    let (one, _, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    let heads = [one.head(&id), sandbox.git(&repository, &["rev-parse", "MERGE_HEAD"]).trim().to_owned()];
    fs::write(repository.join("nodes/R2/R2.A1.yaml"), "by hand\n").unwrap();
    fs::write(repository.join("mine.md"), "mine\n").unwrap();
    let said = one.ok(&["merge", "--resolve"]);
    let branch = said.split_whitespace().find(|word| word.contains("tot-kept/")).unwrap();
    let branch = branch.trim_matches(['`', '.', ',']);
    let kept = |file: &str| sandbox.git(&repository, &["show", &format!("{branch}:{file}")]);
    assert_eq!(kept("nodes/R2/R2.A1.yaml"), "by hand\n");
    let parents = sandbox.git(&repository, &["log", "-1", "--format=%P", branch]);
    assert_eq!(parents.trim(), heads.join(" "));
    // An untracked file belongs to the user.
    assert_eq!(fs::read_to_string(repository.join("mine.md")).unwrap(), "mine\n");
    let left = fs::read_dir(repository.join(".git")).unwrap().flatten().map(|it| it.file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().starts_with("tot-index")), "nothing is left");
    fs::remove_file(repository.join("mine.md")).unwrap();
    one.assert_sound(&id);
}

#[test]
fn a_rebase_that_has_stopped_is_not_called_resolved_and_no_advice_is_given_that_git_refuses() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    sandbox.git(&repository, &["merge", "--abort"]);
    let rebase = sandbox.try_git(&repository, &["rebase", "--quiet", "main@{upstream}"]);
    assert!(!rebase.status.success(), "{rebase:?}");
    for arguments in [&["merge", "--resolve"][..], &["sync"]] {
        let ran = one.tot(arguments);
        assert_eq!(ran.status, 1, "{ran:?}");
        let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("a rebase is in progress") && words.contains("`git rebase --abort`"),
            "{words}"
        );
        assert!(!words.contains("git switch") && words.contains("`tot sync`"), "{words}");
    }
    sandbox.git(&repository, &["rebase", "--abort"]);
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
    one.assert_sound(&id);
}

#[test]
fn a_plain_git_pull_merges_what_went_apart() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    for (machine, node, rebase) in [(&one, "R2.A1", None), (&other, "R2.A2", Some("true"))] {
        if let Some(rebase) = rebase {
            sandbox.git(&sandbox.path("home"), &["config", "--global", "pull.rebase", rebase]);
        }
        let peer = if std::ptr::eq(machine, &one) { &other } else { &one };
        peer.grow(&id, &[&format!("{node}a")]);
        sandbox.git(&peer.repository(&id), &["push", "--quiet"]);
        machine.grow(&id, &[&format!("{node}b")]);
        let acknowledged = machine.head(&id);
        let pull = sandbox.try_git(&machine.repository(&id), &["pull", "--quiet", "--no-edit"]);
        assert!(pull.status.success(), "{pull:?}");
        sandbox.git(&machine.repository(&id), &["merge-base", "--is-ancestor", &acknowledged, "HEAD"]);
        machine.synced();
        peer.synced();
    }
    assert_eq!(one.head(&id), other.head(&id));
    one.assert_sound(&id);
    // Also if the remote is added manually later.
    let alone = Machine::new(&sandbox, "alone");
    let id = alone.start();
    for (setting, value) in
        [("pull.rebase", "false\n"), ("branch.main.mergeOptions", "-Xfind-renames=100%\n")]
    {
        assert_eq!(sandbox.git(&alone.repository(&id), &["config", "--local", setting]), value);
    }
}

/// On `one`, a proposal was withdrawn and made again under another id. `other` has researched it in the meantime, and
/// both have researched a third one.
fn proposed_again<'a>(sandbox: &'a Sandbox, hub: &Path) -> (Machine<'a>, Machine<'a>, String) {
    let (one, other, id) = two(sandbox, hub.to_str().unwrap());
    let proposal = |id: &str| {
        let mut proposal = node(id, Some("R1.A"));
        proposal["title"] = json!("The prism splits the light of the sun, and not that of the lamp");
        proposal["plannedAction"] = json!("Hold the prism into the light of both, and measure each colour.");
        proposal
    };
    let nodes = |nodes: &[Value], more: &[&str]| json!({"sessionId": id, "nodes": nodes, "withdraw": more});
    one.server().ok("tot_propose", nodes(&[proposal("R2.A1"), node("R2.A3", Some("R1.A"))], &[]));
    one.synced();
    other.synced();
    sandbox.sleep(60);
    one.server().ok("tot_propose", nodes(&[proposal("R2.A2")], &["R2.A1"]));
    one.server().ok("tot_commit", json!({"sessionId": id, "results": [result("R2.A3", "EXPLORE")]}));
    sandbox.sleep(60);
    let results = [result("R2.A1", "EXPLORE"), result("R2.A3", "DEAD")];
    other.server().ok("tot_commit", json!({"sessionId": id, "results": results}));
    other.synced();
    sandbox.git(&one.repository(&id), &["fetch", "--quiet"]);
    (one, other, id)
}

/// Asserts that each result is with its own node.
fn assert_apart(machine: &Machine<'_>, id: &str) {
    let snapshot = tree_of_thoughts::store::Store::new(&machine.root).load(&machine.repository(id)).unwrap();
    let findings = |id: &str| {
        let node = snapshot.investigation.node(&id.parse().unwrap()).unwrap();
        node.classification.as_ref().map(|result| result.findings.clone())
    };
    assert_eq!([findings("R2.A1"), findings("R2.A2")], [Some("Findings of R2.A1.".to_owned()), None]);
    machine.assert_sound(id);
}

/// In git's view, the file of the first proposal was renamed to that of the second.
#[test]
fn a_plain_merge_puts_no_result_into_the_file_of_a_similar_proposal() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, _, id) = proposed_again(&sandbox, &hub);
    let merge = sandbox.try_git(&one.repository(&id), &["merge", "--quiet", "main@{upstream}"]);
    let said = String::from_utf8_lossy(&merge.stdout).into_owned();
    assert!(said.contains("CONFLICT (modify/delete): nodes/R2/R2.A1.yaml"), "{merge:?}");
    let path = "nodes/R2/R2.A2.yaml";
    let merged = fs::read_to_string(one.repository(&id).join(path)).unwrap();
    assert!(!merged.contains("Findings of R2.A1."), "{merged}");
    one.ok(&["merge", "--resolve"]);
    assert_apart(&one, &id);
}

/// In a clone made with plain git, git's merge puts it there.
#[test]
fn a_result_that_git_has_put_into_another_file_goes_back_when_markers_are_resolved() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, _, id) = proposed_again(&sandbox, &hub);
    let repository = one.repository(&id);
    let merge = ["merge", "--quiet", "-Xfind-renames=50%", "main@{upstream}"];
    let merge = sandbox.try_git(&repository, &merge);
    let said = String::from_utf8_lossy(&merge.stdout).into_owned();
    assert!(said.contains("CONFLICT (content)") && !said.contains("R2.A1"), "{merge:?}");
    let merged = fs::read_to_string(repository.join("nodes/R2/R2.A2.yaml")).unwrap();
    assert!(merged.contains("Findings of R2.A1."), "{merged}");
    commit_all(&sandbox, &repository, "Merge with markers");
    one.ok(&["merge", "--resolve"]);
    assert_apart(&one, &id);
}

#[test]
fn committed_conflict_markers_are_told_with_the_command_that_resolves_them() {
    let sandbox = Sandbox::new();
    let (one, other, id) = stopped(&sandbox);
    let repository = one.repository(&id);
    sandbox.git(&repository, &["commit", "--quiet", "--all", "--no-edit"]);
    let told = one.fails("UNREADABLE", &[]);
    assert!(told.contains("`tot merge --resolve`"), "{told}");
    // Also if the other side continues with the same node.
    let file = other.repository(&id).join("nodes/R2/R2.A1.yaml");
    edit(&file, "Findings of theirs.", "Findings of theirs, once more.");
    commit_all(&sandbox, &other.repository(&id), "Say more");
    other.synced();
    let told = one.fails("NOT_JOINED", &[]);
    assert!(told.contains("`tot merge --resolve`") && !told.contains("git -C"), "{told}");
    one.ok(&["merge", "--resolve"]);
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn a_rejoin_ends_where_something_was_fetched_and_not_joined() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let begun = one.head(&id);
    let branch = format!("refs/heads/tot/{id}");
    one.grow(&id, &["R2.A1"]);
    one.synced();
    let fetched = one.head(&id);
    let repository = other.repository(&id);
    sandbox.git(&repository, &["fetch", "--quiet"]);
    sandbox.git(&hub, &["update-ref", &branch, &begun]);
    other.fails("REMOTE_REWRITTEN", &[]);
    let entry = other.sync(&["--rejoin"]);
    assert!(entry["error"].is_null(), "{entry:#}");
    let note = entry["notes"].to_string();
    assert!(note.contains("tot-kept/"), "what nobody has joined is kept: {note}");
    let kept = sandbox.git(&repository, &["for-each-ref", "--format=%(objectname)", "refs/heads/tot-kept"]);
    assert!(kept.contains(&fetched), "{kept}");
    assert_settled(&other);
    // The same applies to a branch that was deleted on the remote.
    sandbox.git(&hub, &["update-ref", &branch, &fetched]);
    sandbox.git(&repository, &["fetch", "--quiet"]);
    sandbox.git(&hub, &["update-ref", "-d", &branch]);
    other.fails("REMOTE_REWRITTEN", &[]);
    assert!(other.sync(&["--rejoin"])["error"].is_null());
    assert_settled(&other);
    // Anyone who still has the removed commits brings them back.
    one.fails("REMOTE_REWRITTEN", &[]);
    assert!(one.sync(&["--rejoin"])["error"].is_null());
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
}

#[test]
fn a_branch_that_is_named_after_another_investigation_is_not_taken_for_its_own() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    // Before and after its own branch in any list.
    let strangers = ["00000000-0000-7000-8000-000000000001", "ffffffff-ffff-7fff-bfff-ffffffffffff"];
    for stranger in strangers {
        sandbox
            .git(&one.repository(&id), &["push", "-q", "origin", &format!("HEAD:refs/heads/tot/{stranger}")]);
    }
    for number in 0..4 {
        let machine = Machine::new(&sandbox, &format!("machine{number}"));
        let ran = machine.tot(&["clone", hub.to_str().unwrap()]);
        assert_eq!(ran.status, 1, "{ran:?}");
        for stranger in strangers {
            let words = ran.err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains(&format!("tot/{stranger} contains another investigation, {id}")),
                "{words}"
            );
        }
        let branch = sandbox.git(&machine.repository(&id), &["config", "branch.main.merge"]);
        assert_eq!(branch.trim(), format!("refs/heads/tot/{id}"));
        machine.synced();
    }
    // A clone made this way pushes nowhere until a target is set.
    let repository = one.repository(&id);
    sandbox.git(&repository, &["config", "branch.main.merge", &format!("refs/heads/tot/{}", strangers[0])]);
    one.grow(&id, &["R2.A1"]);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    one.fails("ANOTHER_BRANCH", &["--dry-run"]);
    let told = one.fails("ANOTHER_BRANCH", &[]);
    assert!(told.contains(strangers[0]) && told.contains("tot remote add origin"), "{told}");
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap(), &id]);
    assert_eq!(one.synced()["went"], 2);
    assert_eq!(sandbox.git(&hub, &["rev-parse", &format!("tot/{id}")]).trim(), one.head(&id));
}

#[test]
fn a_permanent_refusal_is_not_taken_for_a_lost_race() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    // A hook's message that resembles one.
    for script in [
        "echo 'You may not update refs here: the ticket already exists, and the old value stays.' >&2; exit 1",
        "echo 'cannot lock ref (fetch first)' >&2; exit 1",
    ] {
        hook(&hub, "pre-receive", &format!("echo tried >> tries\n{script}"));
        let told = one.fails("PUSH_REFUSED", &[]);
        let words = script.split('\'').nth(1).unwrap();
        assert!(told.contains(&format!("remote: {words}")), "{told}");
        let tries = fs::read_to_string(hub.join("tries")).unwrap();
        assert_eq!(tries.lines().count(), 1, "it is not asked again and again");
        fs::remove_file(hub.join("tries")).unwrap();
    }
    fs::remove_file(hub.join("hooks/pre-receive")).unwrap();
    // A lock that is never released, which could be a race.
    let lock = hub.join(format!("refs/heads/tot/{id}.lock"));
    fs::create_dir_all(&lock).unwrap();
    let before = sandbox.git(&hub, &["for-each-ref"]);
    let entry = one.sync(&[]);
    assert_eq!((&entry["error"]["code"], &entry["went"]), (&json!("PUSH_REFUSED"), &json!(0)), "{entry:#}");
    assert!(entry["error"]["message"].as_str().unwrap().contains("lock"), "{entry:#}");
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    fs::remove_dir(&lock).unwrap();
    // A branch whose name conflicts with another is such a case too.
    let started = other.start();
    sandbox.git(&hub, &["update-ref", &format!("refs/heads/tot/{started}/x"), &one.head(&id)]);
    let ran: Ran = other.tot(&["remote", "add", "origin", hub.to_str().unwrap(), &started]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = other.tot(&["sync", &started]);
    assert!(ran.status == 1 && ran.err.contains("did not accept the push"), "{ran:?}");
    sandbox.git(&hub, &["update-ref", "-d", &format!("refs/heads/tot/{started}/x")]);
    assert_eq!(one.synced()["went"], 2);
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{id}")]);
}

#[test]
fn a_file_that_nobody_takes_in_is_not_pushed() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    for (file, reason) in STRANGE {
        make(&repository, file);
        commit_all(&sandbox, &repository, "Add it by hand");
        let told = one.fails("UNFIT", &[]);
        assert!(told.contains(file) && told.contains(reason), "{file}: {told}");
        assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
        // The suggestion works: history is not rewritten.
        sandbox.git(&repository, &["rm", "--quiet", file]);
        sandbox.git(&repository, &["commit", "--quiet", "-m", "Take it out"]);
    }
    one.synced();
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
    other.assert_sound(&id);
}

/// Files that are never checked out, and why.
const STRANGE: [(&str, &str); 3] = [
    ("notes", "a symbolic link"),
    ("large.bin", "17825793 bytes"),
    ("a:b.md", "a name that some systems do not accept"),
];

fn make(repository: &Path, file: &str) {
    match file {
        "notes" => std::os::unix::fs::symlink("/etc", repository.join(file)).unwrap(),
        "large.bin" => fs::write(repository.join(file), vec![0; (17 << 20) + 1]).unwrap(),
        _ => fs::write(repository.join(file), "mine\n").unwrap(),
    }
}

#[test]
fn a_file_that_was_pushed_by_hand_locks_nobody_out() {
    let sandbox = Sandbox::new();
    let (hub, one, behind, id) = team(&sandbox);
    let apart = Machine::new(&sandbox, "apart");
    apart.ok(&["clone", hub.to_str().unwrap()]);
    apart.grow(&id, &["R2.A1"]);
    let repository = one.repository(&id);
    for (file, _) in STRANGE {
        make(&repository, file);
    }
    fs::write(repository.join("mine.md"), "mine\n").unwrap();
    commit_all(&sandbox, &repository, "Add some by hand");
    sandbox.git(&repository, &["push", "--quiet"]);
    let new = Machine::new(&sandbox, "new");
    let cloned = new.ok(&["clone", hub.to_str().unwrap()]);
    let mut said = vec![cloned];
    // In any order: fast-forwarded, merged, and merged by whoever has it.
    for machine in [&behind, &apart] {
        said.push(machine.synced()["notes"].to_string());
    }
    for said in said {
        for (file, reason) in STRANGE {
            assert!(said.contains(file) && said.contains(reason), "{file}: {said}");
        }
    }
    for machine in [&behind, &apart, &new] {
        for (file, _) in STRANGE {
            assert!(!is_in(machine, &id, file), "{file}");
            sandbox.git(&machine.repository(&id), &["cat-file", "-e", &format!("HEAD:{file}")]);
        }
        assert!(is_in(machine, &id, "mine.md"));
        machine.assert_sound(&id);
        let checked = machine.tot_check(&id).out;
        assert_eq!(checked.matches("LEFT_OUT").count(), 3, "{checked}");
    }
    // From a bundle, too.
    let bundle = sandbox.path("it.bundle");
    behind.ok(&["export", &id, "--format", "bundle", "--output", bundle.to_str().unwrap()]);
    let imported = Machine::new(&sandbox, "imported").ok(&["import", bundle.to_str().unwrap()]);
    for (file, _) in STRANGE {
        assert!(imported.contains(file), "{file}: {imported}");
    }
    // Everyone continues; nothing is lost or reported as new.
    for (number, machine) in [&one, &behind, &apart, &new].into_iter().enumerate() {
        machine.synced();
        machine.grow(&id, &[&format!("R2.A5{number}")]);
        let entry = machine.synced();
        assert!(!entry["notes"].to_string().contains("large.bin"), "{entry:#}");
        assert!(sandbox.git(&machine.repository(&id), &["ls-tree", "HEAD", "notes"]).starts_with("120000"));
        machine.assert_sound(&id);
    }
    // Corrections arrive, and removals are applied.
    one.synced();
    sandbox.git(&repository, &["rm", "--quiet", "notes", "a:b.md"]);
    fs::write(repository.join("large.bin"), "small\n").unwrap();
    commit_all(&sandbox, &repository, "Put it right");
    one.synced();
    apart.grow(&id, &["R2.A7"]);
    for machine in [&behind, &apart, &new] {
        machine.synced();
        assert_eq!(fs::read_to_string(machine.repository(&id).join("large.bin")).unwrap(), "small\n");
        machine.assert_sound(&id);
    }
}
