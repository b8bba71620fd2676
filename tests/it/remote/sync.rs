//! `tot sync`: each guarantee by its name, over paths and over ssh.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::{fs, thread};

use serde_json::json;
use tree_of_thoughts::store::MERGE_DRIVER;

use super::{Machine, assert_says, bare, branch, hub, settle, team, token, two};
use crate::support::memory::Memory;
use crate::support::{Said, Sandbox, TOT};

#[test]
fn behind_goes_forward_ahead_is_pushed_and_apart_is_joined() {
    let (hub, one, other, id) = team(&Sandbox::new());
    assert_eq!(hub.refs(), [branch(&id)]);
    one.grow(&id, &["R2.A1"]);
    assert_eq!(one.exchanged(), [0, 2]);
    assert_eq!(other.exchanged(), [2, 0]);
    let acknowledged = one.head(&id);
    // Both use an id: neither node is dropped, and no conflict marker is committed.
    one.grow(&id, &["R2.A2"]);
    other.grow(&id, &["R2.A2", "R2.A3"]);
    one.synced();
    let entry = other.synced();
    assert_eq!((&entry["came"], &entry["went"]), (&json!(2), &json!(3)), "{entry:#}");
    assert_eq!(entry["merge"], other.head(&id));
    assert_eq!(entry["decisions"].as_array().unwrap().len(), 1, "{entry:#}");
    settle(&[&one, &other], &id);
    assert_eq!(one.nodes(&id).len(), 5, "R1.A, A1, A2 twice and A3: {:?}", one.nodes(&id));
    one.assert_has(&id, &[acknowledged]);
    let grep = ["grep", "-q", "-E", "^(<<<<<<<|=======|>>>>>>>)", "HEAD"];
    assert_eq!(one.sandbox.try_git(&one.repository(&id), &grep).status.code(), Some(1));
}

#[test]
fn a_plain_git_pull_and_push_in_the_folder_do_the_right_thing() {
    let (hub, one, other, id) = team(&Sandbox::new());
    one.grow(&id, &["R2.A1"]);
    one.git(&id, &["tag", "ended/7"]);
    one.git(&id, &["push", "-q"]);
    assert_eq!(hub.refs(), [branch(&id), format!("refs/tags/tot/{id}/ended/7")]);
    other.git(&id, &["pull", "-q"]);
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(other.synced()["tagsCame"], json!(["ended/7"]), "a plain pull fetches none");
    let status = other.git(&id, &["status", "-sb"]);
    assert!(status.starts_with("## main...origin/main") && status.lines().count() == 1, "{status}");
    // Work on both sides is merged, also for a user who usually rebases.
    for rebases in ["false", "true"] {
        one.sandbox.configure("pull.rebase", rebases);
        one.grow(&id, &[&format!("R2.Aone{rebases}")]);
        one.git(&id, &["push", "-q"]);
        other.grow(&id, &[&format!("R2.Aother{rebases}")]);
        let acknowledged = other.head(&id);
        other.git(&id, &["pull", "-q", "--no-edit"]);
        other.assert_has(&id, &[acknowledged]);
        settle(&[&one, &other], &id);
    }
    // Also if the remote is added manually later.
    let alone = Machine::new(&one.sandbox, "alone");
    let id = alone.start();
    // And in a clone made with plain git, from the first call on.
    let plain = Machine::new(&one.sandbox, "plain");
    fs::create_dir(&plain.root).unwrap();
    one.sandbox.git(&plain.root, &["clone", "--quiet", alone.repository(&id).to_str().unwrap()]);
    plain.git(&id, &["config", "merge.tot.name", "mine"]);
    plain.grow(&id, &["R2.A1"]);
    for (machine, name) in [(&alone, "merge by node"), (&plain, "mine")] {
        let [rebase, options, driver] = ["pull.rebase", "branch.main.mergeOptions", "merge.tot.driver"]
            .map(|setting| machine.git(&id, &["config", "--local", setting]));
        assert_eq!([&*rebase, &options, &driver], ["false", "-Xfind-renames=100%", MERGE_DRIVER]);
        assert_eq!(machine.git(&id, &["config", "--local", "merge.tot.name"]), name);
    }
}

