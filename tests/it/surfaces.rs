//! What is said of an answer and of the whole on each surface of a real repository: replies, resources, screens, files and
//! pages. `src/report/tests/agree.rs` does so for random facts, of what needs no repository.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use tree_of_thoughts::assess::{Assessment, Verdict};
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session, TOT, TOT_REPORT, node, some};

/// Two answers, of which the first is confirmed and the conclusion names the second; stopped early.
fn ended(session: &mut Session<'_>) {
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "FOUND");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "VERIFY");
    let end = session.ok(
        "tot_end",
        json!({
            "conclusion": "It is the second.", "answers": ["R2.A2"], "notCovered": ["The other machine."],
            "stopped": {"reason": "enough"},
        }),
    );
    assert_eq!(
        (&end["outcome"], &end["verdict"]),
        (&json!("stoppedEarly"), &json!("stopped early")),
        "{end}"
    );
    assert_eq!(end["answers"], json!([{"id": "R2.A2", "as": "main"}]));
}

fn text_of(session: &mut Session<'_>, uri: &str) -> String {
    let read = session.server.request("resources/read", json!({"uri": uri}));
    read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
}

/// What a command prints in the folder.
fn says(sandbox: &Sandbox, folder: &Path, program: &str, arguments: &[&str]) -> String {
    let ran = sandbox.command(program).current_dir(folder).args(arguments).output().unwrap();
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// Holds what each surface says of both answers against these words, of the first and of the second in its order.
fn each_says(session: &mut Session<'_>, sandbox: &Sandbox, first: &str, second: &str) {
    let (id, folder) = (session.id.clone(), session.repository());
    let status = session.ok("tot_status", json!({}));
    let answers: Vec<&str> =
        status["answers"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert!(answers[0].starts_with(&format!("R2.A2 FOUND ({second})")), "{answers:?}");
    assert!(answers[1].starts_with(&format!("R2.A1 FOUND ({first})")), "{answers:?}");
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R2.A2"]}));
    assert_eq!((&read["nodes"][0]["verdict"], &read["nodes"][1]["verdict"]), (&json!(first), &json!(second)));
    let resource = text_of(session, &format!("tot://{id}"));
    assert!(resource.contains(&format!("Title of R2.A2, {second}")), "{resource}");
    assert!(resource.contains(&format!("Title of R2.A1, {first}")), "{resource}");
    let show: Value = serde_json::from_str(&says(sandbox, &folder, TOT, &["show", "--json"])).unwrap();
    assert_eq!(
        (&show["answers"][0]["nodeId"], &show["answers"][1]["nodeId"]),
        (&json!("R2.A2"), &json!("R2.A1"))
    );
    let shown = says(sandbox, &folder, TOT, &["show"]);
    assert!(shown.contains(first) && shown.contains(second), "{shown}");
    let root = sandbox.git(&folder, &["rev-list", "--max-parents=0", "HEAD"]);
    let changes = says(sandbox, &folder, TOT, &["diff", "--markdown", &format!("{}..HEAD", root.trim())]);
    assert!(changes.contains(&format!("`R2.A2` {second}:")), "{changes}");
    says(sandbox, &folder, TOT_REPORT, &[".", "--out", "../site"]);
    let page = |path: &str| std::fs::read_to_string(folder.join("../site").join(path)).unwrap();
    let data: Value = serde_json::from_str(&page("investigation.json")).unwrap();
    assert_eq!(
        (&data["solutions"][0]["verdict"], &data["solutions"][1]["verdict"]),
        (&json!(second), &json!(first))
    );
    std::fs::remove_dir_all(folder.join("../site")).unwrap();
}

#[test]
fn the_better_answer_does_not_stand_in_the_place_of_the_one_that_the_conclusion_names() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    ended(&mut session);
    each_says(&mut session, &sandbox, "confirmed by another agent, same session", "not checked");
    let folder = session.repository();
    let shown = says(&sandbox, &folder, TOT, &["show"]);
    assert!(shown.contains("Conclusion, stopped early") && shown.contains("answer: R2.A2"), "{shown}");
    let list = says(&sandbox, &folder, TOT, &["list"]);
    assert!(list.contains("stopped early") && !list.contains("confirmed"), "{list}");
    let readme = std::fs::read_to_string(folder.join("README.md")).unwrap();
    assert!(
        readme.contains("## Conclusion, stopped early\n")
            && readme.contains("- Not covered: The other machine.")
    );
    says(&sandbox, &folder, TOT_REPORT, &[".", "--out", "../site"]);
    let index = std::fs::read_to_string(folder.join("../site/index.html")).unwrap();
    let top = index.split("<section class=\"answer ").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(
        top.starts_with("early\"") && top.contains("Title of R2.A2") && !top.contains("Title of R2.A1"),
        "{top}"
    );
    assert!(top.contains("Not covered:</b> <span dir=\"auto\">The other machine."), "{top}");
    assert!(!index.contains("No answer"), "{index}");
}

#[test]
fn what_a_hand_wrote_is_not_called_confirmed_until_somebody_confirms_it_anew() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    ended(&mut session);
    let folder = session.repository();
    let file = folder.join("nodes/R2/R2.A1.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("Findings of R2.A1.", "Another text altogether.")).unwrap();
    sandbox.git(&folder, &["commit", "-qam", "A better text"]);
    each_says(&mut session, &sandbox, "changed by hand, not checked since", "not checked");
    // A confirmation that a hand wrote is none, either.
    sandbox.git(&folder, &["reset", "-q", "--hard", "HEAD~1"]);
    each_says(&mut session, &sandbox, "confirmed by another agent, same session", "not checked");
    let file = folder.join("nodes/R3/R3.A1a.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("Findings of R3.A1a.", "Seen by three people.")).unwrap();
    sandbox.git(&folder, &["commit", "-qam", "More people"]);
    each_says(&mut session, &sandbox, "changed by hand, not checked since", "not checked");
    // Who confirms it anew, by a call, does.
    session
        .ok("tot_reclassify", json!({"nodeId": "R2.A2", "newState": "EXPLORE", "reason": "To look again."}));
    session.grow(&[("R3.A1b", Some("R2.A1"))], "VERIFY");
    let status = session.ok("tot_status", json!({}));
    assert!(status["answers"].to_string().contains("R2.A1 FOUND (confirmed by another agent"), "{status}");
}

/// A command of the person of that name, on the clock of the sandbox.
fn person(sandbox: &Sandbox, folder: &Path, name: &str, arguments: &[&str], input: &str) {
    let mut command = sandbox.command(TOT);
    let email = format!("{}@example.org", name.to_lowercase());
    command.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email).current_dir(folder);
    command.args(arguments);
    if ["commit", "end"].contains(&arguments[0]) {
        command.arg("--clock-file").arg(sandbox.path("clock"));
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    sandbox.sleep(60);
}

/// Puts HEAD to a merge of two commits that has the tree of a third.
fn merge_as(sandbox: &Sandbox, folder: &Path, one: &str, other: &str, tree: &str) {
    let tree = format!("{tree}^{{tree}}");
    let merge = ["commit-tree", &tree, "-p", one, "-p", other, "-m", "Merge"];
    let merge = sandbox.git(folder, &merge).trim().to_owned();
    sandbox.git(folder, &["reset", "-q", "--hard", &merge]);
}

/// A commit on top of another that changes nothing.
fn beside(sandbox: &Sandbox, folder: &Path, commit: &str) -> String {
    let tree = format!("{commit}^{{tree}}");
    sandbox.git(folder, &["commit-tree", &tree, "-p", commit, "-m", "Beside"]).trim().to_owned()
}

#[test]
fn an_edit_by_hand_does_not_hide_in_a_merge() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    ended(&mut session);
    let folder = session.repository();
    let head = sandbox.head(&folder);
    let other = beside(&sandbox, &folder, &head);
    merge_as(&sandbox, &folder, &head, &other, &head);
    let confirmed = "confirmed by another agent, same session";
    each_says(&mut session, &sandbox, confirmed, "not checked");
    for (path, from) in
        [("nodes/R2/R2.A1.yaml", "Findings of R2.A1."), ("nodes/R3/R3.A1a.yaml", "Findings of R3.A1a.")]
    {
        sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
        let file = folder.join(path);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace(from, "Seen by three people.")).unwrap();
        sandbox.git(&folder, &["commit", "-qam", "Edit"]);
        merge_as(&sandbox, &folder, &head, &other, "HEAD");
        each_says(&mut session, &sandbox, "changed by hand, not checked since", "not checked");
    }
    // An objection that a merge leaves out is not settled by that.
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    let objection =
        json!({"nodeId": "R2.A1", "kind": "objection", "text": "It was another day.", "agentId": "x"});
    session.ok("tot_comment", objection);
    each_says(&mut session, &sandbox, "contested", "not checked");
    let contested = sandbox.head(&folder);
    merge_as(&sandbox, &folder, &other, &contested, &contested);
    each_says(&mut session, &sandbox, "contested", "not checked");
    merge_as(&sandbox, &folder, &other, &contested, &head);
    each_says(&mut session, &sandbox, "changed by hand, not checked since", "not checked");
    // Neither are the terms of another beginning agreed on.
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    let beginning = sandbox.git(&folder, &["commit-tree", "HEAD^{tree}", "-m", "Begin"]).trim().to_owned();
    merge_as(&sandbox, &folder, &beginning, &head, &head);
    let snapshot = Store::new(folder.parent().unwrap()).load(&folder).unwrap();
    assert!(snapshot.investigation.by_hand().end);
}

