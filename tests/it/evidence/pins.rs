//! Citations are looked up when they are stored, and only in the project.

use insta::assert_snapshot;
use serde_json::json;
use tree_of_thoughts::domain::{Lines, LookedUp};
use tree_of_thoughts::service::project::Project;

use super::{
    amend_root, at_work, begun, commit_all, commit_root, look_up, numbered, project, references, stored,
    warnings, write,
};
use crate::support::{Sandbox, Session, TOT_MCP, codes, result};

const MISSING: &str = "REFERENCE_NOT_FOUND";

#[test]
fn cited_files_are_kept_as_they_were() {
    let (project, mut session) = at_work(&Sandbox::new());
    let head = session.sandbox.head(&project);
    let blob = session.sandbox.git(&project, &["rev-parse", "HEAD:src/db.py"]);
    write(&project, "notes.md", "a thought\n");
    let reply = commit_root(
        &mut session,
        json!({
            "findings": "It waits.\n\n## References\n- src/db.py:3-4 - the wait\n- notes.md:1\n- https://example.org/",
            "evidence": "Seen.\n\n## References\n- `src/db.py:9`",
            "references": [
                {"target": "src/db.py", "lines": "18-20", "note": "the query"},
                {"target": "https://example.org/db.py", "lines": "1000"},
                {"target": "owner/name src/other.py:7"},
                {"target": "../elsewhere.py:7"},
            ],
        }),
    );
    assert_eq!(warnings(&reply, MISSING), [""; 0]);
    let pinned = |path: &str, lines: &str, text: &str| json!({"path": path, "commit": head, "blob": blob.trim(), "lines": lines, "text": text});
    let notes = session.sandbox.git(&project, &["hash-object", "notes.md"]);
    assert_eq!(
        references(&mut session),
        json!([
            {"target": "src/db.py", "lines": "18-20", "note": "the query",
             "pinned": pinned("src/db.py", "18-20", "line 18\nline 19\nline 20\n")},
            {"target": "https://example.org/db.py", "lines": "1000"},
            {"target": "owner/name src/other.py:7"},
            {"target": "../elsewhere.py:7"},
            {"target": "src/db.py", "lines": "3-4", "namedIn": "findings",
             "pinned": pinned("src/db.py", "3-4", "line 3\nline 4\n")},
            {"target": "notes.md", "lines": "1", "namedIn": "findings",
             "pinned": {"path": "notes.md", "commit": head, "blob": notes.trim(), "uncommitted": true,
                        "lines": "1", "text": "a thought\n"}},
            {"target": "src/db.py", "lines": "9", "namedIn": "evidence",
             "pinned": pinned("src/db.py", "9", "line 9\n")},
        ])
    );
    let file = stored(&session);
    assert!(file.contains("namedIn: findings\n") && file.contains("line 18\n"), "{file}");
    session.assert_sound();
    // The project is only read.
    assert_eq!(session.sandbox.git(&project, &["status", "--porcelain"]), "?? notes.md\n");
    assert!(!session.check().contains(": error "));
}

#[test]
fn a_committed_file_of_a_reftable_project_is_not_stored_as_uncommitted() {
    let (project, mut session) = at_work(&Sandbox::new());
    std::fs::remove_dir_all(project.join(".git/logs")).unwrap();
    session.sandbox.git(&project, &["refs", "migrate", "--ref-format=reftable"]);
    commit_root(&mut session, json!({"references": [{"target": "src/db.py", "lines": "3"}]}));
    let pinned = references(&mut session)[0]["pinned"].clone();
    let head = session.sandbox.git(&project, &["rev-parse", "HEAD"]);
    assert_eq!(pinned["commit"], head.trim(), "{pinned}");
    assert!(pinned.get("uncommitted").is_none(), "{pinned}");
}

