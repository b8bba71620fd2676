//! Sign-offs, with real git and real keys.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use super::{Machine, Ran, hub, refs, two};
use crate::support::{Sandbox, TOT_REPORT};

/// A machine with an investigation, and a person with an ssh key.
fn one(sandbox: &Sandbox) -> (Machine<'_>, String) {
    let machine = Machine::new(sandbox, "one");
    let id = machine.start();
    sign_with(sandbox, &key(sandbox, "anna"));
    (machine, id)
}

/// Creates an ssh key and returns its public half.
fn key(sandbox: &Sandbox, name: &str) -> PathBuf {
    let path = sandbox.path(&format!("key-{name}"));
    let made = sandbox
        .command("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"])
        .arg(&path)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(made.success());
    path.with_extension("pub")
}

/// Configures the user's git to sign with this key.
fn sign_with(sandbox: &Sandbox, key: &Path) {
    global(sandbox, "gpg.format", "ssh");
    global(sandbox, "user.signingkey", key.to_str().unwrap());
}

fn global(sandbox: &Sandbox, key: &str, value: &str) {
    sandbox.git(&sandbox.path("home"), &["config", "--global", key, value]);
}

/// Writes a file of allowed signers with these people's keys, each as `NAME@example.org`.
fn allowed(sandbox: &Sandbox, people: &[&str]) -> String {
    let line = |name: &&str| {
        let key = std::fs::read_to_string(sandbox.path(&format!("key-{name}.pub"))).unwrap();
        format!("{name}@example.org {key}")
    };
    let path = sandbox.path(&format!("allowed-{}", people.join("-")));
    std::fs::write(&path, people.iter().map(line).collect::<String>()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Signs off, and returns the tag.
fn approve(machine: &Machine<'_>, more: &[&str]) -> String {
    let said = machine.ok(&[&["approve", "--json"], more].concat());
    serde_json::from_str::<Value>(&said).unwrap()["tag"].as_str().unwrap().to_owned()
}

/// Returns the output of `tot verify --json` and its exit status.
fn verify(machine: &Machine<'_>, more: &[&str]) -> (Value, i32) {
    let ran = machine.tot(&[&["verify", "--json"], more].concat());
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    assert_eq!(document["approved"], ran.status == 0, "{ran:#?}");
    (document, ran.status)
}

/// Returns each sign-off as `STATE TAG`.
fn states(document: &Value) -> Vec<String> {
    let mut states: Vec<String> = document["signOffs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}", it["state"].as_str().unwrap(), it["tag"].as_str().unwrap()))
        .collect();
    states.sort();
    states
}

/// Returns the sign-off with this tag.
fn of<'a>(document: &'a Value, tag: &str) -> &'a Value {
    let all = document["signOffs"].as_array().unwrap();
    all.iter().find(|it| it["tag"] == tag).unwrap_or_else(|| panic!("{tag}: {document:#}"))
}

/// Writes a tag object directly and points the tag to it.
fn write_tag(sandbox: &Sandbox, repository: &Path, tag: &str, object: &[u8]) {
    let file = sandbox.path("object");
    std::fs::write(&file, object).unwrap();
    let id =
        sandbox.git(repository, &["hash-object", "-t", "tag", "-w", "--literally", file.to_str().unwrap()]);
    let path = repository.join(".git/refs/tags").join(tag);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, id).unwrap();
}