/// What a person hands in.
fn confirming(node: &str) -> String {
    format!("---\nnodeId: {node}\nstate: VERIFY\n---\n\nIt was measured again, elsewhere.\n")
}

/// The same commits from that one on, which has another author now: the files and messages are as they were.
fn give_to(sandbox: &Sandbox, folder: &Path, commit: &str, author: &str) {
    let git = |arguments: &[&str]| sandbox.git(folder, arguments).trim().to_owned();
    let mut parent = git(&["rev-parse", &format!("{commit}~1")]);
    for (number, id) in git(&["rev-list", "--reverse", &format!("{parent}..HEAD")]).lines().enumerate() {
        let was = git(&["log", "-1", "--format=%an", id]);
        let name = if number == 0 { author } else { &was };
        let made = sandbox
            .command("git")
            .current_dir(folder)
            .envs([
                ("GIT_AUTHOR_NAME", name),
                ("GIT_AUTHOR_EMAIL", &format!("{}@example.org", name.to_lowercase())),
            ])
            .args(["commit-tree", &format!("{id}^{{tree}}"), "-p", &parent, "-m"])
            .arg(git(&["log", "-1", "--format=%B", id]))
            .output()
            .unwrap();
        parent = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    }
    git(&["reset", "-q", "--hard", &parent]);
}

