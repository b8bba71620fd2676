//! Sessions: what people type and what they read. Each Markdown file in `sessions/` is a test, named after the command that it
//! is about (`all` for several). It runs the commands of the file in one shell and compares what they print now with the file. `TOT_WRITE_SESSION=1` rewrites the files.
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
start | next | propose | commit | amend | end | run | rerun) ;;
list) exec env TOT_CLOCK="$CLOCK" "$TOT" "$@" ;;
*) exec "$TOT" "$@" ;;
esac
command=$1
shift
TOT_CLOCK=$CLOCK "$TOT" "$command" "$@"
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
        (r"\b([0-9a-f]{8}(-[0-9a-f]{4}){3}-)?[0-9a-f]{12}\b", "ID"),
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
        .env("CARGO", env!("CARGO"))
        .env("SOURCE", env!("CARGO_MANIFEST_DIR"));
    shell.envs(["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|name| (name, "2026-01-05T12:00:00Z")));
    shell.status().unwrap();
    let read = |name: String| std::fs::read_to_string(said.join(name)).unwrap_or_default();
    // What a session leaves out here.
    eprint!("{}", read("missing".to_owned()));
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
    let session = read("all__the_session_in_the_readme");
    let block = session.split("```console\n").nth(2).unwrap().split("\n```").next().unwrap();
    let shown = block.replace("\n$ ", "\n\n$ ").replace("/here/", "/home/ada/");
    compare(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".github/session.svg"), picture(&shown));
}

macro_rules! sessions {
    ($(#[$only:meta] $($name:ident)*)*) => {
        $($(#[$only]
        #[test]
        #[allow(non_snake_case, reason = "the underscores separate the command from what the session is about")]
        fn $name() {
            let name = stringify!($name);
            compare(&file(name), played(&read(name)));
        })*)*

        #[test]
        fn no_session_is_forgotten() {
            let files = std::fs::read_dir(file("any").parent().unwrap()).unwrap();
            let files: BTreeSet<_> = files.map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files, [$($(file(stringify!($name))),*),*].into());
        }
    };
}

sessions! {
    #[cfg(unix)]
    all__a_person_without_an_agent
    all__a_small_investigation
    all__colour
    all__commands_and_not_tools
    all__errors_as_json
    all__odd_names
    all__parts_of_ids
    all__root
    all__the_default_rules
    all__the_session_in_the_readme
    all__what_cannot_be_read
    all__wrong_usage
    check__a_comment_changed_by_hand
    check__a_file_in_place_of_the_nodes
    check__a_merge_and_a_bare_clone
    check__cited_files
    check__each_tampering
    check__exit_status
    check__signatures_by_each_key
    clone__a_whole_hub_or_parts
    comment__in_the_editor
    commit__invalid_files
    commit__sources
    commit__the_file_and_the_command
    commit__whole_or_not_at_all
    commit__without_a_name
    demo__one_changed_word
    diff__in_markdown
    end__another_conclusion
    end__sources_in_a_report
    end__warnings_stay
    end__with_a_draft
    export__every_format
    help__each_command
    impact__what_a_change_touches
    import__what_is_printed
    list__by_words_and_by_state
    next__claim_and_release
    next__names_the_investigation
    propose__a_title_is_enough
    propose__reopens_the_end
    remote__a_second_one
    report__of_a_folder_and_of_an_id
    report__open_makes_the_site
    report__what_cannot_be_shown
    run__unchanged_means_the_same
    run__what_is_captured
    show__another_result
    show__folded_trees
    show__words_of_a_title
    start__from_a_pipe
    start__names_related_investigations
    sync__one_fails
    sync__two_who_share
    sync__a_damaged_git_folder
    sync__to_another_address
    sync__what_cannot_be_synced
    sync__without_a_remote
    util__completions_for_each_shell
    util__ruleset_list_show_and_check

    #[cfg(target_os = "linux")]
    all__ctrl_c_in_a_pager_or_an_editor
    all__each_command
    all__output_that_cannot_be_printed
    all__the_same_root
    all__which_investigation
    attach__to_a_node
    comment__corrections
    commit__in_the_editor
    export__to_a_terminal
    help__fits_the_terminal
    help__topics_and_commands
    impact__tests_of_three_languages
    list__the_pager
    mcp__at_a_terminal
    report__open_beside_a_server
    report__open_the_browser
    rerun__a_branch_that_moved
    rerun__what_a_difference_means
    review__at_a_terminal
    review__what_is_new
    run__scripts_beside_the_project
    run__what_it_reads
    setup__after_an_upgrade
    setup__agents_md
    setup__by_clients
    setup__check_each_server
    setup__check_what_git_cannot_read
    setup__check_what_is_there
    setup__each_client
    setup__the_skill
    setup__writes_nothing_unless_asked
    show__narrow_and_wide
    start__asks_for_the_method
    util__man_of_each_command
}
