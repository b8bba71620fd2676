//! Sessions: what people type and what they read. Each Markdown file in `sessions/` is a test. It runs the commands of the file in
//! one shell and compares what they print now with the file. `TOT_WRITE_SESSION=1` rewrites the files.
//!
//! In a block of code, `$ ` begins a command and `> ` continues it. Its output follows, then its standard error behind `! `, and its
//! exit status in brackets unless it is 0. The commands below `BIN` help.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex_lite::Regex;

use crate::support::{Sandbox, TOT};

/// `tot` on a clock that stands still during a command and advances by a minute afterwards.
const CLOCKED: &str = r#"#!/bin/sh
case "$1" in
start | next | propose | commit | note | reclassify | amend | end | run | rerun) ;;
*) exec "$TOT" "$@" ;;
esac
command=$1
shift
"$TOT" "$command" --clock-file "$CLOCK" "$@"
status=$?
minute=$(($(cat "$CLOCK.minute") + 1))
echo $minute >"$CLOCK.minute"
printf '2026-01-05T%02d:%02d:00.000Z' $((9 + minute / 60)) $((minute % 60)) >"$CLOCK"
exit $status
"#;

/// Programs of the sessions, beside those of the system.
const BIN: [(&str, &str); 4] = [
    ("tot", CLOCKED),
    // Runs a command line at a terminal, provided by util-linux.
    (
        "terminal",
        "#!/bin/sh\nscript -q -e -c \"$*\" /dev/null >\"$CLOCK.typed\"\nstatus=$?\ntr -d '\\r' <\"$CLOCK.typed\"\nexit $status\n",
    ),
    // Edits a file by hand with sed, and commits it.
    (
        "edit",
        "#!/bin/sh\nsed \"$2\" \"$1\" >\"$CLOCK.edited\" && cat \"$CLOCK.edited\" >\"$1\" && git commit -qam 'Edit by hand'\n",
    ),
    // Runs a command as another person.
    (
        "as",
        "#!/bin/sh\nGIT_AUTHOR_NAME=$1 GIT_AUTHOR_EMAIL=$1@example.org\nexport GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL\nshift\nexec \"$@\"\n",
    ),
];

/// Sessions with these words in them show no ids, commits and times.
const MASKED: &str = "replaced by ID, COMMIT and TIME";

/// Replaces everything that differs between runs: ids, commits and times.
pub fn masked(text: &str) -> String {
    let masks = [
        (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID"),
        (r"\b[0-9a-f]{40}\b", "COMMIT"),
        (r"\b[0-9a-f]{12}\b", "NUMBER"),
        (r"\b[0-9a-f]{10}\b", "COMMIT"),
        (r"COMMIT-[0-9a-f]{4}\b", "COMMIT-MORE"),
        (r"\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{3}Z| \d\d:\d\d)", "TIME"),
    ];
    masks.iter().fold(text.to_owned(), |text, (form, name)| {
        Regex::new(form).unwrap().replace_all(&text, *name).into_owned()
    })
}

/// Runs the commands of a session, and returns it with what they print now.
pub fn played(session: &str) -> String {
    let sandbox = Sandbox::new();
    let folders = ["bin", "here", "said"].map(|name| sandbox.path(name));
    folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    let [bin, here, said] = folders;
    for (name, text) in BIN {
        std::fs::write(bin.join(name), text).unwrap();
    }
    std::fs::write(sandbox.path("clock.minute"), "0").unwrap();
    let close = |number: usize| format!("echo $? >$SAID/{number}.status\n");
    let (mut script, mut number) = ("chmod +x ../bin/*\n".to_owned(), 0);
    let (mut is_code, mut is_typed) = (false, false);
    let mut parts: Vec<String> = vec![String::new()];
    for line in session.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        if let Some(typed) = line.strip_prefix("$ ").filter(|_| is_code) {
            script.push_str(&close(number));
            number += 1;
            parts.push(String::new());
            script.push_str(&format!("exec >$SAID/{number}.out 2>$SAID/{number}.err\n{typed}\n"));
            is_typed = true;
        } else if let Some(typed) = line.strip_prefix('>').filter(|_| is_typed) {
            script.push_str(&format!("{}\n", typed.strip_prefix(' ').unwrap_or(typed)));
        } else {
            is_typed = false;
            // What was printed before.
            if is_code && !is_fence {
                continue;
            }
        }
        parts[number].push_str(&format!("{line}\n"));
    }
    script.push_str(&close(number));
    std::fs::write(sandbox.path("session.sh"), script).unwrap();
    let programs = Path::new(TOT).parent().unwrap();
    let mut shell = sandbox.command("sh");
    shell.arg("../session.sh").current_dir(&here).stdin(Stdio::null());
    shell.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env("TERM", "xterm");
    shell
        .env("TOT", TOT)
        .env("CLOCK", sandbox.path("clock"))
        .env("SAID", &said)
        .env("SOURCE", env!("CARGO_MANIFEST_DIR"));
    shell.envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-05T12:00:00Z")));
    shell.status().unwrap();
    let read = |name: String| std::fs::read_to_string(said.join(name)).unwrap_or_default();
    let mut shown = String::new();
    for (number, part) in parts.iter().enumerate() {
        // The end of the block and the text below it follow what the command prints.
        let (typed, below) = part.split_once("```\n").filter(|_| number > 0).unwrap_or((part, ""));
        shown.push_str(typed);
        read(format!("{number}.out")).lines().for_each(|line| shown.push_str(&format!("{line}\n")));
        read(format!("{number}.err")).lines().for_each(|line| shown.push_str(&format!("! {line}\n")));
        match read(format!("{number}.status")).trim() {
            "0" => {}
            status => shown.push_str(&format!("[{status}]\n")),
        }
        if part.len() > typed.len() {
            shown.push_str(&format!("```\n{below}"));
        }
    }
    let shown =
        shown.replace(here.to_str().unwrap(), "/here").replace(programs.to_str().unwrap(), "/programs");
    let shown = shown.replace(sandbox.path("").to_str().unwrap().trim_end_matches('/'), "/sandbox");
    let shown = shown.replace(env!("CARGO_MANIFEST_DIR"), "/source").replace('\u{1b}', "␛");
    if session.contains(MASKED) { masked(&shown) } else { shown }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/sessions").join(name).with_extension("md")
}

