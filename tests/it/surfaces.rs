//! What each surface of a real repository says about an answer and about the investigation: replies, resources, screens, files and
//! pages. The snapshots show it for a few states, and the other tests check the verdict. `src/report/tests/agree.rs` compares the
//! pages for random facts.
//!
//! [`SURFACES`] and [`SILENT`] name every resource and every form of an export: each with how to read it, or with why it says
//! nothing about an answer. An unlisted one fails a test, as does an unlisted command that says something.
//! `tests/clients/tools.json` has the tools.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use insta::assert_snapshot;
use regex_lite::Regex;
use serde_json::{Value, json};
use tree_of_thoughts::assess::{Assessment, Verdict};
use tree_of_thoughts::store::Store;

use crate::mcp::table;
use crate::sessions::masked;
use crate::support::{
    Sandbox, Server, Session, TOT, assert_ids_are_named, node, result, short, some, there, with_tot,
};

/// Two answers. The first is confirmed and the conclusion names the second; stopped early.
fn ended(sandbox: &Sandbox) -> Session {
    let mut session = Session::grown(sandbox, &["R2.A1", "R2.A2"], "FOUND");
    session.grow(&[("R3.A1a", Some("R2.A1"))], "VERIFY");
    session.ok(
        "tot_end",
        json!({
            "conclusion": "It is the second.", "answers": ["R2.A2"], "notCovered": ["The other machine."],
            "stopped": {"reason": "enough"},
        }),
    );
    session
}

/// Returns the output of a command in the folder.
fn says(sandbox: &Sandbox, folder: &Path, arguments: &str) -> String {
    let ran = sandbox.command(TOT).current_dir(folder).args(arguments.split(' ')).output().unwrap();
    // The age is that of today.
    Regex::new("[0-9]+ days ago")
        .unwrap()
        .replace(&String::from_utf8_lossy(&ran.stdout), "N days ago")
        .into_owned()
}

const CONFIRMED: &str = "confirmed by another agent, same session";
const BY_ANN: &str = "confirmed by Ann";
const CONTESTED: &str = "contested";
const NOT_CHECKED: &str = "not checked";
const BY_HAND: &str = "changed by hand, not checked since";

/// Each surface that says something about an answer, with the command lines that show it.
const SURFACES: &[(&str, &str)] = &[
    ("resource tot://{sessionId}", ""),
    ("resource tot://{sessionId}/graph.dot", ""),
    ("resource tot://{sessionId}/graph.svg", ""),
    ("resource tot://{sessionId}/nodes/{nodeId}", ""),
    ("resource tot://investigations", ""),
    ("command show", "show|show --json|show R2.A2|show R2.A1|show R3.A1a"),
    ("command list", "list"),
    ("command review", "review --print|review --json"),
    ("command check", "check --signatures|check --signatures --json"),
    ("command diff", "diff --markdown BEGIN..HEAD"),
    ("command search", "search Title of"),
    ("command approve", "approve --unsigned -m Tried."),
    ("command report", "report . --out ../site|report . --single-file ../one.html"),
    ("format json", "export --format json"),
    ("format markdown", "export --format markdown"),
    ("format dot", "export --format dot"),
    ("format svg", "export --format svg"),
    ("format mermaid", "export --format mermaid"),
    ("file README.md", ""),
];

/// Surfaces that say nothing about answers: the kind, the names and the reason. An unlisted command may say nothing about
/// them in the session that runs every command.
const SILENT: &[(&str, &str, &str)] = &[
    ("resource", "tot://{sessionId}/history", "what is stored, and not what is made of it"),
    ("format", "bundle", "what is stored, and not what is made of it"),
    ("command", "log", "the messages of commits, as they are stored"),
    ("command", "amend", "names the answers that are no longer confirmed"),
];

/// Returns whether the session that runs every command has a command that says something about an answer.
fn tells(command: &str) -> bool {
    const WORDS: [&str; 5] = ["confirmed", "contested", "not checked", "checked only", "changed by hand"];
    let session = crate::sessions::read("all__each_command");
    let parts = session.split("\n$ ").filter(|part| part.starts_with(&format!("tot {command} ")));
    parts.into_iter().any(|part| WORDS.iter().any(|word| part.contains(word)))
}

