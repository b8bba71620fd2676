//! Random histories that diverge from one tree, and tests for each case of the merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::fresh::Ids;
use crate::domain::{
    AmendedConclusion, Amendment, Caller, Citation, Claim, Classification, Comment, CommentId, CommentKind,
    Commenter, Conclusion, Investigation, Meta, NamedIn, NotFound, Pin, Reclassification, Reopening,
    Timestamp, Withdrawal,
};
use crate::ruleset::rules::confirmation::stamp;
use crate::ruleset::{EffectiveRules, builtin};

/// The contents of a tree as values.
#[derive(Clone, Debug, Default, PartialEq)]
struct TreeFiles {
    nodes: BTreeMap<NodeId, Node>,
    end: Option<Conclusion>,
    comments: BTreeMap<CommentId, Comment>,
    files: BTreeMap<String, String>,
}

impl TreeFiles {
    fn files(&self) -> FileMap {
        let nodes = self.nodes.values().map(|node| (layout::node(&node.id), node.write().unwrap()));
        let end = self.end.iter().map(|end| (layout::CONCLUSION.to_owned(), end.write().unwrap()));
        let comment = |it: &Comment| (layout::comment(it.id), it.write().unwrap());
        let own = self.comments.values().map(comment).chain(self.files.clone());
        nodes.chain(end).chain(own).map(|(path, text)| (path, text.into_bytes())).collect()
    }

    fn of(files: &FileMap) -> TreeFiles {
        let mut tree = TreeFiles::default();
        for (path, text) in files {
            let text = std::str::from_utf8(text).unwrap();
            match layout::file_role(path) {
                FileRole::Node(id) => drop(tree.nodes.insert(id.clone(), node_of(text, &id).unwrap())),
                FileRole::Conclusion => tree.end = Some(Conclusion::read(text).unwrap()),
                FileRole::Comment(id) => drop(tree.comments.insert(id, Comment::read(text).unwrap())),
                _ => drop(tree.files.insert(path.clone(), text.to_owned())),
            }
        }
        tree
    }

    fn node(&mut self, id: &str) -> &mut Node {
        self.nodes.get_mut(&id.parse().unwrap()).unwrap()
    }

    fn propose(&mut self, id: &str, parent: Option<&str>, title: &str, at: i64) {
        let (id, parent) = (id.parse::<NodeId>().unwrap(), parent.map(|id| id.parse().unwrap()));
        let node = Node {
            planned_action: format!("plan of {title}"),
            ..Node::new(id.clone(), parent, title, time(at))
        };
        self.nodes.insert(id, node);
    }

    fn commit(&mut self, id: &str, state: &str, findings: &str, at: i64) {
        let node = self.node(id);
        node.claim = None;
        let result = Classification::new(state.parse().unwrap(), findings, time(at));
        node.classification =
            Some(Classification { agent_id: Some(format!("agent of {findings}")), ..result });
    }

    fn reclassify(&mut self, id: &str, to: &str, reason: &str, at: i64) {
        let result = self.node(id).classification.as_mut().unwrap();
        let from = result.current_state().clone();
        let agent_id = Some(format!("agent of {reason}"));
        let change = Reclassification::new(from, to.parse().unwrap(), time(at));
        result.reclassified.push(Reclassification { agent_id, reason: Some(reason.into()), ..change });
    }

    /// Amends the title, headline and findings.
    fn amend(&mut self, id: &str, text: &str, at: i64) {
        let node = self.node(id);
        let result = node.classification.as_mut().unwrap();
        let amendment = Amendment {
            title: Some(std::mem::replace(&mut node.title, format!("title {text}"))),
            headline: Some(result.headline.replace(format!("headline {text}")).unwrap_or_default()),
            findings: Some(std::mem::replace(&mut result.findings, format!("findings {text}"))),
            ..Amendment::new(time(at), format!("reason of {text}"))
        };
        result.amended.push(amendment);
    }

    /// Adds another result to the node.
    fn late(&mut self, id: &str, state: &str, findings: &str, at: i64) {
        let result = self.node(id).classification.as_mut().unwrap();
        let at = time(at).max(result.newest().committed_at);
        let late = Classification::new(state.parse().unwrap(), findings, at);
        result.other_results.push(Classification { agent_id: Some(format!("agent of {findings}")), ..late });
    }

    fn comment(&mut self, node: &str, text: &str, at: i64) {
        let mut random = [0; 10];
        text.bytes().zip(&mut random).for_each(|(byte, place)| *place = byte);
        let comment = Comment {
            id: CommentId::new(u64::try_from(time(at).milliseconds()).unwrap(), random),
            node: Some(node.parse().unwrap()),
            kind: CommentKind::Objection,
            reply_to: None,
            author: Commenter {
                name: "Maria".into(),
                caller: Caller::of_person("Maria", None),
                ..Commenter::default()
            },
            at: time(at),
            text: text.to_owned(),
            saw: None,
            edits: Vec::new(),
        };
        self.comments.insert(comment.id, comment);
    }

    fn end(&mut self, text: Option<&str>, at: i64) {
        self.end = Some(Conclusion { conclusion: text.map(Into::into), ..Conclusion::new(time(at)) });
    }

    /// Returns all text in the tree.
    fn texts(&self) -> BTreeSet<String> {
        let mut texts: BTreeSet<String> = self.files.values().cloned().collect();
        for node in self.nodes.values() {
            texts.extend([node.title.clone(), node.planned_action.clone()]);
            for result in
                node.classification.iter().flat_map(|it| std::iter::once(it).chain(&it.other_results))
            {
                texts.insert(result.findings.clone());
                texts.extend(result.headline.clone());
                texts.extend(result.agent_id.clone());
                texts.extend(result.reclassified.iter().filter_map(|change| change.reason.clone()));
                for amendment in &result.amended {
                    let before = [&amendment.title, &amendment.headline, &amendment.findings];
                    texts.extend(before.into_iter().flatten().cloned());
                    texts.insert(amendment.reason.clone());
                }
            }
        }
        for end in self.end.iter().flat_map(|end| std::iter::once(end).chain(&end.other_conclusions)) {
            texts.extend(end.conclusion.clone());
            texts.extend(end.amended.iter().filter_map(|it| it.conclusion.clone()));
            texts.extend(end.amended.iter().map(|it| it.reason.clone()));
        }
        texts.extend(self.comments.values().map(|comment| comment.text.clone()));
        texts
    }
}

