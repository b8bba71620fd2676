//! Withheld text, in every way of publishing an investigation.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Sandbox, Session, TOT, TOT_REPORT};

/// A word that occurs in only one node.
const SECRET: &str = "Quetzalcoatl";
const LABEL: &str = "Withheld by Anna: names a customer";
const LIST: &str = "withheld:\n- nodes: [R2.A1]\n  by: Anna\n  why: names a customer\n";

/// An investigation with the secret in the proposal, result, state change and amendment of R2.A1.
fn secret(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::begun(sandbox);
    let text = |what: &str| format!("The {what} of {SECRET} is here.");
    let proposal =
        json!({"id": "R2.A1", "parent": "R1.A", "title": text("title"), "plannedAction": text("plan")});
    let other = json!({"id": "R2.A2", "parent": "R1.A", "title": "Another", "plannedAction": "Look."});
    session.ok("tot_propose", json!({"nodes": [proposal, other]}));
    sandbox.sleep(60);
    let result = json!({
        "nodeId": "R2.A1", "state": "EXPLORE", "agentId": "one", "headline": text("headline"), "findings": text("findings"),
        "evidence": text("evidence"), "alternativesConsidered": [text("alternative")], "caveats": [text("caveat")],
        "commands": [{"command": text("command")}], "references": [{"target": format!("https://{SECRET}.example.org")}],
    });
    let other = json!({"nodeId": "R2.A2", "state": "EXPLORE", "agentId": "two", "findings": "Nothing."});
    session.ok("tot_commit", json!({"results": [result, other]}));
    let amended = json!({"nodeId": "R2.A1", "findings": text("new findings"), "reason": text("amendment")});
    session.ok("tot_amend", amended);
    session
}

fn commit(sandbox: &Sandbox, repository: &Path, text: &str) {
    std::fs::write(repository.join("withheld.yaml"), text).unwrap();
    sandbox.git(repository, &["add", "withheld.yaml"]);
    sandbox.git(repository, &["commit", "-q", "-m", "Say what is not to be public"]);
}

/// Runs `tot-report`, and returns the folder, or the message if it refused.
fn report(sandbox: &Sandbox, what: &Path, more: &[&str]) -> Result<PathBuf, String> {
    let out = sandbox.path("site");
    let _ = std::fs::remove_dir_all(&out);
    let output = sandbox.command(TOT_REPORT).arg(what).arg("--out").arg(&out).args(more).output().unwrap();
    match output.status.success() {
        true => Ok(out),
        false => {
            assert!(!out.exists());
            Err(String::from_utf8(output.stderr).unwrap())
        }
    }
}

/// Returns everything published about an investigation in a root, each with its name: sites with the history, files,
/// and the difference from the first commit.
#[cfg(unix)]
fn published(sandbox: &Sandbox, root: &Path, id: &str) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for more in [&[][..], &["--rev", "HEAD~1"], &["--rev", "HEAD^2"], &["--compare", "HEAD~2..HEAD"]] {
        let site = report(sandbox, &root.join(id), more).unwrap();
        for path in with_word(&site, "") {
            all.push((format!("{} {more:?}", path.display()), std::fs::read(&path).unwrap()));
        }
    }
    let tot = |arguments: &[&str]| {
        let mut command = sandbox.command(TOT);
        let output = command.args(arguments).arg("--root").arg(root).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        (format!("{arguments:?}"), output.stdout)
    };
    for format in ["json", "markdown", "csv", "dot", "svg", "mermaid", "html"] {
        all.push(tot(&["export", id, "--format", format]));
    }
    all.push(tot(&["diff", id, "HEAD~1..HEAD"]));
    all.push(tot(&["diff", "--markdown", id, "HEAD^2..HEAD"]));
    all
}

/// Returns the files below a folder that contain a word.
fn with_word(folder: &Path, word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(with_word(&path, word));
        } else if has(&std::fs::read(&path).unwrap(), word) {
            found.push(path);
        }
    }
    found
}

fn has(bytes: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(bytes).to_lowercase().contains(&word.to_lowercase())
}