#[test]
fn an_approval_names_what_it_covers_and_any_git_checks_it() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let said = machine.ok(&["approve", "-m", "Tried it.\n\nConclusion: mine"]);
    let head = machine.head(&id);
    assert!(said.contains(&format!("approved as of {}", &head[..10])), "{said}");
    assert!(said.contains("open: not ended"), "{said}");
    let repository = machine.repository(&id);
    let tags = refs(&sandbox, &repository);
    let tag = tags.iter().find_map(|name| name.strip_prefix("refs/tags/")).unwrap();
    assert!(tag.starts_with(&format!("approved/tester-{}-", &head[..10])), "{tag}");
    let allowed = allowed(&sandbox, &["anna"]);
    let setting = format!("gpg.ssh.allowedSignersFile={allowed}");
    sandbox.git(&repository, &["-c", &setting, "verify-tag", tag]);
    let (document, status) = verify(&machine, &["--allowed-signers", &allowed]);
    assert_eq!(status, 0);
    let it = of(&document, tag);
    let ruleset = sandbox.git(&repository, &["rev-parse", "HEAD:ruleset.yaml"]);
    assert_eq!(it["state"], "valid");
    assert_eq!(it["signer"], "anna@example.org");
    assert_eq!(it["tagger"], "Tester <tester@localhost>");
    assert_eq!(it["commit"], head);
    assert_eq!(it["ruleset"], ruleset.trim());
    assert_eq!(it["conclusion"], Value::Null);
    assert_eq!(it["text"], "Tried it.\n\nConclusion: mine");
    let open: Vec<&str> = it["open"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    assert!(open.contains(&"not ended") && open.contains(&"INSUFFICIENT_CHILDREN R1.A"), "{open:?}");
    // The ids are git's, and the trailers have git's form.
    let format = "--format=%(contents:trailers:key=Ruleset,valueonly)";
    assert_eq!(sandbox.git(&repository, &["tag", "--list", format]).trim(), ruleset.trim());
    sandbox.assert_sound(&repository);
}