fn amend_end(end: &mut Conclusion, text: &str, at: i64) {
    let before = end.amended.last().map_or(end.ended_at, |last| last.at);
    let mut amended = AmendedConclusion {
        at: time(at).max(before),
        reason: format!("reason of {text}"),
        bottom_line: Some(format!("bottom line {text}")),
        conclusion: Some(format!("conclusion {text}")),
        references: Some(vec![Citation { target: text.to_owned(), ..Citation::default() }]),
        ..AmendedConclusion::default()
    };
    amended.exchange(end);
    end.amended.push(amended);
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_700_000_000_000 + seconds * 1_000).unwrap()
}

fn trees(base: &TreeFiles, ours: &TreeFiles, theirs: &TreeFiles) -> [FileMap; 3] {
    let (base, ours, theirs) = (base.files(), ours.files(), theirs.files());
    let differs = |path: &String| base.get(path) != ours.get(path) || base.get(path) != theirs.get(path);
    let only = |files: &FileMap| -> FileMap {
        files
            .iter()
            .filter(|(path, _)| differs(path))
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect()
    };
    [&base, &ours, &theirs].map(only)
}

/// Returns the merged tree. Asserts that it is the same from both sides.
fn merged(
    base: &TreeFiles,
    ours: &TreeFiles,
    theirs: &TreeFiles,
) -> Result<(TreeFiles, Vec<MergeDecision>), Vec<Conflict>> {
    let given = trees(base, ours, theirs);
    let from_here = merge(&given);
    let from_there = merge(&trees(base, theirs, ours));
    assert_eq!(from_here, from_there, "it depends on the side");
    let mut merged = from_here?;
    // Git's merge driver, which sees one file at a time, makes the same.
    for (path, text) in &merged.files {
        let [base, ours, theirs] = given.each_ref().map(|side| side.get(path).cloned());
        let is_own = matches!(layout::file_role(path), FileRole::Node(_) | FileRole::Conclusion);
        let (true, Some(ours), Some(theirs)) = (is_own && ours != base && theirs != base, ours, theirs)
        else {
            continue;
        };
        assert_eq!(&merge_file(path, [base.unwrap_or_default(), ours, theirs]), &Ok(text.clone()), "{path}");
    }
    for (path, text) in base.files() {
        let is_given = given.iter().any(|side| side.contains_key(&path));
        if !is_given {
            merged.files.insert(path, text);
        }
    }
    Ok((TreeFiles::of(&merged.files), merged.decisions))
}

/// Merges values instead of files, from both sides. This is much faster, for tests with many random trees.
fn joined(base: &TreeFiles, ours: &TreeFiles, theirs: &TreeFiles) -> (TreeFiles, Vec<MergeDecision>) {
    let from_here = joined_from(base, ours, theirs);
    assert_eq!(from_here, joined_from(base, theirs, ours), "it depends on the side");
    from_here
}

fn joined_from(base: &TreeFiles, ours: &TreeFiles, theirs: &TreeFiles) -> (TreeFiles, Vec<MergeDecision>) {
    let all = [base, ours, theirs];
    let ids: BTreeSet<&NodeId> = all.iter().flat_map(|tree| tree.nodes.keys()).collect();
    let versions = |id: &NodeId| all.map(|tree| tree.nodes.get(id).cloned());
    let is_touched = |id: &&NodeId| all.iter().any(|tree| tree.nodes.get(id) != base.nodes.get(id));
    let touched: BTreeMap<NodeId, Versions> =
        ids.iter().copied().filter(is_touched).map(|id| (id.clone(), versions(id))).collect();
    let went_on = [1, 2].map(|side| touched.values().any(|versions| versions[side] != versions[0]));
    let mut tree = TreeFiles::default();
    tree.nodes
        .extend(ids.into_iter().filter(|id| !is_touched(id)).map(|id| (id.clone(), base.nodes[id].clone())));
    let alone = touched.values().map(|versions| node::join(versions.clone(), false).and_then(|it| it.0));
    let alone: BTreeMap<_, _> = alone.flatten().map(|node| (node.id.clone(), node)).collect();
    let joined = join_nodes(touched);
    let together: BTreeMap<_, _> =
        joined.nodes.iter().map(|(node, _)| (node.id.clone(), node.clone())).collect();
    assert_eq!(together, alone, "git's merge driver, which sees one file at a time, makes something else");
    assert!(joined.conflicts.is_empty(), "{:?}", joined.conflicts);
    tree.nodes.extend(joined.nodes.into_iter().map(|(node, _)| (node.id.clone(), node)));
    tree.comments.extend(all.iter().flat_map(|tree| tree.comments.clone()));
    let (end, decided) = end::join(all.map(|tree| tree.end.clone()), went_on);
    tree.end = end;
    let mut decisions = joined.decisions;
    decisions.extend(decided);
    decisions.sort();
    decisions.dedup();
    (tree, decisions)
}

fn said(decisions: &[MergeDecision]) -> Vec<String> {
    decisions.iter().map(|decision| format!("{decision:#}")).collect()
}

/// Returns a question with two researched roots and a pending proposal.
fn base() -> TreeFiles {
    let mut base = TreeFiles::default();
    base.propose("R1.A", None, "root", 0);
    base.commit("R1.A", "EXPLORE", "found at the root", 1);
    base.propose("R2.A1", Some("R1.A"), "first", 2);
    base.commit("R2.A1", "FOUND", "found first", 3);
    base.propose("R2.A2", Some("R1.A"), "second", 4);
    base
}

#[test]
fn different_files_are_both_taken() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.files.insert("notes.md".into(), "ours".into());
    ours.commit("R2.A2", "DEAD", "nothing there", 10);
    theirs.propose("R3.A1a", Some("R2.A1"), "deeper", 11);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.nodes.len(), 4);
    assert_eq!(tree.files["notes.md"], "ours");
    assert!(!tree.nodes[&"R2.A2".parse().unwrap()].is_pending());
    assert_eq!(said(&decisions), Vec::<String>::new());
}

#[test]
fn two_proposals_with_one_short_id_are_two_nodes() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, id) in [(&mut ours, "R2.A3-aaaaaa"), (&mut theirs, "R2.A3-bbbbbb")] {
        side.propose(id, Some("R1.A"), "of the same words", 20);
        side.commit(id, "EXPLORE", &format!("found {id}"), 22);
        let below = id.replace("R2.A3", "R3.A3a");
        side.propose(&below, Some(id), "below it", 24);
        side.comment(id, &format!("on {id}"), 25);
    }
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(said(&decisions), ["R2.A3 is the short id of 2 nodes", "R3.A3a is the short id of 2 nodes"]);
    for side in [&ours, &theirs] {
        assert!(side.nodes.iter().all(|(id, node)| tree.nodes[id] == *node));
        assert!(side.comments.iter().all(|(id, comment)| tree.comments[id] == *comment));
    }
    let (investigation, faults) = investigation(&tree);
    assert_eq!((investigation.len(), faults), (7, 0));
    assert!(matches!(investigation.find("R2.A3"), Err(NotFound::Ambiguous(nodes)) if nodes.len() == 2));
    assert_eq!(investigation.find("R2.A3-b").unwrap().id.to_string(), "R2.A3-bbbbbb");
    assert_eq!(investigation.find("R2.A1").unwrap().id.to_string(), "R2.A1");
}

