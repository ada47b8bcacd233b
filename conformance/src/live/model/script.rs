//! What the fake model does, independent of the wire format and of the harness.
//!
//! A prompt names its script with a marker, `[[lab:tool-ok]]`; the newest marked prompt counts. A script is a list of
//! steps; the step is the number of tool calls that the model has made since that prompt. Harnesses name their tools
//! differently, so a step asks for a *kind* of tool: the first offered tool with a known name is called, its arguments
//! filled in from the schema that the harness sent. A step whose kind of tool is not offered is left out.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::wire::{Conversation, Reply, Role, Tool};

/// The script of a prompt without a marker.
const DEFAULT: &str = "text";

/// The size of a large tool result in bytes: over every cap that a harness or sessionpipe has.
pub const LARGE: usize = 2 * 1024 * 1024;

/// What the model did, and where in which script that stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The script's name.
    pub script: String,
    /// The step, from 0.
    pub step: usize,
    /// What it does.
    pub reply: Reply,
}

/// The calls of a turn with many.
const MANY: usize = 200;

enum Step {
    Say(&'static str),
    Fail(u16, &'static str),
    Call(Call),
    /// The call that a step makes, so many times at once.
    Batch(Box<Step>, usize),
}

/// A tool call, before it is known which tools there are.
struct Call {
    /// The names of such a tool, the best first.
    names: &'static [&'static str],
    /// Every argument that such a tool may have in some harness; a tool gets those that its schema knows.
    args: Value,
    /// The input of a free-form tool.
    text: Option<String>,
    /// What to run where the one tool is a console for programs that call the others.
    program: Option<String>,
    /// An argument that has to be understood for the call to make sense.
    needs: Option<&'static str>,
}

/// The tool that runs programs which call the other tools.
const CONSOLE: &str = "exec";

fn steps(script: &str, project: &Path) -> Option<Vec<Step>> {
    use Step::{Fail, Say};
    let file = project.join("note.txt");
    let file = file.to_string_lossy();
    Some(match script {
        "text" => vec![Say("Hello from the fake model.")],
        "tool-ok" => vec![shell("echo hello-from-lab", false), Say("The command ran.")],
        "tool-fail" => vec![shell("echo oops; exit 3", false), Say("The command failed with 3.")],
        "edit" => vec![
            write_file(&file, "line one\nline two\n"),
            edit_file(&file, "line two", "line 2"),
            Say("The file is written."),
        ],
        "api-error" => vec![Fail(400, "lab: the model refuses this request")],
        "busy" => vec![Fail(503, "lab: the model is busy")],
        "permission" => vec![shell("touch lab-permission.txt", true), Say("The command was allowed.")],
        "ask" => vec![ask("Which one?"), Say("The question was answered.")],
        "subagent" => vec![delegate("Please look around. [[lab:sub]]"), await_agent(), Say("The subagent is done.")],
        "sub" => vec![look_around(), finish_agent("Subagent result."), Say("Subagent result.")],
        // The runner acts once `lab-running` is there; only it makes `lab-go`. First the harness shows what it runs.
        "wait" => vec![
            shell(
                "for i in 1 2 3 4 5; do sleep 0.1; done; touch lab-running; while [ ! -e lab-go ]; do sleep 0.1; done",
                false,
            ),
            shell("echo hello-from-lab", false),
            Say("The wait is over."),
        ],
        // More than a pipe holds without a reader.
        "many" => vec![Step::Batch(Box::new(look_around()), MANY), Say("That was a lot.")],
        "large" => vec![
            shell(&format!("head -c {LARGE} /dev/zero | tr '\\0' x"), false),
            write_file(&file, &"large line of a large file\n".repeat(LARGE / 27 + 1)),
            Say("That was large."),
        ],
        _ => return None,
    })
}

/// What the model does next.
#[must_use]
pub fn answer(asked: &Conversation, project: &Path) -> Played {
    if let Some(text) = &asked.side_answer {
        return Played { script: "side-request".to_owned(), step: 0, reply: Reply::Say(text.clone()) };
    }
    let (name, called) = marked(asked);
    let (name, steps) = match steps(name, project) {
        Some(steps) => (name, steps),
        None => (DEFAULT, steps(DEFAULT, project).unwrap_or_default()),
    };
    let mut replies: Vec<_> = steps.into_iter().filter_map(|step| reply(step, &asked.tools)).collect();
    let step = called.min(replies.len().saturating_sub(1));
    let reply = if replies.is_empty() { Reply::Say(String::new()) } else { replies.swap_remove(step) };
    Played { script: name.to_owned(), step, reply }
}

/// The script that the newest marked prompt names, and how many calls the model has made since.
fn marked(asked: &Conversation) -> (&str, usize) {
    let mut calls = 0;
    for turn in asked.turns.iter().rev() {
        match turn.role {
            Role::Assistant if turn.calls => calls += 1,
            Role::User => {
                if let Some(name) = marker(&turn.text) {
                    return (name, calls);
                }
            }
            _ => {}
        }
    }
    (DEFAULT, 0)
}

/// The last marker of a text.
fn marker(text: &str) -> Option<&str> {
    let (_, rest) = text.rsplit_once("[[lab:")?;
    let (name, _) = rest.split_once("]]")?;
    name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-').then_some(name)
}

fn reply(step: Step, tools: &[Tool]) -> Option<Reply> {
    match step {
        Step::Say(text) => Some(Reply::Say(text.to_owned())),
        Step::Batch(step, times) => match reply(*step, tools)? {
            Reply::Call { tool, input } => Some(Reply::Batch { tool, input, times }),
            other => Some(other),
        },
        Step::Fail(status, message) => Some(Reply::Fail { status, message: message.to_owned() }),
        Step::Call(call) => {
            let named = |name: &&str| tools.iter().find(|tool| tool.name == *name);
            if let Some(tool) = call.names.iter().find_map(named) {
                let input = if tool.freeform {
                    Value::String(call.text?)
                } else {
                    Value::Object(fill(&tool.schema, &call.args))
                };
                let understood = call.needs.is_none_or(|needs| tool.freeform || holds(&input, needs));
                return understood.then(|| Reply::Call { tool: tool.clone(), input });
            }
            let console = tools.iter().find(|tool| tool.name == CONSOLE && tool.freeform)?;
            Some(Reply::Call { tool: console.clone(), input: Value::String(call.program?) })
        }
    }
}

/// Whether some text of a value is the wanted one.
fn holds(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted || text.contains("*** Begin Patch"),
        Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
        Value::Object(members) => members.values().any(|member| holds(member, wanted)),
        _ => false,
    }
}

