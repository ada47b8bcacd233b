//! How much more than JSON the readers of config files allow.

use jsonc_parser::ParseOptions;

/// JSON, and nothing else.
pub const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// With comments.
pub const COMMENTS: ParseOptions = ParseOptions { allow_comments: true, ..STRICT };

/// With comments and trailing commas.
pub const LENIENT: ParseOptions = ParseOptions { allow_trailing_commas: true, ..COMMENTS };
