//! Random histories that diverge from one tree, and tests for each case of the merge.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::domain::fresh::Ids;
use crate::domain::{
    AmendedConclusion, Amendment, Author, BoundAnswer, BoundAs, Caller, Citation, Claim, Classification,
    CommentKind, Commenter, Conclusion, Investigation, Link, LinkKind, Meta, NamedIn, Pin, Reclassification,
    Reopening, Timestamp, Withdrawal,
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
        let nodes = self.nodes.values().map(|node| (layout::node(&node.id), node_file::write(node).unwrap()));
        let end =
            self.end.iter().map(|end| (layout::CONCLUSION.to_owned(), conclusion_file::write(end).unwrap()));
        let comment = |it: &Comment| (layout::comment(it.id), comment_file::write(it).unwrap());
        let own = self.comments.values().map(comment).chain(self.files.clone());
        nodes.chain(end).chain(own).map(|(path, text)| (path, text.into_bytes())).collect()
    }

    fn of(files: &FileMap) -> TreeFiles {
        let mut tree = TreeFiles::default();
        for (path, text) in files {
            let text = std::str::from_utf8(text).unwrap();
            match layout::file_role(path) {
                FileRole::Node(id) => drop(tree.nodes.insert(id.clone(), node_of(text, &id).unwrap())),
                FileRole::Conclusion => tree.end = Some(conclusion_file::read(text).unwrap()),
                FileRole::Comment(id) => drop(tree.comments.insert(id, comment_file::read(text).unwrap())),
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

    fn take_back(&mut self, id: &str) {
        self.nodes.remove(&id.parse().unwrap());
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
        };
        self.comments.insert(comment.id, comment);
    }

    /// Returns each comment with the action planned by its node.
    fn said(&self) -> BTreeMap<String, Option<String>> {
        let about = |id: &NodeId| self.nodes.get(id).map(|node| node.planned_action.clone());
        let all = self.comments.values();
        all.map(|it| (it.text.clone(), it.node.as_ref().and_then(about))).collect()
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
        agent_id: None,
        caller: Caller::default(),
        reason: format!("reason of {text}"),
        conclusion: Some(format!("conclusion {text}")),
        answers: None,
        not_covered: None,
    };
    amended.exchange(end);
    end.amended.push(amended);
}

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_milliseconds(1_700_000_000_000 + seconds * 1_000).unwrap()
}

