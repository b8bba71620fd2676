//! Every surface says the same of each answer and of the whole. Random investigations, of facts as calls, hands and merges may
//! leave them; a reader for each surface; and the assessment, which each is held against.
//!
//! What is read of files, replies and screens of a real repository is in `tests/it/surfaces.rs`.

use proptest::prelude::*;

use super::*;
use crate::assess::{Assessment, Verdict};
use crate::domain::Event;
use crate::format::{message, readme};
use crate::graph;
use crate::review;

/// One node: where it hangs, its state, who wrote it, what came of it later.
#[derive(Clone, Debug)]
struct Step {
    parent: usize,
    state: usize,
    hand: usize,
    later: usize,
    by: usize,
}

/// What is said of a node, and whether and by whom it is resolved.
type Said = (usize, Option<usize>);

/// The end: whether it is early, which answers it names and as what, and whether research came after it.
type End = (bool, Vec<(usize, usize)>, bool);

const STATES: [&str; 6] = ["EXPLORE", "FOUND", "FOUND", "VERIFY", "VERIFY", "DEAD"];

/// Two agents in two sessions, a person, and nobody with a name.
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

fn nodes(steps: &[Step]) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let parent = at.checked_sub(1).map(|_| nodes[step.parent % at].id.clone());
        let id = match &parent {
            None => "R1.A".to_owned(),
            Some(parent) => format!("R{}.{}{at}", parent.round() + 1, parent.suffix()),
        };
        let mut node = Node::new(id.parse().unwrap(), parent, format!("Title of {id}"), time(0));
        let when = time(10 * at as i64 + 1);
        let (agent_id, caller) = hand(step.hand);
        let state = STATES[step.state % STATES.len()].parse().unwrap();
        let mut result = Classification {
            agent_id,
            caller,
            ..Classification::new(state, format!("Findings of {id}."), when)
        };
        let (agent_id, caller) = hand(step.by);
        let after = time(10 * at as i64 + 500);
        match step.later % 8 {
            0 => result.refutes = true,
            1 => result.amended.push(Amendment {
                agent_id,
                caller,
                findings: Some("Before.".into()),
                ..Amendment::new(after, "It was wrong.")
            }),
            2 => {
                let by = agent_id.map_or(Author::Unknown, Author::Agent);
                let to = STATES[step.by % STATES.len()].parse().unwrap();
                let evidence = (step.by % 2 == 0).then(|| "Measured again, ten times.".to_owned());
                let from = result.state.clone();
                result.reclassified.push(Reclassification {
                    caller,
                    reason: Some("It was seen again.".into()),
                    evidence,
                    ..Reclassification::new(from, to, after, by)
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

fn of(steps: &[Step], said: &[Said], end: Option<End>) -> ReportInput {
    let nodes = nodes(steps);
    let comment = |number: usize, node: &Node, kind, reply_to: Option<usize>, by: usize| {
        let id = |number: usize| CommentId::new(1_795_000_000_000 + number as u64, [number as u8; 10]);
        let (agent_id, caller) = hand(by);
        let author = Commenter { name: "git".into(), agent_id, caller, ..Commenter::default() };
        let text = "It was measured on one machine only.".to_owned();
        let (id, reply_to) = (id(number), reply_to.map(id));
        let at = time(600 + number as i64);
        Arc::new(Comment { id, node: Some(node.id.clone()), kind, reply_to, author, at, text })
    };
    let mut comments = Vec::new();
    for (at, (node, resolved)) in said.iter().enumerate() {
        let node = &nodes[node % nodes.len()];
        comments.push(comment(2 * at, node, CommentKind::Objection, None, 1));
        comments
            .extend(resolved.map(|by| comment(2 * at + 1, node, CommentKind::Resolution, Some(2 * at), by)));
    }
    let conclusion = end.map(|(early, named, after)| {
        let answers = named.iter().map(|(node, role)| BoundAnswer {
            id: nodes[node % nodes.len()].id.clone(),
            role: [BoundAs::Main, BoundAs::Part, BoundAs::Rival][role % 3],
        });
        Conclusion {
            conclusion: Some("It is so.".into()),
            stopped: early.then_some(Stopped { reason: StopReason::Enough, note: None }),
            answers: answers.collect(),
            ..Conclusion::new(time(if after { 200 } else { 900 }))
        }
    });
    let mut input = input(meta(1, "Why?", "Why?"), nodes.into_iter().map(Arc::new).collect(), conclusion);
    let facts = Arc::unwrap_or_clone(input.snapshot.investigation);
    input.snapshot.investigation = Arc::new(facts.with_comments(comments));
    input
}

/// What stands in a page between these, without its marks.
fn between<'p>(page: &'p str, before: &str, after: &str) -> &'p str {
    let (_, rest) = page.split_once(before).unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split_once(after).map_or(rest, |(part, _)| part)
}

/// The class and the words of each verdict that a part of a page shows.
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

/// Holds every surface against the assessment.
fn agree(input: ReportInput) -> Result<(), TestCaseError> {
    let snapshot = input.snapshot.clone();
    let investigation = snapshot.investigation.as_ref();
    let rules = snapshot.rules().unwrap();
    let assessment = Assessment::new(investigation, Some(rules));
    let files = render(std::slice::from_ref(&input));
    let index = page(&files, "index.html");
    let both = || assessment.answers.iter().chain(&assessment.refuted);

    // The whole: on top of the first page, in the data, on the page for forges, in the index of several, in the print.
    let top = between(&index, "<section class=\"answer ", "</section>");
    let expected = match (assessment.verdict(), assessment.first()) {
        (Some(verdict), _) => Some((verdict.class(), assessment.words().unwrap())),
        (None, Some(first)) => Some((first.verdict.class(), first.words())),
        (None, None) => None,
    };
    if let Some((class, words)) = &expected {
        prop_assert!(top.starts_with(&format!("{class}\"")), "{top}");
        prop_assert!(top.contains(&format!(", {words}</p>")), "{words}: {top}");
    }
    let is_green = expected.is_some_and(|(class, _)| class == "confirmed");
    let may_be_green = assessment.overall().is_some_and(Verdict::is_confirmed);
    prop_assert_eq!(is_green, may_be_green && assessment.first().is_some());
    let headline = between(top, "<h2 id=\"found\">", "</h2>");
    match assessment.first() {
        Some(first) => prop_assert!(headline.contains(&format!("title=\"{}\"", first.node.id)), "{headline}"),
        None => prop_assert!(!headline.contains("<a"), "no answer stands beside it: {headline}"),
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    prop_assert_eq!(&data["outcome"], &serde_json::to_value(assessment.outcome).unwrap());
    prop_assert_eq!(&data["verdict"], &serde_json::to_value(assessment.words()).unwrap());
    let entries = render(&[input.clone(), unfinished()]);
    let entry = page(&entries, "index.html");
    let entry = between(&entry, &format!("href=\"{}/index.html\"", investigation.meta().id), "</article>");
    if let Some(first) = assessment.first() {
        let verdict = assessment.overall().unwrap();
        let words = assessment.words().unwrap_or_else(|| first.words());
        prop_assert_eq!(shown(entry), [(verdict.class(), words.as_ref())], "{}", entry);
    }
    prop_assert!(entry.contains(&assessment.found()), "{entry}");
    let page_of = readme::readme(investigation, &rules);
    if let Some(words) = assessment.words() {
        prop_assert!(page_of.contains(&format!("## Conclusion, {words}\n")), "{page_of}");
        let print = page(&files, "print.html");
        prop_assert!(print.contains(&format!(", {words}</p>")), "{}", print);
    }

    // Each answer, in the same order everywhere.
    let order: Vec<&str> = assessment.answers.iter().map(|answer| answer.node.id.as_str()).collect();
    let listed: Vec<&str> =
        data["solutions"].as_array().unwrap().iter().map(|it| it["node"].as_str().unwrap()).collect();
    prop_assert_eq!(&listed, &order);
    let cards = between(&index, "<h2 id=\"answers\">", "</section>");
    let places: Vec<Option<usize>> =
        order.iter().take(4).map(|id| cards.find(&format!("<span class=\"node-id\">{id}</span>"))).collect();
    prop_assert!(places.is_sorted() && !places.contains(&None), "{order:?} {places:?}");
    let (dot, mermaid) = (graph::dot(&assessment), graph::mermaid(&assessment));
    let tree = page(&files, "tree.html");
    let drawing = page(&files, "graph.html");
    let empty = Snapshot {
        investigation: Arc::new(Investigation::new(investigation.meta().clone())),
        ..snapshot.clone()
    };
    let changes = changes::markdown(&empty, &snapshot, ["a", "b"]);
    let notes = review::review(None, investigation, Some(&rules), &Evidence::default());
    for (at, answer) in both().enumerate() {
        let (id, verdict) = (&answer.node.id, answer.verdict);
        let words = answer.words();
        let of_node = page(&files, &format!("nodes/{id}.html"));
        prop_assert_eq!(shown(between(&of_node, "<p class=\"eyebrow\">", "</p>")), [told(verdict)]);
        let head = between(&of_node, "page-head node-head ", "\"");
        prop_assert_eq!(head.split(' ').nth(1), Some(verdict.class()), "{}", head);
        let row = between(&tree, &format!("<a id=\"{id}\""), "</a>");
        prop_assert_eq!(shown(row), [told(verdict)], "{}", row);
        let card = between(&drawing, &format!("<title>{id} ("), "</title>");
        prop_assert!(card.contains(&format!(", {})", verdict.label())), "{card}");
        let name = id.as_str().replace('.', "_");
        let line = |text: &str| {
            text.lines()
                .find(|line| {
                    line.trim().starts_with(&format!("{name}["))
                        || line.trim().starts_with(&format!("{name} ["))
                })
                .unwrap_or_default()
                .to_owned()
        };
        for text in [&dot, &mermaid] {
            prop_assert!(line(text).contains(&format!(", {})", verdict.label())), "{}", line(text));
        }
        if verdict == Verdict::Refuted {
            prop_assert!(changes.contains(&format!("`{id}` refuted by")), "{changes}");
            continue;
        }
        prop_assert_eq!(data["solutions"][at]["verdict"].as_str(), Some(words.as_ref()));
        prop_assert_eq!(data["solutions"][at]["verified"].as_bool(), Some(verdict.is_confirmed()));
        prop_assert!(changes.contains(&format!("`{id}` {words}:")), "{changes}");
        let way = page(&files, &format!("answers/{id}.html"));
        prop_assert!(way.contains(&format!("argument-head {}\"", verdict.class())), "{way}");
        if investigation.conclusion().is_some() {
            let row = between(&page_of, &format!("| [{id}](<"), "\n").to_owned();
            prop_assert!(row.contains(&format!("| {words}")), "{row}");
        }
        let noted = notes.iter().filter(|it| it.node.as_ref() == Some(id)).flat_map(|it| &it.notes);
        let is_doubted = noted.clone().any(|note| note.text.starts_with("an answer, "));
        prop_assert_eq!(is_doubted, !answer.grade.is_confirmed());
    }
    for node in investigation.nodes().filter(|node| assessment.answer(&node.id).is_none()) {
        let row = between(&tree, &format!("<a id=\"{}\"", node.id), "</a>");
        prop_assert_eq!(shown(row), [], "{} is no answer", node.id);
    }

    // The commit of an end counts as the pages do.
    let end = Conclusion { conclusion: Some("It is so.".into()), ..Conclusion::new(time(999)) };
    let event = Event::Ended { conclusion: Arc::new(end) };
    let subject = message::message(investigation, &rules, &event, &[], &Caller::default());
    for (verdict, count) in assessment.counts() {
        prop_assert!(subject.contains(&format!(", {count} {}", verdict.label())), "{subject}");
    }
    Ok(())
}

fn step() -> impl Strategy<Value = Step> {
    (0..8_usize, 0..12_usize, 0..6_usize, 0..12_usize, 0..12_usize)
        .prop_map(|(parent, state, hand, later, by)| Step { parent, state, hand, later, by })
}

proptest! {
    #![proptest_config(crate::testing::sampled(2_000))]

    #[test]
    fn every_surface_says_the_same_of_each_answer_and_of_the_whole(
        steps in prop::collection::vec(step(), 1..9),
        said in prop::collection::vec((0..8_usize, prop::option::of(0..6_usize)), 0..3),
        end in prop::option::of((any::<bool>(), prop::collection::vec((0..8_usize, 0..3_usize), 0..3), any::<bool>())),
    ) {
        agree(of(&steps, &said, end))?;
    }
}
