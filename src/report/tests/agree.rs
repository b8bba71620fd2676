//! Tests that all surfaces agree on the verdict on each answer and on the investigation. The tests render random investigations
//! that calls, manual edits and merges may produce, and compare each surface with the assessment.
//!
//! [`SURFACES`] lists the files of a site that contain verdicts, with their readers. [`silent`] reads all others, which may
//! contain none. `tests/it/surfaces.rs` reads the replies, screens and exports of a real repository.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::assess::{Answer, Assessment, DoubtKind, Repetition, Verdict};
use crate::domain::run::{Ran, RunComparison};
use crate::domain::{ByHand, Comment, Conclusion, Event, Node, Run, RunId, RunKind, TextEdit};
use crate::format::{StoredFile, layout, message, readme};
use crate::markdown;
use crate::merge;
use crate::report::model::Report;
use crate::report::review;
use crate::report::site::Builder;
use crate::report::sites::SiteEntry;

/// A node: its place, its state, its author, and later events.
#[derive(Clone, Debug)]
struct Step {
    parent: usize,
    state: usize,
    hand: usize,
    later: usize,
    by: usize,
}

/// The node objected to, who resolves the objection, if anybody, and its author, from 4 on of a correction, which is accepted
/// instead.
type Said = (usize, Option<usize>, usize);

/// A conclusion: true if it is early, the answers it names and their roles, and true if research continued.
type Ended = (bool, Vec<(usize, usize)>, bool);

/// A captured run: its node, its author, and its reruns with their outcomes and judgements.
type Captured = (usize, usize, Vec<(usize, usize, Option<bool>)>);

/// The events on one side of a merge: the nodes, the objections and the conclusion.
type Branch = (Vec<Step>, Vec<Said>, Option<Ended>);

const STATES: [&str; 6] = ["EXPLORE", "FOUND", "FOUND", "VERIFY", "VERIFY", "DEAD"];

/// Returns two agents in two sessions, a person, and an unnamed agent.
fn hand(number: usize) -> (Option<String>, Caller) {
    let session = |name: &str| Caller { session: Some(name.into()), ..Caller::default() };
    match number % 6 {
        0 => (Some("ada".into()), session("one")),
        1 => (Some("ben".into()), session("one")),
        2 => (Some("ben".into()), session("two")),
        3 => (None, Caller::of_person("Clara", Some("clara@example.org".into()))),
        4 => (None, Caller::of_person("Dora", None)),
        _ => (None, Caller::default()),
    }
}

fn nodes(steps: &[Step], side: i64) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let parent = at.checked_sub(1).map(|_| nodes[step.parent % at].id.clone());
        let id = match &parent {
            None => "R1.A".to_owned(),
            Some(parent) => format!("R{}.{}{at}", parent.round() + 1, parent.suffix()),
        };
        // A merge renames one of two different proposals with the same id.
        let proposed_at = time(if step.parent > 3 { side } else { 0 });
        let mut node = Node::new(id.parse().unwrap(), parent, format!("Title of {id}"), proposed_at);
        let when = time(10 * at as i64 + 1 + side);
        let (agent_id, caller) = hand(step.hand);
        let state = STATES[step.state % STATES.len()].parse().unwrap();
        let above = nodes.iter().find(|it| Some(&it.id) == node.parent.as_ref());
        let mut result = Classification {
            agent_id,
            caller,
            saw: above.filter(|_| step.hand % 2 == 0).and_then(|it| it.claim_hash()),
            references: vec![Citation { target: format!("https://example.org/{id}"), ..Citation::default() }],
            ..Classification::new(state, format!("Findings of {id}."), when)
        };
        let (agent_id, caller) = hand(step.by);
        // Some depend on a step elsewhere, even on a later one.
        let depended = nodes.get(step.by).filter(|_| step.later > 8);
        let seen = depended.filter(|_| step.hand % 2 == 0);
        result.links.extend(depended.map(|it| Link {
            saw: seen.and_then(|it| it.claim_hash()),
            state: seen.and_then(|it| it.state().cloned()),
            ..Link::new(it.id.clone(), LinkKind::Depends)
        }));
        let after = time(10 * at as i64 + 500 + side);
        match step.later % 8 {
            0 => result.refutes = true,
            1 => result.amended.push(Amendment {
                agent_id,
                caller,
                findings: Some("Before.".into()),
                ..Amendment::new(after, "It was wrong.")
            }),
            2 => {
                let to = STATES[step.by % STATES.len()].parse().unwrap();
                let evidence = (step.by % 2 == 0).then(|| "Measured again, ten times.".to_owned());
                let from = result.state.clone();
                result.reclassified.push(Reclassification {
                    agent_id,
                    by: Author::Caller(caller),
                    reason: Some("It was seen again.".into()),
                    evidence,
                    ..Reclassification::new(from, to, after)
                });
            }
            3 => {
                let other = Classification::new("DEAD".parse().unwrap(), "It is not.", after);
                result.other_results.push(Classification { agent_id, caller, ..other });
            }
            4 => result.findings = "ok".into(),
            _ => {}
        }
        node.classification = Some(result);
        nodes.push(node);
    }
    nodes
}