#[test]
fn tags_do_not_meet_in_a_hub_and_are_as_they_were_in_a_repository_of_its_own() {
    let sandbox = Sandbox::new();
    let (hub, own) = (hub(&sandbox), bare(&sandbox, "own.git"));
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let [first, second, alone] = [one.start(), one.start(), one.start()];
    for id in [&first, &second, &alone] {
        one.git(id, &["tag", "ended/1"]);
    }
    // The prefix in a hub can be chosen.
    one.ok(&["remote", "add", "origin", &hub.address, "-i", &first, "-i", &second, "--prefix", "team/tot"]);
    one.ok(&["remote", "add", "origin", &own.address, "-i", &alone, "--own"]);
    assert_eq!(one.sync(&["-i", &alone])["tagsWent"], json!(["ended/1"]));
    one.ok(&["sync"]);
    let branches = [&first, &second].map(|id| format!("refs/heads/team/tot/{id}"));
    let tags = [&first, &second].map(|id| format!("refs/tags/team/tot/{id}/ended/1"));
    assert_eq!(hub.refs(), [branches, tags].concat());
    assert_eq!(own.refs(), ["refs/heads/main", "refs/tags/ended/1"]);
    other.ok(&["clone", &hub.address, "-i", &second[20..]]);
    assert_eq!(other.git(&second, &["tag"]), "ended/1");
    assert!(!other.repository(&first).exists());
    other.ok(&["clone", &own.address]);
    other.grow(&alone, &["R2.A1"]);
    other.git(&alone, &["push", "-q"]);
    assert_eq!(one.sync(&["-i", &alone])["came"], 2);
}

#[test]
fn a_remote_that_was_rewritten_moves_nothing_until_it_is_rejoined() {
    // Rewound, with another commit on top; and squashed by a forge, with the files but not the commits.
    for files in ["~2", ""] {
        let (hub, one, other, id) = team(&Sandbox::new());
        one.grow(&id, &["R2.A1"]);
        one.synced();
        other.synced();
        let seen = one.head(&id);
        let tree = format!("{seen}{files}^{{tree}}");
        let rewritten = hub.git(&["commit-tree", &tree, "-p", &format!("{seen}~2"), "-m", "Another story"]);
        hub.set_head(&id, &rewritten);
        other.grow(&id, &["R2.A2"]);
        let ours = other.head(&id);
        for _ in 0..2 {
            let parts =
                ["2 commits", "Commit R2.A1 EXPLORE", "Nothing changed here", "tot-kept/", "--rejoin"];
            other.fails("REMOTE_REWRITTEN", &parts);
            assert_eq!(other.head(&id), ours);
            assert_eq!(other.git(&id, &["rev-parse", "origin/main"]), seen);
            assert_eq!(other.git(&id, &["rev-parse", "--branches=tot-kept"]), rewritten);
            assert_eq!(hub.head(&id), rewritten);
        }
        other.synced_with(&["--rejoin"]);
        other.assert_has(&id, &[seen, rewritten, ours]);
        assert_eq!(hub.head(&id), other.head(&id));
        // The commits that the other machine last saw are back.
        settle(&[&one, &other], &id);
        assert_eq!(one.nodes(&id), ["R1.A", "R2.A1", "R2.A2"]);
    }
}

