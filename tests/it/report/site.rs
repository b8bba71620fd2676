//! From repositories to a site.

use serde_json::json;

use crate::support::{Sandbox, Session, TOT_REPORT};

#[test]
fn a_bare_clone_gives_the_same_site() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let bare = sandbox.path("bare.git");
    let repository = session.repository();
    sandbox.git(
        &sandbox.path("home"),
        &["clone", "-q", "--bare", repository.to_str().unwrap(), bare.to_str().unwrap()],
    );
    for (name, source) in [("one", &repository), ("two", &bare)] {
        let output =
            sandbox.command(TOT_REPORT).arg(source).arg("--out").arg(sandbox.path(name)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "silent in a pipe");
    }
    let page = |name: &str| std::fs::read_to_string(sandbox.path(name).join("index.html")).unwrap();
    assert_eq!(page("one"), page("two"));
    assert!(page("one").contains("Why is the sky blue?"));
}

#[test]
fn an_earlier_commit_can_be_seen() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let out = sandbox.path("site");
    let status = sandbox
        .command(TOT_REPORT)
        .arg(session.repository())
        .args(["--rev", "HEAD~2", "--out"])
        .arg(&out)
        .status()
        .unwrap();
    assert!(status.success());
    assert!(out.join("nodes/R1.A.html").exists());
    assert!(!out.join("nodes/R2.A1.html").exists());
}

#[test]
fn one_investigation_is_one_file_where_that_is_asked_for() {
    let sandbox = Sandbox::new();
    let session = Session::begun(&sandbox);
    let file = sandbox.path("sky.html");
    let report = |what: &std::path::Path| {
        sandbox.command(TOT_REPORT).arg(what).arg("--single-file").arg(&file).output().unwrap()
    };
    let output = report(&session.repository());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(&file).unwrap();
    assert!(
        page.contains("Why is the sky blue?")
            && page.contains("Findings of <a class=\"node-ref\" href=\"#n-R1.A\"")
    );
    sandbox.sleep(1);
    Session::start(&sandbox, json!({}));
    let output = report(&sandbox.root());
    assert!(String::from_utf8_lossy(&output.stderr).contains("takes one investigation"));
}

#[test]
fn what_is_no_investigation_is_named() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("empty")).unwrap();
    for (name, reason) in [("empty", "contains no investigation"), ("absent", "does not exist")] {
        let output = sandbox.command(TOT_REPORT).arg(name).args(["--out", "site"]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1));
        assert!(error.contains(name) && error.contains(reason), "{error}");
        assert!(!sandbox.path("site").exists());
    }
}

#[test]
fn a_node_that_cannot_be_read_costs_its_own_pages_only() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "EXPLORE");
    let repository = session.repository();
    std::fs::write(repository.join("nodes/R2/R2.A1.yaml"), "version: 1\nid: [not, an, id]\n").unwrap();
    sandbox.git(&repository, &["commit", "-q", "-am", "Break a node"]);
    let out = sandbox.path("site");
    let output = sandbox.command(TOT_REPORT).arg(&repository).arg("--out").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = |path: &str| std::fs::read_to_string(out.join(path)).unwrap();
    assert!(!out.join("nodes/R2.A1.html").exists());
    assert!(out.join("nodes/R2.A2.html").exists() && out.join("nodes/R1.A.html").exists());
    for path in ["index.html", "tree.html", "print.html"] {
        assert!(page(path).contains("nodes/R2/R2.A1.yaml"), "{path} names the fault");
        assert!(page(path).contains("R2.A2"), "{path} shows the rest");
    }
    // The previous content is still in the history.
    assert!(page("history.html").contains("R2.A1"));
}

/// An untrusted template that doubles text once took 6 GB in a few steps.
#[cfg(target_os = "linux")]
#[test]
fn a_template_that_doubles_a_text_is_ended_before_it_takes_the_machine() {
    let sandbox = Sandbox::new();
    let session = Session::start(&sandbox, json!({}));
    let template = sandbox.path("template");
    std::fs::create_dir(&template).unwrap();
    let bomb = "{% set all = namespace(text='ab') %}{% for _ in range(64) %}\
                {% set all.text = all.text ~ all.text %}{% endfor %}";
    std::fs::write(template.join("judged.html"), bomb).unwrap();
    let out = sandbox.path("out");
    let mut report = sandbox.command(TOT_REPORT);
    report.arg(session.repository()).arg("--out").arg(&out).arg("--template").arg(&template);
    let ended = report.output().unwrap();
    assert!(!ended.status.success());
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("memory allocation of"), "{said}");
    assert!(!out.exists(), "nothing of the site is written");
}