/// Builds the investigation of a branch, and its state when the branches split after `shared` steps.
fn branch((steps, said, end): &Branch, side: i64) -> ReportInput {
    let mut nodes = nodes(steps, side);
    let comment = |number: usize,
                   node: &NodeId,
                   kind,
                   reply_to: Option<usize>,
                   by: usize,
                   edits: Vec<TextEdit>| {
        let id = |number: usize| {
            let number = number + 100 * side as usize;
            CommentId::new(1_795_000_000_000 + number as u64, [number as u8; 10])
        };
        let (agent_id, caller) = hand(by);
        let author = Commenter { name: "git".into(), agent_id, caller, ..Commenter::default() };
        let text = "It was measured on one machine only.".to_owned();
        let (id, reply_to) = (id(number), reply_to.map(id));
        let at = time(600 + number as i64);
        Arc::new(Comment { id, node: Some(node.clone()), kind, reply_to, author, at, text, saw: None, edits })
    };
    let mut comments = Vec::new();
    for (at, (node, by, author)) in said.iter().enumerate() {
        let place = node % nodes.len();
        let id = nodes[place].id.clone();
        if *author < 4 {
            comments.push(comment(2 * at, &id, CommentKind::Objection, None, 1, Vec::new()));
            let resolve =
                |by| comment(2 * at + 1, &id, CommentKind::Resolution, Some(2 * at), by, Vec::new());
            comments.extend(by.map(resolve));
        } else {
            let correction = comment(2 * at, &id, CommentKind::Correction, None, *author, edits(*author));
            by.iter()
                .for_each(|by| accept(&mut nodes[place], &correction, *by, time(700 + at as i64 + side)));
            comments.push(correction);
        }
    }
    let conclusion = end.as_ref().map(|(early, named, after)| {
        let answers = named.iter().map(|(node, role)| BoundAnswer {
            id: nodes[node % nodes.len()].id.clone(),
            role: [BoundAs::Main, BoundAs::Part, BoundAs::Rival][role % 3],
        });
        Conclusion {
            conclusion: Some("It is so.".into()),
            stopped: early.then_some(Stopped { reason: StopReason::Enough, note: None }),
            answers: answers.collect(),
            ..Conclusion::new(time(if *after { 200 } else { 900 } + side))
        }
    });
    with_comments(nodes, comments, conclusion)
}

/// Returns the edits of a correction: of a few characters or of more than a quarter.
fn edits(number: usize) -> Vec<TextEdit> {
    let (old, new) = if number.is_multiple_of(3) { ("Findings", "Opinions") } else { ("of", "for") };
    vec![TextEdit { old: old.into(), new: new.into() }]
}

/// Accepts a correction, unless what it corrects is not there.
fn accept(node: &mut Node, correction: &Comment, by: usize, at: Timestamp) {
    let findings = &node.classification.as_ref().unwrap().findings;
    let Ok(findings) = crate::domain::edit::apply(findings, &correction.edits) else { return };
    let (agent_id, caller) = hand(by);
    let (findings, correction) = (Some(findings), Some(correction.id));
    let mut amendment =
        Amendment { agent_id, caller, findings, correction, ..Amendment::new(at, "It was wrong.") };
    amendment.exchange(node);
    node.classification.as_mut().unwrap().amended.push(amendment);
}

fn with_comments(
    nodes: Vec<Node>,
    comments: Vec<Arc<Comment>>,
    conclusion: Option<Conclusion>,
) -> ReportInput {
    let mut input = input(meta(1, "Why?", "Why?"), nodes.into_iter().map(Arc::new).collect(), conclusion);
    let facts = Arc::unwrap_or_clone(input.snapshot.investigation);
    input.snapshot.investigation = Arc::new(facts.with_comments(comments));
    input
}

/// Returns the files that merges work on.
fn files_of(input: &ReportInput) -> merge::FileMap {
    let investigation = input.snapshot.investigation.as_ref();
    let nodes = investigation.nodes().map(|node| (layout::node(&node.id), node.write()));
    let comments = investigation.comments().map(|it| (layout::comment(it.id), it.write()));
    let end = investigation.conclusion().map(|end| (layout::CONCLUSION.into(), end.write()));
    let all = nodes.chain(comments).chain(end);
    all.map(|(path, text)| (path, text.unwrap().into_bytes())).collect()
}

/// Merges both sides. Returns the first side if the merge is refused.
fn merged(base: &ReportInput, ours: ReportInput, theirs: &ReportInput) -> ReportInput {
    let [base, own, theirs] = [base, &ours, theirs].map(files_of);
    let differs = |path: &String| base.get(path) != own.get(path) || own.get(path) != theirs.get(path);
    let (touched, same): (BTreeSet<&String>, BTreeSet<&String>) =
        base.keys().chain(own.keys()).chain(theirs.keys()).partition(|path| differs(path));
    let of = |files: &merge::FileMap| {
        files.iter().filter(|(path, _)| touched.contains(path)).map(|(a, b)| (a.clone(), b.clone())).collect()
    };
    let Ok(outcome) = merge::merge(&[of(&base), of(&own), of(&theirs)]) else { return ours };
    let kept =
        own.iter().filter(|(path, _)| same.contains(path)).map(|(path, text)| (path.clone(), text.clone()));
    let (mut nodes, mut comments, mut conclusion) = (Vec::new(), Vec::new(), None);
    for (path, text) in kept.chain(outcome.files).collect::<merge::FileMap>() {
        let text = String::from_utf8(text).unwrap();
        match layout::file_role(&path) {
            layout::FileRole::Node(_) => nodes.push(Node::read(&text).unwrap()),
            layout::FileRole::Comment(_) => comments.push(Arc::new(Comment::read(&text).unwrap())),
            _ => conclusion = Some(Conclusion::read(&text).unwrap()),
        }
    }
    with_comments(nodes, comments, conclusion)
}

