//! Sites of hand-made investigations: what holds for every page, and the samples. Each module has the tests of one page.

mod agree;
mod compare;
mod evidence;
mod first_page;
mod graph;
mod history;
mod node;
#[path = "../../tests/it/report/pages.rs"]
mod pages;
mod schema;
mod search;
mod sign_offs;
mod sites;
mod templates;
mod withheld;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::pages::{SiteContents, site};
use super::model::Time;
use super::*;
use crate::domain::run::{
    Ended, Expectation, InputFile, Output, ProjectState, Ran, RunComparison, RunInput, RunRef, RunVariable,
    Seconds, System,
};
use crate::domain::{
    AmendedConclusion, Amendment, Asked, Attached, Author, BoundAnswer, BoundAs, Caller, Change, Citation,
    Classification, Code, Command, Comment, CommentId, CommentKind, Commenter, Conclusion, Happening,
    Investigation, Lines, Link, LinkKind, Meta, NamedIn, Node, NodeId, PersonsAnswer, Pin, Reclassification,
    Run, RunId, RunKind, StopReason, Stopped, Timestamp, Warning,
};
use crate::json::NodeJson;
use crate::ruleset::{EffectiveRules, builtin};
use crate::service::project::{Drift, Forge, ProjectEvidence};
use crate::store::{Checksum, CommitId, Fault, Relation};

type Files = BTreeMap<String, Vec<u8>>;

#[test]
fn every_page_of_an_investigation_is_under_one_tab() {
    let files = render(&[sample()]);
    assert!(!files.contains_key("README.md"), "the guide for template authors is no page");
    for (path, page) in pages(&files).into_iter().filter(|(path, _)| path != "print.html") {
        let (_, nav) = page.split_once("aria-label=\"Investigation\">").unwrap();
        let (nav, _) = nav.split_once("</nav>").unwrap();
        let current: Vec<&str> = nav.lines().filter(|line| line.contains(" aria-current=\"")).collect();
        assert_eq!(current.len(), 1, "{path}: {current:?}");
        let is_first = current[0].contains(&format!("href=\"{path}\" aria-current=\"page\">"));
        assert_eq!(is_first, current[0].contains("\"page\""), "{path}: {current:?}");
    }
    // Views under one tab link to each other.
    for (from, to) in [("tree", "graph"), ("graph", "tree")] {
        let page = page(&files, &format!("{from}.html"));
        let (_, views) = page.split_once("<nav class=\"views\"").unwrap();
        let (views, _) = views.split_once("</nav>").unwrap();
        assert!(views.contains(&format!("href=\"{to}.html\">")), "{views}");
        assert!(views.contains(&format!("href=\"{from}.html\" aria-current=\"page\">")), "{views}");
    }
}

#[test]
fn every_page_has_the_policy_and_one_heading_of_the_first_level() {
    let mut all = pages(&render(&[sample(), unfinished()]));
    all.extend(pages(&render(&[discussed("# Why\n\nIt holds.")])));
    for (path, page) in all {
        let policy =
            format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_SECURITY_POLICY}\">");
        assert!(page.contains(&policy), "{path}");
        assert_eq!(page.matches("<h1").count(), 1, "{path}");
        assert!(page.contains("<main id=\"main\"") && page.contains("href=\"#main\""), "{path}");
        for forbidden in ["<style", " style=", "<script>", " onclick", "javascript:"] {
            assert!(!page.contains(forbidden), "{forbidden} in {path}");
        }
        let mut last = 0;
        for (at, _) in page.match_indices("<h").filter(|(at, _)| page.as_bytes()[at + 2].is_ascii_digit()) {
            let level = page.as_bytes()[at + 2] - b'0';
            assert!(level <= last + 1, "h{level} after h{last} in {path}");
            last = level;
        }
        let ids: Vec<&str> = attributes(&page, "id").collect();
        assert_eq!(
            ids.iter().collect::<BTreeSet<_>>().len(),
            ids.len(),
            "an id stands twice in {path}: {ids:?}"
        );
    }
}

#[test]
fn every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere() {
    for inputs in [
        vec![sample()],
        vec![sample(), unfinished()],
        vec![],
        vec![empty()],
        vec![large(400)],
        vec![discussed("# It holds.\n\nSee [there](R1.A).")],
    ] {
        let files = render(&inputs);
        let pages = pages(&files);
        let ids: HashSet<(&str, &str)> = pages
            .iter()
            .flat_map(|(path, page)| attributes(page, "id").map(move |id| (path.as_str(), id)))
            .collect();
        for (path, page) in &pages {
            for (attribute, link) in
                ["href", "src"].into_iter().flat_map(|a| attributes(page, a).map(move |v| (a, v)))
            {
                if ["http://", "https://", "mailto:?"].iter().any(|it| link.starts_with(it)) {
                    assert_eq!(attribute, "href", "{path} loads {link}");
                    continue;
                }
                let (target, anchor) = link.split_once('#').map_or((link, None), |(t, a)| (t, Some(a)));
                let target = if target.is_empty() { path.clone() } else { resolve(path, target) };
                assert!(files.contains_key(&target), "{path} links to {link}: no {target}");
                let is_there = anchor.is_none_or(|anchor| ids.contains(&(target.as_str(), anchor)));
                assert!(is_there, "{path} links to {link}: no such id");
            }
        }
    }
}

#[test]
fn one_stands_at_the_root_and_several_in_folders() {
    let (one, two) = (sample(), unfinished());
    let ids = [&one, &two].map(|input| input.snapshot.investigation.meta().id.to_string());
    let files = render(&[one, two]);
    for id in &ids {
        assert!(
            files.contains_key(&format!("{id}/index.html"))
                && files.contains_key(&format!("{id}/nodes/R1.A.html"))
        );
    }
    let index = page(&files, "index.html");
    for text in [
        "Why did checkout latency double",
        "Unfinished",
        "Ended",
        "2 answers: 1 confirmed by another agent, same session, 1 not checked.",
    ] {
        assert!(index.contains(text), "{text}");
    }
    // What is unfinished needs somebody.
    assert!(index.find(&ids[1]) < index.find(&ids[0]), "{index}");
}