/// Returns what each surface shows.
fn shown(session: &mut Session) -> Vec<(String, String)> {
    let (sandbox, folder, id) = (&session.sandbox.clone(), session.repository(), session.id.clone());
    let begin = sandbox.git(&folder, &["rev-list", "--max-parents=0", "HEAD"]).trim().to_owned();
    let file = |path: &str| std::fs::read_to_string(folder.join(path)).unwrap();
    let mut texts = Vec::new();
    let tools = table()["tools"].take();
    for (tool, row) in tools.as_object().unwrap().iter().filter(|(_, row)| row["verdict"].is_object()) {
        let arguments = row["verdict"].to_string().replace("<session>", &id);
        let reply = session.server.ok(tool, serde_json::from_str(&arguments).unwrap());
        texts.push((format!("tool {tool}"), format!("{reply:#}")));
    }
    for (name, how) in SURFACES {
        let (kind, what) = name.split_once(' ').unwrap();
        let text = match kind {
            "resource" => {
                let uri = what.replace("{sessionId}", &id).replace("{nodeId}", "R2.A2");
                let read = session.server.request("resources/read", json!({"uri": uri}));
                read["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}")).to_owned()
            }
            "file" => file(what),
            _ => {
                let lines = how.split('|').map(|line| line.replace("BEGIN", &begin));
                lines.map(|line| says(sandbox, &folder, &line)).collect()
            }
        };
        texts.push((name.to_string(), text));
    }
    for tag in sandbox.git(&folder, &["tag", "--list", "approved/*"]).lines() {
        let said = sandbox.git(&folder, &["tag", "--list", "--format=%(contents)", tag]);
        texts.push(("sign-off".to_owned(), said));
        sandbox.git(&folder, &["tag", "--delete", tag]);
    }
    let pages = ["index.html", "tree.html", "nodes/R2.A1.html", "nodes/R3.A1a.html"];
    for page in pages.into_iter().filter(|page| folder.join("../site").join(page).exists()) {
        texts.push((page.to_owned(), file(&format!("../site/{page}"))));
    }
    texts.push(("single file".to_owned(), file("../one.html")));
    texts.push(("investigation.json".to_owned(), file("../site/investigation.json")));
    std::fs::remove_dir_all(folder.join("../site")).unwrap();
    // What a person prints may name a tagger with the address.
    for (name, text) in texts.iter().filter(|(name, _)| !name.starts_with("command") && name != "sign-off") {
        let address = ["@localhost", "@example.org"].into_iter().find(|address| text.contains(address));
        assert_eq!(address, None, "an address stands in {name}: {text}");
    }
    texts
}

/// Returns the lines on each surface that say how certain something is, what was not tried, or which answer it is about.
fn certainty(session: &mut Session) -> String {
    let is_told = Regex::new(
        "confirmed|contested|confirmation\"|[Nn]ot checked|[Cc]hecked only|[Ss]topped early|by hand|[Rr]erun by|not rerun|\
         reproduced|differs|[Nn]ot covered|ot tried|not try|other disk|took |No answer|answer: | FOUND |^ *\"(nodeId|id|node)\": \"R2",
    );
    let (is_told, tag) = (is_told.unwrap(), Regex::new("(?s)<style.*?</style>|<[^>]*>").unwrap());
    let is_whole_file =
        |line: &str| ["\"dot\"", "\"finalDot\"", "\"rulesetFile\""].iter().any(|it| line.starts_with(it));
    let sum = Regex::new("Tot-Checksum: 1-[0-9a-f]+").unwrap();
    let mut all = String::new();
    for (name, text) in shown(session) {
        all.push_str(&format!("# {name}\n"));
        for line in tag.replace_all(&text.replace("</li>", "</li>\n"), " ").lines() {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            // It covers random ids.
            let line = sum.replace_all(&line, "Tot-Checksum");
            if is_told.is_match(&line) && !is_whole_file(&line) {
                all.extend(line.chars().take(200).chain(['\n']));
            }
        }
    }
    let all = Regex::new(r"\d\.\d s\b").unwrap().replace_all(&all, "SECONDS");
    masked(&all)
}

/// Asserts the verdicts on R2.A1 and R2.A2, which a running server has to read anew.
fn assert_verdicts(session: &mut Session, first: &str, second: &str) {
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1", "R2.A2"]}));
    let words = [0, 1].map(|at| read["nodes"][at]["verdict"]["words"].as_str().unwrap());
    assert_eq!(words, [first, second], "{read:#}");
}

/// Replaces text in a file, as a manual edit does.
fn edit(folder: &Path, path: &str, from: &str, to: &str) {
    let file = there(folder, path);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains(from), "{text}");
    std::fs::write(&file, text.replace(from, to)).unwrap();
}