/// Returns runs for some of the given nodes.
fn runs(nodes: &[NodeId], captured: &[Captured]) -> Vec<Arc<Run>> {
    let mut runs: Vec<Arc<Run>> = Vec::new();
    let mut add = |node: &NodeId, by: usize, what: RunKind| {
        let number = runs.len() as u8;
        let id = RunId::new(1_795_000_000_000 + u64::from(number), [number; 10]);
        let (agent_id, caller) = hand(by);
        let author = Commenter { name: "git".into(), agent_id, caller, ..Commenter::default() };
        let (note, at) = (Some("It was slow.".to_owned()), time(700 + i64::from(number)));
        runs.push(Arc::new(Run { id, node: Some(node.clone()), author, at, note, what }));
        id
    };
    let ran = || Ran::new(vec!["./measure".into()], time(0));
    for (node, by, repeated) in captured {
        let node = &nodes[node % nodes.len()];
        let of = add(node, *by, RunKind::Captured(ran()));
        for (verdict, by, judged) in repeated {
            let verdict =
                [RunComparison::Same, RunComparison::Differs, RunComparison::CouldNotRun][verdict % 3];
            let at = Some("3f2a91c0".to_owned());
            let again = add(node, *by, RunKind::Repeated { of, at, verdict, ran: ran() });
            if let Some(holds) = *judged {
                add(node, by + 1, RunKind::Judged { of: again, holds });
            }
        }
    }
    runs
}

/// Builds one side, or the merge of two, with manual edits and captured runs.
fn of(ours: Branch, theirs: Option<Branch>, by_hand: &[usize], captured: &[Captured]) -> ReportInput {
    let mut input = branch(&ours, 0);
    if let Some((steps, said, end)) = theirs {
        let common = ours.0.len().div_ceil(2);
        let as_begun = |step: &Step| Step { later: 7, ..step.clone() };
        let begun: Vec<Step> = ours.0[..common].iter().map(as_begun).collect();
        let base = branch(&(begun.clone(), Vec::new(), None), 0);
        // The later events of the shared steps, and the steps of each side.
        let later = |(step, other): (&Step, &Step)| Step { later: other.later, by: other.by, ..step.clone() };
        let own = begun.iter().zip(steps.iter().cycle()).map(later).chain(steps.iter().cloned());
        let theirs = branch(&(own.collect(), said, end), 1);
        let theirs = at_the_same_time(&base, theirs);
        input = merged(&base, input, &theirs);
    }
    let facts = Arc::unwrap_or_clone(input.snapshot.investigation);
    let ids: Vec<NodeId> = facts.nodes().map(|node| node.id.clone()).collect();
    let nodes = by_hand.iter().map(|at| ids[at % ids.len()].clone()).collect();
    let by_hand = ByHand { nodes, ..ByHand::default() };
    let facts = facts.with_by_hand(by_hand).with_runs(runs(&ids, captured));
    input.snapshot.investigation = Arc::new(facts);
    input
}

/// Gives shared steps the same times on both sides.
fn at_the_same_time(base: &ReportInput, mut theirs: ReportInput) -> ReportInput {
    let facts = Arc::unwrap_or_clone(theirs.snapshot.investigation);
    let earlier = base.snapshot.investigation.nodes().filter_map(|old| {
        let mut node = Node::clone(facts.node(&old.id)?);
        node.proposed_at = old.proposed_at;
        let (new, old) = (node.classification.as_mut()?, old.classification.as_ref()?);
        new.committed_at = old.committed_at;
        Some(Change::Node(Arc::new(node)))
    });
    let earlier: Vec<Change> = earlier.collect();
    theirs.snapshot.investigation = Arc::new(facts.with(&earlier));
    theirs
}

/// Returns the text between two marks of a page.
fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split_once(after).map_or(rest, |(part, _)| part)
}

/// Returns the class and the words of each verdict in a part of a page.
fn shown(part: &str) -> Vec<(&str, &str)> {
    let marks = part.split("<span class=\"sure ").skip(1);
    let mark = |mark: &'_ str| -> Option<(usize, usize, usize)> {
        let class = mark.find('"')?;
        let words = mark.find("</span> ")? + "</span> ".len();
        Some((class, words, words + mark[words..].find('<')?))
    };
    marks.filter_map(|it| mark(it).map(|(class, from, to)| (&it[..class], &it[from..to]))).collect()
}

fn told(verdict: Verdict) -> (&'static str, &'static str) {
    (verdict.class(), verdict.label())
}

/// An investigation, its assessment and its surfaces.
struct Case<'c> {
    input: &'c ReportInput,
    assessment: &'c Assessment<'c>,
    /// The files of its site.
    files: &'c Files,
}

type Read = Result<(), TestCaseError>;

/// Reads a surface.
type Reader = fn(&Case<'_>) -> Read;

/// The kinds of files of a site that contain verdicts or their classes, with `*` for a name or a number.
/// Those without a reader say why.
const SURFACES: &[(&str, Option<Reader>)] = &[
    ("index.html", Some(first_page)),
    ("several/index.html", Some(index_of_many)),
    ("print.html", Some(print)),
    ("tree.html", Some(tree)),
    ("graph.html", Some(|case| drawing(case, "graph.html"))),
    ("graph.svg", Some(|case| drawing(case, "graph.svg"))),
    ("graph.dot", Some(|case| graph_text(case, &page(case.files, "graph.dot")))),
    ("graph.mmd", Some(|case| graph_text(case, &page(case.files, "graph.mmd")))),
    ("nodes/*.html", Some(node_pages)),
    ("compare.html", Some(compared)),
    ("ended-*-*.html", None), // compare.html of two ends
    ("investigation.json", Some(data)),
    ("investigation.schema.json", None), // only the form of the data
    ("search-data.js", Some(search_data)),
    ("references.html", Some(sources)),
    ("history.html", Some(|case| linked(case, "history.html"))),
    ("history-*.html", None), // the other commits, listed as in history.html
    ("judged.html", Some(|case| linked(case, "judged.html"))),
    ("references-*.html", None), // the other sources, listed as in references.html
    ("attachments/*", None),     // the files of agents, as they are
    ("assets/*", None),          // the same in every site
];

/// The surfaces outside a site.
const BESIDE: &[(&str, Reader)] = &[
    ("the single file", single_file),
    ("README.md", page_for_forges),
    ("the commit of an end", end_commit),
    ("diff --markdown", changes_in_markdown),
    ("review", reviewed),
];

/// Returns the kind of a file: its path with `*` for names and numbers.
fn kind(path: &str) -> String {
    match path.split_once('/') {
        Some((folder @ ("assets" | "attachments"), _)) => format!("{folder}/*"),
        Some(("several", _)) => path.to_owned(),
        Some((folder, file)) => format!("{folder}/*.{}", file.rsplit('.').next().unwrap()),
        None => {
            let mut kind = String::new();
            for c in path.chars() {
                match c.is_ascii_digit() {
                    true if kind.ends_with('*') => {}
                    true => kind.push('*'),
                    false => kind.push(c),
                }
            }
            kind
        }
    }
}

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::load(&SiteOptions::default()).unwrap());