#[test]
fn of_files_that_git_ignores_only_the_names_are_stored() {
    let (project, mut session) = at_work(&Sandbox::new());
    let secret = "Quetzalcoatl";
    write(&project, ".gitignore", "*.tfvars\n/private/\n");
    write(&project, ".git/info/exclude", "local.txt\n");
    // The user's own ignore rules.
    write(&session.sandbox.path("home"), "git/ignore", "*.own\n");
    write(&project, "kept.tfvars", "region = eu\n");
    session.sandbox.git(&project, &["add", "-f", "kept.tfvars"]);
    commit_all(&session.sandbox, &project);
    let ignored = ["terraform.tfvars", "private/notes.md", "local.txt", "my.own"];
    for path in ignored {
        write(&project, path, &format!("password = {secret}\n"));
    }
    let fields = json!({
        "findings": "It is set.\n\n## References\n- terraform.tfvars:1\n- local.txt\n- kept.tfvars:1",
        "references": [
            {"target": "private/notes.md", "lines": "1"},
            // The reply does not reveal the number of lines either.
            {"target": "terraform.tfvars", "lines": "40"},
            {"target": "my.own", "lines": "1"},
        ],
    });
    let reply = commit_root(&mut session, fields);
    assert_eq!(warnings(&reply, MISSING), [""; 0]);
    assert_snapshot!(warnings(&reply, "REFERENCE_IGNORED").join("\n"), @"R1.A cites ignored files, so only the names are stored: local.txt; my.own; private/notes.md; terraform.tfvars.");
    let stored = references(&mut session);
    let pinned: Vec<&str> =
        stored.as_array().unwrap().iter().filter_map(|it| it["pinned"]["text"].as_str()).collect();
    assert_eq!(pinned, ["region = eu\n"], "{stored:#}");
    let evidence = "Seen.\n\n## References\n- terraform.tfvars:1";
    let reply = amend_root(&mut session, json!({"evidence": evidence}));
    assert_eq!(warnings(&reply, "REFERENCE_IGNORED").len(), 1, "{reply:#}");
    // What git can't read is not called ignored.
    write(&project, ".git/index", "garbage");
    let reply = amend_root(&mut session, json!({"evidence": "Seen.\n\n## References\n- src/db.py:1"}));
    assert!(warnings(&reply, "STORE_ERROR").join("").contains("index file smaller than"), "{reply:#}");
    let history = session.git(&["log", "-p", "--format=%B"]);
    let blob = session.sandbox.git(&project, &["hash-object", "terraform.tfvars"]);
    assert!(!history.contains(secret) && !history.contains(blob.trim()), "{history}");
}

#[test]
fn what_was_made_up_is_told_at_once() {
    let (_, mut session) = at_work(&Sandbox::new());
    let reply = commit_root(
        &mut session,
        json!({
            "findings": "[It waits](src/gone.py:3) [long](src/gone.py:9).\n\n## References\n- src/nope.py:3\n- lib/db.py:1\n- src/db.py:42",
            "references": [
                {"target": "src/db.py", "lines": "18-21"},
                {"target": "src/db.py", "commit": "0123456789"},
                {"target": "src/db.py", "commit": ":/Change"},
            ],
        }),
    );
    assert_snapshot!(warnings(&reply, MISSING).join("\n"), @"R1.A cites missing sources: src/db.py has 20 lines, but line 21 is cited; the project has no commit 0123456789; the project has no commit :/Change; src/nope.py is not in the project; lib/db.py is not in the project (src/db.py is); 1 more.");
    let stored = stored(&session);
    assert!(stored.contains("code: REFERENCE_NOT_FOUND") && !stored.contains("pinned:"), "{stored}");
    let read = session.ok("tot_read", json!({"nodeIds": ["R1.A"]}));
    let state = "not there when it was cited";
    let known = json!([{"text": "It waits", "target": "src/gone.py:3", "state": state},
        {"text": "long", "target": "src/gone.py:9", "state": state}]);
    assert_eq!(read["nodes"][0]["sources"], known);
    // Without a project, nothing can be looked up.
    let mut session = begun(&session.sandbox, session.sandbox.server());
    let reply = commit_root(&mut session, json!({"findings": "x y z.\n\n## References\n- src/nope.py:3"}));
    assert_eq!(warnings(&reply, MISSING), [""; 0]);
}