/// Replaces text in the findings of a node, and commits the change.
fn edit_findings(sandbox: &Sandbox, folder: &Path, node: &str) {
    let path = format!("nodes/{}/{node}.yaml", &node[..2]);
    edit(folder, &path, &format!("Findings of {node}."), "Another text altogether.");
    sandbox.git(folder, &["commit", "-qam", "Edit", "--author", "Ann <ann@example.org>"]);
}

/// Objects to the first answer.
fn object(session: &mut Session) {
    let objection =
        json!({"nodeId": "R2.A1", "kind": "objection", "text": "It was another day.", "agentId": "x"});
    session.ok("tot_comment", objection);
}

#[test]
fn one_thing_is_the_same_json_in_replies_commands_and_sites() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1", "R2.A2"], "FOUND");
    session.grow(&[("R2.A3", Some("R1.A"))], "EXPLORE");
    session
        .ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1")), node("R3.A3a", Some("R2.A3"))]}));
    let (mut check, dead) = (result("R3.A1a", "VERIFY"), result("R3.A3a", "DEAD"));
    check["references"] =
        json!([{"target": "https://example.org/a", "note": "A page"}, {"target": "b.rs", "lines": "3"}]);
    check["links"] = json!([{"to": "R2.A2", "kind": "contradicts"}]);
    session.ok("tot_commit", json!({"results": [check, dead]}));
    let answers = json!([{"nodeId": "R2.A1", "as": "main"}, {"nodeId": "R2.A2", "as": "rival"}]);
    let stopped = json!({"reason": "enough"});
    let end = session.ok("tot_end", json!({"conclusion": "Done.", "answers": answers, "stopped": stopped}));
    object(&mut session);
    let folder = session.repository();
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| panic!("{text}"));
    for line in ["run R2.A1 -- cat conclusion.yaml", "rerun --yes --at here", "report . --out ../site"] {
        says(&session.sandbox, &folder, line);
    }
    let data = json(&std::fs::read_to_string(folder.join("../site/investigation.json")).unwrap());
    let shown = json(&says(&session.sandbox, &folder, "show --json"));
    assert_ids_are_named(&data);
    assert_eq!(
        (&end["restsOn"], &end["references"], &end["deadEnds"]),
        (&answers, &data["references"], &data["deadEnds"])
    );
    assert_eq!([&shown["restsOn"], &data["restsOn"], &data["conclusion"]["answers"]], [&answers; 3]);
    assert_eq!(shown["openObjections"], data["openObjections"]);
    for node in data["nodes"].as_array().unwrap() {
        let id = node["nodeId"].as_str().unwrap();
        let mut read = session.ok("tot_read", json!({"nodeIds": [id]}))["nodes"][0].take();
        let [comments, runs] = ["comments", "runs"].map(|name| read.as_object_mut().unwrap().remove(name));
        assert_eq!(&read, node);
        let of_node = |name: &str| {
            data[name].as_array().unwrap().iter().filter(|it| it["nodeId"] == id).cloned().collect()
        };
        let [said, ran]: [Vec<Value>; 2] = ["comments", "runs"].map(of_node);
        let document = json(&says(&session.sandbox, &folder, &format!("show {id} --json")));
        assert_eq!(
            (&document["node"], &document["comments"], &document["runs"]),
            (node, &json!(said), &json!(ran))
        );
        assert_eq!((said.len(), ran.len()), if id == "R2.A1" { (1, 2) } else { (0, 0) });
        assert_eq!(comments.unwrap_or(json!([])), json!(said));
        // A reply has the first run, with what its reruns gave.
        let told = |run: &Value| json!([run["runId"], run["standing"]]);
        assert_eq!(runs.map(|runs| told(&runs[0])), ran.first().map(told));
        let verdict = |document: &Value| {
            let mut answers = document["answers"].as_array().unwrap().iter();
            answers.find(|answer| answer["nodeId"] == id).map(|answer| answer["verdict"].clone())
        };
        let expected = node.get("verdict").cloned();
        assert_eq!([verdict(&data), verdict(&shown)], [expected.clone(), expected]);
    }
}