#[test]
fn attachments_go_with_their_nodes_and_both_of_one_name_stay() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, id, title, at) in
        [(&mut ours, "R2.A3-aaaaaa", "later", 21), (&mut theirs, "R2.A3-bbbbbb", "earlier", 20)]
    {
        side.propose(id, Some("R1.A"), title, at);
        side.files.insert(format!("attachments/{id}/a.log"), format!("beside {title}"));
        side.files.insert("attachments/R2.A1/b.log".into(), format!("second {title}"));
    }
    ours.files.insert("attachments/R2.A1/c.log".into(), "ours".into());
    theirs.files.insert("attachments/R2.A1/C.LOG".into(), "theirs".into());
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let apart = |name: &str, content: &str| {
        let name: AttachmentName = name.parse().unwrap();
        format!("attachments/R2.A1/{}", name.apart(content.as_bytes()))
    };
    let expected = [
        ("attachments/R2.A1/c.log".to_owned(), "ours".to_owned()),
        ("attachments/R2.A1/b.log".to_owned(), "second earlier".to_owned()),
        (apart("b.log", "second later"), "second later".to_owned()),
        (apart("c.log", "theirs"), "theirs".to_owned()),
        ("attachments/R2.A3-aaaaaa/a.log".to_owned(), "beside later".to_owned()),
        ("attachments/R2.A3-bbbbbb/a.log".to_owned(), "beside earlier".to_owned()),
    ];
    assert_eq!(tree.files, expected.into());
}

proptest! {
    /// Three clones attach files with a few different names to one node. In any merge order, the result has the same
    /// files and all contents.
    #[test]
    fn attachments_of_three_clones_are_the_same_in_any_order(
        given in prop::array::uniform3(prop::collection::btree_map("[abAB]\\.log", "[xyz]{1,2}", 0..4)),
    ) {
        let base = base();
        let side = |files: &BTreeMap<String, String>| {
            let mut tree = base.clone();
            let mut seen = BTreeSet::new();
            let own = files.iter().filter(|(name, _)| seen.insert(name.to_lowercase()));
            tree.files.extend(own.map(|(name, text)| (format!("attachments/R2.A1/{name}"), text.clone())));
            tree
        };
        let sides = given.each_ref().map(side);
        let merge = |one: &TreeFiles, other: &TreeFiles| merged(&base, one, other).unwrap().0;
        let [a, b, c] = &sides;
        let all = [merge(&merge(a, b), c), merge(a, &merge(b, c)), merge(&merge(a, c), b)];
        let texts = |tree: &TreeFiles| tree.files.values().cloned().collect::<BTreeSet<_>>();
        let given: BTreeSet<String> = sides.iter().flat_map(texts).collect();
        for tree in &all {
            prop_assert_eq!(&texts(tree), &given);
            let names: BTreeSet<String> = tree.files.keys().map(|path| path.to_lowercase()).collect();
            prop_assert_eq!(names.len(), tree.files.len());
        }
        prop_assert_eq!(&all[0].files, &all[1].files);
        prop_assert_eq!(&all[0].files, &all[2].files);
    }
}

/// Two servers that store the same call may see different work trees.
#[test]
fn what_was_seen_of_a_cited_file_makes_no_other_result() {
    let mut base = TreeFiles::default();
    base.propose("R1.A", None, "root", 1);
    let side = |text: &str| {
        let mut tree = base.clone();
        tree.commit("R1.A", "EXPLORE", "same", 2);
        let pin = Pin {
            path: "src/a.rs".into(),
            commit: None,
            blob: text.into(),
            uncommitted: true,
            lines: None,
            text: Some(text.into()),
        };
        let named = Citation {
            target: "src/a.rs".into(),
            named_in: Some(NamedIn::Findings),
            pinned: Some(pin),
            ..Citation::default()
        };
        tree.node("R1.A").classification.as_mut().unwrap().references = vec![named];
        tree
    };
    let [one, two] = [side("one").files(), side("two").files()];
    let merge =
        |ours: &FileMap, theirs: &FileMap| merge(&[base.files(), ours.clone(), theirs.clone()]).unwrap();
    let merged = merge(&one, &two);
    assert_eq!(merged, merge(&two, &one));
    assert_eq!(merged.decisions, []);
    let mut tree = TreeFiles::of(&merged.files);
    let result = tree.node("R1.A").classification.clone().unwrap();
    assert_eq!((result.references.len(), result.other_results.len()), (1, 0));
}

#[test]
fn a_proposal_that_was_researched_twice_keeps_both_results() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.commit("R2.A2", "DEAD", "refuted", 31);
    ours.amend("R2.A2", "of ours", 33);
    theirs.commit("R2.A2", "FOUND", "proven", 30);
    theirs.reclassify("R2.A2", "VALID", "sure", 32);
    theirs.amend("R2.A2", "of theirs", 34);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A2".parse().unwrap()];
    let result = node.classification.as_ref().unwrap();
    assert_eq!((result.findings.as_str(), result.current_state().as_str()), ("findings of theirs", "VALID"));
    assert_eq!(result.other_results[0].amended[0].findings.as_deref(), Some("refuted"));
    assert_eq!(node.title, "title of theirs");
    assert_eq!(result.amended[0].title.as_deref(), Some("title of ours"));
    assert!(result.is_contested());
    assert_eq!(said(&decisions), ["R2.A2 has a second result", "R2.A2 is contested: VALID against DEAD"]);
    // A decision between the results settles the conflict until there is a third result.
    let mut settled = tree.clone();
    settled.reclassify("R2.A2", "DEAD", "looked at both", 40);
    settled.node("R2.A2").classification.as_mut().unwrap().reclassified.last_mut().unwrap().settles = 1;
    assert!(!settled.nodes[&"R2.A2".parse().unwrap()].classification.as_ref().unwrap().is_contested());
    let mut third = base.clone();
    third.commit("R2.A2", "EXPLORE", "unclear", 35);
    let (tree, _) = merged(&base, &settled, &third).unwrap();
    let result = tree.nodes[&"R2.A2".parse().unwrap()].classification.as_ref().unwrap();
    assert!(result.is_contested() && result.other_results.len() == 2);
}

