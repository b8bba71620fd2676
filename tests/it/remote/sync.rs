//! `tot sync`: each guarantee by its name, over paths and over ssh.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{fs, thread};

use serde_json::{Value, json};

use super::stuck::commit_all;
use super::{Machine, Ran, hub, refs, team, two};
use crate::support::memory::Memory;
use crate::support::{Sandbox, TOT};

/// Installs a hook in the hub.
pub(super) fn hook(hub: &Path, name: &str, script: &str) {
    let path = hub.join("hooks").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Returns what a machine reports about syncs that have nothing to do.
pub(super) fn assert_settled(machine: &Machine) {
    let entry = machine.synced();
    for nothing in ["came", "went"] {
        assert_eq!(entry[nothing], 0, "{entry:#}");
    }
}

#[test]
fn behind_goes_forward_ahead_is_pushed_and_apart_is_joined() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{id}")]);
    one.grow(&id, &["R2.A1"]);
    let entry = one.synced();
    assert_eq!((&entry["came"], &entry["went"]), (&json!(0), &json!(2)), "{entry:#}");
    let entry = other.synced();
    assert_eq!((&entry["came"], &entry["went"]), (&json!(2), &json!(0)), "{entry:#}");
    let acknowledged = [one.head(&id), other.head(&id)];
    one.grow(&id, &["R2.A2"]);
    other.grow(&id, &["R2.A3"]);
    one.synced();
    let entry = other.synced();
    assert_eq!((&entry["came"], &entry["went"]), (&json!(2), &json!(3)), "{entry:#}");
    assert_eq!(entry["merge"], other.head(&id).as_str());
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(one.nodes(&id), ["R1.A", "R2.A1", "R2.A2", "R2.A3"]);
    for commit in acknowledged {
        sandbox.git(&one.repository(&id), &["merge-base", "--is-ancestor", &commit, "HEAD"]);
    }
    for machine in [&one, &other] {
        machine.assert_sound(&id);
        assert_settled(machine);
    }
}

#[test]
fn a_plain_git_pull_and_push_in_the_folder_do_the_right_thing() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    let (here, there) = (one.repository(&id), other.repository(&id));
    sandbox.git(&here, &["tag", "ended/7"]);
    sandbox.git(&here, &["push", "-q"]);
    assert_eq!(refs(&sandbox, &hub), [format!("refs/heads/tot/{id}"), format!("refs/tags/tot/{id}/ended/7")]);
    sandbox.git(&there, &["pull", "-q"]);
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(refs(&sandbox, &there).last().unwrap(), "refs/tags/ended/7");
    let status = sandbox.git(&there, &["status", "-sb"]);
    assert!(status.starts_with("## main...origin/main") && status.lines().count() == 1, "{status}");
    assert_settled(&one);
    assert_settled(&other);
}

#[test]
fn a_repository_of_its_own_has_the_branch_main_and_the_tags_as_they_are() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let (one, other) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
    let id = one.start();
    sandbox.git(&one.repository(&id), &["tag", "ended/1"]);
    one.ok(&["remote", "add", "origin", hub.to_str().unwrap(), &id, "--own"]);
    assert_eq!(one.synced()["tagsWent"], json!(["ended/1"]));
    assert_eq!(refs(&sandbox, &hub), ["refs/heads/main", "refs/tags/ended/1"]);
    other.ok(&["clone", hub.to_str().unwrap()]);
    assert_eq!(one.head(&id), other.head(&id));
    other.grow(&id, &["R2.A1"]);
    sandbox.git(&other.repository(&id), &["push", "-q"]);
    assert_eq!(one.synced()["came"], 2);
    assert_settled(&other);
}

#[test]
fn tags_of_two_investigations_do_not_meet_in_a_hub_and_the_prefix_can_be_chosen() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    let machine = Machine::new(&sandbox, "one");
    let ids = [machine.start(), machine.start()];
    machine.ok(&["remote", "add", "origin", hub.to_str().unwrap(), "--prefix", "team/tot"]);
    for id in &ids {
        sandbox.git(&machine.repository(id), &["tag", "ended/1"]);
    }
    machine.ok(&["sync"]);
    let [first, second] = &ids;
    let expected = [
        format!("refs/heads/team/tot/{first}"),
        format!("refs/heads/team/tot/{second}"),
        format!("refs/tags/team/tot/{first}/ended/1"),
        format!("refs/tags/team/tot/{second}/ended/1"),
    ];
    assert_eq!(refs(&sandbox, &hub), expected);
    let other = Machine::new(&sandbox, "other");
    other.ok(&["clone", hub.to_str().unwrap(), &second[20..]]);
    assert_eq!(sandbox.git(&other.repository(second), &["tag"]), "ended/1\n");
    assert!(!other.repository(first).exists());
}

