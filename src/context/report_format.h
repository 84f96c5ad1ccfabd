#pragma once
// How reports are written: those of this folder, and those of bench.

namespace polypath::context {

/// Spaces for each level.
inline constexpr int kReportIndent = 2;

}  // namespace polypath::context