#[test]
fn a_confirmation_from_another_clone_covers_the_text_and_the_result_that_its_author_saw() {
    let confirmed = |ours: fn(&mut TreeFiles), theirs: fn(&mut TreeFiles)| {
        let sides = [ours, theirs].map(|work| {
            let mut side = base();
            work(&mut side);
            side
        });
        let tree = merged(&base(), &sides[0], &sides[1]).unwrap().0;
        let (investigation, ruleset) = (investigation(&tree).0, &builtin::all()[0].ruleset);
        let rules = EffectiveRules::new(ruleset, investigation.meta());
        let answers =
            rules.answers(&investigation).filter(|it| rules.grade(&investigation, it).is_confirmed());
        answers.map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    fn confirm(side: &mut TreeFiles, id: &str, parent: &str) {
        let saw = side.node(parent).claim_hash();
        side.propose(id, Some(parent), "tried to refute it", 20);
        side.commit(id, "VERIFY", "Three other causes were tried.", 21);
        side.node(id).classification.as_mut().unwrap().saw = saw;
    }
    let first = |side: &mut TreeFiles| confirm(side, "R3.A1a", "R2.A1");
    assert_eq!(confirmed(|_| {}, first), ["R2.A1"]);
    assert_eq!(confirmed(|side| side.amend("R2.A1", "another", 10), first), [""; 0]);
    assert_eq!(confirmed(|side| side.amend("R2.A1", "another", 30), first), [""; 0]);
    let second = |side: &mut TreeFiles| {
        side.commit("R2.A2", "FOUND", "The disk is full.", 10);
        confirm(side, "R3.A2a", "R2.A2");
    };
    assert_eq!(confirmed(|side| side.commit("R2.A2", "FOUND", "The cache is cold.", 9), second), [""; 0]);
    assert_eq!(confirmed(|side| side.commit("R2.A2", "FOUND", "The cache is cold.", 11), second), ["R2.A2"]);
}

#[test]
fn a_file_that_cannot_be_merged_alone_is_left_to_git() {
    let (mut base, path) = (base(), "nodes/R2/R2.A1.yaml");
    let text = |tree: &TreeFiles| tree.files()[path].clone();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.amend("R2.A1", "ours", 10);
    theirs.amend("R2.A1", "theirs", 11);
    let both = [text(&base), text(&ours), text(&theirs)];
    let merged = merge_file(path, both.clone()).unwrap();
    // Both sides have added the file.
    assert_eq!(merge_file(path, [Vec::new(), both[1].clone(), both[2].clone()]), Ok(merged));
    let is_refused = |path: &str, versions: [Vec<u8>; 3]| merge_file(path, versions).is_err();
    let earlier = String::from_utf8(both[0].clone()).unwrap().replace("version: 2", "version: 1");
    let marked = [b"<<<<<<< HEAD\n", &both[1][..], b"=======\n>>>>>>> x\n"].concat();
    for wrong in [Vec::new(), earlier.into_bytes(), marked, b"\xff".to_vec(), b"&a [*a]".to_vec()] {
        for at in usize::from(wrong.is_empty())..3 {
            let mut versions = both.clone();
            versions[at].clone_from(&wrong);
            assert!(is_refused(path, versions), "{at}: {wrong:?}");
        }
    }
    assert!(is_refused("nodes/R2/R2.A2.yaml", both.clone()), "the name of another node");
    assert!(is_refused("attachments/R2.A1/a.log", both.clone()), "this takes two files");
    assert!(is_refused("notes.md", both.clone()));
    // A commit is reverted, after which somebody continued.
    base.reclassify("R2.A1", "DEAD", "then", 5);
    let mut ours = base.clone();
    ours.reclassify("R2.A1", "EXPLORE", "later", 12);
    let told = merge_file(path, [text(&base), text(&ours), both[0].clone()]).unwrap_err();
    assert_eq!(told[0].to_string(), format!("{path}: one side has removed a result or a change"));
    let mut ends = vec![base.clone()];
    ends[0].end(Some("it is so"), 50);
    for (wording, at) in [("ours", 51), ("later", 52)] {
        let mut next = ends[ends.len() - 1].clone();
        amend_end(next.end.as_mut().unwrap(), wording, at);
        ends.push(next);
    }
    let [reverted, base, ours] = [0, 1, 2].map(|at: usize| ends[at].files()["conclusion.yaml"].clone());
    assert!(is_refused("conclusion.yaml", [base, ours, reverted]));
}

#[test]
fn a_proposal_that_was_taken_back_and_researched_stays() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.node("R2.A2").withdrawn = Some(Withdrawal { at: time(5), caller: Caller::default() });
    theirs.commit("R2.A2", "DEAD", "nothing", 10);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A2".parse().unwrap()];
    assert!(!node.is_withdrawn() && node.withdrawn.is_some());
    assert_eq!(node.classification, theirs.node("R2.A2").classification);
    assert_eq!(said(&decisions), ["R2.A2 was withdrawn and researched; the result is kept"]);
    theirs.node("R2.A1").title = "changed".into();
    ours = base.clone();
    ours.nodes.remove(&"R2.A1".parse().unwrap());
    let (_, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(said(&decisions), ["R2.A1 is missing on one side; it is kept"]);
    ours.clone_from(&base);
    ours.node("R2.A2").withdrawn = Some(Withdrawal { at: time(5), caller: Caller::default() });
    // Of two withdrawals, the earlier one stays.
    let mut later = ours.clone();
    later.node("R2.A2").withdrawn = Some(Withdrawal { at: time(6), caller: Caller::default() });
    for (base, one, other) in [(&base, &ours, &base), (&base, &ours, &later), (&ours, &ours, &later)] {
        let (tree, _) = merged(base, one, other).unwrap();
        assert!(tree.nodes[&"R2.A2".parse().unwrap()].is_withdrawn());
    }
}

#[test]
fn changes_of_state_and_texts_on_both_sides_stand_by_time() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.reclassify("R2.A1", "DEAD", "given up", 40);
    ours.amend("R2.A1", "of ours", 41);
    theirs.reclassify("R2.A1", "VALID", "proven", 39);
    theirs.amend("R2.A1", "of theirs", 42);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A1".parse().unwrap()];
    let result = node.classification.as_ref().unwrap();
    let states: Vec<(&str, &str)> =
        result.reclassified.iter().map(|change| (change.from.as_str(), change.to.as_str())).collect();
    assert_eq!(states, [("FOUND", "VALID"), ("VALID", "DEAD")]);
    assert_eq!((node.title.as_str(), result.findings.as_str()), ("title of theirs", "findings of theirs"));
    let before: Vec<_> = result.amended.iter().map(|it| it.findings.as_deref().unwrap()).collect();
    assert_eq!(before, ["found first", "findings of ours"]);
    assert_eq!(
        said(&decisions),
        [
            "R2.A1 was reclassified twice; it is DEAD by the later change",
            "R2.A1 was amended twice; the later text is in force"
        ]
    );
}