/// Returns the text of a session.
pub fn read(name: &str) -> String {
    std::fs::read_to_string(file(name)).unwrap()
}

/// Compares a file with its new text, or writes the text.
pub fn compare(file: &Path, now: String) {
    if std::env::var_os("TOT_WRITE_SESSION").is_some() {
        std::fs::write(file, now).unwrap();
        return;
    }
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("now"), now).unwrap();
    let mut command = Command::new("git");
    command.args(["diff", "--no-index"]).arg(file).arg(sandbox.path("now"));
    let difference = command.output().unwrap();
    assert!(difference.status.success(), "{}", String::from_utf8_lossy(&difference.stdout));
}

/// A picture of a terminal, dark on any page.
fn picture(session: &str) -> String {
    const LINE: usize = 19;
    const WIDTH: usize = 8;
    /// The width of the terminal, in characters.
    const COLUMNS: usize = 100;
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let lines: Vec<&str> = session.lines().collect();
    let (width, height) = (COLUMNS * WIDTH + 40, lines.len() * LINE + 36);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" aria-label=\"A session of tot in a terminal\">\n\
         <style>text {{ font: 13px ui-monospace, Menlo, Consolas, monospace; fill: #d6deeb; white-space: pre }} \
         .typed {{ font-weight: bold; fill: #ffffff }}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#0b1c2c\"/>\n"
    );
    for (number, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = number * LINE + 30;
        let class = if line.starts_with("$ ") { " class=\"typed\"" } else { "" };
        // The columns stay aligned in any font.
        let length = line.chars().count() * WIDTH;
        svg.push_str(&format!(
            "<text x=\"20\" y=\"{y}\"{class} textLength=\"{length}\" xml:space=\"preserve\">{}</text>\n",
            escaped(line)
        ));
    }
    svg + "</svg>\n"
}

#[test]
fn the_picture_in_the_readme_shows_the_session() {
    let session = read("the_session_in_the_readme_is_what_the_commands_print");
    let block = session.split("```console\n").nth(2).unwrap().split("\n```").next().unwrap();
    let shown = block.replace("\n$ ", "\n\n$ ").replace("/here/", "/home/ada/");
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/session.svg"), picture(&shown));
}