#[test]
fn faults_are_named_and_the_rest_is_shown() {
    let mut input = sample();
    let fault = |path: &str, reason: &str| Fault::new(path, Some(7), reason);
    input.snapshot.ruleset = Err(fault("ruleset.yaml", "unknown state <b>NO</b>"));
    input.snapshot.faults.push(fault("nodes/R9/R9.X.yaml", "its parent is missing"));
    let files = render(&[input]);
    let page = page(&files, "index.html");
    assert!(page.contains("ruleset.yaml:7: unknown state &lt;b&gt;NO&lt;/b&gt;"));
    assert!(page.contains("nodes/R9/R9.X.yaml:7: its parent is missing"));
    assert!(page.contains("so the answers are unknown") && page.contains("Unknown: the ruleset"));
    // Nodes of the conclusion are not called refuted, since that is unknown here.
    assert!(!page.contains("no longer an answer"), "{page}");
    assert!(self::page(&files, "tree.html").contains("chip role-unknown"));
    assert!(!files.contains_key("ruleset.yaml"));
}

#[test]
fn what_strangers_write_stays_text() {
    const EVIL: &str =
        "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 1111*1111 }} \u{202e}gpj.exe";
    let input = all_texts(EVIL);
    let mut other = unfinished();
    other.snapshot.branch = Some(EVIL.to_owned());
    for files in [render(std::slice::from_ref(&input)), render(&[input.clone(), other])] {
        for (path, page) in pages(&files) {
            for evil in ["<script>", "<img", "onerror=alert(1)>", "1234321", "\u{202e}"] {
                assert!(!page.contains(evil), "{evil} in {path}");
            }
            assert_eq!(page.matches("<script").count(), page.matches("<script src=").count(), "{path}");
        }
    }
}

#[test]
fn the_same_input_yields_the_same_bytes() {
    assert_eq!(render(&[sample(), unfinished()]), render(&[sample(), unfinished()]));
}

#[test]
fn every_ruleset_can_be_rendered() {
    for file in builtin::all() {
        let mut input = empty();
        let state = &file.ruleset.states;
        let root = Arc::new(node("R1.A", state[0].name.as_str(), "Root", "Something"));
        let ids = ["R2.A1", "R2.A2", "R2.A3", "R2.A4", "R2.A5", "R2.A6"];
        let children =
            state.iter().zip(ids).map(|(state, id)| Arc::new(node(id, state.name.as_str(), "Child", "x")));
        let meta = Meta { ruleset: file.ruleset.name.clone(), ..input.snapshot.investigation.meta().clone() };
        let (investigation, faults) = Investigation::from_facts(meta, children.chain([root]), None);
        assert!(faults.is_empty());
        input.snapshot.investigation = Arc::new(investigation);
        input.snapshot.ruleset = Ok(Arc::new(file.clone()));
        let files = render(&[input]);
        assert!(page(&files, "judged.html").contains(&file.ruleset.summary));
    }
}

#[test]
fn one_file_asks_for_nothing_and_says_what_it_leaves_out() {
    let whole = export::html(&sample(), &SiteOptions::default()).unwrap();
    let text = String::from_utf8(whole.bytes).unwrap();
    assert_eq!(whole.in_short, 0);
    for (attribute, value) in
        ["href", "src"].into_iter().flat_map(|name| attributes(&text, name).map(move |value| (name, value)))
    {
        let is_own = value.starts_with('#') || value.starts_with("data:");
        // Other addresses occur only as links.
        assert!(is_own || (attribute == "href" && value.starts_with("http")), "{attribute} {value}");
    }
    assert!(!text.contains("<script"));
    let large = export::html(&large(2_100), &SiteOptions::default()).unwrap();
    assert!(large.in_short > 0);
    let text = String::from_utf8(large.bytes).unwrap();
    assert!(text.contains(&format!("{} of 2100 nodes are listed", large.in_short)), "it says so");
    assert!(!text.contains("Each has its own page"));
}

/// Adds or replaces nodes.
fn put(input: &mut ReportInput, nodes: Vec<Node>) {
    let changes: Vec<_> = nodes.into_iter().map(|node| crate::domain::Change::Node(Arc::new(node))).collect();
    input.snapshot.investigation =
        Arc::new(Investigation::clone(&input.snapshot.investigation).with(&changes));
}

/// Replaces the citations of the root.
fn cite(input: &mut ReportInput, references: Vec<Citation>) {
    let root = input.snapshot.investigation.node(&"R1.A".parse().unwrap()).unwrap();
    let root = edit(Node::clone(root), |c| c.references = references);
    put(input, vec![root]);
}

fn cites(input: &mut ReportInput, number: usize) {
    let cited = |at| Citation { target: format!("src/file-{at:03}.rs"), ..Citation::default() };
    cite(input, (0..number).map(cited).collect());
}

fn write(files: &Files, out: &Path) -> Result<(), ReportError> {
    let writing = Writing::begin(out, &())?;
    let put = |(path, bytes): (&String, &Vec<u8>)| Ok((path.clone(), writing.put(path, bytes.clone())?));
    let rest = files.iter().map(put).collect::<Result<_, ReportError>>()?;
    writing.finish(&Published { rest, ..Published::default() })
}