#[test]
fn a_rejoin_ends_where_something_was_fetched_and_not_joined_or_the_branch_was_deleted() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let begun = one.head(&id);
    one.grow(&id, &["R2.A1"]);
    one.synced();
    let fetched = one.head(&id);
    other.git(&id, &["fetch", "--quiet"]);
    hub.set_head(&id, &begun);
    other.fails("REMOTE_REWRITTEN", &[]);
    let note = other.synced_with(&["--rejoin"])["notes"].to_string();
    assert!(note.contains("tot-kept/"), "what nobody has joined is kept: {note}");
    let kept = other.git(&id, &["rev-parse", "--branches=tot-kept"]);
    assert!(kept.contains(&fetched), "{kept}");
    assert_eq!(other.exchanged(), [0, 0]);
    // A branch that was deleted on the remote comes back only this way.
    hub.set_head(&id, &fetched);
    other.git(&id, &["fetch", "--quiet"]);
    hub.git(&["update-ref", "-d", &branch(&id)]);
    other.fails("REMOTE_REWRITTEN", &["no longer exists"]);
    assert_eq!(hub.head(&id), "");
    other.synced_with(&["--rejoin"]);
    assert_eq!(hub.head(&id), other.head(&id));
    // Anyone who still has the removed commits brings them back.
    one.fails("REMOTE_REWRITTEN", &[]);
    one.synced_with(&["--rejoin"]);
    settle(&[&one, &other], &id);
    one.assert_has(&id, &[fetched]);
}

#[test]
fn unrelated_histories_of_the_same_session_id_are_refused() {
    let (hub, _, other, id) = team(&Sandbox::new());
    let anew = other.git(&id, &["commit-tree", "HEAD^{tree}", "-m", "Begun anew"]);
    other.git(&id, &["reset", "-q", &anew]);
    let before = hub.state();
    other.fails("NOT_JOINED", &["no commit in common", "import one of them"]);
    assert_eq!((other.head(&id), hub.state()), (anew, before));
}

#[test]
fn a_refusal_is_told_in_the_remotes_words_and_not_taken_for_a_lost_race() {
    let (hub, one, other, id) = team(&Sandbox::new());
    one.grow(&id, &["R2.A1"]);
    one.git(&id, &["tag", "ended/1"]);
    let before = hub.state();
    for words in [
        "The branch is protected: ask Ada.",
        // These resemble a race.
        "You may not update refs here: the ticket already exists, and the old value stays.",
        "cannot lock ref (fetch first)",
    ] {
        let hook = hub.hook(&format!("echo tried >> tries\necho '{words}' >&2\nexit 1"));
        one.fails("PUSH_REFUSED", &[&format!("remote: {words}")]);
        let tries = hub.path.join("tries");
        assert_eq!(fs::read_to_string(&tries).unwrap(), "tried\n", "it is not asked again and again");
        assert_eq!(hub.state(), before, "no tag without its commit");
        fs::remove_file(tries).unwrap();
        fs::remove_file(hook).unwrap();
    }
    // A lock that is never released, which could be a race. Git itself exits with 0 for a push without refs.
    let lock = hub.path.join(format!("{}.lock", branch(&id)));
    fs::create_dir_all(&lock).unwrap();
    let entry = one.sync(&[]);
    assert_eq!((&entry["error"]["code"], &entry["went"]), (&json!("PUSH_REFUSED"), &json!(0)), "{entry:#}");
    assert!(entry["error"]["message"].as_str().unwrap().contains("lock"), "{entry:#}");
    assert_eq!(hub.state(), before);
    fs::remove_dir(&lock).unwrap();
    // A branch whose name conflicts with another is such a case too.
    let started = other.start();
    let in_the_way = format!("{}/x", branch(&started));
    hub.git(&["update-ref", &in_the_way, &one.head(&id)]);
    other.ok(&["remote", "add", "origin", &hub.address, "-i", &started]);
    other.refuses(&["sync", "-i", &started], &["did not accept the push"]);
    hub.git(&["update-ref", "-d", &in_the_way]);
    let entry = one.synced();
    assert_eq!((&entry["went"], &entry["tagsWent"]), (&json!(2), &json!(["ended/1"])), "{entry:#}");
    other.ok(&["sync"]);
    assert_eq!(other.git(&id, &["tag"]), "ended/1");
}

