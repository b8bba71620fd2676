//! Changes between two commits, and sites of several investigations, some of them damaged, through the real binary.

use serde_json::json;

use crate::support::{Sandbox, Session, TOT_REPORT};

/// Runs `tot-report` in the sandbox. Returns whether it succeeded, and its standard error.
fn report(sandbox: &Sandbox, arguments: &[&str]) -> (bool, String) {
    let output = sandbox.command(TOT_REPORT).args(arguments).output().unwrap();
    (output.status.success(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn two_commits_are_compared_whatever_they_are_called() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let repository = session.repository();
    let source = repository.to_str().unwrap();
    let first = sandbox.git(&repository, &["rev-list", "--max-parents=0", "HEAD"]);
    sandbox.git(&repository, &["tag", "before", "HEAD~2"]);
    let page = |range: &str| {
        let (good, error) = report(&sandbox, &[source, "--compare", range, "--out", "site"]);
        assert!(good, "{error}");
        std::fs::read_to_string(sandbox.path("site/compare.html")).unwrap()
    };
    for range in ["before..", "before..HEAD", "HEAD~2..main", "before..refs/heads/main"] {
        let page = page(range);
        assert!(page.contains("nodes/R2.A1.html") && !page.contains("nodes/R1.A.html"), "{range}");
        assert!(page.contains("2 commits later"), "{range}");
    }
    assert!(page(&format!("{}..", first.trim())).contains("nodes/R1.A.html"));
    let back = page("HEAD..before");
    assert!(back.contains("The second commit is older than the first.") && back.contains("Title of R2.A1"));
    assert!(page("HEAD..HEAD").contains("Both sides are the same commit."));

    // A branch next to it: neither is an ancestor of the other.
    sandbox.git(&repository, &["checkout", "-q", "-b", "side", "before"]);
    std::fs::write(repository.join("nodes/R1/R1.A.yaml"), {
        let text = std::fs::read_to_string(repository.join("nodes/R1/R1.A.yaml")).unwrap();
        text.replace("Findings of R1.A.", "Other findings of R1.A.")
    })
    .unwrap();
    sandbox.git(&repository, &["commit", "-qam", "Edit"]);
    let page = page("main..side");
    assert!(page.contains("The commits are on two branches"));
    assert!(
        page.contains("<mark>Other findings</mark>") || page.contains("Other findings of R1.A."),
        "{page}"
    );
    assert!(page.contains("Title of R2.A1"), "what only main has");
}

/// Each conclusion has a page with the changes since the previous one, without an option.
#[test]
fn each_end_is_compared_with_the_next() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    session.ok("tot_end", json!({"conclusion": "It is not the cable."}));
    let repository = session.repository();
    let render = || {
        let (good, error) = report(&sandbox, &[repository.to_str().unwrap(), "--out", "site"]);
        assert!(good, "{error}");
        std::fs::read_to_string(sandbox.path("site/index.html")).unwrap()
    };
    assert!(!render().contains("Ended more than once"));
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"}));
    session.grow(&[("R3.A1a", Some("R2.A1"))], "DEAD");
    session.ok("tot_end", json!({"conclusion": "It is not the plug either."}));
    assert!(render().contains("<a href=\"ended-1-2.html\">changes from ended/1 to ended/2</a>"));
    let page = std::fs::read_to_string(sandbox.path("site/ended-1-2.html")).unwrap();
    for said in ["4 commits later", "nodes/R3.A1a.html", "the cable", "the plug either"] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert_eq!(page.matches("<tr><th scope=\"row\">When</th><td><time ").count(), 1, "{page}");
}

#[test]
fn a_commit_that_is_not_there_is_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let session = Session::start(&sandbox, json!({}));
    let repository = session.repository();
    let source = repository.to_str().unwrap();
    for (range, reason) in [
        ("nowhere..HEAD", "has no commit `nowhere`. `git -C"),
        ("HEAD..nowhere", "has no commit `nowhere`"),
        ("HEAD~9..", "has no commit `HEAD~9`"),
        ("HEAD", "two dots between them"),
        ("HEAD...HEAD", "two dots between them"),
        ("..HEAD", "two dots between them"),
    ] {
        let (good, error) = report(&sandbox, &[source, "--compare", range, "--out", "site"]);
        assert!(!good && error.contains(reason), "{range}: {error}");
        assert!(!sandbox.path("site").exists());
    }
    let (good, error) = report(&sandbox, &[source, source, "--compare", "HEAD..HEAD", "--out", "site"]);
    assert!(!good && error.contains("--compare takes one investigation"), "{error}");
    // Nor with a folder of several investigations.
    sandbox.sleep(1);
    let _other = Session::start(&sandbox, json!({"query": "Another one?"}));
    let root = sandbox.root();
    let (good, error) =
        report(&sandbox, &[root.to_str().unwrap(), "--compare", "HEAD..HEAD", "--out", "site"]);
    assert!(!good && error.contains("--compare takes one investigation"), "{error}");
}

