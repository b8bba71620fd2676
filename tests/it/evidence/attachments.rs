//! Files attached to nodes: through the tool and the command, on two machines, with hostile content, and on pages.

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::remote::Machine;
use crate::support::{Sandbox, Session, TOT, codes, files, node, result};

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
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    sandbox.sleep(60);
    let files = json!([
        {"name": "timings.log", "text": "cold 4.1 s\nwarm 0.2 s\n"},
        {"name": "plot 1.png", "base64": "iVBORw0K\nGgo="},
        {"name": "empty", "text": ""},
    ]);
    session.ok("tot_commit", with_files("R2.A1", "EXPLORE", files));
    let repository = session.repository();
    let log = sandbox.git(&repository, &["show", "--format=%B", "--name-status", "HEAD"]);
    assert_snapshot!(log);
    assert_eq!(fs::read(repository.join("attachments/R2.A1/plot 1.png")).unwrap(), b"\x89PNG\r\n\x1a\n");
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R1.A"]}));
    assert_eq!(
        read["nodes"][0]["attachments"],
        json!([
            {"name": "empty", "bytes": 0, "path": "attachments/R2.A1/empty"},
            {"name": "plot 1.png", "bytes": 8, "path": "attachments/R2.A1/plot 1.png"},
            {"name": "timings.log", "bytes": 22, "path": "attachments/R2.A1/timings.log"},
        ])
    );
    assert!(read["nodes"][1]["attachments"].is_null());
    assert!(!session.check().contains(": error "));
    sandbox.assert_sound(&repository);
}

#[test]
fn what_is_no_attachment_is_refused_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    sandbox.sleep(60);
    let repository = session.repository();
    let head = sandbox.head(&repository);
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
    assert_eq!(sandbox.head(&repository), head);
    // Split, so that no scanner finds a token in this file.
    let token = ["gh", "p_", "k9Zt3QwL7", "mVx2Rb8Nc4", "Yd6Hf1Js5P", "gT0aUe2"].concat();
    // A log in another encoding.
    let log = [format!("key: {token} ").as_bytes(), b"caf\xe9"].concat();
    let log = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, log);
    let secret = json!([{"name": "env.txt", "base64": log}]);
    let stored = session.ok("tot_commit", with_files("R2.A1", "EXPLORE", secret));
    assert!(codes(&stored["warnings"]).contains(&"SECRET_SUSPECTED".to_owned()), "{stored}");
    sandbox.assert_sound(&repository);
}