#[test]
fn a_remote_that_was_rewritten_moves_nothing_until_it_is_rejoined() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    one.synced();
    other.synced();
    let seen = one.head(&id);
    // Rewound, with other commits on top.
    let branch = format!("refs/heads/tot/{id}");
    let stranger = sandbox.path("stranger");
    sandbox.git(
        &sandbox.path("home"),
        &["clone", "-q", "-b", &format!("tot/{id}"), hub.to_str().unwrap(), stranger.to_str().unwrap()],
    );
    sandbox.git(&stranger, &["reset", "-q", "--hard", "HEAD~2"]);
    fs::write(stranger.join("notes.md"), "mine\n").unwrap();
    sandbox.git(&stranger, &["add", "notes.md"]);
    sandbox.git(&stranger, &["commit", "-q", "-m", "Another story"]);
    sandbox.git(&stranger, &["push", "-q", "-f"]);
    let rewritten = sandbox.head(&stranger);
    other.grow(&id, &["R2.A2"]);
    let ours = other.head(&id);
    let repository = other.repository(&id);
    for _ in 0..2 {
        let told = other.fails("REMOTE_REWRITTEN", &[]);
        for part in ["2 commits", "Commit R2.A1 EXPLORE", "Nothing changed here", "tot-kept/", "--rejoin"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert_eq!(other.head(&id), ours);
        assert_eq!(sandbox.git(&repository, &["rev-parse", "origin/main"]).trim(), seen);
        let kept =
            sandbox.git(&repository, &["for-each-ref", "--format=%(objectname)", "refs/heads/tot-kept"]);
        assert_eq!(kept.trim(), rewritten);
        assert_eq!(sandbox.git(&hub, &["rev-parse", &branch]).trim(), rewritten);
    }
    let entry = other.sync(&["--rejoin"]);
    assert!(entry["error"].is_null(), "{entry:#}");
    for commit in [&seen, &rewritten, &ours] {
        sandbox.git(&repository, &["merge-base", "--is-ancestor", commit, "HEAD"]);
    }
    assert_eq!(sandbox.git(&hub, &["rev-parse", &branch]).trim(), other.head(&id));
    assert_eq!(other.nodes(&id), ["R1.A", "R2.A1", "R2.A2"]);
    assert_settled(&other);
    // The commits that the other machine last saw are back.
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    one.assert_sound(&id);
}

#[test]
fn a_branch_that_was_deleted_there_comes_back_only_by_rejoin() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    sandbox.git(&hub, &["update-ref", "-d", &format!("refs/heads/tot/{id}")]);
    let told = one.fails("REMOTE_REWRITTEN", &[]);
    assert!(told.contains("no longer exists"), "{told}");
    assert_eq!(refs(&sandbox, &hub), [""; 0]);
    assert!(one.sync(&["--rejoin"])["error"].is_null());
    assert_eq!(sandbox.git(&hub, &["rev-parse", &format!("tot/{id}")]).trim(), one.head(&id));
}

#[test]
fn squashed_by_a_forge_is_rejoined_without_losing_or_doubling_a_node() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    one.grow(&id, &["R2.A2"]);
    one.synced();
    other.synced();
    // The files exist, but not the commits.
    let branch = format!("refs/heads/tot/{id}");
    let tip = one.head(&id);
    let base = sandbox.git(&hub, &["rev-parse", &format!("{tip}~4")]);
    let squashed =
        sandbox.git(&hub, &["commit-tree", &format!("{tip}^{{tree}}"), "-p", base.trim(), "-m", "Squashed"]);
    sandbox.git(&hub, &["update-ref", &branch, squashed.trim()]);
    one.grow(&id, &["R2.A3"]);
    one.fails("REMOTE_REWRITTEN", &[]);
    let entry = one.sync(&["--rejoin"]);
    assert!(entry["error"].is_null(), "{entry:#}");
    other.synced();
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(other.nodes(&id), ["R1.A", "R2.A1", "R2.A2", "R2.A3"]);
    sandbox.git(&other.repository(&id), &["merge-base", "--is-ancestor", &tip, "HEAD"]);
    other.assert_sound(&id);
}