/// One person captures the run in the project; another session and another person rerun it.
#[test]
fn every_surface_says_what_the_commands_of_an_answer_are_worth() {
    let sandbox = Sandbox::new();
    let mut session = ended(&sandbox);
    let project = sandbox.path("project");
    std::fs::create_dir(&project).unwrap();
    let value = |text: &str| std::fs::write(project.join("value"), text).unwrap();
    let tot = |name: &str, arguments: &[&str]| {
        sandbox.sleep(60);
        let mut command = sandbox.command(TOT);
        command.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", format!("{name}@example.org"));
        command.env("TOT_ROOT", sandbox.root()).current_dir(&project).stdin(Stdio::null());
        command.env("TOT_CLOCK", sandbox.path("clock")).args(arguments);
        let ran = command.output().unwrap();
        (ran.status.code().unwrap(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let again = |name: &str| tot(name, &["rerun", "--yes", "--at", "here"]);
    let says = |session: &mut Session, second: &str, whole: &str| {
        assert_verdicts(session, CONFIRMED, second);
        let readme = std::fs::read_to_string(session.repository().join("README.md")).unwrap();
        assert!(readme.contains(&format!("\nEvidence: {whole}.\n")), "{readme}");
    };
    value("1\n");
    assert_eq!(tot("Ann", &["run", "R2.A2", "--", "cat", "value"]).0, 0);
    says(&mut session, NOT_CHECKED, "1 command, not rerun yet");
    value("2\n");
    let (status, told) = again("Bob");
    assert!(status == 1 && told.contains("0 of 1 same, 1 differs\n"), "{told}");
    let bob = |is: &str| format!("1 command: {is}; last rerun by Bob (a person) on 5 Jan 2026");
    says(&mut session, CONTESTED, &bob("differs"));
    assert_snapshot!("differs", certainty(&mut session));
    let differing = session.git(&["ls-files", "runs"]);
    let last = differing.lines().last().unwrap().trim_end_matches(".yaml");
    assert_eq!(tot("Bob", &["rerun", "--judge", &last[last.len() - 8..], "holds", "-m", "It grows."]).0, 0);
    says(&mut session, NOT_CHECKED, &bob("differs (judged to hold)"));
    assert_snapshot!("judged", certainty(&mut session));
    // The same difference is recognized when it recurs; a different one is not.
    let (status, told) = again("Bob");
    let known = "known: it holds, as judged by Bob (a person): It grows.";
    assert!(status == 0 && told.contains(known) && !told.contains("--judge"), "{told}");
    assert!(told.contains("0 of 1 same, 1 differs (judged to hold)\n"), "{told}");
    says(&mut session, NOT_CHECKED, &bob("differs (judged to hold)"));
    value("3\n");
    assert_eq!(again("Bob").0, 1);
    says(&mut session, CONTESTED, &bob("differs"));
    value("1\n");
    // The word of whoever captured the command does not settle what somebody else found.
    assert_eq!(again("Ann").0, 0);
    says(&mut session, CONTESTED, &bob("differs"));
    assert_eq!(again("Bob").0, 0);
    says(&mut session, NOT_CHECKED, &bob("gave the same when rerun by another"));
}

#[test]
fn a_surface_without_a_reader_fails() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    let mut found: BTreeSet<String> = BTreeSet::new();
    let mut add = |kind: &str, names: Vec<String>| {
        assert!(!names.is_empty(), "{kind}");
        found.extend(names.into_iter().map(|name| format!("{kind} {name}")));
    };
    let mut listed = |method: &str, list: &str, name: &str| -> Vec<String> {
        let reply = server.request(method, json!({}));
        let entries = reply["result"][list].as_array().unwrap().iter();
        entries.map(|entry| entry[name].as_str().unwrap().to_owned()).collect()
    };
    add("resource", listed("resources/list", "resources", "uri"));
    add("resource", listed("resources/templates/list", "resourceTemplates", "uriTemplate"));
    let help = says(&sandbox, &sandbox.path(""), "--help");
    let rows = help.lines().skip_while(|line| *line != "Look").take_while(|line| *line != "Options");
    let rows = rows.filter_map(|line| line.strip_prefix("  "));
    let commands = rows.flat_map(|row| row.split("  ").next().unwrap().split(", "));
    add("command", commands.map(str::to_owned).collect());
    let help = says(&sandbox, &sandbox.path(""), "export --help");
    let forms = help.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':'));
    add("format", forms.map(|(name, _)| name.to_owned()).collect());
    let silent =
        SILENT.iter().flat_map(|(kind, names, _)| names.split(' ').map(move |name| format!("{kind} {name}")));
    let read = SURFACES.iter().map(|(name, _)| (*name).to_owned()).filter(|name| !name.starts_with("file "));
    let known: BTreeSet<String> = read.chain(silent).collect();
    let is_told = |name: &&String| name.strip_prefix("command ").is_none_or(tells);
    let unread: Vec<&String> = found.difference(&known).filter(is_told).collect();
    assert!(
        unread.is_empty(),
        "SURFACES has no reader of these, and SILENT not why they need none: {unread:?}"
    );
    let gone: Vec<&String> = known.difference(&found).collect();
    assert!(gone.is_empty(), "these are surfaces no more: {gone:?}");
}

