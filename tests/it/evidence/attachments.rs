//! Files attached to nodes: through the tool and the command, on two machines, with hostile content, and on pages.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::remote::Machine;
use crate::support::{Sandbox, Session, TOT, codes, node, result, short, there};

fn with_files(id: &str, state: &str, files: Value) -> Value {
    let mut result = result(id, state);
    result["attachments"] = files;
    json!({"results": [result]})
}

fn report(machine: &Machine, id: &str, site: &Path) {
    let (repository, site) = (machine.repository(id), site.to_str().unwrap());
    let said = machine.sandbox.run(TOT, &["report", repository.to_str().unwrap(), "--out", site]);
    assert_eq!(said.status, 0, "{said:?}");
}

#[test]
fn files_come_with_a_result_in_its_commit() {
    let mut session = Session::begun(&Sandbox::new());
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let files = json!([
        {"name": "timings.log", "text": "cold 4.1 s\nwarm 0.2 s\n"},
        {"name": "plot 1.png", "base64": "iVBORw0K\nGgo="},
        {"name": "empty", "text": ""},
    ]);
    session.ok("tot_commit", with_files("R2.A1", "EXPLORE", files));
    let repository = session.repository();
    let log = session.git(&["show", "--format=%B", "--name-status", "HEAD"]);
    assert_snapshot!(log);
    assert_eq!(
        fs::read(there(&repository, "attachments/R2.A1").join("plot 1.png")).unwrap(),
        b"\x89PNG\r\n\x1a\n"
    );
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R1.A"]}));
    assert_eq!(
        short(&read["nodes"][0]["attachments"].to_string()),
        json!([
            {"name": "empty", "bytes": 0, "path": "attachments/R2.A1/empty"},
            {"name": "plot 1.png", "bytes": 8, "path": "attachments/R2.A1/plot 1.png"},
            {"name": "timings.log", "bytes": 22, "path": "attachments/R2.A1/timings.log"},
        ])
        .to_string()
    );
    assert!(read["nodes"][1]["attachments"].is_null());
    assert!(!session.check().contains(": error "));
    session.assert_sound();
}

#[test]
fn what_is_no_attachment_is_refused_and_nothing_is_written() {
    let mut session = Session::begun(&Sandbox::new());
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let head = session.head();
    let text = |name: &str, text: &str| json!({"name": name, "text": text});
    for (files, said) in [
        (vec![text("../../../outside", "x")], "may contain only letters"),
        (vec![text("/etc/passwd", "x")], "may contain only letters"),
        (vec![text(".git", "x")], "does not begin with a letter"),
        (vec![text("..", "x")], "does not begin with a letter"),
        (vec![text("nul.txt", "x")], "Windows reserves this name"),
        (vec![text("a\u{202e}gnp.exe", "x")], "may contain only letters"),
        (vec![json!({"name": "a.log"})], "neither text nor base64"),
        (vec![json!({"name": "a.log", "text": "x", "base64": "eA=="})], "both text and base64"),
        (vec![json!({"name": "a.log", "base64": "???"})], "base64 can't be read"),
        (vec![text("a.log", "x"), text("A.LOG", "y")], "attaches A.LOG to R2.A1 twice"),
        (vec![text("a.log", &"x".repeat((1 << 20) + 1))], "has 1048577 bytes; the limit is 1048576"),
        ((0..51).map(|at| text(&format!("{at}.log"), "x")).collect(), "51 entries"),
    ] {
        let refused = session.call("tot_commit", with_files("R2.A1", "EXPLORE", json!(files)));
        let code = if said.contains("limit") { "TEXT_TOO_LONG" } else { "INVALID_ARGUMENT" };
        assert_eq!(refused["errors"][0]["code"], code, "{refused}");
        assert!(refused["errors"].to_string().contains(said), "{refused}");
    }
    assert_eq!(session.head(), head);
    // Split, so that no scanner finds a token in this file.
    let token = ["gh", "p_", "k9Zt3QwL7", "mVx2Rb8Nc4", "Yd6Hf1Js5P", "gT0aUe2"].concat();
    // A log in another encoding.
    let log = [format!("key: {token} ").as_bytes(), b"caf\xe9"].concat();
    let log = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, log);
    let secret = json!([{"name": "env.txt", "base64": log}]);
    let stored = session.ok("tot_commit", with_files("R2.A1", "EXPLORE", secret));
    assert!(codes(&stored["warnings"]).contains(&"SECRET_SUSPECTED".to_owned()), "{stored}");
    session.assert_sound();
}

#[test]
fn what_a_stranger_put_there_is_named_and_goes_nowhere() {
    let one = Machine::new(&Sandbox::new(), "one");
    let id = one.start();
    let repository = one.repository(&id);
    let folder = repository.join("attachments/R1.A");
    fs::create_dir_all(folder.join("deep")).unwrap();
    fs::create_dir_all(repository.join("attachments/R9.Z")).unwrap();
    fs::write(folder.join(".htaccess"), "Options +ExecCGI").unwrap();
    fs::write(folder.join("deep/a.txt"), "x").unwrap();
    fs::write(repository.join("attachments/R9.Z/a.txt"), "x").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", folder.join("passwd.txt")).unwrap();
    one.sandbox.git(&repository, &["add", "--all", "--force"]);
    one.sandbox.git(&repository, &["commit", "-q", "-m", "Hostile"]);
    let check = one.tot_check(&id);
    for said in [".htaccess", "deep/a.txt", "passwd.txt", "R9.Z"] {
        assert!(check.out.contains(said), "{said}: {}", check.out);
    }
    let site = one.sandbox.path("site");
    report(&one, &id, &site);
    assert!(!site.join("attachments/R1.A").exists());
}
