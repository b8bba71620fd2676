//! The investigation as DOT, for Graphviz and for agents.

use std::fmt::Write as _;

use super::text::one_line;
use crate::assess::Assessment;
use crate::domain::{Investigation, Link, Node, NodeId};

/// Returns the investigation as a `digraph` that Graphviz draws from top to bottom.
///
/// Each node is a box in the colour of its state. Proposals have a dashed outline. A legend lists all states of the
/// ruleset. Links across the tree are dotted and do not affect the layout. The verdict is shown after the state.
///
/// All titles are escaped and appear unchanged on one line.
pub fn dot(assessment: &Assessment<'_>) -> String {
    let investigation = assessment.investigation;
    let ruleset = assessment.rules.map(|rules| rules.ruleset());
    let mut dot = String::from("digraph Investigation {\n  rankdir=TB;\n  node [shape=box, style=filled];\n");
    let order = investigation.preorder();
    if !order.is_empty() {
        dot.push('\n');
    }
    for node in &order {
        dot.push_str(&node_line(assessment, node));
    }
    let edges = order.iter().filter_map(|node| Some((node.parent.as_ref()?, *node)));
    for (at, (parent, node)) in edges.enumerate() {
        let style = if node.is_pending() { " [style=dashed]" } else { "" };
        let gap = if at == 0 { "\n" } else { "" };
        let _ = writeln!(dot, "{gap}  {} -> {}{style};", name(parent), name(&node.id));
    }
    for (node, link) in links(investigation) {
        let (from, to, what) = (name(&node.id), name(&link.to), link.kind.label());
        let _ = writeln!(dot, "  {from} -> {to} [style=dotted, constraint=false, label=\"{what}\"];");
    }
    dot.push_str("\n  subgraph cluster_legend {\n    label=\"Legend\";\n");
    for state in ruleset.iter().flat_map(|ruleset| &ruleset.states) {
        let _ = writeln!(
            dot,
            "    L_{0} [fillcolor={1}, label=\"{0}\"];",
            state.name,
            attribute_value(&state.colour)
        );
    }
    dot.push_str("  }\n}\n");
    dot
}

/// Returns a node's name in DOT and Mermaid: the id with underscores.
pub(super) fn name(id: &NodeId) -> String {
    id.as_str().replace(['.', '-'], "_")
}

/// Returns all links between existing nodes.
pub(super) fn links(investigation: &Investigation) -> impl Iterator<Item = (&Node, &Link)> {
    let nodes = investigation.preorder().into_iter();
    nodes.flat_map(move |node| {
        let there = |link: &&Link| investigation.node(&link.to).is_some();
        node.classification
            .iter()
            .flat_map(|it| &it.links)
            .filter(there)
            .map(move |link| (node.as_ref(), link))
    })
}

/// Returns the verdict shown after a state, such as `, confirmed in another session`.
pub(super) fn verdict_suffix(assessment: &Assessment<'_>, node: &Node) -> String {
    assessment.verdict_of(&node.id).map(|verdict| format!(", {}", verdict.label())).unwrap_or_default()
}

fn node_line(assessment: &Assessment<'_>, node: &Node) -> String {
    let (name, round, title) = (name(&node.id), node.round(), escape(&one_line(node.name())));
    let ruleset = assessment.rules.map(|rules| rules.ruleset());
    let (mark, verdict_suffix) = (assessment.mark(node), verdict_suffix(assessment, node));
    match node.state() {
        Some(_) if mark.refutes.is_some() => {
            let what = mark.label;
            format!("  {name} [fillcolor=red, label=\"R{round} | {title}\\n({what}{verdict_suffix})\"];\n")
        }
        Some(state) => {
            // A state that the ruleset does not define can only come from a manual edit.
            let known = ruleset.and_then(|ruleset| ruleset.state(state));
            let colour = known.map_or("white", |state| &state.colour);
            let colour = attribute_value(colour);
            format!(
                "  {name} [fillcolor={colour}, label=\"R{round} | {title}\\n({state}{verdict_suffix})\"];\n"
            )
        }
        None => format!(
            "  {name} [fillcolor=white, label=\"R{round} | {title}\\n(proposed)\", style=\"filled,dashed\"];\n"
        ),
    }
}