#[test]
fn each_kind_of_sign_off_is_told_apart() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let repository = machine.repository(&id);
    let git = |arguments: &[&str]| sandbox.git(&repository, arguments);
    assert_eq!(verify(&machine, &[]).1, 1, "there is none");
    let early = approve(&machine, &[]);
    machine.grow(&id, &["R2.A1"]);
    let anna = approve(&machine, &[]);
    let rejected = approve(&machine, &["--reject", "-m", "No."]);
    let unsigned = approve(&machine, &["--unsigned"]);
    sign_with(&sandbox, &key(&sandbox, "eve"));
    let eve = approve(&machine, &[]);
    let allowed = allowed(&sandbox, &["anna"]);
    let verify = |more: &[&str]| verify(&machine, more);
    let checked = ["--allowed-signers", &allowed];

    let (document, status) = verify(&checked);
    let mut expected = vec![
        format!("stale {early}"),
        format!("valid {anna}"),
        format!("valid {rejected}"),
        format!("unsigned {unsigned}"),
        format!("invalid {eve}"),
    ];
    expected.sort();
    assert_eq!((states(&document), status), (expected, 1));
    let since = &of(&document, &early)["since"];
    assert_eq!(*since, json!({"commits": 2, "nodes": ["R2.A1"], "files": []}));
    assert_eq!(of(&document, &rejected)["decision"], "rejected");
    assert_eq!(of(&document, &eve)["reason"], "its key belongs to no allowed signer");
    assert_eq!(of(&document, &eve)["signer"], Value::Null);

    // Without any keys to check them with.
    let (document, status) = verify(&[]);
    assert_eq!(status, 1);
    assert_eq!(of(&document, &anna)["state"], "unchecked");
    assert_eq!(of(&document, &unsigned)["state"], "unsigned");
    // The user's own file works too.
    global(&sandbox, "gpg.ssh.allowedSignersFile", &allowed);
    assert_eq!(of(&verify(&[]).0, &anna)["state"], "valid");

    // Without the invalid sign-off and the rejection, an approval remains.
    git(&["tag", "-d", &eve, &rejected]);
    assert_eq!(verify(&[]).1, 0);
    let invalid = |tag: &str, reason: &str| {
        let (document, status) = verify(&[]);
        let it = of(&document, tag);
        assert_eq!((it["state"].as_str(), status), (Some("invalid"), 1), "{it:#}");
        assert!(it["reason"].as_str().unwrap().contains(reason), "{it:#}");
        git(&["tag", "-d", tag]);
        assert_eq!(verify(&[]).1, 0);
    };

    // Under another name.
    git(&["update-ref", "refs/tags/approved/anna-2", &format!("refs/tags/{anna}")]);
    invalid("approved/anna-2", "the tag was created with the name");
    let as_approval = rejected.replace("rejected", "approved");
    sign_with(&sandbox, &sandbox.path("key-anna.pub"));
    let again = approve(&machine, &["--reject"]);
    git(&["update-ref", &format!("refs/tags/{as_approval}"), &format!("refs/tags/{again}")]);
    git(&["tag", "-d", &again]);
    invalid(&as_approval, "the tag was created with the name rejected/");
    // A lightweight tag.
    git(&["tag", "approved/light"]);
    invalid("approved/light", "a lightweight tag");
    // A tag of a tag.
    git(&["tag", "-s", "-m", "x", "approved/twice", &anna]);
    invalid("approved/twice", "to another tag");
    // A changed byte, each time in a different place.
    let object = sandbox.try_git(&repository, &["cat-file", "tag", &anna]).stdout;
    for place in ["Approve", "Open: ", "<tester@", "-----BEGIN SSH SIGNATURE-----\n"] {
        let at = object.windows(place.len()).position(|part| part == place.as_bytes()).unwrap();
        let mut changed = object.clone();
        changed[at + place.len()] ^= 1;
        git(&["tag", "-d", &anna]);
        write_tag(&sandbox, &repository, &anna, &changed);
        let (document, status) = verify(&[]);
        assert_eq!((of(&document, &anna)["state"].as_str(), status), (Some("invalid"), 1), "{place}");
    }
    write_tag(&sandbox, &repository, &anna, &object);
    // A commit that is not an ancestor.
    git(&["commit", "-q", "--allow-empty", "-m", "aside"]);
    git(&["tag", "-s", "-m", "x", "approved/aside"]);
    git(&["reset", "-q", "--hard", "HEAD~1"]);
    invalid("approved/aside", "does not descend from its commit");
    // Created manually: valid, but without the list of open points.
    git(&["tag", "-s", "-m", "Fine.", "approved/by-hand"]);
    let (document, status) = verify(&[]);
    let it = of(&document, "approved/by-hand");
    assert_eq!((it["state"].as_str(), status), (Some("valid"), 0));
    assert_eq!((&it["open"], &it["text"]), (&Value::Null, &Value::Null));
    // Signed, but it contradicts its commit.
    let message = "x\n\nConclusion: none\nRuleset: 0000000000000000000000000000000000000000";
    git(&["tag", "-s", "-m", message, "approved/contradicts"]);
    invalid("approved/contradicts", "a different ruleset");
}

#[test]
fn what_is_signed_is_what_a_reviewer_sees() {
    let sandbox = Sandbox::new();
    let machine = Machine::new(&sandbox, "one");
    let id = machine.start();
    let repository = machine.repository(&id);
    let refused = |more: &[&str], words: &str| {
        let ran = machine.tot(&[&["approve"], more].concat());
        assert_eq!(ran.status, 1, "{ran:#?}");
        assert!(ran.err.contains(words), "{words}: {ran:#?}");
        assert!(!refs(&sandbox, &repository).iter().any(|name| name.starts_with("refs/tags/approved")));
    };
    // No key.
    refused(&[], "--unsigned");
    global(&sandbox, "gpg.format", "ssh");
    refused(&[], "user.signingkey");
    std::fs::write(repository.join("notes.md"), "mine").unwrap();
    let node = repository.join("nodes/R1/R1.A.yaml");
    let before = std::fs::read_to_string(&node).unwrap();
    std::fs::write(&node, before.replace("Findings", "Finding")).unwrap();
    refused(&["--unsigned"], "R1.A.yaml has uncommitted changes");
    std::fs::write(&node, before).unwrap();
    std::fs::write(repository.join(".git/MERGE_HEAD"), machine.head(&id)).unwrap();
    refused(&["--unsigned"], "a merge");
    std::fs::remove_file(repository.join(".git/MERGE_HEAD")).unwrap();
    // The user's own files do not interfere.
    approve(&machine, &["--unsigned"]);
}