/// What `tot check` says of authors.
fn checked(sandbox: &Sandbox, folder: &Path) -> String {
    let lines = says(sandbox, folder, TOT, &["check", "--json"]);
    let found: Value = serde_json::from_str(&lines).unwrap_or_else(|_| panic!("{lines}"));
    let of_authors = |it: &&Value| it["code"] == "AUTHOR_DIFFERS";
    let all = found["investigations"][0]["findings"].as_array().unwrap_or_else(|| panic!("{found}"));
    all.iter().filter(of_authors).map(|it| format!("{} {}\n", it["severity"], it["path"])).collect()
}

#[test]
fn nobody_is_taken_for_a_person_whom_git_does_not_name() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    let folder = session.repository();
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "FOUND");
    let objection =
        json!({"nodeId": "R2.A1", "kind": "objection", "text": "It was another day.", "agentId": "x"});
    session.ok("tot_comment", objection);
    let comments = sandbox.git(&folder, &["ls-files", "comments"]);
    let objection = comments.trim().trim_start_matches("comments/").trim_end_matches(".yaml");
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    person(&sandbox, &folder, "Ann", &["commit", "-"], &confirming("R3.A1a"));
    let committed = sandbox.head(&folder);
    person(&sandbox, &folder, "Ann", &["resolve", objection, "-m", "It was the same day."], "");
    let resolved = sandbox.head(&folder);
    let stopped = json!({"reason": "enough"});
    session.ok("tot_end", json!({"conclusion": "It is so.", "answers": ["R2.A2"], "stopped": stopped}));
    each_says(&mut session, &sandbox, "confirmed by Ann", "not checked");
    let ended = sandbox.head(&folder);
    assert_eq!(checked(&sandbox, &folder), "");
    // The confirmation, in Ann's words, by another.
    give_to(&sandbox, &folder, &committed, "Bob");
    each_says(&mut session, &sandbox, "changed by hand, not checked since", "not checked");
    assert_eq!(checked(&sandbox, &folder), "\"error\" \"nodes/R3/R3.A1a.yaml\"\n");
    says(&sandbox, &folder, TOT_REPORT, &[".", "--out", "../site"]);
    for path in ["nodes/R3.A1a.html", "nodes/R2.A1.html", "index.html", "tree.html"] {
        let page = std::fs::read_to_string(folder.join("../site").join(path)).unwrap();
        assert!(!page.contains("confirmed by Ann") && !page.contains("Ann, a person"), "{path}: {page}");
    }
    std::fs::remove_dir_all(folder.join("../site")).unwrap();
    let read = session.ok("tot_read", json!({"nodeIds": ["R3.A1a"]}));
    assert!(!read["nodes"].to_string().contains("Ann"), "{read}");
    sandbox.git(&folder, &["reset", "-q", "--hard", &ended]);
    each_says(&mut session, &sandbox, "confirmed by Ann", "not checked");
    // The objection is not resolved by whoever says to be Ann.
    give_to(&sandbox, &folder, &resolved, "Bob");
    each_says(&mut session, &sandbox, "contested", "not checked");
    let comment = sandbox.git(&folder, &["ls-files", "comments"]);
    let resolution = comment.lines().find(|path| !path.contains(objection)).unwrap();
    assert_eq!(checked(&sandbox, &folder), format!("\"error\" \"{resolution}\"\n"));
    let shown = says(&sandbox, &folder, TOT, &["show", "R2.A1"]);
    assert!(shown.contains("unknown author") && !shown.contains("Ann, "), "{shown}");
}