#[test]
fn the_better_answer_does_not_stand_in_the_place_of_the_one_that_the_conclusion_names() {
    let mut session = ended(&Sandbox::new());
    assert_verdicts(&mut session, CONFIRMED, NOT_CHECKED);
    assert_snapshot!("ended", certainty(&mut session));
    let repository = session.repository();
    says(&session.sandbox, &repository, "report . --single-file ../one.html");
    let page = std::fs::read_to_string(repository.join("../one.html")).unwrap();
    let top =
        page.split("<section class=\"answer early\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(top.contains("Title of R2.A2") && !top.contains("Title of R2.A1"), "{top}");
}

/// Clients are not asked about untried checks or their distance from what they confirm. Their statements are shown next
/// to the verdict.
#[test]
fn what_a_confirmation_did_not_try_and_how_far_it_is_stand_beside_the_verdict() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    sandbox.sleep(60);
    let results = [result("R2.A1", "FOUND"), result("R2.A2", "FOUND")];
    session.ok("tot_commit", json!({"results": results, "model": "opus-4"}));
    session
        .ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1")), node("R3.A2a", Some("R2.A2"))]}));
    sandbox.sleep(90);
    let mut command = sandbox.server_command(&sandbox.root(), &[]);
    command.env("TOT_CLOCK", sandbox.path("clock")).env("CLAUDE_CODE_SESSION_ID", "session-2");
    let mut other = Server::start(command);
    let mut confirming = result("R3.A1a", "VERIFY");
    confirming["caveats"] = json!(["The other disk.", " "]);
    confirming["commands"] = json!([{"command": "cargo bench", "exitCode": 0}]);
    let results = [confirming, result("R3.A2a", "VERIFY")];
    other.ok("tot_commit", json!({"sessionId": session.id, "results": results, "model": "opus-4"}));
    let folder = session.repository();
    let stored = std::fs::read_to_string(there(&folder, "nodes/R3/R3.A1a.yaml")).unwrap();
    assert!(stored.contains("caveats:\n- The other disk.\ncommands:"), "{stored}");
    let bare = std::fs::read_to_string(there(&folder, "nodes/R3/R3.A2a.yaml")).unwrap();
    assert!(!bare.contains("caveats"), "{bare}");
    let end = session.ok(
        "tot_end",
        json!({"conclusion": "It is the first.", "answers": ["R2.A1"], "notCovered": ["The other machine."],
            "stopped": {"reason": "enough"}}),
    );
    let message = sandbox.git(&folder, &["log", "-1", "--format=%B"]);
    assert_snapshot!("distance", format!("{:#}\n{message}\n{}", end["answers"], certainty(&mut session)));
}

#[test]
fn what_a_hand_wrote_is_not_called_confirmed_until_somebody_confirms_it_anew() {
    let mut session = ended(&Sandbox::new());
    let folder = session.repository();
    edit_findings(&session.sandbox, &folder, "R2.A1");
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    assert_snapshot!("by_hand", certainty(&mut session));
    // A confirmation written manually does not count either.
    session.sandbox.git(&folder, &["reset", "-q", "--hard", "HEAD~1"]);
    assert_verdicts(&mut session, CONFIRMED, NOT_CHECKED);
    edit_findings(&session.sandbox, &folder, "R3.A1a");
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    // A new confirmation by a call counts, and so does an old one that is given again.
    let reclassify = |id: &str, state: &str| json!({"nodeId": id, "newState": state, "reason": "Again.", "agentId": format!("agent-{id}")});
    let is_confirmed = |session: &mut Session| {
        let status = session.ok("tot_status", json!({}))["answers"].to_string();
        status.contains("R2.A1 FOUND (confirmed by another agent")
    };
    session.ok("tot_reclassify", reclassify("R2.A2", "EXPLORE"));
    session.grow(&[("R3.A1b", Some("R2.A1"))], "VERIFY");
    assert!(is_confirmed(&mut session));
    edit(&folder, "nodes/R3/R3.A1a.yaml", "Another text altogether.", "Yet another.");
    session.sandbox.git(&folder, &["commit", "-qam", "Edit"]);
    assert!(!is_confirmed(&mut session));
    session.sandbox.sleep(60);
    session.ok("tot_reclassify", reclassify("R3.A1b", "EXPLORE"));
    session.ok("tot_reclassify", reclassify("R3.A1b", "VERIFY"));
    assert!(is_confirmed(&mut session));
}

