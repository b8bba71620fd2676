//! The data of the pages of one investigation: typed, and computed from a [`ReportInput`] alone.
//!
//! Addresses (`href`) are relative to the investigation's folder; a template puts its page's `root` before them.
//! Texts of strangers are plain strings, which templates escape; Markdown is [`SafeHtml`].
//!
//! One file for each page: its data, and how it is computed. `cards` has the shared parts: nodes and states in a few words, and
//! the questions that pages ask of the tree.

mod argument;
mod cards;
mod comments;
mod doubts;
mod header;
mod judged;
mod node;
mod overview;
mod references;
mod rules;
mod runs;
mod sign_offs;
mod since;
mod tree;

use std::collections::HashMap;

pub(super) use argument::{Argument, Arguments, WayLink};
pub(super) use cards::{Card, Cards, StateView, Time};
pub(super) use doubts::Doubts;
pub(super) use header::Header;
pub(super) use judged::{Judged, StateCount};
pub(super) use node::{Change, NodePage};
pub(super) use overview::{InShort, Overview};
pub(super) use references::{References, ReferencesPage};
pub(super) use sign_offs::{Mark, SignOffsView};
pub(super) use tree::OutlineRow;

use super::ReportInput;
use super::attachments::Attachments;
use super::history::{self, History};
use super::references::{self as cited, Reference};
use super::templates::SharedValue;
use super::texts;
use crate::decide::quality::quality;
use crate::domain::{Node, NodeId};

/// All pages of one investigation.
pub(super) struct Report {
    /// On every page.
    pub header: SharedValue<Header>,
    /// The first page.
    pub overview: Overview,
    /// The reasons to doubt.
    pub doubts: Doubts,
    /// The answers, each with its reasons.
    pub arguments: Arguments,
    /// Every node, in the order of reading: depth first.
    pub nodes: Vec<NodePage>,
    /// The tree, as the rows of a nested list.
    pub outline: Vec<OutlineRow>,
    /// The sources of the findings.
    pub references: References,
    /// The standing of each node, for a browser to keep: in the tree itself, and for the first page, which stays small, as a
    /// file.
    pub since: String,
    /// The commits.
    pub history: History,
    /// How the tree grew by them, as a script.
    pub grown: String,
    /// The rules and their judgement.
    pub judged: Judged,
    /// The sign-offs.
    pub sign_offs: SignOffsView,
    /// The references as the data file has them.
    pub cited: Vec<Reference>,
    /// The files of the attachments, by their paths from the folder of the investigation.
    pub attachments: Vec<(String, Vec<u8>)>,
    addresses: HashMap<NodeId, String>,
}

impl Report {
    /// The data of all pages.
    pub(super) fn of(input: &ReportInput) -> Report {
        let investigation = input.snapshot.investigation.as_ref();
        let (file, rules) = (input.snapshot.ruleset.as_ref().ok(), input.snapshot.rules());
        let texts = texts::read(investigation);
        let references = cited::collect(investigation, &texts);
        let excerpt =
            |node: &Node| texts.get(&node.id).map_or_else(String::new, |texts| texts.excerpt.clone());
        let cards = Cards::new(investigation, rules, &references, &input.withheld, excerpt);
        let history = history::view(input, &cards);
        let (mut cited_page, places) = cards.references(&references, &input.evidence);
        let comments = cards.comments();
        let runs = cards.runs();
        let attachments = Attachments::of(investigation, &input.attachments);
        let nodes = cards.node_views(
            texts,
            &references,
            &places,
            &history,
            &input.evidence,
            (&comments, &runs, &attachments),
        );
        let mut overview = cards.overview(&comments, &runs, input);
        cited_page.runs = cards.listed_runs(&runs);
        cited_page.more_runs = runs.len() - cited_page.runs.len();
        let doubts = cards.doubts(&overview, &comments, &input.evidence);
        overview.take_in(&doubts);
        let overview = overview;
        let arguments = cards.arguments(&nodes, &overview, (&references, &places), &comments);
        Report {
            arguments,
            header: SharedValue::of(header::header(input, &cards.assessment, &overview, &doubts)),
            doubts,
            nodes,
            outline: cards.outline(),
            since: cards.since(),
            references: cited_page,
            judged: Judged {
                rules: file.zip(rules).map(|(file, rules)| cards.rules(rules, &file.text)),
                quality: rules.map(|rules| quality(investigation, &rules)),
                changes: cards.changes(),
                min_rounds: investigation.meta().min_rounds,
                min_roots: investigation.meta().min_roots,
                allow_early: investigation.meta().allow_early_terminal,
                states: cards.state_counts(),
            },
            addresses: cards.cards.iter().map(|(id, card)| (id.clone(), card.href.clone())).collect(),
            overview,
            grown: history::grown(input, &cards),
            sign_offs: SignOffsView::of(&input.sign_offs, &history),
            history,
            cited: references,
            attachments: attachments.files,
        }
    }

    /// The address of a node's page.
    pub(super) fn href(&self, id: &NodeId) -> String {
        self.addresses.get(id).cloned().unwrap_or_default()
    }
}
