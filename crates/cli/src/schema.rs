//! The schemas of every `--json`: generated from the types that are printed, kept in `docs/schema`.

use schemars::Schema;
use schemars::generate::SchemaSettings;

use crate::commands::{doctor, flush, install, sink, status};
use crate::plan_view;

/// Each document's file name and schema. `tail --json` and `demo --json` print events, whose schema is the protocol's.
#[must_use]
pub fn all() -> Vec<(&'static str, Schema)> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let generator = || settings.clone().into_generator();
    vec![
        ("install.v1.json", generator().into_root_schema_for::<plan_view::Document>()),
        ("uninstall.v1.json", generator().into_root_schema_for::<plan_view::Document>()),
        ("install-print.v1.json", generator().into_root_schema_for::<install::Pastes>()),
        ("flush.v1.json", generator().into_root_schema_for::<flush::Document>()),
        ("sink-list.v1.json", generator().into_root_schema_for::<sink::Document>()),
        ("status.v1.json", generator().into_root_schema_for::<status::Document>()),
        ("doctor.v1.json", generator().into_root_schema_for::<doctor::Document>()),
    ]
}

/// A schema as its file holds it.
#[must_use]
pub fn text(schema: &Schema) -> String {
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}
