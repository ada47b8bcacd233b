//! The small program that the configs of the harnesses call: `sessionpipe-hook HARNESS EVENT …`. It holds the hook and
//! nothing else, so that it starts about as fast as a program can.

fn main() {
    sessionpipe_pipeline::hook::run(std::env::args_os().skip(1), sessionpipe::registry::HARNESSES);
}
