//! Wiring made true: plan, preview, apply, undo.
//!
//! Adapters say what must be true of config files ([`sessionpipe_core::wiring::Wiring`]). This crate reads the files,
//! computes the new text ([`plan_install`], [`plan_uninstall`]), shows it ([`FilePlan::diff`]), does exactly that
//! ([`apply()`]) and says what is there ([`status()`]).
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | what would change, file by file; never writes |
//! | [`apply`](mod@apply) | the compare-and-swap, the rollback, the receipt |
//! | [`status`](mod@status) | what the files hold now, compared with the manifest |
//! | [`manifest`] | what `install` did, so that `uninstall` can give back the bytes |
//! | [`refusal`] | why a file is left alone, and where in it |
//!
//! A file is edited by splicing into the person's own bytes. Parsers only tell where; what they would print is never
//! used. Then the result is parsed again and compared, as a value, with what was wanted.

pub mod apply;
mod disk;
mod edit;
mod json;
pub mod manifest;
pub mod plan;
pub mod refusal;
mod splice;
pub mod status;
mod swap;
mod text;
mod toml;

pub use apply::{ApplyError, FileReceipt, HarnessReceipt, Outcome, Receipt, apply};
pub use manifest::{Manifest, ManifestError};
pub use plan::{
    Action, CopyPlan, FilePlan, FileState, HarnessInput, HarnessPlan, Paste, Plan, Wishes, entries_to_paste,
    plan_install, plan_uninstall,
};
pub use refusal::{Place, Refusal};
pub use status::{Fault, FileStatus, HarnessStatus, WiredState, status};
