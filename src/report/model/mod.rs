//! The typed data for an investigation's pages, computed only from a [`ReportInput`].
//!
//! Addresses (`href`) are relative to the investigation's folder. Templates prefix them with the page's `root`.
//! Untrusted text is stored in plain strings, which templates escape. Rendered Markdown is [`SafeHtml`].
//!
//! Most pages have a module here with their data and the code that computes it; `super::history` and `super::compare` have
//! their own. `cards` contains the shared parts: display forms of
//! nodes and states, and lookups. `header` has the other conclusions that a merge brought, which the history shows. What
//! several pages show, such as a run, is a macro in `site-template/macros.html`.

mod cards;
mod comments;
mod header;
mod judged;
mod node;
mod overview;
mod references;
mod rules;
mod runs;
mod sign_offs;
mod tree;

use std::collections::HashMap;

pub(super) use cards::{Card, Cards, REFUTATION, StateView, Time};
pub(super) use header::{Header, HeaderFacts};
pub(super) use judged::{Judged, StateCount, words};
pub(super) use node::{NodePage, StateChange};
pub(super) use overview::{AmendedConclusionHtml, BlockerView, Overview, RowView, TopView};
pub(super) use references::{References, ReferencesPage, of_run};
pub(super) use runs::RunViews;
pub(super) use sign_offs::{SignOffMark, SignOffsView};
pub(super) use tree::OutlineRow;

use super::ReportInput;
use super::attachments::AttachmentViews;
use super::history::{self, History};
use super::templates::SharedValue;
use super::texts;
use crate::decide::references::{CitedSource, cited};
use crate::domain::{Node, NodeId};

/// All pages of one investigation.
pub(super) struct Report {
    /// The data shown on every page.
    pub header: SharedValue<Header>,
    /// The first page.
    pub overview: Overview,
    /// The node pages, depth first.
    pub nodes: Vec<NodePage>,
    /// The tree as the rows of a nested list.
    pub outline: Vec<OutlineRow>,
    /// The evidence page.
    pub references: References,
    /// The commits page.
    pub history: History,
    /// The rules page.
    pub judged: Judged,
    /// The sign-offs.
    pub sign_offs: SignOffsView,
    /// All runs.
    pub runs: RunViews,
    /// The references for the data file.
    pub cited: Vec<CitedSource>,
    /// The attached files, by path relative to the investigation's folder.
    pub attachments: Vec<(String, Vec<u8>)>,
    addresses: HashMap<NodeId, String>,
}

impl Report {
    /// Computes the data for all pages.
    pub(super) fn of(input: &ReportInput) -> Report {
        let investigation = input.snapshot.investigation.as_ref();
        let (file, rules) = (input.snapshot.ruleset.as_ref().ok(), input.snapshot.rules());
        let texts = texts::read(investigation);
        let references = cited(investigation, |node| {
            texts.get(&node.id).map_or_else(Vec::new, |texts| texts.mentions.clone())
        });
        let excerpt =
            |node: &Node| texts.get(&node.id).map_or_else(String::new, |texts| texts.excerpt.clone());
        let cards =
            Cards::new(investigation, rules, &references, &input.withheld, input.inputs().as_ref(), excerpt);
        let history = history::view(input, &cards);
        let (mut cited_page, places) = cards.references(&references, &input.evidence);
        let comments = cards.comments();
        let runs = cards.runs();
        let attachments = AttachmentViews::of(investigation, &input.attachments);
        let nodes = cards.node_views(
            texts,
            &references,
            &places,
            &history,
            &input.evidence,
            (&comments, &runs, &attachments),
        );
        let overview = cards.overview(&comments, &runs, &history, input);
        cited_page.runs = cards.listed_runs(&runs);
        cited_page.more_runs = runs.len() - cited_page.runs.len();
        Report {
            header: SharedValue::of(header::header(input, &cards.assessment, &overview)),
            nodes,
            outline: cards.outline(&history),
            references: cited_page,
            judged: Judged {
                rules: file.zip(rules).map(|(file, rules)| cards.rules(rules, &file.text)),
                changes: cards.changes(),
                warnings: cards.warnings(),
                min_rounds: investigation.meta().min_rounds,
                min_roots: investigation.meta().min_roots,
                allow_early: investigation.meta().allow_early_terminal,
                states: cards.state_counts(),
                words: words(),
            },
            addresses: cards.cards.iter().map(|(id, card)| (id.clone(), card.href.clone())).collect(),
            overview,
            sign_offs: SignOffsView::of(&input.sign_offs, &history),
            history,
            cited: references,
            runs,
            attachments: attachments.files,
        }
    }

    /// Returns the address of a node's page.
    pub(super) fn href(&self, id: &NodeId) -> String {
        self.addresses.get(id).cloned().unwrap_or_default()
    }
}