#[test]
fn a_secret_is_not_pushed_and_named_by_node_and_line() {
    let (hub, one, _, id) = team(&Sandbox::new());
    let before = hub.state();
    let node = "nodes/R1/R1.A.yaml";
    one.edit(&id, node, "Findings of R1.A.", &token());
    one.commit_all(&id);
    one.fails("SECRET_SUSPECTED", &["a GitHub token", "R1.A, nodes/R1/R1.A-", "--allow-secrets"]);
    // After its removal, it is still in the history.
    one.edit(&id, node, &token(), "it");
    one.commit_all(&id);
    one.fails("SECRET_SUSPECTED", &[]);
    assert_eq!(hub.state(), before);
    one.synced_with(&["--allow-secrets"]);
    // A secret that is already there is not reported again.
    one.grow(&id, &["R2.A2"]);
    one.synced();
}

#[test]
fn no_message_and_no_tag_takes_a_secret_along() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let git = |arguments: &[&str]| one.git(&id, arguments);
    let message = format!("Try it\n\nwith {}", token());
    let before = hub.state();
    git(&["commit", "-q", "--allow-empty", "-m", &message]);
    let commit = format!("the message of commit {:.10}, line 3", one.head(&id));
    one.fails("SECRET_SUSPECTED", &[&commit]);
    assert_eq!(hub.state(), before);
    // In the message of a tag that another one names. A file outside the commits, and a commit that the branch has left
    // behind, are not sent at all.
    git(&["tag", "left"]);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    git(&["tag", "-a", "inner", "-m", &message]);
    git(&["tag", "-a", "outer", "-m", "Harmless", "inner"]);
    git(&["tag", "-d", "inner"]);
    one.write(&id, ".git/secret", &token());
    git(&["tag", "blob", &git(&["hash-object", "-w", ".git/secret"])]);
    let dry = one.sync(&["--dry-run"])["notes"].to_string();
    assert_says(&dry, &["the tag outer seems to contain a GitHub token", "the tag left is not sent"]);
    // Everything else is pushed.
    git(&["tag", "noted"]);
    one.grow(&id, &["R2.A1"]);
    let parts = ["the tag outer seems", "the tag inner, line 3", "`git tag -d outer`", "--allow-secrets"];
    one.fails("SECRET_SUSPECTED", &parts);
    git(&["tag", "-d", "outer"]);
    assert_says(&one.synced()["notes"].to_string(), &["the tag blob is not", "the tag left is not"]);
    assert_eq!(hub.refs(), [branch(&id), format!("refs/tags/tot/{id}/noted")]);
    assert_eq!(other.synced()["tagsCame"], json!(["noted"]));
}

#[test]
fn eight_who_push_at_once_while_their_servers_write_all_get_through() {
    let (hub, one, other, id) = team(&Sandbox::new());
    let names: Vec<String> = (0..6).map(|number| format!("machine{number}")).collect();
    let others: Vec<Machine> = names.iter().map(|name| Machine::new(&one.sandbox, name)).collect();
    for machine in &others {
        machine.ok(&["clone", &hub.address]);
    }
    let machines: Vec<&Machine> = [&one, &other].into_iter().chain(&others).collect();
    for (number, machine) in machines.iter().enumerate() {
        machine.grow(&id, &[&format!("R2.A{number}")]);
    }
    thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            let id = &id;
            scope.spawn(|| machine.synced());
            scope.spawn(move || machine.grow(id, &[&format!("R2.Ax{number}")]));
        }
    });
    settle(&machines, &id);
    assert_eq!(one.nodes(&id).len(), 17);
    assert_eq!(hub.head(&id), one.head(&id));
}