#[test]
fn unrelated_histories_of_the_same_session_id_are_refused() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    // The same files in a new repository.
    let alien = Machine::new(&sandbox, "alien");
    let repository = alien.repository(&id);
    fs::create_dir_all(&alien.root).unwrap();
    sandbox.git(
        &alien.root,
        &["clone", "-q", one.repository(&id).to_str().unwrap(), repository.to_str().unwrap()],
    );
    sandbox.git(&repository, &["checkout", "-q", "--orphan", "new"]);
    sandbox.git(&repository, &["commit", "-q", "-m", "Begun anew"]);
    sandbox.git(&repository, &["branch", "-q", "-M", "new", "main"]);
    sandbox.git(&repository, &["remote", "remove", "origin"]);
    alien.ok(&["remote", "add", "origin", hub.to_str().unwrap()]);
    let before = (alien.head(&id), sandbox.git(&hub, &["for-each-ref"]));
    let told = alien.fails("NOT_JOINED", &[]);
    assert!(told.contains("no commit in common") && told.contains("import one of them"), "{told}");
    assert_eq!(before, (alien.head(&id), sandbox.git(&hub, &["for-each-ref"])));
}

#[test]
fn refused_by_a_hook_is_told_in_its_words_and_nothing_is_half_done() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    hook(&hub, "pre-receive", "echo 'The branch is protected: ask Ada.' >&2; exit 1");
    one.grow(&id, &["R2.A1"]);
    sandbox.git(&one.repository(&id), &["tag", "ended/1"]);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    let told = one.fails("PUSH_REFUSED", &[]);
    assert!(told.contains("remote: The branch is protected: ask Ada."), "{told}");
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before, "no tag without its commit");
    // Local work continues, and others' work still arrives.
    one.grow(&id, &["R2.A2"]);
    fs::remove_file(hub.join("hooks/pre-receive")).unwrap();
    let entry = one.synced();
    assert_eq!((&entry["went"], &entry["tagsWent"]), (&json!(4), &json!(["ended/1"])), "{entry:#}");
    assert_eq!(other.synced()["tagsCame"], json!(["ended/1"]));
}

#[test]
fn a_secret_is_not_pushed_and_named_by_node_and_line() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    let mut server = one.server();
    let secret = token();
    server
        .ok("tot_propose", json!({"sessionId": id, "nodes": [crate::support::node("R2.A1", Some("R1.A"))]}));
    sandbox.sleep(60);
    let result = json!({"nodeId": "R2.A1", "state": "EXPLORE", "findings": format!("It works with\n{secret}"), "agentId": "a"});
    server.ok("tot_commit", json!({"sessionId": id, "results": [result]}));
    drop(server);
    let told = one.fails("SECRET_SUSPECTED", &[]);
    for part in ["a GitHub token", "R2.A1, nodes/R2/R2.A1.yaml:", "--allow-secrets"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains(&secret));
    // After its removal, it is still in the history.
    let repository = one.repository(&id);
    let file = repository.join("nodes/R2/R2.A1.yaml");
    fs::write(&file, fs::read_to_string(&file).unwrap().replace(&secret, "it")).unwrap();
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Take it out"]);
    one.fails("SECRET_SUSPECTED", &[]);
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    assert!(one.sync(&["--allow-secrets"])["error"].is_null());
    // A secret that is already there is not reported again.
    one.grow(&id, &["R2.A2"]);
    one.synced();
}

/// Text that looks like a GitHub token.
fn token() -> String {
    ["ghp", "_16C7e42F292c6912E7710c838347Ae178B4a"].concat()
}