#[test]
fn a_damaged_investigation_does_not_keep_the_others_from_being_shown() {
    let sandbox = Sandbox::new();
    let good = Session::start(&sandbox, json!({}));
    sandbox.sleep(1);
    let damaged = Session::start(&sandbox, json!({}));
    let (good_id, damaged_id) = (good.id.clone(), damaged.id.clone());
    let repository = damaged.repository();
    std::fs::write(repository.join("investigation.yaml"), "version: [").unwrap();
    sandbox.git(&repository, &["commit", "-qam", "Damage"]);
    drop((good, damaged));
    std::fs::create_dir(sandbox.root().join("no-repository")).unwrap();
    let copy = sandbox.root().join("01a19b7c-a680-746e-a361-b8f3735ece1a");
    sandbox.git(&sandbox.root(), &["clone", "-q", &good_id, copy.to_str().unwrap()]);

    let (well, error) = report(&sandbox, &["investigations", "--out", "site"]);
    assert!(well, "{error}");
    assert!(
        error.contains(&format!("left out {damaged_id}")) && error.contains("investigation.yaml"),
        "{error}"
    );
    let index = std::fs::read_to_string(sandbox.path("site/index.html")).unwrap();
    assert!(index.contains("2 investigations can’t be read"), "{index}");
    assert!(index.contains(&damaged_id) && index.contains("is also in"), "{index}");
    assert!(!index.contains(sandbox.path("").to_str().unwrap()), "nothing of this machine: {index}");
    let pages = std::fs::read_dir(sandbox.path("site")).unwrap();
    assert_eq!(pages.filter(|entry| entry.as_ref().unwrap().path().join("history.html").exists()).count(), 1);
    // On its own, it is an error.
    let (well, error) = report(&sandbox, &[repository.to_str().unwrap(), "--out", "alone"]);
    assert!(!well && error.contains("investigation.yaml"), "{error}");
}

#[test]
fn a_base_url_is_checked_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let session = Session::start(&sandbox, json!({}));
    let source = session.repository();
    let source = source.to_str().unwrap();
    let (well, error) = report(&sandbox, &[source, "--base-url", "example.org", "--out", "site"]);
    assert!(!well && error.contains("like https://example.org/reports/"), "{error}");
    let (well, _) = report(&sandbox, &[source, "--base-url", "https://example.org/x", "--out", "site"]);
    assert!(well && sandbox.path("site/feed.xml").exists());
}

#[test]
fn a_missing_ancestor_does_not_keep_two_commits_from_being_compared() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let repository = session.repository();
    let (home, url) = (sandbox.path("home"), format!("file://{}", repository.display()));
    let damaged = sandbox.path("damaged");
    sandbox.git(&home, &["clone", "-q", &url, damaged.to_str().unwrap()]);
    let pack = std::fs::read_dir(damaged.join(".git/objects/pack")).unwrap();
    let pack =
        pack.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "pack").unwrap();
    let aside = sandbox.path("aside.pack");
    std::fs::rename(&pack, &aside).unwrap();
    let mut unpack = sandbox.command("git");
    unpack.arg("-C").arg(&damaged).args(["unpack-objects", "-q"]);
    assert!(unpack.stdin(std::fs::File::open(&aside).unwrap()).status().unwrap().success());
    std::fs::remove_file(pack.with_extension("idx")).unwrap();
    let lost = sandbox.git(&damaged, &["rev-parse", "HEAD~2"]).trim().to_owned();
    std::fs::remove_file(damaged.join(format!(".git/objects/{}/{}", &lost[..2], &lost[2..]))).unwrap();

    let shallow = sandbox.path("shallow");
    let clone = ["clone", "-q", "--depth", "2", &url, shallow.to_str().unwrap()];
    sandbox.git(&home, &clone);

    for (clone, end) in [(damaged, format!("the commit {lost}")), (shallow, "a shallow clone".to_owned())] {
        let compared = |range: &str| {
            let source = clone.to_str().unwrap();
            let (good, error) = report(&sandbox, &[source, "--compare", range, "--out", "site"]);
            assert!(good, "{error}");
            std::fs::read_to_string(sandbox.path("site/compare.html")).unwrap()
        };
        assert!(compared("HEAD~1..HEAD").contains("1 commit later"));
        assert!(compared("HEAD..HEAD~1").contains("The second commit is older than the first."));
        // The ancestry of the new commit is unknown, because the history ends before both.
        sandbox.git(&clone, &["checkout", "-q", "-B", "side", "HEAD~1"]);
        sandbox.git(&clone, &["commit", "-q", "--allow-empty", "-m", "By hand"]);
        let page = compared("side..main");
        assert!(page.contains("in the readable history of the other") && page.contains(&end), "{page}");
    }
}