#[test]
fn an_edit_by_hand_under_the_message_of_a_call_is_not_called_confirmed() {
    let sandbox = Sandbox::new();
    let mut session = ended(&sandbox);
    let folder = session.repository();
    let head = sandbox.head(&folder);
    let path = "nodes/R2/R2.A1.yaml";
    let to_edit = || edit(&folder, path, "Findings of R2.A1.", "Another text altogether.");
    let amended = "Amend R2.A1\n\nTool: tot_amend\nNode: R2.A1";
    let committed = sandbox.git(&folder, &["log", "-1", "--format=%B", "--", "nodes/*/R2.A1-*"]);
    for message in [amended, committed.trim(), "Claim\n\nTool: tot_next\nNode: R2.A1", "x\n\nTool: none"] {
        to_edit();
        sandbox.git(&folder, &["commit", "-qam", message]);
        assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
        sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    }
    // One that replaces the result, and one next to a real call.
    let at = sandbox.git(&folder, &["log", "-1", "--format=%cI"]);
    let second = format!("\"{}.000Z\"", at.trim().trim_end_matches("+00:00").trim_end_matches('Z'));
    let text = std::fs::read_to_string(there(&folder, path)).unwrap();
    let line = text.lines().find(|line| line.starts_with("committedAt: ")).unwrap();
    to_edit();
    edit(&folder, path, line, &format!("committedAt: {second}"));
    sandbox.git(&folder, &["commit", "-qa", "--date", at.trim(), "-m", committed.trim()]);
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    to_edit();
    sandbox.git(&folder, &["commit", "-qa", "--amend", "--no-edit"]);
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    assert_verdicts(&mut session, CONFIRMED, NOT_CHECKED);
}

/// Git would omit the commit, or replace it with another.
#[test]
fn a_graft_or_a_replaced_commit_hides_no_edit_by_hand() {
    let sandbox = Sandbox::new();
    let mut session = ended(&sandbox);
    let folder = session.repository();
    let before = sandbox.head(&folder);
    edit_findings(&sandbox, &folder, "R2.A1");
    let edit = sandbox.head(&folder);
    sandbox.git(&folder, &["commit", "-q", "--allow-empty", "-m", "Later"]);
    let head = sandbox.head(&folder);
    std::fs::create_dir_all(folder.join(".git/info")).unwrap();
    std::fs::write(folder.join(".git/info/grafts"), format!("{head} {before}\n")).unwrap();
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    std::fs::remove_file(folder.join(".git/info/grafts")).unwrap();
    sandbox.git(&folder, &["replace", "--graft", &head, &before]);
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    sandbox.git(&folder, &["replace", "-d", &head]);
    sandbox.git(&folder, &["replace", &edit, &before]);
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
}

#[test]
fn who_edits_an_answer_by_hand_does_not_confirm_it_as_a_person() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1"], "FOUND");
    session
        .ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1")), node("R3.A1b", Some("R2.A1"))]}));
    let folder = session.repository();
    edit_findings(&session.sandbox, &folder, "R2.A1");
    let verdict = |session: &mut Session| {
        let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1"]}));
        read["nodes"][0]["verdict"]["words"].as_str().unwrap().to_owned()
    };
    person(&session.sandbox, &folder, "Ann", &["commit", "-"], &confirming("R3.A1a"));
    assert_eq!(verdict(&mut session), "checked only by its author");
    person(&session.sandbox, &folder, "Bob", &["commit", "-"], &confirming("R3.A1b"));
    assert_eq!(verdict(&mut session), "confirmed by Bob");
}