/// Returns the investigation without its nodes.
fn before(input: &ReportInput) -> Snapshot {
    let meta = input.snapshot.investigation.meta().clone();
    Snapshot { investigation: Arc::new(Investigation::new(meta)), ..input.snapshot.clone() }
}

/// Builds the site of one investigation, compared with an empty state, and the index of several.
fn site_of(input: &ReportInput, templates: &Templates) -> Files {
    let names = ["a".to_owned(), "b".to_owned()];
    let comparison = Comparison { before: before(input), relation: Relation::Forward, names };
    let contents =
        SiteContents { inputs: vec![input.clone()], comparison: Some(comparison), ..SiteContents::default() };
    let mut files = site(&contents, templates).unwrap();
    let id = input.snapshot.investigation.meta().id;
    let entry = SiteEntry::of(input, &Report::of(input), &format!("{id}/"));
    let mut put = |path: &str, bytes| {
        let path = if path == "index.html" { "several/index.html" } else { path };
        files.insert(path.to_owned(), bytes);
        Ok(())
    };
    Builder::new(templates, true).rest(vec![entry], &[], "", &mut put).unwrap();
    files
}

/// Compares every surface with the assessment.
fn agree(input: &ReportInput) -> Read {
    with_case(input, &TEMPLATES, |case| {
        let files = SURFACES.iter().filter_map(|(name, read)| Some((name, read.as_ref()?)));
        for (name, read) in files.chain(BESIDE.iter().map(|(name, read)| (name, read))) {
            read(case).map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
        }
        silent(case)
    })
}

fn with_case<T>(input: &ReportInput, templates: &Templates, with: impl FnOnce(&Case<'_>) -> T) -> T {
    let snapshot = &input.snapshot;
    let assessment = Assessment::new(&snapshot.investigation, snapshot.rules());
    with(&Case { input, assessment: &assessment, files: &site_of(input, templates) })
}

/// Reads the files without a reader. Apart from the status in the head of a page, they may contain no verdict.
fn silent(case: &Case<'_>) -> Read {
    let is_listed = |path: &str| SURFACES.iter().any(|(name, _)| *name == kind(path));
    let verdicts = case.answers().map(|answer| (answer.verdict.class(), answer.words().into_owned()));
    let verdicts: BTreeSet<(&str, String)> = verdicts.chain(case.top()).collect();
    for path in case.files.keys().filter(|path| !is_listed(path)) {
        let text = page(case.files, path);
        let (before, rest) = text.split_once("<p class=\"eyebrow\">").unwrap_or((&text, ""));
        let (status, rest) = rest.split_once("</p>").unwrap_or_default();
        let is_contested = case.answers().any(|answer| answer.verdict == Verdict::Contested);
        prop_assert!(is_contested || !status.contains("status contested"), "{}: {}", path, status);
        let text = format!("{before}{rest}");
        let said = text.to_lowercase();
        for (class, words) in &verdicts {
            let mut classes = attributes(&text, "class").flat_map(|classes| classes.split(' '));
            let is_told = classes.any(|it| it == *class) || said.contains(&words.to_lowercase());
            prop_assert!(!is_told, "SURFACES has no reader of {path}, which tells a verdict: {words}");
        }
    }
    Ok(())
}

impl<'c> Case<'c> {
    fn investigation(&self) -> &'c Investigation {
        self.assessment.investigation
    }

    fn rules(&self) -> EffectiveRules<'c> {
        self.assessment.rules.unwrap()
    }

    /// Returns the answers, including refuted ones.
    fn answers(&self) -> impl Iterator<Item = &Answer<'c>> {
        self.assessment.answers.iter().chain(&self.assessment.refuted)
    }

    /// Returns the class and the words of the top verdict.
    fn top(&self) -> Option<(&'static str, String)> {
        let top = self.assessment.top();
        Some((top.verdict?.class(), top.words.into_owned()))
    }
}

fn first_page(case: &Case<'_>) -> Read {
    let assessment = case.assessment;
    for answer in &assessment.answers {
        let is_contesting = |run: &Arc<Run>| {
            let again = assessment.run(run.id).into_iter().flat_map(|run| &run.repetitions);
            let again = again.filter(|it| it.verdict != RunComparison::CouldNotRun);
            let holds = |it: &Arc<Run>| matches!(it.what, RunKind::Judged { holds: true, .. });
            let contests = |it: &Repetition<'_>| {
                it.verdict == RunComparison::Differs && !it.judgements.last().is_some_and(|it| holds(it))
            };
            let last =
                again.reduce(
                    |before, it| {
                        if contests(before) && !before.is_own && it.is_own { before } else { it }
                    },
                );
            last.is_some_and(contests)
        };
        let rests_on = |id: &NodeId| answer.premises.iter().any(|it| it.node.id == *id);
        let mut runs = case.investigation().runs().filter(|run| run.node.as_ref().is_some_and(&rests_on));
        let is_contested = runs.any(is_contesting);
        prop_assert_eq!(!answer.differing_runs.is_empty(), is_contested);
        prop_assert!(!is_contested || answer.verdict <= Verdict::Contested);
    }
    let index = page(case.files, "index.html");
    top_of(case, &index)?;
    rows_of(case, &index)?;
    let is_green = case.top().is_some_and(|(class, _)| class == "confirmed");
    let may_be_green = assessment.overall().is_some_and(Verdict::is_confirmed);
    prop_assert_eq!(is_green, may_be_green && assessment.first().is_some());
    let order: Vec<&str> = assessment.answers.iter().map(|answer| answer.node.id.as_str()).collect();
    let places: Vec<Option<usize>> =
        order.iter().take(6).map(|id| index.find(&format!("title=\"{id}\""))).collect();
    prop_assert!(places.is_sorted() && !places.contains(&None), "{order:?} {places:?} in {index}");
    Ok(())
}

