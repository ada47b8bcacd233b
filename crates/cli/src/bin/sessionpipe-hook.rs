//! The small program that the configs of the harnesses call: `sessionpipe-hook HARNESS EVENT …`. It holds the hook and
//! nothing else, so that it starts about as fast as a program can.
//!
//! With glibc and on macOS it has no start of Rust's own before it: that looks for the end of the stack and sets up handlers
//! which the hook does not need, in a dozen system calls. (Elsewhere the arguments are known only by that start.)

#![cfg_attr(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"), no_main)]

fn run() {
    sessionpipe_pipeline::hook::run(std::env::args_os().skip(1), sessionpipe::registry::HARNESSES);
}

#[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"))]
#[allow(unsafe_code, reason = "the name by which the C library starts a program")]
#[unsafe(no_mangle)]
extern "C" fn main(_argc: std::ffi::c_int, _argv: *const *const std::ffi::c_char) -> std::ffi::c_int {
    if sessionpipe_pipeline::platform::begin().is_ok() {
        run();
    }
    0
}

#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos")))]
fn main() {
    run();
}