#[test]
fn a_site_is_written_and_replaced() {
    let folder = crate::testing::folder();
    let out = folder.path().join("deep/site");
    let first: Files =
        [("index.html", "1"), ("nodes/R1.A.html", "a")].map(|(p, b)| (p.into(), b.into())).into();
    write(&first, &out).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("nodes/R1.A.html")).unwrap(), "a");
    std::fs::write(out.join(".DS_Store"), "litter").unwrap();
    let second: Files = [("index.html".to_owned(), b"2".to_vec())].into();
    write(&second, &out).unwrap();
    assert_eq!(std::fs::read_to_string(out.join("index.html")).unwrap(), "2");
    assert!(!out.join("nodes").exists());
    assert_eq!(names(out.parent().unwrap()), ["site"]);
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    write(&second, &folder.path().join("empty")).unwrap();
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let folder = crate::testing::folder();
    let files: Files = [("index.html".to_owned(), b"new".to_vec())].into();
    let foreign = folder.path().join("foreign");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("thesis.txt"), "years").unwrap();
    let error = write(&files, &foreign).unwrap_err();
    assert!(
        matches!(error, ReportError::Foreign { .. }) && error.to_string().contains("choose another"),
        "{error}"
    );
    assert_eq!(names(&foreign), ["thesis.txt"]);

    // A file or folder added to one of our sites is foreign too.
    let own = folder.path().join("own");
    write(&files, &own).unwrap();
    std::fs::create_dir(own.join(".git")).unwrap();
    assert!(
        matches!(write(&files, &own), Err(ReportError::Foreign { found, .. }) if found.ends_with(".git"))
    );
    assert!(own.join("index.html").exists());
    std::fs::remove_dir(own.join(".git")).unwrap();
    std::fs::write(own.join("desktop.ini.notes"), "mine").unwrap();
    assert!(matches!(write(&files, &own), Err(ReportError::Foreign { .. })));

    std::fs::write(folder.path().join("file"), "x").unwrap();
    assert!(matches!(write(&files, &folder.path().join("file")), Err(ReportError::NotAFolder { .. })));
    for path in ["../x", "/etc/x", "a//b", "a\\b", "", MARKER] {
        let bad: Files = [(path.to_owned(), Vec::new())].into();
        assert!(
            matches!(write(&bad, &folder.path().join("new")), Err(ReportError::BadPath { .. })),
            "{path}"
        );
    }
    assert_eq!(names(folder.path()), ["file", "foreign", "own"]);
}

// The parts of the samples

/// Renders a site. The data in it fits its schema.
fn render(inputs: &[ReportInput]) -> Files {
    let rendered = site(&inputs.into(), &Templates::load(&SiteOptions::default()).unwrap());
    let files = rendered.unwrap_or_else(|error| match error {
        ReportError::Template(error) => panic!("{error}\n{}", error.excerpt),
        error => panic!("{error}"),
    });
    schema::assert_valid(&files);
    files
}

fn with_folder(folder: &tempfile::TempDir) -> Result<Templates, ReportError> {
    Templates::load(&SiteOptions { template: Some(folder.path().to_owned()), ..SiteOptions::default() })
}

fn page(files: &Files, path: &str) -> String {
    String::from_utf8(files[path].clone()).unwrap()
}

/// Returns all pages but the one for wrong addresses, which is part of no navigation.
fn pages(files: &Files) -> Vec<(String, String)> {
    files
        .keys()
        .filter(|path| path.ends_with(".html") && *path != super::site::NOT_FOUND)
        .map(|path| (path.clone(), page(files, path)))
        .collect()
}

fn attributes<'p>(page: &'p str, name: &str) -> impl Iterator<Item = &'p str> {
    let open = format!(" {name}=\"");
    let starts: Vec<usize> = page.match_indices(&open).map(|(at, open)| at + open.len()).collect();
    starts.into_iter().filter_map(|at| page[at..].split('"').next())
}

fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            ".." => assert!(parts.pop().is_some(), "{link} in {page} leads out of the site"),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn time(minutes: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_795_166_102_114 + minutes * 60_000).unwrap()
}

pub(super) fn meta(number: u8, title: &str, query: &str) -> Meta {
    Meta {
        id: crate::domain::SessionId::new(1_795_166_102_114 + u64::from(number) * 1000, [number; 10]),
        title: title.to_owned(),
        query: query.to_owned(),
        context: None,
        ruleset: "single-root".to_owned(),
        mode: "deep".to_owned(),
        min_rounds: 5,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: time(i64::from(number)),
    }
}

fn pending(id: &str, title: &str, plan: &str) -> Node {
    let id: NodeId = id.parse().unwrap();
    let parent = (id.round() > 1).then(|| {
        let suffix = &id.suffix()[..(id.round() as usize - 1).min(id.suffix().len() - 1)];
        format!("R{}.{suffix}", id.round() - 1).parse().unwrap()
    });
    let proposed_at = time(i64::from(id.round()) * 20);
    Node { planned_action: plan.to_owned(), ..Node::new(id, parent, title, proposed_at) }
}

fn node(id: &str, state: &str, title: &str, findings: &str) -> Node {
    let mut node = pending(id, title, "Look, and say what is there.");
    let committed_at = time(i64::from(node.round()) * 20 + 12);
    node.classification = Some(Classification {
        agent_id: Some(format!("researcher-{}", id.to_lowercase())),
        ..Classification::new(state.parse().unwrap(), findings, committed_at)
    });
    node
}

/// Returns a cited file.
fn pin() -> Pin {
    Pin {
        path: "src/sort.rs".to_owned(),
        commit: Some("0a1b2c3d".repeat(5)),
        blob: "b10b".repeat(10),
        uncommitted: false,
        lines: Some(Lines { first: 18, last: 24 }),
        text: Some("let sorted = <Vec<_>>::from(all); // **not** Markdown\n".to_owned()),
    }
}

