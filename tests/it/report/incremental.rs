//! A site written over an earlier one: unchanged files are not rewritten, and the folder equals a full build.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use tree_of_thoughts::report::{Published, SiteTarget, Writing, write};

use super::page as page_of;
use crate::support::{Sandbox, Session, TOT_REPORT, copy_new, files, node, result, testing::folder};

/// Writes over the earlier site and into a new folder, compares the two, and returns the number of unchanged
/// investigations.
fn renew(sandbox: &Sandbox, what: &str, more: &[&str]) -> usize {
    let report = |out: &str| {
        let said = sandbox.run(TOT_REPORT, &[&["investigations", "--out", out], more].concat());
        assert_eq!(said.status, 0, "{what}: {said:?}");
        said.out
    };
    let said = report("renewed");
    let _ = fs::remove_dir_all(sandbox.path("whole"));
    assert!(!report("whole").contains("unchanged"), "a folder that was not there");
    let [ours, theirs] = ["renewed", "whole"].map(|out| files(&sandbox.path(out), true));
    assert!(ours.keys().eq(theirs.keys()), "{what}");
    for (path, bytes) in &ours {
        assert!(bytes == &theirs[path], "{what}: {} is another", path.display());
    }
    let kept = said.split_once(" unchanged").and_then(|(before, _)| before.rsplit(' ').next());
    kept.map_or(0, |number| number.parse().unwrap())
}

fn three(sandbox: &Sandbox) -> Vec<Session<'_>> {
    (0..3)
        .map(|number| {
            sandbox.sleep(60);
            let mut session =
                Session::start(sandbox, json!({"mode": "smoke", "title": format!("No. {number}")}));
            session.grow(&[("R1.A", None)], "EXPLORE");
            session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
            session
        })
        .collect()
}

#[test]
fn a_site_over_an_earlier_one_is_what_a_new_one_would_be() {
    let sandbox = Sandbox::new();
    let mut all = three(&sandbox);
    assert_eq!(renew(&sandbox, "the first run", &[]), 0);
    assert_eq!(renew(&sandbox, "no change", &[]), 3);

    all[1].grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    assert_eq!(renew(&sandbox, "a commit", &[]), 2);
    let new = sandbox.path("renewed").join(&all[1].id).join("nodes/R3.A1a.html");
    assert!(new.exists());

    let second = all[1].repository();
    sandbox.git(&second, &["tag", "here", "HEAD~1"]);
    assert_eq!(renew(&sandbox, "a tag", &[]), 2);
    sandbox.git(&second, &["tag", "-a", "-m", "It holds.", "approved/1"]);
    assert_eq!(renew(&sandbox, "an approval", &[]), 2);
    sandbox.git(&second, &["tag", "-d", "here", "approved/1"]);
    assert_eq!(renew(&sandbox, "tags that are gone", &[]), 2);

    // Reset to an earlier commit, and back.
    let newest = sandbox.head(&second);
    sandbox.git(&second, &["reset", "-q", "--hard", "HEAD~2"]);
    assert_eq!(renew(&sandbox, "an earlier commit", &[]), 2);
    assert!(!new.exists());
    sandbox.git(&second, &["reset", "-q", "--hard", &newest]);
    assert_eq!(renew(&sandbox, "and back", &[]), 2);

    // Withheld text is left out as soon as the list is committed.
    sandbox.commit_file(&second, "withheld.yaml", "withheld:\n- nodes: [R2.A1]\n  by: Anna\n  why: a name\n");
    assert_eq!(renew(&sandbox, "a list of what is withheld", &[]), 2);

    assert_eq!(renew(&sandbox, "a base URL", &["--base-url", "https://example.org/"]), 0);
    assert_eq!(renew(&sandbox, "the same base URL", &["--base-url", "https://example.org/"]), 3);
    assert_eq!(renew(&sandbox, "none again", &[]), 0);

    let template = sandbox.path("template");
    fs::create_dir(&template).unwrap();
    fs::write(template.join("status.html"), "One.\n").unwrap();
    let with_template = ["--template", "template"];
    assert_eq!(renew(&sandbox, "a template", &with_template), 0);
    assert_eq!(renew(&sandbox, "the same template", &with_template), 3);
    fs::write(template.join("status.html"), "Two.\n").unwrap();
    assert_eq!(renew(&sandbox, "a changed template", &with_template), 0);
    assert_eq!(renew(&sandbox, "no template", &[]), 0);

    fs::rename(&second, sandbox.path("elsewhere")).unwrap();
    assert_eq!(renew(&sandbox, "one that is gone", &[]), 2);
    assert!(!sandbox.path("renewed").join(&all[1].id).exists());
    // A second folder with the same investigation.
    copy_new(&all[0].repository(), &sandbox.root().join("zz-copy"));
    assert_eq!(renew(&sandbox, "a copy", &[]), 2);
    let index = page_of(&sandbox.path("renewed"), "index.html");
    assert!(index.contains(&format!("is also in {}", all[0].id)), "{index}");
    fs::remove_dir_all(sandbox.root().join("zz-copy")).unwrap();
    fs::rename(sandbox.path("elsewhere"), &second).unwrap();
    assert_eq!(renew(&sandbox, "one that is back", &[]), 2);

    // A problem may disappear without a commit, for example when a missing object is fetched.
    sandbox.commit_file(&all[2].repository(), "nodes/R2/R2.A1.yaml", "version: 1\nid: [not, an, id]\n");
    assert_eq!(renew(&sandbox, "a fault", &[]), 2);
    assert_eq!(renew(&sandbox, "the same fault", &[]), 2);

    // The only investigation of a site is reused as a whole.
    all[1..].iter().for_each(|gone| fs::remove_dir_all(gone.repository()).unwrap());
    assert_eq!(renew(&sandbox, "a site of one", &[]), 0);
    assert_eq!(renew(&sandbox, "no change to it", &[]), 1);
    assert_eq!(renew(&sandbox, "a withheld node", &["--withhold", "R2.A1"]), 0);
    assert_eq!(renew(&sandbox, "its last commit but one", &["--rev", "HEAD~1"]), 0);
    assert_eq!(renew(&sandbox, "its newest again", &[]), 0);
    all[0].grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    assert_eq!(renew(&sandbox, "a commit to it", &[]), 0);
}