/// Returns a command run by the person with this name, on the sandbox's clock.
fn person(sandbox: &Sandbox, folder: &Path, name: &str, arguments: &[&str], input: &str) {
    let mut command = sandbox.command(TOT);
    let email = format!("{}@example.org", name.to_lowercase());
    command.env("GIT_AUTHOR_NAME", name).env("GIT_AUTHOR_EMAIL", email).current_dir(folder);
    command.args(arguments);
    if ["commit", "end"].contains(&arguments[0]) {
        command.env("TOT_CLOCK", sandbox.path("clock"));
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{arguments:?}");
    sandbox.sleep(60);
}

/// Sets HEAD to a merge of two commits with the tree of a third.
fn merge_as(sandbox: &Sandbox, folder: &Path, one: &str, other: &str, tree: &str) {
    let tree = format!("{tree}^{{tree}}");
    let merge = ["commit-tree", &tree, "-p", one, "-p", other, "-m", "Merge"];
    let merge = sandbox.git(folder, &merge).trim().to_owned();
    sandbox.git(folder, &["reset", "-q", "--hard", &merge]);
}

/// Creates a commit on top of another that changes nothing.
fn beside(sandbox: &Sandbox, folder: &Path, commit: &str) -> String {
    let tree = format!("{commit}^{{tree}}");
    sandbox.git(folder, &["commit-tree", &tree, "-p", commit, "-m", "Beside"]).trim().to_owned()
}

#[test]
fn an_edit_by_hand_does_not_hide_in_a_merge() {
    let sandbox = Sandbox::new();
    let mut session = ended(&sandbox);
    let folder = session.repository();
    let head = sandbox.head(&folder);
    let other = beside(&sandbox, &folder, &head);
    merge_as(&sandbox, &folder, &head, &other, &head);
    assert_verdicts(&mut session, CONFIRMED, NOT_CHECKED);
    for node in ["R2.A1", "R3.A1a"] {
        sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
        edit_findings(&sandbox, &folder, node);
        merge_as(&sandbox, &folder, &head, &other, "HEAD");
        assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    }
    // An objection that a merge drops is not resolved by that.
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    object(&mut session);
    assert_verdicts(&mut session, CONTESTED, NOT_CHECKED);
    let contested = sandbox.head(&folder);
    merge_as(&sandbox, &folder, &other, &contested, &contested);
    assert_verdicts(&mut session, CONTESTED, NOT_CHECKED);
    merge_as(&sandbox, &folder, &other, &contested, &head);
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    // The terms of a different start do not apply either.
    sandbox.git(&folder, &["reset", "-q", "--hard", &head]);
    let beginning = sandbox.git(&folder, &["commit-tree", "HEAD^{tree}", "-m", "Begin"]).trim().to_owned();
    merge_as(&sandbox, &folder, &beginning, &head, &head);
    let snapshot = Store::new(folder.parent().unwrap()).load(&folder).unwrap();
    assert!(snapshot.investigation.by_hand().end);
}

/// Returns a result submitted by a person.
fn confirming(node: &str) -> String {
    format!("---\nnodeId: {node}\nstate: VERIFY\n---\n\nIt was measured again, elsewhere.\n")
}

/// Changes the author of a commit and rewrites later commits. Files and messages stay the same.
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

/// Returns what `tot check` says about authors.
fn checked(sandbox: &Sandbox, folder: &Path) -> String {
    let lines = says(sandbox, folder, "check --json");
    let found: Value = serde_json::from_str(&lines).unwrap_or_else(|_| panic!("{lines}"));
    let of_authors = |it: &&Value| it["code"] == "AUTHOR_DIFFERS";
    let all = found["investigations"][0]["findings"].as_array().unwrap_or_else(|| panic!("{found}"));
    all.iter().filter(of_authors).map(|it| format!("{} {}\n", it["severity"], it["path"])).collect()
}

#[test]
fn nobody_is_taken_for_a_person_whom_git_does_not_name() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let folder = session.repository();
    session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], "FOUND");
    object(&mut session);
    let comments = sandbox.git(&folder, &["ls-files", "comments"]);
    let objection = comments.trim().trim_start_matches("comments/").trim_end_matches(".yaml");
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    person(&sandbox, &folder, "Ann", &["commit", "-"], &confirming("R3.A1a"));
    let committed = sandbox.head(&folder);
    person(&sandbox, &folder, "Ann", &["resolve", objection, "-m", "It was the same day."], "");
    let resolved = sandbox.head(&folder);
    let stopped = json!({"reason": "enough"});
    session.ok("tot_end", json!({"conclusion": "It is so.", "answers": ["R2.A2"], "stopped": stopped}));
    assert_verdicts(&mut session, BY_ANN, NOT_CHECKED);
    let ended = sandbox.head(&folder);
    assert_eq!(checked(&sandbox, &folder), "");
    // The confirmation, in Ann's words, by someone else.
    give_to(&sandbox, &folder, &committed, "Bob");
    assert_verdicts(&mut session, BY_HAND, NOT_CHECKED);
    assert_eq!(short(&checked(&sandbox, &folder)), "\"error\" \"nodes/R3/R3.A1a.yaml\"\n");
    // README.md is as the last call wrote it.
    for (surface, text) in shown(&mut session).into_iter().filter(|(surface, _)| surface != "file README.md")
    {
        assert!(!text.contains("confirmed by Ann"), "{surface}: {text}");
    }
    let read = session.ok("tot_read", json!({"nodeIds": ["R3.A1a"]}));
    assert!(!read["nodes"].to_string().contains("Ann"), "{read}");
    sandbox.git(&folder, &["reset", "-q", "--hard", &ended]);
    assert_verdicts(&mut session, BY_ANN, NOT_CHECKED);
    // The objection is not resolved by someone who claims to be Ann.
    give_to(&sandbox, &folder, &resolved, "Bob");
    assert_verdicts(&mut session, CONTESTED, NOT_CHECKED);
    let comment = sandbox.git(&folder, &["ls-files", "comments"]);
    let resolution = comment.lines().find(|path| !path.contains(objection)).unwrap();
    assert_eq!(checked(&sandbox, &folder), format!("\"error\" \"{resolution}\"\n"));
    let shown = says(&sandbox, &folder, "show R2.A1");
    assert!(shown.contains("unknown author") && !shown.contains("Ann, "), "{shown}");
}