/// Arguments that satisfy a schema: what is wanted where the schema knows it, and something valid for the rest that is
/// required.
fn fill(schema: &Value, wanted: &Value) -> Map<String, Value> {
    let required = |key: &str| schema["required"].as_array().is_some_and(|keys| keys.iter().any(|k| k == key));
    let mut args = Map::new();
    for (key, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = match wanted.get(key) {
            Some(value) => Some(fit(property, value)),
            None => nested(property, wanted).or_else(|| required(key).then(|| anything(property))),
        };
        if let Some(value) = value {
            args.insert(key.clone(), value);
        }
    }
    args
}

/// A wanted value in the form that a property asks for.
fn fit(property: &Value, wanted: &Value) -> Value {
    if let Some(allowed) = property["enum"].as_array()
        && !allowed.contains(wanted)
    {
        return allowed.first().cloned().unwrap_or_default();
    }
    match wanted {
        // A command as an argv.
        Value::String(command) if is(property, "array") => json!(["bash", "-lc", command]),
        _ => wanted.clone(),
    }
}

/// A list of objects whose members are wanted, such as the edits of an edit tool.
fn nested(property: &Value, wanted: &Value) -> Option<Value> {
    let items = is(property, "array").then(|| &property["items"])?;
    let known = items["properties"].as_object()?.keys().any(|key| wanted.get(key).is_some());
    known.then(|| json!([fill(items, wanted)]))
}

fn anything(property: &Value) -> Value {
    let property = property["anyOf"].get(0).unwrap_or(property);
    if let Some(first) = property["enum"].get(0) {
        return first.clone();
    }
    match () {
        () if is(property, "object") => Value::Object(fill(property, &Value::Null)),
        () if is(property, "array") => json!([]),
        () if is(property, "number") || is(property, "integer") => 30.into(),
        () if is(property, "boolean") => false.into(),
        () => "lab".into(),
    }
}

/// Some vendors write types in capitals.
fn is(property: &Value, kind: &str) -> bool {
    property["type"].as_str().is_some_and(|t| t.eq_ignore_ascii_case(kind))
}

const SHELL: &[&str] = &["Bash", "bash", "exec_command", "run_shell_command", "shell_command", "shell", "Execute"];

/// Runs a command; `ask` wants the person's permission where a tool can say so.
fn shell(command: &str, ask: bool) -> Step {
    let mut args = json!({
        "command": command, "cmd": command, "description": "Run a lab command", "summary": "Run a lab command",
        "is_background": false, "yield_time_ms": 5000,
    });
    let mut program = json!({"cmd": command});
    if ask {
        for args in [&mut args, &mut program] {
            args["sandbox_permissions"] = "require_escalated".into();
            args["justification"] = "May this lab command run outside the sandbox?".into();
        }
    }
    let program = Some(format!("text(JSON.stringify(await tools.exec_command({program})));"));
    Step::Call(Call { names: SHELL, args, text: None, program, needs: None })
}