#[test]
fn amendments_stay_in_their_order_where_a_clock_was_set_back() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.amend("R2.A1", "one", 41);
    ours.amend("R2.A1", "two", 40);
    theirs.reclassify("R2.A1", "DEAD", "given up", 42);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A1".parse().unwrap()];
    assert_eq!((node.title.as_str(), node.state().unwrap().as_str()), ("title two", "DEAD"));
    // If both sides amended the node, the later amendment is in force and no text is lost.
    theirs.amend("R2.A1", "three", 43);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.nodes[&"R2.A1".parse().unwrap()].title, "title three");
    let texts = tree.texts();
    assert!(ours.texts().is_subset(&texts) && theirs.texts().is_subset(&texts));
}

#[test]
fn what_two_people_turned_round_stays_turned_round_where_a_clock_was_ahead() {
    let mut base = base();
    base.reclassify("R2.A1", "DEAD", "by a clock that is ahead", 90);
    base.reclassify("R2.A1", "FOUND", "seen again", 50);
    base.reclassify("R2.A1", "DEAD", "and then not", 50);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.reclassify("R2.A1", "EXPLORE", "z, to look again", 50);
    theirs.reclassify("R2.A1", "DEAD", "a, it is so", 50);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let result = tree.nodes[&"R2.A1".parse().unwrap()].classification.clone().unwrap();
    let told: Vec<String> = result
        .reclassified
        .iter()
        .map(|it| format!("{}→{} {}", it.from, it.to, it.reason.as_deref().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            "FOUND→DEAD by a clock that is ahead",
            "DEAD→FOUND seen again",
            "FOUND→DEAD and then not",
            "DEAD→DEAD a, it is so",
            "DEAD→EXPLORE z, to look again",
        ]
    );
    assert_eq!(said(&decisions), ["R2.A1 was reclassified twice; it is EXPLORE by the later change"]);
}

#[test]
fn amendments_that_both_sides_have_keep_their_place_where_a_clock_was_ahead() {
    let mut base = base();
    base.amend("R2.A1", "one", 90);
    base.amend("R2.A1", "two", 40);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.amend("R2.A1", "three", 41);
    theirs.amend("R2.A1", "four", 42);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let result = tree.nodes[&"R2.A1".parse().unwrap()].classification.clone().unwrap();
    let reasons: Vec<&str> = result.amended.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["reason of one", "reason of two", "reason of three", "reason of four"]);
    assert_eq!(tree.nodes[&"R2.A1".parse().unwrap()].title, "title four");
}

#[test]
fn results_that_both_sides_have_keep_their_place_where_a_clock_was_ahead() {
    let mut base = base();
    base.commit("R2.A2", "FOUND", "z, the first", 90);
    base.late("R2.A2", "DEAD", "a, the second", 40);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.late("R2.A2", "DEAD", "of ours", 41);
    theirs.late("R2.A2", "DEAD", "of theirs", 42);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let result = tree.nodes[&"R2.A2".parse().unwrap()].classification.clone().unwrap();
    let findings = std::iter::once(&result).chain(&result.other_results).map(|it| it.findings.as_str());
    assert_eq!(findings.collect::<Vec<_>>(), ["z, the first", "a, the second", "of ours", "of theirs"]);
}

/// Each amendment contains the earlier text, even if that text is the same. Otherwise, a third side between the two
/// would make the result depend on the merge order.
#[test]
fn two_amendments_that_say_the_same_are_both_known_to_a_third() {
    let base = base();
    let side = |text: &str, at| {
        let mut tree = base.clone();
        tree.amend("R2.A1", text, at);
        tree
    };
    let (a, b, c) = (side("alike", 40), side("alike", 42), side("other", 41));
    let join = |one: &TreeFiles, other: &TreeFiles| merged(&base, one, other).unwrap().0;
    let all = join(&join(&a, &b), &c);
    assert_eq!(all.nodes[&"R2.A1".parse().unwrap()].title, "title alike");
    assert_eq!(all, join(&join(&a, &c), &b));
    assert!(
        join(&a, &b)
            .nodes
            .values()
            .flat_map(|it| &it.classification)
            .all(|result| { result.amended.iter().all(|it| it.parts().next().is_some()) })
    );
}

#[test]
fn a_draft_hides_no_end_and_two_drafts_are_both_kept() {
    let end = |text: &str, at: i64, draft: bool| {
        let conclusion = Some(text.to_owned());
        Some(Conclusion { conclusion, draft, ..Conclusion::new(time(at)) })
    };
    let joined = |base: Option<Conclusion>, ours: Option<Conclusion>, theirs: Option<Conclusion>| {
        let one = super::end::join([base.clone(), ours.clone(), theirs.clone()], [false; 2]);
        assert_eq!(one, super::end::join([base, theirs, ours], [false; 2]));
        let first = one.0.unwrap();
        let others = first.other_conclusions.iter().map(|it| it.conclusion.clone().unwrap());
        [first.conclusion.unwrap()].into_iter().chain(others).collect::<Vec<_>>()
    };
    let draft = end("draft", 1, true);
    assert_eq!(joined(None, end("late", 3, true), draft.clone()), ["draft", "late"]);
    assert_eq!(joined(None, end("end", 3, false), draft.clone()), ["end", "draft"]);
    assert_eq!(joined(draft.clone(), end("end", 3, false), draft.clone()), ["end"]);
    let mut changed = draft.clone();
    amend_end(changed.as_mut().unwrap(), "theirs", 2);
    assert_eq!(joined(draft.clone(), end("end", 3, false), changed.clone()), ["end", "conclusion theirs"]);
    let mut again = draft.clone();
    amend_end(again.as_mut().unwrap(), "ours", 4);
    assert_eq!(joined(draft, again, changed), ["conclusion ours"]);
}

/// Research that a later merge brings decides which of two ends counts, so the order of the merges does not matter.
#[test]
fn of_two_ends_the_one_that_no_research_followed_counts() {
    let base = base();
    let mut tree = base.clone();
    let end = |at| Some(Conclusion::new(time(at)));
    for (researched, counts) in [(49, 50), (51, 52)] {
        tree.end = end::join([None, end(50), end(52)], [false; 2]).0;
        tree.nodes.values_mut().for_each(|node| node.proposed_at = time(researched));
        assert_eq!(investigation(&tree).0.conclusion().map(|end| end.ended_at), Some(time(counts)));
    }
}