fn trees(base: &TreeFiles, ours: &TreeFiles, theirs: &TreeFiles) -> Trees {
    let (base, ours, theirs) = (base.files(), ours.files(), theirs.files());
    let differs = |path: &String| base.get(path) != ours.get(path) || base.get(path) != theirs.get(path);
    let paths: BTreeSet<&String> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let untouched =
        paths.iter().filter(|path| !differs(path)).filter_map(|path| match layout::file_role(path) {
            FileRole::Node(id) => Some(id),
            _ => None,
        });
    let untouched = untouched.collect();
    let only = |files: &FileMap| -> FileMap {
        files
            .iter()
            .filter(|(path, _)| differs(path))
            .map(|(path, text)| (path.clone(), text.clone()))
            .collect()
    };
    Trees { base: only(&base), ours: only(&ours), theirs: only(&theirs), untouched, ..Trees::default() }
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
    for (path, text) in base.files() {
        let is_given = [&given.base, &given.ours, &given.theirs].iter().any(|side| side.contains_key(&path));
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
    let is_touched = |id: &NodeId| all.iter().any(|tree| tree.nodes.get(id) != base.nodes.get(id));
    let (touched, untouched): (Vec<&NodeId>, Vec<&NodeId>) = ids.into_iter().partition(|id| is_touched(id));
    let only = |tree: &TreeFiles| {
        let own = touched.iter().filter_map(|id| tree.nodes.get_key_value(*id));
        own.map(|(id, node)| (id.clone(), node.clone())).collect()
    };
    let sides = all.map(only);
    let went_on = [1, 2].map(|side| sides[side] != sides[0]);
    let taken = untouched.iter().map(|id| (*id).clone()).collect();
    let nodes = places::Nodes { sides, taken, made: BTreeMap::new() };
    let joined = places::join(nodes).unwrap();
    let mut tree = TreeFiles::default();
    let comments: BTreeSet<&CommentId> = all.iter().flat_map(|tree| tree.comments.keys()).collect();
    for id in comments {
        let versions = all.map(|tree| tree.comments.get(id).cloned());
        let comment = join_record(versions, &joined.new_ids).expect("no comment conflicts");
        tree.comments.extend(comment.map(|comment| (*id, comment)));
    }
    tree.nodes.extend(untouched.into_iter().map(|id| (id.clone(), base.nodes[id].clone())));
    for (node, _) in joined.nodes {
        assert_eq!(tree.nodes.insert(node.id.clone(), node), None, "two nodes with one id");
    }
    let (end, decided) = end::join(all.map(|tree| tree.end.clone()), &joined.new_ids, went_on);
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
fn of_two_proposals_under_one_id_the_later_moves_with_all_below_it() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, title, at) in [(&mut ours, "later", 21), (&mut theirs, "earlier", 20)] {
        side.propose("R2.A3", Some("R1.A"), title, at);
        side.commit("R2.A3", "EXPLORE", &format!("found {title}"), at + 2);
        side.propose("R3.A3a", Some("R2.A3"), &format!("below {title}"), at + 4);
        side.commit("R3.A3a", "VERIFY", &format!("found below {title}"), at + 6);
        side.propose("R2.A4", Some("R1.A"), &format!("beside {title}"), at + 8);
        side.commit("R2.A4", "DEAD", &format!("found beside {title}"), at + 9);
        let result = side.node("R2.A4").classification.as_mut().unwrap();
        result.links.push(Link::new("R3.A3a".parse().unwrap(), LinkKind::Supports));
        result.other_results.push(result.clone());
        side.reclassify("R2.A3", "VALID", &format!("reason {title}"), at + 12);
        let change = &mut side.node("R2.A3").classification.as_mut().unwrap().reclassified[0];
        change.by = Author::Child("R3.A3a".parse().unwrap());
    }
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    let [later, beside, below] = ["later", "beside later", "below later"].map(|title| tree.id_of(title));
    assert!(later.starts_with("R2.A3") && later.len() == 9, "{later}");
    assert!(beside.starts_with("R2.A4") && beside.len() == 9, "{beside}");
    assert_eq!(below, format!("R3{}a", &later[2..]));
    let mut titles: Vec<(&str, &str, Option<&str>)> = tree
        .nodes
        .values()
        .map(|node| (node.id.as_str(), node.title.as_str(), node.renamed_from.as_ref().map(NodeId::as_str)))
        .collect();
    let mut expected = [
        ("R1.A", "root", None),
        ("R2.A1", "first", None),
        ("R2.A2", "second", None),
        ("R2.A3", "earlier", None),
        ("R2.A4", "beside earlier", None),
        (&later, "later", Some("R2.A3")),
        (&beside, "beside later", Some("R2.A4")),
        ("R3.A3a", "below earlier", None),
        (&below, "below later", Some("R3.A3a")),
    ];
    titles.sort_unstable();
    expected.sort_unstable();
    assert_eq!(titles, expected);
    let result = |id: &str| tree.nodes[&id.parse().unwrap()].classification.clone().unwrap();
    assert_eq!(tree.nodes[&below.parse().unwrap()].parent, Some(later.parse().unwrap()));
    assert_eq!(result(&beside).other_results[0].links[0].to.as_str(), below);
    assert_eq!(result("R2.A4").links[0].to.as_str(), "R3.A3a");
    assert_eq!(result(&later).reclassified[0].by, Author::Child(below.parse().unwrap()));
    assert_eq!(
        said(&decisions),
        [
            format!("R2.A3 renamed to {later} (later)"),
            format!("R2.A4 renamed to {beside} (beside later)"),
            format!("R3.A3a renamed to {below} (below later)")
        ]
    );
    // Later work below the old id continues below the new id.
    let mut further = ours.clone();
    further.propose("R3.A3b", Some("R2.A3"), "more below later", 50);
    let (tree, decisions) = merged(&ours, &tree, &further).unwrap();
    let more = format!("R3{}b", &later[2..]);
    assert_eq!(tree.node_title(&more), "more below later");
    assert_eq!(said(&decisions), [format!("R3.A3b renamed to {more} (more below later)")]);
}