/// Reads the verdict of each answer in the rows. Each answer has one row.
fn rows_of(case: &Case<'_>, page: &str) -> Read {
    let rows: Vec<&str> =
        page.split("<li class=\"lane ").skip(1).filter(|row| !row.starts_with("branch")).collect();
    for answer in case.answers() {
        let name = format!("title=\"{}\"", answer.node.id);
        let own = rows.iter().filter(|row| between(row, "<div class=\"says\"", "</div>").contains(&name));
        let own: Vec<&&str> = own.collect();
        prop_assert_eq!(own.len(), 1, "{} in {}", name, page);
        prop_assert!(own[0].starts_with(answer.verdict.class()), "{}", own[0]);
        let became = between(own[0], "<div class=\"became\">", "</div>");
        prop_assert!(became.contains(&crate::text::escape(&answer.words())), "{}", own[0]);
    }
    Ok(())
}

/// Reads the top of the first page, the print page or the single file.
fn top_of(case: &Case<'_>, page: &str) -> Read {
    let top = between(page, "<section class=\"answer ", "<div class=\"reason\">");
    let (headline, verdict) = top.split_once("<div class=\"verdict ").unwrap();
    if let Some((class, words)) = case.top() {
        let is_of_class = |part: &str| part.starts_with(&format!("{class}\""));
        prop_assert!(is_of_class(top) && is_of_class(verdict), "{class}: {top}");
        // The sentence begins with the words, or with their subject, which may say of how many.
        let sentence = between(between(verdict, "id=\"trust\"", "</h"), ">", "<").replace("&#39;", "'");
        let what = case.assessment.top().what;
        let words = words.trim_end_matches('.');
        let is_said = match what {
            "Conclusion" => sentence.starts_with(crate::text::sentence(words).trim_end_matches('.')),
            _ => sentence.starts_with(what) && sentence.contains(&format!(": {words}")),
        };
        prop_assert!(is_said, "{what}: {words}: {sentence}");
    }
    match case.assessment.first() {
        Some(first) => prop_assert!(headline.contains(&format!("title=\"{}\"", first.node.id)), "{headline}"),
        None => prop_assert!(!headline.contains("<a"), "no answer stands beside it: {headline}"),
    }
    let lines: Vec<(&str, &str)> = verdict
        .split("<li class=\"")
        .skip(1)
        .map(|line| (line.split_once('"').unwrap().0, between(line, "<div dir=\"auto\">", "</div>")))
        .collect();
    prop_assert!((1..=7).contains(&lines.len()), "{verdict}");
    let (doubts, checks) = (case.assessment.doubts(&|_| None), case.assessment.checks(&|_| None));
    let (_, check) = page.split_once("<ol class=\"doubts\">").unwrap_or_default();
    let (check, _) = check.split_once("</ol>").unwrap_or_default();
    let commands: Vec<&str> =
        check.split("<code class=\"break\">").skip(1).filter_map(|it| Some(it.split_once('<')?.0)).collect();
    let id = case.investigation().meta().id.short();
    let expected: Vec<String> = checks.iter().map(|doubt| doubt.command(Some(&id))).collect();
    prop_assert_eq!(commands, expected);
    if case.assessment.first().is_some_and(|first| !first.verdict.is_confirmed()) {
        prop_assert!(doubts.first().is_some_and(|it| it.kind <= DoubtKind::Unchecked), "{doubts:?}");
    }
    // The limits, and the other results with their verdicts.
    for limit in case.assessment.limits() {
        prop_assert!(page.contains(limit.text), "{}", limit);
    }
    // Each check, rerun and objection has a line, and only good news is green.
    let answers: Vec<&Answer<'_>> = match case.assessment.end() {
        Some(_) => case
            .assessment
            .bound()
            .filter(|it| it.role != BoundAs::Rival)
            .filter_map(|it| it.answer)
            .collect(),
        None => case.assessment.first().into_iter().collect(),
    };
    let is_gone = case.assessment.bound().any(|it| it.role != BoundAs::Rival && it.answer.is_none());
    if !answers.is_empty() || is_gone {
        let is_checked = !is_gone
            && answers
                .iter()
                .all(|it| it.grade.is_confirmed() && it.verdict != Verdict::Refuted && it.weakest.is_none());
        // An open objection comes before what checked it.
        let checked = lines[usize::from(!case.assessment.open.is_empty())];
        // A weak confirmation has no tick.
        let is_said = checked.0 == "for" || checked.0 == "note" && is_checked;
        prop_assert_eq!(is_said, is_checked, "{}", checked.1);
    }
    let objection = lines
        .iter()
        .find(|(_, line)| {
            ["bjection", "objects", "a correction"].iter().any(|it| line.contains(it))
                || line.starts_with("Results of ")
        })
        .unwrap();
    let is_objected = answers.iter().any(|it| !it.against.is_empty() || !it.differing.is_empty());
    prop_assert_eq!(objection.0 == "against", is_objected, "{}", objection.1);
    let is_open = objection.1.contains("objects") || objection.1.contains("proposes a correction");
    prop_assert_eq!(is_open, !case.assessment.open.is_empty(), "{}", objection.1);
    let is_rerun = case.assessment.whole_runs().any(|run| !run.repetitions.is_empty());
    if let Some(evidence) = case.assessment.whole_evidence().filter(|_| is_rerun) {
        let told = crate::text::sentence(&evidence).replace('\'', "&#39;");
        let is_told = |line: &&(&str, &str)| line.1.contains(told.trim_end_matches('.'));
        let line = lines.iter().find(is_told);
        let is_contesting = case.assessment.whole_runs().any(|run| run.is_contesting());
        prop_assert_eq!(line.map(|line| line.0 == "against"), Some(is_contesting), "{}: {}", told, verdict);
    }
    Ok(())
}

