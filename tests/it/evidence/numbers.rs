//! Of the numbers beside runs in real reports, the true ones pass, and most are caught once a digit is changed.

use tree_of_thoughts::decide::sources::{figures, found_run};
use tree_of_thoughts::markdown::{Parsed, SourceTarget};
use tree_of_thoughts::store::Store;

use crate::support::Sandbox;

/// Each digit of each number is changed to each other digit. In `totals`, many numbers have one digit and stand alone.
#[test]
fn numbers_with_a_changed_digit_are_caught_and_true_ones_pass() {
    let sandbox = Sandbox::new();
    for (name, least) in [("latency", 0.87), ("totals", 0.74), ("decision", 0.91)] {
        let bundle = format!("{}/investigations/{name}.bundle", env!("CARGO_MANIFEST_DIR"));
        sandbox.git(&sandbox.path(""), &["clone", "-q", &bundle, name]);
        let snapshot = Store::new(sandbox.path("")).load(&sandbox.path(name)).unwrap();
        let (mut numbers, mut caught) = (0.0, 0.0);
        let texts = snapshot.investigation.reports().map(|report| Parsed::new(&report.report()));
        for source in texts.flat_map(|text| text.sources()) {
            let SourceTarget::Run(run) = &source.target else { continue };
            let figures = figures(found_run(&snapshot.investigation, run).unwrap()).unwrap();
            let missing = |text: &str| figures.not_shown(text, source.is_about);
            assert!(missing(&source.text).is_empty(), "{name}: {source:?}");
            for number in source.text.split(|c: char| !(c.is_alphanumeric() || c == '.')) {
                let number = number.trim_end_matches('.');
                let at = number.as_ptr() as usize - source.text.as_ptr() as usize;
                let wrong =
                    number.char_indices().filter(|(_, c)| c.is_ascii_digit()).flat_map(|(place, digit)| {
                        let others = ('0'..='9').filter(move |other| *other != digit);
                        others.map(move |other| (at + place, other.to_string()))
                    });
                let wrong: Vec<_> = wrong.collect();
                // A name with digits is no number.
                if wrong.is_empty() || number.starts_with(char::is_alphabetic) {
                    continue;
                }
                let is_caught = |(at, digit): &&(usize, String)| {
                    let mut text = source.text.clone();
                    text.replace_range(*at..at + 1, digit);
                    !missing(&text).is_empty()
                };
                numbers += 1.0;
                caught += wrong.iter().filter(is_caught).count() as f64 / wrong.len() as f64;
            }
        }
        println!("{name}: {:.1} % of {numbers} numbers", 100.0 * caught / numbers);
        assert!(numbers > 40.0 && caught / numbers > least, "{name}: {}", caught / numbers);
    }
}