macro_rules! sessions {
    ($($(#[$only:meta])* $name:ident)*) => {
        $($(#[$only])*
        #[test]
        fn $name() {
            let name = stringify!($name);
            compare(&file(name), played(&read(name)));
        })*

        #[test]
        fn no_session_is_forgotten() {
            let files = std::fs::read_dir(file("any").parent().unwrap()).unwrap();
            let files: BTreeSet<_> = files.map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files, [$(file(stringify!($name))),*].into());
        }
    };
}

sessions! {
    a_clone_is_of_a_whole_hub_or_of_parts_of_it
    #[cfg(target_os = "linux")]
    a_comment_is_written_in_the_editor
    a_comment_that_was_changed_or_removed_by_hand_is_named_by_check
    a_file_in_the_place_of_the_nodes_is_a_fault
    a_merge_is_a_note_and_a_bare_clone_is_checked_too
    #[cfg(target_os = "linux")]
    a_narrow_screen_and_a_wide_one
    a_next_step_names_the_investigation_where_there_are_several
    a_note_is_stored_whole_or_not_at_all
    #[cfg(target_os = "linux")]
    a_paragraph_joins_what_agents_md_says
    a_person_without_an_agent_gets_from_the_question_to_the_published_report
    a_report_is_made_where_one_stands_and_of_an_id
    #[cfg(target_os = "linux")]
    a_result_is_written_in_the_editor_and_what_is_refused_is_kept
    #[cfg(target_os = "linux")]
    a_review_fits_the_terminal_and_goes_on_by_keys
    #[cfg(target_os = "linux")]
    a_review_tells_what_is_new_until_it_is_marked
    a_root_stands_before_or_after_the_command_or_in_the_environment
    a_second_remote_gets_nothing_by_itself
    #[cfg(target_os = "linux")]
    a_server_that_a_person_starts_says_what_it_waits_for
    a_small_investigation_takes_a_handful_of_commands_and_no_refusal
    a_small_tree_is_shown_whole_and_a_folded_one_says_how_to_see_the_rest
    a_sync_does_not_pass_over_in_silence_what_has_no_remote
    a_title_is_enough_to_propose
    #[cfg(target_os = "linux")]
    an_answer_that_cannot_be_printed_is_not_taken_for_nothing_done
    an_error_leaves_no_document_out
    #[cfg(target_os = "linux")]
    an_export_to_a_terminal_commands_nothing_there
    an_id_is_completed_and_one_that_fits_several_names_them
    another_conclusion_is_not_dropped_with_a_status_of_success
    #[cfg(target_os = "linux")]
    at_a_terminal_a_start_asks_for_the_method_and_nowhere_else
    #[cfg(target_os = "linux")]
    ctrl_c_in_a_pager_or_an_editor_does_not_end_what_waits_for_it
    #[cfg(target_os = "linux")]
    each_client_finds_its_entry_where_it_looks
    each_command_is_explained_and_is_in_a_session
    #[cfg(target_os = "linux")]
    each_command_says_what_it_did
    each_reader_is_as_colourful_as_it_is_asked_to_be
    each_shell_gets_a_script_that_knows_the_commands
    each_tampering_is_named_with_file_and_line
    every_form_holds_the_investigation
    #[cfg(target_os = "linux")]
    help_and_rulesets_fit_the_terminal
    #[cfg(target_os = "linux")]
    help_explains_topics_and_commands
    lists_are_narrowed_by_words_and_by_state
    odd_names_are_refused_with_a_reason
    one_that_fails_keeps_no_other_from_being_synced
    #[cfg(target_os = "linux")]
    open_does_not_write_a_site_that_a_server_is_writing
    open_makes_the_site_and_says_where_it_is
    #[cfg(target_os = "linux")]
    open_starts_the_browser_that_the_environment_names
    people_are_told_of_commands_and_not_of_tools
    #[cfg(target_os = "linux")]
    setup_writes_nothing_unless_asked_to
    the_default_rules_take_a_command_for_each_node_that_they_ask_for
    #[cfg(target_os = "linux")]
    the_doctor_says_what_is_there_and_what_to_do
    #[cfg(target_os = "linux")]
    the_doctor_takes_no_other_server_for_ours_and_names_clients_without_it
    the_exit_status_of_a_check_tells_scripts
    the_fields_of_another_result_are_not_run_into_one_paragraph
    the_only_open_investigation_is_meant_or_the_one_that_was_chosen
    #[cfg(target_os = "linux")]
    the_pager_is_the_one_that_git_would_take
    the_question_may_come_from_a_pipe_and_the_reply_is_that_of_the_tool
    the_session_in_the_readme_is_what_the_commands_print
    #[cfg(target_os = "linux")]
    #[cfg(target_os = "linux")]
    the_same_root_is_found_from_everywhere
    the_skill_goes_where_the_client_looks
    #[cfg(target_os = "linux")]
    there_is_a_manual_page_for_each_command_and_topic
    two_who_share_from_the_first_sync_to_a_merge
    what_a_file_says_and_what_the_command_says_fit
    what_an_end_was_warned_of_stays_in_its_message
    what_can_not_be_read_is_named
    what_can_not_be_synced_or_cloned_is_told
    #[cfg(target_os = "linux")]
    what_cannot_be_read_and_an_entry_that_is_there_stay_as_they_are
    what_is_no_call_is_told_and_nothing_is_written
    what_is_printed_of_an_import
    who_has_no_name_in_git_is_nobody_and_not_a_person_of_the_programs_name
    #[cfg(target_os = "linux")]
    wrong_usage_ends_with_2
}