/// Returns an investigation that was stopped early and whose node R3.A1a has every field.
fn backed() -> ReportInput {
    let caller = |number: u8| Caller {
        person: None,
        disowned: None,
        client: Some(format!("client-{number}/1.0")),
        session: Some(format!("session-{number}")),
        model: Some(format!("model-{number}")),
    };
    let text = |text: &str| Some(text.to_owned());
    let full = edit(
        Node {
            covers: vec!["engine=gix".to_owned()],
            ..node("R3.A1a", "DEAD", "Sort first", "It sorts first.")
        },
        |c| {
            c.requested_state = Some("DEAD".parse().unwrap());
            c.state = "EXPLORE".parse().unwrap();
            c.refutes = true;
            c.caller = caller(1);
            c.started_at = Some(time(3));
            c.headline = text("Sorting costs as much as it saves");
            c.evidence = text("Measured on three machines.");
            c.verification_method = text("Repeated with a cold cache.");
            c.alternatives_considered = vec!["A hash table".to_owned()];
            c.commands = vec![Command {
                command: "cargo bench & wait".to_owned(),
                exit_code: Some(101),
                output: text("<1.5 s> before"),
            }];
            c.references = vec![Citation {
                target: "src/sort.rs".to_owned(),
                lines: text("18-24"),
                commit: text("0a1b2c3d"),
                quote: text("sort_unstable()"),
                note: text("three of five calls"),
                named_in: None,
                pinned: Some(pin()),
            }];
            c.references.push(Citation {
                target: "src/sort.rs".to_owned(),
                named_in: Some(NamedIn::Findings),
                pinned: Some(Pin { commit: None, uncommitted: true, ..pin() }),
                ..Citation::default()
            });
            c.caveats = vec!["A full disk.".to_owned()];
            c.links = vec![Link::new("R2.A2".parse().unwrap(), LinkKind::Supports)];
            c.warnings = vec![Warning { code: Code::Suspicious, message: "Too soon.".to_owned() }];
            c.reclassified = vec![Reclassification {
                evidence: text("Seen again."),
                verification_method: text("By eye."),
                alternatives_considered: vec!["To wait".to_owned()],
                by: Author::Caller(caller(2)),
                ..change("EXPLORE", "DEAD", 90, "It holds after all.")
            }];
            c.amended = vec![Amendment {
                at: time(99),
                agent_id: text("editor-1"),
                caller: caller(3),
                reason: "A figure was wrong.".to_owned(),
                correction: None,
                title: text("Sorted at first"),
                headline: text("Sorting saves half"),
                findings: text("The first finding."),
                evidence: text("Measured once."),
                alternatives_considered: Some(vec!["To sort later".to_owned()]),
                caveats: Some(vec!["A cold cache.".to_owned()]),
                commands: Some(vec![Command {
                    command: "time sort".to_owned(),
                    exit_code: Some(1),
                    output: text("2.5 s"),
                }]),
                references: Some(vec![Citation { target: "src/first.rs".to_owned(), ..Citation::default() }]),
            }];
            c.other_results = vec![Classification {
                agent_id: text("elsewhere-2"),
                caller: caller(5),
                headline: text("Sorting costs nothing"),
                evidence: text("Measured elsewhere."),
                ..Classification::new("FOUND".parse().unwrap(), "It does not sort at all.", time(95))
            }];
        },
    );
    let nodes = vec![
        node("R1.A", "EXPLORE", "Why is it slow?", "Profiled."),
        node("R2.A1", "FOUND", "The sort", "It is the sort."),
        node("R2.A2", "EXPLORE", "The hash", "It is the hash."),
        full,
        node("R4.A1a1", "DEAD", "Look again", "It does not."),
    ];
    let stopped = Some(Stopped { reason: StopReason::Budget, note: text("No calls are left.") });
    let asked = Some(Asked { answer: PersonsAnswer::Accepted, said: text("Then stop.") });
    let other = Conclusion { conclusion: text("It is the hash, after all."), ..Conclusion::new(time(210)) };
    let other_conclusions = vec![Conclusion { agent_id: text("elsewhere-1"), ..other }];
    let end = Conclusion {
        stopped,
        asked,
        caller: Caller::of_person("Ada", None),
        other_conclusions,
        ..Conclusion::new(time(200))
    };
    let nodes = nodes.into_iter().map(Arc::new).collect();
    let mut input = input(meta(9, "Why is it slow?", "Why is it slow?"), nodes, Some(end));
    let file = |name: &str, content: &[u8]| Attached {
        node: "R3.A1a".parse().unwrap(),
        name: name.parse().unwrap(),
        content: content.to_vec(),
    };
    input.attachments = vec![
        file("bench.log", b"sort: <1.5 s>\n"),
        file("flame.svg", b"<svg xmlns='http://www.w3.org/2000/svg' width='9'><script>x</script></svg>"),
        file("heap.bin", b"\xff\0"),
    ];
    let changes: Vec<Change> =
        input.attachments.iter().map(|file| Change::Attached(Arc::new(file.clone()))).collect();
    input.snapshot.investigation = Arc::new(input.snapshot.investigation.with(&changes));
    input
}

fn change(from: &str, to: &str, minutes: i64, reason: &str) -> Reclassification {
    Reclassification {
        agent_id: Some("reviewer-1".to_owned()),
        reason: Some(reason.to_owned()),
        warnings: vec![Warning {
            code: Code::parse("EARLY_STATE"),
            message: "DEAD in round 2: a commit could not have had it before round 4.".to_owned(),
        }],
        ..Reclassification::new(from.parse().unwrap(), to.parse().unwrap(), time(minutes))
    }
}

fn edit(mut node: Node, with: impl FnOnce(&mut Classification)) -> Node {
    with(node.classification.as_mut().unwrap());
    node
}