/// Agents choose their own ids, so a step may mix letters and digits.
#[test]
fn nobody_is_moved_whose_id_nobody_else_has() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, id, below, at) in
        [(&mut ours, "R2.Aone3", "R3.Aone3b", 20), (&mut theirs, "R2.A3", "R3.A3b2", 21)]
    {
        side.propose(id, Some("R1.A"), id, at);
        side.commit(id, "EXPLORE", &format!("found {id}"), at);
        side.propose(below, Some(id), below, at);
    }
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(said(&decisions), Vec::<String>::new());
    for node in tree.nodes.values().filter(|node| node.round() == 3) {
        assert_eq!(node.title, node.id.as_str());
    }
}

/// The base's proposal used to be mistaken for a manually edited version of the other proposal and was given its
/// result.
#[test]
fn two_proposals_of_one_instant_under_one_id_stay_two() {
    let (mut base, mut other) = (base(), base());
    base.propose("R2.A3", Some("R1.A"), "z, known", 20);
    other.propose("R2.A3", Some("R1.A"), "a, other", 20);
    let (both, _) = merged(&self::base(), &base, &other).unwrap();
    let mut ours = base.clone();
    ours.commit("R2.A3", "FOUND", "of the known one", 30);
    let (tree, _) = merged(&base, &ours, &both).unwrap();
    let known = tree.id_of("z, known");
    assert_eq!((tree.id_of("a, other").as_str(), tree.nodes.len()), ("R2.A3", 5));
    let result = tree.nodes[&known.parse().unwrap()].classification.as_ref();
    assert_eq!(result.map(|it| it.findings.as_str()), Some("of the known one"));
}

/// The new ids are unused, and letters and digits alternate as usual.
#[test]
fn whoever_makes_way_takes_no_id_that_would_be_given_next() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, title, at) in [(&mut ours, "later", 21), (&mut theirs, "earlier", 20)] {
        side.propose("R1.B", None, &format!("root {title}"), at);
        side.propose("R2.A3", Some("R1.A"), title, at + 2);
        side.propose("R3.A1a", Some("R2.A1"), &format!("deep {title}"), at + 4);
    }
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let moved = |title: &str, made: &str, is_step: fn(&char) -> bool, number| {
        let id = tree.id_of(title);
        let more = id.strip_prefix(made).unwrap_or_else(|| panic!("{id}"));
        assert!(more.len() == number && more.chars().all(|c| is_step(&c)), "{id}");
    };
    moved("root later", "R1.B", char::is_ascii_lowercase, 3);
    moved("later", "R2.A3", char::is_ascii_digit, 4);
    moved("deep later", "R3.A1a", char::is_ascii_lowercase, 3);
    let mut next = Ids::new(&investigation(&tree).0);
    assert_eq!(next.root(None).unwrap().as_str(), "R1.C");
    let below = |id: &str, next: &mut Ids| next.child(&id.parse().unwrap()).unwrap().to_string();
    assert_eq!(below("R1.A", &mut next), "R2.A4");
    assert_eq!(below("R2.A1", &mut next), "R3.A1b");
    let later = tree.id_of("later");
    assert_eq!(below(&later, &mut next), format!("R3{}a", &later[2..]));
}

/// The merge order matters here. Nothing is lost, and clones that merge with each other have the same tree.
#[test]
fn two_that_make_way_with_the_same_digits_are_both_kept() {
    let side = |title: &str, at| {
        let mut tree = base();
        tree.propose("R2.A3", Some("R1.A"), title, at);
        tree
    };
    let mut seen = BTreeMap::new();
    let same = (0..).find_map(|number| {
        let title = format!("title {number}");
        let id = joined(&base(), &side("first", 10), &side(&title, 20)).0.id_of(&title);
        Some([seen.insert(id, title.clone())?, title])
    });
    let [one, other] = same.unwrap();
    let sides = [side("first", 10), side(&one, 20), side(&other, 20)];
    let mut commits = vec![(base(), Vec::new())];
    commits.extend(sides.map(|side| (side, vec![0])));
    let mut story = Scenario { commits };
    let with_one = story.join(1, 2);
    let with_other = story.join(1, 3);
    let both = [story.join(with_one, 3), story.join(with_other, 2)];
    let met = story.join(both[0], both[1]);
    assert_ne!(story.commits[both[0]].0, story.commits[both[1]].0);
    for tree in [both[0], both[1], met].map(|at| &story.commits[at].0) {
        let mut titles: Vec<&str> = tree.nodes.values().map(|node| node.title.as_str()).collect();
        titles.sort_unstable();
        let mut expected = ["first", "first", "root", "second", &one, &other];
        expected.sort_unstable();
        assert_eq!(titles, expected, "{tree:#?}");
    }
}

