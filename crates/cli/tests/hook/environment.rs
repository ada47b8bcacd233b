//! No home, a folder that is gone, a full disk: the hook exits 0, says nothing, and counts what it could not keep.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sessionpipe_core::host::Dirs;
use sessionpipe_pipeline::losses::{self, Reason};

use crate::lab::{GENEROUS, Lab, PAYLOAD, feed, is_root, list, silent, skipped};

/// Somebody who is not root: `nobody`.
const OTHER: u32 = 65_534;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").mode() & 0o7777
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("ours");
}

fn give(path: &Path, uid: u32) {
    let given = Command::new("chown").arg("-R").arg(uid.to_string()).arg(path).status().expect("chown");
    assert!(given.success());
}

/// Runs a script as the root of a mount namespace of its own. `None`: this system does not let us.
fn in_namespace(lab: &Lab, script: &str) -> Option<Output> {
    let unshare: &[&str] = if is_root() { &["--mount"] } else { &["--map-root-user", "--mount"] };
    let mut may = Command::new("unshare");
    may.args(unshare).args(["sh", "-c", "mount -t tmpfs none /mnt"]).stderr(Stdio::null());
    if !may.status().is_ok_and(|status| status.success()) {
        skipped("no mount namespaces here");
        return None;
    }
    std::fs::write(lab.path("payload"), PAYLOAD).expect("a file");
    let mut command = lab.clean("unshare", unshare);
    command.args(["sh", "-ec", script]).env("HOOK", lab.program()).env("LAB", lab.path(""));
    Some(feed(command, b""))
}