#[test]
fn an_own_commit_is_looked_into() {
    let (project, mut session) = at_work(&Sandbox::new());
    let old = session.sandbox.head(&project);
    write(&project, "src/db.py", &numbered("other", 3));
    commit_all(&session.sandbox, &project);
    let reply = commit_root(
        &mut session,
        json!({"references": [
            {"target": "src/db.py", "lines": "20", "commit": &old[..8]},
            {"target": "src/new.py", "commit": "main"},
        ]}),
    );
    assert_eq!(warnings(&reply, MISSING), ["R1.A cites missing sources: src/new.py is not in commit main."]);
    let stored = references(&mut session);
    assert_eq!(stored[0]["pinned"]["text"], "line 20\n");
    assert_eq!(stored[0]["pinned"]["commit"], old);
}

#[test]
fn the_project_is_the_repository_around_and_never_an_investigation() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    let id = begun(&sandbox, sandbox.server_in(&project.join("investigations"), &[])).id;
    let inside = project.join("investigations").join(id);
    for folder in [&project, &project.join("src"), &inside, &inside.join(".git")] {
        assert_eq!(Project::around(folder).unwrap().root(), project.canonicalize().unwrap());
    }
    assert!(Project::around(&sandbox.path("home")).is_err());
    // For a server started in a subfolder, paths are relative to that folder or to the root.
    let mut command = sandbox.command(TOT_MCP);
    command.current_dir(project.join("src"));
    let mut session = begun(&sandbox, sandbox.serve(command));
    let given = json!({"references": [{"target": "db.py:2"}, {"target": "src/db.py:3"},
        {"target": project.canonicalize().unwrap().join("src/db.py"), "lines": "4"}]});
    commit_root(&mut session, given);
    let stored = references(&mut session);
    for (at, line) in [(0, "line 2\n"), (1, "line 3\n"), (2, "line 4\n")] {
        assert_eq!(stored[at]["pinned"]["text"], line, "{stored:#}");
        assert_eq!(stored[at]["pinned"]["path"], "src/db.py");
    }
}

#[test]
fn an_amendment_keeps_anew_what_it_changes_and_nothing_else() {
    let (project, mut session) = at_work(&Sandbox::new());
    let given = json!([{"target": "src/db.py", "lines": "1"}]);
    let findings = "It waits.\n\n## References\n- src/db.py:2";
    commit_root(&mut session, json!({"findings": findings, "references": given}));
    write(&project, "src/db.py", &numbered("other", 20));
    let texts = |session: &mut Session| -> Vec<String> {
        let stored = references(session);
        let stored = stored.as_array().unwrap().iter();
        stored.map(|it| it["pinned"]["text"].as_str().unwrap().to_owned()).collect()
    };
    // Repeating the call changes nothing, although the file has changed.
    let same = amend_root(&mut session, json!({"findings": findings, "references": given}));
    assert_eq!(same["amended"], json!([]), "{same:#}");
    assert_eq!(texts(&mut session), ["line 1\n", "line 2\n"]);
    let reply = amend_root(
        &mut session,
        json!({"findings": "It sleeps.\n\n## References\n- src/db.py:2\n- src/x.py"}),
    );
    assert_eq!(reply["amended"], json!(["findings"]));
    assert_eq!(codes(&reply["warnings"]), [MISSING]);
    assert_eq!(texts(&mut session), ["line 1\n", "line 2\n"], "that line of the findings is as it was");
    amend_root(&mut session, json!({"references": [{"target": "src/db.py", "lines": "3"}]}));
    assert_eq!(texts(&mut session), ["other 3\n", "line 2\n"]);
    amend_root(&mut session, json!({"findings": "It sleeps.\n\n## References\n- src/db.py:2 again"}));
    assert_eq!(texts(&mut session), ["other 3\n", "other 2\n"]);
    session.refused("tot_commit", json!({"results": [result("R1.A", "EXPLORE")]}));
}