fn hostile(node: &Node, evil: &str) -> Node {
    let mut node = node.clone();
    node.title = evil.to_owned();
    node.planned_action = evil.to_owned();
    if let Some(c) = &mut node.classification {
        c.agent_id = Some(evil.to_owned());
        c.findings = evil.to_owned();
        c.evidence = Some(evil.to_owned());
        c.verification_method = Some(evil.to_owned());
        c.alternatives_considered = vec![evil.to_owned()];
        c.warnings = vec![Warning { code: Code::parse(evil), message: evil.to_owned() }];
        for change in &mut c.reclassified {
            change.agent_id = Some(evil.to_owned());
            change.reason = Some(evil.to_owned());
        }
    }
    node
}

/// Returns the sample with comments and objections, one of which is open.
fn discussed(text: &str) -> ReportInput {
    let mut input = sample();
    let comment = |number: u8, node: Option<&str>, kind, reply_to: Option<u8>, agent: Option<&str>| {
        let id = |number: u8| CommentId::new(1_795_000_000_000 + u64::from(number), [number; 10]);
        Arc::new(Comment {
            id: id(number),
            node: node.map(|node| node.parse().unwrap()),
            kind,
            reply_to: reply_to.map(id),
            author: Commenter {
                name: "Maria".to_owned(),
                agent_id: agent.map(str::to_owned),
                caller: match agent {
                    Some(_) => Caller { client: Some(text.to_owned()), ..Caller::default() },
                    None => Caller::of_person("Maria", None),
                },
                ..Commenter::default()
            },
            at: time(180 + i64::from(number)),
            text: text.to_owned(),
            saw: None,
            edits: Vec::new(),
        })
    };
    let (answer, root) = ("R4.A1a1", "R1.A");
    let investigation = Arc::unwrap_or_clone(input.snapshot.investigation);
    let own = investigation.node(&answer.parse().unwrap()).unwrap().classification.clone().unwrap();
    let author = own.agent_id.unwrap();
    input.snapshot.investigation = Arc::new(investigation.with_comments([
        comment(1, Some(answer), CommentKind::Objection, None, None),
        comment(2, Some(answer), CommentKind::Resolution, Some(1), Some(&author)),
        comment(3, Some(root), CommentKind::Comment, None, Some(text)),
        comment(4, None, CommentKind::Comment, None, None),
        comment(5, None, CommentKind::Answer, Some(4), Some(text)),
    ]));
    input
}

/// Creates a run's kind from the run it refers to and the result.
type RunOf = fn(RunId, Ran) -> RunKind;

/// Returns a run with `text` in each free-text field.
fn run(number: u8, node: Option<&str>, what: RunOf, of: u8, text: &dyn Fn(&str) -> String) -> Arc<Run> {
    let id = |number: u8| format!("01989c3e-7f2a-7000-8000-0000000001{number:02x}").parse().unwrap();
    let ran = Ran {
        command: vec![text("program"), text("argument")],
        folder: Some(text("folder")),
        project: Some(ProjectState {
            commit: Some("3f2a91c".to_owned()),
            changed: vec![text("changed file")],
            patch: Some(text("patch")),
            untracked: vec![text("untracked file")],
            ignored: vec![text("ignored path")],
            behind: false,
        }),
        started_at: time(170),
        seconds: Seconds { milliseconds: 1_000 },
        timeout: None,
        ended: Ended::NotRun(text("reason")),
        expected_exit: None,
        output: Output {
            text: text("output"),
            end: Some(text("end of the output")),
            bytes: 100_000,
            sha256: "0".repeat(64),
            steady_sha256: None,
        },
        expectations: vec![Expectation {
            pattern: text("pattern"),
            range: Some(text("range")),
            found: Some(text("found")),
            held: true,
        }],
        attachments: Vec::new(),
        variables: vec![RunVariable { name: text("variable"), value: Some(text("value")) }],
        setup: Some(text("setup")),
        files: vec![InputFile::new("script.sh".parse().unwrap(), text("script").into_bytes())],
        inputs: vec![RunInput {
            path: text("input"),
            blob: "0".repeat(40),
            mode: "100644".to_owned(),
            seen: false,
        }],
        input_folders: vec![text("folder of inputs")],
        refs: vec![RunRef { name: text("ref"), commit: "0".repeat(40) }],
        traced: false,
        pinned: false,
        plain: true,
        system: System { os: "linux".to_owned(), architecture: "x86_64".to_owned(), cpus: 2 },
    };
    Arc::new(Run {
        id: id(number),
        node: node.map(|node| node.parse().unwrap()),
        author: Commenter { name: "Maria".to_owned(), ..Commenter::default() },
        at: time(181),
        note: Some(text("note")),
        what: what(id(of), ran),
    })
}

fn captured(_: RunId, ran: Ran) -> RunKind {
    RunKind::Captured(ran)
}

fn repeated(of: RunId, ran: Ran) -> RunKind {
    RunKind::Repeated { of, at: Some("3f2a91c".to_owned()), verdict: RunComparison::Differs, ran }
}

fn judged(of: RunId, _: Ran) -> RunKind {
    RunKind::Judged { of, holds: true }
}

