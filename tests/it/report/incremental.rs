//! A site written over an earlier one: unchanged files are not rewritten, and the folder equals a full build.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use tree_of_thoughts::report::{Published, ReportError, SiteTarget, Writing};

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

fn three(sandbox: &Sandbox) -> Vec<Session> {
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
    let said = sandbox.run(TOT_REPORT, &["investigations", "--out", "renewed"]);
    assert!(said.status == 1 && said.err.contains("left out zz-copy"), "{said:?}");
    let index = page_of(&sandbox.path("renewed"), "index.html");
    assert!(index.contains(&format!("is also in {}", all[0].id)), "{index}");
    fs::remove_dir_all(sandbox.root().join("zz-copy")).unwrap();
    fs::rename(sandbox.path("elsewhere"), &second).unwrap();
    assert_eq!(renew(&sandbox, "one that is back", &[]), 2);

    // A problem may disappear without a commit, for example when a missing object is fetched.
    sandbox.commit_file(&all[2].repository(), "nodes/R2/R2.A1.yaml", "version: 2\nid: [not, an, id]\n");
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

/// A team's page must not vanish because a disk was not mounted or a folder not readable.
#[test]
fn the_pages_of_one_that_can_not_be_read_stay_and_the_status_says_so() {
    let sandbox = Sandbox::new();
    let mut all = three(&sandbox);
    let named = sandbox.root().join("named");
    fs::rename(all[0].repository(), &named).unwrap();
    let report = || sandbox.run(TOT_REPORT, &["investigations", "--out", "site"]);
    assert_eq!(report().status, 0);
    let site = sandbox.path("site");
    let ids: Vec<String> = all.iter().map(|session| session.id.clone()).collect();
    let pages = |number: usize| {
        let folder = site.join(&ids[number]);
        if folder.exists() { files(&folder, true) } else { BTreeMap::new() }
    };
    let before = [pages(0), pages(1)];
    // One is broken, and the other is not even recognized.
    let heads = [all[1].repository(), named.clone()].map(|folder| folder.join(".git/HEAD"));
    heads.iter().for_each(|head| fs::write(head, "").unwrap());
    fs::remove_file(named.join("investigation.yaml")).unwrap();
    for _ in 0..2 {
        all[2].grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
        let said = report();
        assert!(said.status == 1 && said.out.contains("3 investigations"), "{said:?}");
        for name in ["named", &ids[1]] {
            assert!(said.err.contains(&format!("kept the earlier pages of {name}: ")), "{said:?}");
            assert!(page_of(&site, "index.html").contains(&format!("<code>{name}</code>")));
        }
        assert!([pages(0), pages(1)] == before && pages(2).contains_key(Path::new("nodes/R3.A1a.html")));
        sandbox.git(&all[2].repository(), &["reset", "-q", "--hard", "HEAD~2"]);
    }
    // It withholds something, or is gone.
    let list = all[2].repository().join("withheld.yml");
    fs::write(list, "withheld: []").unwrap();
    fs::write(&heads[0], "ref: refs/heads/main\n").unwrap();
    fs::remove_dir_all(named).unwrap();
    let said = report();
    assert!(said.status == 1 && said.err.contains("withheld.yml looks like"), "{said:?}");
    assert!(pages(0).is_empty() && pages(1) == before[1] && pages(2).is_empty());
}

/// Returns the names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Writes a site with one page.
fn write(text: &str, out: &Path) -> Result<(), ReportError> {
    let writing = Writing::begin(out, &())?;
    let mut published = Published::default();
    published.rest.insert("index.html".to_owned(), writing.put("index.html", text.into())?);
    writing.finish(&published)
}

#[test]
fn a_file_that_is_put_there_while_a_site_is_made_is_not_removed() {
    let folder = folder();
    let out = folder.path().join("site");
    write("first", &out).unwrap();
    let before = names(&out);
    let writing = Writing::begin(&out, &()).unwrap();
    writing.put("index.html", b"second".to_vec()).unwrap();
    fs::write(out.join("CNAME"), "example.org").unwrap();
    let error = writing.finish(&Published::default()).unwrap_err().to_string();
    assert!(error.contains("CNAME") && !error.contains(".tot-report"), "{error}");
    assert_eq!(fs::read_to_string(out.join("CNAME")).unwrap(), "example.org");
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "first");
    fs::remove_file(out.join("CNAME")).unwrap();
    assert_eq!(names(&out), before, "nothing is left");
}