#[test]
fn credentials_and_hidden_files_are_not_quoted() {
    let (project, mut session) = at_work(&Sandbox::new());
    let token = ["gh", "p_", "k9Zt3QwL7", "mVx2Rb8Nc4", "Yd6Hf1Js5P", "gT0aUe2"].concat();
    let key = format!(
        "-----BEGIN RSA {} KEY-----\n{}-----END",
        "PRIVATE",
        "TUlJRXBBSUJBQUtDQVFFQTd2x9kQ4Zt3LmVRb8Nc4Yd6Hf1Js5PgT0aUe2WoXi\n".repeat(30)
    );
    write(&project, "a.txt", &format!("one\ntoken {token}\nthree\n{}", numbered("far", 300)));
    write(&project, "key.pem", &key);
    write(&project, ".env", "PASSWORD=hunter2\n");
    let reply = commit_root(
        &mut session,
        json!({"references": [
            {"target": "a.txt:1-3"}, {"target": "key.pem:20"}, {"target": ".env:1"}, {"target": "a.txt:200"},
        ]}),
    );
    assert_eq!(warnings(&reply, MISSING), [""; 0]);
    let pinned = references(&mut session);
    for at in 0..3 {
        assert!(
            pinned[at]["pinned"]["blob"].is_string() && pinned[at]["pinned"]["text"].is_null(),
            "{pinned:#}"
        );
    }
    assert_eq!(pinned[3]["pinned"]["text"], "far 197\n");
    let file = stored(&session);
    assert!(!file.contains("hunter2") && !file.contains(&token) && !file.contains("TUlJ"), "{file}");
}

#[cfg(unix)]
#[test]
fn nothing_outside_of_the_project_is_read() {
    use std::os::unix::fs::symlink;

    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    write(&sandbox.path("outside"), "secret.txt", "secret\n");
    symlink(sandbox.path("outside/secret.txt"), project.join("link.txt")).unwrap();
    symlink(sandbox.path("outside"), project.join("linked")).unwrap();
    symlink("db.py", project.join("src/alias.py")).unwrap();
    symlink("loop.txt", project.join("loop.txt")).unwrap();
    symlink("/dev/zero", project.join("zero.txt")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(project.join("pipe.txt")).status().unwrap();
    assert!(fifo.success());
    write(&project, "binary.dat", "a\0b\nc\n");
    std::fs::File::create(project.join("huge.txt")).unwrap().set_len(5 << 30).unwrap();
    let looked_up = |path: &str| look_up(&project, path, Some(Lines { first: 1, last: 1 }));
    let outside = sandbox.path("outside/secret.txt");
    for path in [
        "../outside/secret.txt",
        "src/../../outside/secret.txt",
        outside.to_str().unwrap(),
        "~/secret.txt",
        "link.txt",
        "linked/secret.txt",
        "loop.txt",
        "zero.txt",
        "pipe.txt",
        "huge.txt",
        ".git/config",
        "src/../.GIT/config",
        "src",
        ".",
        "",
        "/",
        "/etc/passwd",
        "..",
        "a\0b",
    ] {
        match looked_up(path) {
            None => {}
            // On a case-sensitive file system, `.GIT` does not exist.
            Some(LookedUp::Missing(what)) if path.contains('\0') => assert!(!what.is_empty()),
            Some(other) => panic!("{path}: {other:?}"),
        }
    }
    let Some(LookedUp::Found(pin)) = looked_up("src/alias.py") else { panic!("a link within the project") };
    assert_eq!((pin.path.as_str(), pin.text.as_deref()), ("src/db.py", Some("line 1\n")));
    let Some(LookedUp::Found(pin)) = looked_up("binary.dat") else { panic!("a binary file") };
    assert_eq!(pin.text, None);
}

#[test]
fn long_quotes_are_cut_at_a_line() {
    let sandbox = Sandbox::new();
    let project = project(&sandbox);
    write(&project, "long.txt", &numbered("long", 100));
    write(&project, "wide.txt", &format!("{}\nshort\n", "w".repeat(3_000)).repeat(3));
    write(&project, "windows.txt", &numbered("line", 5).replace('\n', "\r\n"));
    let quote = |path: &str, first, last| match look_up(&project, path, Some(Lines { first, last })) {
        Some(LookedUp::Found(pin)) => pin.text.unwrap_or_default(),
        other => panic!("{other:?}"),
    };
    assert_eq!(quote("long.txt", 1, 100), numbered("long", 40));
    assert_eq!(quote("wide.txt", 1, 6).lines().count(), 2);
    assert_eq!(quote("windows.txt", 2, 3), "line 2\nline 3\n");
}