#[test]
fn what_was_damaged_by_hand_is_mended() {
    let sandbox = Sandbox::new();
    let all = three(&sandbox);
    assert_eq!(renew(&sandbox, "the first run", &[]), 0);
    let site = sandbox.path("renewed");
    let page = site.join(&all[0].id).join("nodes/R1.A.html");
    let bytes = fs::read(&page).unwrap();

    let mut other = bytes.clone();
    other[100] ^= 1;
    fs::write(&page, &other).unwrap();
    assert_eq!(renew(&sandbox, "a page of the same length", &[]), 2);
    fs::write(&page, "").unwrap();
    assert_eq!(renew(&sandbox, "an empty page", &[]), 2);
    fs::remove_file(&page).unwrap();
    assert_eq!(renew(&sandbox, "a page that is gone", &[]), 2);
    // Rewritten with its previous content.
    fs::write(&page, &bytes).unwrap();
    assert_eq!(renew(&sandbox, "a page with another time", &[]), 3);
    // Renewed by each run.
    fs::write(site.join("index.html"), "").unwrap();
    fs::write(site.join("assets/style.css"), "").unwrap();
    assert_eq!(renew(&sandbox, "files of all", &[]), 3);

    let manifest = site.join(".tot-report.parts");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("No. 1", "No. 7")).unwrap();
    assert_eq!(renew(&sandbox, "a manifest that lies", &[]), 0);
    fs::remove_file(&manifest).unwrap();
    assert_eq!(renew(&sandbox, "no manifest", &[]), 0);
    assert_eq!(renew(&sandbox, "and all is well", &[]), 3);
    // A page that is a link is not ours, and nothing is changed.
    fs::remove_file(&page).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &page).unwrap();
    let said = sandbox.run(TOT_REPORT, &["investigations", "--out", "renewed"]);
    assert!(said.err.contains("was not written by this program"), "{said:?}");
}