#[test]
fn a_person_attaches_files_also_after_the_end() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    let id = one.start();
    one.server()
        .ok("tot_end", json!({"sessionId": id, "stopped": {"reason": "enough"}, "conclusion": "Enough."}));
    let plot = sandbox.path("plot.svg");
    let text = sandbox.path("notes.md");
    fs::write(
        &plot,
        "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><rect width='9' onclick='x'/></svg>",
    )
    .unwrap();
    fs::write(&text, "<script>alert(1)</script>\n").unwrap();
    let photo = sandbox.path("photo.heic");
    fs::write(&photo, b"\0\0\0\x18ftypheic Exif\0\0 GPS").unwrap();
    let (plot, text, photo) = (plot.to_str().unwrap(), text.to_str().unwrap(), photo.to_str().unwrap());
    let said = one.ok(&["attach", "R1.A", plot, text]);
    assert_eq!(said, "attachments/R1.A/plot.svg (96 bytes)\nattachments/R1.A/notes.md (26 bytes)\n");
    let log = sandbox.git(&one.repository(&id), &["log", "-1", "--format=%an%n%B"]);
    assert_snapshot!(log, @r"
        Tester
        Attach 2 files to R1.A

            attached plot.svg (96 bytes)
            attached notes.md (26 bytes)

        Tool: tot attach
        Round: 1
        Node: R1.A
        Person: Tester
        ");
    let json: Value =
        serde_json::from_str(&one.ok(&["attach", &id, "R1.A", text, "--name", "more.md", "--json"])).unwrap();
    assert_eq!(
        json["attachments"],
        json!([{"name": "more.md", "bytes": 26, "path": "attachments/R1.A/more.md"}])
    );
    assert_eq!(json["commit"], json!(one.head(&id)));
    let diff = one.ok(&["diff", "--markdown", "HEAD~2..HEAD"]);
    assert!(diff.contains("**Attached**\n\n- `R1.A` attached: more.md\n"), "{diff}");
    let review = one.ok(&["review", "--since", "HEAD~1"]);
    assert!(review.contains("more.md was attached") && !review.contains("plot.svg"), "{review}");
    let head = one.head(&id);
    for (arguments, said) in [
        (&["attach", "R1.A", plot][..], "already has plot.svg, and attachments are never replaced"),
        (&["attach", "R1.A", plot, "--name", "PLOT.SVG"], "already"),
        (&["attach", "R9.Z", plot], "There is no committed node R9.Z"),
        (&["attach", "R1.A", plot, "--name", "../x"], "may contain only letters"),
        (&["attach", "R1.A", plot, "--max-bytes", "5"], "has more than 5 bytes"),
        (&["attach", "R1.A", "no-such-file"], "cannot read no-such-file"),
        (&["attach", "R1.A", "/"], "/ is not a file"),
        (&["attach", "R1.A", photo, "--name", "a.heic"], "`exiftool -all= a.heic`"),
    ] {
        let ran = one.tot(arguments);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(ran.err.starts_with("tot attach: ") && ran.err.contains(said), "{ran:?}");
    }
    for (arguments, said) in [
        (&["attach", "R1.A", "-"][..], "standard input has no name"),
        (&["attach", "R1.A", plot, text, "--name", "x"], "--name is for one file"),
    ] {
        let ran = one.tot(arguments);
        assert!(ran.status == 2 && ran.err.contains(said), "{ran:?}");
    }
    assert_eq!(one.head(&id), head);
    fs::write(photo, b"\x89PNG\r\n\x1a\n\0\0\0\x04tEXtGPS \0\0\0\0").unwrap();
    let said = one.ok(&["attach", "R1.A", photo, "--name", "photo.png"]);
    assert_eq!(said, "attachments/R1.A/photo.png (8 bytes, without its metadata)\n");
    one.assert_sound(&id);

    let site = sandbox.path("site");
    report(&one, &id, &site);
    let written: Vec<PathBuf> = files(&site.join("attachments/R1.A"), true).into_keys().collect();
    assert_eq!(written, ["more.md.txt", "notes.md.txt", "photo.png.bin", "plot.svg"].map(PathBuf::from));
    let drawing = fs::read_to_string(site.join("attachments/R1.A/plot.svg")).unwrap();
    assert!(!drawing.contains("onclick"), "{drawing}");
    let page = fs::read_to_string(site.join("nodes/R1.A.html")).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)") && page.contains("<img class=\"attachment\""), "{page}");
}

#[test]
fn what_a_stranger_put_there_is_named_and_goes_nowhere() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
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
    sandbox.git(&repository, &["add", "--all", "--force"]);
    sandbox.git(&repository, &["commit", "-q", "-m", "Hostile"]);
    let check = one.tot_check(&id);
    for said in [".htaccess", "deep/a.txt", "passwd.txt", "R9.Z"] {
        assert!(check.out.contains(said), "{said}: {}", check.out);
    }
    let site = sandbox.path("site");
    report(&one, &id, &site);
    assert!(!site.join("attachments/R1.A").exists());
}

#[test]
fn an_export_has_them() {
    let sandbox = Sandbox::new();
    let one = Machine::new(&sandbox, "one");
    one.start();
    let binary = sandbox.path("core");
    fs::write(&binary, b"\xff\xfe\0\r\n").unwrap();
    one.ok(&["attach", "R1.A", binary.to_str().unwrap()]);
    let data: Value = serde_json::from_str(&one.ok(&["export", "--format", "json"])).unwrap();
    assert_eq!(data["attachments"], json!([{"node": "R1.A", "name": "core", "base64": "//4ADQo="}]));
}