fn index_of_many(case: &Case<'_>) -> Read {
    let assessment = case.assessment;
    let entry = page(case.files, "several/index.html");
    let entry =
        between(&entry, &format!("href=\"{}/index.html\"", case.investigation().meta().id), "</article>");
    if assessment.first().is_some() {
        let verdict = assessment.overall().unwrap();
        let words = assessment.top().words;
        prop_assert_eq!(shown(entry), [(verdict.class(), words.as_ref())], "{}", entry);
    }
    prop_assert!(entry.contains(&assessment.found()), "{entry}");
    Ok(())
}

fn print(case: &Case<'_>) -> Read {
    top_of(case, &page(case.files, "print.html"))
}

fn single_file(case: &Case<'_>) -> Read {
    let bytes = site::document(case.input, &TEMPLATES).unwrap().bytes;
    top_of(case, &String::from_utf8(bytes).unwrap())
}

/// A source is marked if a confirmed answer cites it.
fn sources(case: &Case<'_>) -> Read {
    let page = page(case.files, "references.html");
    let mut sources: BTreeMap<&str, bool> = BTreeMap::new();
    for node in case.investigation().nodes() {
        let is_confirmed = case.assessment.verdict_of(&node.id).is_some_and(Verdict::is_confirmed);
        let target = &node.classification.as_ref().unwrap().references[0].target;
        *sources.entry(target).or_default() |= is_confirmed;
    }
    for (target, is_confirmed) in sources {
        let source = between(&page, &format!("href=\"{target}\""), "</li>");
        prop_assert_eq!(source.contains("Cited by a confirmed answer:"), is_confirmed, "{}", source);
    }
    Ok(())
}

/// Reads a page whose links to nodes have the colours of their verdicts.
fn linked(case: &Case<'_>, path: &str) -> Read {
    for link in page(case.files, path).split("<a class=\"node-link ").skip(1) {
        let classes = link.split('"').next().unwrap_or_default();
        let id = between(link, "<span class=\"node-id\">", "<").parse().ok();
        if let Some(verdict) = id.and_then(|id| case.assessment.verdict_of(&id)) {
            prop_assert!(classes.split(' ').any(|it| it == verdict.class()), "{}: {}", path, link);
        }
    }
    Ok(())
}

fn tree(case: &Case<'_>) -> Read {
    let tree = page(case.files, "tree.html");
    for node in case.investigation().nodes() {
        let row = between(&tree, &format!("<a id=\"{}\"", node.id), "</a>");
        let expected: Vec<_> = case.assessment.verdict_of(&node.id).into_iter().map(told).collect();
        prop_assert_eq!(shown(row), expected, "{}", row);
    }
    Ok(())
}

fn drawing(case: &Case<'_>, path: &str) -> Read {
    let drawing = page(case.files, path);
    for answer in case.answers() {
        let card = between(&drawing, &format!("<title>{} (", answer.node.id), "</title>");
        prop_assert!(card.contains(&format!(", {})", answer.verdict.label())), "{card}");
    }
    Ok(())
}

fn graph_text(case: &Case<'_>, text: &str) -> Read {
    for answer in case.answers() {
        let name = answer.node.id.as_str().replace('.', "_");
        let is_of_it = |line: &&str| {
            let rest = line.trim().strip_prefix(&name);
            rest.is_some_and(|rest| rest.trim_start().starts_with('['))
        };
        let line = text.lines().find(is_of_it).unwrap_or_default();
        prop_assert!(line.contains(&format!(", {})", answer.verdict.label())), "{}", line);
    }
    Ok(())
}

fn node_pages(case: &Case<'_>) -> Read {
    for answer in case.answers() {
        let page = page(case.files, &format!("nodes/{}.html", answer.node.id));
        prop_assert_eq!(shown(between(&page, "<p class=\"eyebrow\">", "</p>")), [told(answer.verdict)]);
        let head = between(&page, "page-head node-head ", "\"");
        prop_assert_eq!(head.split(' ').nth(1), Some(answer.verdict.class()), "{}", head);
        for by in answer.confirming.iter().filter(|by| by.verdict() > Verdict::NotChecked) {
            let distance = case.assessment.distance(answer.node, by).unwrap().to_string();
            prop_assert!(page.contains(&distance), "{distance}: {page}");
        }
    }
    Ok(())
}

fn compared(case: &Case<'_>) -> Read {
    let page = page(case.files, "compare.html");
    let section = between(&page, "<h2 id=\"verdict\">", "</section>");
    for answer in case.answers() {
        let answers = between(&page, "<h2 id=\"answers\">", "</section>");
        let line = between(answers, &format!("nodes/{}.html\"", answer.node.id), "</li>");
        let words = match answer.verdict {
            Verdict::Refuted => "<b>refuted by".to_owned(),
            _ => format!("<b>{}</b>", answer.words().replace('\'', "&#39;")),
        };
        prop_assert!(line.contains(&words), "{line}");
    }
    prop_assert!(section.contains(&format!("<td>{}</td></tr>", case.assessment.found())), "{section}");
    Ok(())
}

