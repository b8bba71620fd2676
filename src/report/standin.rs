//! Stands in for `crate::graph` until that is merged: the same signatures, the plainest drawing.

pub(super) mod graph {
    use std::fmt::Write;

    use crate::domain::{Investigation, NodeId};
    use crate::ruleset::{Ruleset, Terms};

    /// How a drawing is made.
    #[derive(Clone, Copy, Default)]
    pub struct SvgOptions<'a> {
        /// Where a card leads to.
        pub href: Option<&'a dyn Fn(&NodeId) -> String>,
        /// A file of its own.
        pub standalone: bool,
        /// Only so many columns.
        pub max_depth: Option<u32>,
    }

    /// A drawing.
    pub struct Svg {
        /// The element.
        pub markup: String,
        /// How many nodes lie deeper.
        pub hidden: usize,
    }

    /// A drawing by rounds.
    pub fn svg(investigation: &Investigation, terms: &Terms<'_>, options: &SvgOptions<'_>) -> Svg {
        let mut cards = String::new();
        let (mut width, mut height) = (0, 0);
        for (row, node) in (0..).zip(investigation.preorder()) {
            let (x, y) = (10 + (node.round() - 1) * 60, 10 + row * 44);
            (width, height) = (width.max(x + 330), height.max(y + 46));
            let state = node.state().map_or_else(|| "pending".to_owned(), ToString::to_string);
            let role = match node.state().map(|state| terms.role(state)) {
                Some(role) => super::super::model::role_class(Some(role)),
                None => "role-pending",
            };
            let title: String =
                node.title.chars().take(36).map(|c| if "<>&\"".contains(c) { '·' } else { c }).collect();
            let _ = write!(
                cards,
                "<a href=\"{}\"><g class=\"{role}\"><rect class=\"card\" x=\"{x}\" y=\"{y}\" width=\"320\" \
                 height=\"36\" rx=\"4\"/><rect class=\"bar\" x=\"{x}\" y=\"{y}\" width=\"5\" height=\"36\"/><text \
                 x=\"{}\" y=\"{}\" font-size=\"12\">{} {title} ({state})</text></g></a>",
                options.href.map(|href| href(&node.id)).unwrap_or_default(),
                x + 12,
                y + 22,
                node.id,
            );
        }
        Svg { markup: format!("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"graph\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"Graph\">{cards}</svg>"), hidden: usize::from(options.standalone) * options.max_depth.unwrap_or(0) as usize }
    }

    /// DOT.
    pub fn dot(_: &Investigation, _: &Ruleset) -> String {
        "digraph Investigation {\n}\n".to_owned()
    }

    /// Mermaid.
    pub fn mermaid(_: &Investigation, _: &Ruleset) -> String {
        "flowchart LR\n".to_owned()
    }
}