#[test]
fn amendments_of_one_conclusion_on_both_sides_make_no_second_end() {
    let mut base = base();
    base.end(Some("it is so"), 50);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    amend_end(ours.end.as_mut().unwrap(), "ours", 52);
    amend_end(theirs.end.as_mut().unwrap(), "theirs", 51);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let end = tree.end.clone().unwrap();
    assert_eq!((end.conclusion.as_deref(), end.other_conclusions.len()), (Some("conclusion ours"), 0));
    let before: Vec<_> = end.amended.iter().map(|it| it.conclusion.as_deref().unwrap()).collect();
    assert_eq!(before, ["it is so", "conclusion theirs"]);
    assert_eq!(said(&decisions), Vec::<String>::new());
    // If another conclusion is attached, both are kept as amended.
    let mut third = base.clone();
    third.end(Some("ended again"), 60);
    let (tree, _) = merged(&base, &tree, &third).unwrap();
    let end = tree.end.clone().unwrap();
    assert_eq!(end.conclusion.as_deref(), Some("conclusion ours"));
    assert_eq!(end.other_conclusions[0].conclusion.as_deref(), Some("ended again"));
}

#[test]
fn an_end_that_one_side_has_opened_again_is_kept_only_where_the_other_has_changed_it() {
    let mut base = base();
    base.end(Some("first"), 50);
    let texts = |tree: &TreeFiles| -> Vec<String> {
        let end = tree.end.iter().filter(|end| end.reopened.is_none());
        let ends = end.flat_map(|end| std::iter::once(end).chain(&end.other_conclusions));
        ends.filter_map(|end| end.conclusion.clone()).collect()
    };
    let mut opened = base.clone();
    let reopening = Reopening { at: time(54), agent_id: None, caller: Caller::default(), reason: None };
    opened.end.as_mut().unwrap().reopened = Some(reopening);
    assert_eq!(merged(&base, &opened, &base).unwrap().0, opened);
    let mut again = base.clone();
    again.end(Some("second"), 60);
    let mut amended = base.clone();
    amend_end(amended.end.as_mut().unwrap(), "amended", 55);
    for (other, expected, decided) in [
        (&base, Vec::new(), Vec::new()),
        (&again, vec!["second"], vec!["it ended on one side and continued on the other"]),
        (&amended, vec!["conclusion amended"], vec!["it ended on one side and continued on the other"]),
    ] {
        let (tree, decisions) = merged(&base, &opened, other).unwrap();
        assert_eq!(
            (texts(&tree), said(&decisions)),
            (
                expected.iter().map(ToString::to_string).collect(),
                decided.iter().map(ToString::to_string).collect()
            )
        );
    }
    // A conclusion attached to the reopened conclusion has another author and is kept.
    let mut third = self::base();
    third.end(Some("third"), 52);
    let (both, _) = merged(&self::base(), &base, &third).unwrap();
    assert_eq!(texts(&both), ["first", "third"]);
    assert_eq!(texts(&merged(&base, &again, &both).unwrap().0), ["third", "second"]);
}

/// The amendments of all results of a node are undone in chronological order. An earlier version used the wrong order.
#[test]
fn an_amendment_comes_after_those_of_a_result_that_a_merge_has_put_beside() {
    let base = base();
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.commit("R2.A2", "FOUND", "of ours", 10);
    theirs.commit("R2.A2", "FOUND", "of theirs", 20);
    // The clock of this side was fast.
    theirs.amend("R2.A2", "of theirs", 500);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A2".parse().unwrap()];
    assert!(node.classification.as_ref().unwrap().amended.is_empty());
    assert_eq!(stamp(&investigation(&tree).0, node, time(30)), time(500));
}

#[test]
fn the_earlier_of_two_claims_stands() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    let claim = |agent: &str, at| {
        Some(Claim { at: time(at), agent_id: agent.into(), until: time(at + 600), earlier: 0 })
    };
    ours.node("R2.A2").claim = claim("a", 11);
    theirs.node("R2.A2").claim = claim("b", 10);
    let (mut tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.node("R2.A2").claim, claim("b", 10));
    assert_eq!(said(&decisions), ["R2.A2 was claimed twice; the claim of b stands"]);
    // A claim that replaced an expired one stands, also against a claim from before.
    let mut replaced = theirs.clone();
    replaced.node("R2.A2").claim =
        Some(Claim { at: time(700), agent_id: "c".into(), until: time(900), earlier: 1 });
    assert_eq!(merged(&base, &ours, &replaced).unwrap().0, replaced);
    assert_eq!(merged(&theirs, &tree, &replaced).unwrap().0, replaced);
    theirs.commit("R2.A2", "DEAD", "nothing", 20);
    let (mut tree, _) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.node("R2.A2").claim, None);
}

#[test]
fn the_earlier_of_two_ends_stands_and_the_other_is_kept() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.end(Some("ours"), 51);
    theirs.end(Some("theirs"), 50);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let end = tree.end.clone().unwrap();
    assert_eq!(end.conclusion.as_deref(), Some("theirs"));
    assert_eq!(end.other_conclusions[0].conclusion.as_deref(), Some("ours"));
    assert_eq!(said(&decisions), ["it was ended twice; both conclusions are kept"]);
    let (again, decisions) = merged(&ours, &tree, &ours).unwrap();
    assert_eq!((again, decisions), (tree, Vec::new()));
}

#[test]
fn an_end_here_and_research_that_went_on_there_are_both_kept() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.end(Some("done"), 51);
    theirs.commit("R2.A2", "FOUND", "more", 52);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.end, ours.end);
    assert!(!tree.nodes[&"R2.A2".parse().unwrap()].is_pending());
    assert_eq!(said(&decisions), ["it ended on one side and continued on the other"]);
}

#[test]
fn what_either_side_withholds_is_withheld() {
    let (mut base, ours, mut theirs) = (base(), base(), base());
    base.files.insert(layout::WITHHELD.into(), "withheld: [{nodes: [R2.A1], by: Maria}]".into());
    theirs.files.insert(layout::WITHHELD.into(), "withheld: [{nodes: [R2.A1, R2.A3], by: Ada}]".into());
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let withheld = &tree.files[layout::WITHHELD];
    assert!(["R2.A1", "R2.A3"].iter().all(|id| withheld.contains(id)), "{withheld}");
}

#[test]
fn a_ruleset_changed_on_both_sides_is_refused_and_on_one_side_taken() {
    let (mut base, mut ours, mut theirs) = (base(), base(), base());
    for (side, text) in [(&mut base, "a"), (&mut ours, "b"), (&mut theirs, "a")] {
        side.files.insert(layout::RULESET.into(), text.into());
    }
    assert_eq!(merged(&base, &ours, &theirs).unwrap().0, ours);
    theirs.files.insert(layout::RULESET.into(), "c".into());
    let conflicts = merged(&base, &ours, &theirs).unwrap_err();
    assert_eq!(conflicts[0].to_string(), "ruleset.yaml: both sides have changed it");
}