#[test]
fn a_tag_that_was_left_behind_takes_no_secret_along() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    let conclusion = format!("It works with {}.", token());
    let end = json!({"sessionId": id, "conclusion": conclusion, "stopped": {"reason": "enough"}});
    one.server().ok("tot_end", end);
    one.fails("SECRET_SUSPECTED", &[]);
    // The branch is corrected, but the conclusion's tag still leads to the secret.
    sandbox.git(&repository, &["reset", "-q", "--hard", "HEAD~1"]);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    let dry = one.sync(&["--dry-run"]);
    assert!(dry["notes"].to_string().contains("the tag ended/1 seems to contain a GitHub token"), "{dry:#}");
    let told = one.fails("SECRET_SUSPECTED", &[]);
    for part in ["the tag ended/1 seems", "conclusion.yaml:", "`git tag -d ended/1`", "--allow-secrets"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains(&token()));
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    // Everything else is pushed.
    sandbox.git(&repository, &["tag", "noted"]);
    one.grow(&id, &["R2.A1"]);
    one.fails("SECRET_SUSPECTED", &[]);
    let entry = other.synced();
    assert_eq!((&entry["came"], &entry["tagsCame"]), (&json!(2), &json!(["noted"])), "{entry:#}");
    sandbox.git(&repository, &["tag", "-d", "ended/1"]);
    one.synced();
}

#[test]
fn a_message_takes_no_secret_along() {
    let sandbox = Sandbox::new();
    let (hub, one, _, id) = team(&sandbox);
    let repository = one.repository(&id);
    let git = |arguments: &[&str]| sandbox.git(&repository, arguments);
    let message = format!("Try it\n\nwith {}", token());
    let before = sandbox.git(&hub, &["for-each-ref"]);
    git(&["commit", "-q", "--allow-empty", "-m", &message]);
    let told = one.fails("SECRET_SUSPECTED", &[]);
    let commit = format!("the message of commit {:.10}, line 3", one.head(&id));
    assert!(told.contains(&commit) && !told.contains(&token()), "{told}");
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    // In its own message, in that of a tag, and in a file outside the commits.
    git(&["tag", "-a", "inner", "-m", &message]);
    git(&["tag", "-a", "outer", "-m", "Harmless", "inner"]);
    git(&["tag", "-d", "inner"]);
    let told = one.fails("SECRET_SUSPECTED", &[]);
    assert!(
        told.contains("the tag outer seems") && told.contains("the message of the tag inner, line 3"),
        "{told}"
    );
    git(&["tag", "-d", "outer"]);
    std::fs::write(repository.join(".git/secret"), token()).unwrap();
    let blob = git(&["hash-object", "-w", ".git/secret"]);
    git(&["tag", "blob", blob.trim()]);
    assert!(one.fails("SECRET_SUSPECTED", &[]).contains("the tag blob seems"));
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    git(&["tag", "-d", "blob"]);
    one.synced();
}

#[test]
fn a_file_that_cannot_be_read_is_not_pushed() {
    let sandbox = Sandbox::new();
    let (_, one, _, id) = team(&sandbox);
    let repository = one.repository(&id);
    let file = repository.join("nodes/R1/R1.A.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n")).unwrap();
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Merge by hand"]);
    let told = one.fails("UNREADABLE", &[]);
    assert!(told.contains("nodes/R1/R1.A.yaml:"), "{told}");
    fs::write(&file, text).unwrap();
    sandbox.git(&repository, &["commit", "-q", "-a", "-m", "Mend it"]);
    one.synced();
}

#[test]
fn servers_that_write_at_the_same_time_are_no_obstacle() {
    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    thread::scope(|scope| {
        for (machine, name) in [(&one, "one"), (&other, "other")] {
            let id = &id;
            scope.spawn(move || {
                for number in 0..6 {
                    machine.grow(id, &[format!("R2.A{name}{number}").as_str()]);
                }
            });
            scope.spawn(move || {
                for _ in 0..6 {
                    machine.synced();
                }
            });
        }
    });
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    assert_eq!(one.nodes(&id).len(), 13);
    one.assert_sound(&id);
}