/// Returns the sample with `text` in each free-text field.
fn all_texts(text: &str) -> ReportInput {
    let mut input = sample();
    let old = Arc::unwrap_or_clone(input.snapshot.investigation);
    let meta = Meta {
        title: text.to_owned(),
        query: text.to_owned(),
        context: Some(text.to_owned()),
        ..old.meta().clone()
    };
    let nodes: Vec<Arc<Node>> = old.nodes().map(|node| Arc::new(hostile(node, text))).collect();
    let conclusion = Conclusion {
        agent_id: Some(text.into()),
        bottom_line: text.into(),
        conclusion: Some(text.into()),
        asked: Some(Asked { answer: PersonsAnswer::Cancelled, said: Some(text.into()) }),
        amended: vec![AmendedConclusion {
            at: time(901),
            agent_id: Some(text.into()),
            caller: Caller { client: Some(text.into()), ..Caller::default() },
            reason: text.into(),
            bottom_line: Some(text.into()),
            conclusion: Some(text.into()),
            not_covered: Some(vec![text.into()]),
            ..AmendedConclusion::default()
        }],
        answers: vec![BoundAnswer { id: "R4.A1a1".parse().unwrap(), role: BoundAs::Main }],
        not_covered: vec![text.into()],
        references: vec![Citation { target: text.into(), pinned: Some(pin()), ..Citation::default() }],
        ..Conclusion::new(time(900))
    };
    let (evil, _) = Investigation::from_facts(meta, nodes, Some(conclusion));
    let all = |_: &str| text.to_owned();
    let runs = [
        run(1, Some("R4.A1a1"), captured, 0, &all),
        run(2, None, repeated, 1, &all),
        run(3, None, judged, 2, &all),
        run(4, None, captured, 0, &all),
    ];
    input.snapshot.investigation = Arc::new(evil.with_runs(runs));
    input.snapshot.branch = Some(text.to_owned());
    input.snapshot.faults.push(Fault::new(text, None, text));
    for entry in &mut input.history {
        entry.message = format!("{text}\n\n{text}\n\nAgent-Id: {text}");
        entry.author_name = text.to_owned();
        entry.tags = vec![text.to_owned()];
    }
    input
}

fn sample_nodes() -> Vec<Node> {
    let log = "The slow query log of the week after the upgrade has one statement in 94 % of its lines:\n\n\
        ```sql\nSELECT * FROM cart_items WHERE cart_id = $1 AND deleted_at IS NULL ORDER BY added_at;\n```\n\n\
        | week | p50 | p99 |\n|---|---|---|\n| before | 3 ms | 11 ms |\n| after | 4 ms | **410 ms** |\n\n\
        ## References\n\n- https://www.postgresql.org/docs/17/release-17.html - Release notes of PostgreSQL 17\n\
        - `db/migrations/0042_cart_items.sql:17` - the partial index\n";
    vec![
        node(
            "R1.A",
            "EXPLORE",
            "Why is checkout slow since the upgrade?",
            "Latency doubled at 14:02, minutes after the database moved to version 17. Application, database and network are all possible.",
        ),
        node("R2.A1", "EXPLORE", "Query plans that changed with the database upgrade", log),
        node(
            "R2.A2",
            "EXPLORE",
            "The connection pool runs dry under load",
            "The pool has 20 connections; see [its documentation](https://github.com/brettwooldridge/HikariCP \"HikariCP\").",
        ),
        edit(
            node(
                "R2.A3",
                "EXPLORE",
                "The network between the zones",
                "Round trips between the zones are unchanged: 0.6 ms.",
            ),
            |c| {
                c.reclassified.push(change("EXPLORE", "DEAD", 70, "Round trips did not change."));
                c.reclassified.push(change(
                    "DEAD",
                    "EXPLORE",
                    95,
                    "The trace shows a second path through the other zone.",
                ));
            },
        ),
        node(
            "R2.A4",
            "EXPLORE",
            "Garbage collection pauses in the checkout service",
            "The pauses are below 8 ms.",
        ),
        node(
            "R2.A5",
            "EXPLORE",
            "A change of the code in the same release",
            "The release holds two commits that touch the cart.",
        ),
        node(
            "R3.A1a",
            "EXPLORE",
            "The partial index is no longer used",
            "`EXPLAIN` shows a sequential scan where there was an index scan.",
        ),
        edit(
            node("R3.A2b", "EXPLORE", "Connections leak when a payment times out", "All are returned."),
            |c| {
                c.requested_state = Some("DEAD".parse().unwrap());
                c.warnings.push(Warning {
                    code: Code::parse("R3_EXPLORE_ONLY"),
                    message: "DEAD in round 3 is stored as EXPLORE: nothing else is kept there.".to_owned(),
                });
                c.warnings.push(Warning {
                    code: Code::parse("SUSPICIOUS"),
                    message: "Committed 4 s after it was proposed; research takes at least 10 s.".to_owned(),
                });
            },
        ),
        node("R3.A3c", "EXPLORE", "Traffic crosses zones since the upgrade", "A third of the requests."),
        node("R3.A4d", "EXPLORE", "Heap size against the new container limit", "The limit did not change."),
        edit(
            node(
                "R3.A5e",
                "EXPLORE",
                "N+1 queries in the cart",
                "Found one in `cart/total.rs`, older than the release.\n\n## References\n\n- `src/cart/total.rs:88` - the loop\n- https://www.postgresql.org/docs/17/release-17.html\n",
            ),
            |c| c.agent_id = None,
        ),
        edit(
            node(
                "R4.A1a1",
                "FOUND",
                "Statistics were not rebuilt after the upgrade: the planner takes cart_items for empty",
                "`pg_upgrade` does not carry optimiser statistics over. `ANALYZE` brings the old plan back.\n\n### Measured\n\n1. before: 410 ms\n2. after `ANALYZE cart_items`: 4 ms\n\n> Statistics are not transferred by pg_upgrade.\n\nSee https://www.postgresql.org/docs/17/pgupgrade.html.\n",
            ),
            |c| {
                c.evidence = Some("`last_analyze` is empty for every table; after `ANALYZE` the p99 falls from 410 ms to 12 ms on the same load.".to_owned());
                c.verification_method =
                    Some("Replayed the load of one hour on a copy, with and without `ANALYZE`.".to_owned());
                c.alternatives_considered =
                    vec!["A larger `work_mem`".to_owned(), "Pinning the plan with a hint".to_owned()];
            },
        ),
        edit(node("R4.A2b1", "DEAD", "The pool is exhausted by idle transactions", "No."), |c| {
            c.evidence = Some("p99 of the connection pool's wait is 0.3 ms during the worst hour, and it never holds more than 11 of 20 connections.".to_owned());
        }),
        node(
            "R4.A3c1",
            "FOUND",
            "Cross-zone traffic adds 1 ms to each of 14 queries",
            "It explains 14 ms of 400.",
        ),
        node(
            "R4.A4d1",
            "DEAD",
            "Heap pressure",
            "Heap use is at 40 % of the limit at its highest, and the longest pause in the hour of the incident is 7.6 ms: https://docs.oracle.com/en/java/javase/21/gctuning/",
        ),
        node(
            "R4.A5e1",
            "EXHAUST",
            "The N+1 query is older than the release",
            "It costs 6 ms, and did so a month ago.",
        ),
        node(
            "R5.A1a1v",
            "VERIFY",
            "Replaying production load on a copy confirms it",
            "Three runs with and three without `ANALYZE`: 12, 11, 12 ms against 405, 398, 417 ms.",
        ),
        node(
            "R5.A3c1x",
            "EXPLORE",
            "Would zone-aware routing help anyway?",
            "Worth a ticket, not part of this.",
        ),
        node("R5.A5e1x", "EXHAUST", "Other queries of the cart", "None that changed."),
        node("R6.A3c1xy", "EXHAUST", "Zone-aware routing is a ticket of its own", "It is OPS-1182."),
        node(
            "R7.A3c1xyz",
            "DEAD",
            "Zone-aware routing as the smallest fix",
            "It would win 14 ms of 400, and takes a week.",
        ),
        node(
            "R6.A5e1xy",
            "DEAD",
            "The totals of the cart",
            "The same statement, the same plan, the same 2 ms as a month ago.",
        ),
        node("R3.A1f", "EXPLORE", "Was the index dropped by the migration?", "It is there, and valid."),
        node(
            "R4.A1f1",
            "DEAD",
            "The index is missing or invalid",
            "`pg_index.indisvalid` is true, and its size is what it was.\n\n## References\n\n- `db/migrations/0042_cart_items.sql:17`",
        ),
        node("R3.A2g", "EXPLORE", "Is the pool too small for the new release?", "It peaks at 11 of 20."),
        node("R4.A2g1", "DEAD", "The pool is too small", "Doubling it changed nothing in a test of an hour."),
        node("R3.A3h", "EXPLORE", "Did a firewall rule change?", "One did."),
        node("R4.A3h1", "DEAD", "The new firewall rule slows packets down", "It applies to another subnet."),
        node("R3.A4i", "EXPLORE", "Is another process on the host?", "A backup runs at 03:00 only."),
        node(
            "R4.A4i1",
            "DEAD",
            "The backup competes for the disk",
            "It ran eleven hours before the incident.",
        ),
        node(
            "R3.A5j",
            "EXPLORE",
            "The second commit of the release",
            "It changes the wording of one e-mail.",
        ),
        node(
            "R4.A5j1",
            "DEAD",
            "The release slowed checkout down",
            "Rolling it back on one host changed nothing.",
        ),
    ]
}