#[test]
fn a_repository_decides_neither_what_checks_a_signature_nor_whose_key_is_allowed() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let repository = machine.repository(&id);
    let tag = approve(&machine, &[]);
    let ran = sandbox.path("ran");
    let program = sandbox.path("program");
    let script = format!(
        "#!/bin/sh\ntouch {}\necho '[GNUPG:] GOODSIG 1 boss'\necho 'Good \"git\" signature for boss with ED25519 key x'\n",
        ran.display()
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"] {
        sandbox.git(&repository, &["config", key, program]);
    }
    let allowed_by_it = allowed(&sandbox, &["anna"]);
    sandbox.git(&repository, &["config", "gpg.ssh.allowedSignersFile", &allowed_by_it]);
    // Also through another file that it includes.
    let included = sandbox.path("included");
    std::fs::write(&included, format!("[gpg \"ssh\"]\n\tprogram = {program}\n")).unwrap();
    sandbox.git(&repository, &["config", "include.path", included.to_str().unwrap()]);
    assert_eq!(of(&verify(&machine, &[]).0, &tag)["state"], "unchecked");
    key(&sandbox, "eve");
    let others = allowed(&sandbox, &["eve"]);
    assert_eq!(of(&verify(&machine, &["--allowed-signers", &others]).0, &tag)["state"], "invalid");
    // The program that signs can't be set either.
    approve(&machine, &[]);
    sandbox.git(&sandbox.path("home"), &["config", "--global", "--unset", "user.signingkey"]);
    assert_eq!(machine.tot(&["approve"]).status, 1);
    assert!(!ran.exists(), "a program of the repository ran");
    // The same lines in the user's own configuration do work.
    global(&sandbox, "gpg.ssh.program", program);
    verify(&machine, &["--allowed-signers", &others]);
    assert!(ran.exists());
}

#[test]
fn an_object_that_git_puts_in_the_place_of_a_tag_signs_nothing() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let repository = machine.repository(&id);
    let allowed = allowed(&sandbox, &["anna"]);
    let tag = approve(&machine, &[]);
    let signed = sandbox.git(&repository, &["cat-file", "tag", &tag]);
    let object = sandbox.git(&repository, &["rev-parse", &tag]);
    // The newest commit, which she never signed, under the tag that she created.
    machine.ok(&["comment", "-m", "Something else."]);
    let head = sandbox.git(&repository, &["rev-parse", "HEAD"]);
    let old = signed.lines().next().unwrap();
    write_tag(
        &sandbox,
        &repository,
        &tag,
        signed.replacen(old, &format!("object {}", head.trim()), 1).as_bytes(),
    );
    let forged = sandbox.git(&repository, &["rev-parse", &tag]);
    sandbox.git(&repository, &["replace", forged.trim(), object.trim()]);
    assert_eq!(of(&verify(&machine, &["--allowed-signers", &allowed]).0, &tag)["state"], "invalid");
}

#[test]
fn a_setting_of_the_users_leads_from_the_users_file_and_not_into_the_repository() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let tag = approve(&machine, &[]);
    let theirs = allowed(&sandbox, &["anna"]);
    global(&sandbox, "gpg.ssh.allowedSignersFile", "signers");
    std::fs::copy(&theirs, machine.repository(&id).join("signers")).unwrap();
    assert_eq!(
        of(&verify(&machine, &[]).0, &tag)["state"],
        "unchecked",
        "the file of whoever sent the folder"
    );
    std::fs::copy(&theirs, sandbox.path("home/signers")).unwrap();
    assert_eq!(of(&verify(&machine, &[]).0, &tag)["state"], "valid");
}