fn data(case: &Case<'_>) -> Read {
    schema::assert_valid(case.files);
    let assessment = case.assessment;
    let data: Value = serde_json::from_slice(&case.files["investigation.json"]).unwrap();
    prop_assert_eq!(&data["outcome"], &serde_json::to_value(assessment.outcome).unwrap());
    prop_assert_eq!(&data["verdict"], &serde_json::to_value(assessment.words()).unwrap());
    let doubts = assessment.doubts(&|_| None);
    let doubts = if doubts.is_empty() { Value::Null } else { serde_json::to_value(doubts).unwrap() };
    prop_assert_eq!(&data["wouldOverturn"], &doubts);
    let answers = data["answers"].as_array().unwrap();
    prop_assert_eq!(answers.len(), assessment.answers.len());
    for (entry, answer) in answers.iter().zip(&assessment.answers) {
        let verdict = &entry["verdict"];
        prop_assert_eq!(entry["nodeId"].as_str(), Some(answer.node.id.as_str()));
        prop_assert_eq!(&verdict["words"], &Value::from(answer.words()));
        let differing: Vec<String> = answer.differing_runs.iter().map(ToString::to_string).collect();
        prop_assert_eq!(verdict.get("differingRuns").is_some(), !differing.is_empty());
        prop_assert_eq!(&verdict["evidence"], &Value::from(case.assessment.evidence_words(answer)));
        prop_assert_eq!(verdict["class"].as_str(), Some(answer.verdict.class()));
    }
    let refuted: Vec<&str> =
        data["refuted"].as_array().unwrap().iter().filter_map(|it| it["nodeId"].as_str()).collect();
    let expected: Vec<&str> = assessment.refuted.iter().map(|answer| answer.node.id.as_str()).collect();
    prop_assert_eq!(refuted, expected);
    Ok(())
}

fn search_data(case: &Case<'_>) -> Read {
    let script = page(case.files, "search-data.js");
    let json = script.strip_prefix("totSearch(").and_then(|text| text.strip_suffix(");\n")).unwrap();
    let data: Value = serde_json::from_str(json).unwrap();
    for found in data["found"].as_array().unwrap() {
        let Ok(id) = found[0].as_str().unwrap().parse::<NodeId>() else { continue };
        let label = case.assessment.verdict_of(&id).map(Verdict::label);
        prop_assert_eq!(found[4]["label"].as_str(), label, "{}", id);
    }
    Ok(())
}

fn page_for_forges(case: &Case<'_>) -> Read {
    let page = readme::readme(case.investigation(), &case.rules());
    if let Some(words) = case.assessment.words() {
        prop_assert!(page.contains(&format!("## Conclusion, {words}\n")), "{page}");
    }
    if case.assessment.end().is_some() {
        let evidence = case.assessment.whole_evidence().filter(|_| case.assessment.runs().next().is_some());
        let evidence = evidence.map(|words| {
            format!("\nEvidence: {}.\n", markdown::literal(&words, 400, markdown::Reader::Page))
        });
        prop_assert!(evidence.is_none_or(|line| page.contains(&line)), "{page}");
        for answer in &case.assessment.answers {
            let row = between(&page, &format!("| [{}](<", answer.node.id), "\n");
            prop_assert!(row.contains(&format!("| {}", answer.words())), "{row}");
        }
    }
    Ok(())
}

/// Compares the commit that ended the investigation with the pages.
fn end_commit(case: &Case<'_>) -> Read {
    let end = Conclusion { conclusion: Some("It is so.".into()), ..Conclusion::new(time(999)) };
    let event = Event::Ended { conclusion: Arc::new(end) };
    let subject = message::message(case.investigation(), &case.rules(), &event, &[], &Caller::default());
    for (verdict, count) in case.assessment.counts() {
        prop_assert!(subject.contains(&format!(", {count} {}", verdict.label())), "{subject}");
    }
    Ok(())
}

fn changes_in_markdown(case: &Case<'_>) -> Read {
    let changes = changes::markdown(&diff::Diff::new(&before(case.input), &case.input.snapshot), ["a", "b"]);
    for answer in case.answers() {
        let words = match answer.verdict {
            Verdict::Refuted => " refuted by".to_owned(),
            _ => format!(" {}:", answer.words()),
        };
        // What looks like a commit is code.
        let line = format!("{}{words}", answer.node.id);
        prop_assert!(changes.replace('`', "").contains(&line), "{changes}");
    }
    Ok(())
}

fn reviewed(case: &Case<'_>) -> Read {
    let notes = review::review(None, case.investigation(), Some(&case.rules()), &ProjectEvidence::default());
    for answer in &case.assessment.answers {
        let mut noted =
            notes.iter().filter(|it| it.node.as_ref() == Some(&answer.node.id)).flat_map(|it| &it.notes);
        let is_doubted = noted.any(|note| note.text.starts_with("an answer, "));
        prop_assert_eq!(is_doubted, !answer.grade.is_confirmed());
        let noted = || notes.iter().filter(|it| it.node.as_ref() == Some(&answer.node.id));
        if let Some(run) = contesting(case, answer) {
            prop_assert!(noted().flat_map(|it| &it.notes).any(|note| note.text.contains(&run)), "{run}");
        }
    }
    Ok(())
}

/// Returns the sentence about the first run that contests an answer.
fn contesting(case: &Case<'_>, answer: &Answer<'_>) -> Option<String> {
    let first = answer.differing_runs.first()?;
    Some(case.assessment.run(*first).unwrap().told())
}

#[test]
fn a_file_with_a_verdict_and_without_a_reader_fails() {
    let mut long = sample();
    let first = long.history[0].clone();
    long.history.extend(std::iter::repeat_n(first, 450));
    cites(&mut long, 250);
    let mut found: BTreeSet<String> = BTreeSet::new();
    for input in [backed(), compare::ended_twice(), large(400), long] {
        with_case(&input, &TEMPLATES, |case| {
            silent(case).unwrap();
            found.extend(case.files.keys().map(|path| kind(path)));
        });
    }
    let gone: Vec<&str> = SURFACES.iter().map(|it| it.0).filter(|name| !found.contains(*name)).collect();
    assert!(gone.is_empty(), "no site has these any more: {gone:?}");
}