#[test]
fn files_of_strangers_are_not_swept_up() {
    let (hub, one, other, id) = team(&Sandbox::new());
    one.write(&id, "draft.md", "mine\n");
    one.write(&id, "staged.md", "mine\n");
    one.git(&id, &["add", "staged.md"]);
    let status = one.git(&id, &["status", "--porcelain"]);
    other.grow(&id, &["R2.A1"]);
    other.synced();
    one.grow(&id, &["R2.A2"]);
    assert!(one.synced()["merge"].is_string());
    assert_eq!(one.git(&id, &["status", "--porcelain"]), status);
    let there = hub.git(&["ls-tree", "-r", "--name-only", &branch(&id)]);
    assert!(!there.contains("draft.md") && !there.contains("staged.md"), "{there}");
}

/// User settings for plain fetches and pushes that would cost commits here or need a key.
#[test]
fn settings_that_prune_force_sign_or_push_more_change_nothing() {
    let sandbox = Sandbox::new();
    let settings = [
        ("fetch.prune", "true"),
        ("fetch.pruneTags", "true"),
        ("push.followTags", "true"),
        ("push.default", "matching"),
        ("fetch.parallel", "0"),
        ("core.fsmonitor", "/nowhere/monitor"),
        ("pull.rebase", "true"),
        ("merge.ff", "only"),
        ("commit.gpgSign", "true"),
        ("tag.gpgSign", "true"),
        ("push.gpgSign", "true"),
        ("gpg.program", "/nowhere/gpg"),
    ];
    for (key, value) in settings {
        sandbox.configure(key, value);
    }
    let (hub, one, other, id) = team(&sandbox);
    one.git(&id, &["branch", "experiment"]);
    one.git(&id, &["tag", "--no-sign", "mine"]);
    let refspec = "+refs/heads/*:refs/remotes/origin/*";
    one.git(&id, &["config", "--replace-all", "remote.origin.fetch", refspec]);
    one.grow(&id, &["R2.A1"]);
    other.grow(&id, &["R2.A2"]);
    settle(&[&one, &other], &id);
    assert_eq!(one.git(&id, &["tag"]), "mine");
    assert_eq!(hub.refs(), [branch(&id), format!("refs/tags/tot/{id}/mine")]);
}

#[test]
fn no_prune_deletes_a_sign_off_that_was_not_sent_yet() {
    let (_, one, _, id) = team(&Sandbox::new());
    let prune = |tags: &str| {
        for command in [
            "fetch -q --prune",
            "fetch -q --prune --tags",
            "fetch -q --prune --prune-tags",
            "-c fetch.prune=true -c fetch.pruneTags=true pull -q",
            "-c remote.origin.prune=true -c remote.origin.pruneTags=true fetch -q",
            "remote prune origin",
            "remote update --prune",
        ] {
            one.git(&id, &command.split(' ').collect::<Vec<_>>());
            assert_eq!(one.git(&id, &["tag"]), tags, "{command}");
        }
    };
    let signed = one.json(&["approve", "--unsigned", "-m", "Read"])["tag"].as_str().unwrap().to_owned();
    prune(&signed);
    assert_eq!(one.synced()["tagsWent"], json!([signed]));
    one.git(&id, &["tag", "ended/1"]);
    prune(&format!("{signed}\nended/1"));
    // A remote that the user adds is configured otherwise.
    one.git(&id, &["remote", "add", "mine", one.repository(&id).to_str().unwrap()]);
    one.git(&id, &["-c", "fetch.prune=true", "fetch", "-q", "mine"]);
    assert_eq!(one.git(&id, &["config", "--local", "fetch.pruneTags"]), "false");
}

