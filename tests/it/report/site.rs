//! From repositories to a site.

use super::{page, published};
use crate::support::{Sandbox, Session, TOT, TOT_REPORT, files};

#[test]
fn a_bare_clone_gives_the_same_site_and_an_earlier_commit_its_own() {
    let session = Session::grown(&Sandbox::new(), &["R2.A1"], "DEAD");
    let repository = session.repository();
    session.git(&["clone", "-q", "--bare", ".", session.sandbox.path("bare.git").to_str().unwrap()]);
    for (source, out) in [(repository.to_str().unwrap(), "one"), ("bare.git", "two")] {
        let said = session.sandbox.run(TOT_REPORT, &[source, "--out", out]);
        assert_eq!((said.status, said.err.as_str()), (0, ""), "silent in a pipe");
    }
    let [one, two] = ["one", "two"].map(|site| files(&session.sandbox.path(site), true));
    assert!(one == two);
    let earlier = published(&session.sandbox, &repository, &["--rev", "HEAD~2"]).unwrap();
    assert!(earlier.join("nodes/R1.A.html").exists() && !earlier.join("nodes/R2.A1.html").exists());
}

#[test]
fn one_investigation_is_one_file_where_that_is_asked_for() {
    let session = Session::begun(&Sandbox::new());
    let single = || session.sandbox.run(TOT_REPORT, &["investigations", "--single-file", "sky.html"]);
    assert_eq!(single().status, 0);
    let page = page(&session.sandbox.path(""), "sky.html");
    let link = "Findings of <a class=\"node-ref\" href=\"#n-R1.A\"";
    assert!(page.contains("Why is the sky blue?") && page.contains(link), "{page}");
    session.sandbox.sleep(1);
    Session::start(&session.sandbox, serde_json::json!({}));
    assert!(single().err.contains("takes one investigation"));
}

#[cfg(unix)]
#[test]
fn a_full_disk_leaves_the_earlier_report() {
    let sandbox = Sandbox::new();
    let _session = Session::begun(&sandbox);
    let export = ["export", "--root", "investigations", "--format", "json", "-o", "out/one"];
    for (program, arguments) in [
        (TOT_REPORT, &["investigations", "--single-file", "out/one"][..]),
        (TOT, &export),
        (TOT_REPORT, &["investigations", "--out", "out/one"]),
    ] {
        std::fs::create_dir(sandbox.path("out")).unwrap();
        assert_eq!(sandbox.run(program, arguments).status, 0);
        let before = files(&sandbox.path("out"), true);
        // As if the disk were full after 512 bytes of a file.
        let limited = ["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh", program];
        let said = sandbox.run("sh", &[&limited, arguments].concat());
        assert!(said.status == 1 && said.err.contains("can"), "{said:?}");
        assert!(files(&sandbox.path("out"), true) == before, "{arguments:?}");
        std::fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
}

#[test]
fn a_node_that_cannot_be_read_costs_its_own_pages_only() {
    let session = Session::grown(&Sandbox::new(), &["R2.A1", "R2.A2"], "EXPLORE");
    let repository = session.repository();
    session.sandbox.commit_file(&repository, "nodes/R2/R2.A1.yaml", "version: 2\nid: [not, an, id]\n");
    let out = published(&session.sandbox, &repository, &[]).unwrap();
    let nodes = ["R1.A", "R2.A1", "R2.A2"].map(|node| out.join(format!("nodes/{node}.html")).exists());
    assert_eq!(nodes, [true, false, true]);
    for path in ["index.html", "tree.html", "print.html"] {
        assert!(page(&out, path).contains("nodes/R2/R2.A1.yaml"), "{path} names the fault");
        assert!(page(&out, path).contains("R2.A2"), "{path} shows the rest");
    }
    // The previous content is still in the history.
    assert!(page(&out, "history.html").contains("R2.A1"));
}

/// An untrusted template that doubles text once took 6 GB in a few steps.
#[cfg(target_os = "linux")]
#[test]
fn a_template_that_doubles_a_text_is_ended_before_it_takes_the_machine() {
    let session = Session::begun(&Sandbox::new());
    let bomb = "{% set all = namespace(text='ab') %}{% for _ in range(64) %}\
                {% set all.text = all.text ~ all.text %}{% endfor %}";
    std::fs::create_dir(session.sandbox.path("template")).unwrap();
    std::fs::write(session.sandbox.path("template/judged.html"), bomb).unwrap();
    let source = session.repository();
    let said = session
        .sandbox
        .run(TOT_REPORT, &[source.to_str().unwrap(), "--out", "site", "--template", "template"]);
    assert!(
        said.err.contains("memory allocation of") && !session.sandbox.path("site/index.html").exists(),
        "{said:?}"
    );
}