pub(super) fn sample() -> ReportInput {
    let mut meta = meta(
        1,
        "Why did checkout latency double after the database upgrade?",
        "Since Tuesday, 14:02, the p99 of POST /checkout is 820 ms instead of 390 ms. The database was upgraded from \
         PostgreSQL 15 to 17 that morning, and a release went out at noon. What causes it, and what is the smallest fix?",
    );
    meta.context = Some("Dashboards: *checkout*, *postgres*. No one may restart production.".to_owned());
    let conclusion = Conclusion {
        agent_id: Some("lead".to_owned()),
        conclusion: Some(
            "The upgrade left the database **without optimiser statistics**, so the planner chose a sequential scan of \
             `cart_items` (R4.A1a1). Verified by replaying production load.\n\n# What to do\n\n- Run `ANALYZE` now; it \
             takes four minutes and locks nothing.\n- Add `vacuumdb --analyze-in-stages` to the upgrade's checklist.\n\n\
             Cross-zone traffic is real, and costs 14 ms; it is a ticket of its own."
                .to_owned(),
        ),
        answers: vec![BoundAnswer { id: "R4.A1a1".parse().unwrap(), role: BoundAs::Main }],
        ..Conclusion::new(time(170))
    };
    let nodes: Vec<Arc<Node>> = sample_nodes().into_iter().map(Arc::new).collect();
    input(meta, nodes, Some(conclusion))
}

fn unfinished() -> ReportInput {
    let meta = meta(
        9,
        "Which message queue for the new billing service?",
        "Compare what is run in house with what is offered by the cloud.",
    );
    let nodes = vec![
        node("R1.A", "EXPLORE", "Which queue?", "Four candidates."),
        node("R2.A1", "EXPLORE", "What is run in house", "RabbitMQ and Redis streams."),
        pending(
            "R2.A2",
            "What the cloud offers",
            "Read the price list, and measure with the load of last month.",
        ),
    ];
    input(meta, nodes.into_iter().map(Arc::new).collect(), None)
}

fn empty() -> ReportInput {
    input(meta(5, "Nothing yet", "What is there?"), Vec::new(), None)
}