/// The cited project files may change without a commit to the investigation.
#[test]
fn evidence_that_has_changed_is_told() {
    let sandbox = Sandbox::new();
    let project = sandbox.path("project");
    fs::create_dir(&project).unwrap();
    sandbox.git(&project, &["init", "-q", "-b", "main"]);
    sandbox.commit_file(&project, "cache.rs", "fn cache() {}\n");
    let mut cites = Session::start(&sandbox, json!({"mode": "smoke"}));
    cites.server = sandbox.server_with(&["--project", "project"]);
    cites.ok("tot_propose", json!({"nodes": [node("R1.A", None)]}));
    sandbox.sleep(60);
    let mut found = result("R1.A", "EXPLORE");
    found["references"] = json!([{"target": "cache.rs:1"}]);
    cites.ok("tot_commit", json!({"results": [found]}));
    let _other = Session::begun(&sandbox);

    let of_project = ["--project", "project"];
    assert_eq!(renew(&sandbox, "the first run", &of_project), 0);
    assert_eq!(renew(&sandbox, "no change", &of_project), 2);
    fs::write(project.join("cache.rs"), "fn cache() { fill() }\n").unwrap();
    assert_eq!(renew(&sandbox, "another file", &of_project), 1);
    sandbox.git(&project, &["remote", "add", "origin", "https://github.com/owner/name.git"]);
    assert_eq!(renew(&sandbox, "another forge", &of_project), 0);
}

#[test]
fn a_file_that_is_put_there_while_a_site_is_made_is_not_removed() {
    let folder = folder();
    let out = folder.path().join("site");
    let site = |text: &str| [("index.html".to_owned(), text.as_bytes().to_vec())].into();
    write(&site("first"), &out).unwrap();
    let writing = Writing::begin(&out).unwrap();
    writing.put("index.html", b"second".to_vec()).unwrap();
    fs::write(out.join("CNAME"), "example.org").unwrap();
    let error = writing.finish(&Published::default()).unwrap_err().to_string();
    assert!(error.contains("CNAME") && !error.contains(".tot-old"), "{error}");
    assert_eq!(fs::read_to_string(out.join("CNAME")).unwrap(), "example.org");
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "first");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

/// Otherwise, text that is withheld later would stay in it.
#[test]
fn what_a_killed_run_has_left_beside_the_site_is_gone_after_the_next() {
    let folder = folder();
    let out = folder.path().join("site");
    let abandoned = |number: u32, within: &str| {
        let abandoned = folder.path().join(format!(".site.tot-0-{number}"));
        fs::create_dir_all(abandoned.join(within)).unwrap();
        fs::write(abandoned.join("lock"), "").unwrap();
        fs::write(abandoned.join(within).join("index.html"), "a text").unwrap();
        abandoned
    };
    let new = abandoned(0, "new");
    // It may contain files that somebody has put into the folder.
    let old = abandoned(1, "old");
    let running = Writing::begin(&out).unwrap();
    write(&[("index.html".to_owned(), b"done".to_vec())].into(), &out).unwrap();
    assert!(!new.exists());
    assert!(old.exists());
    running.put("index.html", b"another".to_vec()).unwrap();
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_nothing_and_changes_nothing() {
    let sandbox = Sandbox::new();
    for _ in 0..40 {
        Session::start(&sandbox, json!({"query": "Why is it slow?"})).grow(&[("R1.A", None)], "EXPLORE");
    }
    let folder = folder();
    let out = folder.path().join("site");
    write(&[("index.html".to_owned(), b"before".to_vec())].into(), &out).unwrap();
    let mut run = sandbox.command(TOT_REPORT);
    let mut run = run.arg(sandbox.root()).arg("--out").arg(&out).stderr(Stdio::piped()).spawn().unwrap();
    let begun = || fs::read_dir(folder.path()).unwrap().count() > 1;
    while !begun() {
        assert!(run.try_wait().unwrap().is_none(), "it has ended before it was interrupted");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let signalled = Command::new("kill").args(["-INT", &run.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let output = run.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