fn patch(patch: String, names: &'static [&'static str], mut args: Value, needs: Option<&'static str>) -> Step {
    args["input"] = patch.as_str().into();
    let program = Some(format!("text(JSON.stringify(await tools.apply_patch({})));", json!(patch)));
    Step::Call(Call { names, args, text: Some(patch), program, needs })
}

fn write_file(file: &str, content: &str) -> Step {
    let added: String = content.lines().flat_map(|line| ["+", line, "\n"]).collect();
    let args = json!({"file_path": file, "filePath": file, "path": file, "content": content, "contents": content, "file_text": content});
    let names = &["Write", "write", "write_file", "create", "Create", "apply_patch"];
    patch(format!("*** Begin Patch\n*** Add File: note.txt\n{added}*** End Patch\n"), names, args, None)
}

fn edit_file(file: &str, before: &'static str, after: &str) -> Step {
    let mut args = json!({"file_path": file, "filePath": file, "path": file, "instruction": format!("Change {before} to {after}")});
    for key in ["old_string", "oldString", "old_str", "oldText", "old_text"] {
        args[key] = before.into();
    }
    for key in ["new_string", "newString", "new_str", "newText", "new_text"] {
        args[key] = after.into();
    }
    let change = format!("*** Begin Patch\n*** Update File: note.txt\n@@\n-{before}\n+{after}\n*** End Patch\n");
    // Some edit tools take a form that none of these arguments fits.
    patch(change, &["Edit", "edit", "replace", "apply_patch"], args, Some(before))
}

/// Puts a question with two answers to the person.
fn ask(question: &str) -> Step {
    let options = json!([{"label": "One", "description": "the first"}, {"label": "Two", "description": "the second"}]);
    let args = json!({"questions": [{
        "id": "lab", "header": "Lab", "question": question, "type": "choice", "multiSelect": false, "options": options,
    }], "questionnaire": format!("1. [question] {question}\n[topic] Lab\n[option] One\n[option] Two")});
    let names = &["AskUserQuestion", "AskUser", "ask_user", "request_user_input"];
    Step::Call(Call { names, args, text: None, program: None, needs: None })
}

fn delegate(prompt: &str) -> Step {
    let args = json!({
        "description": "Lab subtask", "prompt": prompt, "message": prompt, "task": prompt, "context": "Lab context",
        "subagent_type": "general-purpose", "agent_type": "task", "agent_name": "codebase_investigator", "agent": "task",
        "name": "lab-sub", "task_name": "lab_sub", "mode": "sync", "run_in_background": false, "fork_turns": "none",
    });
    let names = &["Agent", "Task", "task", "agent", "invoke_agent", "spawn_agent"];
    Step::Call(Call { names, args, text: None, program: None, needs: None })
}

/// Where a subagent runs in the background, the model has to wait for it.
fn await_agent() -> Step {
    let args = json!({"timeout_ms": 15000, "op": "wait"});
    Step::Call(Call { names: &["wait_agent", "hub"], args, text: None, program: None, needs: None })
}

fn look_around() -> Step {
    let command = "echo hello-from-sub";
    let args = json!({
        "command": command, "cmd": command, "description": "Look around", "summary": "Look around", "is_background": false,
        "yield_time_ms": 5000, "dir_path": ".", "path": ".", "pattern": "*",
    });
    let names = &["Bash", "bash", "exec_command", "run_shell_command", "list_directory", "glob", "Execute"];
    let program = Some(format!("text(JSON.stringify(await tools.exec_command({})));", json!({"cmd": command})));
    Step::Call(Call { names, args, text: None, program, needs: None })
}

/// Some subagents end with a tool.
fn finish_agent(result: &str) -> Step {
    let args = json!({"result": result, "response": result, "data": result});
    Step::Call(Call { names: &["complete_task", "yield"], args, text: None, program: None, needs: None })
}

#[cfg(test)]
mod tests {
    use super::super::wire::Turn;
    use super::*;

    fn turn(role: Role, text: &str, calls: bool) -> Turn {
        Turn { role, text: text.to_owned(), calls }
    }

    fn asked(prompt: &str, calls: usize, tools: Vec<Tool>) -> Conversation {
        let mut turns = vec![turn(Role::User, prompt, false)];
        for _ in 0..calls {
            turns.push(turn(Role::Assistant, "", true));
            turns.push(turn(Role::Tool, "out", false));
        }
        Conversation { turns, tools, ..Conversation::default() }
    }

    fn tool(name: &str, schema: Value) -> Tool {
        Tool { name: name.to_owned(), schema, ..Tool::default() }
    }