#[test]
fn a_committed_list_holds_for_every_door() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    assert!(with_word(&report(&sandbox, &repository, &[]).unwrap(), SECRET).len() > 8);
    commit(&sandbox, &repository, LIST);
    let none = Vec::<PathBuf>::new();
    for more in [
        &[][..],
        // An earlier state, from before the list, and the changes since then.
        &["--rev", "HEAD~2"],
        &["--compare", "HEAD~3.."],
        &["--base-url", "https://example.org/"],
    ] {
        let site = report(&sandbox, &repository, more).unwrap();
        assert_eq!(with_word(&site, SECRET), none, "{more:?}");
        assert!(with_word(&site, LABEL).len() > 4, "{more:?}");
    }
    // Among several investigations.
    Session::start(&sandbox, json!({}));
    assert_eq!(with_word(&report(&sandbox, &sandbox.root(), &[]).unwrap(), SECRET), none);
    let index = session.ok("tot_report", json!({}))["index"].as_str().unwrap().to_owned();
    assert_eq!(with_word(Path::new(&index).parent().unwrap(), SECRET), none);
    let tot = |arguments: &[&str]| {
        let mut command = sandbox.command(TOT);
        let output = command.args(arguments).arg("--root").arg(sandbox.root()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    for format in ["json", "markdown", "csv", "dot", "svg", "mermaid", "html"] {
        let text = tot(&["export", &session.id, "--format", format]);
        assert!(!has(&text, SECRET) && has(&text, "Withheld by Anna"), "{format}");
    }
    let text = tot(&["diff", "--markdown", &session.id, "HEAD~4..HEAD"]);
    assert!(!has(&text, SECRET) && has(&text, "Withheld by Anna"), "{}", String::from_utf8_lossy(&text));
}

#[test]
fn nodes_can_be_named_when_it_is_published() {
    let sandbox = Sandbox::new();
    let session = secret(&sandbox);
    let repository = session.repository();
    let site = report(&sandbox, &repository, &["--withhold", "R1.A", "--withhold", "R2.A1"]).unwrap();
    assert_eq!(with_word(&site, SECRET), Vec::<PathBuf>::new());
    assert_eq!(with_word(&site, "Title of R1.A"), Vec::<PathBuf>::new());
    assert!(!with_word(&site, "Withheld by the publisher").is_empty());
    for (arguments, words) in [
        (["--withhold", "R2.A7"], "R2.A7 can't be withheld: it is not a node"),
        (["--withhold", "nonsense"], "nonsense"),
    ] {
        let said = report(&sandbox, &repository, &arguments).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    let said = report(&sandbox, &sandbox.root(), &["--withhold", "R2.A1"]);
    // The root has only one.
    assert!(said.is_ok());
}

#[test]
fn where_the_list_is_not_understood_nothing_is_published() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    for (list, words) in [
        ("withheld: [R2.A1]\n", "withheld.yaml"),
        ("withheld:\n- nodes: [R2.A9]\n  by: Anna\n", "R2.A9 can't be withheld"),
        ("nodes: [R2.A1]\n", "withheld.yaml"),
    ] {
        commit(&sandbox, &repository, list);
        let said = report(&sandbox, &repository, &[]).unwrap_err();
        assert!(said.contains(words), "{said}");
        let refused = session.call("tot_report", json!({}));
        assert_eq!(refused["status"], "REJECTED", "{refused:#}");
        assert!(refused["errors"][0]["message"].as_str().unwrap().contains(words), "{refused:#}");
    }
    // Among several investigations, the others are published.
    let other = Session::start(&sandbox, json!({})).id;
    let site = report(&sandbox, &sandbox.root(), &[]).unwrap();
    assert_eq!(with_word(&site, SECRET), Vec::<PathBuf>::new());
    assert!(!with_word(&site, &other).is_empty());
    #[cfg(unix)]
    {
        std::fs::remove_file(repository.join("withheld.yaml")).unwrap();
        std::os::unix::fs::symlink("README.md", repository.join("withheld.yaml")).unwrap();
        sandbox.git(&repository, &["add", "withheld.yaml"]);
        sandbox.git(&repository, &["commit", "-q", "-m", "Link"]);
        let said = report(&sandbox, &repository, &[]).unwrap_err();
        assert!(said.contains("withheld.yaml is not a file"), "{said}");
    }
}

#[cfg(unix)]
#[test]
fn a_merge_that_gives_a_withheld_node_another_id_publishes_nothing_of_it() {
    use crate::remote::team;

    let sandbox = Sandbox::new();
    let (_, one, other, id) = team(&sandbox);
    let propose = |machine: &crate::remote::Machine, word: &str| {
        sandbox.sleep(60);
        let node = json!({"id": "R2.A1", "parent": "R1.A", "title": format!("About {word}"), "plannedAction": format!("Ask {word}.")});
        machine.server().ok("tot_propose", json!({"sessionId": id, "nodes": [node]}));
        sandbox.sleep(60);
        let result = json!({"nodeId": "R2.A1", "state": "EXPLORE", "findings": format!("It is {word}."), "agentId": word,
            "attachments": [{"name": format!("{word}.txt"), "text": word}]});
        machine.server().ok("tot_commit", json!({"sessionId": id, "results": [result]}));
        let said = json!({"sessionId": id, "nodeId": "R2.A1", "kind": "objection", "text": format!("Not {word}."), "agentId": "x"});
        machine.server().ok("tot_comment", said);
    };
    propose(&other, "Innocent");
    // Later, so that this proposal is the one that moves. Its agent's name differs from its findings.
    propose(&one, SECRET);
    let repository = one.repository(&id);
    let agent = repository.join("nodes/R2/R2.A1.yaml");
    std::fs::write(
        &agent,
        std::fs::read_to_string(&agent).unwrap().replace(&format!("agentId: {SECRET}"), "agentId: y"),
    )
    .unwrap();
    sandbox.git(&repository, &["commit", "-q", "-a", "--amend", "-m", "Commit"]);
    sandbox.git(&repository, &["reset", "-q", "--soft", "HEAD~2"]);
    sandbox.git(&repository, &["commit", "-q", "-m", "Research"]);
    commit(&sandbox, &repository, LIST);
    other.synced();
    one.synced();
    other.synced();
    let list = std::fs::read_to_string(repository.join("withheld.yaml")).unwrap();
    let moved = one.nodes(&id).into_iter().find(|node| node.starts_with("R2.A1") && node != "R2.A1").unwrap();
    assert_eq!(list, LIST.replace("[R2.A1]", &format!("\n  - {moved}")).replace("nodes: ", "nodes:"));
    let message = sandbox.git(&repository, &["log", "-1", "--format=%B"]);
    let told = format!("Merged: R2.A1 renamed to {moved}\n");
    assert!(message.contains(&told) && !message.contains(SECRET), "{message}");
    for machine in [&one, &other] {
        let all = published(&sandbox, &machine.root, &id);
        for (name, bytes) in &all {
            assert!(!has(bytes, SECRET), "{name}: {}", String::from_utf8_lossy(bytes));
        }
        let shown = all.iter().filter(|(_, bytes)| has(bytes, "About Innocent")).count();
        assert!(shown > 30, "{shown} of {} show the other node", all.len());
    }
}

#[test]
fn messages_do_not_say_what_is_withheld_in_others_words() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke", "allowEarlyTerminal": true}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let title = format!("A title with {SECRET} in it");
    let answer = json!({"id": "R2.A1", "parent": "R1.A", "title": title, "plannedAction": "Look."});
    session.ok("tot_propose", json!({"nodes": [answer]}));
    sandbox.sleep(60);
    let result = json!({"nodeId": "R2.A1", "state": "FOUND", "agentId": "one", "findings": format!("It is {SECRET}."),
        "headline": format!("{SECRET} is it"), "evidence": format!("{SECRET} was seen three times."),
        "verificationMethod": "Looked at it again.", "alternativesConsidered": ["One", "Another", "A third"]});
    session.ok("tot_commit", json!({"results": [result]}));
    let objection = json!({"nodeId": "R2.A1", "kind": "objection", "agentId": "two", "text": format!("Nobody but {SECRET} says so.")});
    session.ok("tot_comment", objection);
    let end = json!({"conclusion": "It is known.", "answers": ["R2.A1"], "stopped": {"reason": "enough"}});
    let ended = session.ok("tot_end", end);
    assert!(ended["warnings"].to_string().contains("OBJECTION_OPEN"), "{ended:#}");
    let repository = session.repository();
    let message = sandbox.git(&repository, &["log", "-1", "--format=%B"]);
    assert!(message.contains("OBJECTION_OPEN") && !message.contains(SECRET), "{message}");
    // As older conclusions said it, and as a person may.
    for message in [
        format!("End\n\nanswer R2.A1: {SECRET} is it\n"),
        format!("End\n\n    OBJECTION_OPEN: two objects to R2.A1: “Nobody but {SECRET} says so.”.\n"),
        format!("Note that {SECRET} was seen three times, or so it was told"),
    ] {
        sandbox.git(&repository, &["commit", "-q", "--allow-empty", "-m", &message]);
    }
    sandbox.git(&repository, &["commit", "-q", "--allow-empty", "-m", "Say what all may know"]);
    commit(&sandbox, &repository, LIST);
    let site = report(&sandbox, &repository, &[]).unwrap();
    assert_eq!(with_word(&site, SECRET), Vec::<PathBuf>::new());
    let history = std::fs::read_to_string(site.join("history.html")).unwrap();
    assert!(history.contains("Say what all may know") && history.contains("It is known."), "{history}");
}