/// Adds something bad: a refutation, an objection, an amendment, a result with another state, a correction, or its acceptance.
///
/// A confirmation is not amended, because one that says nothing counts once its author says more.
fn with_worse(facts: &Investigation, rules: EffectiveRules<'_>, (what, at, by): Bad) -> Investigation {
    let nodes: Vec<&Arc<Node>> = facts.nodes().collect();
    let (node, after, (agent_id, caller)) = (nodes[at % nodes.len()], time(2_000), hand(by));
    let mut new = Node::clone(node);
    let result = new.classification.as_mut().unwrap();
    let state = result.current_state().clone();
    let other = if rules.is_dead_end(&state) { "EXPLORE" } else { "DEAD" };
    let change = match what % 6 {
        0 => {
            let id = format!("R{}.{}{}", node.round() + 1, node.id.suffix(), 900 + at);
            let mut child = Node::new(id.parse().unwrap(), Some(node.id.clone()), "It fails", after);
            let result = Classification::new("DEAD".parse().unwrap(), "It is not so.", after);
            child.classification = Some(Classification { agent_id, caller, refutes: true, ..result });
            Change::Node(Arc::new(child))
        }
        1 | 4 => {
            let author = Commenter { name: "git".into(), agent_id, caller, ..Commenter::default() };
            let id = CommentId::new(1_795_000_009_000 + facts.comments().count() as u64, [9; 10]);
            let (kind, edits) = match what % 6 {
                1 => (CommentKind::Objection, Vec::new()),
                _ => (CommentKind::Correction, edits(at)),
            };
            let text = "It was measured on one machine only.".to_owned();
            let (node, reply_to, saw) = (Some(node.id.clone()), None, None);
            Change::Comment(Arc::new(Comment {
                id,
                node,
                kind,
                reply_to,
                author,
                at: after,
                text,
                saw,
                edits,
            }))
        }
        5 if rules.role(&state) != crate::ruleset::Role::Confirmation => {
            let mut on_node = facts.comments_on(&node.id);
            if let Some(correction) = on_node.find(|it| it.kind == CommentKind::Correction) {
                accept(&mut new, correction, by, after);
            }
            Change::Node(Arc::new(new))
        }
        2 if rules.role(&state) != crate::ruleset::Role::Confirmation => {
            let findings = Some("It is another thing altogether.".to_owned());
            let mut amendment =
                Amendment { agent_id, caller, findings, ..Amendment::new(after, "It was wrong.") };
            amendment.exchange(&mut new);
            new.classification.as_mut().unwrap().amended.push(amendment);
            Change::Node(Arc::new(new))
        }
        _ => {
            let other = Classification::new(other.parse().unwrap(), "It is another thing.", after);
            result.other_results.push(Classification { agent_id, caller, ..other });
            Change::Node(Arc::new(new))
        }
    };
    facts.with(&[change])
}

/// What is added, where and by whom.
type Bad = (usize, usize, usize);

fn step() -> impl Strategy<Value = Step> {
    (0..8_usize, 0..12_usize, 0..6_usize, 0..12_usize, 0..12_usize)
        .prop_map(|(parent, state, hand, later, by)| Step { parent, state, hand, later, by })
}

fn captured() -> impl Strategy<Value = Captured> {
    let again = (0..3_usize, 0..6_usize, prop::option::of(any::<bool>()));
    (0..8_usize, 0..6_usize, prop::collection::vec(again, 0..3))
}

fn some_branch() -> impl Strategy<Value = Branch> {
    let said = (0..8_usize, prop::option::of(0..6_usize), 0..10_usize);
    let ended = (any::<bool>(), prop::collection::vec((0..8_usize, 0..3_usize), 0..3), any::<bool>());
    (prop::collection::vec(step(), 1..9), prop::collection::vec(said, 0..3), prop::option::of(ended))
}

proptest! {
    #![proptest_config(crate::testing::sampled(2_000))]

    #[test]
    fn every_surface_says_the_same_of_each_answer_and_of_the_whole(
        ours in some_branch(),
        theirs in prop::option::weighted(0.3, some_branch()),
        by_hand in prop::collection::vec(0..8_usize, 0..2),
        captured in prop::collection::vec(captured(), 0..3),
    ) {
        agree(&of(ours, theirs, &by_hand, &captured))?;
    }
    /// What the rules require is left out: a refutation may be a step that they ask for.
    #[test]
    fn nothing_bad_that_is_added_makes_a_verdict_better(
        ours in some_branch(),
        theirs in prop::option::weighted(0.3, some_branch()),
        captured in prop::collection::vec(captured(), 0..2),
        bad in prop::collection::vec((0..6_usize, 0..16_usize, 0..6_usize), 1..4),
    ) {
        let mut input = of(ours, theirs, &[], &captured);
        for bad in bad {
            let facts = Arc::clone(&input.snapshot.investigation);
            let worse = with_worse(&facts, input.snapshot.rules().unwrap(), bad);
            let (before, after) =
                [&facts, &worse].map(|facts| Assessment::new(facts, input.snapshot.rules())).into();
            for answer in before.answers.iter().chain(&before.refuted) {
                let now = after.verdict_of(&answer.node.id);
                prop_assert!(now <= Some(answer.verdict), "{bad:?} {}: {now:?}", answer.node.id);
            }
            let bound = |it: &Assessment<'_>| it.bound().map(|bound| bound.verdict()).min();
            prop_assert!(bound(&after) <= bound(&before), "{bad:?}");
            let whole = before.overall().filter(|it| *it != Verdict::RulesUnmet);
            prop_assert!(whole.is_none() || after.overall() <= whole, "{bad:?}");
            input.snapshot.investigation = Arc::new(worse);
        }
    }
}