/// The merge order matters here, because a tree does not record which proposal caused a rename. Nothing is
/// lost, and clones that merge with each other have the same tree.
#[test]
fn whoever_takes_back_what_another_made_way_for_loses_nothing_by_the_order() {
    let mut story = Scenario::from(TreeFiles::default());
    let [first, second, third] = [("first", 10), ("second", 20), ("third", 30)]
        .map(|(title, at)| story.add(0, |tree| tree.propose("R1.A", None, title, at)));
    let both = story.join(first, second);
    let met = story.join(first, third);
    let fourth = story.add(met, |tree| tree.propose("R1.A", None, "fourth", 40));
    let taken_back = story.add(second, |tree| tree.take_back("R1.A"));
    let ends = story.ends([both, fourth, taken_back]);
    let trees = ends.map(|end| story.commits[end].0.clone());
    assert_ne!(trees[0], trees[1]);
    for tree in &trees {
        assert_eq!(tree.texts(), story.commits[fourth].0.texts());
    }
    let [one, other] = [[0, 1], [1, 0]].map(|[ours, theirs]| story.join(ends[ours], ends[theirs]));
    assert_eq!(one, other);
    assert_eq!(story.commits[one].0.texts(), trees[0].texts());
}

/// If the earlier proposal is withdrawn before the merge, the later proposal does not have to be renamed.
#[test]
fn whoever_made_way_for_a_proposal_that_is_taken_back_has_its_own_id_again() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    theirs.propose("R2.A3", Some("R1.A"), "earlier", 20);
    ours.propose("R2.A3", Some("R1.A"), "later", 21);
    let (both, _) = merged(&base, &ours, &theirs).unwrap();
    let (all, _) = merged(&theirs, &both, &base).unwrap();
    assert_eq!(all, ours);
    // The same applies if the proposal had been renamed because of another withdrawn proposal.
    theirs.commit("R2.A3", "EXPLORE", "found earlier", 22);
    let mut first = base.clone();
    first.propose("R2.A3", Some("R1.A"), "first", 19);
    let (mut moved, _) = merged(&base, &theirs, &first).unwrap();
    moved.nodes.remove(&"R2.A3".parse().unwrap());
    let (both, _) = merged(&base, &ours, &theirs).unwrap();
    let (all, _) = merged(&theirs, &moved, &both).unwrap();
    assert_eq!(all.id_of("later"), "R2.A3");
    assert_eq!(all, merged(&base, &moved, &ours).unwrap().0);
}

/// The id used to depend on which side was merged first: the side that withdrew the earlier proposal without knowing
/// the later proposal, or the side that knew both.
#[test]
fn whoever_made_way_has_one_id_though_two_have_taken_back_what_it_made_way_for() {
    let (nothing, mut known, mut other) = (base(), base(), base());
    known.propose("R2.A3", Some("R1.A"), "earlier", 20);
    other.propose("R2.A3", Some("R1.A"), "later", 21);
    let (both, _) = merged(&nothing, &known, &other).unwrap();
    let again = |tree: &TreeFiles, title: &str, at| {
        let mut tree = tree.clone();
        tree.nodes.remove(&"R2.A3".parse().unwrap());
        tree.propose("R2.A3", Some("R1.A"), title, at);
        tree
    };
    let (first, second) = (again(&known, "without it", 30), again(&both, "beside it", 31));
    let (one, _) = merged(&known, &first, &both).unwrap();
    let (one, _) = merged(&both, &one, &second).unwrap();
    assert_eq!(one, merged(&known, &second, &first).unwrap().0);
    assert_eq!(one.id_of("later"), "R2.A3");
}