#[test]
fn folders_are_0700_and_files_0600_whatever_the_umask() {
    let lab = Lab::new();
    silent(&feed(lab.shell(r#"umask 0; exec "$HOOK" claude-code Stop"#), PAYLOAD));
    let dirs = lab.dirs();
    for folder in [&dirs.state, &dirs.spool(), &lab.path("home/.local")] {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(lab.state(), ["losses", "spool"]);
    assert_eq!(mode(&dirs.losses()), 0o600);
    for entry in std::fs::read_dir(dirs.spool()).expect("a spool") {
        assert_eq!(mode(&entry.expect("a job").path()), 0o600);
    }
}

#[test]
fn a_state_folder_that_is_too_wide_is_narrowed() {
    let lab = Lab::new();
    let dirs = lab.dirs();
    std::fs::create_dir_all(dirs.spool()).expect("folders");
    chmod(&dirs.state, 0o777);
    chmod(&dirs.spool(), 0o775);
    silent(&feed(lab.hook(), PAYLOAD));
    assert_eq!((mode(&dirs.state), mode(&dirs.spool())), (0o700, 0o700));
    assert_eq!(lab.jobs().len(), 1);
}

#[test]
fn a_link_may_stand_for_the_state_folder_but_not_inside_it() {
    let lab = Lab::new();
    let dirs = lab.dirs();
    std::fs::create_dir_all(dirs.state.parent().expect("a parent")).expect("folders");
    std::fs::create_dir(lab.path("elsewhere")).expect("a folder");
    symlink(lab.path("elsewhere"), &dirs.state).expect("a link");
    silent(&feed(lab.hook(), PAYLOAD));
    assert_eq!(lab.jobs().len(), 1);

    let lab = Lab::new();
    let dirs = lab.dirs();
    std::fs::create_dir_all(&dirs.state).expect("folders");
    std::fs::create_dir(lab.path("elsewhere")).expect("a folder");
    symlink(lab.path("elsewhere"), dirs.spool()).expect("a link");
    silent(&feed(lab.hook(), PAYLOAD));
    assert_eq!(std::fs::read_dir(lab.path("elsewhere")).expect("a folder").count(), 0);
}

#[test]
fn a_state_folder_of_another_user_is_left_alone() {
    if !is_root() {
        return skipped("only root can give a folder away");
    }
    let lab = Lab::new();
    let dirs = lab.dirs();
    silent(&feed(lab.hook(), PAYLOAD));
    chown(&dirs.state, Some(OTHER), None).expect("we are root");
    chmod(&dirs.state, 0o755);
    silent(&feed(lab.hook(), PAYLOAD));
    assert_eq!(mode(&dirs.state), 0o755);
    chown(&dirs.state, Some(0), None).expect("we are root");
    assert_eq!(lab.jobs().len(), 1, "the second left none");
    assert_eq!(lab.lost(), [], "and is not counted there");
}

#[test]
fn a_spool_that_cannot_be_written_is_counted() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    let dirs = lab.dirs();
    let mut command = lab.hook();
    chmod(&dirs.spool(), 0o500);
    if is_root() {
        // Root may write everywhere: give the home away, and run as its owner.
        chmod(&lab.path(""), 0o755);
        give(&lab.path("home"), OTHER);
        command.uid(OTHER).gid(OTHER);
    }
    silent(&feed(command, PAYLOAD));
    if is_root() {
        give(&lab.path("home"), 0);
    }
    chmod(&dirs.spool(), 0o700);
    assert_eq!(lab.lost(), [(Reason::NoPermission, 1)]);
    assert_eq!(lab.jobs().len(), 1);
}

#[test]
fn a_full_disk_is_counted_and_passes() {
    let lab = Lab::new();
    let counted = Dirs::new(|_| None, &lab.path("full"));
    std::fs::create_dir_all(&counted.state).expect("folders");
    let script = r#"
        state="$HOME/.local/state/sessionpipe"
        mkdir -p "$state"
        mount -t tmpfs -o size=64k none "$state"
        "$HOOK" claude-code Stop < "$LAB/payload"
        dd if=/dev/zero of="$state/fill" bs=1k 2> "$LAB/dd" || true
        "$HOOK" claude-code Stop < "$LAB/payload"
        "$HOOK" claude-code Stop < "$LAB/payload"
        ls "$state/spool" > "$LAB/while-full"
        rm "$state/fill"
        "$HOOK" claude-code Stop < "$LAB/payload"
        ls "$state/spool" > "$LAB/after"
        cp "$state/losses" "$LAB/full/.local/state/sessionpipe/losses"
    "#;
    let Some(output) = in_namespace(&lab, script) else { return };
    silent(&output);
    let names = |file| std::fs::read_to_string(lab.path(file)).expect("names").lines().count();
    assert_eq!((names("while-full"), names("after")), (1, 2), "no draft stays");
    assert_eq!(list(losses::read(&counted).expect("counters")), [(Reason::DiskFull, 2)]);
    assert_eq!(list(losses::take(&counted).expect("counters")), [(Reason::DiskFull, 2)]);
    assert!(losses::read(&counted).expect("counters").is_empty(), "reported once");
}

#[test]
fn a_read_only_file_system() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    let script = r#"
        mount --bind "$HOME" "$HOME"
        mount -o remount,bind,ro "$HOME"
        "$HOOK" claude-code Stop < "$LAB/payload"
        rm -rf "$HOME/.local" 2> "$LAB/rm" || true
        HOME="$HOME/nothing-here" "$HOOK" claude-code Stop < "$LAB/payload"
    "#;
    let Some(output) = in_namespace(&lab, script) else { return };
    silent(&output);
    assert_eq!(lab.jobs().len(), 1);
}

#[test]
fn what_is_kept_is_shown_on_a_read_only_file_system() {
    let lab = Lab::new();
    let script = r#"
        # What a URI gives another meaning.
        export HOME="$LAB/home/a#b%20c?d"
        mkdir "$HOME"
        "$HOOK" claude-code Stop < "$LAB/payload"
        "$SHOW" flush > "$LAB/flushed"
        mount --bind "$HOME" "$HOME"
        mount -o remount,bind,ro "$HOME"
        "$SHOW" tail --json 2> "$LAB/note" > "$LAB/tail"
        "$SHOW" status > "$LAB/status"
    "#;
    let script = format!("SHOW={}\n{script}", env!("CARGO_BIN_EXE_sessionpipe"));
    let Some(output) = in_namespace(&lab, &script) else { return };
    silent(&output);
    let read = |name| std::fs::read_to_string(lab.path(name)).expect("a file");
    let shown: Vec<_> = read("tail").lines().map(|line| line.contains(r#""type":"turn.ended""#)).collect();
    assert_eq!(shown, [false, true], "its start, which was not seen, and its end");
    assert!(read("note").contains("Read-only file system"));
}

#[test]
fn without_a_home_the_user_database_has_it() {
    let lab = Lab::new();
    let passwd = format!("other:x:1:1::/nowhere:/bin/sh\nroot:x:0:0::{}:/bin/sh\n", lab.path("home").display());
    std::fs::write(lab.path("passwd"), passwd).expect("a file");
    let script = r#"
        mount --bind "$LAB/passwd" /etc/passwd
        unset HOME
        "$HOOK" claude-code Stop < "$LAB/payload"
        HOME= "$HOOK" claude-code Stop < "$LAB/payload"
        HOME=work "$HOOK" claude-code Stop < "$LAB/payload"
    "#;
    let Some(output) = in_namespace(&lab, script) else { return };
    silent(&output);
    assert_eq!(lab.jobs().len(), 3);
    assert_eq!(std::fs::read_dir(lab.path("work")).expect("a folder").count(), 0, "nothing beside the home");
}

#[test]
fn with_no_home_at_all_nothing_is_written() {
    let lab = Lab::new();
    std::fs::write(lab.path("passwd"), "other:x:1:1::/nowhere:/bin/sh\n").expect("a file");
    // An empty /tmp, into which others could have put what they like.
    let script = r#"
        mount --bind "$LAB/passwd" /etc/passwd
        mount --bind "$LAB" /mnt
        mount -t tmpfs none /tmp
        unset HOME
        /mnt/bin/sessionpipe-hook claude-code Stop < /mnt/payload
        ls -A /tmp > /mnt/in-tmp
    "#;
    let Some(output) = in_namespace(&lab, script) else { return };
    silent(&output);
    assert_eq!(std::fs::read_to_string(lab.path("in-tmp")).expect("a list"), "");
    assert_eq!(std::fs::read_dir(lab.path("work")).expect("a folder").count(), 0);
    assert_eq!(std::fs::read_dir(lab.path("home")).expect("a folder").count(), 0);
}

#[test]
fn a_working_folder_that_was_deleted() {
    let lab = Lab::new();
    let script = r#"mkdir gone; cd gone; rmdir ../gone; exec "$HOOK" claude-code Stop"#;
    silent(&feed(lab.shell(script), PAYLOAD));
    assert_eq!(lab.job().0.cwd, None);
}

#[test]
fn a_working_folder_in_another_script_under_the_c_locale() {
    let lab = Lab::new();
    let work = lab.path("wörk ✓");
    std::fs::create_dir(&work).expect("a folder");
    let mut command = lab.hook();
    command.env("LANG", "C").env("LC_ALL", "C").current_dir(&work);
    silent(&feed(command, PAYLOAD));
    let work = work.canonicalize().expect("it is there");
    assert_eq!(lab.job().0.cwd.as_deref(), work.to_str());
}

#[test]
fn without_free_descriptors_the_loss_is_counted() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    silent(&feed(lab.shell(r#"ulimit -n 4; exec "$HOOK" claude-code Stop"#), PAYLOAD));
    assert_eq!(lab.jobs().len(), 1);
    assert_eq!(lab.lost(), [(Reason::NoDescriptors, 1)]);
    silent(&feed(lab.shell(r#"ulimit -n 5; exec "$HOOK" claude-code Stop"#), PAYLOAD));
    assert_eq!(lab.jobs().len(), 2, "two are enough");
}

#[test]
fn a_limit_of_file_sizes_is_counted() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    // In units of 512 bytes: the counters' own file is as large as that.
    let script = r#"ulimit -f 1; exec "$HOOK" claude-code Stop"#;
    silent(&feed(lab.shell(script), &[PAYLOAD, &[b' '; 600]].concat()));
    let payload = format!(r#"{{"session_id":"s1","text":"{}"}}"#, "x".repeat(2_000));
    silent(&feed(lab.shell(script), payload.as_bytes()));
    assert_eq!(lab.lost(), [(Reason::System, 1)]);
    assert!(lab.jobs().iter().all(|(_, kept)| kept == PAYLOAD));
}

#[test]
fn counters_of_the_wrong_size_are_left_alone() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    std::fs::write(lab.dirs().losses(), b"short").expect("a file");
    silent(&feed(lab.shell(r#"ulimit -n 4; exec "$HOOK" claude-code Stop"#), PAYLOAD));
    assert_eq!(std::fs::read(lab.dirs().losses()).expect("a file"), b"short");
}

#[test]
fn a_fifo_or_a_file_in_the_way_of_the_worker_is_no_obstacle() {
    let lab = Lab::new();
    silent(&feed(lab.hook(), PAYLOAD));
    std::fs::write(lab.dirs().worker_fifo(), b"").expect("a file");
    lab.script("bin/sessionpipe", "#!/bin/sh\necho \"$*\" > \"$LAB/report\"\n");
    let report = lab.report("report");
    let mut command = lab.hook();
    command.env("LAB", lab.path(""));
    silent(&feed(command, PAYLOAD));
    assert_eq!(report.recv_timeout(GENEROUS).expect("a worker is started"), "worker\n");
    assert_eq!(std::fs::read(lab.dirs().worker_fifo()).expect("a file"), b"", "nothing was written into it");
}
