//! The header of a standalone picture: the investigation's title and a legend of signs and lines.

use std::fmt::Write as _;

use super::{BOLD, MARGIN, SMALL_SIZE, number, sign};
use crate::graph::markup;
use crate::graph::text::{clamp_lines, measure, one_line};
use crate::ruleset::{Role, Ruleset};
use crate::text::escape;

/// The minimum width of a picture with a header.
pub(super) const LEAST_WIDTH: f64 = 480.0;

const TITLE_SIZE: f64 = 16.0;
const TITLE_BASE: f64 = 24.0;
const ROW: f64 = 20.0;
/// The space between entries.
const GAP: f64 = 18.0;
/// The maximum length of a state's meaning, in em.
const MEANING: f64 = 36.0;

enum LegendMark {
    Sign(Option<Role>),
    /// The line of an edge: CSS class, width and dashes.
    Line(&'static str, &'static str, &'static str),
}

struct Symbol {
    mark: LegendMark,
    name: String,
    meaning: String,
    x: f64,
    row: usize,
}

/// Returns the height of the header.
pub(in crate::graph) fn height(ruleset: &Ruleset, width: f64) -> f64 {
    let rows = entries(ruleset, width).last().map_or(0, |entry| entry.row + 1);
    TITLE_BASE + ROW * rows as f64 + 10.0
}

pub(in crate::graph) fn write(out: &mut String, title: &str, ruleset: &Ruleset, width: f64) {
    let title = clamp_lines(title, (width - 2.0 * MARGIN) / TITLE_SIZE / BOLD, 1);
    out.push_str("<g class=\"legend\">");
    let bold = format!(" font-size=\"{}\" font-weight=\"700\"", number(TITLE_SIZE));
    let title = title.first().map_or("", String::as_str);
    markup::text(out, "", [&number(MARGIN), &number(TITLE_BASE)], &bold, title);
    let small = number(SMALL_SIZE);
    for entry in entries(ruleset, width) {
        let base = TITLE_BASE + ROW * (entry.row + 1) as f64 + 2.0;
        match entry.mark {
            LegendMark::Sign(role) => sign::write(out, role, entry.x + sign::SIZE / 2.0, base - 4.0),
            LegendMark::Line(class, width, dashes) => {
                let _ = write!(
                    out,
                    "<path class=\"{class}\" fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\"{dashes} \
                     d=\"M{} {}h24\"/>",
                    number(entry.x),
                    number(base - 4.0)
                );
            }
        }
        let x = number(entry.x + entry.mark.width());
        let _ = write!(out, "<text x=\"{x}\" y=\"{}\" font-size=\"{small}\">", number(base));
        if !entry.name.is_empty() {
            let _ = write!(out, "<tspan font-weight=\"700\">{}</tspan> ", escape(&entry.name));
        }
        let _ = write!(out, "<tspan class=\"card-note\">{}</tspan></text>", escape(&entry.meaning));
    }
    out.push_str("</g>\n");
}

impl LegendMark {
    fn width(&self) -> f64 {
        match self {
            LegendMark::Sign(_) => sign::SIZE + 6.0,
            LegendMark::Line(..) => 30.0,
        }
    }
}

/// Returns the entries, arranged in rows that are no wider than the picture.
fn entries(ruleset: &Ruleset, width: f64) -> Vec<Symbol> {
    let states = ruleset.states.iter().map(|state| {
        let meaning = clamp_lines(&one_line(&state.meaning), MEANING, 1).into_iter().next();
        (LegendMark::Sign(Some(state.role)), ruleset.label_of(&state.name), meaning.unwrap_or_default())
    });
    let others = [
        (LegendMark::Sign(None), "Proposed".to_owned(), "Not yet explored".to_owned()),
        (LegendMark::Line("edge on-path", "3", ""), String::new(), "the path to a checked answer".to_owned()),
        (
            LegendMark::Line("edge to-dead", "1.5", " stroke-dasharray=\"4 3\""),
            String::new(),
            "to a dead end, or a proposal".to_owned(),
        ),
    ];
    let (mut x, mut row) = (MARGIN, 0);
    states
        .chain(others)
        .map(|(mark, name, meaning)| {
            let texts = (measure(&name) * BOLD + measure(&meaning)) * SMALL_SIZE;
            let taken = mark.width() + texts + GAP;
            if x > MARGIN && x + taken > width {
                x = MARGIN;
                row += 1;
            }
            let entry = Symbol { mark, name, meaning, x, row };
            x += taken;
            entry
        })
        .collect()
}
