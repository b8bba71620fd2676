//! The investigation as a Mermaid flowchart, for READMEs, issues and chats.

use std::fmt::Write as _;

use super::dot::{links, name, verdict_suffix};
use super::palette;
use super::text::one_line;
use crate::assess::{Assessment, NodeMark, Verdict};
use crate::domain::NodeId;
use crate::ruleset::Role;

/// Returns the investigation as a Mermaid flowchart from left to right. Nodes are coloured by verdict or, without one, by role.
/// Proposals have a dashed outline.
///
/// All characters in titles except letters, digits, spaces and a few punctuation marks are written as character codes.
/// A title therefore cannot form a quote, tag, Markdown, comment or `%%{init}%%` directive. Mermaid draws at most 500
/// edges and 50,000 characters unless its host allows more.
pub fn mermaid(assessment: &Assessment<'_>) -> String {
    mermaid_of(assessment, |_| true)
}

/// Returns the flowchart of the nodes that `is_shown` accepts. It must accept the parent of each accepted node.
pub fn mermaid_of(assessment: &Assessment<'_>, is_shown: impl Fn(&NodeId) -> bool) -> String {
    let investigation = assessment.investigation;
    let mut chart = String::from("flowchart LR\n");
    let mut order = investigation.preorder();
    order.retain(|node| is_shown(&node.id));
    if order.is_empty() {
        chart.push_str("    empty[\"No nodes yet\"]\n");
    }
    for node in &order {
        let mark = assessment.mark(node);
        let class = if node.is_pending() { "proposed".to_owned() } else { class_of(&mark) };
        let (title, label) = (escape(&one_line(node.name())), escape(&one_line(&mark.label)));
        let verdict_suffix = verdict_suffix(assessment, node);
        let _ = writeln!(
            chart,
            "    {}[\"{}: {title}<br/>({label}{verdict_suffix})\"]:::{class}",
            name(&node.id),
            node.id
        );
    }
    for node in &order {
        if let Some(parent) = &node.parent {
            let arrow = if node.is_pending() { "-.->" } else { "-->" };
            let _ = writeln!(chart, "    {} {arrow} {}", name(parent), name(&node.id));
        }
    }
    for (node, link) in links(investigation).filter(|(node, link)| is_shown(&node.id) && is_shown(&link.to)) {
        let (from, to, what) = (name(&node.id), name(&link.to), link.kind.label());
        let _ = writeln!(chart, "    {from} -. {what} .-> {to}");
    }
    let without_verdict = |role| match role {
        Role::Solution | Role::Confirmation => palette::QUIET,
        role => palette::role(role),
    };
    let roles = palette::ROLES.map(|role| (class(role), without_verdict(role)));
    let verdicts = [
        ("confirmed".to_owned(), palette::role(Role::Solution)),
        ("doubted".to_owned(), palette::DOUBT),
        ("refuted".to_owned(), palette::role(Role::DeadEnd)),
    ];
    for (class, colour) in roles.into_iter().chain(verdicts) {
        let _ = writeln!(
            chart,
            "    classDef {class} fill:{},stroke:{},stroke-width:2px,color:{}",
            palette::CARD.light,
            colour.light,
            palette::TEXT.light
        );
    }
    let _ = writeln!(
        chart,
        "    classDef proposed fill:{},stroke:{},stroke-dasharray:4 3,color:{}",
        palette::CARD.light,
        palette::QUIET.light,
        palette::QUIET.light
    );
    chart
}

/// Returns the class of a node.
fn class_of(mark: &NodeMark<'_>) -> String {
    let verdict = mark.shade().map(Verdict::class);
    match (mark.refutes, verdict) {
        (Some(_), _) | (None, Some("refuted" | "undermined")) => "refuted".to_owned(),
        (None, Some("confirmed")) => "confirmed".to_owned(),
        (None, Some(_)) => "doubted".to_owned(),
        (None, None) => class(mark.role.unwrap_or(Role::Open)),
    }
}