#[test]
fn eight_who_push_at_once_all_get_through() {
    let sandbox = Sandbox::new();
    let (hub, _, first, id) = team(&sandbox);
    let names: Vec<String> = (0..7).map(|number| format!("machine{number}")).collect();
    let mut machines: Vec<Machine> = names.iter().map(|name| Machine::new(&sandbox, name)).collect();
    for machine in &machines {
        machine.ok(&["clone", hub.to_str().unwrap()]);
    }
    machines.push(first);
    for (number, machine) in machines.iter().enumerate() {
        machine.grow(&id, &[format!("R2.A{number}").as_str()]);
    }
    thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| machine.synced());
        }
    });
    for machine in &machines {
        machine.synced();
        assert_eq!(machine.head(&id), machines[0].head(&id));
    }
    assert_eq!(machines[0].nodes(&id).len(), 9);
    assert_eq!(sandbox.git(&hub, &["rev-parse", &format!("tot/{id}")]).trim(), machines[0].head(&id));
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    one.grow(&id, &["R2.A1"]);
    let before = sandbox.git(&hub, &["for-each-ref"]);
    assert_eq!(one.sync(&["--dry-run"])["went"], 2);
    assert_eq!(sandbox.git(&hub, &["for-each-ref"]), before);
    one.synced();
    let here = sandbox.git(&other.repository(&id), &["for-each-ref"]);
    let entry = other.sync(&["--dry-run"]);
    assert!(entry["notes"][0].as_str().unwrap().contains("new commits"), "{entry:#}");
    assert_eq!(sandbox.git(&other.repository(&id), &["for-each-ref"]), here);
}

#[test]
fn a_second_remote_gets_nothing_by_itself() {
    let sandbox = Sandbox::new();
    let (_, one, _, id) = team(&sandbox);
    let backup = sandbox.path("backup.git");
    sandbox.git(&sandbox.path("home"), &["init", "-q", "--bare", backup.to_str().unwrap()]);
    one.ok(&["remote", "add", "backup", backup.to_str().unwrap()]);
    one.grow(&id, &["R2.A1"]);
    one.synced();
    assert_eq!(refs(&sandbox, &backup), [""; 0]);
    let listed: Value = serde_json::from_str(&one.ok(&["remote", "--json"])).unwrap();
    let synced: Vec<_> =
        listed["remotes"].as_array().unwrap().iter().map(|it| (&it["name"], &it["synced"])).collect();
    assert_eq!(synced, [(&json!("backup"), &json!(false)), (&json!("origin"), &json!(true))]);
    let taken = one.tot(&["remote", "add", "origin", backup.to_str().unwrap()]);
    assert!(taken.status == 1 && taken.err.contains("already"), "{taken:?}");
}

#[test]
fn addresses_that_are_options_or_commands_are_refused() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    machine.start();
    let mark = sandbox.path("mark");
    for address in
        [format!("--upload-pack=touch {}", mark.display()), format!("ext::touch {}", mark.display())]
    {
        for arguments in [vec!["remote", "add", "origin", "--", &address], vec!["clone", "--", &address]] {
            // In none of these does `--root` come after `--`.
            let ran: super::Ran = sandbox
                .command(crate::support::TOT)
                .env("TOT_ROOT", &machine.root)
                .args(&arguments)
                .output()
                .unwrap()
                .into();
            assert!(ran.status == 2 && ran.err.contains("is not the address"), "{ran:?}");
        }
    }
    assert!(!mark.exists());
}

#[test]
fn a_team_shares_by_ssh() {
    let sandbox = Sandbox::new();
    let hub = hub(&sandbox);
    // Acts like sshd: the last argument is the command.
    let ssh = sandbox.path("ssh.sh");
    let log = sandbox.path("ssh.log");
    let script =
        format!("#!/bin/sh\nfor last; do :; done\necho \"$*\" >> {}\nexec sh -c \"$last\"\n", log.display());
    fs::write(&ssh, script).unwrap();
    fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.git(&sandbox.path("home"), &["config", "--global", "core.sshCommand", ssh.to_str().unwrap()]);
    let (one, other, id) = two(&sandbox, &format!("git@team.example:{}", hub.display()));
    one.grow(&id, &["R2.A1"]);
    other.grow(&id, &["R2.A2"]);
    one.synced();
    other.synced();
    one.synced();
    assert_eq!(one.head(&id), other.head(&id));
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("git@team.example") && !log.contains("BatchMode"),
        "the user's own command stays: {log}"
    );
}

#[test]
fn without_git_it_says_so() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    machine.start();
    let empty = sandbox.path("empty");
    fs::create_dir(&empty).unwrap();
    let ran = machine.tot_with(&["sync"], &[("PATH", empty.to_str().unwrap())]);
    assert!(ran.status == 1 && ran.err.contains("Install git"), "{ran:?}");
    let old = empty.join("git");
    fs::write(&old, "#!/bin/sh\necho git version 2.17.1\n").unwrap();
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = machine.tot_with(&["sync"], &[("PATH", empty.to_str().unwrap())]);
    assert!(ran.status == 1 && ran.err.contains("2.17.1") && ran.err.contains("newer"), "{ran:?}");
}