fn large(number: usize) -> ReportInput {
    let mut nodes = vec![node("R1.A", "EXPLORE", "A large one", "x")];
    let findings = sample_nodes()[1].classification.clone().unwrap().findings.repeat(4);
    let letters = "abcdefghijklmnopqrstuvwxyz";
    let mut level = vec!["A".to_owned()];
    let mut round = 2;
    while nodes.len() < number {
        let mut next = Vec::new();
        for (parent, letter) in level.iter().flat_map(|parent| letters[..4].chars().map(move |l| (parent, l)))
        {
            if nodes.len() == number {
                break;
            }
            let suffix = format!("{parent}{letter}");
            let state = ["EXPLORE", "FOUND", "EXHAUST"][if round < 4 { 0 } else { nodes.len() % 3 }];
            nodes.push(node(
                &format!("R{round}.{suffix}"),
                state,
                "A title of usual length for a node of a tree",
                &findings,
            ));
            next.push(suffix);
        }
        level = next;
        round += 1;
    }
    input(meta(7, "A large one", "How does it look?"), nodes.into_iter().map(Arc::new).collect(), None)
}

/// Returns an investigation with one commit per round and call.
fn input(meta: Meta, nodes: Vec<Arc<Node>>, conclusion: Option<Conclusion>) -> ReportInput {
    let id = meta.id;
    let mut happenings = vec![(0, vec![Happening::Started], format!("Start {}", meta.title))];
    let rounds: BTreeSet<u32> = nodes.iter().map(|node| node.round()).collect();
    for round in rounds {
        let of = || nodes.iter().filter(|node| node.round() == round);
        let at = i64::from(round) * 20;
        let proposed = of().cloned().map(Happening::Proposed).collect();
        happenings.push((at, proposed, format!("Propose {} nodes of round {round}", of().count())));
        let committed: Vec<_> =
            of().filter(|node| !node.is_pending()).cloned().map(Happening::Committed).collect();
        happenings.push((at + 12, committed, format!("Commit {} nodes of round {round}", of().count())));
    }
    for node in &nodes {
        for change in node.classification.iter().flat_map(|c| &c.reclassified) {
            let what = vec![Happening::Reclassified(Arc::clone(node), change.clone())];
            let subject = format!("Reclassify {} {} to {}", node.id, change.from, change.to);
            happenings.push(((change.at.milliseconds() - time(0).milliseconds()) / 60_000, what, subject));
        }
    }
    if let Some(conclusion) = &conclusion {
        happenings.push((
            170,
            vec![Happening::Ended(Arc::new(conclusion.clone()))],
            "End the investigation".to_owned(),
        ));
    }
    happenings.sort_by_key(|(at, ..)| *at);
    let commit = |number: usize| {
        let mut bytes = [0u8; 20];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (number as u8).wrapping_mul(37).wrapping_add((at as u8).wrapping_mul(91)) ^ 0x5a;
        }
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().parse::<CommitId>().unwrap()
    };
    let number = happenings.len();
    let ended = conclusion.is_some();
    let entries =
        happenings.into_iter().enumerate().map(|(at, (minutes, happenings, subject))| HistoryEntry {
            commit: commit(at),
            parents: (at > 0).then(|| commit(at - 1)).into_iter().collect(),
            checksum: Checksum::Valid,
            author_name: "Ada Lovelace".to_owned(),
            author_email: "ada@example.org".to_owned(),
            at: time(minutes),
            message: format!(
                "{subject}\n\nWhat the message says beside it.\n\nTool: tot_commit\nAgent-Id: lead\n"
            ),
            happenings,
            paths: Vec::new(),
            tags: if ended && at + 1 == number { vec!["ended/1".to_owned()] } else { Vec::new() },
            faults: Vec::new(),
            gaps: Vec::new(),
        });
    let mut history: Vec<HistoryEntry> = entries.collect();
    history.reverse();
    let (investigation, faults) = Investigation::from_facts(meta, nodes, conclusion);
    assert!(faults.is_empty(), "{faults:?}");
    let snapshot = Snapshot {
        path: PathBuf::from(format!("/investigations/{id}")),
        head: commit(number - 1),
        branch: Some("main".to_owned()),
        ..Snapshot::without_repository(investigation, builtin::all()[0].clone())
    };
    ReportInput::new(snapshot, history)
}

fn concluded_late() -> ReportInput {
    let mut input = backed();
    let old = Arc::clone(&input.snapshot.investigation);
    let end = Conclusion {
        conclusion: Some("It sorts.".to_owned()),
        concluded_at: Some(time(300)),
        agent_id: Some("lead".to_owned()),
        amended: vec![AmendedConclusion {
            at: time(310),
            agent_id: Some("editor-2".to_owned()),
            caller: Caller { client: Some("client-5/1.0".to_owned()), ..Caller::default() },
            reason: "It was hasty.".to_owned(),
            conclusion: Some("It **does not** sort.".to_owned()),
            ..AmendedConclusion::default()
        }],
        ..Conclusion::new(time(200))
    };
    let nodes: Vec<Arc<Node>> = old.nodes().cloned().collect();
    input.snapshot.investigation =
        Arc::new(Investigation::from_facts(old.meta().clone(), nodes, Some(end)).0);
    input
}

/// Returns the sample with a text changed by hand afterwards.
fn edited() -> ReportInput {
    let mut input = sample();
    let id: NodeId = "R2.A1".parse().unwrap();
    let mut node = Node::clone(input.snapshot.investigation.node(&id).unwrap());
    if let Some(classification) = &mut node.classification {
        classification.findings = classification.findings.replace("94 %", "49 %");
        classification.evidence = Some("Counted again.".to_owned());
    }
    let entry = HistoryEntry {
        commit: "00112233445566778899aabbccddeeff00112233".parse().unwrap(),
        happenings: vec![Happening::Edited(Arc::new(node))],
        paths: vec!["nodes/R2/R2.A1.yaml".to_owned(), "notes.txt".to_owned()],
        ..input.history[0].clone()
    };
    input.history.insert(0, entry);
    input
}
