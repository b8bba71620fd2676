//! Changes between two commits, and sites of several investigations, some of them damaged, through the real binary.

use std::path::Path;

use serde_json::json;

use super::{page, published};
use crate::support::{Sandbox, Session, TOT_REPORT, copy_new};

/// Returns the page with the changes between two commits.
fn compared(sandbox: &Sandbox, repository: &Path, range: &str) -> String {
    page(&published(sandbox, repository, &["--compare", range]).unwrap(), "compare.html")
}

#[test]
fn two_commits_are_compared_whatever_they_are_called() {
    let session = Session::grown(&Sandbox::new(), &["R2.A1"], "DEAD");
    let repository = session.repository();
    let page = |range: &str| compared(&session.sandbox, &repository, range);
    session.git(&["tag", "before", "HEAD~2"]);
    for range in ["before..", "before..HEAD", "HEAD~2..main", "before..refs/heads/main"] {
        let page = page(range);
        assert!(page.contains("nodes/R2.A1.html") && !page.contains("nodes/R1.A.html"), "{range}");
        assert!(page.contains("2 commits later"), "{range}");
    }
    let first = session.git(&["rev-list", "--max-parents=0", "HEAD"]);
    assert!(page(&format!("{}..", first.trim())).contains("nodes/R1.A.html"));
    let back = page("HEAD..before");
    assert!(back.contains("The second commit is older than the first.") && back.contains("Title of R2.A1"));
    assert!(page("HEAD..HEAD").contains("Both sides are the same commit."));
    // A branch next to it: neither is an ancestor of the other.
    session.git(&["checkout", "-q", "-b", "side", "before"]);
    session.sandbox.commit_file(&repository, "notes.md", "Aside.\n");
    let page = page("main..side");
    assert!(page.contains("The commits are on two branches") && page.contains("Title of R2.A1"), "{page}");
}

/// Each conclusion has a page with the changes since the previous one, without an option.
#[test]
fn each_end_is_compared_with_the_next() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1"], "DEAD");
    session.ok("tot_end", json!({"conclusion": "It is not the cable."}));
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
    session.grow(&[("R3.A1a", Some("R2.A1"))], "DEAD");
    session.ok("tot_end", json!({"conclusion": "It is not the plug either."}));
    let site = published(&session.sandbox, &session.repository(), &[]).unwrap();
    let link = "<a href=\"ended-1-2.html\">Changes from ended/1 to ended/2</a>";
    assert!(page(&site, "history.html").contains(link));
    let page = page(&site, "ended-1-2.html");
    for said in ["4 commits later", "nodes/R3.A1a.html", "the cable", "the plug either"] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert_eq!(page.matches("<tr><th scope=\"row\">When</th><td><time ").count(), 1, "{page}");
}

#[test]
fn a_damaged_investigation_does_not_keep_the_others_from_being_shown() {
    let sandbox = Sandbox::new();
    let good = Session::start(&sandbox, json!({}));
    sandbox.sleep(1);
    let damaged = Session::start(&sandbox, json!({}));
    sandbox.commit_file(&damaged.repository(), "investigation.yaml", "version: [");
    std::fs::create_dir(sandbox.root().join("no-repository")).unwrap();
    copy_new(&good.repository(), &sandbox.root().join("01a19b7c-a680-746e-a361-b8f3735ece1a"));

    let said = sandbox.run(TOT_REPORT, &["investigations", "--out", "site"]);
    assert_eq!(said.status, 1, "{said:?}");
    let left_out = format!("left out {}", damaged.id);
    assert!(said.err.contains(&left_out) && said.err.contains("investigation.yaml"), "{said:?}");
    let site = sandbox.path("site");
    let index = page(&site, "index.html");
    for part in ["2 investigations can’t be read", &damaged.id, "is also in"] {
        assert!(index.contains(part), "{index}");
    }
    assert!(!index.contains(sandbox.path("").to_str().unwrap()), "nothing of this machine: {index}");
    let pages = std::fs::read_dir(site).unwrap();
    assert_eq!(pages.filter(|entry| entry.as_ref().unwrap().path().join("history.html").exists()).count(), 1);
    // On its own, it is an error.
    let error = published(&sandbox, &damaged.repository(), &[]).unwrap_err();
    assert!(error.contains("investigation.yaml"), "{error}");
}

#[test]
fn a_missing_ancestor_does_not_keep_two_commits_from_being_compared() {
    let sandbox = Sandbox::new();
    let session = Session::grown(&sandbox, &["R2.A1"], "DEAD");
    let repository = session.repository();
    let (damaged, shallow) = (sandbox.path("damaged"), sandbox.path("shallow"));
    copy_new(&repository, &damaged);
    let lost = sandbox.git(&damaged, &["rev-parse", "HEAD~2"]).trim().to_owned();
    std::fs::remove_file(damaged.join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).unwrap();
    let url = format!("file://{}", repository.display());
    session.git(&["clone", "-q", "--depth", "2", &url, shallow.to_str().unwrap()]);

    for (clone, end) in [(damaged, format!("the commit {lost}")), (shallow, "a shallow clone".to_owned())] {
        assert!(compared(&sandbox, &clone, "HEAD~1..HEAD").contains("1 commit later"));
        let back = compared(&sandbox, &clone, "HEAD..HEAD~1");
        assert!(back.contains("The second commit is older than the first."));
        // The ancestry of the new commit is unknown, because the history ends before both.
        sandbox.git(&clone, &["checkout", "-q", "-B", "side", "HEAD~1"]);
        sandbox.git(&clone, &["commit", "-q", "--allow-empty", "-m", "By hand"]);
        let page = compared(&sandbox, &clone, "side..main");
        assert!(page.contains("in the readable history of the other") && page.contains(&end), "{page}");
    }
}