#[test]
fn an_end_that_git_does_not_bear_out_is_not_checked() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    let folder = session.repository();
    session.grow(&[("R1.A", None)], "EXPLORE");
    person(&sandbox, &folder, "Ann", &["end", "--stopped", "enough", "-m", "It is so."], "");
    let ended_by = || {
        let all: Value =
            serde_json::from_str(&says(&sandbox, &folder, TOT, &["export", "--format", "json"])).unwrap();
        all["conclusion"]["by"]["name"].clone()
    };
    assert_eq!(ended_by(), "Ann");
    let head = sandbox.head(&folder);
    give_to(&sandbox, &folder, &head, "Bob");
    assert_eq!(
        (ended_by(), checked(&sandbox, &folder).as_str()),
        (Value::Null, "\"error\" \"conclusion.yaml\"\n")
    );
}

/// Two people's results, brought together by git, by node and through a file: each stays that one's.
#[test]
fn merges_clones_and_imports_take_nothing_from_anybody() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    let folder = session.repository();
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "FOUND");
    let nodes = [node("R3.A1a", Some("R2.A1")), node("R3.A2a", Some("R2.A2"))];
    session.ok("tot_propose", json!({"nodes": nodes}));
    let other = sandbox.path("clones/other");
    sandbox.git(&sandbox.path(""), &["clone", "-q", folder.to_str().unwrap(), other.to_str().unwrap()]);
    person(&sandbox, &folder, "Ann", &["commit", "-"], &confirming("R3.A1a"));
    person(&sandbox, &other, "Bob", &["commit", "-"], &confirming("R3.A2a"));
    let both = |folder: &Path| {
        let store = Store::new(folder.parent().unwrap());
        let snapshot = store.load(folder).unwrap();
        let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
        let words = |id: &str| assessment.answer(&id.parse().unwrap()).unwrap().words().into_owned();
        assert_eq!([words("R2.A1"), words("R2.A2")], ["confirmed by Ann", "confirmed by Bob"]);
        assert_eq!(checked(&sandbox, folder), "");
    };
    sandbox.git(&folder, &["pull", "-q", "--no-rebase", "--no-edit", other.to_str().unwrap()]);
    both(&folder);
    // What both have done with one node, or under one id, is joined by node, by whoever does that.
    session.ok("tot_propose", json!({"nodes": [node("R3.A1b", Some("R2.A1"))]}));
    sandbox.git(&other, &["pull", "-q", folder.to_str().unwrap()]);
    let mut elsewhere = sandbox.server_in(other.parent().unwrap(), &[]);
    let late = json!({"id": "R3.A2b", "parent": "R2.A2", "title": "Another", "plannedAction": "Look."});
    elsewhere.ok("tot_propose", json!({"sessionId": session.id, "nodes": [late]}));
    session.ok("tot_propose", json!({"nodes": [node("R3.A2b", Some("R2.A2"))]}));
    for id in ["R3.A1b", "R3.A2b"] {
        person(&sandbox, &folder, "Ann", &["commit", "-"], &confirming(id));
        person(&sandbox, &other, "Bob", &["commit", "-"], &confirming(id));
    }
    let third = sandbox.path("clones/third");
    sandbox.git(&sandbox.path(""), &["clone", "-q", folder.to_str().unwrap(), third.to_str().unwrap()]);
    for folder in [&folder, &third] {
        let pull = ["pull", "-q", "--no-rebase", other.to_str().unwrap()];
        assert!(!sandbox.try_git(folder, &pull).status.success());
    }
    person(&sandbox, &folder, "Carol", &["merge", "--resolve"], "");
    both(&folder);
    // Also where somebody has committed what git could not merge.
    sandbox.git(&third, &["commit", "-qam", "Merge"]);
    person(&sandbox, &third, "Carol", &["merge", "--resolve"], "");
    both(&third);
    let text = |path: &str| std::fs::read_to_string(folder.join("nodes/R3").join(path)).unwrap();
    assert!(text("R3.A1b.yaml").contains("name: Ann") && text("R3.A1b.yaml").contains("name: Bob"));
    assert!(sandbox.git(&folder, &["grep", "-c", "renamedFrom: R3.A2b"]).contains("nodes/R3/"));
    // A file has no authors but those that it names.
    let json = says(&sandbox, &folder, TOT, &["export", "--format", "json"]);
    std::fs::write(sandbox.path("all.json"), json).unwrap();
    let imported = sandbox.path("imported");
    let import = ["import", "../all.json", "--root", imported.to_str().unwrap()];
    person(&sandbox, folder.parent().unwrap(), "Carol", &import, "");
    both(&imported.join(&session.id));
}

