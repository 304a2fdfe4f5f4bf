//! Every error of every crate says what happened first, and states rules as rules. That none states a rule alone, the
//! constructors of `Error` see to; this looks at the words.

use std::fs;
use std::path::{Path, PathBuf};

/// What takes the words of what happened.
const WRONG: [&str; 8] = [
    "Error::new(",
    "Error::input(",
    "Error::forbidden(",
    "Error::conflict(",
    "Error::failed(",
    "Error::unsupported(",
    "Error::drift(",
    "let wrong = ",
];

/// What takes a rule, as its last argument.
const RULE: [&str; 4] = ["Error::cannot_use(", "Error::malformed(", ".rule(", "let rule = "];

/// How a rule sounds that is told as if it had happened: "the file can be read".
const AS_A_FACT: [&str; 9] =
    [" must ", " can be ", " may be ", " at least ", " at most ", " lies ", " exists", " between ", " at a time"];

#[test]
fn what_happened_is_told_and_rules_are_rules() {
    let (mut wrongs, mut rules, mut badly) = (0, 0, Vec::new());
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")) {
        let text = fs::read_to_string(&path).unwrap();
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        for said in said(text, &WRONG) {
            wrongs += 1;
            if AS_A_FACT.iter().any(|words| said.contains(words)) {
                badly.push(format!("{}: a rule, and not what happened: {said}", path.display()));
            }
        }
        for said in said(text, &RULE) {
            rules += 1;
            if !said.contains("must") {
                badly.push(format!("{}: a rule without \"must\": {said}", path.display()));
            }
        }
    }
    assert!(badly.is_empty(), "{}", badly.join("\n"));
    assert!(wrongs > 100 && rules > 80, "{wrongs} and {rules}: are these all?");
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    // Tests provoke errors, and state none.
    let folders = folders.iter().filter(|folder| !folder.ends_with("tests"));
    folders.flat_map(|folder| sources(folder)).chain(files.into_iter().filter(is_source)).collect()
}

/// The texts of the last argument wherever one of `calls` stands; a call whose argument is no text is left out.
fn said(text: &str, calls: &[&str]) -> Vec<String> {
    let starts = calls.iter().flat_map(|call| text.match_indices(call).map(move |(at, _)| at + call.len()));
    starts.filter_map(|start| last_literal(&text[start..])).collect()
}

/// The last argument's texts, up to the end of the call or the statement.
fn last_literal(code: &str) -> Option<String> {
    let (mut depth, mut literal, mut last, mut is_blank) = (0, None::<String>, None, true);
    let mut letters = code.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ';' if depth == 0 => break,
            ',' if depth == 0 => {
                last = literal.take();
                is_blank = true;
                continue;
            }
            '"' => {
                let literal = literal.get_or_insert_default();
                while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
                    literal.push(letter);
                    literal.extend((letter == '\\').then(|| letters.next()).flatten());
                }
            }
            _ => {}
        }
        is_blank = is_blank && letter.is_whitespace();
    }
    if is_blank { last } else { literal }
}

#[test]
fn the_words_of_a_call_are_found() {
    let code = r#"x.map_err(|_| Error::cannot_use(format!("{a} us"), format!("a \"b\" must {}", f(c)))).at("here")"#;
    assert_eq!(said(code, &RULE), [r#"a \"b\" must {}"#]);
    assert_eq!(said("Error::input(wrong).rule(rule)", &RULE), Vec::<String>::new());
}