#[test]
fn a_list_that_is_not_committed_is_not_passed_over() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    let none = Vec::<PathBuf>::new();
    // An earlier site is not reused either.
    report(&sandbox, &repository, &[]).unwrap();
    std::fs::write(repository.join("withheld.yaml"), LIST).unwrap();
    let (root, out) = (sandbox.root(), sandbox.path("out"));
    let (site, text) = (sandbox.path("site"), |path: &Path| path.to_str().unwrap().to_owned());
    let id = session.id.clone();
    let commands: Vec<(&str, Vec<String>)> = [
        (TOT_REPORT, vec![text(&repository), "--out".into(), text(&site)]),
        (TOT_REPORT, vec![text(&repository), "--out".into(), text(&out)]),
        (TOT_REPORT, vec![text(&repository), "--single-file".into(), text(&out)]),
        (TOT_REPORT, vec![text(&repository), "--serve".into(), "127.0.0.1:0".into()]),
        (TOT, vec!["report".into(), id.clone(), "--out".into(), text(&out)]),
        (TOT, vec!["open".into(), id.clone()]),
        (TOT, vec!["diff".into(), "--markdown".into(), id.clone(), "HEAD~1..HEAD".into()]),
    ]
    .into_iter()
    .chain(
        ["json", "markdown", "csv", "dot", "svg", "mermaid", "html"]
            .map(|format| (TOT, vec!["export".into(), id.clone(), "--format".into(), format.to_owned()])),
    )
    .collect();
    for (program, arguments) in &commands {
        let mut command = sandbox.command(program);
        if *program == TOT {
            command.arg("--root").arg(&root);
        }
        let output = command.args(arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        for part in ["withheld.yaml has uncommitted changes", "git add withheld.yaml", "--ignore-uncommitted"]
        {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
        assert!(output.stdout.is_empty() && !out.exists(), "{arguments:?}");
    }
    let refused = session.call("tot_report", json!({}));
    assert_eq!(refused["errors"][0]["code"], "REPORT_ERROR", "{refused:#}");
    // The committed list counts, as the message says.
    assert!(
        !with_word(&report(&sandbox, &repository, &["--ignore-uncommitted"]).unwrap(), SECRET).is_empty()
    );
    commit(&sandbox, &repository, LIST);
    assert_eq!(with_word(&report(&sandbox, &repository, &[]).unwrap(), SECRET), none);
    std::fs::write(repository.join("withheld.yaml"), LIST.replace("R2.A1", "R1.A")).unwrap();
    assert!(report(&sandbox, &repository, &[]).unwrap_err().contains("has uncommitted changes"));
    assert_eq!(with_word(&report(&sandbox, &repository, &["--ignore-uncommitted"]).unwrap(), SECRET), none);
}