/// Otherwise, text that is withheld later would stay in it.
#[test]
fn what_a_killed_run_has_left_in_the_site_is_gone_after_the_next() {
    let folder = folder();
    let out = folder.path().join("site");
    let left = out.join(".tot-report.new-0-0");
    fs::create_dir_all(left.join("site")).unwrap();
    fs::write(left.join("lock"), "").unwrap();
    fs::write(left.join("site/index.html"), "a text").unwrap();
    write("done", &out).unwrap();
    assert_eq!(names(&out), [".tot-report", ".tot-report.lock", "index.html"]);
    assert_eq!(names(folder.path()), ["site"]);
}

/// Exchanging the folder broke what stood in it: a web server, a mount, a shell.
#[cfg(unix)]
#[test]
fn the_output_folder_stays_the_same_folder() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let folder = folder();
    let out = folder.path().join("site");
    fs::create_dir_all(out.join("lost+found")).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o2775)).unwrap();
    let is_root = std::os::unix::fs::chown(&out, None, Some(33)).is_ok();
    let linked = folder.path().join("linked");
    symlink("site", &linked).unwrap();
    let about = || fs::metadata(&out).map(|it| (it.ino(), it.mode(), it.gid())).unwrap();
    let before = about();
    for text in ["one", "two"] {
        write(text, &linked).unwrap();
        assert_eq!(about(), before);
        assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), text);
        assert!(!is_root || fs::metadata(out.join("index.html")).unwrap().gid() == 33);
    }
    assert_eq!(names(folder.path()), ["linked", "site"]);
}

#[test]
fn two_runs_at_once_write_one_after_the_other() {
    let folder = folder();
    let out = folder.path().join("site");
    let first = Writing::begin(&out, &()).unwrap();
    assert!(Writing::try_begin(&out).unwrap().is_none());
    // The first fails, and its folder goes.
    drop(first);
    assert!(!out.exists());
    thread::scope(|scope| {
        let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| write("a text", &out))).collect();
        runs.into_iter().for_each(|run| run.join().unwrap().unwrap());
    });
    assert_eq!(names(&out), [".tot-report", ".tot-report.lock", "index.html"]);
}

/// A reader never finds a part of a file, or a link from a first page to a page that is not there.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_anywhere_leaves_a_site_that_the_next_completes() {
    let sandbox = Sandbox::new();
    let mut all = three(&sandbox);
    let report = |out: &str| sandbox.run(TOT_REPORT, &["investigations", "--out", out]);
    assert_eq!(report("before").status, 0);
    fs::remove_dir_all(all.remove(0).repository()).unwrap();
    all[0].grow(&[("R3.A1a", Some("R2.A1"))], "EXPLORE");
    assert_eq!(report("after").status, 0);
    let (before, after) = (files(&sandbox.path("before"), true), files(&sandbox.path("after"), true));
    let mut killed = 0;
    for at in 0..40 {
        let _ = fs::remove_dir_all(sandbox.path("site"));
        assert!(
            Command::new("cp")
                .arg("-a")
                .args([sandbox.path("before"), sandbox.path("site")])
                .status()
                .unwrap()
                .success()
        );
        let mut run = sandbox.command(TOT_REPORT);
        let mut run = run.args(["investigations", "--out", "site"]).stdout(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(5 * at));
        run.kill().unwrap();
        killed += usize::from(!run.wait().unwrap().success());
        for (path, bytes) in files(&sandbox.path("site"), true) {
            let is_whole = [&before, &after].iter().any(|site| site.get(&path) == Some(&bytes));
            let name = path.to_string_lossy();
            assert!(is_whole || name.contains(".tot-report"), "{at}: {name}");
        }
        assert_eq!(report("site").status, 0, "{at}");
        assert!(files(&sandbox.path("site"), true) == after, "{at}");
    }
    assert!(killed > 5, "{killed}");
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
    write("before", &out).unwrap();
    let left = names(&out);
    let mut run = sandbox.command(TOT_REPORT);
    let mut run = run.arg(sandbox.root()).arg("--out").arg(&out).stderr(Stdio::piped()).spawn().unwrap();
    let begun = || names(&out).len() > left.len();
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
    assert_eq!(names(&out), left);
}