#[test]
fn thousands_of_hollow_files_fill_no_machine_that_syncs() {
    let sandbox = Sandbox::new();
    let (hub, one, other, id) = team(&sandbox);
    let repository = one.repository(&id);
    // One object of zeros under many names: a few KB in the hub, and 16 MiB each in a work tree.
    let zeros = sandbox.path("zeros");
    fs::File::create(&zeros).unwrap().set_len(16 << 20).unwrap();
    let blob = sandbox.git(&repository, &["hash-object", "-w", zeros.to_str().unwrap()]);
    let (before, plain) = (one.head(&id), sandbox.git(&repository, &["ls-tree", "HEAD"]));
    let tree = |entries: String| {
        let list = sandbox.path("list");
        fs::write(&list, entries).unwrap();
        let mut git = sandbox.command("git");
        let git = git.arg("-C").arg(&repository).arg("mktree").stdin(fs::File::open(&list).unwrap());
        String::from_utf8(git.output().unwrap().stdout).unwrap().trim().to_owned()
    };
    // Past the work tree and our guard, with git alone.
    let push = |tree: &str, parent: &str, message: &str| {
        let made = sandbox.git(&repository, &["commit-tree", tree, "-p", parent, "-m", message]);
        let branch = format!("{}:refs/heads/tot/{id}", made.trim());
        sandbox.git(&repository, &["push", "-q", "origin", &branch]);
        made.trim().to_owned()
    };
    let plots = tree((0..2_000).map(|at| format!("100644 blob {}\tzeros{at}\n", blob.trim())).collect());
    let full = tree(format!("{plain}040000 tree {plots}\tplots\n"));
    let filled = push(&full, &before, "Fill every disk");
    let said = other.fails("NOT_JOINED", &[]);
    assert!(said.contains("the limit is") && said.contains("git ls-tree"), "{said}");
    assert_eq!(other.head(&id), before);
    // The same if both sides continued, and for a new clone.
    other.grow(&id, &["R2.A1"]);
    assert!(other.fails("NOT_JOINED", &[]).contains("the limit is"));
    let third = Machine::new(&sandbox, "third");
    let ran = third.tot(&["clone", hub.to_str().unwrap()]);
    assert!(ran.status == 1 && ran.err.contains("the limit is"), "{ran:?}");
    assert!(!third.repository(&id).exists());
    // It does not lock anyone out permanently.
    push(&tree(plain.clone()), &filled, "Remove it");
    assert!(other.synced()["merge"].is_string());
    third.ok(&["clone", hub.to_str().unwrap()]);
    third.assert_sound(&id);
}

#[cfg(target_os = "linux")]
#[test]
fn the_guard_does_not_hold_all_that_is_pushed_at_once() {
    let sandbox = Sandbox::new();
    let (_, one, _, id) = team(&sandbox);
    let repository = one.repository(&id);
    fs::create_dir(repository.join("traces")).unwrap();
    for number in 0..32 {
        let text = format!("{number}\n") + &" ".repeat(4 << 20);
        fs::write(repository.join(format!("traces/{number}.txt")), text).unwrap();
    }
    // The last of all, and in many files: the first ones are named.
    for number in 0..15 {
        fs::write(repository.join(format!("traces/z{number:02}.env")), format!("{number}={}\n", token()))
            .unwrap();
    }
    commit_all(&sandbox, &repository, "Add traces by hand");
    let mut command = sandbox.command(TOT);
    command.args(["sync", "--root"]).arg(&one.root).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        peak = Memory::of(child.id()).peak.max(peak);
        thread::sleep(std::time::Duration::from_millis(5));
    }
    let said = Ran::from(child.wait_with_output().unwrap()).err;
    assert_eq!(said.matches("traces/z").count(), 10, "{said}");
    assert!(said.contains("traces/z00.env:1") && said.contains("traces/z09.env:1"), "{said}");
    // 128 MiB of text. About 8 MiB are in memory at a time, in two copies, in addition to the program's own memory.
    assert!(peak > 0 && peak < 112 << 10, "{peak} KiB");
}