    fn play(conversation: &Conversation) -> (String, usize, Reply) {
        let played = answer(conversation, Path::new("/p"));
        (played.script, played.step, played.reply)
    }

    #[test]
    fn the_newest_marker_counts_and_calls_since_it_are_the_step() {
        let bash =
            || vec![tool("Bash", json!({"properties": {"command": {"type": "string"}}, "required": ["command"]}))];
        let (script, step, reply) = play(&asked("go [[lab:tool-ok]]", 0, bash()));
        assert_eq!((script.as_str(), step), ("tool-ok", 0));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(input, json!({"command": "echo hello-from-lab"}));

        let (_, step, reply) = play(&asked("go [[lab:tool-ok]]", 1, bash()));
        assert_eq!((step, reply), (1, Reply::Say("The command ran.".into())));

        let mut two = asked("first [[lab:tool-ok]]", 1, bash());
        two.turns.push(turn(Role::User, "then [[lab:text]]", false));
        assert_eq!(play(&two), ("text".into(), 0, Reply::Say("Hello from the fake model.".into())));
        // An unmarked text, as harnesses add them, does not hide the prompt.
        two.turns.push(turn(Role::User, "<reminder>", false));
        assert_eq!(play(&two).0, "text");
    }

    #[test]
    fn unmarked_unknown_and_odd_prompts_get_the_default() {
        for prompt in ["go", "[[lab:nothing-of-that-name]]", "[[lab:", "[[lab:A b]]", ""] {
            assert_eq!(
                play(&asked(prompt, 0, Vec::new())).2,
                Reply::Say("Hello from the fake model.".into()),
                "{prompt}"
            );
        }
    }

    #[test]
    fn a_step_whose_tool_is_not_offered_is_left_out() {
        let (_, step, reply) = play(&asked("[[lab:edit]]", 0, Vec::new()));
        assert_eq!((step, reply), (0, Reply::Say("The file is written.".into())));
    }

    #[test]
    fn arguments_follow_the_schema() {
        let edits = tool(
            "edit",
            json!({"required": ["path", "edits", "mode", "when"], "properties": {
            "path": {"type": "STRING"},
            "edits": {"type": "array", "items": {"required": ["oldText"], "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}}}},
            "mode": {"enum": ["fast", "slow"]}, "when": {"type": "integer"}, "optional": {"type": "string"}}}),
        );
        let write = tool("write", json!({"properties": {"path": {}, "content": {}}}));
        let (_, _, reply) = play(&asked("[[lab:edit]]", 1, vec![write, edits]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(
            input,
            json!({"path": "/p/note.txt", "edits": [{"oldText": "line two", "newText": "line 2"}], "mode": "fast", "when": 30})
        );

        let argv = tool("shell", json!({"properties": {"command": {"type": "array"}}}));
        let (_, _, reply) = play(&asked("[[lab:tool-ok]]", 0, vec![argv]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(input, json!({"command": ["bash", "-lc", "echo hello-from-lab"]}));
    }

    #[test]
    fn an_enum_that_lacks_the_wanted_value_gives_its_first() {
        let agent = tool("Agent", json!({"properties": {"prompt": {}, "subagent_type": {"enum": ["explore"]}}}));
        let (_, _, reply) = play(&asked("[[lab:subagent]]", 0, vec![agent]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(input, json!({"prompt": "Please look around. [[lab:sub]]", "subagent_type": "explore"}));
    }

    #[test]
    fn free_form_tools_get_a_patch_and_consoles_a_program() {
        let freeform = |name: &str| Tool { name: name.to_owned(), freeform: true, ..Tool::default() };
        let (_, _, reply) = play(&asked("[[lab:edit]]", 0, vec![freeform("apply_patch")]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(input, "*** Begin Patch\n*** Add File: note.txt\n+line one\n+line two\n*** End Patch\n");

        let (_, _, reply) = play(&asked("[[lab:tool-ok]]", 0, vec![freeform("exec")]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert_eq!(input, r#"text(JSON.stringify(await tools.exec_command({"cmd":"echo hello-from-lab"})));"#);
    }

    #[test]
    fn large_results_are_larger_than_two_megabytes() {
        let write = tool("Write", json!({"properties": {"content": {}}}));
        let (_, _, reply) = play(&asked("[[lab:large]]", 0, vec![write]));
        let Reply::Call { input, .. } = reply else { panic!("{reply:?}") };
        assert!(input["content"].as_str().is_some_and(|c| c.len() >= LARGE));
    }

    #[test]
    fn side_requests_are_answered_as_the_wire_says() {
        let conversation =
            Conversation { side_answer: Some("Lab title".into()), ..asked("[[lab:tool-ok]]", 0, Vec::new()) };
        assert_eq!(play(&conversation), ("side-request".into(), 0, Reply::Say("Lab title".into())));
    }
}
