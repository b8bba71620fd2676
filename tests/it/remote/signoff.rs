//! Sign-offs, with real git and real keys.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{Machine, assert_says, hub, settle};
use crate::support::{Said, Sandbox, TOT_REPORT};

/// A machine with an investigation, and Anna, who signs.
fn one(sandbox: &Sandbox) -> (Machine, String) {
    let machine = Machine::new(sandbox, "one");
    let id = machine.start();
    sign_as(sandbox, "anna");
    (machine, id)
}

/// Configures the user's git to sign with this person's ssh key, which is created unless there is one.
fn sign_as(sandbox: &Sandbox, name: &str) {
    let path = sandbox.path(&format!("key-{name}"));
    if !path.exists() {
        let mut command = sandbox.command("ssh-keygen");
        command.args(["-q", "-t", "ed25519", "-N", "", "-C", name, "-f"]).arg(&path).stdin(Stdio::null());
        assert!(command.status().unwrap().success());
    }
    sandbox.configure("gpg.format", "ssh");
    sandbox.configure("user.signingkey", path.with_extension("pub").to_str().unwrap());
}

/// Writes a file that allows a person's key, as `NAME@example.org` with these options.
fn allowed(sandbox: &Sandbox, name: &str, options: &str) -> String {
    let key = fs::read_to_string(sandbox.path(&format!("key-{name}.pub"))).unwrap();
    let path = sandbox.path(&format!("allowed-{name}"));
    fs::write(&path, format!("{name}@example.org {options} {key}")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Signs off, and returns the tag.
fn approve(machine: &Machine, more: &[&str]) -> String {
    machine.json(&[&["approve"], more].concat())["tag"].as_str().unwrap().to_owned()
}

/// Returns the output of `tot check --signatures --json`, given a file of allowed signers, and its exit status.
fn verify(machine: &Machine, signers: Option<&str>) -> (Value, i32) {
    let mut arguments = vec!["check", "--signatures", "--json"];
    arguments.extend(signers.into_iter().flat_map(|file| ["--allowed-signers", file]));
    let ran = machine.tot(&arguments);
    let document: Value = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:#?}"));
    assert_eq!(document["approved"], ran.status == 0, "{ran:#?}");
    (document, ran.status)
}

/// Returns the sign-off with this tag.
fn of<'a>(document: &'a Value, tag: &str) -> &'a Value {
    let all = document["signOffs"].as_array().unwrap();
    all.iter().find(|it| it["tag"] == tag).unwrap_or_else(|| panic!("{tag}: {document:#}"))
}