#[test]
fn a_signature_older_than_its_commit_is_not_called_valid() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let repository = machine.repository(&id);
    let allowed = allowed(&sandbox, &["anna"]);
    let message = sandbox.git(&repository, &["cat-file", "tag", &approve(&machine, &[])]);
    let (_, message) = message.split_once("\n\n").unwrap();
    let (message, _) = message.split_once("-----BEGIN").unwrap();
    std::fs::write(sandbox.path("message"), message).unwrap();
    let tag = "approved/anna-backdated";
    let file = sandbox.path("message");
    let arguments = ["tag", "-s", "--cleanup=verbatim", "-F", file.to_str().unwrap(), tag];
    let made = sandbox
        .command("git")
        .current_dir(&repository)
        .args(arguments)
        .env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z")
        .status()
        .unwrap();
    assert!(made.success());
    let document = verify(&machine, &["--allowed-signers", &allowed]).0;
    let said = of(&document, tag);
    assert_eq!(said["state"], "unchecked", "{said}");
    assert!(said["reason"].as_str().unwrap().contains("earlier than its commit"), "{said}");
}

#[test]
fn a_key_of_openpgp_counts_where_the_keyring_trusts_it() {
    let sandbox = Sandbox::new();
    if sandbox.command("gpg").arg("--version").output().is_err() {
        eprintln!("skipped: gpg is missing, which is in Debian's package gnupg");
        return;
    }
    let gpg = |home: &Path, arguments: &[&str]| {
        let mut command = sandbox.command("gpg");
        command.env("GNUPGHOME", home).args(["--batch", "--quiet"]).args(arguments).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let folder = |name: &str| {
        let path = sandbox.path(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        path
    };
    let (own, other) = (folder("gpg-1"), folder("gpg-2"));
    let making =
        ["--passphrase", "", "--quick-gen-key", "Greta <greta@example.org>", "ed25519", "sign", "never"];
    gpg(&own, &making);
    global(&sandbox, "user.signingkey", "greta@example.org");
    let machine = Machine::new(&sandbox, "one");
    let id = machine.start();
    let with = |home: &Path, arguments: &[&str]| {
        machine.tot_with(arguments, &[("GNUPGHOME", home.to_str().unwrap())])
    };
    assert_eq!(with(&own, &["approve"]).status, 0);
    let state = |home: &Path| {
        let ran = with(home, &["verify", "--json"]);
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        let it = &document["signOffs"][0];
        (it["state"].as_str().unwrap().to_owned(), it["signer"].clone(), it["reason"].to_string())
    };
    let (checked, signer, _) = state(&own);
    assert_eq!((checked.as_str(), signer), ("valid", json!("Greta <greta@example.org>")));
    let (checked, _, reason) = state(&other);
    assert_eq!(checked, "unchecked");
    assert!(reason.contains("not in your keyring"), "{reason}");
    let key = sandbox.path("greta.asc");
    std::fs::write(&key, gpg(&own, &["--armor", "--export", "greta@example.org"])).unwrap();
    gpg(&other, &["--import", key.to_str().unwrap()]);
    let (checked, _, reason) = state(&other);
    assert_eq!(checked, "unchecked");
    assert!(reason.contains("does not mark the key of Greta"), "{reason}");
    let repository = machine.repository(&id);
    let tag = sandbox.git(&repository, &["tag"]);
    let object = sandbox.try_git(&repository, &["cat-file", "tag", tag.trim()]).stdout;
    let object = String::from_utf8(object).unwrap().replace("Approve", "Improve");
    write_tag(&sandbox, &repository, tag.trim(), object.as_bytes());
    let (checked, _, reason) = state(&own);
    assert_eq!(checked, "invalid");
    assert!(reason.contains("does not match"), "{reason}");
    for home in [own, other] {
        sandbox.command("gpgconf").env("GNUPGHOME", home).args(["--kill", "all"]).status().unwrap();
    }
}

#[test]
fn two_who_sign_apart_lose_nothing_in_a_hub_of_many_and_in_a_repository_of_its_own() {
    for place in ["hub", "own"] {
        let sandbox = Sandbox::new();
        let hub = hub(&sandbox);
        let address = hub.to_str().unwrap();
        let (here, there, id) = match place {
            "hub" => two(&sandbox, address),
            _ => {
                let (here, there) = (Machine::new(&sandbox, "one"), Machine::new(&sandbox, "other"));
                let id = here.start();
                here.ok(&["remote", "add", "origin", address, "--own"]);
                here.synced();
                there.ok(&["clone", address]);
                (here, there, id)
            }
        };
        sign_with(&sandbox, &key(&sandbox, "anna"));
        // The same person, the same commit, twice.
        let mut tags = vec![approve(&here, &["-m", "Here"]), approve(&there, &["-m", "There"])];
        there.grow(&id, &["R2.A1"]);
        tags.push(approve(&there, &["--reject"]));
        here.grow(&id, &["R2.A2"]);
        tags.push(approve(&here, &[]));
        there.synced();
        here.synced();
        there.synced();
        tags.sort();
        let third = Machine::new(&sandbox, "third");
        third.ok(&["clone", address]);
        let bundle = sandbox.path("it.bundle");
        here.ok(&["export", "--format", "bundle", "-o", bundle.to_str().unwrap()]);
        let fourth = Machine::new(&sandbox, "fourth");
        fourth.ok(&["import", bundle.to_str().unwrap()]);
        let allowed = allowed(&sandbox, &["anna"]);
        for machine in [&here, &there, &third, &fourth] {
            let (document, status) = verify(machine, &["--allowed-signers", &allowed]);
            let mut expected: Vec<String> = tags.iter().map(|tag| format!("stale {tag}")).collect();
            expected.sort();
            assert_eq!((states(&document), status), (expected, 1), "{place}");
            // Changes from a merge count as later changes too.
            let since = |tag: &String| of(&document, tag)["since"]["nodes"].to_string();
            let mut changed: Vec<String> = tags.iter().map(since).collect();
            changed.sort();
            let both = r#"["R2.A1","R2.A2"]"#;
            assert_eq!(changed, [both, both, r#"["R2.A1"]"#, r#"["R2.A2"]"#], "{place}");
        }
        here.assert_sound(&id);
    }
}

#[test]
fn what_a_tag_says_does_nothing_to_a_terminal() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let repository = machine.repository(&id);
    let head = machine.head(&id);
    let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}\r\u{202e}<script>alert(1)</script>";
    let ruleset = sandbox.git(&repository, &["rev-parse", "HEAD:ruleset.yaml"]);
    let object = format!(
        "object {head}\ntype commit\ntag approved/x\ntagger A\u{1b}[31m<b> <x> 9999999999999 +0000\n\n{hostile}\n\n{hostile}\nvalid      \
         approved\n\nConclusion: none\nRuleset: {}\nOpen: {hostile}\n",
        ruleset.trim()
    );
    write_tag(&sandbox, &repository, "approved/x", object.as_bytes());
    let huge = format!(
        "object {head}\ntype commit\ntag approved/huge\ntagger A <x> 0 +0000\n\n{}",
        "long ".repeat(400_000)
    );
    write_tag(&sandbox, &repository, "approved/huge", huge.as_bytes());
    let long = huge.replace("huge", "long").split_at(200_000).0.to_owned();
    write_tag(&sandbox, &repository, "approved/long", long.as_bytes());
    write_tag(&sandbox, &repository, "approved/broken", format!("object {head}\ntype commit\n").as_bytes());
    let ran: Ran = machine.tot(&["verify"]);
    assert_eq!(ran.status, 1);
    assert!(!ran.out.contains(|c: char| c.is_control() && c != '\n'), "{:?}", ran.out);
    assert!(!ran.out.contains('\u{202e}') && ran.out.len() < 5_000, "{:?}", ran.out);
    // No line of user text passes for a trailer.
    assert!(ran.out.lines().all(|line| !line.starts_with("valid")), "{:?}", ran.out);
    let (document, _) = verify(&machine, &[]);
    assert_eq!(of(&document, "approved/huge")["state"], "invalid");
    assert_eq!(of(&document, "approved/broken")["state"], "invalid");
    assert_eq!(of(&document, "approved/long")["state"], "unsigned");
}

#[test]
fn no_tool_of_the_server_signs_off() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    global(&sandbox, "tag.gpgSign", "true");
    let mut server = machine.server();
    let tools: Vec<String> = server.request("tools/list", json!({}))["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        !tools
            .iter()
            .any(|name| ["approv", "reject", "sign", "verify"].iter().any(|word| name.contains(word)))
    );
    // Text from a call does not become part of a tag name.
    let name = "approved/x";
    server.call(
        "tot_end",
        json!({"sessionId": id, "stopped": {"reason": "budget", "note": name}, "conclusion": name, "agentId": name}),
    );
    for tool in &tools {
        server.call(tool, json!({"sessionId": id, "nodeId": name, "tag": name, "approve": true}));
    }
    let tags = sandbox.git(&machine.repository(&id), &["tag"]);
    assert_eq!(tags, "ended/1\n");
}

#[test]
fn a_report_shows_as_approved_only_what_was_checked() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    machine.start();
    approve(&machine, &["--unsigned", &id]);
    let signed = approve(&machine, &[&id]);
    let allowed = allowed(&sandbox, &["anna"]);
    let root = machine.root.to_str().unwrap();
    let repository = machine.repository(&id);
    let report = |what: &str, more: &[&str]| {
        let out = sandbox.path("site");
        let output =
            sandbox.command(TOT_REPORT).arg(what).arg("--out").arg(&out).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(out.join("index.html")).unwrap()
    };
    let checked = ["--allowed-signers", allowed.as_str()];
    for what in [root, repository.to_str().unwrap()] {
        let page = report(what, &[]);
        assert!(page.contains(">Approval, not checked<") && page.contains(">Unsigned approval<"), "{page}");
        assert!(!page.contains(">Approved<"), "{page}");
        let page = report(what, &checked);
        assert!(page.contains(">Approved<") && page.contains(">Unsigned approval<"), "{page}");
    }
    // An earlier state does not mention it.
    let page = report(repository.to_str().unwrap(), &[&checked[..], &["--rev", "HEAD~1"]].concat());
    assert!(!page.contains("Sign-offs") && !page.contains(&signed), "{page}");
    // The server has no keys to check signatures with.
    let mut server = machine.server();
    let reply = server.ok("tot_report", json!({"sessionId": id}));
    let page = std::fs::read_to_string(reply["index"].as_str().unwrap()).unwrap();
    assert!(page.contains(">Approval, not checked<") && !page.contains(">Approved<"), "{page}");
    let exported: Value = serde_json::from_str(&machine.ok(&["export", &id, "--format", "json"])).unwrap();
    assert_eq!(exported["signOffs"].as_array().unwrap().len(), 2);
    assert!(exported["signOffs"].as_array().unwrap().iter().all(|it| it["state"] != "valid"));
}

#[test]
fn a_signature_after_its_keys_expiry_is_not_called_valid() {
    let sandbox = Sandbox::new();
    let (machine, _) = one(&sandbox);
    let tag = approve(&machine, &[]);
    let key = std::fs::read_to_string(sandbox.path("key-anna.pub")).unwrap();
    let file = sandbox.path("expired");
    for (until, state) in [("20991231", "valid"), ("20010101", "invalid")] {
        std::fs::write(&file, format!("anna@example.org valid-before=\"{until}\" {key}")).unwrap();
        let (document, status) = verify(&machine, &["--allowed-signers", file.to_str().unwrap()]);
        assert_eq!(of(&document, &tag)["state"], state, "{document:#}");
        assert_eq!(status, i32::from(state != "valid"));
    }
}