/// Every line of every file that is stored, left out or with other words, and every file removed, each by a commit that no
/// call made or in a merge: none of it makes an answer or the whole look better checked than before. Some of it, as `TOT_CASES` says.
#[test]
fn no_edit_by_hand_has_anything_look_better_checked() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke"}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A")), ("R2.A3", Some("R1.A"))], "FOUND");
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1")), node("R3.A2a", Some("R2.A2")), node("R3.A3a", Some("R2.A3"))]}));
    let by = |id: &str, agent: &str, refutes: bool| json!({"nodeId": id, "state": "VERIFY", "findings": "It was measured again.", "agentId": agent, "refutes": refutes});
    let results =
        [by("R3.A1a", "other", false), by("R3.A2a", "agent-R2.A2", false), by("R3.A3a", "other", true)];
    session.ok("tot_commit", json!({"results": results}));
    let objection =
        json!({"nodeId": "R2.A1", "kind": "objection", "text": "It was another day.", "agentId": "x"});
    session.ok("tot_comment", objection);
    let stopped = json!({"reason": "enough"});
    session.ok("tot_end", json!({"conclusion": "It is so.", "answers": ["R2.A1"], "stopped": stopped}));
    let folder = session.repository();
    let store = Store::new(folder.parent().unwrap());
    let look = || {
        let snapshot = store.load(&folder).ok()?;
        let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
        let answers = assessment.answers.iter().chain(&assessment.refuted);
        let answers: BTreeMap<String, Verdict> =
            answers.map(|it| (it.node.id.to_string(), it.verdict)).collect();
        Some((answers, assessment.verdict()))
    };
    let (answers, whole) = look().unwrap();
    assert_eq!(answers["R2.A1"], Verdict::Contested);
    assert_eq!((answers["R2.A2"], answers["R2.A3"]), (Verdict::AuthorOnly, Verdict::Refuted));
    let files = sandbox.git(&folder, &["ls-files", "nodes", "comments", "*.yaml"]);
    let mut tried = 0;
    for path in files.lines() {
        let file = folder.join(path);
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let without =
            |at: usize| lines.iter().enumerate().filter(move |(own, _)| *own != at).map(|(_, line)| *line);
        let mut edits: Vec<Option<String>> = vec![None];
        for (at, line) in lines.iter().enumerate() {
            edits.push(Some(without(at).collect::<Vec<_>>().join("\n") + "\n"));
            if let Some((key, value)) = line.split_once(": ") {
                for other in ["other-9", "FOUND", "EXPLORE", "VERIFY", "comment", "R2.A2", "1", "false"] {
                    let changed = format!("{key}: {other}");
                    edits.push((value != other).then(|| {
                        let mut lines: Vec<&str> = lines.clone();
                        lines[at] = &changed;
                        lines.join("\n") + "\n"
                    }));
                }
            }
        }
        for edit in some(edits) {
            match &edit {
                Some(text) => std::fs::write(&file, text).unwrap(),
                None => drop(std::fs::remove_file(&file)),
            }
            sandbox.git(&folder, &["commit", "-qam", "By hand", "--allow-empty"]);
            tried += 1;
            if tried % 2 == 0 {
                let before = sandbox.git(&folder, &["rev-parse", "HEAD~1"]).trim().to_owned();
                merge_as(&sandbox, &folder, &before, &beside(&sandbox, &folder, &before), "HEAD");
            }
            if let Some((now, whole_now)) = look() {
                for (id, verdict) in &now {
                    let was = answers.get(id).copied().unwrap_or(Verdict::NotChecked);
                    let is_no_better = *verdict <= was.max(Verdict::NotChecked);
                    assert!(is_no_better, "{path}: {id} was {was:?} and is {verdict:?} with {edit:?}");
                }
                let is_no_better = whole_now <= whole.max(Some(Verdict::NotChecked));
                assert!(is_no_better, "{path}: the whole was {whole:?} and is {whole_now:?} with {edit:?}");
            }
            sandbox.git(&folder, &["reset", "-q", "--hard", "HEAD~1"]);
        }
    }
    assert!(tried > 80, "{tried}");
}