/// Returns the state of a sign-off, with the reason if there is one.
fn state(machine: &Machine, signers: Option<&str>, tag: &str) -> String {
    let document = verify(machine, signers).0;
    let it = of(&document, tag);
    let reason = it["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
    it["state"].as_str().unwrap().to_owned() + &reason
}

/// Writes a tag object directly and points the tag to it.
fn write_tag(machine: &Machine, id: &str, tag: &str, object: &str) {
    machine.write(id, ".git/object", object);
    let object = machine.git(id, &["hash-object", "-t", "tag", "-w", "--literally", ".git/object"]);
    let path = format!(".git/refs/tags/{tag}");
    fs::create_dir_all(machine.repository(id).join(&path).parent().unwrap()).unwrap();
    machine.write(id, &path, &object);
}

/// Returns a tag object as git stores it.
fn tag_object(machine: &Machine, id: &str, tag: &str) -> String {
    machine.sandbox.git(&machine.repository(id), &["cat-file", "tag", tag])
}

#[test]
fn an_approval_names_what_it_covers_and_any_git_checks_it() {
    let (machine, id) = one(&Sandbox::new());
    let said = machine.ok(&["approve", "-m", "Tried it.\n\nConclusion: mine"]);
    let head = machine.head(&id);
    assert_says(&said, &[&format!("approved as of {}", &head[..10]), "open: not ended"]);
    let tag = machine.git(&id, &["tag"]);
    let allowed = allowed(&machine.sandbox, "anna", "");
    let setting = format!("gpg.ssh.allowedSignersFile={allowed}");
    machine.git(&id, &["-c", &setting, "verify-tag", &tag]);
    let (document, status) = verify(&machine, Some(&allowed));
    assert_eq!(status, 0);
    let at = document["signOffs"][0]["at"].as_str().unwrap();
    let shown = serde_json::to_string_pretty(&document["signOffs"]).unwrap();
    assert_snapshot!(shown.replace(at, "TIME").replace(&tag, "TAG").replace(&head, "HEAD"));
    assert!(tag.starts_with(&format!("approved/tester-{}-", &head[..10])), "{tag}");
    // The ids are git's, and the trailers have git's form.
    let ruleset = machine.git(&id, &["rev-parse", "HEAD:ruleset.yaml"]);
    assert_eq!(document["signOffs"][0]["ruleset"], ruleset);
    let format = "--format=%(contents:trailers:key=Ruleset,valueonly)";
    assert_eq!(machine.git(&id, &["tag", "--list", format]).trim(), ruleset);
    machine.assert_sound(&id);
}

#[test]
fn each_kind_of_sign_off_is_told_apart() {
    let (machine, id) = one(&Sandbox::new());
    let git = |arguments: &[&str]| machine.git(&id, arguments);
    assert_eq!(verify(&machine, None).1, 1, "there is none");
    let early = approve(&machine, &[]);
    machine.grow(&id, &["R2.A1"]);
    sign_as(&machine.sandbox, "eve");
    let eve = approve(&machine, &[]);
    sign_as(&machine.sandbox, "anna");
    let anna = approve(&machine, &[]);
    let rejected = approve(&machine, &["--reject", "-m", "No."]);
    let unsigned = approve(&machine, &["--unsigned"]);
    let allowed = allowed(&machine.sandbox, "anna", "");

    let (document, status) = verify(&machine, Some(&allowed));
    assert_eq!(status, 1);
    for (tag, state) in [
        (&early, "stale"),
        (&anna, "valid"),
        (&rejected, "valid"),
        (&unsigned, "unsigned"),
        (&eve, "invalid"),
    ] {
        assert_eq!(of(&document, tag)["state"], state, "{document:#}");
    }
    let since = &of(&document, &early)["since"];
    assert_eq!(*since, json!({"commits": 2, "nodes": ["R2.A1"], "files": []}));
    assert_eq!(of(&document, &rejected)["decision"], "rejected");
    assert_eq!(of(&document, &eve)["reason"], "its key belongs to no allowed signer");
    assert_eq!(of(&document, &eve)["signer"], Value::Null);

    // Without any keys to check them with.
    let (document, status) = verify(&machine, None);
    assert_eq!(status, 1);
    assert_eq!(of(&document, &anna)["state"], "unchecked");
    assert_eq!(of(&document, &unsigned)["state"], "unsigned");
    // The user's own file works too.
    machine.sandbox.configure("gpg.ssh.allowedSignersFile", &allowed);
    assert_eq!(state(&machine, None, &anna), "valid");

    // Without the invalid sign-off and the rejection, an approval remains, beside which others are invalid.
    let rejection = git(&["rev-parse", &rejected]);
    git(&["tag", "-d", &eve, &rejected]);
    assert_eq!(verify(&machine, None).1, 0);
    let as_approval = rejected.replace("rejected", "approved");
    let aside = git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Aside"]);
    let contradiction = "x\n\nConclusion: none\nRuleset: 0000000000000000000000000000000000000000";
    for (tag, arguments, reason) in [
        (
            "approved/anna-2",
            &["update-ref", "refs/tags/approved/anna-2", &anna][..],
            "created with the name approved/",
        ),
        (
            &as_approval,
            &["update-ref", &format!("refs/tags/{as_approval}"), &rejection],
            "with the name rejected/",
        ),
        ("approved/light", &["tag", "approved/light"], "a lightweight tag"),
        ("approved/twice", &["tag", "-s", "-m", "x", "approved/twice", &anna], "to another tag"),
        (
            "approved/aside",
            &["tag", "-s", "-m", "x", "approved/aside", &aside],
            "does not descend from its commit",
        ),
        ("approved/other", &["tag", "-s", "-m", contradiction, "approved/other"], "a different ruleset"),
    ] {
        git(arguments);
        let (document, status) = verify(&machine, None);
        let it = of(&document, tag);
        assert_eq!((it["state"].as_str(), status), (Some("invalid"), 1), "{it:#}");
        assert_says(it["reason"].as_str().unwrap(), &[reason]);
        git(&["tag", "-d", tag]);
        assert_eq!(verify(&machine, None).1, 0);
    }
    // A change, each time in a different place.
    let object = tag_object(&machine, &id, &anna);
    let places = [
        ("Approve", "Improve"),
        ("Open: ", "Opens: "),
        ("<tester@", "<jester@"),
        ("\nU1NIU0lH", "\nT1NIU0lH"),
    ];
    for (from, to) in places {
        assert!(object.contains(from), "{from}: {object}");
        write_tag(&machine, &id, &anna, &object.replacen(from, to, 1));
        let (document, status) = verify(&machine, None);
        assert_eq!((of(&document, &anna)["state"].as_str(), status), (Some("invalid"), 1), "{from}");
    }
    write_tag(&machine, &id, &anna, &object);
    // Git can die of a closed pipe.
    let once = machine.sandbox.path("once").display().to_string();
    let dying = format!("[ -e {once} ] || {{ touch {once}; kill -PIPE $PPID; }}; exec ssh-keygen \"$@\"");
    machine.sandbox.configure("gpg.ssh.program", machine.sandbox.script("dying", &dying).to_str().unwrap());
    assert_eq!((state(&machine, None, &anna), Path::new(&once).exists()), ("valid".into(), true));
    // Created manually: valid, but without the list of open points, and not if it is older than its commit.
    git(&["tag", "-s", "-m", "Fine.", "approved/by-hand"]);
    let mut command = machine.sandbox.command("git");
    command.current_dir(machine.repository(&id)).env("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z");
    assert!(command.args(["tag", "-s", "-m", "Fine.", "approved/backdated"]).status().unwrap().success());
    let (document, status) = verify(&machine, None);
    let it = of(&document, "approved/by-hand");
    assert_eq!((it["state"].as_str(), status), (Some("valid"), 0));
    assert_eq!((&it["open"], &it["text"]), (&Value::Null, &Value::Null));
    let backdated = "unchecked: its date is earlier than its commit's";
    assert_eq!(state(&machine, None, "approved/backdated"), backdated);
}

#[test]
fn what_is_signed_is_what_a_reviewer_sees() {
    let machine = Machine::new(&Sandbox::new(), "one");
    let id = machine.start();
    let refused = |more: &[&str], words: &str| {
        machine.refuses(&[&["approve"], more].concat(), &[words]);
        assert_eq!(machine.git(&id, &["tag"]), "");
    };
    // No key.
    refused(&[], "--unsigned");
    machine.sandbox.configure("gpg.format", "ssh");
    refused(&[], "user.signingkey");
    let node = "nodes/R1/R1.A.yaml";
    machine.edit(&id, node, "Findings", "Finding");
    refused(&["--unsigned"], "has uncommitted changes");
    machine.edit(&id, node, "Finding", "Findings");
    machine.write(&id, ".git/MERGE_HEAD", &machine.head(&id));
    refused(&["--unsigned"], "a merge");
    fs::remove_file(machine.repository(&id).join(".git/MERGE_HEAD")).unwrap();
    // The user's own files do not interfere.
    machine.write(&id, "notes.md", "mine");
    approve(&machine, &["--unsigned"]);
}

#[test]
fn a_repository_decides_neither_what_checks_a_signature_nor_whose_key_is_allowed() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let tag = approve(&machine, &[]);
    let ran = sandbox.path("ran");
    let script = format!(
        "touch {}\necho '[GNUPG:] GOODSIG 1 boss'\necho 'Good \"git\" signature for boss with ED25519 key x'",
        ran.display()
    );
    let program = sandbox.script("program", &script);
    let program = program.to_str().unwrap();
    for key in ["gpg.program", "gpg.openpgp.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"] {
        machine.git(&id, &["config", key, program]);
    }
    let theirs = allowed(&sandbox, "anna", "");
    machine.git(&id, &["config", "gpg.ssh.allowedSignersFile", &theirs]);
    // Also through another file that it includes.
    machine.write(&id, ".git/included", &format!("[gpg \"ssh\"]\n\tprogram = {program}\n"));
    machine.git(&id, &["config", "include.path", "included"]);
    assert_eq!(state(&machine, None, &tag), "unchecked: no file lists the allowed keys");
    // A relative path in the user's file leads from there, and not into the repository.
    sandbox.configure("gpg.ssh.allowedSignersFile", "signers");
    fs::copy(&theirs, machine.repository(&id).join("signers")).unwrap();
    let own = sandbox.path("home/signers");
    let unopened = format!("unchecked: the file of allowed keys {} can't be opened", own.display());
    assert_eq!(state(&machine, None, &tag), unopened);
    fs::copy(&theirs, own).unwrap();
    assert_eq!(state(&machine, None, &tag), "valid");
    // The program that signs can't be set either.
    approve(&machine, &[]);
    sandbox.git(&sandbox.path("home"), &["config", "--global", "--unset", "user.signingkey"]);
    assert_eq!(machine.tot(&["approve"]).status, 1);
    assert!(!ran.exists(), "a program of the repository ran");
    // The same lines in the user's own configuration do work.
    sandbox.configure("gpg.ssh.program", program);
    verify(&machine, None);
    assert!(ran.exists());
}