#[test]
fn any_other_file_changed_on_both_sides_is_refused() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.files.insert("notes.md".into(), "ours".into());
    theirs.files.insert("notes.md".into(), "theirs".into());
    let conflicts = merged(&base, &ours, &theirs).unwrap_err();
    assert_eq!(conflicts[0].to_string(), "notes.md: both sides have changed it");
    let marked = [
        FileMap::new(),
        [("nodes/R2/R2.A2.yaml".to_owned(), b"<<<<<<< ours\n".to_vec())].into(),
        [("nodes/R2/R2.A2.yaml".to_owned(), b"version: 2\n".to_vec())].into(),
    ];
    let conflicts = merge(&marked).unwrap_err();
    assert!(matches!(conflicts[0].reason, ConflictReason::Unreadable(_)), "{conflicts:?}");
}

#[test]
fn what_somebody_has_written_by_hand_stays() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.node("R2.A1").title = "written by hand".into();
    ours.node("R2.A1").classification.as_mut().unwrap().findings = "by hand too".into();
    theirs.reclassify("R2.A1", "DEAD", "given up", 40);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let node = &tree.nodes[&"R2.A1".parse().unwrap()];
    assert_eq!((node.title.as_str(), node.state().unwrap().as_str()), ("written by hand", "DEAD"));
    assert_eq!(node.classification.as_ref().unwrap().findings, "by hand too");
    let amended = &mut theirs.clone();
    amended.amend("R2.A1", "of a call", 41);
    let (_, decisions) = merged(&base, &ours, amended).unwrap();
    let told = "R2.A1 was edited by hand and amended; where both changed a text, the amendment is in force";
    assert_eq!(said(&decisions), [told]);
    theirs.node("R2.A1").title = "and there".into();
    let conflicts = merged(&base, &ours, &theirs).unwrap_err();
    assert_eq!(conflicts[0].to_string(), "nodes/R2/R2.A1.yaml: both sides have changed it");
}

/// One step of a history: its kind, place and time.
type Op = (u8, prop::sample::Index, i64);

fn history() -> impl Strategy<Value = Vec<Op>> {
    prop::collection::vec((0..14u8, any::<prop::sample::Index>(), 0..40i64), 0..14)
}

/// Returns the tree after these steps. Every text contains `who`, so it can be recognized.
fn play(tree: &TreeFiles, ops: &[Op], who: &str, start: i64) -> TreeFiles {
    let mut tree = tree.clone();
    for (number, (op, index, at)) in ops.iter().enumerate() {
        let text = format!("{who}{number}");
        // Clocks differ, and events can be simultaneous.
        let at = start + number as i64 / 2 + at / 20;
        let committed: Vec<NodeId> =
            tree.nodes.values().filter(|node| !node.is_pending()).map(|it| it.id.clone()).collect();
        let pending: Vec<NodeId> = tree
            .nodes
            .values()
            .filter(|it| it.is_pending() && !it.is_withdrawn())
            .map(|it| it.id.clone())
            .collect();
        let some = |ids: &[NodeId]| (!ids.is_empty()).then(|| index.get(ids).clone());
        match op {
            0..=2 => {
                let mut ids = Ids::default();
                tree.nodes.keys().for_each(|id| drop(ids.take(id.short())));
                let parent = some(&committed).filter(|_| index.index(5) > 0);
                let id = match &parent {
                    Some(parent) => ids.child(parent.short()),
                    None => ids.root(None),
                };
                // Some clones use the same words.
                let title = if index.index(4) == 0 { "alike" } else { &text };
                let id = NodeId::of_proposal(id.unwrap(), &[&text]);
                tree.propose(id.whole(), parent.as_ref().map(NodeId::whole), title, at);
            }
            3 | 4 => {
                if let Some(id) = some(&pending) {
                    tree.commit(id.whole(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], &text, at);
                }
            }
            5 => {
                if let Some(id) = some(&committed) {
                    // Some steps are identical on several sides.
                    let reason = if index.index(4) == 0 { "alike" } else { &text };
                    tree.reclassify(id.whole(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], reason, at);
                }
            }
            6 => {
                if let Some(id) = some(&committed) {
                    tree.amend(id.whole(), if index.index(4) == 0 { "alike" } else { &text }, at);
                }
            }
            12 => {
                if let Some(id) = some(&committed) {
                    tree.late(id.whole(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], &text, at);
                }
            }
            13 => match &mut tree.end {
                Some(end) if end.conclusion.is_some() && index.index(3) > 0 => amend_end(end, &text, at),
                // The investigation is ended again after more research.
                end => {
                    let agent_id = Some(text.clone());
                    *end = Some(Conclusion { conclusion: Some(text), agent_id, ..Conclusion::new(time(at)) });
                }
            },
            7 => {
                if let Some(id) = some(&pending) {
                    tree.node(id.whole()).withdrawn =
                        Some(Withdrawal { at: time(at), caller: Caller::default() });
                }
            }
            8 => {
                if let Some(id) = some(&pending) {
                    let node = tree.node(id.whole());
                    let earlier = node.claim.as_ref().map_or(0, |claim| claim.earlier + 1);
                    node.claim = Some(Claim { at: time(at), agent_id: text, until: time(at + 9), earlier });
                }
            }
            9 | 10 => {
                if let Some(id) = some(&committed) {
                    tree.comment(id.whole(), &text, at);
                }
            }
            _ => match &mut tree.end {
                None => {
                    let conclusion = Some(text.clone()).filter(|_| index.index(3) > 0);
                    let end = Conclusion { conclusion, agent_id: Some(text), ..Conclusion::new(time(at)) };
                    tree.end = Some(end);
                }
                Some(end) if end.conclusion.is_none() => {
                    (end.conclusion, end.concluded_at) = (Some(text), Some(time(at)));
                }
                Some(_) => tree.end = None,
            },
        }
    }
    tree
}

/// Returns the text of the conclusion that a side reopened.
fn given_up(base: &TreeFiles) -> BTreeSet<String> {
    TreeFiles { end: base.end.clone(), ..TreeFiles::default() }.texts()
}