/// The side that withdrew the earlier proposal did not know about the rename of the later one. If that side was merged
/// first, the research was matched to the node under its original id.
#[test]
fn whoever_made_way_and_was_taken_back_or_researched_elsewhere_has_one_id() {
    let mut story = Scenario::from(TreeFiles::default());
    let made = story.add(0, |tree| tree.propose("R1.A", None, "made", 20));
    let earlier = story.add(0, |tree| tree.propose("R1.A", None, "earlier", 10));
    let researched = story.add(made, |tree| tree.commit("R1.A", "EXPLORE", "found", 30));
    let taken_back = story.add(made, |tree| tree.take_back("R1.A"));
    let moved = story.join(made, earlier);
    let again = story.add(moved, |tree| tree.propose("R1.A", None, "instead of the earlier", 40));
    let all = story.in_any_order([researched, again, taken_back]);
    assert_eq!(all.id_of("made"), "R1.A");
    // The same applies if the node was researched under its new id and others withdraw the proposal that caused the
    // rename.
    let researched = story.add(moved, |tree| {
        let id = tree.id_of("made");
        tree.commit(&id, "EXPLORE", "found", 30);
    });
    let without = story.add(earlier, |tree| tree.take_back("R1.A"));
    let other = story.add(made, |tree| tree.propose("R1.A", None, "instead of what was made", 40));
    let all = story.in_any_order([without, other, researched]);
    assert_eq!(all.id_of("made"), "R1.A");
}

/// Older versions produced such merges: a proposal renamed on one side kept its new id.
#[test]
fn a_merge_that_left_a_proposal_where_it_had_moved_is_made_anew_as_it_is() {
    let mut story = Scenario::from(TreeFiles::default());
    let made = story.add(0, |tree| tree.propose("R1.A", None, "made", 20));
    let earlier = story.add(0, |tree| tree.propose("R1.A", None, "earlier", 10));
    let researched = story.add(made, |tree| tree.commit("R1.A", "EXPLORE", "found", 30));
    let moved = story.join(made, earlier);
    let again = story.add(moved, |tree| tree.propose("R1.A", None, "instead of the earlier", 40));
    let [made, researched, again] = [made, researched, again].map(|at| &story.commits[at].0);
    let mut older = again.clone();
    let id = older.id_of("made");
    older.commit(&id, "EXPLORE", "found", 30);
    let given = Trees { made: older.files(), ..trees(made, researched, again) };
    assert_eq!(TreeFiles::of(&merge(&given).unwrap().files), older);
    assert_ne!(merged(made, researched, again).unwrap().0, older);
}

/// Each withdrawn proposal had the id on one side. One of them was renamed because of the other only where the two
/// met.
#[test]
fn whoever_made_way_for_one_that_had_to_make_way_itself_has_one_id() {
    let mut story = Scenario::from(TreeFiles::default());
    let first = story.add(0, |tree| tree.propose("R1.A", None, "first", 10));
    let second = story.add(0, |tree| tree.propose("R1.A", None, "second", 20));
    let third = story.add(first, |tree| tree.propose("R1.A", None, "third", 30));
    let both = story.join(third, second);
    let researched = story.add(both, |tree| {
        let id = tree.id_of("third");
        tree.commit(&id, "EXPLORE", "found", 40);
    });
    let fourth = story.add(second, |tree| tree.propose("R1.A", None, "fourth", 50));
    let all = story.in_any_order([researched, first, fourth]);
    assert_eq!(all.id_of("third"), "R1.A");
}

/// The proposal's step used to be mistaken for the letters of its parent's new id followed by its own letters.
#[test]
fn whoever_is_made_below_a_node_that_made_way_collides_as_any_other() {
    let mut story = Scenario::from(TreeFiles::default());
    let earlier = story.add(0, |tree| tree.propose("R1.A", None, "earlier", 10));
    let later = story.add(0, |tree| {
        tree.propose("R1.A", None, "later", 20);
        tree.commit("R1.A", "EXPLORE", "found", 21);
    });
    let both = story.join(earlier, later);
    let below = story.add(both, |tree| {
        let parent = tree.id_of("later");
        tree.propose(&format!("R2{}1", &parent[2..]), Some(&parent), "below its new id", 30);
    });
    let old = story.add(later, |tree| tree.propose("R2.A1", Some("R1.A"), "below its old id", 31));
    let all = story.in_any_order([old, earlier, below]);
    let own = format!("R2{}1", &all.id_of("later")[2..]);
    assert_eq!(all.id_of("below its new id"), own);
    let moved = all.id_of("below its old id");
    assert!(moved.starts_with(&own) && moved.len() == own.len() + 4, "{moved}");
}