#[test]
fn an_object_that_git_puts_in_the_place_of_a_tag_signs_nothing() {
    let (machine, id) = one(&Sandbox::new());
    let allowed = allowed(&machine.sandbox, "anna", "");
    let tag = approve(&machine, &[]);
    let signed = tag_object(&machine, &id, &tag);
    let object = machine.git(&id, &["rev-parse", &tag]);
    // The newest commit, which she never signed, under the tag that she created.
    let before = machine.head(&id);
    machine.ok(&["comment", "-m", "Something else."]);
    write_tag(&machine, &id, &tag, &signed.replacen(&before, &machine.head(&id), 1));
    machine.git(&id, &["replace", &machine.git(&id, &["rev-parse", &tag]), &object]);
    let forged = state(&machine, Some(&allowed), &tag);
    assert_eq!(forged, "invalid: the signature does not match the signed content");
}

#[test]
fn a_signature_that_cannot_be_checked_here_is_not_called_invalid() {
    let sandbox = Sandbox::new();
    let (machine, id) = one(&sandbox);
    let tag = approve(&machine, &[]);
    let allowed = allowed(&sandbox, "anna", "");
    let old = sandbox.script("old", "echo 'usage: ssh-keygen' >&2; exit 1");
    for (program, reason) in [
        (old.to_str().unwrap(), "your ssh-keygen is older than OpenSSH 8.2"),
        ("no-such-program", "can't start the program that checks such signatures"),
    ] {
        sandbox.configure("gpg.ssh.program", program);
        assert_eq!(state(&machine, Some(&allowed), &tag), format!("unchecked: {reason}"));
    }
    sandbox.configure("gpg.ssh.program", "ssh-keygen");
    // Neither a repository that git refuses nor a missing folder for temporary files keeps it from being checked. Only an
    // administrator can give a folder away.
    drop(sandbox.command("chown").arg("-R").arg("4242").arg(machine.repository(&id)).output());
    let missing = sandbox.path("missing");
    let arguments = ["check", "--signatures", "--allowed-signers", &allowed];
    let told = machine.tot_with(&arguments, &[("TMPDIR", missing.to_str().unwrap())]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn a_signature_after_its_keys_expiry_is_not_called_valid() {
    let (machine, _) = one(&Sandbox::new());
    let tag = approve(&machine, &[]);
    for (until, expected) in [("20991231", "valid"), ("20010101", "invalid")] {
        let signers = allowed(&machine.sandbox, "anna", &format!("valid-before=\"{until}\""));
        let told = state(&machine, Some(&signers), &tag);
        assert!(told.starts_with(expected), "{told}");
    }
}

#[test]
fn a_key_of_openpgp_counts_where_the_keyring_trusts_it() {
    let sandbox = Sandbox::new();
    if sandbox.command("gpg").arg("--version").output().is_err() {
        eprintln!("skipped: gpg is missing, which is in Debian's package gnupg");
        return;
    }
    let [own, other] = ["gpg-1", "gpg-2"].map(|name| {
        let path = sandbox.path(name);
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
        path
    });
    let gpg = |home: &Path, arguments: &[&str]| {
        let mut command = sandbox.command("gpg");
        command.env("GNUPGHOME", home).args(["--batch", "--quiet"]).args(arguments).stdin(Stdio::null());
        let ran = Said::from(command.output().unwrap());
        assert_eq!(ran.status, 0, "{ran:?}");
        ran.out
    };
    let making =
        ["--passphrase", "", "--quick-gen-key", "Greta <greta@example.org>", "ed25519", "sign", "never"];
    gpg(&own, &making);
    sandbox.configure("user.signingkey", "greta@example.org");
    let machine = Machine::new(&sandbox, "one");
    let id = machine.start();
    let with = |home: &Path, arguments: &[&str]| {
        machine.tot_with(arguments, &[("GNUPGHOME", home.to_str().unwrap())])
    };
    let state = |home: &Path| {
        let document: Value =
            serde_json::from_str(&with(home, &["check", "--signatures", "--json"]).out).unwrap();
        let it = &document["signOffs"][0];
        format!("{} {} {}", it["state"], it["signer"], it["reason"]).replace('"', "")
    };
    assert_eq!(with(&own, &["approve"]).status, 0);
    assert_eq!(state(&own), "valid Greta <greta@example.org> null");
    assert_eq!(state(&other), "unchecked null the public key is not in your keyring");
    let key = sandbox.path("greta.asc");
    fs::write(&key, gpg(&own, &["--armor", "--export", "greta@example.org"])).unwrap();
    gpg(&other, &["--import", key.to_str().unwrap()]);
    let not_trusted = "your keyring does not mark the key of Greta <greta@example.org> as trusted";
    assert_eq!(state(&other), format!("unchecked null {not_trusted}"));
    let tag = machine.git(&id, &["tag"]);
    // What was signed before the key expired stays good, and the key signs nothing any more.
    let keys = gpg(&own, &["--with-colons", "--list-keys"]);
    let print = keys.lines().find_map(|line| line.strip_prefix("fpr:::::::::")).unwrap();
    gpg(&own, &["--quick-set-expire", print.trim_end_matches(':'), "seconds=1"]);
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(state(&own), "valid Greta <greta@example.org> null");
    let told = with(&own, &["approve"]).err;
    assert!(told.contains("expired"), "{told}");
    write_tag(&machine, &id, &tag, &tag_object(&machine, &id, &tag).replace("Approve", "Improve"));
    assert_eq!(state(&own), "invalid null the signature does not match the signed content");
    for home in [own, other] {
        sandbox.command("gpgconf").env("GNUPGHOME", home).args(["--kill", "all"]).status().unwrap();
    }
}

#[test]
fn two_who_sign_apart_lose_nothing_in_a_hub_of_many_and_in_a_repository_of_its_own() {
    for layout in [&[][..], &["--own"]] {
        let hub = hub(&Sandbox::new());
        let (here, id) = one(&hub.sandbox);
        here.ok(&[&["remote", "add", "origin", &hub.address], layout].concat());
        here.synced();
        let [there, third, fourth] =
            ["other", "third", "fourth"].map(|name| Machine::new(&hub.sandbox, name));
        there.ok(&["clone", &hub.address]);
        // The same person, the same commit, twice.
        let mut tags = vec![approve(&here, &["-m", "Here"]), approve(&there, &["-m", "There"])];
        there.grow(&id, &["R2.A1"]);
        tags.push(approve(&there, &["--reject"]));
        here.grow(&id, &["R2.A2"]);
        tags.push(approve(&here, &[]));
        settle(&[&there, &here], &id);
        third.ok(&["clone", &hub.address]);
        let bundle = hub.sandbox.path("it.bundle");
        here.ok(&["export", "--format", "bundle", "-o", bundle.to_str().unwrap()]);
        fourth.ok(&["import", bundle.to_str().unwrap()]);
        let allowed = allowed(&hub.sandbox, "anna", "");
        for machine in [&here, &there, &third, &fourth] {
            let (document, status) = verify(machine, Some(&allowed));
            assert_eq!(status, 1);
            // Changes from a merge count as later changes too.
            let later = [&["R2.A1", "R2.A2"][..], &["R2.A1", "R2.A2"], &["R2.A2"], &["R2.A1"]];
            for (tag, nodes) in tags.iter().zip(later) {
                let it = of(&document, tag);
                assert_eq!((&it["state"], &it["since"]["nodes"]), (&json!("stale"), &json!(nodes)), "{it:#}");
            }
        }
    }
}

#[test]
fn what_a_tag_says_does_nothing_to_a_terminal() {
    let (machine, id) = one(&Sandbox::new());
    let object = format!("object {}\ntype commit\n", machine.head(&id));
    let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}\r\u{202e}<script>alert(1)</script>";
    let ruleset = machine.git(&id, &["rev-parse", "HEAD:ruleset.yaml"]);
    let x = format!(
        "{object}tag approved/x\ntagger A\u{1b}[31m<b> <x> 9999999999999 +0000\n\n{hostile}\n\n{hostile}\nvalid      \
         approved\n\nConclusion: none\nRuleset: {ruleset}\nOpen: {hostile}\n"
    );
    let huge = format!("{object}tag approved/huge\ntagger A <x> 0 +0000\n\n{}", "long ".repeat(400_000));
    let long = &huge.replace("huge", "long")[..200_000];
    let tags = [("x", x.as_str()), ("huge", huge.as_str()), ("long", long), ("broken", object.as_str())];
    for (tag, object) in tags {
        write_tag(&machine, &id, &format!("approved/{tag}"), object);
    }
    let out = machine.refuses(&["check", "--signatures"], &[]).out;
    assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{out:?}");
    assert!(!out.contains('\u{202e}') && out.len() < 5_000, "{out:?}");
    // No line of user text passes for a trailer.
    assert!(out.lines().all(|line| !line.starts_with("valid")), "{out:?}");
    let document = verify(&machine, None).0;
    for (tag, state) in [("x", "unsigned"), ("huge", "invalid"), ("long", "unsigned"), ("broken", "invalid")]
    {
        assert_eq!(of(&document, &format!("approved/{tag}"))["state"], state, "{tag}");
    }
}

#[test]
fn no_tool_of_the_server_signs_off() {
    let (machine, id) = one(&Sandbox::new());
    machine.sandbox.configure("tag.gpgSign", "true");
    let mut server = machine.server();
    let listed = server.request("tools/list", json!({}))["result"]["tools"].clone();
    // Text from a call does not become part of a tag name.
    let name = "approved/x";
    let end = json!({"sessionId": id, "stopped": {"reason": "budget", "note": name}, "conclusion": name, "agentId": name});
    server.call("tot_end", end);
    for tool in listed.as_array().unwrap() {
        let tool = tool["name"].as_str().unwrap();
        assert!(!["approv", "reject", "sign", "verify"].iter().any(|word| tool.contains(word)), "{tool}");
        server.call(tool, json!({"sessionId": id, "nodeId": name, "tag": name, "approve": true}));
    }
    assert_eq!(machine.git(&id, &["tag"]), "ended/1");
}

#[test]
fn a_report_shows_as_approved_only_what_was_checked() {
    let (machine, id) = one(&Sandbox::new());
    machine.start();
    approve(&machine, &["--unsigned", "-i", &id]);
    let signed = approve(&machine, &["-i", &id]);
    let allowed = allowed(&machine.sandbox, "anna", "");
    let repository = format!("one/{id}");
    let report = |what: &str, more: &[&str]| {
        let ran = machine.sandbox.run(TOT_REPORT, &[&[what, "--out", "site"], more].concat());
        assert_eq!(ran.status, 0, "{ran:?}");
        fs::read_to_string(machine.sandbox.path("site/index.html")).unwrap()
    };
    for what in ["one", &repository] {
        let page = report(what, &[]);
        assert_says(&page, &[">Approval, not checked<", ">Unsigned approval<"]);
        assert!(!page.contains(">Approved<"), "{page}");
        let page = report(what, &["--allowed-signers", &allowed]);
        assert_says(&page, &[">Approved<", ">Unsigned approval<"]);
    }
    // An earlier state does not mention it.
    let page = report(&repository, &["--allowed-signers", &allowed, "--rev", "HEAD~1"]);
    assert!(!page.contains("Sign-offs") && !page.contains(&signed), "{page}");
    // The server has no keys to check signatures with.
    let reply = machine.call("tot_report", json!({"sessionId": id}));
    let page = fs::read_to_string(reply["index"].as_str().unwrap()).unwrap();
    assert!(page.contains(">Approval, not checked<") && !page.contains(">Approved<"), "{page}");
    let exported: Value =
        serde_json::from_str(&machine.ok(&["export", "-i", &id, "--format", "json"])).unwrap();
    let states: BTreeSet<&str> =
        exported["signOffs"].as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, BTreeSet::from(["unchecked", "unsigned"]));
}