/// Asserts that the tree is the union of the others: it has all nodes of each, where they were, with all texts and comments.
/// A proposal is withdrawn if somebody has withdrawn it and nobody has researched it.
fn assert_union(tree: &TreeFiles, of: &[&TreeFiles], lost: &BTreeSet<String>) {
    let kept = tree.texts();
    for text in of.iter().flat_map(|it| it.texts()).filter(|text| !text.is_empty()) {
        assert!(kept.contains(&text) || lost.contains(&text), "{text} is lost");
    }
    let mut is_withdrawn: BTreeMap<&NodeId, [bool; 2]> = BTreeMap::new();
    for (id, node) in of.iter().flat_map(|it| &it.nodes) {
        let it = is_withdrawn.entry(id).or_default();
        *it = [it[0] || node.withdrawn.is_some(), it[1] || !node.is_pending()];
        assert_eq!(tree.nodes[id].parent, node.parent);
    }
    for (id, [was_withdrawn, is_researched]) in is_withdrawn {
        assert_eq!(tree.nodes[id].is_withdrawn(), was_withdrawn && !is_researched, "{id}");
    }
    assert!(of.iter().flat_map(|it| &it.comments).all(|(id, comment)| tree.comments[id] == *comment));
    assert_eq!(investigation(tree).1, 0, "a node has lost its place");
}

fn investigation(tree: &TreeFiles) -> (Investigation, usize) {
    let meta = Meta {
        id: crate::domain::SessionId::new(1_700_000_000_000, [0; 10]),
        title: String::new(),
        query: String::new(),
        context: None,
        ruleset: String::new(),
        mode: String::new(),
        min_rounds: 1,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: time(0),
    };
    let (investigation, faults) =
        Investigation::from_facts(meta, tree.nodes.values().cloned().map(Arc::new), tree.end.clone());
    (investigation.with_shown_ids(), faults.len())
}

proptest! {
    #![proptest_config(crate::testing::sampled(1_000))]

    #[test]
    fn two_histories_make_one_tree_from_either_side(
        start in history(), left in history(), right in history(), skew in -10..10i64,
    ) {
        let base = play(&base(), &start, "base", 60);
        let (ours, theirs) = (play(&base, &left, "ours", 100), play(&base, &right, "theirs", 100 + skew));
        let (tree, _) = joined(&base, &ours, &theirs);
        assert_union(&tree, &[&ours, &theirs], &given_up(&base));
        // Merging again changes nothing.
        prop_assert_eq!(&joined(&ours, &tree, &ours), &(tree.clone(), Vec::new()));
        prop_assert_eq!(&joined(&theirs, &theirs, &tree), &(tree.clone(), Vec::new()));
        prop_assert_eq!(&joined(&base, &tree, &tree), &(tree, Vec::new()));
    }

    #[test]
    fn three_histories_make_one_tree_in_any_order(
        start in history(), first in history(), second in history(), third in history(), skew in -10..10i64,
    ) {
        let base = play(&base(), &start, "base", 60);
        let a = play(&base, &first, "a", 100);
        let b = play(&base, &second, "b", 100 + skew);
        let c = play(&base, &third, "c", 100);
        let join = |one: &TreeFiles, other: &TreeFiles| joined(&base, one, other).0;
        let all = join(&join(&a, &b), &c);
        prop_assert_eq!(&all, &join(&a, &join(&b, &c)));
        prop_assert_eq!(&all, &join(&join(&a, &c), &b));
    }

    #[test]
    fn four_clones_that_meet_now_and_then_make_one_tree_in_any_order(
        steps in prop::collection::vec((0..4usize, prop::option::weighted(0.4, 1..4usize), history(), -10..10i64), 0..14),
    ) {
        let mut story = Scenario::from(base());
        let mut heads = [0; 4];
        let mut texts = BTreeSet::new();
        for (number, (clone, meets, ops, skew)) in steps.iter().enumerate() {
            heads[*clone] = match meets {
                Some(other) => story.join(heads[*clone], heads[(clone + other) % 4]),
                None => {
                    let before = &story.commits[heads[*clone]].0;
                    let tree = play(before, &ops[..ops.len().min(4)], &format!("{number}:"), 100 + 3 * number as i64 + skew);
                    texts.extend(given_up(before));
                    story.commits.push((tree, vec![heads[*clone]]));
                    story.commits.len() - 1
                }
            };
        }
        let all = story.in_any_order(heads);
        assert_union(&all, &heads.map(|head| &story.commits[head].0), &texts);
    }
}

/// The trees of all commits, each with its parents.
struct Scenario {
    commits: Vec<(TreeFiles, Vec<usize>)>,
}

impl Scenario {
    fn from(tree: TreeFiles) -> Scenario {
        Scenario { commits: vec![(tree, Vec::new())] }
    }

    /// Returns the tree that contains all four. Asserts that the merge order does not matter.
    fn in_any_order(&mut self, [a, b, c, d]: [usize; 4]) -> TreeFiles {
        let orders = [[a, b, c, d], [b, c, a, d], [c, a, d, b], [d, c, b, a]];
        let mut ends =
            orders.map(|order| order.into_iter().reduce(|one, other| self.join(one, other))).to_vec();
        let halves = [self.join(a, c), self.join(d, b)];
        ends.push(Some(self.join(halves[0], halves[1])));
        let trees: Vec<&TreeFiles> = ends.into_iter().flatten().map(|end| &self.commits[end].0).collect();
        assert!(trees.iter().all(|tree| *tree == trees[0]));
        trees[0].clone()
    }

    fn behind(&self, commit: usize) -> BTreeSet<usize> {
        let mut all = BTreeSet::from([commit]);
        let mut next = vec![commit];
        while let Some(at) = next.pop() {
            next.extend(self.commits[at].1.iter().filter(|parent| all.insert(**parent)));
        }
        all
    }

    /// Returns the best common ancestors.
    fn bases(&self, one: usize, others: &[usize]) -> Vec<usize> {
        let behind: BTreeSet<usize> = others.iter().flat_map(|other| self.behind(*other)).collect();
        let common: Vec<usize> = self.behind(one).intersection(&behind).copied().collect();
        let is_best =
            |at: &&usize| common.iter().all(|later| later == *at || !self.behind(*later).contains(*at));
        common.iter().filter(is_best).copied().collect()
    }

    /// Merges several common ancestors into one first, as the store does.
    fn common(&self, commits: &[usize]) -> TreeFiles {
        let mut tree = self.commits[commits[0]].0.clone();
        for (at, commit) in commits.iter().enumerate().skip(1) {
            let base = self.common(&self.bases(*commit, &commits[..at]));
            tree = joined(&base, &tree, &self.commits[*commit].0).0;
        }
        tree
    }

    fn join(&mut self, ours: usize, theirs: usize) -> usize {
        if self.behind(ours).contains(&theirs) {
            return ours;
        }
        if self.behind(theirs).contains(&ours) {
            return theirs;
        }
        let parents = vec![ours.min(theirs), ours.max(theirs)];
        if let Some(known) = self.commits.iter().position(|(_, own)| *own == parents) {
            return known;
        }
        let base = self.common(&self.bases(ours, &[theirs]));
        let (tree, _) = joined(&base, &self.commits[ours].0, &self.commits[theirs].0);
        self.commits.push((tree, parents));
        self.commits.len() - 1
    }
}