#[test]
fn attachments_go_with_their_nodes_and_both_of_one_name_stay() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, id, title, at) in [(&mut ours, "R2.a3", "later", 21), (&mut theirs, "R2.A3", "earlier", 20)] {
        side.propose(id, Some("R1.A"), title, at);
        side.commit(id, "EXPLORE", &format!("found {title}"), at + 2);
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
        ("attachments/R2.A3/a.log".to_owned(), "beside earlier".to_owned()),
        (format!("attachments/{}/a.log", tree.id_of("later")), "beside later".to_owned()),
    ];
    assert_eq!(tree.files, expected.into());
    assert_ne!(tree.id_of("later"), "R2.a3", "on some systems the same file");
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

impl TreeFiles {
    fn id_of(&self, title: &str) -> String {
        let node = self.nodes.values().find(|node| node.title == title);
        node.unwrap_or_else(|| panic!("there is no {title}")).id.to_string()
    }

    fn node_title(&self, id: &str) -> &str {
        &self.nodes[&id.parse().unwrap()].title
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
    let merge = |ours: &FileMap, theirs: &FileMap| {
        let trees =
            Trees { base: base.files(), ours: ours.clone(), theirs: theirs.clone(), ..Trees::default() };
        merge(&trees).unwrap()
    };
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
fn a_proposal_that_was_taken_back_and_researched_stays() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    ours.node("R2.A2").withdrawn = Some(Withdrawal { at: time(5), caller: Caller::default() });
    theirs.commit("R2.A2", "DEAD", "nothing", 10);
    let (tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.nodes[&"R2.A2".parse().unwrap()], theirs.nodes[&"R2.A2".parse().unwrap()]);
    assert_eq!(said(&decisions), ["R2.A2 was withdrawn and researched; the result is kept"]);
    // Without a result, its file keeps the later withdrawal, until its id is proposed again.
    let (mut later, mut again) = (ours.clone(), ours.clone());
    later.node("R2.A2").withdrawn = Some(Withdrawal { at: time(6), caller: Caller::default() });
    again.propose("R2.A2", Some("R1.A"), "again", 7);
    for (base, one, other, expected) in
        [(&base, &ours, &base, &ours), (&base, &ours, &later, &later), (&ours, &again, &later, &again)]
    {
        assert_eq!(merged(base, one, other).unwrap().0, *expected);
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
    assert_eq!(tree.node_title("R2.A1"), "title three");
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
    assert_eq!(tree.node_title("R2.A1"), "title four");
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
    assert_eq!(all.node_title("R2.A1"), "title alike");
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
    let claim = |agent: &str, at| Some(Claim { at: time(at), agent_id: agent.into(), until: time(at + 600) });
    ours.node("R2.A2").claim = claim("a", 11);
    theirs.node("R2.A2").claim = claim("b", 10);
    let (mut tree, decisions) = merged(&base, &ours, &theirs).unwrap();
    assert_eq!(tree.node("R2.A2").claim, claim("b", 10));
    assert_eq!(said(&decisions), ["R2.A2 was claimed twice; the claim of b stands"]);
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
    assert_eq!(said(&decisions), ["it was ended twice; the earlier end stands"]);
    let (again, decisions) = merged(&ours, &tree, &ours).unwrap();
    assert_eq!((again, decisions), (tree, Vec::new()));
}

#[test]
fn a_conclusion_rests_on_its_own_answer_where_the_merge_gives_that_another_id() {
    let (base, mut ours, mut theirs) = (base(), base(), base());
    for (side, title, at) in [(&mut ours, "later", 21), (&mut theirs, "earlier", 20)] {
        side.propose("R2.A3", Some("R1.A"), title, at);
        side.commit("R2.A3", "FOUND", &format!("found {title}"), at + 2);
    }
    let answer = |id: &str| BoundAnswer { id: id.parse().unwrap(), role: BoundAs::Main };
    ours.end(Some("it is the later"), 51);
    let end = ours.end.as_mut().unwrap();
    end.answers = vec![answer("R2.A3")];
    end.amended.push(AmendedConclusion {
        at: time(52),
        agent_id: None,
        caller: Caller::default(),
        reason: "not the first".into(),
        conclusion: None,
        answers: Some(vec![answer("R2.A1"), answer("R2.A3")]),
        not_covered: None,
    });
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let end = tree.end.clone().unwrap();
    let later = tree.id_of("later");
    assert_ne!(later, "R2.A3");
    assert_eq!(end.answers, [answer(&later)]);
    assert_eq!(end.amended[0].answers, Some(vec![answer("R2.A1"), answer(&later)]));
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
fn what_is_said_of_a_node_goes_where_the_merge_puts_it() {
    let (mut base, mut ours, mut theirs) = (base(), base(), base());
    base.files.insert(layout::WITHHELD.into(), "withheld: [{nodes: [R2.A1], by: Maria}]".into());
    theirs.files.insert(layout::WITHHELD.into(), "withheld: [{nodes: [R2.A1, R2.A3], by: Ada}]".into());
    ours.propose("R2.A3", Some("R1.A"), "ours", 10);
    ours.comment("R2.A3", "on ours", 12);
    theirs.propose("R2.A3", Some("R1.A"), "theirs", 11);
    theirs.comment("R2.A3", "on theirs", 12);
    theirs.comment("R2.A1", "on the first", 12);
    let (tree, _) = merged(&base, &ours, &theirs).unwrap();
    let about = |text: &str| tree.said()[text].clone().unwrap();
    assert_eq!(about("on ours"), "plan of ours");
    assert_eq!(about("on theirs"), "plan of theirs");
    assert_eq!(about("on the first"), "plan of first");
    let withheld = &tree.files[layout::WITHHELD];
    assert!(["R2.A1", &tree.id_of("theirs")].iter().all(|id| withheld.contains(id)), "{withheld}");
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
    let given = trees(&base, &ours, &theirs);
    let marked = Trees {
        ours: [("nodes/R2/R2.A2.yaml".to_owned(), b"<<<<<<< ours\n".to_vec())].into(),
        theirs: [("nodes/R2/R2.A2.yaml".to_owned(), b"version: 1\n".to_vec())].into(),
        base: FileMap::new(),
        ..given
    };
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
        let pending: Vec<NodeId> =
            tree.nodes.values().filter(|node| node.is_pending()).map(|it| it.id.clone()).collect();
        let some = |ids: &[NodeId]| (!ids.is_empty()).then(|| index.get(ids).clone());
        match op {
            0..=2 => {
                let mut ids = Ids::besides(tree.nodes.keys());
                let parent = some(&committed).filter(|_| index.index(5) > 0);
                let id = match &parent {
                    Some(parent) => ids.child(parent),
                    None => ids.root(None),
                };
                tree.propose(id.unwrap().as_str(), parent.as_ref().map(NodeId::as_str), &text, at);
            }
            3 | 4 => {
                if let Some(id) = some(&pending) {
                    tree.commit(id.as_str(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], &text, at);
                }
            }
            5 => {
                if let Some(id) = some(&committed) {
                    // Some steps are identical on several sides.
                    let reason = if index.index(4) == 0 { "alike" } else { &text };
                    tree.reclassify(id.as_str(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], reason, at);
                }
            }
            6 => {
                if let Some(id) = some(&committed) {
                    tree.amend(id.as_str(), if index.index(4) == 0 { "alike" } else { &text }, at);
                }
            }
            12 => {
                if let Some(id) = some(&committed) {
                    tree.late(id.as_str(), ["FOUND", "DEAD", "EXPLORE"][index.index(3)], &text, at);
                }
            }
            13 => match &mut tree.end {
                Some(end) if end.conclusion.is_some() && index.index(3) > 0 => amend_end(end, &text, at),
                // The investigation is ended again after more research.
                end => *end = Some(Conclusion { conclusion: Some(text), ..Conclusion::new(time(at)) }),
            },
            7 => {
                // Withdrawing one of two proposals made under the same id makes the merge order matter.
                let made_as = |it: &Node| it.renamed_from.clone().unwrap_or_else(|| it.id.clone());
                let shares = |it: &Node| {
                    let all = tree.nodes.values();
                    all.filter(|other| made_as(other) == made_as(it)).count() > 1
                };
                if let Some(id) = some(&pending).filter(|id| !shares(&tree.nodes[id])) {
                    tree.nodes.remove(&id);
                }
            }
            8 => {
                if let Some(id) = some(&pending) {
                    tree.node(id.as_str()).claim =
                        Some(Claim { at: time(at), agent_id: text, until: time(at + 9) });
                }
            }
            9 | 10 => {
                if let Some(id) = some(&committed) {
                    tree.comment(id.as_str(), &text, at);
                }
            }
            _ => match &mut tree.end {
                None => tree.end(Some(&text).filter(|_| index.index(3) > 0).map(String::as_str), at),
                Some(end) if end.conclusion.is_none() => {
                    (end.conclusion, end.concluded_at) = (Some(text), Some(time(at)));
                }
                Some(_) => tree.end = None,
            },
        }
    }
    tree
}

/// Returns the text of the proposals that a side withdrew and of the conclusion that it reopened.
fn given_up(base: &TreeFiles, side: &TreeFiles) -> BTreeSet<String> {
    let gone = base.nodes.values().filter(|node| node.is_pending());
    let gone =
        gone.filter(|node| !side.nodes.values().any(|other| other.planned_action == node.planned_action));
    let texts = gone.flat_map(|node| [node.title.clone(), node.planned_action.clone()]);
    let end = TreeFiles { end: base.end.clone(), ..TreeFiles::default() };
    texts.chain(end.texts()).collect()
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
    (investigation, faults.len())
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
        prop_assert_eq!(investigation(&tree).1, 0, "a node has lost its place");
        let lost: BTreeSet<String> = given_up(&base, &ours).union(&given_up(&base, &theirs)).cloned().collect();
        let kept = tree.texts();
        for text in ours.texts().union(&theirs.texts()).filter(|text| !text.is_empty()) {
            prop_assert!(kept.contains(text) || lost.contains(text), "{} is lost", text);
        }
        let said = tree.said();
        for (text, about) in ours.said().into_iter().chain(theirs.said()) {
            prop_assert_eq!(&said[&text], &about, "a comment stands at another node");
        }
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
    fn three_clones_that_meet_now_and_then_make_one_tree_in_any_order(
        steps in prop::collection::vec((0..3usize, prop::option::weighted(0.4, 1..3usize), history(), -10..10i64), 0..12),
    ) {
        let mut story = Scenario::from(base());
        let mut heads = [0; 3];
        let mut texts = BTreeSet::new();
        for (number, (clone, meets, ops, skew)) in steps.iter().enumerate() {
            heads[*clone] = match meets {
                Some(other) => story.join(heads[*clone], heads[(clone + other) % 3]),
                None => {
                    let before = &story.commits[heads[*clone]].0;
                    let tree = play(before, &ops[..ops.len().min(4)], &format!("{number}:"), 100 + 3 * number as i64 + skew);
                    texts.extend(given_up(before, &tree));
                    story.commits.push((tree, vec![heads[*clone]]));
                    story.commits.len() - 1
                }
            };
        }
        let all = story.in_any_order(heads);
        prop_assert_eq!(investigation(&all).1, 0, "a node has lost its place");
        let kept = all.texts();
        for text in heads.iter().flat_map(|head| story.commits[*head].0.texts()).filter(|text| !text.is_empty()) {
            prop_assert!(kept.contains(&text) || texts.contains(&text), "{} is lost", text);
        }
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

    /// Changes the tree of a commit.
    fn add(&mut self, parent: usize, change: impl FnOnce(&mut TreeFiles)) -> usize {
        let mut tree = self.commits[parent].0.clone();
        change(&mut tree);
        self.commits.push((tree, vec![parent]));
        self.commits.len() - 1
    }

    /// Merges all three trees, in each order.
    fn ends(&mut self, [a, b, c]: [usize; 3]) -> [usize; 3] {
        [[a, b, c], [b, c, a], [c, a, b]].map(|[one, other, last]| {
            let both = self.join(one, other);
            self.join(both, last)
        })
    }

    /// Returns the tree that contains all three. Asserts that the merge order does not matter.
    fn in_any_order(&mut self, heads: [usize; 3]) -> TreeFiles {
        let [all, other, third] = self.ends(heads).map(|end| self.commits[end].0.clone());
        assert_eq!(all, other);
        assert_eq!(all, third);
        all
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