#[test]
fn only_its_own_branch_is_sent() {
    let (hub, one, _, id) = team(&Sandbox::new());
    let before = hub.state();
    let settings = || {
        let all = one.git(&id, &["config", "--local", "--get-regexp", r"^remote\.|^branch\.main\."]);
        all.lines().map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let configured = settings();
    for (number, switch) in ["-c one", "-c two --track origin/main", "-c three"].into_iter().enumerate() {
        one.git(&id, &[&["switch", "-q"], &switch.split(' ').collect::<Vec<_>>()[..]].concat());
        one.grow(&id, &[&format!("R2.A{number}")]);
        one.git(&id, &["tag", &format!("wip/{number}")]);
        let name = one.git(&id, &["branch", "--show-current"]);
        let parts = ["its own branch is main", "`git switch main`", &format!("`git merge {name}`")];
        one.fails("NOT_OWN_BRANCH", &parts);
        one.refuses(&["sync", "--dry-run"], &["which is not synced"]);
        one.ok(&["remote", "add", "origin", &hub.address]);
        assert_eq!((hub.state(), settings()), (before.clone(), configured.clone()), "{switch}");
        one.git(&id, &["switch", "-q", "main"]);
        // New investigations get the remote too, and so does one that has none.
        one.sandbox.configure("tot.remote", &hub.address);
    }
    // Neither does a tag take their commits along.
    let notes = one.synced()["notes"].to_string();
    assert_says(&notes, &["wip/0 is not sent: its commit is not on main", "wip/1", "wip/2"]);
    assert_eq!(hub.state(), before);
    one.git(&id, &["merge", "-q", "one"]);
    assert_eq!(one.synced()["tagsWent"], json!(["wip/0"]));
    // A detached HEAD is on no branch.
    one.git(&id, &["switch", "-q", "--detach", "main~1"]);
    one.fails("DETACHED_HEAD", &["`git switch main`"]);
    // The branch may have another name, if it is the only one that could be meant.
    one.git(&id, &["switch", "-q", "main"]);
    one.git(&id, &["branch", "-q", "-m", "trunk"]);
    one.fails("NOT_OWN_BRANCH", &["`git branch -m main`"]);
    one.git(&id, &["branch", "-q", "--unset-upstream", "two"]);
    one.synced();
}

#[test]
fn files_from_others_start_no_program() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    let mark = sandbox.path("mark");
    let touch = format!("touch {}", mark.display());
    sandbox.configure("filter.lfs.clean", "cat");
    sandbox.configure("filter.lfs.smudge", &format!("{touch}; cat"));
    sandbox.configure("filter.lfs.required", "true");
    sandbox.script(&format!("{}/.hooks/pre-push", one.repository(&id).display()), &touch);
    one.write(&id, ".gitattributes", "* filter=lfs\n");
    one.commit_all(&id);
    one.synced();
    sandbox.configure("core.hooksPath", ".hooks");
    let [cloned, imported] = ["cloned", "imported"].map(|name| Machine::new(&sandbox, name));
    cloned.ok(&["clone", &hub.address]);
    assert!(!mark.exists(), "the filter ran");
    let bundle = sandbox.path("it.bundle");
    one.ok(&["export", "-i", &id, "--format", "bundle", "--output", bundle.to_str().unwrap()]);
    imported.ok(&["import", bundle.to_str().unwrap()]);
    cloned.grow(&id, &["R2.A1"]);
    cloned.synced();
    cloned.ok(&["approve", "--unsigned", "-m", "Read"]);
    assert!(!mark.exists(), "a filter or a hook ran");
    // A hook from a folder that the user has chosen does run. One of the repository is named.
    sandbox.configure("core.hooksPath", one.repository(&id).join(".hooks").to_str().unwrap());
    cloned.synced();
    assert!(mark.exists());
    sandbox.git(&cloned.root, &["config", "--global", "--unset", "core.hooksPath"]);
    sandbox.script(&format!("{}/.git/hooks/pre-push", cloned.repository(&id).display()), "exit 0");
    cloned.grow(&id, &["R2.A2"]);
    cloned.fails("REMOTE_FAILED", &[".git/hooks/pre-push", "core.hooksPath FOLDER"]);
}