/// Returns the class of a role in camel case, such as `roleDeadEnd`.
fn class(role: Role) -> String {
    let name = palette::class(role).trim_start_matches("role-");
    format!("role{}{}", name[..1].to_uppercase(), &name[1..])
}

fn escape(text: &str) -> String {
    /// Sequences that Mermaid interprets even when written as character codes: a formula, a line break and an icon.
    const SPELLS: [&str; 3] = ["$$", "\\n", ":fa"];
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        if !c.is_ascii()
            || c.is_ascii_alphanumeric()
            || matches!(c, ' ' | '.' | ',' | '-' | '/' | '(' | ')' | '?')
        {
            escaped.push(c);
        } else {
            let _ = write!(escaped, "#{};", u32::from(c));
        }
        if SPELLS.iter().any(|spell| text[at..].starts_with(spell)) {
            // A zero-width space breaks the sequence.
            escaped.push_str("#8203;");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::samples;

    #[test]
    fn a_small_investigation() {
        let sample = samples::build(&[
            ("R1.A", None, Some("EXPLORE"), "Why?"),
            ("R2.A1", Some("R1.A"), Some("DEAD"), "A \"quoted\" title"),
            ("R2.A2", Some("R1.A"), None, "Next"),
        ]);
        let chart = mermaid(&samples::assessed(&sample));
        let head = "flowchart LR
    R1_A[\"R1.A: Why?<br/>(Explored)\"]:::roleOpen
    R2_A1[\"R2.A1: A #34;quoted#34; title<br/>(Ruled out)\"]:::roleDeadEnd
    R2_A2[\"R2.A2: Next<br/>(Proposed)\"]:::proposed
    R1_A --> R2_A1
    R1_A -.-> R2_A2
    classDef roleOpen ";
        assert!(chart.starts_with(head), "{chart}");
        assert!(mermaid(&samples::assessed(&samples::build(&[]))).contains("No nodes yet"));
    }

    #[test]
    fn a_refuted_answer_is_green_nowhere_and_its_refutation_says_so() {
        let mut nodes = vec![
            samples::node("R1.A", None, Some("FOUND"), "It rusts"),
            samples::node("R2.A1", Some("R1.A"), Some("DEAD"), "It does not"),
        ];
        nodes[1].classification.as_mut().unwrap().refutes = true;
        let chart = mermaid(&samples::assessed(&samples::of(nodes)));
        for line in [
            "R1_A[\"R1.A: It rusts<br/>(Answer, refuted)\"]:::refuted\n",
            "R2_A1[\"R2.A1: It does not<br/>(refutes R1.A)\"]:::refuted\n",
        ] {
            assert!(chart.contains(line), "{chart}");
        }
    }

    #[test]
    fn no_formula_no_line_break_and_no_icon_comes_of_a_title() {
        assert_eq!(escape("$$$ $"), "#36;#8203;#36;#8203;#36; #36;");
        assert_eq!(escape("C:\\new C:\\old"), "C#58;#92;#8203;new C#58;#92;old");
        assert_eq!(escape("fa:fa-car a:b"), "fa#58;#8203;fa-car a#58;b");
    }

    #[test]
    fn a_hostile_title_stays_text() {
        let title = "\"]\n%%{init: {'theme':'x'}}%% <img src=x onerror=alert(1)> `md` #quot; click R1_A javascript:x ;\\";
        let chart = mermaid(&samples::assessed(&samples::build(&[("R1.A", None, Some("EXPLORE"), title)])));
        let line = chart.lines().nth(1).unwrap();
        let label = line.split('"').nth(1).unwrap().replace("<br/>", "");
        assert_eq!(line.matches('"').count(), 2, "{line}");
        for forbidden in ["%", "<", ">", "`", "{", "\\", "'", "x:", "]"] {
            assert!(!label.contains(forbidden), "{forbidden} in {label}");
        }
    }
}
