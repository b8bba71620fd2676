//! What is not to be public, through every door by which an investigation is published.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Sandbox, Session, TOT, TOT_REPORT};

/// A word of one node alone.
const SECRET: &str = "Quetzalcoatl";
const LABEL: &str = "Withheld by Anna: names a customer";
const LIST: &str = "withheld:\n- nodes: [R2.A1]\n  by: Anna\n  why: names a customer\n";

/// An investigation whose node R2.A1 has the secret in what was proposed, committed, changed and amended.
fn secret(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::start(sandbox, json!({"mode": "smoke"}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let text = |what: &str| format!("The {what} of {SECRET} is here.");
    let proposal =
        json!({"id": "R2.A1", "parent": "R1.A", "title": text("title"), "plannedAction": text("plan")});
    let other = json!({"id": "R2.A2", "parent": "R1.A", "title": "Another", "plannedAction": "Look."});
    session.ok("tot_propose", json!({"nodes": [proposal, other]}));
    sandbox.sleep(60);
    let result = json!({
        "nodeId": "R2.A1", "state": "EXPLORE", "agentId": "one", "headline": text("headline"), "findings": text("findings"),
        "evidence": text("evidence"), "alternativesConsidered": [text("alternative")],
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

/// Runs `tot-report`, and gives the folder; or what it said where it refused.
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

/// The files below a folder in which a word is.
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
        // An earlier state, from before the list, and what was changed since.
        &["--rev", "HEAD~2"],
        &["--compare", "HEAD~3.."],
        &["--base-url", "https://example.org/"],
    ] {
        let site = report(&sandbox, &repository, more).unwrap();
        assert_eq!(with_word(&site, SECRET), none, "{more:?}");
        assert!(with_word(&site, LABEL).len() > 4, "{more:?}");
    }
    // Among several.
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
        (["--withhold", "R2.A7"], "R2.A7 is to be withheld, and is not a node"),
        (["--withhold", "nonsense"], "nonsense"),
    ] {
        let said = report(&sandbox, &repository, &arguments).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    let said = report(&sandbox, &sandbox.root(), &["--withhold", "R2.A1"]);
    // There is only one in it.
    assert!(said.is_ok());
}

#[test]
fn where_the_list_is_not_understood_nothing_is_published() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    for (list, words) in [
        ("withheld: [R2.A1]\n", "withheld.yaml"),
        ("withheld:\n- nodes: [R2.A9]\n  by: Anna\n", "R2.A9 is to be withheld"),
        ("nodes: [R2.A1]\n", "withheld.yaml"),
    ] {
        commit(&sandbox, &repository, list);
        let said = report(&sandbox, &repository, &[]).unwrap_err();
        assert!(said.contains(words), "{said}");
        let refused = session.call("tot_report", json!({}));
        assert_eq!(refused["status"], "REJECTED", "{refused:#}");
        assert!(refused["errors"][0]["message"].as_str().unwrap().contains(words), "{refused:#}");
    }
    // Among several, the others are published.
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