#[test]
fn a_team_shares_by_ssh() {
    let hub = hub(&Sandbox::new());
    // Acts like sshd: the last argument is the command.
    let script = format!("for last; do :; done\necho \"$*\" >> {}.log\nexec sh -c \"$last\"", hub.address);
    hub.sandbox.configure("core.sshCommand", hub.sandbox.script("ssh.sh", &script).to_str().unwrap());
    let (one, other, id) = two(&hub.sandbox, &format!("git@team.example:{}", hub.address));
    one.grow(&id, &["R2.A1"]);
    other.grow(&id, &["R2.A2"]);
    settle(&[&one, &other], &id);
    let log = fs::read_to_string(hub.sandbox.path("hub.git.log")).unwrap();
    let is_users = log.contains("git@team.example") && !log.contains("BatchMode");
    assert!(is_users, "the user's own command stays: {log}");
}

#[test]
fn thousands_of_hollow_files_fill_no_machine_that_syncs() {
    let (hub, one, other, id) = team(&Sandbox::new());
    // One object of zeros under many names: a few KB in the hub, and 16 MiB each in a work tree.
    let zeros = one.sandbox.path("zeros");
    fs::File::create(&zeros).unwrap().set_len(16 << 20).unwrap();
    let blob = one.git(&id, &["hash-object", "-w", zeros.to_str().unwrap()]);
    let (before, plain) = (one.head(&id), one.git(&id, &["ls-tree", "HEAD"]));
    let tree = |entries: String| {
        let list = one.sandbox.path("list");
        fs::write(&list, entries).unwrap();
        let mut git = one.sandbox.command("git");
        git.arg("-C").arg(one.repository(&id)).arg("mktree").stdin(fs::File::open(&list).unwrap());
        Said::from(git.output().unwrap()).out.trim().to_owned()
    };
    // Past the work tree and our guard, with git alone.
    let push = |tree: &str, parent: &str| {
        let made = one.git(&id, &["commit-tree", tree, "-p", parent, "-m", "By hand"]);
        one.git(&id, &["push", "-q", "origin", &format!("{made}:{}", branch(&id))]);
        made
    };
    let plots = tree((0..2_000).map(|at| format!("100644 blob {blob}\tzeros{at}\n")).collect());
    let filled = push(&tree(format!("{plain}\n040000 tree {plots}\tplots\n")), &before);
    other.fails("NOT_JOINED", &["the limit is", "git ls-tree"]);
    assert_eq!(other.head(&id), before);
    // The same if both sides continued, and for a new clone.
    other.grow(&id, &["R2.A1"]);
    other.fails("NOT_JOINED", &["the limit is"]);
    let third = Machine::new(&one.sandbox, "third");
    third.refuses(&["clone", &hub.address], &["the limit is"]);
    assert!(!third.repository(&id).exists());
    // It does not lock anyone out permanently.
    push(&tree(plain.clone()), &filled);
    assert!(other.synced()["merge"].is_string());
    third.ok(&["clone", &hub.address]);
    third.assert_sound(&id);
}

#[cfg(target_os = "linux")]
#[test]
fn the_guard_does_not_hold_all_that_is_pushed_at_once() {
    let (_, one, _, id) = team(&Sandbox::new());
    fs::create_dir(one.repository(&id).join("traces")).unwrap();
    for number in 0..32 {
        one.write(&id, &format!("traces/{number}.txt"), &format!("{number}\n{}", " ".repeat(4 << 20)));
    }
    // The last of all, and in many files: the first ones are named.
    for number in 0..15 {
        one.write(&id, &format!("traces/z{number:02}.env"), &format!("{number}={}\n", token()));
    }
    one.commit_all(&id);
    let mut command = one.sandbox.command(TOT);
    command.args(["sync", "--root"]).arg(&one.root).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = Memory::of(child.id()).peak.max(peak);
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = Said::from(child.wait_with_output().unwrap()).err;
    assert_eq!(said.matches("traces/z").count(), 10, "{said}");
    assert!(said.contains("traces/z00.env:1") && said.contains("traces/z09.env:1"), "{said}");
    // 128 MiB of text. About 8 MiB are in memory at a time, in two copies, in addition to the program's own memory.
    assert!(peak > 0 && peak < 112 << 10, "{peak} KiB");
}