#[test]
fn an_end_that_git_does_not_bear_out_is_not_checked() {
    let session = Session::begun(&Sandbox::new());
    let folder = session.repository();
    person(&session.sandbox, &folder, "Ann", &["end", "--stopped", "enough", "-m", "It is so."], "");
    let ended_by = || {
        let all: Value =
            serde_json::from_str(&says(&session.sandbox, &folder, "export --format json")).unwrap();
        all["conclusion"]["by"]["name"].clone()
    };
    assert_eq!(ended_by(), "Ann");
    let head = session.sandbox.head(&folder);
    give_to(&session.sandbox, &folder, &head, "Bob");
    assert_eq!(
        (ended_by(), checked(&session.sandbox, &folder).as_str()),
        (Value::Null, "\"error\" \"conclusion.yaml\"\n")
    );
}

/// Two people's results, merged by git, node by node and through a file: each keeps its author.
#[test]
fn merges_clones_and_imports_take_nothing_from_anybody() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let folder = session.repository();
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
        let words = |id: &str| {
            assessment.answer(&snapshot.investigation.find(id).unwrap().id).unwrap().words().into_owned()
        };
        assert_eq!([words("R2.A1"), words("R2.A2")], ["confirmed by Ann", "confirmed by Bob"]);
        assert_eq!(checked(&sandbox, folder), "");
    };
    sandbox.git(&folder, &["pull", "-q", "--no-rebase", "--no-edit", other.to_str().unwrap()]);
    both(&folder);
    // Changes by both to one node, or under one id, are merged node by node, whoever does it.
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
    let pull = ["pull", "-q", "--no-rebase", "--no-edit", other.to_str().unwrap()];
    assert!(!sandbox.try_git(&folder, &pull).status.success(), "git does not find its merge driver");
    person(&sandbox, &folder, "Carol", &["merge", "--resolve"], "");
    both(&folder);
    Store::new(third.parent().unwrap()).configure(&third).unwrap();
    let pulled = with_tot(&mut sandbox.command("git")).current_dir(&third).args(pull).status().unwrap();
    assert!(pulled.success());
    both(&third);
    let text = |path: &str| std::fs::read_to_string(there(&folder.join("nodes/R3"), path)).unwrap();
    assert!(text("R3.A1b.yaml").contains("name: Ann") && text("R3.A1b.yaml").contains("name: Bob"));
    assert_eq!(sandbox.git(&folder, &["grep", "-l", "id: R3.A2b-"]).lines().count(), 2);
}

/// Every stored line of every file is removed or changed, and every file removed, each in a manual commit or in a
/// merge. None of these makes an answer or the investigation look better checked than before. `TOT_CASES` sets how many
/// are tried.
#[test]
fn no_edit_by_hand_has_anything_look_better_checked() {
    let sandbox = Sandbox::new();
    let mut session = Session::grown(&sandbox, &["R2.A1", "R2.A2", "R2.A3"], "FOUND");
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1")), node("R3.A2a", Some("R2.A2")), node("R3.A3a", Some("R2.A3"))]}));
    let by = |id: &str, agent: &str, refutes: bool| json!({"nodeId": id, "state": "VERIFY", "findings": "It was measured again.", "agentId": agent, "refutes": refutes});
    let results =
        [by("R3.A1a", "other", false), by("R3.A2a", "agent-R2.A2", false), by("R3.A3a", "other", true)];
    session.ok("tot_commit", json!({"results": results}));
    object(&mut session);
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