/// Escapes text for a label in double quotes. Graphviz interprets backslash sequences (`\N` is the node's name), reads
/// `&lt;` as `<`, and reads `\<` as `<`.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\\' | '"' | '<' | '>' => escaped.extend(['\\', c]),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Formats a colour as an attribute value: bare where DOT allows it, otherwise quoted.
fn attribute_value(colour: &str) -> String {
    const KEYWORDS: [&str; 6] = ["node", "edge", "graph", "digraph", "subgraph", "strict"];
    let bare = colour.starts_with(|c: char| c.is_ascii_alphabetic())
        && colour.bytes().all(|b| b.is_ascii_alphanumeric())
        && !KEYWORDS.iter().any(|keyword| colour.eq_ignore_ascii_case(keyword));
    if bare { colour.to_owned() } else { format!("\"{}\"", escape(&one_line(colour))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LinkKind;
    use crate::graph::samples;

    #[test]
    fn a_small_investigation_reads_as_the_specification_says() {
        let sample = samples::build(&[
            ("R1.A", None, Some("EXPLORE"), "Why does it fail?"),
            ("R2.A1", Some("R1.A"), Some("FOUND"), "Logger \"Q\" <night>"),
            ("R2.A2", Some("R1.A"), None, "Next & last"),
        ]);
        assert_eq!(
            dot(&samples::assessed(&sample)),
            r#"digraph Investigation {
  rankdir=TB;
  node [shape=box, style=filled];

  R1_A [fillcolor=lightblue, label="R1 | Why does it fail?\n(EXPLORE)"];
  R2_A1 [fillcolor=orange, label="R2 | Logger \"Q\" \<night\>\n(FOUND, not checked)"];
  R2_A2 [fillcolor=white, label="R2 | Next &amp; last\n(proposed)", style="filled,dashed"];

  R1_A -> R2_A1;
  R1_A -> R2_A2 [style=dashed];

  subgraph cluster_legend {
    label="Legend";
    L_EXPLORE [fillcolor=lightblue, label="EXPLORE"];
    L_FOUND [fillcolor=orange, label="FOUND"];
    L_VERIFY [fillcolor=green, label="VERIFY"];
    L_EXHAUST [fillcolor=gray, label="EXHAUST"];
    L_DEAD [fillcolor=red, label="DEAD"];
  }
}
"#
        );
    }

    #[test]
    fn what_is_new_is_drawn_where_it_is_used() {
        let mut nodes = vec![
            samples::node("R1.A", None, Some("FOUND"), "Before the work"),
            samples::node("R1.B", None, Some("FOUND"), "Other"),
            samples::node("R2.A1", Some("R1.A"), Some("DEAD"), "It is not"),
        ];
        nodes[0].classification.as_mut().unwrap().headline = Some("What was found".to_owned());
        let child = nodes[2].classification.as_mut().unwrap();
        child.refutes = true;
        let link = |to: &str| Link::new(to.parse().unwrap(), LinkKind::Depends);
        child.links = vec![link("R1.B"), link("R9.Z")];
        let dot = dot(&samples::assessed(&samples::of(nodes)));
        assert!(
            dot.contains("R1_A [fillcolor=orange, label=\"R1 | What was found\\n(FOUND, refuted)\"];"),
            "{dot}"
        );
        assert!(
            dot.contains("  R2_A1 -> R1_B [style=dotted, constraint=false, label=\"depends on\"];\n"),
            "{dot}"
        );
        assert!(!dot.contains("R9_Z"), "{dot}");
    }

    #[test]
    fn an_empty_investigation_is_a_valid_graph() {
        let dot = dot(&samples::assessed(&samples::build(&[])));
        assert!(dot.starts_with("digraph Investigation {\n  rankdir=TB;"));
        assert!(dot.contains("cluster_legend") && dot.ends_with("  }\n}\n"));
    }

    #[test]
    fn hostile_titles_stay_inside_their_label() {
        let titles = [
            (r"ends with a backslash\", r"ends with a backslash\\"),
            (r"\N \G \l", r"\\N \\G \\l"),
            (r#"\" ]; evil [label=""#, r#"\\\" ]; evil [label=\""#),
            ("a\nb\r\nc\u{2028}d", "a b c d"),
            ("a\0b\u{202e}", "a␀b\u{fffd}"),
            ("&lt;b&gt; &", "&amp;lt;b&amp;gt; &amp;"),
            ("# /* no comment */ // {|}", "# /* no comment */ // {|}"),
        ];
        for (title, label) in titles {
            let dot = dot(&samples::assessed(&samples::build(&[("R1.A", None, Some("EXPLORE"), title)])));
            let line = format!("  R1_A [fillcolor=lightblue, label=\"R1 | {label}\\n(EXPLORE)\"];\n");
            assert!(dot.contains(&line), "{dot}");
        }
    }

    #[test]
    fn colours_are_quoted_where_dot_asks_for_it() {
        let written = ["red", "#aabbcc", "Node", "1red", "gray50", ""].map(attribute_value);
        assert_eq!(written, ["red", "\"#aabbcc\"", "\"Node\"", "\"1red\"", "gray50", "\"\""]);
    }

    #[test]
    fn a_state_that_the_ruleset_lacks_is_drawn_white() {
        let dot = dot(&samples::assessed(&samples::build(&[("R1.A", None, Some("ODD"), "t")])));
        assert!(dot.contains("R1_A [fillcolor=white, label=\"R1 | t\\n(ODD)\"];"));
    }
}
